"""Edits that are not committed yet: a memory-agent's run, or a person's change, before it is a changeset; and the
rules that every document must keep."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from dataclasses import replace as copy
from datetime import UTC, datetime
from difflib import unified_diff
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from lifelong.collect.erasures import erasure_count
from lifelong.collect.history import History
from lifelong.errors import DocumentInUse, InputError, StaleWrite
from lifelong.organize.document_rows import (
    MAX_DEPTH,
    MEMORY_ID,
    MEMORY_ROOT,
    DocumentRows,
    When,
    document_not_found,
    slugs,
)
from lifelong.organize.facts import (
    EARLIER,
    PEOPLE,
    Body,
    Fact,
    FactIndex,
    IndexedFact,
    Source,
    current_facts,
    fact_keys,
    parse_facts,
    with_speakers,
)
from lifelong.organize.write_policy import WritePolicy
from lifelong.redaction import has_secret, redact
from lifelong.storage.base import NO_LIMIT, Database, Transaction
from lifelong.text.words import fold
from lifelong.types import Document, Reference, new_document_id
from lifelong.validation import validate_name, validate_text

if TYPE_CHECKING:
    from lifelong.organize.support import SupportCheck

T = TypeVar("T")

MAX_SLUG_BYTES = 200  # what both databases can index
MAX_NAME_CHARS = 60  # of a name that becomes a slug
MAX_TITLE_CHARS = 500
MAX_DESCRIPTION_CHARS = 2_000
MAX_BODY_CHARS = 200_000
MAX_LINK_TARGETS = 500
MAX_DIFF_CHARS = 2_000
MAX_DEPENDENTS_NAMED = 5  # documents that an error names
DIFF_CONTEXT_LINES = 2

UNCOMMITTED = datetime.max.replace(tzinfo=UTC)
"""The `valid_from` of a version that is not committed yet."""

_TARGET = re.compile(r"\[\[([^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]\]")
_NOT_IN_SLUG = re.compile(r"\W+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Edit:
    """One document before and after. `before` is none for a new document, `after` for a deleted one."""

    id: str
    before: Document | None
    after: Document | None

    @property
    def base(self) -> int:
        """The last version at the time of the edit."""
        return self.before.version if self.before else self.after.version - 1 if self.after else 0


class HeldFact(NamedTuple):
    """A fact that waits for a person: the document it would be written to, and the fact."""

    path: str
    title: str
    fact: Fact


class DraftRows(DocumentRows):
    """The current rows of a transaction with edits laid over them. Locations are cached, because every document
    below asks for those of its ancestors."""

    def __init__(self, tx: Transaction, owner: str, edits: Mapping[str, Edit]) -> None:
        super().__init__(tx, owner)
        self.fact_index = FactIndex(tx, owner)
        self._edits = edits
        self._locations: dict[str, tuple[str, str] | None] = {}

    def plus(self, edit: Edit) -> DraftRows:
        """Return the same rows with one more edit."""
        more = DraftRows(self._tx, self._owner, {**self._edits, edit.id: edit})
        more._locations = self._locations
        return more

    def full_id(self, document_id: str) -> str:
        found = super().full_id(document_id)
        begins = [id_ for id_ in self._edits if found == document_id and id_.startswith(document_id.lower())]
        return begins[0] if len(begins) == 1 else found

    def row(self, document_id: str, as_of: When = None) -> Document | None:
        edit = self._edits.get(document_id)
        return edit.after if edit else super().row(document_id)

    def location(self, document_id: str, as_of: When = None) -> tuple[str, str] | None:
        if edit := self._edits.get(document_id):
            return (edit.after.parent_id, edit.after.slug) if edit.after else None
        if document_id not in self._locations:
            self._locations[document_id] = super().location(document_id)
        return self._locations[document_id]

    def child(self, parent_id: str, slug: str, as_of: When = None, besides: str = "") -> str | None:
        for edit in self._edits.values():
            after = edit.after
            if after and (after.parent_id, after.slug) == (parent_id, slug) and after.id != besides:
                return after.id
        found = super().child(parent_id, slug)
        return found if found not in self._edits else None

    def children(self, document_id: str = "", as_of: When = None, limit: int = NO_LIMIT) -> list[Document]:
        stored = super().children(document_id, limit=min(NO_LIMIT, limit + len(self._edits)))
        edited = [edit.after for edit in self._edits.values() if edit.after]
        found = [one for one in stored if one.id not in self._edits]
        found += [self.with_path(one) for one in edited if one.parent_id == document_id]
        return sorted(found, key=lambda one: one.slug)[:limit]

    def titled(self, title: str) -> str | None:
        edited = [one.id for one in self._edits.values() if one.after and one.after.title.lower() == title.lower()]
        stored = super().titled(title)
        found = {*edited, *([stored] if stored and stored not in self._edits else [])}
        return found.pop() if len(found) == 1 else None

    def references(self, document_id: str, version: int) -> list[Reference]:
        edit = self._edits.get(document_id)
        return self.references_of(edit.after) if edit and edit.after else super().references(document_id, version)

    def references_of(self, document: Document) -> list[Reference]:
        """Return all that this version refers to."""
        named = {found for target in link_targets(document.body) if (found := self.resolve(target))}
        named.discard(document.id)
        return [
            *([Reference(document.parent_id, "parent")] if document.parent_id else ()),
            *(Reference(link, "link") for link in document.links),
            *(Reference(target, "body") for target in sorted(named)),
        ]

    def dependents(self, document_id: str) -> list[Document]:
        """Return the documents that have it as parent (a few of them), and those that link to it."""
        linking = {
            source for source, how in self.referrers(document_id) if how.kind == "link"
        } - self._edits.keys()
        linking |= {e.id for e in self._edits.values() if e.after and document_id in e.after.links}
        return [*self.children(document_id, limit=MAX_DEPENDENTS_NAMED), *map(self.get, sorted(linking))]

    def check(self, edit: Edit) -> None:
        """Raise if the edit, which is among those laid over the rows, breaks a rule that documents must keep."""
        document = edit.after
        if not document:
            if dependents := self.dependents(edit.id):
                raise _in_use(edit.before, dependents)
            return
        if document.id in (document.parent_id, *document.links):
            raise InputError("A document cannot be its own parent, nor link to itself. Choose another one.")
        for target in (document.parent_id, *document.links):
            if target and not self.location(target):
                raise document_not_found(target)
        if len(self.lineage(document.id)) > MAX_DEPTH:
            raise InputError(f"Documents nest at most {MAX_DEPTH} levels deep. Choose a parent further up.")
        if other := self.child(document.parent_id, document.slug, besides=document.id):
            raise InputError(
                f"{self.get(other).path} exists already, with the id {other}. Read it and change it, or "
                "choose another slug."
            )


class Draft:
    """Edits that are not committed yet: reads see them, the database does not (see `changesets.commit`).

    An edited document shows the version it will be committed as (one above the one that was read), however often
    it is edited here. `below="~/memory"` confines writes to what lies below that path. Secrets are redacted in
    every text. `policy` may refuse an edit. `~/memory` is committed with the first edit.
    """

    def __init__(
        self, database: Database, owner: str, *, below: str = "", policy: WritePolicy | None = None
    ) -> None:
        self._database = database
        self._below = below
        self._policy = policy
        self._read: dict[str, Document] = {}
        self._root, self.erasures = database.read(
            lambda tx: (missing_root(DocumentRows(tx, owner)), erasure_count(tx, owner))
        )
        self.owner = owner
        self.edits: dict[str, Edit] = {MEMORY_ID: self._root} if self._root else {}
        self.moved: dict[str, str] = {}
        """Where facts went, by the refs of their items. Their ids and what people said about them follow."""
        self.held: list[HeldFact] = []
        """Facts that wait for a person instead of being written."""
        self.merged: dict[str, str] = {}
        """Which facts went into which others. What people said about them counts for those, too."""

    @property
    def changes(self) -> tuple[Edit, ...]:
        """What would be committed now, in the order it was edited; empty if nothing."""
        edits = tuple(self.edits.values())
        return () if len(edits) == 1 and edits[0] is self._root else edits

    def require_support(self, check: SupportCheck) -> None:
        """Refuse from now on what the cited records do not support."""
        if self._policy:
            self._policy.support = check

    def only_makes_root(self, edit: Edit) -> bool:
        """Return whether the edit only makes `~/memory`, which somebody else may have made since."""
        return edit is self._root

    # Reading

    def read(self, document_id: str) -> Document | None:
        """Return the document as it would be; none if there is none."""
        return self._remember(self._query(lambda rows: rows.find(document_id)))

    def at(self, path: str) -> Document | None:
        """Return the document at `~/slug/slug`; none if there is none."""
        return self._remember(self._query(lambda rows: rows.at(path)))

    def _remember(self, document: Document | None) -> Document | None:
        if document:
            self._read[document.id] = document
        return document

    def children(self, document_id: str = "", limit: int = NO_LIMIT) -> list[Document]:
        """Return the children by slug; "" stands for the roots."""
        return self._query(lambda rows: rows.children(document_id, limit=limit))

    def find_facts(self, wanted: Sequence[Set[str]]) -> list[list[IndexedFact]]:
        """Return, for each set of keys, the current facts with some of them: those of documents edited here
        first."""

        def work(rows: DraftRows) -> list[list[IndexedFact]]:
            edited = [
                IndexedFact(edit.id, digest, one.sentence)
                for edit in reversed(self.changes)
                if edit.after
                for digest, one in current_facts(rows.with_path(edit.after)).items()
            ]
            return [
                [fact for fact in edited if keys & fact_keys(fact.sentence)]
                + [fact for fact in stored if fact.document_id not in self.edits]
                for keys, stored in zip(wanted, rows.fact_index.find(wanted), strict=True)
            ]

        return self._query(work)

    def slug_below(self, path: str, slug: str) -> str:
        """Return this slug if a document below this path has it, or the only one there that begins with it and a
        hyphen ("ann-lee" for "ann"); empty if there is none."""

        def work(rows: DraftRows) -> str:
            parent = rows.at(path)
            exact = rows.child(parent.id, slug) if parent and slug else None
            ids = [exact] if exact else rows.children_beginning(parent.id, f"{slug}-") if parent and slug else []
            found = rows.row(ids[0]) if len(ids) == 1 else None
            return found.slug if found else ""

        return self._query(work)

    def fact_ids(self, document_id: str) -> dict[str, str]:
        """Return the ids of the committed facts of a document (`f12`), by their digests."""
        found = self._query(lambda rows: rows.fact_index.ids(document_id))
        return {ref.partition("#")[2]: fact_id for ref, fact_id in found.items()}

    def fact_with_id(self, fact_id: str) -> tuple[str, str] | None:
        """Return document and digest of the committed fact with this id."""
        return self._query(lambda rows: rows.fact_index.with_id(fact_id))

    def accepts(self, path: str, fact: Fact) -> bool:
        """Return whether a fact may be written at this path."""
        return self._policy is None or self._policy.accepts(path, fact)

    def hold(self, document: Document, fact: Fact) -> bool:
        """Keep a new fact for review instead of writing it to this document, if it must wait for a person. Return
        whether it must."""
        if self._policy is None or not self._policy.waits(document.path, fact):
            return False
        self.held.append(HeldFact(document.path, document.title, fact))
        return True

    def accepts_title(self, path: str, title: str) -> bool:
        """Return whether a document below this path may have this title."""
        return self._policy is None or self._policy.accepts_title(path, title)

    def source_of(self, path: str, fact: Fact) -> Source:
        """Return which data a new fact repeats, though it may cite people, too."""
        return self._policy.source_of(path, fact) if self._policy else fact.source

    def said_at(self, record_id: int) -> datetime | None:
        """Return when a cited record was said."""
        return self._database.read(lambda tx: History(tx).said_at(self.owner, record_id))

    def references(self, document_id: str) -> list[tuple[Reference, Document]]:
        """Return what the document refers to and still exists."""

        def work(rows: DraftRows) -> list[tuple[Reference, Document]]:
            found = rows.references(document_id, rows.get(document_id).version)
            return [(one, target) for one in found if (target := rows.find(one.target_id))]

        return self._query(work)

    def unresolved(self, document_id: str) -> list[str]:
        """Return the `[[targets]]` in the document's body that name no document."""
        return self._query(
            lambda rows: [t for t in link_targets(rows.get(document_id).body) if not rows.resolve(t)]
        )

    # Writing

    def write(
        self,
        *,
        slug: str,
        title: str,
        body: str,
        description: str | None = None,
        document_id: str | None = None,
        expected_version: int | None = None,
        parent_id: str | None = None,
        parent_path: str | None = None,
        links: Iterable[str] | None = None,
    ) -> Document:
        """Make a document, or (with `document_id` and the version that was read) change one.
        A description, parent or links left out stay as they are; `parent_path="~"` makes it a root. A link is an
        id or a path."""
        if not document_id and expected_version:
            raise InputError(
                "expected_version belongs to a document_id. Give both, or neither for a new document."
            )
        if isinstance(links, str) or not isinstance(links, Iterable | None):
            raise InputError("links must be a list of ids or paths. Put the one link into a list.")
        given_links = None if links is None else tuple(links)

        def work(rows: DraftRows) -> Edit:
            current = self._current(rows, document_id, expected_version) if document_id else None
            old = current or Document(new_document_id(), 1, "", "", "", "", "", "", (), UNCOMMITTED, None, 0)
            parent = _parent(rows, parent_id, parent_path)
            document = copy(
                old,
                slug=validate_slug(slug),
                title=redacted(title, "A title", MAX_TITLE_CHARS),
                description=old.description
                if description is None
                else redacted(description, "A description", MAX_DESCRIPTION_CHARS),
                body=redacted(body, "A body", MAX_BODY_CHARS),
                parent_id=old.parent_id if parent is None else parent,
                links=old.links if given_links is None else _link_ids(rows, given_links),
            )
            if current and current.title != document.title and current.path.startswith(PEOPLE):
                document = copy(document, body=with_speakers(document.body, current.title))
            return self._checked(rows, current, document)

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
        """Append a paragraph (before `## Earlier`, if the body has it and the paragraph is current), or replace
        the only occurrence of `find`."""
        if (append is None) == (find is None) or (append is not None and replace is not None):
            raise InputError("Give either append, or find with replace (left out, what was found is removed).")
        texts = [validate_text(text or "", "A text", MAX_BODY_CHARS) for text in (append, find, replace)]

        def work(rows: DraftRows) -> Edit:
            current = self._current(rows, document_id, expected_version)
            body = _replaced(current, *texts[1:]) if append is None else _appended(current.body, texts[0])
            return self._checked(rows, current, copy(current, body=redacted(body, "A body", MAX_BODY_CHARS)))

        return self._put(work)

    def delete(self, document_id: str, expected_version: int) -> None:
        """Delete the document. Raise `DocumentInUse` while another one has it as parent or link."""

        def work(rows: DraftRows) -> Edit:
            current = _current(rows, document_id, expected_version)
            self._check_place(current)
            if current.id == MEMORY_ID:
                raise InputError(f"{MEMORY_ROOT} cannot be deleted: memory-agents write below it.")
            edit = Edit(current.id, current, None)
            rows.plus(edit).check(edit)
            return Edit(current.id, self._stored(current), None)

        self._apply(work)

    def _current(self, rows: DraftRows, document_id: str, expected_version: int | None) -> Document:
        """Return the document as it is, if that is what the writer has read. A run may also name the version that
        it read before it edited the document itself: the policy refuses to lose what it added."""
        edit = self.edits.get(rows.full_id(document_id))
        if self._policy and edit and edit.before and edit.after and expected_version == edit.before.version:
            expected_version = edit.after.version
        return _current(rows, document_id, expected_version)

    def _checked(self, rows: DraftRows, current: Document | None, document: Document) -> Edit:
        """Return the edit that turns the current document into this one, if it may be committed."""
        before = self._stored(current) if current else None
        version = before.version + 1 if before else document.version
        after = copy(document, version=version, valid_from=UNCOMMITTED, valid_to=None, changeset_id=0)
        edit = Edit(after.id, before, after)
        rows = rows.plus(edit)
        if after.id == MEMORY_ID and rows.with_path(after).path != MEMORY_ROOT:
            raise InputError(f"{MEMORY_ROOT} cannot be moved: memory-agents write below it.")
        rows.check(edit)
        link_targets(after.body)
        after = rows.with_path(after)
        for one in (current, after):
            if one:
                self._check_place(one)
        return Edit(after.id, before, before if before and same_content(before, after) else after)

    def _check_place(self, document: Document) -> None:
        if self._below and not document.path.startswith(f"{self._below}/"):
            raise InputError(f"{document.path} does not lie below {self._below}. Write below that path only.")

    def _stored(self, current: Document) -> Document | None:
        """Return what the database holds of a document as it is here."""
        return self.edits[current.id].before if current.id in self.edits else current

    def _put(self, work: Callable[[DraftRows], Edit]) -> Document:
        after = self._apply(work)
        assert after, "a written document exists"
        return after

    def _apply(self, work: Callable[[DraftRows], Edit]) -> Document | None:
        """Make the edit part of the draft, unless the policy refuses it."""
        edit = self._query(work)
        if self._policy and edit.before is not edit.after:
            edited = {other.id: other.after for other in self.edits.values()}
            others = {**self._read, **edited, edit.id: None}
            before = edited.get(edit.id, edit.before)
            self._policy.check(before, edit.after, [other for other in others.values() if other])
        self.edits.pop(edit.id, None)
        if edit.before is not edit.after:
            self.edits[edit.id] = edit
        return edit.after

    def _query(self, work: Callable[[DraftRows], T]) -> T:
        return self._database.read(lambda tx: work(DraftRows(tx, self.owner, self.edits)))


