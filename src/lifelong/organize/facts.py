"""How knowledge is written in a document: one fact per paragraph or list item, ending in the records it came from.

    I'm vegetarian, and Tom can't have gluten. [Mara, 2026-03-03, r12]

    works as a counsellor in Lisbon since May 2023. [r12, r40]

    - Inferred: has two children. [r77]
    - Casa do Fado costs 84 EUR a night. [2026-03-03, r15, from web]
    - wants answers in French. [r80, from agent, approved by mara]

    ## Earlier

    I work at Aldo's. [Mara, 2026-01-03, r2, until 2026-04-05 by r45]

A fact with a day is a quote: the bracket says who said it and when. `from agent` marks what an agent wrote and its
records do not say. In `people/` and `projects/`, any other fact that begins in lower case continues the document's
title. What cites nothing is somebody's own text: it is kept as it is, and is not a fact. `Body` takes a document's
text apart and puts it together again. `FactIndex` finds facts by keys.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

from lifelong.organize.document_rows import MEMORY_ROOT
from lifelong.storage.base import Transaction
from lifelong.types import Document, to_micros

Source = Literal["", "tool", "web", "agent"]
"""Whose word a fact is, where the records that it cites do not tell: a tool's or a web page's, then it is data; or
that of the agent which wrote it."""

PEOPLE = f"{MEMORY_ROOT}/people/"
SUBJECTS = (PEOPLE, f"{MEMORY_ROOT}/projects/")
"""Where a document's title is the subject of its facts."""

TITLES = {
    "people": ("People", "Who they are and what they do."),
    "projects": ("Projects", "What is worked on."),
    "preferences": ("Preferences", "What people like and want."),
    "rules": ("Rules", "Standing instructions and policies, with whose they are."),
    "decisions": ("Decisions", "What was decided, and why."),
    "lessons": ("Lessons", "What failed and what worked."),
    "events": ("Events", "What happened and what is planned."),
    "findings": ("Findings", "What was found out about things, with who says so."),
}
"""What the documents right below `~/memory` are called, and what each of them holds."""

EARLIER = "## Earlier"
MAX_ID_CHARS = 12
INFERRED = "Inferred: "
APPROVED = "approved by "
GAP = "[…] "
"""Where sentences are left out of a quote."""
HOST = "Host"
"""The speaker of what the host tells an agent."""

MAX_PAGE_CHARS = 4_000  # a longer document is full, and goes on in pages below it
MAX_CITED = 100  # records that a fact of the rules cites
COMMON_KEY_FACTS = 16  # a key with this many facts is common
MAX_FOUND = 12  # facts that a search by keys returns
MAX_KEYS = 12  # of a fact
MAX_KEY_BYTES = 500  # what both databases can index

_RECORD = re.compile(r"r(\d{1,18})")
_CITED = re.compile(r"(?:(?<=\A)|(?<=\A\[)|(?<= by ))r(\d{1,18})(?=\]?\s*\Z)")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_BETWEEN = re.compile(r"\r?\n\s*\n")
_BLANK_LINES = re.compile(r"\s*\n")
_HEADING = re.compile(r"#{1,6}[ \t]")
_MARKER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)")
_STARTS = re.compile(rf"^(?:{_HEADING.pattern}|{_MARKER.pattern})", re.MULTILINE)
_LATER_NUMBER = re.compile(r"[ \t]*(?!1[.)])\d")
_LOOKS_LIKE_MARKER = re.compile(r"\A(\d{1,9}(?=\\*[.)](?:[ \t]|\Z))|(?=\\*(?:[-*+]|#{1,6})(?:[ \t]|\Z)))(\\*)")
_NOT_IN_NAMES = re.compile(r"[\[\],\s]+")
_UNTIL = re.compile(r"until (\d{4}-\d\d-\d\d)(?: by r(\d{1,18}))?")
_NEWEST_UNDER_KEY = (
    "SELECT key, at, document_id, fact FROM fact_keys WHERE owner = ? AND key = ? "
    "ORDER BY at DESC, document_id DESC, fact DESC LIMIT ?"
)
_SENTENCE = "SELECT document_id, fact, sentence FROM facts WHERE owner = ? AND document_id = ? AND fact = ?"


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement and the records it came from. `until` is the day it stopped being true, and `by` the record that
    says so; a fact without them is current. A quote has the day on which it was said, and its speaker where that
    is known. `approved` is the person who approved what an agent wrote. `marker` is what a list item begins
    with."""

    text: str
    records: tuple[int, ...]
    inferred: bool = False
    source: Source = ""
    until: str = ""
    by: int | None = None
    speaker: str = ""
    day: str = ""
    approved: str = ""
    marker: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Make the speaker a name that the bracket can hold."""
        name = plain_name(self.speaker) if self.day else ""
        if name != self.speaker:
            object.__setattr__(self, "speaker", name)

    @property
    def current(self) -> bool:
        """Whether the fact is still true."""
        return not self.until

    def ended(self, at: datetime, by: int | None) -> Fact:
        """Return the fact as one that stopped being true at that time, as this record says."""
        return replace(self, until=f"{at.astimezone(UTC):%Y-%m-%d}", by=by)

    def __str__(self) -> str:
        parts = [part for part in (self.speaker, self.day) if part]
        parts += [f"r{record}" for record in self.records]
        if self.source:
            parts.append(f"from {self.source}")
        if self.approved:
            parts.append(f"{APPROVED}{self.approved}")
        if self.until:
            parts.append(f"until {self.until}" + (f" by r{self.by}" if self.by else ""))
        text = f"{INFERRED}{self.text}" if self.inferred else _LOOKS_LIKE_MARKER.sub(r"\1\2\\", self.text)
        return f"{self.marker}{text} [{', '.join(parts)}]"


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


