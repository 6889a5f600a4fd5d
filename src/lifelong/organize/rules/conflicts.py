"""Whether a newer fact repeats an older one, supersedes it, or is independent of it; and the keys to find both
by."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal, NamedTuple
from zlib import decompress

from lifelong.organize.rules.features import LONGEST, NEGATION, SMALL, Pair, Reading, alone, read
from lifelong.text.stems import canonical
from lifelong.text.words import word_set

FILE = "judge.bin"
SCALE = 32  # a weight of one, as it is stored


class Weights(NamedTuple):
    """What each feature says for being about the same, and for a change; and what both start from."""

    topic: dict[int, int]
    change: dict[int, int]
    topic_bias: float
    change_bias: float


def likelihood(old: Reading, new: Reading, me: str, least: float = 0.0) -> float:
    """From 0 to 1. `me` is the stem of the name of the one who said both. 0 where it is less likely than `least`
    that both are about the same: most facts are not, and then the rest need not be looked at."""
    weights, pair = learned(), Pair(old, new, me)
    topic = [_weighed(*made) for made in pair.topic()]
    about = 1 / (1 + math.exp(-sum([one for one, _ in topic]) / SCALE - weights.topic_bias))
    if about < least:
        return 0.0
    weight = weights.change.get
    change = (
        sum([other for _, other in topic])
        + sum([_weighed(*made)[1] for made in pair.change()])
        + _weighed_alone(new, me)
        + sum([weight(feature, 0) for feature in pair.rest()])
    )
    return about / (1 + math.exp(-change / SCALE - weights.change_bias))


@lru_cache(maxsize=32_768)
def _weighed(make: Callable[..., tuple[int, ...]], given: tuple[int | str, ...]) -> tuple[int, int]:
    """What these features say for being about the same, and for a change."""
    weights, found = learned(), make(*given)
    return sum(weights.topic.get(one, 0) for one in found), sum(weights.change.get(one, 0) for one in found)


@lru_cache(maxsize=4_096)
def _weighed_alone(new: Reading, me: str) -> int:
    weight = learned().change.get
    return sum(weight(feature, 0) for feature in alone(new, me))


@cache
def learned() -> Weights:
    """The weights as they are shipped: two biases, then the features, then their weights."""
    data = decompress((files("lifelong.organize.rules") / FILE).read_bytes())
    biases, count = array("f", data[:8]), (len(data) - 8) // 6
    features = array("I", data[8 : 8 + 4 * count])
    topic, change = array("b", data[8 + 4 * count : 8 + 5 * count]), array("b", data[8 + 5 * count :])
    return Weights(
        {feature: weight for feature, weight in zip(features, topic, strict=True) if weight},
        {feature: weight for feature, weight in zip(features, change, strict=True) if weight},
        biases[0],
        biases[1],
    )


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
