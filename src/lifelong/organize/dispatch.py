"""How a marked session reaches its memory-agent: as a transcript in the inbox, exactly once.

The transcript is made outside any transaction. Then one transaction puts it into the inbox and advances the
session's position by compare-and-swap. If somebody else advanced it in between, nothing is put there and the
session stays marked. So no record is skipped, and none is delivered twice, however many workers try. If the mark
was renewed in between, it stays, for the records that the transcript does not hold.

A session that fails is tried again with half as many records each time, down to one. If that one fails again and
again, it is passed by as a dead item of the inbox, which a person sees and can retry, and the session goes on.
Each success doubles the records again, and the next one has all its attempts before it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial

from lifelong.collect.agents import AgentRow, Agents
from lifelong.collect.descriptors import MemoryAgent, is_foreground, is_organized
from lifelong.collect.erasures import check_erasures, erasure_count
from lifelong.collect.history import History, RecordPage
from lifelong.collect.lifecycle import Lifecycle
from lifelong.collect.sessions import Sessions
from lifelong.collect.transcript import BACKGROUND, FOREGROUND, transcript
from lifelong.errors import TEMPORARY_ERRORS, ErasedMeanwhile, StorageError
from lifelong.organize.inbox import Inbox, inbox_now
from lifelong.recall.feedback import corrected
from lifelong.recall.index_writer import played
from lifelong.redaction import redact, redact_start
from lifelong.storage.base import Database, Transaction
from lifelong.types import Clock, Session, StoredRecord

log = logging.getLogger("lifelong.organize")

SESSIONS_PER_QUERY = 10
MAX_LOADED_BYTES = 8 << 20  # of records that are read for one transcript, if they are more than one
STUCK_AFTER = timedelta(seconds=50)
"""Less than a minute, so that who looks a minute after a worker came to a stop sees it. A session is dispatched
within seconds, a worker looks for work every 30 seconds, and it sends heartbeats while it works on an item."""


@dataclass(frozen=True, slots=True)
class TranscriptBatch:
    """The next records of a session, as a transcript, and the count of erasures with which they were read. The
    text is empty if there is nothing to learn from; the agent is none if nothing may be learned from it. With an
    `error`, it is one record that is passed by. `failures` is the session's count of failures from then on."""

    session: Session
    until: int
    text: str
    agent: AgentRow | None
    erasures: int = 0
    error: str = ""
    failures: int = 0


@dataclass(frozen=True, slots=True)
class HandOver:
    """When a conversation that goes on is given to a model: after a pause, with so many characters, or after so
    long at the latest. Many small runs cost more than one."""

    pause: timedelta
    min_chars: int
    longest: timedelta

    def waits(self, tx: Transaction, session: Session, now: datetime) -> bool:
        """Return whether a marked session waits. One that ended, or whose agent sleeps, does not."""
        agent = Agents(tx).find_row(session.agent_id)
        found = History(tx).waiting(session.id, session.processed_until or 0)
        if session.ended_at or not agent or agent.state != "active" or not found:
            return False
        first, last, chars = found
        return now - last < self.pause and now - first < self.longest and chars < self.min_chars


