"""Backups hold the files of users, too, and are noted (S1, S6)."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from lifelong import Memory, Store
from lifelong.errors import InputError, StorageUnavailable
from lifelong.forget.user_files import user_files
from lifelong.serve.restore import restore
from lifelong.testing import FakeClock
from tests.command_line import Line

CONTINUITY = {"journal_enabled": True}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two users with a journal and notes."""
    with Store.open(tmp_path / "home", clock=FakeClock(), continuity=CONTINUITY) as store:
        for name in ("mara", "tom"):
            memory = store.user(name)
            memory.add(f"I am {name}, and I live in Lisbon.")
            memory.end_session()
            memory.notes.worker("painter").store("colours", f"Blue dries slowly, says {name}.")
        store.organize()
    return tmp_path / "home"


@pytest.fixture
def copy(home: Path, tmp_path: Path) -> Path:
    with Memory.open(home) as memory:
        memory.admin.backup(tmp_path / "copy.db")
    return tmp_path / "copy.db"


def own_files(home: Path) -> dict[str, tuple[bytes, int]]:
    return {
        place.relative_to(home).as_posix(): (place.read_bytes(), place.stat().st_mtime_ns)
        for user in (home / "users").iterdir()
        for place in user_files(user)
    }


def noted(home: Path) -> list[str]:
    with Memory.open(home) as memory:
        rows = memory._parts.shared.database.read(lambda tx: tx.all("SELECT path FROM backups ORDER BY path"))
    return [path for (path,) in rows]


def test_a_backup_has_the_files_of_every_user(home: Path, copy: Path, tmp_path: Path) -> None:
    """S1: journal and notes come back, for their owner alone and with their times; nothing of it stays in rows."""
    before = own_files(home)
    assert {"users/mara/MEMORY.md", "users/tom/workers/painter/memory/colours.md"} <= before.keys()
    restored = restore(copy, tmp_path / "new")
    assert (restored.files, restored.kept, restored.kept_files) == (len(before), None, None)
    assert own_files(tmp_path / "new") == before
    assert {oct(place.stat().st_mode)[-3:] for place in (tmp_path / "new" / "users").rglob("*.md")} == {"600"}
    with Store.open(tmp_path / "new", continuity=CONTINUITY) as store:
        assert "tom" in store.user("tom").journal.records()[0].text
        assert store.user("tom").search("Lisbon", kinds=["journal"])
        database = store.user()._parts.shared.database
        assert database.read(lambda tx: tx.one("SELECT 1 FROM sqlite_master WHERE name = 'home_files'")) is None


def test_files_are_replaced_only_by_force_and_kept(home: Path, copy: Path) -> None:
    """S1: what was there stays beside."""
    before = own_files(home)
    journal = home / "users" / "mara" / "MEMORY.md"
    journal.write_text("# Memory\n\nWritten since.\n")
    (home / "lifelong.db").rename(home.parent / "lost.db")
    with pytest.raises(InputError, match="has files already"):
        restore(copy, home)
    assert "Written since" in journal.read_text()
    assert not (home / "lifelong.db").exists()
    restored = restore(copy, home, force=True)
    assert own_files(home) == before
    assert restored.kept_files
    assert "Written since" in (restored.kept_files / "mara" / "MEMORY.md").read_text()


def test_a_backup_without_files_leaves_those_of_the_home(
    home: Path, copy: Path, tmp_path: Path, line: Line
) -> None:
    """S1: one that an earlier version wrote."""
    old = apsw.Connection(str(copy))
    old.execute("DROP TABLE home_files")
    old.close()
    before = own_files(home)
    assert "has no journal and notes" in line.done("restore", copy, "--home", home, "--force").out
    assert own_files(home) == before
    assert restore(copy, tmp_path / "new").files is None


@pytest.mark.parametrize("path", ["../../x", "/etc/x", "mara/../../x", ""])
def test_a_backup_writes_no_file_outside_of_users(copy: Path, tmp_path: Path, path: str) -> None:
    """S1, S3: a backup is checked before anything is put in place."""
    hostile = apsw.Connection(str(copy))
    hostile.execute("INSERT INTO home_files VALUES (?, 1, x'00')", (path,))
    hostile.close()
    with pytest.raises(InputError, match="which no backup has"):
        restore(copy, tmp_path / "new")
    assert not (tmp_path / "new" / "lifelong.db").exists()
    assert not (tmp_path / "new" / "users").exists()
    assert not (tmp_path / "x").exists()


