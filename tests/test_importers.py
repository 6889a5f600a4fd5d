"""Import from elsewhere (F4, S10): each format as it is published, odd and broken ones, once, and oldest first."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifelong import Memory, Store
from lifelong.errors import InputError
from lifelong.importers import importing, jsonl, sources
from lifelong.importers.sources import find_entries
from lifelong.serve.caller_identity import caller
from lifelong.serve.hook import hook
from lifelong.types import AssistantMessage, Note, StoredRecord, SystemMessage, ToolCall, ToolResult, UserMessage
from tests.command_line import Line
from tests.conftest import OpenMemory

MAY = 1_714_550_400.0  # 2024-05-01T08:00Z


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with Memory.open(tmp_path / "home") as opened:
        yield opened


def put(place: Path, content: object) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    place.write_bytes(data)
    return place


def put_lines(place: Path, *lines: object) -> Path:
    return put(place, b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def stored(memory: Memory, connector: str) -> list[list[StoredRecord]]:
    """Return the records of each session of a connector, in order."""
    agents = [one for one in memory.agents.list() if one.cache_key.startswith(f"/connectors/{connector}/")]
    sessions = [session for agent in agents for session in memory.sessions.list(agent)]
    assert all(session.ended_at for session in sessions)
    return [memory.sessions.history(session) for session in sessions]


def said(memory: Memory, connector: str) -> list[list[str]]:
    return [[getattr(one.record, "text", "") for one in session] for session in stored(memory, connector)]


# ChatGPT


def node(
    own: str, parent: str | None, role: str = "user", at: float | None = MAY, **content: Any
) -> dict[str, Any]:
    message = {
        "id": own,
        "author": {"role": role, "name": content.pop("name", None), "metadata": {}},
        "create_time": at,
        "content": {"content_type": "text", **content},
        "metadata": content.pop("metadata", {}),
        "recipient": content.pop("recipient", "all"),
        "status": "finished_successfully",
    }
    for name in ("metadata", "recipient"):
        message["content"].pop(name, None)
    return {"id": own, "parent": parent, "children": [], "message": message if role else None}


def chat(own: str, *nodes: dict[str, Any], at: float = MAY, current: str | None = None) -> dict[str, Any]:
    return {
        "title": f"Chat {own}",
        "create_time": at,
        "update_time": at,
        "conversation_id": own,
        "id": own,
        "current_node": nodes[-1]["id"] if current is None and nodes else current,
        "mapping": {one["id"]: one for one in nodes},
    }


def talk(own: str, text: str, at: float) -> dict[str, Any]:
    ask = node(f"{own}-1", f"{own}-0", parts=[text], at=at)
    return chat(
        own,
        node(f"{own}-0", None, ""),
        ask,
        node(f"{own}-2", f"{own}-1", "assistant", at + 5, parts=["Ok."]),
        at=at,
    )


CUSTOM = {"about_user_message": "I'm a nurse in Porto.", "about_model_message": "Always answer in bullet points."}


def test_a_chatgpt_export_becomes_sessions(memory: Memory, tmp_path: Path) -> None:
    """F4: the branch that is shown, with its times, tools and custom instructions; what is hidden is left out."""
    hidden = {"is_visually_hidden_from_conversation": True}
    own = [
        node("root", None, ""),
        node("sys", "root", "system", None, parts=[""], metadata=hidden),
        node(
            "ctx",
            "sys",
            at=None,
            content_type="user_editable_context",
            user_profile="…",
            metadata={**hidden, "is_user_system_message": True, "user_context_message_data": CUSTOM},
        ),
        node("old", "ctx", parts=["The first wording."], at=MAY),
        node(
            "ask",
            "ctx",
            parts=["How is the weather in Oslo?", {"content_type": "image_asset_pointer"}],
            at=MAY + 60,
        ),
        node(
            "call",
            "ask",
            "assistant",
            MAY + 61,
            content_type="code",
            text='{"query": "Oslo"}',
            recipient="web.run",
        ),
        node(
            "found",
            "call",
            "tool",
            MAY + 62,
            content_type="tether_quote",
            title="Oslo",
            url="https://x.no",
            text="9 °C",
            name="web.run",
        ),
        node("ran", "found", "tool", MAY + 63, content_type="execution_output", text="42", name="python"),
        node("idea", "ran", "assistant", MAY + 64, content_type="thoughts", thoughts=[{"content": "hm"}]),
        node(
            "reply",
            "idea",
            "assistant",
            MAY + 65,
            parts=["It is 9 °C.\ue200cite\ue202turn0\ue201", None, {"x": 1}],
        ),
    ]
    again = [
        own[0],
        {**own[2], "id": "ctx2", "parent": "root"},
        node("hi", "ctx2", parts=["Hello again."], at=MAY + 900),
    ]
    place = put(tmp_path / "conversations.json", [chat("b", *again, at=MAY + 900), chat("a", *own)])
    report = memory.import_from(place)
    assert (report.kind, report.conversations, report.messages, report.added) == ("chatgpt", 2, 8, 7)
    assert (report.first, report.last) == (
        datetime.fromtimestamp(MAY, UTC),
        datetime.fromtimestamp(MAY + 900, UTC),
    )
    first, second = stored(memory, "chatgpt")
    assert [type(one.record) for one in first] == [
        UserMessage,
        UserMessage,
        ToolCall,
        ToolResult,
        ToolResult,
        AssistantMessage,
    ]
    assert [one.record.provenance for one in first] == ["user", "user", "agent", "web", "tool", "agent"]
    assert first[0].record.text == "\n\n".join(CUSTOM.values())  # type: ignore[union-attr]
    assert first[1].record.text == "How is the weather in Oslo?\n\n[image]"  # type: ignore[union-attr]
    assert first[-1].record.text == "It is 9 °C."  # type: ignore[union-attr]
    assert first[1].at == datetime.fromtimestamp(MAY + 60, UTC)
    assert [one.record.text for one in second] == ["Hello again."]  # type: ignore[union-attr]
    session = memory.sessions.list(memory.agents.list()[0])[0]
    assert session.created_at == report.first
    assert session.reset_message == "Imported from ChatGPT: Chat a"


def test_later_conversations_win_whatever_the_order_of_the_export(open_memory: OpenMemory, tmp_path: Path) -> None:
    """F4: an export has the newest first; what was said later still replaces what was said before. A newer export
    adds what is new, to the same session, and importing again adds nothing."""
    memory = open_memory()
    porto, rome = talk("p", "I live in Porto now.", MAY + 9e6), talk("r", "I live in Rome.", MAY)
    place = put(tmp_path / "conversations.json", [porto, rome])
    assert memory.import_from(place, dry_run=True).added == 4
    assert memory.agents.list() == []
    assert memory.import_from(place).added == 4
    memory.organize()
    assert "Porto" in (core := memory.context())
    assert "Rome" not in core
    again = memory.import_from(place)
    assert (again.added, again.known) == (0, 4)
    rome["mapping"]["r-3"] = node("r-3", "r-2", parts=["My sister is called Elin."], at=MAY + 1e7)
    put(place, [talk("n", "I have a dog.", MAY + 2e7), porto, {**rome, "current_node": "r-3"}])
    assert memory.import_from(place, dry_run=True).added == 3
    newer = memory.import_from(place)
    assert (newer.added, newer.known) == (3, 4)
    assert said(memory, "chatgpt")[0] == ["I live in Rome.", "Ok.", "My sister is called Elin."]
    assert memory.organize().finished == 2
    memory.forget(f"r{stored(memory, 'chatgpt')[0][-1].id}")
    assert memory.import_from(place).added == 0
    other = {"role": "user", "content": "My sister is called Elin.", "timestamp": MAY + 1e7}
    assert memory.import_from(put_lines(tmp_path / "other.jsonl", other)).skipped == {importing.FORGOTTEN: 1}
    assert "Elin" not in str([said(memory, "chatgpt"), said(memory, "jsonl")])


BROKEN = {
    "an empty mapping": chat("x"),
    "a missing parent": chat("x", node("x1", "gone", parts=["Kept."])),
    "a cycle": chat("x", node("x1", "x2", parts=["Kept."]), node("x2", "x1", parts=["Kept, too."])),
    "no current node": chat("x", node("x1", None, parts=["Kept."]), current="nowhere"),
    "null parts": chat("x", node("x1", None, parts=None), node("x2", "x1", parts=["Kept."])),
    "an unknown role": chat("x", node("x1", None, "robot", parts=["Left."]), node("x2", "x1", parts=["Kept."])),
    "a time that is none": chat("x", node("x1", None, parts=["Kept."], at="soon")),  # type: ignore[arg-type]
    "a time to come": chat("x", node("x1", None, parts=["Kept."], at=9e9)),
    "NUL and half a character": chat("x", node("x1", None, parts=["Kept.\x00\ud83d"])),
    "no object": ["x"],
    "other fields": {"mapping": {"a": 5, "b": {"message": "x", "parent": {}}}, "current_node": "a"},
    "deep nesting": {"mapping": {"a": {"message": {}}}, "x": [1]},
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_conversation_costs_no_other(memory: Memory, tmp_path: Path, what: str) -> None:
    """F4: it is read as far as it can be, or skipped with a reason."""
    data = json.dumps([talk("a", "Before.", MAY), BROKEN[what], talk("z", "After.", MAY + 9)])
    if what == "deep nesting":
        data = data.replace("[1]", "[" * 100_000 + "]" * 100_000)
    report = memory.import_from(put(tmp_path / "chats.json", b"\xef\xbb\xbf" + data.encode()))
    texts = [text for session in said(memory, "chatgpt") for text in session]
    assert {"Before.", "After."} <= set(texts)
    assert ("Kept." in str(texts)) == ("Kept." in data)
    if "Kept." not in data:
        assert report.skipped
    assert "Left." not in texts


def test_a_file_that_is_cut_off_or_not_json(memory: Memory, tmp_path: Path) -> None:
    """F4: what is whole is imported, and it says that something is missing; a syntax error costs one entry."""
    data = json.dumps([talk(one, f"Chat {one}.", MAY + n) for n, one in enumerate("abc")])
    cut = memory.import_from(put(tmp_path / "cut.json", data[: data.index("Chat c.")].encode()))
    assert (cut.conversations, cut.skipped) == (2, {"the end of a file that is cut off": 1})
    wrong = data.replace('"Chat b."', "Chat b").replace("Chat c.", "Chat c, \\u00e9.").encode()
    report = memory.import_from(put(tmp_path / "wrong.json", wrong.replace(b"Chat a.", b"Chat a, \xe9.")))
    assert report.skipped == {f"an entry that is {one}": 1 for one in (sources.NOT_JSON, sources.NOT_UTF8)}
    for name, content, expected in (
        ("u16.json", json.dumps([talk("a", "x", MAY)]).encode("utf-16"), "is in UTF-16; convert it to UTF-8"),
        ("page.json", b"<html>no</html>", "is of no kind that can be imported"),
        ("what.pdf", b"%PDF", "claude-code .* markdown .* lifelong .* --as KIND"),
        ("bad.zip", b"PK\x03\x04", "not a whole zip archive"),
        ("empty/x.txt", b"", "no .json, .jsonl or .md file"),
    ):
        place = put(tmp_path / name, content)
        with pytest.raises(InputError, match=f"(?s){expected}"):
            memory.import_from(place.parent if name.startswith("empty") else place)


def test_an_export_in_a_zip(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F4: also in parts, and larger than what is read at once; an archive of something else says what it holds."""
    monkeypatch.setattr(sources, "READ_BYTES", 100)
    with zipfile.ZipFile(tmp_path / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("export/user.json", json.dumps({"id": "u"}))
        for part in range(3):
            some = [
                talk(f"{part}{n}", f'Chat {part} {n} with [brackets] {{and}} \\"quotes\\".', MAY - n)
                for n in range(9)
            ]
            archive.writestr(f"export/conversations-00{part}.json", json.dumps(some, indent=1))
    report = memory.import_from(tmp_path / "export.zip")
    assert (report.kind, report.conversations, report.added, report.skipped) == ("chatgpt", 27, 54, {})
    monkeypatch.setattr(sources, "disk_usage", lambda place: SimpleNamespace(free=100))
    with pytest.raises(InputError, match=r"has room for 0\.0\. Extract it elsewhere"):
        memory.import_from(tmp_path / "export.zip")
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b"[" + b" " * (sources.MAX_ENTRY_BYTES + 1) + b"]")
    with pytest.raises(InputError, match=r"times its packed size, which no export has\. If you trust it, extract"):
        memory.import_from(tmp_path / "bomb.zip")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("users.json", "[]")
    with pytest.raises(InputError, match=r"it holds users\.json"):
        memory.import_from(tmp_path / "other.zip", "chatgpt")


