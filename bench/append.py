"""What a durable append costs, against what the database alone would take for it.

Measured on SQLite (WAL, `synchronous=FULL`) and on a PostgreSQL of our own, always in turns and as ratios,
for a message of about 190 characters in a session past the threshold, so that every append also marks:

- **sequential over floor**: `Memory.append` in one thread against the same statements on a raw connection
  (see `databases`), on homes in the same state, by median.
- **64 threads over sequential**: the throughput of 64 callers against that of one, with the same agent.
- **64 threads over own commits**: the same 64 against as many with a raw connection each, who run the same
  statements and commit for themselves.
- **a million over a thousand**: the median append to a home of a million records against one of a thousand.
- **4 processes**: the throughput of four processes with 200 appends each against four that only insert the
  message into a SQLite file, each committing for itself, and how much longer the slowest hundredth takes than the
  median (see `processes`). SQLite only: PostgreSQL queues its writers itself.
- **syncs an append**: how often SQLite asks the disk to keep what it was given.

The crowd's goals are judged with one agent for all 64. That is the kinder workload: a group then takes one row
and sets one mark, and on PostgreSQL the raw connections queue for that one row, which flatters our ratio there.
Read them beside the rows "own agents", where each caller has an agent of its own; those and the plain figures
carry no goal.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median
from uuid import uuid4

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from bench.databases import MESSAGE, Ground, PostgresGround, SQLiteGround
from bench.goals import Figures, Goal, table
from bench.measure import Call, medians, rates
from bench.processes import several_processes
from bench.syncs import sync_us, syncs_per_append
from lifelong import Agent, Memory, User
from lifelong.storage.base import Transaction
from lifelong.types import to_micros

THREADS = 64
ROUNDS = 3
BLOCKS, BLOCK = 20, 50
SESSION = 1_000  # records in a session of a filled home

GOALS = {
    "sequential_over_floor": Goal("sequential over floor, time", "≤", 1.5),
    "threads64_over_sequential": Goal("64 threads over sequential, rate", "≥", 4),
    "threads64_over_own_commits": Goal("64 threads over own commits, rate", "≥", 8),
    "million_over_thousand": Goal("a million over a thousand, time", "≤", 1.3),
    "processes_over_raw": Goal("4 processes over 4 that insert only, rate", "≥", 0.5),
    "processes_p99_over_p50": Goal("4 processes, p99 over p50", "≤", 20),
    "syncs_per_append": Goal("syncs an append", "=", 1),
}

ALSO = {
    "threads64_own_agents_over_sequential": "64 threads over sequential, own agents",
    "threads64_own_agents_over_own_commits": "64 threads over own commits, own agents",
    "fsync_us": "a sync of this disk, µs",
    "floor_us": "floor, µs",
    "sequential_us": "sequential, µs",
    "thousand_us": "with a thousand records, µs",
    "million_us": "with a million records, µs",
    "sequential_per_second": "sequential, a second",
    "threads64_per_second": "64 threads, a second",
    "own_commits_per_second": "own commits, a second",
    "sequential_own_agents_per_second": "sequential round 64 agents, a second",
    "threads64_own_agents_per_second": "64 threads, own agents, a second",
    "own_commits_own_agents_per_second": "own commits, own agents, a second",
    "processes_per_second": "4 processes, a second",
    "raw_processes_per_second": "4 that insert only, a second",
    "raw_processes_p99_over_p50": "4 that insert only, p99 over p50",
    "processes_longest_ms": "4 processes, the longest append, ms",
    "raw_processes_longest_ms": "4 that insert only, the longest insert, ms",
}

COLUMNS = {"SQLite": SQLiteGround.prefix, "PostgreSQL": PostgresGround.prefix}

Wiring = tuple[tuple[str, Callable[[Ground], Figures]], ...]


def run() -> Figures:
    """Measure, print the table, return the figures."""
    console = Console()
    figures: Figures = {}
    with (
        tempfile.TemporaryDirectory(prefix="lifelong-bench-") as name,
        PostgresGround.started(Path(name)) as postgres,
        _progress(console, 2 + 2 * len(PARTS)) as step,
    ):
        folder = Path(name)
        step("syncs")
        figures |= {"syncs_per_append": syncs_per_append(folder / "syncs"), "fsync_us": sync_us(folder)}
        step("SQLite: four processes")
        figures |= several_processes(folder)
        for ground, title in ((SQLiteGround(folder), "SQLite"), (postgres, "PostgreSQL")):
            for words, part in PARTS:
                step(f"{title}: {words}")
                figures |= {ground.prefix + key: value for key, value in part(ground).items()}
    console.print(table("a durable append", figures, GOALS, ALSO, COLUMNS))
    return figures


# The parts


def lone(ground: Ground) -> Figures:
    """One thread, against the floor."""
    with _pair(ground, "lone") as (ours, raw):
        sequential, floor = medians([*ours, *raw], blocks=BLOCKS, size=BLOCK)
    return {"sequential_over_floor": sequential / floor, "sequential_us": sequential, "floor_us": floor}


def crowd(ground: Ground) -> Figures:
    """64 threads with one agent, against one thread, and against 64 that commit for themselves."""
    with _pair(ground, "crowd", connections=THREADS) as (ours, raw):
        return _compare("", ours[0], [*ours] * THREADS, raw)


def crowd_of_agents(ground: Ground) -> Figures:
    """The same, each thread with an agent of its own; the one thread goes round all of them."""
    with _pair(ground, "agents", agents=THREADS, connections=THREADS) as (ours, raw):
        turns = cycle(ours)
        return _compare("own_agents_", lambda: next(turns)(), ours, raw)


def growth(ground: Ground) -> Figures:
    """A home of a million records, against one of a thousand."""
    for home, sessions in (("thousand", 1), ("million", 1_000)):
        with ground.open(home) as memory:
            _fill(memory, sessions)
    ground.settle()
    with ground.open("thousand") as small, ground.open("million") as large:
        calls = [_append(memory, _agents(memory, 1)[0]) for memory in (small, large)]
        thousand, million = medians(calls, blocks=BLOCKS, size=BLOCK)
    return {"million_over_thousand": million / thousand, "thousand_us": thousand, "million_us": million}


PARTS: Wiring = (
    ("one thread and the floor", lone),
    ("64 threads", crowd),
    ("64 threads, an agent each", crowd_of_agents),
    ("a thousand records and a million", growth),
)


def _compare(which: str, one: Call, ours: Sequence[Call], raw: Sequence[Call]) -> Figures:
    taken = rates([([one], 1.5), (ours, 2.5), (raw, 4)], rounds=ROUNDS)
    sequential, together, apart = (median(column) for column in zip(*taken, strict=True))
    return {
        f"threads64_{which}over_sequential": median(many / single for single, many, _ in taken),
        f"threads64_{which}over_own_commits": median(many / own for _, many, own in taken),
        f"sequential_{which}per_second": sequential,
        f"threads64_{which}per_second": together,
        f"own_commits_{which}per_second": apart,
    }


# Homes


@contextmanager
def _pair(
    ground: Ground, name: str, *, agents: int = 1, connections: int = 1
) -> Iterator[tuple[Sequence[Call], Sequence[Call]]]:
    """An append to each of so many agents through a memory; and the same on so many raw connections, to a
    home that was made the same way."""
    beneath = f"{name}_floor"
    with ground.open(beneath, connections=1) as twin:
        scripts = [ground.trace(twin, agent) for agent in _agents(twin, agents)]
    with ExitStack() as opened:
        memory = opened.enter_context(ground.open(name))
        floors = [opened.enter_context(closing(ground.floor(beneath))) for _ in range(connections)]
        yield (
            [_append(memory, agent) for agent in _agents(memory, agents)],
            [partial(floor.append, script) for floor, script in zip(floors, cycle(scripts), strict=False)],
        )


def _agents(memory: Memory, count: int) -> list[Agent]:
    """Agents with a session each that has passed the threshold."""
    agents = [memory.agent(User("bench", f"speaker {number}", "main")) for number in range(count)]
    for agent in agents:
        memory.append_many(agent, [MESSAGE] * (memory.settings.collect.turn_threshold + 1))
    return agents


def _append(memory: Memory, agent: Agent) -> Call:
    return partial(memory.append, agent, MESSAGE)


def _fill(memory: Memory, sessions: int) -> None:
    """A thousand records in each of so many sessions of an agent, all of them talking at once."""
    agent = _agents(memory, 1)[0]
    now = to_micros(datetime.now(UTC))

    def work(tx: Transaction) -> None:
        tx.many(
            "INSERT INTO sessions (id, agent_id, created_at, ended_at) VALUES (?, ?, ?, ?)",
            [(uuid4().hex, agent.id, now, now) for _ in range(sessions - 1)],
        )
        for _ in range(SESSION):
            tx.run(
                "INSERT INTO session_history (session_id, type, provenance, at, recorded_at, data) "
                "SELECT s.id, h.type, h.provenance, h.at, h.recorded_at, h.data "
                "FROM sessions s, session_history h WHERE h.id = 1"
            )

    memory._parts.shared.database.write(work)


# What is seen


@contextmanager
def _progress(console: Console, steps: int) -> Iterator[Callable[[str], None]]:
    """Says what is being measured. Drawn between the steps only: a thread that draws would be measured too."""
    columns = BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as progress:
        task = progress.add_task("", total=steps)
        begun = False

        def step(words: str) -> None:
            nonlocal begun
            progress.update(task, advance=int(begun), description=words, refresh=True)
            begun = True

        yield step
