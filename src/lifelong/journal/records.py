"""The lines of a journal file: a record is `- ` and JSON; any other line is kept as it is.

A file is read as lines and written back as the same bytes, whatever a person or a crash left in it: another line
ending, a byte order mark, half a line, broken JSON, bytes that are not UTF-8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal, NamedTuple

from lifelong.validation import MAX_YEAR, MIN_YEAR

Sensitivity = Literal["public", "operational", "private-user", "secret"]
SENSITIVITIES: tuple[Sensitivity, ...] = ("public", "operational", "private-user", "secret")

MAX_CACHED_CHARS = 2_000  # of a line whose record is kept in memory; nearly all are shorter
MAX_LINE_CHARS = 1_000_000  # a longer line is not read as a record
_START = "- {"
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SUMMARY = re.compile(r"\A(turn-.+-)(\d{1,18})(?=(?:@\d+)?\Z)", re.DOTALL)  # an item that was replaced ends in @…
_SUMMARY_IN_FILE = re.compile(rb"turn-([0-9A-Za-z]+)-(\d{1,18})(?!\d)")
_ID_IN_FILE = re.compile(rb"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
_RECORD_PART = re.compile(r"\W*\{|.*\"(?:id|text|provenance|sensitivity)\"\s*:", re.DOTALL)


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """One entry of the journal. A record without a readable time has no age, and is never compacted. `approved_by`
    is the person who approved a line of an agent that waited for review."""

    id: str
    session_id: str
    category: str
    text: str
    source_channel: str
    confidence: float
    timestamp: datetime | None
    sensitivity: Sensitivity
    approved_by: str = ""

    @property
    def is_secret(self) -> bool:
        """Whether the record is marked `secret`."""
        return self.sensitivity == "secret"


class FileLine(NamedTuple):
    """A line of a file with its ending, and the record in it, if there is one."""

    raw: str
    record: JournalRecord | None


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def parse(data: bytes) -> list[FileLine]:
    """Return every line in order; `join` makes the same bytes of them."""
    parts = decode(data).split("\n")
    raws = [f"{part}\n" for part in parts[:-1]]
    return [FileLine(raw, parse_line(raw)) for raw in (*raws, *filter(None, parts[-1:]))]


def join(lines: Iterable[FileLine]) -> bytes:
    """Return the bytes that the lines were read from."""
    return encode("".join(line.raw for line in lines))


def parse_line(line: str) -> JournalRecord | None:
    """Return the record in a line; None where there is none with an id and a text."""
    return _parse_short(line) if len(line) <= MAX_CACHED_CHARS else _parse_line(line)


@lru_cache(maxsize=8_192)  # the same lines are read before each prompt
def _parse_short(line: str) -> JournalRecord | None:
    return _parse_line(line)


def _parse_line(line: str) -> JournalRecord | None:
    start = 1 if line.startswith("\ufeff") else 0
    if not line.startswith(_START, start) or len(line) > MAX_LINE_CHARS:
        return None
    try:
        fields = json.loads(line[start + 2 :])
    except (ValueError, RecursionError):
        return None
    known, text = fields.get("id"), fields.get("text")
    if not isinstance(known, str) or not isinstance(text, str) or not known:
        return None
    provenance = fields.get("provenance")
    source = provenance if isinstance(provenance, dict) else {}
    confidence = source.get("confidence")
    return JournalRecord(
        id=_text(known),
        session_id=_text(fields.get("sessionId")),
        category=_text(fields.get("category")) or "note",
        text=_text(text),
        source_channel=_text(source.get("sourceChannel")),
        confidence=float(confidence) if isinstance(confidence, int | float) and 0 <= confidence <= 1 else 1.0,
        timestamp=_time(source.get("timestamp")),
        sensitivity=_sensitivity(source.get("sensitivity", "private-user")),
        approved_by=_text(source.get("approvedBy")),
    )


def render(record: JournalRecord) -> str:
    """Return the record as a line."""
    fields = {
        "id": record.id,
        "sessionId": record.session_id,
        "category": record.category,
        "text": record.text,
        "provenance": {
            "sourceChannel": record.source_channel,
            "confidence": record.confidence,
            "timestamp": record.timestamp.isoformat(timespec="milliseconds") if record.timestamp else None,
            "sensitivity": record.sensitivity,
            **({"approvedBy": record.approved_by} if record.approved_by else {}),
        },
    }
    return f"- {json.dumps(fields, ensure_ascii=False)}\n"


def looks_like_record(line: str) -> bool:
    """Return whether a line that could not be read was meant to be a record or a part of one. Its sensitivity is
    unknown, so it must not be shown."""
    return bool(_RECORD_PART.match(line))


def strictest(found: Iterable[Sensitivity]) -> Sensitivity:
    """Return the strictest of the sensitivities; `public` where there is none."""
    return max(found, key=SENSITIVITIES.index, default="public")


def summary_id(session_id: str, record_id: int) -> str:
    """Return the id of the line that summarizes the turn beginning with this record of history."""
    return f"turn-{session_id}-{record_id}"


def first_record_of(line_id: str) -> int | None:
    """Return the record of history with which the turn begins that a line summarizes; None for another line."""
    start, _, record = line_id.rpartition("-")
    is_summary = start.startswith("turn-") and record.isascii() and record.isdigit() and len(record) < 19
    return int(record) if is_summary else None


def renumber_line_id(line_id: str, number: Callable[[int], int]) -> str:
    """Return the id of a line with another number of the record it sums up; another line's id stays."""
    return _SUMMARY.sub(lambda found: f"{found[1]}{number(int(found[2]))}", line_id)


def renumber_file(
    data: bytes, sessions: Container[str], session: Callable[[str], str], number: Callable[[int], int]
) -> bytes:
    """Return the content of a file of the journal with other ids of these sessions and of their records."""

    def line_id(found: re.Match[bytes]) -> bytes:
        of = found[1].decode()
        if of not in sessions:
            return found[0]
        return summary_id(session(of), number(int(found[2]))).encode()

    def session_id(found: re.Match[bytes]) -> bytes:
        return session(found[0].decode()).encode()

    return _ID_IN_FILE.sub(session_id, _SUMMARY_IN_FILE.sub(line_id, data))


def _text(value: object) -> str:
    """Return text that can be printed and stored anywhere: a lone surrogate becomes a replacement character."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else _SURROGATE.sub("\ufffd", value)


def _time(value: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(_text(value))
        in_utc = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo and MIN_YEAR <= in_utc.year <= MAX_YEAR else None  # valid in every zone


def _sensitivity(value: object) -> Sensitivity:
    """Return the sensitivity; an unknown one counts as secret."""
    return next((known for known in SENSITIVITIES if known == value), "secret")
