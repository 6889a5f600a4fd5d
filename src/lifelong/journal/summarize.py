"""Summarize many records in few words, by rule.

Repetitions are written once. Where there is room for a fifth of the text, the sentences that say most are
taken whole; the others, and everything where there is less room, in telegraphic form: each key fact (number, name,
date, negation) with the word it belongs to. All is in the order of time, under the name it is about:

    (2023-05) Caroline: LGBTQ support group 7 May; adoption agencies. Melanie: 3 kids; not sleeping.

Such a summary may be summarized again, alone or with others.

Key facts are found without grammar or dictionary, by how a word is written and the words beside it. Languages
without capital letters have no names here, only numbers, dates and negations.
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
from typing import Literal, NamedTuple

from lifelong.text.dates import MONTHS
from lifelong.text.names import Word, known_names, tag_words
from lifelong.text.sentences import LABEL, PERIOD, clauses
from lifelong.text.words import UNSPACED_NEGATION, word_set

MAX_BATCH_CHARS = 400_000  # weighed against each other; more is summarized batch by batch
MIN_BATCH_SUMMARY_CHARS = 600
MAX_HEADINGS_SHARE = 0.1  # of the budget for dates and names; above it the dates get coarser
MIN_DUPLICATE_OVERLAP = 0.8  # the share of words that two clauses have in common to count as one
MAX_COMPARED = 8  # clauses that one is compared with
MAX_GROUP = 12  # clauses that are written as one because only a number differs
SHORT_FIRST_SHARE = 0.95  # of the worth is written in the short form before anything gets a longer one
MIN_SENTENCES_SHARE, MIN_SENTENCES_CHARS = 0.22, 150  # budgets from which on whole sentences are used
MAX_SENTENCES_SHARE = 0.85  # of the budget for whole sentences before the short forms of the others
COURTESY_WORTH = 0.15  # of a name in a courtesy

SHORT, WIDER, WHOLE = 1, 2, 3  # the forms in which a clause is written; 0: not at all
_PERIOD = re.compile(rf"(?:\A|(?<=[.!?…])\s+){PERIOD.pattern}")
_MEASURE_KINDS = {"number", "date", "negation"}
_DAYS = {"yesterday": -1, "tomorrow": 1}
_DAY = re.compile(r"(?<!just )(?<!like )(?<!only )\b(?:yesterday|tomorrow)\b(?!['\u2019])")
_COURTESIES = word_set(
    "great cool awesome amazing nice glad happy sweet lovely wonderful beautiful fantastic incredible inspiring "
    "gorgeous stunning sounds looks agree agreed right true fun good love totally definitely absolutely exactly "
    "sorry appreciate excited proud welcome course luck hope ah haha yay something thing way lot"
)
_FIRST_PERSON = word_set("i we my our")  # "I love Paris" is not a courtesy, "love it, Paris" is
_ABOUT_ITSELF = re.compile(
    r"\b(?:as|I'm|I am) an? (?:AI (?:(?:language )?model|assistant)\b|(?:large )?language model\b|AI(?=[,.]|$))",
    re.IGNORECASE,
)
KEY_FACT_WORTH = {"number": 1.5, "date": 3.0, "negation": 3.0, "name": 1.0}
MAX_KEY_FACT_DISTANCE = 20  # words between a key fact and the word it belongs to
MAX_GAP_WORDS = 3  # to the next content word
MAX_NAME_WORDS = 6  # of a name or date, to each side
_JOIN = re.compile(r"[,;:()\u2013\u2014]|\s-\s")
_NUMBER = re.compile(r"(?<![\w.,:-])[$€£#]?\d[\w.,:%]*(?<![.,:])")
_EXACT_KINDS = {"number", "date", "name"}
_MARKS = str.maketrans({";": ",", **dict.fromkeys('"()[]{}*\u201c\u201d', "")})
_ROLES = word_set("user assistant agent system tool human ai bot request reply asked answer did note")

Pair = tuple[str, str]
"""A key fact and the word it belongs to."""


class DatedText(NamedTuple):
    """A text and when it was written."""

    text: str
    at: datetime


class KeyFact(NamedTuple):
    """A number, name, date or negation. A negation's value names what it denies: "not wait"."""

    kind: Literal["number", "name", "date", "negation"]
    value: str


