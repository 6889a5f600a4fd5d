"""The rows of `inbox`: transcripts for a memory-agent.

    pending ─▶ leased ─▶ done
       ▲          │
       └──────────┴────▶ dead ─▶ (retry) pending

An item is done only when its work is committed. A worker holds a lease on it, a token that nobody else has: every
later step names the token, so a run that lost its lease to another worker can change nothing. An agent's items are
handled in order, one at a time: only the first open item is ever due. A dead item does not block those behind it.
A retried one comes back to its place, but waits for the one that is leased. Every change of the order is made with
the agent's row locked.

Times go by the database's clock (`inbox_now`), so that a worker on a machine whose clock is wrong holds nothing
up. That clock may be set back, too: what is due later than anything can be is due at once (`correct_times`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from lifelong.collect.agents import Agents
from lifelong.errors import InboxItemNotFound, LeaseLost
from lifelong.storage.base import NO_LIMIT, Param, Row, Transaction
from lifelong.types import (
    Clock,
    InboxItem,
    ItemState,
    from_micros,
    from_optional_micros,
    new_id,
    to_micros,
    utc_now,
)

_COLUMNS = (
    "id, agent_id, type, text, session_id, after_id, until_id, state, attempts, losses, due_at, error, "
    "created_at, done_at, changeset_id"
)
_NOT_FIRST = 2**62  # the due_at of an item that is not the first of its agent
_CLOCK_STEP = timedelta(seconds=1)  # by which a clock that is kept in time may be set back
_CANDIDATES = 10  # so that an agent whose row is held does not hide the next
WAITING = "Waiting for the model: "
UNUSABLE = "The model cannot be used: "
"""How the error of an item begins that waits until the model answers again, or until a person mends its settings:
neither is a failed attempt."""

_OF_OWNER = "EXISTS (SELECT 1 FROM agents a WHERE a.id = i.agent_id AND a.owner = ?)"


def inbox_now(tx: Transaction, clock: Clock) -> datetime:
    """Return the time that the inbox goes by: the database's, unless a clock of one's own was given."""
    return tx.now() if clock is utc_now else clock()


class Lease(NamedTuple):
    """An item, and the right to work on it."""

    item: InboxItem
    token: str


class Inbox:
    """`inbox`, seen through a transaction."""

    __slots__ = ("_tx",)

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def put(self, agent_id: str, text: str, session_id: str, after: int, until: int, now: datetime) -> int:
        """Put a transcript of the session's records (after, until] at the end of the agent's queue. The caller has
        locked the agent's row."""
        due = to_micros(now) if self.is_empty(agent_id) else _NOT_FIRST
        rows = self._tx.many(
            "INSERT INTO inbox (agent_id, type, text, session_id, after_id, until_id, state, attempts, losses, "
            "due_at, error, created_at) VALUES (?, 'system_message', ?, ?, ?, ?, 'pending', 0, 0, ?, '', ?) "
            "RETURNING id",
            [(agent_id, text, session_id, after, until, due, to_micros(now))],
        )
        item_id: int = rows[0][0]
        return item_id

    def put_dead(self, agent_id: str, session_id: str, after: int, until: int, error: str, now: datetime) -> None:
        """Put records of the session of which no transcript could be made among the dead items: they are passed
        by, and `retry` tries them again."""
        self._tx.run(
            "INSERT INTO inbox (agent_id, type, text, session_id, after_id, until_id, state, attempts, losses, "
            "error, created_at) VALUES (?, 'system_message', '', ?, ?, ?, 'dead', 0, 0, ?, ?)",
            *(agent_id, session_id, after, until, error, to_micros(now)),
        )

    def claim(self, now: datetime, ends: datetime) -> Lease | None:
        """Lease the item that has been due longest. One whose lease expired counts as due, and that is a loss, not
        an attempt. Agents whose row another transaction has locked are skipped."""
        candidates = self._tx.all(
            "SELECT id, agent_id FROM inbox WHERE due_at <= ? ORDER BY due_at, id LIMIT ?",
            *(to_micros(now), _CANDIDATES),
        )
        for item_id, agent_id in candidates:
            token = new_id()
            if Agents(self._tx).lock([agent_id], wait=False) and self._lease(item_id, agent_id, token, now, ends):
                return Lease(self._get(item_id), token)
        return None

    def _lease(self, item_id: int, agent_id: str, token: str, now: datetime, ends: datetime) -> bool:
        """Lease the item if it is still due and the first of its agent; else note that it is not the first. One
        whose lease expired goes before those that came back to their place while it was leased."""
        before = self._tx.one(
            "SELECT 1 FROM inbox WHERE agent_id = ? AND due_at IS NOT NULL AND id <> ? AND (state = 'leased' "
            "OR (id < ? AND NOT EXISTS (SELECT 1 FROM inbox WHERE id = ? AND state = 'leased'))) LIMIT 1",
            *(agent_id, item_id, item_id, item_id),
        )
        if before:
            self._tx.run("UPDATE inbox SET due_at = ? WHERE id = ? AND state = 'pending'", _NOT_FIRST, item_id)
            return False
        changed = self._tx.run(
            "UPDATE inbox SET attempts = attempts + CASE state WHEN 'pending' THEN 1 ELSE 0 END, "
            "losses = losses + CASE state WHEN 'leased' THEN 1 ELSE 0 END, state = 'leased', lease = ?, "
            "due_at = ?, lease_length = ? WHERE id = ? AND due_at <= ?",
            *(token, to_micros(ends), to_micros(ends) - to_micros(now), item_id, to_micros(now)),
        )
        return changed == 1

    def lock(self, lease: Lease) -> None:
        """Lock the leased item's row. Raise `LeaseLost` if another worker has the lease, or the item is gone."""
        row = self._tx.one(
            f"SELECT 1 FROM inbox WHERE id = ? AND lease = ?{self._tx.for_update}", lease.item.id, lease.token
        )
        if not row:
            raise LeaseLost

    def renew(self, lease: Lease, ends: datetime) -> bool:
        """Let the lease end later. Return whether it was still held."""
        return self._step(lease, "due_at = ?", to_micros(ends))

    def finish(self, lease: Lease, now: datetime, changeset_id: int | None) -> None:
        """Mark the item as done: its work is committed with this transaction. Its text is dropped, since
        history has it. The caller has locked the agent's row."""
        finished = self._step(
            lease,
            "state = 'done', text = '', error = '', due_at = NULL, lease = NULL, done_at = ?, changeset_id = ?",
            *(to_micros(now), changeset_id),
        )
        if not finished:
            raise LeaseLost
        self._make_first_due(lease.item.agent_id, now)

    def fail(self, lease: Lease, error: str, now: datetime, again: datetime | None) -> None:
        """Mark the attempt as failed: try again at that time, or, if it is none, not by itself."""
        Agents(self._tx).lock([lease.item.agent_id])
        state = "pending" if again else "dead"
        due = to_micros(again) if again else None
        if self._step(lease, f"state = '{state}', error = ?, due_at = ?, lease = NULL", error, due):
            self._make_first_due(lease.item.agent_id, now)

    def release(self, lease: Lease, reason: str, now: datetime, delay: timedelta) -> None:
        """Put the item back for so long without counting the attempt: the cause lies elsewhere."""
        Agents(self._tx).lock([lease.item.agent_id])
        released = self._step(
            lease,
            "state = 'pending', attempts = attempts - 1, error = ?, due_at = ?, lease = NULL",
            *(reason, to_micros(now + delay)),
        )
        if released:
            self._make_first_due(lease.item.agent_id, now)

    def resume(self, now: datetime) -> None:
        """Make the items due that wait for the model: it may answer again, or its settings may be mended."""
        for reason in (WAITING, UNUSABLE):
            self._tx.run(
                "UPDATE inbox SET due_at = ? WHERE state = 'pending' AND due_at > ? AND due_at < ? "
                "AND substr(error, 1, ?) = ?",
                *(to_micros(now), to_micros(now), _NOT_FIRST, len(reason), reason),
            )

    def correct_times(self, now: datetime, longest: timedelta) -> int:
        """Make the items due that a wrong clock put off: whose lease began in the future, or whose next attempt is
        further away than the longest pause. Return how many. Such a lease is lost like any that expired."""
        return self._tx.run(
            "UPDATE inbox SET due_at = ? WHERE due_at > ? AND due_at < ? AND "
            "((state = 'leased' AND due_at - lease_length > ?) OR (state = 'pending' AND due_at > ?))",
            *(to_micros(now), to_micros(now), _NOT_FIRST),
            *(to_micros(now + _CLOCK_STEP), to_micros(now + longest + _CLOCK_STEP)),
        )

    def count_waiting(self, reason: str) -> int:
        """Return how many items of the whole home wait with an error that begins like this."""
        row = self._tx.one(
            "SELECT count(*) FROM inbox WHERE error <> '' AND state <> 'dead' AND substr(error, 1, ?) = ?",
            *(len(reason), reason),
        )
        return row[0] if row else 0

    def retry(self, owner: str, now: datetime, item_id: int | None = None) -> int:
        """Make the owner's dead items (or this one, also if it only waits for its next attempt) pending again,
        with no attempts counted. Return how many."""
        which = "state = 'dead'" if item_id is None else "state IN ('dead', 'pending') AND id = ?"
        params: list[Param] = [] if item_id is None else [item_id]
        found = self._tx.all(
            f"SELECT id, agent_id FROM inbox i WHERE {which} AND {_OF_OWNER} ORDER BY id", *params, owner
        )
        Agents(self._tx).lock({agent_id for _, agent_id in found})
        retried = sum(
            self._tx.run(
                "UPDATE inbox SET state = 'pending', attempts = 0, losses = 0, due_at = ? "
                "WHERE id = ? AND state IN ('dead', 'pending')",
                *(_NOT_FIRST, found_id),
            )
            for found_id, _ in found
        )
        for agent_id in {agent_id for _, agent_id in found}:
            self._make_first_due(agent_id, now)
        return retried

    def release_held(self, owner: str, now: datetime, item_id: int | None = None) -> int:
        """Take the owner's leased items (or this one) from the workers that hold them, and make them due. Return
        how many. The attempt does not count; a worker that is still at it can commit nothing any more."""
        which = "" if item_id is None else " AND id = ?"
        params: list[Param] = [] if item_id is None else [item_id]
        found = self._tx.all(
            f"SELECT id, agent_id FROM inbox i WHERE due_at < ? AND state = 'leased'{which} AND {_OF_OWNER}",
            *(_NOT_FIRST, *params, owner),
        )
        Agents(self._tx).lock({agent_id for _, agent_id in found})
        released = sum(
            self._tx.run(
                "UPDATE inbox SET state = 'pending', lease = NULL, due_at = ?, "
                "attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END WHERE id = ? AND state = 'leased'",
                *(to_micros(now), found_id),
            )
            for found_id, _ in found
        )
        for agent_id in {agent_id for _, agent_id in found}:
            self._make_first_due(agent_id, now)
        return released

    def rewrite(self, item_id: int, agent_id: str, text: str, now: datetime) -> None:
        """Give an item that is not done another text, without which it is done. A run that has it loses its lease.
        The caller has locked the agent's row."""
        if text:
            self._tx.run(
                "UPDATE inbox SET text = ?, error = '', due_at = CASE state WHEN 'leased' THEN ? ELSE due_at END, "
                "state = CASE state WHEN 'leased' THEN 'pending' ELSE state END, lease = NULL WHERE id = ?",
                *(text, to_micros(now), item_id),
            )
        else:
            self._tx.run(
                "UPDATE inbox SET state = 'done', text = '', error = '', due_at = NULL, lease = NULL, done_at = ? "
                "WHERE id = ?",
                *(to_micros(now), item_id),
            )
        self._make_first_due(agent_id, now)

    def _make_first_due(self, agent_id: str, now: datetime) -> None:
        """Make the agent's first open item due."""
        self._tx.run(
            "UPDATE inbox SET due_at = ? WHERE due_at = ? AND id = "
            "(SELECT min(id) FROM inbox WHERE agent_id = ? AND due_at IS NOT NULL)",
            *(to_micros(now), _NOT_FIRST, agent_id),
        )

    # Reading

    def find(self, owner: str, states: Sequence[ItemState] | None, limit: int = NO_LIMIT) -> list[InboxItem]:
        """Return the owner's items (in these states), newest first."""
        which = f" AND i.state IN ({', '.join('?' for _ in states)})" if states else ""
        params: list[Param] = [owner, *(states or ()), limit]
        rows = self._tx.all(
            f"SELECT {_COLUMNS} FROM inbox i WHERE {_OF_OWNER}{which} ORDER BY i.id DESC LIMIT ?",
            *params,
        )
        return [from_row(row) for row in rows]

    def counts(self, owner: str) -> dict[ItemState, int]:
        """Return how many of the owner's items are in each state; states without any are left out."""
        rows = self._tx.all(f"SELECT i.state, count(*) FROM inbox i WHERE {_OF_OWNER} GROUP BY i.state", owner)
        return {row[0]: row[1] for row in rows}

    def get(self, owner: str, item_id: int) -> InboxItem:
        row = self._tx.one(f"SELECT {_COLUMNS} FROM inbox i WHERE i.id = ? AND {_OF_OWNER}", item_id, owner)
        if not row:
            raise InboxItemNotFound(
                f"No inbox item of this user has the id {item_id}. List them with memory.inbox.list()."
            )
        return from_row(row)

    def holding(self, session_id: str, record_id: int) -> InboxItem | None:
        """Return the item that this record of the session was dispatched in."""
        row = self._tx.one(
            f"SELECT {_COLUMNS} FROM inbox WHERE session_id = ? AND after_id < ? ORDER BY after_id DESC LIMIT 1",
            *(session_id, record_id),
        )
        return from_row(row) if row and row[6] >= record_id else None

    def is_empty(self, agent_id: str) -> bool:
        """Return whether nothing of the agent is pending or leased."""
        return not self._tx.one("SELECT 1 FROM inbox WHERE agent_id = ? AND due_at IS NOT NULL LIMIT 1", agent_id)

    def open(self) -> tuple[int, datetime | None]:
        """Return how many items of the whole home are pending or leased, and since when the oldest has waited."""
        row = self._tx.one("SELECT count(*), min(created_at) FROM inbox WHERE due_at IS NOT NULL")
        return (row[0], from_optional_micros(row[1])) if row else (0, None)

    def next_due(self) -> tuple[ItemState, datetime] | None:
        """Return the state of the open item of the whole home that is due first, and when that is."""
        row = self._tx.one(
            "SELECT state, due_at FROM inbox WHERE due_at < ? ORDER BY due_at, id LIMIT 1", _NOT_FIRST
        )
        return (row[0], from_micros(row[1])) if row else None

    def silent(self, now: datetime, limit: timedelta) -> tuple[int, datetime] | None:
        """Return the item of the whole home whose worker has sent no heartbeat for longest, and when the last one
        was; none if every worker sent one within the limit, or within two fifths of its lease if that is longer:
        it sends one each third."""
        row = self._tx.one(
            "SELECT id, due_at - lease_length FROM inbox WHERE due_at < ? AND state = 'leased' "
            "AND due_at - lease_length < ? AND due_at - lease_length * 3 / 5 < ? ORDER BY 2, 1 LIMIT 1",
            *(_NOT_FIRST, to_micros(now - limit), to_micros(now)),
        )
        return (row[0], from_micros(row[1])) if row else None

    def stalled(self, now: datetime, limit: timedelta) -> tuple[int, datetime] | None:
        """Return how many items of the whole home have been due for longer than the limit, and since when the
        first is; none if there is no such item, or a worker is alive."""
        row = self._tx.one("SELECT count(*), min(due_at) FROM inbox WHERE due_at < ?", to_micros(now - limit))
        if not row or not row[0] or self.is_alive(now, limit):
            return None
        return row[0], from_micros(row[1])

    def is_alive(self, now: datetime, limit: timedelta) -> bool:
        """Return whether a worker finished an item within the limit, or holds one and is not silent."""
        row = self._tx.one(
            "SELECT 1 FROM inbox WHERE done_at >= ? UNION ALL SELECT 1 FROM inbox WHERE due_at >= ? "
            "AND state = 'leased' AND (due_at - lease_length >= ? OR due_at - lease_length * 3 / 5 >= ?) LIMIT 1",
            *(to_micros(now - limit), to_micros(now), to_micros(now - limit), to_micros(now)),
        )
        return row is not None

    def dead(self) -> int:
        """Return how many items of the whole home failed for good."""
        row = self._tx.one("SELECT count(*) FROM inbox WHERE state = 'dead'")
        return row[0] if row else 0

    def last_error(self, owner: str) -> str:
        """Return the last error of an item of the owner that is open or dead."""
        row = self._tx.one(
            f"SELECT error FROM inbox i WHERE error <> '' AND {_OF_OWNER} ORDER BY id DESC LIMIT 1", owner
        )
        return row[0] if row else ""

    def _step(self, lease: Lease, change: str, *params: Param) -> bool:
        changed = self._tx.run(
            f"UPDATE inbox SET {change} WHERE id = ? AND lease = ?", *params, lease.item.id, lease.token
        )
        return changed == 1

    def _get(self, item_id: int) -> InboxItem:
        row = self._tx.one(f"SELECT {_COLUMNS} FROM inbox WHERE id = ?", item_id)
        assert row, "an item is never deleted"
        return from_row(row)


def from_row(row: Row) -> InboxItem:
    item = InboxItem(*row)
    due_at = None if row[10] == _NOT_FIRST else from_optional_micros(row[10])
    return replace(item, due_at=due_at, created_at=from_micros(row[12]), done_at=from_optional_micros(row[13]))
