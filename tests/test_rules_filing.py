"""Where the rules put what they find: merged with what is known, ended where it is contradicted, and never at the
cost of a person's own text (SPEC O8, O10, O11, O12, S4)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lifelong import (
    Agent,
    AssistantMessage,
    Cron,
    Memory,
    Note,
    SystemMessage,
    ToolCall,
    ToolResult,
    User,
    UserMessage,
)
from lifelong.organize.document_rows import MEMORY_ROOT
from lifelong.organize.draft import Draft
from lifelong.organize.facts import EARLIER, FactIndex, IndexedFact, paragraphs, parse_fact, parse_facts
from lifelong.organize.organizer import RunResult, Transcript
from lifelong.organize.rules.filing import MAX_PAGE_CHARS, Filing
from lifelong.organize.rules.organizer import RulesOrganizer
from lifelong.organize.rules.statements import Statement
from lifelong.organize.write_policy import WritePolicy
from lifelong.storage.base import Database
from lifelong.testing import FakeClock
from lifelong.types import Document, Record
from tests.conftest import OpenMemory, everything

ALICE = User("cli", "alice", "main")
AT = datetime(2026, 2, 24, 10, tzinfo=UTC)  # a Tuesday
ROOMY = 1.0


class Replaying:
    """The rules, and what they were given."""

    name = "rules"

    def __init__(self) -> None:
        self.rules = RulesOrganizer(ROOMY)
        self.seen: list[Transcript] = []

    def blocked_reason(self) -> str:
        return ""

    def status_notes(self) -> list[str]:
        return []

    def organize(self, transcript: Transcript, draft: Draft) -> RunResult:
        self.seen.append(transcript)
        return self.rules.organize(transcript, draft)


@pytest.fixture
def storage() -> dict[str, Any]:
    """Filing has no rows of its own: one database is enough."""
    return {}


@pytest.fixture
def organizer() -> Replaying:
    return Replaying()


@pytest.fixture
def memory(open_memory: OpenMemory, organizer: Replaying) -> Memory:
    return open_memory(organizer=organizer)


def learn(memory: Memory, agent: Agent, *records: Record) -> list[int]:
    ids = memory.append_many(agent, records)
    memory.end_session(agent)
    processed = memory.organize()
    assert (processed.finished, processed.failed) == (1, 0), [item.error for item in memory.inbox.list()]
    return ids


def tell(memory: Memory, *texts: str, speaker: str = "Mara", agent: User = ALICE) -> list[int]:
    return learn(memory, memory.agent(agent), *(UserMessage(text, speaker) for text in texts))


def bodies_by_path(memory: Memory) -> dict[str, str]:
    """What stands in the documents that say something, by path."""
    return {document.path: document.body for document in memory.documents.walk() if document.body}


# Where it goes


def test_each_kind_of_knowledge_has_its_place(memory: Memory) -> None:
    """O8: people/, projects/, preferences, decisions, lessons."""
    learn(
        memory,
        memory.agent(ALICE),
        UserMessage("I work as a nurse.", "Mara"),
        UserMessage("I have a dog called Max.", "Bob Stone"),
        UserMessage("I prefer tea over coffee.", "Mara"),
        UserMessage("I decided to rent a flat because hotels are dear.", "Bob Stone"),
        UserMessage("Project Kestrel needs a new owner. Kestrel runs in Frankfurt.", "Mara"),
        UserMessage("I learned that yeast needs warm water.", "Mara"),
    )
    told = bodies_by_path(memory)
    assert told["~/memory/people/mara"] == "works as a nurse. [r1]"
    assert told["~/memory/people/bob-stone"] == "has a dog called Max. [r2]"
    assert told["~/memory/preferences"] == "Mara prefers tea over coffee. [r3]"
    assert told["~/memory/decisions"] == "Bob Stone decided to rent a flat because hotels are dear. [r4]"
    assert "Frankfurt" in told["~/memory/projects/kestrel"]
    assert told["~/memory/lessons"] == "Mara learned that yeast needs warm water. [r6]"
    titles = {document.path: document.title for document in memory.documents.walk()}
    assert titles["~/memory/people/bob-stone"] == "Bob Stone"
    assert (titles["~/memory/people"], titles["~/memory/preferences"]) == ("People", "Preferences")


def test_the_subject_is_left_out_where_the_title_names_it(memory: Memory) -> None:
    """O10: in lower case the fact goes on where the title ends; any other names its subject."""
    tell(memory, "I work as a nurse.", "My garden is in Porto.")
    told = [fact.text for fact in memory.documents.facts("~/memory/people/mara")]
    assert sorted(told) == ["Mara's garden is in Porto.", "works as a nurse."]


def test_a_state_ends_in_a_chat_as_anywhere(memory: Memory) -> None:
    """O11: people who chat tell of feelings and doings, which seldom end another; where they live does."""
    agent = memory.agent(ALICE)
    for text in ("I live in Porto.", "I moved to Lisbon."):
        learn(memory, agent, UserMessage(text, "Mara"), UserMessage("Oh, nice.", "Ben"))
    ended = [fact.text for fact in memory.documents.facts("~/memory/people/mara") if not fact.current]
    assert ended == ["lives in Porto."]


@pytest.mark.parametrize(
    "text",
    [
        "Please put the server into the title.",
        "Send the test phones there, please, not to the harbour in Lisbon.",
        "Move it to 20 November 2026, same time.",
        "20 November 2026.",
    ],
)
def test_what_somebody_is_asked_for_is_no_fact(memory: Memory, text: str) -> None:
    """O10: nor is a day alone."""
    learn(memory, memory.agent(ALICE), UserMessage("The van is old.", "Ben"), UserMessage(text, "Mara"))
    assert "~/memory/people/mara" not in bodies_by_path(memory)


def test_whoever_is_talked_of_has_a_document(memory: Memory) -> None:
    """O8, O11: one that the talk shows to be a person, or a project; known from then on."""
    tell(memory, "My sister Mia lives in Berlin.", "The release of Harbor is on 5 May 2026.")
    tell(memory, "Mia sold the old van to a baker.", "Harbor has four thousand users in Oslo.")
    tell(memory, "Nothing in Berlin is cheap, the van cost 4,000 euros.")
    told = {
        path: [text.split(" [")[0] for text in body.split("\n\n")] for path, body in bodies_by_path(memory).items()
    }
    assert told["~/memory/people/mia"] == ["Mara's sister Mia lives in Berlin.", "sold the old van to a baker."]
    assert told["~/memory/projects/harbor"] == [
        "The release of Harbor is on 5 May 2026.",
        "has four thousand users in Oslo.",
    ]
    assert any("Nothing in Berlin is cheap" in text for text in told["~/memory/people/mara"])


@pytest.mark.parametrize(
    "text",
    [
        "Tejo Ferries wants live delays, and it needs them in May.",
        "Lisbon has four hills that I like.",
        "Android needs a new build, I said so in April.",
        "Yesterday was the day I sold the van.",
        "I told Claude of it in May 2025. Claude costs 20 euros a month.",
        "Germany loves fast cars, and Rust enjoys a good name in Oslo.",
    ],
)
def test_what_is_no_person_has_no_document_of_a_person(memory: Memory, text: str) -> None:
    """O8."""
    tell(memory, text)
    assert [path for path in bodies_by_path(memory) if path.startswith("~/memory/people/")] == [
        "~/memory/people/mara"
    ]


def test_two_things_that_people_do_show_a_person(memory: Memory) -> None:
    """O8: also where a name opens the talk."""
    tell(memory, "Priya called from Rome in May 2025. Priya wants tea from Kyoto.")
    assert "~/memory/people/priya" in bodies_by_path(memory)


def test_a_person_with_an_assistant(memory: Memory) -> None:
    """O8, O10: the user's facts and wishes, the assistant's deeds, and no advice."""
    learn(
        memory,
        memory.agent(ALICE),
        UserMessage("I'm a carpenter. Which train goes to Oslo?"),
        AssistantMessage("You should take the night train. I booked two seats on it for 3 May 2026."),
        UserMessage("Please always answer in French."),
    )
    told = bodies_by_path(memory)
    assert told["~/memory/people/alice"] == "is a carpenter. [r1]"
    assert told["~/memory/preferences"] == "Alice wants the assistant to always answer in French. [r3]"
    assert told["~/memory/events/2026-02"] == "Assistant booked two seats on it for 3 May 2026. [r2]"


def test_two_people_without_a_name_are_not_one(memory: Memory) -> None:
    """O11: nobody ends what another said of themselves."""
    for who in ("alice", "U0451"):
        learn(memory, memory.agent(User("slack", who, "main")), UserMessage(f"I live in {who.title()}ville."))
    told = bodies_by_path(memory)
    assert told["~/memory/people/alice"] == "lives in Aliceville. [r1]"
    assert told["~/memory/people/u0451"] == "lives in U0451ville. [r4]"


def test_a_background_agent(memory: Memory) -> None:
    """O8, O10: what was done is an event, what failed a lesson, and nobody is made up."""
    learn(
        memory,
        memory.agent(Cron("backup")),
        SystemMessage("Back up the photos. I prefer tea."),
        UserMessage("I live in Porto."),
        ToolCall("shell", {"command": "tar"}),
        ToolResult("tar: error: disk full", "shell", failed=True),
        AssistantMessage("The backup failed because the disk was full. I copied 40 GB to the archive."),
        Note("The retry didn't work because the token had expired."),
    )
    told = bodies_by_path(memory)
    assert set(told) == {"~/memory/lessons", "~/memory/events/2026-02"}
    assert paragraphs(told["~/memory/lessons"]) == [
        "shell failed: tar: error: disk full. [r4, from tool]",
        "The backup failed because the disk was full. [r5]",
        "The retry didn't work because the token had expired. [r6]",
    ]
    assert told["~/memory/events/2026-02"] == "Agent copied 40 GB to the archive. [r5]"


def test_an_address_in_small_letters_is_a_title_like_any_name(memory: Memory) -> None:
    """O8: the fact goes on where the title ends."""
    learn(memory, memory.agent(User("web", "cust_881", "shop")), UserMessage("I moved to Lyon in 2021."))
    assert bodies_by_path(memory)["~/memory/people/cust_881"] == "moved to Lyon in 2021. [r1]"


def test_what_is_said_in_another_language_ends_nothing(memory: Memory) -> None:
    """O11: what cannot be read contradicts nothing; the same again is no second fact."""
    for said in (
        "Ich wohne in Leipzig bei Oma.",
        "Wir wohnen in Dresden bei Oma.",
        "Ich wohne in Leipzig bei Oma.",
    ):
        learn(memory, memory.agent(ALICE), UserMessage(said, "Mara", at=AT))
    assert bodies_by_path(memory)["~/memory/people/mara"].split("\n\n") == [
        'said on 24 February 2026: "Ich wohne in Leipzig bei Oma". [r1, r7]',
        'said on 24 February 2026: "Wir wohnen in Dresden bei Oma". [r4]',
    ]


def test_what_says_nothing_without_what_it_ends_tells_that_too(memory: Memory) -> None:
    """O10, O11: a fact stands by itself; it cites both, and a third one does not pile up."""
    for said in ("I take sertraline, 50 mg.", "Actually it's 75 mg now.", "Correction: it's 90 mg now."):
        learn(memory, memory.agent(ALICE), UserMessage(said, "Mara"))
    told = bodies_by_path(memory)["~/memory/people/mara"]
    assert told.startswith("It's 90 mg now (earlier: takes sertraline, 50 mg). [r1, r7]\n\n## Earlier")
    assert told.count("sertraline") == 3


def test_what_is_so_again_ends_what_was_so_between(memory: Memory) -> None:
    """O11: one of the two is current."""
    for said in ("I take sertraline, 50 mg.", "Actually it's 75 mg now.", "I take sertraline, 50 mg."):
        learn(memory, memory.agent(ALICE), UserMessage(said, "Mara"))
    current = [fact.text for fact in memory.documents.facts("~/memory/people/mara") if fact.current]
    assert current == ["takes sertraline, 50 mg."]


def test_a_person_with_another_title_keeps_their_document(memory: Memory) -> None:
    """O8: the path is whom it is about, whatever a person calls it."""
    tell(memory, "My sister Mia lives in Berlin.", "The release of Harbor is on 5 May 2026.")
    for path, title in (("people/mia", "Mia Lund"), ("projects/harbor", "Harbor App")):
        old = memory.documents.read(f"~/memory/{path}")
        memory.documents.write(
            document_id=old.id,
            expected_version=old.version,
            slug=old.slug,
            title=title,
            description=old.description,
            body=old.body,
        )
    tell(memory, "Mia sold the old van to a baker.", "Harbor has four thousand users in Oslo.")
    told = bodies_by_path(memory)
    assert "\n\nsold the old van" in told["~/memory/people/mia"]
    assert "\n\nhas four thousand" in told["~/memory/projects/harbor"]


def test_relative_dates_are_absolute(memory: Memory) -> None:
    """O10: reckoned from when it was said, not from when it was organized."""
    said = UserMessage("I met Leo yesterday in Rome.", "Mara", at=AT - timedelta(days=100))
    learn(memory, memory.agent(ALICE), said)
    assert bodies_by_path(memory)["~/memory/people/mara"] == "met Leo on 15 November 2025 in Rome. [r1]"


def test_secrets_stay_out_and_the_rest_is_learned(memory: Memory) -> None:
    """S4."""
    key = "AKIA" + "QWERTYUIOPASDFGH"
    tell(
        memory,
        f"I work as a nurse. My password is tulip-7-Garden. The AWS key is {key}. My sister Mia lives in Berlin.",
        "I prefer tea over coffee. Remember that my pin is 4711.",
    )
    whole = json.dumps(bodies_by_path(memory))
    assert not [secret for secret in ("tulip-7-Garden", key, "4711") if secret in whole]
    assert not [known for known in ("nurse", "Berlin", "tea over coffee") if known not in whole]


@pytest.mark.parametrize(
    ("speaker", "path"),
    [
        ("sk-ant-api03-" + "AbCdEf0123456789xyzXYZ", "alice"),
        ("4111/1111/1111/1111", "general"),  # as a path would say it, a card's number
        ("\U00010330" * 200, "\U00010330" * 50),
    ],
)
def test_a_speaker_with_no_name_for_a_path_holds_nothing_up(memory: Memory, speaker: str, path: str) -> None:
    """S4, O5: a secret is nobody's name; what others said is learned beside it."""
    agent = memory.agent(ALICE)
    said = UserMessage("I work as a nurse in Porto.", speaker), AssistantMessage("I was born in Oslo.", speaker)
    learn(memory, agent, *said, UserMessage("I have a dog called Max.", "Mara"))
    told = bodies_by_path(memory)
    assert "nurse" in told[f"~/memory/people/{path}"]
    assert "Max" in told["~/memory/people/mara"]
    if path == "alice":
        assert speaker not in json.dumps(told)
        assert "Oslo" not in told["~/memory/people/alice"]
        hits = everything(memory.search("Who is a nurse in Porto?", 10))
        assert {hit.speaker for hit in hits} <= {"", "Alice", "Mara"}


