"""How turns come in: the invalidation points, one transaction each, many writers (SPEC C7, C9, C10, O23)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import psycopg
import pytest

from lifelong import (
    Agent,
    AssistantMessage,
    Memory,
    MemoryAgent,
    Note,
    Record,
    Session,
    StoredRecord,
    SystemMessage,
    Task,
    Turn,
    User,
    UserMessage,
)
from lifelong.collect.recorder import OVERFLOW_MESSAGE
from lifelong.collect.sessions import Sessions
from lifelong.errors import AgentNotFound, InputError, StorageCorrupt, StorageError
from lifelong.storage.base import Database
from lifelong.testing import FakeClock, in_threads
from tests.conftest import OpenMemory, until

THRESHOLD = 5


def active(memory: Memory, agent: Agent) -> Session:
    [session] = [session for session in memory.sessions.list(agent) if session.ended_at is None]
    return session


def texts(records: list[StoredRecord]) -> list[str]:
    return [recorded.record.text for recorded in records if isinstance(recorded.record, Note)]


def forbid_insert(database: Database, table: str, condition: str) -> None:
    """Have the database itself refuse new rows of `table` where the condition on NEW holds."""
    refuse(database, f"BEFORE INSERT ON {table}", condition)


def refuse(database: Database, event: str, condition: str) -> None:
    if database.dialect == "sqlite":
        trigger = f"CREATE TRIGGER refuse {event} WHEN {condition} BEGIN SELECT RAISE(ABORT, 'refused'); END"
        database.write(lambda tx: tx.run(trigger))
        return
    function = (
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"'BEGIN IF {condition} THEN RAISE EXCEPTION ''refused''; END IF; RETURN NEW; END'"
    )
    trigger = f"CREATE TRIGGER refuse {event} FOR EACH ROW EXECUTE FUNCTION refuse()"
    database.write(lambda tx: (tx.run(function), tx.run(trigger)))


# The threshold


def test_the_fifth_record_leaves_the_session_unmarked_and_the_sixth_marks_it(memory: Memory, alice: Agent) -> None:
    """C9.1: more than five records after `processed_until`."""
    for number in range(THRESHOLD):
        memory.append(alice, UserMessage(f"{number}"))
        assert active(memory, alice).invalidated_at is None
    sixth = memory.append(alice, UserMessage("sixth"))
    assert active(memory, alice).invalidated_at == sixth
    seventh = memory.append(alice, UserMessage("seventh"))
    assert active(memory, alice).invalidated_at == seventh, "the mark grows with the session"


@pytest.mark.parametrize(
    ("batches", "marked"),
    [([5], False), ([6], True), ([5, 1], True), ([1, 5], True), ([3, 2], False), ([3, 3], True), ([20], True)],
)
def test_batches_count_record_by_record(memory: Memory, alice: Agent, batches: list[int], marked: bool) -> None:
    """C9.1: the same by `append_many`."""
    ids = [record_id for count in batches for record_id in memory.append_many(alice, [Note("x")] * count)]
    assert active(memory, alice).invalidated_at == (ids[-1] if marked else None)


def test_every_type_of_record_counts(memory: Memory, alice: Agent) -> None:
    """C9.1: records, not messages of the user."""
    said: list[Record] = [UserMessage("a"), AssistantMessage("b"), Note("c"), SystemMessage("d"), UserMessage("e")]
    memory.append_many(alice, said)
    assert active(memory, alice).invalidated_at is None
    assert memory.append(alice, Note("f")) == active(memory, alice).invalidated_at


@pytest.mark.parametrize("threads", [5, 6, 64])
def test_threads_count_together(memory: Memory, alice: Agent, threads: int) -> None:
    """C9.1, C10: whatever they shared, the mark stands at the newest record from the sixth on."""
    ids = in_threads(threads, lambda number: memory.append(alice, Note(f"{number}")))
    assert len(set(ids)) == threads
    assert active(memory, alice).invalidated_at == (max(ids) if threads > THRESHOLD else None)


@pytest.mark.parametrize("per_process", [2, 3])
def test_processes_count_together(open_memory: OpenMemory, per_process: int) -> None:
    """C9.1: two writers that do not know each other."""
    memories = [open_memory(), open_memory()]
    agent = memories[0].agent(User("cli", "alice", "main"))
    ids = in_threads(2 * per_process, lambda number: memories[number % 2].append(agent, Note("x")))
    assert active(memories[0], agent).invalidated_at == (max(ids) if len(ids) > THRESHOLD else None)


def test_a_retry_does_not_count(memory: Memory, alice: Agent) -> None:
    """C7, C9.1: what was not stored cannot fill the session."""
    for number in range(THRESHOLD):
        memory.append(alice, Note("x"), key=f"{number}")
    memory.append_many(alice, [Note("x")] * THRESHOLD, keys=[f"{number}" for number in range(THRESHOLD)])
    assert active(memory, alice).invalidated_at is None


def test_counting_starts_again_after_what_was_processed(memory: Memory, alice: Agent, database: Database) -> None:
    """C9.1: records after `processed_until`."""
    ids = memory.append_many(alice, [Note("x")] * 6)
    session = active(memory, alice)
    assert database.write(lambda tx: Sessions(tx).mark_processed(session, ids[-1]))
    memory.append_many(alice, [Note("x")] * THRESHOLD)
    assert active(memory, alice).invalidated_at is None
    assert memory.append(alice, Note("x")) == active(memory, alice).invalidated_at


def test_turn_threshold_is_a_setting(open_memory: OpenMemory) -> None:
    """C9.1, K1: `collect.turn_threshold`."""
    memory = open_memory(collect={"turn_threshold": 1})
    agent = memory.agent(User("cli", "alice", "main"))
    memory.append(agent, Note("one"))
    assert active(memory, agent).invalidated_at is None
    assert memory.append(agent, Note("two")) == active(memory, agent).invalidated_at
    patient = open_memory(collect={"turn_threshold": 100})
    other = patient.agent(Task("t"))
    patient.append_many(other, [Note("x")] * 100)
    assert active(patient, other).invalidated_at is None
    assert patient.append(other, Note("x")) == active(patient, other).invalidated_at


# Reset


@pytest.mark.parametrize(
    ("message", "emergency", "kept"),
    [
        (None, False, None),
        ("new topic", False, "new topic"),
        (None, True, OVERFLOW_MESSAGE),
        ("too long", True, "too long"),
    ],
)
def test_reset_marks_the_old_session_and_opens_a_new_one(
    memory: Memory, alice: Agent, clock: FakeClock, message: str | None, emergency: bool, kept: str | None
) -> None:
    """C9.2: manual or emergency."""
    ids = memory.append_many(alice, [UserMessage("one"), UserMessage("two")])
    old = active(memory, alice)
    ended = clock.turn(seconds=1)
    new = memory.sessions.reset(alice, message, emergency=emergency)
    closed = memory.sessions.get(old.id)
    assert (closed.invalidated_at, closed.ended_at, closed.reset_message) == (ids[-1], ended, kept)
    assert new == active(memory, alice)
    assert (new.id != old.id, new.invalidated_at, memory.sessions.history(new)) == (True, None, [])
    later = memory.append(alice, UserMessage("three"))
    assert [recorded.id for recorded in memory.sessions.history(new)] == [later]
    assert memory.sessions.get(old.id) == closed


def test_reset_of_an_agent_without_a_session_opens_one(memory: Memory, alice: Agent, database: Database) -> None:
    """C9.2: nothing to mark."""
    new = memory.sessions.reset(alice)
    assert memory.sessions.list(alice) == [new]
    memory.sessions.reset(alice)
    assert database.read(lambda tx: Sessions(tx).find_invalidated(10)) == []


def test_reset_does_not_mark_what_is_processed(memory: Memory, alice: Agent, database: Database) -> None:
    """C9.2: no mark where there is nothing to organize."""
    ids = memory.append_many(alice, [Note("x")] * 6)
    session = active(memory, alice)
    assert database.write(lambda tx: Sessions(tx).mark_processed(session, ids[-1]))
    memory.sessions.reset(alice)
    assert memory.sessions.get(session.id).invalidated_at is None


SUCCESSORS: dict[str, Callable[[Memory, Agent], Session]] = {
    "reset": lambda memory, agent: memory.sessions.reset(agent),
    "emergency": lambda memory, agent: memory.sessions.reset(agent, emergency=True),
    "compact_context": lambda memory, agent: memory.sessions.compact_context(agent, "what came before"),
}


@pytest.mark.parametrize("succeed", SUCCESSORS.values(), ids=SUCCESSORS.keys())
def test_the_old_session_is_marked_before_the_new_one_exists(
    memory: Memory, alice: Agent, database: Database, succeed: Callable[[Memory, Agent], Session]
) -> None:
    """C9.2, C9.3: the database itself refuses a session whose predecessor is not marked."""
    unmarked = "EXISTS (SELECT 1 FROM sessions s WHERE s.agent_id = NEW.agent_id AND s.invalidated_at IS NULL)"
    forbid_insert(database, "sessions", unmarked)
    memory.append(alice, UserMessage("one"))
    succeed(memory, alice)
    assert len(memory.sessions.list(alice)) == 2
    unorganized = memory.agent(MemoryAgent(alice.id))
    memory.append(unorganized, Note("x"))
    with pytest.raises(StorageError, match="refused"):
        succeed(memory, unorganized)
    [kept] = memory.sessions.list(unorganized)
    assert kept.ended_at is None, "and what was refused left no trace"


# Context compaction


def test_compaction_marks_the_old_session_and_opens_the_new_one_with_the_summary(
    memory: Memory, alice: Agent, clock: FakeClock
) -> None:
    """C9.3: the summary is a `system_message` that is never learned as user speech."""
    newest = memory.append(alice, UserMessage("I moved to Lisbon."))
    old = active(memory, alice)
    clock.turn(seconds=1)
    new = memory.sessions.compact_context(alice, "The user moved to Lisbon.")
    assert (memory.sessions.get(old.id).invalidated_at, memory.sessions.get(old.id).ended_at) == (
        newest,
        clock.now,
    )
    assert new.id == active(memory, alice).id
    [opening] = memory.sessions.history(new)
    assert opening.record == SystemMessage(
        "The user moved to Lisbon.", summary=True, provenance="system", at=clock.now
    )
    assert active(memory, alice).invalidated_at is None
    said = memory.sessions.transcript(alice)
    assert "## System Message" in said
    assert "## User" not in said


def test_compaction_of_an_agent_that_never_spoke_opens_its_first_session(memory: Memory, alice: Agent) -> None:
    """C9.3: nothing to mark."""
    new = memory.sessions.compact_context(alice, "brought from elsewhere")
    assert [session.id for session in memory.sessions.list(alice)] == [new.id]
    assert len(memory.sessions.history(new)) == 1


def test_the_summary_counts_as_a_record_of_the_new_session(memory: Memory, alice: Agent) -> None:
    """C9.1, C9.3: with it, the fifth message is the sixth record."""
    memory.sessions.compact_context(alice, "what came before")
    memory.append_many(alice, [Note("x")] * 4)
    assert active(memory, alice).invalidated_at is None
    assert memory.append(alice, Note("x")) == active(memory, alice).invalidated_at


def test_the_summary_marks_at_a_threshold_of_one(open_memory: OpenMemory) -> None:
    """C9.3: the returned session is the one that is there."""
    memory = open_memory(collect={"turn_threshold": 1})
    agent = memory.agent(Task("t"))
    memory.append(agent, Note("x"))
    new = memory.sessions.compact_context(agent, "what came before")
    assert new == memory.sessions.get(new.id)
    assert new.invalidated_at is None


@pytest.mark.parametrize("summary", ["", " \n"])
def test_a_compaction_without_a_summary_is_refused(memory: Memory, alice: Agent, summary: str) -> None:
    """C9.3: a context must not be thrown away for nothing."""
    memory.append(alice, Note("x"))
    before = memory.sessions.list(alice)
    with pytest.raises(InputError, match="The summary must not be empty"):
        memory.sessions.compact_context(alice, summary)
    assert memory.sessions.list(alice) == before


# The end of a turn


def test_end_turn_gives_what_was_said_since_the_last_one(memory: Memory, alice: Agent) -> None:
    """O23: after the last turn's end, up to the newest record."""
    assert memory.end_turn(alice) is None, "no session yet"
    first = memory.append_many(alice, [UserMessage("a"), AssistantMessage("b")])
    session = active(memory, alice).id
    assert memory.end_turn(alice) == Turn(session, 0, first[-1])
    assert memory.end_turn(alice) is None, "nothing new"
    memory.append(memory.agent(Task("t")), Note("elsewhere"))
    assert memory.end_turn(alice) is None, "nothing new here"
    second = memory.append_many(alice, [UserMessage("c"), AssistantMessage("d")])
    turn = memory.end_turn(alice)
    assert turn == Turn(session, first[-1], second[-1])
    assert [
        recorded.id for recorded in memory.sessions.history(session, turn.after) if recorded.id <= turn.until
    ] == second


