"""Parse a question: its topic, the people it names, the kind of answer it wants, and the time it is about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import datetime

from lifelong.recall.analyzer import DATED, NAMED, NUMBER, stem_number
from lifelong.text.stems import stem
from lifelong.text.time_ranges import Period, parse_period
from lifelong.text.words import content_words, fold, is_stop

MAX_PARSED_CHARS = 4_000  # of a question
FRAME_WORD_WEIGHT = 0.4  # of a word that says how is asked, and not about what

FRAME = frozenset(
    """total number amount long often name kind type sort different various happen remind recommend suggest tell
    know think remember mention discuss talk say said currently current first last ago past recent recently
    previous previously earlier before after between during since passed pass day days week weeks month
    months year years time times date order wonder wondering please help able interesting want like likely
    possible possibly thing things something anything advice tips going go make use using take find become
    became consider considered""".split()
)
_FRAME_STEMS = frozenset(map(stem, FRAME))

_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|old|long|far|often|big|tall)\b"
    r"|\b(?:total|number|amount|average|percentage|cost|price|size)\b"
)
_ASKS_TIME = re.compile(
    r"\bwhen\b|\bhow long\b|\bwhat (?:date|day|time|year|month)\b|\bfirst\b"
    r"|\bhow (?:many|much) (?:days|weeks|months|years|time)\b"
)
_ASKS_NAME = re.compile(r"\b(?:who|where|which|name)\b")
_ASKS_ASSISTANT = re.compile(
    r"\b(?:you|we)\b[^.?!]{0,30}\b(?:said|told|gave|provided?|recommended|suggested|mentioned|listed|wrote|explained"
    r"|discussed|talked|described|shared|created|made|generated)\b"
    r"|\bdid (?:you|we) (?:say|tell|give|provide|recommend|suggest|mention|list|write|explain|discuss|talk"
    r"|describe)\b"
    r"|\bremind me\b|\b(?:our|your) (?:previous|last|earlier|past)\b"
    r"|\byour (?:list|answer|suggestion|recommendation|advice|response)s?\b"
)
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """`words` has the content words, each with its stem's number and weight, without `name_words`, the names of
    speakers; `people` are the speakers it names; `wants` has the flags of an answer; `of_assistant`: it asks what
    the assistant said."""

    text: str
    words: Mapping[str, tuple[int, float]]
    people: Set[str]
    name_words: Set[str]
    wants: int
    of_assistant: bool
    period: Period | None


def parse_query(text: str, asked_at: datetime, speakers: Mapping[str, Set[str]]) -> ParsedQuery:
    """Parse a question. `speakers` has, for each word of a speaker's name, the speakers who have it."""
    text = text[:MAX_PARSED_CHARS]
    folded = fold(text)
    people, name_words = _people(text, speakers)
    found = {word: (stem_number(word), question_weight(word)) for word in content_words(text)}
    words = {word: counted for word, counted in found.items() if word not in name_words}
    wants = NUMBER * bool(_ASKS_NUMBER.search(folded)) | DATED * bool(_ASKS_TIME.search(folded))
    wants |= NAMED * bool(_ASKS_NAME.search(folded))
    if not words or (len(people) == 1 and not wants and all(counted < 1 for _, counted in words.values())):
        words, name_words = found, set()  # it asks only about the person it names
    return ParsedQuery(
        text=text,
        words=words,
        people=people,
        name_words=name_words,
        wants=wants,
        of_assistant=bool(_ASKS_ASSISTANT.search(folded)),
        period=parse_period(text, asked_at),
    )


def question_weight(word: str) -> float:
    """Return the weight of a word, before its rarity."""
    return FRAME_WORD_WEIGHT if word in FRAME or stem(word) in _FRAME_STEMS else 1.0


def _people(text: str, speakers: Mapping[str, Set[str]]) -> tuple[Set[str], Set[str]]:
    """Return the speakers that are named, and the words that name them. "Mel" is Melanie if only her name begins
    so."""
    found: set[str] = set()
    used: set[str] = set()
    for place, raw in enumerate(_WORD.findall(text)):
        word = re.sub(r"'s?$", "", fold(raw))
        who = speakers.get(word)
        if who and not _is_meant(raw, word, who, first=not place):
            continue
        if not who and raw[0].isupper() and len(word) >= 3 and not is_stop(word):
            longer = [named for name, named in speakers.items() if name.startswith(word)]
            who = longer[0] if len(longer) == 1 else None
        if who:
            found |= who
            used.add(word)
    return found, used


def _is_meant(raw: str, word: str, who: Set[str], *, first: bool) -> bool:
    """Return whether a word of a name names somebody here: in lower case only a whole name does."""
    if raw[0].isupper():
        return not (first and is_stop(word))
    return not is_stop(word) and any(fold(name) == word for name in who)
