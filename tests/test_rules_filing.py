"""Where quotes are put: by subject, once, ended where that is certain, and never at the cost of a person's own
text (SPEC O8, O10, O11, O12, S3, S4)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
from lifelong.collect.descriptors import Descriptor
from lifelong.organize.document_rows import MEMORY_ROOT
from lifelong.organize.draft import Draft
from lifelong.organize.facts import EARLIER, MAX_FOUND, MAX_PAGE_CHARS, paragraphs, parse_facts
from lifelong.organize.organizer import RunResult, Transcript
from lifelong.organize.rules.organizer import RulesOrganizer
from lifelong.organize.write_policy import WritePolicy
from lifelong.testing import FakeClock
from lifelong.text.changes import ends
from lifelong.types import Document, Record
from tests.conftest import OpenMemory, everything

ALICE = User("cli", "alice", "main")
AT = datetime(2026, 2, 24, 10, tzinfo=UTC)  # a Tuesday


class Replaying:
    """The rules, and what they were given."""

    name = "rules"

    def __init__(self) -> None:
        self.rules = RulesOrganizer()
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


def tell(memory: Memory, *texts: str, speaker: str = "Mara", agent: Descriptor = ALICE) -> list[int]:
    return learn(memory, memory.agent(agent), *(UserMessage(text, speaker) for text in texts))


def bodies_by_path(memory: Memory) -> dict[str, str]:
    """What stands in the documents that say something, by path."""
    return {document.path: document.body for document in memory.documents.walk() if document.body}


def texts_by_path(memory: Memory) -> dict[str, list[str]]:
    """The quotes without their brackets, by path."""
    return {path: [fact.text for fact in parse_facts(body)] for path, body in bodies_by_path(memory).items()}


# Where it goes


def test_each_kind_of_knowledge_has_its_place(memory: Memory) -> None:
    """O8: people/, projects/, preferences, rules, decisions, lessons, events/, findings."""
    learn(
        memory,
        memory.agent(ALICE),
        UserMessage("I work as a nurse at Santa Maria.", "Mara"),
        UserMessage("I have a dog called Max.", "Bob Stone"),
        UserMessage("I prefer tea over coffee.", "Mara"),
        UserMessage("We decided on the flat in Alfama because hotels cost 140 euros.", "Bob Stone"),
        UserMessage("Project Kestrel needs a new owner. Kestrel runs in Frankfurt.", "Mara"),
        UserMessage("Turns out that yeast needs water of 38 degrees.", "Mara"),
        UserMessage("Never book a flight before 9:00.", "Mara"),
        UserMessage("The regatta in Cascais is on 5 May 2026 at 11:00.", "Mara"),
        ToolResult("Casa do Fado costs 84 EUR a night.", "search", provenance="web"),
        AssistantMessage("The IC 523 from Santa Apolónia to Porto takes 2 h 50 min and costs 24.50 EUR."),
        UserMessage("Never book a flight after 22:00."),
    )
    day = "2026-02-24"
    assert bodies_by_path(memory) == {
        "~/memory/people/mara": f"I work as a nurse at Santa Maria. [{day}, r1]",
        "~/memory/people/bob-stone": f"I have a dog called Max. [{day}, r2]",
        "~/memory/preferences": f"I prefer tea over coffee. [Mara, {day}, r3]\n\n"
        f"Never book a flight before 9:00. [Mara, {day}, r7]",
        "~/memory/decisions": "We decided on the flat in Alfama because hotels cost 140 euros. "
        f"[Bob Stone, {day}, r4]",
        "~/memory/projects/kestrel": "Project Kestrel needs a new owner. Kestrel runs in Frankfurt. "
        f"[Mara, {day}, r5]",
        "~/memory/lessons": f"Turns out that yeast needs water of 38 degrees. [Mara, {day}, r6]",
        "~/memory/rules": f"Never book a flight after 22:00. [Alice, {day}, r11]",
        "~/memory/events/2026-02": f"The regatta in Cascais is on 5 May 2026 at 11:00. [Mara, {day}, r8]",
        "~/memory/findings": f"Casa do Fado costs 84 EUR a night. [{day}, r9, from web]\n\n"
        "The IC 523 from Santa Apolónia to Porto takes 2 h 50 min and costs 24.50 EUR. "
        f"[Assistant, {day}, r10]",
    }
    titles = {document.path: document.title for document in memory.documents.walk()}
    assert titles["~/memory/people/bob-stone"] == "Bob Stone"
    assert (titles["~/memory/people"], titles["~/memory/events/2026-02"]) == ("People", "February 2026")


def test_whoever_is_talked_of_has_a_document(memory: Memory) -> None:
    """O8, O11: known from then on, and for as long as "she" is said of them."""
    tell(memory, "Mia is my sister and has 2 cats.")
    tell(memory, "Mia sold the old van to a baker in Potsdam.", "She got 900 euros for the van.")
    assert texts_by_path(memory)["~/memory/people/mia"] == [
        "Mia is my sister and has 2 cats.",
        "Mia sold the old van to a baker in Potsdam.",
        "She got 900 euros for the van.",
    ]


def test_what_is_said_in_a_folder_belongs_to_its_project(memory: Memory) -> None:
    """O8: all but what is private."""
    coding = User("claude-code", "mara", "/srv/code/harbor")
    tell(memory, "Tests run with `make test PART=api`. Never push to main.", agent=coding)
    tell(memory, "I'm allergic to walnuts.", agent=coding)
    told = texts_by_path(memory)
    assert told["~/memory/projects/harbor"] == ["Tests run with `make test PART=api`. Never push to main."]
    assert told["~/memory/people/mara"] == ["I'm allergic to walnuts."]


def test_two_people_without_a_name_are_not_one(memory: Memory) -> None:
    """O11: nobody ends what another said of themselves."""
    for who in ("alice", "U0451"):
        learn(memory, memory.agent(User("slack", who, "main")), UserMessage(f"I live in {who.title()}ville."))
    told = texts_by_path(memory)
    assert told["~/memory/people/alice"] == ["I live in Aliceville."]
    assert told["~/memory/people/u0451"] == ["I live in U0451ville."]


def test_a_background_agent(memory: Memory) -> None:
    """O8, O10: standing orders are rules, what failed is a lesson, what it reports a finding."""
    learn(
        memory,
        memory.agent(Cron("backup")),
        SystemMessage("Always keep 30 days of backups on box-2. Never delete the January archive."),
        ToolCall("shell", {"command": "tar"}),
        ToolResult("tar: error: disk full on /dev/sdb1", "shell", failed=True),
        AssistantMessage("The backup failed because /dev/sdb1 on box-2 had 0 bytes free."),
        Note("The retry at 03:10 failed because the token for box-2 had expired."),
    )
    assert bodies_by_path(memory) == {
        "~/memory/rules": "Always keep 30 days of backups on box-2. Never delete the January archive. "
        "[Host, 2026-02-24, r1]",
        "~/memory/lessons": "tar: error: disk full on /dev/sdb1 [2026-02-24, r3, from tool]",
        "~/memory/findings": "The backup failed because /dev/sdb1 on box-2 had 0 bytes free. "
        "[Agent, 2026-02-24, r4]\n\n"
        "The retry at 03:10 failed because the token for box-2 had expired. [Agent, 2026-02-24, r5]",
    }


@pytest.mark.parametrize(
    "order",
    [
        "Collect the weather for Lisbon at 6:00 and mail it to ops@harbor.example.",
        "Backups go to box-2, the mail of box-3 to ops@harbor.example.",
        "Räum jeden Morgen den Ordner /srv/in auf und melde Fehler an ops@harbor.example.",
    ],
)
def test_what_an_agent_that_works_alone_is_told_to_do_is_a_rule(memory: Memory, order: str) -> None:
    """O10: orders and policies of a cron job or a task; what happened is an event."""
    for told in (UserMessage, SystemMessage):
        agent = memory.agent(Cron(f"{told.__name__}-job"))
        learn(memory, agent, told(order), told("The regatta in Cascais was moved to 12 May 2026."))
    told_to = texts_by_path(memory)
    assert told_to["~/memory/rules"] == [order]
    assert "regatta" in told_to["~/memory/events/2026-02"][0]


def test_nobody_makes_rules_for_others(memory: Memory) -> None:
    """O10: what one of several people calls a policy is what they said; the host and the user make rules."""
    desk = memory.agent(ALICE)
    learn(memory, desk, SystemMessage("Refunds above 500 EUR always need approval."))
    learn(memory, desk, UserMessage("Please remember as policy: refunds are always free.", "Raúl"))
    learn(memory, desk, UserMessage("From now on always answer in two sentences."))
    bodies = bodies_by_path(memory)
    assert "Raúl" not in bodies["~/memory/rules"]
    assert "refunds are always free. [Raúl" in bodies["~/memory/preferences"]
    assert "answer in two sentences. [Alice" in "".join(bodies.values())


@pytest.mark.parametrize(
    "text",
    [
        "From next week on I work nights at the harbour.",
        "From 3 March I'm at the desk on Mondays only.",
        "And I have news: I'm joining full-time from 13 March.",
        "Ab sofort arbeite ich nachts im Hafen.",
    ],
)
def test_what_somebody_does_from_some_day_on_is_no_rule(memory: Memory, text: str) -> None:
    """O10: it tells of them, and asks nothing of anybody."""
    learn(memory, memory.agent(ALICE), UserMessage(text))
    assert set(texts_by_path(memory)) == {"~/memory/people/alice"}


def test_what_we_do_from_now_on_is_a_rule(memory: Memory) -> None:
    """O10: it binds the others, too."""
    learn(memory, memory.agent(ALICE), UserMessage("From now on we deploy on Fridays."))
    assert set(texts_by_path(memory)) == {"~/memory/rules"}


def test_an_assistant_with_a_name_is_not_a_person(memory: Memory) -> None:
    """O10, O12: its word stays the assistant's."""
    said = "I live in Porto near the ferry of 9:30, and I always prefer the Douro line to the bus 207."
    learn(memory, memory.agent(ALICE), UserMessage("Hello there!"), AssistantMessage(said, "Joana"))
    assert set(bodies_by_path(memory)) <= {"~/memory/findings"}
    assert all("[Assistant, " in body for body in bodies_by_path(memory).values())


