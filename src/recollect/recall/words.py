"""What the index sees of a text: its words by their stems, and a few things about how it speaks.

Words are lower case, without accents, and English ones by their stem; runs of a script that sets no blanks between
words count by overlapping pairs of characters. A stem is kept as a number of 32 bits.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

import snowballstemmer

from recollect.organize.rules.stems import IRREGULAR

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

TELLS, NUMBER, DATED, NAMED, PERSON, ASSISTANT = (1 << bit for bit in range(6))
"""What is known of a text: it speaks in the first person; it holds a number, a time, a name; a person said it, or
an assistant without a name did."""

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|once|twice|couple|half|hundred"
    r"|thousand|first|second|third)\b"
)
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|weeks?|weekends?|months?|years?|days?|mornings?|evenings?"
    r"|nights?|since|recently|just|soon|now|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|\d{4}|\d+(?:st|nd|rd|th)|summer|winter|spring"
    r"|fall|birthday|christmas)\b"
)
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+")

_stemmer = snowballstemmer.stemmer("english")


class Read(NamedTuple):
    """A text as the index keeps it: the numbers of its stems, ascending; how many content words it has; flags."""

    stems: array[int]
    length: int
    flags: int


def read(text: str) -> Read:
    folded = fold(text[:LONGEST])
    words = list(_split(folded))
    stems = [stem_number(word) for word in words if not is_stop(word)]
    flags = TELLS if not FIRST_PERSON.isdisjoint(_WORD.findall(folded)) else 0
    flags |= (NUMBER if _NUMBER.search(folded) else 0) | (DATED if _TIME.search(folded) else 0)
    flags |= NAMED if _NAME.search(text[:LONGEST]) else 0
    return Read(array("I", sorted(set(stems))), len(stems), flags)


def fold(text: str) -> str:
    """Lower case, without accents, and with one kind of apostrophe."""
    text = text.lower().replace("\u2019", "'")
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFKD", text)
    bare = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return unicodedata.normalize("NFKC", bare)


def content_words(text: str) -> list[str]:
    """The words that say something, in order."""
    return [word for word in _split(fold(text)) if not is_stop(word)]


def is_stop(word: str) -> bool:
    return word in STOP or word.partition("'")[0] in STOP


@lru_cache(maxsize=100_000)
def stem_number(word: str) -> int:
    """The number of a folded word's stem."""
    return crc32(stem(word).encode())


@lru_cache(maxsize=10_000)
def stem(word: str) -> str:
    return str(_stemmer.stemWord(IRREGULAR.get(word, word))) if word.isascii() else word


def _split(folded: str) -> Iterator[str]:
    for word in _WORD.findall(folded):
        if word.isascii() or not _UNSPACED.search(word):
            yield word.removesuffix("'s")
            continue
        for run in _UNSPACED.findall(word):
            yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))
