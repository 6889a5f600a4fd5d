"""What a recall takes, against what its parts take alone; and what it takes while others write.

Made-up talk (see `speech`) in one user, 1,000, 10,000 and 100,000 turns of it, and with BENCH_LARGE=1
also 1,000,000. Everything that is compared takes turns on the same questions:

- **recall over its parts**: `Memory.recall`, as a caller sees it, over the sum of the embedder (`embed_query`),
  the product's own pruned full text (the postings of the rarest words, and the best by them) and its own vector
  search, by median: each part gives as many candidates as it does within a recall.
  The goal is judged in blocks, where a part finds in the caches what its last call left there; in turns call by
  call, as a part finds them within a recall, it is printed too;
- **vectors over Chroma**: that vector search over Chroma's, persistent, with the same vectors and as many hits;
- **recall over FTS5**: recall over FTS5 on every word of the question, by median;
- **a new process**: the time of its first search, imports included, and the memory of its own then (pages that no
  file backs), at 100,000 turns over at 1,000: the median of several processes that take turns;
- **1,000,000 over 10,000**: recall, by median;
- **embedder over ingest**: the time to embed 1,000 turns over that to store and index them with `append_many`; and
  both beside the floor: the very same rows, ready-made, by plain statements in one transaction, and the vectors;
- **ingesting over idle**: recall while another process ingests 10,000 turns over before and after; the figure for
  a thread of the same process, where the two share one interpreter, is printed too.

An exact search by numpy stands beside them. What leaving out frequent
words costs in quality is told by `pruning`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import fmean, median

import apsw
import numpy as np
from rich.console import Console

from bench import pruning, rivals
from bench.goals import Figures, Goal, table
from bench.measure import Call, p99, times
from bench.progress import step
from bench.rivals import in_turn
from bench.speech import SESSION, Speech
from lifelong import Memory, User
from lifelong.home import Home
from lifelong.models.embedders.static import StaticEmbedder
from lifelong.recall.candidates import Corpus, Numbers
from lifelong.recall.index_state import IndexStates
from lifelong.recall.query import parse_query
from lifelong.recall.search import MIN_CANDIDATES
from lifelong.types import utc_now
from lifelong.vectors.base import VectorPartition

SIZES = {"1k": 1_000, "10k": 10_000, "100k": 100_000}
LARGE = {"1m": 1_000_000}
MOST_CHROMA = 100_000  # turns; more take Chroma too long to index
BUSY = "10k"  # the size at which others write
ADDED = 10_000
QUESTIONS = 200
COLD_RUNS = 7
BLOCKS, BLOCK = 10, 20
HERE = Path(__file__).parent.parent
BATCH, BATCHES = 1_000, 10
ROWS = ("session_history", "items", "item_vectors")  # of a turn; its words stand in the index only

GOALS = {
    "p50_10k_over_parts": Goal("recall over its parts at 10,000", "≤", 2),
    "p50_100k_over_parts": Goal("recall over its parts at 100,000", "≤", 2),
    "p50_100k_over_fts5": Goal("recall over FTS5 on every word at 100,000", "≤", 0.6),
    "cold_100k_over_1k": Goal("first search of a new process at 100,000 over at 1,000", "≤", 1.5),
    "cold_memory_100k_over_1k": Goal("its own memory then, at 100,000 over at 1,000", "≤", 1.3),
    "vector_100k_over_chroma": Goal("vector search over Chroma's at 100,000", "≤", 1),
    "p50_1m_over_10k": Goal("recall at 1,000,000 over at 10,000", "≤", 20),
    "ingest_over_embedder": Goal("the embedder's time over that of ingest", "≥", 0.5),
    "p50_ingesting_over_idle": Goal("recall while another process ingests, over idle", "≤", 3),
}
OF_A_SIZE = {
    "recall_{}_us": "recall, µs",
    "recall_{}_p99_us": "recall, the slowest in a hundred, µs",
    "embedder_{}_us": "embedder alone, µs",
    "pruned_{}_us": "pruned full text alone, µs",
    "vector_{}_us": "vector search alone, µs",
    "exact_{}_us": "exact search by numpy, µs",
    "chroma_{}_us": "Chroma, µs",
    "fts5_{}_us": "FTS5 over every word, µs",
    "found_{}": "questions whose turn is among five hits, %",
    "disk_{}_bytes": "bytes a turn on disk",
    "cold_{}_ms": "first search of a new process, ms",
    "cold_memory_{}_mb": "own memory of a process that has recalled once, MB",
}
ALSO = {
    "p50_10k_over_parts_one_by_one": "recall over its parts at 10,000, in turns call by call",
    "p50_100k_over_parts_one_by_one": "recall over its parts at 100,000, in turns call by call",
    "p99_ingesting_over_idle": "the slowest in a hundred while another process ingests, over idle",
    "p50_ingesting_same_process_over_idle": "recall while a thread of this process ingests, over idle",
    "p99_ingesting_same_process_over_idle": "the slowest in a hundred of these, over idle",
    "floor_over_embedder": "the embedder's time over that of the same rows by plain statements, and the vectors",
    "ingest_over_floor": "ingest over these",
    "ingest_us": "ingest, µs a turn",
    "embed_us": "embedder, µs a turn",
    "pruning_r10": "LongMemEval-S in one user, turn R@10, %",
    "pruning_r10_unlimited": "the same, looking up every word, %",
}


def run() -> Figures:
    """Measure, print the table, return the figures."""
    console = Console()
    figures: Figures = {}
    sizes = SIZES | (LARGE if os.environ.get("BENCH_LARGE") else {})
    with tempfile.TemporaryDirectory(prefix="lifelong-bench-") as name:
        folder = Path(name)
        with step(console, "ingest"):
            figures |= ingest(folder / "ingest")
        for key, size in sizes.items():
            with step(console, f"{size:,} turns"):
                figures |= at_size(folder / key, folder / f"{key}-rivals", key, size)
        with step(console, "new processes"):
            figures |= cold({key: folder / key for key in sizes})
        with step(console, "ingesting meanwhile"):
            figures |= meanwhile(folder / BUSY)
    figures |= pruning.run(console)
    figures["p50_100k_over_fts5"] = figures["recall_100k_us"] / figures["fts5_100k_us"]
    for name, unit in (("cold", "ms"), ("cold_memory", "mb")):
        figures[f"{name}_100k_over_1k"] = figures[f"{name}_100k_{unit}"] / figures[f"{name}_1k_{unit}"]
    figures["vector_100k_over_chroma"] = figures["vector_100k_us"] / figures["chroma_100k_us"]
    if "1m" in sizes:
        figures["p50_1m_over_10k"] = figures["recall_1m_us"] / figures["recall_10k_us"]
    else:
        console.print("1,000,000 turns take long: set BENCH_LARGE=1 to measure them too.")
    of_sizes = {k.format(key): f"{size:,} turns: {v}" for key, size in sizes.items() for k, v in OF_A_SIZE.items()}
    console.print(table("recall", figures, GOALS, ALSO | of_sizes))
    return figures


# Recall and its parts


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about one turn, and the record that it is."""

    text: str
    record_id: int


