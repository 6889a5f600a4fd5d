"""Many records told in few words, by rule.

What is said twice is told once. Where there is room for a fifth of the text, the sentences that say most stand
whole; of the others, and where there is less, what is left is the kernel: each number, name, date and negation
with the word it belongs to. All stands in the order of time, under whom it is about:

    (2023-05) Caroline: LGBTQ support group 7 May; adoption agencies. Melanie: 3 kids; not sleeping.

Such a text may be condensed again, alone or with others.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import accumulate
from typing import NamedTuple

from lifelong.journal.kernels import WORTH, Pair, around, forms, merged, pairs
from lifelong.text.dates import MONTHS
from lifelong.text.names import Word, proper, words
from lifelong.text.sentences import LABEL, PERIOD, clauses
from lifelong.text.words import word_set

AT_ONCE = 400_000  # characters that are weighed against each other; more are condensed piece by piece
FEWEST = 600  # characters of such a piece
HEADINGS = 0.1  # the share of the budget that dates and names may take before the dates get coarser
ALIKE = 0.8  # the share of words that two clauses have in common to count as one
COMPARED = 8  # clauses that one is compared with
TOGETHER = 12  # clauses that are told as one because only a number differs
FIRST = 0.95  # the share of the worth that is told in the fewest words before anything is told in more
ROOMY, LEAST = 0.22, 150  # the share of the text, and the characters, from which on it is told in sentences
SENTENCES = 0.85  # the share of the budget that they may take before the kernels of the others
COURTESY = 0.15  # what a name in a courtesy is worth

KERNEL, WIDER, WHOLE = 1, 2, 3  # the forms in which a clause is told
_PERIOD = re.compile(rf"(?:\A|(?<=[.!?…])\s+){PERIOD.pattern}")
_MEASURES = {"number", "date", "negation"}
_DAYS = {"yesterday": -1, "tomorrow": 1}
_DAY = re.compile(r"(?<!just )(?<!like )(?<!only )\b(?:yesterday|tomorrow)\b(?!['\u2019])")
_COURTESIES = word_set(
    "great cool awesome amazing nice glad happy sweet lovely wonderful beautiful fantastic incredible inspiring "
    "gorgeous stunning sounds looks agree agreed right true fun good love totally definitely absolutely exactly "
    "sorry appreciate excited proud welcome course luck hope ah haha yay something thing way lot"
)
_ONESELF = word_set("i we my our")  # "I love Paris" is none: "love it, Paris" is
_ABOUT_ITSELF = re.compile(
    r"\b(?:as|I'm|I am) an? (?:AI (?:(?:language )?model|assistant)\b|(?:large )?language model\b|AI(?=[,.]|$))",
    re.IGNORECASE,
)


class Item(NamedTuple):
    """A text and when it was written."""

    text: str
    at: datetime


@dataclass(slots=True)
class _Clause:
    """`named`: the sentence itself names its subject; `own`: where the words stand that it alone tells; `worth` is
    what these are worth, `exact` without who says it."""

    day: str
    subject: str
    text: str
    words: list[Word]
    pairs: dict[Pair, set[int]]
    named: bool
    own: set[int] = field(default_factory=set)
    worth: float = 0.0
    exact: float = 0.0
    weight: float = 0.0


@dataclass(slots=True)
class _Entry:
    """What is told as one. `forms` are nothing, the kernel, more and the whole; `told` is the one that fits. It
    `exclaims` where it has one word that says something, or none, beside courtesies, and denies nothing; or where
    an assistant speaks of itself. It `measures` where it has a number, a date or a negation: these say something
    also in the fewest words, as a name does not."""

    order: int
    period: str
    subject: str
    worth: float
    exact: float
    weight: float
    forms: Sequence[str]
    exclaims: bool
    measures: bool
    told: int = 0


_Step = tuple[int, Sequence[_Entry], float]
"""A form, what to tell in it, one thing after the other, and the share of the budget that may be used up then."""


def condense(items: Sequence[Item], budget: int) -> str:
    """What the items say, in at most `budget` characters and in the order of time; the same for the same items.
    Empty where nothing fits."""
    pieces = list(_pieces(sorted(items, key=lambda item: item.at)))
    if len(pieces) > 1:
        sizes = [sum(len(item.text) for item in piece) for piece in pieces]
        least = FEWEST if len(pieces) < len(items) else 0
        parts = [
            Item(condense(piece, max(least, budget * size // sum(sizes) - 1)), piece[-1].at)
            for piece, size in zip(pieces, sizes, strict=True)
        ]
        told = " ".join(part.text for part in parts if part.text)
        return told if len(told) <= budget else condense(parts, budget)
    found = _distinct(_read(pieces[0])) if pieces else []
    _weigh(found)
    entries = _entries(found, _precision(found, budget))
    roomy = budget >= max(ROOMY * sum(len(item.text) for item in items), LEAST)
    return _fit(entries, _sentences(entries, budget) if roomy else _kernels(entries), budget)


def _pieces(items: Sequence[Item]) -> Iterator[list[Item]]:
    piece: list[Item] = []
    size = 0
    for item in items:
        if piece and size + len(item.text) > AT_ONCE:
            yield piece
            piece, size = [], 0
        piece.append(item)
        size += len(item.text)
    if piece:
        yield piece


# What there is to tell


def _read(items: Sequence[Item]) -> list[_Clause]:
    found = [(day, clause) for item in items for day, text in _by_day(item) for clause in clauses(text)]
    names = proper(clause.text for _, clause in found)
    read = []
    for day, (subject, under, text) in found:
        sentence, named = words(text, names), False
        if not subject and (own := _leading(text, sentence)):
            named = True
            subject, under, text = text[: sentence[own - 1].end], True, text[sentence[own].start :]
            sentence = words(text, names)
        if any(word.kind != "filler" for word in sentence):
            read.append(_Clause(day, subject, text, sentence, pairs(sentence, subject if under else ""), named))
    return read


def _by_day(item: Item) -> Iterator[tuple[str, str]]:
    """The text by the days it tells of, if it was condensed before. What it calls yesterday gets a date."""
    today = item.at.date()

    def dated(found: re.Match[str]) -> str:
        day = today + timedelta(days=_DAYS[found[0]])
        return f"{day.day} {MONTHS[day.month - 1][:3].title()}"

    fresh, *parts = _PERIOD.split(item.text)
    yield today.isoformat(), _DAY.sub(dated, fresh)
    yield from zip(parts[::2], parts[1::2], strict=True)


def _leading(text: str, sentence: Sequence[Word]) -> int:
    """How many words name whom the clause is about, where it begins with them; 0 where it does not."""
    own = 0
    while own < len(sentence) and sentence[own].kind == "name":
        own += 1
    if not 0 < own < min(4, len(sentence)) or sentence[0].start or sentence[own].value in ("and", "or"):
        return 0
    named = text[: sentence[own].start]
    return (
        own if named.rstrip() == text[: sentence[own - 1].end] and not named.endswith(("'s ", "\u2019s ")) else 0
    )


def _distinct(found: list[_Clause]) -> list[_Clause]:
    """Without what is said again in nearly the same words. Another number, name or "not" is another thing."""
    kept: list[_Clause] = []
    alike: dict[tuple[object, ...], list[frozenset[str]]] = {}
    for clause in found:
        content = frozenset(word.value for word in clause.words if word.kind == "content")
        exact = tuple(sorted(word.value for word in clause.words if word.kind in WORTH))
        longest = max(content, key=lambda word: (len(word), word), default="")
        others = alike.setdefault((clause.subject, exact, longest), [])
        if any(len(content & other) >= ALIKE * len(content | other) for other in others):
            continue
        if len(others) < COMPARED:
            others.append(content)
        kept.append(clause)
    return kept


def _weigh(found: Sequence[_Clause]) -> None:
    """What each clause alone tells, and how much that is worth. Where several tell a thing, it is told by the
    one that tells the most."""
    spread = Counter(value for clause in found for value in {w.value for w in clause.words if w.kind == "content"})
    rarity = {value: math.log(1 + len(found) / times) for value, times in spread.items()}
    told: set[Pair] = set()
    for clause in sorted(found, key=lambda clause: -len(clause.pairs)):
        kinds = {word.value: word.kind for word in clause.words if word.kind in WORTH}
        for pair in clause.pairs:
            if pair not in told:
                told.add(pair)
                clause.own |= clause.pairs[pair]
                kind = kinds.get(pair[0], "name")
                worth = COURTESY if kind == "name" and pair[1] in _COURTESIES else WORTH[kind]
                clause.worth += worth
                clause.exact += worth if clause.named or pair[0] in kinds else 0.0
        clause.weight = clause.worth + sum(rarity[w.value] for w in clause.words if w.kind == "content") / 8


# How it is told


def _entries(found: Sequence[_Clause], precision: int) -> list[_Entry]:
    """The clauses, those whose kernels differ in one number only together."""
    families: dict[tuple[str, ...], list[tuple[int, _Clause, Sequence[str]]]] = {}
    times: Counter[tuple[str, ...]] = Counter()
    for order, clause in enumerate(found):
        told = forms(clause.text, clause.words, clause.own)
        rest, number = around(told[1])
        key = clause.day[:precision], clause.subject, *(rest if number else (str(order),))
        families.setdefault((*key, str(times[key] // TOGETHER)), []).append((order, clause, told))
        times[key] += 1
    return [
        _Entry(
            order=family[0][0],
            period=period,
            subject=subject,
            worth=sum(clause.worth for _, clause, _ in family),
            exact=sum(clause.exact for _, clause, _ in family),
            weight=sum(clause.weight for _, clause, _ in family),
            exclaims=all(_exclaims(clause) for _, clause, _ in family),
            measures=any(word.kind in _MEASURES for _, clause, _ in family for word in clause.words),
            forms=[merged(texts) for texts in zip(*(told for _, _, told in family), strict=True)],
        )
        for (period, subject, *_), family in families.items()
    ]


def _exclaims(clause: _Clause) -> bool:
    if _ABOUT_ITSELF.search(clause.text) and not any(word.kind in {"number", "date"} for word in clause.words):
        return True
    polite = _COURTESIES if _ONESELF.isdisjoint(word.value for word in clause.words) else frozenset()
    said = [word.kind for word in clause.words if word.kind != "filler" and word.value not in polite]
    return len(said) <= 1 - clause.named and "negation" not in said


def _precision(found: Sequence[_Clause], budget: int) -> int:
    """How much of a date is told, so that headings take a small share or fit anyway: day, month or year."""
    room = max(HEADINGS * budget, budget - sum(len(clause.text) + 2 for clause in found))
    for length in (10, 7):
        headings = {(clause.day[:length], clause.subject) for clause in found}
        periods = {period for period, _ in headings}
        cost = sum(len(subject) + 3 for _, subject in headings) + len(periods) * (length + 3)
        if cost <= room or len(periods) == 1:
            return length
    return 4


def _fit(entries: Sequence[_Entry], steps: Sequence[_Step], budget: int) -> str:
    opened: set[tuple[str, ...]] = set()
    room = budget
    for form, some, share in steps:
        for entry in some:
            cost = len(entry.forms[form]) - len(entry.forms[entry.told])
            period, group = (entry.period,), (entry.period, entry.subject)
            if not entry.told:
                cost += (
                    2
                    + (period not in opened) * (len(entry.period) + 3)
                    + (group not in opened) * (len(entry.subject) + 2)
                )
            if entry.told < form and cost <= room - (1 - share) * budget:
                room -= cost
                entry.told = form
                opened |= {period, group}
    return _render([entry for entry in entries if entry.told])


def _sentences(entries: Sequence[_Entry], budget: int) -> list[_Step]:
    """What is exact in sentences, then as much as fits of what did not, then the rest. An exclamation is told
    only where there is room for everything."""
    all_fits = sum(len(entry.forms[WHOLE]) for entry in entries) <= budget
    rest = [entry for entry in entries if all_fits or not entry.exclaims]
    exact = sorted((entry for entry in rest if entry.exact), key=lambda e: _dense(e.exact, e, WHOLE))
    return [
        (WHOLE, exact, SENTENCES),
        (KERNEL, [entry for entry in exact if entry.measures], 1.0),
        (WIDER, exact, 1.0),
        (WHOLE, sorted(rest, key=lambda e: _dense(e.weight, e, WHOLE)), 1.0),
        (KERNEL, exact, 1.0),
    ]


def _kernels(entries: Sequence[_Entry]) -> list[_Step]:
    """Where only the most exact has room, and that in the fewest words."""
    by_worth = sorted((entry for entry in entries if entry.worth), key=lambda e: _dense(e.worth, e, KERNEL))
    sofar = list(accumulate(entry.worth for entry in by_worth))
    first = bisect_left(sofar, FIRST * sofar[-1]) + 1 if sofar else 0
    by_weight = sorted(entries, key=lambda e: _dense(e.weight, e, WHOLE))
    return [
        (KERNEL, by_worth[:first], 1.0),
        (WIDER, by_worth[:first], 1.0),
        (WHOLE, by_weight, 1.0),
        (KERNEL, by_worth, 1.0),
        (WIDER, by_weight, 1.0),
    ]


def _dense(worth: float, entry: _Entry, form: int) -> tuple[float, int]:
    return -worth / (len(entry.forms[form]) + 2), entry.order


def _render(told: Sequence[_Entry]) -> str:
    """What is about nobody comes first, so that no name before it seems to be its own."""
    periods: dict[str, dict[str, list[str]]] = {}
    for entry in sorted(told, key=lambda entry: (entry.period, bool(entry.subject), entry.order)):
        periods.setdefault(entry.period, {}).setdefault(entry.subject, []).append(entry.forms[entry.told])
    return " ".join(
        f"({period}) {' '.join(_sentence(subject, entries) for subject, entries in groups.items())}"
        for period, groups in periods.items()
    )


def _sentence(subject: str, entries: Sequence[str]) -> str:
    """A list of what is about somebody; else sentences, none with a label that would seem to be for all."""
    told = "; ".join(entries if subject else map(_unlabelled, entries)) + (
        "" if entries[-1].endswith("?") else "."
    )
    return f"{subject}: {told}" if subject else told.replace("?; ", "? ").replace("; ", ". ")


def _unlabelled(text: str) -> str:
    label = LABEL.match(text)
    return f"{label[1]} \u2013 {text[label.end() :]}" if label else text
