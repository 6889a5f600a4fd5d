"""Looking after what is remembered: list, correct, pin, feedback."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from lifelong import Agent, Memory, System, User, UserMessage
from lifelong.collect.recorder import Recorder
from lifelong.errors import (
    ConfigError,
    DocumentNotFound,
    InputError,
    ItemNotFound,
    LifelongError,
    RecallNotFound,
    StaleWrite,
)
from lifelong.organize.changesets import commit
from lifelong.organize.documents import DocumentStore
from lifelong.recall.experience_rows import ExperienceRows
from lifelong.recall.items import Items
from lifelong.storage.base import Database
from lifelong.testing import FakeClock
from lifelong.types import Changeset, Document, Hit, Item, ItemKind
from tests.conftest import OpenMemory, everything

PORTO = "I live in Porto, near the river."
LISBON = "Mara lives in Lisbon, near the sea."


@pytest.fixture
def mara(memory: Memory) -> Agent:
    return memory.agent(User("cli", "mara", "main"))


def say(memory: Memory, agent: Agent, *texts: str, speaker: str = "Mara") -> list[str]:
    return [f"r{memory.append(agent, UserMessage(text, speaker=speaker))}" for text in texts]


def write(memory: Memory, slug: str, body: str, **content: Any) -> Document:
    if not memory.documents.find("~/memory/people"):
        memory.documents.write(slug="people", title="People", description="", body="", parent_path="~/memory")
    content = {"title": slug.title(), "description": "", "parent_path": "~/memory/people", **content}
    return memory.documents.write(slug=slug, body=body, **content)


def item(memory: Memory, kind: ItemKind, text: str) -> Hit:
    return next(hit for hit in memory.list(kind) if text in hit.text)


def remade(memory: Memory, open_memory: OpenMemory) -> Memory:
    """The memory with an index made anew."""
    memory.admin.rebuild()
    memory.organize()
    memory.close()
    again = open_memory()
    again.organize()
    return again


def texts(hits: list[Hit]) -> list[str]:
    return [hit.text for hit in hits]


def experience(database: Database, clock: FakeClock, id_: str, text: str, owner: str = "default") -> str:
    """What the store of experiences does."""

    def work(tx: Any) -> None:
        tx.run(
            "INSERT INTO experiences VALUES (?, ?, ?, 'learned', '', '', 'user', 0, '[]', 0, 0)",
            *(owner, id_, text),
        )
        Items(tx, owner).put([Item("experience", id_, text, clock.now, trust="user")], clock.now)

    database.write(work)
    return id_


# List


def test_everything_is_listed_newest_first_and_in_pages(memory: Memory, mara: Agent) -> None:
    """R11."""
    said = say(memory, mara, "one thing", "two things", "three things")
    write(memory, "mara", "likes tea. [r1]")
    assert texts(memory.list()) == ["Mara likes tea.", "three things", "two things", "one thing"]
    first = memory.list("record", limit=2)
    assert [hit.id for hit in first] == said[:0:-1]
    assert [hit.id for hit in memory.list("record", limit=2, before=first[-1].id)] == said[:1]
    assert memory.list(before=said[0]) == []


def test_a_list_keeps_its_order_when_the_index_is_made_anew(
    memory: Memory, mara: Agent, clock: FakeClock, open_memory: OpenMemory
) -> None:
    """R11: also in pages, of a subject too, and where the last hit of a page was hidden since."""
    memory.notes.worker("researcher").store("sea", "The sea is rough in March.")
    memory.organize()
    clock.turn(days=9_000)  # a note has the time of its file
    say(memory, mara, "It is deep.")
    document = write(memory, "sea", "The sea is deep.")
    clock.turn(days=1)
    say(memory, mara, "The sea is calm in June.")
    expected = ["The sea is calm in June.", "The sea is deep.", "The sea is rough in March."]
    memory = remade(memory, open_memory)
    assert texts(memory.list(subject="sea")) == expected
    page = memory.list(subject="sea", limit=2)
    memory.documents.delete(document.id, 1)
    assert texts(memory.list(subject="sea", before=page[-1].id)) == expected[2:]
    assert texts(memory.list(before=page[-1].id)) == ["It is deep.", *expected[2:]]


def test_a_list_comes_from_an_index(database: Database) -> None:
    """R11: no page costs more than it shows."""
    if database.read(lambda tx: tx.for_update):
        pytest.skip("a planner that looks at statistics")
    which = "SELECT id FROM items WHERE owner = 'a' AND (at, id) < (9, 9) ORDER BY at DESC, id DESC LIMIT 9"
    plan = str(database.read(lambda tx: tx.all(f"EXPLAIN QUERY PLAN {which}")))
    assert "idx_items_at" in plan
    assert "TEMP B-TREE" not in plan


@pytest.mark.parametrize("count", [0, -1, True, 10**30, "3", 1.5])
def test_a_wrong_count_is_told_with_what_can_be_asked_for(memory: Memory, count: Any) -> None:
    """R11, R1."""
    for call in (
        lambda: memory.list(limit=count),
        lambda: memory.search("Where?", count),
        lambda: memory.admin.recall_log(count or -1),
        lambda: memory.inbox.list(limit=count or -1),
        lambda: memory.relations.of("Mara", count),
    ):
        with pytest.raises(InputError, match=r"Ask for [01] to [\d,]+\.$"):
            call()


def test_a_list_can_begin_at_a_time(memory: Memory, mara: Agent, clock: FakeClock) -> None:
    """R11."""
    say(memory, mara, "an old thing")
    clock.turn(days=2)
    say(memory, mara, "a new thing")
    since = clock.now - timedelta(days=1)
    assert texts(memory.list(since=since)) == ["a new thing"]
    assert texts(memory.list(subject="thing", since=since)) == ["a new thing"]


def test_a_subject_is_who_speaks_whom_it_is_about_or_what_it_names(memory: Memory, mara: Agent) -> None:
    """R11: what they said, what their document says, and what has all the words."""
    said = say(memory, mara, "The sea is rough in March.")
    say(memory, mara, "Boats are dear.", speaker="Tom")
    named = say(memory, mara, "Ask mara about the boat.", speaker="Tom")
    write(memory, "mara", "The river floods each spring. [r1]")
    ids = [hit.id for hit in memory.list(subject="Mara")]
    assert ids[1:] == [*named, *said]
    assert ids[0] == item(memory, "fact", "river").id
    assert texts(memory.list(subject="tom")) == ["Ask mara about the boat.", "Boats are dear."]
    assert texts(memory.list(subject="boats, dear")) == ["Boats are dear."]
    assert texts(memory.list("fact", subject="MARA")) == ["The river floods each spring."]
    assert texts(memory.list(subject="mara", limit=1, before=named[0])) == ["The sea is rough in March."]
    assert memory.list(subject="the of and") == []


def test_a_name_that_is_a_small_word_of_another_language_is_a_subject(memory: Memory, mara: Agent) -> None:
    """R11: "ella" is Spanish for "she", and Elle is French."""
    say(memory, mara, "My daughter Ella plays the flute.")
    say(memory, mara, "Elle comes to dinner on Friday.")
    assert texts(memory.list(subject="Ella")) == ["My daughter Ella plays the flute."]
    assert texts(memory.list(subject="Elle")) == ["Elle comes to dinner on Friday."]
    assert [hit.text for hit in memory.search("Ella", top_k=1)] == ["My daughter Ella plays the flute."]


def test_a_list_shows_no_secret_and_nothing_of_others(
    memory: Memory, mara: Agent, open_memory: OpenMemory
) -> None:
    """R11, S4, C0."""
    say(memory, mara, "My password is hunter2-Xy77!k, keep it.")
    (hit,) = memory.list()
    assert "hunter2" not in hit.text
    other = open_memory("other")
    assert other.list() == other.list(subject="Mara") == []
    for call in (other.pin, other.unpin, lambda id_: other.list(before=id_), lambda id_: other.correct(id_, "x")):
        with pytest.raises(ItemNotFound, match="Nothing remembered has the id"):
            call(hit.id)


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ({"kind": "turns"}, "Use one of: record, fact"),
        ({"limit": 0}, "Ask for 1 to"),
        ({"limit": 10**6}, "Ask for 1 to"),
        ({"subject": " "}, "must not be empty"),
        ({"since": "May"}, "datetime with a time zone"),
        ({"before": "r999"}, "Ids look like r12"),
    ],
)
def test_a_wrong_list_says_what_to_do(memory: Memory, arguments: dict[str, Any], advice: str) -> None:
    """R11."""
    with pytest.raises(LifelongError) as raised:
        memory.list(**arguments)
    assert advice in str(raised.value)


# Correct


def test_a_corrected_fact_stands_among_the_earlier_ones(memory: Memory, mara: Agent) -> None:
    """R11, O11: with the day it ended and the record of the person's word, which the new fact cites."""
    said, _ = say(memory, mara, PORTO, "I like tea.")
    document = write(memory, "mara", "lives in Porto, near the river. [r1]\n\nlikes tea. [r2]")
    old = item(memory, "fact", "Porto")
    new = memory.correct(old.id, LISBON)
    assert memory.documents.read(document.id).body == (
        "Mara lives in Lisbon, near the sea. [2026-02-24, r3]\n\nlikes tea. [r2]\n\n## Earlier\n\n"
        "lives in Porto, near the river. [r1, until 2026-02-24 by r3]"
    )
    assert (new.text, new.trust, new.record_id, new.until) == (LISBON, "user", 3, None)
    hits = {hit.id: hit for hit in everything(memory.search("Where does Mara live?", 10))}
    best = next(one for one in hits if one in (new.id, "r3"))
    for ended in (old.id, said):
        assert hits[ended].until is not None
        assert list(hits).index(ended) > list(hits).index(best)


