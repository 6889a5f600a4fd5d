"""How knowledge stands in a document: one fact a paragraph, ending in the records it came from.

    works as a counsellor in Lisbon since May 2023. [r12, r40]

    Inferred: has two children. [r77]

    Casa do Fado costs 84 EUR a night. [r15, from web]

    ## Earlier

    lives in Porto. [r3, until 2026-03-05 by r45]

In `people/` and `projects/`, a fact that begins in lower case goes on where the document's title ends. Any
other paragraph is a person's own text: it is kept as it stands and is no fact.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

Source = Literal["", "tool", "web"]
"""Where a fact comes from that no person and no agent made: such a fact is data."""

EARLIER = "## Earlier"
INFERRED = "Inferred: "

_RECORD = re.compile(r"r(\d{1,18})")
_BETWEEN = re.compile(r"\r?\n\s*\n")
_UNTIL = re.compile(r"until (\d{4}-\d\d-\d\d)(?: by r(\d{1,18}))?")


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement and the records it came from. `until` is the day it stopped being true, and `by` the
    record that says so; a fact without is current."""

    text: str
    records: tuple[int, ...]
    inferred: bool = False
    source: Source = ""
    until: str = ""
    by: int | None = None

    @property
    def current(self) -> bool:
        return not self.until

    def ended(self, at: datetime, by: int | None) -> Fact:
        """The fact, which this record says is no longer true."""
        return replace(self, until=f"{at.astimezone(UTC):%Y-%m-%d}", by=by)

    def __str__(self) -> str:
        parts = [f"r{record}" for record in self.records]
        if self.source:
            parts.append(f"from {self.source}")
        if self.until:
            parts.append(f"until {self.until}" + (f" by r{self.by}" if self.by else ""))
        return f"{INFERRED if self.inferred else ''}{self.text} [{', '.join(parts)}]"


class Lead(NamedTuple):
    """Where a current fact is found: the document, the fact's digest, and the fact as a sentence that
    names its subject."""

    document_id: str
    digest: str
    sentence: str


class Known(NamedTuple):
    """A current fact where it stands: the document's path, the paragraph as it is there, and the fact as
    a sentence that names its subject."""

    path: str
    paragraph: str
    fact: Fact
    sentence: str


def parse_fact(paragraph: str) -> Fact | None:
    """The fact a paragraph makes; none where it cites nothing."""
    whole = paragraph.rstrip()
    start = whole.rfind("[")
    return None if start < 0 or not whole.endswith("]") else _cited(whole, start)


@lru_cache(maxsize=4_096)
def _cited(whole: str, start: int) -> Fact | None:
    """The fact of a paragraph that may end with citations, which start there."""
    records: list[int] = []
    source: Source = ""
    until, by = "", None
    for part in whole[start + 1 : -1].split(", "):
        if cited := _RECORD.fullmatch(part):
            records.append(int(cited[1]))
        elif ended := _UNTIL.fullmatch(part):
            until, by = ended[1], int(ended[2]) if ended[2] else None
        elif part.removeprefix("from ") in get_args(Source):
            source = part.removeprefix("from ")  # type: ignore[assignment]  # just checked
        else:
            return None
    text = whole[:start].strip()
    inferred = text.startswith(INFERRED)
    return (
        Fact(text.removeprefix(INFERRED), tuple(records), inferred, source, until, by)
        if text and records
        else None
    )


def paragraphs(body: str) -> list[str]:
    """The paragraphs of a document, as they stand."""
    return [part for part in _BETWEEN.split(body.strip("\r\n")) if part.strip()]


def parse_facts(body: str) -> list[Fact]:
    """Every fact of a document, in order."""
    return [fact for paragraph in paragraphs(body) if (fact := parse_fact(paragraph))]


def restated(body: str, old: str, new: Fact | None, ended: Fact | None) -> str:
    """The body with the new fact in the place of the old paragraph, and below `## Earlier` the one that ended."""
    parts = paragraphs(body)
    at = parts.index(old)
    parts[at : at + 1] = [str(new)] if new else []
    if ended:
        parts += [str(ended)] if EARLIER in parts else [EARLIER, str(ended)]
    return "\n\n".join(parts)