def missing_root(rows: DocumentRows) -> Edit | None:
    """Return the edit that makes `~/memory`; none if it exists."""
    if rows.location(MEMORY_ID):
        return None
    last = rows.last(MEMORY_ID)
    texts = ("memory", "Memory", "What deserves to last, by subject.", "")
    version = last.version + 1 if last else 1
    return Edit(MEMORY_ID, None, Document(MEMORY_ID, version, MEMORY_ROOT, "", *texts, (), UNCOMMITTED, None, 0))


def slug_of(name: str) -> str:
    """Return a name as a slug, `anna-berg` for "Anna Berg"; empty if it cannot be one."""
    slug = _NOT_IN_SLUG.sub("-", fold(name)).strip("-")[:MAX_NAME_CHARS]
    slug = slug.encode()[:MAX_SLUG_BYTES].decode(errors="ignore")
    return "" if has_secret(slug) else slug


def validate_slug(value: object) -> str:
    """Return the slug if it is one step of a path, and cannot be more."""
    slug = validate_name(value, "A slug", MAX_SLUG_BYTES)
    if has_secret(slug):
        raise InputError("A slug must not hold a secret. Choose another one.")
    if slug != slug.strip() or "/" in slug or _CONTROL.search(slug) or slug in (".", "..", "~"):
        raise InputError(
            f"{slug!r:.200} is not a slug. Use one without '/', line breaks and spaces around it, e.g. 'new-york'."
        )
    return slug


