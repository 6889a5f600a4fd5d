"""C7, C10: what was acknowledged is there, whatever happens to the process or the server."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lifelong import LifelongError, Memory, UserMessage
from tests.conftest import OpenMemory, PostgresServer

WRITER = Path(__file__).with_name("writer.py")
soak = pytest.mark.soak


@dataclass
class Writer:
    """A writer process, and what it has said so far."""

    process: subprocess.Popen[str]
    acknowledged: dict[int, tuple[str, str]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def read_until(self, acknowledged: int = 0, errors: int = 0) -> None:
        """Read on until so many records were acknowledged and so many errors met."""
        assert self.process.stdout
        while len(self.acknowledged) < acknowledged or len(self.errors) < errors:
            line = self.process.stdout.readline()
            assert line, f"the writer ended: {self.process.wait()}"
            self._take(line)

    def kill(self) -> None:
        """End it at once, then read what it had still said. A line it had not finished was not said."""
        self.process.send_signal(signal.SIGKILL)
        self.finish()

    def finish(self) -> int:
        assert self.process.stdout
        for line in self.process.stdout.read().splitlines(keepends=True):
            self._take(line)
        return self.process.wait()

    def _take(self, line: str) -> None:
        if line.startswith("ok ") and line.endswith("\n"):
            _, record_id, agent_id, text = line.rstrip("\n").split(" ", 3)
            self.acknowledged[int(record_id)] = (agent_id, text)
        elif line.startswith("error "):
            self.errors.append(line.removeprefix("error ").strip())


@contextmanager
def writer(home: Path, storage: dict[str, Any], name: str, count: int = 0) -> Iterator[Writer]:
    command = [sys.executable, str(WRITER), str(home), json.dumps(storage), name, str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        try:
            yield Writer(process)
        finally:
            process.kill()


def check_kept(memory: Memory, acknowledged: dict[int, tuple[str, str]]) -> None:
    """Every acknowledged record is there, once, as it was said; the database is sound; the marks fit."""
    assert memory.admin.check() == []
    stored: dict[int, tuple[str, str]] = {}
    texts: list[str] = []
    for agent in memory.agents.list():
        for session in memory.sessions.list(agent):
            records = memory.sessions.history(session)
            assert [r.id for r in records] == sorted({r.id for r in records})
            for recorded in records:
                assert isinstance(recorded.record, UserMessage)
                stored[recorded.id] = (agent.id, recorded.record.text)
                texts.append(recorded.record.text)
            if len(records) > memory.settings.collect.turn_threshold or (records and session.ended_at):
                assert session.invalidated_at == records[-1].id, "stored, and not marked"
    assert {record_id: stored.get(record_id) for record_id in acknowledged} == acknowledged
    assert len(texts) == len(set(texts)), "a retried record was stored twice"


@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=soak)])
def test_a_killed_writer_loses_nothing_it_acknowledged(
    tmp_path: Path, storage: dict[str, Any], open_memory: OpenMemory, kills: int
) -> None:
    """C10: SIGKILL at random points, again and again, on one home."""
    chance = random.Random(kills)
    acknowledged: dict[int, tuple[str, str]] = {}
    for number in range(kills):
        with writer(tmp_path / "home", storage, f"w{number}") as victim:
            victim.read_until(acknowledged=chance.randrange(1, 120))
            time.sleep(chance.uniform(0, 0.003))
            victim.kill()
            acknowledged |= victim.acknowledged
        memory = open_memory()
        if number % 10 == 0 or number == kills - 1:
            check_kept(memory, acknowledged)
        memory.close()
    assert len(acknowledged) >= kills


@pytest.mark.parametrize(("processes", "appends"), [(4, 50), pytest.param(8, 500, marks=soak)])
def test_processes_that_append_at_once_lose_nothing(
    tmp_path: Path, storage: dict[str, Any], open_memory: OpenMemory, processes: int, appends: int
) -> None:
    """C7: several processes on one home: no error, nothing lost, ids strictly growing for each of them."""
    acknowledged: dict[int, tuple[str, str]] = {}
    names = [f"p{number}" for number in range(processes)]
    managers = [writer(tmp_path / "home", storage, name, appends) for name in names]
    writers = [manager.__enter__() for manager in managers]
    try:
        for each in writers:
            assert each.finish() == 0
            assert each.errors == []
            ids = list(each.acknowledged)
            assert ids == sorted(ids)
            assert len(ids) == appends
            acknowledged |= each.acknowledged
    finally:
        for manager in managers:
            manager.__exit__(None, None, None)
    assert len(acknowledged) == processes * appends
    check_kept(open_memory(), acknowledged)


@pytest.mark.parametrize("stops", [1, pytest.param(5, marks=soak)])
def test_a_server_that_stops_and_starts_under_a_writer(
    tmp_path: Path, own_postgres: PostgresServer, stops: int
) -> None:
    """C10: clear errors while PostgreSQL is down, recovery after, no acknowledged record missing."""
    storage = {"url": own_postgres.url, "connect_timeout": 1}
    with writer(tmp_path / "home", storage, "w") as busy:
        for _ in range(stops):
            busy.read_until(acknowledged=len(busy.acknowledged) + 30)
            own_postgres.stop()
            down = len(busy.errors)
            while not any("does not answer" in error and "start it" in error for error in busy.errors[down:]):
                busy.read_until(errors=len(busy.errors) + 1)
            own_postgres.start()
            busy.read_until(acknowledged=len(busy.acknowledged) + 30)
        busy.kill()
    assert all(error.startswith(("StorageUnavailable ", "OutcomeUnknown ")) for error in busy.errors)
    with Memory.open(tmp_path / "home", storage=storage) as memory:
        check_kept(memory, busy.acknowledged)


def test_the_check_would_notice_a_lost_record(memory: Memory) -> None:
    """The proof above can fail."""
    with pytest.raises((AssertionError, LifelongError)):
        check_kept(memory, {1: ("nobody", "never stored")})
