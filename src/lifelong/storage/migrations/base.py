"""A step: statements that bring a database from one version to the next."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    sql: tuple[str, ...]
