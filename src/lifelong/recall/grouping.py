"""One hit a fact: a record, the facts made of it, its journal line and its experience are found as one, and so are
items that say the same in the same words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lifelong.recall.analyzer import IS_QUESTION, ends_in_question
from lifelong.recall.candidates import NEVER, Candidates
from lifelong.recall.ranking import Ranked
from lifelong.recall.replaced import NewerStatements, Statement, statements, topic
from lifelong.text.words import count_negations
from lifelong.types import CONFIDENCES, ITEM_KINDS, PROVENANCES, Confidence, from_micros

_RECORD, _FACT = map(ITEM_KINDS.index, ("record", "fact"))
_USER = PROVENANCES.index("user")
MAX_COMPARED = 10  # groups, the best, that are compared with one another
MIN_FACT_SHARE = 0.9  # of the record's match with the question, that a fact must have to stand for it


class Group(NamedTuple):
    """Places of candidates that are one hit, the one to show first; the one whose score counts; that score, with
    what people said of any of them; and what seems to replace it."""

    places: list[int]
    scored: int
    score: float
    newer: int | None = None


def group_candidates(candidates: Candidates, ranked: Ranked, count: int) -> list[Group]:
    """Return the best groups, best first. A group ranks as its record does, if that was found: what is made of a
    record changes how it is shown, and not what is found."""
    records = {int(candidates.record[at]): at for at in np.flatnonzero(candidates.kind == _RECORD).tolist()}
    members: dict[int, list[int]] = {}
    for place in ranked.places.tolist():
        members.setdefault(records.get(int(candidates.record[place]), place), []).append(place)
    groups = [Group(places, scored, _score(ranked, scored, places)) for scored, places in members.items()]
    best: dict[object, Group] = {}
    for group in sorted(groups, key=lambda one: (-one.score, one.scored)):
        same = _sameness(candidates, group.scored)
        if same in best:
            best[same].places.extend(group.places)
        elif len(best) == max(count, MAX_COMPARED):
            break
        else:
            best[same] = group
    found = [one._replace(places=_lead_first(candidates, ranked, one.places)) for one in best.values()]
    return _successors_first(candidates, ranked, _with_newer(candidates, ranked, found))[:count]


def _with_newer(candidates: Candidates, ranked: Ranked, groups: list[Group]) -> list[Group]:
    """Return the groups, of the first ones each with the newest of what was said later that seems to replace what
    it shows. What is quoted or made up replaces nothing."""
    told = {
        group.scored: _statements(candidates, group.scored)
        for group in groups[:MAX_COMPARED]
        if candidates.trust[group.scored] == _USER
        and candidates.until[group.scored] == NEVER
        and not candidates.flags[group.scored] & IS_QUESTION
        and not ranked.quoted[group.scored]
    }
    later = NewerStatements(one for said in told.values() for one in said)
    place_of = {one: place for place, said in told.items() for one in said}
    found = []
    for group in groups:
        shown = topic(candidates.text(group.places[0]))
        said = [one for one in told.get(group.scored, ()) if topic(one.text) <= shown]
        newest = max(filter(None, map(later.newest, said)), key=lambda one: (one.at, one.record_id), default=None)
        found.append(group if newest is None else group._replace(newer=place_of[newest]))
    return found


def _statements(candidates: Candidates, place: int) -> list[Statement]:
    at, record = from_micros(int(candidates.at[place])), int(candidates.record[place])
    return statements(candidates.text(place), at, record, str(candidates.speaker[place]))


def _score(ranked: Ranked, scored: int, places: Sequence[int]) -> float:
    """Return the score of a group: that of its record, with the strongest verdict on any of its members."""
    verdict = max(map(ranked.feedback, places), key=abs)
    return float(ranked.scores[scored]) - ranked.feedback(scored) + verdict


def _lead_first(candidates: Candidates, ranked: Ranked, places: Sequence[int]) -> list[int]:
    """Return the members of a group, first the one to show: the fact that says best what is asked for, of equals
    one that holds, if it does so as well as the record and better than its siblings, which then stay out; else the
    newest of what says the same."""
    match = ranked.word_match
    facts = [place for place in places if candidates.kind[place] == _FACT]
    order = sorted(facts, key=lambda at: (round(match(at), 2), candidates.until[at] == NEVER), reverse=True)
    best = order[0] if order and match(order[0]) >= MIN_FACT_SHARE * max(map(match, places)) else None
    siblings = [at for at in order[1:] if candidates.until[at] == NEVER and candidates.record[at]]
    if best is None or any(round(match(at), 2) == round(match(best), 2) for at in siblings):
        kind = _RECORD if any(candidates.kind[at] == _RECORD for at in places) else candidates.kind[places[0]]
        best = max((at for at in places if candidates.kind[at] == kind), key=lambda at: candidates.at[at])
    is_fact = candidates.kind[best] == _FACT
    others = (at for at in places if at != best and not (is_fact and candidates.kind[at] == _FACT))
    return [best, *others]


def _successors_first(candidates: Candidates, ranked: Ranked, groups: list[Group]) -> list[Group]:
    """Move a group that replaced what another one shows before that; what only seems to have replaced it, where it
    is asked how something is now and both are about that."""
    for group in list(groups):
        lead = group.places[0]
        by = int(candidates.by[lead]) if candidates.until[lead] != NEVER else 0
        newer = next((one for one in groups if by and by in candidates.record[one.places]), None)
        if newer is None and group.newer is not None and ranked.prefers(group.newer, group.scored):
            newer = next((one for one in groups if one.scored == group.newer), None)
        if newer is not None and newer is not group and groups.index(newer) > groups.index(group):
            groups.remove(newer)
            groups.insert(groups.index(group), newer)
    return groups


def confidences(candidates: Candidates, ranked: Ranked, groups: Sequence[Group]) -> list[Confidence]:
    """Return how sure each group is to answer the question. What replaced an answer is as sure as that was."""
    found = [max(map(ranked.confidence, group.places), key=CONFIDENCES.index) for group in groups]
    for at, group in enumerate(groups):
        by = int(candidates.by[group.places[0]])
        for newer, other in enumerate(groups[:at]):
            if by and by in candidates.record[other.places]:
                found[newer] = max(found[newer], found[at], key=CONFIDENCES.index)
    return found


def _sameness(candidates: Candidates, place: int) -> object:
    """Return what is equal of two items that say the same: speaker, words, number of negations, and whether it
    asks. For one without words, nothing else is the same."""
    stems = candidates.stems[place].tobytes()
    if not stems:
        return place
    text = candidates.text(place)
    asks = ends_in_question(text)
    return candidates.speaker[place], int(candidates.trust[place]), stems, count_negations(text), asks
