"""O1, O5, O6, O9, O13: from the inbox to the documents, and what happens when it goes wrong."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lifelong import (
    Agent,
    AssistantMessage,
    Memory,
    MemoryAgent,
    System,
    SystemMessage,
    Task,
    ToolResult,
    User,
    UserMessage,
)
from lifelong.errors import DailyCapExceeded, ModelError, RecordNotFound, RunBudgetExceeded, StorageFull
from lifelong.organize import dispatch, memory_agent
from lifelong.organize.draft import Draft
from lifelong.organize.facts import parse_facts
from lifelong.organize.health import Health
from lifelong.organize.memory_agent import MAX_LEASES_LOST
from lifelong.organize.organizer import RunResult, Transcript
from lifelong.testing import FakeClock, ScriptedOrganizer, log_records
from lifelong.types import utc_now
from tests.conftest import OpenMemory, everything, until

ALICE = User("cli", "alice", "main")


@pytest.fixture
def organizer() -> ScriptedOrganizer:
    return ScriptedOrganizer()


@pytest.fixture
def memory(open_memory: OpenMemory, organizer: ScriptedOrganizer) -> Memory:
    return open_memory(organizer=organizer)


def say(memory: Memory, agent: Agent, *texts: str) -> list[int]:
    ids = memory.append_many(agent, [UserMessage(text) for text in texts])
    memory.end_session(agent)
    return ids


def test_a_run_is_one_changeset_that_says_where_it_came_from(memory: Memory, alice: Agent) -> None:
    """O9."""
    ids = say(memory, alice, "one", "two")
    assert memory.organize().finished == 1
    (changeset,) = memory.documents.changesets()
    session = memory.sessions.list(alice)[0]
    (item,) = memory.inbox.list()
    assert (changeset.cause, changeset.organizer, changeset.session_id) == ("run", "scripted", session.id)
    assert (changeset.after, changeset.until, changeset.inbox_id) == (0, ids[-1], item.id)
    assert memory.agents.get(changeset.author).descriptor == MemoryAgent(alice.id)
    assert (item.state, item.changeset_id, item.text) == ("done", changeset.id, "")
    told = parse_facts(memory.documents.read("~/memory/log").body)
    assert [fact.records for fact in told] == [(record,) for record in ids]


def test_the_organizer_gets_the_records_and_the_transcript(
    memory: Memory, alice: Agent, organizer: ScriptedOrganizer
) -> None:
    """O8."""
    ids = say(memory, alice, "one", "two")
    whole = memory.sessions.transcript(alice)
    memory.organize()
    (seen,) = organizer.seen
    assert (seen.text, [r.id for r in seen.records], seen.foreground) == (whole, ids, True)
    assert (seen.owner, seen.agent_id) == ("default", alice.id)


def test_edits_land_all_or_none(memory: Memory, alice: Agent, organizer: ScriptedOrganizer) -> None:
    """O9: an organizer that fails half-way leaves no trace."""

    def half(transcript: Transcript, draft: Draft) -> None:
        log_records(transcript, draft)
        raise ModelError("it broke off")

    organizer.script = [half]
    say(memory, alice, "one")
    assert memory.organize().failed == 1
    assert memory.documents.find("~/memory/log") is None
    assert memory.documents.changesets() == []


def test_a_run_that_keeps_nothing_is_done_and_has_no_changeset(
    memory: Memory, alice: Agent, organizer: ScriptedOrganizer
) -> None:
    organizer.script = [lambda transcript, draft: None]
    (record,) = say(memory, alice, "hello")
    assert memory.organize().finished == 1
    assert memory.documents.changesets() == []
    assert memory.receipt(record).stage == "searchable"


# What goes wrong


def test_a_failure_waits_longer_each_time_and_then_for_a_person(
    memory: Memory, alice: Agent, organizer: ScriptedOrganizer, clock: FakeClock
) -> None:
    """O5, O6: nothing is lost, the queue says why, health is red, and a retry finishes the work."""
    organizer.script = [ModelError(f"The model is dead ({n}).") for n in range(5)]
    (record,) = say(memory, alice, "one")
    waits = []
    for attempt in range(1, 6):
        assert memory.organize().failed == 1
        assert memory.organize().failed == 0, "not before its time"
        (item,) = memory.inbox.list()
        assert (item.attempts, item.error) == (attempt, f"The model is dead ({attempt - 1}).")
        if item.due_at:
            assert memory.receipt(record).stage == "queued"
            assert memory.receipt(record).reason == item.error
            waits.append((item.due_at - clock()).total_seconds())
            clock.now = item.due_at
    assert all(longer > 1.2 * wait for wait, longer in itertools.pairwise(waits))
    (item,) = memory.inbox.list("dead")
    assert memory.receipt(record).stage == "failed"
    assert memory.receipt(record).reason == "The model is dead (4)."
    health = memory.admin.health()
    assert health.status == "red"
    assert "The model is dead (4)." in health.reasons[0]
    clock.turn(days=1)
    assert memory.organize().finished == 0
    assert memory.inbox.retry() == 1
    assert memory.organize().finished == 1
    assert memory.admin.health().status == "green"
    assert memory.receipt(record).stage == "searchable"


def test_one_agents_trouble_is_not_another_s(memory: Memory, alice: Agent, organizer: ScriptedOrganizer) -> None:
    bob = memory.agent(User("cli", "bob", "main"))
    organizer.script = [ModelError("no")]
    say(memory, alice, "one")
    say(memory, bob, "two")
    done = memory.organize()
    assert (done.finished, done.failed) == (1, 1)


def test_a_bug_in_an_organizer_is_a_failure_like_any_other(
    memory: Memory, alice: Agent, organizer: ScriptedOrganizer, caplog: pytest.LogCaptureFixture
) -> None:
    """O3."""
    organizer.script = [ZeroDivisionError("oops")]
    say(memory, alice, "one")
    memory.organize()
    assert memory.inbox.list()[0].error == "ZeroDivisionError: oops"
    assert "unexpected error" in caplog.text


def test_a_spent_budget_is_not_tried_again_by_itself(
    memory: Memory, alice: Agent, organizer: ScriptedOrganizer
) -> None:
    """O14: the same again would only cost the same again."""
    organizer.script = [RunBudgetExceeded()]
    say(memory, alice, "one")
    memory.organize()
    (item,) = memory.inbox.list("dead")
    assert "run_budget_usd" in item.error
    memory.inbox.retry(item.id)
    assert memory.organize().finished == 1


def test_at_the_cap_work_waits_visibly(
    memory: Memory, alice: Agent, organizer: ScriptedOrganizer, clock: FakeClock
) -> None:
    """O14: it is not lost, and it does not count as an attempt."""
    organizer.script = [DailyCapExceeded()]
    say(memory, alice, "one")
    memory.organize()
    (item,) = memory.inbox.list("pending")
    assert (item.attempts, "daily_cap_usd" in item.error) == (0, True)
    organizer.waiting = "The day's cap is reached."
    clock.turn(minutes=2)
    assert memory.organize().finished == 0
    health = memory.admin.health()
    assert (health.status, health.reasons) == ("yellow", ("The day's cap is reached.",))
    organizer.waiting = ""
    assert memory.organize().finished == 1


def test_a_full_disk_is_no_fault_of_the_item(
    memory: Memory, alice: Agent, organizer: ScriptedOrganizer, clock: FakeClock
) -> None:
    """O5: it waits, however long, and is done once there is room."""
    organizer.script = [StorageFull()] * 10
    say(memory, alice, "one")
    for _ in range(10):
        assert memory.organize().finished == 0
        clock.turn(minutes=2)
    (item,) = memory.inbox.list("pending")
    assert (item.attempts, "free some space" in item.error) == (0, True)
    assert memory.organize().finished == 1


def test_a_secret_in_an_error_does_not_reach_the_queue(
    memory: Memory, alice: Agent, organizer: ScriptedOrganizer, caplog: pytest.LogCaptureFixture
) -> None:
    """S4."""
    organizer.script = [ModelError("refused: key AKIAIOSFODNN7EXAMPLE is unknown")]
    say(memory, alice, "one")
    memory.organize()
    assert "AKIAIOSFODNN7EXAMPLE" not in memory.inbox.list()[0].error + caplog.text


def test_somebody_else_s_edit_of_another_paragraph_stays(
    memory: Memory, alice: Agent, organizer: ScriptedOrganizer
) -> None:
    """O18: the run's edits are laid over it, and the organizer is not paid again."""
    say(memory, alice, "one")
    memory.organize()

    def raced(transcript: Transcript, draft: Draft) -> None:
        log_records(transcript, draft)
        log = memory.documents.read("~/memory/log")
        memory.documents.edit(log.id, log.version, append="A person's remark.")

    organizer.script = [raced]
    (second,) = say(memory, alice, "two")
    assert memory.organize().finished == 1
    body = memory.documents.read("~/memory/log").body
    assert "A person's remark." in body
    assert f"[r{second}]" in body
    assert memory.inbox.list()[0].attempts == 1
    assert len(organizer.seen) == 2


