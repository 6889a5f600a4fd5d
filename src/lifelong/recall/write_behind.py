"""Rows that are written behind a caller's back, several at a time.

A durable commit takes a third of a recall's time, and longer while another process writes, so nobody who only asks
waits for one. Rows wait in memory for a moment and are written together; a kill in that moment costs them, and
nothing else.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from lifelong.errors import LifelongError
from lifelong.periodic import PeriodicThread

log = logging.getLogger("lifelong.recall")

MOST_WAITING = 10_000
GATHER = 0.2  # seconds in which what is noted goes into the same commit
IDLE = 3_600.0  # whoever notes something wakes it
AFTER_FAILURE = 30.0

T = TypeVar("T")


class WriteBehind(Generic[T]):
    """Calls `write` with what was noted, in its order. The first note starts its thread; `close` ends it. `loss`
    says what is amiss with those that could not be written: "recalls are not in the log"."""

    def __init__(self, name: str, loss: str, write: Callable[[Sequence[T]], object]) -> None:
        self._loss = loss
        self._write = write
        self._waiting: deque[T] = deque()
        self._lost = 0
        self._gate = threading.Lock()  # over what waits; held for a moment
        self._writing = threading.Lock()  # over the order of the rows; held for a commit
        self._closing = threading.Event()
        self._background = PeriodicThread(name, self._step, AFTER_FAILURE)

    def note(self, one: T) -> None:
        """Waits for no disk, and never fails."""
        with self._gate:
            self._waiting.append(one)
            self._drop_oldest()
        self._background.start()
        self._background.wake()

    def flush(self) -> None:
        """Write what waits, now. Where that fails, it goes on waiting."""
        with self._writing:
            with self._gate:
                waiting, self._waiting = self._waiting, deque()
                lost, self._lost = self._lost, 0
            if lost:
                log.warning("%d %s: more than %d waited to be written", lost, self._loss, MOST_WAITING)
            if not waiting:
                return
            try:
                self._write(waiting)
            except BaseException:
                with self._gate:
                    self._waiting.extendleft(reversed(waiting))
                    self._drop_oldest()
                raise

    def close(self) -> None:
        """Write what waits, and end the thread."""
        self._closing.set()
        self._background.stop()
        try:
            self.flush()
        except LifelongError as error:
            log.error("%d %s: %s", len(self._waiting), self._loss, error)

    def _step(self) -> float:
        if not self._waiting:
            return IDLE
        self._closing.wait(GATHER)
        self.flush()
        return IDLE

    def _drop_oldest(self) -> None:
        while len(self._waiting) > MOST_WAITING:
            self._waiting.popleft()
            self._lost += 1
