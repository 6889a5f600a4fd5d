"""Tell which of several statements a newer one replaces: a context shows the newer one only, a hit both.

This ends nothing. Whatever organizing would end is replaced; so is what speaks of the same thing where the newer
one says that something has changed, or gives another day, time or number for it; the signs are those of
`text.changes`. What protects somebody needs more than the rest. What one person says replaces another's word only
where it is about something that both share, and about neither of them. A wrong one misleads more than none helps,
so two sentences about different people or things are never compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import product
from typing import NamedTuple, TypeAlias

from lifelong.organize.facts import HOST
from lifelong.text import changes
from lifelong.text.names import names
from lifelong.text.sentences import sentences
from lifelong.text.standing import (
    BINDING,
    CUES,
    HEALTH,
    HEALTH_CUES,
    IDENTITY,
    MAX_TEXT_CHARS,
    Kind,
    is_for_once,
    is_private,
    is_question,
    standing,
)
from lifelong.text.stems import PAST, stem
from lifelong.text.words import COMMON, WORD, fold, pattern

MAX_SENTENCES = 4  # of a text that are compared
SAME_SHARE = 0.6  # of a sentence's words that a newer one has, if both speak of the same thing
HALF_SHARE = 0.5  # enough where the newer one says that something has changed
TOPIC_SHARE = 0.25  # the same, where they are two words, or about what somebody eats
MIN_SHARED = 2  # words that both have
MAX_RATIO = 4  # of two numbers that may count the same thing

_FROM_NOW = (
    r"\b(?:from (?:now|today|tomorrow)|as of|ab (?:jetzt|sofort|heute|morgen)|a partir d[eu]|desormais"
    r"|des maintenant)\b"
)
_TASK = (
    r"(?:please |now |can you |could you |bitte |por favor )?(?:write|provide|give|create|generate|make|list"
    r"|explain|describe|summari[sz]e|rewrite|translate|draft|show|tell|find|book|order|send|remind|schreib\w*|erstell\w*"
    r"|gib|zeig\w*|such\w*|ubersetz\w*|buch\w*|escribe|crea|dame|haz|busca|reserva|redige|ecris|donne|fais|cherche)\b"
)
_NUMBERED = re.compile(r"(?:the |our |my )?([^\W\d_]{3,})[ -](?:no\.? |#)?(\d[\d.]*)(?= [^\W\d_])")
_HAPPENED = (
    r"\b(?:i|we|he|she|they) (?:\w+ly )?([a-z]+)\b|\b(?:was|were|war|waren|fue|fueron|etait|etaient)\b|^([a-z]+)\b"
)
_SELF = (
    r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|we|we're|we've|we'd|we'll|us|our|ours|ich|mich|mir|mein\w*|wir|uns"
    r"|unser\w*|yo|mis?|nos|nosotr[oa]s|nuestr[oa]s?|soy|estoy|tengo|tenemos|vivo|vivimos|je|j'\w+|moi|mon|ma|mes"
    r"|nous|notre)\b"
)
"""Words of somebody who speaks of themselves, or of those around them."""
_LEAD = re.compile(r"([A-ZÀ-Þ][\w-]+)(?: [A-ZÀ-Þ][\w-]+)?(?:['\u2019]s)?,? [a-zß-ÿ]")
_OWNED = re.compile(
    r"\b(my|our|mein\w*|unser\w*|mi|mon|ma|[^\W\d_]+(?:'s|(?<=s)'))(?: own| new| next)? ([^\W\d_]+)"
)
_COUNTED = re.compile(
    r"(?<![\w.,])[$€£]?(\d+(?:[., ]\d+)*) ?(?!(?:st|nd|rd|th)\b)(?:new |more |other )?(%|[^\W\d_]*)"
)
_ROUGHLY = ("around", "roughly", "nearly", "approximately", "ungefahr", "etwa", "circa", "unos", "environ")
_CUES = frozenset(stem(fold(word)) for word in (*HEALTH_CUES, *CUES, *_ROUGHLY))

Values: TypeAlias = frozenset[tuple[str, str]]
"""The days, dates, times of day and numbers of a sentence, each with which of these it is."""


class Statement(NamedTuple):
    """A sentence, when and by whom it was said, and what it is, if it stands. `is_read`: what it is has to be read
    from its text. `whole`: the text that it is a sentence of."""

    text: str
    at: datetime
    record_id: int
    speaker: str = ""
    kind: Kind | None = None
    is_read: bool = False
    whole: str = ""


def statements(text: str, at: datetime, record_id: int, speaker: str) -> list[Statement]:
    """Return the first sentences of a text as statements."""
    parts = list(sentences(text[:MAX_TEXT_CHARS]))[:MAX_SENTENCES]
    return [Statement(part, at, record_id, speaker, is_read=True, whole=text) for part in parts]


class NewerStatements:
    """What was said, to tell what of it replaces something that was said before."""

    def __init__(self, said: Iterable[Statement]) -> None:
        self._holding: dict[str, list[Statement]] = {}
        for one in said:
            if not is_question(one.text) and (_read(one.text).may_replace or changes.may_end(_whole(one))):
                for word in topic(_whole(one)):
                    self._holding.setdefault(word, []).append(one)

    def replace(self, said: Statement) -> bool:
        """Return whether something that was said after this replaces it."""
        return self.newest(said) is not None

    def newest(self, said: Statement) -> Statement | None:
        """Return the newest statement that was made after this one and replaces it."""
        later = {
            id(one): one
            for word in topic(said.text)
            for one in self._holding.get(word, ())
            if _is_after(one, said)
        }
        newest_first = sorted(later.values(), key=lambda other: (other.at, other.record_id), reverse=True)
        return next((one for one in newest_first if _replaces(one, said)), None)


class _Words(NamedTuple):
    """What a sentence is about, its values, and whether it says that something changed; `strong`: that it is over,
    or so from now on. "New" and "now" may be said of anything."""

    topic: frozenset[str]
    values: Values
    changes: bool
    strong: bool

    @property
    def may_replace(self) -> bool:
        return self.changes or bool(self.values)


def topic(text: str) -> frozenset[str]:
    """Return the stems of the words that say what a text is about."""
    return changes.topic(text[:MAX_TEXT_CHARS]) - _CUES


def _read(text: str) -> _Words:
    return _read_words(text[:MAX_TEXT_CHARS])


@lru_cache(maxsize=4_096)
def _read_words(text: str) -> _Words:
    adds = changes.adds_more(text)
    return _Words(
        topic(text),
        changes.values(text),
        not adds and changes.says_changed(text),
        not adds and (changes.says_over(text) or pattern(_FROM_NOW).search(fold(text)) is not None),
    )


def _whole(said: Statement) -> str:
    return said.whole or said.text


def _is_after(one: Statement, other: Statement) -> bool:
    return one.record_id != other.record_id and (one.at, one.record_id) > (other.at, other.record_id)


def _replaces(later: Statement, earlier: Statement) -> bool:
    """Return whether a sentence replaces an earlier one."""
    newer, older = _kind(later), _kind(earlier)
    if newer != older and (older in IDENTITY or (newer and older and _group(newer) != _group(older))):
        return False
    if older in HEALTH and newer not in HEALTH:
        return False
    if fold(later.speaker) != fold(earlier.speaker):  # a person's rule is theirs
        found = older not in BINDING and _is_shared(later, earlier) and _ends(later, earlier)
    else:
        found = _ends(later, earlier) or _seems_to_replace(later, earlier, newer, older)
    # where both deny the same value, the newer one only says it again
    return found and not changes.denied_values(_whole(later)) & changes.denied_values(earlier.text)


def _ends(later: Statement, earlier: Statement) -> bool:
    """Return whether organizing would end what a sentence says, and what all of its text says."""
    whole = _whole(later)
    if not changes.ends(whole, earlier.text) or not changes.ends(whole, _whole(earlier)):
        return False
    shared = topic(whole) & topic(earlier.text)
    return not _is_of_another(later._replace(text=whole), earlier, shared) and not _repeats_dates(
        whole, earlier.text
    )


def _is_shared(later: Statement, earlier: Statement) -> bool:
    """Return whether two people speak of something that is neither's own, and that both name."""
    texts = _whole(later), _whole(earlier)
    mine = any(pattern(_SELF).search(fold(one)) or is_private(one) for one in texts)
    return (
        not mine
        and len(topic(texts[0]) & topic(texts[1])) >= MIN_SHARED
        and HOST not in (later.speaker, earlier.speaker)
    )


