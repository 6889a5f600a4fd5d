"""`lifelong worker`, as a person or a supervisor runs it: real processes on one memory (SPEC C0, O1, O4, O5)."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from lifelong import Memory, Store, User, UserMessage
from lifelong.errors import ConfigError, RunBudgetExceeded, StorageUnavailable
from lifelong.serve.worker import _status_notes, run
from lifelong.testing import ScriptedOrganizer
from lifelong.wiring import SharedParts
from tests.model_servers import ModelServer, Reply, call, results, say

WORKER = [sys.executable, "-m", "lifelong", "worker"]
QUICKLY = {"LIFELONG_WORKER_TICK_SECONDS": "0.1"}
SOON_LOST = {"LIFELONG_WORKER_LEASE_SECONDS": "2"}
RULES = {"LIFELONG_ORGANIZE_ORGANIZER": "rules"}

NOTE = {"slug": "log", "title": "Log", "description": "", "body": "", "parent_path": "~/memory"}


def once(home: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*WORKER, "--home", str(home), "--once", *words],
        env={**os.environ, **RULES, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def spawn() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts workers that go on until they are told; what still runs at the end is ended."""
    with ExitStack() as stack:

        def start(home: Path, *words: str, **environment: str) -> subprocess.Popen[str]:
            process = stack.enter_context(
                subprocess.Popen(
                    [*WORKER, "--home", str(home), *words],
                    env={**os.environ, **QUICKLY, **environment},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            stack.callback(process.kill)
            return process

        yield start


Spawn = Callable[..., subprocess.Popen[str]]


def end(process: subprocess.Popen[str], number: signal.Signals = signal.SIGTERM) -> str:
    """Tell it to stop; what it said on its standard output."""
    process.send_signal(number)
    said, complaints = process.communicate(timeout=60)
    assert process.returncode == 0, complaints
    assert "Traceback" not in complaints
    return said


def talk(home: Path, *people: str, user: str = "default", **settings: Any) -> None:
    """Somebody lives somewhere, and it waits to be organized."""
    with Memory.open(home, user, **settings) as memory:
        for name in people:
            agent = memory.agent(User("cli", name.lower(), "main"))
            memory.append(agent, UserMessage("I live in Porto.", name))
            memory.end_session(agent)


def known(home: Path, user: str = "default", **settings: Any) -> set[str]:
    with Memory.open(home, user, **settings) as memory:
        return {document.path for document in memory.documents.walk() if "I live in Porto" in document.body}


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def asking(server: ModelServer) -> dict[str, str]:
    """The environment of a worker whose model is on loopback."""
    return {
        "LIFELONG_ORGANIZE_ORGANIZER": "llm",
        "LIFELONG_MODELS_MODEL": "openai:gpt-4o-mini",
        "LIFELONG_MODELS_BASE_URL": server.base_url("openai"),
        "LIFELONG_MODELS_API_KEY": "k",
    }


# Once


def test_once_does_what_is_due_and_ends(tmp_path: Path) -> None:
    """O1: and says what it did, to programs too."""
    talk(tmp_path, "Mara", "Bob")
    done = once(tmp_path, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "organized": 2,
        "waiting": 0,
        "failed": 0,
        "health": "green",
        "reasons": [],
    }
    assert known(tmp_path) == {"~/memory/people/mara", "~/memory/people/bob"}
    again = once(tmp_path)
    assert again.returncode == 0
    assert "0 transcripts organized, 0 waiting, 0 failed." in again.stderr


def test_a_worker_serves_every_user_and_counts_them_all(tmp_path: Path) -> None:
    """C0, O1: it works for the whole home."""
    talk(tmp_path, "Mara")
    talk(tmp_path, "Bob", user="work")
    said = json.loads(once(tmp_path, "--json").stdout)
    assert known(tmp_path) == {"~/memory/people/mara"}
    assert known(tmp_path, "work") == {"~/memory/people/bob"}
    assert said["organized"] == 2


def test_a_user_without_an_agent_is_served_too(tmp_path: Path) -> None:
    """K3, R1: what was only written down there is found by its meaning."""
    with Memory.open(tmp_path, user="work") as memory:
        memory.notes.worker("tester").store("suite", "The whole suite takes seven minutes.")
    assert once(tmp_path).returncode == 0
    with Memory.open(tmp_path, user="work") as memory:
        assert [hit.kind for hit in memory.search("How long does the suite take?")] == ["note"]
        assert memory.admin.unindexed() == 0


def test_it_keeps_the_journal_of_every_user(tmp_path: Path, spawn: Spawn) -> None:
    """K3, O23, O25, guardrail 5: summaries and compaction, whichever user it is."""
    (tmp_path / "lifelong.toml").write_text(
        "[continuity]\njournal_enabled = true\nmemory_compaction_enabled = true\n"
        "memory_compaction_interval_ms = 50\nmemory_compaction_max_records = 3\n"
        "memory_compaction_min_age_days = 0\n"
    )
    for name in ("anna", "ben"):
        with Memory.open(tmp_path, user=name) as memory:
            agent = memory.agent(User("cli", name, "main"))
            for friend in ("Ada", "Bea", "Cleo", "Dora", "Edda", "Fay", "Gina", "Hope", "Ines"):
                memory.append(agent, UserMessage(f"{friend} keeps boats in the harbour of {name}."))
    assert once(tmp_path).returncode == 0
    pages = [tmp_path / "users" / name for name in ("anna", "ben")]
    assert all("boats" in (page / "MEMORY.md").read_text() for page in pages)
    worker = spawn(tmp_path, **RULES)
    wait_for(lambda: worker.poll() is not None or all((page / "LONGMEMORY.md").exists() for page in pages))
    assert worker.poll() is None, worker.communicate()


# Where it works


@pytest.mark.parametrize("words", [["--once"], []])
def test_a_home_that_is_not_there_is_an_error(tmp_path: Path, words: list[str]) -> None:
    """C0: a typing mistake must not make a new home."""
    missing = tmp_path / "missing"
    done = subprocess.run(
        [*WORKER, "--home", str(missing), *words], capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"lifelong: There is no memory at {missing}.")
    assert "--home" in done.stderr
    assert "Traceback" not in done.stderr
    assert not missing.exists()


def test_on_another_machine_only_the_database_is_needed(tmp_path: Path, postgres_storage: dict[str, Any]) -> None:
    """C0: a home that is empty, and two variables."""
    here, there = tmp_path / "here", tmp_path / "there"
    talk(here, "Mara", storage=postgres_storage)
    talk(here, "Bob", user="work", storage=postgres_storage)
    done = once(
        there,
        "--json",
        LIFELONG_STORAGE_URL=postgres_storage["url"],
        LIFELONG_STORAGE_SCHEMA_NAME=postgres_storage["schema_name"],
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert known(here, storage=postgres_storage) == {"~/memory/people/mara"}
    assert known(here, "work", storage=postgres_storage) == {"~/memory/people/bob"}
    assert not (there / "lifelong.db").exists()


# Until it is told


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_works_until_it_is_told(tmp_path: Path, spawn: Spawn, number: signal.Signals) -> None:
    """O1: what comes in meanwhile is organized, and then it ends well."""
    talk(tmp_path, "Mara")
    worker = spawn(tmp_path, "--json", **RULES)
    with Memory.open(tmp_path) as memory:
        wait_for(lambda: memory.inbox.list("done"))
        talk(tmp_path, "Bob")
        wait_for(lambda: len(memory.inbox.list("done")) == 2)
    assert worker.poll() is None
    assert json.loads(end(worker, number))["organized"] == 2


def test_what_is_under_way_is_finished_first(tmp_path: Path, spawn: Spawn) -> None:
    """O1: told in the middle of a run, with a model that takes its time; nothing follows it."""
    talk(tmp_path, "Mara", "Bob")
    is_told = threading.Event()
    with ModelServer(lambda asked: say("NOTHING TO KEEP", hold=is_told, wait=1.0)) as server:
        worker = spawn(tmp_path, **asking(server))
        wait_for(lambda: server.requests)
        worker.send_signal(signal.SIGTERM)
        assert worker.stderr
        while "Finishing what is under way" not in (line := worker.stderr.readline()):
            assert line, "it ended without a word"
        is_told.set()
        assert "1 transcript organized, 1 waiting" in worker.communicate(timeout=60)[1]
        assert len(server.requests) == 1


def test_two_workers_share_the_work(tmp_path: Path, spawn: Spawn) -> None:
    """O4: at the same time, and nothing is done twice."""
    talk(tmp_path, *(f"Person{number}" for number in range(6)))
    both_ask = threading.Event()

    def together(asked: dict[str, Any]) -> Reply:
        if len(server.requests) == 2:  # a worker asks again when it was answered
            both_ask.set()
        return say("NOTHING TO KEEP", hold=both_ask)

    with ModelServer(together) as server, Memory.open(tmp_path) as memory:
        workers = [spawn(tmp_path, "--json", **asking(server)) for _ in range(2)]
        wait_for(both_ask.is_set)
        wait_for(lambda: len(memory.inbox.list("done")) == 6)
        assert [json.loads(end(worker))["health"] for worker in workers] == ["green", "green"]
        assert len(server.requests) == 6
        assert all(item.attempts == 1 and item.losses == 0 for item in memory.inbox.list("done"))


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.soak)])
def test_what_a_killed_worker_held_is_finished_by_another(
    request: pytest.FixtureRequest, tmp_path: Path, spawn: Spawn, database: str
) -> None:
    """O4, O9: SIGKILL in the middle of a run; its lease runs out, and its edits land once."""
    storage = request.getfixturevalue("postgres_storage") if database == "postgres" else {}
    where = {f"LIFELONG_STORAGE_{name.upper()}": str(value) for name, value in storage.items()}
    home = tmp_path / "home"
    talk(home, "Mara", storage=storage)

    def model(asked: dict[str, Any]) -> Reply:
        if not results(asked):
            return call("document_write", NOTE)
        return say("DONE", wait=60 if len(server.requests) == 2 else 0)

    with ModelServer(model) as server, Memory.open(home, storage=storage) as memory:
        first = spawn(home, **asking(server), **where, **SOON_LOST)
        wait_for(lambda: len(server.requests) == 2)
        first.kill()
        first.wait()
        (item,) = memory.inbox.list()
        assert (item.state, memory.documents.changesets()) == ("leased", [])
        second = spawn(tmp_path / "other" if storage else home, "--json", **asking(server), **where, **SOON_LOST)
        wait_for(lambda: memory.inbox.list("done"))
        assert json.loads(end(second))["organized"] == 1
        (item,) = memory.inbox.list()
        assert (item.state, item.losses) == ("done", 1)
        assert len(memory.documents.changesets()) == 1
        assert memory.admin.check() == []


