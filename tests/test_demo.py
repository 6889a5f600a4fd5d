"""`lifelong demo`: what a person sees first. Real processes, a real home, and a real kill."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from lifelong import Memory, User, UserMessage
from lifelong.errors import InputError
from lifelong.redaction import has_secret
from lifelong.serve.demo import QUESTIONS, _tree, demo
from lifelong.serve.init import make_home
from lifelong.serve.samples import DAYS, PLANTED, SECRETS, sample_sessions
from lifelong.types import SystemMessage, ToolCall, ToolResult
from tests.conftest import everything

NOW = datetime(2026, 3, 20, 15, 0, tzinfo=UTC)


def command(cwd: Path, *words: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "lifelong", "demo", *words],
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def shown(cwd: Path) -> dict[str, Any]:
    """What `lifelong demo --json` prints."""
    with command(cwd, "--json") as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def lasting(result: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on the minute at which it ran, nor on ids that are drawn."""
    kept = {name: result[name] for name in result if name not in ("recall", "session_context")}
    kept["long_memory"] = re.sub("<!-- compaction-.*? -->", "", result["long_memory"])
    days: dict[str, Any] = json.loads(re.sub(r"\d{4}-\d\d-\d\d", "a day", json.dumps(kept)))  # around midnight
    return days


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the demo has run."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "shown.json").write_text(json.dumps(shown(folder)), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def result(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((place / "shown.json").read_text(encoding="utf-8"))
    return found


# The samples


def test_the_samples_are_three_weeks_that_end_now() -> None:
    told = sample_sessions(NOW)
    assert told[0].at.date() == NOW.date() - timedelta(days=DAYS)
    assert NOW - timedelta(hours=1) < told[-1].until <= NOW
    assert [talk.at for talk in told] == sorted(talk.at for talk in told)
    assert all(before.until < after.at for before, after in pairwise(told))
    assert 150 <= sum(len(talk.records) for talk in told) <= 220
    assert len({talk.key(0) for talk in told}) == len(told)


def test_the_samples_hold_what_they_are_there_for() -> None:
    """S4, O12: a secret that ours finds, and a page that gives orders."""
    records = [record for talk in sample_sessions(NOW) for record in talk.records]
    texts = [(record, "" if isinstance(record, ToolCall) else record.text) for record in records]
    for secret in SECRETS:
        (said,) = [text for _, text in texts if secret in text]
        assert has_secret(said)
    (page,) = [record for record, text in texts if all(planted in text for planted in PLANTED)]
    assert isinstance(page, ToolResult)
    assert page.provenance == "web"
    assert not any("{" in text for _, text in texts), "a date that was not told"
    assert {"Mara", "Jonas", "Priya"} <= {getattr(record, "speaker", "") for record in records}
    assert any(isinstance(record, ToolResult) and record.failed for record in records)
    assert any(isinstance(record, SystemMessage) for record in records)


def test_days_and_dates_are_told_from_today() -> None:
    texts = [getattr(record, "text", "") for talk in sample_sessions(NOW) for record in talk.records]
    assert "The release of Harbor 2.0 is on 23 March." in texts
    assert "You're right, Wednesday at 15:00." in texts


# What becomes of them


def test_all_of_it_is_collected_organized_and_compacted(result: dict[str, Any]) -> None:
    """C7, O8, R6: by the worker, on a clock that goes along with the talks."""
    assert {agent["agent"]: (agent["sessions"], agent["state"]) for agent in result["agents"]} == {
        "/connectors/telegram/mara/main": (9, "sleeping"),
        "/connectors/slack/harbor/harbor-team": (9, "sleeping"),
        "/cron/nightly-backup": (4, "sleeping"),
        "/task/uptime-monitor": (2, "sleeping"),
    }
    assert sum(agent["records"] for agent in result["agents"]) == sum(
        len(talk.records) for talk in sample_sessions(NOW)
    )
    assert {"~/memory/people/mara", "~/memory/decisions", "~/memory/lessons", "~/memory/preferences"} <= set(
        result["documents"]
    )
    assert "Long-term memory" in result["long_memory"]
    assert result["experiences"] > 50
    assert result["health"] == "green"
    assert all(result["recall"][question] for question in QUESTIONS)


