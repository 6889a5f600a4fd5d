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
from lifelong.journal.notes import Notes
from lifelong.journal.service import JournalService
from lifelong.memory import DEFAULT_USER, Memory
from lifelong.models.embedders.base import Embedder
from lifelong.namespaces import Admin, AgentDirectory, InboxView, NotesDirectory, SessionDirectory
from lifelong.organize.documents import DocumentStore
from lifelong.organize.organizer import Organizer
from lifelong.recall.experiences import Experiences
from lifelong.recall.relations import RelationFinder
from lifelong.reviews import Reviews
from lifelong.types import Clock, utc_now

P = ParamSpec("P")
T = TypeVar("T")

MAX_THREADS = 32  # calls under way at once; those that wait for the disk share one commit


class awaited(Generic[P, T]):  # noqa: N801 - reads as a word where it is used
    """A method of the object behind, as a coroutine with the same parameters."""

    def __init__(self, call: Callable[Concatenate[Any, P], T]) -> None:
        self._call = call
        self.__doc__ = call.__doc__

    @overload
    def __get__(self, owner: None, kind: type[AsyncFace]) -> Self: ...

    @overload
    def __get__(self, owner: AsyncFace, kind: type[AsyncFace]) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(
        self, owner: AsyncFace | None, kind: type[AsyncFace]
    ) -> Self | Callable[P, Coroutine[Any, Any, T]]:
        if owner is None:
            return self

        @wraps(self._call)
        async def call(*args: P.args, **kwargs: P.kwargs) -> T:
            return await owner._run(partial(self._call, owner._behind, *args, **kwargs))

        return call


class AsyncFace:
    """What stands before an object whose calls wait for a disk, and runs them in threads."""

    def __init__(self, behind: object, memory: Memory, threads: ThreadPoolExecutor) -> None:
        self._behind = behind
        self._memory = memory
        self._threads = threads

    async def _run(self, call: Callable[[], T]) -> T:
        if self._memory.closed:
            raise MemoryClosed
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


class AsyncDocuments(AsyncFace):
    """`DocumentStore` for event loops."""

    draft = awaited(DocumentStore.draft)
    find = awaited(DocumentStore.find)
    read = awaited(DocumentStore.read)
    roots = awaited(DocumentStore.roots)
    children = awaited(DocumentStore.children)
    walk = awaited(DocumentStore.walk)
    outline = awaited(DocumentStore.outline)
    facts = awaited(DocumentStore.facts)
    fact_ids = awaited(DocumentStore.fact_ids)
    versions = awaited(DocumentStore.versions)
    references = awaited(DocumentStore.references)
    diff = awaited(DocumentStore.diff)
    write = awaited(DocumentStore.write)
    edit = awaited(DocumentStore.edit)
    delete = awaited(DocumentStore.delete)
    consolidate = awaited(DocumentStore.consolidate)
    changesets = awaited(DocumentStore.changesets)
    changeset = awaited(DocumentStore.changeset)
    changes = awaited(DocumentStore.changes)
    rollback = awaited(DocumentStore.rollback)
    rollback_to = awaited(DocumentStore.rollback_to)


class AsyncJournal(AsyncFace):
    """`JournalService` for event loops."""

    append = awaited(JournalService.append)
    remember = awaited(JournalService.remember)
    records = awaited(JournalService.records)
    day = awaited(JournalService.day)
    records_of_days = awaited(JournalService.records_of_days)
    long_memory = awaited(JournalService.long_memory)
    context = awaited(JournalService.context)
    compact = awaited(JournalService.compact)


class AsyncNotes(AsyncFace):
    """`Notes` for event loops."""

    store = awaited(Notes.store)
    load = awaited(Notes.load)
    size = awaited(Notes.size)
    compact = awaited(Notes.compact)
    restore = awaited(Notes.restore)
    system_prompt = awaited(Notes.system_prompt)
    wait = awaited(Notes.wait)


class AsyncExperiences(AsyncFace):
    """`Experiences` for event loops."""

    add = awaited(Experiences.add)
    query = awaited(Experiences.query)
    list = awaited(Experiences.list)
    extract = awaited(Experiences.extract)


class AsyncAgents(AsyncFace):
    """`memory.agents` for event loops."""

    list = awaited(AgentDirectory.list)
    find = awaited(AgentDirectory.find)
    look_up = awaited(AgentDirectory.look_up)
    get = awaited(AgentDirectory.get)
    advance = awaited(AgentDirectory.advance)


class AsyncSessions(AsyncFace):
    """`memory.sessions` for event loops."""

    get = awaited(SessionDirectory.get)
    list = awaited(SessionDirectory.list)
    recent = awaited(SessionDirectory.recent)
    outlines = awaited(SessionDirectory.outlines)
    history = awaited(SessionDirectory.history)
    last = awaited(SessionDirectory.last)
    transcript = awaited(SessionDirectory.transcript)
    size = awaited(SessionDirectory.size)
    reset = awaited(SessionDirectory.reset)
    compact_context = awaited(SessionDirectory.compact_context)


class AsyncInbox(AsyncFace):
    """`memory.inbox` for event loops."""

    list = awaited(InboxView.list)
    counts = awaited(InboxView.counts)
    retry = awaited(InboxView.retry)
    release = awaited(InboxView.release)


