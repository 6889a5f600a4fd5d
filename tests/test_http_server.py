"""The server as a process: it answers, tells what happens, keeps a worker beside it, and may be killed."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, closing, suppress
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import Any

import pytest
from fastapi.sse import ServerSentEvent
from playwright.sync_api import sync_playwright

from lifelong import Memory, User
from lifelong.errors import StorageUnavailable
from lifelong.memory import Store
from lifelong.serve import server
from lifelong.serve.http import events
from lifelong.serve.server import serve
from tests.conftest import absent
from tests.http_api import API, MARA

SERVE = """
import sys
from lifelong.serve import server
server.WORKER_RESTART_SECONDS = 0.1
server.serve(sys.argv[1], port=0, token=sys.argv[2])
"""
TOKEN = "open-sesame-and-wide"
QUICK = "[worker]\ntick_seconds = 0.1\n"


class Served:
    """`lifelong serve` in a process of its own."""

    def __init__(self, home: Path, token: str = "") -> None:
        command = [sys.executable, "-c", SERVE, str(home), token]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.said = self.process.stdout.readline()
        self.port = int(self.said.partition("127.0.0.1:")[2].partition("/")[0])

    def connect(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, method: str, path: str, body: object = None, connection: HTTPConnection | None = None) -> Any:
        """The JSON of a successful answer."""
        if connection is None:
            with closing(self.connect()) as connection:
                return self.ask(method, path, body, connection)
        sent = None if body is None else json.dumps(body)
        connection.request(method, API + path, sent, {"content-type": "application/json"})
        answer = connection.getresponse()
        got = answer.read()
        assert answer.status < 300, got
        return json.loads(got or "null")

    def agent(self, name: str, user: str = "default") -> str:
        made: str = self.ask("POST", f"/agents?user={user}", {**MARA, "user_id": name})["id"]
        return made

    def workers(self) -> set[int]:
        """Its child processes."""
        found: set[int] = set()
        for children in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            with suppress(OSError):  # of a thread that has just ended
                found.update(map(int, children.read_text().split()))
        return found

    def memory(self) -> int:
        """How many bytes it holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) << 10

    def end(self, how: signal.Signals) -> int:
        self.process.send_signal(how)
        self.process.communicate()
        return self.process.returncode


def until(true: Callable[[], object], seconds: float = 60) -> None:
    """Wait for something that comes at its own time."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)


def is_gone(pid: int) -> bool:
    """Also where nobody has buried it yet."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return " Z " in Path(f"/proc/{pid}/stat").read_text()
    return True


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("served")
    (home / "lifelong.toml").write_text(QUICK)
    return home


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Served]:
    served = Served(home)
    yield served
    served.end(signal.SIGKILL)


def test_one_line_says_where_it_is(served: Served, home: Path) -> None:
    """S8: on loopback unless told."""
    assert served.said == f"lifelong serves {home} at http://127.0.0.1:{served.port}/ (Ctrl-C ends it)\n"


def test_a_port_in_use_is_reported(served: Served, tmp_path: Path) -> None:
    with pytest.raises(StorageUnavailable, match="Address already in use"):
        serve(tmp_path, port=served.port)


@pytest.fixture
def unchanged_logs() -> Iterator[None]:
    """A server sets up the log of its process, which is ours here."""
    logs = [logging.getLogger(name) for name in ("lifelong", "uvicorn")]
    before = [(log.level, log.handlers) for log in logs]
    yield
    for log, (level, handlers) in zip(logs, before, strict=True):
        log.level, log.handlers = level, handlers


@pytest.mark.usefixtures("unchanged_logs")
@pytest.mark.parametrize(("host", "shown"), [("localhost", "localhost"), ("0.0.0.0", "127.0.0.1")])
def test_it_opens_a_browser_and_ends_on_a_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, shown: str
) -> None:
    """S8: off loopback with a token. The worker goes with it."""
    opened: list[str] = []
    with Memory.open(tmp_path, "beta") as memory:
        memory.agent(User("cli", "mara", "main"))

    def look(address: str) -> bool:
        opened.append(address)
        os.kill(os.getpid(), signal.SIGTERM)
        return True

    monkeypatch.setattr("webbrowser.open", look)
    serve(tmp_path, host=host, port=0, token=TOKEN, user="beta", worker=host == "localhost", open_browser=True)
    assert re.fullmatch(rf"http://{re.escape(shown)}:\d+/\?user=beta", opened[0])


