"""Work that waits together is done together (C10: what is acknowledged was done, once, for whoever asked)."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence

import pytest

from lifelong.errors import MemoryClosed, OutcomeUnknown, StorageBusy, StorageError, StorageUnavailable
from lifelong.storage.group_commit import MAX_GROUP_JOBS, GroupCommitter, _Waiter
from tests.conftest import until

PATIENT = 60.0  # seconds after which something that should have come is a failure


class Desk:
    """What a Gather runs: it writes down each group and the thread that ran it. The job `hold` waits to be
    let go, so that a test can say what arrives meanwhile."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.threads: list[int] = []
        self.held = threading.Event()
        self.let_go = threading.Event()
        self.answer: Callable[[Sequence[str]], Sequence[str | BaseException]] = answered

    def __call__(self, jobs: Sequence[str]) -> Sequence[str | BaseException]:
        self.groups.append(list(jobs))
        self.threads.append(threading.get_ident())
        if "hold" in jobs:
            self.held.set()
            assert self.let_go.wait(PATIENT)
        return self.answer(jobs)

    def times(self, job: str) -> int:
        return sum(group.count(job) for group in self.groups)


class Submitter(threading.Thread):
    """One call of submit, in a thread of its own."""

    def __init__(self, committer: GroupCommitter[str, str], job: str) -> None:
        super().__init__(daemon=True)
        self._committer = committer
        self._job = job
        self.result: str | None = None
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self.result = self._committer.submit(self._job)
        except BaseException as error:
            self.error = error

    def finished(self) -> Submitter:
        self.join(PATIENT)
        assert not self.is_alive(), f"the submitter of {self._job!r} still waits"
        return self


def answered(jobs: Sequence[str]) -> list[str | BaseException]:
    return [f"{job}, done" for job in jobs]


def in_line(committer: GroupCommitter[str, str], jobs: Sequence[str]) -> list[Submitter]:
    """Submit each in a thread of its own, in this order, and come back when all of them wait."""
    submitters = []
    for job in jobs:
        before = len(committer._waiting)
        submitters.append(Submitter(committer, job))
        until(lambda before=before: len(committer._waiting) > before)  # type: ignore[misc]
    return submitters


def in_one_group(committer: GroupCommitter[str, str], desk: Desk, jobs: Sequence[str]) -> list[Submitter]:
    """A lone job is held, and one more is taken up by the thread behind it: what comes now is one group."""
    Submitter(committer, "hold")
    assert desk.held.wait(PATIENT)
    Submitter(committer, "first")
    until(lambda: committer._thread is not None and not committer._waiting)
    return in_line(committer, jobs)


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def committer(desk: Desk) -> Iterator[GroupCommitter[str, str]]:
    committer: GroupCommitter[str, str] = GroupCommitter(desk, "test-committer")
    yield committer
    desk.let_go.set()
    closing = threading.Thread(target=committer.close, daemon=True)
    closing.start()
    closing.join(PATIENT)
    assert not closing.is_alive()


# Alone, and together


def test_a_lone_job_runs_in_the_thread_that_submits_it(committer: GroupCommitter[str, str], desk: Desk) -> None:
    assert committer.submit("a") == "a, done"
    assert desk.threads == [threading.get_ident()]
    assert committer._thread is None


def test_jobs_that_arrive_meanwhile_run_as_one_group_in_one_thread_of_ours(
    committer: GroupCommitter[str, str], desk: Desk
) -> None:
    jobs = [f"job {number}" for number in range(20)]
    submitters = in_one_group(committer, desk, jobs)
    desk.let_go.set()
    for submitter in submitters:
        submitter.finished()
    assert desk.groups == [["hold"], ["first"], jobs]
    ours = committer._thread
    assert ours is not None
    assert desk.threads[1:] == [ours.ident, ours.ident]
    assert ours.name == "test-committer"


def test_each_outcome_reaches_the_one_who_asked(committer: GroupCommitter[str, str], desk: Desk) -> None:
    submitters = in_one_group(committer, desk, ["a", "b", "c"])
    desk.let_go.set()
    assert [submitter.finished().result for submitter in submitters] == ["a, done", "b, done", "c, done"]