# What is known already


def test_a_statement_made_again_is_cited_again(memory: Memory) -> None:
    """O11: not repeated; the first record that said it, and the last two."""
    ids = [tell(memory, "I work as a nurse.")[0] for _ in range(5)]
    told = bodies_by_path(memory)["~/memory/people/mara"]
    assert told == f"works as a nurse. [r{ids[0]}, r{ids[3]}, r{ids[4]}]"


def test_a_statement_made_twice_in_one_talk_is_one_fact(memory: Memory) -> None:
    """O11."""
    ids = tell(memory, "I work as a nurse.", "I have a dog called Max.", "I work as a nurse.")
    assert f"works as a nurse. [r{ids[0]}, r{ids[2]}]" in paragraphs(
        bodies_by_path(memory)["~/memory/people/mara"]
    )


@pytest.mark.parametrize("known", [True, False])
def test_a_statement_made_again_and_again_in_one_talk_is_one_fact(memory: Memory, known: bool) -> None:
    """O11, O10: one paragraph cites them all, whether the talk or an earlier one said it first."""
    said = ["I work as a nurse."] * 3
    ids = [*tell(memory, said[0]), *tell(memory, *said[1:])] if known else tell(memory, *said)
    cited = ", ".join(f"r{record}" for record in ids)
    assert bodies_by_path(memory) == {"~/memory/people/mara": f"works as a nurse. [{cited}]"}


