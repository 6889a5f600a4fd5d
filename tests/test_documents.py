"""Documents: versions, paths, references, and the tree at any time (SPEC O15 to O19, O21, S3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lifelong.errors import (
    ChangesetNotFound,
    DocumentInUse,
    DocumentNotFound,
    InputError,
    StaleWrite,
    StorageConflict,
)
from lifelong.organize.changesets import commit
from lifelong.organize.document_rows import MEMORY_ID, MEMORY_ROOT, DocumentRows
from lifelong.organize.documents import DocumentStore
from lifelong.organize.draft import Draft
from lifelong.storage.base import Database, Transaction
from lifelong.testing import FakeClock, in_threads
from lifelong.types import Changeset, Document, Reference
from tests.conftest import on_sqlite
from tests.work import analyze, work_of

OWNER = "default"


@pytest.fixture
def store(database: Database, clock: FakeClock) -> DocumentStore:
    return DocumentStore(database, OWNER, clock)


def add(
    store: DocumentStore, slug: str, under: str = MEMORY_ROOT, body: str = "", links: tuple[str, ...] = ()
) -> Document:
    return store.write(
        slug=slug, title=str(slug).title(), description=f"about {slug}", body=body, parent_path=under, links=links
    )


def change(store: DocumentStore, document: Document, **fields: object) -> Document:
    """The document with these fields, written on what is there now."""
    now = store.read(document.id)
    content = {name: getattr(now, name) for name in ("slug", "title", "description", "body")} | fields
    return store.write(document_id=now.id, expected_version=now.version, **content)


def paths(store: DocumentStore, at: datetime | None = None) -> list[str]:
    return [document.path for document in store.walk(as_of=at)]


def test_a_document_holds_what_was_written(store: DocumentStore, clock: FakeClock) -> None:
    """O15: key (owner, id, version); the current version has no `valid_to`."""
    add(store, "people")
    bob = add(store, "bob", "~/memory/people", "Plays chess. [r1]")
    changeset = store.changesets()[0]
    assert bob == Document(
        id=bob.id,
        version=1,
        path="~/memory/people/bob",
        parent_id=store.read("~/memory/people").id,
        slug="bob",
        title="Bob",
        description="about bob",
        body="Plays chess. [r1]",
        links=(),
        valid_from=changeset.at,
        valid_to=None,
        changeset_id=changeset.id,
    )
    assert store.read("~/memory/people/bob") == store.read("~/memory/people/bob/") == store.read(bob.id) == bob


def test_an_update_closes_one_version_and_begins_the_next(store: DocumentStore, clock: FakeClock) -> None:
    """O18: in one transaction, at one moment."""
    bob = add(store, "bob")
    at = clock.turn(minutes=1)
    store.edit(bob.id, 1, append="Plays chess. [r1]")
    first, second = store.versions(bob.id)
    assert (first.version, first.valid_to, first.body) == (1, at, "")
    assert (second.version, second.valid_from, second.valid_to, second.body) == (2, at, None, "Plays chess. [r1]")
    assert store.versions("~/memory/bob") == [first, second]


def test_an_update_that_changes_nothing_writes_nothing(store: DocumentStore, database: Database) -> None:
    """O18: no version, no changeset, and the tree's time stands still."""
    bob = add(store, "bob", body="x")
    before = database.read(lambda tx: tx.all("SELECT * FROM trees"))
    assert change(store, bob) == bob
    assert store.edit(bob.id, 1, find="x", replace="x") == bob
    assert len(store.versions(bob.id)) == 1
    assert len(store.changesets()) == 1
    assert database.read(lambda tx: tx.all("SELECT * FROM trees")) == before


