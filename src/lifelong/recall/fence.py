"""The fence around whatever recall puts into a talk: what stands in it is data, and nothing is learned from it
again (see `transcript.without_injected`)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Set

from lifelong.text.stems import stem
from lifelong.text.words import content_words, fold
from lifelong.types import Hit, new_id

END = "</lifelong-context>"
LONGEST_LINE = 1_000  # characters of an item that a turn or a tool tells
FROM = {"tool": "from a tool", "web": "from the web"}
"""What is said of an item that is only data."""

_WORD = re.compile(r"[^\W_]+")
_NAME = re.compile("lifelong-context", re.IGNORECASE)


def begin() -> str:
    return f"<lifelong-context id={new_id()}>"


def fenced(lines: Iterable[str]) -> str:
    """The lines in a fence."""
    return f"{begin()}\n{safe(chr(10).join(lines))}\n{END}"


def safe(text: str) -> str:
    """Text that cannot open or close the fence it stands in."""
    return _NAME.sub("lifelong context", text)


def line(hit: Hit, question: str = "") -> str:
    """A hit in a line of a turn: when it was, where it is from, and that it is data if it is."""
    source = [f"{hit.at:%Y-%m-%d}", hit.path or (f"session {hit.session_id}" if hit.session_id else hit.id)]
    source += [FROM[hit.trust]] if hit.trust in FROM else []
    return safe(f"- [{', '.join(source)}] {shortened(hit.text, question)}")


def shortened(text: str, question: str = "") -> str:
    """A text in one line. Of one that is longer than a line should be, the part that holds most of the question's
    words, or else the beginning."""
    told = " ".join(text.split())
    if len(told) <= LONGEST_LINE:
        return told
    start = max(0, _densest(told, set(map(stem, content_words(question)))) - LONGEST_LINE // 10)
    start = told.rfind(" ", 0, start) + 1
    cut = told[start : start + LONGEST_LINE]
    return f"{'…' if start else ''}{cut}{'…' if start + LONGEST_LINE < len(told) else ''}"


def _densest(told: str, stems: Set[str]) -> int:
    """Where the stretch begins in which most of the stems stand."""
    words = ((word.start(), stem(fold(word[0]))) for word in _WORD.finditer(told)) if stems else ()
    found = deque[tuple[int, str]]()
    best, most = 0, 0
    for at, one in words:
        if one not in stems:
            continue
        found.append((at, one))
        while found[0][0] < at - LONGEST_LINE * 8 // 10:
            found.popleft()
        if (held := len({known for _, known in found})) > most:
            best, most = found[0][0], held
    return best
