"""What a backup holds beside the rows: the files of every user. And which were made: the rows of `backups`.

A backup is one file, a copy of the SQLite database, with one more table that has the files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from lifelong.disk import list_unfinished, make_folder, remove_unfinished
from lifelong.errors import InputError
from lifelong.forget.export_format import is_inner_path
from lifelong.forget.user_files import open_private, open_user_file, remove_folder, sync_folders, user_files
from lifelong.home import Home
from lifelong.journal.files import JournalFiles
from lifelong.storage.base import Database, StoredFile, Transaction
from lifelong.types import to_micros


def write_backup(database: Database, home: Home, target: Path, now: datetime) -> None:
    """Write a copy of the database and of the files of all users to a new file, while work goes on. It is noted
    before it is written, so that none is unknown. What a killed one left under the same name is removed."""
    if os.path.lexists(target):
        raise InputError(f"{target} exists already. Choose another name.")
    place = os.path.realpath(target)
    remove_unfinished(Path(place))
    database.write(lambda tx: _note(tx, place, now))
    try:
        database.backup(target, _home_files(home))
    except BaseException:
        database.write(lambda tx: tx.run("DELETE FROM backups WHERE path = ?", place))
        raise


def known_backups(tx: Transaction) -> tuple[str, ...]:
    """Return where backups were written, oldest first, and what killed ones left there."""
    places = [path for (path,) in tx.all("SELECT path FROM backups ORDER BY at")]
    left = (str(one) for path in places for one in list_unfinished(Path(path)))
    return (*places, *dict.fromkeys(left))


def _note(tx: Transaction, path: str, now: datetime) -> None:
    tx.run(
        "INSERT INTO backups (path, at) VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET at = excluded.at",
        *(path, to_micros(now)),
    )


def _home_files(home: Home) -> Iterator[StoredFile]:
    """Give the files of every user, named from the home's folder `users` on. Writers of a journal wait meanwhile,
    one user after the other."""
    for user in sorted(home.users()):
        folder = home.user_folder(user)
        with ExitStack() as held:
            held.enter_context(JournalFiles(folder).writing())
            for place in user_files(folder):
                with open_user_file(place, folder) as stream:
                    modified = os.fstat(stream.fileno()).st_mtime_ns
                    yield StoredFile(f"{user}/{place.relative_to(folder).as_posix()}", modified, stream.read())


def holds_files(tx: Transaction) -> bool:
    """Return whether this database is a backup that has the files, too."""
    return tx.one("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'home_files'") is not None


def unpack_files(tx: Transaction, folder: Path) -> int:
    """Write the files of a backup to a new folder, durable on return, and remove them from the database. Return
    how many there were. Raise `InputError` for a path that leads out of the folder."""
    paths = [path for (path,) in tx.all("SELECT path FROM home_files ORDER BY path")]
    if wrong := [path for path in paths if not is_inner_path(path)]:
        raise InputError(f"The backup has a file {wrong[0]!r:.200}, which no backup has. Nothing was restored.")
    remove_folder(folder)
    make_folder(folder)
    for path in paths:
        row = tx.one("SELECT modified, data FROM home_files WHERE path = ?", path)
        assert row, "it was just listed"
        place = folder / path
        make_folder(place.parent)
        with open_private(place) as stream:
            stream.write(row[1])
            stream.flush()
            os.fsync(stream.fileno())
        os.utime(place, ns=(row[0], row[0]))
    sync_folders(folder)
    tx.run("DROP TABLE home_files")
    return len(paths)
