"""How an inbox item becomes knowledge: an organizer edits a draft, and all of it is committed at once.

One transaction commits the changeset, finishes the item and notes the run in the memory-agent's own session. If a
worker dies before that, only its lease remains, until it expires; a worker that lost its lease commits nothing.

A run that an error ended in the middle commits what it finished. Its transcript stays in the inbox whole and is
organized again: facts that are there already are not added twice.

While the provider of the model is out, everything waits: one item tries from time to time whether it answers
again, the one that has waited longest. That is no failed attempt, so an outage of any length loses nothing. The
provider counts as out when it says so, or failed on two items in a row: one on which it fails alone waits alone.
"""

from __future__ import annotations

import logging
import random
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from lifelong.collect.agents import AgentRow, Agents
from lifelong.collect.descriptors import User, cache_key, folder_of, is_foreground
from lifelong.collect.erasures import check_erasures, erasure_count
from lifelong.collect.history import History, to_row
from lifelong.collect.sessions import Sessions
from lifelong.errors import (
    TEMPORARY_ERRORS,
    DailyCapExceeded,
    ErasedMeanwhile,
    LeaseLost,
    LifelongError,
    ModelUnavailable,
    ModelUnusable,
    RunBudgetExceeded,
    StaleWrite,
    StorageConflict,
    StorageFull,
)
from lifelong.organize.changesets import commit, end_corrected, rebase
from lifelong.organize.document_rows import MEMORY_ROOT, DocumentRows
from lifelong.organize.draft import Draft
from lifelong.organize.identity import Identities
from lifelong.organize.inbox import UNUSABLE, WAITING, Inbox, Lease, inbox_now
from lifelong.organize.organizer import Organizer, RunResult, Transcript
from lifelong.organize.review import hold_facts
from lifelong.organize.write_policy import DATA, WritePolicy
from lifelong.recall.feedback import corrected
from lifelong.recall.index_writer import played
from lifelong.redaction import redact
from lifelong.storage.base import Database, Transaction
from lifelong.types import AssistantMessage, Changeset, Clock, Record, StoredRecord, SystemMessage, to_micros

log = logging.getLogger("lifelong.organize")

