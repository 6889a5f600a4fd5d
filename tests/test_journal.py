"""The journal (SPEC O22, O23): what is written down stands in both pages, whoever else writes, edits or dies."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lifelong.journal.files as module
from lifelong.errors import InputError, JournalError
from lifelong.journal.records import JournalRecord, encode, parse, render
from lifelong.journal.service import ROLLED_FILE, JournalService
from lifelong.settings import ContinuitySettings
from lifelong.testing import FakeClock, in_threads
from tests.conftest import open_journal

RECORD = JournalRecord("r1", "s1", "note", "Tea.", "cli/main", 1.0, datetime(2026, 2, 24, 9, tzinfo=UTC), "public")
DAY = date(2026, 2, 24)
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2

WRITER = """
import itertools, sys
from datetime import UTC, datetime
from pathlib import Path
from lifelong.journal.service import JournalService
from lifelong.settings import ContinuitySettings

root, name, count, window = sys.argv[1:]
now = datetime(2026, 2, 24, 10, tzinfo=UTC)
settings = ContinuitySettings(journal_enabled=True, memory_max_records=int(window) if window else None)
journal = JournalService(settings, Path(root), lambda: now)
print("ready", flush=True)
for number in itertools.islice(itertools.count(), int(count) or None):
    print(journal.remember(f"{name} says {number} " + "x" * (number % 50)).id, flush=True)