def test_a_turn_does_not_reach_into_the_next_session(memory: Memory, alice: Agent) -> None:
    """O23: each session's turns start at its own beginning."""
    memory.append(alice, UserMessage("a"))
    memory.end_turn(alice)
    memory.sessions.reset(alice)
    assert memory.end_turn(alice) is None
    newest = memory.append(alice, UserMessage("b"))
    assert memory.end_turn(alice) == Turn(active(memory, alice).id, 0, newest)


def test_the_end_of_a_turn_survives_reopening(open_memory: OpenMemory) -> None:
    """O23: turns are rows."""
    memory = open_memory()
    agent = memory.agent(User("cli", "alice", "main"))
    first = memory.append(agent, UserMessage("a"))
    memory.end_turn(agent)
    memory.close()
    again = open_memory()
    assert again.end_turn(agent) is None
    second = again.append(agent, UserMessage("b"))
    assert again.end_turn(agent) == Turn(active(again, agent).id, first, second)


def test_threads_that_end_one_turn_end_it_once(memory: Memory, alice: Agent) -> None:
    """O23: one journal line a turn."""
    newest = memory.append(alice, UserMessage("a"))
    turns = [turn for turn in in_threads(8, lambda _: memory.end_turn(alice)) if turn]
    assert turns == [Turn(active(memory, alice).id, 0, newest)]


