"""One hit a fact: a record, the facts made of it, its journal line and its experience are found as one, and so are
items that say the same in the same words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lifelong.recall.analyzer import ends_in_question
from lifelong.recall.candidates import NEVER, Candidates
from lifelong.recall.ranking import Ranked
from lifelong.text.words import count_negations
from lifelong.types import ITEM_KINDS

_RECORD, _FACT = map(ITEM_KINDS.index, ("record", "fact"))
MIN_FACT_SHARE = 0.9  # of the record's match with the question, that a fact must have to stand for it


class Group(NamedTuple):
    """Places of candidates that are one hit, the one to show first; and of the one whose score counts."""

    places: list[int]
    scored: int


def group_candidates(candidates: Candidates, ranked: Ranked, count: int) -> list[Group]:
    """Return the best groups, best first. A group ranks as its record does, if that was found: what is made of a
    record changes how it is shown, and not what is found."""
    records = {int(candidates.record[at]): at for at in np.flatnonzero(candidates.kind == _RECORD).tolist()}
    members: dict[int, list[int]] = {}
    for place in ranked.places.tolist():
        members.setdefault(records.get(int(candidates.record[place]), place), []).append(place)
    best: dict[object, Group] = {}
    for scored in sorted(members, key=lambda place: -ranked.scores[place]):
        same = _sameness(candidates, scored)
        if same in best:
            best[same].places.extend(members[scored])
        elif len(best) == count:
            break
        else:
            best[same] = Group(members[scored], scored)
    return [one._replace(places=_lead_first(candidates, ranked, one.places)) for one in best.values()]


def _lead_first(candidates: Candidates, ranked: Ranked, places: Sequence[int]) -> list[int]:
    """Return the members of a group, first the one to show: the fact that says best what is asked for, of equals
    one that holds, if it does so as well as the record; else the newest of what says the same."""
    match = ranked.word_match
    facts = [place for place in places if candidates.kind[place] == _FACT]
    best = max(facts, key=lambda at: (round(match(at), 2), candidates.until[at] == NEVER), default=None)
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
