"""PostgreSQL, for when one machine is not enough: through psycopg 3 and its pool.

Our tables live in a schema of their own, so that they can share a database with anything. A connection
that the server closed is replaced and the work done again, as long as its commit was not yet asked for.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, LiteralString, TypeVar

import psycopg
from psycopg import IsolationLevel
from psycopg import errors as pg
from psycopg import sql as pgsql
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from lifelong.errors import (
    ForeignDatabase,
    LifelongError,
    MemoryClosed,
    OutcomeUnknown,
    StorageBusy,
    StorageConflict,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageUnavailable,
)
from lifelong.storage.base import Dialect, Param, Row, StoredFile, Transaction
from lifelong.storage.group_commit import check_process
from lifelong.storage.migrations import LATEST, MIGRATIONS, applied, check_version, migrate
from lifelong.types import from_micros, to_micros, utc_now

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]

POOL = "lifelong"
MIGRATION_LOCK = 0x4C464C47  # one process migrates at a time; the others wait for it
_RETRIED = (pg.DeadlockDetected, pg.SerializationFailure)


# What the pool logs of connections that it cannot make, our error says in one sentence.
logging.getLogger("psycopg.pool").addFilter(lambda record: POOL not in (record.args or ()))


class _Again(Exception):
    """Nothing was stored, and another try may well succeed."""

    def __init__(self, error: psycopg.Error) -> None:
        self.error = error


class Postgres:
    """The `Database` on a server."""

    dialect: Dialect = "postgres"

    def __init__(
        self,
        url: str,
        *,
        schema: str = "lifelong",
        synchronous: Literal["full", "normal"] = "full",
        busy_timeout: float = 30.0,
        pool_size: int = 8,
        timeout: float = 10.0,
    ) -> None:
        self._schema = schema
        self._synchronous = synchronous
        self._busy_timeout = busy_timeout
        self._timeout = timeout
        self._closed = False
        self._pid = os.getpid()
        self._url = url
        self._pool_size = pool_size
        self._in_use = 0
        self._counting = threading.Lock()
        self._where = _where(url)
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            url,
            min_size=1,
            max_size=pool_size,
            timeout=timeout,
            reconnect_timeout=1.0,  # give up a connection early: the next call asks for a new one
            open=False,
            name=POOL,
            configure=self._configure,
            kwargs={
                "application_name": "lifelong",
                "connect_timeout": max(2, round(timeout)),
                "tcp_user_timeout": round(busy_timeout * 1000),  # a host that vanished is noticed
                "keepalives_idle": 30,
            },
        )
        try:
            self._open()
        except BaseException:
            self._pool.close()
            raise

    def read(self, work: Callable[[Transaction], T]) -> T:
        return self._run(lambda connection: work(_Transaction(connection)), reading=True)

    def write(self, work: Callable[[Transaction], T]) -> T:
        return self._run(lambda connection: work(_Transaction(connection)))

    def backup(self, target: Path, files: Iterable[StoredFile] = ()) -> None:
        raise StorageError(
            f"PostgreSQL makes its own backups: pg_dump --schema={self._schema} > {target}. Copy the home's "
            "folder users/ beside it."
        )

    def purge(self, words: Sequence[str] = ()) -> bool:
        """Have PostgreSQL reclaim dead rows. What its own log and backups hold is not ours to remove."""
        tables = self.read(lambda tx: sorted(self._tables(tx)))

        def vacuum(connection: Connection) -> None:
            connection.commit()
            connection.autocommit = True
            try:
                for table in tables:
                    connection.execute(_psycopg(f"VACUUM {table}"))
            finally:
                connection.autocommit = False

        self._run(vacuum)
        return True

    def traces(self, words: Sequence[str]) -> list[str]:
        """Return nothing: the files are the server's."""
        return []

    def check(self) -> list[str]:
        """Read every row, and check that every index and constraint is valid and no migration is missing."""

        def look(tx: Transaction) -> list[str]:
            for table in self._tables(tx):
                tx.one(f'SELECT sum(length(t::text)) FROM "{table}" t')
            broken = tx.all(
                "SELECT conname FROM pg_constraint c JOIN pg_namespace n ON n.oid = c.connamespace "
                "WHERE n.nspname = ? AND NOT convalidated",
                self._schema,
            )
            invalid = tx.all(
                "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
                "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND NOT i.indisvalid",
                self._schema,
            )
            missing = {step.number for step in MIGRATIONS} - {
                row[0] for row in tx.all("SELECT number FROM lifelong_migrations")
            }
            return (
                [f"The rule {row[0]} was never checked." for row in broken]
                + [f"The index {row[0]} is invalid; rebuild it with REINDEX." for row in invalid]
                + [f"Migration {number} is missing." for number in sorted(missing)]
            )

        try:
            return self.read(look)
        except StorageCorrupt as error:
            return [str(error)]

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if os.getpid() == self._pid:  # what a fork inherited belongs to the parent
            self._pool.close()

    def _run(self, work: Callable[[Connection], T], *, reading: bool = False) -> T:
        """Run one transaction, again on a fresh connection while nothing can have been stored."""
        if self._closed:
            raise MemoryClosed
        check_process(self._pid)
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return self._once(work, reading)
            except PoolClosed:
                raise MemoryClosed from None
            except PoolTimeout as error:
                reason = self._no_connection()
                if reason or time.monotonic() > deadline + self._timeout:
                    raise (reason or translate(error, self._where)) from error
            except _Again as again:
                if time.monotonic() > deadline:
                    raise translate(again.error, self._where) from again.error
                time.sleep(0.01)
            except psycopg.Error as error:
                raise translate(error, self._where) from error

    def _once(self, work: Callable[[Connection], T], reading: bool) -> T:
        connection = self._pool.getconn()
        try:
            with self._counting:
                self._in_use += 1
            _prepare(connection, reading)
            try:
                result = work(connection)
            except psycopg.Error as error:
                if isinstance(error, _RETRIED) or connection.closed or is_disconnect(error):
                    raise _Again(error) from error
                raise
            if not reading:
                _commit(connection)
            return result
        finally:
            _roll_back(connection)
            with self._counting:
                self._in_use -= 1
            self._pool.putconn(connection)

    def _configure(self, connection: Connection) -> None:
        settings = {
            "search_path": f"{pgsql.Identifier(self._schema).as_string(connection)}, public",
            "synchronous_commit": "on" if self._synchronous == "full" else "off",
            "lock_timeout": f"{round(self._busy_timeout * 1000)}ms",
            "idle_in_transaction_session_timeout": f"{round(self._busy_timeout * 1000)}ms",
        }
        for name, value in settings.items():
            connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        connection.commit()

    def _open(self) -> None:
        try:
            self._pool.open(wait=True, timeout=self._timeout)
        except PoolTimeout as error:
            raise (self._no_connection() or translate(error, self._where)) from error
        if self.read(self._version) != LATEST:
            self._run(self._bring_up_to_date)

    def _no_connection(self) -> LifelongError | None:
        """Return why the pool gave no connection in time; none where the server has just come back."""
        if self._in_use >= self._pool_size:
            return StorageBusy(
                f"All {self._pool_size} connections to PostgreSQL at {self._where} are in use. Nothing was "
                "stored; try again, or raise storage.pool_size."
            )
        try:
            psycopg.connect(self._url, connect_timeout=2).close()
        except psycopg.Error as error:
            return translate(error, self._where)
        return None

    def _tables(self, tx: Transaction) -> set[str]:
        rows = tx.all("SELECT table_name FROM information_schema.tables WHERE table_schema = ?", self._schema)
        return {row[0] for row in rows}

    def _version(self, tx: Transaction) -> int | None:
        """Return the version of the tables; none where there are none."""
        tables = self._tables(tx)
        if "lifelong_migrations" in tables:
            version = applied(tx)
            check_version(version, f"The schema {self._schema!r} on {self._where}")
            return version
        if tables:
            raise ForeignDatabase(
                f"The schema {self._schema!r} on {self._where} belongs to another program. "
                "Nothing was changed; name another one in storage.schema_name."
            )
        return None

    def _bring_up_to_date(self, connection: Connection) -> None:
        tx = _Transaction(connection)
        tx.one("SELECT pg_advisory_xact_lock(?)", MIGRATION_LOCK)
        if not tx.one("SELECT 1 FROM pg_namespace WHERE nspname = ?", self._schema):
            connection.execute(pgsql.SQL("CREATE SCHEMA {}").format(pgsql.Identifier(self._schema)))
        migrate(tx, self.dialect, to_micros(utc_now()), f"The schema {self._schema!r} on {self._where}")


