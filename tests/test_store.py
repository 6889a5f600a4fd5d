"""Store (C0): one home held open for all its users, each of whom has a memory of their own."""

from __future__ import annotations

import itertools
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_core import PydanticSerializationError

from lifelong import Memory, User, UserMessage
from lifelong.errors import InputError, MemoryClosed, UserNotFound
from lifelong.memory import Store
from lifelong.models.embedders.base import Identity, Rows, Vector
from lifelong.serve.jsonable import jsonable
from lifelong.testing import ScriptedOrganizer, in_threads, log_records
from lifelong.wiring import opened_once

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
    """C0: an unknown user is an error that names no other one; a name that is a path, too (S3)."""
    store.user("work").agent(MARA)
    with pytest.raises(UserNotFound) as raised:
        store.existing_user("wrok")
    assert str(raised.value) == "Unknown user 'wrok'. See: lifelong users"
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


def test_values_become_json(memory: Memory) -> None:
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


def test_many_threads_get_one_memory_of_a_user(store: Store) -> None:
    """C0."""
    assert len({id(memory) for memory in in_threads(8, lambda _: store.user("mara"))}) == 1


def open_files(place: Path) -> int:
    """How many descriptors of this process are of files below a folder."""
    found = 0
    for link in Path("/proc/self/fd").iterdir():
        try:
            found += str(link.readlink()).startswith(str(place))
        except FileNotFoundError:
            continue
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells which files are open")
def test_two_hundred_users_cost_no_threads_and_no_connections(store: Store) -> None:
    """C0, R16: a user is light, also while it is written to, searched and organized."""
    store.user("first").add("I live in Lisbon.")
    store.user("first").search("Where do I live?")
    store.start()
    threads, files = threading.active_count(), open_files(store.home.path)
    for number in range(200):
        memory = store.user(f"user-{number}")
        memory.add(f"My dog is called Apple{number}.")
        if number % 20 == 0:
            [hit] = memory.search("What is my dog called?", 1)
            assert f"Apple{number}" in hit.text
            context = memory.context("What is my dog called?")
            assert re.findall(r"Apple\d+", context) == [f"Apple{number}"]
    assert len(store.users()) == 202
    assert threading.active_count() <= threads + 2, "those that commit and that write the recall log"
    assert open_files(store.home.path) <= files + 8
    store.stop()


def test_closing_a_users_memory_leaves_the_store_open(store: Store) -> None:
    mara = store.user("mara")
    mara.close()
    assert mara.add("I live in Lisbon.") == ["r1"]
    store.close()
    with pytest.raises(MemoryClosed):
        mara.add("late")


def test_organize_does_what_is_due_for_every_user(store: Store) -> None:
    for name in ("mara", "tom"):
        store.user(name).add(f"My name is {name.title()} and I live in Lisbon.")
        store.user(name).end_session()
    assert store.organize().finished == 2
    for name in ("mara", "tom"):
        assert f"name is {name.title()}" in store.user(name).documents.outline() + "".join(
            document.body for document in store.user(name).documents.walk()
        )


# Nothing of one user reaches another


SAFE = {"suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture], "deadline": None}


def everything_of(memory: Memory, question: str) -> str:
    """All that a user can see, as text."""
    agent = memory.agent()
    seen: list[object] = [
        memory.search(question, 20),
        memory.search(question, 20, kinds=["fact", "experience"]),
        memory.list(limit=100),
        memory.context(question, agent=agent),
        memory.journal.records(),
        memory.journal.context(),
        [(document.title, document.body) for document in memory.documents.walk()],
        memory.documents.changesets(),
        memory.experiences.list(),
        memory.experiences.query(question, 20),
        memory.relations.entities(),
        [memory.relations.of(name) for name in ("Apple", "Zebra", "Mara", "Tom")],
        [memory.sessions.history(session) for session in memory.sessions.recent()],
        memory.agents.list(),
        memory.inbox.list(),
        memory.admin.recall_log(),
        memory.admin.ledger(),
        memory.admin.stats(),
    ]
    return repr(seen)


def organize(memory: Memory) -> None:
    memory.end_session()
    memory.organize()


def pin_newest(memory: Memory) -> None:
    for hit in memory.list(limit=1):
        memory.pin(hit.id)


WRITES: dict[str, Callable[[Memory, str], object]] = {
    "add": lambda memory, word: memory.add(f"My friend {word} moved to Porto and likes {word} cake."),
    "turn": lambda memory, word: (memory.add(f"Please remember {word}."), memory.end_turn()),
    "document": lambda memory, word: memory.documents.write(
        slug=f"about-{memory.admin.stats().documents}", title=word, description=word, body=f"{word} ships in May."
    ),
    "journal": lambda memory, word: memory.journal.remember(f"{word} releases weekly."),
    "experience": lambda memory, word: memory.experiences.add(f"The disk of {word} was full on Monday."),
    "note": lambda memory, word: memory.notes.worker("tester").store("suite", f"{word} takes seven minutes."),
    "organize": lambda memory, word: organize(memory),
    "pin": lambda memory, word: pin_newest(memory),
    "search": lambda memory, word: memory.search(f"What about {word}?"),
}


@settings(max_examples=12, **SAFE)  # type: ignore[arg-type]
@given(steps=st.lists(st.tuples(st.booleans(), st.sampled_from(sorted(WRITES))), min_size=4, max_size=14))
def test_two_users_never_meet(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[bool, str]]) -> None:
    """C0, K3, R3: whatever is stored for whom, in whatever order, nobody sees the other's word anywhere."""
    on = {"journal_enabled": True, "experience_store_enabled": True}
    words = {"mara": "Apple", "tom": "Zebra"}
    with Store.open(tmp_path_factory.mktemp("home"), continuity=on) as store:
        for name, word in words.items():
            WRITES["add"](store.user(name), word)
        for is_mara, step in steps:
            name = "mara" if is_mara else "tom"
            WRITES[step](store.user(name), words[name])
        store.organize()
        for name, other in (("mara", "Zebra"), ("tom", "Apple")):
            seen = everything_of(store.user(name), f"What about {other.lower()} and my friend?")
            asked = seen.replace(f"What about {other.lower()} and my friend?", "")
            assert other.lower() not in asked.lower()
            assert words[name] in seen


