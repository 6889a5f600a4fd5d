"""SQLite, embedded: one file in the home, through `apsw`.

WAL, so that readers and the writer never wait for each other; `synchronous=FULL`, so that what was
acknowledged survives a power cut; group commit, so that many writers share one sync. A writer of another
process is waited for with short, jittered sleeps: no process is kept out for long by the others.

With a key, the file, its log and its backups are encrypted, where the installed `apsw` is that of
`apsw-sqlite3mc`: SQLite with a cipher below it, under the same import name.
"""

from __future__ import annotations

import errno
import os
import random
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

import apsw

from lifelong.disk import MIN_FREE_BYTES, file_identity, free_bytes, give_name, sync, unfinished
from lifelong.errors import (
    ConfigError,
    ForeignDatabase,
    IndexCorrupt,
    InputError,
    LifelongError,
    MemoryClosed,
    StorageBusy,
    StorageConflict,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageUnavailable,
    WrongKey,
)
from lifelong.storage.base import FULL_TEXT_DAMAGED, Dialect, Param, Row, StoredFile, Transaction
from lifelong.storage.group_commit import GroupCommitter, check_process
from lifelong.storage.migrations import FULL_TEXT, LATEST, applied, check_version, migrate
from lifelong.types import to_micros, utc_now

T = TypeVar("T")

HOME_FILES = (
    "CREATE TABLE home_files (path TEXT NOT NULL PRIMARY KEY, modified BIGINT NOT NULL, data BLOB NOT NULL)"
)
APPLICATION_ID = 0x4C464C47  # "LFLG": written in the file's header, so that we know our own
HEADER = b"SQLite format 3\0"
ENCRYPTED_HEADER = slice(21, 24), b"\x40\x20\x20"  # three bytes that every SQLite file has, and that stay readable
MAX_IDLE_READERS = 8
MIN_POLL_SECONDS, MAX_POLL_SECONDS = 0.00035, 0.002  # between two looks whether another process's writer is done
READ_BYTES, MAX_WORD_BYTES = 1 << 20, 1 << 12  # of the file at once, when it is looked through for words
MAX_CACHED_STATEMENTS = 1_000  # all of them: preparing one costs more than running it

Work = Callable[[Transaction], Any]


