"""O4, O5: the inbox: leases, order per agent, backoff, dead letters, retry."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Self

import pytest

from lifelong import Memory, User, UserMessage
from lifelong.collect.agents import Agents
from lifelong.collect.descriptors import MemoryAgent
from lifelong.errors import InboxItemNotFound, InputError, LeaseLost
from lifelong.organize.draft import Draft
from lifelong.organize.inbox import Inbox, Lease
from lifelong.organize.memory_agent import RetryPolicy
from lifelong.organize.organizer import Transcript
from lifelong.storage.base import Database, Transaction
from lifelong.testing import FakeClock, ScriptedOrganizer, in_threads
from lifelong.types import InboxItem, utc_now
from tests.conftest import OpenMemory

LEASE = timedelta(seconds=60)


class Queue:
    """The inbox of a memory, call by call."""

    def __init__(self, memory: Memory, clock: FakeClock) -> None:
        self.memory = memory
        self.clock = clock
        self.database: Database = memory._parts.shared.database

    def agent(self, name: str) -> str:
        source = self.memory.agent(User("cli", name, "main"))
        return self.memory.agent(MemoryAgent(source.id)).id

    def put(self, agent_id: str, after: int) -> int:
        source = next(agent for agent in self.memory.agents.list() if agent.descriptor.kind == "user")
        if not self.memory.sessions.list(source):
            self.memory.append(source, UserMessage("hello"))
        session = self.memory.sessions.list(source)[-1]

        def work(tx: Transaction) -> int:
            Agents(tx).lock([agent_id])
            return Inbox(tx).put(agent_id, "text", session.id, after, after + 1, self.clock())

        return self.database.write(work)

    def claim(self) -> Lease | None:
        return self.database.write(lambda tx: Inbox(tx).claim(self.clock(), self.clock() + LEASE))

    def take(self) -> Lease:
        lease = self.claim()
        assert lease
        return lease

    def finish(self, lease: Lease) -> None:
        def work(tx: Transaction) -> None:
            Agents(tx).lock([lease.item.agent_id])
            Inbox(tx).finish(lease, self.clock(), None)

        self.database.write(work)

    def fail(self, lease: Lease, seconds: float | None) -> None:
        again = None if seconds is None else self.clock() + timedelta(seconds=seconds)
        self.database.write(lambda tx: Inbox(tx).fail(lease, "no luck", self.clock(), again))

    def states(self) -> list[str]:
        return [item.state for item in reversed(self.memory.inbox.list())]


@pytest.fixture
def queue(memory: Memory, clock: FakeClock) -> Queue:
    return Queue(memory, clock)


def test_items_of_an_agent_come_in_order_and_one_at_a_time(queue: Queue) -> None:
    """O5."""
    agent = queue.agent("alice")
    first, second = queue.put(agent, 1), queue.put(agent, 2)
    lease = queue.take()
    assert lease.item.id == first
    assert lease.item.attempts == 1
    assert queue.claim() is None, "the second stands behind the first"
    queue.finish(lease)
    assert queue.take().item.id == second


def test_items_of_other_agents_do_not_wait(queue: Queue) -> None:
    """O4."""
    alice, bob = queue.agent("alice"), queue.agent("bob")
    queue.put(alice, 1)
    queue.put(alice, 2)
    queue.put(bob, 3)
    assert {queue.take().item.agent_id, queue.take().item.agent_id} == {alice, bob}
    assert queue.claim() is None


def test_a_failed_item_waits_and_holds_up_those_behind_it(queue: Queue, clock: FakeClock) -> None:
    """O5: order is kept while an item waits for its next attempt."""
    agent = queue.agent("alice")
    first = queue.put(agent, 1)
    queue.put(agent, 2)
    queue.fail(queue.take(), 30)
    assert queue.claim() is None
    clock.turn(seconds=31)
    lease = queue.take()
    assert (lease.item.id, lease.item.attempts, lease.item.error) == (first, 2, "no luck")


def test_a_dead_item_is_kept_and_lets_the_others_pass(queue: Queue) -> None:
    """O5: never dropped."""
    agent = queue.agent("alice")
    first, second = queue.put(agent, 1), queue.put(agent, 2)
    queue.fail(queue.take(), None)
    assert queue.take().item.id == second
    dead = queue.memory.inbox.list("dead")
    assert [(item.id, item.error, item.text) for item in dead] == [(first, "no luck", "text")]


def test_a_retried_item_waits_for_the_one_that_is_leased(queue: Queue) -> None:
    """O5: one at a time, also when a dead one comes back to its old place."""
    agent = queue.agent("alice")
    first, second, third = queue.put(agent, 1), queue.put(agent, 2), queue.put(agent, 3)
    queue.fail(queue.take(), None)
    running = queue.take()
    assert running.item.id == second
    assert queue.memory.inbox.retry(first) == 1
    assert queue.claim() is None
    queue.finish(running)
    again = queue.take()
    assert (again.item.id, again.item.attempts) == (first, 1)
    queue.finish(again)
    assert queue.take().item.id == third


def expire(queue: Queue, lease: Lease) -> None:
    queue.clock.turn(seconds=61)


def put_back(queue: Queue, lease: Lease) -> None:
    queue.database.write(lambda tx: Inbox(tx).release(lease, "the disk is full", queue.clock(), LEASE))


def take_away(queue: Queue, lease: Lease) -> None:
    assert queue.memory.inbox.release(lease.item.id) == 1


def rewrite(queue: Queue, lease: Lease) -> None:
    def work(tx: Transaction) -> None:
        Agents(tx).lock([lease.item.agent_id])
        Inbox(tx).rewrite(lease.item.id, lease.item.agent_id, "another text", queue.clock())

    queue.database.write(work)


@pytest.mark.parametrize("come_back", [expire, put_back, take_away, rewrite])
def test_a_retried_item_and_the_one_it_waited_for_are_both_handled(
    queue: Queue, clock: FakeClock, come_back: Callable[[Queue, Lease], None]
) -> None:
    """O5: however the leased one comes back, the queue moves on, one at a time."""
    agent = queue.agent("alice")
    first, second, third = queue.put(agent, 1), queue.put(agent, 2), queue.put(agent, 3)
    queue.fail(queue.take(), None)
    running = queue.take()
    assert running.item.id == second
    queue.memory.inbox.retry(first)
    assert queue.claim() is None
    come_back(queue, running)
    handled = []
    for _ in range(3):
        lease = queue.take()
        assert queue.claim() is None, "one at a time"
        queue.finish(lease)
        clock.turn(seconds=61)
        handled.append(lease.item.id)
    assert handled == ([second, first, third] if come_back is expire else [first, second, third])


def test_retry_takes_every_dead_item_of_the_user_alone(queue: Queue, open_memory: OpenMemory) -> None:
    """O5."""
    alice, bob = queue.agent("alice"), queue.agent("bob")
    queue.put(alice, 1)
    queue.put(bob, 2)
    queue.fail(queue.take(), None)
    queue.fail(queue.take(), None)
    other = open_memory("work")
    assert other.inbox.retry() == 0
    assert other.inbox.list() == []
    assert queue.memory.inbox.retry() == 2
    assert queue.states() == ["pending", "pending"]


def test_a_waiting_item_can_be_tried_at_once(queue: Queue) -> None:
    agent = queue.agent("alice")
    item = queue.put(agent, 1)
    queue.fail(queue.take(), 3600)
    assert queue.claim() is None
    assert queue.memory.inbox.retry(item) == 1
    assert queue.take().item.id == item


def test_an_unknown_item_cannot_be_retried(queue: Queue, open_memory: OpenMemory) -> None:
    item = queue.put(queue.agent("alice"), 1)
    with pytest.raises(InboxItemNotFound, match=r"memory\.inbox"):
        queue.memory.inbox.retry(item + 1)
    with pytest.raises(InboxItemNotFound):
        open_memory("work").inbox.retry(item)
    with pytest.raises(InputError):
        queue.memory.inbox.list("lost")  # type: ignore[arg-type]


def test_a_lease_that_ran_out_is_taken_over(queue: Queue, clock: FakeClock) -> None:
    """O4: no host name, only time; whoever was there before can change nothing any more."""
    queue.put(queue.agent("alice"), 1)
    lost = queue.take()
    clock.turn(seconds=59)
    assert queue.claim() is None
    clock.turn(seconds=2)
    mine = queue.take()
    assert (mine.item.id, mine.item.attempts, mine.item.losses) == (lost.item.id, 1, 1)
    with pytest.raises(LeaseLost):
        queue.finish(lost)
    queue.fail(lost, None)
    assert queue.states() == ["leased"]
    queue.finish(mine)
    assert queue.states() == ["done"]
    assert queue.memory.inbox.list()[0].text == "", "history has it"


def test_a_heartbeat_keeps_the_lease(queue: Queue, clock: FakeClock) -> None:
    """O4."""
    queue.put(queue.agent("alice"), 1)
    lease = queue.take()
    clock.turn(seconds=50)
    assert queue.database.write(lambda tx: Inbox(tx).renew(lease, clock() + LEASE))
    clock.turn(seconds=50)
    assert queue.claim() is None
    clock.turn(seconds=11)
    queue.take()
    assert not queue.database.write(lambda tx: Inbox(tx).renew(lease, clock() + LEASE))


def test_a_released_item_does_not_count_the_attempt(queue: Queue, clock: FakeClock) -> None:
    """O14: at the cap, work waits."""
    queue.put(queue.agent("alice"), 1)
    lease = queue.take()
    queue.database.write(lambda tx: Inbox(tx).release(lease, "the cap", clock(), LEASE))
    assert queue.claim() is None
    assert queue.memory.inbox.list()[0].error == "the cap"
    clock.turn(seconds=60)
    assert queue.take().item.attempts == 1


def test_workers_at_once_never_claim_the_same_item(queue: Queue) -> None:
    """O4: SKIP LOCKED, or one writer at a time."""
    agents = [queue.agent(f"u{number}") for number in range(6)]
    items = [queue.put(agent, place) for place, agent in enumerate(agents * 2, start=1)]
    leases = in_threads(8, lambda _: [queue.claim() for _ in range(3)])
    claimed = [lease.item.id for several in leases for lease in several if lease]
    assert sorted(claimed) == items[:6], "the first of each agent, once"


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 30), (2, 60), (3, 120), (7, 600), (40, 600)])
def test_waits_double_up_to_a_limit_with_jitter(attempt: int, seconds: float, clock: FakeClock) -> None:
    """O5: exponential backoff."""
    retry = RetryPolicy(LEASE, 50, timedelta(seconds=30), timedelta(seconds=600))
    waits = {retry.next_attempt(attempt, clock()) for _ in range(20)}
    assert len(waits) > 1
    assert all(w and 0.8 * seconds <= (w - clock()).total_seconds() <= 1.2 * seconds for w in waits)
    assert retry.next_attempt(50, clock()) is None


def test_an_agent_with_work_in_its_inbox_stays_awake(memory: Memory, clock: FakeClock, queue: Queue) -> None:
    """C4: an agent with an empty inbox sleeps; one that has work does not."""
    agent = queue.agent("alice")
    queue.put(agent, 1)
    clock.turn(seconds=61)
    memory.agents.advance()
    assert memory.agents.get(agent).state == "active"
    queue.finish(queue.take())
    clock.turn(seconds=61)
    memory.agents.advance()
    assert memory.agents.get(agent).state == "sleeping"


def test_claiming_costs_the_same_however_many_stand_behind(queue: Queue) -> None:
    """What waits behind a leased item is not looked at."""
    agent = queue.agent("alice")
    for place in range(1, 30):
        queue.put(agent, place)
    queue.take()
    waiting = "SELECT count(*) FROM inbox WHERE due_at < ? AND state = 'pending'"
    assert queue.database.read(lambda tx: tx.one(waiting, 2**61)) == (0,)


# Clocks that are wrong


YEARS = timedelta(days=3650)


def correct(queue: Queue, longest: timedelta = timedelta(days=1)) -> int:
    return queue.database.write(lambda tx: Inbox(tx).correct_times(queue.clock(), longest))


def test_a_lease_from_the_future_is_expired(queue: Queue, clock: FakeClock) -> None:
    """O4: a lease whose end is further away than its length was taken by a clock that was wrong."""
    agent = queue.agent("alice")
    first = queue.put(agent, 1)
    queue.put(agent, 2)
    clock.turn(days=3650)
    lost = queue.take()
    clock.turn(days=-3650)
    assert queue.claim() is None
    assert correct(queue) == 1
    lease = queue.take()
    assert (lease.item.id, lease.item.losses) == (first, 1)
    with pytest.raises(LeaseLost):
        queue.finish(lost)
    assert correct(queue) == 0, "a lease of the right time stays"
    assert queue.claim() is None


def test_an_attempt_that_a_wrong_clock_put_off_is_due(queue: Queue, clock: FakeClock) -> None:
    """O5: what waits, waits for as long as a pause may be, and not for years."""
    queue.put(queue.agent("alice"), 1)
    queue.fail(queue.take(), 86_400)
    assert correct(queue) == 0, "a day is the longest pause"
    clock.turn(days=-3650)
    assert correct(queue) == 1
    assert queue.take().item.attempts == 2


def test_a_worker_takes_over_what_a_wrong_clock_holds(queue: Queue, clock: FakeClock) -> None:
    """O4: without a person; later items of that agent do not wait for years."""
    agent = queue.agent("alice")
    queue.put(agent, 1)
    queue.put(agent, 2)
    clock.turn(days=3650)
    queue.take()
    clock.turn(days=-3650)
    assert queue.memory.organize().finished == 2
    assert queue.states() == ["done", "done"]


def test_leases_go_by_the_clock_of_the_database(
    tmp_path: Path, storage: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """O4: the clock of the machine that a worker runs on does not count where the database has its own. A file is
    used on one machine, whose clock is the one that everybody shares."""

    class Ahead(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls.fromtimestamp(time.time(), tz) + YEARS

    def begin(transcript: Transcript, draft: Draft) -> None:
        seen.extend(memory.inbox.list("leased"))

    seen: list[InboxItem] = []
    with Memory.open(tmp_path / "home", organizer=ScriptedOrganizer(begin), storage=storage) as memory:
        alice = memory.agent(User("cli", "alice", "main"))
        memory.append(alice, UserMessage("one"))
        memory.end_session(alice)
        monkeypatch.setattr("lifelong.types.datetime", Ahead)
        assert utc_now() > datetime.now(UTC) + YEARS / 2, "this machine's clock is wrong"
        assert memory.organize().finished == 1
    (item,) = seen
    now = datetime.now(UTC) + (timedelta() if storage else YEARS)
    assert item.due_at
    assert abs(item.due_at - now) < timedelta(hours=1)
    assert abs(item.created_at - now) < timedelta(hours=1)


# A person helps


def test_a_person_releases_what_a_worker_holds(queue: Queue) -> None:
    """O5: `retry` says so, `release` does it, and what the worker still does with it is discarded."""
    agent = queue.agent("alice")
    first, second = queue.put(agent, 1), queue.put(agent, 2)
    lost = queue.take()
    with pytest.raises(InputError, match=f"lifelong inbox release {first}"):
        queue.memory.inbox.retry(first)
    assert queue.memory.inbox.release(second) == 0, "nobody holds it"
    assert queue.memory.inbox.release(first) == 1
    with pytest.raises(LeaseLost):
        queue.finish(lost)
    lease = queue.take()
    assert (lease.item.id, lease.item.attempts) == (first, 1), "the attempt did not count"
    assert queue.memory.inbox.release() == 1
    with pytest.raises(InboxItemNotFound):
        queue.memory.inbox.release(999)


def test_nobody_releases_what_is_another_users(queue: Queue, open_memory: OpenMemory) -> None:
    """C0."""
    first = queue.put(queue.agent("alice"), 1)
    queue.take()
    other = open_memory(user="tom")
    with pytest.raises(InboxItemNotFound):
        other.inbox.release(first)
    assert other.inbox.release() == 0
    assert queue.states() == ["leased"]


def test_health_is_red_within_a_minute_of_the_last_progress(queue: Queue, clock: FakeClock) -> None:
    """O6: items are due, and nobody works on them."""
    alice, bob = queue.agent("alice"), queue.agent("bob")
    queue.put(alice, 1)
    queue.put(bob, 2)
    clock.turn(seconds=50)
    assert queue.memory.admin.health().status == "green"
    lease = queue.take()
    clock.turn(seconds=30)
    assert queue.memory.admin.health().status == "green", "one waits for long, but a worker is at it"
    queue.finish(lease)
    clock.turn(seconds=29)
    assert queue.memory.admin.health().status == "green", "it finished something"
    clock.turn(seconds=30)
    health = queue.memory.admin.health()
    assert health.status == "red"
    assert "no worker makes progress" in health.reasons[0]
    queue.take()
    assert queue.memory.admin.health().status == "green"
