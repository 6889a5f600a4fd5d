"""Schemas of PostgreSQL for one test after the other: making one takes longer than most tests do."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from psycopg import sql

from lifelong.storage.postgres import Postgres

MAX_USES = 50  # then its files hold more dead rows than is good for the next test

SHAPE = """
    WITH relations AS (SELECT oid, xmin FROM pg_class WHERE relnamespace = CAST(%(schema)s AS regnamespace))
    SELECT 'relation', oid, xmin FROM relations
    UNION ALL SELECT 'column', attrelid, a.xmin FROM pg_attribute a JOIN relations ON attrelid = relations.oid
    UNION ALL SELECT 'rule', c.oid, c.xmin FROM pg_constraint c JOIN relations ON conrelid = relations.oid
    UNION ALL SELECT 'trigger', t.oid, t.xmin FROM pg_trigger t JOIN relations ON tgrelid = relations.oid
    UNION ALL SELECT 'function', oid, xmin FROM pg_proc WHERE pronamespace = CAST(%(schema)s AS regnamespace)
"""
"""What a schema has besides rows, and the transaction that last changed each."""


@dataclass(frozen=True)
class _Schema:
    name: str
    shape: list[tuple[object, ...]]
    to_empty: sql.Composed
    uses: int = 1


class Schemas:
    """The schemas of one server. Each is lent to one test at a time, with all tables and without a row."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection = psycopg.connect(url, autocommit=True)
        self._connection.execute("SET lock_timeout = '1s'")
        self._connection.execute("SET session_replication_role = replica")  # rows are deleted in any order
        self._numbers = itertools.count(1)
        self._free: list[_Schema] = []

    def new_name(self) -> str:
        """The name of a schema that is not there yet."""
        return f"test_{next(self._numbers)}"

    @contextmanager
    def lent(self) -> Iterator[str]:
        schema = self._free.pop() if self._free else self._make()
        yield schema.name
        if schema.uses < MAX_USES and self._emptied(schema):
            self._free.append(_Schema(schema.name, schema.shape, schema.to_empty, schema.uses + 1))

    def close(self) -> None:
        self._connection.close()

    def _make(self) -> _Schema:
        name = self.new_name()
        Postgres(self._url, schema=name, pool_size=1).close()
        tables = self._names("SELECT tablename FROM pg_tables WHERE schemaname = %s", name)
        sequences = self._names("SELECT sequencename FROM pg_sequences WHERE schemaname = %s", name)
        to_empty = [
            *(
                sql.SQL("DELETE FROM {}").format(sql.Identifier(name, table))
                for table in tables
                if table != "lifelong_migrations"
            ),
            *(
                sql.SQL("SELECT setval({}, 1, false)").format(sql.Literal(f"{name}.{sequence}"))
                for sequence in sequences
            ),
        ]
        return _Schema(name, self._shape(name), sql.SQL("; ").join(to_empty))

    def _emptied(self, schema: _Schema) -> bool:
        """Delete all rows; false where more than rows was changed, or a test that failed still holds some."""
        if self._shape(schema.name) != schema.shape:
            return False
        try:
            self._connection.execute(schema.to_empty)
        except psycopg.errors.LockNotAvailable:
            return False
        return True

    def _shape(self, name: str) -> list[tuple[object, ...]]:
        return sorted(self._connection.execute(SHAPE, {"schema": name}))

    def _names(self, query: str, schema: str) -> list[str]:
        return [row[0] for row in self._connection.execute(query.encode(), (schema,))]
