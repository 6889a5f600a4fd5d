"""O26, O28, S1: compactions that are killed in the middle, while two processes append, lose nothing.

Run as a program this file is one of those processes:

    python -m tests.test_compaction_crash append|compact FOLDER NAME
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from lifelong.journal.compaction import Compaction, CompactionLimits, split_lines
from lifelong.journal.files import JournalFiles
from lifelong.journal.records import JournalRecord, encode, looks_like_record, parse, render
from lifelong.journal.service import JournalService
from lifelong.settings import ContinuitySettings

NOW = datetime(2026, 3, 12, tzinfo=UTC)
OLD = NOW - timedelta(days=30)
BY_HAND = "By hand: never touch this \udcff line.\r\n"


def record(name: str, number: int) -> JournalRecord:
    """Every fourth one must be kept."""
    category = "turn-summary" if number % 4 else "learned"
    text = f"{name.title()} sold kayak {number} to Ada in Oslo for {number * 7} euros, not to Ben."
    return JournalRecord(f"{name}-{number}", "s", category, text, "cli", 1.0, OLD, "operational")


def compaction(folder: Path) -> Compaction:
    limits = CompactionLimits(max_records=100, max_chars=20_000, long_memory_max_chars=4_000)
    return Compaction(JournalFiles(folder), lambda: NOW, UTC, limits)


def main(task: str, folder: Path, name: str) -> None:
    journal = JournalService(ContinuitySettings(journal_enabled=True), folder, lambda: NOW)
    print("ready", flush=True)
    for number in count():
        if task == "append":
            journal.append(record(name, number))
            print(number, flush=True)
        else:
            print(compaction(folder).run(force=True).reason, flush=True)


@contextmanager
def process(task: str, folder: Path, name: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.test_compaction_crash", task, str(folder), name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent) as started:
        assert started.stdout
        try:
            assert started.stdout.readline() == "ready\n"
            yield started
        finally:
            started.kill()


def check(folder: Path, written: dict[str, bytes]) -> None:
    """Every line is whole; what must be kept is in MEMORY.md, once; the rest there or in the archive."""
    files = JournalFiles(folder)
    page = parse(files.memory.read_bytes())
    odd = [line.raw for line in page if line.record is None]
    assert not any(looks_like_record(raw) for raw in odd), odd
    assert "".join(odd).startswith(f"# Memory\n\n{BY_HAND}")
    there = Counter(encode(line.raw) for line in page)
    archive = set(split_lines(b"".join(path.read_bytes() for path in files.archive_folder.glob("compacted-*.md"))))
    for name, raw in written.items():
        if b'"learned"' in raw:
            assert there[raw] == 1, f"{name} must be kept"
        else:
            assert there[raw] == 1 or raw in archive, f"{name} is lost"
    assert max(there.values()) == 1
    keys = [
        line.split("<!-- ")[1] for line in files.long_memory.read_text().splitlines() if line.startswith("## ")
    ]
    assert len(keys) == len(set(keys)), "told twice"


@pytest.mark.parametrize("kills", [5, pytest.param(50, marks=pytest.mark.soak)])
def test_killed_compactions_lose_nothing(tmp_path: Path, kills: int) -> None:
    """O26, O28, S1: SIGKILL at random points of a compaction, two processes appending."""
    chance = random.Random(kills)
    folder = tmp_path / "user"
    files = JournalFiles(folder)
    start = {f"start-{number}": encode(render(record("start", number))) for number in range(800)}
    with files.writing():
        files.append(files.memory, encode(BY_HAND) + b"".join(start.values()), "# Memory\n\n")
    finished = 0
    with ExitStack() as others:
        writers = {name: others.enter_context(process("append", folder, name)) for name in ("left", "right")}
        for number in range(kills):
            with process("compact", folder, "") as victim:
                assert victim.stdout
                if number % 2:
                    victim.stdout.readline()
                time.sleep(chance.uniform(0, 0.2))
                victim.kill()
                finished += victim.stdout.read().count("\n") + number % 2
            assert files.memory.exists()
        written = start.copy()
        for name, writer in writers.items():
            assert writer.poll() is None, "an appending process must not fail"
            writer.kill()
            assert writer.stdout
            said = [int(line) for line in writer.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
            assert said
            written |= {f"{name}-{number}": encode(render(record(name, number))) for number in said}
    files.append(files.memory, b"")  # ends a half line, if the writers were killed within one
    assert finished
    check(folder, written)
    result = compaction(folder).run(force=True)
    assert result.ran, "the lock is free"
    check(folder, written)


class Killed(BaseException):
    """Nothing in the code catches it, as nothing can catch a SIGKILL."""


def test_a_compaction_killed_at_any_step_is_made_up_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O28, O29, S1: before every write, sync, link and rename in turn; the next run mends it, and nothing is
    told twice."""
    written = {f"start-{number}": encode(render(record("start", number))) for number in range(120)}
    for step in count(1):
        folder = tmp_path / str(step)
        files = JournalFiles(folder)
        with files.writing():
            files.append(files.memory, encode(BY_HAND) + b"".join(written.values()), "# Memory\n\n")
        left = step

        def counted(call: Callable[..., object], *given: object) -> object:
            nonlocal left
            left -= 1
            if left == 0:
                raise Killed
            return call(*given)

        with monkeypatch.context() as patched:
            for name in ("write", "fsync", "link", "replace", "rename"):
                patched.setattr(os, name, partial(counted, getattr(os, name)))
            killed = False
            try:
                compaction(folder).run()
            except Killed:
                killed = True
        files.long_memory.touch()
        check(folder, written)
        again = compaction(folder).run()
        assert again.ran is (again.records_before > 100)
        check(folder, written)
        assert files.long_memory.read_text().count("\n## ") == 1
        if not killed:
            break
    assert step > 8


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
