"""What was organized, changeset by changeset, and how it is taken back."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from lifelong.memory import Memory
from lifelong.organize.draft import Edit, diff
from lifelong.organize.facts import parse_facts
from lifelong.serve.page.context import Visit, called
from lifelong.serve.page.side_by_side import Line, lines
from lifelong.types import Changeset, Document

LISTED = 30


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a document: how many facts it gained, and how many of them ended or left."""

    document: Document
    what: str
    gained: int
    ended: int
    lines: list[Line]


@dataclass(frozen=True, slots=True)
class Told:
    """A changeset, what it did, and who made it: a person's name, or whose memory-agent."""

    changeset: Changeset
    by: str
    changes: list[Change]


def changesets(visit: Visit) -> Response:
    """The newest, or the one that is asked for, with all that it changed."""
    tree = visit.memory.documents
    if chosen := visit.number("id"):
        return visit.show("changeset.html", told=told(visit.memory, tree.changeset(chosen)))
    part = visit.part(tree.changesets(visit.until(LISTED) + 1), LISTED)
    return visit.show("changesets.html", part=part, shown=[told(visit.memory, one) for one in part.shown])


def rollback(visit: Visit) -> Response:
    chosen = visit.number("id")
    made = visit.memory.documents.rollback(chosen)
    return visit.go("/changesets", id=made.id if made else chosen, said="undone" if made else "nothing")


def told(memory: Memory, changeset: Changeset) -> Told:
    """A changeset and what it did."""
    edits = memory.documents.changes(changeset.id)
    return Told(changeset, _by(memory, changeset), sorted(map(_change, edits), key=lambda one: one.document.path))


def _by(memory: Memory, changeset: Changeset) -> str:
    if changeset.cause != "run":
        return changeset.author
    session = memory.sessions.get(changeset.session_id)
    return f"memory-agent of {called(memory.agents.get(session.agent_id))}"


def _change(edit: Edit) -> Change:
    was, now = (
        {one.text: one.current for one in parse_facts(side.body)} if side else {}
        for side in (edit.before, edit.after)
    )
    document = edit.after or edit.before
    assert document, "an edit has one side at least"
    return Change(
        document,
        "made" if not edit.before else "changed" if edit.after else "removed",
        sum(current and not was.get(text) for text, current in now.items()),
        sum(current and not now.get(text) for text, current in was.items()),
        lines(diff(edit.before, edit.after)),
    )
