"""Measure how long a coding agent waits for `lifelong hook` before a prompt, in homes of 100 and 100,000 records.

- **with a server**: a worker has the home open and answers, over `python -c pass`.
- **alone**: the hook opens the home itself, over `import numpy, apsw, pydantic`.
- **mcp**: `lifelong mcp` from its start to its first answer, over `import mcp`.

Each hook is a process of its own and stores a prompt that it gets context for. The figures are the larger one of
the two homes; those of each home stand beside them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import median

from bench.cli import COMMAND, IMPORTS, compiled, seconds
from bench.growth import turns
from lifelong import Memory, UserMessage
from lifelong.serve.hook import SOCKET

SIZES = (100, 100_000)
ROUNDS = 15
BATCH = 1_000
NOTHING = [sys.executable, "-c", "pass"]
IMPORT_MCP = [sys.executable, "-c", "import mcp"]
WAIT_SECONDS = 60.0
NOTHING_TO_ORGANIZE = {"LIFELONG_COLLECT_TURN_THRESHOLD": "1000000", "LIFELONG_COLLECT_IDLE_AFTER": "1000000"}


def run() -> dict[str, float]:
    """Compare medians of rounds in which every process runs once."""
    figures: dict[str, float] = {}
    for size in SIZES:
        with tempfile.TemporaryDirectory() as home, compiled():
            os.environ |= NOTHING_TO_ORGANIZE  # else the worker organizes while it is measured
            _fill(home, size)
            alone = _ratio(home, IMPORTS)
            if size == SIZES[0]:
                figures["mcp_ready_over_import"] = _mcp_ready(home)
            with _working(home):
                served = _ratio(home, NOTHING)
        figures |= {f"prompt_with_server_over_python_{size}": served, f"prompt_alone_over_imports_{size}": alone}
    for name in ("prompt_with_server_over_python", "prompt_alone_over_imports"):
        figures[name] = max(figures[f"{name}_{size}"] for size in SIZES)
    for name in ("prompt_with_server_over_python", "prompt_alone_over_imports", "mcp_ready_over_import"):
        print(f"{name}: {figures[name]:.2f}")
    return figures


def _ratio(home: str, beside: list[str]) -> float:
    """Return the median time of a prompt over that of another process."""
    hook = [*COMMAND, "hook", "--home", home]
    event = {"hook_event_name": "UserPromptSubmit", "session_id": f"s{len(beside[-1])}", "cwd": "/work/app"}
    prompts = (json.dumps({**event, "prompt": f"What became of this: {text}"}) for text in turns(2))
    seconds(hook, next(prompts))  # compile
    seconds(beside)
    taken = [(seconds(hook, next(prompts)), seconds(beside)) for _ in range(ROUNDS)]
    prompt, other = median(times[0] for times in taken), median(times[1] for times in taken)
    print(f"{home}: a prompt {prompt * 1000:.0f} ms, beside {other * 1000:.0f} ms ({beside[-1]})")
    return prompt / other


def _mcp_ready(home: str) -> float:
    """Return the median time to the first answer of `lifelong mcp` over that of an import."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    begin = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}) + "\n"

    def ready() -> float:
        started = time.perf_counter()
        words = [*COMMAND, "mcp", "--home", home]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdin
            assert server.stdout
            server.stdin.write(begin)
            server.stdin.flush()
            assert "serverInfo" in server.stdout.readline()
            taken = time.perf_counter() - started
            server.stdin.close()
        return taken

    ready()  # compile
    seconds(IMPORT_MCP)
    taken = [(ready(), seconds(IMPORT_MCP)) for _ in range(ROUNDS)]
    first, imported = median(times[0] for times in taken), median(times[1] for times in taken)
    print(f"mcp: ready in {first * 1000:.0f} ms, beside {imported * 1000:.0f} ms (import mcp)")
    return first / imported


def _fill(home: str, size: int) -> None:
    seconds([*COMMAND, "init", "--home", home])
    texts = islice(turns(1), size)
    with Memory.open(home) as memory:
        while batch := [UserMessage(text) for text in islice(texts, BATCH)]:
            memory.append_many(memory.agent(), batch)
        memory.organize()


@contextmanager
def _working(home: str) -> Iterator[None]:
    """Have a worker answer the hooks of a home."""
    with subprocess.Popen([*COMMAND, "worker", "--home", home], stderr=subprocess.DEVNULL) as worker:
        until = time.monotonic() + WAIT_SECONDS
        while not (Path(home) / SOCKET).exists() and time.monotonic() < until:
            time.sleep(0.05)
        try:
            yield
        finally:
            worker.terminate()
