"""Run PostgreSQL with two servers and four workers, all processes of their own, and kill any of them at random.

1. **Fill**: 1,000 users get a million records, or as many as are stored and indexed in the time given.
2. **Idle**: searches of random users through both servers, while nothing else happens.
3. **Fire**: records come in at a steady rate and are organized, searches go on, and every few seconds one of the
   six processes is killed with SIGKILL and started again. A request that fails is sent again, to the other server
   and with the same key, as a client would.
4. **Drain**: the workers finish what waits. Then each acknowledged record is looked for in its session (`lost`,
   `doubled`), and no two runs may have learned from the same record (`learned_twice`).

SCALE_RECORDS, SCALE_FILL_MINUTES and SCALE_FIRE_MINUTES change what is tried; the defaults stay within 20 minutes.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from statistics import median

from rich.console import Console

from bench.databases import PostgresGround
from bench.goals import Figures, Goal, table
from bench.measure import p99
from bench.speech import Speech
from lifelong import Store, User, UserMessage

USERS = 1_000
RECORDS = int(os.environ.get("SCALE_RECORDS", "1000000"))
FILL_SECONDS = 60 * float(os.environ.get("SCALE_FILL_MINUTES", "6"))
FIRE_SECONDS = 60 * float(os.environ.get("SCALE_FIRE_MINUTES", "10"))
DRAIN_SECONDS = 300
IDLE_SEARCHES = 200
FILLERS, SERVERS, WORKERS = 2, 2, 4
BATCH = 250  # records of one user that are stored together
ADDS_A_SECOND = 20
SEARCHES_A_SECOND = 5
KILL_EVERY = 5.0  # seconds
REQUEST_SECONDS = 30
HERE = Path(__file__).parent.parent
NOTHING_TO_ORGANIZE = {"LIFELONG_COLLECT_TURN_THRESHOLD": "1000000", "LIFELONG_COLLECT_IDLE_AFTER": "1000000"}

GOALS = {
    "lost": Goal("acknowledged records that are missing", "=", 0),
    "doubled": Goal("records that are stored twice", "=", 0),
    "learned_twice": Goal("records that two runs learned from", "=", 0),
    "left_in_queue": Goal("sessions and transcripts that wait at the end", "=", 0),
    "recall_under_fire_over_idle": Goal("a search under fire over an idle one, median", "≤", 3),
}

ALSO = {
    "records": "records at the start",
    "users": "users",
    "kills": "processes killed",
    "acknowledged": "records acknowledged under fire",
    "retried": "requests that were sent again",
    "search_idle_ms": "a search when idle, median, ms",
    "search_under_fire_ms": "a search under fire, median, ms",
    "search_under_fire_p99_ms": "a search under fire, 99th percentile, ms",
    "stored_a_second": "records stored and indexed a second while filling",
    "bytes_a_record": "bytes of the database a record, indexes and vectors included",
    "drain_seconds": "seconds until the queue was empty",
}


def run() -> Figures:
    """Measure, print the table, return the figures."""
    console = Console()
    with (
        tempfile.TemporaryDirectory(prefix="lifelong-scale-") as name,
        PostgresGround.started(Path(name)) as ground,
        console.status("Filling …") as status,
    ):
        home = Path(name) / "home"
        environment = {**os.environ, "LIFELONG_STORAGE_URL": ground.url}
        with Store.open(home, storage={"url": ground.url}) as store:
            figures = _fill(store, home, environment)
            ground.settle()
            figures["bytes_a_record"] = ground.size() / figures["records"]
            with _fleet(home, environment) as fleet:
                status.update("Searching while nothing else happens …")
                idle = [_search(fleet, number) for number in range(IDLE_SEARCHES)]
                status.update("Under fire …")
                fired = _fire(fleet)
                status.update("Draining …")
                figures |= _drain(store)
            figures |= _count(store, fired.acknowledged)
    figures |= {
        "kills": float(fired.kills),
        "retried": float(fleet.retried),
        "acknowledged": float(len(fired.acknowledged)),
        "search_idle_ms": median(idle) * 1000,
        "search_under_fire_ms": median(fired.searches) * 1000,
        "search_under_fire_p99_ms": p99(fired.searches) * 1000,
        "recall_under_fire_over_idle": median(fired.searches) / median(idle),
    }
    console.print(table("Two servers and four workers under fire", figures, GOALS, ALSO))
    return figures


def _fill(store: Store, home: Path, environment: Mapping[str, str]) -> Figures:
    """Have processes store records, and index them, until all are there or the time is over."""
    command = [sys.executable, "-m", "bench.scale", str(home)]
    started = time.monotonic()
    fillers = [
        subprocess.Popen([*command, str(number)], cwd=HERE, env={**environment, **NOTHING_TO_ORGANIZE})
        for number in range(FILLERS)
    ]
    if any(filler.wait() for filler in fillers):
        raise RuntimeError("A process that fills the database failed; its error is above.")
    elapsed = time.monotonic() - started
    stored = sum(store.user(name).admin.stats().items.get("record", 0) for name in store.users())
    return {"records": float(stored), "users": float(len(store.users())), "stored_a_second": stored / elapsed}


def fill(home: str, place: int) -> None:
    """Store the records of every FILLERS-th user, a batch for each at a time, and index them."""
    over = time.monotonic() + FILL_SECONDS
    mine = range(place, USERS, FILLERS)
    talks = {number: Speech(number).turns() for number in mine}
    each = RECORDS // USERS
    with Store.open(home) as store:
        for stored in range(0, each, BATCH):
            for number in mine:
                if time.monotonic() > over:
                    break
                memory = store.user(_user(number))
                batch: list[UserMessage] = list(islice(talks[number], min(BATCH, each - stored)))
                memory.append_many(memory.agent(User("bench", "fill", "chat")), batch)
        while store.user().admin.index():
            pass


@dataclass
class _Fleet:
    """Servers and workers, each of which can be killed and started again."""

    servers: list[str]
    commands: list[list[str]]
    environment: Mapping[str, str]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    retried: int = 0

    def start(self, place: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.commands[place], env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def kill(self, place: int) -> None:
        """Kill a process, and start it again."""
        self.processes[place].send_signal(signal.SIGKILL)
        self.processes[place].wait()
        self.processes[place] = self.start(place)

    def post(self, path: str, body: object) -> bytes:
        """Return the answer of a server; where one does not answer, ask the other one, until one does."""
        until = time.monotonic() + DRAIN_SECONDS
        places = random.sample(self.servers, len(self.servers))
        for attempt in count():
            try:
                return _post(places[attempt % len(places)], path, body)
            except (OSError, http.client.HTTPException):
                if time.monotonic() > until:
                    raise
                self.retried += 1
                time.sleep(0.05)
        raise AssertionError  # count() has no end


def _post(address: str, path: str, body: object) -> bytes:
    connection = http.client.HTTPConnection(address, timeout=REQUEST_SECONDS)
    try:
        connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    if answer.status >= 500:
        raise http.client.HTTPException(f"{answer.status}: {text[:200]!r}")
    if answer.status >= 400:
        raise AssertionError(f"{path} was refused with {answer.status}: {text[:500]!r}")
    return text


@contextmanager
def _fleet(home: Path, environment: Mapping[str, str]) -> Iterator[_Fleet]:
    """Run the servers and the workers of a home."""
    lifelong = [sys.executable, "-m", "lifelong"]
    ports = [_free_port() for _ in range(SERVERS)]
    serve = [[*lifelong, "serve", "--home", str(home), "--no-worker", "--port", str(port)] for port in ports]
    work = [[*lifelong, "worker", "--home", str(home)] for _ in range(WORKERS)]
    fleet = _Fleet([f"127.0.0.1:{port}" for port in ports], serve + work, environment)
    fleet.processes = [fleet.start(place) for place in range(len(fleet.commands))]
    try:
        for number in range(SERVERS * 20):  # both answer, and have what they need in memory
            _search(fleet, number)
        fleet.retried = 0
        yield fleet
    finally:
        for process in fleet.processes:
            process.terminate()
        for process in fleet.processes:
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _user(number: int) -> str:
    return f"user-{number}"


def _search(fleet: _Fleet, number: int) -> float:
    """Return how long a random user's search takes, with the requests that failed in it."""
    who = random.randrange(USERS)
    question = Speech(number).question(next(Speech(who).turns()))
    started = time.perf_counter()
    fleet.post(f"/api/v1/search?user={_user(who)}", {"query": question})
    return time.perf_counter() - started


