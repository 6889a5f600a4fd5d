"""How well the turns that answer a question stand in a ranking; see `quality` for what the measures say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from bench.answering import Answers
from bench.goals import Figures
from bench.haystacks import Asked, Haystack

MEASURES = ("turn_r5", "turn_r10", "turn_mrr", "session_any5", "session_all5")


def means(rows: Sequence[Mapping[str, float]]) -> Figures:
    """Of each measure, in per cent, over the questions that have it."""
    return {measure: 100 * fmean(row[measure] for row in rows if measure in row) for measure in MEASURES}


def scores(haystack: Haystack, answers: Answers) -> list[dict[str, float]]:
    sessions = haystack.session_of
    return [score(question, answers(question), sessions) for question in haystack.questions]


def score(question: Asked, ranked: Sequence[str], session_of: Mapping[str, str]) -> dict[str, float]:
    """Of one question. Where no turn is known to answer it, only sessions count."""
    first = {*list(dict.fromkeys(session_of[id_] for id_ in ranked))[:5]}
    row = {
        "session_any5": float(bool(question.sessions & first)),
        "session_all5": float(question.sessions <= first),
    }
    if question.turns:
        places = [place for place, id_ in enumerate(ranked, 1) if id_ in question.turns]
        for depth in (5, 10):
            row[f"turn_r{depth}"] = sum(place <= depth for place in places) / len(question.turns)
        row["turn_mrr"] = 1 / places[0] if places else 0.0
    return row
