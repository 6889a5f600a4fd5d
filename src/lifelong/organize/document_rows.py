"""The rows of `documents`, `document_references`, `changesets` and `trees`.

A document is stored as its versions. The version without `valid_to` is current; a document without such a version
is deleted. Versions of one changeset share their `valid_from`, so that a reader of any past time sees whole
changesets only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import astuple, replace
from datetime import datetime
from operator import attrgetter
from typing import TypeAlias

from lifelong.errors import ChangesetNotFound, DocumentNotFound, InputError
from lifelong.storage.base import NO_LIMIT, Param, Row, Transaction
from lifelong.types import Changeset, Document, Reference, from_micros, from_optional_micros, to_micros
from lifelong.validation import validate_name, validate_text

MEMORY_ROOT = "~/memory"
MEMORY_ID = "memory"
"""The id of `~/memory` for every owner: two processes that make it at once make the same document."""

MAX_PATH_CHARS = 10_000
MAX_DEPTH = 100

_COLUMNS = (
    "d.id, d.version, d.parent_id, d.slug, d.title, d.description, d.body, d.valid_from, d.valid_to, "
    "d.changeset_id, (SELECT string_agg(r.target_id, ' ' ORDER BY r.target_id) FROM document_references r "
    "WHERE r.owner = d.owner AND r.source_id = d.id AND r.source_version = d.version AND r.kind = 'link')"
)
_CHANGESET = (
    "owner, at, cause, author, note, session_id, after_id, until_id, inbox_id, organizer, model, "
    "input_tokens, output_tokens, cost, trust, approved_by, said_at"
)
_FIND_CHANGESET = f"SELECT id, {_CHANGESET} FROM changesets WHERE owner = ?"

_SHORT_ID = re.compile(r"d[0-9a-f]{1,22}", re.ASCII)

_texts = attrgetter("slug", "title", "description", "body")

When: TypeAlias = datetime | None
"""A time in the past, or none for now."""


class DocumentRows:
    """The documents of one owner, seen through a transaction."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner

    # One document

    def find(self, document_id: str, as_of: When = None) -> Document | None:
        """Return the document as it is, or was; none if there is none."""
        found = self.row(self.full_id(validate_name(document_id, "A document's id")), as_of)
        return found and self.with_path(found, as_of)

    def full_id(self, document_id: str) -> str:
        """Return the id that a short one stands for: its beginning, in any case. Any other is returned as it is.
        Raise `DocumentNotFound` if several begin like that."""
        typed = str(document_id).lower()
        if not _SHORT_ID.fullmatch(typed):
            return document_id
        rows = self._tx.all(
            "SELECT DISTINCT id FROM documents WHERE owner = ? AND id >= ? AND id < ? ORDER BY id LIMIT 4",
            *(self._owner, typed, f"{typed}g"),  # which follows every digit
        )
        if len(rows) > 1 and rows[0][0] != typed:
            fitting = ", ".join(row[0] for row in rows[:3])
            raise DocumentNotFound(
                f"Several documents have an id that begins with {document_id!r:.200}: {fitting}"
                f"{' …' if rows[3:] else ''}. Type more of it."
            )
        return str(rows[0][0]) if rows else document_id

    def get(self, document_id: str) -> Document:
        if found := self.find(document_id):
            return found
        raise document_not_found(document_id)

    def at(self, path: str, as_of: When = None) -> Document | None:
        """Return the document at `~/slug/slug`; none if there is none."""
        steps, document_id = slugs(path), ""
        for slug in steps:
            below = self.child(document_id, slug, as_of)
            if not below:
                return None
            document_id = below
        found = self.row(document_id, as_of) if steps else None
        return found and replace(found, path="/".join(("~", *steps)))

    def row(self, document_id: str, as_of: When = None) -> Document | None:
        """Return what `find` does, without the path, for which the ancestors must be read."""
        which, times = _valid(as_of)
        return self._one(f"d.owner = ? AND d.id = ? AND {which}", self._owner, document_id, *times)

    def child(self, parent_id: str, slug: str, as_of: When = None) -> str | None:
        """Return the id of the parent's child with this slug."""
        which, times = _valid(as_of)
        where = f"d.owner = ? AND d.parent_id = ? AND d.slug = ? AND {which}"
        row = self._tx.one(f"SELECT d.id FROM documents d WHERE {where}", self._owner, parent_id, slug, *times)
        return row[0] if row else None

    def children_beginning(self, parent_id: str, start: str) -> list[str]:
        """Return the ids of the parent's children whose slugs begin like this: two at most."""
        where = "d.owner = ? AND d.parent_id = ? AND d.valid_to IS NULL AND substr(d.slug, 1, ?) = ? LIMIT 2"
        rows = self._tx.all(
            f"SELECT d.id FROM documents d WHERE {where}", self._owner, parent_id, len(start), start
        )
        return [row[0] for row in rows]

    def location(self, document_id: str, as_of: When = None) -> tuple[str, str] | None:
        """Return parent and slug."""
        which, times = _valid(as_of)
        row = self._tx.one(
            f"SELECT d.parent_id, d.slug FROM documents d WHERE d.owner = ? AND d.id = ? AND {which}",
            self._owner,
            document_id,
            *times,
        )
        return (row[0], row[1]) if row else None

    def lineage(self, document_id: str, as_of: When = None) -> list[tuple[str, str]]:
        """Id and slug of the document and its ancestors, the root last. A cycle is an error."""
        found: dict[str, str] = {}
        while document_id and (location := self.location(document_id, as_of)):
            if document_id in found:
                raise InputError(
                    f"{found[document_id]!r} would be its own ancestor. Choose another parent for it."
                )
            found[document_id] = location[1]
            document_id = location[0]
        return list(found.items())

    def with_path(self, document: Document, as_of: When = None) -> Document:
        """Return the document with its path."""
        above = [slug for _, slug in self.lineage(document.parent_id, as_of)] if document.parent_id else []
        return replace(document, path="/".join(("~", *reversed(above), document.slug)))

    def resolve(self, target: str) -> str | None:
        """Return the id of what a `[[target]]` names: a path, an id, a path below `~/memory`, or a title that only
        one document has."""
        target = target.strip()
        if target.startswith("~"):
            found = self.at(target) if target.startswith("~/") else None
            return found.id if found else None
        found = self.row(target) or self.at(f"{MEMORY_ROOT}/{target}")
        return found.id if found else self.titled(target)

    def titled(self, title: str) -> str | None:
        """Return the id of the one document with this title; none if there is none, or are several."""
        rows = self._tx.all(
            "SELECT id FROM documents WHERE owner = ? AND valid_to IS NULL AND lower(title) = lower(?) LIMIT 2",
            *(self._owner, title),
        )
        return rows[0][0] if len(rows) == 1 else None

    # Many documents

    def children(self, document_id: str = "", as_of: When = None, limit: int = NO_LIMIT) -> list[Document]:
        """Return the children by slug; "" stands for the roots."""
        which, times = _valid(as_of)
        where = f"d.owner = ? AND d.parent_id = ? AND {which} ORDER BY d.slug LIMIT ?"
        found = self._all(where, self._owner, document_id, *times, limit)
        above = "~"
        if found and document_id:
            above = "/".join(("~", *(slug for _, slug in reversed(self.lineage(document_id, as_of)))))
        return [replace(one, path=f"{above}/{one.slug}") for one in sorted(found, key=lambda one: one.slug)]

    def walk(self, root: Document | None = None, as_of: When = None) -> list[Document]:
        """Return the document and all below it (none: all documents), parents before children, then by slug."""
        which, times = _valid(as_of)
        found: list[Document] = []
        level = [root.id] if root else []
        if not root:
            found = self._all(f"d.owner = ? AND {which}", self._owner, *times)
        while level:
            select = f"SELECT {_COLUMNS} FROM documents d WHERE d.owner = ? AND d.parent_id = ? AND {which}"
            rows = self._tx.many(select, [(self._owner, one, *times) for one in level])
            found += (below := [_document(row) for row in rows])
            level = [one.id for one in below]
        under: dict[str, list[Document]] = {}
        for one in sorted(found, key=lambda one: one.slug, reverse=True):
            under.setdefault(one.parent_id, []).append(one)
        walked: list[Document] = []
        waiting = [root] if root else self.children("", as_of)[::-1]
        while waiting:
            walked.append(one := waiting.pop())
            waiting += [replace(child, path=f"{one.path}/{child.slug}") for child in under.get(one.id, ())]
        return walked

    def count(self) -> int:
        """Return how many documents there are now."""
        row = self._tx.one("SELECT count(*) FROM documents WHERE owner = ? AND valid_to IS NULL", self._owner)
        return row[0] if row else 0

    def titles(self) -> list[tuple[str, str, str, str]]:
        """Return id, parent, slug and title of every current document."""
        rows = self._tx.all(
            "SELECT id, parent_id, slug, title FROM documents WHERE owner = ? AND valid_to IS NULL", self._owner
        )
        return [(row[0], row[1], row[2], row[3]) for row in rows]

    def versions(self, document_id: str) -> list[Document]:
        """Return every version, oldest first, each with the path it had when it was written."""
        found = self._all("d.owner = ? AND d.id = ? ORDER BY d.version", self._owner, document_id)
        return [self.with_path(one, one.valid_from) for one in found]

    def version(self, document_id: str, version: int) -> Document | None:
        found = self._one("d.owner = ? AND d.id = ? AND d.version = ?", self._owner, document_id, version)
        return found and self.with_path(found, found.valid_from)

    def last(self, document_id: str) -> Document | None:
        """Return the last version, also of a deleted document, without its path."""
        return self._one("d.owner = ? AND d.id = ? ORDER BY d.version DESC LIMIT 1", self._owner, document_id)

    def references(self, document_id: str, version: int) -> list[Reference]:
        rows = self._tx.all(
            "SELECT target_id, kind FROM document_references WHERE owner = ? AND source_id = ? "
            "AND source_version = ? ORDER BY kind DESC, target_id",
            *(self._owner, document_id, version),
        )
        return [Reference(*row) for row in rows]

    def referrers(self, document_id: str) -> list[tuple[str, Reference]]:
        """Return the current documents that link to it or name it in their body, each with how. The kinds are
        selected as a range: for a list of them SQLite would not use the index of targets."""
        rows = self._tx.all(
            "SELECT r.source_id, r.target_id, r.kind FROM document_references r JOIN documents d "
            "ON d.owner = r.owner AND d.id = r.source_id AND d.version = r.source_version "
            "WHERE r.owner = ? AND r.target_id = ? AND r.kind < 'parent' AND d.valid_to IS NULL",
            *(self._owner, document_id),
        )
        return [(row[0], Reference(row[1], row[2])) for row in rows]

    def was_edited(self, document_id: str) -> bool:
        """Return whether any version was made by an edit or a rollback, and not by a run."""
        row = self._tx.one(
            "SELECT 1 FROM documents d JOIN changesets c ON c.id = d.changeset_id "
            "WHERE d.owner = ? AND d.id = ? AND c.cause <> 'run' LIMIT 1",
            *(self._owner, document_id),
        )
        return row is not None

    # Changesets

    def last_change(self) -> datetime | None:
        """Return the time of the last changeset; none if there is none."""
        row = self._tx.one("SELECT at FROM trees WHERE owner = ?", self._owner)
        return from_micros(row[0]) if row and row[0] else None

    def undone(self, author: str) -> int | None:
        """Return the last run of this author if it was rolled back."""
        last = "SELECT max(id) FROM changesets WHERE owner = ? AND author = ? AND cause = 'run'"
        row = self._tx.one(last, self._owner, author)
        if not row or row[0] is None:
            return None
        note = f"Undoes changeset {row[0]}."
        undone = (
            "SELECT 1 FROM changesets WHERE owner = ? AND id > ? AND cause = 'rollback' AND substr(note, 1, ?) = ?"
        )
        return row[0] if self._tx.one(undone, self._owner, row[0], len(note), note) else None

    def owners(self) -> list[str]:
        """Return every owner that ever had a document."""
        return [row[0] for row in self._tx.all("SELECT owner FROM trees WHERE at > 0")]

    def lock(self, now: datetime) -> datetime:
        """Lock the owner's documents until the transaction ends. Return the time of what is committed under the
        lock, which grows with every changeset, whatever the clock says."""
        select = f"SELECT at FROM trees WHERE owner = ?{self._tx.for_update}"
        row = self._tx.one(select, self._owner)
        if not row:
            self._tx.run("INSERT INTO trees (owner, at) VALUES (?, 0) ON CONFLICT DO NOTHING", self._owner)
            row = self._tx.one(select, self._owner)
        return from_micros(max(to_micros(now), (row[0] if row else 0) + 1))

    def open_changeset(self, changeset: Changeset) -> Changeset:
        """Store the changeset, under the lock. Return it with its id."""
        self._tx.run("UPDATE trees SET at = ? WHERE owner = ?", to_micros(changeset.at), self._owner)
        row = self._tx.one(
            f"INSERT INTO changesets ({_CHANGESET}) VALUES (?{', ?' * _CHANGESET.count(',')}) RETURNING id",
            *(self._owner, to_micros(changeset.at), *astuple(changeset)[3:-1]),
            to_micros(changeset.said_at) if changeset.said_at else None,
        )
        return replace(changeset, id=row[0] if row else 0)

    def close(self, ids: Iterable[str], changeset: Changeset) -> None:
        """End the current versions of these documents."""
        self._tx.many(
            "UPDATE documents SET valid_to = ?, closed_by = ? WHERE owner = ? AND id = ? AND valid_to IS NULL",
            [(to_micros(changeset.at), changeset.id, self._owner, document_id) for document_id in ids],
        )

    def insert(self, written: Sequence[tuple[Document, Iterable[Reference]]], changeset: Changeset) -> None:
        """Store new versions, each with all it refers to. What they replace is closed already."""
        at = to_micros(changeset.at)
        self._tx.many(
            "INSERT INTO documents (owner, id, version, valid_from, parent_id, slug, title, description, body, "
            "changeset_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(self._owner, d.id, d.version, at, d.parent_id, *_texts(d), changeset.id) for d, _ in written],
        )
        self._tx.many(
            "INSERT INTO document_references (owner, source_id, source_version, target_id, kind) "
            "VALUES (?, ?, ?, ?, ?)",
            [(self._owner, d.id, d.version, one.target_id, one.kind) for d, to in written for one in to],
        )

    def changesets(self, limit: int) -> list[Changeset]:
        """Return changesets, newest first."""
        rows = self._tx.all(f"{_FIND_CHANGESET} ORDER BY at DESC LIMIT ?", self._owner, limit)
        return [_changeset(row) for row in rows]

    def changeset(self, changeset_id: object) -> Changeset:
        if isinstance(changeset_id, int) and 0 < changeset_id < 2**63:
            row = self._tx.one(f"{_FIND_CHANGESET} AND id = ?", self._owner, changeset_id)
            if row:
                return _changeset(row)
        raise ChangesetNotFound(
            f"No changeset of this user has the id {changeset_id!r:.99}. List them with documents.changesets()."
        )

    def changeset_at(self, time: datetime) -> Changeset | None:
        """Return the changeset that was committed at exactly this time."""
        row = self._tx.one(f"{_FIND_CHANGESET} AND at = ?", self._owner, to_micros(time))
        return _changeset(row) if row else None

    def changed_by(self, changeset: Changeset) -> tuple[list[Document], list[Document]]:
        """Return the versions that the changeset ended, and those it began."""
        ended = self._all("d.owner = ? AND d.closed_by = ?", self._owner, changeset.id)
        begun = self._all("d.owner = ? AND d.changeset_id = ?", self._owner, changeset.id)
        return [self.with_path(d, d.valid_from) for d in ended], [self.with_path(d, d.valid_from) for d in begun]

    def _all(self, where: str, *params: Param) -> list[Document]:
        return [
            _document(row) for row in self._tx.all(f"SELECT {_COLUMNS} FROM documents d WHERE {where}", *params)
        ]

    def _one(self, where: str, *params: Param) -> Document | None:
        row = self._tx.one(f"SELECT {_COLUMNS} FROM documents d WHERE {where}", *params)
        return _document(row) if row else None


