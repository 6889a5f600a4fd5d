"""How agents fall asleep, wake and die. Deadlines are stored, so any process can act on them.

An append to an active agent does not move its deadline: that would be a second write for each record.
`sleep_due` is the earliest time to look; `advance` looks then at what was really heard last, and either
puts the agent to sleep or moves the deadline to where it belongs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial

from lifelong.collect.agents import AgentRow, Agents
from lifelong.collect.descriptors import is_mortal
from lifelong.collect.history import History
from lifelong.collect.sessions import Sessions
from lifelong.errors import TEMPORARY_ERRORS, LifelongError
from lifelong.storage.base import Database, Transaction
from lifelong.types import AgentState, LifecycleResult

log = logging.getLogger("lifelong.collect")

_PAGE_AGENTS = 100


class Lifecycle:
    """Move the agents of a home between active, sleeping and dead. `is_busy` says whether an agent's inbox holds
    work: such an agent stays awake."""

    def __init__(
        self,
        database: Database,
        *,
        idle_after: timedelta,
        dead_after: timedelta,
        is_busy: Callable[[Transaction, str], bool] = lambda tx, agent_id: False,
    ) -> None:
        self._database = database
        self._is_busy = is_busy
        self._idle_after = idle_after
        self._dead_after = dead_after
        self.error = ""

    def sleep_due(self, now: datetime) -> datetime:
        """Return when an agent that is active now may fall asleep."""
        return now + self._idle_after

    def wake(self, tx: Transaction, agent: AgentRow, now: datetime) -> None:
        """Wake a sleeping agent because a message came: it no longer dies, and may sleep again after the
        idle time."""
        if agent.state == "sleeping":
            Agents(tx).set_active(agent.id, now, self.sleep_due(now))

    def touch(self, tx: Transaction, agent: AgentRow, now: datetime) -> None:
        """Keep an active agent active, because something other than a message happened."""
        if agent.state == "active":
            Agents(tx).set_active(agent.id, now, self.sleep_due(now))

    def end_session(self, owner: str, agent_id: str, now: datetime) -> None:
        """Put the agent to sleep now, mark what it has not had organized, and end its session: the next message
        opens another one. A session in which nothing was said yet, as after a reset, stays for that message. An
        agent that only fell asleep goes on with its session."""

        def work(tx: Transaction) -> None:
            agent = Agents(tx).get_for_update(owner, agent_id)
            if agent.state == "active":
                self._fall_asleep(tx, agent, now)
            session = Sessions(tx).active(agent.id)
            if session and History(tx).max_id(session.id) is not None:
                Sessions(tx).end(session.id, now)

        self._database.write(work)

    def advance(self, now: datetime, owner: str | None = None) -> LifecycleResult:
        """Act on every deadline of the home that has come, each in a short transaction, and return what became of
        this owner's agents, or of all. Agents that cannot be moved on are left as they are, and named in the log
        and in `error`; a database that is busy, full or unreachable stops the call."""
        reached: dict[AgentState, list[str]] = {"sleeping": [], "dead": []}
        failed: list[str] = []
        for agent_id in self._due(now):
            try:
                agent = self._database.write(partial(self._step, agent_id=agent_id, now=now))
            except TEMPORARY_ERRORS:
                raise
            except LifelongError as error:
                failed.append(f"agent {agent_id}: {error}")
                continue
            if agent and owner in (None, agent.owner):
                reached[agent.state].append(agent.id)
        self.error = ""
        if failed:
            self.error = f"{len(failed)} agent(s) could not be put to sleep, and are tried again. See the log."
            log.error(
                "%d agent(s) could not be moved on and stay as they are; the first: %s", len(failed), failed[0]
            )
        return LifecycleResult(tuple(reached["sleeping"]), tuple(reached["dead"]))

    def _due(self, now: datetime) -> Iterator[str]:
        """Yield the ids of the agents whose deadline has come, a page at a time."""
        last = ""
        while page := self._due_after(last, now):
            yield from page
            last = page[-1]

    def _due_after(self, last: str, now: datetime) -> list[str]:
        return self._database.read(lambda tx: Agents(tx).due(now, last, _PAGE_AGENTS))

    def _step(self, tx: Transaction, agent_id: str, now: datetime) -> AgentRow | None:
        """Return the agent if its state changed. Its row is locked first, then read."""
        agent = Agents(tx).lock([agent_id]).get(agent_id)
        if agent is None:
            return None
        due = Agents(tx).deadlines(agent_id)
        if due.death_due and due.death_due <= now:
            return self._die(tx, agent, now)
        if due.sleep_due and due.sleep_due <= now:
            sleep_due = self.sleep_due(self._heard_last(tx, agent, due.active_at))
            if self._is_busy(tx, agent_id):
                sleep_due = self.sleep_due(now)
            if sleep_due <= now:
                return self._fall_asleep(tx, agent, now)
            Agents(tx).postpone_sleep(agent_id, sleep_due)
        return None

    def _heard_last(self, tx: Transaction, agent: AgentRow, active_at: datetime) -> datetime:
        session = Sessions(tx).active(agent.id)
        recorded_at = session and History(tx).last_recorded_at(session.id)
        return max(active_at, recorded_at or active_at)

    def _fall_asleep(self, tx: Transaction, agent: AgentRow, now: datetime) -> AgentRow:
        session = Sessions(tx).active(agent.id)
        if session and (newest := History(tx).max_id(session.id)):
            Sessions(tx).mark([(agent, session.id, newest)])
        Agents(tx).set_sleeping(agent.id, now + self._dead_after if is_mortal(agent.kind) else None)
        return agent._replace(state="sleeping")

    def _die(self, tx: Transaction, agent: AgentRow, now: datetime) -> AgentRow:
        if session := Sessions(tx).active(agent.id):
            Sessions(tx).end(session.id, now)
        Agents(tx).set_dead(agent.id)
        return agent._replace(state="dead")
