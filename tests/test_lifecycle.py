"""How agents fall asleep, wake and die, by deadlines that are rows (SPEC C4, C9.4)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from lifelong import (
    Agent,
    App,
    AssistantMessage,
    Cron,
    Descriptor,
    LifecycleResult,
    Memory,
    MemoryAgent,
    Note,
    Permanent,
    Session,
    Subagent,
    System,
    Task,
    User,
    UserMessage,
)
from lifelong.collect.lifecycle import Lifecycle
from lifelong.collect.sessions import Sessions
from lifelong.errors import (
    AgentDead,
    OutcomeUnknown,
    StorageBusy,
    StorageConflict,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageUnavailable,
)
from lifelong.storage.base import Database
from lifelong.testing import FakeClock, in_threads
from tests.conftest import OpenMemory

IDLE = timedelta(seconds=60)
DEAD = timedelta(hours=1)
MOMENT = timedelta(microseconds=1)

SCOUT = Subagent("s1", "parent", "Scout")
IMMORTAL: list[Descriptor] = [
    User("cli", "bob", "main"),
    Cron("c"),
    Task("t"),
    System("s"),
    App("a", "parent", "App", "", "x"),
    Permanent("p", "Ada", "", ""),
]


def only_session(memory: Memory, agent: Agent) -> Session:
    [session] = memory.sessions.list(agent)
    return session


# Falling asleep


def test_an_agent_sleeps_when_idle_after_has_passed_and_not_before(
    memory: Memory, alice: Agent, clock: FakeClock
) -> None:
    """C4: 60 s after it was made, to the microsecond."""
    assert memory.agents.advance(clock.now + IDLE - MOMENT).slept == ()
    assert memory.agents.get(alice.id).state == "active"
    assert memory.agents.advance(clock.now + IDLE).slept == (alice.id,)
    asleep = memory.agents.get(alice.id)
    assert (asleep.state, asleep.sleep_due, asleep.death_due) == ("sleeping", None, None)


ACTIVITY: dict[str, Callable[[Memory, Agent], object]] = {
    "append": lambda memory, agent: memory.append(agent, UserMessage("hello")),
    "append_many": lambda memory, agent: memory.append_many(agent, [UserMessage("a"), Note("b")]),
    "end_turn": lambda memory, agent: memory.end_turn(agent),
    "reset": lambda memory, agent: memory.sessions.reset(agent),
    "compact_context": lambda memory, agent: memory.sessions.compact_context(agent, "what came before"),
}


@pytest.mark.parametrize("act", ACTIVITY.values(), ids=ACTIVITY.keys())
def test_idle_time_counts_from_the_last_activity(
    memory: Memory, alice: Agent, clock: FakeClock, act: Callable[[Memory, Agent], object]
) -> None:
    """C4: also where the activity came after the first deadline was set."""
    memory.append(alice, UserMessage("first"))
    heard = clock.turn(seconds=45)
    act(memory, alice)
    assert memory.agents.advance(heard + timedelta(seconds=15)).slept == (), "the first deadline"
    assert memory.agents.advance(heard + IDLE - MOMENT).slept == ()
    assert memory.agents.get(alice.id).state == "active"
    assert memory.agents.advance(heard + IDLE).slept == (alice.id,)


def test_a_deadline_moves_on_as_long_as_messages_come(memory: Memory, alice: Agent, clock: FakeClock) -> None:
    """C4: an append every 40 s keeps an agent awake, whoever looks in between."""
    for _ in range(8):
        memory.append(alice, UserMessage("still here"))
        clock.turn(seconds=40)
        assert memory.agents.advance().slept == ()
    clock.turn(seconds=20)
    assert memory.agents.advance().slept == (alice.id,)


def test_idle_after_is_a_setting(open_memory: OpenMemory, clock: FakeClock) -> None:
    """C4, K1: `collect.idle_after`."""
    memory = open_memory(collect={"idle_after": 5})
    agent = memory.agent(User("cli", "alice", "main"))
    assert memory.agents.advance(clock.now + timedelta(seconds=5) - MOMENT).slept == ()
    assert memory.agents.advance(clock.now + timedelta(seconds=5)).slept == (agent.id,)


def test_advance_goes_by_the_clock_unless_a_time_is_given(memory: Memory, alice: Agent, clock: FakeClock) -> None:
    """C4: `advance()` is now."""
    assert memory.agents.advance().slept == ()
    clock.turn(seconds=60)
    assert memory.agents.advance().slept == (alice.id,)
    assert memory.agents.advance().slept == (), "who sleeps does not fall asleep again"


def test_every_agent_that_is_due_sleeps_however_many_they_are(memory: Memory, clock: FakeClock) -> None:
    """C4: more than one page of them."""
    made = {memory.agent(Task(f"t{number}")).id for number in range(230)}
    busy = memory.agent(Task("t7"))
    clock.turn(seconds=59)
    memory.append(busy, Note("working"))
    clock.turn(seconds=1)
    slept = memory.agents.advance().slept
    assert sorted(slept) == sorted(made - {busy.id})


# The mark


def test_sleep_marks_the_session_at_its_newest_record(memory: Memory, alice: Agent) -> None:
    """C9.4: the fourth invalidation point."""
    ids = memory.append_many(alice, [UserMessage("I moved to Lisbon."), AssistantMessage("Noted.")])
    assert only_session(memory, alice).invalidated_at is None
    memory.end_session(alice)
    session = only_session(memory, alice)
    assert session.invalidated_at == ids[-1]
    assert session.ended_at, "its user said that it is over"


def test_falling_asleep_by_deadline_marks_too(memory: Memory, alice: Agent, clock: FakeClock) -> None:
    """C9.4: whoever puts it to sleep."""
    newest = memory.append(alice, UserMessage("hello"))
    memory.agents.advance(clock.now + IDLE)
    assert only_session(memory, alice).invalidated_at == newest


def test_sleep_does_not_mark_what_is_processed(memory: Memory, alice: Agent, database: Database) -> None:
    """C9.4: no mark where there is nothing to organize."""
    newest = memory.append(alice, UserMessage("hello"))
    memory.end_session(alice)
    session = only_session(memory, alice)
    assert database.write(lambda tx: Sessions(tx).mark_processed(session, newest))
    memory.sessions.reset(alice)
    later = memory.append(alice, UserMessage("more"))
    memory.end_session(alice)
    old, new = sorted(memory.sessions.list(alice), key=lambda one: one.ended_at is None)
    assert (old.invalidated_at, old.processed_until) == (None, newest)
    assert (new.invalidated_at, new.processed_until) == (later, None)


def test_an_agent_with_nothing_unprocessed_sleeps_unmarked(
    memory: Memory, alice: Agent, database: Database, clock: FakeClock
) -> None:
    """C9.4: woken by nothing new, it leaves no mark."""
    newest = memory.append(alice, UserMessage("hello"))
    memory.end_session(alice)
    session = only_session(memory, alice)
    database.write(lambda tx: Sessions(tx).mark_processed(session, newest))
    database.write(lambda tx: tx.run("UPDATE agents SET state = 'active'"))
    memory.end_session(alice)
    assert memory.agents.get(alice.id).state == "sleeping"
    assert only_session(memory, alice).invalidated_at is None


def test_an_agent_that_never_spoke_sleeps_without_a_session(memory: Memory, alice: Agent) -> None:
    """C9.4: nothing to mark, nothing made."""
    memory.end_session(alice)
    assert memory.agents.get(alice.id).state == "sleeping"
    assert memory.sessions.list(alice) == []


def test_sleeping_twice_is_harmless(memory: Memory, clock: FakeClock) -> None:
    """C4: the second time changes nothing, least of all when it dies."""
    scout = memory.agent(SCOUT)
    memory.append(scout, Note("found it"))
    memory.end_session(scout)
    asleep, session = memory.agents.get(scout.id), only_session(memory, scout)
    clock.turn(minutes=30)
    memory.end_session(scout)
    assert memory.agents.get(scout.id) == asleep
    assert only_session(memory, scout) == session


# Waking


@pytest.mark.parametrize("by_deadline", [True, False], ids=["by deadline", "by hand"])
def test_a_message_wakes_a_sleeping_agent_and_cancels_both_deadlines(
    memory: Memory, clock: FakeClock, by_deadline: bool
) -> None:
    """C4: neither sleep nor death is near after a message."""
    scout = memory.agent(SCOUT)
    memory.append(scout, Note("one"))
    if by_deadline:
        clock.turn(seconds=60)
        assert memory.agents.advance().slept == (scout.id,)
    else:
        memory.end_session(scout)
    fell_asleep = clock.now
    assert memory.agents.get(scout.id).death_due == fell_asleep + DEAD
    woken = clock.turn(minutes=59)
    memory.append(scout, Note("two"))
    awake = memory.agents.get(scout.id)
    assert (awake.state, awake.active_at, awake.death_due) == ("active", woken, None)
    assert awake.sleep_due == woken + IDLE
    assert memory.agents.advance(woken + IDLE - MOMENT) == LifecycleResult()
    assert memory.agents.advance(woken + IDLE).slept == (scout.id,)
    assert memory.agents.advance(woken + IDLE + DEAD - MOMENT).died == (), "death counts from the second sleep"
    assert memory.agents.advance(woken + IDLE + DEAD).died == (scout.id,)


def test_the_end_of_a_session_ends_it_and_the_next_message_opens_another(memory: Memory, alice: Agent) -> None:
    """C11: each time, also where the agent slept already; what was said is marked."""
    for number in range(3):
        memory.append(alice, UserMessage(f"Day {number}"))
        if number == 1:
            memory.agents.advance(memory._clock() + IDLE)
        memory.end_session(alice)
        memory.end_session(alice)
    found = memory.sessions.list(alice)
    assert [len(memory.sessions.history(session)) for session in found] == [1, 1, 1]
    assert all(session.ended_at and session.invalidated_at for session in found)


def test_a_woken_agent_goes_on_in_its_session(memory: Memory, alice: Agent, clock: FakeClock) -> None:
    """C4: sleep does not end a session, and the mark it left stands."""
    first = memory.append(alice, UserMessage("one"))
    memory.agents.advance(clock.now + IDLE)
    memory.append(alice, UserMessage("two"))
    session = only_session(memory, alice)
    assert len(memory.sessions.history(session)) == 2
    assert session.invalidated_at == first


# Dying


def test_a_subagent_dies_dead_after_it_fell_asleep(memory: Memory, clock: FakeClock) -> None:
    """C4: one hour, to the microsecond."""
    scout = memory.agent(SCOUT)
    newest = memory.append(scout, Note("found it"))
    clock.turn(seconds=60)
    memory.agents.advance()
    assert memory.agents.advance(clock.now + DEAD - MOMENT).died == ()
    result = memory.agents.advance(clock.now + DEAD)
    assert (result.slept, result.died) == ((), (scout.id,))
    dead, session = memory.agents.get(scout.id), only_session(memory, scout)
    assert (dead.state, dead.sleep_due, dead.death_due) == ("dead", None, None)
    assert session.ended_at == clock.now + DEAD
    assert session.invalidated_at == newest, "what it left is still to be organized"
    assert memory.agents.advance(clock.now + DEAD * 2).died == (), "it dies once"


def test_no_other_kind_dies(memory: Memory, alice: Agent, clock: FakeClock) -> None:
    """C4: they sleep for as long as it takes."""
    agents = [alice, memory.agent(MemoryAgent(alice.id)), *(memory.agent(kind) for kind in IMMORTAL)]
    clock.turn(seconds=60)
    assert sorted(memory.agents.advance().slept) == sorted(agent.id for agent in agents)
    assert memory.agents.advance(clock.now + timedelta(days=3650)).died == ()
    assert {memory.agents.get(agent.id).state for agent in agents} == {"sleeping"}


def test_a_subagent_that_is_awake_does_not_die(memory: Memory, clock: FakeClock) -> None:
    """C4: it sleeps first, however late somebody looks."""
    scout = memory.agent(SCOUT)
    late = clock.turn(hours=5)
    assert memory.agents.advance() == LifecycleResult(slept=(scout.id,))
    assert memory.agents.get(scout.id).death_due == late + DEAD


def test_dead_after_is_a_setting(open_memory: OpenMemory, clock: FakeClock) -> None:
    """C4, K1: `collect.dead_after`."""
    memory = open_memory(collect={"dead_after": 10})
    scout = memory.agent(SCOUT)
    memory.end_session(scout)
    assert memory.agents.advance(clock.now + timedelta(seconds=10) - MOMENT).died == ()
    assert memory.agents.advance(clock.now + timedelta(seconds=10)).died == (scout.id,)


def test_a_dead_agent_stays_dead_when_it_is_resolved_again(memory: Memory, clock: FakeClock) -> None:
    """C3, C4: one agent a descriptor, also after its death."""
    scout = memory.agent(SCOUT)
    memory.end_session(scout)
    clock.turn(hours=1)
    memory.agents.advance()
    assert memory.agent(SCOUT).id == scout.id
    assert memory.agent(SCOUT).state == "dead"


# Deadlines are data


def test_deadlines_survive_closing_and_reopening(open_memory: OpenMemory, clock: FakeClock) -> None:
    """C4: a restart loses none of them."""
    first = open_memory()
    scout, alice = first.agent(SCOUT), first.agent(User("cli", "alice", "main"))
    first.end_session(scout)
    newest = first.append(alice, UserMessage("hello"))
    first.close()
    clock.turn(seconds=60)
    second = open_memory()
    assert second.agents.advance().slept == (alice.id,)
    assert second.sessions.list(alice)[0].invalidated_at == newest
    second.close()
    clock.turn(hours=1)
    assert open_memory().agents.advance().died == (scout.id,)


def test_another_process_can_act_on_the_deadlines(open_memory: OpenMemory, clock: FakeClock) -> None:
    """C4: any process, of any user."""
    first, second = open_memory("ours"), open_memory("theirs")
    alice = first.agent(User("cli", "alice", "main"))
    newest = first.append(alice, UserMessage("hello"))
    clock.turn(seconds=30)
    first.append(alice, UserMessage("still here"))
    clock.turn(seconds=30)
    assert second.agents.advance().slept == (), "the other one sees what was heard meanwhile"
    clock.turn(seconds=30)
    assert second.agents.advance() == LifecycleResult(), "what became of another user's agent is not told"
    assert first.agents.get(alice.id).state == "sleeping"
    assert first.sessions.list(alice)[0].invalidated_at == newest + 1


def test_advance_acts_on_the_whole_home_and_tells_of_its_own_user(
    open_memory: OpenMemory, clock: FakeClock
) -> None:
    """C0, C4: not even the ids of another user's agents come out."""
    ours, theirs = open_memory("ours"), open_memory("theirs")
    mine, other = ours.agent(SCOUT), theirs.agent(SCOUT)
    clock.turn(seconds=60)
    assert ours.agents.advance() == LifecycleResult(slept=(mine.id,))
    assert theirs.agents.get(other).state == "sleeping"
    clock.turn(hours=1)
    assert theirs.agents.advance() == LifecycleResult(died=(other.id,))
    assert ours.agents.get(mine).state == "dead"


