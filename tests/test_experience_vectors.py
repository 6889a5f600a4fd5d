"""R4: another embedder makes the vectors of experiences anew in the background, while the old ones serve."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lifelong import Memory
from lifelong.errors import ModelError, StorageUnavailable
from lifelong.models.embedders.base import Embedder, Rows
from lifelong.models.embedders.static import StaticEmbedder
from lifelong.recall import index_worker
from lifelong.recall.experiences import MAX_INLINE_EMBEDDED, Experiences
from lifelong.testing import FakeClock
from lifelong.vectors.base import VectorPartition
from tests.conftest import OpenMemory
from tests.indexer import Letters
from tests.test_embedders import tiny
from tests.test_experiences import DEPLOY, DEPLOY_AGAIN, JOURNAL, TEA, is_whole, made_by, row_ids, served_by

__all__ = ["tiny"]  # a fixture

INDEXER = Path(__file__).with_name("indexer.py")
ROOMS = [
    f"The {animal} of room {n} is {what}."
    for n, (animal, what) in enumerate(
        [("heron", "ill and sleeps"), ("otter", "fond of the bath"), ("badger", "afraid of the dark")] * 9
    )
]
QUESTIONS = ("Why did the deploy fail?", "Who is scared at night?", "water animals", "green tea")
STATIC, LETTERS = str(StaticEmbedder().identity), str(Letters.identity)


@pytest.fixture(params=["local", "chroma", "pgvector"])
def on(request: pytest.FixtureRequest, storage: dict[str, Any]) -> dict[str, Any]:
    """Settings for each store of vectors."""
    kind: str = request.param
    if (kind == "chroma" and storage) or (kind == "pgvector" and not storage):
        pytest.skip("each store has its database")
    return {"continuity": {"experience_store_enabled": True}, "vectors": {"store": kind}}


LOCAL = {"continuity": {"experience_store_enabled": True}}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_worker, "BATCH", 10)


class Counting(Letters):
    """Says which texts it was given."""

    def __init__(self) -> None:
        self.given: list[str] = []

    def embed(self, texts: Sequence[str]) -> Rows:
        self.given += texts
        return super().embed(texts)


def embed_by(memory: Memory, *embedders: Embedder) -> None:
    """As if these were configured, and at hand."""
    memory._parts.shared.index_worker._embedders = embedders


def tell(memory: Memory) -> Experiences:
    store = memory.experiences
    assert all(store.add(text) for text in (DEPLOY, TEA, *ROOMS))
    return store


def answers(store: Experiences) -> list[list[tuple[str, float]]]:
    return [[(one.id, one.score) for one in store.query(question, 5)] for question in QUESTIONS]


def test_old_vectors_serve_until_the_new_ones_are_made(open_memory: OpenMemory, on: dict[str, Any]) -> None:
    """R4, R5: who asks and who adds goes on with the old ones, nobody who asks embeds, and what comes in meanwhile
    is caught up before the new ones serve; then the old ones go. On every store."""
    before = answers(tell(open_memory(**on)))
    memory = open_memory(**on)
    letters = Counting()
    embed_by(memory, letters, StaticEmbedder())
    store = memory.experiences
    assert answers(store) == before
    assert letters.given == []
    assert memory.admin.index()
    assert len(made_by(store, LETTERS)) == 10
    assert (answers(store), served_by(store)) == (before, STATIC)
    assert memory.admin.unindexed() == len(store.list()) - 10, "all of them are to be made anew"
    assert store.add(DEPLOY_AGAIN) is None, "unique as ever"
    new = store.add("Marta is allergic to peanuts and to hazelnuts.")
    assert store.query("Who must not eat nuts?", 1)[0].id == new, "by meaning, too"
    assert memory.admin.health().status == "green"
    memory.organize()
    assert (served_by(store), made_by(store, STATIC), memory.admin.unindexed()) == (LETTERS, set(), 0)
    assert is_whole(store)
    assert new in made_by(store, LETTERS)
    assert len(letters.given) == len(store.list()), "each once"
    assert answers(store) != before
    assert store.add(DEPLOY) is None


@pytest.mark.parametrize("batch", [10, 100])
def test_nobody_waits_while_vectors_are_made(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    """R4, S2: no lock is held while they are embedded; what is added then, and what goes, counts, also while the
    last batch is made."""
    monkeypatch.setattr(index_worker, "BATCH", batch)
    memory = open_memory(continuity={"experience_store_enabled": True, "experience_max_count": len(ROOMS) + 2})
    before = answers(tell(memory))
    began, free = threading.Event(), threading.Event()

    class Slow(Letters):
        def embed(self, texts: Sequence[str]) -> Rows:
            began.set()
            assert free.wait(30)
            return super().embed(texts)

    embed_by(memory, Slow(), StaticEmbedder())
    maker = threading.Thread(target=memory.admin.index)
    maker.start()
    assert began.wait(30)
    assert answers(memory.experiences) == before
    gone = row_ids(memory.experiences)
    new = memory.experiences.add("Marta is allergic to peanuts and to hazelnuts.")
    gone -= row_ids(memory.experiences)
    assert (bool(new), len(gone), memory.experiences.add(DEPLOY_AGAIN)) == (True, 1, None)
    free.set()
    maker.join()
    assert served_by(memory.experiences) == STATIC
    memory.organize()
    assert served_by(memory.experiences) == LETTERS
    assert is_whole(memory.experiences)


def test_a_kill_in_the_middle_goes_on_where_it_was(
    open_memory: OpenMemory, on: dict[str, Any], tmp_path: Path, storage: dict[str, Any]
) -> None:
    """R4, C10: the old ones serve until then, and only what is missing is embedded again."""
    store = tell(open_memory(**on))
    before, told = answers(store), row_ids(store)
    command = [
        sys.executable,
        str(INDEXER),
        str(tmp_path / "home"),
        json.dumps(storage),
        "die",
        json.dumps(on),
    ]
    for _ in range(2):
        assert subprocess.run(command, capture_output=True, check=False).returncode == -signal.SIGKILL
    memory = open_memory(**on)
    letters = Counting()
    embed_by(memory, letters, StaticEmbedder())
    store = memory.experiences
    assert (answers(store), served_by(store), row_ids(store)) == (before, STATIC, told)
    had = made_by(store, LETTERS)
    assert 0 < len(had) < len(told), "the second went on where the first was"
    memory.organize()
    assert len(letters.given) == len(told) - len(had)
    assert (served_by(store), made_by(store, LETTERS), made_by(store, STATIC)) == (LETTERS, told, set())


def test_a_kill_before_the_old_ones_went_leaves_none(open_memory: OpenMemory) -> None:
    """R4: whoever looks next takes them away."""
    memory = open_memory(**LOCAL)
    store = tell(memory)
    embed_by(memory, Letters(), StaticEmbedder())

    def die(partition: object) -> None:
        raise StorageUnavailable

    memory._parts.shared.vectors("default").clear = die  # type: ignore[method-assign]
    memory.organize()
    assert (served_by(store), made_by(store, STATIC)) == (LETTERS, row_ids(store))
    again = open_memory(**LOCAL)
    embed_by(again, Letters(), StaticEmbedder())
    again.organize()
    assert made_by(again.experiences, STATIC) == set()


def test_who_takes_over_while_one_is_added_is_asked(open_memory: OpenMemory) -> None:
    """R4, R5: what was compared with vectors that serve no longer is compared again, so nothing is told twice."""
    memory = open_memory(**LOCAL)
    store = tell(memory)

    class Overtaken(StaticEmbedder):
        """Another takes over while this one embeds."""

        def embed(self, texts: Sequence[str]) -> Rows:
            rows = super().embed(texts)
            while memory.admin.index():
                pass
            return rows

    embed_by(memory, Letters(), Overtaken())
    assert store.add("The deploy failed, because the disk on the build server was full!") is None
    assert served_by(store) == LETTERS
    embed_by(memory, StaticEmbedder(), Letters())
    assert store.add("Marta is allergic to peanuts and to hazelnuts.")
    memory.organize()
    assert served_by(store) == STATIC
    assert is_whole(store)


def test_the_settings_change_the_embedder(open_memory: OpenMemory, tiny: Path) -> None:
    """R4: from the bundled one to a transformer, during which the first serves; and back, when the transformer is
    not at hand: words find, health says so, no question embeds, and the index worker makes them next."""
    before = answers(tell(open_memory(**LOCAL)))
    fast = open_memory(**LOCAL, embeddings={"provider": "fastembed", "path": str(tiny)})
    assert answers(fast.experiences) == before
    fast.organize()
    transformer = served_by(fast.experiences)
    assert transformer not in ("", STATIC)
    back = open_memory(**LOCAL)
    assert back.experiences.query("Why did the deploy fail?", 1)[0].text == DEPLOY
    assert (served_by(back.experiences), made_by(back.experiences, STATIC)) == (transformer, set())
    reasons = back.admin.health().reasons
    assert all(transformer in reason for reason in reasons)
    assert "by words only" in reasons[0]
    back.organize()
    assert (answers(back.experiences), back.admin.health().status) == (before, "green")
    assert is_whole(back.experiences)


def test_an_embedder_whose_files_are_gone(open_memory: OpenMemory, tiny: Path) -> None:
    """R4: words find, nothing is added, and what is there waits for it."""
    settings = {**LOCAL, "embeddings": {"provider": "fastembed", "path": str(tiny / "model")}}
    (tiny / "model").mkdir()
    for name in ("model.onnx", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tiny / name, tiny / "model")
    tell(open_memory(**settings))
    shutil.move(tiny / "model", tiny / "away")
    memory = open_memory(**settings)
    memory.organize()
    assert memory.experiences.query("Why did the deploy fail?", 1)[0].text == DEPLOY
    assert str(tiny / "model") in " ".join(memory.admin.health().reasons)
    with pytest.raises(ModelError):
        memory.experiences.add(DEPLOY)
    shutil.move(tiny / "away", tiny / "model")
    memory = open_memory(**settings)
    assert memory.experiences.add(DEPLOY) is None
    assert memory.admin.health().status == "green"


def test_who_adds_without_the_old_embedder_waits_for_the_new_one(open_memory: OpenMemory) -> None:
    """R4, R5: nothing could be compared otherwise."""
    first = open_memory(**LOCAL)
    embed_by(first, Letters())
    tell(first)
    memory = open_memory(**LOCAL)
    assert memory.experiences.add(DEPLOY_AGAIN) is None
    assert served_by(memory.experiences) == STATIC
    assert is_whole(memory.experiences)


def test_two_embedders_do_not_replace_each_other_for_ever(open_memory: OpenMemory) -> None:
    """R4: whoever was opened last decides, once; the other finds by words, and adds nothing it cannot compare."""
    first = open_memory(**LOCAL)
    tell(first)
    first.organize()
    later = open_memory(**LOCAL)
    embed_by(later, letters := Counting())
    later.organize()
    made = letters.given.copy()
    for memory in (first, later, first):
        memory.organize()
        assert memory.experiences.query("Why did the deploy fail?", 1)[0].text == DEPLOY
    with pytest.raises(ModelError, match="Restart this one"):
        first.experiences.add("Marta is allergic to peanuts and to hazelnuts.")
    assert served_by(later.experiences) == LETTERS
    assert [text for text in letters.given if not text.endswith("?")] == made
    assert "by words only" in " ".join(first.admin.health().reasons)
    assert open_memory(**LOCAL).experiences.add("Marta is allergic to peanuts and to hazelnuts.")
    assert served_by(later.experiences) == STATIC
    later.organize()
    assert served_by(later.experiences) == STATIC


def test_who_is_outvoted_compacts_all_the_same(open_memory: OpenMemory, clock: FakeClock) -> None:
    """R4, R6, O25: what leaves MEMORY.md becomes experiences by whoever has the embedder, also where what was
    looked at last stays there."""
    on = {"continuity": {**JOURNAL, "memory_compaction_enabled": True, "memory_compaction_max_records": 1}}
    first = open_memory(**on)
    first.journal.remember(DEPLOY, "decision")
    first.experiences.extract()
    first.organize()
    later = open_memory(**on)
    embed_by(later, Letters())
    later.organize()
    for text in (TEA, *ROOMS[:9]):
        first.journal.remember(text, "note")
    clock.turn(days=30)
    assert first.journal.compact().compacted
    kept = {record.text for record in first.journal.records()}
    assert DEPLOY in kept
    assert TEA not in kept
    assert served_by(later.experiences) == LETTERS
    assert "Restart it" in " ".join(first.admin.health().reasons)
    later.experiences.extract()
    assert {one.text for one in later.experiences.list()} >= {DEPLOY, TEA}


def test_a_change_that_is_taken_back_leaves_nothing_waiting(open_memory: OpenMemory) -> None:
    """R4: what the other one began goes, and nothing is made again; also where somebody asked before."""
    tell(open_memory(**LOCAL))
    begun = open_memory(**LOCAL)
    embed_by(begun, Letters(), StaticEmbedder())
    begun.admin.index()
    back = open_memory(**LOCAL)
    store = back.experiences
    assert answers(store)[0]
    assert made_by(store, LETTERS)
    back.organize()
    assert (served_by(store), made_by(store, LETTERS), back.admin.unindexed()) == (STATIC, set(), 0)


def test_no_question_makes_them_all(open_memory: OpenMemory) -> None:
    """R4, R5: where the vectors are gone, one who asks makes a few; where that is not all, words find."""
    store = tell(open_memory(**LOCAL))
    assert all(store.add(f"Ada has met {n} people and {n + 1} dogs in the park.") for n in range(60))
    store._database.write(lambda tx: tx.run("UPDATE items SET embedded = NULL"))
    store._index_worker().vectors("default").clear(VectorPartition("default", STATIC))
    memory = open_memory(**LOCAL)
    assert memory.experiences.query("Why did the deploy fail?", 1)[0].text == DEPLOY
    assert len(made_by(memory.experiences, STATIC)) == MAX_INLINE_EMBEDDED
    assert "by words only" in memory.admin.health().reasons[0]
    assert memory.experiences.query("Who is scared at night?", 1)
    assert is_whole(memory.experiences)
    assert memory.admin.health().status == "green"


def test_a_text_that_is_refused_holds_up_no_change(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R4: nor does one without a direction; words find both. An embedder that fails leaves the old ones as they
    are, and health says so."""
    monkeypatch.setattr(index_worker, "BATCH", 1)
    memory = open_memory(**LOCAL)
    store = tell(memory)
    bare = store.add("1 + 1 = 2, 2 + 2 = 4, 4 + 4 = 8, 8 + 8 = 16")
    before = answers(store)

    class Picky(Letters):
        works = False

        def embed(self, texts: Sequence[str]) -> Rows:
            if not self.works or TEA in texts:
                raise ModelError("The text is too long. Cut it.")
            return super().embed(texts)

    embed_by(memory, picky := Picky(), StaticEmbedder())
    memory.organize()
    assert (answers(store), served_by(store)) == (before, STATIC)
    assert "too long" in " ".join(memory.admin.health().reasons)
    picky.works = True
    memory.organize()
    assert memory.admin.index() == 0
    assert served_by(store) == LETTERS
    [tea] = [one.id for one in store.list() if one.text == TEA]
    assert row_ids(store) - made_by(store, LETTERS) == {tea, bare}
    assert memory.admin.health().status == "green"
    again = open_memory(**LOCAL)
    embed_by(again, picky)
    assert answers(again.experiences) == answers(store), "nor do they hold up whoever asks"
    assert again.admin.health().status == "green"


def test_a_store_of_vectors_that_is_away_holds_up_nothing_else(open_memory: OpenMemory) -> None:
    """R4, S2: it is tried again later, and health says what is wrong."""
    tell(open_memory(**LOCAL))
    memory = open_memory(**LOCAL, vectors={"store": "chroma", "chroma_url": "http://127.0.0.1:1"})
    memory.organize()
    assert "127.0.0.1:1" in memory.admin.health().reasons[0]
    assert memory.experiences.query("Why did the deploy fail?", 1)[0].text == DEPLOY
    assert memory.search("Why did the deploy fail?", 1)


def test_where_nothing_was_told_no_store_is_opened(open_memory: OpenMemory) -> None:
    """K2, R4: the background opens none."""
    memory = open_memory(**LOCAL, vectors={"store": "chroma"})
    memory.organize()
    assert not (memory.home.user_folder("default") / "tmp").exists()
