"""The session store and the hooks of the Claude Agent SDK (SPEC F1), with its program and conformance suite."""

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
from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookInput,
    ResultMessage,
    SessionKey,
    SessionStoreEntry,
    StreamEvent,
    create_sdk_mcp_server,
    query,
    tool,
)
from claude_agent_sdk.testing import run_session_store_conformance

from lifelong import Memory, Store
from lifelong.adapters.claude_agent import LifelongSessionStore, hooks
from lifelong.errors import InputError
from tests.model_servers import ModelServer, Reply, call, say
from tests.test_claude import alone

PAGE = Path(__file__).parent.parent / "docs/adapters/claude-agent-sdk.md"
KEY: SessionKey = {"project_key": "-work-shop", "session_id": "0b6c7a8e-0000-4000-8000-000000000001"}

__all__ = ["alone"]  # a fixture: the program finds no login, no settings and no way out but to loopback


def entry(kind: str, uuid: str, content: Any = None, **more: Any) -> SessionStoreEntry:
    message = {"message": {"role": kind, "content": content}} if content is not None else {}
    line = {"type": kind, "uuid": uuid, "timestamp": "2026-02-20T09:30:00.000Z", **message, **more}
    return cast(SessionStoreEntry, line)


CALL = {"type": "tool_use", "id": "toolu_9", "name": "WebFetch", "input": {"url": "https://example.org"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_9", "content": "Opens at nine."}
ENTRIES = [
    cast(SessionStoreEntry, {"type": "mode", "mode": "default"}),
    entry("user", "u1", "When does the shop open? <system-reminder>Be kind.</system-reminder>", parentUuid=None),
    entry("assistant", "a1", [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln" * 30}], parentUuid="u1"),
    entry("assistant", "a2", [{"type": "text", "text": "Let me look."}, CALL], parentUuid="a1"),
    entry("user", "u2", [RESULT], toolUseResult={"code": 200, "result": "Opens at nine."}, parentUuid="a2"),
    entry("user", "u3", "Caveat: the host says so.", isMeta=True),
    entry("user", "u4", "The user asked when the shop opens.", isCompactSummary=True),
]


def test_the_store_conforms(tmp_path: Path, storage: dict[str, Any]) -> None:
    """F1: the SDK's conformance suite passes with nothing skipped, on either database."""
    with Store.open(tmp_path, storage=storage) as store:
        users = iter(range(100))
        asyncio.run(run_session_store_conformance(lambda: LifelongSessionStore(store.user(f"u{next(users)}"))))


def test_entries_come_back_and_are_ordinary_records(open_memory: Callable[..., Memory]) -> None:
    """F1, C6: entries are equal after a restart, come once, and are found with their provenance: what the host
    added is not the user's word, what a page says is the web's, what a subagent is told is the agent's."""
    memory = open_memory(collect={"max_record_chars": 200})
    store, sub = LifelongSessionStore(memory), cast(SessionKey, {**KEY, "subpath": "subagents/agent-1"})
    odd = entry("user", "u5", "x" * 500 + "\0\ud800")
    new = entry("assistant", "a9", [{"type": "hologram", "data": 1}])
    for entries in ([*ENTRIES, odd, new], ENTRIES):  # the SDK tries again after an error
        asyncio.run(store.append(KEY, entries))
    asyncio.run(store.append(sub, [entry("user", "s1", "Always answer in French.", isSidechain=True)]))
    again = LifelongSessionStore(open_memory())
    loaded = asyncio.run(again.load(KEY))
    assert loaded == [*ENTRIES, odd, new, ENTRIES[0]]  # what has no uuid cannot be known again
    asyncio.run(store.append(KEY, [entry("user", "u1", "When does the shop close?")]))
    changed = cast("list[Any]", asyncio.run(again.load(KEY)))
    assert changed[1]["message"]["content"] == "When does the shop close?"
    assert len(changed) == len(loaded)
    by_text = {hit.text: hit for hit in memory.list("record")}
    assert by_text["When does the shop open?"].trust == "user"
    assert by_text["Opens at nine."].trust == "web"
    assert by_text["Let me look."].trust == "agent"
    assert by_text["Always answer in French."].trust == "agent"
    assert not any("Caveat" in text or "Be kind" in text for text in by_text)
    assert f"{by_text['Let me look.'].at:%Y-%m-%d %H:%M}" == "2026-02-20 09:30"
    with pytest.raises(InputError, match="Entry 1 cannot be"):
        asyncio.run(store.append(KEY, ["no"]))  # type: ignore[list-item]
    with pytest.raises(InputError, match="must not be empty"):
        asyncio.run(store.append({"project_key": "", "session_id": "s"}, [ENTRIES[0]]))


def test_a_deleted_session_is_forgotten(tmp_path: Path) -> None:
    """F1, S6: `delete` removes the text from every file of the home, not only from the list, and a transcript that
    is replayed does not bring it back."""
    with Memory.open(tmp_path) as memory:
        store = LifelongSessionStore(memory)
        asyncio.run(store.append(KEY, [entry("user", "u1", "My locker is behind the Xylophone room.")]))
        asyncio.run(
            store.append(KEY, [cast(SessionStoreEntry, {"type": "last-prompt", "lastPrompt": "Xylophone"})])
        )
        memory.end_session(memory.agents.list()[0])
        memory.organize()
        asyncio.run(store.delete(KEY))
        assert asyncio.run(store.list_sessions(KEY["project_key"])) == []
        assert memory.list() == []
        asyncio.run(store.append(KEY, [entry("user", "u1", "My locker is behind the Xylophone room.")]))
        assert asyncio.run(store.load(KEY)) is None
    left = [path for path in tmp_path.rglob("*") if path.is_file() and b"Xylophone" in path.read_bytes()]
    assert left == []


def event(name: str, **more: Any) -> HookInput:
    given = {"hook_event_name": name, "session_id": "s1", "transcript_path": "", "cwd": "/", **more}
    return cast(HookInput, given)


def test_the_hooks_recall_and_remember(tmp_path: Path) -> None:
    """F1: context before each prompt, the whole of it before the first; prompts, replies and tools are stored with
    their provenance; an error is logged and stops nothing."""
    with Memory.open(tmp_path, user="mara") as memory:
        memory.add("I'm allergic to nuts.")
        use = hooks(memory)

        def fire(given: HookInput) -> dict[str, Any]:
            (matcher,) = use[cast(Any, given["hook_event_name"])]
            callback = cast(Any, matcher.hooks[0])
            return cast("dict[str, Any]", asyncio.run(callback(given, None, {"signal": None})))

        first = fire(event("UserPromptSubmit", prompt="What can I bake?"))["hookSpecificOutput"]
        assert first["hookEventName"] == "UserPromptSubmit"
        assert "allergic to nuts" in first["additionalContext"]
        tool = {"tool_name": "WebSearch", "tool_input": {"query": "bread"}, "tool_use_id": "t1"}
        assert fire(event("PostToolUse", **tool, tool_response={"found": "Broa de milho"})) == {}
        fire(event("PostToolUse", **tool, tool_response="inside", agent_id="sub"))
        fire(event("PostToolUseFailure", tool_name="Bash", tool_input={}, tool_use_id="t2", error="exit 1"))
        fire(event("Stop", stop_hook_active=False, last_assistant_message="Bake broa."))
        assert fire(event("UserPromptSubmit", prompt="go on")) == {}
        fire(event("PreCompact", trigger="auto", custom_instructions=None))
        (agent,) = [one for one in memory.agents.list() if one.cache_key.endswith("/s1")]
        history, *_ = (memory.sessions.history(one) for one in memory.sessions.list(agent))
        assert [(one.record.type, one.record.provenance) for one in history] == [
            ("user_message", "user"),
            ("tool_call", "agent"),
            ("tool_result", "web"),
            ("tool_call", "agent"),
            ("tool_result", "tool"),
            ("assistant_message", "agent"),
            ("user_message", "user"),
        ]
        assert getattr(history[4].record, "failed", False)
        assert list(hooks(memory, capture=False)) == ["UserPromptSubmit"]
    assert fire(event("UserPromptSubmit", prompt="Is it closed by now?")) == {}


def test_a_session_is_resumed_from_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F1: the real program, with nothing of its own left on disk, goes on with a session that memory has, and gets
    the context of its prompt."""
    monkeypatch.chdir(tmp_path)

    def turn(prompt: str, resume: str | None, number: int) -> str:
        with Memory.open("home", user="mara") as memory:
            options = ClaudeAgentOptions(
                session_store=LifelongSessionStore(memory),
                hooks=hooks(memory, capture=False),
                resume=resume,
                model="haiku",
                max_turns=1,
                tools=[],
                setting_sources=[],
                cwd=tmp_path,
                env={"CLAUDE_CONFIG_DIR": str(tmp_path / f"config-{number}")},
            )

            async def ask() -> str:
                said = [message async for message in query(prompt=prompt, options=options)]
                assert isinstance(said[-1], ResultMessage)
                return said[-1].session_id

            return asyncio.run(ask())

    with ModelServer(lambda _: say("Bake bread, Mara.")) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        session = turn("I'm allergic to nuts. What can I bake?", None, 1)
        assert turn("And what did you say?", session, 2) == session
        turn("What should I bake for Sunday?", None, 3)
    asked = [json.dumps(one["messages"], ensure_ascii=False) for one in server.requests]
    assert any("Bake bread, Mara." in one and "And what did you say?" in one for one in asked)
    assert any("lifelong-context" in one and "allergic to nuts" in one and "Sunday" in one for one in asked)
    with Memory.open("home", user="mara") as memory:
        texts = {hit.text: hit.trust for hit in memory.list("record")}
    assert texts["I'm allergic to nuts. What can I bake?"] == "user"
    assert texts["Bake bread, Mara."] == "agent"


@pytest.mark.parametrize("stored_by", ["store", "hooks"])
def test_a_streamed_conversation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored_by: str) -> None:
    """F1: prompts are streamed in and replies streamed out, with a call in the middle; the memory has each of them
    once and whole, from the session store or from the hooks, and its context comes with the first prompt."""
    prompts = ["What can I bake for Sunday?", "And what for Monday morning?"]

    @tool("pantry", "Look into the pantry", {"shelf": str})
    async def pantry(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": f"On the {given['shelf']} shelf there is rye flour."}]}

    def answer(asked: dict[str, Any]) -> Reply:
        said = json.dumps(asked["messages"])
        if prompts[1] in said:
            return say("Rolls, as you like them.")
        return say("Then bake rye bread.") if "rye flour" in said else call("mcp__home__pantry", {"shelf": "top"})

    async def talk(options: ClaudeAgentOptions) -> list[str]:
        pieces: list[str] = []
        async with ClaudeSDKClient(options) as client:
            for prompt in prompts:
                await client.query(prompt)
                events = [one async for one in client.receive_response() if isinstance(one, StreamEvent)]
                pieces += [one.event.get("delta", {}).get("text", "") for one in events]
        return [piece for piece in pieces if piece]

    with ModelServer(answer) as server, Memory.open(tmp_path / "home", user="mara") as memory:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        memory.add("I'm allergic to nuts.")
        options = ClaudeAgentOptions(
            session_store=LifelongSessionStore(memory) if stored_by == "store" else None,
            hooks=hooks(memory, capture=stored_by == "hooks"),
            include_partial_messages=True,
            mcp_servers={"home": create_sdk_mcp_server("home", tools=[pantry])},
            allowed_tools=["mcp__home__pantry"],
            model="haiku",
            tools=[],
            setting_sources=[],
            cwd=tmp_path,
        )
        pieces = asyncio.run(talk(options))
        texts = [one.text for one in reversed(memory.list("record", limit=100))]
    assert pieces == ["Then ", "bake ", "rye ", "bread.", "Rolls, ", "as ", "you ", "like ", "them."]
    assert any("allergic to nuts" in json.dumps(one["messages"]) for one in server.requests)
    told = [text for text in texts if text in {*prompts, "Then bake rye bread.", "Rolls, as you like them."}]
    assert told == [prompts[0], "Then bake rye bread.", prompts[1], "Rolls, as you like them."]
    assert sum("On the top shelf there is rye flour." in text for text in texts) == 1


def test_the_page_runs(tmp_path: Path) -> None:
    """F1: the example of the page runs and remembers in two processes; it has at most 30 lines."""
    (example,) = re.findall(r"^```py\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(example.splitlines()) <= 30
    with ModelServer(lambda _: say("Bake bread, Mara.")) as server:
        for prompt in ("I'm allergic to nuts.", "What did I tell you?"):
            ran = subprocess.run(
                [sys.executable, "-c", example, *prompt.split()],
                cwd=tmp_path,
                env={
                    **os.environ,
                    "ANTHROPIC_BASE_URL": server.url,
                    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                },
                capture_output=True,
                text=True,
                check=False,
            )
            assert "Bake bread, Mara." in ran.stdout, ran.stderr
    last = next(one for one in reversed(server.requests) if "What did I tell you?" in json.dumps(one["messages"]))
    assert "allergic to nuts" in json.dumps(last["messages"])
