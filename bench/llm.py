"""What organizing with a model costs, and what it loses when the provider fails.

A scripted model on loopback answers over real HTTP as a good model would: it reads the prompt, keeps the facts of
the scene in one batch of parallel calls, and ends. It counts requests, characters, and how much of each request
begins like the one before, which is what a provider can cache. Then the provider fails in every way there is."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any

from rich.console import Console
from tests.model_servers import Call, ModelServer, Reply, refuse, results, say, told

from bench.goals import Goal, table
from bench.llm_scenes import SCENES, Keep, Scene
from bench.progress import step
from lifelong import AssistantMessage, Memory, Record, ToolResult, UserMessage
from lifelong.testing import FakeClock
from lifelong.text.words import same_letters

BASELINE_REQUESTS = 3.75
BASELINE_TOKENS = 9_465
"""A run with document tools only, before there were fact-level tools: the same scenes, played by a model that
reads `~/memory`, reads the documents that it touches in one batch, writes in one batch, and says DONE. Played by
hand, with the mistakes that a model makes, it was 4.2 requests and 13,000 tokens."""

CHARS_PER_TOKEN = 4

GOALS = {
    "requests_a_run": Goal("requests a run", "≤", 3),
    "tokens_share_percent": Goal("input tokens a run, percent of the baseline", "≤", 60),
    "facts_kept_percent": Goal("facts that the model kept and that are there", "=", 100),
    "lost": Goal("facts lost in all failures together", "=", 0),
    "twice": Goal("facts that are there twice after a failure", "=", 0),
    "dead": Goal("items given up in all failures together", "=", 0),
}
ALSO = {
    "tokens_a_run": "input tokens a run",
    "requests_share_percent": "requests a run, percent of the baseline",
    "cached_percent": "input that begins like the request before, percent",
    "stable_tokens": "tokens of instructions and tools",
    "tool_tokens": "tokens of the tools alone",
    "batch_requests_a_run": "requests a run, if `done` is in the batch",
    "batch_tokens_share_percent": "input tokens a run, percent of the baseline, if `done` is in the batch",
    "related_found_percent": "facts to supersede or cite that the prompt shows",
}


@dataclass
class Player:
    """Plays a good model for one scene after the other. `with_done`: it calls `done` in its batch, else it says
    DONE when it has seen the results."""

    with_done: bool = False
    scene: Scene = SCENES[0]
    ids: Sequence[int] = ()
    wanted: int = 0
    found: int = 0
    refusals: list[str] = field(default_factory=list)

    def __call__(self, asked: dict[str, Any]) -> Reply:
        if results(asked):
            self.refusals += [one for one in results(asked) if one.startswith("Refused")]
            return say("DONE")
        calls = [self.call_for(keep, told(asked)) for keep in self.scene.keeps]
        return Reply(calls=(*calls, Call("done")) if self.with_done else tuple(calls))

    def call_for(self, keep: Keep, prompt: str) -> Call:
        records = ", ".join(f"r{self.ids[one]}" for one in keep.messages)
        if keep.replaces:
            self.wanted += 1
            known = re.search(rf"^(f\d+) {re.escape(keep.path)}: {re.escape(keep.replaces)}", prompt, re.MULTILINE)
            self.found += bool(known)
            if known and keep.again:
                return Call("cite", {"fact": known[1], "records": records})
            if known:
                return Call("supersede", {"fact": known[1], "text": keep.text, "records": records})
        return Call("add_fact", {"to": keep.path, "text": keep.text, "records": records})


def run() -> dict[str, float]:
    console, figures = Console(), dict[str, float]()
    logging.getLogger("lifelong").setLevel(logging.CRITICAL)  # the failures are wanted
    with step(console, "runs with a scripted model"):
        figures |= _measure(with_done=False)
        batch = _measure(with_done=True)
        figures |= {f"batch_{key}": batch[key] for key in ("requests_a_run", "tokens_share_percent")}
    with step(console, "failures of the provider"):
        outcomes = {name: failure() for name, failure in FAILURES.items()}
    for name, outcome in outcomes.items():
        figures |= {f"{name}_{key}": value for key, value in outcome.items()}
    for key in ("lost", "twice", "dead"):
        figures[key] = sum(outcome[key] for outcome in outcomes.values())
    failures = {f"{name}_lost": f"lost: {name.replace('_', ' ')}" for name in outcomes}
    console.print(table("model path", figures, GOALS, {**ALSO, **failures}))
    return figures


def _measure(*, with_done: bool) -> dict[str, float]:
    player = Player(with_done)
    with ModelServer(player) as server, _memory(server) as (memory, clock):
        for scene in SCENES:
            _play(memory, clock, player, scene)
        texts = [document.body for document in memory.documents.walk()]
        assert not player.refusals, player.refusals
    sent = [_input(asked) for asked in server.requests]
    stable = _stable(server.requests[0])
    keeps = [keep for scene in SCENES for keep in scene.keeps]
    kept = sum(any(keep.text in text for text in texts) for keep in keeps)
    tokens = sum(map(len, sent)) / CHARS_PER_TOKEN / len(SCENES)
    requests = len(sent) / len(SCENES)
    return {
        "requests_a_run": requests,
        "requests_share_percent": 100 * requests / BASELINE_REQUESTS,
        "tokens_a_run": tokens,
        "tokens_share_percent": 100 * tokens / BASELINE_TOKENS,
        "cached_percent": 100 * _cached(sent),
        "stable_tokens": len(stable) / CHARS_PER_TOKEN,
        "tool_tokens": len(json.dumps(server.requests[0]["tools"])) / CHARS_PER_TOKEN,
        "facts_kept_percent": 100 * kept / len(keeps),
        "related_found_percent": 100 * player.found / max(1, player.wanted),
    }


@contextmanager
def _memory(server: ModelServer, **models: Any) -> Iterator[tuple[Memory, FakeClock]]:
    clock = FakeClock(datetime(2026, 3, 3, 9, tzinfo=UTC))
    with tempfile.TemporaryDirectory() as home:
        yield _open(home, server, clock, **models), clock


def _open(home: str, server: ModelServer, clock: FakeClock, **models: Any) -> Memory:
    settings = {"model": "openai:gpt-4o-mini", "base_url": server.base_url("openai"), "api_key": "key", **models}
    return Memory.open(home, user="mara", clock=clock, models=settings)


def _play(memory: Memory, clock: FakeClock, player: Player, scene: Scene) -> None:
    _say(memory, clock, player, scene)
    memory.organize()


def _say(memory: Memory, clock: FakeClock, player: Player, scene: Scene) -> None:
    clock.turn(days=2)
    agent = memory.agent(scene.agent)
    player.scene, player.ids = scene, [memory.append(agent, _record(*message)) for message in scene.messages]
    memory.end_session(agent)


def _record(who: str, text: str) -> Record:
    match who:
        case "user":
            return UserMessage(text)
        case "assistant":
            return AssistantMessage(text)
        case "web":
            return ToolResult(text, provenance="web")
        case _:
            return ToolResult(text, provenance="tool")


def _stable(asked: dict[str, Any]) -> str:
    """What is the same in every request: tools and instructions."""
    return json.dumps(asked["tools"], ensure_ascii=False) + json.dumps(asked["messages"][0], ensure_ascii=False)


def _input(asked: dict[str, Any]) -> str:
    tools, messages = (json.dumps(asked.get(part, []), ensure_ascii=False) for part in ("tools", "messages"))
    return tools + messages


def _cached(sent: Sequence[str]) -> float:
    """The share of all input that stands at the beginning of the request before, too."""
    alike = sum(same_letters(one, other) for one, other in pairwise(sent))
    return alike / sum(map(len, sent))


# Failures. Each begins with the first scene: the provider fails for a while, then answers as a good model would.


@dataclass
class Failing:
    """Gives these replies first, then plays. With `broken` it fails until that is taken away."""

    player: Player
    first: list[Reply] = field(default_factory=list)
    broken: Reply | None = None

    def __call__(self, asked: dict[str, Any]) -> Reply:
        if self.broken:
            return self.broken
        return self.first.pop(0) if self.first else self.player(asked)


def _outage(reply: Reply, rounds: int, **models: Any) -> dict[str, float]:
    """An outage of so many rounds, two minutes apart by the clock that is passed."""
    model = Failing(Player(), broken=reply)
    with ModelServer(model) as server, _memory(server, **models) as (memory, clock):
        _say(memory, clock, model.player, SCENES[0])
        for _ in range(rounds):
            memory.organize()
            clock.turn(minutes=2)
        assert memory.admin.health().status != "green"
        model.broken = None
        clock.turn(hours=1)
        return _outcome(memory)


def _mistakes(*replies: Reply, attempts: int = 1, **models: Any) -> dict[str, float]:
    """What the model does wrong before it does it right."""
    model = Failing(Player(), first=list(replies))
    with ModelServer(model) as server, _memory(server, **models) as (memory, clock):
        _say(memory, clock, model.player, SCENES[0])
        for _ in range(attempts):
            memory.organize()
            clock.turn(hours=2)
        return _outcome(memory)


def _outcome(memory: Memory) -> dict[str, float]:
    memory.organize()
    body = "\n\n".join(document.body for document in memory.documents.walk())
    counts = [body.count(keep.text) for keep in SCENES[0].keeps]
    dead = len(memory.inbox.list("dead"))
    memory.close()
    return {"lost": counts.count(0), "twice": sum(count > 1 for count in counts), "dead": dead}


def _right(share: float = 1.0, **more: Any) -> Reply:
    """The right calls for the first scene, or the first of them. Its records are r1 to r6."""
    player, keeps = Player(ids=range(1, 7)), SCENES[0].keeps
    return Reply(calls=tuple(player.call_for(keep, "") for keep in keeps[: int(share * len(keeps))]), **more)


def _budget() -> dict[str, float]:
    """The run may not pay for the call after the first, which was dear."""
    price = {"input_usd_per_million": 1.0, "output_usd_per_million": 1.0, "run_budget_usd": 0.03}
    return _mistakes(_right(0.5, input_tokens=27_000), attempts=2, **price)


def _gone() -> dict[str, float]:
    """The provider answers once and is gone then; later it is back."""
    return _mistakes(_right(0.5), refuse(503), refuse(503), attempts=2)


def _killed() -> dict[str, float]:
    """A worker is killed while it waits for the answer after its first calls; another one takes over."""
    held = threading.Event()
    model = Failing(Player(), first=[_right(0.5), Reply(hold=held)])
    with ModelServer(model) as server, _memory(server) as (memory, clock), tempfile.TemporaryDirectory() as home:
        memory.close()
        memory = _open(home, server, clock)
        _say(memory, clock, model.player, SCENES[0])
        command = [sys.executable, "-c", WORKER, home, server.base_url("openai")]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as worker:
            while len(server.requests) < 2:
                assert worker.poll() is None, "the worker ended by itself"
                time.sleep(0.01)
            worker.kill()
        held.set()
        clock.now = datetime.now(UTC) + timedelta(hours=1)  # the lease has ended
        return _outcome(memory)


WORKER = """
import sys
from lifelong import Memory
models = {"model": "openai:gpt-4o-mini", "base_url": sys.argv[2], "api_key": "key"}
with Memory.open(sys.argv[1], user="mara", models=models) as memory:
    memory.organize()
"""

MALFORMED = Reply(
    calls=(Call("add_fact", '{"to": "people/Ma'), Call("add_fact", "[]"), Call("remember", {"x": 1}))
)
REFUSED = Reply(calls=(Call("add_fact", {"to": "people/Tom", "text": "is a millionaire.", "records": "r1"}),))
CUT = Reply(body=b'{"id": "chatcmpl-1", "choi', headers={"content-length": "9000"})

FAILURES: Mapping[str, Callable[[], dict[str, float]]] = {
    "503_for_an_hour": partial(_outage, refuse(503), 30),
    "429": partial(_outage, refuse(429, headers={"retry-after": "600"}), 30),
    "time_outs": partial(_outage, say("late", wait=30), 4, timeout_seconds=0.3),
    "cut_answers": partial(_outage, CUT, 10),
    "malformed_calls": partial(_mistakes, MALFORMED, MALFORMED, _right()),
    "four_refusals": partial(_mistakes, REFUSED, REFUSED, REFUSED, REFUSED, _right()),
    "budget_in_the_middle": _budget,
    "gone_in_the_middle": _gone,
    "killed_in_the_middle": _killed,
}
