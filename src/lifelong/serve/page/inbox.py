"""The inbox: what is on its way to the memory-agents, what failed, and how it is tried again."""

from __future__ import annotations

from typing import cast, get_args

from starlette.responses import Response

from lifelong.serve.page.context import Visit, called
from lifelong.types import ItemState

LISTED = 100
STATES: tuple[ItemState, ...] = get_args(ItemState)


def inbox(visit: Visit) -> Response:
    state = visit.text("state")
    states = (cast(ItemState, state),) if state else ()
    found = visit.memory.inbox.list(*states, limit=visit.until(LISTED))
    counts = visit.memory.inbox.counts()
    part = visit.part(found, LISTED, sum(counts.get(one, 0) for one in states or STATES))
    memory = visit.memory
    sessions = {one.session_id for one in part.shown}
    who = {session: called(memory.agents.get(memory.sessions.get(session).agent_id)) for session in sessions}
    return visit.show("inbox.html", state=state, states=STATES, counts=counts, part=part, who=who)


def retry(visit: Visit) -> Response:
    """One item, or every one that failed for good."""
    retried = visit.memory.inbox.retry(visit.number("id") or None)
    return visit.go("/inbox", said="retried" if retried else "none")
