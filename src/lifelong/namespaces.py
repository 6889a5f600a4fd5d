"""What a memory offers beside its everyday verbs, grouped: `memory.agents`, `.sessions`, `.inbox`, `.notes`,
`.admin`."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, get_args

from lifelong.collect.agents import AgentRow, Agents
from lifelong.collect.descriptors import KINDS, Descriptor, Strategy, is_foreground, matches, validate_descriptor
from lifelong.collect.history import History
from lifelong.collect.sessions import Sessions, session_not_found
from lifelong.collect.tombstones import Tombstone, Tombstones
from lifelong.collect.transcript import transcript, without_injected
from lifelong.errors import AgentNotFound, InputError
from lifelong.models.ledger import Call, Ledger, day_of
from lifelong.organize.document_rows import DocumentRows
from lifelong.organize.health import Health, health
from lifelong.organize.inbox import Inbox, inbox_now
from lifelong.recall.items import Items
from lifelong.redaction import redact
from lifelong.storage.base import Transaction
from lifelong.text.sentences import sentences
from lifelong.types import (
    ITEM_KINDS,
    Agent,
    Hit,
    InboxItem,
    ItemKind,
    ItemState,
    LifecycleResult,
    Session,
    SessionOutline,
    Stats,
    StoredRecord,
    ToolCall,
)
from lifelong.validation import (
    validate_count,
    validate_item_id,
    validate_name,
    validate_path,
    validate_position,
    validate_time,
)

if TYPE_CHECKING:
    from lifelong.forget.audit import Audit
    from lifelong.forget.erasure import ForgetReport
    from lifelong.forget.proof import Proof
    from lifelong.forget.scan import RedactionReport, StoredSecret
    from lifelong.journal.notes import Notes
    from lifelong.recall.recall_log import Recalled
    from lifelong.wiring import UserParts

T = TypeVar("T")

MIN_TITLE_WORDS = 3  # of a sentence that says what a session is about; "Good morning!" does not
MAX_TITLE_CHARS = 120
AGENTS_PER_LOOK = 20  # agents, so that one that cannot be read does not hide the next

OpenParts = Callable[[], "UserParts"]
"""Gives the user's parts, and raises `MemoryClosed` once the memory is closed."""


def id_of(thing: Agent | Session | str) -> str:
    """Return the id of an agent or a session that was named by itself or by its id."""
    if isinstance(thing, Agent | Session):
        return thing.id
    if isinstance(thing, str):
        return validate_name(thing, "An id")
    raise InputError(
        f"{thing!r:.200} is not an agent, a session or the id of one. Get an agent with memory.agent(descriptor)."
    )


def _title(request: StoredRecord | None) -> str:
    """Return the first sentence of a request that says something, without secrets; empty where there is none."""
    if not request or isinstance(request.record, ToolCall):
        return ""
    found = [" ".join(one.split()) for one in sentences(redact(without_injected(request.record.text)))]
    title = next((one for one in found if len(one.split()) >= MIN_TITLE_WORDS), found[0] if found else "")
    return title if len(title) <= MAX_TITLE_CHARS else f"{title[:MAX_TITLE_CHARS].rstrip()} …"


class _Namespace:
    def __init__(self, parts: OpenParts) -> None:
        self._open_parts = parts

    @property
    def _parts(self) -> UserParts:
        return self._open_parts()

    @property
    def _user(self) -> str:
        return self._parts.name

    def _read(self, work: Callable[[Transaction], T]) -> T:
        return self._parts.shared.database.read(work)

    def _now(self) -> datetime:
        return self._parts.shared.clock()


class AgentDirectory(_Namespace):
    """List and find the agents of the user."""

    def list(self) -> builtins.list[Agent]:
        """Return every agent of the user, the one heard from last first."""
        return self._read(lambda tx: Agents(tx).recent(self._user))

    def find(self, strategy: Strategy) -> Agent | None:
        """Return the agent heard from last of those the strategy matches; none where there is none."""
        if strategy not in get_args(Strategy):
            raise InputError(f"Unknown strategy {strategy!r:.200}. Use one of: {', '.join(get_args(Strategy))}.")
        kinds = [kind for kind in KINDS if matches(kind, strategy)]
        return next(iter(self._read(lambda tx: Agents(tx).recent(self._user, kinds, AGENTS_PER_LOOK))), None)

    def look_up(self, descriptor: Descriptor) -> Agent | None:
        """Return the agent of this descriptor; none where there is none yet. `memory.agent` would make it."""
        validate_descriptor(descriptor)
        return self._read(lambda tx: Agents(tx).find(self._user, descriptor))

    def get(self, agent: Agent | str) -> Agent:
        """Return the agent as it is now."""
        return self._read(lambda tx: Agents(tx).get(self._user, id_of(agent)))

    def advance(self, now: datetime | None = None) -> LifecycleResult:
        """Act on the deadlines of the whole home that have come by `now`, and return what became of this user's
        agents. Any process may call it."""
        moment = self._now() if now is None else validate_time(now, "now")
        return self._parts.shared.lifecycle.advance(moment, self._user)


