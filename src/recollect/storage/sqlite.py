"""SQLite, embedded: one file in the home, through `apsw`.

WAL, so that readers and the writer never wait for each other; `synchronous=FULL`, so that what was
acknowledged survives a power cut; group commit, so that many writers share one sync. A writer of another
process is waited for with a short, jittered sleep: no process is kept out for long by the others.
"""

from __future__ import annotations

import os
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

import apsw

from recollect.errors import (
    ForeignDatabase,
    MemoryClosed,
    RecollectError,
    StorageBusy,
    StorageConflict,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageUnavailable,
)
from recollect.gather import Gather, check_process
from recollect.storage.base import Dialect, Param, Row, Transaction
from recollect.storage.migrations import check_version, migrate
from recollect.types import micros, utc_now

T = TypeVar("T")

APPLICATION_ID = 0x52434C54  # "RCLT": written in the file's header, so that we know our own
READERS_KEPT = 8

Work = Callable[[Transaction], Any]


class SQLite:
    """The `Database` in one file."""

    dialect: Dialect = "sqlite"

    def __init__(
        self, path: Path, *, synchronous: Literal["full", "normal"] = "full", busy_timeout: float = 30.0
    ) -> None:
        self._path = path
        self._synchronous = synchronous
        self._busy_timeout = busy_timeout
        self._pid = os.getpid()
        self._closed = False
        self._readers: deque[apsw.Connection] = deque()
        with _translated(path):
            self._writer = self._connect()
            try:
                self._prepare(self._writer)
            except BaseException:
                self._writer.close()
                raise
        self._tx = _Transaction(self._writer)
        self._gather: Gather[Work, Any] = Gather(self._commit, "recollect-writer")

    def read(self, work: Callable[[Transaction], T]) -> T:
        self._check_usable()
        with _translated(self._path):
            connection = self._reader()
            try:
                connection.execute("BEGIN")
                try:
                    return work(_Transaction(connection))
                finally:
                    connection.execute("COMMIT")
            finally:
                self._release(connection)

    def write(self, work: Callable[[Transaction], T]) -> T:
        result: T = self._gather.submit(work)
        return result

    def backup(self, target: Path) -> None:
        if target.exists():
            raise StorageUnavailable(f"{target} exists already. Choose another name for the backup.")
        part = target.with_name(target.name + ".part")
        self._check_usable()
        try:
            with _translated(target):
                self._copy_to(part)
            part.rename(target)
        finally:
            part.unlink(missing_ok=True)

    def check(self) -> list[str]:
        def look(tx: Transaction) -> list[str]:
            damage = [str(row[0]) for row in tx.all("PRAGMA integrity_check")]
            orphans = tx.all("PRAGMA foreign_key_check")
            return [f"The file is damaged: {d}." for d in damage if d != "ok"] + [
                f"Row {row[1]} of {row[0]} refers to a missing row of {row[2]}." for row in orphans
            ]

        return self.read(look)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._gather.close()
        while self._readers:
            self._readers.pop().close()
        self._writer.close()

    # Writing

    def _commit(self, jobs: Sequence[Work]) -> list[Any]:
        """One transaction for all of them, a savepoint for each; for one alone, just the transaction."""
        with _translated(self._path):
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                outcomes = [jobs[0](self._tx)] if len(jobs) == 1 else [self._apart(job) for job in jobs]
                self._check_still_open(None)
                self._writer.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise
        return outcomes

    def _apart(self, job: Work) -> Any:
        self._writer.execute("SAVEPOINT job")
        try:
            outcome = job(self._tx)
        except Exception as error:
            self._check_still_open(error)
            self._writer.execute("ROLLBACK TO job")
            outcome = translate(error, self._path) if isinstance(error, apsw.Error) else error
        self._check_still_open(None)
        self._writer.execute("RELEASE job")
        return outcome

    def _check_still_open(self, cause: Exception | None) -> None:
        """On some errors (a full disk) SQLite gives up the whole transaction, and with it everyone's work."""
        if not self._writer.in_transaction:
            raise StorageError("The transaction was given up. Nothing was stored.") from cause

    def _roll_back(self) -> None:
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    # Connections

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(str(self._path))
        connection.set_busy_handler(_patience(self._busy_timeout))
        return connection

    def _prepare(self, connection: apsw.Connection) -> None:
        """Make sure that the file is ours, and only then change anything."""
        self._check_ours(connection)
        self._switch_to_wal(connection)
        _pragma(connection, f"synchronous = {self._synchronous}")
        _pragma(connection, "foreign_keys = ON")
        _pragma(connection, "journal_size_limit = 67108864")
        connection.execute("BEGIN IMMEDIATE")
        try:
            tx = _Transaction(connection)
            migrate(tx, self.dialect, micros(utc_now()))
            _pragma(connection, f"application_id = {APPLICATION_ID}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _switch_to_wal(self, connection: apsw.Connection) -> None:
        """SQLite does not wait for a process that is switching too, so we do."""
        deadline = time.monotonic() + self._busy_timeout
        while True:
            try:
                _pragma(connection, "journal_mode = WAL")
            except apsw.BusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(random.uniform(0.001, 0.02))
            else:
                return

    def _check_ours(self, connection: apsw.Connection) -> None:
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        application = _pragma(connection, "application_id")
        if application == APPLICATION_ID:
            if "recollect_migrations" in tables:
                newest = connection.execute("SELECT max(number) FROM recollect_migrations").fetchall()[0][0]
                check_version(int(newest or 0))
        elif tables or application:
            raise ForeignDatabase(
                f"{self._path} is a database of another program. Nothing was changed; choose another home."
            )

    def _reader(self) -> apsw.Connection:
        with suppress(IndexError):
            return self._readers.pop()
        connection = self._connect()
        _pragma(connection, "query_only = ON")
        return connection

    def _release(self, connection: apsw.Connection) -> None:
        if self._closed or len(self._readers) >= READERS_KEPT:
            connection.close()
        else:
            self._readers.append(connection)

    def _copy_to(self, target: Path) -> None:
        source, copy = self._connect(), apsw.Connection(str(target))
        try:
            with copy.backup("main", source, "main") as backup:
                backup.step(-1)  # in one go, on one snapshot: in parts, each write would start it over
            _pragma(copy, "journal_mode = DELETE")  # one file, whole by itself
        finally:
            copy.close()
            source.close()

    def _check_usable(self) -> None:
        if self._closed:
            raise MemoryClosed
        check_process(self._pid)


class _Transaction:
    """`Transaction` over one connection."""

    __slots__ = ("_connection",)
    for_update = ""
    skip_locked = ""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def all(self, sql: str, *params: Param) -> list[Row]:
        return self._connection.execute(sql, params).fetchall()

    def one(self, sql: str, *params: Param) -> Row | None:
        rows = self._connection.execute(sql, params).fetchall()
        return rows[0] if rows else None

    def run(self, sql: str, *params: Param) -> int:
        self._connection.execute(sql, params).fetchall()
        return self._connection.changes()

    def many(self, sql: str, rows: Iterable[tuple[Param, ...]]) -> list[Row]:
        return self._connection.executemany(sql, rows).fetchall()


def _pragma(connection: apsw.Connection, text: str) -> Any:
    """apsw runs a statement as far as it is fetched, so fetch all of it."""
    rows = connection.execute(f"PRAGMA {text}").fetchall()
    return rows[0][0] if rows else None


def _patience(timeout: float) -> Callable[[int], bool]:
    """Wait for another process's writer: often and briefly, never in step with the others."""
    started = 0.0

    def wait(tries: int) -> bool:
        nonlocal started
        if tries == 0:
            started = time.monotonic()
        elif time.monotonic() - started > timeout:
            return False
        time.sleep(random.uniform(0.0002, min(0.001 * 2**tries, 0.02)))
        return True

    return wait


class _translated:  # noqa: N801 - reads as a word where it is used
    """Inside it, apsw's errors become ours."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, apsw.Error):
            raise translate(error, self._path) from error


def translate(error: apsw.Error, path: Path) -> RecollectError:
    """The error of ours that says the same, with the next step."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return StorageBusy(
                f"Another process kept {path} busy for too long. Nothing was stored; try again, "
                "or raise storage.busy_timeout."
            )
        case apsw.FullError():
            return StorageFull(
                f"There is no room left for {path}. Nothing was stored; free some space and try again."
            )
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            return StorageUnavailable(
                f"{path} cannot be written. Nothing was stored; make the file and its folder writable."
            )
        case apsw.CantOpenError():
            return StorageUnavailable(f"{path} cannot be opened. Check that its folder exists and can be written.")
        case apsw.NotADBError():
            return ForeignDatabase(
                f"{path} is not a database. Nothing was changed; choose another home or move the file away."
            )
        case apsw.CorruptError():
            return StorageCorrupt(
                f"{path} is damaged ({error}). Keep a copy of it, and restore a backup with its name."
            )
        case apsw.ConstraintError():
            return StorageConflict(f"The database refused it: {error}. Nothing was stored.")
        case _:
            return StorageError(f"The database {path} could not do it: {error}. Nothing was stored.")
