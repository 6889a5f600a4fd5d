"""`make run`: three weeks of a small team's conversations, stored and organized while you watch.

The clock follows the conversations, so that documents, journal and index have the dates they would have had.
Killed at any moment, it continues from there: each record has its key, and each conversation is organized before
the next begins.
"""

from __future__ import annotations

import time
from collections import deque
from datetime import datetime, timedelta
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape as escape_markup
from rich.panel import Panel
from rich.table import Table
from rich.tree import Tree

from lifelong.disk import write_new
from lifelong.errors import InputError, StorageUnavailable
from lifelong.home import Home
from lifelong.memory import Memory
from lifelong.redaction import redact
from lifelong.serve.jsonable import jsonable
from lifelong.serve.samples import DAYS, PLANTED, SECRETS, SampleSession, sample_sessions
from lifelong.serve.terminal import hit_lines, sanitize
from lifelong.types import Agent, Hit, Json, Record, ToolCall, utc_now

SECONDS_BETWEEN_RECORDS = 0.08  # so that the eye can follow
MAX_ROWS = 10  # records shown at once, and facts of a document
QUESTIONS = (
    "Where does Mara live now?",
    "Is Mara allergic to anything?",
    "When is the release of Harbor 2.0?",
    "Why did the backup fail?",
    "What was decided last week?",
)
NOT_A_DEMO = "{} holds another memory. Name a folder for the samples with --home."
SETTINGS = """\
# The samples of `lifelong demo`. Journal, compaction and experiences are on, as `lifelong init` recommends;
# three weeks are little, so they are compacted early.
[continuity]
journal_enabled = true
memory_compaction_enabled = true
memory_compaction_max_records = 60
memory_compaction_max_chars = 24000
experience_store_enabled = true
"""


class _Clock:
    """A clock that is set to the time of each record."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def demo(home: Path, console: Console, *, pace: float = SECONDS_BETWEEN_RECORDS) -> dict[str, Json]:
    """Store and organize the samples, compact the older weeks, ask questions, and check what must not be found.
    Running it again stores nothing twice."""
    place = _home(home)
    console.print(f"[bold]lifelong[/] stores the samples in [cyan]{escape(str(home))}[/]\n")
    clock = _Clock(utc_now() - timedelta(days=DAYS + 1))  # the journal begins when it is first opened
    # A database or a model that the environment names is a real memory, and costs real money.
    with Memory.open(place.path, clock=clock, storage={"url": ""}, organize={"organizer": "rules"}) as memory:
        if _is_in_use(memory):
            raise InputError(NOT_A_DEMO.format(place.path))
        if not _store_samples(memory, clock, console, pace):
            console = Console(quiet=True)  # all of it was shown before
        clock.now = utc_now()
        _organize(memory, clock)
        memory.journal.compact()
        memory.organize()  # what compaction wrote can be found, too
        long_memory = Panel(
            escape(memory.journal.long_memory()), title="LONGMEMORY.md: the older weeks, compacted"
        )
        console.print(_tree(memory, facts=True), "", long_memory, "")
        asked = {question: memory.search(question, 3) for question in QUESTIONS}
        for question, hits in asked.items():
            console.print(f"[bold]{question}[/]")
            for line in hit_lines(hits, question, console.width - 2):
                console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
            console.print()
        checks = _checks(memory, asked)
        for name, ok in checks.items():
            console.print(f"[green]✓[/] {name}" if ok else f"[red]✗ Not true: {name}[/]")
        console.print(
            "\nEach fact names the records it came from. Everything that was stored is on disk: kill this program "
            "at any moment, and nothing that was acknowledged is lost."
        )
        return {
            "home": str(home),
            "agents": [_summary(memory, agent) for agent in _agents(memory)],
            "documents": {document.path: document.body for document in memory.documents.walk()},
            "journal": [record.text for record in memory.journal.records()],
            "long_memory": memory.journal.long_memory(),
            "experiences": len(memory.experiences.list(limit=1_000)),
            "session_context": memory.journal.context(),
            "recall": jsonable(asked),
            "checks": {**checks},
            "health": memory.admin.health().status,
        }


def _home(path: Path) -> Home:
    """Return the home of the demo, with its settings written completely or not at all."""
    place = Home(path)
    place.check()
    place.ensure()
    if not place.settings.exists():
        if place.database.exists():
            raise InputError(NOT_A_DEMO.format(place.path))
        try:
            write_new(place.settings, SETTINGS.encode())
        except OSError as error:
            raise StorageUnavailable(
                f"Nothing can be written to {place.path}: {error.strerror}. Name another folder with --home."
            ) from error
    return place


def _is_in_use(memory: Memory) -> bool:
    """Return whether the home is anything but empty, or the demo's own: it has other users, a token, or something
    of the default user's without the samples."""
    others = [name for name in memory.store.users() if name != memory.user]
    if others or memory.store.tokens.exist():
        return True
    own = [*memory.agents.list(), *memory.list(limit=1), *memory.documents.changesets(1)]
    return bool(own) and not _agents(memory)


def _store_samples(memory: Memory, clock: _Clock, console: Console, pace: float) -> bool:
    """Store the sample sessions in order of time, each organized before the next begins. Return whether any was
    new."""
    samples = sample_sessions(_day_of_samples(memory, utc_now()))
    if all(_is_over(memory, one) for one in samples):
        console.print("The samples are all here already.\n")
        return False
    view = _View(memory, sum(len(one.records) for one in samples))
    with Live(console=console, auto_refresh=False, transient=True) as live:
        for sample in samples:
            clock.now = sample.at
            if _is_over(memory, sample):
                view.stored += len(sample.records)
                continue
            agent = memory.agent(sample.agent)
            if not _has_begun(memory, sample, agent):
                _organize(memory, clock)
                view.look()
            for place, record in enumerate(sample.records):
                clock.now = record.at or clock.now
                memory.append(agent, record, key=sample.key(place))
                live.update(view.after(agent, record), refresh=True)
                time.sleep(pace)
            if sample.last:
                memory.end_session(agent)
            else:
                memory.sessions.reset(agent)
    console.print(f"[green]✓[/] {view.stored} records of {len(samples)} sessions were stored.\n")
    return True


