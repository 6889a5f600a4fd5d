"""The seam between recall and the vector store: vectors by id, in partitions that never meet.

Vectors are derived: each can be made again from the text it stands for. Only their direction counts, so they
are kept at length 1, and every store may round their parts to 16 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lifelong.errors import InputError
from lifelong.validation import validate_name

Vector: TypeAlias = NDArray[np.float32]

MAX_NAME_BYTES = 500  # bytes: an index of PostgreSQL holds no more


@dataclass(frozen=True, slots=True)
class VectorPartition:
    """Whose vectors, of what, made by whom. The three together: no search ever crosses one of them.

    `embedder` is its identity, `name/version/dimensions`.
    """

    owner: str
    collection: str
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


class VectorItem(NamedTuple):
    id: str
    vector: Vector


class Near(NamedTuple):
    id: str
    similarity: float
    """The cosine, from -1 to 1, to six places."""


class Vectors(Protocol):
    """Where vectors live. Safe to use from many threads. What one instance wrote, in whatever process, every
    other finds as soon as the call has returned. Bad input is an `InputError`, and nothing was changed; all
    other errors are `StorageError`s. After `close` each call raises `MemoryClosed`."""

    def put(self, partition: VectorPartition, items: Sequence[VectorItem]) -> None:
        """Store them, durably and all or none for each call of up to 1,000; an id that is there is overwritten,
        and of two items with one id the last counts. A vector of the wrong size, with a value that is not finite,
        or of length zero is refused: it has no direction, so leave what has none out."""
        ...

    def remove(self, partition: VectorPartition, ids: Sequence[str]) -> None:
        """Forget them. An id that is not there is passed over."""
        ...

    def search(self, partition: VectorPartition, query: Vector, k: int) -> list[Near]:
        """Return the `k` nearest, or all where there are fewer: best first, equal ones by id. Nothing is near a
        query of length zero. A large partition may be searched approximately: of texts, 95 of 100 are right, or
        more."""
        ...

    def ids(self, partition: VectorPartition) -> list[str]:
        """Return every id, in any order."""
        ...

    def clear(self, partition: VectorPartition) -> None:
        """Forget everything in the partition."""
        ...

    def close(self) -> None:
        """Let go of memory and connections; a database that was passed in stays open."""
        ...


def validate_items(partition: VectorPartition, items: Iterable[VectorItem]) -> tuple[list[str], Vector]:
    """Return the ids, each once, and their vectors as rows of length 1."""
    latest = {validate_name(item.id, "The id of a vector", MAX_NAME_BYTES): item.vector for item in items}
    rows = np.empty((len(latest), partition.dims), np.float32)
    for place, (id_, vector) in enumerate(latest.items()):
        rows[place] = _checked(vector, partition, f"The vector of {id_!r:.100}")
        if not rows[place].any():
            raise InputError(
                f"The vector of {id_!r:.100} has the length zero, so nothing is near it. Leave it out."
            )
    return list(latest), rows


def validate_query(partition: VectorPartition, query: Vector, k: int) -> Vector | None:
    """Return the query at length 1; none for one of length zero."""
    if k < 1:
        raise InputError(f"k cannot be {k!r:.50}. Ask for 1 or more.")
    row = _checked(query, partition, "The query")
    return row if row.any() else None


def unpacked(blobs: Sequence[object], dims: int) -> Vector:
    """Return vectors as rows of a database have them, 16 bits a part; zeros for damaged ones."""
    whole = (blob if isinstance(blob, bytes) and len(blob) == 2 * dims else bytes(2 * dims) for blob in blobs)
    rows = np.frombuffer(b"".join(whole), "<f2").reshape(-1, dims).astype(np.float32)
    rows[~np.isfinite(rows).all(axis=1)] = 0
    return rows


def ranked(found: Iterable[tuple[str, float]]) -> list[Near]:
    """Return the best first, equal ones by id. The sixth decimal is the last that every store computes alike."""
    near = [Near(id_, round(float(similarity), 6)) for id_, similarity in found]
    return sorted(near, key=lambda one: (-one.similarity, one.id))


def _checked(vector: Vector, partition: VectorPartition, what: str) -> Vector:
    row = np.asarray(vector, np.float64)
    if row.shape != (partition.dims,):
        raise InputError(
            f"{what} has the shape {row.shape}, but {partition.embedder} makes vectors of {partition.dims}. "
            "Embed it with that embedder, or use another partition."
        )
    if not np.isfinite(row).all():
        raise InputError(f"{what} has a part that is not a finite number. Embed the text again.")
    largest = np.abs(row).max()
    if largest > 0:
        row = row / largest  # first, so that no square leaves the range
        row /= np.linalg.norm(row)
    return row.astype(np.float32)
