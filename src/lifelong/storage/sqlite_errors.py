"""What SQLite's errors mean: each becomes one of ours, with the next step."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import apsw

from lifelong.errors import (
    ForeignDatabase,
    IndexCorrupt,
    LifelongError,
    StorageBusy,
    StorageConflict,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageUnavailable,
)

ROOM = 1 << 20  # bytes that a database needs to do anything at all


class translated:  # noqa: N801 - reads as a word where it is used
    """Inside it, apsw's errors become ours."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, apsw.Error):
            raise translate(error, self._path) from error
        if isinstance(error, UnicodeDecodeError):
            raise StorageCorrupt(
                f"{self._path} holds text that is not text ({error}). Keep a copy of it, and restore a backup."
            ) from error


def translate(error: apsw.Error, path: Path) -> LifelongError:
    """The error of ours that says the same, with the next step."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return StorageBusy(
                f"Another process kept {path} busy for too long. Nothing was stored; try again, "
                "or raise storage.busy_timeout."
            )
        case apsw.FullError():
            return _full(path)
        case apsw.IOError() if _is_crowded(path):
            return _full(path)
        case apsw.IOError():
            return StorageError(
                f"{path} could not be read or written ({error}). Nothing was stored; check the disk, its quota "
                "and the largest size of a file (ulimit -f), and try again."
            )
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError() | apsw.CantOpenError():
            return _closed_door(path, str(error))
        case apsw.NotADBError():
            return not_a_database(path)
        case apsw.CorruptError() if getattr(error, "extendedresult", 0) == apsw.SQLITE_CORRUPT_VTAB:
            return IndexCorrupt(
                f"The full-text index of {path} is damaged ({error}). Nothing that was stored is lost. "
                "Run: lifelong rebuild."
            )
        case apsw.CorruptError():
            return StorageCorrupt(
                f"{path} is damaged ({error}). Keep a copy of it, and restore a backup with its name."
            )
        case apsw.ConstraintError():
            return StorageConflict(f"The database refused it: {error}. Nothing was stored.")
        case _:
            return StorageError(f"The database {path} could not do it: {error}. Nothing was stored.")


def not_a_database(path: Path) -> ForeignDatabase:
    return ForeignDatabase(
        f"{path} is not a database. Nothing was changed; choose another home or move the file away."
    )


def _full(path: Path) -> StorageFull:
    return StorageFull(f"There is no room left for {path}. Nothing was stored; free some space and try again.")


def _closed_door(path: Path, reason: str | None) -> StorageUnavailable:
    return StorageUnavailable(
        f"{path} cannot be opened and written ({reason}). Nothing was stored; "
        "check that its folder exists and that both can be written."
    )


def _is_crowded(path: Path) -> bool:
    """Where hardly any room is left, an error of the disk is most likely that."""
    try:
        return shutil.disk_usage(path.parent).free < ROOM
    except OSError:
        return False


def of_the_system(error: OSError, path: Path) -> LifelongError:
    """An error that the file system gave before SQLite was asked."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _full(path)
    return _closed_door(path, error.strerror)
