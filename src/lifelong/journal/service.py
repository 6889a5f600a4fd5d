"""The journal of one user, as `memory.journal`: append, remember, read, compact.

A record goes to MEMORY.md and to the file of its day, under one clock and one time zone. The files are read again
each time, so that what a person wrote there counts at once. If the journal is off, no file is made.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from lifelong.errors import ConfigError, InputError, JournalError, LifelongError
from lifelong.journal.files import MEMORY_HEADER, JournalFiles
from lifelong.journal.records import (
    SENSITIVITIES,
    FileLine,
    JournalRecord,
    Sensitivity,
    encode,
    join,
    parse,
    render,
)
from lifelong.redaction import has_secret, redact
from lifelong.types import Clock, new_id
from lifelong.validation import validate_name, validate_text, validate_time

if TYPE_CHECKING:  # imported where they are used: most processes only append
    from lifelong.journal.compaction import Compaction, CompactionResult
    from lifelong.journal.model_text import AskModel
    from lifelong.journal.schedule import Schedule, Timetable
    from lifelong.journal.session_context import Remark
    from lifelong.journal.turn_summaries import TurnSummaries
    from lifelong.settings import ContinuitySettings
    from lifelong.storage.base import Database

log = logging.getLogger("lifelong.journal")

ROLLED_FILE = "MEMORY-rolled.md"
MAX_TEXT_CHARS = 100_000
_CATEGORY = re.compile(r"(?!compaction\Z)\w[\w-]{0,63}")
_ID = re.compile(rb'"id"\s*:\s*("(?:[^"\\\n]|\\.)*+")')


class RollingWindow(NamedTuple):
    """The most records and characters that MEMORY.md may hold; None: any number."""

    records: int | None = None
    chars: int | None = None

    def holds(self, records: int, chars: int, share: float = 1.0) -> bool:
        """Return whether so much fits into this share of the window."""
        return (self.records is None or records <= self.records * share) and (
            self.chars is None or chars <= self.chars * share
        )


class JournalService:
    """Keep one user's journal in the folder `root`, as the section `[continuity]` of the settings says.

    With a `database`, completed turns of the user (`owner`) are summarized, and `schedules` has the work that runs
    by the clock. `summarizer` gives the model that compaction may use, `extract` makes experiences before each
    compaction, `ended` gives the ids of records that are no longer true, and `resync` updates the index."""

    def __init__(
        self,
        settings: ContinuitySettings,
        root: Path,
        clock: Clock,
        *,
        owner: str = "default",
        database: Database | None = None,
        summarizer: Callable[[], AskModel | None] = lambda: None,
        extract: Callable[[], object] | None = None,
        ended: Callable[[], Set[str]] = frozenset,
        resync: Callable[[], object] | None = None,
        check_in_place: Callable[[], object] = lambda: None,
    ) -> None:
        self.zone = ZoneInfo(settings.time_zone)
        self.ended = ended
        self._files = JournalFiles(root, settings.long_memory_path, settings.memory_archive_path)
        self._window = RollingWindow(settings.memory_max_records, settings.memory_max_chars)
        self._settings = settings
        self._clock = clock
        self._owner = owner
        self._summarizer = summarizer
        self._extract = extract
        self._resync = resync
        self._check_in_place = check_in_place  # raises an error where the home is not the folder that was opened
        self._summaries: TurnSummaries | None = None
        if database and settings.journal_enabled:
            from lifelong.journal.turn_summaries import TurnSummaries

            self._summaries = TurnSummaries(database, owner, self, clock)
        kept_here = not (self._summaries and self._summaries.elsewhere)
        self.schedules: list[Schedule] = self._open_schedules(database) if database and kept_here else []

    @property
    def enabled(self) -> bool:
        """Whether the journal is on."""
        return self._settings.journal_enabled

    @property
    def files(self) -> JournalFiles:
        """The files of the journal. Raises `ConfigError` where it is off."""
        self.check_enabled()
        return self._files

    @property
    def every_file(self) -> JournalFiles:
        """The files of the journal, also where it is off: some may be left from when it was on."""
        return self._files

    def check_enabled(self) -> None:
        """Raise `ConfigError` where the journal is off."""
        if not self.enabled:
            raise ConfigError(
                "The journal is off. Switch it on with journal_enabled = true in the section [continuity] of "
                "lifelong.toml."
            )

    # Writing

    def append(self, *records: JournalRecord) -> int:
        """Write records, durable on return, and return how many were new: a record whose id is in the file of its
        day is not written again. A record without a time gets the present one; one whose text holds a secret is
        marked as secret."""
        validated = {record.id: record for record in map(self._validate, records)}
        return self._write([*validated.values()], check_known=True)

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
        """Write a text and return its record. A text that holds a secret is marked as secret."""
        record = self.make_record(text, category, sensitivity, session_id, source_channel, confidence)
        self._write([record], check_known=False)
        return record

    def make_record(
        self,
        text: str,
        category: str = "note",
        sensitivity: Sensitivity = "operational",
        session_id: str = "",
        source_channel: str = "tool",
        confidence: float = 1.0,
    ) -> JournalRecord:
        """Return a text as the record that `remember` would write now."""
        return self._validate(
            JournalRecord(new_id(), session_id, category, text, source_channel, confidence, None, sensitivity)
        )

    def touched(self, agent_id: str) -> None:
        """Note that a turn of this agent may be complete. Writes nothing yet."""
        if self._summaries:
            self._summaries.touched(agent_id)

    def keep_up(self) -> None:
        """Write the turns that this process completed, and now and then those of other processes."""
        if self._summaries:
            self._summaries.keep_up()

    def end_session(self, agent_id: str) -> None:
        """Write the turns of an agent that fell asleep. What cannot be written now is found the next time."""
        self.touched(agent_id)
        with _logged():
            self.keep_up()

    def write_all(self, *, wait: bool = True) -> int:
        """Write every completed turn, of whichever process. Return how many there were."""
        return self._summaries.write_all(wait=wait) if self._summaries else 0

    def compact(self, *, force: bool = False) -> CompactionResult:
        """Compact MEMORY.md if it is over its limits; with `force`, also if it is not or if compaction is off."""
        if not (force or self._settings.memory_compaction_enabled):
            from lifelong.journal.compaction import CompactionResult

            return CompactionResult(
                False, "Compaction is off: set continuity.memory_compaction_enabled, or force it."
            )
        return self._extract_and_compact(force=force)

    def close(self) -> None:
        """Write what is left. What cannot be written now is found the next time."""
        with _logged():
            self.write_all(wait=False)

    # Reading

    def records(self) -> list[JournalRecord]:
        """Return the records of MEMORY.md, in its order."""
        return self._records(self.files.memory)

    def day(self, day: date) -> list[JournalRecord]:
        """Return the records of the file of a day, in its order."""
        if type(day) is not date:  # a datetime has a zone of its own
            raise InputError(f"{day!r:.200} is not a day. Give a date, e.g. date(2026, 3, 5).")
        return self._records(self.files.day(day))

    def records_of_days(self, since: date | None = None) -> list[JournalRecord]:
        """Return the records of all day files, or of those from the day before `since` on (a day begins earlier in
        some zones than in others), in their order."""
        first = (since - timedelta(days=1)).isoformat() if since and since > date.min else ""
        return [record for path in self.files.days() if path.stem >= first for record in self._records(path)]

    def recent_records(self) -> list[JournalRecord]:
        """Return the records of MEMORY.md and of the files of today and yesterday, some twice; of long files
        the last ones, from which a context takes its lines."""
        from lifelong.journal.session_context import recent_lines

        self.keep_up()
        today = self._clock().astimezone(self.zone).date()
        files = recent_lines(self.files, today, self._settings.session_memory_cap)
        return [line.record for lines in files for line in lines if line.record]

    def long_memory(self) -> str:
        """Return the text of LONGMEMORY.md; empty where there is none."""
        return self.files.read(self.files.long_memory).decode("utf-8", "replace")

    def context(
        self,
        tokens: int | None = None,
        reserved: int = 0,
        *,
        without: Set[str] = frozenset(),
        without_sessions: Set[str] = frozenset(),
        remark: Remark | None = None,
    ) -> str:
        """Return what opens a session: LONGMEMORY.md, MEMORY.md, today, yesterday, within `session_memory_cap` or
        so many tokens; empty where the journal is off. It does not wait: turns that another process is writing are
        not in it. `reserved` is left free for others, in characters or in thirds of a token; the records `without`
        and those of the sessions `without_sessions` are left out; `remark` returns what to add to a record's
        line."""
        from lifelong.journal.session_context import CHARS_PER_TOKEN, session_context

        if tokens is not None and (type(tokens) is not int or tokens < 0):
            raise InputError(f"The budget cannot be {tokens!r:.200}. Give a number of tokens, or none.")
        if not self.enabled:
            return ""
        self.keep_up()
        return session_context(
            self._files,
            self.zone,
            self._clock(),
            cap=max(0, self._settings.session_memory_cap - reserved),
            include_long_memory=self._settings.include_long_memory_in_session,
            long_memory_cap=self._settings.long_memory_max_chars,
            tokens=None if tokens is None else max(0, tokens - -(-reserved // CHARS_PER_TOKEN)),
            without=self.ended() | without,
            without_sessions=without_sessions,
            remark=remark,
        )

    def status_notes(self) -> list[str]:
        """Return what a person should know of the journal, a sentence each."""
        notes = [self._summaries.elsewhere, self._summaries.error] if self._summaries else []
        notes += [schedule.error for schedule in self.schedules]
        if self._settings.memory_compaction_enabled:
            try:
                notes += self._compaction.status_notes()
            except LifelongError as error:
                notes.append(str(error))
        return [note for note in notes if note]

    # Compaction, and when it runs

    @cached_property
    def _compaction(self) -> Compaction:
        from lifelong.journal.compaction import Compaction, CompactionLimits

        settings = self._settings
        limits = CompactionLimits(
            settings.memory_compaction_max_records,
            settings.memory_compaction_max_chars,
            timedelta(days=settings.memory_compaction_min_age_days),
            settings.long_memory_max_chars,
        )
        return Compaction(
            *(self._files, self._clock, self.zone, limits),
            owner=f"user {self._owner}, process {os.getpid()}",
            query=self._summarizer(),
            flush=self.write_all if settings.flush_pre_compaction else None,
            resync=self._resync,
            ended=self.ended,
        )

    def _extract_and_compact(self, *, force: bool = False) -> CompactionResult:
        """Compact after extracting experiences. If that fails, nothing is compacted: records that are gone could
        never become experiences."""
        if self._extract:
            self._extract()
        return self._compaction.run(force=force)

    def _open_schedules(self, database: Database) -> list[Schedule]:
        """Return the schedules of compaction and of extraction, which comes before each compaction or has times of
        its own. A wrong cron expression is an error also where nothing runs by it."""
        from lifelong.journal.rows import JournalRows
        from lifelong.journal.schedule import Schedule, Timetable

        settings, owner = self._settings, self._owner
        interval = timedelta(milliseconds=settings.memory_compaction_interval_ms)

        def times(cron: str) -> Timetable:
            return Timetable(self.zone, cron, interval, seed=str(self._files.root))

        def schedule(name: str, job: Callable[[], object], timetable: Timetable, row: str) -> Schedule:
            return Schedule(
                *(name, job, timetable, self._clock),
                lambda: database.read(lambda tx: JournalRows(tx).last_run(owner, row)),
                lambda at: database.write(lambda tx: JournalRows(tx).store_run(owner, row, at)),
            )

        made: list[Schedule] = []
        shared = times(settings.memory_compaction_schedule_cron)
        own = times(settings.experience_extraction_cron) if settings.experience_extraction_cron else None
        if settings.memory_compaction_enabled:
            made.append(schedule("compaction", self._extract_and_compact, shared, "compaction"))
        elif self._extract and not own:
            made.append(schedule("extraction", self._extract, shared, "compaction"))
        if self._extract and own:
            made.append(schedule("extraction", self._extract, own, "extraction"))
        return made

    # The files

    def _records(self, path: Path) -> list[JournalRecord]:
        return [line.record for line in parse(self.files.read(path)) if line.record]

    def _validate(self, record: JournalRecord) -> JournalRecord:
        """Return the record as it is written."""
        if not isinstance(record, JournalRecord):
            raise InputError(f"{record!r:.200} is not a record of the journal. Pass a JournalRecord.")
        text = validate_text(record.text, "The text", MAX_TEXT_CHARS).strip()
        if not text:
            raise InputError("There is nothing to remember. Give a text.")
        if record.sensitivity not in SENSITIVITIES:
            raise InputError(
                f"Unknown sensitivity {record.sensitivity!r:.200}. Use one of: {', '.join(SENSITIVITIES)}."
            )
        moment = validate_time(record.timestamp or self._clock(), "The record's time")
        safe = redact(text)
        if has_secret(joined := " ".join(safe.split())):  # a line break may split it
            safe = redact(joined)
        return JournalRecord(
            id=validate_name(record.id, "The record's id"),
            session_id=redact(validate_text(record.session_id, "The session's id", 1_000)),
            category=_validate_category(record.category),
            text=safe,
            source_channel=redact(validate_text(record.source_channel, "The source", 1_000)),
            confidence=_validate_confidence(record.confidence),
            timestamp=moment.astimezone(self.zone),
            sensitivity="secret" if safe != text else record.sensitivity,
            approved_by=redact(validate_text(record.approved_by, "The approver", 1_000)),
        )

    def _write(self, records: Sequence[JournalRecord], *, check_known: bool) -> int:
        """Write records and return how many were new. With `check_known`, they may have been written before, by a
        process that was stopped in the middle."""
        days: dict[Path, list[JournalRecord]] = {}
        for record in records:
            day = (record.timestamp or self._clock()).date()
            days.setdefault(self.files.day(day), []).append(record)
        self._check_in_place()
        with self.files.writing():
            if check_known:
                days = {path: self._unknown(path, written) for path, written in days.items()}
            new = [record for written in days.values() for record in written]
            if not new:
                return 0
            # MEMORY.md first: day files are never rewritten, so a record in its day file is in both.
            memory = self._unknown(self.files.memory, new) if check_known else new
            added: list[tuple[Path, int]] = []
            try:
                added.append(self._add(self.files.memory, memory, MEMORY_HEADER))
                for path, written in days.items():
                    added.append(self._add(path, written, f"# {path.stem}\n\n"))
            except JournalError:
                self.files.cut(*added)
                raise
            self._roll()
        return len(new)

    def _add(self, path: Path, records: Sequence[JournalRecord], header: str) -> tuple[Path, int]:
        return path, self.files.append(path, encode("".join(map(render, records))), header)

    def _unknown(self, path: Path, records: Sequence[JournalRecord]) -> list[JournalRecord]:
        """Return the records that are not in the file."""
        data = self.files.read(path)
        ids = [encode(json.dumps(record.id, ensure_ascii=False)) for record in records]
        # One id is looked for in a fraction of the time that it takes to read all of a long file.
        if ids[0] not in data if len(ids) == 1 else set(ids).isdisjoint(_ID.findall(data)):
            return list(records)
        known = {record.id for record in self._records(path)}
        return [record for record in records if record.id not in known]

    def _roll(self) -> None:
        """Move the oldest records to the archive when there are too many, some more than necessary, so that the
        file is not rewritten at each append."""
        if self._window == RollingWindow():
            return
        try:
            data = self.files.read(self.files.memory)
            if self._window.holds(data.count(b"- {"), len(data)):
                return
            dropped, kept = _roll_out(parse(data), self._window)
            if dropped:
                self.files.archive(ROLLED_FILE, join(dropped))
                self.files.replace(self.files.memory, join(kept), data)
        except JournalError as error:
            log.warning("MEMORY.md is longer than it should be, nothing is lost: %s", error)


@contextmanager
def _logged() -> Iterator[None]:
    try:
        yield
    except LifelongError as error:
        log.error("turns are not in the journal yet: %s", error)


def _roll_out(lines: Sequence[FileLine], window: RollingWindow) -> tuple[list[FileLine], list[FileLine]]:
    """Return the records that leave MEMORY.md, and every line that stays. The newest record always stays."""
    left, chars = sum(1 for line in lines if line.record), sum(len(line.raw) for line in lines)
    if window.holds(left, chars):
        return [], list(lines)
    dropped: list[FileLine] = []
    kept: list[FileLine] = []
    for line in lines:
        if line.record is None or left == 1 or window.holds(left, chars, share=0.9):
            kept.append(line)
        else:
            dropped.append(line)
            left, chars = left - 1, chars - len(line.raw)
    return dropped, kept


def _validate_category(value: object) -> str:
    if isinstance(value, str) and _CATEGORY.fullmatch(value):
        return value
    raise InputError(
        f"{value!r:.200} cannot be a category. Use 1 to 64 letters, digits, '_' and '-', e.g. 'learned'; "
        "'compaction' is reserved."
    )


def _validate_confidence(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise InputError(f"The confidence cannot be {value!r:.200}. Give a number from 0 to 1.")
