"""How commands answer: tables and sentences for people, JSON for programs. Stored text commands no terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from lifelong.serve.terminal import COMMANDS, harmless

if TYPE_CHECKING:
    from rich.console import Console

    from lifelong.types import Hit

LONGEST = 200  # characters of a text in a table
WHOLE = ("id", "session", "changeset")  # columns of what a person copies


def to_json(value: object, *, in_a_line: bool = False) -> str:
    """JSON leaves some control characters as they are, and a terminal may obey them."""
    from lifelong.serve.jsonable import plain

    text = json.dumps(plain(value), indent=None if in_a_line else 2, ensure_ascii=False)
    return COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_json(value: object, *, in_a_line: bool = False) -> None:
    sys.stdout.write(f"{to_json(value, in_a_line=in_a_line)}\n")


def print_text(text: str) -> None:
    """Stored text as it is, for people and pipes."""
    sys.stdout.write(harmless(text).rstrip("\n") + "\n")


def console(*, quiet: bool = False) -> Console:
    from rich.console import Console

    return Console(quiet=quiet)


@contextmanager
def under_way(what: str, *, quiet: bool) -> Iterator[None]:
    """Say what takes long, if anything, while it does, on a terminal."""
    if quiet or not what:
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


def done(text: str, *, sign: str = "[green]✓[/]") -> None:
    from lifelong.serve.hit_table import escape

    console().print(f"{sign} {escape(text)}", soft_wrap=True)


def hits(found: Sequence[Hit], empty: str, *, scores: bool = False) -> None:
    """Hits, or where there are none, what to do."""
    from lifelong.serve.hit_table import listing

    if found:
        listing(console(), found, scores=scores)
    else:
        console().print(empty)


def rows(columns: Sequence[str], cells: Iterable[Sequence[object]], empty: str) -> None:
    """A table, or where there is nothing to show, what to do."""
    from rich.table import Table

    from lifelong.serve.hit_table import escape

    table = Table(expand=True)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in WHOLE)
    for row in cells:
        table.add_row(*(escape(_cell(cell)) for cell in row))
    console().print(table if table.row_count else escape(empty))


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    text = "" if value is None else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
