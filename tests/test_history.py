"""What was said: written once, kept as it was, read after an id (SPEC C6, C7, C8)."""

from __future__ import annotations

import dataclasses
import json
import logging
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lifelong import (
    Agent,
    AssistantMessage,
    Memory,
    Note,
    Record,
    StoredRecord,
    Subagent,
    SystemMessage,
    Task,
    ToolCall,
    ToolResult,
    User,
    UserMessage,
)
from lifelong.collect.history import History, RecordPage, from_row, to_row
from lifelong.errors import AgentDead, InputError
from lifelong.redaction import find_secrets
from lifelong.storage.base import Database
from lifelong.testing import FakeClock, in_threads
from lifelong.types import to_micros
from tests.conftest import OpenMemory

SAID = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
UNICODE = "Grüße 学 \U0001f600 'quoted' \"twice\" \\ %s ? \r\n\t\x01\u2028 \\u0000"

EVERY_RECORD: list[Record] = [
    UserMessage("hello"),
    UserMessage(UNICODE, "Ada", provenance="web", at=SAID),
    UserMessage(""),
    AssistantMessage("hi"),
    AssistantMessage(UNICODE, "Bob", provenance="system", at=SAID),
    ToolCall("search"),
    ToolCall(
        UNICODE,
        {"text": UNICODE, UNICODE: [1, 2.5, True, None, {"deep": [[]]}], "big": 2**70, "empty": {}},
        "call-1",
        provenance="user",
        at=SAID,
    ),
    ToolResult("42"),
    ToolResult(UNICODE, "search", "call-1", True, provenance="web", at=SAID),
    Note("a remark"),
    Note(UNICODE, provenance="user", at=SAID),
    SystemMessage("boot"),
    SystemMessage(UNICODE, True, provenance="agent", at=SAID),
]


def session_of(memory: Memory, agent: Agent) -> str:
    [session] = [session for session in memory.sessions.list(agent) if session.ended_at is None]
    return session.id


def history_of(memory: Memory, agent: Agent) -> list[StoredRecord]:
    return memory.sessions.history(session_of(memory, agent))


def texts(records: list[StoredRecord]) -> list[str]:
    return [recorded.record.text for recorded in records if not isinstance(recorded.record, ToolCall)]


def count(database: Database, table: str) -> int:
    row = database.read(lambda tx: tx.one(f"SELECT count(*) FROM {table}"))
    assert row
    return int(row[0])


# Round trip


@pytest.mark.parametrize("record", EVERY_RECORD, ids=lambda record: record.type)
def test_every_record_comes_back_as_it_was_said(
    memory: Memory, alice: Agent, clock: FakeClock, record: Record
) -> None:
    """C6: each type, with provenance, speaker, time, arguments and any text."""
    record_id = memory.append(alice, record)
    [recorded] = history_of(memory, alice)
    said = record.at or clock.now
    assert recorded == StoredRecord(
        record_id, session_of(memory, alice), said, clock.now, dataclasses.replace(record, at=said)
    )
    assert type(recorded.record) is type(record)


def test_every_record_has_the_provenance_of_its_type() -> None:
    """C6: who said it, where the caller does not say."""
    said: list[Record] = [
        UserMessage(""),
        AssistantMessage(""),
        ToolCall(""),
        ToolResult(""),
        Note(""),
        SystemMessage(""),
    ]
    assert {record.type: record.provenance for record in said} == {
        "user_message": "user",
        "assistant_message": "agent",
        "tool_call": "agent",
        "tool_result": "tool",
        "note": "agent",
        "system_message": "system",
    }


@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\0")), speaker=st.sampled_from(["", "Ada"]))
def test_any_text_comes_back(text: str, speaker: str) -> None:
    """C6: written and read, whatever it holds but secrets."""
    record = UserMessage(text, speaker, at=SAID)
    assume(find_secrets(text).text == text)
    recorded = from_row((1, "s", *_columns(to_row(record, to_micros(SAID), 1_000_000))))
    assert recorded
    assert recorded.record == record


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "ü", "\\u0000"]), inner),
    max_leaves=8,
)


