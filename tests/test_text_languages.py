"""Sentences in other languages than English are told from English ones (SPEC O10)."""

from __future__ import annotations

import pytest

from lifelong.text.languages import is_foreign


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
    """O10: by its small words or its script."""
    assert is_foreign(sentence)


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
