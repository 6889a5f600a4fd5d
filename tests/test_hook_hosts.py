"""`lifelong hook` in the real hosts: Claude Code, Codex and Gemini CLI, against scripted endpoints (SPEC F3).

Claude Code is the program in claude-agent-sdk. The other two are installed from npm once, into the folder that
LIFELONG_NPM_CACHE names, or into one of the test run.
"""

from __future__ import annotations

import html
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from lifelong import Memory, User
from tests.conftest import absent
from tests.model_servers import ModelServer, Reply, say
from tests.scripted_gemini import gemini
from tests.scripted_responses import ResponsesServer
from tests.test_hook import HOLD

pytestmark = pytest.mark.soak

LIFELONG = [sys.executable, "-m", "lifelong"]
PACKAGES = {"codex": "@openai/codex@0.169.0", "gemini": "@google/gemini-cli@0.61.0"}
MAX_CONTEXT_CHARS = 9_000
ANSWER = "I noted that."
FENCED = re.compile("<lifelong-context.*?</lifelong-context>", re.DOTALL)
WAIT_SECONDS = 300
WINDOWS = [
    "11111111-1111-4111-8111-111111111111",
    "22222222-2222-4222-8222-222222222222",
]  # Codex makes its own ids


def _texts(value: object) -> Iterator[str]:
    """Yield every text of a request."""
    if isinstance(value, str):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(one)


class Host:
    """A host with `lifelong hook` in its settings, its own folders and its scripted endpoint."""

    connector: str
    hooks: tuple[str, ...]
    server: ModelServer

    def __init__(self, root: Path, npm: Path) -> None:
        self.work, self.home, self.config, self.npm = root / "work", root / "home", root / "config", npm
        self.work.mkdir()
        self.config.mkdir()
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ANTHROPIC_", "CLAUDE", "AWS_", "CODEX_", "OPENAI_", "GEMINI_", "GOOGLE_"))
        }
        self.environment |= {"NO_PROXY": "127.0.0.1", "HOME": str(root), "IS_SANDBOX": "1"}

    def settings(self, timeout: int) -> dict[str, Any]:
        command = shlex.join([*LIFELONG, "hook", "--home", str(self.home)])
        one = {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}
        return {"hooks": {name: [one] for name in self.hooks}}

    def endpoint(self) -> ModelServer:
        raise NotImplementedError

    def prepare(self, url: str) -> None:
        raise NotImplementedError

    def command(self, prompt: str, session: str, *, resume: bool) -> list[str]:
        raise NotImplementedError

    def ask(self, prompt: str, session: str = "", *, resume: bool = False) -> str:
        """Run the host for one turn, and return what it printed."""
        words = self.command(prompt, session, resume=resume)
        ran = subprocess.run(
            words,
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout[-2_000:] + ran.stderr[-2_000:]
        assert ANSWER in ran.stdout or prompt.startswith("/")
        return ran.stdout + ran.stderr

    def contexts(self) -> list[str]:
        """Return the contexts that reached the model."""
        texts = [html.unescape(text) for asked in self.server.requests for text in _texts(asked)]
        return [found for text in texts for found in re.findall(FENCED, text)]


class ClaudeCode(Host):
    connector = "claude-code"
    hooks = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd")

    def endpoint(self) -> ModelServer:
        return ModelServer(lambda _: say(ANSWER))

    def prepare(self, url: str) -> None:
        (self.config / "hooks.json").write_text(json.dumps(self.settings(60)))
        self.environment |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "scripted"}
        self.environment["CLAUDE_CONFIG_DIR"] = str(self.config)

    def command(self, prompt: str, session: str, *, resume: bool) -> list[str]:
        import claude_agent_sdk

        program = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
        which = ["--resume" if resume else "--session-id", session]
        shown = ["--output-format", "stream-json", "--verbose", "--include-hook-events"]
        return [str(program), "-p", "--settings", str(self.config / "hooks.json"), *shown, *which, prompt]


class Codex(Host):
    connector = "codex"
    hooks = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact")

    def endpoint(self) -> ModelServer:
        return ResponsesServer(lambda _: say(ANSWER))

    def prepare(self, url: str) -> None:
        (self.config / "hooks.json").write_text(json.dumps(self.settings(60)))
        (self.config / "config.toml").write_text(
            'model = "gpt-5"\nmodel_provider = "scripted"\n[model_providers.scripted]\nname = "scripted"\n'
            f'base_url = "{url}/v1"\nwire_api = "responses"\n'
        )
        self.environment["CODEX_HOME"] = str(self.config)

    def command(self, prompt: str, session: str, *, resume: bool) -> list[str]:
        begin = [str(self.npm / "codex"), "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"]
        return [*begin, *(["resume", session] if resume else []), prompt]


class GeminiServer(ModelServer):
    """The side questions of Gemini CLI are asked whole, the turns as streams."""

    def __init__(self) -> None:
        super().__init__(lambda _: Reply())

    def answer(self, asked: dict[str, Any], headers: dict[str, str]) -> Reply:
        super().answer(asked, headers)
        return gemini({"text": ANSWER}, stream="stream" in headers[":path"])


