"""The events of Claude Code, Codex and Gemini CLI, and what each adds to a memory.

An event that comes twice stores nothing twice: each record has a key. Codex numbers its turns, and Gemini CLI
gives each event its time. Claude Code does neither, and gives a prompt before it writes it to its transcript:
there, the key is made of the position of a text among the equal texts of the whole transcript.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from lifelong.errors import InputError
from lifelong.serve.hook import MAX_EVENT_BYTES
from lifelong.types import AssistantMessage, Record, ToolCall, ToolResult, UserMessage

Host: TypeAlias = Literal["claude-code", "codex", "gemini-cli"]
Moment: TypeAlias = Literal["start", "prompt", "reply", "tool", "subagent", "compaction", "end", "other"]

MAX_ENTRY_BYTES = 8 * 2**20  # of a line of the transcript; a longer one is skipped
MAX_TEXT_CHARS = 100_000  # that are stored of a prompt, a reply or what a tool gave
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

_INTERRUPTED = "[Request interrupted"
_HOST_TAG = re.compile(
    r"<((?:command|local-command|bash)-[a-z-]+|ide_[a-z_]+|system-reminder|task-notification|teammate-message"
    r"|hook_context)[\s>]"
)
"""The tags of what the host adds to a person's message, or sends instead of one."""


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
        return f"{self.session}:{self.folder}" if self.session else self.folder


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
    name = _clean(fields.get("hook_event_name") or fields.get("type"))
    session = _clean(fields.get("session_id") or fields.get("thread_id"))
    host = _host(name, session, fields, environment)
    project = {"claude-code": "CLAUDE_PROJECT_DIR", "gemini-cli": "GEMINI_PROJECT_DIR"}.get(host, "")
    event = Event(
        *(MOMENTS.get(name, "other"), name, host, session, environment.get(project) or _clean(fields.get("cwd"))),
        prompt=_without_host_text(_clean(fields.get("prompt"))),
        source=_clean(fields.get("source") or fields.get("trigger")),
    )
    if event.moment in ("tool", "subagent"):
        return _with_tools(event, fields) if tools else event._replace(moment="other")
    if host == "claude-code":
        return event._replace(records=tuple(_of_transcript(event, fields)))
    return event._replace(records=tuple(_of_fields(event, fields)))


def _host(name: str, session: str, fields: Mapping[str, Any], environment: Mapping[str, str]) -> Host:
    if name in GEMINI_EVENTS or (session and environment.get("GEMINI_SESSION_ID") == session):
        return "gemini-cli"
    transcript = _clean(fields.get("transcript_path")).replace("\\", "/")
    if "turn_id" in fields or transcript.rpartition("/")[2].startswith("rollout-"):
        return "codex"
    return "claude-code"


def _of_fields(event: Event, fields: Mapping[str, Any]) -> Iterator[tuple[str, Record]]:
    """Yield what an event of Codex or Gemini CLI says: a prompt, or the reply to it."""
    turn = _clean(fields.get("turn_id") or fields.get("timestamp"))
    prompts = [event.prompt] if event.moment == "prompt" else []
    if event.name == "agent-turn-complete" and isinstance(asked := fields.get("input_messages"), list):
        prompts = [_without_host_text(_clean(one)) for one in asked]
    for prompt in filter(None, prompts):
        yield _key(event.session, turn, UserMessage.type, prompt), UserMessage(prompt)
    if event.moment == "reply":
        reply = _clean(fields.get("last_assistant_message") or fields.get("prompt_response"))
        if reply:
            yield _key(event.session, turn, AssistantMessage.type, reply), AssistantMessage(reply)


