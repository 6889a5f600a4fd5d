"""O25-O30: compaction keeps MEMORY.md under its target, and loses nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from filelock import BaseFileLock, FileLock
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lifelong.disk import sync
from lifelong.errors import JournalError, ModelError
from lifelong.journal import compaction as module
from lifelong.journal.compaction import Compaction, CompactionLimits, CompactionResult
from lifelong.journal.files import JournalFiles
from lifelong.journal.model_text import key_facts
from lifelong.journal.records import JournalRecord, Sensitivity, encode, parse, render
from lifelong.journal.schedule import Schedule, Timetable
from lifelong.journal.summarize import DatedText
from lifelong.testing import FakeClock

NOW = datetime(2026, 3, 12, 3, 0, tzinfo=UTC)
OLD = NOW - timedelta(days=10)
HEADER = "# Memory\n\n"
TIGHT = CompactionLimits(max_records=10, max_chars=6_000)


def record(name: str, category: str = "turn-summary", at: datetime | None = OLD, **more: Any) -> JournalRecord:
    text = more.pop("text", f"{name.title()} asked about ticket {sum(name.encode())} and did not get an answer.")
    sensitivity: Sensitivity = more.pop("sensitivity", "operational")
    return JournalRecord(name, "s", category, text, "cli", more.pop("confidence", 1.0), at, sensitivity)


def old(count: int) -> str:
    return "".join(render(record(f"old{number}", at=OLD + timedelta(minutes=number))) for number in range(count))


@pytest.fixture
def files(tmp_path: Path) -> JournalFiles:
    return JournalFiles(tmp_path / "user")


def write(files: JournalFiles, text: str | bytes) -> None:
    data = text if isinstance(text, bytes) else encode(text)
    files.root.mkdir(exist_ok=True)
    files.memory.write_bytes(data)


def compaction(files: JournalFiles, limits: CompactionLimits = TIGHT, **options: Any) -> Compaction:
    return Compaction(files, lambda: NOW, UTC, limits, **options)


def records(files: JournalFiles) -> list[JournalRecord]:
    return [line.record for line in parse(files.memory.read_bytes()) if line.record]


def archived(files: JournalFiles) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(files.archive_folder.glob("compacted-*.md")))


# When it runs


@pytest.mark.parametrize(
    ("count", "limits", "runs"),
    [
        (20, CompactionLimits(20, 100_000), False),
        (21, CompactionLimits(20, 100_000), True),
        (20, CompactionLimits(1_000, 2_000), True),
        (0, CompactionLimits(), False),
    ],
)
def test_it_runs_only_over_a_limit(files: JournalFiles, count: int, limits: CompactionLimits, runs: bool) -> None:
    """O25, O30, SC2: by records or by characters; else it says why not, and no page changes."""
    write(files, HEADER + old(count))
    before = files.memory.read_bytes()
    result = compaction(files, limits).run()
    assert result.ran is runs
    assert (files.memory.read_bytes() == before) is not runs
    assert ("Within the limits" in result.reason) is not runs
    assert files.long_memory.exists() is runs


def test_it_can_be_forced_and_then_has_nothing_left_to_do(files: JournalFiles) -> None:
    """O25"""
    write(files, HEADER + old(20))
    roomy = compaction(files, CompactionLimits())
    assert roomy.run(force=True).compacted == 20
    again = roomy.run(force=True)
    assert (again.ran, again.reason) == (False, "Nothing to compact: every record is recent or must be kept.")


def test_force_does_not_enlarge_the_page(files: JournalFiles) -> None:
    """O25: one short record told as a compaction would take more room than it does."""
    write(files, HEADER + render(record("short", text="Ada likes 2 teas.")) + render(STAY["learned"]))
    before = files.memory.read_bytes()
    result = compaction(files, CompactionLimits()).run(force=True)
    assert (result.ran, result.reason) == (False, "Nothing to compact: MEMORY.md would not get smaller.")
    assert files.memory.read_bytes() == before
    assert not files.archive_folder.exists()


def test_a_journal_that_is_not_there_makes_no_page(files: JournalFiles) -> None:
    """K2"""
    assert not compaction(files).run().ran
    assert not files.memory.exists()
    assert not files.long_memory.exists()
    assert not files.archive_folder.exists()


# The lock


def test_one_compaction_at_a_time(files: JournalFiles) -> None:
    """O26, K3, SC8: held → skipped; the file says who holds it and stays behind."""
    write(files, HEADER + old(30))
    with files.compacting("somebody", NOW) as free:
        assert free
        lock = files.root / "tmp" / "memory-compaction.lock"
        assert lock.read_text() == f"somebody since {NOW.isoformat()}\n"
        held = compaction(files).run()
        assert (held.ran, held.reason) == (False, "Another compaction is running.")
        other = JournalFiles(files.root.with_name("other"))
        write(other, HEADER + old(30))
        assert compaction(other).run().ran, "another user has its own"
    assert compaction(files).run().ran
    assert lock.exists()


def test_a_failure_frees_the_lock_and_leaves_the_page(
    files: JournalFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O26, O28, S1, S7, guardrails 2 and 3; however often it fails, nothing is archived or told twice."""
    write(files, HEADER + old(30))
    before = files.memory.read_bytes()
    replace_page = files.replace

    def fail(page: Path, data: bytes, was: bytes) -> bool:
        if page == files.memory:
            raise JournalError("no room")
        return replace_page(page, data, was)

    monkeypatch.setattr(files, "replace", fail)
    locks: list[BaseFileLock] = []  # kept, so that none is freed by being forgotten

    def lock(*given: Any, **options: Any) -> BaseFileLock:
        locks.append(FileLock(*given, **options))
        return locks[-1]

    monkeypatch.setattr("filelock.FileLock", lock)
    for _ in range(3):
        with pytest.raises(JournalError, match="no room"):
            compaction(files).run()
        assert files.memory.read_bytes() == before
    monkeypatch.undo()
    assert compaction(files).run().ran
    assert archived(files) == before.removeprefix(HEADER.encode())
    assert files.long_memory.read_text().count("\n## ") == 1
    assert files.previous_version(files.memory).read_bytes() == before