@pytest.mark.parametrize("known", [True, False])
def test_a_fact_repeated_and_contradicted_in_one_talk_is_ended(memory: Memory, known: bool) -> None:
    """O11: with every record that said it, whether the talk or an earlier one said it first."""
    said = ["I live in Porto.", "I live in Porto.", "I moved to Lisbon."]
    first, again, new = [*tell(memory, said[0]), *tell(memory, *said[1:])] if known else tell(memory, *said)
    assert paragraphs(bodies_by_path(memory)["~/memory/people/mara"]) == [
        f"moved to Lisbon. [r{new}]",
        EARLIER,
        f"lives in Porto. [r{first}, r{again}, until 2026-02-24 by r{new}]",
    ]


@pytest.mark.parametrize("apart", [True, False])
def test_a_contradicted_fact_is_ended(memory: Memory, apart: bool, clock: FakeClock) -> None:
    """O11: it stays, with the day and the record that ended it."""
    if apart:
        old = tell(memory, "I live in Porto.")[0]
        clock.turn(days=3)
        new = tell(memory, "I moved to Lisbon.")[0]
    else:
        clock.turn(days=3)
        old, new = tell(memory, "I live in Porto.", "I moved to Lisbon.")
    assert paragraphs(bodies_by_path(memory)["~/memory/people/mara"]) == [
        f"moved to Lisbon. [r{new}]",
        EARLIER,
        f"lives in Porto. [r{old}, until 2026-02-27 by r{new}]",
    ]


