"""lifelong beside mem0, Chroma, LangGraph's store and FTS5: what is found, how quickly, how durably.

- **quality**: LoCoMo, the share of a question's evidence among the first ten turns (with
  LIFELONG_BENCH_DATA);
- **speed**: the median search at 100,000 turns (mem0: 10,000), over lifelong's;
- **durable adds**: one at a time, the median, over lifelong's;
- **kill -9**: adds that were acknowledged before the process was killed, and are gone afterwards.

All get the same texts, and the peers the vectors of the bundled embedder, ready-made. mem0 runs without a model
(`infer=False`). Each runs in a process of its own (`peer.py`); the peers in an environment that is built for this,
`.venv-peers`, with the newest releases.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import fmean, median

import numpy as np
from rich.console import Console

from bench import haystacks, locomo
from bench.goals import Goal, table
from bench.progress import step
from bench.speech import Speech
from lifelong.models.embedders.static import StaticEmbedder

PACKAGES = ("mem0ai", "chromadb", "langgraph", "langgraph-checkpoint-sqlite", "sqlite-vec", "pysqlite3-binary")
NAMES = ("lifelong", "fts5", "chroma", "langgraph", "mem0")
PEER = Path(__file__).with_name("peer.py")
ENVIRONMENT = Path(__file__).parent.parent / ".venv-peers"
SIZE = int(os.environ.get("BENCH_PEERS_SIZE", "100000"))
LARGEST = {"mem0": 10_000}  # turns; its local store takes 20 ms to insert one
QUESTIONS = 40
ADDS = 300
KILLS = 3
ACKNOWLEDGED = 60  # adds before a kill

Figures = dict[str, float]


def run() -> Figures:
    """Measure, print the table, return the figures."""
    console = Console()
    with step(console, "the peers' environment"):
        build()
    figures: Figures = {}
    with tempfile.TemporaryDirectory(prefix="lifelong-bench-") as name:
        folder = Path(name)
        if found := locomo.data_folder():
            with step(console, "LoCoMo"):
                figures |= quality(folder / "quality", found)
        with step(console, "one add at a time"):
            figures |= adds(folder / "adds")
        with step(console, "kill -9"):
            figures |= kills(folder / "kills")
        for peer in NAMES:
            with step(console, f"{peer} with {size_for(peer):,} turns"):
                figures |= speed(folder / "speed", peer)
    for peer in NAMES[1:]:
        figures[f"search_over_lifelong_{peer}"] = figures[f"search_ms_{peer}"] / figures["search_ms_lifelong"]
        figures[f"add_over_lifelong_{peer}"] = figures[f"add_ms_{peer}"] / figures["add_ms_lifelong"]
    labels = {
        "locomo_r10": "LoCoMo, evidence in the first ten, %",
        "search_ms": "search, median, ms",
        "add_ms": "one add, median, ms",
        "lost_after_kill": f"lost of {KILLS * ACKNOWLEDGED} acknowledged adds",
        "search_over_lifelong": "search over lifelong's",
        "add_over_lifelong": "add over lifelong's",
    }
    named = {
        f"{key}_{peer}": f"{peer}: {what}" + (f", {size_for(peer):,} turns" if key == "search_ms" else "")
        for key, what in labels.items()
        for peer in NAMES
    }
    goals = {"lost_after_kill_lifelong": Goal("lifelong: lost of acknowledged adds", "≤", 0)}
    console.print(table("peers", figures, goals, named))
    return figures


def build() -> None:
    """Make the environment of the peers, if it is not there."""
    if not (ENVIRONMENT / "ready").exists():
        uv = [sys.executable, "-m", "uv"]
        python = str(ENVIRONMENT / "bin" / "python")
        subprocess.run([*uv, "venv", "--quiet", "--clear", "--python", sys.executable, ENVIRONMENT], check=True)
        subprocess.run([*uv, "pip", "install", "--quiet", "--python", python, *PACKAGES], check=True)
        (ENVIRONMENT / "ready").touch()


def quality(folder: Path, found_in: Path) -> Figures:
    """Fill each peer with a conversation, and ask what is asked of it."""
    shares: dict[str, list[float]] = {name: [] for name in NAMES}
    for number, haystack in enumerate(haystacks.from_locomo(found_in)):
        turns = [turn for sitting in haystack.sittings for turn in sitting.turns]
        texts = [f"{turn.speaker}: {turn.text}" for turn in turns]
        place = {turn.id: at for at, turn in enumerate(turns)}
        data = write(folder / f"data{number}", texts, [one.text for one in haystack.questions])
        sessions = [[[turn.speaker, turn.text] for turn in sitting.turns] for sitting in haystack.sittings]
        (data / "sessions.json").write_text(json.dumps(sessions), encoding="utf-8")
        for name in NAMES:
            home = folder / f"{name}{number}"
            call(name, "fill", home, data)
            found = json.loads(call(name, "search", home, data))["found"]
            for question, ranked in zip(haystack.questions, found, strict=True):
                if gold := {place[turn] for turn in question.turns}:
                    shares[name].append(len(gold & {*ranked}) / len(gold))
    return {f"locomo_r10_{name}": 100 * fmean(found) for name, found in shares.items()}


def speed(folder: Path, name: str) -> Figures:
    data = folder / f"data{size_for(name)}"
    if not data.exists():
        write(data, *speech(size_for(name)))
    call(name, "fill", folder / name, data)
    taken = json.loads(call(name, "search", folder / name, data))["seconds"]
    return {f"search_ms_{name}": 1000 * median(taken[QUESTIONS // 4 :])}  # once it is warm


def size_for(name: str) -> int:
    return min(SIZE, LARGEST.get(name, SIZE))


def adds(folder: Path) -> Figures:
    data = write(folder / "data", *speech(ADDS))
    figures = {}
    for name in NAMES:
        lines = call(name, "add", folder / name, data).splitlines()
        figures[f"add_ms_{name}"] = 1000 * median(float(line.split()[1]) for line in lines[ADDS // 10 :])
    return figures


def kills(folder: Path) -> Figures:
    data = write(folder / "data", *speech(10 * ACKNOWLEDGED))
    figures = {}
    for name in NAMES:
        lost = 0
        for number in range(KILLS):
            home = folder / f"{name}{number}"
            acknowledged = set(islice(until_killed(name, home, data), ACKNOWLEDGED))
            lost += len(acknowledged - set(json.loads(call(name, "count", home, data))))
        figures[f"lost_after_kill_{name}"] = float(lost)
    return figures


def until_killed(name: str, home: Path, data: Path) -> Iterator[int]:
    """Give the numbers that were acknowledged; once the caller has enough, the process is killed."""
    command = command_of(name, "add", home, data)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        try:
            for line in process.stdout:
                yield int(line.split()[0])
        finally:
            process.send_signal(signal.SIGKILL)


def call(name: str, task: str, home: Path, data: Path) -> str:
    done = subprocess.run(command_of(name, task, home, data), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} could not {task}: {done.stderr[-2_000:]}")
    return done.stdout


def command_of(name: str, task: str, home: Path, data: Path) -> list[str]:
    python = sys.executable if name == "lifelong" else str(ENVIRONMENT / "bin" / "python")
    return [python, str(PEER), name, task, str(home), str(data)]


def speech(size: int) -> tuple[list[str], list[str]]:
    """Return so many texts, no two alike, and questions about some of them."""
    turns = list(islice(Speech(size).turns(), size))
    asking = Speech(0)
    texts = list(dict.fromkeys(turn.text for turn in turns))
    return texts, [asking.question(turn) for turn in turns[:: max(1, size // QUESTIONS)]][:QUESTIONS]


def write(data: Path, texts: Sequence[str], questions: Sequence[str]) -> Path:
    """Write what `peer.py` reads."""
    data.mkdir(parents=True)
    embedder = StaticEmbedder()
    for name, some in (("texts", texts), ("questions", questions)):
        (data / f"{name}.json").write_text(json.dumps(some), encoding="utf-8")
        np.save(data / f"{name}.npy", embedder.embed(some))
    return data
