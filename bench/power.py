"""Power cuts, without a power switch: what a disk may hold after one, made from a trace of a real process.

`strace` writes down every call by which a process changes files, SQLite's included, and what it said meanwhile.
The calls are played back on a model of a disk that keeps its promises and nothing else:

- what was written is there once the file was synced; before, each write is there, missing, or torn at a sector;
- a name (made, renamed, linked, removed) is there once its folder was synced; before that, the changes of a folder
  are there up to some point. A change of two folders happens in both or in neither.

At any call the model can be asked for a disk as it may be after a cut. The home is opened from it, and everything
that was acknowledged until then must be there. Pages that are written through a map are not traced: those of
vector segments, which are derived and so count as torn, and those of SQLite's `-shm`, which outlives no crash.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass, field
from multiprocessing import get_context
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from bench.deeds import STAGE_NAMES, Found, Said, check, read_said

SECTOR = 512
KEPT, TORN = 0.5, 0.65  # of the unsynced writes this share is kept, up to that one torn, the rest is missing
NAMES_KEPT = 0.7  # how likely each change of a folder that was not synced is there
CALLS = (
    "open,openat,creat,close,lseek,write,pwrite64,writev,pwritev,ftruncate,truncate,fallocate,fsync,fdatasync,"
    "rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,rmdir,"
    "copy_file_range,sendfile"
)
HOMES_AT_A_TIME = 4
DRAIN_EVERY = 10  # every tenth home must also get its work done, which takes longer


class Call(NamedTuple):
    """A finished call: its name, its arguments as strace writes them, what it returned, and how many calls had
    finished before it began."""

    name: str
    arguments: list[str]
    result: int
    began: int


_START = re.compile(r"(\d+) +(\w+)\((.*)\Z", re.DOTALL)
_RESUMED = re.compile(r"(\d+) +<\.\.\. (\w+) resumed>(.*)\Z", re.DOTALL)
_RESULT = re.compile(r"\) += (-?\d+)[^=]*\Z")
_HEX = re.compile(r"\\x([0-9a-f]{2})")
_ARGUMENT = re.compile(r'"[^"]*"(?:\.\.\.)?|\[[^\]]*\]|\{[^}]*\}|[^,]+')


def read_calls(log: Path) -> list[Call]:
    """Return the calls of a trace that succeeded, in the order in which they finished."""
    calls: list[Call] = []
    begun: dict[str, tuple[str, str, int]] = {}
    with log.open(encoding="latin-1") as lines:
        for line in lines:
            if found := _START.match(line.rstrip("\n")):
                pid, name, rest = found.groups()
                if rest.endswith("<unfinished ...>"):
                    begun[pid] = (name, rest.removesuffix("<unfinished ...>").rstrip(), len(calls))
                    continue
                began = len(calls)
            elif found := _RESUMED.match(line.rstrip("\n")):
                pid, name, end = found.groups()
                _, rest, began = begun.pop(pid)
                rest += end
            else:
                continue
            if (result := _RESULT.search(rest)) and int(result[1]) >= 0:
                arguments = [one.strip() for one in _ARGUMENT.findall(rest[: result.start()])]
                calls.append(Call(name, arguments, int(result[1]), began))
    return calls


def _bytes(argument: str) -> bytes:
    return bytes.fromhex("".join(_HEX.findall(argument)))


def _path(argument: str) -> str:
    """Return a path. Those of the processes that are traced are all absolute, but for the system's own."""
    text = _bytes(argument).decode("utf-8", "surrogateescape")
    return text.rstrip("/") or "/"


