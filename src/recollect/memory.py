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
from recollect.collect.lifecycle import Lifecycle
from recollect.collect.sessions import Sessions, unknown_session
from recollect.collect.transcript import transcript
from recollect.collect.turns import Turns
from recollect.errors import InputError, MemoryClosed, StorageUnavailable
from recollect.gate import checked_name, checked_path, checked_position, checked_profile, checked_time
from recollect.home import Home
from recollect.organize.worker import Worker
from recollect.storage.base import Database, Transaction
from recollect.types import Advance, Agent, Clock, Record, Recorded, Session, Turn, utc_now

if TYPE_CHECKING:
    from recollect.config import Settings, StorageSettings

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

    def __init__(self, home: Home, profile: str, settings: Settings, database: Database, clock: Clock) -> None:
        collect = settings.collect
        self.home = home
        self.profile = profile
        self.settings = settings
        self._clock = clock
        self._database = database
        self._lifecycle = Lifecycle(
            database,
            idle_after=timedelta(seconds=collect.idle_after),
            dead_after=timedelta(seconds=collect.dead_after),
        )
        self._turns = Turns(
            database,
            profile,
            self._lifecycle,
            clock,
            turn_threshold=collect.turn_threshold,
            max_record_chars=collect.max_record_chars,
        )
        self._worker = Worker(self.advance, settings.worker.tick_seconds)
        self._closed = False

    @classmethod
    def open(
        cls,
        home: str | Path,
        profile: str = "default",
        *,
        clock: Clock = utc_now,
        **settings: Mapping[str, object],
    ) -> Self:
        """Open a home, and make it if it is not there. Settings go by section:
        `Memory.open("home", collect={"turn_threshold": 8})`."""
        from recollect.config import Settings  # half a second that importing recollect need not take

        checked_profile(profile)
        checked_time(clock(), "The clock's time")
        place = Home(home)
        place.check()
        loaded = Settings.load(place.settings, **settings)
        place.ensure()
        return cls(place, profile, loaded, _open_database(place, loaded.storage), clock)

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

    def advance(self, now: datetime | None = None) -> Advance:
        """Act on the deadlines of the whole home that have come by `now`; tell what became of this
        profile's agents. Any process may call it."""
        self._check_open()
        return self._lifecycle.advance(self._clock() if now is None else checked_time(now, "now"), self.profile)

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
        self._worker.start()

    def close(self) -> None:
        """Stop the background work, finish what was submitted, let the database go. Safe to call twice."""
        self._worker.stop()
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

    def _talk(self, tx: Transaction, of: Agent | Session | str) -> tuple[Session | None, Standing]:
        """A session and its agent, whichever of the two was named."""
        session = None if isinstance(of, Agent) else Sessions(tx).find(self.profile, _id(of))
        if session:
            return session, Agents(tx).standing(self.profile, session.agent_id)
        if isinstance(of, Session):
            raise unknown_session(of.id)
        agent = Agents(tx).standing(self.profile, _id(of))
        return next(reversed(Sessions(tx).of_agent(agent.id)), None), agent

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


def _open_database(home: Home, storage: StorageSettings) -> Database:
    url = storage.url.get_secret_value()
    if not url:
        from recollect.storage.sqlite import SQLite

        return SQLite(home.database, synchronous=storage.synchronous, busy_timeout=storage.busy_timeout)
    try:
        from recollect.storage.postgres import Postgres
    except ImportError as error:
        raise StorageUnavailable(
            "storage.url names a PostgreSQL, but its driver is not installed: pip install 'recollect[postgres]'."
        ) from error
    return Postgres(
        url,
        schema=storage.schema_name,
        synchronous=storage.synchronous,
        busy_timeout=storage.busy_timeout,
        pool_size=storage.pool_size,
        timeout=storage.connect_timeout,
    )
