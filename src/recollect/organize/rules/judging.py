"""How likely a newer claim takes the place of an older one: a learned judgement.

What two claims have in common and where they differ is put as some two hundred features, each a number under
which a weight may stand. One sum says whether both are about the same thing, another whether the newer one changes
it; the judgement is the product of the two likelihoods. The weights are fitted to pairs of statements that were
written for it (`make judge`).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain, pairwise
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
    pair = _Pair(old, new, me)
    topic = pair.topic()
    return Features(topic, [*topic, *pair.rest()])


class _Pair:
    """Two claims side by side: what stands in both, what went and what came."""

    def __init__(self, old: Reading, new: Reading, me: str) -> None:
        self.old, self.new, self.me = old, new, me
        before, after = old.content - {me}, new.content - {me}
        self.shared, self.gone, self.come = before & after, before - after, after - before
        self.kept, self.said = bucket(len(self.shared), len(before)), bucket(len(self.shared), len(after))
        self.subject = _subject(old, new, me, before, after)
        self.names = _names(old, new, me)
        self.numbers = overlap(old.numbers, new.numbers)
        if self.numbers == 4 and set(old.numbers.values()) & set(new.numbers.values()) - {""}:
            self.numbers = 5
        self.dates = overlap(old.dates - _YEARS, new.dates - _YEARS)
        self.days = overlap(old.days, new.days)
        self.verbs = int(old.verb == new.verb)
        self.heads = tuple(0 if head == me else _word(head) for head in (old.head, new.head))
        self.ids = [1 if word == me else number for word, number in zip(new.stems, new.ids, strict=True)]

    def rest(self) -> Iterator[int]:
        return chain(self.change(), self.aspects(), self.runs())

    def topic(self) -> list[int]:
        """Whether both are about the same."""
        old, new = self.old, self.new
        swapped = min(len(self.gone), 3) * 4 + min(len(self.come), 3)
        return [
            _at(1, self.kept),
            _at(2, self.said),
            _at(3, self.kept, self.said),
            _at(4, min(len(self.shared), 4)),
            _at(5, self.subject),
            _at(6, self.subject, self.kept),
            _at(7, self.me in old.subject, self.me in new.subject),
            _at(8, self.names),
            _at(9, self.names, self.subject),
            _at(10, self.names, self.kept),
            _at(11, self.verbs, self.subject),
            _at(12, self.numbers, self.subject),
            _at(13, self.dates, self.subject),
            _at(14, *self.heads),
            _at(18, swapped, self.verbs * 6 + self.subject),
            _at(19, swapped, self.names * 6 + self.numbers),
            *(_at(15, _word(word)) for word in self.shared),
            *(_at(16, _word(word)) for word in self.gone),
            *(_at(17, _word(word)) for word in self.come),
        ]

    def change(self) -> Iterator[int]:
        """What became of numbers, dates, verbs and words."""
        old, new, kept = self.old, self.new, self.kept
        yield from (_at(64, self.numbers), _at(65, self.numbers, kept), _at(66, self.numbers, self.verbs))
        yield from (_at(67, self.numbers, self.said), _at(68, self.dates), _at(69, self.dates, kept))
        yield from (_at(70, self.days), _at(71, self.days, kept))
        yield _at(72, (NEGATION in old.aspects) * 2 + (NEGATION in new.aspects), kept)
        yield from (_at(73, _word(old.verb), _word(new.verb)), _at(74, _word(new.verb)))
        yield _at(75, _word(old.auxiliary), _word(new.auxiliary))
        yield _at(76, self.ids[0] if self.ids else 0)
        yield from (_at(77, _word(word)) for word in self.come)
        yield from (_at(78, _word(aspect)) for aspect in old.aspects)
        yield from (_at(91, _word(one), _word(other)) for one in self.gone for other in self.come)
        known = set(old.words)
        for word, number, kind in zip(new.words, new.ids, new.kinds, strict=True):
            if kind == "f" and word not in known:
                yield _at(79, number)

    def aspects(self) -> Iterator[int]:
        """What the words of change, end, doubt and the like stand with."""
        for name, found in self.new.aspects.items():
            aspect = _word(name)
            beside = (self.kept, self.subject, self.names, self.numbers, self.dates, self._is_near(found))
            yield _at(80, aspect)
            yield from (_at(kind, aspect, other) for kind, other in enumerate(beside, start=81))
            yield from (_at(87, aspect, _word(other)) for other in self.old.aspects)

    def runs(self) -> Iterator[int]:
        """Two and three words in a row: as they are, and with what is special to this claim left open."""
        shape = [
            self._shape(word, number, kind)
            for word, number, kind in zip(self.new.stems, self.new.ids, self.new.kinds, strict=True)
        ]
        yield from (_at(88, one, two) for one, two in pairwise(self.ids))
        yield from (_at(89, one, two) for one, two in pairwise(shape))
        for one, two, three in zip(shape, shape[1:], shape[2:], strict=False):
            yield _at(90, one * 31 + two, three)

    def _shape(self, word: str, number: int, kind: str) -> int:
        if word == self.me:
            return 1
        if kind in "ndN":
            return 3 if kind == "N" else 2
        if word in self.shared:
            return 4
        return number if kind == "f" or word in ASPECTS else 5

    def _is_near(self, words: frozenset[str]) -> bool:
        """Whether what both share stands close to one of these words."""
        stems = self.new.stems
        return any(
            not self.shared.isdisjoint(stems[max(n - 2, 0) : n + 4])
            for n, word in enumerate(stems)
            if word in words
        )


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


def likelihood(old: Reading, new: Reading, me: str, least: float = 0.0) -> float:
    """From 0 to 1. `me` is the stem of the name of the one who said both. 0 where it is less likely than `least`
    that both are about the same: most claims are not, and then the rest need not be looked at."""
    weights, pair = learned(), _Pair(old, new, me)
    topic = pair.topic()
    weight = weights.topic.get
    about = 1 / (1 + math.exp(-sum([weight(feature, 0) for feature in topic]) / SCALE - weights.topic_bias))
    if about < least:
        return 0.0
    weight = weights.change.get
    change = sum([weight(feature, 0) for feature in chain(topic, pair.rest())]) / SCALE + weights.change_bias
    return about / (1 + math.exp(-change))


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
