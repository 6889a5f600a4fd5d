"""S6: text that somebody has in hand while it is forgotten does not come back: whoever reads, and writes later
what was made of it, reads again. Two stores on one home; the other one forgets between the read and the write."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pytest

from lifelong import Memory, Store
from lifelong.forget import erasure
from lifelong.forget.plan import Planner, WhatToForget, store_plan
from lifelong.journal.indexing import journal_items, journal_paths
from lifelong.models.embedders.base import Rows, Vector
from lifelong.models.embedders.static import StaticEmbedder
from lifelong.organize.dispatch import Dispatcher
from lifelong.organize.draft import Draft
from lifelong.organize.organizer import Transcript
from lifelong.recall import repair
from lifelong.recall.index_writer import FileSync
from lifelong.recall.items import Items
from lifelong.recall.repair import IndexRebuild
from lifelong.storage.base import Transaction
from lifelong.testing import FakeClock, ScriptedOrganizer, log_records
from lifelong.types import Item
from tests.test_forget import EVERYTHING_ON, assert_gone, rows_with, tell

SECRET = "My sister Zelda works at Quuxcorp as a nurse."
OTHER = "I like quiet trains along the coast."


class Once:
    """Calls something the first time that it is called itself."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self.times = 0

    def __call__(self) -> None:
        self.times += 1
        if self.times == 1:
            self._call()


class Pausing:
    """An embedder that calls `pause` before it embeds a text that names Zelda."""

    def __init__(self) -> None:
        self._bundled = StaticEmbedder()
        self.pause = Once(lambda: None)

    @property
    def identity(self) -> str:
        return str(self._bundled.identity)

    def _look(self, texts: Sequence[str]) -> None:
        if any("Zelda" in text for text in texts):
            self.pause()

    def embed(self, texts: Sequence[str]) -> Rows:
        self._look(texts)
        return self._bundled.embed(texts)

    def embed_query(self, text: str, weights: Any) -> Vector:
        self._look([text])
        return self._bundled.embed_query(text, weights)


@pytest.fixture
def embedder() -> Pausing:
    return Pausing()


OpenStore = Callable[..., Store]


@pytest.fixture
def open_store(tmp_path: Path, storage: dict[str, Any], clock: FakeClock) -> Iterator[OpenStore]:
    opened: list[Store] = []

    def open_one(**parts: Any) -> Store:
        patience = {**storage, "busy_timeout": 5.0}  # a reader may be paused while something is forgotten
        store = Store.open(tmp_path / "home", clock=clock, storage=patience, continuity=EVERYTHING_ON, **parts)
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def other(open_store: OpenStore) -> Memory:
    """The memory of another process, which forgets."""
    return open_store().user("mara")


def test_words_and_vectors_of_an_item_that_is_being_embedded(
    open_store: OpenStore, other: Memory, embedder: Pausing
) -> None:
    """S6: the vocabulary and the vectors."""
    mara = open_store(embedder=embedder).user("mara")
    told = [*mara.add(SECRET), *mara.add(OTHER)]
    embedder.pause = Once(lambda: other.forget(told[0]))
    mara._parts.shared.index_worker.run_until_idle()
    assert embedder.pause.times
    assert_gone(other, "Zelda", "Quuxcorp")
    assert mara.search("trains")[0].text == OTHER
    database = mara._parts.shared.database
    orphans = "SELECT 1 FROM item_vectors v WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.id = v.item_id)"
    assert not database.read(lambda tx: tx.all(orphans))


def test_a_journal_line_that_becomes_an_experience(
    open_store: OpenStore, other: Memory, embedder: Pausing
) -> None:
    """S6, R6."""
    mara = open_store(embedder=embedder).user("mara")
    told = tell(mara, SECRET, OTHER)
    embedder.pause = Once(lambda: other.forget(told[0]))
    mara.experiences.extract()
    assert embedder.pause.times
    assert_gone(other, "Zelda", "Quuxcorp")
    assert [one.text for one in mara.experiences.list()] == [f"User: {OTHER}"]


