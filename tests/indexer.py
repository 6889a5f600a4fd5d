"""A process that indexes a home, and says so. Made to be killed.

    python tests/indexer.py HOME STORAGE_JSON WHAT [SETTINGS_JSON]

WHAT: `rebuild` begins by forgetting the index; `reembed` uses another embedder than the bundled one; with `die`
that one kills the process when it is asked for the third time.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence

import numpy as np

from lifelong import Memory
from lifelong.models.embedders.base import Identity, Rows, Vector
from lifelong.recall import index_worker, repair


class Letters:
    """Another embedder: how often each letter stands in a text."""

    identity = Identity("letters", "1", 26)

    def embed(self, texts: Sequence[str]) -> Rows:
        counts = np.array([[text.lower().count(chr(97 + n)) for n in range(26)] for text in texts], np.float32)
        counts = counts.reshape(-1, 26)
        return np.asarray(counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9), np.float32)

    def embed_query(self, text: str, weights: Mapping[str, float]) -> Vector:
        [row] = self.embed([text])
        return np.asarray(row, np.float32)


class Deadly(Letters):
    """The same, killed when it is asked for the third time."""

    asked = 0

    def embed(self, texts: Sequence[str]) -> Rows:
        self.asked += 1
        if self.asked == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed(texts)


def main(home: str, storage: str, what: str, settings: str = "{}") -> None:
    repair.ROWS_PER_BATCH = index_worker.BATCH = 20 if what != "die" else 5
    with Memory.open(home, storage=json.loads(storage), **json.loads(settings)) as memory:
        indexer = memory._parts.shared.index_worker
        if what == "rebuild":
            memory.admin.rebuild()
        else:
            indexer._embedders = (Deadly() if what == "die" else Letters(), *indexer._embedders)
        print("ready", flush=True)
        while indexer.run():
            print("batch", flush=True)
        print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
