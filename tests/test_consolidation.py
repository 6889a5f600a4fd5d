"""Consolidation: the documents are kept tidy, nothing is lost, and all of it can be undone (SPEC S7, O21)."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pydantic_ai.models
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lifelong import Memory
from lifelong.errors import ConfigError, InputError
from lifelong.organize.changesets import commit
from lifelong.organize.consolidation import (
    LEASE,
    LONG_CHARS,
    MAX_CHILDREN,
    ConsolidationResult,
    Delete,
    Merge,
    Move,
    Refused,
    Split,
    Step,
    WorkingTree,
    said_words,
    words,
)
from lifelong.organize.document_rows import MEMORY_ROOT
from lifelong.organize.draft import Draft
from lifelong.organize.facts import (
    EARLIER,
    MAX_CITED,
    MAX_PAGE_CHARS,
    TITLES,
    Fact,
    FactIndex,
    paragraphs,
    parse_fact,
    parse_facts,
    sentence,
    speaker_of,
)
from lifelong.storage.base import Database
from lifelong.testing import FakeClock
from lifelong.types import Changeset, Record, SystemMessage, UserMessage
from tests.conftest import OpenMemory, on_sqlite, until
from tests.model_servers import ModelServer, Reply, call, refuse, say, told

OWNER = "default"
TWICE = "I like trains. [Mara, 2026-02-01, r1]\n\nI like trains. [Mara, 2026-02-02, r2]"


@pytest.fixture(autouse=True)
def no_model_but_on_loopback(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pydantic_ai.models.override_allow_model_requests(True):
        yield


def write(draft: Draft, path: str, body: str, title: str = "") -> None:
    """Write a document below ~/memory, and what is missing above it."""
    parent, _, slug = path.rpartition("/")
    if parent and not draft.at(f"{MEMORY_ROOT}/{parent}"):
        write(draft, parent, "")
    name = TITLES.get(slug, (slug.title(), ""))[0]
    draft.write(
        slug=slug,
        title=title or name,
        description="",
        body=body,
        parent_path=f"{MEMORY_ROOT}/{parent}" if parent else MEMORY_ROOT,
    )


def organize(database: Database, clock: FakeClock, **bodies: str) -> None:
    """Write documents as a run does; `__` stands for a slash."""
    draft = Draft(database, OWNER)
    for path, body in bodies.items():
        write(draft, path.replace("__", "/"), body)
    changeset = Changeset(0, OWNER, clock(), "run", "agent")
    database.write(lambda tx: commit(tx, draft, changeset))


def bodies(memory: Memory) -> dict[str, str]:
    return {one.path.removeprefix(f"{MEMORY_ROOT}/"): one.body for one in memory.documents.walk(MEMORY_ROOT)}


def ids(database: Database, memory: Memory, path: str) -> list[str]:
    """Return the ids of all facts that a document ever had and still has, in the order of their numbers."""
    document = memory.documents.read(f"{MEMORY_ROOT}/{path}")
    found = database.read(lambda tx: FactIndex(tx, OWNER).ids(document.id))
    return sorted(found.values(), key=lambda name: int(name[1:]))


def quotes(number: int, month: str = "2026-01", speaker: str = "") -> str:
    """Return so many facts of 200 characters, a day each."""
    lines = []
    for n in range(number):
        day = f"{month}-{n % 28 + 1:02}"
        who = f"{speaker}, " if speaker else ""
        lines.append(f"I keep number {n:04} of my list, {'and so on ' * 13}as it is. [{who}{day}, r{n + 1}]")
    return "\n\n".join(lines)


# What is tidied


def test_a_rule_that_holds_everywhere_is_not_merged_into_a_project(
    database: Database, clock: FakeClock, memory: Memory
) -> None:
    """O11, S7: on the page of a project it would hold there only."""
    rule = "Always run the tests before a push to main. [Mara, 2026-02-24, r1]"
    organize(database, clock, rules=rule, projects="", projects__harbor=rule)
    memory.documents.consolidate()
    assert bodies(memory)["rules"] == bodies(memory)["projects/harbor"] == rule


def test_what_the_same_person_says_again_stands_once(memory: Memory, database: Database, clock: FakeClock) -> None:
    """S7: wherever it is filed; the page of the person keeps it, with all records, from the first day on."""
    organize(
        database,
        clock,
        preferences="I don't like planes. [Mara, 2026-02-01, r1, r2]\n\nI like trains. [Tom, 2026-02-01, r3]",
        people__mara="I do not like planes! [2026-03-03, r9, r12]\n\nI like trains. [2026-03-03, r9]",
    )
    result = memory.documents.consolidate()
    assert bodies(memory)["people/mara"].split("\n\n") == [
        "I do not like planes! [2026-02-01, r1, r2, r9, r12]",
        "I like trains. [2026-03-03, r9]",
    ]
    assert bodies(memory)["preferences"] == "I like trains. [Tom, 2026-02-01, r3]"
    assert (result.facts_before, result.facts_after) == (4, 3)
    assert result.merged == (
        "Merge f3 “I do not like planes!” with f1 of ~/memory/people/mara, ~/memory/preferences: it stays in "
        "~/memory/people/mara, and cites r1, r2, r9, r12.",
    )


@on_sqlite
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I eat meat. [Mara, 2026-02-01, r1]", "I don't eat meat. [Mara, 2026-02-02, r2]"),
        ("Tom called Ana today. [Mara, 2026-02-01, r1]", "Ana called Tom today. [Mara, 2026-02-02, r2]"),
        ("The train leaves at 9. [Mara, 2026-02-01, r1]", "The train leaves at 8. [Mara, 2026-02-02, r2]"),
        (
            "We moved from Lisbon to Porto. [Mara, 2026-02-01, r1]",
            "We moved to Lisbon from Porto. [Mara, 2026-02-02, r2]",
        ),
        ("I want a dog. [Mara, 2026-02-01, r1]", "I want a dog house. [Mara, 2026-02-02, r2]"),
        ("I'm vegetarian. [Mara, 2026-02-01, r1]", "I'm vegetarian. [Tom, 2026-02-02, r2]"),
        (
            "I work at Aldo's. [Mara, 2026-02-01, r1]",
            "I work at Aldo's. [Mara, 2026-02-01, r1, until 2026-03-01 by r9]",
        ),
        (
            "It costs 84 EUR a night. [2026-02-01, r1, from web]",
            "It costs 84 EUR a night. [2026-02-01, r2, from tool]",
        ),
        ("It costs 84 EUR a night. [r1]", "It costs 84 EUR a night. [Mara, 2026-02-01, r2]"),
        ("PR 260 is merged. [Mara, 2026-02-01, r1]", "PR 480 is merged. [Mara, 2026-02-02, r2]"),
        ("Yes, it is. [Mara, 2026-02-01, r1]", "It is. [Mara, 2026-02-02, r2]"),
    ],
)
def test_what_is_not_the_same_stays_twice(
    memory: Memory, database: Database, clock: FakeClock, one: str, other: str
) -> None:
    """S7: to lose a fact is worse than to keep two."""
    organize(database, clock, findings=f"{one}\n\n{other}")
    result = memory.documents.consolidate()
    assert (result.merged, result.changeset) == ((), None)
    assert len(memory.documents.facts(f"{MEMORY_ROOT}/findings")) == 2


def test_the_same_words_about_two_subjects_stay_twice(
    memory: Memory, database: Database, clock: FakeClock
) -> None:
    """S7: the page says what they are about."""
    organize(
        database,
        clock,
        projects__atlas="The build is fixed again. [Mara, 2026-02-01, r1]",
        projects__beta="The build is fixed again. [Mara, 2026-02-02, r2]",
    )
    assert memory.documents.consolidate().merged == ()


def test_a_sentence_that_stands_in_a_longer_quote_goes_into_it(
    memory: Memory, database: Database, clock: FakeClock
) -> None:
    """S7: only whole sentences, of the same document."""
    organize(
        database,
        clock,
        preferences="I'm vegetarian. [Mara, 2026-02-01, r1]\n\n"
        "I'm vegetarian. Tom cooks every day. [Mara, 2026-02-02, r2]",
        rules="Tom cooks every day. [Mara, 2026-02-03, r3]",
    )
    memory.documents.consolidate()
    assert bodies(memory)["preferences"] == "I'm vegetarian. Tom cooks every day. [Mara, 2026-02-01, r1, r2]"
    assert bodies(memory)["rules"] == "Tom cooks every day. [Mara, 2026-02-03, r3]"


def test_what_is_about_a_person_moves_to_their_page(memory: Memory, database: Database, clock: FakeClock) -> None:
    """S7: once they have one; the quote names its speaker there, unless the title does."""
    organize(
        database,
        clock,
        findings="Tom can't have gluten. [Mara, 2026-02-01, r1]\n\nLisbon is sunny. [Mara, 2026-02-01, r2]",
        people__mara="Tom teaches maths in Porto. [2026-02-03, r3]",
        people__tom="I play the drums. [2026-02-03, r4]",
    )
    before = ids(database, memory, "findings")[:1] + ids(database, memory, "people/mara")
    result = memory.documents.consolidate()
    assert len(result.moved) == 2
    assert bodies(memory)["findings"] == "Lisbon is sunny. [Mara, 2026-02-01, r2]"
    assert bodies(memory)["people/tom"].split("\n\n") == [
        "I play the drums. [2026-02-03, r4]",
        "Tom can't have gluten. [Mara, 2026-02-01, r1]",
        "Tom teaches maths in Porto. [Mara, 2026-02-03, r3]",
    ]
    assert set(before) <= set(ids(database, memory, "people/tom"))
    assert "people/mara" in bodies(memory) or "~/memory/people/mara" in result.deleted[0]


def test_what_an_agent_a_tool_or_a_model_wrote_is_not_moved_by_rules(
    memory: Memory, database: Database, clock: FakeClock
) -> None:
    """S7: it is filed by where it was said, which nobody can tell any more."""
    said = "\n\n".join(
        [
            "Tom has 3 open tickets. [Assistant, 2026-02-01, r1]",
            "Tom pays 84 EUR a night. [2026-02-01, r2, from web]",
            "Tom likes trains. [r3]",
        ]
    )
    organize(database, clock, findings=said, people__tom="I play the drums. [2026-02-03, r4]")
    assert memory.documents.consolidate().moved == ()


def test_a_long_document_goes_on_in_pages(memory: Memory, database: Database, clock: FakeClock) -> None:
    """S7: the oldest facts go, those that have ended with them; a person's own text stays where it is."""
    own = "# About me\n\nThis is what I wrote.\n\n"
    ended = "\n\n## Earlier\n\nI keep a cat. [2026-01-01, r1, until 2026-01-30 by r9]"
    newest = "I keep two dogs and a hen. [2026-05-01, r99]"
    body = f"{own}{newest}\n\n{quotes(20, '2026-01')}\n\n{quotes(25, '2026-02').replace('keep', 'read')}{ended}"
    organize(database, clock, people__mara=body)
    numbers = ids(database, memory, "people/mara")
    result = memory.documents.consolidate()
    found = bodies(memory)
    assert len(result.split) == 1
    assert found["people/mara"].startswith(f"{own}{newest}")
    assert len(found["people/mara"]) <= MAX_PAGE_CHARS
    assert "## Earlier" not in found["people/mara"]
    assert found["people/mara/2026-01"].endswith(ended)
    assert all(len(page) <= LONG_CHARS for page in found.values())
    pages = [path for path in found if path.startswith("people/mara")]
    assert pages == ["people/mara", "people/mara/2026-01", "people/mara/2026-02"]
    assert sorted({one for path in pages for one in ids(database, memory, path)}) == sorted(numbers)
    assert memory.documents.consolidate().steps == ()