def _seems_to_replace(later: Statement, earlier: Statement, newer: Kind | None, older: Kind | None) -> bool:
    """Return whether a sentence says that the same thing has changed, or gives another value for it. One that
    stands is replaced by one that stands too and is about the same, or by another value."""
    new, old = _read(later.text), _read(earlier.text)
    shared = new.topic & old.topic
    if not shared or not new.may_replace:
        return False
    share = len(shared) / len(old.topic)
    about_same = share >= HALF_SHARE or (len(shared) >= MIN_SHARED and share >= TOPIC_SHARE)
    if older not in HEALTH and not about_same:
        return False  # most pairs, so it is asked before what takes longer
    if _is_of_another(later, earlier, shared):
        return False
    revalued = _revalued(later.text, earlier.text) and not _happened(earlier.text)
    if older in HEALTH:
        if newer == older == "diet" and new.strong:
            return share >= TOPIC_SHARE
        return new.changes and (revalued or (new.strong and len(shared) >= 2))
    if new.strong and about_same and newer and older:
        return True
    if not revalued or any(map(_is_request, (later.text, earlier.text))):
        return False
    if new.changes:
        return about_same
    says_no_more = len(shared) >= HALF_SHARE * len(new.topic)
    return len(shared) >= MIN_SHARED and share >= SAME_SHARE and says_no_more and not _happened(later.text)


