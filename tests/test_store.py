"""The store that a server holds open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic_core import PydanticSerializationError

from lifelong import Memory, User, UserMessage
from lifelong.errors import InputError, MemoryClosed, UserNotFound
from lifelong.memory import Store
from lifelong.serve.jsonable import jsonable

MARA = User("cli", "mara", "main")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "home") as opened:
        yield opened


def test_each_user_is_opened_once(store: Store) -> None:
    """C0: a user's memory is one, whoever asks for it."""
    work = store.user("work")
    work.agent(MARA)
    assert store.existing_user("work") is work
    assert store.user() is store.existing_user("default")
    assert store.users() == ["default", "work"]


def test_a_typing_mistake_makes_no_user(store: Store) -> None:
    """C0: an unknown user is an error that names the known ones; a name that is a path, too (S3)."""
    with pytest.raises(UserNotFound, match="default"):
        store.existing_user("wrok")
    with pytest.raises(InputError):
        store.existing_user("../elsewhere")


def test_a_user_is_known_once_it_has_an_agent(store: Store) -> None:
    """C0: where its first one could not be made, it has not begun."""
    work = store.user("work")
    with pytest.raises(InputError):
        work.agent(User("", "", ""))
    with pytest.raises(UserNotFound):
        store.existing_user("work")
    work.agent(MARA)
    assert store.existing_user("work") is work


def test_a_user_without_an_agent_is_known_by_what_it_holds(store: Store) -> None:
    """C0, K3: a document, be it empty, an experience, a worker's note; what is no user's folder is none."""
    for name in ("documents", "empty", "experiences", "notes"):
        with Memory.open(store.home.path, name, continuity={"experience_store_enabled": True}) as memory:
            if name == "documents":
                memory.documents.write(slug="atlas", title="Atlas", description="", body="It ships in May.")
            elif name == "empty":
                memory.documents.write(slug="atlas", title="Atlas", description="", body="")
            elif name == "experiences":
                memory.experiences.add("A full disk stops the nightly backup of Atlas.")
            else:
                memory.notes.worker("tester").store("suite", "The whole suite takes seven minutes.")
    (store.home.path / "users" / "Not a user").mkdir()
    assert store.users() == ["default", "documents", "empty", "experiences", "notes"]
    assert store.existing_user("notes").notes.workers() == ["tester"]


def test_after_close_nothing_is_opened(store: Store) -> None:
    store.close()
    with pytest.raises(MemoryClosed):
        store.user()


def test_values_have_one_plain_form(memory: Memory) -> None:
    """`--json`, HTTP and MCP show the same: tagged unions with their tag, times as ISO 8601."""
    agent = memory.agent(MARA)
    memory.append(agent, UserMessage("I live in Lisbon.", speaker="Mara"))
    shown = jsonable({"agent": agent, "history": memory.sessions.history(agent), "totals": memory.admin.stats()})
    assert isinstance(shown, dict)
    assert shown["agent"]["descriptor"] == {  # type: ignore[index, call-overload]
        "kind": "user",
        "connector": "cli",
        "user_id": "mara",
        "channel_id": "main",
    }
    said = shown["history"][0]["record"]  # type: ignore[index, call-overload]
    assert said["type"] == "user_message"  # type: ignore[index, call-overload]
    assert shown["totals"]["items"] == {"record": 1}  # type: ignore[index, call-overload]
    with pytest.raises(PydanticSerializationError, match="object"):
        jsonable(object())


def test_what_is_there_can_be_counted_and_paged(memory: Memory) -> None:
    """O6: totals, sessions newest first in pages, and who is known by name, without memory-agents'."""
    agent = memory.agent(MARA)
    for number in range(3):
        memory.append(agent, UserMessage(f"My brother Marco Rossi moved to house number {number} in Porto."))
        memory.sessions.reset(agent)
    memory.organize()
    sessions = memory.sessions.recent()
    assert [one.id for one in sessions] == [one.id for one in reversed(memory.sessions.list(agent))]
    first = memory.sessions.recent(2)
    assert [*first, *memory.sessions.recent(5, first[-1])] == sessions
    totals = memory.admin.stats()
    assert (totals.agents, totals.sessions) == (1, 4)
    assert totals.documents == len(list(memory.documents.walk()))
    assert memory.relations.entities() == ["Mara"]
    assert memory.notes.workers() == []
    memory.notes.worker("tester").store("greeting", "The suite takes seven minutes.")
    assert memory.notes.workers() == ["tester"]
