"""R1: files that a person may edit at any time are found as they are, whatever stands in them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from lifelong import Memory, User
from lifelong.journal.indexing import appended_journal_items, journal_items
from lifelong.recall.index_writer import FileSync
from lifelong.recall.items import Items
from lifelong.storage.base import Database, Transaction
from lifelong.testing import FakeClock
from lifelong.types import Item
from tests.conftest import OpenMemory, everything


def texts(memory: Memory, question: str) -> list[str]:
    memory.organize()
    return sorted(hit.text for hit in everything(memory.search(question, 20)))


@pytest.fixture
def journal(open_memory: OpenMemory) -> Memory:
    memory = open_memory(continuity={"journal_enabled": True})
    memory.journal.remember("The boiler is serviced by Ferreira.", "learned")
    return memory


def edit(page: Path, old: str, new: str) -> None:
    """As a person does it, later than everything before."""
    at = page.stat().st_mtime_ns + 10**9
    page.write_text(page.read_text().replace(old, new))
    os.utime(page, ns=(at, at))


def notes_of(memory: Memory) -> Path:
    return memory.home.user_folder("default") / "workers/plumber/memory"


def test_text_that_is_none_is_found_all_the_same(journal: Memory) -> None:
    """R1: bytes that no database takes are marked, and what stands beside them is found."""
    page = journal.home.user_folder("default") / "MEMORY.md"
    page.write_bytes(
        page.read_bytes() + b"\nThe boiler\0 hums \xff.\n" + b'- {"id": "a\\u0000", "text": "boiler\\u0000"}\n'
    )
    journal.notes.worker("plumber").store("pipes", "The boiler valve sticks.")
    (notes_of(journal) / "odd.md").write_bytes(b"Some other boiler\0 in the cellar leaks \xed\xa0\x80")
    found = texts(journal, "boiler")
    assert "The boiler valve sticks." in found
    assert "The boiler is serviced by Ferreira." in found
    assert "The boiler\ufffd hums \ufffd." in found
    assert not any("\0" in text for text in found)
    assert len(found) == 5


def test_the_end_of_a_summary_is_no_text(journal: Memory) -> None:
    """R1, R11: what LONGMEMORY.md marks its blocks with is not listed."""
    page = journal.home.user_folder("default") / "LONGMEMORY.md"
    page.write_text("# Long-term memory\n\n## 2026-01-02 (all)\n\nThe attic is dry.\n\n<!-- end -->\n\n")
    journal.organize()
    listed = [hit.text for hit in journal.list("journal")]
    assert "The attic is dry." in listed
    assert not [text for text in listed if "<!--" in text]


def test_a_line_that_may_be_part_of_a_record_is_not_found(journal: Memory) -> None:
    """R1, S4: nobody knows how secret it is."""
    journal.journal.remember("The boiler key hangs behind the mirror.", "learned", "secret")
    page = journal.home.user_folder("default") / "MEMORY.md"
    edit(page, '"secret"}}', '"secret"}')
    assert texts(journal, "boiler key mirror") == ["The boiler is serviced by Ferreira."]


def test_what_a_person_marks_as_secret_on_one_page_is_found_on_none(journal: Memory) -> None:
    """R1, S4: the page of its day, which nobody rewrites, says otherwise."""
    journal.journal.remember("The boiler key hangs behind the mirror.", "learned", "private-user")
    assert len(texts(journal, "boiler")) == 2
    edit(journal.home.user_folder("default") / "MEMORY.md", '"private-user"', '"secret"')
    assert texts(journal, "boiler") == ["The boiler is serviced by Ferreira."]


def test_a_page_that_cannot_be_filed_keeps_no_other_from_it(
    memory: Memory, database: Database, clock: FakeClock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """R1: it is said once, tried again, and what stood there stays."""

    def items(data: bytes, page: Path) -> list[Item]:
        text = data.decode("utf-8", "surrogatepass")
        return [Item("note", f"{page.name}#{len(text)}", text, clock(), page.name)]

    pages = [tmp_path / "beds.md", tmp_path / "pipes.md"]
    files = FileSync(database, "default", clock, Path.read_bytes, "note", lambda: pages, items, alone=True)
    pages[0].write_text("Beans climb by the boiler.")
    assert files.sync({}) == 1
    pages[0].write_bytes(b"\xed\xa0\x80 boiler")
    pages[1].write_text("The boiler valve sticks.")
    assert files.sync({}) == 1
    assert files.sync({}) == 0
    assert {hit.text for hit in everything(memory.search("boiler"))} == {
        "Beans climb by the boiler.",
        "The boiler valve sticks.",
    }
    assert caplog.text.count("beds.md: indexing failed") == 1
    pages[0].write_text("The boiler is gone.")
    files.sync({})
    found = everything(memory.search("boiler"))
    assert {hit.text for hit in found} == {"The boiler is gone.", "The boiler valve sticks."}


def test_a_page_that_cannot_be_read_is_found_as_it_was(journal: Memory, open_memory: OpenMemory) -> None:
    """R1: also by who never read it, and until it can be read again."""
    journal.notes.worker("plumber").store("pipes", "The boiler valve sticks.")
    assert "The boiler valve sticks." in texts(journal, "boiler")
    page, root = notes_of(journal) / "pipes.md", journal.home.user_folder("default")
    pages = [page, root / "MEMORY.md", *(root / "memory").glob("*.md")]
    for one in pages:
        one.unlink()
        one.mkdir()
    for memory in (journal, open_memory(continuity={"journal_enabled": True})):
        found = texts(memory, "boiler")
        assert found == ["The boiler is serviced by Ferreira.", "The boiler valve sticks."]
    page.rmdir()
    assert "The boiler valve sticks." not in texts(journal, "boiler")


def test_a_record_that_was_edited_is_found_as_it_is(journal: Memory, open_memory: OpenMemory) -> None:
    """R1, O29: under the same id, on whichever page, now or while nobody looked; once."""
    root = journal.home.user_folder("default")
    (day,) = (root / "memory").glob("*.md")
    journal.organize()
    (before,) = journal.search("boiler")
    journal.pin(before.id)
    edit(root / "MEMORY.md", "Ferreira", "Gomes")
    assert texts(journal, "boiler") == ["The boiler is serviced by Gomes."]
    assert texts(journal, "Gomes") == ["The boiler is serviced by Gomes."]
    assert [hit.id for hit in everything(journal.search("boiler"))] == [before.id]
    context = journal.context("hello", agent=journal.agent(User("cli", "alice", "main")))
    assert "Gomes" in context, "it is pinned as before"
    assert "Ferreira" not in context
    journal.journal.remember("The attic is dry.", "learned")
    assert "The boiler is serviced by Gomes." in texts(journal, "boiler"), "another line of the day is newer"
    edit(day, "Ferreira", "Horta")
    again = open_memory(continuity={"journal_enabled": True})
    assert "The boiler is serviced by Horta." in texts(again, "boiler")
    assert "The boiler is serviced by Horta." in texts(journal, "boiler"), "who held it in memory"
    assert not any("Gomes" in text or "Ferreira" in text for text in texts(journal, "boiler"))
    assert journal.admin.verify() == []


def test_what_stands_on_a_page_follows_in_its_order(memory: Memory) -> None:
    """R2: what stands beside an item counts for it, so a page is filed from its beginning to its end."""
    lines = [f"Pipe {number} leaks." for number in range(30)]
    memory.notes.worker("plumber").store("pipes", "\n\n".join(lines))
    memory.organize()
    assert [hit.text for hit in reversed(memory.list("note"))] == lines


LINE = '- {{"id": "l{}", "text": "The boiler {}."}}\n'


class NoWrites:
    """A database to which nothing may be written."""

    def __init__(self, database: Database) -> None:
        self.read = database.read

    def write(self, work: Callable[[Transaction], object]) -> object:
        raise AssertionError("nothing is to be written")


def test_of_a_file_that_grew_only_the_new_lines_are_parsed(
    database: Database, clock: FakeClock, tmp_path: Path
) -> None:
    """R1, F3: a line is added with each turn; another change, or text that may go on, has the whole file read."""
    page, parsed = tmp_path / "MEMORY.md", list[int]()

    def items(data: bytes, path: Path) -> list[Item]:
        parsed.append(data.count(b"- {"))
        return list(journal_items(data, path, tmp_path))

    def appended(data: bytes, path: Path) -> list[Item] | None:
        found = appended_journal_items(data, path, tmp_path)
        parsed.extend([] if found is None else [len(found)])
        return found

    def synced(database: Database = database) -> FileSync:
        return FileSync(
            *(database, "default", clock, Path.read_bytes, "journal", lambda: [page], items),
            alone=True,
            appended=appended,
        )

    files = synced()
    contents = [
        "# Memory\n\n" + LINE.format(1, "hums") + LINE.format(2, "leaks"),
        "{}" + LINE.format(3, "is new") + LINE.format(1, "is silent"),
        "{}It was a gift.\n",
        "{}It is red.\n",
        "{}" + LINE.format(4, "is warm"),
    ]
    for number, content in enumerate(contents):
        page.write_text(content.replace("{}", page.read_text() if number else ""))
        files.sync({})
    edit(page, "leaks", "drips")
    page.write_text(page.read_text() + LINE.format(5, "is cold"))
    files.sync({})
    assert parsed == [2, 2, 4, 4, 1, 6], "a paragraph may go on, and a line was edited"
    indexed = dict(database.read(lambda tx: Items(tx, "default").texts("journal")))
    assert indexed == {item.ref: item.text for item in journal_items(page.read_bytes(), page, tmp_path)}
    assert synced(cast(Database, NoWrites(database))).sync({}) == 0, (
        "a process that starts finds all of it in the index"
    )
