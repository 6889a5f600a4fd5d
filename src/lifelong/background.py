"""What runs in the background of a home: organizing, journals, scheduled work, indexing.

Its state is in the database, so that any number of processes can share the work.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from lifelong.errors import TEMPORARY_ERRORS, LifelongError
from lifelong.organize.worker import WorkDone, Worker
from lifelong.periodic import PeriodicThread

if TYPE_CHECKING:
    from lifelong.wiring import SharedParts, UserParts

log = logging.getLogger("lifelong")

DISCOVER_SECONDS = 5.0  # between two looks for new users
AFTER_FAILURE = 60.0  # seconds until a schedule that could not be read is asked again
MAX_WAIT = 300.0  # seconds; the machine may sleep, or its clock be corrected
MIN_WAIT = 0.05


class BackgroundWork:
    """Run the background work of a home: in threads after `start`, or in the calling thread by
    `run_until_idle`. The journals are those of the users that are open; with `every_user`, of all of the home."""

    def __init__(self, shared: SharedParts) -> None:
        worker = shared.settings.worker
        self._shared = shared
        self._every_user = False
        self._asked = 0  # callers of `run_until_idle`
        self._discovered = -DISCOVER_SECONDS
        self.workers = [Worker(self._round, shared.clock, worker.tick_seconds) for _ in range(worker.threads)]
        self._schedules = PeriodicThread("schedule", self._run_schedules, AFTER_FAILURE)

    def start(self, *, every_user: bool = False) -> None:
        """Start the threads. Safe to call twice. Where nothing is scheduled, there is no thread for it."""
        self._every_user = self._every_user or every_user
        continuity, organize = self._shared.settings.continuity, self._shared.settings.organize
        on = (continuity.memory_compaction_enabled, continuity.experience_store_enabled)
        if organize.consolidation_enabled or continuity.retains_for_a_time or any(on):
            self._schedules.start()
        _ = self._shared.memory_agent  # put together here, once, and not by each worker
        self._shared.index_worker.background.start()
        for worker in self.workers:
            worker.start()

    def stop(self) -> WorkDone:
        """Stop until the next `start`: what runs is finished, and nothing follows. Return what was done in all."""
        for thread in self._threads():
            thread.stop()
        return sum((worker.done for worker in self.workers), WorkDone())

    def close(self) -> None:
        """Stop for good: a `start` that comes too late does nothing."""
        for thread in self._threads():
            thread.close()

    def _threads(self) -> list[PeriodicThread]:
        """Return the threads in the order in which to stop them: workers begin the longest work."""
        indexing = self._shared.indexing_thread()
        return [*self.workers, self._schedules, *([indexing] if indexing else [])]

    def wake(self) -> None:
        """Do what is due now, instead of at the next tick."""
        for worker in self.workers:
            worker.wake()
        self._shared.wake_indexer()

    def run_until_idle(self, *, every_user: bool = False) -> WorkDone:
        """Organize everything that is due, in the calling thread; with `every_user`, keep every user's journal."""
        self._every_user, before = self._every_user or every_user, self._every_user
        self._discovered = -DISCOVER_SECONDS
        with self._at_once():
            done = self.workers[0].run_until_idle()
        self._every_user = before
        for user in self._shared.open_users() if every_user else []:
            with self._alone(user, "journal"):
                user.journal.write_all()
        return done

    def status_notes(self) -> list[str]:
        """Return what a person should know of the threads, a sentence each; some are empty."""
        return [self._schedules.error, *(worker.error for worker in self.workers)]

    def _round(self, now: datetime, stopping: Callable[[], bool]) -> WorkDone:
        shared = self._shared
        shared.resume_erasures()
        for user in self._users():
            self._keep_journal(user)
        shared.lifecycle.advance(now)
        dispatched = shared.dispatcher.run(now, stopping, at_once=self._asked > 0)
        return WorkDone(dispatched, *shared.memory_agent.work(stopping))

    @contextmanager
    def _at_once(self) -> Iterator[None]:
        """Let nothing wait for a pause: somebody asked for the work."""
        self._asked += 1
        try:
            yield
        finally:
            self._asked -= 1

    def _keep_journal(self, user: UserParts) -> None:
        """Write the turns that were completed. One user's failure stops nobody else's work."""
        with self._alone(user, "journal"):
            user.journal.keep_up()

    @contextmanager
    def _alone(self, user: UserParts, what: str) -> Iterator[None]:
        """Log what fails for one user and put it into that user's notes. Errors of the database concern all."""
        try:
            yield
            user.errors.pop(what, None)
        except TEMPORARY_ERRORS:
            raise
        except Exception as error:
            user.errors[what] = (
                f"The {what} could not be kept, and is tried again: {type(error).__name__}: {error}"
            )
            log.exception("the %s of user %s could not be kept; it is tried again", what, user.name)

    def _run_schedules(self) -> float:
        """Run what is due, one user after the other. Return how many seconds there are until the next."""
        wait = MAX_WAIT
        for user in self._users():
            for schedule in user.schedules:
                if self._schedules.stopping():
                    return MIN_WAIT
                due_in = AFTER_FAILURE
                with self._alone(user, "schedule"):
                    due_in = schedule.tick()
                wait = min(wait, due_in)
        return max(wait, MIN_WAIT)

    def _users(self) -> list[UserParts]:
        if self._every_user and time.monotonic() >= self._discovered + DISCOVER_SECONDS:
            self._discovered = time.monotonic()
            known = len(self._shared.open_users())
            try:
                names = self._shared.users()
            except LifelongError as error:
                names = []
                log.warning("new users could not be looked for: %s", error)
            for name in names:
                try:
                    self._shared.user(name)
                except LifelongError as error:
                    log.error("the work of user %s waits: %s", name, error)
            if len(self._shared.open_users()) > known:
                self._schedules.wake()
        return self._shared.open_users()
