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

from lifelong.background import Background
from lifelong.types import Clock


@dataclass(frozen=True, slots=True)
class Processed:
    """What a tick did: transcripts handed over, runs that were finished, and runs that failed."""

    handed_over: int = 0
    finished: int = 0
    failed: int = 0

    def __add__(self, other: Processed) -> Processed:
        return Processed(
            self.handed_over + other.handed_over, self.finished + other.finished, self.failed + other.failed
        )


Round = Callable[[datetime, Callable[[], bool]], Processed]
"""Does everything that is due, once. The second argument is asked, between two pieces of work, whether to stop."""


class Worker(Background):
    """Runs a round every `interval` seconds in a thread of its own, and at once when it is woken. Rounds never
    overlap. `done` is what its thread did in all."""

    def __init__(self, round_: Round, clock: Clock, interval: float) -> None:
        super().__init__("worker", self._tick, interval)
        self._round = round_
        self._clock = clock
        self._interval = interval
        self._ticking = threading.Lock()
        self.done = Processed()

    def run_dry(self) -> Processed:
        """Rounds, in the calling thread, until nothing is due any more. It works also when stopped."""
        total = Processed()
        while (done := self._once(lambda: False)) != Processed():
            total += done
        return total

    def _once(self, stopping: Callable[[], bool]) -> Processed:
        with self._ticking:
            return self._round(self._clock(), stopping)

    def _tick(self) -> float:
        done = self._once(self.stopping)
        self.done += done
        return self._interval if done == Processed() else 0.0  # there may be more