# Parts of one's own


class Letters:
    """An embedder of one's own: how often each letter occurs."""

    identity = Identity("letters", "1", 26)

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> Rows:
        self.embedded += texts
        counts = [[text.lower().count(chr(97 + n)) for n in range(26)] for text in texts]
        rows = np.array(counts, np.float32).reshape(-1, 26)
        return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), np.float32)

    def embed_query(self, text: str, weights: Mapping[str, float]) -> Vector:
        row: Vector = self.embed([text])[0]
        return row


def test_an_embedder_of_ones_own_takes_the_place_of_the_configured_one(tmp_path: Path) -> None:
    """R4: it makes the vectors of what is stored and of what is asked."""
    letters = Letters()
    with Memory.open(tmp_path, embedder=letters) as memory:
        memory.add("Zzz zz zzz.")
        memory.organize()
        assert "Zzz zz zzz." in letters.embedded
        assert [hit.text for hit in memory.search("zzzz")] == ["Zzz zz zzz."]
        assert "zzzz" in letters.embedded


def test_an_organizer_of_ones_own_takes_the_place_of_the_configured_one(tmp_path: Path) -> None:
    """O8: every user's transcripts go to it."""
    organizer = ScriptedOrganizer(log_records, log_records)
    with Store.open(tmp_path, organizer=organizer) as store:
        for name in ("mara", "tom"):
            store.user(name).add(f"I am {name}.")
            store.user(name).end_session()
        assert store.organize().finished == 2
        assert store.user("mara").documents.read("~/memory/log").body == "Said something. [r1]"
        assert store.user("tom").documents.read("~/memory/log").body == "Said something. [r2]"


def test_the_failure_of_one_users_journal_stops_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """O3, C0: what was said to the other users is organized, and theirs too."""
    with Store.open(tmp_path, continuity={"journal_enabled": True}) as store:
        for name in ("anna", "bert"):
            store.user(name).add("I live in Porto.", speaker=name.title())
            store.user(name).end_turn()
            store.user(name).end_session()

        def fail() -> int:
            raise RuntimeError("a bug")

        monkeypatch.setattr(store.user("anna").journal, "keep_up", fail)
        assert store.organize().finished == 2
        assert "the journal of user anna could not be kept" in caplog.text
        assert store.user("bert").journal.records() != []


def test_a_user_whose_folder_cannot_be_used_stops_nobody_else(tmp_path: Path, storage: dict[str, object]) -> None:
    """O3, C0: the others' journals are kept, and what is stored for that user is found."""
    (tmp_path / "users").mkdir()
    (tmp_path / "users" / "anna").write_text("in the way")
    with Store.open(tmp_path, storage=storage, continuity={"journal_enabled": True}) as store:
        for name in ("anna", "bert"):
            store.user(name).add("I live in Porto.")
            store.user(name).end_turn()
            store.user(name).end_session()
        assert store.organize().finished == 2
        assert [hit.text for hit in store.user("anna").search("Porto")] != []
        assert store.user("bert").journal.records() != []
        assert store.user("anna").admin.status_notes() != []
        assert store.user("bert").admin.status_notes() == []


def test_a_store_that_is_closed_while_users_are_opened_lets_its_database_go(tmp_path: Path) -> None:
    """C0: whatever the threads are at, `close` finishes."""
    for number in range(5):
        store = Store.open(tmp_path / str(number))
        over = threading.Event()

        def ask(store: Store = store, over: threading.Event = over) -> None:
            names = itertools.count()
            with suppress(MemoryClosed):
                while not over.is_set():
                    store.user(f"y{next(names)}")

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        store.close()
        over.set()
        for thread in threads:
            thread.join()
        with pytest.raises(MemoryClosed):
            store._parts.database.read(lambda tx: None)


def test_a_part_is_opened_once_however_many_threads_ask(tmp_path: Path) -> None:
    """C0: two index workers or two writers of one log would do the work twice."""
    with Store.open(tmp_path) as store:
        found = in_threads(8, lambda _: store._parts.index_worker)
        assert len({id(one) for one in found}) == 1
        descriptor = vars(type(store._parts))["index_worker"]
        assert isinstance(descriptor, opened_once)


def test_a_memory_of_a_store_does_not_stop_the_work_of_others(tmp_path: Path) -> None:
    """C0, O1."""
    with Store.open(tmp_path) as store, pytest.raises(InputError, match=r"store\.stop\(\)"):
        store.user("anna").stop()
