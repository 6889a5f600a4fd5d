"""The folder of an export: which file has which rows, and the manifest, which names every file with its checksum.

    manifest.json        the format, the user, how many rows there are, a checksum of every file
    records.jsonl …      the rows of one table each, a JSON object on each line
    documents/           the current documents as Markdown, to be read; an import does not need them
    files/               the user's own files as they are: journal, archive, notes
    settings.json        the settings of the home, without secrets, for people

docs/export.md describes every column. A manifest is untrusted: a path in it never leads out of the folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from lifelong.errors import InputError
from lifelong.forget.tables import TABLES, Table

FORMAT = "lifelong-export"
VERSION = 1
MANIFEST = "manifest.json"
SETTINGS = "settings.json"
DOCUMENTS = "documents"
FILES = "files"
MAX_MANIFEST_BYTES = 256 << 20
MAX_FORMAT_BYTES = 65_536  # from the start of a manifest, in which the format stands
MAX_NUMBER = 2**62  # the time at which an item of the inbox is due that stands behind another
MAX_PATH_BYTES = 4_000
CHUNK = 1 << 20

Row: TypeAlias = dict[str, Any]
"""A row of an export by its columns."""

_KINDS: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "text?": (str, type(None)),
    "int": (int,),
    "int?": (int, type(None)),
    "float": (float, int),
    "json": (str, dict, list),
    "compact": (str, dict, list),
}
"""What the columns hold. A `json` column is JSON text in the database, a `compact` one JSON without blanks. In an
export each is the value itself, or the text where it would not be written the same way again."""


@dataclass(frozen=True, slots=True)
class RowFile:
    """A file of rows: the table they come from, its columns with what each holds, and the columns that tell two
    rows of a user apart."""

    name: str
    table: Table
    columns: Mapping[str, str]
    key: tuple[str, ...]

    @property
    def path(self) -> str:
        return f"{self.name}.jsonl"

    @property
    def has_growing_id(self) -> bool:
        """Whether the database gives out the ids of these rows."""
        return self.table.numbers.get("id") == self.table.name

    def encode(self, values: tuple[Any, ...]) -> bytes:
        """Return a row of the database as a line."""
        row = dict(zip(self.columns, values, strict=True))
        for column, kind in self.columns.items():
            if kind in _AS_TEXT:
                row[column] = _readable(row[column], kind)
        return json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n"

    def decode(self, line: bytes, number: int) -> Row:
        """Return the row in a line. Raise `InputError` for one that this table cannot hold."""
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self._wrong(number, "it is not JSON") from error
        if not isinstance(row, dict) or row.keys() != self.columns.keys():
            raise self._wrong(number, f"it does not have the columns {', '.join(self.columns)}")
        for column, kind in self.columns.items():
            value = row[column]
            if type(value) not in _KINDS[kind]:
                raise self._wrong(number, f"{column} cannot be {value!r:.80}")
            if type(value) is int and abs(value) > MAX_NUMBER:
                raise self._wrong(number, f"{column} is too large a number")
            if column in self.table.numbers and value is not None and value < 0:
                raise self._wrong(number, f"{column} cannot be {value}")
        return row

    def values(self, row: Row) -> tuple[Any, ...]:
        """Return the row as the database holds it."""
        return tuple(
            _AS_TEXT[kind](row[column]) if kind in _AS_TEXT and not isinstance(row[column], str) else row[column]
            for column, kind in self.columns.items()
        )

    def _wrong(self, number: int, why: str) -> InputError:
        return InputError(f"Line {number} of {self.path} cannot be read: {why}. Nothing was imported.")


_AS_TEXT: dict[str, Callable[[Any], str]] = {
    "json": json.JSONEncoder(ensure_ascii=False).encode,
    "compact": json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode,
}


def _readable(text: str, kind: str) -> Any:
    """Return the value of a JSON text if its text can be made again from it; else the text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict | list) and _AS_TEXT[kind](value) == text else text


def _files(*lines: str) -> tuple[RowFile, ...]:
    """Read `name table (key): column:kind …`; a column without a kind is text."""
    tables = {table.name: table for table in TABLES}
    made = []
    for line in lines:
        found = re.fullmatch(r"(\w+) (\w+) \((.*)\): (.*)", line)
        assert found, line
        columns = {name: kind or "text" for name, _, kind in (one.partition(":") for one in found[4].split())}
        made.append(RowFile(found[1], tables[found[2]], columns, tuple(found[3].split())))
    return tuple(made)


