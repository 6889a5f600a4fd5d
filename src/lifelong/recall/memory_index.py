"""The items of one user in memory: what a question is compared with.

An item has a place, at which everything about it stands in arrays: who said it and when, the stems it holds, the
items before and after it in its thread, and its vector, centred on the mean of all. The shelf reads what was
stamped since it last looked; items that nobody has stamped yet are taken in without a vector when a word leads to
them.
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
from lifelong.vectors.nearest import Nearest, roomy

Places = NDArray[np.intp]
Numbers = NDArray[np.float32]

NEVER = np.iinfo(np.int64).max
NOBODY = -1
LENDS = 30.0  # an item of this many content words lends half of itself to those beside it
SHORT = 2.0  # an item of this many content words counts half in its thread's vector
DAMPING = 10  # items' worth of trust in a mean of zero

_ABOUT: Mapping[str, type[np.generic]] = {
    **dict.fromkeys(("id", "at", "since", "gone", "until", "end_known", "by", "record", "stems"), np.int64),
    **dict.fromkeys(("count", "length", "thread", "speaker", "agent", "before", "after"), np.int32),
    **dict.fromkeys(("kind", "trust", "flags"), np.uint8),
    **dict.fromkeys(("nudge", "share", "norm", "lends"), np.float32),
    "linked": np.bool_,
}


class MemoryIndex:
    """Changes happen under `lock`. A search sees the arrays as they were when it took them: they only grow. `of`
    are the number of the embedder and the era (see `shelves.State`) that it is of."""

    def __init__(self, identity: str, of: tuple[int | None, int]) -> None:
        dims = int(identity.rpartition("/")[2] or 1)
        self.identity = identity
        self.of = of
        self.lock = threading.RLock()
        self.stamp = 0
        self._dims = dims
        self._where: dict[int, int] = {}
        self._about: dict[str, NDArray[Any]] = {name: np.zeros(0, kind) for name, kind in _ABOUT.items()}
        self._stems = np.zeros(0, np.uint32)
        self._stem_count = 0
        self._counts: dict[int, int] = {}
        self._threads: dict[str, int] = {}
        self._last = np.zeros(0, np.int32)  # the last place of each thread
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
        self.damaged: list[int] = []  # the items whose vectors could not be read, of those taken in last

    def __len__(self) -> int:
        return len(self._where)

    # Taking in

    def take_in(self, rows: Sequence[Row]) -> None:
        """Rows of `VectorRows.newer` or `VectorRows.loose`, in order."""
        if not rows:
            return
        with self.lock:
            if new := [row for row in rows if row[0] not in self._where]:
                self._add(new)
            places = np.array([self._where[row[0]] for row in rows], np.intp)
            self._bring_up(places, rows)
            self._embed(places, rows)
            stamped = np.array([row[1] is not None for row in rows])
            self._link(places[stamped & ~self._about["linked"][places]])
            if self._next_mean is not None:
                self._centre(self._next_mean)
                self._next_mean = None

    def _add(self, rows: Sequence[Row]) -> None:
        start, end = len(self._where), len(self._where) + len(rows)
        self._about = {name: roomy(array, end) for name, array in self._about.items()}
        about = {name: array[start:end] for name, array in self._about.items()}
        ids, _, kinds, threads, speakers, agents, trusts, at, since, *_ = zip(*rows, strict=True)
        known = len(self._threads)
        about["id"][:] = ids
        about["kind"][:] = [ITEM_KINDS.index(kind) for kind in kinds]
        about["thread"][:] = [self._threads.setdefault(name, len(self._threads)) for name in threads]
        about["speaker"][:] = [self._speaker(name) for name in speakers]
        about["agent"][:] = [self._agents.setdefault(id_, len(self._agents)) for id_ in agents]
        about["trust"][:] = [PROVENANCES.index(trust) for trust in trusts]
        about["at"][:], about["since"][:] = at, since
        about["record"][:] = [row[12] or 0 for row in rows]
        about["length"][:] = [row[13] for row in rows]
        about["flags"][:] = [row[14] for row in rows]
        about["before"][:] = about["after"][:] = NOBODY
        about["lends"][:] = LENDS / (LENDS + about["length"])
        self._add_stems(about, [row[16] for row in rows])
        self.has_assistant |= bool((about["flags"] & ASSISTANT).any())
        self._where.update(zip(ids, range(start, end), strict=True))
        self._sums = roomy(self._sums, len(self._threads))
        self._norms = roomy(self._norms, len(self._threads))
        self._last = roomy(self._last, len(self._threads))
        self._last[known : len(self._threads)] = NOBODY
        self._nearest.add(np.zeros((len(rows), self._dims), np.float32))

    def _add_stems(self, about: Mapping[str, NDArray[Any]], packed: Sequence[Any]) -> None:
        packed = [one if len(one) % 4 == 0 else b"" for one in packed]  # damage is no reason to find nothing
        stems = np.frombuffer(b"".join(packed), "<u4")
        about["count"][:] = [len(one) // 4 for one in packed]
        about["stems"][:] = self._stem_count + np.cumsum(about["count"]) - about["count"]
        self._stems = roomy(self._stems, self._stem_count + len(stems))
        self._stems[self._stem_count : self._stem_count + len(stems)] = stems
        self._stem_count += len(stems)
        numbers, counts = np.unique(stems, return_counts=True)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            self._counts[number] = self._counts.get(number, 0) + count

    def _bring_up(self, places: Places, rows: Sequence[Row]) -> None:
        """What of an item may change."""
        about = self._about
        about["gone"][places] = [NEVER if row[9] is None else row[9] for row in rows]
        about["until"][places] = [NEVER if row[10] is None else row[10] for row in rows]
        about["end_known"][places] = [row[18] or 0 for row in rows]
        about["by"][places] = [row[11] or 0 for row in rows]
        about["nudge"][places] = [row[15] for row in rows]

    def _link(self, places: Places) -> None:
        """Put each behind the last of its thread. Only stamped items have neighbours: these come in order."""
        if not len(places):
            return
        about = self._about
        about["linked"][places] = True
        order = np.argsort(about["thread"][places], kind="stable")
        places, threads = places[order], about["thread"][places][order]
        first = np.append(True, threads[1:] != threads[:-1])
        before = np.append(NOBODY, places[:-1])
        before[first] = self._last[threads[first]]
        about["before"][places] = before
        about["after"][before[before != NOBODY]] = places[before != NOBODY]
        last = np.append(first[1:], True)
        self._last[threads[last]] = places[last]

    def _embed(self, places: Places, rows: Sequence[Row]) -> None:
        """Vectors of items that had none."""
        new = np.array([row[17] is not None for row in rows]) & (self._about["norm"][places] == 0)
        if not new.any():
            return
        places = places[new]
        packed = [row[17] for row, is_new in zip(rows, new, strict=True) if is_new]
        vectors = unpacked(packed, self._dims)
        known = vectors.any(axis=1)
        blank = bytes(2 * self._dims)  # what has no direction, and is no damage
        self.damaged = [int(self._about["id"][places[at]]) for at in np.flatnonzero(~known) if packed[at] != blank]
        self._reckon(vectors[known])
        self._place(places[known], vectors[known])

    def _place(self, places: Places, vectors: Numbers) -> None:
        centred = vectors - self.mean
        norms = np.linalg.norm(centred, axis=1)
        centred /= np.maximum(norms, 1e-9)[:, None]
        about = self._about
        about["norm"][places] = np.maximum(norms, 1e-9)
        lengths = about["length"][places]
        about["share"][places] = np.minimum(1, 2 * about["lends"][places]) * lengths / (lengths + SHORT)
        threads = _add_rows(self._sums, about["thread"][places], centred * about["share"][places, None])
        self._norms[threads] = np.linalg.norm(self._sums[threads], axis=1)
        self._nearest.replace(places, centred)

    def _reckon(self, vectors: Numbers) -> None:
        """Take the mean whenever there are twice as many vectors as at the last time: so it does not depend on how
        many came at once."""
        total = self._embedded + len(vectors)
        enough = 1 << total.bit_length() >> 1
        if enough > self._embedded:
            some = self._sum + vectors[: enough - self._embedded].sum(axis=0, dtype=np.float64)
            self._next_mean = np.asarray(some / (enough + DAMPING), np.float32)
        self._sum += vectors.sum(axis=0, dtype=np.float64)
        self._embedded = total

    def _centre(self, mean: Numbers) -> None:
        """Move the middle to where the vectors have it."""
        places = np.flatnonzero(self._about["norm"][: len(self)])
        raw = self._nearest.rows(places) * self._about["norm"][places, None] + self.mean
        self.mean = mean
        self._sums = np.zeros_like(self._sums)  # who looks at the old ones goes on
        self._place(places, raw)

    def _speaker(self, name: str) -> int:
        if name not in self._speakers:
            self._speakers[name] = len(self._speakers)
            for word in fold(name).split():
                if word not in NAMELESS:
                    self._named[word] = self._named.get(word, frozenset()) | {name}
        return self._speakers[name]

    # Looking

    def view(self) -> View:
        """The shelf as it is now, and stays for who looks at it."""
        with self.lock:
            return View(self)


@dataclass(frozen=True, slots=True)
class Around:
    """Items, and those up to two beside them in their threads. `every` has all their places, each once; the
    others say for each item where in `every` it stands, and where those beside it do: behind the end where there
    is none."""

    every: Places
    own: Places
    before: Places
    after: Places
    far_before: Places
    far_after: Places


class View:
    """What a search sees of a shelf."""

    def __init__(self, shelf: MemoryIndex) -> None:
        self.size = len(shelf._where)
        self.about = {name: array[: self.size] for name, array in shelf._about.items()}
        self.mean = shelf.mean
        self.identity = shelf.identity
        self.speakers = dict(shelf._named)
        self.has_assistant = shelf.has_assistant
        self._names = dict(shelf._speakers)
        self._agents = shelf._agents
        self._where = shelf._where
        self._stems = shelf._stems
        self._counts = shelf._counts
        self._thread_count = len(shelf._threads)
        self._sums, self._norms = shelf._sums, shelf._norms
        self._nearest = shelf._nearest

    def places(self, ids: Sequence[int]) -> tuple[Places, list[int]]:
        """The places of these items, and the ids that have none yet."""
        known = [self._where.get(id_, self.size) for id_ in ids]
        found = np.array(known, np.intp)
        if not len(found) or found.max() < self.size:
            return found, []
        return found[found < self.size], [id_ for id_, at in zip(ids, known, strict=True) if at >= self.size]

    def among(self, ids: Sequence[int], which: NDArray[np.bool_]) -> list[int]:
        """Those of the ids at whose place this says so, and those that have no place yet."""
        places = [self._where.get(id_, self.size) for id_ in ids]
        fits = np.append(which, True)[np.minimum(places, self.size)] if places else ()
        return [id_ for id_, fit in zip(ids, fits, strict=True) if fit]

    def with_neighbours(self, places: Places, some: Places) -> Places:
        """The places and those beside some of them, each once."""
        return distinct((places, self._beside("before", some), self._beside("after", some)), self.size)[0]

    def _beside(self, side: str, places: Places) -> Places:
        """Those before or after these. One that came when this view was there already is nobody."""
        found = self.about[side][places]
        return np.where((places == NOBODY) | (found >= self.size), NOBODY, found)

    def around(self, places: Places) -> Around:
        left, right = self._beside("before", places), self._beside("after", places)
        far_left, far_right = self._beside("before", left), self._beside("after", right)
        every, where = distinct((places, left, right, far_left, far_right), self.size)
        return Around(every, *(where[some] for some in (places, left, right, far_left, far_right)))

    def count(self, stem: int) -> int:
        """In how many items a stem stands."""
        return self._counts.get(stem, 0)

    def agent(self, agent_id: str) -> int:
        return self._agents.get(agent_id, NOBODY)

    def said_by(self, places: Places, names: Set[str]) -> NDArray[np.bool_]:
        wanted = [number for name, number in self._names.items() if name in names]
        return np.isin(self.about["speaker"][places], wanted)

    def has_speakers_besides(self, names: Set[str]) -> bool:
        return any(name not in names for name in self._names)

    def holds(self, places: Places, stems: Sequence[int]) -> Numbers:
        """For each place a row: 1 for each of these stems that it has."""
        counts = self.about["count"][places]
        ends = np.cumsum(counts)
        at = np.repeat(self.about["stems"][places] - ends + counts, counts)
        at += np.arange(len(at))
        found = self._stems.take(at)
        maybe = np.zeros(1 << 16, np.bool_)  # most are told apart by their lower half
        maybe[[stem & 0xFFFF for stem in stems]] = True
        few = np.flatnonzero(maybe.take(found & 0xFFFF))
        row, found = np.searchsorted(ends, few, "right"), found[few]
        table = np.zeros((len(places), len(stems)), np.float32)
        for column, stem in enumerate(stems):
            table[row[found == stem], column] = 1
        return table

    def nearest(self, query: Numbers, k: int, among: NDArray[np.bool_] | None) -> Places:
        found = self._nearest.search(query, k, among)[0]
        return found[found < self.size]  # more may have come

    def threads(self, places: Places) -> tuple[Numbers, Numbers, Places]:
        """The vectors of these items' threads, their lengths, and for each item which of them is its own."""
        numbers = self.about["thread"][places]
        which, where = distinct((numbers,), self._thread_count)
        return self._sums.take(which, axis=0), self._norms[which], where.take(numbers)

    def stems(self, place: int) -> bytes:
        """Of an item, packed: the same for the same stems."""
        start, count = int(self.about["stems"][place]), int(self.about["count"][place])
        return self._stems[start : start + count].tobytes()

    def vectors(self, places: Places) -> Numbers:
        return self._nearest.rows(places)


def distinct(some: Sequence[NDArray[Any]], size: int) -> tuple[Places, Places]:
    """All numbers below `size` in these, each once, ascending; and for each number where among them it stands: for
    `NOBODY`, behind the end. Marks in a table, where `np.unique` would sort."""
    marked = np.zeros(size + 1, np.bool_)
    for numbers in some:
        marked[numbers] = True
    every = np.flatnonzero(marked[:size])
    where = np.empty(size + 1, np.intp)
    where[every] = np.arange(len(every))
    where[size] = len(every)
    return every, where


def _add_rows(sums: Numbers, rows: NDArray[np.int32], vectors: Numbers) -> NDArray[np.int32]:
    """`np.add.at`, quicker where rows come in runs. Gives the rows that have changed."""
    order = np.argsort(rows, kind="stable")
    heads, starts = np.unique(rows[order], return_index=True)
    if len(heads):
        sums[heads] += np.add.reduceat(vectors[order], starts, axis=0)
    return heads
