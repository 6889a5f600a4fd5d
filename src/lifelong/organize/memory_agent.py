"""How an item of the inbox becomes knowledge: an organizer edits a draft, and all of it lands at once.

One transaction commits the changeset, closes the item and notes the run in the memory-agent's own session.
A worker that dies before it leaves no trace but a lease that runs out; one that comes too late finds its lease
gone and commits nothing.
"""

from __future__ import annotations

import logging
import random
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from lifelong.collect.agents import AgentRow, Agents
from lifelong.collect.descriptors import User, is_foreground
from lifelong.collect.history import History, to_row
from lifelong.collect.sessions import Sessions
from lifelong.errors import (
    NOT_NOW,
    DailyCapExceeded,
    LeaseLost,
    LifelongError,
    RunBudgetExceeded,
    StaleWrite,
    StorageConflict,
    StorageFull,
)
from lifelong.organize.changesets import commit, end_corrected, rebase
from lifelong.organize.document_rows import MEMORY, DocumentRows
from lifelong.organize.draft import Draft, Keys
from lifelong.organize.edits import FileDocument
from lifelong.organize.inbox import Inbox, Lease
from lifelong.organize.organizer import Corrected, Organizer, Outcome, Transcript
from lifelong.organize.write_policy import WritePolicy
from lifelong.redaction import redact
from lifelong.storage.base import Database, Transaction
from lifelong.types import AssistantMessage, Changeset, Clock, Record, SystemMessage, to_micros

log = logging.getLogger("lifelong.organize")