MAX_ERROR_CHARS = 1_000
MAX_SUMMARY_CHARS = 1_000
MAX_ROUND_SECONDS = 10.0
MAX_CONFLICT_RETRIES = 5  # of a run whose documents somebody else edited meanwhile
MAX_LEASES_LOST = 20  # an item that ended its worker more often than this is not tried again
DATA_BEFORE = 100  # records of a session before a transcript, whose data it may repeat
MAX_RUN_SECONDS = 3_600.0  # a run that takes longer hangs: its lease is not renewed any more
PAUSE = timedelta(minutes=1)  # before an item that has to wait is tried again
MAX_OUTAGE_PAUSE = timedelta(minutes=10)  # between two looks whether the model answers again
MAX_RETRY_AFTER = timedelta(days=1)  # that a provider may ask for


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long a lease lasts without a heartbeat, and how failures are retried: after `first_delay`, then twice as
    long each time, at most `max_delay`, with 20 % jitter, and `max_attempts` times in all."""

    lease: timedelta
    max_attempts: int
    first_delay: timedelta
    max_delay: timedelta

    def next_attempt(self, attempts: int, now: datetime) -> datetime | None:
        """Return when to try again after this many attempts; none if that was the last."""
        if attempts >= self.max_attempts:
            return None
        delay: timedelta = min(self.max_delay, self.first_delay * 2 ** min(attempts - 1, 30))
        return now + delay * random.uniform(0.8, 1.2)


class MemoryAgentRunner:
    """Works on the inbox of the whole home."""

    def __init__(
        self,
        database: Database,
        organizer: Organizer,
        clock: Clock,
        retry: RetryPolicy,
        *,
        context_chars: int,
        make_text: Callable[[Sequence[StoredRecord], bool], str],
        substitute: Organizer | None = None,
        reviews: bool = False,
    ) -> None:
        """`make_text` makes the transcript of an item that has none yet. `substitute` organizes while the
        organizer's model cannot be asked; none: the work waits. `reviews`: what binds somebody and rests on an
        agent's word alone waits for a person."""
        self._reviews = reviews
        self._database = database
        self._organizer = organizer
        self._substitute = substitute
        self._outages = 0  # in a row
        self._failing_item: int | None = None  # with the first of them
        self._paused_until: datetime | None = None
        self._started = False
        self._clock = clock
        self._retry = retry
        self._context_chars = context_chars
        self._make_text = make_text

    def work(self, stopping: Callable[[], bool] = lambda: False) -> tuple[int, int]:
        """Work on what is due, item by item, for at most MAX_ROUND_SECONDS: deadlines and marks must not wait
        behind a long queue. Return how many runs were finished, and how many failed."""
        finished = failed = 0
        deadline = time.monotonic() + MAX_ROUND_SECONDS
        if not self._started:  # the settings may have been mended since an item began to wait
            self._database.write(lambda tx: Inbox(tx).resume(self._now(tx)))
            self._started = True
        self._correct_times()
        while time.monotonic() < deadline and not stopping() and not self._blocked() and (lease := self._claim()):
            if self._run(lease):
                finished += 1
            else:
                failed += 1
        return finished, failed

    def _now(self, tx: Transaction) -> datetime:
        return inbox_now(tx, self._clock)

    def _correct_times(self) -> None:
        longest = max(MAX_RETRY_AFTER, self._retry.max_delay * 1.2)
        if late := self._database.write(lambda tx: Inbox(tx).correct_times(self._now(tx), longest)):
            log.warning("%s inbox item(s) were put off by a clock that was wrong; they are due now", late)

    def _blocked(self) -> bool:
        return bool(self._organizer.blocked_reason()) or (self._is_out() and self._substitute is None)

    def _is_out(self) -> bool:
        """Return whether the model did not answer last time, and is not asked again yet."""
        return self._paused_until is not None and self._clock() < self._paused_until

    def _claim(self) -> Lease | None:
        """Lease the next item. One that ended its worker too often is given up on the way."""
        while (lease := self._database.write(self._lease)) and lease.item.losses > MAX_LEASES_LOST:
            error = f"The worker ended {lease.item.losses} times while it worked on this item, without an error."
            self._fail(lease, error, final=True)
        return lease

    def _lease(self, tx: Transaction) -> Lease | None:
        now = self._now(tx)
        return Inbox(tx).claim(now, now + self._retry.lease)

    def _run(self, lease: Lease) -> bool:
        """Work on the item and return whether that succeeded. A failed item goes back to the inbox; if the
        database is unavailable, the error is raised and the lease expires by itself."""
        try:
            with self._heartbeat(lease):
                self._organize(lease)
        except (DailyCapExceeded, StaleWrite, StorageFull) as error:
            reason = str(error).partition("\n")[0]
            log.warning("inbox item %s waits: %s", lease.item.id, reason)
            self._database.write(lambda tx: Inbox(tx).release(lease, reason, self._now(tx), PAUSE))
        except (ModelUnavailable, ModelUnusable) as error:
            self._wait(lease, error)
        except TEMPORARY_ERRORS:
            raise
        except LeaseLost as error:
            log.warning("inbox item %s: the run was discarded. %s", lease.item.id, error)
        except RunBudgetExceeded as error:
            self._fail(lease, str(error), final=True)
        except LifelongError as error:
            self._fail(lease, str(error))
        except Exception as error:
            log.error(
                "inbox item %s failed with an unexpected error: %s", lease.item.id, redact(traceback.format_exc())
            )
            self._fail(lease, f"{type(error).__name__}: {error}")
        else:
            return True
        return False

    def _organize(self, lease: Lease) -> None:
        for retries_left in reversed(range(MAX_CONFLICT_RETRIES)):
            transcript, erasures = self._database.read(partial(self._transcript, lease=lease))
            draft = self._draft(transcript)
            organizer = self._substitute if self._substitute and self._is_out() else self._organizer
            try:
                result = organizer.organize(transcript, draft)
            except (ModelUnavailable, ModelUnusable) as error:
                if organizer is self._substitute or not self._substitute:
                    raise
                log.warning("inbox item %s: %s organizes it: %s", lease.item.id, self._substitute.name, error)
                self._pause(lease, error)
                organizer, draft = self._substitute, self._draft(transcript)
                result = organizer.organize(transcript, draft)
            commit_run = partial(
                self._commit_run,
                lease=lease,
                transcript=transcript,
                draft=draft,
                result=result,
                organizer=organizer.name,
                erasures=erasures,
            )
            try:
                self._write(commit_run, draft)
            except (StaleWrite, StorageConflict):
                if result.unfinished:
                    raise result.unfinished from None
                if not retries_left:
                    raise
                log.info("inbox item %s: the documents changed meanwhile; organizing it again", lease.item.id)
            else:
                log.info("inbox item %s: %s", lease.item.id, redact(result.summary)[-MAX_SUMMARY_CHARS:])
                if result.unfinished:
                    raise result.unfinished
                if organizer is self._organizer:
                    self._outages, self._failing_item, self._paused_until = 0, None, None
                return

    def _draft(self, transcript: Transcript) -> Draft:
        def provenance(record: int) -> str:
            return self._database.read(lambda tx: History(tx).provenance(transcript.owner, record))

        policy = WritePolicy(transcript, provenance, reviews=self._reviews)
        return Draft(self._database, transcript.owner, below=MEMORY_ROOT, policy=policy)

    def _write(self, commit_run: Callable[[Transaction], None], draft: Draft) -> None:
        """Commit the run, rebased on other people's edits if these touch other paragraphs."""
        for _ in range(MAX_CONFLICT_RETRIES):
            try:
                return self._database.write(commit_run)
            except ErasedMeanwhile:
                raise
            except StaleWrite:
                if not self._database.read(lambda tx: rebase(tx, draft)):
                    raise
        return self._database.write(commit_run)

    def _transcript(self, tx: Transaction, lease: Lease) -> tuple[Transcript, int]:
        """Return what to organize, and the count of erasures with which it was read."""
        item = lease.item
        session = Sessions(tx).find_any(item.session_id)
        source = Agents(tx).find_row(session.agent_id) if session else None
        memory_agent = Agents(tx).find_row(item.agent_id)
        if not memory_agent:
            raise LeaseLost("What it should organize was forgotten.")
        records = History(tx).between(item.session_id, item.after, item.until)
        left_out = {
            *corrected(tx, memory_agent.owner, [recorded.id for recorded in records]),
            *played(tx, memory_agent.owner, records),
        }
        identities = Identities(tx, memory_agent.owner)
        kept = tuple(
            identities.named(recorded, source.id if source else "")
            for recorded in records
            if recorded.id not in left_out
        )
        foreground = bool(source and is_foreground(source.kind))
        found = Transcript(
            owner=memory_agent.owner,
            agent_id=source.id if source else "",
            session_id=item.session_id,
            after=item.after,
            until=item.until,
            text=item.text or self._make_text(kept, foreground),
            records=kept,
            foreground=foreground,
            user_address=self._user_address(tx, source),
            project=folder_of(Agents(tx).get(source.owner, source.id).descriptor) if source else "",
            recent=partial(self._database.read, partial(self._recent, agent=memory_agent)),
            inbox_id=item.id,
            agent=cache_key(Agents(tx).get(source.owner, source.id).descriptor) if source else "",
            is_guest=source is not None and identities.is_guest(source.id),
            data_before=tuple(
                one
                for one in History(tx).last(item.session_id, DATA_BEFORE, item.after)
                if one.record.provenance in DATA
            ),
        )
        return found, erasure_count(tx, memory_agent.owner)

    def _user_address(self, tx: Transaction, source: AgentRow | None) -> str:
        """Return the address of the person whom the source agent talks to: their names may be the same."""
        descriptor = Agents(tx).get(source.owner, source.id).descriptor if source else None
        return descriptor.user_id if isinstance(descriptor, User) else ""

    def _recent(self, tx: Transaction, agent: AgentRow) -> str:
        """Return the notes of the last runs, from the memory-agent's own session."""
        session = Sessions(tx).newest(agent.id)
        notes = History(tx).find_since_id(session.id, 0) if session else []
        return "\n".join(getattr(recorded.record, "text", "") for recorded in notes)[-self._context_chars :]

    def _commit_run(
        self,
        tx: Transaction,
        lease: Lease,
        transcript: Transcript,
        draft: Draft,
        result: RunResult,
        organizer: str,
        erasures: int,
    ) -> None:
        now = self._clock()
        agent = Agents(tx).lock([lease.item.agent_id]).get(lease.item.agent_id)
        if not agent:
            raise LeaseLost("What it should organize was forgotten.")
        summary = redact(result.summary)[:MAX_SUMMARY_CHARS]
        self._note_run(tx, agent, transcript, summary, now)
        Inbox(tx).lock(lease)
        draft, ended = self._end_corrected(tx, transcript, draft, now)
        check_erasures(tx, transcript.owner, erasures)
        if ended:
            log.warning("inbox item %s: %s", lease.item.id, ended)
        changeset = Changeset(
            *(0, transcript.owner, now, "run", agent.id),
            note=f"{summary} {ended}".strip(),
            session_id=transcript.session_id,
            after=transcript.after,
            until=transcript.until,
            inbox_id=lease.item.id,
            organizer=organizer,
            model=result.model,
            input_tokens=result.input_tokens,
            output_tokens=result.output_tokens,
            cost=result.cost,
        )
        committed = commit(tx, draft, changeset)
        hold_facts(tx, transcript.owner, transcript.agent or agent.id, draft.held, now)
        if not result.unfinished:
            Inbox(tx).finish(lease, self._now(tx), committed.id if committed else None)

    def _end_corrected(
        self, tx: Transaction, transcript: Transcript, draft: Draft, now: datetime
    ) -> tuple[Draft, str]:
        """Return the draft in which facts have ended that a person corrected while the organizer ran, and a note.
        A correction takes the owner's lock first: one that is not seen here sees what is committed."""
        DocumentRows(tx, transcript.owner).lock(now)
        found = corrected(tx, transcript.owner, [recorded.id for recorded in transcript.records])
        by = {record: other for record, other in found.items() if other != record}  # a correction itself holds
        draft, ended = end_corrected(draft, by, now)
        note = (
            f"{ended} fact(s) ended when they were committed: a person had corrected what they cite."
            if ended
            else ""
        )
        return draft, note

    def _note_run(
        self, tx: Transaction, agent: AgentRow, transcript: Transcript, summary: str, now: datetime
    ) -> None:
        """Note the run in the memory-agent's own session. It holds what was done, not what was read, and a new one
        is opened when it is full: knowledge is kept in documents."""
        sessions, history = Sessions(tx), History(tx)
        session = sessions.active(agent.id)
        if session and history.size(session.id) > self._context_chars:
            sessions.end(session.id, now, "The session reached its budget.")
            session = None
        session = session or sessions.create(agent.id, now)
        notes: tuple[Record, ...] = (
            SystemMessage(
                f"Transcript of session {transcript.session_id}, records r{transcript.after + 1} to "
                f"r{transcript.until}: {len(transcript.text):,} characters."
            ),
            AssistantMessage(summary or "NOTHING TO KEEP"),
        )
        history.insert(
            (session.id, to_row(record, to_micros(now), 2 * MAX_SUMMARY_CHARS), to_micros(now)) for record in notes
        )

    # Failures and leases

    def _wait(self, lease: Lease, error: ModelUnavailable | ModelUnusable) -> None:
        """Put the item back until the model may answer again. The attempt does not count."""
        delay = self._pause(lease, error)
        prefix = UNUSABLE if isinstance(error, ModelUnusable) else WAITING
        reason = f"{prefix}{redact(str(error))}"[:MAX_ERROR_CHARS]
        log.warning("inbox item %s, next try in %.0f seconds: %s", lease.item.id, delay.total_seconds(), reason)
        self._database.write(lambda tx: Inbox(tx).release(lease, reason, self._now(tx), delay))

    def _pause(self, lease: Lease, error: ModelUnavailable | ModelUnusable) -> timedelta:
        """Return how long this item waits until it is tried again: longer with each outage in a row, and as long
        as the provider says. Until then ask the model nothing else either, unless it may have failed on this item
        alone."""
        self._outages += 1
        longest = min(self._retry.max_delay, MAX_OUTAGE_PAUSE)
        delay: timedelta = min(longest, self._retry.first_delay * 2 ** min(self._outages - 1, 30))
        asked = timedelta(seconds=getattr(error, "retry_after", None) or 0)
        delay = max(delay * random.uniform(0.8, 1.2), min(asked, MAX_RETRY_AFTER))
        self._failing_item = self._failing_item or lease.item.id
        may_be_item = isinstance(error, ModelUnavailable) and error.request_may_be_cause and not asked
        if not may_be_item or self._failing_item != lease.item.id:
            self._paused_until = self._clock() + delay
        return delay

    def _fail(self, lease: Lease, error: str, *, final: bool = False) -> None:
        """Put the item back into the inbox; `final`: do not try it again, since that would only cost the same
        again."""
        now = self._database.read(self._now)
        again = None if final else self._retry.next_attempt(lease.item.attempts, now)
        error = redact(error)[:MAX_ERROR_CHARS]
        log.error(
            "inbox item %s failed (attempt %s of %s), %s: %s",
            *(lease.item.id, lease.item.attempts, self._retry.max_attempts),
            *(
                f"next attempt at {again:%Y-%m-%d %H:%M:%S} UTC" if again else "and is not retried by itself",
                error,
            ),
        )
        self._database.write(lambda tx: Inbox(tx).fail(lease, error, now, again))

    @contextmanager
    def _heartbeat(self, lease: Lease) -> Iterator[None]:
        """Renew the lease from a thread of its own while the work goes on. If it hangs, let the lease expire, so
        that others take the item over, and health says that this worker is silent."""
        finished = threading.Event()
        pause = self._retry.lease.total_seconds() / 3
        deadline = time.monotonic() + MAX_RUN_SECONDS

        def renew(tx: Transaction) -> bool:
            return Inbox(tx).renew(lease, self._now(tx) + self._retry.lease)

        def beat() -> None:
            while not finished.wait(pause):
                if time.monotonic() > deadline:
                    log.error("inbox item %s: the run hangs, and its lease is given up", lease.item.id)
                    return
                try:
                    if not self._database.write(renew):
                        return
                except LifelongError as error:
                    log.warning("the lease on inbox item %s could not be renewed: %s", lease.item.id, error)

        thread = threading.Thread(target=beat, name="lifelong-heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            finished.set()
            thread.join()
