"""`lifelong hook`: what a coding agent's hooks call, so that its talks are remembered and come back.

It takes an event of Claude Code as JSON: SessionStart and UserPromptSubmit get context back, UserPromptSubmit and
Stop store what was said, PreCompact ends a session. The host never fails for it: whatever goes wrong is a line on
standard error. An event that comes twice stores nothing twice: each text has a key, by its session and its place
among the same texts of the whole transcript. A prompt comes before the host has written it down, so the id of the
transcript's entry could not be its key.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO

from lifelong.errors import InputError, LifelongError
from lifelong.home import Home, existing_home
from lifelong.memory import DEFAULT_USER, Memory
from lifelong.serve.caller_identity import caller
from lifelong.settings import Settings
from lifelong.types import Agent, AssistantMessage, UserMessage

LARGEST_EVENT = 8 * 2**20  # bytes
LARGEST_ENTRY = 8 * 2**20  # bytes of a line of the transcript; a longer one is passed over
LONGEST_TEXT = 100_000  # characters that are stored of a prompt or a reply
TURNS = 5  # at the transcript's end that are looked after: one may have been interrupted
HITS = 5  # what a prompt is given of what is known about it
PATIENCE = 5.0  # seconds
LEAST_WORDS = 3  # "go on" asks for nothing

PROJECT = "CLAUDE_PROJECT_DIR"  # in the environment: where the host was started, wherever it has gone since

_INTERRUPTED = "[Request interrupted"
_NOT_SAID = re.compile(
    r"<((?:command|local-command|bash)-[a-z-]+|ide_[a-z_]+|system-reminder|task-notification|teammate-message)[\s>]"
)
"""How that begins which the host puts into a person's message, or in the place of one."""


def hook(stdin: BinaryIO, stdout: TextIO, home: str | Path, user: str = DEFAULT_USER) -> None:
    """Do what the event asks for, and write what the host should add to its context."""
    try:
        event = _event(stdin.read(LARGEST_EVENT + 1))
        place = existing_home(home)
        with Memory.open(place.path, user, storage=_patience(place)) as memory:
            project = os.environ.get(PROJECT) or event.cwd
            told = _heard(memory, event, memory.agent(caller("claude-code", user, project)))
        if told:
            answer = {"hookEventName": event.hook_event_name, "additionalContext": told}
            stdout.write(json.dumps({"hookSpecificOutput": answer}) + "\n")
    except Exception as error:  # the host goes on, whatever it is
        said = str(error) if isinstance(error, LifelongError) else f"{type(error).__name__}: {error}"
        sys.stderr.write(f"lifelong hook: {''.join(sign for sign in said[:500] if sign.isprintable())}\n")


class _Event(NamedTuple):
    """What is read of an event, by the host's own names; empty where it says nothing of it."""

    hook_event_name: str
    session_id: str
    transcript_path: str
    cwd: str
    prompt: str
    last_assistant_message: str
    source: str


class _Turn(NamedTuple):
    """What was asked, the last thing that was answered, and whether the user broke in before there was more."""

    prompt: str
    reply: str = ""
    interrupted: bool = False


def _event(data: bytes) -> _Event:
    if len(data) > LARGEST_EVENT:
        raise InputError(f"The event is longer than {LARGEST_EVENT:,} bytes. Nothing was stored.")
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise InputError("The event is no JSON object. Set the command as a hook, which gives it one.")
    event = _Event(*(_clean(given.get(name)) for name in _Event._fields))
    return event._replace(prompt=_said(event.prompt))


def _patience(place: Home) -> dict[str, float]:
    """How long a database may keep the host waiting: what could not be stored comes with the next event, too."""
    storage = Settings.load(place.settings).storage
    waits = {"busy_timeout": storage.busy_timeout, "connect_timeout": storage.connect_timeout}
    return {name: min(seconds, PATIENCE) for name, seconds in waits.items()}


def _heard(memory: Memory, event: _Event, agent: Agent) -> str:
    """What to tell the host."""
    match event.hook_event_name:
        case "SessionStart":
            told = memory.context(agent=agent)
            if event.source in {"startup", "clear"}:
                _end_session(memory, agent, "The host began a session.")
            return told
        case "UserPromptSubmit":
            _store(memory, agent, event, [*_turns(event.transcript_path), _Turn(event.prompt)])
            return _known(memory, event.prompt)
        case "Stop":
            turns = _turns(event.transcript_path)
            if not (turns or event.last_assistant_message):
                raise InputError("The event has no reply, and its transcript cannot be read. Nothing was stored.")
            if event.last_assistant_message:
                turns[-1:] = [_Turn(turns[-1].prompt if turns else "", event.last_assistant_message)]
            _store(memory, agent, event, turns)
            memory.end_turn(agent)
        case "PreCompact":
            turns = _turns(event.transcript_path)
            _store(memory, agent, event, [*turns[:-1], *(_Turn(one.prompt) for one in turns[-1:])])
            _end_session(memory, agent, "The host compacted its context.")
        case _:
            pass  # other events say nothing that is kept
    return ""


