"""`recollect rebuild`: the index made anew, with a bar that says how far it is."""

from __future__ import annotations

from rich.console import Console
from rich.progress import Progress

from recollect.memory import Memory


def rebuild(memory: Memory, console: Console) -> int:
    """Forget what is derived, and make it anew. A stop in the middle costs nothing: a worker, or this command
    again, goes on from there. How many items still wait, where no more can be done now."""
    memory.rebuild()
    with Progress(console=console, transient=True) as progress:
        total = memory.unindexed()
        task = progress.add_task("Making the index anew …", total=total)
        while (left := memory.unindexed()) and memory.index():
            total = max(total, left)
            progress.update(task, total=total, completed=total - left)
    return left
