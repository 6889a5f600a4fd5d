"""Commands that ask the memory, and those with which a person tends what it holds."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, cast

import typer

from lifelong.serve.cli.options import (
    Answer,
    AsOfOption,
    Kind,
    LimitOption,
    SinceOption,
    TextArgument,
    Verdict,
    command,
    given,
    several,
    the_agent,
    time_option,
)
from lifelong.serve.cli.output import console, done, hits, print_text

if TYPE_CHECKING:
    from lifelong.memory import Memory

verbs = typer.Typer()

ItemArgument = Annotated[
    str, typer.Argument(help="Its id, as `lifelong recall` and `list` show it.", metavar="ID")
]


@command(verbs)
def recall(
    memory: Memory,
    question: Annotated[str, typer.Argument(help="What to look for, in your own words.")],
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="How many hits.", min=1, max=1000)] = 5,
    kind: Annotated[list[str] | None, several(Kind, "Only these; may be repeated.")] = None,
    agent: Annotated[str, typer.Option(help="Only this agent's talks.", show_default=False)] = "",
    since: SinceOption = None,
    until: Annotated[datetime | None, time_option("--until", "What was said before then.")] = None,
    as_of: AsOfOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say what each score is made of.")] = False,
) -> Answer:
    """Find what is known about a question, with dates and sources.

    Example: lifelong recall "Where does Mara stay in Lisbon?" --explain
    """
    if not question.strip():
        raise typer.BadParameter("There is no question. Ask it in your own words")
    found = memory.search(
        question,
        top_k,
        agent=the_agent(memory, agent) if agent else None,
        kinds=cast("list[Kind]", kind or []),
        since=since,
        until=until,
        as_of=as_of,
        explain=explain,
    )
    advice = "" if found else _on_nothing(memory)
    return Answer(found, lambda: hits(found, advice, scores=True))


@command(verbs)
def context(
    memory: Memory,
    message: Annotated[str, typer.Argument(help="What the turn is about; '-': from standard input.")] = "",
    agent: Annotated[
        str, typer.Option(help="Whose next turn it is.", show_default="the person heard from last")
    ] = "",
    tokens: Annotated[int | None, typer.Option(help="The most tokens it may take.", min=0)] = None,
) -> Answer:
    """Print what to put before an agent's next turn: the journal, what is pinned, past experiences.

    Example: lifelong context "Plan the trip to Porto" --agent cli/mara/main
    """
    from lifelong.errors import AgentNotFound

    who = the_agent(memory, agent) if agent else memory.agents.find("most-recent-foreground")
    if who is None:
        raise AgentNotFound("Nobody has spoken in this user yet.")
    text = memory.context(given(message) if message else None, agent=who, tokens=tokens)
    nothing = "There is nothing to say yet. See: lifelong status"
    if tokens is not None:
        nothing = f"Nothing fits into {tokens:,} tokens, or there is nothing yet."
    answer = {"agent": who.cache_key, "context": text}
    return Answer(answer, lambda: print_text(text) if text else console().print(nothing))


@command(verbs, "list")
def list_(
    memory: Memory,
    kind: Annotated[Kind | None, typer.Option(help="Only these.")] = None,
    subject: Annotated[str | None, typer.Option(help="A name, or some words.", show_default=False)] = None,
    since: SinceOption = None,
    limit: LimitOption = 20,
    before: Annotated[
        str | None, typer.Option(help="Go on after this id.", metavar="ID", show_default=False)
    ] = None,
) -> Answer:
    """List everything that is remembered, what came last first.

    Example: lifelong list --kind document --subject Mara
    """
    found = memory.list(kind, subject, since, limit, before)
    return Answer(found, lambda: hits(found, "Nothing is remembered. See: lifelong append --help"))


@command(verbs)
def correct(memory: Memory, item: ItemArgument, text: TextArgument = None) -> Answer:
    """Say what is so instead of an item. Your word is found from now on; the item ends, and stays in history.

    Example: lifelong correct r12 "I live in Porto."
    """
    hit = memory.correct(item, given(text))
    return Answer(hit, lambda: done(f"{item} has ended. Found from now on: {hit.id}"))


@command(verbs)
def pin(
    memory: Memory,
    item: ItemArgument,
    remove: Annotated[bool, typer.Option("--remove", help="Take the pin off again.")] = False,
) -> Answer:
    """Have an item in every context from now on.

    Example: lifelong pin r12
    """
    (memory.unpin if remove else memory.pin)(item)
    told = f"{item} is {'no longer ' if remove else ''}in every context."
    return Answer({"id": item, "pinned": not remove}, lambda: done(told))


@command(verbs)
def feedback(
    memory: Memory, item: ItemArgument, verdict: Annotated[Verdict, typer.Argument(help="What it was.")]
) -> Answer:
    """Say that a hit was useful, wrong or outdated: it is found earlier or later from now on.

    Example: lifelong feedback r12 useful
    """
    memory.feedback(item, verdict)
    return Answer({"id": item, "verdict": verdict}, lambda: done(f"Noted: {item} was {verdict}."))


def _on_nothing(memory: Memory) -> str:
    """Why a question may have found nothing, and what to do."""
    if left := memory.admin.unindexed():
        return f"Nothing was found, but {left:,} records and items are not in the index yet. Run: lifelong worker"
    return "Nothing is known about that yet. Store turns with: lifelong append, or see: lifelong demo"
