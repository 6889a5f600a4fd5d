"""`import`: an export (see `export_format`) becomes a user of this home again, whole or not at all.

First everything is checked; then one transaction stores all rows, and says that an import is under way. The user's
own files wait in a folder beside, and get their place after that. If the process is killed between the two, the
next one that opens the home finishes it; if it is killed before, the next one removes what it left.

Ids stay what they are where they are free. Where other users of the home have them, numbers are raised by one
offset for each table, and agents and sessions get new ids, wherever they are named: in rows, in the citations of
every version of a document, in transcripts, in the lines of the journal.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from lifelong.collect.descriptors import Descriptor, cache_key, decode, encode
from lifelong.collect.tombstones import Tombstones
from lifelong.collect.transcript import renumber_blocks
from lifelong.disk import make_folder, sync, write_new
from lifelong.errors import InputError, LifelongError, StorageBusy, StorageError
from lifelong.forget.export import Progress
from lifelong.forget.export_format import (
    FILES,
    ROW_FILES,
    Manifest,
    Row,
    RowFile,
    changed,
    check_files,
    place_of,
    read_manifest,
    read_rows,
)
from lifelong.forget.plan import ErasurePlan, store_plan
from lifelong.forget.tables import TABLES
from lifelong.forget.user_files import copy_file, open_private, remove_folder, sync_folders, user_files
from lifelong.home import Home
from lifelong.journal.files import IDENTITY_FILE, file_lock
from lifelong.journal.records import renumber_file, renumber_line_id
from lifelong.journal.rows import JournalRows
from lifelong.organize.facts import renumber_citations
from lifelong.recall.items import full_public_id
from lifelong.recall.repair import IndexRebuild
from lifelong.storage.base import Database, Transaction
from lifelong.types import new_id

log = logging.getLogger("lifelong.forget")

ROWS_PER_INSERT = 500
IMPORTING = "import"  # the name of the row of `schedules` that says that the files are still to be put in place
NOT_MEMORY = ("ledger", "journals", "schedules", "recalls", "tombstones", "erasures")
"""Canonical tables that a user without memories may have rows in."""
OWN_NUMBERS = [file.table.name for file in ROW_FILES if file.has_growing_id]
WITH_IDS = ("id", "agent_id", "session_id", "cache_key", "descriptor", "record", "item", "ref", "thread")
"""Columns that may name an agent or a session."""
_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
_RECORD = re.compile(r"\Ar?(\d{1,18})\Z")
_CITED = re.compile(r" r(\d{1,18})\Z")  # the ref of a fact that its document has twice
_SHOWN_RECORD = re.compile(r"\Ar\d{1,18}\Z")
_RUN_NOTE = re.compile(r"(Transcript of session \S+, records r)(\d{1,18})( to r)(\d{1,18})")
SHORT_ID = 9  # characters of an id of the journal that tell two apart

T = TypeVar("T")


class Imported(NamedTuple):
    """What was read: the user it is now, how many rows of each kind, how many of the user's own files, whether
    other ids had to be given, and what a person should know, a sentence each."""

    user: str
    counts: Mapping[str, int]
    files: int
    renumbered: bool
    remarks: tuple[str, ...]


def import_user(
    database: Database,
    home: Home,
    folder: Path,
    user: str,
    now: datetime,
    default_agent: Callable[[str], Descriptor],
    progress: Progress = lambda what, done, total: None,
) -> Imported:
    """Make the user of an export from its folder. `default_agent` gives whom a user talks to where no agent is
    named. Raise `InputError`, and change nothing, where the export is not whole or the user holds something, and
    `StorageBusy` where another process imports the same user."""
    manifest = read_manifest(folder)
    progress("checksums", 0, 1)
    check_files(folder, manifest)
    contents = _Contents(folder, manifest, progress)
    with _alone(home, user) as free:
        if not free:
            raise StorageBusy(f"Another process is importing the user {user!r}. Wait for it, and look again.")
        _finish(database, home, user)
        if any(place.name != IDENTITY_FILE for place in user_files(home.user_folder(user))):
            raise _not_empty(user)
        task = _Import(contents, home, user, now, default_agent, progress, database.dialect == "postgres")
        try:
            numbers = database.write(task.reserve_ids)
            remarks = database.write(lambda tx: task.store(tx, numbers))
        except OSError as error:
            raise StorageError(
                f"The files of the user could not be written: {error.strerror or error}. Nothing was imported; "
                "solve that and try again."
            ) from error
        finally:
            in_place = _place_files(database, home, user)
    if not in_place:
        remarks = (
            *remarks,
            "Everything is imported, but not all files are in place yet. Open the home again when the cause is "
            "gone, which the log says: that puts them there.",
        )
    return Imported(user, manifest.counts, len(manifest.own_files()), numbers.needed, remarks)


# Files that wait


def finish_imports(database: Database, home: Home) -> None:
    """Finish the imports that were killed after their rows were stored, and remove what others left."""
    for left in home.path.glob("users/.*.import"):
        user = left.name[1:].removesuffix(".import")
        try:
            with _alone(home, user) as free:
                if free:
                    _finish(database, home, user)
        except (LifelongError, OSError) as error:
            log.error("the import of user %s is not finished: %s", user, error)


@contextmanager
def _alone(home: Home, user: str) -> Iterator[bool]:
    """Give whether nobody else imports this user, and keep others from it. Nobody waits for the lock, so its file
    goes with it."""
    lock = _staging(home, user).with_suffix(".lock")
    with file_lock(lock, wait=False) as free:
        try:
            yield free
        finally:
            if free:
                lock.unlink(missing_ok=True)


def _staging(home: Home, user: str) -> Path:
    return home.path / "users" / f".{user}.import"


def _finish(database: Database, home: Home, user: str) -> None:
    """Put the files in place whose rows are stored, or remove files without rows."""
    staged, own = _staging(home, user), home.user_folder(user)
    if not staged.is_dir():
        return
    if database.read(lambda tx: JournalRows(tx).last_run(user, IMPORTING)) is None:
        remove_folder(staged)
        return
    for place in user_files(staged):
        target = own / place.relative_to(staged)
        make_folder(target.parent)
        if target.exists() and target.name != IDENTITY_FILE:  # written since by a process that had the home open
            target.rename(target.with_name(f"{target.name}.before-import"))
        place.replace(target)
        sync(target.parent)
    database.write(lambda tx: tx.run("DELETE FROM schedules WHERE owner = ? AND name = ?", user, IMPORTING))
    remove_folder(staged)


def _place_files(database: Database, home: Home, user: str) -> bool:
    """Put the files of an import in place, or remove those of one that failed. Return whether that was possible:
    if not, the next process that opens the home does it."""
    try:
        _finish(database, home, user)
    except (LifelongError, OSError) as error:
        log.error("the files of the import of user %s wait in %s: %s", user, _staging(home, user), error)
        return False
    return True


def _not_empty(user: str) -> InputError:
    return InputError(
        f"The user {user!r} holds something already. Nothing was imported; name another user with --user."
    )


# What an export holds


class _Contents:
    """The rows of an export, read once to check them: which agents and sessions there are, and the numbers."""

    def __init__(self, folder: Path, manifest: Manifest, progress: Progress) -> None:
        self.folder = folder
        self.manifest = manifest
        self.agents: set[str] = set()
        self.sessions: set[str] = set()
        self.memory_sessions: set[str] = set()  # of memory-agents
        self.numbers: dict[str, tuple[int, int]] = {}  # the lowest and the highest by table
        memory_agents: set[str] = set()
        for done, file in enumerate(ROW_FILES):
            progress(f"checking {file.name}", done, len(ROW_FILES))
            for number, row in enumerate(self.rows(file), 1):
                if file.name == "agents":
                    self._check_agent(row, number)
                    self.agents.add(row["id"])
                    memory_agents |= {row["id"]} if row["kind"] == "memory-agent" else set()
                if file.name == "sessions":
                    self.sessions.add(row["id"])
                    self.memory_sessions |= {row["id"]} if row["agent_id"] in memory_agents else set()
                if file.name == "erasures" and row["state"] != "done":
                    raise _wrong_row(file, number, "it is not done")
                self._check_belonging(file, row, number)
                self._count(file, row)

    def rows(self, file: RowFile) -> Iterator[Row]:
        return read_rows(self.folder, self.manifest, file)

    def _check_agent(self, row: Row, number: int) -> None:
        try:
            described = decode(_json_text(row["descriptor"]))
        except LifelongError as error:
            raise _wrong_row(_file("agents"), number, "its descriptor cannot be read") from error
        if described.kind != row["kind"] or cache_key(described) != row["cache_key"]:
            raise _wrong_row(_file("agents"), number, "its descriptor is another agent's")

    def _check_belonging(self, file: RowFile, row: Row, number: int) -> None:
        """Raise an error for a row that names an agent or a session which is not in the export: it may be another
        user's."""
        if file.table.belongs == "agent" and row["agent_id"] not in self.agents:
            raise _wrong_row(file, number, "its agent is not in the export")
        needs_session = file.table.belongs == "session" or file.name == "inbox"
        if needs_session and row["session_id"] not in self.sessions:
            raise _wrong_row(file, number, "its session is not in the export")

    def _count(self, file: RowFile, row: Row) -> None:
        found = [(space, row[column]) for column, space in file.table.numbers.items() if row[column]]
        if file.name == "tombstones" and row["kind"] == "record" and (gone := _RECORD.match(row["ref"])):
            found.append(("session_history", int(gone[1])))
        for space, number in found:
            low, high = self.numbers.get(space, (number, number))
            self.numbers[space] = min(low, number), max(high, number)


