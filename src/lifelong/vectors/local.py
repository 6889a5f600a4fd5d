"""Vectors as rows of the database, whichever it is, with a copy in memory to search in.

Each change to a partition takes the next stamps of its row in `vector_scopes`, which it holds until it commits; so
they become visible in order, and a process that knows a partition up to a stamp reads what is newer and no more. A
removed row stays for a while, without its vector, so that others notice; a process that missed it (`floor`)
reads the whole partition.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lifelong.errors import MemoryClosed
from lifelong.storage.base import Database, Row, Transaction
from lifelong.vectors.base import (
    Near,
    Vector,
    VectorItem,
    VectorPartition,
    ranked,
    unpacked,
    validate_items,
    validate_query,
)

MAX_KEPT_REMOVALS = 10_000  # removed rows that a partition keeps for others to notice


class LocalVectors:
    """`Vectors` over a `Database`. The copy of a partition stays in memory until `clear` or `close`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._copies: dict[VectorPartition, _Copy] = {}
        self._closed = False

    def put(self, partition: VectorPartition, items: Sequence[VectorItem]) -> None:
        ids, rows = validate_items(partition, items)
        blobs = [row.tobytes() for row in rows.astype("<f2")]

        def work(tx: Transaction) -> None:
            scope_id, stamp = _next_stamps(tx, partition, len(ids))
            tx.many(
                "INSERT INTO vectors (scope_id, id, stamp, vector) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (scope_id, id) DO UPDATE SET stamp = excluded.stamp, vector = excluded.vector",
                [(scope_id, id_, stamp + n, blob) for n, (id_, blob) in enumerate(zip(ids, blobs, strict=True))],
            )

        if ids:
            self._open.write(work)

    def remove(self, partition: VectorPartition, ids: Sequence[str]) -> None:
        gone = list(dict.fromkeys(ids))

        def work(tx: Transaction) -> None:
            if _state(tx, partition).stamp:
                scope_id, stamp = _next_stamps(tx, partition, len(gone))
                tx.many(
                    "UPDATE vectors SET vector = NULL, stamp = ? "
                    "WHERE scope_id = ? AND id = ? AND vector IS NOT NULL",
                    [(stamp + n, scope_id, id_) for n, id_ in enumerate(gone)],
                )
                _forget_removed(tx, scope_id)

        if gone:
            self._open.write(work)

    def search(self, partition: VectorPartition, query: Vector, k: int) -> list[Near]:
        row = validate_query(partition, query, k)
        if row is None:
            return []
        with self._lock:
            copy = self._copies.setdefault(partition, _Copy(partition.dims))
        with copy.lock:
            state, start, rows = self._open.read(lambda tx: _newer(tx, partition, copy.known))
            if start < copy.known:
                copy.clear()
            copy.apply(rows, state.stamp)
            return copy.search(row, k)

    def ids(self, partition: VectorPartition) -> list[str]:
        sql = "SELECT id, vector FROM vectors WHERE scope_id = ? AND vector IS NOT NULL"
        rows = self._open.read(lambda tx: tx.all(sql, _state(tx, partition).scope_id))
        vectors = unpacked([blob for _, blob in rows], partition.dims)
        return [id_ for (id_, _), row in zip(rows, vectors, strict=True) if row.any()]  # none that is damaged

    def clear(self, partition: VectorPartition) -> None:
        def work(tx: Transaction) -> None:
            if _state(tx, partition).stamp:
                scope_id, stamp = _next_stamps(tx, partition, 1)
                tx.run("DELETE FROM vectors WHERE scope_id = ?", scope_id)
                tx.run("UPDATE vector_scopes SET floor = ? WHERE id = ?", stamp, scope_id)

        self._open.write(work)
        with self._lock:
            self._copies.pop(partition, None)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._copies.clear()

    @property
    def _open(self) -> Database:
        if self._closed:
            raise MemoryClosed
        return self._database


