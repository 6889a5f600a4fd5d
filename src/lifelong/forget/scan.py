"""Find secrets that are stored, and take them out.

What arrives is redacted before it is stored. What an older version stored, or a person wrote into a file, may
hold secrets still: in records, sessions, agents, transcripts, documents (every version), experiences, the recall
log, and the files of the journal, its archive and the notes. A finding names the place and the kind, never the
secret.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from lifelong.collect.descriptors import TEXTS
from lifelong.collect.history import safe_original
from lifelong.collect.recorder import safe_key
from lifelong.disk import is_own_file
from lifelong.errors import StorageBusy
from lifelong.forget.documents import DocumentErasure, changeset_of, erase_items
from lifelong.forget.tables import TABLES
from lifelong.journal.files import failed, list_files
from lifelong.journal.records import JournalRecord, encode, parse, render
from lifelong.organize.document_rows import DocumentRows
from lifelong.recall.experience_rows import ExperienceRows
from lifelong.recall.index_state import IndexStates
from lifelong.recall.items import Items
from lifelong.redaction import MARKER, find_secrets, redact, redact_json
from lifelong.storage.base import Param, Row, Transaction
from lifelong.types import ORIGINAL

if TYPE_CHECKING:
    from lifelong.wiring import UserParts

Place = Literal[
    "record",
    "session",
    "agent",
    "key",
    "transcript",
    "changeset",
    "document",
    "experience",
    "search",
    "call",
    "review",
    "journal",
    "archive",
    "note",
]

ROWS_PER_READ = 500
EXCERPT_CHARS = 60  # before and after the first secret of a text
AUTHOR = "scan"


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """Where secrets are stored: the place and its id (a record `r12`, a document with its version, a file), which
    part of it, the kinds, and the words around the first one, with a marker in its place."""

    place: Place
    id: str
    part: str
    kinds: tuple[str, ...]
    excerpt: str


@dataclass(frozen=True, slots=True)
class RedactionReport:
    """What was redacted, and what could not be: `left` holds what is found afterwards."""

    redacted: tuple[StoredSecret, ...] = ()
    left: tuple[StoredSecret, ...] = ()


class _Texts(NamedTuple):
    """The columns of a table that hold texts; by which columns a row is known."""

    place: Place
    table: str
    key: tuple[str, ...]
    columns: tuple[str, ...]


_TEXTS = (
    _Texts("record", "session_history", ("id",), ("data",)),
    _Texts("session", "sessions", ("id",), ("reset_message",)),
    _Texts("agent", "agents", ("id",), ("descriptor",)),
    _Texts("key", "append_keys", ("agent_id", "key"), ("key",)),
    _Texts("transcript", "inbox", ("id",), ("text", "error")),
    _Texts("changeset", "changesets", ("id",), ("note",)),
    _Texts("document", "documents", ("id", "version"), ("title", "description", "body")),
    _Texts("experience", "experiences", ("id",), ("text", "category", "entities")),
    _Texts("search", "recalls", ("id",), ("question",)),
    _Texts("call", "ledger", ("id",), ("error",)),
    _Texts("review", "reviews", ("id",), ("reason", "payload")),
)
_OWNED = {table.name: table.owned for table in TABLES if table.belongs != "home"}


class _Finding(NamedTuple):
    """A stored text with a secret: where it is, and what it becomes."""

    secret: StoredSecret
    texts: _Texts
    key: tuple[Param, ...]
    column: str
    text: str
    safe: str


class SecretScan:
    """Look through everything that one user's memory stores."""

    def __init__(self, parts: UserParts) -> None:
        self._parts = parts
        self._owner = parts.name
        self._database = parts.shared.database
        self._files = parts.journal.every_file

    def find(self) -> list[StoredSecret]:
        """Return every place that holds a secret. Nothing is changed."""
        self._parts.flush_logs()
        rows = [found.secret for texts in _TEXTS for found in self._rows(texts)]
        return [*rows, *(secret for path in self._paths() for secret in self._in_file(path))]

    def redact(self, author: str = AUTHOR) -> RedactionReport:
        """Put a marker in the place of every stored secret, in what was made of it as well, and empty what the
        database has freed."""
        found = self.find()
        if not found:
            return RedactionReport()
        items: set[int] = set()
        records: dict[int, str] = {}
        for texts in _TEXTS:
            some = list(self._rows(texts))
            for _, group in groupby(some, key=_row_of):
                items |= self._database.write(partial(self._rewrite, rows=list(group), author=author))
            if texts.place == "record":
                records = {
                    int(str(one.key[0])): _said(one.safe) for one in some if _said(one.safe) != _said(one.text)
                }
        if records:
            self._parts.eraser.rewrite(records, author)
        self._redact_files()
        self._parts.sync_files()
        self._remove_vectors(items)
        self._database.purge()
        left = self.find()
        return RedactionReport(tuple(one for one in found if one not in left), tuple(left))

    # Rows

    def _rows(self, texts: _Texts) -> Iterator[_Finding]:
        """Yield the rows of a table that hold a secret, a part of the table at a time."""
        after: Param = None
        columns = ", ".join((*texts.key, *texts.columns))
        order = ", ".join(texts.key)
        while True:
            beyond = f" AND {texts.key[0]} > ?" if after is not None else ""
            limit = ROWS_PER_READ if len(texts.key) == 1 else -1
            statement = (
                f"SELECT {columns} FROM {texts.table} WHERE {_OWNED[texts.table]}{beyond} ORDER BY {order}"
                + (f" LIMIT {limit}" if limit > 0 else "")
            )
            given: tuple[Param, ...] = (self._owner,) if after is None else (self._owner, after)
            rows = self._database.read(partial(_read, sql=statement, given=given))
            for row in rows:
                key = tuple(row[: len(texts.key)])
                for column, text in zip(texts.columns, row[len(texts.key) :], strict=True):
                    if text and (found := _finding(texts, key, column, str(text))):
                        yield found
            if limit < 0 or len(rows) < limit:
                return
            after = rows[-1][0]

    def _rewrite(self, tx: Transaction, rows: list[_Finding], author: str) -> set[int]:
        """Rewrite the texts of one row. Return the items whose vectors were made of them."""
        texts, key = rows[0].texts, rows[0].key
        if texts.place == "document":
            return self._rewrite_document(tx, str(key[0]), author)
        where = " AND ".join(f"{name} = ?" for name in texts.key)
        for one in rows:
            safe = _all_but_text(one) if texts.place == "record" else one.safe
            same = f"{where} AND {one.column} = ?"  # a part of it may be forgotten since it was read
            tx.run(f"UPDATE {texts.table} SET {one.column} = ? WHERE {same}", safe, *key, one.text)
        if texts.place != "experience":
            return set()
        items = Items(tx, self._owner)
        ids = items.ids_of("experience", [str(key[0])])
        erase_items(tx, self._owner, ids, [])
        ExperienceRows(tx, self._owner).reindex(self._parts.shared.clock())
        return {*ids}

    def _rewrite_document(self, tx: Transaction, document_id: str, author: str) -> set[int]:
        at = DocumentRows(tx, self._owner).lock(self._parts.shared.clock())
        documents = DocumentErasure(tx, self._owner)
        done = documents.redact(document_id)
        documents.commit([document_id], changeset_of(self._owner, author, at))
        erase_items(tx, self._owner, done.items, done.keys)
        return {*done.items}

    def _remove_vectors(self, items: Iterable[int]) -> None:
        worker, gone = self._parts.shared.index_worker, sorted(items)
        if not gone:
            return
        for identity in self._database.read(lambda tx: IndexStates(tx).identities()):
            worker.vectors(self._owner).remove(worker.partition(self._owner, identity), gone)

    # Files

    def _paths(self) -> list[tuple[Place, Path]]:
        """Return the files of the journal, its archive and the notes, with the versions that were kept of them."""
        files = self._files
        before = [path for path in list_files(files.root / "tmp") if path.suffix == ".before"]
        journal = [files.memory, *files.days(), files.long_memory, *before]
        archive, notes = (
            [path for path in list_files(folder) if path.suffix == ".md"]
            for folder in (files.archive_folder, files.root / "workers")
        )
        places: tuple[tuple[Place, list[Path]], ...] = (
            ("journal", journal),
            ("archive", archive),
            ("note", notes),
        )
        return [(place, path) for place, paths in places for path in paths if self._is_own(path)]

    def _is_own(self, path: Path) -> bool:
        try:
            return is_own_file(path, self._files.root) and not path.is_symlink()
        except OSError as error:
            raise failed("read", path, error) from error

    def _in_file(self, one: tuple[Place, Path]) -> Iterator[StoredSecret]:
        place, path = one
        name = path.relative_to(self._files.root).as_posix()
        for number, before, after in _changes(self._files.read(path)):
            if before != after:
                yield StoredSecret(place, name, f"line {number}", find_secrets(before).found, _excerpt(after))

    def _redact_files(self) -> None:
        """Rewrite the files that hold secrets. Nobody else writes to the journal meanwhile, nor compacts it."""
        if not self._files.root.is_dir():
            return
        with ExitStack() as held:
            held.enter_context(self._files.summarizing(wait=True))
            if not held.enter_context(self._files.compacting(self._owner, self._parts.shared.clock())):
                raise StorageBusy("A compaction of the journal runs. Try again when it has ended.")
            held.enter_context(self._files.writing())
            for _, path in self._paths():
                before = self._files.read(path)
                after = encode("".join(after for _, _, after in _changes(before)))
                if after == before:
                    continue
                if path.name.endswith(".before"):
                    path.unlink()
                    continue
                self._files.replace(path, after)
                self._files.previous_version(path).unlink(missing_ok=True)