def _of_transcript(event: Event, fields: Mapping[str, Any]) -> Iterator[tuple[str, Record]]:
    """Yield what an event of Claude Code says, after what its transcript says: an earlier event may be missing."""
    if event.moment not in ("prompt", "reply", "compaction"):
        return iter(())
    turns = _turns(_clean(fields.get("transcript_path")))
    reply = _clean(fields.get("last_assistant_message"))
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
        report, helper = _clean(fields.get("last_assistant_message")), _clean(fields.get("agent_id"))
        if not (report and helper):
            return event._replace(moment="other")
        key = _key(event.session, helper, AssistantMessage.type, report)
        subagent = (f"{event.host}-{helper}", _clean(fields.get("agent_type")) or "subagent")
        return event._replace(records=((key, AssistantMessage(report)),), subagent=subagent)
    name = _clean(fields.get("tool_name")) or "tool"
    given = fields.get("tool_input")
    call = _clean(fields.get("tool_use_id") or fields.get("timestamp"))
    arguments = given if isinstance(given, dict) else {}
    if len(text := _clean(json.dumps(arguments))) > MAX_ARGUMENT_CHARS:
        arguments = {"cut": text[:MAX_ARGUMENT_CHARS]}
    result = fields.get("tool_response")
    result = result.get("llmContent", result) if isinstance(result, dict) else result
    result = _clean(result if isinstance(result, str) else json.dumps(result))
    is_web = name.lower() in WEB_TOOLS
    records = (
        ToolCall(name, arguments, call),
        ToolResult(result, name, call, provenance="web" if is_web else "tool"),
    )
    return event._replace(
        records=tuple((_key(event.session, call, one.type, text + result), one) for one in records)
    )


def _key(*identity: object) -> str:
    return f"hook-{blake2b(json.dumps(identity).encode(), digest_size=16).hexdigest()}"


def _records(session: str, turns: list[_HookTurn]) -> Iterator[tuple[str, Record]]:
    """Yield the records of the last turns with their keys. A prompt counts as an earlier one only if it was
    answered or interrupted, so that its key is the same before and after the host has written it down."""
    earlier: dict[tuple[str, str], int] = {}
    for place, turn in enumerate(turns):
        said = (
            (UserMessage.type, turn.prompt, UserMessage(turn.prompt, at=turn.asked_at)),
            (AssistantMessage.type, turn.reply, AssistantMessage(turn.reply, at=turn.replied_at)),
        )
        for kind, text, record in said:
            if text and place >= len(turns) - MAX_TURNS - 1:
                yield _key(session, kind, text, earlier.get((kind, text), 0)), record
        if turn.reply or turn.interrupted:
            for kind, text, _ in said:
                earlier[kind, text] = earlier.get((kind, text), 0) + 1


def _turns(path: str) -> list[_HookTurn]:
    """Return the turns of a transcript of Claude Code, without tools, subagents and what the host itself added."""
    turns: list[_HookTurn] = []
    for entry in _entries(path):
        if any(entry.get(mark) for mark in ("isSidechain", "isMeta", "isCompactSummary")):
            continue
        message = entry.get("message")
        text = _text_of(message.get("content")) if isinstance(message, dict) else ""
        text = _without_host_text(text) if entry.get("type") == "user" else text
        if text.startswith(_INTERRUPTED) and turns:
            turns[-1] = turns[-1]._replace(interrupted=True)
        elif not text or text.startswith(_INTERRUPTED):
            continue
        elif entry.get("type") == "user":
            turns.append(_HookTurn(text, asked_at=_time(entry.get("timestamp"))))
        elif entry.get("type") == "assistant" and turns:
            turns[-1] = turns[-1]._replace(reply=text, replied_at=_time(entry.get("timestamp")))
    return turns


def _time(given: object) -> datetime | None:
    """Return the time of an entry of the transcript; none where it has none, or one to come."""
    try:
        at = datetime.fromisoformat(str(given))
    except ValueError:
        return None
    return at if at.tzinfo and at <= datetime.now(UTC) else None


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


def _text_of(content: object) -> str:
    """Return the text of a message; nothing if it is a tool's."""
    if isinstance(content, list):
        blocks = [block for block in content if isinstance(block, dict)]
        if any(block.get("type") == "tool_result" for block in blocks):
            return ""
        content = "\n\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
    return _clean(content)


def _without_host_text(text: str) -> str:
    """Return what a person wrote of a message, without what the host added."""
    kept, start, absent = "", 0, set()
    for opened in _HOST_TAG.finditer(text):
        closing = f"</{opened[1]}>"
        if opened.start() < start or closing in absent:
            continue
        if (end := text.find(closing, opened.end())) < 0:
            absent.add(closing)  # search once: a text may open thousands of tags that nothing closes
        else:
            kept += text[start : opened.start()]
            start = end + len(closing)
    return (kept + text[start:]).strip()


def _clean(value: object) -> str:
    """Return text that every database accepts, cut to MAX_TEXT_CHARS."""
    if not isinstance(value, str):
        return ""
    text = value.replace("\0", "").encode("utf-8", "replace").decode().strip()
    return text if len(text) <= MAX_TEXT_CHARS else f"{text[:MAX_TEXT_CHARS]} [… cut]"
