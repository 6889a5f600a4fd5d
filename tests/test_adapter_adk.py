"""Google ADK's memory service (F1), with its own runner and a scripted Gemini on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.run_config import RunConfig
from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.load_memory_tool import load_memory_tool
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types

from lifelong import Memory, Store
from lifelong.adapters.adk import LifelongMemoryService, user_of
from lifelong.errors import InputError
from lifelong.validation import validate_user
from tests.model_servers import ModelServer, Reply
from tests.scripted_gemini import gemini, said

NUTS = "I'm allergic to nuts, please remember that."
DINNER = "What shall I cook for dinner?"
MAIL = "Mara@example.com"
MARA: dict[str, Any] = {"app_name": "kitchen", "user_id": MAIL}


def cupboard(shelf: str) -> str:
    """Look into the cupboard."""
    return f"On the {shelf} shelf there are walnuts."


async def remember(callback_context: CallbackContext) -> None:
    await callback_context.add_session_to_memory()


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes a server the one that ADK asks."""
    monkeypatch.setenv("GOOGLE_API_KEY", "x")
    monkeypatch.delenv("GOOGLE_GENAI_USE_VERTEXAI", raising=False)
    with asyncio.Runner() as runner:

        def ask(
            server: ModelServer,
            store: Store,
            text: str,
            *tools: Any,
            user: str = MAIL,
            stream: bool = False,
        ) -> list[Event]:
            monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
            return runner.run(_ask(LifelongMemoryService(store), text, tools, user, stream))

        yield ask


async def _ask(service: LifelongMemoryService, text: str, tools: Any, user: str, stream: bool) -> list[Event]:
    agent = LlmAgent(name="cook", model="gemini-3-flash", tools=[*tools], after_agent_callback=remember)
    sessions = InMemorySessionService()
    async with Runner(app_name="kitchen", agent=agent, session_service=sessions, memory_service=service) as runner:
        session = await sessions.create_session(app_name="kitchen", user_id=user)
        config = RunConfig.model_validate({"streaming_mode": "sse" if stream else None})
        message = types.Content(role="user", parts=[types.Part(text=text)])
        return [
            event
            async for event in runner.run_async(
                user_id=user, session_id=session.id, new_message=message, run_config=config
            )
        ]


def stored(memory: Memory) -> list[tuple[str, str, str]]:
    """Who said what, in all sessions, in order."""
    found = [one for agent in memory.agents.list() for one in memory.sessions.history(agent)]
    return [
        (one.record.type, one.record.provenance, getattr(one.record, "text", ""))
        for one in sorted(found, key=lambda one: one.id)
    ]


def mara(store: Store) -> Memory:
    return store.user(user_of(**MARA))


def test_an_app_remembers_across_restarts_and_users_are_apart(tmp_path: Path, serve: Any) -> None:
    """F1, C0, C6: sessions of ADK end with the process; what was said stays, each user's own."""
    with ModelServer(lambda asked: gemini({"text": "Noted."})) as server:
        with Store.open(tmp_path) as store:
            serve(server, store, NUTS)
        with Store.open(tmp_path) as store:
            serve(server, store, DINNER, PreloadMemoryTool())
            serve(server, store, DINNER, PreloadMemoryTool(), user="mara-example.com")
            assert stored(mara(store)) == [
                ("user_message", "user", NUTS),
                ("assistant_message", "agent", "Noted."),
                ("user_message", "user", DINNER),
                ("assistant_message", "agent", "Noted."),
            ]
    told = ["allergic to nuts" in said(one) for one in server.requests]
    assert told == [True, True, False]


def test_calls_and_results_are_kept_and_what_was_recalled_is_not(tmp_path: Path, serve: Any) -> None:
    """F1, C6: the tool's word is the tool's; a stream is stored whole; a thought is not said."""
    calls = [
        {"functionCall": {"id": "1", "name": "load_memory", "args": {"query": "allergic to nuts"}}},
        {"functionCall": {"id": "2", "name": "cupboard", "args": {"shelf": "top"}}},
    ]

    def answer(asked: dict[str, Any]) -> Reply:
        if "functionResponse" not in said(asked):
            return gemini(*calls)
        return gemini({"text": "Hm.", "thought": True}, {"text": "You have "}, {"text": "walnuts."}, stream=True)

    def streaming(asked: dict[str, Any]) -> Reply:
        if "functionResponse" not in said(asked):
            return gemini(*calls, stream=True)
        return answer(asked)

    with ModelServer(streaming) as server, Store.open(tmp_path) as store:
        mara(store).add(NUTS)
        events = serve(server, store, "What is in the cupboard?", load_memory_tool, cupboard, stream=True)
        assert len([one for one in events if one.partial]) > 1
        assert "allergic to nuts" in said(server.requests[1]), "the tool found it"
        assert stored(mara(store))[1:] == [
            ("user_message", "user", "What is in the cupboard?"),
            ("tool_call", "agent", ""),
            ("tool_call", "agent", ""),
            ("tool_result", "tool", "On the top shelf there are walnuts."),
            ("assistant_message", "agent", "You have walnuts."),
        ]


