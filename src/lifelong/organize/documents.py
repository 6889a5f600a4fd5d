"""The documents of one user, as they are and as they were: what `Memory.documents` is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Required, TypedDict, TypeVar, Unpack

from lifelong.errors import InputError, StaleWrite
from lifelong.organize import facts
from lifelong.organize.changesets import commit, return_to, undo
from lifelong.organize.diffing import diff
from lifelong.organize.document_rows import MEMORY, DocumentRows, slugs, unknown_document
from lifelong.organize.draft import Draft, Keys
from lifelong.organize.edits import Edit, Edited, FileDocument, missing_root
from lifelong.organize.facts import Fact
from lifelong.storage.base import Database, Transaction
from lifelong.types import Cause, Changeset, Clock, Document, Reference
from lifelong.validation import validate_count, validate_name, validate_text, validate_time

T = TypeVar("T")

TRIES = 3  # of a rollback that others get in the way of
LONGEST_NOTE = 10_000
IN_OUTLINE = 200
IN_OUTLINE_EACH = 40


class Content(TypedDict, total=False):
    """What `Draft.write` takes."""

    slug: Required[str]
    title: Required[str]
    description: Required[str]
    body: Required[str]
    document_id: str | None
    expected_version: int | None
    parent_id: str | None
    parent_path: str | None
    links: Iterable[str] | None


class Change(TypedDict, total=False):
    """What `Draft.edit` takes, besides the document and its version."""

    append: str | None
    find: str | None
    replace: str | None


class DocumentStore:
    """The documents of one owner. Wherever a document is asked for, its id or its path
    (`~/memory/people/caroline`) will do; `as_of` a past time gives it as it was then."""

    def __init__(
        self,
        database: Database,
        owner: str,
        clock: Clock,
        keys: Keys | None = None,
        file: FileDocument | None = None,
    ) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._keys = keys
        self._file = file

    def draft(self, *, below: str = "") -> Draft:
        """Edits to come, for `changesets.commit`."""
        return Draft(self._database, self._owner, below=below, keys=self._keys, file=self._file)

    # Reading

    def find(self, document: str, as_of: datetime | None = None) -> Document | None:
        """The document; none where there is none."""
        return self._see(lambda rows: _find(rows, document, as_of), as_of)

    def read(self, document: str, as_of: datetime | None = None) -> Document:
        return self._see(lambda rows: _get(rows, document, as_of), as_of)

    def roots(self, as_of: datetime | None = None) -> list[Document]:
        return self.children("~", as_of)

    def children(self, document: str = "~", as_of: datetime | None = None) -> list[Document]:
        """By slug; `~` has the roots."""

        def work(rows: DocumentRows) -> list[Document]:
            return rows.children("" if _is_top(document) else _get(rows, document, as_of).id, as_of)

        return self._see(work, as_of)

    def walk(self, path: str = "~", as_of: datetime | None = None) -> Iterator[Document]:
        """The document at this path and all below it (`~`: all there are), parents first."""

        def work(rows: DocumentRows) -> list[Document]:
            return rows.walk(None if _is_top(path) else _get(rows, path, as_of), as_of)

        return iter(self._see(work, as_of))

    def outline(self, path: str = MEMORY) -> str:
        """The subtree as a list, a line a document, cut where it gets long."""
        return outline(self.draft(), self.read(path))

    def facts(self, document: str) -> list[Fact]:
        """What the document facts, in order, current or not."""
        return facts.parse_facts(self.read(document).body)

    def versions(self, document: str) -> list[Document]:
        """Every version, the first one first, also of a document that was deleted (by its id)."""

        def work(rows: DocumentRows) -> list[Document]:
            return rows.versions(
                _get(rows, document, None).id if document.startswith("~") else rows.full_id(document)
            )

        validate_name(document, "A document's id")
        if found := self._see(work):
            return found
        raise unknown_document(document)

    def references(self, document: str) -> list[Reference]:
        """What the current version refers to."""

        def work(rows: DocumentRows) -> list[Reference]:
            found = _get(rows, document, None)
            return rows.references(found.id, found.version)

        return self._see(work)

    def diff(self, document: str, old_version: int, new_version: int) -> str:
        """What changed between two versions, as a unified diff."""
        found = {one.version: one for one in self.versions(document)}
        for version in (old_version, new_version):
            if version not in [*found]:
                raise InputError(f"{document} has no version {version}. Its versions are 1 to {max(found)}.")
        return diff(found[old_version], found[new_version])

    # Writing

    def write(self, *, author: str = "person", note: str = "", **content: Unpack[Content]) -> Document:
        """Make a document, or change one: see `Draft.write`. It has landed when this returns."""
        return self._landed(lambda draft: draft.write(**content), author, note)

    def edit(
        self,
        document_id: str,
        expected_version: int,
        *,
        author: str = "person",
        note: str = "",
        **how: Unpack[Change],
    ) -> Document:
        """Append a paragraph, or replace a text that stands once: see `Draft.edit`."""
        return self._landed(lambda draft: draft.edit(document_id, expected_version, **how), author, note)

    def delete(self, document_id: str, expected_version: int, *, author: str = "person", note: str = "") -> None:
        """Let a document go; its versions stay. Refused while another one has it as parent or link."""
        draft = self.draft()
        draft.delete(document_id, expected_version)
        self._land(draft, "edit", author, note)

    # Changesets

    def changesets(self, limit: int = 20) -> list[Changeset]:
        """The newest first."""
        return self._see(lambda rows: rows.changesets(validate_count(limit, "The limit")))

    def changeset(self, changeset_id: int) -> Changeset:
        return self._see(lambda rows: rows.changeset(changeset_id))

    def changes(self, changeset_id: int) -> list[Edit]:
        """What the changeset did: each document before and after."""

        def work(rows: DocumentRows) -> list[Edit]:
            ended, begun = ({d.id: d for d in side} for side in rows.changed_by(rows.changeset(changeset_id)))
            return [Edit(one, ended.get(one), begun.get(one)) for one in {**ended, **begun}]

        return self._see(work)

    def rollback(self, changeset_id: int, *, author: str = "person") -> Changeset | None:
        """Take one changeset back, as a new one. What later ones did stays; the note says what they kept
        from being undone. None: there was nothing to undo."""

        def plan(tx: Transaction) -> tuple[list[Edit], str]:
            return undo(tx, self._owner, DocumentRows(tx, self._owner).changeset(changeset_id))

        return self._roll_back(plan, author)

    def rollback_to(self, time: datetime, *, author: str = "person") -> Changeset | None:
        """Make the whole tree what it was at that time, as a new changeset. None: it is."""
        validate_time(time, "The time to return to")
        return self._roll_back(lambda tx: return_to(tx, self._owner, time), author)

    def _roll_back(self, plan: Callable[[Transaction], tuple[list[Edit], str]], author: str) -> Changeset | None:
        for left in reversed(range(TRIES)):
            edits, note = self._database.read(plan)
            draft = self.draft()
            draft.edits = {edit.id: edit for edit in edits}
            try:
                return self._land(draft, "rollback", author, note[:LONGEST_NOTE])
            except StaleWrite:
                if not left:
                    raise
        return None

    def _landed(self, change: Callable[[Draft], Document], author: str, note: str) -> Document:
        """The document as it landed, whatever became of it since."""
        draft = self.draft()
        document = change(draft)
        changeset = self._land(draft, "edit", author, note)
        return self.read(document.id, changeset.at if changeset else None)

    def _land(self, draft: Draft, cause: Cause, author: str, note: str) -> Changeset | None:
        validate_name(author, "An author")
        validate_text(note, "A note", LONGEST_NOTE)
        told = Changeset(0, self._owner, self._clock(), cause, author, note)
        return self._database.write(lambda tx: commit(tx, draft, told))

    def _see(self, work: Callable[[DocumentRows], T], as_of: datetime | None = None) -> T:
        """Now, `~/memory` is there, also where nothing was written yet."""
        if as_of is not None:
            validate_time(as_of, "as_of")

        def look(tx: Transaction) -> T:
            rows = DocumentRows(tx, self._owner)
            root = missing_root(rows) if as_of is None else None
            return work(Edited(tx, self._owner, {root.id: root}) if root else rows)

        return self._database.read(look)


def outline(draft: Draft, root: Document) -> str:
    """The documents below this one, a line each, those nearest to it first to be shown."""
    shown: dict[str, list[Document]] = {}
    cut: set[str] = set()
    waiting, left = deque([root]), IN_OUTLINE
    while waiting:
        one = waiting.popleft()
        room = min(left, IN_OUTLINE_EACH)
        found = draft.children(one.id, limit=room + 1)
        shown[one.id] = found[:room]
        left -= len(shown[one.id])
        waiting.extend(shown[one.id])
        if len(found) > room:
            cut.add(one.id)
    return "\n".join(_lines(root, shown, cut, ""))


def _lines(document: Document, shown: dict[str, list[Document]], cut: set[str], indent: str) -> Iterator[str]:
    yield f"{indent}- {document.slug}: {document.title}"
    for child in shown[document.id]:
        yield from _lines(child, shown, cut, f"{indent}  ")
    if document.id in cut:
        yield f"{indent}  - … there is more below {document.path}"


def _is_top(path: str) -> bool:
    return str(path).startswith("~") and not slugs(path)


def _find(rows: DocumentRows, document: str, as_of: datetime | None) -> Document | None:
    found = rows.at if str(document).startswith("~") else rows.find
    return found(document, as_of)


def _get(rows: DocumentRows, document: str, as_of: datetime | None) -> Document:
    if found := _find(rows, document, as_of):
        return found
    raise unknown_document(document)
