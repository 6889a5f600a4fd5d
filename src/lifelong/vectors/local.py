"""Vectors as rows of the database, whichever it is, and as segments: files in the user's folder, made of the rows.

Each row has a number, in the order of which rows become visible: the owner's row in `index_state` is locked from
the moment a number is handed out until it is committed. Segments follow each other by these numbers without a gap;
the rows above the last segment's, the tail, are read from the database and kept in memory while they are used.

Segments are derived. A damaged one is deleted; what it held is then a part of the tail, of which `maintain`, or a
search that would have to read too much, makes the next segment. `version` in `index_state` says which segments
count: when all are made again, it changes, and those of another version are deleted. A vector that is removed is
overwritten in the segments.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lifelong.disk import make_folder
from lifelong.errors import MemoryClosed
from lifelong.storage.base import NO_LIMIT, Database, Row, Transaction
from lifelong.types import ITEM_KINDS
from lifelong.vectors.base import (
    EVERYTHING,
    Vector,
    VectorFilter,
    VectorPartition,
    VectorRow,
    have_direction,
    missing_fault,
    orphans_fault,
    validate_query,
    validate_rows,
)
from lifelong.vectors.numbering import next_numbers
from lifelong.vectors.segments import (
    Block,
    Segment,
    SegmentDamaged,
    SegmentName,
    SegmentWriter,
    agent_hash,
    overwrite,
    unpacked,
)

log = logging.getLogger("lifelong.recall")

SEGMENT_ROWS = 4_000  # rows in no segment of which one is made; a search makes one of twice as many
MERGE_RATIO = 3  # a segment that is not this many times larger than what follows it is merged with that
ROWS_PER_READ = 10_000  # when a segment is made
MAX_CACHED_BYTES = 16 << 20  # of all tails together
MAX_OPEN_PARTITIONS = 200  # whose tails are kept
MAX_OPEN_SEGMENTS = 64  # of all partitions together: a mapped file takes a descriptor, and a process has few
LOCK_SECONDS = 60.0  # that another process may take to write a segment
DELETED_PER_WRITE = 1_000  # rows: other writers wait as long

_ROWS = (
    "SELECT v.number, v.item_id, i.at, i.agent_id, i.kind, v.vector FROM item_vectors v "
    "JOIN items i ON i.id = v.item_id WHERE v.owner = ? AND v.embedder_id = ? AND v.number > ? AND v.number <= ? "
    "ORDER BY v.number LIMIT ?"
)


class LocalVectors:
    """`Vectors` over a `Database`. `folder` returns the folder of an owner's segments; each embedder gets one of
    its own in there, once there are enough vectors. Of many partitions, those stay open that were used last."""

    def __init__(self, database: Database, folder: Callable[[str], Path]) -> None:
        self._database = database
        self._folder = folder
        self._lock = threading.Lock()
        self._partitions: OrderedDict[VectorPartition, _Partition] = OrderedDict()
        self._checked: set[Path] = set()
        self._closed = False

    def put(self, partition: VectorPartition, rows: Sequence[VectorRow]) -> None:
        given, vectors = validate_rows(partition, rows)
        blobs = [row.tobytes() for row in vectors.astype("<f2")]

        def work(tx: Transaction) -> None:
            tx.run(
                "INSERT INTO embedders (identity) VALUES (?) ON CONFLICT (identity) DO NOTHING", partition.embedder
            )
            first = next_numbers(tx, partition.owner, len(given))
            embedder = embedder_id(tx, partition)
            tx.many(
                "INSERT INTO item_vectors (embedder_id, item_id, owner, number, vector) "
                "SELECT CAST(? AS BIGINT), i.id, i.owner, CAST(? AS BIGINT), ? FROM items i "
                "WHERE i.id = ? AND i.owner = ? ON CONFLICT (embedder_id, item_id) "
                "DO UPDATE SET number = excluded.number, vector = excluded.vector",
                [
                    (embedder, first + place, blobs[place], row.id, partition.owner)
                    for place, row in enumerate(given)
                ],
            )

        if given:
            self._open.write(work)

    def nearest(
        self, partition: VectorPartition, query: Vector, k: int, only: VectorFilter = EVERYTHING
    ) -> list[int]:
        row = validate_query(partition, query, k)
        if row is None:
            return []
        found = [block.nearest(row, k, only) for block in self._blocks(partition)]
        ids, near = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.lexsort((ids, -near.round(6)))
        return list(dict.fromkeys(ids[order].tolist()))[:k]

    def get(self, partition: VectorPartition, ids: Sequence[int]) -> Vector:
        wanted = np.array(ids, np.int64)
        vectors = np.zeros((len(wanted), partition.dims), np.float32)
        for block in self._blocks(partition):
            places, known = block.places(wanted)
            vectors[known] = block.vectors(places[known])
        return vectors

    def remove(self, partition: VectorPartition, ids: Sequence[int]) -> None:
        gone = sorted(set(ids))

        def work(tx: Transaction) -> None:
            number = embedder_id(tx, partition)
            tx.many(
                "DELETE FROM item_vectors WHERE embedder_id = ? AND item_id = ? AND owner = ?",
                [(number, id_, partition.owner) for id_ in gone],
            )
            tx.run("UPDATE index_state SET removals = removals + 1 WHERE owner = ?", partition.owner)

        self._open.write(work)
        self._writer(partition).overwrite(gone)

    def clear(self, partition: VectorPartition) -> None:
        def work(tx: Transaction) -> int:
            rows = tx.all(
                "SELECT embedder_id, item_id FROM item_vectors WHERE owner = ? AND embedder_id = ? LIMIT ?",
                *(partition.owner, embedder_id(tx, partition), DELETED_PER_WRITE),
            )
            tx.many("DELETE FROM item_vectors WHERE embedder_id = ? AND item_id = ?", rows)
            return len(rows)

        if self._open.read(lambda tx: _count(tx, partition, 0, 1)):
            while self._open.write(work):
                pass
            self._open.write(lambda tx: _outdate(tx, partition.owner))
        with self._lock:
            self._partitions.pop(partition, None)
        folder = self._partition_folder(partition)
        for name in _names(folder):
            _delete(folder / str(name))

    def maintain(self, partition: VectorPartition) -> None:
        """Make a segment of the tail where it is long enough, and check those that nobody checked yet. Searches do
        not wait for it: they notice the new file."""
        self._writer(partition).maintain(self._open)

    def verify(self, partition: VectorPartition, ids: Sequence[int]) -> list[str]:
        def read(tx: Transaction) -> tuple[list[Row], int]:
            rows = tx.all(
                "SELECT item_id, vector FROM item_vectors WHERE owner = ? AND embedder_id = ?",
                *(partition.owner, embedder_id(tx, partition)),
            )
            orphans = tx.one(
                "SELECT count(*) FROM item_vectors v LEFT JOIN items i ON i.id = v.item_id WHERE i.id IS NULL"
            )
            return rows, orphans[0] if orphans else 0

        rows, orphans = self._open.read(read)
        whole = have_direction(unpacked([row[1] for row in rows], partition.dims))
        missing = {*ids} - {row[0] for row, is_whole in zip(rows, whole, strict=True) if is_whole}
        faults = missing_fault(len(missing)) + orphans_fault(orphans)
        if damaged := self._writer(partition).check_segments(self._open):
            faults.append(f"{damaged:,} files of vectors were damaged. They are made again from the database.")
        return faults

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._partitions.clear()

    def _blocks(self, partition: VectorPartition) -> list[Block]:
        mine = self._partition(partition)
        blocks = mine.blocks(self._open)
        with self._lock:
            excess = sum(one.cached_bytes for one in self._partitions.values()) - MAX_CACHED_BYTES
            mapped = sum(one.mapped for one in self._partitions.values()) - MAX_OPEN_SEGMENTS
            while (excess > 0 or mapped > 0) and len(self._partitions) > 1:
                _, least_used = self._partitions.popitem(last=False)
                excess -= least_used.cached_bytes
                mapped -= least_used.mapped
        return blocks

    def _partition(self, partition: VectorPartition) -> _Partition:
        with self._lock:
            if self._closed:
                raise MemoryClosed
            if partition not in self._partitions:
                self._partitions[partition] = self._writer(partition)
            self._partitions.move_to_end(partition)
            if len(self._partitions) > MAX_OPEN_PARTITIONS:
                self._partitions.popitem(last=False)
            return self._partitions[partition]

    def _writer(self, partition: VectorPartition) -> _Partition:
        return _Partition(partition, self._partition_folder(partition), self._checked)

    def _partition_folder(self, partition: VectorPartition) -> Path:
        name = blake2b(partition.embedder.encode(), digest_size=8).hexdigest()
        return self._folder(partition.owner) / name

    @property
    def _open(self) -> Database:
        if self._closed:
            raise MemoryClosed
        return self._database


class _Partition:
    """The open segments of a partition, and its tail. `checked` has the segments that were read once, and are
    whole."""

    def __init__(self, partition: VectorPartition, folder: Path, checked: set[Path]) -> None:
        self.folder = folder
        self._partition = partition
        self._lock = threading.RLock()
        self._version = -1
        self._segments: list[Segment] = []
        self._tail = _block([], partition.dims)
        self._numbers = np.zeros(0, np.int64)  # of the tail's rows
        self._removals = 0
        self._known = 0  # up to this number, all is in the segments or the tail
        self._checked = checked
        self.cached_bytes = 0

    def blocks(self, database: Database) -> list[Block]:
        """Return everything there is, oldest first."""
        with self._lock:
            if not self._read_tail(database, 2 * SEGMENT_ROWS):
                self._write_segment(database, wait=0.0)
                self._read_tail(database, NO_LIMIT)
            self.cached_bytes = self._tail.rows.nbytes
            return [*(segment.block for segment in self._segments), self._tail]

    def maintain(self, database: Database) -> None:
        names = _names(self.folder)
        chain = _chain(names, *database.read(lambda tx: _state(tx, self._partition)))
        if any(self.folder / str(name) not in self._checked for name in chain):
            self.check_segments(database)
            chain = self._segment_names
        covered = chain[-1].last if chain else 0
        waiting = database.read(lambda tx: _count(tx, self._partition, covered, SEGMENT_ROWS))
        if waiting >= SEGMENT_ROWS or names - {*chain}:
            self._write_segment(database, LOCK_SECONDS)

    def overwrite(self, ids: Sequence[int]) -> None:
        """Overwrite vectors in every segment that are no longer in the database. Whoever makes a segment of rows
        that were read before holds the lock until it is written."""
        from filelock import FileLock

        if self.folder.is_dir():
            with FileLock(self.folder / "lock", LOCK_SECONDS, mode=0o600):
                for path in self.folder.glob("*.segment"):
                    overwrite(path, np.array(ids, np.int64), self._partition.dims)

    def check_segments(self, database: Database) -> int:
        """Read the segments, and delete the damaged ones. Return how many there were."""
        with self._lock:
            damaged = self._open_segments(*database.read(lambda tx: _state(tx, self._partition)))
            for segment in self._segments:
                path = self.folder / str(segment.name)
                if segment.is_whole():
                    self._checked.add(path)
                else:
                    log.error("a file of vectors was damaged, and is made again")
                    _delete(path)
                    damaged += 1
            if damaged:
                self._version = -1
                self._open_segments(*database.read(lambda tx: _state(tx, self._partition)))
            return damaged

    @property
    def mapped(self) -> int:
        """Return how many segments are mapped."""
        return len(self._segments)

    @property
    def _segment_names(self) -> list[SegmentName]:
        return [segment.name for segment in self._segments]

    @property
    def _covered(self) -> int:
        return self._segments[-1].name.last if self._segments else 0

    def _read_tail(self, database: Database, limit: int) -> bool:
        """Bring segments and tail up to date. Return false, and leave the tail as it is, where it would have as
        many rows as the limit."""
        version, number = database.read(lambda tx: _state(tx, self._partition))
        removals = database.read(lambda tx: _removals(tx, self._partition))
        if removals != self._removals:
            self._removals, self._known = removals, self._covered
            self._tail, self._numbers = _block([], self._partition.dims), np.zeros(0, np.int64)
        self._open_segments(version, number)
        if self._known >= number:
            return True
        rows = database.read(lambda tx: _read(tx, self._partition, self._known, NO_LIMIT, limit))
        if len(self._tail) + len(rows) >= limit:
            return False
        self._add(database, rows)
        self._known = max(number, self._known, *(row[0] for row in rows[-1:]))
        return True

    def _add(self, database: Database, rows: Sequence[Row]) -> None:
        if not rows:
            return
        new = self._readable(database, rows)
        numbers = np.array([row[0] for row in rows], np.int64)
        whole = have_direction(new.rows)
        both = self._tail.followed_by(new.only(whole))
        _, last = np.unique(both.ids[::-1], return_index=True)  # of two with one id, the newer counts
        keep = len(both) - 1 - last
        self._tail = both.only(keep)
        self._numbers = np.concatenate([self._numbers, numbers[whole]])[keep]

    def _readable(self, database: Database, rows: Sequence[Row]) -> Block:
        """Return the rows as a block. Damaged vectors are deleted, and made again by the index worker."""
        block = _block(rows, self._partition.dims)
        damaged = block.ids[~have_direction(block.rows)].tolist()
        if damaged:
            log.error("%d vectors were damaged, and are made again", len(damaged))
            database.write(lambda tx: _drop_rows(tx, self._partition, damaged))
        return block

    def _open_segments(self, version: int, number: int) -> int:
        """Map the segments that count: those of this version that follow each other from the first number on.
        Return how many were damaged, and are deleted."""
        names, damaged = _names(self.folder), 0
        opened = {one.name: one for one in self._segments if one.is_at(self.folder / str(one.name))}
        while True:
            chain = _chain(names, version, number)
            if version == self._version and [opened.get(name) for name in chain] == self._segments:
                return damaged
            name = next((name for name in chain if name not in opened), None)
            if name is None:
                break
            try:
                opened[name] = Segment(self.folder / str(name), name, self._partition.dims)
            except FileNotFoundError:  # it was merged into another meanwhile
                names = _names(self.folder)
            except SegmentDamaged as error:
                log.error("a file of vectors was damaged, and is made again: %s", error)
                _delete(self.folder / str(name))
                names.discard(name)
                damaged += 1
        before, self._segments = self._covered, [opened[name] for name in chain]
        if version != self._version or self._covered < before:
            self._tail, self._numbers, self._known = _block([], self._partition.dims), np.zeros(0, np.int64), 0
            self._version = version
        self._tail = self._tail.only(self._numbers > self._covered)
        self._numbers = self._numbers[self._numbers > self._covered]
        self._known = max(self._known, self._covered)
        return damaged

    # Writing segments

    def _write_segment(self, database: Database, wait: float) -> None:
        """Make a segment of the tail, and of the segments before it that are not much larger. One process at a
        time does, for which others wait so many seconds; what cannot be written is searched in memory."""
        from filelock import FileLock, Timeout

        try:
            make_folder(self.folder)
            with FileLock(self.folder / "lock", wait, mode=0o600):
                self._write_alone(database)
        except Timeout:
            log.debug("another process writes a file of vectors")
        except OSError as error:
            log.warning("vectors are searched in memory, since no file can be written: %s", error)

    def _write_alone(self, database: Database) -> None:
        version, number = database.read(lambda tx: _state(tx, self._partition))
        self._open_segments(version, number)
        ids = database.read(lambda tx: _ids(tx, self._partition, self._covered, number))
        if len(ids) >= SEGMENT_ROWS:
            merged: list[Segment] = []
            size = len(ids)
            for segment in reversed(self._segments):
                if len(segment.block) >= MERGE_RATIO * size:
                    break
                merged.insert(0, segment)
                size += len(segment.block)
            first = merged[0].name.first if merged else self._covered
            name = SegmentName(version, first, number)
            every = np.concatenate([ids, *(segment.block.ids for segment in merged)])
            writer = SegmentWriter(self.folder, name, self._partition.dims, every)
            try:
                for segment in merged:
                    writer.add(segment.block)
                for rows in self._batches(database, number):
                    writer.add(self._readable(database, rows))
                writer.finish()
            except BaseException:
                writer.discard()
                raise
            self._checked.add(self.folder / str(name))
        self._open_segments(version, number)
        for left in {*self.folder.glob("*.segment"), *self.folder.glob("*.tmp")}:
            if SegmentName.parse(left.name) not in self._segment_names:
                _delete(left)

    def _batches(self, database: Database, number: int) -> Iterator[list[Row]]:
        """Yield the rows of the tail up to this number."""
        after = self._covered
        while rows := database.read(
            lambda tx, after=after: _read(tx, self._partition, after, number, ROWS_PER_READ)  # type: ignore[misc]
        ):
            yield rows
            after = rows[-1][0]


def embedder_id(tx: Transaction, partition: VectorPartition) -> int:
    """Return the id of the partition's embedder; 0 where it has made nothing yet."""
    row = tx.one("SELECT id FROM embedders WHERE identity = ?", partition.embedder)
    return int(row[0]) if row else 0


