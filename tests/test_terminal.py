"""What a log shows on a terminal."""

from __future__ import annotations

import io
import logging

from rich.console import Console

from lifelong.serve.terminal import show_log


def test_a_line_of_the_log_commands_no_terminal() -> None:
    """S4: stored text that an error quotes is shown without escapes, and is no markup."""
    shown = io.StringIO()
    show_log(Console(file=shown, width=120), logging.WARNING, "lifelong.hostile")
    logging.getLogger("lifelong.hostile").warning("cannot file %s", "\x1b]0;mine\x07[bold]it\x9b2J\ttwice")
    assert "cannot file ]0;mine[bold]it2J twice" in shown.getvalue()
    assert not {"\x1b", "\x07", "\x9b"} & set(shown.getvalue())
