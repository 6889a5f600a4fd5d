"""What a memory can be asked: the half of `Memory` that recalls."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.collect.talks import id_of
from recollect.parts import Parts
from recollect.tooling import Tool
from recollect.types import Agent, Hit, ItemKind

if TYPE_CHECKING:
    from recollect.recall.experiences import Experiences
    from recollect.recall.log import Recalled, Scorable
    from recollect.recall.opinions import Verdict
    from recollect.recall.relations import Relations


class Keeping:
    """What a person can do about what is remembered. Apart from `Recalling`, in which `list` is the type."""

    _parts: Parts

    def _check_open(self) -> None:
        raise NotImplementedError

    def feedback(self, item: str, verdict: Verdict, recall_id: int | None = None) -> None:
        """Say that a hit was `useful`, `wrong` or `outdated`: it is found earlier or later from now on, within
        bounds. What is outdated ends, unless it was said in a talk."""
        self._check_open()
        if recall_id is not None:
            self._parts.recall_log.get(recall_id)
        self._parts.upkeep.feedback(item, verdict, recall_id)

    def correct(self, item: str, text: str) -> Hit:
        """Say what is so instead of an item. Your word is kept as a record of its own, and is found from now on;
        the item ends, and is found below it."""
        self._check_open()
        return self._parts.upkeep.correct(item, text)

    def pin(self, item: str) -> None:
        """Have an item in every context from now on."""
        self._check_open()
        self._parts.upkeep.pin(item)

    def unpin(self, item: str) -> None:
        """Take the pin off again."""
        self._check_open()
        self._parts.upkeep.unpin(item)

    def list(
        self,
        kind: ItemKind | None = None,
        subject: str | None = None,
        since: datetime | None = None,
        limit: int = 100,
        before: str | None = None,
    ) -> builtins.list[Hit]:
        """Everything that is remembered, what came last first. `subject` is a name or some words: what it said,
        what its documents say, and what holds all its words. `before` is the id of the last hit of the page
        before."""
        self._check_open()
        return self._parts.upkeep.listed(kind, subject, since, limit, before)


class Recalling(Keeping):
    """Asks the parts of a memory. Only `Memory` is made of it."""

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
        hits = self._parts.recall.search(query, top_k, scope, explain=explain)
        self._parts.recall_log.note("search", scope.agent_id, query, hits)
        return hits

    def recalls(self, limit: int = 20, *, recall_id: int | None = None) -> list[Recalled]:
        """What was asked, newest first: by whom, what for, and what came back. Or the one recall of this id."""
        self._check_open()
        if recall_id is not None:
            return [self._parts.recall_log.get(recall_id)]
        return self._parts.recall_log.recent(limit)

    def relations(self, entity: str, limit: int = 20, *, ended: bool = False) -> Relations:
        """Whom and what somebody or something is related to, the closest first, and what says so. `ended`: also
        what has stopped being true."""
        self._check_open()
        return self._parts.relating.of(entity, limit, ended=ended)

    def entities(self, limit: int = 100) -> list[str]:
        """Who and what is known by name, what is named most often first."""
        self._check_open()
        return self._parts.relating.entities(limit)

    @property
    def experiences(self) -> Experiences:
        """The profile's experiences: add, query, list. An error where `continuity.experience_store_enabled` is
        off."""
        self._check_open()
        return self._parts.experiencing.store

    def context(self, agent: Agent | str, message: str | None = None, tokens: int | None = None) -> str:
        """What to put before an agent's next turn, fenced as data: the session's memory, what is pinned, and past
        experiences about the message, or about what the agent last talked of. Within
        `continuity.session_memory_cap`, or within so many tokens; empty where there is nothing to say."""
        self._check_open()
        return self._parts.experiencing.injection.context(id_of(agent), message, tokens)

    def verify(self) -> list[str]:
        """Read the profile's whole index and say what is wrong with it, a sentence each. Nothing wrong: empty."""
        self._check_open()
        return self._parts.mending.verify(self._parts.profile)

    def rebuild(self) -> None:
        """Make the index of the home anew from what it is derived from. `process` or a worker does the work;
        meanwhile recall goes on with what is there."""
        self._check_open()
        self._parts.mending.rebuild()
        self._parts.indexer.background.wake()

    def unindexed(self) -> int:
        """How many records and items of the home, and experiences of the profile, wait for their place in the
        index, or for the vectors of another embedder."""
        self._check_open()
        return self._parts.indexer.left() + self._parts.experiencing.left()

    def index(self) -> int:
        """Do some of the indexing that is due, in this thread. How much it was; 0: there is none."""
        self._check_open()
        return self._parts.indexer.run()

    def _recall_tools(self, agent: Agent | str | None) -> tuple[Tool, ...]:
        from recollect.recall.tools import recall_tools

        agent_id = id_of(agent) if agent else ""

        def recall(query: str, top_k: int) -> list[Hit]:
            self._check_open()
            hits = self._parts.recall.search(query, top_k)
            note(query, hits)
            return hits

        def note(query: str, found: Sequence[Scorable]) -> None:
            self._parts.recall_log.note("tool", agent_id, query, found)

        experiences = self._parts.experiencing.tools(agent_id or None, note)
        return (*recall_tools(recall, self.relations), *experiences)