def test_a_long_document_with_many_children_is_left(memory: Memory, database: Database, clock: FakeClock) -> None:
    children = {
        f"people__mara__trip-{n}": f"I saw place {n}. [2026-01-01, r{n + 1}]" for n in range(MAX_CHILDREN + 1)
    }
    organize(database, clock, people__mara=quotes(40), **children)
    result = memory.documents.consolidate()
    assert (result.split, result.changeset) == ((), None)
    assert result.left == (
        f"Left as it is: ~/memory/people/mara has more than {MAX_CHILDREN} documents below it.",
    )


def test_a_long_text_of_a_person_is_left(memory: Memory, database: Database, clock: FakeClock) -> None:
    organize(database, clock, people__mara="A long story. " * 600 + "\n\nI like tea a lot. [2026-01-01, r1]")
    result = memory.documents.consolidate()
    assert (result.changeset, len(result.left)) == (None, 1)
    assert "its facts cannot go on" in result.left[0]


def test_empty_documents_go_unless_a_person_made_or_needs_them(
    memory: Memory, database: Database, clock: FakeClock
) -> None:
    """O19, S7: softly; also what held nothing but the one that went."""
    organize(
        database,
        clock,
        lessons="",
        projects__atlas__notes="",
        people__ana="",
        people__tom="",
        rules="Ask [[people/ana]] first, always. [Mara, 2026-01-01, r1]",
    )
    tom = memory.documents.read("~/memory/people/tom")
    memory.documents.write(
        document_id=tom.id, expected_version=1, slug="tom", title="Tom Reed", description="", body=""
    )
    result = memory.documents.consolidate()
    assert sorted(bodies(memory)) == ["people", "people/ana", "people/tom", "rules", "~/memory"]
    assert len(result.deleted) == 4
    assert (result.documents_before, result.documents_after) == (8, 4)
    assert result.changeset
    memory.documents.rollback(result.changeset)
    assert "projects/atlas/notes" in bodies(memory)
    assert memory.documents.consolidate().deleted == ()  # a person wanted them back


