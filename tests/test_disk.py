"""S1, S3: files are whole and durable, are their owner's alone, and are never outside of their folder."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from lifelong import LifelongError, Memory, Store
from lifelong.disk import (
    files_below,
    give_name,
    is_own_file,
    list_unfinished,
    make_folder,
    open_own,
    read_own,
    write_all,
    write_new,
)
from lifelong.errors import JournalError, StorageUnavailable
from lifelong.forget.user_files import user_files
from lifelong.home import Home
from lifelong.serve.restore import restore
from tests.command_line import Line
from tests.conftest import absent

EVERYTHING_ON = {"journal_enabled": True, "experience_store_enabled": True}
SECRET = "Zorblax keeps the vault open on Sundays."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "users" / "default"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file that is none of lifelong's business."""
    file = tmp_path / "outside" / "secret.md"
    file.parent.mkdir()
    file.write_text(f"{SECRET}\n", encoding="utf-8")
    return file


def test_a_file_counts_where_it_is_in_the_folder(root: Path, outside: Path) -> None:
    """S3: itself, or by a link that stays; not by one that points out, however it does."""
    (root / "a.md").write_text("a")
    (root / "b.md").symlink_to("a.md")
    (root / "c.md").symlink_to(outside)
    (root / "d.md").symlink_to(f"../../../outside/{outside.name}")
    (root / "folder").symlink_to(outside.parent)
    (root / "loop.md").symlink_to("loop.md")
    names = ["a.md", "b.md", "c.md", "d.md", f"folder/{outside.name}", "loop.md", "none.md"]
    assert [name for name in names if is_own_file(root / name, root)] == ["a.md", "b.md"]
    assert read_own(root / "b.md", root) == b"a"
    for name in ("c.md", "d.md", f"folder/{outside.name}"):
        with pytest.raises(OSError, match="points out"):
            open_own(root / name, root)
        with pytest.raises(OSError, match="points out"):
            open_own(root / name, root, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    assert SECRET in outside.read_text()


def test_a_pipe_or_a_folder_is_not_a_file(root: Path) -> None:
    """S3: nobody waits for a pipe."""
    os.mkfifo(root / "pipe.md")
    (root / "folder.md").mkdir()
    for name in ("pipe.md", "folder.md"):
        assert not is_own_file(root / name, root)
        with pytest.raises(OSError, match=r"not a file|Is a directory"):
            read_own(root / name, root)


def test_a_new_file_takes_no_name_that_is_taken(root: Path) -> None:
    """S1: whole, for its owner alone, and nothing is replaced."""
    write_new(root / "new", b"one")
    assert ((root / "new").read_bytes(), (root / "new").stat().st_mode & 0o777) == (b"one", 0o600)
    with pytest.raises(FileExistsError):
        write_new(root / "new", b"two")
    (root / "part").write_bytes(b"three")
    with pytest.raises(FileExistsError):
        give_name(root / "part", root / "new")
    assert ((root / "new").read_bytes(), (root / ".new.new").exists()) == (b"one", False)


def test_what_a_killed_writer_left_goes_with_the_next_one(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S1: a writer that is slower than another is told that the file exists."""
    left = root / ".new.0123456789abcdef.new"
    left.write_bytes(b"on")

    def write_slowly(handle: int, data: bytes) -> None:
        monkeypatch.undo()
        write_new(root / "new", b"two")
        write_all(handle, data)

    monkeypatch.setattr("lifelong.disk.write_all", write_slowly)
    with pytest.raises(FileExistsError):
        write_new(root / "new", b"three")
    assert (root / "new").read_bytes() == b"two"
    assert not list(root.glob(".new.*"))


def test_a_file_whose_name_may_not_last_has_none(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S1: who is told that nothing was written, writes it again."""

    def refuse(path: Path) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    monkeypatch.setattr("lifelong.disk.sync", refuse)
    with pytest.raises(OSError, match="Input/output error"):
        write_new(root / "new", b"one")
    monkeypatch.undo()
    assert not [path for path in root.iterdir() if "new" in path.name]
    write_new(root / "new", b"one")


def test_new_folders_are_synced_into_those_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S1: each of them, from the top."""
    synced: list[str] = []
    monkeypatch.setattr("lifelong.disk.sync", lambda path: synced.append(path.name))
    make_folder(tmp_path / "a" / "b")
    assert synced == [tmp_path.name, "a"]
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700


# Links in a home


def link_note(root: Path, outside: Path) -> None:
    folder = root / "workers" / "builder" / "memory"
    folder.mkdir(parents=True)
    (folder / "linked.md").symlink_to(outside)


def link_worker(root: Path, outside: Path) -> None:
    (root / "workers" / "builder").mkdir(parents=True)
    (root / "workers" / "builder" / "memory").symlink_to(outside.parent)


def link_page(root: Path, outside: Path) -> None:
    (root / "MEMORY.md").symlink_to(outside)


def link_day(root: Path, outside: Path) -> None:
    (root / "memory").mkdir()
    (root / "memory" / "2026-01-02.md").symlink_to(outside)


def link_days(root: Path, outside: Path) -> None:
    outside.rename(outside.with_name("2026-01-02.md"))
    (root / "memory").symlink_to(outside.parent)


def link_long_memory(root: Path, outside: Path) -> None:
    (root / "LONGMEMORY.md").symlink_to(outside)


def attempt(call: Callable[[], object]) -> str:
    """Return what a call says; an error must be ours."""
    try:
        return str(call())
    except LifelongError as error:
        return str(error)


def test_a_folder_that_cannot_be_looked_at_is_no_empty_one(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "a.md").write_text("a")
    (tmp_path / "loop").symlink_to("loop")
    assert files_below(tmp_path) == [tmp_path / "below" / "a.md", tmp_path / "loop"]
    assert files_below(tmp_path / "nowhere") == []
    with pytest.raises(OSError, match="symbolic links"):
        files_below(tmp_path / "loop")
    errors: list[OSError] = []
    assert files_below(tmp_path / "loop", errors.append) == []
    assert [error.filename for error in errors] == [str(tmp_path / "loop")]


LINKS = [link_note, link_worker, link_page, link_day, link_days, link_long_memory]


@pytest.mark.parametrize("link", LINKS)
def test_what_a_link_leads_to_outside_is_never_read(
    tmp_path: Path, root: Path, outside: Path, link: Callable[[Path, Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    """S3: not by search, context, journal, notes, audit, scan, export or backup; and it is said."""
    link(root, outside)
    with Memory.open(tmp_path / "home", continuity=EVERYTHING_ON) as memory:
        memory.add("I live in Porto.")
        memory.organize()
        assert not [hit for hit in memory.search("Who keeps the vault open?") if "vault" in hit.text]
        assert "vault" not in memory.context("Who keeps the vault open?")
        assert not [item for item in memory.list(limit=1_000) if "vault" in item.text]
        for read in (
            memory.journal.records,
            memory.journal.long_memory,
            memory.journal.records_of_days,
            memory.notes.worker("builder").load,
        ):
            assert "vault" not in attempt(read)
        memory.admin.audit()
        memory.admin.scan()
        memory.export(tmp_path / "export")
        memory.admin.backup(tmp_path / "backup.db")
    for copy in (tmp_path / "backup.db", *(path for path in (tmp_path / "export").rglob("*") if path.is_file())):
        assert SECRET.encode() not in copy.read_bytes(), copy
    assert "link" in caplog.text or "left out" in caplog.text or link is link_worker


@pytest.mark.parametrize("link", [link_page, link_day, link_long_memory, link_days])
def test_what_a_link_leads_to_outside_is_never_written(
    tmp_path: Path, root: Path, outside: Path, link: Callable[[Path, Path], None]
) -> None:
    """S3: not by an append, a compaction, or by forgetting; the record is stored, and the journal says why not."""
    link(root, outside)
    [file] = outside.parent.iterdir()
    before = file.read_bytes()
    with Memory.open(tmp_path / "home", continuity=EVERYTHING_ON) as memory:
        [id_] = memory.add("My neighbour Quibbert sold me a lamp.", key="a")
        memory.end_session()
        memory.organize()
        if link is link_page:
            with pytest.raises(JournalError, match="points out of its folder; put the file itself there"):
                memory.journal.remember("Remember the milk.")
        attempt(lambda: memory.journal.compact(force=True))
        attempt(lambda: memory.forget(id_))
        attempt(lambda: memory.forget(matching="vault"))
    assert [file.read_bytes() for file in outside.parent.iterdir()] == [before]


def test_a_user_that_is_a_link_is_refused(tmp_path: Path, root: Path, outside: Path) -> None:
    """C0, S3: it could lead to another user, or out of the home."""
    (root.parent / "ben").mkdir()
    (root.parent / "ben" / "MEMORY.md").write_text(f"# Memory\n\n{SECRET}\n", encoding="utf-8")
    (root.parent / "mara").symlink_to("ben")
    (root.parent / "zoe").symlink_to(outside.parent)
    with Store.open(tmp_path / "home", continuity=EVERYTHING_ON) as store:
        assert {"mara", "zoe"}.isdisjoint(store.users())
        for name in ("mara", "zoe"):
            with pytest.raises(StorageUnavailable, match="is a link, so nothing is read or written there"):
                store.user(name)
        store.organize()


def test_pipes_and_devices_hold_nobody_up(tmp_path: Path, root: Path) -> None:
    """S3: wherever a file of a user is looked for."""
    notes = root / "workers" / "builder" / "memory"
    notes.mkdir(parents=True)
    (root / "memory").mkdir()
    for place in (notes / "pipe.md", root / "LONGMEMORY.md", root / "memory" / "2026-01-02.md", root / "other"):
        os.mkfifo(place)
    with Memory.open(tmp_path / "home", continuity=EVERYTHING_ON) as memory:
        memory.add("I live in Porto.")
        memory.end_session()
        memory.organize()
        memory.search("Where do I live?")
        memory.export(tmp_path / "export")
        memory.admin.backup(tmp_path / "backup.db")
        memory.admin.audit()
        assert memory.notes.worker("builder").load() == ""
    assert not any(path.is_fifo() for path in (tmp_path / "export").rglob("*"))
    assert "other" not in {path.name for path in user_files(root)}
    restore(tmp_path / "backup.db", tmp_path / "other home")


def test_a_folder_that_is_imported_is_not_left(tmp_path: Path, outside: Path) -> None:
    """F4, S3: links in it that lead out are passed."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "mine.md").write_text("# Garden\n\nThe roses need water on Mondays.\n", encoding="utf-8")
    (folder / "linked.md").symlink_to(outside)
    os.mkfifo(folder / "pipe.md")
    with Memory.open(tmp_path / "home") as memory:
        memory.import_from(folder, "markdown")
        memory.organize()
        texts = [hit.text for hit in memory.list(limit=100)]
        assert any("roses" in text for text in texts)
        assert not any("vault" in text for text in texts)


# Modes


def test_a_home_that_others_may_change_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, line: Line
) -> None:
    """S3: with the command that mends it, on open and by the doctor; not of a home that is its owner's alone."""
    home = tmp_path / "home"
    Memory.open(home).close()
    assert home.stat().st_mode & 0o777 == 0o700
    assert (Home(home).exposed(), caplog.text) == ([], "")
    home.chmod(0o777)
    (home / "lifelong.db").chmod(0o644)
    with caplog.at_level(logging.WARNING, "lifelong"):
        Memory.open(home).close()
    assert f"Others may write to {home} (mode 777). Run: chmod 700 {home}" in caplog.text
    assert f"Others may read {home / 'lifelong.db'} (mode 644). Run: chmod 600" in caplog.text
    assert f"chmod 700 {home}" in line("doctor", "--home", home).out.replace("\n", "")
    home.chmod(0o700)
    assert Home(home).exposed() == [], "nobody gets past the home's own folder"


# A home that is taken away, or cannot be looked at


@pytest.mark.parametrize("other", [False, True])
def test_a_home_that_is_moved_takes_nothing_and_leaves_nothing(tmp_path: Path, other: bool) -> None:
    """C10, O6: no journal, note or backup goes to a folder that has the home's name now, and none is made there;
    and no check calls that one sound."""
    home = tmp_path / "home"
    with Memory.open(home, continuity={"journal_enabled": True}) as memory:
        memory.add("I live in Porto.")
        memory.journal.remember("tea")
        home.rename(tmp_path / "moved")
        if other:
            Memory.open(home).close()
        calls: list[Callable[[], object]] = [
            lambda: memory.journal.remember("milk"),
            lambda: memory.notes.worker("painter").store("colours", "Blue dries slowly."),
            lambda: memory.admin.backup(tmp_path / "copy.db"),
            memory.admin.check,
        ]
        for call in calls:
            with pytest.raises(StorageUnavailable, match="was moved, removed or replaced while it was open"):
                call()
        assert any(str(home) in reason for reason in memory.admin.health().reasons)
        assert memory.admin.health().status != "green"
        assert not (tmp_path / "copy.db").exists()
        if other:
            shutil.rmtree(home)
        assert not home.exists()
        (tmp_path / "moved").rename(home)
        memory.journal.remember("milk")
        assert memory.admin.health().status == "green"
        assert [record.text for record in memory.journal.records()] == ["tea", "milk"]


@pytest.mark.parametrize("what", ["the home", "the database", "the log", "another database"])
def test_nothing_is_acknowledged_into_a_file_without_a_name(tmp_path: Path, what: str) -> None:
    """C10: removed or replaced while it is open, the database refuses what it could not keep."""
    home = tmp_path / "home"
    with Memory.open(home) as memory:
        memory.add("I live in Porto.")
        match what:
            case "the home":
                shutil.rmtree(home)
            case "the database":
                (home / "lifelong.db").unlink()
            case "the log":
                (home / "lifelong.db-wal").unlink()
            case "another database":
                with Memory.open(tmp_path / "other") as other:
                    other.add("I live in Faro.")
                shutil.copy(tmp_path / "other" / "lifelong.db", home / "new.db")
                (home / "new.db").replace(home / "lifelong.db")
        with pytest.raises(StorageUnavailable, match=r"replaced while it was open\. Nothing was stored"):
            memory.add("I moved to Lisbon.")


OTHER = "import sys; from lifelong import Memory\nwith Memory.open(sys.argv[1]) as other: other.add('From there.')"


@pytest.mark.parametrize("act", ["prove", "open again"])
def test_looking_at_the_database_gives_no_lock_up(tmp_path: Path, act: str) -> None:
    """C10: a process that closes the file by itself would lose SQLite's locks; another that ends would then take
    the log away, and with it what is stored next."""
    home = tmp_path / "home"
    with Memory.open(home) as memory:
        memory.add("My neighbour Quibbert sold me a lamp.")
        if act == "prove":
            assert memory.admin.prove_forgotten(memory.forget(matching="Quibbert")).clean
        else:
            Memory.open(home).close()
        log = (home / "lifelong.db-wal").stat().st_ino
        subprocess.run([sys.executable, "-c", OTHER, home], check=True)
        assert (home / "lifelong.db-wal").stat().st_ino == log
        memory.add("From here.")
    with Memory.open(home) as memory:
        assert {"From here.", "From there."} <= {hit.text for hit in memory.list("record")}


def test_words_are_found_in_the_file_and_in_the_log(tmp_path: Path) -> None:
    """S6: wherever in them they are."""
    with Memory.open(tmp_path / "home") as memory:
        memory.add("My neighbour Quibbert sold me a lamp.")
        database = memory._parts.shared.database
        assert database.traces(["Zorblax", "Quibbert"]) == ["Quibbert"]
        assert database.purge()
        assert database.traces(["Zorblax", "Quibbert"]) == ["Quibbert"]


def test_logs_that_became_read_only_are_mended(tmp_path: Path) -> None:
    """S1: SQLite makes them with the mode that the database has at that time."""
    home = tmp_path / "home"
    with Memory.open(home) as memory:
        memory.add("I live in Porto.")
        for end in ("-wal", "-shm"):
            (home / f"lifelong.db{end}").chmod(0o400)
        Memory.open(home).close()
        assert {(home / f"lifelong.db{end}").stat().st_mode & 0o777 for end in ("-wal", "-shm")} == {0o600}


LOCKED_UP = """
import sys
from pathlib import Path
from lifelong import LifelongError, Memory
home, closed = Path(sys.argv[1]), sys.argv[2]
on = {"journal_enabled": True, "experience_store_enabled": True}
with Memory.open(home, continuity=on) as memory:
    memory.add("I live in Porto.")
    memory.end_session()
    memory.organize()
    memory.journal.remember("tea")
    memory.notes.worker("w").store("a", "b")
    (home / closed).chmod(0)
    calls = {
        "organize": memory.organize,
        "organize all": memory.store.organize,
        "search": lambda: memory.search("Where do I live?"),
        "context": lambda: memory.context("Where do I live?"),
        "remember": lambda: memory.journal.remember("milk"),
        "note": lambda: memory.notes.worker("w").store("c", "d"),
        "load": lambda: memory.notes.worker("w").load(),
        "workers": memory.notes.workers,
        "compact": lambda: memory.journal.compact(force=True),
        "extract": memory.experiences.extract,
        "export": lambda: memory.export(home.parent / "export"),
        "audit": memory.admin.audit,
        "scan": memory.admin.scan,
        "forget": lambda: memory.forget(matching="Porto"),
        "users": memory.store.users,
        "open": lambda: Memory.open(home, continuity=on).close(),
    }
    for name, call in calls.items():
        try:
            call()
        except LifelongError:
            pass
        except Exception as error:
            print(name, type(error).__name__, error)
    if closed != ".":
        memory.add("I moved to Faro.")
    (home / closed).chmod(0o700)
    memory.organize()
    memory.journal.remember("honey")
"""


@pytest.mark.parametrize("closed", [".", "users/default", "users/default/workers"])
def test_what_cannot_be_looked_at_is_said(tmp_path: Path, closed: str) -> None:
    """S1: no call raises a bare error of the system; and it goes on when the folder is open again."""
    assert run_bound_by_modes(LOCKED_UP, tmp_path / "home", closed) == ""


COPIED = """
import sys
from pathlib import Path
from lifelong import Memory
from lifelong.errors import JournalError
from lifelong.serve.restore import restore
home, closed, mode = Path(sys.argv[1]), Path(sys.argv[1], "users/default", sys.argv[2]), int(sys.argv[3])
with Memory.open(home, continuity={"journal_enabled": True}) as memory:
    memory.journal.remember("tea")
    memory.admin.backup(home.parent / "whole.db")
    (home / "users/default/archive").mkdir()
    (home / "users/default/archive/old.md").write_text("milk")
    closed.chmod(mode)
    calls = {
        "backup": lambda: memory.admin.backup(home.parent / "copy.db"),
        "export": lambda: memory.export(home.parent / "export"),
    }
    if closed.name == "archive":
        calls["scan"] = memory.admin.scan
    for name, call in calls.items():
        try:
            call()
        except JournalError as error:
            if str(closed) not in str(error):
                print(name, error)
        else:
            print(name, "succeeded")
(home / "lifelong.db").unlink()
try:
    restore(home.parent / "whole.db", home)
except Exception as error:
    pass
else:
    print("restore succeeded")
closed.chmod(0o700)
print(*sorted(path.name for path in home.parent.iterdir() if path.name not in ("home", "whole.db")), end="")
if (home / "users/default/archive/old.md").read_text() != "milk":
    print("lost")
"""


@pytest.mark.parametrize("mode", [0o000, 0o300, 0o400])
@pytest.mark.parametrize("closed", [".", "archive"])
def test_no_copy_leaves_out_what_cannot_be_looked_at(tmp_path: Path, closed: str, mode: int) -> None:
    """S1, S10: a backup or an export without a folder would pass for a whole one, and a restore takes no user
    for one without files."""
    assert run_bound_by_modes(COPIED, tmp_path / "home", closed, mode) == ""


def run_bound_by_modes(program: str, *words: object) -> str:
    """Run a program whose user may not pass over the modes of files, and return what it printed."""
    bound = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.getuid() == 0 else []
    if bound and not shutil.which("setpriv"):
        absent("setpriv is not installed, and modes do not concern root")
    command = [*bound, sys.executable, "-c", program, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_a_folder_that_cannot_be_looked_at_holds_nothing_unfinished(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """S6: who forgets something is not stopped by where a backup was written once; it is logged."""

    def refuse(path: Path, pattern: str) -> NoReturn:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "glob", refuse)
    assert list_unfinished(root / "copy.db") == []
    assert "beside copy.db cannot be listed: Permission denied" in caplog.text
