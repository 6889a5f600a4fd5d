"""Changesets: edits that land together, what they did, and taking them back (SPEC O9, O11, O18, O21)."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine

from lifelong import Memory
from lifelong.errors import ChangesetNotFound, DocumentNotFound, InputError, LifelongError, StaleWrite
from lifelong.organize.changesets import commit, revert
from lifelong.organize.document_rows import MEMORY_ID, MEMORY_ROOT
from lifelong.organize.documents import DocumentStore
from lifelong.organize.draft import Draft, diff
from lifelong.organize.facts import COMMON_KEY_FACTS, MAX_FOUND, fact_keys
from lifelong.storage.base import Database
from lifelong.testing import FakeClock, in_threads
from lifelong.text.stems import stem
from lifelong.types import Changeset, Document
from tests.schemas import Schemas

OWNER = "default"


@pytest.fixture
def store(database: Database, clock: FakeClock) -> DocumentStore:
    return DocumentStore(database, OWNER, clock)


def add(store: DocumentStore, slug: str, body: str = "", under: str = MEMORY_ROOT, **more: Any) -> Document:
    return store.write(slug=slug, title=slug.title(), description="", body=body, parent_path=under, **more)


def commit_draft(database: Database, draft: Draft, now: datetime, **origin: Any) -> Changeset | None:
    told = Changeset(0, OWNER, now, **{"cause": "run", "author": "agent", **origin})
    return database.write(lambda tx: commit(tx, draft, told))


def new(draft: Draft, slug: str, body: str = "", under: str = MEMORY_ROOT) -> Document:
    return draft.write(slug=slug, title=slug.title(), description="", body=body, parent_path=under)


def state(store: DocumentStore, at: datetime | None = None) -> dict[str, tuple[object, ...]]:
    """All that a reader can see, but for versions and times."""
    return {
        d.id: (d.path, d.title, d.description, d.body, d.links) for d in store.walk(as_of=at) if d.changeset_id
    }


# Landing


def test_a_run_is_one_changeset(store: DocumentStore, database: Database, clock: FakeClock) -> None:
    """O9: it records who, from what, and at what cost."""
    draft = store.draft(below=MEMORY_ROOT)
    new(draft, "a")
    new(draft, "b")
    origin: dict[str, Any] = {
        "note": "kept two",
        "session_id": "s",
        "after": 3,
        "until": 9,
        "inbox_id": 4,
        "organizer": "llm",
        "model": "m",
        "input_tokens": 10,
        "output_tokens": 5,
        "cost": 0.25,
    }
    changeset = commit_draft(database, draft, clock.now, **origin)
    assert changeset
    assert changeset == Changeset(changeset.id, OWNER, clock.now, "run", "agent", **origin)
    assert store.changesets() == [store.changeset(changeset.id)] == [changeset]
    assert [(e.before, e.after and e.after.path) for e in store.changes(changeset.id)] == [
        (None, MEMORY_ROOT),
        (None, "~/memory/a"),
        (None, "~/memory/b"),
    ]
    assert {document.valid_from for document in store.walk()} == {clock.now}


def test_all_edits_land_or_none_does(store: DocumentStore, database: Database, clock: FakeClock) -> None:
    """O9: one that is stale takes the others with it."""
    bob = add(store, "bob")
    draft = store.draft()
    new(draft, "a")
    draft.edit(bob.id, 1, append="From the draft.")
    store.edit(bob.id, 1, append="From a person.", author="anna")
    before = state(store)
    with pytest.raises(
        StaleWrite, match=r"~/memory/bob .*version 2, by changeset \d+ of anna(.|\n)*\+From a person"
    ):
        commit_draft(database, draft, clock.now)
    assert state(store) == before
    assert len(store.changesets()) == 2


def test_an_error_after_the_commit_undoes_it(store: DocumentStore, database: Database, clock: FakeClock) -> None:
    """O9: the changeset is part of the caller's transaction."""
    draft = store.draft()
    new(draft, "a")

    def work(tx: Any) -> None:
        commit(tx, draft, Changeset(0, OWNER, clock.now, "run", "agent"))
        raise KeyError("lost")

    with pytest.raises(KeyError):
        database.write(work)
    assert state(store) == {}
    assert commit_draft(database, draft, clock.now), "the draft is as it was"


