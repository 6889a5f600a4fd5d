"""What was asked, and what came back: the rows of `recalls`, written behind a recall's back.

A durable commit takes as long as a third of a recall, so no recall waits for one. Rows wait in memory for a moment
and are written together; a kill in that moment costs them, and nothing else.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, Protocol, TypeAlias

from recollect.background import Background
from recollect.errors import InputError, RecollectError
from recollect.gate import checked_count
from recollect.secrecy import clean
from recollect.storage.base import Database, Row, Transaction
from recollect.types import Clock, micros, moment

log = logging.getLogger("recollect.recall")

Purpose: TypeAlias = Literal["search", "tool", "injection"]
"""Who asked: a program, an agent by its tool, or recollect itself for the context of a turn."""

KEPT = 10_000  # recalls of a profile that the log holds
MOST_WAITING = 10_000
LONGEST = 10_000  # characters of a question that are kept
GATHER = 0.2  # seconds in which what is asked goes into the same commit
IDLE = 3_600.0  # whoever asks wakes it
AFTER_FAILURE = 30.0

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
        raise InputError(f"The log has no recall {recall_id}. See memory.recalls() for those it has.")


class RecallLog:
    """Takes down what one owner's memory is asked. The first question starts its thread; `close` ends it."""

    def __init__(self, database: Database, owner: str, clock: Clock) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._waiting: deque[Recalled] = deque()
        self._lost = 0
        self._gate = threading.Lock()  # over what waits; held for a moment
        self._writing = threading.Lock()  # over the order of the rows; held for a commit
        self._closing = threading.Event()
        self._background = Background("recall-log", self._step, AFTER_FAILURE)

    def note(self, purpose: Purpose, agent_id: str, question: str, hits: Sequence[Scorable]) -> None:
        """Take a recall down. Waits for no disk, and never fails."""
        scored = tuple(Scored(hit.id, hit.score, rank) for rank, hit in enumerate(hits, 1))
        asked = Recalled(0, self._clock(), purpose, agent_id, question, scored)
        with self._gate:
            self._waiting.append(asked)
            self._drop_oldest()
        self._background.start()
        self._background.wake()

    def flush(self) -> None:
        """Write what waits, now. Where that fails, it goes on waiting."""
        with self._writing:
            with self._gate:
                waiting, self._waiting = self._waiting, deque()
                lost, self._lost = self._lost, 0
            if lost:
                log.warning("%d recalls are not in the log: more than %d waited to be written", lost, MOST_WAITING)
            if not waiting:
                return
            try:
                rows = [_told(one) for one in waiting]
                self._database.write(lambda tx: Recalls(tx, self._owner).add(rows))
            except BaseException:
                with self._gate:
                    self._waiting.extendleft(reversed(waiting))
                    self._drop_oldest()
                raise

    def recent(self, limit: int) -> list[Recalled]:
        checked_count(limit, "The limit")
        self.flush()
        return self._database.read(lambda tx: Recalls(tx, self._owner).recent(limit))

    def get(self, recall_id: int) -> Recalled:
        self.flush()
        return self._database.read(lambda tx: Recalls(tx, self._owner).get(recall_id))

    def close(self) -> None:
        """Write what waits, and end the thread."""
        self._closing.set()
        self._background.stop()
        try:
            self.flush()
        except RecollectError as error:
            log.error("%d recalls are not in the log: %s", len(self._waiting), error)

    def _step(self) -> float:
        if not self._waiting:
            return IDLE
        self._closing.wait(GATHER)
        self.flush()
        return IDLE

    def _drop_oldest(self) -> None:
        while len(self._waiting) > MOST_WAITING:
            self._waiting.popleft()
            self._lost += 1


def _told(one: Recalled) -> Recalled:
    """Without secrets: cut afterwards, for half a secret is not found."""
    return Recalled(one.id, one.at, one.purpose, one.agent_id, clean(one.question)[:LONGEST], one.hits)


def _recalled(row: Row) -> Recalled:
    id_, at, purpose, agent_id, question, hits = row
    return Recalled(
        *(id_, moment(at), purpose, agent_id, question), tuple(Scored(*scored) for scored in json.loads(hits))
    )