def at_size(home: Path, beside: Path, key: str, size: int) -> Figures:
    asked = fill(home, size)
    with Memory.open(home) as memory:
        files = [*home.glob("*.db*"), *home.glob("users/*/index/*/*.segment")]
        figures = {
            f"disk_{key}_bytes": sum(file.stat().st_size for file in files) / size,
            f"found_{key}": 100 * fmean(_finds(memory, one) for one in asked),
        }
        beside.mkdir()
        calls = parts(memory, [one.text for one in asked]) | others(memory, beside, size, asked)
        taken = dict(zip(calls, times(list(calls.values()), blocks=BLOCKS, size=BLOCK), strict=True))
        one_by_one = dict(zip(calls, times(list(calls.values()), blocks=BLOCKS * BLOCK, size=1), strict=True))
    figures |= {f"{name}_{key}_us": median(mine) for name, mine in taken.items()}
    figures[f"p50_{key}_over_parts"] = _over_parts(taken)
    figures[f"p50_{key}_over_parts_one_by_one"] = _over_parts(one_by_one)
    return figures | {f"recall_{key}_p99_us": p99(taken["recall"])}


def _over_parts(taken: Mapping[str, Sequence[float]]) -> float:
    return median(taken["recall"]) / sum(median(taken[part]) for part in ("embedder", "pruned", "vector"))


