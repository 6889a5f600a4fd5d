"""The rows of `journal_progress` and `schedules`: which turns are in the journal, and what ran when."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from recollect.collect.descriptors import KINDS, is_organized
from recollect.storage.base import Transaction
from recollect.types import micros, moment

_KINDS = sorted(kind for kind in KINDS if is_organized(kind))


class Pending(NamedTuple):
    """A session with records after `until`, the last one that the journal has come to."""

    session_id: str
    agent_id: str
    until: int
    is_over: bool


class Progress:
    """Both tables, seen through a transaction."""

    __slots__ = ("_tx",)

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def until(self, session_id: str) -> int:
        """The last record whose turn is in the journal; 0 where none is."""
        row = self._tx.one("SELECT until_id FROM journal_progress WHERE session_id = ?", session_id)
        return row[0] if row else 0

    def advance(self, session_id: str, until: int) -> None:
        """Every turn up to this record is in the journal. Never goes back."""
        self._tx.run(
            "INSERT INTO journal_progress (session_id, until_id) VALUES (?, ?) ON CONFLICT (session_id) DO UPDATE "
            "SET until_id = excluded.until_id WHERE journal_progress.until_id < excluded.until_id",
            *(session_id, until),
        )

    def pending(self, owner: str, agent_id: str | None = None) -> list[Pending]:
        """The owner's sessions (of this agent) that the journal has not come to the end of, oldest first. A
        memory-agent's never are."""
        which = " AND a.id = ?" if agent_id else ""
        rows = self._tx.all(
            "SELECT s.id, a.id, COALESCE(p.until_id, 0), s.ended_at FROM agents a JOIN sessions s "
            "ON s.agent_id = a.id LEFT JOIN journal_progress p ON p.session_id = s.id "
            f"WHERE a.owner = ?{which} AND a.kind IN ({', '.join('?' for _ in _KINDS)}) "
            "AND EXISTS (SELECT 1 FROM session_history h WHERE h.session_id = s.id "
            "AND h.id > COALESCE(p.until_id, 0)) ORDER BY s.created_at, s.id",
            *(owner, *([agent_id] if agent_id else []), *_KINDS),
        )
        return [
            Pending(session_id, agent, until, ended_at is not None) for session_id, agent, until, ended_at in rows
        ]

    def ends(self, session_id: str, after: int) -> list[int]:
        """The records, after this one, with which a turn was said to end."""
        rows = self._tx.all(
            "SELECT until_id FROM turns WHERE session_id = ? AND until_id > ? ORDER BY until_id", session_id, after
        )
        return [row[0] for row in rows]

    def last_run(self, owner: str, name: str) -> datetime | None:
        row = self._tx.one("SELECT last_run_at FROM schedules WHERE owner = ? AND name = ?", owner, name)
        return moment(row[0]) if row else None

    def ran(self, owner: str, name: str, at: datetime) -> None:
        self._tx.run(
            "INSERT INTO schedules (owner, name, last_run_at) VALUES (?, ?, ?) ON CONFLICT (owner, name) "
            "DO UPDATE SET last_run_at = excluded.last_run_at",
            *(owner, name, micros(at)),
        )

    def began(self, owner: str, name: str, now: datetime) -> datetime:
        """When this was first asked for: `now`, or earlier."""
        self._tx.run(
            "INSERT INTO schedules (owner, name, last_run_at) VALUES (?, ?, ?) "
            "ON CONFLICT (owner, name) DO NOTHING",
            *(owner, name, micros(now)),
        )
        return self.last_run(owner, name) or now