@pytest.mark.parametrize("how", ["nothing", "read", "and back", "new and gone"])
def test_nothing_changed_is_no_changeset(
    store: DocumentStore, database: Database, clock: FakeClock, how: str
) -> None:
    """O18: an update that changes nothing writes nothing, the memory root included."""
    draft = store.draft()
    if how == "read":
        draft.at(MEMORY_ROOT)
    elif how == "and back":
        bob = add(store, "bob", "x")
        draft = store.draft()
        draft.edit(bob.id, 1, append="y")
        draft.edit(bob.id, 2, find="\n\ny", replace="")
    elif how == "new and gone":
        draft.delete(new(draft, "a").id, 1)
    before = store.changesets()
    assert draft.changes == ()
    assert commit_draft(database, draft, clock.now) is None
    assert store.changesets() == before


def test_what_a_draft_relied_on_is_checked_again(
    store: DocumentStore, database: Database, clock: FakeClock
) -> None:
    """O17, O18: a slug taken, a parent gone, a link gone, a child come since."""
    a, b, c = (add(store, slug) for slug in "abc")
    drafts = [store.draft() for _ in range(4)]
    new(drafts[0], "new")
    new(drafts[1], "new", under=a.path)
    drafts[2].write(slug="d", title="", description="", body="", links=[b.id])
    drafts[3].delete(c.id, 1)
    add(store, "new")
    store.delete(a.id, 1)
    store.delete(b.id, 1)
    add(store, "child", under=c.path)
    before = state(store)
    for draft, error in zip(
        drafts, ("exists already", "No document", "No document", "is the parent of"), strict=True
    ):
        with pytest.raises(LifelongError, match=error):
            commit_draft(database, draft, clock.now)
    assert state(store) == before


def test_a_target_made_in_the_same_changeset_resolves(
    store: DocumentStore, database: Database, clock: FakeClock
) -> None:
    """O17: whichever was written first."""
    draft = store.draft()
    a = new(draft, "a", "Knows [[b]]. [r1]")
    assert draft.unresolved(a.id) == ["b"]
    b = new(draft, "b")
    assert draft.unresolved(a.id) == []
    commit_draft(database, draft, clock.now)
    assert b.id in [one.target_id for one in store.references(a.id) if one.kind == "body"]


def test_committers_at_once_come_one_after_the_other(
    store: DocumentStore, database: Database, clock: FakeClock
) -> None:
    """O9, O21: a moment for each, and no moment with half of one."""

    def run(number: int) -> None:
        for step in range(3):
            draft = store.draft()
            new(draft, f"a{number}-{step}")
            new(draft, f"b{number}-{step}")
            commit_draft(database, draft, clock.now)

    in_threads(4, run)
    times = [changeset.at for changeset in store.changesets(50)]
    assert len(set(times)) == 12
    for at in times:
        assert len(state(store, at)) % 2 == 1, "the root and pairs"


# Facts


def about(store: DocumentStore, *words: str) -> list[tuple[str, str]]:
    """Return the path and the sentence of each current fact that has one of these words as a key."""
    (found,) = store.draft().find_facts([{stem(word) for word in words}])
    return [(store.read(fact.document_id).path, fact.sentence) for fact in found]


def test_facts_are_found_by_their_keys(store: DocumentStore, database: Database) -> None:
    """O11: current ones only, with the title as their subject in people/."""
    people = add(store, "people")
    bob = add(store, "bob", "lives in Porto. [r1]\n\nJust text about tea.", people.path)
    porto, lisbon = (bob.path, "Bob lives in Porto."), (bob.path, "Bob lives in Lisbon.")
    assert about(store, "porto") == about(store, "bob") == about(store, "porto", "bob", "none") == [porto]
    assert about(store, "tea") == about(store) == []
    earlier = "lives in Lisbon. [r2]\n\n## Earlier\n\nlives in Porto. [r1, until 2026-01-01 by r2]"
    bob = store.edit(bob.id, 1, find="lives in Porto. [r1]", replace=earlier)
    assert about(store, "porto") == []
    assert about(store, "lisbon") == [lisbon]
    store.rollback(store.changesets()[0].id)
    assert (about(store, "porto"), about(store, "lisbon")) == ([porto], [])
    store.delete(bob.id, store.read(bob.id).version)
    assert database.read(lambda tx: tx.all("SELECT * FROM fact_keys")) == []


def test_a_new_title_is_a_new_subject(store: DocumentStore) -> None:
    """O11: the keys follow."""
    people = add(store, "people")
    bob = add(store, "bob", "likes tea. [r1]", people.path)
    store.write(slug="bob", title="Robert", description="", body=bob.body, document_id=bob.id, expected_version=1)
    assert about(store, "robert") == [(bob.path, "Robert likes tea.")]
    assert about(store, "bob") == []


