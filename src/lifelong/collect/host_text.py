"""Tell what a person typed from what Claude Code added to it."""

from __future__ import annotations

import re

_HOST_TAG = re.compile(
    r"<((?:command|local-command|bash)-[a-z-]+|ide_[a-z_]+|system-reminder|task-notification|teammate-message)[\s>]"
)
"""The tags of what the host adds to a person's message, or sends instead of one."""


def without_host_text(text: str) -> str:
    """Return what a person wrote of a message, without what the host added."""
    kept, start, absent = "", 0, set()
    for opened in _HOST_TAG.finditer(text):
        closing = f"</{opened[1]}>"
        if opened.start() < start or closing in absent:
            continue
        if (end := text.find(closing, opened.end())) < 0:
            absent.add(closing)  # search once: a text may open thousands of tags that nothing closes
        else:
            kept += text[start : opened.start()]
            start = end + len(closing)
    return (kept + text[start:]).strip()
