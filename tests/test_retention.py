"""S9: what is older than its limit is forgotten by schedule, by kind and by user, and what went is said."""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lifelong import Memory
from lifelong.errors import ConfigError
from lifelong.testing import FakeClock
from lifelong.types import utc_now
from tests.command_line import Line
from tests.conftest import OpenMemory
from tests.test_forget import EVERYTHING_ON, assert_gone, files_with, tell


def keeping(open_memory: OpenMemory, user: str = "mara", **limits: Any) -> Memory:
    return open_memory(user, continuity=EVERYTHING_ON | limits)


def test_nothing_is_forgotten_by_default(open_memory: OpenMemory, clock: FakeClock) -> None:
    """S9, K1: no limit, no schedule."""
    mara = keeping(open_memory)
    tell(mara, "The Vorpal release is on Friday.")
    clock.turn(days=4_000)
    assert not mara.admin.retain()
    assert mara.search("Vorpal release")
    assert not mara.admin.forgotten()


def test_old_history_goes_with_all_that_was_made_of_it(open_memory: OpenMemory, clock: FakeClock) -> None:
    """S9: the same way as a range that a person names, and on the word of `retention`."""
    mara = keeping(open_memory, retain_history_days=30)
    tell(mara, "My sister Zelda works at Quuxcorp as a nurse.")
    mara.sessions.reset(mara.agent())
    clock.turn(days=20)
    tell(mara, "The Heron release is on Monday.")
    assert not mara.admin.retain(), "nothing is too old yet"
    clock.turn(days=15)
    preview = mara.admin.retain(dry_run=True)
    assert preview.preview
    assert preview.records == ("r1",)
    assert preview.facts == ("My sister Zelda works at Quuxcorp as a nurse.",)
    assert mara.search("Zelda")[0].text.startswith("My sister Zelda")
    report = mara.admin.retain()
    assert report.records == ("r1",)
    assert report.sessions >= 1
    assert_gone(mara, "Zelda", "Quuxcorp")
    assert mara.admin.prove_forgotten(report).clean
    assert mara.search("Heron release")[0].text == "The Heron release is on Monday."
    assert {stone.author for stone in mara.admin.forgotten()} == {"retention"}
    assert mara.admin.health().status == "green"
    assert not mara.admin.verify()
    assert not mara.admin.retain(), "once is enough"


def test_old_lines_day_files_and_summaries_go(open_memory: OpenMemory, clock: FakeClock) -> None:
    """S9: MEMORY.md, whole day files, LONGMEMORY.md, the archive. History stays."""
    mara = keeping(open_memory, retain_journal_days=30)
    for number in range(6):
        tell(mara, f"Day {number}: the Vorpal pump number {number} runs well and quietly in the hall.")
    mara.journal.remember("The boiler key hangs behind the Zornmirror.", "learned")
    day = mara.journal.files.days()[0]
    with day.open("a") as file:
        file.write("\nBy hand: the Quuxvalve leaks.\n")
    clock.turn(days=15)
    tell(mara, "The Heron pump runs, too, and it is the quiet one of the two.")
    clock.turn(days=10)
    mara.journal.compact(force=True)
    mara.organize()
    files = mara.journal.files
    assert "Vorpal" in files.long_memory.read_text()
    assert "Heron" in files.long_memory.read_text()
    clock.turn(days=10)
    preview = mara.admin.retain(dry_run=True)
    assert day.exists(), "a preview changes nothing"
    report = mara.admin.retain()
    assert (report.lines, report.files) == (preview.lines, preview.files)
    assert f"memory/{day.name}" in report.files
    assert not day.exists()
    names = {name for word in ("Vorpal", "Zornmirror", "Quuxvalve") for name in files_with(files.root, word)}
    assert not {name for name in names if name.endswith((".md", ".before", ".new"))}
    assert "Heron" in files.long_memory.read_text()
    assert mara.search("Vorpal pump")[0].kind in ("record", "fact"), "the records are still there"
    assert not [hit for hit in mara.list("journal", limit=1_000) if "Vorpal" in hit.text]
    assert_gone(mara, "Quuxvalve")
    kept = [one.text for one in mara.experiences.list()]
    assert any("Zornmirror" in text for text in kept), "experiences have a limit of their own"
    mara.organize()
    assert not day.exists(), "a turn that was in the journal is not written again"
    assert not mara.admin.retain()