def test_the_newest_fact_comes_first_and_few_for_a_key(store: DocumentStore) -> None:
    """O11: a key that all share gives the newest."""
    documents = [add(store, f"d{n}", f"Likes tea {n}. [r{n}]") for n in range(12)]
    assert [path for path, _ in about(store, "tea")] == [f"~/memory/d{n}" for n in range(11, 11 - MAX_FOUND, -1)]
    store.edit(documents[0].id, 1, append="Likes tea a lot. [r9]")
    assert about(store, "tea")[0] == ("~/memory/d0", "Likes tea a lot.")


def test_a_common_key_finds_only_what_another_key_finds_too(store: DocumentStore) -> None:
    """O11: so that a lookup costs the same however much is known."""
    for n in range(COMMON_KEY_FACTS + 4):
        add(store, f"d{n}", f"Likes tea {'green' if n == COMMON_KEY_FACTS else 'black'} {n}. [r{n}]")
    assert about(store, "tea") == []
    assert [path for path, _ in about(store, "tea", "green")] == [f"~/memory/d{COMMON_KEY_FACTS}"]


def test_a_draft_finds_the_facts_it_changed(store: DocumentStore) -> None:
    """O11: what it wrote is there, what it took out is not."""
    bob = add(store, "bob", "Bob likes tea. [r1]")
    draft = store.draft()
    draft.edit(bob.id, 1, find="tea", replace="coffee")
    coffee, tea = {stem("coffee")}, {stem("tea")}
    assert [fact.sentence for fact in draft.find_facts([coffee])[0]] == ["Bob likes coffee."]
    assert draft.find_facts([tea]) == [[]]
    draft.delete(bob.id, 2)
    assert draft.find_facts([coffee, tea]) == [[], []]


# Undoing


def test_the_root_comes_back_with_the_rollback_of_its_rollback(store: DocumentStore) -> None:
    """O21: a rollback can itself be rolled back, also where only `~/memory` is left to bring back."""
    a = add(store, "a")
    made = store.changesets()[0].id
    store.delete(a.id, 1)
    undone = store.rollback(made)
    assert undone
    again = store.rollback(undone.id)
    assert again
    assert [edit.id for edit in store.changes(again.id)] == [MEMORY_ID]


def test_the_last_changeset_undone_is_the_tree_before(
    store: DocumentStore, database: Database, clock: FakeClock
) -> None:
    """O21: made, changed, moved, linked, deleted; and the rollback can be rolled back."""
    a, b, c = add(store, "a", "One. [r1]"), add(store, "b"), add(store, "c", "Gone soon. [r3]")
    before = state(store)
    draft = store.draft()
    d = new(draft, "d", "New. [r4]")
    draft.write(
        slug="a2", title="A2", description="x", body="Two. [r2]", parent_id=d.id, links=[b.id],
        document_id=a.id, expected_version=1,
    )  # fmt: skip
    draft.delete(c.id, 1)
    committed = commit_draft(database, draft, clock.now)
    after = state(store)
    assert committed
    undoing = store.rollback(committed.id, author="anna")
    assert undoing
    assert (undoing.cause, undoing.author, undoing.note) == (
        "rollback",
        "anna",
        f"Undoes changeset {committed.id}.",
    )
    assert state(store) == before
    assert store.rollback(undoing.id)
    assert state(store) == after
    assert [one.version for one in store.versions(c.id)] == [1, 2]
    assert store.rollback(committed.id), "also after it was brought back"
    assert state(store) == before


def test_what_later_changes_did_stays(store: DocumentStore) -> None:
    """O21: paragraph by paragraph; the note says what could not be undone."""
    bob = add(store, "bob", "One. [r1]\n\nTwo. [r2]\n\nThree. [r3]")
    store.edit(bob.id, 1, find="Two. [r2]", replace="Second. [r4]", author="wrong")
    wrong = store.changesets()[0]
    store.edit(bob.id, 2, append="Four. [r5]")
    store.edit(bob.id, 3, find="One. [r1]", replace="First. [r6]")
    undoing = store.rollback(wrong.id)
    assert undoing
    assert undoing.note == f"Undoes changeset {wrong.id}."
    assert store.read(bob.id).body == "First. [r6]\n\nTwo. [r2]\n\nThree. [r3]\n\nFour. [r5]"


