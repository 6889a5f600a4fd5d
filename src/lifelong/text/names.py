"""The names in a text, and what kind each word is: a number, a name, a date, a negation, content or filler.

No grammar and no dictionary, only how a word is written and what stands beside it. Several capitalised words in
a row are one name. Where a sentence begins, a word is a name if another sentence shows it, or if it does
something, as in "Ada prefers" and "Tom moved". Languages without capitals have no names here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from lifelong.text.dates import DATE_WORDS
from lifelong.text.sentences import clauses
from lifelong.text.stems import PAST
from lifelong.text.words import FILLERS, NUMBER_WORDS, is_negation, pattern, word_set

WordKind = Literal["number", "name", "date", "negation", "content", "filler"]

_HAN = "々\u3040-\u30ff\u3400-\u9fff"  # written without spaces: a run of them is one word
_TOKEN = rf"[{_HAN}]+|[^\s—\u2013…{_HAN}]+"
_EDGES = (
    ".,;:!?\"'()[]{}<>*_~`|-=،؛؟«»\u201c\u201d\u2018\u2019„。\uff0c、\uff01\uff1f\uff1a\uff1b\uff08\uff09《》「」"
)
_ISO = re.compile(r"\d{4}-\d\d(?:-\d\d)?(?:T[\d:.+Z-]+)?")

_NUMBERS = {word: str(number) for word, number in NUMBER_WORDS.items() if number > 1}
_VERBS = word_set("is was are were has had have will would can could said says asked asks wants wanted")
_CLITICS = ("'s", "'re", "'ve", "'ll", "'d", "'m")

NAMELESS = frozenset(("", "user", "human", "assistant", "ai", "bot", "model", "agent", "system"))
"""What speakers without a name are called."""

FEMALE_RELATIVES = word_set(
    "sister mother mom mum wife daughter girlfriend aunt niece grandmother grandma fiancée"
)
MALE_RELATIVES = word_set("brother father dad husband son boyfriend uncle nephew grandfather grandpa fiancé")
ACQUAINTANCES = word_set(
    "boss manager colleague coworker friend neighbor neighbour partner roommate flatmate teacher coach mentor "
    "cousin"
)
"""Whom people name after what they are to them: "my sister Ann", "our coach Tom"."""

MAX_NAMES = 20  # of one text
_NOT_NAMES = NAMELESS | word_set(
    "customer client patient team everyone everybody someone somebody nobody today yesterday tomorrow tonight "
    "mr mrs ms dr kb mb gb tb am pm usd eur gbp anyway note tip lesson update question answer booked noted "
    "corrected moved added changed fixed updated removed sent ordered agreed decided understood"
)

_BEFORE_NAMES = word_set(
    "ask tell call meet email visit invite remind thank thanks hello hey dear contact join help send give pay see "
    "follow use try book push order welcome congratulate now then later soon maybe perhaps recently finally "
    "meanwhile apparently"
)
"""Words that may begin a sentence and stand before a name."""


class Word(NamedTuple):
    """A word of a sentence. `value` is what it says, whatever the spelling: small letters, numbers in digits,
    every negation "not". It stands at `start` to `end`, without the punctuation around it."""

    value: str
    kind: WordKind
    start: int
    end: int


def tag_words(text: str, known: frozenset[str] = frozenset()) -> list[Word]:
    """Return the words of a clause with their kinds. `known`: capitalised words that are names even where a clause
    begins (see `known_names`)."""
    found: list[Word] = []
    opening = True
    for token in pattern(_TOKEN).finditer(text):
        raw = token[0]
        bare = raw.strip(_EDGES)
        if bare:
            start = token.start() + raw.index(bare)
            value, kind = _read(bare, opening, known)
            found.append(Word(value, kind, start, start + len(bare)))
        opening = raw.endswith((":", '"', "\u201d")) or (opening and not bare)
    if found and found[0].kind == "content" and text[0].isupper() and _acts(found):
        found[0] = found[0]._replace(kind="name")
    return found


def known_names(texts: Iterable[str]) -> frozenset[str]:
    """Return the words that these clauses write with a capital where no clause begins, and mostly so."""
    capital: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for text in texts:
        for at, word in enumerate(tag_words(text)):
            if word.kind == "name" and at:
                capital[word.value] += 1
            elif word.kind == "content" and text[word.start].islower():
                small[word.value] += 1
    return frozenset(word for word, times in capital.items() if times > small[word])


def _acts(found: Sequence[Word]) -> bool:
    """Return whether a clause begins like "Caroline has" or "Caroline said"."""
    return len(found) > 1 and found[1].value in _VERBS


def _read(bare: str, opening: bool, known: frozenset[str]) -> tuple[str, WordKind]:
    """Return the value and the kind of a word without the punctuation around it."""
    low = bare.lower().replace("\u2019", "'")
    stem = low
    for clitic in _CLITICS:
        stem = stem.removesuffix(clitic)
    capital = bare[0].isupper()
    if is_negation(low):
        return "not", "negation"
    if any(map(str.isdigit, bare)):
        return low, "date" if _ISO.fullmatch(bare) else "number"
    if low in _NUMBERS:
        return _NUMBERS[low], "number"
    if capital and stem in DATE_WORDS:
        return stem, "date"
    if stem in FILLERS or stem == "may" or not any(map(str.isalnum, bare)):
        return stem, "filler"
    if capital and (
        not opening or stem in known or (len(stem) > 1 and not bare[1:].islower() and "'" not in bare)
    ):
        return stem, "name"
    return stem, "content"


def names(text: str) -> tuple[str, ...]:
    """Return the people, projects and places that a text names, as it writes them, each once and in order."""
    parts = list(clauses(text))
    known = known_names(part.text for part in parts)
    found: dict[str, str] = {}
    for part in parts:
        if part.label[:1].isupper():
            found.setdefault(part.label.lower(), part.label)
        for name in _names(part.text, tag_words(part.text, known)):
            found.setdefault(name.lower(), name)
    return tuple(name for key, name in found.items() if key not in _NOT_NAMES and len(key) > 1)[:MAX_NAMES]


def _names(text: str, found: list[Word]) -> Iterator[str]:
    """Yield the names of a clause: words that are names, joined where they stand side by side."""
    start = end = -1
    for at, word in enumerate(found):
        if word.kind == "name" or (at == 0 and (_begins_with_actor(text, found) or _begins_name(text, found))):
            if start < 0 or text[end : word.start] != " ":
                if start >= 0:
                    yield _bare(text[start:end])
                start = word.start
            end = word.end
        elif start >= 0:
            yield _bare(text[start:end])
            start = -1
    if start >= 0:
        yield _bare(text[start:end])


def _begins_with_actor(text: str, found: list[Word]) -> bool:
    """Return whether a clause begins with somebody who does something, and not with several things."""
    if len(found) < 2 or found[0].kind != "content" or not text[found[0].start].isupper():
        return False
    if text[found[0].start : found[0].end].endswith(("'s", "\u2019s")):
        return True
    who, does = found[0].value, found[1].value
    if who.endswith(("ing", "ly")) or text[found[1].start].isupper():
        return False
    is_third = does.endswith("s") and not does.endswith("ss")
    return is_third or (not who.endswith("s") and (does.endswith("ed") or does in PAST))


def _begins_name(text: str, found: list[Word]) -> bool:
    """Return whether a clause begins with the first word of a longer name."""
    if len(found) < 2 or found[0].kind != "content" or found[1].kind != "name":
        return False
    first = text[found[0].start : found[0].end]
    joined = text[found[0].end : found[1].start] == " "
    return joined and first[0].isupper() and first.isalpha() and first.lower() not in _NOT_NAMES | _BEFORE_NAMES


def _bare(name: str) -> str:
    return name.removesuffix("'s").removesuffix("\u2019s")
