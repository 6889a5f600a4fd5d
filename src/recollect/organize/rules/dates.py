"""Relative dates made absolute: "last Saturday" means a day that only the record's own time can tell."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_SEASONS = {"spring": 4, "summer": 7, "fall": 10, "autumn": 10, "winter": 1}
_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS = {word: n for n, word in enumerate(_ONES, 1)} | {"fifteen": 15, "twenty": 20, "thirty": 30}
_ABOUT = {"a": 1, "an": 1, "couple": 2, "few": 3, "several": 4}
_COUNT = rf"\d{{1,3}}|(?:a )?(?:couple(?: of)?|few)|an?|several|{'|'.join(_NUMBERS)}"
_DAY = "|".join((*_WEEKDAYS, "mon", "tues?", "wed", "thur?s?", "fri"))  # "sat" and "sun" are words, too
_RELATIVE = re.compile(
    r"\b(?<!like )(?<!like just )(?:"
    r"(?P<near>the day before yesterday|the day after tomorrow|(?:earlier )?today|tonight|yesterday|tomorrow"
    r"|last night"
    r"|this (?:morning|afternoon|evening))(?: (?P<part>morning|afternoon|evening|night))?"
    rf"|(?:about |around |almost )?(?P<ago>{_COUNT}) (?P<unit>day|week|weekend|month|year)s? ago"
    rf"|in (?:about )?(?P<ahead>{_COUNT}) (?P<aheads>day|week|month|year)s?(?: time)?(?= |[.,!]|$)"
    r"|(?:during |over |in |on )?(?P<the>the )?(?P<side>last|past|this past|this|next|coming|this coming"
    r"|previous) "
    rf"(?P<span>week(?:end)?|month|year|{'|'.join(_SEASONS)}|{_DAY}|{'|'.join(_MONTHS)})(?= |[.,;!?)]|$"
    rf"|(?P<s>'s\b))"
    rf"|on (?P<weekday>{_DAY})(?= |[.,;!?)]|$)"
    rf"|(?:back )?in (?P<month>{'|'.join(_MONTHS)})(?! \d| of)\b"
    r"|(?P<about>recently|lately|the other (?:day|week)|a while ago)"
    r")",
    re.IGNORECASE,
)
_HINT = re.compile(
    r"day|night|ago|tomorrow|(?:this|last|next|past|coming|previous) |recent|lately|the other|\bin |\bon |this ",
    re.IGNORECASE,
)
_BACK = re.compile(r"\b(?:was|were|had|did|went|got|met|saw|took|made|\w+ed)\b")
_LENGTHS = frozenset({"week", "month", "year"})
_VERBS = frozenset({"may", "march"})  # months only where they are spelled as names
_PREPOSITION = re.compile(r"\b(?:for|until|till|by|since|from|before|after|of)\s$", re.IGNORECASE)
_BEFORE = frozenset({"last", "past", "this past", "previous"})


def absolute(text: str, at: datetime) -> str:
    """The text with every date that was told from `at` told for all time. What cannot be a date of the
    calendar stays."""
    if not _HINT.search(text):
        return text
    return _RELATIVE.sub(lambda found: _said(found, at.date()), text)


def _said(found: re.Match[str], today: date) -> str:
    try:
        said = next(tell(found, today) for group, tell in _TELLERS if found[group])
    except (OverflowError, ValueError):
        return found[0]  # beyond the calendar
    if _PREPOSITION.search(found.string[: found.start()][-8:]):
        said = said.removeprefix("on ").removeprefix("in ")  # "for tomorrow", "since last week"
    return said[0].upper() + said[1:] if found[0][0].isupper() and found.start() == 0 else said


def _near(found: re.Match[str], today: date) -> str:
    word = found["near"].lower()
    days = {
        "the day before yesterday": -2,
        "yesterday": -1,
        "last night": -1,
        "tomorrow": 1,
        "the day after tomorrow": 2,
    }
    part = found["part"] or (word.split()[-1] if word.startswith("this ") else "")
    if "night" in word:
        part = "night"
    return f"on {'the ' + part.lower() + ' of ' if part else ''}{_day(today + timedelta(days.get(word, 0)))}"


def _ago(found: re.Match[str], today: date) -> str:
    word = found["ago"].lower()
    return _away(word, found["unit"].lower(), -_number(word), today)


def _ahead(found: re.Match[str], today: date) -> str:
    word = found["ahead"].lower()
    return _away(word, found["aheads"].lower(), _number(word), today)


def _away(word: str, unit: str, count: int, today: date) -> str:
    about = "around" if "few" in word or word == "several" else ""
    if unit == "day":
        return f"{about or 'on'} {_day(today + timedelta(count))}"
    if unit == "week":
        return f"around {_day(today + timedelta(7 * count))}"
    if unit == "weekend":
        return _weekend(today, count)
    if unit == "month":
        return f"{about or 'in'} {_month(today, count)}"
    return f"{about or 'in'} {today.replace(day=1, year=today.year + count).year}"


def _span(found: re.Match[str], today: date) -> str:
    side, span = found["side"].lower(), found["span"].lower()
    if span in _LENGTHS and (found["the"] or side == "past"):
        return found[0]  # "the past year" is how long, not when
    if found["span"] in _VERBS:
        return found[0]
    when = _when(span, side, today)
    return when.partition(" ")[2] if found["s"] else when


def _when(span: str, side: str, today: date) -> str:
    step = -1 if side in _BEFORE else 0 if side == "this" else 1
    if span == "week":
        monday = today - timedelta(today.weekday()) + timedelta(7 * step)
        return f"in the week of {_day(monday)}"
    if span == "weekend":
        return _weekend(today, step)
    if span == "month":
        return f"in {_month(today, step)}"
    if span == "year":
        return f"in {today.year + step}"
    if span in _SEASONS:
        year = _nearest_year(_SEASONS[span], step, today)
        return f"in winter {year - 1}/{year}" if span == "winter" else f"in {span} {year}"
    if span in _MONTHS:
        return f"in {span.capitalize()} {_nearest_year(_MONTHS.index(span) + 1, step, today)}"
    return f"on {_day(_weekday(span, step, today))}"


def _on_weekday(found: re.Match[str], today: date) -> str:
    """A bare weekday is taken for the last one where the sentence looks back, else for the next."""
    back = _BACK.search(found.string)
    return f"on {_day(_weekday(found['weekday'].lower(), -1 if back else 1, today))}"


def _in_month(found: re.Match[str], today: date) -> str:
    name = found["month"]
    if name in _VERBS:
        return found[0]
    number = _MONTHS.index(name.lower()) + 1
    back = _BACK.search(found.string)
    return f"in {name.capitalize()} {_nearest_year(number, -1 if back else 1, today, itself=True)}"


def _about(found: re.Match[str], today: date) -> str:
    return f"around {_month(today, 0)}"


_TELLERS: tuple[tuple[str, Callable[[re.Match[str], date], str]], ...] = (
    ("near", _near),
    ("ago", _ago),
    ("ahead", _ahead),
    ("span", _span),
    ("weekday", _on_weekday),
    ("month", _in_month),
    ("about", _about),
)


def _number(word: str) -> int:
    if word.isdigit():
        return int(word)
    return _NUMBERS.get(word) or _ABOUT[word.removeprefix("a ").removesuffix(" of")]


def _weekday(name: str, step: int, today: date) -> date:
    """The nearest day of that name before today, or after it; "this Friday" may be today."""
    number = next(n for n, day in enumerate(_WEEKDAYS) if day.startswith(name[:3]))
    if step < 0:
        return today - timedelta((today.weekday() - number - 1) % 7 + 1)
    ahead = (number - today.weekday()) % 7
    return today + timedelta(ahead or (7 if step else 0))


def _weekend(today: date, step: int) -> str:
    saturday = today - timedelta(today.weekday()) + timedelta(5)
    return f"on the weekend of {_day(saturday + timedelta(7 * step))}"


def _nearest_year(month: int, step: int, today: date, *, itself: bool = False) -> int:
    if step < 0:
        return today.year if month < today.month or (itself and month == today.month) else today.year - 1
    if step > 0:
        return today.year if month > today.month or (itself and month == today.month) else today.year + 1
    return today.year


def _month(today: date, step: int) -> str:
    months = today.year * 12 + today.month - 1 + step
    return f"{date(months // 12, months % 12 + 1, 1):%B %Y}"


def _day(day: date) -> str:
    return f"{day.day} {day:%B %Y}"
