"""Analyze a text for the index: the stems of its words, and flags for what kind of text it is.

Words lose case and accents, and are stemmed: as English words, and in a German, Spanish or French text also as
words of that language. What is written as one ("src/app.py", "TW-218", "RateLimit") is found by its parts and as a
whole, however it is separated. Runs of a script without blanks between words count by overlapping pairs of
characters, and characters that may be words also by themselves. A stem is kept as a number of 32 bits. A change to
how words are read needs a migration, like migration 11, that has all texts analyzed again.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from zlib import crc32

from lifelong.redaction import find_secrets, suspicion
from lifelong.text.dates import MONTHS, WEEKDAYS
from lifelong.text.languages import FOREIGN_WORDS, STOP_WORDS, guess_language
from lifelong.text.role_play import CUES, begins_play, ends_play
from lifelong.text.stems import stem, stem_in
from lifelong.text.words import FIRST_PERSON, FOLDED_WORD, BoundedCache, contents, fold, is_stop, word_set

MAX_ANALYZED_CHARS = 100_000

IN_FIRST_PERSON, NUMBER, DATED, NAMED, PERSON, ASSISTANT, SECRET, IS_QUESTION = (1 << bit for bit in range(8))
"""Flags of a text: it is in the first person; it holds a number, a time, a name; a person said it, or an assistant
without a name did; it held a secret, which was removed; it is a question and nothing else."""
BEGINS_PLAY, ENDS_PLAY = 1 << 8, 1 << 9
"""Flags above all others, so that an index finds them: it proposes to play parts; it says that this is over."""

_NUMBERS = word_set(
    """one two three four five six seven eight nine ten eleven twelve dozen once twice couple half hundred thousand
    first second third"""
)
_TIMES = frozenset((*MONTHS, *WEEKDAYS, *(f"{day}s" for day in WEEKDAYS))) | word_set(
    """yesterday today tonight tomorrow ago last next week weeks weekend weekends month months year years day days
    morning mornings evening evenings night nights since recently just soon now summer winter spring fall birthday
    christmas"""
)
_SUSPICIOUS, _PLAY_CUE = 1 << 10, 1 << 11
MAX_QUESTION_WORDS = 12  # content words of a text that is a question and nothing else
_QUESTION_END = re.compile(r"[?\u061f\uff1f]\s*$")
_IDENTIFIER = re.compile(r"[^\W_][-_./:\\@#][^\W_]|[a-z][A-Z]|[^\W\d_]\d|\d[^\W\d_]")
_IDENTIFIER_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_LETTERS_OR_DIGITS = re.compile(r"[a-z]+|\d+")
_LINE_NUMBER = re.compile(r"(?<=[^\W\d]):\d+(?::\d+)?\W*$")  # behind the name of a file
_NOT_WORD = re.compile(r"[\W_]+")
MAX_IDENTIFIER_CHARS, MIN_PART_CHARS = 60, 2
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


class _Piece(NamedTuple):
    """What stands between two blanks: its content words, the numbers of their stems, flags, and whether it is a
    small word of another language than English."""

    words: tuple[str, ...]
    stems: tuple[int, ...]
    flags: int
    is_foreign: bool


def extract_terms(text: str) -> TextTerms:
    """Return the terms of a text as it is, secrets included (see `analyze`)."""
    suspicious = len(text) > MAX_ANALYZED_CHARS
    text = text[:MAX_ANALYZED_CHARS]
    stems: list[int] = []
    flags = 0
    pieces = [_pieces[piece] for piece in text.split()]
    for piece in pieces:
        stems += piece.stems
        flags |= piece.flags
    length = len(stems)
    if any(piece.is_foreign for piece in pieces) and (language := guess_language(_small_words(text))):
        said = {word for piece in pieces for word in piece.words} - STOP_WORDS[language]
        stems = [number for word in said for number in (stem_number(word), _foreign_stem(language, word))]
        length = length if said else 0  # none: a text that has words without stems would be taken for damaged
    if flags & _SUSPICIOUS:
        flags, suspicious = flags ^ _SUSPICIOUS, True
    if _NAME.search(text):
        flags |= NAMED
    if ends_in_question(text) and length <= MAX_QUESTION_WORDS:
        flags |= IS_QUESTION
    if flags & _PLAY_CUE:
        flags ^= _PLAY_CUE
        flags |= BEGINS_PLAY if begins_play(text) else ENDS_PLAY if ends_play(text) else 0
    return TextTerms(array("I", sorted(set(stems))), length, flags, suspicious)


class AnalyzedText(NamedTuple):
    """A text as the index keeps it, without secrets, and its terms."""

    text: str
    stems: array[int]
    length: int
    flags: int


def analyze(text: str, *, is_redacted: bool = False) -> AnalyzedText:
    """Return a text without secrets, and its terms."""
    stems, length, flags, suspicious = extract_terms(text)
    if suspicious and not is_redacted and (safe := find_secrets(text)).found:
        text, (stems, length, flags, _) = safe.text, extract_terms(safe.text)
        flags |= SECRET
    return AnalyzedText(text, stems, length, flags)


def _analyze_piece(piece: str) -> _Piece:
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
    if any(word.startswith(CUES) for word in words):
        flags |= _PLAY_CUE
    said = (*contents(words, folded), *_identifier_words(piece, words))
    return _Piece(said, tuple(map(stem_number, said)), flags, not FOREIGN_WORDS.isdisjoint(words))


def _identifier_words(piece: str, words: Sequence[str]) -> list[str]:
    """Return by which other words a piece is found that is written as one: the whole without what separates its
    parts, and the parts that only capitals and digits separate."""
    core = _NOT_WORD.sub(" ", _LINE_NUMBER.sub("", piece)).strip()
    if len(core) > MAX_IDENTIFIER_CHARS or not _IDENTIFIER.search(piece):
        return []
    whole = fold(core.replace(" ", ""))
    parts = [*map(fold, _IDENTIFIER_PART.findall(core)), *_LETTERS_OR_DIGITS.findall(fold(core))]
    every = dict.fromkeys((whole, *(part for part in parts if len(part) >= MIN_PART_CHARS)))
    return [word for word in every if word not in words and not is_stop(word)]


_pieces = BoundedCache(_analyze_piece)


def text_words(text: str) -> Mapping[str, None]:
    """Return the content words of a text, folded, in order, each once; also those by which parts of it are
    found."""
    return dict.fromkeys(word for piece in text[:MAX_ANALYZED_CHARS].split() for word in _pieces[piece].words)


def query_words(text: str) -> list[str]:
    """Return the content words of a question, folded, in order, each once. Where all of them are small words of
    its language, they are meant: "Ella" is a name, too."""
    words = list(dict.fromkeys(word for piece in text.split() for word in _pieces[piece].words))
    language = guess_language(_small_words(text))
    return [word for word in words if word not in STOP_WORDS[language]] or words if language else words


def count_pieces(text: str) -> int:
    """Return how many pieces between blanks hold a content word."""
    return sum(bool(_pieces[piece].words) for piece in text.split())


def query_stems(word: str) -> tuple[int, ...]:
    """Return the numbers of all stems under which a folded word may be found, the English one first."""
    every = (stem_number(word), *(_foreign_stem(language, word) for language in STOP_WORDS))
    return tuple(dict.fromkeys(every))


def _small_words(text: str) -> list[str]:
    return FOLDED_WORD.findall(fold(text))


def ends_in_question(text: str) -> bool:
    """Return whether it ends in a question."""
    return _QUESTION_END.search(text[-10:]) is not None


def name_stems(name: str) -> list[int]:
    """Return the numbers of the stems that a text has which holds all words of a name: in whatever language it is,
    the English ones are among them."""
    return [stem_number(word) for word in query_words(name)]


def stem_number(word: str) -> int:
    """Return the number of a folded word's stem."""
    return crc32(stem(word).encode())


def _foreign_stem(language: str, word: str) -> int:
    return crc32(stem_in(language, word).encode())
