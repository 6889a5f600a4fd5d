"""Data that judges was not fitted to, what was fitted is what is shipped, and each data set has its card."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import supersede
from bench.intents import __main__ as intents

from tests import test_rules_conflicts as conflicts
from tests import test_rules_wishes as wishes

BENCH = Path(supersede.__file__).parent


def plain(sentence: str) -> str:
    """Return the letters and digits of a sentence, so that a comma more does not make it another one."""
    return " ".join(re.findall(r"\w+", sentence.replace("'", "").lower()))


def fitted() -> Iterator[str]:
    """Every sentence that the weights of the rules are fitted to."""
    for file in sorted(BENCH.glob("judge/*/*.jsonl")):
        for line in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            for told in (line.get(key, []) for key in ("old", "new", "said", "updates", "beside")):
                yield from [told] if isinstance(told, str) else told
    for file in sorted((BENCH / "intents").glob("*.jsonl")):
        if file.stem not in intents.HELD_OUT:
            yield from (json.loads(line)["text"] for line in file.read_text(encoding="utf-8").splitlines())


@pytest.fixture(scope="module")
def seen() -> set[str]:
    return set(map(plain, fitted()))


@pytest.mark.parametrize("style", supersede.STYLES)
def test_nothing_is_fitted_to_the_pairs_that_judge_superseding(style: str, seen: set[str]) -> None:
    for pair in supersede.pairs(style):
        assert not {plain(text) for text in (pair.old, pair.new, pair.old_fact, pair.new_fact)} & seen, pair.id


@pytest.mark.parametrize("writer", intents.HELD_OUT)
def test_nothing_is_fitted_to_the_intents_that_are_held_out(writer: str, seen: set[str]) -> None:
    for line in (BENCH / "intents" / f"{writer}.jsonl").read_text(encoding="utf-8").splitlines():
        assert plain(json.loads(line)["text"]) not in seen


@pytest.mark.parametrize(
    "table",
    [conflicts.SUPERSEDES, conflicts.DIFFERENT, wishes.STANDING, wishes.FOR_NOW, wishes.NO_WISHES],
    ids=["supersedes", "different", "standing", "for now", "no wishes"],
)
def test_nothing_is_fitted_to_the_sentences_that_test_the_rules(table: str, seen: set[str]) -> None:
    said = [part for line in table.strip().splitlines() for part in line.split("|")]
    assert [text for text in said if plain(text) in seen] == []


def test_an_overlap_would_be_noticed(seen: set[str]) -> None:
    line = (BENCH / "judge" / "pairs" / "basics.jsonl").read_text(encoding="utf-8").splitlines()[0]
    assert plain(json.loads(line)["old"].rstrip(".").upper()) in seen


@pytest.mark.soak
def test_the_shipped_weights_of_intents_are_those_that_fitting_gives() -> None:
    assert intents.lines(intents.weights()) == intents.TARGET.read_text(encoding="utf-8")


def test_every_data_set_has_a_card() -> None:
    cards = set(re.findall("`.*?`", (BENCH / "DATA.md").read_text(encoding="utf-8")))
    for file in [*BENCH.rglob("*.json"), *BENCH.rglob("*.jsonl")]:
        place = file.relative_to(BENCH)
        if place.parts[0] != "results":
            assert cards & {f"`{part.as_posix()}`" for part in (place, *place.parents)}, place
