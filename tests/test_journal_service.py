"""The journal as a person meets it: through Memory, switched on and off, in several processes, and killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lifelong import AssistantMessage, Memory, User, UserMessage
from lifelong.errors import ConfigError, InputError, MemoryClosed
from lifelong.journal.tools import note_tool
from lifelong.testing import FakeClock
from tests.conftest import until
from tests.model_servers import ModelServer, say

MARA = User("telegram", "mara", "main")
ON = {"journal_enabled": True}
START = datetime(2026, 3, 5, 9, 0, tzinfo=UTC)
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2


def files(home: Path) -> set[str]:
    return {path.relative_to(home).as_posix() for path in (home / "users").rglob("*") if path.is_file()}


def talk(memory: Memory, *texts: str) -> None:
    mara = memory.agent(MARA)
    for text in texts:
        memory.append(mara, UserMessage(text, speaker="Mara"))
        memory.append(mara, AssistantMessage(f"Noted: {text}"))


def fill(memory: Memory, count: int = 40) -> None:
    for number in range(count):
        memory.journal.remember(f"Ferry {number} to Cacilhas does not leave before {number % 12 + 7}:40.")


def compacted(memory: Memory) -> bool:
    return any(record.category == "compaction" for record in memory.journal.records())


def schedules() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "lifelong-schedule"]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_off_means_no_file_and_no_context(home: Path, clock: FakeClock) -> None:
    """K2, guardrails 6 and 7: with journal, compaction and experiences off nothing appears, whatever is called."""
    with Memory.open(home, clock=clock) as memory:
        talk(memory, "I moved to Lisbon in May.", "My sister Ana is a vet.")
        memory.end_turn(memory.agent(MARA))
        memory.organize()
        memory.start()
        assert not schedules()
        assert memory.journal.context() == ""
        assert memory.journal.compact().reason.startswith("Compaction is off")
        assert "remember_this" not in [tool.name for tool in memory.tools()]
        with pytest.raises(ConfigError, match="journal_enabled = true"):
            memory.journal.remember("Deploys go out on Tuesday.")
        with pytest.raises(ConfigError, match="journal_enabled = true"):
            memory.journal.records()
        assert memory.admin.health().status == "green"
    assert not (home / "users").exists()


def test_adding_loads_no_compaction(home: Path) -> None:
    """Nor what it needs: a process that only adds starts fast."""
    code = (
        "import sys; from lifelong import Memory\n"
        "with Memory.open(sys.argv[1], continuity={'memory_compaction_enabled': True}) as memory:\n"
        "    memory.add('I moved to Lisbon in May.')\n"
        "print(*sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(home)], capture_output=True, text=True, check=True)
    heavy = {"lifelong.journal.compaction", "lifelong.journal.summarize", "lifelong.journal.notes"}
    assert "lifelong.journal.service" in ended.stdout.split()
    assert {"filelock", "cronsim", *heavy}.isdisjoint(ended.stdout.split())


def test_a_turn_is_in_the_journal_when_it_is_over(home: Path, clock: FakeClock) -> None:
    """O23: at `end_turn`, or when the next message arrives; the unfinished turn waits."""
    with Memory.open(home, clock=clock, continuity=ON) as memory:
        talk(memory, "I moved to Lisbon in May, near the river.", "My sister Ana is a vet in Porto, she loves it.")
        memory.organize()
        assert [record.text[:31] for record in memory.journal.records()] == ["Mara: I moved to Lisbon in May,"]
        memory.end_turn(memory.agent(MARA))
        assert "Ana" in memory.journal.context(), "asked for, it is written down at once"
        assert len(memory.journal.records()) == 2
        memory.organize()
        assert len(memory.journal.records()) == 2
    assert {"default/MEMORY.md", "default/memory/2026-03-05.md"} <= {
        name.removeprefix("users/") for name in files(home)
    }


def test_started_it_is_written_in_the_background(home: Path) -> None:
    """O1, O23, S2: nobody calls `process`."""
    with Memory.open(home, continuity=ON, worker={"tick_seconds": 0.02}) as memory:
        memory.start()
        talk(memory, "I moved to Lisbon in May, near the river.")
        memory.end_turn(memory.agent(MARA))
        until(memory.journal.records)
        assert len(memory.journal.records()) == 1


def test_what_a_killed_process_left_is_written_by_the_next(home: Path) -> None:
    """O23: the turns are rows, so a kill before they were written down loses none of them."""
    code = (
        "import os, signal, sys\n"
        "from lifelong import AssistantMessage, Memory, User, UserMessage\n"
        "memory = Memory.open(sys.argv[1], continuity={'journal_enabled': True})\n"
        "mara = memory.agent(User('telegram', 'mara', 'main'))\n"
        "memory.append(mara, UserMessage('I moved to Lisbon in May, near the river.'))\n"
        "memory.append(mara, AssistantMessage('Noted.'))\n"
        "memory.end_turn(mara)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(home)], check=False, timeout=60, env=os.environ)
    with Memory.open(home, continuity=ON) as memory:
        memory.organize()
        assert [record.category for record in memory.journal.records()] == ["turn-summary"]


def test_users_have_journals_of_their_own(home: Path, clock: FakeClock) -> None:
    """K3, guardrail 5."""
    for name in ("anna", "ben"):
        with Memory.open(home, user=name, clock=clock, continuity=ON) as memory:
            memory.journal.remember(f"A word of {name}.")
            assert f"A word of {name}." in memory.journal.context()
            assert memory.journal.context().count("A word of") == 1


def test_the_tool_remembers_within_its_schema(home: Path, clock: FakeClock) -> None:
    """O23: `remember_this{text, category?, sensitivity?}`; S4: a secret is marked, and shown to nobody."""
    with Memory.open(home, clock=clock, continuity=ON) as memory:
        remember = next(tool for tool in memory.tools() if tool.name == "remember_this")
        assert remember.parameters["required"] == ["text"]
        assert set(remember.parameters["properties"]) == {"text", "category", "sensitivity"}
        remember.call(text="Deploys go out on Tuesday.", category="decision", sensitivity="public")
        remember.call(text=f"The token is {KEY}.")
        with pytest.raises(InputError, match="Unknown argument 'mood'"):
            remember.call(text="x", mood="good")
        with pytest.raises(InputError, match="'public', 'operational'"):
            remember.call(text="x", sensitivity="high")
        first, second = memory.journal.records()
        assert (first.category, first.sensitivity, second.sensitivity) == ("decision", "public", "secret")
        assert "Tuesday" in memory.journal.context()
        assert KEY not in memory.journal.context()


def test_compaction_keeps_what_must_be_kept_and_says_what_it_did(home: Path, clock: FakeClock) -> None:
    """O25, O29, O30, SC1 to SC4: under the target, LONGMEMORY.md first in the context, what must be kept is there;
    what was told is found at once."""
    settings = ON | {
        "memory_compaction_enabled": True,
        "memory_compaction_schedule_cron": "0 3 * * *",
        "memory_compaction_max_chars": 6_000,
    }
    with Memory.open(home, clock=clock, continuity=settings) as memory:
        memory.journal.remember("Mara is allergic to nuts.", "learned")
        for number in range(40):
            memory.journal.remember(f"Ferry {number} to Cacilhas does not leave before {number % 12 + 7}:40.")
        clock.now += timedelta(days=10)
        result = memory.journal.compact()
        assert result.ran, result.reason
        assert (result.records_before, result.compacted) == (41, 40)
        assert result.chars_after < 6_000 <= result.chars_before
        assert [hit.id for hit in memory.list("journal") if hit.path == "LONGMEMORY.md"]
        context = memory.journal.context()
        assert context.index("Long-term memory") < context.index("Mara is allergic to nuts.")
        assert not memory.journal.compact().ran, "there is nothing to do twice"
        assert memory.admin.health().status == "green"


def test_what_must_be_kept_alone_over_the_target_makes_health_yellow(home: Path, clock: FakeClock) -> None:
    """O28."""
    settings = ON | {"memory_compaction_enabled": True, "memory_compaction_max_chars": 300}
    with Memory.open(home, clock=clock, continuity=settings) as memory:
        for number in range(5):
            memory.journal.remember(f"Mara decided on plan {number}.", "decision")
        assert memory.admin.health().status == "yellow"
        assert "memory_compaction_max_chars" in memory.admin.health().reasons[0]
        assert len(memory.journal.records()) == 5


SOON = ON | {
    "memory_compaction_enabled": True,
    "memory_compaction_max_records": 20,
    "memory_compaction_min_age_days": 0,
}


@pytest.mark.parametrize(
    ("settings", "later"),
    [
        ({"memory_compaction_interval_ms": 86_400_000}, timedelta(days=2)),
        ({"memory_compaction_schedule_cron": "30 9 * * *"}, timedelta(minutes=50)),
        ({"memory_compaction_schedule_cron": "30 11 * * *", "time_zone": "Africa/Cairo"}, timedelta(minutes=50)),
    ],
    ids=["interval", "cron", "cron in a zone"],
)
def test_started_it_compacts_when_it_is_due(
    home: Path, clock: FakeClock, settings: dict[str, object], later: timedelta
) -> None:
    """O24, O29, S2: by itself; nothing follows `stop` or `close`; the next process knows when it ran last, and
    makes up for what was missed."""
    with Memory.open(home, clock=clock, continuity=SOON | {"memory_compaction_interval_ms": 50}) as memory:
        fill(memory)
        memory.start()
        assert schedules()

        def passed() -> bool:
            clock.now += timedelta(seconds=0.1)
            return compacted(memory)

        until(passed)
        memory.stop()
        assert not schedules()
        memory.start()
        assert schedules(), "it can be started again"
    assert not schedules()
    clock.now = START + later
    with Memory.open(home, clock=clock, continuity=SOON | settings) as memory:
        fill(memory)
        memory.start()
        until(lambda: len(memory.journal.records()) <= 20)


def a_day_page_by_the_zone(memory: Memory, clock: FakeClock, folder: Path) -> None:
    fill(memory, 1)
    assert (folder / "memory" / "2026-03-06.md").exists()
    assert "2026-03-06 (note)" in memory.journal.context()


def a_short_context(memory: Memory, clock: FakeClock, folder: Path) -> None:
    fill(memory)
    assert 500 < len(memory.journal.context()) <= 1_000


def no_long_memory(memory: Memory, clock: FakeClock, folder: Path) -> None:
    fill(memory, 1)
    (folder / "LONGMEMORY.md").write_text("# Long-term memory\n\n## 2025\nThe old harbour.\n")
    assert "The old harbour." not in memory.journal.context()
    assert "Ferry 0" in memory.journal.context()


def a_part_of_long_memory(memory: Memory, clock: FakeClock, folder: Path) -> None:
    fill(memory, 1)
    blocks = [f"## {year}\n{'The harbour was rebuilt. ' * 25}\n" for year in (2023, 2024, 2025)]
    (folder / "LONGMEMORY.md").write_text("\n".join(["# Long-term memory\n", *blocks]))
    context = memory.journal.context()
    assert ("## 2025" in context, "## 2024" in context) == (True, False)


def a_window_of_records(memory: Memory, clock: FakeClock, folder: Path) -> None:
    fill(memory)
    assert 5 <= len(memory.journal.records()) <= 10


def a_window_of_characters(memory: Memory, clock: FakeClock, folder: Path) -> None:
    fill(memory)
    assert 1_000 < len((folder / "MEMORY.md").read_text()) <= 3_000


def long_memory_elsewhere(memory: Memory, clock: FakeClock, folder: Path) -> None:
    fill(memory)
    clock.now += timedelta(days=10)
    assert memory.journal.compact(force=True).ran
    assert "Ferry" in (folder / "pages" / "LONG.md").read_text() == memory.journal.long_memory()


def an_archive_elsewhere(memory: Memory, clock: FakeClock, folder: Path) -> None:
    fill(memory)
    clock.now += timedelta(days=10)
    assert memory.journal.compact(force=True).ran
    assert "Ferry 39 " in "".join(page.read_text() for page in (folder / "old").iterdir())
    assert not (folder / "archive").exists()


def only_the_old_is_compacted(memory: Memory, clock: FakeClock, folder: Path) -> None:
    fill(memory)
    clock.now += timedelta(days=29)
    assert not memory.journal.compact(force=True).ran
    clock.now += timedelta(days=2)
    assert memory.journal.compact(force=True).compacted == 40


def turns_are_written_first(memory: Memory, clock: FakeClock, folder: Path) -> None:
    turns_stay_pending(memory, clock, folder, written=1)


def turns_stay_pending(memory: Memory, clock: FakeClock, folder: Path, written: int = 0) -> None:
    talk(memory, "I moved to Lisbon in May, near the river.")
    memory.end_turn(memory.agent(MARA))
    memory.journal.compact(force=True)
    assert [record.category for record in memory.journal.records()] == ["turn-summary"] * written


def little_long_memory(memory: Memory, clock: FakeClock, folder: Path) -> None:
    for _ in range(6):
        fill(memory)
        clock.now += timedelta(days=10)
        assert memory.journal.compact(force=True).ran
    assert 0 < len(memory.journal.long_memory()) <= 1_000


def it_is_due(memory: Memory, clock: FakeClock, folder: Path) -> None:
    fill(memory, 10)
    clock.now += timedelta(days=10)
    assert not memory.journal.compact().ran
    fill(memory, 30)
    clock.now += timedelta(days=10)
    assert memory.journal.compact().ran
    assert (len(memory.journal.records()) <= 30, len((folder / "MEMORY.md").read_text()) <= 6_000) == (True, True)


@pytest.mark.parametrize(
    ("settings", "shows"),
    [
        ({"time_zone": "Pacific/Kiritimati"}, a_day_page_by_the_zone),
        ({"session_memory_cap": 1_000}, a_short_context),
        ({"include_long_memory_in_session": False}, no_long_memory),
        ({"long_memory_max_chars": 1_000}, a_part_of_long_memory),
        ({"long_memory_max_chars": 1_000}, little_long_memory),
        ({"memory_max_records": 10}, a_window_of_records),
        ({"memory_max_chars": 3_000}, a_window_of_characters),
        ({"long_memory_path": "pages/LONG.md"}, long_memory_elsewhere),
        ({"memory_archive_path": "old"}, an_archive_elsewhere),
        ({"memory_compaction_min_age_days": 30}, only_the_old_is_compacted),
        ({"flush_pre_compaction": True}, turns_are_written_first),
        ({"flush_pre_compaction": False}, turns_stay_pending),
        ({"memory_compaction_enabled": True, "memory_compaction_max_records": 30}, it_is_due),
        ({"memory_compaction_enabled": True, "memory_compaction_max_chars": 6_000}, it_is_due),
    ],
)
def test_a_setting_does_what_it_says(
    home: Path,
    clock: FakeClock,
    settings: dict[str, object],
    shows: Callable[[Memory, FakeClock, Path], None],
) -> None:
    """K1: every setting of the journal arrives where it acts."""
    clock.now += timedelta(hours=3)  # another day in the Pacific
    with Memory.open(home, clock=clock, continuity=ON | settings) as memory:
        shows(memory, clock, home / "users" / "default")


def test_a_secret_in_a_speakers_name_is_not_written(home: Path, clock: FakeClock) -> None:
    """O23, S4."""
    with Memory.open(home, clock=clock, continuity=ON) as memory:
        mara = memory.agent(MARA)
        memory.append(mara, UserMessage("I moved to Lisbon in May, near the river.", speaker=f"Mara {KEY}"))
        memory.end_turn(mara)
        memory.organize()
        [record] = memory.journal.records()
    assert record.text.startswith("Mara [secret: GitHub token]: I moved")
    assert not [name for name in files(home) if KEY in (home / name).read_text(errors="replace")]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"time_zone": "Mars/Olympus"}, "time zone"),
        ({"long_memory_path": "MEMORY.md"}, "another file or folder"),
        ({"long_memory_path": "memory/2026-01-01.md"}, "another file or folder"),
        ({"long_memory_path": "../LONG.md"}, "within the user's folder"),
        ({"memory_archive_path": "/tmp/elsewhere"}, "within the user's folder"),
        ({"memory_compaction_schedule_cron": "every night"}, "cron"),
    ],
)
def test_a_setting_that_does_not_fit_is_said(home: Path, settings: dict[str, object], words: str) -> None:
    """K1, S3."""
    with pytest.raises(ConfigError, match=words):
        Memory.open(home, continuity=settings)


def test_notes_of_a_worker(home: Path, clock: FakeClock) -> None:
    """O31, O32: through `Memory`, in the user's folder; the same worker, the same notes."""
    with Memory.open(home, clock=clock) as memory:
        memory.notes.worker("researcher").store("deploys", "Deploys go out on Tuesday.")
        assert memory.notes.worker("researcher").load() == "Deploys go out on Tuesday."
        assert memory.notes.worker("writer").load() == ""
        assert memory.notes.worker("researcher") is memory.notes.worker("researcher")
        with pytest.raises(InputError):
            memory.notes.worker("../escape")
    assert files(home) == {
        "users/default/workers/researcher/memory/deploys.md",
        "users/default/workers/researcher/memory.lock",
    }


