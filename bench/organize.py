"""What organizing with the rules keeps, what it gets wrong, and what it costs.

On LoCoMo (see `locomo`), each conversation in a user of its own, organized session by session:

- **coverage**: evidence turns that are cited by a fact which cites at most three records and holds at least a
  third of the turn's content words;
- **size**: characters of all documents, with titles, descriptions, headings and citations, over those of the bare
  turns;
- **junk**: facts that cite nothing but greetings, thanks, acknowledgements or questions (see `smalltalk`);
- **duplicates**: current facts that are near-identical to another current fact.

A shared image is told in words, as part of its turn; the same without is printed beside it.

**Superseding** is tried on pairs of statements (see `supersede`). **Cost** is CPU time of this process, as ratios
of things that take turns: to the static embedder on the same turns (see `embedder`), and as the memory grows
(see `growth`).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from bench import growth, knowledge, locomo, supersede
from bench.embedder import Embedder
from bench.goals import Figures, Goal, table
from bench.knowledge import Organized
from bench.locomo import Conversation, Turn
from bench.processing import cpu_seconds
from bench.progress import step
from lifelong import Memory, User, UserMessage
from lifelong.organize.facts import parse_facts

ROUNDS = 3

GOALS = {
    "locomo_coverage": Goal("coverage of LoCoMo's evidence, %", "≥", 80),
    "locomo_size": Goal("size of the documents, %", "≤", 45),
    "junk": Goal("junk among the facts, %", "≤", 3),
    "duplicates": Goal("duplicates among the facts, %", "≤", 2),
    "supersede_right": Goal("updates that supersede, %", "≥", 15),
    "lookalike_right": Goal("look-alikes that do not, %", "≥", 99),
    "time_over_embedder": Goal("CPU time over the embedder's", "≤", 20),
    "per_turn_100k_over_1k": Goal("a turn at 100,000 over at 1,000, CPU time", "≤", 1.5),
    "update_10k_docs_over_100": Goal("an update among 10,000 documents over 100", "≤", 1.5),
}

ALSO = {
    "locomo_size_over_transcript": "size over the transcripts, %",
    "locomo_facts": "facts",
    "locomo_superseded": "of them superseded",
    "locomo_coverage_no_captions": "coverage, images left out, %",
    "locomo_size_no_captions": "size, images left out, %",
    "junk_no_captions": "junk, images left out, %",
    "supersede_plain": "updates in plain words, %",
    "lookalike_plain": "look-alikes in plain words, %",
    "supersede_idiomatic": "updates in idioms, %",
    "lookalike_idiomatic": "look-alikes in idioms, %",
    "supersede_not_kept": "pairs of whose older statement nothing was kept",
    "organize_us_per_turn": "organizing a turn, µs of CPU time",
    "embed_us_per_turn": "embedding a turn, µs of CPU time",
    "per_turn_100k_over_second_1k": "a turn at 100,000 over one of the second 1,000, CPU time",
    "per_turn_1k_us": "a made-up turn at 1,000, µs of CPU time",
    "per_turn_100k_us": "a made-up turn at 100,000, µs of CPU time",
    "update_100_docs_us": "an update among 100 documents, µs",
    "update_10k_docs_us": "an update among 10,000 documents, µs",
    "update_10k_docs_over_100_cpu": "an update among 10,000 documents over 100, CPU time",
}


def run() -> Figures:
    """Measure, print the tables, return the figures."""
    console = Console()
    figures: Figures = {}
    folder = locomo.data_folder()
    if folder:
        with step(console, "LoCoMo, kept"):
            figures |= kept(folder)
        with step(console, "LoCoMo, cost"):
            figures |= cost(locomo.load(folder))
    else:
        console.print(f"There is no LoCoMo, so nothing is said of what is kept of it. {locomo.WHERE}")
    with step(console, "superseding"):
        figures |= superseding(console)
    for words, part in (("100,000 turns", growth.organizing), ("10,000 documents", growth.updating)):
        with step(console, words), _folder() as home:
            figures |= part(home)
    console.print(table("organizing with the rules", figures, GOALS, ALSO))
    return figures


# The parts


def kept(folder: Path) -> Figures:
    """What is known of every conversation."""
    told = locomo.load(folder)
    talks = organized(told).talks
    bare = organized(locomo.load(folder, captions=False)).talks
    return {
        "locomo_coverage": knowledge.coverage(talks),
        "locomo_size": knowledge.size(talks),
        "locomo_size_over_transcript": knowledge.size_over_transcript(talks),
        "locomo_facts": sum(len(talk.facts) for talk in talks),
        "locomo_superseded": sum(len(talk.facts) - len(talk.current) for talk in talks),
        "junk": knowledge.junk(talks),
        "duplicates": knowledge.duplicates(talks),
        "locomo_coverage_no_captions": knowledge.coverage(bare),
        "locomo_size_no_captions": knowledge.size(bare),
        "junk_no_captions": knowledge.junk(bare),
    }


def cost(told: Sequence[Conversation]) -> Figures:
    """CPU time of organizing every turn, and of embedding it."""
    embedder = Embedder()
    texts = [turn.text for conversation in told for turn in conversation.turns]
    embedder.embed(texts)
    organizing, embedding = [], []
    for _ in range(ROUNDS):
        organizing.append(organized(told).seconds)
        started = time.process_time()
        embedder.embed(texts)
        embedding.append(time.process_time() - started)
    ours, theirs = median(organizing), median(embedding)
    return {
        "time_over_embedder": ours / theirs,
        "organize_us_per_turn": ours / len(texts) * 1e6,
        "embed_us_per_turn": theirs / len(texts) * 1e6,
    }


def superseding(console: Console) -> Figures:
    with _folder() as home:
        by_style = {style: supersede.results(home, style) for style in supersede.STYLES}
    results = [result for some in by_style.values() for result in some]
    console.print(_errors_table(results))
    apart: Figures = {}
    for style, some in by_style.items():
        apart[f"supersede_{style}"] = supersede.share_right(some, "supersedes")
        apart[f"lookalike_{style}"] = supersede.share_right(some, "different")
    return apart | {
        "supersede_right": supersede.share_right(results, "supersedes"),
        "lookalike_right": supersede.share_right(results, "different"),
        "supersede_not_kept": sum(result.wrong == supersede.NOT_KEPT for result in results),
    }


# Organizing


@dataclass(frozen=True, slots=True)
class Run:
    """Every conversation organized, and the CPU time that took."""

    talks: tuple[Organized, ...]
    seconds: float


def organized(told: Sequence[Conversation]) -> Run:
    """All the conversations in a new home."""
    with _folder() as home:
        done = [_organized(home, conversation) for conversation in told]
    return Run(tuple(talk for talk, _ in done), sum(seconds for _, seconds in done))


def _organized(home: Path, conversation: Conversation) -> tuple[Organized, float]:
    with Memory.open(home, user=conversation.name, organize={"organizer": "rules"}) as memory:
        agent = memory.agent(User("bench", conversation.name, "chat"))
        turns: dict[int, Turn] = {}
        seconds = 0.0
        for sitting in conversation.sittings:
            said = [UserMessage(turn.text, turn.speaker, at=sitting.at) for turn in sitting.turns]
            turns |= dict(zip(memory.append_many(agent, said), sitting.turns, strict=True))
            memory.sessions.reset(agent)
            seconds += cpu_seconds(memory)
        documents = list(memory.documents.walk("~/memory"))
        talk = Organized(
            conversation.evidence,
            turns,
            tuple(fact for document in documents for fact in parse_facts(document.body)),
            sum(len(document.title + document.description + document.body) for document in documents),
            sum(len(memory.sessions.transcript(session)) for session in memory.sessions.list(agent)),
        )
    return talk, seconds


# What is seen


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lifelong-bench-") as name:
        yield Path(name)


def _errors_table(results: Sequence[supersede.Result]) -> Table:
    table = Table("pair", "kind", "should", "what is wrong", title="Superseding: every error")
    for result in results:
        if result.wrong:
            table.add_row(result.pair.id, result.pair.kind, result.pair.expect, result.wrong)
    return table
