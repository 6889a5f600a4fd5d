"""LONGMEMORY.md: what compaction told, a dated block a run, the oldest first.

Over its cap the oldest blocks go to the archive. A block is a heading and one line. What a person wrote before,
between or behind the blocks is not a block and stays.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

from lifelong.journal.records import Sensitivity, decode, encode

HEADER = "# Long-term memory\n\n"
SHARE = 16  # of so many blocks, one has its part of the cap
SHORTEST = 200  # characters that a block may have all the same, if the cap allows
FRAME = 140  # characters of the header and a block's heading, at most

_BLOCK = re.compile(
    r"^## (?P<day>\d{4}-\d\d-\d\d) (?P<of>.*)<!-- (?P<key>compaction-[0-9a-f]+) -->\r?\n(?:\r?\n)?"
    r"(?P<text>(?!#).*)\n?(?:\r?\n)?",
    re.MULTILINE,
)


class Trimmed(NamedTuple):
    """The page with the new block, and the blocks that no longer fit or were told otherwise."""

    page: bytes
    moved: bytes


class Block(NamedTuple):
    """What one compaction told: on which day, of what, and the text."""

    day: str
    of: str
    text: str


def blocks(page: bytes) -> list[Block]:
    """The blocks of the page, the oldest first."""
    found = _BLOCK.finditer(decode(page))
    return [Block(one["day"], one["of"].strip(" ()"), one["text"].strip()) for one in found]


def room(cap: int) -> int:
    """How many characters the text of a block may have; none below 1."""
    return min(max(cap // SHARE, SHORTEST), cap - FRAME)


def block(
    key: str, now: datetime, first: datetime, last: datetime, records: int, sensitivity: Sensitivity, text: str
) -> str:
    """A block; `key` names the records it tells of. Its text is one line, and cannot pass for a heading."""
    of = f"{first:%Y-%m-%d} to {last:%Y-%m-%d}, {records:,} record(s), {sensitivity}"
    line = re.sub("^#", r"\\#", " ".join(text.split()))
    return f"## {now:%Y-%m-%d} ({of}) <!-- {key} -->\n\n{line}\n\n"


def with_block(page: bytes, new: str, cap: int) -> Trimmed:
    """The page with this block at its end, in the place of one with the same key, and within the cap as far as
    moving older blocks can bring it there."""
    old = decode(page) or HEADER
    old += "" if old.endswith("\n\n") else "\n" if old.endswith("\n") else "\n\n"
    blocks = list(_BLOCK.finditer(old))
    again = [found for found in blocks if f"<!-- {found['key']} -->\n" in new]
    size = len(old) + len(new) - sum(len(found[0]) for found in again)
    stay, moved, end = "", "", 0
    for found in blocks:
        stay += old[end : found.start()]
        end = found.end()
        if found in again:
            moved += "" if new.endswith(f"\n\n{found['text']}\n\n") else found[0]
        elif size > cap:
            size -= len(found[0])
            moved += found[0]
        else:
            stay += found[0]
    return Trimmed(encode(stay + old[end:] + new), encode(moved))
