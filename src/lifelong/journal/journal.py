"""The journal of a user: what is worth writing down, in files that a person reads and edits.

A record goes to MEMORY.md and to the page of its day, under one clock and one time zone. The pages are read anew
each time, so what a person wrote there counts at once.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Sequence
from datetime import date, timedelta, tzinfo
from pathlib import Path
from typing import NamedTuple

from lifelong.errors import InputError, JournalError
from lifelong.journal.files import HEADER, JournalFiles
from lifelong.journal.records import (
    SENSITIVITIES,
    JournalRecord,
    Line,
    Sensitivity,
    encode,
    parse,
    render,
    together,
)
from lifelong.redaction import has_secret, redact
from lifelong.types import Clock, new_id
from lifelong.validation import validate_name, validate_text, validate_time

log = logging.getLogger("lifelong.journal")

ROLLED = "MEMORY-rolled.md"
LONGEST_TEXT = 100_000  # characters of a record
_CATEGORY = re.compile(r"(?!compaction\Z)\w[\w-]{0,63}")
_ID = re.compile(rb'"id"\s*:\s*("(?:[^"\\\n]|\\.)*+")')


class Window(NamedTuple):
    """How much MEMORY.md may hold: records, and characters."""

    records: int | None = None
    chars: int | None = None

    def holds(self, records: int, chars: int, share: float = 1.0) -> bool:
        return (self.records is None or records <= self.records * share) and (
            self.chars is None or chars <= self.chars * share
        )


class Journal:
    """Appends to the journal and reads it."""

    def __init__(self, files: JournalFiles, clock: Clock, zone: tzinfo, window: Window | None = None) -> None:
        self._files = files
        self.zone = zone
        self._clock = clock
        self._window = window or Window()

    @property
    def files(self) -> JournalFiles:
        """Return the files that the journal is kept in."""
        return self._files

    def append(self, *records: JournalRecord) -> int:
        """Write records down, durable on return; one without a time gets the present one, one with a secret in
        its text is marked so. How many there were: what stands on its day's page already, by its id, is not
        written again."""
        checked = {record.id: record for record in map(self._checked, records)}
        return self._write([*checked.values()], look=True)

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
        record = self._checked(
            JournalRecord(new_id(), session_id, category, text, source_channel, confidence, None, sensitivity)
        )
        self._write([record], look=False)
        return record

    def _checked(self, record: JournalRecord) -> JournalRecord:
        """The record as it is written."""
        if not isinstance(record, JournalRecord):
            raise InputError(f"{record!r:.200} is no record of the journal. Pass a JournalRecord.")
        text = validate_text(record.text, "The text", LONGEST_TEXT).strip()
        if not text:
            raise InputError("There is nothing to remember. Give a text.")
        if record.sensitivity not in SENSITIVITIES:
            raise InputError(
                f"{record.sensitivity!r:.200} is no sensitivity. Use one of: {', '.join(SENSITIVITIES)}."
            )
        moment = validate_time(record.timestamp or self._clock(), "The record's time")
        if moment.year == 1:
            raise InputError(f"The record's time is out of range: {record.timestamp!r}. Give a later one.")
        is_secret = has_secret(text) or has_secret(" ".join(text.split()))  # a line break may part it
        return JournalRecord(
            id=validate_name(record.id, "The record's id"),
            session_id=redact(validate_text(record.session_id, "The session's id", 1_000)),
            category=_category(record.category),
            text=text,
            source_channel=redact(validate_text(record.source_channel, "The source", 1_000)),
            confidence=_confidence(record.confidence),
            timestamp=moment.astimezone(self.zone),
            sensitivity="secret" if is_secret else record.sensitivity,
        )

    def records(self) -> list[JournalRecord]:
        """The records of MEMORY.md, in its order."""
        return _records(parse(self.files.read(self.files.memory)))

    def day(self, day: date) -> list[JournalRecord]:
        """The records of a day's page, in its order."""
        if type(day) is not date:  # a datetime has a zone of its own
            raise InputError(f"{day!r:.200} is no day. Give a date, e.g. date(2026, 3, 5).")
        return _records(parse(self.files.read(self.files.day(day))))

    def records_of_days(self, since: date | None = None) -> list[JournalRecord]:
        """The records of all days' pages, or of those from the day before this one on, as a day begins earlier in
        some places than in others. In their order."""
        first = (since - timedelta(days=1)).isoformat() if since else ""
        pages = [page for page in self.files.days() if page.stem >= first]
        return [record for page in pages for record in _records(parse(self.files.read(page)))]

    def long_memory(self) -> str:
        """LONGMEMORY.md as it stands; empty where there is none."""
        return self.files.read(self.files.long_memory).decode("utf-8", "replace")

    def _write(self, records: Sequence[JournalRecord], *, look: bool) -> int:
        """`look`: the records may have been written before, by somebody who was stopped in the middle."""
        days: dict[Path, list[JournalRecord]] = {}
        for record in records:
            day = (record.timestamp or self._clock()).date()
            days.setdefault(self.files.day(day), []).append(record)
        with self.files.writing():
            if look:
                days = {page: self._new(page, written) for page, written in days.items()}
            new = [record for written in days.values() for record in written]
            if not new:
                return 0
            # MEMORY.md first: a page of a day is never rewritten, so what stands there stands in both.
            memory = self._new(self.files.memory, new) if look else new
            added: list[tuple[Path, int]] = []
            try:
                added.append(self._add(self.files.memory, memory, HEADER))
                for page, written in days.items():
                    added.append(self._add(page, written, f"# {page.stem}\n\n"))
            except JournalError:
                self.files.cut(*added)
                raise
            self._roll()
        return len(new)

    def _add(self, page: Path, records: Sequence[JournalRecord], header: str) -> tuple[Path, int]:
        return page, self.files.append(page, encode("".join(map(render, records))), header)

    def _new(self, page: Path, records: Sequence[JournalRecord]) -> list[JournalRecord]:
        """Those that do not stand on the page."""
        data = self.files.read(page)
        if {encode(json.dumps(record.id, ensure_ascii=False)) for record in records}.isdisjoint(_ID.findall(data)):
            return list(records)
        known = {record.id for record in _records(parse(data))}
        return [record for record in records if record.id not in known]

    def _roll(self) -> None:
        """The oldest records go to the archive when there are too many, some more than must: the page is not
        rewritten at each append."""
        if self._window == Window():
            return
        try:
            data = self.files.read(self.files.memory)
            if self._window.holds(data.count(b"- {"), len(data)):
                return
            dropped, kept = _rolled(parse(data), self._window)
            if dropped:
                self.files.archive(ROLLED, together(dropped))
                self.files.replace(self.files.memory, together(kept))
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
        f"{value!r:.200} cannot be a category. Use 1 to 64 letters, digits, '_' and '-', e.g. 'learned'; "
        "'compaction' is for compaction alone."
    )


def _confidence(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise InputError(f"The confidence cannot be {value!r:.200}. Give a number from 0 to 1.")


def _records(lines: Iterable[Line]) -> list[JournalRecord]:
    return [line.record for line in lines if line.record]
