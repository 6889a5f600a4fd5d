"""How knowledge is written in a document: one fact per paragraph, ending in the records it came from.

    works as a counsellor in Lisbon since May 2023. [r12, r40]

    Inferred: has two children. [r77]

    Casa do Fado costs 84 EUR a night. [r15, from web]

    ## Earlier

    lives in Porto. [r3, until 2026-03-05 by r45]

In `people/` and `projects/`, a fact that begins in lower case continues the document's title. Any other paragraph
is a person's own text: it is kept as it is, and is not a fact. `FactIndex` finds facts by keys.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Literal, NamedTuple, get_args

from lifelong.organize.document_rows import MEMORY_ROOT
from lifelong.storage.base import Transaction
from lifelong.types import Document, to_micros

Source = Literal["", "tool", "web"]
"""Where a fact comes from if neither a person nor an agent said it: such a fact is data."""

PEOPLE = f"{MEMORY_ROOT}/people/"
SUBJECTS = (PEOPLE, f"{MEMORY_ROOT}/projects/")
"""Where a document's title is the subject of its facts."""

EARLIER = "## Earlier"
INFERRED = "Inferred: "

COMMON_KEY_FACTS = 16  # a key with this many facts is common
MAX_FOUND = 6  # facts that a search by keys returns
MAX_KEY_BYTES = 500  # what both databases can index

_RECORD = re.compile(r"r(\d{1,18})")
_BETWEEN = re.compile(r"\r?\n\s*\n")
_UNTIL = re.compile(r"until (\d{4}-\d\d-\d\d)(?: by r(\d{1,18}))?")
_NEWEST_UNDER_KEY = (
    "SELECT key, at, document_id, fact FROM fact_keys WHERE owner = ? AND key = ? "
    "ORDER BY at DESC, document_id DESC, fact DESC LIMIT ?"
)
_SENTENCE = "SELECT document_id, fact, sentence FROM facts WHERE owner = ? AND document_id = ? AND fact = ?"


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement and the records it came from. `until` is the day it stopped being true, and `by` the record that
    says so; a fact without them is current."""

    text: str
    records: tuple[int, ...]
    inferred: bool = False
    source: Source = ""
    until: str = ""
    by: int | None = None

    @property
    def current(self) -> bool:
        """Whether the fact is still true."""
        return not self.until

    def ended(self, at: datetime, by: int | None) -> Fact:
        """Return the fact as one that stopped being true at that time, as this record says."""
        return replace(self, until=f"{at.astimezone(UTC):%Y-%m-%d}", by=by)

    def __str__(self) -> str:
        parts = [f"r{record}" for record in self.records]
        if self.source:
            parts.append(f"from {self.source}")
        if self.until:
            parts.append(f"until {self.until}" + (f" by r{self.by}" if self.by else ""))
        return f"{INFERRED if self.inferred else ''}{self.text} [{', '.join(parts)}]"


class IndexedFact(NamedTuple):
    """A current fact in the index: its document, its digest, and the fact as a sentence that names its subject."""

    document_id: str
    digest: str
    sentence: str


class PlacedFact(NamedTuple):
    """A current fact in its document: the path, the paragraph as it is written there, the fact, and the fact as a
    sentence that names its subject."""

    path: str
    paragraph: str
    fact: Fact
    sentence: str


def parse_fact(paragraph: str) -> Fact | None:
    """Return the fact in a paragraph; none if it cites nothing."""
    whole = paragraph.rstrip()
    start = whole.rfind("[")
    return None if start < 0 or not whole.endswith("]") else _parse_cited(whole, start)


@lru_cache(maxsize=4_096)
def _parse_cited(whole: str, start: int) -> Fact | None:
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
    if not text or not records:
        return None
    return Fact(text.removeprefix(INFERRED), tuple(records), text.startswith(INFERRED), source, until, by)


def paragraphs(body: str) -> list[str]:
    """Return the paragraphs of a document, as they are written."""
    return [part for part in _BETWEEN.split(body.strip("\r\n")) if part.strip()]


def parse_facts(body: str) -> list[Fact]:
    """Return every fact of a document, in order."""
    return [fact for paragraph in paragraphs(body) if (fact := parse_fact(paragraph))]


def replace_fact(body: str, old: str, new: Fact | None, ended: Fact | None) -> str:
    """Return the body with the new fact in place of the old paragraph, and the ended one below `## Earlier`."""
    parts = paragraphs(body)
    at = parts.index(old)
    parts[at : at + 1] = [str(new)] if new else []
    if ended:
        parts += [str(ended)] if EARLIER in parts else [EARLIER, str(ended)]
    return "\n\n".join(parts)


def sentence(document: Document, fact: Fact) -> str:
    """Return the fact with its subject: in `people/` and `projects/` a fact that begins in lower case continues
    the document's title."""
    continues = document.path.startswith(SUBJECTS) and fact.text[:1].islower()
    return f"{document.title} {fact.text}" if continues else fact.text