def _finds(memory: Memory, one: Asked) -> bool:
    return one.record_id in {hit.record_id for hit in memory.search(one.text)}


def parts(memory: Memory, questions: Sequence[str]) -> dict[str, Call]:
    """Whole recalls, and each part by itself."""
    reader, vectors = memory._parts.recall._reader, memory._parts.shared.vectors("default")
    corpus, queries = _asked_of(memory, questions)
    partition = VectorPartition("default", corpus.identity)
    embedder = StaticEmbedder()
    asks = [parse_query(question, utc_now(), corpus.named) for question in questions]
    return {
        "recall": in_turn(memory.search, questions),
        "embedder": in_turn(lambda text: embedder.embed_query(text, {}), questions),
        "pruned": in_turn(lambda one: reader._by_words(corpus, one, reader.postings(corpus, one)), asks),
        "vector": in_turn(lambda query: vectors.nearest(partition, query, MIN_CANDIDATES), queries),
    }


def others(memory: Memory, folder: Path, size: int, asked: Sequence[Asked]) -> dict[str, Call]:
    """The same by other means."""
    questions = [one.text for one in asked]
    corpus, queries = _asked_of(memory, questions)
    shared = memory._parts.shared
    ids = shared.database.read(lambda tx: IndexStates(tx).with_vector("default"))
    rows = shared.vectors("default").get(VectorPartition("default", corpus.identity), ids)
    texts = (turn.text for turn in islice(Speech(size).turns(), size))
    calls = {
        "exact": rivals.exact(rows, queries, MIN_CANDIDATES),
        "fts5": rivals.raw_full_text(folder / "raw.fts", texts, questions, MIN_CANDIDATES),
    }
    if size <= MOST_CHROMA:
        calls["chroma"] = rivals.chroma(folder / "chroma", rows, queries, MIN_CANDIDATES)
    return calls


def _asked_of(memory: Memory, questions: Sequence[str]) -> tuple[Corpus, Numbers]:
    """What a search knows of all items, and the questions as vectors."""
    recall = memory._parts.recall
    corpus = recall._corpus()
    asks = [parse_query(question, utc_now(), corpus.named) for question in questions]
    return corpus, np.array([recall._vector(corpus, one, recall._reader.postings(corpus, one)) for one in asks])


# A new process


def cold(homes: Mapping[str, Path]) -> Figures:
    """New processes that search once, in turns."""
    taken: dict[str, list[tuple[float, float]]] = {key: [] for key in homes}
    for _ in range(COLD_RUNS):
        for key, home in homes.items():
            milliseconds, megabytes = _child(home, "cold").split()
            taken[key].append((float(milliseconds), float(megabytes)))
    return {
        f"{name}_{key}_{unit}": median(one[place] for one in mine)
        for key, mine in taken.items()
        for place, (name, unit) in enumerate((("cold", "ms"), ("cold_memory", "mb")))
    }


