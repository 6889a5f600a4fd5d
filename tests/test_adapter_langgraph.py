"""LangGraph's store (F1) on real databases, held against LangGraph's own store in memory."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain.tools import ToolRuntime
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from lifelong import Memory
from lifelong.adapters.langgraph import LifelongStore
from lifelong.errors import InputError
from lifelong.testing import FakeClock
from tests.conftest import OpenMemory
from tests.model_servers import ModelServer, Reply, call, say
from tests.scripted_openai import KNOWS, KNOWS_NOT, scripted, texts

MARA, TOM = ("users", "mara"), ("users", "tom", "notes")


@pytest.fixture
def store(memory: Memory) -> LifelongStore:
    return LifelongStore(memory)


def test_what_is_put_comes_back_until_it_is_deleted(open_memory: OpenMemory, clock: FakeClock) -> None:
    """F1, O18, O19: with its times, in the next process; deletion is soft; a namespace goes with its last key."""
    value = {"food": "pizza", "grid": [[1, 2], [[3.5, None]]], "quote": "see [[Mara]] [r1]", "ok": True, "z": -0.0}
    memory = open_memory()
    store = LifelongStore(memory)
    first = clock.now
    store.put(MARA, "likes/dislikes", value)
    clock.now += timedelta(hours=1)
    store.put(MARA, "likes/dislikes", {**value, "food": "pasta"})
    memory.close()
    memory = open_memory()
    store = LifelongStore(memory)
    found = store.get(MARA, "likes/dislikes")
    assert found
    assert (found.value, found.key, found.namespace) == ({**value, "food": "pasta"}, "likes/dislikes", MARA)
    assert (found.created_at, found.updated_at) == (first, clock.now)
    (hit,) = memory.search("which food", kinds=("fact",))
    assert (hit.trust, hit.path) == ("agent", "~/langgraph/users.mara/likes%2Fdislikes")

    document = memory.documents.read(hit.path)
    store.delete(MARA, "likes/dislikes")
    store.delete(MARA, "likes/dislikes")
    assert store.get(MARA, "likes/dislikes") is None
    assert store.list_namespaces() == store.search(()) == store.search((), query="food") == []
    assert len(memory.documents.versions(document.id)) == 2
    store.put(MARA, "likes/dislikes", value)
    memory.forget("~/langgraph/users.mara/likes%2Fdislikes")
    assert store.get(MARA, "likes/dislikes") is None


JSON = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
    | st.sampled_from(["# [[~/memory]]", "- x [r1]", "[r2, from web]", "a\n\n## b", "]]", '"]["[['])
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    key=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
    | st.sampled_from(["", ".", "..", "~", "#", "a/b", "x" * 600, " x "]),
    value=st.dictionaries(st.sampled_from(["a", "b", "c d"]), st.lists(JSON, max_size=3) | JSON),
)
def test_every_value_comes_back_exactly_or_is_refused(any_store: LifelongStore, key: str, value: Any) -> None:
    """F1: whatever is in it reads as text, never as a link, a citation or a heading."""
    try:
        any_store.put(("any",), key, value)
    except InputError as error:
        if "secret" not in str(error):
            raise
        return
    found = any_store.get(("any",), key)
    assert found
    assert repr(found.value) == repr(value)
    assert found.key == key


@pytest.fixture(scope="module")
def any_store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Memory.open(tmp_path_factory.mktemp("any")) as memory:
        yield LifelongStore(memory)


def test_filters_pages_and_namespaces_are_those_of_langgraph(store: LifelongStore) -> None:
    """F1: the same operations on LangGraph's own store give the same."""
    theirs = InMemoryStore()
    puts = [
        PutOp(("a",), "1", {"n": 1, "color": "red", "in": {"x": 1}}),
        PutOp(("a", "b"), "2", {"n": 2.5, "color": "red", "list": [1, 2]}),
        PutOp(("a", "b", "c"), "3", {"n": "3", "color": "blue"}),
        PutOp(("d", "b", "c"), "4", {"n": 4, "color": None}),
        PutOp(("a", "b"), "gone", {"n": 5}),
        PutOp(("a", "b"), "gone", None),
    ]
    for one in (store, theirs):
        assert one.batch(puts) == [None] * 6

    def keys(one: BaseStore, op: SearchOp) -> list[str]:
        (found,) = one.batch([op])
        assert isinstance(found, list)
        return sorted(item.key for item in found if not isinstance(item, tuple))

    conditions: list[dict[str, Any]] = [
        {"color": "red"},
        {"color": {"$eq": "red"}, "n": {"$gt": 1}},
        {"color": {"$ne": "red"}},
        {"n": {"$gte": 2.5}},
        {"n": {"$lt": 4}},
        {"n": {"$lte": 4, "$gt": 1}},
        {"in": {"x": 1}},
        {"in": {"y": 1}},
        {"list": [1, 2]},
        {"color": None},
    ]
    for prefix in ((), ("a",), ("a", "b"), ("a", "b", "c"), ("none",)):
        assert keys(store, SearchOp(prefix)) == keys(theirs, SearchOp(prefix))
        for condition in conditions:
            assert keys(store, SearchOp(prefix, condition)) == keys(theirs, SearchOp(prefix, condition)), condition
    pages = [store.search((), limit=3, offset=offset) for offset in (0, 3, 6)]
    assert [len(page) for page in pages] == [3, 1, 0]
    assert sorted(item.key for page in pages for item in page) == ["1", "2", "3", "4"]
    assert store.search((), filter={"in": {"$gt": 1}}) == [], "not a number"

    for listing in (
        ListNamespacesOp(),
        ListNamespacesOp(max_depth=2),
        ListNamespacesOp(limit=2, offset=1),
        ListNamespacesOp((MatchCondition("prefix", ("a",)),)),
        ListNamespacesOp((MatchCondition("prefix", ("*", "b")),)),
        ListNamespacesOp((MatchCondition("suffix", ("b", "*")), MatchCondition("prefix", ("a",)))),
        ListNamespacesOp((MatchCondition("suffix", ("c",)),), max_depth=1),
    ):
        assert store.batch([listing]) == theirs.batch([listing])


