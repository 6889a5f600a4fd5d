"""How hits look in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape as without_markup
from rich.padding import Padding
from rich.table import Table

from lifelong.serve.terminal import harmless
from lifelong.types import Hit

LONGEST = 300  # characters of a text that are shown


def table(hits: Sequence[Hit], title: str) -> Table:
    """A row a hit, best first; what no longer holds is struck out."""
    shown = Table("score", "found", "said on", "source", title=escape(title), expand=True)
    for hit in hits:
        until = f"\n[dim]until {hit.until:%Y-%m-%d}[/]" if hit.until else ""
        shown.add_row(f"[green]{hit.score:.1f}[/]", _text(hit), f"{hit.at:%Y-%m-%d}{until}", _source(hit))
    return shown


def listing(console: Console, hits: Iterable[Hit], *, scores: bool = False) -> None:
    """Each hit in a few lines: its id alone in the first, so that it can be copied from any terminal."""
    for hit in hits:
        until = f", until {hit.until:%Y-%m-%d}" if hit.until else ""
        about = [f"{hit.at:%Y-%m-%d}{until}", _source(hit), "pinned" if hit.pinned else ""]
        about += [f"score {hit.score:.1f}"] if scores else []
        parts = ", ".join(f"{name} {part:+.2f}" for name, part in hit.parts.items())
        console.print(f"[bold cyan]{escape(hit.id)}[/]", soft_wrap=True)
        for line in (
            _text(hit),
            f"[dim]{' · '.join(filter(None, about))}[/]",
            f"[dim]{parts}[/]" if parts else "",
        ):
            if line:
                console.print(Padding.indent(line, 2))


def escape(text: str) -> str:
    """Stored text as a table may have it: it commands nothing, and is no markup. No table knows a tab's width."""
    return without_markup(harmless(text.replace("\t", " ")))


def _text(hit: Hit) -> str:
    text = escape(hit.text if len(hit.text) <= LONGEST else f"{hit.text[:LONGEST]}…")
    return f"[strike]{text}[/strike]" if hit.until else text


def _source(hit: Hit) -> str:
    who = f" by {escape(hit.speaker)}" if hit.speaker and hit.kind == "record" else ""
    warning = f" [yellow]({hit.trust})[/]" if hit.trust in ("tool", "web") else ""
    return f"[cyan]{escape(hit.path or hit.kind)}[/]{who}{warning}"