def test_a_stale_write_says_what_changed(store: DocumentStore) -> None:
    """O18: never a silent overwrite."""
    bob = add(store, "bob", body="Lives in Porto. [r1]")
    store.edit(bob.id, 1, find="Porto", replace="Lisbon", author="anna")
    for stale in (1, 3, 0):
        with pytest.raises(StaleWrite, match=r"~/memory/bob changed .* version 2.*Read it again"):
            store.edit(bob.id, stale, append="Plays chess. [r2]")
    with pytest.raises(StaleWrite, match=r"-Lives in Porto(.|\n)*\+Lives in Lisbon"):
        store.write(slug="bob", title="B", description="", body="", document_id=bob.id, expected_version=1)
    with pytest.raises(StaleWrite):
        store.delete(bob.id, 1)
    assert store.read(bob.id).body == "Lives in Lisbon. [r1]"


def test_writers_of_the_same_version_have_one_winner(store: DocumentStore) -> None:
    """O18: the others learn of it, and nothing is lost."""
    bob = add(store, "bob")

    def write(number: int) -> str:
        try:
            store.edit(bob.id, 1, append=f"Fact {number}. [r{number}]")
        except StaleWrite as error:
            return str(error)
        return ""

    outcomes = in_threads(6, write)
    assert outcomes.count("") == 1
    assert store.read(bob.id).version == 2
    assert store.read(bob.id).body == f"Fact {outcomes.index('')}. [r{outcomes.index('')}]"


# Paths and slugs


def test_the_memory_root_is_there_from_the_start(store: DocumentStore) -> None:
    """O16: `~/memory` is ensured on first use, and reading writes nothing."""
    root = store.read("~/memory")
    assert (root.path, root.version) == (MEMORY_ROOT, 1)
    assert [one.path for one in store.roots()] == paths(store) == [MEMORY_ROOT]
    assert store.changesets() == []
    edited = store.edit(root.id, root.version, append="By subject.")
    assert (edited.version, edited.body) == (1, "By subject.")
    assert store.read("~/memory") == edited


def test_racers_get_one_memory_root(store: DocumentStore) -> None:
    """O16: all land below the same one."""
    in_threads(6, lambda number: add(store, f"s{number}"))
    assert paths(store) == [MEMORY_ROOT, *(f"{MEMORY_ROOT}/s{number}" for number in range(6))]
    assert len(store.versions(MEMORY_ID)) == 1


def test_drafts_made_before_the_root_adopt_it(database: Database, store: DocumentStore, clock: FakeClock) -> None:
    """O16: also when they commit long after another made it; but an edit of it is stale."""
    drafts = [Draft(database, OWNER) for _ in range(3)]
    for number, draft in enumerate(drafts[:2]):
        draft.write(slug=f"s{number}", title="", description="", body="", parent_path=MEMORY_ROOT)
    drafts[2].edit(MEMORY_ID, 1, append="Mine.")
    for draft in drafts[:2]:
        database.write(lambda tx, draft=draft: commit(tx, draft, Changeset(0, OWNER, clock(), "edit", "x")))  # type: ignore[misc]
    assert paths(store) == [MEMORY_ROOT, "~/memory/s0", "~/memory/s1"]
    with pytest.raises(StaleWrite, match=r"~/memory changed .*by changeset \d+ of x at 2026"):
        database.write(lambda tx: commit(tx, drafts[2], Changeset(0, OWNER, clock(), "edit", "x")))


def test_the_memory_root_stays_where_it_is(store: DocumentStore) -> None:
    """O16: it cannot be renamed, moved, deleted or doubled."""
    other = add(store, "other", "~")
    root = store.read("~/memory")
    with pytest.raises(InputError, match="cannot be moved"):
        change(store, root, slug="mind")
    with pytest.raises(InputError, match="cannot be moved"):
        change(store, root, parent_id=other.id)
    with pytest.raises(InputError, match="cannot be deleted"):
        store.delete(root.id, root.version)
    with pytest.raises(InputError, match="~/memory exists already"):
        add(store, "memory", "~")


