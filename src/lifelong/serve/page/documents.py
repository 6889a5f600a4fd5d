"""Documents on the page: the tree, one document now or as it was, its versions, and the changes that made it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Literal, NamedTuple

from starlette.responses import Response

from lifelong.errors import DocumentNotFound, StaleWrite
from lifelong.memory import Memory
from lifelong.organize.documents import DocumentStore
from lifelong.organize.draft import Edit, diff
from lifelong.organize.facts import Fact, parse_facts
from lifelong.serve.page.context import PageContext, agent_name
from lifelong.serve.page.markdown import render
from lifelong.types import Changeset, Document

ROOT = "~/memory"
OPEN_LEVELS = 3  # of the tree
VERSIONS_PER_PAGE = 50
MAX_CHILDREN = 40  # that are shown of a document that is not chosen
CHANGESETS_PER_PAGE = 30
DIFF_HEADER_LINES = 2  # they name the two versions


@dataclass(frozen=True, slots=True)
class Branch:
    """A document and what is below it; or, with `more`, the document that has so many more children."""

    document: Document
    below: list[Branch]
    more: int


def document(page: PageContext) -> Response:
    """Show a document with the tree beside it; without an `id`, the root."""
    store, as_of = page.memory.documents, page.time("as_of")
    wanted = page.text("id") or ROOT
    found = store.find(wanted, as_of)
    try:
        versions = store.versions(found.id if found else wanted)[::-1]
    except DocumentNotFound:
        if wanted != ROOT:
            raise
        versions = []  # nothing was written yet
    shown = found or (versions[0] if versions and not wanted.startswith("~") else None)
    actions = _fact_actions(page, found) if found and not as_of else None
    links = [one for link in shown.links if (one := store.find(link, as_of))] if shown else []
    return page.show(
        "document.html",
        document=shown,
        exists=bool(found),
        as_of=as_of,
        versions=page.part(versions, VERSIONS_PER_PAGE, len(versions)),
        links=links,
        children=store.children(shown.id, as_of) if found and shown else [],
        max_children=MAX_CHILDREN if not page.text("id") else None,
        body=render(shown.body, page.url, lambda target: _resolve(store, target, as_of), actions) if shown else "",
        is_current=bool(found) and not as_of,
        branches=_branches(store, shown.path if shown and page.text("id") else "", as_of),
        is_empty=not any(store.children(one.id, as_of) or one.body for one in store.roots(as_of)),
    )


def _fact_actions(page: PageContext, document: Document) -> Callable[[Fact], str]:
    """Return what gives the buttons beside a fact."""
    facts = parse_facts(document.body)
    ids = dict(zip(facts, page.memory.documents.fact_ids(document.id), strict=True)) if facts else {}
    pinned = {one.id for one in page.memory.admin.pinned()}
    parts = page.parts()

    def actions(fact: Fact) -> str:
        id_ = ids.get(fact, "")
        return str(parts.menu(id_, id_, id_ in pinned, fact.current)) if id_ else ""

    return actions


def edit(page: PageContext) -> Response:
    """Show a document's text in a form."""
    found = page.memory.documents.read(page.text("id"))
    return _edit_form(page, found, found.title, found.description, found.body)


def save(page: PageContext) -> Response:
    """Save a person's edit as a new version. Where the document changed meanwhile, show the form again with what
    was written, so that nothing is lost."""
    store, found = page.memory.documents, page.memory.documents.read(page.text("id"))
    title, description = page.text("title"), page.text("description")
    body = page.text("body").replace("\r\n", "\n")
    version = page.number("version")
    try:
        made = store.write(
            document_id=found.id,
            expected_version=version,
            slug=found.slug,
            title=title,
            description=description,
            body=body,
        )
    except StaleWrite:
        fault = f"The document changed while you edited version {version}; it is in version {found.version} now."
        return _edit_form(page, found, title, description, body, fault)
    return page.go("/documents", id=made.id, done="saved" if made.version != version else "same")


def _edit_form(
    page: PageContext, document: Document, title: str, description: str, body: str, fault: str = ""
) -> Response:
    return page.show("edit.html", document=document, title=title, description=description, body=body, fault=fault)


def _branches(
    store: DocumentStore, chosen: str, as_of: datetime | None, below: Document | None = None
) -> list[Branch]:
    """Return the tree as far as it is open: its upper levels, and the way to the chosen document. All children of
    the chosen one are shown, and some of the others'."""
    level = below.path.count("/") if below else 0
    found = store.children(below.id if below else "~", as_of)
    limit = len(found) if below and below.path == chosen else MAX_CHILDREN
    branches = []
    for index, one in enumerate(found):
        on_the_way = f"{chosen}/".startswith(f"{one.path}/")
        if index < limit or on_the_way:
            is_open = level + 1 < OPEN_LEVELS or on_the_way
            branches.append(Branch(one, _branches(store, chosen, as_of, one) if is_open else [], 0))
    if below and len(found) > len(branches):
        branches.append(Branch(below, [], len(found) - len(branches)))
    return branches


