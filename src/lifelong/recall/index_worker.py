"""Make vectors in the background: for new and changed items, and for all items when the embedder changes.

No lock is held while texts are embedded. Then one transaction stores the vectors and numbers the items, and every
index in memory loads them from there. A stop at any instant costs at most the batch under way, which is done
again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence, Set

from lifelong.errors import LifelongError, ModelError
from lifelong.models.embedders.base import Embedder
from lifelong.periodic import PeriodicThread
from lifelong.recall.analyzer import SECRET
from lifelong.recall.index_writer import FileSync, text_of
from lifelong.recall.repair import IndexRebuild
from lifelong.recall.vector_rows import IndexState, ItemText, VectorRows
from lifelong.redaction import redact
from lifelong.storage.base import Database, Transaction
from lifelong.types import Clock

log = logging.getLogger("lifelong.recall")

BATCH = 1_000
FILE_CHECK_SECONDS = 5.0  # between two looks at files
IDLE_SECONDS = 1.0  # between two rounds; an append in this process wakes it
AFTER_FAILURE = 30.0  # seconds in which an embedder that failed is not asked again
MAX_REFUSED_IN_ROW = 3  # texts that an embedder may refuse; after that it is not the texts

_one_at_a_time = threading.Lock()
"""Keeps several stores of a process that index one home from embedding the same."""


class IndexWorker:
    """Embed items, sync files, and run rebuild batches, for the whole home; items are written in `index_writer`.
    `embedders` has the configured one first, then others whose vectors can
    still be read. No vectors are made for the kinds in `words_only`. `files` are synced every few seconds.
    `backfill` does a batch of what else is to be embedded, and returns how much that was."""

    def __init__(
        self,
        database: Database,
        embedders: Sequence[Embedder],
        clock: Clock,
        *,
        words_only: Collection[str] = (),
        files: Callable[[], Sequence[FileSync]] = tuple,
        backfill: Callable[[], int] = lambda: 0,
    ) -> None:
        self._database = database
        self._embedders = embedders
        self._clock = clock
        self._words_only = words_only
        self._files = files
        self._backfill = backfill
        self._files_checked = -FILE_CHECK_SECONDS
        self._retry_at = 0.0
        self._identities: dict[int, str] = {}
        self._chosen = ""  # the embedder that this process asked to make the vectors
        self.background = PeriodicThread(
            "index worker", lambda: 0.0 if self.run() else IDLE_SECONDS, AFTER_FAILURE
        )
        self.error = ""

    def run_until_idle(self) -> None:
        """Do everything there is to do, in the calling thread."""
        self._files_checked, self._retry_at = -FILE_CHECK_SECONDS, 0.0
        while self.run():
            pass

    def remaining(self) -> int:
        """Return how many records and items of the home wait to be indexed or embedded."""
        return self._database.read(lambda tx: IndexRebuild(tx).remaining() + VectorRows(tx).waiting())

    def run(self) -> int:
        """Do a batch for each owner. Return how many items it worked on."""
        done = self._rebuild_batch() + self._sync_files() + self._backfill()
        for owner in self._database.read(lambda tx: VectorRows(tx).owners(waiting=True)):
            done += self.embed_pending(owner)
        if wanted := self.wanted():
            self._choose(wanted)
            for owner in self._database.read(lambda tx: VectorRows(tx).changing_to(wanted)):
                done += self._replace(owner)
        return done

    def _rebuild_batch(self) -> int:
        if not self._database.read(lambda tx: IndexRebuild(tx).remaining()):
            return 0
        self._database.write(lambda tx: IndexRebuild(tx).run_batch(self._clock()))
        return 1

    def sync_now(self) -> None:
        """Sync the files now: they were changed."""
        self._files_checked = -FILE_CHECK_SECONDS
        if self.background.running:
            self.background.wake()
        else:
            self._sync_files()

    def _sync_files(self) -> int:
        if time.monotonic() < self._files_checked + FILE_CHECK_SECONDS:
            return 0
        self._files_checked = time.monotonic()
        return sum(one.sync() for one in self._files())

    def embed_pending(self, owner: str, limit: int = BATCH) -> int:
        """Embed the oldest of an owner's items that wait. Return how many there were."""
        with _one_at_a_time:
            return self._embed_pending(owner, limit)

    def _embed_pending(self, owner: str, limit: int) -> int:
        waiting, state, missing = self._database.read(lambda tx: self._read_pending(tx, owner, limit))
        active, made = self._active(state), list[tuple[int, bytes]]()
        try:
            made = self.embed(active, self._texts(waiting, missing)) if active else []
        except LifelongError:  # `error` says so
            active = None
        if not active:  # what only changed needs no vector; the rest waits
            waiting = [one for one in waiting if one.item_id not in missing]
        if not waiting:
            return 0

        def work(tx: Transaction) -> int:
            rows = VectorRows(tx)
            now = rows.lock_state(owner)
            if now.embedder_id != state.embedder_id:
                return 0
            embedder_id = now.embedder_id
            if embedder_id is None and active:
                embedder_id = rows.embedder(self.identity(active))
            if embedder_id is not None:
                rows.put_vectors(embedder_id, made)
            rows.number([one.item_id for one in waiting], now.sequence + 1)
            rows.set_state(owner, now._replace(sequence=now.sequence + len(waiting), embedder_id=embedder_id))
            return len(waiting)

        return self._database.write(work)

    def _read_pending(
        self, tx: Transaction, owner: str, limit: int
    ) -> tuple[list[ItemText], IndexState, set[int]]:
        rows = VectorRows(tx)
        waiting, state = rows.pending(owner, limit), rows.state(owner)
        ids = [one.item_id for one in waiting]
        known = state.embedder_id
        return waiting, state, {*ids} if known is None else rows.without_vector(known, ids)

    def _active(self, state: IndexState) -> Embedder | None:
        """Return the embedder for new items: the one that made the others, as long as it is available."""
        if state.embedder_id is None:
            return self._embedders[0] if self.wanted() else None
        return self.find(self._database.read(lambda tx: VectorRows(tx).identity(state.embedder_id)))

    def find(self, identity: str) -> Embedder | None:
        """Return the embedder of this identity, if it is available."""
        return next((one for one in self._embedders if identity and self.identity(one) == identity), None)

    def wanted(self) -> str:
        """Return the identity of the configured embedder."""
        return self.identity(self._embedders[0])

    def identity(self, embedder: Embedder) -> str:
        """Return its identity; empty while a server that must be asked for it does not answer."""
        if not self._identities.get(id(embedder)) and time.monotonic() >= self._retry_at:
            try:
                self._identities[id(embedder)] = str(embedder.identity)
            except LifelongError as error:
                self._failed(error)
        return self._identities.get(id(embedder), "")

    def embed(self, embedder: Embedder, waiting: Sequence[tuple[int, str]]) -> list[tuple[int, bytes]]:
        """Return the vectors of these texts, by their ids. A text that the embedder refuses gets none."""
        if waiting and time.monotonic() < self._retry_at:
            raise ModelError(self.error)
        try:
            rows = embedder.embed([text for _, text in waiting]).astype("<f2")
        except ModelError as error:
            if len(waiting) > 1:
                return self._one_by_one(embedder, waiting)
            self._failed(error)
            raise
        self.error = ""
        return [(id_, row.tobytes()) for (id_, _), row in zip(waiting, rows, strict=True)]

    def _one_by_one(self, embedder: Embedder, waiting: Sequence[tuple[int, str]]) -> list[tuple[int, bytes]]:
        made: list[tuple[int, bytes]] = []
        for place, one in enumerate(waiting, 1):
            try:
                made += self.embed(embedder, [one])
            except ModelError as error:
                if not made and place in (MAX_REFUSED_IN_ROW, len(waiting)):
                    raise  # the embedder is at fault, not the text
                self._retry_at, self.error = 0.0, ""
                log.warning("item %s is found by its words only: %s", one[0], error)
        return made

    def _failed(self, error: LifelongError) -> None:
        self.error = f"New items are found by their words only, since they cannot be embedded: {error}"
        self._retry_at = time.monotonic() + AFTER_FAILURE

    def _texts(self, waiting: Iterable[ItemText], missing: Set[int]) -> list[tuple[int, str]]:
        """Return the texts of the items that have no vector."""
        return [(one.item_id, self._text(one)) for one in waiting if one.item_id in missing]

    def _text(self, one: ItemText) -> str:
        if one.kind in self._words_only:
            return ""
        text = text_of(one.type, one.data or "{}") if one.type else one.text
        return redact(text) if one.flags & SECRET else text

    # Another embedder

    def _choose(self, wanted: str) -> None:
        """Have the vectors of all owners made by this embedder. Asked once: a process that was opened later with
        another embedder has the last word, or each would replace what the other made, without end."""
        if self._chosen != wanted:
            if others := self._database.write(lambda tx: VectorRows(tx).choose(wanted)):
                log.warning("re-embedding user %s with %s", ", ".join(others), wanted)
            self._chosen = wanted

    def status_notes(self, owner: str) -> list[str]:
        """Return what a person should know about the index of an owner; some are empty."""
        return [self.error, self.background.error, self._outvoted(owner)]

    def _outvoted(self, owner: str) -> str:
        """Return a note if another embedder than the one configured here makes an owner's vectors; else empty."""
        mine = self._identities.get(id(self._embedders[0]), "")
        theirs = self._database.read(lambda tx: VectorRows(tx).chosen(owner)) if mine else ""
        if theirs in ("", mine):
            return ""
        return (
            f"The vectors of this user are made by {theirs}, and not by {mine}, which is configured here: the "
            "worker that was started last decides. Restart it with these settings, or this process with those."
        )

    def _replace(self, owner: str) -> int:
        """Make a batch of vectors by the configured embedder; after the last one, these are in use."""
        embedder = self._embedders[0]
        state, waiting, missing = self._database.read(lambda tx: self._read_next(tx, owner))
        embedder_id = state.next_embedder_id
        if embedder_id is None:
            return 0
        try:
            made = self.embed(embedder, self._texts(waiting, missing))
        except LifelongError:  # `error` says so, and it is tried again later
            return 0

        def work(tx: Transaction) -> None:
            rows = VectorRows(tx)
            now = rows.lock_state(owner)
            if now.next_embedder_id != embedder_id:
                return
            rows.put_vectors(embedder_id, made)
            if waiting:
                rows.set_state(owner, now._replace(next_embedded_until=waiting[-1].item_id))
            else:
                rows.set_state(owner, IndexState(now.sequence, now.version, embedder_id))
                rows.requeue_without(embedder_id, owner)
                log.info(
                    "user %s has all vectors of %s, which are in use from now on", owner, self.identity(embedder)
                )

        self._database.write(work)
        if not waiting:
            while self._database.write(lambda tx: VectorRows(tx).drop_others(embedder_id, owner, BATCH)):
                pass
        return len(waiting) or 1

    def _read_next(self, tx: Transaction, owner: str) -> tuple[IndexState, list[ItemText], set[int]]:
        rows = VectorRows(tx)
        state = rows.state(owner)
        waiting = rows.after(owner, state.next_embedded_until, BATCH)
        return state, waiting, rows.without_vector(state.next_embedder_id or 0, [one.item_id for one in waiting])
