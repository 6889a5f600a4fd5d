"""One contract, every store of vectors (R4, R5), and what is particular to each."""

from __future__ import annotations

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

from lifelong.errors import ConfigError, InputError, StorageError, StorageUnavailable
from lifelong.home import Home
from lifelong.settings import Settings
from lifelong.storage.base import Database, Row, Transaction
from lifelong.storage.postgres import Postgres
from lifelong.storage.sqlite import SQLite
from lifelong.vectors import local
from lifelong.vectors.base import VectorItem, VectorPartition, Vectors
from lifelong.vectors.chroma import ChromaVectors
from lifelong.vectors.local import LocalVectors, Nearest
from lifelong.vectors.pgvector import PgVectors
from lifelong.wiring import open_vectors
from tests.conftest import absent
from tests.vectors_contract import PARTITION, OpenVectors, VectorsContract, X, Y, found, items, unit_rows

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
    """Without vectors. A schema for each test would cost a second when the server stops."""

    def empty(tx: Transaction) -> None:
        for (table,) in tx.all(TABLES):
            tx.run(f"DROP TABLE {table}")
        tx.run("DELETE FROM vectors")
        tx.run("DELETE FROM vector_scopes")

    one_postgres.write(empty)
    return one_postgres


class OnFiles(VectorsContract):
    """Where two processes meet in files."""

    def test_another_process_is_seen_and_sees(self, vectors: Vectors, elsewhere: str) -> None:
        vectors.put(PARTITION, items(a=X, b=Y))
        assert found(vectors) == ["a", "b"]
        script = f"""
import numpy as np
from lifelong.vectors.base import VectorItem, VectorPartition
{elsewhere}
partition = VectorPartition({PARTITION.owner!r}, {PARTITION.collection!r}, {PARTITION.embedder!r})
x = np.eye(4, dtype=np.float32)[0]
assert [near.id for near in vectors.search(partition, x, 5)] == ["a", "b"]
vectors.put(partition, [VectorItem("c", x)])
vectors.remove(partition, ["b"])
vectors.close()
"""
        subprocess.run([sys.executable, "-c", script], check=True, timeout=300)
        assert found(vectors) == ["a", "c"]
        assert len(vectors.ids(PARTITION)) == 2


class TestLocalOnSQLite(OnFiles):
    @pytest.fixture
    def open_vectors(self, sqlite: SQLite) -> OpenVectors:
        return lambda: LocalVectors(sqlite)

    @pytest.fixture
    def elsewhere(self, tmp_path: Path) -> str:
        return f"""
from pathlib import Path
from lifelong.storage.sqlite import SQLite
from lifelong.vectors.local import LocalVectors
vectors = LocalVectors(SQLite(Path({str(tmp_path / "lifelong.db")!r})))
"""


class TestLocalInTwoSteps(VectorsContract):
    """The same, with a partition that has always outgrown exact search."""

    @pytest.fixture(autouse=True)
    def _small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(local, "MAX_EXACT_ROWS", 1)
        monkeypatch.setattr(local, "MAX_KEPT_REMOVALS", 2)

    @pytest.fixture
    def open_vectors(self, sqlite: SQLite) -> OpenVectors:
        return lambda: LocalVectors(sqlite)


class TestLocalOnPostgres(VectorsContract):
    @pytest.fixture
    def open_vectors(self, postgres: Database) -> OpenVectors:
        return lambda: LocalVectors(postgres)


class TestPgvector(VectorsContract):
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
        VectorPartition("alice", "turns", embedder)


def test_a_scope_has_an_owner() -> None:
    with pytest.raises(InputError, match="owner"):
        VectorPartition("", "turns", "static/1/4")


# The local store


