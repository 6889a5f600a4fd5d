"""Pydantic AI: `LifelongCapability` stores what an agent and its user say, puts what is remembered before each
request to the model, and offers the tools with which the agent searches and writes its memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeAlias

from lifelong.adapters.turns import TurnWriter, agent_of, context_for
from lifelong.errors import LifelongError
from lifelong.memory import Memory
from lifelong.tools import Tool as MemoryTool
from lifelong.types import Agent

try:
    from pydantic_ai import ModelRetry, RunContext, Tool
    from pydantic_ai.capabilities import AbstractCapability, WrapRunHandler
    from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.toolsets import AgentToolset, FunctionToolset
except ImportError as error:
    raise ImportError("This adapter needs Pydantic AI. Install it: pip install 'lifelong[pydantic-ai]'") from error

TOOLS = ("recall_memory", "remember_this")
MAX_CONTEXTS = 256  # of runs that may be under way at once

MemoryOf: TypeAlias = Callable[[RunContext[Any]], Memory]
"""Gives the memory of the user whose run it is, e.g. `lambda ctx: store.user(ctx.deps.user)`."""


@dataclass
class LifelongCapability(AbstractCapability[Any]):
    """Give an agent of Pydantic AI a memory that lasts.

        Agent("openai:gpt-5.2", capabilities=[LifelongCapability(memory)])

    Each `conversation_id` is a conversation of its own. `memory` is the memory of one user, or a function that
    gives the one of a run; `tokens` limits what is put before a request."""

    memory: Memory | MemoryOf
    tokens: int | None = None
    _writer: TurnWriter = field(default_factory=TurnWriter, init=False, repr=False)

    def __post_init__(self) -> None:
        self._context = lru_cache(MAX_CONTEXTS)(self._find_context)  # once a run

    def get_toolset(self) -> AgentToolset[Any]:
        """Return `recall_memory`, and `remember_this` where the journal is on."""
        return self._toolset

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Store what was said, also where the run fails."""
        try:
            result = await handler()
        except BaseException:
            await asyncio.to_thread(self._store, ctx, list(ctx.messages))
            raise
        await asyncio.to_thread(self._store, ctx, result.all_messages(), is_over=True)
        return result

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Store what is new, and put what is remembered before the prompt, for this request alone."""
        messages = await asyncio.to_thread(self._with_context, ctx, request_context.messages)
        await asyncio.to_thread(self._store, ctx, list(ctx.messages))
        return replace(request_context, messages=messages)

    async def _toolset(self, ctx: RunContext[Any]) -> FunctionToolset[Any]:
        def tools() -> list[Tool[Any]]:
            memory, agent = self._agent(ctx)
            author = (ctx.agent and ctx.agent.name) or "pydantic-ai"
            return [_tool(one) for one in memory.tools(author, agent) if one.name in TOOLS]

        return FunctionToolset(await asyncio.to_thread(tools))

    def _agent(self, ctx: RunContext[Any]) -> tuple[Memory, Agent]:
        """Return whose run it is, and the agent of its conversation."""
        memory = self.memory if isinstance(self.memory, Memory) else self.memory(ctx)
        return memory, agent_of(memory, "pydantic-ai", ctx.conversation_id or "")

    def _store(self, ctx: RunContext[Any], messages: Sequence[ModelMessage], *, is_over: bool = False) -> None:
        memory, agent = self._agent(ctx)
        self._writer.store(memory, agent, _said(ctx.run_id, messages))
        if is_over:
            memory.end_turn(agent)

    def _with_context(self, ctx: RunContext[Any], messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """Return copies of the messages, with a context before the last prompt."""
        memory, agent = self._agent(ctx)
        changed = list(messages)
        for at in reversed(range(len(changed))):
            message = changed[at]
            asked = [part for part in message.parts if isinstance(part, UserPromptPart)]
            if isinstance(message, ModelRequest) and asked:
                prompt = asked[-1].content
                texts = [prompt] if isinstance(prompt, str) else [one for one in prompt if isinstance(one, str)]
                if context := self._context(memory, agent.id, ctx.run_id, "\n".join(texts)):
                    content = f"{context}\n\n{prompt}" if isinstance(prompt, str) else [context, *prompt]
                    part = replace(asked[-1], content=content)
                    parts = [part if one is asked[-1] else one for one in message.parts]
                    changed[at] = replace(message, parts=parts)
                break
        return changed

    def _find_context(self, memory: Memory, agent_id: str, run_id: str | None, text: str) -> str:
        return context_for(memory, agent_id, text, self.tokens)


def _said(run_id: str | None, messages: Sequence[ModelMessage]) -> Iterator[tuple[str, object]]:
    """Yield the messages of a run, each with a key. Those of earlier runs were stored by them."""
    own = (one for one in messages if one.run_id == run_id)
    for at, message in enumerate(own):
        parts = [part for part in message.parts if part.part_kind != "system-prompt"]
        yield f"pydantic-ai:{run_id}:{at}", {"kind": message.kind, "parts": parts, "timestamp": message.timestamp}


def _tool(one: MemoryTool) -> Tool[Any]:
    """Return a tool of lifelong as one of Pydantic AI. What it refuses, the model may correct."""

    def call(**arguments: Any) -> str:
        try:
            return one.call(**arguments)
        except LifelongError as error:
            raise ModelRetry(str(error)) from error

    return Tool.from_schema(call, one.name, one.description, one.parameters)
