"""Several processes that append to one home at once, against as many that insert into a SQLite file of their own.

The raw side is what SQLite alone can do: one INSERT of the same message a transaction, WAL and `synchronous=FULL`,
with SQLite's own busy timeout. Both sides commit each append for itself, and start when all processes are open.
The two take turns; each figure is the median of the rounds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

import apsw

from bench.databases import MESSAGE
from bench.goals import Figures
from bench.measure import p99
from lifelong import Memory, User

PROCESSES, APPENDS, ROUNDS = 4, 200, 5
HERE = Path(__file__).parent.parent


class Round(NamedTuple):
    """Appends a second of all processes together, and the time of each append in microseconds."""

    rate: float
    times: list[float]


def several_processes(folder: Path) -> Figures:
    """Measure both sides in turns, each round in files of its own."""
    ours, raw = [], []
    for number in range(ROUNDS):
        insert_only = folder / f"raw-{number}.db"
        _append_raw(insert_only)[1]()  # so that no two make it at once
        raw.append(_round("raw", insert_only))
        home = folder / f"processes-{number}"
        Memory.open(home).close()
        ours.append(_round("lifelong", home))
    return {
        "processes_over_raw": median(mine.rate / floor.rate for mine, floor in zip(ours, raw, strict=True)),
        "processes_p99_over_p50": median(p99(mine.times) / median(mine.times) for mine in ours),
        "raw_processes_p99_over_p50": median(p99(floor.times) / median(floor.times) for floor in raw),
        "processes_longest_ms": median(max(mine.times) for mine in ours) / 1000,
        "raw_processes_longest_ms": median(max(floor.times) for floor in raw) / 1000,
        "processes_per_second": median(mine.rate for mine in ours),
        "raw_processes_per_second": median(floor.rate for floor in raw),
    }


def _round(kind: str, place: Path) -> Round:
    command = [sys.executable, "-m", "bench.processes", kind, str(place)]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE)
        for _ in range(PROCESSES)
    ]
    try:
        for process in started:
            assert process.stdout
            assert process.stdout.readline() == "open\n", f"{command} did not open"
        for process in started:
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
        told = [json.loads(process.stdout.readline()) for process in started if process.stdout]
    finally:
        for process in started:
            process.communicate()
    elapsed = max(end for _, end, _ in told) - min(begin for begin, _, _ in told)
    return Round(PROCESSES * APPENDS / elapsed, [one for _, _, times in told for one in times])


def _append_raw(place: Path) -> tuple[Callable[[], object], Callable[[], None]]:
    connection = apsw.Connection(str(place))
    connection.set_busy_timeout(60_000)
    for pragma in ("journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    connection.execute("CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, at INTEGER, text TEXT)")

    def append() -> None:
        connection.execute("INSERT INTO messages (at, text) VALUES (?, ?)", (time.time_ns(), MESSAGE.text))

    return append, connection.close


def _append_ours(place: Path) -> tuple[Callable[[], object], Callable[[], None]]:
    memory = Memory.open(place)
    agent = memory.agent(User("bench", str(time.time_ns()), "main"))
    return lambda: memory.append(agent, MESSAGE), memory.close


def _main(kind: str, place: Path) -> None:
    append, close = (_append_raw if kind == "raw" else _append_ours)(place)
    append()
    print("open", flush=True)
    sys.stdin.readline()
    now = time.perf_counter_ns
    begin, times = time.time(), []
    for _ in range(APPENDS):
        started = now()
        append()
        times.append((now() - started) / 1000)
    print(json.dumps([begin, time.time(), times]), flush=True)
    close()


if __name__ == "__main__":
    _main(sys.argv[1], Path(sys.argv[2]))
