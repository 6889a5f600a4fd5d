"""What HTTP costs: appends and recalls by 1, 8 and 64 clients of a server, against as many threads that call the
library. Both sides have a home of their own in the same state, take turns, and are compared by throughput. The
server is a process of its own (without a worker: neither side has one); its clients are threads here, each with a
connection that stays open. `errors` are answers that were no success, or recalls without what the library finds
first; `lost` are records that were acknowledged and are not in the home afterwards."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from rich.console import Console

from bench.databases import MESSAGE
from bench.goals import Figures, Goal, table
from bench.measure import Call, rate
from lifelong import Agent, Memory, User, UserMessage

CROWDS = (1, 8, 64)
ROUNDS = 3
SECONDS = 1.5
FILLED = 2_000  # turns that a recall looks through
QUESTION = "What did Ines take to the harbour?"
NAMES = "Ines Marta Tom Priya Otto Lena Kofi".split()
PLACES = [
    f"to the {place}"
    for place in "office harbour school garden market clinic museum cellar lake fair port".split()
]
THINGS = [f"the {thing}" for thing in "bike bag cat lamp tent map drum kite chair coat book saw cake".split()]

GOALS = {
    "append_8_clients_over_library": Goal("appends of 8 clients over 8 threads, rate", "≥", 0.1),
    "recall_8_clients_over_library": Goal("recalls of 8 clients over 8 threads, rate", "≥", 0.1),
    "errors": Goal("errors", "=", 0),
    "lost": Goal("acknowledged records that are missing", "=", 0),
}

ALSO = {
    f"{what}_{size}_{side}": f"{what}s of {size}, {words}"
    for what in ("append", "recall")
    for size in CROWDS
    for side, words in (
        ("clients_over_library", "over the library"),
        ("clients_per_second", "HTTP, a second"),
        ("threads_per_second", "library, a second"),
    )
    if f"{what}_{size}_{side}" not in GOALS
}

SERVE = "import sys; from lifelong.serve.server import serve; serve(sys.argv[1], port=0, worker=False)"


class Client:
    """A connection that stays open, as light as can be: the client must not be what is measured."""

    def __init__(self, address: str) -> None:
        found = urlsplit(address)
        self._socket = socket.create_connection((found.hostname or "", found.port or 0))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._host = found.netloc
        self.errors = 0

    def post(self, path: str, body: object) -> bytes:
        """The answer's body; what is no success is counted. A connection that ends is an error, of the run."""
        data = json.dumps(body).encode()
        self._socket.sendall(
            b"POST %s HTTP/1.1\r\nhost: %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
            % (path.encode(), self._host.encode(), len(data), data)
        )
        got = self._some()
        while b"\r\n\r\n" not in got:
            got += self._some()
        head, _, answer = got.partition(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        while len(answer) < size:
            answer += self._some()
        self.errors += not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201"))
        return answer

    def _some(self) -> bytes:
        if got := self._socket.recv(1 << 16):
            return got
        raise ConnectionError("the server hung up")

    def close(self) -> None:
        self._socket.close()


def run() -> Figures:
    """Measure, print the table, return the figures."""
    console = Console()
    figures: Figures = {"errors": 0}
    acknowledged: set[int] = set()
    with tempfile.TemporaryDirectory(prefix="lifelong-bench-") as name, console.status("Filling …") as status:
        library, served = Path(name) / "library", Path(name) / "served"
        for home in (library, served):
            with Memory.open(home) as memory:
                memory.append_many(_agent(memory, 0), map(_small_talk, range(FILLED)))
                memory.organize()
        with Memory.open(library) as memory, _serving(served) as address:
            for size in CROWDS:
                for what in ("append", "recall"):
                    status.update(f"{what} by {size} …")
                    with ExitStack() as stack:
                        clients = [stack.enter_context(closing(Client(address))) for _ in range(size)]
                        calls = (
                            _appends(memory, clients, acknowledged)
                            if what == "append"
                            else _recalls(memory, clients)
                        )
                        figures |= _compared(f"{what}_{size}", *calls)
                        figures["errors"] += sum(client.errors for client in clients)
        with Memory.open(served) as memory:
            figures["lost"] = len(acknowledged - _stored(memory))
    console.print(table("HTTP beside the library", figures, GOALS, ALSO))
    return figures


def _compared(name: str, direct: Sequence[Call], remote: Sequence[Call]) -> Figures:
    for call in (*direct, *remote):
        call()
    rates = [(rate(remote, SECONDS), rate(direct, SECONDS)) for _ in range(ROUNDS)]
    return {
        f"{name}_clients_over_library": median(http / library for http, library in rates),
        f"{name}_clients_per_second": median(http for http, _ in rates),
        f"{name}_threads_per_second": median(library for _, library in rates),
    }


def _appends(memory: Memory, clients: Sequence[Client], acknowledged: set[int]) -> tuple[list[Call], list[Call]]:
    """Each caller with an agent of its own."""

    def direct(agent: Agent) -> Call:
        return lambda: memory.append(agent, MESSAGE)

    def remote(client: Client, agent_id: str) -> Call:
        body = {"text": MESSAGE.text, "agent": agent_id}

        def add() -> None:
            stored = json.loads(client.post("/api/v1/add", body)).get("ids", ())
            acknowledged.update(int(one.removeprefix("r")) for one in stored)

        return add

    agents = [_agent(memory, number) for number in range(len(clients))]
    made = [
        json.loads(client.post("/api/v1/agents", {"kind": "user", **asdict(agent.descriptor)}))["id"]
        for client, agent in zip(clients, agents, strict=True)
    ]
    return [direct(agent) for agent in agents], [remote(*pair) for pair in zip(clients, made, strict=True)]


def _recalls(memory: Memory, clients: Sequence[Client]) -> tuple[list[Call], list[Call]]:
    best = memory.search(QUESTION)[0].text.encode()

    def remote(client: Client) -> Call:
        def ask() -> None:
            client.errors += best not in client.post("/api/v1/search", {"query": QUESTION})

        return ask

    return [lambda: memory.search(QUESTION)] * len(clients), [remote(client) for client in clients]


def _small_talk(number: int) -> UserMessage:
    """Some are near what is asked for, most are not, no two are the same."""
    who, where, what = NAMES[number % 7], PLACES[number % 11], THINGS[number % 13]
    return UserMessage(f"On day {number} {who} took {what} {where}.")


def _agent(memory: Memory, number: int) -> Agent:
    return memory.agent(User("bench", str(number), "main"))


def _stored(memory: Memory) -> set[int]:
    return {
        one.id
        for agent in memory.agents.list()
        for session in memory.sessions.list(agent)
        for one in memory.sessions.history(session)
    }


@contextmanager
def _serving(home: Path) -> Iterator[str]:
    process = subprocess.Popen([sys.executable, "-c", SERVE, str(home)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield process.stdout.readline().rpartition(" at ")[2].split()[0]
    finally:
        process.terminate()
        process.communicate()
