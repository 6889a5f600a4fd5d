"""Measure how long a person waits for a command: each runs in a new process, beside a Python that only imports.

- **help**: `lifelong --help` over `import typer`.
- **add, search**: `lifelong add "…"` and `lifelong search "…"` on a small home that is organized, over
  `import numpy, apsw, pydantic`.

Every process finds its modules compiled, as after the first run of an installed package: the compiled files are
kept in a folder of the benchmark, whatever PYTHONDONTWRITEBYTECODE says.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from statistics import median

from bench.growth import turns

ROUNDS = 21
RECORDS = 200

COMMAND = [sys.executable, "-m", "lifelong"]
TYPER = [sys.executable, "-c", "import typer"]
IMPORTS = [sys.executable, "-c", "import numpy, apsw, pydantic"]
STATEMENT = "We meet at the harbour on Thursday, and Nadia brings the tent."
QUESTION = "Where do we meet on Thursday?"


def run() -> dict[str, float]:
    """Compare medians of rounds in which every process runs once."""
    with tempfile.TemporaryDirectory() as home, compiled():
        fill(home)
        processes = {
            "lifelong --help": [*COMMAND, "--help"],
            "import typer": TYPER,
            "lifelong add": [*COMMAND, "add", STATEMENT, "--home", home],
            "lifelong search": [*COMMAND, "search", QUESTION, "--home", home],
            "import numpy, apsw, pydantic": IMPORTS,
        }
        for words in processes.values():
            seconds(words)  # compile
        rounds = [[seconds(words) for words in processes.values()] for _ in range(ROUNDS)]
    medians = [median(times) for times in zip(*rounds, strict=True)]
    for name, taken in zip(processes, medians, strict=True):
        print(f"{name}: {taken * 1000:.0f} ms")
    helped, typer, added, searched, imports = medians
    return {
        "help_over_typer": helped / typer,
        "add_over_imports": added / imports,
        "search_over_imports": searched / imports,
    }


@contextmanager
def compiled() -> Iterator[None]:
    """Have Python write what it compiles to a folder of its own, and read it there in the next process."""
    before = dict(os.environ)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        with tempfile.TemporaryDirectory() as os.environ["PYTHONPYCACHEPREFIX"]:
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def fill(home: str) -> None:
    """Make a home of RECORDS organized records, with the same commands that a person would use."""
    records = "".join(json.dumps({"role": "user", "content": text}) + "\n" for text in islice(turns(1), RECORDS))
    seconds([*COMMAND, "init", "--home", home])
    seconds([*COMMAND, "add", "--end", "--home", home], records)
    seconds([*COMMAND, "worker", "--once", "--home", home])


def seconds(words: Sequence[str], given: str = "") -> float:
    started = time.perf_counter()
    subprocess.run(words, input=given, text=True, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started
