"""Vectors at rest: a segment is a file of a partition's vectors that is mapped, searched, and never changed.

A segment has the rows whose numbers are above `first` and up to `last`, in the order of their ids:

    header   64 bytes: what is in it, and two checksums
    columns  the ids, times, agents (as hashes) and kinds of the items; a code for each vector: one bit for each
             dimension, whether it is above the mean of the segment
    rows     the vectors, 16 bits a part

A code takes a sixteenth of a vector, so a search compares all codes, and the vectors of the best only. Mapped
pages are shared by all processes, and the system takes them back when it needs them.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from lifelong.types import ITEM_KINDS
from lifelong.vectors.base import Vector, VectorFilter

Places: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]

MIN_CANDIDATES = 1_000  # whose vectors are compared; more where a code has few bits
CANDIDATES_PER_RESULT = 12  # if that makes more
BLOCK_ROWS = 1 << 15  # rows at a time, so that what lies between two steps stays in the cache

_MAGIC = b"lifelong"
_HEADER = struct.Struct("<8sqqqqqII8x")
_WIDE = np.float32(2.0**112)
_HALF = np.int32(0x8FFFFFFF - (1 << 32))


class SegmentDamaged(Exception):
    """The file is not a whole segment."""


class SegmentName(NamedTuple):
    """What the name of a segment's file says: which version of the partition it belongs to, and its numbers."""

    version: int
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.version:x}-{self.first}-{self.last}.segment"

    @classmethod
    def parse(cls, name: str) -> SegmentName | None:
        stem, _, ending = name.partition(".")
        parts = stem.split("-")
        if ending != "segment" or len(parts) != 3:
            return None
        try:
            found = cls(int(parts[0], 16), int(parts[1]), int(parts[2]))
        except ValueError:
            return None
        return found if str(found) == name else None


@dataclass(frozen=True, slots=True)
class Block:
    """Vectors and what they can be filtered by, in the order of their ids. A row of zeros is similar to nothing.
    Without codes, every row is compared."""

    ids: NDArray[np.int64]
    ats: NDArray[np.int64]
    agents: NDArray[np.uint64]
    kinds: NDArray[np.uint8]
    rows: NDArray[np.float16]
    codes: NDArray[np.uint64] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, which: Places | Mask) -> Block:
        """Return some of the rows, without codes."""
        return Block(self.ids[which], self.ats[which], self.agents[which], self.kinds[which], self.rows[which])

    def followed_by(self, other: Block) -> Block:
        """Return the rows of both, as they follow each other, without codes."""
        return Block(
            np.concatenate([self.ids, other.ids]),
            np.concatenate([self.ats, other.ats]),
            np.concatenate([self.agents, other.agents]),
            np.concatenate([self.kinds, other.kinds]),
            np.concatenate([self.rows, other.rows]),
        )

    def places(self, ids: NDArray[np.int64]) -> tuple[Places, Mask]:
        """Return where these ids are, and which of them are there at all."""
        if not len(self.ids):
            return np.zeros(len(ids), np.intp), np.zeros(len(ids), np.bool_)
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return places, np.asarray(self.ids[places] == ids)

    def vectors(self, places: Places) -> Vector:
        return np.asarray(_to_float32(self.rows[places]) * _WIDE, np.float32)

    def nearest(self, query: Vector, k: int, only: VectorFilter) -> tuple[NDArray[np.int64], Vector]:
        """Return the ids of the `k` nearest that pass the filter, and how similar they are, in any order."""
        fits = self._fits(only)
        count = len(self) if fits is None else int(np.count_nonzero(fits))
        wanted = max(MIN_CANDIDATES, CANDIDATES_PER_RESULT * k) * max(256, len(query)) // len(query)
        if self.codes is not None and wanted < count:
            distances = _distances(self.codes, query)
            if fits is not None:
                distances |= np.left_shift(~fits, 15, dtype=np.uint16)  # farther than any
            farthest = np.searchsorted(np.cumsum(np.bincount(distances)), wanted)  # quicker than to sort them
            found = np.flatnonzero(distances <= farthest)
        else:
            found = np.arange(len(self)) if fits is None else np.flatnonzero(fits)
        near = _similarities(self.rows, found, query)
        if k < len(found):
            best = np.argpartition(near, len(found) - k)[len(found) - k :]
            found, near = found[best], near[best]
        if self.codes is not None:
            left = self.rows[found].any(axis=1)  # not those that were removed
            found, near = found[left], near[left]
        return self.ids[found], near

    def _fits(self, only: VectorFilter) -> Mask | None:
        """Return which rows pass the filter; none where all do."""
        masks: list[Mask] = []
        if only.kinds:
            masks.append(np.isin(np.arange(len(ITEM_KINDS)), [*map(ITEM_KINDS.index, only.kinds)])[self.kinds])
        if only.agent_id:
            masks.append(self.agents == agent_hash(only.agent_id))
        if only.since is not None:
            masks.append(self.ats >= only.since)
        if only.until is not None:
            masks.append(self.ats < only.until)
        return np.logical_and.reduce(masks) if masks else None