def test_what_was_said_before_and_organized_late_is_over_already(memory: Memory, clock: FakeClock) -> None:
    """O11: two agents of one user; the later talk was organized first."""
    first, second = memory.agent(ALICE), memory.agent(User("cli", "alice", "other"))
    old = memory.append(first, UserMessage("I live in Porto.", "Mara"))
    clock.turn(seconds=1)
    new = tell(memory, "I moved to Lisbon.", agent=User("cli", "alice", "other"))[0]
    memory.end_session(first)
    memory.organize()
    assert paragraphs(bodies_by_path(memory)["~/memory/people/mara"]) == [
        f"moved to Lisbon. [r{new}]",
        EARLIER,
        f"lives in Porto. [r{old}, until 2026-02-24 by r{new}]",
    ]
    assert second.owner == first.owner


def test_a_late_statement_ended_when_the_later_one_was_made(memory: Memory) -> None:
    """O11: "the time it stopped being true" is not the time it was said."""
    first = memory.agent(ALICE)
    memory.append(first, UserMessage("I live in Porto.", "Mara", at=AT - timedelta(days=60)))
    tell(memory, "I moved to Lisbon.", agent=User("cli", "alice", "other"))
    memory.end_session(first)
    memory.organize()
    (ended,) = [fact for fact in memory.documents.facts("~/memory/people/mara") if not fact.current]
    assert ended.until == "2026-02-24"


