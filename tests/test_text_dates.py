"""Dates that were told from the day of the talk, made absolute (SPEC O10)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lifelong.text.dates import absolute

THURSDAY = datetime(2023, 5, 25, 13, 14, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I ran yesterday", "I ran on 24 May 2023"),
        ("I ran last Saturday", "I ran on 20 May 2023"),
        ("We met two weeks ago", "We met around 11 May 2023"),
        ("I moved 10 years ago", "I moved in 2013"),
        ("a few years ago", "around 2020"),
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
    assert absolute(said, THURSDAY) == told


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
    assert absolute(said, THURSDAY) == said


def test_a_date_beyond_the_calendar_stays() -> None:
    """O10: hostile numbers do no harm."""
    early = datetime(3, 1, 1, tzinfo=UTC)
    assert absolute("999 years ago", early) == "999 years ago"
