"""How well an item answers a question: a weighted sum of parts, each between about 0 and 1.

    vector    how near the item is to the question in meaning
    words     the share of the question's words, rare ones counting more, that it holds
    subject   it was said by the person that the question names; else by the user, or by the assistant where the
              question asks what that said. Where it asks who somebody is, it names them, or is by them
    tells     it is in the first person
    answer    it holds what is asked for: a number, a time, a name
    when      it was said in, or soon after, the time the question speaks of
    feedback  what people said of it
    ended     it has stopped being true, and is not a record
    data      it came from a tool or from the web
    asks      it is itself a question, and says nothing else

The first two say what an item is about. `answer` and `when` count only as far as an item is about the question at
all: in proportion to those two, in full from the tenth best on. The sum is made twice: the second time with the
question's vector moved towards the three best items of the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lifelong.recall.analyzer import ASSISTANT, IN_FIRST_PERSON, IS_QUESTION, PERSON
from lifelong.recall.candidates import NEVER, Candidates, Numbers, Places, rarity
from lifelong.recall.query import ParsedQuery
from lifelong.text.time_ranges import Period
from lifelong.types import ITEM_KINDS, PROVENANCES, to_micros
from lifelong.vectors.base import have_direction

WEIGHTS: Mapping[str, float] = {
    "vector": 5.0,
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
_TOPICAL = slice(0, 2)  # vector and words
_GATED = slice(_ROW["answer"], _ROW["when"] + 1)

HALF_SIMILARITY_WORDS = 1.0  # an item of this many content words keeps half of its similarity
TOLD_WITHIN_DAYS = 30.0  # an event is told within about this time after it
DAY_BESIDE_WEIGHT = 0.95  # what a day beside the time counts that a question speaks of
EXPANSION = 0.6  # how far the question's vector moves
EXPANSION_ITEMS = 3  # towards this many of the best
FULL_TOPIC_RANK = 10  # the one that is this well placed by topic is fully about the question
MIN_SIMILARITY = 0.1  # what holds no word of the question must be this near to be found
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
    """Places of candidates, best first, with their scores and the parts of these, a row each."""

    places: Places
    scores: Numbers
    _parts: Numbers

    def explain(self, at: int) -> dict[str, float]:
        """Return the parts of the score of the one that stands there."""
        parts = self._parts[:, self.places[at]].tolist()
        return {name: round(part, 3) for name, part in zip(WEIGHTS, parts, strict=True) if part}


def rank(candidates: Candidates, parsed: ParsedQuery, query: Numbers, now: int, *, known: int = NEVER) -> Ranked:
    """Return the candidates by how well they answer the question; `query` is its vector, centred, or zeros. An end
    that became known after `known` does not count."""
    rows, kept = _centred(candidates), _kept(candidates)
    until = np.where(candidates.end_known > known, NEVER, candidates.until)
    parts = _fixed(candidates, parsed, until <= now)
    gated = parts[_GATED].copy() if parsed.wants or parsed.period else None
    by_vector = len(candidates) and query.any()
    if by_vector:
        parts[0] = np.vecdot(rows, query) * kept
    scores = _sum(parts, gated)
    if by_vector:
        towards = (rows * kept[:, None])[heaviest(scores, EXPANSION_ITEMS)].mean(axis=0)
        moved = query + EXPANSION * towards / (np.linalg.norm(towards) + 1e-9)
        parts[0] = np.vecdot(rows, np.asarray(moved / np.linalg.norm(moved), np.float32)) * kept
        scores = _sum(parts, gated)
    scores = _below_successor(candidates, parsed, known, parts[0], scores)
    order = np.argsort(-scores, kind="stable")
    found = (parts[_ROW["words"]] > 0) | (parts[0] > WEIGHTS["vector"] * MIN_SIMILARITY)
    found |= (candidates.record > 0) & np.isin(candidates.record, candidates.by[found])  # what replaced these
    order = order[found[order]]
    return Ranked(order, scores[order], parts)


def _centred(candidates: Candidates) -> Numbers:
    """Return the vectors, centred on the mean of all items, at length 1; zeros stay."""
    has = have_direction(candidates.vectors)
    rows = np.where(has[:, None], candidates.vectors - candidates.mean, 0) if has.any() else candidates.vectors
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1), 1e-9)[:, None], np.float32)


def _kept(candidates: Candidates) -> Numbers:
    """Return how much of its similarity each keeps: short ones are similar by chance."""
    kept = candidates.length / (candidates.length + HALF_SIMILARITY_WORDS)
    return np.asarray(WEIGHTS["vector"] * kept, np.float32)


def _sum(parts: Numbers, gated: Numbers | None) -> Numbers:
    """Return the scores, and set the parts as they count in them."""
    if gated is not None and gated.size:
        about = parts[_TOPICAL].sum(axis=0)
        nth = min(FULL_TOPIC_RANK, len(about))
        full = max(float(np.partition(about, -nth)[-nth]), 1e-9)
        parts[_GATED] = gated * np.clip(about / full, 0, 1)
    return np.asarray(parts.sum(axis=0), np.float32)


def _fixed(candidates: Candidates, parsed: ParsedQuery, ended: NDArray[np.bool_]) -> Numbers:
    """Return the weighted parts, a row each, except those that depend on the question's vector."""
    flags, trust = candidates.flags, candidates.trust
    parts = np.zeros((len(WEIGHTS), len(candidates)), np.float32)
    parts[_ROW["words"]] = _words(candidates, parsed)
    parts[_ROW["subject"]] = _subject(candidates, parsed)
    parts[_ROW["tells"]] = flags & IN_FIRST_PERSON != 0
    parts[_ROW["answer"]] = flags & parsed.wants != 0
    if parsed.period:
        parts[_ROW["when"]] = _when(parsed.period, candidates.at)
    parts[_ROW["feedback"]] = candidates.feedback
    parts[_ROW["ended"]] = ended & (candidates.kind != _RECORD)
    parts[_ROW["data"]] = (trust == _TOOL) | (trust == _WEB)
    parts[_ROW["asks"]] = flags & IS_QUESTION != 0
    parts *= np.array(list(WEIGHTS.values()), np.float32)[:, None]
    return parts