@given(arguments=st.dictionaries(st.sampled_from(["x", "y", "\\"]), json_values))
def test_any_arguments_come_back(arguments: dict[str, object]) -> None:
    """C6: what JSON can say."""
    record = ToolCall("t", arguments, at=SAID)  # type: ignore[arg-type]
    recorded = from_row((1, "s", *_columns(to_row(record, to_micros(SAID), 1_000_000))))
    assert recorded
    assert recorded.record == record


def _columns(written: tuple[str, str, int, str]) -> tuple[str, str, int, int, str]:
    kind, provenance, at, data = written
    return kind, provenance, at, 0, data


def test_a_time_in_another_zone_is_the_same_instant(memory: Memory, alice: Agent) -> None:
    """C6: times are kept in UTC, to the microsecond."""
    there = SAID.astimezone(timezone(timedelta(hours=5, minutes=45)))
    memory.append(alice, Note("from Kathmandu", at=there))
    [recorded] = history_of(memory, alice)
    assert recorded.at == SAID
    assert recorded.at.tzinfo is UTC


@pytest.mark.parametrize(
    "at",
    [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1969, 7, 20, 20, 17, 40, 123457, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-5))),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))),
    ],
    ids=["year 1", "before 1970", "year 9999", "beyond 9999 in UTC", "before year 1 in UTC"],
)
def test_a_record_that_is_taken_can_be_read_whatever_its_time(memory: Memory, alice: Agent, at: datetime) -> None:
    """C6, C10: a time that could not be read back is refused, not stored and lost."""
    try:
        memory.append(alice, Note("long ago or far away", at=at))
    except InputError:
        return
    [recorded] = history_of(memory, alice)
    assert recorded.at == at


def test_a_record_that_is_taken_can_be_read_however_deep_the_reader_stands(memory: Memory, alice: Agent) -> None:
    """C6, C10: arguments nested so deep that only a shallow stack could read them are refused."""
    stored = 0
    for depth in (50, 63, 100, 200, 400, 800, 900, 940):
        arguments: dict[str, object] = {}
        for _ in range(depth):
            arguments = {"a": arguments}
        try:
            memory.append(alice, ToolCall("deep", arguments))  # type: ignore[arg-type]
        except InputError:
            break
        stored += 1

    def read_from(frames: int) -> int:
        return read_from(frames - 1) if frames else len(history_of(memory, alice))

    assert stored == 2, "64 levels at most"
    assert read_from(300) == stored


# Appending


def test_the_first_append_creates_a_session(memory: Memory, alice: Agent, clock: FakeClock) -> None:
    """C7: a missing active session is created."""
    assert memory.sessions.list(alice) == []
    memory.append(alice, UserMessage("hello"))
    [session] = memory.sessions.list(alice)
    assert (session.agent_id, session.created_at, session.ended_at) == (alice.id, clock.now, None)
    memory.append(alice, UserMessage("again"))
    assert memory.sessions.list(alice) == [session]


def test_an_append_returns_an_id_that_history_knows(open_memory: OpenMemory) -> None:
    """C7: and that another connection sees at once, since it is durable."""
    here, there = open_memory(), open_memory()
    agent = here.agent(User("cli", "alice", "main"))
    record_id = here.append(agent.id, UserMessage("hello"))
    assert [recorded.id for recorded in history_of(there, agent)] == [record_id]


def test_ids_grow_strictly_across_all_sessions(memory: Memory, alice: Agent) -> None:
    """C5: one sequence for the whole home."""
    other = memory.agent(Task("t"))
    ids = []
    for number in range(6):
        ids.append(memory.append(alice if number % 2 else other, Note(f"{number}")))
        ids += memory.append_many(other, [Note("a"), Note("b")])
        memory.sessions.reset(alice)
    assert all(earlier < later for earlier, later in pairwise(ids))