def redacted(value: object, what: str, limit: int) -> str:
    """Return text that may be stored: within its limit, and without secrets."""
    return redact(validate_text(value, what, limit))


def link_targets(body: str) -> list[str]:
    """Return what each `[[target]]` and `[[target|label]]` of a body names, each once."""
    found = list(dict.fromkeys(target.strip() for target in _TARGET.findall(body) if target.strip()))
    if len(found) > MAX_LINK_TARGETS:
        raise InputError(
            f"A body names at most {MAX_LINK_TARGETS} [[targets]]; this one has {len(found)}. Split it."
        )
    return found


def _in_use(document: Document | None, dependents: list[Document]) -> DocumentInUse:
    path, document_id = (document.path, document.id) if document else ("The document", "")
    shown = dependents[:MAX_DEPENDENTS_NAMED]
    names = [f"{path}/{one.slug}" if one.parent_id == document_id else one.path for one in shown]
    others = " and others" if len(dependents) > MAX_DEPENDENTS_NAMED else ""
    return DocumentInUse(
        f"{path} is the parent of, or linked by, {', '.join(names)}{others}. Move or unlink them first."
    )


def _current(rows: DraftRows, document_id: str, expected_version: int | None) -> Document:
    """Return the document as it is, if that is what the writer has read."""
    current = rows.get(document_id)
    if isinstance(expected_version, bool) or not isinstance(expected_version, int):
        raise InputError(f"Give expected_version, the version of {current.path} that was read, as a whole number.")
    if current.version != expected_version:
        existed = 0 < expected_version < current.version
        raise stale_write(current, rows.version(current.id, expected_version) if existed else None, current)
    return current