def _handle(argument: str) -> int:
    return int(argument)


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes at a place of a file, and the number of the call; with `cut`, the file ends at that place."""

    at: int
    data: bytes
    number: int = 0
    cut: bool = False


@dataclass(eq=False)
class File:
    """A file's content: what was synced, and what was done to it since."""

    synced: bytes = b""
    pending: list[Write] = field(default_factory=list)
    size: int = 0
    is_folder: bool = False

    def write(self, at: int, data: bytes, number: int) -> None:
        self.pending.append(Write(at, data, number))
        self.size = max(self.size, at + len(data))

    def truncate(self, size: int, number: int) -> None:
        self.pending.append(Write(size, b"", number, cut=True))
        self.size = size

    def sync(self, before: int) -> None:
        """Have on the disk for good what calls before this one wrote: a sync covers no write that came after it
        began."""
        done = sum(one.number < before for one in self.pending)
        self.synced = _apply(self.synced, self.pending[:done])
        del self.pending[:done]

    def content(self) -> bytes:
        return _apply(self.synced, self.pending)

    def after_cut(self, chance: random.Random) -> bytes:
        """Return what may be on the disk."""
        survived: list[Write] = []
        for one in self.pending:
            luck = chance.random()
            if luck < KEPT:
                survived.append(one)
            elif luck < TORN and not one.cut and len(one.data) > 1:
                sectors = range(0, len(one.data), SECTOR)
                kept = chance.randrange(len(sectors)) if len(sectors) > 1 else 0
                torn = one.data[: kept * SECTOR] if kept else one.data[: chance.randrange(len(one.data))]
                survived.append(Write(one.at, torn))
        return _apply(self.synced, survived)


def _apply(content: bytes, writes: Sequence[Write]) -> bytes:
    if not writes:
        return content
    data = bytearray(content)
    for one in writes:
        if one.cut:
            del data[one.at :]
        if len(data) < one.at:
            data += bytes(one.at - len(data))
        data[one.at : one.at + len(one.data)] = one.data
    return bytes(data)


class NameChange(NamedTuple):
    """One change of names: each path and the file it stands for from now on (none: for nothing), the folders that
    it changes, and the number of the call."""

    names: tuple[tuple[str, File | None], ...]
    folders: frozenset[str]
    number: int


