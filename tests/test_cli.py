"""The command line, as a person calls it: a real process, real output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lifelong import Memory, User, UserMessage
from lifelong.serve.cli import app
from tests.command_line import Line


def lifelong(*words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lifelong", *words],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with Memory.open(tmp_path / "home") as memory:
        memory.append(memory.agent(User("cli", "mara", "main")), UserMessage("I moved to Lisbon."))
    return tmp_path / "home"


def test_the_demo_leaves_the_memory_of_the_environment_alone(home: Path, tmp_path: Path) -> None:
    """C0: samples never land in the memory a person works with."""
    before = {path.name: path.read_bytes() for path in home.iterdir()}
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    answer = lifelong("demo", "--json", cwd=folder, LIFELONG_HOME=str(home))
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["home"] == "demo-home"
    assert (folder / "demo-home" / "lifelong.db").is_file()
    assert {path.name: path.read_bytes() for path in home.iterdir()} == before
    with Memory.open(home) as memory:
        assert [agent.cache_key for agent in memory.agents.list()] == ["/connectors/cli/mara/main"]
    assert "LIFELONG_HOME" not in lifelong("demo", "--help", cwd=folder).stdout


@pytest.mark.parametrize("there", [True, False], ids=["an empty folder", "no folder"])
@pytest.mark.parametrize("named", ["by option", "by environment"])
@pytest.mark.parametrize("words", [["doctor"], ["backup", "x.db"]], ids=" ".join)
def test_where_there_is_no_memory_none_is_made(
    tmp_path: Path, line: Line, monkeypatch: pytest.MonkeyPatch, words: list[str], named: str, there: bool
) -> None:
    """K3: a typing mistake must not make a new one, nor a backup of nothing."""
    place = tmp_path / "place"
    if there:
        place.mkdir()
    before = sorted(tmp_path.rglob("*"))
    if named == "by option":
        words = [*words, "--home", str(place)]
    else:
        monkeypatch.setenv("LIFELONG_HOME", str(place))
    answer = line(*words)
    assert answer.code == 1
    assert answer.out == ""
    assert answer.err == (
        f"lifelong: There is no memory at {place}. Name its home with --home or LIFELONG_HOME, or make one: "
        "lifelong init\n"
    )
    assert sorted(tmp_path.rglob("*")) == before


def test_the_demo_never_touches_the_database_of_the_environment(tmp_path: Path) -> None:
    """An address in the environment is somebody's real memory."""
    answer = lifelong("demo", "--json", cwd=tmp_path, LIFELONG_STORAGE_URL="postgresql://nobody@127.0.0.1:1/real")
    assert answer.returncode == 0, answer.stderr
    assert (tmp_path / "demo-home" / "lifelong.db").exists()


def test_an_empty_file_is_no_memory(tmp_path: Path, line: Line) -> None:
    (tmp_path / "lifelong.db").touch()
    answer = line("doctor", "--home", tmp_path)
    assert answer.code == 1
    assert "There is no memory at" in answer.err


