"""When background work of a user runs: by a cron expression or at an interval.

The time of the last run is stored, so that runs that were missed while no process was up are made up for by one.
Two processes may find the same run due; a job that must run alone takes a lock.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from hashlib import sha256

from lifelong.errors import ConfigError, LifelongError
from lifelong.types import Clock

log = logging.getLogger("lifelong.journal")

MAX_JITTER = timedelta(minutes=5)


class Timetable:
    """Calculate the times of runs, in a time zone. So that homes with the same times do not all run at once, each
    runs later by up to `jitter` or a tenth of the time between two runs; the delay follows from `seed`."""

    def __init__(
        self,
        zone: tzinfo,
        cron: str = "",
        interval: timedelta = timedelta(),
        jitter: timedelta = MAX_JITTER,
        seed: str = "",
    ) -> None:
        self._zone = zone
        self._cron = cron.strip()
        self._interval = interval
        self._jitter = jitter
        self._jitter_share = int.from_bytes(sha256(seed.encode()).digest()[:4]) / 2**32
        if not self._cron and self._interval <= timedelta():
            raise ConfigError("A schedule needs a cron expression, or an interval above zero.")
        self.next_run(datetime(2026, 1, 1, tzinfo=zone))  # a wrong expression is an error at once

    def next_run(self, last: datetime) -> datetime:
        """Return when the first run after `last` is due."""
        if not self._cron:
            return last.astimezone(UTC) + self._interval + self._delay(self._interval)
        from cronsim import CronSim, CronSimError  # most homes have no cron expression

        try:
            times = CronSim(self._cron, last.astimezone(self._zone))
            first, second = [next(times).astimezone(UTC) for _ in range(2)]  # in a zone, an hour may come twice
        except (CronSimError, StopIteration) as error:
            raise ConfigError(
                f"{self._cron!r} is not a cron expression, or never comes true ({error}). Write one like "
                "'0 3 * * *': every night at three."
            ) from error
        return first + self._delay(second - first)

    def _delay(self, between: timedelta) -> timedelta:
        return min(self._jitter, between / 10) * self._jitter_share


class Schedule:
    """Run a job when it is due. `background.py` calls `tick` from its thread; two runs never overlap.

    `last_run` returns when it ran last, `ran` stores it; before the first run, that is when the schedule began."""

    def __init__(
        self,
        name: str,
        job: Callable[[], object],
        timetable: Timetable,
        clock: Clock,
        last_run: Callable[[], datetime | None],
        ran: Callable[[datetime], object],
    ) -> None:
        self._name = name
        self._job = job
        self._timetable = timetable
        self._clock = clock
        self._last_run = last_run
        self._ran = ran
        self._running = threading.Lock()
        self.error = ""
        """What went wrong when it ran last; empty where nothing did."""

    def next_run(self) -> datetime:
        """Return when it is due: in the past, if it is overdue. A last run in the future (the clock was ahead) is
        replaced by now."""
        now = self._clock()
        last = self._last_run()
        if last is None or last > now:
            self._ran(last := now)
        return self._timetable.next_run(last)

    def tick(self) -> float:
        """Run if it is due, in the calling thread. Return how many seconds there are until the next run."""
        with self._running:
            if self.next_run() <= self._clock():
                began = self._clock()
                self._run()
                self._ran(began)
        return (self.next_run() - self._clock()).total_seconds()

    def _run(self) -> None:
        self.error = ""
        try:
            self._job()
        except Exception as error:
            self.error = f"The scheduled {self._name} failed: {error}"
            log.error(
                "the scheduled %s failed; it runs again when it is due: %s",
                *(self._name, error),
                exc_info=not isinstance(error, LifelongError),
            )
