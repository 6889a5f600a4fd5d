"""`make run`: sample conversations, collected and organized before your eyes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.tree import Tree

from recollect.collect.descriptors import decode
from recollect.collect.history import from_json
from recollect.memory import Memory
from recollect.serve.hits import plain, table
from recollect.types import Agent, Record, ToolCall

IDLE_AFTER = 1.0
QUESTIONS = (
    "When does Mara move to Lisbon?",
    "What food must she avoid?",
    "Why did the backup fail?",
)
SLOWLY = 0.15  # seconds between two turns, so that the eye can follow


def demo(home: Path, console: Console, *, pace: float = SLOWLY) -> dict[str, Any]:
    """Append the samples, let their agents fall asleep, and show the documents that grow out of what they
    said. Running it again stores nothing twice: each sample turn has its key."""
    console.print(f"[bold]recollect[/] keeps this memory in [cyan]{escape(str(home))}[/]\n")
    with Memory.open(
        home,
        storage={"url": ""},
        collect={"idle_after": IDLE_AFTER},
        worker={"tick_seconds": 0.2},
        continuity={"journal_enabled": True},
    ) as memory:
        agents = [_collect(memory, sample, console, pace) for sample in _samples()]
        _fall_asleep(memory, agents, console)
        _organize(memory, console)
        console.print(_tree(memory), "")
        for agent in agents:
            memory.end_turn(agent)
        context = memory.session_context()
        console.print(Panel(escape(context), title="journal: what opens the next session", expand=True))
        memory.process()  # the journal's new lines can be found, too
        asked = {question: memory.recall(question, 3) for question in QUESTIONS}
        for question, hits in asked.items():
            console.print("", table(hits, f"recall  {question}"))
        console.print(
            "\nEach claim ends in the records it came from. Every turn and every document is on disk: stop this "
            "program with kill -9 at any moment, and nothing that was acknowledged is lost."
        )
        return {
            "home": str(home),
            "agents": [_summary(memory, agent) for agent in agents],
            "documents": {document.path: document.body for document in memory.documents.walk()},
            "session_context": context,
            "recall": {question: [plain(hit) for hit in hits] for question, hits in asked.items()},
            "health": memory.health().status,
        }


def _collect(memory: Memory, sample: dict[str, Any], console: Console, pace: float) -> Agent:
    agent = memory.agent(decode(json.dumps(sample["agent"])))
    known = max((r.id for session in memory.sessions(agent) for r in memory.history(session)), default=0)
    table = Table("record", "said", "stored in", "session", title=f"collect  {agent.cache_key}", expand=True)
    with Live(table, console=console, auto_refresh=False) as live:
        for number, record in enumerate(_records(sample), start=1):
            started = time.perf_counter()
            record_id = memory.append(agent, record, key=f"sample-{number}")
            took = f"{(time.perf_counter() - started) * 1000:.1f} ms"
            mark = memory.sessions(agent)[-1].invalidated_at
            table.add_row(
                f"[green]r{record_id}[/]",
                f"[dim]{record.type}[/] {escape(_gist(record))}",
                took if record_id > known else "there already",
                f"[yellow]marked at r{mark}[/]" if mark else "[dim]not marked[/]",
            )
            live.refresh()
            time.sleep(pace)
    console.print()
    return agent


def _fall_asleep(memory: Memory, agents: list[Agent], console: Console) -> None:
    memory.start()
    with console.status(f"Nobody speaks. Agents fall asleep after {IDLE_AFTER:g} s …"):
        while any(memory.get_agent(agent.id).state == "active" for agent in agents):
            time.sleep(0.05)
    console.print(f"[magenta]zZ[/]  {len(agents)} agents fell asleep, and their sessions were marked.\n")


def _organize(memory: Memory, console: Console) -> None:
    with console.status("What is marked goes to the agents' memory-agents, and becomes documents …"):
        while (health := memory.health()).status != "red" and (health.marked or health.waiting):
            time.sleep(0.05)
    for reason in health.reasons:
        console.print(f"[red]✗[/] {escape(reason)}")
    table = Table("changeset", "learned from", "what it did", title="organize", expand=True)
    for changeset in reversed(memory.documents.changesets()):
        learned = memory.get_agent(memory.session(changeset.session_id).agent_id).cache_key
        table.add_row(f"[green]{changeset.id}[/]", learned, escape(changeset.note))
    console.print(table, "")


def _tree(memory: Memory) -> Tree:
    """The documents, with their claims as leaves; what no longer holds is struck out."""
    top = Tree("[bold]~[/]")
    branches = {"~": top}
    for document in memory.documents.walk():
        parent = branches[document.path.rpartition("/")[0]]
        branch = parent.add(f"[bold cyan]{escape(document.slug)}[/]  [dim]version {document.version}[/]")
        branches[document.path] = branch
        for claim in memory.documents.claims(document.id):
            text, _, cited = escape(str(claim)).rpartition(" \\[")
            shown = text if claim.current else f"[strike]{text}[/strike]"
            branch.add(f"{shown} [dim]\\[{cited}[/]")
    return top


def _summary(memory: Memory, agent: Agent) -> dict[str, Any]:
    session = memory.sessions(agent)[-1]
    return {
        "agent": agent.cache_key,
        "state": memory.get_agent(agent.id).state,
        "session": session.id,
        "records": len(memory.history(session)),
        "organized_until": session.processed_until,
    }


def _samples() -> list[dict[str, Any]]:
    text = files("recollect.serve").joinpath("sample.json").read_text(encoding="utf-8")
    samples: list[dict[str, Any]] = json.loads(text)
    return samples


def _records(sample: dict[str, Any]) -> Iterator[Record]:
    for said in sample["records"]:
        yield from_json({**said, "at": datetime.fromisoformat(said["at"])})


def _gist(record: Record) -> str:
    if isinstance(record, ToolCall):
        return f"{record.name}(…)"
    line = record.text.splitlines()[0]
    return f"{line[:60]}…" if len(line) > 60 else line
