"""The names in a text, and the kinds of its words, in several languages (SPEC R5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifelong.text.names import MAX_NAMES, known_names, names, tag_words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ada prefers short answers.", ("Ada",)),
        ("We met Ada Lovelace and Tom in New York on Monday.", ("Ada Lovelace", "Tom", "New York")),
        ("Ada's brother said that Project Apollo is late. Ada agrees.", ("Ada", "Project Apollo")),
        ("Ada Lovelace works with Tom.", ("Ada Lovelace", "Tom")),
        ("Ask Tom about it. Yesterday Ada Lovelace wrote.", ("Tom", "Ada Lovelace")),
        ("User prefers dark mode. The tests are flaky.", ()),
        ("Running the tests in parallel made them flaky.", ()),
        ("Corrected: the dump of building H has 2.4 GB.", ()),
        ("Ned: Book Casa Verde for 20:00.", ("Ned", "Casa Verde")),
        ("Gestern zog Anna nach Köln, nicht nach Bonn.", ("Anna", "Köln", "Bonn")),
        ("María vive en Madrid. Ayer llamó María.", ("María", "Madrid")),
        ("Le 14 juillet, Zoé part pour Lyon.", ("Zoé", "Lyon")),
        ("我住在柏林", ()),
        ("", ()),
    ],
)
def test_the_names_in_a_text(text: str, found: tuple[str, ...]) -> None:
    """R5: entities."""
    assert names(text) == found


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Ann doesn't owe Tom twenty euros", {"number": ["20"], "name": ["tom"], "negation": ["not"]}),
        ("she pays sixty on 2026-03-05", {"number": ["60"], "date": ["2026-03-05"]}),
        ("it was in May and on a Monday", {"date": ["may", "monday"]}),
        (
            "er kommt am 3. Mai nicht nach Köln",
            {"number": ["3"], "date": ["mai"], "negation": ["not"], "name": ["köln"]},
        ),
        ("ella no vive en Madrid", {"negation": ["not"], "name": ["madrid"]}),
        ("elle n'est pas à Paris", {"negation": ["not"], "name": ["paris"]}),
        ("我有3只猫", {"number": ["3"]}),
    ],
)
def test_what_kind_each_word_is(text: str, kinds: dict[str, list[str]]) -> None:
    """R5: numbers, names, dates and negations are told from other words."""
    found: dict[str, list[str]] = {}
    for word in tag_words(text):
        if word.kind not in ("content", "filler"):
            found.setdefault(word.kind, []).append(word.value)
    assert found == kinds


def test_a_word_is_found_where_it_stands() -> None:
    """R5: without the punctuation around it."""
    text = '("Hello, Anna!")'
    assert [text[word.start : word.end] for word in tag_words(text)] == ["Hello", "Anna"]


def test_a_capital_within_a_sentence_makes_a_name_everywhere() -> None:
    """R5: unless the word is mostly written without."""
    assert known_names(["we met Rose", "Rose came"]) == {"rose"}
    assert known_names(["a Rose", "the rose", "that rose"]) == frozenset()


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """R5: names stand in the text, and are not too many."""
    found = names(text)
    assert len(found) <= MAX_NAMES
    assert all(name in text for name in found)
