"""How hits look in a terminal, and as JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.markup import escape as without_markup
from rich.table import Table

from recollect.types import Hit

LONGEST = 300  # characters of a text that are shown
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def table(hits: Sequence[Hit], title: str, *, explain: bool = False, ids: bool = False) -> Table:
    """A row a hit, best first, by its path or, with `ids`, also by its id; what no longer holds is struck out."""
    shown = Table("score", "found", "said on", "source", title=escape(title), expand=True)
    for hit in hits:
        text = escape(hit.text if len(hit.text) <= LONGEST else f"{hit.text[:LONGEST]}…")
        parts = "\n[dim]" + ", ".join(f"{name} {part:+.2f}" for name, part in hit.parts.items()) + "[/]"
        shown.add_row(
            f"[green]{hit.score:.1f}[/]",
            (f"[strike]{text}[/strike]" if hit.until else text) + (parts if explain else ""),
            f"{hit.at:%Y-%m-%d}" + (f"\n[dim]until {hit.until:%Y-%m-%d}[/]" if hit.until else ""),
            _source(hit) + (f"\n[dim]{escape(hit.id)}[/]" if ids and hit.path else ""),
        )
    return shown


def escape(text: str) -> str:
    """Stored text as a terminal may have it: it commands nothing there, and is no markup."""
    return without_markup(without_commands(text))


def without_commands(text: str) -> str:
    return _CONTROL.sub("", text.replace("\t", " "))


def plain(hit: Hit) -> dict[str, Any]:
    """The hit as JSON has it."""
    times = {"at": hit.at.isoformat(), "until": hit.until.isoformat() if hit.until else None}
    return {**asdict(hit), **times}


def _source(hit: Hit) -> str:
    who = f" by {escape(hit.speaker)}" if hit.speaker and hit.kind == "turn" else ""
    warning = f" [yellow]({hit.trust})[/]" if hit.trust in ("tool", "web") else ""
    return f"[cyan]{escape(hit.path or hit.id)}[/]{who}{warning}"