def test_a_branch_of_ten_thousand_messages(memory: Memory, tmp_path: Path) -> None:
    """F4: is read without recursion, and stored in several writes, in one session."""
    nodes = [node(f"n{n}", f"n{n - 1}" if n else None, parts=[f"{n}"], at=MAY + n) for n in range(10_000)]
    report = memory.import_from(put(tmp_path / "deep.json", [chat("deep", *nodes)]))
    assert report.added == 10_000
    (session,) = said(memory, "chatgpt")
    assert session == [f"{n}" for n in range(10_000)]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.recursive(
            st.text() | st.none() | st.integers(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=8,
        )
    ),
    st.integers(1, 40),
    st.sampled_from([None, 2]),
    st.booleans(),
)
def test_entries_are_found_however_the_file_is_read(
    values: list[Any], size: int, indent: int | None, named: bool
) -> None:
    """F4: whatever stands in strings, and wherever a read ends."""
    whole = {"count": [[1]], "note": "]", "results": values} if named else values
    data = json.dumps(whole, indent=indent, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")
    stream = io.BytesIO(data)
    short = type("Short", (), {"read": lambda _, wanted: stream.read(size)})()
    found = [*find_entries(short, ["results"] if named else [])]
    assert [json.loads(piece) for _, piece in found] == [one for one in values if isinstance(one, list | dict)]
    assert all(data[start : start + len(piece)] == piece for start, piece in found)


# Claude


def test_a_claude_export(memory: Memory, tmp_path: Path) -> None:
    """F4: text, tools, and attachments, which are data; unknown blocks are left out."""
    when = "2024-05-01T08:00:0{}.123456Z"
    messages = [
        {
            "uuid": "m1",
            "text": "Read this.",
            "sender": "human",
            "created_at": when.format(1),
            "content": [{"type": "text", "text": "Read this.", "citations": []}],
            "attachments": [{"file_name": "lease.txt", "extracted_content": "Rent: 950 EUR"}],
            "files": [],
        },
        {
            "uuid": "m2",
            "text": "",
            "sender": "assistant",
            "created_at": when.format(2),
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "token_budget"},
                {"type": "tool_use", "id": "t1", "name": "web_search", "input": {"query": "rent"}},
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "name": "web_search",
                    "content": [{"type": "text", "text": "found"}],
                },
                {"type": "text", "text": "It is 950 EUR."},
            ],
        },
        {"uuid": "m3", "text": "Thanks", "sender": "human", "created_at": None, "content": []},
        {"uuid": "m4", "text": "?", "sender": "ghost", "created_at": when.format(4)},
    ]
    export = [
        {"uuid": "c1", "name": "Rent", "created_at": when.format(0), "chat_messages": messages},
        {"uuid": "c2", "name": "", "chat_messages": []},
    ]
    report = memory.import_from(put(tmp_path / "conversations.json", export).parent)
    assert (report.kind, report.conversations, report.messages, report.added) == ("claude", 1, 3, 6)
    assert report.skipped == {"a message of the unknown sender 'ghost'": 1, "a conversation without messages": 1}
    (session,) = stored(memory, "claude")
    assert [(type(one.record), one.record.provenance) for one in session] == [
        (UserMessage, "user"),
        (Note, "tool"),
        (ToolCall, "agent"),
        (ToolResult, "web"),
        (AssistantMessage, "agent"),
        (UserMessage, "user"),
    ]
    assert session[1].record.text == "[file: lease.txt]\n\nRent: 950 EUR"  # type: ignore[union-attr]
    assert session[0].at == datetime(2024, 5, 1, 8, 0, 1, 123456, UTC)
    assert session[-1].at == datetime(2024, 5, 1, 8, 0, 0, 123456, UTC)


