"""The log of searches: what was asked, and what came back. Rows of `recalls`, written in the background."""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from lifelong.collect.erasures import erasure_count, is_unchanged
from lifelong.errors import InputError, LifelongError, RecallNotFound
from lifelong.periodic import PeriodicThread
from lifelong.redaction import redact_start
from lifelong.storage.base import NO_LIMIT, Database, Param, Row, Transaction
from lifelong.types import Clock, from_micros, to_micros
from lifelong.validation import validate_count

Purpose: TypeAlias = Literal["search", "tool", "injection"]
"""Who asked: a program, an agent by its tool, or lifelong itself for the context of a turn."""

log = logging.getLogger("lifelong.recall")

T = TypeVar("T")

MAX_LOGGED_RECALLS = 10_000  # of a user; the oldest go
MAX_LOGGED_CHARS = 10_000  # of a question
MAX_WAITING_ROWS = 10_000
MAX_INJECTIONS = 1_000  # of an agent, the newest, in which what it was given is looked for
GATHER_SECONDS = 0.2  # in which rows go into the same commit
IDLE_SECONDS = 3_600.0  # a new row wakes the thread
RETRY_SECONDS = 30.0  # after a failure


class WriteBehind(Generic[T]):
    """Call `write` in a thread with the rows that were put, in order, several at a time. A durable commit takes a
    third of a search's time, so a caller that only asks does not wait for one. What waits is lost when the process
    is killed.

    The first row starts the thread; `close` ends it. `loss` says for the log what it means that rows could not be
    written: "recalls are not in the log"."""

    def __init__(self, name: str, loss: str, write: Callable[[Sequence[T]], object]) -> None:
        self._loss = loss
        self._write = write
        self._waiting: deque[T] = deque()
        self._in_flight: deque[T] = deque()  # what is being written
        self._lost = 0
        self._gate = threading.Lock()  # over `_waiting`; held for a moment
        self._writing = threading.Lock()  # keeps the order of the rows; held for a commit
        self._closing = threading.Event()
        self._background = PeriodicThread(name, self._step, RETRY_SECONDS)

    def put(self, one: T) -> None:
        """Queue a row. Waits for no disk, and never fails."""
        with self._gate:
            self._waiting.append(one)
            self._drop_oldest()
        self._background.start()
        self._background.wake()

    def flush(self) -> None:
        """Write what waits, now. Rows that cannot be written go on waiting."""
        with self._writing:
            with self._gate:
                waiting, self._waiting = self._waiting, deque()
                self._in_flight = waiting
                lost, self._lost = self._lost, 0
            if lost:
                log.warning("%d %s: more than %d waited to be written", lost, self._loss, MAX_WAITING_ROWS)
            if not waiting:
                return
            try:
                self._write(waiting)
            except BaseException:
                with self._gate:
                    self._waiting.extendleft(reversed(waiting))
                    self._in_flight = deque()
                    self._drop_oldest()
                raise
            with self._gate:
                self._in_flight = deque()

    def unwritten(self) -> list[T]:
        """Return the rows that may not be written yet, oldest first. What is read from the database afterwards has
        the others."""
        with self._gate:
            return [*self._in_flight, *self._waiting]

    def close(self) -> None:
        """Write what waits, and end the thread."""
        self._closing.set()
        self._background.stop()
        try:
            self.flush()
        except LifelongError as error:
            log.error("%d %s: %s", len(self._waiting), self._loss, error)

    def _step(self) -> float:
        if not self._waiting:
            return IDLE_SECONDS
        self._closing.wait(GATHER_SECONDS)
        self.flush()
        return IDLE_SECONDS

    def _drop_oldest(self) -> None:
        while len(self._waiting) > MAX_WAITING_ROWS:
            self._waiting.popleft()
            self._lost += 1


class Scorable(Protocol):
    """What came back: a hit, or an experience by the id of its item."""

    @property
    def id(self) -> str: ...

    @property
    def score(self) -> float: ...


LogHits: TypeAlias = Callable[[Sequence[Scorable]], None]
"""Logs what came back for a question."""


