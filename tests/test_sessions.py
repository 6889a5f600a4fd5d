"""Sessions and their marks: what waits to be organized, and the compare-and-swap that clears it (SPEC C5, C8)."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

from lifelong import Agent, Memory, Note, Session, Task, UserMessage
from lifelong.collect.history import History
from lifelong.collect.sessions import Sessions
from lifelong.errors import SessionNotFound, StorageConflict
from lifelong.storage.base import Database, Transaction
from lifelong.testing import FakeClock, in_threads

THRESHOLD = 5


def say(memory: Memory, agent: Agent, count: int = 1) -> list[int]:
    return memory.append_many(agent, [UserMessage(f"line {number}") for number in range(count)])


def active(memory: Memory, agent: Agent) -> Session:
    """The session that is open, or else the last one."""
    return max(memory.sessions.list(agent), key=lambda one: (one.ended_at is None, one.created_at))


def invalidate(database: Database, session: Session, history_id: int) -> bool:
    return database.write(lambda tx: Sessions(tx).invalidate(session.id, history_id))


def mark_processed(database: Database, session: Session, until: int) -> bool:
    return database.write(lambda tx: Sessions(tx).mark_processed(session, until))


def find_invalidated(database: Database, limit: int = 10, after: Session | None = None) -> list[str]:
    return [session.id for session in database.read(lambda tx: Sessions(tx).find_invalidated(limit, after))]


@pytest.fixture
def marked(memory: Memory, alice: Agent) -> tuple[Session, list[int]]:
    """A session with three records, marked at the last, and the records' ids."""
    ids = say(memory, alice, 3)
    memory.agents.advance(memory._clock() + timedelta(minutes=1))
    return active(memory, alice), ids


# Rows


def test_a_session_holds_what_the_spec_says(memory: Memory, alice: Agent, clock: FakeClock) -> None:
    """C5: a new one is active, unmarked and unprocessed."""
    say(memory, alice)
    [session] = memory.sessions.list(alice)
    assert session == Session(session.id, alice.id, clock.now, None, None, None, None)
    assert memory.sessions.get(session.id) == session


def test_an_ended_session_holds_when_and_why(memory: Memory, alice: Agent, clock: FakeClock) -> None:
    """C5: `ended_at` and `reset_message`."""
    say(memory, alice)
    old = active(memory, alice)
    ended = clock.turn(seconds=5)
    new = memory.sessions.reset(alice, "fresh start")
    assert memory.sessions.get(old.id).ended_at == ended
    assert memory.sessions.get(old.id).reset_message == "fresh start"
    assert (new.created_at, new.ended_at, new.reset_message) == (ended, None, None)


def test_an_agent_has_one_active_session_and_the_database_sees_to_it(
    memory: Memory, alice: Agent, database: Database, clock: FakeClock
) -> None:
    """C5: a second one is refused, whoever asks."""
    say(memory, alice)
    with pytest.raises(StorageConflict):
        database.write(lambda tx: Sessions(tx).create(alice.id, clock.now))
    assert len(memory.sessions.list(alice)) == 1


def test_threads_that_append_first_make_one_session(memory: Memory, alice: Agent) -> None:
    """C7: a missing active session is created once."""
    in_threads(16, lambda _: say(memory, alice))
    [session] = memory.sessions.list(alice)
    assert len(memory.sessions.history(session)) == 16


def test_sessions_come_oldest_first(memory: Memory, alice: Agent, clock: FakeClock) -> None:
    """C5: in the order they were opened."""
    opened = []
    for _ in range(5):
        opened.append(memory.sessions.reset(alice).id)
        clock.turn(seconds=1)
    assert [session.id for session in memory.sessions.list(alice)] == opened


def test_sessions_come_oldest_first_when_the_clock_stands_still(memory: Memory, alice: Agent) -> None:
    """C5: a coarse clock does not shuffle them, and the newest is the one that is active."""
    opened = [memory.sessions.reset(alice).id for _ in range(8)]
    assert [session.id for session in memory.sessions.list(alice)] == opened


