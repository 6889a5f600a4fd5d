"""How likely a newer claim takes the place of an older one: a learned judgement.

What two claims have in common and where they differ is put as some two hundred features, each a number under
which a weight may stand. One sum says whether both are about the same thing, another whether the newer one changes
it; the judgement is the product of the two likelihoods. The weights are fitted to pairs of statements that were
written for it (`make judge`).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple
from zlib import crc32, decompress

from recollect.organize.rules.reading import ASPECTS, NEGATION, Reading, bucket, overlap

FILE = "judge.bin"
SCALE = 32  # a weight of one, as it is stored

_SAME, _HEAD, _NAMED, _BOTH, _OTHER, _ME = range(6)
_YEARS = frozenset(map(str, range(2000, 2100)))


class Features(NamedTuple):
    """Where the weights of a pair stand: those for being about the same, and all."""

    topic: list[int]
    change: list[int]


class Weights(NamedTuple):
    """What each feature says for being about the same, and for a change; and what both start from."""

    topic: dict[int, int]
    change: dict[int, int]
    topic_bias: float
    change_bias: float


def _at(kind: int, a: int = 0, b: int = 0) -> int:
    """The number of a feature."""
    return ((kind * 0x9E3779B1 + a * 0x85EBCA6B + b * 0xC2B2AE35) * 0x27D4EB2F >> 16) & 0xFFFFFFFF


@lru_cache(maxsize=16_384)
def _word(word: str) -> int:
    return crc32(word.encode())


def features(old: Reading, new: Reading, me: str) -> Features:
    before, after = old.content - {me}, new.content - {me}
    shared = before & after
    kept, said = bucket(len(shared), len(before)), bucket(len(shared), len(after))
    subject = _subject(old, new, me, before, after)
    names = _names(old, new, me)
    numbers = overlap(old.numbers, new.numbers)
    if numbers == 4 and set(old.numbers.values()) & set(new.numbers.values()) - {""}:
        numbers = 5
    dates = overlap(old.dates - _YEARS, new.dates - _YEARS)
    days = overlap(old.days, new.days)
    verbs = int(old.verb == new.verb)
    topic = [
        _at(1, kept),
        _at(2, said),
        _at(3, kept, said),
        _at(4, min(len(shared), 4)),
        _at(5, subject),
        _at(6, subject, kept),
        _at(7, me in old.subject, me in new.subject),
        _at(8, names),
        _at(9, names, subject),
        _at(10, names, kept),
        _at(11, verbs, subject),
        _at(12, numbers, subject),
        _at(13, dates, subject),
        _at(14, _word(old.head), _word(new.head)),
        _at(18, min(len(before - after), 3) * 4 + min(len(after - before), 3), verbs * 6 + subject),
        _at(19, min(len(before - after), 3) * 4 + min(len(after - before), 3), names * 6 + numbers),
        *(_at(15, _word(word)) for word in shared),
        *(_at(16, _word(word)) for word in before - after),
        *(_at(17, _word(word)) for word in after - before),
    ]
    change = [
        _at(64, numbers),
        _at(65, numbers, kept),
        _at(66, numbers, verbs),
        _at(67, numbers, said),
        _at(68, dates),
        _at(69, dates, kept),
        _at(70, days),
        _at(71, days, kept),
        _at(72, (NEGATION in old.aspects) * 2 + (NEGATION in new.aspects), kept),
        _at(73, _word(old.verb), _word(new.verb)),
        _at(74, _word(new.verb)),
        _at(75, _word(old.auxiliary), _word(new.auxiliary)),
        _at(76, new.ids[0] if new.stems and new.stems[0] != me else 0),
        *(_at(77, _word(word)) for word in after - before),
        *(_at(78, _word(aspect)) for aspect in old.aspects),
    ]
    gone = [_word(word) for word in before - after]
    come = [_word(word) for word in after - before]
    change += [_at(91, one, other) for one in gone for other in come]
    old_words = set(old.words)
    for word, number, kind in zip(new.words, new.ids, new.kinds, strict=True):
        if kind == "f" and word not in old_words:
            change.append(_at(79, number))
    for name, found in new.aspects.items():
        aspect = _word(name)
        near = _is_near(new, found, shared)
        change += (
            _at(80, aspect),
            _at(81, aspect, kept),
            _at(82, aspect, subject),
            _at(83, aspect, names),
            _at(84, aspect, numbers),
            _at(85, aspect, dates),
            _at(86, aspect, near),
            *(_at(87, aspect, _word(other)) for other in old.aspects),
        )
    change += _runs(new, me, shared)
    return Features(topic, topic + change)


def _subject(old: Reading, new: Reading, me: str, before: frozenset[str], after: frozenset[str]) -> int:
    """How what the two are about compares."""
    if old.head == new.head == me:
        return _ME
    if old.subject == new.subject:
        return _SAME
    if old.head == new.head:
        return _HEAD
    if (set(old.subject) - {me}) & after or (set(new.subject) - {me}) & before:
        return _NAMED
    return _BOTH if me in old.subject and me in new.subject else _OTHER


def _names(old: Reading, new: Reading, me: str) -> int:
    before, after = old.names - {me}, new.names - {me}
    return bool(before & after) + 2 * bool(before - set(new.stems)) + 4 * bool(after - set(old.stems))


def _is_near(reading: Reading, words: frozenset[str], shared: frozenset[str]) -> bool:
    """Whether what two claims share stands close to one of these words."""
    stems = reading.stems
    return any(
        not shared.isdisjoint(stems[max(n - 2, 0) : n + 4]) for n, word in enumerate(stems) if word in words
    )


def _runs(new: Reading, me: str, shared: frozenset[str]) -> Iterable[int]:
    """Two and three words in a row: as they are, and with what is special to this claim left open."""
    shape = [
        1
        if word == me
        else 2
        if kind in "nd"
        else 3
        if kind == "N"
        else 4
        if word in shared
        else number
        if kind == "f" or word in ASPECTS
        else 5
        for word, number, kind in zip(new.stems, new.ids, new.kinds, strict=True)
    ]
    yield from (_at(88, one, two) for one, two in pairwise(new.ids))
    yield from (_at(89, one, two) for one, two in pairwise(shape))
    for one, two, three in zip(shape, shape[1:], shape[2:], strict=False):
        yield _at(90, one * 31 + two, three)


def likelihood(old: Reading, new: Reading, me: str) -> float:
    """From 0 to 1. `me` is the stem of the name of the one who said both."""
    weights = learned()
    found = features(old, new, me)
    topic = sum(weights.topic.get(feature, 0) for feature in found.topic) / SCALE + weights.topic_bias
    change = sum(weights.change.get(feature, 0) for feature in found.change) / SCALE + weights.change_bias
    return 1 / ((1 + math.exp(-topic)) * (1 + math.exp(-change)))


@cache
def learned() -> Weights:
    """The weights as they are shipped: two biases, then the features, then their weights."""
    data = decompress((files("recollect.organize.rules") / FILE).read_bytes())
    biases, count = array("f", data[:8]), (len(data) - 8) // 6
    features = array("I", data[8 : 8 + 4 * count])
    topic, change = array("b", data[8 + 4 * count : 8 + 5 * count]), array("b", data[8 + 5 * count :])
    return Weights(
        {feature: weight for feature, weight in zip(features, topic, strict=True) if weight},
        {feature: weight for feature, weight in zip(features, change, strict=True) if weight},
        biases[0],
        biases[1],
    )
