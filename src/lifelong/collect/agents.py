"""The rows of `agents`: one for each owner and descriptor. Writers lock the agent's row first."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple
from urllib.parse import unquote

from lifelong.collect.descriptors import (
    KINDS,
    AgentKind,
    Descriptor,
    cache_key,
    connector_prefix,
    decode,
    encode,
    is_organized,
    source_agent,
)
from lifelong.errors import AgentDead, AgentNotFound, InputError, StorageCorrupt
from lifelong.storage.base import NO_LIMIT, Param, Row, Transaction
from lifelong.types import Agent, AgentState, from_micros, from_optional_micros, new_id, to_micros

log = logging.getLogger("lifelong.collect")

_COLUMNS = "id, owner, kind, cache_key, descriptor, state, created_at, active_at, sleep_due, death_due"
_ROW_COLUMNS = "id, owner, kind, cache_key, state"


class AgentRow(NamedTuple):
    """An agent's row without its times and its long texts."""

    id: str
    owner: str
    kind: AgentKind
    cache_key: str
    state: AgentState


class Deadlines(NamedTuple):
    """When an agent was last active (apart from messages), and when it sleeps or dies unless something happens."""

    active_at: datetime
    sleep_due: datetime | None
    death_due: datetime | None


class Agents:
    """Read and write `agents` in a transaction."""

    __slots__ = ("_tx",)

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def resolve(self, owner: str, descriptor: Descriptor, now: datetime, sleep_due: datetime) -> Agent:
        """Return the one agent of this descriptor, made on first use; concurrent callers get the same one. What is
        not part of the key (a name, a prompt) is updated. A memory-agent belongs to the owner of its source agent,
        which must exist and belong to this owner."""
        if source := source_agent(descriptor):
            self._check_source(owner, source)
        self._tx.run(
            f"INSERT INTO agents ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, 'active', ?, ?, ?, NULL) "
            "ON CONFLICT (owner, cache_key) DO UPDATE SET descriptor = excluded.descriptor, "
            "kind = excluded.kind",
            *(new_id(), owner, descriptor.kind, cache_key(descriptor), encode(descriptor)),
            *(to_micros(now), to_micros(now), to_micros(sleep_due)),
        )
        agent = self.find(owner, descriptor)
        assert agent, "an agent that was just made is there"
        return agent

    def find(self, owner: str, descriptor: Descriptor) -> Agent | None:
        """Return the agent with this descriptor's key; none where there is no such agent or it cannot be read."""
        rows = self._tx.all(
            f"SELECT {_COLUMNS} FROM agents WHERE owner = ? AND cache_key = ?", owner, cache_key(descriptor)
        )
        return next(_readable(rows), None)

    def get(self, owner: str, agent_id: str) -> Agent:
        row = self._tx.one(f"SELECT {_COLUMNS} FROM agents WHERE owner = ? AND id = ?", owner, agent_id)
        if not row:
            raise agent_not_found(agent_id)
        return from_row(row)

    def recent(self, owner: str, kinds: Sequence[AgentKind] | None = None, limit: int = NO_LIMIT) -> list[Agent]:
        """Return the owner's agents (of these kinds), the most recently active first. Unreadable ones are logged
        and skipped."""
        params: list[Param] = [owner, *(kinds or ()), limit]
        which = f" AND kind IN ({', '.join('?' for _ in kinds)})" if kinds else ""
        rows = self._tx.all(
            f"SELECT {_COLUMNS} FROM agents a WHERE owner = ?{which} ORDER BY COALESCE((SELECT max((SELECT "
            "max(h.id) FROM session_history h WHERE h.session_id = s.id)) FROM sessions s "
            "WHERE s.agent_id = a.id), 0) DESC, id DESC LIMIT ?",
            *params,
        )
        return list(_readable(rows))

    def newest_of_user(self, owner: str, limit: int) -> list[Agent]:
        """Return the owner's agents of the kind `user`, the newest first."""
        rows = self._tx.all(
            f"SELECT {_COLUMNS} FROM agents WHERE owner = ? AND kind = 'user' ORDER BY id DESC LIMIT ?",
            owner,
            limit,
        )
        return list(_readable(rows))

    def users_of(self, owner: str, connector: str) -> dict[str, datetime]:
        """Return the addresses (`user_id`) of the owner's agents on a connector, each with the time of its
        first agent."""
        prefix = connector_prefix(connector)
        rows = self._tx.all(
            "SELECT cache_key, created_at FROM agents WHERE owner = ? AND kind = 'user' "
            "AND substr(cache_key, 1, ?) = ?",
            *(owner, len(prefix), prefix),
        )
        first: dict[str, int] = {}
        for key, at in rows:
            user = key[len(prefix) :].partition("/")[0]
            first[user] = min(at, first.get(user, at))
        return {unquote(user): from_micros(at) for user, at in first.items()}

    def first_user(self, owner: str) -> str:
        """Return the address (`user_id`) of the owner's first agent that talks to one; empty where none does."""
        row = self._tx.one(
            "SELECT cache_key FROM agents WHERE owner = ? AND kind = 'user' ORDER BY created_at, id LIMIT 1", owner
        )
        return unquote(row[0].split("/")[3]) if row else ""

    def has_user(self, owner: str, name: str) -> bool:
        """Return whether one of the owner's agents talks to an address (`user_id`) that is a name."""
        row = self._tx.one(
            "SELECT 1 FROM agents WHERE owner = ? AND kind = 'user' "
            "AND lower(cache_key) LIKE ? ESCAPE '!' LIMIT 1",
            *(owner, f"/connectors/%/{name.lower().replace('_', '!_')}/%"),
        )
        return row is not None

    def of_record(self, owner: str, record_id: int) -> str:
        """Return the id of the owner's agent to which a record was said; empty where there is no such record."""
        row = self._tx.one(
            "SELECT a.id FROM session_history h JOIN sessions s ON s.id = h.session_id "
            "JOIN agents a ON a.id = s.agent_id WHERE a.owner = ? AND h.id = ?",
            *(owner, record_id),
        )
        return row[0] if row else ""

    def count(self, owner: str) -> int:
        """Return how many agents the owner has, without memory-agents."""
        row = self._tx.one("SELECT count(*) FROM agents WHERE owner = ? AND kind <> 'memory-agent'", owner)
        return row[0] if row else 0

    def owners(self) -> list[str]:
        """Return every owner of an agent."""
        return [row[0] for row in self._tx.all("SELECT DISTINCT owner FROM agents ORDER BY owner")]

    def last_active_owner(self) -> str | None:
        """Return the owner of the newest record, apart from those of memory-agents; none where there is none."""
        row = self._tx.one(
            "SELECT a.owner FROM session_history h JOIN sessions s ON s.id = h.session_id "
            "JOIN agents a ON a.id = s.agent_id WHERE a.kind <> 'memory-agent' ORDER BY h.id DESC LIMIT 1"
        )
        return row[0] if row else None

    def get_row(self, owner: str, agent_id: str) -> AgentRow:
        """Return the agent without its times and long texts; raise `AgentNotFound` for another owner's."""
        row = self._tx.one(f"SELECT {_ROW_COLUMNS} FROM agents WHERE owner = ? AND id = ?", owner, agent_id)
        if not row:
            raise agent_not_found(agent_id)
        return _to_agent_row(row)

    def find_row(self, agent_id: str) -> AgentRow | None:
        """Return the agent of any owner; none where there is no such agent."""
        row = self._tx.one(f"SELECT {_ROW_COLUMNS} FROM agents WHERE id = ?", agent_id)
        return _to_agent_row(row) if row else None

    def lock(self, agent_ids: Iterable[str], *, wait: bool = True) -> dict[str, AgentRow]:
        """Lock these agents' rows, of any owner, always in the same order, and return them. Unknown ids are left
        out; without `wait`, so are rows that another transaction has locked."""
        ending = self._tx.for_update if wait else self._tx.skip_locked
        rows = self._tx.many(
            f"SELECT {_ROW_COLUMNS} FROM agents WHERE id = ?{ending}",
            [(agent_id,) for agent_id in sorted(agent_ids)],
        )
        return {row[0]: _to_agent_row(row) for row in rows}

    def get_for_update(self, owner: str, agent_id: str) -> AgentRow:
        """Lock and return the row of a living agent; raise `AgentNotFound` or `AgentDead`."""
        agent = self.lock([agent_id]).get(agent_id)
        if agent is None or agent.owner != owner:
            raise agent_not_found(agent_id)
        validate_living(agent)
        return agent

    def due(self, now: datetime, after: str, limit: int) -> list[str]:
        """Return the ids, in order and after `after`, of the agents whose deadline has come."""
        rows = self._tx.all(
            "SELECT id FROM agents WHERE sleep_due <= ? AND id > ? "
            "UNION SELECT id FROM agents WHERE death_due <= ? AND id > ? ORDER BY id LIMIT ?",
            *(to_micros(now), after, to_micros(now), after, limit),
        )
        return [row[0] for row in rows]

    def deadlines(self, agent_id: str) -> Deadlines:
        row = self._tx.one("SELECT active_at, sleep_due, death_due FROM agents WHERE id = ?", agent_id)
        if not row:
            raise agent_not_found(agent_id)
        return Deadlines(from_micros(row[0]), from_optional_micros(row[1]), from_optional_micros(row[2]))

    def set_active(self, agent_id: str, now: datetime, sleep_due: datetime) -> None:
        """Make the agent active: it may sleep from `sleep_due` on, and does not die."""
        self._tx.run(
            "UPDATE agents SET state = 'active', active_at = ?, sleep_due = ?, death_due = NULL WHERE id = ?",
            *(to_micros(now), to_micros(sleep_due), agent_id),
        )

    def postpone_sleep(self, agent_id: str, sleep_due: datetime) -> None:
        self._tx.run("UPDATE agents SET sleep_due = ? WHERE id = ?", to_micros(sleep_due), agent_id)

    def set_sleeping(self, agent_id: str, death_due: datetime | None) -> None:
        self._tx.run(
            "UPDATE agents SET state = 'sleeping', sleep_due = NULL, death_due = ? WHERE id = ?",
            *(to_micros(death_due) if death_due else None, agent_id),
        )

    def set_dead(self, agent_id: str) -> None:
        self._tx.run("UPDATE agents SET state = 'dead', sleep_due = NULL, death_due = NULL WHERE id = ?", agent_id)

    def _check_source(self, owner: str, agent_id: str) -> None:
        source = self.get_row(owner, agent_id)
        if not is_organized(source.kind):
            raise InputError(f"{source.cache_key} is a memory-agent. Name the agent whose memory it keeps.")


