"""`lifelong agents`, `sessions` and `inbox`: who talks, what was said, and how far it has come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from lifelong.serve.cli.options import Answer, LimitOption, State, command, noun, several, the_agent
from lifelong.serve.cli.output import done, print_text, rows

if TYPE_CHECKING:
    from lifelong.memory import Memory

verbs = typer.Typer()
group = noun("sessions", "Sessions: list them, show what was said and what became of it.")
inbox = noun("inbox", "The queue of what is to be organized: list it, try again what failed.")

NOBODY = "There is none yet. See: lifelong append --help"


@command(verbs)
def agents(memory: Memory) -> Answer:
    """List the agents, the one heard from last first.

    Example: lifelong agents --json
    """
    found = memory.agents.list()
    cells = [(one.cache_key, one.state, one.active_at) for one in found]
    return Answer(found, lambda: rows(("agent", "state", "heard from"), cells, NOBODY))


@command(group, "list")
def list_(
    memory: Memory,
    agent: Annotated[str, typer.Option(help="Only of this agent.", show_default=False)] = "",
    limit: LimitOption = 20,
) -> Answer:
    """List sessions, the newest first.

    Example: lifelong sessions list --agent cli/mara/main
    """
    found = (
        memory.sessions.list(the_agent(memory, agent))[::-1][:limit] if agent else memory.sessions.recent(limit)
    )
    names = {one.id: one.cache_key for one in memory.agents.list()}
    cells = [
        (one.id, names.get(one.agent_id, one.agent_id), one.created_at, one.ended_at or "", one.processed_until)
        for one in found
    ]
    return Answer(found, lambda: rows(("session", "agent", "began", "ended", "organized until"), cells, NOBODY))


@command(group)
def show(
    memory: Memory,
    session: Annotated[str, typer.Argument(help="Its id; or an agent, for its newest one.")],
    after: Annotated[int, typer.Option(help="Only the records after this one.", min=0)] = 0,
) -> Answer:
    """Show what was said in a session, and how far each record has come.

    Example: lifelong sessions show cli/mara/main
    """
    from lifelong.errors import AgentNotFound, SessionNotFound

    try:
        whole = memory.sessions.list(the_agent(memory, session))[-1:]
    except AgentNotFound:
        whole = [memory.sessions.get(session)]
    if not whole:
        raise SessionNotFound(f"{session} has no session yet.")
    said, text = memory.sessions.history(whole[0], after), memory.sessions.transcript(whole[0], after)
    receipts = [memory.receipt(one.id) for one in said]

    def shown() -> None:
        print_text(text)
        cells = [(f"r{one.record_id}", one.stage, one.changeset_id, one.reason) for one in receipts]
        rows(("record", "stage", "changeset", "remark"), cells, "Nothing was said after that.")

    return Answer({"session": whole[0], "history": said, "receipts": receipts}, shown)


@command(inbox, "list")
def list_inbox(
    memory: Memory,
    state: Annotated[list[str] | None, several(State, "Only these; may be repeated.")] = None,
    limit: LimitOption = 20,
) -> Answer:
    """List what is on its way to be organized, or was, the newest first.

    Example: lifelong inbox list --state dead
    """
    found = memory.inbox.list(*cast("list[State]", state or []), limit=limit)
    cells = [
        (one.id, one.state, f"r{one.after + 1} to r{one.until}", one.attempts, one.created_at, one.error)
        for one in found
    ]
    columns = ("item", "state", "records", "attempts", "came in", "last error")
    return Answer(found, lambda: rows(columns, cells, "There is nothing in it. See: lifelong status"))


@command(inbox)
def retry(
    memory: Memory,
    item: Annotated[
        int | None, typer.Argument(help="One item; left out: all that failed for good.", min=1)
    ] = None,
) -> Answer:
    """Try again what failed. A worker takes it up.

    Example: lifelong inbox retry 7
    """
    count = memory.inbox.retry(item)
    told = f"{count} item(s) wait to be organized again. A worker takes them up: lifelong worker --once"
    return Answer({"retried": count}, lambda: done(told if count else "There was nothing to try again."))