LONGEST_ERROR = 1_000  # characters of what went wrong that the queue remembers
LONGEST_NOTE = 1_000  # characters of what an organizer says at the end of a run
A_WHILE = 10.0  # seconds
STALE_RUNS = 5  # a draft that somebody else's edit made stale is made anew this often
MOST_LOSSES = 20  # an item that ended its worker more often than this is not given to another
PAUSE = timedelta(minutes=1)  # before work that has to wait is looked at again


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long a lease lasts without a sign of life, and how failures are tried again: after `first`,
    then twice as long each time, at most `longest`, a fifth more or less, and `attempts` times in all."""

    lease: timedelta
    attempts: int
    first: timedelta
    longest: timedelta

    def again(self, attempt: int, now: datetime) -> datetime | None:
        """When to try again after this many attempts; none when that was the last."""
        if attempt >= self.attempts:
            return None
        wait: timedelta = min(self.longest, self.first * 2 ** min(attempt - 1, 30))
        return now + wait * random.uniform(0.8, 1.2)


class MemoryAgentRunner:
    """Works the inbox of the whole home."""

    def __init__(
        self,
        database: Database,
        organizer: Organizer,
        clock: Clock,
        patience: RetryPolicy,
        corrected: Corrected,
        *,
        keys: Keys,
        context_chars: int,
        file: FileDocument,
    ) -> None:
        self._database = database
        self._keys = keys
        self._file = file
        self._organizer = organizer
        self._clock = clock
        self._patience = patience
        self._corrected = corrected
        self._context_chars = context_chars

    def work(self, stopping: Callable[[], bool] = lambda: False) -> tuple[int, int]:
        """Work on what is due, item by item, for a while: deadlines and marks must not wait behind a long queue.
        How many runs were finished, and how many failed."""
        finished = failed = 0
        over = time.monotonic() + A_WHILE
        while (
            time.monotonic() < over
            and not stopping()
            and not self._organizer.blocked_reason()
            and (lease := self._fact())
        ):
            if self._run(lease):
                finished += 1
            else:
                failed += 1
        return finished, failed

    def _fact(self) -> Lease | None:
        """The next item to work on. One that ended its worker too often is buried on the way."""
        while (lease := self._database.write(self._lease)) and lease.item.losses > MOST_LOSSES:
            error = f"The worker stopped without a word {lease.item.losses} times while it worked on this item."
            self._fail(lease, error, once=True)
        return lease

    def _lease(self, tx: Transaction) -> Lease | None:
        now = self._clock()
        return Inbox(tx).claim(now, now + self._patience.lease)

    def _run(self, lease: Lease) -> bool:
        """Whether the item's work was done. What goes wrong with it goes back to the queue; a database that
        does not answer ends the tick, and the lease runs out by itself."""
        try:
            with self._heartbeat(lease):
                self._organize(lease)
        except (DailyCapExceeded, StaleWrite, StorageFull) as error:
            reason = str(error).partition("\n")[0]
            log.warning("item %s waits: %s", lease.item.id, reason)
            self._database.write(lambda tx: Inbox(tx).release(lease, reason, self._clock() + PAUSE))
        except NOT_NOW:
            raise
        except LeaseLost:
            log.warning("item %s was taken over by another worker; this run was discarded", lease.item.id)
        except RunBudgetExceeded as error:
            self._fail(lease, str(error), once=True)
        except LifelongError as error:
            self._fail(lease, str(error))
        except Exception as error:
            log.error("item %s failed in a way nobody foresaw: %s", lease.item.id, redact(traceback.format_exc()))
            self._fail(lease, f"{type(error).__name__}: {error}")
        else:
            return True
        return False

    def _organize(self, lease: Lease) -> None:
        for left in reversed(range(STALE_RUNS)):
            transcript = self._database.read(partial(self._transcript, lease=lease))
            draft = Draft(
                self._database,
                transcript.owner,
                below=MEMORY,
                keys=self._keys,
                guard=WritePolicy(transcript),
                file=self._file,
            )
            outcome = self._organizer.organize(transcript, draft)
            land = partial(self._land, lease=lease, transcript=transcript, draft=draft, outcome=outcome)
            try:
                self._commit(land, draft)
            except (StaleWrite, StorageConflict):
                if not left:
                    raise
                log.info("item %s: somebody else edited the same documents; organized again", lease.item.id)
            else:
                log.info("item %s: %s", lease.item.id, redact(outcome.said)[-LONGEST_NOTE:])
                return

    def _commit(self, land: Callable[[Transaction], None], draft: Draft) -> None:
        """Land the draft; over other people's edits, where they touch other paragraphs."""
        for _ in range(STALE_RUNS):
            try:
                return self._database.write(land)
            except StaleWrite:
                if not self._database.read(lambda tx: rebase(tx, draft)):
                    raise
        return self._database.write(land)

    def _transcript(self, tx: Transaction, lease: Lease) -> Transcript:
        item = lease.item
        session = Sessions(tx).peek(item.session_id)
        source = Agents(tx).peek(session.agent_id) if session else None
        memory_agent = Agents(tx).peek(item.agent_id)
        assert memory_agent, "an inbox item has an agent"
        records = History(tx).between(item.session_id, item.after, item.until)
        corrected = self._corrected(tx, memory_agent.owner, [recorded.id for recorded in records])
        return Transcript(
            owner=memory_agent.owner,
            agent_id=source.id if source else "",
            session_id=item.session_id,
            after=item.after,
            until=item.until,
            text=item.text,
            records=tuple(recorded for recorded in records if recorded.id not in corrected),
            foreground=bool(source and is_foreground(source.kind)),
            user=self._user(tx, source),
            recent=partial(self._database.read, partial(self._recent, agent=memory_agent)),
            item_id=item.id,
        )

    def _user(self, tx: Transaction, source: AgentRow | None) -> str:
        """The person that the source agent talks to, by their address: two of them are not one."""
        descriptor = Agents(tx).get(source.owner, source.id).descriptor if source else None
        return descriptor.user_id if isinstance(descriptor, User) else ""

    def _recent(self, tx: Transaction, agent: AgentRow) -> str:
        """What the memory-agent's own session says of its last runs."""
        session = Sessions(tx).newest(agent.id)
        said = History(tx).find_since_id(session.id, 0) if session else []
        return "\n".join(getattr(recorded.record, "text", "") for recorded in said)[-self._context_chars :]

    def _land(self, tx: Transaction, lease: Lease, transcript: Transcript, draft: Draft, outcome: Outcome) -> None:
        now = self._clock()
        agent = Agents(tx).lock([lease.item.agent_id])[lease.item.agent_id]
        said = redact(outcome.said)[:LONGEST_NOTE]
        self._note(tx, agent, transcript, said, now)
        Inbox(tx).hold(lease)
        draft, ended = self._end_corrected(tx, transcript, draft, now)
        if ended:
            log.warning("item %s: %s", lease.item.id, ended)
        told = Changeset(
            *(0, transcript.owner, now, "run", agent.id),
            note=f"{said} {ended}".strip(),
            session_id=transcript.session_id,
            after=transcript.after,
            until=transcript.until,
            inbox_id=lease.item.id,
            organizer=self._organizer.name,
            model=outcome.model,
            input_tokens=outcome.input_tokens,
            output_tokens=outcome.output_tokens,
            cost=outcome.cost,
        )
        changeset = commit(tx, draft, told)
        Inbox(tx).finish(lease, now, changeset.id if changeset else None)

    def _end_corrected(
        self, tx: Transaction, transcript: Transcript, draft: Draft, now: datetime
    ) -> tuple[Draft, str]:
        """The draft with an end to what a person corrected while the organizer learned it, and a note that says
        so. Whoever corrects takes the owner's tree first: a correction that is not seen here sees what lands."""
        DocumentRows(tx, transcript.owner).lock(now)
        corrected = self._corrected(tx, transcript.owner, [recorded.id for recorded in transcript.records])
        by = {record: other for record, other in corrected.items() if other != record}  # a correction holds
        draft, ended = end_corrected(draft, by, now)
        note = f"{ended} fact(s) ended as they landed: a person had corrected what they cite." if ended else ""
        return draft, note

    def _note(self, tx: Transaction, agent: AgentRow, transcript: Transcript, said: str, now: datetime) -> None:
        """Tell the run in the memory-agent's own session. It holds what was done, not what was read, and
        a new one is opened when it is full: knowledge lives in documents."""
        sessions, history = Sessions(tx), History(tx)
        session = sessions.active(agent.id)
        if session and history.size(session.id) > self._context_chars:
            sessions.end(session.id, now, "The session reached its budget.")
            session = None
        session = session or sessions.create(agent.id, now)
        told: tuple[Record, ...] = (
            SystemMessage(
                f"Transcript of session {transcript.session_id}, records r{transcript.after + 1} to "
                f"r{transcript.until}: {len(transcript.text):,} characters."
            ),
            AssistantMessage(said or "NOTHING TO KEEP"),
        )
        history.insert(
            (session.id, to_row(record, to_micros(now), 2 * LONGEST_NOTE), to_micros(now)) for record in told
        )

    # What goes wrong

    def _fail(self, lease: Lease, error: str, *, once: bool = False) -> None:
        """Back to the queue; `once`: trying again would only cost the same again."""
        now = self._clock()
        again = None if once else self._patience.again(lease.item.attempts, now)
        error = redact(error)[:LONGEST_ERROR]
        log.error(
            "item %s failed (attempt %s of %s), %s: %s",
            *(lease.item.id, lease.item.attempts, self._patience.attempts),
            *(f"next try at {again:%Y-%m-%d %H:%M:%S} UTC" if again else "and waits for a person", error),
        )
        self._database.write(lambda tx: Inbox(tx).fail(lease, error, now, again))

    @contextmanager
    def _heartbeat(self, lease: Lease) -> Iterator[None]:
        """Keeps the lease while the work goes on, from a thread of its own."""
        over = threading.Event()
        pause = self._patience.lease.total_seconds() / 3

        def prolong(tx: Transaction) -> bool:
            return Inbox(tx).beat(lease, self._clock() + self._patience.lease)

        def beat() -> None:
            while not over.wait(pause):
                try:
                    if not self._database.write(prolong):
                        return
                except LifelongError as error:
                    log.warning("the lease on item %s could not be prolonged: %s", lease.item.id, error)

        thread = threading.Thread(target=beat, name="lifelong-heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
