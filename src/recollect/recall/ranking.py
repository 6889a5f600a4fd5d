"""How well an item answers a question: a weighted sum of parts, each between about 0 and 1.

    vector    how near the item is to the question in meaning
    thread    how near all of its thread is: the session, the document
    previous  how near the item before it is: a reply is about what it replies to
    words     the share of the question's words, rare ones counting more, that it or in part its neighbours hold
    subject   it was said by the one the question is about: the person it names; else the user, or the assistant
              where the question asks what that said
    tells     it speaks in the first person
    answer    it holds the kind of thing asked for: a number, a time, a name
    when      it was said in, or soon after, the time the question speaks of
    nudge     what people thought of it
    ended     it has stopped being true, and is a claim: below those that hold
    data      it came from a tool or from the web

The first four say what an item is about. `answer` and `when` count only as far as an item is about the question at
all: in proportion to those four, in full from the tenth best on. The sum is made twice: the second time with the
question's vector moved towards the three best items of the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recollect.recall.question import Question
from recollect.recall.shelf import NEVER, NOBODY, Numbers, Places, View
from recollect.recall.words import ASSISTANT, PERSON, TELLS
from recollect.types import ITEM_KINDS, micros

WEIGHTS: Mapping[str, float] = {
    "vector": 5.0,
    "thread": 3.0,
    "previous": 1.5,
    "words": 4.0,
    "subject": 4.0,
    "tells": 0.5,
    "answer": 1.5,
    "when": 2.0,
    "nudge": 1.0,
    "ended": -3.0,
    "data": -0.5,
}
TOPICAL = ("vector", "thread", "previous", "words")
GATED = ("answer", "when")

LENT_NEAR = 1.0  # how much of its words an item lends to the one beside it
LENT_FAR = 0.5  # and to the one two away
SHRINK = 1.0  # an item of this many content words keeps half of its similarity
AFTER_DAYS = 30.0  # an event is told within about this time after it
FEEDBACK = 0.6  # how far the question's vector moves
FEEDBACK_FROM = 3  # towards this many of the best
FULLY = 10  # the one that is this well placed by topic is fully about the question
FLOOR = 0.1  # what holds no word of the question, nor stands beside one that does, must be this near to be found
DAY = 86_400_000_000  # microseconds

_TURN = ITEM_KINDS.index("turn")
_DATA = (2, 3)  # of the trusts of a shelf: tool and web


@dataclass(frozen=True, slots=True)
class Ranked:
    """Places, best first, with their scores and what these are made of."""

    places: Places
    scores: Numbers
    parts: Mapping[str, Numbers]

    def explain(self, at: int) -> dict[str, float]:
        return {name: round(float(part[at]), 3) for name, part in self.parts.items() if part[at]}


def rank(view: View, question: Question, query: Numbers, places: Places, now: int) -> Ranked:
    """The places by how well they answer the question; `query` is its vector, centred, or zeros."""
    fixed = _fixed(view, question, places, now)
    scores, parts = _sum(view, places, query, fixed)
    if len(places) and query.any():
        best = np.argsort(-scores, kind="stable")[:FEEDBACK_FROM]
        towards = (view.vectors(places[best]) * view.about["share"][places[best], None]).mean(axis=0)
        moved = query + FEEDBACK * towards / (np.linalg.norm(towards) + 1e-9)
        scores, parts = _sum(view, places, (moved / np.linalg.norm(moved)).astype(np.float32), fixed)
    scores = _below_successor(view, places, scores)
    order = np.argsort(-scores, kind="stable")
    order = order[((parts["words"] > 0) | (parts["vector"] > WEIGHTS["vector"] * FLOOR))[order]]
    return Ranked(places[order], scores[order], {name: part[order] for name, part in parts.items()})


def _sum(
    view: View, places: Places, query: Numbers, fixed: dict[str, Numbers]
) -> tuple[Numbers, dict[str, Numbers]]:
    parts = {name: WEIGHTS[name] * part for name, part in (_near(view, places, query) | fixed).items()}
    about = sum(parts[name] for name in TOPICAL)
    assert isinstance(about, np.ndarray)
    if len(places):
        nth = min(FULLY, len(places))
        full = max(float(np.partition(about, -nth)[-nth]), 1e-9)
        for name in GATED:
            parts[name] = parts[name] * np.clip(about / full, 0, 1)
    return np.asarray(sum(parts.values()), np.float32), parts


def _near(view: View, places: Places, query: Numbers) -> dict[str, Numbers]:
    before = view.about["before"][places].astype(np.intp)
    return {
        "vector": view.similarity(places, query) * _kept(view, places),
        "thread": view.thread_similarity(places, query),
        "previous": view.similarity(before, query) * _kept(view, before) * view.about["lends"][before],
    }


def _kept(view: View, places: Places) -> Numbers:
    lengths = view.about["length"][places]
    return np.asarray(lengths / (lengths + SHRINK), np.float32)


def _fixed(view: View, question: Question, places: Places, now: int) -> dict[str, Numbers]:
    """The parts that do not depend on the question's vector."""
    about = view.about[places]
    return {
        "words": _words(view, question, places),
        "subject": _subject(view, question, places),
        "tells": _flag(about["flags"] & TELLS),
        "answer": _flag(about["flags"] & question.wants),
        "when": _when(question, about["at"]),
        "nudge": about["nudge"],
        "ended": _flag((about["until"] <= now) & (about["kind"] != _TURN)),
        "data": _flag(np.isin(about["trust"], _DATA)),
    }


