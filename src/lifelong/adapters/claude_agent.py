"""Claude Agent SDK: a `SessionStore` whose transcripts are remembered, and hooks that recall and remember.

    options = ClaudeAgentOptions(session_store=LifelongSessionStore(memory), hooks=hooks(memory, capture=False))

With the store, whole transcripts are kept, so that a session can be resumed on another machine; the hooks then
only put context before a prompt. Without it, `hooks(memory)` also stores what was said, and what tools were asked
and answered.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, cast
from urllib.parse import quote

from lifelong.adapters.originals import Message, carried, carry, validate_message
from lifelong.collect.claude_code import without_host_text
from lifelong.collect.descriptors import Descriptor, Task, User
from lifelong.collect.messages import to_records, with_tool_names
from lifelong.errors import InputError, LifelongError
from lifelong.memory import Memory, person_of
from lifelong.types import Agent, AssistantMessage, Record, SystemMessage, ToolCall, UserMessage, to_micros

try:
    from claude_agent_sdk import (
        HookContext,
        HookInput,
        HookJSONOutput,
        HookMatcher,
        SessionKey,
        SessionListSubkeysKey,
        SessionStore,
        SessionStoreEntry,
        SessionStoreListEntry,
        SessionSummaryEntry,
        fold_session_summary,
    )
    from claude_agent_sdk.types import HookEvent
except ImportError as error:
    raise ImportError("This adapter needs the Claude Agent SDK: pip install 'lifelong[claude]'") from error

log = logging.getLogger("lifelong.adapters")

STORED = "claude-sessions"  # the connector of what the store keeps
HOOKED = "claude-agent"  # the connector of what the hooks store
AUTHOR = "claude-agent-sdk"
DEFAULT_TOKENS = 3_000  # at most 9,000 characters, since Claude Code cuts what is longer than 10,000
MIN_WORDS = 3  # of a prompt that is searched for: "go on" asks for nothing
MAX_AHEAD = timedelta(hours=12)  # of the host's clock


class LifelongSessionStore(SessionStore):
    """The sessions of the Claude Agent SDK in a memory. Each transcript is the history of an agent: what was said
    in it is organized and found like everything else, and its entries come back as they were."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Store entries, all or none. One that comes again is not stored twice."""
        await asyncio.to_thread(self._append, key, entries)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return the entries of a transcript, in order; none where there is no such transcript."""
        return await asyncio.to_thread(self._load, _descriptor(key))

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Return the sessions of a project, with the times at which something was last stored in them."""
        return await asyncio.to_thread(lambda: [entry for _, entry in self._sessions(project_key)])

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Return the summaries of a project's sessions, made from what is stored."""
        return await asyncio.to_thread(lambda: [*self._summaries(project_key)])

    async def delete(self, key: SessionKey) -> None:
        """Forget a transcript for good, with all that was learned from it alone; one of a session, with those of
        its subagents."""
        await asyncio.to_thread(self._delete, key)

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return the subpaths under which a session has transcripts of subagents."""
        return await asyncio.to_thread(lambda: [subpath for subpath, _ in self._subagents(key)])

    def _append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        limit, latest = self._memory.settings.collect.max_record_chars, datetime.now(UTC) + MAX_AHEAD
        names: dict[str, str] = {}
        records: list[Record] = []
        keys: list[str | None] = []
        for number, entry in enumerate(entries, 1):
            message = validate_message(entry, f"Entry {number}")
            at = _time_of(message, latest)
            said = with_tool_names(_records(message, is_subagent="subpath" in key), names)
            made = [replace(one, at=at) for one in carry(message, said, limit)]
            keys += _keys(message, len(made))
            records += made
        if records:
            self._memory.append_many(self._memory.agent(_descriptor(key)), records, keys=keys)

    def _load(self, descriptor: Descriptor) -> list[SessionStoreEntry] | None:
        agent = self._memory.agents.look_up(descriptor)
        entries: dict[object, Message] = {}
        for session in self._memory.sessions.list(agent) if agent else ():
            for stored, message in carried(self._memory.sessions.history(session)):
                if message is not None:
                    entries[message.get("uuid") or stored.id] = message
        return cast("list[SessionStoreEntry]", [*entries.values()]) or None

    def _sessions(self, project_key: str) -> Iterator[tuple[SessionKey, SessionStoreListEntry]]:
        for agent in self._memory.agents.list():
            one = agent.descriptor
            if not isinstance(one, User) or (one.connector, one.user_id) != (STORED, project_key):
                continue
            for last in self._memory.sessions.last(agent):
                key: SessionKey = {"project_key": project_key, "session_id": one.channel_id}
                yield key, {"session_id": one.channel_id, "mtime": to_micros(last.recorded_at) // 1000}

    def _summaries(self, project_key: str) -> Iterator[SessionSummaryEntry]:
        for key, entry in self._sessions(project_key):
            summary = fold_session_summary(None, key, self._load(_descriptor(key)) or [])
            yield {**summary, "mtime": entry["mtime"]}

    def _subagents(self, key: SessionKey | SessionListSubkeysKey) -> Iterator[tuple[str, Agent]]:
        within = _task_prefix(key)
        for agent in self._memory.agents.list():
            one = agent.descriptor
            if isinstance(one, Task) and one.id.startswith(within) and self._memory.sessions.last(agent):
                yield one.id.removeprefix(within), agent

    def _delete(self, key: SessionKey) -> None:
        found = self._memory.agents.look_up(_descriptor(key))
        agents = [found] if found else []
        if "subpath" not in key:
            agents += [agent for _, agent in self._subagents(key)]
        for agent in agents:
            self._memory.forget(agent=agent, author=AUTHOR)


def _descriptor(key: SessionKey) -> Descriptor:
    """Return who talks in a transcript: a person with Claude, or, in a subagent's, Claude with itself."""
    if "subpath" in key:
        return Task(_task_prefix(key) + key["subpath"])
    return User(STORED, key["project_key"], key["session_id"])


