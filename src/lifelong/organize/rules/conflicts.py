"""Whether a newer fact repeats an older one, takes its place, or stands beside it; and where to look for both."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from lifelong.organize.rules.judging import likelihood
from lifelong.organize.rules.reading import LONGEST, NEGATION, SMALL, Reading, read
from lifelong.text.stems import canonical
from lifelong.text.words import word_set

Verdict = Literal["same", "supersedes", "different"]

MOST_KEYS = 7
LONGEST_KEY = 100
LONGEST_STATE, LONGEST_NEWS = 16, 30  # words of a fact that can be ended, and of one that can end it
SURE = 0.65
SURE_IN_CHAT = 0.9
"""From this likelihood on an older fact is ended. To lose a true fact is worse than to keep two; and people who
chat with each other tell of feelings and doings, and seldom of a change."""

_SOMEBODY = "Somebody"
_SENTENCES = re.compile(r"[.!?;] +\w")
_TURNING = word_set("up down out off over to from into will would rarely")
_TELLING = ("neg", "hypo", "end", "past")  # words that turn what a fact says


@lru_cache(maxsize=4_096)
def keys(sentence: str) -> frozenset[str]:
    """What the sentence is about, as a few short lookup keys (≤ 7): a sentence that this one repeats or supersedes
    shares at least one of them, as a rule."""
    fact = read(sentence)
    if not fact.stems:
        return frozenset()
    domains = sorted(fact.domains, key=lambda domain: (-fact.domains[domain], domain))[:3]
    who = fact.subject[0]
    rare = sorted(fact.content, key=lambda word: (word in fact.names, len(word), word), reverse=True)
    chosen = dict.fromkeys((who, *(f"{who}|{domain}" for domain in domains), *rare))
    return frozenset(key[:LONGEST_KEY] for key in list(chosen)[:MOST_KEYS])


def subject_key(name: str) -> str:
    """The key that every sentence about somebody has."""
    return canonical(name.split(" ", 1)[0].lower())


def judge(old: str, new: str, speaker: str = "", sure: float = SURE) -> Verdict:
    """Whether the newer sentence says the same as the older one, replaces it, or stands beside it. `speaker`: who
    said both, by the name that they use; `sure`: how likely it must be that it is replaced."""
    return judge_both(old, new, speaker, sure)[0]


def judge_both(one: str, other: str, speaker: str, sure: float) -> tuple[Verdict, Verdict]:
    """What the other is to the one if it came later; and what the one is to the other if that came later."""
    if one == other:
        return "same", "same"
    if max(len(one), len(other)) > LONGEST:
        return "different", "different"
    if speaker and not speaker.isalpha():  # of "u17" and "Ann Lee" both words would count as something in common
        one, other, speaker = one.replace(speaker, _SOMEBODY), other.replace(speaker, _SOMEBODY), _SOMEBODY
    first, second = read(one), read(other)
    if _says_no_more(first, second):
        return ("same" if _repeats(first, second) else "different"), "different"
    if first.label and second.label and first.label != second.label:
        return "different", "different"  # "PR 260" is not "PR 480"
    me = subject_key(speaker)
    if (first.content & second.content) <= {me} and first.domains.keys().isdisjoint(second.domains):
        return "different", "different"  # nothing leads from the one to the other
    ahead = likelihood(first, second, me, sure) if _may_end(one, first, second) else None
    if ahead == 0.0:
        return "different", "different"
    back = likelihood(second, first, me, sure) if _may_end(other, second, first) else None
    return _verdict(ahead, sure), _verdict(back, sure)


def _verdict(likely: float | None, sure: float) -> Verdict:
    return "supersedes" if likely is not None and likely >= sure else "different"


def _may_end(old: str, before: Reading, after: Reading) -> bool:
    """Whether the one is a single statement, and the other short enough to be news of it."""
    return len(before.words) <= LONGEST_STATE and len(after.words) <= LONGEST_NEWS and not _SENTENCES.search(old)


def _says_no_more(old: Reading, new: Reading) -> bool:
    """The newer one has no word of weight, no number and no date that the older one does not have."""
    return (
        bool(new.content)
        and new.content <= old.content
        and new.numbers.items() <= old.numbers.items()
        and new.dates <= old.dates
        and new.days <= old.days
        and _TURNING.intersection(new.words) == _TURNING.intersection(old.words)
        and all((aspect in old.aspects) == (aspect in new.aspects) for aspect in _TELLING)
    )


def _repeats(old: Reading, new: Reading) -> bool:
    """It also speaks of the same, in the same order, and denies nothing else."""
    before, after = _told(old), _told(new)
    known = set(after)
    denied = NEGATION in old.aspects or NEGATION in new.aspects
    return (
        [word for word in before if word in known] == after
        and (before == after or not denied)
        and (new.subject == old.subject or new.subject[0] in SMALL)
    )


def _told(fact: Reading) -> list[str]:
    """What the fact says, word by word; how it says "not" is no matter."""
    return [
        root
        for word, root, kind in zip(fact.words, fact.stems, fact.kinds, strict=True)
        if kind in "wN" and not word.endswith("n't")
    ]