class Scored(NamedTuple):
    """A hit as the log has it. Its text is found by its id."""

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
    """The newest searches of one owner."""

    def __init__(self, database: Database, owner: str, clock: Clock, writer: RecallLogWriter) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._writer = writer

    def begin(self, purpose: Purpose, agent_id: str, question: str) -> LogHits:
        """Begin a search. Return what logs it with its hits, which waits for no disk, and never fails. Where
        something is forgotten before it is written, it is not logged."""
        erasures = self._database.read(lambda tx: erasure_count(tx, self._owner))

        def log_hits(hits: Sequence[Scorable]) -> None:
            scored = tuple(Scored(hit.id, hit.score, rank) for rank, hit in enumerate(hits, 1))
            asked = Recalled(0, self._clock(), purpose, agent_id, question, scored)
            self._writer.log(self._owner, asked, erasures)

        return log_hits

    def recent(self, limit: int) -> list[Recalled]:
        """Return the newest first."""
        validate_count(limit, "The limit")
        return self._read("ORDER BY id DESC LIMIT ?", limit)

    def injected(self, agent_id: str, since: datetime | None) -> list[str]:
        """Return the ids of what contexts gave an agent since a time, as far as its newest MAX_INJECTIONS tell. A
        prompt waits for it, so nothing is written first: what is on its way to the database is read here."""
        waiting = self._writer.unwritten(self._owner, agent_id)
        rows = self._database.read(
            lambda tx: tx.all(
                "SELECT hits FROM recalls WHERE owner = ? AND agent_id = ? AND purpose = 'injection' AND at >= ? "
                "ORDER BY id DESC LIMIT ?",
                *(self._owner, agent_id, to_micros(since) if since else 0, MAX_INJECTIONS),
            )
        )
        given = [scored.id for one in waiting if not (since and one.at < since) for scored in one.hits]
        return list(dict.fromkeys([*given, *(str(scored[0]) for row in rows for scored in json.loads(row[0]))]))

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
    """Write the logs of all owners in one thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._behind: WriteBehind[tuple[str, int, Recalled]] = WriteBehind(
            "recall-log", "recalls are not in the log", self._write
        )

    def log(self, owner: str, asked: Recalled, erasures: int) -> None:
        """Log a search that was begun at this count of erasures. Waits for no disk, and never fails."""
        self._behind.put((owner, erasures, asked))

    def unwritten(self, owner: str, agent_id: str) -> list[Recalled]:
        """Return what contexts gave an agent that may not be in the database yet."""
        return [
            one
            for whose, _, one in self._behind.unwritten()
            if whose == owner and one.agent_id == agent_id and one.purpose == "injection"
        ]

    def flush(self) -> None:
        """Write what waits, now."""
        self._behind.flush()

    def close(self) -> None:
        """Write what waits, and end the thread."""
        self._behind.close()

    def _write(self, asked: Sequence[tuple[str, int, Recalled]]) -> None:
        """Insert the rows, and delete the oldest of each owner beyond the limit."""
        rows: dict[tuple[str, int], list[tuple[Param, ...]]] = {}
        for owner, erasures, one in asked:
            rows.setdefault((owner, erasures), []).append(
                (
                    owner,
                    to_micros(one.at),
                    one.purpose,
                    one.agent_id,
                    redact_start(one.question, MAX_LOGGED_CHARS),
                    json.dumps(one.hits),
                )
            )

        def work(tx: Transaction) -> None:
            columns = "(owner, at, purpose, agent_id, question, hits)"
            for owner, erasures in sorted(rows):
                if is_unchanged(tx, owner, erasures):
                    tx.many(f"INSERT INTO recalls {columns} VALUES (?, ?, ?, ?, ?, ?)", rows[owner, erasures])
            for owner in {owner for owner, _ in rows}:
                tx.run(
                    "DELETE FROM recalls WHERE owner = ? AND id <= "
                    "(SELECT id FROM recalls WHERE owner = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
                    *(owner, owner, MAX_LOGGED_RECALLS),
                )

        self._database.write(work)


def _recalled(row: Row) -> Recalled:
    id_, at, purpose, agent_id, question, hits = row
    return Recalled(
        *(id_, from_micros(at), purpose, agent_id, question), tuple(Scored(*scored) for scored in json.loads(hits))
    )