def test_ids_are_not_used_again_after_the_newest_record_is_gone(
    memory: Memory, alice: Agent, database: Database
) -> None:
    """C5: a mark that names an id can never come to mean another record."""
    newest = memory.append_many(alice, [Note("a"), Note("b")])[-1]
    database.write(lambda tx: tx.run("DELETE FROM session_history WHERE id = ?", newest))
    assert memory.append(alice, Note("c")) > newest


def test_append_many_keeps_the_order_and_returns_every_id(memory: Memory, alice: Agent) -> None:
    """C7: a batch."""
    ids = memory.append_many(alice, [Note(f"{number}") for number in range(30)])
    recorded = history_of(memory, alice)
    assert [record.id for record in recorded] == ids == sorted(set(ids))
    assert texts(recorded) == [f"{number}" for number in range(30)]


def test_append_many_takes_any_iterable(memory: Memory, alice: Agent) -> None:
    """C7: also one that can be gone through only once."""
    ids = memory.append_many(alice, (Note(f"{number}") for number in range(3)))
    more = memory.append_many(alice, iter([Note("3"), Note("4")]), keys=["k", None])
    assert memory.append_many(alice, {Note("3"): 1}, keys=["k"]) == more[:1]
    assert memory.append_many(alice, iter(())) == []
    recorded = history_of(memory, alice)
    assert [record.id for record in recorded] == ids + more
    assert texts(recorded) == ["0", "1", "2", "3", "4"]


def test_append_many_of_nothing_is_nothing(memory: Memory, alice: Agent) -> None:
    """C7: no session, no record."""
    assert memory.append_many(alice, []) == []
    assert memory.sessions.list(alice) == []


@pytest.mark.parametrize("place", [0, 1, 2])
def test_append_many_stores_all_or_nothing(memory: Memory, alice: Agent, database: Database, place: int) -> None:
    """C7: one bad record, wherever it stands, and none is stored."""
    records = [Note("one"), Note("two")]
    records.insert(place, Note("bad\0"))
    with pytest.raises(InputError, match=r"Note\.text has a NUL character at position 3"):
        memory.append_many(alice, records)
    assert count(database, "session_history") == count(database, "sessions") == 0


def test_append_many_stores_nothing_when_a_key_was_used_for_something_else(
    memory: Memory, alice: Agent, database: Database
) -> None:
    """C7: the conflict is found before the first record is stored."""
    memory.append(alice, Note("first"), key="k")
    with pytest.raises(InputError, match="'k' was used before"):
        memory.append_many(alice, [Note("new"), Note("other")], keys=["n", "k"])
    assert texts(history_of(memory, alice)) == ["first"]
    assert count(database, "append_keys") == 1


def test_append_many_needs_as_many_keys_as_records(memory: Memory, alice: Agent) -> None:
    """C7: or none at all."""
    with pytest.raises(InputError, match=r"2 records need as many keys \(or none\), not 1"):
        memory.append_many(alice, [Note("a"), Note("b")], keys=["k"])
    assert memory.sessions.list(alice) == []


# Idempotency keys


def test_a_retry_with_the_same_key_returns_the_first_id(memory: Memory, alice: Agent, clock: FakeClock) -> None:
    """C7: and stores nothing."""
    first = memory.append(alice, UserMessage("hello"), key="turn-1")
    clock.turn(seconds=3)
    assert memory.append(alice, UserMessage("hello"), key="turn-1") == first
    assert memory.append(alice.id, UserMessage("hello"), key="turn-1") == first
    assert [recorded.id for recorded in history_of(memory, alice)] == [first]
    assert memory.append(alice, UserMessage("hello"), key="turn-2") > first
    assert memory.append(alice, UserMessage("hello")) > first, "without a key it is another record"