def test_a_file_that_is_being_indexed(open_store: OpenStore, other: Memory, clock: FakeClock) -> None:
    """S6: a line of the journal, and a summary that is written again."""
    mara = open_store().user("mara")
    for number in range(12):
        tell(mara, f"Day {number}: the Heron pump number {number} runs well and quietly in the hall.")
    told = tell(mara, SECRET)
    clock.turn(days=30)
    mara.journal.compact(force=True)
    told += tell(mara, "Zelda has the keys to the Vorpalroom.")
    files, pause = mara.journal.every_file, Once(lambda: other.forget(*told))

    def items(data: bytes, path: Path) -> list[Item]:
        read = [*journal_items(data, path, files.root)]
        if path == files.long_memory:  # the last one
            pause()
        return read

    database = mara._parts.shared.database
    sync = FileSync(
        database, "mara", clock, Path.read_bytes, "journal", lambda: journal_paths(files), items, alone=True
    )
    database.write(lambda tx: Items(tx, "mara").erase([row[0] for row in tx.all("SELECT id FROM items")]))
    sync.sync({})
    assert pause.times == 2
    for word in ("Zelda", "Quuxcorp", "Vorpalroom"):
        assert not rows_with(database, word)
    assert rows_with(database, "Heron pump number 3")


def test_a_search_that_is_not_logged_yet(open_store: OpenStore, other: Memory, embedder: Pausing) -> None:
    """S6, R10: one that waits to be written, and one that has not found yet."""
    mara = open_store(embedder=embedder).user("mara")
    told = tell(mara, SECRET, OTHER)
    mara.search("Where does Quuxcorp have an office?")
    embedder.pause = Once(lambda: other.forget(told[0]))
    mara.search("Where does Zelda work?")
    assert embedder.pause.times
    mara.search("trains")
    assert [one.question for one in mara.admin.recall_log()] == ["trains"]
    assert_gone(other, "Zelda", "Quuxcorp")


def test_a_run_that_has_read_a_document(open_store: OpenStore, other: Memory) -> None:
    """S6: what an organizer read of other documents, it writes nowhere."""
    told = tell(other, SECRET)
    pause = Once(lambda: other.forget(*told))

    def copy(transcript: Transcript, draft: Draft) -> None:
        page = draft.at("~/memory/people/mara")
        employer = "Quuxcorp" if page and "Quuxcorp" in page.body else "nobody"
        pause()
        body = f"Works for {employer}. [r{transcript.records[0].id}]"
        draft.write(slug="all", title="All", description="", body=body, parent_path="~/memory")

    mara = open_store(organizer=ScriptedOrganizer(copy, copy)).user("mara")
    mara.add(OTHER)
    mara.end_session()
    mara.organize()
    assert pause.times == 2
    assert_gone(other, "Zelda", "Quuxcorp")
    assert "Works for nobody." in mara.documents.read("~/memory/all").body


class PausingZone(tzinfo):
    """A zone that calls `pause` when a transcript is written in it."""

    def __init__(self, pause: Once) -> None:
        self._pause = pause

    def utcoffset(self, moment: datetime | None) -> timedelta:
        self._pause()
        return timedelta(0)

    def dst(self, moment: datetime | None) -> timedelta:
        return timedelta(0)

    def tzname(self, moment: datetime | None) -> str:
        return "UTC"


