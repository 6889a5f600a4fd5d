"""What a compaction merges: which lines of MEMORY.md may go, what is told instead, and whether anything would be
lost.

The text of old records is told in compaction records of about a tenth of its size. When those take too much room,
the oldest of them are told again in fewer words. There may be no room for any: then only LONGMEMORY.md tells.
"""

from __future__ import annotations

import json
import logging
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

from lifelong.journal import longmemory
from lifelong.journal.key_facts import specifics
from lifelong.journal.records import JournalRecord, Sensitivity, decode, encode, highest, read, render
from lifelong.journal.summarize import Item, condense
from lifelong.redaction import find_secrets

log = logging.getLogger("lifelong.journal")

COMPACTION = "compaction"
MERGED = frozenset({"turn-summary", "note", COMPACTION})
TENTH = 10  # records are told in a tenth of their size,
THIRD, FEW = 3, 4_000  # but a few in up to a third: so many characters
LARGEST = 4_000  # characters of a compaction record
SMALLEST = 400
FRAME = 250  # of them are not its text
SLACK = 20  # of the target, one part of so many is left for what is appended meanwhile
GENTLY = 4  # of the compaction records told again, one part of so many is lost
MOST_ASKED = 32_000  # characters of records in one question; of more, the model gets what the rules tell

Summarize = Callable[[Sequence[Item], int], str]
"""Tells the items in at most so many characters. It may fail: then the rules do it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What MEMORY.md is kept under, and how old a record must be to be merged; the cap of LONGMEMORY.md."""

    max_records: int = 500
    max_chars: int = 64_000
    min_age: timedelta = timedelta(days=7)
    long_memory_max_chars: int = 16_000

    def exceeded(self, records: int, size: int) -> bool:
        return records > self.max_records or size > self.max_chars


class Old(NamedTuple):
    """A record that may be merged. It may stand elsewhere later, so its line has an ending."""

    raw: bytes
    item: Item
    confidence: float
    sensitivity: Sensitivity


class Split(NamedTuple):
    """MEMORY.md, taken apart: what stands before the first record, what is to be merged, what earlier
    compactions told, and everything else."""

    header: list[bytes]
    fresh: list[Old]
    earlier: list[Old]
    kept: list[bytes]
    kept_records: int

    @property
    def records(self) -> int:
        return len(self.fresh) + len(self.earlier) + self.kept_records

    @property
    def kept_chars(self) -> int:
        return chars(*self.header, *self.kept)


class Plan(NamedTuple):
    """What goes, what is told instead, the page that comes of it, and the block for LONGMEMORY.md."""

    gone: list[Old]
    told: list[bytes]
    page: bytes
    block: str


def may_go(record: JournalRecord, cut: datetime) -> bool:
    """Whether a record may be merged: it is no secret, and a turn summary, a note or an earlier compaction from
    before `cut`, whoever wrote it. Without a time it has no age."""
    if record.is_secret or record.timestamp is None:
        return False
    return record.category in MERGED and record.timestamp <= cut


def split(data: bytes, cut: datetime, ended: Set[str] = frozenset()) -> Split:
    """The records `ended` hold no longer: they may go, and are told nowhere."""
    parts = Split([], [], [], [], 0)
    records = 0
    for raw in lines(data):
        record = read(decode(raw))
        records += record is not None
        if record and record.timestamp and may_go(record, cut):
            text = "" if record.id in ended else record.text
            old = Old(_ended(raw), Item(text, record.timestamp), record.confidence, record.sensitivity)
            (parts.earlier if record.category == COMPACTION else parts.fresh).append(old)
        else:
            (parts.kept if records else parts.header).append(raw)
    return parts._replace(kept_records=records - len(parts.fresh) - len(parts.earlier))


def lost(before: bytes, after: bytes, gone: Sequence[Old], cut: datetime) -> str:
    """What a rewrite would lose. Every line that may not go must be there, byte for byte and in order; another one
    that stays, anywhere."""
    going, there = Counter(old.raw for old in gone), lines(after)
    stay = Counter(lines(after))
    for raw in lines(before):
        record = read(decode(raw))
        if record and may_go(record, cut):
            known = going if going[_ended(raw)] else stay
            known[_ended(raw)] -= 1
            found = known[_ended(raw)] >= 0
        else:
            found = any(raw == other for other in there)
        if not found:
            return f"it would lose {_name(raw)}."
    return "".join(f"it would remove {_name(raw)}, which must be kept." for raw in list(+going)[:1])