def test_a_retry_after_reopening_returns_the_first_id(open_memory: OpenMemory) -> None:
    """C7: keys are rows."""
    memory = open_memory()
    agent = memory.agent(User("cli", "alice", "main"))
    first = memory.append(agent, UserMessage("hello"), key="k")
    memory.close()
    assert open_memory().append(agent, UserMessage("hello"), key="k") == first


def test_the_same_key_twice_in_one_batch_is_one_record(memory: Memory, alice: Agent) -> None:
    """C7: a batch that repeats itself."""
    ids = memory.append_many(alice, [Note("a"), Note("b"), Note("a")], keys=["k", None, "k"])
    assert ids[0] == ids[2]
    assert texts(history_of(memory, alice)) == ["a", "b"]


def test_the_same_key_with_other_content_in_one_batch_is_an_error(memory: Memory, alice: Agent) -> None:
    """C7: silently dropping the second would lose it."""
    with pytest.raises(InputError, match=r"'k' was used before.*use a new key"):
        memory.append_many(alice, [Note("a"), Note("b")], keys=["k", "k"])
    assert memory.sessions.list(alice) == []


def test_a_batch_that_is_partly_known_stores_the_rest(memory: Memory, alice: Agent) -> None:
    """C7: ids come in the order of the records."""
    first = memory.append(alice, Note("a"), key="a")
    ids = memory.append_many(alice, [Note("b"), Note("a"), Note("c")], keys=["b", "a", "c"])
    assert ids[1] == first
    assert texts(history_of(memory, alice)) == ["a", "b", "c"]
    assert memory.append_many(alice, [Note("b"), Note("a"), Note("c")], keys=["b", "a", "c"]) == ids


def test_threads_that_retry_one_key_store_one_record(memory: Memory, alice: Agent) -> None:
    """C7: also when they wait in one group."""
    ids = in_threads(24, lambda _: memory.append(alice, UserMessage("hello"), key="k"))
    assert len(set(ids)) == 1
    assert [recorded.id for recorded in history_of(memory, alice)] == ids[:1]


def test_processes_that_retry_one_key_store_one_record(open_memory: OpenMemory) -> None:
    """C7: each with its own connections."""
    memories = [open_memory() for _ in range(4)]
    agent = memories[0].agent(User("cli", "alice", "main"))
    ids = in_threads(12, lambda number: memories[number % 4].append(agent, UserMessage("hello"), key="k"))
    assert len(set(ids)) == 1
    assert len(history_of(memories[0], agent)) == 1


def test_a_key_outlives_the_session_it_was_used_in(memory: Memory, alice: Agent) -> None:
    """C7: a retry after a reset stores nothing in the new session."""
    first = memory.append(alice, UserMessage("hello"), key="k")
    new = memory.sessions.reset(alice)
    assert memory.append(alice, UserMessage("hello"), key="k") == first
    assert memory.sessions.history(new) == []


def test_a_retry_to_an_agent_that_died_since_returns_the_first_id(memory: Memory, clock: FakeClock) -> None:
    """C7: it was stored, so it is not an error; anything new is."""
    scout = memory.agent(Subagent("s", "parent", "Scout"))
    first = memory.append(scout, Note("found it"), key="k")
    memory.end_session(scout)
    clock.turn(hours=1)
    assert memory.agents.advance().died == (scout.id,)
    assert memory.append(scout, Note("found it"), key="k") == first
    with pytest.raises(AgentDead):
        memory.append_many(scout, [Note("found it"), Note("new")], keys=["k", "n"])
    assert memory.agents.get(scout.id).state == "dead"


@pytest.mark.parametrize(
    "other",
    [
        UserMessage("bye"),
        UserMessage("hello", "Ada"),
        UserMessage("hello", provenance="web"),
        AssistantMessage("hello"),
        ToolCall("hello"),
    ],
    ids=["text", "speaker", "provenance", "type", "tool"],
)
def test_a_key_with_other_content_is_an_error(
    memory: Memory, alice: Agent, database: Database, other: Record
) -> None:
    """C7: something new would be lost otherwise."""
    memory.append(alice, UserMessage("hello"), key="k")
    with pytest.raises(
        InputError, match=r"'k' was used before for another record\. Nothing was stored; use a new"
    ):
        memory.append(alice, other, key="k")
    assert count(database, "session_history") == 1