def test_a_transcript_on_its_way_to_the_inbox(
    open_store: OpenStore, other: Memory, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S6: the reader keeps the log of the database from being emptied, so that is done later."""
    monkeypatch.setattr(erasure, "WAIT_SECONDS", 0.0)
    mara = open_store().user("mara")
    told = [*mara.add(SECRET), *mara.add(OTHER)]
    mara.end_session()
    shared, zone = mara._parts.shared, PausingZone(Once(lambda: other.forget(told[0])))
    dispatcher = Dispatcher(
        *(shared.database, shared.lifecycle, clock),
        batch_records=100,
        batch_chars=10_000,
        tool_result_chars=100,
        zone=zone,
    )
    assert dispatcher.run(clock()) == 1
    other._parts.eraser.resume()
    assert_gone(other, "Zelda", "Quuxcorp")
    assert OTHER in mara.inbox.list()[0].text


def test_a_turn_whose_progress_a_crash_lost(other: Memory) -> None:
    """S6, O23: the line is in the journal, the row does not say so."""
    database = other._parts.shared.database
    other.add(OTHER)
    told = other.add(SECRET)
    other.end_session()
    other.organize()
    database.write(lambda tx: tx.run("UPDATE journal_progress SET until_id = 1"))
    other.forget(*told)
    assert_gone(other, "Zelda", "Quuxcorp")


def test_two_parts_of_one_record(other: Memory) -> None:
    """S6: what the second one leaves of a record is without what the first one took."""
    talk = (
        "The standup is at nine in the big room and Priya chairs it. The minutes are in the wiki. "
        "Tom brings coffee on Mondays, and the window stays open. Our printer upstairs jams every week. "
        "The caretaker comes on Thursdays and waters the plants. Somebody left an umbrella in the hall again."
    )
    tell(other, f"{talk} I'm allergic to pistachios. I live in Gdynia.")
    pistachios, gdynia = (
        next(hit.id for hit in other.list("fact") if word in hit.text) for word in ("pistachios", "Gdynia")
    )

    def begin(tx: Transaction) -> None:  # in another process, which was interrupted before its first step
        store_plan(tx, "mara", Planner(tx, "mara").plan(WhatToForget((pistachios,))), "person", other._clock())

    other._write(begin)
    report = other.forget(gdynia)
    assert report.cut
    other._parts.eraser.resume()
    assert_gone(other, "pistachios", "Gdynia")
    assert "Priya chairs it" in other.search("Who chairs the standup?")[0].text


def test_a_user_who_is_forgotten_meanwhile(
    open_store: OpenStore, other: Memory, embedder: Pausing, clock: FakeClock
) -> None:
    """S6: no row of theirs comes back, and not their name."""
    mara = open_store(embedder=embedder).user("mara")
    tell(mara, SECRET, OTHER)
    mara.search("Where does Quuxcorp have an office?")
    embedder.pause = Once(lambda: other.store.forget_user("mara"))
    mara.experiences.extract()
    assert embedder.pause.times
    mara._parts.flush_logs()
    database = mara._parts.shared.database
    for word in ("Zelda", "Quuxcorp", "mara"):
        assert not rows_with(database, word)


def test_a_run_of_an_agent_that_is_forgotten_ends_quietly(
    open_store: OpenStore, other: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    """S6, O5: it is no error."""

    def act(transcript: Transcript, draft: Draft) -> None:
        other.forget(agent=other.agent())
        log_records(transcript, draft)

    organizer = ScriptedOrganizer(act)
    mara = open_store(organizer=organizer).user("mara")
    mara.add(SECRET)
    mara.end_session()
    with caplog.at_level(logging.INFO, "lifelong"):
        mara.organize()
    assert len(organizer.seen) == 1
    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]
    assert "the run was discarded. What it should organize was forgotten." in caplog.text
    assert_gone(other, "Zelda", "Quuxcorp")


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_an_index_that_is_being_rebuilt(
    open_store: OpenStore,
    other: Memory,
    storage: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    rounds: int,
) -> None:
    """S6, R1: between two batches; where writers do not wait for each other, also within one."""
    mara = open_store().user("mara")
    told = tell(mara, OTHER, SECRET, "I bake bread on Sundays.")
    worker = mara._parts.shared.index_worker
    worker.run_until_idle()
    monkeypatch.setattr(repair, "ROWS_PER_BATCH", 1)
    mara.admin.rebuild()
    for _ in range(rounds):
        worker.run()
    pause = Once(lambda: other.forget(told[1]))
    if storage:
        unforgotten = IndexRebuild._unforgotten

        def read(self: IndexRebuild, rows: Callable[[], list[Any]], owner: Callable[[Any], str]) -> list[Any]:
            def read_then_pause() -> list[Any]:
                found = rows()
                pause()
                return found

            return unforgotten(self, read_then_pause, owner)

        monkeypatch.setattr(IndexRebuild, "_unforgotten", read)
    else:
        pause()
    worker.run_until_idle()
    assert pause.times
    assert_gone(other, "Zelda", "Quuxcorp")
    assert mara.search("trains")[0].text == OTHER
    assert mara.admin.verify() == []
    stray = "SELECT rowid FROM item_words WHERE rowid NOT IN (SELECT id FROM items)"
    assert not mara._parts.shared.database.read(lambda tx: tx.all(stray))
