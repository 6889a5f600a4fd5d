"""The command line. Each command imports what it uses, so that help is quick."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from recollect.memory import Memory

app = typer.Typer(
    name="recollect",
    help="Durable long-term memory for AI agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

HomeOption = Annotated[
    Path,
    typer.Option("--home", envvar="RECOLLECT_HOME", help="The folder the memory lives in.", show_default=True),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

DemoHomeOption = Annotated[Path, typer.Option("--home", help="A folder for the samples alone.", show_default=True)]

DEFAULT_HOME = Path("~/.recollect")


@app.callback()
def common(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """What every command takes."""


@app.command()
def demo(
    home: DemoHomeOption = Path("demo-home"),
    serve: Annotated[bool, typer.Option("--serve/--no-serve", help="Then show it in the browser.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Grow a memory from three weeks of sample conversations, before your eyes.

    With --serve, the page follows, where there is a terminal to end it from.

    Example: recollect demo --home /tmp/try
    """
    from rich.console import Console

    from recollect.serve.demo import SLOWLY
    from recollect.serve.demo import demo as run

    result = run(home, Console(quiet=as_json), pace=0 if as_json else SLOWLY)
    if as_json:
        _print_json(result)
    elif serve and sys.stdout.isatty():
        from recollect.serve.server import serve as serve_home

        os.environ["RECOLLECT_STORAGE_URL"] = ""  # an address there is of somebody's real memory
        serve_home(home)


