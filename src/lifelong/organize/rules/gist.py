"""The sentences of one record put together to a fact that holds the gist of it, and what it is worth."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lifelong.organize.rules.leaning import LEANS
from lifelong.organize.rules.sentences import tell
from lifelong.text.words import FUNCTION, WORD

FLOOR = 1.5  # what a sentence must be worth to be kept
GIST = 0.4  # the share of a record's words that its fact should hold
LONGEST_CLAIM = 300  # characters
_EVEN, _SLOPE = 12.0, 0.29  # a fact of that worth is as likely asked for as not; how fast that changes
_AGAIN = 0.4  # the second fact of a record is worth less than the first
_SHOWN = 0.6  # what is seen on a picture is worth less than what is said
_LAST = 1_000_000  # the place of a picture: after all that was said

_ARTICLE = re.compile(r"\b(?:an?|the) ")
_PHOTO = re.compile(r"^(?:an? )?(?:photo(?:graphy|graph)?|picture|image)\b")


@lru_cache(maxsize=256)
def content_words(text: str) -> frozenset[str]:
    """The distinct words that are not mere grammar, lower-cased."""
    return frozenset([word for word in WORD.findall(text.lower()) if len(word) > 1 and word not in FUNCTION])


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence that may be kept. `also`: another record that it needs, for the question it answers or for who
    is meant; `inferred`: who is meant was concluded; `lasts`: to be kept in any case."""

    place: int
    text: str
    worth: float
    also: int = 0
    inferred: bool = False
    lasts: bool = False

    def has_room(self, after: Unit) -> bool:
        """Whether both fit into one fact."""
        return len(self.text) + len(after.text) <= LONGEST_CLAIM and (not self.also or not after.also)

    def joined(self, after: Unit) -> Unit:
        return Unit(
            self.place,
            f"{self.text}. {after.text}",
            self.worth + after.worth,
            self.also or after.also,
            self.inferred or after.inferred,
            self.lasts or after.lasts,
        )


def photo(captions: Sequence[str], me: str) -> Unit:
    shown = " and ".join(_ARTICLE.sub("", _PHOTO.sub("photo", caption.strip())) for caption in captions)
    return Unit(_LAST, f"{me} shared {shown}", _SHOWN * tell(shown))


def gists(units: Iterable[Unit], text: str, bonus: float) -> Iterator[tuple[float, list[Unit]]]:
    """The units as facts, the best first, each with how likely it will be asked for. A record's second
    fact counts for less: knowledge that is spread over the talk serves more questions."""
    left = sorted((unit for unit in units if unit.worth >= FLOOR), key=lambda unit: (-unit.worth, unit.place))
    words = content_words(text) if len(left) > 1 else frozenset()
    share = 1.0
    while left:
        part = _together(_gist(left, words), left[0])
        left = [unit for unit in left if unit not in part]
        likely = _likely(sum(unit.worth for unit in part) + bonus)
        yield share * likely, part
        share *= _AGAIN


def alone(units: Iterable[Unit], bonus: float) -> Iterator[tuple[float, list[Unit]]]:
    """Each unit as a fact, with how likely it will be asked for."""
    return ((_likely(unit.worth + bonus), [unit]) for unit in units if unit.worth >= FLOOR)


def _likely(worth: float) -> float:
    return 1 / (1 + math.exp(-_SLOPE * (worth - _EVEN)))


def joined_text(units: Sequence[Unit], subject: str) -> str:
    """The units, in order, as one fact that names its subject once."""
    text = units[0].text
    for unit in units[1:]:
        if unit.place == _LAST:
            text += f" ({unit.text.removeprefix(f'{subject} shared ')})"
        elif text.startswith(f"{subject} ") and unit.text.startswith(f"{subject} "):
            text += f"; {unit.text.removeprefix(f'{subject} ')}"
        else:
            text += f". {unit.text}"
    return f"{text}."


def _together(part: Iterable[Unit], best: Unit) -> list[Unit]:
    """Those of the units, in order, that stand with the best one: after a gap, "it" would mean something else."""
    runs: list[list[Unit]] = []
    for unit in sorted(part, key=lambda unit: unit.place):
        if not runs or (LEANS.match(unit.text) and unit.place != runs[-1][-1].place + 1):
            runs.append([])
        runs[-1].append(unit)
    return next(run for run in runs if best in run)


def _gist(units: Sequence[Unit], words: frozenset[str]) -> list[Unit]:
    """The best unit, and the fewest more that the gist of the record needs, short of too long a fact."""
    part, rest = [units[0]], list(units[1:])
    if not rest:
        return part
    length = len(units[0].text)
    held = words & content_words(units[0].text)
    needed = GIST * len(words)
    while len(held) < needed and (rest := [unit for unit in rest if length + len(unit.text) <= LONGEST_CLAIM]):
        enough = [unit for unit in rest if len(held | words & content_words(unit.text)) >= needed]
        unit = min(enough, key=lambda unit: len(unit.text)) if enough else rest[0]
        rest.remove(unit)
        part.append(unit)
        length += len(unit.text)
        held |= words & content_words(unit.text)
    return part
