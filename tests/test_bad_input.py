"""What cannot be taken: a clear error that names the cause and the next step, and nothing changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from lifelong import (
    Agent,
    AssistantMessage,
    Memory,
    Note,
    Record,
    Subagent,
    SystemMessage,
    Task,
    ToolCall,
    ToolResult,
    User,
    UserMessage,
)
from lifelong.errors import AgentDead, AgentNotFound, InputError, SessionNotFound
from lifelong.storage.base import Database
from lifelong.testing import FakeClock
from tests.conftest import OpenMemory

TABLES = ("agents", "sessions", "session_history", "turns", "append_keys", "lifelong_migrations")

MEGABYTE = 2**20


@pytest.fixture(autouse=True)
def _something_is_there(memory: Memory, alice: Agent) -> None:
    """So that 'nothing changed' has something to say."""
    memory.append(alice, UserMessage("hello"), key="first")
    memory.end_turn(alice)


def rows(database: Database) -> dict[str, list[Any]]:
    """Every row of every table."""
    return database.read(lambda tx: {table: tx.all(f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES})


def nested(depth: int) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for _ in range(depth):
        arguments = {"a": arguments}
    return arguments


class Nowhere(tzinfo):
    """A zone that does not know its own offset."""

    def utcoffset(self, _: datetime | None) -> None:
        return None

    def dst(self, _: datetime | None) -> None:
        return None

    def tzname(self, _: datetime | None) -> str:
        return "nowhere"


def circle() -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    arguments["again"] = arguments
    return arguments


NUL = r"has a NUL character.*Remove it and try again"
SURROGATE = r"has a lone surrogate at position \d+.*Decode it with errors='replace' and try again"
NO_JSON = "which JSON cannot hold. Use text, numbers, lists and objects"
TOO_DEEP = r"ToolCall\.arguments is nested more than 64 levels deep\. Flatten it, or pass it as text"
ZONE = r"Give a datetime with a time zone, e\.g\. datetime\.now\(UTC\)"

BAD_RECORDS: dict[str, tuple[Any, str]] = {
    "NUL in a user's text": (UserMessage("a\0b"), rf"UserMessage\.text {NUL}"),
    "NUL in a speaker": (AssistantMessage("a", "\0"), rf"AssistantMessage\.speaker {NUL}"),
    "NUL in a tool's name": (ToolCall("\0"), rf"ToolCall\.name {NUL}"),
    "NUL in a call id": (ToolResult("x", call_id="\0"), rf"ToolResult\.call_id {NUL}"),
    "NUL in arguments": (ToolCall("t", {"a": ["\0"]}), rf"A text in ToolCall\.arguments {NUL}"),
    "NUL in the name of an argument": (ToolCall("t", {"\0": 1}), rf"A key in ToolCall\.arguments {NUL}"),
    "NUL after a backslash": (ToolCall("t", {"a": "\\\0"}), rf"A text in ToolCall\.arguments {NUL}"),
    "lone surrogate": (Note("a\ud83d"), rf"Note\.text {SURROGATE}"),
    "lone low surrogate": (SystemMessage("\udc00 b"), rf"SystemMessage\.text {SURROGATE}"),
    "surrogates as a pair": (Note("\ud83d\ude00"), rf"Note\.text {SURROGATE}"),
    "lone surrogate in arguments": (
        ToolCall("t", {"a": {"b": "\ud800"}}),
        rf"A text in ToolCall\.arguments {SURROGATE}",
    ),
    "lone surrogate in the name of an argument": (
        ToolCall("t", {"a": {"\ud800": 1}}),
        rf"A key in ToolCall\.arguments {SURROGATE}",
    ),
    "10 MB of text": (
        UserMessage("x" * 10 * MEGABYTE),
        r"UserMessage\.text has 10,485,760 characters; the limit is 1,000,000\. Split it, or raise "
        r"collect\.max_record_chars",
    ),
    "a speaker of a whole text": (
        UserMessage("x", speaker="x" * 100_000),
        r"UserMessage\.speaker has 100,000 characters; the limit is 200\. Make it shorter",
    ),
    "an assistant's name that is too long": (
        AssistantMessage("x", "x" * 201),
        r"AssistantMessage\.speaker has 201",
    ),
    "the name of a note's writer that is too long": (Note("x", "x" * 201), r"Note\.speaker has 201 characters"),
    "10 MB of arguments": (
        ToolCall("t", {"a": ["x" * 900_000] * 10}),
        r"ToolCall\.arguments is longer than 1,000,000 characters\. Split it, or raise collect\.max_record_chars",
    ),
    "10 MB in one argument": (
        ToolCall("t", {"a": ["x" * 10 * MEGABYTE]}),
        r"A text in ToolCall\.arguments has 10,485,760 characters; the limit is 1,000,000\. Split it, or raise",
    ),
    "10 MB of a call's id": (ToolResult("x", call_id="x" * 10 * MEGABYTE), r"ToolResult\.call_id has 10,485,760"),
    "arguments nested too deep": (ToolCall("t", nested(100_000)), TOO_DEEP),
    "arguments nested one level too deep": (ToolCall("t", nested(64)), TOO_DEEP),
    "arguments in a circle": (ToolCall("t", circle()), TOO_DEEP),
    "bytes as an argument": (
        ToolCall("t", {"a": b"x"}),  # type: ignore[dict-item]
        rf"ToolCall\.arguments holds b'x', {NO_JSON}",
    ),
    "a set as an argument": (
        ToolCall("t", {"a": {1}}),  # type: ignore[dict-item]
        rf"ToolCall\.arguments holds \{{1\}}, {NO_JSON}",
    ),
    "a time as an argument": (
        ToolCall("t", {"a": datetime.now(UTC)}),  # type: ignore[dict-item]
        rf"ToolCall\.arguments holds datetime\.datetime\(.*, {NO_JSON}",
    ),
    "a mapping that JSON does not know as an argument": (
        ToolCall("t", {"a": MappingProxyType({"x": b"x"})}),  # type: ignore[dict-item]
        rf"ToolCall\.arguments holds b'x', {NO_JSON}",
    ),
    "a pair as an argument's name": (
        ToolCall("t", {(1, 2): 3}),  # type: ignore[dict-item]
        r"A key in ToolCall\.arguments must be text, not tuple\. Pass a str",
    ),
    "a number as an argument's name": (
        ToolCall("t", {"a": {1: 2}}),  # type: ignore[dict-item]
        r"A key in ToolCall\.arguments must be text, not int\. Pass a str",
    ),
    "not a number": (ToolCall("t", {"a": math.nan}), rf"ToolCall\.arguments holds nan, {NO_JSON}"),
    "infinity": (ToolCall("t", {"a": [math.inf]}), rf"ToolCall\.arguments holds inf, {NO_JSON}"),
    "a number of more digits than Python writes": (ToolCall("t", {"a": 10**5_000}), r"ToolCall\.arguments"),
    "arguments as a list": (
        ToolCall("t", [1]),  # type: ignore[arg-type]
        r"ToolCall\.arguments must be a mapping, not list\. Pass a mapping",
    ),
    "arguments as text": (
        ToolCall("t", "{}"),  # type: ignore[arg-type]
        r"ToolCall\.arguments must be a mapping, not str\. Pass a mapping",
    ),
    "no arguments": (
        ToolCall("t", None),  # type: ignore[arg-type]
        r"ToolCall\.arguments must be a mapping, not NoneType\. Pass a mapping",
    ),
    "text that is bytes": (Note(b"x"), r"Note\.text must be text, not bytes\. Pass text"),  # type: ignore[arg-type]
    "text that is none": (
        UserMessage(None),  # type: ignore[arg-type]
        r"UserMessage\.text must be text, not NoneType\. Pass text",
    ),
    "a speaker that is a number": (
        UserMessage("x", 7),  # type: ignore[arg-type]
        r"UserMessage\.speaker must be text, not int\. Pass text",
    ),
    "a flag that is a number": (
        ToolResult("x", failed=2),  # type: ignore[arg-type]
        r"ToolResult\.failed must be a bool, not int\. Pass a bool",
    ),
    "a flag that is text": (
        SystemMessage("x", "yes"),  # type: ignore[arg-type]
        r"SystemMessage\.summary must be a bool, not str\. Pass a bool",
    ),
    "a naive time": (
        Note("x", at=datetime(2026, 1, 1)),  # noqa: DTZ001
        rf"Note\.at cannot be datetime\.datetime\(2026, 1, 1, 0, 0\)\. {ZONE}",
    ),
    "a time in a zone that knows no offset": (
        Note("x", at=datetime(2026, 1, 1, tzinfo=Nowhere())),
        rf"Note\.at cannot be datetime\.datetime\(2026.*\. {ZONE}",
    ),
    "a date": (
        Note("x", at=date(2026, 1, 1)),  # type: ignore[arg-type]
        rf"Note\.at cannot be datetime\.date\(2026, 1, 1\)\. {ZONE}",
    ),
    "a time as text": (
        Note("x", at="2026-01-01"),  # type: ignore[arg-type]
        rf"Note\.at cannot be '2026-01-01'\. {ZONE}",
    ),
    "a time that UTC does not have": (
        Note("x", at=datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))),
        r"Note\.at is out of range in UTC: 0001-01-01T00:00:00\+05:00\. Give a later one\.",
    ),
    "a time that zones west of UTC do not have": (
        Note("x", at=datetime(1, 1, 1, tzinfo=UTC)),
        r"Note\.at is out of range: 0001-01-01T00:00:00\+00:00\. Give a later one\.",
    ),
    "an unknown provenance": (
        Note("x", provenance="martian"),  # type: ignore[arg-type]
        "Unknown provenance 'martian'. Use one of: agent, system, tool, user, web",
    ),
    "no provenance": (Note("x", provenance=None), "Unknown provenance None. Use one of: agent"),  # type: ignore[arg-type]
    "a list as provenance": (Note("x", provenance=[]), r"Unknown provenance \[\]. Use one of: agent"),  # type: ignore[arg-type]
    "text instead of a record": ("hello", "'hello' is not a record. Use one of: UserMessage, AssistantMessage"),
    "none instead of a record": (None, "None is not a record. Use one of: UserMessage"),
    "a mapping instead of a record": ({"text": "x"}, "is not a record. Use one of: UserMessage"),
    "a kind instead of a record": (Note, "is not a record. Use one of: UserMessage"),
    "a descriptor instead of a record": (Task("t"), "is not a record. Use one of: UserMessage"),
}


@pytest.mark.parametrize(("record", "message"), BAD_RECORDS.values(), ids=BAD_RECORDS.keys())
def test_a_bad_record_is_refused_and_changes_nothing(
    memory: Memory, alice: Agent, database: Database, record: Record, message: str
) -> None:
    """C6, C7, C10: before the first write, alone or in a batch."""
    before = rows(database)
    with pytest.raises(InputError, match=message):
        memory.append(alice, record)
    with pytest.raises(InputError, match=message):
        memory.append_many(alice, [Note("good"), record])
    assert rows(database) == before
    assert memory.append(alice, Note("good")), "and the next one is taken"


@pytest.mark.parametrize(
    ("arguments", "step"),
    [
        ({"a": math.nan}, "Use text, numbers, lists and objects"),
        ({"a": b"x" * MEGABYTE}, "Use text, numbers, lists and objects"),
        (nested(100_000), "Flatten it, or pass it as text"),
        ([1], "Pass a mapping"),
    ],
)
def test_arguments_that_json_cannot_say_are_refused_with_the_next_step(
    memory: Memory, alice: Agent, arguments: Mapping[str, Any], step: str
) -> None:
    """C7: the message says which field, and what would do."""
    with pytest.raises(InputError, match=rf"ToolCall\.arguments.*{step}") as caught:
        memory.append(alice, ToolCall("t", arguments))
    assert len(str(caught.value)) < 500


def test_arguments_nested_as_deep_as_is_allowed_come_back(memory: Memory, alice: Agent) -> None:
    """C6: 64 levels, of mappings or of lists."""
    lists: Any = []
    for _ in range(62):
        lists = [lists]
    said = [ToolCall("t", nested(63)), ToolCall("t", {"a": lists})]
    memory.append_many(alice, said)
    assert [recorded.record for recorded in memory.sessions.history(alice)][1:] == [
        replace(record, at=memory.sessions.history(alice)[0].at) for record in said
    ]


def test_a_mapping_in_arguments_comes_back_as_one(memory: Memory, alice: Agent) -> None:
    """C6: whatever kind of mapping it was, at any depth."""
    memory.append(alice, ToolCall("t", MappingProxyType({"a": MappingProxyType({"x": 1})})))  # type: ignore[dict-item]
    record = memory.sessions.history(alice)[-1].record
    assert isinstance(record, ToolCall)
    assert record.arguments == {"a": {"x": 1}}


def test_ten_megabytes_are_taken_where_the_setting_allows_them(open_memory: OpenMemory) -> None:
    """K1: the next step that the error names works."""
    memory = open_memory(collect={"max_record_chars": 10 * MEGABYTE})
    agent = memory.agent(Task("t"))
    text = ("Grüße aus Köln, " * MEGABYTE)[: 10 * MEGABYTE]
    memory.append(agent, Note(text))
    [recorded] = memory.sessions.history(memory.sessions.list(agent)[0])
    assert recorded.record == Note(text, at=recorded.at)


def test_a_long_wrong_thing_does_not_make_a_long_message(memory: Memory, alice: Agent) -> None:
    """C7: an error is a sentence, not a dump."""
    with pytest.raises(InputError) as caught:
        memory.append(alice, ["x" * MEGABYTE])  # type: ignore[arg-type]
    assert len(str(caught.value)) < 500
    with pytest.raises(InputError) as caught:
        memory.agent(["x" * MEGABYTE])  # type: ignore[arg-type]
    assert len(str(caught.value)) < 500


# Keys


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("", "The key must not be empty"),
        ("  ", "The key must not be empty"),
        ("a\0", f"The key {NUL}"),
        ("\udfff", f"The key {SURROGATE}"),
        ("k" * 501, r"The key takes 501 bytes; the limit is 500\. Make it shorter"),
        ("k" * 499 + "é", r"The key takes 501 bytes; the limit is 500\. Make it shorter"),
        (7, "The key must be text, not int"),
        (b"k", "The key must be text, not bytes"),
    ],
)
def test_a_bad_key_is_refused_and_changes_nothing(
    memory: Memory, alice: Agent, database: Database, key: str, message: str
) -> None:
    """C7: before the first write."""
    before = rows(database)
    with pytest.raises(InputError, match=message):
        memory.append(alice, Note("x"), key=key)
    with pytest.raises(InputError, match=message):
        memory.append_many(alice, [Note("x"), Note("y")], keys=["good", key])
    for agent in (alice, Task("new")):
        with pytest.raises(InputError, match=message):
            memory.add("x", agent=agent, key=key)
    assert rows(database) == before


def test_a_key_that_is_too_long_is_not_told_to_raise_a_setting_that_does_not_help(
    memory: Memory, alice: Agent
) -> None:
    """C7: `collect.max_record_chars` has nothing to do with it."""
    for key in ("k" * 501, "é" * 251):
        with pytest.raises(InputError) as caught:
            memory.append(alice, Note("x"), key=key)
        assert "max_record_chars" not in str(caught.value)


# Agents and sessions


ON_AN_AGENT: dict[str, Callable[[Memory, Any], object]] = {
    "append": lambda memory, agent: memory.append(agent, Note("x")),
    "append with a key": lambda memory, agent: memory.append(agent, Note("x"), key="k"),
    "append_many": lambda memory, agent: memory.append_many(agent, [Note("x"), Note("y")]),
    "end_turn": lambda memory, agent: memory.end_turn(agent),
    "reset": lambda memory, agent: memory.sessions.reset(agent),
    "compact_context": lambda memory, agent: memory.sessions.compact_context(agent, "summary"),
    "end_session": lambda memory, agent: memory.end_session(agent),
    "agents.get": lambda memory, agent: memory.agents.get(agent),
    "sessions": lambda memory, agent: memory.sessions.list(agent),
    "history": lambda memory, agent: memory.sessions.history(agent),
    "transcript": lambda memory, agent: memory.sessions.transcript(agent),
}
READS = {"agents.get", "sessions", "history", "transcript"}


@pytest.mark.parametrize("call", ON_AN_AGENT.values(), ids=ON_AN_AGENT.keys())
def test_an_unknown_agent_is_a_clear_error(
    memory: Memory, database: Database, call: Callable[[Memory, Any], object]
) -> None:
    """C7: whoever asks, and nothing changed."""
    before = rows(database)
    for agent_id in ("nobody", "../alice", "' OR 1=1 --", "x" * 1_000):
        with pytest.raises(AgentNotFound, match=r"o agent of this user has the id.*memory\.agent\(descriptor"):
            call(memory, agent_id)
    assert rows(database) == before


@pytest.mark.parametrize("call", ON_AN_AGENT.values(), ids=ON_AN_AGENT.keys())
@pytest.mark.parametrize(
    ("agent_id", "message"),
    [
        ("a\0b", NUL),
        ("a\ud800", SURROGATE),
        ("", r"must not be empty\. Give it at least one visible character"),
        (" \n", r"must not be empty\. Give it at least one visible character"),
        ("x" * 10_000, r"takes 10,000 bytes; the limit is 1,000\. Make it shorter"),
        ("é" * 501, r"takes 1,002 bytes; the limit is 1,000\. Make it shorter"),
    ],
    ids=["NUL", "lone surrogate", "empty", "blank", "too long", "too many bytes"],
)
def test_an_agent_id_that_no_database_could_hold_is_our_error_too(
    memory: Memory, database: Database, call: Callable[[Memory, Any], object], agent_id: str, message: str
) -> None:
    """C7: the same on every database, and never one of the driver's."""
    before = rows(database)
    with pytest.raises(InputError, match=f"An id {message}"):
        call(memory, agent_id)
    assert rows(database) == before


