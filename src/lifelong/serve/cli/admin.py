"""Commands that look after a home: health, checks, costs, the index, backups."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Never

import typer

from lifelong.serve.cli.options import (
    DEFAULT_HOME,
    DEFAULT_USER,
    Answer,
    HomeOption,
    JsonOption,
    LimitOption,
    UserOption,
    command,
    open_memory,
)
from lifelong.serve.terminal import (
    counted,
    in_progress,
    interrupts,
    not_indexed,
    one_line,
    print_done,
    print_json,
    print_problem,
    print_table,
    print_text,
    width,
)

if TYPE_CHECKING:
    from lifelong.memory import Memory

verbs = typer.Typer()

WATCH_SECONDS = 2.0  # between two looks of `health --watch`


@verbs.command()
def health(
    watch: Annotated[bool, typer.Option("--watch", help="Look again every two seconds, until Ctrl-C.")] = False,
    home: HomeOption = DEFAULT_HOME,
    user: UserOption = DEFAULT_USER,
    as_json: JsonOption = False,
) -> None:
    """Show whether all is well, green, yellow or red, and what waits. Exits with 1 on red.

    Example: lifelong health --watch
    """
    with open_memory(home, user) as memory:
        if watch:
            _watch(memory, as_json=as_json)
        found = _look(memory)
    if as_json:
        print_json(found)
    else:
        print_text("\n".join(_health_lines(found)))
    if found["status"] == "red":
        raise typer.Exit(1)


def _look(memory: Memory) -> dict[str, Any]:
    found = memory.admin.health()
    counts = {"marked": found.marked, "waiting": found.waiting, "dead": found.dead, "oldest": found.oldest}
    return {"status": found.status, "reasons": found.reasons, **counts, "unindexed": memory.admin.unindexed()}


def _health_lines(found: dict[str, Any]) -> list[str]:
    return [
        f"● {found['status']}",
        *(f"  {one_line(reason)}" for reason in found["reasons"]),
        f"{counted(found['marked'], 'session')} and {counted(found['waiting'], 'transcript')} wait to be "
        "organized, "
        f"{found['dead']:,} failed for good, {not_indexed(found['unindexed'])}",
    ]


def _watch(memory: Memory, *, as_json: bool) -> Never:
    from queue import Empty

    with interrupts(signal.SIGINT) as over:
        shown = 0
        while over.empty():
            found = _look(memory)
            if as_json:
                print_json(found, compact=True)
            else:
                lines = _health_lines(found)
                sys.stdout.write(f"\x1b[{shown}F\x1b[J" if shown and sys.stdout.isatty() else "")
                print_text("\n".join(lines))
                shown = sum(1 + (len(line) - 1) // width() for line in lines)
            sys.stdout.flush()
            with suppress(Empty):
                over.get(timeout=WATCH_SECONDS)
                break
    raise KeyboardInterrupt


@command(verbs)
def stats(memory: Memory) -> Answer:
    """Show how much there is of everything, and what models cost today.

    Example: lifelong stats
    """
    found = memory.admin.stats()
    items = ", ".join(f"{count:,} {kind}" for kind, count in found.items.items()) or "nothing yet"
    lines = [
        f"agents      {found.agents:,}",
        f"sessions    {found.sessions:,}",
        f"documents   {found.documents:,}",
        f"searchable  {items}",
        f"cost today  {found.cost_today:.4f} USD",
    ]
    return Answer(found, lambda: print_text("\n".join(lines)))


@command(verbs)
def ledger(memory: Memory, limit: LimitOption = 20) -> Answer:
    """Show every call of a model and what it cost, the newest first.

    Example: lifelong ledger --limit 50
    """
    found = memory.admin.ledger(limit)
    cells = [
        (
            *(one.at, one.purpose, one.model, one.state),
            *(one.input_tokens, one.output_tokens, f"{one.cost:.4f}", one.error),
        )
        for one in found
    ]
    columns = ("at", "purpose", "model", "state", "tokens in", "tokens out", "USD", "error")
    none = "No model was called. The rules organizer needs none; name one in lifelong.toml: models.model"
    return Answer(found, lambda: print_table(columns, cells, none))


@verbs.command()
def doctor(home: HomeOption = DEFAULT_HOME, as_json: JsonOption = False) -> None:
    """Check the whole database and the index of every user. Exits with 1 if anything is wrong.

    Example: lifelong doctor --home ~/.lifelong
    """
    from lifelong.home import existing_home
    from lifelong.memory import Store

    problems: list[str] = []
    with Store.open(existing_home(home).path) as store:
        with in_progress("Reading the whole database …", quiet=as_json):
            problems += store.user().admin.check()
        for user in () if problems else store.users():
            with in_progress(f"Reading the index of {user} …", quiet=as_json):
                problems += store.existing_user(user).admin.verify()
        health = None if problems else store.user().admin.health()
    reasons = health.reasons if health else ()
    remarks = [] if health and health.status == "red" else [*reasons]
    problems += [] if remarks else reasons
    if as_json:
        print_json({"sound": not problems, "problems": problems, "remarks": remarks})
    else:
        _print_findings(problems, "The database is sound, the index is complete, and nothing is stuck.", remarks)
    if problems:
        raise typer.Exit(1)


def _print_findings(problems: Sequence[str], well: str, remarks: Sequence[str] = ()) -> None:
    for problem in problems:
        print_problem(problem)
    for remark in remarks:
        print_text(remark)
    if not problems:
        print_done(well)


@command(verbs, during="Reading the whole index …")
def verify(memory: Memory) -> Answer:
    """Compare the search index with what it is made from. Exits with 1 if anything is wrong.

    Example: lifelong verify --user work
    """
    faults = memory.admin.verify()
    return Answer(
        {"sound": not faults, "faults": faults},
        lambda: _print_findings(faults, "The index is complete."),
        code=int(bool(faults)),
    )


@verbs.command()
def rebuild(home: HomeOption = DEFAULT_HOME, as_json: JsonOption = False) -> None:
    """Make the search index again from history, documents and files. Nothing that was stored is touched.

    Example: lifelong rebuild --home ~/.lifelong
    """
    with open_memory(home) as memory:
        left = rebuild_index(memory, quiet=as_json)
        reasons = memory.admin.health().reasons if left else ()
    if as_json:
        print_json({"rebuilt": not left})
    elif left:
        print_done(
            f"The index was rebuilt, but {left:,} items wait for their vectors. {' '.join(reasons)}".strip()
        )
    else:
        print_done("The index was rebuilt.")


def rebuild_index(memory: Memory, *, quiet: bool) -> int:
    """Drop what is derived and make it again. If it is interrupted, a worker or this command continues. Return how
    many items still wait when no more can be done now."""
    memory.admin.rebuild()
    with in_progress("Rebuilding the index …", quiet=quiet):
        while (left := memory.admin.unindexed()) and memory.admin.index():
            pass
    return left


@command(verbs, for_home=True, during="Writing the copy …")
def backup(
    memory: Memory,
    target: Annotated[Path, typer.Argument(help="The file to write. It must not exist yet.")],
) -> Answer:
    """Write a copy of the whole database while work goes on. Files of the home (users/) are not in it.

    Example: lifelong backup ~/backups/memory.db
    """
    from shlex import quote

    memory.admin.backup(target)
    size = target.expanduser().stat().st_size
    message = f"{target} ({size:,} bytes). To restore it: lifelong restore {quote(str(target))} --home FOLDER"
    return Answer({"backup": target, "bytes": size}, lambda: print_done(message))


@verbs.command()
def restore(
    source: Annotated[Path, typer.Argument(help="A file that `lifelong backup` wrote.")],
    force: Annotated[
        bool, typer.Option("--force", help="Replace a database; the old one is kept beside.")
    ] = False,
    home: HomeOption = DEFAULT_HOME,
    as_json: JsonOption = False,
) -> None:
    """Put a backup in place as the home's database, once it was checked.

    Example: lifelong restore ~/backups/memory.db --home ~/restored
    """
    from lifelong.serve.restore import restore as put

    with in_progress("Reading the whole backup …", quiet=as_json):
        restored = put(source, home, force=force)
    if as_json:
        print_json({"database": restored.database, "kept": restored.kept})
        return
    if restored.kept:
        print_done(f"What was there is kept as {restored.kept}.")
    print_done(f"{restored.database} is in place. The journal and notes are files in users/: copy them yourself.")
