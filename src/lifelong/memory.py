"""Memory: the whole of lifelong behind one object. The only place where parts are put together."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from lifelong.collect.agents import Agents
from lifelong.collect.descriptors import Descriptor, validate_descriptor
from lifelong.home import Home
from lifelong.journal.compaction import Result
from lifelong.journal.journal import Journal
from lifelong.journal.notes import Notes
from lifelong.journal.tools import remember_this
from lifelong.organize.documents import DocumentStore
from lifelong.organize.inbox import Inbox
from lifelong.organize.organizer import Organizer
from lifelong.organize.tools import document_tools
from lifelong.organize.worker import WorkDone
from lifelong.reading import Reading, id_of
from lifelong.storage.base import Database, Transaction
from lifelong.tools import Tool
from lifelong.types import Agent, Clock, Hit, ItemKind, LifecycleResult, Record, Session, Turn, utc_now
from lifelong.validation import validate_path, validate_position, validate_time, validate_user
from lifelong.wiring import Wiring, open_database

if TYPE_CHECKING:
    from lifelong.recall.feedback import Verdict
    from lifelong.settings import Settings

T = TypeVar("T")


class Memory(Reading):
    """The memory of one user in one home.

        with Memory.open("home") as memory:
            alice = memory.agent(User("cli", "alice", "main"))
            memory.append(alice, UserMessage("I moved to Lisbon in May."))

    Safe to share between threads. Opening starts nothing; `start` runs the background work; `close` (or
    leaving the `with`) stops it and then lets the database go. Wherever an agent is asked for, an `Agent`
    or its id will do.
    """

    def __init__(
        self,
        home: Home,
        user: str,
        settings: Settings,
        database: Database,
        clock: Clock,
        organizer: Organizer | None = None,
    ) -> None:
        self.home = home
        self.user = user
        self.settings = settings
        self._clock = clock
        self._database = database
        self._whole = Wiring(settings, home, user, database, clock, organizer)
        self._whole.mending.look()
        self._notes: dict[str, Notes] = {}
        self._closed = False

    @classmethod
    def open(
        cls,
        home: str | Path,
        user: str = "default",
        *,
        clock: Clock = utc_now,
        organizer: Organizer | None = None,
        **settings: Mapping[str, object],
    ) -> Self:
        """Open a home, and make it if it is not there. Settings go by section:
        `Memory.open("home", collect={"turn_threshold": 8})`. A `organizer` of one's own takes the place of the
        one that the settings name."""
        from lifelong.settings import Settings  # half a second that importing lifelong need not take

        validate_user(user)
        validate_time(clock(), "The clock's time")
        place = Home(home)
        place.check()
        loaded = Settings.load(place.settings, **settings)
        place.ensure()
        database = open_database(place, loaded.storage)
        try:
            return cls(place, user, loaded, database, clock, organizer)
        except BaseException:
            database.close()
            raise

    # Agents

    def agent(self, descriptor: Descriptor) -> Agent:
        """The one agent of this descriptor, made on first use."""
        validate_descriptor(descriptor)
        known = self._read(lambda tx: Agents(tx).find(self.user, descriptor))
        if known and known.descriptor == descriptor:
            return known
        now = self._clock()
        return self._write(
            lambda tx: Agents(tx).resolve(self.user, descriptor, now, self._parts.lifecycle.sleep_due(now))
        )

    # Turns

    def append(self, agent: Agent | str, record: Record, *, key: str | None = None) -> int:
        """Store what was said; its id, once it is durable. With an idempotency `key`, a retry stores
        nothing and returns the first id."""
        return self._parts.turns.append(id_of(agent), record, key)

    def append_many(
        self, agent: Agent | str, records: Iterable[Record], *, keys: Iterable[str | None] | None = None
    ) -> builtins.list[int]:  # `list` is a method here
        """Store several records in order, all or none; their ids, once they are durable."""
        return self._parts.turns.append_many(id_of(agent), records, keys)

    def end_turn(self, agent: Agent | str) -> Turn | None:
        """Say that the agent's turn is over. Gives what was said since the last one ended, if anything."""
        return self._parts.turns.end_turn(id_of(agent))

    def reset(self, agent: Agent | str, message: str | None = None, *, emergency: bool = False) -> Session:
        """End the agent's session, mark it, and open a new one. `emergency`: the context overflowed."""
        return self._parts.turns.reset(id_of(agent), message, emergency=emergency)

    def compact_context(self, agent: Agent | str, summary: str) -> Session:
        """Like reset, with a summary of what came before as the new session's first record."""
        return self._parts.turns.compact_context(id_of(agent), summary)

    # Lifecycle

    def sleep(self, agent: Agent | str) -> None:
        """Put the agent to sleep now, and mark its session."""
        self._parts.lifecycle.sleep(self.user, id_of(agent), self._clock())
        self._whole.wake()

    def advance(self, now: datetime | None = None) -> LifecycleResult:
        """Act on the deadlines of the whole home that have come by `now`; tell what became of this
        user's agents. Any process may call it."""
        return self._parts.lifecycle.advance(
            self._clock() if now is None else validate_time(now, "now"), self.user
        )

    # Organizing

    def process(self) -> WorkDone:
        """Do everything that is due now, in this thread: deadlines, marked sessions, the inbox of the whole
        home. For scripts, notebooks and tests; `start` does the same in the background."""
        processed = self._parts.workers[0].run_until_idle()
        self._whole.catch_up()
        return processed

    @property
    def documents(self) -> DocumentStore:
        """The user's documents: read, write, walk, compare, and go back in time."""
        return self._parts.documents

    def tools(self, author: str = "agent", agent: Agent | str | None = None) -> tuple[Tool, ...]:
        """Of documents, of recall and, where they are on, of the journal and of experiences, for an agent. The
        author signs documents."""
        journal = (remember_this(self.journal),) if self._parts.continuity.is_on else ()
        return (*document_tools(self.documents, author), *self._recall_tools(agent), *journal)

    def retry(self, item_id: int | None = None) -> int:
        """Try an inbox item again now, or every one that failed for good. How many there were."""
        if item_id is not None:
            validate_position(item_id, "The item's id")
            self._read(lambda tx: Inbox(tx).get(self.user, item_id))
        now = self._clock()
        retried = self._write(lambda tx: Inbox(tx).retry(self.user, now, item_id))
        self._whole.wake()
        return retried

    # What is remembered

    def feedback(self, item: str, verdict: Verdict, recall_id: int | None = None) -> None:
        """Say that a hit was `useful`, `wrong` or `outdated`: it is found earlier or later from now on, within
        bounds. What is outdated ends, unless it was said in a talk."""
        if recall_id is not None:
            self._parts.recall_log.get(recall_id)
        self._parts.upkeep.feedback(item, verdict, recall_id)

    def correct(self, item: str, text: str) -> Hit:
        """Say what is so instead of an item. Your word is kept as a record of its own, and is found from now on;
        the item ends, and is found below it."""
        return self._parts.upkeep.correct(item, text)

    def pin(self, item: str) -> None:
        """Have an item in every context from now on."""
        self._parts.upkeep.pin(item)

    def unpin(self, item: str) -> None:
        """Take the pin off again."""
        self._parts.upkeep.unpin(item)

    def list(
        self,
        kind: ItemKind | None = None,
        subject: str | None = None,
        since: datetime | None = None,
        limit: int = 100,
        before: str | None = None,
    ) -> builtins.list[Hit]:
        """Everything that is remembered, what came last first. `subject` is a name or some words: what it said,
        what its documents say, and what holds all its words. `before` is the id of the last hit of the page
        before."""
        return self._parts.upkeep.listed(kind, subject, since, limit, before)

    # The journal and notes

    @property
    def journal(self) -> Journal:
        """MEMORY.md, the pages of the days, LONGMEMORY.md. An error where `continuity.journal_enabled` is off."""
        return self._parts.continuity.journal

    def session_context(self, tokens: int | None = None) -> str:
        """What of the journal opens a session, within `continuity.session_memory_cap`, or within so many tokens.
        Empty where there is no journal."""
        return self._parts.continuity.session_context(tokens)

    def compact_journal(self, *, force: bool = False) -> Result:
        """Compact MEMORY.md now if it is over its limits; with `force`, in any case."""
        return self._parts.continuity.compact(force=force)

    def notes(self, worker: str) -> Notes:
        """What a worker keeps from job to job."""
        found = Notes(self.home.user(self.user), worker, self._parts.query, clock=self._clock)
        return self._notes.setdefault(worker, found)

    # The home

    def backup(self, target: str | Path) -> None:
        """Write a whole copy of the database to a new file while work goes on."""
        self._check_open()
        self._database.backup(validate_path(target, "The backup"))

    def check(self) -> builtins.list[str]:
        """Read the whole database and say what is wrong with it, a sentence each. Nothing wrong: empty."""
        self._check_open()
        return self._database.check()

    def rebuild(self) -> None:
        """Make the index of the home anew from what it is derived from. `process` or a worker does the work;
        meanwhile recall goes on with what is there."""
        self._parts.mending.rebuild()
        self._parts.indexer.background.wake()

    def index(self) -> int:
        """Do some of the indexing that is due, in this thread. How much it was; 0: there is none."""
        return self._parts.indexer.run()

    def start(self) -> None:
        """Run the background work in threads of this process. Safe to call twice."""
        self._parts.continuity.start()
        self._parts.indexer.background.start()
        for worker in self._parts.workers:
            worker.start()

    def stop(self) -> WorkDone:
        """End the background work for good: what runs is finished, and nothing follows. What it did in all."""
        for worker in self._whole.workers:  # they begin the longest work
            worker.stop()
        self._whole.continuity.stop()
        self._whole.stop_indexing()
        return sum((worker.done for worker in self._whole.workers), WorkDone())

    def close(self) -> None:
        """Stop the background work, finish what was submitted, let the database go. Safe to call twice."""
        self.stop()
        was_open, self._closed = not self._closed, True
        for notes in self._notes.values():
            notes.wait()
        self._whole.close()
        if was_open:
            self._whole.continuity.close()
        self._database.close()

    @property
    def closed(self) -> bool:
        return self._closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, work: Callable[[Transaction], T]) -> T:
        self._check_open()
        return self._database.write(work)
