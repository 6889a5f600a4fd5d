"""How well an item answers a question: a weighted sum of parts, each between about 0 and 1.

    vector    how near the item is to the question in meaning
    thread    how near all of its container is: the session, document or file
    previous  how near what somebody else said before it is: a reply is about what it replies to
    words     the share of the question's words, rare ones counting more, that it or in part its neighbours hold
    subject   it was said by the person that the question names; else by the user, or by the assistant where the
              question asks what that said. Where it asks who somebody is, it names them, or is by them
    tells     it is in the first person
    answer    it holds what is asked for: a number, a time, a name
    when      it was said in, or soon after, the time the question speaks of
    feedback  what people said of it
    ended     it has stopped being true, and is not a record
    data      it came from a tool or from the web
    asks      it is itself a question, and says nothing else

The first four say what an item is about. `answer` and `when` count only as far as an item is about the question at
all: in proportion to those four, in full from the tenth best on. The sum is made twice: the second time with the
question's vector moved towards the three best items of the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lifelong.recall.analyzer import ASSISTANT, IN_FIRST_PERSON, IS_QUESTION, PERSON
from lifelong.recall.query import ParsedQuery
from lifelong.recall.ram_index import NEVER, NO_ROW, IndexView, Numbers, Rows, Surroundings, distinct
from lifelong.text.time_ranges import Period
from lifelong.types import ITEM_KINDS, PROVENANCES, to_micros

WEIGHTS: Mapping[str, float] = {
    "vector": 5.0,
    "thread": 3.0,
    "previous": 1.5,
    "words": 4.0,
    "subject": 4.0,
    "tells": 0.5,
    "answer": 1.5,
    "when": 2.0,
    "feedback": 1.0,
    "ended": -3.0,
    "data": -0.5,
    "asks": -1.0,
}
_ROW = {name: row for row, name in enumerate(WEIGHTS)}
_NEAR = slice(0, 3)  # vector, thread, previous
_TOPICAL = slice(0, 4)  # and words
_GATED = slice(_ROW["answer"], _ROW["when"] + 1)

LENT_TO_NEXT = 1.0  # of an item's words count for its neighbour
LENT_TWO_AWAY = 0.5  # and for the one two away
HALF_SIMILARITY_WORDS = 1.0  # an item of this many content words keeps half of its similarity
TOLD_WITHIN_DAYS = 30.0  # an event is told within about this time after it
DAY_BESIDE_WEIGHT = 0.95  # what a day beside the time counts that a question speaks of
EXPANSION = 0.6  # how far the question's vector moves
EXPANSION_ITEMS = 3  # towards this many of the best
FULL_TOPIC_RANK = 10  # the one that is this well placed by topic is fully about the question
MIN_SIMILARITY = (
    0.1  # what holds no word of the question, nor stands beside one that does, must be this near to be found
)
SUMMARY_NAME_WEIGHT = (
    0.5  # what the name in a line that sums up a turn is worth, where it is asked who somebody is
)
MIN_SUCCESSOR_SHARE = (
    0.5  # what ends a part of an item stands above it if it is as much about the question, or half
)
DAY = 86_400_000_000  # microseconds

_RECORD = ITEM_KINDS.index("record")
_LINES = [ITEM_KINDS.index("journal"), ITEM_KINDS.index("experience")]
_TOOL, _WEB = map(PROVENANCES.index, ("tool", "web"))


@dataclass(frozen=True, slots=True)
class Ranked:
    """Rows, best first, with their scores and the parts of these, a row each."""

    places: Rows
    scores: Numbers
    _order: Rows
    _parts: Numbers

    def explain(self, at: int) -> dict[str, float]:
        parts = self._parts[:, self._order[at]].tolist()
        return {name: round(part, 3) for name, part in zip(WEIGHTS, parts, strict=True) if part}


def rank(
    view: IndexView, parsed: ParsedQuery, query: Numbers, places: Rows, now: int, *, known: int = NEVER
) -> Ranked:
    """Return the places by how well they answer the question; `query` is its vector, centred, or zeros. An end
    that became known after `known` does not count."""
    surroundings = view.surroundings(places)
    near = _Similarity(view, surroundings, places)
    until = np.where(view.columns["end_known"][places] > known, NEVER, view.columns["until"][places])
    parts = _fixed(view, parsed, surroundings, places, until <= now)
    gated = parts[_GATED].copy() if parsed.wants or parsed.period else None
    scores = _sum(parts, near.to(query), gated)
    if len(places) and query.any():
        moved = query + EXPANSION * near.middle(heaviest(scores, EXPANSION_ITEMS))
        scores = _sum(parts, near.to(moved / np.linalg.norm(moved)), gated)
    scores = _below_successor(view, parsed, places, known, parts[0], scores)
    order = np.argsort(-scores, kind="stable")
    order = order[((parts[_ROW["words"]] > 0) | (parts[0] > WEIGHTS["vector"] * MIN_SIMILARITY))[order]]
    return Ranked(places[order], scores[order], order, parts)


def _sum(parts: Numbers, near: Numbers, gated: Numbers | None) -> Numbers:
    """Return the scores, and set the parts as they count in them."""
    parts[_NEAR] = near
    if gated is not None and gated.size:
        about = parts[_TOPICAL].sum(axis=0)
        nth = min(FULL_TOPIC_RANK, len(about))
        full = max(float(np.partition(about, -nth)[-nth]), 1e-9)
        parts[_GATED] = gated * np.clip(about / full, 0, 1)
    return np.asarray(parts.sum(axis=0), np.float32)


class _Similarity:
    """How similar items, their containers and the items before them are to a vector: weighted parts of the
    scores."""

    def __init__(self, view: IndexView, surroundings: Surroundings, places: Rows) -> None:
        used, where = distinct((surroundings.own, surroundings.before), len(surroundings.every))
        some = surroundings.every[used]
        kept, lent = np.zeros((2, len(some) + 1), np.float32)
        lengths = view.columns["length"][some]
        kept[:-1] = lengths / (lengths + HALF_SIMILARITY_WORDS)
        lent[:-1] = kept[:-1] * view.columns["lends"][some]
        self._own, self._before = where[surroundings.own], where[surroundings.before]
        self._kept = WEIGHTS["vector"] * kept[self._own]
        self._lent = WEIGHTS["previous"] * lent[self._before] * _is_reply(view, surroundings)
        self._rows = view.vectors(some)
        self._containers, norms, self._container = view.containers(places)
        self._even = WEIGHTS["thread"] / (norms + 1e-9)
        self._share = view.columns["share"][places]

    def to(self, query: Numbers) -> Numbers:
        """Return the parts, a row each: vector, thread, previous."""
        parts = np.empty((3, len(self._own)), np.float32)
        near = np.zeros(len(self._rows) + 1, np.float32)
        np.vecdot(self._rows, query, out=near[:-1])
        np.multiply(near[self._own], self._kept, out=parts[0])
        parts[1] = (np.vecdot(self._containers, query) * self._even)[self._container]
        np.multiply(near[self._before], self._lent, out=parts[2])
        return parts

    def middle(self, best: Rows) -> Numbers:
        """Return the mean direction of these items; very short and long ones count less."""
        towards = (self._rows[self._own[best]] * self._share[best, None]).mean(axis=0)
        return np.asarray(towards / (np.linalg.norm(towards) + np.float32(1e-9)), np.float32)


def _is_reply(view: IndexView, surroundings: Surroundings) -> NDArray[np.bool_]:
    """Return whether somebody else spoke before. The same speaker may have changed the topic."""
    columns, every = view.columns, surroundings.every
    voices = np.append(columns["speaker"][every] * len(PROVENANCES) + columns["trust"][every], NO_ROW)
    return np.asarray(voices[surroundings.own] != voices[surroundings.before])


def _fixed(
    view: IndexView, parsed: ParsedQuery, surroundings: Surroundings, places: Rows, ended: NDArray[np.bool_]
) -> Numbers:
    """Return the weighted parts, a row each, except those that depend on the question's vector."""
    flags, kind, trust, feedback = (view.columns[name][places] for name in ("flags", "kind", "trust", "feedback"))
    parts = np.zeros((len(WEIGHTS), len(places)), np.float32)
    parts[_ROW["words"]] = _words(view, parsed, surroundings)
    parts[_ROW["subject"]] = _subject(view, parsed, places, flags)
    parts[_ROW["tells"]] = flags & IN_FIRST_PERSON != 0
    parts[_ROW["answer"]] = flags & parsed.wants != 0
    if parsed.period:
        parts[_ROW["when"]] = _when(parsed.period, view.columns["at"][places])
    parts[_ROW["feedback"]] = feedback
    parts[_ROW["ended"]] = ended & (kind != _RECORD)
    parts[_ROW["data"]] = (trust == _TOOL) | (trust == _WEB)
    parts[_ROW["asks"]] = flags & IS_QUESTION != 0
    parts *= np.array(list(WEIGHTS.values()), np.float32)[:, None]
    return parts


