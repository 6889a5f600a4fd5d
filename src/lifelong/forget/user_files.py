"""The files of a user as they are: journal, archive, notes. An export and a backup take them along."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, NamedTuple

from lifelong.disk import is_own_file, make_folder, open_own, raise_unreadable, sync
from lifelong.journal.files import JournalFiles, failed

log = logging.getLogger("lifelong.forget")

DERIVED_FOLDERS = ("tmp", "index")
"""Folders of a user with nothing of their own: locks, previous versions, and files made of vectors."""


class CopiedFile(NamedTuple):
    """A file that was copied: its path below the folder, its size, its checksum, and when it was changed last."""

    path: str
    bytes: int
    sha256: str
    modified: int


def user_files(folder: Path) -> Iterator[Path]:
    """Give the user's own files, in the order of their paths. A link to another of them counts as the file, as
    everywhere; what a link leads to elsewhere does not count, nor do folders behind a link, pipes and devices.
    Raise `JournalError` for what cannot be looked at: a copy without it would not be whole."""
    try:
        for top, folders, names in os.walk(folder, onerror=raise_unreadable):
            here = Path(top)
            folders[:] = sorted(name for name in folders if not (here == folder and name in DERIVED_FOLDERS))
            for name in sorted(names):
                if name.endswith(".lock"):
                    continue
                if is_own_file(here / name, folder):
                    yield here / name
                else:
                    log.warning("%s is left out: it is not a file of the user's folder", here / name)
    except OSError as error:
        raise failed("read", Path(error.filename or folder), error) from error


def open_user_file(path: Path, folder: Path) -> BinaryIO:
    """Open one of the user's own files for reading bytes. Raise `JournalError` where that cannot be done."""
    try:
        return os.fdopen(open_own(path, folder), "rb")
    except OSError as error:
        raise failed("read", path, error) from error


def copy_user_files(folder: Path, target: Path) -> list[CopiedFile]:
    """Copy the user's own files, durable on return. The journal's writers wait meanwhile."""
    copied: list[CopiedFile] = []
    with ExitStack() as held:
        if folder.is_dir():
            held.enter_context(JournalFiles(folder).writing())
        for place in user_files(folder):
            path = place.relative_to(folder)
            copied.append(copy_file(place, target / path, folder)._replace(path=path.as_posix()))
    return copied


def copy_file(source: Path, target: Path, root: Path) -> CopiedFile:
    """Copy a file of the folder `root` with the time of its change, for its owner alone, durable on return."""
    make_folder(target.parent)
    digest, size = hashlib.sha256(), 0
    with open_user_file(source, root) as reading, open_private(target) as writing:
        modified = os.fstat(reading.fileno()).st_mtime_ns
        while chunk := reading.read(1 << 20):
            writing.write(chunk)
            digest.update(chunk)
            size += len(chunk)
        writing.flush()
        os.fsync(writing.fileno())
    os.utime(target, ns=(modified, modified))
    return CopiedFile(target.name, size, digest.hexdigest(), modified)


def open_private(path: Path) -> BinaryIO:
    """Open a new file for writing bytes, for its owner alone."""
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")


def sync_folders(folder: Path) -> None:
    """Make the entries of a folder, and of all below it, survive a power cut."""
    for top, _, _ in os.walk(folder):
        sync(Path(top))


def remove_folder(folder: Path) -> None:
    """Remove a folder and all in it, if it is there."""
    shutil.rmtree(folder, ignore_errors=True)
