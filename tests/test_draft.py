"""Drafts: edits that are not committed, seen by those who make them and by nobody else (SPEC O9, O17, O18,
O20)."""

from __future__ import annotations

from typing import Any

import pytest

from lifelong.errors import DocumentInUse, DocumentNotFound, InputError, StaleWrite
from lifelong.organize.changesets import commit
from lifelong.organize.document_rows import MEMORY_ID, MEMORY_ROOT
from lifelong.organize.documents import DocumentStore
from lifelong.organize.draft import Draft, link_targets
from lifelong.organize.facts import Fact, sentence
from lifelong.storage.base import Database
from lifelong.testing import FakeClock
from lifelong.types import Changeset, Document
from tests.conftest import on_sqlite

OWNER = "default"


@pytest.fixture
def draft(database: Database) -> Draft:
    return Draft(database, OWNER)


@pytest.fixture
def confined(database: Database) -> Draft:
    """A memory-agent's."""
    return Draft(database, OWNER, below=MEMORY_ROOT)


@pytest.fixture
def store(database: Database, clock: FakeClock) -> DocumentStore:
    return DocumentStore(database, OWNER, clock)


def add(to: Draft | DocumentStore, slug: str, body: str = "", under: str = MEMORY_ROOT, **more: Any) -> Document:
    return to.write(slug=slug, title=slug.title(), description="", body=body, parent_path=under, **more)


# Reading


def test_reads_see_the_edits_and_the_database_does_not(draft: Draft, store: DocumentStore) -> None:
    """O9: until it is committed."""
    people = add(draft, "people")
    bob = add(draft, "bob", "One. [r1]", people.path)
    assert draft.read(bob.id) == draft.at("~/memory/people/bob") == bob
    assert [one.slug for one in draft.children(people.id)] == ["bob"]
    assert [one.slug for one in draft.children()] == ["memory"]
    assert store.find(bob.id) is None
    assert store.changesets() == []


def test_a_draft_is_laid_over_what_is_stored(draft: Draft, store: DocumentStore) -> None:
    """O9: what it changed, moved and deleted is seen so, the rest as it is."""
    people = add(store, "people")
    a, b, c = (add(store, slug, under=people.path) for slug in "abc")
    draft.write(slug="folks", title="Folks", description="", body="", document_id=people.id, expected_version=1)
    draft.delete(a.id, 1)
    moved = draft.write(
        slug="b", title="", description="", body="", parent_path=MEMORY_ROOT, document_id=b.id, expected_version=1
    )
    assert moved.path == "~/memory/b"
    assert [one.path for one in draft.children(people.id)] == ["~/memory/folks/c"]
    assert draft.at("~/memory/people/c") is None
    found = draft.at("~/memory/folks/c")
    assert found
    assert (found.id, found.version) == (c.id, 1)
    assert (draft.read(a.id), draft.at("~/memory/folks/a")) == (None, None)
    assert add(draft, "a", under="~/memory/folks").id != a.id


def test_a_draft_sees_what_lands_meanwhile(draft: Draft, store: DocumentStore) -> None:
    """O9: it reads through; only what it edited is its own."""
    bob = add(store, "bob")
    assert draft.read(bob.id) == bob
    changed = store.edit(bob.id, 1, append="New. [r1]")
    assert draft.read(bob.id) == changed


# Versions


def test_an_edited_document_shows_the_version_it_lands_as(
    draft: Draft, store: DocumentStore, database: Database, clock: FakeClock
) -> None:
    """O18: one for each committed change, however many edits it took."""
    bob = add(store, "bob", "One.")
    for number, expected in enumerate((1, 2, 2)):
        assert draft.edit(bob.id, expected, append=f"Line {number}.").version == 2
    with pytest.raises(StaleWrite, match=r"it is at version 2(.|\n)*\+Line 2"):
        draft.edit(bob.id, 1, append="Late.")
    new = add(draft, "new")
    assert draft.edit(new.id, 1, append="x").version == 1
    database.write(lambda tx: commit(tx, draft, Changeset(0, OWNER, clock.now, "run", "a")))
    assert (store.read(bob.id).version, store.read(new.id).version) == (2, 1)
    assert store.read(bob.id).body == "One.\n\nLine 0.\n\nLine 1.\n\nLine 2."


def test_an_edit_taken_back_is_no_edit(store: DocumentStore) -> None:
    """O18: the document is at the version it was."""
    bob = add(store, "bob", "One.")
    draft = store.draft()
    draft.edit(bob.id, 1, find="One.", replace="Two.")
    assert [(e.before, e.after and e.after.body) for e in draft.changes] == [(bob, "Two.")]
    assert draft.edit(bob.id, 2, find="Two.", replace="One.") == bob
    assert draft.changes == ()