def stale_write(document: Document, read: Document | None, now: Document | None, by: str = "") -> StaleWrite:
    """Return the error that says how a document changed since a version of it was read."""
    state = f"it is at version {now.version}" if now else "it was deleted"
    changed = diff(read, now) if read else ""
    return StaleWrite(
        f"{document.path} changed since it was read: {state}{by}. Read it again, and make the change on what "
        f"is there now.{' What changed:' if changed else ''}\n{changed[:MAX_DIFF_CHARS]}".rstrip()
    )


def _parent(rows: DraftRows, parent_id: str | None, parent_path: str | None) -> str | None:
    """Return the id of the parent, given by id, by path or both; none if it was not given."""
    by_path = None
    if parent_path:
        found = rows.at(parent_path)
        if not found and slugs(parent_path):
            raise document_not_found(parent_path)
        by_path = found.id if found else ""
    if not parent_id:
        return by_path
    if by_path is not None and by_path != parent_id:
        raise InputError(f"parent_id {parent_id!r:.200} is not what lies at {parent_path}. Give one of the two.")
    return rows.get(parent_id).id


def _link_ids(rows: DraftRows, links: Iterable[str]) -> tuple[str, ...]:
    """Return the ids of linked documents, each once."""
    found = set()
    for link in links:
        target = rows.at(link) if str(link).startswith("~") else rows.find(link)
        if not target:
            raise document_not_found(link)
        found.add(target.id)
    return tuple(sorted(found))


