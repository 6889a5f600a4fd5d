"""Tell which sentences of a message are its writer's own, by how the message is laid out.

People type short paragraphs and paste long ones; what they type stands beside a question or last, and begins
carelessly. So a sentence is judged by one sum of signs, which hardly looks at words: those with which texts are
presented (`text.pasted`) are one sign of many, since nobody can list them all. The layout decides only where words
hint at somebody else's text: people also write long messages of their own.
The weights were fitted to labelled messages of many writers (`python -m bench.fitting`, `bench/DATA.md`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from math import log, log1p
from typing import NamedTuple

from lifelong.text.pasted import asks_of_somebody, points_to_text
from lifelong.text.standing import FIRST_PERSON, is_question
from lifelong.text.words import WORD, fold, pattern

MAX_LINES = 12  # more of them say no more
MAX_LONGER = 1.5  # of the logarithm of how many times longer a paragraph is than the longest other
SIGNATURE_MARKS = " -\u2013\u2014,.!~"
MIN_FRAMED_PARAGRAPHS = 3  # what stands behind the second of them may be the writer's again

_ASIDE = (
    r"\W*(?:btw|by the way|for context|context|fyi|ps|p\.s|anyway|as for me|for the record|ubrigens|zur einordnung"
    r"|ach ja|nebenbei|ich selb\w+|por cierto|a proposito|yo,|au fait|d'ailleurs|moi,|pour info|sinon)\b"
)
"""How somebody turns to something of their own."""
_GAP = re.compile(r"\n[^\S\n]*\n")
_ITEM = re.compile(r"(?:[-*\u2022\u2013]|\d{1,2}[.)])\s")


class Part(NamedTuple):
    """A sentence and where it stands in its message. `by_words`: no words present it as somebody else's;
    `presents`: its words present another text."""

    start: int
    end: int
    text: str
    by_words: bool
    presents: bool


class Signs(NamedTuple):
    """What speaks for, or against, that a sentence is the writer's own."""

    bias: float
    by_words: float
    presents: float
    one_line: float
    lines: float
    sentences: float
    message_chars: float
    sentence_words: float
    longer_paragraph: float
    last: float
    first_paragraph: float
    beside_question: float
    middle_paragraph: float
    last_of_self: float
    first_person: float
    first_person_share: float
    first_person_first: float
    asks: float
    question_before: float
    colon_here: float
    colon_before: float
    lower: float
    capitals: float
    quote_mark: float
    star: float
    item: float
    aside: float
    signed: float


WEIGHTS = Signs(
    bias=-2.6,
    by_words=2.46,
    presents=-0.93,
    one_line=0.18,
    lines=-0.31,
    sentences=-0.18,
    message_chars=0.39,
    sentence_words=-0.09,
    longer_paragraph=-0.16,
    last=1.17,
    first_paragraph=0.99,
    beside_question=1.26,
    middle_paragraph=1.89,
    last_of_self=3.81,
    first_person=-0.33,
    first_person_share=-1.14,
    first_person_first=0.77,
    asks=-0.61,
    question_before=-1.14,
    colon_here=2.44,
    colon_before=0.1,
    lower=0.52,
    capitals=-1.37,
    quote_mark=-2.14,
    star=-1.52,
    item=1.52,
    aside=3.98,
    signed=5.64,
)
CERTAIN = 1.5  # what is the writer's own although words present it as somebody else's


def may_hold_others_text(parts: Sequence[Part]) -> bool:
    """Return whether any words of a message hint at a text of somebody else's. Without a hint, even its long
    paragraphs are the writer's: most messages of several paragraphs hold nothing else."""
    return any(part.presents or not part.by_words or points_to_text(part.text) for part in parts) or (
        bool(parts) and asks_of_somebody(parts[0].text)
    )


def is_own(signs: Signs) -> bool:
    """Return whether a sentence with these signs is its writer's own."""
    total = sum(sign * weight for sign, weight in zip(signs, WEIGHTS, strict=True))
    return total > (0 if signs.by_words else CERTAIN)


def find_signs(text: str, parts: Sequence[Part], names: Collection[str] = ()) -> list[Signs]:
    """Return the signs of each sentence of a message. `names` are the writer's, folded."""
    if not parts:
        return []
    places = _paragraphs(text, parts)
    lengths: dict[int, int] = {}
    for part, place in zip(parts, places, strict=True):
        lengths[place] = lengths.get(place, 0) + len(part.text)
    by_length = sorted(lengths.values(), reverse=True)
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    folded = [fold(part.text) for part in parts]
    of_self = [FIRST_PERSON.search(one) is not None for one in folded]
    asks = [is_question(part.text) for part in parts]
    asking = {place for place, one in zip(places, asks, strict=True) if one}
    is_signed = len(lines) > 1 and fold(lines[-1]).strip(SIGNATURE_MARKS) in names
    found = []
    colon_before = question_before = False
    for n, (part, place) in enumerate(zip(parts, places, strict=True)):
        said = part.text
        words = WORD.findall(said)
        longest_other = next((one for one in by_length if one != lengths[place]), 0) or (
            lengths[place] if len(by_length) > 1 else 0
        )
        longer = log1p(lengths[place]) - log1p(longest_other) if longest_other else 0.0
        is_last_paragraph = place == places[-1] and len(lengths) >= MIN_FRAMED_PARAGRAPHS
        found.append(
            Signs(
                bias=1,
                by_words=part.by_words,
                presents=part.presents,
                one_line=len(lines) == 1,
                lines=min(len(lines), MAX_LINES),
                sentences=log(len(parts)),
                message_chars=log1p(len(text)),
                sentence_words=log1p(len(words)),
                longer_paragraph=max(-MAX_LONGER, min(MAX_LONGER, longer)),
                last=n == len(parts) - 1,
                first_paragraph=place == 0,
                beside_question=len(lengths) > 1 and place in asking,
                middle_paragraph=0 < place < places[-1],
                last_of_self=is_last_paragraph and of_self[n],
                first_person=of_self[n],
                first_person_share=sum(of_self) / len(parts),
                first_person_first=of_self[0],
                asks=asks[n],
                question_before=question_before,
                colon_here=said.endswith(":"),
                colon_before=colon_before,
                lower=said[:1].islower(),
                capitals=sum(word[0].isupper() for word in words) / max(1, len(words)),
                quote_mark=said[:1] in "\"'\u201c\u201e\u2018\u00ab>",
                star="*" in said,
                item=_ITEM.match(said) is not None,
                signed=is_signed and part.by_words,
                aside=n > 0 and part.by_words and pattern(_ASIDE).match(folded[n]) is not None,
            )
        )
        colon_before = colon_before or said.endswith(":")
        question_before = question_before or asks[n]
    return found


def _paragraphs(text: str, parts: Sequence[Part]) -> list[int]:
    """Return the number of the paragraph in which each sentence stands; an empty line is between two."""
    numbers, end = list[int](), 0
    for part in parts:
        begins = bool(numbers) and _GAP.search(text, end, part.start) is not None
        numbers.append(numbers[-1] + begins if numbers else 0)
        end = part.end
    return numbers
