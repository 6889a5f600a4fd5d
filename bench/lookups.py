"""Whether a word finds the turn that holds it, whoever said it: look-ups drawn from talks of any kind.

From LoCoMo, where both speakers are people, and LongMemEval-S, a person and an assistant (see `haystacks`), turns
are drawn with a fixed seed. The query is the rarest word of a turn, or its two rarest, each held by at most two
turns of the haystack; a turn that holds every word of the query is right. FTS5 (see `answering`) is asked the same
in the same run: where somebody types a rare word, nothing should do worse than plain full text.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rich.console import Console

from bench.answering import Answers, full_text, told
from bench.goals import Figures, Goal, table
from bench.haystacks import Asked, Haystack
from bench.progress import step
from bench.quality import SETS
from lifelong.text.words import content_words

SEED = 7
MAX_HAYSTACKS = 10  # of a set
MAX_LOOKUPS = 400  # of what people said in a set, and as many of what the assistant said
MAX_TURNS = 2  # that hold a word
MIN_CHARS = 3  # of a word

MEASURES = {
    "lookup_user_top1": "what a user said: first",
    "lookup_assistant_top1": "what an assistant said: first",
    "lookup_top5": "what either said: among five",
}


@dataclass(frozen=True, slots=True)
class Lookup:
    """A query of one or two rare words, the turns that hold them, and whether an assistant said it."""

    query: str
    turns: frozenset[str]
    by_assistant: bool


def run() -> Figures:
    """Measure, print the tables, return the figures."""
    console = Console()
    folder = Path(os.environ.get("LIFELONG_BENCH_DATA") or "/nowhere")
    counted: Counter[str] = Counter()
    for key, (title, load) in SETS.items():
        try:
            with step(console, title):
                found = count(load(folder))
        except FileNotFoundError as error:
            console.print(str(error))
            continue
        console.print(table(f"{title}, per cent", *judged(shares(found))))
        counted += Counter({f"{key}_{name}": number for name, number in found.items()}) + found
    figures = shares(counted)
    if figures:
        console.print(table("look-ups, per cent", *judged(figures)))
    return figures


def judged(figures: Figures) -> tuple[Figures, dict[str, Goal], dict[str, str]]:
    """Return the figures, their goals (what FTS5 reached), and what else to show."""
    goals = {
        measure: Goal(words, "≥", figures[f"fts5_{measure}"])
        for measure, words in MEASURES.items()
        if measure in figures
    }
    return figures, goals, {f"fts5_{measure}": f"FTS5, {words}" for measure, words in MEASURES.items()}


def shares(counted: Mapping[str, int]) -> Figures:
    """Return in per cent what was counted as `measure` and `measure of`."""
    return {
        name: 100 * counted[name] / of for one, of in counted.items() if (name := one.removesuffix(" of")) != one
    }


def count(haystacks: Iterable[Haystack]) -> Counter[str]:
    """Ask the look-ups of the first haystacks, each in a user of its own."""
    some = list(islice(haystacks, MAX_HAYSTACKS))
    counted: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="lifelong-bench-") as home:
        for haystack in some:
            lookups = list(draw(haystack, MAX_LOOKUPS // len(some)))
            with told(Path(home), haystack).opened() as answers:
                counted.update(asked(lookups, answers, ""))
            counted.update(asked(lookups, full_text(haystack), "fts5_"))
    return counted


def asked(lookups: Iterable[Lookup], answers: Answers, prefix: str) -> Counter[str]:
    counted: Counter[str] = Counter()
    for one in lookups:
        ranked = answers(Asked(one.query, one.turns, frozenset()))
        who = "assistant" if one.by_assistant else "user"
        for measure, depth in ((f"lookup_{who}_top1", 1), ("lookup_top5", 5)):
            counted[f"{prefix}{measure}"] += not one.turns.isdisjoint(ranked[:depth])
            counted[f"{prefix}{measure} of"] += 1
    return counted


def draw(haystack: Haystack, most: int) -> Iterator[Lookup]:
    """Draw look-ups of what people said, and as many of what an assistant said: the same ones at each run."""
    turns = [turn for sitting in haystack.sittings for turn in sitting.turns]
    words = {turn.id: dict.fromkeys(content_words(turn.text)) for turn in turns}
    holders: dict[str, set[str]] = {}
    for id_, some in words.items():
        for word in some:
            holders.setdefault(word, set()).add(id_)
    chance = random.Random(f"{SEED} {haystack.name}")
    for by_assistant in (False, True):
        said = [turn for turn in turns if (turn.speaker == "assistant") == by_assistant]
        drawn = 0
        for turn in chance.sample(said, len(said)):
            rare = [word for word in words[turn.id] if len(word) >= MIN_CHARS and len(holders[word]) <= MAX_TURNS]
            if not rare or drawn == most:
                continue
            rare = sorted(rare, key=lambda word: len(holders[word]))[: chance.choice((1, 2))]
            holding = frozenset.intersection(*(frozenset(holders[word]) for word in rare))
            yield Lookup(" ".join(rare), holding, by_assistant)
            drawn += 1
