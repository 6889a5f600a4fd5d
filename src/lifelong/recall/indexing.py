"""Vectors, made in the background: for what is new, for what has changed, and all anew for another embedder.

Whoever embeds holds no lock while it does. Then one transaction stores the vectors and stamps the items, and every
shelf reads them from there. A stop at any instant costs at most the batch under way, which is found again.
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
from lifelong.recall.file_sync import FileSync
from lifelong.recall.index_writer import text_of
from lifelong.recall.rebuild import IndexRebuild
from lifelong.recall.vector_rows import State, Text, VectorRows
from lifelong.redaction import redact
from lifelong.storage.base import Database, Transaction
from lifelong.types import Clock

log = logging.getLogger("lifelong.recall")

BATCH = 1_000
LOOK_EVERY = 5.0  # seconds between two looks at files
EVERY = 1.0  # seconds between two looks; whoever appends in this process wakes it
AFTER_FAILURE = 30.0  # seconds in which an embedder that failed is not asked again
SURELY = 3  # texts in a row that are refused: then it is not the texts

_one_at_a_time = threading.Lock()
"""Where several memories of a process index one home, they do not embed the same."""


class Indexer:
    """Keeps the index of the whole home. `embedders` has the one that is configured first, and then others whose
    vectors it can still read. Of the kinds `by_words` no vectors are made. `files` are looked at now and then.
    `backfill` does a batch of what else is to be embedded, and says how much that was."""

    def __init__(
        self,
        database: Database,
        embedders: Sequence[Embedder],
        clock: Clock,
        *,
        by_words: Collection[str] = (),
        files: Callable[[], Sequence[FileSync]] = tuple,
        backfill: Callable[[], int] = lambda: 0,
    ) -> None:
        self._database = database
        self._embedders = embedders
        self._clock = clock
        self._by_words = by_words
        self._files = files
        self._backfill = backfill
        self._looked = -LOOK_EVERY
        self._again = 0.0
        self._identities: dict[int, str] = {}
        self._chosen = ""  # the embedder that this process has named as the one to make the vectors
        self.background = PeriodicThread("indexer", lambda: 0.0 if self.run() else EVERY, AFTER_FAILURE)
        self.error = ""

    def run_until_idle(self) -> None:
        """Everything there is to do, in the calling thread."""
        self._looked, self._again = -LOOK_EVERY, 0.0
        while self.run():
            pass

    def left(self) -> int:
        """How many records and items of the home wait."""
        return self._database.read(lambda tx: IndexRebuild(tx).left() + VectorRows(tx).waiting())

    def run(self) -> int:
        """A batch of each owner. How many items it worked on."""
        done = self._file_backlog() + self._look_at_files() + self._backfill()
        for owner in self._database.read(lambda tx: VectorRows(tx).owners(waiting=True)):
            done += self.index(owner)
        if wanted := self.wanted():
            self._choose(wanted)
            for owner in self._database.read(lambda tx: VectorRows(tx).changing_to(wanted)):
                done += self._replace(owner)
        return done

    def _file_backlog(self) -> int:
        if not self._database.read(lambda tx: IndexRebuild(tx).left()):
            return 0
        self._database.write(lambda tx: IndexRebuild(tx).do_some(self._clock()))
        return 1

    def look(self) -> None:
        """Look at the files now: they were changed."""
        self._looked = -LOOK_EVERY
        if self.background.running:
            self.background.wake()
        else:
            self._look_at_files()

    def _look_at_files(self) -> int:
        if time.monotonic() < self._looked + LOOK_EVERY:
            return 0
        self._looked = time.monotonic()
        return sum(one.sync() for one in self._files())

    def index(self, owner: str, limit: int = BATCH) -> int:
        """The oldest of an owner's items that wait. How many there were."""
        with _one_at_a_time:
            return self._index(owner, limit)

    def _index(self, owner: str, limit: int) -> int:
        waiting, state, missing = self._database.read(lambda tx: self._look(tx, owner, limit))
        serving, made = self._serving(state), list[tuple[int, bytes]]()
        try:
            made = self.embed(serving, self._texts(waiting, missing)) if serving else []
        except LifelongError:  # it is told
            serving = None
        if not serving:  # what only changed needs no vector, the rest waits for who can make it
            waiting = [one for one in waiting if one.item_id not in missing]
        if not waiting:
            return 0

        def work(tx: Transaction) -> int:
            shelves = VectorRows(tx)
            now = shelves.take(owner)
            if now.embedder_id != state.embedder_id:
                return 0
            embedder_id = now.embedder_id
            if embedder_id is None and serving:
                embedder_id = shelves.embedder(self.identity(serving))
            if embedder_id is not None:
                shelves.put_vectors(embedder_id, made)
            shelves.stamp([one.item_id for one in waiting], now.stamp + 1)
            shelves.keep(owner, now._replace(stamp=now.stamp + len(waiting), embedder_id=embedder_id))
            return len(waiting)

        return self._database.write(work)

    def _look(self, tx: Transaction, owner: str, limit: int) -> tuple[list[Text], State, set[int]]:
        shelves = VectorRows(tx)
        waiting, state = shelves.pending(owner, limit), shelves.state(owner)
        ids = [one.item_id for one in waiting]
        known = state.embedder_id
        return waiting, state, {*ids} if known is None else shelves.without_vector(known, ids)

    def _serving(self, state: State) -> Embedder | None:
        """Who makes the vectors of what is new: as those that are there, as long as that can be."""
        if state.embedder_id is None:
            return self._embedders[0] if self.wanted() else None
        return self.find(self._database.read(lambda tx: VectorRows(tx).identity(state.embedder_id)))

    def find(self, identity: str) -> Embedder | None:
        """The embedder that is called so, if it is at hand."""
        return next((one for one in self._embedders if identity and self.identity(one) == identity), None)

    def wanted(self) -> str:
        """The identity of the one that is configured."""
        return self.identity(self._embedders[0])

    def identity(self, embedder: Embedder) -> str:
        """Empty while it cannot be told: a server may have to be asked, one that failed is left alone."""
        if not self._identities.get(id(embedder)) and time.monotonic() >= self._again:
            try:
                self._identities[id(embedder)] = str(embedder.identity)
            except LifelongError as error:
                self._failed(error)
        return self._identities.get(id(embedder), "")

    def embed(self, embedder: Embedder, waiting: Sequence[tuple[int, str]]) -> list[tuple[int, bytes]]:
        """Vectors of these, by their ids. A text that the embedder refuses goes without: words find it."""
        if waiting and time.monotonic() < self._again:
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
                if not made and place in (SURELY, len(waiting)):
                    raise  # it is the embedder, and not the text
                self._again, self.error = 0.0, ""
                log.warning("item %s is found by its words only: %s", one[0], error)
        return made

    def _failed(self, error: LifelongError) -> None:
        self.error = f"New items are found by their words only, for they cannot be embedded: {error}"
        self._again = time.monotonic() + AFTER_FAILURE

    def _texts(self, waiting: Iterable[Text], missing: Set[int]) -> list[tuple[int, str]]:
        """What those say that have no vector."""
        return [(one.item_id, self._text(one)) for one in waiting if one.item_id in missing]

    def _text(self, one: Text) -> str:
        if one.kind in self._by_words:
            return ""
        text = text_of(one.type, one.data or "{}") if one.type else one.text
        return redact(text) if one.flags & SECRET else text

    # Another embedder

    def _choose(self, wanted: str) -> None:
        """Have the vectors of all owners made by this embedder. Said once: whoever was opened with another one
        after us has chosen it since, and each would replace what the other made, without an end."""
        if self._chosen != wanted:
            if others := self._database.write(lambda tx: VectorRows(tx).choose(wanted)):
                log.warning("%s makes the vectors of user %s anew", wanted, ", ".join(others))
            self._chosen = wanted

    def remarks(self, owner: str) -> list[str]:
        """What a person should know of the index of an owner; some are empty."""
        return [self.error, self.background.error, self._outvoted(owner)]

    def _outvoted(self, owner: str) -> str:
        """For a person: that another embedder than the one configured here makes an owner's vectors; empty where
        that is not so, or not known."""
        mine = self._identities.get(id(self._embedders[0]), "")
        theirs = self._database.read(lambda tx: VectorRows(tx).chosen(owner)) if mine else ""
        if theirs in ("", mine):
            return ""
        return (
            f"The vectors of this user are made by {theirs}, and not by {mine}, which is configured here: the "
            "worker that was started last decides. Start it anew with these settings, or this process with those."
        )

    def _replace(self, owner: str) -> int:
        """A batch of vectors by the embedder that is configured; after the last one, these serve."""
        embedder = self._embedders[0]
        state, waiting, missing = self._database.read(lambda tx: self._look_behind(tx, owner))
        embedder_id = state.coming_id
        if embedder_id is None:
            return 0
        try:
            made = self.embed(embedder, self._texts(waiting, missing))
        except LifelongError:  # it is told, and tried again later
            return 0

        def work(tx: Transaction) -> None:
            shelves = VectorRows(tx)
            now = shelves.take(owner)
            if now.coming_id != embedder_id:
                return
            shelves.put_vectors(embedder_id, made)
            if waiting:
                shelves.keep(owner, now._replace(coming_until=waiting[-1].item_id))
            else:
                shelves.keep(owner, State(now.stamp, now.era, embedder_id))
                shelves.unstamp_without(embedder_id, owner)
                log.info("the vectors of %s now serve user %s", self.identity(embedder), owner)

        self._database.write(work)
        if not waiting:
            while self._database.write(lambda tx: VectorRows(tx).drop_others(embedder_id, owner, BATCH)):
                pass
        return len(waiting) or 1

    def _look_behind(self, tx: Transaction, owner: str) -> tuple[State, list[Text], set[int]]:
        shelves = VectorRows(tx)
        state = shelves.state(owner)
        waiting = shelves.behind(owner, state.coming_until, BATCH)
        return state, waiting, shelves.without_vector(state.coming_id or 0, [one.item_id for one in waiting])