# Claude Code and Codex


def entry(kind: str, content: object, second: int, **more: object) -> dict[str, object]:
    return {
        "type": kind,
        "message": {"role": kind, "content": content},
        "uuid": f"u{second}",
        "sessionId": "s1",
        "cwd": "/work/shop",
        "timestamp": f"2025-09-01T10:00:{second:02}.000Z",
        "isSidechain": False,
        **more,
    }


TRANSCRIPT = [
    {"type": "summary", "summary": "Fixing checkout", "leafUuid": "u9"},
    {"type": "file-history-snapshot", "messageId": "x"},
    entry("user", "<command-name>/init</command-name>", 1, isMeta=True),
    entry("user", "Why does checkout fail?<system-reminder>be nice</system-reminder>", 2),
    entry("assistant", [{"type": "thinking", "thinking": "hm"}], 3),
    entry("assistant", [{"type": "text", "text": "Let me look."}], 4),
    entry(
        "assistant", [{"type": "tool_use", "id": "t1", "name": "WebFetch", "input": {"url": "https://x.org"}}], 5
    ),
    entry("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "a page"}], 6),
    entry("assistant", [{"type": "text", "text": "The coupon is null."}], 7),
    entry("user", "go on", 8),
    entry("user", "a subagent's task", 9, isSidechain=True),
    entry("assistant", [{"type": "text", "text": "Done."}], 10),
    entry("user", "The conversation so far …", 11, isCompactSummary=True),
    entry("user", "[Request interrupted by user]", 12),
    {"type": "system", "content": "hook ran", "uuid": "u13", "sessionId": "s1"},
]


def test_transcripts_of_claude_code(memory: Memory, tmp_path: Path) -> None:
    """F4: without what the host wrote. What `lifelong hook` stored of the session is not imported again."""
    place = put_lines(tmp_path / "projects" / "-work-shop" / "s1.jsonl", *TRANSCRIPT)
    event = {"hook_event_name": "Stop", "session_id": "s1", "transcript_path": str(place), "cwd": "/work/shop"}
    hook(io.BytesIO(json.dumps(event).encode()), io.StringIO(), memory.home.path)
    agent = memory.agent(caller("claude-code", "default", "s1:/work/shop"))
    assert len(memory.sessions.history(agent)) == 4
    memory.end_session(agent)
    put(place, place.read_bytes() + b'{"type": "assistant", "mess')
    report = memory.import_from(tmp_path / "projects")
    assert (report.kind, report.conversations, report.messages) == ("claude-code", 1, 8)
    assert (report.added, report.known) == (4, 4)
    assert report.skipped == {"a message of a subagent": 1, "a line that is not a JSON object": 1}
    texts = [one.record for session in memory.sessions.list(agent) for one in memory.sessions.history(session)]
    assert sum(getattr(one, "text", "") == "Why does checkout fail?" for one in texts) == 1
    fetched = next(one for one in texts if isinstance(one, ToolResult))
    assert (fetched.name, fetched.provenance) == ("WebFetch", "web")
    assert next(one for one in texts if isinstance(one, SystemMessage)).summary
    assert hook(io.BytesIO(json.dumps(event).encode()), io.StringIO(), memory.home.path) is None  # type: ignore[func-returns-value]
    assert memory.import_from(place).added == 0


def test_transcripts_of_codex(memory: Memory, tmp_path: Path) -> None:
    """F4: with the envelope, and older ones without; subagents and what the host told the model are left out."""

    def item(kind: str, **payload: object) -> dict[str, object]:
        return {"timestamp": "2025-10-29T00:59:39.522Z", "type": kind, "payload": payload}

    def text(role: str, *texts: str) -> dict[str, object]:
        return {"type": "message", "role": role, "content": [{"type": "input_text", "text": one} for one in texts]}

    host = (
        "<environment_context>\n\n<cwd>/x</cwd>\n</environment_context>",
        "# AGENTS.md instructions for /x\n\nPytest.",
    )
    call = {"type": "function_call", "name": "shell", "arguments": '{"command": ["ls"]}', "call_id": "k1"}
    result = {
        "type": "function_call_output",
        "call_id": "k1",
        "output": '{"output": "no", "metadata": {"exit_code": 2}}',
    }
    day = tmp_path / "sessions" / "2025" / "10" / "29"
    put_lines(
        day / "rollout-new.jsonl",
        item("session_meta", id="n1", cwd="/work/shop", timestamp="2025-10-29T00:59:38Z"),
        *(item("response_item", **text("user", one)) for one in host),
        item("response_item", **text("developer", "You are Codex.")),
        item("response_item", **text("user", "List the files, please.")),
        item("event_msg", type="user_message", message="List the files, please."),
        item("response_item", type="reasoning", summary=[], encrypted_content="x"),
        item("response_item", **call),
        item("response_item", **result),
        item(
            "response_item",
            type="message",
            role="assistant",
            content=[{"type": "output_text", "text": "It failed."}],
        ),
        item("compacted", message="What came before."),
        item("turn_context", cwd="/work/shop"),
    )
    put_lines(
        day / "rollout-old.jsonl",
        {"id": "o1", "timestamp": "2025-06-01T10:00:00Z", "instructions": None},
        {"record_type": "state"},
        text("user", "Hello."),
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]},
    )
    put_lines(day / "rollout-sub.jsonl", item("session_meta", id="s1", source={"subagent": "review"}))
    report = memory.import_from(tmp_path / "sessions")
    assert (report.kind, report.conversations, report.skipped) == ("codex", 2, {"a session of a subagent": 1})
    assert sorted(said(memory, "codex")) == [
        ["Hello.", "Hi."],
        ["List the files, please.", "", "no", "It failed.", "What came before."],
    ]
    (failed,) = [
        one.record for some in stored(memory, "codex") for one in some if isinstance(one.record, ToolResult)
    ]
    assert (failed.name, failed.failed) == ("shell", True)
    assert memory.import_from(tmp_path / "sessions").added == 0


