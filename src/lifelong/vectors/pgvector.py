"""Vectors in PostgreSQL with the extension pgvector: an HNSW index for each partition.

A partition is a table of its own, made with its first vector, so that an index never has to look past other
partitions' vectors. Its comment says whose it is. `halfvec` holds 16-bit numbers, as the local store does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import TypeVar

from lifelong.errors import ConfigError, MemoryClosed, StorageError, StorageUnavailable
from lifelong.storage.base import NO_LIMIT, Database, Transaction
from lifelong.vectors.base import Near, Vector, VectorItem, VectorPartition, ranked, validate_items, validate_query

T = TypeVar("T")

MIN_VERSION = (0, 8)  # the first that goes on searching when what it found is gone
MAX_INDEXED_DIMENSIONS = 4_000  # more, HNSW does not take: such a partition is searched one by one
SEARCH_CANDIDATES = 200  # how many candidates a search follows: 40, pgvector's own, finds too few
TABLE_LOCK = 0x4C464C56  # one process makes a table at a time


class PgVectors:
    """`Vectors` over a PostgreSQL `Database`."""

    def __init__(self, database: Database) -> None:
        if database.dialect != "postgres":
            raise ConfigError(
                "vectors.store is 'pgvector', but the database is SQLite. Set storage.url, or store 'local'."
            )
        self._database = database
        self._closed = False
        self._made: set[VectorPartition] = set()
        self._prefix = _extension(database)

    def put(self, partition: VectorPartition, items: Sequence[VectorItem]) -> None:
        ids, rows = validate_items(partition, items)

        def work(tx: Transaction) -> None:
            if partition not in self._made:
                self._make(tx, partition)
            tx.many(
                f"INSERT INTO {_table(partition)} (id, vector) VALUES (?, CAST(? AS {self._prefix}.halfvec)) "
                "ON CONFLICT (id) DO UPDATE SET vector = excluded.vector",
                sorted((id_, _text(row)) for id_, row in zip(ids, rows, strict=True)),
            )

        if ids:
            self._open.write(work)
            self._made.add(partition)

    def remove(self, partition: VectorPartition, ids: Sequence[str]) -> None:
        sql = f"DELETE FROM {_table(partition)} WHERE id = ?"
        rows = [(id_,) for id_ in sorted(set(ids))]
        self._in(partition, lambda tx: tx.many(sql, rows), writing=True)

    def search(self, partition: VectorPartition, query: Vector, k: int) -> list[Near]:
        row = validate_query(partition, query, k)
        if row is None:
            return []
        sql = (
            f"SELECT id, 1 - distance FROM (SELECT id, vector OPERATOR({self._prefix}.<=>) "
            f"CAST(? AS {self._prefix}.halfvec) AS distance FROM {_table(partition)} "
            f"ORDER BY distance LIMIT {min(k, NO_LIMIT)}) AS near"
        )

        def work(tx: Transaction) -> list[Near]:
            tx.one("SELECT set_config('hnsw.ef_search', ?, true)", str(min(max(SEARCH_CANDIDATES, 2 * k), 1_000)))
            tx.one("SELECT set_config('hnsw.iterative_scan', 'strict_order', true)")
            return ranked(tx.all(sql, _text(row)))

        return self._in(partition, work) or []

    def ids(self, partition: VectorPartition) -> list[str]:
        sql = f"SELECT id FROM {_table(partition)}"
        return [id_ for (id_,) in self._in(partition, lambda tx: tx.all(sql)) or []]

    def clear(self, partition: VectorPartition) -> None:
        sql = f"DELETE FROM {_table(partition)}"
        self._in(partition, lambda tx: tx.run(sql), writing=True)

    def close(self) -> None:
        self._closed = True

    def _in(
        self, partition: VectorPartition, work: Callable[[Transaction], T], *, writing: bool = False
    ) -> T | None:
        """Run `work`; none where nothing was ever put in the partition."""

        def if_made(tx: Transaction) -> T | None:
            return work(tx) if partition in self._made or _is_made(tx, partition) else None

        return (self._open.write if writing else self._open.read)(if_made)

    @property
    def _open(self) -> Database:
        if self._closed:
            raise MemoryClosed
        return self._database

    def _make(self, tx: Transaction, partition: VectorPartition) -> None:
        tx.one("SELECT pg_advisory_xact_lock(?)", TABLE_LOCK)
        if _is_made(tx, partition):
            return
        table, title = _table(partition), _title(partition).replace("'", "''").replace("?", "\\u003f")
        tx.run(
            f"CREATE TABLE {table} (id TEXT PRIMARY KEY, vector {self._prefix}.halfvec({partition.dims}) NOT NULL)"
        )
        tx.run(f"COMMENT ON TABLE {table} IS '{title}'")
        if partition.dims <= MAX_INDEXED_DIMENSIONS:
            tx.run(f"CREATE INDEX ON {table} USING hnsw (vector {self._prefix}.halfvec_cosine_ops)")


def _title(partition: VectorPartition) -> str:
    return json.dumps([partition.owner, partition.collection, partition.embedder])


def _table(partition: VectorPartition) -> str:
    return f"vectors_{hashlib.sha256(_title(partition).encode()).hexdigest()[:40]}"


def _is_made(tx: Transaction, partition: VectorPartition) -> bool:
    """Return whether the table exists in our schema; `public`, where names are looked up too, may belong to
    another home."""
    sql = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?"
    return tx.one(sql, _table(partition)) is not None


def _text(row: Vector) -> str:
    return json.dumps(row.tolist())


def _extension(database: Database) -> str:
    """Return the schema of pgvector, quoted. Where it is not in the database, it is installed."""
    if not (found := database.read(_installed)):
        if not database.read(lambda tx: tx.one("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'")):
            raise StorageUnavailable(
                "This PostgreSQL server has no pgvector. Install it there (a package such as "
                "postgresql-18-pgvector), or keep vectors in the local store."
            )
        try:
            found = database.write(_install)
        except StorageError as error:
            raise StorageUnavailable(
                "pgvector is on the server but not in this database, and could not be put there. Have an "
                f"administrator run CREATE EXTENSION vector in it. ({error})"
            ) from error
    schema, version = found
    if tuple(int(part) for part in version.split(".")[:2]) < MIN_VERSION:
        raise StorageUnavailable(
            f"pgvector {version} is too old; {MIN_VERSION[0]}.{MIN_VERSION[1]} or later is needed. Install it on "
            "the server, then run ALTER EXTENSION vector UPDATE."
        )
    return schema


def _install(tx: Transaction) -> tuple[str, str]:
    tx.one("SELECT pg_advisory_xact_lock(?)", TABLE_LOCK)
    tx.run("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
    return _installed(tx) or ("public", "0.0")


def _installed(tx: Transaction) -> tuple[str, str] | None:
    row = tx.one(
        "SELECT quote_ident(n.nspname), e.extversion FROM pg_extension e "
        "JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
    )
    return (row[0], row[1]) if row else None
