"""`lifelong doc`: what is known, as documents; their history, and back in time."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from lifelong.serve.cli.options import (
    ID,
    Answer,
    AsOfOption,
    LimitOption,
    command,
    given,
    noun,
    the_path,
    time_option,
)
from lifelong.serve.cli.output import console, done, print_text, rows
from lifelong.serve.terminal import harmless

if TYPE_CHECKING:
    from lifelong.memory import Memory
    from lifelong.types import Document

group = noun("doc", "Documents: read and change what is known, see its history, go back.")

DocumentArgument = Annotated[
    str, typer.Argument(help="Its path, like memory/people/mara, or its id.", metavar="DOCUMENT")
]


@command(group)
def tree(
    memory: Memory,
    document: DocumentArgument = "~",
    as_of: AsOfOption = None,
) -> Answer:
    """Show the documents below one, or all there are.

    Example: lifelong doc tree memory/people
    """
    found = list(memory.documents.walk(the_path(document), as_of))
    heads = [{"path": one.path, "id": one.id, "version": one.version, "title": one.title} for one in found]
    return Answer(heads, lambda: _draw(found))


def _draw(found: list[Document]) -> None:
    from rich.tree import Tree

    from lifelong.serve.hit_table import escape

    top = Tree("[bold]~[/]")
    branches = {"~": top}
    for one in found:
        parent = branches.get(one.path.rpartition("/")[0], top)
        label = f"[bold cyan]{escape(one.slug)}[/]  {escape(one.title)} [dim]version {one.version}[/]"
        branches[one.path] = parent.add(label)
    console().print(top)


@command(group)
def read(
    memory: Memory,
    document: DocumentArgument,
    as_of: AsOfOption = None,
    body: Annotated[bool, typer.Option("--body", help="Print the body alone.")] = False,
) -> Answer:
    """Read a document, as it is or as it was.

    Example: lifelong doc read memory/people/mara --as-of 2026-03-05
    """
    roots = the_path(document) in ("~", "~/")
    found = None if roots else memory.documents.read(the_path(document), as_of)
    children = [child.path for child in memory.documents.children(found.id if found else "~", as_of)]

    def show() -> None:
        if not found:
            print_text("\n".join(children))
            return
        if not body:
            about = [f"{found.path}  version {found.version}  id {found.short_id}", found.title, found.description]
            about += [f"below it: {', '.join(children)}"] if children else []
            print_text("\n".join(line for line in about if line) + "\n")
        print_text(found.body)

    return Answer({"document": found, "children": children}, show)


@command(group, new=True)
def write(
    memory: Memory,
    document: DocumentArgument,
    text: Annotated[str | None, typer.Argument(help="The body. Left out, or '-': from standard input.")] = None,
    title: Annotated[str | None, typer.Option(help="Its title.", show_default=False)] = None,
    description: Annotated[str | None, typer.Option(help="What it is about.", show_default=False)] = None,
    version: Annotated[int | None, typer.Option(help="To change a document: the version you read.", min=1)] = None,
    note: Annotated[str, typer.Option(help="Why, for its history.", show_default=False)] = "",
) -> Answer:
    """Make a document, or with --version change one. What you do not name stays.

    Example: lifelong doc write memory/atlas "We ship in May." --title Atlas
    """
    from lifelong.errors import DocumentNotFound, InputError, StaleWrite

    body = given(text)
    was = memory.documents.find(the_path(document))
    if was and version is None:
        raise StaleWrite(
            f"{was.path} is there, in version {was.version}. To change it, add --version {was.version}."
        )
    if not was and version is not None:
        raise InputError(f"There is no document {document!r} to change. Leave --version out to make it.")
    path = was.path if was else the_path(document)
    if ID.fullmatch(path):
        raise DocumentNotFound(f"No document has the id {path}.")
    parent, _, slug = path.rpartition("/")
    if parent.count("/") and not was and not memory.documents.find(parent):
        raise InputError(f"There is no {parent} to hold it. Make that first: lifelong doc write {parent[2:]} …")
    made = memory.documents.write(
        slug=slug,
        title=title or (was.title if was else slug),
        description=description if description is not None else was.description if was else "",
        body=body,
        document_id=was.id if was else None,
        expected_version=version,
        parent_path=None if was else parent or "~",
        note=note,
    )
    return Answer(made, lambda: done(f"{made.path} is in version {made.version}."))


@command(group)
def history(
    memory: Memory,
    document: Annotated[str, typer.Argument(help="A document; left out: the changesets of all.")] = "",
    limit: LimitOption = 20,
) -> Answer:
    """Show the versions of a document, or what changed anywhere, newest first.

    Example: lifelong doc history memory/people/mara
    """
    if document:
        versions = memory.documents.versions(the_path(document))[::-1][:limit]
        held = [
            (one.version, one.valid_from, one.valid_to or "it holds", one.changeset_id, one.title)
            for one in versions
        ]
        return Answer(versions, lambda: rows(("version", "from", "until", "changeset", "title"), held, ""))
    changesets = memory.documents.changesets(limit)
    made = [(one.id, one.at, one.cause, one.author, one.organizer, one.note) for one in changesets]
    columns = ("changeset", "at", "cause", "author", "organizer", "what it did")
    return Answer(
        changesets, lambda: rows(columns, made, "Nothing was organized yet. Run: lifelong worker --once")
    )


@command(group)
def diff(
    memory: Memory,
    document: DocumentArgument,
    old: Annotated[int | None, typer.Argument(help="A version.", show_default="the last but one")] = None,
    new: Annotated[int | None, typer.Argument(help="A later one.", show_default="the last")] = None,
) -> Answer:
    """Show what changed between two versions of a document.

    Example: lifelong doc diff memory/people/mara 1 3
    """
    place = the_path(document)
    last = memory.documents.versions(place)[-1].version
    new = last if new is None else new
    old = max(1, new - 1) if old is None else old
    text = memory.documents.diff(place, old, new)

    def show() -> None:
        from rich.text import Text

        colours = {"+": "green", "-": "red", "@": "cyan"}
        for line in harmless(text).splitlines() or ["The two are the same."]:
            console().print(Text(line, style=colours.get(line[:1], "")), soft_wrap=True)

    return Answer({"document": document, "old": old, "new": new, "diff": text}, show)


@command(group)
def rollback(
    memory: Memory,
    changeset: Annotated[int | None, typer.Argument(help="The changeset to take back.", min=1)] = None,
    to: Annotated[datetime | None, time_option("--to", "Make all documents what they were then.")] = None,
) -> Answer:
    """Take a changeset back, or all since a time. That is a changeset too, so it can be taken back.

    Example: lifelong doc rollback 12
    """
    if (changeset is None) == (to is None):
        raise typer.BadParameter("Name a changeset, or a time with --to")
    documents = memory.documents
    made = documents.rollback_to(to) if to else documents.rollback(changeset or 0)
    told = f"Taken back by changeset {made.id}. {made.note}" if made else "There was nothing to take back."
    return Answer({"changeset": made}, lambda: done(told) if made else console().print(told))