class SessionDirectory(_Namespace):
    """Read the conversations of the user's agents, and begin new ones."""

    def get(self, session: Session | str) -> Session:
        """Return the session as it is now."""
        return self._read(lambda tx: Sessions(tx).get(self._user, id_of(session)))

    def list(self, agent: Agent | str) -> builtins.list[Session]:
        """Return every session of the agent, oldest first, the active one last."""
        return self._read(lambda tx: Sessions(tx).of_agent(Agents(tx).get_row(self._user, id_of(agent)).id))

    def recent(self, limit: int = 100, before: Session | str | None = None) -> builtins.list[Session]:
        """Return the sessions of the user's agents, newest first, without those of memory-agents. `before` is the
        last one of the page before."""
        validate_count(limit, "The limit")

        def look(tx: Transaction) -> builtins.list[Session]:
            last = Sessions(tx).get(self._user, id_of(before)) if before else None
            return Sessions(tx).recent(self._user, limit, last)

        return self._read(look)

    def outlines(self, sessions: Iterable[Session]) -> builtins.list[SessionOutline]:
        """Return what each of these sessions is about, how many messages it has, and from when to when."""
        ids = [one.id for one in sessions]

        def look(tx: Transaction) -> builtins.list[SessionOutline]:
            spans, first = History(tx).spans(ids), History(tx).first_requests(ids)
            return [SessionOutline(one, _title(first.get(one)), *spans.get(one, (0, None, None))) for one in ids]

        return self._read(look)

    def history(self, of: Agent | Session | str, after: int = 0) -> builtins.list[StoredRecord]:
        """Return the records of a session after this id, in order. For an agent: those of its newest session."""
        return self._records(of, after)[0]

    def last(self, of: Agent | Session | str, count: int = 1) -> builtins.list[StoredRecord]:
        """Return the newest records of a session, in order. For an agent: those of its newest session."""
        validate_count(count, "The count")

        def look(tx: Transaction) -> builtins.list[StoredRecord]:
            session, _ = self._session_of(tx, of)
            return [*History(tx).last(session.id, count)] if session and count else []

        return self._read(look)

    def transcript(self, of: Agent | Session | str, after: int = 0) -> str:
        """Return a session's records after this id as Markdown. For an agent: those of its newest session."""
        records, agent = self._records(of, after)
        limit = self._parts.shared.settings.collect.tool_result_chars
        return transcript(records, foreground=is_foreground(agent.kind), tool_result_chars=limit)

    def size(self, of: Agent | Session | str) -> int:
        """Return how many characters a session's records hold. For an agent: its newest one's."""

        def look(tx: Transaction) -> int:
            session, _ = self._session_of(tx, of)
            return History(tx).size(session.id) if session else 0

        return self._read(look)

    def reset(self, agent: Agent | str, message: str | None = None, *, emergency: bool = False) -> Session:
        """End the agent's session, mark it, and open a new one. `emergency`: the context overflowed."""
        return self._parts.shared.recorder.reset(self._user, id_of(agent), message, emergency=emergency)

    def compact_context(self, agent: Agent | str, summary: str) -> Session:
        """Do what `reset` does, with a summary of what came before as the new session's first record."""
        return self._parts.shared.recorder.compact_context(self._user, id_of(agent), summary)

    def _records(self, of: Agent | Session | str, after: int) -> tuple[builtins.list[StoredRecord], AgentRow]:
        validate_position(after, "`after`")

        def look(tx: Transaction) -> tuple[builtins.list[StoredRecord], AgentRow]:
            session, agent = self._session_of(tx, of)
            return History(tx).find_since_id(session.id, after) if session else [], agent

        return self._read(look)

    def _session_of(self, tx: Transaction, of: Agent | Session | str) -> tuple[Session | None, AgentRow]:
        """Return a session and its agent, whichever of the two was named; of an agent, its newest session."""
        session = None if isinstance(of, Agent) else Sessions(tx).find(self._user, id_of(of))
        if session:
            return session, Agents(tx).get_row(self._user, session.agent_id)
        if isinstance(of, Session):
            raise session_not_found(of.id)
        try:
            agent = Agents(tx).get_row(self._user, id_of(of))
        except AgentNotFound as error:
            raise AgentNotFound(str(error).replace("No agent", "No session and no agent", 1)) from error
        return Sessions(tx).newest(agent.id), agent


