"""Words, stems, negations and numbers of a text, in several languages (SPEC R2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifelong.text.stems import are_opposites, are_synonyms, stem
from lifelong.text.words import (
    FUNCTION,
    NUMBER_WORDS,
    STOP,
    content_words,
    count_negations,
    fold,
    is_stop,
    text_cache,
)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Müller", "muller"),
        ("Straße", "strasse"),
        ("CAFÉ", "cafe"),
        ("¿Año?", "¿ano?"),
        ("it\u2019s", "it's"),
        ("\uff21\uff22", "ab"),
        ("한국", "한국"),
        ("İstanbul", "istanbul"),
    ],
)
def test_case_and_accents_are_folded(text: str, folded: str) -> None:
    """R2: a word is found however it is written."""
    assert fold(text) == folded


@given(st.text())
def test_what_is_folded_stays_so(text: str) -> None:
    """R2: so that the index and a question agree."""
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What did Caroline's dogs do?", ["caroline", "dogs"]),
        ("Zoë loge à l'hôtel", ["zoe", "loge", "hotel"]),
        ("Ich wohne in Köln", ["ich", "wohne", "koln"]),
        ("Vivo en Málaga", ["vivo", "en", "malaga"]),
        ("a 12-day trip", ["12", "day", "trip"]),
        ("", []),
    ],
)
def test_the_words_that_say_something(text: str, words: list[str]) -> None:
    """R2: no stop words, and of a word with an apostrophe the part that counts."""
    assert content_words(text) == words


def test_scripts_without_blanks_go_by_pairs() -> None:
    """R2: so that a part of a sentence is found."""
    assert content_words("我的猫叫小白") == ["我的", "的猫", "猫叫", "叫小", "小白", *"我的猫叫小白"]
    assert content_words("我买了iPhone15手机")[5:] == ["iphone15", "手机", "手", "机"]
    assert set(content_words("小白")) <= set(content_words("我的猫叫小白"))
    assert content_words("猫") == ["猫"]


@pytest.mark.parametrize(
    ("one", "other"),
    [("dogs", "dog"), ("went", "going"), ("written", "write"), ("children", "child"), ("decided", "decide")],
)
def test_forms_of_a_word_have_one_stem(one: str, other: str) -> None:
    """R2: irregular ones, too."""
    assert stem(one) == stem(other)


def test_opposites_and_synonyms() -> None:
    """R5: by the list, by a prefix, and in either order."""
    assert are_opposites("increased", "decreases")
    assert are_opposites("legal", "illegal")
    assert are_opposites("downstream", "upstream")
    assert not are_opposites("tea", "coffee")
    assert are_synonyms(stem("buy"), stem("purchase"))
    assert not are_synonyms(stem("buy"), stem("sell"))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("I don't and never will", 2),
        ("it isn\u2019t", 1),
        ("Ich habe kein Auto und nie eins gehabt", 2),
        ("No vivo sin mi gato", 2),
        ("Je n'y vais jamais", 1),
        ("我不喜欢喝绿茶", 1),
        ("I know nobody", 1),
        ("a knot in the note", 0),
    ],
)
def test_negations_are_counted(text: str, count: int) -> None:
    """R5: in several languages."""
    assert count_negations(text) == count


def test_number_words() -> None:
    """O10: one table for dates, questions and summaries."""
    assert NUMBER_WORDS["zero"] == 0
    assert NUMBER_WORDS["twenty"] == 20
    assert NUMBER_WORDS["ninety"] == 90
    assert NUMBER_WORDS["hundred"] == 100
    assert NUMBER_WORDS["million"] == 1_000_000


def test_the_lists_of_small_words_agree_on_grammar() -> None:
    """R2: each adds what its stage can do without."""
    assert {"the", "you", "would", "with"} <= FUNCTION & STOP
    assert is_stop("i'm")
    assert not is_stop("never")


def test_a_cache_of_texts_is_bounded_by_their_characters() -> None:
    """R16: those used last stay; one that is longer than all may be is not kept."""
    read = []

    @text_cache(100)
    def length(text: str, more: str = "") -> int:
        read.append(text)
        return len(text + more)

    texts = [letter * 30 for letter in "abc"]
    assert [length(text) for text in texts] == [30, 30, 30]
    assert length(texts[0]) == 30
    assert length("d", "e" * 25) == 26
    assert read == [*texts, "d"]
    assert length(texts[0]) == 30
    assert length(texts[1]) == 30
    assert read == [*texts, "d", texts[1]]
    assert length("f" * 1_000) == 1_000
    assert length.chars <= 100
