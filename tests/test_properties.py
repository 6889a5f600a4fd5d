"""Whatever happens in whatever order: nothing is lost, nothing is processed twice (SPEC C8, C9, C10, O2)."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine

from lifelong import Agent, Memory, MemoryAgent, Note, Session, Subagent, User, UserMessage
from lifelong.collect.history import History
from lifelong.collect.sessions import Sessions
from lifelong.errors import AgentDead
from lifelong.storage.base import Transaction
from lifelong.testing import FakeClock
from tests.schemas import Schemas

THRESHOLD = 5

ALICE, BOB, SCOUT, MEMORY = range(4)
any_agent = st.integers(ALICE, MEMORY)
limits = st.integers(1, 8)

T = TypeVar("T")


class Collecting(RuleBasedStateMachine):
    """Agents that speak, sleep, reset and die, and a worker that is sometimes late, partial or stale.

    The worker of the model does what the real one will: find a marked session, load some of what follows its
    position, and move the position with the compare-and-swap. What it moved over counts as processed.
    """

    def storage(self) -> dict[str, Any]:
        return {"synchronous": "normal"}

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.folder = Path(tempfile.mkdtemp(prefix="lifelong-properties-"))
        self.memory = Memory.open(self.folder, clock=self.clock, storage=self.storage())
        self.agents: list[Agent] = []
        self.dead: set[str] = set()
        self.appended: dict[str, list[int]] = {}  # session: ids, in order
        self.processed: list[int] = []
        self.marks: dict[str, int] = {}  # session: the mark as it was seen last
        self.stale: list[Session] = []
        self.keys = 0

    def teardown(self) -> None:
        try:
            self.drain_and_check()
        finally:
            self.memory.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    @initialize()
    def make_agents(self) -> None:
        alice = self.memory.agent(User("cli", "alice", "main"))
        self.agents = [
            alice,
            self.memory.agent(User("cli", "bob", "main")),
            self.memory.agent(Subagent("s", alice.id, "Scout")),
            self.memory.agent(MemoryAgent(alice.id)),
        ]

    # What agents do

    @rule(agent=any_agent, keyed=st.booleans())
    def append(self, agent: int, keyed: bool) -> None:
        self.keys += 1
        key = f"k{self.keys}" if keyed else None

        def call(who: Agent) -> int:
            return self.memory.append(who, UserMessage("hello"), key=key)

        record_id = self.attempt(agent, call)
        if record_id is not None:
            self.acknowledged(agent, [record_id])
            assert not keyed or call(self.agents[agent]) == record_id, "a retry is a no-op"

    @rule(agent=any_agent, count=st.integers(1, 9))
    def append_many(self, agent: int, count: int) -> None:
        ids = self.attempt(agent, lambda who: self.memory.append_many(who, [Note("x")] * count))
        if ids is not None:
            assert len(ids) == count
            self.acknowledged(agent, ids)

    @rule(agent=any_agent)
    def reset(self, agent: int) -> None:
        self.attempt(agent, self.memory.sessions.reset)

    @rule(agent=any_agent)
    def compact_context(self, agent: int) -> None:
        session = self.attempt(agent, lambda who: self.memory.sessions.compact_context(who, "what came before"))
        if session is not None:
            [opening] = self.memory.sessions.history(session)
            self.acknowledged(agent, [opening.id])

    @rule(agent=any_agent)
    def sleep(self, agent: int) -> None:
        self.attempt(agent, self.memory.end_session)
        self.check_asleep(agent)

    @rule(seconds=st.sampled_from([1, 30, 59, 60, 61, 3600]))
    def time_passes(self, seconds: int) -> None:
        self.clock.turn(seconds=seconds)
        done = self.memory.agents.advance()
        self.dead.update(done.died)
        for number, agent in enumerate(self.agents):
            if agent.id in (*done.slept, *done.died):
                self.check_asleep(number)

    # What the worker does

    @rule(limit=limits)
    def work(self, limit: int) -> None:
        for session in self.memory._parts.shared.database.read(lambda tx: Sessions(tx).find_invalidated(3)):
            self.process(session, limit)

    @rule()
    def remember_a_session(self) -> None:
        """What a slow worker has read and will come back with."""
        self.stale += self.memory._parts.shared.database.read(lambda tx: Sessions(tx).find_invalidated(2))

    @precondition(lambda self: self.stale)
    @rule(limit=limits, which=st.integers(0, 50))
    def come_back_late(self, limit: int, which: int) -> None:
        self.process(self.stale.pop(which % len(self.stale)), limit)

    @precondition(lambda self: self.agents)
    @rule(agent=any_agent, limit=limits, count=st.integers(1, 7))
    def records_arrive_while_the_worker_loads(self, agent: int, limit: int, count: int) -> None:
        """Loaded before, swapped after: the records in between are not in what was loaded."""
        marked = self.memory._parts.shared.database.read(lambda tx: Sessions(tx).find_invalidated(1))
        loaded = [(session, self.load(session, limit)) for session in marked]
        self.append_many(agent, count)
        for session, ids in loaded:
            self.swap(session, ids)

    # What always holds

    @invariant()
    def marks_stand_above_what_is_processed_and_only_grow(self) -> None:
        seen: dict[str, int] = {}
        for session in self.sessions():
            if session.invalidated_at is not None:
                assert session.invalidated_at > (session.processed_until or 0)
                assert session.invalidated_at >= self.marks.get(session.id, 0)
                assert session.invalidated_at in self.appended[session.id]
                seen[session.id] = session.invalidated_at
        self.marks = seen

    @invariant()
    def a_session_beyond_the_threshold_is_marked(self) -> None:
        for session in self.sessions():
            waiting = [one for one in self.appended.get(session.id, []) if one > (session.processed_until or 0)]
            if len(waiting) > THRESHOLD and session.invalidated_at is None:
                raise AssertionError(f"{len(waiting)} records wait in {session}")

    @invariant()
    def an_ended_session_waits_for_nobody_unmarked(self) -> None:
        for session in self.sessions():
            if session.ended_at is not None:
                assert not self.unmarked(session)

    @invariant()
    def nothing_is_processed_twice(self) -> None:
        assert len(self.processed) == len(set(self.processed))

    @invariant()
    def a_memory_agent_is_never_marked(self) -> None:
        if self.agents:
            assert {session.invalidated_at for session in self.memory.sessions.list(self.agents[MEMORY])} <= {None}

    # The model

    def drain_and_check(self) -> None:
        """Every agent asleep, every mark worked off: each record was processed exactly once."""
        for number, agent in enumerate(self.agents):
            if agent.id not in self.dead:
                self.memory.end_session(agent)
                self.check_asleep(number)
        for _ in range(1 + sum(map(len, self.appended.values()))):
            for session in self.memory._parts.shared.database.read(lambda tx: Sessions(tx).find_invalidated(10)):
                assert self.process(session, 3), "a fresh look at a session that nobody else touches succeeds"
        assert self.memory._parts.shared.database.read(lambda tx: Sessions(tx).find_invalidated(10)) == []
        expected = [record_id for session in self.sessions() for record_id in self.appended.get(session.id, [])]
        assert sorted(self.processed) == sorted(expected)
        for session in self.sessions():
            found = [recorded.id for recorded in self.memory.sessions.history(session)]
            assert found == self.appended.get(session.id, [])

    def process(self, session: Session, limit: int) -> bool:
        return self.swap(session, self.load(session, limit))

    def load(self, session: Session, limit: int) -> list[int]:
        after = session.processed_until or 0
        stretch = self.memory._parts.shared.database.read(lambda tx: History(tx).load(session.id, after, limit))
        assert stretch.until == (stretch.records[-1].id if stretch.records else after)
        return [recorded.id for recorded in stretch.records]

    def swap(self, session: Session, ids: list[int]) -> bool:
        until = ids[-1] if ids else session.processed_until or 0

        def work(tx: Transaction) -> bool:
            return Sessions(tx).mark_processed(session, until)

        if not self.memory._parts.shared.database.write(work):
            return False
        self.processed += ids
        return True

    def attempt(self, agent: int, call: Callable[[Agent], T]) -> T | None:
        """What the call returns; none where the agent is dead, and only there."""
        who = self.agents[agent]
        try:
            result = call(who)
        except AgentDead:
            assert who.id in self.dead
            return None
        assert who.id not in self.dead
        return result

    def acknowledged(self, agent: int, ids: list[int]) -> None:
        """These records are in the agent's session, after those that were there before."""
        session = self.session(agent)
        expected = self.appended.setdefault(session.id, [])
        expected += ids
        assert expected == sorted(set(expected))
        assert [recorded.id for recorded in self.memory.sessions.history(session)] == expected

    def check_asleep(self, agent: int) -> None:
        for session in self.memory.sessions.list(self.agents[agent]):
            assert agent == MEMORY or not self.unmarked(session), "unprocessed and unmarked after sleep"

    def unmarked(self, session: Session) -> list[int]:
        """The session's records that are neither processed nor marked, unless it is a memory-agent's."""
        if session.agent_id == self.agents[MEMORY].id:
            return []
        done = max(session.processed_until or 0, session.invalidated_at or 0)
        return [record_id for record_id in self.appended.get(session.id, []) if record_id > done]

    def session(self, agent: int) -> Session:
        [session] = [one for one in self.memory.sessions.list(self.agents[agent]) if one.ended_at is None]
        return session

    def sessions(self) -> list[Session]:
        """Those of every agent that is organized."""
        return [session for agent in self.agents[:MEMORY] for session in self.memory.sessions.list(agent)]


