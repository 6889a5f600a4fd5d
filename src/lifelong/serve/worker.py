"""`lifelong worker`: the background work in a process of its own."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from queue import Empty, SimpleQueue
from typing import Any

from rich.console import Console
from rich.markup import escape

from lifelong.errors import LifelongError
from lifelong.memory import Memory
from lifelong.organize.health import Health
from lifelong.organize.worker import WorkDone
from lifelong.serve.signals import interrupts
from lifelong.serve.terminal import show_log

log = logging.getLogger("lifelong.serve")

LOOK_AGAIN = 5.0  # seconds, for users that are new


def run(memory: Memory, *, once: bool, as_json: bool, beside: bool = False) -> dict[str, Any]:
    """Work until SIGINT or SIGTERM (or, `once`, until nothing is due). The running piece of work is finished
    first; one that is killed loses nothing, since another worker takes over what it held. `beside` a server, only
    warnings are shown, and the work also ends when stdin closes, which it does however the server ends."""
    show_log(Console(stderr=True, quiet=as_json), logging.WARNING if beside else logging.INFO, "lifelong")
    console = Console(stderr=True, quiet=as_json or beside)
    with ExitStack() as stack:
        every = _Users(memory, stack)
        done = _work_once(every) if once else _work_until_told(every, console, beside=beside)
    return _sum(memory.health(), done.finished, console)


def tell(remarks: Mapping[str, Sequence[str]]) -> None:
    """What the server beside should say in the health of each user (under no name: of all), in one line."""
    with suppress(OSError):  # a server that is gone is noticed elsewhere
        os.write(sys.stdout.fileno(), f"{json.dumps(remarks)}\n".encode())


class _Users:
    """A memory for each user of the home: each has its own journal to keep; what is organized is the whole
    home's."""

    def __init__(self, memory: Memory, stack: ExitStack) -> None:
        self.first = memory
        self.open: dict[str, Memory] = {}
        self._stack = stack

    def new(self) -> Iterator[Memory]:
        """Those of users that were not there before, and the first one's."""
        if not self.open:
            yield self.open.setdefault(self.first.user, self.first)
        for name in self.first.users():
            if name not in self.open:
                self.open[name] = self._stack.enter_context(Memory.open(self.first.home.path, name))
                yield self.open[name]

    def remarks(self) -> dict[str, list[str]]:
        """By user; where the database cannot be asked, why, for all of them."""
        try:
            return {name: memory.remarks() for name, memory in self.open.items()}
        except LifelongError as error:
            return {"": [str(error)]}


def _work_once(every: _Users) -> WorkDone:
    return sum((memory.process() for memory in every.new()), WorkDone())


def _work_until_told(every: _Users, console: Console, *, beside: bool) -> WorkDone:
    """A second signal ends it at once, which loses nothing."""
    with interrupts(signal.SIGINT, signal.SIGTERM) as over:
        if beside:
            threading.Thread(target=_end_with_stdin, args=(over,), name="lifelong-beside", daemon=True).start()
        return _work(every, console, over, beside=beside)


def _end_with_stdin(over: SimpleQueue[int]) -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    over.put(0)


def _work(every: _Users, console: Console, over: SimpleQueue[int], *, beside: bool) -> WorkDone:
    console.print(f"[green]●[/] Working on {escape(str(every.first.home.path))}. Ctrl-C ends it.")
    told_last = None
    try:
        while over.empty():
            try:
                for memory in every.new():
                    memory.start()
            except LifelongError as error:
                log.warning("users that are new cannot be looked for: %s", error)
            with suppress(Empty):
                over.get(timeout=LOOK_AGAIN)
                break
            if beside and (remarks := every.remarks()) != told_last:
                tell(told_last := remarks)
    finally:
        console.print("Finishing what is under way … Ctrl-C again ends it at once.")
        with ThreadPoolExecutor(len(every.open) or 1) as all_at_once:  # else those that wait begin something new
            done = sum(all_at_once.map(Memory.stop, every.open.values()), WorkDone())
    return done


def _sum(health: Health, done: int, console: Console) -> dict[str, Any]:
    colour = {"green": "green", "yellow": "yellow", "red": "red"}[health.status]
    console.print(
        f"[{colour}]●[/] {done} transcript(s) organized, {health.waiting} waiting, {health.dead} failed."
    )
    for reason in health.reasons:
        console.print(f"  {escape(reason)}")
    return {
        "organized": done,
        "waiting": health.waiting,
        "failed": health.dead,
        "health": health.status,
        "reasons": list(health.reasons),
    }