class Merger:
    """Plans the page that takes the place of another. A model's summary is taken where it keeps as many numbers,
    names, dates and negations as the rules do, and makes no number up."""

    def __init__(self, zone: tzinfo, limits: Limits, summarize: Summarize | None = None) -> None:
        self._zone = zone
        self._limits = limits
        self._summarize = summarize
        self._asked = summarize  # until it fails; then the rules make the rest of a page

    def plan(self, page: Split, now: datetime) -> Plan:
        self._asked = self._summarize
        room = self._limits.max_chars - self._limits.max_chars // SLACK - page.kept_chars
        records = self._limits.max_records - page.kept_records
        size = sum(len(old.item.text) for old in page.fresh)
        want = max(size // TENTH, min(size // THIRD, FEW), SMALLEST - FRAME) + FRAME
        most = room * (GENTLY - 1) // GENTLY if page.earlier else room
        new = self._told(page.fresh, min(want, most), records - 1 if page.earlier and records > 1 else records)
        gone, again = self._again(page.earlier, room - chars(*new), records - len(new))
        told = [*again, *new]
        content = b"".join([*page.header, *told, *page.kept])
        return Plan([*page.fresh, *gone], told, content, self._block(page.fresh, new, want > most, now))

    def _again(self, earlier: Sequence[Old], room: int, records: int) -> tuple[Sequence[Old], list[bytes]]:
        """The compaction records within this room: those that are told again, and all as they then are."""
        size = chars(*(old.raw for old in earlier))
        excess, taken, count = max(0, size - room), 0, 0
        if excess or len(earlier) > records:
            while count < len(earlier) and (taken < GENTLY * excess or len(earlier) - count >= records):
                taken += chars(earlier[count].raw)
                count += 1
        told = self._told(earlier[:count], taken - excess, records - (len(earlier) - count))
        return earlier[:count], [*told, *(old.raw for old in earlier[count:])]

    def _told(self, olds: Sequence[Old], room: int, records: int) -> list[bytes]:
        """Compaction records that tell these, within this room; none where there is too little."""
        if not olds or records < 1 or room < SMALLEST:
            return []
        count = min(records, len(olds), -(-room // LARGEST))
        ends = [len(olds) * number // count for number in range(count + 1)]
        told = (self._line(olds[start:end], room // count) for start, end in pairwise(ends))
        return [encode(line) for line in told if line]

    def _line(self, olds: Sequence[Old], room: int) -> str:
        bare = JournalRecord(
            id=_key(olds),
            session_id="",
            category=COMPACTION,
            text="",
            source_channel=COMPACTION,
            confidence=min(old.confidence for old in olds),
            timestamp=max(old.item.at for old in olds).astimezone(self._zone),
            sensitivity=highest(old.sensitivity for old in olds),
        )
        words = room - len(render(bare))
        while words > 0 and (text := self._summary([old.item for old in olds], words)):
            line = render(replace(bare, text=text))
            if len(line) <= room:
                return line
            words -= len(line) - room  # what JSON writes in more than one character
        return ""

    def _block(self, olds: Sequence[Old], told: Sequence[bytes], crowded: bool, now: datetime) -> str:
        """Tells what was `told`; where MEMORY.md was so `crowded` that this is less than a block may have, the
        records themselves."""
        room = longmemory.room(self._limits.long_memory_max_chars)
        if not any(old.item.text for old in olds) or room < 1:
            return ""
        records = [record for record in map(read, map(decode, told)) if record]
        items = [Item(record.text, record.timestamp) for record in records if record.timestamp]
        size = sum(len(item.text) for item in items)
        if not items or (crowded and size < room):
            text = self._summary([old.item for old in olds], room)
        else:
            text = items[0].text if len(items) == 1 and size <= room else self._summary(items, room)
        times = [old.item.at.astimezone(self._zone) for old in olds]
        return longmemory.block(
            _key(olds[:1]),  # after a crash the first is still there: the next block takes the place of this one
            now.astimezone(self._zone),
            min(times),
            max(times),
            len(olds),
            highest(old.sensitivity for old in olds),
            text,
        )

    def _summary(self, items: Sequence[Item], room: int) -> str:
        items = [Item(_clean(item.text), item.at) for item in items]
        rules = condense(items, room)
        if not self._asked:
            return rules
        try:
            text = _clean(self._asked(items, room)).strip()
        except Exception as error:
            self._asked = None
            log.warning("a model gave no summary, so the rules made it: %s: %s", type(error).__name__, error)
            return rules
        there, found = specifics("\n".join(item.text for item in items)), specifics(text)
        made_up = any(one.kind == "number" for one in found - there)
        if not text or len(text) > room or made_up or len(found & there) < len(specifics(rules) & there):
            log.warning("a model's summary was too long, dropped something or made it up, so the rules made it")
            return rules
        return text


def by_model(query: Callable[[str], str]) -> Summarize:
    """Summaries by one question each: no tools, one answer. See `models/question.py`."""

    def summarize(items: Sequence[Item], budget: int) -> str:
        if sum(len(item.text) for item in items) > MOST_ASKED:
            items = [Item(condense(items, MOST_ASKED), max(item.at for item in items))]
        records = (json.dumps({"day": f"{at:%Y-%m-%d}", "text": text}, ensure_ascii=False) for text, at in items)
        return query(_prompt().format(limit=budget, records="\n".join(records)))

    return summarize


@cache
def _prompt() -> str:
    return files("lifelong").joinpath("prompts/compaction.md").read_text(encoding="utf-8")


def lines(data: bytes) -> Iterator[bytes]:
    """The lines of a page with their endings; a byte order mark stands for itself."""
    at = 0
    if data.startswith(BOM_UTF8):
        yield BOM_UTF8
        at = len(BOM_UTF8)
    while at < len(data):
        end = data.find(b"\n", at) + 1 or len(data)
        yield data[at:end]
        at = end


def chars(*parts: bytes) -> int:
    return sum(len(decode(part)) for part in parts)


def _ended(raw: bytes) -> bytes:
    return raw if raw.endswith(b"\n") else raw + b"\n"


def _clean(text: str) -> str:
    """Without secrets that nobody marked, and without what cannot be written."""
    return find_secrets(text.encode("utf-8", "replace").decode()).text


def _key(olds: Sequence[Old]) -> str:
    digest = sha256()
    for old in olds:
        digest.update(old.raw)
    return f"compaction-{digest.hexdigest()[:16]}"


def _name(raw: bytes) -> str:
    """Enough of a line to find it, and nothing of what it says."""
    record = read(decode(raw))
    return f"the record {record.id}" if record else "a line that is no record"