"""


@contextmanager
def writer(root: Path, name: str, count: int = 0, window: str = "") -> Iterator[subprocess.Popen[str]]:
    """A process that remembers, and says which record each time it did."""
    command = [sys.executable, "-c", WRITER, str(root), name, str(count), window]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str]) -> list[str]:
    """What it acknowledged until it ended: whole lines only."""
    assert process.stdout
    return [line.strip() for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n")]


@pytest.fixture
def journal(tmp_path: Path, clock: FakeClock) -> JournalService:
    return open_journal(tmp_path / "user", clock)


def ids(journal: JournalService, page: Path) -> list[str]:
    return [line.record.id for line in parse(journal.files.read(page)) if line.record]


def archived(journal: JournalService) -> bytes:
    return journal.files.read(journal.files.archive_folder / ROLLED_FILE)


# Writing


def test_a_record_stands_in_memory_and_on_its_day(journal: JournalService, clock: FakeClock) -> None:
    """O23: `remember` appends what the agent chooses to both pages."""
    first = journal.remember("  Tea at four. ", "learned", "public", session_id="s1", source_channel="cli")
    second = journal.remember("Coffee at five.")
    assert (first.text, first.category, first.sensitivity, first.timestamp) == (
        *("Tea at four.", "learned", "public"),
        clock.now,
    )
    assert (second.category, second.sensitivity, second.source_channel) == ("note", "operational", "tool")
    assert journal.records() == journal.day(DAY) == [first, second]
    assert journal.files.read(journal.files.memory) == f"# Memory\n\n{render(first)}{render(second)}".encode()
    assert journal.files.read(journal.files.day(DAY)).startswith(b"# 2026-02-24\n\n- {")


def test_one_zone_names_the_day(tmp_path: Path, clock: FakeClock) -> None:
    """O23: pages are named and times are written in the journal's zone, not in the machine's or in UTC."""
    journal = open_journal(tmp_path, clock, time_zone="Pacific/Auckland")
    clock.turn(hours=3)  # 13:00 UTC is 02:00 of the next day there
    record = journal.remember("Late.")
    assert journal.day(date(2026, 2, 25)) == [record]
    assert journal.files.days() == [tmp_path / "memory/2026-02-25.md"]
    assert b"2026-02-25T02:00:00.000+13:00" in journal.files.read(journal.files.memory)


def test_a_record_goes_to_the_day_of_its_time(journal: JournalService) -> None:
    """O23: what comes late stands where it belongs; without a time it is now."""
    assert (
        journal.append(replace(RECORD, timestamp=datetime(2025, 5, 1, tzinfo=UTC)), replace(RECORD, id="r2")) == 2
    )
    assert journal.append(replace(RECORD, id="r3", timestamp=None)) == 1
    assert [page.stem for page in journal.files.days()] == ["2025-05-01", "2026-02-24"]
    assert ids(journal, journal.files.memory) == ["r1", "r2", "r3"]
    assert ids(journal, journal.files.day(DAY)) == ["r2", "r3"]


@pytest.mark.parametrize("stop", [0, 1, 2])
def test_what_was_written_before_is_not_written_again(journal: JournalService, stop: int) -> None:
    """O23: not even when whoever wrote it was stopped between the two pages."""
    pages = [journal.files.memory, journal.files.day(DAY)]
    for page in pages[:stop]:
        journal.files.append(page, encode(render(RECORD)))
    assert journal.append(RECORD) == (0 if stop == 2 else 1)
    assert journal.append(RECORD) == 0
    assert [ids(journal, page) for page in pages] == [["r1"], ["r1"]]


def test_half_a_record_does_not_count_as_written(journal: JournalService) -> None:
    """O23: its id is there, the record is not."""
    half = encode(render(RECORD))[:60]
    journal.files.append(journal.files.day(DAY), half)
    assert journal.append(RECORD) == 1
    assert ids(journal, journal.files.day(DAY)) == ["r1"]
    assert half + b"\n" in journal.files.read(journal.files.day(DAY))


def test_a_text_with_a_secret_is_marked(journal: JournalService) -> None:
    """S4: found on the way in, whatever the caller says, also in two lines; where it came from holds none."""
    for text in ("The key is AKIAIOSFODNN7EXAMPLE.", "The password for the\nserver is hunter2x9."):
        assert journal.remember(text, sensitivity="public", source_channel=KEY).sensitivity == "secret"
        journal.append(replace(RECORD, id=text[:9], text=text, session_id=KEY))
    assert {found.sensitivity for found in journal.records()} == {"secret"}
    assert KEY.encode() not in journal.files.read(journal.files.memory)


def test_an_id_that_a_text_mentions_is_not_taken_for_a_record(journal: JournalService) -> None:
    """S1: whether one is written or several."""
    journal.append(replace(RECORD, id="first", text='It says "second" and "third".'))
    assert journal.append(replace(RECORD, id="second")) == 1
    assert journal.append(replace(RECORD, id="second")) == 0
    assert journal.append(replace(RECORD, id="second"), replace(RECORD, id="third")) == 1


def test_what_comes_twice_in_a_call_is_written_once(journal: JournalService) -> None:
    """O23: as between two calls."""
    assert journal.append(RECORD, RECORD) == 1
    assert [ids(journal, page) for page in (journal.files.memory, journal.files.day(DAY))] == [["r1"], ["r1"]]


def test_many_records_are_written_once(journal: JournalService) -> None:
    """O23: however much they take, and whatever came after them."""
    records = [replace(RECORD, id=f"r{number}", text="渡" * 420) for number in range(300)]
    assert journal.append(*records) == 300
    journal.remember("x" * 100_000)
    assert journal.append(*records) == 0
    assert len(journal.records()) == len(journal.day(DAY)) == 301


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"text": "  "}, "Give a text"),
        ({"text": 5}, "Pass a str"),
        ({"text": "x" * 100_001}, "Make it shorter"),
        ({"text": "a\ud800"}, "valid Unicode"),
        ({"category": ""}, "Use 1 to 64 letters"),
        ({"category": "two words\n"}, "Use 1 to 64 letters"),
        ({"category": None}, "Use 1 to 64 letters"),
        ({"category": "compaction"}, "is reserved"),
        ({"sensitivity": "top"}, "Use one of: public, operational, private-user, secret"),
        ({"confidence": 2}, "from 0 to 1"),
        ({"confidence": True}, "from 0 to 1"),
        ({"session_id": "x" * 1_001}, "Make it shorter"),
        ({"source_channel": None}, "Pass a str"),
    ],
)
def test_what_cannot_be_remembered_is_refused_and_changes_nothing(
    journal: JournalService, given_: dict[str, Any], message: str
) -> None:
    """O23: each message says the next step."""
    with pytest.raises(InputError, match=message):
        journal.remember(**{"text": "Tea.", **given_})
    with pytest.raises(InputError, match=message):
        journal.append(RECORD, replace(RECORD, **{"id": "r2", **given_}))
    assert not journal.files.root.exists()


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("a text", "Pass a JournalRecord"),
        (replace(RECORD, id=""), "must not be empty"),
        (replace(RECORD, timestamp=datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)), "with a time zone"),
        (replace(RECORD, timestamp=datetime.max.replace(tzinfo=UTC)), "out of range"),
        (replace(RECORD, timestamp=datetime.min.replace(tzinfo=UTC)), "out of range"),
    ],
)
def test_what_is_no_record_is_refused_and_changes_nothing(
    journal: JournalService, record: Any, message: str
) -> None:
    """O23: `append` says the next step too."""
    with pytest.raises(InputError, match=message):
        journal.append(RECORD, record)
    assert not journal.files.root.exists()


@pytest.mark.parametrize("day", ["2026-02-24", None, datetime(2026, 2, 24, tzinfo=UTC)])
def test_a_day_is_a_date(journal: JournalService, day: Any) -> None:
    """O22: nothing else names a page."""
    with pytest.raises(InputError, match="Give a date"):
        journal.day(day)


def test_reading_a_journal_that_is_not_there_makes_nothing(journal: JournalService) -> None:
    """K2: no file, no folder."""
    assert (journal.records(), journal.day(DAY), journal.long_memory()) == ([], [], "")
    assert journal.append() == 0
    assert not (journal.files.root / "memory").exists()
    assert not journal.files.memory.exists()


def test_what_cannot_be_written_to_both_pages_is_in_neither(journal: JournalService) -> None:
    """S1: and the next one is written again."""
    first = journal.remember("one")
    (journal.files.root / "memory").rename(journal.files.root / "elsewhere")
    (journal.files.root / "memory").write_text("in the way")
    with pytest.raises(JournalError, match="Nothing was changed"):
        journal.remember("two")
    assert journal.records() == [first]
    (journal.files.root / "memory").unlink()
    assert journal.records() == [first]
    journal.remember("three")
    assert len(journal.records()) == 2


@pytest.mark.parametrize("part", ["write_all", "sync"])
def test_what_cannot_be_written_to_all_its_days_is_on_none(
    journal: JournalService, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S1: a second try finds nothing of the first, so no page lacks a record."""
    records = [replace(RECORD, id=f"r{day}", timestamp=datetime(2026, 2, day, tzinfo=UTC)) for day in (3, 4)]
    journal.remember("before")
    late, act = journal.files.day(date(2026, 2, 4)), getattr(module, part)

    def fail(*given_: Any) -> None:
        act(*given_)
        if late.exists():
            raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(module, part, fail)
        with pytest.raises(JournalError, match="Nothing was changed"):
            journal.append(*records)
    assert [record.text for record in journal.records()] == ["before"]
    assert journal.append(*records) == 2
    assert [record.id for record in journal.records()[1:]] == ["r3", "r4"]
    assert [ids(journal, journal.files.day(date(2026, 2, day))) for day in (3, 4)] == [["r3"], ["r4"]]


