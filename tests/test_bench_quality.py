"""What `make bench PART=quality` and `PART=recall` measure with: each measure can be seen to pass and to fail."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from bench import haystacks, lookups, quality, scoring
from bench.answering import full_text, fused, told, vectors
from bench.goals import Goal, plain
from bench.haystacks import Asked, Haystack, Said, Sitting
from bench.pruning import together
from bench.speech import Speech

ITEM: dict[str, Any] = {
    "question_id": "q1",
    "question": "What is my dog called?",
    "question_date": "2023/05/30 (Tue) 22:53",
    "answer_session_ids": ["dog"],
    "haystack_dates": ["2023/05/21 (Sun) 10:00", "2023/05/20 (Sat) 02:21"],
    "haystack_session_ids": ["cake", "dog"],
    "haystack_sessions": [
        [{"role": "user", "content": "How do I bake a cake?", "has_answer": True}],
        [
            {"role": "user", "content": "My dog Rex barks at night.", "has_answer": True},
            {"role": "assistant", "content": "Try a longer walk."},
        ],
    ],
}
AT = datetime(2023, 5, 20, 2, 21, tzinfo=UTC)


@pytest.fixture
def chats(tmp_path: Path) -> Haystack:
    items = [ITEM, ITEM | {"question_id": "q2_abs"}]
    (tmp_path / "longmemeval_s.json").write_text(json.dumps(items))
    (one,) = haystacks.from_longmemeval(tmp_path)
    return one


def test_longmemeval_is_in_order_and_knows_the_turns_that_answer(chats: Haystack) -> None:
    assert [sitting.session for sitting in chats.sittings] == ["dog", "cake"]
    assert chats.sittings[0].at == AT
    (asked,) = chats.questions
    assert asked.turns == {"0:0"}
    assert asked.sessions == {"dog"}


def test_without_longmemeval_it_says_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="Set LIFELONG_BENCH_DATA"):
        next(haystacks.from_longmemeval(tmp_path))


def test_measures() -> None:
    sessions = {str(number): f"s{number}" for number in range(20)}
    ranked = [str(number) for number in range(20)]
    asked = Asked("?", frozenset({"1", "6", "19"}), frozenset({"s1", "s6"}))
    row = scoring.score(asked, ranked, sessions)
    assert row["turn_r5"] == pytest.approx(1 / 3)
    assert row["turn_r10"] == pytest.approx(2 / 3)
    assert row["turn_mrr"] == 0.5
    assert (row["session_any5"], row["session_all5"]) == (1, 0)
    assert scoring.score(asked, [], sessions)["turn_mrr"] == 0
    assert scoring.means([row, scoring.score(asked, [], sessions)])["session_any5"] == 50


@pytest.mark.parametrize("answering", [full_text, vectors, fused])
def test_the_others_find_the_obvious(chats: Haystack, answering: Any) -> None:
    assert answering(chats)(chats.questions[0])[0] == "0:0"


def test_the_product_is_told_and_asked(chats: Haystack, tmp_path: Path) -> None:
    figures = quality.asked([told(tmp_path / "home", chats)])
    assert figures["turn_r5"] == figures["session_any5"] == 100


def test_the_same_talk_is_put_together_once() -> None:
    sitting = Sitting("s", AT, (Said("0:0", "user", "My dog is called Rex."),))
    asked = Asked("What is my dog called?", frozenset({"0:0"}), frozenset({"s"}))
    one = together([Haystack(name, (sitting,), (asked,)) for name in "ab"])
    assert len(one.sittings) == 1
    assert [question.turns for question in one.questions] == [{"a/0:0"}] * 2


def test_speech_is_the_same_for_the_same_seed_and_asks_about_what_was_said() -> None:
    first, second = (list(islice(Speech(3).turns(), 50)) for _ in range(2))
    assert first == second != list(islice(Speech(4).turns(), 50))
    assert Speech(3).question(first[0]) != Speech(3).question(first[1])


def test_goals() -> None:
    assert Goal("", "≤", 2).met(2)
    assert not Goal("", "≥", 2).met(1.9)
    assert (plain(1234.5), plain(1.234)) == ("1,234", "1.23")


def test_lookups_are_the_rarest_words_of_what_each_said(chats: Haystack) -> None:
    drawn = list(lookups.draw(chats, 10))
    assert drawn == list(lookups.draw(chats, 10))
    said = {turn.id: turn for sitting in chats.sittings for turn in sitting.turns}
    assert {id_ for one in drawn for id_ in one.turns} == set(said)
    for one in drawn:
        assert 1 <= len(one.query.split()) <= 2
        assert all(word in said[id_].text.lower() for id_ in one.turns for word in one.query.split())
        assert {said[id_].speaker == "assistant" for id_ in one.turns} == {one.by_assistant}


def test_lookups_are_counted_by_who_said_it_beside_full_text(chats: Haystack) -> None:
    drawn = list(lookups.draw(chats, 10))
    figures = lookups.shares(
        lookups.asked(drawn, full_text(chats), "fts5_") + lookups.asked(drawn, lambda asked: [], "")
    )
    assert figures == {
        f"{who}lookup_{measure}": 100 if who else 0
        for who in ("fts5_", "")
        for measure in ("user_top1", "assistant_top1", "top5")
    }
    _, goals, _ = lookups.judged(figures)
    assert [goal.met(figures[measure]) for measure, goal in goals.items()] == [False] * 3
