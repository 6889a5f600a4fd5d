"""One contract, every store of vectors (R4, R5), and what is particular to each."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import psycopg
import pytest
from filelock import FileLock

from lifelong.errors import ConfigError, InputError, StorageError, StorageUnavailable
from lifelong.home import Home
from lifelong.recall.index_state import IndexStates
from lifelong.recall.repair import IndexRepair
from lifelong.settings import Settings
from lifelong.storage.base import Database, Row, Transaction
from lifelong.storage.postgres import Postgres
from lifelong.storage.sqlite import SQLite
from lifelong.testing import in_threads
from lifelong.vectors import local, segments
from lifelong.vectors.base import Vector, VectorFilter, VectorPartition, VectorRow, Vectors, have_direction
from lifelong.vectors.chroma import ChromaVectors
from lifelong.vectors.local import LocalVectors
from lifelong.vectors.pgvector import PgVectors
from lifelong.wiring import open_vectors
from tests.conftest import absent
from tests.vectors_contract import PARTITION, OpenVectors, VectorsContract, X, Y, ids_of, make_items, unit_rows

TABLES = (
    "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND starts_with(tablename, 'vectors_')"
)
"""Those that pgvector's store makes."""


@pytest.fixture(scope="module")
def one_postgres(postgres_url: str) -> Iterator[Database]:
    database = Postgres(postgres_url, schema="test_vectors", pool_size=4)
    yield database
    database.close()


@pytest.fixture
def postgres(one_postgres: Database) -> Database:
    """Without items and vectors. A schema for each test would cost a second when the server stops."""

    def empty(tx: Transaction) -> None:
        for (table,) in tx.all(TABLES):
            tx.run(f"DROP TABLE {table}")
        for table in ("item_vectors", "index_state", "items"):
            tx.run(f"DELETE FROM {table}")

    one_postgres.write(empty)
    return one_postgres


class OnFiles(VectorsContract):
    """Where two processes meet in files."""

    def test_another_process_is_seen_and_sees(self, vectors: Vectors, items_in: Database, elsewhere: str) -> None:
        rows = make_items(items_in, [X, Y, X])
        a, b, c = ids_of(rows)
        vectors.put(PARTITION, rows[:2])
        assert vectors.nearest(PARTITION, X, 9) == [a, b]
        script = f"""
import numpy as np
from lifelong.vectors.base import VectorPartition, VectorRow
{elsewhere}
partition = VectorPartition({PARTITION.owner!r}, {PARTITION.embedder!r})
x = np.eye(4, dtype=np.float32)[0]
assert vectors.nearest(partition, x, 5) == [{a}, {b}]
vectors.put(partition, [VectorRow({c}, "note", "", {rows[2].at}, x)])
vectors.remove(partition, [{b}])
vectors.close()
"""
        subprocess.run([sys.executable, "-c", script], check=True, timeout=300)
        assert vectors.nearest(PARTITION, X, 9) == [a, c]


class TestLocalOnSQLite(OnFiles):
    @pytest.fixture
    def items_in(self, sqlite: SQLite) -> Database:
        return sqlite

    @pytest.fixture
    def open_vectors(self, sqlite: SQLite, tmp_path: Path) -> OpenVectors:
        return lambda: LocalVectors(sqlite, lambda owner: tmp_path / owner)

    @pytest.fixture
    def elsewhere(self, tmp_path: Path) -> str:
        return f"""
from pathlib import Path
from lifelong.storage.sqlite import SQLite
from lifelong.vectors.local import LocalVectors
folder = Path({str(tmp_path)!r})
vectors = LocalVectors(SQLite(folder / "lifelong.db"), lambda owner: folder / owner)
"""


class TestLocalInSegments(TestLocalOnSQLite):
    """The same, with segments of a few rows, of which only a part is compared exactly."""

    @pytest.fixture(autouse=True)
    def _small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(local, "SEGMENT_ROWS", 2)
        monkeypatch.setattr(segments, "MIN_CANDIDATES", 40)
        monkeypatch.setattr(local, "ROWS_PER_READ", 3)


