"""The sessions, and each one's records with how far they have come."""

from __future__ import annotations

import json
from dataclasses import dataclass

from starlette.responses import Response

from lifelong.memory import Memory
from lifelong.organize.health import Receipt
from lifelong.serve.page.context import Visit, called
from lifelong.types import Agent, Session, StoredRecord, ToolCall

LISTED = 60
RECORDS = 100
BEFORE = 20  # ids before a record that are shown with it, as far as they are of its session


@dataclass(frozen=True, slots=True)
class Said:
    """A record as it is shown. `text` is a tool call's arguments, where it is one."""

    recorded: StoredRecord
    who: str
    text: str
    receipt: Receipt


def sessions(visit: Visit) -> Response:
    """The newest by agent, or the one that is asked for."""
    memory = visit.memory
    if chosen := visit.text("id"):
        return _session(visit, memory.sessions.get(chosen))
    found = memory.sessions.recent(LISTED + 1, visit.text("before") or None)
    groups: dict[str, list[Session]] = {}
    for one in found[:LISTED]:
        groups.setdefault(one.agent_id, []).append(one)
    agents = [(_agent(memory, agent_id), some) for agent_id, some in groups.items()]
    return visit.show("sessions.html", agents=agents, more=found[LISTED - 1].id if len(found) > LISTED else "")


def record(visit: Visit) -> Response:
    """To a record where it stands in its session."""
    chosen = visit.number("id")
    receipt = visit.memory.receipt(chosen)
    return visit.go("/sessions", anchor=f"r{chosen}", id=receipt.session_id, after=max(0, chosen - BEFORE))


def _session(visit: Visit, session: Session) -> Response:
    memory, after = visit.memory, visit.number("after")
    found = memory.sessions.history(session, after)
    records = [_said(memory, one) for one in found[:RECORDS]]
    return visit.show(
        "session.html",
        session=session,
        agent=_agent(memory, session.agent_id),
        records=records,
        after=after,
        whole=visit.number("whole"),
        more=records[-1].recorded.id if len(found) > RECORDS else 0,
    )


def _said(memory: Memory, recorded: StoredRecord) -> Said:
    said = recorded.record
    receipt = memory.receipt(recorded.id)
    if isinstance(said, ToolCall):
        return Said(recorded, said.name, json.dumps(said.arguments, indent=2, ensure_ascii=False), receipt)
    who = getattr(said, "speaker", "") or getattr(said, "name", "")
    return Said(recorded, who, said.text, receipt)


def _agent(memory: Memory, agent_id: str) -> tuple[Agent, str]:
    agent = memory.agents.get(agent_id)
    return agent, called(agent)