class _Copy:
    """A partition in memory, as the database had it at the stamp `known`. Whoever uses it holds its lock."""

    def __init__(self, dims: int) -> None:
        self.lock, self._dims = threading.Lock(), dims
        self.clear()

    def clear(self) -> None:
        self.known = 0
        self._nearest = Nearest(self._dims)
        self._ids: list[str] = []  # whose each place is
        self._where: dict[str, int] = {}
        self._alive = np.zeros(0, np.bool_)
        self._free: list[int] = []

    def apply(self, rows: Sequence[Row], stamp: int) -> None:
        """Take in (id, vector) in the order of their stamps; without a vector that is whole, the id is gone."""
        vectors = unpacked([blob or b"" for _, blob in rows], self._dims)
        has = np.count_nonzero(vectors, axis=1) > 0
        for number in np.flatnonzero(~has).tolist():
            if (place := self._where.pop(rows[number][0], None)) is not None:
                self._alive[place] = False
                self._free.append(place)
        for number in np.flatnonzero(has).tolist():
            if (id_ := rows[number][0]) not in self._where:
                place = self._free.pop() if self._free else len(self._ids)
                self._ids[place : place + 1] = [id_]
                self._where[id_] = place
        new = len(self._ids) - len(self._nearest)
        self._nearest.add(np.zeros((new, self._dims), np.float32))
        places = np.array([self._where[id_] for (id_, _), held in zip(rows, has, strict=True) if held], np.intp)
        self._nearest.replace(places, vectors[has])
        self._alive = with_room(self._alive, len(self._ids))
        self._alive[places] = True
        self.known = stamp

    def search(self, query: Vector, k: int) -> list[Near]:
        among = self._alive[: len(self._ids)] if self._free else None
        places, near = self._nearest.search(query, k, among)
        return ranked((self._ids[place], one) for place, one in zip(places, near, strict=True))


class _State(NamedTuple):
    scope_id: int
    stamp: int
    floor: int


def _state(tx: Transaction, partition: VectorPartition) -> _State:
    sql = "SELECT id, stamp, floor FROM vector_scopes WHERE owner = ? AND collection = ? AND embedder = ?"
    return _State(*(tx.one(sql, partition.owner, partition.collection, partition.embedder) or (0, 0, 0)))


def _next_stamps(tx: Transaction, partition: VectorPartition, count: int) -> tuple[int, int]:
    """Return the partition's id and the first of `count` stamps. Others who change the partition wait until this
    transaction has committed."""
    row = tx.one(
        "INSERT INTO vector_scopes (owner, collection, embedder, stamp, floor) VALUES (?, ?, ?, ?, 0) "
        "ON CONFLICT (owner, collection, embedder) DO UPDATE SET stamp = vector_scopes.stamp + excluded.stamp "
        "RETURNING id, stamp",
        *(partition.owner, partition.collection, partition.embedder, count),
    )
    assert row
    return row[0], row[1] - count + 1


def _forget_removed(tx: Transaction, scope_id: int) -> None:
    row = tx.one(
        "SELECT stamp FROM vectors WHERE scope_id = ? AND vector IS NULL ORDER BY stamp DESC LIMIT 1 OFFSET ?",
        *(scope_id, MAX_KEPT_REMOVALS),
    )
    if row:
        tx.run("DELETE FROM vectors WHERE scope_id = ? AND vector IS NULL AND stamp <= ?", scope_id, row[0])
        tx.run("UPDATE vector_scopes SET floor = ? WHERE id = ?", row[0], scope_id)


def _newer(tx: Transaction, partition: VectorPartition, known: int) -> tuple[_State, int, list[Row]]:
    """Return what is newer than `known`; or all, where removals were dropped since, or the database was
    restored."""
    state = _state(tx, partition)
    start = known if state.floor <= known <= state.stamp else 0
    if state.stamp == start:
        return state, start, []
    sql = "SELECT id, vector FROM vectors WHERE scope_id = ? AND stamp > ? ORDER BY stamp"
    return state, start, tx.all(sql, state.scope_id, start)


# Rows of numbers in memory, and how the nearest of them are found

Rows: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]

MAX_EXACT_ROWS = 20_000  # 1.2 ms at 256 dimensions
MIN_CANDIDATES = (
    1_000  # at least, and at least `CANDIDATES_PER_RESULT` for each one asked for; more where a code has few bits
)
CANDIDATES_PER_RESULT = 12
BLOCK_ROWS = 1 << 15  # rows at a time, so that what lies between two steps stays in the cache

_WIDE = np.float32(2.0**112)
_HALF = np.int32(0x8FFFFFFF - (1 << 32))


