"""`recollect notes`: what a worker keeps from job to job."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.serve.cli.options import (
    DEFAULT_HOME,
    DEFAULT_PROFILE,
    HomeOption,
    JsonOption,
    ProfileOption,
    TextArgument,
    existing,
    given,
    noun,
)
from recollect.serve.cli.output import done, print_json, print_text, rows

group = noun("notes", "Workers' notes: who keeps some, what they say, a new one.")

WorkerArgument = Annotated[str, typer.Argument(help="The worker's name.")]


@group.command(name="list")
def list_(
    home: HomeOption = DEFAULT_HOME, profile: ProfileOption = DEFAULT_PROFILE, as_json: JsonOption = False
) -> None:
    """List the workers that keep notes.

    Example: recollect notes list
    """
    with existing(home, profile) as memory:
        found = [{"worker": name, "bytes": memory.notes(name).size()} for name in memory.workers()]
    if as_json:
        print_json(found)
    else:
        empty = 'No worker keeps notes yet. See: recollect notes store tester suite "…"'
        rows(("worker", "bytes"), [tuple(one.values()) for one in found], empty)


@group.command()
def show(
    worker: WorkerArgument,
    home: HomeOption = DEFAULT_HOME,
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """Show a worker's notes, the newest first, without secrets.

    Example: recollect notes show tester
    """
    with existing(home, profile) as memory:
        text = memory.notes(worker).load()
    if as_json:
        print_json({"worker": worker, "notes": text})
    else:
        print_text(text or f"{worker} keeps no notes. See: recollect notes list")


@group.command()
def store(
    worker: WorkerArgument,
    key: Annotated[str, typer.Argument(help="The note's name. An earlier one of that name is replaced.")],
    text: TextArgument = None,
    home: HomeOption = DEFAULT_HOME,
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """Keep a note for a worker.

    Example: recollect notes store tester suite "The whole suite takes seven minutes."
    """
    with existing(home, profile, new=True) as memory:
        memory.notes(worker).store(key, given(text))
    if as_json:
        print_json({"worker": worker, "key": key})
    else:
        done(f"{worker} keeps the note {key}.")
