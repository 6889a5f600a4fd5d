"""`export`: everything of a user in an open folder (see `export_format`), while work goes on.

The rows are read on one snapshot, in pages. The folder gets its name when it is whole; what a killed export left
behind is removed by the next one to the same place.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

from lifelong.disk import make_folder, sync
from lifelong.errors import InputError, StorageError
from lifelong.forget.export_format import (
    DOCUMENTS,
    FILES,
    MANIFEST,
    ROW_FILES,
    SETTINGS,
    ExportedFile,
    Manifest,
    RowFile,
)
from lifelong.forget.user_files import copy_user_files, open_private, remove_folder, sync_folders
from lifelong.journal.files import JournalFiles, file_lock
from lifelong.organize.document_rows import DocumentRows
from lifelong.redaction import redact
from lifelong.storage.base import Database, Param, Transaction
from lifelong.types import Document, new_id

ROWS_PER_PAGE = 500
MAX_NAME_BYTES = 100  # of a Markdown file's name, without its ending
MAX_PLACE_BYTES = 600  # of its path; what is deeper stands at the top
LOCK = ".lock"
_PASSWORD = re.compile(r"//[^/@\s\"]*@")  # in an address
_UNSAFE = re.compile(r"[^\w.-]+|\A\.+|\.+\Z")

Progress: TypeAlias = Callable[[str, int, int], object]
"""Is told what is being done, how much of it is done, and how much there is."""


class Exported(NamedTuple):
    """What was written: the folder, how many rows of each kind, how many of the user's own files, and how many
    bytes in all."""

    folder: Path
    counts: Mapping[str, int]
    files: int
    bytes: int


def export_user(
    database: Database,
    user: str,
    own_folder: Path,
    target: Path,
    now: datetime,
    settings: Mapping[str, object],
    progress: Progress = lambda what, done, total: None,
) -> Exported:
    """Write everything of a user to a new folder, all or nothing. `own_folder` has the user's own files;
    `settings` are those of the home, with its keys masked. Raise `InputError` where there is something at the
    place already."""
    _check_target(target)
    try:
        with _part(target) as part, _summaries_wait(own_folder):
            export = _Export(database, user, part, progress)
            manifest = export.write(own_folder, now, settings)
            sync_folders(part)
            if target.exists():
                target.rmdir()  # it is empty; a folder cannot take its place everywhere
            part.rename(target)
            sync(target.parent)
            (target / LOCK).unlink()
    except OSError as error:
        raise StorageError(
            f"{target} could not be written: {error.strerror or error}. Nothing was exported; name another place."
        ) from error
    size = sum(file.bytes for file in manifest.files)
    return Exported(target, manifest.counts, len(manifest.own_files()), size)


def _check_target(target: Path) -> None:
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise InputError(f"{target} is not a folder. Name a folder that does not exist yet.")
    if target.is_dir() and any(target.iterdir()):
        raise InputError(f"{target} exists already and is not empty. Name a folder that does not exist yet.")
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent} to export into. Make it, or name another place.")


@contextmanager
def _part(target: Path) -> Iterator[Path]:
    """Give the folder that becomes the target. While it is in use its lock is held, so that what a killed export
    left can be told from what another one is writing."""
    start = f".{target.name}.part-"
    for left in target.parent.glob(f"{_escaped(start)}*"):
        with file_lock(left / LOCK, wait=False) as free:
            if free:
                remove_folder(left)
    part = target.with_name(f"{start}{new_id()}")
    try:
        with file_lock(part / LOCK, wait=True):
            yield part
    finally:
        remove_folder(part)


def _escaped(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


@contextmanager
def _summaries_wait(own_folder: Path) -> Iterator[None]:
    """Keep turn summaries from being written, so that the files have those that the rows say they have."""
    with ExitStack() as held:
        if own_folder.is_dir():
            held.enter_context(JournalFiles(own_folder).summarizing(wait=True))
        yield


class _Export:
    """One export, written to a folder."""

    def __init__(self, database: Database, user: str, folder: Path, progress: Progress) -> None:
        self._database = database
        self._user = user
        self._folder = folder
        self._progress = progress
        self._files: list[ExportedFile] = []

    def write(self, own_folder: Path, now: datetime, settings: Mapping[str, object]) -> Manifest:
        counts, digest_key = self._database.read(self._write_rows)
        self._progress("files", 0, 0)
        whole = json.dumps(settings, ensure_ascii=False, indent=2)
        self._put(SETTINGS, redact(_PASSWORD.sub("//", whole)).encode() + b"\n")
        for copied in copy_user_files(own_folder, self._folder / FILES):
            self._files.append(ExportedFile(*copied._replace(path=f"{FILES}/{copied.path}")))
        manifest = Manifest(
            self._user, now.isoformat(), version("lifelong"), counts, tuple(self._files), digest_key
        )
        with open_private(self._folder / MANIFEST) as stream:
            _write(stream, manifest.encode())
        return manifest

    def _write_rows(self, tx: Transaction) -> tuple[dict[str, int], str]:
        """Write what the database has, from the beginning: it may be called again. Return how many rows there are
        of each kind, and the key of the digests of tombstones."""
        self._files = []
        if tx.one("SELECT 1 FROM erasures WHERE owner = ? AND state = 'pending'", self._user):
            raise InputError(
                "Something of this user is being forgotten, and would be in the export. Wait until that is done: "
                "see lifelong health."
            )
        counts: dict[str, int] = {}
        for done, file in enumerate(ROW_FILES):
            self._progress(file.name, done, len(ROW_FILES))
            counts[file.name] = self._write_table(tx, file)
        self._write_documents(DocumentRows(tx, self._user).walk())
        key = tx.one("SELECT key FROM digest_keys") if counts["tombstones"] else None
        return counts, str(key[0]) if key else ""

    def _write_table(self, tx: Transaction, file: RowFile) -> int:
        place = self._folder / file.path
        place.unlink(missing_ok=True)
        digest, size, count = hashlib.sha256(), 0, 0
        with open_private(place) as stream:
            for values in rows(tx, file, self._user):
                line = file.encode(values)
                stream.write(line)
                digest.update(line)
                size += len(line)
                count += 1
            _write(stream, b"")
        self._files.append(ExportedFile(file.path, size, digest.hexdigest()))
        return count

    def _write_documents(self, documents: list[Document]) -> None:
        """Write the current documents for people: `~/memory/people` is `documents/memory/people.md`."""
        remove_folder(self._folder / DOCUMENTS)
        places = {"": DOCUMENTS}
        taken: set[str] = set()
        for one in documents:  # parents come first
            name = _UNSAFE.sub("-", one.slug).encode()[:MAX_NAME_BYTES].decode("utf-8", "ignore")
            place = f"{places.get(one.parent_id, DOCUMENTS)}/{name}"
            if len(place.encode()) > MAX_PLACE_BYTES:
                place = f"{DOCUMENTS}/{name}"
            if place.casefold() in taken:
                place = f"{place}-{one.id}"
            taken.add(place.casefold())
            places[one.id] = place
            parts = (f"# {one.title}", one.description, one.body.strip("\r\n"))
            self._put(f"{place}.md", "\n\n".join(part for part in parts if part).encode() + b"\n")

    def _put(self, path: str, data: bytes) -> None:
        place = self._folder / path
        make_folder(place.parent)
        with open_private(place) as stream:
            _write(stream, data)
        self._files.append(ExportedFile(path, len(data), hashlib.sha256(data).hexdigest()))


def rows(tx: Transaction, file: RowFile, user: str) -> Iterator[tuple[Param, ...]]:
    """Give the user's rows of a table, in the order of their keys, page by page."""
    columns, table = ", ".join(file.columns), file.table
    places = [[*file.columns].index(name) for name in file.key]
    key = ", ".join(file.key)
    after: tuple[Param, ...] = ()
    while True:
        beyond = f" AND ({key}) > ({', '.join('?' * len(after))})" if after else ""
        order = f" ORDER BY {key} LIMIT {ROWS_PER_PAGE}" if key else ""
        page = tx.all(f"SELECT {columns} FROM {table.name} WHERE {table.owned}{beyond}{order}", user, *after)
        yield from page
        if not key or len(page) < ROWS_PER_PAGE:
            return
        after = tuple(page[-1][place] for place in places)


def _write(stream: BinaryIO, data: bytes) -> None:
    """Write the last of a file, durable on return."""
    stream.write(data)
    stream.flush()
    os.fsync(stream.fileno())
