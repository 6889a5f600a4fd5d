"""Take what must go out of the documents: out of every version, and out of all that was derived from them.

A fact that rests on forgotten records alone goes. One that rests on others, too, keeps those: its words stay if
the others hold them, else it is quoted from them again. A fact that a forgotten record had ended holds again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from lifelong.organize.document_rows import DocumentRows
from lifelong.organize.facts import (
    EARLIER,
    Body,
    Fact,
    FactIndex,
    current_facts,
    parse_fact,
)
from lifelong.recall.index_writer import LINK, facts_of, index_document, ref_of, register_facts
from lifelong.recall.items import Items
from lifelong.redaction import has_secret, redact
from lifelong.storage.base import Transaction
from lifelong.text.sentences import sentences
from lifelong.text.words import content_words
from lifelong.types import Changeset, Document

MIN_SHARED = 0.5  # of a fact's words, that another source must hold to be quoted instead
UNNAMED = "Unnamed"
CATEGORY_DEPTH = 2  # slashes in the path of a category, which stays where it is empty

_NUMBER = re.compile(r"(?<![^\W_])r(\d{1,19})(?![^\W_])")
_BRACKETED = re.compile(r"\[([^\[\]]*)\] ?")


@dataclass(slots=True)
class RecordTexts:
    """What the records say now, by number: those that change, with what stays of them ("" : it goes), what they
    said before, and those that stay as they are."""

    changed: Mapping[int, str]
    before: Mapping[int, str] = field(default_factory=dict)
    others: Mapping[int, str] = field(default_factory=dict)

    def is_gone(self, record: int | None) -> bool:
        return record is not None and self.changed.get(record) == ""

    def now(self, record: int) -> str:
        return self.changed[record] if record in self.changed else self.others.get(record, "")


@dataclass(slots=True)
class ErasedFromDocuments:
    """What became of documents: those that went, those that were written again, and the items to delete."""

    gone: list[str] = field(default_factory=list)
    rewritten: list[str] = field(default_factory=list)
    items: list[int] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


class DocumentErasure:
    """Erase from the documents of one owner, in a transaction in which the owner's documents are locked."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner
        self._rows = DocumentRows(tx, owner)

    def concerned(self, records: Collection[int]) -> set[str]:
        """Return the documents of which a version cites one of the records, or says that one ended a fact."""
        citing = self._tx.many(
            "SELECT document_id FROM citations WHERE owner = ? AND record_id = ?",
            [(self._owner, record) for record in records],
        )
        ended = self._tx.many(
            "SELECT ref FROM ends WHERE owner = ? AND kind = 'fact' AND by_record = ?",
            [(self._owner, record) for record in records],
        )
        return {row[0] for row in citing} | {row[0].partition("#")[0] for row in ended}

    def cited_by(self, document_ids: Iterable[str]) -> set[int]:
        """Return the records that these documents cite, or once did."""
        rows = self._tx.many(
            "SELECT record_id FROM citations WHERE owner = ? AND document_id = ?",
            [(self._owner, one) for one in document_ids],
        )
        return {row[0] for row in rows}

    def erase(
        self, documents: Collection[str], going: Collection[str], refs: Collection[str], texts: RecordTexts
    ) -> ErasedFromDocuments:
        """Erase records and facts (by their refs) from documents; those in `going` go as they are."""
        done = ErasedFromDocuments()
        found = {id_: self._rows.versions(id_) for id_ in sorted({*documents, *going})}
        deepest_first = sorted(found, key=lambda id_: -max((one.path.count("/") for one in found[id_]), default=0))
        for document_id in deepest_first:
            versions = found[document_id]
            bodies = {one.version: without(one, texts, refs) for one in versions}
            changed = [one for one in versions if bodies[one.version] != one.body]
            if document_id in going or (changed and self._is_empty(versions, bodies)):
                done.gone.append(document_id)
                self._erase_derived(document_id, (), done)
                self._delete(document_id)
            elif changed:
                done.rewritten.append(document_id)
                self._rewrite(changed, bodies)
                left = [replace(one, body=bodies[one.version]) for one in versions]
                self._erase_derived(document_id, left, done)
        return done

    def rename(self, document_ids: Iterable[str]) -> None:
        """Take the name away from documents that stay but are named by something that was forgotten."""
        for number, document_id in enumerate(document_ids, 1):
            self._tx.run(
                "UPDATE documents SET title = ?, description = '', slug = ? WHERE owner = ? AND id = ?",
                *(UNNAMED, f"unnamed-{number}-{document_id[:9]}", self._owner, document_id),
            )

    def redact(self, document_id: str) -> ErasedFromDocuments:
        """Put a marker in the place of every secret, in each version of a document."""
        done = ErasedFromDocuments(rewritten=[document_id])
        versions = self._rows.versions(document_id)
        bodies = {one.version: redact(one.body) for one in versions}
        self._rewrite([one for one in versions if bodies[one.version] != one.body], bodies)
        self._tx.many(
            "UPDATE documents SET title = ?, description = ? WHERE owner = ? AND id = ? AND version = ?",
            [
                (redact(one.title), redact(one.description), self._owner, document_id, one.version)
                for one in versions
            ],
        )
        if any(has_secret(one.slug) for one in versions):
            self.rename([document_id])
        self._erase_derived(document_id, [replace(one, body=bodies[one.version]) for one in versions], done)
        return done

    def commit(self, document_ids: Collection[str], changeset: Changeset) -> None:
        """Write a new version of each document that stays, so that nobody overwrites it with what was read before,
        and bring the index of facts up to date."""
        current = [one for id_ in sorted(document_ids) if (one := self._rows.find(id_))]
        if not current:
            return
        changeset = self._rows.open_changeset(changeset)
        self._rows.close([one.id for one in current], changeset)
        references = {one.id: self._rows.references(one.id, one.version) for one in current}
        self._rows.insert(
            [(replace(one, version=one.version + 1), references[one.id]) for one in current], changeset
        )
        index = FactIndex(self._tx, self._owner)
        for one in current:
            document = self._rows.find(one.id)
            register_facts(self._tx, self._owner, {one.id: document})
            placed = current_facts(document) if document else {}
            index.set_keys([one.id], {(one.id, key): fact.sentence for key, fact in placed.items()}, changeset.at)
            index_document(self._tx, self._owner, one.id, document, changeset.at)

    def _is_empty(self, versions: Collection[Document], bodies: Mapping[int, str]) -> bool:
        """Return whether a document holds nothing any more, in no version, and nothing is below it."""
        if any(part for body in bodies.values() for part in Body(body).parts if not part.startswith("#")):
            return False
        first = next(iter(versions))
        return first.path.count("/") > CATEGORY_DEPTH and not self._rows.children(first.id, limit=1)

    def _rewrite(self, versions: Iterable[Document], bodies: Mapping[int, str]) -> None:
        for one in versions:
            body = bodies[one.version]
            self._tx.run(
                "UPDATE documents SET body = ? WHERE owner = ? AND id = ? AND version = ?",
                *(body, self._owner, one.id, one.version),
            )
            if not LINK.search(body):
                self._tx.run(
                    "DELETE FROM document_references WHERE owner = ? AND source_id = ? AND source_version = ? "
                    "AND kind = 'body'",
                    *(self._owner, one.id, one.version),
                )

    def _erase_derived(self, document_id: str, versions: Iterable[Document], done: ErasedFromDocuments) -> None:
        """Delete what is derived from facts that no version has any more."""
        left = {ref for one in versions for ref, *_ in facts_of(one)}
        items = self._tx.all(
            "SELECT id, ref FROM items WHERE owner = ? AND kind = 'fact' AND kind <> 'record' AND thread = ?",
            *(self._owner, document_id),
        )
        gone = [(id_, ref) for id_, ref in items if ref.partition("@")[0] not in left]
        known = self._tx.all(
            "SELECT fact FROM facts WHERE owner = ? AND document_id = ?", self._owner, document_id
        )
        digests = [row[0] for row in known if f"{document_id}#{row[0]}" not in left]
        refs = {ref.partition("@")[0] for _, ref in gone} | {f"{document_id}#{one}" for one in digests}
        for table in ("facts", "fact_keys"):
            self._tx.many(
                f"DELETE FROM {table} WHERE owner = ? AND document_id = ? AND fact = ?",
                [(self._owner, document_id, one) for one in digests],
            )
        cited = self._tx.all(
            "SELECT ref FROM citations WHERE owner = ? AND document_id = ?", self._owner, document_id
        )
        for (ref,) in cited:
            if ref.partition(" ")[0] not in left:
                refs.add(ref)
        for table, which in (("citations", "ref = ?"), ("ends", "kind = 'fact' AND ref = ?")):
            self._tx.many(
                f"DELETE FROM {table} WHERE owner = ? AND {which}", [(self._owner, ref) for ref in sorted(refs)]
            )
        done.items += [id_ for id_, _ in gone]
        done.keys += [f"fact:{ref}" for ref in refs]

    def _delete(self, document_id: str) -> None:
        for which in ("source_id", "target_id"):
            self._tx.run(
                f"DELETE FROM document_references WHERE owner = ? AND {which} = ?", self._owner, document_id
            )
        self._tx.run("DELETE FROM documents WHERE owner = ? AND id = ?", self._owner, document_id)


