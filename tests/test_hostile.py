"""C10, O3, O5: work is bounded by the size of its input, whatever the input is.

The soak measures every pattern on many shapes of text; `python -m bench.hostile` measures every public call, too.
What runs with every change is a sample: what once took time with the square of the text.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator

import pytest
from bench import hostile

from lifelong import Memory, redaction
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


def test_an_edit_takes_time_in_proportion_to_what_its_document_cites(memory: Memory) -> None:
    """C10: by a wide bound; with the square of it, 256 times longer."""

    def edited(citations: int) -> float:
        records = ", ".join(f"r{number + 1}" for number in range(citations))
        page = memory.documents.write(slug=f"page-{citations}", title="Page", body=f"It was said. [{records}]")
        started = time.process_time()
        memory.documents.edit(page.id, page.version, append="I live in Lisbon.")
        return time.process_time() - started

    edited(10)  # imports, caches
    small, large = edited(1_500), edited(24_000)
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


def test_a_list_of_secrets_is_withheld_after_the_first_thousand(memory: Memory) -> None:
    """C10, S4, O6: looking for secrets has a budget; what exceeds it is not stored, and its receipt says so."""
    text = "The list: " + "hunter2 is my password. " * 5_000 + "I live in Lisbon."
    [record] = memory.add(text)
    [kept] = memory.sessions.history(memory.agent())
    assert isinstance(kept.record, UserMessage)
    stored = kept.record.text
    withheld, _ = redaction.withheld(stored)
    assert 90_000 < withheld < len(text)
    assert "hunter2" not in stored
    assert stored.startswith("The list: [secret: password] is my password. ")
    assert memory.receipt(record).notes[0] == (
        f"Its last {withheld:,} characters are not stored: 1,000 secrets came before them."
    )
    assert redaction.find_secrets(stored) == redaction.Redacted(stored, ())


def test_a_text_of_nothing_but_names_of_secrets_is_withheld_after_many() -> None:
    """C10: each name takes a look around it, also where no secret is found."""
    text = "password is " * 30_000
    safe = redaction.redact(text)
    assert redaction.withheld(safe) == (len(text) - 12 * 20_000, "20,000 names of secrets")
    assert safe.startswith("password is password is ")
    assert redaction.redact(safe) == safe


def test_a_long_text_with_few_secrets_keeps_everything_else() -> None:
    """S4: the budget is one of secrets, not of text; those far apart are all found."""
    filler = "The weather was fine and nobody said much about it. " * 2_000
    text = f"{filler}my password is hunter2. {filler}AKIAIOSFODNN7EXAMPLQ {filler}"
    safe = redaction.find_secrets(text)
    assert safe.found == ("password", "AWS key")
    assert safe.text == f"{filler}my password is [secret: password]. {filler}[secret: AWS key] {filler}"


@pytest.mark.parametrize("size", [100, 200_000])
def test_what_a_marker_brings_together_is_found_in_a_text_of_any_length(size: int) -> None:
    """S4: a name and its value may come near each other once what stood between them is replaced."""
    filler = "The weather was fine. " * (size // 22)
    text = f"{filler}password: {'A1b' * 60} hunter2x9 and so on. {filler}"
    assert redaction.redact(redaction.redact(text)) == redaction.redact(text)


def test_a_record_is_searched_for_secrets_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """C10: in a long text that takes longer than all the rest."""
    from lifelong.collect import history

    looked: list[str] = []

    def redact(text: str) -> str:
        looked.append(text)
        return text

    monkeypatch.setattr(history, "redact", redact)
    memory.add("I live in Lisbon.")
    assert looked == ["I live in Lisbon."]


def test_only_the_start_of_a_long_question_is_read(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """C10, O3: what exceeds what a search reads is not searched for secrets either."""
    looked: list[int] = []
    find_secrets = redaction.find_secrets

    def find(text: str) -> redaction.Redacted:
        looked.append(len(text))
        return find_secrets(text)

    memory.add("I live in Lisbon.")
    monkeypatch.setattr(redaction, "find_secrets", find)
    question = "Where do I live? " + "hunter2 is my password " * 40_000
    assert memory.search(question)[0].text == "I live in Lisbon."
    memory.context(question)
    memory.admin.recall_log()
    assert max(looked) < 20_000


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
