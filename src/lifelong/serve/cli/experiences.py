"""`lifelong experiences` and `lifelong relations`: what was learned once, and who and what belongs together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lifelong.serve.cli.options import (
    Answer,
    Group,
    LimitOption,
    SinceOption,
    TextArgument,
    command,
    given,
    noun,
)
from lifelong.serve.cli.output import done, rows

if TYPE_CHECKING:
    from lifelong.memory import Memory

verbs = typer.Typer()
group = noun("experiences", "Experiences: list them, ask them, tell one.")

COLUMNS = ("score", "told on", "category", "experience", "names")
EMPTY = 'There is none yet. Tell one: lifelong experiences add "…", or let a worker find them in the journal.'


@command(group, "list")
def list_(
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
    return Answer(found, lambda: rows(COLUMNS[1:], cells, EMPTY))


@command(group)
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
    return Answer(groups if by else found, lambda: rows((*([by] if by else []), *COLUMNS), cells, EMPTY))


@command(group, new=True)
def add(
    memory: Memory,
    text: TextArgument = None,
    category: Annotated[str, typer.Option(help="What it is: note, learned, decision, user-preference …")] = "note",
    entity: Annotated[
        list[str] | None,
        typer.Option(help="Whom or what it names; may be repeated.", show_default="the names in it"),
    ] = None,
) -> Answer:
    """Tell an experience. One that is there already, in whichever words, is not added again.

    Example: lifelong experiences add "A full disk stops the nightly backup of Atlas."
    """
    from lifelong.recall.items import SHORT_ID

    made = memory.experiences.add(given(text), category, trust="user", entities=entity or None)
    told = f"Added as {made[:SHORT_ID]}." if made else "It is there already."
    return Answer({"id": made, "added": made is not None}, lambda: done(told))


@command(verbs)
def relations(
    memory: Memory,
    name: Annotated[str, typer.Argument(help="Somebody or something; left out: all that are known by name.")] = "",
    limit: LimitOption = 20,
    ended: Annotated[bool, typer.Option("--ended", help="Also what has stopped being true.")] = False,
) -> Answer:
    """Show whom and what somebody or something is related to, and what says so.

    Example: lifelong relations Mara
    """
    if not name:
        known, nobody = (
            memory.relations.entities(limit),
            "Nobody is known by name yet. Run: lifelong worker --once",
        )
        return Answer(known, lambda: rows(("known by name",), [(one,) for one in known], nobody))
    found = memory.relations.of(name, limit, ended=ended)
    near = f" Did you mean {', '.join(found.suggestions)}?" if found.suggestions else ""
    nothing = f"Nothing is related to {name!r}.{near}"
    cells = [
        (one.name, f"{one.weight:.1f}", ", ".join(one.how), "\n".join(hit.text for hit in one.evidence[:2]))
        for one in found.neighbours
    ]
    return Answer(found, lambda: rows(("related to", "weight", "by", "what says so"), cells, nothing))