@pytest.mark.parametrize(
    "words",
    [
        ["import", ""],
        ["backup", ""],
        ["restore", " "],
        ["export", ""],
        ["init", "--home", ""],
        ["list", "--home="],
        ["demo", "--home", ""],
    ],
    ids=" ".join,
)
def test_an_empty_path_is_not_the_current_folder(
    home: Path, tmp_path: Path, line: Line, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """A variable that is not set must not make a home, or an import, of where somebody stands."""
    monkeypatch.setenv("LIFELONG_HOME", str(home))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    answer = line(*words)
    assert (answer.code, answer.out) == (2, "")
    assert "The path is empty. Name a file or a folder." in answer.err
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize("target", ["~nosuchuser/x.db", "n" * 300 + ".db", "no/such/folder/x.db"])
def test_a_backup_to_nowhere_is_a_sentence(home: Path, tmp_path: Path, line: Line, target: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    answer = line("backup", target, "--home", home)
    assert answer.code == (2 if target.startswith("~") else 1)
    assert answer.err.startswith("lifelong: ")
    assert len(answer.err.strip().splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_the_doctor_finds_a_sound_database_sound(home: Path) -> None:
    answer = CliRunner().invoke(app, ["doctor", "--home", str(home)])
    assert answer.exit_code == 0
    assert "sound" in answer.output
    assert json.loads(CliRunner().invoke(app, ["doctor", "--home", str(home), "--json"]).output) == {
        "sound": True,
        "problems": [],
        "remarks": [],
        "unindexed": 1,
    }


def test_the_doctor_says_what_is_damaged_and_exits_with_1(home: Path, line: Line) -> None:
    file = home / "lifelong.db"
    damaged = bytearray(file.read_bytes())
    middle = len(damaged) // 2
    damaged[middle : middle + 4096] = b"\xff" * 4096
    file.write_bytes(damaged)
    answer = line("doctor", "--home", home)
    assert answer.code == 1
    assert "damaged" in answer.out + answer.err


def test_a_backup_can_be_opened_as_a_home(home: Path, tmp_path: Path, line: Line) -> None:
    (tmp_path / "restored").mkdir()
    target = tmp_path / "restored" / "lifelong.db"
    answer = CliRunner().invoke(app, ["backup", str(target), "--home", str(home)])
    assert answer.exit_code == 0
    assert "restore" in answer.output
    with Memory.open(tmp_path / "restored") as memory:
        assert "I moved to Lisbon." in memory.sessions.transcript(memory.agents.list()[0])
    again = line("backup", target, "--home", home, "--json")
    assert again.code == 2
    assert "exists already" in json.loads(again.err)["message"]
    assert json.loads(
        CliRunner().invoke(app, ["backup", str(tmp_path / "b.db"), "--home", str(home), "--json"]).output
    )["bytes"]


def test_config_shows_what_is_in_force(home: Path, tmp_path: Path) -> None:
    """K1: file, then environment; the password of an address stays hidden."""
    (home / "lifelong.toml").write_text("[collect]\nturn_threshold = 8\nidle_after = 30\n", encoding="utf-8")
    answer = lifelong(
        "config",
        "--json",
        "--home",
        str(home),
        cwd=tmp_path,
        LIFELONG_COLLECT_IDLE_AFTER="9",
        LIFELONG_STORAGE_URL="postgresql://me:hush@db/x",
    )
    shown = json.loads(answer.stdout)
    assert shown["collect"]["turn_threshold"] == 8
    assert shown["collect"]["idle_after"] == 9
    assert "hush" not in answer.stdout
    table = CliRunner().invoke(app, ["config", "--home", str(home)])
    assert "collect.turn_threshold" in table.output
    assert CliRunner().invoke(app, ["config", "--markdown"]).output.startswith("# Configuration")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["doctor", "--home", "nowhere"], "There is no memory at"),
        (["backup", "x.db", "--home", "nowhere"], "There is no memory at"),
        (["demo", "--home", "a-file"], "is a file, so it cannot be a home"),
    ],
)
def test_an_error_is_one_sentence_and_a_traceback_only_with_debug(
    tmp_path: Path, words: list[str], sentence: str
) -> None:
    (tmp_path / "a-file").write_text("", encoding="utf-8")
    answer = lifelong(*words, cwd=tmp_path)
    assert answer.returncode == 1
    assert answer.stderr.startswith("lifelong: ")
    assert sentence in answer.stderr
    assert "Traceback" not in answer.stderr
    assert "Traceback" in lifelong("--debug", *words, cwd=tmp_path).stderr
    assert not (tmp_path / "nowhere").exists()


def test_an_unknown_setting_in_the_environment_names_the_nearest(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K1."""
    monkeypatch.setenv("LIFELONG_COLLECT_TURNS_THRESHOLD", "3")
    answer = line("config")
    assert answer.code == 1
    assert "Did you mean 'collect.turn_threshold'?" in answer.err


def test_stored_text_does_not_command_a_terminal(home: Path) -> None:
    """R2: neither in the table nor in JSON."""
    text = "Mara\x1b]0;owned\x07 likes\ttea\x9b2J \x1b[31m[red]now[/red]."
    with Memory.open(home) as memory:
        memory.append(memory.agents.list()[0], UserMessage(text, speaker="Ma\x1bra"))
    shown = CliRunner().invoke(app, ["search", "tea \x1b[2J", "--home", str(home)], color=True).output
    assert "likes tea" in shown
    assert "[red]now" in shown
    assert not set(shown) & {"\x07", "\x9b"}
    assert "\x1b]" not in shown
    assert "\x1b[31m" not in shown
    assert "\x1b[2J" not in shown
    found = CliRunner().invoke(app, ["search", "tea", "--home", str(home), "--json"]).output
    assert not set(found) & {"\x07", "\x1b", "\x9b"}
    assert json.loads(found)[0]["text"] == text
    with Memory.open(home) as memory:
        memory.documents.write(slug="turned\u202eround", title="T", body="B")
    assert "turnedround" in CliRunner().invoke(app, ["documents", "tree", "--home", str(home)]).output


def test_a_search_that_finds_nothing_says_what_to_do(line: Line, home: Path) -> None:
    """R2: a user that is not there, an index that is being made, no question, or nothing to find."""
    blank = line("search", " ", "--home", home)
    assert (blank.code, "There is no question" in blank.err) == (2, True)
    answer = line("search", "Lisbon", "--home", home, "--user", "typo")
    assert answer.code == 1
    assert "'typo'" in answer.err
    assert answer.err == f"lifelong: Unknown user 'typo'. See: lifelong users --home {home}\n"
    assert "Did you mean 'default'?" in line("search", "Lisbon", "--home", home, "--user", "defautl").err
    with Memory.open(home) as memory:
        memory.organize()
    nothing = ["search", "zebra", "--home", str(home), "--kind", "note"]
    assert "lifelong demo" in CliRunner().invoke(app, nothing).output
    with Memory.open(home) as memory:
        memory.admin.rebuild()
    assert "lifelong worker" in CliRunner().invoke(app, nothing).output
