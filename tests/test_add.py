"""`memory.add` (C11): what people have in hand becomes records, of the default agent where none is named."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lifelong import AssistantMessage, Memory, Record, ToolCall, ToolResult, User, UserMessage
from lifelong.errors import AgentNotFound, InputError
from lifelong.testing import FakeClock
from tests.conftest import OpenMemory

ALICE = User("cli", "alice", "main")
MAY = datetime(2025, 5, 3, 9, 30, tzinfo=UTC)


def said(memory: Memory, **which: object) -> list[Record]:
    agent = memory.agent(**which)  # type: ignore[arg-type]
    return [stored.record for stored in memory.sessions.history(agent)]


def test_a_string_is_the_users_word(memory: Memory, clock: FakeClock) -> None:
    """C11: of the default agent, now; its id is one that can be typed, and says how far the record has come."""
    [record] = memory.add("I moved to Lisbon in May.")
    assert record == "r1"
    assert said(memory) == [UserMessage("I moved to Lisbon in May.", at=clock())]
    assert memory.receipt(record).stage == memory.receipt(1).stage
    assert memory.receipt(record).record_id == 1
    assert [hit.text for hit in memory.search("Where did I move?")] == ["I moved to Lisbon in May."]


def test_a_conversation_is_stored_in_order_with_its_tools(memory: Memory) -> None:
    """C11: roles, tool calls, tool results and times are kept."""
    ids = memory.add(
        [
            {"role": "user", "content": "What is the weather?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": '{"city": "Porto"}'}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "Rain."},
            {"role": "assistant", "content": "It rains."},
        ],
        at=MAY,
    )
    assert ids == ["r1", "r2", "r3", "r4"]
    assert said(memory) == [
        UserMessage("What is the weather?", at=MAY),
        ToolCall("weather", {"city": "Porto"}, "c1", at=MAY),
        ToolResult("Rain.", name="weather", call_id="c1", at=MAY),
        AssistantMessage("It rains.", at=MAY),
    ]


def test_an_agent_is_named_by_itself_its_id_or_its_descriptor(memory: Memory) -> None:
    alice = memory.agent(ALICE)
    ids = [*memory.add("one", agent=alice), *memory.add("two", agent=alice.id), *memory.add("three", agent=ALICE)]
    assert ids == ["r1", "r2", "r3"]
    assert len(said(memory, descriptor=ALICE)) == 3
    assert said(memory) == []
    with pytest.raises(AgentNotFound):
        memory.add("x", agent="nobody")
    with pytest.raises(InputError):
        memory.add("x", agent=7)  # type: ignore[arg-type]


def test_the_default_agent_is_one_for_each_user(open_memory: OpenMemory) -> None:
    """C3, C11: the same in every process; its descriptor names the user, as what is learned does."""
    mara, default = open_memory("mara"), open_memory()
    assert mara.agent() == open_memory("mara").agent()
    assert mara.agent().descriptor == User("lifelong", "mara", "main")
    assert default.agent().descriptor == User("lifelong", "user", "main")


def test_reading_makes_no_agent(memory: Memory) -> None:
    """C0: a user begins with the first thing that is stored for it."""
    assert memory.context("hello") == ""
    assert memory.end_turn() is None
    memory.end_session()
    assert memory.agents.list() == []
    memory.add("hello")
    memory.end_session()
    [agent] = memory.agents.list()
    assert agent.state == "sleeping"
    assert agent == memory.agents.find("most-recent-foreground")


def test_a_retry_with_its_key_stores_nothing(memory: Memory) -> None:
    """C7, C11: also of several messages, each of which has a key of its own."""
    messages = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    first = memory.add(messages, key="k")
    assert memory.add(messages, key="k") == first
    assert len(said(memory)) == 2
    with pytest.raises(InputError, match="another record"):
        memory.add("something else", key="k")
    assert len(said(memory)) == 2


def test_all_of_it_is_stored_or_none(memory: Memory) -> None:
    """C11: an unknown shape is an error that shows the nearest known one."""
    with pytest.raises(InputError, match='no "role"'):
        memory.add(["one", {"rôle": "user", "content": "two"}])
    with pytest.raises(InputError, match="NUL"):
        memory.add(["one", "t\0wo"])
    assert memory.agents.list() == [] or said(memory) == []
    assert memory.add([]) == []


def test_a_speaker_is_named_where_the_message_does_not(memory: Memory) -> None:
    memory.add([{"role": "user", "content": "one", "name": "Bob"}, UserMessage("two")], speaker="Mara")
    assert [(record.text, record.speaker) for record in said(memory) if isinstance(record, UserMessage)] == [
        ("one", "Bob"),
        ("two", "Mara"),
    ]


def test_a_key_stands_for_the_whole_list(memory: Memory) -> None:
    """C7, C11: a retry with more, fewer or other messages is refused, and a key of one's own never meets ours."""
    said = ["I like tea.", "I live in Porto.", "I sail."]
    messages = [{"role": "user", "content": text} for text in said]
    ids = memory.add(messages, key="k" * 500)
    assert memory.add(messages, key="k" * 500) == ids
    for other in (messages[:1], messages[:2], [*messages, messages[0]], messages[::-1]):
        with pytest.raises(InputError, match="was used before for another record"):
            memory.add(other, key="k" * 500)
    assert len(memory.add("By itself.", key="k/2")) == 1
    assert len(memory.sessions.history(memory.agent())) == 4


def test_nothing_is_said_in_the_future(memory: Memory, clock: FakeClock) -> None:
    """C11: the error says what to do, and nothing is stored, not even the agent; a fast clock is no mistake."""
    later = clock() + timedelta(days=2)
    with pytest.raises(InputError, match=r"in the future: 2026-02-26.*\. Give the time when it was said"):
        memory.add("The ferry leaves at nine.", at=later)
    assert memory.agents.list() == []
    agent = memory.agent()
    with pytest.raises(InputError, match="in the future"):
        memory.add([UserMessage("First."), UserMessage("Second.", at=later)], agent=agent)
    with pytest.raises(InputError, match="in the future"):
        memory.append(agent, UserMessage("The ferry leaves at nine.", at=later))
    assert memory.list("record") == []
    assert memory.add("The ferry leaves at nine.", at=clock() + timedelta(hours=14))