def test_an_old_talk_that_is_imported_late_changes_nothing(memory: Memory) -> None:
    """O11: what counts is when it was said, not when it arrived."""
    new = tell(memory, "I moved to Lisbon.")[0]
    learn(
        memory,
        memory.agent(User("cli", "alice", "import")),
        UserMessage("I live in Porto.", "Mara", at=AT - timedelta(days=900)),
    )
    current = [fact for fact in memory.documents.facts("~/memory/people/mara") if fact.current]
    assert [(fact.text, fact.records) for fact in current] == [("moved to Lisbon.", (new,))]


def test_data_ends_nobodys_fact(database: Database) -> None:
    """O12: a person's word ends what data says; data ends only data."""
    filing = Filing(draft(database))
    filing.file([statement("Mara lives in Porto.", 1)])
    filing.file([statement("Mara moved to Lisbon.", 2, category="events", source="web")])
    filing.file([statement("Mara lives in Rome.", 3, category="events", source="web")])
    assert filing.ended <= 1
    filing.file([statement("Mara moved to Oslo.", 4)])
    assert filing.write()
    bodies = written(filing)
    assert paragraphs(bodies["~/memory/people/mara"]) == [
        "moved to Oslo. [r4]",
        EARLIER,
        "lives in Porto. [r1, until 2026-02-24 by r4]",
    ]
    assert not [
        fact for fact in parse_facts(bodies["~/memory/events/2026-02"]) if fact.current and fact.source == ""
    ]


def test_data_said_again_by_a_person_is_theirs(database: Database) -> None:
    """O12, S5: what a page said and then a person says is no longer mere data, and never the other way round."""
    filing = Filing(draft(database))
    filing.file([statement("Casa do Fado costs 84 EUR a night.", 1, category="events", source="web")])
    filing.file([statement("Casa do Fado costs 84 EUR a night.", 2, category="people", subject="Mara")])
    filing.write()
    told = [fact for body in written(filing).values() for fact in parse_facts(body)]
    assert [fact for fact in told if not fact.source and 2 in fact.records]


def test_two_agents_of_a_user_share_documents(memory: Memory) -> None:
    """C0, O11: one tree a user; and another user has its own."""
    tell(memory, "I work as a nurse.")
    tell(memory, "I work as a nurse.", "I have a dog called Max.", agent=User("telegram", "42", "7"))
    told = paragraphs(bodies_by_path(memory)["~/memory/people/mara"])
    assert len(told) == 2
    assert [fact.records for part in told if (fact := parse_fact(part)) and "nurse" in fact.text] == [(1, 4)]


