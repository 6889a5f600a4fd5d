"""What is being measured, said before and after."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def step(console: Console, words: str) -> Iterator[None]:
    """Says what is being measured and how long that took. A bar that draws itself would be measured too."""
    console.print(f"[dim]{words} …[/]")
    started = time.perf_counter()
    yield
    console.print(f"[dim]{words}: {time.perf_counter() - started:.0f} s[/]")