class InboxView(_Namespace):
    """Look at the transcripts on their way to the memory-agents, try failed ones again, release held ones."""

    def list(self, *states: ItemState, limit: int = 100) -> builtins.list[InboxItem]:
        """Return the user's items in these states (none named: in any), newest first."""
        unknown = [state for state in states if state not in get_args(ItemState)]
        if unknown:
            raise InputError(f"Unknown state {unknown[0]!r:.200}. Use some of: {', '.join(get_args(ItemState))}.")
        return self._read(lambda tx: Inbox(tx).find(self._user, states, validate_count(limit, "The limit")))

    def counts(self) -> dict[ItemState, int]:
        """Return how many items are in each state, without the states that have none."""
        return self._read(lambda tx: Inbox(tx).counts(self._user))

    def retry(self, item_id: int | None = None) -> int:
        """Try an item again now, or every one that failed for good. Return how many there were. Raise `InputError`
        for an item that a worker holds: `release` takes it away."""
        if item_id is not None:
            item = self._get(item_id)
            if item.state == "leased":
                raise InputError(
                    f"A worker holds inbox item {item_id}{_until(item)}. If that worker is gone, release the "
                    f"item: lifelong inbox release {item_id}"
                )
        return self._change(lambda tx, now: Inbox(tx).retry(self._user, now, item_id))

    def release(self, item_id: int | None = None) -> int:
        """Take an item from the worker that holds it, or every item that one holds, so that another organizes it.
        Return how many there were. What the worker still does with it is discarded."""
        if item_id is not None:
            self._get(item_id)
        return self._change(lambda tx, now: Inbox(tx).release_held(self._user, now, item_id))

    def _get(self, item_id: int) -> InboxItem:
        validate_item_id(item_id)
        return self._read(lambda tx: Inbox(tx).get(self._user, item_id))

    def _change(self, work: Callable[[Transaction, datetime], int]) -> int:
        shared = self._parts.shared
        changed = shared.database.write(lambda tx: work(tx, inbox_now(tx, shared.clock)))
        shared.wake()
        return changed


def _until(item: InboxItem) -> str:
    return f" until {item.due_at:%Y-%m-%d %H:%M:%S} UTC" if item.due_at else ""


class NotesDirectory(_Namespace):
    """Open the notes that workers keep from job to job."""

    def __init__(self, parts: OpenParts) -> None:
        super().__init__(parts)
        self._opened: dict[str, Notes] = {}

    def worker(self, name: str) -> Notes:
        """Return the notes of a worker."""
        from lifelong.journal.notes import Notes

        parts = self._parts
        parts.shared.home.check_in_place()
        continuity = parts.shared.settings.continuity
        found = Notes(
            *(parts.shared.home.user_folder(parts.name), name, parts.query),
            threshold=continuity.notes_threshold,
            cap=continuity.notes_load_cap,
            clock=parts.shared.clock,
        )
        return self._opened.setdefault(name, found)

    def workers(self) -> builtins.list[str]:
        """Return the names of the workers that keep notes."""
        from lifelong.journal.notes import DISK

        folder = self._parts.shared.home.user_folder(self._user) / "workers"
        return [name for name in DISK.names(folder) if os.path.isdir(folder / name)]  # noqa: PTH112 - never fails

    def close(self) -> None:
        """Wait for compactions that are under way."""
        for notes in self._opened.values():
            notes.wait()


