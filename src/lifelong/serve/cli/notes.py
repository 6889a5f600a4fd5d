"""`lifelong notes`: what a worker keeps from job to job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lifelong.serve.cli.options import Answer, TextArgument, command, given, noun
from lifelong.serve.cli.output import done, print_text, rows

if TYPE_CHECKING:
    from lifelong.memory import Memory

group = noun("notes", "Workers' notes: who keeps some, what they say, a new one.")

WorkerArgument = Annotated[str, typer.Argument(help="The worker's name.")]


@command(group, "list")
def list_(memory: Memory) -> Answer:
    """List the workers that keep notes.

    Example: lifelong notes list
    """
    found = [{"worker": name, "bytes": memory.notes.worker(name).size()} for name in memory.notes.workers()]
    empty = 'No worker keeps notes yet. See: lifelong notes store tester suite "…"'
    return Answer(found, lambda: rows(("worker", "bytes"), [tuple(one.values()) for one in found], empty))


@command(group)
def show(memory: Memory, worker: WorkerArgument) -> Answer:
    """Show a worker's notes, the newest first, without secrets.

    Example: lifelong notes show tester
    """
    text = memory.notes.worker(worker).load()
    nothing = f"{worker} keeps no notes. See: lifelong notes list"
    return Answer({"worker": worker, "notes": text}, lambda: print_text(text or nothing))


@command(group, new=True)
def store(
    memory: Memory,
    worker: WorkerArgument,
    key: Annotated[str, typer.Argument(help="The note's name. An earlier one of that name is replaced.")],
    text: TextArgument = None,
) -> Answer:
    """Keep a note for a worker.

    Example: lifelong notes store tester suite "The whole suite takes seven minutes."
    """
    memory.notes.worker(worker).store(key, given(text))
    return Answer({"worker": worker, "key": key}, lambda: done(f"{worker} keeps the note {key}."))
