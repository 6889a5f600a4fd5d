"""What the index sees of a text: its words by their stems, and a few things about how it speaks.

Words are without case and accents, and English ones by their stem; runs of a script that sets no blanks between
words count by overlapping pairs of characters, and characters that may be words also by themselves. A stem is kept
as a number of 32 bits. Whoever has words read otherwise adds a migration, like step 11, that has all read again.
"""

from __future__ import annotations

import re
from array import array
from typing import NamedTuple
from zlib import crc32

from lifelong.redaction import find_secrets, suspicion
from lifelong.text.dates import MONTHS, WEEKDAYS
from lifelong.text.stems import stem
from lifelong.text.words import FIRST_PERSON, FOLDED_WORD, BoundedCache, contents, fold, word_set

LONGEST = 100_000  # characters of a text that are read

TELLS, NUMBER, DATED, NAMED, PERSON, ASSISTANT, SECRET, ASKS = (1 << bit for bit in range(8))
"""What is known of a text: it speaks in the first person; it holds a number, a time, a name; a person said it, or
an assistant without a name did; it held a secret, which was taken out; it asks, and tells nothing beside."""

_NUMBERS = word_set(
    """one two three four five six seven eight nine ten eleven twelve dozen once twice couple half hundred thousand
    first second third"""
)
_TIMES = frozenset((*MONTHS, *WEEKDAYS, *(f"{day}s" for day in WEEKDAYS))) | word_set(
    """yesterday today tonight tomorrow ago last next week weeks weekend weekends month months year years day days
    morning mornings evening evenings night nights since recently just soon now summer winter spring fall birthday
    christmas"""
)
_SUSPICIOUS = 1 << 8
QUESTION = 12  # content words of a question that tells nothing beside
_ASKS = re.compile(r"[?\u061f\uff1f]\s*$")
_DIGIT = re.compile(r"\d")
_DATE = re.compile(r"\b(?:\d{4}|\d+(?:st|nd|rd|th))\b")
_NAME = re.compile(r"[a-z,;] [A-Z][a-z]")


class Read(NamedTuple):
    """A text as the index keeps it: the numbers of its stems, ascending; how many content words it has; flags. And
    whether it may hold a secret."""

    stems: array[int]
    length: int
    flags: int
    suspicious: bool


def read(text: str) -> Read:
    suspicious = len(text) > LONGEST
    text = text[:LONGEST]
    stems: list[int] = []
    flags = 0
    for numbers, says in map(_pieces.__getitem__, text.lower().split()):
        stems += numbers
        flags |= says
    if flags & _SUSPICIOUS:
        flags, suspicious = flags ^ _SUSPICIOUS, True
    if _NAME.search(text):
        flags |= NAMED
    if asks(text) and len(stems) <= QUESTION:
        flags |= ASKS
    return Read(array("I", sorted(set(stems))), len(stems), flags, suspicious)


class AnalyzedText(NamedTuple):
    """What the index sees of a text: in it, secrets have no place."""

    text: str
    stems: array[int]
    length: int
    flags: int


def analyze(text: str) -> AnalyzedText:
    stems, length, flags, suspicious = read(text)
    if suspicious and (safe := find_secrets(text)).found:
        text, (stems, length, flags, _) = safe.text, read(safe.text)
        flags |= SECRET
    return AnalyzedText(text, stems, length, flags)


def _read_piece(piece: str) -> tuple[tuple[int, ...], int]:
    """What stands between two blanks, in small letters: the numbers of its stems, and flags."""
    folded = fold(piece)
    words = [folded] if folded.isalpha() else FOLDED_WORD.findall(folded)
    digits = None if folded.isalpha() else _DIGIT.search(folded)
    flags = _SUSPICIOUS if suspicion(piece) else 0
    if not FIRST_PERSON.isdisjoint(words):
        flags |= TELLS
    if digits or not _NUMBERS.isdisjoint(words):
        flags |= NUMBER
    if not _TIMES.isdisjoint(words) or (digits and _DATE.search(folded)):
        flags |= DATED
    return tuple(map(stem_number, contents(words, folded))), flags


_pieces = BoundedCache(_read_piece)


def asks(text: str) -> bool:
    """Whether it ends in a question."""
    return _ASKS.search(text[-10:]) is not None


def stem_number(word: str) -> int:
    """The number of a folded word's stem."""
    return crc32(stem(word).encode())
