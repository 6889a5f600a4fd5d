"""What it takes to forget: a record of a small memory against one of a large memory, a user, and the proof.

Both homes hold the same kind of talk, organized and indexed by the rules, and are opened with the library's
defaults. Records are chosen at random among what people said; forgetting one takes it out of history, documents,
index, vectors and the database's file, and waits until that is durable. BENCH_TURNS says how many turns the large
memory has, for a quick try.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory

from rich.console import Console

from bench.goals import Figures, Goal, table
from bench.growth import SESSION, SPEAKERS, Talk
from bench.progress import step
from lifelong import Memory, Store, User

FEW = 1_000
MANY = int(os.environ.get("BENCH_TURNS", "100000"))
USER = "talker"
ROUNDS = 25
WARM_UP = 3
PROOFS = 3
PER_ORGANIZING = 20  # sessions

GOALS = {"forget_100k_over_1k": Goal("a record of 100,000 over one of 1,000", "≤", 3)}

ALSO = {
    "forget_1k_ms": "a record of 1,000, ms",
    "forget_100k_ms": "a record of 100,000, ms",
    "forget_slowest_100k_ms": "the slowest of them, ms",
    "proof_1k_ms": "the proof of one, 1,000 records, ms",
    "proof_100k_ms": "the proof of one, 100,000 records, ms",
    "forget_user_1k_s": "a user with 1,000 records, s",
    "forget_user_100k_s": "a user with 100,000 records, s",
    "forget_user_per_record_100k_over_1k": "a user's record, 100,000 over 1,000",
}


def run() -> Figures:
    """Measure, print the table, return the figures."""
    console = Console()
    with TemporaryDirectory() as folder:
        homes = {"1k": Path(folder, "few"), "100k": Path(folder, "many")}
        for (key, home), turns in zip(homes.items(), (FEW, MANY), strict=True):
            with step(console, f"{turns:,} turns ({key})"):
                fill(home, turns)
        with step(console, "forgetting"):
            figures = measured(homes)
    console.print(table("forgetting", figures, GOALS, ALSO))
    return figures


def fill(home: Path, turns: int) -> None:
    """Store, organize and index so many turns."""
    talk = Talk(seed=1)
    with Store.open(home, organize={"organizer": "rules"}, storage={"synchronous": "normal"}) as store:
        memory = store.user(USER)
        agents = {who: memory.agent(User("bench", who, "chat")) for who in SPEAKERS}
        for number in range(turns // SESSION):
            speaker, said = talk.next()
            memory.append_many(agents[speaker], said)
            memory.sessions.reset(agents[speaker])
            if number % PER_ORGANIZING == PER_ORGANIZING - 1:
                store.organize()
        memory.organize()


def measured(homes: dict[str, Path]) -> Figures:
    """Forget records of both memories in turns, then prove it, then forget the users."""
    figures: Figures = {}
    with ExitStack() as opened:
        stores = {key: opened.enter_context(Store.open(home)) for key, home in homes.items()}
        memories = {key: store.user(USER) for key, store in stores.items()}
        said = {key: iter(Random(5).sample(records_of(memory), ROUNDS)) for key, memory in memories.items()}
        taken: dict[str, list[float]] = {key: [] for key in homes}
        for _ in range(ROUNDS):
            for key, memory in memories.items():
                taken[key].append(forget_one(memory, next(said[key])))
        for key, times in taken.items():
            figures[f"forget_{key}_ms"] = median(times[WARM_UP:]) * 1000
        figures["forget_slowest_100k_ms"] = max(taken["100k"][WARM_UP:]) * 1000
        figures["forget_100k_over_1k"] = figures["forget_100k_ms"] / figures["forget_1k_ms"]
        for key, memory in memories.items():
            figures[f"proof_{key}_ms"] = median(prove_one(memory, number) for number in range(PROOFS)) * 1000
        for key, store in stores.items():
            figures[f"forget_user_{key}_s"] = forget_user(store)
    each = {key: figures[f"forget_user_{key}_s"] / turns for key, turns in (("1k", FEW), ("100k", MANY))}
    return figures | {"forget_user_per_record_100k_over_1k": each["100k"] / each["1k"]}


def records_of(memory: Memory) -> list[str]:
    """Return the ids of what was said in some of the sessions."""
    sessions = [session for agent in memory.agents.list() for session in memory.sessions.list(agent)]
    chosen = Random(5).sample(sessions, min(len(sessions), 4 * ROUNDS))
    return [
        f"r{one.id}"
        for session in chosen
        for one in memory.sessions.history(session)
        if one.record.type == "user_message"
    ]


def forget_one(memory: Memory, record: str) -> float:
    """Return how many seconds it takes to forget a record."""
    started = time.perf_counter()
    report = memory.forget(record)
    if not report.complete or report.records != (record,):
        raise AssertionError(f"{record} was not forgotten: {report}")
    return time.perf_counter() - started


def prove_one(memory: Memory, number: int) -> float:
    """Return how many seconds it takes to prove that something is gone that held three words of its own."""
    (record,) = memory.add(f"I met Zqvara{number} near Kxholm{number} on Wzgade{number} yesterday.")
    memory.end_session()
    memory.organize()
    report = memory.forget(record)
    started = time.perf_counter()
    proof = memory.admin.prove_forgotten(report)
    if not proof.clean or not proof.words:
        raise AssertionError(f"Something is left: {proof}")
    return time.perf_counter() - started


def forget_user(store: Store) -> float:
    """Return how many seconds it takes to forget the whole user."""
    started = time.perf_counter()
    if not store.forget_user(USER).complete:
        raise AssertionError("The user was not forgotten.")
    return time.perf_counter() - started
