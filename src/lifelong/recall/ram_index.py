"""The items of one user in memory: what a question is compared with.

An item has a row, its place in arrays of its properties: speaker and time, the stems it holds, the items before
and after it in its container, and its vector, centred on the mean of all. The index loads the rows that got a
sequence number since it last looked; an item without one is loaded without a vector when a word leads to it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lifelong.recall.analyzer import ASSISTANT
from lifelong.storage.base import Row
from lifelong.text.names import NAMELESS
from lifelong.text.words import fold
from lifelong.types import ITEM_KINDS, PROVENANCES
from lifelong.vectors.base import unpacked
from lifelong.vectors.local import Nearest, with_room

Rows = NDArray[np.intp]
"""Row numbers: the places of items in the arrays."""
Numbers = NDArray[np.float32]

NEVER = np.iinfo(np.int64).max
NO_ROW = -1
HALF_LENDING_WORDS = 30.0  # an item of this many content words lends half of itself to those beside it
HALF_SHARE_WORDS = 2.0  # an item of this many content words counts half in its container's vector
MEAN_DAMPING = 10  # items' worth of trust in a mean of zero

_COLUMNS: Mapping[str, type[np.generic]] = {
    **dict.fromkeys(("id", "at", "since", "hidden_at", "until", "end_known", "by", "record", "stems"), np.int64),
    **dict.fromkeys(("count", "length", "container", "speaker", "agent", "before", "after"), np.int32),
    **dict.fromkeys(("kind", "trust", "flags"), np.uint8),
    **dict.fromkeys(("feedback", "share", "norm", "lends"), np.float32),
    "linked": np.bool_,
}


class RamIndex:
    """Changes happen under `lock`. A search sees the arrays as they were when it took them: they only grow.
    `built_from` has the embedder's id and the version (see `IndexState`) that it was loaded from."""

    def __init__(self, identity: str, built_from: tuple[int | None, int]) -> None:
        dims = int(identity.rpartition("/")[2] or 1)
        self.identity = identity
        self.built_from = built_from
        self.lock = threading.RLock()
        self.sequence = 0
        self._dims = dims
        self._where: dict[int, int] = {}
        self._columns: dict[str, NDArray[Any]] = {name: np.zeros(0, kind) for name, kind in _COLUMNS.items()}
        self._stems = np.zeros(0, np.uint32)
        self._stem_count = 0
        self._counts: dict[int, int] = {}
        self._containers: dict[str, int] = {}
        self._last = np.zeros(0, np.int32)  # the last place of each container
        self._sums, self._norms = np.zeros((0, dims), np.float32), np.zeros(0, np.float32)
        self._speakers: dict[str, int] = {}
        self._agents: dict[str, int] = {}
        self._named: dict[str, frozenset[str]] = {}
        self._nearest = Nearest(dims)
        self._sum = np.zeros(dims)
        self._embedded = 0
        self._next_mean: Numbers | None = None
        self.mean = np.zeros(dims, np.float32)
        self.has_assistant = False
        self.damaged: list[int] = []  # items whose vectors could not be read, of those loaded last

    def __len__(self) -> int:
        return len(self._where)

    # Loading

    def load(self, rows: Sequence[Row]) -> None:
        """Load rows of `VectorRows.newer` or `VectorRows.without_sequence`, in order."""
        if not rows:
            return
        with self.lock:
            if new := [row for row in rows if row[0] not in self._where]:
                self._add(new)
            places = np.array([self._where[row[0]] for row in rows], np.intp)
            self._update(places, rows)
            self._embed(places, rows)
            has_number = np.array([row[1] is not None for row in rows])
            self._link(places[has_number & ~self._columns["linked"][places]])
            if self._next_mean is not None:
                self._recentre(self._next_mean)
                self._next_mean = None

    def _add(self, rows: Sequence[Row]) -> None:
        start, end = len(self._where), len(self._where) + len(rows)
        self._columns = {name: with_room(array, end) for name, array in self._columns.items()}
        columns = {name: array[start:end] for name, array in self._columns.items()}
        ids, _, kinds, containers, speakers, agents, trusts, at, since, *_ = zip(*rows, strict=True)
        known = len(self._containers)
        columns["id"][:] = ids
        columns["kind"][:] = [ITEM_KINDS.index(kind) for kind in kinds]
        columns["container"][:] = [self._containers.setdefault(name, len(self._containers)) for name in containers]
        columns["speaker"][:] = [self._speaker(name) for name in speakers]
        columns["agent"][:] = [self._agents.setdefault(id_, len(self._agents)) for id_ in agents]
        columns["trust"][:] = [PROVENANCES.index(trust) for trust in trusts]
        columns["at"][:], columns["since"][:] = at, since
        columns["record"][:] = [row[12] or 0 for row in rows]
        columns["length"][:] = [row[13] for row in rows]
        columns["flags"][:] = [row[14] for row in rows]
        columns["before"][:] = columns["after"][:] = NO_ROW
        columns["lends"][:] = HALF_LENDING_WORDS / (HALF_LENDING_WORDS + columns["length"])
        self._add_stems(columns, [row[16] for row in rows])
        self.has_assistant |= bool((columns["flags"] & ASSISTANT).any())
        self._where.update(zip(ids, range(start, end), strict=True))
        self._sums = with_room(self._sums, len(self._containers))
        self._norms = with_room(self._norms, len(self._containers))
        self._last = with_room(self._last, len(self._containers))
        self._last[known : len(self._containers)] = NO_ROW
        self._nearest.add(np.zeros((len(rows), self._dims), np.float32))

    def _add_stems(self, columns: Mapping[str, NDArray[Any]], packed: Sequence[Any]) -> None:
        packed = [one if len(one) % 4 == 0 else b"" for one in packed]  # a damaged row costs its own words only
        stems = np.frombuffer(b"".join(packed), "<u4")
        columns["count"][:] = [len(one) // 4 for one in packed]
        columns["stems"][:] = self._stem_count + np.cumsum(columns["count"]) - columns["count"]
        self._stems = with_room(self._stems, self._stem_count + len(stems))
        self._stems[self._stem_count : self._stem_count + len(stems)] = stems
        self._stem_count += len(stems)
        numbers, counts = np.unique(stems, return_counts=True)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            self._counts[number] = self._counts.get(number, 0) + count

    def _update(self, places: Rows, rows: Sequence[Row]) -> None:
        """Set the properties that may change."""
        columns = self._columns
        columns["hidden_at"][places] = [NEVER if row[9] is None else row[9] for row in rows]
        columns["until"][places] = [NEVER if row[10] is None else row[10] for row in rows]
        columns["end_known"][places] = [row[18] or 0 for row in rows]
        columns["by"][places] = [row[11] or 0 for row in rows]
        columns["feedback"][places] = [row[15] for row in rows]

    def _link(self, places: Rows) -> None:
        """Link each to the last of its container. Only items with a number have surroundings: they come in
        order."""
        if not len(places):
            return
        columns = self._columns
        columns["linked"][places] = True
        order = np.argsort(columns["container"][places], kind="stable")
        places, containers = places[order], columns["container"][places][order]
        first = np.append(True, containers[1:] != containers[:-1])
        before = np.append(NO_ROW, places[:-1])
        before[first] = self._last[containers[first]]
        columns["before"][places] = before
        columns["after"][before[before != NO_ROW]] = places[before != NO_ROW]
        last = np.append(first[1:], True)
        self._last[containers[last]] = places[last]

    def _embed(self, places: Rows, rows: Sequence[Row]) -> None:
        """Set the vectors of items that had none."""
        new = np.array([row[17] is not None for row in rows]) & (self._columns["norm"][places] == 0)
        if not new.any():
            return
        places = places[new]
        packed = [row[17] for row, is_new in zip(rows, new, strict=True) if is_new]
        vectors = unpacked(packed, self._dims)
        known = vectors.any(axis=1)
        blank = bytes(2 * self._dims)  # a text without a direction, not damage
        self.damaged = [
            int(self._columns["id"][places[at]]) for at in np.flatnonzero(~known) if packed[at] != blank
        ]
        self._update_mean(vectors[known])
        self._set_vectors(places[known], vectors[known])

    def _set_vectors(self, places: Rows, vectors: Numbers) -> None:
        centred = vectors - self.mean
        norms = np.linalg.norm(centred, axis=1)
        centred /= np.maximum(norms, 1e-9)[:, None]
        columns = self._columns
        columns["norm"][places] = np.maximum(norms, 1e-9)
        lengths = columns["length"][places]
        columns["share"][places] = (
            np.minimum(1, 2 * columns["lends"][places]) * lengths / (lengths + HALF_SHARE_WORDS)
        )
        containers = _add_rows(self._sums, columns["container"][places], centred * columns["share"][places, None])
        self._norms[containers] = np.linalg.norm(self._sums[containers], axis=1)
        self._nearest.replace(places, centred)

    def _update_mean(self, vectors: Numbers) -> None:
        """Compute the mean whenever the number of vectors has doubled, so that it does not depend on how many were
        loaded at once."""
        total = self._embedded + len(vectors)
        enough = 1 << total.bit_length() >> 1
        if enough > self._embedded:
            some = self._sum + vectors[: enough - self._embedded].sum(axis=0, dtype=np.float64)
            self._next_mean = np.asarray(some / (enough + MEAN_DAMPING), np.float32)
        self._sum += vectors.sum(axis=0, dtype=np.float64)
        self._embedded = total

    def _recentre(self, mean: Numbers) -> None:
        """Centre all vectors on a new mean."""
        places = np.flatnonzero(self._columns["norm"][: len(self)])
        raw = self._nearest.rows(places) * self._columns["norm"][places, None] + self.mean
        self.mean = mean
        self._sums = np.zeros_like(self._sums)  # views keep the old ones
        self._set_vectors(places, raw)

    def _speaker(self, name: str) -> int:
        if name not in self._speakers:
            self._speakers[name] = len(self._speakers)
            for word in fold(name).split():
                if word not in NAMELESS:
                    self._named[word] = self._named.get(word, frozenset()) | {name}
        return self._speakers[name]

    # Reading

    def view(self) -> IndexView:
        """Return the index as it is now; later changes do not show in it."""
        with self.lock:
            return IndexView(self)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Items and those beside them, up to two away in their containers. `every` has all their places, each once;
    the others say for each item where in `every` it stands, and where those beside it do: behind the end where
    there is none."""

    every: Rows
    own: Rows
    before: Rows
    after: Rows
    far_before: Rows
    far_after: Rows


class IndexView:
    """What a search sees of the index in memory."""

    def __init__(self, index: RamIndex) -> None:
        self.size = len(index._where)
        self.columns = {name: array[: self.size] for name, array in index._columns.items()}
        self.mean = index.mean
        self.identity = index.identity
        self.speakers = dict(index._named)
        self.has_assistant = index.has_assistant
        self._names = dict(index._speakers)
        self._agents = index._agents
        self._where = index._where
        self._stems = index._stems
        self._counts = index._counts
        self._container_count = len(index._containers)
        self._sums, self._norms = index._sums, index._norms
        self._nearest = index._nearest

    def places(self, ids: Sequence[int]) -> tuple[Rows, list[int]]:
        """Return the places of these items, and the ids that are not loaded yet."""
        known = [self._where.get(id_, self.size) for id_ in ids]
        found = np.array(known, np.intp)
        if not len(found) or found.max() < self.size:
            return found, []
        return found[found < self.size], [id_ for id_, at in zip(ids, known, strict=True) if at >= self.size]

    def among(self, ids: Sequence[int], which: NDArray[np.bool_]) -> list[int]:
        """Return the ids for whose place this says so, and those that are not loaded yet."""
        places = [self._where.get(id_, self.size) for id_ in ids]
        fits = np.append(which, True)[np.minimum(places, self.size)] if places else ()
        return [id_ for id_, fit in zip(ids, fits, strict=True) if fit]

    def with_surroundings(self, places: Rows, some: Rows) -> Rows:
        """Return the places, and those beside some of them, each once."""
        return distinct((places, self._beside("before", some), self._beside("after", some)), self.size)[0]

    def _beside(self, side: str, places: Rows) -> Rows:
        """Return the places before or after these. One that was loaded after this view was made is left out."""
        found = self.columns[side][places]
        return np.where((places == NO_ROW) | (found >= self.size), NO_ROW, found)

    def surroundings(self, places: Rows) -> Surroundings:
        left, right = self._beside("before", places), self._beside("after", places)
        far_left, far_right = self._beside("before", left), self._beside("after", right)
        every, where = distinct((places, left, right, far_left, far_right), self.size)
        return Surroundings(every, *(where[some] for some in (places, left, right, far_left, far_right)))

    def count(self, stem: int) -> int:
        """Return how many items hold a stem."""
        return self._counts.get(stem, 0)

    def agent(self, agent_id: str) -> int:
        return self._agents.get(agent_id, NO_ROW)

    def said_by(self, places: Rows, names: Set[str]) -> NDArray[np.bool_]:
        wanted = [number for name, number in self._names.items() if name in names]
        return np.isin(self.columns["speaker"][places], wanted)

    def has_speakers_besides(self, names: Set[str]) -> bool:
        return any(name not in names for name in self._names)

    def holds(self, places: Rows, stems: Sequence[int]) -> Numbers:
        """Return a row for each place: 1 for each of these stems that it holds."""
        counts = self.columns["count"][places]
        ends = np.cumsum(counts)
        at = np.repeat(self.columns["stems"][places] - ends + counts, counts)
        at += np.arange(len(at))
        found = self._stems.take(at)
        maybe = np.zeros(1 << 16, np.bool_)  # the lower half tells most of them apart
        maybe[[stem & 0xFFFF for stem in stems]] = True
        few = np.flatnonzero(maybe.take(found & 0xFFFF))
        row, found = np.searchsorted(ends, few, "right"), found[few]
        table = np.zeros((len(places), len(stems)), np.float32)
        for column, stem in enumerate(stems):
            table[row[found == stem], column] = 1
        return table

    def nearest(self, query: Numbers, k: int, among: NDArray[np.bool_] | None) -> Rows:
        found = self._nearest.search(query, k, among)[0]
        return found[found < self.size]  # more may have been loaded

    def containers(self, places: Rows) -> tuple[Numbers, Numbers, Rows]:
        """Return the vectors of these items' containers, their lengths, and for each item which is its own."""
        numbers = self.columns["container"][places]
        which, where = distinct((numbers,), self._container_count)
        return self._sums.take(which, axis=0), self._norms[which], where.take(numbers)

    def stems(self, place: int) -> bytes:
        """Return the stems of an item, packed."""
        start, count = int(self.columns["stems"][place]), int(self.columns["count"][place])
        return self._stems[start : start + count].tobytes()

    def vectors(self, places: Rows) -> Numbers:
        return self._nearest.rows(places)


def distinct(some: Sequence[NDArray[Any]], size: int) -> tuple[Rows, Rows]:
    """Return all numbers below `size` in these, each once, ascending; and for each number its position among them:
    for `NO_ROW`, behind the end. Marks them in a table, which is faster than the sort of `np.unique`."""
    marked = np.zeros(size + 1, np.bool_)
    for numbers in some:
        marked[numbers] = True
    every = np.flatnonzero(marked[:size])
    where = np.empty(size + 1, np.intp)
    where[every] = np.arange(len(every))
    where[size] = len(every)
    return every, where


def _add_rows(sums: Numbers, rows: NDArray[np.int32], vectors: Numbers) -> NDArray[np.int32]:
    """Do what `np.add.at` does, faster where rows come in runs. Return the rows that have changed."""
    order = np.argsort(rows, kind="stable")
    heads, starts = np.unique(rows[order], return_index=True)
    if len(heads):
        sums[heads] += np.add.reduceat(vectors[order], starts, axis=0)
    return heads
