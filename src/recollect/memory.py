"""Memory: the whole of recollect behind one object. The only place where parts are put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar, get_args

from recollect.collect.agents import Agents, Standing
from recollect.collect.descriptors import KINDS, Descriptor, Strategy, check_descriptor, is_foreground, matches
from recollect.collect.history import History
from recollect.collect.sessions import Sessions, unknown_session
from recollect.collect.transcript import transcript
from recollect.errors import InputError, MemoryClosed
from recollect.gate import checked_name, checked_path, checked_position, checked_profile, checked_time
from recollect.home import Home
from recollect.models.ledger import Call, Ledger
from recollect.organize.brain import Brain
from recollect.organize.health import Health, Receipt, health, receipt
from recollect.organize.inbox import Inbox
from recollect.organize.rules.conflicts import keys
from recollect.organize.tools import Tool, document_tools
from recollect.organize.tree import Tree
from recollect.organize.worker import Processed
from recollect.parts import open_brain, open_database, open_lifecycle, open_turns, open_workers
from recollect.storage.base import Database, Transaction
from recollect.types import (
    Advance,
    Agent,
    Clock,
    InboxItem,
    ItemState,
    Record,
    Recorded,
    Session,
    Turn,
    utc_now,
)

if TYPE_CHECKING:
    from recollect.config import Settings

T = TypeVar("T")

SEVERAL = 20  # so that one that cannot be read does not hide the next


class Memory:
    """The memory of one profile in one home.

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
        profile: str,
        settings: Settings,
        database: Database,
        clock: Clock,
        brain: Brain | None = None,
    ) -> None:
        self.home = home
        self.profile = profile
        self.settings = settings
        self._clock = clock
        self._database = database
        self._lifecycle = open_lifecycle(settings, database)
        self._turns = open_turns(settings, database, profile, self._lifecycle, clock, self._wake)
        self._brain = brain or open_brain(settings, database, clock)
        self._workers = open_workers(settings, database, self._lifecycle, self._brain, clock, self.advance)
        self._documents = Tree(database, profile, clock, keys)
        self._closed = False

    @classmethod
    def open(
        cls,
        home: str | Path,
        profile: str = "default",
        *,
        clock: Clock = utc_now,
        brain: Brain | None = None,
        **settings: Mapping[str, object],
    ) -> Self:
        """Open a home, and make it if it is not there. Settings go by section:
        `Memory.open("home", collect={"turn_threshold": 8})`. A `brain` of one's own takes the place of the
        one that the settings name."""
        from recollect.config import Settings  # half a second that importing recollect need not take

        checked_profile(profile)
        checked_time(clock(), "The clock's time")
        place = Home(home)
        place.check()
        loaded = Settings.load(place.settings, **settings)
        place.ensure()
        return cls(place, profile, loaded, open_database(place, loaded.storage), clock, brain)

    # Agents

    def agent(self, descriptor: Descriptor) -> Agent:
        """The one agent of this descriptor, made on first use."""
        check_descriptor(descriptor)
        known = self._read(lambda tx: Agents(tx).find(self.profile, descriptor))
        if known and known.descriptor == descriptor:
            return known
        now = self._clock()
        return self._write(
            lambda tx: Agents(tx).resolve(self.profile, descriptor, now, self._lifecycle.sleep_due(now))
        )

    def agents(self) -> list[Agent]:
        """Every agent of the profile, the one heard from last first."""
        return self._read(lambda tx: Agents(tx).recent(self.profile))

    def find_agent(self, strategy: Strategy) -> Agent | None:
        """The agent heard from last of those the strategy matches; none where there is none."""
        if strategy not in get_args(Strategy):
            raise InputError(f"{strategy!r:.200} is no strategy. Use one of: {', '.join(get_args(Strategy))}.")
        kinds = [kind for kind in KINDS if matches(kind, strategy)]
        return next(iter(self._read(lambda tx: Agents(tx).recent(self.profile, kinds, SEVERAL))), None)

    def get_agent(self, agent: Agent | str) -> Agent:
        """The agent as it is now."""
        return self._read(lambda tx: Agents(tx).get(self.profile, _id(agent)))

    # Turns

    def append(self, agent: Agent | str, record: Record, *, key: str | None = None) -> int:
        """Store what was said; its id, once it is durable. With an idempotency `key`, a retry stores
        nothing and returns the first id."""
        self._check_open()
        return self._turns.append(_id(agent), record, key)

    def append_many(
        self, agent: Agent | str, records: Iterable[Record], *, keys: Iterable[str | None] | None = None
    ) -> list[int]:
        """Store several records in order, all or none; their ids, once they are durable."""
        self._check_open()
        return self._turns.append_many(_id(agent), records, keys)

    def end_turn(self, agent: Agent | str) -> Turn | None:
        """Say that the agent's turn is over. Gives what was said since the last one ended, if anything."""
        self._check_open()
        return self._turns.end_turn(_id(agent))

    def reset(self, agent: Agent | str, message: str | None = None, *, emergency: bool = False) -> Session:
        """End the agent's session, mark it, and open a new one. `emergency`: the context overflowed."""
        self._check_open()
        return self._turns.reset(_id(agent), message, emergency=emergency)

    def compact_context(self, agent: Agent | str, summary: str) -> Session:
        """Like reset, with a summary of what came before as the new session's first record."""
        self._check_open()
        return self._turns.compact_context(_id(agent), summary)

    # Lifecycle

    def sleep(self, agent: Agent | str) -> None:
        """Put the agent to sleep now, and mark its session."""
        self._check_open()
        self._lifecycle.sleep(self.profile, _id(agent), self._clock())
        self._wake()

    def advance(self, now: datetime | None = None) -> Advance:
        """Act on the deadlines of the whole home that have come by `now`; tell what became of this
        profile's agents. Any process may call it."""
        self._check_open()
        return self._lifecycle.advance(self._clock() if now is None else checked_time(now, "now"), self.profile)

    # Organizing

    def process(self) -> Processed:
        """Do everything that is due now, in this thread: deadlines, marked sessions, the inbox of the whole
        home. For scripts, notebooks and tests; `start` does the same in the background."""
        self._check_open()
        return self._workers[0].run_dry()

    @property
    def documents(self) -> Tree:
        """The profile's documents: read, write, walk, compare, and go back in time."""
        self._check_open()
        return self._documents

    def tools(self, author: str = "agent") -> tuple[Tool, ...]:
        """`document_read`, `document_write` and `document_edit` for an agent of any framework: a name, a
        description, a JSON schema and a function each. What they write is signed by the author."""
        return document_tools(self.documents, author)

    def inbox(self, *states: ItemState, limit: int = 100) -> list[InboxItem]:
        """The transcripts that are on their way to the profile's memory-agents, or were; newest first."""
        unknown = [state for state in states if state not in get_args(ItemState)]
        if unknown:
            raise InputError(f"{unknown[0]!r:.200} is no state. Use some of: {', '.join(get_args(ItemState))}.")
        return self._read(lambda tx: Inbox(tx).find(self.profile, states, checked_position(limit, "The limit")))

    def retry(self, item_id: int | None = None) -> int:
        """Try an inbox item again now, or every one that failed for good. How many there were."""
        if item_id is not None:
            checked_position(item_id, "The item's id")
            self._read(lambda tx: Inbox(tx).get(self.profile, item_id))
        now = self._clock()
        retried = self._write(lambda tx: Inbox(tx).retry(self.profile, now, item_id))
        self._wake()
        return retried

    def receipt(self, record_id: int) -> Receipt:
        """How far a record has come: stored, queued, organized, searchable, or failed and why."""
        checked_position(record_id, "The record's id")
        return self._read(lambda tx: receipt(tx, self.profile, record_id))

    def health(self) -> Health:
        """Whether everything in the home is on its way: green, yellow or red, with the reasons."""
        overdue = timedelta(seconds=self.settings.worker.overdue_seconds)
        remarks = [remark for remark in (self._brain.waits(), self._brain.remark()) if remark]
        return self._read(lambda tx: health(tx, self.profile, self._clock(), overdue, remarks))

    def ledger(self, limit: int = 100) -> list[Call]:
        """The profile's calls of models and what each cost, newest first."""
        return self._read(lambda tx: Ledger(tx).recent(self.profile, checked_position(limit, "The limit")))

    # Reading

    def session(self, session: Session | str) -> Session:
        """The session as it is now."""
        return self._read(lambda tx: Sessions(tx).get(self.profile, _id(session)))

    def sessions(self, agent: Agent | str) -> list[Session]:
        """Every session of the agent, oldest first, the active one last."""
        return self._read(lambda tx: Sessions(tx).of_agent(Agents(tx).standing(self.profile, _id(agent)).id))

    def history(self, of: Agent | Session | str, after: int = 0) -> list[Recorded]:
        """The records of a session after this id, in order. For an agent: those of its newest session."""
        checked_position(after, "`after`")

        def work(tx: Transaction) -> list[Recorded]:
            session, _ = self._talk(tx, of)
            return History(tx).find_since_id(session.id, after) if session else []

        return self._read(work)

    def transcript(self, of: Agent | Session | str, after: int = 0) -> str:
        """A session's records after this id, as Markdown. For an agent: those of its newest session."""
        checked_position(after, "`after`")

        def work(tx: Transaction) -> str:
            session, agent = self._talk(tx, of)
            return transcript(
                History(tx).find_since_id(session.id, after) if session else [],
                foreground=is_foreground(agent.kind),
                tool_result_chars=self.settings.collect.tool_result_chars,
            )

        return self._read(work)

    def context_size(self, of: Agent | Session | str) -> int:
        """How many characters a session's records hold. For an agent, also a memory-agent: its newest one's."""

        def work(tx: Transaction) -> int:
            session, _ = self._talk(tx, of)
            return History(tx).size(session.id) if session else 0

        return self._read(work)

    # The home

    def backup(self, target: str | Path) -> None:
        """Write a whole copy of the database to a new file while work goes on."""
        self._check_open()
        self._database.backup(checked_path(target, "The backup"))

    def check(self) -> list[str]:
        """Read the whole database and say what is wrong with it, a sentence each. Nothing wrong: empty."""
        self._check_open()
        return self._database.check()

    def start(self) -> None:
        """Run the background work in a thread of this process. Safe to call twice."""
        self._check_open()
        for worker in self._workers:
            worker.start()

    def stop(self) -> Processed:
        """End the background work for good: what runs is finished, and nothing follows. What it did in all."""
        return sum((worker.stop() for worker in self._workers), Processed())

    def close(self) -> None:
        """Stop the background work, finish what was submitted, let the database go. Safe to call twice."""
        self.stop()
        self._closed = True
        self._turns.close()
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

    def _wake(self) -> None:
        for worker in self._workers:
            worker.wake()

    def _talk(self, tx: Transaction, of: Agent | Session | str) -> tuple[Session | None, Standing]:
        """A session and its agent, whichever of the two was named."""
        session = None if isinstance(of, Agent) else Sessions(tx).find(self.profile, _id(of))
        if session:
            return session, Agents(tx).standing(self.profile, session.agent_id)
        if isinstance(of, Session):
            raise unknown_session(of.id)
        agent = Agents(tx).standing(self.profile, _id(of))
        return Sessions(tx).newest(agent.id), agent

    def _read(self, work: Callable[[Transaction], T]) -> T:
        self._check_open()
        return self._database.read(work)

    def _write(self, work: Callable[[Transaction], T]) -> T:
        self._check_open()
        return self._database.write(work)

    def _check_open(self) -> None:
        if self._closed:
            raise MemoryClosed


def _id(thing: Agent | Session | str) -> str:
    if isinstance(thing, Agent | Session):
        return thing.id
    if isinstance(thing, str):
        return checked_name(thing, "An id")
    raise InputError(
        f"{thing!r:.200} is no agent, no session and no id of one. Get an agent with memory.agent(descriptor)."
    )