def heaviest(weights: NDArray[np.floating], k: int) -> Rows:
    """Return the indices of the `k` heaviest, heaviest first, of equals the first."""
    if k < len(weights):
        heavy = np.flatnonzero(weights >= np.partition(weights, -k)[-k])
        return heavy[np.argsort(-weights[heavy], kind="stable")[:k]]
    return np.argsort(-weights, kind="stable")


def _words(view: IndexView, parsed: ParsedQuery, surroundings: Surroundings) -> Numbers:
    """Count own words in full, and those of neighbours in part."""
    stems, shares = _shares(view, parsed)
    if not stems or not len(surroundings.own):
        return np.zeros(len(surroundings.own), np.float32)
    held = np.zeros((len(surroundings.every) + 1, len(stems)), np.float32)
    held[:-1] = view.holds(surroundings.every, stems)
    lent = held.copy()
    lent[:-1] *= view.columns["lends"][surroundings.every, None]
    near = np.maximum(lent.take(surroundings.before, axis=0), lent.take(surroundings.after, axis=0))
    far = np.maximum(lent.take(surroundings.far_before, axis=0), lent.take(surroundings.far_after, axis=0))
    got = np.maximum(held.take(surroundings.own, axis=0), np.maximum(LENT_TO_NEXT * near, LENT_TWO_AWAY * far))
    return np.asarray(np.vecdot(got, shares), np.float32)