def test_an_outcome_that_is_an_error_is_raised_there_and_only_there(
    committer: GroupCommitter[str, str], desk: Desk
) -> None:
    bad = KeyError("bad")
    desk.answer = lambda jobs: [bad if job == "bad" else job for job in jobs]
    submitters = in_one_group(committer, desk, ["a", "bad", "c"])
    desk.let_go.set()
    assert [submitter.finished().error for submitter in submitters] == [None, bad, None]
    assert [submitter.result for submitter in submitters] == ["a", None, "c"]
    with pytest.raises(KeyError, match="bad"):
        committer.submit("bad")


def test_no_group_is_larger_than_the_largest(committer: GroupCommitter[str, str], desk: Desk) -> None:
    jobs = [f"job {number}" for number in range(MAX_GROUP_JOBS + 3)]
    submitters = in_one_group(committer, desk, jobs)
    desk.let_go.set()
    assert [submitter.finished().result for submitter in submitters] == [f"{job}, done" for job in jobs]
    assert desk.groups[2:] == [jobs[:MAX_GROUP_JOBS], jobs[MAX_GROUP_JOBS:]]


def test_the_lone_path_opens_again_after_a_group_of_one(committer: GroupCommitter[str, str], desk: Desk) -> None:
    for submitter in in_one_group(committer, desk, ["a", "b"]):
        desk.let_go.set()
        submitter.finished()
    assert committer._thread is not None
    committer.submit("after a group of two")
    assert desk.threads[-1] == committer._thread.ident
    committer.submit("after a group of one")
    assert desk.threads[-1] == threading.get_ident()


# When it goes wrong


def test_a_group_that_raises_is_run_one_by_one_and_only_the_bad_job_fails(
    committer: GroupCommitter[str, str], desk: Desk
) -> None:
    def answer(jobs: Sequence[str]) -> Sequence[str | BaseException]:
        if "bad" in jobs:
            raise LookupError("one of them is bad")
        return answered(jobs)

    desk.answer = answer
    submitters = in_one_group(committer, desk, ["a", "bad", "c"])
    desk.let_go.set()
    assert [submitter.finished().result for submitter in submitters] == ["a, done", None, "c, done"]
    assert [type(submitter.error) for submitter in submitters] == [type(None), LookupError, type(None)]
    assert desk.groups[2:] == [["a", "bad", "c"], ["a"], ["bad"], ["c"]]


@pytest.mark.parametrize("kind", [StorageBusy, StorageUnavailable, OutcomeUnknown])
def test_an_error_that_says_nothing_about_a_job_goes_to_everyone_without_a_rerun(
    committer: GroupCommitter[str, str], desk: Desk, kind: type[StorageError]
) -> None:
    def answer(jobs: Sequence[str]) -> Sequence[str | BaseException]:
        if len(jobs) > 1:
            raise kind("the reason")
        return answered(jobs)

    desk.answer = answer
    submitters = in_one_group(committer, desk, ["a", "b", "c"])
    desk.let_go.set()
    errors = [submitter.finished().error for submitter in submitters]
    assert [(type(error), str(error)) for error in errors] == [(kind, "the reason")] * 3
    assert len({id(error) for error in errors}) == 3, "a traceback belongs to one thread"
    assert [desk.times(job) for job in "abc"] == [1, 1, 1]


def test_a_shared_error_in_the_rerun_goes_to_its_job_alone(
    committer: GroupCommitter[str, str], desk: Desk
) -> None:
    def answer(jobs: Sequence[str]) -> Sequence[str | BaseException]:
        if len(jobs) > 1:
            raise LookupError("one of them is bad")
        if jobs == ["b"]:
            raise StorageBusy
        return answered(jobs)

    desk.answer = answer
    submitters = in_one_group(committer, desk, ["a", "b", "c"])
    desk.let_go.set()
    errors = [type(submitter.finished().error) for submitter in submitters]
    assert errors == [type(None), StorageBusy, type(None)]