def test_what_was_changed_again_is_left_and_said(store: DocumentStore) -> None:
    """O21: no fact comes back beside the one that took its place."""
    bob = add(store, "bob", "Lives in Porto. [r1]\n\nPlays chess. [r2]")
    store.write(
        slug="bob", title="Robert", description="", body="Lives in Lisbon. [r3]\n\nPlays go. [r4]",
        document_id=bob.id, expected_version=1,
    )  # fmt: skip
    wrong = store.changesets()[0]
    store.edit(bob.id, 2, find="Lisbon", replace="Faro")
    now = store.read(bob.id)
    store.write(
        slug="bob", title="Rob", description="", body=now.body, document_id=bob.id, expected_version=now.version
    )
    undoing = store.rollback(wrong.id)
    assert undoing
    assert "~/memory/bob: Lives in Lisbon. [r3]" in undoing.note
    assert "~/memory/bob: its title" in undoing.note
    assert store.read(bob.id).body == "Lives in Faro. [r3]\n\nPlays chess. [r2]"
    assert store.read(bob.id).title == "Rob"


def test_a_document_in_use_stays_without_its_text(
    store: DocumentStore, database: Database, clock: FakeClock
) -> None:
    """O21, O19: what others made below it is not theirs to lose."""
    draft = store.draft()
    new(draft, "people", "Junk. [r1]")
    new(draft, "junk", "Junk. [r2]", "~/memory/people")
    committed = commit_draft(database, draft, clock.now)
    assert committed
    add(store, "bob", under="~/memory/people")
    undoing = store.rollback(committed.id)
    assert undoing
    assert "~/memory/people is in use" in undoing.note
    assert [(d.path, d.body) for d in store.walk()] == [
        (MEMORY_ROOT, ""),
        ("~/memory/people", ""),
        ("~/memory/people/bob", ""),
    ]


def test_a_made_document_that_was_changed_since_keeps_what_is_not_from_it(store: DocumentStore) -> None:
    """O21: nothing of its own left: it goes; something else in it: it stays."""
    a, b = add(store, "a", "Junk. [r1]"), add(store, "b", "Junk. [r1]")
    first, second = (store.read(one.id).changeset_id for one in (a, b))
    store.edit(a.id, 1, append="Sound. [r2]")
    store.edit(b.id, 1, append="Passing. [r3]")
    store.edit(b.id, 2, find="\n\nPassing. [r3]", replace="")
    store.rollback(first)
    assert store.read(a.id).body == "Sound. [r2]"
    store.rollback(second)
    assert store.find(b.id) is None


def test_a_deleted_document_comes_back_unless_its_place_is_taken(store: DocumentStore) -> None:
    """O21: a clear error, and nothing changed."""
    people = add(store, "people")
    friend = add(store, "friend")
    bob = add(store, "bob", "One. [r1]", people.path, links=[friend.id])
    store.delete(bob.id, 1)
    deletion = store.changesets()[0].id
    other = add(store, "bob", "Another Bob. [r2]", people.path)
    with pytest.raises(InputError, match="~/memory/people/bob exists already"):
        store.rollback(deletion)
    store.delete(other.id, 1)
    store.delete(people.id, 1)
    with pytest.raises(InputError, match=r"~/memory/people/bob cannot come back: its parent was deleted"):
        store.rollback(deletion)
    store.rollback(store.changesets()[0].id)
    store.delete(friend.id, 1)
    undoing = store.rollback(deletion)
    assert undoing
    assert "no longer links" in undoing.note
    assert (store.read(bob.id).version, store.read(bob.id).body, store.read(bob.id).links) == (2, "One. [r1]", ())
    assert store.rollback(deletion) is None, "it is back already"


def test_an_unknown_changeset_is_a_clear_error(store: DocumentStore) -> None:
    """O21: with the next step."""
    with pytest.raises(ChangesetNotFound, match="List them with"):
        store.rollback(12345)


@pytest.mark.parametrize("wrong", [-1, 2**63, 2**70, None, [], {}, "1", "a\ud800"], ids=repr)
def test_what_no_changeset_version_or_path_could_be_is_a_clear_error(store: DocumentStore, wrong: Any) -> None:
    """O21: whatever is asked for, no database is."""
    bob = add(store, "bob")
    for call in (store.changeset, store.changes, store.rollback):
        with pytest.raises(ChangesetNotFound, match="List them with"):
            call(wrong)
    with pytest.raises(InputError, match="has no version"):
        store.diff(bob.id, wrong, 1)
    with pytest.raises(InputError, match="The limit"):
        store.changesets(wrong)
    with pytest.raises((InputError, DocumentNotFound)):
        store.walk(wrong)