def test_a_pure_retry_creates_no_session_and_wakes_nobody(
    memory: Memory, alice: Agent, database: Database
) -> None:
    """C7: a no-op is a no-op."""
    first = memory.append(alice, UserMessage("hello"), key="k")
    memory.end_session(alice)
    before = (memory.agents.get(alice.id), memory.sessions.list(alice))
    assert memory.append(alice, UserMessage("hello"), key="k") == first
    assert (memory.agents.get(alice.id), memory.sessions.list(alice)) == before
    database.write(lambda tx: tx.run("UPDATE sessions SET ended_at = created_at"))
    assert memory.append_many(alice, [UserMessage("hello")] * 2, keys=["k", "k"]) == [first, first]
    assert len(memory.sessions.list(alice)) == 1


def test_one_key_may_be_used_by_two_agents(memory: Memory, alice: Agent) -> None:
    """C7: a key belongs to its agent."""
    other = memory.agent(Task("t"))
    assert memory.append(alice, Note("a"), key="k") != memory.append(other, Note("b"), key="k")


def test_the_longest_key_that_is_taken_is_taken_by_every_database(memory: Memory, alice: Agent) -> None:
    """C7: 500 bytes, of a kind that no index can compress away."""
    key = "".join(chr(0x4E00 + (n * n * 31 + n * 7) % 20_000) for n in range(166)) + "ab"
    assert len(key.encode()) == 500
    first = memory.append(alice, Note("a"), key=key)
    assert memory.append(alice, Note("a"), key=key) == first
    with pytest.raises(InputError, match=r"The key takes 501 bytes; the limit is 500\. Make it shorter"):
        memory.append(alice, Note("a"), key=key + "c")
    assert len(history_of(memory, alice)) == 1


# Reading


def test_count_max_and_find_since_an_id(memory: Memory, alice: Agent, database: Database) -> None:
    """C8: strictly after, ascending, of this session alone."""
    ids = memory.append_many(alice, [Note(f"{number}") for number in range(4)])
    other = memory.append(memory.agent(Task("t")), Note("elsewhere"))
    ids.append(memory.append(alice, Note("4")))
    session = session_of(memory, alice)

    def counted(after: int) -> int:
        return database.read(lambda tx: History(tx).count_since_id(session, after))

    def found(after: int) -> list[int]:
        records = database.read(lambda tx: History(tx).find_since_id(session, after))
        assert [recorded.id for recorded in memory.sessions.history(session, after)] == [r.id for r in records]
        return [recorded.id for recorded in records]

    assert database.read(lambda tx: History(tx).max_id(session)) == ids[-1]
    assert [counted(after) for after in (0, ids[0], ids[3], other, ids[-1], 10**9)] == [5, 4, 1, 1, 0, 0]
    assert found(0) == ids
    assert found(ids[1]) == ids[2:]
    assert found(other) == ids[-1:]
    assert found(ids[-1]) == []


def test_an_empty_session_has_no_newest_record(memory: Memory, alice: Agent, database: Database) -> None:
    """C8: `max_id` is none when empty."""
    session = memory.sessions.reset(alice)
    assert database.read(lambda tx: History(tx).max_id(session.id)) is None
    assert database.read(lambda tx: History(tx).count_since_id(session.id, 0)) == 0
    assert database.read(lambda tx: History(tx).load(session.id, 7)) == RecordPage((), 7)
    assert memory.sessions.history(session) == []