# One transaction


def test_mark_and_append_are_one_transaction(memory: Memory, alice: Agent, database: Database) -> None:
    """C10: where the mark cannot be set, the record is not stored either."""
    refuse(database, "BEFORE UPDATE ON sessions", "NEW.invalidated_at IS NOT NULL")
    memory.append_many(alice, [Note("x")] * THRESHOLD)
    with pytest.raises(StorageError, match="refused"):
        memory.append(alice, Note("sixth"), key="k")
    assert len(memory.sessions.history(active(memory, alice))) == THRESHOLD
    with pytest.raises(StorageError, match="refused"):
        memory.sessions.reset(alice)
    assert len(memory.sessions.list(alice)) == 1
    with pytest.raises(StorageError, match="refused"):
        memory.sessions.compact_context(alice, "what came before")
    assert len(memory.sessions.list(alice)) == 1
    with pytest.raises(StorageError, match="refused"):
        memory.end_session(alice)
    assert memory.agents.get(alice.id).state == "active"
    database.write(
        lambda tx: tx.run("DROP TRIGGER refuse" + (" ON sessions" if database.dialect == "postgres" else ""))
    )
    assert memory.append(alice, Note("sixth"), key="k") == active(memory, alice).invalidated_at


def test_a_batch_that_fails_at_its_last_record_leaves_nothing(
    memory: Memory, alice: Agent, database: Database
) -> None:
    """C7, C10: neither records, nor session, nor keys, nor an awake agent."""
    memory.end_session(alice)
    forbid_insert(database, "session_history", "NEW.data LIKE ''%poison%''".replace("''", _quote(database)))
    with pytest.raises(StorageError, match="refused"):
        memory.append_many(alice, [Note("a"), Note("b"), Note("poison")], keys=["a", "b", "c"])
    assert memory.sessions.list(alice) == []
    assert memory.agents.get(alice.id).state == "sleeping"
    assert database.read(lambda tx: tx.all("SELECT * FROM append_keys")) == []


