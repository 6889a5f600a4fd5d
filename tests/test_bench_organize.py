"""What `make bench PART=organize` measures with: each measure can be seen to pass and to fail."""

from __future__ import annotations

import gzip
import json
import math
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from bench import cli as command_line
from bench import growth, knowledge, locomo, organize, supersede
from bench.knowledge import Organized
from bench.locomo import Conversation, Question, Sitting, Turn
from bench.smalltalk import is_small_talk

from lifelong import Memory
from lifelong.organize.facts import Fact

SAMPLE: dict[str, Any] = {
    "sample_id": "talk-1",
    "conversation": {
        "speaker_a": "Ann",
        "session_2_date_time": "9:05 am on 3 June, 2023",
        "session_2": [{"speaker": "Bob", "dia_id": "D2:1", "text": "I sold the boat."}],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a red kite"},
            {"speaker": "Bob", "dia_id": "D1:2", "text": "Nice."},
        ],
    },
    "qa": [
        {"category": 1, "evidence": ["D1:1; D2:1", "D9:9"]},
        {"category": 5, "evidence": ["D1:2"]},
        {"category": 3},
    ],
}


def talk(
    *facts: Fact,
    turns: tuple[str, ...] = ("I keep bees in Ghent.",),
    evidence: tuple[int, ...] = (1,),
    chars: int = 0,
) -> Organized:
    """Turns that are records 1, 2 …; those of the evidence by the same numbers."""
    said = {number: Turn(f"D1:{number}", "Ann", text) for number, text in enumerate(turns, 1)}
    return Organized(frozenset(f"D1:{number}" for number in evidence), said, facts, chars, 2 * chars)


# The data


@pytest.mark.parametrize("name", ["locomo_dev.json.gz", "locomo10.json"])
def test_loads_sessions_in_order_and_the_evidence_of_questions_with_an_answer(tmp_path: Path, name: str) -> None:
    raw = json.dumps([SAMPLE]).encode()
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    (loaded,) = locomo.load(tmp_path)
    assert [sitting.at for sitting in loaded.sittings] == [
        datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
        datetime(2023, 6, 3, 9, 5, tzinfo=UTC),
    ]
    assert [turn.text for turn in loaded.turns] == [
        "Look! [shared image: a red kite]",
        "Nice.",
        "I sold the boat.",
    ]
    assert loaded.evidence == {"D1:1", "D2:1"}


def test_images_can_be_left_out() -> None:
    assert next(locomo.conversation(SAMPLE, captions=False).turns).text == "Look!"


def test_without_data_it_says_where_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIFELONG_BENCH_DATA", str(tmp_path))
    assert locomo.data_folder() is None
    with pytest.raises(FileNotFoundError, match="Set LIFELONG_BENCH_DATA"):
        locomo.load(tmp_path)


# What is kept


@pytest.mark.parametrize(
    ("fact", "covers"),
    [
        (Fact("Keeps bees.", (1,)), True),
        (Fact("Keeps bees.", (1,), until="2026-01-01", by=2), True),
        (Fact("Keeps bees.", (1, 2, 3)), True),
        (Fact("Keeps bees.", (1, 2, 3, 4)), False),
        (Fact("Keeps bees.", (2,)), False),
        (Fact("Has a hobby.", (1,)), False),
    ],
)
def test_covers_what_is_cited_and_held(fact: Fact, covers: bool) -> None:
    assert knowledge.coverage([talk(fact)]) == 100 * covers


def test_a_third_of_the_content_words_is_enough_and_less_is_not() -> None:
    turn = "My sister paints boats, barns, bridges and castles"  # six words but for "my" and "and"
    assert knowledge.content_words(turn) == {"sister", "paints", "boats", "barns", "bridges", "castles"}
    assert knowledge.holds("Her sister paints.", turn)
    assert not knowledge.holds("Has a sister and this and that.", turn)


def test_coverage_counts_each_evidence_turn_once_over_all_talks() -> None:
    kept = Fact("Keeps bees.", (1,))
    assert knowledge.coverage([talk(kept, kept), talk()]) == 50


def test_size_is_what_stands_in_documents_over_what_was_said() -> None:
    talks = [talk(turns=("x" * 60, "y" * 40), chars=25), talk(turns=("z" * 100,), chars=75)]
    assert knowledge.size(talks) == 50
    assert knowledge.size_over_transcript(talks) == 50


def test_junk_is_a_fact_that_cites_only_small_talk() -> None:
    turns = ("Hey Ann! How are you?", "Thanks, I work nights now.")
    assert knowledge.junk([talk(Fact("Is well.", (1,)), Fact("Works nights.", (1, 2)), turns=turns)]) == 50


def test_duplicates_are_current_facts_in_almost_the_same_words() -> None:
    one, twin = Fact("Keeps two hives of bees.", (1,)), Fact("Keeps the two hives of bees", (2,))
    other, brief = Fact("Sold two hives of honey.", (3,)), Fact("Keeps bees.", (4,))
    assert knowledge.duplicates([talk(one, twin, other, brief, brief)]) == 40
    assert knowledge.duplicates([talk(one, Fact(one.text, (2,), until="2026-01-01"), other)]) == 0


def test_coverage_between_two_points_of_the_curve() -> None:
    points = [(50.0, 90.0), (10.0, 30.0), (30.0, 70.0)]
    assert knowledge.at_size(points, 20) == 50
    assert knowledge.at_size(points, 30) == 70
    assert knowledge.at_size(points, 60) is None


# Small talk