def test_users_share_nothing(open_memory: OpenMemory) -> None:
    """C0."""
    mine, work = open_memory(organize={"organizer": "rules"}), open_memory("work", organize={"organizer": "rules"})
    tell(mine, "I live in Porto.")
    tell(work, "I moved to Lisbon.")
    assert bodies_by_path(mine) == {"~/memory/people/mara": "lives in Porto. [r1]"}
    assert set(bodies_by_path(work)) == {"~/memory/people/mara"}
    assert EARLIER not in bodies_by_path(work)["~/memory/people/mara"]


# The same again


TALK = (
    UserMessage("I live in Porto. I prefer tea over coffee.", "Mara"),
    UserMessage("I decided to rent a flat because hotels are dear.", "Bob"),
    ToolResult("Casa do Fado costs 84 EUR a night.", "search", provenance="web"),
    UserMessage("I moved to Lisbon. My sister Mia lives in Berlin.", "Mara"),
    UserMessage(
        "Project Falcon and Project Heron are old. There are 12 people on Falcon and Heron in Oslo.", "Mara"
    ),
    UserMessage("I learned that yeast needs warm water. I have two cats and a dog called Max.", "Bob"),
)


def test_the_same_transcript_again_adds_nothing(memory: Memory, organizer: Replaying) -> None:
    """O8: a run may be repeated."""
    learn(memory, memory.agent(ALICE), *TALK)
    again = Draft(
        memory._parts.shared.database, "default", below=MEMORY_ROOT, policy=WritePolicy(organizer.seen[0])
    )
    organizer.rules.organize(organizer.seen[0], again)
    assert [(edit.before, edit.after) for edit in again.changes] == []


def test_the_same_talk_gives_the_same_documents(tmp_path: Path) -> None:
    """O8: deterministic, in any process."""
    script = """
import json, sys
from lifelong import Memory, User
from lifelong.testing import FakeClock
from tests.test_rules_filing import ALICE, TALK
with Memory.open(sys.argv[1], clock=FakeClock(), organize={"organizer": "rules"}) as memory:
    for _ in range(2):
        memory.append_many(memory.agent(ALICE), TALK)
        memory.end_session(memory.agent(ALICE))
        memory.organize()
    print(json.dumps([[one.path, one.title, one.description, one.body] for one in memory.documents.walk()]))
"""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / seed)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parent.parent,
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    first, second = (process.communicate(timeout=30)[0] for process in processes)
    assert [process.returncode for process in processes] == [0, 0]
    assert "Lisbon" in first
    assert first == second


def test_two_facts_of_one_record_never_end_one_another(memory: Memory, clock: FakeClock) -> None:
    """O11: what is told in one breath is one news."""
    mara = memory.agent(User("cli", "mara", "main"))
    for text in ("I live in Porto.", "I moved. I live in Lisbon now."):
        memory.append(mara, UserMessage(text, speaker="Mara"))
        memory.end_session(mara)
        memory.organize()
        clock.turn(days=1)
    page = memory.documents.read("~/memory/people/mara")
    assert {fact.text: fact.current for fact in parse_facts(page.body)}.items() >= {
        ("lives in Lisbon now.", True),
        ("lives in Porto.", False),
    }


def test_leads_do_not_depend_on_the_order_of_their_rows(database: Database) -> None:
    """O8: of facts that came at once, the same are looked at whoever comes first."""
    at, found = AT, []
    for owner, order in (("one", range(30)), ("other", reversed(range(30)))):
        leads = [(IndexedFact("d", f"{number:02}", f"Fact {number}."), ("common", "also")) for number in order]
        database.write(lambda tx, owner=owner, leads=leads: FactIndex(tx, owner).insert(leads, at))  # type: ignore[misc]
        found.append(database.read(lambda tx, owner=owner: FactIndex(tx, owner).find([{"also", "common"}])[0]))  # type: ignore[misc]
    assert found[0] == found[1]
    assert found[0]


# A person's own text


def own(memory: Memory, body: str) -> Document:
    memory.documents.write(slug="people", title="People", description="", body="", parent_path="~/memory")
    return memory.documents.write(
        slug="mara", title="Mara", description="My friend.", body=body, parent_path="~/memory/people"
    )


