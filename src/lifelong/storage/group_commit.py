"""Group commit: jobs that arrive while another runs share the next transaction, and so one sync of the disk."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from lifelong.errors import LifelongError, MemoryClosed, OutcomeUnknown, StorageBusy, StorageUnavailable

Job = TypeVar("Job")
Result = TypeVar("Result")

MAX_GROUP_JOBS = 256  # jobs in a group
GATHER_SECONDS = 0.002  # seconds to wait for those who were in the last group

_GROUP_ERRORS = (StorageBusy, StorageUnavailable, OutcomeUnknown)


class _Waiter(Generic[Job, Result]):
    """A queued job and the lock that its submitter waits on.

    Waiters wake each other in a chain. Woken all at once they would crowd before the interpreter's lock, which
    costs a third of the throughput of 64 threads.
    """

    __slots__ = ("_done", "_notified", "job", "next", "outcome", "queued")

    def __init__(self, job: Job) -> None:
        self.job = job
        self.outcome: Result | BaseException = MemoryClosed()
        self.next: _Waiter[Job, Result] | None = None
        self.queued = False
        self._notified = False
        self._done = threading.Lock()
        self._done.acquire()

    def notify(self) -> None:
        if not self._notified:
            self._notified = True
            self._done.release()

    def wait(self) -> Result | BaseException:
        self._done.acquire()
        self._notify_next()
        return self.outcome

    def abandon(self) -> None:
        """Wait in a thread instead of the interrupted submitter: the next waiter depends on this one."""
        if self.queued:
            threading.Thread(target=self._wait_in_place, daemon=True).start()

    def _wait_in_place(self) -> None:
        if not self._notified:
            self._done.acquire()
        self._notify_next()

    def _notify_next(self) -> None:
        if self.next:
            self.next.notify()


class GroupCommitter(Generic[Job, Result]):
    """Run jobs in groups, one group at a time.

    A single job runs in the thread that submits it, without waiting. Jobs that arrive while a group runs are
    queued, and a thread runs all of them as the next group. While groups are larger than one, every job is queued;
    after a group of one, jobs run in their own threads again.

    Submitters of the last group are likely to come back at once, so the thread waits `GATHER_SECONDS` for them: a
    larger group shares one sync, and no other thread needs the interpreter while its statements run.

    `run` gets the jobs of a group and returns an outcome for each, in order: a result, or an error to raise where
    the job was submitted. If it raises instead, the jobs are run one by one, so that a bad one hurts no other.
    Errors that say nothing about a job (busy, unreachable, unknown outcome) are raised for the whole group.
    """

    def __init__(self, run: Callable[[Sequence[Job]], Sequence[Result | BaseException]], name: str) -> None:
        self._run = run
        self._name = name
        self._pid = os.getpid()
        self._running = threading.RLock()  # reentrant, because it knows its owner
        self._busy_thread: int | None = None
        self._lone = True
        self._lock = threading.Lock()  # guards what follows
        self._waiting: list[_Waiter[Job, Result]] = []
        self._expected = 1
        self._enough = threading.Lock()  # held until as many wait as are expected
        self._enough.acquire()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, job: Job) -> Result:
        """Run the job, alone or in a group. Return its result or raise its error."""
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
        with self._lock:
            self._closed = True
            thread = self._thread
            self._wake()
        if thread:
            thread.join()
        with self._running:
            pass  # a lone job that was under way is done now

    def _wait_for(self, job: Job) -> Result | BaseException:
        waiter: _Waiter[Job, Result] = _Waiter(job)
        try:
            with self._lock:
                self._enqueue(waiter)
            return waiter.wait()
        except MemoryClosed:
            raise
        except BaseException:
            waiter.abandon()
            raise

    def _enqueue(self, waiter: _Waiter[Job, Result]) -> None:
        if self._closed:
            raise MemoryClosed
        self._lone = False
        waiter.queued = True
        self._waiting.append(waiter)
        if len(self._waiting) >= self._expected:
            self._wake()
        if not self._thread:
            thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
            thread.start()
            self._thread = thread

    def _wake(self) -> None:
        """Wake the thread: there is something to do."""
        if self._enough.locked():
            self._enough.release()

    def _serve(self) -> None:
        while group := self._next_group():
            with self._running:
                self._busy_thread = threading.get_ident()
                outcomes = self._outcomes([waiter.job for waiter in group])
                self._busy_thread = None
                self._lone = len(group) == 1
            for waiter, outcome, following in zip(group, outcomes, [*group[1:], None], strict=True):
                waiter.outcome, waiter.next = outcome, following
            group[0].notify()

    def _next_group(self) -> list[_Waiter[Job, Result]]:
        """Return the queued jobs once the expected number waits or `GATHER_SECONDS` are over; none at the end."""
        while True:
            self._enough.acquire(timeout=-1 if self._expected == 1 and not self._closed else GATHER_SECONDS)
            with self._lock:
                group, self._waiting = self._waiting[:MAX_GROUP_JOBS], self._waiting[MAX_GROUP_JOBS:]
                self._expected = max(1, len(group))
                if self._waiting:
                    self._wake()
                if group or self._closed:
                    return group

    def _outcomes(self, jobs: Sequence[Job]) -> Sequence[Result | BaseException]:
        try:
            return self._run(jobs)
        except _GROUP_ERRORS as error:
            return [_copy(error) for _ in jobs]
        except BaseException as error:
            return [error] if len(jobs) == 1 else [self._outcomes([job])[0] for job in jobs]


def check_process(pid: int) -> None:
    """Raise `StorageUnavailable` after a fork: locks and connections do not survive one."""
    if os.getpid() != pid:
        raise StorageUnavailable(
            "This memory was opened before the process was forked. Open it again in the new process."
        )


def _copy(error: LifelongError) -> LifelongError:
    """Return the same error for another thread: a traceback belongs to one thread."""
    copy = type(error)(str(error))
    copy.__cause__ = error
    return copy