def test_a_worker_stores_notes_with_a_tool(home: Path, clock: FakeClock) -> None:
    """O31: `store_memory{key, content}`, whose errors a model can act on."""
    with Memory.open(home, clock=clock) as memory:
        store = note_tool(memory.notes.worker("researcher"))
        assert (store.name, store.parameters["required"]) == ("store_memory", ["key", "content"])
        assert store.call(key="deploys", content="Deploys go out on Tuesday.") == "Stored as deploys."
        assert memory.notes.worker("researcher").load() == "Deploys go out on Tuesday."
        with pytest.raises(InputError, match="letters, digits"):
            store.call(key="../up", content="text")
        with pytest.raises(InputError, match="'content' is missing"):
            store.call(key="deploys")


def test_closing_waits_for_notes_that_are_compacted(home: Path) -> None:
    """O33, O34: by the model of the settings, on the book; nothing is cut off in the middle."""
    with ModelServer([say("Deploys go out on Tuesday.", wait=0.5)]) as server:
        models: dict[str, Any] = {"model": "openai:gpt-4o-mini", "api_key": "x"}
        models["base_url"] = server.base_url("openai")
        with Memory.open(home, models=models, organize={"organizer": "rules"}) as memory:
            memory.notes.worker("researcher").store("deploys", "Deploys go out on Tuesday. " * 700)
        assert (home / "users/default/workers/researcher/memory/compacted.md").exists()
        with Memory.open(home, models=models) as memory:
            assert memory.notes.worker("researcher").load() == "Deploys go out on Tuesday.\n"
            assert [(call.purpose, call.state) for call in memory.admin.ledger()] == [("notes", "done")]


