"""How likely a newer fact takes the place of an older one: a learned judgement.

Of the features of two facts (see `features`), one sum says whether both are about the same thing, another whether
the newer one changes it; the judgement is the product of the two likelihoods. The weights are fitted to statements
that were written for it (`make judge`).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple
from zlib import decompress

from lifelong.organize.rules.features import Pair, alone
from lifelong.organize.rules.reading import Reading

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
