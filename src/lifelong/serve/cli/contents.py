"""What is kept, and where: `lifelong documents`, `journal`, `experiences`, `relations` and `notes`."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from lifelong.errors import InputError
from lifelong.serve.cli.options import (
    DOCUMENT_ID,
    Answer,
    AsOfOption,
    Group,
    LimitOption,
    NeighbourLimit,
    Sensitivity,
    SinceOption,
    TextArgument,
    command,
    document_path,
    noun,
    read_text,
    time_option,
)
from lifelong.serve.terminal import one_line, print_done, print_table, print_text, print_unknown, sanitize, styled

if TYPE_CHECKING:
    from lifelong.memory import Memory
    from lifelong.types import Document

verbs = typer.Typer()
documents = noun("documents", "What is known, as documents: read, change, see the history, go back.")

DocumentArgument = Annotated[
    str, typer.Argument(help="Its path, like memory/people/mara, or its id.", metavar="DOCUMENT")
]


@command(documents)
def tree(
    memory: Memory,
    document: DocumentArgument = "~",
    as_of: AsOfOption = None,
) -> Answer:
    """Show the documents below one, or all there are.

    Example: lifelong documents tree memory/people
    """
    found = list(memory.documents.walk(document_path(document), as_of))
    heads = [{"path": one.path, "id": one.id, "version": one.version, "title": one.title} for one in found]
    return Answer(heads, lambda: _print_tree(found))


def _print_tree(found: list[Document]) -> None:
    depth = min((one.path.count("/") for one in found), default=0)
    for one in found:
        version = styled(f"version {one.version}", "dim")
        indent = "  " * (one.path.count("/") - depth)
        slug = styled(one_line(one.slug), "bold", "cyan")
        sys.stdout.write(f"{indent}{slug}  {one_line(one.title)}  {version}\n")
    if not found:
        print_text("There is no document yet. Run: lifelong organize")


@command(documents)
def read(
    memory: Memory,
    document: DocumentArgument,
    as_of: AsOfOption = None,
    body: Annotated[bool, typer.Option("--body", help="Print the body alone.")] = False,
) -> Answer:
    """Read a document, as it is or as it was.

    Example: lifelong documents read memory/people/mara --as-of 2026-03-05
    """
    roots = document_path(document) in ("~", "~/")
    found = None if roots else memory.documents.read(document_path(document), as_of)
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


@command(documents, new=True)
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

    Example: lifelong documents write memory/atlas "We ship in May." --title Atlas
    """
    from lifelong.errors import DocumentNotFound, InputError, StaleWrite

    body = read_text(text)
    current = memory.documents.find(document_path(document))
    if current and version is None:
        raise StaleWrite(
            f"{current.path} exists, in version {current.version}. To change it, add --version {current.version}."
        )
    if not current and version is not None:
        raise InputError(f"There is no document {document!r} to change. Leave --version out to make it.")
    path = current.path if current else document_path(document)
    if DOCUMENT_ID.fullmatch(path):
        raise DocumentNotFound(f"No document has the id {path}.")
    parent, _, slug = path.rpartition("/")
    if parent.count("/") and not current and not memory.documents.find(parent):
        raise InputError(
            f'There is no {parent} to hold it. Make that first: lifelong documents write {parent[2:]} "…"'
        )
    made = memory.documents.write(
        slug=slug,
        title=title or (current.title if current else slug),
        description=description if description is not None else current.description if current else "",
        body=body,
        document_id=current.id if current else None,
        expected_version=version,
        parent_path=None if current else parent or "~",
        note=note,
    )
    return Answer(made, lambda: print_done(f"{made.path} is in version {made.version}."))


@command(documents)
def history(
    memory: Memory,
    document: Annotated[str, typer.Argument(help="A document; left out: the changesets of all.")] = "",
    limit: LimitOption = 20,
) -> Answer:
    """Show the versions of a document, or what changed anywhere, newest first.

    Example: lifelong documents history memory/people/mara
    """
    if document:
        versions = memory.documents.versions(document_path(document))[::-1][:limit]
        held = [
            (one.version, one.valid_from, one.valid_to or "now", one.changeset_id, one.title) for one in versions
        ]
        return Answer(versions, lambda: print_table(("version", "from", "until", "changeset", "title"), held, ""))
    changesets = memory.documents.changesets(limit)
    made = [(one.id, one.at, one.cause, one.author, one.organizer, one.note) for one in changesets]
    columns = ("changeset", "at", "cause", "author", "organizer", "what it did")
    return Answer(
        changesets, lambda: print_table(columns, made, "Nothing was organized yet. Run: lifelong organize")
    )


