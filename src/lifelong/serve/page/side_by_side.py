"""A unified diff as lines to colour, and side by side."""

from __future__ import annotations

from itertools import zip_longest
from typing import Literal, NamedTuple

Kind = Literal["same", "gone", "new", "place"]
_MARKS: dict[str, Kind] = {"+": "new", "-": "gone", "@": "place"}
HEADER = 2  # lines that name the two versions


class Line(NamedTuple):
    kind: Kind
    text: str


class Pair(NamedTuple):
    """What stands on the left, and what on the right; none where there is nothing."""

    left: Line | None
    right: Line | None


def lines(diff: str) -> list[Line]:
    """Without its header."""
    return [
        Line(_MARKS.get(line[:1], "same"), line if line[:1] == "@" else line[1:])
        for line in diff.splitlines()[HEADER:]
    ]


def side_by_side(found: list[Line]) -> list[Pair]:
    """What went beside what came in its place."""
    pairs: list[Pair] = []
    gone: list[Line] = []
    new: list[Line] = []
    for line in (*found, None):
        if line and line.kind == "gone":
            gone.append(line)
        elif line and line.kind == "new":
            new.append(line)
        else:
            pairs += [Pair(left, right) for left, right in zip_longest(gone, new)]
            gone, new = [], []
            if line:
                pairs.append(Pair(line, line))
    return pairs
