"""The events of Claude Code, Codex and Gemini CLI, and what each adds to a memory.

An event that comes twice stores nothing twice: each record has a key. Codex numbers its turns, and Gemini CLI
gives each event its time. Claude Code does neither, and gives a prompt before it writes it to its transcript:
there, the key is made of the position of a text among the equal texts of the whole transcript.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from lifelong.collect.claude_code import (
    INTERRUPTED,
    TextKeys,
    channel_of,
    clean_text,
    text_of_message,
    turn_key,
    without_host_text,
)
from lifelong.errors import InputError
from lifelong.serve.hook import MAX_EVENT_BYTES
from lifelong.types import AssistantMessage, Record, ToolCall, ToolResult, UserMessage
from lifelong.validation import validate_time

Host: TypeAlias = Literal["claude-code", "codex", "gemini-cli"]
Moment: TypeAlias = Literal["start", "prompt", "reply", "tool", "subagent", "compaction", "end", "other"]

MAX_ENTRY_BYTES = 8 * 2**20  # of a line of the transcript; a longer one is skipped
MAX_ARGUMENT_CHARS = 20_000  # of a tool's arguments, as JSON
MAX_TURNS = 5  # from the end of the transcript that are stored: an earlier event may have been lost

MOMENTS: dict[str, Moment] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "BeforeAgent": "prompt",
    "Stop": "reply",
    "AfterAgent": "reply",
    "agent-turn-complete": "reply",
    "PostToolUse": "tool",
    "AfterTool": "tool",
    "SubagentStop": "subagent",
    "PreCompact": "compaction",
    "PreCompress": "compaction",
    "SessionEnd": "end",
}
"""What the hosts call their events. The others are passed over."""
GEMINI_EVENTS = {"BeforeAgent", "AfterAgent", "AfterTool", "PreCompress"}
WEB_TOOLS = {"webfetch", "websearch", "web_fetch", "web_search", "google_web_search"}


class Event(NamedTuple):
    """An event of a host: which, in which of its sessions and in which folder, and what it brings."""

    moment: Moment
    name: str
    host: Host
    session: str
    folder: str
    prompt: str = ""
    source: str = ""
    records: tuple[tuple[str, Record], ...] = ()
    subagent: tuple[str, ...] = ()

    @property
    def channel(self) -> str:
        """What the host's session is called as an agent: each is one of its own, and ends with its folder."""
        return channel_of(self.session, self.folder)


class _HookTurn(NamedTuple):
    """A prompt, the last answer to it, whether the user interrupted it, and when the two were written."""

    prompt: str
    reply: str = ""
    interrupted: bool = False
    asked_at: datetime | None = None
    replied_at: datetime | None = None


def parse_event(data: bytes, environment: Mapping[str, str], *, tools: bool = False) -> Event:
    """Return the event that a host gave. With `tools`, tool calls and what subagents report are part of it. Raise
    `InputError` for what is not an event, or a reply that is nowhere."""
    if len(data) > MAX_EVENT_BYTES:
        raise InputError(f"The event is longer than {MAX_EVENT_BYTES:,} bytes. Nothing was stored.")
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise InputError(
            "The event is not a JSON object. Set this command as a hook of Claude Code, Codex or Gemini CLI."
        )
    fields = {name.replace("-", "_"): value for name, value in given.items()}  # Codex's notify writes thread-id
    name = clean_text(fields.get("hook_event_name") or fields.get("type"))
    session = clean_text(fields.get("session_id") or fields.get("thread_id"))
    host = _host(name, session, fields, environment)
    project = {"claude-code": "CLAUDE_PROJECT_DIR", "gemini-cli": "GEMINI_PROJECT_DIR"}.get(host, "")
    folder = environment.get(project) or clean_text(fields.get("cwd"))
    event = Event(
        *(MOMENTS.get(name, "other"), name, host, session, folder),
        prompt=without_host_text(clean_text(fields.get("prompt"))),
        source=clean_text(fields.get("source") or fields.get("trigger")),
    )
    if event.moment in ("tool", "subagent"):
        return _with_tools(event, fields) if tools else event._replace(moment="other")
    if host == "claude-code":
        return event._replace(records=tuple(_of_transcript(event, fields)))
    return event._replace(records=tuple(_of_fields(event, fields)))


def _host(name: str, session: str, fields: Mapping[str, Any], environment: Mapping[str, str]) -> Host:
    if name in GEMINI_EVENTS or (session and environment.get("GEMINI_SESSION_ID") == session):
        return "gemini-cli"
    transcript = clean_text(fields.get("transcript_path")).replace("\\", "/")
    if "turn_id" in fields or transcript.rpartition("/")[2].startswith("rollout-"):
        return "codex"
    return "claude-code"


def _of_fields(event: Event, fields: Mapping[str, Any]) -> Iterator[tuple[str, Record]]:
    """Yield what an event of Codex or Gemini CLI says: a prompt, or the reply to it."""
    turn = clean_text(fields.get("turn_id") or fields.get("timestamp"))
    prompts = [event.prompt] if event.moment == "prompt" else []
    if event.name == "agent-turn-complete" and isinstance(asked := fields.get("input_messages"), list):
        prompts = [without_host_text(clean_text(one)) for one in asked]
    for prompt in filter(None, prompts):
        yield turn_key(event.session, turn, UserMessage.type, prompt), UserMessage(prompt)
    if event.moment == "reply":
        reply = clean_text(fields.get("last_assistant_message") or fields.get("prompt_response"))
        if reply:
            yield turn_key(event.session, turn, AssistantMessage.type, reply), AssistantMessage(reply)