@pytest.mark.parametrize(
    "paths",
    [
        {"long_memory_path": path}
        for path in (
            "sub/MEMORY.md",
            "./MEMORY.md",
            "memory.md",
            "tmp/x",
            "workers",
            "archive",
            "archive/x.md",
            ".",
        )
    ]
    + [{"memory_archive_path": path} for path in ("memory", "MEMORY.md", "tmp", "workers/x", "LONGMEMORY.md", ".")]
    + [{"long_memory_path": "Old/LONG.md", "memory_archive_path": "old"}],
)
def test_no_file_overlaps_another(paths: dict[str, str]) -> None:
    """K1, S1: neither in a folder that is used for something else."""
    with pytest.raises(ValueError, match="another file or folder of the journal"):
        ContinuitySettings(**paths)  # type: ignore[arg-type]
    ContinuitySettings(long_memory_path="sub/LONG.md", memory_archive_path="sub/old")


def test_changes_are_seen(journal: JournalService) -> None:
    """O22: a person's edit counts at once, and survives the next append."""
    kept, gone = journal.remember("Tea."), journal.remember("Mistake.")
    page = journal.files.memory
    page.write_text(page.read_text().replace(render(gone), "- mended by hand\n").replace("Tea.", "Green tea."))
    assert [record.text for record in journal.records()] == ["Green tea."]
    journal.remember("More.")
    assert "- mended by hand\n" in page.read_text()
    assert kept.id in page.read_text()
    journal.files.long_memory.write_bytes(b"# Long-term memory\n\xff\n")
    assert journal.long_memory() == "# Long-term memory\n\ufffd\n"


