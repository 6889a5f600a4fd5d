"""How sure a hit is, and what else says the same: every face shows it and says when nothing is known."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from lifelong import Hit, Memory, UserMessage, nothing_known
from lifelong.collect.transcript import without_injected
from lifelong.memory import Store
from lifelong.recall.experiences import Experiences
from lifelong.recall.search import Searcher
from lifelong.serve.cli.app import app
from lifelong.serve.hook import hook
from lifelong.serve.http.app import create_app
from lifelong.serve.terminal import hit_lines
from lifelong.testing import FakeClock
from lifelong.types import NOTHING_KNOWN, ONLY_NEAREST, Confidence
from tests.pages import ON

QUESTION = "Where does Mara live?"
Judge = Callable[..., None]


@pytest.fixture
def home(tmp_path: Path, clock: FakeClock) -> Path:
    place = tmp_path / "home"
    with Memory.open(place, clock=clock, continuity=ON) as memory:
        memory.append(memory.agent(), UserMessage("Mara lives in Porto.", speaker="Sam"))
        memory.append(memory.agent(), UserMessage("Mara lives near the river.", speaker="Ida"))
        memory.experiences.add("Mara lives where the trams end.")
        memory.organize()
    return place


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Return a function that says how sure each hit of every search is; the hit beside it becomes its source. A
    double for what calibration says."""
    search, query = Searcher.search, Experiences.query

    def judge(*confidences: Confidence, sources: tuple[Hit, ...] = ()) -> None:
        def found(self: Searcher, *asked: Any, **more: Any) -> list[Hit]:
            hits = search(self, *asked, **more)
            return [
                replace(hit, confidence=sure, sources=sources)
                for hit, sure in zip(hits, confidences, strict=False)
            ]

        monkeypatch.setattr(Searcher, "search", found)
        monkeypatch.setattr(
            Experiences,
            "query",
            lambda *asked: [replace(one, confidence=confidences[0]) for one in query(*asked)],
        )

    return judge


@pytest.fixture
def memory(home: Path, clock: FakeClock) -> Iterator[Memory]:
    with Memory.open(home, clock=clock, continuity=ON) as opened:
        yield opened


@pytest.fixture
def other(memory: Memory) -> Hit:
    """Something that says the same."""
    return replace(memory.list("record")[0], text="She lives in Porto, she wrote.", speaker="Rui")


@pytest.fixture
def client(home: Path, clock: FakeClock) -> Iterator[TestClient]:
    with Store.open(home, clock=clock, continuity=ON) as store:
        yield TestClient(create_app(store), base_url="http://localhost")


def tool_of(memory: Memory, name: str) -> Callable[..., str]:
    return next(tool.call for tool in memory.tools() if tool.name == name)


def test_nothing_is_known_without_a_hit_that_is_fair(memory: Memory, judged: Judge) -> None:
    """R13: in Python, one function decides."""
    assert nothing_known([])
    assert not nothing_known(memory.search(QUESTION))
    judged("low", "low")
    assert nothing_known(memory.search(QUESTION))
    judged("low", "fair")
    assert not nothing_known(memory.search(QUESTION))
    judged("high")
    assert not nothing_known(memory.search(QUESTION))


def searched(home: Path, *more: str) -> str:
    done = CliRunner().invoke(app, ["search", QUESTION, "--home", str(home), *more])
    assert done.exit_code == 0, done.output
    return done.output


def test_the_command_line_says_when_nothing_is_known(home: Path, judged: Judge) -> None:
    """R13: one sentence first, then the nearest."""
    assert NOTHING_KNOWN not in searched(home)
    judged("low", "low")
    first, *lines = searched(home).splitlines()
    assert first == ONLY_NEAREST
    assert len(lines) == 2
    assert not any("low confidence" in line for line in lines), "it was said once"
    judged("high", "low")
    sure, unsure = searched(home).splitlines()
    assert ("low confidence" in sure, "low confidence" in unsure) == (False, True)


def test_the_command_line_shows_sources_beneath_a_hit(home: Path, judged: Judge, other: Hit) -> None:
    """R14."""
    judged("fair", sources=(other,))
    hit, source = searched(home).splitlines()
    assert hit.startswith(("r", "f", "e"))
    assert source.split() == ["also", other.id, "Rui", *other.text.split()]


def test_json_has_confidence_and_sources(home: Path, judged: Judge, other: Hit) -> None:
    """R13, R14: a program sees what a person sees."""
    judged("low", sources=(other,))
    (hit,) = json.loads(searched(home, "--json"))
    assert hit["confidence"] == "low"
    assert [source["text"] for source in hit["sources"]] == [other.text]


