"""Sentences in other languages than English are told from English ones (SPEC O10)."""

from __future__ import annotations

import pytest

from lifelong.text.languages import is_foreign, is_foreign_standing_request, is_worth_keeping


@pytest.mark.parametrize(
    "sentence",
    [
        "Ich wohne seit März in Köln und habe eine Katze.",
        "Vivo en Sevilla y tengo dos hijos.",
        "J'habite à Lyon avec mon frère.",
        "Moro em Lisboa com a minha irmã.",
        "Abito a Roma e ho due gatti.",
        "Ik woon in Utrecht met mijn zus.",
        "我住在柏林,有两只猫",
        "Я живу в Берлине",
    ],
)
def test_another_language_is_known(sentence: str) -> None:
    """O10: by its small words or its script; and what people say of themselves is enough to keep."""
    assert is_foreign(sentence)
    assert is_worth_keeping(sentence, to_assistant=True)


@pytest.mark.parametrize(
    "sentence",
    [
        "I live in Berlin and have a cat.",
        "La La Land was great.",
        "We ate at El Bulli in Las Vegas.",
        "She moved to São Paulo with her cousin.",
        "",
    ],
)
def test_english_is_not_foreign(sentence: str) -> None:
    """O10: also where it has foreign names."""
    assert not is_foreign(sentence)


def test_what_says_little_is_not_kept() -> None:
    """O10: to an assistant, more must be said than a request."""
    assert not is_worth_keeping("Danke, hallo!", to_assistant=False)
    assert not is_worth_keeping("Welche Museen gibt es dort heute?", to_assistant=True)
    assert not is_worth_keeping("你好", to_assistant=True)


def test_a_lasting_request_is_told_from_a_habit() -> None:
    """O10: "always answer in German" is a request, "I always get up early" is not."""
    assert is_foreign_standing_request("Antworte bitte immer auf Deutsch.")
    assert is_foreign_standing_request("Responde siempre en español.")
    assert is_foreign_standing_request("Je voudrais toujours une réponse courte.")
    assert not is_foreign_standing_request("Ich stehe immer früh auf.")
    assert not is_foreign_standing_request("Heute regnet es.")
