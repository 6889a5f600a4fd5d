"""Homes that begin, are copied and come back: `init`, `restore`, and both databases."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import apsw
import pytest

from lifelong import Memory, User, UserMessage
from lifelong.serve.init import settings
from lifelong.settings import Settings
from tests.command_line import Line

MARA = User("cli", "mara", "main")
SAID = "I moved to Lisbon in May."


@pytest.fixture
def home(tmp_path: Path, line: Line) -> Path:
    place = tmp_path / "home"
    line.done("init", "--home", place)
    line.done("add", SAID, "--agent", "cli/mara/main", "--home", place)
    return place


@pytest.fixture
def copy(home: Path, tmp_path: Path, line: Line) -> Path:
    line.done("backup", tmp_path / "copy.db", "--home", home)
    return tmp_path / "copy.db"


def said(home: Path) -> list[str]:
    with Memory.open(home) as memory:
        return [one.record.text for one in memory.sessions.history(memory.agent(MARA))]  # type: ignore[union-attr]


def files(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def private(file: Path) -> bool:
    return os.name == "nt" or file.stat().st_mode & 0o777 == 0o600


def test_init_switches_the_recommended_set_on(tmp_path: Path, line: Line) -> None:
    """K2: journal, compaction and experiences; everything else is a default, written as a comment."""
    answer = line.done("init", "--home", tmp_path / "a home")
    assert f"lifelong add \"I live in Lisbon.\" --home '{tmp_path / 'a home'}'" in answer.out
    file = tmp_path / "a home" / "lifelong.toml"
    on = {"journal_enabled": True, "memory_compaction_enabled": True, "experience_store_enabled": True}
    assert {name: keys for name, keys in tomllib.loads(file.read_text(encoding="utf-8")).items() if keys} == {
        "continuity": on
    }
    assert Settings.load(file).model_dump() == Settings.load(continuity=on).model_dump()
    assert file.read_text(encoding="utf-8") == settings()
    assert private(file)
    assert line.done("init", "--home", tmp_path / "b", "--json").json["home"] == str(tmp_path / "b")


def test_every_line_of_the_settings_can_be_taken_in(tmp_path: Path) -> None:
    """K1: without its '#', each key has its default."""
    bare = re.sub(r"^# (\w+ = (?!\(not set\)))", r"\1", settings(), flags=re.MULTILINE)
    assert bare.count("\n# ") < settings().count("\n# ") / 2 + 15
    (tmp_path / "lifelong.toml").write_text(bare, encoding="utf-8")
    on = dict.fromkeys(("journal_enabled", "memory_compaction_enabled", "experience_store_enabled"), True)
    assert Settings.load(tmp_path / "lifelong.toml").model_dump() == Settings.load(continuity=on).model_dump()


def test_init_leaves_what_is_there(
    home: Path, tmp_path: Path, line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K2: settings are never written over, and where nothing can be made, none are left."""
    (home / "lifelong.toml").write_text("[collect]\nturn_threshold = 8\n", encoding="utf-8")
    before = files(home)
    answer = line("init", "--home", home)
    assert answer.code == 2
    assert "left as it is" in answer.err
    assert files(home) == before
    assert "is a file" in line("init", "--home", home / "lifelong.toml").err
    monkeypatch.setenv("LIFELONG_STORAGE_URL", "postgresql://nobody@127.0.0.1:1/x")
    monkeypatch.setenv("LIFELONG_STORAGE_CONNECT_TIMEOUT", "0.2")
    assert line("init", "--home", tmp_path / "new").code == 1
    assert files(tmp_path / "new") == {}


def test_a_backup_is_restored_into_a_new_home(copy: Path, tmp_path: Path, line: Line) -> None:
    """S1: backups are restored from."""
    answer = line.done("restore", copy, "--home", tmp_path / "new")
    assert "in place" in answer.out
    assert said(tmp_path / "new") == [SAID]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["lifelong.db"]
    assert private(tmp_path / "new/lifelong.db")
    line.done("doctor", "--home", tmp_path / "new")


def test_a_database_is_kept_where_a_backup_takes_its_place(home: Path, copy: Path, line: Line) -> None:
    """S1: only with --force, and what was there stays whole beside it."""
    line.done("add", "I moved on.", "--agent", "cli/mara/main", "--home", home)
    before = files(home)
    refused = line("restore", copy, "--home", home)
    assert refused.code == 2
    assert "--force" in refused.err
    assert files(home) == before
    told = line.done("restore", copy, "--home", home, "--force", "--json").json
    assert said(home) == [SAID]
    line.done("restore", told["kept"], "--home", home, "--force")
    assert said(home) == [SAID, "I moved on."]


def test_a_database_in_use_is_no_backup(home: Path, tmp_path: Path, line: Line) -> None:
    """S1: what was stored last may stand beside it, so that a copy of the file alone would lose it."""
    with Memory.open(home) as memory:
        memory.append(memory.agent(MARA), UserMessage("I moved on."))
        answer = line("restore", home / "lifelong.db", "--home", tmp_path / "new")
    assert answer.code == 2
    assert "lifelong.db-wal" in answer.err
    assert "`lifelong backup`" in answer.err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("damaged", [False, True], ids=["sound", "damaged"])
