"""Store a framework's messages as records that carry them, so that they come back exactly as they were.

What was said in a message is stored as ordinary records, which are organized and found like any other; the first
of them carries the message itself as its `original`. A message in which nothing was said, such as a model's
reasoning, is carried by a record without text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from lifelong.collect.history import write_original
from lifelong.errors import InputError
from lifelong.types import AssistantMessage, Record, StoredRecord, ToolCall, ToolResult

PART = "null"  # the original of a further record of a message
CUT = " [… cut]"
MAX_NAME_CHARS = 200

Message: TypeAlias = Mapping[str, Any]


class Carried(NamedTuple):
    """What came back: a record, and the message that it carries. None: it was stored by other means, or lost its
    message because something was forgotten."""

    stored: StoredRecord
    message: Message | None


def validate_message(message: object, what: str) -> Message:
    """Return the message. Raise `InputError` unless it is a dict."""
    if not isinstance(message, Mapping):
        raise InputError(f"{what} cannot be {message!r:.200}. Give a dict.")
    return message


def carry(message: Message, records: Sequence[Record], limit: int) -> list[Record]:
    """Return the records of a message, made to carry it, with texts of at most `limit` characters."""
    original = write_original(message)
    if not records:
        return [AssistantMessage("", provenance="system", original=original)]
    first, *more = (_fitting(record, limit) for record in records)
    return [replace(first, original=original), *(replace(one, original=PART) for one in more)]


def carried(stored: Iterable[StoredRecord]) -> Iterator[Carried]:
    """Yield what these records carry, in order: each message once."""
    within = False  # the records of a message that was yielded
    for one in stored:
        if one.record.original == PART and within:
            continue
        message = _read(one.record.original)
        within = message is not None
        yield Carried(one, message)


def _read(original: str) -> Message | None:
    try:
        message = json.loads(original) if original else None
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _fitting(record: Record, limit: int) -> Record:
    """Return the record as every database takes it; the original has what is cut here."""
    if isinstance(record, ToolCall):
        name, given = _text(record.name, MAX_NAME_CHARS), json.dumps(dict(record.arguments))
        if len(given) > limit or r"\u0000" in given or r"\ud" in given:
            return replace(record, name=name, arguments={"arguments": _text(given, limit // 2)})
        return replace(record, name=name)
    if isinstance(record, ToolResult):
        return replace(record, name=_text(record.name, MAX_NAME_CHARS), text=_text(record.text, limit))
    return replace(record, text=_text(record.text, limit))


def _text(text: str, limit: int) -> str:
    text = text.replace("\0", "").encode("utf-8", "replace").decode()
    return text if len(text) <= limit else f"{text[: limit - len(CUT)]}{CUT}"
