"""`lifelong hook`: what a coding agent's hooks call, so that its conversations are remembered.

It takes an event of Claude Code as JSON: SessionStart and UserPromptSubmit get context back, UserPromptSubmit and
Stop store what was said, PreCompact ends a session. It never stops the host: an error is a line on standard error.
An event that comes twice stores nothing twice: each text has a key, made of its session and of its position among
the equal texts of the whole transcript. A prompt comes before the host has written it to the transcript, so the id
of the transcript's entry cannot be its key.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO

from lifelong.collect.host_text import without_host_text
from lifelong.errors import InputError, LifelongError
from lifelong.home import Home, existing_home
from lifelong.memory import DEFAULT_USER, Memory
from lifelong.serve.caller_identity import caller
from lifelong.settings import Settings
from lifelong.types import Agent, AssistantMessage, UserMessage

MAX_EVENT_BYTES = 8 * 2**20
MAX_ENTRY_BYTES = 8 * 2**20  # of a line of the transcript; a longer one is skipped
MAX_TEXT_CHARS = 100_000  # that are stored of a prompt or a reply
MAX_TURNS = 5  # from the end of the transcript that are stored: an earlier event may have been lost
MAX_TOKENS = 3_000  # of a context: at most 9,000 characters, since Claude Code cuts what is longer than 10,000
MAX_PROMPT_CHARS = 2_000  # of a prompt that are searched for
MAX_WAIT_SECONDS = 5.0  # for the database
MIN_WORDS = 3  # of a prompt that is searched for: "go on" asks for nothing

PROJECT = "CLAUDE_PROJECT_DIR"  # in the environment: the folder in which the host was started

_INTERRUPTED = "[Request interrupted"


def hook(stdin: BinaryIO, stdout: TextIO, home: str | Path, user: str = DEFAULT_USER) -> None:
    """Handle one event, and write what the host should add to its context."""
    try:
        event = _parse_event(stdin.read(MAX_EVENT_BYTES + 1))
        place = existing_home(home)
        with Memory.open(place.path, user, storage=_timeouts(place)) as memory:
            project = os.environ.get(PROJECT) or event.cwd
            context = _handle(memory, event, memory.agent(caller("claude-code", user, project)))
        if context:
            answer = {"hookEventName": event.hook_event_name, "additionalContext": context}
            stdout.write(json.dumps({"hookSpecificOutput": answer}) + "\n")
    except Exception as error:  # the host must continue
        message = str(error) if isinstance(error, LifelongError) else f"{type(error).__name__}: {error}"
        sys.stderr.write(f"lifelong hook: {''.join(sign for sign in message[:500] if sign.isprintable())}\n")


class _Event(NamedTuple):
    """The fields of an event that are used, by the host's own names; empty if the event has none."""

    hook_event_name: str
    session_id: str
    transcript_path: str
    cwd: str
    prompt: str
    last_assistant_message: str
    source: str


class _HookTurn(NamedTuple):
    """A prompt, the last answer to it, and whether the user interrupted it."""

    prompt: str
    reply: str = ""
    interrupted: bool = False


def _parse_event(data: bytes) -> _Event:
    if len(data) > MAX_EVENT_BYTES:
        raise InputError(f"The event is longer than {MAX_EVENT_BYTES:,} bytes. Nothing was stored.")
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise InputError("The event is not a JSON object. Set this command as a hook of Claude Code.")
    event = _Event(*(_clean(given.get(name)) for name in _Event._fields))
    return event._replace(prompt=without_host_text(event.prompt))


def _timeouts(place: Home) -> dict[str, float]:
    """Return timeouts that do not keep the host waiting: what was not stored comes with the next event too."""
    storage = Settings.load(place.settings).storage
    waits = {"busy_timeout": storage.busy_timeout, "connect_timeout": storage.connect_timeout}
    return {name: min(seconds, MAX_WAIT_SECONDS) for name, seconds in waits.items()}