class Admin(_Namespace):
    """Look after the home: health, checks, the index, backups, costs."""

    def health(self) -> Health:
        """Return whether everything in the home is on its way: green, yellow or red, with the reasons."""
        overdue = timedelta(seconds=self._parts.shared.settings.worker.overdue_seconds)
        notes = self.status_notes()
        hand_over = self._parts.shared.hand_over()
        shared = self._parts.shared
        blocked = bool(shared.organizer.blocked_reason())
        return self._read(
            lambda tx: health(
                *(tx, self._user, inbox_now(tx, shared.clock), overdue, notes, hand_over),
                blocked=blocked,
                tick=timedelta(seconds=shared.settings.worker.tick_seconds),
            )
        )

    def next_due(self) -> tuple[ItemState, datetime] | None:
        """Return the state of the inbox item of the home that is organized next, and when it is due. One that is
        leased is with a worker, and is due when its lease ends."""
        return self._read(lambda tx: Inbox(tx).next_due())

    def status_notes(self) -> builtins.list[str]:
        """Return what a person should know of the work that this process does, a sentence each."""
        return self._parts.status_notes()

    def check(self) -> builtins.list[str]:
        """Read the whole database and return what is wrong with it, a sentence each; empty where nothing is."""
        return self._parts.shared.database.check()

    def verify(self) -> builtins.list[str]:
        """Read the user's whole index and return what is wrong with it, a sentence each."""
        return self._parts.shared.repair.verify(self._user)

    def audit(
        self, *, max_seconds: float = 60.0, progress: Callable[[str, int, int], object] = lambda *_: None
    ) -> Audit:
        """Look through the user's memory for duplicates, contradictions, facts without sources, stale plans,
        secrets and long pages, and return what was found, each with a fix. Nothing is changed. After
        `max_seconds`, the rest is left out, and it says so."""
        from lifelong.forget.audit import Auditor

        return Auditor(self._parts, progress, max_seconds).run()

    def rebuild(self) -> None:
        """Make the index of the home again from what it is derived from. `organize` or a worker does the work;
        meanwhile search goes on with what is there."""
        self._parts.shared.repair.rebuild()
        self._parts.shared.index_worker.background.wake()

    def index(self) -> int:
        """Do some of the indexing that is due, in this thread. Return how much it was; 0: there is none."""
        return self._parts.shared.index_worker.run()

    def unindexed(self) -> int:
        """Return how many records and items of the home wait for the index."""
        return self._parts.shared.index_worker.remaining()

    def backup(self, target: str | Path) -> None:
        """Write a whole copy of the home, the database with the files of every user in it, to a new file while
        work goes on."""
        from lifelong.forget.backups import write_backup

        shared = self._parts.shared
        write_backup(shared.database, shared.home, validate_path(target, "The backup"), self._now())

    def prove_forgotten(self, report: ForgetReport) -> Proof:
        """Look for what is left of something that was forgotten: in answers, in every table, and in every file of
        the home."""
        from lifelong.forget.proof import prove

        shared, search = self._parts.shared, self._parts.recall.search
        return prove(report.words, shared.database, shared.home.path, self._user, search, report.backups)

    def scan(self) -> builtins.list[StoredSecret]:
        """Return where secrets are stored: place, id and kind, never the secret. Nothing is changed."""
        from lifelong.forget.scan import SecretScan

        return SecretScan(self._parts).find()

    def redact(self, author: str = "person") -> RedactionReport:
        """Put a marker in the place of every stored secret, and in what was made of it."""
        from lifelong.forget.scan import SecretScan

        return SecretScan(self._parts).redact(validate_name(author, "The author"))

    def forgotten(self, limit: int = 100) -> builtins.list[Tombstone]:
        """Return what was forgotten, newest first: its kind and id, when, and on whose word."""
        validate_count(limit, "The limit")
        return self._read(lambda tx: Tombstones(tx, self._user).recent(limit))

    def retain(self, *, dry_run: bool = False) -> ForgetReport:
        """Forget now what is older than the `retain_…_days` of the settings, and return what went. Where a worker
        runs, it does so once a day, or as `retention_schedule_cron` says. With `dry_run` nothing is changed."""
        retention = self._parts.retention
        return retention.preview() if dry_run else retention.run()

    def ledger(self, limit: int = 100) -> builtins.list[Call]:
        """Return the user's calls of models and what each cost, newest first."""
        return self._read(lambda tx: Ledger(tx).recent(self._user, validate_count(limit, "The limit")))

    def pinned(self) -> builtins.list[Hit]:
        """Return what is pinned, newest first."""
        from lifelong.recall.search import hit

        return self._read(lambda tx: [hit(tx, self._user, one) for one in Items(tx, self._user).pinned()])

    def stats(self) -> Stats:
        """Return how much there is of everything the user has, and what the home spent today."""

        def look(tx: Transaction) -> Stats:
            return Stats(
                agents=Agents(tx).count(self._user),
                sessions=Sessions(tx).count(self._user),
                documents=DocumentRows(tx, self._user).count(),
                items=Items(tx, self._user).counts(),
                cost_today=Ledger(tx).spent_since(day_of(self._now())),
            )

        return self._read(look)

    def users(self) -> builtins.list[str]:
        """Return the users of the home that hold something."""
        return self._parts.shared.users()

    def ended(self, kind: ItemKind) -> dict[str, datetime]:
        """Return what of a kind stopped being true, and when; of the journal by the ids of its records."""
        if kind not in ITEM_KINDS:
            raise InputError(f"Unknown kind {kind!r:.200}. Use one of: {', '.join(ITEM_KINDS)}.")
        return self._read(lambda tx: Items(tx, self._user).ended(kind))

    def recall_log(self, limit: int = 20, *, recall_id: int | None = None) -> builtins.list[Recalled]:
        """Return what was asked, newest first: by whom, what for, and what came back. Or the one of this id."""
        if recall_id is not None:
            return [self._parts.recall_log.get(recall_id)]
        return self._parts.recall_log.recent(limit)