def key_facts(text: str) -> frozenset[KeyFact]:
    """Return the numbers, names, dates and negations of a text."""
    parts = list(clauses(text))
    names = known_names(part.text for part in parts)
    found = {KeyFact("name", part.label.lower()) for part in parts if part.label[:1].isupper()}
    for part in parts:
        sentence = tag_words(part.text, names)
        for at, word in enumerate(sentence):
            if word.kind == "negation":
                belongs = _nearest(sentence, at)
                found.add(KeyFact("negation", f"not {sentence[belongs].value}" if belongs is not None else "not"))
            elif word.kind == "number" or word.kind == "name" or word.kind == "date":
                found.add(KeyFact(word.kind, word.value))
            elif UNSPACED_NEGATION.search(word.value):
                found.add(KeyFact("negation", f"not {word.value}"))
    return frozenset(found)


def missing_key_facts(text: str, summary: str) -> frozenset[KeyFact]:
    """Return the key facts of a text that are nowhere in a summary."""
    present: set[str] = set()
    for label, _, part in clauses(summary):
        values = {word.value for word in tag_words(part)} | set(label.lower().split()) | {label.lower()}
        denies = "not" in values or UNSPACED_NEGATION.search(part)
        present |= values | ({f"not {value}" for value in values} if denies else set())
    return frozenset(fact for fact in key_facts(text) if fact.value not in present)


@dataclass(slots=True)
class _Clause:
    """A clause. `named`: the sentence itself names its subject. `own` are the indexes of the words that no other
    clause has; `worth` is what these are worth, `exact` the same without the subject."""

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
class _ClauseGroup:
    """Clauses that are written as one. `forms` are nothing, the short form, a wider one and the whole; `chosen` is
    the one that fits. It is an `exclamation` if it has at most one content word beside courtesies and denies
    nothing, or if an assistant speaks of itself. It is `measured` if it has a number, a date or a negation: these
    are understood in the short form, too, as a name alone is not."""

    order: int
    period: str
    subject: str
    worth: float
    exact: float
    weight: float
    forms: Sequence[str]
    exclamation: bool
    measured: bool
    chosen: int = 0


_Step = tuple[int, Sequence[_ClauseGroup], float]
"""A form, the groups to write in it, best first, and the share of the budget that may be used by then."""