def test_a_refused_edit_changes_nothing(draft: Draft, store: DocumentStore) -> None:
    """O18: the draft is as it was."""
    bob = add(store, "bob")
    add(draft, "a")
    before = draft.changes
    for call in (
        lambda: add(draft, "bob"),
        lambda: draft.edit(bob.id, 7, append="x"),
        lambda: draft.edit("nothing", 1, append="x"),
        lambda: draft.delete(MEMORY_ID, 1),
        lambda: add(draft, "b", links=["nothing"]),
    ):
        with pytest.raises((InputError, StaleWrite, DocumentNotFound)):
            call()
    assert draft.changes == before


@pytest.mark.parametrize("version", [None, "1", 1.0, True])
def test_a_change_needs_the_version_that_was_read(draft: Draft, store: DocumentStore, version: Any) -> None:
    """O18, O20: as a whole number."""
    bob = add(store, "bob")
    with pytest.raises(InputError, match="expected_version"):
        draft.edit(bob.id, version, append="x")
    with pytest.raises(InputError, match="expected_version"):
        draft.write(slug="bob", title="", description="", body="", document_id=bob.id, expected_version=version)


@pytest.mark.parametrize("version", [-1, 0, 9, 2**40, 2**70])
def test_a_version_that_never_was_is_stale(draft: Draft, store: DocumentStore, version: int) -> None:
    """O18: also one that no database could hold."""
    bob = add(store, "bob")
    with pytest.raises(StaleWrite, match="it is at version 1"):
        draft.edit(bob.id, version, append="x")
    with pytest.raises(StaleWrite, match="it is at version 1"):
        store.delete(bob.id, version)


@on_sqlite
@pytest.mark.parametrize("links", [5, True, 1.5, "a"])
def test_links_are_a_list(draft: Draft, links: Any) -> None:
    """O20."""
    with pytest.raises(InputError, match="must be a list"):
        draft.write(slug="bob", title="", description="", body="", links=links)


def test_a_version_without_a_document_is_a_mistake(draft: Draft) -> None:
    """O20: somebody meant to change one."""
    with pytest.raises(InputError, match="belongs to a document_id"):
        draft.write(slug="bob", title="", description="", body="", expected_version=3)


# Parents


def test_a_parent_given_twice_must_agree(draft: Draft) -> None:
    """O20: by id and by path."""
    a, b = add(draft, "a"), add(draft, "b")
    assert add(draft, "c", under=a.path, parent_id=a.id).parent_id == a.id
    with pytest.raises(InputError, match="is not what lies at ~/memory/a"):
        add(draft, "d", under=a.path, parent_id=b.id)
    with pytest.raises(InputError, match="is not what lies at ~"):
        add(draft, "d", under="~", parent_id=b.id)


def test_no_parent_is_a_root_and_the_top_can_be_said(draft: Draft) -> None:
    """O16: `~` and `~/` are above the roots."""
    root = draft.write(slug="a", title="", description="", body="")
    assert root.path == "~/a"
    assert [add(draft, slug, under=top).path for slug, top in (("b", "~"), ("c", "~/"))] == ["~/b", "~/c"]


# Confined


def test_a_memory_agent_writes_below_memory_only(confined: Draft, store: DocumentStore) -> None:
    """O20: it makes, changes, moves and deletes nothing elsewhere; it may read all."""
    notes = add(store, "notes", "Private.", "~")
    bob = add(store, "bob")
    root = store.read(MEMORY_ROOT)
    assert confined.read(notes.id) == notes
    content: dict[str, Any] = {"slug": "x", "title": "", "description": "", "body": ""}
    for call in (
        lambda: confined.write(**content),
        lambda: confined.write(**content, parent_id=notes.id),
        lambda: confined.edit(notes.id, 1, append="x"),
        lambda: confined.edit(notes.id, 1, find="none", replace=""),
        lambda: confined.delete(notes.id, 1),
        lambda: confined.write(**content, parent_path="~", document_id=bob.id, expected_version=1),
        lambda: confined.write(**content, parent_path=MEMORY_ROOT, document_id=notes.id, expected_version=1),
        lambda: confined.edit(root.id, root.version, append="x"),
    ):
        with pytest.raises(InputError):
            call()
    assert confined.changes == ()
    confined.edit(bob.id, 1, append="Fine. [r1]")
    assert add(confined, "deep", under=bob.path).path == "~/memory/bob/deep"
    memory_two = add(store, "memory2", under="~")
    with pytest.raises(InputError, match="does not lie below ~/memory"):
        add(confined, "x", under=memory_two.path)


# Small edits