def _is_of_another(later: Statement, earlier: Statement, shared: frozenset[str]) -> bool:
    """Return whether two sentences are about different people or things: each begins with another one, the newer
    one begins with a name that the older text does not have, or what both speak of has another number ("issue 7"),
    is another one of its kind ("the search API", "the budget for the bathroom") or belongs to somebody else."""
    which, other = (_NUMBERED.match(fold(one.text)) for one in (later, earlier))
    if which and other and which[1] == other[1] and which[2] != other[2]:
        return True
    now, before = _lead(later.text), _lead(earlier.text) or _lead(_whole(earlier))
    known, told = topic(_whole(earlier)), topic(_whole(later))
    if now and now not in known and (before or now in _names(later.text)):
        return True
    which_one, which_before = (_qualifiers(one.text, shared) for one in (later, earlier))
    if any(
        one not in known and which_before.get(thing, one) not in (one, *told) for thing, one in which_one.items()
    ):
        return True
    owned, was_owned = _owners(later.text, shared), _owners(earlier.text, shared)
    return any(
        owner != was_owned.get(word, owner) or (owner and owner not in known) for word, owner in owned.items()
    ) or any(owner and owner not in told for owner in was_owned.values())


@lru_cache(maxsize=4_096)
def _lead(text: str) -> str:
    """Return the stem of what a sentence begins with, if it is written with a capital and says something."""
    found = _LEAD.match(text)
    return next(iter(topic(found[1])), "") if found else ""


@lru_cache(maxsize=4_096)
def _names(text: str) -> frozenset[str]:
    return frozenset(stem(fold(word)) for name in names(text) for word in name.split())


@lru_cache(maxsize=4_096)
def _qualifiers(text: str, things: frozenset[str]) -> dict[str, str]:
    """Return the stem of the word that says which one is meant, for each of the things that has one."""
    words = [stem(word) for word in WORD.findall(fold(text))]
    said = topic(text) - things
    found: dict[str, str] = {}
    for place, thing in enumerate(words):
        if thing in things:
            near = [*words[place - 1 : place], *_after_for(words[place + 1 : place + 4])]
            found.update((thing, one) for one in near if one in said)
    return found


