"""Commands that look whether all is well, and keep it so."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Never

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
    existing,
)
from lifelong.serve.cli.output import console, done, print_json, rows, under_way
from lifelong.serve.terminal import harmless

if TYPE_CHECKING:
    from rich.console import Console, Group

    from lifelong.memory import Memory
    from lifelong.organize.health import Health
    from lifelong.types import Stats

verbs = typer.Typer()

EVERY = 2.0  # seconds between two looks


@verbs.command()
def status(
    watch: Annotated[bool, typer.Option("--watch", help="Look again every two seconds, until Ctrl-C.")] = False,
    home: HomeOption = DEFAULT_HOME,
    user: UserOption = DEFAULT_USER,
    as_json: JsonOption = False,
) -> None:
    """Show how much there is, what waits, what it cost today, and whether all is well. Exits with 1 on red.

    Example: lifelong status --watch
    """
    with existing(home, user) as memory:
        if watch:
            _watch(memory, as_json=as_json)
        health, totals, unindexed = _looked(memory)
    if as_json:
        print_json({"health": health, "totals": totals, "unindexed": unindexed})
    else:
        console().print(_drawn(health, totals, unindexed))
    if health.status == "red":
        raise typer.Exit(1)


def _watch(memory: Memory, *, as_json: bool) -> Never:
    from queue import Empty

    from rich.live import Live

    from lifelong.serve.signals import interrupts

    with interrupts(signal.SIGINT) as over, Live(console=console(quiet=as_json), auto_refresh=False) as live:
        while over.empty():
            looked = _looked(memory)
            if as_json:
                print_json(dict(zip(("health", "totals", "unindexed"), looked, strict=True)), in_a_line=True)
                sys.stdout.flush()
            live.update(_drawn(*looked), refresh=True)
            with suppress(Empty):
                over.get(timeout=EVERY)
                break
    raise KeyboardInterrupt


def _looked(memory: Memory) -> tuple[Health, Stats, int]:
    return memory.admin.health(), memory.admin.stats(), memory.admin.unindexed()


def _drawn(health: Health, totals: Stats, unindexed: int) -> Group:
    from rich.console import Group
    from rich.table import Table

    from lifelong.serve.hit_table import escape

    table = Table.grid(padding=(0, 2))
    found = ", ".join(f"{count:,} {kind}" for kind, count in totals.items.items()) or "nothing yet"
    for name, value in (
        ("agents", f"{totals.agents:,}"),
        ("sessions", f"{totals.sessions:,}, of which {health.marked:,} wait to be handed over"),
        ("documents", f"{totals.documents:,}"),
        ("can be found", f"{found}; {unindexed:,} not in the index yet"),
        ("inbox", f"{health.waiting:,} wait, {health.dead:,} failed for good"),
        ("cost today", f"{totals.cost_today:.4f} USD"),
    ):
        table.add_row(f"[bold]{name}[/]", value)
    reasons = [f"  {escape(reason)}" for reason in health.reasons]
    return Group(f"[{health.status}]●[/] {health.status}", *reasons, table)


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
    none = "No model was called. The rules need none; name one in lifelong.toml: models.model"
    return Answer(found, lambda: rows(columns, cells, none))


@verbs.command()
def doctor(home: HomeOption = DEFAULT_HOME, as_json: JsonOption = False) -> None:
    """Read the whole database and the index of every user, and say what is wrong. Exits with 1 if anything is.

    Example: lifelong doctor --home ~/.lifelong
    """
    from lifelong.home import existing_home
    from lifelong.memory import Store

    problems: list[str] = []
    with Store.open(existing_home(home).path) as store:
        with under_way("Reading the whole database …", quiet=as_json):
            problems += store.user().admin.check()
        for user in () if problems else store.users():
            with under_way(f"Reading the index of {user} …", quiet=as_json):
                problems += store.existing_user(user).admin.verify()
        health = None if problems else store.user().admin.health()
    reasons = health.reasons if health else ()
    remarks = [] if health and health.status == "red" else [*reasons]
    problems += [] if remarks else reasons
    if as_json:
        print_json({"sound": not problems, "problems": problems, "remarks": remarks})
    else:
        _judged(problems, "The database is sound, the index is whole, and nothing is stuck.", remarks)
    if problems:
        raise typer.Exit(1)


def _judged(problems: Sequence[str], well: str, remarks: Sequence[str] = ()) -> None:
    for problem in problems:
        done(problem, sign="[red]✗[/]")
    for remark in remarks:
        console().print(harmless(remark), markup=False)
    if not problems:
        done(well)


@command(verbs, during="Reading the whole index …")
def verify(memory: Memory) -> Answer:
    """Compare the index of recall with what it is made from. Exits with 1 if anything is wrong.

    Example: lifelong verify --user work
    """
    faults = memory.admin.verify()
    return Answer(
        {"sound": not faults, "faults": faults},
        lambda: _judged(faults, "The index is whole."),
        code=int(bool(faults)),
    )


@verbs.command()
def rebuild(home: HomeOption = DEFAULT_HOME, as_json: JsonOption = False) -> None:
    """Make the index of recall anew, from history, documents and files. Nothing that was stored is touched.

    Example: lifelong rebuild --home ~/.lifelong
    """
    with existing(home) as memory:
        left = rebuilt(memory, console(quiet=as_json))
        reasons = memory.admin.health().reasons if left else ()
    if as_json:
        print_json({"rebuilt": not left})
    elif left:
        done(f"The index was made anew, but {left:,} items wait for their vectors. {' '.join(reasons)}".strip())
    else:
        done("The index was made anew.")


def rebuilt(memory: Memory, console: Console) -> int:
    """Forget what is derived, and make it anew. A stop in the middle costs nothing: a worker, or this command
    again, goes on from there. How many items still wait, where no more can be done now."""
    from rich.progress import Progress

    memory.admin.rebuild()
    with Progress(console=console, transient=True) as progress:
        total = memory.admin.unindexed()
        task = progress.add_task("Making the index anew …", total=total)
        while (left := memory.admin.unindexed()) and memory.admin.index():
            total = max(total, left)
            progress.update(task, total=total, completed=total - left)
    return left


@command(verbs, whole=True, during="Writing the copy …")
def backup(
    memory: Memory,
    target: Annotated[Path, typer.Argument(help="The file to write. It must not exist yet.")],
) -> Answer:
    """Write a whole copy of the database while work goes on. Files of the home (users/) are not in it.

    Example: lifelong backup ~/backups/memory.db
    """
    from shlex import quote

    memory.admin.backup(target)
    size = target.expanduser().stat().st_size
    told = f"{target} ({size:,} bytes). To restore it: lifelong restore {quote(str(target))} --home FOLDER"
    return Answer({"backup": target, "bytes": size}, lambda: done(told))


@verbs.command()
def restore(
    source: Annotated[Path, typer.Argument(help="A file that `lifelong backup` wrote.")],
    force: Annotated[
        bool, typer.Option("--force", help="Take the place of a database; it is kept beside.")
    ] = False,
    home: HomeOption = DEFAULT_HOME,
    as_json: JsonOption = False,
) -> None:
    """Put a backup in place as the home's database, once it is checked to be ours and sound.

    Example: lifelong restore ~/backups/memory.db --home ~/restored
    """
    from lifelong.serve.restore import restore as put

    with under_way("Reading the whole backup …", quiet=as_json):
        restored = put(source, home, force=force)
    if as_json:
        print_json({"database": restored.database, "kept": restored.kept})
        return
    if restored.kept:
        done(f"What was there is kept as {restored.kept}.")
    done(f"{restored.database} is in place. The journal and notes are files in users/: copy them yourself.")
