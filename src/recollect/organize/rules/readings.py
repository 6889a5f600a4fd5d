"""What a claim says, taken apart: its subject, its verb, and the values it gives. No grammar, only good guesses;
what cannot be told apart stays one set of words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from recollect.organize.rules import phrases, topics
from recollect.organize.rules.phrases import SKIPPED
from recollect.organize.rules.quantities import CALENDAR, quantity
from recollect.organize.rules.stems import PASTS, stem

_TOKEN = re.compile(r"[€$£%,;:]|[^\W_]+(?:[.,:'@/_-]+[^\W_]+)*'?")
_OPENING = re.compile(
    r"\s*(?:correction|update|actually|in fact|(?:it )?turns out|as of [\w ]+|since \w+|starting \w+|now|nowadays|"
    r"finally|in the end|after all|in (?:\w+ )?\d{4})\s*[:,]\s*",
    re.IGNORECASE,
)
_PASSIVE = re.compile(r"\b(?:is|are|was|were|been|be|got|being)(?: now| already)? \Z", re.IGNORECASE)

_DETERMINERS = phrases.words("the a an this that these those his her their its our my your every each new old")
_ADVERBS = phrases.words("not never now still also currently always usually already just often finally no longer")


class Reading(NamedTuple):
    """What a claim says, in stems."""

    anchor: str
    """Whom or what it is about, in one word."""
    named: bool
    """The anchor is a name."""
    subject: frozenset[str]
    person: bool
    verb: str
    words: frozenset[str]
    """All that it says; two claims with the same words say the same."""
    predicate: frozenset[str]
    names: frozenset[str]
    """The part of the predicate that is names."""
    chunks: Mapping[str, frozenset[str]]
    """The predicate by the preposition before it."""
    slots: Mapping[str, frozenset[str]]
    """The values of single-valued attributes."""
    values: frozenset[str]
    """Dates and amounts, as words."""
    dates: Mapping[str, str]
    amounts: Mapping[str, str]
    states: Mapping[str, str]
    kinds: Mapping[str, str]
    ended: frozenset[str]
    """What it says is over."""
    replaced: frozenset[str]
    """What it says has given way to something else."""
    denied: frozenset[str]
    """What it says is not so."""
    marks: frozenset[str]


@lru_cache(maxsize=4096)
def read(sentence: str) -> Reading:
    """The claim taken apart. The caller sees to it that the sentence is short."""
    sentence = phrases.plain(sentence)
    opening = _OPENING.match(sentence)
    reader = _Reader(sentence[opening.end() :] if opening else sentence)
    begin, after = reader.find_verb()
    reader.take(0, begin, inside=False)
    reader.take(after, len(reader.tokens), inside=True)
    return reader.reading(corrected=bool(opening))


class _Reader:
    """Takes a claim apart, word by word."""

    def __init__(self, sentence: str) -> None:
        self.text = sentence.lower()
        self.tokens: list[str] = _TOKEN.findall(sentence)
        self.lows = [token.lower() for token in self.tokens]
        self.set = frozenset(self.lows)
        self.verb = self.finite = self.anchor = ""
        self.main = 0
        self.named = False
        self.person = True
        self.subject: set[str] = set()
        self.names: set[str] = set()
        self.chunks: dict[str, set[str]] = {}
        self.dates: dict[str, str] = {}
        self.amounts: dict[str, str] = {}

    # Where the verb is

    def find_verb(self) -> tuple[int, int]:
        """Where the subject ends, and where the rest begins."""
        lows = self.lows
        begin = next((at for at in range(1, len(lows)) if self._is_finite(at)), 0) or next(
            (at for at in range(2, len(lows)) if lows[at].endswith(("ed", "s")) and self.tokens[at][0].islower()),
            0,
        )
        if not begin:
            return min(1, len(lows)), min(1, len(lows))
        self.finite = lows[begin]
        main, at = begin, begin + 1
        while lows[main] in phrases.AUXILIARIES or stem(lows[main]) in topics.HELPERS:
            while at < len(lows) and (lows[at] in _ADVERBS or lows[at] in phrases.AUXILIARIES or lows[at] == "to"):
                at += 1
            if at >= len(lows) or not self._is_participle(at):
                break
            main, at = at, at + 1
        self.main, self.verb = main, stem(lows[main])
        if lows[0] == "there":
            return 0, 0
        return begin, main + 1

    def _is_finite(self, at: int) -> bool:
        low, previous = self.lows[at], self.lows[at - 1]
        if low in phrases.AUXILIARIES:
            return True
        if (
            not low[0].isalpha()
            or self.tokens[at][0].isupper()
            or previous in _DETERMINERS
            or previous in phrases.PREPOSITIONS
            or previous.endswith(("'s", "s'"))
            or low.endswith("ing")
            or (at + 1 < len(self.lows) and self.lows[at + 1] in phrases.AUXILIARIES)
        ):
            return False
        if stem(low) in topics.VERBS:
            return low.endswith(("s", "ed")) or low in PASTS or self._is_plural(at)
        return at <= 2 and self.tokens[at - 1][0].isupper() and low.endswith(("s", "ed"))

    def _is_plural(self, end: int) -> bool:
        """The subject up to here is of more than one."""
        last = next((low for low in reversed(self.lows[:end]) if low not in _ADVERBS), "")
        return last.endswith("s") or last in ("people", "children") or "and" in self.lows[:end]

    def _is_participle(self, at: int) -> bool:
        low = self.lows[at]
        if self.tokens[at][0].isupper() or low in phrases.STOP:
            return False
        if (low.endswith(("ed", "ing")) and stem(low) != low) or low in PASTS:
            return True
        return stem(low) in topics.VERBS and any(word in phrases.MODALS for word in self.lows[max(0, at - 3) : at])

    # What stands before and after it

    def take(self, start: int, end: int, inside: bool) -> None:
        """The content of the subject, or of what is said about it (`inside`)."""
        preposition = ""
        for at in range(start, end):
            low = self.lows[at]
            if low in phrases.PREPOSITIONS:
                preposition = low
            elif low not in SKIPPED and not self._take_value(at, inside):
                owned = low.endswith(("'s", "s'"))
                word = stem(low.removesuffix("'s").rstrip("'"))
                if inside:
                    self._take_word(at, word, preposition)
                else:
                    self._take_subject(at, word, preposition, owned)

    def _take_word(self, at: int, word: str, preposition: str) -> None:
        self.chunks.setdefault(preposition, set()).add(word)
        token = self.tokens[at]
        if (token[0].isupper() and not token.endswith("'s")) or not word.isalpha():
            self.names.add(word)

    def _take_subject(self, at: int, word: str, preposition: str, owned: bool) -> None:
        self.subject.add(word)
        proper = self.tokens[at][0].isupper()
        self.person = self.person and proper and not owned and not preposition
        if not self.anchor or not (self.named or preposition or proper or not word.isalpha()):
            self.anchor = word
            self.named = proper and (at > 0 or owned)

    def _take_value(self, at: int, inside: bool) -> bool:
        """A date, time or amount. One that stands in the subject tells which one is meant."""
        found = quantity(self.tokens, self.lows, at)
        if not found:
            return False
        what, value = found
        if not inside and (self.subject or self.lows[0] not in phrases.PREPOSITIONS):
            self.subject.add(f"{what}:{value}" if what in CALENDAR else value)
            self.person = False
        elif what in CALENDAR:
            self.dates.setdefault(what, value)
        else:
            self.amounts.setdefault(what, value)
        return True

    # All of it

    def reading(self, corrected: bool) -> Reading:
        predicate = frozenset(word for chunk in self.chunks.values() for word in chunk)
        if not self.subject:
            self.subject = set(self.chunks.get("", predicate))
            self.person = False
            self.anchor = min(self.subject, default="")
        denied = self._denied()
        if self.verb == topics.HATE:
            self.verb = topics.LIKE
            denied = frozenset() if denied else predicate | {topics.LIKE}
        chunks = {preposition: frozenset(chunk) for preposition, chunk in self.chunks.items()}
        subject = frozenset(self.subject)
        values = frozenset(f"{what}:{value}" for what, value in (*self.dates.items(), *self.amounts.items()))
        verb = () if not self.verb or self.verb in topics.LIGHT else (self.verb,)
        return Reading(
            anchor=self.anchor,
            named=self.named or self.person,
            subject=subject,
            person=self.person,
            verb=self.verb,
            words=subject.union(predicate, values, verb),
            predicate=predicate,
            names=frozenset(self.names),
            chunks=chunks,
            slots=self._slots(chunks, predicate),
            values=values,
            dates=self.dates,
            amounts=self.amounts,
            states=self._states(),
            kinds=_kinds(predicate | {self.verb}),
            ended=self._ended(),
            replaced=_contents(found[1])
            if (found := phrases.REPLACED.search(self.set, self.text))
            else frozenset(),
            denied=denied,
            marks=self._marks(corrected),
        )

    def _slots(self, chunks: Mapping[str, frozenset[str]], predicate: frozenset[str]) -> dict[str, frozenset[str]]:
        slots: dict[str, frozenset[str]] = {}
        for preposition, value in chunks.items():
            if slot := topics.SLOTS.get((self.verb, preposition)):
                slots[slot] = slots.get(slot, frozenset()) | value
        if "home" in slots and self.verb in topics.CHANGES:
            slots["place"] = slots["home"]
        if any(map(topics.is_occupation, chunks.get("as", ()))):
            slots["job"] = chunks["as"]
        if self.verb in topics.MEASURES:
            slots[topics.MEASURES[self.verb]] = frozenset()
        if self.verb in topics.COPULAS or self.verb in topics.CHANGES:
            value = chunks.get("") or chunks.get("to") or chunks.get("in") or chunks.get("at") or frozenset()
            slots |= {topics.ATTRIBUTES[word]: value for word in self.subject if word in topics.ATTRIBUTES}
        for word in sorted(predicate & topics.ATTRIBUTES.keys() - topics.BROAD):
            slots[topics.ATTRIBUTES[word]] = chunks.get("to") or predicate - {word}
            if topics.ATTRIBUTES[word] == "job" and (employer := chunks.get("at") or chunks.get("with")):
                slots["employer"] = employer
        if self.verb in topics.COPULAS:
            self._add_complement(slots, chunks, predicate)
        return slots

    def _add_complement(
        self, slots: dict[str, frozenset[str]], chunks: Mapping[str, frozenset[str]], predicate: frozenset[str]
    ) -> None:
        """What a thing is, if that is a name; and what a person is, if that is an occupation."""
        if not self.person and predicate and chunks.get("") == predicate <= self.names:
            slots["name"] = predicate
        if self._is_occupation():
            slots.pop("place", None)
            slots["job"] = chunks.get("", frozenset())
            if employer := chunks.get("at") or chunks.get("for"):
                slots["employer"] = employer

    def _is_occupation(self) -> bool:
        """ "is a nurse", "became the head chef": the noun ends the first phrase after the verb."""
        rest = self.lows[self.main + 1 :]
        end = next(
            (at for at, low in enumerate(rest) if low in phrases.PREPOSITIONS or low in phrases.BREAKS), len(rest)
        )
        return end > 0 and (rest[0] in _DETERMINERS or end == 1) and topics.is_occupation(rest[end - 1])

    def _states(self) -> dict[str, str]:
        """The states near the verb; a person is not open or closed."""
        found = [state for low in self.lows[self.main : self.main + 4] if (state := topics.STATES.get(low))]
        return {
            group: state
            for group, state in found
            if not ((self.person and group == "progress") or (group == "light" and self.verb != "be"))
        }

    def _denied(self) -> frozenset[str]:
        """What stands behind a "not", unless that only sets off something else ("not this but that")."""
        at = next(
            (at for at, low in enumerate(self.lows) if low in phrases.NEGATIONS or low.endswith("n't")), None
        )
        if at is None or phrases.CONTRAST.search(self.set, self.text) or self._ended():
            return frozenset()
        rest = self.lows[at + 1 :]
        end = next((place for place, low in enumerate(rest) if low in phrases.CLAUSES), len(rest))
        return frozenset(stem(low) for low in rest[:end] if low not in SKIPPED)

    def _ended(self) -> frozenset[str]:
        if found := phrases.ANY_MORE.search(self.set, self.text):
            return _contents(found[1])
        if not (found := phrases.ENDED.search(self.set, self.text)):
            return frozenset()
        thing = frozenset[str]() if _PASSIVE.search(self.text[: found.start()]) else _contents(found[1])
        return thing or frozenset(self.subject - {self.anchor} if self.named else self.subject)

    def _marks(self, corrected: bool) -> frozenset[str]:
        lows, text, start = self.set, self.text, self.main
        first = self.lows[start + 1] if start + 1 < len(self.lows) else ""
        past = self.finite.endswith("ed") or self.finite in PASTS
        main = self.lows[start] if self.lows else ""
        marks = {
            "doubt": lows & phrases.HYPOTHETICAL or not phrases.DOUBTS.isdisjoint(self.lows[: start + 1]),
            "addition": lows & phrases.ADDITIONS or phrases.ADDED.search(lows, text),
            "brief": lows & phrases.BRIEFLY or phrases.BRIEF.search(lows, text),
            "corrected": corrected or phrases.CORRECTED.search(lows, text),
            "now": lows & phrases.MOMENTS,
            "past": past,
            "event": past and self.verb not in topics.LASTING,
            "definite": first == "the",
            "possessed": first in phrases.POSSESSIVES,
            "vague": "a" in self.lows[start:] or "an" in self.lows[start:],
            "passive": self.finite in phrases.AUXILIARIES and (main.endswith("ed") or main in PASTS),
        }
        return frozenset(mark for mark, holds in marks.items() if holds)


def _kinds(predicate: frozenset[str]) -> dict[str, str]:
    kinds: dict[str, str] = {}
    for word in predicate:
        if found := topics.KINDS.get(word):
            kinds[found[0]] = "" if found[0] in kinds else found[1]
    return kinds


def _contents(phrase: str) -> frozenset[str]:
    """The content of a few words, up to where another thing begins."""
    words: list[str] = []
    for token in _TOKEN.findall(phrase):
        low = token.lower()
        if words and (low in phrases.CLAUSES or (low in phrases.TURNS and words[-1] not in topics.VERBS)):
            break
        if low not in SKIPPED and low not in phrases.PREPOSITIONS:
            words.append(stem(low.removesuffix("'s")))
    return frozenset(words)