def test_a_query_finds_values_below_the_prefix_best_first(memory: Memory, store: LifelongStore) -> None:
    """F1, R2: the fields that are indexed, with filters and pages; other facts and records are no values."""
    memory.add("Mara cooks mushroom risotto on Sundays.")
    memory.documents.write(slug="x", title="X", body="Mushrooms grow in the wood.", parent_path="~/memory")
    store.put(MARA, "1", {"text": "loves mushroom soup", "kind": "food"})
    store.put(MARA, "2", {"text": "plays the cello", "kind": "music"})
    store.put(TOM, "3", {"text": "cannot stand mushrooms", "kind": "food"})
    store.put(TOM, "4", {"text": "a secret place for mushrooms"}, index=False)
    store.put(TOM, "5", {"about": {"title": "Chanterelles"}, "text": "yellow mushrooms"}, index=["about.title"])
    found = store.search(("users",), query="mushroom soup")
    assert found[0].key == "1"
    assert found[0].score
    assert found[0].score >= (found[1].score or 0)
    assert "4" not in {one.key for one in found}
    assert [one.key for one in store.search(TOM, query="mushrooms", limit=1)] == ["3"]
    assert store.search(("users",), query="chanterelles", limit=1)[0].key == "5"
    assert {one.key for one in store.search(("users",), query="mushrooms", filter={"kind": "music"})} <= {"2"}
    assert store.search(("users",), query="mushroom soup", offset=1)[0].key != "1"


def test_a_batch_is_stored_whole_or_not_at_all(store: LifelongStore) -> None:
    """F1: its reads see what was before; bad input changes nothing; there is no TTL."""
    store.put(MARA, "1", {"n": 1})
    read, _ = store.batch([GetOp(MARA, "1"), PutOp(MARA, "1", {"n": 2})])
    assert read
    assert read.value == {"n": 1}  # type: ignore[union-attr]
    refused: list[tuple[PutOp, type[Exception], str]] = [
        (PutOp(MARA, "2", {"n": float("nan")}), InputError, "JSON cannot hold"),
        (PutOp(MARA, "2", {"n": {1, 2}}), InputError, "JSON cannot hold"),
        (PutOp(MARA, "2", ["n"]), InputError, "must be a dict"),  # type: ignore[arg-type]
        (PutOp(MARA, "2", {"password": "kX9#mPq2vLw8Zr4t"}), InputError, "holds a secret"),
        (PutOp(MARA, "2", {"text": "x" * 300_000}), InputError, "200,000"),
        (PutOp(("a.b",), "2", {}), InvalidNamespaceError, "periods"),
        (PutOp(MARA, "2", {}, ttl=5), NotImplementedError, "no TTL"),
    ]
    for op, kind, words in refused:
        with pytest.raises(kind, match=words):
            store.batch([PutOp(MARA, "1", {"n": 3}), op])
    with pytest.raises(NotImplementedError, match="TTL"):
        store.put(MARA, "2", {}, ttl=5)
    with pytest.raises(InputError, match="Unknown operator"):
        store.search(MARA, filter={"n": {"$near": 1}})
    found = store.search(())
    assert [(one.key, one.value) for one in found] == [("1", {"n": 2})]


