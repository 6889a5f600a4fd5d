"""The people, projects and places that a text names, as it writes them.

A guess from capitals, like `journal/key_facts.py`: several in a row are one name. Where a sentence begins, a word
is a name if another sentence shows it, or if it does something, as "Ada prefers" and "Tom moved" say.
"""

from __future__ import annotations

from collections.abc import Iterator

from lifelong.journal.key_facts import Word, clauses, proper, word_set, words
from lifelong.organize.rules.speakers import PAST
from lifelong.recall.items import NAMELESS

MOST = 20  # of one text
_NOBODY = NAMELESS | word_set(
    "customer client patient team everyone everybody someone somebody nobody today yesterday tomorrow tonight "
    "mr mrs ms dr kb mb gb tb am pm usd eur gbp anyway note tip lesson update question answer booked noted "
    "corrected moved added changed fixed updated removed sent ordered agreed decided understood"
)

_BEFORE_NAMES = word_set(
    "ask tell call meet email visit invite remind thank thanks hello hey dear contact join help send give pay see "
    "follow use try book push order welcome congratulate now then later soon maybe perhaps recently finally "
    "meanwhile apparently"
)
"""What a sentence may begin with where a name follows."""


def named(text: str) -> tuple[str, ...]:
    """Each once, in order; however often and with whatever capitals it is written."""
    parts = list(clauses(text))
    known = proper(part.text for part in parts)
    found: dict[str, str] = {}
    for part in parts:
        if part.label[:1].isupper():
            found.setdefault(part.label.lower(), part.label)
        for name in _names(part.text, words(part.text, known)):
            found.setdefault(name.lower(), name)
    return tuple(name for key, name in found.items() if key not in _NOBODY and len(key) > 1)[:MOST]


def _names(text: str, found: list[Word]) -> Iterator[str]:
    start = end = -1
    for at, word in enumerate(found):
        if word.kind == "name" or (at == 0 and (_acts(text, found) or _leads(text, found))):
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


def _acts(text: str, found: list[Word]) -> bool:
    """Whether a clause begins with somebody who does something, and not with several things."""
    if len(found) < 2 or found[0].kind != "content" or not text[found[0].start].isupper():
        return False
    if text[found[0].start : found[0].end].endswith(("'s", "\u2019s")):
        return True
    who, does = found[0].value, found[1].value
    if who.endswith(("ing", "ly")) or text[found[1].start].isupper():
        return False
    is_third = does.endswith("s") and not does.endswith("ss")
    return is_third or (not who.endswith("s") and (does.endswith("ed") or does in PAST))


def _leads(text: str, found: list[Word]) -> bool:
    """Whether a clause begins with the first word of a longer name."""
    if len(found) < 2 or found[0].kind != "content" or found[1].kind != "name":
        return False
    first = text[found[0].start : found[0].end]
    joined = text[found[0].end : found[1].start] == " "
    return joined and first[0].isupper() and first.isalpha() and first.lower() not in _NOBODY | _BEFORE_NAMES


def _bare(name: str) -> str:
    return name.removesuffix("'s").removesuffix("\u2019s")