def _state(tx: Transaction, partition: VectorPartition) -> tuple[int, int]:
    """Return the version, and the newest number."""
    row = tx.one("SELECT version, number FROM index_state WHERE owner = ?", partition.owner)
    return (row[0], row[1]) if row else (0, 0)


def _removals(tx: Transaction, partition: VectorPartition) -> int:
    row = tx.one("SELECT removals FROM index_state WHERE owner = ?", partition.owner)
    return int(row[0]) if row else 0


def _outdate(tx: Transaction, owner: str) -> None:
    tx.run("UPDATE index_state SET version = version + 1 WHERE owner = ?", owner)


def _read(tx: Transaction, partition: VectorPartition, after: int, until: int, limit: int) -> list[Row]:
    return tx.all(_ROWS, partition.owner, embedder_id(tx, partition), after, until, limit)


def _ids(tx: Transaction, partition: VectorPartition, after: int, until: int) -> NDArray[np.int64]:
    rows = tx.all(
        "SELECT v.item_id FROM item_vectors v JOIN items i ON i.id = v.item_id "
        "WHERE v.owner = ? AND v.embedder_id = ? AND v.number > ? AND v.number <= ?",
        *(partition.owner, embedder_id(tx, partition), after, until),
    )
    return np.array([row[0] for row in rows], np.int64)