@dataclass
class _Fired:
    """What was acknowledged (texts by user), how long searches took, and how many processes were killed."""

    acknowledged: dict[str, str] = field(default_factory=dict)
    searches: list[float] = field(default_factory=list)
    kills: int = 0


def _fire(fleet: _Fleet) -> _Fired:
    """Add, search and kill until the time is over."""
    fired = _Fired()
    over = threading.Event()
    failures: list[BaseException] = []

    def add(number: int) -> None:
        user = _user(number % USERS)
        text = f"I decided to keep ticket T-{number} open until week {number % 52 + 1}."
        body = {"text": text, "key": f"ticket-{number}"}
        fleet.post(f"/api/v1/add?user={user}", body)
        fired.acknowledged[text] = user
        if number % 3 == 0:
            fleet.post(f"/api/v1/end_session?user={user}", {})

    def look(number: int) -> None:
        fired.searches.append(_search(fleet, number))

    def repeat(work: Iterator[object], every: float) -> None:
        try:
            for _ in work:
                if over.wait(every):
                    return
        except BaseException as error:
            failures.append(error)
            raise

    adders = 4
    tasks = [(map(add, count(place, adders)), adders / ADDS_A_SECOND) for place in range(adders)]
    tasks.append((map(look, count()), 1 / SEARCHES_A_SECOND))
    threads = [threading.Thread(target=repeat, args=task) for task in tasks]
    for thread in threads:
        thread.start()
    try:
        end = time.monotonic() + FIRE_SECONDS
        while time.monotonic() < end and not failures:
            time.sleep(KILL_EVERY)
            fleet.kill(random.randrange(len(fleet.commands)))
            fired.kills += 1
    finally:
        over.set()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
    return fired