def fill(home: Path, size: int) -> list[Asked]:
    """So many turns, indexed; and questions about some of them."""
    speech, asked = Speech(size), Speech(0)
    questions = []
    with Memory.open(home, storage={"synchronous": "normal"}) as memory:
        agent = memory.agent(User("bench", "bench", "chat"))
        for number, session in enumerate(islice(speech.sessions(), size // SESSION)):
            records = memory.append_many(agent, session)
            memory.sessions.reset(agent)
            if number % max(1, size // SESSION // QUESTIONS) == 0:
                questions.append(Asked(asked.question(session[number % SESSION]), records[number % SESSION]))
        memory._parts.shared.index_worker.run_until_idle()
    return questions


# Writing


def ingest(home: Path) -> Figures:
    """Batches stored and indexed, and embedded only, in turns."""
    embedder, turns = StaticEmbedder(), Speech(BATCH).turns()
    storing, embedding = [], []
    with Memory.open(home) as memory:
        agent = memory.agent(User("bench", "bench", "chat"))
        for _ in range(BATCHES + 1):
            batch = list(islice(turns, BATCH))
            started = time.perf_counter()
            memory.append_many(agent, batch)
            memory._parts.shared.index_worker.run_until_idle()
            stored = time.perf_counter()
            embedder.embed([turn.text for turn in batch])
            storing.append(stored - started)
            embedding.append(time.perf_counter() - stored)
    ours, theirs = median(storing[1:]), median(embedding[1:])
    least = theirs + floor(home, home.with_name("floor"))
    return {
        "ingest_over_embedder": theirs / ours,
        "floor_over_embedder": theirs / least,
        "ingest_over_floor": ours / least,
        "ingest_us": ours / BATCH * 1e6,
        "embed_us": theirs / BATCH * 1e6,
    }


def floor(home: Path, empty: Path) -> float:
    """Seconds that the rows of a batch take by plain statements, in a database of the same tables."""
    Memory.open(empty).close()
    source, target = (apsw.Connection(str(Home(place).database)) for place in (home, empty))
    target.execute("PRAGMA synchronous = FULL").fetchall()
    rows = {name: source.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in ROWS}
    stems: list[tuple[int, bytes]] = source.execute("SELECT id, stems FROM items ORDER BY id").fetchall()  # type: ignore[assignment]
    rows["item_words (rowid, words)"] = [
        (id_, " ".join(f"0123456{stem:08x}" for stem in array("I", packed))) for id_, packed in stems
    ]
    taken = []
    for start in range(0, len(stems), BATCH):
        began = time.perf_counter()
        target.execute("BEGIN IMMEDIATE")
        for name, every in rows.items():
            some = every[start : start + BATCH]
            target.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(some[0]))})", some)
        target.execute("COMMIT")
        taken.append(time.perf_counter() - began)
    return median(taken[1:])


def meanwhile(home: Path) -> Figures:
    """Recall while another process, and then while a thread of this one, ingests."""
    figures = {}
    with Memory.open(home) as memory:
        recall = in_turn(
            memory.search, [Speech(0).question(turn) for turn in islice(Speech(7).turns(), QUESTIONS)]
        )
        ways: dict[str, Callable[[], AbstractContextManager[Callable[[], bool]]]] = {
            "ingesting": lambda: _in_process(home),
            "ingesting_same_process": lambda: _in_thread(memory),
        }
        for name, ingesting in ways.items():
            idle = times([recall], blocks=1, size=QUESTIONS)[0]
            with ingesting() as goes_on:
                busy = []
                while goes_on():
                    started = time.perf_counter_ns()
                    recall()
                    busy.append((time.perf_counter_ns() - started) / 1000)
            idle += times([recall], blocks=1, size=QUESTIONS)[0]
            figures[f"p50_{name}_over_idle"] = median(busy) / median(idle)
            figures[f"p99_{name}_over_idle"] = p99(busy) / p99(idle)
    return figures


@contextmanager
def _in_process(home: Path) -> Iterator[Callable[[], bool]]:
    """Begins when the other process does."""
    with subprocess.Popen(_command(home, "ingest"), stdout=subprocess.PIPE, cwd=HERE) as process:
        assert process.stdout
        process.stdout.readline()
        yield lambda: process.poll() is None
    if process.returncode:
        raise RuntimeError("The process that ingests has failed.")


def _command(home: Path, what: str) -> list[str]:
    module = "bench.cold" if what == "cold" else "bench.recall"
    return [sys.executable, "-m", module, str(home), what]


def _child(home: Path, what: str) -> str:
    return subprocess.run(_command(home, what), stdout=subprocess.PIPE, check=True, cwd=HERE, text=True).stdout


@contextmanager
def _in_thread(memory: Memory) -> Iterator[Callable[[], bool]]:
    thread = threading.Thread(target=add_turns, args=(memory, 8))
    thread.start()
    yield thread.is_alive
    thread.join()


def add_turns(memory: Memory, seed: int) -> None:
    agent = memory.agent(User("bench", f"writer {seed}", "chat"))
    turns = Speech(seed).turns()
    for _ in range(ADDED // BATCH):
        memory.append_many(agent, list(islice(turns, BATCH)))
        memory._parts.shared.index_worker.run_until_idle()


if __name__ == "__main__":
    with Memory.open(Path(sys.argv[1])) as opened:
        print("begins", flush=True)
        add_turns(opened, 9)
