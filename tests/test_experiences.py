"""R5, R6, R7: experiences, told once, found again, and none of another user's."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lifelong.recall.experiences
from lifelong import (
    AssistantMessage,
    Cron,
    Memory,
    Store,
    Subagent,
    System,
    ToolResult,
    User,
    UserMessage,
    nothing_known,
)
from lifelong.collect.transcript import without_injected
from lifelong.errors import ConfigError, InputError, MemoryClosed, ModelError, StorageUnavailable
from lifelong.journal.indexing import trust_of
from lifelong.journal.records import JournalRecord
from lifelong.models.embedders.base import Embedder, Rows
from lifelong.models.embedders.static import StaticEmbedder
from lifelong.recall.experiences import GROUPS, Experiences, grouped, is_candidate
from lifelong.recall.index_state import IndexStates
from lifelong.recall.index_worker import IndexWorker
from lifelong.recall.items import Items
from lifelong.storage.base import Database, Transaction
from lifelong.testing import FakeClock
from lifelong.types import new_id
from lifelong.vectors.base import VectorPartition, Vectors
from lifelong.vectors.chroma import ChromaVectors
from lifelong.vectors.local import LocalVectors
from tests.conftest import OpenMemory, everything, until

ON = {"experience_store_enabled": True}
JOURNAL = {**ON, "journal_enabled": True}
DEPLOY = "The deploy failed because the disk on the build server was full."
DEPLOY_AGAIN = "Because the build server's disk was full, the deploy failed."
TEA = "Ada prefers green tea in the afternoon."
EMBEDDER = StaticEmbedder()
EVICTOR = Path(__file__).with_name("evictor.py")


@pytest.fixture
def experiences(open_memory: OpenMemory) -> Experiences:
    return open_memory(continuity=ON).experiences


class Silent(StaticEmbedder):
    """An endpoint that does not answer."""

    def embed(self, texts: Any) -> Rows:
        raise ModelError("It does not answer.")

    def embed_query(self, text: str, weights: Any) -> Rows:
        raise ModelError("It does not answer.")


def embedding(
    database: Database, clock: FakeClock, vectors: Vectors, *embedders: Embedder
) -> Callable[[], IndexWorker]:
    index_worker = IndexWorker(database, embedders, lambda owner: vectors, clock)
    return lambda: index_worker


def served_by(store: Experiences) -> str:
    """Whose vectors are in use."""

    def work(tx: Transaction) -> str:
        states = IndexStates(tx)
        return states.identity(states.get(store._owner).embedder_id)

    return store._database.read(work)


def made_by(store: Experiences, identity: str) -> set[str]:
    """The ids of those that hold and have a vector of this embedder."""
    worker = store._index_worker()
    items = store._database.read(lambda tx: Items(tx, store._owner).newest(("experience",), None, None, 10_000))
    rows = worker.vectors(store._owner).get(VectorPartition(store._owner, identity), [one.id for one in items])
    return {one.ref for one, row in zip(items, rows, strict=True) if row.any() and one.until is None}


def row_ids(store: Experiences) -> set[str]:
    return {one.id for one in store.list(limit=10_000)}


def is_whole(store: Experiences) -> bool:
    """Each that holds has its vector and its item, and there are no others."""
    identity = served_by(store)
    return (made_by(store, identity) if identity else set()) == row_ids(store)


# Off


def test_off_there_is_no_store_no_tool_and_no_file(open_memory: OpenMemory) -> None:
    """K2, R7: by default."""
    memory = open_memory()
    with pytest.raises(ConfigError, match="experience_store_enabled = true"):
        _ = memory.experiences
    assert "query_experiences" not in {tool.name for tool in memory.tools()}
    assert memory.context("Which tea?", agent=memory.agent(User("cli", "ada", "main"))) == ""
    assert not (memory.home.path / "users").exists()


# The store


def test_add_query_and_uniqueness_work_and_last(open_memory: OpenMemory, clock: FakeClock) -> None:
    """R5, SC5: add, query and the uniqueness check; all of it is there after a restart."""
    memory = open_memory(continuity=ON)
    first = memory.experiences.add(DEPLOY, "learned", session_id="s1", record="r1", at=clock())
    assert memory.experiences.add(TEA, "user-preference", trust="user")
    assert memory.experiences.add(DEPLOY_AGAIN, "learned") is None, "the same in other words"
    assert memory.experiences.add("The deploy failed because the disk on the mail server was full.")
    memory.close()
    again = open_memory(continuity=ON).experiences
    assert again.add(DEPLOY_AGAIN) is None
    best = again.query("Why did the build server not deploy?", 1)[0]
    assert (best.id, best.text, best.category, best.session_id, best.record) == (
        *(first, DEPLOY, "learned", "s1", "r1"),
    )
    assert best.at == clock()
    assert 0 < best.score <= 1
    assert again.query("Who drinks tea?", 1)[0].entities == ("Ada",)


def test_the_threshold_is_the_one_of_the_settings(open_memory: OpenMemory) -> None:
    """R5, K1: at 1 only the same text is the same."""
    store = open_memory(continuity={**ON, "experience_uniqueness_threshold": 1.0}).experiences
    assert store.add(DEPLOY)
    assert store.add(DEPLOY_AGAIN)
    assert store.add(f"  {DEPLOY}\n") is None


def test_a_look_alike_hides_no_repetition(experiences: Experiences) -> None:
    """R5: the nearest one may differ in what counts while the next one is the same."""
    texts = [f"The nightly backup of the shop takes {minutes} minutes." for minutes in (10, 20, 30, 40)]
    assert all(experiences.add(text) for text in texts)
    assert [experiences.add(text) for text in texts] == [None] * 4
    assert experiences.add("Rosa told Ben that the backup is late.")
    assert experiences.add("Ben told Rosa that the backup is late.")
    assert experiences.add("Rosa told Ben that the backup is late.") is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"text": ""}, "at least 20 characters"),
        ({"text": "Too short."}, "at least 20 characters"),
        ({"text": 7}, "must be text"),
        ({"text": "x" * 100_001}, "limit is 100,000"),
        ({"text": TEA, "category": " "}, "category must not be empty"),
        ({"text": TEA, "trust": "rumour"}, "Unknown trust"),
        ({"text": TEA, "at": datetime(2026, 1, 1)}, "time"),  # noqa: DTZ001
        ({"text": TEA, "entities": [""]}, "entity must not be empty"),
        ({"text": TEA, "entities": "Ada"}, "Give a list"),
        ({"text": TEA, "entities": 5}, "Give a list"),
        ({"text": "?! " * 10}, "in a whole sentence"),
    ],
)
def test_what_cannot_be_one_changes_nothing(
    experiences: Experiences, arguments: dict[str, Any], words: str
) -> None:
    """R5."""
    with pytest.raises(InputError, match=words):
        experiences.add(**arguments)
    assert experiences.list() == []


@pytest.mark.parametrize("count", [-1, True, "5", 10**30])
def test_a_wrong_count_is_told_with_what_can_be_asked_for(experiences: Experiences, count: Any) -> None:
    """R7."""
    with pytest.raises(InputError, match=r"top_k cannot be .* Ask for 1 to 1,000"):
        experiences.query("tea", count)
    with pytest.raises(InputError, match=r"The limit cannot be .* Ask for 0 to 1,000,000"):
        experiences.list(limit=count)


def test_secrets_are_taken_out(experiences: Experiences, database_text: Callable[[Experiences], str]) -> None:
    """S4: in no table and in no answer."""
    key = "sk-ant-" + "api03-Zx81mQ0pLr7TtYv2BnKw5HdJ"
    experiences.add(f"The service uses the API key {key} in production.")
    (kept,) = experiences.list()
    assert key not in kept.text
    assert "[secret:" in kept.text
    assert key not in database_text(experiences)


@pytest.fixture
def database_text() -> Callable[[Experiences], str]:
    """Everything that the rows of experiences and items say."""

    def read(store: Experiences) -> str:
        return repr(
            store._database.read(
                lambda tx: [tx.all(f"SELECT * FROM {table}") for table in ("experiences", "items", "item_words")]
            )
        )

    return read


def test_what_recall_put_into_a_text_is_no_part_of_it(experiences: Experiences) -> None:
    """R5, O11: its echo is not learned."""
    echo = f"<lifelong-context id=1>\n{DEPLOY}\n</lifelong-context>"
    assert experiences.add(f"{echo}\n{TEA}")
    assert [one.text for one in experiences.list()] == [TEA]
    with pytest.raises(InputError, match="at least 20"):
        experiences.add(echo)


@pytest.mark.parametrize("category", ["note", "user-preference"])
def test_what_the_web_tells_is_never_a_users_word(category: str) -> None:
    """R6, S5: whatever the category says."""
    record = JournalRecord(new_id(), "", category, TEA, "web", 1.0, None, "operational")
    assert trust_of(record) == "web"


def test_an_experience_is_found_by_recall_until_it_goes(open_memory: OpenMemory, clock: FakeClock) -> None:
    """R1, R5: it is an item of its own kind; what was evicted is found as of the time before."""
    memory = open_memory(continuity={**ON, "experience_max_count": 1})
    memory.experiences.add(DEPLOY, session_id="s1", trust="web")
    (hit,) = memory.search("Why did the deploy fail?", kinds=["experience"])
    assert (hit.kind, hit.text, hit.session_id, hit.trust) == ("experience", DEPLOY, "s1", "web")
    before = clock.turn(seconds=1)
    clock.turn(seconds=1)
    memory.experiences.add(TEA)
    assert nothing_known(memory.search("Why did the deploy fail?", kinds=["experience"]))
    assert [one.text for one in memory.search("Who prefers green tea?", kinds=["experience"])] == [TEA]
    known = memory.search("Why did the deploy fail?", kinds=["experience"], as_of=before)
    assert [one.text for one in known] == [DEPLOY]


def test_the_oldest_of_the_least_used_go_and_pinned_ones_stay(open_memory: OpenMemory, clock: FakeClock) -> None:
    """R5, R11."""
    memory = open_memory(continuity={**ON, "experience_max_count": 4})
    store = memory.experiences
    texts = [DEPLOY, TEA, "Tom moved to Lisbon in the spring.", "The printer on the second floor is broken."]
    ids = [store.add(text, at=clock.turn(seconds=1)) for text in texts]
    store.query("Who drinks green tea?", 1)
    memory.pin(str(ids[0]))
    added = store.add("Marta is allergic to peanuts and to hazelnuts.", at=clock.turn(seconds=1))
    assert row_ids(store) == {ids[0], ids[1], ids[3], added}, "the third was the oldest that nobody needed"
    assert store.add("The contract with Globex ends on the last of June.", at=clock() - timedelta(days=9))
    assert row_ids(store) > {ids[0], ids[1], added}, "what is new does not go at once, however old it is"
    assert is_whole(store)


def test_a_full_store_keeps_what_is_new(open_memory: OpenMemory, clock: FakeClock) -> None:
    """R5: also where all that was there had been of use; what has ended goes first, however much it was used."""
    memory = open_memory(continuity={**ON, "experience_max_count": 3})
    store = memory.experiences
    old = [
        store.add(text, at=clock.turn(seconds=1)) for text in (DEPLOY, TEA, "Tom moved to Lisbon in the spring.")
    ]
    for _ in range(2):
        store.query(f"{DEPLOY} {TEA} Tom moved to Lisbon.", 3)
    memory.feedback(str(old[2]), "outdated")
    clock.turn(seconds=1)
    new = [
        store.add("The printer on the second floor is broken.", at=clock.turn(seconds=1)),
        store.add("Marta is allergic to peanuts and to hazelnuts.", at=clock.turn(seconds=1)),
    ]
    assert row_ids(store) > {*new}, "a new one does not push out the one before it"
    assert row_ids(store) < {*new, *old[:2]}, "what has ended goes first"
    assert is_whole(store)


def test_what_has_ended_is_near_nothing(open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """R5: neither after a repair nor before, where it would hide what holds."""
    monkeypatch.setattr(lifelong.recall.experiences, "DEDUP_CANDIDATES", 1)
    memory = open_memory(continuity=ON)
    store = memory.experiences
    store.add(DEPLOY)
    ended = store.add("Because the mail server's disk was full, the deploy failed.")
    memory.feedback(str(ended), "outdated")
    assert store.add(DEPLOY_AGAIN) is None
    memory.feedback(str(store.add(TEA)), "outdated")
    store.repair()
    assert store.add("Because the server's disk was full, the deploy failed.") is None
    assert is_whole(store)


def test_list_narrows(experiences: Experiences, clock: FakeClock) -> None:
    """R5: the newest first."""
    experiences.add(DEPLOY, "learned", session_id="s1")
    later = clock.turn(days=1)
    experiences.add(TEA, "user-preference", session_id="s2")
    assert [one.text for one in experiences.list()] == [TEA, DEPLOY]
    assert [one.text for one in experiences.list("learned")] == [DEPLOY]
    assert [one.text for one in experiences.list(session_id="s2")] == [TEA]
    assert [one.text for one in experiences.list(since=later)] == [TEA]
    assert [one.text for one in experiences.list(limit=1)] == [TEA]


# Healing


def test_vectors_heal(open_memory: OpenMemory) -> None:
    """R1, R5: what is missing is made again; the rows are the truth."""
    store = open_memory(continuity=ON).experiences
    ids = {store.add(text) for text in (DEPLOY, TEA)}
    worker = store._index_worker()
    worker.vectors("default").clear(VectorPartition("default", served_by(store)))
    fresh = open_memory(continuity=ON).experiences
    assert fresh.query("green tea", 1)[0].text == TEA, "by its words"
    fresh.repair()
    assert made_by(fresh, served_by(fresh)) == ids
    assert fresh.query("Who likes hot drinks?", 1)[0].text == TEA


def test_a_store_that_was_emptied_is_filled_again(open_memory: OpenMemory) -> None:
    """R1, R4: by the next process that indexes; as where the settings name another store."""
    memory = open_memory(continuity=ON)
    memory.append(memory.agent(User("cli", "ada", "main")), UserMessage("I adopted a spaniel."))
    memory.experiences.add(TEA)
    memory.organize()
    memory._parts.shared.vectors("default").clear(VectorPartition("default", served_by(memory.experiences)))
    assert memory.admin.verify()
    again = open_memory(continuity=ON)
    again.organize()
    assert again.admin.verify() == []
    assert is_whole(again.experiences)


def test_a_rebuilt_index_has_experiences(open_memory: OpenMemory) -> None:
    """R1: items are derived from the rows."""
    memory = open_memory(continuity=ON)
    memory.append(memory.agent(User("cli", "ada", "main")), UserMessage("Hello there, this is a talk."))
    memory.experiences.add(DEPLOY)
    memory.admin.rebuild()
    memory.organize()
    assert memory.search("Why did the deploy fail?", kinds=["experience"])[0].text == DEPLOY


def test_without_a_vector_store_nothing_is_lost(open_memory: OpenMemory, clock: FakeClock) -> None:
    """R5: the row is kept, and its vector is made later."""
    memory = open_memory(continuity=ON)
    store = memory.experiences
    store.add(DEPLOY)
    worker = store._index_worker()
    works = worker.vectors("default")

    class Down:
        def __getattr__(self, name: str) -> Any:
            if name == "put":
                raise StorageUnavailable
            return getattr(works, name)

    worker.vectors = lambda owner: Down()
    assert store.add(TEA), "durable on return"
    assert len(row_ids(store)) == 2
    worker.vectors = lambda owner: works
    assert store.query("green tea", 1)[0].text == TEA
    assert is_whole(store)


def test_without_an_embedder_words_find_and_nothing_is_added(memory: Memory, clock: FakeClock) -> None:
    """R5, R7: an endpoint that does not answer."""
    database, vectors = memory._parts.shared.database, memory._parts.shared.vectors("default")
    speaking, mute = (embedding(database, clock, vectors, one) for one in (EMBEDDER, Silent()))
    Experiences(database, "default", clock, speaking).add(DEPLOY)
    silent = Experiences(database, "default", clock, mute)
    with pytest.raises(ModelError):
        silent.add(TEA)
    assert len(row_ids(silent)) == 1
    assert silent.query("Why did the deploy fail?", 1)[0].text == DEPLOY


@pytest.mark.parametrize("kind", ["chroma", "pgvector"])
def test_vectors_live_where_the_settings_say(open_memory: OpenMemory, storage: dict[str, Any], kind: str) -> None:
    """R5, K3: in Chroma below the user's folder, or in pgvector; they last."""
    if (kind == "pgvector") != bool(storage):
        pytest.skip("each store has its database")
    for first in (True, False):
        memory = open_memory(continuity=ON, vectors={"store": kind})
        assert bool(memory.experiences.add(DEPLOY)) == first
        assert memory.experiences.add(DEPLOY_AGAIN) is None
        assert memory.experiences.query("Why did the deploy fail?", 1)[0].text == DEPLOY
        assert (memory.home.user_folder("default") / "tmp" / "chroma").exists() == (kind == "chroma")
        memory.close()


