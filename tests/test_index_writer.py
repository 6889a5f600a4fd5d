"""R1, C6: how what was said, and what was made of it, becomes items."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lifelong import Agent, AssistantMessage, Memory, User, UserMessage
from lifelong.collect.sessions import Sessions
from lifelong.organize.facts import FactIndex
from lifelong.recall import repair
from lifelong.recall.ends import Ends
from lifelong.recall.items import Items
from lifelong.storage.base import Database, Param, Row, Transaction
from lifelong.testing import FakeClock
from tests.conftest import OpenMemory, everything


@pytest.mark.parametrize(
    "damage", ["data = '{broken'", "data = '[1]'", "data = '{\"text\": 5}'", "provenance = 'fog'"]
)
def test_a_record_that_cannot_be_read_is_left_out(
    memory: Memory, alice: Agent, database: Database, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    """C6: with a warning; everything else is found, and the index can be made anew."""
    ids = memory.append_many(alice, [UserMessage(f"The lynx number {n} purrs.") for n in range(3)])
    memory.organize()
    database.write(lambda tx: tx.run(f"UPDATE session_history SET {damage} WHERE id = ?", ids[1]))
    memory.search("lynx", 10)
    memory.admin.rebuild()
    with caplog.at_level(logging.WARNING):
        memory.organize()
    assert "is not indexed" in caplog.text
    found = {hit.record_id for hit in memory.search("lynx", 10, kinds=("record",))}
    assert found == {ids[0], ids[2]}
    assert memory.admin.verify() == []


@pytest.mark.parametrize("damage", ["data = CAST(x'22ff22' AS TEXT)", "at = 9000000000000000000"])
def test_a_row_that_is_no_record_at_all_does_not_stop_a_rebuild(tmp_path: Path, damage: str) -> None:
    """C6: its row cannot even be read with the others. (PostgreSQL takes no text that is none.)"""
    with Memory.open(tmp_path) as memory:
        alice = memory.agent(User("cli", "alice", "main"))
        ids = memory.append_many(alice, [UserMessage(f"The lynx number {n} purrs.") for n in range(3)])
        memory._parts.shared.database.write(
            lambda tx: tx.run(f"UPDATE session_history SET {damage} WHERE id = ?", ids[1])
        )
        memory.admin.rebuild()
        memory._parts.shared.index_worker.run_until_idle()
        assert {hit.record_id for hit in memory.search("lynx", 10)} == {ids[0], ids[2]}
        assert memory.admin.health().status == "green"


# Quotes


def test_a_quote_has_its_speaker_and_their_trust(memory: Memory, alice: Agent) -> None:
    """O8, R2: whatever the document is called; a quote of the assistant is the agent's word."""
    memory.append_many(alice, [UserMessage("I'm vegetarian."), AssistantMessage("MonthGrid.tsx has no locale.")])
    write(
        memory,
        "findings",
        "- I'm vegetarian. [Mara, 2026-03-03, r1]\n- I'm vegetarian. [Tom, 2026-03-03, r1]",
        "MonthGrid.tsx has no locale. [Assistant, 2026-03-03, r2]\n\nBooked a room. [r2]",
    )
    assert {(hit.text, hit.speaker, hit.trust) for hit in memory.list("fact")} == {
        ("I'm vegetarian.", "Mara", "user"),
        ("I'm vegetarian.", "Tom", "user"),
        ("MonthGrid.tsx has no locale.", "", "agent"),
        ("Booked a room.", "", "user"),
    }


# What has ended


@pytest.fixture
def porto(memory: Memory, alice: Agent) -> int:
    """A record that facts can be made of."""
    [record, *_] = memory.append_many(alice, [UserMessage("I live in Porto."), UserMessage("I moved to Lisbon.")])
    return record


def write(memory: Memory, slug: str, *facts: str) -> None:
    found = memory.documents.find(f"~/{slug}")
    memory.documents.write(
        slug=slug,
        title=slug,
        description="",
        body="\n\n".join(facts),
        document_id=found.id if found else None,
        expected_version=found.version if found else None,
    )


