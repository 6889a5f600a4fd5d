"""Commands that begin something: a home, the demo, a server, a worker."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from lifelong.serve.cli.options import (
    DEFAULT_HOME,
    DEFAULT_USER,
    HomeOption,
    JsonOption,
    UserOption,
    descriptor,
    existing,
)
from lifelong.serve.cli.output import console, done, print_json, print_text

verbs = typer.Typer()


@verbs.command()
def init(home: HomeOption = DEFAULT_HOME, as_json: JsonOption = False) -> None:
    """Make a home with a lifelong.toml in it: journal, compaction and experiences on.

    An existing lifelong.toml is left as it is.

    Example: lifelong init --home ~/.lifelong
    """
    from shlex import quote

    from lifelong.serve.init import begin

    place = begin(home)
    if as_json:
        print_json({"home": place.path, "settings": place.settings})
        return
    named = "" if place.path == DEFAULT_HOME.expanduser() else f" --home {quote(str(place.path))}"
    done(f"{place.settings} is written; every key in it says what it does.")
    print_text(f'Next: lifelong append "I live in Lisbon."{named}, then: lifelong serve{named}')


@verbs.command()
def demo(
    home: Annotated[Path, typer.Option("--home", help="A folder for the samples alone.")] = Path("demo-home"),
    then_serve: Annotated[bool, typer.Option("--serve", help="Then show it in the browser.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Grow a memory from three weeks of sample conversations, before your eyes.

    With --serve, the page follows, where there is a terminal to end it from.

    Example: lifelong demo --home /tmp/try
    """
    from lifelong.errors import StorageUnavailable
    from lifelong.serve.demo import SLOWLY
    from lifelong.serve.demo import demo as run

    # What the environment says is of somebody's real memory, and of their money.
    for name in [name for name in os.environ if name.startswith("LIFELONG_")]:
        del os.environ[name]
    result = run(home, console(quiet=as_json), pace=0 if as_json else SLOWLY)
    if as_json:
        print_json(result)
    elif then_serve and sys.stdout.isatty():
        server = _extra("lifelong.serve.server")
        try:
            server.serve(home)
        except StorageUnavailable:  # its port is taken
            server.serve(home, port=0)


@verbs.command()
def serve(
    home: HomeOption = DEFAULT_HOME,
    user: UserOption = DEFAULT_USER,
    host: Annotated[
        str, typer.Option(help="The address to listen on. Off loopback, a token is needed.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="The port to listen on. 0: any that is free.", min=0, max=65535)
    ] = 8377,
    token: Annotated[
        str, typer.Option(envvar="LIFELONG_TOKEN", help="What callers must show.", show_default=False)
    ] = "",
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A further name the server is called by; may be repeated.")
    ] = None,
    no_worker: Annotated[
        bool, typer.Option("--no-worker", help="Organize nothing: a worker runs elsewhere.")
    ] = False,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve the page, the HTTP API and MCP, with a worker in a process of its own.

    Better than --token is LIFELONG_TOKEN: others on the machine can read a command line.

    Example: lifelong serve --port 8377 --open
    """
    from lifelong.home import existing_home

    _extra("lifelong.serve.server").serve(
        existing_home(home).path,
        host=host,
        port=port,
        token=token,
        hosts=allow_host or (),
        user=user,
        worker=not no_worker,
        open_browser=open_browser,
    )


@verbs.command()
def mcp(
    home: HomeOption = DEFAULT_HOME,
    user: UserOption = DEFAULT_USER,
    agent: Annotated[
        str,
        typer.Option(
            help="Who speaks: connector/user/channel, or a cache key.",
            show_default="mcp/<you, or the user>/<client>",
        ),
    ] = "",
) -> None:
    """Serve one MCP client over standard input and output. A program that speaks MCP calls this.

    Example: lifelong mcp --agent claude-code/mara/project
    """
    from lifelong.home import existing_home

    described = descriptor(agent) if agent else None
    if agent and not described:
        raise typer.BadParameter(f"{agent!r:.100} is no agent's address. Write it like claude-code/mara/project")
    _extra("lifelong.serve.mcp").run_stdio(existing_home(home).path, user, described)


@verbs.command()
def hook(home: HomeOption = DEFAULT_HOME, user: UserOption = DEFAULT_USER) -> None:
    """Feed a coding agent's talk in: for its hooks, which give an event as JSON on standard input.

    Whatever goes wrong is a line on standard error: it always ends with 0, so that the host goes on.

    Example: lifelong hook --user work
    """
    _extra("lifelong.serve.hook").hook(sys.stdin.buffer, sys.stdout, home, user)


@verbs.command()
def worker(
    home: HomeOption = DEFAULT_HOME,
    once: Annotated[bool, typer.Option("--once", help="Do what is due now, then end.")] = False,
    beside: Annotated[bool, typer.Option("--beside", hidden=True, help="End when standard input closes.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Organize what every agent of the home collects, until it is interrupted. Run as many as you like.

    On another machine, only the database is needed: LIFELONG_STORAGE_URL=postgresql://… lifelong worker

    Example: lifelong worker --once
    """
    from lifelong.errors import LifelongError
    from lifelong.serve.worker import run, tell

    try:
        with existing(home) as memory:
            result = run(memory.store, once=once, as_json=as_json, beside=beside)
    except LifelongError as error:
        if beside:
            tell({"": [str(error)]})
        raise
    if as_json:
        print_json(result)


@verbs.command()
def config(
    home: HomeOption = DEFAULT_HOME,
    as_json: JsonOption = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference of every key.")] = False,
) -> None:
    """Show the settings in force: defaults, lifelong.toml, environment.

    Example: lifelong config --json
    """
    import json

    from lifelong.home import Home
    from lifelong.serve.cli.output import rows
    from lifelong.settings import Settings, reference, shown

    if markdown:
        sys.stdout.write(reference())
        return
    place = Home(home)
    place.check()
    settings = shown(Settings.load(place.settings))
    if as_json:
        print_json(settings)
        return
    cells = [
        (f"{name}.{key}", json.dumps(value)) for name, keys in settings.items() for key, value in keys.items()
    ]
    rows(("setting", "value"), cells, "")


def _extra(module: str) -> ModuleType:
    """A module that needs what `pip install lifelong` alone does not bring."""
    from lifelong.errors import ConfigError

    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"This needs the package {error.name}, which is not installed. Run: pip install 'lifelong[serve]'"
        ) from error