def _prepare(connection: Connection, reading: bool) -> None:
    """Set up a connection. A reader sees one snapshot and changes nothing."""
    level = IsolationLevel.REPEATABLE_READ if reading else IsolationLevel.READ_COMMITTED
    if connection.isolation_level is not level:
        connection.isolation_level = level
        connection.read_only = reading


def _roll_back(connection: Connection) -> None:
    """End what was not committed: a reader's transaction, or one that failed."""
    if connection.info.transaction_status is not TransactionStatus.IDLE:
        with suppress(psycopg.Error):  # a lost connection has ended it already
            connection.rollback()


def _commit(connection: Connection) -> None:
    if connection.info.transaction_status is TransactionStatus.INERROR:
        raise StorageError("A statement failed and its error was passed over. Nothing was stored.")
    try:
        connection.commit()
    except _RETRIED as error:
        raise _Again(error) from error
    except psycopg.OperationalError as error:
        raise OutcomeUnknown from error


class _Transaction:
    """`Transaction` over one connection."""

    __slots__ = ("_connection",)
    for_update = " FOR NO KEY UPDATE"  # keeps writers out, lets rows that refer to it in
    skip_locked = " FOR NO KEY UPDATE SKIP LOCKED"
    fulltext_value = "array_to_tsvector(string_to_array(?, ' '))"
    fulltext_match = "words @@ CAST(? AS tsquery)"
    fulltext_and = " & "
    fulltext_newest = "rowid + 0 DESC"  # by the key alone it would read every row until it has enough
    check_fulltext: tuple[str, ...] = ()
    reset_fulltext = ("DELETE FROM item_words",)

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def now(self) -> datetime:
        """Of the server, and of this instant: within a transaction its `now()` stands still."""
        row = self.one("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)")
        assert row, "a SELECT without a table has one row"
        return from_micros(row[0])

    def all(self, sql: str, *params: Param) -> list[Row]:
        return self._connection.execute(_psycopg(sql), params).fetchall()

    def one(self, sql: str, *params: Param) -> Row | None:
        return self._connection.execute(_psycopg(sql), params).fetchone()

    def run(self, sql: str, *params: Param) -> int:
        return self._connection.execute(_psycopg(sql), params).rowcount

    def many(self, sql: str, rows: Iterable[tuple[Param, ...]]) -> list[Row]:
        rows = list(rows)
        if len(rows) == 1:
            cursor = self._connection.execute(_psycopg(sql), rows[0])
            return cursor.fetchall() if cursor.rownumber is not None else []
        with self._connection.cursor() as cursor:
            cursor.executemany(_psycopg(sql), rows, returning=True)
            return [row for result in cursor.results() if result.description for row in result.fetchall()]

    def insert(self, into: str, rows: Sequence[tuple[Param, ...]]) -> Sequence[int]:
        if not rows:
            return ()
        values = ", ".join("?" * len(rows[0]))
        return [row[0] for row in self.many(f"INSERT INTO {into} VALUES ({values}) RETURNING id", rows)]

    def lock_ids(self, table: str) -> int:
        """Keep others from inserting: an insert takes its table's lock before it draws an id."""
        self.run(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")
        row = self.one(
            "SELECT COALESCE(pg_sequence_last_value(CAST(pg_get_serial_sequence(?, 'id') AS regclass)), 0)", table
        )
        return int(row[0]) if row else 0

    def skip_ids(self, table: str, until: int) -> None:
        sequence = "CAST(pg_get_serial_sequence(?, 'id') AS regclass)"
        highest = f"GREATEST(CAST(? AS BIGINT), COALESCE(pg_sequence_last_value({sequence}), 1))"
        self.one(f"SELECT setval({sequence}, {highest})", table, until, table)

    def insert_with_ids(self, into: str, rows: Sequence[tuple[Param, ...]]) -> None:
        if rows:
            self.many(f"INSERT INTO {into} OVERRIDING SYSTEM VALUE VALUES ({', '.join('?' * len(rows[0]))})", rows)


@lru_cache(maxsize=512)
def _psycopg(sql: str) -> LiteralString:
    """Return the statement with psycopg's placeholders. Our SQL is constant text, never built from input."""
    return sql.replace("%", "%%").replace("?", "%s")


def _where(url: str) -> str:
    """Return the server and database of an address, without its password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise StorageUnavailable(
            "storage.url is not a PostgreSQL address. Write postgresql://user:password@host/database."
        ) from None  # its text repeats the address, password and all
    return f"{parts.get('host') or 'localhost'}/{parts.get('dbname') or 'postgres'}"


# Errors


def is_disconnect(error: psycopg.Error) -> bool:
    """Return whether the server closed the connection: it shuts down, has too many, or ended our session."""
    return (error.sqlstate or "").startswith(("08", "57P", "53300"))


def translate(error: psycopg.Error, where: str) -> LifelongError:
    """Return the `LifelongError` for a driver's error, with the next step."""
    match error:
        case pg.UniqueViolation() | pg.ForeignKeyViolation() | pg.IntegrityError():
            return StorageConflict(f"The database refused it: {_first_line(error)}. Nothing was stored.")
        case pg.DiskFull() | pg.OutOfMemory():
            return StorageFull(
                f"PostgreSQL at {where} has no room left. Nothing was stored; free some space there."
            )
        case pg.DataCorrupted() | pg.IndexCorrupted():
            return StorageCorrupt(f"PostgreSQL at {where} reports damage: {_first_line(error)}. Restore a backup.")
        case pg.DeadlockDetected() | pg.SerializationFailure() | pg.LockNotAvailable() | pg.QueryCanceled():
            return StorageBusy(f"PostgreSQL at {where} was too busy. Nothing was stored; try again.")
        case pg.InsufficientPrivilege() | pg.InvalidPassword() | pg.InvalidAuthorizationSpecification():
            return StorageUnavailable(
                f"PostgreSQL at {where} refuses this user: {_first_line(error)}. Nothing was stored; "
                "check the user, its password and its rights."
            )
        case psycopg.OperationalError() | psycopg.InterfaceError() if not error.sqlstate or is_disconnect(error):
            return StorageUnavailable(
                f"PostgreSQL at {where} does not answer ({_first_line(error)}). Nothing was stored; "
                "start it, or correct storage.url, and try again."
            )
        case _:
            return StorageError(
                f"PostgreSQL at {where} could not do it: {_first_line(error)}. Nothing was stored."
            )


def _first_line(error: psycopg.Error) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
