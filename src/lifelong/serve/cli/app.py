"""`lifelong`: every command in its section, errors as one sentence, and exit codes.

Exits with 0 when all is well, 1 when something failed or was found wrong, 2 when it was called wrongly; a hook
always with 0, because another code would stop its host. The module of a command is imported when it is called.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from inspect import cleandoc
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from lifelong.serve.terminal import sanitize, show_warnings, to_json

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

SECTIONS: dict[str, dict[str, str]] = {
    "Begin": {"start": "init demo"},
    "Remember and recall": {
        "memory": "add search context about list correct pin unpin feedback end-session organize receipt users",
        "forget": "forget forgotten",
    },
    "Look and change": {
        "contents": "documents journal experiences relations notes",
        "review": "review",
        "sessions": "agents sessions inbox",
    },
    "Run": {"start": "serve worker mcp hook config", "token": "token"},
    "Look after it": {
        "admin": "health stats ledger doctor verify scan rebuild retention backup restore encrypt export",
        "importing": "import",
    },
}
"""The commands by section and by the module that has them."""

SYNONYMS = {"append": "add", "recall": "search"}
"""Names that work and are not in the help."""

PLAIN_WORDS = {
    "Input should be a valid integer, unable to parse string as an integer": "it must be a whole number",
    "Input should be greater than or equal to": "it must be at least",
    "Input should be less than or equal to": "it must be at most",
}
"""How typer says what a number must be, and how we do."""

MODULES = {
    name: module for section in SECTIONS.values() for module, names in section.items() for name in names.split()
}


def make_command(name: str) -> tuple[str, typer.Typer]:
    """Return the help of a command, and what makes it: a verb, or a noun with verbs of its own."""
    module = import_module(f"lifelong.serve.cli.{MODULES[name]}")
    group = getattr(module, name, None)
    if isinstance(group, typer.Typer):
        return str(group.info.help), group
    for info in module.verbs.registered_commands:
        if name == (info.name or getattr(info.callback, "__name__", "")):
            maker = typer.Typer(add_completion=False, rich_markup_mode=None)
            maker.registered_commands.append(info)
            return cleandoc(info.callback.__doc__ or ""), maker
    raise LookupError(name)


def commands(section: dict[str, str]) -> Iterator[tuple[str, str, typer.Typer]]:
    """Return name, help and maker of each command of a section."""
    for names in section.values():
        yield from ((name, *make_command(name)) for name in names.split())


def summary(text: str) -> str:
    """Return the first sentence of a help text."""
    return text.split("\n")[0].split(". ")[0].rstrip(".") + "."


class Sections(TyperGroup):
    """The commands, by section."""

    def __init__(self, **given: Any) -> None:  # what typer hands to a group
        super().__init__(**given)
        self.commands.update({name: TyperCommand(name) for name in MODULES})  # the names, for suggestions

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        name = SYNONYMS.get(cmd_name, cmd_name)
        if name not in MODULES:
            return None
        made = typer.main.get_command(make_command(name)[1])
        made.name = name
        return made

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, summary(text)) for name, text, _ in commands(section)])


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
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; may stand anywhere.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Durable long-term memory for AI agents.

    Example: lifelong init
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command, and exit. An error is one sentence and the next step; --debug shows where it came from."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = words[: words.index("--")] if "--" in words else words
    debug, as_json = "--debug" in options, "--json" in options
    words = [word for word in options if word != "--debug"] + words[len(options) :]
    is_hook = words[:1] == ["hook"]
    warnings = show_warnings(collect=as_json)
    try:
        code = app(words, prog_name="lifelong", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes it once more
        code = 1
    except KeyboardInterrupt:
        code = 130
    except typer.TyperException as error:
        _print_error("Usage", _usage(error), as_json=as_json, warnings=warnings)
        code = error.exit_code
    except Exception as error:
        if debug:
            raise
        _print_error(type(error).__name__, _sentence(error), as_json=as_json, warnings=warnings)
        code = _code(error)
    sys.stderr.writelines(f"{warning}\n" for warning in warnings)
    sys.exit(0 if is_hook else code or 0)


def _code(error: Exception) -> int:
    """Return 2 where the command was called wrongly, else 1."""
    from lifelong.errors import ConfigError, InputError

    return 2 if isinstance(error, InputError) and not isinstance(error, ConfigError) else 1


def _usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    message = error.format_message().rstrip().replace("Value error, ", "")
    for theirs, ours in PLAIN_WORDS.items():
        message = message.replace(theirs, ours)
    if type(error).__name__ == "NoArgsIsHelpError":
        return message
    option = getattr(error, "option_name", "")
    commands = getattr(context.command, "commands", None) if context else None  # of a group, such as `documents`
    if context and commands and option in ("--home", "--user", "--json"):
        first = next(iter(commands)) if context.parent else "list"
        return f"{option} stands after the command, as in: {context.command_path} {first} {option}"
    message += "" if message.endswith((".", "?")) else "."
    return f"{message} See: {context.command_path} --help" if context else message


def _sentence(error: Exception) -> str:
    from lifelong.errors import LifelongError
    from lifelong.serve.error_hints import with_hint

    if isinstance(error, LifelongError):
        return with_hint(error, "cli")
    if isinstance(error, OSError) and error.strerror:
        place = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{place}. Check the path and its permissions, and try again."
    return (
        f"Unexpected error: {type(error).__name__}: {error}. Run it again with --debug, and report what it prints."
    )


def _print_error(kind: str, message: str, *, as_json: bool, warnings: list[str]) -> None:
    """Print an error; as JSON, with what was logged before, so that nothing else is on standard error."""
    prefix = "" if message.startswith("Usage: ") else "lifelong: "
    text = f"{prefix}{sanitize(message)}"
    if as_json:
        logged = {"warnings": warnings.copy()} if warnings else {}
        text = to_json({"error": kind, "message": message, **logged})
        warnings.clear()
    sys.stderr.write(f"{text}\n")
