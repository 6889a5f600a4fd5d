"""What opens a session: the long-term summaries, MEMORY.md, today and yesterday, as much of each as fits.

Records are shown whole or not at all, each once, the newest first to stay, in the order of their page. A line that
a person wrote counts as a record. What is marked as secret is never shown, nor a line that may be part of a
record; secrets in what is shown are taken out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from datetime import datetime, timedelta, tzinfo
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeAlias

from lifelong.journal.files import HEADER, JournalFiles
from lifelong.journal.records import JournalRecord, Line, encode, looks_like_one, parse
from lifelong.redaction import redact

RULE = "\n\n---\n\n"
RESERVED = 4  # one part of so many is kept for today and yesterday
MOST_ASIDE = 20  # entries too large for their share that are passed over
TOKEN = 3  # ASCII characters that are taken for a token; any other character counts as one

Weigh: TypeAlias = Callable[[str], int]
"""How much room a text takes."""

_READ = 2**20  # bytes at the end of a page that are looked at, at least
_LONG = 8  # a line is too long that takes more than one part of so many
_LONG_MEMORY = "# Long-term memory"
_BLOCK = re.compile(r"^(?=#{1,2} )", re.MULTILINE)
_COMMENT = re.compile(
    r"(?<! ) *+<!--.*?(-->|$)", re.MULTILINE
)  # one without an end takes its line: no second look


class _Entry(NamedTuple):
    """A record, a line or a block: where it stands in its page, and what is shown of it."""

    place: int
    text: str


class _Section:
    """A heading, and what is shown under it of the entries, which come newest first."""

    def __init__(self, heading: str, entries: Iterable[_Entry]) -> None:
        self.heading = heading
        self.shown: list[_Entry] = []
        self._entries = iter(entries)
        self._aside: list[_Entry] = []

    def fill(self, room: int, weigh: Weigh) -> tuple[int, bool]:
        """Show what fits, up to the first entry that does not. How much room that took, and whether all came in
        but for a few that are larger than all of the room: those wait aside and hold nobody up."""
        used, coming, self._aside = 0, chain(self._aside, self._entries), []
        for entry in coming:
            cost = weigh(entry.text) + 1 + (0 if self.shown else weigh(self.heading) + len(RULE) + 1)
            if cost > room and len(self._aside) < MOST_ASIDE:
                self._aside.append(entry)
            elif used + cost > room:
                self._entries = chain([entry], coming)
                return used, False
            else:
                self.shown.append(entry)
                used += cost
        self._entries = iter(())
        return used, True

    def __str__(self) -> str:
        return "\n".join([f"{self.heading}\n", *(entry.text for entry in sorted(self.shown))]).rstrip()


def session_context(
    pages: JournalFiles,
    zone: tzinfo,
    now: datetime,
    *,
    cap: int,
    include_long_memory: bool,
    long_cap: int,
    tokens: int | None = None,
    ended: Set[str] = frozenset(),
) -> str:
    """The journal as a session begins with it, within `cap` characters, or within a budget of `tokens` instead
    (estimated, rather too many than too few). The records `ended` are left out: they hold no longer. Empty where
    there is no journal."""
    today = now.astimezone(zone).date()
    yesterday = today - timedelta(days=1)
    room = cap if tokens is None else tokens * TOKEN
    most = max(_READ, 64 * room)  # a line has some hundred characters that are not shown
    lines = [_end(pages, page, most) for page in (pages.memory, pages.day(today), pages.day(yesterday))]
    sight = _Sight(lines, {HEADER.strip(), f"# {today}", f"# {yesterday}"}, zone, ended)
    long_memory = _Section(_LONG_MEMORY, _blocks(pages.read(pages.long_memory) if include_long_memory else b""))
    memory = _Section("# Memory", sight.entries(lines[0], but={*_ids(lines[1]), *_ids(lines[2])}))
    days = [
        _Section(f"# Today, {today}", sight.entries(lines[1])),
        _Section(f"# Yesterday, {yesterday}", sight.entries(lines[2], but=set(_ids(lines[1])))),
    ]
    weigh: Weigh = len if tokens is None else weight
    room -= _fill(days, room // RESERVED, weigh)
    room -= _fill([long_memory], min(room, long_cap), weigh)
    room -= _fill([memory], room, weigh)
    _fill(days, room, weigh)
    return RULE.join(str(section) for section in (long_memory, memory, *days) if section.shown)


def shown(pages: JournalFiles, page: Path, zone: tzinfo) -> str:
    """A whole page as a session may see it: each record in a line, and never a secret."""
    if page == pages.long_memory:
        return "\n".join(entry.text for entry in sorted(_blocks(pages.read(page))))
    lines = parse(pages.read(page))
    sight = _Sight([parse(pages.read(pages.memory)), lines], set(), zone, frozenset())
    return "\n".join(entry.text for entry in sorted(sight.entries(lines)))


def _end(pages: JournalFiles, page: Path, most: int) -> list[Line]:
    """The last lines of a page, so many bytes and a line at most. A line that is far too long to be shown is left
    out, and hides no other."""
    data = pages.read(page)
    lines: list[bytes] = []
    end, left = len(data), most
    while end and left > 0:
        start = data.rfind(b"\n", 0, end - 1) + 1
        if end - start <= most // _LONG:
            lines.append(data[start:end])
            left -= end - start
        end = start
    return parse(b"".join(reversed(lines)))


def _fill(sections: Iterable[_Section], room: int, weigh: Weigh) -> int:
    """Fill one section after the other, until one has more than fits. How much room that took."""
    spent = 0
    for section in sections:
        used, done = section.fill(room - spent, weigh)
        spent += used
        if not done:
            break
    return spent


class _Sight:
    """What may be seen of the pages. A record that any of them marks as secret is secret; where MEMORY.md and the
    page of a day differ, MEMORY.md is right: it is the one that people mend."""

    def __init__(self, pages: Sequence[Sequence[Line]], headers: Set[str], zone: tzinfo, ended: Set[str]) -> None:
        secret = {line.record.id for page in pages for line in page if line.record and line.record.is_secret}
        self._hidden = secret | ended
        self._mended = {line.record.id: line.record for line in pages[0] if line.record}
        self._headers = headers
        self._zone = zone

    def entries(self, lines: Sequence[Line], but: Set[str] = frozenset()) -> Iterator[_Entry]:
        """What is shown of a page, the last line first, each record once; `but` for those that stand elsewhere."""
        seen = {*but, *self._hidden}
        place = len(lines)
        while place:
            place -= 1
            if record := lines[place].record:
                if record.id not in seen:
                    seen.add(record.id)
                    yield _Entry(place, self._told(self._mended.get(record.id, record)))
                continue
            end = place + 1
            while place and not lines[place - 1].record:
                place -= 1
            written = "".join(line.raw for line in lines[place:end] if not looks_like_one(line.raw))
            shown = redact(_readable(encode(written))).split("\n")
            yield from reversed([_Entry(place + at, text) for at, text in enumerate(shown) if self._says(text)])

    def _told(self, record: JournalRecord) -> str:
        day = f"{record.timestamp.astimezone(self._zone):%Y-%m-%d} " if record.timestamp else ""
        return f"- {day}{redact(' '.join(f'({record.category}) {record.text}'.split()))}"

    def _says(self, line: str) -> bool:
        return bool(line.strip()) and line.strip() not in self._headers


def _blocks(data: bytes) -> Iterator[_Entry]:
    """The blocks of LONGMEMORY.md, the newest first."""
    for place, block in reversed(list(enumerate(_BLOCK.split(_readable(data))))):
        told = _COMMENT.sub(lambda comment: "" if comment[1] else comment[0], block)
        text = redact(told).strip().removeprefix(_LONG_MEMORY).lstrip()
        if text:
            yield _Entry(place, f"{text}\n")


def _readable(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\ufeff", "").replace("\r\n", "\n")


def _ids(lines: Iterable[Line]) -> Iterator[str]:
    return (line.record.id for line in lines if line.record)


def weight(text: str) -> int:
    """Thirds of a token."""
    plain = len(text.encode("ascii", "ignore"))
    return plain + TOKEN * (len(text) - plain)
