"""`lifelong review`: what agents wrote that waits for a person, and what you decide."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from lifelong.serve.cli.options import Answer, LimitOption, TextArgument, command, hint, noun, read_text, several
from lifelong.serve.terminal import one_line, print_done, print_text, styled

if TYPE_CHECKING:
    from lifelong.memory import Memory
    from lifelong.organize.review import Review

verbs = typer.Typer()
review = noun("review", "What agents wrote that waits for you: approve it, change it, refuse it.")

State = Literal["waiting", "approved", "refused"]

ReviewArgument = Annotated[str, typer.Argument(help="Its id, like v12.", metavar="ID")]
ByOption = Annotated[str, typer.Option("--by", help="Who decides.", show_default="the user", metavar="NAME")]

NOTHING = "Nothing waits for you."


@command(review, "list")
def list_reviews(
    memory: Memory,
    state: Annotated[list[str] | None, several(State, "In these states; may be repeated.")] = None,
    limit: LimitOption = 20,
) -> Answer:
    """List what waits, the newest first: what it says, why it waits, and who wrote it.

    Example: lifelong review list
    """
    found = memory.reviews.list(*cast("list[State]", state or []), limit=limit)
    next_step = hint("review approve", memory.home.path, memory.user)
    return Answer(found, lambda: _print_reviews(found, next_step))


def _print_reviews(found: list[Review], next_step: str) -> None:
    for one in found:
        decided = f", by {one.decided_by}" if one.decided_by else ""
        where = f"  {one.where}" if one.where else ""
        head = f"{one.at:%Y-%m-%d %H:%M}  {one.state}{decided}  from {one.author}"
        sys.stdout.write(f"{styled(one.id, 'bold', 'cyan')}  {one_line(head)}\n")
        said = f": {one_line(one.change)}" if one.change else ""
        what = f"forget {one.text}{said}" if one.kind == "forget" else one.change or one.text
        print_text("\n".join(f"  {line}" for line in what.splitlines()))
        sys.stdout.write(f"  {styled(one_line(f'{one.kind}{where}: {one.reason}'), 'dim')}\n")
    if not found:
        print_text(NOTHING)
    elif any(one.state == "waiting" for one in found):
        print_text(f"Approve with: {next_step} ID")


@command(review)
def approve(memory: Memory, item: ReviewArgument, by: ByOption = "") -> Answer:
    """Approve what waits: it is remembered from now on, as the agent's word that you approved.

    Example: lifelong review approve v1
    """
    done = memory.reviews.approve(item, by=by)
    forgotten = done.change or "It was forgotten."
    result = forgotten if done.kind == "forget" else "It is remembered from now on."
    return Answer(done, lambda: print_done(f"{done.id} is approved by {done.decided_by}. {result}"))


@command(review)
def edit(memory: Memory, item: ReviewArgument, text: TextArgument = None, by: ByOption = "") -> Answer:
    """Approve what waits in other words.

    Example: lifelong review edit v2 "Mara prefers trains to planes."
    """
    done = memory.reviews.edit(item, read_text(text), by=by)
    return Answer(done, lambda: print_done(f"{done.id} is approved by {done.decided_by}, in these words."))


@command(review)
def refuse(memory: Memory, item: ReviewArgument, by: ByOption = "") -> Answer:
    """Refuse what waits: it is not remembered, and the same is not asked again.

    Example: lifelong review refuse v3
    """
    done = memory.reviews.refuse(item, by=by)
    return Answer(done, lambda: print_done(f"{done.id} is refused by {done.decided_by}. It is not remembered."))