# Extraction


def test_the_schedule_adds_what_is_unique_before_it_compacts(open_memory: OpenMemory, clock: FakeClock) -> None:
    """R6, SC6, O25: records since the last run, of five categories, of 20 characters or more, no secrets."""
    memory = open_memory(
        continuity={**JOURNAL, "memory_compaction_enabled": True, "memory_compaction_max_records": 1}
    )
    journal = memory.journal
    journal.remember(DEPLOY, "learned")
    journal.remember(DEPLOY_AGAIN, "note")
    journal.remember(TEA, "user-preference", session_id="s1")
    journal.remember("Too short to be one", "note")
    journal.remember("A category of its own is passed over here.", "gossip")
    journal.remember("A note that only its owner may ever see again.", "note", "secret")
    journal.remember("My password is hunter2-hunter2, keep it safe.", "note")
    clock.turn(days=30)
    result = memory.journal.compact()
    assert result.compacted, "the old ones are gone from MEMORY.md"
    assert {one.text for one in memory.experiences.list()} == {DEPLOY, TEA}
    tea = memory.experiences.list("user-preference")[0]
    assert (tea.trust, tea.session_id, tea.at) == ("agent", "s1", clock() - timedelta(days=30))
    memory.journal.compact()
    assert len(memory.experiences.list()) == 2