def test_the_whole_tree_returns_to_a_time(store: DocumentStore, clock: FakeClock) -> None:
    """O21: as a new changeset, so that one can go back and forth."""
    moments: list[tuple[datetime, dict[str, tuple[object, ...]]]] = [(clock.now - timedelta(days=1), {})]
    a = add(store, "a", "One. [r1]")
    b = add(store, "b", under=a.path)
    moments.append((store.changesets()[0].at, state(store)))
    clock.turn(minutes=1)
    store.write(
        slug="b", title="", description="", body="", parent_path=MEMORY_ROOT, document_id=b.id, expected_version=1
    )
    store.delete(a.id, 1)
    add(store, "a", "Another. [r2]")
    moments.append((store.changesets()[0].at, state(store)))
    for at, expected in (*moments, *moments[::-1]):
        clock.turn(minutes=1)
        store.rollback_to(at)
        assert state(store) == expected
        assert store.rollback_to(at) is None
    assert store.changesets()[0].note == f"Returns to {moments[0][0].isoformat()}."


def test_rollbacks_at_once_do_it_once(store: DocumentStore) -> None:
    """O21: the second finds it done."""
    bob = add(store, "bob")
    store.edit(bob.id, 1, append="Junk. [r1]")
    wrong = store.changesets()[0]
    done = in_threads(4, lambda _: store.rollback(wrong.id))
    assert len([one for one in done if one]) == 1
    assert [version.body for version in store.versions(bob.id)] == ["", "Junk. [r1]", ""]


# Differences


def document(body: str, **fields: Any) -> Document:
    at = datetime(2026, 1, 1)  # noqa: DTZ001
    return Document(**{"id": "x", "version": 1, "path": "~/x", "parent_id": "", "slug": "x", "title": "X",
                       "description": "", "body": body, "links": (), "valid_from": at, "valid_to": None,
                       "changeset_id": 1, **fields})  # fmt: skip


def test_a_diff_tells_what_was_made_and_what_went() -> None:
    """O21: from nothing, and to nothing."""
    assert diff(None, None) == diff(document("a"), document("a")) == ""
    assert diff(None, document("a")).startswith("--- nothing\n+++ ~/x (version 1)\n")
    assert "\n-a" in diff(document("a"), None)
    assert "links" in diff(document("a"), document("a", links=("y",)))


paragraphs = st.lists(st.sampled_from("abcdefgh"), max_size=6, unique=True)


@settings(max_examples=150, deadline=None)
@given(paragraphs, paragraphs, paragraphs)
def test_undoing_takes_out_what_came_and_keeps_what_is_not_its_own(
    before: list[str], after: list[str], current: list[str]
) -> None:
    """O21: whatever the three hold."""
    was, then, now = (document("\n\n".join(body)) for body in (before, after, current))
    assert revert(was, then, then)[0].body == was.body
    result, stuck = revert(was, then, now)
    left = [part for part in result.body.split("\n\n") if part]
    assert len(left) == len(set(left))
    assert {part for part in current if part not in after} <= set(left), "what came later stays"
    if not stuck:
        assert not set(left) & (set(after) - set(before)), "what it added is gone"
        assert set(before) - set(after) <= set(left), "what it removed is back"


# Whatever happens in whatever order

slots = st.integers(0, 5)


