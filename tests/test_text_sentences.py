"""Text split into sentences and clauses, in several languages."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifelong.text.sentences import Clause, clauses, sentences


@pytest.mark.parametrize(
    "parts",
    [
        ("I live in Berlin.", "Do you?", "Yes!"),
        ("Dr. Weber and Mrs. Lee met at 5 p.m. in St. Ives.", "They left."),
        ("J. K. Rowling wrote it.", "We read it, e.g. on trains."),
        ("No. 5 is the best.", "No.", "I disagree."),
        ("He paid 30.", "She paid 40."),
        ("1. Buy milk.", "2. Call Tom."),
        ("**1. Set goals**", "**2. Plan**"),
        ('She said "No."', "Then she left."),
        ("Is it plan D?", "Tell me."),
        ("Wait...", "What?!", "(Really.)", "Fine"),
        ("Am 3. Mai ziehe ich um.", "Frau Prof. Lang hilft, z.B. beim Tragen."),
        (
            "Kardiologe ist am 12.2. um 14:20, trag das ein.",
            "jetzt 26.2. um 9 Uhr.",
            "beim Chor ist am 31.3. schluss.",
        ),
        ("It ships with 4.0.", "last exception!", "Our address is ul. Polna 77, Poznań."),
        ("Wir kommen am 28. märz.", "Das sind ca. zwei Wochen."),
        ("¿Vienes?", "¡Claro!", "Nos vemos el 5."),
        ("Il a dit « oui ».", "Elle est partie."),
        ("هل تأتي؟", "نعم."),
        ("one", "two", "three"),
    ],
)
def test_a_text_is_split_into_sentences(parts: tuple[str, ...]) -> None:
    """O10: each with the mark that ends it."""
    marked = all(part[-1].isalnum() or part.endswith("**") for part in parts)
    assert list(sentences(("\n" if marked else " ").join(parts))) == list(parts)


def test_a_script_without_blanks_is_split_at_its_marks() -> None:
    """O10: no blank is needed after them."""
    assert list(sentences("我住在柏林。你呢\uff1f很好\uff01")) == ["我住在柏林。", "你呢\uff1f", "很好\uff01"]


@given(st.text())
def test_no_letter_is_lost(text: str) -> None:
    """O10: whatever was said."""
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


def test_a_long_text_is_split_in_linear_time() -> None:
    """Hostile text does no harm."""
    for text in ("1. " * 20_000, ". " * 20_000, "Mr. " * 20_000, "!" * 60_000, "\n" * 60_000, "*" * 60_000):
        start = time.process_time()
        assert len(list(sentences(text))) <= 20_000
        assert time.process_time() - start < 2


def test_a_label_holds_until_the_next() -> None:
    """Who says it, or what it is about."""
    assert list(clauses("Ann: I moved; it rained. I like it. Tom: Ok → done")) == [
        Clause("Ann", True, "I moved"),
        Clause("Ann", True, "it rained."),
        Clause("Ann", False, "I like it."),
        Clause("Tom", True, "Ok"),
        Clause("", False, "done"),
    ]
