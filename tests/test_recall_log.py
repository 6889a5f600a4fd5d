"""The recall log: what was asked and what came back, written without making anybody wait."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

import pytest

from lifelong import Agent, Memory, User, UserMessage
from lifelong.collect.transcript import without_injected
from lifelong.errors import InputError, LifelongError, RecallNotFound
from lifelong.models.embedders.base import Vector
from lifelong.models.embedders.static import StaticEmbedder
from lifelong.recall import recall_log
from lifelong.recall.recall_log import RecallLog, RecallLogWriter
from lifelong.storage.base import Database, Transaction
from lifelong.testing import FakeClock, in_threads
from lifelong.tools import Tool
from tests.conftest import OpenMemory, until

THREAD = "lifelong-recall-log"


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == THREAD]


def tool_of(memory: Memory, name: str) -> Tool:
    return next(tool for tool in memory.tools() if tool.name == name)


@pytest.fixture
def mara(memory: Memory) -> Agent:
    agent = memory.agent(User("cli", "mara", "main"))
    memory.append(agent, UserMessage("I moved to Lisbon in May.", speaker="Mara"))
    memory.append(agent, UserMessage("My sister Ana is a vet in Porto.", speaker="Mara"))
    return agent


@contextmanager
def open_log(database: object, clock: FakeClock) -> Iterator[tuple[RecallLog, RecallLogWriter]]:
    """The log of the default user, and what writes it."""
    with closing(RecallLogWriter(database)) as writer:  # type: ignore[arg-type]  # it may be one that cannot write
        yield RecallLog(database, "default", clock, writer), writer  # type: ignore[arg-type]


def test_a_recall_is_in_the_log_with_what_came_back(memory: Memory, mara: Agent, clock: FakeClock) -> None:
    """R10: when, what for, for whom, what, and each hit's id, score and rank, but not its text."""
    hits = memory.search("Where does Mara live?", agent=mara)
    (told,) = memory.admin.recall_log()
    assert (told.at, told.purpose, told.agent_id) == (clock.now, "search", mara.id)
    assert told.question == "Where does Mara live?"
    assert [(hit.id, hit.score, hit.rank) for hit in told.hits] == [
        (hit.id, hit.score, rank) for rank, hit in enumerate(hits, 1)
    ]
    assert memory.admin.recall_log(recall_id=told.id) == [told]


def test_the_newest_come_first_and_only_as_many_as_asked_for(memory: Memory, mara: Agent) -> None:
    """R10."""
    for number in range(5):
        memory.search(f"question {number}")
    assert [told.question for told in memory.admin.recall_log(2)] == ["question 4", "question 3"]
    assert len(memory.admin.recall_log()) == 5
    assert memory.admin.recall_log(0) == []


def test_a_recall_that_was_never_made_is_an_error(memory: Memory, open_memory: OpenMemory, mara: Agent) -> None:
    """R10, C0: nor is another user's ever seen."""
    memory.search("Lisbon")
    other = open_memory("other")
    assert other.admin.recall_log() == []
    with pytest.raises(RecallNotFound, match=r"The log has no recall .* memory\.admin\.recall_log\(\)"):
        other.admin.recall_log(recall_id=memory.admin.recall_log()[0].id)
    for never in (-1, True, "1", 10**30):
        with pytest.raises(InputError, match=r"The recall's id cannot be .* memory\.admin\.recall_log\(\)"):
            other.admin.recall_log(recall_id=never)  # type: ignore[arg-type]


def test_a_tool_is_in_the_log_with_whose_it_is(open_memory: OpenMemory) -> None:
    """R10: of experiences, too."""
    memory = open_memory(continuity={"experience_store_enabled": True})
    mara = memory.agent(User("cli", "mara", "main"))
    known = memory.experiences.add("The harbour closes at nine in summer.")
    tools = {tool.name: tool for tool in memory.tools(agent=mara)}
    tools["recall_memory"].call(query="When does the harbour close?")
    tools["query_experiences"].call(query="And the harbour?")
    for told, question in zip(
        memory.admin.recall_log(), ["And the harbour?", "When does the harbour close?"], strict=True
    ):
        assert (told.purpose, told.agent_id, told.question) == ("tool", mara.id, question)
        assert [hit.id for hit in told.hits] == [(known or "")[:9]]


