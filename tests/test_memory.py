"""Memory (C0, O1): opening starts nothing, closing stops everything, and a closed one says so."""

from __future__ import annotations

import inspect
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from lifelong import Agent, Memory, Session, User, UserMessage
from lifelong.errors import AgentNotFound, ConfigError, InputError, MemoryClosed, StorageUnavailable
from lifelong.forget.erasure import ForgetReport
from lifelong.namespaces import Admin, AgentDirectory, InboxView, NotesDirectory, SessionDirectory
from lifelong.organize.worker import WorkDone, Worker
from lifelong.testing import FakeClock, in_threads
from lifelong.types import utc_now
from tests.conftest import OpenMemory, until

ALICE = User("cli", "alice", "main")

CALLS: dict[str, tuple[Any, ...]] = {
    "add": ("I live in Lisbon.",),
    "append": ("a", UserMessage("x")),
    "append_many": ("a", [UserMessage("x")]),
    "agent": (ALICE,),
    "end_turn": ("a",),
    "end_session": ("a",),
    "receipt": ("r1",),
    "organize": (),
    "start": (),
    "search": ("Where do I live?",),
    "context": ("a",),
    "list": (),
    "correct": ("r1", "x"),
    "pin": ("r1",),
    "unpin": ("r1",),
    "feedback": ("r1", "useful"),
    "forget": ("r1",),
    "export": ("copy",),
    "import_from": ("notes",),
    "tools": (),
    "agents.list": (),
    "agents.look_up": (ALICE,),
    "agents.find": ("most-recent-foreground",),
    "agents.get": ("a",),
    "agents.advance": (),
    "sessions.get": ("s",),
    "sessions.list": ("a",),
    "sessions.recent": (),
    "sessions.outlines": ([],),
    "sessions.history": ("s",),
    "sessions.last": ("s", 1),
    "sessions.transcript": ("a",),
    "sessions.size": ("a",),
    "sessions.reset": ("a",),
    "sessions.compact_context": ("a", "what came before"),
    "inbox.list": (),
    "inbox.counts": (),
    "inbox.retry": (),
    "inbox.release": (),
    "notes.worker": ("researcher",),
    "notes.workers": (),
    "admin.health": (),
    "admin.next_due": (),
    "admin.status_notes": (),
    "admin.check": (),
    "admin.verify": (),
    "admin.rebuild": (),
    "admin.index": (),
    "admin.unindexed": (),
    "admin.backup": ("copy.db",),
    "admin.ledger": (),
    "admin.stats": (),
    "admin.users": (),
    "admin.ended": ("journal",),
    "admin.forgotten": (),
    "admin.scan": (),
    "admin.redact": (),
    "admin.pinned": (),
    "admin.prove_forgotten": (ForgetReport(),),
    "admin.retain": (),
    "admin.audit": (),
    "admin.recall_log": (),
}
"""Every public call of a memory and of its namespaces but those that open and close, with arguments it takes."""

NAMESPACES = {
    "agents": AgentDirectory,
    "sessions": SessionDirectory,
    "inbox": InboxView,
    "notes": NotesDirectory,
    "admin": Admin,
}


def looping(tick: Callable[[], object], interval: float) -> Worker:
    """A worker whose round is only this."""

    def run(now: datetime, stopping: Callable[[], bool]) -> WorkDone:
        tick()
        return WorkDone()

    return Worker(run, utc_now, interval)