@pytest.mark.parametrize("extracted_first", [True, False])
def test_what_was_superseded_ends_in_the_journal_and_as_an_experience(
    open_memory: OpenMemory, clock: FakeClock, extracted_first: bool
) -> None:
    """R2, O11: they hold again when that is taken back. What had ended before makes no experience any more."""
    memory = open_memory(continuity=JOURNAL)
    ann = memory.agent(User("cli", "ann", "main"))

    def tell(text: str) -> None:
        memory.append_many(ann, [UserMessage(text, speaker="Ann"), AssistantMessage("I see.")])
        memory.end_turn(ann)
        memory.end_session(ann)
        memory.organize()
        clock.turn(days=1)

    def made_of(word: str) -> dict[str, bool]:
        """The kinds that say so, and whether they hold."""
        hits = [hit for kind in ("journal", "experience") for hit in memory.search(word, 20, kinds=[kind])]
        return {hit.kind: hit.until is None for hit in everything(hits) if word in hit.text}

    tell("I live in a small flat in Porto.")
    if extracted_first:
        memory.experiences.extract()
        memory.organize()
        assert made_of("Porto") == {"journal": True, "experience": True}
    tell("I live in a small flat in Lisbon now.")
    memory.experiences.extract()
    memory.organize()
    kinds = ("journal", "experience") if extracted_first else ("journal",)
    assert made_of("Porto") == dict.fromkeys(kinds, False)
    assert made_of("Lisbon") == {"journal": True, "experience": True}
    assert "Porto" not in memory.journal.context()
    assert [one.text for one in memory.experiences.list() if "Porto" in one.text] == []
    memory.documents.rollback(memory.documents.changesets()[0].id)
    memory.organize()
    assert made_of("Porto") == dict.fromkeys(kinds, True)
    asked = [one.text for one in memory.experiences.query("a small flat in Porto")]
    assert any("Porto" in text for text in asked) == extracted_first, "also by its meaning"
    memory.admin.rebuild()
    memory.organize()
    assert made_of("Porto") == dict.fromkeys(kinds, True), "also where the index is made anew"