@command(documents)
def diff(
    memory: Memory,
    document: DocumentArgument,
    old: Annotated[int | None, typer.Argument(help="A version.", show_default="the last but one")] = None,
    new: Annotated[int | None, typer.Argument(help="A later one.", show_default="the last")] = None,
) -> Answer:
    """Show what changed between two versions of a document.

    Example: lifelong documents diff memory/people/mara 1 3
    """
    place = document_path(document)
    last = memory.documents.versions(place)[-1].version
    new = last if new is None else new
    old = max(1, new - 1) if old is None else old
    text = memory.documents.diff(place, old, new)

    def show() -> None:
        colours = {"+": ("green",), "-": ("red",), "@": ("cyan",)}
        for line in sanitize(text).splitlines() or ["The two versions are the same."]:
            sys.stdout.write(f"{styled(line, *colours.get(line[:1], ()))}\n")

    return Answer({"document": document, "old": old, "new": new, "diff": text}, show)


@command(documents)
def rollback(
    memory: Memory,
    changeset: Annotated[int | None, typer.Argument(help="The changeset to undo.", min=1)] = None,
    to: Annotated[datetime | None, time_option("--to", "Make all documents what they were then.")] = None,
) -> Answer:
    """Undo a changeset, or all since a time. That is a changeset too, so it can be undone.

    Example: lifelong documents rollback 12
    """
    if (changeset is None) == (to is None):
        raise typer.BadParameter("Name a changeset, or a time with --to")
    made = memory.documents.rollback_to(to) if to else memory.documents.rollback(changeset or 0)
    message = f"Undone by changeset {made.id}. {made.note}" if made else "There was nothing to undo."
    return Answer({"changeset": made}, lambda: print_done(message) if made else print_text(message))


@command(documents, during="Tidying the documents …")
def consolidate(
    memory: Memory,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
) -> Answer:
    """Tidy the documents: merge what stands twice, move what is misplaced, split long pages, delete empty ones.

    Example: lifelong documents consolidate --dry-run
    """
    result = memory.documents.consolidate(dry_run=dry_run)

    def show() -> None:
        print_text("\n".join((*result.steps, *result.left)) or result.reason or "There is nothing to tidy.")
        if result.changeset:
            sizes = f"{result.facts_before:,} facts are {result.facts_after:,} now"
            undo = f"lifelong documents rollback {result.changeset}"
            print_done(f"Done as changeset {result.changeset}: {sizes}. To undo it: {undo}")

    return Answer(result, show)


# The journal

journal = noun("journal", "The journal: show it, write to it, compact it.")

HIDDEN_SECRET = "[a secret; see MEMORY.md]"


@command(journal, "show")
def show_journal(
    memory: Memory,
    day: Annotated[datetime | None, time_option("--day", "Only this day.")] = None,
    long: Annotated[bool, typer.Option("--long", help="LONGMEMORY.md: what was compacted.")] = False,
    limit: LimitOption = 50,
) -> Answer:
    """Show the newest records of MEMORY.md, of a day, or LONGMEMORY.md.

    Example: lifelong journal show --day 2026-03-05
    """
    if long:
        text = memory.journal.long_memory()
        nothing = "Nothing was compacted yet. See: lifelong journal compact --help"
        return Answer({"long_memory": text}, lambda: print_text(text or nothing))
    found = memory.journal.day(day.date()) if day else memory.journal.records()
    records = [replace(one, text=HIDDEN_SECRET) if one.is_secret else one for one in found[-limit:]]
    cells = [(one.timestamp, one.category, one.text, one.sensitivity) for one in records]
    empty = 'Nothing is written there yet. See: lifelong journal remember "…"'
    return Answer(records, lambda: print_table(("at", "category", "text", "sensitivity"), cells, empty))


