"""Whether recall finds the turns that hold the answer: the whole product in the loop, no model (see `answering`).

On LoCoMo, talks between two people, and LongMemEval-S, a person's chats with an assistant (see `haystacks`), with
the same defaults for both, in per cent:

- **turn R@k**: the share of the turns that answer a question which are among the first k hits;
- **turn MRR**: 1 over the place of the first of them;
- **session any@5, all@5**: whether one, or every one, of the sessions with an answer is among the first five,
  sessions ranked by their best turn.

BENCH_ABLATION=1 also tells what each part of the ranking brings (see `ablation`). TEST_ONNX_MODEL names
the folder of a snowflake-arctic-embed-s, to see LoCoMo with a small transformer.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import ablation, haystacks, locomo
from bench.answering import Answers, Told, full_text, fused, told, transformer, vectors
from bench.goals import Figures, Goal, table
from bench.haystacks import Haystack
from bench.progress import step
from bench.scoring import MEASURES, means, scores

SETS: Mapping[str, tuple[str, Callable[[Path], Iterable[Haystack]]]] = {
    "locomo": ("LoCoMo", haystacks.from_locomo),
    "longmemeval": ("LongMemEval-S", haystacks.from_longmemeval),
}
BESIDE: Mapping[str, Callable[[Haystack], Answers]] = {
    "BM25": full_text,
    "vectors alone": vectors,
    "plain RRF": fused,
}
GOALS = {
    "locomo_turn_r10": Goal("LoCoMo, turn R@10", "≥", 78),
    "locomo_turn_mrr": Goal("LoCoMo, turn MRR", "≥", 60),
    "locomo_session_any5": Goal("LoCoMo, session any@5", "≥", 93),
    "longmemeval_turn_r5": Goal("LongMemEval-S, turn R@5", "≥", 80),
    "longmemeval_turn_r10": Goal("LongMemEval-S, turn R@10", "≥", 91),
    "longmemeval_session_any5": Goal("LongMemEval-S, session any@5", "≥", 98.8),
    "longmemeval_session_all5": Goal("LongMemEval-S, session all@5", "≥", 95),
}
WITH_TRANSFORMER = {
    "transformer_locomo_turn_r10": Goal("LoCoMo with a transformer, turn R@10", "≥", 83),
    "transformer_locomo_turn_mrr": Goal("LoCoMo with a transformer, turn MRR", "≥", 63),
}
ALSO = {
    "locomo_turn_r5": "LoCoMo, turn R@5",
    "locomo_session_all5": "LoCoMo, session all@5",
    "longmemeval_turn_mrr": "LongMemEval-S, turn MRR",
}


def run() -> Figures:
    """Measure, print the tables, return the figures."""
    console = Console()
    figures: Figures = {}
    folder = Path(os.environ.get("LIFELONG_BENCH_DATA") or "/nowhere")
    with tempfile.TemporaryDirectory(prefix="lifelong-bench-") as name:
        everything: dict[str, list[Told]] = {}
        for key, (title, load) in SETS.items():
            try:
                with step(console, title):
                    everything[key] = [told(Path(name) / key, haystack) for haystack in load(folder)]
            except FileNotFoundError as error:
                console.print(str(error))
                continue
            figures |= beside(console, title, key, everything[key])
        if os.environ.get("BENCH_ABLATION"):
            ablation.run(console, everything)
    goals = dict(GOALS)
    if (embeddings := transformer()) and locomo.data_folder():
        with step(console, "LoCoMo with a transformer"):
            figures |= with_transformer(folder, embeddings)
        goals |= WITH_TRANSFORMER
    console.print(table("recall, per cent", figures, goals, ALSO))
    return figures


def beside(console: Console, title: str, key: str, some: Sequence[Told]) -> Figures:
    """The product's figures, and a table with those of the others."""
    found = {"lifelong": asked(some)}
    for name, answering in BESIDE.items():
        found[name] = measured((one.haystack, answering(one.haystack)) for one in some)
    shown = Table(f"{title}, per cent", *(measure.replace("_", " ") for measure in MEASURES))
    for name, figures in found.items():
        shown.add_row(name, *(f"{figures[measure]:.1f}" for measure in MEASURES))
    console.print(shown)
    return {f"{key}_{measure}": value for measure, value in found["lifelong"].items()}


def with_transformer(folder: Path, embeddings: Mapping[str, str]) -> Figures:
    with tempfile.TemporaryDirectory(prefix="lifelong-bench-") as name:
        some = [told(Path(name), one, embeddings=embeddings) for one in haystacks.from_locomo(folder)]
        return {f"transformer_locomo_{measure}": value for measure, value in asked(some).items()}


# Measuring


def asked(some: Iterable[Told]) -> Figures:
    """The product's figures on haystacks that it was told."""
    rows: list[Mapping[str, float]] = []
    for one in some:
        with one.opened() as answers:
            rows += scores(one.haystack, answers)
    return means(rows)


def measured(some: Iterable[tuple[Haystack, Answers]]) -> Figures:
    return means([row for haystack, answers in some for row in scores(haystack, answers)])
