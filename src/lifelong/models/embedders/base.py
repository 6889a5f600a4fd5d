"""The seam between recall and the embedder, and what all of them share.

numpy, tokenizers and the rest take a while to import: they are imported where they are used.
"""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from lifelong.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[np.float32]"
Rows: TypeAlias = "NDArray[np.float32]"
T = TypeVar("T")


class Identity(NamedTuple):
    """Whose vectors may be compared. The version follows from whatever decides what `embed` returns: the bytes of
    the weights and of the tokenizer, the pooling, the prefix."""

    name: str
    version: str
    dimensions: int

    def __str__(self) -> str:
        return "/".join(map(str, self))


class Embedder(Protocol):
    """Turns texts into vectors. Safe to share between threads; nothing is loaded or asked before the first use.

    Any text is taken: what is not Unicode is replaced, what is long is cut into windows whose vectors are
    averaged, and what lies beyond a limit is left out. The same text gets the same vector, whatever stands
    beside it (an endpoint's last digits are its own). What cannot work before somebody changes a setting is a
    `ConfigError`; what may work later, a `ModelError`.
    """

    @property
    def identity(self) -> Identity:
        """Stored with every vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Rows:
        """Return a row of length 1 for each text that is stored, in order; zeros for a blank text."""
        ...

    def embed_query(self, text: str, weights: Mapping[str, float]) -> Vector:
        """Return the vector of a question. `weights` says how much single words of it count, in lower case: 1
        where not named, 0 leaves the word out. Embedders that read whole sentences ignore it."""
        ...


class Windowed(ABC):
    """An embedder that reads sentences, with other words before a question than before a text."""

    def __init__(self, query_prefix: str, document_prefix: str, most_bytes: int) -> None:
        self._query_prefix, self._document_prefix, self._most_bytes = query_prefix, document_prefix, most_bytes

    def embed(self, texts: Sequence[str]) -> Rows:
        return self._embedded(texts, asked=False)

    def embed_query(self, text: str, weights: Mapping[str, float]) -> Vector:
        row: Vector = self._embedded([text], asked=True)[0]
        return row

    def _embedded(self, texts: Sequence[str], *, asked: bool) -> Rows:
        """Return the average of each text's windows, longer ones counting more."""
        import numpy as np

        whole = enumerate(cleaned(texts, self._most_bytes))
        found = [(place, window) for place, text in whole if text for window in self._windows(text, asked=asked)]
        rows = self._run([window for _, window in found], asked=asked)
        sums = np.zeros((len(texts), rows.shape[1]))
        lengths = np.array([[len(window)] for _, window in found]).reshape(-1, 1)
        np.add.at(sums, np.array([place for place, _ in found], np.intp), unit(rows) * lengths)
        return unit(sums)

    @abstractmethod
    def _windows(self, text: str, *, asked: bool) -> Sequence[str]:
        """Return the text in pieces that the model takes, each with its prefix. `asked`: it is a question."""

    @abstractmethod
    def _run(self, windows: Sequence[str], *, asked: bool) -> NDArray[Any]:
        """Return a row for each window, of any length; also for none."""


class Lazy(Generic[T]):
    """What is made at the first call, once, whichever thread calls. An error is raised, and not kept."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make, self._made, self._gate = make, list[T](), threading.Lock()

    def __call__(self) -> T:
        if not self._made:
            with self._gate:
                if not self._made:
                    self._made.append(self._make())
        return self._made[0]


def cleaned(texts: Sequence[str], most: int) -> list[str]:
    """Return texts that any tokenizer takes: valid Unicode, single blanks, at most so many bytes."""
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise InputError("Only a list of texts can be embedded. Give each as a str.")
    cut = (text[:most].encode("utf-8", "replace")[:most].decode("utf-8", "ignore") for text in texts)
    return [" ".join(text.split()) for text in cut]


def unit(rows: NDArray[Any]) -> Rows:
    """Return the rows at length 1; rows of zeros stay zeros."""
    import numpy as np

    rows = np.asarray(rows, np.float64)
    rows = rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True, initial=0), 1e-300)  # no square overflows
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300), np.float32)


def fingerprint(*parts: Path | str | bytes) -> str:
    """Return a short hash of texts, of bytes, and of files by their bytes."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            with part.open("rb") as opened:
                digest.update(hashlib.file_digest(opened, "sha256").digest())
            continue
        data = part.encode("utf-8", "replace") if isinstance(part, str) else part
        digest.update(hashlib.sha256(data).digest())
    return digest.hexdigest()[:16]