def test_a_low_hit_is_dim_on_a_terminal(
    memory: Memory, judged: Judge, other: Hit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R13, R14: and so is a source."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    judged("high", "low", sources=(other,))
    high, source, low, _ = hit_lines(memory.search(QUESTION), QUESTION, 120)
    assert "\x1b[36m" in high
    assert "\x1b[36m" not in low
    assert source.startswith("\x1b[2m")
    assert low.startswith("\x1b[2m")


def test_a_tool_says_when_nothing_is_known(memory: Memory, judged: Judge, other: Hit) -> None:
    """R13, R14: within the fence, so that nobody learns it; ids of sources can be typed."""
    recall = tool_of(memory, "recall_memory")
    assert NOTHING_KNOWN not in recall(query=QUESTION)
    judged("low", "low", sources=(other,))
    answer = recall(query=QUESTION)
    assert answer.splitlines()[1] == ONLY_NEAREST
    assert f"also {other.id})" in answer
    assert without_injected(answer) == ""
    judged("fair", "low")
    answer = recall(query=QUESTION)
    assert NOTHING_KNOWN not in answer
    assert answer.count("low confidence") == 1
    judged()
    assert recall(query=QUESTION).startswith(NOTHING_KNOWN)


def test_experiences_say_when_nothing_is_known(
    memory: Memory, judged: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R13, R7."""
    query = tool_of(memory, "query_experiences")
    assert NOTHING_KNOWN not in query(query=QUESTION)
    judged("low")
    assert query(query=QUESTION).splitlines()[1] == ONLY_NEAREST
    assert query(query=QUESTION, group_by="category").splitlines()[1] == ONLY_NEAREST
    monkeypatch.setenv("LIFELONG_CONTINUITY_EXPERIENCE_STORE_ENABLED", "true")
    done = CliRunner().invoke(app, ["experiences", "query", QUESTION, "--home", str(memory.home.path)])
    assert done.output.splitlines()[0] == ONLY_NEAREST


def test_a_hook_puts_nothing_unsure_before_a_prompt(home: Path, judged: Judge) -> None:
    """R13, F3."""
    (home / "lifelong.toml").write_text("[continuity]\nexperience_store_enabled = true\n")

    def given(session: str) -> str:
        event = {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": "/work", "prompt": QUESTION}
        out = io.StringIO()
        hook(io.BytesIO(json.dumps(event).encode()), out, home)
        return out.getvalue()

    assert "where the trams end" in given("one")
    judged(*["low"] * 10)
    assert "where the trams end" not in given("two")


def test_http_answers_with_confidence_and_sources(client: TestClient, judged: Judge, other: Hit) -> None:
    """R13, R14: exactly as the schema says."""
    judged("low", sources=(other,))
    (hit,) = client.post("/api/v1/search", json={"query": QUESTION}).json()
    assert hit["confidence"] == "low"
    (source,) = hit["sources"]
    assert (source["id"], source["text"], source["sources"]) == (other.id, other.text, [])
    schema = client.get("/openapi.json").json()["components"]["schemas"]
    assert schema["Hit"]["properties"]["confidence"]["enum"] == ["low", "fair", "high"]
    assert schema["Hit"]["properties"]["sources"]["items"] == {"$ref": "#/components/schemas/Hit"}
    assert schema["Experience"]["properties"]["confidence"]["enum"] == ["low", "fair", "high"]


def test_the_page_says_when_nothing_is_known(client: TestClient, judged: Judge, other: Hit) -> None:
    """R13, R14: low hits are dim, sources are folded beneath."""
    assert NOTHING_KNOWN not in client.get(f"/search?q={QUESTION}").text
    judged("low", "low", sources=(other,))
    page = client.get(f"/search?q={QUESTION}").text
    assert f"<h2>{ONLY_NEAREST}</h2>" in page
    assert page.count('class="hit explained low"') == 2
    assert "low confidence" not in page
    assert page.count('<details class="sources">') == 2
    assert "1 source<" in page
    assert other.text in page
    judged("fair", "low")
    page = client.get(f"/search?q={QUESTION}").text
    assert NOTHING_KNOWN not in page
    assert page.count("low confidence") == 1
    assert "sources" not in page
    assert ONLY_NEAREST not in client.get("/experiences?q=Mara").text
    judged("low")
    assert ONLY_NEAREST in client.get("/experiences?q=Mara").text
    judged()
    assert f"<h2>{NOTHING_KNOWN}</h2>" in client.get(f"/search?q={QUESTION}").text