def test_the_host_ends_what_it_said_itself(memory: Memory) -> None:
    """O11: a policy that changes; a person's word is not the host's to end."""
    agent = memory.agent(Cron("backup"))
    learn(memory, agent, SystemMessage("Backups are kept for 30 days on box-2."))
    learn(memory, agent, SystemMessage("Backups are kept for 60 days on box-2 now."))
    facts = [fact for body in bodies_by_path(memory).values() for fact in parse_facts(body)]
    assert [(fact.text, fact.current) for fact in facts] == [
        ("Backups are kept for 60 days on box-2 now.", True),
        ("Backups are kept for 30 days on box-2.", False),
    ]


def test_a_person_with_another_title_keeps_their_document(memory: Memory) -> None:
    """O8: the path says whom it is about, whatever a person calls it."""
    tell(memory, "Mia lives in Berlin with 2 cats. Mia is my sister.")
    old = memory.documents.read("~/memory/people/mia")
    memory.documents.write(
        document_id=old.id,
        expected_version=old.version,
        slug=old.slug,
        title="Mia Lund",
        description=old.description,
        body=old.body,
    )
    tell(memory, "Mia sold the old van to a baker for 900 euros.")
    assert len(texts_by_path(memory)["~/memory/people/mia"]) == 2


def test_secrets_stay_out_and_the_rest_is_learned(memory: Memory) -> None:
    """S4."""
    key = "AKIA" + "QWERTYUIOPASDFGH"
    tell(
        memory,
        f"I work as a nurse at Santa Maria. My password is tulip-7-Garden. The AWS key is {key}.",
        "My sister Mia lives in Berlin.",
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
    said = UserMessage("I live in Porto.", speaker), UserMessage("I have a dog called Max.", "Mara")
    learn(memory, memory.agent(ALICE), *said)
    told = bodies_by_path(memory)
    assert "Porto" in told[f"~/memory/people/{path}"]
    assert "Max" in told["~/memory/people/mara"]
    if path == "alice":
        assert speaker not in json.dumps(told)
        hits = everything(memory.search("Who lives in Porto?", 10))
        assert {hit.speaker for hit in hits} <= {"", "Alice", "Mara"}


@pytest.mark.parametrize(
    "speaker", ["../../etc", "~", "Ann/Bob", "..", "memory", "¡¡¡", "x" * 200, "Ünal Ö.", "a\tb"]
)
def test_a_name_never_leaves_its_folder(memory: Memory, speaker: str) -> None:
    """S3: whatever a speaker is called."""
    tell(memory, "I live in Porto.", speaker=speaker)
    (path,) = bodies_by_path(memory)
    assert path.startswith("~/memory/people/")
    assert path.count("/") == 3


@pytest.mark.parametrize("speaker", ["Ann, Bob", "[Ann]", "r12", "2026-01-01", "until 2026-01-01"])
def test_whatever_a_speaker_is_called_their_word_is_theirs(memory: Memory, speaker: str) -> None:
    """O11: it is cited again and ended as any other."""
    tell(memory, "I prefer tea over coffee.", "I live in Porto.", speaker=speaker)
    tell(memory, "I prefer tea over coffee.", "I moved to Lisbon.", speaker=speaker)
    facts = [fact for body in bodies_by_path(memory).values() for fact in parse_facts(body)]
    assert sorted((fact.text, len(fact.records), fact.current) for fact in facts) == [
        ("I live in Porto.", 1, False),
        ("I moved to Lisbon.", 1, True),
        ("I prefer tea over coffee.", 2, True),
    ]


# What is known already


def test_a_statement_made_again_is_cited_again(memory: Memory) -> None:
    """O11: not repeated; with every record that said it, so that all of them end with it."""
    ids = [tell(memory, "I live in Porto.")[0] for _ in range(5)]
    told = bodies_by_path(memory)["~/memory/people/mara"]
    assert told == f"I live in Porto. [2026-02-24, {', '.join(f'r{one}' for one in ids)}]"
    tell(memory, "I moved to Lisbon.")
    hits = {hit.record_id: hit for hit in everything(memory.search("Porto", 20)) if hit.kind == "record"}
    assert hits
    assert all(hit.until for record, hit in hits.items() if record in ids)


def test_a_fact_said_too_often_to_cite_ends_with_every_record(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O11: what is left out of the bracket still rests on the fact."""
    for module in ("organize.facts", "recall.ends"):
        monkeypatch.setattr(f"lifelong.{module}.MAX_CITED", 3)
    ids = [tell(memory, "I live in Porto.")[0] for _ in range(6)]
    assert bodies_by_path(memory)["~/memory/people/mara"].count("r") < 6
    tell(memory, "I moved to Lisbon.")
    hits = {hit.record_id: hit for hit in everything(memory.search("Porto", 20)) if hit.kind == "record"}
    assert hits
    assert all(hit.until for record, hit in hits.items() if record in ids)


@pytest.mark.parametrize("known", [True, False])
def test_a_statement_made_again_in_one_talk_is_one_fact(memory: Memory, known: bool) -> None:
    """O11: whether the talk or an earlier one said it first."""
    said = ["I live in Porto."] * 3
    ids = [*tell(memory, said[0]), *tell(memory, *said[1:])] if known else tell(memory, *said)
    cited = ", ".join(f"r{record}" for record in ids)
    assert bodies_by_path(memory) == {"~/memory/people/mara": f"I live in Porto. [2026-02-24, {cited}]"}


@pytest.mark.parametrize("known", [True, False])
def test_a_fact_repeated_and_contradicted_in_one_talk_is_ended(memory: Memory, known: bool) -> None:
    """O11: with every record that said it."""
    said = ["I live in Porto.", "I live in Porto.", "I moved to Lisbon."]
    first, again, new = [*tell(memory, said[0]), *tell(memory, *said[1:])] if known else tell(memory, *said)
    assert paragraphs(bodies_by_path(memory)["~/memory/people/mara"]) == [
        f"I moved to Lisbon. [2026-02-24, r{new}]",
        EARLIER,
        f"I live in Porto. [2026-02-24, r{first}, r{again}, until 2026-02-24 by r{new}]",
    ]


@pytest.mark.parametrize("apart", [True, False])
def test_a_contradicted_fact_is_ended(memory: Memory, apart: bool, clock: FakeClock) -> None:
    """O11: it stays, with the day and the record that ended it."""
    if apart:
        old = tell(memory, "The rent is 940 euros.")[0]
        clock.turn(days=3)
        new = tell(memory, "The rent went up, it's 980 euros now.")[0]
    else:
        old, new = tell(memory, "The rent is 940 euros.", "The rent went up, it's 980 euros now.")
    body = next(body for body in bodies_by_path(memory).values() if "980" in body)
    day = "2026-02-27" if apart else "2026-02-24"
    assert paragraphs(body) == [
        f"The rent went up, it's 980 euros now. [Mara, {day}, r{new}]",
        EARLIER,
        f"The rent is 940 euros. [Mara, 2026-02-24, r{old}, until {day} by r{new}]",
    ]


def test_nobody_ends_what_the_host_said_by_having_its_name(memory: Memory) -> None:
    """O11, O12: a person who is called "Host" is not the host."""
    learn(memory, memory.agent(Cron("logs")), SystemMessage("The retention limit is 30 days for logs."))
    tell(memory, "The retention limit for logs is now 90 days.", speaker="Host")
    facts = [fact for one in memory.documents.walk() for fact in memory.documents.facts(one.id)]
    assert {fact.speaker: fact.current for fact in facts} == {"Host": True, "host": True}


def test_what_else_a_quote_says_stays(memory: Memory) -> None:
    """O11: an allergy that was told in one breath with an address does not end with it."""
    (old,) = tell(memory, "I live in Porto. I'm allergic to nuts. It's bad.")
    (new,) = tell(memory, "I live in Lisbon now.")
    assert paragraphs(bodies_by_path(memory)["~/memory/people/mara"]) == [
        f"I'm allergic to nuts. It's bad. [2026-02-24, r{old}]",
        f"I live in Lisbon now. [2026-02-24, r{new}]",
        EARLIER,
        f"I live in Porto. [2026-02-24, r{old}, until 2026-02-24 by r{new}]",
    ]


def test_a_quote_ends_in_part_although_a_page_says_the_rest(memory: Memory) -> None:
    """O5, O12: what a person said before is theirs, whatever a page says meanwhile."""
    tell(memory, "I live in Porto. I'm allergic to walnuts and hazelnuts.")
    page = ToolResult("I'm allergic to walnuts and hazelnuts.", "fetch", provenance="web")
    learn(memory, memory.agent(ALICE), page, UserMessage("I live in Lisbon now.", "Mara"))
    current = [fact.text for fact in memory.documents.facts("~/memory/people/mara") if fact.current]
    assert current == ["I'm allergic to walnuts and hazelnuts.", "I live in Lisbon now."]


@pytest.mark.parametrize(
    ("older", "newer", "stays"),
    [
        (
            "The rent is 850 euros. The lease ends in May 2027.",
            "The rent is now 900 euros.",
            "The lease ends in May 2027.",
        ),
        (
            "The meeting is at 9:00. Standup is at 9:30 in room 4.",
            "The meeting is now at 10:00.",
            "Standup is at 9:30 in room 4.",
        ),
        ("The meeting is at 9:00. It takes 30 minutes.", "The meeting is now at 10:00.", ""),
    ],
)
def test_what_a_newer_statement_does_not_speak_of_stays(
    memory: Memory, older: str, newer: str, stays: str
) -> None:
    """O11: a date or number of something else does not end with what it was told with."""
    (old,) = tell(memory, older)
    tell(memory, newer)
    facts = [fact for one in memory.documents.walk() for fact in memory.documents.facts(one.id)]
    assert [fact.text for fact in facts if fact.current and old in fact.records] == ([stays] if stays else [])
    assert [fact for fact in facts if not fact.current]


@pytest.mark.parametrize(
    "said", ["I live in Porto. I'm allergic to nuts.", "I'm allergic to nuts. I live in Porto."]
)
def test_what_else_a_late_quote_says_stays(memory: Memory, said: str) -> None:
    """O11: also where the newer one was organized first."""
    first = memory.agent(ALICE)
    memory.append(first, UserMessage(said, "Mara", at=AT - timedelta(days=60)))
    tell(memory, "I moved to Lisbon.", agent=User("cli", "alice", "other"))
    memory.end_session(first)
    memory.organize()
    facts = memory.documents.facts("~/memory/people/mara")
    assert {fact.text: fact.current for fact in facts} == {
        "I moved to Lisbon.": True,
        "I'm allergic to nuts.": True,
        "I live in Porto.": False,
    }


def test_what_is_said_again_does_not_end_itself(memory: Memory) -> None:
    """O11: "not 21" ends what said 21, and no more."""
    tell(memory, "The parcel from Setúbal has 21 boxes.")
    for _ in range(3):
        tell(memory, "The parcel from Setúbal has 12 boxes, not 21.")
    facts = [fact for body in bodies_by_path(memory).values() for fact in parse_facts(body)]
    assert [(fact.text, len(fact.records), fact.current) for fact in facts] == [
        ("The parcel from Setúbal has 12 boxes, not 21.", 3, True),
        ("The parcel from Setúbal has 21 boxes.", 1, False),
    ]


@pytest.mark.parametrize("days_ago", [0, 60, 900])
def test_what_was_said_before_and_organized_late_is_over_already(memory: Memory, days_ago: int) -> None:
    """O11: what counts is when it was said, not when it arrived; it ended when the later one was said."""
    first = memory.agent(ALICE)
    at = AT - timedelta(days=days_ago, seconds=1)
    old = memory.append(first, UserMessage("I live in Porto.", "Mara", at=at))
    new = tell(memory, "I moved to Lisbon.", agent=User("cli", "alice", "other"))[0]
    memory.end_session(first)
    memory.organize()
    assert paragraphs(bodies_by_path(memory)["~/memory/people/mara"]) == [
        f"I moved to Lisbon. [2026-02-24, r{new}]",
        EARLIER,
        f"I live in Porto. [{at:%Y-%m-%d}, r{old}, until 2026-02-24 by r{new}]",
    ]


def test_a_fact_is_as_old_as_it_was_said_last(memory: Memory) -> None:
    """O11: an old repetition that is imported late makes it no older."""
    tell(memory, "I live in Porto.")
    for text, days in (("I live in Porto.", 2_000), ("I moved to Lisbon.", 900)):
        said = UserMessage(text, "Mara", at=AT - timedelta(days=days))
        learn(memory, memory.agent(User("cli", "alice", f"import-{days}")), said)
    current = [fact.text for fact in memory.documents.facts("~/memory/people/mara") if fact.current]
    assert "I live in Porto." in current


def test_one_persons_word_does_not_end_anothers(memory: Memory) -> None:
    """O11: same words, another speaker."""
    tell(memory, "I live in Porto.", "The rent is 940 euros.")
    tell(memory, "I moved to Lisbon.", "The rent is 980 euros now.", speaker="Gus")
    learn(
        memory,
        memory.agent(ALICE),
        AssistantMessage("The rent is 990 euros now, not 940, and Mara moved to Faro in 2025."),
        ToolResult("The rent is 995 euros now, not 940.", "search", provenance="web"),
    )
    facts = [fact for body in bodies_by_path(memory).values() for fact in parse_facts(body)]
    assert all(fact.current for fact in facts)


def test_data_said_again_by_a_person_is_theirs(memory: Memory) -> None:
    """O12, S5: a person's word is filed as theirs beside what a page said, and data never cites it."""
    page = ToolResult("Casa do Fado costs 84 EUR a night.", "search", provenance="web")
    learn(memory, memory.agent(ALICE), page)
    (said,) = tell(memory, "Casa do Fado costs 84 EUR a night.")
    learn(memory, memory.agent(ALICE), page)
    facts = [fact for body in bodies_by_path(memory).values() for fact in parse_facts(body)]
    assert [(fact.speaker, fact.records) for fact in facts if not fact.source] == [("Mara", (said,))]


def test_two_agents_of_a_user_share_documents(memory: Memory) -> None:
    """C0, O11: one tree a user."""
    tell(memory, "I live in Porto.")
    tell(memory, "I live in Porto.", "I have a dog called Max.", agent=User("telegram", "42", "7"))
    facts = memory.documents.facts("~/memory/people/mara")
    assert [(fact.text, len(fact.records)) for fact in facts] == [
        ("I live in Porto.", 2),
        ("I have a dog called Max.", 1),
    ]


def test_users_share_nothing(open_memory: OpenMemory) -> None:
    """C0."""
    mine, work = open_memory(organize={"organizer": "rules"}), open_memory("work", organize={"organizer": "rules"})
    tell(mine, "I live in Porto.")
    tell(work, "I moved to Lisbon.")
    assert bodies_by_path(mine) == {"~/memory/people/mara": "I live in Porto. [2026-02-24, r1]"}
    assert EARLIER not in bodies_by_path(work)["~/memory/people/mara"]


# The same again


TALK = (
    UserMessage("I live in Porto. I prefer tea over coffee.", "Mara"),
    UserMessage("We decided on the flat in Alfama because hotels cost 140 euros.", "Bob"),
    ToolResult("Casa do Fado costs 84 EUR a night.", "search", provenance="web"),
    UserMessage("I moved to Lisbon. My sister Mia lives in Berlin.", "Mara"),
    UserMessage("Project Falcon and Project Heron are old. There are 12 people on Falcon in Oslo.", "Mara"),
    UserMessage("Turns out that yeast needs warm water. I have two cats and a dog called Max.", "Bob"),
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
from lifelong.text.changes import ends
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
    assert "I moved to Lisbon." in now
    assert "I live in Porto." in earlier
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
        after = memory.documents.read("~/memory/people/mara").body
        assert after.rstrip().endswith("I live in Porto. [2026-02-24, r1]")
        assert after.split() == [*body.split(), *"I live in Porto. [2026-02-24, r1]".split()]


@pytest.mark.parametrize("gap", ["\r\n\r\n", "\n \t\n", "\n\n\n"])
def test_however_a_person_sets_facts_apart_they_are_known(memory: Memory, gap: str) -> None:
    """O11: what an editor made of the lines between them keeps none from being cited again, or ended."""
    old = tell(memory, "I live in Porto.", "I have a dog called Max.")
    page = memory.documents.read("~/memory/people/mara")
    parts = [*paragraphs(page.body), "A line of my own.", EARLIER, "lives in Faro. [r1, until 2026-01-01]", ""]
    memory.documents.edit(page.id, page.version, find=page.body, replace=gap.join(parts))
    new, again = tell(memory, "I moved to Lisbon.", "I have a dog called Max.")
    day = "2026-02-24"
    assert paragraphs(memory.documents.read(page.id).body) == [
        f"I have a dog called Max. [{day}, r{old[1]}, r{again}]",
        "A line of my own.",
        f"I moved to Lisbon. [{day}, r{new}]",
        EARLIER,
        "lives in Faro. [r1, until 2026-01-01]",
        f"I live in Porto. [{day}, r{old[0]}, until {day} by r{new}]",
    ]


# Pages


def unrelated_sentences(count: int) -> list[str]:
    """So many sentences that have nothing in common."""
    names = ["".join(letters).title() for letters in product("bdfgklmnprst", "aeiou", "bdfgklmnprst", "aeiou")]
    groups = (names[17 * number : 17 * number + 17] for number in range(count))
    return [f"I met {', '.join(guests)} and we went to {place} by train." for place, *guests in groups]


def test_a_full_document_goes_on_in_pages(memory: Memory, clock: FakeClock) -> None:
    """O11: by month, then numbered; nothing is lost, and none grows without end."""
    said = unrelated_sentences(100)
    tell(memory, *said[:80])
    clock.turn(days=40)
    tell(memory, *said[80:])
    told = {path: body for path, body in bodies_by_path(memory).items() if "/mara" in path}
    pages = sorted(path.removeprefix("~/memory/people/mara") for path in told)
    assert pages[:2] == ["", "/2026-02"]
    assert pages[-1].startswith("/2026-04")
    assert max(map(len, told.values())) < MAX_PAGE_CHARS + 300
    assert sorted(fact.text for body in told.values() for fact in parse_facts(body)) == sorted(said)


def test_many_alike_statements_are_each_compared_with_few(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """O11, S2: a run over statements that share their words takes time in proportion to them."""
    compared: list[str] = []

    def counted(newer: str, older: str) -> bool:
        compared.append(older)
        return ends(newer, older)

    monkeypatch.setattr("lifelong.organize.rules.filing.ends", counted)
    told = [f"The release of Harbor for customer {n} is on day {n} at {n} EUR." for n in range(10, 130)]
    tell(memory, *told)
    assert len(compared) <= 2 * MAX_FOUND * len(told)


def test_another_title_leaves_facts_their_ids_and_pins(memory: Memory) -> None:
    """O11, R11: the fact is the same one, and its speaker is who said it, whatever the title says."""
    tell(memory, "I work as a nurse at Santa Maria.")
    (before,) = memory.list("fact")
    memory.pin(before.id)
    document = memory.documents.read("~/memory/people/mara")
    memory.documents.write(
        document_id=document.id,
        expected_version=document.version,
        slug=document.slug,
        title="Mara Jones",
        body=f"{document.body}\n\nsings in a choir. [r1]",
    )
    after = {hit.text: hit for hit in memory.list("fact")}[before.text]
    assert (after.id, after.pinned, after.speaker) == (before.id, True, "Mara")


def test_what_stands_on_a_page_is_still_known(memory: Memory) -> None:
    """O11: cited again and ended where it stands, whatever the page; its title is the first page's."""
    filler = "\n\n".join(f"Remark number {number} of a person." for number in range(200))
    own(memory, filler)
    old = tell(memory, "I live in Porto.")[0]
    page = memory.documents.read("~/memory/people/mara/2026-02")
    assert (page.title, page.body) == ("Mara", f"I live in Porto. [2026-02-24, r{old}]")
    again = tell(memory, "I live in Porto.")[0]
    new = tell(memory, "I moved to Lisbon.")[0]
    assert paragraphs(memory.documents.read(page.id).body) == [
        f"I moved to Lisbon. [2026-02-24, r{new}]",
        EARLIER,
        f"I live in Porto. [2026-02-24, r{old}, r{again}, until 2026-02-24 by r{new}]",
    ]
    assert memory.documents.read("~/memory/people/mara").body == filler


def test_an_acknowledgement_is_no_finding_and_a_reminder_no_rule(memory: Memory) -> None:
    """O10: what only repeats the person, or says nothing after "noted", goes; what the assistant adds stays."""
    agent = memory.agent(ALICE)
    learn(
        memory,
        agent,
        UserMessage("Don't forget: dentist on Tuesday at 3."),
        AssistantMessage("Got it! Dentist on Tuesday at 3."),
        UserMessage("I'm allergic to nuts. Never push to main."),
        AssistantMessage("Noted, no nuts. The data sheet of the Heron pump asks for 4 bar of pressure."),
    )
    facts = {hit.text: hit for hit in memory.list("fact")}
    assert [hit.text for hit in facts.values() if hit.trust == "agent"] == [
        "The data sheet of the Heron pump asks for 4 bar of pressure."
    ]
    rules = [text for text, hit in facts.items() if hit.path == "~/memory/rules"]
    assert not any("dentist" in text for text in rules)
    assert any("dentist" in text for text in facts)
