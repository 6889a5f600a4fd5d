"""How well the words of a text match those of a question: fully where they have a stem in common, else by how near
they are in meaning ("folder" and "directory"). The bundled model has a vector for each word; for everyday words,
also in other languages, there is a table of what they are about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lifelong.text.concepts import concepts_of
from lifelong.text.words import same_letters

Numbers: TypeAlias = NDArray[np.float32]

MIN_COSINE = 0.25  # of two words that have something in common
CURVE = 0.7  # makes more of small likenesses
MIN_ALIKE_SHARE = 0.6  # of the letters of two words that begin alike, if they are forms of one word, or a slip
SAME_CONCEPT = 0.7  # the likeness of two words that are about the same
MAX_TEXT_WORDS = 250  # distinct ones of a text that are compared
MAX_ASKED_WORDS = 32  # of a question
MAX_WORD_LETTERS = 20
MIN_STEM_LETTERS = 4  # of a word that another one begins with


class WordEmbedder(Protocol):
    """Has a vector for each word."""

    def embed_words(self, words: Sequence[str]) -> Numbers:
        """Return a row of length 1 for each word."""
        ...


def match_words(embedder: WordEmbedder, words: Sequence[str], texts: Sequence[Iterable[str]]) -> Numbers:
    """Return a row for each text, given as its words: how well the best of them matches each of the question's.
    Only words of letters are compared, and only so many of a text and of a question."""
    found = np.zeros((len(texts), len(words)), np.float32)
    asked = [at for at, word in enumerate(words) if _may_be_alike(word)][:MAX_ASKED_WORDS]
    compared = [[*islice(filter(_may_be_alike, text), MAX_TEXT_WORDS)] for text in texts]
    found[:, asked] = _match(embedder, [words[at] for at in asked], compared)
    return found


def _may_be_alike(word: str) -> bool:
    return len(word) <= MAX_WORD_LETTERS and word.isalpha()


def _match(embedder: WordEmbedder, words: Sequence[str], texts: Sequence[Sequence[str]]) -> Numbers:
    vocabulary = list(dict.fromkeys(word for text in texts for word in text))
    if not words or not vocabulary:
        return np.zeros((len(texts), len(words)), np.float32)
    rows = embedder.embed_words([*words, *vocabulary])
    cosines = rows[len(words) :] @ rows[: len(words)].T
    likeness = np.clip((cosines - MIN_COSINE) / (1 - MIN_COSINE), 0, 1) ** CURVE
    starts_alike = np.array([word[:2] for word in vocabulary])[:, None] == np.array([word[:2] for word in words])
    for known, asked in zip(*np.nonzero(likeness * starts_alike), strict=True):
        if not _is_comparable(words[asked], vocabulary[known]):
            likeness[known, asked] = 0
    _raise_same_concepts(likeness, words, vocabulary)
    number = {word: place for place, word in enumerate(vocabulary)}
    nothing = len(vocabulary)  # stands for a text without words
    flat = [place for text in texts for place in ([number[word] for word in text] or [nothing])]
    beginnings = np.cumsum([0, *(max(1, len(text)) for text in texts)])[:-1]
    padded = np.vstack([likeness, np.zeros((1, len(words)), np.float32)])
    return np.asarray(np.maximum.reduceat(padded.take(flat, axis=0), beginnings, axis=0), np.float32)


def _raise_same_concepts(likeness: Numbers, words: Sequence[str], vocabulary: Sequence[str]) -> None:
    """Give words that are about the same at least `SAME_CONCEPT`."""
    asked: dict[int, list[int]] = {}
    for at, word in enumerate(words):
        for concept in concepts_of(word):
            asked.setdefault(concept, []).append(at)
    for known, word in enumerate(vocabulary if asked else ()):
        for concept in concepts_of(word) & asked.keys():
            likeness[known, asked[concept]] = np.maximum(likeness[known, asked[concept]], SAME_CONCEPT)


def _is_comparable(one: str, other: str) -> bool:
    """Return whether the likeness of two words that begin alike means something. The model puts rare words
    together from pieces, so that "joke" and "Joost" seem near."""
    longer, shorter = sorted((one, other), key=len, reverse=True)
    alike = same_letters(one, other)
    if alike < len(shorter):
        alike += same_letters(one[alike:][::-1], other[alike:][::-1])
    return alike >= MIN_ALIKE_SHARE * len(longer) or (alike == len(shorter) and alike >= MIN_STEM_LETTERS)