def slugs(path: object) -> list[str]:
    """Return the slugs of a path, from the root; none for `~` itself."""
    text = validate_text(path, "A path", MAX_PATH_CHARS)
    if text != "~" and not text.startswith("~/"):
        raise InputError(f"{text!r:.200} is not a path. Use ~ for the roots, or ~/slug/slug, e.g. {MEMORY_ROOT}.")
    below = text[2:].rstrip("/")
    return below.split("/") if below else []


def document_not_found(document: str) -> DocumentNotFound:
    what = f"lies at {document}" if document.startswith("~") else f"has the id {document!r:.200}"
    return DocumentNotFound(f"No document of this user {what}. Read ~ to see the roots, and go down from there.")


def _valid(as_of: When) -> tuple[str, tuple[int, ...]]:
    """Return the condition for the versions that were current at that time, and its parameters."""
    if as_of is None:
        return "d.valid_to IS NULL", ()
    at = to_micros(as_of)
    return "d.valid_from <= ? AND (d.valid_to IS NULL OR d.valid_to > ?)", (at, at)


def _document(row: Row) -> Document:
    document_id, version, parent_id, slug, title, description, body, since, until, changeset_id, linked = row
    links, times = tuple(linked.split(" ")) if linked else (), (from_micros(since), from_optional_micros(until))
    return Document(
        document_id, version, "", parent_id, slug, title, description, body, links, *times, changeset_id
    )


def _changeset(row: Row) -> Changeset:
    found = Changeset(row[0], row[1], from_micros(row[2]), *row[3:])
    return replace(found, said_at=from_optional_micros(row[-1]))