@pytest.mark.parametrize("call", ON_AN_AGENT.values(), ids=ON_AN_AGENT.keys())
def test_what_is_neither_an_agent_nor_an_id_is_a_clear_error(
    memory: Memory, database: Database, call: Callable[[Memory, Any], object]
) -> None:
    """C7: with the way to get one."""
    before = rows(database)
    for wrong in (7, b"alice", Task("t"), ["alice"]):
        with pytest.raises(
            InputError,
            match=r"is not an agent, a session or the id of one\. Get an agent with memory\.agent\(",
        ):
            call(memory, wrong)
    assert rows(database) == before


ON_A_SESSION: dict[str, Callable[[Memory, Any], object]] = {
    "session": lambda memory, wrong: memory.sessions.get(wrong),
    "history": lambda memory, wrong: memory.sessions.history(wrong),
    "transcript": lambda memory, wrong: memory.sessions.transcript(wrong),
}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (None, "None is not an agent, a session or the id of one"),
        (7, "7 is not an agent, a session or the id of one"),
        (b"x", "b'x' is not an agent, a session or the id of one"),
        ("a\0b", f"An id {NUL}"),
        ("a\ud800", f"An id {SURROGATE}"),
        ("", "An id must not be empty"),
    ],
    ids=["none", "a number", "bytes", "NUL", "lone surrogate", "empty"],
)
@pytest.mark.parametrize("call", ON_A_SESSION.values(), ids=ON_A_SESSION.keys())
def test_what_is_no_session_is_a_clear_error(
    memory: Memory, call: Callable[[Memory, Any], object], wrong: object, message: str
) -> None:
    """C5: the same on every database."""
    with pytest.raises(InputError, match=message):
        call(memory, wrong)