def test_writers_of_one_key_do_not_fail(open_memory: OpenMemory) -> None:
    """F1: in two processes' memories, also where both make the first namespace."""
    stores = [LifelongStore(open_memory()) for _ in range(2)]

    def write(number: int) -> None:
        for turn in range(5):
            stores[number].put(MARA, "same", {"by": number, "turn": turn})

    threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = stores[0].get(MARA, "same")
    assert found
    assert found.value["turn"] == 4


def test_a_graph_uses_it_in_threads_and_in_an_event_loop(tmp_path: Path) -> None:
    """F1: LangGraph's own graph, in two memories of one home; one user does not see another's."""

    def node(state: MessagesState, runtime: Runtime[None]) -> dict[str, Any]:
        assert runtime.store
        known = [one.value["text"] for one in runtime.store.search(("notes",))]
        runtime.store.put(("notes",), str(len(known)), {"text": state["messages"][-1].text})
        return {"messages": [("ai", " ".join(known) or "nothing")]}

    builder = StateGraph(MessagesState).add_node(node).add_edge(START, "node")

    def ask(user: str, text: str) -> str:
        with Memory.open(tmp_path, user) as memory:
            graph = builder.compile(store=LifelongStore(memory))
            return str(graph.invoke({"messages": [HumanMessage(text)]})["messages"][-1].text)

    assert [ask("mara", "one"), ask("mara", "two"), ask("tom", "three")] == ["nothing", "one", "nothing"]

    async def later() -> list[str]:
        with Memory.open(tmp_path, "mara") as memory:
            store = LifelongStore(memory)
            await asyncio.gather(*(store.aput(("more",), str(at), {"text": str(at)}) for at in range(3)))
            await store.adelete(("more",), "0")
            return [one.value["text"] for one in await store.asearch(("more",))]

    assert asyncio.run(later()) == ["1", "2"]


@tool
def note(text: str, runtime: ToolRuntime) -> str:
    """Note something about the user."""
    assert runtime.store
    runtime.store.put(MARA, "health", {"text": text})
    return "Noted."


@tool
async def look_up(query: str, runtime: ToolRuntime) -> str:
    """Look up what was noted about the user."""
    assert runtime.store
    return " ".join(one.value["text"] for one in await runtime.store.asearch(MARA, query=query))


def test_an_agent_uses_it_while_it_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F1: what a tool puts in the middle of a stream is found in that of the next memory, in an event loop."""
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    calls = {"note": {"text": "Mara is allergic to walnuts."}, "look_up": {"query": "allergic to what?"}}

    def answer(asked: dict[str, Any]) -> Reply:
        if asked["messages"][-1]["role"] == "tool":
            return say(KNOWS if "walnuts" in texts(asked) else KNOWS_NOT)
        (given,) = asked["tools"]
        name = given["function"]["name"]
        return call(name, calls[name])

    def make(server: ModelServer, memory: Memory, with_tool: BaseTool) -> Any:
        model = init_chat_model("openai:gpt-5.2", base_url=server.base_url("openai"), api_key="x", max_retries=0)
        return create_agent(model, [with_tool], store=LifelongStore(memory))

    asked = {"messages": [HumanMessage("What shall I cook for dinner?")]}
    with scripted(answer) as server:
        with Memory.open(tmp_path) as memory:
            noted = [one.text for one, _ in make(server, memory, note).stream(asked, stream_mode="messages")]
        with Memory.open(tmp_path) as memory:

            async def later() -> list[str]:
                agent = make(server, memory, look_up)
                return [one.text async for one, _ in agent.astream(asked, stream_mode="messages")]

            found = asyncio.run(later())
            assert [one.value for one in LifelongStore(memory).search(MARA)] == [calls["note"]]
    assert all(one["stream"] for one in server.requests)
    assert "Noted." in noted
    assert "Mara is allergic to walnuts." in found
    assert [piece for piece in found if piece][-len(KNOWS.split()) :] == [f"{word} " for word in KNOWS.split()]
