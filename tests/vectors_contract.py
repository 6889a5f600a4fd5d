"""The contract that every `Vectors` keeps.

class TestMine(VectorsContract):
    @pytest.fixture
    def items_in(self) -> Database: ...          # where the items are that have the vectors
    @pytest.fixture
    def open_vectors(self) -> OpenVectors: ...   # each call opens one more on the same, still empty, store
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

import numpy as np
import pytest

from lifelong.errors import InputError, MemoryClosed
from lifelong.recall.items import Items
from lifelong.storage.base import Database, Transaction
from lifelong.testing import in_threads
from lifelong.types import Item, ItemKind, new_id, to_micros
from lifelong.vectors.base import Vector, VectorFilter, VectorPartition, VectorRow, Vectors

OpenVectors: TypeAlias = Callable[[], Vectors]

PARTITION = VectorPartition("alice", "static/1/4")
X, Y, Z = (np.eye(4, dtype=np.float32)[axis] for axis in range(3))
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def make_items(
    database: Database,
    vectors: Sequence[Vector],
    owner: str = "alice",
    kinds: Sequence[ItemKind] = ("note",),
    agents: Sequence[str] = ("",),
) -> list[VectorRow]:
    """Store items, an hour apart, of these kinds and agents in turn; and return a row for each vector."""
    given = [
        Item(kinds[n % len(kinds)], new_id(), "word", NOON + timedelta(hours=n), agent_id=agents[n % len(agents)])
        for n in range(len(vectors))
    ]

    def work(tx: Transaction) -> list[int]:
        items = Items(tx, owner)
        items.add(given, NOON)
        return [found.id for one in given if (found := items.find(one.kind, one.ref))]

    ids = database.write(work)
    return [
        VectorRow(id_, one.kind, one.agent_id, to_micros(one.at), vector)
        for id_, one, vector in zip(ids, given, vectors, strict=True)
    ]


def ids_of(rows: Sequence[VectorRow]) -> list[int]:
    return [row.id for row in rows]


def unit_rows(count: int, dims: int, seed: int = 1) -> Vector:
    rows = np.random.default_rng(seed).standard_normal((count, dims)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


class VectorsContract:
    """What holds for every `Vectors`."""

    @pytest.fixture
    def vectors(self, open_vectors: OpenVectors) -> Iterator[Vectors]:
        vectors = open_vectors()
        yield vectors
        vectors.close()

    def test_an_empty_partition_holds_nothing(self, vectors: Vectors) -> None:
        assert vectors.nearest(PARTITION, X, 10) == []
        assert vectors.get(PARTITION, [1, 2]).tolist() == [[0] * 4] * 2
        assert vectors.get(PARTITION, []).shape == (0, 4)
        vectors.remove(PARTITION, [1])
        vectors.clear(PARTITION)
        vectors.put(PARTITION, [])
        vectors.maintain(PARTITION)
        assert vectors.verify(PARTITION, []) == []

    def test_it_knows_what_it_has(self, vectors: Vectors, items_in: Database) -> None:
        assert vectors.ids(PARTITION) == []
        rows = make_items(items_in, [X, Y, Z])
        vectors.put(PARTITION, rows)
        vectors.remove(PARTITION, [rows[1].id])
        assert sorted(vectors.ids(PARTITION)) == [rows[0].id, rows[2].id]

    def test_the_best_comes_first_equal_ones_by_id(self, vectors: Vectors, items_in: Database) -> None:
        rows = make_items(items_in, [-X, X + Y, 3 * X, Z, X])
        far, near, same, across, equal = ids_of(rows)
        vectors.put(PARTITION, rows)
        assert vectors.nearest(PARTITION, 5 * X, 10) == [same, equal, near, across, far]
        assert vectors.nearest(PARTITION, X, 2) == [same, equal]

    def test_vectors_come_back_at_length_one(self, vectors: Vectors, items_in: Database) -> None:
        rows = make_items(items_in, [3 * X, Y + Z])
        vectors.put(PARTITION, rows)
        got = vectors.get(PARTITION, [rows[1].id, 10**9, rows[0].id])
        assert got == pytest.approx(np.array([(Y + Z) / 2**0.5, 0 * X, X]), abs=1e-3)
        assert got.dtype == np.float32

    def test_an_id_is_overwritten(self, vectors: Vectors, items_in: Database) -> None:
        first, other = make_items(items_in, [X, Y])
        vectors.put(PARTITION, [first, other])
        vectors.put(PARTITION, [first._replace(vector=Z), first._replace(vector=-X)])
        assert vectors.nearest(PARTITION, X, 9) == [other.id, first.id]

    def test_a_filter_lets_pass_what_fits(self, vectors: Vectors, items_in: Database) -> None:
        """R3: kinds, agent and times; also where little fits."""
        rows = make_items(
            items_in, [*unit_rows(60, 4)], kinds=("note", "journal", "experience"), agents=("a", "b", "c", "d")
        )
        vectors.put(PARTITION, rows)
        cases = [
            VectorFilter(kinds=("experience",)),
            VectorFilter(kinds=("note", "journal"), agent_id="b"),
            VectorFilter(agent_id="nobody"),
            VectorFilter(since=rows[20].at),
            VectorFilter(until=rows[20].at),
            VectorFilter(("note",), "a", rows[3].at, rows[40].at),
        ]
        for only in cases:
            fits = [
                row.id
                for row in rows
                if (not only.kinds or row.kind in only.kinds)
                and only.agent_id in ("", row.agent_id)
                and (only.since is None or row.at >= only.since)
                and (only.until is None or row.at < only.until)
            ]
            assert sorted(vectors.nearest(PARTITION, X, 60, only)) == fits
            assert len(vectors.nearest(PARTITION, X, 3, only)) == min(3, len(fits))

    def test_what_is_removed_is_gone_and_may_come_back(self, vectors: Vectors, items_in: Database) -> None:
        rows = make_items(items_in, [X, Y, Z])
        vectors.put(PARTITION, rows)
        vectors.remove(PARTITION, [rows[0].id, 10**9, rows[0].id])
        assert vectors.nearest(PARTITION, X, 9) == ids_of(rows[1:])
        assert not vectors.get(PARTITION, [rows[0].id]).any()
        vectors.put(PARTITION, rows[:1])
        assert vectors.nearest(PARTITION, X, 1) == [rows[0].id]

    def test_verify_says_what_is_missing(self, vectors: Vectors, items_in: Database) -> None:
        rows = make_items(items_in, [X, Y, Z])
        vectors.put(PARTITION, rows[:2])
        assert vectors.verify(PARTITION, ids_of(rows[:2])) == []
        assert "1 items have no vector" in vectors.verify(PARTITION, ids_of(rows))[0]

    def test_what_no_store_can_take_is_refused(self, vectors: Vectors, items_in: Database) -> None:
        good, row = make_items(items_in, [X, X])
        for bad in (np.zeros(4), X * np.nan, X + np.inf, np.ones(3), np.ones((1, 4)), np.ones(0)):
            with pytest.raises(InputError):
                vectors.put(PARTITION, [good, row._replace(vector=np.asarray(bad, np.float32))])
        assert vectors.nearest(PARTITION, X, 9) == []

    def test_a_query_is_checked_too(self, vectors: Vectors, items_in: Database) -> None:
        vectors.put(PARTITION, make_items(items_in, [X]))
        assert vectors.nearest(PARTITION, np.zeros(4, np.float32), 10) == []
        for query, k in ((X * np.nan, 1), (np.ones(5, np.float32), 1), (X, 0)):
            with pytest.raises(InputError):
                vectors.nearest(PARTITION, query, k)

    def test_lengths_at_the_edge_of_the_numbers_are_fine(self, vectors: Vectors, items_in: Database) -> None:
        rows = make_items(items_in, [X * np.float32(1e38), Y * np.float32(1e-40)])
        vectors.put(PARTITION, rows)
        assert vectors.nearest(PARTITION, Y * np.float32(1e-40), 9) == ids_of(rows[::-1])

    def test_owners_and_embedders_stay_apart(self, vectors: Vectors, items_in: Database) -> None:
        """R3, R4: vectors of two embedders never meet in one search; and nobody sees another's."""
        partitions = [
            VectorPartition(owner, embedder)
            for owner in ("alice", "a.b-c_d")
            for embedder in ("static/1/4", "static/2/4", "org/onnx/1/8")
        ]
        put = {
            one: make_items(items_in, [np.ones(one.dims, np.float32)] * 2, owner=one.owner) for one in partitions
        }
        for partition, rows in put.items():
            vectors.put(partition, rows)
        first = partitions[0]
        vectors.remove(first, ids_of(put[first])[:1])
        vectors.remove(first, ids_of(put[partitions[3]]))
        vectors.clear(partitions[1])
        put[first] = put[first][1:]
        put[partitions[1]] = []
        for partition, rows in put.items():
            assert vectors.nearest(partition, np.ones(partition.dims, np.float32), 9) == ids_of(rows)

    def test_of_1000_at_least_95_in_100_are_found(self, vectors: Vectors, items_in: Database) -> None:
        partition = VectorPartition("alice", "random/1/32")
        matrix, queries = unit_rows(1_000, 32), unit_rows(20, 32, seed=2)
        rows = make_items(items_in, [*matrix])
        vectors.put(partition, rows)
        vectors.maintain(partition)
        ids = np.array(ids_of(rows))
        right = [{*ids[np.argsort(-(matrix @ query))[:10]].tolist()} for query in queries]
        found = [{*vectors.nearest(partition, query, 10)} for query in queries]
        assert sum(len(one & other) for one, other in zip(right, found, strict=True)) >= 190
        vectors.remove(partition, ids[:500].tolist())
        left = vectors.nearest(partition, queries[0], 50)
        assert len(left) == 50
        assert min(left) >= ids[500]

    def test_another_instance_has_it_after_a_restart(
        self, vectors: Vectors, open_vectors: OpenVectors, items_in: Database
    ) -> None:
        rows = make_items(items_in, [X, Y])
        vectors.put(PARTITION, rows)
        vectors.close()
        again = open_vectors()
        assert again.nearest(PARTITION, X, 9) == ids_of(rows)
        again.close()

    def test_two_instances_see_what_the_other_did(
        self, vectors: Vectors, open_vectors: OpenVectors, items_in: Database
    ) -> None:
        other = open_vectors()
        for _ in range(3):
            a, b, c = make_items(items_in, [X, Y, X + Y])
            vectors.put(PARTITION, [a, b])
            assert other.nearest(PARTITION, X, 9) == [a.id, b.id]
            other.put(PARTITION, [c])
            assert vectors.nearest(PARTITION, X, 9) == [a.id, c.id, b.id]
            vectors.remove(PARTITION, [a.id])
            assert other.nearest(PARTITION, X, 9) == [c.id, b.id]
            other.clear(PARTITION)
            assert vectors.nearest(PARTITION, X, 9) == []
        other.close()

    def test_threads_put_and_search_at_once(self, vectors: Vectors, items_in: Database) -> None:
        rows = make_items(items_in, [*unit_rows(400, 4)])

        def work(number: int) -> None:
            for start in range(number * 50, number * 50 + 50, 10):
                mine = rows[start : start + 10]
                vectors.put(PARTITION, mine)
                assert {*ids_of(mine)} <= {*vectors.nearest(PARTITION, mine[0].vector, 400)}
                assert vectors.get(PARTITION, ids_of(mine)).any(axis=1).all()

        in_threads(8, work)
        assert sorted(vectors.nearest(PARTITION, X, 400)) == ids_of(rows)

    def test_a_closed_one_says_so(self, vectors: Vectors, items_in: Database) -> None:
        rows = make_items(items_in, [X])
        vectors.close()
        vectors.close()
        for call in (
            lambda: vectors.put(PARTITION, rows),
            lambda: vectors.nearest(PARTITION, X, 1),
            lambda: vectors.clear(PARTITION),
        ):
            with pytest.raises(MemoryClosed):
                call()