@pytest.mark.parametrize("exact", [True, False])
def test_nearest_finds_the_places_of_the_nearest(exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    count, dims = 6_000, 70
    monkeypatch.setattr(local, "MAX_EXACT_ROWS", count if exact else 100)
    about = np.tile(unit_rows(60, dims, seed=3), (count // 60, 1))  # as texts do, they speak of something
    rows = about + 0.7 * unit_rows(count, dims)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows.astype(np.float16).astype(np.float32)
    searched = Nearest(dims)
    assert [searched.add(rows[start : start + 50]) for start in range(0, count, 50)] == list(range(0, count, 50))
    assert len(searched) == count
    odd = np.arange(count) % 2 == 1
    few = np.arange(count) < 20
    for query in unit_rows(10, dims, seed=2):
        truth = rows @ query
        for k, among in ((10, None), (200, None), (200, odd), (10, few), (30, few)):
            places, near = searched.search(query, k, among)
            expected = np.argsort(-truth if among is None else np.where(among, -truth, 9))[:k]
            expected = expected[: 20 if among is few else k]
            assert len(places) == len(near) == len(expected)
            assert list(near) == sorted(near, reverse=True)
            assert near == pytest.approx(truth[places], abs=1e-5)
            assert len(set(places.tolist()) & set(expected.tolist())) >= (
                1.0 if exact or among is few else 0.9
            ) * len(expected)


def test_nearest_replaces_a_row_and_takes_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    for exact in (100, 1):
        monkeypatch.setattr(local, "MAX_EXACT_ROWS", exact)
        searched = Nearest(4)
        assert [len(found) for found in searched.search(X, 3)] == [0, 0]
        searched.add(np.array([Y, 0 * X, -X]))
        searched.replace(np.array([0]), X[np.newaxis])
        places, near = searched.search(X, 3)
        assert (places.tolist(), near.tolist()) == ([0, 1, 2], [1, 0, -1])
        assert np.array_equal(searched.rows(np.array([2, 0])), [-X, X])
        assert searched.rows(np.array([0])).dtype == np.float32


def test_a_store_that_slept_through_removals_reads_anew(sqlite: SQLite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "MAX_KEPT_REMOVALS", 3)
    writer, sleeper = LocalVectors(sqlite), LocalVectors(sqlite)
    writer.put(PARTITION, [VectorItem(f"n{place}", X) for place in range(20)])
    assert len(found(sleeper, k=50)) == 20
    for place in range(18):
        writer.remove(PARTITION, [f"n{place}"])
    assert sqlite.read(lambda tx: tx.one("SELECT count(*) FROM vectors WHERE vector IS NULL")) == (3,)
    assert found(sleeper, k=50) == ["n18", "n19"] == found(writer, k=50)
    assert len(writer.ids(PARTITION)) == 2


def test_a_database_that_went_back_in_time_is_read_anew(sqlite: SQLite) -> None:
    vectors = LocalVectors(sqlite)
    vectors.put(PARTITION, items(a=X, b=Y))
    assert found(vectors) == ["a", "b"]

    sqlite.write(lambda tx: tx.run("DELETE FROM vectors WHERE id = 'b'"))
    sqlite.write(lambda tx: tx.run("UPDATE vector_scopes SET stamp = 1"))
    assert found(vectors) == ["a"]


@pytest.mark.parametrize("damage", ["x'00'", "zeroblob(100)", "'text'", "x'007e007e007e007e'"])
def test_a_damaged_row_is_not_there(sqlite: SQLite, damage: str) -> None:
    """R1: so it is made anew, and others are found meanwhile."""
    vectors = LocalVectors(sqlite)
    vectors.put(PARTITION, items(a=X, b=Y))
    sqlite.write(lambda tx: tx.run(f"UPDATE vectors SET vector = {damage}, stamp = 3 WHERE id = 'a'"))
    sqlite.write(lambda tx: tx.run("UPDATE vector_scopes SET stamp = 3"))
    assert found(vectors) == found(LocalVectors(sqlite)) == ["b"]
    assert vectors.ids(PARTITION) == ["b"]
    vectors.put(PARTITION, items(a=X))
    assert found(vectors) == ["a", "b"]


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
    vectors.put(PARTITION, items(a=X))
    metadata = vectors._call(lambda client: client.list_collections()[0].metadata)
    assert metadata == {"owner": "alice", "collection": "turns", "embedder": "static/1/4"}
    vectors.close()


# pgvector


def test_pgvector_searches_by_its_index(postgres: Database) -> None:
    vectors = PgVectors(postgres)
    partition = VectorPartition("alice", "turns", "random/1/16")
    vectors.put(partition, [VectorItem(str(place), row) for place, row in enumerate(unit_rows(100, 16))])

    def plan(tx: Transaction) -> list[Row]:
        ((table,),) = tx.all(TABLES)
        tx.run("SET LOCAL enable_seqscan = off")
        query = f"SELECT id FROM {table} ORDER BY vector <=> CAST(? AS halfvec) LIMIT 5"
        return tx.all(f"EXPLAIN {query}", str([1] * 16))

    assert any("Index Scan" in row[0] for row in postgres.write(plan))


def test_pgvector_takes_more_dimensions_than_its_index_does(postgres: Database) -> None:
    vectors = PgVectors(postgres)
    partition = VectorPartition("alice", "turns", "wide/1/4100")
    rows = unit_rows(3, 4_100)
    vectors.put(partition, [VectorItem(str(place), row) for place, row in enumerate(rows)])
    assert found(vectors, rows[2], 1, partition) == ["2"]


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
