"""The static embedder: a vector a token, and their mean for a text. The yardstick for what organizing costs.

Read straight from the files that the package `wordllama` holds; its own loader would ask the network.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BATCH = 32  # the vectors of so many texts stay in the cache

Vectors = NDArray[np.float32]


class Embedder:
    """Uses one thread, so that its CPU time compares."""

    def __init__(self) -> None:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        files = folder()
        self._tokenizer = Tokenizer.from_file(str(files / "tokenizers" / "l2_supercat_tokenizer_config.json"))
        weights = load_file(files / "weights" / "l2_supercat_256.safetensors")
        self._vectors = weights["embedding.weight"].astype(np.float32)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A vector of length 1 for each text; of length 0 for one without a token."""
        batches = [self._batch(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)]
        return np.concatenate(batches)

    def _batch(self, texts: Sequence[str]) -> Vectors:
        encoded = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        tokens = [one.ids for one in encoded]
        lengths = np.array([len(ids) for ids in tokens])
        sums = np.zeros((len(texts), self._vectors.shape[1]), np.float32)
        told = np.flatnonzero(lengths)
        starts = (np.cumsum(lengths) - lengths)[told]
        if told.size:
            sums[told] = np.add.reduceat(self._vectors[np.concatenate([tokens[row] for row in told])], starts)
        norms = np.linalg.norm(sums, axis=1, keepdims=True)  # of the sums: the mean points the same way
        np.divide(sums, norms, out=sums, where=norms > 0)
        return sums


def folder() -> Path:
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("The embedder's weights come with wordllama: pip install wordllama.")
    return Path(spec.origin).parent