def test_two_roots_cannot_have_one_slug_and_the_database_sees_to_it(
    store: DocumentStore, database: Database
) -> None:
    """O16: a NULL parent would be distinct in a unique index; the empty one is not."""
    add(store, "notes", "~")
    with pytest.raises(InputError, match="~/notes exists already, with the id"):
        add(store, "notes", "~")
    with pytest.raises(StorageConflict):
        database.write(
            lambda tx: tx.run(
                "INSERT INTO documents (owner, id, version, valid_from, parent_id, slug, title, description, "
                "body, changeset_id) SELECT owner, 'another', 1, valid_from, parent_id, slug, '', '', '', "
                "changeset_id FROM documents WHERE slug = 'notes'"
            )
        )


def test_a_slug_is_unique_among_active_siblings_only(store: DocumentStore) -> None:
    """O16: another parent, or a deleted document, takes nothing."""
    people, places = add(store, "people"), add(store, "places")
    first = add(store, "paris", people.path)
    add(store, "paris", places.path)
    with pytest.raises(InputError, match="~/memory/people/paris exists already"):
        add(store, "paris", people.path)
    store.delete(first.id, 1)
    assert add(store, "paris", people.path).id != first.id


@on_sqlite
@pytest.mark.parametrize(
    "slug",
    [
        "",
        " ",
        " a",
        "a ",
        "a/b",
        "/",
        "..",
        ".",
        "~",
        "a\0b",
        "a\nb",
        "a\x7f",
        "\u2028",
        "x" * 201,
        "é" * 101,
        "\ud800",
        7,
    ],
)
def test_a_slug_is_one_step_of_a_path_and_never_more(store: DocumentStore, slug: str) -> None:
    """O16, S3: refused, not mended."""
    with pytest.raises(InputError):
        add(store, slug)
    assert paths(store) == [MEMORY_ROOT]


@pytest.mark.parametrize("slug", ["a b", "...", "A", "ü-学", "a.b", "%", "_", "'; --", "x" * 200, "c:\\x", "~a"])
def test_other_slugs_are_taken_as_they_are(store: DocumentStore, slug: str) -> None:
    """O16: in whatever language."""
    written = add(store, slug)
    assert store.read(f"~/memory/{slug}") == written
    assert store.find("~/memory/b") is None


@on_sqlite
@pytest.mark.parametrize("path", ["", "memory", "/memory", "~memory", "~~", "C:/x", "~/a\0"])
def test_what_is_no_path_is_refused(store: DocumentStore, path: str) -> None:
    """O16: a path starts with ~/."""
    with pytest.raises(InputError):
        store.draft().at(path)


@pytest.mark.parametrize("path", ["~/~", "~/memory//x", "~//memory", "~/../memory", "~/memory/./x", "~/Memory"])
def test_a_path_to_nothing_finds_nothing(store: DocumentStore, path: str) -> None:
    """O16, S3: steps are slugs, and nothing else means anything."""
    add(store, "x")
    assert store.find(path) is None
    with pytest.raises(DocumentNotFound, match="No document of this user lies at"):
        store.read(path)


def test_children_follow_a_rename_and_a_move(store: DocumentStore) -> None:
    """O16: paths are computed."""
    people = add(store, "people")
    bob = add(store, "bob", people.path)
    change(store, people, slug="folks")
    assert store.read(bob.id).path == "~/memory/folks/bob"
    others = add(store, "others", "~")
    change(store, people, parent_id=others.id)
    assert store.read(bob.id).path == "~/others/folks/bob"
    assert store.read(bob.id).version == 1
    change(store, people, parent_path="~")
    assert paths(store) == ["~/folks", "~/folks/bob", MEMORY_ROOT, "~/others"]


def test_two_slugs_can_be_swapped_in_one_changeset(
    store: DocumentStore, database: Database, clock: FakeClock
) -> None:
    """O16: what is closed first is free."""
    a, b = add(store, "a"), add(store, "b")
    draft = store.draft()
    for document, slug, version in ((a, "c", 1), (b, "a", 1), (a, "b", 2)):
        draft.write(
            slug=slug,
            title="",
            description="",
            body="",
            document_id=document.id,
            expected_version=version,
        )
    database.write(lambda tx: commit(tx, draft, Changeset(0, OWNER, clock(), "edit", "x")))
    assert (store.read("~/memory/a").id, store.read("~/memory/b").id) == (b.id, a.id)
    assert store.read(a.id).version == store.read(b.id).version == 2


