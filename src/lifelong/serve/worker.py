"""`lifelong worker`: the background work in a process of its own."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from queue import Empty, SimpleQueue
from typing import Any

from rich.console import Console
from rich.markup import escape

from lifelong.errors import LifelongError
from lifelong.memory import Store
from lifelong.organize.health import Health
from lifelong.organize.worker import WorkDone
from lifelong.serve.hook.answer import store_queued
from lifelong.serve.hook.endpoint import answering_hooks
from lifelong.serve.terminal import counted, interrupts, show_log

log = logging.getLogger("lifelong.serve")

REPORT_EVERY = 5.0  # seconds between two reports to the server beside


def run(store: Store, *, once: bool, as_json: bool, beside: bool = False) -> dict[str, Any]:
    """Work until SIGINT or SIGTERM (or, `once`, until nothing is due). The running piece of work is finished
    first; one that is killed loses nothing, since another worker takes over what it held. `beside` a server, only
    warnings are shown, what comes through stdin wakes the work, and the work also ends when stdin closes, which it
    does however the server ends."""
    show_log(Console(stderr=True, quiet=as_json), logging.WARNING if beside else logging.INFO, "lifelong")
    console = Console(stderr=True, quiet=as_json or beside)
    if once:
        store_queued(store)
    done = store.organize() if once else _work_until_signal(store, console, beside=beside)
    return _summary(store.user().admin.health(), done.finished, console)


def report(notes: Mapping[str, Sequence[str]]) -> None:
    """Send the server what it should say in the health of each user (under "": of all), as a line of JSON."""
    with suppress(OSError):  # the end of the server is noticed through stdin
        os.write(sys.stdout.fileno(), f"{json.dumps(notes)}\n".encode())


def _work_until_signal(store: Store, console: Console, *, beside: bool) -> WorkDone:
    """Work until a signal comes. A second one ends it at once, which loses nothing."""
    with interrupts(signal.SIGINT, signal.SIGTERM) as over:
        if beside:
            threading.Thread(target=_follow_stdin, args=(store, over), name="lifelong-beside", daemon=True).start()
        with nullcontext() if beside else answering_hooks(store):
            return _work(store, console, over, beside=beside)


def _follow_stdin(store: Store, over: SimpleQueue[int]) -> None:
    """Wake the work for what the server writes, and end it when the server closes the pipe."""
    while os.read(sys.stdin.fileno(), 4096):
        store.wake()
    over.put(0)


def _work(store: Store, console: Console, over: SimpleQueue[int], *, beside: bool) -> WorkDone:
    console.print(f"[green]●[/] Working on {escape(str(store.home.path))}. Ctrl-C ends it.")
    reported = None
    try:
        store.start()
        while over.empty():
            with suppress(Empty):
                over.get(timeout=REPORT_EVERY)
                break
            if beside and (notes := _status_notes(store)) != reported:
                report(reported := notes)
    finally:
        console.print("Finishing what is under way … Ctrl-C again ends it at once.")
        done = store.stop()
    return done


def _status_notes(store: Store) -> dict[str, list[str]]:
    """Return the status notes by user; where the database cannot be read, the reason, for every user."""
    try:
        names = store.users()
    except LifelongError as error:
        return {"": [str(error)]}
    notes: dict[str, list[str]] = {}
    for name in names:
        try:
            notes[name] = store.user(name).admin.status_notes()
        except LifelongError as error:
            notes[name] = [str(error)]
    return notes


def _summary(health: Health, done: int, console: Console) -> dict[str, Any]:
    colour = {"green": "green", "yellow": "yellow", "red": "red"}[health.status]
    console.print(
        f"[{colour}]●[/] {counted(done, 'transcript')} organized, {health.waiting} waiting, {health.dead} failed."
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
