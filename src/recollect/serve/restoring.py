"""`recollect restore`: a backup becomes a home's database, or nothing changes."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from recollect.config import Settings
from recollect.errors import InputError, NewerDatabase, StorageCorrupt, StorageError, StorageUnavailable
from recollect.gate import checked_path
from recollect.home import Home
from recollect.memory import Memory
from recollect.types import utc_now

SQLITE = {"url": ""}
LOGS = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a database


class Restored(NamedTuple):
    """Where the backup is now, and where the database that it took the place of."""

    database: Path
    kept: Path | None


def restore(source: str | Path, home: str | Path, *, force: bool = False) -> Restored:
    """Check a copy of the backup as a home of its own, then give it the database's name. A database that is there
    is an error, or with `force` is kept beside."""
    file, place = checked_path(source, "The backup"), Home(home)
    place.check()
    if Settings.load(place.settings).storage.url.get_secret_value():
        raise InputError(
            "storage.url names a PostgreSQL, which restores its own backups: use pg_restore, or psql for a dump "
            "in SQL."
        )
    if not file.is_file():
        raise InputError(f"There is no file {file}. Name one that `recollect backup` wrote.")
    there = place.database.exists() and place.database.stat().st_size > 0
    if there and not force:
        raise InputError(
            f"{place.database} is there already. Name an empty home, or add --force to keep it beside."
        )
    place.ensure()
    copy = Home(mkdtemp(prefix=".restore-", dir=place.path))  # in the same file system, so that a rename will do
    try:
        shutil.copyfile(file, copy.database)
        _check(copy, file)
        _settled(copy.database)
        kept = _set_aside(place) if there else None
        copy.database.replace(place.database)
        _settled(place.path)
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
        raise StorageCorrupt(f"{file} is empty. Name a file that `recollect backup` wrote.")
    try:
        with Memory.open(copy.path, storage=SQLITE, continuity={"journal_enabled": False}) as memory:
            problems = memory.check()
    except StorageError as error:
        told = str(error).replace(str(copy.database), str(file))
        advice = "Nothing was changed; name a sound file that `recollect backup` wrote."
        raise type(error)(
            told if isinstance(error, NewerDatabase) else f"{told.split('. ')[0]}. {advice}"
        ) from error
    if problems:
        raise StorageCorrupt(f"{file} is damaged, so it was not put in place: {problems[0]} Take another backup.")


def _set_aside(place: Home) -> Path:
    """The name under which the database that was there is kept, with what belongs to it. A log of the old one
    beside the new one would damage it."""
    kept = place.path / f"recollect-{utc_now():%Y%m%dT%H%M%S%f}.db"
    log = place.database.with_name(f"{place.database.name}-wal")
    with suppress(StorageError):  # a damaged one is kept as it is
        Memory.open(place.path, storage=SQLITE, continuity={"journal_enabled": False}).close()
        if log.exists():
            raise InputError(
                f"Another process works with {place.database}. Stop it (recollect worker, serve), and try again."
            )
    for end in LOGS:
        with suppress(FileNotFoundError):
            place.database.with_name(place.database.name + end).rename(kept.with_name(kept.name + end))
    try:
        os.link(place.database, kept)  # so that at no instant there is no database
    except OSError:  # a file system without hard links
        place.database.rename(kept)
    return kept


def _settled(path: Path) -> None:
    """On disk for good."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
