"""Make vectors in the background: for new items, and for all items when the embedder changes.

No lock is held while texts are embedded. Then the vectors are stored, and one transaction notes which items have
theirs. A stop at any instant costs at most the batch under way, which is done again. Another embedder makes its
vectors in the order of the items, while the old ones are in use; then one transaction switches to them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lifelong.collect.erasures import check_erasures, erasure_count
from lifelong.errors import ErasedMeanwhile, LifelongError, ModelError, Outvoted, StorageError
from lifelong.models.embedders.base import Embedder
from lifelong.periodic import PeriodicThread
from lifelong.recall.analyzer import SECRET
from lifelong.recall.index_state import IndexState, IndexStates, ItemText
from lifelong.recall.index_writer import FileSync, text_of
from lifelong.recall.repair import IndexRebuild
from lifelong.recall.vocabulary import Vocabulary
from lifelong.redaction import redact
from lifelong.storage.base import NO_LIMIT, Database, Transaction
from lifelong.types import Clock, ItemKind

if TYPE_CHECKING:
    from lifelong.models.embedders.base import Rows, Vector
    from lifelong.vectors.base import VectorPartition, VectorRow, Vectors

log = logging.getLogger("lifelong.recall")

BATCH = 1_000
FILE_CHECK_SECONDS = 5.0  # between two looks at files
IDLE_SECONDS = 1.0  # between two rounds; an append in this process wakes it
AFTER_FAILURE = 30.0  # seconds in which an embedder that failed is not asked again
PROBE_TEXT = "The sun shines."  # if even this is refused, the embedder is at fault, not the texts

_one_at_a_time = threading.Lock()
"""Keeps several stores of a process that index one home from embedding the same."""


class ActiveEmbedder(NamedTuple):
    """The embedder that made the vectors in use, and embeds what is compared with them."""

    identity: str
    embedder: Embedder


class IndexWorker:
    """Embed items, sync files, and run rebuild batches, for the whole home; items are written in `index_writer`.
    `embedders` has the configured one first, then others whose vectors can still be read. `vectors` returns the
    store of an owner's vectors. None are made for the kinds in `words_only`. `files` are synced every few
    seconds."""

    def __init__(
        self,
        database: Database,
        embedders: Sequence[Embedder],
        vectors: Callable[[str], Vectors],
        clock: Clock,
        *,
        words_only: Collection[str] = (),
        files: Callable[[], Sequence[FileSync]] = tuple,
    ) -> None:
        self._database = database
        self._embedders = embedders
        self.vectors = vectors
        self._clock = clock
        self._words_only = words_only
        self._files = files
        self._files_checked = -FILE_CHECK_SECONDS
        self._retry_at = 0.0
        self._identities: dict[int, str] = {}
        self._silent: dict[int, float] = {}  # until when embedders that did not answer are not asked who they are
        self._chosen = ""  # the embedder that this process asked to make the vectors
        self.background = PeriodicThread(
            "index worker", lambda: 0.0 if self.run() else IDLE_SECONDS, AFTER_FAILURE
        )
        self.error = ""

    def run_until_idle(self) -> None:
        """Do everything there is to do, in the calling thread."""
        self._files_checked, self._retry_at = -FILE_CHECK_SECONDS, 0.0
        self._silent.clear()
        while self.run():
            pass

    def remaining(self) -> int:
        """Return how many records and items of the home wait to be indexed or embedded."""
        return self._database.read(lambda tx: IndexRebuild(tx).remaining() + IndexStates(tx).waiting())

    def run(self) -> int:
        """Do a batch for each owner. Return how many items it worked on."""
        done = self._rebuild_batch() + self._sync_files()
        if wanted := self.wanted():
            self._choose(wanted)
        for owner, identity in self._database.read(lambda tx: IndexStates(tx).without_mean()):
            done += self._complete(self.partition(owner, identity))
        for owner in self._database.read(lambda tx: IndexStates(tx).owners(waiting=True)):
            done += self.embed_pending(owner)
        if wanted:
            for owner in self._database.read(lambda tx: IndexStates(tx).changing_to(wanted)):
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
        files = self._files()
        versions = self._database.read(lambda tx: IndexStates(tx).versions()) if files else {}
        return sum(one.sync(versions) for one in files)

    def embed_pending(self, owner: str, limit: int = BATCH, kind: ItemKind | None = None) -> int:
        """Embed the oldest of an owner's items that wait, of one kind if named. Return how many there were."""
        while True:
            with _one_at_a_time, suppress(ErasedMeanwhile):
                return self._embed_pending(owner, limit, kind)

    def _embed_pending(self, owner: str, limit: int, kind: ItemKind | None) -> int:
        erasures, waiting = self._database.read(
            lambda tx: (erasure_count(tx, owner), IndexStates(tx).pending(owner, limit, kind))
        )
        if not waiting or not (active := self.active(owner)):
            return 0
        partition = self.partition(owner, active.identity)
        try:
            made = self._make(partition, active.embedder, waiting, erasures)
        except ModelError:  # `error` says so, and it is tried again later
            return 0
        except StorageError as error:
            self._failed(error)
            return 0
        if not self.mark_embedded(owner, active.identity, made, [one.item_id for one in waiting]):
            return 0
        self._maintain(partition)
        return len(waiting)

    def _make(
        self, partition: VectorPartition, embedder: Embedder, waiting: Sequence[ItemText], erasures: int
    ) -> dict[int, Vector]:
        """Make and store the vectors of these items. Return them; those without a direction are left out. Raise
        `ErasedMeanwhile` where something was forgotten since this count of `erasures`."""
        from lifelong.vectors.base import VectorRow

        texts = self._texts(waiting)
        made = {id_: row for id_, row in self.embed(embedder, texts) if row.any()}

        def add_words(tx: Transaction) -> None:
            check_erasures(tx, partition.owner, erasures)
            Vocabulary(tx, partition.owner).add(text for _, text in texts)

        self._database.write(add_words)
        rows = [
            VectorRow(one.item_id, one.kind, one.agent_id, one.at, made[one.item_id])
            for one in waiting
            if one.item_id in made
        ]
        self.put(partition, rows)
        return made

    def put(self, partition: VectorPartition, rows: Sequence[VectorRow]) -> None:
        """Store vectors, but for those of items that are gone: all was rebuilt meanwhile, or they were
        forgotten."""
        self.vectors(partition.owner).put(partition, rows)
        ids = [row.id for row in rows]
        if gone := self._database.read(lambda tx: IndexStates(tx).gone(ids)):
            self.vectors(partition.owner).remove(partition, gone)

    def mark_embedded(self, owner: str, identity: str, made: Mapping[int, Vector], ids: Sequence[int]) -> bool:
        """Note that these items have vectors of an embedder, or can have none; not for those that are gone, or
        that another process noted. Return false, and note nothing, where another embedder's are in use now."""
        import numpy as np

        def work(tx: Transaction) -> bool:
            states = IndexStates(tx)
            state = states.lock(owner)
            if state.embedder_id is None:
                state = state._replace(embedder_id=states.embedder(identity), mean=b"", mean_of=0)
            if states.identity(state.embedder_id) != identity:
                return False
            new = states.mark_embedded(made, has_vector=True)
            noted = [*new, *states.mark_embedded({*ids} - {*made}, has_vector=False)]
            if not noted:
                return True
            counted = states.not_derived(noted)
            own = [made[id_] for id_ in new if id_ in counted]
            if own and state.mean is not None:
                count = state.mean_of + len(own)
                total = np.sum(own, axis=0)
                if state.mean:
                    total = total + np.frombuffer(state.mean, "<f4") * state.mean_of
                state = state._replace(mean=(total / count).astype("<f4").tobytes(), mean_of=count)
            first = min([state.first_item or noted[0], *noted])
            states.set(owner, state._replace(size=state.size + len(counted), first_item=first))
            return True

        return self._database.write(work)

    def _maintain(self, partition: VectorPartition) -> None:
        try:
            self.vectors(partition.owner).maintain(partition)
        except LifelongError as error:
            log.warning("files of vectors are made later: %s", error)

    def active(self, owner: str) -> ActiveEmbedder | None:
        """Return the embedder whose vectors are in use, or would be if there were any; none where it is not
        available."""
        identity = self._database.read(lambda tx: self.active_identity(tx, owner))
        embedder = self.find(identity)
        return ActiveEmbedder(identity, embedder) if embedder else None

    def active_identity(self, tx: Transaction, owner: str) -> str:
        """Return whose vectors are in use, or would be if there were any."""
        states = IndexStates(tx)
        return states.identity(states.get(owner).embedder_id) or self.wanted()

    def take_over(self, owner: str) -> None:
        """Make all vectors of an owner by the configured embedder, in the calling thread. Raise `ModelError`
        where it fails, `Outvoted` where another process has asked for another embedder since."""
        if not (wanted := self.wanted()):
            raise ModelError(self.error)
        self._choose(wanted)
        while self._database.read(lambda tx: self.active_identity(tx, owner)) != wanted:
            chosen = self._database.read(lambda tx: IndexStates(tx).chosen(owner))
            if chosen != wanted:
                raise Outvoted(
                    f"{chosen} makes the vectors of this user, since another process was started with it. Restart "
                    f"this one, with that embedder or to have them made by {wanted}."
                )
            if not self._replace(owner):
                raise ModelError(self.error or f"{wanted} made no vectors.")

    def partition(self, owner: str, identity: str) -> VectorPartition:
        from lifelong.vectors.base import VectorPartition

        return VectorPartition(owner, identity)

    def find(self, identity: str) -> Embedder | None:
        """Return the embedder of this identity, if it is available."""
        return next((one for one in self._embedders if identity and self.identity(one) == identity), None)

    def wanted(self) -> str:
        """Return the identity of the configured embedder."""
        return self.identity(self._embedders[0])

    def identity(self, embedder: Embedder) -> str:
        """Return its identity; empty while a server that must be asked for it does not answer."""
        if not self._identities.get(id(embedder)) and time.monotonic() >= self._silent.get(id(embedder), 0.0):
            try:
                self._identities[id(embedder)] = str(embedder.identity)
            except LifelongError as error:
                self._failed(error)
                self._silent[id(embedder)] = self._retry_at
        return self._identities.get(id(embedder), "")

    def embed(self, embedder: Embedder, waiting: Sequence[tuple[int, str]]) -> list[tuple[int, Vector]]:
        """Return the vectors of these texts, by their ids. A text that the embedder refuses gets none."""
        if waiting and time.monotonic() < self._retry_at:
            raise ModelError(self.error)
        try:
            rows = embedder.embed([text for _, text in waiting])
        except ModelError as error:
            if not self._works(embedder):
                self._failed(error)
                raise
            if len(waiting) > 1:
                return [made for one in waiting for made in self.embed(embedder, [one])]
            log.warning("item %s is found by its words only: %s", waiting[0][0], error)
            return []
        self.error = ""
        return [(id_, row) for (id_, _), row in zip(waiting, rows, strict=True)]

    def _works(self, embedder: Embedder) -> bool:
        """Return whether an embedder that refused texts embeds at all."""
        try:
            embedder.embed([PROBE_TEXT])
        except ModelError:
            return False
        return True

    def _failed(self, error: LifelongError) -> None:
        self.error = f"New items are found by their words only, since they cannot be embedded: {error}"
        self._retry_at = time.monotonic() + AFTER_FAILURE

    def _texts(self, waiting: Iterable[ItemText]) -> list[tuple[int, str]]:
        return [(one.item_id, self._text(one)) for one in waiting]

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
            if others := self._database.write(lambda tx: IndexStates(tx).choose(wanted)):
                log.warning("re-embedding user %s with %s", ", ".join(others), wanted)
            self._chosen = wanted
            for owner in self._database.read(lambda tx: IndexStates(tx).owners()):
                self._drop_others(owner)  # what a process that was killed has left
                self._check_store(owner)

    def status_notes(self, owner: str) -> list[str]:
        """Return what a person should know about the index of an owner; some are empty."""
        return [self.error, self.background.error, self._outvoted(owner)]

    def _outvoted(self, owner: str) -> str:
        """Return a note if another embedder than the one configured here makes an owner's vectors; else empty."""
        mine = self._identities.get(id(self._embedders[0]), "")
        theirs = self._database.read(lambda tx: IndexStates(tx).chosen(owner)) if mine else ""
        if theirs in ("", mine):
            return ""
        return (
            f"The vectors of this user are made by {theirs}, and not by {mine}, which is configured here: the "
            "worker that was started last decides. Restart it with these settings, or this process with those."
        )

    def _replace(self, owner: str) -> int:
        """Make a batch of vectors by the configured embedder; after the last one, these are in use."""
        embedder = self._embedders[0]
        erasures, (state, waiting) = self._database.read(
            lambda tx: (erasure_count(tx, owner), self._read_next(tx, owner))
        )
        embedder_id = state.next_embedder_id
        if embedder_id is None:
            return 0
        partition = self.partition(owner, self.identity(embedder))
        try:
            rows = self.vectors(owner).get(partition, [one.item_id for one in waiting])
            new = [one for one, row in zip(waiting, rows, strict=True) if not row.any()]
            self._make(partition, embedder, new, erasures)
        except ErasedMeanwhile:
            return 1  # the batch is read again
        except ModelError:  # `error` says so, and it is tried again later
            return 0
        except StorageError as error:
            self._failed(error)
            return 0

        def work(tx: Transaction) -> bool:
            states = IndexStates(tx)
            now = states.lock(owner)
            if now.next_embedder_id != embedder_id:
                return False
            if waiting:
                states.set(owner, now._replace(next_embedded_until=waiting[-1].item_id))
            else:
                states.set(
                    owner,
                    now._replace(
                        embedder_id=embedder_id, next_embedder_id=None, next_embedded_until=0, mean=None, mean_of=0
                    ),
                )
            return not waiting

        if self._database.write(work):
            log.info("user %s has all vectors of %s, which are in use from now on", owner, partition.embedder)
            self._drop_others(owner)
            self._complete(partition)
            self._maintain(partition)
        return len(waiting) or 1

    def _complete(self, partition: VectorPartition) -> int:
        """Do what remains once vectors are in use that were not noted one by one. Return whether it was done."""
        try:
            self._requeue_missing(partition)
        except StorageError as error:
            self._failed(error)
            return 0
        return 1

    def _check_store(self, owner: str) -> None:
        """Have all vectors made again where the newest item's is gone: the store was emptied, or replaced."""
        state, newest = self._database.read(
            lambda tx: (IndexStates(tx).get(owner), IndexStates(tx).with_vector(owner, limit=1))
        )
        if not newest:
            return
        partition = self.partition(
            owner, self._database.read(lambda tx: IndexStates(tx).identity(state.embedder_id))
        )
        try:
            if not self.vectors(owner).get(partition, newest).any():
                log.error("the vectors of user %s are gone, and are made again", owner)
                self._requeue_missing(partition)
        except StorageError as error:
            self._failed(error)

    def _requeue_missing(self, partition: VectorPartition) -> None:
        """Have items embedded that have no vector, as those that came in while the embedder changed; then compute
        the mean of the newest, where there is none: until then, a process that stops has this done again."""
        owner, before, mean, mean_of = partition.owner, NO_LIMIT, b"", 0
        while ids := self._database.read(
            lambda tx, before=before: IndexStates(tx).with_vector(owner, before, BATCH)  # type: ignore[misc]
        ):
            vectors = self.vectors(owner).get(partition, ids)
            self._database.write(partial(self._note_missing, owner, ids, vectors))
            before = ids[-1]
            own = self._database.read(lambda tx, ids=ids: IndexStates(tx).not_derived(ids))  # type: ignore[misc]
            if not mean and (
                has := [row for id_, row in zip(ids, vectors, strict=True) if id_ in own and row.any()]
            ):
                mean, mean_of = (sum(has) / len(has)).astype("<f4").tobytes(), len(has)

        def work(tx: Transaction) -> None:
            states = IndexStates(tx)
            state = states.lock(owner)
            if state.mean is None and states.identity(state.embedder_id) == partition.embedder:
                states.set(owner, state._replace(mean=mean, mean_of=mean_of))

        self._database.write(work)

    def _note_missing(self, owner: str, ids: Sequence[int], vectors: Rows, tx: Transaction) -> None:
        states = IndexStates(tx)
        state = states.lock(owner)
        missing = [id_ for id_, row in zip(ids, vectors, strict=True) if not row.any()]
        states.set(owner, state._replace(size=state.size - len(states.not_derived(states.requeue(missing)))))

    def _drop_others(self, owner: str) -> None:
        """Delete the vectors of embedders that this owner uses no longer, and will not use next."""

        def others(tx: Transaction) -> set[str]:
            states = IndexStates(tx)
            state = states.get(owner)
            return {*states.identities()} - {*map(states.identity, (state.embedder_id, state.next_embedder_id))}

        for identity in self._database.read(others):
            try:
                self.vectors(owner).clear(self.partition(owner, identity))
            except LifelongError as error:
                log.warning("old vectors are deleted later: %s", error)

    def _read_next(self, tx: Transaction, owner: str) -> tuple[IndexState, list[ItemText]]:
        states = IndexStates(tx)
        state = states.get(owner)
        return state, states.after(owner, state.next_embedded_until, BATCH)