@pytest.mark.parametrize(
    ("told", "fact"),
    [
        ("I\u2019m in Lisbon, off I-95.", "I\u2019m in Lisbon, off I-95. [2026-02-24, r2]"),
        ("# 5 Rua Nova is mine.", "\\# 5 Rua Nova is mine. [2026-02-24, r2]"),
        ("Mara lives in Lisbon.", "Mara lives in Lisbon. [2026-02-24, r2]"),
        ("lives in Lisbon.", "lives in Lisbon. [2026-02-24, r2]"),
    ],
)
def test_a_correction_is_quoted(memory: Memory, mara: Agent, told: str, fact: str) -> None:
    """R11, O8: word for word."""
    say(memory, mara, PORTO)
    document = write(memory, "mara", "lives in Porto. [r1]")
    memory.correct(item(memory, "fact", "Porto").id, told)
    assert memory.documents.read(document.id).body.startswith(f"{fact}\n")


def test_a_correction_is_a_record_of_the_persons(memory: Memory, mara: Agent) -> None:
    """R11: history says who said it."""
    say(memory, mara, PORTO)
    memory.correct("r1", LISBON)
    (recorded,) = memory.sessions.history(memory.agent(System("corrections")))
    assert (recorded.record.type, recorded.record.provenance) == ("note", "user")
    assert memory.sessions.transcript(memory.agent(System("corrections"))).count(LISBON) == 1


def test_a_correction_can_be_rolled_back(memory: Memory, mara: Agent) -> None:
    """R11, O21."""
    say(memory, mara, PORTO)
    document = write(memory, "mara", "lives in Porto, near the river. [r1]")
    old = item(memory, "fact", "Porto")
    memory.correct(old.id, LISBON)
    changeset = memory.documents.changesets(1)[0]
    assert (changeset.author, changeset.note) == ("person", f"Corrects {old.id}.")
    memory.documents.rollback(changeset.id)
    assert memory.documents.read(document.id).body == document.body
    assert item(memory, "fact", "Porto").until is None
    assert item(memory, "record", "Porto").until is None


def test_a_second_correction_joins_the_earlier_ones(memory: Memory, mara: Agent) -> None:
    """R11: also of a text that is no sentence about the title, and of many lines."""
    say(memory, mara, PORTO)
    document = write(memory, "mara", "lives in Porto. [r1]")
    first = memory.correct(item(memory, "fact", "Porto").id, "# She lives\n\nin Faro. [r1]")
    assert first.text == "# She lives in Faro. [r1]"
    memory.correct(first.id, LISBON)
    assert memory.documents.read(document.id).body == (
        "Mara lives in Lisbon, near the sea. [2026-02-24, r3]\n\n## Earlier\n\n"
        "lives in Porto. [r1, until 2026-02-24 by r2]\n\n"
        "\\# She lives in Faro. [r1] [2026-02-24, r2, until 2026-02-24 by r3]"
    )