def test_each_backup_is_noted(home: Path, copy: Path, tmp_path: Path, line: Line) -> None:
    """S6: so that what is forgotten later can be looked for in it; one that failed is not."""
    assert noted(home) == [os.path.realpath(copy)]
    with Memory.open(home) as memory:
        with pytest.raises(InputError, match="exists already"):
            memory.admin.backup(copy)
        with pytest.raises(Exception, match="nowhere"):
            memory.admin.backup(tmp_path / "nowhere" / "x.db")
        memory.admin.backup(tmp_path / "second.db")
    assert noted(home) == [os.path.realpath(copy), os.path.realpath(tmp_path / "second.db")]


def test_what_a_killed_backup_left_is_named_and_goes_with_the_next(home: Path, tmp_path: Path) -> None:
    """S6: it holds what is forgotten, too."""
    script = """if True:
        import os, sys
        from lifelong import Memory
        from lifelong.storage import sqlite
        sqlite.give_name = lambda part, target: os._exit(9)
        with Memory.open(sys.argv[1]) as memory:
            memory.admin.backup(sys.argv[2])
    """
    target = Path(os.path.realpath(tmp_path / "copy.db"))
    assert subprocess.run([sys.executable, "-c", script, home, target], check=False).returncode == 9
    (left,) = tmp_path.glob(".copy.db.*.new")
    with Memory.open(home, user="mara") as memory:
        report = memory.forget(matching="Lisbon", dry_run=True)
        assert {str(target), str(left)} <= {*report.backups}
        memory.admin.backup(target)
    assert not list(tmp_path.glob(".copy.db.*"))


def test_a_backup_of_a_restored_home_is_whole(copy: Path, tmp_path: Path) -> None:
    """S1: again and again; also where the backup was put in place by hand."""
    by_hand = tmp_path / "by-hand"
    by_hand.mkdir()
    (by_hand / "lifelong.db").write_bytes(copy.read_bytes())
    with Memory.open(by_hand, "mara", continuity=CONTINUITY) as memory:
        memory.journal.remember("A new line.")
        memory.admin.backup(tmp_path / "again.db")
    restore(tmp_path / "again.db", tmp_path / "third")
    texts = (tmp_path / "third" / "users" / "mara" / "MEMORY.md").read_text("utf-8")
    assert re.search("A new line", texts)


@pytest.mark.parametrize("at", [2, 3, 4])  # after the second name of the database, which a rename replaces
def test_a_restore_that_fails_puts_back_what_was_there(
    home: Path, copy: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """S1: the database and the files of one moment stay together. Each rename in turn is refused."""
    (home / "users" / "mara" / "MEMORY.md").write_text("Written since.\n")
    before = own_files(home)
    with Memory.open(home) as memory:
        added = memory.add("I moved to Porto.")[0]
    names, left = {place.name for place in home.iterdir()}, at

    def refused(call: Callable[..., None]) -> Callable[..., None]:
        def rename(source: Path, target: Path) -> None:
            nonlocal left
            if left == 1:
                left = 0
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            call(source, target)
            left -= 1

        return rename

    with monkeypatch.context() as patched:
        for name in ("rename", "replace", "link"):
            patched.setattr(os, name, refused(getattr(os, name)))
        with pytest.raises(StorageUnavailable, match="What was there is as before"):
            restore(copy, home, force=True)
    assert own_files(home) == before
    assert {place.name for place in home.iterdir()} == names
    with Memory.open(home) as memory:
        assert memory.receipt(added).stage == "stored"
    restored = restore(copy, home, force=True)
    assert restored.kept_files
    assert (restored.kept_files / "mara" / "MEMORY.md").read_text() == "Written since.\n"


def test_a_home_without_room_for_a_restore_is_said(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("lifelong.serve.restore.mkdtemp", refuse)
    with pytest.raises(StorageUnavailable, match="No space left on device"):
        restore(copy, tmp_path / "new")