# The rolling window


@pytest.mark.parametrize(
    "window",
    [
        {"memory_max_records": 20},
        {"memory_max_chars": 5_000},
        {"memory_max_records": 20, "memory_max_chars": 5_000},
    ],
)
def test_the_oldest_records_go_to_the_archive(tmp_path: Path, clock: FakeClock, window: dict[str, int]) -> None:
    """O23: by count and by characters; together they are every record, and the page of the day has them all."""
    journal = open_journal(tmp_path, clock, **window)
    written, rewrites = [], 0
    for number in range(100):
        before = journal.files.read(journal.files.previous_version(journal.files.memory))
        written.append(journal.remember(f"number {number}"))
        rewrites += journal.files.read(journal.files.previous_version(journal.files.memory)) != before
        page = journal.files.read(journal.files.memory).decode()
        assert len(journal.records()) <= window.get("memory_max_records", 100)
        assert len(page) <= window.get("memory_max_chars", 100_000)
    rolled = [line.record for line in parse(archived(journal))]
    assert [*rolled, *journal.records()] == journal.day(DAY) == written
    assert journal.records()[-1] == written[-1]
    assert 0 < rewrites <= 60, "some room is made at once"


@settings(max_examples=60)
@given(
    st.lists(
        st.one_of(
            st.integers(0, 30).map(lambda number: encode(render(replace(RECORD, id=f"r{number}")))),
            st.sampled_from([b"- by hand\r\n", b"\n", b"- {broken\n", b"\xff\xfe\n", "家\n".encode(), b"half"]),
            st.integers(0, 30).map(
                lambda number: encode(render(replace(RECORD, id=f"é{number}"))).replace(b"\n", b"\r\n")
            ),
        )
    ).map(b"".join),
    st.integers(1, 10),
    st.booleans(),
)
def test_whatever_is_no_record_survives_the_window(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, most: int, bom: bool
) -> None:
    """O22, O23: every byte of MEMORY.md stays, or is a record in the archive; both in their order."""
    journal = open_journal(tmp_path_factory.mktemp("home"), FakeClock(), memory_max_records=most)
    before = (b"\xef\xbb\xbf" if bom else b"") + data
    journal.files.append(journal.files.memory, before)
    new = journal.remember("The newest.")
    kept = [line.raw for line in parse(journal.files.read(journal.files.memory))]
    gone = parse(archived(journal))
    assert all(line.record for line in gone)
    ended = before + (b"\n" if before and not before.endswith(b"\n") else b"")
    header = b"" if before else b"# Memory\n\n"
    everything = [line.raw for line in parse(header + ended + encode(render(new)))]
    assert sorted([*kept, *(line.raw for line in gone)]) == sorted(everything)
    rest = iter(everything)
    assert all(raw in rest for raw in kept), "the order stays"
    assert len([raw for raw in kept if parse(encode(raw))[0].record]) <= most


