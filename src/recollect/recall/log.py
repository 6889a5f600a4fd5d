"""What was asked, and what came back: the rows of `recalls`, written behind a recall's back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, Protocol, TypeAlias

from recollect.errors import UnknownRecall
from recollect.gate import checked_count
from recollect.recall.behind import Behind
from recollect.secrecy import clean
from recollect.storage.base import Database, Row, Transaction
from recollect.types import Clock, micros, moment

Purpose: TypeAlias = Literal["search", "tool", "injection"]
"""Who asked: a program, an agent by its tool, or recollect itself for the context of a turn."""

KEPT = 10_000  # recalls of a profile that the log holds
LONGEST = 10_000  # characters of a question that are kept

_COLUMNS = "id, at, purpose, agent_id, question, hits"


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


class Recalls:
    """`recalls` of one owner, seen through a transaction."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner

    def add(self, asked: Sequence[Recalled]) -> None:
        """Store them, each with an id of its own, and let the oldest go that are too many."""
        self._tx.many(
            "INSERT INTO recalls (owner, at, purpose, agent_id, question, hits) VALUES (?, ?, ?, ?, ?, ?)",
            [
                (self._owner, micros(one.at), one.purpose, one.agent_id, one.question, json.dumps(one.hits))
                for one in asked
            ],
        )
        self._tx.run(
            "DELETE FROM recalls WHERE owner = ? AND id <= "
            "(SELECT id FROM recalls WHERE owner = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
            *(self._owner, self._owner, KEPT),
        )

    def recent(self, limit: int) -> list[Recalled]:
        """The newest first."""
        which = f"SELECT {_COLUMNS} FROM recalls WHERE owner = ? ORDER BY id DESC LIMIT ?"
        return [_recalled(row) for row in self._tx.all(which, self._owner, limit)]

    def get(self, recall_id: int) -> Recalled:
        row = self._tx.one(f"SELECT {_COLUMNS} FROM recalls WHERE owner = ? AND id = ?", *(self._owner, recall_id))
        if row:
            return _recalled(row)
        raise UnknownRecall(f"The log has no recall {recall_id}. See memory.recalls() for those it has.")


class RecallLog:
    """Takes down what one owner's memory is asked."""

    def __init__(self, database: Database, owner: str, clock: Clock) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._behind: Behind[Recalled] = Behind("recall-log", "recalls are not in the log", self._write)

    def note(self, purpose: Purpose, agent_id: str, question: str, hits: Sequence[Scorable]) -> None:
        """Take a recall down. Waits for no disk, and never fails."""
        scored = tuple(Scored(hit.id, hit.score, rank) for rank, hit in enumerate(hits, 1))
        self._behind.note(Recalled(0, self._clock(), purpose, agent_id, question, scored))

    def flush(self) -> None:
        """Write what waits, now. Where that fails, it goes on waiting."""
        self._behind.flush()

    def recent(self, limit: int) -> list[Recalled]:
        checked_count(limit, "The limit")
        self.flush()
        return self._database.read(lambda tx: Recalls(tx, self._owner).recent(limit))

    def get(self, recall_id: int) -> Recalled:
        self.flush()
        return self._database.read(lambda tx: Recalls(tx, self._owner).get(recall_id))

    def close(self) -> None:
        """Write what waits, and end the thread."""
        self._behind.close()

    def _write(self, asked: Sequence[Recalled]) -> None:
        rows = [_told(one) for one in asked]
        self._database.write(lambda tx: Recalls(tx, self._owner).add(rows))


def _told(one: Recalled) -> Recalled:
    """Without secrets: cut afterwards, for half a secret is not found."""
    return Recalled(one.id, one.at, one.purpose, one.agent_id, clean(one.question)[:LONGEST], one.hits)


def _recalled(row: Row) -> Recalled:
    id_, at, purpose, agent_id, question, hits = row
    return Recalled(
        *(id_, moment(at), purpose, agent_id, question), tuple(Scored(*scored) for scored in json.loads(hits))
    )
