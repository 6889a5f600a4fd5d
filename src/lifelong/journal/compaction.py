"""Compaction: old records of MEMORY.md are replaced by short summaries, in the background, and nothing is lost.

What leaves MEMORY.md is in the archive, synced and read back, before anything else is written; then LONGMEMORY.md
gains a block; MEMORY.md is replaced last. Appends wait only for that last moment: what they added since the file
was read goes behind the new content. If a person edits the file meanwhile, the compaction begins again.

Old records become compaction records of about a tenth of their size. When those take too much room, the oldest of
them are summarized again. If there is no room for any, only LONGMEMORY.md holds the summary.
"""

from __future__ import annotations

import json
import logging
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from functools import cache
from hashlib import sha256
from importlib.resources import files as resources
from itertools import pairwise
from typing import NamedTuple

from lifelong.errors import JournalError
from lifelong.journal.files import JournalFiles
from lifelong.journal.records import (
    JournalRecord,
    Sensitivity,
    decode,
    encode,
    parse,
    parse_line,
    render,
    strictest,
)
from lifelong.journal.summarize import DatedText, key_facts, summarize
from lifelong.redaction import find_secrets
from lifelong.types import Clock

log = logging.getLogger("lifelong.journal")

MAX_ATTEMPTS = 3
COMPACTION = "compaction"
COMPACTED_CATEGORIES = frozenset({"turn-summary", "note", COMPACTION})
SUMMARY_DIVISOR = 10  # a summary has a tenth of the size of its records,
SHORT_SUMMARY_DIVISOR, MAX_SHORT_SUMMARY_CHARS = 3, 4_000  # but up to a third where that is little
MAX_RECORD_CHARS = 4_000  # of a compaction record
MIN_RECORD_CHARS = 400
RECORD_OVERHEAD_CHARS = 250  # characters of a compaction record that are not its text
SLACK_DIVISOR = 20  # this part of the target is left for what is appended meanwhile
SHRINK_DIVISOR = 4  # summarized again, compaction records lose this part of their size
MAX_PROMPT_CHARS = 32_000  # of records in one prompt; of more, the model gets the rules' summary

LONG_MEMORY_HEADER = "# Long-term memory\n\n"
BLOCKS_PER_CAP = 16  # a block of LONGMEMORY.md has this part of the cap,
MIN_BLOCK_CHARS = 200  # but at least so many characters, if the cap allows
BLOCK_OVERHEAD_CHARS = 140  # of the header and a block's heading, at most

Summarize = Callable[[Sequence[DatedText], int], str]
"""Summarizes texts in at most so many characters. It may fail: then the rules do it."""