def test_what_a_hook_of_codex_stored_is_not_imported_again(memory: Memory, tmp_path: Path) -> None:
    """F3, F4: a turn has one id in events and transcript; what the hook did not tell is added, and the same words
    in another turn are kept."""
    place = tmp_path / "sessions" / "rollout-2026-c1.jsonl"

    def message(role: str, text: str) -> dict[str, object]:
        return {"type": "message", "role": role, "content": [{"type": "output_text", "text": text}]}

    lines: list[dict[str, object]] = [{"type": "session_meta", "payload": {"id": "c1", "cwd": "/work/shop"}}]
    for turn in ("t1", "t2"):
        told = {"session_id": "c1", "turn_id": turn, "transcript_path": str(place), "cwd": "/work/shop"}
        asked = {**told, "hook_event_name": "UserPromptSubmit", "prompt": "continue"}
        done = {**told, "hook_event_name": "Stop", "last_assistant_message": "Done."}
        for event in (asked, done):
            hook(io.BytesIO(json.dumps(event).encode()), io.StringIO(), memory.home.path)
        lines += [
            {"type": "turn_context", "payload": {"turn_id": turn, "cwd": "/work/shop"}},
            {"type": "response_item", "payload": message("user", "continue")},
            {"type": "response_item", "payload": message("assistant", "Let me look.")},
            {"type": "response_item", "payload": message("assistant", "Done.")},
        ]
    (agent,) = memory.agents.list()
    memory.end_session(agent)
    put_lines(place, *lines)
    report = memory.import_from(place)
    assert (report.kind, report.added) == ("codex", 2)
    assert sorted(text for some in said(memory, "codex") for text in some) == sorted(
        2 * ["continue", "Let me look.", "Done."]
    )
    assert memory.import_from(place).added == 0


