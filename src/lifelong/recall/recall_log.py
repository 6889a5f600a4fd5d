"""What was asked, and what came back: the rows of `recalls`, written behind a recall's back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, Protocol, TypeAlias

from lifelong.errors import InputError, RecallNotFound
from lifelong.recall.write_behind import WriteBehind
from lifelong.redaction import redact
from lifelong.storage.base import NO_LIMIT, Database, Row, Transaction
from lifelong.types import Clock, from_micros, to_micros
from lifelong.validation import validate_count

Purpose: TypeAlias = Literal["search", "tool", "injection"]
"""Who asked: a program, an agent by its tool, or lifelong itself for the context of a turn."""

KEPT = 10_000  # recalls of a user that the log holds
LONGEST = 10_000  # characters of a question that are kept


class Scorable(Protocol):
    """What came back: a hit, or an experience by the id of its item."""

    @property
    def id(self) -> str: ...

    @property
    def score(self) -> float: ...


class Scored(NamedTuple):
    """A hit as the log has it: what it said is found by its id."""

    id: str
    score: float
    rank: int


@dataclass(frozen=True, slots=True)
class Recalled:
    """A question that was asked, without secrets, and what came back, best first."""

    id: int
    at: datetime
    purpose: Purpose
    agent_id: str
    question: str
    hits: tuple[Scored, ...]


class RecallLog:
    """Takes down what one owner's memory is asked: the newest `KEPT` recalls."""

    def __init__(self, database: Database, owner: str, clock: Clock, writer: RecallLogWriter) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._writer = writer

    def note(self, purpose: Purpose, agent_id: str, question: str, hits: Sequence[Scorable]) -> None:
        """Take a recall down. Waits for no disk, and never fails."""
        scored = tuple(Scored(hit.id, hit.score, rank) for rank, hit in enumerate(hits, 1))
        self._writer.note(self._owner, Recalled(0, self._clock(), purpose, agent_id, question, scored))

    def recent(self, limit: int) -> list[Recalled]:
        """The newest first."""
        validate_count(limit, "The limit")
        return self._read("ORDER BY id DESC LIMIT ?", limit)

    def get(self, recall_id: int) -> Recalled:
        if type(recall_id) is not int or not 0 <= recall_id < NO_LIMIT:
            raise InputError(
                f"The recall's id cannot be {recall_id!r:.200}. memory.admin.recall_log() gives those there are."
            )
        for found in self._read("AND id = ?", recall_id):
            return found
        raise RecallNotFound(f"The log has no recall {recall_id}. See memory.admin.recall_log() for those it has.")

    def _read(self, which: str, number: int) -> list[Recalled]:
        self._writer.flush()
        sql = f"SELECT id, at, purpose, agent_id, question, hits FROM recalls WHERE owner = ? {which}"
        return [_recalled(row) for row in self._database.read(lambda tx: tx.all(sql, self._owner, number))]


class RecallLogWriter:
    """Write the recalls of all owners behind the caller's back, several at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._behind: WriteBehind[tuple[str, Recalled]] = WriteBehind(
            "recall-log", "recalls are not in the log", self._write
        )

    def note(self, owner: str, asked: Recalled) -> None:
        """Take a recall down. Waits for no disk, and never fails."""
        self._behind.note((owner, asked))

    def flush(self) -> None:
        """Write what waits, now. Where that fails, it goes on waiting."""
        self._behind.flush()

    def close(self) -> None:
        """Write what waits, and end the thread."""
        self._behind.close()

    def _write(self, asked: Sequence[tuple[str, Recalled]]) -> None:
        """Give each an id of its own, and redact it before it is cut, since half a secret is not found. Of each
        owner, the oldest that are too many go."""
        rows = [
            (
                owner,
                to_micros(one.at),
                one.purpose,
                one.agent_id,
                redact(one.question)[:LONGEST],
                json.dumps(one.hits),
            )
            for owner, one in asked
        ]

        def work(tx: Transaction) -> None:
            columns = "(owner, at, purpose, agent_id, question, hits)"
            tx.many(f"INSERT INTO recalls {columns} VALUES (?, ?, ?, ?, ?, ?)", rows)
            for owner in {owner for owner, _ in asked}:
                tx.run(
                    "DELETE FROM recalls WHERE owner = ? AND id <= "
                    "(SELECT id FROM recalls WHERE owner = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
                    *(owner, owner, KEPT),
                )

        self._database.write(work)


def _recalled(row: Row) -> Recalled:
    id_, at, purpose, agent_id, question, hits = row
    return Recalled(
        *(id_, from_micros(at), purpose, agent_id, question), tuple(Scored(*scored) for scored in json.loads(hits))
    )
