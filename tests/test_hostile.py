"""C10, O3, O5: work is bounded by the size of its input, whatever the input is.

The soak measures every pattern on many shapes of text; `python -m bench.hostile` measures every public call, too.
What runs with every change is a sample: what once took time with the square of the text.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest
from bench import hostile

from lifelong import redaction
from lifelong.organize.rules.quotes import _runs
from lifelong.organize.rules.subjects import Utterance
from lifelong.text import changes
from lifelong.types import StoredRecord, UserMessage, utc_now

SMALL, LARGE = 4_000, 64_000
MAX_RATIO = 80.0  # of the time for 16 times the text; with the square of it, 256


@pytest.fixture(scope="module")
def calls() -> Iterator[hostile.Calls]:
    with hostile.opened() as opened:
        yield opened


def test_the_package_has_patterns_that_are_measured() -> None:
    """The gate is worth nothing where it finds nothing: patterns of modules, and those that functions make."""
    found = {one.name: one for one in hostile.patterns([changes, redaction])}
    assert len(found) > 100
    assert {"text.changes._CLAUSES", "text.changes._OWNER", "redaction.MARKER", *hostile.BOUNDED} <= found.keys()
    assert found["redaction._QUOTE"].anchored
    assert not found["redaction.MARKER"].anchored


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("text.changes._CLAUSES", "marks"),
        ("text.changes._MAIL", "a long word"),
        ("organize.support._NUMBERED", "mixed letters"),
        ("organize.fact_tools._CITED", "line ends"),
        ("journal.summarize._REPLY", "spaces"),
        ("redaction._MIXED_HINT", "labels"),
        ("text.sentences._END", "marks"),
    ],
)
def test_a_pattern_takes_time_in_proportion_to_its_text(name: str, shape: str) -> None:
    """C10: by a wide bound on what would take hundreds of times longer."""
    module = importlib.import_module(f"lifelong.{name.rpartition('.')[0]}")
    one = next(one for one in hostile.patterns([module]) if one.name == name)
    assert ratio(one.use, shape) < MAX_RATIO


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        ("add", "a named secret"),
        ("organize", "marks"),
        ("organize", "preferences"),
        ("organize", "quotations"),
        ("experiences_add", "short words"),
        ("search", "a secret before its name"),
    ],
)
def test_a_call_takes_time_in_proportion_to_its_text(calls: hostile.Calls, call: str, shape: str) -> None:
    """C10, O3: nobody's text may hold up the others."""
    texts = [hostile.SHAPES[shape](size) for size in (SMALL // 2, LARGE // 2)]
    measured = hostile.measure_call(calls, call, shape, texts, seconds=float("inf"))
    (_, small), (_, large) = measured.times
    assert large < MAX_RATIO * max(small, hostile.NOISE)


def test_sentences_that_lean_on_one_another_are_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """C10: each further sentence that is kept stops where an earlier one has been."""
    from lifelong.organize.rules import quotes

    looked: list[str] = []

    def leans(sentence: str) -> bool:
        looked.append(sentence)
        return True

    monkeypatch.setattr(quotes, "leans", leans)
    said = [f"And sentence number {n} goes on." for n in range(400)]
    recorded = StoredRecord(1, "s", utc_now(), utc_now(), UserMessage(" ".join(said)))
    utterance = Utterance(recorded, "person", "Mara", " ".join(said), heard_by_assistant=True)
    list(_runs(said, list(range(0, 400, 2)), utterance))
    assert len(looked) < 4 * len(said)


def ratio(use: hostile.Use, shape: str) -> float:
    """Return how many times longer a text takes that is sixteen times as long."""
    measured = hostile.measure("it", shape, use, [hostile.SHAPES[shape](size) for size in (SMALL, LARGE)])
    (_, small), (_, large) = measured.times
    return large / max(small, hostile.PATTERN_NOISE)


@pytest.mark.soak
def test_no_pattern_grows_faster_than_its_input() -> None:
    """C10, O3, O5: every pattern, on every shape of hostile text."""
    too_fast: list[str] = []
    figures = hostile.growth(hostile.measure_patterns(), show=too_fast.append)
    assert figures["hostile_measured"] > 10_000
    assert not too_fast, "\n".join(too_fast)
