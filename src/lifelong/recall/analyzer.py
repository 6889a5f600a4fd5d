"""Analyze a text for the index: the stems of its words, and flags for what kind of text it is.

Words lose case and accents, and English ones are stemmed; runs of a script without blanks between words count by
overlapping pairs of characters, and characters that may be words also by themselves. A stem is kept as a number of
32 bits. A change to how words are read needs a migration, like migration 11, that has all texts analyzed again.
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

MAX_ANALYZED_CHARS = 100_000

IN_FIRST_PERSON, NUMBER, DATED, NAMED, PERSON, ASSISTANT, SECRET, IS_QUESTION = (1 << bit for bit in range(8))
"""Flags of a text: it is in the first person; it holds a number, a time, a name; a person said it, or an assistant
without a name did; it held a secret, which was removed; it is a question and nothing else."""

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
MAX_QUESTION_WORDS = 12  # content words of a text that is a question and nothing else
_QUESTION_END = re.compile(r"[?\u061f\uff1f]\s*$")
_DIGIT = re.compile(r"\d")
_DATE = re.compile(r"\b(?:\d{4}|\d+(?:st|nd|rd|th))\b")
_NAME = re.compile(r"[a-z,;] [A-Z][a-z]")


class TextTerms(NamedTuple):
    """The numbers of a text's stems, ascending; how many content words it has; its flags; whether it may hold a
    secret."""

    stems: array[int]
    length: int
    flags: int
    suspicious: bool


def extract_terms(text: str) -> TextTerms:
    """Return the terms of a text as it is, secrets included (see `analyze`)."""
    suspicious = len(text) > MAX_ANALYZED_CHARS
    text = text[:MAX_ANALYZED_CHARS]
    stems: list[int] = []
    flags = 0
    for numbers, piece_flags in map(_pieces.__getitem__, text.lower().split()):
        stems += numbers
        flags |= piece_flags
    if flags & _SUSPICIOUS:
        flags, suspicious = flags ^ _SUSPICIOUS, True
    if _NAME.search(text):
        flags |= NAMED
    if ends_in_question(text) and len(stems) <= MAX_QUESTION_WORDS:
        flags |= IS_QUESTION
    return TextTerms(array("I", sorted(set(stems))), len(stems), flags, suspicious)


class AnalyzedText(NamedTuple):
    """A text as the index keeps it, without secrets, and its terms."""

    text: str
    stems: array[int]
    length: int
    flags: int


def analyze(text: str) -> AnalyzedText:
    """Return a text without secrets, and its terms."""
    stems, length, flags, suspicious = extract_terms(text)
    if suspicious and (safe := find_secrets(text)).found:
        text, (stems, length, flags, _) = safe.text, extract_terms(safe.text)
        flags |= SECRET
    return AnalyzedText(text, stems, length, flags)


def _analyze_piece(piece: str) -> tuple[tuple[int, ...], int]:
    """Return the stem numbers and the flags of what stands between two blanks, in lower case."""
    folded = fold(piece)
    words = [folded] if folded.isalpha() else FOLDED_WORD.findall(folded)
    digits = None if folded.isalpha() else _DIGIT.search(folded)
    flags = _SUSPICIOUS if suspicion(piece) else 0
    if not FIRST_PERSON.isdisjoint(words):
        flags |= IN_FIRST_PERSON
    if digits or not _NUMBERS.isdisjoint(words):
        flags |= NUMBER
    if not _TIMES.isdisjoint(words) or (digits and _DATE.search(folded)):
        flags |= DATED
    return tuple(map(stem_number, contents(words, folded))), flags


_pieces = BoundedCache(_analyze_piece)


def ends_in_question(text: str) -> bool:
    """Return whether it ends in a question."""
    return _QUESTION_END.search(text[-10:]) is not None


def stem_number(word: str) -> int:
    """Return the number of a folded word's stem."""
    return crc32(stem(word).encode())