def test_the_thread_outlives_every_error(committer: GroupCommitter[str, str], desk: Desk) -> None:
    def answer(jobs: Sequence[str]) -> Sequence[str | BaseException]:
        raise SystemExit(3)

    desk.answer = answer
    submitters = in_one_group(committer, desk, ["a", "b"])
    desk.let_go.set()
    assert [type(submitter.finished().error) for submitter in submitters] == [SystemExit, SystemExit]
    desk.answer = answered
    assert committer.submit("c") == "c, done"


def test_a_lone_job_that_raises_leaves_the_way_free(committer: GroupCommitter[str, str], desk: Desk) -> None:
    def answer(jobs: Sequence[str]) -> Sequence[str | BaseException]:
        raise LookupError("alone")

    desk.answer = answer
    with pytest.raises(LookupError, match="alone"):
        committer.submit("a")
    desk.answer = answered
    assert committer.submit("b") == "b, done"
    assert desk.threads == [threading.get_ident()] * 2


def test_a_job_cannot_submit_another_in_either_thread(committer: GroupCommitter[str, str], desk: Desk) -> None:
    def answer(jobs: Sequence[str]) -> Sequence[str | BaseException]:
        if len(jobs) == 1 and jobs[0] != "inner":
            with pytest.raises(RuntimeError, match="cannot start another"):
                committer.submit("inner")
        return answered(jobs)

    desk.answer = answer
    assert committer.submit("alone") == "alone, done"
    (submitter,) = in_one_group(committer, desk, ["in the group"])
    desk.let_go.set()
    assert submitter.finished().result == "in the group, done"
    assert desk.times("inner") == 0


# Interrupted waiters