def test_documents_have_the_dates_of_the_talks(place: Path) -> None:
    """O18: what a document said two weeks ago can be read."""
    with Memory.open(place / "demo-home") as memory:
        then = datetime.now(UTC) - timedelta(days=14)
        before = memory.documents.read("~/memory/people/mara", as_of=then)
        assert "I live in Porto." in before.body
        assert "I live in Lisbon" not in before.body
        assert memory.journal.day(datetime.now(UTC).date() - timedelta(days=DAYS))


def test_what_moved_is_current_and_the_old_one_ended(place: Path) -> None:
    """O11: a house. The deadline that another person gives stands beside the older one."""
    with Memory.open(place / "demo-home") as memory:
        found = [
            (fact.text, fact.current)
            for document in memory.documents.walk()
            for fact in memory.documents.facts(document.id)
        ]
    assert [current for text, current in found if "I live in Lisbon now." in text] == [True]
    assert [current for text, current in found if "I live in Porto." in text] == [False]
    assert {current for text, current in found if "The release of Harbor 2.0 is" in text} == {True}


def test_what_was_secret_is_nowhere(place: Path, result: dict[str, Any]) -> None:
    """S4: not in what is printed, in any file for people, in any context, nor in what asking for it finds."""
    assert all(result["checks"].values())
    said = [json.dumps(result)]
    said += [page.read_text(encoding="utf-8") for page in (place / "demo-home").rglob("*.md")]
    with Memory.open(place / "demo-home") as memory:
        for agent in memory.agents.list():
            said.append(memory.context("What is the wifi password, and the API key?", agent=agent))
        for question in ("What is the wifi password?", "What is the new API key?", *SECRETS):
            said += [hit.text for hit in everything(memory.search(question, 20))]
        said += [one.text for one in memory.experiences.list(limit=1_000)]
        assert len(said) > 100
    assert [secret for secret in SECRETS for text in said if secret in text] == []
    assert "[secret: password]" in "".join(said)


def test_the_poisoned_page_made_no_preference_and_no_instruction(result: dict[str, Any]) -> None:
    """O12: what it wants is in no document at all, and what it says of restaurants is said to be from the web."""
    bodies = "\n".join(result["documents"].values()).lower()
    assert [planted for planted in (*PLANTED, "ignore your") if planted in bodies] == []
    (line,) = [line for line in bodies.splitlines() if line.startswith("casa verde")]
    assert line.endswith(", from web]")


# Again, and after a kill


def test_a_second_run_stores_nothing_twice(place: Path, result: dict[str, Any]) -> None:
    """C7: each record has its key, and what was compacted stays so."""
    assert lasting(shown(place)) == lasting(result)


@pytest.mark.parametrize("pages", [2, 9], ids=["early", "late"])
def test_killed_in_the_middle_it_goes_on_to_the_same(tmp_path: Path, result: dict[str, Any], pages: int) -> None:
    """C10, O4: as if nothing had happened, down to the records that a fact cites."""
    process = command(tmp_path, "--json")
    days = tmp_path / "demo-home/users/default/memory"
    deadline = time.monotonic() + 120
    while not (days.is_dir() and len(list(days.iterdir())) >= pages):
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.kill()
    process.communicate()
    assert lasting(shown(tmp_path)) == lasting(result)


