"""Relations: how people, projects and things are related, and what says so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lifelong import Agent, Memory, User, UserMessage
from lifelong.collect.transcript import without_injected
from lifelong.errors import InputError
from lifelong.organize.changesets import commit
from lifelong.recall.items import Items
from lifelong.recall.relations import RelatedEntity, Relations
from lifelong.storage.base import Database, Transaction
from lifelong.testing import FakeClock
from lifelong.types import Changeset, Document, Item
from tests.conftest import OpenMemory
from tests.work import analyze, work_of


def write(memory: Memory, path: str, body: str = "", title: str = "", **content: Any) -> Document:
    """A document, and those above it."""
    parent, _, slug = path.rpartition("/")
    if parent != "~" and not memory.documents.find(parent):
        write(memory, parent)
    title = title or slug.replace("-", " ").title()
    return memory.documents.write(slug=slug, title=title, description="", body=body, parent_path=parent, **content)


def live(
    database: Database, clock: FakeClock, id_: str, text: str, *entities: str, owner: str = "default"
) -> None:
    """What the store of experiences does."""

    def work(tx: Transaction) -> None:
        tx.run(
            "INSERT INTO experiences VALUES (?, ?, ?, 'learned', '', '', 'user', ?, ?, 0, 0)",
            *(owner, id_, text, 0, json.dumps(entities, ensure_ascii=False)),
        )
        Items(tx, owner).put([Item("experience", id_, text, clock.now, trust="user")], clock.now)

    database.write(work)


def names(found: Relations) -> list[str]:
    return [one.name for one in found.neighbours]


def only(found: Relations) -> RelatedEntity:
    (one,) = found.neighbours
    return one


def texts(one: RelatedEntity) -> list[str]:
    return [hit.text for hit in one.evidence]


def tool(memory: Memory, **arguments: Any) -> str:
    return next(one for one in memory.tools() if one.name == "relations").call(**arguments)


# What relates


def test_a_fact_relates_its_subject_to_those_it_names(memory: Memory) -> None:
    """R9: both ways, with the fact as evidence: its id, its date, its trust, its place."""
    write(memory, "~/memory/people/mara", "works with Tom Reed on Atlas. [r1]")
    write(memory, "~/memory/people/tom-reed", "is a vet. [r2]")
    write(memory, "~/memory/projects/atlas", "costs 900 EUR. [r3, from web]")
    found = memory.relations.of("Mara")
    assert (found.entity, found.path) == ("Mara", "~/memory/people/mara")
    assert names(found) == ["Atlas", "Tom Reed"]
    tom = found.neighbours[1]
    assert (tom.path, tom.weight, tom.how) == ("~/memory/people/tom-reed", 1.0, ("fact",))
    (hit,) = tom.evidence
    assert (hit.text, hit.trust, hit.path) == ("Mara works with Tom Reed on Atlas.", "user", found.path)
    assert hit.id.startswith("f")
    assert names(memory.relations.of("Tom Reed")) == ["Atlas", "Mara"], "who is named together is related, too"


def test_facts_that_stand_elsewhere_count(memory: Memory) -> None:
    """R9: what was decided relates those it names; the drawer it lies in is nobody."""
    write(memory, "~/memory/people/mara")
    write(memory, "~/memory/projects/atlas")
    write(memory, "~/memory/decisions", "Mara chose Postgres for Atlas. [r1]")
    write(memory, "~/memory/events/2026-02", "Mara saw the decisions of 2026-02 again. [r2]")
    assert names(memory.relations.of("atlas")) == ["Mara"]
    assert names(memory.relations.of("mara")) == ["Atlas"]
    assert memory.relations.of("Decisions").entity == ""


def test_references_relate_whatever_they_are_called(memory: Memory) -> None:
    """R9: links and `[[…]]`, both ways; a parent does not."""
    ana = write(memory, "~/memory/people/ana")
    lisbon = write(memory, "~/memory/places/lisbon")
    write(memory, "~/memory/people/mara", f"lives with [[{ana.id}|her sister]]. [r1]", links=[lisbon.id])
    found = memory.relations.of("Mara")
    assert [(one.name, one.how, one.weight) for one in found.neighbours] == [
        ("Ana", ("body", "fact"), 2.0),
        ("Lisbon", ("link",), 1.0),
    ]
    assert len(texts(found.neighbours[0])) == 1
    assert texts(found.neighbours[1]) == []
    assert texts(only(memory.relations.of("Ana"))) == texts(found.neighbours[0])
    assert only(memory.relations.of("Lisbon")).how == ("link",)


def test_experiences_relate_what_they_name_together(memory: Memory, database: Database, clock: FakeClock) -> None:
    """R9, R5: also what has no document."""
    write(memory, "~/memory/people/mara", "likes tea. [r1]")
    live(database, clock, "e1", "Mara sails from Cascais.", "Mara", "Cascais")
    live(database, clock, "e2", "In Cascais, Mara met Tom.", "mara", "Cascais", "Tom")
    live(database, clock, "e3", "Tom is late.", "Tom")
    found = memory.relations.of("MARA")
    assert [(one.name, one.weight, one.how, one.path) for one in found.neighbours] == [
        ("Cascais", 2.0, ("experience",), ""),
        ("Tom", 1.0, ("experience",), ""),
    ]
    assert [hit.id for hit in found.neighbours[0].evidence] == ["e2", "e1"]
    assert names(memory.relations.of("cascais")) == ["Mara", "Tom"]


def test_what_data_says_weighs_less(memory: Memory) -> None:
    """R9, O12."""
    write(memory, "~/memory/projects/atlas", "runs on Postgres. [r1, from web]\n\nuses Redis. [r2]")
    write(memory, "~/memory/projects/postgres")
    write(memory, "~/memory/projects/redis")
    weights = {one.name: (one.weight, one.evidence[0].trust) for one in memory.relations.of("Atlas").neighbours}
    assert weights == {"Redis": (1.0, "user"), "Postgres": (0.5, "web")}


def test_what_has_ended_counts_only_when_asked_for(memory: Memory, clock: FakeClock) -> None:
    """R9, O11: the same for an experience."""
    write(memory, "~/memory/people/tom")
    write(memory, "~/memory/people/mara", "worked with Tom. [r1, until 2026-02-01 by r2]")
    live(memory._parts.shared.database, clock, "e1", "Mara lent Ana a boat.", "Mara", "Ana")
    memory.feedback("e1", "outdated")
    assert names(memory.relations.of("Mara")) == []
    found = memory.relations.of("Mara", ended=True)
    assert names(found) == ["Ana", "Tom"]
    assert all(hit.until for one in found.neighbours for hit in one.evidence)


def test_what_was_deleted_or_rewritten_relates_nobody(memory: Memory) -> None:
    """R9."""
    write(memory, "~/memory/people/tom")
    mara = write(memory, "~/memory/people/mara", "works with Tom. [r1]")
    assert names(memory.relations.of("Tom")) == ["Mara"]
    mara = memory.documents.edit(mara.id, mara.version, find="works with Tom", replace="works alone")
    assert names(memory.relations.of("Tom")) == []
    memory.documents.delete(mara.id, mara.version)
    assert memory.relations.of("Mara").entity == ""


def test_the_pages_of_one_subject_are_one_entity(memory: Memory) -> None:
    """R9."""
    write(memory, "~/memory/people/tom")
    write(memory, "~/memory/people/ana")
    write(memory, "~/memory/people/mara", "works with Tom. [r1]")
    write(memory, "~/memory/people/mara/2026-02", "sails with Ana. [r2]", title="Mara")
    found = memory.relations.of("mara")
    assert (found.path, names(found)) == ("~/memory/people/mara", ["Ana", "Tom"])


def test_a_name_is_a_word_and_written_as_one(memory: Memory) -> None:
    """R9: no part of a word, no plant for a person; in any script."""
    write(memory, "~/memory/people/rose")
    write(memory, "~/memory/people/ana")
    write(memory, "~/memory/people/mara", "gave Rosemary a rose and a banana. [r1]\n\nmet Ana's dog. [r1]")
    write(memory, "~/memory/people/li", "小明住在北京。 [r1]")
    write(memory, "~/memory/places/beijing", title="北京")
    assert names(memory.relations.of("Mara")) == ["Ana"]
    assert names(memory.relations.of("北京")) == ["Li"]


def test_the_closest_come_first_and_only_as_many_as_asked_for(memory: Memory) -> None:
    """R9: of many facts, the newest few are shown."""
    write(memory, "~/memory/people/tom")
    write(memory, "~/memory/people/ana")
    body = "\n\n".join([*(f"saw film {number} with Tom. [r1]" for number in range(8)), "met Ana. [r1]"])
    write(memory, "~/memory/people/mara", body)
    (tom,) = memory.relations.of("Mara", limit=1).neighbours
    assert (tom.name, tom.weight, len(tom.evidence)) == ("Tom", 8.0, 5)


def test_the_rules_alone_make_relations(memory: Memory, clock: FakeClock) -> None:
    """R9, O8: from what was said to whom it relates, with no model."""
    talk = memory.agent(User("cli", "group", "main"))
    memory.append(talk, UserMessage("I moved to Lisbon in May and work with Tom at the harbour.", speaker="Mara"))
    memory.append(talk, UserMessage("I live in Porto and have two cats.", speaker="Tom"))
    clock.turn(minutes=5)
    memory.organize()
    assert names(memory.relations.of("Mara")) == ["Tom"]
    assert "work" in only(memory.relations.of("Tom")).evidence[0].text


# By which name


def test_an_entity_is_found_by_title_slug_or_the_beginning_of_one(memory: Memory) -> None:
    """R9."""
    write(memory, "~/memory/people/mara-s", "met Tom. [r1]", title="Mara Silva")
    write(memory, "~/memory/people/tom", "met Mário. [r1]")
    write(memory, "~/memory/people/mario", title="Mário")
    for asked in ("Mara Silva", "mara silva", "MARA-S", "mara", " mara sil"):
        assert memory.relations.of(asked).entity == "Mara Silva"
    assert memory.relations.of("MARIO").entity == "Mário"
    both = memory.relations.of("mar")
    assert (both.entity, both.suggestions) == ("", ("Mara Silva", "Mário"))


def test_an_unknown_one_leads_to_the_nearest(memory: Memory, database: Database, clock: FakeClock) -> None:
    """R9."""
    write(memory, "~/memory/people/mara")
    live(database, clock, "e1", "Caroline sails.", "Caroline")
    assert memory.relations.of("Karoline") == Relations("", suggestions=("Caroline",))
    assert memory.relations.of("xyzzy") == Relations("")
    assert memory.relations.of("Mara") == Relations("Mara", "~/memory/people/mara")


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [(("",), "must not be empty"), ((7,), "must be text"), (("Mara", 0), "Ask for 1 to 1,000")],
)
def test_a_wrong_question_says_what_to_do(memory: Memory, arguments: tuple[Any, ...], advice: str) -> None:
    """R9."""
    with pytest.raises(InputError) as raised:
        memory.relations.of(*arguments)
    assert advice in str(raised.value)


def test_the_tool_tells_it_in_lines(memory: Memory) -> None:
    """R9: fenced, so that it is not learned from; what is not known leads on."""
    write(memory, "~/memory/people/mara", "works with Tom. [r1]")
    write(memory, "~/memory/people/tom", "is a vet. [r1]")
    write(memory, "~/memory/people/ana")
    answer = tool(memory, entity="mara")
    assert "Mara (~/memory/people/mara) is related to:\n- Tom (~/memory/people/tom, weight 1, by fact)" in answer
    assert "  - Mara works with Tom. (2026-02-24, f" in answer
    assert without_injected(answer) == ""
    assert tool(memory, entity="Marla") == "Nothing is known by that name. The nearest are: Mara."
    assert "recall_memory" in tool(memory, entity="xyzzy")
    assert "nothing relates it" in tool(memory, entity="Ana")
    with pytest.raises(InputError, match="'entity' is missing"):
        tool(memory)


# Quick, and nobody else's


def test_it_does_not_walk_through_everything(memory: Memory, clock: FakeClock) -> None:
    """R9, S2: the facts of a thousand documents are not read for one of them."""

    def know(people: range) -> None:
        draft = memory.documents.draft()
        for number in people:
            content: dict[str, Any] = {
                "title": f"Person{number}",
                "body": f"works with Person{(number * 7) % 1_000} at night. [r1]",
            }
            draft.write(slug=f"p{number}", description="", parent_path="~/memory/people", **content)
        memory._parts.shared.database.write(
            lambda tx: commit(tx, draft, Changeset(0, "default", clock(), "edit", "test"))
        )
        analyze(memory._parts.shared.database, "documents", "document_references", "items", "item_words")

    write(memory, "~/memory/people")
    know(range(50))
    few = work_of(memory._parts.shared.database, lambda: memory.relations.of("Person3"))
    know(range(50, 1_000))
    assert names(memory.relations.of("Person3")) == ["Person21", "Person429"]
    assert work_of(memory._parts.shared.database, lambda: memory.relations.of("Person3")) < 4 * few


NAMES = ("Mara", "Tom", "Ana", "Atlas")
facts = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=3)
shared = st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3), max_size=2)


@pytest.mark.parametrize("ended", [False, True])
@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(first=st.tuples(facts, shared), second=st.tuples(facts, shared))
def test_no_owner_sees_anothers(
    ended: bool,
    open_memory: OpenMemory,
    clock: FakeClock,
    first: tuple[Sequence[tuple[str, str]], Sequence[Sequence[str]]],
    second: tuple[Sequence[tuple[str, str]], Sequence[Sequence[str]]],
) -> None:
    """R9, C0: the same names in two users of one home, and each is told of its own only."""
    global _round  # a new pair of users for each example
    _round += 1
    told: dict[str, set[str]] = {}
    memories = {word: open_memory(f"{word}{_round}") for word in ("alpha", "beta")}
    for (word, memory), (said, lived) in zip(memories.items(), (first, second), strict=True):
        for number, (one, other) in enumerate(said):
            path = f"~/memory/people/{one.lower()}"
            fact = f"met {other} in {word} on day {number}. [r1]"
            if document := memory.documents.find(path):
                memory.documents.edit(document.id, document.version, append=fact)
            else:
                write(memory, path, fact)
        for number, entities in enumerate(lived):
            text = f"{' and '.join(entities)} sailed in {word}."
            live(memory._parts.shared.database, clock, f"e{number}", text, *entities, owner=memory.user)
        told[word] = {name for pair in said for name in pair} | {name for some in lived for name in some}
    for word, memory in memories.items():
        for name in NAMES:
            found = memory.relations.of(name, ended=ended)
            assert {found.entity, *names(found), *found.suggestions} <= told[word] | {""}
            assert all(f" in {word}" in hit.text for one in found.neighbours for hit in one.evidence)
    for memory in memories.values():
        memory.close()


_round = 0


def test_the_person_who_asks_is_an_entity_like_another(memory: Memory, alice: Agent) -> None:
    """R9: a title in lower case, as of a person without a name, is matched as it is written."""
    memory.append(alice, UserMessage("x"))
    write(memory, "~/memory/people/alice", "met Tom. [r1]", title="alice")
    write(memory, "~/memory/people/tom", "wrote to alice. [r1]")
    assert only(memory.relations.of("Tom")).weight == 2.0
