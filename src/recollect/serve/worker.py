"""`recollect worker`: the background work in a process of its own."""

from __future__ import annotations

import logging
import signal
from collections.abc import Sequence
from contextlib import ExitStack
from queue import SimpleQueue
from types import FrameType
from typing import Any

from rich.console import Console
from rich.logging import RichHandler
from rich.markup import escape

from recollect.memory import Memory
from recollect.organize.health import Health
from recollect.organize.worker import Processed


def run(memory: Memory, *, once: bool, as_json: bool) -> dict[str, Any]:
    """Work until SIGINT or SIGTERM (or, `once`, until nothing is due). The running piece of work is finished
    first; one that is killed loses nothing, since another worker takes over what it held."""
    console = Console(stderr=True, quiet=as_json)
    _tell(console)
    with ExitStack() as stack:
        names = [name for name in memory.profiles() if name != memory.profile]
        every = [memory, *(stack.enter_context(Memory.open(memory.home.path, name)) for name in names)]
        done = _work_once(every) if once else _work_until_told(every, console)
    return _sum(memory.health(), done.finished, console)


def _work_once(every: Sequence[Memory]) -> Processed:
    return sum((memory.process() for memory in every), Processed())


def _work_until_told(every: Sequence[Memory], console: Console) -> Processed:
    """Each profile's memory has its own journal to keep; what is organized is the whole home's."""

    over: SimpleQueue[int] = SimpleQueue()  # unlike an Event's set, its put may interrupt its get

    def stop(number: int, frame: FrameType | None) -> None:
        over.put(number)
        for number, handler in told.items():  # a second one ends it at once, which loses nothing
            signal.signal(number, handler)

    told = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    console.print(f"[green]●[/] Working on {escape(str(every[0].home.path))}. Ctrl-C ends it.")
    for memory in every:
        memory.start()
    try:
        over.get()
    finally:
        console.print("Finishing what is under way … Ctrl-C again ends it at once.")
        done = sum((memory.stop() for memory in every), Processed())
    return done


def _tell(console: Console) -> None:
    """Show on the console what the log says."""
    log = logging.getLogger("recollect")
    log.setLevel(logging.INFO)
    log.handlers = [RichHandler(console=console, show_path=False, markup=False)]


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