def test_what_has_ended_is_told_nowhere_else(open_memory: OpenMemory, clock: FakeClock) -> None:
    """O11, O27: neither by a compaction nor in a context, also where lines are filed after the end; what a person
    called outdated stays so."""
    memory = open_memory(continuity={**JOURNAL, "memory_compaction_enabled": True})
    ann = memory.agent(User("cli", "ann", "main"))
    for text in ("I live in a small flat in Porto.", "I live in a small flat in Lisbon now."):
        memory.append_many(ann, [UserMessage(text, speaker="Ann"), AssistantMessage("I see.")])
        memory.end_turn(ann)
        memory.end_session(ann)
        memory.organize()
        memory.experiences.extract()
        clock.turn(days=1)
    [porto] = [one for one in memory.search("Porto", kinds=["experience"]) if "Porto" in one.text]
    assert porto.until
    memory.feedback(porto.id, "outdated")
    memory.admin.rebuild()
    memory.organize()
    [line] = [one for one in memory.search("Porto", kinds=["journal"]) if "Porto" in one.text]
    assert line.until, "it was filed anew, after the fact had ended"
    clock.turn(days=30)
    assert memory.journal.compact(force=True).compacted == 2
    assert "Porto" not in memory.journal.long_memory()
    assert "Porto" not in memory.journal.context()
    assert "Lisbon" in memory.journal.long_memory()
    memory.documents.rollback(memory.documents.changesets()[0].id)
    [porto] = [one for one in memory.search("Porto", kinds=["experience"]) if "Porto" in one.text]
    assert porto.until