def has_ended(memory: Memory, record: int) -> bool:
    [hit] = [hit for hit in memory.search("Porto", 10, kinds=("record",)) if hit.record_id == record]
    return hit.until is not None


def test_what_another_document_still_says_has_not_ended(memory: Memory, porto: int) -> None:
    """R2, O11: a turn ends when every fact made of it has, whatever else the facts cite."""
    write(memory, "homes", f"Alice has a flat in Porto. [r{porto + 1}, r{porto}]")
    ended = f"Alice lives in Porto. [r{porto}, until 2026-03-05 by r{porto + 1}]"
    write(memory, "alice", ended)
    assert not has_ended(memory, porto)
    write(memory, "homes", "Nothing is known of flats.")
    assert has_ended(memory, porto)
    write(memory, "homes", f"Alice rents in Porto. [r{porto + 1}, r{porto}]")
    assert not has_ended(memory, porto)


def test_what_stands_in_no_document_any_more_has_not_ended(memory: Memory, porto: int) -> None:
    """R2, O11: the mark goes with the fact that made it, however it goes; a rollback brings it back."""
    ended = f"Alice lives in Porto. [r{porto}, until 2026-03-05 by r{porto + 1}]"
    write(memory, "alice", ended)
    assert has_ended(memory, porto)
    write(memory, "alice", "Alice likes tea.")
    assert not has_ended(memory, porto)
    memory.documents.rollback(memory.documents.changesets(1)[0].id)
    assert has_ended(memory, porto)
    document = memory.documents.read("~/alice")
    memory.documents.delete(document.id, document.version)
    assert not has_ended(memory, porto)


def test_a_sentence_that_is_so_again_holds(memory: Memory, porto: int) -> None:
    """R2, O11: also where the same sentence stands among the earlier ones."""
    ended = f"Alice lives in Porto. [r{porto}, until 2026-03-05 by r{porto + 1}]"
    write(memory, "alice", f"Alice lives in Porto. [r{porto + 1}]", "## Earlier", ended)
    [hit] = memory.search("Porto", 10, kinds=("fact",))
    assert hit.until is None
    assert has_ended(memory, porto)


def test_what_a_person_corrected_stays_ended(memory: Memory, porto: int) -> None:
    """R2, R6: whatever documents say."""
    memory.correct(f"r{porto}", "I live in Braga.")
    write(memory, "alice", f"Alice lives in Porto. [r{porto}]")
    write(memory, "alice", "Alice likes tea.")
    assert has_ended(memory, porto)


def test_what_ends_while_the_index_is_made(memory: Memory, porto: int) -> None:
    """R1, R2: is ended when it has been made."""
    memory.admin.rebuild()
    write(memory, "alice", f"Alice lives in Porto. [r{porto}, until 2026-03-05 by r{porto + 1}]")
    memory._parts.shared.index_worker.run_until_idle()
    assert has_ended(memory, porto)


