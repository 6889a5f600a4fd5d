"""What two facts have in common and where they differ, as some two hundred features: each is a number, and a
weight may stand under it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from zlib import crc32

from lifelong.organize.rules.reading import ASPECTS, NEGATION, Reading, bucket, overlap

_BITS = (1 << 48) - 1  # of which the upper 32 are the number of a feature
_KIND, _ONE, _TWO = (one * 0x27D4EB2F & _BITS for one in (0x9E3779B1, 0x85EBCA6B, 0xC2B2AE35))
_TWOS, _THREES = 89 * _KIND, 90 * _KIND
_SAME, _HEAD, _NAMED, _BOTH, _OTHER, _ME = range(6)
_STAYED, _WENT, _CAME, _NEWS, _WAS = 15, 16, 17, 77, 78  # features of one word
_VERBS, _AUXILIARIES, _BESIDE = 73, 75, 87  # and of two
_DENIALS = frozenset(("not", "than", "instead"))
_YEARS = frozenset(map(str, range(2000, 2100)))


def _at(kind: int, a: int = 0, b: int = 0) -> int:
    """The number of a feature."""
    return (kind * _KIND + a * _ONE + b * _TWO >> 16) & 0xFFFFFFFF


@lru_cache(maxsize=16_384)
def _word(word: str) -> int:
    return crc32(word.encode())


@lru_cache(maxsize=16_384)
def _parts(word: int) -> tuple[int, int]:
    """What a word adds to the number of a feature as the one and as the other of two, before it is cut."""
    return word * _ONE & _BITS, word * _TWO & _BITS


# What features stand for: each from a few numbers or a word, so that many pairs have the same


def _frame(
    kept: int,
    said: int,
    shared: int,
    subject: int,
    mine: int,
    names: int,
    verbs: int,
    numbers: int,
    dates: int,
    swapped: int,
) -> tuple[int, ...]:
    """How much stands in both, and how what they are about compares."""
    return (
        _at(1, kept),
        _at(2, said),
        _at(3, kept, said),
        _at(4, shared),
        _at(5, subject),
        _at(6, subject, kept),
        _at(7, mine >> 1, mine & 1),
        _at(8, names),
        _at(9, names, subject),
        _at(10, names, kept),
        _at(11, verbs, subject),
        _at(12, numbers, subject),
        _at(13, dates, subject),
        _at(18, swapped, verbs * 6 + subject),
        _at(19, swapped, names * 6 + numbers),
    )


def _turn(kept: int, said: int, verbs: int, numbers: int, dates: int, days: int, denied: int) -> tuple[int, ...]:
    """What became of numbers, dates and verbs."""
    return (
        _at(64, numbers),
        _at(65, numbers, kept),
        _at(66, numbers, verbs),
        _at(67, numbers, said),
        _at(68, dates),
        _at(69, dates, kept),
        _at(70, days),
        _at(71, days, kept),
        _at(72, denied, kept),
    )


def _aspect(name: str, *beside: int) -> tuple[int, ...]:
    """What a word of change, end, doubt or the like stands with."""
    aspect = _word(name)
    return (_at(80, aspect), *(_at(kind, aspect, other) for kind, other in enumerate(beside, start=81)))


def _one(kind: int, word: str) -> tuple[int, ...]:
    return (_at(kind, _word(word)),)


def _two(kind: int, one: str, other: str) -> tuple[int, ...]:
    return (_at(kind, _word(one), _word(other)),)


def _slot(around: int, went: int, came: int, kinds: str, before: int, verb: str, subject: int) -> tuple[int, ...]:
    """How much both begin and end with, and what stands there once and once more."""
    shape, kind, does = went * 5 + came, _word(kinds), _word(verb)
    found = (_at(20, around, shape), _at(21, around, subject), _at(22, shape, kind))
    if not went or not came:
        return (*found, _at(23, does, shape))
    if max(went, came) == 4 or around in (0, 1, 4):
        return found
    return (
        *found,
        _at(24, kind, subject),
        _at(25, does),
        _at(26, before),
        _at(27, does, before),
        _at(28, kind, around),
        _at(29, does, kind),
    )


def _denied(kinds: str, kept: int, subject: int) -> tuple[int, ...]:
    """What the newer fact says is not so."""
    kind = _word(kinds)
    return (_at(92, kind), _at(93, kind, kept), _at(94, kind, subject))


def _heads(old: str, new: str, me: str) -> tuple[int, ...]:
    return (_at(14, *(0 if head == me else _word(head) for head in (old, new))),)


def alone(new: Reading, me: str) -> list[int]:
    """What the newer fact says by itself: its verb, how it begins, and two words in a row."""
    ids = [1 if word == me else number for word, number in zip(new.stems, new.ids, strict=True)]
    return [
        _at(74, _word(new.verb)),
        _at(76, ids[0] if ids else 0),
        *(_at(88, one, two) for one, two in pairwise(ids)),
    ]


Made = tuple[Callable[..., tuple[int, ...]], tuple[int | str, ...]]


class Pair:
    """Two facts side by side: what stands in both, what went and what came."""

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
        self.verbs = int(old.verb == new.verb)

    def topic(self) -> list[Made]:
        """Whether both are about the same."""
        old, new, me = self.old, self.new, self.me
        frame = (
            self.kept,
            self.said,
            min(len(self.shared), 4),
            self.subject,
            (me in old.subject) * 2 + (me in new.subject),
            self.names,
            self.verbs,
            self.numbers,
            self.dates,
            min(len(self.gone), 3) * 4 + min(len(self.come), 3),
        )
        return [
            (_frame, frame),
            (_heads, (old.head, new.head, me)),
            (_slot, self._slot()),
            *[(_one, (_STAYED, word)) for word in self.shared],
            *[(_one, (_WENT, word)) for word in self.gone],
            *[(_one, (_CAME, word)) for word in self.come],
        ]

    def _slot(self) -> tuple[int | str, ...]:
        """What both begin and end with, and what each has between: as in "lives in Porto", "lives in Oslo"."""
        old, new = self.old.told, self.new.told
        most = min(len(old), len(new))
        start = next((n for n in range(most) if old[n] != new[n]), most)
        end = next((n for n in range(most - start) if old[~n] != new[~n]), most - start)
        went, came = old[start : len(old) - end], new[start : len(new) - end]
        kinds = "".join(some[0][1] if len(some) == 1 else "w" for some in (went, came))
        before = old[start - 1][0] if start > 1 else start
        verb = self.old.verb if self.verbs else ""
        return (
            min(start, 4) * 4 + min(end, 3),
            min(len(went), 4),
            min(len(came), 4),
            kinds,
            before,
            verb,
            self.subject,
        )

    def change(self) -> list[Made]:
        """What became of numbers, dates, verbs and words, and what the words of change, end, doubt and the like
        stand with."""
        old, new = self.old, self.new
        days, denied = overlap(old.days, new.days), (NEGATION in old.aspects) * 2 + (NEGATION in new.aspects)
        beside = (self.kept, self.subject, self.names, self.numbers, self.dates)
        return [
            (_turn, (self.kept, self.said, self.verbs, self.numbers, self.dates, days, denied)),
            (_two, (_VERBS, old.verb, new.verb)),
            (_two, (_AUXILIARIES, old.auxiliary, new.auxiliary)),
            (_denied, (self._denied(), self.kept, self.subject)),
            *[(_one, (_NEWS, word)) for word in self.come],
            *[(_one, (_WAS, name)) for name in old.aspects],
            *[(_aspect, (name, *beside, self._is_near(found))) for name, found in new.aspects.items()],
            *[(_two, (_BESIDE, name, other)) for name in new.aspects for other in old.aspects],
        ]

    def _denied(self) -> str:
        """The kinds of the words of the older fact behind a "not" in the newer one: "not on 19 November"."""
        new, known = self.new, set(self.old.stems)
        behind = {
            at
            for n, word in enumerate(new.words)
            if word in _DENIALS
            for at in range(n + 1, min(n + 4, len(new.words)))
        }
        return "".join(sorted({new.kinds[at] for at in behind if new.stems[at] in known} - {"f"}))

    def rest(self) -> list[int]:
        """Small words that came, what went with what came, and two and three words in a row, with what is special
        to this fact left open."""
        new, known = self.new, set(self.old.words)
        came = [_parts(_word(word))[1] + 91 * _KIND for word in self.come]
        gone = [_parts(_word(word))[0] for word in self.gone]
        shape = [
            _parts(self._shape(word, number, kind))
            for word, number, kind in zip(new.stems, new.ids, new.kinds, strict=True)
        ]
        return [
            *[
                _at(79, number)
                for word, number, kind in zip(new.words, new.ids, new.kinds, strict=True)
                if kind == "f" and word not in known
            ],
            *[(one + other >> 16) & 0xFFFFFFFF for one in gone for other in came],
            *[(one + two + _TWOS >> 16) & 0xFFFFFFFF for (one, _), (_, two) in pairwise(shape)],
            *[
                (one * 31 + two + three + _THREES >> 16) & 0xFFFFFFFF
                for (one, _), (two, _), (_, three) in zip(shape, shape[1:], shape[2:], strict=False)
            ],
        ]

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
