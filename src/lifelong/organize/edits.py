"""One edit of a document, the rows with edits laid over them, and the rules that a document must keep."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TypeAlias

from lifelong.errors import DocumentInUse, InputError
from lifelong.organize import facts
from lifelong.organize.document_rows import DEEPEST, MEMORY, MEMORY_ID, DocumentRows, When, unknown_document
from lifelong.organize.facts import Fact, Known
from lifelong.redaction import has_secret, redact
from lifelong.storage.base import EVERY, Transaction
from lifelong.types import Document, Reference
from lifelong.validation import validate_name, validate_text

LONGEST_SLUG = 200  # bytes, as an index counts
MOST_TARGETS = 500
NAMED = 5  # documents that an error names

NOT_YET = datetime.max.replace(tzinfo=UTC)
"""The `valid_from` of a version that has not landed."""

PEOPLE = f"{MEMORY}/people/"
SUBJECTS = (PEOPLE, f"{MEMORY}/projects/")
"""Where a document's title is the subject of its facts."""

FileDocument: TypeAlias = Callable[[Transaction, str, str, Document | None, datetime], None]
"""Makes what a document of an owner says findable, in the transaction in which it lands; none: it was deleted."""

_TARGET = re.compile(r"\[\[([^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]\]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Edit:
    """One document before and after. `before` is none for a new one, `after` for one that goes."""

    id: str
    before: Document | None
    after: Document | None

    @property
    def base(self) -> int:
        """The last version there was when the edit was made."""
        return self.before.version if self.before else self.after.version - 1 if self.after else 0


class Edited(DocumentRows):
    """The rows of a transaction with edits laid over them. It has no past. Where the others lie is remembered:
    every document below them asks."""

    def __init__(self, tx: Transaction, owner: str, edits: Mapping[str, Edit]) -> None:
        super().__init__(tx, owner)
        self._edits = edits
        self._places: dict[str, tuple[str, str] | None] = {}

    def plus(self, edit: Edit) -> Edited:
        more = Edited(self._tx, self._owner, {**self._edits, edit.id: edit})
        more._places = self._places
        return more

    def full_id(self, document_id: str) -> str:
        found = super().full_id(document_id)
        begins = [id_ for id_ in self._edits if found == document_id and id_.startswith(document_id.lower())]
        return begins[0] if len(begins) == 1 else found

    def row(self, document_id: str, as_of: When = None) -> Document | None:
        edit = self._edits.get(document_id)
        return edit.after if edit else super().row(document_id)

    def place(self, document_id: str, as_of: When = None) -> tuple[str, str] | None:
        if edit := self._edits.get(document_id):
            return (edit.after.parent_id, edit.after.slug) if edit.after else None
        if document_id not in self._places:
            self._places[document_id] = super().place(document_id)
        return self._places[document_id]

    def child(self, parent_id: str, slug: str, as_of: When = None, besides: str = "") -> str | None:
        for edit in self._edits.values():
            after = edit.after
            if after and (after.parent_id, after.slug) == (parent_id, slug) and after.id != besides:
                return after.id
        found = super().child(parent_id, slug)
        return found if found not in self._edits else None

    def children(self, document_id: str = "", as_of: When = None, limit: int = EVERY) -> list[Document]:
        stored = super().children(document_id, limit=min(EVERY, limit + len(self._edits)))
        here = [edit.after for edit in self._edits.values() if edit.after and edit.after.parent_id == document_id]
        found = [one for one in stored if one.id not in self._edits] + [self.placed(one) for one in here]
        return sorted(found, key=lambda one: one.slug)[:limit]

    def references(self, document_id: str, version: int) -> list[Reference]:
        edit = self._edits.get(document_id)
        return self.references_of(edit.after) if edit and edit.after else super().references(document_id, version)

    def references_of(self, document: Document) -> list[Reference]:
        """All that this version refers to."""
        named = {found for target in targets(document.body) if (found := self.resolve(target))}
        return [
            *([Reference(document.parent_id, "parent")] if document.parent_id else ()),
            *(Reference(link, "link") for link in document.links),
            *(Reference(target, "body") for target in sorted(named)),
        ]

    def users(self, document_id: str) -> list[Document]:
        """Those that have it as their parent (a few of them), and those that link to it."""
        linking = {
            source for source, how in self.referrers(document_id) if how.kind == "link"
        } - self._edits.keys()
        linking |= {e.id for e in self._edits.values() if e.after and document_id in e.after.links}
        return [*self.children(document_id, limit=NAMED), *map(self.get, sorted(linking))]

    def check(self, edit: Edit) -> None:
        """What must hold of a document for it to land, or to go. The edit is among those laid over."""
        document = edit.after
        if not document:
            if users := self.users(edit.id):
                raise _in_use(edit.before, users)
            return
        if document.id in (document.parent_id, *document.links):
            raise InputError("A document cannot be its own parent, nor link to itself. Choose another one.")
        for target in (document.parent_id, *document.links):
            if target and not self.place(target):
                raise unknown_document(target)
        if len(self.lineage(document.id)) > DEEPEST:
            raise InputError(f"A document lies at most {DEEPEST} levels deep. Choose a parent further up.")
        if other := self.child(document.parent_id, document.slug, besides=document.id):
            raise InputError(
                f"{self.get(other).path} is there already, with the id {other}. Read it and change it, or "
                "choose another slug."
            )


def missing_root(rows: DocumentRows) -> Edit | None:
    """The edit that makes `~/memory`, where it is not there."""
    if rows.place(MEMORY_ID):
        return None
    last = rows.last(MEMORY_ID)
    told = ("memory", "Memory", "What deserves to last, by subject.", "")
    version = last.version + 1 if last else 1
    return Edit(MEMORY_ID, None, Document(MEMORY_ID, version, MEMORY, "", *told, (), NOT_YET, None, 0))


def validate_slug(value: object) -> str:
    """A name that is one step of a path, and can never be more."""
    slug = validate_name(value, "A slug", LONGEST_SLUG)
    if has_secret(slug):
        raise InputError("A slug must not hold a secret. Choose another one.")
    if slug != slug.strip() or "/" in slug or _CONTROL.search(slug) or slug in (".", "..", "~"):
        raise InputError(
            f"{slug!r:.200} is no slug. Write one without '/', line breaks and spaces around it, e.g. 'new-york'."
        )
    return slug


def cleaned(value: object, what: str, limit: int) -> str:
    """Text that may be stored: within its limit, and without secrets."""
    return redact(validate_text(value, what, limit))


def targets(body: str) -> list[str]:
    """What the `[[target]]` and `[[target|label]]` of a body name, each once."""
    found = list(dict.fromkeys(target.strip() for target in _TARGET.findall(body) if target.strip()))
    if len(found) > MOST_TARGETS:
        raise InputError(f"A body names at most {MOST_TARGETS} [[targets]]; this one has {len(found)}. Split it.")
    return found


def sentence(document: Document, fact: Fact) -> str:
    """The fact with its subject: in `people/` and `projects/` a fact that begins in lower case goes on
    where the document's title ends."""
    dropped = document.path.startswith(SUBJECTS) and fact.text[:1].islower()
    return f"{document.title} {fact.text}" if dropped else fact.text


def known(document: Document) -> dict[str, Known]:
    """What the document says now, each fact once, by its digest."""
    found: dict[str, Known] = {}
    for paragraph in facts.paragraphs(document.body):
        fact = facts.parse_fact(paragraph)
        if fact and fact.current:
            told = sentence(document, fact)
            digest = blake2b(told.encode(), digest_size=9).hexdigest()
            found.setdefault(digest, Known(document.path, paragraph, fact, told))
    return found


def _in_use(document: Document | None, users: list[Document]) -> DocumentInUse:
    path, document_id = (document.path, document.id) if document else ("The document", "")
    names = [f"{path}/{one.slug}" if one.parent_id == document_id else one.path for one in users[:NAMED]]
    return DocumentInUse(
        f"{path} is the parent of, or linked by, {', '.join(names)}{' and others' if len(users) > NAMED else ''}. "
        "Move or unlink them first."
    )
