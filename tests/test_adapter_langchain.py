"""LangChain's middleware (F1), with LangChain's own agent and a scripted model on loopback."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain.chat_models import init_chat_model
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from lifelong import Memory, Store, User
from lifelong.adapters.langchain import LifelongMiddleware
from tests.model_servers import ModelServer, Reply, call, refuse, say
from tests.scripted_openai import KNOWS, about_nuts, scripted, texts

NUTS = "I'm allergic to nuts, please remember that."
DINNER = "What shall I cook for dinner?"


@tool
def cupboard(shelf: str) -> str:
    """Look into the cupboard."""
    return f"On the {shelf} shelf there are walnuts."


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    return tmp_path / "home"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with scripted(about_nuts) as running:
        yield running


def make(server: ModelServer, memory: Memory | Callable[..., Memory], *more: Any, **options: Any) -> Any:
    model = init_chat_model("openai:gpt-5.2", base_url=server.base_url("openai"), api_key="x", max_retries=0)
    return create_agent(model, middleware=[LifelongMiddleware(memory), *more], **options)


def user(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


def stored(memory: Memory, thread: str = "main") -> list[tuple[str, str, str]]:
    """Who said what in a thread, in order."""
    person = "user" if memory.user == "default" else memory.user
    history = memory.sessions.history(memory.agent(User("langchain", person, thread)))
    return [(one.record.type, one.record.provenance, getattr(one.record, "text", "")) for one in history]


def test_an_agent_remembers_across_restarts(home: Path, server: ModelServer) -> None:
    """F1, C6: who said what is stored; the next model is told; the agent's state is not changed by it."""
    with Memory.open(home) as memory:
        make(server, memory).invoke(user(NUTS))
        assert "lifelong-context" not in texts(server.requests[0]), "nothing was known before it was said"
    with Memory.open(home) as memory:
        result = make(server, memory).invoke(user(DINNER))
        said = stored(memory)
    assert [one.text for one in result["messages"]] == [DINNER, KNOWS]
    assert [(kind, who) for kind, who, _ in said] == [("user_message", "user"), ("assistant_message", "agent")] * 2
    assert "lifelong-context" not in str(said)
    assert texts(server.requests[1]).startswith('[{"content": "<lifelong-context id=')


def test_tool_calls_and_results_are_kept_with_whose_word_they_are(home: Path) -> None:
    """F1, C6: the context is found once a turn; async and sync store the same."""

    def answer(asked: dict[str, Any]) -> Reply:
        done = asked["messages"][-1]["role"] == "tool"
        return say("You have walnuts.") if done else call("cupboard", {"shelf": "top"})

    with scripted(answer) as server, Memory.open(home) as memory:
        memory.add(NUTS)
        agent = make(server, memory, tools=[cupboard])
        asyncio.run(agent.ainvoke(user("What is in the cupboard?")))
        said = stored(memory)
        agent.invoke(user("What is in the cupboard?"))
        injected = [one for one in memory.admin.recall_log() if one.purpose == "injection"]
        assert stored(memory)[4:] == said
    assert said == [
        ("user_message", "user", "What is in the cupboard?"),
        ("tool_call", "agent", ""),
        ("tool_result", "tool", "On the top shelf there are walnuts."),
        ("assistant_message", "agent", "You have walnuts."),
    ]
    assert len(injected) == 2
    assert texts(server.requests[0]).partition("id=")[2][:32] == texts(server.requests[1]).partition("id=")[2][:32]


def test_a_stream_is_stored_whole(home: Path, server: ModelServer) -> None:
    """F1: in pieces for the caller, as one record for the memory; also in an event loop."""
    with Memory.open(home) as memory:
        memory.add(NUTS)
        agent = make(server, memory)
        pieces = [one.text for one, _ in agent.stream(user(DINNER), stream_mode="messages")]

        async def later() -> list[str]:
            return [one.text async for one, _ in agent.astream(user(DINNER), stream_mode="messages")]

        assert asyncio.run(later()) == pieces
        assert len(pieces) > 3
        assert stored(memory) == 2 * [
            ("user_message", "user", DINNER),
            ("assistant_message", "agent", f"{KNOWS} "),
        ]


def test_threads_are_conversations_and_nothing_is_stored_twice(home: Path, server: ModelServer) -> None:
    """F1: a checkpointer returns the whole history every time; a history that is passed in is not said again."""
    with Memory.open(home) as memory:
        agent = make(server, memory, checkpointer=InMemorySaver())
        for thread in ("a", "a", "b"):
            agent.invoke(user(DINNER), {"configurable": {"thread_id": thread}})
        make(server, memory).invoke({"messages": [HumanMessage("Hi."), AIMessage("Hello."), HumanMessage(DINNER)]})
        assert [len(stored(memory, one)) for one in ("a", "b", "main")] == [4, 2, 2]


def test_a_summary_by_langchain_is_not_the_users_word(home: Path, server: ModelServer) -> None:
    """F1, C9: the middleware that compacts writes it as a message of the user."""
    with Memory.open(home) as memory:
        model = init_chat_model("openai:gpt-5.2", base_url=server.base_url("openai"), api_key="x")
        compact = SummarizationMiddleware(model, trigger=("messages", 3), keep=("messages", 1))
        agent = make(server, memory, compact, checkpointer=InMemorySaver())
        states = [
            agent.invoke(user(text), {"configurable": {"thread_id": "a"}})
            for text in (NUTS, DINNER, "And for lunch?")
        ]
        assert "summary of the conversation" in states[-1]["messages"][0].text
        assert [text for kind, _, text in stored(memory, "a") if kind == "user_message"] == [
            NUTS,
            DINNER,
            "And for lunch?",
        ]


def test_what_fails_loses_nothing_that_was_said(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """F1: the prompt is stored before the model is asked; what cannot be stored is logged."""
    with scripted(lambda asked: refuse(500)) as server, Memory.open(home) as memory:
        with pytest.raises(Exception, match="500"):
            make(server, memory).invoke(user(NUTS))
        assert stored(memory) == [("user_message", "user", NUTS)]
    with (
        scripted(lambda asked: say("Yes.")) as server,
        Memory.open(home) as memory,
        caplog.at_level(logging.WARNING),
    ):
        make(server, memory).invoke(user("A NUL: \0"))
        assert [text for _, _, text in stored(memory)] == [NUTS, "Yes."]
    assert "was not stored: " in caplog.text
    assert "NUL character" in caplog.text


@dataclass
class Person:
    name: str


def test_each_run_may_have_a_user_of_its_own(home: Path, server: ModelServer) -> None:
    """F1, C0: one agent serves many users, and nothing of one reaches another."""
    with Store.open(home) as store:
        agent = make(server, lambda runtime: store.user(runtime.context.name), context_schema=Person)
        agent.invoke(user(NUTS), context=Person("mara"))
        agent.invoke(user(DINNER), context=Person("tom"))
        agent.invoke({"messages": [HumanMessage([{"type": "text", "text": DINNER}])]}, context=Person("mara"))
        assert "lifelong-context" not in texts(server.requests[1])
        assert "allergic to nuts" in texts(server.requests[2])
        assert len(stored(store.user("tom"))) == 2
