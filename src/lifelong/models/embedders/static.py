"""The bundled model: a vector for each token, and a text has their weighted mean. No network, 0.02 ms a text.

The two files that PyPI's `wordllama` carries are read from its folder. Its code is not imported: it tries to
download. The weights are mapped, so that a process reads only the rows of the tokens it meets.
"""

from __future__ import annotations

import importlib.util
import json
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING

from lifelong.errors import ConfigError
from lifelong.models.embedders.base import Identity, Lazy, Rows, Vector, cleaned, fingerprint, unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
INSTALL = "Reinstall it: pip install --force-reinstall wordllama."

MAX_TEXT_BYTES = 65_536  # tokens beyond a few thousand hardly move the mean
SIF = 1e-3  # a token of frequency p weighs SIF / (SIF + p)
FIRST_WORD_TOKEN = 259  # before it: three signs, and a token for each byte
COMMON_WORDS = """the of and to a in is that for it as was with be by on not he i this are or his from at which but
have an had they you were their one all we can her has there been if more when will would who so no
she my me your do did what how"""

MAX_CACHED_WORDS, MAX_CACHED_CHARS = 50_000, 40  # some 15 MB
MAX_CACHED_ROWS = 10_000  # vectors of words, some 10 MB
SAMPLE_BYTES = 65_536  # of the start and the end of a file, which tell it from another
PIECE = re.compile(r"\w+(?:['\u2019]\w+)?|[^\w\s]")