# Parents, links and targets


def test_no_document_is_its_own_ancestor(store: DocumentStore) -> None:
    """O17: no self-parent, no cycle."""
    a = add(store, "a")
    b = add(store, "b", a.path)
    c = add(store, "c", b.path)
    for parent in (b, c):
        with pytest.raises(InputError, match="its own ancestor"):
            change(store, a, parent_id=parent.id)
    with pytest.raises(InputError, match="its own parent"):
        change(store, a, parent_id=a.id)
    with pytest.raises(InputError, match="link to itself"):
        change(store, a, links=[a.id])
    assert paths(store) == [MEMORY_ROOT, a.path, b.path, c.path]


def test_moves_at_once_never_make_a_cycle(store: DocumentStore) -> None:
    """O17: a below b and b below a, each fine alone."""
    for number in range(3):
        pair = [add(store, f"{name}{number}") for name in "ab"]

        def move(which: int, pair: list[Document] = pair) -> bool:
            try:
                change(store, pair[which], parent_id=pair[1 - which].id)
            except (InputError, StaleWrite):
                return False
            return True

        assert sorted(in_threads(2, move)) == [False, True]
        assert {store.read(one.id).path.count("/") for one in pair} == {2, 3}


def test_a_tree_has_a_depth(store: DocumentStore) -> None:
    """O16: a path that nobody can follow is refused."""
    draft, path = store.draft(), MEMORY_ROOT
    for _ in range(99):
        path = draft.write(slug="d", title="", description="", body="", parent_path=path).path
    with pytest.raises(InputError, match="at most 100 levels"):
        draft.write(slug="d", title="", description="", body="", parent_path=path)


def test_parents_and_links_must_exist(store: DocumentStore) -> None:
    """O17: an error that names what is missing."""
    with pytest.raises(DocumentNotFound, match="lies at ~/memory/none"):
        add(store, "a", "~/memory/none")
    with pytest.raises(DocumentNotFound, match="has the id 'nothing'"):
        store.write(slug="a", title="", description="", body="", parent_id="nothing")
    for link in ("nothing", "~/memory/none"):
        with pytest.raises(DocumentNotFound, match=link):
            add(store, "a", links=(link,))
    with pytest.raises(InputError, match="list"):
        store.write(slug="a", title="", description="", body="", links="memory")
    assert store.changesets() == []


def test_a_version_keeps_its_references(store: DocumentStore, database: Database) -> None:
    """O15, O17: parent, link and body; the whole set with each version, never changed after."""
    a, b = add(store, "a"), add(store, "b")
    c = add(store, "c", a.path, "See [[b]], [[~/memory/b|B]], [[nowhere]] and [[c]].", (b.id, a.path, b.id))
    assert c.links == tuple(sorted((a.id, b.id)))
    expected = {
        Reference(a.id, "parent"),
        Reference(a.id, "link"),
        Reference(b.id, "link"),
        Reference(b.id, "body"),
    }
    assert set(store.references(c.id)) == expected
    change(store, c, links=[], body=f"See [[{a.id}|it]].")
    assert set(store.references(c.id)) == {Reference(a.id, "parent"), Reference(a.id, "body")}
    assert set(database.read(lambda tx: DocumentRows(tx, OWNER).references(c.id, 1))) == expected
    assert [who for who, _ in database.read(lambda tx: DocumentRows(tx, OWNER).referrers(b.id))] == []
    assert store.draft().unresolved(c.id) == []


def test_links_and_parent_left_out_stay(store: DocumentStore) -> None:
    """O18: what was not said is not changed."""
    b = add(store, "b")
    a = add(store, "a", links=(b.id,))
    changed = change(store, a, title="Another")
    assert (changed.links, changed.parent_id, changed.title) == ((b.id,), MEMORY_ID, "Another")


