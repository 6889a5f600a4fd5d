"""Rows of numbers in memory, and how the nearest of them are found. numpy and nothing else.

Up to `EXACT` rows each is compared, as 32-bit numbers. Beyond, a row is 16-bit numbers and a code of one bit a
dimension, its sign: the codes that differ least from the query's give the candidates, and these are compared
exactly. A bit where the query is large counts twice: so half as many candidates do.
"""

from __future__ import annotations

import threading
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lifelong.vectors.base import Vector

Places: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]

EXACT = 20_000  # 1.2 ms at 256 dimensions
CANDIDATES = 1_000  # at least, and at least `FOR_EACH` for each one asked for; more where a code has few bits
FOR_EACH = 12
BLOCK = 1 << 15  # rows at a time, so that what lies between two steps stays in the cache

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
            if end > EXACT and self._rows.dtype != np.float16:
                self._rows = self._rows.astype(np.float16)
                self._codes = _codes(self._rows)
            self._rows = roomy(self._rows, end)
            self._rows[start:end] = rows
            if self._rows.dtype == np.float16:
                self._codes = roomy(self._codes, end, axis=1)
                self._codes[:, start:end] = _codes(rows)
            self._count = end
            return start

    def replace(self, places: Places, rows: NDArray[Any]) -> None:
        with self._lock:
            self._rows[places] = rows
            if self._rows.dtype == np.float16:
                self._codes[:, places] = _codes(rows)

    def rows(self, places: Places) -> Vector:
        """Copies of them."""
        rows = self._rows[places]
        return np.asarray(rows if rows.dtype == np.float32 else _widened(rows) * _WIDE, np.float32)

    def search(self, query: Vector, k: int, among: Mask | None = None) -> tuple[Places, Vector]:
        """The places of the `k` nearest and how similar they are, best first. `among` says of each place whether
        it may be found."""
        with self._lock:
            count = self._count if among is None else min(self._count, len(among))
            rows, codes = self._rows[:count], self._codes[:, :count]
            among = None if among is None else among[:count]
        wanted = max(CANDIDATES, FOR_EACH * k) * max(256, self._dims) // self._dims
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


def roomy(array: NDArray[Any], length: int, axis: int = 0) -> NDArray[Any]:
    """The array, or a copy with room for `length` and half as much again. Room takes no memory until used."""
    if length <= array.shape[axis]:
        return array
    shape = list(array.shape)
    shape[axis] = length + length // 2
    larger = np.zeros(shape, array.dtype)
    larger[tuple(slice(size) for size in array.shape)] = array
    return larger


def _codes(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """A column of 64-bit words for each row, so that a word of all rows lies together."""
    packed = np.packbits(rows > 0, axis=1)
    words = np.zeros((len(rows), -(-rows.shape[1] // 64) * 8), np.uint8)
    words[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(words.view(np.uint64).T)


def _distances(codes: NDArray[np.uint64], query: Vector) -> NDArray[np.uint16]:
    """In how many bits each code differs from the query's; twice for the third of them where it is largest."""
    size = np.abs(query)
    large = size >= np.partition(size, -(len(size) // 3 or 1))[-(len(size) // 3 or 1)]
    query_codes, large_codes = _codes(np.array([query, large], np.float32)).T
    distances = np.zeros(codes.shape[1], np.uint16)
    for start in range(0, len(distances), BLOCK):
        part = distances[start : start + BLOCK]
        for word, bits, weighty in zip(codes, query_codes, large_codes, strict=True):
            differ = word[start : start + BLOCK] ^ bits
            part += np.bitwise_count(differ)
            part += np.bitwise_count(differ & weighty)
    return distances


def _similarities(rows: NDArray[Any], places: Places, query: Vector) -> Vector:
    """`vecdot` and not `@`, which on few cores under load waits 10 ms for its other threads."""
    if rows.dtype == np.float32:
        if 4 * len(places) > len(rows):
            return np.asarray(np.vecdot(rows, query)[places], np.float32)
        return np.asarray(np.vecdot(rows[places], query), np.float32)
    blocks = [places[start : start + BLOCK] for start in range(0, len(places) or 1, BLOCK)]
    return np.concatenate([np.vecdot(_widened(rows[block]), query * _WIDE) for block in blocks])


def _widened(halves: NDArray[Any]) -> Vector:
    """The numbers over 2^112: their bits, moved to where a float32 has them. Twice as fast as `astype`."""
    bits = halves.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= _HALF
    return bits.view(np.float32)
