"""`lifelong journal`: MEMORY.md, the days' pages and LONGMEMORY.md."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from lifelong.serve.cli.options import (
    Answer,
    LimitOption,
    Sensitivity,
    TextArgument,
    command,
    given,
    noun,
    time_option,
)
from lifelong.serve.cli.output import console, done, print_text, rows

if TYPE_CHECKING:
    from lifelong.memory import Memory

group = noun("journal", "The journal: show it, write something down, compact it.")

HIDDEN = "[a secret; it stands in MEMORY.md]"


@command(group)
def show(
    memory: Memory,
    day: Annotated[datetime | None, time_option("--day", "The page of one day.")] = None,
    long: Annotated[bool, typer.Option("--long", help="LONGMEMORY.md: what was compacted.")] = False,
    limit: LimitOption = 50,
) -> Answer:
    """Show the newest records of MEMORY.md, of a day, or LONGMEMORY.md.

    Example: lifelong journal show --day 2026-03-05
    """
    journal = memory.journal
    if long:
        text = journal.long_memory()
        nothing = "Nothing was compacted yet. See: lifelong journal compact --help"
        return Answer({"long_memory": text}, lambda: print_text(text or nothing))
    found = journal.day(day.date()) if day else journal.records()
    records = [replace(one, text=HIDDEN) if one.is_secret else one for one in found[-limit:]]
    cells = [(one.timestamp, one.category, one.text, one.sensitivity) for one in records]
    empty = 'Nothing is written there yet. See: lifelong journal remember "…"'
    return Answer(records, lambda: rows(("at", "category", "written down", "sensitivity"), cells, empty))


@command(group, new=True)
def remember(
    memory: Memory,
    text: TextArgument = None,
    category: Annotated[str, typer.Option(help="What it is: note, learned, decision, user-preference …")] = "note",
    sensitivity: Annotated[Sensitivity, typer.Option(help="Who may see it.")] = "operational",
) -> Answer:
    """Write something down in the journal.

    Example: lifelong journal remember "Deploys happen on Tuesdays." --category decision
    """
    record = memory.journal.remember(given(text), category, sensitivity, source_channel="cli")
    if record.is_secret:
        return Answer(replace(record, text=HIDDEN), lambda: done("Written down, and marked as a secret."))
    return Answer(record, lambda: done("Written down."))


@command(group, during="Compacting the journal …")
def compact(
    memory: Memory,
    force: Annotated[bool, typer.Option("--force", help="Also where it is not over its limits.")] = False,
) -> Answer:
    """Merge the old records of MEMORY.md into LONGMEMORY.md. What leaves is in the archive, word for word.

    Example: lifelong journal compact --force
    """
    result = memory.journal.compact(force=force)
    if not result.ran:
        why = f"Nothing was compacted: {result.reason}.".replace("..", ".")
        return Answer(result, lambda: console().print(why, markup=False))
    told = (
        f"{result.compacted} of {result.records_before} records were compacted; MEMORY.md went from "
        f"{result.chars_before:,} to {result.chars_after:,} characters."
    )
    return Answer(result, lambda: done(told))
