"""Relative dates made absolute (SPEC O10), and the time that a question asks about (SPEC R2)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lifelong.text.dates import with_absolute_dates
from lifelong.text.time_ranges import Period, parse_period

THURSDAY = datetime(2023, 5, 25, 13, 14, tzinfo=UTC)
ASKED = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)  # a Wednesday


def day(month: int, of_month: int, year: int = 2026) -> datetime:
    return datetime(year, month, of_month, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I ran yesterday", "I ran on 24 May 2023"),
        ("I ran last Saturday", "I ran on 20 May 2023"),
        ("We met two weeks ago", "We met around 11 May 2023"),
        ("I moved 10 years ago", "I moved in 2013"),
        ("a few years ago", "around 2020"),
        ("I moved there forty years ago", "I moved there in 1983"),
        ("she called sixteen days ago", "she called on 9 May 2023"),
        ("about three weeks ago", "around 4 May 2023"),
        ("next month", "in June 2023"),
        ("this morning", "on the morning of 25 May 2023"),
        ("last week", "in the week of 15 May 2023"),
        ("this past weekend", "on the weekend of 20 May 2023"),
        ("last year's trip", "2022's trip"),
        ("yesterday's class", "24 May 2023's class"),
        ("Yesterday was hard", "24 May 2023 was hard"),
        ("a table for tomorrow", "a table for 26 May 2023"),
        ("in March I had surgery", "in March 2023 I had surgery"),
        ("I'm moving in December", "I'm moving in December 2023"),
        ("he wrote to me in June", "he wrote to me in June 2022"),
        ("getting married in August", "getting married in August 2023"),
        ("we've decided on Rome for our trip in April", "we've decided on Rome for our trip in April 2024"),
        ("our trip in April was long", "our trip in April 2023 was long"),
        ("he retires in July", "he retires in July 2023"),
        ("on Friday I had a test", "on 19 May 2023 I had a test"),
        ("she rode out on Sunday night", "she rode out on the night of 21 May 2023"),
        ("on Saturday I'm flying home", "on 27 May 2023 I'm flying home"),
        ("he was ill, so we're meeting on Monday", "he was ill, so we're meeting on 29 May 2023"),
        ("we danced this weekend", "we danced on the weekend of 20 May 2023"),
        ("we're dancing this weekend", "we're dancing on the weekend of 27 May 2023"),
        ("skiing this winter", "skiing in winter 2022/2023"),
        ("the meeting is on Friday", "the meeting is on 26 May 2023"),
        ("last winter", "in winter 2022/2023"),
        ("Last Friday, I went", "On 19 May 2023, I went"),
        ("recently", "around May 2023"),
        ("the flight is on June 4 at 9:30", "the flight is on June 4, 2023 at 9:30"),
        ("the release goes out on 7 January", "the release goes out on 7 January 2024"),
        ("my exam is in Porto on January 12", "my exam is in Porto on January 12, 2024"),
        ("my lease ends on 30 January", "my lease ends on 30 January 2024"),
        ("I haven't eaten since Monday", "I haven't eaten since 22 May 2023"),
        ("I ran there on Nov. 3rd", "I ran there on Nov. 3rd, 2022"),
        ("we're flying on 5 Dec", "we're flying on 5 Dec 2023"),
        ("we're meeting on May 3", "we're meeting on May 3, 2024"),
        ("the launch slipped to the 11th of June", "the launch slipped to the 11th of June 2023"),
        ("it should be done by Friday", "it should be done by 26 May 2023"),
        ("they come on Saturday and stay until Tuesday", "they come on 27 May 2023 and stay until 30 May 2023"),
        ("I worked there until Monday", "I worked there until 22 May 2023"),
        ("since Monday I've been ill", "since 22 May 2023 I've been ill"),
        ("I booked it for July 12-15", "I booked it for July 12-15, 2023"),
    ],
)
def test_a_relative_date_is_made_absolute(said: str, told: str) -> None:
    """O10: dates are absolute."""
    assert with_absolute_dates(said, THURSDAY) == told


@pytest.mark.parametrize(
    "said",
    [
        "last but not least",
        "this may be it",
        "over the past year",
        "for the last month",
        "in 5 minutes",
        "it feels like yesterday",
        "on 7 May 2023",
        "in March 2021",
        "on March 5, 2021",
        "on 29 February",
        "the photo is from 12 January",
        "Ann's concert on 12 January",
        "I've got to finish by Friday",
        "I was told to pay by Friday",
        "her birthday is on January 6th",
        "we close on July 4 every year",
        "it may 5 times",
        "I usually work until Friday",
        "open from Monday to Friday",
        "every Sunday",
        "the lesson is on Saturday mornings",
        "the group meets on Saturday",
        "the shop is closed on Monday",
        "the airline paid, so we stay home in October",
        "the tree bears fruit in September",
        "we used to meet on Friday",
        "the party is on Saturday the 14th",
        "the course is on Monday and Thursday",
        "our Tuesday meeting",
        "the last night bus",
        "the last Friday of the month",
        "in today's world",
        "I lost ten pounds in two months",
    ],
)
def test_what_is_no_date_told_from_today_stays(said: str) -> None:
    """O10: nothing is invented."""
    assert with_absolute_dates(said, THURSDAY) == said


def test_a_date_beyond_the_calendar_stays() -> None:
    """O10: hostile numbers do no harm."""
    early = datetime(3, 1, 1, tzinfo=UTC)
    assert with_absolute_dates("999 years ago", early) == "999 years ago"


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
