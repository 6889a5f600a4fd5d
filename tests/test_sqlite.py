"""SQLite (C7, C10): what is acknowledged is durable, and nothing that is not ours is ever touched."""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from lifelong import Agent, Memory, User, UserMessage
from lifelong.errors import (
    ForeignDatabase,
    InputError,
    LifelongError,
    NewerDatabase,
    StorageBusy,
    StorageConflict,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageUnavailable,
)
from lifelong.storage.base import Transaction
from lifelong.storage.migrations import LATEST
from lifelong.storage.sqlite import APPLICATION_ID, SQLite, _patience, _Transaction, translate
from lifelong.testing import in_threads
from tests.conftest import until

PATIENT = 60.0  # seconds after which something that should have come is a failure

ALICE = User("cli", "alice", "main")


def add(name: str) -> Callable[[Transaction], int]:
    return lambda tx: tx.run("INSERT INTO things VALUES (?)", name)


def things(database: SQLite) -> list[str]:
    return database.read(lambda tx: [row[0] for row in tx.all("SELECT name FROM things ORDER BY name")])


@pytest.fixture
def things_table(sqlite: SQLite) -> None:
    sqlite.write(lambda tx: tx.run("CREATE TABLE things (name TEXT NOT NULL)"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the fixture `sqlite` has its file."""
    return tmp_path / "lifelong.db"


# Settings of the file and its writer


@pytest.mark.parametrize(("chosen", "level"), [(None, 2), ("full", 2), ("normal", 1)])
def test_the_writer_syncs_fully_unless_told_otherwise(tmp_path: Path, chosen: str | None, level: int) -> None:
    storage = {"synchronous": chosen} if chosen else {}
    with Memory.open(tmp_path, storage=storage) as memory:
        assert memory._parts.shared.database.write(lambda tx: tx.one("PRAGMA synchronous")) == (level,)


def test_the_file_is_in_wal_mode_and_references_are_kept(sqlite: SQLite) -> None:
    assert sqlite.write(lambda tx: tx.one("PRAGMA journal_mode")) == ("wal",)
    assert sqlite.write(lambda tx: tx.one("PRAGMA foreign_keys")) == (1,)
    with pytest.raises(StorageConflict):
        sqlite.write(lambda tx: tx.run("INSERT INTO sessions (id, agent_id, created_at) VALUES ('s', 'none', 0)"))


def test_the_application_id_stands_in_the_files_header(sqlite: SQLite, path: Path) -> None:
    sqlite.close()
    header = path.read_bytes()[:100]
    assert header[68:72] == b"LFLG"
    assert int.from_bytes(header[68:72], "big") == APPLICATION_ID


def test_a_reader_cannot_write(sqlite: SQLite, things_table: None) -> None:
    with pytest.raises(StorageUnavailable, match=r"written .*readonly.*reading needs too\. Nothing was changed"):
        sqlite.read(add("a"))
    assert things(sqlite) == []


# Groups


class Writing(threading.Thread):
    """One write, in a thread of its own."""

    def __init__(self, database: SQLite, work: Callable[[Transaction], object]) -> None:
        super().__init__(daemon=True)
        self._database = database
        self._work = work
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._database.write(self._work)
        except BaseException as error:
            self.error = error

    def finished(self) -> BaseException | None:
        self.join(PATIENT)
        assert not self.is_alive()
        return self.error


def errors_of_one_group(
    database: SQLite, works: Sequence[Callable[[Transaction], object]]
) -> list[BaseException | None]:
    """Write all of these in one transaction: they wait for a writer that is held until all are there."""
    held, let_go = threading.Event(), threading.Event()

    def hold(tx: Transaction) -> None:
        held.set()
        assert let_go.wait(PATIENT)

    committer = database._committer
    ahead = [Writing(database, hold)]
    assert held.wait(PATIENT)
    ahead.append(Writing(database, lambda tx: None))
    until(lambda: committer._thread is not None and not committer._waiting)
    writings = []
    for count, work in enumerate(works, 1):
        writings.append(Writing(database, work))
        while len(committer._waiting) < count:
            time.sleep(0.001)
    let_go.set()
    assert [writing.finished() for writing in ahead] == [None, None]
    return [writing.finished() for writing in writings]


def fill_the_disk(tx: Transaction) -> None:
    """As if the disk were full for this statement alone."""
    (pages,) = tx.one("PRAGMA page_count") or (0,)
    tx.all(f"PRAGMA max_page_count = {pages + 1}")
    try:
        tx.run("INSERT INTO things VALUES (?)", "full" + "x" * 100_000)
    finally:
        assert isinstance(tx, _Transaction)
        tx._connection.execute("PRAGMA max_page_count = 1073741823").fetchall()


def test_a_job_that_fills_the_disk_loses_nobody_elses_work_and_stores_none_twice(
    sqlite: SQLite, things_table: None
) -> None:
    """C10."""
    errors = errors_of_one_group(sqlite, [add("a"), add("b"), fill_the_disk, add("c"), add("d")])
    assert [type(error) for error in errors] == [type(None), type(None), StorageFull, type(None), type(None)]
    assert things(sqlite) == ["a", "b", "c", "d"]
    sqlite.write(add("e"))
    assert things(sqlite) == ["a", "b", "c", "d", "e"]


def test_a_job_that_gives_up_the_transaction_loses_nobody_elses_work(sqlite: SQLite, things_table: None) -> None:
    """C10: on some errors SQLite rolls back everything, also what others had done before."""
    sqlite.write(lambda tx: tx.run("CREATE UNIQUE INDEX one_of_each ON things (name)"))

    def give_up(tx: Transaction) -> None:
        add("mine")(tx)
        tx.run("INSERT OR ROLLBACK INTO things VALUES ('a')")

    errors = errors_of_one_group(sqlite, [add("a"), add("b"), give_up, add("c")])
    assert [type(error) for error in errors] == [type(None), type(None), StorageConflict, type(None)]
    assert things(sqlite) == ["a", "b", "c"]


def test_a_job_that_swallows_the_loss_of_its_transaction_is_not_acknowledged(
    sqlite: SQLite, things_table: None
) -> None:
    """C10: alone and in a group."""
    sqlite.write(lambda tx: tx.run("CREATE UNIQUE INDEX one_of_each ON things (name)"))
    sqlite.write(add("taken"))

    def swallow(tx: Transaction) -> str:
        add("mine")(tx)
        try:
            tx.run("INSERT OR ROLLBACK INTO things VALUES ('taken')")
        except apsw.ConstraintError:
            return "all is well"
        return "it was not taken"

    with pytest.raises(StorageError, match="given up"):
        sqlite.write(swallow)
    errors = errors_of_one_group(sqlite, [add("a"), swallow, add("b")])
    assert [type(error) for error in errors] == [type(None), StorageError, type(None)]
    assert things(sqlite) == ["a", "b", "taken"]


def test_what_a_job_writes_after_it_swallowed_the_loss_of_its_transaction_is_not_stored(
    sqlite: SQLite, things_table: None
) -> None:
    """C10: none of it is there when a write raises."""
    sqlite.write(lambda tx: tx.run("CREATE TABLE taken (name TEXT PRIMARY KEY)"))
    sqlite.write(lambda tx: tx.run("INSERT INTO taken VALUES ('a')"))

    def swallow_and_go_on(tx: Transaction) -> None:
        try:
            tx.run("INSERT OR ROLLBACK INTO taken VALUES ('a')")
        except Exception:
            add("written outside of any transaction")(tx)

    with pytest.raises(StorageError):
        sqlite.write(swallow_and_go_on)
    errors = errors_of_one_group(sqlite, [add("a"), swallow_and_go_on, add("b")])
    assert [error is None for error in errors] == [True, False, True]
    assert things(sqlite) == ["a", "b"]


def test_a_job_that_swallows_its_statements_error_keeps_what_it_did_before(
    sqlite: SQLite, things_table: None
) -> None:
    def swallow(tx: Transaction) -> None:
        add("before")(tx)
        with pytest.raises(apsw.SQLError):
            tx.run("INSERT INTO no_such_table VALUES (1)")
        add("after")(tx)

    assert errors_of_one_group(sqlite, [add("a"), swallow]) == [None, None]
    assert things(sqlite) == ["a", "after", "before"]


def test_a_statements_error_in_a_group_is_ours_and_the_jobs_alone(sqlite: SQLite, things_table: None) -> None:
    errors = errors_of_one_group(
        sqlite, [add("a"), lambda tx: tx.run("INSERT INTO no_such_table VALUES (1)"), add("b")]
    )
    assert [type(error) for error in errors] == [type(None), StorageError, type(None)]
    assert "no_such_table" in str(errors[1])
    assert things(sqlite) == ["a", "b"]


# Other processes


@pytest.fixture
def other(sqlite: SQLite, path: Path) -> Iterator[apsw.Connection]:
    """A connection that is not ours, as another process has it."""
    connection = apsw.Connection(str(path))
    yield connection
    connection.close()


def test_a_write_waits_for_the_writer_of_another_process(
    sqlite: SQLite, things_table: None, other: apsw.Connection
) -> None:
    other.execute("BEGIN IMMEDIATE")
    writing = Writing(sqlite, add("a"))
    time.sleep(0.03)  # long enough to be done, if it did not wait
    assert writing.is_alive()
    assert things(sqlite) == []
    other.execute("COMMIT")
    assert writing.finished() is None
    assert things(sqlite) == ["a"]


def test_a_writer_that_waited_for_too_long_is_busy_and_can_try_again(tmp_path: Path) -> None:
    database = SQLite(tmp_path / "lifelong.db", busy_timeout=0.2)
    other = apsw.Connection(str(tmp_path / "lifelong.db"))
    try:
        database.write(lambda tx: tx.run("CREATE TABLE things (name TEXT)"))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageBusy, match=r"lifelong\.db .*storage\.busy_timeout"):
            database.write(add("a"))
        other.execute("COMMIT")
        database.write(add("b"))
        assert things(database) == ["b"]
    finally:
        other.close()
        database.close()


def test_readers_do_not_wait_for_a_writer(sqlite: SQLite, things_table: None, other: apsw.Connection) -> None:
    """Neither for one of ours that is in the middle of its work, nor for another process's."""
    sqlite.write(add("a"))
    held, let_go = threading.Event(), threading.Event()

    def hold(tx: Transaction) -> None:
        add("b")(tx)
        held.set()
        assert let_go.wait(PATIENT)

    writing = Writing(sqlite, hold)
    assert held.wait(PATIENT)
    assert things(sqlite) == ["a"]
    let_go.set()
    assert writing.finished() is None
    other.execute("BEGIN IMMEDIATE")
    other.execute("INSERT INTO things VALUES ('c')")
    assert things(sqlite) == ["a", "b"]
    other.execute("ROLLBACK")


def test_more_readers_at_once_than_are_kept_all_read(sqlite: SQLite, things_table: None) -> None:
    together = threading.Barrier(20)

    def look(number: int) -> int:
        def work(tx: Transaction) -> int:
            together.wait(PATIENT)
            return len(tx.all("SELECT name FROM things"))

        return sqlite.read(work)

    sqlite.write(add("a"))
    assert in_threads(20, look) == [1] * 20


def test_a_database_from_before_a_fork_says_so(sqlite: SQLite, things_table: None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of a fork beside threads
        child = os.fork()
    if child == 0:
        calls: list[Callable[[], object]] = [lambda: sqlite.write(add("a")), lambda: things(sqlite), sqlite.check]
        refused = 0
        for call in calls:
            try:
                call()
            except StorageUnavailable as error:
                refused += "Open it again in the new process" in str(error)
            except BaseException:
                os._exit(100)
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    sqlite.write(add("in the parent"))
    assert things(sqlite) == ["in the parent"]


_OPEN_AND_APPEND = """
    import sys
    from lifelong import Memory, User, UserMessage
    from lifelong.storage import sqlite
    print("ready", flush=True)
    sys.stdin.readline()
    with Memory.open(sys.argv[1]) as memory:
        print(memory.append(memory.agent(User("cli", "alice", "main")), UserMessage(sys.argv[2])))
"""


def test_six_processes_open_a_fresh_home_at_once(tmp_path: Path) -> None:
    program = [sys.executable, "-c", textwrap.dedent(_OPEN_AND_APPEND), str(tmp_path / "home")]
    processes = [
        subprocess.Popen([*program, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number in range(6)
    ]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    ends = in_threads(6, lambda number: processes[number].communicate("go\n", timeout=60))
    assert [process.returncode for process in processes] == [0] * 6
    assert sorted(int(out) for out, _ in ends) == [1, 2, 3, 4, 5, 6]
    with Memory.open(tmp_path / "home") as memory:
        assert len(memory.agents.list()) == 1
        assert len(memory.sessions.history(memory.sessions.list(memory.agents.list()[0])[0])) == 6


def test_eight_threads_open_a_fresh_home_at_once(tmp_path: Path) -> None:
    for home in (tmp_path / "a", tmp_path / "b", tmp_path / "c"):
        memories = in_threads(8, lambda _, home=home: Memory.open(home))  # type: ignore[misc]
        agents = {memory.agent(ALICE).id for memory in memories}
        for memory in memories:
            memory.close()
        assert len(agents) == 1


# Backup and check


def test_a_backup_beside_a_writer_is_whole_and_can_be_opened(
    sqlite: SQLite, things_table: None, tmp_path: Path
) -> None:
    """Whole: of the names, which are written in order, it holds the first so many."""
    sqlite.write(lambda tx: tx.run("CREATE TABLE ballast AS SELECT randomblob(4000000) AS weight"))
    written: list[str] = []
    stop = threading.Event()

    def go_on_writing() -> None:
        while not stop.is_set():
            sqlite.write(add(f"{len(written):06}"))
            written.append(f"{len(written):06}")

    writer = threading.Thread(target=go_on_writing, daemon=True)
    writer.start()
    until(lambda: len(written) > 10)
    backup = threading.Thread(target=sqlite.backup, args=(tmp_path / "copy.db",), daemon=True)
    before = len(written)
    backup.start()
    backup.join(PATIENT)
    was_done = not backup.is_alive()
    stop.set()
    writer.join(PATIENT)
    backup.join(PATIENT)
    assert was_done, "the backup starts again with every write, and never ends beside a steady writer"
    assert sorted(p.name for p in tmp_path.glob("copy*")) == ["copy.db"]
    copy = SQLite(tmp_path / "copy.db")
    try:
        names = things(copy)
        assert copy.check() == []
    finally:
        copy.close()
    assert names == [f"{number:06}" for number in range(len(names))]
    assert len(names) >= before


def test_a_memorys_backup_is_a_home_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with Memory.open(tmp_path / "home") as memory:
        alice = memory.agent(ALICE)
        memory.append(alice, UserMessage("I moved to Lisbon."))
        memory.admin.backup(tmp_path / "other" / "lifelong.db")
    with Memory.open(tmp_path / "other") as copy:
        assert "I moved to Lisbon." in copy.sessions.transcript(alice.id)
        assert copy.append(alice.id, UserMessage("And on to Porto.")) == 2


def test_a_backup_never_overwrites(sqlite: SQLite, tmp_path: Path) -> None:
    (tmp_path / "copy.db").write_text("precious")
    before = digests(tmp_path)
    with pytest.raises(InputError, match=r"copy\.db exists already. Choose another name"):
        sqlite.backup(tmp_path / "copy.db")
    assert digests(tmp_path) == before


@pytest.mark.parametrize("name", ["no/such/folder/copy.db", "a-file/copy.db"])
def test_a_backup_that_fails_leaves_nothing_and_names_its_target(
    sqlite: SQLite, tmp_path: Path, name: str
) -> None:
    (tmp_path / "a-file").write_text("a file")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StorageError, match=r"copy\.db"):
        sqlite.backup(tmp_path / name)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_backup_is_one_file_for_its_owner_alone_and_touches_no_other(
    sqlite: SQLite, things_table: None, tmp_path: Path
) -> None:
    (tmp_path / "copy.db.part").write_text("precious")
    before = {path.name for path in tmp_path.iterdir()}
    sqlite.backup(tmp_path / "copy.db")
    assert {path.name for path in tmp_path.iterdir()} == before | {"copy.db"}
    assert (tmp_path / "copy.db.part").read_text() == "precious"
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "lifelong.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("part", [0.2, 0.5, 0.8])
def test_check_reports_a_damaged_file(tmp_path: Path, part: float) -> None:
    path = tmp_path / "lifelong.db"
    with Memory.open(tmp_path) as memory:
        alice = memory.agent(ALICE)
        memory.append_many(alice, [UserMessage(f"{number} " * 100) for number in range(4_000)])
        assert memory.admin.check() == []
    page = int(path.stat().st_size * part) // 4096 * 4096
    with path.open("r+b") as file:
        file.seek(page)
        file.write(bytes(range(256)) * 16)
    with Memory.open(tmp_path) as memory:
        found = memory.admin.check()
    assert found
    assert all(sentence.startswith("The file is damaged: ") for sentence in found)


def test_check_reports_a_row_that_refers_to_nothing(sqlite: SQLite, path: Path) -> None:
    other = apsw.Connection(str(path))  # where references are not kept
    other.execute("INSERT INTO turns VALUES ('no such session', 1, 0)")
    other.close()
    assert sqlite.check() == ["Row 1 of turns refers to a missing row of sessions."]


# What is not ours is not touched


def digests(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir() if p.is_file()}


def assert_refused(home: Path, kind: type[StorageError], *words: str, crashed: bool = False) -> None:
    """Opening says why and what to do, and leaves every byte in the folder as it was. Only where a log was
    left behind an index of it appears: SQLite cannot look into a log without one."""
    before = digests(home)
    with pytest.raises(kind) as raised:
        Memory.open(home)
    for word in words:
        assert word in str(raised.value)
    after = digests(home)
    if crashed:
        after.pop("lifelong.db-shm")
    assert after == before


def foreign(path: Path, *, wal: bool = False) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    if wal:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("CREATE TABLE agents (theirs TEXT)")
    connection.execute("INSERT INTO agents VALUES ('precious')")
    return connection


@pytest.mark.parametrize("wal", [False, True])
def test_a_database_of_another_program_is_refused(tmp_path: Path, path: Path, wal: bool) -> None:
    foreign(path, wal=wal).close()
    assert list(digests(tmp_path)) == ["lifelong.db"]
    assert_refused(tmp_path, ForeignDatabase, str(path), "choose another home")


def test_a_database_of_another_program_that_crashed_is_refused(tmp_path: Path) -> None:
    """Its last transactions are still in its -wal: they stay there."""
    theirs, home = tmp_path / "theirs.db", tmp_path / "home"
    home.mkdir()
    connection = foreign(theirs, wal=True)
    shutil.copy(theirs, home / "lifelong.db")
    shutil.copy(tmp_path / "theirs.db-wal", home / "lifelong.db-wal")
    connection.close()
    assert_refused(home, ForeignDatabase, str(home / "lifelong.db"), "choose another home", crashed=True)


def test_a_database_with_another_programs_id_and_no_tables_is_refused(tmp_path: Path, path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA application_id = 7").fetchall()
    connection.close()
    assert_refused(tmp_path, ForeignDatabase, str(path), "choose another home")


def test_a_file_that_is_no_database_is_refused(tmp_path: Path, path: Path) -> None:
    path.write_text("Dear diary, " * 1000)
    assert_refused(tmp_path, ForeignDatabase, str(path), "is not a database", "move the file away")


@pytest.mark.parametrize("size", [1, 2, 15, 16, 20, 99, 100, 511, 512, 600])
def test_a_file_of_any_size_that_is_no_database_is_refused(tmp_path: Path, path: Path, size: int) -> None:
    """SQLite alone would take the smallest for an empty database and write over it."""
    path.write_bytes(b"x" * size)
    assert_refused(tmp_path, ForeignDatabase, str(path), "is not a database", "move the file away")


def test_an_empty_file_becomes_a_database(path: Path) -> None:
    path.touch()
    SQLite(path).close()
    assert path.read_bytes().startswith(b"SQLite format 3")


def make_newer(path: Path) -> apsw.Connection:
    SQLite(path).close()
    connection = apsw.Connection(str(path))
    connection.execute("INSERT INTO lifelong_migrations VALUES (?, 'from the future', 0)", (LATEST + 1,))
    return connection


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path, path: Path) -> None:
    make_newer(path).close()
    assert_refused(tmp_path, NewerDatabase, f"version {LATEST + 1}", f"up to {LATEST}", "upgrade lifelong")


def test_the_refusal_of_a_newer_database_names_it(tmp_path: Path, path: Path) -> None:
    make_newer(path).close()
    assert_refused(tmp_path, NewerDatabase, str(path))


def test_a_database_of_a_newer_version_that_crashed_is_refused(tmp_path: Path) -> None:
    theirs, home = tmp_path / "theirs.db", tmp_path / "home"
    home.mkdir()
    connection = make_newer(theirs)
    shutil.copy(theirs, home / "lifelong.db")
    shutil.copy(tmp_path / "theirs.db-wal", home / "lifelong.db-wal")
    connection.close()
    assert_refused(home, NewerDatabase, "upgrade lifelong", crashed=True)


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path, path: Path) -> None:
    path.mkdir()
    assert_refused(tmp_path, StorageUnavailable, str(path), "cannot be opened", "check that")
    assert list(path.iterdir()) == []


# A home that cannot be one


@pytest.mark.parametrize("below", ["", "home", "a/home"])
def test_a_home_that_is_or_lies_below_a_file_is_refused(tmp_path: Path, below: str) -> None:
    file = tmp_path / "file"
    file.write_text("precious")
    with pytest.raises(StorageUnavailable, match="Name a folder") as raised:
        Memory.open(file / below)
    assert str(file / below) in str(raised.value)
    assert file.read_text() == "precious"


@pytest.mark.parametrize("name", ["a\0b", "x" * 300])
def test_a_home_with_a_name_that_cannot_be_one_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(LifelongError, match=r"Name a folder|Remove it"):
        Memory.open(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="lifelong-test-"))
    folder.chmod(0o755)
    yield folder
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)
    shutil.rmtree(folder)


_OPEN_AS_NOBODY = """
    import os, sys
    from lifelong.settings import Settings
    Settings.load()  # what is imported late cannot be read by nobody
    from lifelong import Memory, User, UserMessage
    from lifelong.errors import LifelongError
    from lifelong.storage import sqlite
    if os.geteuid() == 0:
        os.setegid(65534)
        os.seteuid(65534)
    try:
        with Memory.open(sys.argv[1]) as memory:
            memory.append(memory.agent(User("cli", "alice", "main")), UserMessage("hello"))
    except LifelongError as error:
        print(f"{type(error).__name__}: {error}")
"""


def said_to_nobody(home: Path) -> str:
    """What a user with no rights here is told."""
    program = textwrap.dedent(_OPEN_AS_NOBODY)
    ended = subprocess.run([sys.executable, "-c", program, str(home)], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_read_only_folder_for_a_fresh_home_is_refused(open_folder: Path) -> None:
    home = open_folder / "home"
    home.mkdir()
    home.chmod(0o555)
    said = said_to_nobody(home)
    assert said.startswith(f"StorageUnavailable: {home / 'lifelong.db'} cannot be opened and written (")
    assert "check that its folder exists" in said
    assert list(home.iterdir()) == []


def test_a_home_that_cannot_be_made_is_refused(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    said = said_to_nobody(open_folder / "home")
    assert said.startswith(
        f"StorageUnavailable: The home {open_folder / 'home'} cannot be used: Permission denied."
    )
    assert "Name a folder that can be read and written" in said


def test_a_read_only_home_is_refused_and_keeps_every_byte(open_folder: Path) -> None:
    home = open_folder / "home"
    with Memory.open(home) as memory:
        memory.append(memory.agent(ALICE), UserMessage("before"))
    (home / "lifelong.db").chmod(0o444)
    home.chmod(0o555)
    before = digests(home)
    said = said_to_nobody(home)
    assert said.startswith(f"StorageUnavailable: {home / 'lifelong.db'} cannot be ")
    assert "writ" in said
    assert digests(home) == before


def test_a_read_only_file_in_a_home_that_can_be_written_is_refused(open_folder: Path) -> None:
    home = open_folder / "home"
    with Memory.open(home) as memory:
        memory.append(memory.agent(ALICE), UserMessage("before"))
    (home / "lifelong.db").chmod(0o444)
    home.chmod(0o777)
    before = digests(home)["lifelong.db"]
    said = said_to_nobody(home)
    assert said.startswith(f"StorageUnavailable: {home / 'lifelong.db'} cannot be opened and written (")
    assert "both can be written" in said
    assert digests(home)["lifelong.db"] == before


def test_a_home_behind_a_closed_door_is_refused(open_folder: Path) -> None:
    door = open_folder / "door"
    (door / "home").mkdir(parents=True)
    door.chmod(0o000)
    said = said_to_nobody(door / "home")
    assert said.startswith("StorageUnavailable: ")
    assert str(door / "home") in said


# A link


def test_a_database_that_is_a_link_is_used_where_it_lies(tmp_path: Path) -> None:
    """SQLite keeps its log beside the file. What is forgotten is looked for there, too."""
    elsewhere = tmp_path / "big disk"
    elsewhere.mkdir()
    with Memory.open(tmp_path / "home") as memory:
        memory.append(memory.agent(ALICE), UserMessage("before"))
    (tmp_path / "home" / "lifelong.db").rename(elsewhere / "memory.db")
    (tmp_path / "home" / "lifelong.db").symlink_to(elsewhere / "memory.db")
    with Memory.open(tmp_path / "home") as memory:
        alice = memory.agent(ALICE)
        memory.append(alice, UserMessage("quuxword"))
        database = memory._parts.shared.database
        assert database.traces(["quuxword", "nowhere"]) == ["quuxword"]
        (tmp_path / "home" / "lifelong.db").unlink()
        with pytest.raises(StorageUnavailable, match="was moved, removed or replaced"):
            memory.append(alice, UserMessage("lost"))
        (tmp_path / "home" / "lifelong.db").symlink_to(elsewhere / "memory.db")
        memory.append(alice, UserMessage("after"))
        assert "after" in memory.sessions.transcript(alice)


# A file that is replaced


def test_a_file_that_is_replaced_before_the_first_append_takes_nothing(tmp_path: Path) -> None:
    """C10. Put back, it is written again; and what was in either file is still there."""
    database, aside = tmp_path / "home" / "lifelong.db", tmp_path / "aside.db"
    for home in ("home", "other"):
        with Memory.open(tmp_path / home) as memory:
            alice = memory.agent(ALICE)
            memory.append(alice, UserMessage(f"said in {home}"))
    with Memory.open(tmp_path / "home") as memory:
        alice = memory.agent(ALICE)
        database.rename(aside)
        shutil.copy(tmp_path / "other" / "lifelong.db", database)
        with pytest.raises(StorageUnavailable, match="was moved, removed or replaced"):
            memory.append(alice, UserMessage("lost"))
        aside.replace(database)
        memory.append(alice, UserMessage("after"))
    with Memory.open(tmp_path / "home") as memory:
        assert memory.admin.check() == []
        assert "after" in memory.sessions.transcript(alice.id)


def test_a_log_that_is_taken_away_before_the_first_append_can_be_put_back(tmp_path: Path) -> None:
    """C10. The database was a backup, which has no log before it is opened."""
    with Memory.open(tmp_path / "first") as memory:
        alice = memory.agent(ALICE)
        (tmp_path / "home").mkdir()
        memory.admin.backup(tmp_path / "home" / "lifelong.db")
    log, aside = tmp_path / "home" / "lifelong.db-wal", tmp_path / "aside"
    with Memory.open(tmp_path / "home") as memory:
        log.rename(aside)
        with pytest.raises(StorageUnavailable, match="was moved, removed or replaced"):
            memory.append(alice, UserMessage("lost"))
        aside.rename(log)
        memory.append(alice, UserMessage("after"))
        assert "after" in memory.sessions.transcript(alice)


# A full disk


def test_a_disk_that_fills_up_is_said_and_loses_nothing_acknowledged(small_disk: Path) -> None:
    """C10."""
    with Memory.open(small_disk) as memory:
        alice = memory.agent(ALICE)
        acknowledged, error = append_until_full(memory, alice)
        assert str(small_disk / "lifelong.db") in str(error)
        assert "free some space" in str(error)
        stored = [recorded.id for recorded in memory.sessions.history(memory.sessions.list(alice)[0])]
        assert stored == acknowledged
    with Memory.open(small_disk) as memory:
        stored = [recorded.id for recorded in memory.sessions.history(memory.sessions.list(alice.id)[0])]
        assert stored == acknowledged
        assert memory.admin.check() == []


def test_work_goes_on_once_there_is_room_again(small_disk: Path) -> None:
    with Memory.open(small_disk) as memory:
        alice = memory.agent(ALICE)
        fill(small_disk)
        append_until_full(memory, alice)
        (small_disk / "filling").unlink()
        newest = memory.append(alice, UserMessage("there is room"))
        assert memory.sessions.history(memory.sessions.list(alice)[0])[-1].id == newest


def test_a_worker_says_in_one_sentence_that_the_disk_is_full(
    small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """O3: it is no fault of the session, which stays marked and is dispatched once there is room."""
    with Memory.open(small_disk) as memory:
        alice = memory.agent(ALICE)
        append_until_full(memory, alice)
        caplog.clear()
        with pytest.raises(StorageFull, match="free some space"):
            memory.organize()
        assert [record for record in caplog.records if record.exc_info] == []
        assert memory.admin.health().marked == 1
        subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
        assert memory.organize().finished > 0


def test_a_home_on_a_full_disk_is_refused(small_disk: Path) -> None:
    fill(small_disk)
    with pytest.raises(StorageFull) as raised:
        Memory.open(small_disk / "home")
    assert str(small_disk / "home") in str(raised.value)
    assert "free some space" in str(raised.value)
    (small_disk / "filling").unlink()
    with Memory.open(small_disk / "home") as memory:
        memory.append(memory.agent(ALICE), UserMessage("there is room"))


def test_an_existing_home_on_a_full_disk_is_refused_and_kept(small_disk: Path) -> None:
    with Memory.open(small_disk / "home") as memory:
        alice = memory.agent(ALICE)
        memory.append(alice, UserMessage("before"))
    fill(small_disk)
    with pytest.raises(StorageFull, match="free some space"), Memory.open(small_disk / "home") as memory:
        memory.append(alice.id, UserMessage("x" * 100_000))
    (small_disk / "filling").unlink()
    with Memory.open(small_disk / "home") as memory:
        assert "before" in memory.sessions.transcript(alice.id)
        assert memory.admin.check() == []


def test_a_backup_that_finds_no_room_leaves_nothing_behind(small_disk: Path, tmp_path: Path) -> None:
    """Parts of it would hold what was said, and no forget would know of them."""
    with Memory.open(tmp_path / "home") as memory:
        memory.append(memory.agent(ALICE), UserMessage("before"))
    size = (tmp_path / "home" / "lifelong.db").stat().st_size
    with Memory.open(tmp_path / "home") as memory:
        for room in range(size, size + 70_000, 8_192):  # SQLite asks for room beside the file, too
            (small_disk / "filling").write_bytes(b"x" * ((1 << 20) - room - 8_192))
            with suppress(StorageFull):
                memory.admin.backup(small_disk / f"{room}.db")
                (small_disk / f"{room}.db").unlink()
            assert [path.name for path in small_disk.iterdir()] == ["filling"]


def test_a_file_that_may_not_grow_is_said_with_what_to_do(tmp_path: Path) -> None:
    """C10: a limit on the size of files is no full disk, and loses nothing that was acknowledged, either."""
    with Memory.open(tmp_path) as memory:
        alice = memory.agent(ALICE)
        first = memory.append(alice, UserMessage("before"))
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limits[1]))
        try:
            with pytest.raises(StorageError, match=r"disk I/O error.*Nothing was changed; check the disk"):
                memory.append(alice, UserMessage("x" * 100_000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        last = memory.append(alice, UserMessage("after"))
        assert [recorded.id for recorded in memory.sessions.history(alice)] == [first, last]


def test_work_stops_where_nothing_can_be_written_and_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """C10: not a line a session, and no success."""
    with Memory.open(tmp_path) as memory:
        for channel in "abc":
            agent = memory.agent(User("cli", "ada", channel))
            memory.append(agent, UserMessage("I like tea."))
            memory.end_session(agent)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limits[1]))
        try:
            with pytest.raises(StorageUnavailable, match="Nothing was changed; check the disk"):
                memory.organize()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert caplog.messages == []
        assert memory.organize().finished == 3


def test_health_says_that_no_room_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory.open(tmp_path) as memory:
        assert memory.admin.health().status == "green"
        monkeypatch.setattr("lifelong.home.free_bytes", lambda place: 0)
        health = memory.admin.health()
        assert health.status == "yellow"
        assert f"There is no room left in {tmp_path}" in health.reasons[0]


def append_until_full(memory: Memory, agent: Agent) -> tuple[list[int], StorageFull]:
    acknowledged: list[int] = []
    while len(acknowledged) < 10_000:
        try:
            acknowledged.append(memory.append(agent, UserMessage("so it goes " * 500)))
        except StorageFull as error:
            return acknowledged, error
    pytest.fail("the disk never filled up")


def fill(disk: Path) -> None:
    """Take every byte that is left."""
    with (disk / "filling").open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


# Errors


ERRORS = sorted(
    (kind for kind in vars(apsw).values() if isinstance(kind, type) and issubclass(kind, apsw.Error)),
    key=lambda kind: kind.__name__,
)


def test_there_are_errors_to_translate() -> None:
    assert {apsw.Error, apsw.BusyError, apsw.IOError, apsw.ThreadingViolationError} <= set(ERRORS)


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_of_apsw_becomes_a_sentence_of_ours(kind: type[apsw.Error]) -> None:
    ours = translate(kind("the cause"), Path("/home/me/lifelong.db"))
    assert isinstance(ours, StorageError)
    assert str(ours)[0].isupper() or str(ours).startswith("/home/me/lifelong.db ")
    assert str(ours).endswith(".")


@pytest.mark.parametrize(
    ("kind", "ours"),
    [
        (apsw.BusyError, StorageBusy),
        (apsw.LockedError, StorageBusy),
        (apsw.FullError, StorageFull),
        (apsw.ReadOnlyError, StorageUnavailable),
        (apsw.PermissionsError, StorageUnavailable),
        (apsw.CantOpenError, StorageUnavailable),
        (apsw.NotADBError, ForeignDatabase),
        (apsw.CorruptError, StorageCorrupt),
        (apsw.ConstraintError, StorageConflict),
        (apsw.IOError, StorageError),
        (apsw.SQLError, StorageError),
    ],
)
def test_an_error_keeps_its_meaning(kind: type[apsw.Error], ours: type[StorageError]) -> None:
    assert type(translate(kind("the cause"), Path("x.db"))) is ours


def test_what_work_raises_itself_comes_out_unchanged(sqlite: SQLite, things_table: None) -> None:
    mine = LookupError("mine")

    def fail(tx: Transaction) -> None:
        add("a")(tx)
        raise mine

    with pytest.raises(LookupError) as raised:
        sqlite.write(fail)
    assert raised.value is mine
    assert things(sqlite) == []


def test_the_patience_with_another_process_does_not_wear_out() -> None:
    """It waits as long as it was told, however often it has to look."""
    wait = _patience(60)
    assert wait(0)
    assert wait(100_000)


# A storm of interrupts, as a person makes who leans on Ctrl-C

_STORM = """
    import random, signal, sys, time
    from lifelong import Memory, User, UserMessage
    memory = Memory.open(sys.argv[1])
    agent = memory.agent(User("cli", "alice", "main"))
    memory.append(agent, UserMessage("first"))
    armed = False
    def interrupt(*_):
        if armed: raise KeyboardInterrupt
    signal.signal(signal.SIGALRM, interrupt)
    acknowledged, interrupts, number, until = 0, 0, 0, time.monotonic() + float(sys.argv[2])
    while time.monotonic() < until:
        number += 1
        try:
            armed = True
            signal.setitimer(signal.ITIMER_REAL, random.uniform(0.00005, 0.0006))
            if number % 2:
                memory.append(agent, UserMessage("again"), key=str(number))
                acknowledged += 1
            else:
                memory.agents.get(agent)
            armed = False
        except KeyboardInterrupt:
            interrupts += 1
        finally:
            armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
    memory.append(agent, UserMessage("last"))
    stored = len(memory.sessions.history(agent))
    assert memory.admin.check() == []
    memory.close()
    print(acknowledged + 2 <= stored, interrupts > 0)
"""


@pytest.mark.parametrize("seconds", [2, pytest.param(30, marks=pytest.mark.soak)])
def test_a_storm_of_interrupts_freezes_nothing_and_loses_nothing(tmp_path: Path, seconds: int) -> None:
    """C10: after it the memory still writes, reads and closes."""
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_STORM), str(tmp_path / "home"), str(seconds)],
        capture_output=True,
        text=True,
        timeout=seconds + 60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["True", "True"]


