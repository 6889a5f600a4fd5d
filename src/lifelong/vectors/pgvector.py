"""Vectors in PostgreSQL with the extension pgvector: a table with an HNSW index for each number of dimensions.

No process holds any state. `halfvec` holds 16-bit numbers, as the local store does. The index knows nothing of
owners, and goes on searching until enough of what it found is the owner's; the vectors of an owner who has few are
all compared instead.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from lifelong.errors import ConfigError, MemoryClosed, StorageError, StorageUnavailable
from lifelong.storage.base import Database, Param, Row, Transaction
from lifelong.vectors.base import (
    EVERYTHING,
    Vector,
    VectorFilter,
    VectorPartition,
    VectorRow,
    missing_fault,
    orphans_fault,
    validate_query,
    validate_rows,
)

T = TypeVar("T")

MIN_VERSION = (0, 8)  # the first that goes on searching when what it found does not fit
MAX_INDEXED_DIMENSIONS = 4_000  # more, HNSW does not take: all vectors are compared
MAX_EXACT_ROWS = 20_000  # of an owner, that are all compared
SEARCH_CANDIDATES = 200  # how many candidates a search follows: 40, pgvector's own, finds too few
MAX_SCANNED = 200_000  # vectors that a search looks at, of whatever owner
MAX_IDS = 10_000  # in a statement, which takes 65,535 parameters
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
        self._made: set[int] = set()
        self._prefix = _extension(database)

    def put(self, partition: VectorPartition, rows: Sequence[VectorRow]) -> None:
        given, vectors = validate_rows(partition, rows)

        def work(tx: Transaction) -> None:
            if partition.dims not in self._made:
                self._make(tx, partition.dims)
            tx.many(
                f"INSERT INTO {_table(partition)} (owner, embedder, item_id, vector) "
                f"SELECT CAST(? AS TEXT), CAST(? AS TEXT), i.id, CAST(? AS {self._prefix}.halfvec) FROM items i "
                "WHERE i.id = ? FOR KEY SHARE "  # who deletes items waits, and then deletes these vectors
                "ON CONFLICT (owner, embedder, item_id) DO UPDATE SET vector = excluded.vector",
                [
                    (partition.owner, partition.embedder, json.dumps(vector.tolist()), row.id)
                    for row, vector in sorted(zip(given, vectors, strict=True), key=lambda one: one[0].id)
                ],
            )

        if given:
            self._open.write(work)
            self._made.add(partition.dims)

    def nearest(
        self, partition: VectorPartition, query: Vector, k: int, only: VectorFilter = EVERYTHING
    ) -> list[int]:
        row = validate_query(partition, query, k)
        if row is None:
            return []
        which, params = only.conditions()
        joined = "JOIN items i ON i.id = v.item_id " if which else ""
        sql = (
            f"SELECT item_id FROM (SELECT v.item_id, v.vector OPERATOR({self._prefix}.<=>) "
            f"CAST(? AS {self._prefix}.halfvec) AS distance FROM {_table(partition)} v {joined}"
            f"WHERE v.owner = ? AND v.embedder = ?{which} ORDER BY distance LIMIT ?) AS near "
            "ORDER BY round(CAST(distance AS numeric), 6), item_id"
        )

        def work(tx: Transaction) -> list[int]:
            size = tx.one("SELECT size FROM index_state WHERE owner = ?", partition.owner)
            if not size or size[0] <= MAX_EXACT_ROWS:  # the key still finds them, as a bitmap
                tx.one("SELECT set_config('enable_indexscan', 'off', true)")
            tx.one("SELECT set_config('hnsw.ef_search', ?, true)", str(min(max(SEARCH_CANDIDATES, 2 * k), 1_000)))
            tx.one("SELECT set_config('hnsw.iterative_scan', 'strict_order', true)")
            tx.one("SELECT set_config('hnsw.max_scan_tuples', ?, true)", str(MAX_SCANNED))
            asked = json.dumps(row.tolist())
            return [id_ for (id_,) in tx.all(sql, asked, *_key(partition), *params, k)]

        return self._in(partition, work) or []

    def get(self, partition: VectorPartition, ids: Sequence[int]) -> Vector:
        sql = (
            f"SELECT {self._prefix}.halfvec_send(vector), item_id FROM {_table(partition)} "
            "WHERE owner = ? AND embedder = ? AND item_id IN "
        )

        def work(tx: Transaction) -> list[Row]:
            slices = [ids[start : start + MAX_IDS] for start in range(0, len(ids), MAX_IDS)]
            return [
                row
                for some in slices
                for row in tx.all(f"{sql}({', '.join('?' * len(some))})", *_key(partition), *some)
            ]

        rows = self._in(partition, work)
        where = {id_: place for place, id_ in enumerate(ids)}
        vectors = np.zeros((len(ids), partition.dims), np.float32)
        for packed, id_ in rows or []:
            vectors[where[id_]] = np.frombuffer(packed, ">f2", offset=4)
        return vectors

    def remove(self, partition: VectorPartition, ids: Sequence[int]) -> None:
        sql = f"DELETE FROM {_table(partition)} WHERE owner = ? AND embedder = ? AND item_id = ?"
        rows: list[tuple[Param, ...]] = [(*_key(partition), id_) for id_ in sorted(set(ids))]
        self._in(partition, lambda tx: tx.many(sql, rows), writing=True)

    def ids(self, partition: VectorPartition) -> list[int]:
        sql = f"SELECT item_id FROM {_table(partition)} WHERE owner = ? AND embedder = ?"
        return [row[0] for row in self._in(partition, lambda tx: tx.all(sql, *_key(partition))) or []]

    def clear(self, partition: VectorPartition) -> None:
        sql = f"DELETE FROM {_table(partition)} WHERE owner = ? AND embedder = ?"
        self._in(partition, lambda tx: tx.run(sql, *_key(partition)), writing=True)

    def maintain(self, partition: VectorPartition) -> None:
        """Do nothing: the database keeps its index."""

    def verify(self, partition: VectorPartition, ids: Sequence[int]) -> list[str]:
        sql = (
            f"SELECT v.item_id, i.id FROM {_table(partition)} v LEFT JOIN items i ON i.id = v.item_id "
            "WHERE v.owner = ? AND v.embedder = ?"
        )
        there = self._in(partition, lambda tx: tx.all(sql, *_key(partition))) or []
        orphans = sum(item is None for _, item in there)
        return missing_fault(len({*ids} - {row[0] for row in there})) + orphans_fault(orphans)

    def close(self) -> None:
        self._closed = True

    def _in(
        self, partition: VectorPartition, work: Callable[[Transaction], T], *, writing: bool = False
    ) -> T | None:
        """Run `work`; none where nothing was ever put in the table."""

        def if_made(tx: Transaction) -> T | None:
            return work(tx) if partition.dims in self._made or _is_made(tx, partition.dims) else None

        return (self._open.write if writing else self._open.read)(if_made)

    @property
    def _open(self) -> Database:
        if self._closed:
            raise MemoryClosed
        return self._database

    def _make(self, tx: Transaction, dims: int) -> None:
        tx.one("SELECT pg_advisory_xact_lock(?)", TABLE_LOCK)
        if _is_made(tx, dims):
            return
        table = f"vectors_{dims}"
        tx.run(
            f"CREATE TABLE {table} (owner TEXT NOT NULL, embedder TEXT NOT NULL, item_id BIGINT NOT NULL, "
            f"vector {self._prefix}.halfvec({dims}) NOT NULL, PRIMARY KEY (owner, embedder, item_id))"
        )
        if dims <= MAX_INDEXED_DIMENSIONS:
            tx.run(f"CREATE INDEX ON {table} USING hnsw (vector {self._prefix}.halfvec_cosine_ops)")


def _key(partition: VectorPartition) -> tuple[str, str]:
    return partition.owner, partition.embedder


def _table(partition: VectorPartition) -> str:
    return f"vectors_{partition.dims}"


def _is_made(tx: Transaction, dims: int) -> bool:
    """Return whether the table exists in our schema; `public`, where names are looked up too, may belong to
    another home."""
    sql = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?"
    return tx.one(sql, f"vectors_{dims}") is not None


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
