"""`lifelong`: every command in its section, what goes wrong as one sentence, and how it ends.

Ends with 0 when all is well, 1 when something failed or was found wrong, 2 when it was called wrongly; a hook
always with 0, for its host would stop a person's work. The options of a command are built when it is called, so
that help is quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from inspect import cleandoc
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from lifelong.serve.cli import (
    add,
    admin,
    documents,
    experiences,
    journal,
    notes,
    search,
    sessions,
    start,
)
from lifelong.serve.terminal import harmless, harmless_log

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

SECTIONS: dict[str, tuple[typer.Typer, ...]] = {
    "Begin": (start.verbs,),
    "Remember and recall": (add.verbs, search.verbs),
    "Look and change": (
        documents.group,
        journal.group,
        experiences.group,
        experiences.verbs,
        notes.group,
        sessions.verbs,
        sessions.group,
        sessions.inbox,
    ),
    "Keep it well": (admin.verbs,),
}


def commands(apps: Sequence[typer.Typer]) -> Iterator[tuple[str, str, typer.Typer]]:
    """Name, help and maker of each command: a verb, or a noun with verbs of its own."""
    for app in apps:
        if isinstance(app.info.name, str):
            yield app.info.name, str(app.info.help), app
            continue
        for info in app.registered_commands:
            maker = typer.Typer(add_completion=False, rich_markup_mode=None)
            maker.registered_commands.append(info)
            name = str(info.name or getattr(info.callback, "__name__", ""))
            yield name, cleandoc(info.callback.__doc__ or ""), maker


def summary(text: str) -> str:
    """The first sentence of a help text."""
    return text.split("\n")[0].split(". ")[0].rstrip(".") + "."


class Sections(TyperGroup):
    """The commands, by section."""

    def __init__(self, **given: Any) -> None:  # what typer hands to a group
        super().__init__(**given)
        self.sections = {title: list(commands(apps)) for title, apps in SECTIONS.items()}
        self.makers = {name: maker for rows in self.sections.values() for name, _, maker in rows}
        self.commands.update({name: TyperCommand(name) for name in self.makers})  # the names, for suggestions

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        if cmd_name not in self.makers:
            return None
        made = typer.main.get_command(self.makers[cmd_name])
        made.name = cmd_name
        return made

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        for title, rows in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, summary(text)) for name, text, _ in rows])


app = typer.Typer(
    name="lifelong",
    cls=Sections,
    help="Durable long-term memory for AI agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        sys.stdout.write(f"lifelong {version('lifelong')}\n")
        raise typer.Exit


@app.callback()
def common(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error; also after it.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Durable long-term memory for AI agents.

    Example: lifelong init
    """
    harmless_log()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command, and exit. An error is one sentence and the next step; --debug shows where it came from."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = words[: words.index("--")] if "--" in words else words
    debug, as_json = "--debug" in options, "--json" in options
    words = [word for word in options if word != "--debug"] + words[len(options) :]
    hosted = words[:1] == ["hook"]
    try:
        code = app(words, prog_name="lifelong", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # so that nothing is said at the end, either
        code = 1
    except KeyboardInterrupt:
        code = 130
    except typer.TyperException as error:
        _tell("Usage", _usage(error), as_json=as_json)
        code = error.exit_code
    except Exception as error:
        if debug:
            raise
        _tell(type(error).__name__, _sentence(error), as_json=as_json)
        code = 1
    sys.exit(0 if hosted else code or 0)


def _usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        return error.format_message()
    told = error.format_message().rstrip()
    told += "" if told.endswith((".", "?")) else "."
    return f"{told} See: {context.command_path} --help" if context else told


def _sentence(error: Exception) -> str:
    from lifelong.errors import LifelongError
    from lifelong.serve.error_hints import told

    if isinstance(error, LifelongError):
        return told(error, "cli")
    if isinstance(error, OSError) and error.strerror:
        place = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{place}. Check the path and who may use it, and try again."
    return (
        f"Something went wrong that should not: {type(error).__name__}: {error}. "
        "Run it again with --debug to see where, and report that."
    )


def _tell(kind: str, message: str, *, as_json: bool) -> None:
    from lifelong.serve.cli.output import to_json

    before = "" if message.startswith("Usage: ") else "lifelong: "  # help speaks for itself
    told = to_json({"error": kind, "message": message}) if as_json else f"{before}{harmless(message)}"
    sys.stderr.write(f"{told}\n")