def _quote(database: Database) -> str:
    return "''" if database.dialect == "postgres" else "'"


# Many at once


def test_sixteen_threads_and_four_agents_lose_nothing(memory: Memory) -> None:
    """C7, C10: everything acknowledged is there, once, in order; a bad job hurts no other."""
    agents = [memory.agent(Task(f"t{number}")) for number in range(4)]
    for agent in agents:
        memory.append(agent, Note("first"), key="taken")

    def work(number: int) -> list[tuple[str, int]]:
        agent, acknowledged = agents[number % 4], []
        for step in range(12):
            if number < 16:
                said = f"{number}:{step}"
                acknowledged.append((said, memory.append(agent, Note(said))))
            elif number < 18:
                with pytest.raises(AgentNotFound):
                    memory.append("nobody", Note("lost"))
            else:
                with pytest.raises(InputError, match="'taken' was used before"):
                    memory.append(agent, Note("something else"), key="taken")
        return acknowledged

    outcomes = in_threads(20, work)
    stored: dict[str, int] = {}
    for number, agent in enumerate(agents):
        history = memory.sessions.history(active(memory, agent))
        ids = [recorded.id for recorded in history]
        assert ids == sorted(set(ids))
        said = texts(history)
        assert len(said) == 1 + 4 * 12
        for thread in range(number, 16, 4):
            own = [text for text in said if text.startswith(f"{thread}:")]
            assert own == [f"{thread}:{step}" for step in range(12)], "each thread's records in its order"
        stored |= dict(zip(said, ids, strict=True))
        assert active(memory, agent).invalidated_at == ids[-1]
    acknowledged = {said: record_id for some in outcomes for said, record_id in some}
    assert acknowledged.items() <= stored.items()