def background() -> list[str]:
    """The threads of ours that run."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("lifelong")]


# Open and close


def test_opening_makes_the_home_and_starts_nothing(tmp_path: Path) -> None:
    """O1."""
    before = background()
    with Memory.open(tmp_path / "deep" / "home") as memory:
        assert (tmp_path / "deep" / "home" / "lifelong.db").is_file()
        assert memory.user == "default"
        assert background() == before
        assert "lifelong-worker" not in background()


def test_leaving_the_with_closes_it_also_when_something_was_raised(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path)
    memory.start()
    with pytest.raises(KeyError, match="mine"), memory:
        raise KeyError("mine")
    with pytest.raises(MemoryClosed):
        memory.agents.list()
    assert "lifelong-worker" not in background()


def test_what_was_stored_is_there_when_it_is_opened_again(open_memory: OpenMemory) -> None:
    with open_memory() as memory:
        alice = memory.agent(ALICE)
        ids = memory.append_many(alice, [UserMessage("one"), UserMessage("two")])
    with open_memory() as memory:
        assert memory.agent(ALICE) == alice
        assert [r.id for r in memory.sessions.history(memory.sessions.list(alice)[0])] == ids


def public_calls(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind, callable) if not name.startswith("_")} - {"close"}


def test_the_list_of_calls_is_whole(memory: Memory) -> None:
    spaces = {name: type(space) for name, space in vars(memory).items() if type(space) in NAMESPACES.values()}
    assert spaces == NAMESPACES
    within = {f"{name}.{call}" for name, kind in NAMESPACES.items() for call in public_calls(kind)}
    assert public_calls(Memory) - {"open", "stop"} | within == set(CALLS)


def test_a_closed_memory_says_so_on_every_call(memory: Memory, subtests: pytest.Subtests) -> None:
    memory.close()
    for name, arguments in CALLS.items():
        with subtests.test(name), pytest.raises(MemoryClosed, match=r"Memory\.open"):
            attrgetter(name)(memory)(*arguments)


def test_a_closed_memory_hands_out_no_part(memory: Memory, subtests: pytest.Subtests) -> None:
    memory.close()
    for name in ("documents", "journal", "experiences", "relations", "reviews"):
        with subtests.test(name), pytest.raises(MemoryClosed, match=r"Memory\.open"):
            getattr(memory, name)


def test_close_twice_and_from_many_threads(open_memory: OpenMemory) -> None:
    memory = open_memory()
    alice = memory.agent(ALICE)
    in_threads(8, lambda number: memory.append(alice, UserMessage(f"{number}")))
    memory.start()
    in_threads(4, lambda _: memory.close())
    memory.close()
    with pytest.raises(MemoryClosed):
        memory.append(alice, UserMessage("late"))


def test_close_loses_nothing_that_was_acknowledged_beside_it(open_memory: OpenMemory) -> None:
    """C10."""
    memory = open_memory()
    alice = memory.agent(ALICE)
    acknowledged: list[int] = []
    started = threading.Event()

    def write() -> None:
        with suppress(MemoryClosed):
            while True:
                acknowledged.append(memory.append(alice, UserMessage("x")))
                if len(acknowledged) > 20:
                    started.set()

    def close() -> None:
        started.wait(60)
        memory.close()

    threads = [threading.Thread(target=target, daemon=True) for target in (close, *[write] * 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    with open_memory() as again:
        stored = [r.id for r in again.sessions.history(again.sessions.list(alice.id)[0])]
    assert stored == sorted(acknowledged)


def test_two_memories_of_one_home_share_what_is_said(open_memory: OpenMemory) -> None:
    one, two = open_memory(), open_memory()
    alice = one.agent(ALICE)
    assert two.agent(ALICE) == alice
    ids = [memory.append(alice, UserMessage("hello")) for memory in (one, two, one, two)]
    assert ids == sorted(set(ids))
    assert one.sessions.history(one.sessions.list(alice)[0]) == two.sessions.history(two.sessions.list(alice)[0])
    one.close()
    assert two.append(alice, UserMessage("still here")) > ids[-1]


def test_writers_in_two_memories_of_one_home_all_land(open_memory: OpenMemory) -> None:
    memories = [open_memory(), open_memory()]
    alice = memories[0].agent(ALICE)
    ids = in_threads(8, lambda number: [memories[number % 2].append(alice, UserMessage("x")) for _ in range(10)])
    stored = [r.id for r in memories[0].sessions.history(memories[0].sessions.list(alice)[0])]
    assert stored == sorted(record_id for some in ids for record_id in some)
    assert len(stored) == 80


def test_an_agent_goes_by_its_id_or_itself_and_nothing_else(memory: Memory, alice: Agent) -> None:
    assert memory.append(alice, UserMessage("a")) < memory.append(alice.id, UserMessage("b"))
    with pytest.raises(AgentNotFound, match="nobody"):
        memory.append("nobody", UserMessage("c"))
    with pytest.raises(
        InputError, match=r"is not an agent, a session or the id of one\. Get an agent with memory\.agent"
    ):
        memory.append(ALICE, UserMessage("c"))  # type: ignore[arg-type]
    assert len(memory.sessions.history(memory.sessions.list(alice)[0])) == 2


def test_an_agent_and_a_session_are_asked_for_by_id_or_by_themselves(memory: Memory, alice: Agent) -> None:
    memory.append(alice, UserMessage("a"))
    [session] = memory.sessions.list(alice)
    memory.end_session(alice)
    now = memory.agents.get(alice.id)
    assert now.state == "sleeping"
    assert memory.agents.get(alice) == now, "as it is now, not as it was handed in"
    marked = memory.sessions.get(session.id)
    assert marked.invalidated_at is not None
    assert memory.sessions.get(session) == marked
    assert memory.sessions.list(alice.id) == memory.sessions.list(alice) == [marked]
    assert (
        memory.sessions.transcript(alice)
        == memory.sessions.transcript(alice.id)
        == memory.sessions.transcript(session)
        == memory.sessions.transcript(session.id)
        != ""
    )
    assert (
        memory.sessions.history(alice)
        == memory.sessions.history(alice.id)
        == memory.sessions.history(session)
        == memory.sessions.history(session.id)
    )


def test_closed_says_whether_it_is(open_memory: OpenMemory) -> None:
    seen: list[bool] = []
    with open_memory() as memory:
        seen.append(memory.closed)
        memory.start()
        seen.append(memory.closed)
    seen.append(memory.closed)
    memory.close()
    seen.append(memory.closed)
    assert seen == [False, False, True, True]
    with pytest.raises(AttributeError):
        memory.closed = False  # type: ignore[misc]


def test_a_transcript_is_of_an_agent_or_of_a_session(memory: Memory, alice: Agent, clock: FakeClock) -> None:
    assert memory.sessions.transcript(alice) == ""
    first = memory.append(alice, UserMessage("before the reset"))
    old = memory.sessions.list(alice)[0]
    clock.turn(seconds=1)
    memory.sessions.reset(alice)
    memory.append(alice, UserMessage("after the reset"))
    assert "after the reset" in memory.sessions.transcript(alice)
    assert "before the reset" not in memory.sessions.transcript(alice)
    assert "before the reset" in memory.sessions.transcript(old)
    assert memory.sessions.transcript(old, after=first) == ""


def test_a_session_of_another_user_is_not_shown(open_memory: OpenMemory) -> None:
    """C0: also when one comes with the session itself in hand, under the name of an agent of one's own."""
    mine, yours = open_memory("mine"), open_memory("yours")
    alice, bob = mine.agent(ALICE), yours.agent(ALICE)
    mine.append(alice, UserMessage("a secret"))
    session = mine.sessions.list(alice)[0]
    borrowed = Session(session.id, bob.id, session.created_at, None, None, None, None)
    with pytest.raises(LookupError):
        yours.sessions.history(session)
    with pytest.raises(LookupError):
        yours.sessions.transcript(session)
    with pytest.raises(LookupError):
        yours.sessions.transcript(borrowed)


