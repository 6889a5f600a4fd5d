"""The document tools (SPEC O20), with which a model, or any program that speaks JSON, edits documents."""

from __future__ import annotations

import json
from typing import Annotated

from lifelong.errors import InputError
from lifelong.organize.document_rows import MEMORY_ROOT, slugs
from lifelong.organize.documents import DocumentStore, outline
from lifelong.organize.draft import Draft, same_content
from lifelong.organize.facts import current_facts
from lifelong.organize.review import AgentDocuments, Review, waits
from lifelong.tools import Tool, tool
from lifelong.types import Document

MAX_CHILDREN = 200
MAX_PREVIEW_CHARS = 80


def document_tools(over: Draft | DocumentStore | AgentDocuments, author: str = "agent") -> tuple[Tool, ...]:
    """Return document_read, document_write and document_edit over a draft, or over what is stored: then each write
    is a changeset of this author, as an agent's word, or waits for review."""
    target = AgentDocuments(over, author) if isinstance(over, DocumentStore) else over

    def view() -> Draft:
        return target.draft() if isinstance(target, AgentDocuments) else target

    def document_read(
        document_id: Annotated[str | None, DOCUMENT_ID] = None, path: Annotated[str | None, DOCUMENT_PATH] = None
    ) -> str:
        return _read(view(), document_id, path)

    def document_write(
        *,
        document_id: Annotated[str | None, "The document to replace; left out, a new one is made."] = None,
        expected_version: Annotated[int | None, "With document_id: the version you read."] = None,
        slug: Annotated[str, "Its name in the path, e.g. new-york."],
        title: Annotated[str, "Its title."],
        description: Annotated[str, "What it is about."],
        body: Annotated[str, "The whole text, each fact a paragraph that ends in its records: [r12, r13]."],
        parent_id: Annotated[str | None, "The parent's id; left out, it stays where it is."] = None,
        parent_path: Annotated[str | None, PARENT_PATH] = None,
        links: Annotated[list[str] | None, LINKS] = None,
    ) -> str:
        before = view().read(document_id) if document_id else None
        written = target.write(
            slug=slug,
            title=title,
            description=description,
            body=body,
            document_id=document_id,
            expected_version=expected_version,
            parent_id=parent_id,
            parent_path=parent_path,
            links=links,
        )
        return waits(written) if isinstance(written, Review) else _written(view(), before, written)

    def document_edit(
        document_id: Annotated[str, DOCUMENT_ID],
        expected_version: Annotated[int, "The version you read."],
        append: Annotated[str | None, "A paragraph to add."] = None,
        find: Annotated[str | None, "Instead of append: the text to replace."] = None,
        replace: Annotated[str | None, "What to put in its place; left out, it is removed."] = None,
    ) -> str:
        before = view().read(document_id)
        put = replace if find else replace or None
        written = target.edit(document_id, expected_version, append=append or None, find=find or None, replace=put)
        return waits(written) if isinstance(written, Review) else _written(view(), before, written)

    return (
        tool("document_read", READ, document_read),
        tool("document_write", WRITE, document_write),
        tool("document_edit", EDIT, document_edit),
    )


READ = "Read a document with its references and children, by id or path; with neither, the roots."
WRITE = (
    "Make a document, or replace one. For a small change use document_edit. [[path]], [[title]] or [[id|label]] "
    "names another."
)
EDIT = "Append a paragraph to a document, or replace a text that occurs exactly once in its body."


DOCUMENT_ID = "The document's id."
DOCUMENT_PATH = f"Instead of the id: its path, e.g. {MEMORY_ROOT}/people; ~ for the roots."
PARENT_PATH = "Instead of parent_id: the parent's path."
LINKS = "Ids or paths of related documents; left out, they stay."


def _read(draft: Draft, document_id: str | None, path: str | None) -> str:
    if document_id and path:
        raise InputError("Give document_id or path, not both.")
    if not document_id and not (path and slugs(path)):
        return "\n".join(["The roots:", *_children(draft, "")])
    found = draft.read(document_id) if document_id else draft.at(path or "~")
    return _shown(draft, found) if found else _not_found(draft, document_id, path)


def _shown(draft: Draft, document: Document) -> str:
    references = [f"- {one.kind}: {to.path} (id {to.id})" for one, to in draft.references(document.id)]
    missing = [f"- not found: [[{target}]]" for target in draft.unresolved(document.id)]
    lines = [
        f"# {document.title}",
        f"id: {document.id}",
        f"slug: {document.slug}",
        f"path: {document.path}",
        f"version: {document.version}",
        f"description: {document.description}",
        *_section("references", [*references, *missing]),
        *_section("children", _children(draft, document.id)),
        *(_section("outline", [outline(draft, document)]) if document.path == MEMORY_ROOT else ()),
        *([f"current facts, in order: {', '.join(ids)}"] if (ids := _fact_ids(draft, document)) else ()),
        "body:",
        "",
        document.body,
    ]
    return "\n".join(lines)


def _fact_ids(draft: Draft, document: Document) -> list[str]:
    known = draft.fact_ids(document.id)
    return [known.get(digest, "new") for digest in current_facts(document)] if known else []


def _section(name: str, lines: list[str]) -> list[str]:
    return [f"{name}:", *lines] if lines else [f"{name}: none"]


def _children(draft: Draft, document_id: str) -> list[str]:
    found = draft.children(document_id, limit=MAX_CHILDREN + 1)
    lines = [
        f"- {one.slug} (id {one.id}, version {one.version}): {one.title}: {_preview(one)}"
        for one in found[:MAX_CHILDREN]
    ]
    return lines + (["- … and more; read one by its path."] if len(found) > MAX_CHILDREN else [])


def _preview(document: Document) -> str:
    shown = " ".join((document.description or document.body[: 4 * MAX_PREVIEW_CHARS]).split())
    return shown if len(shown) <= MAX_PREVIEW_CHARS else f"{shown[: MAX_PREVIEW_CHARS - 1]}…"


def _not_found(draft: Draft, document_id: str | None, path: str | None) -> str:
    """Return an answer that helps on: the nearest documents that exist."""
    if not path:
        return f"Not found: no document has the id {document_id}. Read by path, or ~ for the roots."
    above, parent = "~", ""
    for slug in slugs(path):
        found = draft.at(f"{above}/{slug}")
        if not found:
            break
        above, parent = found.path, found.id
    return "\n".join(
        [f"Not found: nothing lies at {path}.", *_section(f"below {above}", _children(draft, parent))]
    )


def _written(draft: Draft, before: Document | None, document: Document) -> str:
    answer: dict[str, object] = {"id": document.id, "version": document.version, "path": document.path}
    if before and same_content(before, document):
        answer["note"] = "Nothing changed: it says this already."
    if missing := draft.unresolved(document.id):
        answer["not_found"] = [f"[[{target}]]" for target in missing]
    return json.dumps(answer, ensure_ascii=False)