class Dispatcher:
    """Puts the new records of marked sessions, for the whole home, into the inboxes of their memory-agents.
    Records that a person corrected are left out, and what was said in a play."""

    def __init__(
        self,
        database: Database,
        lifecycle: Lifecycle,
        clock: Clock,
        *,
        batch_records: int,
        batch_chars: int,
        tool_result_chars: int,
        max_attempts: int = 5,
        zone: tzinfo = UTC,
        hand_over: Callable[[], HandOver | None] = lambda: None,
    ) -> None:
        self._database = database
        self._lifecycle = lifecycle
        self._clock = clock
        self._batch_records = batch_records
        self._batch_chars = batch_chars
        self._tool_result_chars = tool_result_chars
        self._halvings = batch_records.bit_length() - 1  # until a record is tried alone
        self._max_failures = self._halvings + max_attempts
        self._zone = zone
        self._hand_over = hand_over
        self.error = ""

    def run(self, now: datetime, stopping: Callable[[], bool] = lambda: False, *, at_once: bool = True) -> int:
        """Dispatch everything that is marked; unless `at_once`, conversations that go on may wait for a pause.
        Return how many transcripts that were. A session that fails is logged, named in `error` and stays marked;
        if the database is unavailable, the error is raised."""
        dispatched, failed = 0, ""
        for session in self._marked():
            if stopping():
                break
            try:
                if at_once or not self._waits(session, now):
                    dispatched += self._dispatch(session, now)
            except TEMPORARY_ERRORS:
                raise
            except Exception as error:
                reason = type(error).__name__  # its text may hold what one user said, and health is for all
                failed = f"Session {session.id} cannot be dispatched, and stays marked: {reason}. See the log."
                log.exception("session %s could not be dispatched and stays marked", session.id)
        self.error = failed
        return dispatched

    def _waits(self, session: Session, now: datetime) -> bool:
        hand_over = self._hand_over()
        return hand_over is not None and self._database.read(lambda tx: hand_over.waits(tx, session, now))

    def _marked(self) -> Iterator[Session]:
        last: Session | None = None
        while page := self._database.read(partial(_find_marked, after=last)):
            yield from page
            if len(page) < SESSIONS_PER_QUERY:
                break
            last = page[-1]

    def _dispatch(self, session: Session, now: datetime) -> int:
        """Dispatch the session's records, a batch at a time, until its mark is gone or another worker was
        faster."""
        dispatched = 0
        while session.invalidated_at is not None:
            failures, why = self._note_start(session)
            find = partial(self._next_batch, session=session, failures=failures, error=why)
            try:
                batch = self._database.read(find)
                advanced = self._database.write(partial(self._deliver, batch=batch, now=now))
            except ErasedMeanwhile:
                continue
            except TEMPORARY_ERRORS:
                raise
            except Exception as error:
                self._note_failure(session, failures, type(error).__name__)
                raise
            if not advanced:
                self._note_end(session)
                break
            if batch.error:
                log.error("session %s: r%s was passed by. %s", session.id, batch.until, batch.error)
            if batch.text:
                log.info("session %s: dispatched up to r%s", session.id, batch.until)
                dispatched += 1
            session = advanced
        return dispatched

    def _note_start(self, session: Session) -> tuple[int, str]:
        """Note in the database that work on the session began: if it hangs, this process may not be able to say
        so. Return how often it failed so far, and the last error."""

        def begin(tx: Transaction) -> tuple[int, str]:
            now = inbox_now(tx, self._clock)
            return Sessions(tx).begin_dispatch(session.id, now, now - STUCK_AFTER)

        return self._database.write(begin)

    def _note_end(self, session: Session) -> None:
        """Note that nobody works on the session. If the database fails, the next attempt notes its own start."""
        with suppress(StorageError):
            self._database.write(lambda tx: Sessions(tx).end_dispatch(session.id))

    def _note_failure(self, session: Session, failures: int, error: str) -> None:
        """Note that nobody works on the session, and that the attempt failed, after `failures` earlier ones."""
        with suppress(StorageError):
            self._database.write(lambda tx: Sessions(tx).fail_dispatch(session, failures, error))

    def _next_batch(self, tx: Transaction, session: Session, failures: int, error: str) -> TranscriptBatch:
        after = session.processed_until or 0
        agent = Agents(tx).find_row(session.agent_id)
        if agent is None:
            log.warning("session %s has no agent any more; nothing is learned from it", session.id)
        if agent is None or not is_organized(agent.kind):
            newest = History(tx).max_id(session.id) or after
            return TranscriptBatch(session, newest, "", None)
        if failures >= self._max_failures:  # the next record has failed alone: it is not tried again
            passed = History(tx).until_bytes(session.id, after, 1, 0)
            why = f"No transcript could be made of this record in {failures} attempts: {error}. The log says more."
            return TranscriptBatch(session, passed, "", agent, erasure_count(tx, agent.owner), why)
        limit = self._batch_records >> failures or 1
        last = History(tx).until_bytes(session.id, after, limit, MAX_LOADED_BYTES)
        page = History(tx).load(session.id, after, until=last)
        left_out = {
            *corrected(tx, agent.owner, [recorded.id for recorded in page.records]),
            *played(tx, agent.owner, page.records),
        }
        records, text = self._fit(page, agent, left_out)
        until = page.until if len(records) == len(page.records) else records[-1].id
        left = max(0, min(failures, self._halvings) - 1)
        return TranscriptBatch(session, until, text, agent, erasure_count(tx, agent.owner), failures=left)

    def _fit(
        self, page: RecordPage, agent: AgentRow, left_out: Container[int]
    ) -> tuple[tuple[StoredRecord, ...], str]:
        """Return as many of the records as make a transcript within the limit, but at least one; and the
        transcript."""
        foreground = is_foreground(agent.kind)
        preamble = len(FOREGROUND if foreground else BACKGROUND)
        kept, chars = 0, preamble
        for recorded in page.records:
            if recorded.id not in left_out:
                chars += max(len(self._transcript([recorded], foreground)) - preamble, 0)
            if kept and chars > self._batch_chars:
                break
            kept += 1
        records = page.records[:kept]
        return records, self.make_text([one for one in records if one.id not in left_out], foreground)

    def make_text(self, records: Sequence[StoredRecord], foreground: bool) -> str:
        """Return the transcript of these records without secrets, cut where it is too long."""
        text, most = self._transcript(records, foreground), self._batch_chars
        if len(text) <= most:
            return redact(text)
        cut = f"\n\n[cut: {most:,} of {len(text):,} characters shown]"
        return redact_start(text, most) + cut

    def _transcript(self, records: Sequence[StoredRecord], foreground: bool) -> str:
        return transcript(
            records, foreground=foreground, tool_result_chars=self._tool_result_chars, zone=self._zone
        )

    def _deliver(self, tx: Transaction, batch: TranscriptBatch, now: datetime) -> Session | None:
        """Put the batch into the inbox and advance the session, both or neither. Return the session as it is then;
        none if somebody else was faster, or an earlier session of the agent must go first."""
        sessions, agent = Sessions(tx), batch.agent
        memory_agent = self._memory_agent(tx, agent, now) if agent and (batch.text or batch.error) else None
        session = sessions.find_for_update(batch.session.id)
        if (
            session is None
            or session.invalidated_at is None
            or session.processed_until != batch.session.processed_until
            or not sessions.is_first_marked(session)
            or not sessions.mark_processed(session, batch.until, batch.failures)
        ):
            return None
        if memory_agent:
            check_erasures(tx, memory_agent.owner, batch.erasures)
            after = session.processed_until or 0
            came_in = inbox_now(tx, self._clock)
            if batch.error:
                Inbox(tx).put_dead(memory_agent.id, session.id, after, batch.until, batch.error, came_in)
            else:
                Inbox(tx).put(memory_agent.id, batch.text, session.id, after, batch.until, came_in)
                self._lifecycle.wake(tx, memory_agent, now)
        return sessions.find_any(session.id)

    def _memory_agent(self, tx: Transaction, agent: AgentRow, now: datetime) -> AgentRow:
        """Return the memory-agent of this agent, made on first use, with its row locked."""
        descriptor = MemoryAgent(agent.id)
        found = Agents(tx).find(agent.owner, descriptor) or Agents(tx).resolve(
            agent.owner, descriptor, now, self._lifecycle.sleep_due(now)
        )
        return Agents(tx).get_for_update(agent.owner, found.id)


def _find_marked(tx: Transaction, after: Session | None) -> list[Session]:
    return Sessions(tx).find_invalidated(SESSIONS_PER_QUERY, after)