def test_a_bad_row_in_a_group_hurts_no_other(memory: Memory, database: Database) -> None:
    """C10: an agent whose kind is not known fails alone; one whose descriptor is broken does not even fail."""
    agents = [memory.agent(Task(f"t{number}")) for number in range(8)]
    database.write(lambda tx: tx.run("UPDATE agents SET kind = 'martian' WHERE id = ?", agents[3].id))
    database.write(lambda tx: tx.run("UPDATE agents SET descriptor = '{' WHERE id = ?", agents[5].id))

    def work(number: int) -> int:
        stored = 0
        for _ in range(10):
            try:
                memory.append(agents[number], Note("x"))
                stored += 1
            except StorageCorrupt:
                continue
        return stored

    assert in_threads(8, work) == [10, 10, 10, 0, 10, 10, 10, 10]
    stored = database.read(
        lambda tx: tx.all(
            "SELECT agent_id, count(*) FROM sessions s JOIN session_history h ON h.session_id = s.id "
            "GROUP BY agent_id"
        )
    )
    assert dict(stored) == {agent.id: 10 for agent in agents if agent is not agents[3]}


def test_what_was_seen_of_a_session_never_changes(open_memory: OpenMemory) -> None:
    """C7: every later look begins with what the earlier one saw: ids become visible in order."""
    memories = [open_memory(), open_memory()]
    agent = memories[0].agent(User("cli", "alice", "main"))
    memories[0].append(agent, Note("first"))
    session = active(memories[0], agent)
    finished = threading.Event()
    looks: list[list[int]] = []

    def look() -> None:
        while not finished.is_set():
            looks.append([recorded.id for recorded in memories[1].sessions.history(session)])

    reader = threading.Thread(target=look)
    reader.start()
    try:
        in_threads(8, lambda number: [memories[number % 2].append(agent, Note("x")) for _ in range(15)])
    finally:
        finished.set()
        reader.join()
    looks.append([recorded.id for recorded in memories[0].sessions.history(session)])
    assert len(looks[-1]) == 1 + 8 * 15
    for earlier, later in pairwise(looks):
        assert later[: len(earlier)] == earlier


