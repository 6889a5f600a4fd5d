"""LONGMEMORY.md: what compaction told, a dated block a run, the oldest first.

Over its cap the oldest blocks go to the archive. What a person wrote before the first block, or under a heading of
their own, is not a block and stays.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

from recollect.journal.records import Sensitivity, decode, encode

HEADER = "# Long-term memory\n\n"
SHARE = 16  # of so many blocks, one has its part of the cap
SHORTEST = 200  # characters that a block may have all the same

_SECTION = re.compile(r"^(?=#{1,2} )", re.MULTILINE)
_HEADING = re.compile(r"## \d{4}-\d\d-\d\d .*<!-- (compaction-[0-9a-f]+) -->")


class Trimmed(NamedTuple):
    """The page with the new block, and the blocks that no longer fit."""

    page: bytes
    moved: bytes


def room(cap: int) -> int:
    """How many characters the text of a block may have."""
    return max(cap // SHARE, SHORTEST)


def block(
    key: str, now: datetime, first: datetime, last: datetime, records: int, sensitivity: Sensitivity, text: str
) -> str:
    """A block; `key` names the records it tells of. No line of the text can pass for a heading."""
    of = f"{first:%Y-%m-%d} to {last:%Y-%m-%d}, {records:,} record(s), {sensitivity}"
    body = re.sub(r"^(?=#)", r"\\", text.strip(), flags=re.MULTILINE)
    return f"## {now:%Y-%m-%d} ({of}) <!-- {key} -->\n\n{body}\n\n"


def with_block(page: bytes, new: str, cap: int) -> Trimmed:
    """The page with this block at its end, in the place of one with the same key, and within the cap as far as
    moving older blocks can bring it there."""
    key = _key(new)
    sections = [part for part in _SECTION.split(decode(page) or HEADER) if part and _key(part) != key]
    if sections and not sections[-1].endswith("\n\n"):
        sections[-1] += "\n" if sections[-1].endswith("\n") else "\n\n"
    size = sum(map(len, sections)) + len(new)
    stay, moved = [], []
    for part in sections:
        if size > cap and _key(part):
            size -= len(part)
            moved.append(part)
        else:
            stay.append(part)
    return Trimmed(encode("".join([*stay, new])), encode("".join(moved)))


def _key(section: str) -> str:
    found = _HEADING.match(section)
    return found[1] if found else ""
