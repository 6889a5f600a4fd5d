"""Google ADK: `LifelongMemoryService` keeps the sessions of an app's users, each in a memory of its own."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b

from lifelong.adapters.turns import TurnWriter, agent_of
from lifelong.errors import InputError
from lifelong.memory import Memory, Store
from lifelong.types import AssistantMessage, Hit, Note, Record, ToolCall, ToolResult, UserMessage

try:
    from google.adk.events.event import Event
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions.session import Session
    from google.genai import types
except ImportError as error:
    raise ImportError("This adapter needs Google ADK. Install it: pip install 'lifelong[adk]'") from error

PERSON = "user"  # the author of what the user said
OWN_TOOL = "load_memory"  # what it returned was remembered already
MAX_HITS = 10
STANDING_TOKENS = 600
MAX_READABLE_CHARS = 47  # of a user's name, before its digest

UserOf = Callable[[str, str], str]


def user_of(app_name: str, user_id: str) -> str:
    """Return the user of lifelong for a user of an app: "kitchen-mara-6f1c…", another one for each pair."""
    readable = re.sub(r"[^a-z0-9_]+", "-", f"{app_name}-{user_id}".lower()).strip("-_") or "user"
    digest = blake2b(json.dumps([app_name, user_id]).encode(), digest_size=8).hexdigest()
    return f"{readable[:MAX_READABLE_CHARS]}-{digest}"


class LifelongMemoryService(BaseMemoryService):
    """Keep what the users of an app of ADK say, in a store.

        Runner(..., memory_service=LifelongMemoryService(store))

    Each pair of `app_name` and `user_id` is a user of lifelong; `user_of` names it."""

    def __init__(self, store: Store, user_of: UserOf = user_of) -> None:
        self._store = store
        self._user_of = user_of
        self._writer = TurnWriter()

    async def add_session_to_memory(self, session: Session) -> None:
        """Store the events of a session, those that are not stored yet."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store events, those that are not stored yet. Metadata is refused."""
        _refuse_metadata(custom_metadata)
        records = [(f"adk:{event.id}", found) for event in events if (found := [*_records(event)])]
        await asyncio.to_thread(self._add, app_name, user_id, session_id or "", records)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store notes, as the agent's word, also where another author is named. Metadata is refused."""
        _refuse_metadata(custom_metadata)
        for one in memories:
            _refuse_metadata(one.custom_metadata)
        notes = [_note(one) for one in memories]
        await asyncio.to_thread(lambda: self._memory(app_name, user_id).add(notes))

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return what always matters about the user, and what is known about the query, best first."""
        return await asyncio.to_thread(self._search, app_name, user_id, query)

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget one thing for good, by the id that a search gave."""
        if memory_id:
            memory = self._memory(app_name, user_id)
            await asyncio.to_thread(memory.forget, memory_id, author="adk")

    def _memory(self, app_name: str, user_id: str) -> Memory:
        return self._store.user(self._user_of(app_name, user_id))

    def _add(self, app_name: str, user_id: str, session_id: str, records: Sequence[tuple[str, object]]) -> None:
        if records:
            memory = self._memory(app_name, user_id)
            agent = agent_of(memory, "adk", session_id)
            self._writer.store(memory, agent, records)
            memory.end_turn(agent)

    def _search(self, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        memory = self._memory(app_name, user_id)
        standing = memory.context(tokens=STANDING_TOKENS)
        hits = memory.search(query, MAX_HITS) if query.strip() else []
        known = [_entry(one) for one in hits if one.confidence != "low" and f"{one.id}]" not in standing]
        always = [MemoryEntry(content=_content("user", standing), author="lifelong")] if standing else []
        return SearchMemoryResponse(memories=always + known)


def _refuse_metadata(given: Mapping[str, object] | None) -> None:
    if given:
        raise InputError(
            f"lifelong stores no metadata such as {next(iter(given))!r:.100}. Leave custom_metadata out."
        )


def _records(event: Event) -> Iterator[Record]:
    """Yield what an event says, calls and returns; nothing for a piece of a stream, which comes whole later."""
    if event.partial or not event.content:
        return
    at = datetime.fromtimestamp(event.timestamp, UTC)
    for part in event.content.parts or ():
        call, result = part.function_call, part.function_response
        if call:
            yield ToolCall(call.name or "tool", call.args or {}, call.id or "", at=at)
        elif result and result.name != OWN_TOOL:
            answer = result.response or {}
            text = answer["result"] if [*answer] == ["result"] else answer
            shown = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False, default=str)
            yield ToolResult(shown, result.name or "", result.id or "", "error" in answer, at=at)
        elif (text := _text(part)) and event.author == PERSON:
            yield UserMessage(text, at=at)
        elif text:
            yield AssistantMessage(text, event.author, at=at)


def _text(part: types.Part) -> str:
    """Return what a part says; of a file, its type."""
    if part.thought:
        return ""
    file = part.inline_data or part.file_data
    return part.text or (f"[{file.mime_type or 'file'}]" if file else "")


def _note(entry: MemoryEntry) -> Note:
    text = "\n\n".join(filter(None, map(_text, entry.content.parts or ())))
    if not text:
        raise InputError("A memory has no text. Put some into its content.")
    at = datetime.fromisoformat(entry.timestamp) if entry.timestamp else None
    return Note(text, entry.author or "", at=at.astimezone(UTC) if at else None)


def _entry(hit: Hit) -> MemoryEntry:
    about = {"kind": hit.kind, "trust": hit.trust_label, "score": hit.score, "confidence": hit.confidence}
    return MemoryEntry(
        id=hit.id,
        content=_content("user" if hit.trust == "user" else "model", hit.text),
        author=hit.speaker or hit.trust_label,
        timestamp=hit.at.isoformat(),
        custom_metadata=about,
    )


def _content(role: str, text: str) -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])