@lru_cache(maxsize=4_096)
def agent_hash(agent_id: str) -> np.uint64:
    """Return a number for an agent, by which rows are filtered."""
    return np.uint64(int.from_bytes(blake2b(agent_id.encode(), digest_size=8).digest(), "little"))


class Segment:
    """A segment's file, mapped. The file may be deleted while it is mapped."""

    def __init__(self, path: Path, name: SegmentName, dims: int) -> None:
        """Map a file. Raise `SegmentDamaged` where it is not whole, as far as that is seen without reading the
        vectors (see `is_whole`)."""
        try:
            with path.open("rb") as file:
                self._file_id = _file_id(os.fstat(file.fileno()))
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as error:  # an empty file cannot be mapped
            raise SegmentDamaged(str(error)) from error
        if len(self._bytes) < _HEADER.size:
            raise SegmentDamaged("It is too short.")
        magic, *says, count, found_dims, columns, self._rows_checksum = _HEADER.unpack_from(self._bytes)
        start, size = _layout(count, dims)[-2:]
        if magic != _MAGIC or (*says, found_dims) != (*name, dims) or count < 0 or len(self._bytes) != size:
            raise SegmentDamaged("Its header is wrong.")
        self._rows_start = start
        if crc32(memoryview(self._bytes)[_HEADER.size : start]) != columns:
            raise SegmentDamaged("Its columns are wrong.")
        self.name = name
        self.block = Block(*_arrays(self._bytes, count, dims))

    def is_at(self, path: Path) -> bool:
        """Return whether the file there is the one that is mapped, and not one that was made again since."""
        try:
            return _file_id(path.stat()) == self._file_id
        except OSError:
            return False

    def is_whole(self) -> bool:
        """Read all vectors, and return whether they are those that were written."""
        return crc32(memoryview(self._bytes)[self._rows_start :]) == int(self._rows_checksum)


class SegmentWriter:
    """Write a segment: rows in any order, of two with one id the last counts; then `finish` gives it its name.
    Raise `OSError` where there is no space for it: to write into a mapped hole on a full disk ends the process."""

    def __init__(self, folder: Path, name: SegmentName, dims: int, ids: NDArray[np.int64]) -> None:
        self._path, self._name, self._dims = folder / f"{name}.tmp", name, dims
        self._ids = np.unique(ids)
        self._start, size = _layout(len(self._ids), dims)[-2:]
        try:
            with self._path.open("wb+") as file:
                self._path.chmod(0o600)
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    file.truncate(size)
                self._bytes = mmap.mmap(file.fileno(), 0)
        except OSError:
            self.discard()
            raise
        self._block = Block(*_arrays(self._bytes, len(self._ids), dims))
        self._block.ids[:] = self._ids

    def add(self, block: Block) -> None:
        places, known = self._block.places(block.ids)
        places = places[known]
        for column in ("ats", "agents", "kinds", "rows"):
            getattr(self._block, column)[places] = getattr(block, column)[known]

    def discard(self) -> None:
        """Delete what was written."""
        self._path.unlink(missing_ok=True)

    def finish(self) -> None:
        """Compute codes and checksums, and give the file its name once it is durable."""
        rows, codes = self._block.rows, self._block.codes
        total, count = np.zeros(self._dims), 0
        for start in range(0, len(rows), BLOCK_ROWS):
            some = rows[start : start + BLOCK_ROWS].astype(np.float32)
            total += some.sum(axis=0, dtype=np.float64)
            count += int(np.count_nonzero(some.any(axis=1)))
        mean = (total / max(count, 1)).astype(np.float32)
        assert codes is not None, "a segment has codes"
        for start in range(0, len(rows), BLOCK_ROWS):
            some = rows[start : start + BLOCK_ROWS].astype(np.float32)
            codes[:, start : start + BLOCK_ROWS] = _codes(some - mean)
        view = memoryview(self._bytes)
        checksums = crc32(view[_HEADER.size : self._start]), crc32(view[self._start :])
        _HEADER.pack_into(self._bytes, 0, _MAGIC, *self._name, len(rows), self._dims, *checksums)
        self._bytes.flush()
        with self._path.open("rb+") as file:
            os.fsync(file.fileno())
        self._path.replace(self._path.with_name(str(self._name)))


