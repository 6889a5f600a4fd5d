"""The contract that every `Vectors` keeps.

class TestMine(VectorsContract):
    @pytest.fixture
    def open_vectors(self) -> OpenVectors: ...   # each call opens one more on the same, still empty, store
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
import pytest

from lifelong.errors import InputError, MemoryClosed
from lifelong.testing import in_threads
from lifelong.vectors.base import Vector, VectorItem, VectorPartition, Vectors

OpenVectors: TypeAlias = Callable[[], Vectors]

PARTITION = VectorPartition("alice", "turns", "static/1/4")
X, Y, Z = (np.eye(4, dtype=np.float32)[axis] for axis in range(3))


def items(**vectors: Vector) -> list[VectorItem]:
    return [VectorItem(id_, vector) for id_, vector in vectors.items()]


def found(vectors: Vectors, query: Vector = X, k: int = 10, partition: VectorPartition = PARTITION) -> list[str]:
    return [near.id for near in vectors.search(partition, query, k)]


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

    def test_an_empty_scope_holds_nothing(self, vectors: Vectors) -> None:
        assert found(vectors) == []
        assert len(vectors.ids(PARTITION)) == 0
        assert vectors.ids(PARTITION) == []
        vectors.remove(PARTITION, ["a"])
        vectors.clear(PARTITION)
        vectors.put(PARTITION, [])
        assert len(vectors.ids(PARTITION)) == 0

    def test_the_best_comes_first_with_its_cosine(self, vectors: Vectors) -> None:
        vectors.put(PARTITION, items(far=-X, near=X + Y, same=3 * X, across=Z))
        near = vectors.search(PARTITION, 5 * X, 10)
        assert [one.id for one in near] == ["same", "near", "across", "far"]
        assert [one.similarity for one in near] == pytest.approx([1, 0.5**0.5, 0, -1], abs=1e-3)

    def test_k_cuts_and_may_be_more_than_there_are(self, vectors: Vectors) -> None:
        vectors.put(PARTITION, items(a=X, b=X + Y, c=Y))
        assert found(vectors, k=2) == ["a", "b"]
        assert found(vectors, k=5_000) == ["a", "b", "c"]

    def test_equal_ones_come_by_id(self, vectors: Vectors) -> None:
        vectors.put(PARTITION, items(c=X, a=2 * X, d=Y, b=X))
        assert found(vectors) == ["a", "b", "c", "d"]

    def test_an_id_is_overwritten(self, vectors: Vectors) -> None:
        vectors.put(PARTITION, items(a=X, b=Y))
        vectors.put(PARTITION, items(a=-X))
        assert found(vectors) == ["b", "a"]
        assert len(vectors.ids(PARTITION)) == 2
        vectors.put(PARTITION, [VectorItem("c", X), VectorItem("c", Z)])
        assert found(vectors, Z, k=1) == ["c"]
        assert len(vectors.ids(PARTITION)) == 3

    def test_what_is_removed_is_gone_and_may_come_back(self, vectors: Vectors) -> None:
        vectors.put(PARTITION, items(a=X, b=Y, c=Z))
        vectors.remove(PARTITION, ["a", "unknown", "a"])
        assert sorted(found(vectors)) == ["b", "c"]
        assert sorted(vectors.ids(PARTITION)) == ["b", "c"]
        assert len(vectors.ids(PARTITION)) == 2
        vectors.put(PARTITION, items(a=X))
        assert found(vectors, k=1) == ["a"]

    def test_clear_empties_a_scope_and_no_other(self, vectors: Vectors) -> None:
        other = VectorPartition("alice", "documents", "static/1/4")
        vectors.put(PARTITION, items(a=X))
        vectors.put(other, items(a=X))
        assert found(vectors) == ["a"]
        vectors.clear(PARTITION)
        assert (found(vectors), vectors.ids(PARTITION)) == ([], [])
        assert found(vectors, partition=other) == ["a"]
        vectors.put(PARTITION, items(b=X))
        assert found(vectors) == ["b"]

    def test_any_text_is_an_id(self, vectors: Vectors) -> None:
        ids = ["学 \U0001f600", "a'b\"c\\d", "100 %s ?", "x" * 500, "A", "a", "-1"]
        vectors.put(PARTITION, [VectorItem(id_, X) for id_ in ids])
        assert found(vectors) == sorted(ids)
        assert set(vectors.ids(PARTITION)) == set(ids)
        vectors.remove(PARTITION, ids[:3])
        assert len(vectors.ids(PARTITION)) == 4

    def test_what_no_store_can_take_is_refused(self, vectors: Vectors) -> None:
        for bad in (np.zeros(4), X * np.nan, X + np.inf, np.ones(3), np.ones((1, 4)), np.ones(0)):
            with pytest.raises(InputError):
                vectors.put(PARTITION, [VectorItem("good", X), VectorItem("bad", np.asarray(bad, np.float32))])
        for id_ in ("", "a\0b", "\ud800", "x" * 501):
            with pytest.raises(InputError):
                vectors.put(PARTITION, [VectorItem("good", X), VectorItem(id_, X)])
        assert len(vectors.ids(PARTITION)) == 0

    def test_a_query_is_checked_too(self, vectors: Vectors) -> None:
        vectors.put(PARTITION, items(a=X))
        assert found(vectors, np.zeros(4, np.float32)) == []
        for query, k in ((X * np.nan, 1), (np.ones(5, np.float32), 1), (X, 0)):
            with pytest.raises(InputError):
                vectors.search(PARTITION, query, k)

    def test_lengths_at_the_edge_of_the_numbers_are_fine(self, vectors: Vectors) -> None:
        vectors.put(PARTITION, items(large=X * np.float32(1e38), small=Y * np.float32(1e-40)))
        assert found(vectors, Y * np.float32(1e-40)) == ["small", "large"]

    def test_owners_collections_and_embedders_stay_apart(self, vectors: Vectors) -> None:
        """R4: vectors of two embedders never meet in one search; and nobody sees another's."""
        partitions = [
            VectorPartition(owner, collection, embedder)
            for owner in ("alice", "a?%'b")
            for collection in ("turns", 'd"]["')
            for embedder in ("static/1/4", "static/2/4", "org/onnx/1/8")
        ]
        for number, partition in enumerate(partitions):
            vectors.put(
                partition,
                [VectorItem(id_, np.ones(partition.dims, np.float32)) for id_ in ("same", f"own{number}")],
            )
        vectors.remove(partitions[0], ["same"])
        for number, partition in enumerate(partitions):
            expected = [f"own{number}"] + ["same"] * (number > 0)
            assert found(vectors, np.ones(partition.dims, np.float32), partition=partition) == expected
            assert sorted(vectors.ids(partition)) == expected

    def test_of_1000_at_least_95_in_100_are_found(self, vectors: Vectors) -> None:
        partition = VectorPartition("alice", "turns", "random/1/32")
        rows, queries = unit_rows(1_000, 32), unit_rows(20, 32, seed=2)
        vectors.put(partition, [VectorItem(str(place), row) for place, row in enumerate(rows)])
        assert len(vectors.ids(partition)) == 1_000
        right = [{str(place) for place in np.argsort(-(rows @ query))[:10]} for query in queries]
        assert (
            sum(len(ids & set(found(vectors, q, 10, partition))) for ids, q in zip(right, queries, strict=True))
            >= 190
        )
        vectors.remove(partition, [str(place) for place in range(500)])
        left = found(vectors, queries[0], 50, partition)
        assert len(left) == 50
        assert all(int(id_) >= 500 for id_ in left)

    def test_another_instance_has_it_after_a_restart(self, vectors: Vectors, open_vectors: OpenVectors) -> None:
        vectors.put(PARTITION, items(a=X, b=Y))
        vectors.close()
        again = open_vectors()
        assert found(again) == ["a", "b"]
        again.close()

    def test_two_instances_see_what_the_other_did(self, vectors: Vectors, open_vectors: OpenVectors) -> None:
        other = open_vectors()
        for round_ in range(3):
            vectors.put(PARTITION, items(a=X, b=Y))
            assert found(other) == ["a", "b"], round_
            other.put(PARTITION, items(c=X + Y))
            assert found(vectors) == ["a", "c", "b"]
            vectors.remove(PARTITION, ["a"])
            assert found(other) == ["c", "b"]
            other.put(PARTITION, items(b=X))
            assert found(vectors) == ["b", "c"]
            other.clear(PARTITION)
            assert (found(vectors), len(vectors.ids(PARTITION))) == ([], 0)
        other.close()

    def test_threads_put_search_and_remove_at_once(self, vectors: Vectors) -> None:
        rows = unit_rows(400, 4)

        def work(number: int) -> None:
            mine = range(number * 50, number * 50 + 50)
            for start in range(mine.start, mine.stop, 10):
                vectors.put(PARTITION, [VectorItem(str(place), rows[place]) for place in range(start, start + 10)])
                near = vectors.search(PARTITION, rows[start], 400)
                assert {str(place) for place in range(start, start + 10)} <= {one.id for one in near}
                vectors.remove(PARTITION, [str(start)])
                assert str(start) not in found(vectors, rows[start], 400)

        in_threads(8, work)
        assert {int(id_) for id_ in vectors.ids(PARTITION)} == {place for place in range(400) if place % 10}

    def test_a_closed_one_says_so(self, vectors: Vectors) -> None:
        vectors.close()
        vectors.close()
        for call in (
            lambda: vectors.put(PARTITION, items(a=X)),
            lambda: found(vectors),
            lambda: vectors.clear(PARTITION),
        ):
            with pytest.raises(MemoryClosed):
                call()