def test_a_search_gives_what_always_matters_and_what_is_known(tmp_path: Path) -> None:
    """F1, S5, S6: each thing once; notes are the agent's word; what is deleted does not return."""

    async def use(service: LifelongMemoryService) -> None:
        parts = [types.Part(text="The green bicycle is in the shed.")]
        event = Event(id="e1", author="user", content=types.Content(role="user", parts=parts))
        for _ in range(2):
            await service.add_events_to_memory(**MARA, events=[event], session_id="s")
        note = MemoryEntry(
            content=types.Content(parts=[types.Part(text="The blue bicycle needs a new tyre.")]),
            author="user",
            timestamp="2026-03-03T10:00:00",
        )
        await service.add_memory(**MARA, memories=[note])
        found = (await service.search_memory(**MARA, query="green bicycle")).memories
        assert "allergic to nuts" in str(found[0].content)
        assert found[0].author == "lifelong"
        by_text = {one.content.parts[0].text: one for one in found[1:] if one.content.parts}
        assert not any("allergic" in (text or "") for text in by_text)
        assert by_text["The green bicycle is in the shed."].author == "user"
        (blue,) = (await service.search_memory(**MARA, query="blue bicycle tyre")).memories[1:2]
        assert blue.custom_metadata["trust"] == "agent"
        assert str(blue.timestamp).startswith("2026-03-03")
        await service.delete_memory(**MARA, memory_id=by_text["The green bicycle is in the shed."].id)
        await service.delete_memory(**MARA)
        for again in (service, LifelongMemoryService(service._store)):
            await again.add_events_to_memory(**MARA, events=[event], session_id="s")
            found = (await again.search_memory(**MARA, query="green bicycle shed")).memories
            assert "green bicycle" not in str(found)
        assert (await service.search_memory(app_name="other", user_id=MAIL, query="bicycle")).memories == []
        assert (await service.search_memory(**MARA, query=" ")).memories[1:] == []

    with Store.open(tmp_path) as store:
        mara(store).add(NUTS)
        asyncio.run(use(LifelongMemoryService(store)))
        assert "other" not in str(store.users()), "a search makes no user"


def test_bad_input_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    """F1: metadata would not be kept; every pair of names has a user of its own."""

    async def use(service: LifelongMemoryService) -> None:
        entry = MemoryEntry(content=types.Content(parts=[types.Part(text="x")]))
        with pytest.raises(InputError, match="'ttl'"):
            await service.add_memory(**MARA, memories=[entry], custom_metadata={"ttl": "60s"})
        with pytest.raises(InputError, match="'ttl'"):
            await service.add_events_to_memory(**MARA, events=[], custom_metadata={"ttl": "60s"})
        with pytest.raises(InputError, match="no text"):
            await service.add_memory(**MARA, memories=[MemoryEntry(content=types.Content())])

    with Store.open(tmp_path) as store:
        asyncio.run(use(LifelongMemoryService(store)))
        assert store.users() == ["default"]
        shared = LifelongMemoryService(store, user_of=lambda app, user: user)
        parts = [types.Part(inline_data=types.Blob(mime_type="image/png", data=b"x")), types.Part(text="My cat.")]
        event = Event(id="e", author="user", content=types.Content(parts=parts))
        asyncio.run(shared.add_events_to_memory(app_name="a", user_id="mara", events=[event]))
        assert [text for _, _, text in stored(store.user("mara"))] == ["[image/png]", "My cat."]
    pairs = [("a", "b-c"), ("a-b", "c"), ("A", "b-c"), ("", ""), ("ä" * 90, "x"), ("ä" * 91, "x"), ("../..", "/")]
    names = {validate_user(user_of(*one)) for one in pairs}
    assert len(names) == len(pairs)
