"""What a claim says, clause by clause."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from recollect.organize.rules import phrases
from recollect.organize.rules.clauses import Clause, Reader
from recollect.organize.rules.verbs import is_verb

_TOKEN = re.compile(r"[€$£%,;:.!?\u2013\u2014]|(?<=\s)-(?=\s)|#?[^\W_]+(?:[.,:'@/_+-]+[^\W_]+)*'?")


class Claim(NamedTuple):
    clauses: tuple[Clause, ...]
    words: frozenset[str]
    """All that it says; two claims with the same words say the same."""


@lru_cache(maxsize=4096)
def read(sentence: str) -> Claim:
    """The claim taken apart. The caller sees to it that the sentence is short."""
    sentence = phrases.plain(sentence)
    clauses: list[Clause] = []
    about: Reader | None = None
    marks: set[str] = set()
    if opener := phrases.OPENER.match(sentence):
        sentence = sentence[opener.end() :]
        marks |= {"changed", "corrected", "strong"} if opener[1] else {"changed"}
    tokens: list[str] = _TOKEN.findall(sentence)
    for start, end in _segments(tokens, [token.lower() for token in tokens]):
        reader = Reader(tokens[start:end], about)
        signals = reader.signals() | ({"changed"} if start and tokens[start - 1] == "so" else set())
        marks |= signals
        if reader.verb or not clauses:
            clause = reader.clause()
            clauses.append(clause._replace(marks=clause.marks | {"now"}) if signals else clause)
            about = reader if reader.verb else None
        else:
            clauses[-1] = _with_tail(clauses[-1], reader)
    if len(clauses) > 1 and not clauses[0].verb:
        clauses = [clauses[1]._replace(words=clauses[1].words | clauses[0].words), *clauses[2:]]
    words = frozenset[str]().union(*(clause.words for clause in clauses))
    return Claim(tuple(clause._replace(marks=clause.marks | marks, context=words) for clause in clauses), words)


def _segments(tokens: list[str], lows: list[str]) -> Iterator[tuple[int, int]]:
    """Where a clause may begin and end."""
    start = 0
    for at, low in enumerate(lows):
        if low in phrases.BREAKS:
            if low == "." and at and lows[at - 1] in phrases.TITLES:
                continue
            if at > start:
                yield start, at
            start = at + 1
        elif (low == "that" and at and lows[at - 1] in phrases.REPORTS) or (
            low in phrases.JOINTS
            and at + 1 < len(lows)
            and _begins(tokens, lows, at + 1)
            and any(is_verb(word) for word in lows[start + 1 : at])
        ):
            yield start, at
            start = at + 1
    if start < len(lows):
        yield start, len(lows)


def _begins(tokens: list[str], lows: list[str], at: int) -> bool:
    """A clause begins here: with a pronoun, with a verb, or with a name and a verb."""
    while at + 1 < len(lows) and lows[at] in phrases.ADVERBS:
        at += 1
    low = lows[at].partition("'")[0]
    if low in phrases.PRONOUNS:
        return True
    if low in phrases.DETERMINERS:
        return lows[at - 1] not in ("and", "then") or any(is_verb(word) for word in lows[at + 2 : at + 5])
    following = lows[at + 1] if at + 1 < len(lows) else ""
    return is_verb(low) or (tokens[at][0].isupper() and is_verb(following))


def _with_tail(clause: Clause, tail: Reader) -> Clause:
    """The clause with a phrase behind it that has no verb: ", not Sardinia" names what gave way."""
    tail.take(0, len(tail.lows), inside=True)
    words = frozenset().union(*tail.chunks.values()) if tail.chunks else frozenset[str]()
    if tail.lows[0] in phrases.NEGATIONS:
        return clause._replace(gone=clause.gone | words)
    return clause._replace(
        words=clause.words | words,
        predicate=clause.predicate | words if not clause.verb else clause.predicate,
        dates={**tail.dates, **clause.dates},
        amounts={**tail.amounts, **clause.amounts},
    )