# Memories, notes, JSON Lines


def test_memories_of_mem0(memory: Memory, tmp_path: Path) -> None:
    """F4, S5: one record each, as the agent's word, unless a person vouches; one that was updated is added."""
    one = {
        "id": "m1",
        "memory": "Is allergic to penicillin",
        "user_id": "ana",
        "metadata": {"a": [1]},
        "hash": "h",
        "created_at": "2024-07-20T01:30:36.275141-07:00",
        "updated_at": None,
    }
    two = {**one, "id": "m2", "memory": "Prefers short answers", "user_id": None, "agent_id": "bot"}
    place = put(tmp_path / "mem0.json", {"results": [one, two, {"id": "m3", "memory": " "}], "relations": []})
    report = memory.import_from(place)
    assert (report.kind, report.added, report.skipped) == ("mem0", 2, {"a memory without text": 1})
    assert [one.record.provenance for session in stored(memory, "mem0") for one in session] == ["agent", "agent"]
    memory.organize()
    assert memory.search("penicillin")[0].trust == "agent"
    assert [one.text for one in memory.reviews.list()] == ["Prefers short answers"]
    assert "penicillin" not in memory.context()
    assert memory.import_from(place, vouch=True, dry_run=True).added == 2
    assert memory.import_from(place, vouch=True).vouched
    memory.organize()
    assert "penicillin" in memory.context()
    with pytest.raises(InputError, match="Only what a model wrote can be vouched for"):
        memory.import_from(put(tmp_path / "c.json", WHOLE["chatgpt"]), vouch=True)
    put(
        place, [{**one, "memory": "Is allergic to penicillin and nuts", "updated_at": "2025-01-01T00:00:00Z"}, two]
    )
    assert memory.import_from(place).added == 1
    assert memory.search("nuts")[0].at == datetime(2025, 1, 1, tzinfo=UTC)


