"""The lines of the journal and the files they stand in (SPEC O22, S1): read and written without losing a byte."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lifelong.journal.files as module
from lifelong.errors import JournalError
from lifelong.journal import records
from lifelong.journal.files import MEMORY_HEADER, JournalFiles
from lifelong.journal.records import (
    MAX_LINE_CHARS,
    JournalRecord,
    encode,
    join,
    looks_like_record,
    parse,
    parse_line,
    render,
    strictest,
)
from lifelong.testing import in_threads

RECORD = JournalRecord(
    "r1", "s1", "note", "Tea at four.", "cli/main", 0.5, datetime(2026, 3, 5, 9, 30, tzinfo=UTC), "operational"
)

MANGLED = [
    b"",
    b"\n\n\n",
    b"# Memory\r\n\r\n- written by hand\r\n" + encode(render(RECORD)).replace(b"\n", b"\r\n"),
    b"\xef\xbb\xbf" + encode(render(RECORD)),
    encode(render(RECORD))[:-1],
    encode(render(RECORD))[:40],
    encode(render(RECORD))[:40] + b"\n" + encode(render(RECORD)),
    encode(render(RECORD)) * 3,
    b'- {"id": "x", "text": 5}\n- {"id": 5, "text": "x"}\n- {"text": "x"}\n- []\n- {}\n',
    b'- {"id": "", "text": "x"}\n- {"id": "x"}\n',
    b'- {"id": "x", "text": ' + b"[" * 100_000 + b"\n",
    b'- {"id": "x", "text": "' + b"y" * MAX_LINE_CHARS + b'"}\n',
    b"\xff\xfe \x00 no UTF-8 \x80\n" + encode(render(RECORD)) + b"\xc3",
    "- 手書きの行\n- рукопись 🖋\n- ملاحظة\n".encode() + encode(render(replace(RECORD, text="茶 ☕ شاي"))),
    '- {"id": "x", "text": "a\u2028b\x85c"}\n\x0b\x0c\x1c'.encode(),
]


@pytest.mark.parametrize("data", MANGLED, ids=range(len(MANGLED)))
def test_a_page_is_written_back_as_it_was_read(data: bytes) -> None:
    """O22: whatever a person or a crash left in it, byte for byte."""
    assert join(parse(data)) == data


@given(
    st.lists(
        st.one_of(st.binary(max_size=60), st.sampled_from([b"\n", b"\r\n", b"\xef\xbb\xbf", *MANGLED[2:9]]))
    ).map(b"".join)
)
def test_any_bytes_are_written_back_as_they_were_read(data: bytes) -> None:
    """O22: the same for anything else."""
    lines = parse(data)
    assert join(lines) == data
    assert all("\n" not in line.raw[:-1] for line in lines)


@given(
    st.builds(
        JournalRecord,
        id=st.text(min_size=1),
        session_id=st.text(),
        category=st.text(min_size=1),
        text=st.text(),
        source_channel=st.text(),
        confidence=st.floats(0, 1),
        timestamp=st.integers(0, 2**46).map(
            lambda ms: datetime(2, 1, 1, tzinfo=timezone(timedelta(hours=-3))) + timedelta(milliseconds=ms)
        ),
        sensitivity=st.sampled_from(["public", "operational", "private-user", "secret"]),
    )
)
def test_a_record_is_one_line_and_reads_as_it_was_written(record: JournalRecord) -> None:
    """O22: `- ` and JSON, with the fields of the format."""
    line = render(record)
    assert line.startswith('- {"id": ')
    assert line.count("\n") == 1
    assert [found.record for found in parse(encode(line))] == [record]


def test_a_line_has_the_fields_of_the_format() -> None:
    """O22: sessionId, provenance{sourceChannel, confidence, timestamp, sensitivity}."""
    assert render(RECORD) == (
        '- {"id": "r1", "sessionId": "s1", "category": "note", "text": "Tea at four.", "provenance": '
        '{"sourceChannel": "cli/main", "confidence": 0.5, "timestamp": "2026-03-05T09:30:00.000+00:00", '
        '"sensitivity": "operational"}}\n'
    )


@pytest.mark.parametrize(
    ("provenance", "expected"),
    [
        ("", ("private-user", 1.0, None)),
        (', "provenance": "?"', ("private-user", 1.0, None)),
        (', "provenance": {"sensitivity": "top"}', ("secret", 1.0, None)),
        (', "provenance": {"sensitivity": null}', ("secret", 1.0, None)),
        (', "provenance": {"sensitivity": "public", "confidence": NaN}', ("public", 1.0, None)),
        (', "provenance": {"confidence": 1' + "0" * 400 + "}", ("private-user", 1.0, None)),
        (', "provenance": {"timestamp": "2026-03-05"}', ("private-user", 1.0, None)),
        (', "provenance": {"timestamp": "0001-01-01T00:00+14:00"}', ("private-user", 1.0, None)),
        (', "provenance": {"timestamp": "9999-12-31T23:00-10:00"}', ("private-user", 1.0, None)),
        (
            ', "provenance": {"confidence": 0, "timestamp": "2026-03-05T01:00Z"}',
            ("private-user", 0.0, datetime(2026, 3, 5, 1, tzinfo=UTC)),
        ),
    ],
)
def test_what_a_line_leaves_open_is_taken_with_care(provenance: str, expected: tuple[object, ...]) -> None:
    """O22, S4: a sensitivity that nobody knows counts as secret; a time that cannot be is none."""
    found = parse_line(f'- {{"id": "x", "text": "y", "more": [1]{provenance}}}\r\n')
    assert found
    assert (found.sensitivity, found.confidence, found.timestamp) == expected
    assert (found.category, found.session_id) == ("note", "")


def test_what_is_no_character_can_be_written_again() -> None:
    """O22: lone surrogates and bytes that are no UTF-8 inside a record."""
    [line] = parse(b'- {"id": "x", "text": "a\xff\\ud800b"}\n')
    assert line.record
    assert line.record.text == "a\ufffd\ufffdb"
    assert encode(render(line.record))


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (render(RECORD)[:12], True),
        ("  * {broken", True),
        ('half of it", "provenance": {"sensitivity": "secret"}}', True),
        ("\ufeff- {", True),
        ("- buy milk {2 l}", False),
        ("# Memory", False),
        ("", False),
    ],
)
def test_a_line_that_was_meant_to_be_a_record_is_known(line: str, meant: bool) -> None:
    """S4: nobody knows how secret it is."""
    assert looks_like_record(line) is meant


def test_the_highest_sensitivity_wins() -> None:
    """O27: public < operational < private-user < secret."""
    assert strictest(["operational", "private-user", "public"]) == "private-user"
    assert strictest([]) == "public"


# Pages


@pytest.fixture
def files(tmp_path: Path) -> JournalFiles:
    return JournalFiles(tmp_path / "user")


def test_reading_makes_nothing(files: JournalFiles) -> None:
    """K2: no file appears before the first write."""
    assert files.read(files.memory) == files.end(files.memory, 10) == b""
    assert files.days() == []
    assert not files.root.exists()


def test_a_half_line_is_ended_before_the_next_one(files: JournalFiles) -> None:
    """O22: what a crash left in the middle of a line stays a line, and is not merged with the next."""
    files.append(files.memory, b"- {half", MEMORY_HEADER)
    files.append(files.memory, b"whole\n", MEMORY_HEADER)
    assert files.read(files.memory) == b"# Memory\n\n- {half\nwhole\n"
    assert files.end(files.memory, 7) == b"\nwhole\n"
    assert {path.stat().st_mode & 0o777 for path in (files.root, files.memory)} == {0o700, 0o600}


def test_a_page_as_it_was_is_kept(files: JournalFiles) -> None:
    """S1: beside it, until the next rewrite."""
    files.append(files.memory, b"one\n")
    files.replace(files.memory, b"two\n")
    assert (files.read(files.memory), files.previous_version(files.memory).read_bytes()) == (b"two\n", b"one\n")


def test_a_link_to_a_page_stays_one(files: JournalFiles) -> None:
    """O28, S1: people keep the page in another folder of theirs, and let others read it; what is rewritten is that
    one, and the page as it was is kept."""
    elsewhere = files.root / "notes" / "mine.md"
    elsewhere.parent.mkdir(parents=True)
    elsewhere.write_bytes(b"old\n")
    elsewhere.chmod(0o640)
    files.memory.symlink_to(elsewhere)
    with files.writing():
        files.append(files.memory, b"more\n")
        files.replace(files.memory, b"new\n")
    assert files.memory.is_symlink()
    assert (elsewhere.read_bytes(), elsewhere.stat().st_mode & 0o777) == (b"new\n", 0o640)
    assert files.previous_version(files.memory).read_bytes() == b"old\nmore\n"
    assert [path.name for path in elsewhere.parent.iterdir()] == ["mine.md"]


@pytest.mark.parametrize("part", ["write", "link", "sync", "rename"])
def test_a_rewrite_that_fails_leaves_the_page_as_it_was(
    files: JournalFiles, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S1: at whichever step, also where the name has changed already."""
    files.append(files.memory, b"zero\n")
    files.replace(files.memory, b"one\n")

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    def fail_late(folder: Path) -> None:
        if folder == files.root:
            fail()

    with monkeypatch.context() as patch:
        match part:
            case "write":
                patch.setattr(module, "write_all", fail)
            case "link":
                patch.setattr(module, "_link", fail)
            case "sync":
                patch.setattr(module, "sync", fail_late)
            case "rename":
                patch.setattr(Path, "replace", fail)
        with pytest.raises(JournalError, match="could not be written: No space left"):
            files.replace(files.memory, b"two\n")
    assert files.read(files.memory) == b"one\n"
    assert list(files.root.glob(".*")) == []