def test_a_person_logs_in_by_a_browser(tmp_path: Path) -> None:
    """S8: a real browser sends the form with an Origin that the guard takes, and keeps the cookie."""
    if not (chromium := shutil.which("chromium")):
        absent("chromium is not installed")
    served = Served(tmp_path, TOKEN)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{served.port}/")
        assert page.url.endswith("/login")
        for token in ("wrong", TOKEN):
            page.fill("#token", token)
            with page.expect_event("framenavigated"):
                page.click("button")
        page.goto(f"http://127.0.0.1:{served.port}{API}/admin/health")
        assert '"status":"green"' in page.content()
        browser.close()
    served.end(signal.SIGKILL)


def heard(stream: HTTPResponse) -> tuple[str, dict[str, Any]]:
    """The next event."""
    lines = []
    while line := stream.readline().decode().strip():
        lines.append(line)
    (data,) = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return lines[0].removeprefix("event: "), json.loads(data)


def test_events_report_what_happens(served: Served) -> None:
    """An overview at once and when it changed; a changeset when it lands, also one that the worker makes."""
    connection = served.connect()
    connection.request("GET", f"{API}/events")
    stream = connection.getresponse()
    assert stream.headers["content-type"].startswith("text/event-stream")
    kind, overview = heard(stream)
    assert (kind, set(overview)) == ("overview", {"health", "stats", "unindexed"})
    agent = served.agent("mara")
    served.ask("POST", "/add", {"text": "I am Mara from Lisbon.", "agent": agent})
    served.ask("POST", "/end_session", {"agent": agent})
    kind, told = heard(stream)
    while kind != "changeset":
        kind, told = heard(stream)
    assert told["cause"] == "run"
    assert served.ask("GET", f"/changesets/{told['id']}")["session_id"] == told["session_id"]
    stream.close()
    connection.close()


