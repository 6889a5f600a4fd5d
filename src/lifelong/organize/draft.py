"""Edits that have not landed: a memory-agent's run, or a person's change, before it is a changeset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import replace as copy
from datetime import datetime
from typing import TypeAlias, TypeVar

from lifelong.collect.history import History
from lifelong.errors import InputError, StaleWrite
from lifelong.organize import facts
from lifelong.organize.diffing import diff, same
from lifelong.organize.document_rows import MEMORY, MEMORY_ID, DocumentRows, slugs, unknown_document
from lifelong.organize.edits import (
    NOT_YET,
    Edit,
    Edited,
    FileDocument,
    cleaned,
    known,
    missing_root,
    targets,
    validate_slug,
)
from lifelong.organize.facts import Fact, Known, Lead
from lifelong.organize.write_policy import WritePolicy
from lifelong.storage.base import EVERY, Database
from lifelong.types import Document, Reference, new_document_id
from lifelong.validation import validate_text

T = TypeVar("T")

Keys: TypeAlias = Callable[[str], Iterable[str]]
"""Under which keys a sentence is looked up."""


LONGEST_TITLE = 500
LONGEST_DESCRIPTION = 2_000
LONGEST_BODY = 200_000
LONGEST_KEY = 500  # bytes, as an index counts
LONGEST_DIFF = 2_000


class Draft:
    """Edits that have not landed: reads see them, the database does not (see `changesets.commit`).

    An edited document shows the version it will land as (one above the one that was read), however often
    it is edited here. `below="~/memory"` confines writes to what lies below that path. `keys` says under
    which keys a fact's sentence is looked up (`about`); commit stores them. Secrets are taken out of
    every text. `guard` may refuse an edit, `file` makes what lands findable. `~/memory` lands with the first edit.
    """

    def __init__(
        self,
        database: Database,
        owner: str,
        *,
        below: str = "",
        keys: Keys | None = None,
        guard: WritePolicy | None = None,
        file: FileDocument | None = None,
    ) -> None:
        self._database = database
        self._below = below
        self._keys = keys
        self._guard = guard
        self._seen: dict[str, Document] = {}
        self._root = database.read(lambda tx: missing_root(DocumentRows(tx, owner)))
        self.owner = owner
        self.file = file
        self.edits: dict[str, Edit] = {MEMORY_ID: self._root} if self._root else {}

    @property
    def changes(self) -> tuple[Edit, ...]:
        """What would land now, in the order it was edited. Empty: nothing."""
        edits = tuple(self.edits.values())
        return () if len(edits) == 1 and edits[0] is self._root else edits

    def only_makes_root(self, edit: Edit) -> bool:
        """Whether the edit does nothing but make `~/memory`, which somebody else may have made since."""
        return edit is self._root

    # Reading

    def read(self, document_id: str) -> Document | None:
        """The document as it would be; none where there is none."""
        return self._note(self._see(lambda seen: seen.find(document_id)))

    def at(self, path: str) -> Document | None:
        """The document at `~/slug/slug`; none where there is none."""
        return self._note(self._see(lambda seen: seen.at(path)))

    def _note(self, document: Document | None) -> Document | None:
        if document:
            self._seen[document.id] = document
        return document

    def children(self, document_id: str = "", limit: int = EVERY) -> list[Document]:
        """By slug. "" stands for the roots."""
        return self._see(lambda seen: seen.children(document_id, limit=limit))

    def about(self, asked: Sequence[Set[str]]) -> list[list[Lead]]:
        """For each set of keys the current facts with some of them: those of documents edited here first."""

        def work(seen: Edited) -> list[list[Lead]]:
            here = [
                Lead(edit.id, digest, one.sentence)
                for edit in reversed(self.changes)
                if edit.after
                for digest, one in known(seen.placed(edit.after)).items()
            ]
            return [
                [lead for lead in here if wanted & self.keys_of(lead.sentence)]
                + [lead for lead in stored if lead.document_id not in self.edits]
                for wanted, stored in zip(asked, seen.leads.about(asked), strict=True)
            ]

        return self._see(work)

    def known(self, lead: Lead) -> Known | None:
        """The fact where it stands now; none where it does no more."""
        document = self.read(lead.document_id)
        return known(document).get(lead.digest) if document else None

    def keys_of(self, sentence: str) -> frozenset[str]:
        """Under which keys a fact is looked up."""
        found = self._keys(sentence) if self._keys else ()
        return frozenset(key for key in found if 0 < len(key.encode()) <= LONGEST_KEY)

    def accepts(self, path: str, fact: Fact) -> bool:
        """Whether a fact may be written at this path."""
        return self._guard is None or self._guard.accepts(path, fact)

    def said_at(self, record_id: int) -> datetime | None:
        """When a record that is cited was said."""
        return self._database.read(lambda tx: History(tx).said_at(record_id))

    def references(self, document_id: str) -> list[tuple[Reference, Document]]:
        """What the document refers to, as far as it is still there."""

        def work(seen: Edited) -> list[tuple[Reference, Document]]:
            found = seen.references(document_id, seen.get(document_id).version)
            return [(one, target) for one in found if (target := seen.find(one.target_id))]

        return self._see(work)

    def unresolved(self, document_id: str) -> list[str]:
        """The `[[targets]]` in the document's body that name no document."""
        return self._see(lambda seen: [t for t in targets(seen.get(document_id).body) if not seen.resolve(t)])

    # Writing

    def write(
        self,
        *,
        slug: str,
        title: str,
        description: str,
        body: str,
        document_id: str | None = None,
        expected_version: int | None = None,
        parent_id: str | None = None,
        parent_path: str | None = None,
        links: Iterable[str] | None = None,
    ) -> Document:
        """Make a document, or (with `document_id` and the version that was read) change one. A parent or
        links left out stay as they are; `parent_path="~"` makes it a root. A link is an id or a path."""
        if not document_id and expected_version:
            raise InputError(
                "expected_version belongs to a document_id. Give both, or neither for a new document."
            )
        if isinstance(links, str) or not isinstance(links, Iterable | None):
            raise InputError("links must be a list of ids or paths. Put the one link into a list.")
        named = None if links is None else tuple(links)

        def work(seen: Edited) -> Edit:
            current = _current(seen, document_id, expected_version) if document_id else None
            was = current or Document(new_document_id(), 1, "", "", "", "", "", "", (), NOT_YET, None, 0)
            parent = _parent(seen, parent_id, parent_path)
            document = copy(
                was,
                slug=validate_slug(slug),
                title=cleaned(title, "A title", LONGEST_TITLE),
                description=cleaned(description, "A description", LONGEST_DESCRIPTION),
                body=cleaned(body, "A body", LONGEST_BODY),
                parent_id=was.parent_id if parent is None else parent,
                links=was.links if named is None else _linked(seen, named),
            )
            return self._checked(seen, current, document)

        return self._put(work)

    def edit(
        self,
        document_id: str,
        expected_version: int,
        *,
        append: str | None = None,
        find: str | None = None,
        replace: str | None = None,
    ) -> Document:
        """Append a paragraph (before `## Earlier`, if the body has it and the paragraph is current), or
        replace the one place where `find` stands."""
        if (append is None) == (find is None) or (append is not None and replace is not None):
            raise InputError("Give either append, or find with replace (left out, what was found is removed).")
        texts = [validate_text(text or "", "A text", LONGEST_BODY) for text in (append, find, replace)]

        def work(seen: Edited) -> Edit:
            current = _current(seen, document_id, expected_version)
            body = _patched(current, *texts[1:]) if append is None else _appended(current.body, texts[0])
            return self._checked(seen, current, copy(current, body=cleaned(body, "A body", LONGEST_BODY)))

        return self._put(work)

    def delete(self, document_id: str, expected_version: int) -> None:
        """Let the document go. Refused while another one has it as parent or link."""

        def work(seen: Edited) -> Edit:
            current = _current(seen, document_id, expected_version)
            self._check_place(current)
            if current.id == MEMORY_ID:
                raise InputError(f"{MEMORY} stays where it is: memory-agents write below it.")
            edit = Edit(current.id, current, None)
            seen.plus(edit).check(edit)
            return Edit(current.id, self._before(current), None)

        self._keep(work)

    def _checked(self, seen: Edited, current: Document | None, document: Document) -> Edit:
        """The edit that turns the current document into this one, if it may land."""
        before = self._before(current) if current else None
        version = before.version + 1 if before else document.version
        after = copy(document, version=version, valid_from=NOT_YET, valid_to=None, changeset_id=0)
        edit = Edit(after.id, before, after)
        seen = seen.plus(edit)
        if after.id == MEMORY_ID and seen.placed(after).path != MEMORY:
            raise InputError(f"{MEMORY} stays where it is: memory-agents write below it.")
        seen.check(edit)
        targets(after.body)
        after = seen.placed(after)
        for one in (current, after):
            if one:
                self._check_place(one)
        return Edit(after.id, before, before if before and same(before, after) else after)

    def _check_place(self, document: Document) -> None:
        if self._below and not document.path.startswith(f"{self._below}/"):
            raise InputError(
                f"{document.path} does not lie below {self._below}, and only what does may be written."
            )

    def _before(self, current: Document) -> Document | None:
        """What is stored of a document as it is here."""
        return self.edits[current.id].before if current.id in self.edits else current

    def _put(self, work: Callable[[Edited], Edit]) -> Document:
        after = self._keep(work)
        assert after, "what is put is there"
        return after

    def _keep(self, work: Callable[[Edited], Edit]) -> Document | None:
        """Make the edit one of those to land, if nobody refuses it."""
        edit = self._see(work)
        if self._guard and edit.before is not edit.after:
            edited = {other.id: other.after for other in self.edits.values()}
            others = {**self._seen, **edited, edit.id: None}
            before = edited.get(edit.id, edit.before)
            self._guard.check(before, edit.after, [other for other in others.values() if other])
        self.edits.pop(edit.id, None)
        if edit.before is not edit.after:
            self.edits[edit.id] = edit
        return edit.after

    def _see(self, work: Callable[[Edited], T]) -> T:
        return self._database.read(lambda tx: work(Edited(tx, self.owner, self.edits)))


