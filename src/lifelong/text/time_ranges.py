"""The time a question asks about: "in March", "last week", "three days ago", seen from when it is asked.
English, and dates in digits."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple

from lifelong.text.dates import MONTH_NUMBERS, MONTHS, WEEKDAYS
from lifelong.text.words import NUMBER_WORDS, pattern

_COUNTS = NUMBER_WORDS | {"a": 1, "an": 1, "couple": 2, "few": 3}

DAY = timedelta(days=1)
MAX_DAYS_BACK = 36_500

_FULL, _WEEKDAY, _NUMBER = "|".join(MONTHS), "|".join(WEEKDAYS), "|".join(_COUNTS)
_MONTH = rf"(?:{_FULL}|(?:{'|'.join(MONTH_NUMBERS)}|sept)\b\.?)"
_NTH = r"(\d{1,2})(?:st|nd|rd|th)?"
_DATES = (
    rf"\b(?P<month>{_MONTH})\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})\b",
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{_MONTH}),?\s+(?P<year>\d{{4}})\b",
    r"\b(?P<year>\d{4})[-/](?P<month>\d\d)(?:[-/](?P<day>\d\d))?\b",
    r"\b(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})\b",
    rf"\b(?P<month>{_MONTH}),?\s*(?:of\s+)?(?P<year>\d{{4}})\b",
)
_BEFORE = r"\b(?:in|during|of|this(?!\s+may)|last|on|by|since)\s+(?:(?:early|mid|late)[\s-]+)?"
_IN_MONTH = rf"{_BEFORE}({_FULL})\b"
_MONTH_DAY = rf"({_BEFORE})?\b({_MONTH})\s+{_NTH}\b"
_DAY_MONTH = rf"\b(on\s+|since\s+)?(?:the\s+)?{_NTH}\s+(?:of\s+)?({_MONTH})(?!\w)"
_ON_THE = r"\bon the (\d{1,2})(?:st|nd|rd|th)\b"
_IN_YEAR = r"\b(?:in|since|during|of)\s+((?:19|20)\d\d)\b"
_SPAN = r"\b(?:between|from)\s+(.{1,40}?)\s+(?:and|to|until|till)\s+(.{1,40})"
_AGO = rf"\b(\d{{1,4}}|{_NUMBER})\s+(?:of\s+)?(day|week|month|year)s?\s+(?:ago|earlier|back)\b"
_LAST_DAY = rf"\b(?:last|past|previous|on|since)\s+({_WEEKDAY})\b"
_LAST = rf"\b(?:last|past|previous)\s+(?:(\d{{1,3}}|{_NUMBER})\s+)?(day|week|weekend|month|year)s?\b"
_CALENDAR = r"\b(last|previous|this|over the|at the|on the)\s+(week|weekend|month|year)\b"
_BEFORE_LAST = r"\b(week|weekend|month|year) before last\b"
_TODAY = r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b"
_HOURS = r"\b(?:last|past)\s+(?:\w+\s+)?hours?\b|\bhours? ago\b"
_SAME_AS = {"half a year": "6 months", "a fortnight": "2 weeks"}

_SINCE = re.compile(r"\bsince\b")
_TIMELY = re.compile(
    rf"\d|{'|'.join(MONTH_NUMBERS)}|day\b|tonight|end\b|ago\b|earlier|back\b|last\b|past\b|previous|this\b"
)
"""A question without any of these names no time."""

_LENGTH = {"day": 1, "week": 7, "weekend": 9, "month": 31, "year": 365}
_VAGUE = {"day": 0, "week": 1, "month": 7, "year": 60}  # days around "three weeks ago"


class Period(NamedTuple):
    """A stretch of time: from `start` until before `end`."""

    start: datetime
    end: datetime


def parse_period(question: str, asked_at: datetime) -> Period | None:
    """Return the time that the question asks about; none where it names none, or one that does not exist (31
    February)."""
    text = question.lower()
    if not _TIMELY.search(text):
        return None
    for phrase, means in _SAME_AS.items():
        text = text.replace(phrase, means)
    for read in _READERS:
        try:
            if found := read(text, asked_at):
                return Period(found.start, max(found.end, asked_at)) if _SINCE.search(text) else found
        except (ValueError, OverflowError):
            return None
    return None


def _span(text: str, asked: datetime) -> Period | None:
    """Return the range from one time to another. "From March to June 2024" begins in 2024."""
    if not (found := pattern(_SPAN).search(text)):
        return None
    first, last = (parse_period(f"in {part}", asked) for part in found.groups())
    if not (first and last):
        return None
    start = first.start
    while start >= last.end:
        start = start.replace(year=start.year - 1)
    return Period(start, last.end)


def _dated(text: str, asked: datetime) -> Period | None:
    """Return a date or a month that has its year."""
    for form in _DATES:
        if found := pattern(form).search(text):
            date = found.groupdict()
            month = MONTH_NUMBERS.get(date["month"][:3]) or int(date["month"])
            first = _midnight(asked, int(date["year"]), month, int(date.get("day") or 1))
            return _day(first) if date.get("day") else _month(first)
    return None


def _in_month(text: str, asked: datetime) -> Period | None:
    """Return a month, or a day of it, without a year: the latest. "May" may be another word."""
    if (found := pattern(_MONTH_DAY).search(text)) and (found[1] or found[2] != "may"):
        return _day(_latest(asked, MONTH_NUMBERS[found[2][:3]], int(found[3])))
    if (found := pattern(_DAY_MONTH).search(text)) and (found[1] or found[3] != "may"):
        return _day(_latest(asked, MONTH_NUMBERS[found[3][:3]], int(found[2])))
    found = pattern(_IN_MONTH).search(text)
    return _month(_latest(asked, MONTH_NUMBERS[found[1][:3]], 1)) if found else None


def _latest(asked: datetime, month: int, day: int) -> datetime:
    for year in range(asked.year, asked.year - 9, -1):  # 29 February may be eight years back
        with suppress(ValueError):
            if (first := _midnight(asked, year, month, day)) <= asked:
                return first
    raise ValueError("no such day in nine years")


def _in_year(text: str, asked: datetime) -> Period | None:
    if not (found := pattern(_IN_YEAR).search(text)):
        return None
    return Period(_midnight(asked, int(found[1])), _midnight(asked, int(found[1]) + 1))


def _ago(text: str, asked: datetime) -> Period | None:
    if not (found := pattern(_AGO).search(text)):
        return None
    days = min({"month": 30}.get(found[2], _LENGTH[found[2]]) * _count(found[1]), MAX_DAYS_BACK)
    about, today = _VAGUE[found[2]], _today(asked)
    return Period(today - (days + about) * DAY, today - (days - about - 1) * DAY)


def _calendar(text: str, asked: datetime) -> Period | None:
    """Return a week, month or year of the calendar. "Last week" is not one: people mean the last seven days."""
    if found := pattern(_BEFORE_LAST).search(text):
        return _until(_before(_calendar_first(found[1], asked), found[1]), found[1])
    if not (found := pattern(_CALENDAR).search(text)):
        return None
    which, unit = found.groups()
    first = _calendar_first(unit, asked)
    if unit == "weekend" and not which.startswith(("last", "previous")):
        return Period(first + 5 * DAY, asked) if asked >= first + 5 * DAY else _until(first, unit)
    if which == "this":
        return Period(first, asked)
    return _until(first, unit) if unit != "week" and which in ("last", "previous") else None


def _calendar_first(unit: str, asked: datetime) -> datetime:
    """Return when this week, month or year began; a weekend is of the week it ends."""
    today = _today(asked)
    monday = today - today.weekday() * DAY
    return {"month": today.replace(day=1), "year": today.replace(month=1, day=1)}.get(unit, monday)


def _before(first: datetime, unit: str) -> datetime:
    """Return when the week, month or year before this one began."""
    last = first - DAY
    return {"month": last.replace(day=1), "year": last.replace(month=1, day=1)}.get(unit, first - 7 * DAY)


def _until(end: datetime, unit: str) -> Period:
    """Return the week, weekend, month or year that ended then."""
    return Period(end - 2 * DAY if unit == "weekend" else _before(end, unit), end)


def _last(text: str, asked: datetime) -> Period | None:
    today = _today(asked)
    if found := pattern(_LAST_DAY).search(text):
        return _day(today - ((today.weekday() - WEEKDAYS.index(found[1])) % 7 or 7) * DAY)
    if found := pattern(_LAST).search(text):
        count = _count(found[1]) if found[1] else 1
        return Period(today - min(_LENGTH[found[2]] * count, MAX_DAYS_BACK) * DAY, asked)
    return None


def _near(text: str, asked: datetime) -> Period | None:
    today = _today(asked)
    if "last night" in text:
        return Period(today - DAY, asked)
    if "yesterday" in text:
        return _day(today - (2 if "day before yesterday" in text else 1) * DAY)
    if pattern(_HOURS).search(text):
        return Period(asked - DAY, asked)
    if found := pattern(_ON_THE).search(text):
        days = (today - count * DAY for count in range(62))
        return next((_day(day) for day in days if day.day == int(found[1])), None)
    return Period(today, asked) if pattern(_TODAY).search(text) else None


_READERS: tuple[Callable[[str, datetime], Period | None], ...] = (
    *(_span, _dated, _in_month, _in_year, _ago, _calendar, _last, _near),
)


def _count(number: str) -> int:
    return int(number) if number.isdigit() else _COUNTS[number]


def _midnight(like: datetime, year: int, month: int = 1, day: int = 1) -> datetime:
    return datetime(year, month, day, tzinfo=like.tzinfo)


def _today(asked: datetime) -> datetime:
    return asked.replace(hour=0, minute=0, second=0, microsecond=0)


def _day(first: datetime) -> Period:
    return Period(first, first + DAY)


def _month(first: datetime) -> Period:
    return Period(first, (first + 31 * DAY).replace(day=1))
