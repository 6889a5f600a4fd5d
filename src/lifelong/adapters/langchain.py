"""LangChain: `LifelongMiddleware` stores what an agent of `create_agent` and its user say, and puts what is
remembered before each request to the model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from lifelong.adapters.turns import TurnWriter, agent_of, context_for
from lifelong.memory import Memory
from lifelong.types import Agent

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain_core.messages import AnyMessage, HumanMessage
    from langgraph.runtime import Runtime
except ImportError as error:
    raise ImportError("This adapter needs LangChain. Install it: pip install 'lifelong[langgraph]'") from error

SAID = ("human", "ai", "tool")
"""The types of the messages that are stored."""
MADE_BY_LANGCHAIN = "lc_source"  # among the additional arguments of a message that nobody said, such as a summary
MAX_CONTEXTS = 256  # of turns that may be under way at once

MemoryOf: TypeAlias = Callable[[Runtime[Any]], Memory]
"""Gives the memory of the user whose run it is, e.g. `lambda runtime: store.user(runtime.context.user_id)`."""


class LifelongMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Give an agent of LangChain a memory that lasts.

        create_agent("openai:gpt-5.2", middleware=[LifelongMiddleware(memory)])

    Each thread of a checkpointer is a conversation of its own. `memory` is the memory of one user, or a function
    that gives the one of a run; `tokens` limits what is put before a request."""

    def __init__(self, memory: Memory | MemoryOf, *, tokens: int | None = None) -> None:
        super().__init__()
        self._memory = memory
        self._tokens = tokens
        self._writer = TurnWriter()
        self._context = lru_cache(MAX_CONTEXTS)(self._find_context)  # once a turn

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Store what is new, and ask the model with what is remembered."""
        return handler(self._with_context(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Do what `wrap_model_call` does, in an event loop."""
        return await handler(await asyncio.to_thread(self._with_context, request))

    def after_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Store the reply."""
        self._store(state, runtime)

    async def aafter_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Do what `after_model` does, in an event loop."""
        await asyncio.to_thread(self._store, state, runtime)

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Store what is left, and say that the turn is over."""
        self._store(state, runtime)
        memory, agent = self._agent(runtime)
        memory.end_turn(agent)

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Do what `after_agent` does, in an event loop."""
        await asyncio.to_thread(self.after_agent, state, runtime)

    def _agent(self, runtime: Runtime[Any]) -> tuple[Memory, Agent]:
        """Return whose run it is, and the agent of its conversation."""
        memory = self._memory if isinstance(self._memory, Memory) else self._memory(runtime)
        run = runtime.execution_info
        return memory, agent_of(memory, "langchain", str((run and run.thread_id) or ""))

    def _store(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        self._writer.store(*self._agent(runtime), _said(state["messages"]))

    def _with_context(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Return the request with a context before the user's last message. It is found before that message is
        stored, and is not in the state."""
        memory, agent = self._agent(request.runtime)
        messages = list(request.messages)
        asked = [at for at, one in enumerate(messages) if isinstance(one, HumanMessage)]
        for at in asked[-1:]:
            message = messages[at]
            if context := self._context(memory, agent.id, message.id, message.text):
                before: list[str | dict[str, Any]] = [{"type": "text", "text": f"{context}\n\n"}]
                content = message.content
                content = f"{context}\n\n{content}" if isinstance(content, str) else before + content
                messages[at] = message.model_copy(update={"content": content})
        self._store(request.state, request.runtime)
        return request.override(messages=messages)

    def _find_context(self, memory: Memory, agent_id: str, message_id: str | None, text: str) -> str:
        return context_for(memory, agent_id, text, self._tokens)


def _said(messages: Sequence[AnyMessage]) -> Iterator[tuple[str, AnyMessage]]:
    """Yield the messages of the last turn, each with a key. Those before it were stored when they were said."""
    start = max((at for at, one in enumerate(messages) if isinstance(one, HumanMessage)), default=0)
    while start and isinstance(messages[start - 1], HumanMessage):
        start -= 1
    for message in messages[start:]:
        if message.type in SAID and MADE_BY_LANGCHAIN not in message.additional_kwargs:
            yield f"langchain:{message.id}", message
