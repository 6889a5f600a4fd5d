"""The items of one profile in memory: what a question is compared with.

An item has a place, at which everything about it stands in arrays: who said it and when, the stems it holds, the
items before and after it in its thread, and its vector, centred on the mean of all. The shelf reads what was
stamped since it last looked; items that nobody has stamped yet are taken in without a vector when a word leads to
them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence, Set

import numpy as np
from numpy.typing import NDArray

from recollect.recall.items import NAMELESS
from recollect.recall.words import ASSISTANT, fold
from recollect.storage.base import Row
from recollect.types import ITEM_KINDS
from recollect.vectors.nearest import Nearest, roomy

Places = NDArray[np.intp]
Numbers = NDArray[np.float32]

NEVER = np.iinfo(np.int64).max
NOBODY = -1
LENDS = 30.0  # an item of this many content words lends half of itself to those beside it
SHORT = 2.0  # an item of this many content words counts half in its thread's vector
DAMPING = 10  # items' worth of trust in a mean of zero
_TRUSTS = ("user", "agent", "tool", "web", "system")

_ABOUT = np.dtype(
    [
        *(("id", np.int64), ("at", np.int64), ("since", np.int64), ("gone", np.int64), ("until", np.int64)),
        *(("by", np.int64), ("record", np.int64), ("stems", np.int64), ("count", np.int32), ("length", np.int32)),
        *(("thread", np.int32), ("speaker", np.int32), ("agent", np.int32), ("before", np.int32)),
        *(("after", np.int32), ("kind", np.uint8), ("trust", np.uint8), ("flags", np.uint8), ("linked", np.bool_)),
        *(("nudge", np.float32), ("share", np.float32), ("norm", np.float32), ("lends", np.float32)),
    ]
)


class Shelf:
    """Changes happen under `lock`. A search sees the arrays as they were when it took them: they only grow."""

    def __init__(self, dims: int) -> None:
        self.lock = threading.RLock()
        self.stamp = 0
        self._dims = dims
        self._where: dict[int, int] = {}
        self._about = np.zeros(0, _ABOUT)
        self._stems = np.zeros(0, np.uint32)
        self._stem_count = 0
        self._counts: dict[int, int] = {}
        self._threads: dict[str, int] = {}
        self._last: dict[int, int] = {}  # the last place of each thread
        self._sums = np.zeros((0, dims), np.float32)
        self._speakers: dict[str, int] = {}
        self._agents: dict[str, int] = {}
        self._named: dict[str, frozenset[str]] = {}
        self._nearest = Nearest(dims)
        self._sum = np.zeros(dims)
        self._embedded = 0
        self._centred_at = 0
        self.mean = np.zeros(dims, np.float32)
        self.has_assistant = False

    def __len__(self) -> int:
        return len(self._where)

    @property
    def bytes(self) -> int:
        arrays = (self._about, self._stems, self._sums)
        return sum(array.nbytes for array in arrays) + self._nearest.bytes + 200 * len(self)

    # Taking in

    def take_in(self, rows: Sequence[Row]) -> None:
        """Rows of `Shelves.newer` or `Shelves.loose`, in order."""
        with self.lock:
            new = [row for row in rows if row[0] not in self._where]
            fresh = self._add(new) if new else range(0)
            for row in rows:
                self._bring_up(self._where[row[0]], row)
            self._embed([row for row in rows if row[17] is not None])
            for place in fresh:
                if self._about["linked"][place]:
                    self._link(place)
            if self._embedded > 2 * self._centred_at:
                self._centre()

    def _add(self, rows: Sequence[Row]) -> range:
        start, end = len(self._where), len(self._where) + len(rows)
        self._about = roomy(self._about, end)
        stems = [np.frombuffer(row[16], "<u4") for row in rows]
        total = sum(map(len, stems))
        self._stems = roomy(self._stems, self._stem_count + total)
        self._stems[self._stem_count : self._stem_count + total] = np.concatenate(stems)
        about = self._about[start:end]
        about["id"] = [row[0] for row in rows]
        about["kind"] = [ITEM_KINDS.index(row[2]) for row in rows]
        about["thread"] = [self._threads.setdefault(row[3], len(self._threads)) for row in rows]
        about["speaker"] = [self._speaker(row[4]) for row in rows]
        about["agent"] = [self._agents.setdefault(row[5], len(self._agents)) for row in rows]
        about["trust"] = [_TRUSTS.index(row[6]) for row in rows]
        about["at"] = [row[7] for row in rows]
        about["since"] = [row[8] for row in rows]
        about["record"] = [row[12] or 0 for row in rows]
        about["length"] = [row[13] for row in rows]
        about["flags"] = [row[14] for row in rows]
        about["count"] = [len(found) for found in stems]
        about["stems"] = self._stem_count + np.cumsum(about["count"]) - about["count"]
        about["before"] = about["after"] = NOBODY
        about["lends"] = LENDS / (LENDS + about["length"])
        self.has_assistant |= bool((about["flags"] & ASSISTANT).any())
        self._stem_count += total
        for number in np.concatenate(stems).tolist():
            self._counts[number] = self._counts.get(number, 0) + 1
        self._where.update(zip(about["id"].tolist(), range(start, end), strict=True))
        self._sums = roomy(self._sums, len(self._threads))
        self._nearest.add(np.zeros((len(rows), self._dims), np.float32))
        return range(start, end)

    def _bring_up(self, place: int, row: Row) -> None:
        """What of an item may change."""
        about = self._about[place]
        about["gone"] = NEVER if row[9] is None else row[9]
        about["until"] = NEVER if row[10] is None else row[10]
        about["by"] = row[11] or 0
        about["nudge"] = row[15]
        if row[1] is not None and not about["linked"]:
            about["linked"] = True

    def _link(self, place: int) -> None:
        """Put it behind the last of its thread. Only stamped items have neighbours: these come in order."""
        thread = int(self._about["thread"][place])
        last = self._last.get(thread, NOBODY)
        self._about["before"][place] = last
        if last != NOBODY:
            self._about["after"][last] = place
        self._last[thread] = place

    def _embed(self, rows: Sequence[Row]) -> None:
        """Vectors of items that had none."""
        rows = [row for row in rows if self._about["norm"][self._where[row[0]]] == 0]
        if not rows:
            return
        places = np.array([self._where[row[0]] for row in rows])
        vectors = np.frombuffer(b"".join(row[17] for row in rows), "<f2").reshape(-1, self._dims)
        vectors = vectors.astype(np.float32)
        known = vectors.any(axis=1)
        self._sum += vectors.sum(axis=0, dtype=np.float64)
        self._embedded += int(known.sum())
        self._place(places[known], vectors[known])

    def _place(self, places: Places, vectors: Numbers) -> None:
        centred = vectors - self.mean
        norms = np.linalg.norm(centred, axis=1)
        centred /= np.maximum(norms, 1e-9)[:, None]
        about = self._about
        about["norm"][places] = np.maximum(norms, 1e-9)
        lengths = about["length"][places]
        about["share"][places] = np.minimum(1, 2 * about["lends"][places]) * lengths / (lengths + SHORT)
        _add_rows(self._sums, about["thread"][places], centred * about["share"][places, None])
        self._nearest.replace(places, centred)

    def _centre(self) -> None:
        """Move the middle to where the vectors now have it."""
        places = np.flatnonzero(self._about["norm"][: len(self)])
        raw = self._nearest.rows(places) * self._about["norm"][places, None] + self.mean
        self.mean = (self._sum / (self._embedded + DAMPING)).astype(np.float32)
        self._sums = np.zeros_like(self._sums)  # who looks at the old ones goes on
        self._centred_at = self._embedded
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


class View:
    """What a search sees of a shelf."""

    def __init__(self, shelf: Shelf) -> None:
        self.size = len(shelf._where)
        self.about = shelf._about[: self.size]
        self.mean = shelf.mean
        self.speakers = shelf._named
        self.has_assistant = shelf.has_assistant
        self._names = shelf._speakers
        self._agents = shelf._agents
        self._where = shelf._where
        self._stems = shelf._stems
        self._counts = shelf._counts
        self._sums = shelf._sums
        self._nearest = shelf._nearest

    def places(self, ids: Sequence[int]) -> tuple[Places, list[int]]:
        """The places of these items, and the ids that have none yet."""
        known = [self._where.get(id_, self.size) for id_ in ids]
        there = [place for place in known if place < self.size]
        return np.array(there, np.intp), [id_ for id_, at in zip(ids, known, strict=True) if at >= self.size]

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

    def holds(self, places: Places, stems: Sequence[int]) -> NDArray[np.bool_]:
        """For each place a row: which of these stems it has."""
        wanted = np.array(stems, np.uint32)
        order = np.argsort(wanted)
        counts = self.about["count"][places].astype(np.int64)
        starts = np.cumsum(counts) - counts
        at = np.arange(counts.sum()) + np.repeat(self.about["stems"][places] - starts, counts)
        found = self._stems[at]
        slot = np.minimum(np.searchsorted(wanted[order], found), len(wanted) - 1)
        same = wanted[order][slot] == found
        table = np.zeros((len(places), len(wanted)), np.bool_)
        table[np.repeat(np.arange(len(places)), counts)[same], order[slot[same]]] = True
        return table

    def nearest(self, query: Numbers, k: int, among: NDArray[np.bool_] | None) -> Places:
        return self._nearest.search(query, k, among)[0]

    def similarity(self, places: Places, query: Numbers) -> Numbers:
        """How near each is; 0 where there is no place, or no vector."""
        there = places >= 0
        found = np.zeros(len(places), np.float32)
        found[there] = self._nearest.similarities(places[there], query)
        return found

    def thread_similarity(self, places: Places, query: Numbers) -> Numbers:
        """How near the whole thread of each is."""
        threads, back = np.unique(self.about["thread"][places], return_inverse=True)
        sums = self._sums[threads]
        near = np.vecdot(sums, query) / (np.linalg.norm(sums, axis=1) + 1e-9)
        return np.asarray(near, np.float32)[back]

    def stems(self, place: int) -> frozenset[int]:
        start, count = int(self.about["stems"][place]), int(self.about["count"][place])
        return frozenset(self._stems[start : start + count].tolist())

    def vectors(self, places: Places) -> Numbers:
        return self._nearest.rows(places)


def _add_rows(sums: Numbers, rows: NDArray[np.int32], vectors: Numbers) -> None:
    """`np.add.at`, quicker where rows come in runs."""
    order = np.argsort(rows, kind="stable")
    heads, starts = np.unique(rows[order], return_index=True)
    if len(heads):
        sums[heads] += np.add.reduceat(vectors[order], starts, axis=0)
