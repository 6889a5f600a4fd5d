"""OpenAI Agents SDK: a `Session` whose conversation is remembered, and context before each turn.

    await Runner.run(agent, "Hello!", **LifelongSession(memory, "chat-1").options())

Items are stored as ordinary records, each with the item itself, and come back as the Runner gave them, ids
included. Nothing is deleted: `pop_item` stores that an item was taken back, and `clear_session` begins a new
session. To remove something for good, use `memory.forget`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from typing import Any, cast

from lifelong.adapters.originals import Message, carried, carry, validate_message
from lifelong.collect.descriptors import User
from lifelong.collect.messages import to_records, with_tool_names
from lifelong.errors import InputError
from lifelong.memory import Memory, person_of
from lifelong.types import AssistantMessage, Record, SystemMessage, ToolCall, ToolResult, UserMessage

try:
    from agents import RunConfig
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings
    from agents.run import CallModelData, ModelInputData
except ImportError as error:
    raise ImportError("This adapter needs the OpenAI Agents SDK: pip install 'lifelong[openai-agents]'") from error

log = logging.getLogger("lifelong.adapters")

CONNECTOR = "openai-agents"
TAKEN_BACK = "lifelong_taken_back"  # an item of ours: the number of the record whose item was taken back
ROLES = ("user", "assistant", "system", "developer")
DEFAULT_TOKENS = 2_000


class LifelongSession:
    """A conversation of the OpenAI Agents SDK in a memory. It satisfies `agents.memory.Session`; the same id gives
    the same conversation, in any process. `tokens` is how long the context before a turn may be."""

    def __init__(
        self,
        memory: Memory,
        session_id: str,
        *,
        session_settings: SessionSettings | None = None,
        tokens: int = DEFAULT_TOKENS,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._memory = memory
        self._tokens = tokens
        self._descriptor = User(CONNECTOR, person_of(memory.user), session_id)
        memory.agents.look_up(self._descriptor)  # raises now where the id cannot name a session
        self._lock = threading.Lock()
        self._last_context = ((0, ""), "")

    # agents.memory.Session

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items of the conversation, or the latest `limit` of them, oldest first."""
        if limit is None and self.session_settings:
            limit = self.session_settings.limit
        items = [*(await asyncio.to_thread(self._items)).values()]
        return items if limit is None or limit < 0 else items[max(0, len(items) - limit) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Store items, all or none. They are durable when it returns."""
        await asyncio.to_thread(self._add, items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the latest item back, and return it. It stays in history and can be found; the conversation goes on
        without it."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """End the conversation and begin a new one under the same id. What was said stays in memory."""
        await asyncio.to_thread(self._clear)

    # Context

    def options(self) -> dict[str, Any]:
        """Return what `Runner.run` takes to remember: this as its `session`, and `run_config()`."""
        return {"session": self, "run_config": self.run_config()}

    def run_config(self, **options: Any) -> RunConfig:
        """Return a `RunConfig` with these options that has `add_context` as its filter."""
        return RunConfig(**{"call_model_input_filter": self.add_context, **options})

    async def add_context(self, data: CallModelData[Any]) -> ModelInputData:
        """Return the model's input with what memory knows about the latest message put before that message: a
        `call_model_input_filter`. It is not stored, and nothing is learned from it."""
        items = list(data.model_data.input)
        place = next((at for at in reversed(range(len(items))) if _is_users(items[at])), None)
        if place is not None and (message := _said(items[place])):
            turn = sum(map(_is_users, items))
            context = await asyncio.to_thread(self._context, message, turn)
            items[place:place] = [{"role": "user", "content": context}] if context else []
        return ModelInputData(input=items, instructions=data.model_data.instructions)

    def _context(self, message: str, turn: int) -> str:
        """Return the context of a message: the same one for each call of the model in a turn."""
        known, context = self._last_context
        if known != (turn, message):
            agent = self._memory.agents.look_up(self._descriptor)
            context = self._memory.context(message, agent=agent, tokens=self._tokens)
            self._last_context = ((turn, message), context)
        return context

    # Records

    def _add(self, items: list[TResponseInputItem]) -> None:
        limit = self._memory.settings.collect.max_record_chars
        names: dict[str, str] = {}
        records: list[Record] = []
        for number, item in enumerate(items, 1):
            message = validate_message(item, f"Item {number}")
            records += carry(message, with_tool_names(_records(message), names), limit)
        if records:
            self._memory.append_many(self._memory.agent(self._descriptor), records)

    def _items(self) -> dict[int, TResponseInputItem]:
        """Return the items of the conversation by the numbers of the records that carry them."""
        agent = self._memory.agents.look_up(self._descriptor)
        items: dict[int, TResponseInputItem] = {}
        for stored, message in carried(self._memory.sessions.history(agent)) if agent else ():
            if message and TAKEN_BACK in message:
                items.pop(message[TAKEN_BACK], None)
            elif item := message or _plain_item(stored.record):
                items[stored.id] = cast(TResponseInputItem, item)
        return items

    def _pop(self) -> TResponseInputItem | None:
        with self._lock:
            items = self._items()
            if not items:
                return None
            number, item = items.popitem()
            taken_back = SystemMessage(f"r{number} was taken back.")
            agent = self._memory.agent(self._descriptor)
            self._memory.append_many(agent, carry({TAKEN_BACK: number}, [taken_back], len(taken_back.text)))
            return item

    def _clear(self) -> None:
        agent = self._memory.agents.look_up(self._descriptor)
        if agent and self._memory.sessions.last(agent):
            self._memory.sessions.reset(agent, "The session was cleared.")


def _records(item: Message) -> list[Record]:
    """Return what was said in an item; nothing where it has a type or a part that lifelong does not know yet: that
    must not stop a run."""
    try:
        return to_records(item)
    except InputError as error:
        if item.get("type", "message") == "message" and item.get("role") not in ROLES:
            raise
        log.warning("an item is kept, but what it says is not found: %s", error)
        return []


def _plain_item(record: Record) -> Message:
    """Return a record that carries no item as one."""
    match record:
        case ToolCall():
            arguments = json.dumps(dict(record.arguments))
            return {
                "type": "function_call",
                "call_id": record.call_id,
                "name": record.name,
                "arguments": arguments,
            }
        case ToolResult():
            return {"type": "function_call_output", "call_id": record.call_id, "output": record.text}
        case UserMessage():
            return {"role": "user", "content": record.text}
        case AssistantMessage():
            return {"role": "assistant", "content": record.text} if record.text else {}
        case _:
            return {"role": "system", "content": record.text}


def _is_users(item: TResponseInputItem) -> bool:
    return item.get("role") == "user"


def _said(item: TResponseInputItem) -> str:
    return "\n\n".join(one.text for one in _records(item) if isinstance(one, UserMessage))