def test_load_takes_at_most_its_limit_and_says_how_far_it_got(
    memory: Memory, alice: Agent, database: Database
) -> None:
    """O2: the last id that was actually loaded."""
    ids = memory.append_many(alice, [Note(f"{number}") for number in range(5)])
    session = session_of(memory, alice)
    stretch = database.read(lambda tx: History(tx).load(session, ids[0], 2))
    assert [recorded.id for recorded in stretch.records] == ids[1:3]
    assert stretch.until == ids[2]
    assert database.read(lambda tx: History(tx).load(session, 0)).until == ids[-1]


def test_history_takes_a_session_or_its_id(memory: Memory, alice: Agent) -> None:
    """C8: either will do."""
    memory.append(alice, Note("a"))
    [session] = memory.sessions.list(alice)
    assert memory.sessions.history(session) == memory.sessions.history(session.id)
    assert texts(memory.sessions.history(session)) == ["a"]


def test_history_takes_an_agent_or_its_id(memory: Memory, alice: Agent) -> None:
    """C8: and gives the records of its newest session."""
    assert memory.sessions.history(alice) == memory.sessions.history(alice.id) == [], "no session yet"
    memory.append(alice, Note("before the reset"))
    old, new = memory.sessions.list(alice)[0], memory.sessions.reset(alice)
    assert memory.sessions.history(alice) == []
    ids = memory.append_many(alice, [Note("a"), Note("b")])
    assert memory.sessions.history(alice) == memory.sessions.history(alice.id) == memory.sessions.history(new)
    assert [recorded.id for recorded in memory.sessions.history(alice.id, ids[0])] == ids[1:]
    assert texts(memory.sessions.history(old.id)) == ["before the reset"]


# Rows that cannot be read


UNREADABLE: dict[str, tuple[str, str, int, str]] = {
    "broken JSON": ("note", "agent", 0, '{"text": "half'),
    "empty": ("note", "agent", 0, ""),
    "not an object": ("note", "agent", 0, '["text"]'),
    "null": ("note", "agent", 0, "null"),
    "unknown type": ("telepathy", "agent", 0, '{"text": "x"}'),
    "unknown provenance": ("note", "martian", 0, '{"text": "x"}'),
    "text is a number": ("note", "agent", 0, '{"text": 7}'),
    "text is null": ("user_message", "user", 0, '{"text": null}'),
    "arguments are a list": ("tool_call", "agent", 0, '{"name": "t", "arguments": []}'),
    "a flag is a word": ("tool_result", "tool", 0, '{"text": "x", "failed": "no"}'),
    "a field is missing": ("note", "agent", 0, "{}"),
    "a field too many": ("note", "agent", 0, '{"text": "x", "mood": "good"}'),
    "a field twice said": ("note", "agent", 0, '{"text": "x", "provenance": "user"}'),
    "a time that no calendar has": ("note", "agent", 2**62, '{"text": "x"}'),
    "nested too deep": ("tool_call", "agent", 0, '{"name":"t","arguments":' + '{"a":' * 9_000 + "1" + "}" * 9_001),
}


def put_row(database: Database, session_id: str, row: tuple[str, str, int, str]) -> int:
    kind, provenance, at, data = row
    [inserted] = database.write(
        lambda tx: tx.many(
            "INSERT INTO session_history (session_id, type, provenance, at, recorded_at, data) "
            "VALUES (?, ?, ?, ?, 0, ?) RETURNING id",
            [(session_id, kind, provenance, at, data)],
        )
    )
    return int(inserted[0])


