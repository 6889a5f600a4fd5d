"""O27, O33: a model's text is taken if it keeps enough and adds nothing; a refused one may be mended once."""

from __future__ import annotations

from datetime import date

import pytest

from lifelong.journal.model_text import (
    KeyFact,
    RefusedText,
    ask_for_text,
    find_fault,
    key_facts,
    missing_key_facts,
)

DAY = date(2026, 3, 2)
SOURCE = (
    "Ada did not sell 12 kayaks in Oslo on Monday. Ben paid €1,300 for the violin. Cleo moved to Porto yesterday. "
    "The bakery opens at 07:34. Dan is allergic to nuts and never eats them."
)
GOOD = "Ada did not sell 12 kayaks in Oslo. Ben paid 1300 euros for it. Cleo moved to Porto. Dan eats no nuts."


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (GOOD, ""),
        (f"### 2026-03-02\n- {GOOD}\n- On 1 March 2026, a Sunday, Cleo moved to Porto.", ""),
        ("", "empty"),
        (GOOD * 3, "at most 260 fit"),
        (GOOD + " Ben sold 99 kayaks.", "nowhere in the text: 99"),
        (GOOD + " They told Zoltan, too.", "nowhere in the text: zoltan"),
        (GOOD + " It was 2026-04-09.", "nowhere in the text: 2026-04-09"),
        (GOOD + " It was in August.", "nowhere in the text: august"),
        ("I'm afraid that summarizing conversations violates guidelines, please rephrase.", "other things"),
        ("Ada sells kayaks, Ben a violin.", "lacks"),
        ("ghp_" + "a1B2c3D4e5F6" * 3, "secret"),
    ],
)
def test_what_a_text_is_refused_for(answer: str, fault: str) -> None:
    """O27, S4: too long, about something else, key facts lost, something made up. The days of the records, which
    the prompt asks for, are not made up."""
    found = find_fault(SOURCE, answer, 260, days=[DAY])
    assert fault in found
    assert bool(found) is bool(fault)


@pytest.mark.parametrize(
    ("source", "answer"),
    [
        (
            "Ich wohne jetzt in Lissabon. Der Vermieter will 1.150 Euro Miete. Die Katze heißt Keks.",
            "In Lissabon beträgt die Monatsmiete 1150 Euro, und die Katze ist der Keks.",
        ),
        (
            "Ana se mudó a Lisboa el 4 de mayo. No come carne.",
            "Ana no come carne y vive en Lisboa desde el 4 de mayo.",
        ),
        ("会議は5月4日の15時からです。玛拉不来。", "会議は5月4日の15時からです。玛拉不来。"),
    ],
)
def test_other_languages(source: str, answer: str) -> None:
    """O27: where all nouns have capital letters, a new noun is not a new name."""
    assert find_fault(source, answer, 200) == ""


def test_a_refused_text_is_mended_once() -> None:
    """O27: the second prompt is the first, what was answered, and what is wrong with it."""
    prompts: list[str] = []

    def query(prompt: str) -> str:
        prompts.append(prompt)
        return GOOD if "99" in prompt else f"{GOOD} Ben sold 99 kayaks."

    answer, lacks = ask_for_text(query, "Summarize {this}:", SOURCE, 260, days=[DAY])
    assert answer == GOOD
    assert "07:34" in lacks
    assert len(prompts) == 2
    assert prompts[1].startswith("Summarize {this}:")
    assert f"{GOOD} Ben sold 99 kayaks." in prompts[1]
    assert "nowhere in the text: 99" in prompts[1]


def test_a_text_that_is_refused_twice_is_not_used() -> None:
    """O27"""
    asked: list[str] = []

    def query(prompt: str) -> str:
        asked.append(prompt)
        return "Ada sells kayaks, Ben a violin."

    with pytest.raises(RefusedText, match=r"lacks \d+ of the \d+ numbers, names, dates and negations: .*oslo"):
        ask_for_text(query, "Summarize:", SOURCE, 260)
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Caroline: moved four years ago.", {("name", "caroline"), ("number", "4")}),
        ("We met Anna on 7 May 2023.", {("name", "anna"), ("number", "7"), ("date", "may"), ("number", "2023")}),
        ("It may rain on 2026-03-05.", {("date", "2026-03-05")}),
        ("He can't swim, and never dives.", {("negation", "not swim"), ("negation", "not dives")}),
        ("Paid $1,200.50 for v2.3.1.", {("number", "$1,200.50"), ("number", "v2.3.1")}),
        ("Dr. Smith has 2 cats.", {("name", "smith"), ("number", "2")}),
        ("Nothing new today", {("negation", "not new")}),
        ("They like old trains.", set()),
        ("她不喜欢猫。", {("negation", "not 她不喜欢猫")}),
    ],
)
def test_key_facts(text: str, found: set[tuple[str, str]]) -> None:
    """O27: numbers, names, dates and negations."""
    assert {tuple(fact) for fact in key_facts(text)} >= found
    assert len(key_facts(text)) <= len(found) + 1


def test_missing_names_what_was_lost() -> None:
    """O27: the loss guard sees a lost number, name and negation, not another order or spelling."""
    text = "Caroline: I don't eat meat. We moved to Sweden four years ago."
    assert missing_key_facts(text, "Sweden: moved 4 years ago. Caroline: doesn't eat meat.") == frozenset()
    assert missing_key_facts(text, "Caroline: eats meat; moved years ago.") == {
        KeyFact("negation", "not eat"),
        KeyFact("name", "sweden"),
        KeyFact("number", "4"),
    }
