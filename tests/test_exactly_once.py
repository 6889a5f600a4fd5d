"""O2, O4, O9: every record reaches the memory-agent once and in order, whoever is killed; every changeset is
whole or absent."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lifelong import Agent, Memory, User, UserMessage
from lifelong.organize.facts import parse_facts
from lifelong.testing import FakeClock, in_threads
from tests.organizer import QUICKLY, CopyingOrganizer

ORGANIZER = Path(__file__).with_name("organizer.py")
OpenMemory = Callable[..., Memory]
soak = pytest.mark.soak


@contextmanager
def organizer(home: Path, storage: dict[str, Any]) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.organizer", str(home), json.dumps(storage)]
    folder = Path(__file__).parent.parent
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stdout
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()
            process.stdout.read()


def said(memory: Memory, agent: Agent) -> list[int]:
    return [
        recorded.id for session in memory.sessions.list(agent) for recorded in memory.sessions.history(session)
    ]


def learned(memory: Memory, agent: Agent, side: str) -> list[int]:
    document = memory.documents.find(f"~/memory/{side}-{agent.id}")
    return [record for fact in parse_facts(document.body) for record in fact.records] if document else []


def check_exactly_once(memory: Memory, agents: list[Agent]) -> None:
    for agent in agents:
        assert learned(memory, agent, "left") == said(memory, agent)
        assert learned(memory, agent, "right") == said(memory, agent)
    for changeset in memory.documents.changesets(1_000_000):
        touched = {edit.after.slug for edit in memory.documents.changes(changeset.id) if edit.after}
        sides = {slug.partition("-")[0] for slug in touched - {"memory"}}
        assert sides == {"left", "right"}, "a changeset committed by halves"


def drain(memory: Memory, seconds: float = 30.0) -> None:
    """Organize everything that is marked, also what a killed worker still holds the lease of."""
    end = time.monotonic() + seconds
    for agent in memory.agents.list():
        if agent.descriptor.kind == "user":
            memory.end_session(agent)
    while memory.organize().dispatched or memory.inbox.list("pending", "leased"):
        assert time.monotonic() < end, memory.inbox.list("pending", "leased", "dead")
        time.sleep(0.02)
    assert memory.inbox.list("dead") == []


@pytest.mark.parametrize("kills", [5, pytest.param(50, marks=soak)])
def test_killed_workers_deliver_every_record_once_and_in_order(
    tmp_path: Path, storage: dict[str, Any], kills: int
) -> None:
    """O2, O4, O9: SIGKILL at random points, two workers at once, appends going on."""
    chance = random.Random(kills)
    home = tmp_path / "home"
    with (
        Memory.open(home, storage=storage, organizer=CopyingOrganizer(), worker=QUICKLY) as memory,
        ExitStack() as others,
    ):
        agents = [memory.agent(User("cli", f"u{number}", "main")) for number in range(3)]
        others.enter_context(organizer(home, storage))
        for number in range(kills):
            with organizer(home, storage) as victim:
                for turn in range(chance.randrange(5, 30)):
                    agent = chance.choice(agents)
                    memory.append(agent, UserMessage(f"{number}.{turn}"))
                    if chance.random() < 0.05:
                        memory.sessions.reset(agent)
                time.sleep(chance.uniform(0, 0.1))
                victim.kill()
        drain(memory)
        check_exactly_once(memory, agents)
        assert memory.admin.check() == []
        assert memory.admin.health().status == "green"


def test_workers_at_once_in_one_process_share_the_work(tmp_path: Path, storage: dict[str, Any]) -> None:
    """O4: six threads process one home; nothing is done twice, and no agent's items overlap."""
    organizer = CopyingOrganizer(0.003)
    with ExitStack() as stack:
        memories = [
            stack.enter_context(
                Memory.open(tmp_path / "home", storage=storage, organizer=organizer, worker=QUICKLY)
            )
            for _ in range(6)
        ]
        agents = [memories[0].agent(User("cli", f"u{number}", "main")) for number in range(4)]

        def work(number: int) -> None:
            chance = random.Random(number)
            for turn in range(20):
                agent = chance.choice(agents)
                memories[number].append_many(agent, [UserMessage(f"{number}.{turn}.{n}") for n in range(3)])
                memories[number].organize()

        in_threads(6, work)
        drain(memories[0])
        check_exactly_once(memories[0], agents)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.sampled_from(["append", "many", "reset", "compact", "sleep", "process", "later"]), max_size=40
    )
)
def test_any_order_of_events_delivers_every_record_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    """O2: property."""
    clock = FakeClock()
    with Memory.open(
        tmp_path_factory.mktemp("home"), clock=clock, organizer=CopyingOrganizer(0), organize={"batch_records": 4}
    ) as memory:
        alice = memory.agent(User("cli", "alice", "main"))
        for step in steps:
            match step:
                case "append":
                    memory.append(alice, UserMessage("one"))
                case "many":
                    memory.append_many(alice, [UserMessage("some")] * 7)
                case "reset":
                    memory.sessions.reset(alice)
                case "compact":
                    memory.sessions.compact_context(alice, "what was said before")
                case "sleep":
                    memory.end_session(alice)
                case "process":
                    memory.organize()
                case _:
                    clock.turn(seconds=61)
        memory.end_session(alice)
        memory.organize()
        check_exactly_once(memory, [alice])
