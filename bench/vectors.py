"""Searching vectors: the local store against an exact search by numpy, on the same vectors."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import mean

import numpy as np

from bench.measure import medians
from lifelong.recall.items import Items
from lifelong.storage.sqlite import SQLite
from lifelong.types import Item, utc_now
from lifelong.vectors.base import Vector, VectorPartition, VectorRow
from lifelong.vectors.local import LocalVectors

DIMS, K, QUERIES = 256, 10, 100
SIZES = (10_000, 100_000)
BATCH = 1_000


def run() -> dict[str, float]:
    figures: dict[str, float] = {}
    print(f"{'vectors':>10} {'exact':>10} {'ours':>10} {'ratio':>7} {'recall@10':>10}")
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            figures |= _measure(Path(folder), size)
    return figures


def _measure(folder: Path, size: int) -> dict[str, float]:
    rows = like_texts(size + QUERIES)
    queries, rows = rows[:QUERIES], np.ascontiguousarray(rows[QUERIES:])
    partition = VectorPartition("bench", f"like-texts/1/{DIMS}")
    database = SQLite(folder / "bench.db")
    vectors = LocalVectors(database, lambda owner: folder / owner)
    now = utc_now()
    for start in range(0, size, BATCH):
        items = [Item("note", str(place), "word", now) for place in range(start, start + BATCH)]
        database.write(lambda tx, items=items: Items(tx, "bench").add(items, now))  # type: ignore[misc]
        some = range(start, start + BATCH)  # the first item has the id 1
        vectors.put(partition, [VectorRow(place + 1, "note", "", 0, rows[place]) for place in some])
        vectors.maintain(partition)

    def ours(query: Vector) -> list[int]:
        return [id_ - 1 for id_ in vectors.nearest(partition, query, K)]

    def exact(query: Vector) -> list[int]:
        similarities = np.vecdot(rows, query)
        best = np.argpartition(similarities, size - K)[size - K :]
        return [int(place) for place in best[np.argsort(-similarities[best])]]

    recall = mean(len(set(ours(query)) & set(exact(query))) / K for query in queries)
    exact_us, ours_us = medians([_in_turn(exact, queries), _in_turn(ours, queries)], blocks=5, size=40)
    database.close()
    print(f"{size:>10,} {exact_us:>7.0f} µs {ours_us:>7.0f} µs {ours_us / exact_us:>7.2f} {recall:>10.3f}")
    name = f"{size // 1000}k"
    return {f"vectors_{name}_over_exact": ours_us / exact_us, f"vectors_{name}_recall10": recall}


def like_texts(count: int) -> Vector:
    """Vectors that crowd as those of texts do: each is near one of many subjects, and near what all share."""
    random = np.random.default_rng(7)
    subjects = random.standard_normal((max(count // 50, 1), DIMS), np.float32)
    rows = subjects[random.integers(0, len(subjects), count)]
    rows += random.standard_normal((count, DIMS), np.float32) + random.standard_normal(DIMS, np.float32) / 2
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def _in_turn(search: Callable[[Vector], list[int]], queries: Vector) -> Callable[[], object]:
    """A call that asks the next question each time."""
    turn = iter(range(1 << 60))
    return lambda: search(queries[next(turn) % len(queries)])


if __name__ == "__main__":
    run()
