"""Migrations (C5): numbered, recorded, and any older database with rows in it becomes what a fresh one is."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from zlib import crc32

import apsw
import psycopg
import pytest
from psycopg import sql as pgsql

from lifelong import Memory, UserMessage
from lifelong.collect.descriptors import Cron, Descriptor, Subagent, User, cache_key, encode
from lifelong.errors import NewerDatabase, StorageError
from lifelong.storage.base import Dialect, Row, Transaction
from lifelong.storage.migrations import LATEST, MIGRATIONS, applied, check_version, migrate
from lifelong.storage.postgres import _Transaction as PostgresTransaction
from lifelong.storage.sqlite import APPLICATION_ID
from lifelong.storage.sqlite import _Transaction as SQLiteTransaction

BEFORE = 1_700_000_000_000_000  # when the older databases were made

AGENTS: dict[str, tuple[str, Descriptor, str]] = {
    "a1": ("default", User("cli", "alice", "main"), "active"),
    "a2": ("default", Cron("nightly", "Nightly"), "sleeping"),
    "a3": ("work", User("cli", "alice", "main"), "active"),
    "a4": ("work", Subagent("s", "a3", "Helper"), "dead"),
}
SESSIONS = {
    "s1": ("a1", 1, "Start over."),
    "s2": ("a1", None, None),
    "s3": ("a2", None, None),
    "s4": ("a3", None, None),
    "s5": ("a4", 5, None),
}


def fill_1(tx: Transaction) -> None:
    """Rows as version 1 held them."""
    for agent_id, (owner, descriptor, state) in AGENTS.items():
        tx.run(
            "INSERT INTO agents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(agent_id, owner, descriptor.kind, cache_key(descriptor), encode(descriptor)),
            *(state, BEFORE, BEFORE),
            *(BEFORE if state == "active" else None, None),
        )
    for session_id, (agent_id, ended_at, message) in SESSIONS.items():
        tx.run(
            "INSERT INTO sessions (id, agent_id, created_at, ended_at, reset_message) VALUES (?, ?, ?, ?, ?)",
            *(session_id, agent_id, BEFORE, ended_at and BEFORE + ended_at, message),
        )
    for number in range(30):
        tx.run(
            "INSERT INTO session_history (session_id, type, provenance, at, recorded_at, data) "
            "VALUES (?, 'user_message', 'user', ?, ?, ?)",
            *(f"s{number % 5 + 1}", BEFORE, BEFORE + number, json.dumps({"text": f"number {number}"})),
        )
    tx.run("INSERT INTO turns VALUES ('s2', 2, ?)", BEFORE)
    tx.run("INSERT INTO append_keys VALUES ('a1', 'key', 2, 'digest')")


def fill_2(tx: Transaction) -> None:
    """What version 2 added."""
    tx.run("UPDATE sessions SET invalidated_at = 7, processed_until = 2 WHERE id = 's2'")


def fill_3(tx: Transaction) -> None:
    """What version 3 added: an item in each state."""
    for number, (state, due_at, lease) in enumerate(
        [("pending", BEFORE, None), ("leased", BEFORE, "token"), ("done", None, None), ("dead", None, None)]
    ):
        tx.run(
            "INSERT INTO inbox (agent_id, type, text, session_id, after_id, until_id, state, attempts, losses, "
            "due_at, lease, error, created_at) VALUES ('a1', 'system_message', 'text', 's1', ?, ?, ?, 1, 0, ?, ?, "
            "'', ?)",
            *(number, number + 1, state, due_at, lease, BEFORE),
        )


def fill_4(tx: Transaction) -> None:
    """What version 4 added: a document with a child, an earlier version and a link."""
    tx.run("INSERT INTO trees VALUES ('default', ?)", BEFORE)
    for number in (1, 2):
        tx.run(
            "INSERT INTO changesets (owner, at, cause, author, note, session_id, after_id, until_id, organizer, "
            "model, input_tokens, output_tokens, cost) VALUES ('default', ?, 'edit', 'person', '', '', 0, 0, '', "
            "'', 0, 0, 0)",
            BEFORE + number,
        )
    changesets = [row[0] for row in tx.all("SELECT id FROM changesets ORDER BY id")]
    rows = [
        ("d1", 1, BEFORE + 1, None, "", "memory", changesets[0], None),
        ("d2", 1, BEFORE + 1, BEFORE + 2, "d1", "people", changesets[0], changesets[1]),
        ("d2", 2, BEFORE + 2, None, "d1", "persons", changesets[1], None),
    ]
    tx.many(
        "INSERT INTO documents (owner, id, version, valid_from, valid_to, parent_id, slug, title, description, "
        "body, changeset_id, closed_by) VALUES ('default', ?, ?, ?, ?, ?, ?, 'Title', '', 'Body', ?, ?)",
        rows,
    )
    tx.run("INSERT INTO document_references VALUES ('default', 'd2', 2, 'd1', 'parent')")


def fill_5(tx: Transaction) -> None:
    """What version 5 added."""
    tx.run(
        "INSERT INTO ledger (at, owner, purpose, model, state, input_tokens, output_tokens, cost, estimated, "
        "error) VALUES (?, 'default', 'organize', 'test:model', 'done', 10, 5, 0.01, 0, '')",
        BEFORE,
    )


def fill_6(tx: Transaction) -> None:
    """What version 6 added."""
    tx.run("INSERT INTO journal_progress VALUES ('s2', 2)")
    tx.run("INSERT INTO journals VALUES ('default', '', ?)", BEFORE)
    tx.run("INSERT INTO schedules VALUES ('default', 'compaction', ?)", BEFORE)


def fill_7(tx: Transaction) -> None:
    """What version 7 added."""
    tx.run(
        "INSERT INTO items (owner, kind, ref, thread, agent_id, session_id, speaker, trust, at, since, text, "
        "stems, length, flags) VALUES ('default', 'record', '2', 's2', 'a1', 's2', '', 'user', ?, ?, '', ?, 1, 0)",
        *(BEFORE, BEFORE, b"stem"),
    )
    tx.run("INSERT INTO embedders (identity) VALUES ('static/1/256')")
    tx.run("INSERT INTO index_state VALUES ('default', 1, 0, NULL, NULL, 0)")
    tx.run("INSERT INTO pins VALUES ('default', 'record:2', ?)", BEFORE)
    tx.run("INSERT INTO corrections VALUES ('default', 'record:2', 3, ?)", BEFORE)


def fill_8(tx: Transaction) -> None:
    """What version 8 added."""
    tx.run(
        "INSERT INTO experiences (owner, id, text, category, session_id, record, trust, at, entities, used, "
        "used_at, without_vector) "
        "VALUES ('default', 'e1', 'The boiler hums.', 'note', '', '', 'agent', ?, '[]', 0, 0, 1)",
        BEFORE,
    )


def fill_9(tx: Transaction) -> None:
    """What version 9 added."""
    tx.run("INSERT INTO experience_vectors VALUES ('default', 'static/1/256', '')")


def fill_10(tx: Transaction) -> None:
    """What version 10 added."""
    tx.run("UPDATE items SET until = ?, end_known = ?", BEFORE, BEFORE + 1)
    tx.run("INSERT INTO citations VALUES ('default', 'd2', 3, ?, 4, ?)", BEFORE, BEFORE + 1)


def fill_11(tx: Transaction) -> None:
    """What version 11 added: nothing but work that is left."""


def fill_12(tx: Transaction) -> None:
    """What version 12 added."""
    tx.run("UPDATE sessions SET in_hand_since = ? WHERE id = 's2'", BEFORE)
    tx.run("UPDATE inbox SET lease_length = 120000000")


def fill_13(tx: Transaction) -> None:
    """What version 13 added."""
    tx.run("INSERT INTO item_vectors VALUES (1, 1, ?, 'default', 7)", b"vector")
    tx.run("UPDATE index_state SET number = 7, size = 1, first_item = 1, mean = ?, mean_of = 1", b"mean")


def fill_14(tx: Transaction) -> None:
    """What version 14 added: nothing, it drops tables."""


def fill_15(tx: Transaction) -> None:
    """What version 15 added."""
    tx.run("INSERT INTO unpins VALUES ('default', 'record:3', ?)", BEFORE)


def fill_16(tx: Transaction) -> None:
    """What version 16 added."""
    tx.run("INSERT INTO words VALUES ('default', 'harbour')")


def fill_17(tx: Transaction) -> None:
    """What version 17 added."""
    tx.run("INSERT INTO facts VALUES ('default', 'd2', 'digest', 'Mara lives in Porto.', 1)")
    tx.run("INSERT INTO ends VALUES ('default', 'fact', 'd2#digest', ?, ?, 4)", BEFORE, BEFORE + 1)
    tx.run("INSERT INTO citations VALUES ('default', 'd2', 'd2#digest', 3, 1, ?)", BEFORE)


def fill_18(tx: Transaction) -> None:
    """What version 18 added: nothing, it has the words of items written again."""


def fill_19(tx: Transaction) -> None:
    """What version 19 added."""
    tx.run("INSERT INTO tombstones VALUES ('default', 'record', '2', 'digest', ?, 'mara')", BEFORE)
    tx.run("UPDATE index_state SET removals = 2")
    tx.run("INSERT INTO digest_keys VALUES (1, 'key')")
    tx.run(
        "INSERT INTO erasures (owner, at, author, state, plan, report, done_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        *("default", BEFORE, "mara", "done", "", "{}", BEFORE + 1),
    )
    tx.run("INSERT INTO backups VALUES ('copies/monday.db', ?)", BEFORE)


def fill_20(tx: Transaction) -> None:
    """What version 20 added."""
    tx.run(
        "INSERT INTO reviews (owner, at, kind, author, reason, payload, state, decided_at, decided_by) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *("default", BEFORE, "forget", "cursor", "An agent asks to forget it.", '{"target": "r1"}'),
        *("refused", BEFORE + 1, "mara"),
    )


def fill_21(tx: Transaction) -> None:
    """What version 21 added."""
    tx.run("INSERT INTO erasure_counts VALUES ('default', 3)")


def fill_22(tx: Transaction) -> None:
    """What version 22 added: an index over what was done, and a part of a rebuild."""
    tx.run("UPDATE inbox SET done_at = 7 WHERE id = (SELECT min(id) FROM inbox)")
    tx.run("INSERT INTO rebuild_progress VALUES (4, 0, 7)")


def fill_23(tx: Transaction) -> None:
    """What version 23 added: tokens and the log of writes."""
    tx.run(
        "INSERT INTO tokens (id, owner, scope, name, digest, created_at) VALUES "
        "('t0123456789', 'default', 'write', 'laptop', 'abc', 5)"
    )
    tx.run(
        "INSERT INTO write_log (at, token, owner, operation, targets, outcome) VALUES "
        "(6, 't0123456789', 'default', 'add', '[]', 'done')"
    )


def fill_24(tx: Transaction) -> None:
    """What version 24 added: failures of the dispatch."""
    tx.run("UPDATE sessions SET dispatch_failures = 2, dispatch_error = 'OverflowError' WHERE id = 's2'")


def fill_25(tx: Transaction) -> None:
    """Version 25 added an index only."""


def fill_26(tx: Transaction) -> None:
    """Version 26 added an index only."""


FILL = dict(
    enumerate(
        (
            *(fill_1, fill_2, fill_3, fill_4, fill_5, fill_6, fill_7, fill_8, fill_9, fill_10, fill_11, fill_12),
            *(fill_13, fill_14, fill_15, fill_16, fill_17, fill_18, fill_19, fill_20, fill_21, fill_22, fill_23),
            *(fill_24, fill_25, fill_26),
        ),
        start=1,
    )
)
"""For each step, rows that fill what it made. A new step brings its own."""


class Place(Protocol):
    """Where an older database can be made, looked at, and opened."""

    dialect: Dialect

    def raw(self) -> Any:
        """A transaction that lifelong did not open."""
        ...

    def open(self, user: str = "default") -> Memory: ...

    def shape(self) -> object:
        """Everything about the tables but their rows."""
        ...


class SQLitePlace:
    dialect: Dialect = "sqlite"

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder

    @contextmanager
    def raw(self) -> Iterator[Transaction]:
        connection = apsw.Connection(str(self._folder / "lifelong.db"))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}").fetchall()
        with connection:
            yield SQLiteTransaction(connection)
        connection.close()

    def open(self, user: str = "default") -> Memory:
        return Memory.open(self._folder, user)

    def shape(self) -> object:
        with self.raw() as tx:
            made = tx.all("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name")
            tables = [name for kind, name, *_ in made if kind == "table"]
            return (
                [(*row[:3], normal(row[3])) for row in made],
                {table: tx.all(f"PRAGMA table_xinfo({table})") for table in tables},
                {table: sorted(tx.all(f"PRAGMA foreign_key_list({table})")) for table in tables},
                {table: self._indexes(tx, table) for table in tables},
                tx.one("PRAGMA application_id"),
                tx.one("PRAGMA journal_mode"),
            )

    def _indexes(self, tx: Transaction, table: str) -> list[tuple[object, ...]]:
        """Name, unique, origin, partial, and the columns of each."""
        found = tx.all(f"PRAGMA index_list({table})")
        return sorted((*row[1:], tuple(tx.all(f"PRAGMA index_xinfo({row[1]})"))) for row in found)


class PostgresPlace:
    dialect: Dialect = "postgres"

    def __init__(self, folder: Path, storage: dict[str, Any]) -> None:
        self._folder = folder
        self._storage = storage
        self._schema: str = storage["schema_name"]

    @contextmanager
    def raw(self) -> Iterator[Transaction]:
        schema = pgsql.Identifier(self._schema)
        with psycopg.connect(self._storage["url"]) as connection:
            connection.execute(pgsql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
            connection.execute(pgsql.SQL("SET search_path TO {}").format(schema))
            yield PostgresTransaction(connection)

    def open(self, user: str = "default") -> Memory:
        return Memory.open(self._folder, user, storage=self._storage)

    def shape(self) -> object:
        with self.raw() as tx:
            columns = tx.all(
                "SELECT table_name, ordinal_position, column_name, data_type, is_nullable, column_default, "
                "is_identity, identity_generation, character_maximum_length FROM information_schema.columns "
                "WHERE table_schema = ? ORDER BY table_name, ordinal_position",
                self._schema,
            )
            indexes = tx.all(
                "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = ? ORDER BY indexname",
                self._schema,
            )
            rules = tx.all(
                "SELECT conname, contype, convalidated, pg_get_constraintdef(c.oid) FROM pg_constraint c "
                "JOIN pg_namespace n ON n.oid = c.connamespace WHERE n.nspname = ? ORDER BY conname, contype",
                self._schema,
            )
            sequences = tx.all(
                "SELECT sequencename, data_type::text, start_value, increment_by, cycle, cache_size "
                "FROM pg_sequences WHERE schemaname = ? ORDER BY sequencename",
                self._schema,
            )
        return [[self._anywhere(row) for row in rows] for rows in (columns, indexes, rules, sequences)]

    def _anywhere(self, row: Row) -> Row:
        """The row as it would be in a schema of any other name."""
        return tuple(v.replace(f"{self._schema}.", "here.") if isinstance(v, str) else v for v in row)


def normal(sql: str | None) -> str | None:
    return sql and re.sub(r"\s+", " ", sql).strip()


@pytest.fixture(params=["sqlite", "postgres"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Place, Place]:
    """Two empty places of one kind: for an older database, and for a fresh one."""
    if request.param == "sqlite":
        return SQLitePlace(tmp_path / "older"), SQLitePlace(tmp_path / "fresh")
    storage: dict[str, Any] = request.getfixturevalue("postgres_storage")
    another = {**storage, "schema_name": storage["schema_name"] + "_fresh"}
    return PostgresPlace(tmp_path / "older", storage), PostgresPlace(tmp_path / "fresh", another)


@pytest.fixture
def older(places: tuple[Place, Place]) -> Place:
    return places[0]


@pytest.fixture
def fresh(places: tuple[Place, Place]) -> Place:
    places[1].open().close()
    return places[1]


def make_version(place: Place, version: int) -> None:
    """A database as it was at this version, with rows in it."""
    with place.raw() as tx:
        for number in range(version + 1):
            migrate(tx, place.dialect, BEFORE + number, "here", until=number)
            if number:
                FILL[number](tx)


def columns(tx: Transaction, dialect: Dialect, table: str) -> list[str]:
    if dialect == "sqlite":
        return [row[1] for row in tx.all(f"PRAGMA table_info({table})")]
    found = tx.all(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() "
        "AND table_name = ? ORDER BY ordinal_position",
        table,
    )
    return [row[0] for row in found]


def indexes(tx: Transaction, dialect: Dialect) -> set[str]:
    if dialect == "sqlite":
        return {row[0] for row in tx.all("SELECT name FROM sqlite_master WHERE type = 'index'")}
    return {row[0] for row in tx.all("SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()")}


def rows_of(place: Place) -> dict[str, list[Row]]:
    """Every row, less the columns that came later."""
    early = {
        "agents": "id, owner, kind, cache_key, descriptor, state, created_at, active_at, sleep_due, death_due",
        "sessions": "id, agent_id, created_at, ended_at, reset_message",
        "session_history": "id, session_id, type, provenance, at, recorded_at, data",
        "turns": "session_id, until_id, ended_at",
        "append_keys": "agent_id, key, record_id, digest",
    }
    with place.raw() as tx:
        return {table: tx.all(f"SELECT {names} FROM {table} ORDER BY 1, 2") for table, names in early.items()}


# The steps


def test_steps_are_numbered_from_one_without_gaps() -> None:
    assert [step.number for step in MIGRATIONS] == list(range(1, LATEST + 1))
    assert len({step.name for step in MIGRATIONS}) == LATEST


def test_every_step_brings_rows_for_this_test() -> None:
    assert sorted(FILL) == [step.number for step in MIGRATIONS]


def test_the_first_step_alone_makes_sessions_and_history(older: Place) -> None:
    with older.raw() as tx:
        migrate(tx, older.dialect, BEFORE, "here", until=1)
        sessions = columns(tx, older.dialect, "sessions")
        history = columns(tx, older.dialect, "session_history")
        assert sessions == ["id", "agent_id", "created_at", "ended_at", "reset_message"]
        assert set(history) >= {"id", "session_id", "type", "at", "data"}
        agents = columns(tx, older.dialect, "agents")
        assert agents[:5] == ["id", "owner", "kind", "cache_key", "descriptor"]
        assert "idx_sessions_invalidated_at" not in indexes(tx, older.dialect)
        assert applied(tx) == 1


def test_the_second_step_adds_the_two_memory_columns_and_their_index(older: Place) -> None:
    with older.raw() as tx:
        migrate(tx, older.dialect, BEFORE, "here", until=1)
        before, known = columns(tx, older.dialect, "sessions"), indexes(tx, older.dialect)
        migrate(tx, older.dialect, BEFORE, "here", until=2)
        assert columns(tx, older.dialect, "sessions") == [*before, "invalidated_at", "processed_until"]
        assert indexes(tx, older.dialect) - known == {"idx_sessions_invalidated_at"}
        assert applied(tx) == 2


def test_each_step_is_recorded_with_its_name_and_time(older: Place) -> None:
    make_version(older, LATEST)
    with older.raw() as tx:
        recorded = tx.all("SELECT number, name, applied_at FROM lifelong_migrations ORDER BY number")
    assert recorded == [(step.number, step.name, BEFORE + step.number) for step in MIGRATIONS]


# Migrated equals fresh


@pytest.mark.parametrize("version", range(LATEST))
def test_an_older_database_with_rows_becomes_what_a_fresh_one_is_and_keeps_every_row(
    older: Place, fresh: Place, version: int
) -> None:
    make_version(older, version)
    before = rows_of(older) if version else None
    older.open().close()
    assert older.shape() == fresh.shape()
    with older.raw() as tx:
        assert applied(tx) == LATEST
    if before:
        assert before["session_history"]
        assert rows_of(older) == before


@pytest.mark.parametrize("version", range(1, LATEST))
def test_an_older_database_works(older: Place, version: int) -> None:
    """Append, sleep and mark, on the rows that were there."""
    make_version(older, version)
    with older.open() as memory:
        session = memory.sessions.get("s2")
        marks = (7, 2) if version >= 2 else (None, None)
        assert (session.invalidated_at, session.processed_until) == marks
        assert "number 1" in memory.sessions.transcript(session)
        assert [agent.id for agent in memory.agents.list() if agent.state == "sleeping"] == ["a2"]

        newest = memory.append("a1", UserMessage("And now?"))
        assert newest > 30
        assert memory.sessions.get("s2").invalidated_at == newest, "more than 5 records wait in it"

        woken = memory.append("a2", UserMessage("Wake up."))
        memory.end_session("a2")
        assert memory.sessions.get("s3").invalidated_at == woken
        assert memory.agent(User("cli", "alice", "main")).id == "a1"
    with older.open("work") as memory:
        assert {agent.id for agent in memory.agents.list()} == {"a3", "a4"}
        assert memory.agents.get("a4").state == "dead"


def test_words_that_an_older_version_read_otherwise_are_found(older: Place) -> None:
    """R1: their stems are made anew in the background, and health says so until then."""
    with older.open() as memory:
        memory.append(memory.agent(User("cli", "mara", "main")), UserMessage("Sean O'Brien repaired the boiler."))
        memory.organize()
    with older.raw() as tx:
        tx.run("UPDATE items SET stems = ?", array("I", [crc32(b"o'brien"), crc32(b"boiler")]).tobytes())
        tx.run("DELETE FROM item_words")
        tx.run("DELETE FROM lifelong_migrations WHERE number = 11")
    with older.open() as memory:
        assert memory.admin.health().status == "yellow"
        memory.organize()
        assert memory.admin.health().status == "green"
        for said in ("O'Brien", "Sean", "boiler"):
            assert [item.text for item in memory.list(subject=said)] == ["Sean O'Brien repaired the boiler."]
        assert memory.search("Who is O'Brien?")
        assert memory.admin.verify() == []


def test_the_marks_of_the_latest_version_are_kept(older: Place) -> None:
    make_version(older, LATEST)
    with older.open() as memory:
        session = memory.sessions.get("s2")
    assert (session.invalidated_at, session.processed_until) == (7, 2)


def test_what_had_ended_before_is_known_to_since_the_word_that_ended_it_came(older: Place) -> None:
    """C5, R3."""
    make_version(older, 8)
    with older.raw() as tx:
        tx.run("UPDATE items SET until = ?, by_record = 4", BEFORE - 5)
    older.open().close()
    with older.raw() as tx:
        assert tx.all("SELECT known_at, by_record FROM ends WHERE ref = '2'") == [(BEFORE + 3, 4)]


def test_facts_from_before_get_numbers_and_their_ends(older: Place) -> None:
    """C5, O11: from the bodies of their documents, as if all were indexed anew; a number stays from then on."""
    make_version(older, 16)
    body = "Likes tea. [r3]\n\nMy own words.\n\n## Earlier\n\nLives in Porto. [r2, until 2023-01-01 by r4]"
    with older.raw() as tx:
        tx.run("UPDATE documents SET body = ? WHERE id = 'd2'", body)
        tx.run("DELETE FROM corrections")
        tx.run("DELETE FROM inbox")  # they name an agent of a person's, whose records would be listed
        tx.run("UPDATE items SET record_id = 2, until = NULL, end_known = NULL, by_record = NULL")
        for digest, until in (("old", BEFORE), ("left@7", None)):
            tx.run(
                "INSERT INTO items (owner, kind, ref, thread, agent_id, session_id, speaker, trust, at, since, "
                "text, stems, length, flags, until, gone, public_id) VALUES ('default', 'fact', ?, 'd2', '', '', "
                "'', 'user', ?, ?, 'Left long ago.', ?, 1, 0, ?, ?, 'f0123456789')",
                *(f"d2#{digest}", BEFORE, BEFORE, b"stem", until, BEFORE),
            )
    with older.open() as memory:
        memory.organize()
        listed = {(hit.id, hit.text, hit.until) for hit in memory.list()}
        facts = {hit.text: hit for hit in memory.list("fact")}
        assert {text: hit.until is not None for text, hit in facts.items()} == {
            "Likes tea.": False,
            "My own words.": False,
            "Lives in Porto.": True,
            "Body": False,
        }
        assert all(re.fullmatch(r"f\d+", hit.id) for hit in facts.values())
        assert next(hit for hit in memory.list("record") if hit.record_id == 2).until is not None
        memory.admin.rebuild()
        memory.organize()
        assert {(hit.id, hit.text, hit.until) for hit in memory.list()} == listed


def test_vectors_from_before_they_were_numbered_count(older: Place) -> None:
    """C5, R4: an item that has a vector is looked after as one that got it now, and the mean is made of them."""
    make_version(older, 12)
    with older.raw() as tx:
        [(embedder,)] = tx.all("SELECT id FROM embedders")
        tx.run("UPDATE index_state SET embedder_id = ?, sequence = 67", embedder)
        for ref, sequence in (("3", 66), ("4", 67), ("5", None)):
            tx.run(
                "INSERT INTO items (owner, kind, ref, thread, agent_id, session_id, speaker, trust, at, since, "
                "text, stems, length, flags, sequence) "
                "VALUES ('default', 'note', ?, 's2', 'a1', 's2', '', 'user', ?, ?, 'Word.', ?, 1, 0, ?)",
                *(ref, BEFORE, BEFORE, b"stem", sequence),
            )
        of_note = "SELECT ?, id, ? FROM items WHERE ref IN ('3', '5')"
        tx.run(f"INSERT INTO item_vectors {of_note}", embedder, array("H", [0x3C00, *[0] * 255]).tobytes())
        migrate(tx, older.dialect, BEFORE, "here")
        states = tx.all("SELECT ref, embedded FROM items WHERE kind = 'note' ORDER BY ref")
        assert states == [("3", 1), ("4", 0), ("5", None)]
        assert tx.all("SELECT size, first_item, mean FROM index_state") == [
            (2, tx.all("SELECT id FROM items WHERE ref = '3'")[0][0], None)
        ]


def test_a_difference_would_be_seen(older: Place, fresh: Place) -> None:
    """The comparison above tells databases apart that differ in one index or one column."""
    older.open().close()
    same = older.shape()
    with older.raw() as tx:
        tx.run("DROP INDEX idx_sessions_invalidated_at")
    without = older.shape()
    with older.raw() as tx:
        tx.run("CREATE INDEX idx_sessions_invalidated_at ON sessions (invalidated_at)")
        tx.run("ALTER TABLE turns ADD COLUMN more BIGINT")
    assert same == fresh.shape()
    assert without != fresh.shape()
    assert older.shape() != fresh.shape()


def test_migrating_twice_changes_nothing(older: Place) -> None:
    make_version(older, LATEST)
    older.open().close()
    shape, rows = older.shape(), rows_of(older)
    with older.raw() as tx:
        migrate(tx, older.dialect, BEFORE + 1_000, "here")
    older.open().close()
    assert older.shape() == shape
    assert rows_of(older) == rows
    with older.raw() as tx:
        times = tx.all("SELECT applied_at FROM lifelong_migrations ORDER BY number")
    assert times == [(BEFORE + step.number,) for step in MIGRATIONS]


def test_a_database_of_a_newer_lifelong_is_left_alone(older: Place) -> None:
    """C5: the message names the place, both versions and the next step."""
    make_version(older, LATEST)
    with older.raw() as tx:
        tx.run("INSERT INTO lifelong_migrations VALUES (?, 'from the future', ?)", LATEST + 1, BEFORE)
    shape, rows = older.shape(), rows_of(older)
    message = (
        rf"is at version {LATEST + 1}; this lifelong knows versions up to {LATEST}\. "
        r"Nothing was changed; upgrade lifelong to open it\."
    )
    with older.raw() as tx, pytest.raises(NewerDatabase, match=rf"^The folder on the left {message}"):
        migrate(tx, older.dialect, BEFORE, "The folder on the left")
    with pytest.raises(NewerDatabase, match=message):
        older.open()
    assert older.shape() == shape
    assert rows_of(older) == rows


@pytest.mark.parametrize("done", range(LATEST + 1))
def test_a_version_that_is_known_is_no_error(done: int) -> None:
    check_version(done, "here")


def test_a_step_that_fails_leaves_the_database_at_the_version_before(older: Place) -> None:
    """The last statement of step 2 finds its index's name taken; the columns it added are gone again."""
    make_version(older, 1)
    with older.raw() as tx:
        tx.run("CREATE INDEX idx_sessions_invalidated_at ON turns (ended_at)")
    rows = rows_of(older)
    with pytest.raises(StorageError, match="idx_sessions_invalidated_at"):
        older.open()
    with older.raw() as tx:
        assert applied(tx) == 1
        assert "invalidated_at" not in columns(tx, older.dialect, "sessions")
        tx.run("DROP INDEX idx_sessions_invalidated_at")
    assert rows_of(older) == rows
    older.open().close()
    with older.raw() as tx:
        assert applied(tx) == LATEST