BODIES = [
    "My own remark.",
    "# Mara\n\nA remark,\nin two lines.\n\n- a list\n- of things",
    "    indented like code\n\nand more",
    "trailing space  \n\n\n\nfar below",
    "\n\nlate start\n\n",
    "Remark. [not a citation]\n\n[[~/memory/people]]",
    "Above.\n\n## Earlier\n\nlives in Faro. [r1, until 2020-01-01]\n\nBelow.",
    "Above.\n\n## Earlier",
    "## Earlier\n\nBelow.",
    "One.\n\t\nTwo.",
]


@pytest.mark.parametrize("body", BODIES)
def test_a_persons_own_text_survives(memory: Memory, body: str) -> None:
    """O10: byte for byte, in its order, and no fact is filed among what is over."""
    own(memory, body)
    tell(memory, "I live in Porto.")
    tell(memory, "I moved to Lisbon.")
    after = memory.documents.read("~/memory/people/mara")
    assert (after.title, after.description) == ("Mara", "My friend.")
    assert [part for part in paragraphs(after.body) if part in paragraphs(body)] == paragraphs(body)
    now, _, earlier = f"\n\n{after.body}".partition(f"\n\n{EARLIER}\n\n")
    assert "moved to Lisbon." in now
    assert "lives in Porto." in earlier
    assert after.body.count(EARLIER) == 1


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(st.sampled_from("ab .#-[]r1,\n\n\n\t>"), max_size=60).filter(lambda text: EARLIER not in text))
def test_any_text_of_a_person_survives(tmp_path_factory: pytest.TempPathFactory, body: str) -> None:
    """O10: property."""
    with Memory.open(
        tmp_path_factory.mktemp("home"), clock=FakeClock(), organize={"organizer": "rules"}
    ) as memory:
        own(memory, body)
        tell(memory, "I live in Porto.")
        after = [part.strip() for part in paragraphs(memory.documents.read("~/memory/people/mara").body)]
        assert after[:-1] == [part.strip() for part in paragraphs(body)]
        assert after[-1] == "lives in Porto. [r1]"


# Pages


def draft(database: Database) -> Draft:
    return Draft(database, "default", below=MEMORY_ROOT)


def written(filing: Filing) -> dict[str, str]:
    return {edit.after.path: edit.after.body for edit in filing._draft.changes if edit.after}


def statement(text: str, record: int, at: datetime = AT, **more: Any) -> Statement:
    given: dict[str, Any] = {"category": "people", "subject": "Mara", **more}
    return Statement(text, (record,), at, **given)


def unrelated_sentences(count: int) -> Iterable[str]:
    """So many sentences that have nothing in common."""
    names = ["".join(letters).title() for letters in product("bdfgklmnprst", "aeiou", "bdfgklmnprst", "aeiou")]
    for number in range(count):
        first, second, *guests, place = names[17 * number : 17 * number + 17]
        yield f"Mara met {first} and {second} for a walk in {place} with {', '.join(guests)}."


def test_a_full_document_goes_on_in_pages(database: Database) -> None:
    """O11: by month, then numbered; nothing is lost, and none grows without end."""
    filing = Filing(draft(database))
    months = (AT, AT + timedelta(days=40))
    for record, text in enumerate(unrelated_sentences(100), 1):
        filing.file([statement(text, record, months[record > 80])])
    filing.write()
    assert (filing.added, filing.ended) == (100, 0)
    bodies = written(filing)
    pages = [path.removeprefix("~/memory/people/mara") for path in bodies if "/mara" in path]
    assert sorted(pages) == ["", "/2026-02", "/2026-02-2", "/2026-04"]
    assert max(map(len, bodies.values())) < MAX_PAGE_CHARS + 200
    cited = [
        record
        for path, body in bodies.items()
        if "/mara" in path
        for c in parse_facts(body)
        for record in c.records
    ]
    assert sorted(cited) == list(range(1, 101))
    order = [record for page in ("", "/2026-02", "/2026-02-2", "/2026-04") for record in _cited(bodies, page)]
    assert order == sorted(order)


def _cited(bodies: dict[str, str], page: str) -> list[int]:
    return [record for fact in parse_facts(bodies[f"~/memory/people/mara{page}"]) for record in fact.records]


