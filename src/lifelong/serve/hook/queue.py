"""Turns that could not be stored: JSON lines in a file beside the home, until the home can be used again."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from lifelong.collect.history import from_json
from lifelong.disk import sync
from lifelong.errors import AgentDead, ConfigError, InputError, LifelongError, StorageBusy, StorageFull
from lifelong.redaction import redact_json
from lifelong.types import Record

log = logging.getLogger("lifelong.serve")

MAX_QUEUE_BYTES = 64 * 2**20
MAX_LOCK_SECONDS = 2.0
SAID = ("text", "arguments")  # where a record may hold a secret


class StoreRequest(NamedTuple):
    """What an event adds to the memory: whose it is, the host's session, records with their keys, and what follows
    (`end_turn`, `reset`, `end_session`, or nothing). `subagent` is an id and a name, or empty."""

    user: str
    connector: str
    channel: str
    records: tuple[tuple[str, Record], ...] = ()
    then: str = ""
    subagent: tuple[str, ...] = ()


def is_lasting(error: Exception) -> bool:
    """Return whether a request will be refused whenever it comes."""
    return isinstance(error, AgentDead) or (isinstance(error, InputError) and not isinstance(error, ConfigError))


class HookQueue:
    """The queue of a home. Several processes may use it at once. One that stores what waits first moves the file
    aside, so that nobody who adds to the queue waits for the database."""

    def __init__(self, home: Path) -> None:
        self.path = home.with_name(f"{home.name}.hook-queue.jsonl")
        self._draining = home.with_name(f"{home.name}.hook-queue.draining.jsonl")
        self._rejected = home.with_name(f"{home.name}.hook-rejected.jsonl")
        self._file_lock = home.with_name(f"{home.name}.hook-queue.lock")  # held for a moment
        self._drain_lock = home.with_name(f"{home.name}.hook-queue.draining.lock")

    def put(self, request: StoreRequest, at: datetime) -> None:
        """Add a request, durably. `at` is the time of those records that have none."""
        with self._locked(self._file_lock):
            if self.path.exists() and self.path.stat().st_size > MAX_QUEUE_BYTES:
                raise StorageFull(f"{self.path} has more than {MAX_QUEUE_BYTES:,} bytes. Make the home usable.")
            self._append(self.path, _to_line(request, at))

    def drain(self, store: Callable[[StoreRequest], object]) -> int:
        """Store what waits, in order, and return how much it was. What fails stays, with what follows it, and the
        error is raised. A request that is refused for good is moved to a file of its own, and logged. Raise
        `StorageBusy` where another process does it."""
        if not (self.path.is_file() or self._draining.is_file()):
            return 0
        count = 0
        with self._locked(self._drain_lock, 0.0):
            while self._move_aside():
                count += self._drain(store)
        return count

    def _move_aside(self) -> bool:
        """Move what waits to a file of its own, unless a process that died left one. Return whether there is
        such a file."""
        if not self._draining.is_file() and self.path.is_file():
            with self._locked(self._file_lock), suppress(FileNotFoundError):
                self.path.replace(self._draining)
        return self._draining.is_file()

    def _drain(self, store: Callable[[StoreRequest], object]) -> int:
        lines = self._draining.read_bytes().splitlines(keepends=True)
        for done, line in enumerate(lines):
            try:
                store(_from_line(line))
            except LifelongError as error:
                if not is_lasting(error):
                    self._keep(lines[done:])
                    raise
                log.error("a queued turn was refused and is kept in %s: %s", self._rejected, error)
                self._append(self._rejected, line)
        self._draining.unlink(missing_ok=True)
        return len(lines)

    @contextmanager
    def _locked(self, path: Path, seconds: float = MAX_LOCK_SECONDS) -> Iterator[None]:
        from filelock import FileLock, Timeout  # takes a while to import, and most often nothing waits

        lock = FileLock(path, timeout=seconds, mode=0o600)
        try:
            lock.acquire()
        except Timeout as error:
            raise StorageBusy(f"{self.path} is in use by another process.") from error
        try:
            yield
        finally:
            lock.release()

    def _append(self, path: Path, line: bytes) -> None:
        is_new = not path.exists()
        with os.fdopen(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "rb+") as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                line = line if file.read() == b"\n" else b"\n" + line  # after half a line of a process that died
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            sync(path.parent)

    def _keep(self, lines: list[bytes]) -> None:
        rest = self._draining.with_suffix(".tmp")
        rest.unlink(missing_ok=True)
        self._append(rest, b"".join(lines))
        rest.replace(self._draining)
        sync(rest.parent)


def _to_line(request: StoreRequest, at: datetime) -> bytes:
    """Return a request as a line, without secrets."""
    records = [(key, _fields(one, at)) for key, one in request.records]
    return json.dumps(request._replace(records=tuple(records))._asdict()).encode() + b"\n"  # type: ignore[arg-type]


def _fields(record: Record, at: datetime) -> dict[str, object]:
    fields = {name: getattr(record, name) for name in record.__slots__}
    safe = {name: redact_json(value, name) if name in SAID else value for name, value in fields.items()}
    return {"type": record.type, **safe, "at": (record.at or at).isoformat()}


def _from_line(line: bytes) -> StoreRequest:
    try:
        given = json.loads(line)
        records = tuple(
            (str(key), from_json(fields | {"at": datetime.fromisoformat(fields["at"])}))
            for key, fields in given.pop("records")
        )
        request = StoreRequest(**{**given, "subagent": tuple(given["subagent"]), "records": records})
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise InputError(f"A line of the queue cannot be read: {error}.") from error
    names = (request.user, request.connector, request.channel, request.then, *request.subagent)
    if not all(isinstance(one, str) for one in names) or len(request.subagent) not in (0, 2):
        raise InputError("A line of the queue cannot be read: a name in it is missing or not text.")
    return request
