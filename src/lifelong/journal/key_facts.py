"""The words of a text that must not be told otherwise: numbers, names, dates and negations, and what each of them
belongs to.

No grammar and no dictionary, only good guesses from how a word is written and what stands beside it. Languages
that write no capitals have no names here, only numbers, dates and negations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from lifelong.text.names import Word, proper, words
from lifelong.text.sentences import clauses
from lifelong.text.words import UNSPACED_NEGATION

FARTHEST = 20  # words between a specific and what it belongs to


class Specific(NamedTuple):
    """A negation's value names what it denies: "not wait"."""

    kind: Literal["number", "name", "date", "negation"]
    value: str


def specifics(text: str) -> frozenset[Specific]:
    """The numbers, names, dates and negations of a text."""
    parts = list(clauses(text))
    names = proper(part.text for part in parts)
    found = {Specific("name", part.label.lower()) for part in parts if part.label[:1].isupper()}
    for part in parts:
        sentence = words(part.text, names)
        for at, word in enumerate(sentence):
            if word.kind == "negation":
                belongs = nearest(sentence, at)
                found.add(Specific("negation", f"not {sentence[belongs].value}" if belongs is not None else "not"))
            elif word.kind == "number" or word.kind == "name" or word.kind == "date":
                found.add(Specific(word.kind, word.value))
            elif UNSPACED_NEGATION.search(word.value):
                found.add(Specific("negation", f"not {word.value}"))
    return frozenset(found)


def missing(text: str, told: str) -> frozenset[Specific]:
    """The specifics of a text that another one does not tell, wherever in it they could stand."""
    heard: set[str] = set()
    for label, _, part in clauses(told):
        values = {word.value for word in words(part)} | set(label.lower().split()) | {label.lower()}
        denies = "not" in values or UNSPACED_NEGATION.search(part)
        heard |= values | ({f"not {value}" for value in values} if denies else set())
    return frozenset(specific for specific in specifics(text) if specific.value not in heard)


def nearest(sentence: Sequence[Word], at: int) -> int | None:
    """Where the content word stands that is nearest to another word; of two the later one."""
    for distance in range(1, min(FARTHEST, len(sentence)) + 1):
        for near in (at + distance, at - distance):
            if 0 <= near < len(sentence) and sentence[near].kind == "content":
                return near
    return None