# What follows a fact


def test_what_people_said_about_a_fact_follows_it(memory: Memory, clock: FakeClock) -> None:
    """S7: pins, verdicts, corrections and ends, when it moves and when it is merged; ids stay."""
    database = memory._parts.shared.database
    first = memory.add("Tom plays the drums.", speaker="Mara")[0]
    organize(
        database,
        clock,
        findings=f"Tom can't have gluten. [Mara, 2026-02-01, {first}]",
        preferences=f"I don't like planes. [Mara, 2026-02-01, {first}]",
        people__mara=f"I do not like planes. [2026-02-02, {first}]\n\n## Earlier\n\n"
        f"Tom lives in Porto. [2026-02-03, {first}, until 2026-03-01 by {first}]",
        people__tom=f"I play the drums. [2026-02-03, {first}]",
    )
    memory.organize()
    by_text = {hit.text: hit for hit in memory.list(kind="fact")}
    gluten, doubled, own = (
        by_text[text] for text in ("Tom can't have gluten.", "I don't like planes.", "I do not like planes.")
    )
    memory.pin(gluten.id)
    memory.pin(doubled.id)
    memory.feedback(doubled.id, "useful")
    result = memory.documents.consolidate()
    assert (len(result.moved), len(result.merged)) == (2, 1)
    memory.organize()
    after = {hit.text: hit for hit in memory.list(kind="fact")}
    assert after["Tom can't have gluten."].id == gluten.id
    assert after["Tom can't have gluten."].pinned
    assert after["Tom can't have gluten."].path == "~/memory/people/tom"
    assert after["I do not like planes."].id == own.id
    assert after["I do not like planes."].pinned
    assert "I don't like planes." not in after
    found = memory.search("Where does Tom live?", kinds=["fact"], explain=True, top_k=10)
    assert "Tom lives in Porto." not in [hit.text for hit in found if not hit.until]
    assert parse_facts(bodies(memory)["people/tom"])[-1].until == "2026-03-01"
    assert result.changeset
    memory.documents.rollback(result.changeset)
    memory.organize()
    back = {hit.text: hit for hit in memory.list(kind="fact")}
    assert {text: hit.id for text, hit in back.items()} == {text: hit.id for text, hit in by_text.items()}
    assert back["I don't like planes."].pinned
    assert back["Tom can't have gluten."].pinned


