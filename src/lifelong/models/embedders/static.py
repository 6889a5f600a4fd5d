"""The bundled model: a vector for each token, and a text's is their weighted mean. No network, 0.02 ms a text.

The two files that PyPI's `wordllama` carries are read from its folder. Its code is not imported: it tries to
download.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lifelong.errors import ConfigError
from lifelong.models.embedders.base import Identity, Lazy, Rows, Vector, cleaned, fingerprint, unit

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
INSTALL = "Install it anew: pip install --force-reinstall wordllama."

MOST_BYTES = 65_536  # of a text; tokens beyond a few thousand hardly move its mean
SIF = 1e-3  # a token of frequency p weighs SIF / (SIF + p)
COMMON = """the of and to a in is that for it as was with be by on not he i this are or his from at which but have
an had they you were their one all we can her has there been if more when will would who so no she my me your do
did what how"""

REMEMBERED, LONGEST_REMEMBERED = 50_000, 40  # words, and characters of one: some 15 MB
PIECE = re.compile(r"\w+(?:['\u2019]\w+)?|[^\w\s]")


class _Model(NamedTuple):
    identity: Identity
    table: Rows  # what a token adds to a text: its vector times its weight
    tokenizer: Tokenizer


_BUNDLED: Lazy[_Model] = Lazy(lambda: _load(_bundled()))
"""One for all users of a process: it takes 40 MB."""


class StaticEmbedder:
    """No token reaches over a blank, so words are cut into tokens one by one, and remembered."""

    def __init__(self, folder: Path | None = None) -> None:
        self._model = Lazy(lambda: _load(folder)) if folder else _BUNDLED
        self._known: dict[str, list[int]] = {}

    @property
    def identity(self) -> Identity:
        return self._model().identity

    def embed(self, texts: Sequence[str]) -> Rows:
        import numpy as np

        words = [text.split() for text in cleaned(texts, MOST_BYTES)]
        tokens = self._tokens({word for text in words for word in text})
        table = self._model().table
        sums = np.zeros((len(words), table.shape[1]), np.float32)
        for place, text in enumerate(words):
            if text:
                table.take([token for word in text for token in tokens[word]], axis=0).sum(axis=0, out=sums[place])
        return unit(sums)

    def embed_query(self, text: str, weights: Mapping[str, float]) -> Vector:
        import numpy as np

        pieces = PIECE.findall(cleaned([text], MOST_BYTES)[0])
        tokens, table = self._tokens(set(pieces)), self._model().table
        total = np.zeros((1, table.shape[1]), np.float32)
        for piece in pieces:
            word = piece.lower()
            if weight := weights.get(word, weights.get(word.removesuffix("'s").removesuffix("\u2019s"), 1.0)):
                total += np.float32(weight) * table.take(tokens[piece], axis=0).sum(axis=0)
        row: Vector = unit(total)[0]
        return row

    def _tokens(self, words: AbstractSet[str]) -> dict[str, list[int]]:
        known = self._known
        tokens = {word: known[word] for word in words if word in known}
        new = [word for word in words if word not in tokens]
        found = self._model().tokenizer.encode_batch_fast(new, add_special_tokens=False)
        tokens |= {word: one.ids for word, one in zip(new, found, strict=True)}
        if len(known) > REMEMBERED:
            self._known = known = {}
        known.update({word: tokens[word] for word in new if len(word) <= LONGEST_REMEMBERED})
        return tokens


def _bundled() -> Path:
    spec = importlib.util.find_spec("wordllama")
    if not spec or not spec.submodule_search_locations:
        raise ConfigError(f"The bundled static model is missing. {INSTALL}")
    return Path(spec.submodule_search_locations[0])


def _load(folder: Path) -> _Model:
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    try:
        (table,) = load_file(folder / WEIGHTS).values()
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        version = fingerprint(folder / WEIGHTS, folder / TOKENIZER, f"{SIF} {COMMON}")
    except Exception as error:  # those of tokenizers are plain ones
        raise ConfigError(f"The static model in {folder} cannot be read: {error!s:.200}. {INSTALL}") from error
    if tokenizer.get_vocab_size() > len(table):
        raise ConfigError(f"The weights and the tokenizer in {folder} do not belong together. {INSTALL}")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    weighed = table.astype("f4") * _weights(tokenizer, len(table))[:, None]
    return _Model(Identity("static", version, table.shape[1]), weighed, tokenizer)


def _weights(tokenizer: Tokenizer, size: int) -> Vector:
    """By how often each token is to be expected. A byte-pair vocabulary is ordered by frequency, so by Zipf's law;
    but for bytes and single characters, which stand apart in that order, and for the commonest words."""
    import numpy as np

    common, first = set(COMMON.split()), 259  # before it: three signs, and a token for each byte
    frequency = 1 / (6.0 * np.maximum(np.arange(size), first))
    for token, number in tokenizer.get_vocab().items():
        word = token.lower().lstrip("▁")
        if len(word) <= 1 and word.isalpha() and ord(word) > 0x24F:
            frequency[number] = 1e-4  # a letter of another script
        elif number < first or len(word) <= 1 or (token.startswith("▁") and word in common):
            frequency[number] = 0.01
    return np.asarray(SIF / (SIF + frequency), np.float32)
