"""A record of the journal: one line, `- ` and JSON. Lines that are no records are kept as they are.

A page is read as lines and written back as the same bytes, whatever a person or a crash left in it: another line
ending, a byte order mark, half a line, broken JSON, bytes that are no UTF-8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from lifelong.validation import LAST_YEAR

Sensitivity = Literal["public", "operational", "private-user", "secret"]
SENSITIVITIES: tuple[Sensitivity, ...] = ("public", "operational", "private-user", "secret")

LONGEST = 1_000_000  # characters of a line that is read as a record
_START = "- {"
_NO_CHARACTER = re.compile(r"[\ud800-\udfff]")
_PIECE = re.compile(r"\W*\{|.*\"(?:id|text|provenance|sensitivity)\"\s*:", re.DOTALL)


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """What was written down. Without a readable time it has no age, and so is never compacted."""

    id: str
    session_id: str
    category: str
    text: str
    source_channel: str
    confidence: float
    timestamp: datetime | None
    sensitivity: Sensitivity

    @property
    def is_secret(self) -> bool:
        return self.sensitivity == "secret"


class Line(NamedTuple):
    """A line as it stands, with its ending, and the record in it, if there is one."""

    raw: str
    record: JournalRecord | None


def decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def parse(data: bytes) -> list[Line]:
    """Every line, in order; put together again they are the same bytes."""
    parts = decode(data).split("\n")
    raws = [f"{part}\n" for part in parts[:-1]]
    return [Line(raw, read(raw)) for raw in (*raws, *filter(None, parts[-1:]))]


def together(lines: Iterable[Line]) -> bytes:
    """The lines as the bytes they were read from."""
    return encode("".join(line.raw for line in lines))


def read(line: str) -> JournalRecord | None:
    """The record in a line; none where there is none that has an id and a text."""
    start = 1 if line.startswith("\ufeff") else 0
    if not line.startswith(_START, start) or len(line) > LONGEST:
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
    )


def render(record: JournalRecord) -> str:
    """The record as a line."""
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
        },
    }
    return f"- {json.dumps(fields, ensure_ascii=False)}\n"


def looks_like_one(line: str) -> bool:
    """Whether a line that is no record was meant to be one, or a part of one. Nobody knows how secret it is."""
    return bool(_PIECE.match(line))


def highest(found: Iterable[Sensitivity]) -> Sensitivity:
    """The strictest of them; `public` where there is none."""
    return max(found, key=SENSITIVITIES.index, default="public")


def _text(value: object) -> str:
    """Text that can be printed and written anywhere: what is no character is marked as such."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else _NO_CHARACTER.sub("\ufffd", value)


def _time(value: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(_text(value))
    except ValueError:
        return None
    return moment if moment.tzinfo and 1 < moment.year <= LAST_YEAR else None  # in every zone


def _sensitivity(value: object) -> Sensitivity:
    """What is not known counts as secret."""
    return next((known for known in SENSITIVITIES if known == value), "secret")
