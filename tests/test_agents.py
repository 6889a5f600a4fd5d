"""One agent a descriptor and user, whoever asks first, and nobody else's (SPEC C0, C2, C3)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from random import Random
from string import ascii_letters

import pytest

from lifelong import (
    Agent,
    App,
    Cron,
    Memory,
    MemoryAgent,
    Note,
    Permanent,
    Session,
    Subagent,
    SystemMessage,
    Task,
    User,
    UserMessage,
)
from lifelong.collect.agents import AgentRow, Agents
from lifelong.collect.descriptors import cache_key
from lifelong.errors import AgentNotFound, InputError, SessionNotFound, StorageCorrupt
from lifelong.storage.base import Database
from lifelong.testing import FakeClock, in_threads
from tests.conftest import OpenMemory

ALICE = User("cli", "alice", "main")

HAN = [chr(code) for code in range(0x4E00, 0x9000)]
"""Characters of three bytes, so many that no index can compress them away."""


def count(database: Database, table: str) -> int:
    row = database.read(lambda tx: tx.one(f"SELECT count(*) FROM {table}"))
    assert row
    return int(row[0])


# Resolving


def test_resolving_twice_gives_the_same_agent(memory: Memory, database: Database) -> None:
    """C3: one agent per (owner, cache key)."""
    first = memory.agent(ALICE)
    assert memory.agent(ALICE) == first
    assert memory.agents.get(first.id) == first
    assert count(database, "agents") == 1


def test_a_new_agent_is_active_and_carries_its_key(memory: Memory, clock: FakeClock) -> None:
    """C3, C4: what an agent is when it is made."""
    agent = memory.agent(ALICE)
    assert (agent.owner, agent.cache_key, agent.descriptor) == ("default", cache_key(ALICE), ALICE)
    assert (agent.state, agent.death_due) == ("active", None)
    assert agent.created_at == agent.active_at == clock.now


def test_resolving_later_changes_neither_state_nor_deadlines(memory: Memory, clock: FakeClock) -> None:
    """C4: only a message wakes an agent."""
    agent = memory.agent(ALICE)
    memory.end_session(agent)
    asleep = memory.agents.get(agent.id)
    clock.turn(hours=5)
    assert memory.agent(ALICE) == asleep


def test_distinct_descriptors_are_distinct_agents(memory: Memory) -> None:
    """C3: also where only a '/' tells them apart."""
    made = [
        memory.agent(User("cli", "a/b", "c")),
        memory.agent(User("cli", "a", "b/c")),
        memory.agent(Task("t")),
        memory.agent(Cron("t")),
    ]
    assert len({agent.id for agent in made}) == len(made)


def test_ten_threads_resolving_one_descriptor_make_one_agent(memory: Memory, database: Database) -> None:
    """C3: racers get the same one."""
    agents = in_threads(10, lambda _: memory.agent(ALICE))
    assert len({agent.id for agent in agents}) == 1
    assert count(database, "agents") == 1


def test_ten_memories_of_one_home_resolving_one_descriptor_make_one_agent(open_memory: OpenMemory) -> None:
    """C3: and so do processes, each with its own connections."""
    memories = [open_memory() for _ in range(10)]
    agents = in_threads(10, lambda number: memories[number].agent(ALICE))
    assert len({agent.id for agent in agents}) == 1
    assert [agent.id for agent in memories[0].agents.list()] == [agents[0].id]


def test_threads_that_race_for_one_memory_agent_make_one(memory: Memory, alice: Agent, database: Database) -> None:
    """C3: one memory-agent per source agent, made lazily."""
    assert count(database, "agents") == 1, "none is made before it is asked for"
    agents = in_threads(10, lambda _: memory.agent(MemoryAgent(alice.id)))
    assert len({agent.id for agent in agents}) == 1
    assert count(database, "agents") == 2


def test_a_changed_name_or_prompt_is_brought_up_to_date(memory: Memory) -> None:
    """C1, C3: what is not part of the key follows the last descriptor."""
    old = memory.agent(Permanent("ada", "Ada", "An engineer", "You are Ada."))
    renamed = Permanent("ada", "Ada L.", "A mathematician", "You are Ada Lovelace.")
    new = memory.agent(renamed)
    assert new.id == old.id
    assert new.descriptor == renamed
    assert memory.agents.get(old.id).descriptor == renamed
    app = App("mail", old.id, "Mail", "Sort.", "com.example")
    assert memory.agent(app).descriptor == app


def test_agents_are_there_after_reopening(open_memory: OpenMemory) -> None:
    """C3: an agent is a row, not an object in memory."""
    first = open_memory()
    agent = first.agent(ALICE)
    first.close()
    assert open_memory().agent(ALICE) == agent


def test_find_gives_an_agent_only_once_it_was_made(memory: Memory, database: Database) -> None:
    """C3: looking makes nothing."""
    assert database.read(lambda tx: Agents(tx).find("default", ALICE)) is None
    agent = memory.agent(ALICE)
    assert database.read(lambda tx: Agents(tx).find("default", ALICE)) == agent
    assert database.read(lambda tx: Agents(tx).find("other", ALICE)) is None


# Memory-agents and their owner


def test_a_memory_agent_belongs_to_its_source_agents_user(memory: Memory, alice: Agent) -> None:
    """C2: the owner is the source agent's user."""
    agent = memory.agent(MemoryAgent(alice.id))
    assert agent.owner == alice.owner == "default"
    assert agent.cache_key == f"/memory-agent/{alice.id}"