@pytest.mark.parametrize("row", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_an_unreadable_row_is_skipped_with_a_warning(
    memory: Memory,
    alice: Agent,
    database: Database,
    caplog: pytest.LogCaptureFixture,
    row: tuple[str, str, int, str],
) -> None:
    """C6: never fatal; the warning says which one, and what lies around it is there."""
    memory.append(alice, Note("before"))
    session = session_of(memory, alice)
    bad = put_row(database, session, row)
    memory.append(alice, Note("after"))
    with caplog.at_level(logging.WARNING, "lifelong.collect"):
        assert texts(memory.sessions.history(session)) == ["before", "after"]
    [entry] = caplog.records
    assert entry.levelno == logging.WARNING
    assert entry.getMessage().startswith(f"record {bad} of session {session} cannot be read and is skipped: ")
    assert "before" in memory.sessions.transcript(alice)


@pytest.mark.parametrize("storage", ["sqlite"], indirect=True)
def test_a_row_that_is_not_even_text_is_skipped_with_a_warning(
    memory: Memory, alice: Agent, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """C6: SQLite takes bytes for text that are not UTF-8; PostgreSQL cannot hold such a row."""
    first = memory.append(alice, Note("before"))
    session = session_of(memory, alice)
    bad = put_row(database, session, UNREADABLE["broken JSON"])
    last = put_row(database, session, UNREADABLE["broken JSON"])
    database.write(
        lambda tx: tx.run("UPDATE session_history SET data = CAST(x'7bff' AS TEXT) WHERE id IN (?, ?)", bad, last)
    )
    with caplog.at_level(logging.WARNING, "lifelong.collect"):
        stretch = database.read(lambda tx: History(tx).load(session, 0))
    assert ([recorded.id for recorded in stretch.records], stretch.until) == ([first], last)
    lines = [entry.getMessage() for entry in caplog.records]
    assert [entry.levelno for entry in caplog.records] == [logging.WARNING] * 2
    for line, record_id in zip(lines, (bad, last), strict=True):
        assert line.startswith(f"record {record_id} of session ")
        assert "cannot be read and is skipped" in line
    assert database.read(lambda tx: History(tx).load(session, first, 1)) == RecordPage((), bad)
    after = memory.append(alice, Note("after"))
    assert [recorded.id for recorded in memory.sessions.history(session)] == [first, after]
    assert texts(memory.sessions.history(session, bad)) == ["after"]
    assert "before" in memory.sessions.transcript(alice)


def test_a_stretch_counts_the_rows_it_could_not_read(memory: Memory, alice: Agent, database: Database) -> None:
    """C6, O2: or a worker would load them again for ever."""
    first = memory.append(alice, Note("one"))
    session = session_of(memory, alice)
    bad = [put_row(database, session, UNREADABLE["broken JSON"]) for _ in range(2)]
    stretch = database.read(lambda tx: History(tx).load(session, 0))
    assert ([recorded.id for recorded in stretch.records], stretch.until) == ([first], bad[-1])
    stretch = database.read(lambda tx: History(tx).load(session, first, 1))
    assert stretch == RecordPage((), bad[0])


def test_unreadable_rows_are_counted_and_marked_like_any_other(
    memory: Memory, alice: Agent, database: Database
) -> None:
    """C6, C9: append, sleep and reset go by ids, so a bad row stops none of them."""
    memory.append(alice, Note("one"))
    session = session_of(memory, alice)
    for _ in range(4):
        put_row(database, session, UNREADABLE["broken JSON"])
    assert memory.sessions.get(session).invalidated_at is None
    sixth = memory.append(alice, Note("two"))
    assert memory.sessions.get(session).invalidated_at == sixth
    bad = put_row(database, session, UNREADABLE["unknown type"])
    assert memory.end_turn(alice)
    memory.end_session(alice)
    assert memory.sessions.get(session).invalidated_at == bad


def test_rows_are_small_and_plain(memory: Memory, alice: Agent, database: Database, clock: FakeClock) -> None:
    """C5: type, provenance and time have columns of their own; `data` is the rest, as JSON."""
    memory.append(alice, ToolResult("42", "search"))
    row = database.read(lambda tx: tx.one("SELECT type, provenance, at, recorded_at, data FROM session_history"))
    assert row
    assert row[:4] == ("tool_result", "tool", to_micros(clock.now), to_micros(clock.now))
    assert json.loads(row[4]) == {"text": "42", "name": "search"}