def test_a_window_that_cannot_be_kept_loses_no_record(
    tmp_path: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """S1: where the archive cannot be written, MEMORY.md stays as long as it is."""
    journal = open_journal(tmp_path, clock, memory_max_records=2)
    (tmp_path / "archive").write_text("in the way")
    for number in range(5):
        journal.remember(f"number {number}")
    assert len(journal.records()) == 5
    assert "nothing is lost" in caplog.text


def test_hand_written_lines_alone_may_be_longer_than_the_window(tmp_path: Path, clock: FakeClock) -> None:
    """O23: then the newest record stays beside them."""
    journal = open_journal(tmp_path, clock, memory_max_chars=100)
    journal.files.append(journal.files.memory, b"- by hand\n" * 50)
    last = [journal.remember("one"), journal.remember("two")][-1]
    assert journal.records() == [last]
    assert journal.files.read(journal.files.memory).count(b"- by hand\n") == 50


# Several writers


@pytest.mark.parametrize("window", ["", "15"])
def test_processes_that_append_at_once_lose_nothing(journal: JournalService, window: str) -> None:
    """O23: real processes; every record is there, once, and each line is whole."""
    names = ["a", "b", "c"]
    managers = [writer(journal.files.root, name, 30, window) for name in names]
    writers = [manager.__enter__() for manager in managers]
    try:
        acknowledged = [record_id for each in writers for record_id in said(each)[1:]]
    finally:
        for manager in managers:
            manager.__exit__(None, None, None)
    assert len(set(acknowledged)) == 90
    in_memory = [line.record.id for line in parse(archived(journal)) if line.record]
    in_memory += ids(journal, journal.files.memory)
    for found in (in_memory, ids(journal, journal.files.day(DAY))):
        assert sorted(found) == sorted(acknowledged)
    for page in (journal.files.memory, journal.files.day(DAY)):
        assert all(line.record for line in parse(journal.files.read(page))[2:])


def test_threads_that_append_at_once_lose_nothing(journal: JournalService) -> None:
    """O23: threads of one process share one journal."""
    written = in_threads(8, lambda number: [journal.remember(f"{number} {turn}").id for turn in range(10)])
    assert sorted(ids(journal, journal.files.memory)) == sorted(chain.from_iterable(written))


@pytest.mark.parametrize("kills", [5, pytest.param(50, marks=pytest.mark.soak)])
def test_a_killed_writer_leaves_half_a_line_at_most(journal: JournalService, kills: int) -> None:
    """O22, S1: SIGKILL at random points, with a window that rewrites: what was acknowledged is there, and what
    comes after half a line stands on its own."""
    chance = random.Random(kills)
    acknowledged: list[str] = []
    for number in range(kills):
        with writer(journal.files.root, f"w{number}", window="12") as victim:
            assert victim.stdout
            acknowledged += [victim.stdout.readline().strip() for _ in range(chance.randrange(2, 60))][1:]
            time.sleep(chance.uniform(0, 0.004))
            victim.send_signal(signal.SIGKILL)
            acknowledged += said(victim)
        acknowledged.append(journal.remember("still here").id)
    for page in (journal.files.memory, journal.files.day(DAY)):
        lines = parse(journal.files.read(page))
        assert sum(1 for line in lines[2:] if not line.record) <= kills
    in_memory = {
        *ids(journal, journal.files.memory),
        *(line.record.id for line in parse(archived(journal)) if line.record),
    }
    assert set(acknowledged) <= in_memory
    assert set(acknowledged) <= set(ids(journal, journal.files.day(DAY)))


@pytest.mark.parametrize("cut", range(1, 200, 23))
def test_half_a_line_survives_as_a_line(journal: JournalService, cut: int) -> None:
    """O22: wherever the crash struck, the next record is not merged with what it left."""
    whole = render(RECORD)
    journal.files.append(journal.files.memory, encode(whole[:cut]))
    new = journal.remember("next")
    assert journal.records() == [new]
    assert journal.files.read(journal.files.memory) == encode(f"{whole[:cut]}\n{render(new)}")
    assert json.loads(render(new)[2:])["text"] == "next"
