"""What figures should be, and the table that says whether they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rich.table import Table

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Goal:
    """What a figure should be."""

    words: str
    sign: Literal["≤", "≥", "="]
    limit: float

    def met(self, value: float) -> bool:
        return {"≤": value <= self.limit, "≥": value >= self.limit, "=": value == self.limit}[self.sign]


def table(
    title: str,
    figures: Mapping[str, float],
    goals: Mapping[str, Goal],
    also: Mapping[str, str],
    columns: Mapping[str, str] | None = None,
) -> Table:
    """The figures with a goal, judged, and below them the others that there are. `columns`: where the same figures
    stand several times, what each column is called and what its keys begin with."""
    columns = columns or {"figure": ""}
    shown = Table(title)
    for name in (*columns, "goal"):
        shown.add_column(name, justify="right")
    for key, goal in goals.items():
        judged = (_judged(figures.get(prefix + key), goal) for prefix in columns.values())
        shown.add_row(goal.words, *judged, f"{goal.sign} {goal.limit:g}")
    shown.add_section()
    for key, words in also.items():
        found = [figures.get(prefix + key) for prefix in columns.values()]
        if any(value is not None for value in found):
            shown.add_row(words, *("" if value is None else plain(value) for value in found), "")
    return shown


def plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"


def _judged(value: float | None, goal: Goal) -> str:
    if value is None:
        return "[dim]not measured[/]"
    return f"{plain(value)} [green]met[/]" if goal.met(value) else f"{plain(value)} [red]missed[/]"
