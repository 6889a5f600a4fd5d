"""O25, S2: work that runs by the clock, in the background, one run at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from lifelong import Memory
from lifelong.errors import ConfigError, JournalError
from lifelong.journal.rows import JournalRows
from lifelong.journal.schedule import Schedule, Timetable
from lifelong.storage.base import Database
from lifelong.testing import FakeClock, in_threads
from tests.conftest import until

NIGHTLY = "0 3 * * *"
HOUR = timedelta(hours=1)
NEVER = timedelta()


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


class Rows:
    """Where a schedule keeps when it ran."""

    def __init__(self, last: datetime | None = None) -> None:
        self.last = last

    def last_run(self) -> datetime | None:
        return self.last

    def ran(self, when: datetime) -> None:
        self.last = when


def schedule(
    clock: Callable[[], datetime],
    rows: Rows,
    timetable: Timetable | None = None,
    *,
    job: Callable[[], object] = int,
) -> Schedule:
    hourly = Timetable(UTC, interval=HOUR, jitter=NEVER)
    return Schedule("work", job, timetable or hourly, clock, rows.last_run, rows.ran)


# When


@pytest.mark.parametrize(
    ("zone", "last", "due"),
    [
        ("UTC", "2026-03-05 10:00", "2026-03-06 03:00"),
        ("UTC", "2026-03-05 03:00", "2026-03-06 03:00"),
        ("UTC", "2026-03-05 02:59", "2026-03-05 03:00"),
        ("Asia/Tokyo", "2026-03-05 10:00", "2026-03-05 18:00"),
        ("Europe/Berlin", "2026-03-28 10:00", "2026-03-29 01:00"),  # summer time begins
        ("Europe/Berlin", "2026-10-24 10:00", "2026-10-25 02:00"),  # and ends
    ],
)
def test_cron_is_read_in_the_zone_of_the_journal(zone: str, last: str, due: str) -> None:
    """O25"""
    timetable = Timetable(ZoneInfo(zone), NIGHTLY, jitter=NEVER)
    assert timetable.next_run(at(last)) == at(due)


def test_nothing_runs_before_its_time_in_the_hour_that_comes_twice() -> None:
    """O25: the clock goes back from 03:00 to 02:00 at 01:00 UTC; what came early would come again and again."""
    timetable = Timetable(ZoneInfo("Europe/Berlin"), "*/15 * * * *", seed="home")
    last = at("2026-10-25 00:40")
    for due in ("00:45", "01:00", "01:15"):
        last = timetable.next_run(last)
        assert timedelta() <= last - at(f"2026-10-25 {due}") <= timedelta(minutes=1.5)


def test_cron_comes_before_the_interval() -> None:
    """O25, K1"""
    now = at("2026-03-05 10:00")
    assert Timetable(UTC, NIGHTLY, HOUR, NEVER).next_run(now) == at("2026-03-06 03:00")
    assert Timetable(UTC, "", HOUR, NEVER).next_run(now) == at("2026-03-05 11:00")


@pytest.mark.parametrize("options", [{"cron": NIGHTLY}, {"interval": timedelta(days=1)}])
def test_many_homes_do_not_run_at_once(options: dict[str, str]) -> None:
    """O25: jitter is bounded, spread, and the same each time."""
    now = at("2026-03-05 03:00")
    exact = at("2026-03-06 03:00")

    def delay(seed: str, jitter: timedelta = timedelta(minutes=5)) -> timedelta:
        return Timetable(UTC, jitter=jitter, seed=seed, **options).next_run(now) - exact  # type: ignore[arg-type]

    delays = [delay(f"home {number}") for number in range(100)]
    assert len(set(delays)) == 100
    assert all(NEVER <= each <= timedelta(minutes=5) for each in delays)
    assert max(delays) - min(delays) > timedelta(minutes=4)
    assert delays == [delay(f"home {number}") for number in range(100)]
    assert all(delay(f"home {n}", timedelta(days=9)) <= timedelta(hours=2, minutes=24) for n in range(100))


@pytest.mark.parametrize("cron", ["every night", "0 0 31 2 *", "61 * * * *", "* * *"])
def test_a_wrong_expression_is_said_at_once(cron: str) -> None:
    """O25, K1"""
    with pytest.raises(ConfigError, match="Write one like '0 3"):
        Timetable(UTC, cron)
    with pytest.raises(ConfigError, match="an interval above zero"):
        Timetable(UTC)


# What is due


def test_missed_runs_are_caught_up_once(clock: FakeClock) -> None:
    """O25: ten nights with nothing running, then one run; the next one comes when it is due."""
    rows, runs = Rows(clock.now), list[datetime]()
    nightly = schedule(clock, rows, Timetable(UTC, NIGHTLY, jitter=NEVER), job=lambda: runs.append(clock.now))
    assert nightly.tick() == 17 * 3600
    assert runs == []
    clock.turn(days=10)
    assert nightly.tick() == 17 * 3600
    assert runs == [clock.now] == [rows.last]
    nightly.tick()
    assert len(runs) == 1


def test_a_schedule_that_never_ran_counts_from_its_first_start(clock: FakeClock) -> None:
    """O25: a program that is up by day only still gets its nightly run, on the next morning."""
    rows, runs = Rows(), list[datetime]()

    def opened() -> Schedule:
        return schedule(clock, rows, Timetable(UTC, NIGHTLY, jitter=NEVER), job=lambda: runs.append(clock.now))

    opened().tick()
    assert (rows.last, runs) == (clock.now, [])
    clock.turn(hours=23)
    opened().tick()
    assert runs == [clock.now]


@pytest.mark.parametrize("options", [{"cron": NIGHTLY}, {"interval": timedelta(days=1)}])
def test_a_clock_that_was_ahead_does_not_put_it_off_for_years(clock: FakeClock, options: dict[str, Any]) -> None:
    """O25: once it is right again, runs are due as ever, however often one asks."""
    rows, runs = Rows(clock.now + timedelta(days=9999)), list[datetime]()
    it = schedule(clock, rows, Timetable(UTC, jitter=NEVER, **options), job=lambda: runs.append(clock.now))
    first = it.next_run()
    for _ in range(3 * 24):
        assert it.next_run() >= first
        clock.turn(hours=1)
        it.tick()
    assert len(runs) == 3
    assert rows.last == runs[-1]


def test_a_job_that_fails_is_told_until_it_works(clock: FakeClock, caplog: pytest.LogCaptureFixture) -> None:
    """O25: errors are logged, and health can tell."""
    broken = [JournalError("the disk is full")]

    def job() -> None:
        if broken:
            raise broken.pop()

    it = schedule(clock, Rows(clock.now - HOUR), job=job)
    it.tick()
    assert it.error == "The scheduled work failed: the disk is full"
    assert "the disk is full" in caplog.text
    clock.turn(hours=1)
    it.tick()
    assert it.error == ""


def test_never_two_at_a_time(clock: FakeClock) -> None:
    """O25, O26: whoever asks."""
    inside, most, runs = 0, 0, 0

    def job() -> None:
        nonlocal inside, most, runs
        inside += 1
        most, runs = max(most, inside), runs + 1
        threading.Event().wait(0.01)
        inside -= 1

    it = schedule(clock, Rows(clock.now - HOUR), job=job)
    in_threads(6, lambda number: it.tick())
    assert most == 1
    assert runs == 1, "the one that was due"


def test_the_last_run_of_a_job_is_a_row(database: Database, clock: FakeClock) -> None:
    """O25: per owner and name."""
    assert database.read(lambda tx: JournalRows(tx).last_run("default", "compaction")) is None
    later = clock.now + HOUR
    database.write(lambda tx: JournalRows(tx).store_run("default", "compaction", clock.now))
    database.write(lambda tx: JournalRows(tx).store_run("default", "compaction", later))
    assert database.read(lambda tx: JournalRows(tx).last_run("default", "compaction")) == later
    assert database.read(lambda tx: JournalRows(tx).last_run("work", "compaction")) is None


# In the background


def compacting(home: Path, clock: FakeClock) -> Memory:
    """A memory whose compaction is due each hour, and never without work."""
    settings: dict[str, object] = {
        "journal_enabled": True,
        "memory_compaction_enabled": True,
        "memory_compaction_interval_ms": 3_600_000,
        "memory_compaction_max_records": 3,
        "memory_compaction_min_age_days": 0,
    }
    memory = Memory.open(home, clock=clock, continuity=settings)
    write(memory)
    memory.journal.schedules[0].tick()  # the schedule begins now
    clock.turn(hours=2)
    return memory


def write(memory: Memory) -> None:
    for number in range(9):
        memory.journal.remember(f"Ferry {number} to Cacilhas does not leave before {number + 7}:40.")


def compacted(memory: Memory) -> bool:
    return any(record.category == "compaction" for record in memory.journal.records())


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "lifelong-schedule"]


def test_a_run_that_fails_does_not_end_the_thread(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O25, S2, guardrail 1, SC2: `start` returns at once; the next run comes when it is due."""
    monkeypatch.setattr("lifelong.background.MAX_WAIT", 0.01)
    with compacting(tmp_path, clock) as memory:
        archive = tmp_path / "users/default/archive"
        archive.write_text("a file where a folder must be")
        memory.start()
        memory.start()
        assert len(threads()) == 1
        until(lambda: any("The scheduled compaction failed" in note for note in memory.journal.status_notes()))
        assert memory.admin.health().status != "green"
        archive.unlink()
        clock.turn(hours=2)
        until(lambda: compacted(memory))
        until(lambda: not any("failed" in note for note in memory.journal.status_notes()))


