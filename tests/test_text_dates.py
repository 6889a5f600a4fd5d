"""What a relative date means (SPEC O8), and the time that a question asks about (SPEC R2)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifelong.text.dates import with_dates_explained
from lifelong.text.time_ranges import Period, parse_period

THURSDAY = datetime(2023, 5, 25, 13, 14, tzinfo=UTC)
ASKED = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)  # a Wednesday


def day(month: int, of_month: int, year: int = 2026) -> datetime:
    return datetime(year, month, of_month, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "explained"),
    [
        ("I ran yesterday.", "I ran yesterday [24 May 2023]."),
        ("Yesterday was hard", "Yesterday [24 May 2023] was hard"),
        ("the day before yesterday", "the day before yesterday [23 May 2023]"),
        ("a table for tomorrow", "a table for tomorrow [26 May 2023]"),
        ("I ran last Saturday", "I ran last Saturday [20 May 2023]"),
        ("last Thursday, not today", "last Thursday [18 May 2023], not today"),
        ("We moved last week", "We moved last week [the week of 15 May 2023]"),
        ("last weekend", "last weekend [20 May 2023]"),
        ("next month", "next month [June 2023]"),
        ("We met two weeks ago", "We met two weeks ago [around the week of 8 May 2023]"),
        ("she called sixteen days ago", "she called sixteen days ago [9 May 2023]"),
        ("I moved 10 years ago", "I moved 10 years ago [around 2013]"),
        ("Gestern war ich müde", "Gestern [24 May 2023] war ich müde"),
        ("Wir fahren nächste Woche", "Wir fahren nächste Woche [the week of 29 May 2023]"),
        ("vor drei Tagen", "vor drei Tagen [22 May 2023]"),
        ("Ayer fui al médico", "Ayer [24 May 2023] fui al médico"),
        ("hace dos semanas", "hace dos semanas [around the week of 8 May 2023]"),
        ("el año pasado", "el año pasado [2022]"),
        ("Il y a trois jours", "Il y a trois jours [22 May 2023]"),
        ("la semaine prochaine", "la semaine prochaine [the week of 29 May 2023]"),
    ],
)
def test_a_relative_date_is_explained(said: str, explained: str) -> None:
    """O8, O10: in brackets behind it; the words stay as they were said."""
    assert with_dates_explained(said, THURSDAY) == explained


@pytest.mark.parametrize(
    "said",
    [
        *("last but not least", "over the past year", "in 5 minutes", "on 7 May 2023", "in March 2021"),
        *("on Friday I had a test", "every Sunday", "the last Friday of the month", "in today's world"),
        *("yesterday's class", "am Morgen", "por la mañana", "two weeks", "a nuestra semana"),
    ],
)
def test_what_is_not_certain_is_left_alone(said: str) -> None:
    """O10: nothing is invented. "On Friday" may be the last or the next one."""
    assert with_dates_explained(said, THURSDAY) == said


def test_a_date_beyond_the_calendar_is_left_alone() -> None:
    """O10: hostile numbers do no harm."""
    early = datetime(3, 1, 1, tzinfo=UTC)
    assert with_dates_explained("999 years ago", early) == "999 years ago"


@given(
    st.lists(st.sampled_from(["yesterday", "last week", "hier soir", " ", "İ", "ß", "ﬁ", "é", "\n", "x"])).map(
        "".join
    )
)
def test_only_brackets_are_added(text: str) -> None:
    """O8: property; also where a letter has another length without its accents."""
    assert re.sub(r" \[[^\]]*\]", "", with_dates_explained(text, THURSDAY)) == text


# The time a question asks about


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What happened on March 5, 2025?", day(3, 5, 2025), day(3, 6, 2025)),
        ("on 5th of March 2025", day(3, 5, 2025), day(3, 6, 2025)),
        ("since 2025-11-30", day(11, 30, 2025), ASKED),
        ("since Monday", day(3, 16), ASKED),
        ("since last year", day(1, 1, 2025), ASKED),
        ("since 2024", day(1, 1, 2024), ASKED),
        ("since February", day(2, 1), ASKED),
        ("in 2025-11", day(11, 1, 2025), day(12, 1, 2025)),
        ("in February", day(2, 1), day(3, 1)),
        ("in December", day(12, 1, 2025), day(1, 1)),
        ("December 2024", day(12, 1, 2024), day(1, 1, 2025)),
        ("in 2024", day(1, 1, 2024), day(1, 1, 2025)),
        ("three days ago", day(3, 15), day(3, 16)),
        ("2 weeks ago", day(3, 3), day(3, 6)),
        ("sixteen days ago", day(3, 2), day(3, 3)),
        ("last Friday", day(3, 13), day(3, 14)),
        ("last Wednesday", day(3, 11), day(3, 12)),
        ("last week", day(3, 11), ASKED),
        ("last month", day(2, 1), day(3, 1)),
        ("last year", day(1, 1, 2025), day(1, 1)),
        ("last weekend", day(3, 14), day(3, 16)),
        ("this week", day(3, 16), ASKED),
        ("this month", day(3, 1), ASKED),
        ("this year", day(1, 1), ASKED),
        ("on Monday", day(3, 16), day(3, 17)),
        ("last night", day(3, 17), ASKED),
        ("the day before yesterday", day(3, 16), day(3, 17)),
        ("Feb 3", day(2, 3), day(2, 4)),
        ("Sept. 3, 2024", day(9, 3, 2024), day(9, 4, 2024)),
        ("3 Mar", day(3, 3), day(3, 4)),
        ("on 3 May", day(5, 3, 2025), day(5, 4, 2025)),
        ("on 3 March", day(3, 3), day(3, 4)),
        ("on March 3rd", day(3, 3), day(3, 4)),
        ("on 29 February", day(2, 29, 2024), day(3, 1, 2024)),
        ("the past two months", day(1, 15), ASKED),
        ("yesterday", day(3, 17), day(3, 18)),
        ("today", day(3, 18), ASKED),
        ("this evening", day(3, 18), ASKED),
        ("an hour ago", ASKED - timedelta(days=1), ASKED),
        ("in the last 24 hours", ASKED - timedelta(days=1), ASKED),
        ("the week before last", day(3, 2), day(3, 9)),
        ("the weekend before last", day(3, 7), day(3, 9)),
        ("the month before last", day(1, 1), day(2, 1)),
        ("the year before last", day(1, 1, 2024), day(1, 1, 2025)),
        ("over the weekend", day(3, 14), day(3, 16)),
        ("half a year ago", day(9, 12, 2025), day(9, 27, 2025)),
        ("a fortnight ago", day(3, 3), day(3, 6)),
        ("in early February", day(2, 1), day(3, 1)),
        ("during 2024", day(1, 1, 2024), day(1, 1, 2025)),
        ("the last month of 2024", day(1, 1, 2024), day(1, 1, 2025)),
        ("on the 5th", day(3, 5), day(3, 6)),
        ("on the 31st", day(1, 31), day(2, 1)),
        ("on 04.03.2025", day(3, 4, 2025), day(3, 5, 2025)),
        ("on 2025/03/04", day(3, 4, 2025), day(3, 5, 2025)),
        ("between January and February", day(1, 1), day(3, 1)),
        ("from 3 March to 5 May 2025", day(3, 3, 2025), day(5, 6, 2025)),
        ("from November to February 2025", day(11, 1, 2024), day(3, 1, 2025)),
    ],
)
def test_the_time_a_question_speaks_of(question: str, start: datetime, end: datetime) -> None:
    """R2: seen from the time of asking."""
    assert parse_period(question, ASKED) == Period(start, end)


@pytest.mark.parametrize(
    "question",
    [
        *("", "Where does May live?", "may I?", "Which of the 3 may work?", "Could this may help?", "on Mondays"),
        *("on 31 February 2025", "on 31 February", "in 9999-99", "3 marches", "the maybe 3", "on the 99th"),
        *("from Berlin to Prague this May", "between Ann and the weekly call"),
    ],
)
def test_no_time(question: str) -> None:
    """R2: nor one that there is not."""
    assert parse_period(question, ASKED) is None


def test_a_time_long_before_anything() -> None:
    """R2: is as far back as there can be something."""
    found = parse_period("9999 years ago", ASKED)
    assert found
    assert found.start < found.end < ASKED
