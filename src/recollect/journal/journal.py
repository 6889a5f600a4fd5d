"""The journal of a profile: what is worth writing down, in files that a person reads and edits.

A record goes to MEMORY.md and to the page of its day, under one clock and one time zone. The pages are read anew
each time, so what a person wrote there counts at once.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date, tzinfo
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from recollect.errors import InputError, JournalError
from recollect.gate import checked_text
from recollect.journal.pages import HEADER, Pages
from recollect.journal.records import (
    SENSITIVITIES,
    JournalRecord,
    Line,
    Sensitivity,
    encode,
    parse,
    render,
    together,
)
from recollect.secrecy import has_secret
from recollect.types import Clock, new_id

log = logging.getLogger("recollect.journal")

ROLLED = "MEMORY-rolled.md"
LONGEST_TEXT = 100_000  # characters of a record
_END = 2**18  # bytes at the end of a page that are looked through for a record written before
_CATEGORY = re.compile(r"\w[\w-]{0,63}")


class Window(NamedTuple):
    """How much MEMORY.md may hold: records, and characters."""

    records: int | None = None
    chars: int | None = None

    def holds(self, records: int, chars: int, share: float = 1.0) -> bool:
        return (self.records is None or records <= self.records * share) and (
            self.chars is None or chars <= self.chars * share
        )


class Journal:
    """Appends to the journal and reads it. `on_change` is called after each change, outside the lock."""

    def __init__(
        self,
        pages: Pages,
        clock: Clock,
        zone: tzinfo,
        window: Window | None = None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.pages = pages
        self.zone = zone
        self._clock = clock
        self._window = window or Window()
        self._on_change = on_change

    def append(self, *records: JournalRecord) -> int:
        """Write records down, durable on return; one without a time gets the present one. How many there were:
        a record that its day's page ends with already, by its id, is not written again."""
        return self._write(records, look=True)

    def remember(
        self,
        text: str,
        category: str = "note",
        sensitivity: Sensitivity = "operational",
        *,
        session_id: str = "",
        source_channel: str = "tool",
        confidence: float = 1.0,
    ) -> JournalRecord:
        """Write down what somebody chose to. A text with a secret in it is marked as one."""
        if not checked_text(text, "The text", LONGEST_TEXT).strip():
            raise InputError("There is nothing to remember. Give a text.")
        if sensitivity not in SENSITIVITIES:
            raise InputError(f"{sensitivity!r:.200} is no sensitivity. Use one of: {', '.join(SENSITIVITIES)}.")
        record = JournalRecord(
            id=new_id(),
            session_id=checked_text(session_id, "The session's id", 1_000),
            category=_category(category),
            text=text.strip(),
            source_channel=checked_text(source_channel, "The source", 1_000),
            confidence=_confidence(confidence),
            timestamp=self._clock().astimezone(self.zone),
            sensitivity="secret" if has_secret(text) else sensitivity,
        )
        self._write([record], look=False)
        return record

    def records(self) -> list[JournalRecord]:
        """The records of MEMORY.md, in its order."""
        return _records(parse(self.pages.read(self.pages.memory)))

    def day(self, day: date) -> list[JournalRecord]:
        """The records of a day's page, in its order."""
        return _records(parse(self.pages.read(self.pages.day(day))))

    def long_memory(self) -> str:
        """LONGMEMORY.md as it stands; empty where there is none."""
        return self.pages.read(self.pages.long_memory).decode("utf-8", "replace")

    def stamp(self) -> str:
        """Another one whenever somebody changed a page."""
        pages = (self.pages.memory, self.pages.long_memory, *self.pages.days())
        return blake2b(repr([(page.name, self.pages.stamp(page)) for page in pages]).encode()).hexdigest()[:32]

    def _write(self, records: Sequence[JournalRecord], *, look: bool) -> int:
        """`look`: the records may have been written before, by somebody who was stopped in the middle."""
        days: dict[Path, list[JournalRecord]] = {}
        for record in records:
            moment = (record.timestamp or self._clock()).astimezone(self.zone)
            days.setdefault(self.pages.day(moment.date()), []).append(replace(record, timestamp=moment))
        with self.pages.writing():
            if look:
                days = {day: self._new(day, written) for day, written in days.items()}
            new = [record for written in days.values() for record in written]
            if not new:
                return 0
            # MEMORY.md first: a page of a day is never rewritten, so what stands there stands in both.
            size = self._add(self.pages.memory, self._new(self.pages.memory, new) if look else new, HEADER)
            try:
                for day, written in days.items():
                    self._add(day, written, f"# {day.stem}\n\n")
            except JournalError:
                self.pages.cut(self.pages.memory, size)
                raise
            self._roll()
        self._on_change()
        return len(new)

    def _add(self, page: Path, records: Sequence[JournalRecord], header: str) -> int:
        return self.pages.append(page, encode("".join(map(render, records))), header)

    def _new(self, page: Path, records: Sequence[JournalRecord]) -> list[JournalRecord]:
        """Those that the page does not end with."""
        end = self.pages.end(page, _END)
        if not any(encode(json.dumps(record.id, ensure_ascii=False)) in end for record in records):
            return list(records)
        known = {record.id for record in _records(parse(end))}
        return [record for record in records if record.id not in known]

    def _roll(self) -> None:
        """The oldest records go to the archive when there are too many, some more than must: the page is not
        rewritten at each append."""
        if self._window == Window():
            return
        try:
            data = self.pages.read(self.pages.memory)
            if self._window.holds(data.count(b"- {"), len(data)):
                return
            dropped, kept = _rolled(parse(data), self._window)
            if dropped:
                self.pages.archive(ROLLED, together(dropped))
                self.pages.replace(self.pages.memory, together(kept))
        except JournalError as error:
            log.warning("MEMORY.md is longer than it should be, nothing is lost: %s", error)


def _rolled(lines: Sequence[Line], window: Window) -> tuple[list[Line], list[Line]]:
    """The records that leave MEMORY.md, and every line that stays. The newest record always does."""
    left, chars = sum(1 for line in lines if line.record), sum(len(line.raw) for line in lines)
    if window.holds(left, chars):
        return [], list(lines)
    dropped: list[Line] = []
    kept: list[Line] = []
    for line in lines:
        if line.record is None or left == 1 or window.holds(left, chars, share=0.9):
            kept.append(line)
        else:
            dropped.append(line)
            left, chars = left - 1, chars - len(line.raw)
    return dropped, kept


def _category(value: object) -> str:
    if isinstance(value, str) and _CATEGORY.fullmatch(value):
        return value
    raise InputError(
        f"{value!r:.200} cannot be a category. Use 1 to 64 letters, digits, '_' and '-', e.g. 'learned'."
    )


def _confidence(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise InputError(f"The confidence cannot be {value!r:.200}. Give a number from 0 to 1.")


def _records(lines: Iterable[Line]) -> list[JournalRecord]:
    return [line.record for line in lines if line.record]
