"""Compaction: old records of MEMORY.md are replaced by short summaries, in the background, and nothing is lost.

What leaves MEMORY.md is in the archive, synced and read back, before anything else is written; then LONGMEMORY.md
gains a block; MEMORY.md is replaced last. Appends wait only for that last moment: what they added since the file
was read goes behind the new content. If a person edits the file meanwhile, the compaction begins again.

Old records become compaction records, which hold every sentence while there is room under the target. When there
is not, the sentences that tell most stay, of the new records and of the oldest compaction records. If there is no
room for any, only LONGMEMORY.md holds a summary.
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
from hashlib import sha256
from itertools import accumulate
from json.encoder import encode_basestring
from typing import NamedTuple

from lifelong.errors import JournalError
from lifelong.journal.files import BLOCK_END, JournalFiles
from lifelong.journal.model_text import AskModel, RefusedText, ask_for_text, prompt
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
from lifelong.journal.summarize import ARCHIVE, DatedText, Kind, Line, fit, more_note, read
from lifelong.journal.summarize import render as render_lines
from lifelong.redaction import find_secrets
from lifelong.types import Clock

log = logging.getLogger("lifelong.journal")

MAX_ATTEMPTS = 3
COMPACTION = "compaction"
COMPACTED_CATEGORIES = frozenset({"turn-summary", "note", COMPACTION})
MAX_RECORD_CHARS = 4_000  # of a compaction record: a session's context shows it whole or not at all
MIN_RECORD_CHARS = 400
SLACK_DIVISOR = 20  # this part of the target is left for what is appended meanwhile
POOL_FACTOR = 3  # compaction records of this many times what is too much are summarized again, the oldest first
MAX_PROMPT_CHARS = 32_000  # of records in one prompt
MIN_ANSWER_CHARS = 200  # a model is not asked for less

LONG_MEMORY_HEADER = "# Long-term memory\n\n"
MIN_BLOCK_DIVISOR, MAX_BLOCK_DIVISOR = 8, 2  # a block has what is free under the cap, between these parts of it,
MIN_BLOCK_CHARS = 200  # and at least so many characters, if the cap allows
BLOCK_OVERHEAD_CHARS = 160  # of the header, a block's heading and its end, at most

BLOCK = re.compile(
    r"^## (?P<day>\d{4}-\d\d-\d\d) (?P<of>.*)<!-- (?P<key>compaction-[0-9a-f]+) -->\r?\n"
    r"(?P<text>(?:(?!#{1,2} ).*\n)*?)<!-- end -->\r?\n?(?:\r?\n)?",
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
    """Compact one user's MEMORY.md. `query` asks a model that may summarize, `flush` writes pending turns first,
    `resync` updates the index afterwards; a compaction goes on if any of them fails. Records that `ended` names
    are no longer true: they go to the archive, and no summary mentions them."""

    def __init__(
        self,
        files: JournalFiles,
        clock: Clock,
        zone: tzinfo,
        limits: CompactionLimits,
        *,
        owner: str = "lifelong",
        query: AskModel | None = None,
        flush: Callable[[], object] | None = None,
        resync: Callable[[], object] | None = None,
        ended: Callable[[], Set[str]] = frozenset,
    ) -> None:
        self._files = files
        self._clock = clock
        self._zone = zone
        self._limits = limits
        self._planner = CompactionPlanner(zone, limits, query, f"{files.archive_folder.name}/compacted-*.md")
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
            long_memory = count_chars(self._files.read(self._files.long_memory))
            plan = self._planner.plan(parts, now, long_memory)
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
                long_memory = files.read(files.long_memory)
                longer, moved = add_block(long_memory, plan.block, limits.long_memory_max_chars)
                files.archive("long-memory.md", moved)
                if not files.replace(files.long_memory, longer, long_memory):
                    return None
            return appended if files.replace(files.memory, plan.memory + appended, current) else None

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
            content = DatedText(text, record.timestamp, _kind(record.category))
            old = OldRecord(_with_newline(raw), content, record.confidence, record.sensitivity)
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
    """Plan the new content of MEMORY.md. A model's text takes the place of the records if it keeps what they say
    and adds nothing (see `model_text`); otherwise the rules summarize them. `archive` is where the rest is."""

    def __init__(
        self, zone: tzinfo, limits: CompactionLimits, query: AskModel | None = None, archive: str = ARCHIVE
    ) -> None:
        self._zone = zone
        self._limits = limits
        self._query = query
        self._archive = archive

    def plan(self, parts: MemoryParts, now: datetime, long_memory_chars: int = 0) -> CompactionPlan:
        """Return what to remove from MEMORY.md and what to write instead. LONGMEMORY.md has so many characters."""
        limits = self._limits
        room = limits.max_chars - limits.max_chars // SLACK_DIVISOR - parts.kept_chars
        records = limits.max_records - parts.kept_records
        for_block = block_room(limits.long_memory_max_chars, long_memory_chars)
        earlier = [self._readable(old) for old in parts.earlier_summaries]
        new = self._by_model([self._readable(old) for old in parts.to_compact], max(room, for_block))
        lines, _ = read([old.content for old in new])
        pooled = 0  # of the earlier summaries are summarized again
        before: list[bytes] = []
        rest, after = [old.raw for old in earlier], _records(lines, new, records)
        excess = count_chars(*rest, *after) - room
        if excess > 0 or len(rest) + len(after) > records:
            taken = 0
            while pooled < len(earlier) and (taken < POOL_FACTOR * excess or len(rest) - pooled > records - 2):
                taken += count_chars(rest[pooled])
                pooled += 1
            rest = rest[pooled:]
            room, records = room - count_chars(*rest), records - len(rest)
            before, after = _fitting(earlier[:pooled], new, room, records, self._archive)
        summaries = [*before, *rest, *after]
        return CompactionPlan(
            [*parts.to_compact, *parts.earlier_summaries[:pooled]],
            summaries,
            b"".join([*parts.header, *summaries, *parts.kept]),
            self._block(parts.to_compact, lines, for_block, now),
        )

    def _readable(self, old: OldRecord) -> OldRecord:
        text, at, kind = old.content
        return old._replace(content=DatedText(_redact(text), at.astimezone(self._zone), kind))

    def _by_model(self, olds: list[OldRecord], room: int) -> list[OldRecord]:
        """Return the model's texts in place of the records, or the records where there is none that can be used. A
        model that fails is not asked again."""
        query, made = self._query, list[OldRecord]()
        size = sum(len(old.content.text) for old in olds)
        for chunk in _chunks(olds):
            texts = [old.content for old in chunk if old.content.text]
            chars = sum(len(one.text) for one in texts)
            limit = min(chars, room * chars // max(1, size))
            if not query or limit < MIN_ANSWER_CHARS:
                made += chunk
                continue
            try:
                text = _redact(_ask(query, texts, limit))
            except Exception as error:
                query = query if isinstance(error, RefusedText) else None
                log.warning("the model did not summarize, so the rules do: %s: %s", type(error).__name__, error)
                made += chunk
            else:
                content = DatedText(text, max(one.at for one in texts), "compaction")
                made.append(
                    OldRecord(
                        b"".join(old.raw for old in chunk),
                        content,
                        min(old.confidence for old in chunk),
                        strictest(old.sensitivity for old in chunk),
                    )
                )
        return made

    def _block(self, olds: Sequence[OldRecord], lines: Sequence[Line], room: int, now: datetime) -> str:
        """Return a block with these lines, or as many of them as there is room for."""
        text, chosen, _ = fit(lines, room, archive=self._archive)
        if not chosen or len(text) > room:
            return ""
        times = [old.content.at.astimezone(self._zone) for old in olds]
        return render_block(
            _key(olds[0].raw),  # after a crash the first record is still there: the next block replaces this one
            now.astimezone(self._zone),
            min(times),
            max(times),
            len(olds),
            strictest(old.sensitivity for old in olds),
            text,
        )


def _fitting(
    earlier: Sequence[OldRecord], new: Sequence[OldRecord], room: int, records: int, archive: str
) -> tuple[list[bytes], list[bytes]]:
    """Return compaction records of earlier summaries, and of what is new, together within the room; none where
    there is too little."""
    if records < 1 or room < MIN_RECORD_CHARS:
        return [], []
    olds = [*earlier, *new]
    lines, more = read([old.content for old in olds])
    apart = len(earlier) if records > 1 else 0  # of several records, none has both
    budget = room - min(records, room // MAX_RECORD_CHARS + 2) * len(render(_bare(olds)))
    while budget > 0:
        _, chosen, left_out = fit(lines, budget, more=more.total(), archive=archive, measure=_json_chars)
        note = more_note(left_out, archive)
        before = _records([line for line in chosen if line.source < apart], olds, records - 1)
        after = _records([line for line in chosen if line.source >= apart], olds, records - len(before), note)
        excess = count_chars(*before, *after) - room
        if excess <= 0:
            return before, after
        budget -= excess
    return [], []


def _records(lines: Sequence[Line], olds: Sequence[OldRecord], records: int, note: str = "") -> list[bytes]:
    """Return compaction records of these lines, in order, at most so many; the last one has the note."""
    sizes = [_json_chars(line.text) for line in lines]
    size = sum(sizes)
    count = max(1, min(records, -(-size // MAX_RECORD_CHARS)))
    shares: list[list[Line]] = [[] for _ in range(count)]
    for line, taken in zip(lines, accumulate(sizes, initial=0), strict=False):
        shares[taken * count // size].append(line)
    texts = [render_lines(share, note if number == count else "") for number, share in enumerate(shares, 1)]
    return [_record(text, share, olds) for text, share in zip(texts, shares, strict=True) if text]


def _record(text: str, lines: Sequence[Line], olds: Sequence[OldRecord]) -> bytes:
    sources = [olds[source] for source in sorted({line.source for line in lines})] or olds[-1:]
    key = _key(encode(text), *(old.raw for old in sources))
    return encode(render(replace(_bare(sources), id=key, text=text)))


def _bare(olds: Sequence[OldRecord]) -> JournalRecord:
    """Return a compaction record without a text."""
    return JournalRecord(
        id=_key(b""),
        session_id="",
        category=COMPACTION,
        text="",
        source_channel=COMPACTION,
        confidence=min(old.confidence for old in olds),
        timestamp=max(old.content.at for old in olds),
        sensitivity=strictest(old.sensitivity for old in olds),
    )


def _chunks(olds: Sequence[OldRecord]) -> Iterator[list[OldRecord]]:
    """Give the records in order, as many at a time as one prompt holds."""
    chunk: list[OldRecord] = []
    size = 0
    for old in olds:
        if chunk and size + len(old.content.text) > MAX_PROMPT_CHARS:
            yield chunk
            chunk, size = [], 0
        chunk.append(old)
        size += len(old.content.text)
    if chunk:
        yield chunk


def _ask(query: AskModel, texts: Sequence[DatedText], limit: int) -> str:
    records = [json.dumps({"day": f"{one.at:%Y-%m-%d}", "text": one.text}, ensure_ascii=False) for one in texts]
    asked = prompt("compaction").format(limit=limit, records="\n".join(records))
    source = "\n".join(one.text for one in texts)
    return ask_for_text(query, asked, source, limit, days=[one.at.date() for one in texts])[0]


def _json_chars(text: str) -> int:
    """Return how many characters a text takes in JSON."""
    return len(encode_basestring(text)) - 2


def _kind(category: str) -> Kind:
    return "turn-summary" if category == "turn-summary" else "compaction" if category == COMPACTION else "note"


# LONGMEMORY.md: a dated block for each compaction, the oldest first. A block is a heading, a summary and a comment
# that ends it. What a person wrote before, between or behind the blocks is not a block and stays.


class LongMemoryBlock(NamedTuple):
    """What one compaction wrote: on which day, of which records, and the summary."""

    day: str
    of: str
    text: str


def parse_blocks(data: bytes) -> list[LongMemoryBlock]:
    """Return the blocks of LONGMEMORY.md, the oldest first."""
    found = BLOCK.finditer(decode(data))
    return [LongMemoryBlock(one["day"], one["of"].strip(" ()"), one["text"].strip()) for one in found]


def block_room(cap: int, used: int = 0) -> int:
    """Return how many characters the text of a block may have where LONGMEMORY.md has `used`; no block fits below
    1. A block takes what is free, but leaves room for another, and one always fits: older ones make room."""
    free = min(cap - used - BLOCK_OVERHEAD_CHARS, cap // MAX_BLOCK_DIVISOR)
    return min(max(free, cap // MIN_BLOCK_DIVISOR, MIN_BLOCK_CHARS), cap - BLOCK_OVERHEAD_CHARS)


def render_block(
    key: str, now: datetime, first: datetime, last: datetime, records: int, sensitivity: Sensitivity, text: str
) -> str:
    """Return a block; `key` identifies the records that it summarizes. Its text is a summary, of which no line
    reads as the heading or the end of a block."""
    of = f"{first:%Y-%m-%d} to {last:%Y-%m-%d}, {records:,} record(s), {sensitivity}"
    return f"## {now:%Y-%m-%d} ({of}) <!-- {key} -->\n\n{text}\n\n{BLOCK_END}\n\n"


def add_block(data: bytes, new: str, cap: int) -> tuple[bytes, bytes]:
    """Add a block to the end of LONGMEMORY.md, replacing one with the same key. Return the new content, and what
    goes to the archive: a replaced block with another text, and the oldest blocks over the cap."""
    old = decode(data) or LONG_MEMORY_HEADER
    old += "" if old.endswith("\n\n") else "\n" if old.endswith("\n") else "\n\n"
    blocks = list(BLOCK.finditer(old))
    replaced = [found for found in blocks if f"<!-- {found['key']} -->\n" in new]
    size = len(old) + len(new) - sum(len(found[0]) for found in replaced)
    kept, moved, end = "", "", 0
    for found in blocks:
        kept += old[end : found.start()]
        end = found.end()
        if found in replaced:
            moved += "" if new.endswith(f"\n\n{found['text'].strip()}\n\n{BLOCK_END}\n\n") else found[0]
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


def _key(*parts: bytes) -> str:
    digest = sha256()
    for part in parts:
        digest.update(part)
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