# PostgreSQL: rows that somebody else holds


@pytest.fixture
def on_postgres(request: pytest.FixtureRequest, postgres_storage: dict[str, Any]) -> OpenMemory:
    """Opens memories on PostgreSQL, whatever `storage` says."""
    clock, folder = request.getfixturevalue("clock"), request.getfixturevalue("tmp_path")

    def open_one() -> Memory:
        memory = Memory.open(folder / "home", clock=clock, storage=postgres_storage)
        request.addfinalizer(memory.close)
        return memory

    return open_one


@contextmanager
def held(storage: dict[str, Any], statement: str, *params: object) -> Iterator[psycopg.Connection[Any]]:
    """Somebody else's transaction, from outside: holds what the statement takes until the block ends."""
    with psycopg.connect(storage["url"], options=f"-c search_path={storage['schema_name']}") as connection:
        connection.execute(statement.encode(), params)
        yield connection
        connection.rollback()


def wait_for_waiters(storage: dict[str, Any], count: int) -> None:
    """Until so many backends wait for a lock."""
    sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'lifelong'"
    with psycopg.connect(storage["url"], autocommit=True) as connection:
        until(lambda: connection.execute(sql).fetchone() == (count,))


def test_an_append_waits_for_its_own_agent_and_nobody_else_does(
    on_postgres: OpenMemory, postgres_storage: dict[str, Any]
) -> None:
    """C7: one agent's row is held elsewhere; the others' appends go through, and then its own."""
    memory = on_postgres()
    alice, bob = memory.agent(User("cli", "alice", "main")), memory.agent(User("cli", "bob", "main"))
    with ThreadPoolExecutor(8) as threads:
        with held(postgres_storage, "SELECT 1 FROM agents WHERE id = %s FOR UPDATE", alice.id):
            blocked = [threads.submit(memory.append, alice, Note(f"blocked {number}")) for number in range(2)]
            wait_for_waiters(postgres_storage, 2)
            others = [threads.submit(memory.append, bob, Note(f"free {number}")) for number in range(5)]
            ids = [future.result(timeout=60) for future in others]
            assert [recorded.id for recorded in memory.sessions.history(active(memory, bob))] == sorted(ids)
            assert not any(future.done() for future in blocked)
            assert memory.sessions.list(alice) == []
        stored = sorted(future.result(timeout=60) for future in blocked)
    assert [recorded.id for recorded in memory.sessions.history(active(memory, alice))] == stored


def test_two_interleaved_appends_to_one_session_never_become_visible_out_of_order(
    on_postgres: OpenMemory, postgres_storage: dict[str, Any]
) -> None:
    """C7: the slow one has its id and hangs before its commit; the fast one must not overtake it."""
    slow_one, fast_one = on_postgres(), on_postgres()
    agent = slow_one.agent(User("cli", "alice", "main"))
    first = slow_one.append(agent, Note("first"))
    session = active(slow_one, agent)
    function = (
        "CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN "
        "IF NEW.data LIKE ''%slow%'' THEN PERFORM pg_advisory_xact_lock(77); END IF; RETURN NEW; END'"
    )
    trigger = "CREATE TRIGGER hang AFTER INSERT ON session_history FOR EACH ROW EXECUTE FUNCTION hang()"
    slow_one._parts.shared.database.write(lambda tx: (tx.run(function), tx.run(trigger)))
    with ThreadPoolExecutor(2) as threads:
        with held(postgres_storage, "SELECT pg_advisory_xact_lock(77)"):
            slow = threads.submit(slow_one.append, agent, Note("slow"))
            wait_for_waiters(postgres_storage, 1)
            fast = threads.submit(fast_one.append, agent, Note("fast"))
            wait_for_waiters(postgres_storage, 2)
            assert [recorded.id for recorded in fast_one.sessions.history(session)] == [first]
            assert not fast.done()
        ids = [first, slow.result(timeout=60), fast.result(timeout=60)]
    assert ids == sorted(ids)
    assert texts(fast_one.sessions.history(session)) == ["first", "slow", "fast"]