def test_rows_that_cannot_be_read_do_not_end_the_thread(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """O25"""
    monkeypatch.setattr("lifelong.background.AFTER_FAILURE", 0.01)
    with compacting(tmp_path, clock) as memory:
        database = memory._parts.shared.database
        database.write(lambda tx: tx.run("ALTER TABLE schedules RENAME TO elsewhere"))
        memory.start()
        until(lambda: caplog.text.count("no such table: schedules") >= 2)
        database.write(lambda tx: tx.run("ALTER TABLE elsewhere RENAME TO schedules"))
        until(lambda: compacted(memory))


def test_stop_waits_for_the_running_job_and_nothing_follows(tmp_path: Path, clock: FakeClock) -> None:
    """O25: the trap was a timer that went on after stop."""
    with compacting(tmp_path, clock) as memory:
        began = tmp_path / "users/default/tmp/memory-compaction.lock"
        stopping = threading.Thread(target=memory.stop)
        with memory.journal.files.writing():  # the compaction waits for this
            memory.start()
            until(began.exists)
            stopping.start()
            stopping.join(0.05)
            assert stopping.is_alive(), "it waits"
            clock.turn(hours=9)
        stopping.join(30)
        assert compacted(memory), "what ran was finished"
        assert threads() == []
        write(memory)
        before = memory.journal.records()
        time.sleep(0.05)
        assert memory.journal.records() == before, "though it was due again"
        memory.start()
        until(lambda: memory.journal.records() != before)
        memory.stop()
        assert threads() == []


def test_memory_that_was_never_started_can_be_stopped(tmp_path: Path, clock: FakeClock) -> None:
    """O25"""
    with compacting(tmp_path, clock) as memory:
        memory.stop()
        assert not compacted(memory)
