"""R2: what the index sees of a text, and what a question asks for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifelong import Agent, Memory, UserMessage
from lifelong.recall.analyzer import DATED, IN_FIRST_PERSON, NAMED, NUMBER, extract_terms, stem_number
from lifelong.recall.query import parse_query

ASKED = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)  # a Wednesday


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
    assert set(extract_terms(other).stems) <= set(extract_terms(one).stems)


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
        ("I paid 12 euros", IN_FIRST_PERSON | NUMBER),
        ("she left yesterday with Otto", DATED | NAMED),
        ("nothing of note", 0),
        ("We\u2019re twelve", IN_FIRST_PERSON | NUMBER),
    ],
)
def test_how_a_text_speaks(text: str, flags: int) -> None:
    """R2: first person, numbers, times, names."""
    assert extract_terms(text).flags == flags


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """R1: whatever is stored, and always the same way."""
    seen = extract_terms(text)
    assert list(seen.stems) == sorted(set(seen.stems))
    assert seen.length >= len(seen.stems)
    assert extract_terms(text) == seen


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
        assert {"mel", "melanie"} & {one.word for one in asks.words}, "others speak of her too"
    assert parse_query("Did the caramel melt?", ASKED, speakers).people == set()


def test_what_a_question_counts() -> None:
    """R2: words that say how is asked count less."""
    asks = parse_query("How many days did the total repair take?", ASKED, {})
    assert asks.wants == NUMBER | DATED
    counted = {one.word: one for one in asks.words}
    assert stem_number("repair") in counted["repair"].stems
    assert counted["repair"].weight == 1
    assert counted["total"].weight < 1
    assert parse_query("What did you recommend?", ASKED, {}).of_assistant
    assert not parse_query("What did Ann recommend?", ASKED, {}).of_assistant
