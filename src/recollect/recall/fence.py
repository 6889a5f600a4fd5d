"""The fence around whatever recall puts into a talk: what stands in it is data, and nothing is learned from it
again (see `transcript.without_injected`)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from recollect.types import new_id

END = "</recollect-context>"
LONGEST_LINE = 1_000  # characters of an item that a turn or a tool tells
FROM = {"tool": "from a tool", "web": "from the web"}
"""What is said of an item that is only data."""

_NAME = re.compile("recollect-context", re.IGNORECASE)


def begin() -> str:
    return f"<recollect-context id={new_id()}>"


def fenced(lines: Iterable[str]) -> str:
    """The lines in a fence."""
    return f"{begin()}\n{safe(chr(10).join(lines))}\n{END}"


def safe(text: str) -> str:
    """Text that cannot open or close the fence it stands in."""
    return _NAME.sub("recollect context", text)


def shortened(text: str) -> str:
    """A text in one line, cut where it is longer than a line should be."""
    told = " ".join(text.split())
    return told if len(told) <= LONGEST_LINE else f"{told[:LONGEST_LINE]}…"
