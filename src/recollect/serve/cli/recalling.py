"""Commands that ask the memory, and those with which a person tends what it holds."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, cast

import typer

from recollect.serve.cli.options import (
    DEFAULT_HOME,
    DEFAULT_PROFILE,
    AsOfOption,
    HomeOption,
    JsonOption,
    Kind,
    LimitOption,
    ProfileOption,
    SinceOption,
    TextArgument,
    Verdict,
    existing,
    given,
    several,
    the_agent,
    time_option,
)
from recollect.serve.cli.output import console, done, print_json, print_text

if TYPE_CHECKING:
    from recollect.memory import Memory

verbs = typer.Typer()

ItemArgument = Annotated[
    str, typer.Argument(help="Its id, as `recollect recall` and `list` show it.", metavar="ID")
]


@verbs.command()
def recall(
    question: Annotated[str, typer.Argument(help="What to look for, in your own words.")],
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="How many hits.", min=1, max=1000)] = 5,
    kind: Annotated[list[str] | None, several(Kind, "Only these; may be repeated.")] = None,
    agent: Annotated[str, typer.Option(help="Only this agent's talks.", show_default=False)] = "",
    since: SinceOption = None,
    until: Annotated[datetime | None, time_option("--until", "What was said before then.")] = None,
    as_of: AsOfOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say what each score is made of.")] = False,
    home: HomeOption = DEFAULT_HOME,
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """Find what is known about a question, with dates and sources.

    Example: recollect recall "Where does Mara stay in Lisbon?" --explain
    """
    from recollect.serve.hits import listing

    if not question.strip():
        raise typer.BadParameter("There is no question. Ask it in your own words")
    with existing(home, profile) as memory:
        hits = memory.recall(
            question,
            top_k,
            agent=the_agent(memory, agent) if agent else None,
            kinds=cast("list[Kind]", kind or []),
            since=since,
            until=until,
            as_of=as_of,
            explain=explain,
        )
        advice = "" if hits else _on_nothing(memory)
    if as_json:
        print_json(hits)
    elif hits:
        listing(console(), hits, scores=True)
    else:
        console().print(advice)


@verbs.command()
def context(
    message: Annotated[str, typer.Argument(help="What the turn is about; '-': from standard input.")] = "",
    agent: Annotated[
        str, typer.Option(help="Whose next turn it is.", show_default="the person heard from last")
    ] = "",
    tokens: Annotated[int | None, typer.Option(help="The most tokens it may take.", min=0)] = None,
    home: HomeOption = DEFAULT_HOME,
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """Print what to put before an agent's next turn: the journal, what is pinned, past experiences.

    Example: recollect context "Plan the trip to Porto" --agent cli/mara/main
    """
    from recollect.errors import UnknownAgent

    with existing(home, profile) as memory:
        who = the_agent(memory, agent) if agent else memory.find_agent("most-recent-foreground")
        if who is None:
            raise UnknownAgent("Nobody has spoken in this profile yet.")
        text = memory.context(who, given(message) if message else None, tokens)
    if as_json:
        print_json({"agent": who.cache_key, "context": text})
    elif text:
        print_text(text)
    else:
        fits = "There is nothing to say yet. See: recollect status"
        console().print(
            fits if tokens is None else f"Nothing fits into {tokens:,} tokens, or there is nothing yet."
        )


@verbs.command(name="list")
def list_(
    kind: Annotated[Kind | None, typer.Option(help="Only these.")] = None,
    subject: Annotated[str | None, typer.Option(help="A name, or some words.", show_default=False)] = None,
    since: SinceOption = None,
    limit: LimitOption = 20,
    before: Annotated[
        str | None, typer.Option(help="Go on after this id.", metavar="ID", show_default=False)
    ] = None,
    home: HomeOption = DEFAULT_HOME,
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """List everything that is remembered, what came last first.

    Example: recollect list --kind document --subject Mara
    """
    from recollect.serve.hits import listing

    with existing(home, profile) as memory:
        hits = memory.list(kind, subject, since, limit, before)
    if as_json:
        print_json(hits)
        return
    if not hits:
        console().print("Nothing is remembered. See: recollect append --help")
    listing(console(), hits)


@verbs.command()
def correct(
    item: ItemArgument,
    text: TextArgument = None,
    home: HomeOption = DEFAULT_HOME,
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """Say what is so instead of an item. Your word is found from now on; the item ends, and stays in history.

    Example: recollect correct turn:12 "I live in Porto."
    """
    with existing(home, profile) as memory:
        hit = memory.correct(item, given(text))
    if as_json:
        print_json(hit)
    else:
        done(f"{item} has ended. Found from now on: {hit.id}")


@verbs.command()
def pin(
    item: ItemArgument,
    remove: Annotated[bool, typer.Option("--remove", help="Take the pin off again.")] = False,
    home: HomeOption = DEFAULT_HOME,
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """Have an item in every context from now on.

    Example: recollect pin turn:12
    """
    with existing(home, profile) as memory:
        (memory.unpin if remove else memory.pin)(item)
    if as_json:
        print_json({"id": item, "pinned": not remove})
    else:
        done(f"{item} is {'no longer ' if remove else ''}in every context.")


@verbs.command()
def feedback(
    item: ItemArgument,
    verdict: Annotated[Verdict, typer.Argument(help="What it was.")],
    home: HomeOption = DEFAULT_HOME,
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """Say that a hit was useful, wrong or outdated: it is found earlier or later from now on.

    Example: recollect feedback turn:12 useful
    """
    with existing(home, profile) as memory:
        memory.feedback(item, verdict)
    if as_json:
        print_json({"id": item, "verdict": verdict})
    else:
        done(f"Noted: {item} was {verdict}.")


def _on_nothing(memory: Memory) -> str:
    """Why a question may have found nothing, and what to do."""
    if left := memory.unindexed():
        return f"Nothing was found, but {left:,} records and items are not in the index yet. Run: recollect worker"
    return "Nothing is known about that yet. Store turns with: recollect append, or see: recollect demo"