class _Model:
    """The weights and the tokenizer in a folder. Its identity is known before either is loaded."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            self._dtype, self._shape, self._offset = _read_header(folder / WEIGHTS)
            samples = [part for name in (WEIGHTS, TOKENIZER) for part in _sample(folder / name)]
        except Exception as error:
            raise _unreadable(folder, error) from error
        self.identity = Identity("static", fingerprint(*samples, f"{SIF} {COMMON_WORDS}"), self._shape[1])
        self.tokenizer = Lazy(self._load_tokenizer)
        self.table = Lazy(self._open_table)
        self._vectors = Lazy(self._map_vectors)
        self._prepared: set[int] = set()

    def prepare(self, tokens: Iterable[int]) -> None:
        """Fill the rows of these tokens in `table`. Two threads may fill the same row: with the same numbers."""
        import numpy as np

        if new := sorted(set(tokens) - self._prepared):
            name = self.tokenizer().id_to_token
            weights = np.array([[_weight(number, name(number) or "")] for number in new], np.float32)
            self.table()[new] = self._vectors()[new].astype(np.float32) * weights
            self._prepared.update(new)

    def _load_tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(self._folder / TOKENIZER))
        except Exception as error:  # those of tokenizers are plain ones
            raise _unreadable(self._folder, error) from error
        if tokenizer.get_vocab_size() > self._shape[0]:
            raise ConfigError(f"The weights and the tokenizer in {self._folder} do not belong together. {INSTALL}")
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    def _open_table(self) -> Rows:
        """Return what a token adds to a text: its vector times its weight. Zeros take no memory until filled."""
        import numpy as np

        return np.zeros(self._shape, np.float32)

    def _map_vectors(self) -> NDArray[np.floating]:
        import numpy as np

        return np.asarray(np.memmap(self._folder / WEIGHTS, self._dtype, "r", self._offset, tuple(self._shape)))


_BUNDLED: Lazy[_Model] = Lazy(lambda: _Model(_bundled()))
"""One for all users of a process."""


class StaticEmbedder:
    """Embed texts with the bundled model. No token spans a blank, so words are tokenized one by one and cached."""

    def __init__(self, folder: Path | None = None) -> None:
        self._model = Lazy(lambda: _Model(folder)) if folder else _BUNDLED
        self._known: dict[str, list[int]] = {}
        self._words_lock = threading.Lock()
        self._word_places: dict[str, int] = {}
        self._word_rows: Rows | None = None

    @property
    def identity(self) -> Identity:
        return self._model().identity

    def embed(self, texts: Sequence[str]) -> Rows:
        import numpy as np

        words = [text.split() for text in cleaned(texts, MAX_TEXT_BYTES)]
        tokens = self._tokens({word for text in words for word in text})
        table = self._model().table()
        sums = np.zeros((len(words), table.shape[1]), np.float32)
        for place, text in enumerate(words):
            if text:
                table.take([token for word in text for token in tokens[word]], axis=0).sum(axis=0, out=sums[place])
        return unit(sums)

    def embed_query(self, text: str, weights: Mapping[str, float]) -> Vector:
        import numpy as np

        pieces = PIECE.findall(cleaned([text], MAX_TEXT_BYTES)[0])
        tokens, table = self._tokens(set(pieces)), self._model().table()
        total = np.zeros((1, table.shape[1]), np.float32)
        for piece in pieces:
            word = piece.lower()
            if weight := weights.get(word, weights.get(word.removesuffix("'s").removesuffix("\u2019s"), 1.0)):
                total += np.float32(weight) * table.take(tokens[piece], axis=0).sum(axis=0)
        row: Vector = unit(total)[0]
        return row

    def embed_words(self, words: Sequence[str]) -> Rows:
        """Return a row of length 1 for each word; zeros for one without a token."""
        import numpy as np

        distinct = dict.fromkeys(words)
        if len(distinct) > MAX_CACHED_ROWS:
            return self._embed_new(words)
        with self._words_lock:
            new = [word for word in distinct if word not in self._word_places]
            if len(self._word_places) + len(new) > MAX_CACHED_ROWS:
                self._word_places, new = {}, list(distinct)
            if self._word_rows is None:  # takes no memory until it is filled
                self._word_rows = np.empty((MAX_CACHED_ROWS, self.identity.dimensions), np.float32)
            start = len(self._word_places)
            self._word_rows[start : start + len(new)] = self._embed_new(new)
            self._word_places |= {word: start + at for at, word in enumerate(new)}
            return self._word_rows.take([self._word_places[word] for word in words], axis=0)

    def _embed_new(self, words: Sequence[str]) -> Rows:
        import numpy as np

        tokens, table = self._tokens(set(words)), self._model().table()
        some = [word for word in words if tokens[word]]
        rows = np.zeros((len(words), table.shape[1]), np.float32)
        if some:
            every = table.take([token for word in some for token in tokens[word]], axis=0)
            starts = np.cumsum([0, *(len(tokens[word]) for word in some)])[:-1]
            rows[[bool(tokens[word]) for word in words]] = np.add.reduceat(every, starts, axis=0)
        return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), np.float32)

    def _tokens(self, words: AbstractSet[str]) -> dict[str, list[int]]:
        known = self._known
        tokens = {word: known[word] for word in words if word in known}
        new = [word for word in words if word not in tokens]
        found = self._model().tokenizer().encode_batch_fast(new, add_special_tokens=False)
        tokens |= {word: one.ids for word, one in zip(new, found, strict=True)}
        self._model().prepare(token for word in new for token in tokens[word])
        if len(known) > MAX_CACHED_WORDS:
            self._known = known = {}
        known.update({word: tokens[word] for word in new if len(word) <= MAX_CACHED_CHARS})
        return tokens


_COMMON = frozenset(COMMON_WORDS.split())


def _bundled() -> Path:
    spec = importlib.util.find_spec("wordllama")
    if not spec or not spec.submodule_search_locations:
        raise ConfigError(f"The bundled static model is missing. {INSTALL}")
    return Path(spec.submodule_search_locations[0])


def _unreadable(folder: Path, error: Exception) -> ConfigError:
    return ConfigError(f"The static model in {folder} cannot be read: {error!s:.200}. {INSTALL}")


def _read_header(file: Path) -> tuple[str, list[int], int]:
    """Return the type, the shape and the place of the one table in a file of safetensors."""
    with file.open("rb") as opened:
        size = int.from_bytes(opened.read(8), "little")
        header = json.loads(opened.read(size)) if size < SAMPLE_BYTES else {}
    header.pop("__metadata__", None)
    (table,) = header.values()
    return {"F16": "<f2", "F32": "<f4"}[table["dtype"]], table["shape"], 8 + size + table["data_offsets"][0]


def _sample(file: Path) -> tuple[str, bytes, bytes]:
    """Return the size, the start and the end of a file: to hash 16 MB takes longer than to embed a question."""
    with file.open("rb") as opened:
        start, size = opened.read(SAMPLE_BYTES), opened.seek(0, 2)
        opened.seek(max(0, size - SAMPLE_BYTES))
        return str(size), start, opened.read()


def _weight(number: int, token: str) -> float:
    """Return how much a token counts, by how often it is to be expected. A byte-pair vocabulary is ordered by
    frequency, so by Zipf's law; except for bytes and single characters, which stand apart in that order, and for
    the commonest words."""
    word = token.lower().lstrip("▁")
    frequency = 1 / (6.0 * max(number, FIRST_WORD_TOKEN))
    if len(word) <= 1 and word.isalpha() and ord(word) > 0x24F:
        frequency = 1e-4  # a letter of another script
    elif number < FIRST_WORD_TOKEN or len(word) <= 1 or (token.startswith("▁") and word in _COMMON):
        frequency = 0.01
    return SIF / (SIF + frequency)