def test_the_newest_session_is_the_active_one_when_the_clock_goes_back(
    memory: Memory, alice: Agent, clock: FakeClock
) -> None:
    """C5: a clock that was set back does not bring an old talk to the front."""
    say(memory, alice)
    clock.turn(hours=-1)
    memory.sessions.reset(alice)
    newest = memory.append(alice, UserMessage("what was said last"))
    assert "what was said last" in memory.sessions.transcript(alice)
    assert [recorded.id for recorded in memory.sessions.history(alice)] == [newest]
    clock.turn(hours=-1)
    new = memory.sessions.reset(alice)
    assert [session.ended_at is None for session in memory.sessions.list(alice)] == [False, False, True]
    assert memory.sessions.list(alice)[-1] == new
    assert memory.sessions.history(alice) == []


def test_an_unknown_session_is_a_clear_error(memory: Memory, alice: Agent) -> None:
    """C5: with the next step."""
    gone = Session("nothing", alice.id, alice.created_at, None, None, None, None)
    for call in (memory.sessions.get, memory.sessions.history, memory.sessions.transcript):
        with pytest.raises(SessionNotFound, match=r"'nothing'.*List them with memory\.sessions"):
            call(gone)


# invalidate


def test_a_mark_is_set_where_there_was_none(memory: Memory, alice: Agent, database: Database) -> None:
    """C8: `invalidate` says whether it did."""
    ids = say(memory, alice, 3)
    session = active(memory, alice)
    assert invalidate(database, session, ids[1])
    assert memory.sessions.get(session.id).invalidated_at == ids[1]


def test_a_mark_only_grows(memory: Memory, alice: Agent, database: Database) -> None:
    """C8: set only if null or smaller."""
    ids = say(memory, alice, 4)
    session = active(memory, alice)
    assert invalidate(database, session, ids[2])
    assert not invalidate(database, session, ids[0])
    assert not invalidate(database, session, ids[2])
    assert memory.sessions.get(session.id).invalidated_at == ids[2]
    assert invalidate(database, session, ids[3])
    assert memory.sessions.get(session.id).invalidated_at == ids[3]


def test_marks_made_at_once_end_at_the_largest(memory: Memory, alice: Agent, database: Database) -> None:
    """C8: in whatever order they come."""
    ids = say(memory, alice, 5)
    session = active(memory, alice)
    outcomes = in_threads(5, lambda number: invalidate(database, session, ids[number]))
    assert any(outcomes)
    assert memory.sessions.get(session.id).invalidated_at == ids[-1]


def test_what_is_processed_is_not_marked_again(
    memory: Memory, database: Database, marked: tuple[Session, list[int]]
) -> None:
    """C8: a mark always stands above `processed_until`."""
    session, ids = marked
    assert mark_processed(database, session, ids[-1])
    for history_id in ids:
        assert not invalidate(database, session, history_id)
    assert memory.sessions.get(session.id).invalidated_at is None


def test_a_record_the_session_does_not_hold_is_not_marked(
    memory: Memory, alice: Agent, database: Database
) -> None:
    """C8: a mark beyond the newest record would wait for what may never come."""
    [newest] = say(memory, alice)
    session = active(memory, alice)
    elsewhere = memory.append(memory.agent(Task("t")), Note("another session"))
    assert elsewhere > newest
    assert not invalidate(database, session, elsewhere)
    assert not invalidate(database, session, newest + 1_000)
    assert memory.sessions.get(session.id).invalidated_at is None


def test_an_empty_or_missing_session_is_not_marked(memory: Memory, alice: Agent, database: Database) -> None:
    """C8: there is nothing in it."""
    session = memory.sessions.reset(alice)
    assert not invalidate(database, session, 1)
    assert not database.write(lambda tx: Sessions(tx).invalidate("nothing", 1))
    assert memory.sessions.get(session.id).invalidated_at is None


# find_invalidated


def test_marked_sessions_come_oldest_mark_first(memory: Memory, database: Database) -> None:
    """C8: by mark, not by age of the session; unmarked ones never."""
    agents = [memory.agent(Task(f"t{number}")) for number in range(4)]
    for agent in agents:
        say(memory, agent)
    for agent in (agents[2], agents[0], agents[3]):
        say(memory, agent)
        memory.end_session(agent)
    assert find_invalidated(database) == [active(memory, agents[n]).id for n in (2, 0, 3)]


