"""O2, O3: how a marked session reaches its memory-agent."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import apsw
import pytest

from lifelong import (
    Agent,
    AssistantMessage,
    Cron,
    Memory,
    MemoryAgent,
    Note,
    Subagent,
    User,
    UserMessage,
)
from lifelong.collect.history import History
from lifelong.collect.sessions import Sessions
from lifelong.collect.transcript import BACKGROUND, FOREGROUND, transcript
from lifelong.organize import dispatch
from lifelong.organize.dispatch import Dispatcher
from lifelong.storage.base import Transaction
from lifelong.testing import FakeClock, ScriptedOrganizer
from lifelong.types import InboxItem, Session, to_micros
from tests.conftest import OpenMemory


@pytest.fixture
def memory(open_memory: OpenMemory) -> Memory:
    """Whose organizer waits: what is dispatched stays in the inbox."""
    organizer = ScriptedOrganizer()
    organizer.waiting = "It waits."
    return open_memory(organizer=organizer)


def fragile(records: Any, **more: Any) -> str:
    """A transcript that cannot be made of what is broken."""
    text = transcript(records, **more)
    if "broken" in text:
        raise ZeroDivisionError
    return text


def items(memory: Memory) -> list[InboxItem]:
    return memory.inbox.list()[::-1]


def ranges(memory: Memory) -> list[tuple[int, int]]:
    return [(item.after, item.until) for item in items(memory)]


def test_a_marked_session_becomes_an_item_of_its_memory_agent(memory: Memory, alice: Agent) -> None:
    """O2, C3: made on first use, one per source agent; type system_message; the last id actually loaded."""
    ids = memory.append_many(alice, [UserMessage(f"number {n}") for n in range(6)])
    assert memory.organize().dispatched == 1
    (item,) = items(memory)
    session = memory.sessions.list(alice)[0]
    assert (item.type, item.state, item.session_id) == ("system_message", "pending", session.id)
    assert (item.after, item.until) == (0, ids[-1])
    assert (session.invalidated_at, session.processed_until) == (None, ids[-1])
    assert item.text == memory.sessions.transcript(session)
    keeper = memory.agents.get(item.agent_id)
    assert keeper.descriptor == MemoryAgent(alice.id)
    assert keeper.owner == memory.user
    assert memory.organize().dispatched == 0


def test_the_next_records_make_the_next_item(memory: Memory, alice: Agent) -> None:
    first = memory.append_many(alice, [UserMessage("a")] * 6)
    memory.organize()
    second = memory.append_many(alice, [UserMessage("b")] * 6)
    memory.organize()
    assert ranges(memory) == [(0, first[-1]), (first[-1], second[-1])]
    assert {item.agent_id for item in items(memory)} == {items(memory)[0].agent_id}


def test_a_background_transcript_is_told_from_a_foreground_one(memory: Memory, alice: Agent) -> None:
    """O7 at the hand-over."""
    nightly = memory.agent(Cron("nightly"))
    for agent in (alice, nightly):
        memory.append(agent, AssistantMessage("The backup is done."))
        memory.end_session(agent)
    memory.organize()
    texts = [item.text for item in items(memory)]
    assert texts[0].startswith(FOREGROUND)
    assert texts[1].startswith(BACKGROUND)


def test_a_memory_agents_session_is_passed_over(memory: Memory, alice: Agent) -> None:
    """O2, C9: marked by mistake or by an older version, it is marked processed and nothing else."""
    keeper = memory.agent(MemoryAgent(alice.id))
    newest = memory.append_many(keeper, [Note("mine")] * 9)[-1]
    session = memory.sessions.list(keeper)[0]
    assert session.invalidated_at is None
    memory._parts.shared.database.write(lambda tx: tx.run("UPDATE sessions SET invalidated_at = ?", newest))
    assert memory.organize().dispatched == 0
    session = memory.sessions.list(keeper)[0]
    assert (session.invalidated_at, session.processed_until) == (None, newest)
    assert items(memory) == []


def test_a_session_whose_agent_is_gone_is_let_go(
    memory: Memory, alice: Agent, caplog: pytest.LogCaptureFixture
) -> None:
    """O2: it does not stay at the head of every batch."""
    newest = memory.append_many(alice, [UserMessage("hello")] * 6)[-1]
    session = memory.sessions.list(alice)[0]
    orphan(memory, session.id)
    memory.organize()
    assert "has no agent any more" in caplog.text
    gone = memory._parts.shared.database.read(
        lambda tx: tx.one("SELECT invalidated_at, processed_until FROM sessions")
    )
    assert gone == (None, newest)
    assert items(memory) == []


def orphan(memory: Memory, session_id: str) -> None:
    """Take the session's agent away, as no version of lifelong does."""
    change = "UPDATE sessions SET agent_id = 'nobody' WHERE id = ?"
    if memory._parts.shared.database.dialect == "sqlite":
        connection = apsw.Connection(str(memory.home.database))  # which checks no foreign keys
        connection.execute(change, (session_id,))
        connection.close()
        return
    memory._parts.shared.database.write(
        lambda tx: tx.run("ALTER TABLE sessions DROP CONSTRAINT sessions_agent_id_fkey")
    )
    memory._parts.shared.database.write(lambda tx: tx.run(change, session_id))