class Disk:
    """A disk below one folder, as a trace changes it."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.names: dict[str, File] = {self.root: File(is_folder=True)}
        self.durable = dict(self.names)
        self.changes: list[NameChange] = []  # of names, that were not synced
        self.said = b""
        self._handles: dict[int, tuple[File, int, bool]] = {}  # by number: the file, the place, whether it appends
        self._number = 0  # of the call that is applied

    def apply(self, call: Call, number: int) -> bool:
        """Do what a call did. Return whether that changed the disk, or said something."""
        self._number = number
        name, arguments = call.name, call.arguments
        match name:
            case "open" | "openat" | "creat":
                return self._open(call)
            case "close":
                self._handles.pop(_handle(arguments[0]), None)
            case "lseek":
                if known := self._handles.get(_handle(arguments[0])):
                    self._handles[_handle(arguments[0])] = (known[0], call.result, known[2])
            case "write" if _handle(arguments[0]) == 1:
                self.said += _bytes(arguments[1])[: call.result]
                return True
            case "write":
                return self._write(_handle(arguments[0]), _bytes(arguments[1])[: call.result])
            case "pwrite64":
                if file := self._file(arguments[0]):
                    file.write(int(arguments[3]), _bytes(arguments[1])[: call.result], number)
                    return True
            case "ftruncate" | "truncate":
                file = self._file(arguments[0]) if name == "ftruncate" else self.names.get(_path(arguments[0]))
                if file:
                    file.truncate(int(arguments[1]), number)
                    return True
            case "fallocate":
                if (file := self._file(arguments[0])) and (
                    end := int(arguments[2]) + int(arguments[3])
                ) > file.size:
                    file.truncate(end, number)
                    return True
            case "fsync" | "fdatasync":
                return self._sync(arguments[0], call.began)
            case "copy_file_range" | "sendfile":
                return self._copy(call)
            case "writev" | "pwritev":
                assert not self._file(arguments[0]), f"{name} to a file is not modelled"
            case "symlink" | "symlinkat":
                assert not arguments[-1].startswith(self.root), "links are not modelled"
            case _:
                return self._rename(name, arguments)
        return False

    def _open(self, call: Call) -> bool:
        path = _path(call.arguments[1] if call.name == "openat" else call.arguments[0])
        flags = call.arguments[2] if call.name == "openat" else call.arguments[1]
        if call.name == "creat":
            flags = "O_CREAT|O_TRUNC|O_WRONLY"
        if not self._is_ours(path):
            self._handles.pop(call.result, None)
            return False
        changed = False
        if path not in self.names:
            if "O_CREAT" not in flags:
                return False
            self._name((path, File()))
            changed = True
        file = self.names[path]
        if "O_TRUNC" in flags and file.size:
            file.truncate(0, self._number)
            changed = True
        self._handles[call.result] = (file, 0, "O_APPEND" in flags)
        return changed

    def _write(self, number: int, data: bytes) -> bool:
        if number not in self._handles or not data:
            return False
        file, at, appends = self._handles[number]
        at = file.size if appends else at
        file.write(at, data, self._number)
        self._handles[number] = (file, at + len(data), appends)
        return True

    def _copy(self, call: Call) -> bool:
        if call.name == "copy_file_range":
            source, target = self._file(call.arguments[0]), _handle(call.arguments[2])
        else:
            source, target = self._file(call.arguments[1]), _handle(call.arguments[0])
        if target not in self._handles:
            return False
        assert source, "what is copied comes from the same disk"
        at = self._handles[target][1]  # both read and write from the beginning on
        return self._write(target, source.content()[at : at + call.result])

    def _sync(self, argument: str, began: int) -> bool:
        file = self._file(argument)
        if not file:
            return False
        if file.is_folder:
            path = next(path for path, one in self.names.items() if one is file)
            self._sync_names(path, began)
        else:
            file.sync(began)
        return True

    def _sync_names(self, folder: str, before: int) -> None:
        """Have every change of this folder by an earlier call on the disk, and those that they rest on."""
        wanted: set[int] = set()
        folders = {folder}
        for number in range(len(self.changes) - 1, -1, -1):
            if self.changes[number].number < before and self.changes[number].folders & folders:
                wanted.add(number)
                folders |= self.changes[number].folders
        for number, change in enumerate(self.changes):
            if number in wanted:
                _rename(self.durable, change)
        self.changes = [change for number, change in enumerate(self.changes) if number not in wanted]

    def _rename(self, name: str, arguments: list[str]) -> bool:
        paths = [_path(one) for one in arguments if one.startswith('"')]
        ours = [self._is_ours(path) for path in paths]
        if not any(ours):
            return False
        assert all(ours), f"{name} between disks: {paths}"
        if name.startswith("mkdir"):
            self._name((paths[0], File(is_folder=True)))
        elif name.startswith(("unlink", "rmdir")):
            self._name((paths[0], None))
        elif name.startswith("link"):
            self._name((paths[1], self.names[paths[0]]))
        else:
            below = [path for path in self.names if path.startswith(f"{paths[0]}/")]
            moved = [(path, paths[1] + path[len(paths[0]) :]) for path in (paths[0], *below)]
            self._name(
                *((new, self.names[old]) for old, new in moved), *((old, None) for old, _ in moved), of=paths
            )
        return True

    def _name(self, *names: tuple[str, File | None], of: Sequence[str] = ()) -> None:
        folders = {str(PurePosixPath(path).parent) for path in of or [path for path, _ in names]}
        change = NameChange(names, frozenset(folders), self._number)
        _rename(self.names, change)
        self.changes.append(change)

    def after_cut(self, chance: random.Random) -> dict[str, bytes | None]:
        """Return the files that may be there after a power cut now, by path; None for a folder."""
        names, stopped = dict(self.durable), set[str]()
        for change in self.changes:
            if change.folders & stopped or chance.random() > NAMES_KEPT:
                stopped |= change.folders
            else:
                _rename(names, change)
        contents: dict[File, bytes | None] = {}
        for file in names.values():
            if file not in contents:
                contents[file] = None if file.is_folder else file.after_cut(chance)
        return {path: contents[file] for path, file in names.items() if self._is_reachable(path, names)}

    def _is_reachable(self, path: str, names: dict[str, File]) -> bool:
        parents = [str(parent) for parent in PurePosixPath(path).parents]
        inner = parents[: parents.index(self.root)] if self.root in parents else []
        return all(parent in names and names[parent].is_folder for parent in inner)

    def _is_ours(self, path: str) -> bool:
        return path == self.root or path.startswith(f"{self.root}/")

    def _file(self, argument: str) -> File | None:
        known = self._handles.get(_handle(argument))
        return known[0] if known else None


def _rename(names: dict[str, File], change: NameChange) -> None:
    for path, file in change.names:
        if file is None:
            names.pop(path, None)
        else:
            names[path] = file


def trace(folder: Path, name: str, seed: int, steps: int) -> list[Call]:
    """Have a process do so many things to a new home in the folder. Return its calls."""
    log = folder.with_suffix(".strace")
    command = [
        "strace",
        "-f",
        "-xx",
        "-s",
        "100000000",
        "-o",
        str(log),
        "-e",
        f"trace={CALLS}",
        "-e",
        "signal=none",
    ]
    doer = [sys.executable, "-m", "bench.deeds", str(folder / "home"), "{}", name, str(seed), "0", str(steps)]
    done = subprocess.run(
        [*command, *doer], capture_output=True, cwd=Path(__file__).parent.parent, check=False, timeout=600
    )
    if done.returncode:
        raise RuntimeError(f"the traced process failed: {done.stderr.decode(errors='replace')[-2000:]}")
    try:
        return read_calls(log)
    finally:
        log.unlink()


@dataclass
class Cuts:
    """How many cuts there were, in which stages, and what was lost or doubled by them."""

    cuts: int = 0
    stages: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    found: Found = field(default_factory=Found)

    def problems(self) -> list[str]:
        return [*self.found.lost, *self.found.doubled, *self.found.broken]


def run_cuts(
    cuts: int,
    seed: int,
    folder: Path,
    *,
    steps: int = len(STAGE_NAMES) + 6,
    homes: int = 8,
    seconds: float = float("inf"),
) -> Cuts:
    """Trace some processes, each on a home of its own, cut the power at random calls, and check every home.
    After so many seconds no further cut is made."""
    end, total = time.time() + seconds, Cuts()
    shares = [cuts // homes + (number < cuts % homes) for number in range(homes)]
    jobs = [(share, seed + number, folder / f"disk{number}", steps, end) for number, share in enumerate(shares)]
    if homes == 1:
        return _cut_one_home(*jobs[0])
    with ProcessPoolExecutor(HOMES_AT_A_TIME, mp_context=get_context("spawn")) as pool:
        for done in pool.map(_cut_one_home, *zip(*jobs, strict=True)):
            total.cuts += done.cuts
            total.acknowledged = max(total.acknowledged, done.acknowledged)
            total.stages += done.stages
            total.found += done.found
    return total


def _cut_one_home(cuts: int, seed: int, place: Path, steps: int, end: float) -> Cuts:
    chance, total = random.Random(seed), Cuts()
    if time.time() > end:
        return total
    place.mkdir(parents=True)
    calls = trace(place, f"p{seed}", seed, steps)
    shutil.rmtree(place)
    for disk, stage, said in _cuts(calls, place, cuts, chance):
        _write(disk.after_cut(chance), place)
        found = check(place / "home", {}, said, day=2_000, drain=total.cuts % DRAIN_EVERY == 0)
        total.cuts += 1
        total.stages[stage] += 1
        total.acknowledged = max(total.acknowledged, sum("ok" in one for one in said))
        total.found += Found(*([f"{stage}: {one}" for one in some] for some in astuple(found)))
        shutil.rmtree(place)
        if time.time() > end:
            break
    return total


def _cuts(
    calls: Sequence[Call], root: Path, cuts: int, chance: random.Random
) -> Iterator[tuple[Disk, str, list[Said]]]:
    """Give the disk at so many random calls that change it, the stage, and what was said until then."""
    disk = Disk(root)
    points = [number for number, call in enumerate(calls) if disk.apply(call, number)]
    chosen = set(chance.sample(points, min(cuts, len(points))))
    disk = Disk(root)
    for number, call in enumerate(calls):
        disk.apply(call, number)
        if number in chosen:
            said = read_said(disk.said)
            stage = next((one["do"] for one in reversed(said) if "do" in one), "open")
            yield disk, stage, said


def _write(image: dict[str, bytes | None], root: Path) -> None:
    """Write a disk to its folder, so that every path in it is the one that the process knew."""
    for path, content in sorted(image.items()):
        if content is None:
            Path(path).mkdir(mode=0o700, exist_ok=True)
        elif not path.endswith("-shm"):
            Path(path).touch(mode=0o600)
            Path(path).write_bytes(content)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as scratch:
        result = run_cuts(int(sys.argv[1]), int(sys.argv[2]), Path(scratch))
    print(
        json.dumps({"cuts": result.cuts, "stages": result.stages, "acknowledged": result.acknowledged}, indent=1)
    )
    print("\n".join(result.problems()))
