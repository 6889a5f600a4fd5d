"""`make run`: three weeks of a small team, collected and organized before your eyes.

The clock goes along with the talks, so that documents, journal and index have the dates they would have had.
Killed at any moment, it goes on from there: each record has its key, and what a talk said is organized before the
next begins.
"""

from __future__ import annotations

import time
from collections import deque
from datetime import datetime, timedelta
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.tree import Tree

from lifelong.errors import InputError, StorageUnavailable
from lifelong.home import Home
from lifelong.memory import Memory
from lifelong.redaction import redact
from lifelong.serve.hit_table import escape, table
from lifelong.serve.jsonable import plain
from lifelong.serve.samples import DAYS, PLANTED, SECRETS, Talk, talks
from lifelong.types import Agent, Hit, Json, Record, ToolCall, utc_now

SLOWLY = 0.08  # seconds between two turns, so that the eye can follow
SHOWN = 10  # records at once, and facts of a document
QUESTIONS = (
    "Where does Mara live now?",
    "Is Mara allergic to anything?",
    "When is the release of Harbor 2.0?",
    "Why did the backup fail?",
    "What was decided last week?",
)
TAKEN = "{} holds a memory of its own. Name a folder for the samples with --home."
SETTINGS = """\
# The samples of `lifelong demo`. Journal, compaction and experiences are on, as `lifelong init` recommends;
# three weeks of talk are little, so that they are compacted early.
[continuity]
journal_enabled = true
memory_compaction_enabled = true
memory_compaction_max_records = 60
memory_compaction_max_chars = 24000
experience_store_enabled = true
"""


