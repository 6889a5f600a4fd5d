"""Signals that end a work: waited for, since one that is raised wherever it comes may be lost in there."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType
from typing import Any


@contextmanager
def interrupts(*numbers: int) -> Iterator[SimpleQueue[int]]:
    """Where the first of these signals is put. A second one does what it did before."""
    over: SimpleQueue[int] = SimpleQueue()  # unlike an Event's set, its put may interrupt its get
    before: dict[int, Any] = {}

    def stop(number: int, frame: FrameType | None) -> None:
        over.put(number)
        restore()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    try:
        for number in numbers:
            before[number] = signal.getsignal(number)
            signal.signal(number, stop)
        yield over
    finally:
        restore()
