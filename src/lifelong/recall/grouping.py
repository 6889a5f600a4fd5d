"""One hit a fact: a record, the facts made of it, its journal line and its experience are found as one, and so are
items that say the same in the same words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lifelong.recall.analyzer import ends_in_question
from lifelong.recall.candidates import NEVER, Candidates
from lifelong.recall.ranking import Ranked
from lifelong.text.words import count_negations
from lifelong.types import ITEM_KINDS

_RECORD, _FACT = map(ITEM_KINDS.index, ("record", "fact"))
MIN_FACT_SHARE = 0.9  # of the record's match with the question, that a fact must have to stand for it


class Group(NamedTuple):
    """Places of candidates that are one hit, the one to show first, and the score of the best."""

    places: Sequence[int]
    score: float


def group_candidates(candidates: Candidates, ranked: Ranked, count: int) -> list[Group]:
    """Return the best groups, best first."""
    groups: dict[object, list[int]] = {}
    scores: dict[object, float] = {}
    same: dict[object, object] = {}
    for at, place in enumerate(ranked.places.tolist()):
        record = int(candidates.record[place])
        key: object = ("record", record) if record else ("item", place)
        sameness = _sameness(candidates, place)
        if key not in groups:
            key = same.get(sameness, key)
        if key not in groups:
            if len(groups) == count:
                continue
            groups[key], scores[key] = [], float(ranked.scores[at])
        same.setdefault(sameness, key)
        groups[key].append(place)
    return [Group(_lead_first(candidates, ranked, places), scores[key]) for key, places in groups.items()]


def _lead_first(candidates: Candidates, ranked: Ranked, places: list[int]) -> list[int]:
    """Return the members of a group, first the one to show: the best fact that holds, if it says what is asked for
    as well as the record does; else the newest of what says the same."""

    def match(place: int) -> float:
        return ranked.part("words", place)

    facts = [place for place in places if candidates.kind[place] == _FACT and candidates.until[place] == NEVER]
    best = max(facts, key=match, default=None)
    if best is None or match(best) < MIN_FACT_SHARE * max(map(match, places)):
        kind = candidates.kind[places[0]]
        best = max((place for place in places if candidates.kind[place] == kind), key=lambda at: candidates.at[at])
    return [best, *(place for place in places if place != best)]


def _sameness(candidates: Candidates, place: int) -> object:
    """Return what is equal of two items that say the same: speaker, words, number of negations, and whether it
    asks. For one without words, nothing else is the same."""
    stems = candidates.stems[place].tobytes()
    if not stems:
        return place
    text = candidates.text(place)
    asks = ends_in_question(text)
    return candidates.speaker[place], int(candidates.trust[place]), stems, count_negations(text), asks