def test_an_archive_that_did_not_take_it_stops_everything(
    files: JournalFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S7: what goes must be on disk, byte for byte, before anything else is written."""
    write(files, HEADER + old(30))
    before = files.memory.read_bytes()
    archive = files.archive
    monkeypatch.setattr(files, "archive", lambda name, data: archive(name, data[:-9] + b"\n"))
    with pytest.raises(JournalError, match="does not hold what was written"):
        compaction(files).run()
    assert files.memory.read_bytes() == before
    assert not files.long_memory.exists()


def test_appends_meanwhile_are_not_blocked_and_not_lost(files: JournalFiles) -> None:
    """O26, S2, guardrail 1: they come in while the summary is made, here from the very thread that makes it."""
    write(files, HEADER + old(30))
    late = encode(render(record("late", "learned", NOW)))

    def query(prompt: str) -> str:
        with files.writing():
            files.append(files.memory, late)
        raise ModelError("no model today")

    result = compaction(files, query=query).run()
    assert result.ran
    assert files.memory.read_bytes().endswith(late)
    assert len(records(files)) == result.records_after
    assert len(files.memory.read_text()) == result.chars_after


@pytest.mark.parametrize("often", [1, 99])
@pytest.mark.parametrize("name", ["MEMORY.md", "LONGMEMORY.md"])
def test_what_a_person_writes_while_a_file_is_replaced_stays(
    files: JournalFiles, monkeypatch: pytest.MonkeyPatch, name: str, often: int
) -> None:
    """O22, O28: between the last look at a file and the rename that replaces it."""
    write(files, HEADER + old(30))
    files.long_memory.write_bytes(b"# Long-term memory\n\n")
    path, edits, replace_file = files.root / name, 0, Path.replace
    put_back = False

    def edited_first(draft: Path, target: Path) -> Path:
        nonlocal edits, put_back
        if target == path and edits < often and not put_back:
            edits += 1
            put_back = True
            with path.open("ab") as file:
                file.write(b"mine\n")
        else:
            put_back = False
        return replace_file(draft, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", edited_first)
        result = compaction(files).run()
    assert (result.ran, edits) == ((True, 1) if often == 1 else (False, module.MAX_ATTEMPTS))
    assert path.read_bytes().count(b"mine\n") == edits
    assert result.ran or files.memory.read_bytes().startswith((HEADER + old(30)).encode())


@pytest.mark.parametrize("name", ["MEMORY.md", "LONGMEMORY.md"])
def test_what_an_editor_saves_by_a_rename_while_a_file_is_replaced_stays(
    files: JournalFiles, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """O22, O28: the old file, which is kept, does not hold it."""
    write(files, HEADER + old(30))
    files.long_memory.write_bytes(b"# Long-term memory\n\n")
    path, edited = files.root / name, False

    def edited_meanwhile(folder: Path) -> None:
        nonlocal edited
        sync(folder)
        if folder == files.root / "tmp" and (folder / f"{name}.before").exists() and not edited:
            edited = True
            saved = path.with_name("4913")
            saved.write_bytes(path.read_bytes() + b"mine\n")
            saved.replace(path)

    monkeypatch.setattr("lifelong.journal.files.sync", edited_meanwhile)
    assert compaction(files).run().ran
    assert edited
    assert path.read_bytes().count(b"mine\n") == 1
    assert not path.with_name(f".{name}.new").exists()


@pytest.mark.parametrize("often", [1, 99])
def test_a_person_who_edits_meanwhile_is_not_overwritten(files: JournalFiles, often: int) -> None:
    """O22: the compaction begins anew; if they go on and on it gives up, and nothing is changed."""
    write(files, HEADER + old(30))
    edits = 0

    def query(prompt: str) -> str:
        nonlocal edits
        if edits < often:
            edits += 1
            write(files, files.memory.read_bytes().replace(b"# Memory\n", b"# Memory\nmine\n"))
        raise ModelError("no model today")

    before = files.memory.read_bytes()
    result = compaction(files, query=query).run()
    assert result.ran is (often == 1)
    assert files.memory.read_bytes().count(b"mine\n") == edits
    if often == 1:
        assert archived(files).count(b"\n") == 30, "archived once, though it was tried twice"
    else:
        assert files.memory.read_bytes().replace(b"mine\n", b"") == before
        assert "kept changing" in result.reason
        assert not files.long_memory.exists()


def test_so_much_appended_meanwhile_that_it_would_be_over_the_target(files: JournalFiles) -> None:
    """O28: what came in is counted in the next try."""
    write(files, HEADER + old(30))
    came: list[bytes] = []

    def query(prompt: str) -> str:
        if not came:
            came.extend(encode(render(record(f"new{n}", at=NOW, text="x" * 740))) for n in range(6))
            with files.writing():
                files.append(files.memory, b"".join(came))
        raise ModelError("no model today")

    result = compaction(files, query=query).run()
    assert (result.ran, result.over_target) == (True, False)
    assert len(files.memory.read_text()) < TIGHT.max_chars
    assert files.memory.read_bytes().endswith(b"".join(came))


# What goes and what stays


STAY = {
    "recent": record("recent", at=NOW - timedelta(days=6, hours=23)),
    "future": record("future", at=NOW + timedelta(days=9)),
    "learned": record("learned", "learned"),
    "preference": record("preference", "user-preference"),
    "decision": record("decision", "decision"),
    "unknown": record("unknown", "whatever"),
    "secret": record("secret", sensitivity="secret"),
    "secret-note": record("secret-note", "note", sensitivity="secret"),
    "secret-compaction": record("secret-compaction", "compaction", sensitivity="secret"),
    "timeless": record("timeless", at=None),
}


def test_what_must_be_kept_is_kept_as_it_is_and_in_order(files: JournalFiles) -> None:
    """O22, O27, O28, SC3: recent, high-value, unknown and secret records, header and hand-written lines."""
    odd = ["a remark\n", "- {broken\n", "- a list\n", "  \n", '- {"id": 7}\n', "half \udcff\n"]
    kept = ["\ufeff# Memory\r\n", "\r\n"]
    page = kept.copy()
    for number, stays in enumerate(STAY.values()):
        left = [render(stays).replace("\n", "\r\n"), *odd[number : number + 1]]
        page += [render(record(f"old{number}")), render(record(f"note{number}", "note")), *left]
        kept += left
    data = "".join(page).rstrip("\n")
    write(files, data)
    result = compaction(files, CompactionLimits(12, 60_000)).run()
    assert result.compacted == 2 * len(STAY)
    lines = [line.raw for line in parse(files.memory.read_bytes())]
    told = [line for line in lines if '"category": "compaction"' in line and "secret-compaction" not in line]
    assert len(told) == 1
    assert lines.index(told[0]) == 2, "after the header"
    assert "".join(line for line in lines if line not in told) == "".join(kept).rstrip("\n")
    assert [line.record.id for line in parse(archived(files)) if line.record] == [
        f"{kind}{number}" for number in range(len(STAY)) for kind in ("old", "note")
    ]


def test_a_compaction_below_a_kept_line_is_no_hindrance(files: JournalFiles) -> None:
    """O22, O28: a person may put a line anywhere, also a compaction without a newline at the end. Compactions then
    stand before what is kept, which stays in its order."""
    told = [render(record(f"compaction-{n}", "compaction", text=f"Ada: {n} kayaks.")) for n in range(3)]
    mine, learned, recent = "## mine\n", render(STAY["learned"]), render(STAY["recent"])
    write(files, HEADER + mine + told[0] + learned + told[1] + old(30) + recent + told[2].rstrip("\n"))
    result = compaction(files).run()
    assert (result.ran, result.compacted, result.records_after) == (True, 30, 6)
    start, end = HEADER + mine + "".join(told), learned + recent
    page = files.memory.read_text()
    assert page.startswith(start)
    assert page.endswith(end)
    assert len(parse(encode(page[len(start) : -len(end)]))) == 1


def test_the_archive_has_each_record_on_a_line_of_its_own(files: JournalFiles) -> None:
    """S7: also where the page had no final newline, and compactions are told again."""
    words = " ".join(f"Ada met Bob{n} on 7 May {1900 + n}." for n in range(100))
    earlier = "".join(render(record(f"compaction-{n}", "compaction", text=f"{n} {words}")) for n in range(3))
    write(files, HEADER + earlier + old(30).rstrip("\n"))
    ids = {each.id for each in records(files)}
    assert compaction(files).run().compacted == 33
    assert {line.record.id for line in parse(archived(files)) if line.record} == ids


@pytest.mark.parametrize(("age", "goes"), [(timedelta(days=7), True), (timedelta(days=6, hours=23), False)])
@pytest.mark.parametrize("category", ["note", "turn-summary", "compaction"])
def test_age_is_the_same_for_all(files: JournalFiles, category: str, age: timedelta, goes: bool) -> None:
    """O27: to the moment; also for what somebody else calls a compaction."""
    write(files, HEADER + "".join(render(record(f"r{n}", category, NOW - age)) for n in range(30)))
    assert bool(compaction(files).run().compacted) is goes


def test_a_merged_record_has_the_highest_sensitivity_and_the_least_confidence(files: JournalFiles) -> None:
    """O27: what is private does not become operational by being merged."""
    private = record("private", sensitivity="private-user", confidence=0.4)
    write(files, HEADER + render(record("public", sensitivity="public")) + render(private) + old(20))
    result = compaction(files).run()
    merged = records(files)[0]
    assert (merged.category, merged.sensitivity, merged.confidence) == ("compaction", "private-user", 0.4)
    assert merged.timestamp == OLD + timedelta(minutes=19)
    assert "22 record(s), private-user)" in result.block


def test_every_specific_of_what_was_merged_is_accounted_for(files: JournalFiles) -> None:
    """O27, S7: each number, name, date and negation is told, or in the archive."""
    write(files, HEADER + old(300))
    merged = key_facts("\n".join(each.text for each in records(files)))
    assert compaction(files).run().ran
    told = key_facts(files.long_memory.read_text() + "\n".join(each.text for each in records(files)))
    rest = key_facts("\n".join(line.record.text for line in parse(archived(files)) if line.record))
    assert merged <= told | rest
    assert told & merged


def test_a_secret_that_nobody_marked_does_not_get_into_a_summary(files: JournalFiles) -> None:
    """S4"""
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    write(files, HEADER + old(2) + render(record("leak", text=f"Deploy to Porto with the token {secret}.")))
    assert compaction(files, CompactionLimits(max_records=1)).run().ran
    assert secret not in files.memory.read_text()
    assert secret not in files.long_memory.read_text()
    assert "Porto" in files.long_memory.read_text()


def test_what_was_pending_is_written_first_and_the_index_follows(files: JournalFiles) -> None:
    """O27, O29: the hooks; neither can make a compaction fail."""
    write(files, HEADER + old(10))
    order: list[str] = []

    def flush() -> None:
        files.append(files.memory, encode(render(record("pending"))))
        order.append("flush")
        raise JournalError("the rest is not written")

    def resync() -> None:
        order.append(f"resync {len(records(files))}")
        raise RuntimeError("no index")

    result = compaction(files, flush=flush, resync=resync).run()
    assert (result.ran, result.compacted) == (True, 11)
    assert order == ["flush", "resync 1"]
    assert not compaction(files, resync=resync).run().ran
    assert order == ["flush", "resync 1"]


def test_daily_pages_are_never_touched(files: JournalFiles) -> None:
    """O29, guardrail 4"""
    day = files.day(OLD.date())
    with files.writing():
        files.append(day, encode(old(30)))
    write(files, HEADER + old(30))
    before = (day.read_bytes(), day.stat().st_mtime_ns)
    assert compaction(files).run().ran
    assert (day.read_bytes(), day.stat().st_mtime_ns) == before


# The target


def test_the_result_tells_what_happened(files: JournalFiles) -> None:
    """O30"""
    write(files, HEADER + old(30) + render(STAY["learned"]))
    before = files.memory.read_text()
    result = compaction(files).run()
    after = files.memory.read_text()
    assert result == CompactionResult(
        ran=True,
        reason=f"30 of 31 record(s) compacted; {len(before):,} characters brought to {len(after):,}.",
        records_before=31,
        records_after=2,
        compacted=30,
        chars_before=len(before),
        chars_after=len(after),
        block=files.long_memory.read_text().removeprefix("# Long-term memory\n\n"),
        over_target=False,
    )
    assert result.block.startswith("## 2026-03-12 (2026-03-02 to 2026-03-02, 30 record(s), operational)")


def test_compactions_are_compacted_again_oldest_first(files: JournalFiles) -> None:
    """O28, SC3: run after run, the page stays under its target, by records and by size."""
    limits = CompactionLimits(max_records=6, max_chars=4_000)
    firsts: list[str] = []
    write(files, HEADER + render(STAY["learned"]) + render(STAY["decision"]))
    for run in range(12):
        for n in range(40):
            text = f"Farid sold {run * 100 + n} kayaks to Ada in Oslo for {n * 7} euros, none in Porto{run}."
            write(files, files.memory.read_bytes() + encode(render(record(f"r{run}-{n}", text=text))))
        result = compaction(files, limits).run()
        assert (result.ran, result.over_target) == (True, False)
        assert len(files.memory.read_text()) < limits.max_chars
        assert result.records_after == len(records(files)) <= limits.max_records
        told = [each for each in records(files) if each.category == "compaction"]
        assert told
        firsts.append(told[0].id)
    assert len(set(firsts)) > 3, "the oldest are told again"
    ids = [line.record.id for line in parse(archived(files)) if line.record]
    assert {f"r{run}-{n}" for run in range(12) for n in range(40)} <= set(ids)
    assert any(each.startswith("compaction-") for each in ids), "a compaction that is told again is archived too"


def test_a_full_page_leaves_room_for_what_is_appended_next(files: JournalFiles) -> None:
    """O28: else it would be over the target again at once."""
    many = (
        record(f"r{n}", text=f"Ada{n} sold {n * 7} kayaks to Ben{n} in Oslo{n}, not {n}.") for n in range(2_000)
    )
    write(files, HEADER + "".join(map(render, many)))
    result = compaction(files).run()
    assert TIGHT.max_chars * 0.9 < result.chars_after <= TIGHT.max_chars * 0.95


@pytest.mark.parametrize("cap", [1, 100, 141, 200, 300, 1_000])
def test_long_memory_keeps_the_smallest_cap(files: JournalFiles, cap: int) -> None:
    """O29: where not even a sentence fits there is no block."""
    for run in range(3):
        write(files, HEADER + old(30).replace("old", f"old{run}"))
        result = compaction(files, CompactionLimits(10, 6_000, long_memory_max_chars=cap)).run()
        assert result.ran
        assert bool(result.block) is (cap >= 300)
        assert len(files.read(files.long_memory)) <= cap


@pytest.mark.parametrize("chars", [5_990, 6_500])
def test_kept_records_alone_may_fill_the_target_or_exceed_it(files: JournalFiles, chars: int) -> None:
    """O28: nothing kept is removed; there is no room for a compaction record, but LONGMEMORY.md tells."""
    bare = render(record("k", "learned", text=""))
    kept = render(record("k", "learned", text="x" * (chars - len(HEADER) - len(bare))))
    write(files, HEADER + old(20) + kept)
    it = compaction(files)
    result = it.run()
    assert files.memory.read_text() == HEADER + kept
    assert (result.ran, result.compacted, result.chars_after) == (True, 20, chars)
    assert result.over_target is (chars > TIGHT.max_chars)
    assert bool(it.status_notes()) is result.over_target
    assert "old" in files.long_memory.read_text().lower()
    again = it.run()
    assert (again.ran, again.over_target) == (False, result.over_target)


def test_a_page_with_little_room_does_not_make_the_long_memory_short(files: JournalFiles) -> None:
    """O29: what MEMORY.md has no room for, LONGMEMORY.md tells; and of what day it was, where it was one."""
    kept = render(record("k", "learned", text="x" * 5_000))
    write(files, HEADER + old(20) + kept)
    result = compaction(files).run()
    [told] = [one.text for one in records(files) if one.category == "compaction"]
    assert len(told) < 300 < len(result.block)
    assert f"### {OLD:%Y-%m-%d}\n- Old0 asked" in result.block


def test_what_json_writes_in_two_characters_is_counted(files: JournalFiles) -> None:
    """O28"""
    quoted = (render(record(f"q{n}", text=f'"{n}" \\"Ada{n}\\" "not" "{n * 7}" "Oslo"')) for n in range(300))
    write(files, HEADER + "".join(quoted))
    result = compaction(files, CompactionLimits(2, 1_200)).run()
    assert (result.ran, result.records_after, result.over_target) == (True, 1, False)
    assert len(files.memory.read_text()) < 1_200


def test_health_has_nothing_to_say_before_a_run(files: JournalFiles) -> None:
    """O28: what can be compacted is no reason to worry."""
    assert compaction(files).status_notes() == []
    write(files, HEADER + old(100))
    assert compaction(files).status_notes() == []


def test_a_rewrite_that_would_lose_something_is_refused(
    files: JournalFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O28, S7: a wrong plan, be it only in the order of lines, does not reach the disk; health tells of it."""
    write(files, HEADER + old(20) + render(STAY["learned"]) + "by hand\n")
    before = files.memory.read_bytes()
    plan = module.CompactionPlanner.plan

    def run(spoil: Callable[[module.CompactionPlan], module.CompactionPlan]) -> str:
        monkeypatch.setattr(module.CompactionPlanner, "plan", lambda *given: spoil(plan(*given)))
        timetable = Timetable(UTC, interval=timedelta(hours=1))
        hourly = Schedule(
            "compaction", compaction(files).run, timetable, lambda: NOW, lambda: OLD, lambda at: None
        )
        hourly.tick()
        return hourly.error

    item, by_hand = DatedText("", OLD), b"by hand\n"
    learned = module.OldRecord(encode(render(STAY["learned"])), item, 1.0, "operational")
    spoilt = [
        run(lambda good: good._replace(memory=good.memory.replace(b"by hand", b"by hands"))),
        run(lambda good: good._replace(memory=good.memory.replace(learned.raw, b""))),
        run(
            lambda good: good._replace(
                memory=good.memory.replace(learned.raw, b""), removed=[*good.removed, learned]
            )
        ),
        run(lambda good: good._replace(removed=[*good.removed, module.OldRecord(by_hand, item, 1.0, "public")])),
        run(lambda good: good._replace(removed=good.removed[1:])),
        run(lambda good: good._replace(memory=good.memory.replace(learned.raw + by_hand, by_hand + learned.raw))),
    ]
    start = "The scheduled compaction failed: A compaction was refused: it would "
    assert [remark.removeprefix(start).partition(".")[0] for remark in spoilt] == [
        "lose a line that is not a record",
        "lose the record learned",
        "lose the record learned",
        "remove a line that is not a record, which must be kept",
        "lose the record old0",
        "lose a line that is not a record",
    ]
    assert files.memory.read_bytes() == before
    assert not files.archive_folder.exists()


# Whatever is in the page


_json = st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=9) | st.none(), max_size=3)
_odd = ["Łukasz hat 7 Äpfel nicht gekauft.", "他没有在五月去里斯本。", "لم يشتر ١٢ كتابا", "\u2028\x85", "\ud800"]
_texts = st.text(max_size=80) | st.sampled_from(_odd)


