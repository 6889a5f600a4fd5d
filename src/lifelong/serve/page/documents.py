"""The documents: the tree, one of them as it is or was, its versions, and what differs between two."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from starlette.responses import Response

from lifelong.errors import DocumentNotFound
from lifelong.organize.documents import DocumentStore
from lifelong.serve.page.context import Visit
from lifelong.serve.page.markdown import render
from lifelong.serve.page.side_by_side import lines, side_by_side
from lifelong.types import Document

ROOT = "~/memory"
OPEN = 3  # levels of the tree that are open without being asked
VERSIONS = 50
MANY = 40  # children that are shown of what is not chosen


@dataclass(frozen=True, slots=True)
class Branch:
    """A document and what is below it; or, with `more`, the document that has so many more."""

    document: Document
    below: list[Branch]
    more: int


def document(visit: Visit) -> Response:
    """A document with the tree beside it; without an `id`, the root."""
    tree, as_of = visit.memory.documents, visit.time("as_of")
    asked = visit.text("id") or ROOT
    found = tree.find(asked, as_of)
    try:
        versions = tree.versions(found.id if found else asked)[::-1]
    except DocumentNotFound:
        if asked != ROOT:
            raise
        versions = []  # nothing was written yet
    shown = found or (versions[0] if versions and not asked.startswith("~") else None)
    links = [one for link in shown.links if (one := tree.find(link, as_of))] if shown else []
    return visit.show(
        "document.html",
        document=shown,
        is_there=bool(found),
        as_of=as_of,
        versions=visit.part(versions, VERSIONS, len(versions)),
        links=links,
        children=tree.children(shown.id, as_of) if found and shown else [],
        many=MANY if not visit.text("id") else None,
        body=render(shown.body, visit.url, lambda target: _resolve(tree, target, as_of)) if shown else "",
        branches=_branches(tree, shown.path if shown and visit.text("id") else "", as_of),
        is_empty=not any(tree.children(one.id, as_of) or one.body for one in tree.roots(as_of)),
    )


def compare(visit: Visit) -> Response:
    tree, asked = visit.memory.documents, visit.text("id")
    versions = tree.versions(asked)
    new = visit.number("new", versions[-1].version)
    old = visit.number("old", max(1, new - 1))
    found = lines(tree.diff(asked, old, new))
    return visit.show(
        "compare.html",
        document=versions[-1],
        versions=versions,
        old=old,
        new=new,
        side=visit.text("how") == "side",
        lines=found,
        pairs=side_by_side(found),
    )


def _branches(
    tree: DocumentStore, chosen: str, as_of: datetime | None, below: Document | None = None
) -> list[Branch]:
    """The tree as far as it is open: its upper levels, and the way to what is chosen. All children are shown of
    what is chosen, and some of the rest."""
    level = below.path.count("/") if below else 0
    found = tree.children(below.id if below else "~", as_of)
    many = len(found) if below and below.path == chosen else MANY
    branches = []
    for place, one in enumerate(found):
        on_the_way = f"{chosen}/".startswith(f"{one.path}/")
        if place < many or on_the_way:
            is_open = level + 1 < OPEN or on_the_way
            branches.append(Branch(one, _branches(tree, chosen, as_of, one) if is_open else [], 0))
    if below and len(found) > len(branches):
        branches.append(Branch(below, [], len(found) - len(branches)))
    return branches


def _resolve(tree: DocumentStore, target: str, as_of: datetime | None) -> str | None:
    """The id of what a `[[target]]` names: a path, an id, or a path below the root."""
    target = target.strip()
    found = tree.find(target, as_of) or (None if target.startswith("~") else tree.find(f"{ROOT}/{target}", as_of))
    return found.id if found else None
