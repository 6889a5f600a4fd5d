"""Pydantic AI's capability (F1), with its own agent and a scripted model on loopback."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from lifelong import Memory, Store
from lifelong.adapters.pydantic_ai import LifelongCapability
from tests.model_servers import ModelServer, Reply, call, refuse, results, say
from tests.scripted_openai import KNOWS, KNOWS_NOT, about_nuts, scripted, texts

NUTS = "I'm allergic to nuts, please remember that."
DINNER = "What shall I cook for dinner?"
JOURNAL = {"journal_enabled": True}


@pytest.fixture
def run() -> Iterator[asyncio.Runner]:
    """Runs everything of a test in one event loop, which is closed."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with scripted(about_nuts) as running:
        yield running


def make(server: ModelServer, memory: Memory | Callable[..., Memory], **options: Any) -> Agent[Any, str]:
    client = AsyncOpenAI(base_url=server.base_url("openai"), api_key="x", max_retries=0)
    model = OpenAIChatModel("gpt-5.2", provider=OpenAIProvider(openai_client=client))
    return Agent(model, capabilities=[LifelongCapability(memory)], **options)


def cupboard() -> str:
    """Look into the cupboard."""
    return "There are walnuts."


def stored(memory: Memory) -> list[list[tuple[str, str, str]]]:
    """Who said what, by conversation, the oldest first."""
    agents = sorted(memory.agents.list(), key=lambda one: one.created_at)
    return [
        [
            (one.record.type, one.record.provenance, getattr(one.record, "text", ""))
            for one in memory.sessions.history(agent)
        ]
        for agent in agents
        if agent.cache_key.startswith("/connectors/pydantic-ai/")
    ]


def test_an_agent_remembers_across_restarts(tmp_path: Path, run: asyncio.Runner, server: ModelServer) -> None:
    """F1, C6: who said what is stored; the next model is told; the history is not changed by it."""
    with Memory.open(tmp_path) as memory:
        run.run(make(server, memory).run(NUTS))
        assert "lifelong-context" not in texts(server.requests[0])
    with Memory.open(tmp_path) as memory:
        agent = make(server, memory, instructions="Be brief.", system_prompt="You cook.")
        first = run.run(agent.run(DINNER))
        second = run.run(agent.run("And tomorrow?", message_history=first.all_messages()))
        said = stored(memory)
    assert first.output == KNOWS
    assert "lifelong-context" not in str(second.all_messages()) + str(said)
    turns = [("user_message", "user"), ("assistant_message", "agent")]
    assert [[one[:2] for one in conversation] for conversation in said] == [turns, turns * 2]
    assert "lifelong-context" in texts(server.requests[1])


def test_tools_are_offered_and_what_they_give_is_kept(tmp_path: Path, run: asyncio.Runner) -> None:
    """F1, S5: the agent searches, and writes as itself; the model is told of a wrong call."""
    replies = iter(
        [
            call("recall_memory", {"query": ""}),
            call("recall_memory", {"query": "allergic nuts"}),
            call("remember_this", {"text": "Mara plans dinners on Sundays.", "category": "note"}),
            call("cupboard", {}),
            say("Done."),
        ]
    )
    with scripted(lambda asked: next(replies)) as server, Memory.open(tmp_path, continuity=JOURNAL) as memory:
        memory.add(NUTS)
        agent = make(server, memory, name="cook")
        agent.tool_plain(cupboard)
        assert run.run(agent.run(DINNER)).output == "Done."
        offered = {one["function"]["name"] for one in server.requests[0]["tools"]}
        (said,) = stored(memory)
        lines = [one.text for one in memory.journal.records()]
        injected = [one for one in memory.admin.recall_log() if one.purpose == "injection"]
    assert offered == {"recall_memory", "remember_this", "cupboard"}
    answers = results(server.requests[-1])
    assert "The query is empty" in answers[0]
    assert "allergic to nuts" in answers[1]
    assert answers[3] == "There are walnuts."
    assert "Mara plans dinners on Sundays." in lines
    assert [one[:2] for one in said if one[0].startswith("tool")] == 4 * [
        ("tool_call", "agent"),
        ("tool_result", "tool"),
    ]
    assert len(injected) == 1, "once a run"
    with scripted(about_nuts) as server, Memory.open(tmp_path / "other") as memory:
        run.run(make(server, memory).run(DINNER))
        assert [one["function"]["name"] for one in server.requests[0]["tools"]] == ["recall_memory"]


def test_a_stream_is_stored_whole(tmp_path: Path, run: asyncio.Runner, server: ModelServer) -> None:
    """F1: in pieces for the caller, as one record for the memory; a prompt may be a list."""
    with Memory.open(tmp_path) as memory:
        memory.add(NUTS)

        async def stream() -> list[str]:
            async with make(server, memory).run_stream([DINNER, "Quickly."]) as streamed:
                return [piece async for piece in streamed.stream_text(delta=True, debounce_by=None)]

        pieces = run.run(stream())
        assert len(pieces) > 3
        assert "".join(pieces).strip() == KNOWS
        ((asked, answered),) = stored(memory)
    assert asked == ("user_message", "user", f"{DINNER}\n\nQuickly.")
    assert answered[2].strip() == KNOWS


def test_what_fails_loses_nothing_that_was_said(
    tmp_path: Path, run: asyncio.Runner, caplog: pytest.LogCaptureFixture
) -> None:
    """F1: the model, after a tool was called; and a message that cannot be stored."""
    replies: Iterator[Reply] = iter([call("cupboard", {}), refuse(400)])
    with scripted(lambda asked: next(replies)) as server, Memory.open(tmp_path) as memory:
        agent = make(server, memory)
        agent.tool_plain(cupboard)
        with pytest.raises(ModelHTTPError):
            run.run(agent.run(DINNER))
        (said,) = stored(memory)
    assert [one[0] for one in said] == ["user_message", "tool_call", "tool_result"]
    with (
        scripted(lambda asked: say("Yes.")) as server,
        Memory.open(tmp_path) as memory,
        caplog.at_level(logging.WARNING),
    ):
        run.run(make(server, memory).run("A NUL: \0"))
        assert [one[2] for one in stored(memory)[-1]] == ["Yes."]
    assert "was not stored" in caplog.text


def test_each_run_may_have_a_user_of_its_own(tmp_path: Path, run: asyncio.Runner, server: ModelServer) -> None:
    """F1, C0: one agent serves many users, and nothing of one reaches another."""
    with Store.open(tmp_path) as store:
        agent = make(server, lambda ctx: store.user(ctx.deps), deps_type=str)
        run.run(agent.run(NUTS, deps="mara"))
        assert run.run(agent.run(DINNER, deps="tom")).output == KNOWS_NOT
        assert run.run(agent.run(DINNER, deps="mara")).output == KNOWS
        assert [len(stored(store.user(name))) for name in ("mara", "tom")] == [2, 1]