def test_a_dead_agents_last_words_are_dispatched(memory: Memory, alice: Agent, clock: FakeClock) -> None:
    """O2: dead is not gone. No worker ran until after its death."""
    helper = memory.agent(Subagent("helper", alice.id, "Helper"))
    newest = memory.append(helper, AssistantMessage("The build failed because of a missing key."))
    clock.turn(seconds=61)
    memory.agents.advance()
    clock.turn(hours=2)
    memory.organize()
    assert memory.agents.get(helper).state == "dead"
    assert ranges(memory) == [(0, newest)]


def test_a_blank_transcript_is_marked_processed(memory: Memory, alice: Agent) -> None:
    """O2."""
    newest = memory.append_many(alice, [AssistantMessage("")] * 6)[-1]
    assert memory.organize().dispatched == 0
    session = memory.sessions.list(alice)[0]
    assert (session.invalidated_at, session.processed_until) == (None, newest)
    assert items(memory) == []


def test_a_record_that_comes_while_the_transcript_is_made_is_not_skipped(
    memory: Memory, alice: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O2: processed_until is the last id that was loaded, not the newest there is."""
    loaded = memory.append_many(alice, [UserMessage("a")] * 6)
    late: list[int] = []
    parcel = Dispatcher._next_batch

    def slow(self: Dispatcher, tx: Transaction, **more: Any) -> Any:
        made = parcel(self, tx, **more)
        if not late:
            late.append(memory.append(alice, UserMessage("b")))
        return made

    monkeypatch.setattr(Dispatcher, "_next_batch", slow)
    memory.organize()
    session = memory.sessions.list(alice)[0]
    assert ranges(memory)[0] == (0, loaded[-1])
    memory.end_session(alice)
    memory.organize()
    assert ranges(memory) == [(0, loaded[-1]), (loaded[-1], late[0])]
    assert memory.sessions.get(session.id).invalidated_at is None


def test_when_another_worker_was_quicker_nothing_is_enqueued(
    memory: Memory, alice: Agent, monkeypatch: pytest.MonkeyPatch, open_memory: OpenMemory
) -> None:
    """O2, O4: the compare-and-swap decides."""
    organizer = ScriptedOrganizer()
    organizer.waiting = "It waits."
    other = open_memory(organizer=organizer)
    newest = memory.append_many(alice, [UserMessage("a")] * 6)[-1]
    parcel = Dispatcher._next_batch
    raced: list[bool] = []

    def slow(self: Dispatcher, tx: Transaction, **more: Any) -> Any:
        made = parcel(self, tx, **more)
        if not raced:
            raced.append(True)
            other.organize()
        return made

    monkeypatch.setattr(Dispatcher, "_next_batch", slow)
    assert memory.organize().dispatched == 0
    assert ranges(memory) == [(0, newest)]


def test_a_failure_stops_neither_the_tick_nor_the_others(
    memory: Memory, alice: Agent, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """O3, O6: eleven sessions fail and the twelfth goes through, also beyond the first ten. Health says so."""
    agents = [memory.agent(User("cli", f"u{n}", "main")) for n in range(12)]
    for number, agent in enumerate(agents):
        memory.append(agent, UserMessage("fine" if number == 11 else "broken"))
        memory.end_session(agent)
    monkeypatch.setattr(dispatch, "transcript", fragile)
    with caplog.at_level(logging.ERROR):
        assert memory.organize().dispatched == 1
    assert "fine" in items(memory)[0].text
    assert len({r.args for r in caplog.records if "stays marked" in r.message}) == 11
    assert (
        "cannot be dispatched, and stays marked: ZeroDivisionError. See the log." in memory.admin.status_notes()[1]
    )
    monkeypatch.undo()
    assert memory.organize().dispatched == 11
    assert memory.admin.status_notes() == ["It waits."]


def test_sessions_of_one_agent_are_dispatched_in_order(
    memory: Memory, alice: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O5: a later session waits while an earlier one could not be dispatched."""
    first = memory.append(alice, UserMessage("broken"))
    memory.sessions.reset(alice)
    second = memory.append(alice, UserMessage("fine"))
    memory.end_session(alice)
    monkeypatch.setattr(dispatch, "transcript", fragile)
    memory.organize()
    assert items(memory) == []
    monkeypatch.undo()
    memory.organize()
    assert ranges(memory) == [(0, first), (0, second)]


def test_a_long_session_is_dispatched_in_batches(open_memory: OpenMemory) -> None:
    """O13: bounded by records and by characters; the mark stays until all of it is."""
    organizer = ScriptedOrganizer()
    organizer.waiting = "It waits."
    memory = open_memory(organizer=organizer, organize={"batch_records": 10, "batch_chars": 1000})
    alice = memory.agent(User("cli", "alice", "main"))
    ids = memory.append_many(alice, [UserMessage("x" * 300) for _ in range(11)])
    assert memory.organize().dispatched > 1
    found = ranges(memory)
    assert found[0][0] == 0
    assert found[-1][1] == ids[-1]
    assert all(left[1] == right[0] for left, right in itertools.pairwise(found))
    assert all(len(item.text) <= 1000 for item in items(memory))


def test_a_record_that_is_too_long_by_itself_is_cut_and_the_cut_is_said(open_memory: OpenMemory) -> None:
    organizer = ScriptedOrganizer()
    organizer.waiting = "It waits."
    memory = open_memory(organizer=organizer, organize={"batch_chars": 1000})
    alice = memory.agent(User("cli", "alice", "main"))
    memory.append(alice, UserMessage("word " * 1000))
    memory.end_session(alice)
    memory.organize()
    assert "[cut: 1,000 of 5," in items(memory)[0].text


def test_secrets_do_not_reach_the_inbox(memory: Memory, alice: Agent) -> None:
    """S4."""
    memory.append(alice, UserMessage("The key is AKIAIOSFODNN7EXAMPLE, keep it safe."))
    memory.end_session(alice)
    memory.organize()
    assert "AKIAIOSFODNN7EXAMPLE" not in items(memory)[0].text
    assert "[secret:" in items(memory)[0].text
    assert "AKIAIOSFODNN7EXAMPLE" not in memory.sessions.transcript(alice)


def test_recalled_text_is_not_dispatched(memory: Memory, alice: Agent) -> None:
    """O7, O10: nothing is learned twice from its own echo."""
    memory.append(alice, UserMessage("<lifelong-context id=1>Mara lives in Porto.</lifelong-context>Thanks"))
    memory.end_session(alice)
    memory.organize()
    assert "Porto" not in items(memory)[0].text


def test_a_context_summary_is_told_as_a_system_message(memory: Memory, alice: Agent) -> None:
    """C9, O7: the summary is never learned as user speech."""
    memory.append(alice, UserMessage("hello"))
    memory.sessions.compact_context(alice, "They said hello.")
    memory.end_session(alice)
    memory.organize()
    assert "## System Message (summary of what came before)" in items(memory)[1].text


# A record that cannot be dispatched


def poison(memory: Memory, record: int) -> None:
    """Give a record a time that a row can hold, but that has no day in a zone east of Greenwich."""
    last = to_micros(datetime.max.replace(tzinfo=UTC))
    memory._parts.shared.database.write(
        lambda tx: tx.run("UPDATE session_history SET at = ? WHERE id = ?", last, record)
    )


def organize_often(memory: Memory, times: int) -> None:
    for _ in range(times):
        memory.organize()


def test_a_record_that_cannot_be_dispatched_is_passed_by(
    open_memory: OpenMemory, caplog: pytest.LogCaptureFixture
) -> None:
    """O3, O5, O6: the records around it, the agent's later sessions and other agents go on; it waits as a dead
    item, its receipt says why, health is red, and a retry organizes it once the cause is mended."""
    east = {"time_zone": "Pacific/Auckland"}
    memory = open_memory(organizer=ScriptedOrganizer(), continuity=east, organize={"batch_records": 4})
    alice, bob = memory.agent(User("cli", "alice", "main")), memory.agent(User("cli", "bob", "main"))
    ids = memory.append_many(alice, [UserMessage(f"number {n}") for n in range(9)])
    poison(memory, ids[5])
    memory.sessions.reset(alice)
    later = memory.append(alice, UserMessage("a later session"))
    memory.end_session(alice)
    fine = memory.append(bob, UserMessage("another agent"))
    memory.end_session(bob)
    memory.organize()
    assert memory.receipt(fine).stage == "searchable"
    assert memory.receipt(ids[5]).stage == memory.receipt(later).stage == "stored"
    organize_often(memory, 3 + 5)
    assert f"r{ids[5]} was passed by" in caplog.text
    receipt = memory.receipt(ids[5])
    assert (receipt.stage, receipt.inbox_id is not None) == ("failed", True)
    assert "No transcript could be made of this record" in receipt.reason
    assert "OverflowError" in receipt.reason
    assert {memory.receipt(one).stage for one in (*ids[:5], *ids[6:], later)} == {"searchable"}
    assert memory.admin.health().status == "red"
    mine = [(item.after, item.until) for item in items(memory) if item.session_id == receipt.session_id]
    assert mine[0][0] == 0
    assert all(left[1] == right[0] for left, right in itertools.pairwise(mine))
    assert (ids[4], ids[5]) in mine

    said_at = memory.sessions.get(memory.receipt(ids[5]).session_id).created_at
    memory._parts.shared.database.write(
        lambda tx: tx.run("UPDATE session_history SET at = ? WHERE id = ?", to_micros(said_at), ids[5])
    )
    assert memory.inbox.retry(receipt.inbox_id) == 1
    memory.organize()
    assert memory.receipt(ids[5]).stage == "searchable"
    assert memory.admin.health().dead == 0


def test_a_retry_of_a_record_that_still_fails_is_a_failed_run(open_memory: OpenMemory, clock: FakeClock) -> None:
    """O5: it goes back to the dead items, with the error of the run."""
    memory = open_memory(
        organizer=ScriptedOrganizer(),
        continuity={"time_zone": "Pacific/Auckland"},
        worker={"max_attempts": 1},
        organize={"batch_records": 1},
    )
    alice = memory.agent(User("cli", "alice", "main"))
    record = memory.append(alice, UserMessage("number"))
    poison(memory, record)
    memory.end_session(alice)
    organize_often(memory, 3)
    assert memory.receipt(record).stage == "failed"
    assert memory.inbox.retry() == 1
    memory.organize()
    assert memory.receipt(record).stage == "failed"
    assert "OverflowError" in memory.receipt(record).reason


def test_a_record_that_ends_its_worker_is_passed_by(memory: Memory, alice: Agent, clock: FakeClock) -> None:
    """O3, O4: a worker that began and never came back counts as a failure, however quickly it is started again."""
    record = memory.append(alice, UserMessage("number"))
    memory.end_session(alice)
    session = memory.receipt(record).session_id
    database = memory._parts.shared.database

    def begin(tx: Transaction) -> None:
        Sessions(tx).begin_dispatch(session, clock(), clock() - dispatch.STUCK_AFTER)

    for _ in range(200):
        database.write(begin)
        clock.turn(seconds=20)
    memory.organize()
    assert memory.receipt(record).stage == "failed"
    assert "the worker hung or was killed" in memory.receipt(record).reason


def test_kills_at_random_cost_no_record(open_memory: OpenMemory, clock: FakeClock) -> None:
    """O3: what failed with earlier records does not count for the later ones of the same session."""
    organizer = ScriptedOrganizer()
    organizer.waiting = "It waits."
    memory = open_memory(organizer=organizer, worker={"max_attempts": 2}, organize={"batch_records": 4})
    alice = memory.agent(User("cli", "alice", "main"))
    ids = memory.append_many(alice, [UserMessage(f"number {n}") for n in range(60)])
    memory.end_session(alice)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dispatcher, "_deliver", killed_each(3))
        kills = 0
        while memory.sessions.list(alice)[0].invalidated_at:
            try:
                memory.organize()
            except Killed:
                kills += 1
                clock.turn(seconds=60)
    assert kills > 5, "more than a record is tried"
    assert memory.inbox.counts().keys() == {"pending"}
    assert all(left[1] == right[0] for left, right in itertools.pairwise(ranges(memory)))
    assert ranges(memory)[-1][1] == ids[-1]


