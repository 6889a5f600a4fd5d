"""What a deed makes a database do, which is the same on a busy machine and on an idle one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from lifelong.storage.base import Database
from lifelong.storage.sqlite import SQLite

CONNECTIONS = 4  # to PostgreSQL, at most


def work_of(database: Database, deed: Callable[[], object]) -> int:
    """Tens of steps of SQLite's machine, or rows that PostgreSQL reads."""
    if isinstance(database, SQLite):
        database.read(lambda tx: tx.one("SELECT 1"))  # a connection to read by, if there is none yet
        taken = count()
        connections = (database._writer, *database._readers)
        for connection in connections:
            connection.set_progress_handler(lambda: next(taken) < 0, 10)
        deed()
        for connection in connections:
            connection.set_progress_handler(None)
        return next(taken)
    before = _rows_read(database)
    deed()
    return _rows_read(database) - before


def analyze(database: Database, *tables: str) -> None:
    """What PostgreSQL does by itself after many rows came in, and SQLite never."""
    for table in () if isinstance(database, SQLite) else tables:
        database.write(lambda tx, table=table: tx.run(f"ANALYZE {table}"))  # type: ignore[misc]


def _rows_read(database: Database) -> int:
    for _ in range(2 * CONNECTIONS):  # each of them tells what it has done
        database.read(lambda tx: tx.one("SELECT pg_stat_force_next_flush()"))
    total = "SELECT sum(seq_tup_read + COALESCE(idx_tup_fetch, 0)) FROM pg_stat_user_tables"
    return int((database.read(lambda tx: tx.one(f"{total} WHERE schemaname = current_schema()")) or (0,))[0])
