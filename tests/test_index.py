"""R1, R4: the index is derived. Whatever happens to it, it is noticed, recall goes on, and it is rebuilt."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lifelong import Agent, Memory, User, UserMessage
from lifelong.errors import (
    ModelError,
    OutcomeUnknown,
    StorageBusy,
    StorageCorrupt,
    StorageError,
    StorageUnavailable,
)
from lifelong.models.embedders.base import Identity, Rows
from lifelong.models.embedders.static import StaticEmbedder
from lifelong.recall import index_worker, repair
from lifelong.recall.analyzer import IN_FIRST_PERSON, IS_QUESTION, PERSON
from lifelong.recall.items import Items
from lifelong.recall.repair import IndexRepair
from lifelong.serve.cli.admin import rebuild_index
from lifelong.serve.restore import restore
from lifelong.storage.base import Database, Transaction
from lifelong.vectors import local, segments
from tests.conftest import OpenMemory, everything, until
from tests.indexer import Letters

INDEXER = Path(__file__).with_name("indexer.py")
SAID = tuple(
    f"My {animal} number {n} sleeps in the {place}."
    for n, (animal, place) in enumerate(
        [("heron", "barn"), ("otter", "bath"), ("badger", "cellar"), ("newt", "jar"), ("stoat", "attic")] * 20
    )
)


@pytest.fixture
def full(memory: Memory, alice: Agent) -> Memory:
    memory.append_many(alice, [UserMessage(text) for text in SAID])
    memory.organize()
    return memory


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repair, "ROWS_PER_BATCH", 20)
    monkeypatch.setattr(index_worker, "BATCH", 20)


QUESTIONS = ("Where does the badger sleep?", "Which animal is in the bath?", "heron 5", "water animals")


def found_by(memory: Memory) -> list[set[str]]:
    """Everything that words find. What meaning finds depends a little on how the index was loaded."""
    found = [memory.search(question, 500, explain=True) for question in QUESTIONS]
    return [{hit.id for hit in hits if "words" in hit.parts} for hits in found]


def answers(memory: Memory) -> list[list[tuple[str, float]]]:
    return [[(hit.id, hit.score) for hit in memory.search(question, 10)] for question in QUESTIONS]


def vectors(database: Database) -> dict[str, int]:
    sql = (
        "SELECT e.identity, count(*) FROM item_vectors v JOIN embedders e ON e.id = v.embedder_id "
        "GROUP BY e.identity"
    )
    return {row[0].partition("/")[0]: row[1] for row in database.read(lambda tx: tx.all(sql))}


def test_a_whole_index_has_no_faults(full: Memory) -> None:
    """R1: verify."""
    assert full.admin.verify() == []
    assert full.admin.health().status == "green"


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        ("DELETE FROM items WHERE kind = 'record' AND record_id % 2 = 0", "records cannot be found"),
        ("DELETE FROM item_vectors", "have no vector"),
        ("DELETE FROM item_words WHERE rowid % 2 = 0", "not in the full-text index"),
    ],
)
def test_verify_finds_what_is_missing_and_rebuild_mends_it(
    full: Memory, database: Database, small_batches: None, damage: str, fault: str
) -> None:
    """R1: both commands; nothing canonical is touched."""
    before = found_by(full)
    database.write(lambda tx: tx.run(damage))
    assert any(fault in one for one in full.admin.verify())
    full.admin.rebuild()
    assert full.admin.verify() == [], "what is being made again is no fault"
    full.search("badger")
    full.organize()
    assert full.admin.verify() == []
    assert found_by(full) == before


@pytest.mark.parametrize("text", ["Ich bin es nicht.", "¿Y por qué no?", "il est la", "I am not it."])
def test_a_text_of_small_words_only_is_no_fault(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    """R1: there is nothing to write to the full-text index, in any language; no open takes that for damage."""
    with Memory.open(tmp_path) as memory:
        memory.add("The badger sleeps in Lisbon.")
        memory.add(text)
        memory.organize()
    with Memory.open(tmp_path) as memory:
        assert "search index" not in caplog.text
        assert memory.admin.verify() == []
        assert memory.admin.health().status == "green"


def test_a_rebuild_mends_how_long_an_older_version_found_a_text(memory: Memory, database: Database) -> None:
    """R1: a text of small words only was counted as having some."""
    memory.add("Ich bin es nicht.")
    database.write(lambda tx: tx.run("UPDATE items SET length = 4"))
    assert memory.admin.verify()
    memory.admin.rebuild()
    memory.organize()
    assert memory.admin.verify() == []


def test_a_rebuild_deletes_what_belongs_to_nothing(full: Memory, database: Database, small_batches: None) -> None:
    """R1: items without a record, words and vectors without an item, wherever among the others they are."""

    def orphans(tx: Transaction) -> tuple[int, ...]:
        gone = "NOT IN (SELECT id FROM"
        return tuple(
            tx.all(f"SELECT count(*) FROM {which}")[0][0]
            for which in (
                f"items WHERE kind = 'record' AND record_id {gone} session_history)",
                f"item_words WHERE rowid {gone} items)",
                f"item_vectors WHERE item_id {gone} items)",
            )
        )

    def damage(tx: Transaction) -> None:
        ids = [row[0] for row in tx.all("SELECT id FROM items WHERE kind = 'record' ORDER BY id")]
        tx.run("UPDATE items SET record_id = record_id + 1000000, ref = '900' || ref WHERE id = ?", ids[3])
        tx.run("DELETE FROM items WHERE id IN (?, ?)", ids[1], ids[-1])

    database.write(damage)
    assert all(database.read(orphans))
    full.admin.rebuild()
    full.organize()
    assert database.read(orphans) == (0, 0, 0)
    assert full.admin.verify() == []


def test_a_rebuild_analyzes_again(memory: Memory, alice: Agent, database: Database) -> None:
    """R1: what an older version did not see in a text is seen; who said it stays."""
    memory.append_many(alice, [UserMessage("I drink two cups."), UserMessage("Which tea is best?")])
    memory.organize()
    flags = "SELECT flags FROM items WHERE kind = 'record' ORDER BY id"
    before = database.read(lambda tx: tx.all(flags))
    assert [row[0] & (PERSON | IN_FIRST_PERSON | IS_QUESTION) for row in before] == [
        PERSON | IN_FIRST_PERSON,
        PERSON | IS_QUESTION,
    ]
    database.write(lambda tx: tx.run("UPDATE items SET flags = ?", PERSON))
    memory.admin.rebuild()
    memory.organize()
    assert database.read(lambda tx: tx.all(flags)) == before


def test_recall_goes_on_while_the_index_is_made(full: Memory, small_batches: None) -> None:
    """R1: with all of the old one until the new one is whole, and with every turn that comes in meanwhile."""
    before, worker = found_by(full), full._parts.shared.index_worker
    full.admin.rebuild()
    full.append(full.agent(User("cli", "alice", "main")), UserMessage("The lynx is new."))
    rounds = 0
    while worker.run():
        rounds += 1
        assert full.search("lynx", 1)[0].text == "The lynx is new."
        assert len(full.search("sleeps", 200)) >= len(SAID)
        assert found_by(full) == before
    assert rounds > 3
    assert full.admin.verify() == []


def test_an_older_database_is_indexed_in_the_background(
    full: Memory, database: Database, open_memory: OpenMemory
) -> None:
    """C5, R1: its history, and its documents."""

    def as_before_recall(tx: Transaction) -> None:
        for table in ("item_words", "item_vectors", "index_state", "items", "rebuild_progress"):
            tx.run(f"DELETE FROM {table}")
        tx.run("INSERT INTO rebuild_progress SELECT 1, 0, max(id) FROM session_history")

    before = {hit.id for hit in full.search("heron", 200)}
    assert any(id_.startswith("f") for id_ in before)
    database.write(as_before_recall)
    upgraded = open_memory()
    upgraded.organize()
    assert {hit.id for hit in upgraded.search("heron", 200)} == before


def test_an_index_that_is_gone_is_noticed_on_open(
    full: Memory, open_memory: OpenMemory, caplog: pytest.LogCaptureFixture
) -> None:
    """R1: said, and made anew."""
    before = found_by(full)
    for table in ("item_words", "item_vectors", "index_state", "items"):
        full._parts.shared.database.write(lambda tx, table=table: tx.run(f"DELETE FROM {table}"))  # type: ignore[misc]
    with caplog.at_level(logging.ERROR):
        again = open_memory()
    assert "search index was missing" in caplog.text
    assert "is rebuilt" in again.admin.health().reasons[0]
    again.organize()
    assert found_by(again) == before


def test_a_home_without_anything_to_find_is_left_alone(
    memory: Memory, alice: Agent, open_memory: OpenMemory, caplog: pytest.LogCaptureFixture
) -> None:
    """R1: what holds no word is no sign of damage, nor is a record that cannot be read."""
    [_, broken] = memory.append_many(alice, [UserMessage("Who are you?"), UserMessage("The lynx purrs.")])
    memory._parts.shared.database.write(lambda tx: tx.run("DELETE FROM items WHERE ref = ?", str(broken)))
    memory._parts.shared.database.write(
        lambda tx: tx.run("UPDATE session_history SET data = '{' WHERE id = ?", broken)
    )
    with caplog.at_level(logging.ERROR):
        assert open_memory().admin.health().status == "green"
        memory._parts.shared.database.write(lambda tx: tx.run("UPDATE session_history SET data = '{'"))
        memory._parts.shared.database.write(lambda tx: tx.run("DELETE FROM items"))
        assert open_memory().admin.health().status == "green"
    assert "missing" not in caplog.text


def test_who_looks_is_told_that_the_index_is_being_made(full: Memory, open_memory: OpenMemory) -> None:
    """R1: also by a memory that did not begin it, and only until it is done."""
    full.admin.rebuild()
    again = open_memory()
    assert "lifelong rebuild" in again.admin.health().reasons[0]
    full.organize()
    assert again.admin.health().status == "green"


class Ailing:
    """A database that raises an error once its work is done, so many times."""

    def __init__(self, database: Database, error: StorageError, times: int) -> None:
        self._database = database
        self._error = error
        self._times = times

    def read(self, work: Callable[[Transaction], Any]) -> Any:
        return self._failing(self._database.read(work))

    def write(self, work: Callable[[Transaction], Any]) -> Any:
        return self._failing(self._database.write(work))

    def _failing(self, done: Any) -> Any:
        self._times -= 1
        if self._times >= 0:
            raise self._error
        return done


@pytest.mark.parametrize(
    ("error", "times", "is_damage"),
    [
        (StorageBusy(), 9, False),
        (StorageUnavailable(), 9, False),
        (OutcomeUnknown(), 9, False),
        (StorageError("A page is odd."), 1, False),
        (StorageError("A page is odd."), 2, True),
        (StorageCorrupt(), 1, True),
    ],
)
def test_a_database_that_is_busy_is_not_damaged(
    full: Memory, database: Database, error: StorageError, times: int, is_damage: bool
) -> None:
    """R1: the full-text index is emptied only where it cannot be read."""
    assert IndexRepair(Ailing(database, error, times), full._parts.shared.vectors).repair_fulltext() is is_damage  # type: ignore[arg-type]
    assert bool(full.admin.verify()) is is_damage


class Mended:
    """Says that the index was damaged, and is repaired."""

    def repair_fulltext(self, error: StorageError) -> bool:
        return True


def test_what_may_have_been_stored_is_not_stored_again(memory: Memory, alice: Agent) -> None:
    """C1, R1: even where the index was damaged at the same time."""
    turns = memory._parts.shared.recorder
    turns._database = Ailing(memory._parts.shared.database, OutcomeUnknown(), 1)  # type: ignore[assignment]
    turns._repair = Mended()  # type: ignore[assignment]
    with pytest.raises(OutcomeUnknown):
        memory.append(alice, UserMessage("The lynx purrs."))
    assert len(memory.sessions.history(alice)) == 1


def break_words(memory: Memory, how: str = "randomblob") -> None:
    """Write nonsense where the full-text index keeps its own."""
    memory._parts.shared.database.write(lambda tx: tx.run(f"UPDATE item_words_data SET block = {how}(40)"))


@pytest.mark.parametrize("noticed_by", ["open", "open, with zeros", "recall", "append"])
def test_a_damaged_full_text_index(tmp_path: Path, noticed_by: str, caplog: pytest.LogCaptureFixture) -> None:
    """R1, C10: noticed wherever it shows, said, and written anew. No turn is refused because of it."""
    with Memory.open(tmp_path) as memory:
        alice = memory.agent(User("cli", "alice", "main"))
        memory.append_many(alice, [UserMessage(text) for text in SAID])
        memory.organize()
        before = found_by(memory)
        break_words(memory, "zeroblob" if "zeros" in noticed_by else "randomblob")
        if noticed_by == "recall":
            assert memory.search("Where does the badger sleep?", 5)  # by meaning
    with Memory.open(tmp_path) as memory:
        if noticed_by == "append":
            break_words(memory)
            for n in range(20):
                memory.append(alice, UserMessage(f"The lynx number {n} is new."))
        memory.organize()
        assert "full-text index was damaged" in caplog.text
        assert memory.admin.verify() == []
        assert memory.admin.check() == []
        if noticed_by != "append":
            assert found_by(memory) == before
        else:
            assert len(memory.sessions.history(alice)) == len(SAID) + 20
            assert memory.search("lynx", 1)[0].text.startswith("The lynx")


@pytest.mark.parametrize("damage", ["x'00'", "zeroblob(1024)", "'text'", f"x'{'007e' * 256}'"])
def test_damaged_vectors_are_made_anew(tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    """R1: recall goes on, by words and by the meaning of the others, and says so."""
    with Memory.open(tmp_path) as memory:
        alice = memory.agent(User("cli", "alice", "main"))
        memory.append_many(alice, [UserMessage(text) for text in SAID])
        memory.organize()
        before = found_by(memory), vectors(memory._parts.shared.database)
        memory._parts.shared.database.write(
            lambda tx: tx.run(f"UPDATE item_vectors SET vector = {damage} WHERE item_id % 2")
        )
    with Memory.open(tmp_path) as memory:
        assert len(memory.search("Where does the badger sleep?")) == 5
        assert "vectors were damaged" in caplog.text
        memory.organize()
        assert memory.admin.verify() == []
        assert (found_by(memory), vectors(memory._parts.shared.database)) == before


@pytest.mark.parametrize("damage", ["x'00'", "x''"])
def test_damaged_stems_are_made_anew(tmp_path: Path, damage: str) -> None:
    """R1: noticed on open, where the newest item has them."""
    with Memory.open(tmp_path) as memory:
        alice = memory.agent(User("cli", "alice", "main"))
        memory.append_many(alice, [UserMessage(text) for text in SAID])
        memory.organize()
        before = found_by(memory)
        memory._parts.shared.database.write(lambda tx: tx.run(f"UPDATE items SET stems = {damage}"))
        assert memory.search("Where does the badger sleep?")
    with Memory.open(tmp_path) as memory:
        assert "is rebuilt" in memory.admin.health().reasons[0]
        memory.organize()
        assert found_by(memory) == before


# R16


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "SEGMENT_ROWS", 20)
    monkeypatch.setattr(segments, "MIN_CANDIDATES", 30)


def segments_of(memory: Memory) -> list[Path]:
    return sorted(memory.home.user_folder("default").glob("index/*/*.segment"))


def test_what_is_in_files_is_found_as_what_is_not(
    full: Memory, open_memory: OpenMemory, small_batches: None, small_segments: None
) -> None:
    """R16, R1: vectors in segments, and the newest in rows; what is said now is found at once."""
    before = found_by(full)
    alice = full.agent(User("cli", "alice", "main"))
    full.append_many(alice, [UserMessage(f"The printer {n} is out of paper again.") for n in range(60)])
    full.organize()
    assert segments_of(full)
    again = open_memory()
    assert all(now >= then for now, then in zip(found_by(again), before, strict=True))
    assert "out of paper" in again.search("Which device lacks something to print on?", 1)[0].text, "by meaning"
    again.append(alice, UserMessage("The lynx is new."))
    assert again.search("lynx", 1)[0].text == "The lynx is new."
    assert again.admin.verify() == []


@pytest.mark.parametrize("damage", ["delete", "truncate", "flip"])
def test_damaged_files_cost_nothing(
    full: Memory, open_memory: OpenMemory, small_batches: None, small_segments: None, damage: str
) -> None:
    """R16: noticed, and made again from the rows."""
    full.admin.rebuild()
    full.organize()
    before = answers(full)
    for file in segments_of(full):
        data = bytearray(file.read_bytes())
        file.unlink()
        data[len(data) // 3] ^= 0xFF
        if damage != "delete":
            file.write_bytes(data[: len(data) // 2] if damage == "truncate" else data)
    again = open_memory()
    again.admin.verify()
    assert answers(again) == before
    again.organize()
    assert again.admin.verify() == []
    assert segments_of(again)


def test_what_is_hidden_or_out_of_scope_is_never_found(
    full: Memory, open_memory: OpenMemory, small_batches: None, small_segments: None
) -> None:
    """R3, R16: also where nearly all that is near does not fit; what fits is found all the same."""
    bob = full.agent(User("cli", "bob", "main"))
    full.append(bob, UserMessage("A heron stood by the pond."))
    page = full.documents.write(slug="h", title="H", description="", body="The heron is called Kiki.")
    for number in range(30):
        body = f"The heron is called Kiki the {number}th."
        page = full.documents.write(
            document_id=page.id, expected_version=page.version, slug="h", title="H", description="", body=body
        )
    full.organize()
    there = open_memory("somebody")
    for memory in (full, open_memory()):
        scoped = everything(memory.search("heron", 50, agent=bob))
        assert [hit.text for hit in scoped] == ["A heron stood by the pond."]
        assert {hit.kind for hit in everything(memory.search("heron", 200, kinds=("fact",)))} == {"fact"}
        called = everything(memory.search("What is the heron called?", 200))
        named = [hit.text for hit in called if "Kiki" in hit.text]
        assert named == ["The heron is called Kiki the 29th."]
        assert memory.search("heron", 50, until=datetime(2020, 1, 1, tzinfo=UTC)) == []
    assert there.search("heron") == []


def test_files_from_after_a_backup_do_not_count_once_it_is_restored(
    tmp_path: Path, small_batches: None, small_segments: None
) -> None:
    """R16, S1: they hold vectors of items that the restored database does not have, or has given to others."""
    home = tmp_path / "home"
    with Memory.open(home) as memory:
        alice = memory.agent(User("cli", "alice", "main"))
        memory.append_many(alice, [UserMessage(text) for text in SAID])
        memory.admin.backup(tmp_path / "copy.db")
        memory.append_many(alice, [UserMessage(f"The printer {n} is out of paper again.") for n in range(60)])
        memory._parts.shared.index_worker.run_until_idle()
        assert segments_of(memory)
    restore(tmp_path / "copy.db", home, force=True)
    with Memory.open(home) as memory:
        memory.append_many(alice, [UserMessage(f"The {n}th bridge is closed to lorries.") for n in range(70)])
        memory._parts.shared.index_worker.run_until_idle()
        assert not [hit for hit in everything(memory.search("printer", 100)) if "printer" in hit.text]
        found = memory.search("Which crossing may trucks not use?", 3)
        assert all("bridge" in hit.text for hit in found)
        assert memory.admin.verify() == []


# R4


def use_letters(memory: Memory) -> None:
    """As if another embedder were configured."""
    indexer = memory._parts.shared.index_worker
    indexer._embedders = (Letters(), *indexer._embedders)


def test_another_embedder_takes_over_when_it_is_done(
    full: Memory, open_memory: OpenMemory, small_batches: None
) -> None:
    """R4: until then the old vectors serve, also for what is new."""
    before = answers(full)
    again = open_memory()
    use_letters(again)
    again._parts.shared.index_worker.run()
    assert vectors(full._parts.shared.database)["static"] >= len(SAID)
    assert vectors(full._parts.shared.database)["letters"] > 0
    assert again.admin.unindexed() > 0
    assert answers(again) == before
    again.append(again.agent(User("cli", "alice", "main")), UserMessage("The lynx is new."))
    again._parts.shared.index_worker.run()
    assert again.search("lynx", 1)[0].text == "The lynx is new."
    again.organize()
    assert "static" not in vectors(full._parts.shared.database)
    assert again.admin.verify() == []
    assert again.search("badger", 1)[0].text.startswith("My badger")
    assert answers(again) != before


def test_two_embedders_do_not_replace_each_other_for_ever(
    full: Memory, open_memory: OpenMemory, database: Database
) -> None:
    """R4: whoever was opened last decides, once; the other makes no vectors, and says so in its health."""
    later, letters = open_memory(), Letters()
    later._parts.shared.index_worker._embedders = (letters,)
    later.organize()
    assert set(vectors(database)) == {"letters"}
    full.append(full.agent(User("cli", "alice", "main")), UserMessage("The lynx is new."))
    for memory in (full, later, full):
        assert "The lynx is new." in [hit.text for hit in memory.search("lynx", 9)]
        memory.organize()
        assert set(vectors(database)) == {"letters"}
    assert later.admin.verify() == [], "what came by the other got its vector"
    assert later.admin.unindexed() == 0
    assert later.admin.health().status == "green"
    assert any("letters/1/26" in reason for reason in full.admin.health().reasons)
    anew = open_memory()
    anew.organize()
    assert set(vectors(database)) == {"static"}
    later.organize()
    assert set(vectors(database)) == {"static"}
    assert anew.admin.health().status == "green"


def test_a_change_that_is_taken_back_is_paid_once(
    full: Memory, open_memory: OpenMemory, small_batches: None, database: Database
) -> None:
    """R4: what an embedder has made is not made again; what the other one began goes."""
    begun = open_memory()
    use_letters(begun)
    begun._parts.shared.index_worker.run()
    assert vectors(database)["letters"] > 0
    back = open_memory()
    asked: list[str] = []

    class Counting(StaticEmbedder):
        def embed(self, texts: Sequence[str]) -> Rows:
            asked.extend(texts)
            return super().embed(texts)

    back._parts.shared.index_worker._embedders = (Counting(),)
    back.organize()
    begun.organize()
    assert asked == []
    assert set(vectors(database)) == {"static"}
    assert back.admin.verify() == []


def test_who_cannot_embed_finds_by_words(full: Memory, open_memory: OpenMemory) -> None:
    """R4: vectors of an embedder that is not at hand are left alone."""
    letters = open_memory()
    use_letters(letters)
    letters.organize()
    found = full.search("badger", 5)
    assert all("badger" in hit.text for hit in found)
    assert found


@pytest.mark.parametrize("what", ["rebuild", "reembed"])
def test_a_kill_in_the_middle_costs_nothing(
    full: Memory, open_memory: OpenMemory, tmp_path: Path, storage: dict[str, Any], what: str
) -> None:
    """R1, R4: nothing canonical is lost, and the index heals."""
    history = full.sessions.history(full.agent(User("cli", "alice", "main")))
    documents = [document.body for document in full.documents.walk()]
    before = found_by(full)
    command = [sys.executable, str(INDEXER), str(tmp_path / "home"), json.dumps(storage), what]
    for batches in (1, 3):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            lines: list[str] = []
            while len(lines) <= batches and "done\n" not in lines:
                lines.append(process.stdout.readline())
            process.kill()
        assert lines[0] == "ready\n"
    memory = open_memory()
    memory.organize()
    assert memory.sessions.history(memory.agent(User("cli", "alice", "main"))) == history
    assert [document.body for document in memory.documents.walk()] == documents
    assert memory.admin.verify() == []
    if what == "rebuild":
        assert found_by(memory) == before


def test_two_processes_see_what_the_other_stored(full: Memory, open_memory: OpenMemory) -> None:
    """R1: an index in memory loads what others have embedded."""
    other = open_memory()
    other.search("heron")
    alice = full.agent(User("cli", "alice", "main"))
    for n in range(3):
        full.append(alice, UserMessage(f"The lynx number {n} purrs."))
        full.organize()
        assert len([hit for hit in other.search("lynx", 10, kinds=("record",)) if "lynx" in hit.text]) == n + 1


def test_what_is_new_gets_its_vector_on_the_way(memory: Memory, alice: Agent, database: Database) -> None:
    """R1: where nobody runs the index worker, a few items are embedded when somebody asks."""
    memory.append(alice, UserMessage("I adopted a spaniel."))
    memory.search("dog")
    assert vectors(database) == {"static": 1}


def test_the_indexer_runs_in_the_background(memory: Memory, alice: Agent, database: Database) -> None:
    """R1, O1: from `start` to `close`."""
    memory.start()
    memory.append(alice, UserMessage("I adopted a spaniel."))
    until(lambda: vectors(database) == {"static": 1})


def test_health_says_why_the_indexer_fails(open_memory: OpenMemory) -> None:
    """O6: words find what is new, but nobody would know that meaning does not."""
    memory = open_memory()
    memory._parts.shared.database.write(lambda tx: tx.run("ALTER TABLE rebuild_progress RENAME TO mislaid"))
    memory.start()
    until(lambda: "The index worker fails, and tries again: " in str(memory.admin.status_notes()))
    memory.stop()
    memory._parts.shared.database.write(lambda tx: tx.run("ALTER TABLE mislaid RENAME TO rebuild_progress"))


class Broken(Letters):
    """An embedder whose server does not answer."""

    asked = 0

    @property
    def identity(self) -> Identity:  # type: ignore[override]
        self.asked += 1
        raise ModelError("The server does not answer. Start it.")


def test_an_embedder_that_fails_holds_up_no_question(memory: Memory, alice: Agent) -> None:
    """R1, R4: it is not asked each time; words find what is there, and health says what is wrong."""
    broken = Broken()
    memory._parts.shared.index_worker._embedders = (broken,)
    memory.append(alice, UserMessage("I adopted a spaniel."))
    for _ in range(5):
        assert memory.search("spaniel")
    assert broken.asked == 1
    assert "does not answer" in memory.admin.health().reasons[0]
    memory._parts.shared.index_worker._embedders = (Letters(),)
    memory.organize()
    assert memory.admin.health().status == "green"
    assert memory.admin.verify() == []


def test_a_rebuild_ends_where_nothing_can_be_embedded(memory: Memory, alice: Agent) -> None:
    """R1: with what words find, and says how much waits."""
    memory.append(alice, UserMessage("I adopted a spaniel."))
    memory._parts.shared.index_worker._embedders = (Broken(),)
    assert rebuild_index(memory, quiet=True) == 1
    assert memory.search("spaniel")
    memory._parts.shared.index_worker._embedders = (Letters(),)
    memory._parts.shared.index_worker._retry_at = 0.0
    memory._parts.shared.index_worker._silent.clear()
    assert rebuild_index(memory, quiet=True) == 0


class Picky(Letters):
    """An embedder that refuses a text."""

    def embed(self, texts: Sequence[str]) -> Rows:
        if any("zebra" in text for text in texts):
            raise ModelError("The text is too striped. Leave it out.")
        return super().embed(texts)


def test_a_text_that_is_refused_holds_up_no_other(open_memory: OpenMemory, database: Database) -> None:
    """R1: it is found by its words; the others, of this user and of others, by their meaning, too."""
    here, there = open_memory("aaa"), open_memory("bbb")
    for memory in (here, there):
        memory._parts.shared.index_worker._embedders = (Picky(),)
        texts = ["I saw a heron.", "I saw a zebra.", "I saw a newt."]
        memory.append_many(memory.agent(User("cli", "a", "b")), [UserMessage(text) for text in texts])
    here.organize()
    assert vectors(here._parts.shared.database) == {"letters": 4}
    assert here.admin.unindexed() == 0
    assert there.search("zebra", 1)[0].text == "I saw a zebra."


def test_what_was_deleted_is_not_found_while_items_wait(memory: Memory, alice: Agent) -> None:
    """R1: edits and deletions count at once, whoever indexes."""
    page = memory.documents.write(slug="parrot", title="Parrot", description="", body="The parrot is called Kiki.")
    memory.organize()
    assert memory.search("parrot Kiki")
    memory.append_many(alice, [UserMessage(text) for text in SAID])
    memory.documents.delete(page.id, page.version)
    assert not [hit for hit in everything(memory.search("parrot Kiki")) if "Kiki" in hit.text]


def test_many_ask_while_somebody_tells(memory: Memory, alice: Agent) -> None:
    """R1, S2: nobody meets a half-loaded index."""
    memory.start()
    errors: list[Exception] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            try:
                memory.search("Where does the badger sleep?")
            except Exception as error:
                errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for text in SAID * 2:
        memory.append(alice, UserMessage(text))
    over.set()
    for thread in threads:
        thread.join()
    assert errors == []


# Vectors that were not noted one by one


def state_of(database: Database) -> tuple[int, bytes | None, int]:
    [row] = database.read(lambda tx: tx.all("SELECT size, mean, mean_of FROM index_state"))
    return row[0], row[1], row[2]


def test_a_stop_after_another_embedder_took_over_costs_nothing(full: Memory, database: Database) -> None:
    """R4: whoever runs next has vectors made that are missing, and computes the mean."""
    size, _, mean_of = state_of(database)

    def stop(tx: Transaction) -> None:
        tx.run("UPDATE index_state SET mean = NULL, mean_of = 0")
        tx.run("DELETE FROM item_vectors WHERE item_id % 3 = 0")
        tx.run("UPDATE index_state SET version = version + 1")

    database.write(stop)
    full.append(full.agent(User("cli", "alice", "main")), UserMessage("The lynx is new."))
    full._parts.shared.index_worker.embed_pending("default")
    assert state_of(database)[1] is None, "the mean of one is not that of all"
    full._parts.shared.index_worker.run_until_idle()
    assert full.admin.verify() == []
    now = state_of(database)
    assert (now[0], now[2]) == (size + 1, mean_of + 1)
    assert now[1]


def test_an_owner_without_vectors_is_done(memory: Memory, alice: Agent, database: Database) -> None:
    """R4: there is nothing to compute, and nobody tries for ever."""
    memory.append(alice, UserMessage("The lynx is new."))
    memory.organize()
    database.write(lambda tx: tx.run("UPDATE index_state SET mean = NULL, mean_of = 0"))
    database.write(lambda tx: tx.run("UPDATE items SET embedded = 0"))
    assert memory._parts.shared.index_worker.run() == 1
    assert memory._parts.shared.index_worker.run() == 0


def test_a_rebuild_while_vectors_are_made_leaves_nothing_behind(
    memory: Memory, alice: Agent, database: Database
) -> None:
    """R1, R4: what was made for items that are gone is not stored, and not counted."""
    memory.append_many(alice, [UserMessage(text) for text in SAID])
    worker = memory._parts.shared.index_worker

    class Interrupted(StaticEmbedder):
        rebuilt = False

        def embed(self, texts: Sequence[str]) -> Rows:
            if not self.rebuilt:
                self.rebuilt = True
                memory.admin.rebuild()
            return super().embed(texts)

    worker._embedders = (Interrupted(),)
    worker.run_until_idle()
    assert memory.admin.verify() == []
    assert vectors(database) == {"static": len(SAID)}
    size, _, mean_of = state_of(database)
    assert (size, mean_of) == (len(SAID), len(SAID))


def test_more_items_are_read_than_a_statement_takes_parameters(full: Memory, database: Database) -> None:
    """R16."""
    ids = database.read(lambda tx: [row[0] for row in tx.all("SELECT id FROM items ORDER BY id")])
    wanted = [*range(10**9, 10**9 + 70_000), *ids]
    assert sorted(database.read(lambda tx: Items(tx, "default").rows(wanted))) == ids
    assert database.read(lambda tx: Items(tx, "default").rows([])) == {}