def _end_session(memory: Memory, agent: Agent, why: str) -> None:
    if memory.sessions.history(agent):
        memory.sessions.reset(agent, why)


def _store(memory: Memory, agent: Agent, event: _Event, turns: list[_Turn]) -> None:
    """The last turns, as far as they are not stored yet."""
    keyed = dict(_records(event.session_id, turns))  # a prompt that waits in the transcript comes twice
    memory.append_many(agent, keyed.values(), keys=keyed.keys())


def _records(session: str, turns: list[_Turn]) -> Iterator[tuple[str, UserMessage | AssistantMessage]]:
    """The records of the last turns, by their keys. A prompt counts as said before only if it was answered, so
    that its key is the same before and after the host has written it down; or if its answer was broken off."""
    said: dict[tuple[str, str], int] = {}
    for place, (prompt, reply, interrupted) in enumerate(turns):
        for kind, text in ((UserMessage, prompt), (AssistantMessage, reply)):
            if text and place >= len(turns) - TURNS - 1:
                known = json.dumps([session, kind.type, text, said.get((kind.type, text), 0)])
                yield f"hook-{blake2b(known.encode(), digest_size=16).hexdigest()}", kind(text)
        if reply or interrupted:
            for key in ((UserMessage.type, prompt), (AssistantMessage.type, reply)):
                said[key] = said.get(key, 0) + 1


def _known(memory: Memory, prompt: str) -> str:
    """What is known about a prompt, but for what was said: that may be this very talk."""
    from lifelong.recall.context import PREFACE
    from lifelong.recall.fence import fenced, line

    if len(prompt.split()) < LEAST_WORDS:
        return ""
    hits = memory.search(prompt[:2_000], HITS, kinds=("fact", "experience", "note"))
    lines = [line(one, prompt) for one in hits if one.until is None]
    return fenced([PREFACE, *lines]) if lines else ""


def _turns(path: str) -> list[_Turn]:
    """What a transcript of Claude Code says, but for tools, subagents and what the host itself put there."""
    turns: list[_Turn] = []
    for entry in _entries(path):
        if any(entry.get(mark) for mark in ("isSidechain", "isMeta", "isCompactSummary")):
            continue
        message = entry.get("message")
        text = _words(message.get("content")) if isinstance(message, dict) else ""
        text = _said(text) if entry.get("type") == "user" else text
        if text.startswith(_INTERRUPTED) and turns:
            turns[-1] = turns[-1]._replace(interrupted=True)
        elif not text or text.startswith(_INTERRUPTED):
            continue
        elif entry.get("type") == "user":
            turns.append(_Turn(text))
        elif entry.get("type") == "assistant" and turns:
            turns[-1] = turns[-1]._replace(reply=text)
    return turns


def _entries(path: str) -> Iterator[Mapping[str, object]]:
    for line in _lines(path):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue  # half a line at the end, or nothing of ours
        if isinstance(entry, dict):
            yield entry


def _lines(path: str) -> Iterator[bytes]:
    """The lines of a file, if it is a regular one. A path that leads to anything else, or nowhere, has none."""
    place = Path(path)
    try:
        if place.suffix != ".jsonl" or not place.is_file():
            return
        with place.open("rb") as file:
            whole = True
            while line := file.readline(LARGEST_ENTRY):
                if whole and (line.endswith(b"\n") or len(line) < LARGEST_ENTRY):
                    yield line
                whole = line.endswith(b"\n")
    except OSError:
        return


def _words(content: object) -> str:
    """The words of a message; nothing where it is a tool's."""
    if isinstance(content, list):
        blocks = [block for block in content if isinstance(block, dict)]
        if any(block.get("type") == "tool_result" for block in blocks):
            return ""
        content = "\n\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
    return _clean(content)


def _said(text: str) -> str:
    """What a person said of a message, which may be nothing."""
    kept, start, absent = "", 0, set()
    for opened in _NOT_SAID.finditer(text):
        closing = f"</{opened[1]}>"
        if opened.start() < start or closing in absent:
            continue
        if (end := text.find(closing, opened.end())) < 0:
            absent.add(closing)  # looked for once: a text may open thousands that nothing closes
        else:
            kept += text[start : opened.start()]
            start = end + len(closing)
    return (kept + text[start:]).strip()


def _clean(value: object) -> str:
    """Text that every database takes, and not too much of it."""
    if not isinstance(value, str):
        return ""
    text = value.replace("\0", "").encode("utf-8", "replace").decode().strip()
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} [… cut]"
