"""The vectors of one user's experiences: which embedder's are in use, and how another embedder's take their place.

They are derived, so missing ones are found by comparing ids, and a stop at any instant costs at most the batch
under way. Another embedder fills a partition of its own while the old one is in use; then one transaction, which
checks that no row was left out, switches to the new one. No lock is held while texts are embedded.
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
from lifelong.recall.experience_rows import EmbedderChoice, ExperienceRows
from lifelong.recall.index_worker import AFTER_FAILURE, IndexWorker
from lifelong.recall.vector_rows import VectorRows
from lifelong.storage.base import NO_LIMIT, Database, Transaction

if TYPE_CHECKING:
    from lifelong.models.embedders.base import Vector
    from lifelong.vectors.base import Near, VectorPartition, Vectors

log = logging.getLogger("lifelong.recall")

COLLECTION = "experiences"
BATCH = 256  # texts that are embedded at a time
MAX_INLINE_EMBEDDED = 64  # missing vectors that a query makes itself
PROBE_TEXT = "The sun shines."  # if even this is refused, the embedder is at fault, not the texts


class ActiveEmbedder(NamedTuple):
    """The embedder that made the vectors in use, and embeds what is compared with them."""

    identity: str
    embedder: Embedder


class ExperienceVectors:
    """`index_worker` knows the embedders, and calls `backfill` in the background. Safe to use from many
    threads."""

    def __init__(
        self, database: Database, owner: str, index_worker: Callable[[], IndexWorker], store: Callable[[], Vectors]
    ) -> None:
        self._database = database
        self._owner = owner
        self._index_worker = index_worker
        self._open_store = store
        self._lock = threading.Lock()
        self._opened: Vectors | None = None
        self._complete = ""  # the embedder of which no vector was missing at the last look
        self._chosen = ""  # the embedder that this process asked for
        self._refused: dict[str, set[str]] = defaultdict(set)  # by embedder: ids of texts it can make no vector of
        self._retry_at = 0.0
        self.error = ""

    # Which embedder is active

    def ensure_active(self, most: int = MAX_INLINE_EMBEDDED) -> ActiveEmbedder | None:
        """Return the embedder whose vectors are in use, with every vector there. May embed: up to `most` missing
        ones are made here. None where more are missing: a worker makes them, and `error` says so."""
        choice, lacking = self._database.read(self._look)
        identity = choice.embedder or self._index_worker().wanted()
        if not (embedder := self._available(identity)):
            return None
        if lacking or choice.embedder != self._complete or not self._complete:
            self._make_missing(identity, most)
            if self._complete != identity:
                self._report_missing("some are missing")
                return None
        self.error = ""
        return ActiveEmbedder(identity, embedder)

    def ensure_complete(self) -> ActiveEmbedder:
        """Return the active embedder after all missing vectors were made, whatever it takes, in the calling
        thread, also where another embedder has to take over."""
        while not (active := self.ensure_active(NO_LIMIT)):
            state, _ = self._database.read(self._look)
            if state.embedder and self._index_worker().find(state.embedder):
                continue  # a row was added meanwhile
            if not (wanted := self._index_worker().wanted()):
                raise ModelError(self._index_worker().error)
            if not self._choose(wanted, state):
                raise Outvoted(
                    f"{state.embedder} makes the vectors of experiences, since another process was started with "
                    f"it. Restart this one, with that embedder or to have them made by {wanted}."
                )
            self._make_missing(wanted, NO_LIMIT)
        return active

    def recheck(self) -> None:
        """Look for missing and left-over vectors at the next use."""
        self._complete = ""

    def backfill(self) -> int:
        """Make a batch of the vectors that the configured embedder lacks; after the last one, its vectors are in
        use. Return how much there was to do. Never fails: `error` says what went wrong."""
        if time.monotonic() < self._retry_at:
            return 0
        try:
            return self._backfill()
        except ModelError:  # the index worker reports it, and waits before it asks again
            return 0
        except LifelongError as error:
            self._retry_at = time.monotonic() + AFTER_FAILURE
            self.error = f"Experiences may lack vectors, since these cannot be made: {error}"
            log.warning("vectors of experiences are made later: %s", error)
            return 0

    def _backfill(self) -> int:
        choice, lacking = self._database.read(self._look)
        wanted = self._index_worker().wanted()
        if not wanted or not self._choose(wanted, choice):
            return 0
        if choice.embedder == wanted == self._complete and not (lacking or choice.next_embedder):
            return 0
        if not choice.embedder and not self._database.read(lambda tx: ExperienceRows(tx, self._owner).ids()):
            return 0  # there are no experiences: open no store
        if choice.embedder not in ("", wanted):
            self._available(choice.embedder)
        return self._make_missing(wanted, BATCH)

    def _look(self, tx: Transaction) -> tuple[EmbedderChoice, bool]:
        rows = ExperienceRows(tx, self._owner)
        return rows.embedder_choice(), rows.lack_vectors()

    def _available(self, identity: str) -> Embedder | None:
        if not (found := self._index_worker().find(identity)):
            self._report_missing(f"{identity or 'the embedder'}, whose they are, is not available")
        return found

    def _report_missing(self, why: str) -> None:
        self.error = f"Experiences are found by words only until their vectors are made: {why}. Let a worker run."

    # Making what is missing

    def _choose(self, wanted: str, choice: EmbedderChoice) -> bool:
        """Return whether this embedder is active or will be. It is asked for once: a process that was opened later
        with another embedder has the last word, or each would replace what the other made, without end."""

        def work(tx: Transaction) -> None:
            rows = ExperienceRows(tx, self._owner)
            rows.set_embedder_choice(rows.embedder_choice(lock=True)._replace(next_embedder=wanted))
            VectorRows(tx).embedder(wanted)

        chosen = choice.next_embedder or choice.embedder or wanted
        if chosen != wanted:
            if self._chosen == wanted:
                return False
            self._database.write(work)
        self._chosen = wanted
        return True

    def _make_missing(self, identity: str, most: int) -> int:
        """Make up to `most` of the vectors that rows lack of an embedder, and remove those without a row, or with
        one that ended. If none is missing then, they are in use. Return how much there was to do."""
        partition = self.partition(identity)
        there = set(self.store.ids(partition))  # before the rows: a vector that is being added has its row
        known = self._database.read(lambda tx: ExperienceRows(tx, self._owner).ids())
        if gone := there - known:
            self.store.remove(partition, sorted(gone))
        has = (there & known) | self._refused[identity]
        missing = sorted(known - has)[:most]
        for start in range(0, len(missing), BATCH):
            has |= self._embed(partition, missing[start : start + BATCH])
        if not known <= has or not self._activate(identity, has):
            return len(missing) or 1
        self._complete, self.error = identity, ""
        self._drop_others()
        return len(missing)

    def _embed(self, partition: VectorPartition, ids: Sequence[str]) -> set[str]:
        """Make the vectors of these. Return the ids that still exist, also those that can have no vector."""
        import numpy as np

        from lifelong.vectors.base import VectorItem

        rows = self._database.read(lambda tx: ExperienceRows(tx, self._owner).get(ids))
        texts = [*enumerate([PROBE_TEXT, *(one.text for one in rows.values())])]
        index_worker = self._index_worker()
        if not (embedder := index_worker.find(partition.embedder)):
            raise ModelError(index_worker.error)
        made = {place: np.frombuffer(row, "<f2") for place, row in index_worker.embed(embedder, texts)}
        found = [(id_, made[place]) for place, id_ in enumerate(rows, 1) if place in made]
        items = [VectorItem(id_, row.astype(np.float32)) for id_, row in found if row.any()]
        self.store.put(partition, items)
        self._refused[partition.embedder] |= {*rows} - {item.id for item in items}
        return {*rows}

    def _activate(self, identity: str, has: set[str]) -> bool:
        """Switch to this embedder, unless a row was added meanwhile, or another embedder was asked for."""

        def work(tx: Transaction) -> bool:
            rows = ExperienceRows(tx, self._owner)
            choice = rows.embedder_choice(lock=True)
            if identity not in (choice.embedder or identity, choice.next_embedder) or rows.ids() - has:
                return False
            upcoming = "" if choice.next_embedder == identity else choice.next_embedder
            rows.set_embedder_choice(EmbedderChoice(identity, upcoming))
            rows.mark_embedded(sorted(has))
            VectorRows(tx).embedder(identity)
            return True

        choice, lacking = self._database.read(self._look)
        if choice.embedder == identity != choice.next_embedder and not lacking:
            return True  # a query does not wait for a writer
        return self._database.write(work)

    def _drop_others(self) -> None:
        """Delete the vectors of embedders that are neither active nor next."""

        def others(tx: Transaction) -> set[str]:
            return {*VectorRows(tx).identities()} - {*ExperienceRows(tx, self._owner).embedder_choice()}

        for identity in self._database.read(others):
            self.store.clear(self.partition(identity))

    # The store

    def near(self, active: ActiveEmbedder, vector: Vector, count: int) -> Sequence[Near]:
        return self.store.search(self.partition(active.identity), vector, count)

    def remove(self, active: ActiveEmbedder, ids: Sequence[str]) -> None:
        self.store.remove(self.partition(active.identity), ids)

    def change(self, active: ActiveEmbedder, id_: str, row: Vector, gone: Sequence[str]) -> None:
        """Put the vector of a new row, and remove those of deleted ones. What fails now is repaired later."""
        from lifelong.vectors.base import VectorItem

        partition = self.partition(active.identity)
        try:
            self.store.put(partition, [VectorItem(id_, row)] if row.any() else [])
            if gone:
                self.store.remove(partition, gone)
        except LifelongError as error:
            self.recheck()
            log.warning("experiences are kept, but their vectors are not up to date yet: %s", error)

    def partition(self, identity: str) -> VectorPartition:
        from lifelong.vectors.base import VectorPartition

        return VectorPartition(self._owner, COLLECTION, identity)

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
