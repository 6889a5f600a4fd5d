"""The rows of `agents`: one a descriptor and owner. The agent's row is what its writers take first."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache

from recollect.collect.descriptors import Descriptor, cache_key, decode, encode, source_agent
from recollect.errors import AgentDead, UnknownAgent
from recollect.storage.base import Row, Transaction
from recollect.types import Agent, micros, moment, new_id, optional_moment

_COLUMNS = "id, owner, cache_key, descriptor, state, created_at, active_at, sleep_due, death_due"


class Agents:
    """`agents`, seen through a transaction."""

    __slots__ = ("_tx",)

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def resolve(self, owner: str, descriptor: Descriptor, now: datetime, sleep_due: datetime) -> Agent:
        """The one agent of this descriptor, made on first use. Racers get the same one. What is not part
        of the key (a name, a prompt) is brought up to date. A memory-agent belongs to the owner of its
        source agent, which must exist and be this owner's."""
        text, key = encode(descriptor), cache_key(descriptor)
        if source := source_agent(descriptor):
            self.get(owner, source)
        self._tx.run(
            f"INSERT INTO agents ({_COLUMNS}) VALUES (?, ?, ?, ?, 'active', ?, ?, ?, NULL) "
            "ON CONFLICT (owner, cache_key) DO UPDATE SET descriptor = excluded.descriptor",
            *(new_id(), owner, key, text, micros(now), micros(now), micros(sleep_due)),
        )
        agent = self.find(owner, descriptor)
        assert agent, "an agent that was just made is there"
        return agent

    def find(self, owner: str, descriptor: Descriptor) -> Agent | None:
        """The agent of this descriptor's key, if it was made already."""
        row = self._tx.one(
            f"SELECT {_COLUMNS} FROM agents WHERE owner = ? AND cache_key = ?", owner, cache_key(descriptor)
        )
        return from_row(row) if row else None

    def get(self, owner: str, agent_id: str) -> Agent:
        row = self._tx.one(f"SELECT {_COLUMNS} FROM agents WHERE owner = ? AND id = ?", owner, agent_id)
        if not row:
            raise unknown_agent(agent_id)
        return from_row(row)

    def all(self, owner: str) -> list[Agent]:
        """Every agent of the owner, the one heard from last first."""
        rows = self._tx.all(
            f"SELECT {_COLUMNS} FROM agents a WHERE owner = ? ORDER BY COALESCE((SELECT max((SELECT max(h.id) "
            "FROM session_history h WHERE h.session_id = s.id)) FROM sessions s WHERE s.agent_id = a.id), 0) "
            "DESC, created_at DESC, id",
            owner,
        )
        return [from_row(row) for row in rows]

    def lock(self, agent_ids: Iterable[str], *, wait: bool = True) -> dict[str, Agent]:
        """Take these agents' rows, always in the same order, whoever owns them. Unknown ids are left out;
        so are, unless we wait, rows that another transaction holds."""
        ending = self._tx.for_update if wait else self._tx.skip_locked
        rows = self._tx.many(
            f"SELECT {_COLUMNS} FROM agents WHERE id = ?{ending}",
            [(agent_id,) for agent_id in sorted(agent_ids)],
        )
        return {row[0]: from_row(row) for row in rows}

    def take(self, owner: str, agent_id: str) -> Agent:
        """Take one living agent's row, or say why not."""
        agent = self.lock([agent_id]).get(agent_id)
        if agent is None or agent.owner != owner:
            raise unknown_agent(agent_id)
        check_living(agent)
        return agent

    def due(self, now: datetime, after: str, limit: int) -> list[str]:
        """Ids, in order and after `after`, of the agents with a deadline that has come."""
        rows = self._tx.all(
            "SELECT id FROM agents WHERE sleep_due <= ? AND id > ? "
            "UNION SELECT id FROM agents WHERE death_due <= ? AND id > ? ORDER BY id LIMIT ?",
            *(micros(now), after, micros(now), after, limit),
        )
        return [row[0] for row in rows]

    def set_active(self, agent_id: str, now: datetime, sleep_due: datetime) -> None:
        """Awake and busy: it may sleep from `sleep_due` on, and death is called off."""
        self._tx.run(
            "UPDATE agents SET state = 'active', active_at = ?, sleep_due = ?, death_due = NULL WHERE id = ?",
            *(micros(now), micros(sleep_due), agent_id),
        )

    def postpone_sleep(self, agent_id: str, sleep_due: datetime) -> None:
        self._tx.run("UPDATE agents SET sleep_due = ? WHERE id = ?", micros(sleep_due), agent_id)

    def set_sleeping(self, agent_id: str, death_due: datetime | None) -> None:
        self._tx.run(
            "UPDATE agents SET state = 'sleeping', sleep_due = NULL, death_due = ? WHERE id = ?",
            *(micros(death_due) if death_due else None, agent_id),
        )

    def set_dead(self, agent_id: str) -> None:
        self._tx.run("UPDATE agents SET state = 'dead', sleep_due = NULL, death_due = NULL WHERE id = ?", agent_id)


def check_living(agent: Agent) -> None:
    if agent.state == "dead":
        raise AgentDead(
            f"The agent {agent.cache_key} is dead and takes no more messages. Make a new one under another id."
        )


def unknown_agent(agent_id: str) -> UnknownAgent:
    return UnknownAgent(
        f"No agent of this profile has the id {agent_id!r}. Get one with memory.agent(descriptor)."
    )


@lru_cache(maxsize=4096)
def from_row(row: Row) -> Agent:
    return Agent(
        id=row[0],
        owner=row[1],
        cache_key=row[2],
        descriptor=decode(row[3]),
        state=row[4],
        created_at=moment(row[5]),
        active_at=moment(row[6]),
        sleep_due=optional_moment(row[7]),
        death_due=optional_moment(row[8]),
    )
