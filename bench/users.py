"""Measure what a user costs a process that serves many: one store, a thousand users, each asked once.

- **own memory**: of the process (pages that no file backs) when MANY users were asked, over that when FEW were.
- **memory a user**: its growth between FEW and MANY users, over the users between.
- **connections**: open descriptors of the home's database files, with all users open.
- **descriptors**: all that the process has open then, mapped files of vectors included.
- **threads**: threads of this process that the store started, with all users open.

Each user has a thousand turns of made-up talk, stored and indexed by another process before; BENCH_TURNS says how
many for a quick try. Linux only: the figures are read from /proc/self. Run it in a process of its own, as
`python -m bench users` does.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import threading
from itertools import islice
from pathlib import Path

from bench.cold import own_memory_kb
from bench.speech import Speech
from lifelong import Store, User, UserMessage

FEW, MANY = 10, 1_000
TURNS = int(os.environ.get("BENCH_TURNS", "1000"))
HERE = Path(__file__).parent.parent
DIFFERENT = 50  # users whose talk differs; the others repeat it


def run() -> dict[str, float]:
    """Ask the users one after the other, and measure while all of them are open."""
    if sys.platform != "linux":
        print("Not measured: memory and descriptors are read from /proc, which only Linux has.")
        return {}
    before = threading.active_count()
    with tempfile.TemporaryDirectory() as home:
        subprocess.run([sys.executable, "-m", "bench.users", home], check=True, cwd=HERE)
        with Store.open(home) as store:
            for number in range(FEW):
                ask(store, number)
            few = settled_kb()
            for number in range(FEW, MANY):
                ask(store, number)
            many = settled_kb()
            figures = {
                "users_memory_1000_over_10": many / few,
                "memory_per_user_kb": (many - few) / (MANY - FEW),
                "connections": float(descriptors(Path(home))),
                "descriptors": float(len(list(Path("/proc/self/fd").iterdir()))),
                "threads": float(threading.active_count() - before),
            }
    print(f"{MANY:,} users with {TURNS:,} turns each; own memory {few:,} kB, then {many:,} kB")
    for name, value in figures.items():
        print(f"{name}: {value:.2f}")
    return figures


def ask(store: Store, number: int) -> None:
    """Ask a user about something they said."""
    turn = next(Speech(number % DIFFERENT).turns())
    hits = store.user(f"user-{number}").search(Speech(0).question(turn))
    if not hits:
        raise AssertionError(f"user-{number} finds nothing.")


def fill(home: Path) -> None:
    """Store and index the turns of all users."""
    with Store.open(home, storage={"synchronous": "normal"}) as store:
        for number in range(MANY):
            memory = store.user(f"user-{number}")
            memory.append_many(memory.agent(User("bench", "bench", "chat")), said(number))
        store.user("user-0")._parts.shared.index_worker.run_until_idle()


def said(number: int) -> list[UserMessage]:
    return list(islice(Speech(number % DIFFERENT).turns(), TURNS))


def settled_kb() -> int:
    """Return the memory of this process in kB, after what is garbage is gone."""
    gc.collect()
    return own_memory_kb()


def descriptors(home: Path) -> int:
    """Count the open descriptors of database files in the home: the file, its log and its shared memory."""
    open_files = (link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink())
    return sum(".db" in file.name and home.resolve() in file.parents for file in open_files)


if __name__ == "__main__":
    fill(Path(sys.argv[1]))