@command(journal, new=True)
def remember(
    memory: Memory,
    text: TextArgument = None,
    category: Annotated[str, typer.Option(help="What it is: note, learned, decision, user-preference …")] = "note",
    sensitivity: Annotated[Sensitivity, typer.Option(help="Who may see it.")] = "operational",
) -> Answer:
    """Write something to the journal.

    Example: lifelong journal remember "Deploys happen on Tuesdays." --category decision
    """
    record = memory.journal.remember(read_text(text), category, sensitivity, source_channel="cli")
    if record.is_secret:
        return Answer(
            replace(record, text=HIDDEN_SECRET), lambda: print_done("Written to the journal, marked as a secret.")
        )
    return Answer(record, lambda: print_done("Written to the journal."))


@command(journal, during="Compacting the journal …")
def compact(
    memory: Memory,
    force: Annotated[bool, typer.Option("--force", help="Even if it is within its limits.")] = False,
) -> Answer:
    """Merge the old records of MEMORY.md into LONGMEMORY.md. The archive keeps every word.

    Example: lifelong journal compact --force
    """
    result = memory.journal.compact(force=force)
    if not result.ran:
        why = f"Nothing was compacted: {result.reason}.".replace("..", ".")
        return Answer(result, lambda: print_text(why))
    message = (
        f"{result.compacted} of {result.records_before} records were compacted; MEMORY.md went from "
        f"{result.chars_before:,} to {result.chars_after:,} characters."
    )
    return Answer(result, lambda: print_done(message))


# Experiences and relations

experiences = noun("experiences", "What was learned once: list, search, add.")

EXPERIENCE_COLUMNS = ("score", "date", "category", "experience", "names")
NO_EXPERIENCE = (
    'There is none yet. Add one: lifelong experiences add "…", or let a worker find them in the journal.'
)


@command(experiences, "list")
def list_experiences(
    memory: Memory,
    category: Annotated[str, typer.Option(help="Only these.", show_default=False)] = "",
    session: Annotated[str, typer.Option(help="Only of this session.", show_default=False)] = "",
    since: SinceOption = None,
    limit: LimitOption = 20,
) -> Answer:
    """List experiences, the newest first.

    Example: lifelong experiences list --category decision
    """
    found = memory.experiences.list(category, session_id=session, since=since, limit=limit)
    cells = [(one.at, one.category, one.text, ", ".join(one.entities)) for one in found]
    return Answer(found, lambda: print_table(EXPERIENCE_COLUMNS[1:], cells, NO_EXPERIENCE))


@command(experiences)
def query(
    memory: Memory,
    question: Annotated[str, typer.Argument(help="What to look for, in your own words.")],
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="How many.", min=1, max=1000)] = 5,
    by: Annotated[Group | None, typer.Option(help="Group them by what they have in common.")] = None,
) -> Answer:
    """Find the experiences that answer a question.

    Example: lifelong experiences query "What went wrong with backups?" --by category
    """
    from lifelong.recall.experiences import grouped

    found = memory.experiences.query(question, top_k)
    groups = grouped(found, by) if by else {"": found}
    cells = [
        (name, f"{one.score:.2f}", one.at, one.category, one.text, ", ".join(one.entities))[0 if by else 1 :]
        for name, several in groups.items()
        for one in several
    ]

    def show() -> None:
        print_unknown(found)
        print_table((*([by] if by else []), *EXPERIENCE_COLUMNS), cells, NO_EXPERIENCE)

    return Answer(groups if by else found, show)


@command(experiences, "add", new=True)
def add_experience(
    memory: Memory,
    text: TextArgument = None,
    category: Annotated[str, typer.Option(help="What it is: note, learned, decision, user-preference …")] = "note",
    entity: Annotated[
        list[str] | None,
        typer.Option(help="Who or what it is about; may be repeated.", show_default="the names in it"),
    ] = None,
) -> Answer:
    """Add an experience. One that is known already, in other words too, is not added again.

    Example: lifelong experiences add "A full disk stops the nightly backup of Atlas."
    """
    from lifelong.recall.items import SHORT_ID

    made = memory.experiences.add(read_text(text), category, trust="user", entities=entity or None)
    message = f"Added as {made[:SHORT_ID]}." if made else "It is known already."
    return Answer({"id": made, "added": made is not None}, lambda: print_done(message))


