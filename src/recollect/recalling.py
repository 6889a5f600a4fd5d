"""What a memory can be asked: the half of `Memory` that recalls."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from recollect.collect.talks import id_of
from recollect.parts import Parts
from recollect.types import Agent, Hit, ItemKind


class Recalling:
    """Asks the parts of a memory. Only `Memory` is made of it."""

    _parts: Parts

    def _check_open(self) -> None:
        raise NotImplementedError

    def recall(
        self,
        query: str,
        top_k: int = 5,
        *,
        agent: Agent | str | None = None,
        kinds: Iterable[ItemKind] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        explain: bool = False,
    ) -> list[Hit]:
        """What the profile knows about a question, best first: turns, documents, journal, notes, experiences.
        It can be narrowed to one agent's talks, to some kinds, to what was said in [since, until), and to what was
        known `as_of` a past time. `explain` tells what each score is made of."""
        from recollect.recall.search import checked_scope

        self._check_open()
        scope = checked_scope(id_of(agent) if agent else "", kinds, since, until, as_of)
        return self._parts.recall.search(query, top_k, scope, explain=explain)

    def verify(self) -> list[str]:
        """Read the profile's whole index and say what is wrong with it, a sentence each. Nothing wrong: empty."""
        self._check_open()
        return self._parts.mending.verify(self._parts.profile)

    def rebuild(self) -> None:
        """Make the index of the home anew from what it is derived from. `process` or a worker does the work;
        meanwhile recall goes on with what is there."""
        self._check_open()
        self._parts.mending.rebuild()
        self._parts.indexer.wake()

    def unindexed(self) -> int:
        """How many records and items of the home wait for their place in the index."""
        self._check_open()
        return self._parts.indexer.left()

    def index(self) -> int:
        """Do some of the indexing that is due, in this thread. How much it was; 0: there is none."""
        self._check_open()
        return self._parts.indexer.run()
