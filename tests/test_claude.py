"""A question over the Claude Agent SDK: its program, run for real against a scripted endpoint (SPEC O33, O34)."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from lifelong.errors import ConfigError, DailyCapExceeded, ModelError
from lifelong.journal.notes import Notes
from lifelong.models import claude
from lifelong.models.claude import ClaudeQuery
from lifelong.models.ledger import Call, Ledger
from lifelong.settings import ModelsSettings
from lifelong.storage.sqlite import SQLite
from lifelong.testing import FakeClock
from tests.conftest import absent
from tests.model_servers import ModelServer, Reply, Script, call, refuse, say

KEY = "key-for-the-scripted-endpoint"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The program finds no login, no settings and no way out but to loopback."""
    if not importlib.util.find_spec("claude_agent_sdk"):
        absent("claude-agent-sdk is not installed")
    for name in [name for name in os.environ if name.startswith(("ANTHROPIC_", "CLAUDE", "AWS_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("IS_SANDBOX", "1")


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the SDK said, in order."""
    import claude_agent_sdk

    said: list[Any] = []
    real = claude_agent_sdk.query

    async def query(**given: Any) -> AsyncIterator[Any]:
        async for message in real(**given):
            said.append(message)
            yield message

    monkeypatch.setattr(claude_agent_sdk, "query", query)
    return said


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    servers: list[ModelServer] = []

    def start(script: Script) -> ModelServer:
        servers.append(ModelServer(script).__enter__())
        monkeypatch.setenv("ANTHROPIC_BASE_URL", servers[-1].url)
        return servers[-1]

    yield start
    for server in servers:
        server.__exit__()


def question(sqlite: SQLite, clock: FakeClock, **settings: Any) -> ClaudeQuery:
    return ClaudeQuery(ModelsSettings(**settings), sqlite, clock, "default")


def rows(sqlite: SQLite) -> list[Call]:
    return sqlite.read(lambda tx: Ledger(tx).recent("default", 10))


def test_the_program_is_asked_with_exactly_those_options(
    sqlite: SQLite, clock: FakeClock, serve: Any, messages: list[Any], tmp_path: Path
) -> None:
    """O33, O34: one request, no tools, one turn, permissions skipped, no settings, no session kept; the prompt as
    it is, also where it names a file; the cost in the book is the SDK's."""
    config = tmp_path / "config"
    config.mkdir()
    (config / "settings.json").write_text(json.dumps({"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}}))
    (config / "CLAUDE.md").write_text("A LINE OF SETTINGS")
    (tmp_path / "other.txt").write_text("A LINE OF ANOTHER FILE")
    prompt = f"Condense: see @{tmp_path / 'other.txt'} and /init."
    server = serve([say("All condensed.")])
    assert question(sqlite, clock)(prompt) == "All condensed."
    [asked] = server.requests
    assert asked["tools"] == []
    assert [m["content"] for m in asked["messages"] if m["role"] == "user"] == [prompt]
    assert "A LINE OF" not in json.dumps(asked)
    assert asked["max_tokens"] <= 8_192
    started, result = messages[0].data, messages[-1]
    assert (started["tools"], started["mcp_servers"], started["permissionMode"]) == ([], [], "bypassPermissions")
    assert (result.num_turns, result.is_error) == (1, False)
    assert not list(config.rglob("*.jsonl"))
    [row] = rows(sqlite)
    assert (row.purpose, row.state, row.model) == ("notes", "done", "claude-agent-sdk:haiku")
    assert (row.input_tokens, row.output_tokens, row.cost) == (1_000, 100, result.total_cost_usd)
    assert row.cost > 0


def test_the_options_are_the_designs(sqlite: SQLite, clock: FakeClock) -> None:
    """O33: as the SDK takes them; nothing of the working folder is near."""
    options = question(sqlite, clock).options("empty")
    assert (options.tools, options.max_turns, options.max_budget_usd) == ([], 1, 0.05)
    assert (options.setting_sources, options.permission_mode) == ([], "bypassPermissions")
    assert set(options.extra_args) == {"no-session-persistence", "allow-dangerously-skip-permissions"}
    assert (options.cwd, options.verbatim_prompts, options.strict_mcp_config) == ("empty", True, True)


def test_a_model_a_key_and_an_address_of_ones_own(
    sqlite: SQLite, clock: FakeClock, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O34: `models` names them; those of another provider are not given to Anthropic's program."""
    server = serve([say("Yes.")])
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    own = {"model": "anthropic:claude-haiku-4-5", "base_url": server.url, "api_key": "another-key"}
    assert question(sqlite, clock, **own)("Well?") == "Yes."
    assert server.requests[0]["model"].startswith("claude-haiku-4-5")
    assert server.headers[0]["x-api-key"] == "another-key"
    foreign = question(sqlite, clock, model="openai:gpt-5", base_url="http://x", api_key="other").options("")
    assert (foreign.model, "ANTHROPIC_API_KEY" in foreign.env, "ANTHROPIC_BASE_URL" in foreign.env) == (
        "haiku",
        False,
        False,
    )


@pytest.mark.parametrize(
    ("replies", "said", "free"),
    [
        ([say("Too dear.", input_tokens=5_000_000)], "budget", False),
        ([call("Bash")], "", False),
        ([say("Half of it", stop="max_tokens"), say("and the rest.")], "cut off", False),
        ([say("Half of it", stop="max_tokens")] * 9, "token maximum", False),
        ([say("I cannot help with that.", stop="refusal")] * 9, "", False),
        ([refuse(401, f"no such key: {KEY}")] * 2, "401", True),
        ([say("Late.", wait=60)], "within 3 s", False),
    ],
    ids=["dear", "tool", "pieces", "cut", "declined", "refused", "late"],
)
def test_what_is_no_answer_is_an_error_with_its_cost(
    sqlite: SQLite, clock: FakeClock, serve: Any, replies: list[Reply], said: str, free: bool
) -> None:
    """O33: over the budget, a second turn, a cut answer, a refusal, none in time. O14: paid for or not, it is in
    the book; S4: no key in the words."""
    server = serve(replies)
    with pytest.raises(ModelError, match="gave no usable answer") as error:
        question(sqlite, clock, timeout_seconds=3.0 if "within" in said else 60.0)("Condense.")
    assert said in str(error.value)
    assert KEY not in str(error.value)
    assert len(server.requests) <= len(replies)
    [row] = rows(sqlite)
    assert (row.cost == 0) == free
    assert row.state in {"done", "failed"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused")
def test_root_is_told_what_to_do(
    sqlite: SQLite, clock: FakeClock, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O34: the program's own words come through; nothing was asked, so nothing was spent."""
    serve([])
    monkeypatch.delenv("IS_SANDBOX")
    with pytest.raises(ModelError, match="root"):
        question(sqlite, clock)("Condense.")
    assert [(row.state, row.cost) for row in rows(sqlite)] == [("failed", 0.0)]


def test_the_daily_cap_holds(sqlite: SQLite, clock: FakeClock, serve: Any) -> None:
    """O14: where the question could pass the home's cap, nothing is asked."""
    server = serve([say("Yes.")])
    with pytest.raises(DailyCapExceeded):
        question(sqlite, clock, daily_cap_usd=0.04)("Condense.")
    assert (server.requests, rows(sqlite)) == ([], [])


def test_without_the_extra_it_says_what_to_install(
    sqlite: SQLite, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O34: and nothing is entered."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"lifelong\[claude\]"):
        question(sqlite, clock)("Condense.")
    assert (claude.missing(), rows(sqlite)) == (claude.INSTALL, [])


def test_notes_are_compacted_over_it(sqlite: SQLite, clock: FakeClock, serve: Any, tmp_path: Path) -> None:
    """O33: the whole way, from a note that is stored to `compacted.md`, in the background."""
    server = serve([say("Deploys go out on Tuesday; never on Friday.")])
    notes = Notes(tmp_path, "researcher", question(sqlite, clock), threshold=1_000)
    notes.store("deploys", "Deploys go out on Tuesday. " * 30)
    notes.store("rule", "Never deploy on Friday. " * 30)
    notes.wait()
    assert notes.load() == "Deploys go out on Tuesday; never on Friday.\n"
    assert "Deploys go out on Tuesday." in json.dumps(server.requests[0])
    assert [row.state for row in rows(sqlite)] == ["done"]