@command(verbs)
def relations(
    memory: Memory,
    name: Annotated[str, typer.Argument(help="A person, project or thing; left out: all that are known.")] = "",
    limit: NeighbourLimit = 20,
    ended: Annotated[bool, typer.Option("--ended", help="Also what has stopped being true.")] = False,
) -> Answer:
    """Show who and what a person, project or thing is related to, and why.

    Example: lifelong relations Mara
    """
    if not name:
        known = memory.relations.entities(limit)
        nobody = "Nobody is known by name yet. Run: lifelong organize"
        return Answer(known, lambda: print_table(("known by name",), [(one,) for one in known], nobody))
    found = memory.relations.of(name, limit, ended=ended)
    near = f" Did you mean {', '.join(found.suggestions)}?" if found.suggestions else ""
    nothing = f"Nothing is related to {name!r}.{near}"
    cells = [
        (one.name, f"{one.weight:.1f}", ", ".join(one.how), "\n".join(hit.text for hit in one.evidence[:2]))
        for one in found.neighbours
    ]
    return Answer(found, lambda: print_table(("related to", "weight", "by", "evidence"), cells, nothing))


# Notes

notes = noun("notes", "What workers note from job to job: list, show, store, compact, restore.")

WorkerArgument = Annotated[str, typer.Argument(help="The worker's name.")]


@command(notes, "list")
def list_notes(memory: Memory) -> Answer:
    """List the workers that keep notes.

    Example: lifelong notes list
    """
    found = [{"worker": name, "bytes": memory.notes.worker(name).size()} for name in memory.notes.workers()]
    empty = 'No worker keeps notes yet. See: lifelong notes store tester suite "…"'
    return Answer(found, lambda: print_table(("worker", "bytes"), [tuple(one.values()) for one in found], empty))


@command(notes, "show")
def show_notes(memory: Memory, worker: WorkerArgument) -> Answer:
    """Show a worker's notes, the newest first, without secrets.

    Example: lifelong notes show tester
    """
    text = memory.notes.worker(worker).load()
    nothing = f"{worker} keeps no notes. See: lifelong notes list"
    return Answer({"worker": worker, "notes": text}, lambda: print_text(text or nothing))


@command(notes, new=True)
def store(
    memory: Memory,
    worker: WorkerArgument,
    key: Annotated[str, typer.Argument(help="The note's name. An earlier one of that name is replaced.")],
    text: TextArgument = None,
) -> Answer:
    """Keep a note for a worker.

    Example: lifelong notes store tester suite "The whole suite takes seven minutes."
    """
    memory.notes.worker(worker).store(key, read_text(text))
    return Answer({"worker": worker, "key": key}, lambda: print_done(f"{worker} keeps the note {key}."))


@command(notes, "compact", during="Compacting the notes …")
def compact_notes(
    memory: Memory,
    worker: WorkerArgument,
    force: Annotated[bool, typer.Option("--force", help="Even if there are not too many.")] = False,
) -> Answer:
    """Have a model write one note in place of a worker's notes, if there are too many. The archive keeps them.

    Example: lifelong notes compact tester
    """
    _check_worker(memory, worker)
    result = memory.notes.worker(worker).compact(force=force)
    if not result.ran:
        return Answer(result, lambda: print_text(f"Nothing was compacted: {result.reason.rstrip('.')}."))
    message = (
        f"{len(result.removed)} notes of {worker} were compacted, from {result.bytes_before:,} to "
        f"{result.bytes_after:,} bytes. To undo it: lifelong notes restore {worker}"
    )
    return Answer(result, lambda: print_done(message))


@command(notes, "restore")
def restore_notes(memory: Memory, worker: WorkerArgument) -> Answer:
    """Undo the last compaction of a worker's notes; called again, the one before. Newer notes stay as they are.

    Example: lifelong notes restore tester
    """
    _check_worker(memory, worker)
    back = memory.notes.worker(worker).restore()
    if not back:
        nothing = f"There is nothing to restore: no compaction of {worker}'s notes is left to undo."
        return Answer({"restored": []}, lambda: print_text(nothing))
    message = f"{worker} has these notes back: {', '.join(back)}."
    return Answer({"restored": list(back)}, lambda: print_done(message))


def _check_worker(memory: Memory, worker: str) -> None:
    if worker not in memory.notes.workers():
        raise InputError(f"{worker} keeps no notes. See: lifelong notes list")