def test_find_invalidated_keeps_to_its_limit(memory: Memory, database: Database) -> None:
    """C8, O1: at most so many a query, the oldest of them."""
    agents = [memory.agent(Task(f"t{number}")) for number in range(5)]
    for agent in agents:
        say(memory, agent)
        memory.end_session(agent)
    everything = [active(memory, agent).id for agent in agents]
    assert find_invalidated(database, 3) == everything[:3]
    assert find_invalidated(database, 50) == everything
    assert find_invalidated(database, 0) == []


@pytest.mark.parametrize("page", [1, 2, 3])
def test_find_invalidated_pages_through_everything_once(memory: Memory, database: Database, page: int) -> None:
    """C8: also where two sessions have the same mark."""
    agents = [memory.agent(Task(f"t{number}")) for number in range(7)]
    for agent in agents:
        say(memory, agent)
        memory.end_session(agent)
    database.write(lambda tx: tx.run("UPDATE sessions SET invalidated_at = 4 WHERE invalidated_at IN (3, 4, 5)"))
    seen: list[Session] = []

    def next_page(tx: Transaction) -> list[Session]:
        return Sessions(tx).find_invalidated(page, seen[-1] if seen else None)

    while found := database.read(next_page):
        seen += found
    assert sorted(session.id for session in seen) == sorted(active(memory, agent).id for agent in agents)
    assert [session.invalidated_at for session in seen] == [1, 2, 4, 4, 4, 6, 7]


# mark_processed


def test_processing_clears_the_mark_and_moves_the_position(
    memory: Memory, database: Database, marked: tuple[Session, list[int]]
) -> None:
    """C8: the swap succeeds when nothing changed."""
    session, ids = marked
    assert mark_processed(database, session, ids[-1])
    now = memory.sessions.get(session.id)
    assert (now.invalidated_at, now.processed_until) == (None, ids[-1])
    assert find_invalidated(database) == []


def test_the_swap_fails_when_a_record_arrived_in_between(memory: Memory, alice: Agent, database: Database) -> None:
    """C8: the mark moved with the record, so nothing is cleared and nothing is skipped."""
    ids = say(memory, alice, THRESHOLD + 1)
    session = active(memory, alice)
    assert session.invalidated_at == ids[-1]
    arrived = memory.append(alice, UserMessage("one more"))
    assert not mark_processed(database, session, ids[-1])
    now = memory.sessions.get(session.id)
    assert (now.invalidated_at, now.processed_until) == (arrived, None)


def test_the_swap_fails_when_the_expected_mark_is_another(
    memory: Memory, database: Database, marked: tuple[Session, list[int]]
) -> None:
    """C8: the mark as it was read decides."""
    session, ids = marked
    for other in (ids[0], ids[-1] + 1, None):
        assert not mark_processed(database, dataclasses.replace(session, invalidated_at=other), ids[-1])
    assert memory.sessions.get(session.id) == session


def test_the_swap_fails_when_there_is_no_mark(memory: Memory, alice: Agent, database: Database) -> None:
    """C8: nobody asked for it."""
    ids = say(memory, alice, 2)
    session = active(memory, alice)
    assert not mark_processed(database, session, ids[-1])
    assert memory.sessions.get(session.id) == session


def test_the_swap_fails_when_the_position_moved(
    memory: Memory, database: Database, marked: tuple[Session, list[int]]
) -> None:
    """C8, O4: another worker did the first part; the mark is the same, the work is not."""
    session, ids = marked
    assert mark_processed(database, session, ids[0])
    assert memory.sessions.get(session.id).invalidated_at == session.invalidated_at
    assert not mark_processed(database, session, ids[1])
    assert memory.sessions.get(session.id).processed_until == ids[0]


def test_a_part_that_was_processed_leaves_the_mark(
    memory: Memory, database: Database, marked: tuple[Session, list[int]]
) -> None:
    """C8, O2: the last id that was loaded is the position; what lies beyond it still waits."""
    session, ids = marked
    assert mark_processed(database, session, ids[1])
    now = memory.sessions.get(session.id)
    assert (now.invalidated_at, now.processed_until) == (ids[2], ids[1])
    assert find_invalidated(database) == [session.id]
    assert mark_processed(database, now, ids[2])
    done = memory.sessions.get(session.id)
    assert (done.invalidated_at, done.processed_until) == (None, ids[2])