def summarize(texts: Sequence[DatedText], budget: int) -> str:
    """Return a summary of the texts in at most `budget` characters, in the order of time; always the same for the
    same texts. Empty where nothing fits."""
    batches = list(_batches(sorted(texts, key=lambda one: one.at)))
    if len(batches) > 1:
        sizes = [sum(len(one.text) for one in batch) for batch in batches]
        least = MIN_BATCH_SUMMARY_CHARS if len(batches) < len(texts) else 0
        parts = [
            DatedText(summarize(batch, max(least, budget * size // sum(sizes) - 1)), batch[-1].at)
            for batch, size in zip(batches, sizes, strict=True)
        ]
        joined = " ".join(part.text for part in parts if part.text)
        return joined if len(joined) <= budget else summarize(parts, budget)
    found = _distinct(_read(batches[0])) if batches else []
    _weigh(found)
    groups = _group(found, _precision(found, budget))
    roomy = budget >= max(MIN_SENTENCES_SHARE * sum(len(one.text) for one in texts), MIN_SENTENCES_CHARS)
    return _fit(groups, _sentence_steps(groups, budget) if roomy else _short_steps(groups), budget)


def _batches(texts: Sequence[DatedText]) -> Iterator[list[DatedText]]:
    batch: list[DatedText] = []
    size = 0
    for one in texts:
        if batch and size + len(one.text) > MAX_BATCH_CHARS:
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += len(one.text)
    if batch:
        yield batch


# Reading clauses


def _read(texts: Sequence[DatedText]) -> list[_Clause]:
    found = [(day, clause) for one in texts for day, text in _by_day(one) for clause in clauses(text)]
    names = known_names(clause.text for _, clause in found)
    read = []
    for day, (subject, under, text) in found:
        sentence, named = tag_words(text, names), False
        if not subject and (own := _leading_names(text, sentence)):
            named = True
            subject, under, text = text[: sentence[own - 1].end], True, text[sentence[own].start :]
            sentence = tag_words(text, names)
        if any(word.kind != "filler" for word in sentence):
            read.append(_Clause(day, subject, text, sentence, _pairs(sentence, subject if under else ""), named))
    return read


def _by_day(source: DatedText) -> Iterator[tuple[str, str]]:
    """Give the parts of a text with the day each is about: a summary has several. "Yesterday" becomes a date."""
    today = source.at.date()

    def dated(found: re.Match[str]) -> str:
        day = today + timedelta(days=_DAYS[found[0]])
        return f"{day.day} {MONTHS[day.month - 1][:3].title()}"

    fresh, *parts = _PERIOD.split(source.text)
    yield today.isoformat(), _DAY.sub(dated, fresh)
    yield from zip(parts[::2], parts[1::2], strict=True)


def _leading_names(text: str, sentence: Sequence[Word]) -> int:
    """Return how many words at the beginning of a clause name its subject; 0 where it begins otherwise."""
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
    """Return the clauses without near duplicates. Another number, name or "not" makes another clause."""
    kept: list[_Clause] = []
    seen: dict[tuple[object, ...], list[frozenset[str]]] = {}
    for clause in found:
        content = frozenset(word.value for word in clause.words if word.kind == "content")
        exact = tuple(sorted(word.value for word in clause.words if word.kind in KEY_FACT_WORTH))
        longest = max(content, key=lambda word: (len(word), word), default="")
        others = seen.setdefault((clause.subject, exact, longest), [])
        if any(len(content & other) >= MIN_DUPLICATE_OVERLAP * len(content | other) for other in others):
            continue
        if len(others) < MAX_COMPARED:
            others.append(content)
        kept.append(clause)
    return kept


def _weigh(found: Sequence[_Clause]) -> None:
    """Set what each clause is worth. A pair that several clauses have counts for the one with the most pairs."""
    spread = Counter(value for clause in found for value in {w.value for w in clause.words if w.kind == "content"})
    rarity = {value: math.log(1 + len(found) / times) for value, times in spread.items()}
    counted: set[Pair] = set()
    for clause in sorted(found, key=lambda clause: -len(clause.pairs)):
        kinds = {word.value: word.kind for word in clause.words if word.kind in KEY_FACT_WORTH}
        for pair in clause.pairs:
            if pair not in counted:
                counted.add(pair)
                clause.own |= clause.pairs[pair]
                kind = kinds.get(pair[0], "name")
                worth = COURTESY_WORTH if kind == "name" and pair[1] in _COURTESIES else KEY_FACT_WORTH[kind]
                clause.worth += worth
                clause.exact += worth if clause.named or pair[0] in kinds else 0.0
        clause.weight = clause.worth + sum(rarity[w.value] for w in clause.words if w.kind == "content") / 8


# Choosing what fits


def _group(found: Sequence[_Clause], precision: int) -> list[_ClauseGroup]:
    """Return the clauses in groups; those whose short forms differ in one number only are one group."""
    families: dict[tuple[str, ...], list[tuple[int, _Clause, Sequence[str]]]] = {}
    times: Counter[tuple[str, ...]] = Counter()
    for order, clause in enumerate(found):
        forms = _forms(clause.text, clause.words, clause.own)
        rest, number = _around_number(forms[SHORT])
        key = clause.day[:precision], clause.subject, *(rest if number else (str(order),))
        families.setdefault((*key, str(times[key] // MAX_GROUP)), []).append((order, clause, forms))
        times[key] += 1
    return [
        _ClauseGroup(
            order=family[0][0],
            period=period,
            subject=subject,
            worth=sum(clause.worth for _, clause, _ in family),
            exact=sum(clause.exact for _, clause, _ in family),
            weight=sum(clause.weight for _, clause, _ in family),
            exclamation=all(_is_exclamation(clause) for _, clause, _ in family),
            measured=any(word.kind in _MEASURE_KINDS for _, clause, _ in family for word in clause.words),
            forms=[_merged(texts) for texts in zip(*(forms for _, _, forms in family), strict=True)],
        )
        for (period, subject, *_), family in families.items()
    ]


def _is_exclamation(clause: _Clause) -> bool:
    if _ABOUT_ITSELF.search(clause.text) and not any(word.kind in {"number", "date"} for word in clause.words):
        return True
    polite = _COURTESIES if _FIRST_PERSON.isdisjoint(word.value for word in clause.words) else frozenset()
    kinds = [word.kind for word in clause.words if word.kind != "filler" and word.value not in polite]
    return len(kinds) <= 1 - clause.named and "negation" not in kinds


def _precision(found: Sequence[_Clause], budget: int) -> int:
    """Return how many characters of a date to write (day, month or year), so that headings take a small share."""
    room = max(MAX_HEADINGS_SHARE * budget, budget - sum(len(clause.text) + 2 for clause in found))
    for length in (10, 7):
        headings = {(clause.day[:length], clause.subject) for clause in found}
        periods = {period for period, _ in headings}
        cost = sum(len(subject) + 3 for _, subject in headings) + len(periods) * (length + 3)
        if cost <= room or len(periods) == 1:
            return length
    return 4


def _fit(groups: Sequence[_ClauseGroup], steps: Sequence[_Step], budget: int) -> str:
    """Choose a form for each group within the budget, and return the summary."""
    opened: set[tuple[str, ...]] = set()
    room = budget
    for form, some, share in steps:
        for group in some:
            cost = len(group.forms[form]) - len(group.forms[group.chosen])
            period, heading = (group.period,), (group.period, group.subject)
            if not group.chosen:
                cost += (
                    2
                    + (period not in opened) * (len(group.period) + 3)
                    + (heading not in opened) * (len(group.subject) + 2)
                )
            if group.chosen < form and cost <= room - (1 - share) * budget:
                room -= cost
                group.chosen = form
                opened |= {period, heading}
    return _render([group for group in groups if group.chosen])


def _sentence_steps(groups: Sequence[_ClauseGroup], budget: int) -> list[_Step]:
    """Return the steps where there is room for sentences: clauses with key facts whole, then shorter forms of
    those that did not fit, then the rest. Exclamations are written only where there is room for everything."""
    all_fits = sum(len(group.forms[WHOLE]) for group in groups) <= budget
    rest = [group for group in groups if all_fits or not group.exclamation]
    exact = sorted((group for group in rest if group.exact), key=lambda group: _rank(group.exact, group, WHOLE))
    return [
        (WHOLE, exact, MAX_SENTENCES_SHARE),
        (SHORT, [group for group in exact if group.measured], 1.0),
        (WIDER, exact, 1.0),
        (WHOLE, sorted(rest, key=lambda group: _rank(group.weight, group, WHOLE)), 1.0),
        (SHORT, exact, 1.0),
    ]


def _short_steps(groups: Sequence[_ClauseGroup]) -> list[_Step]:
    """Return the steps where only the most important key facts have room, in the short form."""
    by_worth = sorted(
        (group for group in groups if group.worth), key=lambda group: _rank(group.worth, group, SHORT)
    )
    total = list(accumulate(group.worth for group in by_worth))
    first = bisect_left(total, SHORT_FIRST_SHARE * total[-1]) + 1 if total else 0
    by_weight = sorted(groups, key=lambda group: _rank(group.weight, group, WHOLE))
    return [
        (SHORT, by_worth[:first], 1.0),
        (WIDER, by_worth[:first], 1.0),
        (WHOLE, by_weight, 1.0),
        (SHORT, by_worth, 1.0),
        (WIDER, by_weight, 1.0),
    ]


def _rank(worth: float, group: _ClauseGroup, form: int) -> tuple[float, int]:
    """Return a sort key: the most worth per character first."""
    return -worth / (len(group.forms[form]) + 2), group.order


def _render(chosen: Sequence[_ClauseGroup]) -> str:
    """Return the summary. Within a period, clauses without a subject come first, so that no name before them
    seems to be theirs."""
    periods: dict[str, dict[str, list[str]]] = {}
    for group in sorted(chosen, key=lambda group: (group.period, bool(group.subject), group.order)):
        periods.setdefault(group.period, {}).setdefault(group.subject, []).append(group.forms[group.chosen])
    return " ".join(
        f"({period}) {' '.join(_sentence(subject, texts) for subject, texts in subjects.items())}"
        for period, subjects in periods.items()
    )


def _sentence(subject: str, texts: Sequence[str]) -> str:
    """Return a list under a subject, or sentences without labels: a label would seem to hold for all."""
    joined = "; ".join(texts if subject else map(_unlabelled, texts)) + ("" if texts[-1].endswith("?") else ".")
    return f"{subject}: {joined}" if subject else joined.replace("?; ", "? ").replace("; ", ". ")


def _unlabelled(text: str) -> str:
    label = LABEL.match(text)
    return f"{label[1]} \u2013 {text[label.end() :]}" if label else text


# The telegraphic form of a clause: its key facts, each with the word it belongs to, in the clause's own words and
# order. Nothing is put beside a number that was not there: where content words are left out, there is a comma.


def _pairs(sentence: Sequence[Word], subject: str) -> dict[Pair, set[int]]:
    """Return each key fact with the word it belongs to, and the indexes of both and of the words between."""
    found: dict[Pair, set[int]] = {}
    for at, word in enumerate(sentence):
        if word.kind in KEY_FACT_WORTH and (near := _nearest(sentence, at)) is not None:
            span = {n for n in range(min(at, near), max(at, near) + 1) if sentence[n].kind != "filler"}
            whole = _negated(sentence, at) if word.kind == "negation" else _whole_name(sentence, at)
            found.setdefault((word.value, sentence[near].value), span | whole)
    if subject and subject.lower() not in _ROLES and (near := _nearest(sentence, -1)) is not None:
        found.setdefault((subject.lower(), sentence[near].value), {near})
    return found


def _whole_name(sentence: Sequence[Word], at: int) -> set[int]:
    """Return the indexes of a whole date or name: "7 May 2027", "Amy Ellis Nutt"."""
    sorts = ("name",) if sentence[at].kind == "name" else ("number", "date")
    first = last = at
    while first > max(0, at - MAX_NAME_WORDS) and sentence[first - 1].kind in sorts:
        first -= 1
    while last + 1 < min(len(sentence), at + MAX_NAME_WORDS) and sentence[last + 1].kind in sorts:
        last += 1
    return set(range(first, last + 1))


def _forms(text: str, sentence: Sequence[Word], own: set[int]) -> Sequence[str]:
    """Return the forms of a clause: nothing, the short form with its `own` words, a wider one, the whole."""
    own = own or {next(at for at, word in enumerate(sentence) if word.kind != "filler")}
    short = _with_negations(sentence, own if len(own) > 1 else _widened(sentence, own))
    wide = _with_negations(sentence, _widened(sentence, short))
    whole = text.rstrip(".!…。\uff01: ").replace(";", ",")
    return "", *(min(_joined(text, sentence, some), whole, key=len) for some in (short, wide)), whole


def _with_negations(sentence: Sequence[Word], own: set[int]) -> set[int]:
    """Add each "not" that is near, and what it denies."""
    found = set(own)
    for at, word in enumerate(sentence):
        if word.kind == "negation" and not own.isdisjoint(range(at - MAX_GAP_WORDS, at + MAX_GAP_WORDS + 1)):
            found |= _negated(sentence, at)
    return found


def _negated(sentence: Sequence[Word], at: int) -> set[int]:
    """Return the indexes of a negation, the word it belongs to, and what follows the later of the two: "can't
    agree more", "not allergic to nuts", "30 euros, not 40"."""
    near = _nearest(sentence, at)
    return {at, at if near is None else near} | _continuation(sentence, max(at, near or 0))


def _continuation(sentence: Sequence[Word], at: int) -> set[int]:
    """Return the indexes of a word and those behind it, up to a comma or the next content word; else one more."""
    end = at + 1
    while end < min(len(sentence), at + MAX_GAP_WORDS + 1) and sentence[end].start == sentence[end - 1].end + 1:
        end += 1
        if sentence[end - 1].kind != "filler":
            return set(range(at, end))
    return set(range(at, min(at + 2, len(sentence))))


def _widened(sentence: Sequence[Word], own: set[int]) -> set[int]:
    """Add the next content word to each run of words, and the filler words between."""
    wide = set(own)
    for at in own:
        following = next(
            (n for n in range(at + 1, min(len(sentence), at + MAX_GAP_WORDS + 1)) if sentence[n].kind != "filler"),
            at,
        )
        wide.update(range(at, following + 1))
    return wide


def _joined(text: str, sentence: Sequence[Word], own: set[int]) -> str:
    """Return the chosen words in their order, with a comma where content words were left out."""
    parts: list[str] = []
    last = -1
    for at in sorted(own):
        if last >= 0:
            gap = text[sentence[last].end : sentence[at].start]
            left_out = sentence[last + 1 : at]
            kinds = sentence[last].kind, sentence[at].kind
            only_fillers = len(left_out) <= 2 and all(word.kind == "filler" for word in left_out)
            if not left_out or (only_fillers and (kinds[0] == "negation" or set(kinds) <= _EXACT_KINDS)):
                parts.append(", " if ": " in gap else gap)  # text before a colon would look like a label
            else:
                parts.append(" " if only_fillers and not _JOIN.search(gap) else ", ")
        parts.append(text[sentence[at].start : sentence[at].end])
        last = at
    return "".join(parts).translate(_MARKS)


def _around_number(text: str) -> tuple[tuple[str, ...], str]:
    """Return the text before and behind the number of a text, and the number, if it has exactly one."""
    numbers = _NUMBER.findall(text)
    return (tuple(_NUMBER.split(text)), numbers[0]) if len(numbers) == 1 else ((text,), "")


def _merged(texts: Sequence[str]) -> str:
    """Return texts that differ in one number as one: "54 checks" and "16 checks" are "54, 16 checks"."""
    alike: dict[tuple[str, ...], dict[str, None]] = {}
    for rest, number in map(_around_number, texts):
        alike.setdefault(rest, {})[number] = None
    return "; ".join(", ".join(numbers).join(rest) for rest, numbers in alike.items())


def _nearest(sentence: Sequence[Word], at: int) -> int | None:
    """Return the index of the content word that is nearest to another word; of two, the later one."""
    for distance in range(1, min(MAX_KEY_FACT_DISTANCE, len(sentence)) + 1):
        for near in (at + distance, at - distance):
            if 0 <= near < len(sentence) and sentence[near].kind == "content":
                return near
    return None
