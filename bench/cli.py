"""How long a person waits for help: `lifelong --help` beside a Python that imports typer and does nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from statistics import median

ROUNDS = 21

HELP = [sys.executable, "-m", "lifelong", "--help"]
TYPER = [sys.executable, "-c", "import typer"]


def run() -> dict[str, float]:
    """They take turns; the medians are compared."""
    for words in (HELP, TYPER):
        _seconds(words)  # so that both are compiled
    rounds = [(_seconds(HELP), _seconds(TYPER)) for _ in range(ROUNDS)]
    helped, imported = (median(mine) for mine in zip(*rounds, strict=True))
    print(f"lifelong --help: {helped * 1000:.0f} ms, python -c 'import typer': {imported * 1000:.0f} ms")
    return {"help_over_typer": helped / imported}


def _seconds(words: Sequence[str]) -> float:
    started = time.perf_counter()
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started
