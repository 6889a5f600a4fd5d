"""Months, weekdays, and what a relative date means: which day "yesterday" is follows from the record's time.

English, German, Spanish and French. Only what is certain is explained: "on Friday" may be the last or the next
one.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date, datetime, timedelta

from lifelong.text.words import NUMBER_WORDS, fold, pattern, word_set

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
MONTH_NUMBERS = {month[:3]: number for number, month in enumerate(MONTHS, 1)}
MONTH_WORDS = frozenset((*MONTHS, *MONTH_NUMBERS, "sept"))
MONTH_NAMES = frozenset(MONTHS) | word_set(
    """januar februar märz mai juni juli oktober dezember
    janvier février avril juin juillet août septembre octobre novembre décembre
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"""
)
"""English, German, French and Spanish months."""

DATE_WORDS = (
    MONTH_WORDS
    | MONTH_NAMES
    | word_set("montag dienstag mittwoch donnerstag freitag samstag sonntag").union(WEEKDAYS)
)

_WEEKDAY_NAMES = (
    "mon(?:day)?|montag|lunes|lundi",
    "tue(?:s(?:day)?)?|dienstag|martes|mardi",
    "wed(?:nesday)?|mittwoch|miercoles|mercredi",
    "thu(?:rs(?:day)?)?|donnerstag|jueves|jeudi",
    "fri(?:day)?|freitag|viernes|vendredi",
    "sat(?:urday)?|samstag|sonnabend|sabado|samedi",
    "sun(?:day)?|sonntag|domingo|dimanche",
)
_DAYS = {
    **dict.fromkeys(("the day before yesterday", "vorgestern", "anteayer", "avant-hier"), -2),
    **dict.fromkeys(("yesterday", "last night", "gestern", "ayer", "anoche", "hier soir"), -1),
    **dict.fromkeys(("tomorrow", "morgen fruh", "morgen abend", "demain", "manana por la"), 1),
    **dict.fromkeys(("the day after tomorrow", "ubermorgen", "pasado manana", "apres-demain"), 2),
}
_SPANS = {
    **{f"last {unit}": (unit, -1) for unit in ("week", "month", "year", "weekend")},
    **{f"next {unit}": (unit, 1) for unit in ("week", "month", "year")},
    **dict.fromkeys(("this weekend",), ("weekend", 0)),
    **dict.fromkeys(("letzte woche", "vorige woche", "la semana pasada", "la semaine derniere"), ("week", -1)),
    **dict.fromkeys(
        ("nachste woche", "kommende woche", "la semana que viene", "la proxima semana", "la semaine prochaine"),
        ("week", 1),
    ),
    **dict.fromkeys(("letzten monat", "el mes pasado", "le mois dernier"), ("month", -1)),
    **dict.fromkeys(("nachsten monat", "el mes que viene", "el proximo mes", "le mois prochain"), ("month", 1)),
    **dict.fromkeys(("letztes jahr", "el ano pasado", "l'annee derniere", "l'an dernier"), ("year", -1)),
    **dict.fromkeys(("nachstes jahr", "el ano que viene", "l'annee prochaine"), ("year", 1)),
}
_UNITS = {
    **dict.fromkeys(("day", "days", "tag", "tagen", "dia", "dias", "jour", "jours"), "day"),
    **dict.fromkeys(("week", "weeks", "woche", "wochen", "semana", "semanas", "semaine", "semaines"), "week"),
    **dict.fromkeys(("month", "months", "monat", "monaten", "mes", "meses", "mois"), "month"),
    **dict.fromkeys(("year", "years", "jahr", "jahren", "ano", "anos", "an", "ans"), "year"),
}
_COUNTS = NUMBER_WORDS | {
    **dict.fromkeys(("a", "an", "einem", "einer", "un", "una", "une"), 1),
    **dict.fromkeys(("zwei", "dos", "deux"), 2),
    **dict.fromkeys(("drei", "tres", "trois"), 3),
}
_COUNT, _UNIT = rf"(?P<count>\d{{1,3}}|{'|'.join(_COUNTS)})", rf"(?P<unit>{'|'.join(_UNITS)})"
_AWAY = (
    rf"(?:{_COUNT} {_UNIT} ago)",
    rf"(?:(?:vor|hace|il y a) {_COUNT} {_UNIT})".replace("count", "count2").replace("unit", "unit2"),
)
_RELATIVE = (
    rf"(?<![\w'-])(?:(?P<day>{'|'.join(sorted(_DAYS, key=len, reverse=True))})"
    rf"|(?P<span>{'|'.join(sorted(_SPANS, key=len, reverse=True))})"
    rf"|(?:last|letzten?) (?P<weekday>{'|'.join(WEEKDAYS)})"
    rf"|{'|'.join(_AWAY)})(?![\w'-]| of\b)"
)

_MONTH_OF = {
    **{name: number for number, month in enumerate(MONTHS, 1) for name in (month, month[:3])},
    **{
        name: number
        for names in (
            "januar februar marz april mai juni juli august september oktober november dezember",
            "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
            "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
        )
        for number, name in enumerate(names.split(), 1)
    },
    "sept": 9,
}
_MONTH = "|".join(sorted(_MONTH_OF, key=len, reverse=True))
_DATES = (
    rf"(?<![\w.:])(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.)?(?: of| de)? (?P<month>{_MONTH})\b\.?"
    r"(?:,? (?:del? )?(?P<year>\d{4})\b)?",
    rf"\b(?P<month>{_MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?![:.]\d)(?:,? (?P<year>\d{{4}})\b)?",
    r"\b(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)\b",
    r"(?<![\w.])(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})?(?!\d)",
)
_WEEK_OF = re.compile(r"(?:\bthe )?\bweek of (?:the )?\Z")
_LASTING = (
    r"\b(?:since|from|as of|starting|effective|seit|ab|desde|a partir|depuis|des)"
    r"(?: (?:on|the|dem|den|el|la|que|viene|del?|d[eu]|le|next|tomorrow|week|month|year|\w+day|morgen|woche"
    r"|monat|jahr|nachste\w*|kommende\w*|manana|semana|mes|ano|proxim\w+|demain|semaine|mois|prochain\w*))*\Z"
)
"""What stands before a day with which something begins that goes on."""
MAX_DAYS_AHEAD = 200  # a day without a year that is further away may be the one before


def planned_day(text: str, said: date) -> date | None:
    """Return the last day that a text names, if it was still to come when it was said. A day without a year is the
    next one. None for a day with which something begins that goes on ("from 3 June")."""
    folded = fold(text)
    found = [one for form in _DATES for match in pattern(form).finditer(folded) if (one := _day_in(match, said))]
    if not found:
        return None
    last, begins = max(found)
    return last if last > said and not begins else None


def _day_in(found: re.Match[str], said: date) -> tuple[date, bool] | None:
    """Return a day, and whether something begins with it that goes on."""
    month = int(found["month"]) if found["month"].isdigit() else _MONTH_OF[found["month"]]
    before = found.string[: found.start()]
    year = int(found["year"]) if found["year"] else said.year
    with suppress(ValueError):
        day = date(year, month, int(found["day"]))
        if not found["year"] and day < said:
            day = day.replace(year=year + 1)
        if not found["year"] and day - said > timedelta(MAX_DAYS_AHEAD):
            return None
        if week := _WEEK_OF.search(before):
            day, before = day + timedelta(6), before[: week.start()]
        return day, pattern(_LASTING).search(before.rstrip(" [(")) is not None
    return None


def with_dates_explained(text: str, at: datetime) -> str:
    """Return the text with the date that each relative one means behind it, in square brackets: "yesterday
    [2 March 2026]". What cannot be a date of the calendar is left alone."""
    folded = "".join(one if len(one := fold(letter)) == 1 else letter for letter in text)  # of the same length
    parts, done = list[str](), 0
    for found in pattern(_RELATIVE).finditer(folded):
        if meant := _meant(found, at.date()):
            parts += [text[done : found.end()], f" [{meant}]"]
            done = found.end()
    return "".join((*parts, text[done:]))