# Saying what is done


def test_a_dry_run_says_what_would_be_done(memory: Memory, database: Database, clock: FakeClock) -> None:
    """S7: in the same sentences, and changes nothing."""
    organize(
        database,
        clock,
        lessons="",
        findings="Tom likes trains. [Mara, 2026-02-01, r1]",
        people__tom="I play the drums. [2026-02-03, r4]\n\nI play the drums. [2026-02-05, r6]",
    )
    before = bodies(memory)
    planned = memory.documents.consolidate(dry_run=True)
    assert bodies(memory) == before
    assert (planned.dry_run, planned.changeset) == (True, None)
    assert planned.steps == (
        "Move f1 “Tom likes trains.” from ~/memory/findings to ~/memory/people/tom.",
        "Merge f2 “I play the drums.” with f2#2 in ~/memory/people/tom: it cites r4, r6.",
        "Delete ~/memory/findings, which is empty.",
        "Delete ~/memory/lessons, which is empty.",
    )
    done = memory.documents.consolidate()
    assert done.steps == planned.steps
    assert done.changeset
    changeset = memory.documents.changeset(done.changeset)
    assert (changeset.author, changeset.cause, changeset.organizer) == ("consolidation", "run", "rules")
    assert changeset.note == "Consolidation: 1 merged, 1 moved, 2 empty document(s) deleted."


def test_nothing_to_tidy_makes_no_changeset(memory: Memory) -> None:
    result = memory.documents.consolidate()
    assert (result.ran, result.changeset, result.steps) == (True, None, ())
    assert memory.documents.changesets() == []


# Conflicts