class SQLite:
    """The `Database` in one file."""

    dialect: Dialect = "sqlite"

    def __init__(
        self,
        path: Path,
        *,
        synchronous: Literal["full", "normal"] = "full",
        busy_timeout: float = 30.0,
        key: str = "",
    ) -> None:
        check_cipher(key)
        self._path = path
        self._file = Path(os.path.realpath(path))
        """The file itself where the path is a link: SQLite keeps the log beside it."""
        self._key = key
        self._synchronous = synchronous
        self._busy_timeout = busy_timeout
        self._pid = os.getpid()
        self._closed = False
        self._names = path, self._file.with_name(self._file.name + "-wal")
        self._files: list[tuple[int, int] | None] = []
        """Which files are open: the database and its log."""
        self._readers: deque[apsw.Connection] = deque()
        with translated(path):
            try:
                _create_private(path)
                _mend_modes(self._file)
                _check_header(path, key)
            except OSError as error:
                raise translate_os_error(error, path) from error
            self._writer = self._connect()
            try:
                self._prepare(self._writer)
            except BaseException as error:
                self._writer.close()
                if key and isinstance(error, apsw.NotADBError):
                    raise _wrong_key(path) from error
                raise
        self._tx = _Transaction(self._writer)
        self._committer: GroupCommitter[Work, Any] = GroupCommitter(self._commit, "lifelong-writer")

    def read(self, work: Callable[[Transaction], T]) -> T:
        self._check_usable()
        with translated(self._path):
            connection = self._reader()
            try:
                connection.execute("BEGIN")
                return work(_Transaction(connection))
            finally:
                self._release(connection)

    def write(self, work: Callable[[Transaction], T]) -> T:
        result: T = self._committer.submit(work)
        return result

    def backup(self, target: Path, files: Iterable[StoredFile] = ()) -> None:
        """Write a copy. It gets its name when it is complete: until then it has another one."""
        self._check_usable()
        if os.path.lexists(target):
            raise _taken(target)
        part = unfinished(target)
        with translated(target):
            try:
                _create_private(part)
                self._copy_to(part, files)
                sync(part)
                give_name(part, target)
            except FileExistsError:
                raise _taken(target) from None
            except OSError as error:
                raise translate_os_error(error, target) from error
            finally:
                for end in ("", "-wal", "-shm", "-journal"):  # SQLite leaves logs where it could not finish
                    with suppress(OSError):
                        part.with_name(part.name + end).unlink(missing_ok=True)

    def purge(self, words: Sequence[str] = ()) -> bool:
        """Move the log's pages into the file, and empty the log: it holds earlier versions of them. Deleted rows
        are overwritten in the file already, but not the copies that SQLite leaves when it splits a page."""
        self._check_usable()
        with translated(self._path):
            connection = self._connect()
            try:
                if _pragma(connection, "wal_checkpoint(TRUNCATE)"):
                    return False
                if words and (self._key or self.traces([*words, *(word.lower() for word in words)])):
                    connection.execute("VACUUM")
                    return not _pragma(connection, "wal_checkpoint(TRUNCATE)")
            except apsw.BusyError:
                return False
            finally:
                connection.close()
        return True

    def traces(self, words: Sequence[str]) -> list[str]:
        """Read through SQLite: when a process closes the file by itself, it loses the locks that SQLite has on it,
        and another process may take the log away."""
        self._check_usable()
        sought = {word: word.encode("utf-8", "surrogatepass") for word in words}
        found: set[str] = set()
        with translated(self._path):
            connection = self._new_reader()
            try:
                connection.execute("SELECT 1 FROM sqlite_master").fetchall()  # opens the log
                for which, end in ((0, ""), (1, "-wal")):
                    size = self._file.with_name(self._file.name + end).stat().st_size
                    for start in range(0, size, READ_BYTES):
                        most = min(READ_BYTES + MAX_WORD_BYTES, size - start)
                        data = connection.read("main", which, start, most)[1]
                        found |= {word for word, form in sought.items() if form in data}
            except FileNotFoundError:
                pass  # no log, so nothing in it
            finally:
                connection.close()
        return [word for word in words if word in found]

    def check(self) -> list[str]:
        """Look twice before anything is called wrong: who restores a backup for it loses what is newer."""
        self._check_usable()
        with translated(self._path):
            return self._look_through() and self._look_through()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if os.getpid() != self._pid:
            return  # what a fork inherited belongs to the parent
        self._committer.close()
        while self._readers:
            self._readers.pop().close()
        self._writer.close()

    # Writing

    def _commit(self, jobs: Sequence[Work]) -> list[Any]:
        """Run all jobs in one transaction, each in a savepoint; a single one without."""
        with translated(self._path):
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                self._check_in_place()
                outcomes = [jobs[0](self._tx)] if len(jobs) == 1 else [self._apart(job) for job in jobs]
                check_open(self._writer)
                self._writer.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise
        return outcomes

    def _check_in_place(self) -> None:
        """Raise `StorageUnavailable` where the file, or its log, is not the one that is open: what is stored in a
        file without a name is lost."""
        if self._find_files() != self._files:
            raise StorageUnavailable(
                f"{self._path} was moved, removed or replaced while it was open. Nothing was stored; put it back, "
                "or close the memory and open it again."
            )

    def _find_files(self) -> list[tuple[int, int] | None]:
        """Return which files have the names of the database and of its log now."""
        return [file_identity(path) for path in self._names]

    def _apart(self, job: Work) -> Any:
        self._writer.execute("SAVEPOINT job")
        try:
            outcome = job(self._tx)
        except Exception as error:
            check_open(self._writer, error)
            self._writer.execute("ROLLBACK TO job")
            outcome = translate(error, self._path) if isinstance(error, apsw.Error) else error
        check_open(self._writer)
        self._writer.execute("RELEASE job")
        return outcome

    def _roll_back(self) -> None:
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    # Connections

    def _connect(self) -> apsw.Connection:
        if self._files:
            self._check_in_place()  # or an empty file would be made, and looked at
        connection = _open(self._path, self._key)
        connection.set_busy_handler(_patience(self._busy_timeout))
        return connection

    def _prepare(self, connection: apsw.Connection) -> None:
        """Make sure that the file is ours, and only then change anything, were it by closing it."""
        log_left_behind = self._file.with_name(self._file.name + "-wal").exists()
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, log_left_behind)
        version = self._version(connection)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, False)
        self._switch_to_wal(connection)
        _pragma(connection, f"synchronous = {self._synchronous}")
        _pragma(connection, "foreign_keys = ON")
        _pragma(
            connection, "secure_delete = ON"
        )  # what is deleted is overwritten, in pages that stay and free ones
        _pragma(connection, "journal_size_limit = 67108864")
        if version < LATEST:
            self._migrate(connection)
        connection.execute("SELECT 1 FROM sqlite_master").fetchall()  # opens the log
        self._files = self._find_files()
        if None in self._files:
            raise StorageUnavailable(f"{self._path} was moved or removed while it was opened. Try again.")

    def _version(self, connection: apsw.Connection) -> int:
        """Return the number of the last migration; 0 for a new file."""
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        application = _pragma(connection, "application_id")
        if application != APPLICATION_ID and (tables or application):
            raise ForeignDatabase(
                f"{self._path} is a database of another program. Nothing was changed; choose another home."
            )
        if "lifelong_migrations" not in tables:
            return 0
        connection.execute("BEGIN")
        try:
            version = applied(_Transaction(connection))
        finally:
            connection.execute("ROLLBACK")
        check_version(version, str(self._path))
        return version

    def _migrate(self, connection: apsw.Connection) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
            migrate(_Transaction(connection), self.dialect, to_micros(utc_now()), str(self._path))
            _pragma(connection, f"application_id = {APPLICATION_ID}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _switch_to_wal(self, connection: apsw.Connection) -> None:
        """Switch to a write-ahead log. SQLite does not wait for a process that is switching too, so we do."""
        deadline = time.monotonic() + self._busy_timeout
        mode = None
        while mode is None:
            try:
                mode = _pragma(connection, "journal_mode = WAL")
            except apsw.BusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(random.uniform(0.001, 0.02))
        if mode != "wal":
            raise StorageUnavailable(
                f"The folder of {self._path} cannot hold a write-ahead log (a network drive?). "
                "Choose a home on a local disk."
            )

    def _reader(self) -> apsw.Connection:
        with suppress(IndexError):
            return self._readers.pop()
        return self._new_reader()

    def _new_reader(self) -> apsw.Connection:
        connection = self._connect()
        _pragma(connection, "query_only = ON")
        return connection

    def _release(self, connection: apsw.Connection) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        self._readers.append(connection)
        while self._readers and (self._closed or len(self._readers) > MAX_IDLE_READERS):
            self._readers.pop().close()

    def _look_through(self) -> list[str]:
        """Read everything on one snapshot, through a connection that has read nothing before. A connection keeps
        the list of the parts that the full-text index had when it was last asked for words. Asking for words
        brings the list up to date; SQLite's check does not, and calls missing what others have merged since."""
        connection = self._new_reader()
        damage: list[str] = []
        try:
            connection.execute("BEGIN")
            try:
                for row in connection.execute("PRAGMA integrity_check"):
                    damage += (line for line in row[0].splitlines() if line != "ok" and line[:3] != "***")
            except apsw.CorruptError as error:
                damage.append(str(error))
            if damage:
                return [_damaged(what) for what in damage]
            orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
            return [f"Row {row[1]} of {row[0]} refers to a missing row of {row[2]}." for row in orphans]
        finally:
            connection.close()

    def _copy_to(self, target: Path, files: Iterable[StoredFile]) -> None:
        source = self._connect()
        copy = _open(target, self._key)
        try:
            with copy.backup("main", source, "main") as backup:
                backup.step(-1)  # in one go, on one snapshot: in parts, each write would start it over
            _pragma(copy, "journal_mode = DELETE")  # one file, whole by itself
            with copy:
                copy.execute("DROP TABLE IF EXISTS home_files")  # of a backup that became a home by hand
                copy.execute(HOME_FILES)
                copy.executemany("INSERT INTO home_files VALUES (?, ?, ?)", files)
        finally:
            copy.close()
            source.close()

    def _check_usable(self) -> None:
        if self._closed:
            raise MemoryClosed
        check_process(self._pid)


class _Transaction:
    """`Transaction` over one connection. Should SQLite have given the transaction up, nothing more is done:
    outside of one, each statement would be stored for itself."""

    __slots__ = ("_connection",)
    for_update = ""
    skip_locked = ""
    fulltext_value = "?"
    fulltext_match = "item_words MATCH ?"
    fulltext_and = " "
    fulltext_newest = "rowid DESC"
    check_fulltext = ("INSERT INTO item_words (item_words, rank) VALUES ('integrity-check', 0)",)
    reset_fulltext = ("DROP TABLE IF EXISTS item_words", FULL_TEXT)

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def now(self) -> datetime:
        """A file is used on one machine, so its clock is the one that everybody shares."""
        return utc_now()

    def all(self, sql: str, *params: Param) -> list[Row]:
        check_open(self._connection)
        return self._connection.execute(sql, params).fetchall()

    def one(self, sql: str, *params: Param) -> Row | None:
        rows = self.all(sql, *params)
        return rows[0] if rows else None

    def run(self, sql: str, *params: Param) -> int:
        self.all(sql, *params)
        return self._connection.changes()

    def many(self, sql: str, rows: Iterable[tuple[Param, ...]]) -> list[Row]:
        check_open(self._connection)
        return self._connection.executemany(sql, rows).fetchall()

    def insert(self, into: str, rows: Sequence[tuple[Param, ...]]) -> Sequence[int]:
        """Nobody else writes meanwhile, so ids have no gaps: the last one tells them all, in half the time that
        RETURNING takes."""
        if not rows:
            return ()
        self.many(f"INSERT INTO {into} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        last = self._connection.last_insert_rowid()
        return range(last - len(rows) + 1, last + 1)

    def lock_ids(self, table: str) -> int:
        """Nobody else writes meanwhile."""
        row = self.one("SELECT seq FROM sqlite_sequence WHERE name = ?", table)
        return int(row[0]) if row else 0

    def skip_ids(self, table: str, until: int) -> None:
        if not self.run("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", until, table):
            self.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", table, until)

    def insert_with_ids(self, into: str, rows: Sequence[tuple[Param, ...]]) -> None:
        if rows:
            self.many(f"INSERT INTO {into} VALUES ({', '.join('?' * len(rows[0]))})", rows)


def check_open(connection: apsw.Connection, cause: Exception | None = None) -> None:
    """Raise `StorageError` where SQLite gave up the whole transaction, as it does on some errors (a full disk)."""
    if not connection.in_transaction:
        raise StorageError("The transaction was given up. Nothing was stored.") from cause


def _damaged(what: str) -> str:
    """Say what is damaged: the full-text index, which is made again from the rest, or the file."""
    if "item_words" in what:
        return f"{FULL_TEXT_DAMAGED}: {what}. Nothing that was stored is lost. Run: lifelong rebuild."
    return f"The file is damaged: {what}."


def _taken(target: Path) -> InputError:
    return InputError(f"{target} exists already. Choose another name.")


def _create_private(path: Path) -> None:
    """Create a file that only its owner can read, durable on return."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        sync(path.parent)


def _mend_modes(path: Path) -> None:
    """Give the logs the mode of the database. SQLite makes them with the mode that it has then, and they keep it
    when a person makes the database writable again."""
    mode = stat.S_IMODE(path.stat().st_mode)
    for log in (path.with_name(path.name + end) for end in ("-wal", "-shm")):
        with suppress(OSError):
            if stat.S_IMODE(log.stat().st_mode) != mode:
                log.chmod(mode)


def _read_header(path: Path) -> bytes:
    """Read through SQLite: see `SQLite.traces`."""
    connection = apsw.Connection(str(path))
    try:
        return connection.read("main", 0, 0, 100)[1]
    finally:
        connection.close()


def _check_header(path: Path, key: str) -> None:
    """Raise `ForeignDatabase` for a file that is not SQLite's: SQLite takes a file of a byte or two for an
    empty one and overwrites it. Raise `WrongKey` for one that is encrypted and has no key, or has a key and is not
    encrypted. Beside a rollback journal the first page may be half written, and SQLite will repair it."""
    file = Path(os.path.realpath(path))
    if not file.stat().st_size or file.with_name(file.name + "-journal").exists():
        return
    header = _read_header(path)
    if header.startswith(HEADER):
        if key:
            raise WrongKey(
                f"{path} is not encrypted, but storage.key is set. Nothing was changed; stop what works with this "
                "home and run `lifelong encrypt`, or take the key away."
            )
        return
    place, readable = ENCRYPTED_HEADER
    if header[place] != readable:
        raise not_a_database(path)
    if not key:
        raise WrongKey(f"{path} is encrypted, and there is no key. Nothing was changed; {WHERE_KEYS_ARE}")


def _pragma(connection: apsw.Connection, text: str) -> Any:
    """Run a PRAGMA and return its value. apsw runs a statement only as far as it is fetched, so fetch all of
    it."""
    rows = connection.execute(f"PRAGMA {text}").fetchall()
    return rows[0][0] if rows else None


def _patience(timeout: float) -> Callable[[int], bool]:
    """Wait for another process's writer: about as long as it takes to append, since who asks more often takes the
    processor from the one who writes, and never in step with the others. A wait grows with the time waited, to a
    fiftieth of it, so that who waits for a long transaction costs next to nothing; but never beyond
    MAX_POLL_SECONDS, so that nobody is overtaken for long."""
    started = 0.0

    def wait(tries: int) -> bool:
        nonlocal started
        now = time.monotonic()
        if tries == 0:
            started = now
        elif now - started > timeout:
            return False
        time.sleep(random.uniform(0.5, 1.5) * min(max((now - started) / 50, MIN_POLL_SECONDS), MAX_POLL_SECONDS))
        return True

    return wait


# Encryption


WHERE_KEYS_ARE = "set LIFELONG_STORAGE_KEY, or storage.keyring = true where the system's keyring has it."
INSTALL_CIPHER = (
    "pip install 'lifelong[encryption]', then pip install --force-reinstall --no-deps apsw-sqlite3mc "
    "(it takes the place of apsw)"
)


def check_cipher(key: str) -> None:
    """Raise `ConfigError` where there is a key, but nothing that encrypts: plain SQLite ignores keys."""
    if key and not hasattr(apsw, "mc_version"):
        raise ConfigError(
            "storage.key is set, but the installed SQLite cannot encrypt. Nothing was changed; run: "
            f"{INSTALL_CIPHER}."
        )


def change_key(path: Path, old: str, new: str) -> None:
    """Encrypt a database with another key, in place; an empty one is none. Nobody else may have it open. If it is
    killed, the database is as before: do it again."""
    check_cipher(old or new)
    with translated(path):
        if not path.exists():
            raise InputError(f"There is no database {path}. A new one is encrypted from the start, with a key.")
        try:
            _check_header(path, old)
        except WrongKey:
            raise WrongKey(
                f"{path} is not encrypted, so no old key opens it. Nothing was changed."
                if old
                else f"{path} is encrypted already. Nothing was changed; to change its key, set "
                "LIFELONG_OLD_KEY to the present one."
            ) from None
        except OSError as error:
            raise translate_os_error(error, path) from error
        connection = _open(path, old)
        try:
            if _pragma(connection, "application_id") != APPLICATION_ID:
                raise ForeignDatabase(f"{path} is a database of another program. Nothing was changed.")
            _pragma(connection, "secure_delete = ON")
            _pragma(connection, "journal_mode = DELETE")  # a key cannot be changed beside a log
            connection.pragma("rekey", new)
        except apsw.NotADBError as error:
            raise WrongKey(f"The old key does not open {path}. Nothing was changed.") from error
        except apsw.BusyError as error:
            raise StorageBusy(
                f"Another process works with {path}. Nothing was changed; stop it (lifelong worker or serve), and "
                "try again."
            ) from error
        finally:
            connection.close()


def _open(path: Path, key: str) -> apsw.Connection:
    connection = apsw.Connection(str(path), statementcachesize=MAX_CACHED_STATEMENTS)
    if key:
        connection.pragma("key", key)
        _pragma(connection, "temp_store = MEMORY")  # temporary files would not be encrypted
    return connection


def _wrong_key(path: Path) -> WrongKey:
    return WrongKey(f"The key does not open {path}. Nothing was changed; {WHERE_KEYS_ARE}")


# Errors


WRITE_FAILURES = {
    apsw.SQLITE_IOERR_WRITE,
    apsw.SQLITE_IOERR_FSYNC,
    apsw.SQLITE_IOERR_DIR_FSYNC,
    apsw.SQLITE_IOERR_TRUNCATE,
    apsw.SQLITE_IOERR_SHMSIZE,
    apsw.SQLITE_IOERR_SHMMAP,
}
"""Errors that say nothing about the work: nothing can be written at the moment."""


class translated:  # noqa: N801 - reads as a word where it is used
    """Inside it, apsw's errors become ours."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, apsw.Error):
            raise translate(error, self._path) from error
        if isinstance(error, UnicodeDecodeError):
            raise StorageCorrupt(
                f"{self._path} holds text that is not text ({error}). Keep a copy of it, and restore a backup."
            ) from error


def translate(error: apsw.Error, path: Path) -> LifelongError:
    """Return the `LifelongError` for an error of apsw, with the next step."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return StorageBusy(
                f"Another process kept {path} busy for too long. Nothing was changed; try again, "
                "or raise storage.busy_timeout."
            )
        case apsw.FullError():
            return _full(path)
        case apsw.IOError() if _is_disk_full(path):
            return _full(path)
        case apsw.IOError():
            kind = StorageUnavailable if getattr(error, "extendedresult", 0) in WRITE_FAILURES else StorageError
            return kind(
                f"{path} could not be read or written ({error}). Nothing was changed; check the disk, its quota "
                "and the largest size of a file (ulimit -f), and try again."
            )
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError() | apsw.CantOpenError():
            return _not_writable(path, str(error))
        case apsw.NotADBError():
            return not_a_database(path)
        case apsw.CorruptError() if getattr(error, "extendedresult", 0) == apsw.SQLITE_CORRUPT_VTAB:
            return IndexCorrupt(
                f"The full-text index of {path} is damaged ({error}). Nothing that was stored is lost. "
                "Run: lifelong rebuild."
            )
        case apsw.CorruptError():
            return StorageCorrupt(
                f"{path} is damaged ({error}). Keep a copy of it, and restore a backup with its name."
            )
        case apsw.ConstraintError():
            return StorageConflict(f"The database refused it: {error}. Nothing was stored.")
        case _:
            return StorageError(f"The database {path} could not do it: {error}. Nothing was changed.")


def not_a_database(path: Path) -> ForeignDatabase:
    return ForeignDatabase(
        f"{path} is not a database. Nothing was changed; choose another home or move the file away."
    )


def _full(path: Path) -> StorageFull:
    return StorageFull(f"There is no room left for {path}. Nothing was stored; free some space and try again.")


def _not_writable(path: Path, reason: str | None) -> StorageUnavailable:
    return StorageUnavailable(
        f"{path} cannot be opened and written ({reason}), which reading needs too. Nothing was changed; "
        "check that its folder exists and that both can be written."
    )


def _is_disk_full(path: Path) -> bool:
    """Return whether hardly any room is left: then an I/O error most likely means that."""
    return free_bytes(path.parent) < MIN_FREE_BYTES


def translate_os_error(error: OSError, path: Path) -> LifelongError:
    """Return the `LifelongError` for an error of the file system."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _full(path)
    return _not_writable(path, error.strerror)
