"""PostgreSQL, for when one machine is not enough: through psycopg 3 and its pool.

Our tables live in a schema of their own, so that they can share a database with anything. A connection
that the server closed is replaced and the work done again, as long as its commit was not yet asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, LiteralString, TypeVar

import psycopg
from psycopg import IsolationLevel
from psycopg import errors as pg
from psycopg import sql as pgsql
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolClosed

from recollect.errors import (
    ForeignDatabase,
    MemoryClosed,
    OutcomeUnknown,
    RecollectError,
    StorageBusy,
    StorageConflict,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageUnavailable,
)
from recollect.storage.base import Dialect, Param, Row, Transaction
from recollect.storage.migrations import MIGRATIONS, applied, check_version, migrate
from recollect.types import micros, utc_now

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]

MIGRATION_LOCK = 0x52434C54  # one process migrates at a time; the others wait for it
_RETRIED = (pg.DeadlockDetected, pg.SerializationFailure)


class _Again(Exception):  # noqa: N818
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
        schema: str = "recollect",
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
        self._where = _where(url)
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            url,
            min_size=1,
            max_size=pool_size,
            timeout=timeout,
            reconnect_timeout=1.0,  # give up a connection early: the next call asks for a new one
            open=False,
            name="recollect",
            configure=self._configure,
            kwargs={"connect_timeout": max(2, round(timeout)), "application_name": "recollect"},
        )
        try:
            self._pool.open()
            self._migrate()
        except BaseException:
            self._pool.close()
            raise

    def read(self, work: Callable[[Transaction], T]) -> T:
        return self._run(lambda connection: work(_Transaction(connection)), IsolationLevel.REPEATABLE_READ)

    def write(self, work: Callable[[Transaction], T]) -> T:
        return self._run(lambda connection: work(_Transaction(connection)))

    def backup(self, target: Path) -> None:
        raise StorageError(f"PostgreSQL makes its own backups: pg_dump --schema={self._schema} > {target}")

    def check(self) -> list[str]:
        """What can be seen from outside: the schema is whole, and every reference is met."""

        def look(tx: Transaction) -> list[str]:
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
                row[0] for row in tx.all("SELECT number FROM recollect_migrations")
            }
            return (
                [f"The rule {row[0]} was never checked." for row in broken]
                + [f"The index {row[0]} is invalid; rebuild it with REINDEX." for row in invalid]
                + [f"Migration {number} is missing." for number in sorted(missing)]
            )

        return self.read(look)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._pool.close()

    def _run(
        self, work: Callable[[Connection], T], isolation: IsolationLevel = IsolationLevel.READ_COMMITTED
    ) -> T:
        """One transaction, tried again on a fresh connection while nothing can have been stored."""
        if self._closed:
            raise MemoryClosed
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return self._once(work, isolation)
            except PoolClosed:
                raise MemoryClosed from None
            except _Again as again:
                if time.monotonic() > deadline:
                    raise translate(again.error, self._where) from again.error
                time.sleep(0.01)
            except psycopg.Error as error:
                raise translate(error, self._where) from error

    def _once(self, work: Callable[[Connection], T], isolation: IsolationLevel) -> T:
        with self._pool.connection() as connection:  # rolls back if we raise
            connection.isolation_level = isolation
            try:
                result = work(connection)
            except psycopg.Error as error:
                if isinstance(error, _RETRIED) or connection.closed or _is_farewell(error):
                    raise _Again(error) from error
                raise
            if connection.info.transaction_status is TransactionStatus.INERROR:
                raise StorageError("A statement failed and its error was passed over. Nothing was stored.")
            try:
                connection.commit()
            except _RETRIED as error:
                raise _Again(error) from error
            except psycopg.OperationalError as error:
                raise OutcomeUnknown from error
            return result

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

    def _migrate(self) -> None:
        if self._version() != MIGRATIONS[-1].number:
            self._run(self._bring_up_to_date)

    def _version(self) -> int | None:
        """The version of the tables that are there; none where they are not."""

        def look(tx: Transaction) -> int | None:
            tables = {
                row[0]
                for row in tx.all(
                    "SELECT table_name FROM information_schema.tables WHERE table_schema = ?", self._schema
                )
            }
            if "recollect_migrations" in tables:
                version = applied(tx)
                check_version(version)
                return version
            if tables:
                raise ForeignDatabase(
                    f"The schema {self._schema!r} on {self._where} belongs to another program. "
                    "Nothing was changed; name another one in storage.schema_name."
                )
            return None

        return self.read(look)

    def _bring_up_to_date(self, connection: Connection) -> None:
        tx = _Transaction(connection)
        tx.one("SELECT pg_advisory_xact_lock(?)", MIGRATION_LOCK)
        connection.execute(pgsql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(pgsql.Identifier(self._schema)))
        migrate(tx, self.dialect, micros(utc_now()))


class _Transaction:
    """`Transaction` over one connection."""

    __slots__ = ("_connection",)
    for_update = " FOR NO KEY UPDATE"  # keeps writers out, lets rows that refer to it in
    skip_locked = " FOR NO KEY UPDATE SKIP LOCKED"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

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
            return cursor.fetchall() if cursor.description else []
        with self._connection.cursor() as cursor:
            cursor.executemany(_psycopg(sql), rows, returning=True)
            return [row for result in cursor.results() if result.description for row in result.fetchall()]


@lru_cache(maxsize=512)
def _psycopg(sql: str) -> LiteralString:
    """The same statement with psycopg's placeholders. Our SQL is constant text, never built from input."""
    return sql.replace("%", "%%").replace("?", "%s")


def _is_farewell(error: psycopg.Error) -> bool:
    """The server closes the connection: it shuts down, or somebody ended our session."""
    return (error.sqlstate or "").startswith(("08", "57P"))


def _where(url: str) -> str:
    """The server and database of a URL, without its password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise StorageUnavailable(
            f"storage.url is not a PostgreSQL address: {error}.".replace("..", ".")
        ) from error
    return f"{parts.get('host') or 'localhost'}/{parts.get('dbname') or 'postgres'}"


def translate(error: psycopg.Error, where: str) -> RecollectError:
    """The error of ours that says the same, with the next step."""
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
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return StorageUnavailable(
                f"PostgreSQL at {where} does not answer ({_first_line(error)}). Nothing was stored; "
                "start it, or mend storage.url, and try again."
            )
        case _:
            return StorageError(
                f"PostgreSQL at {where} could not do it: {_first_line(error)}. Nothing was stored."
            )


def _first_line(error: psycopg.Error) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
