"""`Memory.check` and `lifelong doctor` (S1): what is damaged is found, what is sound is not called damaged."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from lifelong import Agent, Memory, User, UserMessage
from lifelong.errors import IndexCorrupt
from lifelong.recall.items import Items
from lifelong.recall.repair import IndexRepair
from lifelong.serve.restore import restore
from lifelong.storage.base import Transaction
from lifelong.storage.sqlite import SQLite
from tests.conftest import until

ALICE = User("cli", "alice", "main")

CHANCE = random.Random(7)
WORDS = ["".join(CHANCE.choices("abcdefghijklmnop", k=6)) for _ in range(3_000)]


def talk(turns: int) -> list[UserMessage]:
    """Say so many things with many different words, so that the full-text index is merged often."""
    return [UserMessage(" ".join(CHANCE.choices(WORDS, k=20))) for _ in range(turns)]


# What is sound is called sound


def test_a_sound_database_is_not_called_damaged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """S1: what was merged since the last question is not missing."""
    alarms: list[list[str]] = []
    for home in range(4):
        with Memory.open(tmp_path / str(home)) as memory:
            alice = memory.agent(ALICE)
            for _ in range(10):
                memory.append_many(alice, talk(200))
                memory.search(WORDS[0], 5)
                memory.append_many(alice, talk(200))
                alarms.append(memory.admin.check())
    assert alarms == [[]] * 40
    assert "damaged" not in caplog.text


_WRITE = """
    import random, sys, time
    from lifelong import Memory, User, UserMessage
    chance, words = random.Random(8), sys.stdin.readline().split()
    with Memory.open(sys.argv[1]) as memory:
        bob = memory.agent(User("cli", "bob", "main"))
        while True:
            said = [UserMessage(" ".join(chance.choices(words, k=20))) for _ in range(20)]
            memory.append_many(bob, said)
            memory.search(words[1], 5)
            time.sleep(0.02)
"""


LONG = [pytest.param(100, marks=pytest.mark.soak, id=f"100 rounds of 500, part {part}") for part in range(1, 6)]


@pytest.mark.parametrize("rounds", [60, *LONG])
def test_a_sound_database_is_not_called_damaged_beside_writers(
    tmp_path: Path, rounds: int, caplog: pytest.LogCaptureFixture
) -> None:
    """S1, R1: one writes in this process, and one in another. Nobody takes the index for damaged, either."""
    command = [sys.executable, "-c", textwrap.dedent(_WRITE), str(tmp_path)]
    with (
        Memory.open(tmp_path) as memory,
        subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as other,
    ):
        alice = memory.agent(ALICE)
        try:
            assert other.stdin
            other.stdin.write(" ".join(WORDS) + "\n")
            other.stdin.flush()
            until(lambda: len(memory.agents.list()) == 2)
            alarms = beside_a_thread(memory, alice, rounds)
            assert other.poll() is None
        finally:
            other.kill()
        assert other.stderr
        assert other.stderr.read() == ""
    assert alarms == []
    assert "damaged" not in caplog.text


def beside_a_thread(memory: Memory, agent: Agent, rounds: int) -> list[str]:
    """Check so many times while a thread of this process writes. What was found wrong, of all rounds."""
    enough = threading.Event()

    def write() -> None:
        while not enough.wait(0.02):
            memory.append_many(agent, talk(20))

    thread = threading.Thread(target=write)
    thread.start()
    found: list[str] = []
    try:
        for _ in range(rounds):
            memory.search(WORDS[2], 5)
            time.sleep(0.03)
            found += memory.admin.check()
    finally:
        enough.set()
        thread.join()
    return found


# What is damaged is found


def wound(home: Path, block: Callable[[bytes], bytes]) -> None:
    """Write over the longest part of the full-text index."""
    file = apsw.Connection(str(home / "lifelong.db"))
    longest = "SELECT id, block FROM item_words_data WHERE id > 10 ORDER BY length(block) DESC LIMIT 1"
    [(id_, before)] = file.execute(longest).fetchall()
    assert isinstance(before, bytes)
    file.execute("UPDATE item_words_data SET block = ? WHERE id = ?", (block(before), id_))
    file.close()


def flipped(block: bytes) -> bytes:
    middle = len(block) // 2
    return block[:middle] + bytes(byte ^ 0xFF for byte in block[middle : middle + 40]) + block[middle + 40 :]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with an index that is complete."""
    with Memory.open(tmp_path) as memory:
        memory.append_many(memory.agent(ALICE), talk(200))
        memory.organize()
        assert memory.admin.check() == []
    return tmp_path


@pytest.mark.parametrize("block", [flipped, lambda block: bytes(len(block))], ids=["flipped bytes", "zeros"])
def test_a_full_text_index_that_is_damaged_is_to_be_rebuilt(home: Path, block: Callable[[bytes], bytes]) -> None:
    """S1: no backup is needed, for nothing that was stored is lost."""
    with Memory.open(home) as memory:
        memory.search(WORDS[0], 5)
        wound(home, block)
        (found,) = memory.admin.check()
        assert found.startswith("The full-text index is damaged: ")
        assert found.endswith(" Nothing that was stored is lost. Run: lifelong rebuild.")
        memory.admin.rebuild()
        memory.organize()
        assert memory.admin.check() == []
        assert memory.admin.verify() == []


