"""The vectors of one user's experiences: whose serve, and how those of another embedder take their place.

They are derived, so what is missing is found by comparing ids, and a stop at any instant costs at most the batch
under way. Another embedder fills a scope of its own while the old one serves; then one transaction, which looks
that no row was left out, says that the new one serves. Whoever embeds holds no lock meanwhile.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lifelong.errors import LifelongError, ModelError, Outvoted
from lifelong.models.embedders.base import Embedder
from lifelong.recall.experience_rows import ExperienceRows, Served
from lifelong.recall.indexing import AFTER_FAILURE, Indexer
from lifelong.recall.vector_rows import VectorRows
from lifelong.storage.base import NO_LIMIT, Database, Transaction

if TYPE_CHECKING:
    from lifelong.models.embedders.base import Vector
    from lifelong.vectors.base import Near, Scope, Vectors

log = logging.getLogger("lifelong.recall")

COLLECTION = "experiences"
BATCH = 256  # that are embedded at a time
LOOSE = 64  # that are missing and made on the way, by whoever asks
PLAIN = "The sun shines."  # where even this is refused, it is the embedder, and not the texts


class Serving(NamedTuple):
    """Who made the vectors that serve, and embeds what is compared with them."""

    identity: str
    embedder: Embedder


class ExperienceVectors:
    """`indexer` knows the embedders, and calls `tend` in the background. Safe to use from many threads."""

    def __init__(
        self, database: Database, owner: str, indexer: Callable[[], Indexer], store: Callable[[], Vectors]
    ) -> None:
        self._database = database
        self._owner = owner
        self._indexer = indexer
        self._open_store = store
        self._lock = threading.Lock()
        self._opened: Vectors | None = None
        self._whole = ""  # the embedder of whom none was missing when we looked
        self._chosen = ""  # the one that this process has named as the next to serve
        self._without: dict[str, set[str]] = defaultdict(set)  # by embedder: what it can make no vector of
        self._again = 0.0
        self.error = ""

    # Who serves

    def serving(self, most: int = LOOSE) -> Serving | None:
        """Who serves, with every vector there; `most` that are missing are made on the way. None where it needs
        more than that: a worker makes them, and `error` says so."""
        served, is_bare = self._database.read(self._look)
        identity = served.embedder or self._indexer().wanted()
        if not (embedder := self._at_hand(identity)):
            return None
        if is_bare or served.embedder != self._whole or not self._whole:
            self._make_missing(identity, most)
            if self._whole != identity:
                self._lag("some are missing")
                return None
        self.error = ""
        return Serving(identity, embedder)

    def heal(self) -> Serving:
        """The same, whatever it takes in the calling thread, also where another embedder has to take over."""
        while not (serving := self.serving(NO_LIMIT)):
            served, _ = self._database.read(self._look)
            if served.embedder and self._indexer().find(served.embedder):
                continue  # a row came in meanwhile
            if not (wanted := self._indexer().wanted()):
                raise ModelError(self._indexer().error)
            if not self._choose(wanted, served):
                raise Outvoted(
                    f"{served.embedder} makes the vectors of experiences, since another process was started with "
                    f"it. Start this one anew, with that embedder or to have them made by {wanted}."
                )
            self._make_missing(wanted, NO_LIMIT)
        return serving

    def forget(self) -> None:
        """Look for what is missing, and for what is left over, at the next use."""
        self._whole = ""

    def tend(self) -> int:
        """A batch of what the embedder that is configured has not made yet; after the last one, its vectors serve.
        How much there was to do. Never fails: `error` says what does."""
        if time.monotonic() < self._again:
            return 0
        try:
            return self._tend()
        except ModelError:  # the indexer tells it, and leaves the embedder alone for a while
            return 0
        except LifelongError as error:
            self._again = time.monotonic() + AFTER_FAILURE
            self.error = f"Experiences may lack vectors, for these cannot be made: {error}"
            log.warning("vectors of experiences are made later: %s", error)
            return 0

    def _tend(self) -> int:
        served, is_bare = self._database.read(self._look)
        wanted = self._indexer().wanted()
        if not wanted or not self._choose(wanted, served):
            return 0
        if served.embedder == wanted == self._whole and not (is_bare or served.next_embedder):
            return 0
        if not served.embedder and not self._database.read(lambda tx: ExperienceRows(tx, self._owner).ids()):
            return 0  # nothing was ever told: no store need be opened
        if served.embedder not in ("", wanted):
            self._at_hand(served.embedder)
        return self._make_missing(wanted, BATCH)

    def _look(self, tx: Transaction) -> tuple[Served, bool]:
        rows = ExperienceRows(tx, self._owner)
        return rows.served(), rows.is_bare()

    def _at_hand(self, identity: str) -> Embedder | None:
        if not (found := self._indexer().find(identity)):
            self._lag(f"{identity or 'the embedder'}, whose they are, is not at hand")
        return found

    def _lag(self, why: str) -> None:
        self.error = f"Experiences are found by words only until their vectors are made: {why}. Let a worker run."

    # Making what is missing

    def _choose(self, wanted: str, served: Served) -> bool:
        """Whether this embedder is to serve, as it does or as we say. We say so once: whoever was opened with
        another one after us has chosen it since, and each would replace what the other made, without an end."""

        def work(tx: Transaction) -> None:
            rows = ExperienceRows(tx, self._owner)
            rows.serve(rows.served(take=True)._replace(next_embedder=wanted))
            VectorRows(tx).embedder(wanted)

        chosen = served.next_embedder or served.embedder or wanted
        if chosen != wanted:
            if self._chosen == wanted:
                return False
            self._database.write(work)
        self._chosen = wanted
        return True

    def _make_missing(self, identity: str, most: int) -> int:
        """So many of the vectors that rows lack of an embedder, and none that belong to no row, or to one that has
        ended; where these were all, they serve. How much there was to do."""
        scope = self.scope(identity)
        there = set(self.store.ids(scope))  # before the rows: a vector that is being added has its row
        known = self._database.read(lambda tx: ExperienceRows(tx, self._owner).ids())
        if gone := there - known:
            self.store.remove(scope, sorted(gone))
        has = (there & known) | self._without[identity]
        missing = sorted(known - has)[:most]
        for start in range(0, len(missing), BATCH):
            has |= self._embed(scope, missing[start : start + BATCH])
        if not known <= has or not self._serve(identity, has):
            return len(missing) or 1
        self._whole, self.error = identity, ""
        self._drop_others()
        return len(missing)

    def _embed(self, scope: Scope, ids: Sequence[str]) -> set[str]:
        """Make the vectors of these. Those of them that are still there, also if they can have none."""
        import numpy as np

        from lifelong.vectors.base import Item

        rows = self._database.read(lambda tx: ExperienceRows(tx, self._owner).get(ids))
        texts = [*enumerate([PLAIN, *(one.text for one in rows.values())])]
        indexer = self._indexer()
        if not (embedder := indexer.find(scope.embedder)):
            raise ModelError(indexer.error)
        made = {place: np.frombuffer(row, "<f2") for place, row in indexer.embed(embedder, texts)}
        found = [(id_, made[place]) for place, id_ in enumerate(rows, 1) if place in made]
        items = [Item(id_, row.astype(np.float32)) for id_, row in found if row.any()]
        self.store.put(scope, items)
        self._without[scope.embedder] |= {*rows} - {item.id for item in items}
        return {*rows}

    def _serve(self, identity: str, has: set[str]) -> bool:
        """Unless a row came in meanwhile, or somebody wants yet another embedder."""

        def work(tx: Transaction) -> bool:
            rows = ExperienceRows(tx, self._owner)
            served = rows.served(take=True)
            if identity not in (served.embedder or identity, served.next_embedder) or rows.ids() - has:
                return False
            rows.serve(Served(identity, "" if served.next_embedder == identity else served.next_embedder))
            rows.clothe(sorted(has))
            VectorRows(tx).embedder(identity)
            return True

        served, is_bare = self._database.read(self._look)
        if served.embedder == identity != served.next_embedder and not is_bare:
            return True  # who only asks waits for nobody who writes
        return self._database.write(work)

    def _drop_others(self) -> None:
        """The vectors of embedders that neither serve nor are about to."""

        def others(tx: Transaction) -> set[str]:
            return {*VectorRows(tx).identities()} - {*ExperienceRows(tx, self._owner).served()}

        for identity in self._database.read(others):
            self.store.clear(self.scope(identity))

    # The store

    def near(self, serving: Serving, vector: Vector, count: int) -> Sequence[Near]:
        return self.store.search(self.scope(serving.identity), vector, count)

    def remove(self, serving: Serving, ids: Sequence[str]) -> None:
        self.store.remove(self.scope(serving.identity), ids)

    def change(self, serving: Serving, id_: str, row: Vector, gone: Sequence[str]) -> None:
        """Bring them up to the rows: one came, others went. What cannot be done now is healed later."""
        from lifelong.vectors.base import Item

        scope = self.scope(serving.identity)
        try:
            self.store.put(scope, [Item(id_, row)] if row.any() else [])
            if gone:
                self.store.remove(scope, gone)
        except LifelongError as error:
            self.forget()
            log.warning("experiences are kept, but their vectors are not up to date yet: %s", error)

    def scope(self, identity: str) -> Scope:
        from lifelong.vectors.base import Scope

        return Scope(self._owner, COLLECTION, identity)

    @property
    def store(self) -> Vectors:
        with self._lock:
            if self._opened is None:
                self._opened = self._open_store()
            return self._opened

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                self._opened.close()