def plain_name(name: str) -> str:
    """Return a name as the bracket of a quote can hold it."""
    return _NOT_IN_NAMES.sub(" ", name).strip()


def parse_fact(paragraph: str) -> Fact | None:
    """Return the fact in a paragraph or list item; none if it cites nothing, or is a heading."""
    whole = paragraph.rstrip()
    start = whole.rfind("[")
    if start < 0 or not whole.endswith("]") or _HEADING.match(whole):
        return None
    return _parse_cited(whole, start)


@lru_cache(maxsize=4_096)
def _parse_cited(whole: str, start: int) -> Fact | None:
    parts = whole[start + 1 : -1].split(", ")
    records: list[int] = []
    source: Source = ""
    until, by, speaker, day, approved = "", None, "", "", ""
    for at in (1, 0):
        if not day and len(parts) > at and _DAY.fullmatch(parts[at]):
            speaker, day = parts[0] if at else "", parts[at]
            parts = parts[at + 1 :]
    for part in parts:
        if cited := _RECORD.fullmatch(part):
            records.append(int(cited[1]))
        elif ended := _UNTIL.fullmatch(part):
            until, by = ended[1], int(ended[2]) if ended[2] else None
        elif part.removeprefix("from ") in get_args(Source):
            source = part.removeprefix("from ")  # type: ignore[assignment]  # just checked
        elif part.startswith(APPROVED):
            approved = part.removeprefix(APPROVED)
        else:
            return None
    text = whole[:start].strip("\r\n").rstrip()
    found = _MARKER.match(text)
    marker = found[0] if found else ""
    text = text[len(marker) :].strip()
    inferred = text.startswith(INFERRED)
    text = text.removeprefix(INFERRED) if inferred else _unescaped(text)
    if not text or not records:
        return None
    return Fact(text, tuple(records), inferred, source, until, by, speaker, day, approved, marker)


def _unescaped(text: str) -> str:
    found = _LOOKS_LIKE_MARKER.match(text)
    return text[: found.start(2)] + text[found.start(2) + 1 :] if found and found[2] else text