class Killed(BaseException):
    """The end of a worker that can say nothing any more."""


def killed_each(times: int) -> Callable[..., Session | None]:
    """How a batch is delivered by workers of which one is killed now and then."""
    deliver, calls = Dispatcher._deliver, itertools.count(1)

    def until_killed(self: Dispatcher, tx: Transaction, **more: Any) -> Session | None:
        if next(calls) % times == 0:
            raise Killed
        return deliver(self, tx, **more)

    return until_killed


def test_a_record_is_passed_by_when_it_failed_alone_often_enough(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O3: each that fails has all its attempts, also right behind another."""
    organizer = ScriptedOrganizer()
    organizer.waiting = "It waits."
    memory = open_memory(organizer=organizer, worker={"max_attempts": 3}, organize={"batch_records": 4})
    alice = memory.agent(User("cli", "alice", "main"))
    texts = ("fine", "fine", "broken one", "fine", "broken two", "broken three", "fine")
    ids = memory.append_many(alice, [UserMessage(text) for text in texts])
    memory.end_session(alice)
    loaded: list[tuple[int, ...]] = []
    load = History.load

    def noting(self: History, *args: Any, **more: Any) -> Any:
        page = load(self, *args, **more)
        loaded.append(tuple(one.id for one in page.records))
        return page

    monkeypatch.setattr(dispatch, "transcript", fragile)
    monkeypatch.setattr(History, "load", noting)
    organize_often(memory, 20)
    assert [item.until for item in items(memory) if item.state == "dead"] == [ids[2], ids[4], ids[5]]
    assert [loaded.count((ids[n],)) for n in (2, 4, 5)] == [3, 3, 3]


def test_workers_that_fail_at_once_failed_once(memory: Memory, alice: Agent, clock: FakeClock) -> None:
    """O3, O4: nor does one count that another worker overtook."""
    ids = memory.append_many(alice, [UserMessage("number")] * 6)
    session = memory.sessions.list(alice)[0]
    database = memory._parts.shared.database

    def fail(tx: Transaction, failures: int) -> None:
        Sessions(tx).fail_dispatch(session, failures, "OverflowError")

    def failures(tx: Transaction) -> int:
        return Sessions(tx).begin_dispatch(session.id, clock(), clock() - dispatch.STUCK_AFTER)[0]

    for seen in (0, 0, 0, 1, 1):
        database.write(partial(fail, failures=seen))
    assert database.write(failures) == 2
    assert database.write(lambda tx: Sessions(tx).mark_processed(session, ids[0], 1))
    database.write(partial(fail, failures=1))
    assert database.write(failures) == 1


def test_a_record_that_fails_can_be_forgotten(open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """O3: its attempts are not those of the next one."""
    organizer = ScriptedOrganizer()
    organizer.waiting = "It waits."
    memory = open_memory(organizer=organizer, worker={"max_attempts": 3}, organize={"batch_records": 1})
    alice = memory.agent(User("cli", "alice", "main"))
    ids = memory.append_many(alice, [UserMessage("broken"), UserMessage("fine")])
    memory.end_session(alice)
    monkeypatch.setattr(dispatch, "transcript", fragile)
    organize_often(memory, 3)
    memory.forget(f"r{ids[0]}")
    memory.organize()
    assert [(item.state, item.until) for item in items(memory)] == [("pending", ids[1])]


def test_failures_are_forgotten_when_the_session_is_through(
    memory: Memory, alice: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O2: a passing fault costs no record, and the next one begins from none."""
    memory.append(alice, UserMessage("broken"))
    memory.end_session(alice)
    monkeypatch.setattr(dispatch, "transcript", fragile)
    organize_often(memory, 4)
    failures = "SELECT sum(dispatch_failures) FROM sessions"
    assert memory._parts.shared.database.read(lambda tx: tx.one(failures)) == (4,)
    monkeypatch.undo()
    assert memory.organize().dispatched == 1
    assert memory._parts.shared.database.read(lambda tx: tx.one(failures)) == (0,)


def test_few_large_records_are_read_at_once(open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """C10, O2: what is read for one transcript is bounded in bytes, and every record comes once."""
    organizer = ScriptedOrganizer()
    organizer.waiting = "It waits."
    memory = open_memory(organizer=organizer)
    alice = memory.agent(User("cli", "alice", "main"))
    ids = memory.append_many(alice, [UserMessage("word " * 100) for _ in range(9)])
    monkeypatch.setattr(dispatch, "MAX_LOADED_BYTES", 1_100)
    memory.organize()
    assert ranges(memory) == [(0, ids[1]), *((ids[n - 1], ids[n + 1]) for n in (2, 4, 6)), (ids[7], ids[8])]