class GeminiCli(Host):
    connector = "gemini-cli"
    hooks = ("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress", "SessionEnd")

    def endpoint(self) -> ModelServer:
        return GeminiServer()

    def prepare(self, url: str) -> None:
        folder = Path(self.environment["HOME"]) / ".gemini"
        folder.mkdir()
        settings = {**self.settings(60_000), "security": {"auth": {"selectedType": "gemini-api-key"}}}
        settings["privacy"] = {"usageStatisticsEnabled": False}
        (folder / "settings.json").write_text(json.dumps(settings))
        self.environment |= {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "scripted"}
        self.environment |= {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_CLI_NO_RELAUNCH": "true"}

    def command(self, prompt: str, session: str, *, resume: bool) -> list[str]:
        which = ["--resume", session] if resume else ["--session-id", session]
        return [str(self.npm / "gemini"), "--model", "gemini-2.5-flash", *which, "-p", prompt]


@pytest.fixture(scope="session")
def npm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the hosts' programs."""
    if not shutil.which("npm"):
        absent("npm is not installed")
    given = os.environ.get("LIFELONG_NPM_CACHE")
    folder = Path(given) if given else tmp_path_factory.mktemp("npm")
    programs = folder / "node_modules" / ".bin"
    if not all((programs / name).exists() for name in PACKAGES):
        words = ["npm", "install", "--no-fund", "--no-audit", "--prefix", str(folder), *PACKAGES.values()]
        ran = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
        if ran.returncode:
            absent(f"the hosts cannot be installed from npm: {ran.stderr[-300:]}")
    return programs


@pytest.fixture(params=[ClaudeCode, Codex, GeminiCli], ids=["Claude Code", "Codex", "Gemini CLI"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    kind: type[Host] = request.param
    if kind is ClaudeCode:
        if not importlib.util.find_spec("claude_agent_sdk"):
            absent("claude-agent-sdk is not installed")
        programs = tmp_path
    else:
        programs = request.getfixturevalue("npm")
    made = kind(tmp_path, programs)
    with made.endpoint() as made.server:
        made.prepare(made.server.url)
        yield made
        assert all(len(text) <= MAX_CONTEXT_CHARS for text in made.contexts())


def init(host: Host) -> None:
    subprocess.run([*LIFELONG, "init", "--home", str(host.home)], check=True, capture_output=True)


def sessions(host: Host) -> dict[str, list[list[str]]]:
    """Return what is stored of each of the host's sessions, by its id; a session that was compacted is two."""
    found: dict[str, list[list[str]]] = {}
    with Memory.open(host.home) as memory:
        for agent in memory.agents.list():
            if not isinstance(descriptor := agent.descriptor, User):
                continue  # the worker's own
            assert descriptor.connector == host.connector
            channel = descriptor.channel_id.partition(":")[0]
            assert channel not in found, "two agents of one session"
            told = (memory.sessions.history(session) for session in memory.sessions.list(agent))
            found[channel] = [[getattr(one.record, "text", "") for one in said] for said in told]
    return found


def test_two_windows_at_once_and_resumed(host: Host) -> None:
    """F3: each turn is stored once, in its session and in order; a resumed session goes on."""
    init(host)
    # Two Gemini CLIs that are the first of a project lose sight of each other's sessions.
    with ThreadPoolExecutor(1 if isinstance(host, GeminiCli) else 2) as both:
        list(both.map(lambda one: host.ask(f"Window {one[0]} uses uv for its packages.", one), WINDOWS))
    stored = sessions(host)
    assert len(stored) == 2
    by_window = {parts[0][0].split()[1]: session for session, parts in stored.items()}
    with ThreadPoolExecutor(2) as both:
        list(
            both.map(
                lambda one: host.ask(f"Window {one[0]} uses ruff for linting.", by_window[one[0]], resume=True),
                WINDOWS,
            )
        )
    stored = sessions(host)
    assert len(stored) == 2
    for window, session in by_window.items():
        said = [f"Window {window} uses uv for its packages.", ANSWER, f"Window {window} uses ruff for linting."]
        assert [*chain(*stored[session])] == [*said, ANSWER]


def test_a_missing_home_and_a_locked_database(host: Host) -> None:
    """F3, S2: the host goes on, no home is made, and what was said is stored later, in order."""
    one, other = WINDOWS
    told = host.ask("We review code on Tuesdays.", one)
    assert not host.home.exists()
    if isinstance(host, ClaudeCode):
        assert "lifelong init" in told
    init(host)
    with Memory.open(host.home):
        pass
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, host.home / "lifelong.db"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        host.ask("We deploy on Fridays.", other)
        holder.kill()
    subprocess.run([*LIFELONG, "worker", "--once", "--home", str(host.home)], check=True, capture_output=True)
    said = sorted([*chain(*parts)] for parts in sessions(host).values())
    assert said == [["We deploy on Fridays.", ANSWER], ["We review code on Tuesdays.", ANSWER]]


def test_what_is_known_reaches_the_model_within_the_limit(host: Host) -> None:
    """R8, F3: a session begins with what stands; the prompt brings what is relevant."""
    init(host)
    with Memory.open(host.home) as memory:
        memory.add("I'm allergic to walnuts.")
        for number in range(400):
            memory.journal.remember(f"Line {number} of a long journal, which nobody has to read to its end.")
    host.ask("What should I bake for the party?", WINDOWS[0])
    contexts = host.contexts()
    assert any("walnuts" in text for text in contexts)
    assert all(len(text) <= MAX_CONTEXT_CHARS for text in contexts)


@pytest.mark.parametrize("host", [ClaudeCode], indirect=True)
def test_a_compaction_of_claude_code(host: Host) -> None:
    """C9, F3: it ends the session; what was said before stays as it is, and nothing is stored of the summary."""
    init(host)
    session = WINDOWS[0]
    host.ask("We use uv for Python packages, always.", session)
    assert "We use uv" in host.ask("/compact", session, resume=True)
    host.ask("And ruff for linting the code.", session, resume=True)
    assert sessions(host)[session] == [
        ["We use uv for Python packages, always.", ANSWER],
        ["And ruff for linting the code.", ANSWER],
    ]