class Body:
    """The body of a document in its parts: paragraphs, list items that are facts, and runs of other list items.
    `str` puts it together again; what nobody changed is the same to the byte."""

    def __init__(self, text: str) -> None:
        self.parts: list[str] = []
        self._gaps: list[str] = []  # what stands before each part, and after the last
        blank = _BLANK_LINES.match(text)
        start = blank.end() if blank else 0
        gap = text[:start]
        for chunk, between in _chunks(text, start):
            for part in _split_list(chunk) if chunk.strip() else ():
                self.parts.append(part.rstrip("\r\n"))
                self._gaps.append(gap)
                gap = part[len(self.parts[-1]) :]
            gap = gap + between if chunk.strip() else gap + chunk + between
        self._gaps.append(gap)

    def insert(self, at: int, text: str) -> None:
        """Put a part before the one at this place; blank lines surround it, except between list items."""
        if not self.parts:
            self._gaps.insert(0, "")
        elif at == len(self.parts):
            self._gaps.insert(at, _gap(self.parts[-1], text))
        else:
            if at:
                self._gaps[at] = _gap(self.parts[at - 1], text)
            self._gaps.insert(at + 1, _gap(text, self.parts[at]))
        self.parts.insert(at, text)

    def remove(self, at: int) -> None:
        """Remove the part at this place."""
        del self.parts[at]
        before, after = self._gaps[at : at + 2]
        if not at:
            kept = before
        elif at == len(self.parts):
            kept = after
        else:
            kept = max(before, after, key=len)
            if (
                _LATER_NUMBER.match(self.parts[at])
                and kept.count("\n") < 2
                and not _MARKER.match(self.parts[at - 1])
            ):
                kept = "\n\n"  # or it would begin no list item
        self._gaps[at : at + 2] = [kept]

    def replace(self, at: int, text: str) -> None:
        """Put another part in the place of this one."""
        self.parts[at] = text
        for place in (at, at + 1):
            if 0 < place < len(self.parts) and not (_MARKER.match(text) or self._gaps[place].count("\n") > 1):
                self._gaps[place] = "\n\n"

    @property
    def current(self) -> list[str]:
        """The parts above `## Earlier`."""
        return self.parts[: self.parts.index(EARLIER)] if EARLIER in self.parts else self.parts

    def add_fact(self, fact: Fact) -> None:
        """Add a fact: behind the current ones, or below `## Earlier`."""
        if fact.current:
            self.insert(len(self.current), str(fact))
            return
        if EARLIER not in self.parts:
            self.insert(len(self.parts), EARLIER)
        self.insert(len(self.parts), str(fact))

    def replace_fact(self, old: str, new: Fact | None, ended: Fact | None) -> None:
        """Put the new fact in place of the old part, and the ended one below `## Earlier`."""
        at, was = self.parts.index(old), parse_fact(old)
        if new:
            self.replace(at, str(replace(new, marker=was.marker if was else "")))
        else:
            self.remove(at)
        if ended:
            self.add_fact(ended)

    def __str__(self) -> str:
        return "".join(gap + part for gap, part in zip(self._gaps, [*self.parts, ""], strict=True))


def _chunks(text: str, start: int) -> Iterator[tuple[str, str]]:
    """Yield what stands between blank lines, each with the blank lines that follow."""
    end = len(text.rstrip("\r\n"))
    for found in _BETWEEN.finditer(text, start, max(start, end)):
        yield text[start : found.start()], found[0]
        start = found.end()
    yield text[start:end], text[max(start, end) :]


def _split_list(chunk: str) -> list[str]:
    """Return the list items that are facts, and what stands between them, with the line breaks at their ends. A
    heading is no part of a fact, and a number other than 1 begins no list in the middle of a paragraph."""
    found = list(_STARTS.finditer(chunk)) if "]" in chunk else []
    if not found:
        return [chunk]
    starts, in_list = {0}, False
    for one in found:
        if one[0].startswith("#"):
            starts |= {one.start(), chunk.find("\n", one.start()) + 1}
            in_list = False
        elif in_list or not one.start() or not _LATER_NUMBER.match(one[0]) or one.start() in starts:
            starts.add(one.start())
            in_list = True
    places = [*sorted(starts), len(chunk)]
    parts: list[str] = []
    was_own = False
    for begin, end in pairwise(places):
        part = chunk[begin:end]
        own = parse_fact(part) is None
        if own and was_own:
            parts[-1] += part
        else:
            parts.append(part)
        was_own = own
    return parts


def _gap(one: str, other: str) -> str:
    return "\n" if _MARKER.match(one) and _MARKER.match(other) else "\n\n"


def paragraphs(body: str) -> list[str]:
    """Return the parts of a document as they are written: see `Body`."""
    return Body(body).parts


def parse_facts(body: str) -> list[Fact]:
    """Return every fact of a document, in order."""
    return [fact for paragraph in paragraphs(body) if (fact := parse_fact(paragraph))]


