"""docs/cli.md: every command, as its help says it. `make docs` runs this module to write the page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer
from typer.core import TyperGroup

from recollect.serve.cli.app import SECTIONS, commands

if TYPE_CHECKING:
    from typer._click import Command

WIDTH = 100

HEAD = """\
# Command line

Generated from the commands' own help by `make docs`; do not edit by hand.

A command that prints something takes `--json` and prints JSON for programs, also of an error. `--home` (or
`RECOLLECT_HOME`) names the folder the memory lives in, `--profile` whose memory it is; `--debug`, anywhere on the
line, says where an error came from. A command ends with 0 when all is well, with 1 when something failed or was
found wrong, with 2 when it was called wrongly; `recollect hook` always with 0. `recollect --install-completion`
completes commands in your shell.
"""


def walk() -> Iterator[tuple[str, str, Command]]:
    """Section, full name and command, of each command that does something."""
    for title, apps in SECTIONS.items():
        for name, _, maker in commands(apps):
            made = typer.main.get_command(maker)
            if isinstance(made, TyperGroup):
                yield from ((title, f"recollect {name} {verb}", one) for verb, one in made.commands.items())
            else:
                yield title, f"recollect {name}", made


def helped(name: str, command: Command) -> str:
    """What `--help` prints, in a terminal of a fixed width."""
    settings = {"terminal_width": WIDTH, "help_option_names": ["-h", "--help"]}
    return typer.Context(command, info_name=name, **settings).get_help()  # type: ignore[arg-type]  # as typer hands them on


def reference() -> str:
    parts, last = [HEAD], ""
    for title, name, command in walk():
        if title != last:
            parts.append(f"## {title}\n")
        last = title
        text = "\n".join(line.rstrip() for line in helped(name, command).splitlines())
        parts.append(f"### `{name}`\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(reference())
