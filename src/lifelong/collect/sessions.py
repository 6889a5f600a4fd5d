"""The rows of `sessions`, and the mark (`invalidated_at`) that says: there is something to organize.

A mark holds the id of a record and only grows. It is always above `processed_until`, so a mark that was cleared
never comes back, and a compare-and-swap against an old one fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from lifelong.collect.agents import AgentRow
from lifelong.collect.descriptors import is_organized
from lifelong.errors import SessionNotFound
from lifelong.storage.base import Row, Transaction
from lifelong.types import Session, Turn, from_micros, from_optional_micros, new_id, to_micros

_COLUMNS = "id, agent_id, created_at, ended_at, reset_message, invalidated_at, processed_until"

_NEWEST = "COALESCE((SELECT max(id) FROM session_history h WHERE h.session_id = sessions.id), 0)"

_NEWS = "session_history h WHERE h.session_id = s.id AND h.id > COALESCE(s.processed_until, 0)"

_MARK = (
    "UPDATE sessions SET invalidated_at = ? WHERE id = ? AND (invalidated_at IS NULL OR invalidated_at < ?) "
    "AND (processed_until IS NULL OR processed_until < ?)"
)


class Sessions:
    """Read and write `sessions` in a transaction."""

    __slots__ = ("_tx",)

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def create(self, agent_id: str, now: datetime) -> Session:
        """Create an active session. The database allows one for each agent."""
        session = Session(new_id(), agent_id, now, None, None, None, None)
        self._tx.run(
            "INSERT INTO sessions (id, agent_id, created_at) VALUES (?, ?, ?)",
            *(session.id, agent_id, to_micros(now)),
        )
        return session

    def ensure_past(self, session_id: str, agent_id: str, first: int, last: int, note: str) -> None:
        """Make sure that there is an ended session of this id which lasted at least from `first` to `last`, in
        microseconds, and lock its row."""
        self._tx.run(
            "INSERT INTO sessions (id, agent_id, created_at, ended_at, reset_message) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET "
            "created_at = CASE WHEN sessions.created_at < excluded.created_at THEN sessions.created_at "
            "ELSE excluded.created_at END, "
            "ended_at = CASE WHEN sessions.ended_at > excluded.ended_at THEN sessions.ended_at "
            "ELSE excluded.ended_at END",
            *(session_id, agent_id, first, last, note),
        )

    def active(self, agent_id: str) -> Session | None:
        """Return the session that appends go to, and lock its row."""
        row = self._tx.one(
            f"SELECT {_COLUMNS} FROM sessions WHERE agent_id = ? AND ended_at IS NULL{self._tx.for_update}",
            agent_id,
        )
        return from_row(row) if row else None

    def active_with_backlog(self, counts: Mapping[str, int]) -> dict[str, tuple[str, bool]]:
        """Return, for each agent with an active session, the session's id and whether it has at least this many
        unprocessed records. The rows are locked."""
        rows = self._tx.many(
            f"SELECT agent_id, id, (SELECT 1 FROM {_NEWS} ORDER BY h.id LIMIT 1 OFFSET ?) "
            f"FROM sessions s WHERE agent_id = ? AND ended_at IS NULL{self._tx.for_update}",
            [(count - 1, agent_id) for agent_id, count in counts.items()],
        )
        return {row[0]: (row[1], row[2] is not None) for row in rows}

    def get(self, owner: str, session_id: str) -> Session:
        session = self.find(owner, session_id)
        if not session:
            raise session_not_found(session_id)
        return session

    def find(self, owner: str, session_id: str) -> Session | None:
        row = self._tx.one(
            f"SELECT {_COLUMNS} FROM sessions WHERE id = ? "
            "AND EXISTS (SELECT 1 FROM agents a WHERE a.id = agent_id AND a.owner = ?)",
            *(session_id, owner),
        )
        return from_row(row) if row else None

    def find_any(self, session_id: str) -> Session | None:
        """Return the session of any owner; none where there is no such session."""
        row = self._tx.one(f"SELECT {_COLUMNS} FROM sessions WHERE id = ?", session_id)
        return from_row(row) if row else None

    def find_for_update(self, session_id: str) -> Session | None:
        """Return the same, and lock its row."""
        row = self._tx.one(f"SELECT {_COLUMNS} FROM sessions WHERE id = ?{self._tx.for_update}", session_id)
        return from_row(row) if row else None

    def newest(self, agent_id: str) -> Session | None:
        """Return the agent's active session, or else the one that ended last."""
        row = self._tx.one(
            f"SELECT {_COLUMNS} FROM sessions WHERE agent_id = ? "
            "ORDER BY CASE WHEN ended_at IS NULL THEN 0 ELSE 1 END, created_at DESC, id DESC LIMIT 1",
            agent_id,
        )
        return from_row(row) if row else None

    def last_end(self, agent_id: str) -> datetime | None:
        """Return when the last of the agent's sessions that are over ended; none where none is."""
        row = self._tx.one("SELECT max(ended_at) FROM sessions WHERE agent_id = ?", agent_id)
        return from_optional_micros(row[0]) if row else None

    def of_agent(self, agent_id: str) -> list[Session]:
        """Return every session of the agent, oldest first; the active one is last whatever the clocks say."""
        rows = self._tx.all(
            f"SELECT {_COLUMNS} FROM sessions WHERE agent_id = ? ORDER BY ended_at IS NULL, created_at, id",
            agent_id,
        )
        return [from_row(row) for row in rows]

    def of_agents(self, owner: str, beginnings: Iterable[str]) -> list[str]:
        """Return the ids of the sessions of the owner's agents whose cache keys begin so."""
        rows = self._tx.many(
            "SELECT s.id FROM sessions s JOIN agents a ON a.id = s.agent_id "
            "WHERE a.owner = ? AND a.cache_key LIKE ?",
            [(owner, f"{one}%") for one in beginnings],
        )
        return [row[0] for row in rows]

    def recent(self, owner: str, limit: int, before: Session | None = None) -> list[Session]:
        """Return the sessions of the owner's agents older than `before`, newest first, without memory-agents'."""
        older = " AND (s.created_at, s.id) < (?, ?)" if before else ""
        rows = self._tx.all(
            f"SELECT {', '.join(f's.{name}' for name in _COLUMNS.split(', '))} FROM sessions s "
            "JOIN agents a ON a.id = s.agent_id "
            f"WHERE a.owner = ? AND a.kind <> 'memory-agent'{older} ORDER BY s.created_at DESC, s.id DESC LIMIT ?",
            *(owner, *((to_micros(before.created_at), before.id) if before else ()), limit),
        )
        return [from_row(row) for row in rows]

    def count(self, owner: str) -> int:
        """Return how many sessions the owner's agents have, without memory-agents'."""
        row = self._tx.one(
            "SELECT count(*) FROM sessions s JOIN agents a ON a.id = s.agent_id "
            "WHERE a.owner = ? AND a.kind <> 'memory-agent'",
            owner,
        )
        return row[0] if row else 0

    def end(self, session_id: str, now: datetime, reset_message: str | None = None) -> None:
        self._tx.run(
            "UPDATE sessions SET ended_at = ?, reset_message = ? WHERE id = ? AND ended_at IS NULL",
            *(to_micros(now), reset_message, session_id),
        )

    def end_turn(self, session_id: str, until: int, now: datetime) -> Turn | None:
        """Note that a turn ended with this record; none where it had ended there already."""
        row = self._tx.one("SELECT max(until_id) FROM turns WHERE session_id = ?", session_id)
        after = (row and row[0]) or 0
        if until <= after:
            return None
        self._tx.run(
            "INSERT INTO turns (session_id, until_id, ended_at) VALUES (?, ?, ?)",
            *(session_id, until, to_micros(now)),
        )
        return Turn(session_id, after, until)

    # Marks

    def mark(self, marks: Iterable[tuple[AgentRow, str, int]]) -> None:
        """Mark these sessions as waiting to be organized, up to these records (threshold, reset, compact_context,
        sleep). Those of memory-agents are left out."""
        wanted = [
            (history_id, session_id, history_id, history_id)
            for agent, session_id, history_id in marks
            if is_organized(agent.kind)
        ]
        if wanted:
            self._tx.many(_MARK, wanted)

    def invalidate(self, session_id: str, history_id: int) -> bool:
        """Mark one session up to this record of it, unless so much is marked or processed already. Return whether
        it did. SPEC C8 names this call; lifelong itself marks by `mark`."""
        params = (history_id, session_id, history_id, history_id, history_id)
        return self._tx.run(f"{_MARK} AND ? <= {_NEWEST}", *params) == 1

    def find_invalidated(self, limit: int, after: Session | None = None) -> list[Session]:
        """Return marked sessions of the whole home, oldest mark first; the next ones `after` one of them."""
        mark, session_id = (after.invalidated_at or 0, after.id) if after else (0, "")
        rows = self._tx.all(
            f"SELECT {_COLUMNS} FROM sessions WHERE invalidated_at IS NOT NULL "
            "AND (invalidated_at > ? OR (invalidated_at = ? AND id > ?)) ORDER BY invalidated_at, id LIMIT ?",
            *(mark, mark, session_id, limit),
        )
        return [from_row(row) for row in rows]

    def is_first_marked(self, session: Session) -> bool:
        """Return whether no earlier session of the same agent is marked: an agent's sessions are dispatched in
        order."""
        return not self._tx.one(
            "SELECT 1 FROM sessions WHERE agent_id = ? AND invalidated_at < ? AND id <> ? LIMIT 1",
            *(session.agent_id, session.invalidated_at, session.id),
        )

    def marked(self) -> tuple[int, datetime | None]:
        """Return how many sessions of the home are marked, and when the oldest record that waits in them
        arrived: the mark itself moves on with every record."""
        row = self._tx.one(
            "SELECT count(*), min(COALESCE((SELECT h.recorded_at FROM "
            f"{_NEWS} ORDER BY h.id LIMIT 1), s.created_at)) FROM sessions s WHERE invalidated_at > 0"
        )
        return (row[0], from_optional_micros(row[1])) if row else (0, None)

    def begin_dispatch(self, session_id: str, now: datetime, stuck_before: datetime) -> tuple[int, str]:
        """Note since when a worker has been dispatching this session. Return how often that failed, and the last
        error. A worker that began before `stuck_before`, and never came back, failed."""
        stuck = to_micros(stuck_before)
        self._tx.run(
            "UPDATE sessions SET dispatch_failures = dispatch_failures + "
            "CASE WHEN in_hand_since < ? THEN 1 ELSE 0 END, "
            "dispatch_error = CASE WHEN in_hand_since < ? THEN ? ELSE dispatch_error END, "
            "in_hand_since = CASE WHEN in_hand_since >= ? THEN in_hand_since ELSE ? END WHERE id = ?",
            *(stuck, stuck, "the worker hung or was killed", stuck, to_micros(now), session_id),
        )
        row = self._tx.one("SELECT dispatch_failures, dispatch_error FROM sessions WHERE id = ?", session_id)
        return (row[0], row[1]) if row else (0, "")

    def end_dispatch(self, session_id: str) -> None:
        """Note that no worker is dispatching this session any more."""
        self._tx.run("UPDATE sessions SET in_hand_since = NULL WHERE id = ?", session_id)

    def fail_dispatch(self, session: Session, failures: int, error: str) -> None:
        """Note that no worker is dispatching this session any more, and that the attempt failed. `session` and
        `failures` are what the worker read when it began. Where others that began with the same failed too, one
        failure is counted; none where another worker has moved the session's position since."""
        self.end_dispatch(session.id)
        self._tx.run(
            "UPDATE sessions SET dispatch_failures = dispatch_failures + 1, dispatch_error = ? "
            "WHERE id = ? AND dispatch_failures = ? AND COALESCE(processed_until, 0) = ?",
            *(error, session.id, failures, session.processed_until or 0),
        )

    def forget_failures(self, session_id: str) -> None:
        """Note that what failed to be dispatched is gone."""
        self._tx.run("UPDATE sessions SET dispatch_failures = 0, dispatch_error = '' WHERE id = ?", session_id)

    def longest_dispatching(self) -> tuple[str, datetime] | None:
        """Return the marked session of the home that a worker has been dispatching for longest, and since when."""
        row = self._tx.one(
            "SELECT id, in_hand_since FROM sessions WHERE invalidated_at > 0 AND in_hand_since IS NOT NULL "
            "ORDER BY in_hand_since, id LIMIT 1"
        )
        return (row[0], from_micros(row[1])) if row else None

    def oldest_overdue_record(self, before: datetime) -> datetime | None:
        """Return when the oldest record arrived that is not marked although its agent should have been asleep
        before this time; none where deadlines are acted on."""
        row = self._tx.one(
            f"SELECT (SELECT h.recorded_at FROM {_NEWS} ORDER BY h.id LIMIT 1) FROM agents a "
            "JOIN sessions s ON s.agent_id = a.id AND s.ended_at IS NULL "
            "WHERE a.sleep_due <= ? AND a.kind <> 'memory-agent' "
            f"AND EXISTS (SELECT 1 FROM {_NEWS} AND h.recorded_at <= ?) ORDER BY a.sleep_due LIMIT 1",
            *(to_micros(before), to_micros(before)),
        )
        return from_micros(row[0]) if row else None

    def mark_processed(self, session: Session, processed_until: int, failures: int = 0) -> bool:
        """Compare and swap: if mark and position are still those of `session` as it was read, move the
        position to `processed_until`, the last record that was actually loaded, and clear the mark. A
        mark that covers records beyond it stays, and the session's count of failures becomes `failures`; where
        the mark is cleared, it becomes 0. Says whether it did. The position never goes back, nor beyond what the
        session holds."""
        position = session.processed_until or 0
        if processed_until < position:
            return False
        newer = processed_until > position
        changed = self._tx.run(
            "UPDATE sessions SET processed_until = ?, in_hand_since = NULL, invalidated_at = CASE WHEN EXISTS ("
            "SELECT 1 FROM session_history h WHERE h.session_id = sessions.id AND h.id > ? "
            "AND h.id <= sessions.invalidated_at) THEN invalidated_at END "
            "WHERE id = ? AND invalidated_at = ? AND COALESCE(processed_until, 0) = ? "
            f"AND ? <= {_NEWEST}",
            *(processed_until, processed_until, session.id, session.invalidated_at, position),
            processed_until if newer else 0,
        )
        if changed:
            self._tx.run(
                "UPDATE sessions SET dispatch_failures = CASE WHEN invalidated_at IS NULL THEN 0 ELSE ? END, "
                "dispatch_error = '' WHERE id = ? AND dispatch_failures > 0",
                *(failures, session.id),
            )
        return changed == 1


def session_not_found(session_id: str) -> SessionNotFound:
    return SessionNotFound(
        f"No session of this user has the id {session_id!r}. List them with memory.sessions.list(agent)."
    )


def from_row(row: Row) -> Session:
    return Session(
        id=row[0],
        agent_id=row[1],
        created_at=from_micros(row[2]),
        ended_at=from_optional_micros(row[3]),
        reset_message=row[4],
        invalidated_at=row[5],
        processed_until=row[6],
    )