def test_a_persons_own_text_is_replaced(memory: Memory) -> None:
    """R11: it cites nothing that could end; the version before has it."""
    document = write(memory, "mara", "Collects stamps.")
    memory.correct(item(memory, "fact", "stamps").id, "Collects coins.")
    assert memory.documents.read(document.id).body == "Collects coins. [2026-02-24, r1]"
    assert texts(memory.list("fact")) == ["Collects coins."]


def test_a_correction_survives_others_that_write(
    memory: Memory, mara: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R11, O18: a stale write is tried again on what is there; in the end it is told, and nothing is lost."""
    say(memory, mara, PORTO)
    document = write(memory, "mara", "lives in Porto. [r1]")
    real, others = DocumentStore.write, iter(["likes tea. [r1]", "likes rain. [r1]"])

    def beaten(self: DocumentStore, **content: Any) -> Document:
        if more := next(others, None):
            self.edit(document.id, self.read(document.id).version, append=more)
        return real(self, **content)

    old = item(memory, "fact", "Porto")
    monkeypatch.setattr(DocumentStore, "write", beaten)
    memory.correct(old.id, LISBON)
    body = memory.documents.read(document.id).body
    assert body.startswith(
        "Mara lives in Lisbon, near the sea. [2026-02-24, r2]\n\nlikes tea. [r1]\n\nlikes rain. [r1]\n\n## Earlier"
    )

    others = (f"saw film {number}. [r1]" for number in range(99))
    with pytest.raises(StaleWrite, match="changed since it was read"):
        memory.correct(item(memory, "fact", "Lisbon").id, "Mara lives in Faro.")
    assert item(memory, "record", "Faro").trust == "user"


def test_a_corrected_turn_ends_and_is_found_below_the_correction(
    memory: Memory, mara: Agent, open_memory: OpenMemory
) -> None:
    """R11: whatever is learned from it later, and when the index is made anew."""
    (old,) = say(memory, mara, PORTO)
    new = memory.correct(old, "I live in Lisbon, near the sea.")
    assert (new.kind, new.trust) == ("record", "user")

    def check(memory: Memory) -> None:
        hits = {hit.id: hit for hit in everything(memory.search("Where do I live?", 10))}
        assert hits[old].until is not None
        assert hits[new.id].until is None
        assert list(hits).index(new.id) < list(hits).index(old)

    check(memory)
    write(memory, "mara", "lives in Porto, near the river. [r1]")
    check(memory)
    check(remade(memory, open_memory))


def test_the_facts_that_rest_on_a_corrected_turn_alone_end_with_it(memory: Memory, mara: Agent) -> None:
    """R11, O11: what another record says too, holds."""
    say(memory, mara, "I live in Porto and have a cat.", "My cat is black.")
    document = write(memory, "mara", "lives in Porto. [r1]\n\nhas a cat. [r1, r2]\n\nhas a black cat. [r2]")
    new = memory.correct("r1", "Mara lives in Lisbon and has a cat.")
    assert memory.documents.read(document.id).body == (
        "has a cat. [r1, r2]\n\nhas a black cat. [r2]\n\n## Earlier\n\n"
        "lives in Porto. [r1, until 2026-02-24 by r3]"
    )
    hits = [hit.id for hit in everything(memory.search("Where does Mara live?", 10))]
    assert hits.index(new.id) < hits.index(item(memory, "fact", "Porto").id)
    memory.documents.rollback(memory.documents.changesets(1)[0].id)
    assert item(memory, "record", "Porto").until is not None, "the person's word stands"


def test_a_corrected_experience_ends(memory: Memory, database: Database, clock: FakeClock) -> None:
    """R11, R5: and is not among those that hold."""
    old = experience(database, clock, "e1", "The harbour closes at nine.")
    new = memory.correct(old, "The harbour closes at ten.")
    hits = memory.search("When does the harbour close?")
    assert [hit.id for hit in hits][:2] == [new.id, old]
    assert hits[1].until == clock.now
    assert database.read(lambda tx: ExperienceRows(tx, "default").newest("", "", None, 9)) == []


def test_a_corrected_line_of_the_journal_ends_and_another_is_learned(
    open_memory: OpenMemory, clock: FakeClock
) -> None:
    """R11, O22."""
    memory = open_memory(continuity={"journal_enabled": True})
    memory.journal.remember("The harbour closes at nine.", "note")
    memory.organize()
    old = item(memory, "journal", "nine")
    memory.correct(old.id, "The harbour closes at ten.")
    learned = memory.journal.records()[-1]
    assert (learned.text, learned.category) == ("The harbour closes at ten.", "learned")
    memory.organize()
    assert item(memory, "journal", "nine").until == clock.now
    assert "ten" in memory.search("When does the harbour close?")[0].text
    memory.close()
    off = open_memory()
    known = item(off, "journal", "ten")
    with pytest.raises(ConfigError, match="The journal is off"):
        off.correct(known.id, "It closes at eleven.")
    assert not [hit for hit in off.list() if "eleven" in hit.text], "nothing was changed"


@pytest.mark.parametrize("kind", ["record", "journal", "experience"])
def test_a_correction_of_a_line_can_be_corrected_wherever_it_stands(
    open_memory: OpenMemory, kind: ItemKind
) -> None:
    """R11, R5: a person's word, its line of the journal and the experience made of that end together."""
    memory = open_memory(continuity={"journal_enabled": True, "experience_store_enabled": True})
    ada = memory.agent(User("cli", "ada", "main"))
    memory.journal.remember("The harbour closes at nine in summer.", "learned")
    memory.organize()
    memory.correct(item(memory, "journal", "at nine").id, "The harbour closes at ten in summer.")
    memory.experiences.extract()
    memory.organize()
    memory.correct(item(memory, kind, "at ten").id, "The harbour closes at eleven in summer.")
    memory.experiences.extract()
    memory.organize()
    wrong = [hit for hit in memory.list() if "at ten" in hit.text]
    assert {hit.kind for hit in wrong} == {"record", "journal", "experience"}
    assert all(hit.until for hit in wrong)
    assert "at ten" not in memory.context("When does the harbour close?", agent=ada)
    assert "at eleven" in memory.search("When does the harbour close?")[0].text


@pytest.mark.parametrize("kind", ["journal", "experience"])
@pytest.mark.parametrize("outdated", [False, True])
def test_a_line_of_the_journal_and_its_experience_end_together(
    open_memory: OpenMemory, kind: ItemKind, outdated: bool
) -> None:
    """R11, R5: no context tells what was wrong, and no extraction learns it again."""
    memory = open_memory(continuity={"journal_enabled": True, "experience_store_enabled": True})
    ada = memory.agent(User("cli", "ada", "main"))
    memory.journal.remember("The harbour closes at nine in summer.", "learned")
    memory.experiences.extract()
    memory.organize()
    assert "at nine" in memory.journal.context()
    old = item(memory, kind, "at nine").id
    if outdated:
        memory.feedback(old, "outdated")
    else:
        memory.correct(old, "The harbour closes at ten in summer.")
    memory.experiences.extract()
    memory.organize()
    assert all(hit.until for hit in memory.list() if "at nine" in hit.text)
    assert "at nine" not in memory.journal.context()
    assert "at nine" not in memory.context("When does the harbour close?", agent=ada)
    assert not [one for one in memory.experiences.list() if "at nine" in one.text]


@pytest.mark.parametrize("kind", ["record", "journal", "experience"])
@pytest.mark.parametrize("is_summed_up", [True, False])
def test_a_turn_ends_with_what_sums_it_up(
    open_memory: OpenMemory, clock: FakeClock, kind: ItemKind, is_summed_up: bool
) -> None:
    """R11, R2: they are one hit, so whichever of them was shown and corrected: also where the line is written
    later, and where the index is made anew."""
    memory = open_memory(continuity={"journal_enabled": True, "experience_store_enabled": True})
    ada = memory.agent(User("cli", "ada", "main"))
    memory.end_turn(ada)
    record = memory.append(ada, UserMessage("The harbour of Porto closes at nine in summer."))
    document = write(memory, "harbour", f"The harbour of Porto closes at nine. [r{record}]")
    if is_summed_up or kind != "record":
        memory.end_turn(ada)
        memory.experiences.extract()
        memory.organize()
    memory.correct(item(memory, kind, "at nine").id, "The harbour of Porto closes at ten in summer.")
    memory.end_turn(ada)
    memory.experiences.extract()
    memory.organize()
    assert "until" in memory.documents.read(document.id).body
    for _ in range(2):
        old = [hit for hit in memory.list() if "at nine" in hit.text]
        assert {"record", "journal"} <= {hit.kind for hit in old}
        assert all(hit.until for hit in old)
        assert "at nine" not in memory.journal.context()
        memory.admin.rebuild()
        memory.organize()


def test_a_corrected_line_never_becomes_an_experience(open_memory: OpenMemory) -> None:
    """R11, R5: also where the extraction comes later."""
    memory = open_memory(continuity={"journal_enabled": True, "experience_store_enabled": True})
    memory.journal.remember("The harbour closes at nine in summer.", "learned")
    memory.organize()
    memory.correct(item(memory, "journal", "at nine").id, "The harbour closes at ten in summer.")
    memory.experiences.extract()
    assert [one.text for one in memory.experiences.list()] == ["The harbour closes at ten in summer."]


@pytest.mark.parametrize("handed_over", [False, True])
def test_nothing_is_learned_from_a_corrected_turn_but_from_the_correction(
    memory: Memory, mara: Agent, handed_over: bool
) -> None:
    """R11, O11: also where it was on its way to the memory-agent already."""
    (old,) = say(memory, mara, "I live in Porto.")
    memory.sessions.reset(mara)
    if handed_over:
        shared = memory._parts.shared
        shared.dispatcher.run(shared.clock())
    memory.correct(old, LISBON)
    memory.sessions.reset(memory.agent(System("corrections")))
    memory.organize()
    known = texts(memory.list("fact"))
    assert not [text for text in known if "Porto" in text]
    assert [text for text in known if "Lisbon" in text]


def organized(memory: Memory, *agents: Agent) -> dict[str, str]:
    """What documents say when all of it was learned, by their paths."""
    for agent in (*agents, memory.agent(System("corrections"))):
        memory.sessions.reset(agent)
    memory.organize()
    return {one.path.removeprefix("~/memory/"): one.body for one in memory.documents.walk() if one.body}


@pytest.mark.parametrize(
    "told",
    ["I live in Lisbon, near the sea.", "Actually, Mara lives in Lisbon. She moved there in May 2025, I think."],
)
def test_a_corrected_fact_is_learned_where_it_stands_and_nowhere_else(
    memory: Memory, mara: Agent, open_memory: OpenMemory, told: str
) -> None:
    """R11, O11: the person's word is not filed once more by the memory-agent; a rollback takes it back."""
    say(memory, mara, PORTO)
    organized(memory, mara)
    old = item(memory, "fact", "Porto")
    new = memory.correct(old.id, told)
    assert (new.path, new.trust) == ("~/memory/people/mara", "user")
    by = f"r{new.record_id}"
    ended = f"{PORTO} [2026-02-24, r1, until 2026-02-24 by {by}]"
    assert organized(memory) == {"people/mara": f"{told} [2026-02-24, {by}]\n\n## Earlier\n\n{ended}"}
    memory.documents.rollback(memory.documents.changesets(1)[0].id)
    memory = remade(memory, open_memory)
    assert item(memory, "fact", "Porto").until is None


@pytest.mark.parametrize("speaker", ["Mara", ""])
@pytest.mark.parametrize("kind", ["record", "journal", "experience"])
def test_a_correction_is_learned_as_the_word_of_whom_it_corrects(
    open_memory: OpenMemory, kind: ItemKind, speaker: str
) -> None:
    """R11, O11: of who said it, or of the person whom the agent talks to."""
    memory = open_memory(continuity={"journal_enabled": True, "experience_store_enabled": True})
    mara = memory.agent(User("cli", "mara", "main"))
    say(memory, mara, "My favourite tea is jasmine.", speaker=speaker)
    organized(memory, mara)
    memory.experiences.extract()
    memory.organize()
    memory.correct(item(memory, kind, "jasmine").id, "My favourite tea is oolong.")
    found = organized(memory)
    assert found.keys() == {"preferences"}
    assert found["preferences"].startswith("My favourite tea is oolong. [Mara, ")
    assert "User" not in found["preferences"]


@pytest.mark.parametrize("kind", ["journal", "experience"])
def test_with_a_line_end_the_facts_that_it_tells(open_memory: OpenMemory, kind: ItemKind) -> None:
    """R11, O11: what else was said in the turn that it sums up holds."""
    memory = open_memory(continuity={"journal_enabled": True, "experience_store_enabled": True})
    mara = memory.agent(User("cli", "mara", "main"))
    say(memory, mara, PORTO, "My sister Ines works as a nurse in Faro.")
    organized(memory, mara)
    memory.experiences.extract()
    memory.organize()
    new = memory.correct(item(memory, kind, "Porto").id, "I live in Lisbon, near the sea.")
    told = organized(memory)
    assert f"{PORTO} [2026-02-24, r1, until 2026-02-24 by r{new.record_id}]" in told["people/mara"]
    assert "My sister Ines works as a nurse in Faro. [2026-02-24, r2]" in told["people/mara"]


def test_a_correction_of_nobodys_word_is_the_users(open_memory: OpenMemory) -> None:
    """R11: where nobody can tell whose it is."""
    memory = open_memory(continuity={"journal_enabled": True})
    memory.journal.remember("The user lives in Porto.", "note")
    memory.organize()
    memory.correct(item(memory, "journal", "Porto").id, "I live in Lisbon, near the sea.")
    assert organized(memory)["people/user"].startswith("I live in Lisbon, near the sea. [")


def test_a_page_whose_title_is_no_name_is_corrected(memory: Memory) -> None:
    """R11: it is longer than a speaker's name may be."""
    document = write(memory, "mara", "lives in Porto. [r1]", title="Mara " * 60)
    memory.correct(item(memory, "fact", "Porto").id, "Somebody lives in Lisbon.")
    assert memory.documents.read(document.id).body.startswith("Somebody lives in Lisbon. [2026-02-24, r1]")


def test_a_note_is_corrected_in_its_file(memory: Memory) -> None:
    """R11, O31."""
    memory.notes.worker("researcher").store("sea", "Rough in March.")
    memory.organize()
    note = item(memory, "note", "Rough")
    with pytest.raises(InputError, match=r"edit \S*researcher\S*sea\.md in the user's folder"):
        memory.correct(note.id, "Calm in March.")


@pytest.mark.parametrize(
    ("id_", "text", "advice"),
    [
        ("r1", " \n", "The correction is empty"),
        ("r1", PORTO, "says that already"),
        ("r9", "x", "Ids look like r12"),
        ("Porto", "x", "search and list give one with every hit"),
        ("", "x", "must not be empty"),
        ("r1", "x" * 30_000, "the limit is 20,000"),
    ],
)
def test_a_wrong_correction_changes_nothing(memory: Memory, mara: Agent, id_: str, text: str, advice: str) -> None:
    """R11."""
    say(memory, mara, PORTO)
    with pytest.raises(LifelongError) as raised:
        memory.correct(id_, text)
    assert advice in str(raised.value)
    assert texts(memory.list()) == [PORTO]


def test_what_has_ended_is_not_corrected_again(memory: Memory, mara: Agent) -> None:
    """R11."""
    say(memory, mara, PORTO)
    memory.correct("r1", LISBON)
    with pytest.raises(InputError, match=r"r1 ended on 2026-02-24, replaced by r2\. Correct r2 instead\."):
        memory.correct("r1", "Mara lives in Faro.")
    assert len(memory.list()) == 2


def test_a_correction_that_was_cut_short_is_made_again(
    memory: Memory, mara: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R11, C10: the person's word is a record first; the same call then ends what it began, with no second one."""
    say(memory, mara, PORTO)
    with monkeypatch.context() as patch:
        patch.setattr("lifelong.recall.feedback.FeedbackRows.correct", _killed)
        with pytest.raises(KeyboardInterrupt):
            memory.correct("r1", LISBON)
    assert texts(memory.list()) == [LISBON, PORTO]
    memory.correct("r1", LISBON)
    assert texts(memory.list()) == [LISBON, PORTO]
    assert item(memory, "record", "Porto").until is not None


@pytest.mark.parametrize(
    "step", ["feedback.FeedbackRows.correct", "curation.Curation._end_facts_of", "curation.Curation._repin"]
)
@pytest.mark.parametrize("kind", ["record", "fact", "journal"])
def test_a_correction_that_was_cut_short_anywhere_is_made_again(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch, step: str, kind: ItemKind
) -> None:
    """R11, C10: facts, pins and lines of the journal, each once."""
    memory = open_memory(continuity={"journal_enabled": True})
    say(memory, memory.agent(User("cli", "mara", "main")), "Mara lives in Porto.")
    document = write(memory, "mara", "lives in Porto. [r1]")
    memory.journal.remember("Mara lives in Porto.", "note")
    memory.organize()
    old = item(memory, kind, "Porto").id
    memory.pin(old)
    with monkeypatch.context() as patch:
        patch.setattr(f"lifelong.recall.{step}", _killed)
        with contextlib.suppress(KeyboardInterrupt):
            memory.correct(old, LISBON)
    new = memory.correct(old, LISBON)
    memory.organize()
    assert [hit.id for hit in memory.list() if hit.pinned] == [new.id]
    assert item(memory, kind, "Porto").until is not None
    assert texts(memory.list("record")) == [LISBON, "Mara lives in Porto."]
    told = [record.text for record in memory.journal.records()]
    assert told == ["Mara lives in Porto.", *([LISBON] if kind == "journal" else [])]
    if kind != "journal":
        assert memory.documents.read(document.id).body.endswith("lives in Porto. [r1, until 2026-02-24 by r2]")


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


# Pin


def test_a_pin_lasts_until_it_is_taken_off(memory: Memory, mara: Agent, open_memory: OpenMemory) -> None:
    """R11: also when the index is made anew."""
    old, _ = say(memory, mara, PORTO, "I like tea.")
    memory.pin(old)
    memory.pin(old)
    memory = remade(memory, open_memory)
    assert [hit.id for hit in memory.list() if hit.pinned] == [old]
    memory.unpin(old)
    memory.unpin(old)
    assert [hit for hit in memory.list() if hit.pinned] == []
    memory = remade(memory, open_memory)
    assert [hit for hit in memory.list() if hit.pinned] == []


def test_a_pin_goes_over_to_the_correction(memory: Memory, mara: Agent) -> None:
    """R11: what is always told must not be what was wrong."""
    (old,) = say(memory, mara, PORTO)
    memory.pin(old)
    new = memory.correct(old, LISBON)
    assert new.pinned
    assert [hit.id for hit in memory.list() if hit.pinned] == [new.id]


def test_pins_of_files_and_documents_survive_a_rebuild(
    memory: Memory, mara: Agent, open_memory: OpenMemory
) -> None:
    """R11."""
    memory.notes.worker("researcher").store("sea", "Rough in March.")
    write(memory, "mara", "Collects stamps.")
    say(memory, mara, PORTO)
    memory.organize()
    pinned = {item(memory, "note", "Rough").id, item(memory, "fact", "stamps").id}
    for id_ in pinned:
        memory.pin(id_)
    memory = remade(memory, open_memory)
    assert {hit.id for hit in memory.list() if hit.pinned} == pinned


@pytest.mark.parametrize("id_", ["r7", "f00000000", "turn:7", "d1", "r", "f", "nothing"])
def test_only_what_is_there_can_be_pinned(memory: Memory, id_: str) -> None:
    """R11."""
    for call in (memory.pin, memory.unpin):
        with pytest.raises(ItemNotFound, match="Ids look like r12, f7 or j3a91c07b"):
            call(id_)


# Ids


def test_every_verb_takes_an_id_that_can_be_typed(
    memory: Memory, mara: Agent, database: Database, clock: FakeClock
) -> None:
    """R11: a number for records and facts, eight digits for the rest; less of these will do, and capitals."""
    say(memory, mara, PORTO)
    write(memory, "mara", "lives in Porto. [r1]")
    experience(database, clock, f"e{'0' * 23}", "The harbour closes at nine.")
    memory.notes.worker("researcher").store("sea", "Rough in March.")
    memory.organize()
    ids = {hit.kind: hit.id for hit in memory.list()}
    assert ids["record"] == "r1"
    assert ids["fact"] == "f1"
    assert re.fullmatch(r"n[0-9a-f]{8}", ids["note"])
    assert ids["experience"] == "e00000000"
    for id_ in ids.values():
        memory.pin(f" {id_.upper()}")
        memory.feedback(id_[:9], "useful")
        assert id_ in [hit.id for hit in memory.list() if hit.pinned]
        memory.unpin(id_)
    assert not [hit for hit in memory.list() if hit.pinned]
    assert memory.list(before=ids["note"][:4]) == memory.list(before=ids["note"])
    assert memory.receipt("R1").stage == memory.receipt("r1").stage == memory.receipt(1).stage
    assert memory.receipt("1") == memory.receipt(1)
    assert memory.correct(ids["fact"].upper(), LISBON).id[0] == "f"


def test_ids_that_begin_alike_are_shown_longer_and_told_apart(
    memory: Memory, mara: Agent, database: Database, clock: FakeClock, open_memory: OpenMemory
) -> None:
    """R11."""
    first, second = f"e{'ab' * 4}00{'0' * 13}", f"e{'ab' * 4}01{'0' * 13}"
    experience(database, clock, first, "The harbour closes at nine.")
    experience(database, clock, second, "The harbour opens at six.")
    experience(database, clock, first, "Something of another user.", owner="tom")
    assert {hit.id for hit in memory.list()} == {first[:11], second[:11]}
    memory.pin(second[:11])
    assert texts([hit for hit in memory.list() if hit.pinned]) == ["The harbour opens at six."]
    with pytest.raises(ItemNotFound, match=f"Several items .*: {first[:11]}, {second[:11]}. Type more of it"):
        memory.pin("eabab")
    memory.pin(first)
    assert len([hit for hit in memory.list() if hit.pinned]) == 2
    assert {hit.id for hit in memory.list()} == {first[:11], second[:11]}


def test_a_fact_keeps_its_id(memory: Memory, mara: Agent, clock: FakeClock) -> None:
    """R11, O11: when it is cited again, ends, leaves its document and comes back; each other fact has another."""
    say(memory, mara, PORTO, "Still in Porto.", "I moved.")
    document = write(memory, "mara", "lives in Porto. [r1]\n\nlikes tea. [r1]")
    [lives, tea] = sorted(hit.id for hit in memory.list("fact"))
    assert (lives, tea) == ("f1", "f2")
    for body in (
        "lives in Porto. [r1, r2]\n\nlikes tea. [r1]",
        "likes tea. [r1]\n\n## Earlier\n\nlives in Porto. [r1, r2, until 2026-03-05 by r3]",
        "likes tea. [r1]\n\n- lives in Lisbon. [r3]",
        "likes tea. [r1]\n\n- lives in Lisbon. [r3]\n\nlives in Porto. [r1]",
    ):
        clock.turn(minutes=1)
        content = {"slug": "mara", "title": "Mara", "description": "", "body": body}
        document = memory.documents.write(document_id=document.id, expected_version=document.version, **content)
    assert {hit.id: hit.text for hit in memory.list("fact")} == {
        "f1": "Mara lives in Porto.",
        "f2": "Mara likes tea.",
        "f3": "Mara lives in Lisbon.",
    }
    memory.documents.edit(document.id, document.version, find="likes tea. [r1]", replace="likes milk. [r1]")
    with pytest.raises(ItemNotFound, match="f2 is no longer there"):
        memory.pin("f2")
    with pytest.raises(ItemNotFound, match="Nothing remembered has the id 'f23'"):
        memory.pin("f23")
    assert {hit.id for hit in memory.list("fact")} == {"f1", "f3", "f4"}


@pytest.mark.parametrize("slugs", [("a", "z"), ("z", "a")])
def test_a_fact_that_moves_to_another_document_keeps_its_id(
    memory: Memory, mara: Agent, database: Database, clock: FakeClock, slugs: tuple[str, str]
) -> None:
    """R11, O11: whichever of the two is written first; also where the old document is deleted, and when undone."""
    say(memory, mara, PORTO)
    first = write(memory, slugs[0], "Mara lives in Porto. [r1]\n\nMara likes tea. [r1]")
    second = write(memory, slugs[1], "Mara swims. [r1]")
    before = {hit.id: (hit.text, hit.path) for hit in memory.list("fact")}
    [id_] = [id_ for id_, (text, _) in before.items() if "Porto" in text]
    memory.pin(id_)
    clock.turn(minutes=1)
    draft = DocumentStore(database, "default", clock).draft()
    draft.edit(second.id, 1, append="Mara lives in Porto. [r1]")
    draft.edit(first.id, 1, find="Mara lives in Porto. [r1]\n\n", replace="")
    moved = database.write(lambda tx: commit(tx, draft, Changeset(0, "default", clock.now, "run", "agent")))
    assert moved
    hit = next(hit for hit in memory.list("fact") if hit.id == id_)
    assert (hit.text, hit.path, hit.pinned) == ("Mara lives in Porto.", second.path, True)
    assert len(memory.list("fact")) == 3
    memory.documents.rollback(moved.id)
    assert {hit.id: (hit.text, hit.path) for hit in memory.list("fact")} == before
    assert [hit.id for hit in memory.list("fact") if hit.pinned] == [id_]
    clock.turn(minutes=1)
    draft = DocumentStore(database, "default", clock).draft()
    draft.edit(second.id, 3, append="Mara likes tea. [r1]\n\nMara lives in Porto. [r1]")
    draft.delete(first.id, 3)
    database.write(lambda tx: commit(tx, draft, Changeset(0, "default", clock.now, "run", "agent")))
    assert {hit.id: hit.text for hit in memory.list("fact")} == {id_: text for id_, (text, _) in before.items()}


def test_ids_outlive_a_rebuild(memory: Memory, mara: Agent, open_memory: OpenMemory) -> None:
    """R11, R1: they follow from what the item is made of, and not from its place in the index."""
    say(memory, mara, PORTO)
    write(memory, "mara", "lives in Porto. [r1]")
    memory.notes.worker("researcher").store("sea", "Rough in March.")
    memory.organize()
    before = {hit.id: hit.text for hit in memory.list()}
    assert {hit.id: hit.text for hit in remade(memory, open_memory).list()} == before


def test_a_document_is_named_by_the_beginning_of_its_id(memory: Memory, clock: FakeClock) -> None:
    """O11: wherever a document is asked for."""
    document = write(memory, "mara", "Likes tea.")
    short = document.short_id
    assert re.fullmatch(r"d[0-9a-f]{8}", short)
    assert memory.documents.read(short.upper()) == memory.documents.read(document.id) == document
    assert memory.documents.versions(short) == [document]
    clock.now += timedelta(minutes=1)
    content = {"slug": "mara", "title": "Mara", "description": "", "body": "Likes coffee."}
    changed = memory.documents.write(document_id=short, expected_version=1, **content)
    assert (changed.id, changed.version) == (document.id, 2)
    assert memory.documents.facts(short[:5]) == memory.documents.facts(document.id)
    assert "Likes coffee." in memory.documents.diff(short, 1, 2)
    digits = Counter(write(memory, f"page-{number}", "Tea.").id[:2] for number in range(17))
    with pytest.raises(DocumentNotFound, match="Several documents have an id that begins with 'd"):
        memory.documents.read(digits.most_common(1)[0][0])
    with pytest.raises(DocumentNotFound, match="has the id"):
        memory.documents.read("d" + "0" * 20)


# Feedback


def feedback_score(memory: Memory, id_: str) -> float:
    (hit,) = [hit for hit in memory.search("Where do I live?", 20, explain=True) if hit.id == id_]
    return hit.parts.get("feedback", 0.0)


def test_feedback_moves_what_is_found_within_bounds(memory: Memory, mara: Agent, open_memory: OpenMemory) -> None:
    """R10: each verdict of a kind counts half of the one before it."""
    near, _, far = say(memory, mara, PORTO, "Good.", "I live in Porto with two cats and no river near.")
    assert feedback_score(memory, near) == 0
    memory.feedback(near, "useful")
    assert feedback_score(memory, near) == 0.25
    memory.feedback(near, "useful")
    assert feedback_score(memory, near) == 0.375
    for _ in range(20):
        memory.feedback(near, "useful")
        memory.feedback(far, "wrong")
        memory.feedback(far, "outdated")
    assert feedback_score(memory, near) == pytest.approx(0.5, abs=0.001)
    assert feedback_score(memory, far) == -1
    assert [hit.id for hit in memory.search("Where do I live?", 2)] == [near, far]
    assert feedback_score(remade(memory, open_memory), far) == -1


@pytest.mark.parametrize("kind", ["record", "journal", "experience"])
def test_feedback_is_on_all_that_is_shown_in_one_place(open_memory: OpenMemory, kind: ItemKind) -> None:
    """R10, R2: a turn, its line of the journal and the experience made of that, or another takes its place."""
    memory = open_memory(continuity={"journal_enabled": True, "experience_store_enabled": True})
    ada = memory.agent(User("cli", "ada", "main"))
    memory.append(ada, UserMessage("The harbour of Porto closes at nine in summer."))
    memory.end_turn(ada)
    memory.experiences.extract()
    memory.organize()
    old = memory.search("When does the harbour close?", 1)[0].score
    memory.feedback(item(memory, kind, "at nine").id, "wrong")
    assert memory.search("When does the harbour close?", 1)[0].score == pytest.approx(old - 0.5, abs=0.01)


def test_feedback_can_turn_the_order(memory: Memory, mara: Agent) -> None:
    """R10."""
    rough, _, calm = say(memory, mara, "The sea is rough in March.", "I see.", "The sea is calm in June.")
    first, second = (hit.id for hit in memory.search("How is the sea?", 2))
    assert {first, second} == {rough, calm}
    for _ in range(3):
        memory.feedback(first, "wrong")
        memory.feedback(second, "useful")
    assert [hit.id for hit in memory.search("How is the sea?", 2)] == [second, first]


def test_what_is_outdated_ends_unless_it_was_said(
    memory: Memory, mara: Agent, database: Database, clock: FakeClock
) -> None:
    """R10, O11: a fact ends in its document, so that no later edit brings it back."""
    (said,) = say(memory, mara, PORTO)
    document = write(memory, "mara", "lives in Porto. [r1]\n\nlikes tea. [r1]")
    known = experience(database, clock, "e1", "The harbour closes at nine.")
    fact = item(memory, "fact", "Porto").id
    memory.feedback(said, "outdated")
    assert item(memory, "record", "Porto").until is None
    for id_ in (fact, known):
        memory.feedback(id_, "outdated")
    assert memory.documents.read(document.id).body.endswith(
        "likes tea. [r1]\n\n## Earlier\n\nlives in Porto. [r1, until 2026-02-24]"
    )
    memory.documents.edit(document.id, 2, append="likes rain. [r1]")
    assert item(memory, "fact", "Porto").until is not None
    assert item(memory, "experience", "harbour").until == clock.now
    memory.feedback(fact, "outdated")
    assert memory.documents.read(document.id).version == 3


ALLERGY = "I have a nut allergy, hazelnuts are the worst. I drink my coffee black."


def test_an_outdated_fact_of_several_sentences_is_taken_back(
    memory: Memory, mara: Agent, open_memory: OpenMemory
) -> None:
    """R10, R11: the verdict says what ended; `useful` takes it back, in the document, the index and a context."""
    say(memory, mara, ALLERGY)
    document = write(memory, "mara", f"{ALLERGY} [2026-02-24, r1]")
    fact = item(memory, "fact", "allergy").id
    assert memory.feedback(fact, "outdated") == (
        "I have a nut allergy, hazelnuts are the worst.",
        "I drink my coffee black.",
    )
    assert memory.feedback(fact, "outdated") == ()
    assert item(memory, "fact", "allergy").until is not None
    assert item(memory, "record", "allergy").until is not None
    assert memory.feedback(fact, "useful") == ()
    assert memory.documents.read(document.id).body == f"{ALLERGY} [2026-02-24, r1]"
    assert [hit.until for hit in memory.list()] == [None, None]
    assert [hit.until for hit in remade(memory, open_memory).list()] == [None, None]


def test_what_feedback_ended_can_be_corrected(memory: Memory, mara: Agent) -> None:
    """R11: a part of it may still be true."""
    say(memory, mara, ALLERGY)
    document = write(memory, "mara", f"{ALLERGY} [2026-02-24, r1]")
    fact = item(memory, "fact", "allergy").id
    memory.feedback(fact, "outdated")
    kept = memory.correct(fact, "I have a nut allergy.")
    assert item(memory, "fact", "I have a nut allergy.").id == kept.id
    assert memory.list("fact")[0].until is None
    body = memory.documents.read(document.id).body
    assert body.index("I have a nut allergy.") < body.index("## Earlier") < body.index("coffee black")
    assert "by r2]" in body
    memory.feedback(fact, "useful")
    assert memory.documents.read(document.id).body == body
    with pytest.raises(InputError, match="Correct r2 instead"):
        memory.correct(fact, "I drink tea.")


@pytest.mark.parametrize("kind", ["journal", "experience"])
def test_a_line_of_the_journal_and_its_experience_come_back_together(
    open_memory: OpenMemory, kind: ItemKind
) -> None:
    """R10, R2: unless a correction ended them."""
    memory = open_memory(continuity={"journal_enabled": True, "experience_store_enabled": True})
    memory.journal.remember("The harbour closes at nine in summer.", "learned")
    memory.experiences.extract()
    memory.organize()
    old = item(memory, kind, "at nine").id
    memory.feedback(old, "outdated")
    memory.feedback(old, "useful")
    assert not [hit for hit in memory.list() if hit.until]
    assert "at nine" in memory.journal.context()
    memory.feedback(old, "outdated")
    memory.correct(old, "The harbour closes at ten in summer.")
    memory.feedback(old, "useful")
    assert all(hit.until for hit in memory.list() if "at nine" in hit.text)


def test_a_persons_own_text_that_is_outdated_stays_so(memory: Memory, open_memory: OpenMemory) -> None:
    """R10: whoever edits its document, and when the index is made anew."""
    document = write(memory, "mara", "Collects stamps.")
    memory.feedback(item(memory, "fact", "stamps").id, "outdated")
    memory.documents.edit(document.id, 1, append="Collects coins.")
    assert item(memory, "fact", "stamps").until is not None
    assert item(memory, "fact", "coins").until is None
    assert item(remade(memory, open_memory), "fact", "stamps").until is not None


def test_feedback_names_the_recall_it_is_about(memory: Memory, mara: Agent, database: Database) -> None:
    """R10."""
    (said,) = say(memory, mara, PORTO)
    memory.search("Where do I live?")
    recall_id = memory.admin.recall_log()[0].id
    memory.feedback(said, "useful", recall_id)
    rows = database.read(lambda tx: tx.all("SELECT owner, item, verdict, recall_id FROM feedback"))
    assert rows == [("default", said.replace("r", "record:"), "useful", recall_id)]
    with pytest.raises(RecallNotFound, match="The log has no recall"):
        memory.feedback(said, "useful", recall_id + 1)


@pytest.mark.parametrize(
    ("id_", "verdict", "advice"),
    [
        ("r1", "good", "Use one of: useful, wrong, outdated"),
        ("r9", "useful", "Ids look like r12"),
        (7, "useful", "must be text"),
    ],
)
def test_wrong_feedback_changes_nothing(
    memory: Memory, mara: Agent, database: Database, id_: Any, verdict: Any, advice: str
) -> None:
    """R10."""
    say(memory, mara, PORTO)
    with pytest.raises(LifelongError) as raised:
        memory.feedback(id_, verdict)
    assert advice in str(raised.value)
    assert database.read(lambda tx: tx.all("SELECT * FROM feedback")) == []


def test_a_correction_is_stored_by_the_way_turns_come_in(
    memory: Memory, mara: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R11, C7: what cannot be stored corrects nothing."""
    say(memory, mara, PORTO)
    monkeypatch.setattr(Recorder, "append", _killed)
    with pytest.raises(KeyboardInterrupt):
        memory.correct("r1", LISBON)
    assert item(memory, "record", "Porto").until is None


def test_a_correction_is_the_persons_line_in_the_journal(open_memory: OpenMemory, clock: FakeClock) -> None:
    """R11, S5: not an agent's."""
    memory = open_memory("mara", continuity={"journal_enabled": True})
    memory.add({"role": "assistant", "content": "The Heron pump needs 4 bar of pressure."})
    assert memory.correct("r1", "The Heron pump needs 6 bar of pressure.").trust == "user"
    clock.turn(minutes=10)
    memory.organize()
    line = next(one for one in memory.journal.records() if "6 bar" in one.text)
    assert line.text == "Mara: The Heron pump needs 6 bar of pressure."
    assert line.sensitivity == "private-user"