def test_a_time_without_a_zone_is_refused(memory: Memory) -> None:
    with pytest.raises(InputError, match="time zone"):
        memory.agents.advance(datetime(2026, 2, 24))  # noqa: DTZ001
    assert memory.agents.advance(datetime(2026, 2, 24, tzinfo=UTC)).slept == ()


def test_a_home_that_cannot_be_opened_leaves_no_thread_behind(tmp_path: Path) -> None:
    before = background()
    (tmp_path / "lifelong.db").mkdir()
    with pytest.raises(StorageUnavailable):
        Memory.open(tmp_path)
    assert background() == before


# What runs in the background


def test_start_puts_an_idle_agent_to_sleep_and_marks_its_session(tmp_path: Path, storage: dict[str, Any]) -> None:
    """C4, C9, O1: with the real clock."""
    collect, worker = {"idle_after": 0.05}, {"tick_seconds": 0.02}
    with Memory.open(tmp_path, collect=collect, worker=worker, storage=storage) as memory:
        alice = memory.agent(ALICE)
        newest = memory.append(alice, UserMessage("Good night."))
        memory.start()
        until(lambda: memory.agents.get(alice.id).state == "sleeping")
        until(lambda: memory.sessions.list(alice)[0].processed_until == newest)
        memory.append(alice, UserMessage("I am back."))
        assert memory.agents.get(alice.id).state == "active"
        until(lambda: memory.agents.get(alice.id).state == "sleeping")


