"""Months, weekdays, and relative dates made absolute: which day "last Saturday" is follows from the record's
time.

Where a text gives no side ("on Friday"), the verb beside the date decides: "we met on Friday" is the last
one, "we are meeting on Friday" the next. What may be a habit stays as it is. English only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta

from lifelong.text.stems import PARTICIPLE, PAST
from lifelong.text.words import NUMBER_WORDS, either, pattern, word_set

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

_SEASONS = {"spring": 4, "summer": 7, "fall": 10, "autumn": 10, "winter": 1}
_ABOUT = {"a": 1, "an": 1, "couple": 2, "few": 3, "several": 4}
_COUNT = rf"\d{{1,3}}|(?:a )?(?:couple(?: of)?|few)|an?|several|{either('|'.join(NUMBER_WORDS))}"
_DAY = "|".join((*WEEKDAYS, "mon", "tues?", "wed", "thur?s?", "fri"))  # "sat" and "sun" are words, too
_PART = "morning|afternoon|evening|night"
_ANOTHER = rf"(?! (?:{_PART})s|,? (?:the )?\d|,? (?:(?:and|or|to|through) )?(?:{_DAY}|{'|'.join(MONTHS)})\b)"
_MONTH = "|".join((*MONTHS, *(f"{month}\\.?" for month in MONTH_NUMBERS), "sept"))
_NTH = r"\d{1,2}(?:st|nd|rd|th)?"
_HABIT = re.compile(
    r"\b(?:birthday|anniversary|every|each|always|usually|often|annual\w*|yearly|born|holiday|celebrat\w+)\b",
    re.IGNORECASE,
)
_RELATIVE = (
    r"\b(?<!like )(?<!like just )(?:"
    r"(?P<near>the day before yesterday|the day after tomorrow|(?:earlier )?today|tonight|yesterday|tomorrow"
    rf"|(?<!the )last night|this (?:morning|afternoon|evening))(?: (?P<part>{_PART})\b)?(?P<of>'s\b)?"
    rf"|(?:about |around |almost )?(?P<ago>{_COUNT}) (?P<unit>day|week|weekend|month|year)s? ago"
    rf"|in (?:about )?(?P<ahead>{_COUNT}) (?P<aheads>day|week|month|year)s?(?: time)?(?= |[.,!]|$)"
    r"|(?:during |over |in |on )?(?P<the>the )?(?P<side>last|past|this past|this|next|coming|this coming"
    r"|previous) "
    rf"(?P<span>week(?:end)?|month|year|{'|'.join(_SEASONS)}|{_DAY}|{'|'.join(MONTHS)})(?= |[.,;!?)]|$"
    rf"|(?P<s>'s\b))"
    rf"|(?P<prep>on|by|until|till|before|after|since|from) (?P<weekday>{_DAY})"
    rf"(?= |[.,;!?)]|$)(?: (?P<then>{_PART})\b)?{_ANOTHER}"
    rf"|(?:back )?in (?P<month>{'|'.join(MONTHS)})\b(?! of){_ANOTHER}"
    rf"|(?P<day>(?P<first>{_MONTH}) {_NTH}(?: ?[-\u2013] ?{_NTH})?|{_NTH}(?: of)? (?P<second>{_MONTH}))\b"
    r"(?!,? \d{4}|[-\u2013/:.]?\d)"
    r"|(?P<about>recently|lately|the other (?:day|week)|a while ago)"
    r")"
)
_SPOT = (  # a word that each of them has, in lower case: most sentences have none, and that is found fast
    r"\b(?:"
    + either(
        f"day|today|tonight|yesterday|tomorrow|week|month|year|{_PART}|{'|'.join((*_SEASONS, *MONTHS))}|{_DAY}"
        "|recently|lately|while"
    )
    + rf"|(?:{'|'.join(MONTH_NUMBERS)}|sept)\b)"
)
_ADVERB = r"(?: (?:also|not|never|all|still|just|now|only|both|finally|[a-z]+ly))*"
_DONE = rf"(?:(?!hundred\b|shed\b)[a-z]+[^\We]ed|{'|'.join(sorted(PAST - {'been'}))})\b"
_TENSE = (
    r"(?P<back>\b(?:(?:was|were|had|did)(?:n't)?|since|born|(?:should|would|could|might|must) have)\b)"
    rf"|(?P<ahead>(?:\b(?:am|(?:is|are)(?:n't)?)|'(?:m|re|s)){_ADVERB} [a-z]+ing\b(?: {_DONE})?"
    rf"|^[a-z]+ing\b(?<!thing)(?: {_DONE})?|'ll\b"
    r"|\b(?:will|won't|shall|gonna|might|let's|plans?|hopes?|wants?|intends?|can't wait|due|expires?|retires?"
    r"|starts?|begins?|arrives?|comes?)\b"
    r"|(?:'d|\bwould) (?:like|love)\b|(?:\bhave|\bhas|'ve got|\bthere(?:'s| is| are)) (?:an?|another|tickets)\b"
    r"|\b(?:decided|agreed|planned|promised|arranged|booked|invited)\b[^,;]{0,60}? (?:to|for)\b)"
    rf"|(?P<perfect>(?:\b(?:have|has)(?:n't)?|'ve){_ADVERB} (?!got\b|been\b){_DONE})"
    r"|(?P<now>\b(?:used to|decided|agreed|planned|booked|I|we|they|he|she|who|if)\b"
    rf"|(?:\b(?:am|is|are|gets?)|'(?:m|re|s)){_ADVERB} {_DONE})"
    rf"|(?P<none>\b(?:the|an?|my|our|your|his|her|their|its|very|so|to|be|been|being|get|getting) {_DONE})"
    rf"|(?P<past>\b(?!{PARTICIPLE.pattern}\b){_DONE})"
)
_DAYS = {
    "the day before yesterday": -2,
    "yesterday": -1,
    "last night": -1,
    "tomorrow": 1,
    "the day after tomorrow": 2,
}
_BREAK = r".*(?:[;:.!?]\s|, (?=(?:the|an?|my|our|his|her|i|we|he|she|it|they|so|but)\b)| because (?!of\b))"
_LEADS = re.compile(r"(?:^|[,;:]|\b(?:and|but|so|then|that|because))\s*\Z", re.IGNORECASE)
_IS = re.compile(r"(?:\bis|'s)(?: now| at [\w:.]+)?\s$")
_IS_THEN = (  # "is on", "ends in Porto on"; not "is from" or "is dated"
    r"(?:\b(?:is|are|ends?|starts?|begins?|opens?|closes?|goes|leaves?|runs?)|\b(?:it|that)'s)"
    rf"(?: (?!{_DONE}|(?:from|of|since|about|after)\b)[^\s,;:.!?]+){{0,3}} \Z"
)
_HAD_TO = rf"\b{_DONE} to [a-z]+"
_IS_SUBJECT = re.compile(r" (?:is|was|will|marks|marked)\b")
_LENGTHS = frozenset({"week", "month", "year"})
_VERBS = frozenset({"may", "march"})  # months only where they are spelled as names
_PREPOSITION = re.compile(
    r"\b(?:for|until|till|by|since|from|before|after|of|to|about|than|all)\s$", re.IGNORECASE
)
_NOT_AFTER = frozenset({"by", "until", "till"})
_TOWARDS = re.compile(r"\b(?:for|to|until|till|by|from) (?:the )?\Z")
_OWN = re.compile(r"(?:back in|in|on|over|during) ", re.IGNORECASE)
_BEFORE = frozenset({"last", "past", "this past", "previous"})


def with_absolute_dates(text: str, at: datetime) -> str:
    """Return the text with its relative dates made absolute, seen from `at`. What cannot be a date of the calendar
    stays."""
    if not pattern(_SPOT).search(text.lower()):
        return text
    return pattern(_RELATIVE, re.IGNORECASE).sub(lambda found: _replaced(found, at.date()), text)


def _replaced(found: re.Match[str], today: date) -> str:
    """Return what stands for a relative date; the date itself where it cannot be resolved."""
    try:
        said = next(read(found, today) for group, read in _READERS if found[group])
    except (OverflowError, ValueError):
        return found[0]  # beyond the calendar
    before = found.string[: found.start()]
    subject = _LEADS.search(before) and _IS_SUBJECT.match(found.string, found.end())
    if said != found[0] and (subject or (_PREPOSITION.search(before[-8:]) and not _OWN.match(found[0]))):
        said = said.removeprefix("on ").removeprefix("in ")  # "yesterday was", "for tomorrow", "since last week"
    return said[0].upper() + said[1:] if found[0][0].isupper() and found.start() == 0 else said


def _side(found: re.Match[str]) -> str:
    """Return on which side of today the verb beside a date puts it: "back", "ahead", "perfect" (back, and
    maybe until now), or "" where it may be a habit."""
    before, after = found.string[: found.start()], found.string[found.end() :]
    leads, broken = _LEADS.search(before), pattern(_BREAK, re.IGNORECASE).match(before)
    clause = re.split(r"[,;:.!?]", after.removeprefix(",") if leads else after, maxsplit=1)[0]
    start = len(before) if leads and clause else broken.end() if broken and not leads else 0
    signs = _signs(before[start:])  # all of them for "when they went: in May"
    signs = signs or [sign for sign in _signs(clause) if sign != "now"][:1]
    return signs[-1].replace("past", "back").replace("now", "") if signs else ""


def _signs(text: str) -> list[str]:
    """Return on which side each verb of a text puts what it tells."""
    return [
        sign.lastgroup
        for sign in pattern(_TENSE, re.IGNORECASE).finditer(text)
        if sign.lastgroup and sign.lastgroup != "none"
    ]


def _near(found: re.Match[str], today: date) -> str:
    word = found["near"].lower()
    if found["of"] and found.string[: found.start()].lower().endswith("in ") and word == "today":
        return found[0]  # "in today's world"
    part = found["part"] or (word.split()[-1] if word.startswith("this ") else "night" if "night" in word else "")
    when = _day(today + timedelta(_DAYS.get(word, 0)), part)
    return f"{when}'s" if found["of"] else f"on {when}"


def _ago(found: re.Match[str], today: date) -> str:
    word = found["ago"].lower()
    return _away(word, found["unit"].lower(), -_number(word), today)


def _ahead(found: re.Match[str], today: date) -> str:
    word = found["ahead"].lower()
    if _side(found) in {"back", "perfect"}:
        return found[0]  # "lost it in two weeks" is how long, not when
    return _away(word, found["aheads"].lower(), _number(word), today)


def _away(word: str, unit: str, count: int, today: date) -> str:
    vague = "few" in word or word == "several" or unit == "week"
    about = "around" if vague else "on" if unit == "day" else "in"
    if unit == "weekend":
        return _weekend(today, count)
    if unit in {"day", "week"}:
        return f"{about} {_day(today + timedelta(count if unit == 'day' else 7 * count))}"
    month = _month(today, count if unit == "month" else 12 * count)
    return f"{about} {month if unit == 'month' else month.split()[1]}"


def _span(found: re.Match[str], today: date) -> str:
    side, span = found["side"].lower(), found["span"].lower()
    long = span in _LENGTHS and (found["the"] or side == "past")
    if long or found["span"] in _VERBS or (found["the"] and side in {"last", "next", "previous"}):
        return found[0]  # "the past year" is how long, not when; "the last Friday of June" is another one
    if side == "this" and (span == "weekend" or re.fullmatch(_DAY, span)) and _side(found) == "back":
        today -= timedelta(5)  # on Monday, "this weekend" that was is the last one
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
        year = _nearest_year(_SEASONS[span], step, today) + (span == "winter" and not step and today.month > 6)
        return f"in winter {year - 1}/{year}" if span == "winter" else f"in {span} {year}"
    if span in MONTHS:
        return f"in {span.capitalize()} {_nearest_year(MONTH_NUMBERS[span[:3]], step, today)}"
    return f"on {_day(_weekday(span, step, today))}"


def _on_weekday(found: re.Match[str], today: date) -> str:
    """Return a bare weekday as the last one where the verb looks back, the next one where it looks ahead;
    else it may be every week's."""
    prep = found["prep"]
    is_ahead = prep.lower() in _NOT_AFTER or _IS.search(found.string[: found.start()])
    side = "back" if prep.lower() == "since" else _side(found) or ("ahead" if is_ahead else "")
    if not side or _HABIT.search(found.string):
        return found[0]
    if side == "back" and prep.lower() == "by" and pattern(_HAD_TO).search(found.string, 0, found.start()):
        return found[0]  # "was told to pay by Friday", and maybe still can
    day = _weekday(found["weekday"].lower(), -1 if side == "back" else 1, today)
    return f"{prep} {_day(day, found['then'])}"


