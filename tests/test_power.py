"""C10, S1: the power is cut, and what was acknowledged is there. `make bench PART=fire` makes 1,000 such cuts."""

from __future__ import annotations

import os
import random
import shutil
from itertools import count
from pathlib import Path

import pytest
from bench.deeds import Said, check
from bench.fire import kill_processes
from bench.power import Call, Disk, read_calls, run_cuts

from tests.conftest import absent


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


_numbers = count()


def hexed(text: str | bytes) -> str:
    data = text if isinstance(text, bytes) else text.encode()
    return '"' + "".join(f"\\x{byte:02x}" for byte in data) + '"'


def play(disk: Disk, *calls: tuple[str, list[str], int]) -> Disk:
    """Have calls done one after the other."""
    for (name, arguments, result), number in zip(calls, _numbers, strict=False):
        disk.apply(Call(name, arguments, result, number), number)
    return disk


def images(disk: Disk) -> list[dict[str, bytes | None]]:
    """A hundred disks as they may be after a cut, each file by its name."""
    found = [disk.after_cut(random.Random(seed)) for seed in range(100)]
    return [{os.path.relpath(path, disk.root): data for path, data in one.items()} for one in found]


def make(disk: Disk, name: str, data: bytes) -> list[tuple[str, list[str], int]]:
    return [
        ("openat", ["AT_FDCWD", hexed(f"{disk.root}/{name}"), "O_WRONLY|O_CREAT"], 3),
        ("write", ["3", hexed(data), str(len(data))], len(data)),
    ]


SYNC = ("fsync", ["3"], 0)


def sync_folder(disk: Disk) -> list[tuple[str, list[str], int]]:
    return [("openat", ["AT_FDCWD", hexed(disk.root), "O_RDONLY"], 4), ("fsync", ["4"], 0)]


def test_what_was_not_synced_may_be_there_torn_or_missing(disk: Disk) -> None:
    """The model: a name without its data, data without its name, half of it, all of it."""
    found = images(play(disk, *make(disk, "a", b"x" * 2_000)))
    assert {one.get("a") for one in found} >= {None, b"", b"x" * 512, b"x" * 1_024, b"x" * 2_000}
    assert {one.get("a") for one in images(play(disk, SYNC))} == {None, b"x" * 2_000}, "its name is not synced yet"


def test_what_was_synced_is_there(disk: Disk) -> None:
    """The model: a file with its folder, and its new name."""
    play(disk, *make(disk, "a", b"one"), SYNC, *sync_folder(disk))
    assert all(one["a"] == b"one" for one in images(disk))
    play(disk, ("rename", [hexed(f"{disk.root}/a"), hexed(f"{disk.root}/b")], 0))
    assert {frozenset(one) - {"."} for one in images(disk)} == {frozenset("a"), frozenset("b")}
    play(disk, ("fsync", ["4"], 0))
    assert all((one["b"], "a" in one) == (b"one", False) for one in images(disk))


def test_a_sync_covers_no_write_that_came_after_it_began(disk: Disk, tmp_path: Path) -> None:
    """The model: calls of two threads overlap in the trace, and finish in another order."""
    log = tmp_path / "log"
    path = hexed(f"{disk.root}/a")
    log.write_text(
        f"1 openat(AT_FDCWD, {path}, O_WRONLY|O_CREAT, 0600) = 3\n"
        f"1 write(3, {hexed('old')}, 3) = 3\n"
        "1 fsync(3 <unfinished ...>\n"
        f"2 pwrite64(3, {hexed('new')}, 3, 0) = 3\n"
        "1 <... fsync resumed>) = 0\n"
        f"1 unlink({hexed(f'{disk.root}/none')}) = -1 ENOENT (No such file)\n"
    )
    calls = read_calls(log)
    assert [call.name for call in calls] == ["openat", "write", "pwrite64", "fsync"]
    for number, call in enumerate(calls):
        disk.apply(call, number)
    assert {one.get("a") for one in images(disk)} >= {None, b"old", b"new", b"nld"}


def test_a_home_of_which_something_is_lost_is_noticed(tmp_path: Path) -> None:
    """The proof below can fail."""
    said: list[Said] = [
        {"ok": "record", "id": "r1", "text": "Never stored."},
        {"ok": "backup", "path": "none", "records": 1},
    ]
    said += [{"ok": "line", "text": "Never written."}, {"ok": "note", "key": "a", "text": "Nor this."}]
    assert len(check(tmp_path / "home", {}, said, day=1, drain=False).lost) == 4


def test_a_power_cut_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """C10, S1: at random calls of a process that appends, organizes, compacts, forgets, rebuilds, imports, makes
    backups and exports."""
    if not shutil.which("strace"):
        absent("strace is not installed")
    done = run_cuts(24, 3, tmp_path, homes=1)
    assert done.problems() == []
    assert (done.cuts, len(done.stages) > 5) == (24, True)


@pytest.mark.parametrize("kills", [4, pytest.param(40, marks=pytest.mark.soak)])
def test_a_killed_process_loses_nothing_that_was_acknowledged(tmp_path: Path, kills: int) -> None:
    """C10, O2, O26, S1, S6: SIGKILL at random instants, in whatever stage that is."""
    done = kill_processes(kills, kills, tmp_path)
    assert (done["lost"], done["doubled"], done["broken"]) == (0, 0, 0)
