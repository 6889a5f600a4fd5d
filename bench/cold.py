"""The first search of a new process: how long it takes, imports included, and how much memory of its own it needs.

    python -m bench.cold HOME

prints milliseconds and megabytes. Nothing else is imported here: a program that uses lifelong imports no more.
"""

import time

started = time.perf_counter()

import sys  # noqa: E402

from lifelong import Memory  # noqa: E402


def own_memory_kb() -> int:
    """Return the memory in kB that this process has for itself: pages that no file backs."""
    with open("/proc/self/status", encoding="ascii") as lines:  # noqa: PTH123
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


if __name__ == "__main__":
    with Memory.open(sys.argv[1]) as memory:
        memory.search("What did Ada say about the last week?")
        print((time.perf_counter() - started) * 1000, own_memory_kb() / 1024)
