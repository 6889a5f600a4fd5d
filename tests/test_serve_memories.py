"""The memories that a server holds open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifelong import Memory, User, UserMessage
from lifelong.errors import InputError, MemoryClosed, UserNotFound
from lifelong.serve.jsonable import plain
from lifelong.serve.memories import Memories

MARA = User("cli", "mara", "main")


@pytest.fixture
def memories(tmp_path: Path) -> Iterator[Memories]:
    with Memories(tmp_path / "home") as opened:
        yield opened


def test_each_user_is_opened_once(memories: Memories) -> None:
    """C0: a user's memory is one, whoever asks for it."""
    work = memories.get("work", new=True)
    work.agent(MARA)
    assert memories.get("work") is work
    assert memories.get() is memories.get("default")
    assert memories.users() == ["default", "work"]


def test_a_typing_mistake_makes_no_user(memories: Memories) -> None:
    """C0: an unknown user is an error that names the known ones; a name that is a path, too (S3)."""
    with pytest.raises(UserNotFound, match="default"):
        memories.get("wrok")
    with pytest.raises(InputError):
        memories.get("../elsewhere")


def test_a_user_is_known_once_it_has_an_agent(memories: Memories) -> None:
    """C0: where its first one could not be made, it has not begun."""
    work = memories.get("work", new=True)
    with pytest.raises(InputError):
        work.agent(User("", "", ""))
    with pytest.raises(UserNotFound):
        memories.get("work")
    work.agent(MARA)
    assert memories.get("work") is work


def test_a_user_without_an_agent_is_known_by_what_it_holds(memories: Memories) -> None:
    """C0, K3: a document, be it empty, an experience, a worker's note; what is no user's folder is none."""
    for name in ("documents", "empty", "experiences", "notes"):
        with Memory.open(memories.home.path, name, continuity={"experience_store_enabled": True}) as memory:
            if name == "documents":
                memory.documents.write(slug="atlas", title="Atlas", description="", body="It ships in May.")
            elif name == "empty":
                memory.documents.write(slug="atlas", title="Atlas", description="", body="")
            elif name == "experiences":
                memory.experiences.add("A full disk stops the nightly backup of Atlas.")
            else:
                memory.notes("tester").store("suite", "The whole suite takes seven minutes.")
    (memories.home.path / "users" / "Not a user").mkdir()
    assert memories.users() == ["default", "documents", "empty", "experiences", "notes"]
    assert memories.get("notes").workers() == ["tester"]


def test_after_close_nothing_is_opened(memories: Memories) -> None:
    memories.close()
    with pytest.raises(MemoryClosed):
        memories.get()


def test_values_have_one_plain_form(memory: Memory) -> None:
    """`--json`, HTTP and MCP show the same: tagged unions with their tag, times as ISO 8601."""
    agent = memory.agent(MARA)
    memory.append(agent, UserMessage("I live in Lisbon.", speaker="Mara"))
    shown = plain({"agent": agent, "history": memory.history(agent), "totals": memory.totals()})
    assert isinstance(shown, dict)
    assert shown["agent"]["descriptor"] == {  # type: ignore[index, call-overload]
        "kind": "user",
        "connector": "cli",
        "user_id": "mara",
        "channel_id": "main",
    }
    said = shown["history"][0]["record"]  # type: ignore[index, call-overload]
    assert said["type"] == "user_message"  # type: ignore[index, call-overload]
    assert shown["totals"]["items"] == {"turn": 1}  # type: ignore[index, call-overload]
    with pytest.raises(TypeError, match="object"):
        plain(object())


def test_what_is_there_can_be_counted_and_paged(memory: Memory) -> None:
    """O6: totals, sessions newest first in pages, and who is known by name, without memory-agents'."""
    agent = memory.agent(MARA)
    for number in range(3):
        memory.append(agent, UserMessage(f"My brother Marco Rossi moved to house number {number} in Porto."))
        memory.reset(agent)
    memory.process()
    sessions = memory.recent_sessions()
    assert [one.id for one in sessions] == [one.id for one in reversed(memory.sessions(agent))]
    first = memory.recent_sessions(2)
    assert [*first, *memory.recent_sessions(5, first[-1])] == sessions
    totals = memory.totals()
    assert (totals.agents, totals.sessions) == (1, 4)
    assert totals.documents == len(list(memory.documents.walk()))
    assert memory.entities() == ["Mara"]
    assert memory.workers() == []
    memory.notes("tester").store("greeting", "The suite takes seven minutes.")
    assert memory.workers() == ["tester"]
