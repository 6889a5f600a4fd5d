"""What may come in. Every check stands before the first write, so that bad input changes nothing."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from lifelong.errors import InputError
from lifelong.types import Json

MAX_JSON_DEPTH = 64  # levels of JSON within JSON
MAX_COUNT = 1_000_000  # rows that can be asked for
MAX_LISTED = 10_000  # hits a page of a list
MAX_NEIGHBOURS = 1_000  # that are related to one thing
MAX_INTEGER_BITS = 1024  # bits of a whole number
MAX_PATH_BYTES = 4_000  # bytes
MIN_YEAR, MAX_YEAR = 2, 9_000
RECORD_LIMIT_ADVICE = "Split it, or raise collect.max_record_chars."

_USER_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_RECORD_ID = re.compile(r"[rR]?[0-9]{1,19}")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def validate_text(value: object, what: str, limit: int, advice: str = "Make it shorter.") -> str:
    """Return text that every database takes: no NUL, no lone surrogate, at most `limit` characters."""
    if not isinstance(value, str):
        raise InputError(f"{what} must be text, not {type(value).__name__}. Pass a str.")
    if len(value) > limit:
        raise InputError(f"{what} has {len(value):,} characters; the limit is {limit:,}. {advice}")
    if (at := value.find("\0")) >= 0:
        raise InputError(f"{what} has a NUL character at position {at}. Remove it and try again.")
    if found := has_surrogate(value):
        raise InputError(
            f"{what} has a lone surrogate at position {found.start()}, so it is not valid Unicode. "
            "Decode it with errors='replace' and try again."
        )
    return value


def has_surrogate(text: str) -> re.Match[str] | None:
    """Return where a text has a lone surrogate, which no database takes; none where it has none."""
    return None if text.isascii() else _SURROGATE.search(text)


def validate_name(value: object, what: str, limit: int = 1_000) -> str:
    """Return text that is not blank: a part of an address, a key, an id. The limit is in bytes, as an index
    counts."""
    if isinstance(value, str) and (size := len(value.encode(errors="surrogatepass"))) > limit:
        raise InputError(f"{what} takes {size:,} bytes; the limit is {limit:,}. Make it shorter.")
    text = validate_text(value, what, limit)
    if not text.strip():
        raise InputError(f"{what} must not be empty. Give it at least one visible character.")
    return text


def is_user_name(name: str) -> bool:
    return bool(_USER_NAME.fullmatch(name))


def validate_user(name: object) -> str:
    """Return a user's name. It is also a folder's name, so it can never be a path or differ by case alone."""
    if not isinstance(name, str) or not is_user_name(name):
        raise InputError(
            f"{name!r:.200} cannot name a user. Use 1 to 64 lower-case letters, digits, '_' and '-', "
            "starting with a letter or digit."
        )
    return name


def validate_path(value: object, what: str) -> Path:
    """Return an absolute path."""
    if not isinstance(value, str | os.PathLike):
        raise InputError(f"{what} cannot be {value!r:.200}. Name a path.")
    text = validate_name(os.fspath(value), what, MAX_PATH_BYTES)
    try:
        return Path(text).expanduser().absolute()
    except (OSError, RuntimeError) as error:
        raise InputError(f"{what} {text} cannot be found: {error}. Name another path.") from error


def validate_position(value: object, what: str) -> int:
    """Return a record's id, or 0 for the beginning."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise InputError(f"{what} cannot be {_shown(value)}. Give a record's id, or 0 for the beginning.")
    return value


def validate_item_id(value: object) -> int:
    """Return the id of an inbox item."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise InputError(f"An inbox item cannot have the id {_shown(value)}. See: lifelong inbox list")
    return value


def validate_count(value: object, what: str, least: int = 0, most: int = MAX_COUNT) -> int:
    """Return a number of things that are asked for."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f"{what} cannot be {_shown(value)}. Ask for {least} to {most:,}.")
    return value


def validate_time(value: object, what: str) -> datetime:
    """Return a time in UTC that every zone can show, early enough for a deadline after it."""
    advice = "Give a datetime with a time zone, e.g. datetime.now(UTC)."
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise InputError(f"{what} cannot be {value!r:.200}. {advice}")
    try:
        moment = value.astimezone(UTC)
    except (OverflowError, ValueError) as error:
        raise InputError(f"{what} is out of range in UTC: {value.isoformat()}. Give a later one.") from error
    if moment.year < MIN_YEAR:
        raise InputError(f"{what} is out of range: {value.isoformat()}. Give a later one.")
    if moment.year > MAX_YEAR:
        past = MAX_YEAR + 1
        raise InputError(f"{what} is out of range: {value.isoformat()}. Give a time before the year {past}.")
    return moment


def validate_range(since: datetime | None, until: datetime | None) -> None:
    """Refuse a range of time that holds nothing."""
    if since and until and until <= since:
        raise InputError("The range of time is empty: `until` must be later than `since`.")


def validate_record_id(record: object) -> int:
    """Return the number of a record that was named by it, as "r33" or as "33"."""
    if isinstance(record, str) and _RECORD_ID.fullmatch(record):
        record = int(record.lstrip("rR"))
    if isinstance(record, bool) or not isinstance(record, int) or not 0 <= record < 2**63:
        raise InputError(f"Unknown record id {_shown(record)}. Use an id like r33.")
    return record


def plain_json(value: object, what: str, limit: int, depth: int = MAX_JSON_DEPTH) -> Json:
    """Return the value as JSON has it, with nothing lost or changed."""
    match value:
        case None | bool():
            return value
        case int() if value.bit_length() <= MAX_INTEGER_BITS:
            return value
        case float() if math.isfinite(value):
            return value
        case str():
            return validate_text(value, f"A text in {what}", limit, RECORD_LIMIT_ADVICE)
        case Mapping() | list() | tuple() if depth == 0:
            raise InputError(
                f"{what} is nested more than {MAX_JSON_DEPTH} levels deep. Flatten it, or pass it as text."
            )
        case Mapping():
            return {
                validate_text(key, f"A key in {what}", limit, RECORD_LIMIT_ADVICE): plain_json(
                    part, what, limit, depth - 1
                )
                for key, part in value.items()
            }
        case list() | tuple():
            return [plain_json(part, what, limit, depth - 1) for part in value]
        case _:
            raise InputError(
                f"{what} holds {_shown(value)}, which JSON cannot hold. Use text, numbers, lists and objects."
            )


def _shown(value: object) -> str:
    is_long = isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS
    return "a very large number" if is_long else f"{value!r:.200}"
