"""Work that waits together is done together: the one piece of concurrency everything durable shares."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from lifelong.errors import LifelongError, MemoryClosed, OutcomeUnknown, StorageBusy, StorageUnavailable

Job = TypeVar("Job")
Result = TypeVar("Result")

LARGEST = 256  # jobs in a group
PATIENCE = 0.002  # seconds to wait for those who were in the last group

_SHARED = (StorageBusy, StorageUnavailable, OutcomeUnknown)


class _Ticket(Generic[Job, Result]):
    """A job that waits, and the lock its submitter waits on.

    The word that a group is done goes from one waiter to the next. Woken all at once, they would only
    crowd before the interpreter's lock: that costs a third of the throughput of 64 threads.
    """

    __slots__ = ("_done", "_told", "job", "next", "outcome", "queued")

    def __init__(self, job: Job) -> None:
        self.job = job
        self.outcome: Result | BaseException = MemoryClosed()
        self.next: _Ticket[Job, Result] | None = None
        self.queued = False
        self._told = False
        self._done = threading.Lock()
        self._done.acquire()

    def tell(self) -> None:
        if not self._told:
            self._told = True
            self._done.release()

    def wait(self) -> Result | BaseException:
        self._done.acquire()
        self._pass_on()
        return self.outcome

    def leave(self) -> None:
        """The submitter was interrupted and waits no more; those behind it still wait for the word."""
        if self.queued:
            threading.Thread(target=self._stand_in, daemon=True).start()

    def _stand_in(self) -> None:
        if not self._told:
            self._done.acquire()
        self._pass_on()

    def _pass_on(self) -> None:
        if self.next:
            self.next.tell()


class GroupCommitter(Generic[Job, Result]):
    """Runs jobs in groups, one group at a time.

    A lone job runs in the thread that submits it: no hand-over, no waiting. Jobs that arrive while a
    group runs wait, and a thread of our own runs all of them as the next group. While groups are larger
    than one, every job goes that way; after a group of one the lone path opens again.

    Those whose jobs were in the last group are likely to be back at once, so the thread gives them a
    moment: a larger group shares one sync, and while its statements run nobody else wants the interpreter.

    `run` gets the jobs of a group and returns an outcome for each, in order: a result, or an error to
    raise where the job was submitted. If it raises instead, the jobs are run one by one, so that a bad
    one hurts no other. Errors that say nothing about a job (busy, unreachable, unknown outcome) go to the
    whole group at once.
    """

    def __init__(self, run: Callable[[Sequence[Job]], Sequence[Result | BaseException]], name: str) -> None:
        self._run = run
        self._name = name
        self._pid = os.getpid()
        self._running = threading.RLock()  # it knows its owner
        self._busy_thread: int | None = None
        self._lone = True
        self._gate = threading.Lock()  # guards what follows
        self._waiting: list[_Ticket[Job, Result]] = []
        self._expected = 1
        self._enough = threading.Lock()  # held until as many wait as are expected
        self._enough.acquire()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, job: Job) -> Result:
        """Run the job, alone or with others. Returns its result or raises its error."""
        check_process(self._pid)
        me = threading.get_ident()
        if self._busy_thread == me:
            raise RuntimeError("A unit of work cannot start another one: pass its transaction on instead.")
        try:
            if self._lone and self._running.acquire(blocking=False):
                if self._closed:
                    raise MemoryClosed
                self._busy_thread = me
                outcome = self._run((job,))[0]
            else:
                outcome = self._wait_for(job)
        finally:
            # An interrupt can strike right after the lock was taken: what counts is whose it is, not what
            # a variable says. And it can strike at the start of a call: so there is none before the release.
            if self._busy_thread == me:
                self._busy_thread = None
            try:  # noqa: SIM105
                self._running.release()
            except RuntimeError:
                pass  # it was not ours
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def close(self) -> None:
        """Finish what was submitted, then take no more. Safe to call twice."""
        if os.getpid() != self._pid:
            return
        with self._gate:
            self._closed = True
            thread = self._thread
            self._call()
        if thread:
            thread.join()
        with self._running:
            pass  # a lone job that was under way is done now

    def _wait_for(self, job: Job) -> Result | BaseException:
        ticket: _Ticket[Job, Result] = _Ticket(job)
        try:
            with self._gate:
                self._enqueue(ticket)
            return ticket.wait()
        except MemoryClosed:
            raise
        except BaseException:
            ticket.leave()
            raise

    def _enqueue(self, ticket: _Ticket[Job, Result]) -> None:
        if self._closed:
            raise MemoryClosed
        self._lone = False
        ticket.queued = True
        self._waiting.append(ticket)
        if len(self._waiting) >= self._expected:
            self._call()
        if not self._thread:
            thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
            thread.start()
            self._thread = thread

    def _call(self) -> None:
        """Tell the thread that there is something to do."""
        if self._enough.locked():
            self._enough.release()

    def _serve(self) -> None:
        while group := self._next_group():
            with self._running:
                self._busy_thread = threading.get_ident()
                outcomes = self._outcomes([ticket.job for ticket in group])
                self._busy_thread = None
                self._lone = len(group) == 1
            for ticket, outcome, following in zip(group, outcomes, [*group[1:], None], strict=True):
                ticket.outcome, ticket.next = outcome, following
            group[0].tell()

    def _next_group(self) -> list[_Ticket[Job, Result]]:
        """The jobs that wait, once as many do as are expected or the moment is over. Empty at the end."""
        while True:
            self._enough.acquire(timeout=-1 if self._expected == 1 and not self._closed else PATIENCE)
            with self._gate:
                group, self._waiting = self._waiting[:LARGEST], self._waiting[LARGEST:]
                self._expected = max(1, len(group))
                if self._waiting:
                    self._call()
                if group or self._closed:
                    return group

    def _outcomes(self, jobs: Sequence[Job]) -> Sequence[Result | BaseException]:
        try:
            return self._run(jobs)
        except _SHARED as error:
            return [_again(error) for _ in jobs]
        except BaseException as error:
            return [error] if len(jobs) == 1 else [self._outcomes([job])[0] for job in jobs]


def check_process(pid: int) -> None:
    """Locks and connections do not survive a fork."""
    if os.getpid() != pid:
        raise StorageUnavailable(
            "This memory was opened before the process was forked. Open it again in the new process."
        )


def _again(error: LifelongError) -> LifelongError:
    """The same error for another thread: a traceback belongs to one."""
    copy = type(error)(str(error))
    copy.__cause__ = error
    return copy
