"""The seam between recall and the vector store: the vectors of items, in partitions that never meet.

Vectors are derived: each can be made again from the text it stands for, and an item's text never changes. Only
their direction counts, so they are kept at length 1, and every store may round their parts to 16 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lifelong.errors import InputError
from lifelong.storage.base import Param
from lifelong.types import ItemKind
from lifelong.validation import validate_name

Vector: TypeAlias = NDArray[np.float32]

MAX_NAME_BYTES = 500  # bytes: an index of PostgreSQL holds no more


@dataclass(frozen=True, slots=True)
class VectorPartition:
    """Whose vectors, made by whom. No search ever crosses one of the two. `embedder` is its identity,
    `name/version/dimensions`."""

    owner: str
    embedder: str

    def __post_init__(self) -> None:
        for what in self.__slots__:
            validate_name(getattr(self, what), f"The {what} of a partition", MAX_NAME_BYTES)
        *names, dims = self.embedder.split("/")
        if len(names) < 2 or not (dims.isascii() and dims.isdigit()) or not 0 < int(dims) <= 16_000:
            raise InputError(
                f"{self.embedder!r:.200} does not identify an embedder. "
                "Write name/version/dimensions, e.g. static/1/256."
            )

    @property
    def dims(self) -> int:
        return int(self.embedder.rpartition("/")[2])


class VectorRow(NamedTuple):
    """The vector of an item, and what of the item a search may be limited to; `at` is in microseconds."""

    id: int
    kind: ItemKind
    agent_id: str
    at: int
    vector: Vector


class VectorFilter(NamedTuple):
    """What a search is limited to; by default nothing. `since` and `until` bound `at`, in microseconds: from
    `since` on, and before `until`."""

    kinds: tuple[ItemKind, ...] = ()
    agent_id: str = ""
    since: int | None = None
    until: int | None = None

    def conditions(self) -> tuple[str, tuple[Param, ...]]:
        """Return the conditions on the table `items`, named i, to be put behind others, and their parameters."""
        which = [f" AND i.kind IN ({', '.join('?' * len(self.kinds))})"] if self.kinds else []
        params: list[Param] = [*self.kinds]
        for condition, value in (
            ("i.agent_id = ?", self.agent_id or None),
            ("i.at >= ?", self.since),
            ("i.at < ?", self.until),
        ):
            if value is not None:
                which.append(f" AND {condition}")
                params.append(value)
        return "".join(which), tuple(params)


EVERYTHING = VectorFilter()


class Vectors(Protocol):
    """Where vectors live. Safe to use from many threads. What one instance wrote, in whatever process, every
    other finds as soon as the call has returned. Bad input is an `InputError`, and nothing was changed; all
    other errors are `StorageError`s. After `close` each call raises `MemoryClosed`."""

    def put(self, partition: VectorPartition, rows: Sequence[VectorRow]) -> None:
        """Store the vectors of items that exist, durably and all or none for each call of up to 1,000; an id that
        is there is overwritten, and of two rows with one id the last counts. A store in the database of the items
        passes over those that are gone. A vector of the wrong size, with a
        value that is not finite, or of length zero is refused: it has no direction, so leave what has none out."""
        ...

    def nearest(
        self, partition: VectorPartition, query: Vector, k: int, only: VectorFilter = EVERYTHING
    ) -> list[int]:
        """Return the ids of the `k` nearest that pass the filter, or all where there are fewer: best first, equal
        ones by id. Nothing is near a query of length zero. A large partition may be searched approximately: of
        texts, 95 of 100 are right, or more."""
        ...

    def get(self, partition: VectorPartition, ids: Sequence[int]) -> Vector:
        """Return the vectors of these items, a row each; zeros where there is none."""
        ...

    def remove(self, partition: VectorPartition, ids: Sequence[int]) -> None:
        """Forget them, wherever they are stored. An id that is not there is passed over."""
        ...

    def ids(self, partition: VectorPartition) -> list[int]:
        """Return the ids of all items that have a vector here."""
        ...

    def clear(self, partition: VectorPartition) -> None:
        """Forget everything in the partition."""
        ...

    def maintain(self, partition: VectorPartition) -> None:
        """Do what keeps searches quick, in the background, after vectors were put."""
        ...

    def verify(self, partition: VectorPartition, ids: Sequence[int]) -> list[str]:
        """Compare what is stored with the ids that should be, and return what is wrong, a sentence each."""
        ...

    def close(self) -> None:
        """Let go of memory and connections; a database that was passed in stays open."""
        ...


def have_direction(rows: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return for each row whether it is more than zeros."""
    return np.asarray(rows.any(axis=1), np.bool_)


def missing_fault(missing: int) -> list[str]:
    """Return what `verify` says of items that should have a vector."""
    return [f"{missing:,} items have no vector. Run: lifelong rebuild."] if missing else []


def orphans_fault(orphans: int) -> list[str]:
    """Return what `verify` says of vectors whose items are gone."""
    return [f"{orphans:,} vectors belong to nothing. Run: lifelong rebuild."] if orphans else []


def validate_rows(partition: VectorPartition, rows: Iterable[VectorRow]) -> tuple[list[VectorRow], Vector]:
    """Return the rows, each id once, and their vectors at length 1."""
    latest = list({row.id: row for row in rows}.values())
    for row in latest:
        _check_shape(row.vector, partition, f"The vector of item {row.id!r:.100}")
    vectors = _at_length_one(np.array([row.vector for row in latest], np.float64).reshape(-1, partition.dims))
    for row, vector in zip(latest, vectors, strict=True):
        if not vector.any():
            raise InputError(f"The vector of item {row.id!r:.100} has the length zero. Leave it out.")
    return latest, vectors


def validate_query(partition: VectorPartition, query: Vector, k: int) -> Vector | None:
    """Return the query at length 1; none for one of length zero."""
    if k < 1:
        raise InputError(f"k cannot be {k!r:.50}. Ask for 1 or more.")
    _check_shape(query, partition, "The query")
    row = _at_length_one(np.array([query], np.float64))[0]
    return row if row.any() else None


def _check_shape(vector: Vector, partition: VectorPartition, what: str) -> None:
    if np.shape(vector) != (partition.dims,):
        raise InputError(
            f"{what} has the shape {np.shape(vector)}, but {partition.embedder} makes vectors of "
            f"{partition.dims}. Embed it with that embedder, or use another partition."
        )
    if not np.isfinite(vector).all():
        raise InputError(f"{what} has a part that is not a finite number. Embed the text again.")


def _at_length_one(rows: NDArray[np.float64]) -> Vector:
    largest = np.abs(rows).max(axis=1, initial=0)[:, None]
    rows = rows / np.where(largest > 0, largest, 1)  # first, so that no square leaves the range
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1), 1)[:, None], np.float32)