def _in_month(found: re.Match[str], today: date) -> str:
    name, side = found["month"], _side(found)
    if name in _VERBS or not side:
        return found[0]
    number = MONTH_NUMBERS[name[:3].lower()]
    return f"in {name.capitalize()} {_nearest_year(number, -1 if side == 'back' else 1, today, itself=True)}"


def _in_year(found: re.Match[str], today: date) -> str:
    """Return a day of a month as the last one where the verb looks back, the next one where it looks ahead,
    else the nearest if that is to come; or as every year's."""
    name = found["first"] or found["second"]
    if not name[0].isupper() or _HABIT.search(found.string):
        return found[0]
    number = MONTH_NUMBERS[name[:3].lower()]
    nth = re.search(r"\d+", found["day"])
    days = [date(year, number, int(nth[0]) if nth else 0) for year in range(today.year - 1, today.year + 2)]
    side = "" if _TOWARDS.search(found.string, 0, found.start()) else _side(found)  # "slipped to 11 May"
    if side in {"back", "perfect"}:
        day = max(day for day in days if day <= today)
    elif side == "ahead" or pattern(_IS_THEN).search(found.string, max(0, found.start() - 60), found.start()):
        day = min(day for day in days if day >= today)
    else:
        day = min(days, key=lambda day: abs(day - today))
        if day < today:
            return found[0]
    return f"{found[0]}{',' if found['first'] else ''} {day.year}"