def test_start_twice_starts_one(memory: Memory) -> None:
    memory.start()
    memory.start()
    assert background().count("lifelong-worker") == 1


def test_close_stops_the_background_work_and_no_tick_follows(
    open_memory: OpenMemory, caplog: pytest.LogCaptureFixture
) -> None:
    """O1: a tick after the database was let go would say so in the log."""
    memory = open_memory(worker={"tick_seconds": 0.001})
    memory.start()
    worker = memory.store._parts.background.workers[0]._thread
    assert worker is not None
    with caplog.at_level(logging.WARNING, "lifelong"):
        memory.close()
        assert not worker.is_alive()
        time.sleep(0.02)
    assert caplog.records == []
    assert "lifelong-worker" not in background()


# The worker alone


def test_the_worker_ticks_again_and_again_until_it_is_stopped() -> None:
    ticks: list[int] = []
    worker = looping(lambda: ticks.append(threading.get_ident()), 0.001)
    time.sleep(0.02)
    assert ticks == [], "nothing runs before it is started"
    assert "lifelong-worker" not in background()
    worker.start()
    until(lambda: len(ticks) >= 5)
    assert background().count("lifelong-worker") == 1
    worker.stop()
    after = len(ticks)
    assert "lifelong-worker" not in background()
    time.sleep(0.02)
    assert len(ticks) == after
    assert len(set(ticks)) == 1
    assert threading.get_ident() not in ticks


def test_the_first_tick_comes_at_once() -> None:
    ticked = threading.Event()
    worker = looping(ticked.set, 3600)
    worker.start()
    assert ticked.wait(60)
    worker.stop()


def test_starting_many_times_at_once_makes_one_thread_and_ticks_never_overlap() -> None:
    inside: list[int] = []
    overlaps: list[int] = []
    ticks: list[int] = []

    def tick() -> None:
        inside.append(1)
        overlaps.extend(inside[1:])
        time.sleep(0.002)
        inside.pop()
        ticks.append(1)

    worker = looping(tick, 0.0001)
    in_threads(8, lambda _: worker.start())
    until(lambda: len(ticks) >= 5)
    worker.stop()
    assert overlaps == []


def test_stop_waits_for_the_tick_that_runs() -> None:
    inside, let_go = threading.Event(), threading.Event()
    done: list[str] = []

    def tick() -> None:
        inside.set()
        assert let_go.wait(60)
        done.append("tick")

    worker = looping(tick, 0.001)

    def stop() -> None:
        worker.stop()
        done.append("stop")

    worker.start()
    assert inside.wait(60)
    stopping = threading.Thread(target=stop, daemon=True)
    stopping.start()
    until(worker.stopping)
    assert done == []
    let_go.set()
    stopping.join(60)
    assert done == ["tick", "stop"]


def test_a_worker_can_be_stopped_twice() -> None:
    ticks: list[int] = []
    worker = looping(lambda: ticks.append(1), 0.001)
    worker.start()
    until(lambda: bool(ticks))
    worker.stop()
    worker.stop()
    assert "lifelong-worker" not in background()


