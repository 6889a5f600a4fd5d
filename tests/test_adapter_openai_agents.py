"""The session of the OpenAI Agents SDK (SPEC F1), with the SDK's own Runner and a scripted model on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from agents import Agent, Runner, function_tool
from agents.memory import Session, SessionSettings
from agents.models.openai_provider import OpenAIProvider
from agents.run import CallModelData, ModelInputData

from lifelong import Memory, ToolResult, UserMessage
from lifelong.adapters.openai_agents import LifelongSession
from lifelong.errors import InputError
from tests.model_servers import call, say
from tests.scripted_responses import ResponsesServer

PAGE = Path(__file__).parent.parent / "docs/adapters/openai-agents.md"


@pytest.fixture(autouse=True)
def _no_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")


@function_tool
def weather(city: str) -> str:
    """Return the weather."""
    return f"18 °C in {city}"


def run(home: Path, server: ResponsesServer, message: str, chat: str = "chat-1", *, streamed: bool = False) -> str:
    """One turn of the real Runner, in a home that is opened and closed around it."""
    with Memory.open(home, user="mara") as memory:
        session = LifelongSession(memory, chat)
        assert isinstance(session, Session)
        provider = OpenAIProvider(api_key="test", base_url=server.base_url("openai"))
        config = session.run_config(model_provider=provider, tracing_disabled=True)
        agent = Agent(name="Assistant", instructions="Be brief.", tools=[weather], model="gpt-5-mini")

        async def turn() -> str:
            if not streamed:
                return str((await Runner.run(agent, message, session=session, run_config=config)).final_output)
            result = Runner.run_streamed(agent, message, session=session, run_config=config)
            async for _ in result.stream_events():
                pass
            return str(result.final_output)

        return asyncio.run(turn())


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_an_agent_remembers_across_restarts(tmp_path: Path, streamed: bool) -> None:
    """F1: tool calls and results come back in the shape that the Runner wants, ids included; C6: each record has
    its provenance; what was said in one conversation is context in another, and the context is not stored."""
    replies = [
        call("weather", {"city": "Lisbon"}),
        say("It is 18 degrees in Lisbon."),
        say("You asked about Lisbon."),
        say("Bake without nuts."),
    ]
    with ResponsesServer(replies) as server:
        first = "I'm allergic to nuts. What is the weather in Lisbon?"
        assert run(tmp_path, server, first, streamed=streamed) == "It is 18 degrees in Lisbon."
        run(tmp_path, server, "What did I ask?", streamed=streamed)
        run(tmp_path, server, "What can I bake?", "chat-2", streamed=streamed)
    items = server.requests[2]["input"]
    kept = [item for item in items if "<lifelong-context" not in str(item)]
    assert [item.get("type", item.get("role")) for item in kept] == [
        *("user", "function_call", "function_call_output", "reasoning", "message", "user")
    ]
    assert kept[1] | {"id": "fc_1_0", "call_id": "call_1_0", "name": "weather"} == kept[1]
    assert kept[2]["call_id"] == "call_1_0"
    assert kept[2]["output"] == "18 °C in Lisbon"
    assert (kept[3]["id"], kept[3]["encrypted_content"]) == ("rs_2", "gAAAA" * 9)
    assert "allergic to nuts" in next(
        str(item) for item in server.requests[3]["input"] if "<lifelong-c" in str(item)
    )
    with Memory.open(tmp_path, user="mara") as memory:
        (agent,) = [one for one in memory.agents.list() if one.cache_key.endswith("/chat-1")]
        records = [stored.record for stored in memory.sessions.history(agent)]
        assert [(one.type, one.provenance) for one in records if getattr(one, "text", True)] == [
            ("user_message", "user"),
            ("tool_call", "agent"),
            ("tool_result", "tool"),
            ("assistant_message", "agent"),
            ("user_message", "user"),
            ("assistant_message", "agent"),
        ]
        assert isinstance(records[2], ToolResult)
        assert records[2].name == "weather"
        assert not any("<lifelong-context" in stored.original for stored in records)
        assert memory.search("weather in Lisbon")[0].trust == "user"
        assert "gAAAA" not in memory.sessions.transcript(agent)


def test_a_run_that_was_cut_off_at_a_tool_call_goes_on_in_another_process(tmp_path: Path) -> None:
    """F1: a call whose result is missing comes back as it was stored, and is answered later."""
    pending = {"type": "function_call", "id": "fc_9", "call_id": "call_9", "name": "weather", "arguments": "{}"}
    with Memory.open(tmp_path) as memory:
        asyncio.run(LifelongSession(memory, "c").add_items([{"role": "user", "content": "Weather?"}, pending]))  # type: ignore[list-item]
    code = (
        "import asyncio, json; from lifelong import Memory; "
        "from lifelong.adapters.openai_agents import LifelongSession; memory = Memory.open('.'); "
        "print(json.dumps(asyncio.run(LifelongSession(memory, 'c').get_items())))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == [{"role": "user", "content": "Weather?"}, pending]


def test_items_are_taken_back_and_sessions_cleared_without_deleting(open_memory: Callable[..., Memory]) -> None:
    """F1: `pop_item` and `clear_session` delete nothing, on either database; `limit` gives the latest in order."""
    memory = open_memory()
    session = LifelongSession(memory, "chat")
    items: list[Any] = [{"role": "user", "content": f"My locker number is {n}."} for n in (41, 42, 43)]

    async def use() -> None:
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.add_items([])
        await session.add_items(items)
        assert await session.get_items(2) == items[1:]
        assert await session.get_items(0) == []
        assert (
            await LifelongSession(memory, "chat", session_settings=SessionSettings(limit=1)).get_items()
            == items[2:]
        )
        assert await LifelongSession(memory, "other").get_items() == []
        assert await session.pop_item() == items[2]
        assert await session.pop_item() == items[1]
        await session.add_items(items[1:2])
        assert await LifelongSession(memory, "chat").get_items() == items[:2]
        await session.clear_session()
        await session.clear_session()
        assert await session.get_items() == []
        await session.add_items(items[2:])
        assert await session.get_items() == items[2:]

    asyncio.run(use())
    (agent,) = memory.agents.list()
    assert len(memory.sessions.list(agent)) == 2
    assert {hit.text for hit in memory.list("record")} >= {item["content"] for item in items}
    assert "r3 was taken back." in memory.sessions.transcript(memory.sessions.list(agent)[0])


def test_what_no_record_holds_comes_back_too(open_memory: Callable[..., Memory]) -> None:
    """F1: hosted tools, images, unknown types and texts that no database takes are kept exactly; S4: secrets are
    not."""
    memory = open_memory(collect={"max_record_chars": 100})
    session = LifelongSession(memory, "chat")
    image = {"type": "input_image", "image_url": "data:image/png;base64," + "iVBORw0KGgo" * 900, "detail": "auto"}
    items: list[Any] = [
        {"role": "user", "content": [{"type": "input_text", "text": "What is this?"}, image]},
        {
            "type": "file_search_call",
            "id": "fs_1",
            "queries": ["q"],
            "status": "completed",
            "results": [{"text": "Found it.", "filename": "a.md", "file_id": "file-1", "score": 0.5}],
        },
        {"type": "some_new_item", "id": "x_1", "payload": [1, 2.5, None, True]},
        {"role": "user", "content": [{"type": "input_hologram", "beam": "blue"}]},
        {"role": "user", "content": "NUL \0 and half a pair \ud800."},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c_1",
            "name": "f",
            "arguments": '{"t": "' + "x" * 300 + '"}',
        },
        {"type": "function_call_output", "call_id": "c_1", "output": "a long result " * 50},
    ]
    asyncio.run(session.add_items(items))
    asyncio.run(session.add_items([{"role": "user", "content": "The password is hunter2!Secret"}]))
    *same, secret = asyncio.run(session.get_items())
    assert same == items
    assert "hunter2" not in str(secret)
    assert memory.admin.scan() == []
    assert "Found it." in memory.search("Found it")[0].text


def test_what_cannot_be_an_item_is_refused(tmp_path: Path) -> None:
    """F1: bad input stores nothing, and the error says what to give."""
    with Memory.open(tmp_path) as memory:
        session = LifelongSession(memory, "chat")
        with pytest.raises(InputError, match="Item 2 cannot be 'Hello'"):
            asyncio.run(session.add_items([{"role": "user", "content": "Hi"}, "Hello"]))  # type: ignore[list-item]
        with pytest.raises(InputError, match="unknown role 'usr'"):
            asyncio.run(session.add_items([cast(Any, {"role": "usr", "content": "Hi"})]))
        with pytest.raises(InputError, match="is not JSON"):
            asyncio.run(session.add_items([{"type": "x", "v": object()}]))  # type: ignore[list-item]
        with pytest.raises(InputError, match="must not be empty"):
            LifelongSession(memory, " ")
        assert asyncio.run(session.get_items()) == []


def test_what_is_forgotten_leaves_the_items(open_memory: Callable[..., Memory]) -> None:
    """S6: an item goes with its record; one that repeats it, or of which a part goes, keeps its shape without it.
    What memory was given by other means is an item, too."""
    memory = open_memory()
    session = LifelongSession(memory, "chat")
    items: list[Any] = [
        {"role": "user", "content": "My doctor is called Zebrowski. I live in Lisbon."},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c_1",
            "name": "note",
            "arguments": '{"who": "Zebrowski"}',
        },
        {"type": "custom", "id": "x", "seen": "My doctor is called Zebrowski. I live in Lisbon."},
        {"role": "assistant", "content": "Noted."},
    ]
    asyncio.run(session.add_items(items))
    report = memory.forget("r1")
    left: list[Any] = asyncio.run(session.get_items())
    assert "Zebrowski" not in str(left)
    assert [item.get("id") for item in left] == ["fc_1", "x", None]
    assert left[2] == items[3]
    assert memory.admin.prove_forgotten(report).found == ()
    memory.append(memory.agents.list()[0], UserMessage("I was added by hand."))
    assert asyncio.run(session.get_items())[-1] == {"role": "user", "content": "I was added by hand."}


def test_the_same_question_in_a_later_turn_gets_what_is_known_then(open_memory: Callable[..., Memory]) -> None:
    """R8, S6: a context is kept for one turn only."""
    memory = open_memory()
    session = LifelongSession(memory, "chat-1")
    asked: list[Any] = [{"role": "user", "content": "Where do I live?"}]

    def context() -> str:
        data = CallModelData(ModelInputData(input=list(asked), instructions=None), Agent(name="Assistant"), None)
        return str(asyncio.run(session.add_context(data)).input[:-1])

    (told,) = memory.add("I live in Porto.")
    assert "Porto" in context()
    memory.forget(told)
    asked[:0] = [*asked, {"role": "assistant", "content": "I see."}]
    assert "Porto" not in context()


def test_originals_survive_export_and_import(tmp_path: Path) -> None:
    """S10: an imported conversation has its items."""
    item: Any = {"type": "message", "id": "msg_1", "role": "assistant", "content": [], "status": "completed"}
    with Memory.open(tmp_path / "home", user="mara") as memory:
        asyncio.run(LifelongSession(memory, "chat").add_items([item]))
        memory.export(tmp_path / "export")
        memory.store.import_user(tmp_path / "export", "maria")
        descriptor = memory.agents.list()[0].descriptor
        agent = memory.store.user("maria").agents.look_up(descriptor)
        assert agent
        (stored,) = memory.store.user("maria").sessions.history(agent)
        assert json.loads(stored.record.original) == item


def test_the_page_runs(tmp_path: Path) -> None:
    """F1: the example of the page, run twice in two processes, remembers; it has at most 30 lines."""
    (example,) = re.findall(r"^```py\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(example.splitlines()) <= 30
    with ResponsesServer([say("Bake bread."), say("Bread, as I said.")]) as server:
        environment = {
            **os.environ,
            "OPENAI_API_KEY": "test",
            "OPENAI_BASE_URL": server.base_url("openai"),
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
        }
        for message, answer in (("", "Bake bread."), ("What did you say?", "Bread, as I said.")):
            ran = subprocess.run(
                [sys.executable, "-c", example, *message.split()],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert ran.stdout.strip() == answer, ran.stderr
    assert "Bake bread." in str(server.requests[1]["input"])
    assert "allergic to nuts" in str(server.requests[1]["input"])
