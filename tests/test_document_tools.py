"""The document tools: what a model edits documents with (SPEC O20)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lifelong.errors import DocumentNotFound, InputError, StaleWrite
from lifelong.organize.document_rows import MEMORY_ROOT
from lifelong.organize.documents import DocumentStore
from lifelong.organize.draft import Draft
from lifelong.organize.tools import document_tools
from lifelong.storage.base import Database
from lifelong.testing import FakeClock

Call = Callable[..., str]


@pytest.fixture
def store(database: Database, clock: FakeClock) -> DocumentStore:
    return DocumentStore(database, "default", clock)


@pytest.fixture(params=["draft", "store"])
def target(request: pytest.FixtureRequest, store: DocumentStore) -> Draft | DocumentStore:
    return store if request.param == "store" else store.draft(below=MEMORY_ROOT)


@pytest.fixture
def tools(target: Draft | DocumentStore) -> tuple[Call, Call, Call]:
    read, write, edit = (tool.call for tool in document_tools(target))
    return read, write, edit


def write(call: Call, slug: str, body: str = "", under: str = MEMORY_ROOT, **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(
        call(slug=slug, title=slug.title(), description=f"about {slug}", body=body, parent_path=under, **more)
    )
    return answer


def test_the_tools_take_exactly_what_the_spec_says(target: Draft | DocumentStore) -> None:
    """O20: names, parameters, and which of them are needed."""
    found = {tool.name: tool for tool in document_tools(target)}
    assert {name: list(tool.parameters["properties"]) for name, tool in found.items()} == {
        "document_read": ["document_id", "path"],
        "document_write": [
            "document_id", "expected_version", "slug", "title", "description", "body", "parent_id", "parent_path",
            "links",
        ],
        "document_edit": ["document_id", "expected_version", "append", "find", "replace"],
    }  # fmt: skip
    assert {name: tool.parameters["required"] for name, tool in found.items()} == {
        "document_read": [],
        "document_write": ["slug", "title", "description", "body"],
        "document_edit": ["document_id", "expected_version"],
    }
    for tool in found.values():
        assert tool.description
        assert tool.parameters["type"] == "object"
        assert tool.parameters["additionalProperties"] is False
        assert all(part["description"] for part in tool.parameters["properties"].values())
        json.dumps(tool.parameters)


@pytest.mark.parametrize("arguments", [{}, {"path": "~"}, {"path": "~/"}, {"path": ""}, {"document_id": ""}])
def test_read_without_a_name_gives_the_roots(tools: tuple[Call, Call, Call], arguments: dict[str, str]) -> None:
    """O20: neither, `~` or `~/`."""
    read, *_ = tools
    assert read(**arguments).startswith("The roots:\n- memory (id memory, version 1): Memory")


def test_read_tells_all_of_a_document(tools: tuple[Call, Call, Call], target: Draft | DocumentStore) -> None:
    """O20: title, id, slug, path, version, description, references, children with a preview, the ids of facts that
    are committed, body. S5: what an agent wrote and no record supports is marked."""
    read, make, _ = tools
    mark = ", from agent" if isinstance(target, DocumentStore) else ""
    tea = write(make, "tea")
    bob = write(make, "bob", "Likes [[tea]] and [[cake]]. [r1]\n\nTwo. [r2]", links=[tea["id"]])
    child = write(make, "garden", "x " * 200, bob["path"])
    answer = read(document_id=bob["id"])
    assert answer == read(path="~/memory/bob")
    assert answer.replace("current facts, in order: f1, f2\n", "") == "\n".join(
        [
            "# Bob",
            f"id: {bob['id']}",
            "slug: bob",
            "path: ~/memory/bob",
            "version: 1",
            "description: about bob",
            "references:",
            "- parent: ~/memory (id memory)",
            f"- link: ~/memory/tea (id {tea['id']})",
            f"- body: ~/memory/tea (id {tea['id']})",
            "- not found: [[cake]]",
            "children:",
            f"- garden (id {child['id']}, version 1): Garden: about garden",
            "body:",
            "",
            f"Likes [[tea]] and [[cake]]. [r1{mark}]",
            "",
            f"Two. [r2{mark}]",
        ]
    )


def test_read_of_the_memory_root_gives_the_outline(tools: tuple[Call, Call, Call]) -> None:
    """O20: the whole subtree, by slug."""
    read, make, _ = tools
    for slug, under in (
        ("people", MEMORY_ROOT),
        ("bob", "~/memory/people"),
        ("a", MEMORY_ROOT),
        ("car", "~/memory/people/bob"),
    ):
        write(make, slug, under=under)
    assert (
        "outline:\n- memory: Memory\n  - a: A\n  - people: People\n    - bob: Bob\n      - car: Car\nbody:"
    ) in read(path="~/memory")
    assert "outline" not in read(path="~/memory/people")


def test_a_large_tree_is_cut_and_says_so(store: DocumentStore) -> None:
    """O20: bounded, the categories first."""
    draft = store.draft()
    for folder in "abcdef":
        draft.write(slug=folder, title="", description="", body="", parent_path=MEMORY_ROOT)
        for number in range(41 + 10 * (folder == "a")):
            draft.write(slug=f"n{number:02}", title="", description="", body="", parent_path=f"~/memory/{folder}")
    read = document_tools(draft)[0].call
    outline = read(path=MEMORY_ROOT).split("outline:\n")[1].split("\nbody:")[0].splitlines()
    assert len(outline) < 220
    assert [line[4] for line in outline if line.startswith("  - ")] == list("abcdef")
    assert "    - … there is more below ~/memory/a" in outline
    assert "    - … there is more below ~/memory/f" in outline
    assert store.outline() == "- memory: Memory"


def test_many_children_are_cut_and_it_is_said(store: DocumentStore) -> None:
    """O20: an answer that fits a context."""
    draft = store.draft()
    for number in range(201):
        draft.write(slug=f"n{number:03}", title="T", description="", body="word " * 100, parent_path=MEMORY_ROOT)
    lines = document_tools(draft)[0].call(path=MEMORY_ROOT).splitlines()
    children = lines[lines.index("children:") + 1 : lines.index("outline:")]
    assert len(children) == 201
    assert children[-1] == "- … and more; read one by its path."
    assert all(len(line) < 200 for line in children)


def test_not_found_is_an_answer(tools: tuple[Call, Call, Call]) -> None:
    """O20: one that leads on."""
    read, make, _ = tools
    write(make, "people")
    assert read(document_id="nothing").startswith("Not found: no document has the id nothing.")
    answer = read(path="~/memory/people/bob/car")
    assert answer == "Not found: nothing lies at ~/memory/people/bob/car.\nbelow ~/memory/people: none"
    assert "- people (id" in read(path="~/memory/persons")


def test_both_names_are_an_error(tools: tuple[Call, Call, Call]) -> None:
    """O20: also where they agree."""
    read, *_ = tools
    with pytest.raises(InputError, match="not both"):
        read(document_id="memory", path="~/memory")


def test_write_makes_and_changes(tools: tuple[Call, Call, Call]) -> None:
    """O20: id, version and path."""
    read, make, _ = tools
    bob = write(make, "bob", "One. [r1]")
    assert set(bob) == {"id", "version", "path"}
    assert (bob["version"], bob["path"]) == (1, "~/memory/bob")
    again = write(make, "robert", "Two. [[x]] [r1]", document_id=bob["id"], expected_version=1)
    assert (again["id"], again["path"], again["not_found"]) == (bob["id"], "~/memory/robert", ["[[x]]"])
    assert "Two. [[x]] [r1" in read(path="~/memory/robert")
    with pytest.raises(InputError, match="expected_version"):
        write(make, "bob", document_id=bob["id"])
    with pytest.raises(DocumentNotFound):
        write(make, "bob", document_id="nothing", expected_version=1)
    with pytest.raises(InputError, match="Give one of the two"):
        write(make, "x", under=again["path"], parent_id="memory")


def test_edit_changes_a_little(tools: tuple[Call, Call, Call]) -> None:
    """O20: append, or find and replace; blanks that models fill in mean nothing."""
    read, make, edit = tools
    bob = write(make, "bob", "One. [r1]")
    version = json.loads(edit(document_id=bob["id"], expected_version=1, append="Two. [r2]", find="", replace=""))
    done = json.loads(
        edit(document_id=bob["id"], expected_version=version["version"], append="", find="One", replace="1")
    )
    answer = read(document_id=bob["id"])
    assert answer.replace(", from agent", "").endswith("1. [r1]\n\nTwo. [r2]")
    assert f"version: {done['version']}" in answer
    with pytest.raises(StaleWrite, match="Read it again"):
        edit(document_id=bob["id"], expected_version=done["version"] + 1, append="x")
    with pytest.raises(InputError):
        edit(document_id=bob["id"], expected_version=done["version"])


def test_an_empty_replacement_removes(tools: tuple[Call, Call, Call]) -> None:
    """O20: `replace` may be left out, or empty."""
    read, make, edit = tools
    bob = write(make, "bob", "One. Two.")
    edit(document_id=bob["id"], expected_version=1, find=" Two.", replace="")
    assert read(document_id=bob["id"]).endswith("\nOne.")


def test_a_memory_agent_s_tools_keep_below_memory(store: DocumentStore) -> None:
    """O20: wherever the model wants to write."""
    make = document_tools(store.draft(below=MEMORY_ROOT))[1].call
    for place in ({"parent_path": "~"}, {"parent_path": ""}, {}):
        with pytest.raises(InputError, match="does not lie below ~/memory"):
            make(slug="x", title="", description="", body="", **place)


def test_a_write_to_the_tree_is_a_changeset_of_the_agent(store: DocumentStore) -> None:
    """O9, S5: who wrote it is kept."""
    make = document_tools(store, author="scout")[1].call
    write(make, "bob")
    assert [(changeset.cause, changeset.author) for changeset in store.changesets()] == [("edit", "scout")]
    assert document_tools(store)[1].call(slug="y", title="", description="", body="")
    assert store.changesets()[0].author == "agent"


@pytest.mark.parametrize(
    "arguments",
    [{}, {"slug": "a"}, {"slug": "a", "title": "A", "description": "", "body": 5}, {"nonsense": 1}],
)
def test_arguments_that_do_not_fit_are_an_error_a_model_can_act_on(
    store: DocumentStore, arguments: dict[str, Any]
) -> None:
    """O20: never a TypeError."""
    write = next(tool for tool in document_tools(store) if tool.name == "document_write")
    with pytest.raises(InputError, match="argument"):
        write.call(**arguments)


def test_a_slug_holds_no_secret(store: DocumentStore) -> None:
    """S4."""
    with pytest.raises(InputError, match="secret"):
        store.write(slug="ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", title="", description="", body="")
