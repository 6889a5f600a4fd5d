"""Parse a question: its words, the people it names, whose words it asks for, the kind of answer it wants, and the
time it is about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from lifelong.recall.analyzer import DATED, NUMBER, count_pieces, query_stems, query_words
from lifelong.text.stems import stem
from lifelong.text.time_ranges import Period, parse_period
from lifelong.text.words import fold, is_stop

MAX_PARSED_CHARS = 4_000  # of a question
MIN_QUESTION_WORDS = 3  # of a question without its mark: "Will Hartley" and "comment style" are look-ups
MAX_LOOKUP_WORDS = 3  # of a look-up, each one or an identifier; more of them, or a question mark, make a question
FRAME_WORD_WEIGHT = 0.4  # of a word that says how is asked, and not about what

FRAME = frozenset(
    """total number amount long often name kind type sort different various happen remind recommend suggest tell
    know think remember mention discuss talk say said currently current first last ago past recent recently
    previous previously earlier before after between during since passed pass day days week weeks month
    months year years time times date order wonder wondering please help able interesting want like likely
    possible possibly thing things something anything advice tips going go make use using take find become
    became consider considered write explain translate summarize convert give show list create generate fix
    describe compare calculate""".split()
)
_FRAME_STEMS = frozenset(map(stem, FRAME))

_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|old|long|far|often|big|tall)\b"
    r"|\b(?:total|number|amount|average|percentage|cost|price|size)\b"
    r"|\bwie (?:viel|viele|oft|lange|alt|gross|hoch|weit)\b|\bcuant[oa]s?\b|\bcombien\b"
)
_ASKS_TIME = re.compile(
    r"\bwhen\b|\bhow long\b|\bwhat (?:date|day|time|year|month)\b|\bfirst\b"
    r"|\bhow (?:many|much) (?:days|weeks|months|years|time)\b"
    r"|\bwann\b|\bcuando\b|\bquand\b|\bwelche[mnrs]? (?:tag|datum|jahr|monat)\b|\bque dia\b|\bquel jour\b"
)
_ASKS_ASSISTANT = re.compile(
    r"\b(?:you|we)\b[^.?!]{0,30}\b(?:said|told|gave|provided?|recommended|suggested|mentioned|listed|wrote|explained"
    r"|discussed|talked|described|shared|created|made|generated)\b"
    r"|\bdid (?:you|we) (?:say|tell|give|provide|recommend|suggest|mention|list|write|explain|discuss|talk"
    r"|describe)\b"
    r"|\bremind me\b|\b(?:our|your) (?:previous|last|earlier|past)\b"
    r"|\byour (?:list|answer|suggestion|recommendation|advice|response)s?\b"
)
_ASKS_OWN = re.compile(
    r"\b(?:i|my|me|mine|we|our|us|ich|mein\w*|mir|mich|wir|unser\w*|uns|mi|mis|yo|nuestr\w+|je|mon|ma|mes|nous|notre"
    r"|nos)\b"
)
_ASKS_PAST = re.compile(
    r"\b(?:did|was|were|had|went|used to|last|ago|first|before|yesterday|happened|war|waren|hatte\w*|wurde\w*"
    r"|fue|fueron|era|eran|habia|etait|avait)\b"
)
_ASKS_WHEN = re.compile(r"\bwhen\b")
"""Most that is asked with it has happened."""
_ASKS_NOW = re.compile(
    r"\b(?:now|current\w*|latest|still|these days|today|nowadays|at the moment|jetzt|aktuell\w*|derzeit|noch"
    r"|momentan|zurzeit|heute|ahora|actual\w*|todavia|aun|hoy|maintenant|actuel\w*|encore|aujourd'hui)\b"
)
_BEGINS_QUESTION = re.compile(
    r"\W*(?:what|which|who|whom|whose|when|where|why|how|is|are|am|do|does|did|was|were|can|could|may|should|has"
    r"|have|will|would|tell|remind|write|explain|translate|summarize|convert|give|show|create|generate|fix"
    r"|welche\w*|wer|wem|wen|wann|wo|warum|wie|wieso|hat|haben|ist|sind|schreib\w*|que|cual\w*|quien\w*|cuando|donde"
    r"|como|cuant\w+|escrib\w+|qui|quel\w*|quand|pourquoi|comment|combien|ecri\w+)\b"
)
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")


class QueryWord(NamedTuple):
    """A content word, the numbers of the stems under which it may be found, and how much it counts before its
    rarity."""

    word: str
    stems: tuple[int, ...]
    weight: float


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """`people` are the speakers it names; `wants` has the flags of an answer. `of_user`, `of_assistant`: it asks
    what the user, or what the assistant said. `is_lookup`: it is no question, but a few words to be found.
    `is_past`: it asks what was, or when something was, and not what is now. `is_present`: it asks what is, or when
    something is."""

    text: str
    words: Sequence[QueryWord]
    people: Set[str]
    wants: int
    of_user: bool
    of_assistant: bool
    is_lookup: bool
    is_past: bool
    is_present: bool
    period: Period | None


def parse_query(text: str, asked_at: datetime, speakers: Mapping[str, Set[str]], user: str = "") -> ParsedQuery:
    """Parse a question. `speakers` has, for each word of a speaker's name, the speakers who have it. The name of
    `user` stands for "I", unless somebody speaks under it."""
    text = text[:MAX_PARSED_CHARS]
    folded = fold(text)
    words = [QueryWord(word, query_stems(word), question_weight(word)) for word in query_words(text)]
    others = [one for one in words if one.word != fold(user)]
    names_user = len(words) > len(others) > 0 and fold(user) not in speakers
    words = others if names_user else words
    begins = _BEGINS_QUESTION.match(folded) is not None and len(folded.split()) >= MIN_QUESTION_WORDS
    is_question = "?" in text or count_pieces(text) > MAX_LOOKUP_WORDS or begins
    was = bool(_ASKS_PAST.search(folded)) and not _ASKS_NOW.search(folded)
    when = bool(_ASKS_WHEN.search(folded)) and not _ASKS_NOW.search(folded)
    of_assistant = bool(_ASKS_ASSISTANT.search(folded))
    return ParsedQuery(
        text=text,
        words=words,
        people=_people(text, speakers),
        wants=NUMBER * bool(_ASKS_NUMBER.search(folded)) | DATED * bool(_ASKS_TIME.search(folded)),
        of_user=(names_user or bool(_ASKS_OWN.search(folded))) and not of_assistant,
        of_assistant=of_assistant,
        is_lookup=not is_question,
        is_past=was or when,
        is_present=is_question and not was,
        period=parse_period(text, asked_at),
    )


def question_weight(word: str) -> float:
    """Return the weight of a word, before its rarity."""
    return FRAME_WORD_WEIGHT if word in FRAME or stem(word) in _FRAME_STEMS else 1.0


def _people(text: str, speakers: Mapping[str, Set[str]]) -> Set[str]:
    """Return the speakers that are named. "Mel" is Melanie if only her name begins so."""
    found: set[str] = set()
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
    return found


def _is_meant(raw: str, word: str, who: Set[str], *, first: bool) -> bool:
    """Return whether a word of a name names somebody here: in lower case only a whole name does."""
    if raw[0].isupper():
        return not (first and is_stop(word))
    return not is_stop(word) and any(fold(name) == word for name in who)
