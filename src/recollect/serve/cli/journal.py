"""`recollect journal`: MEMORY.md, the days' pages and LONGMEMORY.md."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated

import typer

from recollect.serve.cli.options import (
    DEFAULT_HOME,
    DEFAULT_PROFILE,
    HomeOption,
    JsonOption,
    LimitOption,
    ProfileOption,
    Sensitivity,
    TextArgument,
    existing,
    given,
    noun,
    time_option,
)
from recollect.serve.cli.output import console, done, print_json, print_text, rows, under_way

group = noun("journal", "The journal: show it, write something down, compact it.")

HIDDEN = "[a secret; it stands in MEMORY.md]"


@group.command()
def show(
    day: Annotated[datetime | None, time_option("--day", "The page of one day.")] = None,
    long: Annotated[bool, typer.Option("--long", help="LONGMEMORY.md: what was compacted.")] = False,
    limit: LimitOption = 50,
    home: HomeOption = DEFAULT_HOME,
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """Show the newest records of MEMORY.md, of a day, or LONGMEMORY.md.

    Example: recollect journal show --day 2026-03-05
    """
    with existing(home, profile) as memory:
        journal = memory.journal
        text = journal.long_memory() if long else ""
        found = [] if long else journal.day(day.date()) if day else journal.records()
    records = [replace(one, text=HIDDEN) if one.is_secret else one for one in found[-limit:]]
    if as_json:
        print_json({"long_memory": text} if long else records)
    elif long:
        print_text(text or "Nothing was compacted yet. See: recollect journal compact --help")
    else:
        cells = [(one.timestamp, one.category, one.text, one.sensitivity) for one in records]
        empty = 'Nothing is written there yet. See: recollect journal remember "…"'
        rows(("at", "category", "written down", "sensitivity"), cells, empty)


@group.command()
def remember(
    text: TextArgument = None,
    category: Annotated[str, typer.Option(help="What it is: note, learned, decision, user-preference …")] = "note",
    sensitivity: Annotated[Sensitivity, typer.Option(help="Who may see it.")] = "operational",
    home: HomeOption = DEFAULT_HOME,
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """Write something down in the journal.

    Example: recollect journal remember "Deploys happen on Tuesdays." --category decision
    """
    with existing(home, profile, new=True) as memory:
        record = memory.journal.remember(given(text), category, sensitivity, source_channel="cli")
    if as_json:
        print_json(replace(record, text=HIDDEN) if record.is_secret else record)
    else:
        done("Written down." if not record.is_secret else "Written down, and marked as a secret.")


@group.command()
def compact(
    force: Annotated[bool, typer.Option("--force", help="Also where it is not over its limits.")] = False,
    home: HomeOption = DEFAULT_HOME,
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """Merge the old records of MEMORY.md into LONGMEMORY.md. What leaves is in the archive, word for word.

    Example: recollect journal compact --force
    """
    with existing(home, profile) as memory, under_way("Compacting the journal …", quiet=as_json):
        result = memory.compact_journal(force=force)
    if as_json:
        print_json(result)
    elif result.ran:
        done(
            f"{result.compacted} of {result.records_before} records were compacted; MEMORY.md went from "
            f"{result.chars_before:,} to {result.chars_after:,} characters."
        )
    else:
        console().print(f"Nothing was compacted: {result.reason}.".replace("..", "."), markup=False)
