"""When background work of a user runs: by a cron expression or at an interval.

When it ran last is kept by whoever makes the schedule, so a run that was missed while nothing was up is made up
for once. Two processes may find the same run due; a job that must be alone has a lock of its own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from hashlib import sha256

from cronsim import CronSim, CronSimError

from lifelong.errors import ConfigError, LifelongError
from lifelong.periodic import PeriodicThread
from lifelong.types import Clock

log = logging.getLogger("lifelong.journal")

JITTER = timedelta(minutes=5)
LONGEST_WAIT = 300.0  # seconds; a machine may have slept, or its clock been put right
SHORTEST_WAIT = 0.05
AFTER_FAILURE = 60.0  # seconds until it is asked again when it ran last


class Timetable:
    """The times of runs, in a zone. Many homes with the same times run a little later each, by up to `jitter` or a
    tenth of the time between two runs: `seed` decides, and it is always the same for the same home."""

    def __init__(
        self,
        zone: tzinfo,
        cron: str = "",
        interval: timedelta = timedelta(),
        jitter: timedelta = JITTER,
        seed: str = "",
    ) -> None:
        self._zone = zone
        self._cron = cron.strip()
        self._interval = interval
        self._jitter = jitter
        self._part = int.from_bytes(sha256(seed.encode()).digest()[:4]) / 2**32
        if not self._cron and self._interval <= timedelta():
            raise ConfigError("A schedule needs a cron expression, or an interval above zero.")
        try:
            self.next_run(datetime(2026, 1, 1, tzinfo=zone))
        except (CronSimError, StopIteration) as error:
            raise ConfigError(
                f"{cron!r} is no cron expression that comes true ({error}). Write one like '0 3 * * *': every "
                "night at three."
            ) from error

    def next_run(self, last: datetime) -> datetime:
        """The first run after `last`."""
        if not self._cron:
            return last.astimezone(UTC) + self._interval + self._delay(self._interval)
        times = CronSim(self._cron, last.astimezone(self._zone))
        first, second = [next(times).astimezone(UTC) for _ in range(2)]  # in a zone, an hour may come twice
        return first + self._delay(second - first)

    def _delay(self, between: timedelta) -> timedelta:
        return min(self._jitter, between / 10) * self._part


class Schedule:
    """Runs a job when it is due, in a thread of its own.

    Never two runs at a time. `start` is idempotent. `stop` waits for the running job, and nothing follows it, also
    if `start` comes too late. `last_run` says when it ran last, `ran` keeps it; before the first run, that is when
    the schedule began."""

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
        self._background = PeriodicThread("schedule", self._step, AFTER_FAILURE)
        self.error = ""
        """What went wrong when it ran last; empty where nothing did."""

    def next_run(self) -> datetime:
        """When it is due: in the past, if it is overdue. A clock that was ahead is forgotten."""
        now = self._clock()
        last = self._last_run()
        if last is None or last > now:
            self._ran(last := now)
        return self._timetable.next_run(last)

    def tick(self) -> float:
        """Run if it is due, in the calling thread. How many seconds there are until the next run."""
        with self._running:
            if self.next_run() <= self._clock():
                began = self._clock()
                self._run()
                self._ran(began)
        return (self.next_run() - self._clock()).total_seconds()

    def start(self) -> None:
        self._background.start()

    def stop(self) -> None:
        self._background.stop()

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

    def _step(self) -> float:
        return min(max(self.tick(), SHORTEST_WAIT), LONGEST_WAIT)
