"""How often an append waits for the disk, counted at SQLite's door to the operating system; and how long."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path
from statistics import median
from typing import Any

import apsw

from bench.databases import MESSAGE, writer_of
from lifelong import Memory, User

APPENDS = 200
PAGES = 4 * 4096  # about what an append writes
SYSTEM = apsw.vfs_names()[0]  # how SQLite reaches files where nobody counts


class _CountedFile(apsw.VFSFile):
    syncs = 0

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        _CountedFile.syncs += 1
        super().xSync(flags)


class _CountedFiles(apsw.VFS):
    """The operating system's files, each sync of one counted."""

    def __init__(self) -> None:
        super().__init__("counted", base=SYSTEM, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        return _CountedFile(SYSTEM, name, flags)


def syncs_per_append(home: Path) -> float:
    """Counted in a process of its own, where nothing else opens files and what is opened is counted."""
    with multiprocessing.get_context("spawn").Pool(1) as process:
        return process.apply(_count, (home,))


def sync_us(folder: Path) -> float:
    """The median time of a sync in this folder, of pages that have their place on the disk already, as
    most of a write-ahead log's do. Every other figure stands on it."""
    sync = getattr(os, "fdatasync", os.fsync)
    times = []
    with (folder / "sync").open("wb", buffering=0) as file:
        for _ in range(APPENDS):
            file.seek(0)
            file.write(bytes(PAGES))
            started = time.perf_counter_ns()
            sync(file.fileno())
            times.append(time.perf_counter_ns() - started)
    return median(times) / 1000


def _count(home: Path) -> float:
    files = _CountedFiles()
    with Memory.open(home) as memory:
        agent = memory.agent(User("bench", "alice", "main"))
        writer_of(memory).wal_autocheckpoint(0)  # its syncs are shared by a thousand pages, not an append's
        memory.append(agent, MESSAGE)
        before = _CountedFile.syncs
        for _ in range(APPENDS):
            memory.append(agent, MESSAGE)
        counted = _CountedFile.syncs - before
    files.unregister()
    return counted / APPENDS