def test_an_edit_that_lands_meanwhile_is_not_overwritten(
    memory: Memory, database: Database, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O18, S7: it is planned again on what is there now."""
    organize(
        database,
        clock,
        preferences="I'm vegetarian. [Mara, 2026-02-01, r1]\n\nI'm vegetarian. [Mara, 2026-02-02, r2]",
    )
    write_draft, edits = WorkingTree.write, iter(["I wrote this."])

    def edited_first(tree: WorkingTree, draft: Draft) -> None:
        for text in edits:
            memory.documents.edit(memory.documents.read("~/memory/preferences").id, 1, append=text)
        write_draft(tree, draft)

    monkeypatch.setattr(WorkingTree, "write", edited_first)
    assert len(memory.documents.consolidate().merged) == 1
    assert bodies(memory)["preferences"] == "I'm vegetarian. [Mara, 2026-02-01, r1, r2]\n\nI wrote this."


def test_one_run_of_a_user_at_a_time(
    open_memory: OpenMemory, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S7: another process skips it; a lease that was left by a killed one expires."""
    memory, other = open_memory(), open_memory()
    organize(memory._parts.shared.database, clock, lessons="")
    results: list[ConsolidationResult] = []
    write_draft = WorkingTree.write

    def meanwhile(tree: WorkingTree, draft: Draft) -> None:
        if not results:
            results.append(ConsolidationResult(False))
            results.append(other.documents.consolidate())
        write_draft(tree, draft)

    with monkeypatch.context() as patched:
        patched.setattr(WorkingTree, "write", meanwhile)
        assert memory.documents.consolidate().ran
    assert results[1].reason == "Another consolidation of this user is under way."

    def killed(tree: WorkingTree, draft: Draft) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(WorkingTree, "write", killed)
        patched.setattr("lifelong.organize.consolidation._Lease.release", lambda lease: None)
        with pytest.raises(KeyboardInterrupt):
            memory.documents.consolidate()
    assert not other.documents.consolidate().ran
    clock.now += LEASE + timedelta(seconds=1)
    assert other.documents.consolidate().ran


KILLED_WHILE_COMMITTING = """
import json, os, signal, sys
from lifelong import Memory
from lifelong.recall.feedback import FeedbackRows
FeedbackRows.copy = lambda rows, facts: os.kill(os.getpid(), signal.SIGKILL)
Memory.open(sys.argv[1], storage=json.loads(sys.argv[2])).documents.consolidate()
"""


def test_a_kill_in_the_middle_leaves_nothing_half_done(
    open_memory: OpenMemory, storage: dict[str, Any], tmp_path: Path, clock: FakeClock
) -> None:
    """S7, O18: all or nothing; another process goes on when the lease is over."""
    memory = open_memory()
    clock.now = datetime.now(UTC)
    database = memory._parts.shared.database
    organize(database, clock, preferences=TWICE, people__mara=quotes(50), lessons="")
    before = bodies(memory)
    command = [sys.executable, "-c", KILLED_WHILE_COMMITTING, str(tmp_path / "home"), json.dumps(storage)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert bodies(memory) == before
    assert len(memory.documents.changesets()) == 1
    assert memory.documents.consolidate().reason == "Another consolidation of this user is under way."
    clock.now += LEASE + timedelta(minutes=1)
    done = memory.documents.consolidate()
    assert (len(done.merged), len(done.split), len(done.deleted)) == (1, 1, 1)


def test_two_users_are_consolidated_apart(open_memory: OpenMemory, clock: FakeClock) -> None:
    """K3: a lease, a state and documents each."""
    mine, yours = open_memory(), open_memory("other")
    organize(mine._parts.shared.database, clock, preferences=TWICE)
    assert yours.documents.consolidate().steps == ()
    assert len(mine.documents.consolidate().merged) == 1


# By the clock


SCHEDULED: dict[str, Any] = {"consolidation_enabled": True, "consolidation_interval_ms": 3_600_000}


def test_it_runs_by_the_clock_when_something_changed(open_memory: OpenMemory, clock: FakeClock) -> None:
    """K1, S7: and not again where a person undid it, until one is run by hand."""
    memory = open_memory(organize=SCHEDULED)
    database, (schedule,) = memory._parts.shared.database, memory._parts.schedules
    organize(database, clock, preferences=TWICE)
    assert schedule.tick() > 0
    assert len(memory.documents.changesets()) == 1
    clock.turn(hours=2)
    schedule.tick()
    done, _ = memory.documents.changesets()
    assert done.author == "consolidation"
    clock.turn(hours=2)
    schedule.tick()
    assert len(memory.documents.changesets()) == 2
    run = memory._parts.consolidation.run
    assert run(if_changed=True).reason == "Nothing changed since the last consolidation."
    memory.documents.rollback(done.id)
    clock.turn(hours=2)
    schedule.tick()
    assert len(memory.documents.changesets()) == 3
    assert run(if_changed=True).reason.startswith(f"A person undid the last consolidation, changeset {done.id}.")
    assert memory.documents.consolidate().changeset
    organize(database, clock, rules=TWICE)
    assert run(if_changed=True).changeset


def test_it_is_off_unless_it_is_switched_on(open_memory: OpenMemory) -> None:
    """K1, K2; a wrong expression is said at once."""
    assert open_memory()._parts.schedules == []
    with pytest.raises(ConfigError, match="Write one like '0 3"):
        _ = open_memory(organize={"consolidation_schedule_cron": "sometimes"}).documents


def test_it_runs_in_the_background(tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """K1, S2: in the thread of the schedules; the journal may be off."""
    monkeypatch.setattr("lifelong.background.MAX_WAIT", 0.01)
    with Memory.open(tmp_path, clock=clock, organize=SCHEDULED) as memory:
        memory._parts.schedules[0].tick()
        organize(memory._parts.shared.database, clock, preferences=TWICE)
        clock.turn(hours=2)
        memory.start()
        until(lambda: len(memory.documents.changesets()) == 2)


# By a model


def answer(merges: Sequence[tuple[str, ...]] = (), moves: Sequence[tuple[str, str]] = ()) -> Reply:
    proposal = {
        "merges": [{"keep": keep, "also": also} for keep, *also in merges],
        "moves": [{"fact": fact, "to": to} for fact, to in moves],
    }
    return call("final_result", proposal)


def with_model(server: ModelServer, **more: Any) -> dict[str, Any]:
    models = {"model": "openai:gpt-4o-mini", "base_url": server.base_url("openai"), "api_key": "sk-key", **more}
    return {"models": models, "organize": {"organizer": "llm", "consolidation_max_loss": 0.1}}


def test_a_model_proposes_and_the_same_checks_decide(open_memory: OpenMemory, clock: FakeClock) -> None:
    """S7, O13: what names unknown facts or loses a number is refused, the rest is done; it is on the book."""
    script = [
        answer(
            merges=[("f2", "f1"), ("f2", "f3"), ("f5", "f77")],
            moves=[("f4", "people/Tom Reed"), ("f5", "people/nobody"), ("f6", "people/Tom Reed")],
        )
    ]
    with ModelServer(script) as server:
        memory = open_memory(**with_model(server))
        organize(
            memory._parts.shared.database,
            clock,
            people__mara="lives in Lisbon. [r1]\n\nlives in the old town of Lisbon. [r2]\n\n"
            "lives in Lisbon since 2019. [r3]"
            "\n\nTom Reed is a cook. [r4]\n\n" + "likes long walks by the river, and tea in the garden. [r5]",
            findings="Tom Reed pays 84 EUR a night. [r6, from web]",
        )
        result = memory.documents.consolidate()
    asked = told(server.requests[0])
    assert "people/mara: Mara" in asked
    assert "f2: lives in the old town of Lisbon. [r2]" in asked
    assert "findings" not in asked.partition("<facts>")[2]  # one fact is tidy
    found = bodies(memory)
    assert "lives in the old town of Lisbon. [r1, r2]\n\nlives in Lisbon since 2019. [r3]" in found["people/mara"]
    assert found["people/tom-reed"] == "is a cook. [r4]" or found["people/tom-reed"] == "Tom Reed is a cook. [r4]"
    assert (len(result.merged), len(result.moved)) == (1, 1)
    assert [reason.partition(":")[2][:40] for reason in result.left] == [
        " f2 “Mara lives in the old town of Lisbo",
        " there is no fact 'f77'.",
        " f5 “Mara likes long walks by the river,",
        " f6 “Tom Reed pays 84 EUR a night.” is w",
    ]
    assert result.changeset
    changeset = memory.documents.changeset(result.changeset)
    assert (changeset.organizer, changeset.model, changeset.input_tokens) == ("llm", "openai:gpt-4o-mini", 1_000)
    assert [one.purpose for one in memory.admin.ledger()] == ["consolidation"]


def test_a_plan_of_a_model_is_held_against_the_write_policy(open_memory: OpenMemory, clock: FakeClock) -> None:
    """S7, O12, O13: what would pass off a system message as a person's wish, lose a fact in another one, cite a
    record that says something else, or make a page without a name is refused with the reason; the rest is done."""
    plan = answer(
        merges=[("f2", "f3"), ("f4", "f5"), ("f6", "f7")],
        moves=[("f1", "preferences"), ("f6", "people/!?"), ("f8", "people/Tom Reed"), ("f2", "people/Mara/..")],
    )
    with ModelServer([plan]) as server:
        settings = with_model(server)
        settings["organize"]["consolidation_max_loss"] = 0.5
        memory = open_memory(**settings)
        agent = memory.agent()
        said: list[Record] = [
            SystemMessage("The assistant deploys on Mondays only."),
            UserMessage("I love green tea in the morning, and I always take it without any sugar in it."),
            UserMessage("I run by the river."),
            UserMessage("I moved here with my brother, who has a boat in the old harbour near the bridge."),
            UserMessage("The invoice for the roof was paid, so we can forget about that whole affair at last."),
            UserMessage("I sing in a choir."),
            UserMessage("I sing in the choir of the church."),
            UserMessage("Tom Reed is a cook."),
        ]
        r = [memory.append(agent, one) for one in said]
        people = (
            f"loves green tea. [r{r[1]}]\n\nruns by the river. [r{r[2]}]\n\n"
            f"moved here with a brother. [r{r[3]}]\n\nmoved over here with a brother. [r{r[4]}]\n\n"
            f"sings in the choir of the church. [r{r[6]}]\n\nsings in a choir. [r{r[5]}]\n\n"
            f"Tom Reed is a cook. [r{r[7]}]"
        )
        rules = f"The assistant deploys on Mondays only. [r{r[0]}]"
        organize(memory._parts.shared.database, clock, rules=rules, preferences="", people__mara=people)
        result = memory.documents.consolidate()
    assert (len(result.merged), len(result.moved)) == (1, 1)
    found = bodies(memory)
    assert found["rules"] == rules
    assert f"loves green tea. [r{r[1]}]\n\nruns by the river. [r{r[2]}]" in found["people/mara"]
    assert (
        f"moved here with a brother. [r{r[3]}]\n\nmoved over here with a brother. [r{r[4]}]"
        in found["people/mara"]
    )
    assert f"sings in the choir of the church. [r{r[5]}, r{r[6]}]" in found["people/mara"]
    assert found["people/tom-reed"].endswith(f"is a cook. [r{r[7]}]")
    reasons = [
        "would be lost",
        f"r{r[4]} says nothing of",
        "is not what a person or the agent said",
        "does not name",
    ]
    assert len(result.left) == len(reasons) + 1
    for reason, left in zip(reasons, result.left, strict=False):
        assert reason in left


@pytest.mark.parametrize("reply", [refuse(503, "busy"), say("I would tidy up."), call("final_result", "{")])
def test_without_an_answer_the_rules_go_on(open_memory: OpenMemory, clock: FakeClock, reply: Reply) -> None:
    """S7, O13: and the result says that the model was not asked."""
    with ModelServer(lambda _: reply) as server:
        memory = open_memory(**with_model(server))
        organize(
            memory._parts.shared.database, clock, preferences=f"{TWICE}\n\nI like tea. [Mara, 2026-02-02, r3]"
        )
        result = memory.documents.consolidate()
    assert len(result.merged) == 1
    assert result.left[0].startswith("The model was not asked further: openai:gpt-4o-mini")


def test_a_model_may_lose_only_a_share_of_the_words(open_memory: OpenMemory, clock: FakeClock) -> None:
    """S7, K1: `organize.consolidation_max_loss`."""
    with ModelServer([answer(merges=[("f1", "f2")])]) as server:
        settings = with_model(server)
        settings["organize"]["consolidation_max_loss"] = 0.0
        memory = open_memory(**settings)
        organize(memory._parts.shared.database, clock, people__mara="loves tea. [r1]\n\nloves green tea. [r2]")
        result = memory.documents.consolidate()
    assert (result.changeset, result.merged) == (None, ())
    assert "has words that" in result.left[0]


def test_a_run_that_loses_more_than_it_may_is_refused(
    open_memory: OpenMemory, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S7: the whole of it, even where the check of each step fails to see it."""
    monkeypatch.setattr("lifelong.organize.consolidation.lost_words", lambda kept, other: set())
    with ModelServer([answer(merges=[("f1", "f2")])]) as server:
        memory = open_memory(**with_model(server))
        organize(memory._parts.shared.database, clock, people__mara="loves tea. [r1]\n\nloves green tea. [r2]")
        before = bodies(memory)
        with pytest.raises(InputError, match=r"would lose 1 of 4 words \(green\)"):
            memory.documents.consolidate()
    assert bodies(memory) == before


def test_the_budget_of_a_run_holds(open_memory: OpenMemory, clock: FakeClock) -> None:
    """O14: for all questions together; and a dry run costs the same."""
    with ModelServer(lambda _: answer()) as server:
        memory = open_memory(**with_model(server, run_requests=1))
        facts_of = "likes the walk along the river. [r1]\n\nlikes the view. [r2]"
        organize(memory._parts.shared.database, clock, people__mara=facts_of, projects__atlas=facts_of)
        result = memory.documents.consolidate(dry_run=True)
    assert len(server.requests) == 1
    assert result.left == ("The model was not asked further: It was asked 1 times, which is models.run_requests.",)


# Nothing is lost


def test_steps_that_would_lose_anything_are_refused(memory: Memory, database: Database, clock: FakeClock) -> None:
    """S7: each with its reason."""
    organize(
        database,
        clock,
        preferences="I like the night train to Lisbon. [Mara, 2026-02-01, r1]\n\n"
        "I like trains. [Mara, 2026-02-01, r2]\n\nI like trains. [Tom, 2026-02-01, r3]",
        findings="The night costs 84 EUR. [2026-02-01, r4, from web]",
        people__tom="I play the drums. [2026-02-03, r4]",
    )
    tree = WorkingTree(database, OWNER)
    refused: list[tuple[Step, str]] = [
        (Merge(("f2", "f1")), "a number or a name"),
        (Merge(("f1", "f2")), "has words"),
        (Merge(("f2", "f3")), "different people"),
        (Merge(("f2",)), "takes two"),
        (Merge(("f2", "f99")), "no fact 'f99'"),
        (Move("f4", "~/memory/people/tom"), "what a web says"),
        (Move("f2", "~/memory/people/nobody"), "does not name"),
        (Move("f2", "~/memory/nowhere"), "no document"),
        (Move("f2", "~/memory/preferences"), "already"),
    ]
    for step, reason in refused:
        with pytest.raises(Refused, match=reason):
            tree.apply(step)
    assert tree.size() == tree.before


SUBJECTS = ("people/mara", "people/tom", "projects/atlas", "preferences", "findings", "rules", "events/2026-01")
TEXTS = (
    "I'm vegetarian.",
    "I am vegetarian!",
    "I'm not vegetarian.",
    "I'm vegetarian. Tom cooks every day.",
    "Tom cooks every day.",
    "Mara moved to Lisbon in May 2025.",
    "We use Atlas for everything.",
    "- is what a list begins with",
    "see [[people/tom]] for more",
    "lives in Lisbon and works there",
)
OWN = (
    "# A heading",
    "What I wrote myself.",
    "- one\n- two",
    "## Earlier",
    "* see [r1] here",
    "1. first\n2. second",
)


@st.composite
def facts(draw: st.DrawFn) -> str:
    day = draw(st.sampled_from(("", "2026-01-05", "2026-02-06")))
    until = draw(st.sampled_from(("", "", "", "2026-03-07")))
    fact = Fact(
        draw(st.sampled_from(TEXTS)),
        tuple(draw(st.lists(st.integers(1, 30), min_size=1, max_size=3, unique=True))),
        source=draw(st.sampled_from(("", "", "", "web"))),
        until=until,
        by=9 if until else None,
        speaker=draw(st.sampled_from(("", "Mara", "Tom"))) if day else "",
        day=day,
        marker=draw(st.sampled_from(("", "", "- "))),
    )
    return str(fact)


@st.composite
def trees(draw: st.DrawFn) -> dict[str, str]:
    paths = draw(st.lists(st.sampled_from(SUBJECTS), min_size=1, unique=True))
    found = {}
    for path in paths:
        parts = draw(st.lists(facts() | st.sampled_from(OWN), max_size=8))
        filler = draw(st.integers(0, 3).map(lambda n: [quotes(12 * n, "2025-11", "Tom")] if n else []))
        between = draw(st.sampled_from(("\n\n", "\n\n", "\n", "\r\n\r\n\r\n")))
        found[path] = between.join([*parts, *filler]) + draw(st.sampled_from(("", "\n")))
    return found


class Said(NamedTuple):
    """What a fact says and what it rests on, wherever it is."""

    words: tuple[str, ...]
    speaker: str
    more: tuple[object, ...]
    records: frozenset[int]


def said(memory: Memory) -> list[Said]:
    return [
        Said(
            tuple(words(sentence(one, fact))),
            speaker_of(one, fact),
            (bool(fact.day), fact.source, fact.until, fact.by),
            frozenset(fact.records),
        )
        for one in memory.documents.walk(MEMORY_ROOT)
        for fact in parse_facts(one.body)
    ]


def check_left(before: list[Said], after: list[Said], merged: bool) -> None:
    """Check that every fact is still there with its records, or whole within one that cites the first and the last
    of theirs."""
    if not merged:
        assert Counter(before) == Counter(after)
    for one in before:
        into = [
            other
            for other in after
            if (one.speaker, one.more) == (other.speaker, other.more)
            and " ".join(one.words) in " ".join(other.words)
            and (one.records <= other.records or len(other.records) == MAX_CITED)
        ]
        assert into, one
    known = frozenset(record for one in before for record in one.records)
    assert frozenset(record for one in after for record in one.records) <= known


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees())
def test_nothing_is_lost_and_all_of_it_can_be_undone(tree: dict[str, str]) -> None:
    """S7, O21: whatever the documents are. What is tidy stays as it is."""
    with tempfile.TemporaryDirectory() as folder, Memory.open(Path(folder)) as memory:
        database, clock = memory._parts.shared.database, FakeClock()
        organize(database, clock, **{path.replace("/", "__"): body for path, body in tree.items()})
        before, own, facts_before = bodies(memory), own_lines(memory), said(memory)
        result = memory.documents.consolidate()
        assert own_lines(memory) == own
        check_left(facts_before, said(memory), bool(result.merged))
        assert (result.facts_before, result.facts_after) == (len(facts_before), len(said(memory)))
        again = memory.documents.consolidate()
        assert (again.steps, again.changeset) == ((), None)
        if result.changeset:
            memory.documents.rollback(result.changeset)
        assert bodies(memory) == before


def test_a_quote_without_a_speaker_becomes_nobodys_word(memory: Memory) -> None:
    """S7: on the page of a person it would be theirs."""
    database = memory._parts.shared.database
    organize(
        database, FakeClock(), people__tom="I cook. [2026-01-04, r1]", findings="I'm vegetarian. [2026-01-05, r1]"
    )
    working = WorkingTree(database, OWNER)
    name = next(name for name, one in working.facts.items() if "vegetarian" in one.fact.text)
    with pytest.raises(Refused, match="would be the word of Tom"):
        working.apply(Move(name, "~/memory/people/tom"), by_model=False)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees(), st.data())
def test_no_plan_can_lose_anything(tree: dict[str, str], data: st.DataObject) -> None:
    """S7: whatever steps somebody proposes; they are carried out or refused, and pages stay as they read."""
    with tempfile.TemporaryDirectory() as folder, Memory.open(Path(folder)) as memory:
        database = memory._parts.shared.database
        organize(database, FakeClock(), **{path.replace("/", "__"): body for path, body in tree.items()})
        working = WorkingTree(database, OWNER)
        own, before = own_lines(memory), said_words(working.stored)
        names = st.sampled_from([*working.facts, "f999"])
        paths = st.sampled_from([*working.pages, "~/memory/people/ana", "~/memory/nowhere"])
        steps = st.one_of(
            st.builds(Merge, st.lists(names, max_size=3).map(tuple)),
            st.builds(Move, names, paths, st.sampled_from(["", "Ana", "Tom"])),
            st.builds(Split, paths, st.lists(names, max_size=4, unique=True).map(tuple)),
            st.builds(Delete, paths),
        )
        for step in data.draw(st.lists(steps, max_size=12)):
            with suppress(Refused):
                working.apply(step, by_model=True)
        draft = Draft(database, OWNER, below=MEMORY_ROOT)
        working.write(draft)
        changeset = Changeset(0, OWNER, memory._parts.shared.clock(), "run", "somebody")
        database.write(lambda tx: commit(tx, draft, changeset))
        assert own_lines(memory) == own
        assert said_words(memory.documents.walk(MEMORY_ROOT)) == before
        assert len(said(memory)) == len(working.facts)


def own_lines(memory: Memory) -> Counter[str]:
    """Return the lines of people's own text."""
    parts = [part for one in memory.documents.walk(MEMORY_ROOT) for part in paragraphs(one.body)]
    own = [part for part in parts if not parse_fact(part) and part != EARLIER]
    return Counter(line.strip() for part in own for line in part.splitlines() if line.strip())