# The same in this process


@pytest.fixture
def quiet_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command sets up the log of its process; a test gives it back."""
    log = logging.getLogger("lifelong")
    monkeypatch.setattr(log, "handlers", list(log.handlers))
    monkeypatch.setattr(log, "level", log.level)


@pytest.mark.usefixtures("quiet_log")
def test_a_signal_ends_it_and_what_failed_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """O1, O6: `stop` waits for the running tick."""
    organizer = ScriptedOrganizer(RunBudgetExceeded("The run spent what it may."))
    with Memory.open(tmp_path, organizer=organizer, worker={"tick_seconds": 0.05}) as memory:
        mara = memory.agent(User("cli", "mara", "main"))
        memory.append(mara, UserMessage("I live in Porto.", "Mara"))
        memory.end_session(mara)

        def end() -> None:
            while not memory.inbox.list("dead"):
                time.sleep(0.02)
            os.kill(os.getpid(), signal.SIGTERM)

        before = signal.getsignal(signal.SIGTERM)
        ending = threading.Thread(target=end)
        ending.start()
        told = run(memory.store, once=False, as_json=False)
        ending.join()
        assert signal.getsignal(signal.SIGTERM) is before
    assert (told["failed"], told["health"]) == (1, "red")
    assert "The run spent what it may." in capsys.readouterr().err


@pytest.mark.usefixtures("quiet_log")
def test_a_database_that_is_away_for_a_moment_does_not_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """O5: it looks for new users again."""
    monkeypatch.setattr("lifelong.background.DISCOVER_SECONDS", 0.01)
    talk(tmp_path, "Bob", user="work")
    looks = 0
    users = SharedParts.users

    def look(shared: SharedParts) -> list[str]:
        nonlocal looks
        looks += 1
        if looks == 1:
            raise StorageUnavailable
        if looks == 4:
            os.kill(os.getpid(), signal.SIGTERM)
        return users(shared)

    monkeypatch.setattr(SharedParts, "users", look)
    with Store.open(tmp_path, worker={"tick_seconds": 0.05}) as store:
        run(store, once=False, as_json=False)
    assert "cannot be reached" in " ".join(capsys.readouterr().err.split())
    assert looks >= 4


def test_a_database_that_cannot_be_asked_is_what_a_worker_tells(tmp_path: Path) -> None:
    """O6: it goes on, and the server beside it says why nothing is done."""
    store = Store.open(tmp_path)
    assert _status_notes(store) == {"default": []}
    store.close()
    assert _status_notes(store) == {"": ["This memory is closed. Open it again with Memory.open(home)."]}


# Which organizer


def test_a_model_that_cannot_be_used_leaves_the_work_to_the_rules_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O8, O14: with no key the rules organizer serves, not silently."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    models = {"model": "anthropic:claude-sonnet-4-5"}
    with Memory.open(tmp_path, models=models) as memory:
        mara = memory.agent(User("cli", "mara", "main"))
        memory.append(mara, UserMessage("I live in Porto.", "Mara"))
        memory.end_session(mara)
        assert memory.organize().finished == 1
        assert memory.documents.changesets()[0].organizer == "rules"
        health = memory.admin.health()
    assert health.status == "yellow"
    assert "The rules organize instead of the model" in health.reasons[0]
    with pytest.raises(ConfigError, match="its model cannot be used"):
        Memory.open(tmp_path, models=models, organize={"organizer": "llm"})