def test_unresolved_targets_are_kept_as_text_and_reported(store: DocumentStore) -> None:
    """O17: nothing outside the owner's documents ever resolves."""
    body = "[[b]] [[~/x]] [[ b |label]] [[]] [[a\nb]] [single] [[~]] [[../x]] [[~/memory/b]]"
    add(store, "b")
    a = add(store, "a", body=body)
    assert store.read(a.id).body == body
    assert store.draft().unresolved(a.id) == ["~/x", "~", "../x"]


def test_a_body_with_countless_targets_is_refused(store: DocumentStore) -> None:
    """O17: each one costs a look."""
    with pytest.raises(InputError, match="at most 500"):
        add(store, "a", body=" ".join(f"[[t{number}]]" for number in range(501)))


# Deletion


def test_deletion_is_soft(store: DocumentStore, clock: FakeClock) -> None:
    """O19: it is gone, and can be read as it was."""
    bob = add(store, "bob", body="x")
    before = clock.now
    clock.turn(minutes=1)
    store.delete(bob.id, 1, note="moved away")
    assert store.find(bob.id) is None
    assert store.find("~/memory/bob") is None
    assert store.read("~/memory/bob", before).body == "x"
    assert [one.valid_to for one in store.versions(bob.id)] == [clock.now]
    assert store.changesets()[0].note == "moved away"


def test_what_is_used_cannot_be_deleted(store: DocumentStore) -> None:
    """O19: as parent or link; the error names who uses it. A mention in a body holds nothing."""
    a = add(store, "a")
    b = add(store, "b", a.path)
    c = add(store, "c", links=(b.id,), body="[[a]]")
    with pytest.raises(DocumentInUse, match=r"~/memory/a is the parent of, or linked by, ~/memory/a/b\."):
        store.delete(a.id, 1)
    with pytest.raises(DocumentInUse, match="~/memory/c"):
        store.delete(b.id, 1)
    change(store, c, links=[])
    store.delete(b.id, 1)
    store.delete(a.id, 1)
    assert paths(store) == [MEMORY_ROOT, "~/memory/c"]


def test_a_deletion_and_a_new_child_at_once_leave_no_orphan(store: DocumentStore) -> None:
    """O17, O19: one of the two is refused."""
    for number in range(3):
        a = add(store, f"a{number}")

        def act(which: int, a: Document = a) -> bool:
            try:
                store.delete(a.id, 1) if which else add(store, "child", a.path)
            except (DocumentInUse, DocumentNotFound, StaleWrite):
                return False
            return True

        assert sorted(in_threads(2, act)) == [False, True]
    assert all(store.find(one.parent_id) for one in store.walk() if one.parent_id)


# Limits