def overwrite(path: Path, ids: NDArray[np.int64], dims: int) -> None:
    """Replace the vectors of these items in a segment's file by zeros, which are similar to nothing, durable on
    return. A damaged file is deleted: it is made again."""
    try:
        with path.open("rb+") as file, mmap.mmap(file.fileno(), 0) as buffer:
            count, found_dims = _HEADER.unpack_from(buffer)[4:6] if len(buffer) >= _HEADER.size else (-1, dims)
            start, size = _layout(max(count, 0), dims)[-2:]
            if count < 0 or found_dims != dims or len(buffer) != size:
                raise SegmentDamaged("Its header is wrong.")  # noqa: TRY301
            _zero(buffer, ids, count, dims, start)
            buffer.flush()
            os.fsync(file.fileno())
    except FileNotFoundError:
        return
    except (SegmentDamaged, ValueError):
        path.unlink(missing_ok=True)


def _zero(buffer: mmap.mmap, ids: NDArray[np.int64], count: int, dims: int, start: int) -> None:
    block = Block(*_arrays(buffer, count, dims))
    places, known = block.places(ids)
    if not known.any():
        return
    assert block.codes is not None, "a segment has codes"
    block.rows[places[known]] = 0
    block.codes[:, places[known]] = 0
    view = memoryview(buffer)
    checksums = crc32(view[_HEADER.size : start]), crc32(view[start:])
    view.release()
    _HEADER.pack_into(buffer, 0, *_HEADER.unpack_from(buffer)[:6], *checksums)


def _file_id(status: os.stat_result) -> tuple[int, int]:
    """Return what tells a file from others. No other gets its number while it is mapped."""
    return status.st_dev, status.st_ino


def _layout(count: int, dims: int) -> tuple[int, int, int, int, int, int, int]:
    """Return where ids, times, agents, kinds, codes and rows begin, and where the file ends."""
    words = -(-dims // 64)
    ends = [_HEADER.size]
    for size in (8 * count, 8 * count, 8 * count, -(-count // 8) * 8, 8 * words * count, 2 * dims * count):
        ends.append(ends[-1] + size)
    return ends[0], ends[1], ends[2], ends[3], ends[4], ends[5], ends[6]


def _arrays(buffer: mmap.mmap, count: int, dims: int) -> tuple[Any, ...]:
    """Return the columns of a block, as they lie in a file."""
    ids, ats, agents, kinds, codes, rows, _ = _layout(count, dims)
    words = -(-dims // 64)
    return (
        np.frombuffer(buffer, "<i8", count, ids),
        np.frombuffer(buffer, "<i8", count, ats),
        np.frombuffer(buffer, "<u8", count, agents),
        np.frombuffer(buffer, np.uint8, count, kinds),
        np.frombuffer(buffer, "<f2", count * dims, rows).reshape(count, dims),
        np.frombuffer(buffer, "<u8", count * words, codes).reshape(words, count),
    )


# How the nearest are found


def _codes(rows: Vector) -> NDArray[np.uint64]:
    """Return a column of 64-bit words for each row, so that a word of all rows is contiguous."""
    packed = np.packbits(rows > 0, axis=1)
    words = np.zeros((len(rows), -(-rows.shape[1] // 64) * 8), np.uint8)
    words[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(words.view("<u8").T)


def _distances(codes: NDArray[np.uint64], query: Vector) -> NDArray[np.uint16]:
    """Return in how many bits each code differs from the query's; twice for the third of them where it is
    largest. The query is not centred: similarity adds up the query's parts times the vectors', and the mean's
    share of that is the same for all."""
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


def _similarities(rows: NDArray[np.float16], places: Places, query: Vector) -> Vector:
    """`vecdot` and not `@`, which on few cores under load waits 10 ms for its other threads."""
    blocks = [places[start : start + BLOCK_ROWS] for start in range(0, len(places) or 1, BLOCK_ROWS)]
    return np.concatenate([np.vecdot(_to_float32(rows[block]), query * _WIDE) for block in blocks])


def _to_float32(halves: NDArray[np.float16]) -> Vector:
    """Return the numbers over 2^112: their bits, moved to where a float32 has them. Twice as fast as `astype`."""
    bits = halves.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= _HALF
    return bits.view(np.float32)


def unpacked(blobs: Sequence[object], dims: int) -> NDArray[np.float16]:
    """Return vectors as rows of a database have them, 16 bits a part; zeros for damaged ones."""
    whole = (blob if isinstance(blob, bytes) and len(blob) == 2 * dims else bytes(2 * dims) for blob in blobs)
    rows = np.frombuffer(b"".join(whole), "<f2").reshape(-1, dims).copy()
    rows[~np.isfinite(rows).all(axis=1)] = 0
    return rows