class AsyncReviews(AsyncFace):
    """`memory.reviews` for event loops."""

    list = awaited(Reviews.list)
    get = awaited(Reviews.get)
    count = awaited(Reviews.count)
    approve = awaited(Reviews.approve)
    edit = awaited(Reviews.edit)
    refuse = awaited(Reviews.refuse)


class AsyncAdmin(AsyncFace):
    """`memory.admin` for event loops."""

    health = awaited(Admin.health)
    next_due = awaited(Admin.next_due)
    status_notes = awaited(Admin.status_notes)
    check = awaited(Admin.check)
    verify = awaited(Admin.verify)
    audit = awaited(Admin.audit)
    rebuild = awaited(Admin.rebuild)
    index = awaited(Admin.index)
    unindexed = awaited(Admin.unindexed)
    backup = awaited(Admin.backup)
    pinned = awaited(Admin.pinned)
    ledger = awaited(Admin.ledger)
    stats = awaited(Admin.stats)
    users = awaited(Admin.users)
    ended = awaited(Admin.ended)
    prove_forgotten = awaited(Admin.prove_forgotten)
    forgotten = awaited(Admin.forgotten)
    scan = awaited(Admin.scan)
    redact = awaited(Admin.redact)
    retain = awaited(Admin.retain)
    recall_log = awaited(Admin.recall_log)


class AsyncRelations(AsyncFace):
    """`memory.relations` for event loops."""

    of = awaited(RelationFinder.of)
    entities = awaited(RelationFinder.entities)


class AsyncNotesDirectory(AsyncFace):
    """`memory.notes` for event loops."""

    workers = awaited(NotesDirectory.workers)

    def worker(self, name: str) -> AsyncNotes:
        """Return the notes of a worker."""
        return AsyncNotes(self._memory.notes.worker(name), self._memory, self._threads)


class AsyncMemory(AsyncFace):
    """`Memory` for event loops: the same methods and namespaces, awaited.

        async with await AsyncMemory.open("home", user="mara") as memory:
            await memory.add("I moved to Lisbon in May.")

    Each call runs in a thread, so that the loop goes on meanwhile.
    """

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory, memory, ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="lifelong"))

    @classmethod
    async def open(
        cls,
        home: str | Path,
        user: str = DEFAULT_USER,
        *,
        clock: Clock = utc_now,
        organizer: Organizer | None = None,
        embedder: Embedder | None = None,
        **settings: Mapping[str, object],
    ) -> Self:
        """Open the memory of one user. See `Memory.open`."""
        opening = partial(Memory.open, home, user, clock=clock, organizer=organizer, embedder=embedder, **settings)
        return cls(await asyncio.to_thread(opening))

    add = awaited(Memory.add)
    append = awaited(Memory.append)
    append_many = awaited(Memory.append_many)
    agent = awaited(Memory.agent)
    end_turn = awaited(Memory.end_turn)
    end_session = awaited(Memory.end_session)
    receipt = awaited(Memory.receipt)
    organize = awaited(Memory.organize)
    search = awaited(Memory.search)
    context = awaited(Memory.context)
    list = awaited(Memory.list)
    forget = awaited(Memory.forget)
    correct = awaited(Memory.correct)
    pin = awaited(Memory.pin)
    unpin = awaited(Memory.unpin)
    feedback = awaited(Memory.feedback)
    export = awaited(Memory.export)
    import_from = awaited(Memory.import_from)
    tools = awaited(Memory.tools)
    start = awaited(Memory.start)
    stop = awaited(Memory.stop)

    @property
    def agents(self) -> AsyncAgents:
        """The user's agents."""
        return AsyncAgents(self._memory.agents, self._memory, self._threads)

    @property
    def sessions(self) -> AsyncSessions:
        """The conversations of the user's agents."""
        return AsyncSessions(self._memory.sessions, self._memory, self._threads)

    @property
    def inbox(self) -> AsyncInbox:
        """The transcripts on their way to the memory-agents."""
        return AsyncInbox(self._memory.inbox, self._memory, self._threads)

    @property
    def reviews(self) -> AsyncReviews:
        """What agents wrote that waits for a person."""
        return AsyncReviews(self._memory.reviews, self._memory, self._threads)

    @property
    def admin(self) -> AsyncAdmin:
        """Health, checks, the index, backups, costs."""
        return AsyncAdmin(self._memory.admin, self._memory, self._threads)

    @property
    def relations(self) -> AsyncRelations:
        """How people, projects and things are related."""
        return AsyncRelations(self._memory.relations, self._memory, self._threads)

    @property
    def notes(self) -> AsyncNotesDirectory:
        """The notes that workers keep from job to job."""
        return AsyncNotesDirectory(self._memory.notes, self._memory, self._threads)

    @property
    def documents(self) -> AsyncDocuments:
        """The user's documents: read, write, walk, compare, and go back in time."""
        return AsyncDocuments(self._memory.documents, self._memory, self._threads)

    @property
    def journal(self) -> AsyncJournal:
        """MEMORY.md, the day files and LONGMEMORY.md. Most calls raise `ConfigError` where
        `continuity.journal_enabled` is off."""
        return AsyncJournal(self._memory.journal, self._memory, self._threads)

    @property
    def experiences(self) -> AsyncExperiences:
        """The user's experiences: add, query, list. Raises `ConfigError` where
        `continuity.experience_store_enabled` is off."""
        return AsyncExperiences(self._memory.experiences, self._memory, self._threads)

    async def close(self) -> None:
        await asyncio.to_thread(self._memory.close)
        self._threads.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