def test_old_experiences_and_searches_go(open_memory: OpenMemory, clock: FakeClock) -> None:
    """S9: each by its own limit."""
    mara = keeping(open_memory, retain_experience_days=30, retain_recall_log_days=7)
    mara.experiences.add("Deploys on Fridays break the Vorpalcache.", "learned")
    mara.search("Zornmirror")
    clock.turn(days=10)
    mara.search("Heron")
    report = mara.admin.retain()
    assert (report.searches, report.experiences) == (1, 0)
    assert [one.question for one in mara.admin.recall_log()] == ["Heron"]
    clock.turn(days=25)
    mara.experiences.add("The Heron deploy takes nine minutes.", "learned")
    assert mara.admin.retain().experiences == 1
    assert_gone(mara, "Vorpalcache", "Zornmirror")
    assert [one.text for one in mara.experiences.list()] == ["The Heron deploy takes nine minutes."]


def test_it_runs_by_schedule_for_each_user_and_says_what_went(
    open_memory: OpenMemory, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """S9, C0: in the background, once a day; another user's limits are the same, the memory is their own."""
    caplog.set_level(logging.INFO, "lifelong.forget")
    mara = keeping(open_memory, retain_history_days=30)
    ben = mara.store.user("ben")
    tell(mara, "The Vorpal release is on Friday.")
    clock.turn(days=20)
    tell(ben, "The Heron release is on Monday.")
    for memory in (mara, ben):
        for schedule in memory._parts.schedules:
            schedule.tick()
    clock.turn(days=12)
    mara.start()
    deadline = time.monotonic() + 30
    while not mara.admin.forgotten() and time.monotonic() < deadline:
        time.sleep(0.05)
    mara.stop()
    assert_gone(mara, "Vorpal")
    assert not ben.admin.forgotten()
    assert ben.search("Heron release")
    assert any("retention forgot 1 records" in one.getMessage() for one in caplog.records)


def test_a_wrong_limit_or_time_is_an_error(open_memory: OpenMemory) -> None:
    """S9, K1."""
    with pytest.raises(ConfigError, match="at least 1"):
        keeping(open_memory, retain_history_days=0)
    with pytest.raises(ConfigError, match="cron expression"):
        keeping(open_memory, retention_schedule_cron="every day").admin.health()


def test_what_was_interrupted_goes_on(
    open_memory: OpenMemory, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S9, S6: also where the files were written, and what was made of them was not."""
    from lifelong.forget.erasure import Eraser

    limits: dict[str, Any] = {"retain_history_days": 30, "retain_journal_days": 30, "retain_experience_days": 30}
    mara = keeping(open_memory, **limits)
    tell(mara, "The Vorpal release is on Friday, and everybody in the office in Gdynia is glad of it.")
    mara.journal.remember("The boiler key hangs behind the Zornmirror.", "learned")
    mara.experiences.extract()
    mara.organize()
    clock.turn(days=31)
    with monkeypatch.context() as patched:
        patched.setattr(Eraser, "_erase_derived", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            mara.admin.retain()
    mara.organize()
    assert_gone(mara, "Vorpal", "Gdynia", "Zornmirror")
    assert mara.admin.forgotten()


def test_files_of_a_day_go_by_the_journals_time_zone(open_memory: OpenMemory, clock: FakeClock) -> None:
    """S9: the day of the limit stays, but for its lines that are older."""
    mara = keeping(open_memory, retain_journal_days=2, time_zone="Asia/Tokyo")
    mara.journal.remember("The Vorpal valve is shut.", "learned")
    first = mara.journal.files.days()
    clock.turn(hours=1)
    mara.journal.remember("The Heron valve is open.", "learned")
    clock.now = clock() + timedelta(days=2) - timedelta(minutes=30)
    mara.admin.retain()
    assert mara.journal.files.days() == first
    assert "Heron" in first[0].read_text()
    assert_gone(mara, "Vorpal")


def test_the_command_says_what_would_go_and_what_went(
    line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S9, C11."""
    home = tmp_path / "home"
    with Memory.open(home) as memory:
        memory.add("The Vorpal release is on Friday.", at=utc_now() - timedelta(days=9))
    assert "Nothing is forgotten by its age" in line.done("retention", "--home", home).out
    monkeypatch.setenv("LIFELONG_CONTINUITY_RETAIN_HISTORY_DAYS", "7")
    assert "Would forget: 1 records." in line.done("retention", "--dry-run", "--home", home).out
    assert "Forgotten: 1 records." in line.done("retention", "--home", home).out
    assert "Nothing is too old." in line.done("retention", "--home", home).out