def settings_for(examples: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=30,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        print_blob=True,
    )


def test_no_example_has_a_deadline() -> None:
    """How long an example takes is the machine's affair: the whole suite runs beside it."""
    assert settings().deadline is None


def test_any_interleaving_on_sqlite() -> None:
    """C8, C9, C10: none lost, none twice, none unmarked after sleep."""
    run_machine(Collecting, settings=settings_for(80))


def test_any_interleaving_on_postgres(postgres_url: str, schemas: Schemas) -> None:
    """C8, C9, C10: the same on a server, each example in a schema of its own."""

    class OnPostgres(Collecting):
        def storage(self) -> dict[str, Any]:
            self.lent = ExitStack()
            name = self.lent.enter_context(schemas.lent())
            return {"url": postgres_url, "schema_name": name, "pool_size": 2, "synchronous": "normal"}

        def teardown(self) -> None:
            with self.lent:
                super().teardown()

    run_machine(OnPostgres, settings=settings_for(20))


@pytest.mark.parametrize("forget", ["mark", "position"])
def test_the_model_notices_a_lost_or_a_repeated_record(forget: str) -> None:
    """The checks above can fail: take a mark away, or set a position back, and they do."""
    machine = Collecting()
    try:
        machine.make_agents()
        machine.append_many(ALICE, 7)
        if forget == "mark":
            machine.memory.sessions.reset(machine.agents[ALICE])
            machine.memory._parts.shared.database.write(
                lambda tx: tx.run("UPDATE sessions SET invalidated_at = NULL")
            )
            with pytest.raises(AssertionError):
                machine.an_ended_session_waits_for_nobody_unmarked()
        else:
            machine.work(8)
            machine.append_many(ALICE, 7)
            machine.memory._parts.shared.database.write(
                lambda tx: tx.run("UPDATE sessions SET processed_until = NULL")
            )
            machine.work(8)
            with pytest.raises(AssertionError):
                machine.nothing_is_processed_twice()
    finally:
        machine.memory.close()
        shutil.rmtree(machine.folder, ignore_errors=True)