def _flag(values: NDArray[np.generic]) -> Numbers:
    return np.asarray(values != 0, np.float32)


def _words(view: View, question: Question, places: Places) -> Numbers:
    """Own words in full, those of neighbours as far as they lend."""
    weights: dict[int, float] = {}
    for stem, weight in question.words.values():
        if view.count(stem):
            weights[stem] = max(weights.get(stem, 0.0), weight)
    if not weights or not len(places):
        return np.zeros(len(places), np.float32)
    idf = np.array([weight * rarity(view, stem) for stem, weight in weights.items()], np.float32)
    before, after = (view.about[side][places].astype(np.intp) for side in ("before", "after"))
    rings = (
        *((before, LENT_NEAR), (after, LENT_NEAR)),
        *((np.where(before >= 0, view.about["before"][before], NOBODY), LENT_FAR),),
        *((np.where(after >= 0, view.about["after"][after], NOBODY), LENT_FAR),),
    )
    every, back = np.unique(np.concatenate([places, *(ring for ring, _ in rings)]), return_inverse=True)
    table = view.holds(np.maximum(every, 0), list(weights)).astype(np.float32)
    table[every < 0] = 0
    lent = table * view.about["lends"][every][:, None]
    rows = back.reshape(-1, len(places))
    got = table[rows[0]]
    for row, (_, share) in zip(rows[1:], rings, strict=True):
        got = np.maximum(got, share * lent[row])
    return np.asarray(got @ idf / (idf.sum() + 1e-9), np.float32)


def rarity(view: View, stem: int) -> float:
    count = view.count(stem)
    return float(np.log(1 + (view.size - count + 0.5) / (count + 0.5)))


def _subject(view: View, question: Question, places: Places) -> Numbers:
    if question.people and view.has_speakers_besides(question.people):
        return view.said_by(places, question.people).astype(np.float32)
    if question.people or not view.has_assistant:
        return np.zeros(len(places), np.float32)
    return _flag(view.about["flags"][places] & (ASSISTANT if question.of_assistant else PERSON))


def _when(question: Question, at: NDArray[np.int64]) -> Numbers:
    """1 within the time, and less and less after it."""
    if not question.period:
        return np.zeros(len(at), np.float32)
    start, end = (micros(edge) for edge in question.period)
    late = np.clip(1 - (at - end - DAY) / (AFTER_DAYS * DAY), 0, 1)
    return np.where(at < start - DAY, 0, late).astype(np.float32)


def _below_successor(view: View, places: Places, scores: Numbers) -> Numbers:
    """What a record here says has ended, stands below that record."""
    about = view.about[places]
    if not ((about["until"] != NEVER) & (about["by"] != 0)).any():
        return scores
    said = {
        int(record): at
        for at, (record, kind) in enumerate(zip(about["record"], about["kind"], strict=True))
        if kind == _TURN
    }
    lowered = scores.copy()
    for at in np.flatnonzero((about["until"] != NEVER) & (about["by"] != 0)):
        newer = said.get(int(about["by"][at]))
        if newer is not None:
            lowered[at] = min(lowered[at], lowered[newer] - 1e-3)
    return lowered