def test_a_folder_of_notes(memory: Memory, tmp_path: Path) -> None:
    """F4: a section is a note with its path, and the date of the front matter, else of the file; clippings are the
    web's."""
    trip = "---\ndate: 2024-05-01\n---\n# Oslo\nElin lives there.\r\n\n## Packing\n- passport\n```\n# code\n```\n"
    folder = tmp_path / "notes"
    put(folder / "travel" / "trip.md", trip.encode())
    put(folder / "clip.md", b"---\nsource: https://example.org/x\n---\nThe ferry costs 40 EUR.")
    put(folder / "long.md", "\n\n".join(f"{n} " * 800 for n in range(3)).encode())
    put(folder / ".obsidian" / "x.md", b"hidden")
    put(folder / "latin.md", "café".encode("latin-1"))
    put(folder / "empty.md", b"---\ntitle: x\n---\n")
    os.utime(folder / "long.md", (MAY, MAY))
    report = memory.import_from(folder)
    assert (report.kind, report.conversations, report.messages) == ("markdown", 3, 6)
    assert report.skipped == {"a file that is not UTF-8: convert it first": 1, "a file without notes": 1}
    records = {one.record.text: one for session in stored(memory, "notes") for one in session}  # type: ignore[union-attr]
    packing = records["[travel/trip.md / Oslo / Packing]\n\n- passport\n```\n# code\n```"]
    assert (packing.at, packing.record.provenance) == (datetime(2024, 5, 1, tzinfo=UTC), "user")
    assert records["[clip.md]\n\nThe ferry costs 40 EUR."].record.provenance == "web"
    assert sum(one.at == datetime.fromtimestamp(MAY, UTC) for one in records.values()) == 3
    put(folder / "travel" / "trip.md", trip.replace("passport", "tickets").encode())
    assert memory.import_from(folder).added == 1


def test_json_lines(memory: Memory, tmp_path: Path) -> None:
    """F4: conversations a line, or a message a line; grown ones add what is new."""
    lines: list[object] = [
        {
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "Hello"},
                {"role": "user", "content": "Hi"},
            ]
        },
        {
            "id": 7,
            "created_at": "2024-05-01T08:00:00",
            "messages": [{"role": "user", "content": "My cat is Mia."}],
        },
        {"role": "user", "content": "One", "session": "a", "timestamp": MAY},
        {"role": "user", "content": "Two", "session": "b", "timestamp": MAY + 1},
        {"role": "assistant", "content": "Three", "session": "a", "timestamp": MAY + 2},
        {"role": "robot", "content": "x", "session": "a"},
        "text",
        {"messages": []},
    ]
    place = put_lines(tmp_path / "chats.jsonl", *lines)
    report = memory.import_from(place)
    assert (report.kind, report.conversations, report.added) == ("jsonl", 4, 8)
    assert sum(report.skipped.values()) == 3
    assert sorted(map(tuple, said(memory, "jsonl"))) == [
        ("Be kind.", "Hi", "Hello", "Hi"),
        ("My cat is Mia.",),
        ("One", "Three"),
        ("Two",),
    ]
    assert memory.search("cat")[0].at == datetime(2024, 5, 1, 8, tzinfo=UTC)
    lines[0]["messages"].append({"role": "assistant", "content": "Hi again"})  # type: ignore[index]
    put_lines(place, *lines, {"role": "user", "content": "Four", "session": "a", "timestamp": MAY + 9})
    assert memory.import_from(place).added == 2
    plain = put_lines(tmp_path / "log.jsonl", *[{"role": "user", "content": "ok"}] * 3)
    assert memory.import_from(plain).added == 3
    assert memory.import_from(plain).added == 0