@app.command()
def worker(
    home: HomeOption = DEFAULT_HOME,
    once: Annotated[bool, typer.Option("--once", help="Do what is due now, then end.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Organize what every agent of the home collects, until it is interrupted. Run as many as you like.

    On another machine, only the database is needed: RECOLLECT_STORAGE_URL=postgresql://… recollect worker

    Example: recollect worker --home ~/.recollect
    """
    from recollect.serve.worker import run

    with _existing(home) as memory:
        result = run(memory, once=once, as_json=as_json)
    if as_json:
        _print_json(result)


@app.command()
def recall(
    question: Annotated[str, typer.Argument(help="What to look for, in your own words.")],
    home: HomeOption = DEFAULT_HOME,
    profile: Annotated[str, typer.Option(help="Whose memory.")] = "default",
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="How many hits.")] = 5,
    kind: Annotated[
        list[str] | None, typer.Option(help="turn, document, journal, note or experience; may be repeated.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say what each score is made of.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Find what is known about a question, with dates and sources.

    Example: recollect recall "Where does Mara stay in Lisbon?" --explain
    """
    from rich.console import Console

    from recollect.serve.hits import plain, table

    with _existing(home, profile) as memory:
        hits = memory.recall(question, top_k, kinds=kind or (), explain=explain)  # type: ignore[arg-type]
        advice = "" if hits else _on_nothing(memory, profile)
    if as_json:
        _print_json([plain(hit) for hit in hits])
    elif hits:
        Console().print(table(hits, question, explain=explain))
    else:
        Console().print(advice)


@app.command()
def verify(
    home: HomeOption = DEFAULT_HOME,
    profile: Annotated[str, typer.Option(help="Whose memory.")] = "default",
    as_json: JsonOption = False,
) -> None:
    """Compare the index of recall with what it is made from. Exits with 1 if anything is wrong.

    Example: recollect verify --home ~/.recollect
    """
    from rich.console import Console
    from rich.markup import escape

    console = Console(quiet=as_json)
    with _existing(home, profile) as memory, console.status("Reading the whole index …"):
        faults = memory.verify()
    if as_json:
        _print_json({"sound": not faults, "faults": faults})
    for fault in faults:
        console.print(f"[red]✗[/] {escape(fault)}")
    if faults:
        raise typer.Exit(1)
    console.print("[green]✓[/] The index is whole.")


@app.command()
def rebuild(home: HomeOption = DEFAULT_HOME, as_json: JsonOption = False) -> None:
    """Make the index of recall anew, from history, documents and files. Nothing that was stored is touched.

    Example: recollect rebuild --home ~/.recollect
    """
    from rich.console import Console

    from recollect.serve import index

    console = Console(quiet=as_json)
    with _existing(home) as memory:
        index.rebuild(memory, console)
    if as_json:
        _print_json({"rebuilt": True})
    console.print("[green]✓[/] The index was made anew.")


@app.command()
def doctor(home: HomeOption = DEFAULT_HOME, as_json: JsonOption = False) -> None:
    """Read the whole database and say what is wrong with it. Exits with 1 if anything is.

    Example: recollect doctor --home ~/.recollect
    """
    from rich.console import Console
    from rich.markup import escape

    console = Console(quiet=as_json)
    with _existing(home) as memory, console.status("Reading the whole database …"):
        problems = memory.check()
    if as_json:
        _print_json({"sound": not problems, "problems": problems})
    for problem in problems:
        console.print(f"[red]✗[/] {escape(problem)}")
    if problems:
        raise typer.Exit(1)
    console.print("[green]✓[/] The database is sound.")


@app.command()
def backup(
    target: Annotated[Path, typer.Argument(help="The file to write. It must not exist yet.")],
    home: HomeOption = DEFAULT_HOME,
    as_json: JsonOption = False,
) -> None:
    """Write a whole copy of the database while work goes on.

    Example: recollect backup ~/backups/memory.db
    """
    from rich.console import Console
    from rich.markup import escape

    console = Console(quiet=as_json)
    with _existing(home) as memory, console.status("Writing the copy …"):
        memory.backup(target)
    size = target.expanduser().stat().st_size
    if as_json:
        _print_json({"backup": str(target), "bytes": size})
    console.print(
        f"[green]✓[/] {escape(str(target))} ({size:,} bytes). To restore, put it in an empty home as recollect.db."
    )


@app.command()
def config(
    home: HomeOption = DEFAULT_HOME,
    as_json: JsonOption = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference of every key.")] = False,
) -> None:
    """Show the settings in force: defaults, recollect.toml, environment.

    Example: recollect config --json
    """
    from rich.console import Console
    from rich.table import Table

    from recollect.config import Settings, reference, shown
    from recollect.home import Home

    if markdown:
        sys.stdout.write(reference())
        return
    place = Home(home)
    place.check()
    settings = shown(Settings.load(place.settings))
    if as_json:
        _print_json(settings)
        return
    table = Table("setting", "value")
    for section, keys in settings.items():
        for key, value in keys.items():
            table.add_row(f"{section}.{key}", json.dumps(value))
    Console().print(table)


def main() -> None:
    """Run a command. An error is one sentence and the next step; --debug shows where it came from."""
    from recollect.errors import RecollectError

    try:
        app()
    except RecollectError as error:
        if "--debug" in sys.argv:
            raise
        sys.stderr.write(f"recollect: {error}\n")
        sys.exit(1)


def _existing(home: Path, profile: str = "default") -> Memory:
    """The memory in a home that is there already: a typing mistake must not make a new one."""
    from recollect.config import Settings
    from recollect.errors import StorageUnavailable
    from recollect.home import Home
    from recollect.memory import Memory

    place = Home(home)
    place.check()
    made = place.database.exists() and place.database.stat().st_size > 0
    if not (made or Settings.load(place.settings).storage.url.get_secret_value()):
        raise StorageUnavailable(
            f"There is no memory at {place.path}. Name its home with --home or RECOLLECT_HOME."
        )
    return Memory.open(place.path, profile)


def _on_nothing(memory: Memory, profile: str) -> str:
    """Why a question may have found nothing, and what to do."""
    from recollect.errors import InputError

    known = memory.profiles()
    if known and profile not in known:
        raise InputError(
            f"Nothing was found, and no agent has the profile {profile!r}. Name one of these with --profile: "
            f"{', '.join(known)}."
        )
    if left := memory.unindexed():
        return f"Nothing was found, but {left:,} records and items are not in the index yet. Run: recollect worker"
    return "Nothing is known about that yet. Store turns with Memory.append, or see: recollect demo"


def _print_json(value: object) -> None:
    """JSON leaves some control characters as they are, and a terminal may obey them."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    sys.stdout.write(re.sub(r"[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")
