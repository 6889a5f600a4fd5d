"""What each part of the ranking brings: it is taken away, and everything is asked again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any
from unittest.mock import patch

from rich.console import Console

from bench import everyday
from bench.answering import Told
from bench.goals import Figures
from bench.scoring import means, scores
from lifelong.recall import candidates, query, ranking, search, word_match

Change = tuple[ModuleType, str, Any]

WEIGHED = [part for part in ranking.WEIGHTS if part not in ("feedback", "ended")]
NOTHING, EVERYTHING = 1e-9, 1e12

SHOWN = {
    "locomo": ("turn_r10", "turn_mrr", "session_any5"),
    "longmemeval": ("turn_r5", "turn_r10", "session_all5"),
    "everyday": ("lookup_top1", "question_top1", "question_top3", "assistant_top3", "current_first"),
}


def variants() -> Iterator[tuple[str, Sequence[Change]]]:
    """Each with its name and what it changes."""
    yield "everything", ()
    for part in WEIGHED:
        yield f"without `{part}`", ((ranking, "WEIGHTS", {**ranking.WEIGHTS, part: 0.0}),)
    yield "without likeness of words", ((word_match, "MIN_COSINE", 0.999),)
    yield "without the newer of two first", ((ranking, "_newer_first", lambda *given: given[-1]),)
    yield "without rare words first in look-ups", ((ranking, "_rare_words_first", lambda *given: given[-1]),)
    yield "without what replaced it above", ((ranking, "_above_superseded", lambda *given: given[-1]),)
    yield "without shrinking what is short", ((ranking, "HALF_SIMILARITY_WORDS", NOTHING),)
    yield "without less weight for frame words", ((query, "FRAME_WORD_WEIGHT", 1.0),)
    yield "without less weight for common words in the vector", ((search, "HALF_WEIGHT_SHARE", EVERYTHING),)
    yield "without centring on the mean", ((candidates, "MEAN_DAMPING", EVERYTHING),)


def run(console: Console, everything: Mapping[str, Sequence[Told]]) -> None:
    """Print the table, as Markdown."""
    shown = {key: SHOWN[key] for key in (*everything, "everyday")}
    titles = [f"{key} {measure.replace('_', ' ')}" for key, some in shown.items() for measure in some]
    found = {key: _figures(some) for key, some in everything.items()} | {"everyday": _everyday(console)}
    console.print("| " + " | ".join(("", *titles)) + " |", soft_wrap=True)
    console.print("|" + "---|" * (1 + len(titles)))
    for name, _ in variants():
        cells = [f"{found[key][name][measure]:.1f}" for key, some in shown.items() for measure in some]
        console.print("| " + " | ".join((name, *cells)) + " |", soft_wrap=True)


def _figures(some: Sequence[Told]) -> dict[str, Figures]:
    """Of each variant."""
    rows: dict[str, list[dict[str, float]]] = {}
    for one in some:
        with one.opened() as answers:
            for name, changes in variants():
                with _changed(changes):
                    rows.setdefault(name, []).extend(scores(one.haystack, answers))
    return {name: means(mine) for name, mine in rows.items()}


def _everyday(console: Console) -> dict[str, Figures]:
    """Of each variant, over all scenarios."""
    found = {}
    for name, changes in variants():
        with _changed(changes):
            found[name] = everyday.measured(console, everyday.load())
    return found


@contextmanager
def _changed(changes: Sequence[Change]) -> Iterator[None]:
    with ExitStack() as patched:
        for change in changes:
            patched.enter_context(patch.object(*change))
        yield
