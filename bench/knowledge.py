"""How much of a talk is known after it was organized, at what length, and how much of that is worth nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from bench.locomo import Turn
from bench.smalltalk import APOSTROPHE, is_small_talk
from lifelong.organize.facts import Fact

MOST_RECORDS = 3  # a fact that cites more does not say which of them it is from
SHARE = 1 / 3  # of a turn's content words
ALIKE = 0.85  # Jaccard, of content words
FEWEST = 3  # content words; with fewer, alike says nothing

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")

STOP_WORDS = frozenset(
    _WORD.findall(
        """
        a about above after again against all also am an and any are aren't as at be because been before
        being below between both but by can can't cannot could couldn't did didn't do does doesn't doing
        don't down during each few for from further get gets getting go goes going got had hadn't has hasn't
        have haven't having he he'd he'll he's her here here's hers herself him himself his how how's i i'd
        i'll i'm i've if in into is isn't it it'd it'll it's its itself just let let's like may me might
        more most much must my myself no nor not now of off on once one only or other our ours ourselves out
        over own really same shall she she'd she'll she's should shouldn't so some such than that that'll
        that's the their theirs them themselves then there there's these they they'd they'll they're they've
        this those through to too under until up us very was wasn't we we'd we'll we're we've well were
        weren't what what's when where where's which while who who's whom why will with won't would wouldn't
        yes yeah you you'd you'll you're you've your yours yourself yourselves
        """
    )
)


@dataclass(frozen=True, slots=True)
class Organized:
    """What one conversation became: `turns` by the id of their record, the facts of all its documents, and
    how many characters those documents, the turns and the transcripts have."""

    evidence: frozenset[str]
    turns: Mapping[int, Turn]
    facts: tuple[Fact, ...]
    document_chars: int
    transcript_chars: int

    @property
    def turn_chars(self) -> int:
        return sum(len(turn.text) for turn in self.turns.values())

    @property
    def current(self) -> tuple[Fact, ...]:
        return tuple(fact for fact in self.facts if fact.current)


def content_words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower().replace(APOSTROPHE, "'"))) - STOP_WORDS


# Of several conversations together, in per cent


def coverage(talks: Sequence[Organized]) -> float:
    """Evidence turns that a fact holds: one that cites few records, this among them, and has a third of the
    turn's content words. Superseded facts count: they are still to be found."""
    return _percent(sum(len(covered(talk)) for talk in talks), sum(len(talk.evidence) for talk in talks))


def size(talks: Sequence[Organized]) -> float:
    """Characters of the documents with everything in them, over those of the bare turns."""
    return _percent(sum(talk.document_chars for talk in talks), sum(talk.turn_chars for talk in talks))


def size_over_transcript(talks: Sequence[Organized]) -> float:
    """The same over the characters of the transcripts, which name speakers and times."""
    return _percent(sum(talk.document_chars for talk in talks), sum(talk.transcript_chars for talk in talks))


def junk(talks: Sequence[Organized]) -> float:
    """Facts that cite nothing but small talk."""
    return _percent(sum(len(junk_facts(talk)) for talk in talks), sum(len(talk.facts) for talk in talks))


def duplicates(talks: Sequence[Organized]) -> float:
    """Current facts that say almost word for word what another current fact says."""
    found = sum(len(alike([fact.text for fact in talk.current])) for talk in talks)
    return _percent(found, sum(len(talk.current) for talk in talks))


# Of one


def covered(talk: Organized) -> set[str]:
    """The ids of the evidence turns that a fact holds."""
    return {
        turn.id
        for fact in talk.facts
        if len(fact.records) <= MOST_RECORDS
        for turn in _cited(talk, fact)
        if turn.id in talk.evidence and holds(fact.text, turn.text)
    }


def holds(fact: str, turn: str) -> bool:
    words = content_words(turn)
    return len(words & content_words(fact)) >= SHARE * len(words)


def junk_facts(talk: Organized) -> list[Fact]:
    names = {turn.speaker for turn in talk.turns.values()}
    small = {record for record, turn in talk.turns.items() if is_small_talk(turn.text, names)}
    return [fact for fact in talk.facts if small.issuperset(fact.records)]


def alike(texts: Sequence[str]) -> set[int]:
    """The positions of the texts that have a twin among them."""
    words = [content_words(text) for text in texts]
    telling = [place for place, mine in enumerate(words) if len(mine) >= FEWEST]
    return {
        place
        for one, other in combinations(sorted(telling, key=lambda place: len(words[place])), 2)
        if ALIKE * len(words[other]) <= len(words[one]) and _jaccard(words[one], words[other]) >= ALIKE
        for place in (one, other)
    }


def at_size(points: Iterable[tuple[float, float]], wanted: float) -> float | None:
    """The coverage at that size, on the line through the (size, coverage) points; none beyond their ends."""
    line = sorted(points)
    for (left, low), (right, high) in pairwise(line):
        if left <= wanted <= right:
            return low + (high - low) * (wanted - left) / (right - left) if right > left else high
    return None


def _cited(talk: Organized, fact: Fact) -> list[Turn]:
    return [talk.turns[record] for record in fact.records if record in talk.turns]


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
