"""The time a question speaks of: "in March", "last week", "three days ago", seen from when it is asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

MONTHS = {
    name: number
    for number, name in enumerate(
        """january february march april may june july august september october november december""".split(), 1
    )
}
WEEKDAYS = {
    name: number for number, name in enumerate("monday tuesday wednesday thursday friday saturday sunday".split())
}
_ONES = "zero one two three four five six seven eight nine ten eleven twelve".split()
NUMBERS = {word: number for number, word in enumerate(_ONES)} | {"a": 1, "an": 1, "couple": 2, "few": 3}

DAY = timedelta(days=1)
FURTHEST = 36_500  # days back

_MONTH, _WEEKDAY, _NUMBER = "|".join(MONTHS), "|".join(WEEKDAYS), "|".join(NUMBERS)
_NTH = r"(\d{1,2})(?:st|nd|rd|th)?"
_MONTH_DAY_YEAR = re.compile(rf"\b({_MONTH})\s+{_NTH},?\s+(\d{{4}})\b")
_DAY_MONTH_YEAR = re.compile(rf"\b{_NTH}\s+(?:of\s+)?({_MONTH}),?\s+(\d{{4}})\b")
_MONTH_YEAR = re.compile(rf"\b({_MONTH})\b,?\s*(?:of\s+)?(\d{{4}})\b")
_IN_MONTH = re.compile(rf"\b(?:in|during|of|this|last|on|by|since)\s+({_MONTH})\b(?:\s+{_NTH}\b)?")
_ISO = re.compile(r"\b(\d{4})-(\d\d)(?:-(\d\d))?\b")
_IN_YEAR = re.compile(r"\bin\s+((?:19|20)\d\d)\b")
_AGO = re.compile(rf"\b(\d{{1,4}}|{_NUMBER})\s+(?:of\s+)?(day|week|month|year)s?\s+(?:ago|earlier|back)\b")
_LAST_DAY = re.compile(rf"\b(?:last|past|previous)\s+({_WEEKDAY})\b")
_LAST = re.compile(rf"\b(?:last|past|previous)\s+(?:(\d{{1,3}}|{_NUMBER})\s+)?(day|week|weekend|month|year)s?\b")
_TODAY = re.compile(r"\b(?:today|this morning)\b")

_LENGTH = {"day": 1, "week": 7, "weekend": 9, "month": 31, "year": 365}
_VAGUE = {"day": 0, "week": 1, "month": 7, "year": 60}  # days around "three weeks ago"


class Period(NamedTuple):
    """From `start` until before `end`."""

    start: datetime
    end: datetime


def period(question: str, asked_at: datetime) -> Period | None:
    """The time the question speaks of; none where it speaks of none, or of one there is not (31 February)."""
    text = question.lower()
    for reading in _READINGS:
        try:
            if found := reading(text, asked_at):
                return found
        except (ValueError, OverflowError):
            return None
    return None


def _dated(text: str, asked: datetime) -> Period | None:
    """A date or a month with its year."""
    if found := _MONTH_DAY_YEAR.search(text):
        return _day(_midnight(asked, int(found[3]), MONTHS[found[1]], int(found[2])))
    if found := _DAY_MONTH_YEAR.search(text):
        return _day(_midnight(asked, int(found[3]), MONTHS[found[2]], int(found[1])))
    if found := _ISO.search(text):
        first = _midnight(asked, int(found[1]), int(found[2]), int(found[3] or 1))
        return _day(first) if found[3] else _month(first)
    if found := _MONTH_YEAR.search(text):
        return _month(_midnight(asked, int(found[2]), MONTHS[found[1]]))
    return None


def _in_month(text: str, asked: datetime) -> Period | None:
    """A month, or a day of it, without a year: the last there was."""
    if not (found := _IN_MONTH.search(text)):
        return None
    first = _midnight(asked, asked.year, MONTHS[found[1]], int(found[2] or 1))
    first = first.replace(year=first.year - 1) if first > asked else first
    return _day(first) if found[2] else _month(first)


def _in_year(text: str, asked: datetime) -> Period | None:
    if not (found := _IN_YEAR.search(text)):
        return None
    return Period(_midnight(asked, int(found[1])), _midnight(asked, int(found[1]) + 1))


def _ago(text: str, asked: datetime) -> Period | None:
    if not (found := _AGO.search(text)):
        return None
    days = min({"month": 30}.get(found[2], _LENGTH[found[2]]) * _count(found[1]), FURTHEST)
    about, today = _VAGUE[found[2]], _today(asked)
    return Period(today - (days + about) * DAY, today - (days - about - 1) * DAY)


def _last(text: str, asked: datetime) -> Period | None:
    today = _today(asked)
    if found := _LAST_DAY.search(text):
        return _day(today - ((today.weekday() - WEEKDAYS[found[1]]) % 7 or 7) * DAY)
    if found := _LAST.search(text):
        count = _count(found[1]) if found[1] else 1
        return Period(today - min(_LENGTH[found[2]] * count, FURTHEST) * DAY, asked)
    return None


def _near(text: str, asked: datetime) -> Period | None:
    today = _today(asked)
    if "yesterday" in text:
        return Period(today - DAY, today)
    return Period(today, asked) if _TODAY.search(text) else None


_READINGS: tuple[Callable[[str, datetime], Period | None], ...] = (
    *(_dated, _in_month, _in_year, _ago, _last, _near),
)


def _count(number: str) -> int:
    return int(number) if number.isdigit() else NUMBERS[number]


def _midnight(like: datetime, year: int, month: int = 1, day: int = 1) -> datetime:
    return datetime(year, month, day, tzinfo=like.tzinfo)


def _today(asked: datetime) -> datetime:
    return asked.replace(hour=0, minute=0, second=0, microsecond=0)


def _day(first: datetime) -> Period:
    return Period(first, first + DAY)


def _month(first: datetime) -> Period:
    return Period(first, (first + 31 * DAY).replace(day=1))
