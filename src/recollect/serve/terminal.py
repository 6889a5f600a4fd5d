"""What a terminal must not get: stored text is hostile."""

from __future__ import annotations

import re

COMMANDS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What a terminal obeys, or what has it show a text in another order than it is read."""


def harmless(text: str) -> str:
    """Text without the characters that command a terminal; line ends and tabs stay."""
    return COMMANDS.sub("", text)
