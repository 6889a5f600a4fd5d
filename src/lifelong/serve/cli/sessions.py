"""`lifelong agents`, `sessions` and `inbox`: who talks, what was said, and how far each record has come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from lifelong.errors import InputError
from lifelong.serve.cli.options import (
    Answer,
    LimitOption,
    State,
    address,
    command,
    find_agent,
    hint,
    noun,
    several,
)
from lifelong.serve.terminal import counted, print_done, print_table, print_text

if TYPE_CHECKING:
    from lifelong.memory import Memory

verbs = typer.Typer()
sessions = noun("sessions", "Conversations: list them, show one and what became of it.")
inbox = noun("inbox", "What is queued to be organized: list it, retry what failed, release what a worker holds.")

NONE_YET = "There is none yet. See: lifelong add --help"


@command(verbs)
def agents(
    memory: Memory,
    every: Annotated[bool, typer.Option("--all", help="Also memory-agents, which organize the others.")] = False,
) -> Answer:
    """List the agents, the one heard from last first.

    Example: lifelong agents --json
    """
    from lifelong.collect.descriptors import is_organized  # help does not need it

    found = [one for one in memory.agents.list() if every or is_organized(one.descriptor.kind)]
    cells = [(address(one.cache_key), one.state, one.active_at) for one in found]
    return Answer(found, lambda: print_table(("agent", "state", "heard from"), cells, NONE_YET))


@command(sessions, "list")
def list_(
    memory: Memory,
    agent: Annotated[str, typer.Option(help="Only of this agent.", show_default=False)] = "",
    limit: LimitOption = 20,
) -> Answer:
    """List sessions, the newest first.

    Example: lifelong sessions list --agent cli/mara/main
    """
    found = (
        memory.sessions.list(find_agent(memory, agent))[::-1][:limit] if agent else memory.sessions.recent(limit)
    )
    names = {one.id: address(one.cache_key) for one in memory.agents.list()}
    cells = [
        (one.id, names.get(one.agent_id, one.agent_id), one.created_at, one.ended_at or "", one.processed_until)
        for one in found
    ]
    return Answer(
        found, lambda: print_table(("session", "agent", "began", "ended", "organized until"), cells, NONE_YET)
    )


@command(sessions)
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
        found = memory.sessions.list(find_agent(memory, session))[-1:]
    except AgentNotFound:
        found = [memory.sessions.get(session)]
    if not found:
        raise SessionNotFound(f"{session} has no session yet.")
    records, text = memory.sessions.history(found[0], after), memory.sessions.transcript(found[0], after)
    receipts = [memory.receipt(one.id) for one in records]

    def show_both() -> None:
        print_text(text)
        cells = [
            (f"r{one.record_id}", one.stage, one.changeset_id, " ".join((one.reason, *one.notes)).strip())
            for one in receipts
        ]
        print_table(("record", "stage", "changeset", "remark"), cells, "Nothing was said after that.")

    return Answer({"session": found[0], "history": records, "receipts": receipts}, show_both)


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
    cells = [(one.id, one.state, f"r{one.until}", one.attempts, one.created_at, one.error) for one in found]
    columns = ("item", "state", "up to", "attempts", "came in", "last error")
    return Answer(found, lambda: print_table(columns, cells, "There is nothing in it. See: lifelong health"))


@command(inbox)
def retry(
    memory: Memory,
    item: Annotated[
        int | None, typer.Argument(help="One item; left out: all that failed for good.", min=1)
    ] = None,
) -> Answer:
    """Try again what failed to be organized.

    Example: lifelong inbox retry 7
    """
    count = memory.inbox.retry(item)
    next_step = hint("organize", memory.home.path, memory.user)
    message = (
        f"{counted(count, 'transcript')} wait{'s' if count == 1 else ''} to be organized again. Run: {next_step}"
    )
    return Answer({"retried": count}, lambda: print_done(message if count else "There was nothing to try again."))


@command(inbox)
def release(
    memory: Memory,
    item: Annotated[int | None, typer.Argument(help="One item.", min=1)] = None,
    every: Annotated[bool, typer.Option("--all", help="Every item that a worker holds.")] = False,
) -> Answer:
    """Take an item from a worker that is stuck or gone, so that another organizes it.

    Nothing is lost: what the worker still does with it is discarded. Otherwise it is free when its lease ends.

    Example: lifelong inbox release 7
    """
    if (item is None) != every:
        raise InputError("Name one item, or --all. See: lifelong inbox list --state leased")
    count = memory.inbox.release(item)
    next_step = hint("organize", memory.home.path, memory.user)
    message = f"{counted(count, 'transcript')} {'was' if count == 1 else 'were'} released. Run: {next_step}"
    return Answer({"released": count}, lambda: print_done(message if count else "No worker held it."))
