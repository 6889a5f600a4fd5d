"""Measure what a user costs a process that serves many: one store, a thousand users, an add and a search each.

- **memory a user**: growth of the resident memory between FEW and MANY users, over the users between.
- **connections**: open descriptors of the home's database files, with all users open.
- **threads**: threads of this process that the store started, with all users open.

Linux only: the figures are read from /proc/self. Run it in a process of its own, as `python -m bench users` does.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import threading
from pathlib import Path

from lifelong import Memory, Store

FEW, MANY = 10, 1_000


def run() -> dict[str, float]:
    """Open the users one after the other, and measure while all of them are open."""
    if sys.platform != "linux":
        print("Not measured: memory and descriptors are read from /proc, which only Linux has.")
        return {}
    before = threading.active_count()
    with tempfile.TemporaryDirectory() as home, Store.open(home) as store:
        opened = [used(store, number) for number in range(FEW)]
        few = resident_kb()
        opened += [used(store, number) for number in range(FEW, MANY)]
        figures = {
            "memory_per_user_kb": (resident_kb() - few) / (MANY - FEW),
            "connections": float(descriptors(Path(home))),
            "threads": float(threading.active_count() - before),
        }
        print(f"{len(opened):,} users open")
    for name, value in figures.items():
        print(f"{name}: {value:.1f}")
    return figures


def used(store: Store, number: int) -> Memory:
    """Open a user, add one thing and find it."""
    memory = store.user(f"user-{number}")
    memory.add(f"I like tea number {number}.")
    found = [hit.text for hit in memory.search("tea")]
    if not any(f"number {number}." in text for text in found):
        raise AssertionError(f"user-{number} does not find what they said, but {found}.")
    return memory


def resident_kb() -> int:
    """Return the resident memory of this process in kB, after what is garbage is gone."""
    gc.collect()
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def descriptors(home: Path) -> int:
    """Count the open descriptors of database files in the home: the file, its log and its shared memory."""
    open_files = (link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink())
    return sum(".db" in file.name and home.resolve() in file.parents for file in open_files)
