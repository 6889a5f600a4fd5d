"""The documents of one user, as they are and as they were: `Memory.documents`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Required, TypedDict, TypeVar, Unpack

from lifelong.errors import InputError, StaleWrite
from lifelong.organize.changesets import commit, restore, undo
from lifelong.organize.document_rows import MEMORY_ROOT, DocumentRows, document_not_found, slugs
from lifelong.organize.draft import Draft, DraftRows, Edit, diff, missing_root
from lifelong.organize.facts import Fact, FactIndex, digest, parse_facts
from lifelong.storage.base import Database, Transaction
from lifelong.types import Cause, Changeset, Clock, Document, Provenance, Reference
from lifelong.validation import validate_count, validate_name, validate_text, validate_time

if TYPE_CHECKING:
    from lifelong.organize.consolidation import Consolidation, ConsolidationResult

T = TypeVar("T")

MAX_ROLLBACK_TRIES = 3  # while others commit changes to the same documents
MAX_NOTE_CHARS = 10_000
MAX_OUTLINE_DOCUMENTS = 200
MAX_OUTLINE_CHILDREN = 40  # of one document


class DocumentContent(TypedDict, total=False):
    """The arguments of `Draft.write`."""

    slug: Required[str]
    title: Required[str]
    body: Required[str]
    description: str | None
    document_id: str | None
    expected_version: int | None
    parent_id: str | None
    parent_path: str | None
    links: Iterable[str] | None


class TextEdit(TypedDict, total=False):
    """The arguments of `Draft.edit`, besides the document and its version."""

    append: str | None
    find: str | None
    replace: str | None


class DocumentStore:
    """The documents of one owner. A document is named by its id or its path (`~/memory/people/caroline`); with
    `as_of` it is read as it was at that time. `consolidation` opens what tidies them; left out: by rules."""

    def __init__(
        self,
        database: Database,
        owner: str,
        clock: Clock,
        *,
        consolidation: Callable[[], Consolidation] | None = None,
    ) -> None:
        self.database = database
        self.owner = owner
        self._clock = clock
        self._consolidation = consolidation

    def draft(self, *, below: str = "") -> Draft:
        """Return an empty draft, for `changesets.commit`."""
        return Draft(self.database, self.owner, below=below)

    # Reading

    def find(self, document: str, as_of: datetime | None = None) -> Document | None:
        """Return the document; none if there is none."""
        return self._query(lambda rows: _find(rows, document, as_of), as_of)

    def read(self, document: str, as_of: datetime | None = None) -> Document:
        """Return the document. Raise `DocumentNotFound` if there is none."""
        return self._query(lambda rows: _get(rows, document, as_of), as_of)

    def roots(self, as_of: datetime | None = None) -> list[Document]:
        """Return the documents without a parent, by slug."""
        return self.children("~", as_of)

    def children(self, document: str = "~", as_of: datetime | None = None) -> list[Document]:
        """Return the children by slug; those of `~` are the roots."""

        def work(rows: DocumentRows) -> list[Document]:
            return rows.children("" if _is_top(document) else _get(rows, document, as_of).id, as_of)

        return self._query(work, as_of)

    def walk(self, path: str = "~", as_of: datetime | None = None) -> Iterator[Document]:
        """Return the document at this path and all below it (`~`: all documents), parents first."""

        def work(rows: DocumentRows) -> list[Document]:
            return rows.walk(None if _is_top(path) else _get(rows, path, as_of), as_of)

        return iter(self._query(work, as_of))

    def outline(self, path: str = MEMORY_ROOT) -> str:
        """Return the documents below this path as a list, one per line, cut where it gets long."""
        return outline(self.draft(), self.read(path))

    def facts(self, document: str) -> list[Fact]:
        """Return the facts of the document in order, current or not."""
        return parse_facts(self.read(document).body)

    def fact_ids(self, document: str) -> list[str]:
        """Return the ids ("f7") of `facts`, in the same order; empty for one that has none yet."""

        def work(tx: Transaction) -> list[str]:
            found = _get(DocumentRows(tx, self.owner), document, None)
            ids = FactIndex(tx, self.owner).ids(found.id)
            return [ids.get(f"{found.id}#{digest(found, fact)}", "") for fact in parse_facts(found.body)]

        return self.database.read(work)

    def versions(self, document: str) -> list[Document]:
        """Return every version, oldest first, also of a deleted document (by its id)."""

        def work(rows: DocumentRows) -> list[Document]:
            return rows.versions(
                _get(rows, document, None).id if document.startswith("~") else rows.full_id(document)
            )

        validate_name(document, "A document's id")
        if found := self._query(work):
            return found
        raise document_not_found(document)

    def references(self, document: str) -> list[Reference]:
        """Return what the current version refers to."""

        def work(rows: DocumentRows) -> list[Reference]:
            found = _get(rows, document, None)
            return rows.references(found.id, found.version)

        return self._query(work)

    def diff(self, document: str, old_version: int, new_version: int) -> str:
        """Return what changed between two versions, as a unified diff."""
        found = {one.version: one for one in self.versions(document)}
        for version in (old_version, new_version):
            if version not in [*found]:
                raise InputError(f"{document} has no version {version}. Its versions are 1 to {max(found)}.")
        return diff(found[old_version], found[new_version])

    # Writing

    def write(self, *, author: str = "person", note: str = "", **content: Unpack[DocumentContent]) -> Document:
        """Make a document, or change one, and commit it: see `Draft.write`."""
        return self._write(lambda draft: draft.write(**content), author, note)

    def edit(
        self,
        document_id: str,
        expected_version: int,
        *,
        author: str = "person",
        note: str = "",
        **how: Unpack[TextEdit],
    ) -> Document:
        """Append a paragraph, or replace a text that occurs once: see `Draft.edit`."""
        return self._write(lambda draft: draft.edit(document_id, expected_version, **how), author, note)

    def delete(
        self,
        document_id: str,
        expected_version: int,
        *,
        author: str = "person",
        note: str = "",
        with_children: bool = False,
    ) -> None:
        """Delete a document, `with_children` also all below it; their versions stay. Raise `DocumentInUse` while
        another one has it as parent or link."""
        draft = self.draft()
        below = [*self.walk(document_id)][1:] if with_children else []
        for one in reversed(below):  # children before their parents
            draft.delete(one.id, one.version)
        draft.delete(document_id, expected_version)
        self._commit(draft, "edit", author, note)

    def consolidate(self, *, dry_run: bool = False) -> ConsolidationResult:
        """Tidy the documents below `~/memory`: merge what stands twice, move what is misplaced, split long pages,
        delete empty ones, as one changeset. `dry_run`: only say what would be done."""
        from lifelong.organize.consolidation import Consolidation  # few processes do it

        make = self._consolidation or (lambda: Consolidation(self.database, self.owner, self._clock))
        return make().run(dry_run=dry_run)

    # Changesets

    def changesets(self, limit: int = 20) -> list[Changeset]:
        """Return changesets, newest first."""
        return self._query(lambda rows: rows.changesets(validate_count(limit, "The limit")))

    def changeset(self, changeset_id: int) -> Changeset:
        """Return the changeset. Raise `ChangesetNotFound` if there is none."""
        return self._query(lambda rows: rows.changeset(changeset_id))

    def changes(self, changeset_id: int) -> list[Edit]:
        """Return what the changeset did: each document before and after."""

        def work(rows: DocumentRows) -> list[Edit]:
            ended, begun = ({d.id: d for d in side} for side in rows.changed_by(rows.changeset(changeset_id)))
            return [Edit(one, ended.get(one), begun.get(one)) for one in {**ended, **begun}]

        return self._query(work)

    def rollback(self, changeset_id: int, *, author: str = "person") -> Changeset | None:
        """Undo one changeset, as a new one. What later ones changed stays, and the note names it. Return none if
        there was nothing to undo."""

        def plan(tx: Transaction) -> tuple[list[Edit], str]:
            return undo(tx, self.owner, DocumentRows(tx, self.owner).changeset(changeset_id))

        return self._roll_back(plan, author)

    def rollback_to(self, time: datetime, *, author: str = "person") -> Changeset | None:
        """Make all documents what they were at that time, as a new changeset. Return none if nothing differs."""
        validate_time(time, "The time to return to")
        return self._roll_back(lambda tx: restore(tx, self.owner, time), author)

    def _roll_back(self, plan: Callable[[Transaction], tuple[list[Edit], str]], author: str) -> Changeset | None:
        for left in reversed(range(MAX_ROLLBACK_TRIES)):
            draft = self.draft()
            edits, note = self.database.read(plan)
            draft.edits = {edit.id: edit for edit in edits}
            try:
                return self._commit(draft, "rollback", author, note[:MAX_NOTE_CHARS])
            except StaleWrite:
                if not left:
                    raise
        return None

    def _write(self, change: Callable[[Draft], Document], author: str, note: str) -> Document:
        """Commit one change and return the document as it was committed, whatever changed since."""
        draft = self.draft()
        return commit_as(self, draft, change(draft).id, author=author, note=note)

    def _commit(
        self,
        draft: Draft,
        cause: Cause,
        author: str,
        note: str,
        trust: Provenance = "user",
        approved_by: str = "",
        said_at: datetime | None = None,
        also: Callable[[Transaction], object] = lambda tx: None,
    ) -> Changeset | None:
        validate_name(author, "An author")
        validate_text(note, "A note", MAX_NOTE_CHARS)
        changeset = Changeset(
            *(0, self.owner, self._clock(), cause, author, note),
            trust=trust,
            approved_by=approved_by,
            said_at=said_at,
        )

        def work(tx: Transaction) -> Changeset | None:
            also(tx)
            return commit(tx, draft, changeset)

        return self.database.write(work)

    def _query(self, work: Callable[[DocumentRows], T], as_of: datetime | None = None) -> T:
        """Query the documents. In the present `~/memory` always exists, even if nothing was written yet."""
        if as_of is not None:
            validate_time(as_of, "as_of")

        def look(tx: Transaction) -> T:
            rows = DocumentRows(tx, self.owner)
            root = missing_root(rows) if as_of is None else None
            return work(DraftRows(tx, self.owner, {root.id: root}) if root else rows)

        return self.database.read(look)


def commit_as(
    documents: DocumentStore,
    draft: Draft,
    document_id: str,
    *,
    author: str,
    note: str = "",
    trust: Provenance = "user",
    approved_by: str = "",
    said_at: datetime | None = None,
    also: Callable[[Transaction], object] = lambda tx: None,
) -> Document:
    """Commit a draft on somebody's word and return one of its documents as it was committed. `said_at` is when
    they said it, if that was before; `also` is done first, in the same transaction."""
    changeset = documents._commit(draft, "edit", author, note, trust, approved_by, said_at, also)
    return documents.read(document_id, changeset.at if changeset else None)


def outline(draft: Draft, root: Document) -> str:
    """Return the documents below this one, one per line. If there are too many, the nearest are shown."""
    shown: dict[str, list[Document]] = {}
    cut: set[str] = set()
    waiting, left = deque([root]), MAX_OUTLINE_DOCUMENTS
    while waiting:
        one = waiting.popleft()
        room = min(left, MAX_OUTLINE_CHILDREN)
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
    raise document_not_found(document)