class TestLocalOnPostgres(VectorsContract):
    @pytest.fixture
    def items_in(self, postgres: Database) -> Database:
        return postgres

    @pytest.fixture
    def open_vectors(self, postgres: Database, tmp_path: Path) -> OpenVectors:
        return lambda: LocalVectors(postgres, lambda owner: tmp_path / owner)


class TestPgvector(VectorsContract):
    @pytest.fixture
    def items_in(self, postgres: Database) -> Database:
        return postgres

    @pytest.fixture
    def open_vectors(self, postgres: Database) -> OpenVectors:
        return lambda: PgVectors(postgres)


@pytest.fixture(scope="session")
def chroma() -> None:
    if find_spec("chromadb") is None:
        absent("chromadb is not installed")


@pytest.fixture(scope="session")
def chroma_url(chroma: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real server on loopback."""
    program = Path(sys.executable).with_name("chroma")
    for _ in range(5):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        folder = tmp_path_factory.mktemp("chroma")
        command = [str(program), "run", "--host", "127.0.0.1", "--port", str(port), "--path", str(folder)]
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        if answers(f"http://127.0.0.1:{port}", server):
            break
    else:
        pytest.fail("No Chroma server could be started.")
    yield f"http://127.0.0.1:{port}"
    server.kill()  # asked to end, it waits for those who are still connected
    server.wait()


def answers(url: str, server: subprocess.Popen[bytes]) -> bool:
    """Whether it comes up. Until it takes its port others may, even whoever looks for it there: a connection to a
    free port of the range that the system hands out can be one to itself. So only an answer counts."""
    deadline = time.monotonic() + 60
    while server.poll() is None and time.monotonic() < deadline:
        try:
            ChromaVectors(url).close()
        except StorageError:
            time.sleep(0.05)
        else:
            return True
    server.kill()
    server.wait()
    return False


class TestChromaFolder(OnFiles):
    @pytest.fixture
    def items_in(self, sqlite: SQLite) -> Database:
        return sqlite

    @pytest.fixture
    def open_vectors(self, chroma: None, tmp_path: Path) -> OpenVectors:
        return lambda: ChromaVectors(tmp_path / "chroma")

    @pytest.fixture
    def elsewhere(self, tmp_path: Path) -> str:
        return f"""
from pathlib import Path
from lifelong.vectors.chroma import ChromaVectors
vectors = ChromaVectors(Path({str(tmp_path / "chroma")!r}))
"""


class TestChromaServer(VectorsContract):
    @pytest.fixture
    def items_in(self, sqlite: SQLite) -> Database:
        return sqlite

    @pytest.fixture
    def open_vectors(self, chroma_url: str) -> OpenVectors:
        vectors = ChromaVectors(chroma_url)
        vectors._call(lambda client: [client.delete_collection(one.name) for one in client.list_collections()])
        vectors.close()
        return lambda: ChromaVectors(chroma_url)


# Scopes


@pytest.mark.parametrize(
    "embedder", ["static", "static/256", "static/1/0", "static/1/²", "static/1/-3", "a/b/99999"]
)
def test_an_embedder_that_says_no_dimensions_is_refused(embedder: str) -> None:
    with pytest.raises(InputError):
        VectorPartition("alice", embedder)


def test_a_scope_has_an_owner() -> None:
    with pytest.raises(InputError, match="owner"):
        VectorPartition("", "static/1/4")


# The local store


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of a few hundred rows, of which a part is compared exactly."""
    monkeypatch.setattr(local, "SEGMENT_ROWS", 200)
    monkeypatch.setattr(segments, "MIN_CANDIDATES", 150)


WIDE = VectorPartition("alice", "texts/1/70")


def like_texts(count: int, dims: int = 70) -> Vector:
    """Vectors that crowd, since as texts they are about something."""
    about = np.tile(unit_rows(20, dims, seed=3), (count // 20 + 1, 1))[:count]
    rows = about + 0.7 * unit_rows(count, dims)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def opened(sqlite: SQLite, folder: Path) -> LocalVectors:
    return LocalVectors(sqlite, lambda owner: folder / owner)


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("alice/*/*.segment"))


def test_below_a_few_thousand_rows_there_is_no_file(sqlite: SQLite, tmp_path: Path) -> None:
    """K2, R16."""
    vectors = opened(sqlite, tmp_path / "index")
    vectors.put(WIDE, make_items(sqlite, [*like_texts(500)]))
    vectors.maintain(WIDE)
    assert len(vectors.nearest(WIDE, like_texts(1)[0], 9)) == 9
    assert not (tmp_path / "index").exists()


def test_segments_are_few_and_hold_everything(sqlite: SQLite, tmp_path: Path, few: None) -> None:
    """R16: merged as they grow; whoever opens them finds the nearest of all, with and without a filter."""
    vectors = opened(sqlite, tmp_path)
    matrix = like_texts(3_000)
    rows = make_items(sqlite, [*matrix], kinds=("note", "journal"), agents=("a", "b", "c"))
    for start in range(0, 3_000, 150):
        vectors.put(WIDE, rows[start : start + 150])
        vectors.maintain(WIDE)
    assert 1 <= len(files(tmp_path)) <= 5
    assert not [*tmp_path.glob("alice/*/*.tmp")]
    ids = np.array(ids_of(rows))
    for searched in (vectors, opened(sqlite, tmp_path)):
        assert searched.get(WIDE, ids.tolist()) == pytest.approx(matrix, abs=1e-3)
        assert searched.verify(WIDE, ids.tolist()) == []
        for query in like_texts(40)[20:]:
            order = ids[np.argsort(-(matrix @ query))].tolist()
            assert len({*order[:10]} & {*searched.nearest(WIDE, query, 10)}) >= 9
            odd = [id_ for id_ in order if (id_ - ids[0]) % 6 == 0]
            found = searched.nearest(WIDE, query, 10, VectorFilter(kinds=("note",), agent_id="a"))
            assert len({*odd[:10]} & {*found}) >= 9


@pytest.mark.parametrize("damage", ["cut", "header", "columns", "rows", "empty", "gone", "nonsense"])
def test_a_damaged_segment_is_made_again(sqlite: SQLite, tmp_path: Path, few: None, damage: str) -> None:
    """R1, R16: noticed when it is opened, or by whoever verifies or indexes; everything is found all the same."""
    matrix = like_texts(1_000)
    rows = make_items(sqlite, [*matrix])
    writer = opened(sqlite, tmp_path)
    writer.put(WIDE, rows)
    writer.maintain(WIDE)
    [file] = files(tmp_path)
    data = bytearray(file.read_bytes())
    place = {"header": 10, "columns": 200, "rows": len(data) - 3}.get(damage, 0)
    data[place] ^= 0x40
    if damage in ("cut", "empty"):
        data = data[: len(data) // 2 if damage == "cut" else 0]
    file.unlink()
    if damage == "nonsense":
        file.write_bytes(b"nonsense" * 100)
    elif damage != "gone":
        file.write_bytes(data)
    vectors = opened(sqlite, tmp_path)
    if damage == "rows":
        assert "damaged" in vectors.verify(WIDE, ids_of(rows))[0]
    assert len(vectors.nearest(WIDE, matrix[7], 1_000)) == 1_000
    vectors.maintain(WIDE)
    assert vectors.verify(WIDE, ids_of(rows)) == []
    assert vectors.get(WIDE, ids_of(rows)) == pytest.approx(matrix, abs=1e-3)
    assert len(files(tmp_path)) == 1


def test_a_kill_while_a_segment_is_written_costs_nothing(sqlite: SQLite, tmp_path: Path) -> None:
    """R16, C10: the process dies with the file half written; what it held is found, and the next one writes it."""
    rows = make_items(sqlite, [*like_texts(1_000)])
    vectors = opened(sqlite, tmp_path)
    vectors.put(WIDE, rows)
    script = f"""
import os, signal
from pathlib import Path
from lifelong.storage.sqlite import SQLite
from lifelong.vectors import local, segments
from lifelong.vectors.base import VectorPartition
local.SEGMENT_ROWS, local.ROWS_PER_READ = 200, 100
added = []
add = segments.SegmentWriter.add
def die(self, block):
    add(self, block)
    added.append(block)
    if len(added) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
segments.SegmentWriter.add = die
folder = Path({str(tmp_path)!r})
vectors = local.LocalVectors(SQLite(folder / "lifelong.db"), lambda owner: folder / owner)
vectors.maintain(VectorPartition({WIDE.owner!r}, {WIDE.embedder!r}))
"""
    done = subprocess.run([sys.executable, "-c", script], check=False, timeout=300)
    assert done.returncode == -signal.SIGKILL
    assert [*tmp_path.glob("alice/*/*.tmp")]
    again = opened(sqlite, tmp_path)
    assert sorted(again.nearest(WIDE, rows[0].vector, 1_000)) == ids_of(rows)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(local, "SEGMENT_ROWS", 200)
        again.maintain(WIDE)
    assert len(files(tmp_path)) == 1
    assert not [*tmp_path.glob("alice/*/*.tmp")]
    assert sorted(again.nearest(WIDE, rows[0].vector, 1_000)) == ids_of(rows)


def test_a_full_disk_ends_no_process(
    sqlite: SQLite, tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R16: the space is taken before a file is mapped, so that its lack is an error; then rows are searched."""
    segments.SegmentWriter(tmp_path, segments.SegmentName(1, 0, 9), 70, np.arange(10_000))
    [begun] = tmp_path.glob("*.tmp")
    assert begun.stat().st_blocks * 512 >= begun.stat().st_size > 10_000 * 140, "it has no holes"

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    rows = make_items(sqlite, [*like_texts(600)])
    vectors = opened(sqlite, tmp_path)
    vectors.put(WIDE, rows)
    for broken in ("posix_fallocate", "fsync"):
        with monkeypatch.context() as patched:
            patched.setattr(os, broken, full)
            vectors.maintain(WIDE)
            assert sorted(vectors.nearest(WIDE, rows[0].vector, 600)) == ids_of(rows)
        assert [file.name for file in tmp_path.glob("alice/*/*")] in ([], ["lock"])
    vectors.maintain(WIDE)
    assert len(files(tmp_path)) == 1


def test_a_segment_that_was_made_again_is_seen_by_all(sqlite: SQLite, tmp_path: Path, few: None) -> None:
    """R16: also by a process that had the damaged one mapped."""
    matrix = like_texts(600)
    rows = make_items(sqlite, [*matrix])
    one, other = opened(sqlite, tmp_path), opened(sqlite, tmp_path)
    one.put(WIDE, rows)
    one.maintain(WIDE)
    [file] = files(tmp_path)
    with file.open("rb+") as damaged:
        damaged.seek(-140 * 100, os.SEEK_END)
        damaged.write(bytes(140 * 100))
    assert not other.get(WIDE, ids_of(rows))[-1].any()
    assert "damaged" in one.verify(WIDE, ids_of(rows))[0]
    one.maintain(WIDE)
    assert files(tmp_path) == [file]
    assert other.get(WIDE, ids_of(rows)) == pytest.approx(matrix, abs=1e-3)


def test_processes_write_one_segment_at_a_time(postgres: Database, tmp_path: Path, few: None) -> None:
    """R16: many put, maintain and search at once; nothing is lost, and the files are whole."""
    rows = make_items(postgres, [*like_texts(1_600)])
    stores = [LocalVectors(postgres, lambda owner: tmp_path / owner) for _ in range(4)]

    def work(number: int) -> None:
        for start in range(number * 400, number * 400 + 400, 50):
            stores[number].put(WIDE, rows[start : start + 50])
            stores[number].maintain(WIDE)
            assert {*ids_of(rows[start : start + 50])} <= {
                *stores[number].nearest(WIDE, rows[start].vector, 1_600)
            }

    in_threads(4, work)
    for store in stores:
        assert sorted(store.nearest(WIDE, rows[0].vector, 1_600)) == ids_of(rows)
        assert store.verify(WIDE, ids_of(rows)) == []


def test_a_search_waits_for_nobody_who_writes_a_segment(sqlite: SQLite, tmp_path: Path, few: None) -> None:
    """R16: it reads rows meanwhile."""
    rows = make_items(sqlite, [*like_texts(1_000)])
    vectors = opened(sqlite, tmp_path)
    vectors.put(WIDE, rows[:300])
    vectors.maintain(WIDE)
    [file] = files(tmp_path)
    vectors.put(WIDE, rows[300:])
    with FileLock(file.with_name("lock")):
        began = time.monotonic()
        assert sorted(vectors.nearest(WIDE, rows[0].vector, 1_000)) == ids_of(rows)
        assert time.monotonic() - began < local.LOCK_SECONDS / 4
    vectors.maintain(WIDE)
    assert sorted(vectors.nearest(WIDE, rows[0].vector, 1_000)) == ids_of(rows)
    assert not file.exists(), "it was merged"


def test_segments_of_another_database_do_not_count(tmp_path: Path, few: None) -> None:
    """R16: a home whose database was replaced finds what is in the new one."""
    for name in ("one.db", "other.db"):
        database = SQLite(tmp_path / name)
        rows = make_items(database, [*unit_rows(500, 70, seed=len(name))])
        vectors = opened(database, tmp_path)
        vectors.put(WIDE, rows)
        vectors.maintain(WIDE)
        assert vectors.nearest(WIDE, rows[3].vector, 1) == [rows[3].id]
        assert len(files(tmp_path)) == 1
        database.close()


def test_what_is_removed_leaves_the_files(sqlite: SQLite, tmp_path: Path, few: None) -> None:
    """S6: its bytes are in no segment any more."""
    rows = make_items(sqlite, [*like_texts(600)])
    vectors = opened(sqlite, tmp_path)
    vectors.put(WIDE, rows)
    vectors.maintain(WIDE)
    packed = vectors.get(WIDE, [rows[5].id])[0].astype("<f2").tobytes()
    assert packed in files(tmp_path)[0].read_bytes()
    vectors.remove(WIDE, [rows[5].id])
    assert not any(packed in file.read_bytes() for file in files(tmp_path))
    assert len(vectors.nearest(WIDE, rows[5].vector, 600)) == 599


def test_many_partitions_share_a_bounded_memory(sqlite: SQLite, tmp_path: Path) -> None:
    """R16: those that were not used longest are let go, and read again when they are asked for."""
    vectors = opened(sqlite, tmp_path)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(local, "MAX_CACHED_BYTES", 4 * 50 * 140)
        for number in range(12):
            partition = VectorPartition(f"user-{number}", "texts/1/70")
            vectors.put(partition, make_items(sqlite, [*like_texts(50)], owner=partition.owner))
            assert len(vectors.nearest(partition, like_texts(1)[0], 99)) == 50
        assert sum(one.cached_bytes for one in vectors._partitions.values()) <= local.MAX_CACHED_BYTES
        assert len(vectors.nearest(VectorPartition("user-0", "texts/1/70"), like_texts(1)[0], 99)) == 50


@pytest.mark.parametrize("damage", ["x'00'", "zeroblob(100)", "'text'", "x'007e007e007e007e'"])
def test_a_damaged_row_is_not_there(sqlite: SQLite, tmp_path: Path, damage: str) -> None:
    """R1: so it is made again, and others are found meanwhile."""
    rows = make_items(sqlite, [X, Y])
    opened(sqlite, tmp_path).put(PARTITION, rows)
    sqlite.write(lambda tx: tx.run("UPDATE items SET embedded = 1"))
    sqlite.write(lambda tx: tx.run(f"UPDATE item_vectors SET vector = {damage} WHERE item_id = ?", rows[0].id))
    vectors = opened(sqlite, tmp_path)
    assert vectors.nearest(PARTITION, X, 9) == [rows[1].id]
    assert sqlite.read(lambda tx: tx.all("SELECT id FROM items WHERE embedded IS NULL")) == [(rows[0].id,)]
    vectors.put(PARTITION, rows[:1])
    assert vectors.nearest(PARTITION, X, 9) == ids_of(rows)


# Chroma


def test_an_address_that_is_none_is_refused(chroma: None) -> None:
    with pytest.raises(ConfigError, match=r"vectors\.chroma_url"):
        ChromaVectors("nonsense")


def test_a_chroma_server_that_is_not_there_is_said(chroma: None) -> None:
    with pytest.raises(StorageUnavailable, match="Start it"):
        ChromaVectors("http://127.0.0.1:1")


def test_a_folder_that_chroma_cannot_use_is_said(chroma: None, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="try again"):
        ChromaVectors(tmp_path / "file")


def test_chroma_says_whose_a_collection_is(chroma: None, tmp_path: Path) -> None:
    vectors = ChromaVectors(tmp_path)
    vectors.put(PARTITION, [VectorRow(1, "note", "", 0, X)])
    metadata = vectors._call(lambda client: client.list_collections()[0].metadata)
    assert metadata == {"owner": "alice", "embedder": "static/1/4"}
    vectors.close()


# pgvector


def test_pgvector_searches_by_its_index(postgres: Database) -> None:
    vectors = PgVectors(postgres)
    partition = VectorPartition("alice", "random/1/16")
    vectors.put(partition, make_items(postgres, [*unit_rows(100, 16)]))

    def plan(tx: Transaction) -> list[Row]:
        ((table,),) = tx.all(TABLES)
        tx.run("SET LOCAL enable_seqscan = off")
        query = f"SELECT item_id FROM {table} ORDER BY vector <=> CAST(? AS halfvec) LIMIT 5"
        return tx.all(f"EXPLAIN {query}", str([1] * 16))

    assert any("Index Scan" in row[0] for row in postgres.write(plan))


def test_pgvector_finds_by_its_index_what_is_an_owners(
    postgres: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R3, R16: among many more of another's, also by a filter."""
    monkeypatch.setattr("lifelong.vectors.pgvector.MAX_EXACT_ROWS", -1)
    vectors, matrix = PgVectors(postgres), unit_rows(300, 16)
    vectors.put(VectorPartition("bob", "random/1/16"), make_items(postgres, [*unit_rows(900, 16, 4)], owner="bob"))
    rows = make_items(postgres, [*matrix], kinds=("note", "experience"))
    partition = VectorPartition("alice", "random/1/16")
    vectors.put(partition, rows)
    assert {*vectors.nearest(partition, matrix[0], 50)} <= {*ids_of(rows)}
    assert vectors.nearest(partition, matrix[0], 50)[0] == rows[0].id
    found = vectors.nearest(partition, matrix[1], 20, VectorFilter(kinds=("experience",)))
    assert len(found) == 20
    assert found[0] == rows[1].id
    assert {*found} <= {*ids_of(rows[1::2])}


def test_pgvector_reads_more_than_a_statement_takes_parameters(postgres: Database) -> None:
    """R16."""
    vectors = PgVectors(postgres)
    rows = make_items(postgres, [X, Y])
    vectors.put(PARTITION, rows)
    got = vectors.get(PARTITION, [*range(10**9, 10**9 + 70_000), *ids_of(rows)])
    assert np.flatnonzero(have_direction(got)).tolist() == [70_000, 70_001]


def test_pgvector_takes_more_dimensions_than_its_index_does(postgres: Database) -> None:
    vectors = PgVectors(postgres)
    partition = VectorPartition("alice", "wide/1/4100")
    rows = make_items(postgres, [*unit_rows(3, 4_100)])
    vectors.put(partition, rows)
    assert vectors.nearest(partition, rows[2].vector, 1) == [rows[2].id]


@pytest.mark.parametrize("store", ["local", "pgvector"])
def test_what_belongs_to_no_item_is_not_stored_and_named(postgres: Database, tmp_path: Path, store: str) -> None:
    """R1: as after a rebuild while vectors were made."""
    vectors: Vectors = PgVectors(postgres)
    if store == "local":
        vectors = LocalVectors(postgres, lambda owner: tmp_path / owner)
    rows = make_items(postgres, [X, Y])
    vectors.put(PARTITION, [*rows, VectorRow(10**9, "note", "", rows[0].at, X)])
    assert vectors.verify(PARTITION, ids_of(rows)) == []
    assert vectors.nearest(PARTITION, X, 9) == ids_of(rows)
    postgres.write(lambda tx: tx.run("DELETE FROM items WHERE id = ?", rows[1].id))
    assert vectors.verify(PARTITION, ids_of(rows[:1])) == ["1 vectors belong to nothing. Run: lifelong rebuild."]
    postgres.write(lambda tx: IndexStates(tx).embedder(PARTITION.embedder))
    IndexRepair(postgres, lambda _: vectors).rebuild()
    assert vectors.verify(PARTITION, ids_of(rows[:1])) == []


def test_where_pgvector_is_missing_the_next_step_is_said(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE ROLE plain LOGIN")
        for name in ("bare", "closed"):
            connection.execute(f"CREATE DATABASE {name}")
            connection.execute(f"GRANT CREATE ON DATABASE {name} TO plain")
        connection.execute("ALTER DATABASE bare SET extension_control_path = '/nowhere'")
    for name, advice in (("bare", "Install it there"), ("closed", "CREATE EXTENSION vector")):
        url = psycopg.conninfo.make_conninfo(postgres_url, dbname=name, user="plain")
        database = Postgres(url)
        with pytest.raises(StorageUnavailable, match=advice):
            PgVectors(database)
        database.close()


# Settings


def test_the_settings_choose_the_store(chroma_url: str, tmp_path: Path, postgres: Database) -> None:
    """R5: locally by default, in Chroma's folder or server, or in pgvector."""
    home = Home(tmp_path)

    def opened(database: Database = postgres, path: str = "tmp/chroma", **chosen: str) -> Vectors:
        settings = Settings.load(vectors=chosen, continuity={"experience_store_path": path})
        vectors = open_vectors(settings, home, "work", database)
        vectors.close()
        return vectors

    assert isinstance(opened(), LocalVectors)
    assert isinstance(opened(store="pgvector"), PgVectors)
    opened(store="chroma", chroma_url=chroma_url)
    assert list(tmp_path.iterdir()) == []
    opened(store="chroma", path="mine/here")
    assert (tmp_path / "users/work/mine/here/chroma.sqlite3").is_file()


def test_what_a_store_lacks_is_said(sqlite: SQLite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for store, says in (("pgvector", r"storage\.url"), ("chroma", r"lifelong\[chroma\]")):
        monkeypatch.setitem(sys.modules, "chromadb", None)
        with pytest.raises(ConfigError, match=says):
            open_vectors(Settings.load(vectors={"store": store}), Home(tmp_path), "work", sqlite)
