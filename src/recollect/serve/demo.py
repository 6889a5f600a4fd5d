"""`make run`: sample conversations, collected before your eyes."""

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
from rich.markdown import Markdown
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from recollect.collect.descriptors import decode
from recollect.collect.history import from_json
from recollect.memory import Memory
from recollect.types import Agent, Record, ToolCall

IDLE_AFTER = 1.0
SLOWLY = 0.15  # seconds between two turns, so that the eye can follow


def demo(home: Path, console: Console, *, pace: float = SLOWLY) -> dict[str, Any]:
    """Append the samples, let their agents fall asleep, show the marks and the transcripts. Running it
    again stores nothing twice: each sample turn has its key."""
    console.print(f"[bold]recollect[/] keeps this memory in [cyan]{escape(str(home))}[/]\n")
    with Memory.open(
        home, storage={"url": ""}, collect={"idle_after": IDLE_AFTER}, worker={"tick_seconds": 0.2}
    ) as memory:
        agents = [_collect(memory, sample, console, pace) for sample in _samples()]
        _fall_asleep(memory, agents, console)
        _show_marks(memory, agents, console)
        for agent in agents:
            console.print(Panel(Markdown(memory.transcript(agent)), title=agent.cache_key, border_style="dim"))
        console.print(
            "What is marked waits to be organized. Every turn above is on disk: stop this program with kill -9 "
            "at any moment, and nothing that was acknowledged is lost."
        )
        return {"home": str(home), "agents": [_summary(memory, agent) for agent in agents]}


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


def _show_marks(memory: Memory, agents: list[Agent], console: Console) -> None:
    table = Table("agent", "state", "records", "mark", title="marks", expand=True)
    for agent in agents:
        shown = _summary(memory, agent)
        table.add_row(shown["agent"], shown["state"], f"{shown['records']}", f"[yellow]r{shown['mark']}[/]")
    console.print(table)


def _summary(memory: Memory, agent: Agent) -> dict[str, Any]:
    session = memory.sessions(agent)[-1]
    return {
        "agent": agent.cache_key,
        "state": memory.get_agent(agent.id).state,
        "session": session.id,
        "records": len(memory.history(session)),
        "mark": session.invalidated_at,
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
