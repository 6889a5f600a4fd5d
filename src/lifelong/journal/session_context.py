"""What opens a session: LONGMEMORY.md, MEMORY.md, today and yesterday, as much of each as fits.

Records are shown whole or not at all, each once, in the order of their file; the newest are chosen first. Of a
compaction record, what LONGMEMORY.md has said already is left out. A line that a person wrote counts as a record.
Secret records are never shown, nor lines that may be part of a record; secrets in what is shown are redacted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from datetime import date, datetime, timedelta, tzinfo
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeAlias

from lifelong.journal.files import MEMORY_HEADER, JournalFiles
from lifelong.journal.indexing import trust_of
from lifelong.journal.records import FileLine, JournalRecord, encode, looks_like_record, parse
from lifelong.journal.summarize import parse_summary, render, said_line
from lifelong.redaction import redact

SEPARATOR = "\n\n---\n\n"
DAYS_DIVISOR = 4  # this part of the room is kept for today and yesterday
MAX_SKIPPED = 20  # entries of a section that are skipped because they are larger than the room
CHARS_PER_TOKEN = 3  # estimate for ASCII characters; any other character counts as a token

Measure: TypeAlias = Callable[[str], int]
"""Returns how much room a text takes."""

Remark: TypeAlias = Callable[[str], str]
"""Returns what to add to the line of a record with this id."""

_MIN_READ_BYTES = 2**18  # at the end of a file
_BYTES_PER_CHAR = 16  # a line has some hundred characters that are not shown, and some lines are left out
_LONG_LINE_DIVISOR = 8  # a line that takes more than this part of what is read is left out
_LONG_MEMORY = "# Long-term memory"
_BLOCK = re.compile(r"^(?=#{1,2} )", re.MULTILINE)
# A comment without an end extends to the end of its line, which keeps the search linear.
_COMMENT = re.compile(r"(?<! ) *+<!--.*?(-->|$)", re.MULTILINE)


class _Excerpt(NamedTuple):
    """A record, a line or a block: its position in the file, the text that is shown, and a remark on it, which
    takes no room."""

    position: int
    text: str
    remark: str = ""


class _Section:
    """A heading, and the entries that are shown under it. Entries are read newest first."""

    def __init__(self, heading: str, entries: Iterable[_Excerpt]) -> None:
        self.heading = heading
        self.shown: list[_Excerpt] = []
        self._entries = iter(entries)
        self._skipped: list[_Excerpt] = []

    def fill(self, room: int, measure: Measure) -> tuple[int, bool]:
        """Show entries up to the first that does not fit. Return how much room they took, and whether no more are
        left. A few entries that are larger than the whole room are skipped, and tried again by the next call."""
        used, rest, self._skipped = 0, chain(self._skipped, self._entries), []
        for entry in rest:
            cost = measure(entry.text) + 1 + (0 if self.shown else measure(self.heading) + len(SEPARATOR) + 1)
            if cost > room and len(self._skipped) < MAX_SKIPPED:
                self._skipped.append(entry)
            elif used + cost > room:
                self._entries = chain([entry], rest)
                return used, False
            else:
                self.shown.append(entry)
                used += cost
        self._entries = iter(())
        return used, True

    def __str__(self) -> str:
        return "\n".join(
            [f"{self.heading}\n", *(entry.text + entry.remark for entry in sorted(self.shown))]
        ).rstrip()


def session_context(
    files: JournalFiles,
    zone: tzinfo,
    now: datetime,
    *,
    cap: int,
    include_long_memory: bool,
    long_memory_cap: int,
    tokens: int | None = None,
    without: Set[str] = frozenset(),
    without_sessions: Set[str] = frozenset(),
    remark: Remark | None = None,
) -> str:
    """Return the journal as a session begins with it, within `cap` characters or, if given, within `tokens`
    (estimated, rather too high than too low). The records `without` and those of `without_sessions` are left
    out; `remark` returns what to add to the line of a record with this id, beyond the room. Empty where there
    is no journal."""
    today = now.astimezone(zone).date()
    yesterday = today - timedelta(days=1)
    room = cap if tokens is None else tokens * CHARS_PER_TOKEN
    lines = recent_lines(files, today, room)
    if without_sessions:
        records = (line.record for some in lines for line in some if line.record)
        without = without | {one.id for one in records if one.session_id in without_sessions}
    visible = _Visible(lines, {MEMORY_HEADER.strip(), f"# {today}", f"# {yesterday}"}, zone, without, remark)
    long_memory = _Section(_LONG_MEMORY, _blocks(files.read(files.long_memory) if include_long_memory else b""))
    days = [
        _Section(f"# Today, {today}", visible.entries(lines[1])),
        _Section(f"# Yesterday, {yesterday}", visible.entries(lines[2], without=set(_ids(lines[1])))),
    ]
    measure: Measure = len if tokens is None else token_thirds
    room -= _fill(days, room // DAYS_DIVISOR, measure)
    room -= _fill([long_memory], min(room, long_memory_cap), measure)
    visible.said = {said_line(line) for block in long_memory.shown for line in parse_summary(block.text)[0]}
    memory = _Section("# Memory", visible.entries(lines[0], without={*_ids(lines[1]), *_ids(lines[2])}))
    room -= _fill([memory], room, measure)
    _fill(days, room, measure)
    return SEPARATOR.join(str(section) for section in (long_memory, memory, *days) if section.shown)


def shown(files: JournalFiles, path: Path, zone: tzinfo) -> str:
    """Return a whole file as a session may see it: a line for each record, and no secrets."""
    if path == files.long_memory:
        return "\n".join(entry.text for entry in sorted(_blocks(files.read(path))))
    lines = parse(files.read(path))
    visible = _Visible([parse(files.read(files.memory)), lines], set(), zone, frozenset())
    return "\n".join(entry.text for entry in sorted(visible.entries(lines)))


def recent_lines(files: JournalFiles, today: date, room: int) -> list[list[FileLine]]:
    """Return the last lines of MEMORY.md and of the files of today and yesterday: more than fit into `room`
    characters, and no more however long the files are."""
    size = max(_MIN_READ_BYTES, _BYTES_PER_CHAR * room)
    days = files.day(today), files.day(today - timedelta(days=1))
    return [_last_lines(files, path, size) for path in (files.memory, *days)]


def _last_lines(files: JournalFiles, path: Path, size: int) -> list[FileLine]:
    """Return the last lines of a file, about `size` bytes, without those that are far too long to be shown."""
    most, is_whole = size, False
    lines: list[bytes] = []
    left = size
    while left > 0 and not is_whole:
        most *= 2
        data = files.end(path, most)
        is_whole = len(data) < most
        lines, end, left = [], len(data), size
        while end and left > 0:
            start = data.rfind(b"\n", 0, end - 1) + 1
            if not start and not is_whole:
                break  # the line begins before what was read
            if end - start <= size // _LONG_LINE_DIVISOR:
                lines.append(data[start:end])
                left -= end - start
            end = start
    return parse(b"".join(reversed(lines)))


def _fill(sections: Iterable[_Section], room: int, measure: Measure) -> int:
    """Fill one section after the other, until one has more than fits. Return how much room they took."""
    spent = 0
    for section in sections:
        used, done = section.fill(room - spent, measure)
        spent += used
        if not done:
            break
    return spent


class _Visible:
    """Decide what may be shown of the files. A record that any of them marks as secret is secret; where MEMORY.md
    and a day file differ, MEMORY.md counts: it is the one that people edit."""

    def __init__(
        self,
        files: Sequence[Sequence[FileLine]],
        headers: Set[str],
        zone: tzinfo,
        without: Set[str],
        remark: Remark | None = None,
    ) -> None:
        secret = {line.record.id for lines in files for line in lines if line.record and line.record.is_secret}
        self._hidden = secret | without
        self._remark = remark
        self._in_memory_file = {line.record.id: line.record for line in files[0] if line.record}
        self._headers = headers
        self._zone = zone
        self.said: Set[tuple[str, str]] = frozenset()  # what the context says elsewhere

    def entries(self, lines: Sequence[FileLine], without: Set[str] = frozenset()) -> Iterator[_Excerpt]:
        """Give what is shown of a file, the last line first, each record once, without those shown elsewhere."""
        seen = {*without, *self._hidden}
        position = len(lines)
        while position:
            position -= 1
            if record := lines[position].record:
                if record.id not in seen:
                    seen.add(record.id)
                    if line := self._line(self._in_memory_file.get(record.id, record)):
                        yield _Excerpt(position, line, self._remark(record.id) if self._remark else "")
                continue
            end = position + 1
            while position and not lines[position - 1].record:
                position -= 1
            written = "".join(line.raw for line in lines[position:end] if not looks_like_record(line.raw))
            shown = redact(_readable(encode(written))).split("\n")
            yield from reversed(
                [_Excerpt(position + at, text) for at, text in enumerate(shown) if self._is_content(text)]
            )

    def _line(self, record: JournalRecord) -> str:
        day = f"{record.timestamp.astimezone(self._zone):%Y-%m-%d} " if record.timestamp else ""
        if record.category == "compaction":
            return self._compaction(record.text, day.strip())
        return f"- {day}{redact(' '.join(f'({_label(record)}) {record.text}'.split()))}"

    def _compaction(self, text: str, day: str) -> str:
        """Return what a compaction record says and LONGMEMORY.md does not, an item a line; empty for nothing."""
        lines, _ = parse_summary(text, day)
        shown: list[str] = []
        for line in render(line for line in lines if said_line(line) not in self.said).split("\n"):
            if line.startswith("### "):
                day = line.removeprefix("### ")
            elif line:
                shown.append(f"- {day} {line.removeprefix('- ')}")
        return redact("\n".join(shown))

    def _is_content(self, line: str) -> bool:
        return bool(line.strip()) and line.strip() not in self._headers


def _blocks(data: bytes) -> Iterator[_Excerpt]:
    """Give the blocks of LONGMEMORY.md, the newest first."""
    for position, block in reversed(list(enumerate(_BLOCK.split(_readable(data))))):
        visible = _COMMENT.sub(lambda comment: "" if comment[1] else comment[0], block)
        text = redact(visible).strip().removeprefix(_LONG_MEMORY).lstrip()
        if text:
            yield _Excerpt(position, f"{text}\n")


def _readable(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\ufeff", "").replace("\r\n", "\n")


def _ids(lines: Iterable[FileLine]) -> Iterator[str]:
    return (line.record.id for line in lines if line.record)


def token_thirds(text: str) -> int:
    """Return an estimate of the tokens of a text, in thirds of a token."""
    plain = len(text.encode("ascii", "ignore"))
    return plain + CHARS_PER_TOKEN * (len(text) - plain)


def _label(record: JournalRecord) -> str:
    """Return the category of a record, and whose word it is where that would be taken for the user's."""
    approved = f", approved by {record.approved_by}" if record.approved_by else ""
    claims = record.category == "user-preference" and trust_of(record) != "user"
    return f"{record.category}, by {trust_of(record)}{approved}" if claims or approved else record.category
