"""Tell which of several sentences a newer one replaces, so that a context does not hold both.

This ends nothing: it only leaves a sentence out of a context. It goes by what both speak of, and by the words with
which people say that something has changed ("from now on", "statt", "ya no", "desormais"), or by another day, time
or number for the same thing. What protects somebody needs more than the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from lifelong.recall.standing import (
    BINDING,
    CUES,
    HEALTH,
    HEALTH_CUES,
    IDENTITY,
    MAX_TEXT_CHARS,
    Kind,
    is_question,
)
from lifelong.text.dates import MONTHS, WEEKDAYS
from lifelong.text.languages import FIRST, SMALL
from lifelong.text.stems import stem
from lifelong.text.words import COMMON, content_words, fold, word_set

SAME_SHARE = 0.6  # of a sentence's words that a newer one has, if both speak of the same thing
TOPIC_SHARE = 0.25  # enough where the newer one says that something has changed

_CHANGES = re.compile(
    r"\b(?:now|instead|any ?more|no longer|from (?:now|today|tomorrow|next|\d)|as of|changed?|moved|moves"
    r"|switch(?:ed)?|back (?:on|to)"
    r"|again|gave up|stopped|scrap(?:ped)?|drop(?:ped)?|after all|in the end|is (?:dead|gone|over)|isn't"
    r"|aren't|new|takes? over|slips?"
    r"|postponed|not \d+|make that|jetzt|statt|stattdessen|nicht mehr|kein\w* mehr|ab (?:jetzt|sofort|heute"
    r"|\w+)|doch|neue\w*"
    r"|verschoben|wieder|ahora|ya no|al final|cambi\w+|en vez|nuev[oa]|pasa a|vuelto"
    r"|otra vez|desormais|maintenant|ne \w+ plus"
    r"|finalement|change\w*|nouve\w+|a la place|reporte\w*)\b"
)
_STRONG = re.compile(
    r"\b(?:instead|any ?more|no longer|back (?:on|to)|gave up|stopped|scrap(?:ped)?|after all|is (?:dead"
    r"|gone)|not \d+|isn't|statt"
    r"|nicht mehr|kein\w* mehr|wieder|ya no|en vez|vuelto a|ne \w+ plus|n'\w+ plus|a la place)\b"
)
_BOUGHT = re.compile(
    r"\b(?:(?:i|we)(?:'ve| have)? (?:\w+ )?bought|(?:habe|haben) .{0,60}\bgekauft|(?:he|hemos) comprado"
    r"|(?:j'ai|avons|on a) achete)\b"
)
_UNWANTED = re.compile(
    r"\b(?:(?:don't|do not|dont|never) (?:want|need)|(?:will|brauche) kein\w*|no (?:quiero|necesito)"
    r"|ne (?:veux|voulons) (?:pas|plus))\b"
)
"""What somebody did not want, and has bought since."""
_ADDS = re.compile(
    r"\b(?:also|too|as well|another|besides|auch|ausserdem|noch ein\w*|tambien|ademas|aussi|en plus)\b"
)
_VALUE = re.compile(
    r"\b(?:(?P<day>(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag"
    r"|mittwoch|lunes|martes"
    r"|miercoles|jueves|viernes|sabado|domingo|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)s?"
    r"|(?P<clock>\d{1,2}[:.h]\d\d|\d{1,2} ?(?:am|pm|uhr))|(?P<number>\d+(?:[.,]\d+)*))\b"
)
_SAYS_LITTLE = word_set(
    """write run add send read fix build remove delete answer reply explain move live work user assistant today
    tonight thing btw yes yeah ok okay
    mal fast so da dann denn eben halt etwa ganz gar hab habe hatte haben soll sollen muss kann konnte geht gehen
    macht machen kommt sagt sagen gibt jetzt wieder alles etwas was mehr sehr viel immer nie uhr tag woche jahr
    cosa cosas hace hacer dice decir puede tener hay todo toda todos nada algo mucho ahora ya aqui dia semana ano
    vez luego
    chose faire fait dit dire peut avoir tout tous rien beaucoup maintenant ici jour semaine an fois puis alors
    bien"""
)
_GENERIC = frozenset(
    stem(fold(word)) for word in (*HEALTH_CUES, *CUES, *COMMON, *SMALL, *FIRST, *MONTHS, *WEEKDAYS, *_SAYS_LITTLE)
)


_DENIED = re.compile(
    r"\b(?:not|statt|nicht|en vez de|no|pas|au lieu de|instead of) (?:the |de |el |le |am )?(\d+(?:[.,]\d+)*)\b"
)

Values: TypeAlias = frozenset[tuple[str, str]]
"""The days, times of day and numbers of a sentence, each with which of these it is."""


class Said(NamedTuple):
    """A sentence, when and by whom it was said, and what it is, if it stands."""

    text: str
    at: datetime
    record_id: int
    speaker: str = ""
    kind: Kind | None = None


class Later:
    """What was said, to tell what of it replaces something that was said before."""

    def __init__(self, said: Iterable[Said]) -> None:
        self._holding: dict[str, list[_Read]] = {}
        for one in said:
            words = _read(one.text)
            if not is_question(one.text) and (words.changes or words.values or words.bought):
                for word in words.topic:
                    self._holding.setdefault(word, []).append(_Read(one, words))

    def replaces(self, said: Said) -> bool:
        """Return whether something that was said after this replaces it."""
        one = _Read(said, _read(said.text))
        shared: Counter[int] = Counter()
        later: dict[int, _Read] = {}
        for word in one.words.topic:
            for other in self._holding.get(word, ()):
                after = (other.said.at, other.said.record_id) > (said.at, said.record_id)
                if after and other.said.record_id != said.record_id:
                    shared[id(other)] += 1
                    later[id(other)] = other
        return any(_replaces(later[at], one, count) for at, count in shared.items())


class _Words(NamedTuple):
    """What a sentence is about, its values, those that it denies, whether it says that something changed, that
    something was bought, or that something is not wanted."""

    topic: frozenset[str]
    values: Values
    denied: frozenset[str]
    changes: bool
    strong: bool
    bought: bool
    unwanted: bool


class _Read(NamedTuple):
    said: Said
    words: _Words


def topic(text: str) -> frozenset[str]:
    """Return the stems of the words that say what a text is about."""
    return _read(text).topic


def _read(text: str) -> _Words:
    return _read_words(text[:MAX_TEXT_CHARS])


@lru_cache(maxsize=2_048)
def _read_words(text: str) -> _Words:
    folded = fold(text)
    adds = _ADDS.search(folded) is not None
    return _Words(
        frozenset(stem(word) for word in content_words(text) if not word[0].isdigit()) - _GENERIC,
        frozenset((one.lastgroup or "", one[0]) for one in _VALUE.finditer(folded)),
        frozenset(_DENIED.findall(folded)),
        not adds and _CHANGES.search(folded) is not None,
        not adds and _STRONG.search(folded) is not None,
        _BOUGHT.search(folded) is not None,
        _UNWANTED.search(folded) is not None,
    )


def _replaces(later: _Read, earlier: _Read, shared: int) -> bool:
    """Return whether a sentence replaces an earlier one. A sentence that stands is replaced by one that stands too
    and is about the same; by any other only where that gives another value, or denies this one."""
    newer, older = later.said.kind, earlier.said.kind
    is_binding = {newer, older} <= BINDING
    if fold(later.said.speaker) != fold(earlier.said.speaker) and not is_binding:
        return False
    if newer != older and (older in IDENTITY or (newer and older and _group(newer) != _group(older))):
        return False
    share = shared / len(earlier.words.topic)
    revalued = _revalued(later.words.values, earlier.words.values)
    denied = bool(later.words.denied & {value for _, value in earlier.words.values})
    if older in HEALTH:
        if newer == older == "diet" and later.words.strong:
            return share >= TOPIC_SHARE
        changed = denied or bool(revalued) or (later.words.strong and shared >= 2)
        return newer in HEALTH and later.words.changes and changed
    about_same = shared >= 2 or share >= TOPIC_SHARE
    if denied or (about_same and later.words.bought and earlier.words.unwanted):
        return True
    if later.words.changes and about_same:
        return (newer is not None and older is not None) or bool(revalued)
    return bool(revalued) and shared >= 2 and share >= SAME_SHARE


def _group(kind: Kind) -> int:
    """Return what else a kind is compared with: what is about health, about a person, or binding."""
    return 0 if kind in HEALTH else 1 if kind in BINDING else 2


def _revalued(newer: Values, older: Values) -> set[str]:
    """Return of what both have a value, and not the same one: a day, a time of day, a number."""
    both = {kind for kind, _ in newer} & {kind for kind, _ in older}
    return {kind for kind in both if {one for one in newer if one[0] == kind}.isdisjoint(older)}