def heaviest(weights: NDArray[np.floating], k: int) -> Places:
    """Return the indices of the `k` heaviest, heaviest first, of equals the first."""
    if k < len(weights):
        heavy = np.flatnonzero(weights >= np.partition(weights, -k)[-k])
        return heavy[np.argsort(-weights[heavy], kind="stable")[:k]]
    return np.argsort(-weights, kind="stable")


def _words(candidates: Candidates, parsed: ParsedQuery) -> Numbers:
    """Return the share of the question's words that each holds."""
    stems, shares = _shares(candidates, parsed)
    return np.asarray(np.vecdot(candidates.holds(stems), shares), np.float32)


def _shares(candidates: Candidates, parsed: ParsedQuery) -> tuple[list[int], Numbers]:
    """Return the stems of the question that any item holds, and the share that each makes up."""
    weights: dict[int, float] = {}
    for stem, weight in parsed.words.values():
        if candidates.count(stem):
            weights[stem] = max(weights.get(stem, 0.0), weight)
    each = [weight * rarity(candidates.count(stem), candidates.size) for stem, weight in weights.items()]
    idf = np.array(each, np.float32)
    return list(weights), idf / (idf.sum() + np.float32(1e-9))


def _subject(candidates: Candidates, parsed: ParsedQuery) -> NDArray[Any] | int:
    flags = candidates.flags
    if parsed.people and any(name not in parsed.people for name in candidates.corpus.speakers):
        by_them = candidates.said_by(parsed.people)
        if parsed.name_words:
            return by_them
        named = candidates.holds([number for number, _ in parsed.words.values()]).any(axis=1)
        tells = named | (by_them & (flags & IN_FIRST_PERSON != 0))
        return np.asarray(tells * np.where(_is_summary(candidates), SUMMARY_NAME_WEIGHT, 1))
    if parsed.people or not (flags & ASSISTANT).any():
        return 0
    return np.asarray(flags & (ASSISTANT if parsed.of_assistant else PERSON) != 0)


def _is_summary(candidates: Candidates) -> NDArray[np.bool_]:
    """Return whether it sums up a turn: it begins with the speaker, and so names them whatever it says."""
    return np.isin(candidates.kind, _LINES)


def _when(asked: Period, at: NDArray[np.int64]) -> NDArray[np.floating]:
    """Return 1 within the time, a little less a day before or after it, and less and less after that."""
    start, end = (to_micros(edge) for edge in asked)
    late = DAY_BESIDE_WEIGHT * np.clip(1 - (at - end - DAY) / (TOLD_WITHIN_DAYS * DAY), 0, 1)
    return np.where(at < start - DAY, 0, np.where((at >= start) & (at < end), 1, late))


def _below_successor(
    candidates: Candidates, parsed: ParsedQuery, known: int, near: Numbers, scores: Numbers
) -> Numbers:
    """Rank superseded items below the record that ended them, or else below the best item made of that record;
    partly superseded ones only where that record is about the question as well. The newest end comes first, so
    that what was superseded twice ranks below both."""
    by = np.where(candidates.end_known > known, 0, candidates.by)
    superseded = np.flatnonzero(by)
    if not len(superseded):
        return scores
    order = np.lexsort((scores, candidates.kind == _RECORD))
    made_of = dict(zip(candidates.record[order].tolist(), order.tolist(), strict=True))
    topic = near + WEIGHTS["words"] * _words(candidates, parsed)
    lowered = scores.copy()
    for at in superseded[np.argsort(-by[superseded], kind="stable")]:
        newer = made_of.get(int(by[at]))
        if newer is not None and (
            candidates.until[at] != NEVER or topic[newer] >= MIN_SUCCESSOR_SHARE * topic[at]
        ):
            lowered[at] = min(lowered[at], lowered[newer] - 1e-3)
    return lowered
