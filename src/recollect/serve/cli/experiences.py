"""`recollect experiences` and `recollect relations`: what was learned once, and who and what belongs together."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.serve.cli.options import (
    DEFAULT_HOME,
    DEFAULT_PROFILE,
    Group,
    HomeOption,
    JsonOption,
    LimitOption,
    ProfileOption,
    SinceOption,
    TextArgument,
    existing,
    given,
    noun,
)
from recollect.serve.cli.output import done, print_json, rows

verbs = typer.Typer()
group = noun("experiences", "Experiences: list them, ask them, tell one.")

COLUMNS = ("score", "told on", "category", "experience", "names")
EMPTY = 'There is none yet. Tell one: recollect experiences add "…", or let a worker find them in the journal.'


@group.command(name="list")
def list_(
    category: Annotated[str, typer.Option(help="Only these.", show_default=False)] = "",
    session: Annotated[str, typer.Option(help="Only of this session.", show_default=False)] = "",
    since: SinceOption = None,
    limit: LimitOption = 20,
    home: HomeOption = DEFAULT_HOME,
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """List experiences, the newest first.

    Example: recollect experiences list --category decision
    """
    with existing(home, profile) as memory:
        found = memory.experiences.list(category, session_id=session, since=since, limit=limit)
    if as_json:
        print_json(found)
    else:
        cells = [(one.at, one.category, one.text, ", ".join(one.entities)) for one in found]
        rows(COLUMNS[1:], cells, EMPTY)


@group.command()
def query(
    question: Annotated[str, typer.Argument(help="What to look for, in your own words.")],
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="How many.", min=1, max=1000)] = 5,
    by: Annotated[Group | None, typer.Option(help="Group them by what they have in common.")] = None,
    home: HomeOption = DEFAULT_HOME,
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """Find the experiences that answer a question.

    Example: recollect experiences query "What went wrong with backups?" --by category
    """
    from recollect.recall.experiences import grouped

    with existing(home, profile) as memory:
        found = memory.experiences.query(question, top_k)
    groups = grouped(found, by) if by else {"": found}
    if as_json:
        print_json(groups if by else found)
        return
    cells = [
        (name, f"{one.score:.2f}", one.at, one.category, one.text, ", ".join(one.entities))[0 if by else 1 :]
        for name, several in groups.items()
        for one in several
    ]
    rows((*([by] if by else []), *COLUMNS), cells, EMPTY)


@group.command()
def add(
    text: TextArgument = None,
    category: Annotated[str, typer.Option(help="What it is: note, learned, decision, user-preference …")] = "note",
    entity: Annotated[
        list[str] | None,
        typer.Option(help="Whom or what it names; may be repeated.", show_default="the names in it"),
    ] = None,
    home: HomeOption = DEFAULT_HOME,
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """Tell an experience. One that is there already, in whichever words, is not added again.

    Example: recollect experiences add "A full disk stops the nightly backup of Atlas."
    """
    with existing(home, profile, new=True) as memory:
        made = memory.experiences.add(given(text), category, trust="user", entities=entity or None)
    if as_json:
        print_json({"id": made, "added": made is not None})
    else:
        done(f"Added as experience:{made}." if made else "It is there already.")


@verbs.command()
def relations(
    name: Annotated[str, typer.Argument(help="Somebody or something; left out: all that are known by name.")] = "",
    limit: LimitOption = 20,
    ended: Annotated[bool, typer.Option("--ended", help="Also what has stopped being true.")] = False,
    home: HomeOption = DEFAULT_HOME,
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """Show whom and what somebody or something is related to, and what says so.

    Example: recollect relations Mara
    """
    with existing(home, profile) as memory:
        known = [] if name else memory.entities(limit)
        found = memory.relations(name, limit, ended=ended) if name else None
    if as_json:
        print_json(found or known)
    elif found is None:
        rows(
            ("known by name",),
            [(one,) for one in known],
            "Nobody is known by name yet. Run: recollect worker --once",
        )
    else:
        near = f" Did you mean {', '.join(found.suggestions)}?" if found.suggestions else ""
        cells = [
            (one.name, f"{one.weight:.1f}", ", ".join(one.how), "\n".join(hit.text for hit in one.evidence[:2]))
            for one in found.neighbours
        ]
        rows(("related to", "weight", "by", "what says so"), cells, f"Nothing is related to {name!r}.{near}")