class _Clock:
    """Stands where the talks are."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def demo(home: Path, console: Console, *, pace: float = SLOWLY) -> dict[str, Json]:
    """Grow a memory from the samples, compact its older weeks, ask it, and look for what must not be in it.
    Running it again stores nothing twice."""
    place = _home(home)
    console.print(f"[bold]lifelong[/] keeps this memory in [cyan]{escape(str(home))}[/]\n")
    clock = _Clock(utc_now() - timedelta(days=DAYS + 1))  # the journal begins when it is first opened
    # An address or a model in the environment is somebody's real memory, and somebody's money.
    with Memory.open(place.path, clock=clock, storage={"url": ""}, organize={"organizer": "rules"}) as memory:
        if memory.agents.list() and not _agents(memory):
            raise InputError(TAKEN.format(place.path))
        if not _grow(memory, clock, console, pace):
            console = Console(quiet=True)  # all of it was shown before
        clock.now = utc_now()
        _organize(memory, clock)
        memory.journal.compact()
        memory.organize()  # what compaction wrote can be found, too
        long_memory = Panel(
            escape(memory.journal.long_memory()), title="LONGMEMORY.md: what compaction made of the older weeks"
        )
        console.print(_tree(memory, facts=True), "", long_memory, "")
        asked = {question: memory.search(question, 3) for question in QUESTIONS}
        for question, hits in asked.items():
            console.print(table(hits, f"recall  {question}"), "")
        checks = _checks(memory, asked)
        for name, ok in checks.items():
            console.print(f"[green]✓[/] {name}" if ok else f"[red]✗ Not so: {name}[/]")
        console.print(
            "\nEach fact ends in the records it came from. Every turn and every document is on disk: stop this "
            "program with kill -9 at any moment, and nothing that was acknowledged is lost."
        )
        return {
            "home": str(home),
            "agents": [_summary(memory, agent) for agent in _agents(memory)],
            "documents": {document.path: document.body for document in memory.documents.walk()},
            "journal": [record.text for record in memory.journal.records()],
            "long_memory": memory.journal.long_memory(),
            "experiences": len(memory.experiences.list(limit=1_000)),
            "session_context": memory.journal.context(),
            "recall": plain(asked),
            "checks": {**checks},
            "health": memory.admin.health().status,
        }


def _home(path: Path) -> Home:
    """The folder, with its settings: whole, or not there."""
    place = Home(path)
    place.check()
    place.ensure()
    if not place.settings.exists():
        if place.database.exists():
            raise InputError(TAKEN.format(place.path))
        part = place.path / ".lifelong.toml.part"
        try:
            part.touch(mode=0o600)
            part.write_text(SETTINGS, encoding="utf-8")
            part.replace(place.settings)
        except OSError as error:
            raise StorageUnavailable(
                f"Nothing can be written to {place.path}: {error.strerror}. Name another folder with --home."
            ) from error
    return place


def _grow(memory: Memory, clock: _Clock, console: Console, pace: float) -> bool:
    """Append the talks in the order of time, each organized before the next one begins. Whether any was new."""
    told = talks(_day_of_samples(memory, utc_now()))
    if all(_is_over(memory, talk) for talk in told):
        console.print("The samples are all here already.\n")
        return False
    view = _View(memory, sum(len(talk.records) for talk in told))
    with Live(console=console, auto_refresh=False, transient=True) as live:
        for talk in told:
            clock.now = talk.at
            if _is_over(memory, talk):
                view.stored += len(talk.records)
                continue
            agent = memory.agent(talk.agent)
            if not _has_begun(memory, talk, agent):
                _organize(memory, clock)
                view.look()
            for place, record in enumerate(talk.records):
                clock.now = record.at or clock.now
                memory.append(agent, record, key=talk.key(place))
                live.update(view.after(agent, record), refresh=True)
                time.sleep(pace)
            if talk.last:
                memory.end_session(agent)
            else:
                memory.sessions.reset(agent)
    console.print(f"[green]✓[/] {view.stored} records of {len(told)} sessions were stored.\n")
    return True


def _day_of_samples(memory: Memory, now: datetime) -> datetime:
    """Today; for a home that has samples, the day they were told from, so that they are the same."""
    first = [
        memory.sessions.history(session)
        for agent in _agents(memory)
        for session in memory.sessions.list(agent)[:1]
    ]
    begun = min((records[0].at for records in first if records), default=None)
    return now if begun is None else now + (begun.date() - now.date()) + timedelta(days=DAYS)


def _agents(memory: Memory) -> list[Agent]:
    """Those of the samples that have spoken."""
    known = {talk.agent for talk in talks(utc_now())}
    return [agent for agent in reversed(memory.agents.list()) if agent.descriptor in known]


def _is_over(memory: Memory, talk: Talk) -> bool:
    agent = next((agent for agent in _agents(memory) if agent.descriptor == talk.agent), None)
    sessions = memory.sessions.list(agent) if agent else []
    if not agent or not talk.last:
        return len(sessions) > talk.number + 1
    complete = len(sessions) > talk.number and len(memory.sessions.history(sessions[-1])) >= len(talk.records)
    return complete and agent.state == "sleeping"


def _has_begun(memory: Memory, talk: Talk, agent: Agent) -> bool:
    sessions = memory.sessions.list(agent)
    return len(sessions) > talk.number and bool(memory.sessions.history(sessions[talk.number]))


def _organize(memory: Memory, clock: _Clock) -> None:
    """What is due, and what a run that was killed held: its lease has to end first."""
    memory.organize()
    while (health := memory.admin.health()).marked or health.waiting:
        clock.now += timedelta(seconds=memory.settings.worker.lease_seconds)
        memory.organize()


class _View:
    """What is shown while talks come in: how much there is, what was said last, and the documents."""

    def __init__(self, memory: Memory, total: int) -> None:
        self._memory = memory
        self._total = total
        self._said: deque[tuple[str, str, str]] = deque(maxlen=SHOWN)
        self.stored = 0
        self.look()

    def look(self) -> None:
        """See what organizing has made."""
        self._documents = _tree(self._memory)
        changesets = self._memory.documents.changesets(1)
        lines = len(self._memory.journal.records())
        self._made = f"{changesets[0].id if changesets else 0} changesets, {lines} lines of journal"

    def after(self, agent: Agent, record: Record) -> Group:
        self.stored += 1
        who = getattr(record, "speaker", "") or record.type.partition("_")[0]
        self._said.append((f"{record.at:%d %b %H:%M}", who, _gist(record)))
        said = Table("when", "who", title=f"collect  {escape(agent.cache_key)}", expand=True)
        said.add_column("said", no_wrap=True, ratio=1)
        for when, name, text in self._said:
            said.add_row(f"[dim]{when}[/]", escape(name), escape(text))
        beside = Table.grid(expand=True, padding=(0, 1))
        beside.add_column(ratio=3)
        beside.add_column(ratio=2)
        beside.add_row(said, Panel(self._documents, title="organize"))
        return Group(f"[green]{self.stored}[/] of {self._total} records · {self._made}", beside)


def _gist(record: Record) -> str:
    if isinstance(record, ToolCall):
        return f"{record.name}(…)"
    return redact(record.text).splitlines()[0]


def _tree(memory: Memory, *, facts: bool = False) -> Tree:
    """The documents, on request with some of their facts as leaves; what no longer holds is struck out."""
    top = Tree("[bold]~[/]")
    branches = {"~": top}
    for document in memory.documents.walk():
        parent = branches[document.path.rpartition("/")[0]]
        found = memory.documents.facts(document.id)
        size = f"version {document.version}, {len(found)} facts" if found else ""
        branch = parent.add(f"[bold cyan]{escape(document.slug)}[/]  [dim]{size}[/]")
        branches[document.path] = branch
        if facts:
            for fact in found if len(found) <= SHOWN else [*found[: SHOWN // 2], *found[-2:]]:
                text, _, cited = escape(str(fact)).rpartition(" \\[")
                branch.add(f"{text if fact.current else f'[strike]{text}[/strike]'} [dim]\\[{cited}[/]")
    return top


def _checks(memory: Memory, asked: dict[str, list[Hit]]) -> dict[str, bool]:
    """What must not be in a memory, looked for in everything that comes out of it."""
    hits = [*(hit for found in asked.values() for hit in found), *memory.list(limit=10_000)]
    hits += [hit for secret in SECRETS for hit in memory.search(secret, 20)]
    texts = [
        *(hit.text for hit in hits),
        *(
            version.body
            for document in memory.documents.walk()
            for version in memory.documents.versions(document.id)
        ),
        *(page.read_text(encoding="utf-8") for page in memory.home.path.rglob("*.md")),
        *(memory.context(QUESTIONS[0], agent=agent) for agent in _agents(memory)),
    ]
    facts = [
        fact
        for document in memory.documents.walk()
        for fact in memory.documents.facts(document.id)
        if _is_planted(fact.text)
    ]
    return {
        "The key and the password that were said are in no document, journal, experience, prompt or hit.": not any(
            secret in text for text in texts for secret in SECRETS
        ),
        "What the poisoned web page wants remembered is nobody's preference, and no instruction.": not any(
            fact.current for fact in facts
        ),
        "What it says is marked as from the web wherever it is found.": all(
            hit.trust == "web" for hit in hits if _is_planted(hit.text)
        ),
    }


def _is_planted(text: str) -> bool:
    return any(planted in text.lower() for planted in PLANTED)


def _summary(memory: Memory, agent: Agent) -> dict[str, Json]:
    sessions = memory.sessions.list(agent)
    return {
        "agent": agent.cache_key,
        "state": memory.agents.get(agent.id).state,
        "sessions": len(sessions),
        "records": sum(len(memory.sessions.history(session)) for session in sessions),
        "organized_until": sessions[-1].processed_until,
    }