def _drain(store: Store) -> Figures:
    """End every conversation, and wait until nothing is queued."""
    for name in store.users():
        store.user(name).end_session()
    started = time.monotonic()
    admin = store.user().admin
    while (health := admin.health()).marked + health.waiting and time.monotonic() - started < DRAIN_SECONDS:
        time.sleep(0.5)
    left = health.marked + health.waiting + health.dead
    return {"left_in_queue": float(left), "drain_seconds": time.monotonic() - started}


def _count(store: Store, acknowledged: Mapping[str, str]) -> Figures:
    """Look for each acknowledged record in the sessions of its user."""
    lost = doubled = learned_twice = 0
    by_user: dict[str, set[str]] = {}
    for text, user in acknowledged.items():
        by_user.setdefault(user, set()).add(text)
    for user, texts in by_user.items():
        memory = store.user(user)
        sessions = [one for agent in memory.agents.list() for one in memory.sessions.list(agent)]
        seen = Counter(
            one.record.text
            for session in sessions
            for one in memory.sessions.history(session)
            if isinstance(one.record, UserMessage) and "ticket T-" in one.record.text
        )
        lost += sum(text not in seen for text in texts)
        doubled += sum(number - 1 for number in seen.values())
        learned_twice += _learned_twice(
            (one.session_id, one.after, one.until)
            for one in memory.documents.changesets(limit=1_000)
            if one.cause == "run"
        )
    return {"lost": float(lost), "doubled": float(doubled), "learned_twice": float(learned_twice)}


def _learned_twice(runs: Iterator[tuple[str, int, int]]) -> int:
    """Count the records (after, until] of a session that more than one run learned from."""
    twice, last = 0, dict[str, int]()
    for session, after, until in sorted(runs):
        twice += max(0, min(until, last.get(session, 0)) - after)
        last[session] = max(until, last.get(session, 0))
    return twice


if __name__ == "__main__":
    fill(sys.argv[1], int(sys.argv[2]))