def test_an_id_that_nothing_has_is_unknown(memory: Memory, alice: Agent) -> None:
    """C5, C7: where an agent or a session will do, it is neither."""
    with pytest.raises(SessionNotFound, match=r"the id 'nothing'.*List them with memory\.sessions\.list\(agent\)"):
        memory.sessions.get("nothing")
    with pytest.raises(SessionNotFound, match="No session of this user"):
        memory.sessions.get(alice.id)
    for call in (memory.sessions.history, memory.sessions.transcript):
        with pytest.raises(AgentNotFound, match=r"the id 'nothing'.*Get one with memory\.agent\(descriptor\)"):
            call("nothing")
    with pytest.raises(AgentNotFound, match="No agent of this user"):
        memory.agents.get(memory.sessions.list(alice)[0].id)


@pytest.mark.parametrize("wrong", ["", "least-recent", "user", None, 7, ["most-recent-foreground"]], ids=repr)
def test_an_unknown_strategy_is_refused_with_those_there_are(memory: Memory, wrong: Any) -> None:
    """C2: finding nobody would hide the mistake."""
    with pytest.raises(InputError, match=r"Unknown strategy .+\. Use one of: most-recent-foreground\."):
        memory.agents.find(wrong)


@pytest.mark.parametrize("name", sorted(ON_AN_AGENT.keys() - READS))
def test_a_dead_agent_is_a_clear_error(memory: Memory, database: Database, clock: FakeClock, name: str) -> None:
    """C4: nothing changed, and what was said before can still be read."""
    scout = memory.agent(Subagent("s", "parent", "Scout"))
    memory.append(scout, Note("found it"))
    memory.end_session(scout)
    clock.turn(hours=1)
    assert memory.agents.advance().died == (scout.id,)
    before = rows(database)
    with pytest.raises(AgentDead, match=r"/subagent/s is dead and takes no more messages\. Make a new one under"):
        ON_AN_AGENT[name](memory, scout)
    assert rows(database) == before
    assert "found it" in memory.sessions.transcript(scout)