class Growing(RuleBasedStateMachine):
    """Edits, moves, deletions and rollbacks in any order, and what every one of them must leave whole."""

    def storage(self) -> dict[str, Any]:
        return {"synchronous": "normal"}

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.folder = Path(tempfile.mkdtemp(prefix="lifelong-documents-"))
        self.memory = Memory.open(self.folder, clock=self.clock, storage=self.storage())
        self.store = DocumentStore(self.memory._parts.shared.database, OWNER, self.clock)
        self.remembered: list[tuple[datetime, dict[str, tuple[object, ...]]]] = []
        self.before: dict[str, tuple[object, ...]] = {}

    def teardown(self) -> None:
        self.memory.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def pick(self, slot: int) -> Document | None:
        documents = [one for one in self.store.walk() if one.changeset_id]
        return documents[slot % len(documents)] if documents else None

    def do(self, call: Any) -> None:
        """Whatever is refused leaves all as it was; whatever is committed is remembered."""
        before = state(self.store)
        newest = self.store.changesets(1)
        try:
            call()
        except LifelongError:
            assert state(self.store) == before
        changesets = self.store.changesets(1)
        if changesets != newest:
            self.before = before
            self.remembered.append((changesets[0].at, state(self.store)))
        else:
            assert state(self.store) == before

    @rule(
        slug=st.sampled_from("abc"), parent=slots, link=slots, body=st.sampled_from(["", "P. [r1]", "[[a]] [[b]]"])
    )
    def make(self, slug: str, parent: int, link: int, body: str) -> None:
        above, linked = self.pick(parent), self.pick(link)
        links = [linked.id] if linked and link % 2 else []
        place = above.path if above and parent % 3 else MEMORY_ROOT
        self.do(lambda: add(self.store, slug, body, place, links=links))

    @rule(which=slots, slug=st.sampled_from("abcd"), parent=slots, link=slots)
    def move(self, which: int, slug: str, parent: int, link: int) -> None:
        one, above, linked = self.pick(which), self.pick(parent), self.pick(link)
        if one and above and linked:
            self.do(
                lambda: self.store.write(
                    slug=slug,
                    title=one.title,
                    description="",
                    body=one.body,
                    parent_id=above.id,
                    links=[linked.id],
                    document_id=one.id,
                    expected_version=one.version,
                )
            )

    @rule(which=slots, number=st.integers(1, 9))
    def append(self, which: int, number: int) -> None:
        if one := self.pick(which):
            self.do(lambda: self.store.edit(one.id, one.version, append=f"Fact {number}. [r{number}]"))

    @rule(which=slots)
    def delete(self, which: int) -> None:
        if one := self.pick(which):
            self.do(lambda: self.store.delete(one.id, one.version))

    @rule(back=st.integers(0, 4))
    def roll_back(self, back: int) -> None:
        changesets = self.store.changesets(5)
        if len(changesets) > back:
            expected = self.before
            self.do(lambda: self.store.rollback(changesets[back].id))
            if back == 0:
                assert state(self.store) == expected

    @rule(back=st.integers(0, 6))
    def return_to(self, back: int) -> None:
        if self.remembered:
            at, expected = self.remembered[-1 - back % len(self.remembered)]
            self.do(lambda: self.store.rollback_to(at))
            assert state(self.store) == expected

    @rule(seconds=st.sampled_from([0, 0, 5, -60]))
    def turn(self, seconds: int) -> None:
        self.clock.turn(seconds=seconds)

    @invariant()
    def the_past_is_what_it_was(self) -> None:
        for at, expected in self.remembered[-6:]:
            assert state(self.store, at) == expected

    @invariant()
    def the_rows_are_sound(self) -> None:
        rows = self.memory._parts.shared.database.read(
            lambda tx: tx.all("SELECT id, parent_id, slug FROM documents WHERE valid_to IS NULL")
        )
        assert len({row[0] for row in rows}) == len(rows), "one active version a document"
        assert len({row[1:] for row in rows}) == len(rows), "slugs are unique"
        walked = [one for one in self.store.walk() if one.changeset_id]
        assert len(walked) == len(rows), "every one can be reached from a root, so there is no cycle"
        for one in walked:
            assert all(self.store.find(link) for link in one.links)
            assert self.store.read(one.path).id == one.id

    @invariant()
    def the_keys_are_those_of_the_facts(self) -> None:
        stored = self.memory._parts.shared.database.read(
            lambda tx: set(tx.all("SELECT document_id, key FROM fact_keys"))
        )
        expected = {
            (one.id, key)
            for one in self.store.walk()
            for fact in self.store.facts(one.id)
            for key in fact_keys(fact.text)
        }
        assert stored == expected


def test_documents_hold_on_sqlite() -> None:
    """O16, O17, O18, O21."""
    run_machine(
        Growing,
        settings=settings(
            max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


def test_documents_hold_on_postgres(postgres_url: str, schemas: Schemas) -> None:
    """O16, O17, O18, O21."""

    class OnPostgres(Growing):
        def storage(self) -> dict[str, Any]:
            self.lent = ExitStack()
            return {"url": postgres_url, "schema_name": self.lent.enter_context(schemas.lent()), "pool_size": 2}

        def teardown(self) -> None:
            with self.lent:
                super().teardown()

    run_machine(
        OnPostgres,
        settings=settings(
            max_examples=8, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
