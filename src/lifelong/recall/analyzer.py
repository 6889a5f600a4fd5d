"""What the index sees of a text: its words by their stems, and a few things about how it speaks.

Words are without case and accents, and English ones by their stem; runs of a script that sets no blanks between
words count by overlapping pairs of characters, and characters that may be words also by themselves. A stem is kept
as a number of 32 bits. Whoever has words read otherwise adds a migration, like step 11, that has all read again.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

import Stemmer

from lifelong.bounded_cache import BoundedCache
from lifelong.organize.rules.stems import IRREGULAR
from lifelong.redaction import find_secrets, suspicion

LONGEST = 100_000  # characters of a text that are read

STOP = frozenset(
    """a an the of to in on at for and or is are was were be been being am do does did doing done i me my mine
    myself you your yours we our us they them their he him his she her hers it its this that these those with
    from by as have has had having what which who whom whose when where why how can could would should will
    shall may might must about into over than then so if but not no any some there here just also very too up
    out off again more most much many such both each other own same all only dont don doesn didn isn wasn
    aren weren won t s re ve ll d m im ive let lets get got""".split()
)
FIRST_PERSON = frozenset("i my me we our us mine myself i'm i've i'd i'll we're we've we'll we'd".split())

NUMBERS = frozenset(
    """one two three four five six seven eight nine ten eleven twelve dozen once twice couple half hundred thousand
    first second third""".split()
)
TIMES = frozenset(
    """yesterday today tonight tomorrow ago last next week weeks weekend weekends month months year years day days
    morning mornings evening evenings night nights since recently just soon now january february march april may
    june july august september october november december monday tuesday wednesday thursday friday saturday sunday
    mondays tuesdays wednesdays thursdays fridays saturdays sundays summer winter spring fall birthday
    christmas""".split()
)

TELLS, NUMBER, DATED, NAMED, PERSON, ASSISTANT, SECRET, ASKS = (1 << bit for bit in range(8))
"""What is known of a text: it speaks in the first person; it holds a number, a time, a name; a person said it, or
an assistant without a name did; it held a secret, which was taken out; it asks, and tells nothing beside."""

_SUSPICIOUS = 1 << 8
QUESTION = 12  # content words of a question that tells nothing beside
_ASKS = re.compile(r"[?\u061f\uff1f]\s*$")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?|[\u2600-\u27bf\U0001f300-\U0001faff]")  # or a picture
_NO_BLANKS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
UNSPACED = re.compile(f"[{_NO_BLANKS}]+")
_PARTS = re.compile(f"[{_NO_BLANKS}]+|[^{_NO_BLANKS}]+")
_FIRST_WORD = "\u3400"  # from here on, Han and Hangul, a character may be a word
_DIGIT = re.compile(r"\d")
_DATE = re.compile(r"\b(?:\d{4}|\d+(?:st|nd|rd|th))\b")
_NAME = re.compile(r"[a-z,;] [A-Z][a-z]")

_stemmer = Stemmer.Stemmer("english", 0)


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
    words = [folded] if folded.isalpha() else _WORD.findall(folded)
    digits = None if folded.isalpha() else _DIGIT.search(folded)
    flags = _SUSPICIOUS if suspicion(piece) else 0
    if not FIRST_PERSON.isdisjoint(words):
        flags |= TELLS
    if digits or not NUMBERS.isdisjoint(words):
        flags |= NUMBER
    if not TIMES.isdisjoint(words) or (digits and _DATE.search(folded)):
        flags |= DATED
    return tuple(map(stem_number, _contents(words, folded))), flags


_pieces = BoundedCache(_read_piece)


def asks(text: str) -> bool:
    """Whether it ends in a question."""
    return _ASKS.search(text[-10:]) is not None


def fold(text: str) -> str:
    """Without case and accents, and with one kind of apostrophe."""
    text = text.lower()
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFKD", text.replace("\u2019", "'")).casefold()
    bare = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return unicodedata.normalize("NFKC", bare)


def content_words(text: str) -> list[str]:
    """The words that say something, in order."""
    folded = fold(text)
    return _contents(_WORD.findall(folded), folded)


def _contents(words: list[str], folded: str) -> list[str]:
    """What of the words says something; of one with an apostrophe ("l'hotel"), the parts that do."""
    whole = [word.removesuffix("'s") for word in _apart(words, folded)]
    parts = [word.split("'") if "'" in word else [word] for word in whole if not is_stop(word)]
    return [part for some in parts for part in some if len(some) == 1 or (len(part) > 1 and not is_stop(part))]


def is_stop(word: str) -> bool:
    return word in STOP or word.partition("'")[0] in STOP


def stem_number(word: str) -> int:
    """The number of a folded word's stem."""
    return crc32(stem(word).encode())


@lru_cache(maxsize=10_000)
def stem(word: str) -> str:
    return str(_stemmer.stemWord(IRREGULAR.get(word, word))) if word.isascii() else word


def _apart(words: list[str], folded: str) -> list[str]:
    """The words, those of a script that sets no blanks taken apart into pairs of characters and characters."""
    if folded.isascii() or not UNSPACED.search(folded):
        return words
    return [piece for word in words for part in _PARTS.findall(word) for piece in _characters(part)]


def _characters(part: str) -> Iterator[str]:
    if len(part) == 1 or not UNSPACED.match(part):
        yield part
        return
    yield from (part[at : at + 2] for at in range(len(part) - 1))
    yield from (character for character in part if character >= _FIRST_WORD)
