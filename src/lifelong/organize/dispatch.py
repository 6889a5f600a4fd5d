"""How a marked session reaches its memory-agent: as a transcript in the inbox, exactly once.

The transcript is made outside any transaction. Then one transaction puts it in the inbox and moves the
session's position by compare-and-swap. If somebody else moved it in between, nothing is put there and the
session stays marked. So no record is skipped, and none is delivered twice, however many workers try. A mark
that only grew in between does no harm: it stays for what the transcript does not hold.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from lifelong.collect.agents import AgentRow, Agents
from lifelong.collect.descriptors import MemoryAgent, is_foreground, is_organized
from lifelong.collect.history import History, RecordPage
from lifelong.collect.lifecycle import Lifecycle
from lifelong.collect.sessions import Sessions
from lifelong.collect.transcript import transcript
from lifelong.errors import NOT_NOW, StorageError
from lifelong.organize.inbox import Inbox
from lifelong.organize.organizer import Corrected
from lifelong.redaction import redact
from lifelong.storage.base import Database, Transaction
from lifelong.types import Clock, Session, StoredRecord

log = logging.getLogger("lifelong.organize")

SESSIONS_A_QUERY = 10


@dataclass(frozen=True, slots=True)
class TranscriptBatch:
    """What is to be handed over: a session as it was read, and its next records as a transcript. It is
    empty where there is nothing to say, or nobody to say it for."""

    session: Session
    until: int
    text: str
    agent: AgentRow | None


class Dispatcher:
    """Carries marked sessions of the whole home to their memory-agents, but for records that were corrected."""

    def __init__(
        self,
        database: Database,
        lifecycle: Lifecycle,
        corrected: Corrected,
        clock: Clock,
        *,
        batch_records: int,
        batch_chars: int,
        tool_result_chars: int,
    ) -> None:
        self._database = database
        self._lifecycle = lifecycle
        self._corrected = corrected
        self._clock = clock
        self._batch_records = batch_records
        self._batch_chars = batch_chars
        self._tool_result_chars = tool_result_chars
        self.error = ""

    def run(self, now: datetime, stopping: Callable[[], bool] = lambda: False) -> int:
        """Hand over everything that is marked; how many transcripts that were. One session's failure is
        logged, said in `error` and leaves that session marked; a database that can do nothing just now ends it."""
        delivered, failed = 0, ""
        for session in self._marked():
            if stopping():
                break
            try:
                delivered += self._carry(session, now)
            except NOT_NOW:
                raise
            except Exception as error:
                failed = f"A session cannot be handed over, and stays marked: {type(error).__name__}: {error}"
                log.exception("session %s could not be handed over and stays marked", session.id)
                self._let_go(session)
        self.error = failed
        return delivered

    def _marked(self) -> Iterator[Session]:
        last: Session | None = None
        while page := self._database.read(partial(_find_marked, after=last)):
            yield from page
            if len(page) < SESSIONS_A_QUERY:
                break
            last = page[-1]

    def _carry(self, session: Session, now: datetime) -> int:
        """Hand over what the session holds, a batch at a time, until its mark is gone or another worker
        was quicker."""
        delivered = 0
        while session.invalidated_at is not None:
            self._take_in_hand(session)
            parcel = self._database.read(partial(self._parcel, session=session))
            moved = self._database.write(partial(self._deliver, parcel=parcel, now=now))
            if not moved:
                self._let_go(session)
                break
            if parcel.text:
                log.info("session %s: handed over up to r%s", session.id, parcel.until)
                delivered += 1
            session = moved
        return delivered

    def _take_in_hand(self, session: Session) -> None:
        """Say in the database what is begun: if it never ends, this process may not be able to say so."""
        self._database.write(lambda tx: Sessions(tx).set_in_hand(session.id, self._clock()))

    def _let_go(self, session: Session) -> None:
        """Say that nobody hands the session over now. Where that cannot be said, the next attempt says what is."""
        with suppress(StorageError):
            self._database.write(lambda tx: Sessions(tx).set_in_hand(session.id, None))

    def _parcel(self, tx: Transaction, session: Session) -> TranscriptBatch:
        after = session.processed_until or 0
        agent = Agents(tx).peek(session.agent_id)
        if agent is None:
            log.warning("session %s belongs to no agent any more; nothing is learned from it", session.id)
        if agent is None or not is_organized(agent.kind):
            newest = History(tx).max_id(session.id) or after
            return TranscriptBatch(session, newest, "", None)
        stretch = History(tx).load(session.id, after, self._batch_records)
        corrected = self._corrected(tx, agent.owner, [recorded.id for recorded in stretch.records])
        records, text = self._fitting(stretch, agent, corrected)
        until = stretch.until if len(records) == len(stretch.records) else records[-1].id
        return TranscriptBatch(session, until, text, agent)

    def _fitting(
        self, stretch: RecordPage, agent: AgentRow, corrected: Container[int]
    ) -> tuple[tuple[StoredRecord, ...], str]:
        """As many of the records as make a transcript that is not too long, but one at least; and the transcript,
        without those that were corrected."""
        records = stretch.records
        while True:
            text = transcript(
                [recorded for recorded in records if recorded.id not in corrected],
                foreground=is_foreground(agent.kind),
                tool_result_chars=self._tool_result_chars,
            )
            if len(text) <= self._batch_chars:
                return records, redact(text)
            if len(records) == 1:
                cut = f"\n\n[cut: {self._batch_chars:,} of {len(text):,} characters shown]"
                return records, redact(text)[: self._batch_chars] + cut
            records = records[: len(records) // 2]

    def _deliver(self, tx: Transaction, parcel: TranscriptBatch, now: datetime) -> Session | None:
        """Put the parcel into the inbox and move the session on, both or neither. The session as it is
        then; none where somebody else was quicker, or an earlier session of the agent has to go first."""
        sessions, agent = Sessions(tx), parcel.agent
        memory_agent = self._memory_agent(tx, agent, now) if agent and parcel.text else None
        session = sessions.take(parcel.session.id)
        if (
            session is None
            or session.invalidated_at is None
            or session.processed_until != parcel.session.processed_until
            or not sessions.is_first_marked(session)
            or not sessions.mark_processed(session, parcel.until)
        ):
            return None
        if memory_agent:
            after = session.processed_until or 0
            Inbox(tx).put(memory_agent.id, parcel.text, session.id, after, parcel.until, now)
            self._lifecycle.wake(tx, memory_agent, now)
        return sessions.peek(session.id)

    def _memory_agent(self, tx: Transaction, agent: AgentRow, now: datetime) -> AgentRow:
        """The memory-agent of this agent, made on first use; its row is taken."""
        descriptor = MemoryAgent(agent.id)
        known = Agents(tx).find(agent.owner, descriptor) or Agents(tx).resolve(
            agent.owner, descriptor, now, self._lifecycle.sleep_due(now)
        )
        return Agents(tx).take(agent.owner, known.id)


def _find_marked(tx: Transaction, after: Session | None) -> list[Session]:
    return Sessions(tx).find_invalidated(SESSIONS_A_QUERY, after)
