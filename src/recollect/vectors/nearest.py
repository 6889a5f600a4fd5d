"""Rows of length 1 in memory, and which of them are nearest to a query."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


class Nearest:
    def __init__(self, dims: int) -> None:
        self._rows = np.zeros((0, dims), np.float32)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    @property
    def bytes(self) -> int:
        return self._rows.nbytes

    def add(self, rows: NDArray[Any]) -> int:
        start = self._n
        self._n += len(rows)
        self._rows = roomy(self._rows, self._n)
        self._rows[start : self._n] = rows
        return start

    def replace(self, places: NDArray[np.intp], rows: NDArray[Any]) -> None:
        self._rows[places] = rows

    def rows(self, places: NDArray[np.intp]) -> Vector:
        return self._rows[places]

    def similarities(self, places: NDArray[np.intp], query: Vector) -> Vector:
        return np.asarray(np.vecdot(self._rows[places], query), np.float32)

    def search(
        self, query: Vector, k: int, among: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.intp], Vector]:
        s = np.vecdot(self._rows[: self._n], query)
        if among is not None:
            s = np.where(among, s, -np.inf)
        best = np.argsort(-s, kind="stable")[:k]
        return best[np.isfinite(s[best])], s[best[np.isfinite(s[best])]]


def roomy(array: NDArray[Any], length: int) -> NDArray[Any]:
    if length <= len(array):
        return array
    larger = np.zeros((length + length // 2, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