def _count(tx: Transaction, partition: VectorPartition, after: int, limit: int) -> int:
    row = tx.one(
        "SELECT count(*) FROM (SELECT 1 FROM item_vectors WHERE owner = ? AND embedder_id = ? AND number > ? "
        "LIMIT ?) AS few",
        *(partition.owner, embedder_id(tx, partition), after, limit),
    )
    return int(row[0]) if row else 0


def _drop_rows(tx: Transaction, partition: VectorPartition, ids: Sequence[int]) -> None:
    number = embedder_id(tx, partition)
    tx.many("DELETE FROM item_vectors WHERE embedder_id = ? AND item_id = ?", [(number, id_) for id_ in ids])
    tx.many("UPDATE items SET embedded = NULL WHERE id = ?", [(id_,) for id_ in ids])


def _block(rows: Sequence[Row], dims: int) -> Block:
    return Block(
        np.array([row[1] for row in rows], np.int64),
        np.array([row[2] for row in rows], np.int64),
        np.array([agent_hash(row[3]) for row in rows], np.uint64),
        np.array([ITEM_KINDS.index(row[4]) for row in rows], np.uint8),
        unpacked([row[5] for row in rows], dims),
    )


def _names(folder: Path) -> set[SegmentName]:
    try:
        return {name for entry in folder.iterdir() if (name := SegmentName.parse(entry.name))}
    except OSError:
        return set()


def _chain(names: set[SegmentName], version: int, number: int) -> list[SegmentName]:
    """Return the segments that follow each other from 0 on, each the longest there is."""
    chain: list[SegmentName] = []
    longest = {name.first: name for name in sorted(names) if name.version == version and name.last <= number}
    reached = 0
    while reached in longest:
        chain.append(longest[reached])
        reached = chain[-1].last
    return chain


def _delete(path: Path) -> None:
    with suppress(OSError):  # another process did, or has it open; then the next one to write does
        path.unlink()