def test_a_conversation_a_line_is_read_without_the_others(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F4: an import of many takes no longer for each than one of few."""
    lines = [{"messages": [{"role": "user", "content": f"Number {one}."}]} for one in range(20)]
    place, name, heads = put_lines(tmp_path / "chats.jsonl", *lines), jsonl._name, list[int]()

    def counted(source: sources.Source, number: int) -> str:
        heads.append(number)
        return name(source, number)

    monkeypatch.setattr(jsonl, "_name", counted)
    assert memory.import_from(place).added == 20
    assert heads == [0]


def test_ids_that_are_no_uuids_belong_to_their_conversation(memory: Memory, tmp_path: Path) -> None:
    """F4: tools that write the shape of an export number the messages of each conversation anew."""

    def tree(own: str, text: str) -> dict[str, Any]:
        said = {"id": "1", "author": {"role": "user"}, "create_time": MAY, "content": {"parts": [text]}}
        return {"id": own, "mapping": {"1": {"id": "1", "message": said}}, "current_node": "1"}

    chats = put(tmp_path / "chats.json", [tree("a", "My cat is Mia."), tree("b", "My dog is Bo.")])
    assert memory.import_from(chats).added == 2
    assert memory.import_from(chats).added == 0
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"role": "user", "content": "Hi"}\n{\n')
    assert memory.import_from(broken).skipped == {"a line that is not valid JSON": 1}


def test_chats_that_begin_alike_lose_nothing(memory: Memory, tmp_path: Path) -> None:
    """F4: a file without ids is known wherever it lies; another one of the same name, by what is said in it."""

    def chat(*texts: str) -> list[dict[str, str]]:
        roles = ("assistant", "user") * len(texts)
        return [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]

    greeting = "Hi! How can I help?"
    first = put_lines(tmp_path / "a/chat.jsonl", *chat(greeting, "Where is Oslo?", "In Norway.", "ok"))
    second = put_lines(tmp_path / "b/chat.jsonl", *chat(greeting, "Where is Rome?", "In Italy.", "ok"))
    assert memory.import_from(first).added == memory.import_from(second).added == 4
    assert memory.import_from(tmp_path).added == 0
    put_lines(first, *chat(greeting, "Where is Oslo?", "In Norway.", "ok", "Anything else?"))
    assert memory.import_from(tmp_path).added == 1
    assert sorted(map(len, said(memory, "jsonl"))) == [4, 5]
    same = [{"messages": chat(greeting, "hi", "Hello.", place, "ok")} for place in ("Oslo", "Rome")]
    assert memory.import_from(put_lines(tmp_path / "lines.jsonl", *same)).added == 7
    assert memory.import_from(tmp_path / "lines.jsonl").added == 0


# Whatever stands there

ODD: list[Any] = [
    None,
    True,
    -1,
    1e300,
    10**30,
    "",
    "x",
    "\0\ud800",
    [],
    {},
    [[]],
    {"type": "text"},
    {"type": "tool_use"},
]
WHOLE: dict[str, list[Any]] = {
    "chatgpt": [talk("a", "Hi.", MAY), talk("b", "Hello.", MAY)],
    "claude": [
        {
            "uuid": "c",
            "chat_messages": [
                {
                    "uuid": "m",
                    "sender": "human",
                    "content": [{"type": "text", "text": "x"}],
                    "created_at": "2024-05-01T08:00:00Z",
                    "attachments": [{"file_name": "a"}],
                }
            ],
        }
    ],
    "claude-code": TRANSCRIPT,
    "codex": [
        {"type": "session_meta", "payload": {"id": "n", "cwd": "/w"}},
        {
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": [{"type": "text", "text": "x"}]},
        },
        {
            "type": "response_item",
            "payload": {"type": "function_call", "name": "s", "arguments": "{}", "call_id": "k"},
        },
    ],
    "mem0": [{"id": "m1", "memory": "x", "user_id": "a", "created_at": "2024-07-20T01:30:36Z"}] * 2,
    "jsonl": [
        {"messages": [{"role": "user", "content": "Hi"}]},
        {"role": "user", "content": "x", "timestamp": MAY},
    ],
}


@pytest.mark.parametrize("kind", WHOLE)
def test_nothing_in_a_file_ends_an_import(memory: Memory, tmp_path: Path, kind: str) -> None:
    """F4: any part of it may be missing, or anything else: it is read as far as it can be, the same each time."""
    random = Random(kind)

    def changed(value: Any) -> Any:
        if random.random() < 0.06:
            return random.choice(ODD)
        if isinstance(value, dict):
            return {name: changed(part) for name, part in value.items() if random.random() > 0.03}
        return [changed(part) for part in value] if isinstance(value, list) else value

    for number in range(30):
        given = [changed(one) for one in WHOLE[kind]]
        if kind in ("chatgpt", "claude", "mem0"):
            place = put(tmp_path / f"{number}" / "conversations.json", given)
        else:
            place = put_lines(tmp_path / f"{number}.jsonl", *given)
        try:
            expected = memory.import_from(place, kind, dry_run=True)
        except InputError as error:
            assert "can be imported" in str(error)  # noqa: PT017
            continue
        assert memory.import_from(place, kind).added == expected.added
        assert memory.import_from(place, kind).added == 0


# The whole way


def test_secrets_are_redacted_and_users_apart(tmp_path: Path) -> None:
    """F4, C5: an import is stored as anything else is, for the user who was named alone."""
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3
    place = put(tmp_path / "c.json", [talk("k", f"My key is {key}, and my cat is Mia.", MAY)])
    with Store.open(tmp_path / "home") as store:
        store.user("mara").import_from(place)
        store.user("mara").organize()
        assert store.user("other").search("cat") == []
        assert "Mia" in store.user("mara").search("cat")[0].text
    assert not any(key.encode() in file.read_bytes() for file in (tmp_path / "home").rglob("*") if file.is_file())


def test_the_command_import(tmp_path: Path, line: Line) -> None:
    """F4, S10: it says what it found and how it knew, what it left out, and what comes next."""
    home, place = (
        tmp_path / "home",
        put(tmp_path / "conversations.json", [talk("r", "I live in Rome.", MAY), 5, chat("x")]),
    )
    line.done("init", "--home", home)
    dry = line.done("import", place, "--home", home, "--dry-run").out
    assert "ChatGPT (conversations.json has conversations with a `mapping`): 1 conversation, 2 messages" in dry
    assert "2024-05-01 to 2024-05-01" in dry
    assert "left out: 1 x a conversation without messages" in dry
    assert "Nothing was stored. 2 records would be new." in dry
    done = line.done("import", place, "--home", home, "--user", "mara").out
    assert "2 records added; 0 were here before." in done
    assert "Organized 1 transcript" in done
    later = line.done("import", place, "--home", home, "--no-organize", "--json").json
    assert (later["report"]["added"], later["user"], "organized" in later) == (2, "default", False)
    assert "live in Rome" in line.done("search", "Rome", "--home", home, "--user", "mara").out
    line.done("export", tmp_path / "out", "--home", home, "--user", "mara")
    copied = line.done("import", tmp_path / "out", "--home", home, "--user", "copy", "--json").json
    assert (copied["kind"], copied["user"]) == ("lifelong", "copy")
    unknown = line("import", place, "--home", home, "--as", "word")
    assert unknown.code == 2
    assert "Unknown kind 'word'" in unknown.err


def test_an_import_that_is_killed_goes_on(tmp_path: Path) -> None:
    """F4: every record is there once, in its session."""
    place = put(tmp_path / "c.json", [talk(f"c{n}", f"Message number {n}.", MAY - n) for n in range(900)])
    code = f"from lifelong import Memory; Memory.open({str(tmp_path / 'home')!r}).import_from({str(place)!r})"
    running = subprocess.Popen([sys.executable, "-c", code])
    journal = tmp_path / "home" / "lifelong.db-wal"
    while running.poll() is None and not (journal.exists() and journal.stat().st_size > 400_000):
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    with Memory.open(tmp_path / "home") as memory:
        report = memory.import_from(place)
        assert report.added + report.known == 1800
        sessions = said(memory, "chatgpt")
        assert len(sessions) == 900
        assert sorted(text for session in sessions for text in session if text != "Ok.") == sorted(
            f"Message number {n}." for n in range(900)
        )


def test_an_import_needs_little_memory(tmp_path: Path) -> None:
    """F4: however large the file is; `bench/importing.py` measures it with a gigabyte."""
    place, filler = tmp_path / "large.json", "x" * 900
    with place.open("w") as stream:
        for n in range(400):
            some = [
                node(f"{n}-{m}", f"{n}-{m - 1}" if m else None, parts=[""], pad=filler, at=MAY) for m in range(100)
            ]
            some[-1]["message"]["content"]["parts"] = ["Hello."]
            stream.write(("," if n else "[") + json.dumps(chat(f"c{n}", *some)))
        stream.write("]")
    assert place.stat().st_size > 45 * 2**20
    code = (
        "import resource; from lifelong import Memory\n"
        f"with Memory.open({str(tmp_path / 'home')!r}) as memory:\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"    assert memory.import_from({str(place)!r}).added == 400\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    grown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(grown.stdout) < 45 * 1024


def test_times_that_cannot_be_stored_are_passed_over(memory: Memory, tmp_path: Path) -> None:
    """The message is imported, with the time of its neighbour."""
    times = (
        "2026-01-05T10:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-12:00",
        "0001-01-01T00:00:00Z",
    )
    lines = [
        {"role": "user", "content": f"It is {time} here.", "session_id": "s", "timestamp": time} for time in times
    ]
    assert memory.import_from(put_lines(tmp_path / "chat.jsonl", *lines)).added == 4
    assert len(said(memory, "jsonl")[0]) >= 4
    assert {hit.at for hit in memory.list("record")} == {datetime(2026, 1, 5, 10, tzinfo=UTC)}