def _finding(texts: _Texts, key: tuple[Param, ...], column: str, text: str) -> _Finding | None:
    safe, found = _safe(texts.place, column, text)
    if safe == text or not found:
        return None
    id_ = str(key[0])
    if texts.place == "document":
        id_ += f" version {key[1]!s}"
    elif texts.place == "record":
        id_ = f"r{id_}"
    secret = StoredSecret(texts.place, id_, column, _kinds(found), _excerpt(safe))
    return _Finding(secret, texts, key, column, text, safe)


def _kinds(markers: Iterable[str]) -> tuple[str, ...]:
    return tuple(marker.removeprefix("[secret: ").removesuffix("]") for marker in markers)


def _row_of(one: _Finding) -> tuple[Param, ...]:
    """Return what is rewritten at once: a row, or all versions of a document."""
    return one.key[:1] if one.texts.place == "document" else one.key


def _read(tx: Transaction, sql: str, given: tuple[Param, ...]) -> list[Row]:
    return tx.all(sql, *given)


def _safe(place: Place, column: str, text: str) -> tuple[str, tuple[str, ...]]:
    """Return a stored text without its secrets, and their markers."""
    if place == "key":
        safe = safe_key(text)
        return safe, ("[secret: random token]",) if safe != text else ()
    safe = _safe_json(column, text) if column in {"data", "descriptor", "entities", "payload"} else redact(text)
    return safe, tuple((Counter(MARKER.findall(safe)) - Counter(MARKER.findall(text))).elements())