def _resolve(store: DocumentStore, target: str, as_of: datetime | None) -> str | None:
    """Return the id of what a `[[target]]` names: a path, an id, or a path below the root."""
    target = target.strip()
    found = store.find(target, as_of)
    if not found and not target.startswith("~"):
        found = store.find(f"{ROOT}/{target}", as_of)
    return found.id if found else None


# Changes


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """What a changeset did to a document, and how many facts it added and ended or removed."""

    document: Document
    action: str
    added: int
    ended: int
    lines: list[DiffLine]


@dataclass(frozen=True, slots=True)
class ChangesetSummary:
    """A changeset, what it did, and who made it: a person's name, or whose memory-agent."""

    changeset: Changeset
    by: str
    changes: list[DocumentChange]


def changesets(page: PageContext) -> Response:
    """Show the newest changesets, or the one of an `id` with all that it changed."""
    store = page.memory.documents
    if chosen := page.number("id"):
        return page.show("changeset.html", summary=summarize(page.memory, store.changeset(chosen)))
    part = page.part(store.changesets(page.end_of(CHANGESETS_PER_PAGE) + 1), CHANGESETS_PER_PAGE)
    return page.show("changesets.html", part=part, shown=[summarize(page.memory, one) for one in part.shown])


def rollback(page: PageContext) -> Response:
    """Undo a changeset, and show the one that did it."""
    chosen = page.number("id")
    made = page.memory.documents.rollback(chosen)
    return page.go("/changesets", id=made.id if made else chosen, done="undone" if made else "nothing")


def summarize(memory: Memory, changeset: Changeset) -> ChangesetSummary:
    """Return a changeset with what it did."""
    changes = map(_document_change, memory.documents.changes(changeset.id))
    return ChangesetSummary(
        changeset, _made_by(memory, changeset), sorted(changes, key=lambda one: one.document.path)
    )


def _made_by(memory: Memory, changeset: Changeset) -> str:
    if changeset.cause != "run" or not changeset.session_id:
        return changeset.author
    session = memory.sessions.get(changeset.session_id)
    return f"memory-agent of {agent_name(memory.agents.get(session.agent_id))}"


def _document_change(edit: Edit) -> DocumentChange:
    before, after = (
        {one.text: one.current for one in parse_facts(side.body)} if side else {}
        for side in (edit.before, edit.after)
    )
    document = edit.after or edit.before
    assert document, "an edit has one side at least"
    return DocumentChange(
        document,
        "made" if not edit.before else "changed" if edit.after else "removed",
        sum(current and not before.get(text) for text, current in after.items()),
        sum(current and not after.get(text) for text, current in before.items()),
        diff_lines(diff(edit.before, edit.after)),
    )


# Differences


LineKind = Literal["same", "removed", "added", "position"]
_LINE_KINDS: dict[str, LineKind] = {"+": "added", "-": "removed", "@": "position"}


class DiffLine(NamedTuple):
    kind: LineKind
    text: str


class LinePair(NamedTuple):
    """A line on the left and one on the right; none where there is nothing."""

    left: DiffLine | None
    right: DiffLine | None


def compare(page: PageContext) -> Response:
    """Show what changed between two versions, as a unified diff or side by side."""
    store, wanted = page.memory.documents, page.text("id")
    versions = store.versions(wanted)
    new = page.number("new", versions[-1].version)
    old = page.number("old", max(1, new - 1))
    lines = diff_lines(store.diff(wanted, old, new))
    return page.show(
        "compare.html",
        document=versions[-1],
        versions=versions,
        old=old,
        new=new,
        is_side_by_side=page.text("how") == "side",
        lines=lines,
        pairs=side_by_side(lines),
    )


def diff_lines(unified: str) -> list[DiffLine]:
    """Return the lines of a unified diff, without its header."""
    return [
        DiffLine(_LINE_KINDS.get(line[:1], "same"), line if line[:1] == "@" else line[1:])
        for line in unified.splitlines()[DIFF_HEADER_LINES:]
    ]


def side_by_side(lines: list[DiffLine]) -> list[LinePair]:
    """Pair what was removed with what was added in its place."""
    pairs: list[LinePair] = []
    removed: list[DiffLine] = []
    added: list[DiffLine] = []
    for line in (*lines, None):
        if line and line.kind == "removed":
            removed.append(line)
        elif line and line.kind == "added":
            added.append(line)
        else:
            pairs += [LinePair(left, right) for left, right in zip_longest(removed, added)]
            removed, added = [], []
            if line:
                pairs.append(LinePair(line, line))
    return pairs