def test_an_index_made_anew_knows_what_documents_said(
    memory: Memory, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R1, R3: as of any time, also of what was deleted; a few documents in each transaction."""
    monkeypatch.setattr(repair, "DOCUMENTS_PER_BATCH", 2)
    write(memory, "gone", "The lynx is tame.")
    write(memory, "alice", "The lynx purrs.")
    for n in range(3):
        write(memory, f"other{n}", f"The lynx number {n} sleeps.")
    before = clock()
    clock.turn(days=1)
    write(memory, "alice", "The lynx roars.")
    document = memory.documents.read("~/gone")
    memory.documents.delete(document.id, document.version)
    clock.turn(days=1)

    def found() -> list[set[str]]:
        found = (everything(memory.search("lynx", 10, as_of=as_of)) for as_of in (before, clock()))
        return [{hit.text for hit in hits} for hits in found]

    known = found()
    assert "The lynx is tame." in known[0]
    memory.admin.rebuild()
    memory.organize()
    assert found() == known
    assert memory.admin.verify() == []


def test_what_is_hidden_is_not_counted(memory: Memory) -> None:
    """R1: the totals count what can be found."""
    write(memory, "cat", "The lynx is tame.")
    write(memory, "dog", "The dog barks.")
    assert memory.admin.stats().items == {"fact": 2}
    document = memory.documents.read("~/cat")
    memory.documents.delete(document.id, document.version)
    assert memory.admin.stats().items == {"fact": 1}


def test_all_that_has_ended_follows_from_documents_and_from_what_people_said(
    memory: Memory, alice: Agent, clock: FakeClock
) -> None:
    """O11, R1: made anew, it is the same to the row, with the times since when each is known."""
    said = ("Porto is home.", "Lisbon is home.", "The flat is small.", "The dog barks.", "I swim.")
    memory.append_many(alice, [UserMessage(text) for text in said])
    bodies = [
        ("one", "- Lives in Porto. [r1]\n- Has a flat. [r1, r3]\n\nMy own words."),
        ("two", "Has a dog. [r4]\n\nSwims. [Alice, 2026-02-24, r5]"),
        (
            "one",
            "- Has a flat. [r3]\n\nMy own words.\n\n## Earlier\n\n- Lives in Porto. [r1, until 2026-02-25 by r2]",
        ),
        ("two", "Swims. [Alice, 2026-02-24, r5]\n\nLives in Porto. [r1, until 2026-02-25 by r2]"),
        ("one", "- Has a flat. [r3]\n- Lives in Porto. [r2]\n\nMy own words."),
        ("two", "Has a dog. [r4, until 2026-02-26 by r5]\n\nLives in Porto. [r1, until 2026-02-25 by r2]"),
    ]
    for slug, body in bodies:
        write(memory, slug, body)
        clock.turn(days=1)
    memory.correct("r5", "I dive.")
    memory.feedback(next(hit.id for hit in memory.list("fact") if "own words" in hit.text), "outdated")
    memory.correct(next(hit.id for hit in memory.list("fact") if "flat" in hit.text), "Alice has a house.")

    def rows() -> list[list[Row]]:
        tables = ("ends", "citations", "facts")
        return memory._parts.shared.database.read(
            lambda tx: [tx.all(f"SELECT * FROM {table} ORDER BY 1, 2, 3, 4, 5") for table in tables]
        )

    before, listed = rows(), memory.list()
    assert {row[1] for row in before[0]} == {"fact", "record", "journal"}
    for again in anew_or_not(memory):
        assert rows() == before
        assert sorted(again.list(), key=lambda hit: hit.id) == sorted(listed, key=lambda hit: hit.id)


# Since when it is known


def anew_or_not(memory: Memory) -> Iterator[Memory]:
    """The memory, and once more with an index made anew."""
    yield memory
    memory.admin.rebuild()
    memory._parts.shared.index_worker.run_until_idle()
    yield memory


def ends(memory: Memory, as_of: datetime | None = None) -> dict[str, datetime | None]:
    hits = everything(memory.search("Who lives in Porto?", 10, as_of=as_of))
    return {hit.text: hit.until for hit in hits}


def test_as_of_a_time_an_end_that_was_learned_later_does_not_show(
    memory: Memory, porto: int, clock: FakeClock
) -> None:
    """R3, O21: nor in the ranking; one that was learned before does. Whether the index was made anew or not."""
    write(memory, "alice", f"Alice lives in Porto. [r{porto}]")
    held = clock.turn(days=5)
    clock.turn(days=5)
    day = f"{held - timedelta(days=3):%Y-%m-%d}"
    write(memory, "alice", f"Alice lives in Porto. [r{porto}, until {day} by r{porto + 1}]")
    known = clock.turn(days=5)
    for look in anew_or_not(memory):
        assert ends(look, held).keys() >= {"Alice lives in Porto.", "I live in Porto."}
        assert not any(ends(look, held).values())
        [fact] = look.search("Who lives in Porto?", as_of=held, kinds=["fact"], explain=True)
        assert "ended" not in fact.parts
        for as_of in (known, None):
            assert str(ends(look, as_of)["Alice lives in Porto."]).startswith(day)
            assert str(ends(look, as_of)["I live in Porto."]).startswith(day)
            [fact] = look.search("Who lives in Porto?", as_of=as_of, kinds=["fact"], explain=True)
            assert fact.parts["ended"] < 0
    memory.documents.rollback(memory.documents.changesets(1)[0].id)
    assert not any(ends(memory, clock.turn(days=1)).values())


def test_what_was_said_has_ended_since_the_last_fact_of_it_did(
    memory: Memory, alice: Agent, clock: FakeClock
) -> None:
    """R3, O21: in whatever order the documents are filed when the index is made anew."""
    ids = memory.append_many(alice, [UserMessage("I live in Porto."), UserMessage("My flat in Porto is small.")])
    at_first, at_last = (f"[r{ids[0]}, until 2026-02-01]", f"[r{ids[1]}, until 2026-02-01]")
    write(memory, "one", f"Alice has a home in Porto. [r{ids[0]}]", f"Alice pays for Porto. {at_last}")
    write(memory, "two", f"Alice pays rent in Porto. {at_first}", f"Alice sleeps in Porto. [r{ids[1]}]")
    between = clock.turn(days=5)
    clock.turn(days=5)
    write(memory, "one", f"Alice has a home in Porto. {at_first}", f"Alice pays for Porto. {at_last}")
    write(memory, "two", f"Alice pays rent in Porto. {at_first}", f"Alice sleeps in Porto. {at_last}")
    now = clock.turn(days=5)
    for look in anew_or_not(memory):
        said = ("I live in Porto.", "My flat in Porto is small.")
        assert [ends(look, between)[text] for text in said] == [None, None]
        assert all(ends(look, now)[text] for text in said)


@pytest.mark.parametrize("steps", [["earlier"], ["earlier", "alice"], ["alice", "earlier"]])
def test_an_end_is_known_since_it_was_first_told_wherever_its_fact_is_moved_to(
    memory: Memory, porto: int, clock: FakeClock, steps: list[str]
) -> None:
    """R3, O21: as of a time between, what was said has ended; but not as of one when a fact of it held again."""
    ended = f"Alice lives in Porto. [r{porto}, until 2026-02-01 by r{porto + 1}]"
    write(memory, "alice", f"Alice lives in Porto. [r{porto}]")
    held = clock.turn(days=5)
    clock.turn(days=5)
    write(memory, "alice", ended)
    known = clock.turn(days=5)
    for slug in steps:
        clock.turn(days=5)
        write(memory, slug, ended if slug == "earlier" else "Alice likes tea.")
    for look in anew_or_not(memory):
        assert ends(look, held)["I live in Porto."] is None
        assert ends(look, known)["I live in Porto."] is not None
    clock.turn(days=5)
    write(memory, "earlier", f"Alice lives in Porto. [r{porto}]")
    again = clock.turn(days=5)
    clock.turn(days=5)
    write(memory, "earlier", ended)
    for look in anew_or_not(memory):
        assert ends(look, again)["I live in Porto."] is None
        assert ends(look)["I live in Porto."] is not None


@pytest.mark.parametrize("outdated", [False, True])
def test_as_of_a_time_what_a_person_ended_later_does_not_show(
    memory: Memory, porto: int, clock: FakeClock, outdated: bool
) -> None:
    """R3, R11: the person's word counts from when it was said, also of what ended in its document after that."""
    write(memory, "notes", "The flat in Porto is yellow.")
    write(memory, "alice", f"Alice lives in Porto. [r{porto}]")
    held = clock.turn(days=5)
    clock.turn(days=5)
    [own] = [hit.id for hit in memory.list("fact") if "yellow" in hit.text]
    if outdated:
        memory.feedback(own, "outdated")
        text = "The flat in Porto is yellow."
    else:
        memory.correct(f"r{porto}", "I live in Braga.")
        text = "I live in Porto."
    told = clock.turn(days=5)
    clock.turn(days=5)
    write(memory, "alice", f"Alice lives in Porto. [r{porto}, until 2026-02-01]")
    for look in anew_or_not(memory):
        assert ends(look, held)[text] is None
        assert ends(look, told)[text] is not None


def test_what_was_written_down_is_known_since_it_was_told(
    open_memory: OpenMemory, clock: FakeClock, database: Database
) -> None:
    """R1, R3: a line of the journal and an experience, whether the index was made anew or not; what is told today
    of long ago was not known then."""
    on = {"journal_enabled": True, "experience_store_enabled": True}
    memory = open_memory(continuity=on)
    memory._parts.journal.write_all()
    before = clock.turn(days=1)
    clock.turn(days=1)
    alice = memory.agent(User("cli", "alice", "main"))
    memory.append(alice, UserMessage("I lived in Porto back then.", at=before - timedelta(days=99)))
    memory.end_turn(alice)
    memory.journal.remember("The flat in Porto is yellow and small.", "learned")
    memory.organize()
    memory.experiences.extract()
    told = clock.turn(days=5)
    clock.turn(days=5)
    for look in anew_or_not(memory):
        for kind in ("journal", "experience"):
            found = [
                {hit.text for hit in everything(look.search("Who lived in Porto?", kinds=[kind], as_of=as_of))}
                for as_of in (before, told, None)
            ]
            assert found[0] == set()
            assert found[1] == found[2]
            assert len(found[1]) == 2


class Planned:
    """A transaction that tells how SQLite would go about each question."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self.plans: list[str] = []

    def all(self, sql: str, *params: Param) -> list[Row]:
        self.plans.append(str(self._tx.all(f"EXPLAIN QUERY PLAN {sql}", *params)))
        return []

    def one(self, sql: str, *params: Param) -> None:
        self.all(sql, *params)

    def many(self, sql: str, rows: Iterable[tuple[Param, ...]]) -> list[Row]:
        return [found for params in rows for found in self.all(sql, *params)]


def test_what_is_looked_up_often_comes_from_an_index(tmp_path: Path) -> None:
    """S2: a document of ten facts, a context or health costs as much among a million items as among a hundred."""
    with Memory.open(tmp_path) as memory:

        def look(tx: Transaction) -> list[str]:
            planned: Any = Planned(tx)
            Items(planned, "default").known_facts("d")
            Ends(planned, "default").of_records([1])
            Ends(planned, "default").put_facts("d", {}, datetime.now(UTC))
            Ends(planned, "default").superseded_records()
            FactIndex(planned, "default").find([{"key"}])
            Items(planned, "default").pinned()
            Sessions(planned).marked()
            plans: list[str] = planned.plans
            return plans

        known, ended, of, superseded, leads, pinned, marked = memory._parts.shared.database.read(look)
    assert "idx_items_thread (owner=? AND thread=?)" in known
    assert "idx_citations_record (owner=? AND record_id=?)" in ended
    assert "(owner=? AND kind=? AND ref=?)" in ended
    assert "idx_citations_document (owner=? AND document_id=?)" in of
    assert "(owner=? AND kind=?)" in superseded
    assert "(owner=? AND ref=?)" in superseded
    assert superseded.count("idx_citations_record (owner=? AND record_id=?)") == 1
    assert "idx_fact_keys_key (owner=? AND key=?)" in leads
    assert "idx_items_pinned (owner=?)" in pinned
    assert "idx_sessions_invalidated_at (invalidated_at>?)" in marked
    assert "TEMP B-TREE" not in known + ended + of + leads