@st.composite
def _lines(draw: st.DrawFn) -> bytes:
    kind = draw(st.sampled_from(["record"] * 4 + ["bytes", "json", "half", "blank", "huge"]))
    ending = draw(st.sampled_from([b"\n", b"\n", b"\r\n", b""]))
    if kind == "bytes":
        return draw(st.binary(max_size=40)) + ending
    if kind == "json":
        return encode(f"- {json.dumps(draw(_json))}") + ending
    if kind == "blank":
        return ending
    category = draw(st.sampled_from(["turn-summary", "note", "compaction", "learned", "odd"]))
    sensitivity = draw(st.sampled_from(["public", "private-user", "secret"]))
    at = draw(st.sampled_from([OLD, NOW, None]))
    fields = json.loads(render(record(draw(st.sampled_from("abc")), category, at, sensitivity=sensitivity))[2:])
    fields["text"] = draw(_texts) * (1_000 if kind == "huge" else 1)
    line = b"- " + json.dumps(fields, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    return line[: len(line) // 2] if kind == "half" else line + ending


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    start=st.sampled_from([b"", b"\xef\xbb\xbf", b"# Memory\n\n", b"\xef\xbb\xbf# Memory\r\n"]),
    page=st.lists(_lines(), max_size=25),
    limits=st.sampled_from([CompactionLimits(3, 1_500), CompactionLimits(5, 5_000), CompactionLimits(1, 100_000)]),
)
def test_every_byte_that_is_not_a_compacted_record_survives(
    tmp_path_factory: pytest.TempPathFactory, start: bytes, page: list[bytes], limits: CompactionLimits
) -> None:
    """O22, O28: CRLF, a byte order mark, broken JSON, half lines, huge lines, the same id twice, other languages,
    no final newline, bytes that are no UTF-8."""
    files = JournalFiles(tmp_path_factory.mktemp("user"))
    data = start + b"".join(page)
    write(files, data)
    result = compaction(files, limits).run()
    after = files.memory.read_bytes()
    if not result.ran:
        assert after == data
        assert result.reason.startswith(("Within the limits", "Nothing to compact"))
        return
    left, there, gone = (
        module.split_lines(after),
        list(module.split_lines(after)),
        list(module.split_lines(archived(files))),
    )
    for raw in module.split_lines(data):
        found = parse(raw)[0].record
        if found and module.is_compactable(found, NOW - limits.min_age):
            whole = raw if raw.endswith(b"\n") else raw + b"\n"
            (gone if whole in gone else there).remove(whole)
        else:
            assert any(raw == other for other in left), raw
    assert gone == []
    assert not result.over_target or len(after) > limits.max_chars or result.records_after > limits.max_records
    assert len(after.decode("utf-8", "surrogateescape")) == result.chars_after
    assert sum(line.record is not None for line in parse(after)) == result.records_after
    kept = module.split(data, NOW - limits.min_age)
    assert result.over_target is limits.exceeded(kept.kept_records, kept.kept_chars)


# A year


@pytest.mark.parametrize("days_in_all", [60, pytest.param(365, marks=pytest.mark.soak)])
def test_a_busy_agent(files: JournalFiles, days_in_all: int) -> None:
    """O28, O29: 200 records a day for two months, or a year; a compaction every night, the target at one and a
    half times what must be kept. Under it every morning; nothing is ever lost."""
    names, things = ["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus"], ["kayak", "violin", "bakery", "camera"]
    valued = {0: "learned", 60: "user-preference", 120: "decision"}
    days: list[list[str]] = []
    ran = 0
    for number in range(days_in_all):
        today = NOW + timedelta(days=number)
        days.append([])
        for n in range(200):
            text = f"{names[n % 7]}: the {things[number * n % 4]}? → Not before {n % 28 + 1} May, {n * 7} euros."
            category = valued.get(n, "turn-summary" if n % 3 else "note")
            days[-1].append(render(record(f"{number}-{n}", category, today + timedelta(minutes=n), text=text)))
        with files.writing():
            files.append(files.memory, encode("".join(days[-1])), HEADER)
        must = [line for day in days[:-7] for line in (day[n] for n in valued)]
        must += [line for day in days[-7:] for line in day]
        limits = CompactionLimits(len(must) * 3 // 2, sum(map(len, must)) * 3 // 2)
        result = Compaction(files, FakeClock(today + timedelta(hours=4)), UTC, limits).run()
        ran += result.ran
        assert len(files.memory.read_text()) < limits.max_chars
        assert result.records_after <= limits.max_records
        assert len(files.read(files.long_memory).decode()) <= limits.long_memory_max_chars
        assert not result.over_target
    assert ran > days_in_all // 10
    there = [encode(line.raw) for line in parse(files.memory.read_bytes())]
    valuable = [encode(day[n]) for day in days for n in valued]
    assert [raw for raw in there if raw in set(valuable)] == valuable
    blocks = [line[3:13] for line in files.long_memory.read_text().splitlines() if line.startswith("## ")]
    assert blocks == sorted(blocks)
    assert len(blocks) > 5
    written = {encode(line) for day in days for line in day}
    found = [raw for raw in (*there, *module.split_lines(archived(files))) if raw in written]
    assert sorted(found) == sorted(written), "each record once, as it was written"
