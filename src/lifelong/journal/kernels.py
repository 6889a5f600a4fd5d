"""How little can be told of a clause: each number, name, date and negation with the word it belongs to.

A kernel is made of the clause's own words in their order. Nothing is put beside a number that did not stand there:
where words that say something are left out, there is a comma."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lifelong.journal.key_facts import nearest
from lifelong.text.names import Word
from lifelong.text.words import word_set

REACH = 3  # words to the next that says something
LONGEST = 6  # words of a name or date, to each side

WORTH = {"number": 1.5, "date": 3.0, "negation": 3.0, "name": 1.0}
_JOIN = re.compile(r"[,;:()\u2013\u2014]|\s-\s")
_NUMBER = re.compile(r"(?<![\w.,:-])[$€£#]?\d[\w.,:%]*(?<![.,:])")
_EXACT = {"number", "date", "name"}
_MARKS = str.maketrans({";": ",", **dict.fromkeys('"()[]{}*\u201c\u201d', "")})
_ROLES = word_set("user assistant agent system tool human ai bot request reply asked answer did note")

Pair = tuple[str, str]


def pairs(sentence: Sequence[Word], subject: str) -> dict[Pair, set[int]]:
    """What belongs together, and where it stands, with the specifics between and beside."""
    found: dict[Pair, set[int]] = {}
    for at, word in enumerate(sentence):
        if word.kind in WORTH and (near := nearest(sentence, at)) is not None:
            span = {n for n in range(min(at, near), max(at, near) + 1) if sentence[n].kind != "filler"}
            whole = _denied(sentence, at) if word.kind == "negation" else _beside(sentence, at)
            found.setdefault((word.value, sentence[near].value), span | whole)
    if subject and subject.lower() not in _ROLES and (near := nearest(sentence, -1)) is not None:
        found.setdefault((subject.lower(), sentence[near].value), {near})
    return found


def _beside(sentence: Sequence[Word], at: int) -> set[int]:
    """The whole of a date or a name: "7 May 2027", "Amy Ellis Nutt"."""
    sorts = ("name",) if sentence[at].kind == "name" else ("number", "date")
    first = last = at
    while first > max(0, at - LONGEST) and sentence[first - 1].kind in sorts:
        first -= 1
    while last + 1 < min(len(sentence), at + LONGEST) and sentence[last + 1].kind in sorts:
        last += 1
    return set(range(first, last + 1))


def forms(text: str, sentence: Sequence[Word], own: set[int]) -> Sequence[str]:
    """Nothing of a clause, the kernel that has its `own` words, a wider one, and the whole."""
    own = own or {next(at for at, word in enumerate(sentence) if word.kind != "filler")}
    kernel = _with_negations(sentence, own if len(own) > 1 else _widened(sentence, own))
    wide = _with_negations(sentence, _widened(sentence, kernel))
    whole = text.rstrip(".!…。\uff01: ").replace(";", ",")
    return "", *(min(_telegram(text, sentence, some), whole, key=len) for some in (kernel, wide)), whole


def _with_negations(sentence: Sequence[Word], own: set[int]) -> set[int]:
    """A "not" that is near goes with them, and with it what it denies."""
    found = set(own)
    for at, word in enumerate(sentence):
        if word.kind == "negation" and not own.isdisjoint(range(at - REACH, at + REACH + 1)):
            found |= _denied(sentence, at)
    return found


def _denied(sentence: Sequence[Word], at: int) -> set[int]:
    """A negation, the word it belongs to, and what the later one goes on to: "can't agree more", "not allergic to
    nuts", "30 euros, not 40"."""
    near = nearest(sentence, at)
    return {at, at if near is None else near} | _onward(sentence, max(at, near or 0))


def _onward(sentence: Sequence[Word], at: int) -> set[int]:
    """A word and those behind it, up to a comma or the next one that says something; else one more."""
    end = at + 1
    while end < min(len(sentence), at + REACH + 1) and sentence[end].start == sentence[end - 1].end + 1:
        end += 1
        if sentence[end - 1].kind != "filler":
            return set(range(at, end))
    return set(range(at, min(at + 2, len(sentence))))


def _widened(sentence: Sequence[Word], own: set[int]) -> set[int]:
    """Each run of words with the next one that says something, and the little ones between."""
    wide = set(own)
    for at in own:
        following = next(
            (n for n in range(at + 1, min(len(sentence), at + REACH + 1)) if sentence[n].kind != "filler"), at
        )
        wide.update(range(at, following + 1))
    return wide


def _telegram(text: str, sentence: Sequence[Word], own: set[int]) -> str:
    """The words as they stand; a comma where something that says more was left out."""
    parts: list[str] = []
    last = -1
    for at in sorted(own):
        if last >= 0:
            gap = text[sentence[last].end : sentence[at].start]
            left_out = sentence[last + 1 : at]
            kinds = sentence[last].kind, sentence[at].kind
            little = len(left_out) <= 2 and all(word.kind == "filler" for word in left_out)
            if not left_out or (little and (kinds[0] == "negation" or set(kinds) <= _EXACT)):
                parts.append(", " if ": " in gap else gap)  # what stands before a colon would look like a label
            else:
                parts.append(" " if little and not _JOIN.search(gap) else ", ")
        parts.append(text[sentence[at].start : sentence[at].end])
        last = at
    return "".join(parts).translate(_MARKS)


def around(text: str) -> tuple[tuple[str, ...], str]:
    """What stands before and behind the number of a text, and the number, if it has exactly one."""
    numbers = _NUMBER.findall(text)
    return (tuple(_NUMBER.split(text)), numbers[0]) if len(numbers) == 1 else ((text,), "")


def merged(texts: Sequence[str]) -> str:
    """ "54 checks" and "16 checks" are "54, 16 checks"."""
    alike: dict[tuple[str, ...], dict[str, None]] = {}
    for rest, number in map(around, texts):
        alike.setdefault(rest, {})[number] = None
    return "; ".join(", ".join(numbers).join(rest) for rest, numbers in alike.items())
