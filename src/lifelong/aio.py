"""AsyncMemory: the calls of `Memory`, awaited. No logic of its own: each call runs in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from lifelong.errors import MemoryClosed
from lifelong.journal.journal import Journal
from lifelong.journal.notes import Notes
from lifelong.memory import Memory
from lifelong.organize.documents import DocumentStore
from lifelong.organize.organizer import Organizer
from lifelong.recall.experiences import Experiences
from lifelong.types import Clock, utc_now

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 32  # calls under way at once; those that wait for the disk share one commit


class awaited(Generic[P, T]):  # noqa: N801 - reads as a word where it is used
    """A method of the object behind, as a coroutine with the same parameters."""

    def __init__(self, call: Callable[Concatenate[Any, P], T]) -> None:
        self._call = call
        self.__doc__ = call.__doc__

    @overload
    def __get__(self, owner: None, kind: type[Face]) -> Self: ...

    @overload
    def __get__(self, owner: Face, kind: type[Face]) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(self, owner: Face | None, kind: type[Face]) -> Self | Callable[P, Coroutine[Any, Any, T]]:
        if owner is None:
            return self

        @wraps(self._call)
        async def call(*args: P.args, **kwargs: P.kwargs) -> T:
            return await owner._run(partial(self._call, owner._behind, *args, **kwargs))

        return call


class Face:
    """What stands before an object whose calls wait for a disk, and runs them in threads."""

    def __init__(self, behind: object, memory: Memory, threads: ThreadPoolExecutor) -> None:
        self._behind = behind
        self._memory = memory
        self._threads = threads

    async def _run(self, call: Callable[[], T]) -> T:
        if self._memory.closed:
            raise MemoryClosed
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


class AsyncDocuments(Face):
    """`DocumentStore` for event loops."""

    draft = awaited(DocumentStore.draft)
    find = awaited(DocumentStore.find)
    read = awaited(DocumentStore.read)
    roots = awaited(DocumentStore.roots)
    children = awaited(DocumentStore.children)
    walk = awaited(DocumentStore.walk)
    outline = awaited(DocumentStore.outline)
    facts = awaited(DocumentStore.facts)
    versions = awaited(DocumentStore.versions)
    references = awaited(DocumentStore.references)
    diff = awaited(DocumentStore.diff)
    write = awaited(DocumentStore.write)
    edit = awaited(DocumentStore.edit)
    delete = awaited(DocumentStore.delete)
    changesets = awaited(DocumentStore.changesets)
    changeset = awaited(DocumentStore.changeset)
    changes = awaited(DocumentStore.changes)
    rollback = awaited(DocumentStore.rollback)
    rollback_to = awaited(DocumentStore.rollback_to)


class AsyncJournal(Face):
    """`Journal` for event loops."""

    append = awaited(Journal.append)
    remember = awaited(Journal.remember)
    records = awaited(Journal.records)
    day = awaited(Journal.day)
    records_of_days = awaited(Journal.records_of_days)
    long_memory = awaited(Journal.long_memory)


class AsyncNotes(Face):
    """`Notes` for event loops."""

    store = awaited(Notes.store)
    load = awaited(Notes.load)
    size = awaited(Notes.size)
    compact = awaited(Notes.compact)
    restore = awaited(Notes.restore)
    system_prompt = awaited(Notes.system_prompt)
    wait = awaited(Notes.wait)


class AsyncExperiences(Face):
    """`Experiences` for event loops."""

    add = awaited(Experiences.add)
    query = awaited(Experiences.query)
    list = awaited(Experiences.list)


class AsyncMemory(Face):
    """`Memory` for event loops.

    async with await AsyncMemory.open("home") as memory:
        alice = await memory.agent(User("cli", "alice", "main"))
        await memory.append(alice, UserMessage("I moved to Lisbon in May."))
    """

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory, memory, ThreadPoolExecutor(THREADS, thread_name_prefix="lifelong"))

    @classmethod
    async def open(
        cls,
        home: str | Path,
        user: str = "default",
        *,
        clock: Clock = utc_now,
        organizer: Organizer | None = None,
        **settings: Mapping[str, object],
    ) -> Self:
        opening = partial(Memory.open, home, user, clock=clock, organizer=organizer, **settings)
        return cls(await asyncio.to_thread(opening))

    agent = awaited(Memory.agent)
    agents = awaited(Memory.agents)
    find_agent = awaited(Memory.find_agent)
    get_agent = awaited(Memory.get_agent)
    append = awaited(Memory.append)
    append_many = awaited(Memory.append_many)
    end_turn = awaited(Memory.end_turn)
    reset = awaited(Memory.reset)
    compact_context = awaited(Memory.compact_context)
    sleep = awaited(Memory.sleep)
    advance = awaited(Memory.advance)
    process = awaited(Memory.process)
    tools = awaited(Memory.tools)
    inbox = awaited(Memory.inbox)
    inbox_counts = awaited(Memory.inbox_counts)
    retry = awaited(Memory.retry)
    receipt = awaited(Memory.receipt)
    health = awaited(Memory.health)
    remarks = awaited(Memory.remarks)
    ledger = awaited(Memory.ledger)
    recall = awaited(Memory.recall)
    recalls = awaited(Memory.recalls)
    feedback = awaited(Memory.feedback)
    relations = awaited(Memory.relations)
    entities = awaited(Memory.entities)
    list = awaited(Memory.list)
    ended = awaited(Memory.ended)
    correct = awaited(Memory.correct)
    pin = awaited(Memory.pin)
    unpin = awaited(Memory.unpin)
    context = awaited(Memory.context)
    verify = awaited(Memory.verify)
    rebuild = awaited(Memory.rebuild)
    unindexed = awaited(Memory.unindexed)
    index = awaited(Memory.index)
    session_context = awaited(Memory.session_context)
    compact_journal = awaited(Memory.compact_journal)
    session = awaited(Memory.session)
    sessions = awaited(Memory.sessions)
    recent_sessions = awaited(Memory.recent_sessions)
    history = awaited(Memory.history)
    transcript = awaited(Memory.transcript)
    context_size = awaited(Memory.context_size)
    totals = awaited(Memory.totals)
    workers = awaited(Memory.workers)
    users = awaited(Memory.users)
    backup = awaited(Memory.backup)
    check = awaited(Memory.check)
    start = awaited(Memory.start)
    stop = awaited(Memory.stop)

    @property
    def documents(self) -> AsyncDocuments:
        """The user's documents: read, write, walk, compare, and go back in time."""
        return AsyncDocuments(self._memory.documents, self._memory, self._threads)

    @property
    def journal(self) -> AsyncJournal:
        """MEMORY.md, the pages of the days, LONGMEMORY.md. An error where `continuity.journal_enabled` is off."""
        return AsyncJournal(self._memory.journal, self._memory, self._threads)

    @property
    def experiences(self) -> AsyncExperiences:
        """The user's experiences: add, query, list. An error where `continuity.experience_store_enabled` is
        off."""
        return AsyncExperiences(self._memory.experiences, self._memory, self._threads)

    def notes(self, worker: str) -> AsyncNotes:
        """What a worker keeps from job to job."""
        return AsyncNotes(self._memory.notes(worker), self._memory, self._threads)

    async def close(self) -> None:
        await asyncio.to_thread(self._memory.close)
        self._threads.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