def _task_prefix(key: SessionKey | SessionListSubkeysKey) -> str:
    return f"{STORED}/{quote(key['project_key'], safe='')}/{quote(key['session_id'], safe='')}/"


def _records(entry: Message, *, is_subagent: bool) -> list[Record]:
    """Return what was said in an entry. The word of a person is what they typed, without what the host added; what
    a subagent is told is the agent's."""
    message = entry.get("message")
    if entry.get("type") not in ("user", "assistant") or not isinstance(message, dict) or entry.get("isMeta"):
        return []
    try:
        records = to_records(message)
    except InputError as error:
        log.warning("an entry of a transcript is kept, but what it says is not found: %s", error)
        return []
    if entry.get("isCompactSummary"):
        return [SystemMessage(one.text, summary=True) for one in records if isinstance(one, UserMessage)]
    if is_subagent or entry.get("isSidechain"):
        return [replace(one, provenance="agent") if isinstance(one, UserMessage) else one for one in records]
    return [
        replace(one, text=typed) if isinstance(one, UserMessage) else one
        for one in records
        if (typed := without_host_text(one.text) if isinstance(one, UserMessage) else " ")
    ]


def _time_of(entry: Message, latest: datetime) -> datetime | None:
    try:
        at = datetime.fromisoformat(str(entry.get("timestamp")))
    except ValueError:
        return None
    return at if at.tzinfo and at < latest else None


def _keys(entry: Message, count: int) -> list[str | None]:
    """Return the idempotency keys of an entry's records; none without a uuid. One that was changed is stored
    again, and then comes back in the place of the first."""
    if not isinstance(uuid := entry.get("uuid"), str):
        return [None] * count
    content = blake2b(json.dumps([uuid, entry], sort_keys=True).encode(), digest_size=16).hexdigest()
    return [f"{STORED}-{content}-{number}" for number in range(count)]


# Hooks


def hooks(
    memory: Memory, *, capture: bool = True, tokens: int = DEFAULT_TOKENS
) -> dict[HookEvent, list[HookMatcher]]:
    """Return the value of `ClaudeAgentOptions(hooks=…)`: before each prompt Claude gets what memory knows about
    it, in at most `tokens` tokens; prompts, replies and the work of tools are stored. Say `capture=False` where a
    `LifelongSessionStore` stores them already."""
    use = _Hooks(memory, capture, tokens)
    events: dict[HookEvent, list[HookMatcher]] = {"UserPromptSubmit": [HookMatcher(hooks=[use])]}
    if capture:
        events |= {
            event: [HookMatcher(hooks=[use])]
            for event in ("PostToolUse", "PostToolUseFailure", "Stop", "PreCompact")
        }
    return events


class _Hooks:
    """One callback for every event. An error never stops the host: it is logged."""

    def __init__(self, memory: Memory, capture: bool, tokens: int) -> None:
        self._memory = memory
        self._capture = capture
        self._tokens = tokens
        self._begun: set[str] = set()  # sessions that have a whole context

    async def __call__(self, given: HookInput, _tool_use_id: str | None, _context: HookContext) -> HookJSONOutput:
        event = cast("dict[str, Any]", given)
        try:
            context = await asyncio.to_thread(self._handle, event)
        except (LifelongError, LookupError) as error:
            log.error("%s was not handled, and Claude goes on without: %s", event.get("hook_event_name"), error)
            return {}
        if not context:
            return {}
        return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": context}}

    def _handle(self, event: dict[str, Any]) -> str:
        if event.get("agent_id"):
            return ""  # a subagent's work; what it found comes with the result of the tool that started it
        who = User(HOOKED, person_of(self._memory.user), event["session_id"])
        match event["hook_event_name"]:
            case "UserPromptSubmit":
                prompt = without_host_text(event["prompt"])
                context = self._context(event["session_id"], who, prompt)
                self._store(who, [UserMessage(prompt)] if prompt else [])
                return context
            case "PostToolUse" | "PostToolUseFailure":
                self._store(who, _tool_records(event))
            case "Stop":
                reply = event.get("last_assistant_message") or ""
                self._store(who, [AssistantMessage(reply)] if reply else [])
                self._memory.end_turn(self._memory.agent(who))
            case "PreCompact":
                agent = self._memory.agents.look_up(who)
                if agent and self._memory.sessions.last(agent):
                    self._memory.sessions.reset(agent, "The host compacted its context.")
            case _:
                pass
        return ""

    def _context(self, session_id: str, who: User, prompt: str) -> str:
        """Return a whole context before the first prompt of a session, then what is relevant to each."""
        agent, first = self._memory.agents.look_up(who), session_id not in self._begun
        self._begun.add(session_id)
        if len(prompt.split()) < MIN_WORDS and not first:
            return ""
        return self._memory.context(prompt, agent=agent, tokens=self._tokens, relevant_only=not first)

    def _store(self, who: User, records: list[Record]) -> None:
        if records and self._capture:
            self._memory.add(records, agent=who)


def _tool_records(event: dict[str, Any]) -> list[Record]:
    failed = event["hook_event_name"] == "PostToolUseFailure"
    result = {
        "role": "tool",
        "name": event["tool_name"],
        "tool_call_id": event["tool_use_id"],
        "content": event["error"] if failed else event["tool_response"],
        "is_error": failed,
    }
    return [ToolCall(event["tool_name"], event["tool_input"], event["tool_use_id"]), *to_records(result)]
