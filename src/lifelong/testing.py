"""What a test of lifelong, or of something built on it, needs: a clock to turn, an organizer that does as it is
told, and the contract that every `Database` keeps. Needs pytest.

    class TestMine(DatabaseContract):
        @pytest.fixture
        def database(self) -> Iterator[Database]: ...
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import pytest

from lifelong.errors import MemoryClosed, StorageConflict, StorageError
from lifelong.organize.draft import Draft
from lifelong.organize.organizer import RunResult, Transcript
from lifelong.storage.base import Database, Transaction
from lifelong.types import new_id

T = TypeVar("T")


class FakeClock:
    """A clock that stands still until it is turned."""

    def __init__(self, now: datetime = datetime(2026, 2, 24, 10, 0, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def turn(self, **by: float) -> datetime:
        """Turn the clock on, e.g. `clock.turn(seconds=60)`."""
        self.now += timedelta(**by)
        return self.now


class ScriptedOrganizer:
    """An organizer that keeps what it was given in `seen`, and does for each transcript the next thing of its
    script: an error is raised, a function is called with transcript and draft. With an empty script it adds a
    fact for each record to `~/memory/log`."""

    name = "scripted"

    def __init__(self, *script: BaseException | Callable[[Transcript, Draft], object]) -> None:
        self.script = list(script)
        self.seen: list[Transcript] = []
        self.waiting = ""

    def blocked_reason(self) -> str:
        return self.waiting

    def status_notes(self) -> list[str]:
        return []

    def organize(self, transcript: Transcript, draft: Draft) -> RunResult:
        self.seen.append(transcript)
        act = self.script.pop(0) if self.script else log_records
        if isinstance(act, BaseException):
            raise act
        act(transcript, draft)
        return RunResult("DONE")


def log_records(transcript: Transcript, draft: Draft, slug: str = "log") -> None:
    """Add a fact for each record of the transcript to `~/memory/<slug>`."""
    facts = [f"Said something. [r{recorded.id}]" for recorded in transcript.records]
    document = draft.at(f"~/memory/{slug}")
    if document:
        draft.edit(document.id, document.version, append="\n\n".join(facts))
    else:
        body = "\n\n".join(facts)
        draft.write(slug=slug, title="Log", description="", body=body, parent_path="~/memory")


def in_threads(count: int, call: Callable[[int], T]) -> list[T]:
    """`call(0)` … `call(count - 1)`, all at once, each in a thread. The first error is raised here."""
    ready = threading.Barrier(count)

    def run(number: int) -> T:
        ready.wait()
        return call(number)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))


class DatabaseContract:
    """What holds for every `Database`. Subclass it with a fixture `database` that gives a fresh one."""

    @pytest.fixture(autouse=True)
    def _table(self, database: Database) -> None:
        database.write(lambda tx: tx.run("CREATE TABLE things (name TEXT NOT NULL PRIMARY KEY, size BIGINT)"))

    def test_a_write_is_there_for_the_next_read(self, database: Database) -> None:
        database.write(lambda tx: _add(tx, "a", 1))
        assert _things(database) == [("a", 1)]

    def test_a_write_returns_what_its_work_returns(self, database: Database) -> None:
        assert database.write(lambda tx: tx.one("SELECT ?", "x")) == ("x",)

    def test_a_write_that_raises_leaves_nothing(self, database: Database) -> None:
        def work(tx: Transaction) -> None:
            _add(tx, "a", 1)
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            database.write(work)
        assert _things(database) == []

    def test_the_next_write_after_one_that_raised_works(self, database: Database) -> None:
        with pytest.raises(StorageError):
            database.write(lambda tx: tx.run("INSERT INTO no_such_table VALUES (1)"))
        database.write(lambda tx: _add(tx, "a", 1))
        assert _things(database) == [("a", 1)]

    def test_a_broken_rule_is_a_conflict(self, database: Database) -> None:
        database.write(lambda tx: _add(tx, "a", 1))
        with pytest.raises(StorageConflict):
            database.write(lambda tx: _add(tx, "a", 2))
        assert _things(database) == [("a", 1)]

    def test_a_failed_statement_that_is_passed_over_is_never_half_stored(self, database: Database) -> None:
        """SQLite keeps what stood before the statement, PostgreSQL nothing: either way, what was
        acknowledged is there."""
        database.write(lambda tx: _add(tx, "taken", 1))

        def work(tx: Transaction) -> None:
            _add(tx, "before", 1)
            try:
                _add(tx, "taken", 2)
            except Exception:
                return

        try:
            database.write(work)
        except StorageError:
            assert _things(database) == [("taken", 1)]
        else:
            assert _things(database) == [("before", 1), ("taken", 1)]

    def test_run_counts_the_rows_it_changed(self, database: Database) -> None:
        def work(tx: Transaction) -> tuple[int, int, int]:
            added = _add(tx, "a", 1) + _add(tx, "b", 1)
            return (
                added,
                tx.run("UPDATE things SET size = 2"),
                tx.run("UPDATE things SET size = 3 WHERE name = ?", "none"),
            )

        assert database.write(work) == (2, 2, 0)

    def test_one_gives_the_first_row_or_none(self, database: Database) -> None:
        database.write(lambda tx: _add(tx, "a", None))
        assert database.read(lambda tx: tx.one("SELECT name, size FROM things")) == ("a", None)
        assert database.read(lambda tx: tx.one("SELECT name FROM things WHERE name = ?", "b")) is None

    @pytest.mark.parametrize("count", [0, 1, 3])
    def test_many_runs_in_order_and_returns_in_order(self, database: Database, count: int) -> None:
        rows = [(f"n{number}", number) for number in range(count)]
        insert = "INSERT INTO things (name, size) VALUES (?, ?) RETURNING size"
        returned = database.write(lambda tx: tx.many(insert, rows))
        assert returned == [(number,) for number in range(count)]
        updated = database.write(lambda tx: tx.many("UPDATE things SET size = 0 WHERE name = ?", [("n0",)]))
        assert updated == []

    @pytest.mark.parametrize("count", [0, 1, 3])
    def test_insert_tells_the_ids_of_what_it_stored(self, database: Database, count: int) -> None:
        def work(tx: Transaction) -> list[tuple[str, int]]:
            for _ in range(2):
                stored = tx.insert("embedders (identity)", [(new_id(),) for _ in range(3)])
                tx.run("DELETE FROM embedders WHERE id = ?", stored[-1])
            names = [new_id() for _ in range(count)]
            return list(zip(names, tx.insert("embedders (identity)", [(name,) for name in names]), strict=True))

        told = database.write(work)
        rows = database.read(lambda tx: tx.all("SELECT identity, id FROM embedders ORDER BY id"))
        assert rows[len(rows) - count :] == told

    def test_rows_may_bring_their_ids(self, database: Database) -> None:
        """Ids that are given out later are above those that were skipped."""

        def work(tx: Transaction) -> list[int]:
            (drawn,) = tx.insert("embedders (identity)", [(new_id(),)])
            assert tx.lock_ids("embedders") == drawn
            tx.skip_ids("embedders", drawn + 10)
            tx.insert_with_ids("embedders (id, identity)", [(drawn + number, new_id()) for number in (3, 5)])
            return [number - drawn for number in tx.insert("embedders (identity)", [(new_id(),)])]

        assert database.write(work) == [11]

    def test_many_selects(self, database: Database) -> None:
        database.write(lambda tx: tx.many("INSERT INTO things VALUES (?, ?)", [("a", 1), ("b", 2)]))
        found = database.read(
            lambda tx: tx.many("SELECT size FROM things WHERE name = ?", [("b",), ("none",), ("a",)])
        )
        assert found == [(2,), (1,)]

    def test_a_percent_sign_and_any_text_pass_through(self, database: Database) -> None:
        text = "100 % 'ü' \"quoted\" \\ 学 \U0001f600 ? %s"
        database.write(lambda tx: _add(tx, text, 1))
        assert database.read(lambda tx: tx.all("SELECT name FROM things WHERE name LIKE '100 %'")) == [(text,)]

    def test_a_read_sees_one_moment(self, database: Database) -> None:
        database.write(lambda tx: _add(tx, "a", 1))

        def work(tx: Transaction) -> tuple[int, int]:
            before = len(tx.all("SELECT name FROM things"))
            in_threads(1, lambda _: database.write(lambda other: _add(other, "b", 1)))
            return before, len(tx.all("SELECT name FROM things"))

        assert database.read(work) == (1, 1)
        assert len(_things(database)) == 2

    def test_writers_at_once_all_land_and_none_hurts_another(self, database: Database) -> None:
        """Group commit: every third one fails, the others are there."""

        def write(number: int) -> bool:
            def work(tx: Transaction) -> None:
                _add(tx, f"n{number:02}", number)
                if number % 3 == 0:
                    raise KeyError(number)

            for _ in range(5):
                try:
                    database.write(work)
                except KeyError:
                    continue
                except StorageConflict:
                    return True
            return False

        outcomes = in_threads(24, write)
        assert [row[1] for row in _things(database)] == [n for n in range(24) if n % 3]
        assert outcomes == [n % 3 != 0 for n in range(24)]

    def test_a_change_through_a_fresh_read_is_never_lost(self, database: Database) -> None:
        """Read, then write, under the row's lock: 8 threads count to 80."""
        database.write(lambda tx: _add(tx, "count", 0))

        def add_one(tx: Transaction) -> None:
            row = tx.one(f"SELECT size FROM things WHERE name = 'count'{tx.for_update}")
            assert row
            tx.run("UPDATE things SET size = ? WHERE name = 'count'", row[0] + 1)

        in_threads(8, lambda _: [database.write(add_one) for _ in range(10)])
        assert _things(database) == [("count", 80)]

    def test_check_finds_nothing_wrong_with_a_sound_database(self, database: Database) -> None:
        assert database.check() == []

    def test_a_closed_database_says_so(self, database: Database) -> None:
        database.close()
        database.close()
        with pytest.raises(MemoryClosed):
            database.write(lambda tx: _add(tx, "a", 1))
        with pytest.raises(MemoryClosed):
            database.read(lambda tx: tx.all("SELECT 1"))


def _add(tx: Transaction, name: str, size: int | None) -> int:
    return tx.run("INSERT INTO things (name, size) VALUES (?, ?)", name, size)


def _things(database: Database) -> list[tuple[str, int]]:
    return database.read(
        lambda tx: [(row[0], row[1]) for row in tx.all("SELECT name, size FROM things ORDER BY name")]
    )
