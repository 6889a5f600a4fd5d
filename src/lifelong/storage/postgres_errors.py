"""What PostgreSQL's errors mean: each becomes one of ours, with the next step."""

from __future__ import annotations

import psycopg
from psycopg import errors as pg

from lifelong.errors import (
    LifelongError,
    StorageBusy,
    StorageConflict,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageUnavailable,
)


def is_farewell(error: psycopg.Error) -> bool:
    """The server closes the connection: it shuts down, has too many, or somebody ended our session."""
    return (error.sqlstate or "").startswith(("08", "57P", "53300"))


def translate(error: psycopg.Error, where: str) -> LifelongError:
    """The error of ours that says the same, with the next step."""
    match error:
        case pg.UniqueViolation() | pg.ForeignKeyViolation() | pg.IntegrityError():
            return StorageConflict(f"The database refused it: {_first_line(error)}. Nothing was stored.")
        case pg.DiskFull() | pg.OutOfMemory():
            return StorageFull(
                f"PostgreSQL at {where} has no room left. Nothing was stored; free some space there."
            )
        case pg.DataCorrupted() | pg.IndexCorrupted():
            return StorageCorrupt(f"PostgreSQL at {where} reports damage: {_first_line(error)}. Restore a backup.")
        case pg.DeadlockDetected() | pg.SerializationFailure() | pg.LockNotAvailable() | pg.QueryCanceled():
            return StorageBusy(f"PostgreSQL at {where} was too busy. Nothing was stored; try again.")
        case pg.InsufficientPrivilege() | pg.InvalidPassword() | pg.InvalidAuthorizationSpecification():
            return StorageUnavailable(
                f"PostgreSQL at {where} refuses this user: {_first_line(error)}. Nothing was stored; "
                "check the user, its password and its rights."
            )
        case psycopg.OperationalError() | psycopg.InterfaceError() if not error.sqlstate or is_farewell(error):
            return StorageUnavailable(
                f"PostgreSQL at {where} does not answer ({_first_line(error)}). Nothing was stored; "
                "start it, or mend storage.url, and try again."
            )
        case _:
            return StorageError(
                f"PostgreSQL at {where} could not do it: {_first_line(error)}. Nothing was stored."
            )


def _first_line(error: psycopg.Error) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
