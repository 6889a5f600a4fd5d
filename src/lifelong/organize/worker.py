"""The background worker: it runs a round at a steady interval, and at once when something was marked.

A round advances the deadlines that have come, dispatches the marked sessions, and works on the inbox. All state is
in the database, so any number of workers, in any number of processes, share the work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from lifelong.periodic import PeriodicThread
from lifelong.types import Clock


@dataclass(frozen=True, slots=True)
class WorkDone:
    """What was done: transcripts that were dispatched, runs that were finished, and runs that failed."""

    dispatched: int = 0
    finished: int = 0
    failed: int = 0

    def __add__(self, other: WorkDone) -> WorkDone:
        return WorkDone(
            self.dispatched + other.dispatched, self.finished + other.finished, self.failed + other.failed
        )


Round = Callable[[datetime, Callable[[], bool]], WorkDone]
"""Does everything that is due, once. The second argument says, between two pieces of work, whether to stop."""


class Worker(PeriodicThread):
    """Runs a round every `interval` seconds in a thread of its own, and at once when it is woken. Rounds never
    overlap. `done` is the total of what its thread did."""

    def __init__(self, round_: Round, clock: Clock, interval: float) -> None:
        super().__init__("worker", self._tick, interval)
        self._round = round_
        self._clock = clock
        self._interval = interval
        self._running = threading.Lock()
        self.done = WorkDone()

    def run_until_idle(self) -> WorkDone:
        """Run rounds in the calling thread until nothing is due any more. This works also after `stop`."""
        total = WorkDone()
        while (done := self._run_round(lambda: False)) != WorkDone():
            total += done
        return total

    def _run_round(self, stopping: Callable[[], bool]) -> WorkDone:
        with self._running:
            return self._round(self._clock(), stopping)

    def _tick(self) -> float:
        done = self._run_round(self.stopping)
        self.done += done
        return self._interval if done == WorkDone() else 0.0  # there may be more
