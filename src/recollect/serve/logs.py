"""What the log says, on a terminal: a line of it may quote what somebody stored."""

from __future__ import annotations

import logging

from rich.console import Console
from rich.logging import RichHandler

from recollect.serve.hits import without_commands


class _Plain(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return without_commands(super().format(record))


def show(console: Console, level: int, *names: str) -> None:
    """Show what these loggers say from this level on, and nothing that would command the terminal."""
    handler = RichHandler(console=console, show_path=False, markup=False)
    handler.setFormatter(_Plain("%(message)s"))
    for name in names:
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.handlers = [handler]