def test_listeners_share_one_poll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While nobody listens, nobody looks."""
    looks = 0
    look = events._take_snapshot

    def counted(memory: Memory, last: int | None = None) -> events.Snapshot:
        nonlocal looks
        looks += 1
        if looks == 2:
            raise RuntimeError("nobody foresaw this")  # it is logged, and the next look comes all the same
        return look(memory, last)

    monkeypatch.setattr(events, "_take_snapshot", counted)
    monkeypatch.setattr(events, "POLL_SECONDS", 0.05)

    async def listen(memory: Memory) -> None:
        watch = events.EventHub().of(memory)
        first, second = watch.listen(), watch.listen()
        assert [(await anext(one)).event for one in (first, second)] == ["overview"] * 2
        await asyncio.to_thread(memory.documents.write, slug="a", title="A", description="", body="One.")
        for one in (first, second):
            assert [(await anext(one)).event for _ in range(2)] == ["changeset", "overview"]
        looking = watch._task
        assert looking
        watch.send(None)
        for one in (first, second):
            with pytest.raises(StopAsyncIteration):
                await anext(one)
        await asyncio.wait([looking])  # one look may have been under way
        before = looks
        await asyncio.sleep(0.2)
        assert looks == before

    with Memory.open(tmp_path) as memory:
        asyncio.run(listen(memory))


def test_no_changeset_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many land between two looks; and who comes again gets what was missed, once."""
    monkeypatch.setattr(events, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(events, "CHANGESETS_PER_READ", 3)

    def write(memory: Memory, *names: str) -> None:
        for name in names:
            memory.documents.write(slug=name, title=name, description="", body="One.")

    async def ids(listening: AsyncIterator[ServerSentEvent], many: int) -> list[int]:
        found: list[int] = []
        while len(found) < many:
            if (event := await anext(listening)).event == "changeset":
                found.append(int(event.id or 0))
        return found

    async def listen(memory: Memory) -> None:
        watch = events.UserEvents(memory)
        first = watch.listen()
        assert (await anext(first)).event == "overview"
        await asyncio.to_thread(write, memory, *"abcdefghij")
        heard = await ids(first, 10)
        assert heard == sorted(one.id for one in memory.documents.changesets())[1:]
        again = watch.listen(heard[1])
        assert await ids(again, 8) == heard[2:]
        await asyncio.to_thread(write, memory, "k")
        assert await ids(again, 1) == await ids(first, 1)
        watch.send(None)
        for one in (first, again):
            assert {event.event async for event in one} <= {"overview"}

    with Memory.open(tmp_path) as memory:
        write(memory, "z")
        asyncio.run(listen(memory))


def test_a_listener_that_does_not_keep_up_is_disconnected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MAX_UNREAD_EVENTS", 2)

    async def dawdle(memory: Memory) -> list[str | None]:
        watch = events.UserEvents(memory)
        listening = watch.listen()
        await anext(listening)
        for number in range(5):
            watch.send(ServerSentEvent(event=str(number)))
        return [event.event async for event in listening]

    with Memory.open(tmp_path) as memory:
        assert len(asyncio.run(dawdle(memory))) < 5


def test_listeners_leave_connections_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S8: where too many listen, the oldest of the user who has most makes room, and may come again."""
    monkeypatch.setattr(events, "MAX_LISTENERS", 3)

    async def listen(store: Store) -> None:
        hub = events.EventHub()
        mara, anders = (hub.of(store.user(name)) for name in ("mara", "anders"))
        of_mara = [mara.listen() for _ in range(4)]
        for one in (*of_mara, of_anders := anders.listen()):
            assert (await anext(one)).event == "overview"
        for one in of_mara[:2]:
            with pytest.raises(StopAsyncIteration):
                await anext(one)
        for of_user in (mara, anders):
            of_user.send(ServerSentEvent(event="heard"))
        for one in (*of_mara[2:], of_anders):
            assert (await anext(one)).event == "heard"
            await one.aclose()

    with Store.open(tmp_path) as store:
        asyncio.run(listen(store))


def test_where_everybody_has_one_stream_the_oldest_of_all_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S8: so who comes again is not the next to go."""
    monkeypatch.setattr(events, "MAX_LISTENERS", 2)

    async def listen(store: Store) -> None:
        hub = events.EventHub()
        users = [hub.of(store.user(name)) for name in ("mara", "anders", "nora")]
        streams = [one.listen() for one in (*users, users[0])]
        for one in streams:
            assert (await anext(one)).event == "overview"
        for of_user in users:
            of_user.send(ServerSentEvent(event="heard"))
        heard = [await anext(one, None) for one in streams]
        assert [one is not None for one in heard] == [False, False, True, True]
        for one in streams:
            await one.aclose()

    with Store.open(tmp_path) as store:
        asyncio.run(listen(store))


def test_more_events_at_once_than_a_listener_may_leave_unread_end_its_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who comes again gets what was missed, and what is new after that."""
    monkeypatch.setattr(events, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(events, "MAX_UNREAD_EVENTS", 3)

    def write(memory: Memory, *names: str) -> None:
        for name in names:
            memory.documents.write(slug=name, title=name, description="", body="One.")

    async def listen(memory: Memory) -> None:
        watch = events.UserEvents(memory)
        first = watch.listen()
        await anext(first)
        seen = memory.documents.changesets()[0].id
        watch.send(*[ServerSentEvent(event="changeset")] * 4)
        with pytest.raises(StopAsyncIteration):
            await anext(first)
        again = watch.listen(seen)
        await anext(again)
        await asyncio.to_thread(write, memory, "a")
        assert (await anext(again)).event == "changeset"

    with Memory.open(tmp_path) as memory:
        write(memory, "z")
        asyncio.run(listen(memory))


def test_a_worker_that_dies_is_started_again(served: Served) -> None:
    """O5: it also keeps the journals of users that began after it did."""
    until(served.workers)
    (first,) = served.workers()
    os.kill(first, signal.SIGKILL)
    until(lambda: served.workers() - {first})
    agent = served.agent("otto", "beta")
    said = {"text": "I am Otto and I live in Oslo.", "agent": agent}
    (record,) = served.ask("POST", "/add?user=beta", said)["ids"]
    served.ask("POST", "/end_session?user=beta", {"agent": agent})
    until(lambda: served.ask("GET", f"/receipt/{record}?user=beta")["stage"] == "searchable")
    assert "Oslo" not in json.dumps(served.ask("POST", "/search", {"query": "Oslo"}))


def test_a_mark_wakes_the_worker_beside(tmp_path: Path) -> None:
    """O1: five minutes lie between two ticks, and the worker's first round cannot know the second session."""
    (tmp_path / "lifelong.toml").write_text("[worker]\ntick_seconds = 300\n")
    served = Served(tmp_path)

    def is_searchable(record: str) -> bool:
        return bool(served.ask("GET", f"/receipt/{record}?user=mara")["stage"] == "searchable")

    try:
        for text in ("I live in Porto.", "I moved to Lisbon."):
            [record] = served.ask("POST", "/add?user=mara", {"text": text})["ids"]
            served.ask("POST", "/end_session?user=mara")
            until(partial(is_searchable, record))
    finally:
        served.end(signal.SIGKILL)


@pytest.mark.parametrize("state", ["full", "dead"])
def test_a_worker_that_reads_nothing_holds_up_nobody(tmp_path: Path, state: str) -> None:
    """O1, O5: neither because it is busy, nor because it died."""
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    with (
        Store.open(tmp_path) as store,
        subprocess.Popen(command, stdin=subprocess.PIPE) as process,
        server._waking(store, process),
    ):
        assert process.stdin
        if state == "dead":
            process.kill()
            process.wait()
        with suppress(BlockingIOError, BrokenPipeError):
            while os.write(process.stdin.fileno(), b"." * 4096):
                pass
        store.user().add("I live in Porto.")
        store.user().end_session()
        process.kill()


def test_a_worker_that_ended_is_not_woken(tmp_path: Path) -> None:
    """O5: the number of its pipe may belong to another file by then."""
    with Store.open(tmp_path) as store, (tmp_path / "other").open("wb") as other:
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
            assert process.stdin
            with server._waking(store, process):
                store.wake()
            os.dup2(other.fileno(), process.stdin.fileno())
            store.wake()
        assert (tmp_path / "other").read_bytes() == b""


def test_a_worker_that_cannot_be_started_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """O5: a machine that has no room for a process has some later."""
    tried: list[Any] = []
    start = subprocess.Popen

    def fail_once(command: list[str], **given: Any) -> subprocess.Popen[bytes]:
        tried.append(command)
        if len(tried) == 1:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return start([sys.executable, "-c", "input()"], **given, stderr=subprocess.DEVNULL)

    monkeypatch.setattr(server, "WORKER_RESTART_SECONDS", 0.01)
    monkeypatch.setattr(subprocess, "Popen", fail_once)
    with Store.open(tmp_path) as store, server._worker(store):
        until(lambda: len(tried) > 1)
    assert "the worker cannot be started: [Errno 11] Resource temporarily unavailable" in caplog.text


def test_old_notes_of_a_worker_are_dropped(tmp_path: Path) -> None:
    """O6: health is green again after an outage; what a library prints says nothing."""
    said = '{"": ["The database did not answer."]}', '["printed"]', "printed", '{"default": []}'
    shown = [f"print({line!r})" for line in said]
    with Store.open(tmp_path) as store:
        for count, remarks in ((3, ["The database did not answer."]), (4, [])):
            command = [sys.executable, "-c", "\n".join(shown[:count])]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as worker:
                server._listen(worker, store, {})
            assert store.user().admin.status_notes() == remarks


def test_a_worker_that_keeps_failing_is_in_the_health(tmp_path: Path) -> None:
    """O6: why it cannot start, and why what it runs fails; green again when that is mended."""
    settings, users = tmp_path / "lifelong.toml", tmp_path / "users"
    settings.write_text(QUICK)
    served = Served(tmp_path)
    try:
        until(served.workers)
        settings.write_text(f"{QUICK}[collect]\nturn_treshold = 3\n")
        os.kill(served.workers().pop(), signal.SIGKILL)
        until(lambda: "the worker ended (1)" in str(served.ask("GET", "/admin/health")["reasons"]))
        health = served.ask("GET", "/admin/health")
        assert health["status"] == "yellow"
        assert "Did you mean 'collect.turn_threshold'?" in health["reasons"][1]

        users.write_text("in the way of the journal's folder")
        settings.write_text(f"{QUICK}[continuity]\njournal_enabled = true\n")
        served.agent("otto", "beta")
        agent = served.agent("mara")
        served.ask("POST", "/add", {"text": "I am Mara.", "agent": agent})
        served.ask("POST", "/end_turn", {"agent": agent})
        until(lambda: "could not be locked" in str(served.ask("GET", "/admin/health")["reasons"]))
        assert "could not be locked" not in str(served.ask("GET", "/admin/health?user=beta")["reasons"])

        users.unlink()
        until(lambda: served.ask("GET", "/admin/health") == {**health, "status": "green", "reasons": []})
    finally:
        served.end(signal.SIGTERM)


def test_killed_under_load_it_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    """C7, S1: SIGKILL while several clients append; started again, every acknowledged turn is there, the queue
    goes on, and the worker that was left alone has ended."""
    (tmp_path / "lifelong.toml").write_text(QUICK)
    served = Served(tmp_path)
    until(served.workers)
    orphans = served.workers()
    names = ("ada", "bo", "cy", "di")
    agents = {name: served.agent(name) for name in names}
    acknowledged: dict[str, list[str]] = {name: [] for name in names}

    def keep_talking(name: str) -> None:
        with suppress(OSError, HTTPException), closing(served.connect()) as connection:
            while True:
                text = f"I am {name.capitalize()} and this is number {len(acknowledged[name])}."
                said = {"text": text, "agent": agents[name]}
                acknowledged[name] += served.ask("POST", "/add", said, connection)["ids"]

    threads = [threading.Thread(target=keep_talking, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    until(lambda: min(map(len, acknowledged.values())) >= 30)
    assert served.end(signal.SIGKILL) == -signal.SIGKILL
    for thread in threads:
        thread.join()
    until(lambda: all(map(is_gone, orphans)))

    again = Served(tmp_path)
    for name in names:
        kept = [f"r{one['id']}" for one in again.ask("GET", f"/sessions/{agents[name]}/history")]
        assert kept[: len(acknowledged[name])] == acknowledged[name]
        again.ask("POST", "/end_session", {"agent": agents[name]})
    until(
        lambda: all(
            again.ask("GET", f"/receipt/{ids[-1]}")["stage"] == "searchable" for ids in acknowledged.values()
        )
    )
    assert again.ask("GET", "/admin/health")["status"] == "green"
    ends_with_its_worker(again)


def ends_with_its_worker(served: Served) -> None:
    """When it is told to, and without waiting for anybody who listens."""
    workers = served.workers()
    with closing(served.connect()) as connection:
        connection.request("GET", f"{API}/events")
        with connection.getresponse():
            assert served.end(signal.SIGTERM) == 0
    assert workers
    assert all(map(is_gone, workers))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", served.port))


def test_bodies_in_flight_are_bounded(home: Path, served: Served) -> None:
    """S8: 150 bodies of 7 MB that never end took more than 1 GB. What does not fit is answered with 503, and who
    sends little is served meanwhile."""
    size = 7_000_000
    start = f"POST {API}/search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    sent = f"{start}content-length: {size}\r\n\r\n".encode() + b" " * (size - 1)
    before = served.memory()
    statuses: list[bytes] = []
    with ExitStack() as stack:

        def send(connection: socket.socket) -> None:
            with suppress(OSError):  # it was answered, and ended, before all was sent
                connection.sendall(sent)
            with suppress(OSError):
                statuses.append(connection.recv(1 << 16)[:12])

        address = ("127.0.0.1", served.port)
        connections = [stack.enter_context(socket.create_connection(address, timeout=5)) for _ in range(150)]
        threads = [threading.Thread(target=send, args=(one,)) for one in connections]
        for thread in threads:
            thread.start()
        until(lambda: len(statuses) > 100)
        assert served.ask("POST", "/search", {"query": "hi"}) is not None
        taken = served.memory() - before
        for thread in threads:
            thread.join()
    assert set(statuses) == {b"HTTP/1.1 503"}
    assert taken < 400 << 20, f"{taken:,} bytes"
