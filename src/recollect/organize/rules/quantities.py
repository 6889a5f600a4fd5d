"""Dates, times and amounts among the words of a claim."""

from __future__ import annotations

import re

from recollect.organize.rules.phrases import PREPOSITIONS, SKIPPED, words
from recollect.organize.rules.stems import stem
from recollect.organize.rules.topics import VERBS

CALENDAR = words("month weekday day date year time daytime")
"""What a date can tell; any other quantity is an amount, told by its unit."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*k?")
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")
_TIME = re.compile(r"(\d{1,2})(?::(\d\d))?(am|pm|h)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")

_MONTH_NAMES = """january february march april may june july august september october november december"""
_DAY_NAMES = """monday tuesday wednesday thursday friday saturday sunday"""
_NUMBER_NAMES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty"""
_TENS = """ten twenty thirty forty fifty sixty seventy eighty ninety"""

_MONTHS = {
    form: str(number) for number, name in enumerate(_MONTH_NAMES.split(), 1) for form in (name, name[:3], name[:4])
}
_WEEKDAYS = {form: name for name in _DAY_NAMES.split() for form in (name, name + "s", name[:3])}
_NUMBERS = {name: str(number) for number, name in enumerate(_NUMBER_NAMES.split())}
_NUMBERS |= {name: f"{number}0" for number, name in enumerate(_TENS.split(), 1)} | {"once": "1", "twice": "2"}
_DAYTIMES = words("morning mornings afternoon afternoons evening evenings night nights noon midnight")


def quantity(tokens: list[str], lows: list[str], at: int) -> tuple[str, str] | None:
    """What the word at this place tells and its value, e.g. ("month", "5") or ("euro", "940"); none for a word
    that is no date, time or amount."""
    low = lows[at].removesuffix("'s").removeprefix("mid-")
    if not low[0].isdigit() and low not in _NUMBERS:
        if low in _DAYTIMES and low == tokens[at]:
            return "daytime", low.removesuffix("s")
        if tokens[at][0].islower() and not tokens[at].startswith("mid-"):
            return None
        if low in _MONTHS and not _is_name(lows, at):
            return "month", _MONTHS[low]
        return ("weekday", _WEEKDAYS[low]) if low in _WEEKDAYS else None
    nearby = lows[at + 1] if at + 1 < len(lows) else ""
    previous = lows[at - 1] if at else ""
    bare = not nearby or nearby in SKIPPED or nearby in PREPOSITIONS
    if _DAY.fullmatch(low):
        return "date", low
    if ordinal := _ORDINAL.fullmatch(low):
        return "day", ordinal[1]
    if low.isdigit() and len(low) <= 2 and (nearby in _MONTHS or previous in _MONTHS):
        return "day", low
    if low.isdigit() and len(low) == 4 and low[:2] in ("19", "20") and bare:
        return "year", low
    number = _NUMBERS.get(low, low)
    return _time(number, nearby, bare and previous in ("at", "past")) or _amount(
        number, previous if bare else nearby
    )


def _is_name(lows: list[str], at: int) -> bool:
    """ "Jan's boss", "April likes": a month neither owns anything nor begins a clause alone."""
    return lows[at].endswith("'s") or (at == 0 and not "".join(lows[1:2]).isdigit())


def _time(number: str, nearby: str, told: bool) -> tuple[str, str] | None:
    found = _TIME.fullmatch(number)
    half = nearby if nearby in ("am", "pm", "o'clock") else (found and found[3]) or ""
    if not found or not (half or found[2] or told):
        return None
    hour = int(found[1])
    return "time", f"{hour + 12 if half == 'pm' and hour < 12 else hour}:{found[2] or '00'}"


def _amount(number: str, unit: str) -> tuple[str, str] | None:
    if not _NUMBER.fullmatch(number):
        return None
    number = number[:-1] + "000" if number.endswith("k") else number
    unit = "" if unit in SKIPPED or unit in PREPOSITIONS else stem(unit)
    return "" if unit in VERBS else unit, number.replace(",", "")
