"""Agents, and what is said to them."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool

from lifelong import types
from lifelong.collect.descriptors import Strategy
from lifelong.serve.http import models
from lifelong.serve.http.params import AskedMemory
from lifelong.types import Session, Turn

agents = APIRouter(prefix="/agents", tags=["agents"])
turns = APIRouter(prefix="/agents/{agent_id}", tags=["turns"])


@agents.post("", response_model=models.Agent)
def make_agent(descriptor: models.Descriptor, memory: AskedMemory) -> types.Agent:
    """The one agent of this descriptor, made on first use. A user begins with its first agent."""
    described = models.descriptor_of(descriptor)
    return memory(new=True).agent(described)


@agents.get("", response_model=list[models.Agent])
def list_agents(memory: AskedMemory) -> list[types.Agent]:
    """Every agent of the user, the one heard from last first."""
    return memory().agents.list()


@agents.get("/find", response_model=models.Agent | None)
def find_agent(memory: AskedMemory, strategy: Strategy = "most-recent-foreground") -> types.Agent | None:
    """The agent heard from last of those the strategy matches; null where there is none."""
    return memory().agents.find(strategy)


@agents.get("/{agent_id}", response_model=models.Agent)
def get_agent(agent_id: str, memory: AskedMemory) -> types.Agent:
    """The agent as it is now."""
    return memory().agents.get(agent_id)


@agents.get("/{agent_id}/sessions")
def list_agent_sessions(agent_id: str, memory: AskedMemory) -> list[Session]:
    """Every session of the agent, oldest first, the active one last."""
    return memory().sessions.list(agent_id)


@agents.post("/{agent_id}/sleep", status_code=204)
def put_agent_to_sleep(agent_id: str, memory: AskedMemory) -> None:
    """Put the agent to sleep now, and mark its session, so that it is organized."""
    memory().end_session(agent_id)


@agents.post("/{agent_id}/reset")
def reset_agent(agent_id: str, reset: models.Reset, memory: AskedMemory) -> Session:
    """End the agent's session, mark it, and open a new one, which is the answer."""
    return memory().sessions.reset(agent_id, reset.message, emergency=reset.emergency)


@agents.post("/{agent_id}/compact-context")
def compact_context(agent_id: str, summary: models.Summary, memory: AskedMemory) -> Session:
    """Like reset, with a summary of what came before as the new session's first record."""
    return memory().sessions.compact_context(agent_id, summary.summary)


@agents.post("/{agent_id}/end-turn")
def end_turn(agent_id: str, memory: AskedMemory) -> Turn | None:
    """Say that the agent's turn is over. Gives the records of the turn, or null where there are none."""
    return memory().end_turn(agent_id)


# Awaited by hand: FastAPI would go to a thread a second time for the answer, and this is what is called most.


@turns.post("/turns", status_code=201)
async def append_turn(agent_id: str, turn: models.Append, memory: AskedMemory) -> models.Stored:
    """Store what was said. When this answers, it is durable. A retry with the same `key` stores nothing new."""

    def append() -> int:
        return memory().append(agent_id, models.record_of(turn.record), key=turn.key)

    return models.Stored(id=await run_in_threadpool(append))


@turns.post("/turns/batch", status_code=201)
def append_turns(agent_id: str, batch: models.AppendMany, memory: AskedMemory) -> models.StoredMany:
    """Store several records in order, all or none."""
    records = [models.record_of(turn.record) for turn in batch.turns]
    return models.StoredMany(ids=memory().append_many(agent_id, records, keys=[turn.key for turn in batch.turns]))
