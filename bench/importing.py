"""What an import takes: records a second, beside as many single appends, and the memory for a gigabyte.

- **records a second**: an export of ChatGPT with 10,000 messages (`growth.turns`), 20 a conversation, into an
  empty home; the whole way, from the file to records that can be searched. Beside it, the same messages through
  `Memory.append`, one by one.
- **again**: the same file once more, where nothing is new.
- **memory of a gigabyte**: the peak of a process of its own that imports a conversations.json of 1 GiB. Most of it
  stands in branches that ChatGPT does not show (regenerated answers): these are read and parsed, and not stored,
  since storing a gigabyte of text takes an hour or more. What waits to be stored is bounded. `BENCH_GIGABYTE=0`
  leaves it out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from rich.console import Console

from bench.goals import Figures, Goal, table
from bench.growth import turns
from bench.progress import step
from lifelong import Memory, User, UserMessage

MESSAGES, PER_CONVERSATION = 10_000, 20
GIGABYTE = 2**30
SHOWN = 4  # messages of a conversation of the gigabyte that are shown
FIRST = 1_600_000_000.0

GOALS = {
    "memory_1gb_mb": Goal("memory of a gigabyte, MB", "≤", 200),
    "import_over_append": Goal("import over single appends, rate", "≥", 1),
}
ALSO = {
    "records_a_second": "records a second",
    "appends_a_second": "single appends a second",
    "again_records_a_second": "records a second, imported before",
    "gigabyte_seconds": "a gigabyte, s",
    "gigabyte_records": "records of the gigabyte",
}


def run() -> Figures:
    console, figures = Console(), Figures()
    with tempfile.TemporaryDirectory() as folder:
        with step(console, f"{MESSAGES:,} messages, imported and appended"):
            figures |= measure_rates(Path(folder))
        if os.environ.get("BENCH_GIGABYTE") != "0":
            with step(console, "A gigabyte"):
                figures |= measure_gigabyte(Path(folder))
    console.print(table("import", figures, GOALS, ALSO))
    return figures


def measure_rates(folder: Path) -> Figures:
    texts = [*islice(turns(1), MESSAGES)]
    place = folder / "conversations.json"
    parts = range(0, MESSAGES, PER_CONVERSATION)
    place.write_text(json.dumps([conversation(n, texts[n : n + PER_CONVERSATION]) for n in parts]))
    with Memory.open(folder / "imported") as memory, Memory.open(folder / "appended") as other:
        started = time.perf_counter()
        assert memory.import_from(place).added == MESSAGES
        imported = time.perf_counter() - started
        started = time.perf_counter()
        assert memory.import_from(place).known == MESSAGES
        again = time.perf_counter() - started
        agent = other.agent(User("cli", "mara", "main"))
        started = time.perf_counter()
        for text in texts:
            other.append(agent, UserMessage(text))
        appended = time.perf_counter() - started
    return {
        "records_a_second": MESSAGES / imported,
        "appends_a_second": MESSAGES / appended,
        "import_over_append": appended / imported,
        "again_records_a_second": MESSAGES / again,
    }


def measure_gigabyte(folder: Path) -> Figures:
    place = folder / "large" / "conversations.json"
    place.parent.mkdir()
    with place.open("w") as stream:
        for number, text in enumerate(large_conversations()):
            stream.write(("," if number else "[") + text)
            if stream.tell() >= GIGABYTE:
                break
        stream.write("]")
    code = (
        "import resource, sys; from lifelong import Memory\n"
        "with Memory.open(sys.argv[1]) as memory: added = memory.import_from(sys.argv[2]).added\n"
        "print(added, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    started = time.perf_counter()
    words = [sys.executable, "-c", code, str(folder / "home"), str(place)]
    added, peak = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    taken = time.perf_counter() - started
    kilobyte = 1 if sys.platform == "darwin" else 1024
    return {
        "memory_1gb_mb": int(peak) * kilobyte / 1e6,
        "gigabyte_seconds": taken,
        "gigabyte_records": float(added),
    }


def conversation(number: int, texts: list[str]) -> dict[str, object]:
    """Return a conversation as ChatGPT exports it, the newest first as there."""
    at = FIRST - number
    ids = [f"{number}-{place}" for place in range(len(texts))]
    nodes = {
        own: node(own, ids[place - 1] if place else None, "assistant" if place % 2 else "user", at, texts[place])
        for place, own in enumerate(ids)
    }
    return {"conversation_id": str(number), "title": texts[0][:40], "current_node": ids[-1], "mapping": nodes}


def node(own: str, parent: str | None, role: str, at: float, text: str) -> dict[str, object]:
    message = {
        "id": own,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at,
        "content": {"content_type": "text", "parts": [text]},
        "metadata": {"model_slug": "gpt-4o", "timestamp_": "absolute", "citations": []},
        "recipient": "all",
    }
    return {"id": own, "parent": parent, "children": [], "message": message}


def large_conversations() -> Iterator[str]:
    """Yield conversations of about 100 KB with a few messages that are shown, and many answers that are not."""
    said, number = turns(2), 0
    while True:
        number += SHOWN
        talk = [*islice(said, SHOWN)]
        made = conversation(number, talk)
        others = {
            f"{number}-other-{n}": node(
                f"{number}-other-{n}", f"{number}-0", "assistant", FIRST, " ".join(talk) * 10
            )
            for n in range(25)
        }
        yield json.dumps({**made, "mapping": {**made["mapping"], **others}})  # type: ignore[dict-item]