def _after_for(words: Sequence[str]) -> Sequence[str]:
    """Return what a thing is for, of the words that follow it: "for the kitchen"."""
    return words[1:] if words[:1] == ["for"] else ()


def _owners(text: str, things: frozenset[str]) -> dict[str, str]:
    """Return whose each of the things is said to be, by the stem of the name; empty for the speaker's own."""
    found = ((stem(one[2]), one[1]) for one in _OWNED.finditer(fold(text)))
    return {thing: stem(who[:-2]) if "'" in who else "" for thing, who in found if thing in things}


@lru_cache(maxsize=4_096)
def _happened(text: str) -> bool:
    """Return whether a sentence tells what only happened, which cannot change any more."""
    return any(
        not verb or verb in PAST or (verb.endswith("ed") and not verb.endswith("eed"))
        for found in pattern(_HAPPENED).finditer(fold(text))
        for verb in (found[1] or found[2],)
    )


@lru_cache(maxsize=4_096)
def _is_request(text: str) -> bool:
    """Return whether a sentence asks for something to be done once: another request does not replace it."""
    return is_for_once(text) or pattern(_TASK).match(fold(text)) is not None


def _kind(said: Statement) -> Kind | None:
    """Return what a statement is."""
    return next((one.kind for one in standing(said.text)), None) if said.is_read else said.kind


def _group(kind: Kind) -> int:
    """Return what else a kind is compared with: what is about health, about a person, or binding."""
    return 0 if kind in HEALTH else 1 if kind in BINDING else 2


def _revalued(newer: str, older: str) -> bool:
    """Return whether both have a day, a time or a number, and not the same one, or the newer one denies it."""
    denied = changes.denied_values(newer)
    given = {(kind, value) for kind, value in _read(newer).values if not any(_is_of(one, value) for one in denied)}
    known = _read(older).values
    for kind in {kind for kind, _ in given} & {kind for kind, _ in known}:
        now, was = ({value for one, value in values if one == kind} for values in (given, known))
        if kind == "date":
            if not any(_is_same_date(*pair) for pair in product(now, was)):
                return True
        elif now.isdisjoint(was) and (kind != "number" or _counts_alike(newer, older)):
            return True
    return False


def _is_of(denied: str, value: str) -> bool:
    """Return whether a value is the one that is denied: "20" of "20 November"."""
    return denied.startswith(value) or re.match(rf"{re.escape(denied)}(?!\d)", value) is not None


def _repeats_dates(newer: str, older: str) -> bool:
    """Return whether both have dates, and the same ones; a date that the newer one denies is not repeated."""
    given, known = ({value for kind, value in _read(one).values if kind == "date"} for one in (newer, older))
    denied = changes.denied_values(newer)
    given = {value for value in given if not any(_is_of(one, value) for one in denied)}
    return bool(known) and all(any(_is_same_date(one, other) for other in given) for one in known)


def _is_same_date(one: str, other: str) -> bool:
    """Return whether two dates may be the same, as far as both are given: "the 17th", "17 September"."""
    parts, others = (set(re.findall(r"\d+|\b[a-z]{3}", date)) for date in (one, other))
    return parts <= others or others <= parts


def _counts_alike(newer: str, older: str) -> bool:
    """Return whether two numbers may count the same thing: neither is many times the other, and where both say
    what they count, it is the same."""
    for (size, unit), (was, was_unit) in product(_numbers(newer), _numbers(older)):
        if max(size, was) <= MAX_RATIO * min(size, was) and (unit == was_unit or "" in (unit, was_unit)):
            return True
    return False


def _numbers(text: str) -> list[tuple[float, str]]:
    """Return the numbers of a text, each with the stem of what it counts; empty where it does not say that."""
    found = []
    for number, unit in _COUNTED.findall(fold(text)):
        whole = re.sub(r"[.,](?=\d{3}\b)| ", "", number).replace(",", ".").partition(".")[0]
        counts = unit if unit == "%" or (len(unit) > 1 and unit not in COMMON) else ""
        found.append((float(whole), stem(counts)))
    return found