def validate_living(agent: AgentRow) -> None:
    if agent.state == "dead":
        raise AgentDead(
            f"The agent {agent.cache_key} is dead and takes no more messages. Make a new one under another id."
        )


def agent_not_found(agent_id: str) -> AgentNotFound:
    return AgentNotFound(f"No agent of this user has the id {agent_id!r}. Get one with memory.agent(descriptor).")


def from_row(row: Row) -> Agent:
    descriptor = decode(row[4])
    if descriptor.kind != row[2]:
        raise _unreadable_kind(row[3], row[2])
    return Agent(
        id=row[0],
        owner=row[1],
        cache_key=row[3],
        descriptor=descriptor,
        state=row[5],
        created_at=from_micros(row[6]),
        active_at=from_micros(row[7]),
        sleep_due=from_optional_micros(row[8]),
        death_due=from_optional_micros(row[9]),
    )


def _to_agent_row(row: Row) -> AgentRow:
    get_row = AgentRow._make(row)
    if get_row.kind not in KINDS:
        raise _unreadable_kind(get_row.cache_key, get_row.kind)
    return get_row


def _unreadable_kind(key: str, kind: str) -> StorageCorrupt:
    return StorageCorrupt(
        f"The agent {key} cannot be of the kind {kind!r}. Restore a backup, or resolve the agent again with "
        "memory.agent(descriptor)."
    )


def _readable(rows: Iterable[Row]) -> Iterator[Agent]:
    for row in rows:
        try:
            yield from_row(row)
        except StorageCorrupt as error:
            log.warning("agent %s is left out: %s", row[0], error)
