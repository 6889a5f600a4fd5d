"""R2: what the index sees of a text, and what a question asks for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifelong import Agent, Memory, UserMessage
from lifelong.recall.analyzer import DATED, NAMED, NUMBER, TELLS, read, stem_number
from lifelong.recall.query import parse_query
from lifelong.text.time_ranges import Period, period
from lifelong.text.words import content_words

ASKED = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)  # a Wednesday


def day(month: int, of_month: int, year: int = 2026) -> datetime:
    return datetime(year, month, of_month, tzinfo=UTC)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Caroline's dogs", "caroline dog"),
        ("She went hiking", "go hikes"),
        ("Müller in Köln", "muller koln"),
        ("CAFÉ", "cafe"),
        ("Hauptstraße", "HAUPTSTRASSE"),
        ("我买了iPhone15手机", "iphone15 手机"),
        ("the report, which was written", "write report"),
    ],
)
def test_forms_of_a_word_meet(one: str, other: str) -> None:
    """R2: stems, without accents, case and endings."""
    assert set(read(other).stems) <= set(read(one).stems)


def test_scripts_without_blanks_go_by_pairs() -> None:
    """R2: so that a part of a sentence is found."""
    assert content_words("我的猫叫小白") == ["我的", "的猫", "猫叫", "叫小", "小白", *"我的猫叫小白"]
    assert content_words("我买了iPhone15手机")[5:] == ["iphone15", "手机", "手", "机"]
    assert set(read("小白").stems) <= set(read("我的猫叫小白").stems)
    assert content_words("猫") == ["猫"]


def test_pictures_and_parts_of_words_are_found(memory: Memory, alice: Agent) -> None:
    """R1: by the picture, and by what stands beside an apostrophe."""
    said = [
        "\U0001f600 on Friday \U0001f382",
        "J'habite pr\u00e8s de l\u2019h\u00f4tel.",
        "\u0130stanbul'da ya\u015f\u0131yorum",
    ]
    memory.append_many(alice, [UserMessage(text) for text in said])
    for question, text in zip(("\U0001f382", "hotel", "\u0130STANBUL"), said, strict=True):
        assert "words" in memory.search(question, explain=True)[0].parts
        assert memory.search(question)[0].text == text


def test_a_word_of_one_character_is_found(memory: Memory, alice: Agent) -> None:
    """R2: where the question sets it beside others than the answer does."""
    memory.append_many(alice, [UserMessage("我的狗名叫豆豆"), UserMessage("昨天我们在公园里散步")])
    assert memory.search("狗叫什么?", 1)[0].text == "我的狗名叫豆豆"


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("I paid 12 euros", TELLS | NUMBER),
        ("she left yesterday with Otto", DATED | NAMED),
        ("nothing of note", 0),
        ("We\u2019re twelve", TELLS | NUMBER),
    ],
)
def test_how_a_text_speaks(text: str, flags: int) -> None:
    """R2: first person, numbers, times, names."""
    assert read(text).flags == flags


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """R1: whatever is stored, and always the same way."""
    seen = read(text)
    assert list(seen.stems) == sorted(set(seen.stems))
    assert seen.length >= len(seen.stems)
    assert read(text) == seen


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
    assert period(question, ASKED) == Period(start, end)


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
    assert period(question, ASKED) is None


def test_a_time_long_before_anything() -> None:
    """R2: is as far back as there can be something."""
    found = period("9999 years ago", ASKED)
    assert found
    assert found.start < found.end < ASKED


@given(st.text(max_size=60))
def test_any_question_is_understood(text: str) -> None:
    """R3"""
    parse_query(text, ASKED, {"ann": frozenset({"Ann"})})


def test_whom_a_question_is_about() -> None:
    """R2: by name, by its possessive, and by the beginning that only one has."""
    speakers = {"melanie": frozenset({"Melanie"}), "caroline": frozenset({"Caroline"})}
    for question in ("What did Melanie buy?", "What is Melanie's car?", "Where did Mel go?"):
        asks = parse_query(question, ASKED, speakers)
        assert asks.people == {"Melanie"}
        assert not {"mel", "melanie"} & set(asks.words)
    assert parse_query("Did the caramel melt?", ASKED, speakers).people == set()


def test_what_a_question_counts() -> None:
    """R2: words that say how is asked count less."""
    asks = parse_query("How many days did the total repair take?", ASKED, {})
    assert asks.wants == NUMBER | DATED
    assert asks.words["repair"] == (stem_number("repair"), 1.0)
    assert asks.words["total"][1] < 1
    assert parse_query("What did you recommend?", ASKED, {}).of_assistant
    assert not parse_query("What did Ann recommend?", ASKED, {}).of_assistant