def current_facts(document: Document) -> dict[str, PlacedFact]:
    """Return the current facts of a document by their digests, each once."""
    found: dict[str, PlacedFact] = {}
    for paragraph in paragraphs(document.body):
        fact = parse_fact(paragraph)
        if fact and fact.current:
            text = sentence(document, fact)
            digest = blake2b(text.encode(), digest_size=9).hexdigest()
            found.setdefault(digest, PlacedFact(document.path, paragraph, fact, text))
    return found


def fact_keys(text: str) -> frozenset[str]:
    """Return the keys that a fact's sentence is indexed under."""
    from lifelong.organize.rules.conflicts import keys  # its tables take a while, and reading needs none of them

    return frozenset(key for key in keys(text) if 0 < len(key.encode()) <= MAX_KEY_BYTES)


class FactIndex:
    """The rows of `facts` and `fact_keys`: the current facts of one owner, seen through a transaction. Both tables
    are derived from the bodies of the documents and can be rebuilt from them."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner

    def find(self, wanted: Sequence[Set[str]]) -> list[list[IndexedFact]]:
        """Return, for each of these sets of keys, the facts that match it best."""
        under: dict[str, list[tuple[int, str, str]]] = {key: [] for keys in wanted for key in keys}
        rows = self._tx.many(_NEWEST_UNDER_KEY, [(self._owner, key, COMMON_KEY_FACTS) for key in under])
        for key, at, document_id, digest in rows:
            under[key].append((at, document_id, digest))
        best = [_best([under[key] for key in keys]) for keys in wanted]
        distinct = dict.fromkeys(fact for some in best for fact in some)
        rows = self._tx.many(_SENTENCE, [(self._owner, *fact) for fact in distinct])
        found = {(row[0], row[1]): IndexedFact(*row) for row in rows}
        return [[found[fact] for fact in some if fact in found] for some in best]

    def of(self, documents: Iterable[str]) -> set[tuple[str, str]]:
        """Return the indexed facts of these documents: document and digest."""
        which = "SELECT document_id, fact FROM facts WHERE owner = ? AND document_id = ?"
        return {(row[0], row[1]) for row in self._tx.many(which, [(self._owner, one) for one in documents])}

    def drop(self, facts: Iterable[tuple[str, str]]) -> None:
        gone = [(self._owner, *fact) for fact in facts]
        for table in ("fact_keys", "facts"):
            self._tx.many(f"DELETE FROM {table} WHERE owner = ? AND document_id = ? AND fact = ?", gone)

    def insert(self, facts: Iterable[tuple[IndexedFact, Iterable[str]]], at: datetime) -> None:
        """Store facts, each with its keys."""
        rows = [((self._owner, fact.document_id, fact.digest), fact.sentence, tuple(keys)) for fact, keys in facts]
        self._tx.many(
            "INSERT INTO facts (owner, document_id, fact, sentence) VALUES (?, ?, ?, ?)",
            [(*fact, text) for fact, text, _ in rows],
        )
        self._tx.many(
            "INSERT INTO fact_keys (owner, document_id, fact, key, at) VALUES (?, ?, ?, ?, ?)",
            [(*fact, key, to_micros(at)) for fact, _, keys in rows for key in keys],
        )


def _best(under: Sequence[Sequence[tuple[int, str, str]]]) -> list[tuple[str, str]]:
    """Return the facts with the most keys first, then the newest; `under` holds for each key its newest facts:
    when each was committed, document and digest. A common key says little: its facts count only if another key
    has them, too."""
    counts = Counter(fact for facts in under for fact in facts)
    rare = {fact for facts in under if len(facts) < COMMON_KEY_FACTS for fact in facts}
    ranked = sorted(((count, *fact) for fact, count in counts.items() if count > 1 or fact in rare), reverse=True)
    return [fact[2:] for fact in ranked[:MAX_FOUND]]
