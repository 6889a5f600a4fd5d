"""What may come in. Every check stands before the first write, so that bad input changes nothing."""

from __future__ import annotations

import re
from datetime import datetime

from recollect.errors import InputError

_PROFILE = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def checked_text(value: str, what: str, limit: int) -> str:
    """Text that every database takes: no NUL, no lone surrogate, at most `limit` characters."""
    if not isinstance(value, str):
        raise InputError(f"{what} must be text, not {type(value).__name__}.")
    if len(value) > limit:
        raise InputError(
            f"{what} has {len(value):,} characters; the limit is {limit:,}. "
            "Split it, or raise collect.max_record_chars."
        )
    if (at := value.find("\0")) >= 0:
        raise InputError(f"{what} has a NUL character at position {at}. Remove it and try again.")
    if not value.isascii() and (found := _SURROGATE.search(value)):
        raise InputError(
            f"{what} has a lone surrogate at position {found.start()}, so it is not valid Unicode. "
            "Decode it with errors='replace' and try again."
        )
    return value


def checked_name(value: str, what: str, limit: int = 1_000) -> str:
    """Text that is there: a part of an address, a key, a name."""
    if not checked_text(value, what, limit).strip():
        raise InputError(f"{what} must not be empty.")
    return value


def checked_profile(name: object) -> str:
    """A profile's name is also its folder's, so it can never be a path or differ by case alone."""
    if not isinstance(name, str) or not _PROFILE.fullmatch(name):
        raise InputError(
            f"{name!r} cannot name a profile. Use 1 to 64 lower-case letters, digits, '_' and '-', "
            "starting with a letter or digit."
        )
    return name


def checked_time(value: object, what: str) -> datetime:
    """A time that is the same everywhere."""
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InputError(f"{what} needs a datetime with a time zone, e.g. datetime.now(UTC).")
    return value