def test_the_limits_of_notes_are_settings(home: Path) -> None:
    """K1, O32, O33: what is loaded, and when it is compacted; restored, every note is back."""
    with ModelServer([say("Deploys go out on Tuesday.")]) as server:
        models = {"model": "openai:gpt-4o-mini", "api_key": "x", "base_url": server.base_url("openai")}
        limits = {"notes_threshold": 300, "notes_load_cap": 150}
        with Memory.open(home, models=models, organize={"organizer": "rules"}, continuity=limits) as memory:
            notes = memory.notes.worker("researcher")
            for number in range(5):
                notes.store(f"n{number}", f"Deploys go out on Tuesday. {'They do. ' * 6}")
                if number == 2:
                    assert len(notes.load()) <= 150 < notes.size() <= 300
            notes.wait()
            assert "Deploys go out on Tuesday.\n" in notes.load()
            assert set(notes.restore()) <= {f"n{number}" for number in range(5)}
            assert notes.size() > 300


@pytest.mark.parametrize("choice", ["model", "claude"])
def test_who_compacts_notes_must_be_there(home: Path, choice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """O34: what is asked for by name and cannot be used is said at once."""
    monkeypatch.setattr("lifelong.models.claude.missing", lambda: "It is not installed.")
    with pytest.raises(ConfigError, match="notes_query"):
        Memory.open(home, continuity={"notes_query": choice}, models={"model": "anthropic:x"})


@pytest.mark.parametrize(
    "call", [lambda memory: memory.journal, lambda memory: memory.context()], ids=["journal", "context"]
)
def test_a_closed_memory_has_no_journal(home: Path, call: Callable[[Memory], object]) -> None:
    memory = Memory.open(home, continuity=ON)
    memory.close()
    with pytest.raises(MemoryClosed):
        call(memory)


def test_a_model_summarizes_what_is_compacted(home: Path, clock: FakeClock) -> None:
    """O27: where one is configured; each question is a row of the ledger."""
    told = "Ferries to Cacilhas leave from 7:40 on."
    with ModelServer([say(told)] * 20) as server:
        models = {"model": "openai:gpt-4o-mini", "base_url": server.base_url("openai"), "api_key": "none"}
        settings = ON | {"memory_compaction_enabled": True, "memory_compaction_max_chars": 6_000}
        with Memory.open(home, clock=clock, continuity=settings, models=models) as memory:
            for _ in range(40):
                memory.journal.remember("The ferry to Cacilhas does not leave before 7:40.")
            clock.now += timedelta(days=10)
            assert memory.journal.compact().ran
            assert {call.purpose for call in memory.admin.ledger()} == {"compaction"}
        assert server.requests