def weekdays_near(text: str, at: datetime) -> list[str]:
    """Return the dates that the weekdays in a text may mean: the last and the next one of each."""
    named = [
        number for number, names in enumerate(_WEEKDAY_NAMES) if pattern(rf"\b(?:{names})").search(fold(text))
    ]
    days = (at.date() + timedelta((number - at.weekday()) % 7 + week) for number in named for week in (-7, 0, 7))
    return [_day(day) for day in days]


def _meant(found: re.Match[str], today: date) -> str:
    try:
        if word := found["day"]:
            return _day(today + timedelta(_DAYS[word]))
        if word := found["span"]:
            return _span(*_SPANS[word], today)
        if word := found["weekday"]:
            return _day(today - timedelta((today.weekday() - WEEKDAYS.index(word) - 1) % 7 + 1))
        count, unit = found["count"] or found["count2"], _UNITS[found["unit"] or found["unit2"]]
        back = -(int(count) if count.isdigit() else _COUNTS[count])
        return _day(today + timedelta(back)) if unit == "day" else f"around {_span(unit, back, today)}"
    except (OverflowError, ValueError):
        return ""


def _span(unit: str, count: int, today: date) -> str:
    if unit == "week":
        monday = today - timedelta(today.weekday()) + timedelta(7 * count)
        return f"the week of {_day(monday)}"
    if unit == "weekend":
        saturday = today - timedelta(today.weekday()) + timedelta(5 + 7 * count)
        return f"{_day(saturday)}"
    if unit == "month":
        months = today.year * 12 + today.month - 1 + count
        return f"{date(months // 12, months % 12 + 1, 1):%B %Y}"
    return str(date(today.year + count, 1, 1).year)


def _day(day: date) -> str:
    return f"{day.day} {day:%B %Y}"
