"""The words that an owner's items hold, as they are written: where a look-up holds a word that is nowhere, those
that differ from it by one slip stand in for it.

`words` is derived: the index worker fills it from the texts that it embeds.
"""

from __future__ import annotations

from collections.abc import Iterable

from lifelong.recall.analyzer import text_words
from lifelong.storage.base import Transaction
from lifelong.text.words import same_letters

MIN_LETTERS, MAX_LETTERS = 5, 40  # of a word in which a slip is forgiven
MAX_NEAR = 3  # words that stand in for another


class Vocabulary:
    """The words of one owner, seen through a transaction."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner

    def add(self, texts: Iterable[str]) -> None:
        """Note the words of these texts."""
        words = {word for text in texts for word in text_words(text) if may_be_misspelled(word)}
        self._tx.many(
            "INSERT INTO words (owner, word) VALUES (?, ?) ON CONFLICT (owner, word) DO NOTHING",
            [(self._owner, word) for word in sorted(words)],
        )

    def near(self, word: str) -> list[str]:
        """Return the words that begin with the same letter and differ from this one by one slip: a letter too
        many, too few, another, or two that changed places."""
        rows = self._tx.all(
            "SELECT word FROM words WHERE owner = ? AND word >= ? AND word < ? AND length(word) BETWEEN ? AND ? "
            "ORDER BY word",
            *(self._owner, word[0], chr(ord(word[0]) + 1), len(word) - 1, len(word) + 1),
        )
        return [other for (other,) in rows if is_one_slip(word, other)][:MAX_NEAR]


def may_be_misspelled(word: str) -> bool:
    """Return whether a slip in a word is forgiven: it has enough letters, and is not a number."""
    return MIN_LETTERS <= len(word) <= MAX_LETTERS and word.isalnum() and not word.isdigit()


def is_one_slip(one: str, other: str) -> bool:
    """Return whether two words differ by one slip."""
    start = same_letters(one, other)
    rest, other_rest = one[start:], other[start:]
    end = same_letters(rest[::-1], other_rest[::-1])
    rest, other_rest = rest[: len(rest) - end], other_rest[: len(other_rest) - end]
    if len(rest) == len(other_rest) == 2:
        return rest == other_rest[::-1]
    return max(len(rest), len(other_rest)) <= 1
