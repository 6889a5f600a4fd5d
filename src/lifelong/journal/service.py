"""The journal of one user, put together: its pages, the summaries of turns, compaction and when it runs.

What is off makes no file and starts no thread.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Set
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from lifelong.errors import ConfigError, InputError, LifelongError
from lifelong.home import Home
from lifelong.journal.files import JournalFiles
from lifelong.journal.journal import Journal, Window
from lifelong.journal.progress import Progress
from lifelong.journal.schedule import Schedule, Timetable
from lifelong.journal.session_context import TOKEN, session_context
from lifelong.journal.turn_summaries import Summaries
from lifelong.storage.base import Database
from lifelong.types import Clock

if TYPE_CHECKING:
    from lifelong.journal.compaction import Compaction, Result
    from lifelong.journal.compaction_plan import Summarize
    from lifelong.settings import ContinuitySettings

log = logging.getLogger("lifelong.journal")


class JournalService(Journal):
    """Keep one user's journal: everything that the section `[continuity]` of the settings switches on or off.
    `summarize` gives the model that may summarize, if any; `extract` makes experiences, `ended` gives the ids of
    records that hold no longer, `resync` brings the index up to rewritten files."""

    def __init__(
        self,
        settings: ContinuitySettings,
        home: Home,
        user: str,
        database: Database,
        clock: Clock,
        *,
        summarize: Callable[[], Summarize | None],
        extract: Callable[[], object] | None,
        ended: Callable[[], Set[str]],
        resync: Callable[[], object],
    ) -> None:
        files = JournalFiles(home.user_folder(user), settings.long_memory_path, settings.memory_archive_path)
        window = Window(settings.memory_max_records, settings.memory_max_chars)
        super().__init__(files, clock, ZoneInfo(settings.time_zone), window)
        self._settings = settings
        self._extract = extract
        self.ended = ended
        self._summaries: Summaries | None = None
        if settings.journal_enabled:
            self._summaries = Summaries(database, user, self, clock)
        self._summarize = summarize
        self._resync = resync
        self._lock_owner = f"user {user}, process {os.getpid()}"
        self.schedules = self._open_schedules(database, f"{home.path}/{user}", user)

    @cached_property
    def _compaction(self) -> Compaction:
        from lifelong.journal.compaction import Compaction  # takes a while, and few processes compact
        from lifelong.journal.compaction_plan import Limits

        settings = self._settings
        limits = Limits(
            settings.memory_compaction_max_records,
            settings.memory_compaction_max_chars,
            timedelta(days=settings.memory_compaction_min_age_days),
            settings.long_memory_max_chars,
        )
        return Compaction(
            *(self._files, self._clock, self.zone, limits),
            owner=self._lock_owner,
            summarize=self._summarize(),
            flush=self.write_all if settings.flush_pre_compaction else None,
            resync=self._resync,
            ended=self.ended,
        )

    def _open_schedules(self, database: Database, seed: str, user: str) -> list[Schedule]:
        """When to extract and to compact. Extraction comes before each compaction, and at times of its own. A cron
        expression that is wrong is said also where nothing would run by it."""
        settings = self._settings
        interval = timedelta(milliseconds=settings.memory_compaction_interval_ms)

        def times(cron: str) -> Timetable:
            return Timetable(self.zone, cron, interval, seed=seed)

        def schedule(name: str, job: Callable[[], object], timetable: Timetable, row: str) -> Schedule:
            return Schedule(
                *(name, job, timetable, self._clock),
                lambda: database.read(lambda tx: Progress(tx).last_run(user, row)),
                lambda at: database.write(lambda tx: Progress(tx).ran(user, row, at)),
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

    @property
    def enabled(self) -> bool:
        """Whether turns are written down."""
        return self._settings.journal_enabled

    @property
    def files(self) -> JournalFiles:
        """Return the files; raise `ConfigError` where the journal is off."""
        self.check_enabled()
        return self._files

    def check_enabled(self) -> None:
        """Raise `ConfigError` where the journal is off."""
        if not self.enabled:
            raise ConfigError(
                "The journal is off. Switch it on with journal_enabled = true in the section [continuity] of "
                "lifelong.toml."
            )

    def touched(self, agent_id: str) -> None:
        """Something was said that may complete a turn. Costs nothing."""
        if self._summaries:
            self._summaries.touched(agent_id)

    def keep_up(self) -> None:
        """Write down turns that were completed, of this process at once, of others soon."""
        if self._summaries:
            self._summaries.keep_up()

    def write_all(self, *, wait: bool = True) -> int:
        """Write down every turn that was completed, in whichever process. How many there were."""
        return self._summaries.write_all(wait=wait) if self._summaries else 0

    def compact(self, *, force: bool = False) -> Result:
        """Compact now what is due; with `force`, also where it is off or not needed."""
        if not (force or self._settings.memory_compaction_enabled):
            from lifelong.journal.compaction import Result

            return Result(False, "Compaction is off: set continuity.memory_compaction_enabled, or force it.")
        return self._extract_and_compact(force=force)

    def _extract_and_compact(self, *, force: bool = False) -> Result:
        """Where experiences cannot be extracted, nothing is compacted: what is merged away would never be one."""
        if self._extract:
            self._extract()
        return self._compaction.run(force=force)

    def context(self, tokens: int | None = None, reserved: int = 0) -> str:
        """Return what opens a session: long memory, MEMORY.md, today, yesterday, within `session_memory_cap` or so
        many tokens; empty where the journal is off. It waits for nobody: what another process is writing is not in
        it. `reserved` is room, in characters or in thirds of a token, that is left for others."""
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
            long_cap=self._settings.long_memory_max_chars,
            tokens=None if tokens is None else max(0, tokens - -(-reserved // TOKEN)),
            ended=self.ended(),
        )

    def status_notes(self) -> list[str]:
        """A sentence for each thing that a person should know of."""
        found = [self._summaries.elsewhere, self._summaries.error] if self._summaries else []
        found += [schedule.error for schedule in self.schedules]
        if self._settings.memory_compaction_enabled:
            try:
                found.append(self._compaction.remark())
            except LifelongError as error:
                found.append(str(error))
        return [remark for remark in found if remark]

    def close(self) -> None:
        """Write down what is left. What cannot be written is found the next time."""
        try:
            self.write_all(wait=False)
        except LifelongError as error:
            log.error("turns are not in the journal yet: %s", error)