def _day_of_samples(memory: Memory, now: datetime) -> datetime:
    """Return today; for a home that has samples, the day they were first made, so that they are the same."""
    first = [
        memory.sessions.history(session)
        for agent in _agents(memory)
        for session in memory.sessions.list(agent)[:1]
    ]
    begun = min((records[0].at for records in first if records), default=None)
    return now if begun is None else now + (begun.date() - now.date()) + timedelta(days=DAYS)


def _agents(memory: Memory) -> list[Agent]:
    """Return the agents of the samples that have records."""
    known = {one.agent for one in sample_sessions(utc_now())}
    return [agent for agent in reversed(memory.agents.list()) if agent.descriptor in known]


def _is_over(memory: Memory, sample: SampleSession) -> bool:
    agent = next((agent for agent in _agents(memory) if agent.descriptor == sample.agent), None)
    sessions = memory.sessions.list(agent) if agent else []
    if not agent or not sample.last:
        return len(sessions) > sample.number + 1
    complete = len(sessions) > sample.number and len(memory.sessions.history(sessions[-1])) >= len(sample.records)
    return complete and agent.state == "sleeping"


def _has_begun(memory: Memory, sample: SampleSession, agent: Agent) -> bool:
    sessions = memory.sessions.list(agent)
    return len(sessions) > sample.number and bool(memory.sessions.history(sessions[sample.number]))


def _organize(memory: Memory, clock: _Clock) -> None:
    """Organize what is due, and what a killed run held: its lease has to end first."""
    memory.organize()
    while (health := memory.admin.health()).marked or health.waiting:
        clock.now += timedelta(seconds=memory.settings.worker.lease_seconds)
        memory.organize()


class _View:
    """What is shown while records are stored: how many, the last ones, and the documents."""

    def __init__(self, memory: Memory, total: int) -> None:
        self._memory = memory
        self._total = total
        self._last: deque[tuple[str, str, str]] = deque(maxlen=MAX_ROWS)
        self.stored = 0
        self.look()

    def look(self) -> None:
        """Read what organizing has made."""
        self._documents = _tree(self._memory)
        changesets = self._memory.documents.changesets(1)
        lines = len(self._memory.journal.records())
        self._made = f"{changesets[0].id if changesets else 0} changesets, {lines} lines of journal"

    def after(self, agent: Agent, record: Record) -> Group:
        self.stored += 1
        who = getattr(record, "speaker", "") or record.type.partition("_")[0]
        self._last.append((f"{record.at:%d %b %H:%M}", who, _first_line(record)))
        table = Table("when", "who", title=f"add  {escape(agent.cache_key)}", expand=True)
        table.add_column("text", no_wrap=True, ratio=1)
        for when, name, text in self._last:
            table.add_row(f"[dim]{when}[/]", escape(name), escape(text))
        beside = Table.grid(expand=True, padding=(0, 1))
        beside.add_column(ratio=3)
        beside.add_column(ratio=2)
        beside.add_row(table, Panel(self._documents, title="organize"))
        return Group(f"[green]{self.stored}[/] of {self._total} records · {self._made}", beside)


def _first_line(record: Record) -> str:
    if isinstance(record, ToolCall):
        return f"{record.name}(…)"
    return redact(record.text).splitlines()[0]


def _tree(memory: Memory, *, facts: bool = False) -> Tree:
    """Return the documents, if wanted with some of their facts as leaves; facts that ended are struck out."""
    top = Tree("[bold]~[/]")
    branches = {"~": top}
    for document in memory.documents.walk():
        parent = branches[document.path.rpartition("/")[0]]
        found = memory.documents.facts(document.id)
        size = f"version {document.version}, {len(found)} facts" if found else ""
        branch = parent.add(f"[bold cyan]{escape(document.slug)}[/]  [dim]{size}[/]")
        branches[document.path] = branch
        if facts:
            for fact in found if len(found) <= MAX_ROWS else [*found[: MAX_ROWS // 2], *found[-2:]]:
                said, _, cited = str(fact).rpartition(" [")
                text = escape(said) if fact.current else f"[strike]{escape(said)}[/strike]"
                branch.add(f"{text} [dim]{escape(f'[{cited}')}[/]")
    return top


def _checks(memory: Memory, asked: dict[str, list[Hit]]) -> dict[str, bool]:
    """Look in everything that comes out of the memory for what must not be there."""
    hits = [*(hit for found in asked.values() for hit in found), *memory.list(limit=10_000)]
    hits += [hit for secret in SECRETS for hit in memory.search(secret, 20)]
    texts = [
        *(one.text for hit in hits for one in (hit, *hit.sources)),
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
        "The key and the password in the samples are in no document, journal, experience or hit.": not any(
            secret in text for text in texts for secret in SECRETS
        ),
        "What the poisoned web page asks to remember did not become a preference or an instruction.": not any(
            fact.current for fact in facts
        ),
        "What it says is marked as from the web wherever it is found.": all(
            hit.trust == "web" for hit in hits if _is_planted(hit.text)
        ),
    }


def escape(text: str) -> str:
    """Return stored text as rich may print it: without control characters, and not as markup."""
    return escape_markup(sanitize(text.replace("\t", " ")))


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