def _current(seen: Edited, document_id: str, expected_version: int | None) -> Document:
    """The document as it is, if that is what the writer has read."""
    current = seen.get(document_id)
    if isinstance(expected_version, bool) or not isinstance(expected_version, int):
        raise InputError(f"Give expected_version, the version of {current.path} that was read, as a whole number.")
    if current.version != expected_version:
        was = 0 < expected_version < current.version
        raise stale(current, seen.version(current.id, expected_version) if was else None, current)
    return current


def stale(document: Document, read: Document | None, now: Document | None, by: str = "") -> StaleWrite:
    """Says what became of a document since a version of it was read."""
    became = f"it is at version {now.version}" if now else "it was deleted"
    changed = diff(read, now) if read else ""
    return StaleWrite(
        f"{document.path} changed since it was read: {became}{by}. Read it again, and make the change on what "
        f"is there now.{' What changed:' if changed else ''}\n{changed[:LONGEST_DIFF]}".rstrip()
    )


def _parent(seen: Edited, parent_id: str | None, parent_path: str | None) -> str | None:
    """The id of the parent that was given in one way or two; none where it was not."""
    by_path = None
    if parent_path:
        found = seen.at(parent_path)
        if not found and slugs(parent_path):
            raise unknown_document(parent_path)
        by_path = found.id if found else ""
    if not parent_id:
        return by_path
    if by_path is not None and by_path != parent_id:
        raise InputError(f"parent_id {parent_id!r:.200} is not what lies at {parent_path}. Give one of the two.")
    return seen.get(parent_id).id


def _linked(seen: Edited, links: Iterable[str]) -> tuple[str, ...]:
    """The ids of what is linked to, each once."""
    found = set()
    for link in links:
        target = seen.at(link) if str(link).startswith("~") else seen.find(link)
        if not target:
            raise unknown_document(link)
        found.add(target.id)
    return tuple(sorted(found))


def _appended(body: str, paragraph: str) -> str:
    if not paragraph.strip():
        raise InputError("The text to append is empty. Give it at least one visible character.")
    told = facts.parse_facts(paragraph)
    parts = facts.paragraphs(body)
    if facts.EARLIER in parts and (not told or told[0].current):
        at = parts.index(facts.EARLIER)
        return "\n\n".join([*parts[:at], paragraph.strip("\n"), *parts[at:]])
    return f"{body.rstrip()}\n\n{paragraph.strip(chr(10))}".lstrip("\n")


def _patched(document: Document, find: str, put: str) -> str:
    if not find or (count := document.body.count(find)) != 1:
        where = "is empty" if not find else f"stands {count} times in {document.path}"
        raise InputError(f"The text to find {where}. Give a text that stands there once, with more around it.")
    return document.body.replace(find, put)