def test_a_home_that_somebody_works_with_is_left_alone(home: Path, copy: Path, line: Line, damaged: bool) -> None:
    """S1: their writes would go to a file that nobody reads any more."""
    program = (
        f"import sys; from lifelong import Memory; m = Memory.open({str(home)!r}); print(1, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout
        other.stdout.readline()
        if damaged:
            with (home / "lifelong.db").open("r+b") as file:
                file.write(b"nonsense" * 100)
        answer = line("restore", copy, "--home", home, "--force")
        assert answer.code == 1  # the command itself is right
        assert "Another process works with" in answer.err
        assert not list(home.glob(".restore-*"))
        other.communicate("\n")
    if damaged:
        line.done("restore", copy, "--home", home, "--force")
    assert said(home) == [SAID]


def test_a_damaged_home_is_mended_by_its_backup(home: Path, copy: Path, line: Line) -> None:
    """S1: the damaged file is kept for repair."""
    (home / "lifelong.db").write_bytes(b"nonsense" * 1000)
    kept = Path(line.done("restore", copy, "--home", home, "--force", "--json").json["kept"])
    assert kept.read_bytes() == b"nonsense" * 1000
    assert said(home) == [SAID]


def broken(copy: Path, how: str) -> Path:
    file = copy.with_name("broken.db")
    if how == "empty":
        file.touch()
    elif how == "no database":
        file.write_text("It is a text.\n" * 100, encoding="utf-8")
    elif how == "of another program":
        apsw.Connection(str(file)).execute("CREATE TABLE x (y)")
    elif how == "damaged":
        data = bytearray(copy.read_bytes())
        middle = len(data) // 2
        data[middle : middle + 8192] = b"\xff" * 8192
        file.write_bytes(data)
    elif how == "newer":
        shutil.copy(copy, file)
        apsw.Connection(str(file)).execute("INSERT INTO lifelong_migrations VALUES (999, 'later', 0)")
    return file


@pytest.mark.parametrize("how", ["missing", "empty", "no database", "of another program", "damaged", "newer"])
def test_what_is_no_sound_backup_is_never_put_in_place(home: Path, copy: Path, line: Line, how: str) -> None:
    """S1: it is checked before anything changes."""
    file = broken(copy, how)
    before = files(home)
    answer = line("restore", file, "--home", home, "--force")
    assert answer.code == (2 if how == "missing" else 1)
    assert str(file) in answer.err
    assert ".restore-" not in answer.err
    assert len(answer.err.strip().splitlines()) == 1
    assert files(home) == before


def test_the_commands_on_postgresql(
    tmp_path: Path, line: Line, postgres_storage: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """C0: rows live there, files in the home; its backups are its own."""
    monkeypatch.setenv("LIFELONG_STORAGE_URL", postgres_storage["url"])
    monkeypatch.setenv("LIFELONG_STORAGE_SCHEMA_NAME", postgres_storage["schema_name"])
    monkeypatch.setenv("LIFELONG_HOME", str(tmp_path / "home"))
    line.done("init")
    assert not (tmp_path / "home" / "lifelong.db").exists()
    line.done("add", SAID, "--agent", "cli/mara/main", "--end")
    line.done("worker", "--once", "--json")
    assert line.done("search", "Lisbon", "--json").json[0]["text"]
    assert "mara" in line.done("documents", "tree").out
    assert line.done("health", "--json").json["status"] == "green"
    line.done("doctor")
    assert "pg_dump" in line("backup", tmp_path / "x.db").err
    (tmp_path / "x.db").touch()
    assert "pg_restore" in line("restore", tmp_path / "x.db").err


KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from lifelong.serve import restore

copy, home, place, when = sys.argv[1:]
owner, name = {
    "copyfile": (shutil, "copyfile"), "link": (os, "link"), "replace": (Path, "replace"),
}.get(place, (restore, place))
real = getattr(owner, name)

def killed(*words):
    if when == "after":
        real(*words)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(owner, name, killed)
restore.restore(copy, home, force=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="there are no such signals")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("place", ["copyfile", "_check", "_set_aside", "link", "_swap_files", "replace"])
def test_a_restore_killed_in_the_middle_leaves_one_whole_database(
    home: Path, copy: Path, line: Line, place: str, when: str
) -> None:
    """S1, C10: at each of its steps; the next one clears away what it left."""
    with Memory.open(home) as memory:
        memory.append(memory.agent(MARA), UserMessage("I moved on."))
    killed = subprocess.run([sys.executable, "-c", KILLED, copy, home, place, when], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert said(home) == ([SAID] if (place, when) == ("replace", "after") else [SAID, "I moved on."])
    line.done("doctor", "--home", home)
    line.done("restore", copy, "--home", home, "--force")
    assert said(home) == [SAID]
    assert not list(home.glob(".restore-*"))