def test_a_memory_agent_of_nobody_is_an_error(memory: Memory, database: Database) -> None:
    """C2: its source agent must exist."""
    with pytest.raises(AgentNotFound, match=r"'nobody'.*memory\.agent"):
        memory.agent(MemoryAgent("nobody"))
    assert count(database, "agents") == 0


def test_a_memory_agent_of_another_users_agent_is_an_error(open_memory: OpenMemory) -> None:
    """C0, C2: not even its existence can be told from the answer."""
    theirs = open_memory("theirs").agent(ALICE)
    ours = open_memory("ours")
    with pytest.raises(AgentNotFound, match=f"{theirs.id!r}.*memory.agent"):
        ours.agent(MemoryAgent(theirs.id))
    assert ours.agents.list() == []


def test_a_memory_agent_of_a_memory_agent_is_an_error(memory: Memory, alice: Agent, database: Database) -> None:
    """C2, C9: there is nothing to organize in it."""
    keeper = memory.agent(MemoryAgent(alice.id))
    with pytest.raises(
        InputError, match=rf"/memory-agent/{alice.id} is a memory-agent\. Name the agent whose memory it keeps"
    ):
        memory.agent(MemoryAgent(keeper.id))
    assert count(database, "agents") == 2


# Users


def test_the_same_descriptor_in_two_users_is_two_agents(open_memory: OpenMemory) -> None:
    """C0: `user_id` is an address, not an owner."""
    ours, theirs = open_memory("ours"), open_memory("theirs")
    mine, other = ours.agent(ALICE), theirs.agent(ALICE)
    assert mine.id != other.id
    assert mine.cache_key == other.cache_key
    assert (mine.owner, other.owner) == ("ours", "theirs")


FOREIGN_AGENT: dict[str, Callable[[Memory, Agent], object]] = {
    "get_agent": lambda memory, agent: memory.agents.get(agent),
    "get_agent by id": lambda memory, agent: memory.agents.get(agent.id),
    "history": lambda memory, agent: memory.sessions.history(agent),
    "history by id": lambda memory, agent: memory.sessions.history(agent.id),
    "append": lambda memory, agent: memory.append(agent, Note("mine")),
    "append by id": lambda memory, agent: memory.append(agent.id, Note("mine")),
    "append with a key": lambda memory, agent: memory.append(agent, UserMessage("theirs"), key="k"),
    "append_many": lambda memory, agent: memory.append_many(agent, [Note("mine"), Note("too")]),
    "end_turn": lambda memory, agent: memory.end_turn(agent),
    "reset": lambda memory, agent: memory.sessions.reset(agent, "mine now"),
    "compact_context": lambda memory, agent: memory.sessions.compact_context(agent, "mine now"),
    "sleep": lambda memory, agent: memory.end_session(agent),
    "sessions": lambda memory, agent: memory.sessions.list(agent),
    "transcript": lambda memory, agent: memory.sessions.transcript(agent),
    "transcript by id": lambda memory, agent: memory.sessions.transcript(agent.id),
}

