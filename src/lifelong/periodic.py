"""Work in a thread of its own: again and again, and at once when it is woken."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue

from lifelong.errors import LifelongError

log = logging.getLogger("lifelong")


class PeriodicThread:
    """Calls `step` until it is stopped; it returns how many seconds to wait before the next call. One that fails
    is logged, and the next one comes after `after_failure` seconds; until one succeeds, `error` says why.

    `start` is idempotent, and starts again after `stop`. `stop` waits for the running step, and none follows it;
    `close` is a `stop` after which `start` does nothing.
    """

    def __init__(self, name: str, step: Callable[[], float], after_failure: float) -> None:
        self._name = name
        self._step = step
        self._after_failure = after_failure
        self._gate = threading.Lock()
        self._wakes: SimpleQueue[None] = SimpleQueue()  # an Event would not outlive an interrupt within set()
        self._stopping = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None
        self.error = ""

    @property
    def running(self) -> bool:
        return self._thread is not None

    def stopping(self) -> bool:
        return self._stopping.is_set()

    def wake(self) -> None:
        """There is something new: do not wait any longer."""
        if self._wakes.empty():
            self._wakes.put(None)

    def start(self) -> None:
        with self._gate:
            if not self._thread and not self._closed:
                self._stopping.clear()
                self._thread = threading.Thread(target=self._loop, name=f"lifelong-{self._name}", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        with self._gate:
            self._stopping.set()
            self._wakes.put(None)
            if self._thread:
                self._thread.join()
                self._thread = None

    def close(self) -> None:
        self._closed = True
        self.stop()

    def _loop(self) -> None:
        while not self._stopping.is_set():
            wait = self._after_failure
            try:
                wait = self._step()
                self.error = ""
            except LifelongError as error:
                self.error = f"The {self._name} fails, and tries again: {error}"
                log.error("the %s failed and is tried again in %s s: %s", self._name, wait, error)
            except Exception as error:
                self.error = f"The {self._name} fails, and tries again: {type(error).__name__}: {error}"
                log.exception("unexpected error in the %s; it is tried again in %s s", self._name, wait)
            if wait > 0:
                with suppress(Empty):
                    self._wakes.get(timeout=wait)