def _file(name: str) -> RowFile:
    return next(file for file in ROW_FILES if file.name == name)


def _wrong_row(file: RowFile, number: int, why: str) -> InputError:
    return InputError(f"Line {number} of {file.path} cannot be imported: {why}. Nothing was imported.")


# Other ids


class Renumbering:
    """The ids that rows get: numbers by an offset for each table, agents and sessions by what they were."""

    def __init__(self, offsets: Mapping[str, int], ids: Mapping[str, str], contents: _Contents) -> None:
        self._offsets = offsets
        self._ids = ids
        self._contents = contents
        self._journal_ids: dict[str, tuple[str, str]] = {}
        self.needed = bool(ids) or any(offsets.values())

    def number(self, space: str, old: int) -> int:
        """Return the new number; 0 stands for none."""
        return old + self._offsets.get(space, 0) if old else old

    def record(self, old: int) -> int:
        return self.number("session_history", old)

    def id(self, old: str) -> str:
        """Return the new id of an agent or a session; another text stays."""
        return self._ids.get(old, old)

    def row(self, file: RowFile, row: Row) -> Row:
        """Return a row with its new ids, also those within its texts."""
        new = dict(row)
        for column, space in file.table.numbers.items():
            if row[column] is not None:
                new[column] = self.number(space, row[column])
        match file.name:
            case "records" if row["session_id"] in self._contents.memory_sessions:
                data = file.values(row)[[*file.columns].index("data")]
                new["data"] = self._in_ids(_RUN_NOTE.sub(self._run_note, data))
            case "inbox":
                new["text"] = renumber_blocks(row["text"], self.record)
            case "documents":
                new["body"] = renumber_citations(row["body"], self.record)
            case "experiences" | "extractions":
                new["record"] = self.ref("journal", row["record"])
            case "feedback" | "pins" | "unpins" | "corrections":
                kind, _, ref = row["item"].partition(":")
                new["item"] = f"{kind}:{self.ref(kind, ref)}"
            case "items" | "ends" | "tombstones":
                new["ref"] = self.ref(row["kind"], row["ref"])
            case "citations":
                new["ref"] = self.ref("fact", row["ref"])
            case "recall_log" if isinstance(row["hits"], list):
                new["hits"] = [self._hit(hit) for hit in row["hits"]]
            case "reviews" if isinstance(row["payload"], dict):
                new["payload"] = self._held(row["payload"])
        for column in WITH_IDS if self._ids else ():
            if column in new and not isinstance(new[column], int):
                new[column] = self._in_ids(_json_text(new[column]))
        if file.name == "items" and row["kind"] == "journal" and row["public_id"]:
            new["public_id"] = full_public_id("journal", new["ref"])
            self._journal_ids[row["public_id"][:SHORT_ID]] = row["public_id"], new["public_id"]
        return new

    def ref(self, kind: str, ref: str) -> str:
        """Return the new ref of what an item of this kind is made from, without the ids of sessions."""
        if kind == "record":
            return _RECORD.sub(lambda found: found[0].replace(found[1], str(self.record(int(found[1])))), ref)
        if kind == "journal":
            return renumber_line_id(ref, self.record)
        if kind == "fact":
            return _CITED.sub(lambda found: f" r{self.record(int(found[1]))}", ref)
        return ref

    def file(self, data: bytes) -> bytes:
        """Return the content of a file of the journal with the new ids."""
        return renumber_file(data, self._contents.sessions, self.id, self.record)

    def _in_ids(self, text: str) -> str:
        return _ID.sub(lambda found: self.id(found[0]), text)

    def _run_note(self, found: re.Match[str]) -> str:
        return f"{found[1]}{self.record(int(found[2]))}{found[3]}{self.record(int(found[4]))}"

    def _held(self, value: object) -> object:
        """Return what waits for review with the new numbers of records: of one to forget, and in citations."""
        if isinstance(value, dict):
            return {name: self._held(one) for name, one in value.items()}
        if not isinstance(value, str):
            return value
        shown = _SHOWN_RECORD.match(value)
        return f"r{self.record(int(value[1:]))}" if shown else renumber_citations(value, self.record)

    def _hit(self, hit: object) -> object:
        """Return a hit of the recall log: id, score, rank."""
        if not isinstance(hit, list) or not hit or not isinstance(hit[0], str):
            return hit
        shown, *rest = hit
        if _SHOWN_RECORD.match(shown):
            shown = f"r{self.record(int(shown[1:]))}"
        elif known := self._journal_ids.get(shown[:SHORT_ID]):
            shown = known[1][: len(shown)] if known[0].startswith(shown) else shown
        return [shown, *rest]