def test_an_append_that_fails_leaves_no_part_of_it(files: JournalFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """S1: what was not acknowledged is not there."""
    files.append(files.memory, b"one\n")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", _raise)
        with pytest.raises(JournalError, match="Nothing was changed"):
            files.append(files.memory, b"two\n")
    assert files.read(files.memory) == b"one\n"


def _raise(_: int) -> None:
    raise OSError(5, "Input/output error")


@pytest.mark.parametrize(
    "act",
    [
        lambda files: files.read(files.memory),
        lambda files: files.end(files.memory, 5),
        lambda files: files.append(files.memory, b"x"),
        lambda files: files.replace(files.memory, b"x"),
        lambda files: files.writing().__enter__(),
    ],
)
def test_what_is_in_the_way_is_named(files: JournalFiles, act: Callable[[JournalFiles], object]) -> None:
    """S1: a folder where a page should be, a file where a folder should be."""
    (files.memory / "in the way").mkdir(parents=True)
    (files.root / "tmp").write_text("")
    with pytest.raises(
        JournalError, match=r"could not be (read|written|locked): .*(Check the file's permissions|remove it)"
    ):
        act(files)


def test_the_text_of_a_lock_is_no_reason_to_fail(files: JournalFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """O26: on a full disk it is not written."""
    monkeypatch.setattr(Path, "write_text", lambda *_, **__: _raise(0))
    with files.compacting("me", datetime(2026, 3, 5, tzinfo=UTC)) as mine:
        assert mine is True


def test_a_folder_has_an_id_of_its_own(files: JournalFiles, tmp_path: Path) -> None:
    """K3: made once, whoever asks."""
    found = in_threads(4, lambda _: JournalFiles(files.root).identity())
    assert len(set(found)) == 1
    assert found[0] != JournalFiles(tmp_path / "other").identity() != ""


def test_one_compaction_runs_and_a_crash_frees_the_lock(files: JournalFiles) -> None:
    """O26: held by another process it is not taken; when that one is killed, it is."""
    hold = (
        "import sys, time; from datetime import UTC, datetime; from pathlib import Path\n"
        "from lifelong.journal.files import JournalFiles\n"
        "with JournalFiles(Path(sys.argv[1])).compacting('other', datetime.now(UTC)) as mine:\n"
        "    print(mine, flush=True); time.sleep(60)"
    )
    now = datetime(2026, 3, 5, tzinfo=UTC)
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(files.root)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout
        assert other.stdout.readline() == "True\n"
        with files.compacting("me", now) as mine:
            assert mine is False
        other.kill()
    with files.compacting("me", now) as mine:
        assert mine is True
        assert "me since 2026-03-05" in (files.root / "tmp/memory-compaction.lock").read_text()


def test_a_long_line_is_not_kept_in_memory() -> None:
    """R16: thousands of lines are, each of which may have a million characters."""
    short, long = (f'- {{"id": "x", "text": "{text}"}}\n' for text in ("y", "y" * records.MAX_CACHED_CHARS))
    records._parse_short.cache_clear()
    assert [one and len(one.text) for one in map(parse_line, (short, long))] == [1, records.MAX_CACHED_CHARS]
    assert records._parse_short.cache_info().currsize == 1
