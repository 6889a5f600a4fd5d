"""`recollect worker`: the background work in a process of its own."""

from __future__ import annotations

import logging
import signal
import threading
from types import FrameType
from typing import Any

from rich.console import Console
from rich.logging import RichHandler
from rich.markup import escape

from recollect.memory import Memory
from recollect.types import InboxItem

LAST = 1_000  # items that the sum at the end looks back at


def run(memory: Memory, *, once: bool, as_json: bool) -> dict[str, Any]:
    """Work until SIGINT or SIGTERM (or, `once`, until nothing is due). The running piece of work is finished
    first; one that is killed loses nothing, since another worker takes over what it held."""
    console = Console(stderr=True, quiet=as_json)
    _tell(console)
    before = {item.id for item in memory.inbox("done", limit=LAST)}
    if once:
        memory.process()
    else:
        _work_until_told(memory, console)
    done = [item for item in memory.inbox("done", limit=LAST) if item.id not in before]
    return _sum(memory, done, console)


def _work_until_told(memory: Memory, console: Console) -> None:
    over = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        over.set()

    told = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    console.print(f"[green]●[/] Working on {escape(str(memory.home.path))}. Ctrl-C ends it.")
    memory.start()
    try:
        over.wait()
    finally:
        console.print("Finishing what is under way …")
        memory.stop()
        for number, handler in told.items():
            signal.signal(number, handler)


def _tell(console: Console) -> None:
    """Show on the console what the log says."""
    log = logging.getLogger("recollect")
    log.setLevel(logging.INFO)
    log.handlers = [RichHandler(console=console, show_path=False, markup=False)]


def _sum(memory: Memory, done: list[InboxItem], console: Console) -> dict[str, Any]:
    health = memory.health()
    colour = {"green": "green", "yellow": "yellow", "red": "red"}[health.status]
    console.print(
        f"[{colour}]●[/] {len(done)} transcript(s) organized, {health.waiting} waiting, {health.dead} failed."
    )
    for reason in health.reasons:
        console.print(f"  {escape(reason)}")
    return {
        "organized": len(done),
        "waiting": health.waiting,
        "failed": health.dead,
        "health": health.status,
        "reasons": list(health.reasons),
    }
