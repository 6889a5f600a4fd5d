"""PostgreSQL (C7, C10): a schema of our own on a server that comes and goes, and nothing acknowledged is lost."""

from __future__ import annotations

import os
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import errors as pg
from psycopg import sql as pgsql
from psycopg_pool import PoolTimeout

from lifelong import Memory, User, UserMessage
from lifelong.errors import (
    ConfigError,
    ForeignDatabase,
    NewerDatabase,
    OutcomeUnknown,
    StorageBusy,
    StorageConflict,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageUnavailable,
)
from lifelong.storage.base import Transaction
from lifelong.storage.migrations import LATEST
from lifelong.storage.postgres import Postgres, translate
from lifelong.testing import in_threads
from tests.conftest import PostgresServer, until

ALICE = User("cli", "alice", "main")
PATIENT = 60.0  # seconds after which something that should have come is a failure

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def schema(postgres_storage: dict[str, Any]) -> str:
    name: str = postgres_storage["schema_name"]
    return name


@pytest.fixture
def other(postgres_url: str) -> Iterator[Connection]:
    """A connection that is not ours."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def database(postgres_url: str, schema: str) -> Iterator[Postgres]:
    """One connection, so that a test knows which one a write takes."""
    database = Postgres(postgres_url, schema=schema, pool_size=1)
    database.write(lambda tx: tx.run("CREATE TABLE things (name TEXT NOT NULL PRIMARY KEY)"))
    yield database
    database.close()


def add(name: str) -> Callable[[Transaction], int]:
    return lambda tx: tx.run("INSERT INTO things VALUES (?)", name)


def things(database: Postgres) -> list[str]:
    return database.read(lambda tx: [row[0] for row in tx.all("SELECT name FROM things ORDER BY name")])


def run(connection: Connection, sql: LiteralString, *names: str) -> list[tuple[Any, ...]]:
    cursor = connection.execute(pgsql.SQL(sql).format(*map(pgsql.Identifier, names)))
    return cursor.fetchall() if cursor.description else []


def terminate(connection: Connection, pid: int) -> None:
    """End a session, and come back when it is gone."""
    connection.execute("SELECT pg_terminate_backend(%s, 10000)", (pid,))


def backend(tx: Transaction) -> int:
    (pid,) = tx.one("SELECT pg_backend_pid()") or (0,)
    return int(pid)


# A schema of our own


def test_tables_of_another_program_with_our_names_are_untouched(
    tmp_path: Path, postgres_storage: dict[str, Any], other: Connection
) -> None:
    names = ("agents", "sessions", "session_history", "lifelong_migrations")
    for name in names:
        run(other, "CREATE TABLE public.{} (theirs TEXT)", name)
        run(other, "INSERT INTO public.{} VALUES ('precious')", name)
    try:
        with Memory.open(tmp_path, storage=postgres_storage) as memory:
            alice = memory.agent(ALICE)
            assert memory.append(alice, UserMessage("hello")) > 0
            assert "hello" in memory.sessions.transcript(alice)
        assert [run(other, "SELECT * FROM public.{}", name) for name in names] == [[("precious",)]] * 4
    finally:
        for name in names:
            run(other, "DROP TABLE public.{}", name)


def test_a_schema_of_another_program_is_refused(
    postgres_url: str, schema: str, other: Connection, tmp_path: Path, postgres_storage: dict[str, Any]
) -> None:
    run(other, "CREATE SCHEMA {}", schema)
    run(other, "CREATE TABLE {}.agents (theirs TEXT)", schema)
    with pytest.raises(ForeignDatabase, match=rf"{schema}.*another program.*storage\.schema_name"):
        Memory.open(tmp_path, storage=postgres_storage)
    tables = other.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = %s", (schema,))
    assert tables.fetchall() == [("agents",)]


def test_an_empty_schema_that_somebody_made_for_us_is_taken(
    postgres_url: str, schema: str, other: Connection
) -> None:
    run(other, "CREATE SCHEMA {}", schema)
    database = Postgres(postgres_url, schema=schema)
    assert database.check() == []
    database.close()


def test_a_newer_database_is_refused_and_left_as_it_is(
    database: Postgres, postgres_url: str, schema: str, other: Connection
) -> None:
    run(other, "INSERT INTO {}.lifelong_migrations VALUES (999, 'from the future', 0)", schema)
    with pytest.raises(NewerDatabase, match=rf"version 999.*up to {LATEST}.*upgrade lifelong"):
        Postgres(postgres_url, schema=schema)
    assert run(other, "SELECT max(number) FROM {}.lifelong_migrations", schema) == [(999,)]


def test_two_schemas_on_one_server_know_nothing_of_each_other(
    tmp_path: Path, postgres_storage: dict[str, Any]
) -> None:
    another = {**postgres_storage, "schema_name": postgres_storage["schema_name"] + "_b"}
    with (
        Memory.open(tmp_path, storage=postgres_storage) as one,
        Memory.open(tmp_path, storage=another) as two,
    ):
        one.agent(ALICE)
        assert len(one.agents.list()) == 1
        assert two.agents.list() == []


def test_ids_are_given_out_one_at_a_time(database: Postgres, schema: str, other: Connection) -> None:
    """C7: with a cache, each session would hold ids back and show them out of order."""
    found = other.execute("SELECT cache_size, increment_by FROM pg_sequences WHERE schemaname = %s", (schema,))
    assert set(found.fetchall()) == {(1, 1)}


def test_eight_threads_open_a_fresh_schema_at_once(postgres_url: str, schema: str) -> None:
    databases = in_threads(8, lambda _: Postgres(postgres_url, schema=schema, pool_size=1))
    numbers = [
        database.read(lambda tx: tx.all("SELECT number FROM lifelong_migrations ORDER BY number"))
        for database in databases
    ]
    for database in databases:
        database.close()
    assert numbers == [[(number,) for number in range(1, LATEST + 1)]] * 8


@pytest.mark.parametrize(("chosen", "level"), [("full", "on"), ("normal", "off")])
def test_a_commit_waits_for_the_disk_unless_told_otherwise(
    tmp_path: Path, postgres_storage: dict[str, Any], chosen: str, level: str
) -> None:
    """C7: durable once it returns."""
    with Memory.open(tmp_path, storage={**postgres_storage, "synchronous": chosen}) as memory:
        assert memory._parts.shared.database.write(lambda tx: tx.one("SHOW synchronous_commit")) == (level,)


def test_full_is_the_default(database: Postgres) -> None:
    assert database.write(lambda tx: tx.one("SHOW synchronous_commit")) == ("on",)


# Addresses that do not work


@pytest.mark.parametrize(
    "url",
    [
        "mysql://me:hunter2@db.example/notes",
        "postgresql://me:hunter2@[::1/notes",
        "postgresql://me:hunter2%zz@db.example/notes",
        "postgresql://me:hunter2@db.example/notes?colour=red",
        "host=db.example password=hunter2 colour=red",
        "host=db.example password='hunter2",
    ],
)
def test_an_address_that_is_none_is_refused_without_its_password(tmp_path: Path, url: str) -> None:
    with pytest.raises(StorageUnavailable, match=r"storage\.url") as raised:
        Memory.open(tmp_path, storage={"url": url})
    assert "hunter2" not in "".join(traceback.format_exception(raised.value))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:no-port", "no-such-host.invalid"])
def test_a_server_that_is_not_there_is_said_once_and_without_the_password(
    tmp_path: Path, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"postgresql://me:hunter2@{address}/notes"
    with pytest.raises(StorageUnavailable, match=r"does not answer.*storage\.url") as raised:
        Memory.open(tmp_path, storage={"url": url, "connect_timeout": 1})
    assert address.split(":")[0] in str(raised.value)
    assert "hunter2" not in str(raised.value)
    assert caplog.records == []


@pytest.mark.parametrize("name", ["", "No-Capitals", "a; DROP SCHEMA public", "../up", "x" * 64, 'quo"te'])
def test_a_schema_name_that_cannot_be_one_is_refused(
    tmp_path: Path, postgres_storage: dict[str, Any], name: str
) -> None:
    """S3."""
    with pytest.raises(ConfigError, match=r"storage\.schema_name"):
        Memory.open(tmp_path, storage={**postgres_storage, "schema_name": name})


def test_a_schema_name_that_the_server_reserves_is_said(postgres_url: str) -> None:
    with pytest.raises(StorageError, match="pg_mine"):
        Postgres(postgres_url, schema="pg_mine", timeout=1)


def test_a_user_without_rights_is_told_so(tmp_path: Path, schema: str, other: Connection) -> None:
    role = f"guest_of_{schema}"
    run(other, "CREATE ROLE {} LOGIN PASSWORD 'hunter2'", role)
    url = psycopg.conninfo.make_conninfo(other.info.dsn, user=role, password="hunter2")
    try:
        with pytest.raises(StorageUnavailable, match=r"refuses this user.*check the user") as raised:
            Memory.open(tmp_path, storage={"url": url, "schema_name": schema, "connect_timeout": 2})
        assert "hunter2" not in str(raised.value)
    finally:
        run(other, "DROP ROLE {}", role)


def test_backup_says_how_postgresql_makes_its_own(database: Postgres, schema: str, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=rf"pg_dump --schema={schema} > {tmp_path}/copy"):
        database.backup(tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []


def test_check_says_what_is_missing(database: Postgres, schema: str, other: Connection) -> None:
    assert database.check() == []
    run(other, "DELETE FROM {}.lifelong_migrations WHERE number = 1", schema)
    assert database.check() == ["Migration 1 is missing."]


# Connections that break


def test_a_session_that_was_ended_before_a_write_is_survived(database: Postgres, other: Connection) -> None:
    for number in range(3):
        terminate(other, database.write(backend))
        database.write(add(f"{number}"))
    terminate(other, database.read(backend))
    assert things(database) == ["0", "1", "2"]


def test_a_session_that_is_ended_in_the_middle_is_done_again(database: Postgres, other: Connection) -> None:
    tries = 0

    def work(tx: Transaction) -> str:
        nonlocal tries
        tries += 1
        add("a")(tx)
        if tries == 1:
            terminate(other, backend(tx))
        add("b")(tx)
        return "done"

    assert database.write(work) == "done"
    assert tries == 2
    assert things(database) == ["a", "b"]


def test_a_session_that_ends_at_the_commit_leaves_the_outcome_unknown(
    database: Postgres, other: Connection
) -> None:
    """C10: it is not acknowledged, and it is not done again either: it could be stored twice."""
    tries = 0

    def work(tx: Transaction) -> None:
        nonlocal tries
        tries += 1
        add("a")(tx)
        terminate(other, backend(tx))

    with pytest.raises(OutcomeUnknown, match="may or may not"):
        database.write(work)
    assert tries == 1
    database.write(add("b"))
    assert things(database) == ["b"]


def test_two_writes_that_wait_for_each_other_are_both_done_in_the_end(postgres_url: str, schema: str) -> None:
    """The server ends one of them; it is done again."""
    database = Postgres(postgres_url, schema=schema, pool_size=2)
    database.write(lambda tx: tx.run("CREATE TABLE counts (name TEXT PRIMARY KEY, size BIGINT)"))
    database.write(lambda tx: tx.run("INSERT INTO counts VALUES ('a', 0), ('b', 0)"))
    both_hold_one = threading.Barrier(2)
    tries: list[int] = []

    def count(number: int) -> None:
        first, second = ("a", "b") if number else ("b", "a")
        mine = 0

        def work(tx: Transaction) -> None:
            nonlocal mine
            mine += 1
            tries.append(number)
            tx.run("UPDATE counts SET size = size + 1 WHERE name = ?", first)
            if mine == 1:
                both_hold_one.wait(PATIENT)
            tx.run("UPDATE counts SET size = size + 1 WHERE name = ?", second)

        database.write(work)

    in_threads(2, count)
    assert database.read(lambda tx: tx.all("SELECT name, size FROM counts ORDER BY name")) == [("a", 2), ("b", 2)]
    assert len(tries) > 2
    database.close()


def test_a_row_that_is_held_for_too_long_is_busy(postgres_url: str, database: Postgres, schema: str) -> None:
    hasty = Postgres(postgres_url, schema=schema, busy_timeout=0.1, pool_size=1)
    database.write(add("a"))

    def hold(tx: Transaction) -> None:
        tx.run("UPDATE things SET name = 'b'")
        with pytest.raises(StorageBusy, match=r"too busy.*try again"):
            hasty.write(lambda mine: mine.run("UPDATE things SET name = 'c'"))

    database.write(hold)
    hasty.write(lambda tx: tx.run("UPDATE things SET name = 'd'"))
    assert things(database) == ["d"]
    hasty.close()


def test_a_statements_error_that_is_swallowed_is_an_error_not_an_acknowledged_loss(database: Postgres) -> None:
    """C10."""
    database.write(add("taken"))

    def swallow(tx: Transaction) -> str:
        add("mine")(tx)
        try:
            add("taken")(tx)
        except Exception:
            return "all is well"
        return "it was not taken"

    with pytest.raises(StorageError, match="passed over"):
        database.write(swallow)
    assert things(database) == ["taken"]
    database.write(add("next"))
    assert things(database) == ["next", "taken"]


def test_a_read_changes_nothing(database: Postgres) -> None:
    """`read` is for reading: what SQLite refuses is not stored here either."""
    with suppress(StorageError):
        database.read(add("a"))
    assert things(database) == []


def test_a_database_from_before_a_fork_says_so(database: Postgres) -> None:
    """A connection that two processes speak on tells each of them what the other asked."""
    database.write(add("before"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of a fork beside threads
        child = os.fork()
    if child == 0:
        refused = 0
        for call in (lambda: things(database), lambda: database.write(add("in the child"))):
            try:
                call()
            except StorageUnavailable as error:
                refused += "Open it again in the new process" in str(error)
            except BaseException:
                os._exit(100)
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert things(database) == ["before"]


def test_a_server_that_stops_and_starts_under_a_writer_loses_nothing_acknowledged(
    own_postgres: PostgresServer, tmp_path: Path
) -> None:
    """C10: clear errors while it is down, recovery after, every acknowledged record there, and once."""
    storage = {"url": own_postgres.url, "connect_timeout": 1, "pool_size": 4}
    acknowledged: dict[str, int] = {}
    errors: list[StorageError] = []
    stop = threading.Event()
    with Memory.open(tmp_path, storage=storage) as memory:
        alice = memory.agent(ALICE)

        def write(name: int) -> None:
            number = 0
            while not stop.is_set():
                text = f"{name}/{number}"
                try:
                    acknowledged[text] = memory.append(alice, UserMessage(text), key=text)
                    number += 1
                except (StorageUnavailable, OutcomeUnknown) as error:
                    errors.append(error)

        writers = [threading.Thread(target=write, args=(name,), daemon=True) for name in range(3)]
        for writer in writers:
            writer.start()
        try:
            until(lambda: len(acknowledged) > 20)
            own_postgres.stop()
            until(lambda: any(isinstance(error, StorageUnavailable) for error in errors))
            with pytest.raises(StorageUnavailable, match="does not answer"):
                memory.agents.list()
            own_postgres.start()
            before = len(acknowledged)
            until(lambda: len(acknowledged) > before + 20)
        finally:
            stop.set()
        for writer in writers:
            writer.join(PATIENT)
            assert not writer.is_alive()
        assert {type(error) for error in errors} <= {StorageUnavailable, OutcomeUnknown}
        assert all("storage.url" in str(e) for e in errors if isinstance(e, StorageUnavailable))
        records = [
            recorded for session in memory.sessions.list(alice) for recorded in memory.sessions.history(session)
        ]
        stored = {r.record.text: r.id for r in records if isinstance(r.record, UserMessage)}
        assert acknowledged.items() <= stored.items()
        assert len(stored) == len(records), "none is stored twice"


# Errors


ERRORS = sorted(
    {kind for kind in vars(pg).values() if isinstance(kind, type) and issubclass(kind, psycopg.Error)}
    | {PoolTimeout},
    key=lambda kind: kind.__name__,
)


def test_there_are_errors_to_translate() -> None:
    assert len(ERRORS) > 200


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_of_psycopg_becomes_a_sentence_of_ours(kind: type[psycopg.Error]) -> None:
    for error in (kind("the cause\nDETAIL: more"), kind()):
        ours = translate(error, "db.example/notes")
        assert isinstance(ours, StorageError)
        assert str(ours)[0].isupper()
        assert str(ours).endswith(".")
        assert "\n" not in str(ours)


@pytest.mark.parametrize(
    ("kind", "ours"),
    [
        (pg.UniqueViolation, StorageConflict),
        (pg.ForeignKeyViolation, StorageConflict),
        (pg.CheckViolation, StorageConflict),
        (pg.NotNullViolation, StorageConflict),
        (pg.DiskFull, StorageFull),
        (pg.OutOfMemory, StorageFull),
        (pg.DataCorrupted, StorageCorrupt),
        (pg.IndexCorrupted, StorageCorrupt),
        (pg.DeadlockDetected, StorageBusy),
        (pg.SerializationFailure, StorageBusy),
        (pg.LockNotAvailable, StorageBusy),
        (pg.QueryCanceled, StorageBusy),
        (pg.InsufficientPrivilege, StorageUnavailable),
        (pg.InvalidPassword, StorageUnavailable),
        (pg.AdminShutdown, StorageUnavailable),
        (pg.TooManyConnections, StorageUnavailable),
        (psycopg.OperationalError, StorageUnavailable),
        (PoolTimeout, StorageUnavailable),
        (pg.UndefinedTable, StorageError),
        (pg.SyntaxError, StorageError),
    ],
)
def test_an_error_keeps_its_meaning(kind: type[psycopg.Error], ours: type[StorageError]) -> None:
    assert type(translate(kind("the cause"), "db.example/notes")) is ours
