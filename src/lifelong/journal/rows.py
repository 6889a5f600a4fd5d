"""The rows of `journal_progress`, `journals` and `schedules`: which turns are in the journal, which home keeps it,
and when scheduled work ran."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from lifelong.collect.descriptors import KINDS, is_organized
from lifelong.storage.base import Transaction
from lifelong.types import from_micros, to_micros

_KINDS = sorted(kind for kind in KINDS if is_organized(kind))


class PendingSession(NamedTuple):
    """A session with a completed turn that is not in the journal."""

    session_id: str
    agent_id: str
    is_over: bool


class JournalRows:
    """Read and write the three tables in a transaction."""

    __slots__ = ("_tx",)

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def until(self, session_id: str) -> int:
        """Return the last record whose turn is in the journal; 0 where none is."""
        row = self._tx.one("SELECT until_id FROM journal_progress WHERE session_id = ?", session_id)
        return row[0] if row else 0

    def advance(self, session_id: str, until: int) -> None:
        """Store that every turn up to this record is in the journal. It never goes back."""
        self._tx.run(
            "INSERT INTO journal_progress (session_id, until_id) VALUES (?, ?) ON CONFLICT (session_id) DO UPDATE "
            "SET until_id = excluded.until_id WHERE journal_progress.until_id < excluded.until_id",
            *(session_id, until),
        )

    def pending(self, owner: str, agent_id: str | None = None) -> list[PendingSession]:
        """Return the owner's sessions (of this agent) with a completed turn that is not in the journal, oldest
        first, without those of memory-agents. A turn is complete after `end_turn`, when the user speaks again, or
        when its session is over or its agent asleep."""
        which = " AND a.id = ?" if agent_id else ""
        rows = self._tx.all(
            "SELECT id, agent_id, is_over FROM (SELECT s.id, s.agent_id, s.created_at, "
            "(CASE WHEN s.ended_at IS NOT NULL OR a.state <> 'active' THEN 1 ELSE 0 END) AS is_over, "
            "COALESCE(p.until_id, 0) AS until_id, (SELECT min(h.id) FROM session_history h "
            "WHERE h.session_id = s.id AND h.id > COALESCE(p.until_id, 0)) AS first_id "
            "FROM agents a JOIN sessions s ON s.agent_id = a.id "
            "LEFT JOIN journal_progress p ON p.session_id = s.id "
            f"WHERE a.owner = ?{which} AND a.kind IN ({', '.join('?' for _ in _KINDS)})) open "
            "WHERE first_id IS NOT NULL AND (is_over = 1 "
            "OR EXISTS (SELECT 1 FROM turns t WHERE t.session_id = open.id AND t.until_id > open.until_id) "
            "OR EXISTS (SELECT 1 FROM session_history h WHERE h.session_id = open.id AND h.id > first_id "
            "AND h.type = 'user_message')) ORDER BY created_at, id",
            *(owner, *([agent_id] if agent_id else []), *_KINDS),
        )
        return [PendingSession(session_id, agent, bool(is_over)) for session_id, agent, is_over in rows]

    def ends(self, session_id: str, after: int) -> list[int]:
        """Return the records after this one at which `end_turn` was called."""
        rows = self._tx.all(
            "SELECT until_id FROM turns WHERE session_id = ? AND until_id > ? ORDER BY until_id", session_id, after
        )
        return [row[0] for row in rows]

    def last_run(self, owner: str, name: str) -> datetime | None:
        """Return when a job of the owner ran last; None where it never did."""
        row = self._tx.one("SELECT last_run_at FROM schedules WHERE owner = ? AND name = ?", owner, name)
        return from_micros(row[0]) if row else None

    def store_run(self, owner: str, name: str, at: datetime) -> None:
        """Store when a job of the owner ran last."""
        self._tx.run(
            "INSERT INTO schedules (owner, name, last_run_at) VALUES (?, ?, ?) ON CONFLICT (owner, name) "
            "DO UPDATE SET last_run_at = excluded.last_run_at",
            *(owner, name, to_micros(at)),
        )

    def take_lease(
        self, owner: str, name: str, now: datetime, until: datetime, held: datetime | None = None
    ) -> bool:
        """Reserve a job of the owner until this time, and return whether that was possible: nobody has it, their
        time is over, or the caller has it until `held`."""
        row = self._tx.one(
            "INSERT INTO schedules (owner, name, last_run_at) VALUES (?, ?, ?) ON CONFLICT (owner, name) "
            "DO UPDATE SET last_run_at = excluded.last_run_at WHERE schedules.last_run_at <= ? "
            "OR schedules.last_run_at = ? RETURNING last_run_at",
            *(owner, name, to_micros(until), to_micros(now), to_micros(held or now)),
        )
        return row is not None

    def release_lease(self, owner: str, name: str, held: datetime) -> None:
        """Let others do a job that the caller has until this time."""
        self._tx.run(
            "DELETE FROM schedules WHERE owner = ? AND name = ? AND last_run_at = ?", owner, name, to_micros(held)
        )

    def find_keeper(self, owner: str) -> tuple[str, datetime] | None:
        """Return which home keeps the owner's journal, and since when; none where no home does."""
        row = self._tx.one("SELECT home, began_at FROM journals WHERE owner = ?", owner)
        return (row[0], from_micros(row[1])) if row else None

    def keeper(self, owner: str, home: str, now: datetime) -> tuple[str, datetime]:
        """Return which home keeps the owner's journal, and since when: the first one that asked."""
        row = self._tx.one(
            "INSERT INTO journals (owner, home, began_at) VALUES (?, ?, ?) ON CONFLICT (owner) "
            "DO UPDATE SET owner = excluded.owner RETURNING home, began_at",
            *(owner, home, to_micros(now)),
        )
        return (row[0], from_micros(row[1])) if row else (home, now)
