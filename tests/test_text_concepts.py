"""Words that are about the same (`text/concepts.py`), and searches that go by them."""

from __future__ import annotations

import pytest

from lifelong import Memory
from lifelong.text.concepts import concepts_of
from lifelong.text.words import fold


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("rent", "flats"),
        ("live", "wohnungen"),
        ("home", "mietwohnung"),  # a compound is about what it ends with
        ("vehicle", "coche"),
        ("arzt", "médico"),
        ("employer", "firma"),
    ],
)
def test_words_that_are_about_the_same(one: str, other: str) -> None:
    """R2: also in other forms, and in another language."""
    assert concepts_of(fold(one)) & concepts_of(fold(other))


@pytest.mark.parametrize(("one", "other"), [("rent", "salary"), ("mother", "father"), ("dentist", "doctor")])
def test_words_that_are_about_different_things(one: str, other: str) -> None:
    assert concepts_of(one)
    assert concepts_of(other)
    assert not concepts_of(one) & concepts_of(other)


@pytest.mark.parametrize("word", ["", "a", "zxqw", "r12", "über", "1234567890", "ation" * 4])
def test_other_words_are_about_nothing_known(word: str) -> None:
    assert not concepts_of(fold(word))


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("Nos quedamos con el piso de la calle Ezcurdia.", "Where do I live?"),
        ("Am Montag fange ich in der neuen Firma an.", "Who is my employer?"),
        ("We bought a second-hand Dacia, olive green, the vehicle of my dreams.", "¿Tengo coche?"),
    ],
)
def test_a_question_finds_what_was_told_in_other_words(memory: Memory, told: str, asked: str) -> None:
    """R2: where neither a word nor the bundled vectors connect them."""
    for text in (
        "The meeting about the quarterly figures was long.",
        told,
        "Remind me to water the plants.",
        "Das Wetter war am Wochenende schlecht.",
        "Mañana llueve otra vez.",
    ):
        memory.add(text)
    assert memory.search(asked, 1)[0].text == told