def test_what_stands_on_a_page_is_still_known(memory: Memory, database: Database) -> None:
    """O11: merged and ended where it stands, whatever the page; its subject is the head's."""
    filler = "\n\n".join(f"Remark number {number} of a person." for number in range(200))
    own(memory, filler)
    old = tell(memory, "I live in Porto.")[0]
    page = memory.documents.read("~/memory/people/mara/2026-02")
    assert (page.title, page.body) == ("Mara", f"lives in Porto. [r{old}]")
    again = tell(memory, "I live in Porto.")[0]
    new = tell(memory, "I moved to Lisbon.")[0]
    assert paragraphs(memory.documents.read(page.id).body) == [
        f"moved to Lisbon. [r{new}]",
        EARLIER,
        f"lives in Porto. [r{old}, r{again}, until 2026-02-24 by r{new}]",
    ]
    assert memory.documents.read("~/memory/people/mara").body == filler


@pytest.mark.parametrize("gap", ["\r\n\r\n", "\n \t\n", "\n\n\n"])
def test_however_a_person_sets_facts_apart_they_are_known(memory: Memory, gap: str) -> None:
    """O11: what an editor made of the lines between them keeps none from being cited again, or ended."""
    old = tell(memory, "I live in Porto.", "I work as a nurse at the city hospital.")
    page = memory.documents.read("~/memory/people/mara")
    parts = [*paragraphs(page.body), "A line of my own.", EARLIER, "lives in Faro. [r1, until 2026-01-01]", ""]
    memory.documents.edit(page.id, page.version, find=page.body, replace=gap.join(parts))
    (new,) = tell(memory, "I moved to Lisbon. I work as a nurse at the city hospital.")
    assert paragraphs(memory.documents.read(page.id).body) == [
        f"works as a nurse at the city hospital. [r{old[1]}, r{new}]",
        "A line of my own.",
        f"moved to Lisbon. [r{new}]",
        EARLIER,
        "lives in Faro. [r1, until 2026-01-01]",
        f"lives in Porto. [r{old[0]}, until 2026-02-24 by r{new}]",
    ]


@pytest.mark.parametrize(
    "speaker", ["../../etc", "~", "Ann/Bob", "..", "memory", "¡¡¡", "x" * 200, "Ünal Ö.", "a\tb"]
)
def test_a_name_never_leaves_its_folder(memory: Memory, speaker: str) -> None:
    """S3: whatever a speaker is called."""
    tell(memory, "I live in Porto.", speaker=speaker)
    (path,) = bodies_by_path(memory)
    assert path.startswith("~/memory/people/")
    assert path.count("/") == 3


# Whose word it is


def test_one_persons_word_does_not_end_anothers(memory: Memory) -> None:
    """O11: two people with one employer are two."""
    tell(memory, "I work at Siemens.")
    tell(memory, "I quit my job at Siemens.", speaker="Gus")
    assert "works at Siemens" in bodies_by_path(memory)["~/memory/people/mara"]
    assert EARLIER not in bodies_by_path(memory)["~/memory/people/mara"]


def test_a_name_within_another_is_not_named(memory: Memory) -> None:
    """O11: what is said of Anna ends nothing of Ann."""
    tell(memory, "I live in Porto.", speaker="Ann")
    anna = UserMessage("Anna moved to Rome and lives in Rome now.", "Bob")
    learn(memory, memory.agent(ALICE), anna, UserMessage("Oh, nice.", "Mara"))
    assert EARLIER not in bodies_by_path(memory)["~/memory/people/ann"]


def test_data_that_repeats_or_echoes_a_word_does_not_fail_the_run(memory: Memory) -> None:
    """O12: what a tool says changes nothing about a person's fact, and holds nothing up."""
    tell(memory, "I live in Porto near Ribeira.")
    echo = ToolResult("Customer Mara lives in Porto near Ribeira.", name="crm", provenance="web")
    learn(memory, memory.agent(ALICE), echo, UserMessage("I moved to Lisbon.", "Mara"))
    learn(memory, memory.agent(ALICE), echo)
    assert not memory.inbox.list("pending", "dead")
    assert "moved to Lisbon" in bodies_by_path(memory)["~/memory/people/mara"]


def test_a_fact_is_as_old_as_it_was_said_last(memory: Memory) -> None:
    """O11: an old repetition that is imported late makes it no older."""
    tell(memory, "I live in Porto.")
    for text, days in (("I live in Porto.", 2_000), ("I moved to Lisbon.", 900)):
        said = UserMessage(text, "Mara", at=AT - timedelta(days=days))
        learn(memory, memory.agent(User("cli", "alice", f"import-{days}")), said)
    current = [fact.text for fact in memory.documents.facts("~/memory/people/mara") if fact.current]
    assert "lives in Porto." in current