def test_a_waiter_that_is_interrupted_does_not_hang_those_behind_it(
    committer: GroupCommitter[str, str], desk: Desk
) -> None:
    """A signal while the main thread waits: its job is done all the same, and the word is passed on."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    behind: list[Submitter] = []
    left = threading.Event()

    def drive() -> None:
        until(lambda: len(committer._waiting) == 2)
        behind.extend(in_line(committer, ["b", "c"]))
        os.kill(os.getpid(), signal.SIGUSR1)
        left.wait(PATIENT)
        desk.let_go.set()

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        (ahead,) = in_one_group(committer, desk, ["a"])
        driver = threading.Thread(target=drive, daemon=True)
        driver.start()
        with pytest.raises(KeyboardInterrupt):
            committer.submit("interrupted")
        left.set()
        driver.join(PATIENT)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert [submitter.finished().result for submitter in (ahead, *behind)] == ["a, done", "b, done", "c, done"]
    assert desk.times("interrupted") == 1


def test_an_interrupt_as_the_word_arrives_is_passed_over_too() -> None:
    """It was told and had no time to tell the next: somebody does so in its place."""
    first, second = _Waiter[str, str]("first"), _Waiter[str, str]("second")
    first.queued, first.next, second.outcome = True, second, "done"
    first.notify()
    first._done.acquire()
    first.abandon()
    assert second.wait() == "done"


def test_an_interrupt_on_the_way_into_the_line_does_not_hang_those_behind_it(
    committer: GroupCommitter[str, str], desk: Desk
) -> None:
    """It stood in line and was gone before it began to wait: its job is done, and the word is passed on."""
    in_one_group(committer, desk, [])
    gone: _Waiter[str, str] = _Waiter("gone")
    with committer._lock:
        committer._enqueue(gone)
    gone.abandon()
    behind = Submitter(committer, "behind")
    until(lambda: "behind" in [ticket.job for ticket in committer._waiting])
    desk.let_go.set()
    assert behind.finished().result == "behind, done"
    assert desk.times("gone") == 1


def test_who_was_interrupted_before_it_stood_in_line_leaves_nobody_behind() -> None:
    before = threading.active_count()
    _Waiter[str, str]("never queued").abandon()
    assert threading.active_count() == before


# The end


def test_close_finishes_what_was_submitted_and_takes_no_more(
    committer: GroupCommitter[str, str], desk: Desk
) -> None:
    submitters = in_one_group(committer, desk, ["a", "b"])
    closing = threading.Thread(target=committer.close, daemon=True)
    closing.start()
    until(lambda: committer._closed)
    with pytest.raises(MemoryClosed):
        committer.submit("late")
    assert closing.is_alive()
    desk.let_go.set()
    closing.join(PATIENT)
    assert not closing.is_alive()
    assert [submitter.finished().result for submitter in submitters] == ["a, done", "b, done"]
    assert desk.times("late") == 0


@pytest.mark.parametrize("count", [1, 2, MAX_GROUP_JOBS, MAX_GROUP_JOBS + 1])
def test_close_ends_however_many_wait(committer: GroupCommitter[str, str], desk: Desk, count: int) -> None:
    """Also when the last group is a group of one."""
    submitters = in_one_group(committer, desk, [f"job {number}" for number in range(count)])
    closing = threading.Thread(target=committer.close, daemon=True)
    closing.start()
    until(lambda: committer._closed)
    desk.let_go.set()
    assert [submitter.finished().error for submitter in submitters] == [None] * count
    closing.join(PATIENT)
    assert not closing.is_alive(), "the thread waits for a word that nobody will give"


def test_close_waits_for_a_lone_job(committer: GroupCommitter[str, str], desk: Desk) -> None:
    lone = Submitter(committer, "hold")
    assert desk.held.wait(PATIENT)
    closing = threading.Thread(target=committer.close, daemon=True)
    closing.start()
    until(lambda: committer._closed)
    assert closing.is_alive()
    desk.let_go.set()
    closing.join(PATIENT)
    assert not closing.is_alive()
    assert lone.finished().result == "hold, done"


def test_close_without_a_thread_and_close_twice(committer: GroupCommitter[str, str], desk: Desk) -> None:
    committer.submit("a")
    assert committer._thread is None
    committer.close()
    committer.close()
    with pytest.raises(MemoryClosed):
        committer.submit("b")
    assert desk.groups == [["a"]]


def test_the_thread_ends_with_close(committer: GroupCommitter[str, str], desk: Desk) -> None:
    (submitter,) = in_one_group(committer, desk, ["a"])
    desk.let_go.set()
    submitter.finished()
    thread = committer._thread
    assert thread is not None
    assert thread.is_alive()
    committer.close()
    assert not thread.is_alive()
    committer.close()


def test_close_and_submits_at_once_never_hang_and_lose_nothing() -> None:
    for _ in range(25):
        desk = Desk()
        committer: GroupCommitter[str, str] = GroupCommitter(desk, "test-committer")
        acknowledged: list[str] = []
        ready = threading.Barrier(10)

        def submit(
            name: int,
            committer: GroupCommitter[str, str] = committer,
            ready: threading.Barrier = ready,
            acknowledged: list[str] = acknowledged,
        ) -> None:
            ready.wait(PATIENT)
            for number in range(1_000_000):
                try:
                    committer.submit(f"{name}/{number}")
                except MemoryClosed:
                    return
                acknowledged.append(f"{name}/{number}")

        def close(committer: GroupCommitter[str, str] = committer, ready: threading.Barrier = ready) -> None:
            ready.wait(PATIENT)
            time.sleep(0.002)
            committer.close()

        threads = [threading.Thread(target=submit, args=(name,), daemon=True) for name in range(8)]
        threads += [threading.Thread(target=close, daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENT)
        assert not any(thread.is_alive() for thread in threads)
        assert sorted(acknowledged) == sorted(job for group in desk.groups for job in group)


def test_submit_after_a_fork_says_so(committer: GroupCommitter[str, str]) -> None:
    committer.submit("before")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of a fork beside threads
        child = os.fork()
    if child == 0:
        try:
            committer.submit("after")
        except StorageUnavailable as error:
            os._exit(0 if "forked" in str(error) else 2)
        except BaseException:
            os._exit(3)
        os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert committer.submit("in the parent") == "in the parent, done"