def test_an_experience_told_again_ends_with_what_told_it_last(open_memory: OpenMemory, clock: FakeClock) -> None:
    """O11, R5: Porto, Lisbon, Porto again, Coimbra."""
    memory = open_memory(continuity=JOURNAL)
    ann = memory.agent(User("cli", "ann", "main"))
    for town in ("Porto", "Lisbon", "Porto", "Coimbra"):
        said = UserMessage(f"I live in a small flat in {town} now.", speaker="Ann")
        memory.append_many(ann, [said, AssistantMessage("I see.")])
        memory.end_turn(ann)
        memory.end_session(ann)
        memory.organize()
        memory.experiences.extract()
        clock.turn(days=1)
    assert [one.text for one in memory.experiences.list()] == [
        "Ann: I live in a small flat in Coimbra now. → I see."
    ]


@pytest.mark.parametrize("category", ["note", "learned", "turn-summary", "user-preference", "decision"])
def test_the_categories_that_become_experiences(category: str) -> None:
    """R6."""
    record = JournalRecord(new_id(), "", category, TEA, "", 1.0, None, "operational")
    assert is_candidate(record)


def test_extraction_goes_on_where_it_stopped(open_memory: OpenMemory, clock: FakeClock) -> None:
    """R6: also records with old times, and after a person took the last one out; what was evicted stays out."""
    memory = open_memory(continuity={**JOURNAL, "experience_max_count": 1})
    extract = memory.experiences.extract
    memory.journal.remember(DEPLOY, "learned")
    memory.journal.remember(TEA, "note")
    extract()
    assert [one.text for one in memory.experiences.list()] == [TEA]
    extract()
    assert [one.text for one in memory.experiences.list()] == [TEA], "looked at once"
    old = "Tom moved to Lisbon two years ago."
    memory.journal.append(
        JournalRecord(new_id(), "", "note", old, "import", 1.0, clock() - timedelta(days=700), "public")
    )
    extract()
    assert [one.text for one in memory.experiences.list()] == [old], "it came later, whatever its time"
    page = memory.journal.files.memory
    page.write_text("".join(line for line in page.read_text().splitlines(True) if old not in line))
    clock.turn(days=3)
    memory.journal.remember("Marta is allergic to peanuts and to hazelnuts.")
    extract()
    assert memory.experiences.list()[0].text.startswith("Marta")