def test_somebody_else_s_edit_of_the_same_makes_the_run_anew(
    memory: Memory, alice: Agent, organizer: ScriptedOrganizer
) -> None:
    """O18: a stale draft is discarded; nothing is overwritten."""
    (first,) = say(memory, alice, "one")
    memory.organize()

    def raced(transcript: Transcript, draft: Draft) -> None:
        log = draft.at("~/memory/log")
        assert log
        draft.edit(log.id, log.version, find="Said something.", replace="Said one.")
        memory.documents.edit(log.id, log.version, find="Said something.", replace="Said a number.")

    organizer.script = [raced]
    say(memory, alice, "two")
    assert memory.organize().finished == 1
    assert f"Said a number. [r{first}]" in memory.documents.read("~/memory/log").body
    assert len(organizer.seen) == 3


def test_what_a_person_corrects_while_an_organizer_learns_it_does_not_hold(
    memory: Memory, alice: Agent, organizer: ScriptedOrganizer, caplog: pytest.LogCaptureFixture
) -> None:
    """R11, O11: it is committed as ended, by the person's word; what held before goes on without the citation."""
    memory.documents.write(
        slug="alice", title="Alice", description="", body="Alice has a cat. [r1]", parent_path="~/memory"
    )
    body = memory.documents.read("~/memory/alice").body
    memory.append(alice, UserMessage("I have a cat."))
    home, cat, tea = say(memory, alice, "I live in Porto, with my cat.", "My cat is black.", "I like tea.")

    def corrected(transcript: Transcript, draft: Draft) -> None:
        document = draft.at("~/memory/alice")
        assert document
        again = draft.edit(document.id, document.version, find="[r1]", replace=f"[r1, r{home}]")
        told = f"Alice lives in Porto. [r{home}]\n\nAlice lives with a black cat. [r{home}, r{cat}]"
        draft.edit(document.id, again.version, append=f"{told}\n\nAlice likes tea. [r{tea}]")
        memory.correct(f"r{home}", "I live in Lisbon, with my cat.")

    organizer.script = [corrected]
    assert memory.organize().finished == 1
    by = f"until 2026-02-24 by r{tea + 1}"
    assert memory.documents.read("~/memory/alice").body == (
        f"{body}\n\nAlice likes tea. [r{tea}]\n\n## Earlier\n\n"
        f"Alice lives in Porto. [r{home}, {by}]\n\nAlice lives with a black cat. [r{home}, r{cat}, {by}]"
    )
    assert "2 fact(s) ended when they were committed" in memory.documents.changesets(1)[0].note
    assert "2 fact(s) ended when they were committed" in caplog.text
    hits = everything(memory.search("Where does Alice live?", 10))
    assert all(hit.until for hit in hits if "Porto" in hit.text)