def _handle(memory: Memory, event: _Event, agent: Agent) -> str:
    """Store what the event says, and return what the host should add to its context."""
    match event.hook_event_name:
        case "SessionStart":
            context = memory.context(agent=agent, tokens=MAX_TOKENS)
            if event.source in {"startup", "clear"}:
                _end_session(memory, agent, "The host began a session.")
            return context
        case "UserPromptSubmit":
            _store(memory, agent, event, [*_turns(event.transcript_path), _HookTurn(event.prompt)])
            return _relevant(memory, agent, event.prompt)
        case "Stop":
            turns = _turns(event.transcript_path)
            if not (turns or event.last_assistant_message):
                raise InputError("The event has no reply, and its transcript cannot be read. Nothing was stored.")
            if event.last_assistant_message:
                turns[-1:] = [_HookTurn(turns[-1].prompt if turns else "", event.last_assistant_message)]
            _store(memory, agent, event, turns)
            memory.end_turn(agent)
        case "PreCompact":
            turns = _turns(event.transcript_path)
            _store(memory, agent, event, [*turns[:-1], *(_HookTurn(one.prompt) for one in turns[-1:])])
            _end_session(memory, agent, "The host compacted its context.")
        case _:
            pass  # nothing of the other events is stored
    return ""


def _end_session(memory: Memory, agent: Agent, why: str) -> None:
    if memory.sessions.history(agent):
        memory.sessions.reset(agent, why)


def _store(memory: Memory, agent: Agent, event: _Event, turns: list[_HookTurn]) -> None:
    """Store the last turns, those that are not stored yet."""
    keyed = dict(_records(event.session_id, turns))  # a prompt that waits in the transcript comes twice
    memory.append_many(agent, keyed.values(), keys=keyed.keys())


def _records(session: str, turns: list[_HookTurn]) -> Iterator[tuple[str, UserMessage | AssistantMessage]]:
    """Yield the records of the last turns with their keys. A prompt counts as an earlier one only if it was
    answered or interrupted, so that its key is the same before and after the host has written it down."""
    earlier: dict[tuple[str, str], int] = {}
    for place, (prompt, reply, interrupted) in enumerate(turns):
        for kind, text in ((UserMessage, prompt), (AssistantMessage, reply)):
            if text and place >= len(turns) - MAX_TURNS - 1:
                identity = json.dumps([session, kind.type, text, earlier.get((kind.type, text), 0)])
                yield f"hook-{blake2b(identity.encode(), digest_size=16).hexdigest()}", kind(text)
        if reply or interrupted:
            for key in ((UserMessage.type, prompt), (AssistantMessage.type, reply)):
                earlier[key] = earlier.get(key, 0) + 1


def _relevant(memory: Memory, agent: Agent, prompt: str) -> str:
    """Return what is known about a prompt, without what the session began with, and what was said in it."""
    if len(prompt.split()) < MIN_WORDS:
        return ""
    return memory.context(prompt[:MAX_PROMPT_CHARS], agent=agent, tokens=MAX_TOKENS, relevant_only=True)


def _turns(path: str) -> list[_HookTurn]:
    """Return the turns of a transcript of Claude Code, without tools, subagents and what the host itself added."""
    turns: list[_HookTurn] = []
    for entry in _entries(path):
        if any(entry.get(mark) for mark in ("isSidechain", "isMeta", "isCompactSummary")):
            continue
        message = entry.get("message")
        text = _text_of(message.get("content")) if isinstance(message, dict) else ""
        text = without_host_text(text) if entry.get("type") == "user" else text
        if text.startswith(_INTERRUPTED) and turns:
            turns[-1] = turns[-1]._replace(interrupted=True)
        elif not text or text.startswith(_INTERRUPTED):
            continue
        elif entry.get("type") == "user":
            turns.append(_HookTurn(text))
        elif entry.get("type") == "assistant" and turns:
            turns[-1] = turns[-1]._replace(reply=text)
    return turns


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


def _clean(value: object) -> str:
    """Return text that every database accepts, cut to MAX_TEXT_CHARS."""
    if not isinstance(value, str):
        return ""
    text = value.replace("\0", "").encode("utf-8", "replace").decode().strip()
    return text if len(text) <= MAX_TEXT_CHARS else f"{text[:MAX_TEXT_CHARS]} [… cut]"