def without(document: Document, texts: RecordTexts, refs: Collection[str]) -> str:
    """Return the body of a document without what must go."""
    if not _may_concern(document, texts, refs):
        return document.body
    body, back = Body(document.body), list[Fact]()
    for at in reversed(range(len(body.parts))):
        part = body.parts[at]
        fact = parse_fact(part)
        named = fact or (None if part.startswith("#") else Fact(part.strip(), ()))
        if named and ref_of(document, named) in refs:
            body.remove(at)
        elif fact:
            left = _without_sources(fact, texts)
            if left is None or left.current != fact.current:
                body.remove(at)
                back += [left] if left else []
            elif left != fact:
                body.replace(at, str(replace(left, marker=fact.marker)))
    for fact in reversed(back):
        body.add_fact(fact)
    if body.parts and body.parts[-1] == EARLIER:
        body.remove(len(body.parts) - 1)
    return str(body)


def _may_concern(document: Document, texts: RecordTexts, refs: Collection[str]) -> bool:
    """Return whether a version may hold something that must go: it costs much less than to read its facts."""
    if any(ref.startswith(f"{document.id}#") for ref in refs):
        return True
    if any(int(number) in texts.changed for number in _NUMBER.findall(document.body)):
        return True
    asked = (found[1].strip() for found in _BRACKETED.finditer(document.body))
    return any(one in said for one in asked if len(one) > 1 for said in texts.before.values())