def replace_fact(body: str, old: str, new: Fact | None, ended: Fact | None) -> str:
    """Return the body with the new fact in place of the old part, and the ended one below `## Earlier`."""
    made = Body(body)
    made.replace_fact(old, new, ended)
    return str(made)


def reinstate_fact(body: str, old: str) -> str:
    """Return the body in which an ended fact is current again."""
    made, fact = Body(body), parse_fact(old)
    assert fact is not None
    made.remove(made.parts.index(old))
    if made.parts and made.parts[-1] == EARLIER:
        made.remove(len(made.parts) - 1)
    made.add_fact(replace(fact, until="", by=None))
    return str(made)


def with_speakers(body: str, title: str) -> str:
    """Return the body of a person's document in which each quote names its speaker, who was the title so far."""
    made = Body(body)
    for at, part in enumerate(made.parts):
        fact = parse_fact(part)
        if fact and fact.day and not fact.source and not fact.speaker:
            made.replace(at, str(replace(fact, speaker=title)))
    return str(made)


def renumber_citations(body: str, number: Callable[[int], int]) -> str:
    """Return the body with other numbers of the records that its facts cite and end by; the rest is the same."""
    made = Body(body)
    for at, part in enumerate(made.parts):
        if parse_fact(part):
            start = part.rindex("[")
            words = part[start:].split(", ")
            first = 1 if len(words) > 1 and _DAY.fullmatch(words[1]) else 0  # a speaker may be called anything
            words[first:] = [_CITED.sub(lambda found: f"r{number(int(found[1]))}", word) for word in words[first:]]
            made.parts[at] = part[:start] + ", ".join(words)
    return str(made)


def cited(records: Iterable[int]) -> tuple[int, ...]:
    """Return those of the records that a fact cites: the first and the last ones."""
    found = sorted({*records})
    return tuple(found if len(found) <= MAX_CITED else [found[0], *found[1 - MAX_CITED :]])


def sentence(document: Document, fact: Fact) -> str:
    """Return the fact with its subject: in `people/` and `projects/` a fact that begins in lower case continues
    the document's title, unless it is a quote."""
    continues = not fact.day and document.path.startswith(SUBJECTS) and fact.text[:1].islower()
    return f"{document.title} {fact.text}" if continues else fact.text


def speaker_of(document: Document, fact: Fact) -> str:
    """Return who said a quote: in `people/` the one whom the document is about, where the fact does not say it."""
    by_title = fact.day and not fact.source and document.path.startswith(PEOPLE)
    return fact.speaker or (document.title if by_title else "")


def digest(document: Document, fact: Fact) -> str:
    """Return what tells a fact from the others of its document: what it says, and who said it. It is the same in
    whichever document the fact is."""
    speaker = speaker_of(document, fact)
    said = f"{speaker}: " if speaker else ""
    return blake2b(f"{said}{sentence(document, fact)}".encode(), digest_size=9).hexdigest()


def current_facts(document: Document) -> dict[str, PlacedFact]:
    """Return the current facts of a document by their digests, each once."""
    found: dict[str, PlacedFact] = {}
    for paragraph in paragraphs(document.body):
        fact = parse_fact(paragraph)
        if fact and fact.current:
            placed = PlacedFact(document.path, paragraph, fact, sentence(document, fact))
            found.setdefault(digest(document, fact), placed)
    return found


def fact_keys(text: str) -> frozenset[str]:
    """Return the keys that a fact's sentence is indexed under: what it is about, the longest words first; and one
    for each attribute that somebody has one of, as a home."""
    from lifelong.text.changes import attributes, topic  # its tables take a while, and reading needs none of them

    words = sorted(topic(text), key=lambda word: (-len(word), word))
    keys = [word for word in words if len(word.encode()) <= MAX_KEY_BYTES][:MAX_KEYS]
    return frozenset((*keys, *(f"~{one}" for one in attributes(text))))