def _shares(view: IndexView, parsed: ParsedQuery) -> tuple[list[int], Numbers]:
    """Return the stems of the question that any item holds, and the share that each makes up."""
    weights: dict[int, float] = {}
    for stem, weight in parsed.words.values():
        if view.count(stem):
            weights[stem] = max(weights.get(stem, 0.0), weight)
    idf = np.array([weight * rarity(view, stem) for stem, weight in weights.items()], np.float32)
    return list(weights), idf / (idf.sum() + np.float32(1e-9))


def rarity(view: IndexView, stem: int) -> float:
    count = view.count(stem)
    return float(np.log(1 + (view.size - count + 0.5) / (count + 0.5)))


def _subject(view: IndexView, parsed: ParsedQuery, places: Rows, flags: NDArray[np.uint8]) -> NDArray[Any] | int:
    if parsed.people and view.has_speakers_besides(parsed.people):
        by_them = view.said_by(places, parsed.people)
        if parsed.name_words:
            return by_them
        named = view.holds(places, [number for number, _ in parsed.words.values()]).any(axis=1)
        tells = named | (by_them & (flags & IN_FIRST_PERSON != 0))
        return np.asarray(tells * np.where(_is_summary(view, places), SUMMARY_NAME_WEIGHT, 1))
    if parsed.people or not view.has_assistant:
        return 0
    return np.asarray(flags & (ASSISTANT if parsed.of_assistant else PERSON) != 0)


def _is_summary(view: IndexView, places: Rows) -> NDArray[np.bool_]:
    """Return whether it sums up a turn: it begins with the speaker, and so names them whatever it says."""
    return np.isin(view.columns["kind"][places], _LINES)


def _when(asked: Period, at: NDArray[np.int64]) -> NDArray[np.floating]:
    """Return 1 within the time, a little less a day before or after it, and less and less after that."""
    start, end = (to_micros(edge) for edge in asked)
    late = DAY_BESIDE_WEIGHT * np.clip(1 - (at - end - DAY) / (TOLD_WITHIN_DAYS * DAY), 0, 1)
    return np.where(at < start - DAY, 0, np.where((at >= start) & (at < end), 1, late))


def _below_successor(
    view: IndexView, parsed: ParsedQuery, places: Rows, known: int, near: Numbers, scores: Numbers
) -> Numbers:
    """Rank superseded items below the record that ended them, or else below the best item made of that record;
    partly superseded ones only where that record is about the question as well. The newest end comes first, so
    that what was superseded twice ranks below both."""
    columns = {name: view.columns[name][places] for name in ("by", "end_known", "until", "record", "kind")}
    by = np.where(columns["end_known"] > known, 0, columns["by"])
    superseded = np.flatnonzero(by)
    if not len(superseded):
        return scores
    order = np.lexsort((scores, columns["kind"] == _RECORD))
    made_of = dict(zip(columns["record"][order].tolist(), order.tolist(), strict=True))
    stems, shares = _shares(view, parsed)
    topic = near + WEIGHTS["words"] * np.vecdot(view.holds(places, stems), shares)  # its own words alone
    lowered = scores.copy()
    for at in superseded[np.argsort(-by[superseded], kind="stable")]:
        newer = made_of.get(int(by[at]))
        if newer is not None and (
            columns["until"][at] != NEVER or topic[newer] >= MIN_SUCCESSOR_SHARE * topic[at]
        ):
            lowered[at] = min(lowered[at], lowered[newer] - 1e-3)
    return lowered
