"""Help, examples, the generated page, what is imported, and how a command ends."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from bench.reference import cli, help_text, walk

from lifelong import Memory, User, UserMessage
from lifelong.serve.cli.app import summary
from lifelong.serve.init import settings
from tests.command_line import Line

ROOT = Path(__file__).parent.parent
COMMANDS = [(name, command) for _, name, command in walk()]
NAMES = [name for name, _ in COMMANDS]

SILENT = {"lifelong serve", "lifelong mcp", "lifelong hook"}
"""What speaks to another program, or prints nothing."""

PROMISED = """init demo serve mcp hook worker config add search context about list correct pin unpin feedback
end-session organize receipt users forget forgotten relations agents health stats ledger doctor verify scan
rebuild retention backup restore encrypt export import""".split()
NOUNS = {
    "token": "create list revoke log",
    "documents": "tree read write history diff rollback consolidate",
    "journal": "show remember compact",
    "experiences": "list query add",
    "notes": "list show store compact restore",
    "sessions": "list show",
    "inbox": "list retry release",
    "review": "list approve edit refuse",
}


def test_the_commands_are_these() -> None:
    """Few verbs, grouped by noun where there are many."""
    nouns = [f"{noun} {verb}" for noun, verbs in NOUNS.items() for verb in verbs.split()]
    assert sorted(NAMES) == sorted(f"lifelong {name}" for name in (*PROMISED, *nouns))


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=NAMES)
def test_every_command_has_help_and_an_example_and_takes_json_if_it_prints(
    name: str, command: Any, line: Line
) -> None:
    """The example parses as it stands; --help prints what the page says."""
    answer = line.done(*name.split()[1:], "--help")
    assert f"Usage: {name}" in answer.out
    text = help_text(name, command)
    assert ("--json" in text) == (name not in SILENT)
    (example,) = re.findall(r"Example: (lifelong .+)", command.help)
    words = shlex.split(example)
    assert words[: len(name.split())] == name.split()
    command.make_context(name, words[len(name.split()) :])
    assert all(option.help for option in command.params), "every option says what it does"


def test_every_example_runs(tmp_path: Path, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    """K2: as it stands, in a home that has what it names; but for those that go on until they are ended."""
    monkeypatch.setenv("HOME", str(tmp_path / "new"))
    monkeypatch.delenv("LIFELONG_HOME", raising=False)
    monkeypatch.setattr("lifelong.serve.demo.SECONDS_BETWEEN_RECORDS", 0)
    examples = {name: re.findall(r"Example: lifelong (.+)", str(command.help))[0] for name, command in COMMANDS}
    for name in (
        "lifelong serve",
        "lifelong mcp",
        "lifelong health",
        "lifelong encrypt",
    ):  # the last needs a cipher
        del examples[name]
    for name in ("lifelong init", "lifelong add", "lifelong documents write"):  # in a new home
        line.done(*shlex.split(examples.pop(name)))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "backups").mkdir()
    (tmp_path / "Downloads").mkdir()
    with ZipFile(tmp_path / "Downloads" / "chatgpt-export.zip", "w") as archive:
        said = {"author": {"role": "user"}, "content": {"parts": ["I have a dog."]}}
        archive.writestr(
            "conversations.json", json.dumps([{"mapping": {"a": {"message": said}}, "current_node": "a"}])
        )
    home = tmp_path / ".lifelong"
    home.mkdir()
    (home / "lifelong.toml").write_text(settings(), encoding="utf-8")
    now = datetime(2026, 2, 1, tzinfo=UTC)
    with Memory.open(home, clock=lambda: now) as memory, Memory.open(home, "work") as work:
        mara = memory.agent(User("cli", "mara", "main"))
        memory.append_many(mara, [UserMessage("Good morning!", "Mara")] * 12)
        for number in range(12):
            now += timedelta(days=1)
            memory.append(
                mara, UserMessage(f"I own {number + 2} bicycles. My brother Marco works at Atlas.", "Mara")
            )
            memory.end_session(mara)
            memory.organize()
        work.agent(User("cli", "mara", "main"))
        remember = next(one for one in memory.tools("cursor") if one.name == "remember_this")
        for number in range(3):
            remember.call(text=f"Never ride more than {number + 1} bicycles.")
        memory.store._parts.database.write(
            lambda tx: tx.run(
                "INSERT INTO tokens (id, owner, scope, name, digest, created_at) "
                "VALUES ('t1f0c2a9b3e', 'mara', 'read', '', '', 1)"
            )
        )
    piped = {"lifelong hook": '{"hook_event_name": "Stop", "last_assistant_message": "Done."}'}
    for name, example in examples.items():
        words = [str(tmp_path / "try") if word == "/tmp/try" else word for word in shlex.split(example)]
        answer = line(*words, piped=piped.get(name, ""))
        assert answer.code == 0, f"{example}: {answer.err}"


def test_the_list_of_commands_shows_each_in_a_sentence(line: Line) -> None:
    shown = line.done("--help").out
    assert all(f"  {name} " in shown for name in (*PROMISED, *NOUNS))
    assert summary("Do it. Then rest.\n\nMore.") == summary("Do it.") == summary("Do it") == "Do it."
    assert line.done("-h").out == shown
    assert "--install-completion" in shown
    assert line("documents").code == 2
    assert line().err == shown
    assert re.fullmatch(r"lifelong \d+\.\d+\.\d+\n", line.done("--version").out)


def test_the_page_of_commands_is_what_help_says() -> None:
    """`make docs` writes the page."""
    assert (ROOT / "docs/cli.md").read_text(encoding="utf-8") == cli()


def loaded(*words: str) -> set[str]:
    """Return the modules that a command imports."""
    program = (
        "import sys\nfrom lifelong.serve.cli import main\n"
        "try: main(sys.argv[1:])\nexcept SystemExit: print('--', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True)
    return set(done.stdout.split("--")[-1].split())


def test_help_imports_nothing_that_it_does_not_show() -> None:
    """Nor does a command import what another one needs."""
    servers = {"fastapi", "uvicorn", "mcp", "jinja2", "starlette", "pydantic_ai", "psycopg", "chromadb"}
    whole = {"numpy", "pydantic", "rich", "apsw", "lifelong.memory", "lifelong.types"}
    assert loaded("--help") & (servers | whole) == set()
    assert loaded("search", "--help") & (servers | whole) <= {"pydantic"}, "which typer asks about options"


def test_everyday_verbs_import_neither_rich_nor_a_server(tmp_path: Path) -> None:
    """A new process is quick; rich is for what moves on a terminal."""
    Memory.open(tmp_path).close()
    heavy = {"rich", "fastapi", "uvicorn", "mcp", "jinja2", "pydantic_ai", "psycopg", "chromadb"}
    others = {f"lifelong.serve.cli.{name}" for name in ("contents", "sessions", "admin", "start", "token")}
    others.add("lifelong.tokens")
    for words in (["add", "I live in Lisbon."], ["search", "Lisbon"], ["list"], ["users"]):
        assert loaded(*words, "--home", str(tmp_path)) & (heavy | others) == set(), words


def test_completion_knows_commands_and_options() -> None:
    def completed(words: str) -> str:
        told = subprocess.run(
            [sys.executable, "-m", "lifelong"],
            env={
                **os.environ,
                "_LIFELONG_COMPLETE": "complete_bash",
                "COMP_WORDS": words,
                "COMP_CWORD": str(words.count(" ")),
            },
            capture_output=True,
            text=True,
            check=True,
        )
        return told.stdout

    names = ["receipt", "relations", "review", "rebuild", "retention", "restore"]
    assert completed("lifelong re").split() == names
    assert "rollback" in completed("lifelong documents r")


def test_a_closed_pipe_and_ctrl_c_end_quietly(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as memory:
        memory.append_many(memory.agent(User("cli", "mara", "main")), [UserMessage("Tea. " * 1000)] * 20)
    for words in (["list", "--json"], ["sessions", "show", "cli/mara/main"], ["list"]):
        with subprocess.Popen(
            [sys.executable, "-m", "lifelong", *words, "--home", str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout
            process.stdout.close()
            assert process.stderr
            assert process.stderr.read() == ""
    with subprocess.Popen(
        [sys.executable, "-m", "lifelong", "health", "--watch", "--json", "--home", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert json.loads(process.stdout.readline())["status"] == "green"
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (130, "")


def test_an_unexpected_error_is_a_sentence_too(
    line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A traceback only with --debug, wherever on the line it stands; after `--` it is text."""
    Memory.open(tmp_path).close()
    monkeypatch.setenv("LIFELONG_HOME", str(tmp_path))
    (tmp_path / "users").write_text("in the way", encoding="utf-8")
    answer = line("notes", "store", "w", "k", "text")
    assert answer.code == 1
    assert answer.err.startswith("lifelong: ")
    assert "Traceback" not in answer.err
    with pytest.raises(Exception, match="no memory"):
        line("doctor", "--home", tmp_path / "none", "--debug")
    assert line.done("add", "--json", "--agent", "a/b/c", "--", "--debug").json["ids"] == ["r1"]