@pytest.mark.parametrize("kind", [StorageUnavailable, OSError, ZeroDivisionError])
def test_a_tick_that_fails_is_logged_and_the_next_one_comes(
    kind: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    """O3: whatever it was that failed."""
    ticks: list[int] = []

    def tick() -> None:
        ticks.append(1)
        if len(ticks) < 3:
            raise kind(f"number {len(ticks)} failed")

    worker = looping(tick, 0.001)
    with caplog.at_level(logging.ERROR, "lifelong"):
        worker.start()
        try:
            until(lambda: len(ticks) >= 5)
        finally:
            worker.stop()
    logged = [caplog.handler.format(record) for record in caplog.records]
    assert ["number 1 failed" in text for text in logged] == [True, False]
    assert ["number 2 failed" in text for text in logged] == [False, True]


@pytest.mark.parametrize("after", [2**70, -1, "x", None, True, 1.5])
def test_a_position_that_is_none_is_refused(memory: Memory, alice: Agent, after: Any) -> None:
    memory.append(alice, UserMessage("hello"))
    with pytest.raises(InputError, match="Give a record's id"):
        memory.sessions.history(alice, after)
    with pytest.raises(InputError, match="Give a record's id"):
        memory.sessions.transcript(alice, after)


def test_a_clock_without_a_zone_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="time zone"):
        Memory.open(tmp_path / "home", clock=lambda: datetime(2026, 1, 1))  # noqa: DTZ001
    assert not (tmp_path / "home").exists()


def test_a_memory_that_cannot_be_made_lets_the_database_go(open_memory: OpenMemory, tmp_path: Path) -> None:
    """K1: also while somebody still holds the error. A host that tries again and again keeps no connection."""
    before = set(threading.enumerate())
    with pytest.raises(ConfigError, match=r"models\.model") as raised:
        open_memory(organize={"organizer": "llm"})
    assert set(threading.enumerate()) <= before
    assert list((tmp_path / "home").glob("*-wal")) == []
    assert raised.value.__traceback__, "which holds what was made so far"


@pytest.mark.parametrize("home", [None, 5, b"home", "", "a\0b", "~nosuchuser/x"])
def test_what_is_no_path_is_refused(home: Any) -> None:
    with pytest.raises(InputError):
        Memory.open(home)


def test_a_start_that_comes_after_the_close_starts_nothing() -> None:
    """O1: no tick follows."""
    ticks: list[int] = []
    worker = looping(lambda: ticks.append(1), 0.001)
    worker.close()
    worker.start()
    time.sleep(0.02)
    assert ticks == []


def is_processed(memory: Memory, agent: Agent, record: int) -> bool:
    return record in [session.processed_until for session in memory.sessions.list(agent)]


def test_it_can_be_started_again_after_a_stop(open_memory: OpenMemory) -> None:
    """O1: the work goes on, and what was done in all is counted on."""
    memory = open_memory(worker={"tick_seconds": 0.01})
    alice = memory.agent(ALICE)
    for times in (1, 2):
        memory.start()
        newest = memory.append(alice, UserMessage(f"I moved to Oslo for the {times}. time."))
        memory.end_session(alice)
        until(partial(is_processed, memory, alice, newest))
        assert memory.stop().dispatched == times
        assert "lifelong-worker" not in background()


def test_the_end_of_a_session_writes_the_turn_that_was_open(open_memory: OpenMemory) -> None:
    """O23: nobody need say that the turn is over, and no worker need run."""
    memory = open_memory(continuity={"journal_enabled": True})
    memory.add([{"role": "user", "content": "Where is it?"}, {"role": "assistant", "content": "In Oslo."}])
    assert memory.journal.records() == []
    memory.end_session()
    assert [record.text for record in memory.journal.records()] == ["User: Where is it? → In Oslo."]
    memory.add({"role": "user", "content": "Thanks."})
    memory.end_session()
    memory.organize()
    assert [record.text for record in memory.journal.records()][1:] == ["User: Thanks."]


def test_what_waits_and_what_ended_is_told(open_memory: OpenMemory) -> None:
    """O5, O11: how many items are in each state; when each item of a kind stopped being true."""
    memory = open_memory(continuity={"journal_enabled": True})
    alice = memory.agent(ALICE)
    memory.append(alice, UserMessage("I live in Oslo."))
    memory.end_session(alice)
    memory.organize()
    assert memory.inbox.counts() == {"done": 1}
    line = memory.journal.remember("Release weekly.").id
    memory.organize()
    [hit] = [one for one in memory.list("journal") if one.text == "Release weekly."]
    assert memory.admin.ended("journal") == {}
    memory.feedback(hit.id, "outdated")
    assert memory.admin.ended("journal") == {line: memory.list("journal", limit=1)[0].until}
    with pytest.raises(InputError, match="Unknown kind"):
        memory.admin.ended("nope")  # type: ignore[arg-type]