FOREIGN_SESSION: dict[str, Callable[[Memory, Session], object]] = {
    "session": lambda memory, session: memory.sessions.get(session),
    "session by id": lambda memory, session: memory.sessions.get(session.id),
    "history": lambda memory, session: memory.sessions.history(session),
    "history by id": lambda memory, session: memory.sessions.history(session.id),
    "transcript": lambda memory, session: memory.sessions.transcript(session),
    "transcript by id": lambda memory, session: memory.sessions.transcript(session.id),
}


def _rows(database: Database) -> list[object]:
    tables = ("agents", "sessions", "session_history", "turns", "append_keys")
    return database.read(lambda tx: [tx.all(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables])


@pytest.mark.parametrize("call", FOREIGN_AGENT.values(), ids=FOREIGN_AGENT.keys())
def test_another_users_agent_is_unknown(open_memory: OpenMemory, call: Callable[[Memory, Agent], object]) -> None:
    """C0: no call that takes an agent sees or writes another user's."""
    theirs, ours = open_memory("theirs"), open_memory("ours")
    agent = theirs.agent(ALICE)
    theirs.append(agent, UserMessage("theirs"), key="k")
    before = _rows(theirs._parts.shared.database)
    with pytest.raises(AgentNotFound, match=f"{agent.id!r}.*memory.agent"):
        call(ours, agent)
    assert _rows(theirs._parts.shared.database) == before


@pytest.mark.parametrize("call", FOREIGN_SESSION.values(), ids=FOREIGN_SESSION.keys())
def test_another_users_session_is_unknown(
    open_memory: OpenMemory, call: Callable[[Memory, Session], object]
) -> None:
    """C0: nor does any call that takes a session."""
    theirs, ours = open_memory("theirs"), open_memory("ours")
    agent = theirs.agent(ALICE)
    theirs.append(agent, UserMessage("theirs"))
    [session] = theirs.sessions.list(agent)
    with pytest.raises((SessionNotFound, AgentNotFound), match=f"of this user has the id {session.id!r}"):
        call(ours, session)


def test_a_session_that_claims_to_be_ours_is_still_theirs(open_memory: OpenMemory) -> None:
    """C0: what a caller wrote into a value opens nothing."""
    theirs, ours = open_memory("theirs"), open_memory("ours")
    agent, mine = theirs.agent(ALICE), ours.agent(ALICE)
    theirs.append(agent, UserMessage("their secret"))
    [session] = theirs.sessions.list(agent)
    forged = Session(session.id, mine.id, session.created_at, None, None, None, None)
    for call in (ours.sessions.transcript, ours.sessions.history, ours.sessions.get):
        with pytest.raises(SessionNotFound, match=f"{session.id!r}"):
            call(forged)


def test_a_user_lists_and_finds_only_its_own_agents(open_memory: OpenMemory) -> None:
    """C0: listing and finding stay inside."""
    theirs, ours = open_memory("theirs"), open_memory("ours")
    theirs.append(theirs.agent(ALICE), UserMessage("theirs"))
    assert ours.agents.list() == []
    assert ours.agents.find("most-recent-foreground") is None
    mine = ours.agent(Task("t"))
    assert ours.agents.list() == [mine]


def test_two_users_may_use_one_idempotency_key(open_memory: OpenMemory) -> None:
    """C0, C7: a key is the agent's, so no user can tell what another one stored."""
    theirs, ours = open_memory("theirs"), open_memory("ours")
    other = theirs.append(theirs.agent(ALICE), UserMessage("theirs"), key="k")
    agent = ours.agent(ALICE)
    mine = ours.append(agent, UserMessage("ours"), key="k")
    assert mine != other
    assert [
        r.record.text
        for r in ours.sessions.history(ours.sessions.list(agent)[0])
        if isinstance(r.record, UserMessage)
    ] == ["ours"]


# Order


def test_agents_come_with_the_one_heard_from_last_first(memory: Memory, clock: FakeClock) -> None:
    """C2: by what was said last, then by when they were made."""
    first = memory.agent(User("cli", "first", "main"))
    clock.turn(seconds=1)
    second = memory.agent(User("cli", "second", "main"))
    clock.turn(seconds=1)
    third = memory.agent(Task("third"))

    def order() -> list[str]:
        return [agent.id for agent in memory.agents.list()]

    assert order() == [third.id, second.id, first.id]
    memory.append(first, UserMessage("hello"))
    assert order() == [first.id, third.id, second.id]
    memory.append(second, UserMessage("hello"))
    assert order() == [second.id, first.id, third.id]
    memory.sessions.reset(second)
    memory.append(first, UserMessage("again"))
    assert order() == [first.id, second.id, third.id], "what was said in an ended session counts too"


def test_the_most_recent_foreground_agent_is_the_user_heard_from_last(memory: Memory, clock: FakeClock) -> None:
    """C2: `most-recent-foreground` matches `user` only."""
    assert memory.agents.find("most-recent-foreground") is None
    job = memory.agent(Cron("nightly"))
    memory.append(job, SystemMessage("run"))
    assert memory.agents.find("most-recent-foreground") is None
    alice = memory.agent(ALICE)
    clock.turn(seconds=1)
    bob = memory.agent(User("cli", "bob", "main"))
    memory.append(bob, UserMessage("hi"))
    memory.append(alice, UserMessage("hi"))
    for other in (job, memory.agent(Subagent("s", alice.id, "Scout")), memory.agent(MemoryAgent(alice.id))):
        memory.append(other, Note("later than both"))
    found = memory.agents.find("most-recent-foreground")
    assert found
    assert found.id == alice.id
    memory.append(bob, UserMessage("me again"))
    found = memory.agents.find("most-recent-foreground")
    assert found
    assert found.id == bob.id


def test_the_longest_descriptor_that_is_taken_is_taken_by_every_database(memory: Memory) -> None:
    """C1, C3: a key of 2,000 bytes, of a kind that no index can compress away."""
    dice = Random(7)
    parts = ["".join(dice.sample(HAN, 40)) + "".join(dice.choices(ascii_letters, k=302)) for _ in range(3)]
    descriptor = User(*parts)
    agent = memory.agent(descriptor)
    assert len(agent.cache_key) == 2_000
    assert memory.agent(descriptor) == memory.agents.get(agent) == agent
    with pytest.raises(InputError, match=r"are too long together\. Make them shorter"):
        memory.agent(User(parts[0], parts[1], parts[2] + "x"))
    assert memory.agents.list() == [agent]


def test_the_longest_part_that_is_taken_is_taken_by_every_database(memory: Memory) -> None:
    """C1, C3: 500 bytes, whatever the characters."""
    longest = "".join(Random(7).sample(HAN, 166)) + "ab"
    assert len(longest.encode()) == 500
    for descriptor in (Task(longest), Subagent("s", longest, "Scout"), User(*["x" * 500] * 3)):
        agent = memory.agent(descriptor)
        assert memory.agents.get(agent.id) == agent
        assert agent.descriptor == descriptor
    with pytest.raises(InputError, match=r"Task\.id takes 501 bytes; the limit is 500\. Make it shorter"):
        memory.agent(Task(longest + "c"))
    assert len(memory.agents.list()) == 3


# Rows that cannot be read


def break_descriptor(database: Database, agent: Agent) -> None:
    database.write(lambda tx: tx.run("UPDATE agents SET descriptor = ? WHERE id = ?", "{broken", agent.id))


def test_an_agent_that_cannot_be_read_is_left_out_with_a_warning(
    memory: Memory, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """C6 in spirit: one broken row is not fatal to the list of all."""
    good, broken = memory.agent(ALICE), memory.agent(Task("t"))
    break_descriptor(database, broken)
    with caplog.at_level(logging.WARNING, "lifelong.collect"):
        assert memory.agents.list() == [good]
    [line] = [entry.getMessage() for entry in caplog.records]
    assert line.startswith(f"agent {broken.id} is left out: ")
    assert "'{broken'" in line
    assert "memory.agent(descriptor)" in line, "the next step"


def test_an_agent_that_cannot_be_read_does_not_hide_the_one_heard_from_before(
    memory: Memory, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """C2: the strategy finds the last one that can be read."""
    alice, bob = memory.agent(ALICE), memory.agent(User("cli", "bob", "main"))
    memory.append(alice, UserMessage("hi"))
    memory.append(bob, UserMessage("hi, later"))
    break_descriptor(database, bob)
    with caplog.at_level(logging.WARNING, "lifelong.collect"):
        assert memory.agents.find("most-recent-foreground") == alice
    assert any(f"agent {bob.id} is left out" in entry.getMessage() for entry in caplog.records)


def test_a_single_agent_that_cannot_be_read_is_said_to_be_corrupt(memory: Memory, database: Database) -> None:
    """C3: asked for by name, it is not passed over; the error names the next step."""
    agent = memory.agent(ALICE)
    break_descriptor(database, agent)
    with pytest.raises(
        StorageCorrupt, match=r"cannot be read.*resolve the agent again with memory\.agent\(descriptor"
    ):
        memory.agents.get(agent)


def test_resolving_the_descriptor_repairs_the_agents_row(memory: Memory, database: Database) -> None:
    """C3: the next step that the error names works, and it is the same agent with all it said."""
    agent = memory.agent(ALICE)
    newest = memory.append(agent, UserMessage("hello"))
    break_descriptor(database, agent)
    assert memory.agent(ALICE) == agent
    assert memory.agents.get(agent.id) == agent
    assert memory.agents.list() == [agent]
    assert [recorded.id for recorded in memory.sessions.history(agent)] == [newest]
    assert count(database, "agents") == 1


def test_taking_an_agents_row_needs_no_descriptor(memory: Memory, database: Database) -> None:
    """C4: who, whose, what kind and in which state is all a writer asks."""
    agent = memory.agent(ALICE)
    break_descriptor(database, agent)
    standing = AgentRow(agent.id, "default", "user", agent.cache_key, "active")
    assert database.write(lambda tx: Agents(tx).lock([agent.id, "nobody"])) == {agent.id: standing}
    assert database.write(lambda tx: Agents(tx).get_for_update("default", agent.id)) == standing
    with pytest.raises(AgentNotFound, match=f"{agent.id!r}"):
        database.write(lambda tx: Agents(tx).get_for_update("other", agent.id))


def test_an_agent_of_an_unknown_kind_takes_nothing(memory: Memory, database: Database) -> None:
    """C1: what is not known cannot be acted on; the other agents are not touched by it."""
    alice, odd = memory.agent(ALICE), memory.agent(Task("t"))
    database.write(lambda tx: tx.run("UPDATE agents SET kind = 'martian' WHERE id = ?", odd.id))
    for call in (memory.end_session, memory.end_turn, memory.sessions.reset):
        with pytest.raises(StorageCorrupt, match=r"/task/t cannot be of the kind 'martian'.*memory\.agent"):
            call(odd)
    with pytest.raises(StorageCorrupt, match=r"/task/t cannot be of the kind 'martian'.*memory\.agent"):
        memory.append(odd, Note("x"))
    assert memory.append(alice, UserMessage("hello"))
    assert count(database, "session_history") == count(database, "sessions") == 1
