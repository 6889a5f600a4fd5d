"""`recollect agents`, `sessions` and `inbox`: who talks, what was said, and how far it has come."""

from __future__ import annotations

from typing import Annotated, cast

import typer

from recollect.serve.cli.options import (
    DEFAULT_HOME,
    DEFAULT_PROFILE,
    HomeOption,
    JsonOption,
    LimitOption,
    ProfileOption,
    State,
    existing,
    noun,
    several,
    the_agent,
)
from recollect.serve.cli.output import done, print_json, print_text, rows

verbs = typer.Typer()
group = noun("sessions", "Sessions: list them, show what was said and what became of it.")
inbox = noun("inbox", "The queue of what is to be organized: list it, try again what failed.")


@verbs.command()
def agents(
    home: HomeOption = DEFAULT_HOME, profile: ProfileOption = DEFAULT_PROFILE, as_json: JsonOption = False
) -> None:
    """List the agents, the one heard from last first.

    Example: recollect agents --json
    """
    with existing(home, profile) as memory:
        found = memory.agents()
    if as_json:
        print_json(found)
    else:
        cells = [(one.cache_key, one.state, one.active_at) for one in found]
        rows(("agent", "state", "heard from"), cells, "There is none yet. See: recollect append --help")


@group.command(name="list")
def list_(
    agent: Annotated[str, typer.Option(help="Only of this agent.", show_default=False)] = "",
    limit: LimitOption = 20,
    home: HomeOption = DEFAULT_HOME,
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """List sessions, the newest first.

    Example: recollect sessions list --agent cli/mara/main
    """
    with existing(home, profile) as memory:
        found = memory.sessions(the_agent(memory, agent))[::-1][:limit] if agent else memory.recent_sessions(limit)
        names = {one.id: one.cache_key for one in memory.agents()}
    if as_json:
        print_json(found)
        return
    cells = [
        (one.id, names.get(one.agent_id, one.agent_id), one.created_at, one.ended_at or "", one.processed_until)
        for one in found
    ]
    columns = ("session", "agent", "began", "ended", "organized until")
    rows(columns, cells, "There is none yet. See: recollect append --help")


@group.command()
def show(
    session: Annotated[str, typer.Argument(help="Its id; or an agent, for its newest one.")],
    after: Annotated[int, typer.Option(help="Only the records after this one.", min=0)] = 0,
    home: HomeOption = DEFAULT_HOME,
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """Show what was said in a session, and how far each record has come.

    Example: recollect sessions show cli/mara/main
    """
    from recollect.errors import UnknownAgent, UnknownSession

    with existing(home, profile) as memory:
        try:
            whole = memory.sessions(the_agent(memory, session))[-1:]
        except UnknownAgent:
            whole = [memory.session(session)]
        if not whole:
            raise UnknownSession(f"{session} has no session yet.")
        said = memory.history(whole[0], after)
        receipts = [memory.receipt(one.id) for one in said]
        text = "" if as_json else memory.transcript(whole[0], after)
    if as_json:
        print_json({"session": whole[0], "history": said, "receipts": receipts})
        return
    print_text(text)
    cells = [(f"r{one.record_id}", one.stage, one.changeset_id, one.reason) for one in receipts]
    rows(("record", "stage", "changeset", "remark"), cells, "Nothing was said after that.")


@inbox.command(name="list")
def list_inbox(
    state: Annotated[list[str] | None, several(State, "Only these; may be repeated.")] = None,
    limit: LimitOption = 20,
    home: HomeOption = DEFAULT_HOME,
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """List what is on its way to be organized, or was, the newest first.

    Example: recollect inbox list --state dead
    """
    with existing(home, profile) as memory:
        found = memory.inbox(*cast("list[State]", state or []), limit=limit)
    if as_json:
        print_json(found)
        return
    cells = [
        (one.id, one.state, f"r{one.after + 1} to r{one.until}", one.attempts, one.created_at, one.error)
        for one in found
    ]
    columns = ("item", "state", "records", "attempts", "came in", "last error")
    rows(columns, cells, "There is nothing in it. See: recollect status")


@inbox.command()
def retry(
    item: Annotated[
        int | None, typer.Argument(help="One item; left out: all that failed for good.", min=1)
    ] = None,
    home: HomeOption = DEFAULT_HOME,
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """Try again what failed. A worker takes it up.

    Example: recollect inbox retry 7
    """
    with existing(home, profile) as memory:
        count = memory.retry(item)
    if as_json:
        print_json({"retried": count})
    elif count:
        done(f"{count} item(s) wait to be organized again. A worker takes them up: recollect worker --once")
    else:
        done("There was nothing to try again.")
