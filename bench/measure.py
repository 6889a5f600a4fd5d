"""Ways to take a time that leave as little as possible to chance: whatever is compared, takes turns."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import median, quantiles

Call = Callable[[], object]

WARM_UP = 20  # calls before the first that counts: statements get prepared, pages read


def medians(calls: Sequence[Call], *, blocks: int, size: int) -> list[float]:
    """The median time of each call in microseconds: a block of one, a block of the next, and round again."""
    return [median(mine) for mine in times(calls, blocks=blocks, size=size)]


def times(calls: Sequence[Call], *, blocks: int, size: int) -> list[list[float]]:
    """The same, every single time."""
    taken: list[list[float]] = [[] for _ in calls]
    for call in calls:
        _block(call, WARM_UP)
    for _ in range(blocks):
        for call, mine in zip(calls, taken, strict=True):
            mine += _block(call, size)
    return taken


def p99(taken: Sequence[float]) -> float:
    return quantiles(taken, n=100)[98]


def rates(crowds: Sequence[tuple[Sequence[Call], float]], *, rounds: int) -> list[tuple[float, ...]]:
    """For each round, how many calls a second each crowd made in the seconds it was given."""
    return [tuple(rate(callers, seconds) for callers, seconds in crowds) for _ in range(rounds)]


def rate(callers: Sequence[Call], seconds: float) -> float:
    """Calls a second of all callers together, each in a thread of its own and at it without a break."""
    ready, over = threading.Barrier(len(callers) + 1), threading.Event()

    def keep_calling(call: Call) -> int:
        ready.wait()
        done = 0
        while not over.is_set():
            call()
            done += not over.is_set()  # what came back too late does not count
        return done

    with ThreadPoolExecutor(len(callers)) as threads:
        counts = [threads.submit(keep_calling, call) for call in callers]
        ready.wait()
        started = time.perf_counter()
        try:
            time.sleep(seconds)
        finally:
            over.set()
        elapsed = time.perf_counter() - started
        return sum(count.result() for count in counts) / elapsed


def _block(call: Call, size: int) -> list[float]:
    now = time.perf_counter_ns
    taken = []
    for _ in range(size):
        started = now()
        call()
        taken.append((now() - started) / 1000)
    return taken