def test_an_appended_paragraph_stands_alone(draft: Draft) -> None:
    """O20: with a blank line before it."""
    a = add(draft, "a", "One.\n")
    assert draft.edit(a.id, 1, append="Two.\n").body == "One.\n\nTwo.\n"
    b = add(draft, "b")
    assert draft.edit(b.id, 1, append="One.").body == "One."


def test_what_is_current_is_appended_before_what_was_earlier(draft: Draft) -> None:
    """O11: a new fact never stands among those that ended; one that ended does."""
    a = add(draft, "a", "Lives in Faro. [r2]\n\n## Earlier\n\nLives in Porto. [r1, until 2026-01-01 by r2]")
    a = draft.edit(a.id, 1, append="Likes tea. [r3]")
    a = draft.edit(a.id, 1, append="Likes milk. [r1, until 2026-01-02]")
    assert a.body.split("\n\n") == [
        "Lives in Faro. [r2]",
        "Likes tea. [r3]",
        "## Earlier",
        "Lives in Porto. [r1, until 2026-01-01 by r2]",
        "Likes milk. [r1, until 2026-01-02]",
    ]


def test_a_replacement_is_exact(draft: Draft) -> None:
    """O20: one place, said exactly; nothing put there removes it."""
    a = add(draft, "a", "One a. Two (b).* Three.")
    assert draft.edit(a.id, 1, find="Two (b).*", replace="2.").body == "One a. 2. Three."
    assert draft.edit(a.id, 1, find=" 2.").body == "One a. Three."
    with pytest.raises(InputError, match="occurs 0 times in ~/memory/a"):
        draft.edit(a.id, 1, find="Four", replace="4")
    with pytest.raises(InputError, match="occurs 3 times"):
        draft.edit(a.id, 1, find="e", replace="4")


@on_sqlite
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"append": "x", "find": "y"},
        {"replace": "x"},
        {"append": "x", "replace": "y"},
        {"append": " \n"},
        {"find": "", "replace": "x"},
        {"append": "a\0b"},
        {"append": 3},
        {"append": "x" * 200_001},
        {"append": "x" * 199_999},
    ],
)
def test_an_edit_says_one_thing(draft: Draft, arguments: dict[str, Any]) -> None:
    """O20: append, or find and replace; within the limits."""
    a = add(draft, "a", "One.")
    with pytest.raises(InputError):
        draft.edit(a.id, 1, **arguments)
    assert draft.read(a.id) == a


# Deletion


def test_what_is_used_in_the_draft_cannot_be_deleted(draft: Draft, store: DocumentStore) -> None:
    """O19: nor what the draft itself began to use; what it stopped using can."""
    a, b = add(store, "a"), add(store, "b")
    c = add(store, "c", links=[b.id])
    add(draft, "child", under=a.path)
    with pytest.raises(DocumentInUse, match="~/memory/a/child"):
        draft.delete(a.id, 1)
    with pytest.raises(DocumentInUse, match="~/memory/c"):
        draft.delete(b.id, 1)
    draft.write(slug="c", title="", description="", body="", links=[], document_id=c.id, expected_version=1)
    draft.delete(b.id, 1)
    with pytest.raises(DocumentNotFound):
        add(draft, "d", links=[b.id])


# Texts


def test_targets_are_what_brackets_name() -> None:
    """O17: with or without a label, each once."""
    assert link_targets("[[a]] [[b|B]] [[a|x]] [[ c d ]] [[]] [[ ]] [[|x]] [e] [[f\ng]] [[[h]]]") == [
        "a",
        "b",
        "c d",
        "h",
    ]


@on_sqlite
@pytest.mark.parametrize(
    ("path", "title", "text", "expected"),
    [
        ("~/memory/people/bob", "Bob", "lives in Porto.", "Bob lives in Porto."),
        ("~/memory/people/bob", "Bob", "Bob lives in Porto.", "Bob lives in Porto."),
        ("~/memory/people/bob", "Bob", "Ann lives in Porto.", "Ann lives in Porto."),
        ("~/memory/projects/x", "X", "is due in May.", "X is due in May."),
        ("~/memory/places/porto", "Porto", "has six bridges.", "has six bridges."),
        ("~/people/bob", "Bob", "lives in Porto.", "lives in Porto."),
    ],
)
def test_a_fact_gets_its_subject_from_the_title(
    draft: Draft, path: str, title: str, text: str, expected: str
) -> None:
    """O10: in people/ and projects/ a fact in lower case goes on where the title ends."""
    root = draft.at(MEMORY_ROOT)
    assert root
    document = Document("x", 1, path, "", "x", title, "", "", (), root.valid_from, None, 0)
    assert sentence(document, Fact(text, (1,))) == expected
