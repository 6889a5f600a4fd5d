"""What runs in the background: a tick at a steady pace, and at once when something was marked.

A tick advances the deadlines that have come, hands over what is marked, and works on what is in the inbox.
Everything it needs to know stands in the database, so any number of workers, in any number of processes,
share the work.
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
    """What a tick did: transcripts handed over, runs that were finished, and runs that failed."""

    handed_over: int = 0
    finished: int = 0
    failed: int = 0

    def __add__(self, other: WorkDone) -> WorkDone:
        return WorkDone(
            self.handed_over + other.handed_over, self.finished + other.finished, self.failed + other.failed
        )


Round = Callable[[datetime, Callable[[], bool]], WorkDone]
"""Does everything that is due, once. The second argument is asked, between two pieces of work, whether to stop."""


class Worker(PeriodicThread):
    """Runs a round every `interval` seconds in a thread of its own, and at once when it is woken. Rounds never
    overlap. `done` is what its thread did in all."""

    def __init__(self, round_: Round, clock: Clock, interval: float) -> None:
        super().__init__("worker", self._tick, interval)
        self._round = round_
        self._clock = clock
        self._interval = interval
        self._ticking = threading.Lock()
        self.done = WorkDone()

    def run_until_idle(self) -> WorkDone:
        """Rounds, in the calling thread, until nothing is due any more. It works also when stopped."""
        total = WorkDone()
        while (done := self._once(lambda: False)) != WorkDone():
            total += done
        return total

    def _once(self, stopping: Callable[[], bool]) -> WorkDone:
        with self._ticking:
            return self._round(self._clock(), stopping)

    def _tick(self) -> float:
        done = self._once(self.stopping)
        self.done += done
        return self._interval if done == WorkDone() else 0.0  # there may be more