def test_records_of_other_sessions_in_between_do_not_keep_the_mark(
    memory: Memory, alice: Agent, database: Database
) -> None:
    """C8: ids grow across all sessions, so there are gaps in one."""
    [first] = say(memory, alice)
    other = memory.agent(Task("t"))
    say(memory, other, 3)
    memory.end_session(alice)
    session = active(memory, alice)
    assert session.invalidated_at == first
    assert mark_processed(database, session, first)
    assert memory.sessions.get(session.id).invalidated_at is None


def test_processing_may_go_beyond_the_mark_up_to_what_was_loaded(
    memory: Memory, alice: Agent, database: Database, marked: tuple[Session, list[int]]
) -> None:
    """C8: a record that came after the mark and was loaded is processed with the rest."""
    session, _ = marked
    [later] = say(memory, alice)
    assert memory.sessions.get(session.id).invalidated_at == session.invalidated_at
    assert mark_processed(database, session, later)
    now = memory.sessions.get(session.id)
    assert (now.invalidated_at, now.processed_until) == (None, later)


def test_the_position_never_goes_back(
    memory: Memory, database: Database, marked: tuple[Session, list[int]]
) -> None:
    """C8: what was processed once stays processed."""
    session, ids = marked
    assert mark_processed(database, session, ids[1])
    now = memory.sessions.get(session.id)
    assert not mark_processed(database, now, ids[0])
    assert not mark_processed(database, now, 0)
    assert memory.sessions.get(session.id) == now


def test_the_position_never_goes_beyond_what_the_session_holds(
    memory: Memory, database: Database, marked: tuple[Session, list[int]]
) -> None:
    """C8: a record that is still to come must not count as processed."""
    session, ids = marked
    other = memory.append(memory.agent(Task("t")), Note("another session"))
    assert not mark_processed(database, session, other)
    assert not mark_processed(database, session, ids[-1] + 1_000)
    assert memory.sessions.get(session.id) == session


def test_a_stale_worker_cannot_succeed_after_the_mark_came_back(
    memory: Memory, alice: Agent, database: Database, marked: tuple[Session, list[int]]
) -> None:
    """C8: ABA. Cleared and marked anew, a session never looks as it did before."""
    stale, ids = marked
    assert mark_processed(database, stale, ids[-1])
    [later] = say(memory, alice)
    memory.end_session(alice)
    fresh = active(memory, alice)
    assert fresh.invalidated_at == later
    assert not mark_processed(database, stale, ids[-1])
    by_position = dataclasses.replace(stale, invalidated_at=fresh.invalidated_at)
    assert not mark_processed(database, by_position, later), "the position gives it away"
    by_mark = dataclasses.replace(stale, processed_until=fresh.processed_until)
    assert not mark_processed(database, by_mark, later), "the mark gives it away"
    assert active(memory, alice) == fresh
    assert mark_processed(database, fresh, later)


def test_workers_that_race_for_one_mark_have_one_winner(
    memory: Memory, database: Database, marked: tuple[Session, list[int]]
) -> None:
    """C8, O4: the compare-and-swap decides."""
    session, ids = marked
    won = in_threads(8, lambda _: mark_processed(database, session, ids[-1]))
    assert won.count(True) == 1
    assert memory.sessions.get(session.id).processed_until == ids[-1]


def test_a_mark_over_records_that_are_gone_can_be_cleared(
    memory: Memory, database: Database, marked: tuple[Session, list[int]]
) -> None:
    """C8, O2: a session with nothing left to load does not stay at the head of every batch."""
    session, _ = marked
    database.write(lambda tx: tx.run("DELETE FROM session_history WHERE session_id = ?", session.id))
    stretch = database.read(lambda tx: History(tx).load(session.id, 0))
    assert mark_processed(database, session, stretch.until)
    assert memory.sessions.get(session.id).invalidated_at is None