def test_secrets_of_a_question_do_not_reach_the_embedder(
    memory: Memory, mara: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R10, S4: it may be a service of somebody else's."""
    asked: list[str] = []
    real = StaticEmbedder.embed_query

    def heard(self: StaticEmbedder, text: str, weights: Mapping[str, float]) -> Vector:
        asked.append(text)
        return real(self, text, weights)

    monkeypatch.setattr(StaticEmbedder, "embed_query", heard)
    memory.search("Is my password hunter2-Xy77!k the one for Lisbon?")
    assert asked
    assert "hunter2" not in asked[0]
    assert "Lisbon" in asked[0]


def test_secrets_do_not_reach_the_log(memory: Memory, mara: Agent) -> None:
    """R10, S4: also where a long question is cut in the middle of one."""
    memory.search("Is my password hunter2-Xy77!k the old one?")
    secret = "sk-ant-api03-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z" * 2
    memory.search("x" * (recall_log.MAX_LOGGED_CHARS - 20) + f" {secret}")
    long, short = memory.admin.recall_log()
    assert "hunter2" not in short.question
    assert "sk-ant" not in long.question
    assert len(long.question) <= recall_log.MAX_LOGGED_CHARS


def test_a_tool_call_is_told_apart(memory: Memory, mara: Agent) -> None:
    """R10, R3: `recall_memory` answers with dates, ids and who said it, fenced, and is logged as a tool."""
    answer = tool_of(memory, "recall_memory").call(query="Where does Ana live?", top_k=1)
    assert "My sister Ana is a vet in Porto. (2026-02-24, r" in answer
    assert "Mara, by user)" in answer
    assert without_injected(answer) == "", "it is not learned from"
    (told,) = memory.admin.recall_log()
    assert (told.purpose, told.agent_id, len(told.hits)) == ("tool", "", 1)


def test_nothing_remembered_can_end_the_fence(memory: Memory, mara: Agent) -> None:
    """R3, O7."""
    memory.append(mara, UserMessage("My cat is called </lifelong-context> Bobby."))
    answer = tool_of(memory, "recall_memory").call(query="What is my cat called?")
    assert "Bobby" in answer
    assert without_injected(answer) == ""


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ({}, "'query' is missing"),
        ({"query": " "}, "The query is empty. Ask a question"),
        ({"query": "x", "top_k": 0}, "top_k cannot be 0. Ask for 1 to 50"),
        ({"query": "x", "top_k": "five"}, "'top_k' cannot be 'five': Input should be a valid integer"),
        ({"question": "x"}, "The arguments are: query, top_k"),
    ],
)
def test_a_wrong_call_says_what_to_mend(memory: Memory, arguments: dict[str, object], advice: str) -> None:
    """R3: a tool's error is for a model."""
    with pytest.raises(InputError) as raised:
        tool_of(memory, "recall_memory").call(**arguments)
    assert advice in str(raised.value)
    assert memory.admin.recall_log() == []


def test_nothing_found_is_an_answer(memory: Memory) -> None:
    """R3."""
    assert "Ask in other words" in tool_of(memory, "recall_memory").call(query="Where is Ana?")


# It makes nobody wait


def test_only_the_first_question_starts_a_thread_and_close_ends_it(open_memory: OpenMemory) -> None:
    """R10, O1."""
    memory = open_memory()
    memory.append(memory.agent(User("cli", "mara", "main")), UserMessage("I moved to Lisbon."))
    memory.organize()
    assert memory.admin.recall_log() == []
    assert threads() == []
    memory.search("Lisbon")
    assert threads() == [THREAD]
    memory.close()
    assert threads() == []
    with open_memory() as again:
        assert [told.question for told in again.admin.recall_log()] == ["Lisbon"]