_BACK_UP = """
    import sys
    from pathlib import Path
    from lifelong.storage.sqlite import SQLite
    database = SQLite(Path(sys.argv[1]))
    print("ready", flush=True)
    sys.stdin.readline()
    database.backup(Path(sys.argv[2]))
    print("done", flush=True)
"""


@pytest.mark.parametrize("delay", [0.0, 0.0005, 0.002, 0.01])
def test_a_backup_that_is_killed_has_not_got_its_name(tmp_path: Path, delay: float) -> None:
    """S1: a copy is whole or it is not there."""
    sqlite = SQLite(tmp_path / "lifelong.db")
    sqlite.write(lambda tx: tx.run("CREATE TABLE things (name TEXT)"))
    rows = [("x" * 1000,) for _ in range(5_000)]
    sqlite.write(lambda tx: tx.many("INSERT INTO things VALUES (?)", rows))
    sqlite.close()
    command = [
        sys.executable,
        "-c",
        textwrap.dedent(_BACK_UP),
        str(tmp_path / "lifelong.db"),
        str(tmp_path / "c.db"),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdin
        assert victim.stdout
        assert victim.stdout.readline() == "ready\n"
        victim.stdin.write("\n")
        victim.stdin.flush()
        time.sleep(delay)
        victim.kill()
    if (tmp_path / "c.db").exists():
        copy = SQLite(tmp_path / "c.db")
        assert len(things(copy)) == len(rows)
        copy.close()
