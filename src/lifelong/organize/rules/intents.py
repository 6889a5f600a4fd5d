"""What somebody who speaks to an assistant does: asks for something from now on, asks for something now, or tells.

"Dates as YYYY-MM-DD, please" holds from now on, "use the blue one here" does not, and hardly a word in them says
so. The judgement is learned: sums over the words of a sentence, alone and in twos, with weights that are fitted to
sentences written for it (`make judge`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Literal

from lifelong.organize.rules.sentences import with_apostrophes

Intent = Literal["standing", "once", "other"]

FILE = "intents.json"
SCALE = 32  # a weight of one, as it is stored
SURE = {"standing": 0.7, "once": 0.45}  # what is likelier than this is taken for it
LONGEST = 40  # words

_QUOTED = re.compile(r"[\"\u201c][^\"\u201d]*[\"\u201d]?|`[^`]*`|(?<!\w)'[^']{2,}'(?!\w)")
_NOT = re.compile(r"\b(do|does|did|should|must|could|would|is|are|need)(?: not|nt)\b", re.IGNORECASE)
_PART = re.compile(r"[^\s,;:?]+|[,;:?](?=\s|$)")
_CODE = re.compile(r"\w[./_\\]\w|^[@/#.~]\w|\w\(\)")
_DAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|i(?:'\w+)?")


def intent(sentence: str) -> Intent:
    """What is done with these words; with the mark that ends them."""
    if sentence.count(" ") >= LONGEST:
        return "other"
    seen, weights = set(features(sentence)), learned()
    found = [weights[feature] for feature in seen if feature in weights]
    root = SCALE * math.sqrt(len(seen))
    if likelihood(sum(one for one, _ in found) / root + weights[""][0] / SCALE) > SURE["standing"]:
        return "standing"
    once = likelihood(sum(other for _, other in found) / root + weights[""][1] / SCALE) > SURE["once"]
    return "once" if once else "other"


def likelihood(told: float) -> float:
    return 1 / (1 + math.exp(-told))


def features(sentence: str) -> Iterator[str]:
    """What is seen of a sentence."""
    parts = list(_parts(sentence))
    words = [part for part in parts if part not in ",;:"]
    yield from parts
    yield from (f"{one} {two}" for one, two in zip(["^", *parts], [*parts, "$"], strict=True))
    yield from (f"{one} .. {two}" for one, two in zip(["^", *words], words[1:], strict=False))
    yield from (f"^ .. {word}" for word in words[:3])
    yield from (f"^ ..{word[-2:]}" for word in words[:1])
    yield f"{min(len(words), 20) // 3} words"


def _parts(sentence: str) -> Iterator[str]:
    """Its words and marks; what is quoted, names, code and numbers each as one and the same."""
    plain = with_apostrophes(_QUOTED.sub(" QUOTE ", sentence.replace("\u2019", "'")))
    for place, part in enumerate(_PART.findall(_NOT.sub(r"\1n't", plain))):
        word = part.strip("().!*[]-\u2013\u2014")
        if part in ",;:?" or word == "QUOTE":
            yield part
        elif not word:
            continue
        elif any(letter.isdigit() for letter in word):
            yield "#"
        elif _CODE.search(word):
            yield "CODE"
        elif place and word[0].isupper() and not _DAY.fullmatch(word.lower()):
            yield "NAME"
        else:
            yield word.lower()


@cache
def learned() -> dict[str, list[int]]:
    """What each feature says for either, as it is shipped; that of nothing is what the sums start from."""
    weights: dict[str, list[int]] = json.loads(
        (files("lifelong.organize.rules") / FILE).read_text(encoding="utf-8")
    )
    return weights
