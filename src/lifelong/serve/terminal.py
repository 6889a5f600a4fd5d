"""What a terminal must not get: stored text is hostile, and a line of the log may quote it."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

COMMANDS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What a terminal obeys, or what has it show a text in another order than it is read."""


def harmless(text: str) -> str:
    """Text without the characters that command a terminal; line ends and tabs stay."""
    return COMMANDS.sub("", text)


class _Harmless(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return harmless(super().format(record).replace("\t", " "))


def harmless_log() -> None:
    """Show what the library logs, where nobody else looks after it, as lines that command nothing."""
    if logging.lastResort:
        logging.lastResort.setFormatter(_Harmless("lifelong: %(message)s"))


def show_log(console: Console, level: int, *names: str) -> None:
    """Show what these loggers say from this level on, and nothing that would command the terminal."""
    from rich.logging import RichHandler

    handler = RichHandler(console=console, show_path=False, markup=False)
    handler.setFormatter(_Harmless())
    for name in names:
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.handlers = [handler]