_READERS: tuple[tuple[str, Callable[[re.Match[str], date], str]], ...] = (
    *(("near", _near), ("ago", _ago), ("ahead", _ahead), ("span", _span), ("weekday", _on_weekday)),
    *(("month", _in_month), ("day", _in_year), ("about", lambda _, today: f"around {_month(today, 0)}")),
)


def _number(word: str) -> int:
    if word.isdigit():
        return int(word)
    return _ABOUT.get(word.removeprefix("a ").removesuffix(" of")) or NUMBER_WORDS[word]


def _weekday(name: str, step: int, today: date) -> date:
    """Return the nearest day of that name before today, or after it; "this Friday" may be today."""
    number = next(n for n, day in enumerate(WEEKDAYS) if day.startswith(name[:3]))
    if step < 0:
        return today - timedelta((today.weekday() - number - 1) % 7 + 1)
    ahead = (number - today.weekday()) % 7
    return today + timedelta(ahead or (7 if step else 0))


def _weekend(today: date, step: int) -> str:
    saturday = today - timedelta(today.weekday()) + timedelta(5)
    return f"on the weekend of {_day(saturday + timedelta(7 * step))}"


def _nearest_year(month: int, step: int, today: date, *, itself: bool = False) -> int:
    if itself and month == today.month:
        return today.year
    if step < 0:
        return today.year - (month >= today.month)
    return today.year + (step > 0 and month <= today.month)


def _month(today: date, step: int) -> str:
    months = today.year * 12 + today.month - 1 + step
    return f"{date(months // 12, months % 12 + 1, 1):%B %Y}"


def _day(day: date, part: str | None = None) -> str:
    return f"{f'the {part.lower()} of ' if part else ''}{day.day} {day:%B %Y}"