ROW_FILES = _files(
    "agents agents (id): id kind cache_key descriptor:json state created_at:int active_at:int sleep_due:int? "
    "death_due:int?",
    "sessions sessions (id): id agent_id created_at:int ended_at:int? reset_message:text? invalidated_at:int? "
    "processed_until:int? in_hand_since:int? dispatch_failures:int dispatch_error",
    "records session_history (id): id:int session_id type provenance at:int recorded_at:int data:compact",
    "turns turns (session_id until_id): session_id until_id:int ended_at:int",
    "keys append_keys (agent_id key): agent_id key record_id:int digest",
    "inbox inbox (id): id:int agent_id type text session_id after_id:int until_id:int state attempts:int "
    "losses:int due_at:int? lease:text? error created_at:int done_at:int? changeset_id:int? lease_length:int?",
    "tree trees (): at:int",
    "changesets changesets (id): id:int at:int cause author note session_id after_id:int until_id:int "
    "inbox_id:int? organizer model input_tokens:int output_tokens:int cost:float trust approved_by said_at:int?",
    "documents documents (id version): id version:int valid_from:int valid_to:int? parent_id slug title "
    "description body changeset_id:int closed_by:int?",
    "references document_references (source_id source_version kind target_id): source_id source_version:int "
    "target_id kind",
    "facts facts (number): document_id fact sentence number:int",
    "fact_keys fact_keys (document_id fact key): key document_id fact at:int",
    "ledger ledger (id): id:int at:int purpose model state input_tokens:int output_tokens:int cost:float "
    "estimated:int inbox_id:int? error",
    "journal_progress journal_progress (session_id): session_id until_id:int",
    "journal journals (): home began_at:int",
    "schedules schedules (name): name last_run_at:int",
    "experiences experiences (id): id text category session_id record trust at:int entities:json used:int "
    "used_at:int",
    "extractions extractions (): record at:int",
    "recall_log recalls (id): id:int at:int purpose agent_id question hits:json",
    "feedback feedback (id): id:int item verdict recall_id:int? at:int",
    "pins pins (item): item at:int",
    "unpins unpins (item): item at:int",
    "corrections corrections (item record_id): item record_id:int at:int",
    "reviews reviews (id): id:int at:int kind author reason payload:json state decided_at:int? decided_by",
    "items items (id): id:int kind ref thread agent_id session_id record_id:int? speaker trust at:int since:int "
    "gone:int? text flags:int nudge:float pinned:int public_id:text? approved_by",
    "citations citations (ref record_id): document_id ref record_id:int cites:int held:int",
    "ends ends (kind ref): kind ref until:int known_at:int by_record:int?",
    "tombstones tombstones (kind ref): kind ref digest at:int author",
    "erasures erasures (id): id:int at:int author state plan report done_at:int?",
)
"""Every canonical table of a user, and of the derived ones those whose times cannot be made again: since when
something can be found (`items`), since when it is known to have ended (`ends`, `citations`), and when a fact was
stored (`fact_keys`). Words and vectors are made again."""

LEFT_OUT = {"items": {"stems", "length", "embedded"}}
"""Columns that an import makes again, by table."""


class ExportedFile(NamedTuple):
    """A file of an export as its manifest names it. `modified`: of the user's own files, when each was changed
    last, in nanoseconds since 1970; else 0."""

    path: str
    bytes: int
    sha256: str
    modified: int = 0


class Manifest(NamedTuple):
    """What an export says of itself. `digest_key` is what the digests of tombstones were made with; empty where
    there are none."""

    user: str
    at: str
    lifelong: str
    counts: Mapping[str, int]
    files: tuple[ExportedFile, ...]
    digest_key: str = ""

    def encode(self) -> bytes:
        whole = {"format": FORMAT, "version": VERSION, **self._asdict()}
        whole["files"] = [one._asdict() for one in self.files]
        return json.dumps(whole, ensure_ascii=False, indent=2).encode() + b"\n"

    def file(self, path: str) -> ExportedFile:
        return next(one for one in self.files if one.path == path)

    def own_files(self) -> list[ExportedFile]:
        """Return the user's own files: journal, archive, notes."""
        return [one for one in self.files if one.path.startswith(f"{FILES}/")]