class Nearest:
    """Rows of length 1 in memory, and which of them are nearest to a query.

    A row of zeros is similar to nothing. Safe to use from many threads; who searches while a row is replaced may
    find it between the two.
    """

    def __init__(self, dims: int) -> None:
        self._lock = threading.Lock()
        self._dims, self._count = dims, 0
        self._rows: NDArray[Any] = np.zeros((0, dims), np.float32)
        self._codes = np.zeros((-(-dims // 64), 0), np.uint64)

    def __len__(self) -> int:
        return self._count

    def add(self, rows: NDArray[Any]) -> int:
        """Append them; the place of the first one."""
        with self._lock:
            start, end = self._count, self._count + len(rows)
            if end > MAX_EXACT_ROWS and self._rows.dtype != np.float16:
                self._rows = self._rows.astype(np.float16)
                self._codes = _codes(self._rows)
            self._rows = with_room(self._rows, end)
            self._rows[start:end] = rows
            if self._rows.dtype == np.float16:
                self._codes = with_room(self._codes, end, axis=1)
                self._codes[:, start:end] = _codes(rows)
            self._count = end
            return start

    def replace(self, places: Rows, rows: NDArray[Any]) -> None:
        with self._lock:
            self._rows[places] = rows
            if self._rows.dtype == np.float16:
                self._codes[:, places] = _codes(rows)

    def rows(self, places: Rows) -> Vector:
        """Return copies of the rows."""
        rows = self._rows[places]
        return np.asarray(rows if rows.dtype == np.float32 else _to_float32(rows) * _WIDE, np.float32)

    def search(self, query: Vector, k: int, among: Mask | None = None) -> tuple[Rows, Vector]:
        """Return the places of the `k` nearest and how similar they are, best first. `among` says of each place
        whether it may be found."""
        with self._lock:
            count = self._count if among is None else min(self._count, len(among))
            rows, codes = self._rows[:count], self._codes[:, :count]
            among = None if among is None else among[:count]
        wanted = max(MIN_CANDIDATES, CANDIDATES_PER_RESULT * k) * max(256, self._dims) // self._dims
        if rows.dtype == np.float16 and wanted < (count if among is None else np.count_nonzero(among)):
            distances = _distances(codes, query)
            if among is not None:
                distances |= np.left_shift(~among, 15, dtype=np.uint16)  # farther than any
            found = np.flatnonzero(distances <= np.partition(distances, wanted)[wanted])
        else:
            found = np.arange(count) if among is None else np.flatnonzero(among)
        near = _similarities(rows, found, query)
        if k < len(found):
            best = np.argpartition(near, len(found) - k)[len(found) - k :]
            found, near = found[best], near[best]
        order = np.lexsort((found, -near))
        return found[order], near[order]


def with_room(array: NDArray[Any], length: int, axis: int = 0) -> NDArray[Any]:
    """Return the array, or a copy with room for `length` and half as much again. Room takes no memory until
    used."""
    if length <= array.shape[axis]:
        return array
    shape = list(array.shape)
    shape[axis] = length + length // 2
    larger = np.zeros(shape, array.dtype)
    larger[tuple(slice(size) for size in array.shape)] = array
    return larger


def _codes(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a column of 64-bit words for each row, so that a word of all rows is contiguous."""
    packed = np.packbits(rows > 0, axis=1)
    words = np.zeros((len(rows), -(-rows.shape[1] // 64) * 8), np.uint8)
    words[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(words.view(np.uint64).T)


def _distances(codes: NDArray[np.uint64], query: Vector) -> NDArray[np.uint16]:
    """Return in how many bits each code differs from the query's; twice for the third of them where it is
    largest."""
    size = np.abs(query)
    large = size >= np.partition(size, -(len(size) // 3 or 1))[-(len(size) // 3 or 1)]
    query_codes, large_codes = _codes(np.array([query, large], np.float32)).T
    distances = np.zeros(codes.shape[1], np.uint16)
    for start in range(0, len(distances), BLOCK_ROWS):
        part = distances[start : start + BLOCK_ROWS]
        for word, bits, weighty in zip(codes, query_codes, large_codes, strict=True):
            differ = word[start : start + BLOCK_ROWS] ^ bits
            part += np.bitwise_count(differ)
            part += np.bitwise_count(differ & weighty)
    return distances


def _similarities(rows: NDArray[Any], places: Rows, query: Vector) -> Vector:
    """`vecdot` and not `@`, which on few cores under load waits 10 ms for its other threads."""
    if rows.dtype == np.float32:
        if 4 * len(places) > len(rows):
            return np.asarray(np.vecdot(rows, query)[places], np.float32)
        return np.asarray(np.vecdot(rows[places], query), np.float32)
    blocks = [places[start : start + BLOCK_ROWS] for start in range(0, len(places) or 1, BLOCK_ROWS)]
    return np.concatenate([np.vecdot(_to_float32(rows[block]), query * _WIDE) for block in blocks])


def _to_float32(halves: NDArray[Any]) -> Vector:
    """Return the numbers over 2^112: their bits, moved to where a float32 has them. Twice as fast as `astype`."""
    bits = halves.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= _HALF
    return bits.view(np.float32)