@pytest.mark.parametrize(("field", "limit"), [("title", 500), ("description", 2_000), ("body", 200_000)])
def test_texts_have_a_limit(store: DocumentStore, field: str, limit: int) -> None:
    """O15: and take what every database takes. None is a description that is left out, and nothing else."""
    content = {"slug": "a", "title": "", "description": "", "body": ""}
    refused = ("x" * (limit + 1), "a\0b", "\ud800", 3, *(() if field == "description" else (None,)))
    store.write(**{**content, field: "x " * (limit // 2)})  # type: ignore[arg-type]
    for bad in refused:
        with pytest.raises(InputError):
            store.write(**{**content, "slug": "b", field: bad})


def test_no_secret_gets_into_a_document(store: DocumentStore) -> None:
    """S4: it is taken out on the way in."""
    bob = add(store, "bob", body="The password is hunter2-hunter2. [r1]")
    assert "hunter2" not in bob.body
    bob = store.edit(bob.id, 1, append="His other password is swordfish99. [r2]")
    assert "swordfish" not in bob.body
    assert "[r2]" in bob.body


# Time travel


def test_the_tree_as_of_any_time_shows_whole_changesets(
    store: DocumentStore, clock: FakeClock, database: Database
) -> None:
    """O21: never a half of one."""
    seen: list[tuple[datetime, list[str]]] = []
    for number in range(4):
        clock.turn(seconds=10)
        draft = store.draft()
        for name in "ab":
            draft.write(slug=f"{name}{number}", title="", description="", body="", parent_path=MEMORY_ROOT)
        database.write(lambda tx, draft=draft: commit(tx, draft, Changeset(0, OWNER, clock(), "edit", "x")))  # type: ignore[misc]
        seen.append((clock.now, paths(store)))
    before: list[str] = []
    for at, expected in seen:
        assert paths(store, at - timedelta(microseconds=1)) == before
        assert paths(store, at) == paths(store, at + timedelta(seconds=9)) == expected
        before = expected


def test_time_grows_when_the_clock_stands_or_goes_back(store: DocumentStore, clock: FakeClock) -> None:
    """O21: each changeset has a moment of its own."""
    bob = add(store, "bob")
    for number in range(1, 4):
        clock.turn(hours=-1)
        store.edit(bob.id, number, append=f"Line {number}.")
    times = [changeset.at for changeset in reversed(store.changesets())]
    assert times == sorted(set(times))
    for number, at in enumerate(times, 1):
        assert store.read(bob.id, at).version == number


def test_a_document_as_of_a_time_lies_where_it_lay(store: DocumentStore, clock: FakeClock) -> None:
    """O21: paths too are of that time."""
    people = add(store, "people")
    bob = add(store, "bob", people.path)
    then = store.changesets()[0].at
    clock.turn(seconds=1)
    change(store, people, slug="folks")
    assert store.read(bob.id, then).path == "~/memory/people/bob"
    assert store.find("~/memory/people/bob") is None
    assert [one.slug for one in store.children("~/memory", then)] == ["people"]
    assert store.roots(then - timedelta(days=1)) == []
    assert store.find("~/memory/folks/bob", then) is None


def test_a_time_needs_a_zone(store: DocumentStore) -> None:
    """O21: a time that is the same everywhere."""
    for call in (store.find, store.read):
        with pytest.raises(InputError, match="time zone"):
            call("~/memory", datetime(2026, 1, 1))  # noqa: DTZ001
    with pytest.raises(InputError, match="time zone"):
        store.rollback_to("yesterday")  # type: ignore[arg-type]


def test_a_diff_of_any_two_versions(store: DocumentStore) -> None:
    """O21: fields that differ, then the body; in either direction."""
    bob = add(store, "bob", body="One. [r1]\n\nTwo. [r2]")
    change(store, bob, title="Robert", body="One. [r1]\n\nThree. [r3]")
    change(store, bob, slug="robert")
    changed = store.diff(bob.id, 1, 2)
    assert [line for line in changed.splitlines()[2:] if line[0] in "+-"] == [
        "-title: Bob",
        "+title: Robert",
        "-Two. [r2]",
        "+Three. [r3]",
    ]
    assert "+Two. [r2]" in store.diff(bob.id, 3, 1)
    assert "+slug: robert" in store.diff(bob.id, 2, 3)
    assert store.diff(bob.id, 2, 2) == ""
    with pytest.raises(InputError, match=r"has no version 4\. Its versions are 1 to 3"):
        store.diff(bob.id, 1, 4)
    with pytest.raises(DocumentNotFound):
        store.diff("nothing", 1, 2)


# Owners


def test_one_owner_never_sees_another_s_documents(
    store: DocumentStore, database: Database, clock: FakeClock
) -> None:
    """O15, O17: not by id, path, target, link, parent, key or changeset."""
    other = DocumentStore(database, "other", clock)
    theirs = add(other, "bob", body="Tea. [r1]")
    changeset = other.changesets()[0]
    for look in (theirs.id, theirs.path):
        assert store.find(look) is None
    assert paths(store) == [MEMORY_ROOT]
    mine = add(store, "a", body=f"[[{theirs.id}]] [[bob]]")
    assert store.draft().unresolved(mine.id) == [theirs.id, "bob"]
    for call in (
        lambda: add(store, "b", links=(theirs.id,)),
        lambda: store.write(slug="b", title="", description="", body="", parent_id=theirs.id),
        lambda: store.edit(theirs.id, 1, append="x"),
        lambda: store.versions(theirs.id),
    ):
        with pytest.raises(DocumentNotFound):
            call()
    assert [one.document_id for one in other.draft().find_facts([{"tea"}])[0]] == [theirs.id]
    assert store.draft().find_facts([{"tea"}]) == [[]]
    for ask in (store.changeset, store.changes, store.rollback):
        with pytest.raises(ChangesetNotFound, match=rf"the id {changeset.id}\. List them"):
            ask(changeset.id)


# Cost


def fill(tx: Transaction, many: int) -> None:
    """Documents in folders of a hundred, straight into the tables."""
    row = tx.one("SELECT max(id), max(at) FROM changesets")
    assert row
    insert = (
        "INSERT INTO documents (owner, id, version, valid_from, parent_id, slug, title, description, body, "
        "changeset_id) VALUES (?, ?, 1, ?, ?, ?, 't', 'd', 'b', ?)"
    )
    folders = [(OWNER, f"f{n}", row[1], MEMORY_ID, f"f{n}", row[0]) for n in range(many // 100)]
    leaves = [(OWNER, f"d{n}", row[1], f"f{n // 100}", f"d{n}", row[0]) for n in range(many)]
    tx.many(insert, folders + leaves)


def test_an_update_does_not_grow_with_the_tree(database: Database, clock: FakeClock) -> None:
    """O18: an edit in 10,000 documents takes as much work as in 100. What it takes in time is for
    `make bench PART=organize` to say."""
    store = DocumentStore(database, OWNER, clock)
    add(store, "bob")

    def work() -> int:
        bob = store.read("~/memory/bob")
        taken = work_of(database, lambda: store.edit(bob.id, bob.version, append="Likes tea. [r1]"))
        store.edit(bob.id, bob.version + 1, find="Likes tea. [r1]", replace="")
        return taken

    small = work()
    database.write(lambda tx: fill(tx, 10_000))
    analyze(database, "documents")
    assert 10 < work() < 1.5 * small


def test_a_walk_looks_at_each_document_once(store: DocumentStore, database: Database) -> None:
    """O21: ten times as many documents are ten times as much work, not a hundred times."""
    add(store, "bob")
    at = store.changesets()[0].at

    def works() -> list[int]:
        walks = (("~", None), ("~", at), (MEMORY_ROOT, None), (MEMORY_ROOT, at))
        return [work_of(database, lambda walk=walk: list(store.walk(*walk))) for walk in walks]  # type: ignore[misc]

    database.write(lambda tx: fill(tx, 1_000))
    analyze(database, "documents")
    small = works()
    database.write(lambda tx: tx.run("DELETE FROM documents WHERE slug LIKE 'f%' OR slug LIKE 'd%'"))
    database.write(lambda tx: fill(tx, 10_000))
    analyze(database, "documents")
    assert len(list(store.walk())) == 10_102
    assert [large < 15 * little for large, little in zip(works(), small, strict=True)] == [True] * 4


def test_times_are_utc(store: DocumentStore) -> None:
    """O15: as stored."""
    assert add(store, "a").valid_from.tzinfo is UTC


def test_a_title_names_a_document(store: DocumentStore) -> None:
    """O17, O13a: in any case, as long as only one document has it."""
    anna = store.write(slug="anna-berg", title="Anna Berg", body="", parent_path=MEMORY_ROOT)
    note = add(store, "note", body="See [[anna berg]] and [[Anna]].")
    assert Reference(anna.id, "body") in store.references(note.id)
    assert store.draft().unresolved(note.id) == ["Anna"]
    store.write(slug="other", title="Anna Berg", body="", parent_path=MEMORY_ROOT)
    assert store.draft().unresolved(note.id) == ["anna berg", "Anna"]