_BLOCK = re.compile(
    r"^## (?P<day>\d{4}-\d\d-\d\d) (?P<of>.*)<!-- (?P<key>compaction-[0-9a-f]+) -->\r?\n(?:\r?\n)?"
    r"(?P<text>(?!#).*)\n?(?:\r?\n)?",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class CompactionLimits:
    """What MEMORY.md is kept under, how old a record must be to be compacted, and the cap of LONGMEMORY.md."""

    max_records: int = 500
    max_chars: int = 64_000
    min_age: timedelta = timedelta(days=7)
    long_memory_max_chars: int = 16_000

    def exceeded(self, records: int, size: int) -> bool:
        return records > self.max_records or size > self.max_chars


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """What a compaction did, or why it did nothing. Records and characters are those of MEMORY.md; `block` is what
    LONGMEMORY.md gained; with `over_target`, the records that must be kept exceed the limits by themselves."""

    ran: bool
    reason: str
    records_before: int = 0
    records_after: int = 0
    compacted: int = 0
    chars_before: int = 0
    chars_after: int = 0
    block: str = ""
    over_target: bool = False


class Compaction:
    """Compact one user's MEMORY.md. `flush` writes pending turns first, `resync` updates the index afterwards; a
    compaction goes on if either fails. Records that `ended` names are no longer true: they go to the archive, and
    no summary mentions them."""

    def __init__(
        self,
        files: JournalFiles,
        clock: Clock,
        zone: tzinfo,
        limits: CompactionLimits,
        *,
        owner: str = "lifelong",
        summarize: Summarize | None = None,
        flush: Callable[[], object] | None = None,
        resync: Callable[[], object] | None = None,
        ended: Callable[[], Set[str]] = frozenset,
    ) -> None:
        self._files = files
        self._clock = clock
        self._zone = zone
        self._limits = limits
        self._planner = CompactionPlanner(zone, limits, summarize)
        self._owner = owner
        self._flush = flush
        self._resync = resync
        self._ended = ended

    def run(self, *, force: bool = False) -> CompactionResult:
        """Compact if MEMORY.md is over a limit, or in any case with `force`. Skip while another one runs."""
        now = self._clock()
        with self._files.compacting(self._owner, now) as free:
            result = self._run(now, force) if free else CompactionResult(False, "Another compaction is running.")
        if result.ran and self._resync:
            _try(self._resync, "the index could not be brought up to date after a compaction")
        log.info("compaction: %s", result.reason)
        return result

    def status_notes(self) -> list[str]:
        """Return a warning where the records that must be kept exceed the limits."""
        limits = self._limits
        data = self._files.read(self._files.memory)
        if not limits.exceeded(data.count(b"\n") + 1, len(data)):
            return []
        parts = split(data, self._clock() - limits.min_age)
        if not limits.exceeded(parts.kept_records, parts.kept_chars):
            return []
        return [
            f"MEMORY.md must keep {parts.kept_records:,} record(s), {parts.kept_chars:,} characters; its target "
            f"is {limits.max_records:,} and {limits.max_chars:,}. Raise continuity.memory_compaction_max_records "
            "or memory_compaction_max_chars, or take some out by hand."
        ]

    def _run(self, now: datetime, force: bool) -> CompactionResult:
        if self._flush:
            _try(self._flush, "pending turns could not be written before a compaction; they stay pending")
        cutoff = now - self._limits.min_age
        for attempt in range(1, MAX_ATTEMPTS + 1):
            with self._files.writing():
                before = self._files.read(self._files.memory)
            parts = split(before, cutoff, self._ended())
            records, size = parts.records, count_chars(before)
            over = self._limits.exceeded(records, size)
            result = CompactionResult(False, "", records, records, 0, size, size, over_target=over)
            if not over and not force:
                return replace(result, reason=f"Within the limits: {records:,} record(s), {size:,} characters.")
            plan = self._planner.plan(parts, now)
            if not plan.removed:
                return replace(result, reason="Nothing to compact: every record is recent or must be kept.")
            if not over and count_chars(plan.memory) >= size:
                return replace(result, reason="Nothing to compact: MEMORY.md would not get smaller.")
            if loss := find_loss(before, plan.memory, plan.removed, cutoff):
                raise JournalError(f"A compaction was refused: {loss} Nothing was changed; please report it.")
            self._archive([old.raw for old in plan.removed], now)
            appended = self._replace(before, plan, may_retry=attempt < MAX_ATTEMPTS)
            if appended is not None:
                return self._done(result, parts.kept_records, plan, appended)
        return CompactionResult(False, "MEMORY.md kept changing meanwhile; it was left as it is.")

    def _archive(self, lines: Sequence[bytes], now: datetime) -> None:
        """Archive lines. Appends need not wait: only the one compaction that runs writes there. Lines that a
        failed run left at the end of the archive are not written again."""
        name = f"compacted-{now.astimezone(self._zone):%Y-%m}.md"
        path = self._files.archive_folder / name
        archived = Counter(split_lines(self._files.end(path, sum(map(len, lines)))))
        archived.subtract(lines)
        data = b"".join(line * -times for line, times in archived.items() if times < 0)
        self._files.archive(name, data)
        if self._files.end(path, len(data)) != data:
            raise JournalError(f"The archive {name} does not hold what was written. MEMORY.md was left as it is.")

    def _replace(self, before: bytes, plan: CompactionPlan, *, may_retry: bool) -> bytes | None:
        """Write the new files and return what was appended to MEMORY.md since it was read. Return None if the
        compaction must begin again: the file was edited, or so much was appended that it is over the target."""
        files, limits = self._files, self._limits
        with files.writing():
            current = files.read(files.memory)
            appended = current[len(before) :]
            crowded = plan.summaries and count_chars(plan.memory, appended) >= limits.max_chars
            if not current.startswith(before) or (crowded and may_retry):
                return None
            if plan.block:
                long_memory, moved = add_block(
                    files.read(files.long_memory), plan.block, limits.long_memory_max_chars
                )
                files.archive("long-memory.md", moved)
                files.replace(files.long_memory, long_memory)
            files.replace(files.memory, plan.memory + appended)
        return appended

    def _done(
        self, before: CompactionResult, kept: int, plan: CompactionPlan, appended: bytes
    ) -> CompactionResult:
        records = kept + len(plan.summaries) + sum(line.record is not None for line in parse(appended))
        size = count_chars(plan.memory, appended)
        over = self._limits.exceeded(records, size)
        return replace(
            before,
            ran=True,
            reason=f"{len(plan.removed):,} of {before.records_before:,} record(s) compacted; "
            f"{before.chars_before:,} characters brought to {size:,}"
            f"{', over the target: the rest must be kept.' if over else '.'}",
            records_after=records,
            compacted=len(plan.removed),
            chars_after=size,
            block=plan.block,
            over_target=over,
        )


# What is compacted


class OldRecord(NamedTuple):
    """A record that may be compacted. Its line always has an ending, as it may be written elsewhere."""

    raw: bytes
    content: DatedText
    confidence: float
    sensitivity: Sensitivity


class MemoryParts(NamedTuple):
    """MEMORY.md by what becomes of it: what precedes the first record, the records to compact, the summaries of
    earlier compactions, and everything else."""

    header: list[bytes]
    to_compact: list[OldRecord]
    earlier_summaries: list[OldRecord]
    kept: list[bytes]
    kept_records: int

    @property
    def records(self) -> int:
        return len(self.to_compact) + len(self.earlier_summaries) + self.kept_records

    @property
    def kept_chars(self) -> int:
        return count_chars(*self.header, *self.kept)


class CompactionPlan(NamedTuple):
    """The records to remove, the lines that summarize them, the new MEMORY.md, and the block for LONGMEMORY.md."""

    removed: list[OldRecord]
    summaries: list[bytes]
    memory: bytes
    block: str


def is_compactable(record: JournalRecord, cutoff: datetime) -> bool:
    """Return whether a record may be compacted: a turn summary, a note or an earlier compaction from before the
    cutoff that is not secret, no matter who wrote it. A record without a time has no age, and stays."""
    if record.is_secret or record.timestamp is None:
        return False
    return record.category in COMPACTED_CATEGORIES and record.timestamp <= cutoff


def split(data: bytes, cutoff: datetime, ended: Set[str] = frozenset()) -> MemoryParts:
    """Return the parts of MEMORY.md. Records in `ended` are no longer true: they go without a summary."""
    parts = MemoryParts([], [], [], [], 0)
    records = 0
    for raw in split_lines(data):
        record = parse_line(decode(raw))
        records += record is not None
        if record and record.timestamp and is_compactable(record, cutoff):
            text = "" if record.id in ended else record.text
            old = OldRecord(
                _with_newline(raw), DatedText(text, record.timestamp), record.confidence, record.sensitivity
            )
            (parts.earlier_summaries if record.category == COMPACTION else parts.to_compact).append(old)
        else:
            (parts.kept if records else parts.header).append(raw)
    return parts._replace(kept_records=records - len(parts.to_compact) - len(parts.earlier_summaries))


def find_loss(before: bytes, after: bytes, removed: Sequence[OldRecord], cutoff: datetime) -> str:
    """Return what a rewrite would lose, or nothing. Lines that must be kept must be there unchanged and in order;
    other lines that are not removed may be anywhere."""
    to_remove, in_order = Counter(old.raw for old in removed), split_lines(after)
    anywhere = Counter(split_lines(after))
    for raw in split_lines(before):
        record = parse_line(decode(raw))
        if record and is_compactable(record, cutoff):
            expected = to_remove if to_remove[_with_newline(raw)] else anywhere
            expected[_with_newline(raw)] -= 1
            found = expected[_with_newline(raw)] >= 0
        else:
            found = any(raw == other for other in in_order)
        if not found:
            return f"it would lose {_name(raw)}."
    return "".join(f"it would remove {_name(raw)}, which must be kept." for raw in list(+to_remove)[:1])


class CompactionPlanner:
    """Plan the new content of MEMORY.md. A model's summary is used if it keeps as many numbers, names, dates and
    negations as the rules' summary, and has no number that is not in the records."""

    def __init__(self, zone: tzinfo, limits: CompactionLimits, summarize: Summarize | None = None) -> None:
        self._zone = zone
        self._limits = limits
        self._model = summarize
        self._model_failed = False  # the rules make the rest of the plan

    def plan(self, parts: MemoryParts, now: datetime) -> CompactionPlan:
        """Return what to remove from MEMORY.md and what to write instead."""
        self._model_failed = False
        room = self._limits.max_chars - self._limits.max_chars // SLACK_DIVISOR - parts.kept_chars
        records = self._limits.max_records - parts.kept_records
        size = sum(len(old.content.text) for old in parts.to_compact)
        short = min(size // SHORT_SUMMARY_DIVISOR, MAX_SHORT_SUMMARY_CHARS)
        wanted = max(size // SUMMARY_DIVISOR, short, MIN_RECORD_CHARS - RECORD_OVERHEAD_CHARS)
        wanted += RECORD_OVERHEAD_CHARS
        allowed = room * (SHRINK_DIVISOR - 1) // SHRINK_DIVISOR if parts.earlier_summaries else room
        new_records = records - 1 if parts.earlier_summaries and records > 1 else records
        new = self._summary_lines(parts.to_compact, min(wanted, allowed), new_records)
        removed, again = self._shrink(parts.earlier_summaries, room - count_chars(*new), records - len(new))
        summaries = [*again, *new]
        memory = b"".join([*parts.header, *summaries, *parts.kept])
        block = self._block(parts.to_compact, new, wanted > allowed, now)
        return CompactionPlan([*parts.to_compact, *removed], summaries, memory, block)

    def _shrink(
        self, earlier: Sequence[OldRecord], room: int, records: int
    ) -> tuple[Sequence[OldRecord], list[bytes]]:
        """Fit earlier compaction records into the room. Return those that are summarized again, and every line as
        it then is."""
        size = count_chars(*(old.raw for old in earlier))
        excess, taken, count = max(0, size - room), 0, 0
        if excess or len(earlier) > records:
            while count < len(earlier) and (taken < SHRINK_DIVISOR * excess or len(earlier) - count >= records):
                taken += count_chars(earlier[count].raw)
                count += 1
        again = self._summary_lines(earlier[:count], taken - excess, records - (len(earlier) - count))
        return earlier[:count], [*again, *(old.raw for old in earlier[count:])]

    def _summary_lines(self, olds: Sequence[OldRecord], room: int, records: int) -> list[bytes]:
        """Return compaction records that summarize these within the room; none where there is too little."""
        if not olds or records < 1 or room < MIN_RECORD_CHARS:
            return []
        count = min(records, len(olds), -(-room // MAX_RECORD_CHARS))
        ends = [len(olds) * number // count for number in range(count + 1)]
        lines = (self._summary_line(olds[start:end], room // count) for start, end in pairwise(ends))
        return [encode(line) for line in lines if line]

    def _summary_line(self, olds: Sequence[OldRecord], room: int) -> str:
        bare = JournalRecord(
            id=_key(olds),
            session_id="",
            category=COMPACTION,
            text="",
            source_channel=COMPACTION,
            confidence=min(old.confidence for old in olds),
            timestamp=max(old.content.at for old in olds).astimezone(self._zone),
            sensitivity=strictest(old.sensitivity for old in olds),
        )
        budget = room - len(render(bare))
        while budget > 0 and (text := self._summary([old.content for old in olds], budget)):
            line = render(replace(bare, text=text))
            if len(line) <= room:
                return line
            budget -= len(line) - room  # JSON escapes some characters
        return ""

    def _block(self, olds: Sequence[OldRecord], summaries: Sequence[bytes], crowded: bool, now: datetime) -> str:
        """Return a block that repeats the summaries. Where MEMORY.md was so crowded that they are shorter than a
        block may be, it summarizes the records themselves."""
        room = block_room(self._limits.long_memory_max_chars)
        if not any(old.content.text for old in olds) or room < 1:
            return ""
        records = [record for record in map(parse_line, map(decode, summaries)) if record]
        texts = [DatedText(record.text, record.timestamp) for record in records if record.timestamp]
        size = sum(len(one.text) for one in texts)
        if not texts or (crowded and size < room):
            text = self._summary([old.content for old in olds], room)
        else:
            text = texts[0].text if len(texts) == 1 and size <= room else self._summary(texts, room)
        times = [old.content.at.astimezone(self._zone) for old in olds]
        return render_block(
            _key(olds[:1]),  # after a crash the first record is still there: the next block replaces this one
            now.astimezone(self._zone),
            min(times),
            max(times),
            len(olds),
            strictest(old.sensitivity for old in olds),
            text,
        )

    def _summary(self, texts: Sequence[DatedText], room: int) -> str:
        texts = [DatedText(_redact(one.text), one.at) for one in texts]
        by_rules = summarize(texts, room)
        if not self._model or self._model_failed:
            return by_rules
        try:
            text = _redact(self._model(texts, room)).strip()
        except Exception as error:
            self._model_failed = True
            log.warning("the model failed to summarize, so the rules did it: %s: %s", type(error).__name__, error)
            return by_rules
        expected, found = key_facts("\n".join(one.text for one in texts)), key_facts(text)
        invented = any(one.kind == "number" for one in found - expected)
        kept = len(found & expected) >= len(key_facts(by_rules) & expected)
        if not text or len(text) > room or invented or not kept:
            log.warning("the model's summary was too long, left facts out or made some up; the rules' one is used")
            return by_rules
        return text


def by_model(query: Callable[[str], str]) -> Summarize:
    """Return a function that summarizes by one prompt to a model. See `models/question.py`."""

    def ask(texts: Sequence[DatedText], budget: int) -> str:
        if sum(len(one.text) for one in texts) > MAX_PROMPT_CHARS:
            texts = [DatedText(summarize(texts, MAX_PROMPT_CHARS), max(one.at for one in texts))]
        records = (json.dumps({"day": f"{at:%Y-%m-%d}", "text": text}, ensure_ascii=False) for text, at in texts)
        return query(_prompt().format(limit=budget, records="\n".join(records)))

    return ask


@cache
def _prompt() -> str:
    return resources("lifelong").joinpath("prompts/compaction.md").read_text(encoding="utf-8")


# LONGMEMORY.md: a dated block for each compaction, the oldest first. A block is a heading and one line. What a
# person wrote before, between or behind the blocks is not a block and stays.


class LongMemoryBlock(NamedTuple):
    """What one compaction wrote: on which day, of which records, and the summary."""

    day: str
    of: str
    text: str


def parse_blocks(data: bytes) -> list[LongMemoryBlock]:
    """Return the blocks of LONGMEMORY.md, the oldest first."""
    found = _BLOCK.finditer(decode(data))
    return [LongMemoryBlock(one["day"], one["of"].strip(" ()"), one["text"].strip()) for one in found]


def block_room(cap: int) -> int:
    """Return how many characters the text of a block may have; no block fits below 1."""
    return min(max(cap // BLOCKS_PER_CAP, MIN_BLOCK_CHARS), cap - BLOCK_OVERHEAD_CHARS)


def render_block(
    key: str, now: datetime, first: datetime, last: datetime, records: int, sensitivity: Sensitivity, text: str
) -> str:
    """Return a block; `key` identifies the records that it summarizes. Its text is one line and never reads as a
    heading."""
    of = f"{first:%Y-%m-%d} to {last:%Y-%m-%d}, {records:,} record(s), {sensitivity}"
    line = re.sub("^#", r"\\#", " ".join(text.split()))
    return f"## {now:%Y-%m-%d} ({of}) <!-- {key} -->\n\n{line}\n\n"


def add_block(data: bytes, new: str, cap: int) -> tuple[bytes, bytes]:
    """Add a block to the end of LONGMEMORY.md, replacing one with the same key. Return the new content, and what
    goes to the archive: a replaced block with another text, and the oldest blocks over the cap."""
    old = decode(data) or LONG_MEMORY_HEADER
    old += "" if old.endswith("\n\n") else "\n" if old.endswith("\n") else "\n\n"
    blocks = list(_BLOCK.finditer(old))
    replaced = [found for found in blocks if f"<!-- {found['key']} -->\n" in new]
    size = len(old) + len(new) - sum(len(found[0]) for found in replaced)
    kept, moved, end = "", "", 0
    for found in blocks:
        kept += old[end : found.start()]
        end = found.end()
        if found in replaced:
            moved += "" if new.endswith(f"\n\n{found['text']}\n\n") else found[0]
        elif size > cap:
            size -= len(found[0])
            moved += found[0]
        else:
            kept += found[0]
    return encode(kept + old[end:] + new), encode(moved)


def split_lines(data: bytes) -> Iterator[bytes]:
    """Give the lines of a file with their endings; a byte order mark counts as a line."""
    at = 0
    if data.startswith(BOM_UTF8):
        yield BOM_UTF8
        at = len(BOM_UTF8)
    while at < len(data):
        end = data.find(b"\n", at) + 1 or len(data)
        yield data[at:end]
        at = end


def count_chars(*parts: bytes) -> int:
    return sum(len(decode(part)) for part in parts)


def _with_newline(raw: bytes) -> bytes:
    return raw if raw.endswith(b"\n") else raw + b"\n"


def _redact(text: str) -> str:
    """Return the text without unmarked secrets and what cannot be stored."""
    return find_secrets(text.encode("utf-8", "replace").decode()).text


def _key(olds: Sequence[OldRecord]) -> str:
    digest = sha256()
    for old in olds:
        digest.update(old.raw)
    return f"compaction-{digest.hexdigest()[:16]}"


def _name(raw: bytes) -> str:
    """Return enough of a line to find it, and nothing of its content."""
    record = parse_line(decode(raw))
    return f"the record {record.id}" if record else "a line that is not a record"


def _try(call: Callable[[], object], failure: str) -> None:
    try:
        call()
    except Exception:
        log.exception("%s", failure)