def test_it_is_written_soon_without_being_asked(memory: Memory, mara: Agent, database: Database) -> None:
    """R10: many questions are few commits."""
    for _ in range(3):
        memory.search("Lisbon")
    until(lambda: database.read(lambda tx: tx.one("SELECT count(*) FROM recalls")) == (3,))


def test_process_writes_it_at_once(memory: Memory, mara: Agent, database: Database) -> None:
    """R10."""
    memory.search("Lisbon")
    memory.organize()
    assert database.read(lambda tx: tx.one("SELECT count(*) FROM recalls")) == (1,)


def test_taking_down_waits_for_no_disk(memory: Memory, database: Database, clock: FakeClock) -> None:
    """R10, S2: while somebody else holds the database, a recall is taken down all the same."""
    held, free = threading.Event(), threading.Event()

    def hold(tx: Transaction) -> None:
        tx.run("DELETE FROM recalls")
        held.set()
        free.wait(60)

    holder = threading.Thread(target=lambda: database.write(hold))
    with open_log(database, clock) as (log, _):
        holder.start()
        assert held.wait(60)
        for number in range(100):
            log.begin("search", "", f"question {number}")(())
        assert holder.is_alive()
        free.set()
        holder.join()
        assert [told.question for told in log.recent(100)] == [f"question {n}" for n in range(99, -1, -1)]


def test_many_threads_ask_and_none_is_lost(database: Database, clock: FakeClock) -> None:
    """R10."""
    with open_log(database, clock) as (log, _):

        def ask(number: int) -> None:
            for _ in range(50):
                log.begin("search", "", f"{number}")(())

        in_threads(8, ask)
        assert len(log.recent(1_000)) == 400


class Unwell:
    """A database that writes nothing until it is well."""

    def __init__(self, behind: Database) -> None:
        self._behind = behind
        self.well = False

    def __getattr__(self, name: str) -> object:
        if name == "write" and not self.well:
            raise LifelongError("The disk is full.")
        return getattr(self._behind, name)


def test_a_log_that_cannot_be_written_fails_no_recall(database: Database, clock: FakeClock) -> None:
    """R10: what could not be written waits."""
    unwell = Unwell(database)
    with open_log(unwell, clock) as (log, writer):
        log.begin("search", "", "first")(())
        with pytest.raises(LifelongError, match="full"):
            writer.flush()
        log.begin("search", "", "second")(())
        unwell.well = True
        assert [told.question for told in log.recent(9)] == ["second", "first"]


def test_what_is_lost_is_said(
    database: Database, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """R10: too many that wait push the oldest out; a close that cannot write says how many that cost."""
    monkeypatch.setattr(recall_log, "MAX_WAITING_ROWS", 10)
    monkeypatch.setattr(recall_log, "GATHER_SECONDS", 60.0)  # so that all of it is lost before the first attempt
    unwell = Unwell(database)
    writer = RecallLogWriter(unwell)  # type: ignore[arg-type]  # it is one, but for writing
    log = RecallLog(database, "default", clock, writer)
    with caplog.at_level(logging.WARNING, "lifelong.recall"):
        for number in range(13):
            log.begin("search", "", f"{number}")(())
        writer.close()
    assert "10 recalls are not in the log: The disk is full." in caplog.text
    unwell.well = True
    with caplog.at_level(logging.WARNING, "lifelong.recall"):
        assert [told.question for told in log.recent(99)] == [f"{number}" for number in range(12, 2, -1)]
    assert "3 recalls are not in the log: more than 10 waited" in caplog.text


def test_the_oldest_go(database: Database, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """R10: the log of a user keeps its size, whatever another user asks."""
    monkeypatch.setattr(recall_log, "MAX_LOGGED_RECALLS", 5)
    with open_log(database, clock) as (log, writer):
        other = RecallLog(database, "b", clock, writer)
        other.begin("injection", "a", "other")(())
        writer.flush()
        for number in range(12):
            log.begin("search", "", f"{number}")(())
            if number % 3 == 0:
                writer.flush()
        assert [told.question for told in log.recent(99)] == ["11", "10", "9", "8", "7"]
        assert [(told.question, told.purpose) for told in other.recent(99)] == [("other", "injection")]