@pytest.mark.parametrize("changed", [{"sessionId": "s" * 1_001}, {"text": f"{TEA}\0"}, {"text": f"{TEA}\ud800"}])
def test_a_bad_line_stops_nothing(open_memory: OpenMemory, changed: dict[str, str]) -> None:
    """R6: whoever wrote it; the lines around it become experiences."""
    memory = open_memory(continuity=JOURNAL)
    memory.journal.remember(DEPLOY, "learned")
    page = memory.journal.files.memory
    line = next(one for one in page.read_text().splitlines() if DEPLOY in one)
    bad = json.dumps({**json.loads(line[2:]), "id": new_id(), **changed})
    page.write_text(f"{page.read_text()}- {bad}\n")
    memory.journal.remember("Tom moved to Lisbon in the spring.", "note")
    memory.experiences.extract()
    assert {DEPLOY, "Tom moved to Lisbon in the spring."} <= {one.text for one in memory.experiences.list()}


def test_a_rolling_window_hides_nothing(open_memory: OpenMemory, clock: FakeClock) -> None:
    """R6: what MEMORY.md has no more stands on its day's page, before the first look and between two."""
    memory = open_memory(continuity={**JOURNAL, "memory_max_records": 1})
    extract = memory.experiences.extract
    told = {DEPLOY, TEA, "Tom moved to Lisbon in the spring.", "The printer on the second floor is broken."}
    for number, text in enumerate(sorted(told)):
        memory.journal.remember(text, "note")
        clock.turn(hours=1)
        if number == 1:
            extract()
            assert len(memory.experiences.list()) == 2
    assert len(memory.journal.records()) == 1
    extract()
    assert {one.text for one in memory.experiences.list()} == told


def test_nothing_is_compacted_that_was_not_looked_at(open_memory: OpenMemory, clock: FakeClock) -> None:
    """R6, O25: where the extraction fails, by hand and by the schedule."""
    on = {**JOURNAL, "memory_compaction_enabled": True, "memory_compaction_max_records": 1}
    memory = open_memory(continuity=on)
    (schedule,) = memory._parts.journal.schedules
    schedule.tick()
    for text in (DEPLOY, TEA):
        memory.journal.remember(text, "note")
    clock.turn(days=30)
    memory._parts.shared.index_worker._embedders = (Silent(),)
    with pytest.raises(ModelError):
        memory.journal.compact()
    schedule.tick()
    assert "does not answer" in memory._parts.journal.status_notes()[0]
    assert len(memory.journal.records()) == 2
    memory._parts.shared.index_worker._embedders = (EMBEDDER,)
    assert memory.journal.compact().compacted


def test_extraction_has_a_schedule_without_compaction_and_one_of_its_own(
    open_memory: OpenMemory, clock: FakeClock
) -> None:
    """R6: when it is due, in the background."""
    for number, cron in enumerate(("", "0 3 * * *")):
        memory = open_memory(f"p{number}", continuity={**JOURNAL, "experience_extraction_cron": cron})
        (schedule,) = memory._parts.journal.schedules
        memory.journal.remember(DEPLOY, "learned")
        schedule.tick()
        assert memory.experiences.list() == [], "not due yet"
        clock.turn(days=1, hours=1)
        schedule.tick()
        assert [one.text for one in memory.experiences.list()] == [DEPLOY]
    both = {**JOURNAL, "experience_extraction_cron": "0 3 * * *", "memory_compaction_enabled": True}
    jobs = [one._name for one in open_memory("p2", continuity=both)._parts.journal.schedules]
    assert jobs == ["compaction", "extraction"], "compaction begins with an extraction"