def test_bad_words_for_reset_and_compaction_change_nothing(
    memory: Memory, alice: Agent, database: Database
) -> None:
    """C9: the same checks as for a record."""
    before = rows(database)
    for bad, message in (("a\0", NUL), ("\ud800", SURROGATE), ("x" * 10 * MEGABYTE, "has 10,485,760 characters")):
        with pytest.raises(InputError, match=f"The reset message {message}"):
            memory.sessions.reset(alice, bad)
        with pytest.raises(InputError, match=f"The summary {message}"):
            memory.sessions.compact_context(alice, bad)
    with pytest.raises(InputError, match="The summary must be text, not int"):
        memory.sessions.compact_context(alice, 7)  # type: ignore[arg-type]
    assert rows(database) == before


@pytest.mark.parametrize("name", ["about", "matching"])
def test_words_to_forget_by_that_nothing_could_hold_are_refused(
    memory: Memory, database: Database, name: str
) -> None:
    """S6: before anything is looked for. A long text would keep everybody waiting who writes."""
    before = rows(database)
    wrong: list[tuple[Any, str]] = [("Mara\ud800", SURROGATE), ("a\0b", NUL), (7, "must be text, not int")]
    for bad, message in (*wrong, ("hello " * 200, "takes 1,200 bytes")):
        with pytest.raises(InputError, match=message):
            memory.forget(**{name: bad})
    assert rows(database) == before


