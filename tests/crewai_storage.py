"""CrewAI's storage (F1) with CrewAI itself. `test_adapter_crewai.py` runs this in an environment that has it."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from crewai import LLM, Agent
from crewai.memory.storage.backend import StorageBackend
from crewai.memory.types import MemoryRecord

from lifelong import Memory
from lifelong.adapters.crewai import STANDING, LifelongStorage, crew_memory
from lifelong.errors import InputError
from tests.model_servers import Reply, call, say
from tests.scripted_openai import scripted

OLD = datetime(2024, 5, 1, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "home") as opened:
        yield opened


def search(storage: LifelongStorage, text: str, *more: Any, **options: Any) -> list[tuple[str, float]]:
    (vector,) = storage.embed([text])
    return [(one.content, score) for one, score in storage.search(vector, *more, **options)]


def test_records_come_back_in_the_next_process_until_they_are_deleted(tmp_path: Path) -> None:
    """O18, O19: each field, by scope; replaced and moved with a history; deletion is soft; no secrets."""
    with Memory.open(tmp_path) as memory:
        storage = LifelongStorage(memory)
        assert isinstance(storage, StorageBackend)
        one = MemoryRecord(
            content="The build takes [[4]] minutes.",
            scope="ops//build/",
            categories=["build"],
            metadata={"topics": ["ci"], "n": 1.5},
            importance=0.9,
            created_at=OLD,
            source="tom",
            private=True,
        )
        other = MemoryRecord(content="The key is sk-proj-AbCdEfGhIjKlMnOpQrStUvWx1234567890abcdefgh.", scope="/")
        storage.save([one, other])
    with Memory.open(tmp_path) as memory:
        storage = LifelongStorage(memory)
        kept = storage.get_record(one.id)
        assert kept == one.model_copy(update={"scope": "/ops/build", "created_at": OLD.replace(tzinfo=None)})
        assert "sk-proj" not in str(storage.get_record(other.id))
        assert storage.list_records() == [storage.get_record(other.id), kept]
        assert storage.list_records("/ops", 1, 1) == storage.list_records("/op") == []
        assert (storage.count(), storage.count("/ops"), storage.count("/other")) == (2, 1, 0)
        assert storage.list_scopes() == ["/", "/ops"]
        assert storage.list_scopes("/ops/") == ["/ops", "/ops/build"]
        assert storage.list_categories("/ops") == {"build": 1}
        info = storage.get_scope_info("/ops")
        assert (info.record_count, info.categories, info.child_scopes) == (1, ["build"], ["/ops/build"])
        assert info.oldest_record == info.newest_record == OLD.replace(tzinfo=None)
        storage.update(one.model_copy(update={"content": "The build takes 5 minutes.", "scope": "/ci"}))
        assert [found.content for found in storage.list_records("/ci")] == ["The build takes 5 minutes."]
        assert storage.list_scopes() == ["/", "/ci"]
        (hit,) = memory.search("how long does the build take", 1, kinds=("fact",))
        assert (hit.text, hit.trust, hit.path) == (
            "The build takes 5 minutes.",
            "agent",
            f"~/crewai/%2Fci/{one.id}",
        )
        assert storage.delete(older_than=OLD) == storage.delete(categories=["x"], record_ids=[one.id]) == 0
        assert storage.delete("/ci", ["build"], [one.id], OLD + timedelta(days=1), {"n": 1.5}) == 1
        assert (storage.get_record(one.id), storage.count()) == (None, 1)
        storage.reset()
        assert storage.count() == 0
        assert len(memory.documents.changesets()) == 4


def test_a_search_is_lifelongs_own(memory: Memory) -> None:
    """R1, S5: by the words of the vector; in "/", with what others told the memory, and with whose word it is."""
    storage = LifelongStorage(memory)
    saved = [
        MemoryRecord(content="Invoice INV-2231 was paid by Acme.", scope="/billing", categories=["money"]),
        MemoryRecord(content="Acme wants reports on Mondays.", scope="/reports", metadata={"day": "Monday"}),
    ]
    storage.save(saved)
    memory.add("I'm allergic to nuts.")
    memory.add("Acme moved to Porto.")
    invoice, reports = (one.content for one in saved)
    assert search(storage, "INV-2231", "/billing")[0][0] == invoice
    assert [text for text, _ in search(storage, "Acme", "/reports")] == [reports]
    assert [text for text, _ in search(storage, "Acme", None, ["money"])] == [invoice]
    assert [text for text, _ in search(storage, "Acme", None, None, {"day": "Monday"})] == [reports]
    assert {text for text, _ in search(storage, "Acme")} == {invoice, reports}
    assert search(storage, "Acme", limit=1) == search(storage, "Acme")[:1]
    scores = [score for _, score in search(storage, invoice)]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == pytest.approx(1)
    assert [text for text, _ in search(storage, invoice, min_score=0.99)] == [invoice]
    everything = search(storage, "Where is Acme?", "/")
    assert "allergic to nuts" in everything[0][0]
    assert "Acme moved to Porto." in [text for text, _ in everything[1:]]
    (vector,) = storage.embed(["Where is Acme?"])
    (porto,) = (one for one, _ in storage.search(vector, "/") if one.content == "Acme moved to Porto.")
    assert porto.metadata["trust"] == "user"
    assert storage.delete(record_ids=[porto.id, STANDING]) == 0, "what CrewAI did not store is not its to delete"
    storage.update(porto.model_copy(update={"content": "Acme moved to Faro."}))
    assert memory.search("Acme moved", 1, kinds=("record",))[0].text == "Acme moved to Porto."
    assert storage.count() == 3


def test_a_vector_of_another_embedder_is_refused(memory: Memory) -> None:
    """F1: rather than to find something else."""
    with pytest.raises(InputError, match=r"embedder=storage\.embed"):
        LifelongStorage(memory).search([1.0, 0.0])


def test_copies_share_the_memory_and_an_event_loop_may_ask(memory: Memory) -> None:
    """F1: CrewAI copies what a crew has, for each of its inputs."""
    made = crew_memory(memory, llm=LLM(model="openai/gpt-5.2", api_key="x"))
    made.remember("Deploys are on Fridays.", scope="/ops", categories=[], importance=0.5, metadata={})
    assert [one.record.content for one in made.recall("When are deploys?", depth="shallow")]
    storage = LifelongStorage(memory)
    assert copy.deepcopy({"storage": storage, "embedder": storage.embed}) == {
        "storage": storage,
        "embedder": storage.embed,
    }

    async def use() -> int:
        await storage.asave([MemoryRecord(content="Tom is on call.", scope="/ops")])
        (vector,) = storage.embed(["Who is on call?"])
        found = await storage.asearch(vector, "/ops")
        assert "Tom is on call." in [one.content for one, _ in found]
        return await storage.adelete("/ops")

    assert asyncio.run(use()) == 2


def answer(asked: dict[str, Any]) -> Reply:
    """Answer as the model of an agent, which uses its tools, and as that of CrewAI's own analysis."""
    said = json.dumps(asked["messages"])
    schema = asked.get("response_format", {}).get("json_schema", {}).get("name", "")
    if schema == "ExtractedMemories":
        return say(json.dumps({"memories": ["The user's bike is a green Canyon."]}))
    if schema:
        metadata: dict[str, list[str]] = {"entities": [], "dates": [], "topics": []}
        fields = {"suggested_scope": "/bikes", "categories": ["bike"], "importance": 0.8}
        return say(json.dumps({**fields, "extracted_metadata": metadata}))
    if "green" not in said and "Search" in said:
        return call("search_memory", {"queries": ["the user's bike"]})
    return say("It is green." if "green Canyon" in said else "Noted.")


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_an_agent_remembers_across_restarts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, streamed: bool
) -> None:
    """F1: what CrewAI extracts is kept, and is before the next agent's task."""
    with scripted(answer) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "x")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url("openai"))

        def ask(text: str) -> str:
            with Memory.open(tmp_path) as memory:
                made = crew_memory(memory)
                agent = Agent(
                    role="mechanic",
                    goal="help",
                    backstory="You mend bikes.",
                    llm=LLM(model="openai/gpt-5.2", stream=streamed),
                    memory=made,
                )
                said = str(agent.kickoff(text)).strip()
                made.drain_writes()
                return said

        assert ask("I ride a green Canyon, which squeaks.") == "It is green."
        assert ask("Which colour has my bike?") == "It is green."
        with Memory.open(tmp_path) as memory:
            (kept,) = LifelongStorage(memory).list_records("/bikes", limit=1)
            assert (kept.content, kept.importance) == ("The user's bike is a green Canyon.", 0.8)