def test_processes_that_advance_at_once_put_each_agent_to_sleep_once(
    open_memory: OpenMemory, clock: FakeClock
) -> None:
    """C4: the row is taken first, then looked at."""
    memories = [open_memory() for _ in range(4)]
    agents = [memories[0].agent(Task(f"t{number}")).id for number in range(20)]
    clock.turn(seconds=60)
    slept = in_threads(4, lambda number: memories[number].agents.advance().slept)
    assert sorted(agent_id for some in slept for agent_id in some) == sorted(agents)


def test_an_agent_whose_descriptor_cannot_be_read_sleeps_wakes_and_dies_like_any_other(
    memory: Memory, database: Database, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """C4: who it is plays no part in it; what kind it is has a column of its own."""
    scout, other = memory.agent(SCOUT), memory.agent(Task("t"))
    newest = memory.append(scout, Note("found it"))
    database.write(lambda tx: tx.run("UPDATE agents SET descriptor = ? WHERE id = ?", "{broken", scout.id))

    def row(column: str) -> object:
        found = database.read(lambda tx: tx.one(f"SELECT {column} FROM agents WHERE id = ?", scout.id))
        assert found
        return found[0]

    def mark() -> object:
        found = database.read(lambda tx: tx.one("SELECT invalidated_at FROM sessions"))
        assert found
        return found[0]

    clock.turn(seconds=60)
    with caplog.at_level(logging.ERROR, "lifelong.collect"):
        assert sorted(memory.agents.advance().slept) == sorted([scout.id, other.id])
        assert (row("state"), mark()) == ("sleeping", newest)
        memory.append(scout, Note("still here"))
        assert row("state") == "active"
        memory.end_session(scout)
        assert (row("state"), mark()) == ("sleeping", newest + 1)
        clock.turn(hours=1)
        assert memory.agents.advance().died == (scout.id,)
    assert row("state") == "dead"
    assert row("descriptor") == "{broken"
    assert caplog.records == []
    with pytest.raises(AgentDead, match=r"/subagent/s1 is dead"):
        memory.append(scout, Note("too late"))


def test_one_agent_of_an_unknown_kind_does_not_stop_the_others(
    memory: Memory, database: Database, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """C4, O3: a log line says which one was left as it is."""
    agents = sorted(memory.agent(Task(f"t{number}")).id for number in range(3))
    broken = agents[1]
    database.write(lambda tx: tx.run("UPDATE agents SET kind = 'martian' WHERE id = ?", broken))
    clock.turn(seconds=60)
    with caplog.at_level(logging.ERROR, "lifelong.collect"):
        assert memory.agents.advance().slept == (agents[0], agents[2])
    [entry] = caplog.records
    assert entry.levelno == logging.ERROR
    assert broken in entry.getMessage()
    assert "stay as they are" in entry.getMessage()
    assert memory.admin.health().status == "yellow"
    assert "cannot be of the kind 'martian'" in entry.getMessage()
    row = database.read(lambda tx: tx.one("SELECT state, kind FROM agents WHERE id = ?", broken))
    assert row == ("active", "martian")


class Failing:
    """A database whose n-th write fails."""

    def __init__(self, database: Database, number: int, error: StorageError) -> None:
        self._database = database
        self._left = number
        self._error = error

    def read(self, work: Any) -> Any:
        return self._database.read(work)

    def write(self, work: Any) -> Any:
        self._left -= 1
        if self._left == 0:
            raise self._error
        return self._database.write(work)


@pytest.mark.parametrize("kind", [StorageBusy, StorageFull, StorageUnavailable, OutcomeUnknown])
def test_a_database_that_does_not_answer_ends_it(
    memory: Memory,
    database: Database,
    clock: FakeClock,
    caplog: pytest.LogCaptureFixture,
    kind: type[StorageError],
) -> None:
    """C4: waiting as long for each of the others would help nobody; what was done stays done."""
    agents = sorted(memory.agent(Task(f"t{number}")).id for number in range(4))
    failing: Any = Failing(database, 2, kind("no answer"))
    with caplog.at_level(logging.ERROR, "lifelong.collect"), pytest.raises(kind, match="no answer"):
        Lifecycle(failing, idle_after=IDLE, dead_after=DEAD).advance(clock.now + IDLE, "default")
    assert caplog.records == []
    assert [memory.agents.get(agent_id).state for agent_id in agents] == ["sleeping", "active", "active", "active"]
    assert memory.agents.advance(clock.now + IDLE).slept == tuple(agents[1:]), "the next one goes on from there"


@pytest.mark.parametrize("kind", [StorageCorrupt, StorageConflict])
def test_an_agent_that_the_database_refuses_does_not_stop_the_others(
    memory: Memory,
    database: Database,
    clock: FakeClock,
    caplog: pytest.LogCaptureFixture,
    kind: type[StorageError],
) -> None:
    """C4: what is wrong with one row is not wrong with the next."""
    agents = sorted(memory.agent(Task(f"t{number}")).id for number in range(4))
    failing: Any = Failing(database, 2, kind("refused"))
    with caplog.at_level(logging.ERROR, "lifelong.collect"):
        done = Lifecycle(failing, idle_after=IDLE, dead_after=DEAD).advance(clock.now + IDLE, "default")
    assert done.slept == (agents[0], *agents[2:])
    [line] = [entry.getMessage() for entry in caplog.records]
    assert agents[1] in line
    assert "refused" in line


def test_an_agent_that_cannot_be_read_does_not_hide_the_others(memory: Memory, database: Database) -> None:
    """C6 in spirit: one broken row is not fatal to the list of all."""
    good, broken = memory.agent(User("cli", "alice", "main")), memory.agent(Task("t"))
    database.write(lambda tx: tx.run("UPDATE agents SET descriptor = ? WHERE id = ?", "{broken", broken.id))
    assert [agent.id for agent in memory.agents.list()] == [good.id]
    found = memory.agents.find("most-recent-foreground")
    assert found
    assert found.id == good.id


# Memory-agents


def test_a_memory_agent_is_never_marked(
    memory: Memory, alice: Agent, database: Database, clock: FakeClock
) -> None:
    """C9: at none of the four points, or it would feed on itself."""
    agent = memory.agent(MemoryAgent(alice.id))

    def marks() -> list[int | None]:
        return [session.invalidated_at for session in memory.sessions.list(agent)]

    for number in range(8):
        memory.append(agent, AssistantMessage(f"writing {number}"))
    memory.append_many(agent, [AssistantMessage("more")] * 8)
    assert marks() == [None], "append past the threshold"
    memory.sessions.reset(agent)
    assert marks() == [None] * 2, "reset"
    memory.append(agent, AssistantMessage("again"))
    memory.sessions.reset(agent, emergency=True)
    assert marks() == [None] * 3, "emergency reset"
    memory.append(agent, AssistantMessage("again"))
    memory.sessions.compact_context(agent, "what I did")
    assert marks() == [None] * 4, "context compaction"
    memory.end_session(agent)
    assert marks() == [None] * 4, "sleep"
    memory.append(agent, AssistantMessage("awake"))
    memory.agents.advance(clock.now + IDLE)
    assert memory.agents.get(agent.id).state == "sleeping"
    assert marks() == [None] * 5, "sleep by deadline"
    assert database.read(lambda tx: Sessions(tx).find_invalidated(10)) == []