def _safe_json(column: str, text: str) -> str:
    try:
        given = json.loads(text)
    except ValueError:
        return redact(text)
    if not isinstance(given, dict):
        clean = redact_json(given)
    else:
        ids = given.keys() - TEXTS if column == "descriptor" else {"call_id"}
        clean = {name: value if name in ids else _safe_value(name, value) for name, value in given.items()}
    return text if clean == given else json.dumps(clean, ensure_ascii=False, separators=(",", ":"))


def _safe_value(name: str, value: object) -> object:
    return safe_original(value) if name == ORIGINAL and isinstance(value, str) else redact_json(value, name)


def _said(data: str) -> str:
    """Return the text of a record's data; empty where it has none."""
    given = json.loads(data)
    return given.get("text", "") if isinstance(given, dict) else ""


def _all_but_text(one: _Finding) -> str:
    """Return a record's data without secrets, but for its text: the eraser rewrites that, with all that was made
    of it."""
    given, safe = json.loads(one.text), json.loads(one.safe)
    return json.dumps(safe | ({"text": given["text"]} if "text" in given else {}), ensure_ascii=False)


def _excerpt(safe: str) -> str:
    """Return the words around the first marker."""
    marker = MARKER.search(safe)
    start, end = marker.span() if marker else (0, 0)
    around = safe[max(0, start - EXCERPT_CHARS) : end + EXCERPT_CHARS]
    return " ".join(redact(around).split())


def _changes(data: bytes) -> Iterator[tuple[int, str, str]]:
    """Yield each record's line and each stretch of other lines: its number, as it is, and without secrets."""
    number = 1
    for _, lines in groupby(parse(data), key=lambda line: line.record is not None):
        group = list(lines)
        if group[0].record is None:
            text = "".join(line.raw for line in group)
            yield number, text, redact(text)
        for place, line in enumerate(group):
            if line.record:
                yield number + place, line.raw, _safe_line(line.raw, line.record)
        number += len(group)


def _safe_line(raw: str, record: JournalRecord) -> str:
    text, source = redact(record.text), redact(record.source_channel)
    if (text, source) == (record.text, record.source_channel):
        return raw
    ending = raw[len(raw.rstrip("\r\n")) :]
    safe = replace(record, text=text, source_channel=source, sensitivity="secret")
    return render(safe).rstrip("\r\n") + ending