def is_export(folder: Path) -> bool:
    """Return whether a folder says that it is an export of lifelong, of any version, whole or not."""
    place = folder / MANIFEST
    try:
        with place.open("rb") as stream:
            return f'"{FORMAT}"'.encode() in stream.read(MAX_FORMAT_BYTES)
    except OSError:
        return False


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of an export. Raise `InputError` for a folder that is not one, or one of another
    version, and for paths that lead out of it or that no export has."""
    place = folder / MANIFEST
    if not folder.is_dir() or place.is_symlink() or not place.is_file():
        raise InputError(
            f"{folder} is not an export of lifelong: it has no {MANIFEST}. Name a folder that `lifelong export` "
            "wrote; chats of other products are read by memory.import_from."
        )
    try:
        if place.stat().st_size > MAX_MANIFEST_BYTES:
            raise InputError(f"{place} is too large to be a manifest. Nothing was imported; export again.")
        given = json.loads(place.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{place} cannot be read: {error}. Nothing was imported; export again.") from error
    if not isinstance(given, dict) or given.get("format") != FORMAT:
        raise InputError(
            f"{place} is not the manifest of an export of lifelong. Name a folder that `lifelong export` wrote; "
            "chats of other products are read by memory.import_from."
        )
    if given.get("version") != VERSION:
        raise InputError(
            f"{folder} is an export of version {given.get('version')!r:.20}; this lifelong reads version "
            f"{VERSION}. Nothing was imported; upgrade lifelong, or export again."
        )
    return _manifest(given, place)


def _manifest(given: Mapping[str, Any], place: Path) -> Manifest:
    def is_number(value: object) -> bool:
        return type(value) is int and 0 <= value < 2**63

    def wrong(what: str) -> InputError:
        return InputError(f"{place} is damaged: {what}. Nothing was imported; export again.")

    files = given.get("files")
    counts = given.get("counts")
    texts = {name: given.get(name) for name in ("user", "at", "lifelong", "digest_key")}
    if not all(isinstance(text, str) and len(text) <= 1_000 for text in texts.values()):
        raise wrong("user, at, lifelong or digest_key is missing")
    if not isinstance(counts, dict) or counts.keys() != {file.name for file in ROW_FILES}:
        raise wrong("counts does not name each kind of row")
    if not all(map(is_number, counts.values())):
        raise wrong("a count is not a number")
    if not isinstance(files, list):
        raise wrong("it does not name its files")
    found: list[ExportedFile] = []
    for one in files:
        if not (
            isinstance(one, dict)
            and one.keys() == {*ExportedFile._fields}
            and is_number(one["bytes"])
            and is_number(one["modified"])
            and isinstance(one["sha256"], str)
        ):
            raise wrong(f"the entry {one!r:.200} does not have path, bytes, sha256 and modified")
        if not _is_allowed(one["path"]):
            raise wrong(f"no export has a file {one['path']!r:.200}")
        found.append(ExportedFile(**one))
    paths = [file.path for file in found]
    if len({*paths}) < len(paths):
        raise wrong("it names a file twice")
    if missing := [file.path for file in ROW_FILES if file.path not in paths]:
        raise wrong(f"it does not name {missing[0]}")
    return Manifest(**texts, counts=counts, files=tuple(found))  # type: ignore[arg-type]  # they were checked


def is_inner_path(path: object) -> bool:
    """Return whether a path never leads out of the folder that it is joined to."""
    if not isinstance(path, str) or not 0 < len(path.encode("utf-8", "replace")) <= MAX_PATH_BYTES:
        return False
    if "\0" in path or (os.name == "nt" and re.search(r"[\\:]", path)):
        return False
    return not any(part in ("", ".", "..") for part in path.split("/"))


def _is_allowed(path: object) -> bool:
    """Return whether an export may have a file of this path."""
    if not isinstance(path, str) or not is_inner_path(path):
        return False
    top, below, _ = path.partition("/")
    return top in (DOCUMENTS, FILES) if below else top in {SETTINGS, *(file.path for file in ROW_FILES)}


def place_of(folder: Path, path: str) -> Path:
    """Return where a file of an export is. Raise `InputError` where it is missing, or a link in its place."""
    place = folder
    for part in path.split("/"):
        place = place / part
        if place.is_symlink():
            raise InputError(f"{place} is a link, which no export has. Nothing was imported; export again.")
    if not place.is_file():
        raise InputError(f"{place} is missing. Nothing was imported; copy the whole export again.")
    return place


def check_files(folder: Path, manifest: Manifest) -> None:
    """Raise `InputError` unless every file is there, and is what the manifest says."""
    for file in manifest.files:
        place = place_of(folder, file.path)
        try:
            with place.open("rb") as stream:
                size, digest = 0, hashlib.sha256()
                while chunk := stream.read(CHUNK):
                    size += len(chunk)
                    digest.update(chunk)
        except OSError as error:
            raise InputError(f"{place} cannot be read: {error.strerror}. Nothing was imported.") from error
        if size != file.bytes or digest.hexdigest() != file.sha256:
            raise changed(place)


def changed(place: Path) -> InputError:
    return InputError(
        f"{place} was changed since it was exported: its checksum is another. Nothing was imported; copy the "
        "whole export again."
    )


def read_rows(folder: Path, manifest: Manifest, file: RowFile) -> Iterator[Row]:
    """Give the rows of a file, one by one. Raise `InputError` for a line that cannot be read, and at the end where
    the file is not what the manifest says: it may have changed since it was checked."""
    told, place, number = manifest.file(file.path), place_of(folder, file.path), 0
    digest = hashlib.sha256()
    with place.open("rb") as stream:
        for number, line in enumerate(_lines(stream, told.bytes), 1):
            digest.update(line)
            yield file.decode(line, number)
    if digest.hexdigest() != told.sha256:
        raise changed(place)
    if number != manifest.counts[file.name]:
        raise InputError(f"{place} does not have as many rows as {MANIFEST} says. Nothing was imported.")


def _lines(stream: BinaryIO, most: int) -> Iterator[bytes]:
    left = most
    while left > 0 and (line := stream.readline(left)):
        left -= len(line)
        yield line