def test_what_ends_as_it_lands_is_told_though_landing_was_tried_again(
    memory: Memory, alice: Agent, organizer: ScriptedOrganizer
) -> None:
    """R11, O9: somebody else's edit came first, and the draft was laid over it."""
    memory.documents.write(slug="log", title="Log", description="", body="Hers.", parent_path="~/memory")
    (record,) = say(memory, alice, "I have a cat.")

    def raced(transcript: Transcript, draft: Draft) -> None:
        log_records(transcript, draft)
        memory.correct(f"r{record}", "I have a dog.")
        log = memory.documents.read("~/memory/log")
        memory.documents.edit(log.id, log.version, append="A person's remark.")

    organizer.script = [raced]
    assert memory.organize().finished == 1
    assert "A person's remark." in memory.documents.read("~/memory/log").body
    assert "1 fact(s) ended when they were committed" in memory.documents.changesets(1)[0].note
    assert len(organizer.seen) == 1


def test_a_correction_that_an_organizer_learns_while_it_is_made_holds(
    memory: Memory, alice: Agent, organizer: ScriptedOrganizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R11: the run begins when the person's word stands in its document, and before it counts as a correction."""
    (home,) = say(memory, alice, "I live in Porto.")
    memory.organize()
    document = memory.documents.write(
        slug="alice",
        title="Alice",
        description="",
        body=f"Alice lives in Porto. [r{home}]",
        parent_path="~/memory",
    )
    (old,) = (hit.id for hit in memory.list("fact") if "Porto" in hit.text)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("lifelong.recall.feedback.FeedbackRows.correct", killed)
        with pytest.raises(KeyboardInterrupt):
            memory.correct(old, "Alice lives in Lisbon.")

    def corrected(transcript: Transcript, draft: Draft) -> None:
        [told] = [recorded.id for recorded in transcript.records]
        draft.edit(document.id, document.version + 1, append=f"Alice has moved. [r{told}]")
        memory.correct(old, "Alice lives in Lisbon.")

    organizer.script = [corrected]
    memory.end_session(memory.agent(System("corrections")))
    assert memory.organize().finished == 1
    held = [fact.text for fact in parse_facts(memory.documents.read(document.id).body) if fact.current]
    assert held == ["Alice lives in Lisbon.", "Alice has moved."]


def test_a_run_of_which_nothing_is_left_changes_nothing(
    memory: Memory, alice: Agent, organizer: ScriptedOrganizer
) -> None:
    """R11, O18: it only cited again what a person corrected meanwhile."""
    (first,) = say(memory, alice, "I have a cat.")
    memory.organize()
    before = memory.documents.read("~/memory/log")

    def corrected(transcript: Transcript, draft: Draft) -> None:
        document = draft.at("~/memory/log")
        assert document
        [again] = [recorded.id for recorded in transcript.records]
        draft.edit(document.id, document.version, find=f"[r{first}]", replace=f"[r{first}, r{again}]")
        memory.correct(f"r{again}", "I have a dog.")

    organizer.script = [corrected]
    say(memory, alice, "I have a cat, you know.")
    assert memory.organize().finished == 1
    assert memory.documents.read("~/memory/log") == before


def test_two_who_make_the_same_document_do_not_fail(
    memory: Memory, alice: Agent, organizer: ScriptedOrganizer
) -> None:
    """O4, O16: the second run is made anew on what the first one committed."""

    def raced(transcript: Transcript, draft: Draft) -> None:
        log_records(transcript, draft)
        memory.documents.write(
            slug="log", title="Log", description="", body="Mine.", parent_path="~/memory", author="other"
        )

    organizer.script = [raced]
    (record,) = say(memory, alice, "one")
    assert memory.organize().finished == 1
    assert memory.documents.read("~/memory/log").body == f"Mine.\n\nSaid something. [r{record}]"
    assert memory.inbox.list()[0].attempts == 1


def test_an_organizer_that_loses_facts_is_refused(
    memory: Memory, alice: Agent, organizer: ScriptedOrganizer
) -> None:
    """S7: nothing a model says deletes for good."""
    say(memory, alice, "one")
    memory.organize()

    def forget(transcript: Transcript, draft: Draft) -> None:
        log = draft.at("~/memory/log")
        assert log
        draft.write(
            document_id=log.id, expected_version=log.version, slug="log", title="Log", description="", body=""
        )

    organizer.script = [forget]
    say(memory, alice, "two")
    assert memory.organize().failed == 1
    assert "would be lost" in memory.inbox.list()[0].error
    assert memory.documents.read("~/memory/log").version == 1


def test_two_runs_that_speak_of_the_same_are_not_laid_over_each_other(
    open_memory: OpenMemory,
) -> None:
    """O11: the second one is organized again, and ends what it contradicts."""
    memory = open_memory(organize={"organizer": "rules"})
    agents = [memory.agent(User("cli", name, "main")) for name in ("a", "b")]
    rules = memory.store._parts.organizer
    say_as = [UserMessage("I live in Porto.", "Mara"), UserMessage("I live in Lisbon.", "Mara")]
    memory.append(agents[0], say_as[0])
    memory.end_session(agents[0])
    memory.organize()
    memory.append(agents[0], UserMessage("I live in Braga.", "Mara"))
    memory.end_session(agents[0])

    class Raced:
        name = "raced"
        blocked_reason, status_notes = rules.blocked_reason, rules.status_notes
        others = 1

        def organize(self, transcript: Transcript, draft: Draft) -> RunResult:
            outcome = rules.organize(transcript, draft)
            while self.others:
                self.others -= 1
                other = open_memory(organize={"organizer": "rules"})
                other.append(agents[1], say_as[1])
                other.end_session(agents[1])
                other.organize()
            return outcome

    raced = open_memory(organizer=Raced())
    assert raced.organize().finished == 1
    current = [fact.text for fact in memory.documents.facts("~/memory/people/mara") if fact.current]
    assert len(current) == 1


def test_a_long_queue_does_not_hold_up_deadlines_and_marks(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O1: a round works for a while, then the next one begins."""
    monkeypatch.setattr(memory_agent, "MAX_ROUND_SECONDS", 0.0)
    organizer = ScriptedOrganizer()
    memory = open_memory(organizer=organizer)
    for number in range(3):
        say(memory, memory.agent(User("cli", f"u{number}", "main")), "one")
    done = memory.store._parts.background.workers[0]._run_round(lambda: False)
    assert (done.dispatched, done.finished) == (3, 0)
    monkeypatch.undo()
    assert memory.organize().finished == 3


def test_what_a_background_agent_found_out_is_kept(open_memory: OpenMemory) -> None:
    """O8, O10: as its word, or as the tool's where that said so."""
    memory = open_memory(organize={"organizer": "rules"})
    task = memory.agent(Task("bench"))
    memory.append_many(
        task,
        [
            ToolResult("pgvector index scan slower than usearch because recall settings were wrong", "bench"),
            AssistantMessage(
                "The pgvector index scan took 41 ms a query, because ef_search was 400 instead of 40. "
                "With usearch 2.16 the same query takes 3 ms."
            ),
        ],
    )
    memory.end_session(task)
    memory.organize()
    kept = {document.slug: document.body for document in memory.documents.walk()}
    assert "41 ms a query" in kept["findings"]
    assert "usearch 2.16" in kept["findings"]


def test_health_tells_nobody_what_another_user_said(
    memory: Memory, alice: Agent, organizer: ScriptedOrganizer, open_memory: OpenMemory
) -> None:
    """C0: counts are of the home, texts of the user."""
    organizer.script = [RunBudgetExceeded("Mara lives at Rua Secreta 5.")]
    say(memory, alice, "one")
    memory.organize()
    assert "Rua Secreta" in memory.admin.health().reasons[0]
    other = open_memory("other", organizer=organizer).admin.health()
    assert (other.status, other.dead) == ("red", 1)
    assert "Rua Secreta" not in " ".join(other.reasons)


# Leases


def test_a_worker_that_lost_its_lease_commits_nothing(open_memory: OpenMemory, clock: FakeClock) -> None:
    """O4, O9: the other one did the work already."""
    other = open_memory(organizer=ScriptedOrganizer())

    def slow(transcript: Transcript, draft: Draft) -> None:
        log_records(transcript, draft, "late")
        clock.turn(minutes=5)
        assert other.organize().finished == 1

    memory = open_memory(organizer=ScriptedOrganizer(slow))
    alice = memory.agent(ALICE)
    ids = say(memory, alice, "one")
    assert memory.organize().finished == 0
    assert memory.documents.find("~/memory/late") is None
    told = parse_facts(memory.documents.read("~/memory/log").body)
    assert [fact.records for fact in told] == [tuple(ids)]
    assert memory.inbox.list()[0].losses == 1


def test_a_long_run_keeps_its_lease(tmp_path: Path, storage: dict[str, Any]) -> None:
    """O4: the heartbeat."""
    worker = {"lease_seconds": 1.0}

    def slow(transcript: Transcript, draft: Draft) -> None:
        log_records(transcript, draft)
        time.sleep(2.5)

    with (
        Memory.open(tmp_path, storage=storage, organizer=ScriptedOrganizer(slow), worker=worker) as memory,
        Memory.open(tmp_path, storage=storage, organizer=ScriptedOrganizer(), worker=worker) as other,
    ):
        say(memory, memory.agent(ALICE), "one")
        running = threading.Thread(target=memory.organize)
        running.start()
        wait_for(lambda: bool(memory.inbox.list("leased")))
        while running.is_alive():
            assert other.organize().finished == 0
            time.sleep(0.02)
        running.join()
        (item,) = memory.inbox.list()
        assert (item.state, item.losses) == ("done", 0)


def test_a_run_that_hangs_loses_its_lease(
    tmp_path: Path, storage: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """O4: though its heartbeat could go on, another worker takes the item over, and what hung changes nothing."""
    monkeypatch.setattr(memory_agent, "MAX_RUN_SECONDS", 0.0)
    worker, released = {"lease_seconds": 0.5}, threading.Event()

    def hang(transcript: Transcript, draft: Draft) -> None:
        log_records(transcript, draft)
        released.wait(60)

    with (
        Memory.open(tmp_path, storage=storage, organizer=ScriptedOrganizer(hang), worker=worker) as memory,
        Memory.open(tmp_path, storage=storage, organizer=ScriptedOrganizer(log_records), worker=worker) as other,
    ):
        ids = say(memory, memory.agent(ALICE), "one")
        running = threading.Thread(target=memory.organize)
        running.start()
        wait_for(lambda: bool(memory.inbox.list("leased")))
        wait_for(lambda: other.organize().finished == 1)
        released.set()
        running.join()
        (item,) = memory.inbox.list()
        assert (item.state, item.losses) == ("done", 1)
        told = parse_facts(memory.documents.read("~/memory/log").body)
        assert [fact.records for fact in told] == [tuple(ids)]


def test_an_item_that_ends_its_worker_again_and_again_is_buried(open_memory: OpenMemory, clock: FakeClock) -> None:
    """O5: nobody is left to say that it failed, so the next one does."""

    class Killed(BaseException):
        pass

    organizer = ScriptedOrganizer(*[Killed() for _ in range(MAX_LEASES_LOST + 1)])
    memory = open_memory(organizer=organizer)
    alice = memory.agent(ALICE)
    say(memory, alice, "one")
    for _ in range(MAX_LEASES_LOST + 1):
        with pytest.raises(Killed):
            memory.organize()
        clock.turn(minutes=5)
    assert memory.organize().finished == 0
    (item,) = memory.inbox.list("dead")
    assert f"ended {MAX_LEASES_LOST + 1} times" in item.error


# The memory-agent's own session


def test_a_run_is_told_in_the_memory_agents_own_session(memory: Memory, alice: Agent) -> None:
    """O13: what was done, not what was read; and it is never marked (C9)."""
    for text in ("one", "two", "three", "four"):
        say(memory, alice, text)
        memory.organize()
    keeper = memory.agent(MemoryAgent(alice.id))
    (session,) = memory.sessions.list(keeper)
    told = [recorded.record for recorded in memory.sessions.history(session)]
    assert [type(record) for record in told] == [SystemMessage, AssistantMessage] * 4
    assert session.invalidated_at is None
    memory.sessions.reset(keeper)
    memory.end_session(keeper)
    assert memory.organize().dispatched == 0
    assert memory.sessions.get(session.id).invalidated_at is None


def test_its_own_session_stays_within_its_budget(open_memory: OpenMemory) -> None:
    """O13: knowledge lives in documents."""
    organizer = ScriptedOrganizer()
    memory = open_memory(organizer=organizer, organize={"context_chars": 500})
    alice = memory.agent(ALICE)
    for number in range(12):
        say(memory, alice, f"number {number}")
        memory.organize()
    sessions = memory.sessions.list(memory.agent(MemoryAgent(alice.id)))
    assert len(sessions) > 2
    sizes = [sum(len(str(r.record)) for r in memory.sessions.history(session)) for session in sessions]
    assert max(sizes) < 2_000
    assert 0 < memory.sessions.size(memory.agent(MemoryAgent(alice.id))) < 1_000, "its growth is a figure"
    assert all(len(transcript.recent()) <= 500 for transcript in organizer.seen)
    assert "records r" in organizer.seen[-1].recent()


def test_a_memory_agent_sleeps_when_its_inbox_is_empty(memory: Memory, alice: Agent, clock: FakeClock) -> None:
    """C4, C9."""
    say(memory, alice, "one")
    memory.organize()
    keeper = memory.agent(MemoryAgent(alice.id))
    assert keeper.state == "active"
    clock.turn(minutes=2)
    memory.organize()
    assert memory.agents.get(keeper).state == "sleeping"
    say(memory, alice, "two")
    memory.organize()
    assert memory.agents.get(keeper).state == "active"


# The worker


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


@pytest.mark.parametrize("how", ["append", "append_many", "reset", "compact", "sleep"])
def test_a_mark_wakes_the_worker_of_the_process_at_once(tmp_path: Path, storage: dict[str, Any], how: str) -> None:
    """O1: an hour lies between two ticks."""
    with Memory.open(
        tmp_path, storage=storage, organizer=ScriptedOrganizer(), worker={"tick_seconds": 3600}
    ) as memory:
        alice = memory.agent(ALICE)
        memory.append(alice, UserMessage("one"))
        memory.start()
        time.sleep(0.1)
        match how:
            case "append":
                for _ in range(5):
                    memory.append(alice, UserMessage("more"))
            case "append_many":
                memory.append_many(alice, [UserMessage("more")] * 5)
            case "reset":
                memory.sessions.reset(alice)
            case "compact":
                memory.sessions.compact_context(alice, "so far")
            case _:
                memory.end_session(alice)
        wait_for(lambda: bool(memory.inbox.list("done")))


def test_several_workers_of_one_process(tmp_path: Path, storage: dict[str, Any]) -> None:
    """O4: a slow model holds up one of them."""
    let_go = threading.Event()

    def slow(transcript: Transcript, draft: Draft) -> None:
        assert let_go.wait(10)

    with Memory.open(
        tmp_path, storage=storage, organizer=ScriptedOrganizer(slow), worker={"tick_seconds": 0.02, "threads": 2}
    ) as memory:
        memory.start()
        alice, bob = memory.agent(ALICE), memory.agent(User("cli", "bob", "main"))
        say(memory, alice, "one")
        wait_for(lambda: bool(memory.inbox.list("leased")))
        say(memory, bob, "two")
        wait_for(lambda: bool(memory.inbox.list("done")))
        let_go.set()
        wait_for(lambda: len(memory.inbox.list("done")) == 2)


def test_a_turn_does_not_wait_for_the_model(tmp_path: Path, storage: dict[str, Any]) -> None:
    """S2: appends go on while a run hangs."""
    let_go = threading.Event()

    def slow(transcript: Transcript, draft: Draft) -> None:
        assert let_go.wait(10)

    with Memory.open(tmp_path, storage=storage, organizer=ScriptedOrganizer(slow)) as memory:
        memory.start()
        alice = memory.agent(ALICE)
        say(memory, alice, "one")
        wait_for(lambda: bool(memory.inbox.list("leased")))
        ids = [memory.append(alice, UserMessage(f"{n}")) for n in range(20)]
        assert len(memory.sessions.history(alice)) == len(ids), "in a new session"
        let_go.set()


# Receipts and health


def test_a_receipt_follows_the_record(memory: Memory, alice: Agent, organizer: ScriptedOrganizer) -> None:
    """O6: stored, queued, organized."""
    organizer.waiting = "not now"
    record = memory.append(alice, UserMessage("one"))
    assert memory.receipt(record).stage == "stored"
    memory.end_session(alice)
    memory.organize()
    assert memory.receipt(record).stage == "queued"
    organizer.waiting = ""
    memory.organize()
    receipt = memory.receipt(record)
    assert receipt.stage == "searchable"
    assert receipt.changeset_id == memory.documents.changesets()[0].id
    assert receipt.session_id == memory.sessions.list(alice)[0].id


def test_a_record_with_nothing_to_learn_says_so(memory: Memory, alice: Agent) -> None:
    record = memory.append(alice, AssistantMessage(""))
    memory.end_session(alice)
    memory.organize()
    receipt = memory.receipt(record)
    assert (receipt.stage, receipt.inbox_id) == ("searchable", None)
    assert "nothing in it" in receipt.reason


def test_another_user_s_record_has_no_receipt_here(memory: Memory, alice: Agent, open_memory: OpenMemory) -> None:
    record = memory.append(alice, UserMessage("one"))
    with pytest.raises(RecordNotFound, match="add returned"):
        open_memory("work").receipt(record)
    with pytest.raises(RecordNotFound):
        memory.receipt(record + 1)


def test_health_is_red_when_nobody_organizes(memory: Memory, alice: Agent, clock: FakeClock) -> None:
    """O6: a mark that nobody looks at, for longer than the limit."""
    assert memory.admin.health().status == "green"
    say(memory, alice, "one")
    clock.turn(minutes=59)
    assert memory.admin.health().status == "green"
    clock.turn(minutes=2)
    health = memory.admin.health()
    assert (health.status, health.marked) == ("red", 1)
    assert "Is a worker running?" in health.reasons[0]
    memory.organize()
    assert memory.admin.health().status == "green"


def test_health_is_red_when_nobody_puts_agents_to_sleep(
    memory: Memory, alice: Agent, clock: FakeClock, open_memory: OpenMemory
) -> None:
    """O6: a talk too short to be marked by an append is marked by sleep, which takes a worker, too."""
    open_memory("silent").agent(User("cli", "bob", "main"))
    memory.append(alice, UserMessage("one"))
    clock.turn(minutes=60)
    assert memory.admin.health().status == "green"
    clock.turn(minutes=2)
    health = memory.admin.health()
    assert (health.status, health.marked) == ("red", 0)
    assert "Is a worker running?" in health.reasons[0]
    memory.organize()
    clock.turn(days=1)
    assert (memory.admin.health().status, memory.admin.health().oldest) == ("green", None)


def test_health_is_green_while_what_waits_is_new(memory: Memory, alice: Agent, clock: FakeClock) -> None:
    """O6: a deadline that nobody looked at for days says nothing of what was said just now."""
    memory.append(alice, UserMessage("one"))
    memory.sessions.reset(alice)
    memory.organize()
    clock.turn(days=7)
    memory.append(alice, UserMessage("two"))
    assert memory.admin.health().status == "green"
    clock.turn(minutes=61)
    assert memory.admin.health().status == "red"


def test_health_is_red_when_a_busy_session_is_not_organized(
    memory: Memory, alice: Agent, clock: FakeClock
) -> None:
    """O6: its mark moves on with each record; what counts is the first that waits."""
    for number in range(10):
        memory.append(alice, UserMessage(f"{number}"))
        clock.turn(minutes=10)
        memory.agents.advance()
    assert (memory.admin.health().status, memory.admin.health().marked) == ("red", 1)


def test_health_says_why_the_worker_fails(open_memory: OpenMemory) -> None:
    """O6: from the first round that fails to the next that does not."""
    memory = open_memory(worker={"tick_seconds": 0.01, "threads": 2}, continuity={"journal_enabled": True})
    memory._parts.shared.database.write(lambda tx: tx.run("ALTER TABLE journal_progress RENAME TO mislaid"))
    memory.append(memory.agent(ALICE), UserMessage("one"))
    memory.start()
    seen: list[Health] = []

    def is_yellow() -> bool:
        seen[:] = [memory.admin.health()]
        return seen[0].status == "yellow"

    until(is_yellow)
    (reason,) = seen[0].reasons
    assert reason.startswith("The journal could not be kept, and is tried again: ")
    assert "journal_progress" in reason
    memory._parts.shared.database.write(lambda tx: tx.run("ALTER TABLE mislaid RENAME TO journal_progress"))
    until(lambda: memory.admin.health().status == "green")


def test_health_is_red_while_the_oldest_item_is_overdue(
    memory: Memory, alice: Agent, organizer: ScriptedOrganizer, clock: FakeClock
) -> None:
    """O6."""
    organizer.waiting = "It waits."
    say(memory, alice, "one")
    memory.organize()
    assert memory.admin.health().status == "yellow"
    clock.turn(minutes=61)
    health = memory.admin.health()
    assert (health.status, health.waiting) == ("red", 1)


def test_another_process_sees_that_a_worker_is_stuck_with_a_session(
    memory: Memory, alice: Agent, clock: FakeClock, open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O6: within a minute, until it is dispatched or let go."""
    other, seen = open_memory(), list[Health]()

    def stuck(*args: Any, **more: Any) -> str:
        for seconds in (50, 1):
            clock.turn(seconds=seconds)
            seen.append(other.admin.health())
        raise ZeroDivisionError

    monkeypatch.setattr(dispatch, "transcript", stuck)
    say(memory, alice, "one")
    memory.organize()
    assert [health.status for health in seen] == ["green", "red"]
    (reason,) = seen[-1].reasons
    assert f"Session {memory.sessions.list(alice)[0].id} has been with a worker for 51 seconds" in reason
    assert other.admin.health().status == "green", "it was let go"
    monkeypatch.undo()
    memory.organize()
    clock.turn(minutes=2)
    assert other.admin.health().status == "green"


FROZEN = """
import os, signal, sys
from lifelong import Memory, User, UserMessage
from lifelong.organize import dispatch, memory_agent

def freeze(*args, **more):
    print("frozen", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)

if sys.argv[2] == "session":
    dispatch.transcript = freeze
else:
    memory_agent.MemoryAgentRunner._organize = freeze
with Memory.open(sys.argv[1]) as memory:
    alice = memory.agent(User("cli", "alice", "main"))
    memory.append(alice, UserMessage("one"))
    memory.end_session(alice)
    memory.organize()
"""


@pytest.mark.parametrize("stuck_with", ["session", "inbox item"])
def test_a_worker_that_is_frozen_is_seen_by_others(tmp_path: Path, stuck_with: str) -> None:
    """O6: no thread of it runs any more, so that it can neither speak nor prolong its lease."""
    ahead = timedelta()
    with Memory.open(tmp_path, clock=lambda: utc_now() + ahead) as memory:
        command = [sys.executable, "-c", FROZEN, str(tmp_path), stuck_with]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout
                assert process.stdout.readline() == b"frozen\n"
                assert memory.admin.health().status == "green"
                ahead = timedelta(seconds=61)
                health = memory.admin.health()
            finally:
                process.kill()
    assert health.status == "red"
    assert stuck_with in health.reasons[0].lower()


def test_a_long_run_with_signs_of_life_is_not_stuck(open_memory: OpenMemory, clock: FakeClock) -> None:
    """O6: a model may take its time. What counts is when the lease was last prolonged, and how long it lasts."""
    other, seen = open_memory(), list[str]()

    def slow(transcript: Transcript, draft: Draft) -> None:
        for seconds in (50, 1):
            clock.turn(seconds=seconds)
            seen.append(other.admin.health().status)

    def alive(transcript: Transcript, draft: Draft) -> None:
        for _ in range(3):
            clock.turn(minutes=10)
            until(lambda: other.admin.health().status == "green")
        seen.append("alive")

    leases = {120.0: slow, 240.0: slow, 0.1: alive}
    for number, (seconds, script) in enumerate(leases.items()):
        memory = open_memory(organizer=ScriptedOrganizer(script), worker={"lease_seconds": seconds})
        say(memory, memory.agent(User("cli", f"u{number}", "main")), "one")
        assert memory.organize().finished == 1
    assert seen == ["green", "red", "green", "green", "alive"]


def test_the_receipt_of_a_long_record_says_what_was_made_use_of(open_memory: OpenMemory) -> None:
    """O6, C10: each stage has its limit; the record itself is stored whole."""
    memory = open_memory()
    alice = memory.agent(User("cli", "alice", "main"))
    short = memory.append(alice, UserMessage("I live in Lisbon."))
    long = memory.append(alice, UserMessage("I live in Lisbon. " * 20_000))
    result = memory.append(alice, ToolResult("The rent is 900 EUR. " * 2_000))
    memory.end_session(alice)
    memory.organize()
    assert memory.receipt(short).notes == ()
    assert memory.receipt(long).notes == (
        "Its first 20,000 of 360,000 characters are organized.",
        "Its first 100,000 of 360,000 characters are indexed.",
    )
    assert memory.receipt(result).notes == ("Its last 20,000 of 42,000 characters are organized.",)
    assert len(memory.sessions.last(alice, 2)[0].record.text) == 360_000  # type: ignore[union-attr]


def test_a_model_s_receipt_goes_by_the_transcript(open_memory: OpenMemory) -> None:
    """O6: a transcript is cut otherwise than what the rules read."""
    memory = open_memory(organizer=ScriptedOrganizer(), organize={"batch_chars": 1_000})
    alice = memory.agent(User("cli", "alice", "main"))
    said, result = memory.append_many(alice, [UserMessage("a word " * 200), ToolResult("one 1 " * 300)])
    assert memory.receipt(said).notes == ("Its first 1,000 of 1,400 characters are organized.",)
    assert memory.receipt(result).notes == ("Its first 1,000 of 1,800 characters are organized.",)