def test_a_turn_becomes_an_experience_in_the_background(open_memory: OpenMemory) -> None:
    """R6, O23, S2: `start` is all it takes."""
    settings = {**JOURNAL, "memory_compaction_interval_ms": 1}
    with Memory.open(
        open_memory().home.path, "other", continuity=settings, worker={"tick_seconds": 0.02}
    ) as memory:
        memory.start()
        ada = memory.agent(User("cli", "ada", "main"))
        memory.append(ada, UserMessage("I moved to Lisbon in May and live near the river."))
        memory.end_turn(ada)
        until(lambda: memory.experiences.list("turn-summary"))
        assert "Lisbon" in memory.experiences.list("turn-summary")[0].text


# The tool


def test_the_tool_is_for_main_sessions_and_the_kinds_that_are_named(open_memory: OpenMemory) -> None:
    """R7, SC6."""

    def has_it(memory: Memory, agent: Any) -> bool:
        found = memory.tools(agent=agent and memory.agent(agent))
        return "query_experiences" in {tool.name for tool in found}

    plain = open_memory(continuity=ON)
    assert has_it(plain, None)
    assert has_it(plain, User("cli", "ada", "main"))
    assert not has_it(plain, Cron("nightly"))
    heartbeat = open_memory("beating", continuity={**ON, "inject_for": ["cron", "system"]})
    assert has_it(heartbeat, Cron("nightly"))
    assert has_it(heartbeat, System("heartbeat"))
    assert not has_it(heartbeat, Subagent("s", "a", "helper"))


def test_the_tool_tells_text_category_session_date_and_score(open_memory: OpenMemory) -> None:
    """R7, S5."""
    memory = open_memory(continuity=ON)
    memory.experiences.add(DEPLOY, "learned", session_id="s1", trust="web")
    memory.experiences.add(TEA, "user-preference")
    memory.experiences.add("Ada met Tom in Lisbon to talk of tea.", "note")
    tool = memory.tools()[-1]
    told = tool.call(query="Why did the deploy fail?", top_k=1)
    assert f"\n- [2026-02-24, learned, session s1, from the web] {DEPLOY} (score 0." in told
    by_category = tool.call(query="What tea does Ada like?", group_by="category")
    assert f"Experiences about preferences:\n- [2026-02-24, user-preference] {TEA}" in by_category
    by_entity = tool.call(query="What tea does Ada like?", group_by="entity", top_k=2)
    assert by_entity.count(TEA) == 1
    assert "Experiences about Ada:" in by_entity
    assert "Experiences about Lisbon:" in by_entity
    assert "Experiences of session s1:" in tool.call(query="deploy", group_by="session")
    with pytest.raises(InputError, match="group"):
        tool.call(query="deploy", group_by="mood")
    for wrong in (0, 51):
        with pytest.raises(InputError, match="1 to 50"):
            tool.call(query="deploy", top_k=wrong)


def test_what_the_tool_tells_is_not_learned_again(open_memory: OpenMemory) -> None:
    """R7, O11: it stands in the fence, which nothing in it can close; a long text is cut."""
    memory = open_memory(continuity=ON)
    memory.experiences.add(f"{TEA} {'Always hot. ' * 200} Ada </lifelong-context>", "</lifelong-context>")
    tool = memory.tools()[-1]
    answers = [tool.call(query="Which tea?", group_by=by) for by in (None, *GROUPS)]
    for told in answers:
        assert TEA in told
        assert len(told) < 1_500
        assert without_injected(told) == ""
    ada = memory.agent(User("cli", "ada", "main"))
    memory.append(ada, ToolResult(answers[0], "query_experiences"))
    memory.organize()
    assert memory.search("green tea in the afternoon", kinds=["record"]) == []


def test_nothing_found_is_an_answer(open_memory: OpenMemory) -> None:
    """R7."""
    memory = open_memory(continuity=ON)
    assert memory.tools()[-1].call(query="anything") == "No experiences found. Nothing is known about this."
    assert grouped([], "entity") == {}


def test_asking_waits_for_nobody_who_writes(open_memory: OpenMemory, clock: FakeClock) -> None:
    """R8, S2: neither a query nor the start of a turn; the use is counted afterwards."""
    memory = open_memory(continuity=ON)
    memory.experiences.add(TEA)
    ada = memory.agent(User("cli", "ada", "main"))
    memory.organize()
    held, free = threading.Event(), threading.Event()

    def hold(tx: Transaction) -> None:
        tx.run("UPDATE experiences SET category = 'held'")
        held.set()
        free.wait(60)

    holder = threading.Thread(target=lambda: memory._parts.shared.database.write(hold))
    holder.start()
    assert held.wait(60)
    assert memory.experiences.query("Which tea?")
    assert TEA in memory.context("Which tea?", agent=ada)
    assert holder.is_alive()
    free.set()
    holder.join()
    memory.organize()
    (kept,) = memory.experiences.list()
    assert (kept.used, kept.used_at) == (2, clock())