@pytest.mark.parametrize(
    "text",
    [
        "Hey Ann! Good to see you! How have you been?",
        "Thanks so much!",
        "Wow, that\N{RIGHT SINGLE QUOTATION MARK}s cool, Ann! What happened?",
        "Did you sell the boat to your brother in Ghent?",
        "Totally agree. Have a great weekend, bye!",
        "I'm so happy for you!",
        ";)",
    ],
)
def test_small_talk(text: str) -> None:
    assert is_small_talk(text, {"Ann", "Bob"})


@pytest.mark.parametrize(
    "text",
    [
        "Thanks! I moved to Ghent.",
        "Hey Bob! My sister had a baby. How are you?",
        "I just got back from Ghent, have you ever been there?",
        "Great to hear that you adopted a dog!",
        "Wow! [shared image: a red kite]",
        "Vegetarian.",
    ],
)
def test_no_small_talk(text: str) -> None:
    assert not is_small_talk(text, {"Ann", "Bob"})


# Superseding

OLD, NEW = 1, 2
ENDED = Fact("Lives in Porto.", (OLD,), until="2025-04-07", by=NEW)
STANDS = Fact("Lives in Porto.", (OLD,))
FRESH = Fact("Lives in Lyon.", (NEW,))
BOTH = Fact("Lives in Porto.", (OLD, NEW))


def pair(expect: Any, kind: str = "moved") -> supersede.Pair:
    return supersede.Pair("p-1", kind, "Ann", "old", "new", "old", "new", expect)


@pytest.mark.parametrize(
    ("expect", "kind", "after", "right"),
    [
        ("supersedes", "moved", [ENDED, FRESH], True),
        ("supersedes", "moved", [BOTH], True),
        ("supersedes", "moved", [STANDS, FRESH], False),
        ("supersedes", "moved", [ENDED], False),
        ("different", "two_likes", [STANDS, FRESH], True),
        ("different", "two_likes", [STANDS], True),
        ("different", "two_likes", [ENDED, FRESH], False),
        ("different", "two_likes", [FRESH], False),
        ("different", "restated", [BOTH], True),
        ("different", "restated", [STANDS, FRESH], True),
        ("different", "restated", [STANDS], False),
    ],
)
def test_what_is_right_for_a_pair(expect: str, kind: str, after: list[Fact], right: bool) -> None:
    assert (supersede.wrong(pair(expect, kind), OLD, NEW, [STANDS], after) == "") is right


@pytest.mark.parametrize("expect", ["supersedes", "different"])
def test_a_pair_of_which_nothing_was_kept_is_wrong(expect: str) -> None:
    assert supersede.wrong(pair(expect), OLD, NEW, [], [FRESH]) == supersede.NOT_KEPT


def test_shares_are_of_the_pairs_that_expect_the_same() -> None:
    results = [
        supersede.Result(pair("supersedes"), ""),
        supersede.Result(pair("supersedes"), "the older is still current"),
        supersede.Result(pair("different"), ""),
    ]
    assert supersede.share_right(results, "supersedes") == 50
    assert supersede.share_right(results, "different") == 100


@pytest.mark.parametrize("style", supersede.STYLES)
def test_there_are_enough_pairs_of_each_sort_and_no_two_are_the_same(style: str) -> None:
    found = supersede.pairs(style)
    for expect in ("supersedes", "different"):
        assert sum(pair.expect == expect for pair in found) >= 60
    assert len({pair.id for pair in found}) == len({(pair.old, pair.new) for pair in found}) == len(found)


# The whole


def test_a_conversation_goes_through_the_product() -> None:
    """Its turns are organized, cited by their records, and counted."""
    said = (
        Turn("D1:1", "Ann", "Hey Bob! How are you?"),
        Turn("D1:2", "Bob", "I moved to Ghent in March because my sister works at the hospital there."),
        Turn("D1:3", "Ann", "Wow, that's great!"),
    )
    sitting = Sitting(datetime(2023, 5, 8, 13, 56, tzinfo=UTC), said)
    asked = Question("Which?", frozenset({"D1:2"}))
    run = organize.organized([Conversation("talk-1", (sitting,), (asked,))])
    assert knowledge.coverage(run.talks) == 100
    assert knowledge.junk(run.talks) == 0
    assert 0 < knowledge.size_over_transcript(run.talks) < knowledge.size(run.talks)
    assert run.seconds > 0


def test_made_up_turns_hardly_repeat_and_are_the_same_each_time() -> None:
    made = list(islice(growth.turns(1), 2_000))
    assert made == list(islice(growth.turns(1), 2_000))
    assert len(set(made)) > 0.8 * len(made)


def test_embeds_by_the_mean_of_the_tokens() -> None:
    pytest.importorskip("wordllama")
    from bench.embedder import Embedder

    one, again, other, nothing = Embedder().embed(["a red kite", "a red kite", "tax law", ""])
    assert math.isclose(float(one @ one), 1, rel_tol=1e-4)
    assert math.isclose(float(one @ again), 1, rel_tol=1e-4)
    assert float(one @ other) < 0.8
    assert not nothing.any()


def test_the_command_line_is_measured_on_a_home_that_is_organized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of few records here: what matters is that the commands of the benchmark are those there are."""
    monkeypatch.setattr(command_line, "RECORDS", 5)
    command_line.fill(str(tmp_path / "home"))
    with Memory.open(tmp_path / "home") as memory:
        assert len(memory.list("record")) == 5
        assert memory.inbox.counts() == {"done": 1}