def _without_sources(fact: Fact, texts: RecordTexts) -> Fact | None:
    """Return what is left of a fact; none if it rests on nothing any more."""
    if texts.is_gone(fact.by):
        fact = replace(fact, until="", by=None)
    if "[" in fact.text:
        fact = replace(fact, text=_without_questions(fact.text, texts))
    if texts.changed.keys().isdisjoint(fact.records):
        return fact
    records = tuple(record for record in fact.records if not texts.is_gone(record))
    if not records or not fact.text:
        return None
    words = set(content_words(_BRACKETED.sub("", fact.text)))
    if words <= {word for record in records for word in content_words(texts.now(record))}:
        return replace(fact, records=records)
    if not fact.day:
        return None
    said = [(one, record) for record in records for one in sentences(texts.now(record))]
    text, record = max(said, key=lambda one: len(words.intersection(content_words(one[0]))), default=("", 0))
    if len(words.intersection(content_words(text))) < MIN_SHARED * len(words):
        return None
    return replace(fact, text=text, records=(record, *(one for one in records if one != record)))


def _without_questions(text: str, texts: RecordTexts) -> str:
    """Return a quote without what it has in brackets from a record that went: the question that it answers."""

    def kept(found: re.Match[str]) -> str:
        asked = found[1].strip()
        from_gone = any(asked in said and asked not in texts.now(one) for one, said in texts.before.items())
        return "" if len(asked) > 1 and from_gone else found[0]

    return _BRACKETED.sub(kept, text).strip()


def erase_items(tx: Transaction, owner: str, ids: Collection[int], keys: Collection[str]) -> None:
    """Delete items for good, and what people said about them, by their keys."""
    Items(tx, owner).erase(sorted(ids))
    for table in ("pins", "unpins", "corrections", "feedback"):
        tx.many(f"DELETE FROM {table} WHERE owner = ? AND item = ?", [(owner, key) for key in sorted(keys)])


def changeset_of(owner: str, author: str, at: datetime) -> Changeset:
    """Return the changeset under which documents are written without what was forgotten."""
    return Changeset(0, owner, at, "edit", author, note="Something was forgotten.")