def test_closed_it_says_so(open_memory: OpenMemory) -> None:
    """R7."""
    memory = open_memory(continuity=ON)
    store = memory.experiences
    store.add(TEA)
    memory.close()
    with pytest.raises(MemoryClosed):
        _ = memory.experiences
    with pytest.raises(MemoryClosed):
        store.list()


# Isolation

NUMBERS = count()


@pytest.fixture(params=["local", "chroma"])
def backend(request: pytest.FixtureRequest, database: Database, tmp_path: Path) -> Iterator[Vectors]:
    if request.param == "chroma" and database.dialect == "postgres":
        pytest.skip("one database is enough for Chroma")
    store: Vectors = (
        LocalVectors(database, lambda owner: tmp_path / owner)
        if request.param == "local"
        else ChromaVectors(tmp_path / "chroma")
    )
    yield store
    store.close()


OWNERS = ("ada", "ben", "cleo")
WORDS = st.sampled_from(["the deploy failed", "green tea is preferred", "the backup is slow", "a cat is ill"])


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(told=st.lists(st.tuples(st.sampled_from(OWNERS), WORDS, st.integers(0, 3)), min_size=2, max_size=8))
def test_no_user_ever_sees_anothers(
    backend: Vectors, database: Database, clock: FakeClock, told: list[tuple[str, str, int]]
) -> None:
    """R3, R5, C0: whatever is added by whom, in whatever order, also the same text; on every store."""
    example = next(NUMBERS)
    stores = {
        name: Experiences(
            *(database, f"{name}-{example}", clock, embedding(database, clock, backend, EMBEDDER)), most=3
        )
        for name in OWNERS
    }
    mine: dict[str, set[str]] = {name: set() for name in OWNERS}
    for name, words, number in told:
        text = f"Somebody said that {words} in room {number}."
        stores[name].add(text)
        mine[name].add(text)
    for name, store in stores.items():
        for _, words, _ in told:
            assert {one.text for one in store.query(words, 50)} <= mine[name]
        assert {one.text for one in store.list()} <= mine[name]
        assert len(store.list()) == min(3, len(mine[name]))
        assert is_whole(store)
        store._uses.close()  # but not the vectors, which the next one has, too


def test_users_keep_apart_in_every_way_of_asking(open_memory: OpenMemory) -> None:
    """R3, K3: store, tool, recall and context."""
    ada, ben = open_memory("ada", continuity=ON), open_memory("ben", continuity=ON)
    ada.experiences.add(TEA)
    ada.organize()
    ben.organize()
    assert ben.experiences.query("green tea") == ben.experiences.list() == []
    assert ben.search("green tea") == []
    assert ben.context("green tea", agent=ben.agent(User("cli", "ben", "main"))) == ""
    assert ben.experiences.add(TEA), "and what one knows is new to the other"


# Kills


@pytest.mark.parametrize("kills", [2, pytest.param(60, marks=pytest.mark.soak)])
def test_a_kill_during_eviction_loses_nothing(
    tmp_path: Path, storage: dict[str, Any], open_memory: OpenMemory, kills: int
) -> None:
    """R5, C10: what was acknowledged is there, but for what a later one drove out; the vectors heal."""
    chance, most = random.Random(kills), 6
    settings = {**ON, "experience_max_count": most}
    for number in range(kills):
        command = [
            sys.executable,
            str(EVICTOR),
            str(tmp_path / "home"),
            json.dumps(storage),
            str(most),
            str(number),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            acknowledged = [process.stdout.readline() for _ in range(chance.randrange(8, 20))]
            time.sleep(chance.uniform(0, 0.02))
            process.send_signal(signal.SIGKILL)
            acknowledged += [
                line for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n")
            ]
        ids = [line.split()[1] for line in acknowledged]
        memory = open_memory(continuity=settings)
        store = memory.experiences
        assert memory.admin.check() == []
        assert len(row_ids(store)) == most
        assert row_ids(store) >= set(ids[-(most - 1) :]), "one more may have been added, and not been said"
        store.repair()
        assert is_whole(store)
        memory.close()


def counting_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "lifelong-experience-uses"}


def test_the_uses_of_all_users_are_counted_in_one_thread(tmp_path: Path) -> None:
    """R7, S3: a thousand users cost no thousand threads."""
    before = counting_threads()
    with Store.open(tmp_path, continuity=ON) as store:
        for number in range(5):
            experiences = store.user(f"user-{number}").experiences
            experiences.add(TEA)
            assert experiences.query("green tea", 1)
        assert len(counting_threads() - before) == 1
        store.organize()
        for number in range(5):
            [one] = store.user(f"user-{number}").experiences.list()
            assert one.used == 1
