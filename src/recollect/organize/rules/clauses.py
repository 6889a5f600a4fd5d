"""A clause taken apart: whom or what it is about, its verb, and the values it gives.

No grammar, only good guesses; what cannot be told apart stays one set of words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from recollect.organize.rules import phrases, topics
from recollect.organize.rules.phrases import SKIPPED
from recollect.organize.rules.quantities import CALENDAR, quantity
from recollect.organize.rules.stems import PASTS, stem
from recollect.organize.rules.verbs import Words

_PASSIVE = re.compile(r"\b(?:is|are|was|were|been|be|got|being)(?: now| already)? \Z")
_NO_DENIAL = phrases.words("longer just only one matter wonder doubt even sure problem way")
_TIMES = phrases.words("on in since after before because when until")
_NOTHING = frozenset[str]()

Slot = tuple[frozenset[str], frozenset[str]]
"""Of whom or what, and the value."""


class Clause(NamedTuple):
    """What a clause says, in stems."""

    core: frozenset[str]
    """Whom or what it is about."""
    head: str
    """The word of it that tells what it is; empty where it is several."""
    owner: str
    """Whose that is."""
    person: bool
    verb: str
    words: frozenset[str]
    predicate: frozenset[str]
    names: frozenset[str]
    """The part of the predicate that is names."""
    chunks: Mapping[str, frozenset[str]]
    """The predicate by the preposition before it."""
    slots: Mapping[str, Slot]
    """Attributes that have one value at a time."""
    dates: Mapping[str, str]
    amounts: Mapping[str, str]
    kinds: Mapping[str, str]
    ended: frozenset[str]
    """What it says is over."""
    gone: frozenset[str]
    """What it says has given way to something else."""
    denied: frozenset[str]
    """What it says is not so."""
    marks: frozenset[str]
    context: frozenset[str] = _NOTHING
    """What the whole claim speaks of."""


class Reader(Words):
    """Takes a clause apart, word by word. `before` is the clause before it, where its pronouns point."""

    def __init__(self, tokens: list[str], before: Reader | None) -> None:
        super().__init__(tokens, follows=before is not None)
        self.text = " ".join(self.lows)
        self.set = frozenset(self.lows)
        self.before = before
        self.owner = self.head = ""
        self.named = not self.clipped
        self.core: set[str] = set()
        self.names: set[str] = set()
        self.owners: set[str] = set()
        self.chunks: dict[str, set[str]] = {}
        self.dates: dict[str, str] = {}
        self.amounts: dict[str, str] = {}
        self.states: dict[str, str] = {}

    def signals(self) -> set[str]:
        """What holds for all clauses of the claim."""
        signals = set()
        if phrases.CORRECTED.search(self.set, self.text):
            signals |= {"corrected", "strong", "changed"}
        if phrases.STOPPED.search(self.set, self.text):
            signals |= {"strong", "changed"}
        if self.verb in topics.CHANGES or self.decided or phrases.CHANGED.search(self.set, self.text):
            signals.add("changed")
        return signals

    # What stands before and after it

    def take(self, start: int, end: int, inside: bool) -> None:
        """The content of the subject, or of what is said about it (`inside`)."""
        preposition = ""
        for at in range(start, end):
            low = self.lows[at]
            if low in phrases.PREPOSITIONS:
                preposition = low
                self.named = self.named and (inside or not self.core)
            elif low in SKIPPED:
                if not inside and low in ("the", "a", "an"):
                    self.named = False
                elif low in phrases.THEIRS:
                    self._take_owner(inside)
            elif not self._take_value(at, inside):
                owned = low.endswith(("'s", "s'"))
                word = _word(low)
                if low.removesuffix("'s") in SKIPPED:
                    continue
                if inside:
                    self._take_word(at, word, preposition, owned)
                elif owned and at + 1 < end:
                    self.owner = word
                else:
                    self.core.add(word)
                    self.head = self.head if preposition and self.head else word
                    self.named = self.named and self.tokens[at][0].isupper() and not self.owner

    def _take_owner(self, inside: bool) -> None:
        """ "Their" boss is that of the person the claim is about; if that is not told, of nobody known."""
        before = self.before
        whose = next(iter(before.core), "?") if before and before.named else "?"
        if not inside:
            self.owner, self.named = self.owner if self.core else whose, False
        elif whose != "?":
            self.owners.add(whose)

    def _take_word(self, at: int, word: str, preposition: str, owned: bool) -> None:
        if owned:
            self.owners.add(word)
        self.chunks.setdefault(preposition, set()).add(word)
        token = self.tokens[at]
        if (token[0].isupper() and not owned) or not word.replace("-", "").isalpha():
            self.names.add(word)

    def _take_value(self, at: int, inside: bool) -> bool:
        """A date, time or amount. One that stands in the subject tells which one is meant."""
        found = quantity(self.tokens, self.lows, at)
        if not found:
            return False
        what, value = found
        if inside or (self.lows[0] in phrases.PREPOSITIONS and not self.core):
            (self.dates if what in CALENDAR else self.amounts).setdefault(what, value)
        else:
            self.core.add(f"{what}:{value}" if what in CALENDAR else value)
            self.named = False
        return True

    # All of it

    def _opening(self) -> int:
        """Where the subject begins, after "since the wedding" and the like."""
        start = 0
        if self.lows[0] in phrases.PREPOSITIONS or self.lows[0] == "right":
            for at in range(1, self.begin):
                if self.tokens[at][0].isupper() and not self.tokens[at - 1][0].isupper():
                    start = at if quantity(self.tokens, self.lows, at) is None else start
        return start

    def clause(self) -> Clause:
        self.take(self._opening() if self.begin else 0, self.begin, inside=False)
        self.take(self.after, len(self.lows), inside=True)
        predicate = frozenset(word for chunk in self.chunks.values() for word in chunk)
        if not predicate and "" in self.amounts and self.finite.endswith("ed"):
            self.chunks[""] = {self.amounts[""]}
            predicate = frozenset(self.chunks[""])
        self._resolve(predicate)
        self.states = self._states()
        core = frozenset(self.core) if self.owner != "?" else _NOTHING
        chunks = {preposition: frozenset(chunk) for preposition, chunk in self.chunks.items()}
        verb = (self.verb,) if self.verb and self.verb not in topics.GENERIC else ()
        denied = self._denied()
        if self.verb == "hat":
            self.verb = "lik"
            denied = _NOTHING if denied else predicate
        return Clause(
            core=core,
            head="" if "and" in self.lows[: self.begin] else self.head,
            owner=self.owner,
            person=self.named,
            verb=self.verb,
            words=core.union(predicate, verb),
            predicate=predicate,
            names=frozenset(self.names),
            chunks=chunks,
            slots=self._slots(core, chunks, predicate),
            dates=self.dates,
            amounts=self.amounts,
            kinds=_kinds(predicate | {self.verb}),
            ended=self._ended(core),
            gone=_contents(found[1]) if (found := phrases.REPLACED.search(self.set, self.text)) else _NOTHING,
            denied=denied,
            marks=self._marks(),
        )

    def _resolve(self, predicate: frozenset[str]) -> None:
        """Whom a pronoun means, or who goes on where no subject is named."""
        before = self.before
        first = next((low for low in self.lows if low not in phrases.JOINTS), "").partition("'")[0]
        if self.core:
            return
        if before is None:
            self.named = False
            if first not in phrases.PRONOUNS and first != "here":
                self.core = set(self.chunks.get("") or predicate)
        elif before.named or first not in phrases.PERSONS:
            things = before.chunks.get("") if first in ("it", "this", "that") and before.named else None
            self.core = set(things or before.core)
            self.owner, self.named = ("", False) if things else (before.owner, before.named)
            self.head = "" if things else before.head
        else:
            mentioned = before.names & before.chunks.get("", set())
            self.core, self.named = (mentioned, True) if mentioned else (set(before.core), before.named)
            self.owner = "" if mentioned else before.owner

    def _slots(
        self, core: frozenset[str], chunks: Mapping[str, frozenset[str]], predicate: frozenset[str]
    ) -> dict[str, Slot]:
        slots: dict[str, Slot] = {}
        for preposition, value in chunks.items():
            slot = topics.SLOTS.get((self.verb, preposition))
            if slot == "employer" and (self.verb == "join" or preposition == "for") and not value & self.names:
                slot = None
            if slot == "name" and preposition and not value <= self.names:
                continue
            if slot == "place" and self.named:
                slots |= {slot: (chunks[""], value)} if preposition and "" in chunks else {}
            elif slot:
                slots[slot] = core, value | slots[slot][1] if slot in slots else value
        if "home" in slots and not self.named:
            slots["place"] = slots["home"]
        if any(map(topics.is_occupation, chunks.get("as", ()))):
            slots["job"] = core, chunks["as"]
        if self.verb in topics.COPULAS or self.verb in topics.CHANGES:
            value = chunks.get("") or chunks.get("to") or chunks.get("in") or chunks.get("at") or _NOTHING
            slots |= self._attributes(core, self.owner, value)
            slots |= self._attributes(predicate - core, next(iter(self.owners), ""), core)
        if self.verb in topics.CHANGES and "to" in chunks:
            slots |= self._attributes(chunks.get("", _NOTHING), next(iter(self.owners), self.head), chunks["to"])
        if self.verb == "be" and not self.named and core and _NOTHING < predicate <= self.names:
            slots["name"] = core, predicate
        if self.verb in topics.COPULAS and self._is_occupation():
            slots["job"] = core, chunks.get("", _NOTHING)
            if employer := chunks.get("at") or chunks.get("for"):
                slots["employer"] = core, employer
        if found := phrases.RENEWED.search(self.set, self.text):
            if "job" in found[1].split():
                slots["job"] = core, frozenset(("new",))
                slots["employer"] = core, chunks.get("at") or chunks.get("with") or slots["job"][1]
            slots |= self._attributes(_contents(found[1]), self.head, frozenset(("new",)))
        acted = self._acts() and chunks.get("")
        for group, state in self.states.items():
            birth = frozenset((self.owner,)) if group == "family" and self.owner else core
            slots[group] = acted or birth, frozenset((state,))
        return slots

    def _acts(self) -> bool:
        """Somebody does something to a thing, so that what is said is about the thing."""
        return "" in self.chunks and (
            self.verb in ("sell", "keep") or (self.finite.endswith("ed") and self.main == self.begin)
        )

    def _attributes(self, nouns: frozenset[str], owner: str, value: frozenset[str]) -> dict[str, Slot]:
        """ "Mara's boss is Henrik" and "Henrik is Mara's boss"."""
        found = nouns & topics.ATTRIBUTES.keys()
        if not found or not owner:
            return {}
        name = " ".join(sorted({topics.ATTRIBUTES.get(word, word) for word in nouns - {owner}} - value))
        return {name: (frozenset((owner,)), value - {owner})}

    def _is_occupation(self) -> bool:
        """ "is a nurse", "became the head chef": the noun ends the first phrase after the verb."""
        rest = [low for low in self.lows[self.main + 1 :] if low not in phrases.MOMENTS]
        end = next((at for at, low in enumerate(rest) if low in phrases.PREPOSITIONS), len(rest))
        return end > 0 and (rest[0] in phrases.DETERMINERS or end == 1) and topics.is_occupation(rest[end - 1])

    def _states(self) -> dict[str, str]:
        """The states near the verb; a person is not open or closed, but may close a thing."""
        found = [state for low in self.lows[self.main : self.main + 3] if (state := topics.STATES.get(low))]
        acts = self._acts()
        return {
            group: state
            for group, state in found
            if not (self.named and not acts and group in ("progress", "level", "light", "power", "sale"))
        }

    def _denied(self) -> frozenset[str]:
        """What stands behind a "not"."""
        at = next(
            (at for at, low in enumerate(self.lows) if low in phrases.NEGATIONS or low.endswith("n't")), None
        )
        if at is None or at > self.main + 3 or (self.lows[at + 1 :] or [""])[0] in _NO_DENIAL:
            return _NOTHING
        end = next((end for end in range(at + 2, len(self.lows)) if self.lows[end] in phrases.PERSONS), None)
        rest = range(at + 1, end or len(self.lows))
        said = [n for n in rest if self.lows[n] not in SKIPPED]
        undated = [n for n in said if quantity(self.tokens, self.lows, n) is None]
        denied = frozenset(_word(self.lows[n]) for n in undated or said)
        return denied | self.core if at < self.main and not self.named else denied

    def _ended(self, core: frozenset[str]) -> frozenset[str]:
        if found := phrases.ANY_MORE.search(self.set, self.text):
            return _contents(found[1] or found[2]) | (_NOTHING if self.named else core)
        if not (found := phrases.ENDED.search(self.set, self.text)):
            return _NOTHING
        passive = found[0].split()[0].endswith("ed") and _PASSIVE.search(self.text[: found.start()])
        thing = _NOTHING if passive else _contents(found[1])
        over = found[0].startswith(("is ", "are ", "'s ", "fell through", "stepped down"))
        if self.verb == "die":
            return _NOTHING if self.named else core
        return thing - {"happen"} or (_NOTHING if self.named and not over else core)

    def _marks(self) -> frozenset[str]:
        lows, text = self.set, self.text
        same_form = stem(self.finite) == self.finite and self._is_plural(self.begin)  # "tickets cost"
        begun = self.decided or phrases.RENEWED.search(lows, text)
        past = not begun and (self.finite.endswith("ed") or (self.finite in PASTS and not same_form))
        marks: dict[str, object] = {
            "doubt": not lows.isdisjoint(phrases.DOUBTS) and not phrases.CORRECTED.search(lows, text),
            "added": phrases.ADDED.search(lows, text),
            "brief": self.verb not in topics.LASTING and phrases.BRIEF.search(lows, text),
            "event": past and self.verb not in topics.LASTING and self.lows[self.main] not in topics.STATES,
        }
        marks["will"] = self.finite == "will"
        marks["kind"] = self.finite == "will" or self.lows[self.main + 1 : self.main + 2] in (["a"], ["an"])
        return frozenset(mark for mark, holds in marks.items() if holds)


def _kinds(words: frozenset[str]) -> dict[str, str]:
    kinds: dict[str, str] = {}
    for word in words:
        if found := topics.KINDS.get(word):
            kinds[found[0]] = "" if found[0] in kinds else found[1]
    return kinds


def _word(low: str) -> str:
    return stem(low.removesuffix("'s").strip("'.-"))


def _contents(phrase: str) -> frozenset[str]:
    """The content of a few words, up to where another thing begins."""
    words: list[str] = []
    for low in phrase.split():
        if words and low in phrases.PREPOSITIONS and (low in _TIMES or words[-1] not in topics.VERBS):
            break
        if low not in SKIPPED:
            words.append(_word(low))
    return frozenset(words)
