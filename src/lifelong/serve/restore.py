"""`lifelong restore`: make a backup the database of a home, with the files of its users, or change nothing."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from lifelong.disk import sync
from lifelong.errors import (
    InputError,
    NewerDatabase,
    StorageBusy,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageUnavailable,
    WrongKey,
)
from lifelong.forget.backups import holds_files, unpack_files
from lifelong.forget.user_files import remove_folder, user_files
from lifelong.home import Home
from lifelong.keys import database_key
from lifelong.memory import Memory
from lifelong.settings import Settings, StorageSettings
from lifelong.storage.base import FULL_TEXT_DAMAGED
from lifelong.types import utc_now
from lifelong.validation import validate_path

log = logging.getLogger("lifelong.serve")

SQLITE = {"url": ""}
CHECK_FOLDER = ".restore-"  # how the name begins of the folder in which a backup is checked
UNPACKED = "files"  # the folder in that one with the files of the backup
LOCKED_BYTES = (510, 0x4000_0002)  # that SQLite locks while a database is open: how many, from where
LOGS = ("-wal", "-shm", "-journal")  # the files that SQLite keeps beside a database


class Restored(NamedTuple):
    """Where the backup is now, where the database is kept that it replaced, how many files of users there are
    (none: the backup has none, and those of the home stayed), and where those are kept that they replaced."""

    database: Path
    kept: Path | None
    files: int | None = None
    kept_files: Path | None = None


def restore(source: str | Path, home: str | Path, *, force: bool = False) -> Restored:
    """Check a copy of the backup as a home of its own, then give it and its files their names. An existing
    database, or files of users, are an error; with `force` they are kept under other names. If it fails, all of it
    is put back; if it is killed between the files and the database, do it again."""
    file, place = validate_path(source, "The backup"), Home(home)
    place.check()
    storage = Settings.load(place.settings).storage
    if storage.url.get_secret_value():
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
    try:
        return _put_in_place(file, place, storage, force=force)
    except OSError as error:
        raise StorageUnavailable(
            f"The backup could not be put in place in {place.path}: {error.strerror or error}. What was there is "
            "as before; solve that and try again."
        ) from error


def _put_in_place(file: Path, place: Home, storage: StorageSettings, *, force: bool) -> Restored:
    exists = place.database.exists() and place.database.stat().st_size > 0
    if exists and not force:
        raise InputError(
            f"{place.database} exists already. Name an empty home, or add --force to replace it and keep a copy."
        )
    place.ensure()
    for left in place.path.glob(f"{CHECK_FOLDER}*"):  # by a restore that was killed
        shutil.rmtree(left, ignore_errors=True)
    copy = Home(mkdtemp(prefix=CHECK_FOLDER, dir=place.path))  # in the same file system, so that it can be renamed
    try:
        copy.database.touch(mode=0o600)  # for its owner alone, as every database of a home
        shutil.copyfile(file, copy.database)
        files = _check(copy, file, database_key(place, storage))
        sync(copy.database)
        had_files = files is not None and _has_files(place)
        if had_files and not force:
            raise InputError(
                f"{place.path / 'users'} has files already. Name an empty home, or add --force to replace them "
                "and keep a copy."
            )
        aside = f"{utc_now():%Y%m%dT%H%M%S%f}"
        with ExitStack() as undo:
            kept = _set_aside(place, aside, undo) if exists else None
            kept_files = None if files is None else _swap_files(place, copy.path / UNPACKED, aside, undo)
            sync(place.path)
            copy.database.replace(place.database)
            undo.pop_all()
        try:
            sync(place.path)
        except OSError as error:
            log.warning("%s is in place, but a power cut may undo it: %s", place.database, error)
    finally:
        shutil.rmtree(copy.path, ignore_errors=True)
    if kept_files and not had_files:
        remove_folder(kept_files)
        kept_files = None
    return Restored(place.database, kept, files, kept_files)


def _check(copy: Home, file: Path, key: str) -> int | None:
    """Raise an error unless the copy is a sound database of lifelong, encrypted with the key of the home if that
    has one, and not of a newer version. The error names the backup, not the copy. Take the files of users out of
    it, and return how many there are; none where it was made without them."""
    files = None
    if copy.database.stat().st_size == 0:
        raise StorageCorrupt(f"{file} is empty. Name a file that `lifelong backup` wrote.")
    try:
        storage = {**SQLITE, "key": key, "keyring": False}
        with Memory.open(copy.path, storage=storage, continuity={"journal_enabled": False}) as memory:
            problems = memory.admin.check()
            if problems and all(problem.startswith(FULL_TEXT_DAMAGED) for problem in problems):
                log.warning("The full-text index of %s is damaged; it is made again in the background.", file)
                memory.admin.rebuild()
                problems = memory.admin.check()
            if not problems:
                memory._parts.shared.repair.outdate_files()
                database = memory._parts.shared.database
                if database.read(holds_files):
                    files = database.write(lambda tx: unpack_files(tx, copy.path / UNPACKED))
    except StorageFull as error:
        raise StorageFull(
            f"There is no room left in {copy.path.parent}. Nothing was changed; free some space and try again."
        ) from error
    except StorageError as error:
        message = str(error).replace(str(copy.database), str(file))
        advice = "Nothing was changed; name a sound file that `lifelong backup` wrote."
        if isinstance(error, WrongKey):
            advice = "Nothing was changed; restore a backup with the key it was made with, then: lifelong encrypt."
        raise type(error)(
            message if isinstance(error, NewerDatabase) else f"{message.split('. ')[0]}. {advice}"
        ) from error
    if problems:
        raise StorageCorrupt(f"{file} is damaged, so it was not put in place: {problems[0]} Take another backup.")
    return files


def _has_files(place: Home) -> bool:
    return any(True for user in place.users() for _ in user_files(place.user_folder(user)))


def _swap_files(place: Home, unpacked: Path, aside: str, undo: ExitStack) -> Path | None:
    """Put the files of a backup in place. Return where the folder is kept that was there."""
    users, kept = place.path / "users", place.path / f"users-{aside}"
    exists, filled = users.exists(), any(unpacked.iterdir())
    if exists:
        users.rename(kept)
        undo.callback(kept.rename, users)
    if filled:
        unpacked.rename(users)
        undo.callback(users.rename, unpacked)
    return kept if exists else None


def _set_aside(place: Home, aside: str, undo: ExitStack) -> Path:
    """Move the old database and its logs aside, and return its new name. A log of the old one beside the new one
    would damage it."""
    kept = place.path / f"lifelong-{aside}.db"
    try:
        Memory.open(place.path, storage=SQLITE, continuity={"journal_enabled": False}).close()
    except StorageError:  # a damaged one is kept as it is
        held = _locked(place.database)
    else:
        held = _logs(place.database)[0].exists()  # the last process to close the database removes it
    if held:
        raise StorageBusy(
            f"Another process works with {place.database}. Stop it (lifelong worker or serve), and try again."
        )
    for log, other in zip(_logs(place.database), _logs(kept), strict=True):
        with suppress(FileNotFoundError):
            log.rename(other)
            undo.callback(other.rename, log)
    try:
        os.link(place.database, kept)  # so that there is a database at every moment
        undo.callback(_remove_link, kept, place.database)
    except OSError:  # a file system without hard links
        place.database.rename(kept)
        undo.callback(kept.rename, place.database)
    return kept


def _remove_link(kept: Path, database: Path) -> None:
    """Remove a second name of the database, unless it is the only one by now."""
    if kept.samefile(database):
        kept.unlink()


def _locked(database: Path) -> bool:
    """Return whether another process has it open, even if SQLite cannot read it."""
    if sys.platform == "win32":  # where a file that is open cannot be renamed
        return False
    from fcntl import LOCK_EX, LOCK_NB, lockf

    with database.open("r+b") as file:
        try:
            lockf(file, LOCK_EX | LOCK_NB, *LOCKED_BYTES)
        except OSError:
            return True
    return False


def _logs(database: Path) -> list[Path]:
    """Return where SQLite keeps them: beside the file itself, also where the database is a link."""
    file = Path(os.path.realpath(database))
    return [file.with_name(file.name + end) for end in LOGS]