def _appended(body: str, paragraph: str) -> str:
    if not paragraph.strip():
        raise InputError("The text to append is empty. Give it at least one visible character.")
    made, facts = Body(body), parse_facts(paragraph)
    current = not facts or facts[0].current
    at = made.parts.index(EARLIER) if current and EARLIER in made.parts else len(made.parts)
    made.insert(at, paragraph.strip("\n"))
    return str(made)


def _replaced(document: Document, find: str, put: str) -> str:
    if not find or (count := document.body.count(find)) != 1:
        where = "is empty" if not find else f"occurs {count} times in {document.path}"
        raise InputError(f"The text to find {where}. Give a text that occurs there once, with more around it.")
    return document.body.replace(find, put)


# Comparing versions


def same_content(one: Document, other: Document) -> bool:
    """Return whether two versions say the same, in the same place."""
    return fields(one) == fields(other) and one.body == other.body


def diff(old: Document | None, new: Document | None) -> str:
    """Return a unified diff: the fields that differ, then the body. Empty if nothing changed."""
    was, now = fields(old) if old else {}, fields(new) if new else {}
    if old and new:
        was, now = {k: v for k, v in was.items() if now[k] != v}, {k: v for k, v in now.items() if was[k] != v}
    lines = unified_diff(
        [*(f"{name}: {value}" for name, value in was.items() if value), *(old.body.splitlines() if old else ())],
        [*(f"{name}: {value}" for name, value in now.items() if value), *(new.body.splitlines() if new else ())],
        fromfile=_name(old),
        tofile=_name(new),
        lineterm="",
        n=DIFF_CONTEXT_LINES,
    )
    return "\n".join(lines)


def fields(document: Document) -> dict[str, object]:
    """Return all that can be edited except the body."""
    return {
        "slug": document.slug,
        "title": document.title,
        "description": document.description,
        "parent_id": document.parent_id,
        "links": document.links,
    }


def _name(document: Document | None) -> str:
    return f"{document.path} (version {document.version})" if document else "nothing"
