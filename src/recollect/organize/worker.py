"""What runs in the background: a tick at a steady pace, each to its end before the next."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from recollect.errors import RecollectError

log = logging.getLogger("recollect.organize")


class Worker:
    """Calls `tick` every `interval` seconds in a thread of its own.

    Ticks never overlap. `start` is idempotent. `stop` waits for the running tick, and none follows it,
    also if `start` comes too late. A tick that fails is logged, and the next one comes all the same.
    """

    def __init__(self, tick: Callable[[], object], interval: float) -> None:
        self._tick = tick
        self._interval = interval
        self._gate = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        with self._gate:
            if not self._thread and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._loop, name="recollect-worker", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        with self._gate:
            self._stopping.set()
            if self._thread:
                self._thread.join()
                self._thread = None

    def _loop(self) -> None:
        while not self._stopping.is_set():
            try:
                self._tick()
            except RecollectError as error:
                log.error("a tick failed and will be tried again in %s s: %s", self._interval, error)
            except Exception:
                log.exception("a tick failed in a way nobody foresaw; the next one comes in %s s", self._interval)
            self._stopping.wait(self._interval)
