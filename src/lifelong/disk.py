"""How files and folders are made, written and read, for every part that keeps some: whole, synced, for their owner
alone, and never outside of the folder that they belong to.
"""

from __future__ import annotations

import errno
import glob
import logging
import os
import shutil
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

LINKED_AWAY = "it is a link that points out of its folder; put the file itself there"
MIN_FREE_BYTES = 1 << 20  # that a database needs to do anything at all
NOT_A_FILE = "it is not a file; remove it"
MAX_KEPT_BYTES = 200  # of a file's name that the name of its unfinished copy has

log = logging.getLogger("lifelong")


def make_folder(path: Path) -> None:
    """Make a folder and those above it, readable by their owner only, durable on return."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
        sync(path.parent)


def sync(path: Path) -> None:
    """Make the content of a file, or the entries of a folder, survive a power cut."""
    if os.name == "nt" and path.is_dir():
        return  # Windows opens no folders, and keeps their entries by itself
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_all(handle: int, data: bytes) -> None:
    """Write all of it, durable on return."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
    os.fsync(handle)


def write_new(path: Path, data: bytes) -> None:
    """Write a file that is not there yet, for its owner alone, durable on return. It is there whole or not at all:
    until then it has another name. Raise `FileExistsError` where there is one."""
    part = unfinished(path)
    handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        try:
            write_all(handle, data)
        finally:
            os.close(handle)
        give_name(part, path)
    finally:
        part.unlink(missing_ok=True)
        if os.path.lexists(path):  # what killed writers left; who still writes is told that the file exists
            remove_unfinished(path)


def unfinished(path: Path) -> Path:
    """Return a name for a file until it is whole. A killed writer leaves it; `list_unfinished` finds it."""
    return path.with_name(f".{_kept(path)}.{os.urandom(8).hex()}.new")


def list_unfinished(path: Path) -> list[Path]:
    """Return what writers of a file have not finished, or left when they were killed; nothing of a folder that
    cannot be looked at."""
    try:
        return sorted(path.parent.glob(f".{glob.escape(_kept(path))}.*.new*"))
    except OSError as error:
        log.warning("what is left beside %s cannot be listed: %s", path.name, error.strerror)
        return []


def _kept(path: Path) -> str:
    return os.fsencode(path.name)[:MAX_KEPT_BYTES].decode(errors="ignore")


def remove_unfinished(path: Path) -> None:
    """Remove what writers of a file have left."""
    for left in list_unfinished(path):
        with suppress(OSError):
            left.unlink()


def give_name(part: Path, target: Path) -> None:
    """Give a complete file its name, durable on return. Raise `FileExistsError` where the name is taken."""
    try:
        os.link(part, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        part.rename(target)
    try:
        sync(target.parent)
    except OSError:
        target.unlink(missing_ok=True)  # who is told that it failed writes it again
        raise


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder, sorted; empty where there is no folder. Raise `OSError` where it cannot be
    looked at, as `Path.glob` does only sometimes."""
    try:
        return sorted(place.name for place in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def raise_unreadable(error: OSError) -> None:
    """Raise what `os.walk` passes over as if nothing were there: a folder that cannot be looked at."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error


def files_below(folder: Path, unreadable: Callable[[OSError], object] = raise_unreadable) -> list[Path]:
    """Return the files in a folder and in those below it, sorted; empty where there is no folder. What cannot be
    looked at is given to `unreadable`, or raised: `Path.rglob` passes over it, as if nothing were there."""

    def note(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            unreadable(error)

    return sorted(Path(top, name) for top, _, names in os.walk(folder, onerror=note) for name in names)


def is_own_file(path: Path, root: Path) -> bool:
    """Return whether there is a regular file, in this folder or in one below it. A link counts as what it points
    to, as long as that is in the folder, too. Raise `OSError` where that cannot be seen: what is taken for no file
    is left out of a backup."""
    try:
        _check_inside(path, root)
        return stat.S_ISREG(path.stat().st_mode)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return False
        raise


def open_own(path: Path, root: Path, flags: int = os.O_RDONLY) -> int:
    """Open a regular file in this folder or in one below it, and return its handle. Raise `OSError` for a link
    that points elsewhere, and for a folder, a pipe or a device."""
    _check_inside(path, root)
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o600)  # or a pipe would keep us waiting
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, NOT_A_FILE, str(path))
    return handle


def read_own(path: Path, root: Path) -> bytes:
    """Return the content of a regular file in this folder, or raise `OSError`: see `open_own`."""
    with os.fdopen(open_own(path, root), "rb") as file:
        return file.read()


def _check_inside(path: Path, root: Path) -> None:
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise OSError(errno.ELOOP, LINKED_AWAY, str(path))


def free_bytes(folder: Path) -> int:
    """Return how much room is left for the owner's files; a lot where nobody can say."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return sys.maxsize


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file or folder from any other; none where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def open_to_others(path: Path, allowed: int = 0o700) -> str:
    """Return the mode of a file or folder that gives other users of the machine more than `allowed`; else ""."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return ""
    return f"{mode:o}" if os.name != "nt" and mode & 0o777 & ~allowed else ""
