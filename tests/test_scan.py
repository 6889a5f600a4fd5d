"""Secrets: kept out on every way in; stored by an older version, found and taken out (SPEC S4)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from lifelong import AssistantMessage, Memory, Permanent, ToolCall, ToolResult, User, UserMessage
from lifelong.journal.notes import store_memory
from tests.command_line import Line

SECRET = "Kanelbulle_88"
KEY = "AKIA" + "QWERTYUIOPASDFGH"
ON = {"journal_enabled": True, "experience_store_enabled": True}
ALICE = User("cli", "alice", "main")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Line:
    return Line(capsys, monkeypatch)


def files_with(home: Path, word: str) -> list[str]:
    return [str(path) for path in home.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


@contextmanager
def older_version() -> Iterator[None]:
    """Store what is said as it is, as versions did that looked for secrets later."""
    with (
        patch("lifelong.collect.history.redact", lambda text: text),
        patch("lifelong.collect.history.redact_json", lambda value, name="": value),
        patch("lifelong.collect.recorder.redact", lambda text: text),
        patch("lifelong.collect.descriptors.redact", lambda text: text),
        patch("lifelong.organize.draft.redact", lambda text: text),
        patch("lifelong.recall.experiences.redact", lambda text: text),
    ):
        yield


def test_no_way_in_lets_a_secret_through(home: Path) -> None:
    """S4: what is added, appended, called, answered, noted, remembered, written, reset, described or used as a key
    is stored without it, in every table and file."""
    with Memory.open(home, continuity=ON, organize={"organizer": "rules"}) as memory:
        agent = memory.agent(Permanent("p1", f"Bot {KEY}", "It helps.", f"The password is {SECRET}."))
        memory.add(f"My wifi password is {SECRET}, and I live in Porto.")
        memory.append(agent, AssistantMessage(f"Noted: password {SECRET}"), key=KEY)
        memory.append(agent, ToolCall("login", {"user": "mara", "password": SECRET}))
        memory.append(agent, ToolResult(f"token: {KEY}", name="login"))
        memory.append(agent, UserMessage("Hello.", f"Mara {KEY}"))
        memory.sessions.reset(agent, f"The key was {KEY}.")
        memory.sessions.compact_context(agent, f"They said the password is {SECRET}.")
        memory.journal.remember(f"The password for the\nserver is {SECRET}.")
        memory.notes.worker("w1").store("login", f"password: {SECRET}")
        memory.experiences.add(f"The password of the router is {SECRET} since May.")
        memory.documents.write(slug="x", title=f"Key {KEY}", body=f"Password: {SECRET}")
        memory.search(f"Is my password {SECRET}?")
        memory.end_session(agent)
        memory.organize()
        assert memory.admin.scan() == []
    assert files_with(home, SECRET) == files_with(home, KEY) == []


def test_a_key_that_looks_like_a_secret_still_tells_a_retry(home: Path) -> None:
    """S4, C7."""
    with Memory.open(home) as memory:
        agent = memory.agent(ALICE)
        first = memory.append(agent, UserMessage("Hello."), key=KEY)
        assert memory.append(agent, UserMessage("Hello."), key=KEY) == first


@pytest.fixture
def old_home(home: Path) -> Path:
    with older_version(), Memory.open(home, continuity=ON, organize={"organizer": "rules"}) as memory:
        agent = memory.agent(Permanent("p1", "Bot", "It helps.", f"The password is {SECRET}."))
        said = f"My sister Mia lives in Berlin. The wifi password is {SECRET}. I work as a nurse at Santa Maria."
        memory.append(agent, UserMessage(said))
        memory.append(agent, ToolCall("login", {"password": SECRET}))
        memory.sessions.reset(agent, f"The password is {SECRET}.")
        memory.documents.write(
            slug="router", title=f"Router {KEY}", body=f"The password is {SECRET}.\n\nIt is blue."
        )
        memory.experiences.add(f"The password of the router is {SECRET} since May.")
        memory.organize()
        folder = home / "users" / "default"
        memory.journal.remember("We deploy on Tuesdays.")
        with (folder / "MEMORY.md").open("a") as file:
            file.write(f"By hand: the password is {SECRET}\n")
        notes = folder / "workers" / "w1" / "memory"
        store_memory(notes, "plan", "Ship on Friday.")
        (notes / "login.md").write_text(f"password: {SECRET}\n")
    return home


def test_a_scan_lists_what_is_stored_and_never_shows_it(old_home: Path) -> None:
    """S4: place, id and kind of each."""
    with Memory.open(old_home, continuity=ON) as memory:
        found = memory.admin.scan()
    assert {"record", "session", "agent", "document", "experience", "journal", "note"} <= {
        one.place for one in found
    }
    assert SECRET not in repr(found)
    assert KEY not in repr(found)
    assert ("r1", ("password",)) in [(one.id, one.kinds) for one in found]
    assert all(one.kinds and "[secret:" in one.excerpt for one in found)


def test_redacting_takes_it_out_everywhere_and_nothing_else(old_home: Path) -> None:
    """S4: in every table and file of the home, in what was made of it, and in every version; the rest stays."""
    with Memory.open(old_home, continuity=ON) as memory:
        before = len(memory.admin.scan())
        report = memory.admin.redact()
        assert len(report.redacted) == before
        assert report.left == ()
        assert memory.admin.scan() == []
        assert memory.admin.check() == memory.admin.verify() == []
        bodies = json.dumps([document.body for document in memory.documents.walk("~")])
        assert "Mia lives in Berlin" in bodies
        assert "It is blue." in bodies
        assert "[secret: password]" in memory.documents.read("~/router").body
        assert not [hit for hit in memory.search("wifi password") if SECRET in hit.text]
        assert memory.search("Who lives in Berlin?")
        assert "deploy on Tuesdays" in memory.journal.context()
    assert files_with(old_home, SECRET) == files_with(old_home, KEY) == []


def test_the_command_asks_before_it_redacts(old_home: Path, line: Line) -> None:
    """S4: it exits with 1 while anything is left, and shows no secret."""
    found = line("scan", "--home", old_home)
    assert found.code == 1
    assert "password" in found.out
    assert SECRET not in found.out
    listed = line("scan", "--json", "--home", old_home).json
    assert listed["left"]
    assert not listed["redacted"]
    assert line("scan", "--redact", "--home", old_home, piped="n\n").code == 1
    done = line("scan", "--redact", "--yes", "--json", "--home", old_home)
    assert (done.code, done.json["left"]) == (0, [])
    assert line("scan", "--home", old_home).code == 0
    assert line("verify", "--home", old_home).code == 0, "what was taken out needs no rebuild of the index"
