"""Documents as they are and as they were, and the changesets that made them so."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from lifelong.memory import Memory
from lifelong.organize.draft import Edit
from lifelong.organize.facts import Fact
from lifelong.serve.http.models import Body, Text
from lifelong.serve.http.params import AskedMemory, AsOf, Limit, Moment, RecordId
from lifelong.types import Changeset, Document, Reference

documents = APIRouter(prefix="/documents", tags=["documents"])
changesets = APIRouter(prefix="/changesets", tags=["changesets"])

Version = Annotated[int, Field(ge=1, lt=2**31)]
ChangesetId = Annotated[RecordId, Path()]


class Head(Body):
    """A document without its body."""

    id: str
    version: int
    path: str
    parent_id: str
    slug: str
    title: str
    description: str
    valid_from: datetime
    changeset_id: int


class Whole(BaseModel):
    """A document, what it refers to, and its children."""

    document: Document
    references: list[Reference]
    children: list[Head]


class Signed(Body):
    """Who makes a change, and why."""

    author: str = Field("person", examples=["mara"])
    note: str = ""


class Content(Signed):
    """The whole of a document. The parent goes by its id or its path; left out, a changed document stays where it
    is, and a new one is a root."""

    slug: str = Field(examples=["trains"])
    title: str = Field(examples=["Trains"])
    description: str = Field("", examples=["What is known about trains."])
    body: str = Field("", examples=["Mara prefers trains."])
    parent_id: str | None = None
    parent_path: str | None = Field(None, examples=["~/memory"])
    links: list[str] | None = Field(None, description="Ids or paths. Left out: as they are.")


class Replacement(Content):
    """The same, for a document that was read at this version."""

    expected_version: Version


class Change(Signed):
    """Append a paragraph, or replace a text that stands exactly once."""

    expected_version: Version
    append: str | None = Field(None, examples=["She takes the night train."])
    find: str | None = None
    replace: str | None = None


class Past(Body):
    """A time to return to."""

    time: Moment
    author: str = "person"


@documents.get("", response_model=list[Head])
def list_documents(
    memory: AskedMemory,
    below: Annotated[str, Query(description="A path; ~ for all.", examples=["~/memory/people"])] = "~",
    as_of: AsOf = None,
) -> list[Document]:
    """The tree: the document at a path and all below it, parents first, without their bodies."""
    return list(memory().documents.walk(below, as_of))


@documents.get("/roots", response_model=list[Head])
def list_roots(memory: AskedMemory, as_of: AsOf = None) -> list[Document]:
    """The documents at the top, without their bodies."""
    return memory().documents.roots(as_of)


@documents.get("/at")
def read_document_at(
    memory: AskedMemory, path: Annotated[str, Query(examples=["~/memory"])], as_of: AsOf = None
) -> Whole:
    """The document at a path, now or as it was."""
    return _whole(memory(), path, as_of)


@documents.post("", status_code=201)
def make_document(content: Content, memory: AskedMemory) -> Document:
    """Make a document. It has landed, as a changeset, when this answers."""
    return memory().documents.write(**content.model_dump())


@documents.post("/rollback")
def rollback_to_time(past: Past, memory: AskedMemory) -> Changeset | None:
    """Make the whole tree what it was at a time, as a new changeset. Null: it is."""
    return memory().documents.rollback_to(past.time, author=past.author)


@documents.get("/{document_id}")
def read_document(document_id: str, memory: AskedMemory, as_of: AsOf = None) -> Whole:
    """The document of this id, now or as it was."""
    return _whole(memory(), document_id, as_of)


@documents.put("/{document_id}")
def write_document(document_id: str, content: Replacement, memory: AskedMemory) -> Document:
    """Replace a document that was read at `expected_version`. If it changed since, this is a 409 that says how."""
    return memory().documents.write(document_id=document_id, **content.model_dump())


@documents.patch("/{document_id}")
def edit_document(document_id: str, change: Change, memory: AskedMemory) -> Document:
    """Change a little: append a paragraph, or replace a text that stands once."""
    return memory().documents.edit(document_id, **change.model_dump())


@documents.delete("/{document_id}", status_code=204)
def delete_document(
    document_id: str,
    memory: AskedMemory,
    expected_version: Annotated[Version, Query()],
    author: str = "person",
    note: str = "",
) -> None:
    """Let a document go; its versions stay. Refused while another one has it as parent or link."""
    memory().documents.delete(document_id, expected_version, author=author, note=note)


@documents.get("/{document_id}/facts")
def list_facts(document_id: str, memory: AskedMemory) -> list[Fact]:
    """What the document facts, in order, current or not, with the records that say so."""
    return memory().documents.facts(document_id)


@documents.get("/{document_id}/versions")
def list_versions(document_id: str, memory: AskedMemory) -> list[Document]:
    """Every version, the first one first, also of a document that was deleted."""
    return memory().documents.versions(document_id)


@documents.get("/{document_id}/diff")
def diff_versions(
    document_id: str,
    memory: AskedMemory,
    old: Annotated[Version, Query()],
    new: Annotated[Version, Query()],
) -> Text:
    """What changed between two versions, as a unified diff."""
    return Text(text=memory().documents.diff(document_id, old, new))


@changesets.get("")
def list_changesets(memory: AskedMemory, limit: Limit = 20) -> list[Changeset]:
    """Edits that landed together, the newest first."""
    return memory().documents.changesets(limit)


@changesets.get("/{changeset_id}")
def get_changeset(changeset_id: ChangesetId, memory: AskedMemory) -> Changeset:
    """One changeset: who made it, why, from which records, at what cost."""
    return memory().documents.changeset(changeset_id)


@changesets.get("/{changeset_id}/changes")
def list_changes(changeset_id: ChangesetId, memory: AskedMemory) -> list[Edit]:
    """What the changeset did: each document before and after."""
    return memory().documents.changes(changeset_id)


@changesets.post("/{changeset_id}/rollback")
def rollback_changeset(changeset_id: ChangesetId, memory: AskedMemory, author: str = "person") -> Changeset | None:
    """Take one changeset back, as a new one. Null: there was nothing to undo."""
    return memory().documents.rollback(changeset_id, author=author)


def _whole(memory: Memory, document: str, as_of: datetime | None) -> Whole:
    tree = memory.documents
    found = tree.read(document, as_of)
    return Whole(
        document=found,
        references=[] if as_of else tree.references(found.id),
        children=[Head.model_validate(child) for child in tree.children(found.id, as_of)],
    )