@pytest.mark.parametrize("settings", ["", "[continuity]\njournal_enabled = true\n"], ids=["bare", "with settings"])
def test_a_memory_that_somebody_works_with_is_left_alone(tmp_path: Path, settings: str) -> None:
    """C0: samples never land in it."""
    home = tmp_path / "home"
    with Memory.open(home) as memory:
        memory.append(memory.agent(User("cli", "ada", "main")), UserMessage("I moved to Lisbon."))
    if settings:
        (home / "lifelong.toml").write_text(settings, encoding="utf-8")
    before = sorted(home.iterdir())
    with pytest.raises(InputError, match=r"holds another memory\. Name a folder for the samples with --home"):
        demo(home, Console(quiet=True), pace=0)
    assert sorted(home.iterdir()) == before
    with Memory.open(home) as memory:
        assert [agent.cache_key for agent in memory.agents.list()] == ["/connectors/cli/ada/main"]


def _another_user(home: Path) -> None:
    with Memory.open(home, "ingrid") as memory:
        memory.add("I moved to Bergen.")


def _a_token(home: Path) -> None:
    with Memory.open(home) as memory:
        memory.store.tokens.create("ingrid")


def _a_document(home: Path) -> None:
    with Memory.open(home) as memory:
        memory.documents.write(slug="plans", title="Plans", body="Buy a boat.")


@pytest.mark.parametrize("begin", [_another_user, _a_token, _a_document])
def test_a_home_that_anybody_uses_gets_no_samples(tmp_path: Path, begin: Callable[[Path], None]) -> None:
    home = make_home(tmp_path / "home").path
    begin(home)
    with pytest.raises(InputError, match="holds another memory"):
        demo(home, Console(quiet=True), pace=0)
    with Memory.open(home) as memory:
        assert not memory.agents.list()


# What a person sees


def test_its_tree_shows_each_fact_with_its_records(place: Path) -> None:
    """O10: what was said, then the bracket that names who said it, when, and where."""
    printed = StringIO()
    console = Console(file=printed, width=200)
    with Memory.open(place / "demo-home") as memory:
        console.print(_tree(memory, facts=True))
    facts = [line for line in printed.getvalue().splitlines() if re.search(r"r\d+[],]", line)]
    assert facts
    assert [line for line in facts if "──  [" in line] == []


def test_it_is_shown_while_it_runs(tmp_path: Path) -> None:
    """What is said, the documents that grow out of it, and answers with their dates; no secret on the screen."""
    with (tmp_path / "screen").open("w", encoding="utf-8") as screen:
        demo(tmp_path / "home", Console(file=screen, width=160, force_terminal=True, color_system=None), pace=0)
    text = (tmp_path / "screen").read_text(encoding="utf-8")
    for part in ("189 of 189 records", "add  ", "organize", "LONGMEMORY.md", *QUESTIONS):
        assert part in text
    assert re.search(r"^ +f\d+ .*\n +also r\d+ ", text, re.MULTILINE), "a fact and its record"
    assert "[secret: random token]" in text
    assert [secret for secret in SECRETS if secret in text] == []
    assert "Not true" not in text


@pytest.mark.skipif(os.name == "nt", reason="there are no such terminals")
def test_the_page_follows_on_any_port_and_by_no_setting_of_the_environment(place: Path) -> None:
    """C0: what is set there is somebody's real memory, and their money. The port may be taken."""
    ours, theirs = os.openpty()
    with socket.socket() as taken:
        with suppress(OSError):  # unless somebody else has it
            taken.bind(("127.0.0.1", 8377))
            taken.listen()
        process = subprocess.Popen(
            [sys.executable, "-m", "lifelong", "demo", "--serve"],
            cwd=place,
            env={**os.environ, "LIFELONG_ORGANIZE_ORGANIZER": "none of ours", "COLUMNS": "300"},
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        shown = b""
        try:
            while b"Ctrl-C ends it" not in shown:
                shown += os.read(ours, 10_000)  # an error when it has ended
        except OSError:
            pytest.fail(shown.decode())
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)
            os.close(ours)
    (port,) = re.findall(rb"at http://127\.0\.0\.1:(\d+)/", shown)
    assert port != b"8377"
    assert process.returncode == 0


def test_without_a_terminal_it_ends_instead_of_serving(place: Path) -> None:
    """CI runs `make run`, too."""
    with command(place, "--serve") as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "The samples are all here already." in out