@pytest.mark.parametrize("table", ["session_history", "items", "item_words_data"])
def test_a_page_that_is_damaged_is_found_in_any_table(home: Path, table: str) -> None:
    """S1: a page of the index, too, is mended by a backup alone."""
    file = apsw.Connection(str(home / "lifelong.db"))
    pages = file.execute("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'", (table,)).fetchall()
    file.close()
    with (home / "lifelong.db").open("r+b") as raw:
        raw.seek((int(str(pages[len(pages) // 2][0])) - 1) * 4096)
        raw.write(bytes(range(256)) * 16)
    with Memory.open(home) as memory:
        found = memory.admin.check()
    assert found
    assert all(sentence.startswith("The file is damaged: ") and "\n" not in sentence for sentence in found)


def test_an_error_of_the_full_text_index_does_not_ask_for_a_backup(home: Path) -> None:
    wound(home, lambda block: bytes(len(block)))
    sqlite = SQLite(home / "lifelong.db")

    def read_all_words(tx: Transaction) -> None:
        for owner, stems in tx.all("SELECT owner, stems FROM items WHERE length > 0"):
            for stem in memoryview(stems).cast("I"):
                Items(tx, owner).holding([stem], 1)

    with pytest.raises(IndexCorrupt, match=r"full-text index of .* is damaged .* Run: lifelong rebuild\.$"):
        sqlite.read(read_all_words)
    sqlite.close()


def wound_unseen(home: Path, repair: IndexRepair) -> None:
    """Write zeros over a part of the full-text index that a quick look does not read."""
    file = apsw.Connection(str(home / "lifelong.db"))
    for id_, before in file.execute("SELECT id, block FROM item_words_data WHERE id > 10").fetchall():
        assert isinstance(before, bytes)
        file.execute("UPDATE item_words_data SET block = ? WHERE id = ?", (bytes(len(before)), id_))
        if repair._fault() is None and len(before) > 1_000:
            break
        file.execute("UPDATE item_words_data SET block = ? WHERE id = ?", (before, id_))
    else:
        raise AssertionError("a quick look reads all of it")
    file.close()


@pytest.mark.parametrize("noticed_by", ["search", "append", "list"])
def test_a_part_of_the_full_text_index_that_is_damaged_is_repaired(
    home: Path, noticed_by: str, caplog: pytest.LogCaptureFixture
) -> None:
    """R1, C10: also where a first look at the index finds it sound. Nothing is refused, and all is found again."""
    with Memory.open(home) as memory:
        wound_unseen(home, memory._parts.shared.repair)
        alice = memory.agent(ALICE)
        for word in WORDS:
            if noticed_by == "search":
                memory.search(word, 5)
            elif noticed_by == "list":
                memory.list(subject=word)
            else:
                memory.append(alice, UserMessage(f"The lynx {word} is new."))
            if "full-text index was damaged" in caplog.text:
                break
        assert "full-text index was damaged" in caplog.text
        memory.organize()
        assert memory.admin.check() == []
        assert memory.admin.verify() == []
        said = [one.record.text for one in memory.sessions.history(alice)]  # type: ignore[union-attr]
        assert len(said) >= 200
        assert memory.search(said[-1], 1, kinds=("record",))[0].text == said[-1]


def test_a_backup_whose_full_text_index_alone_is_damaged_is_restored(home: Path, tmp_path: Path) -> None:
    """S1, R1: nothing of it is lost, and the index is made again."""
    wound(home, flipped)
    with Memory.open(home) as memory:
        memory.admin.backup(tmp_path / "copy.db")
    assert restore(tmp_path / "copy.db", tmp_path / "new").kept is None
    with Memory.open(tmp_path / "new") as memory:
        memory.organize()
        assert memory.admin.check() == []
        assert memory.admin.verify() == []
        said = [one.record.text for one in memory.sessions.history(memory.agent(ALICE))]  # type: ignore[union-attr]
        assert memory.search(said[0], 1, kinds=("record",))[0].text == said[0]


def test_the_doctor_tells_of_an_index_to_be_rebuilt(home: Path) -> None:
    wound(home, flipped)
    command = [sys.executable, "-m", "lifelong", "doctor", "--json", "--home", str(home)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1, ended.stderr
    (problem,) = json.loads(ended.stdout)["problems"]
    noticed_first = "Let a worker run, and look again."  # a look at the page that was hit had the index emptied
    assert problem.endswith(("Run: lifelong rebuild.", noticed_first))


def test_what_was_mended_meanwhile_is_not_called_damaged(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S1: it is looked at once more, as it is by then, before anything is said."""
    wound(home, flipped)
    sqlite = SQLite(home / "lifelong.db")
    connect, made = sqlite._connect, 0

    def connecting() -> apsw.Connection:
        nonlocal made
        made += 1
        if made == 2:
            wound(home, flipped)  # flips them back
        return connect()

    monkeypatch.setattr(sqlite, "_connect", connecting)
    assert sqlite.check() == []
    assert made == 2
    sqlite.close()