def _json_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# Storing


class _Import:
    """One import. `store` may run twice: it has no effect except through its transaction, and on files that
    nobody reads before."""

    def __init__(
        self,
        contents: _Contents,
        home: Home,
        user: str,
        now: datetime,
        default_agent: Callable[[str], Descriptor],
        progress: Progress,
        shared: bool,
    ) -> None:
        self._contents = contents
        self._manifest = contents.manifest
        self._home = home
        self._user = user
        self._now = now
        self._default_agent = default_agent
        self._progress = progress
        self._shared = shared  # several homes may use the database

    def store(self, tx: Transaction, numbers: Renumbering) -> tuple[str, ...]:
        """Store everything. Return remarks."""
        self._clear_empty_user(tx)
        self._stage(numbers)
        # The items come first: the recall log names them.
        ordered = sorted(ROW_FILES, key=lambda file: file.name == "recall_log")
        for done, file in enumerate(ordered):
            self._progress(file.name, done, len(ordered))
            self._insert(tx, file, numbers)
        if "items" in self._contents.numbers:
            first, last = (numbers.number("items", number) for number in self._contents.numbers["items"])
            IndexRebuild(tx).write_words_of(first, last)
        remarks = self._take_digest_key(tx)
        respect_tombstones(tx, self._user, self._manifest.user, self._now)
        JournalRows(tx).store_run(self._user, IMPORTING, self._now)
        return remarks

    def _check_empty(self, tx: Transaction) -> None:
        """Raise an error if the user holds something."""
        for table in TABLES:
            is_memory = (
                table.belongs != "home" and table.canonical and table.exported and table.name not in NOT_MEMORY
            )
            if is_memory and tx.one(f"SELECT 1 FROM {table.name} WHERE {table.owned} LIMIT 1", self._user):
                raise _not_empty(self._user)

    def _clear_empty_user(self, tx: Transaction) -> None:
        """Delete what opening a user without memories leaves. Raise an error if there are some."""
        self._check_empty(tx)
        for table in reversed(TABLES):
            left_by_opening = not table.canonical or table.name in ("journals", "schedules")
            if table.belongs != "home" and left_by_opening and table.name != "erasure_counts":
                tx.run(f"DELETE FROM {table.name} WHERE {table.owned}", self._user)

    def reserve_ids(self, tx: Transaction) -> Renumbering:
        """Find ids for everything, and have them given to nobody else. In a transaction of its own, so that nobody
        else's records wait for the import."""
        self._check_empty(tx)
        offsets: dict[str, int] = {}
        for space in OWN_NUMBERS:
            last = tx.lock_ids(space)
            if space in self._contents.numbers:
                low, high = self._contents.numbers[space]
                taken = tx.one(f"SELECT 1 FROM {space} WHERE id BETWEEN ? AND ? LIMIT 1", low, high)
                offsets[space] = last if taken else 0
                tx.skip_ids(space, high + offsets[space])
        ids: dict[str, str] = {}
        for table, named in (("agents", self._contents.agents), ("sessions", self._contents.sessions)):
            for some in _batches(sorted(named), ROWS_PER_INSERT):
                marks = ", ".join("?" * len(some))
                for (taken_id,) in tx.all(f"SELECT id FROM {table} WHERE id IN ({marks})", *some):
                    if not _ID.fullmatch(taken_id):
                        raise InputError(f"The id {taken_id!r} is taken in this home. Nothing was imported.")
                    ids[taken_id] = new_id()
        return Renumbering(offsets, ids, self._contents)

    def _insert(self, tx: Transaction, file: RowFile, numbers: Renumbering) -> None:
        owner = (self._user,) if file.table.belongs == "owner" else ()
        words = (b"", 0) if file.name == "items" else ()  # to be made again
        columns = [*("owner" for _ in owner), *file.columns, *(("stems", "length") if words else ())]
        into = f"{file.table.name} ({', '.join(columns)})"
        marks = ", ".join("?" * len(columns))
        known = " ON CONFLICT DO NOTHING" if file.name == "tombstones" else ""  # this home may have the same
        for some in _batches(self._rows(file, numbers), ROWS_PER_INSERT):
            rows = [(*owner, *file.values(row), *words) for row in some]
            if file.has_growing_id:
                tx.insert_with_ids(into, rows)
            else:
                tx.many(f"INSERT INTO {into} VALUES ({marks}){known}", rows)

    def _rows(self, file: RowFile, numbers: Renumbering) -> Iterator[Row]:
        default, new = self._default_agent(self._manifest.user), self._default_agent(self._user)
        for row in self._contents.rows(file):
            row = numbers.row(file, row) if numbers.needed else row
            if file.name == "agents" and row["cache_key"] == cache_key(default) and default != new:
                row |= {"cache_key": cache_key(new), "descriptor": encode(new)}
            if file.name == "journal":
                row["home"] = self._journal_id() if self._shared else ""
            if file.name == "schedules" and row["name"] == IMPORTING:
                continue
            yield row

    def _stage(self, numbers: Renumbering) -> None:
        """Put the user's own files beside, with the new ids."""
        staged = _staging(self._home, self._user)
        remove_folder(staged)
        make_folder(staged)
        own = self._manifest.own_files()
        for done, file in enumerate(own):
            self._progress("files", done, len(own))
            source = place_of(self._contents.folder, file.path)
            target = staged / file.path.removeprefix(f"{FILES}/")
            if copy_file(source, target, self._contents.folder).sha256 != file.sha256:
                raise changed(source)
            if numbers.needed and "workers" not in target.relative_to(staged).parts[:1]:
                data = target.read_bytes()
                if (other := numbers.file(data)) != data:
                    target.unlink()
                    with open_private(target) as stream:
                        stream.write(other)
                        stream.flush()
                        os.fsync(stream.fileno())
            os.utime(target, ns=(file.modified, file.modified))
        sync_folders(staged)

    def _journal_id(self) -> str:
        """Return the id of the journal's folder, made where the export has none."""
        place = _staging(self._home, self._user) / IDENTITY_FILE
        if not place.exists():
            write_new(place, f"{new_id()}\n".encode())
        return place.read_text(encoding="utf-8").strip()

    def _take_digest_key(self, tx: Transaction) -> tuple[str, ...]:
        """Take over the key with which forgotten records are known again, if this home has none."""
        key = self._manifest.digest_key
        if not key:
            return ()
        tx.run("INSERT INTO digest_keys (id, key) VALUES (1, ?) ON CONFLICT (id) DO NOTHING", key)
        if tx.one("SELECT 1 FROM digest_keys WHERE key = ?", key):
            return ()
        return (
            "What was forgotten before the export is not recognized if it comes again, since this home has "
            "another key for that.",
        )


def respect_tombstones(tx: Transaction, user: str, exported: str, now: datetime) -> None:
    """Have what the user, or the one of the export, forgot here forgotten again, if the import brought it back.
    That is stored with the import, and done when the home is opened next, or by the next background work."""
    rows = tx.all(
        "SELECT h.id, h.type, h.provenance, h.at, h.data FROM session_history h JOIN sessions s "
        "ON s.id = h.session_id JOIN agents a ON a.id = s.agent_id WHERE a.owner = ?",
        user,
    )
    said = [(kind, by, at, data) for _, kind, by, at, data in rows]
    again = Tombstones(tx, user).find_again(said, {user, exported})
    if again:
        plan = ErasurePlan(records={rows[place][0]: "" for place in again})
        store_plan(tx, user, plan, "import", now)


def _batches(things: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(things)
    while some := [*islice(rest, size)]:
        yield some
