"""Whether a newer fact repeats an older one, supersedes it, or is independent of it; and the keys to find both by.

Supersession is learned: one sum over the features of two facts says whether both are about the same thing, another
whether the newer one changes it; the likelihood is the product of the two. The weights are fitted to statements
that were written for it (`make fit-rules`).
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal, NamedTuple
from zlib import decompress

from lifelong.organize.rules.features import (
    FUNCTION_WORDS,
    MAX_FACT_CHARS,
    NEGATION,
    FactAnalysis,
    FactPair,
    analyze_fact,
    newer_features,
)
from lifelong.text.stems import canonical
from lifelong.text.words import word_set

WEIGHTS_FILE = "judge.bin"
SCALE = 32  # a weight of one, as it is stored


class Weights(NamedTuple):
    """The weight of each feature for the same topic and for a change, and both biases."""

    topic: dict[int, int]
    change: dict[int, int]
    topic_bias: float
    change_bias: float


def supersession_likelihood(old: FactAnalysis, new: FactAnalysis, me: str, least: float = 0.0) -> float:
    """Return how likely the newer fact supersedes the older one. `me` is the stem of the name of the person who
    said both. Return 0 if the same topic is less likely than `least`: that settles most pairs early."""
    weights, pair = load_weights(), FactPair(old, new, me)
    topic = [_weigh(*made) for made in pair.topic()]
    about = 1 / (1 + math.exp(-sum([one for one, _ in topic]) / SCALE - weights.topic_bias))
    if about < least:
        return 0.0
    weight = weights.change.get
    change = (
        sum([other for _, other in topic])
        + sum([_weigh(*made)[1] for made in pair.change()])
        + _weigh_newer(new, me)
        + sum([weight(feature, 0) for feature in pair.rest()])
    )
    return about / (1 + math.exp(-change / SCALE - weights.change_bias))


@lru_cache(maxsize=32_768)
def _weigh(make: Callable[..., tuple[int, ...]], given: tuple[int | str, ...]) -> tuple[int, int]:
    """Return the weights of these features for the same topic, and for a change."""
    weights, found = load_weights(), make(*given)
    return sum(weights.topic.get(one, 0) for one in found), sum(weights.change.get(one, 0) for one in found)


@lru_cache(maxsize=4_096)
def _weigh_newer(new: FactAnalysis, me: str) -> int:
    weight = load_weights().change.get
    return sum(weight(feature, 0) for feature in newer_features(new, me))


@cache
def load_weights() -> Weights:
    """Return the shipped weights: the file holds two biases, then the features, then their weights."""
    data = decompress((files("lifelong.organize.rules") / WEIGHTS_FILE).read_bytes())
    biases, count = array("f", data[:8]), (len(data) - 8) // 6
    features = array("I", data[8 : 8 + 4 * count])
    topic, change = array("b", data[8 + 4 * count : 8 + 5 * count]), array("b", data[8 + 5 * count :])
    return Weights(
        {feature: weight for feature, weight in zip(features, topic, strict=True) if weight},
        {feature: weight for feature, weight in zip(features, change, strict=True) if weight},
        biases[0],
        biases[1],
    )


Comparison = Literal["same", "supersedes", "independent"]

MAX_KEYS = 7
MAX_KEY_CHARS = 100
MAX_STATE_WORDS, MAX_UPDATE_WORDS = 16, 30  # of a fact that can be ended, and of one that can end it
MIN_LIKELIHOOD = 0.65
MIN_LIKELIHOOD_IN_CHAT = 0.9
"""From this likelihood on an older fact is ended. Losing a true fact is worse than keeping two; and people who
chat with each other speak of feelings and activities, and seldom of a change."""

_SOMEBODY = "Somebody"
_SENTENCES = re.compile(r"[.!?;] +\w")
_PARTICLES = word_set("up down out off over to from into will would rarely")
_DECISIVE_ASPECTS = ("neg", "hypo", "end", "past")  # they reverse what a fact says


@lru_cache(maxsize=4_096)
def keys(sentence: str) -> frozenset[str]:
    """Return at most 7 short lookup keys for what the sentence is about: a sentence that this one repeats or
    supersedes normally shares one of them."""
    fact = analyze_fact(sentence)
    if not fact.stems:
        return frozenset()
    domains = sorted(fact.domains, key=lambda domain: (-fact.domains[domain], domain))[:3]
    who = fact.subject[0]
    rare = sorted(fact.content, key=lambda word: (word in fact.names, len(word), word), reverse=True)
    chosen = dict.fromkeys((who, *(f"{who}|{domain}" for domain in domains), *rare))
    return frozenset(key[:MAX_KEY_CHARS] for key in list(chosen)[:MAX_KEYS])


def subject_key(name: str) -> str:
    """Return the key that every sentence about somebody has."""
    return canonical(name.split(" ", 1)[0].lower())


def compare(old: str, new: str, speaker: str = "", threshold: float = MIN_LIKELIHOOD) -> Comparison:
    """Return whether the newer sentence says the same as the older one, supersedes it, or is independent.
    `speaker` is the name of the person who said both; `threshold` is the likelihood from which on it
    supersedes."""
    return compare_both(old, new, speaker, threshold)[0]


def compare_both(one: str, other: str, speaker: str, threshold: float) -> tuple[Comparison, Comparison]:
    """Return what the second is to the first if it is newer, and what the first is to the second if that is."""
    if one == other:
        return "same", "same"
    if max(len(one), len(other)) > MAX_FACT_CHARS:
        return "independent", "independent"
    if speaker and not speaker.isalpha():  # of "u17" and "Ann Lee" each word would count as shared
        one, other, speaker = one.replace(speaker, _SOMEBODY), other.replace(speaker, _SOMEBODY), _SOMEBODY
    first, second = analyze_fact(one), analyze_fact(other)
    if _adds_nothing(first, second):
        return ("same" if _repeats(first, second) else "independent"), "independent"
    if first.label and second.label and first.label != second.label:
        return "independent", "independent"  # "PR 260" is not "PR 480"
    me = subject_key(speaker)
    if (first.content & second.content) <= {me} and first.domains.keys().isdisjoint(second.domains):
        return "independent", "independent"  # they have nothing in common
    ahead = supersession_likelihood(first, second, me, threshold) if _comparable(one, first, second) else None
    if ahead == 0.0:
        return "independent", "independent"
    back = supersession_likelihood(second, first, me, threshold) if _comparable(other, second, first) else None
    return _comparison(ahead, threshold), _comparison(back, threshold)


def _comparison(likely: float | None, threshold: float) -> Comparison:
    return "supersedes" if likely is not None and likely >= threshold else "independent"


def _comparable(old: str, before: FactAnalysis, after: FactAnalysis) -> bool:
    """Return whether the older is a single statement, and the newer short enough to be an update of it."""
    return (
        len(before.words) <= MAX_STATE_WORDS
        and len(after.words) <= MAX_UPDATE_WORDS
        and not _SENTENCES.search(old)
    )


def _adds_nothing(old: FactAnalysis, new: FactAnalysis) -> bool:
    """Return whether the newer one has no content word, number or date that the older one lacks."""
    return (
        bool(new.content)
        and new.content <= old.content
        and new.numbers.items() <= old.numbers.items()
        and new.dates <= old.dates
        and new.days <= old.days
        and _PARTICLES.intersection(new.words) == _PARTICLES.intersection(old.words)
        and all((aspect in old.aspects) == (aspect in new.aspects) for aspect in _DECISIVE_ASPECTS)
    )


def _repeats(old: FactAnalysis, new: FactAnalysis) -> bool:
    """Return whether it also has the same subject, the same order, and the same negation."""
    before, after = _content_words(old), _content_words(new)
    known = set(after)
    denied = NEGATION in old.aspects or NEGATION in new.aspects
    return (
        [word for word in before if word in known] == after
        and (before == after or not denied)
        and (new.subject == old.subject or new.subject[0] in FUNCTION_WORDS)
    )


def _content_words(fact: FactAnalysis) -> list[str]:
    """Return the content words of the fact; how it says "not" does not matter."""
    return [
        root
        for word, root, kind in zip(fact.words, fact.stems, fact.kinds, strict=True)
        if kind in "wN" and not word.endswith("n't")
    ]
