"""Compaction: old records of MEMORY.md become few words, in the background, and nothing is lost.

What leaves MEMORY.md is in the archive, on disk and read back, before anything else is written; then LONGMEMORY.md
gains a block; the new MEMORY.md takes the old one's place last. Appends wait only for that last moment: what they
added since the page was read is put behind the new one. A person's edit makes the compaction begin anew.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from lifelong.errors import JournalError
from lifelong.journal import longmemory
from lifelong.journal.compaction_plan import Limits, Merger, Plan, Summarize, chars, lines, lost, split
from lifelong.journal.files import JournalFiles
from lifelong.journal.records import parse
from lifelong.types import Clock

log = logging.getLogger("lifelong.journal")

ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Result:
    """What a compaction did, or why it did nothing. Records and characters are those of MEMORY.md; `block` is
    what LONGMEMORY.md gained; `over_target`: what must be kept alone is more than the target."""

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
    """Compacts one user's MEMORY.md. `flush` writes what is still pending, before; `resync` brings an index up
    to the new page, after. Neither can make a compaction fail. What `ended` names holds no longer, and is told
    nowhere."""

    def __init__(
        self,
        pages: JournalFiles,
        clock: Clock,
        zone: tzinfo,
        limits: Limits,
        *,
        owner: str = "lifelong",
        summarize: Summarize | None = None,
        flush: Callable[[], object] | None = None,
        resync: Callable[[], object] | None = None,
        ended: Callable[[], Set[str]] = frozenset,
    ) -> None:
        self._pages = pages
        self._clock = clock
        self._zone = zone
        self._limits = limits
        self._merger = Merger(zone, limits, summarize)
        self._owner = owner
        self._flush = flush
        self._resync = resync
        self._ended = ended

    def run(self, *, force: bool = False) -> Result:
        """Compact if MEMORY.md is over a limit, or in any case with `force`. Skipped while another one runs."""
        now = self._clock()
        with self._pages.compacting(self._owner, now) as free:
            result = self._run(now, force) if free else Result(False, "Another compaction is running.")
        if result.ran and self._resync:
            _try(self._resync, "the index could not be brought up to date after a compaction")
        log.info("compaction: %s", result.reason)
        return result

    def remark(self) -> str:
        """What a person should know: that what must be kept alone is more than the target. Or nothing."""
        limits = self._limits
        data = self._pages.read(self._pages.memory)
        if not limits.exceeded(data.count(b"\n") + 1, len(data)):
            return ""
        page = split(data, self._clock() - limits.min_age)
        if not limits.exceeded(page.kept_records, page.kept_chars):
            return ""
        return (
            f"MEMORY.md must keep {page.kept_records:,} record(s), {page.kept_chars:,} characters; its target is "
            f"{limits.max_records:,} and {limits.max_chars:,}. Raise continuity.memory_compaction_max_records or "
            "memory_compaction_max_chars, or take some out by hand."
        )

    def _run(self, now: datetime, force: bool) -> Result:
        if self._flush:
            _try(self._flush, "what was pending could not be written before a compaction; it stays pending")
        cut = now - self._limits.min_age
        for attempt in range(1, ATTEMPTS + 1):
            with self._pages.writing():
                before = self._pages.read(self._pages.memory)
            page = split(before, cut, self._ended())
            records, size = page.records, chars(before)
            over = self._limits.exceeded(records, size)
            result = Result(False, "", records, records, 0, size, size, over_target=over)
            if not over and not force:
                return replace(result, reason=f"Within the limits: {records:,} record(s), {size:,} characters.")
            plan = self._merger.plan(page, now)
            if not plan.gone:
                return replace(result, reason="Nothing to compact: every record is recent or must be kept.")
            if not over and chars(plan.page) >= size:
                return replace(result, reason="Nothing to compact: MEMORY.md would not get smaller.")
            if loss := lost(before, plan.page, plan.gone, cut):
                raise JournalError(f"A compaction was refused: {loss} Nothing was changed; please report it.")
            self._archive([old.raw for old in plan.gone], now)
            tail = self._swap(before, plan, may_wait=attempt < ATTEMPTS)
            if tail is not None:
                return self._done(result, page.kept_records, plan, tail)
        return Result(False, "Somebody else kept changing MEMORY.md; it was left as it is.")

    def _archive(self, raws: Sequence[bytes], now: datetime) -> None:
        """Only the one compaction that runs writes there, so appends need not wait for it. What a run that failed
        has left at the end is there already."""
        name = f"compacted-{now.astimezone(self._zone):%Y-%m}.md"
        page = self._pages.archive_folder / name
        there = Counter(lines(self._pages.end(page, sum(map(len, raws)))))
        there.subtract(raws)
        data = b"".join(raw * -times for raw, times in there.items() if times < 0)
        self._pages.archive(name, data)
        if self._pages.end(page, len(data)) != data:
            raise JournalError(f"The archive {name} does not hold what was written. MEMORY.md was left as it is.")

    def _swap(self, before: bytes, plan: Plan, *, may_wait: bool) -> bytes | None:
        """Put the new page in the place of the old one, and say what was appended since. None if it has to be
        tried again: somebody changed the page, or appended so much that it would be over the target."""
        pages, limits = self._pages, self._limits
        with pages.writing():
            current = pages.read(pages.memory)
            tail = current[len(before) :]
            crowded = plan.told and chars(plan.page, tail) >= limits.max_chars
            if not current.startswith(before) or (crowded and may_wait):
                return None
            if plan.block:
                page = pages.read(pages.long_memory)
                page, moved = longmemory.with_block(page, plan.block, limits.long_memory_max_chars)
                pages.archive("long-memory.md", moved)
                pages.replace(pages.long_memory, page)
            pages.replace(pages.memory, plan.page + tail)
        return tail

    def _done(self, before: Result, kept: int, plan: Plan, tail: bytes) -> Result:
        records = kept + len(plan.told) + sum(line.record is not None for line in parse(tail))
        size = chars(plan.page, tail)
        over = self._limits.exceeded(records, size)
        return replace(
            before,
            ran=True,
            reason=f"{len(plan.gone):,} of {before.records_before:,} record(s) compacted; {before.chars_before:,} "
            f"characters brought to {size:,}{', over the target: the rest must be kept.' if over else '.'}",
            records_after=records,
            compacted=len(plan.gone),
            chars_after=size,
            block=plan.block,
            over_target=over,
        )


def _try(call: Callable[[], object], failed: str) -> None:
    try:
        call()
    except Exception:
        log.exception("%s", failed)
