"""What compacting a journal costs, what it costs those who write meanwhile, and what it keeps.

- **per record**: CPU time of a compaction of 100,000 records over one of 1,000, a record each, at the default
  limits; and the memory of a process that compacts 100,000, beside the size of their page.
- **append while compacting**: `Journal.remember`, which is durable on return, while 100,000 records of the same
  journal are compacted in another process, over the same with nothing going on; by median, and by the slowest in a
  hundred. The figures for a compaction in a thread of the same process are printed too: there the two share one
  interpreter, so let `lifelong worker` do it where that matters.
- **what it writes**: see `long_memory`.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count
from pathlib import Path
from statistics import median

from rich.console import Console

from bench import long_memory
from bench.goals import Figures, Goal, table
from bench.growth import SPEAKERS, turns
from bench.measure import p99
from lifelong.journal.compaction import Compaction, CompactionLimits
from lifelong.journal.files import JournalFiles
from lifelong.journal.records import JournalRecord, encode, render
from lifelong.journal.service import JournalService
from lifelong.settings import ContinuitySettings
from lifelong.types import utc_now

MANY, FEW = 100_000, 1_000
ROUNDS = 5
APPENDS = 500
PAUSE = 0.002  # seconds between two appends: an agent that is busy, not a flood
TEXT = "Mara asked for the ferry to Cacilhas → It leaves at 18:40, not at 18:10, from Cais do Sodré."

GOALS = {
    "per_record_100k_over_1k": Goal("a record of 100,000 over one of 1,000, CPU time", "≤", 1.5),
    "append_p50_compacting_over_idle": Goal("an append while compacting over idle, median", "≤", 2),
    **long_memory.GOALS,
}

ALSO = {
    "per_record_1k_us": "a record of 1,000, µs of CPU time",
    "per_record_100k_us": "a record of 100,000, µs of CPU time",
    "memory_100k_mb": "memory to compact 100,000, MB",
    "memory_100k_over_page": "memory to compact 100,000 over their page's size",
    "append_idle_us": "an append with nothing going on, µs",
    "append_compacting_us": "an append while compacting, µs",
    "append_p99_compacting_over_idle": "the slowest in a hundred, while compacting over idle",
    "append_p99_idle_us": "the slowest in a hundred with nothing going on, µs",
    "append_p99_compacting_us": "the slowest in a hundred while compacting, µs",
    "append_p50_same_process_over_idle": "an append while the same process compacts over idle, median",
    "append_p99_same_process_over_idle": "the slowest in a hundred of these over idle",
    **long_memory.ALSO,
}


def run() -> Figures:
    """Measure, print the tables, return the figures."""
    console = Console()
    with tempfile.TemporaryDirectory(prefix="lifelong-bench-") as name:
        folders = (Path(name) / str(number) for number in count())
        figures = cost(folders) | meanwhile(folders)
    figures |= long_memory.run()
    console.print(table("compacting a journal", figures, GOALS, ALSO))
    return figures


def cost(folders: Iterator[Path]) -> Figures:
    """CPU time a record. The few are compacted before and after the many."""
    few = [_seconds(next(folders), FEW) for _ in range(ROUNDS + 1)][1:]
    many = _seconds(next(folders), MANY)
    few += [_seconds(next(folders), FEW) for _ in range(ROUNDS)]
    return {
        "per_record_100k_over_1k": (many / MANY) / (median(few) / FEW),
        "per_record_1k_us": median(few) / FEW * 1e6,
        "per_record_100k_us": many / MANY * 1e6,
    }


def meanwhile(folders: Iterator[Path]) -> Figures:
    """Appends to a journal that is being compacted."""
    memory: list[float] = []
    other_idle, other_busy = _appends(
        _filled(next(folders), MANY), lambda folder: memory.append(_in_process(folder))
    )
    same_idle, same_busy = _appends(_filled(next(folders), MANY), _compact)
    return {
        "memory_100k_mb": memory[0] / 2**20,
        "memory_100k_over_page": memory[0] / len(_page(MANY)),
        "append_p50_compacting_over_idle": median(other_busy) / median(other_idle),
        "append_p99_compacting_over_idle": p99(other_busy) / p99(other_idle),
        "append_idle_us": median(other_idle),
        "append_compacting_us": median(other_busy),
        "append_p99_idle_us": p99(other_idle),
        "append_p99_compacting_us": p99(other_busy),
        "append_p50_same_process_over_idle": median(same_busy) / median(same_idle),
        "append_p99_same_process_over_idle": p99(same_busy) / p99(same_idle),
    }


def _appends(folder: Path, compact: Callable[[Path], object]) -> tuple[list[float], list[float]]:
    """How many µs appends take: with nothing going on, before and after, and while a compaction runs."""
    journal = JournalService(ContinuitySettings(journal_enabled=True), _filled(folder, MANY), utc_now)
    idle = [_append(journal) for _ in range(APPENDS)]
    running = threading.Thread(target=compact, args=(folder,))
    running.start()
    busy = []
    while running.is_alive():
        busy.append(_append(journal))
    idle += [_append(journal) for _ in range(APPENDS)]
    return idle, busy


def _append(journal: JournalService) -> float:
    time.sleep(PAUSE)
    started = time.perf_counter_ns()
    journal.remember(TEXT)
    return (time.perf_counter_ns() - started) / 1000


# Journals


@cache
def _page(records: int) -> bytes:
    said = turns(seed=records)
    begin = utc_now() - timedelta(days=30)
    return b"".join(encode(render(_record(number, next(said), begin))) for number in range(records))


def _record(number: int, text: str, begin: datetime) -> JournalRecord:
    speaker = SPEAKERS[number % len(SPEAKERS)]
    at = begin + timedelta(seconds=number)
    return JournalRecord(
        f"r{number}", "bench", "turn-summary", f"{speaker}: {text}", "cli", 1.0, at, "operational"
    )


def _filled(folder: Path, records: int) -> Path:
    files = JournalFiles(folder)
    with files.writing():
        files.append(files.memory, _page(records), "# Memory\n\n")
    return folder


def _compact(folder: Path) -> None:
    result = Compaction(JournalFiles(folder), utc_now, UTC, CompactionLimits()).run()
    assert result.ran, result.reason


def _seconds(folder: Path, records: int) -> float:
    _filled(folder, records)
    started = time.process_time()
    _compact(folder)
    return time.process_time() - started


def _in_process(folder: Path) -> float:
    """Compact in another process, and say how many bytes of memory that took beyond those of its start."""
    command = [sys.executable, "-m", "bench.journal", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=Path(__file__).parent.parent)
    return float(done.stdout)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    before = _peak()
    _compact(Path(sys.argv[1]))
    print(_peak() - before)
