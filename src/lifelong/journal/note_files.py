"""Worker notes as files: the few things they need of a file system, the real one, and what stands in a folder.

<folder>/<key>.md           a note
<folder>/compacted.md       what became of older notes
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from lifelong.journal.files import alone, make_folder, settle

COMPACTED = "compacted"

_NOTE = re.compile(r"""([\w-][^\x00-\x1f"<>\ud800-\udfff]*)\.md""")  # people name theirs more freely than workers


class FileSystem(Protocol):
    """The few things that notes need of one. `modified` is in nanoseconds since 1970."""

    def names(self, folder: Path) -> list[str]:
        """What stands in the folder, sorted; nothing where there is none."""

    def stat(self, path: Path) -> tuple[int, int] | None:
        """Size and time of change of a regular file; none for anything else, links included."""

    def read(self, path: Path) -> bytes | None: ...

    def write(self, path: Path, data: bytes, modified: int) -> None:
        """Durable and whole on return, or not there at all. Makes the folders above."""

    def swap(self, path: Path, before: bytes | None, after: bytes | None, modified: int | None = None) -> bool:
        """Put `after` in the place of `before`, if that is what the file holds, in one step that no other swap
        comes between; whether it did. None: no file. Makes the folders above."""

    def guard(self, folder: Path) -> AbstractContextManager[bool]:
        """Whether nobody else, in any process, holds the folder's guard; held until the context ends."""


class Disk:
    """The real file system. Files are their owner's alone."""

    def names(self, folder: Path) -> list[str]:
        try:
            return sorted(path.name for path in folder.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def stat(self, path: Path) -> tuple[int, int] | None:
        with suppress(FileNotFoundError, NotADirectoryError):
            found = path.lstat()
            if stat.S_ISREG(found.st_mode):
                return found.st_size, found.st_mtime_ns
        return None

    def read(self, path: Path) -> bytes | None:
        with suppress(FileNotFoundError):
            return path.read_bytes() if self.stat(path) else None
        return None

    def write(self, path: Path, data: bytes, modified: int | None = None) -> None:
        make_folder(path.parent)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(handle)
            if modified is not None:
                os.utime(name, ns=(modified, modified))
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        settle(path.parent)

    def swap(self, path: Path, before: bytes | None, after: bytes | None, modified: int | None = None) -> bool:
        make_folder(path.parent)
        with alone(Path(f"{path.parent}.lock"), wait=True):
            if self.read(path) != before:
                return False
            if after is not None:
                self.write(path, after, modified)
            else:
                path.unlink(missing_ok=True)
                settle(path.parent)
        return True

    def guard(self, folder: Path) -> AbstractContextManager[bool]:
        return alone(Path(f"{folder}.compaction.lock"), wait=False)


DISK = Disk()


class Note(NamedTuple):
    modified: int
    key: str
    data: bytes


def total_memory_size(folder: Path, *, files: FileSystem = DISK) -> int:
    """The bytes of all notes, `compacted.md` included."""
    return sum(size for _, (size, _) in listed(folder, files))


def path_of(folder: Path, key: str) -> Path:
    return folder / f"{key}.md"


def text_of(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")


def listed(folder: Path, files: FileSystem) -> Iterator[tuple[str, tuple[int, int]]]:
    """The key, size and time of change of every note."""
    for name in files.names(folder):
        if (named := _NOTE.fullmatch(name)) and (found := files.stat(folder / name)):
            yield named[1], found


def notes_in(folder: Path, files: FileSystem) -> list[Note]:
    """What was compacted before, then the notes, oldest first."""
    found = [(m, key, files.read(path_of(folder, key))) for key, (_, m) in listed(folder, files)]
    notes = [Note(modified, key, data) for modified, key, data in found if data is not None]
    return sorted(notes, key=lambda note: (note.key != COMPACTED, note))
