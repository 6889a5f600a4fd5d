"""Ask a model for a short text in place of a long one, and check its size, what it lost and what it made up.

A text that fails is refused once with what is wrong with it, so that the model can mend it; then it is not used.
Key facts (numbers, names, dates, negations) are found without grammar or dictionary, by how a word is written and
the words beside it. Languages without capital letters have no names here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from functools import cache
from importlib.resources import files as resources
from typing import Literal, NamedTuple

from lifelong.errors import ModelError
from lifelong.redaction import has_secret
from lifelong.text.dates import MONTH_WORDS, MONTHS, WEEKDAYS
from lifelong.text.languages import guess_language
from lifelong.text.names import Word, known_names, tag_words
from lifelong.text.sentences import clauses
from lifelong.text.words import FOLDED_WORD, UNSPACED_NEGATION, fold

AskModel = Callable[[str], str]
"""Sends one prompt to a model and returns its answer. See `models/question.py` and `models/claude.py`."""

MIN_KEPT_SHARE = 0.5  # of the key facts; where less than half of the text fits, that share of them
MAX_MISSING_FEW = 3  # key facts that may go missing in any case
MIN_COMMON_SHARE = 0.5  # of the words of an answer that must be in the text: a model that declines has others
PREFIX_LETTERS = 4  # by which two forms of a word are one
MAX_NAMED = 40  # key facts that a refusal names
MAX_KEY_FACT_DISTANCE = 20  # words between a negation and what it denies


_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_THOUSANDS = re.compile(r"(?<=\d)[.,'\u2019](?=\d{3}(?!\d))")
_PARTS = re.compile(r"[\s'\u2019/.-]+")
_CHECKED_DATES = MONTH_WORDS.union(WEEKDAYS)

REFUSAL = """\
You answered:

{answer}

This cannot be used: {reason} Answer once more, with the whole text mended and nothing else."""


class RefusedText(ModelError):
    """The model's text cannot be used."""


class KeyFact(NamedTuple):
    """A number, name, date or negation. A negation's value names what it denies: "not wait"."""

    kind: Literal["number", "name", "date", "negation"]
    value: str


def ask_for_text(
    query: AskModel, asked: str, source: str, limit: int, *, max_chars: int = 0, days: Iterable[date] = ()
) -> tuple[str, tuple[str, ...]]:
    """Return what a model writes instead of `source`, and the key facts that this lacks. Raise `RefusedText` where
    the model's text cannot be used, also after it was told why. The prompt `asked` names the `limit`; a text of
    `max_chars` is still taken. `days` are dates that it may name, whether the source has them or not."""
    known = frozenset(days)
    answer = query(asked).strip()
    if reason := find_fault(source, answer, limit, max_chars, known):
        again = f"{asked.rstrip()}\n\n{REFUSAL.format(answer=answer or '(nothing)', reason=reason)}"
        answer = query(again).strip()
        if reason := find_fault(source, answer, limit, max_chars, known):
            raise RefusedText(reason)
    return answer, tuple(sorted({fact.value for fact in missing_key_facts(source, answer)}))


def find_fault(source: str, answer: str, limit: int, max_chars: int = 0, days: Iterable[date] = ()) -> str:
    """Return why an answer cannot stand for the source, as a model is told it; empty where it can."""
    if not answer:
        return "The answer is empty."
    if len(answer) > (most := max_chars or limit):
        return f"The answer has {len(answer):,} characters; at most {most:,} fit."
    if has_secret(answer):
        return "The answer looks as if it held a secret."
    prefixes = _prefixes(answer)
    if not prefixes or len(prefixes & _prefixes(source)) < MIN_COMMON_SHARE * len(prefixes):
        return "The answer is about other things than the text."
    if invented := _invented(source, answer, days):
        return f"The answer says what is nowhere in the text: {_listed(invented)}."
    facts, lacks = key_facts(source), missing_key_facts(source, answer)
    may_lack = (1 - min(MIN_KEPT_SHARE, limit / len(source))) * len(facts)
    if len(lacks) > max(MAX_MISSING_FEW, may_lack):
        some = _listed(sorted({fact.value for fact in lacks}))
        return f"The answer lacks {len(lacks)} of the {len(facts)} numbers, names, dates and negations: {some}."
    return ""


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


@cache
def prompt(name: str) -> str:
    """Return a prompt of the package."""
    return resources("lifelong").joinpath(f"prompts/{name}.md").read_text(encoding="utf-8")


def _invented(source: str, answer: str, days: Iterable[date]) -> list[str]:
    """Return the numbers, dates and names of an answer that are nowhere in its source. A number counts by its
    digits, a name by its first letters. In German, where every noun has a capital, no name is checked."""
    words = tag_words(source)
    known = {word.value for word in words} | _words_for(days)
    numbers = {number for value in known for number in _numbers(value)}
    prefixes = {part[:PREFIX_LETTERS] for value in known for part in _PARTS.split(value)}
    nouns_are_capital = guess_language(FOLDED_WORD.findall(fold(answer))) == "german"

    def is_known(fact: KeyFact) -> bool:
        if fact.kind == "negation" or fact.value in known:
            return True
        if fact.kind == "name":
            return nouns_are_capital or all(part[:PREFIX_LETTERS] in prefixes for part in _PARTS.split(fact.value))
        if fact.kind == "date":
            return fact.value not in _CHECKED_DATES and not fact.value[0].isdigit()
        return set(_numbers(fact.value)) <= numbers

    return sorted(fact.value for fact in key_facts(answer) if not is_known(fact))


def _numbers(value: str) -> list[str]:
    """Return the numbers in a word, without currency, unit and separators of thousands."""
    return [number.replace(",", ".") for number in _NUMBER.findall(_THOUSANDS.sub("", value))]


def _words_for(days: Iterable[date]) -> set[str]:
    """Return the words for these days, the one before and the one after each: a record of today may say
    "tomorrow"."""
    words: set[str] = set()
    for day in {one + timedelta(days=shift) for one in days for shift in (-1, 0, 1)}:
        words |= {f"{day}", f"{day:%Y-%m}", f"{day.year}", f"{day.day}", f"{day.day:02}"}
        words |= {MONTHS[day.month - 1], MONTHS[day.month - 1][:3], WEEKDAYS[day.weekday()]}
    return words


def _prefixes(text: str) -> set[str]:
    """Return the prefixes of a text's words; in scripts without spaces, every letter."""
    values = [word.value for word in tag_words(text) if word.kind not in ("filler", "negation")]
    return {prefix for word in values for prefix in ([word[:PREFIX_LETTERS]] if word.isascii() else word)}


def _listed(values: Sequence[str]) -> str:
    more = len(values) - MAX_NAMED
    return ", ".join(values[:MAX_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _nearest(sentence: Sequence[Word], at: int) -> int | None:
    """Return the index of the content word that is nearest to another word; of two, the later one."""
    for distance in range(1, min(MAX_KEY_FACT_DISTANCE, len(sentence)) + 1):
        for near in (at + distance, at - distance):
            if 0 <= near < len(sentence) and sentence[near].kind == "content":
                return near
    return None
