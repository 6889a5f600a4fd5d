"""`lifelong restore`: a backup becomes a home's database, or nothing changes."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from lifelong.errors import InputError, NewerDatabase, StorageCorrupt, StorageError, StorageUnavailable
from lifelong.home import Home
from lifelong.journal.files import sync
from lifelong.memory import Memory
from lifelong.settings import Settings
from lifelong.storage.base import FULL_TEXT_DAMAGED
from lifelong.types import utc_now
from lifelong.validation import validate_path

log = logging.getLogger("lifelong.serve")

SQLITE = {"url": ""}
PART = ".restore-"  # how the folder begins in which a backup is checked
SHARED = (510, 0x4000_0002)  # the bytes that SQLite locks for those who have a database open: how many, from where
LOGS = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a database


class Restored(NamedTuple):
    """Where the backup is now, and where the database that it took the place of."""

    database: Path
    kept: Path | None


def restore(source: str | Path, home: str | Path, *, force: bool = False) -> Restored:
    """Check a copy of the backup as a home of its own, then give it the database's name. A database that is there
    is an error, or with `force` is kept beside."""
    file, place = validate_path(source, "The backup"), Home(home)
    place.check()
    if Settings.load(place.settings).storage.url.get_secret_value():
        raise InputError(
            "storage.url names a PostgreSQL, which restores its own backups: use pg_restore, or psql for a dump "
            "in SQL."
        )
    if not file.is_file():
        raise InputError(f"There is no file {file}. Name one that `lifelong backup` wrote.")
    if log := next((log for log in _logs(file) if log.exists() and not log.name.endswith("-shm")), None):
        raise InputError(
            f"{file} is in use, or was not closed: what was stored last is in {log.name}. Make a whole copy with "
            "`lifelong backup`, and restore that."
        )
    there = place.database.exists() and place.database.stat().st_size > 0
    if there and not force:
        raise InputError(
            f"{place.database} is there already. Name an empty home, or add --force to keep it beside."
        )
    place.ensure()
    for left in place.path.glob(f"{PART}*"):  # by one that was killed
        shutil.rmtree(left, ignore_errors=True)
    copy = Home(mkdtemp(prefix=PART, dir=place.path))  # in the same file system, so that a rename will do
    try:
        copy.database.touch(mode=0o600)  # for its owner alone, as every database of a home
        shutil.copyfile(file, copy.database)
        _check(copy, file)
        sync(copy.database)
        kept = _set_aside(place) if there else None
        copy.database.replace(place.database)
        sync(place.path)
    except OSError as error:
        raise StorageUnavailable(
            f"The backup could not be put in place: {error}. Mend it and try again."
        ) from error
    finally:
        shutil.rmtree(copy.path, ignore_errors=True)
    return Restored(place.database, kept)


def _check(copy: Home, file: Path) -> None:
    """Whether it is ours, not newer than we are, and sound. What opening says of the copy, it says of the file."""
    if copy.database.stat().st_size == 0:
        raise StorageCorrupt(f"{file} is empty. Name a file that `lifelong backup` wrote.")
    try:
        with Memory.open(copy.path, storage=SQLITE, continuity={"journal_enabled": False}) as memory:
            problems = memory.admin.check()
            if problems and all(problem.startswith(FULL_TEXT_DAMAGED) for problem in problems):
                log.warning("The full-text index of %s is damaged; it is made again in the background.", file)
                memory.admin.rebuild()
                problems = memory.admin.check()
    except StorageError as error:
        told = str(error).replace(str(copy.database), str(file))
        advice = "Nothing was changed; name a sound file that `lifelong backup` wrote."
        raise type(error)(
            told if isinstance(error, NewerDatabase) else f"{told.split('. ')[0]}. {advice}"
        ) from error
    if problems:
        raise StorageCorrupt(f"{file} is damaged, so it was not put in place: {problems[0]} Take another backup.")


def _set_aside(place: Home) -> Path:
    """The name under which the database that was there is kept, with what belongs to it. A log of the old one
    beside the new one would damage it."""
    kept = place.path / f"lifelong-{utc_now():%Y%m%dT%H%M%S%f}.db"
    try:
        Memory.open(place.path, storage=SQLITE, continuity={"journal_enabled": False}).close()
    except StorageError:  # a damaged one is kept as it is
        held = _locked(place.database)
    else:
        held = _logs(place.database)[0].exists()  # which the last one to close it removes
    if held:
        raise InputError(
            f"Another process works with {place.database}. Stop it (lifelong worker, serve), and try again."
        )
    for log, aside in zip(_logs(place.database), _logs(kept), strict=True):
        with suppress(FileNotFoundError):
            log.rename(aside)
    try:
        os.link(place.database, kept)  # so that at no instant there is no database
    except OSError:  # a file system without hard links
        place.database.rename(kept)
    return kept


def _locked(database: Path) -> bool:
    """Whether another process has it open, though SQLite cannot read it any more."""
    if sys.platform == "win32":  # where a file that is open cannot be renamed
        return False
    from fcntl import LOCK_EX, LOCK_NB, lockf

    with database.open("r+b") as file:
        try:
            lockf(file, LOCK_EX | LOCK_NB, *SHARED)
        except OSError:
            return True
    return False


def _logs(database: Path) -> list[Path]:
    return [database.with_name(database.name + end) for end in LOGS]