def _of_transcript(event: Event, fields: Mapping[str, Any]) -> Iterator[tuple[str, Record]]:
    """Yield what an event of Claude Code says, after what its transcript says: an earlier event may be missing."""
    if event.moment not in ("prompt", "reply", "compaction"):
        return iter(())
    turns = _turns(clean_text(fields.get("transcript_path")))
    reply = clean_text(fields.get("last_assistant_message"))
    match event.moment:
        case "prompt":
            turns.append(_HookTurn(event.prompt))
        case "reply":
            if not (turns or reply):
                raise InputError("The event has no reply, and its transcript cannot be read. Nothing was stored.")
            if reply:
                last = turns[-1] if turns else _HookTurn("")
                turns[-1:] = [_HookTurn(last.prompt, reply, asked_at=last.asked_at)]
        case _:
            turns[-1:] = [_HookTurn(one.prompt, asked_at=one.asked_at) for one in turns[-1:]]
    return iter(dict(_records(event.session, turns)).items())  # a prompt that waits in the transcript comes twice


def _with_tools(event: Event, fields: Mapping[str, Any]) -> Event:
    """Return an event with what a tool was asked and gave, or with what a subagent reported."""
    if event.moment == "subagent":
        report, helper = clean_text(fields.get("last_assistant_message")), clean_text(fields.get("agent_id"))
        if not (report and helper):
            return event._replace(moment="other")
        key = turn_key(event.session, helper, AssistantMessage.type, report)
        subagent = (f"{event.host}-{helper}", clean_text(fields.get("agent_type")) or "subagent")
        return event._replace(records=((key, AssistantMessage(report)),), subagent=subagent)
    name = clean_text(fields.get("tool_name")) or "tool"
    given = fields.get("tool_input")
    call = clean_text(fields.get("tool_use_id") or fields.get("timestamp"))
    arguments = given if isinstance(given, dict) else {}
    if len(text := clean_text(json.dumps(arguments))) > MAX_ARGUMENT_CHARS:
        arguments = {"cut": text[:MAX_ARGUMENT_CHARS]}
    result = fields.get("tool_response")
    result = result.get("llmContent", result) if isinstance(result, dict) else result
    result = clean_text(result if isinstance(result, str) else json.dumps(result))
    is_web = name.lower() in WEB_TOOLS
    records = (
        ToolCall(name, arguments, call),
        ToolResult(result, name, call, provenance="web" if is_web else "tool"),
    )
    return event._replace(
        records=tuple((turn_key(event.session, call, one.type, text + result), one) for one in records)
    )


def _records(session: str, turns: list[_HookTurn]) -> Iterator[tuple[str, Record]]:
    """Yield the records of the last turns with their keys. A prompt counts as an earlier one only if it was
    answered or interrupted, so that its key is the same before and after the host has written it down."""
    keys = TextKeys(session)
    for place, turn in enumerate(turns):
        said = (
            (turn.prompt, UserMessage(turn.prompt, at=turn.asked_at)),
            (turn.reply, AssistantMessage(turn.reply, at=turn.replied_at)),
        )
        for text, record in said:
            if text and place >= len(turns) - MAX_TURNS - 1:
                yield keys.key(type(record), text), record
        if turn.reply or turn.interrupted:
            keys.end_turn(turn.prompt, turn.reply)


def _turns(path: str) -> list[_HookTurn]:
    """Return the turns of a transcript of Claude Code, without tools, subagents and what the host itself added."""
    turns: list[_HookTurn] = []
    for entry in _entries(path):
        if any(entry.get(mark) for mark in ("isSidechain", "isMeta", "isCompactSummary")):
            continue
        message = entry.get("message")
        text = text_of_message(message.get("content")) if isinstance(message, dict) else ""
        text = without_host_text(text) if entry.get("type") == "user" else text
        if text.startswith(INTERRUPTED) and turns:
            turns[-1] = turns[-1]._replace(interrupted=True)
        elif not text or text.startswith(INTERRUPTED):
            continue
        elif entry.get("type") == "user":
            turns.append(_HookTurn(text, asked_at=_time(entry.get("timestamp"))))
        elif entry.get("type") == "assistant" and turns:
            turns[-1] = turns[-1]._replace(reply=text, replied_at=_time(entry.get("timestamp")))
    return turns


def _time(given: object) -> datetime | None:
    """Return the time of an entry of the transcript; none where it has none, or one to come."""
    try:
        at = validate_time(datetime.fromisoformat(str(given)), "A time")
    except ValueError:  # an InputError, too
        return None
    return at if at <= datetime.now(UTC) else None


def _entries(path: str) -> Iterator[Mapping[str, object]]:
    for line in _lines(path):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue  # half a line at the end, or another format
        if isinstance(entry, dict):
            yield entry


def _lines(path: str) -> Iterator[bytes]:
    """Yield the lines of a regular file. Another path has none."""
    place = Path(path)
    try:
        if place.suffix != ".jsonl" or not place.is_file():
            return
        with place.open("rb") as file:
            whole = True
            while line := file.readline(MAX_ENTRY_BYTES):
                if whole and (line.endswith(b"\n") or len(line) < MAX_ENTRY_BYTES):
                    yield line
                whole = line.endswith(b"\n")
    except OSError:
        return
