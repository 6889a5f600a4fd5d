"""Commands that begin something: a home, the demo, a server, a worker; and the settings they use."""

from __future__ import annotations

import gc
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
    open_memory,
    parse_descriptor,
    parse_path,
)
from lifelong.serve.terminal import print_done, print_json, print_table, print_text

verbs = typer.Typer()


@verbs.command()
def init(home: HomeOption = DEFAULT_HOME, as_json: JsonOption = False) -> None:
    """Make a home with a lifelong.toml in it: journal, compaction and experiences are on.

    An existing lifelong.toml is left as it is.

    Example: lifelong init --home ~/.lifelong
    """
    from shlex import quote

    from lifelong.serve.init import make_home

    place = make_home(home)
    if as_json:
        print_json({"home": place.path, "settings": place.settings})
        return
    known = (DEFAULT_HOME.expanduser(), Path(os.environ.get("LIFELONG_HOME", DEFAULT_HOME)).expanduser())
    named = "" if place.path in known else f" --home {quote(str(place.path))}"
    print_done(f"Made {place.path}. Its settings are in {place.settings.name}; each key says what it does.")
    print_text(f'Next: lifelong add "I live in Lisbon."{named}, then: lifelong search "Where do I live?"{named}')


@verbs.command()
def demo(
    home: Annotated[
        Path,
        typer.Option("--home", help="A folder for the samples alone.", parser=parse_path, metavar="FOLDER"),
    ] = Path("demo-home"),
    then_serve: Annotated[bool, typer.Option("--serve", help="Then show it in the browser.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Fill a memory with three weeks of sample conversations, organize them, and ask questions.

    With --serve, the page follows if there is a terminal to stop it from.

    Example: lifelong demo --home /tmp/try
    """
    from rich.console import Console

    from lifelong.errors import StorageUnavailable
    from lifelong.serve.demo import SECONDS_BETWEEN_RECORDS
    from lifelong.serve.demo import demo as run

    # Settings in the environment belong to a real memory, and may name a model that costs money.
    for name in [name for name in os.environ if name.startswith("LIFELONG_")]:
        del os.environ[name]
    result = run(home, Console(quiet=as_json), pace=0 if as_json else SECONDS_BETWEEN_RECORDS)
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
        str, typer.Option(envvar="LIFELONG_TOKEN", help="What callers must send.", show_default=False)
    ] = "",
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Another host name of this server; may be repeated.")
    ] = None,
    no_worker: Annotated[
        bool, typer.Option("--no-worker", help="Do not organize: a worker runs elsewhere.")
    ] = False,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve the page, the HTTP API and MCP, with a worker in a process of its own.

    Prefer LIFELONG_TOKEN to --token: others on the machine can read a command line.

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
    """Serve one MCP client over standard input and output. An MCP client starts this.

    Example: lifelong mcp --agent claude-code/mara/project
    """
    from lifelong.home import existing_home

    described = parse_descriptor(agent) if agent else None
    if agent and not described:
        raise typer.BadParameter(
            f"{agent!r:.100} is not the address of an agent. Write it like claude-code/mara/project"
        )
    gc.disable()  # a sixth of the time to import the SDK, which a client waits for
    server = _extra("lifelong.serve.mcp")
    gc.enable()
    server.run_stdio(existing_home(home).path, user, described)


@verbs.command()
def hook(
    event: Annotated[
        str,
        typer.Argument(help="The event as JSON, from Codex's notify. Left out: standard input.", metavar="EVENT"),
    ] = "",
    home: HomeOption = DEFAULT_HOME,
    user: UserOption = DEFAULT_USER,
    tools: Annotated[
        bool, typer.Option("--tools", help="Store tool calls and what subagents report, too.")
    ] = False,
) -> None:
    """Store a coding agent's conversation: for the hooks of Claude Code, Codex and Gemini CLI.

    The host gives an event as JSON on standard input. What cannot be stored now is queued, and the user is told.
    It always exits with 0, so that the host continues.

    Example: lifelong hook --user work
    """
    from io import BytesIO

    stdin = BytesIO(event.encode("utf-8", "replace")) if event else sys.stdin.buffer
    _extra("lifelong.serve.hook").hook(stdin, sys.stdout, home, user, tools=tools)


@verbs.command()
def worker(
    home: HomeOption = DEFAULT_HOME,
    once: Annotated[bool, typer.Option("--once", help="Do what is due now, then exit.")] = False,
    beside: Annotated[bool, typer.Option("--beside", hidden=True, help="End when standard input closes.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Organize what the users of a home add, until it is interrupted. Several may run at once.

    On another machine, only the database is needed: LIFELONG_STORAGE_URL=postgresql://… lifelong worker

    Example: lifelong worker --once
    """
    from lifelong.errors import LifelongError
    from lifelong.serve.worker import report, run

    try:
        with open_memory(home) as memory:
            result = run(memory.store, once=once, as_json=as_json, beside=beside)
    except LifelongError as error:
        if beside:
            report({"": [str(error)]})
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
    print_table(("setting", "value"), cells)


def _extra(module: str) -> ModuleType:
    """Return a module that needs what `pip install lifelong` alone does not install."""
    from lifelong.errors import ConfigError

    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"This needs the package {error.name}, which is not installed. Run: pip install 'lifelong[serve]'"
        ) from error