class FactIndex:
    """The rows of `facts`, all that were ever in a document of one owner, each with its number; and of
    `fact_keys`, under which keys the current ones are found. Both are derived from the bodies of the documents,
    except for the numbers, which people may have noted."""

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

    def ids(self, document_id: str) -> dict[str, str]:
        """Return the ids of a document's facts as people see them ("f12"), by the refs of their items."""
        which = "SELECT fact, number FROM facts WHERE owner = ? AND document_id = ?"
        rows = self._tx.all(which, self._owner, document_id)
        return {f"{document_id}#{row[0]}": f"f{row[1]}" for row in rows}

    def with_id(self, fact_id: str) -> tuple[str, str] | None:
        """Return document and digest of the fact with this id ("f12")."""
        if not fact_id[1:].isdecimal() or len(fact_id) > MAX_ID_CHARS:
            return None
        which = "SELECT document_id, fact FROM facts WHERE owner = ? AND number = ?"
        row = self._tx.one(which, self._owner, int(fact_id[1:]))
        return (row[0], row[1]) if row else None

    def register(
        self, documents: Iterable[str], facts: Iterable[IndexedFact], told: Mapping[str, str]
    ) -> dict[str, str]:
        """Give the facts of these documents, current or not, their numbers. A number stays with its fact: when it
        leaves a document and comes back, and when another of these documents has it instead. `told` says from
        where facts moved, by the refs of their items; of the others, one that says the same counts as moved.
        Return the refs of items that moved so, old and new. The caller holds the owner's lock."""
        wanted = {(fact.document_id, fact.digest): fact.sentence for fact in facts}
        which = "SELECT document_id, fact, number FROM facts WHERE owner = ? AND document_id = ?"
        rows = self._tx.many(which, [(self._owner, one) for one in documents])
        known = {(row[0], row[1]): row[2] for row in rows}
        left = {fact for fact in known if fact not in wanted}
        new = [fact for fact in wanted if fact not in known]
        came = {"#".join(fact): fact for fact in new}
        went = {"#".join(fact): fact for fact in left}
        moved = {came[to]: went[ref] for ref, to in told.items() if ref in went and to in came}
        same = {fact[1]: fact for fact in left - {*moved.values()}}
        moved |= {fact: same.pop(fact[1]) for fact in new if fact not in moved and fact[1] in same}
        self._tx.many(
            "UPDATE facts SET document_id = ?, fact = ?, sentence = ? "
            "WHERE owner = ? AND document_id = ? AND fact = ?",
            [(*to, wanted[to], self._owner, *fact) for to, fact in moved.items()],
        )
        last = self._tx.one("SELECT COALESCE(max(number), 0) FROM facts WHERE owner = ?", self._owner)
        new = [fact for fact in new if fact not in moved]
        self._tx.many(
            "INSERT INTO facts (owner, document_id, fact, sentence, number) VALUES (?, ?, ?, ?, ?)",
            [
                (self._owner, *fact, wanted[fact], number)
                for number, fact in enumerate(new, start=last[0] + 1 if last else 1)
            ],
        )
        return {"#".join(fact): "#".join(to) for to, fact in moved.items()}

    def set_keys(self, documents: Iterable[str], current: Mapping[tuple[str, str], str], at: datetime) -> None:
        """Set under which keys the current facts of these documents are found, given their sentences."""
        which = "SELECT DISTINCT document_id, fact FROM fact_keys WHERE owner = ? AND document_id = ?"
        rows = self._tx.many(which, [(self._owner, one) for one in documents])
        known = {(row[0], row[1]) for row in rows}
        self._tx.many(
            "DELETE FROM fact_keys WHERE owner = ? AND document_id = ? AND fact = ?",
            [(self._owner, *fact) for fact in known - current.keys()],
        )
        self._tx.many(
            "INSERT INTO fact_keys (owner, document_id, fact, key, at) VALUES (?, ?, ?, ?, ?)",
            [
                (self._owner, *fact, key, to_micros(at))
                for fact, text in current.items()
                if fact not in known
                for key in fact_keys(text)
            ],
        )


def _best(under: Sequence[Sequence[tuple[int, str, str]]]) -> list[tuple[str, str]]:
    """Return the facts with the most keys first, then the newest; `under` holds for each key its newest facts:
    when each was committed, document and digest. A common key says little: its facts count only if another key
    has them, too."""
    counts = Counter(fact for facts in under for fact in facts)
    rare = {fact for facts in under if len(facts) < COMMON_KEY_FACTS for fact in facts}
    ranked = sorted(((count, *fact) for fact, count in counts.items() if count > 1 or fact in rare), reverse=True)
    return [fact[2:] for fact in ranked[:MAX_FOUND]]