@pytest.mark.parametrize("wrong", ["now", 1_700_000_000, date(2026, 1, 1), datetime(2026, 1, 1)])  # noqa: DTZ001
def test_advance_to_what_is_no_time_is_refused(memory: Memory, database: Database, wrong: Any) -> None:
    """C4: with an example of what would do."""
    before = rows(database)
    with pytest.raises(InputError, match=rf"now cannot be .+\. {ZONE}"):
        memory.agents.advance(wrong)
    assert rows(database) == before


@pytest.mark.parametrize("descriptor", [User("cli", "", "main"), Task("\0"), Task("\ud800"), "alice", 7])
def test_a_bad_descriptor_changes_nothing(memory: Memory, database: Database, descriptor: Any) -> None:
    """C1: refused before the first write."""
    before = rows(database)
    with pytest.raises(InputError):
        memory.agent(descriptor)
    assert rows(database) == before


# Users


PROFILES = {
    "empty": "",
    "a path": "a/b",
    "a path up": "../other",
    "dots": "..",
    "a dot": ".",
    "absolute": "/etc",
    "a backslash": "a\\b",
    "a drive": "c:",
    "upper case": "Alice",
    "a space": "a b",
    "a leading dash": "-a",
    "a leading underscore": "_a",
    "a line end": "alice\n",
    "NUL": "a\0",
    "lone surrogate": "a\ud800",
    "not ASCII": "zoë",
    "a digit that is not ASCII": "a\u0661",
    "too long": "a" * 65,
    "none": None,
    "a number": 7,
    "bytes": b"alice",
}


@pytest.mark.parametrize("name", PROFILES.values(), ids=PROFILES.keys())
def test_a_bad_user_name_is_refused_and_makes_no_home(tmp_path: Path, name: Any) -> None:
    """S3, K3: a name never leaves its folder, and two never differ by case alone."""
    home = tmp_path / "new"
    with pytest.raises(
        InputError, match=r"cannot name a user\. Use 1 to 64 lower-case letters, digits, '_' and '-', starting"
    ):
        Memory.open(home, name)
    assert not home.exists()


@pytest.mark.parametrize("name", ["a", "0", "default", "team-1_x", "a" * 64])
def test_a_good_user_name_is_taken(open_memory: OpenMemory, name: str) -> None:
    """K3: and keeps its own agents."""
    memory = open_memory(name)
    assert memory.agent(Task("t")).owner == name
    assert memory.home.user_folder(name) == memory.home.path / "users" / name
