"""What it costs in quality that recall leaves out a question's frequent words: all of LongMemEval-S in one
user, asked as it is, and asked with every word looked up to the end."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from unittest.mock import patch

from rich.console import Console

from bench import haystacks, quality
from bench.answering import told
from bench.goals import Figures
from bench.haystacks import Asked, Haystack, Said, Sitting
from bench.progress import step
from lifelong.recall import candidates

UNLIMITED = 1 << 40


def run(console: Console) -> Figures:
    folder = Path(os.environ.get("LIFELONG_BENCH_DATA") or "/nowhere")
    try:
        one = together(list(haystacks.from_longmemeval(folder)))
    except FileNotFoundError as error:
        console.print(f"What pruning costs cannot be said. {error}")
        return {}
    with tempfile.TemporaryDirectory(prefix="lifelong-bench-") as name, step(console, "pruning"):
        some = [told(Path(name), one, organized=False)]
        pruned = quality.asked(some)
        with patch.multiple(
            candidates, FIRST_POSTINGS=UNLIMITED, MAX_POSTINGS=UNLIMITED, MAX_LOOKED_UP_WORDS=UNLIMITED
        ):
            unlimited = quality.asked(some)
    return {"pruning_r10": pruned["turn_r10"], "pruning_r10_unlimited": unlimited["turn_r10"]}


def together(some: list[Haystack]) -> Haystack:
    """All in one, in the order of time. What is the same talk in several of them is in it once."""
    sittings: dict[object, Sitting] = {}
    names: dict[str, str] = {}
    for one in some:
        for sitting in one.sittings:
            same = tuple((turn.speaker, turn.text) for turn in sitting.turns)
            name = f"{one.name}/{sitting.session}"
            turns = tuple(Said(f"{one.name}/{turn.id}", turn.speaker, turn.text) for turn in sitting.turns)
            kept = sittings.setdefault(same, Sitting(name, sitting.at, turns))
            names[name] = kept.session
            names |= {mine.id: theirs.id for mine, theirs in zip(turns, kept.turns, strict=True)}
    questions = tuple(
        Asked(
            asked.text,
            frozenset(names[f"{one.name}/{id_}"] for id_ in asked.turns),
            frozenset(names[f"{one.name}/{session}"] for session in asked.sessions),
            asked.at,
        )
        for one in some
        for asked in one.questions
    )
    return Haystack("together", tuple(sorted(sittings.values(), key=lambda sitting: sitting.at)), questions)
