"""Memory and Store: the whole of lifelong behind two objects.

A `Store` is a home that is open: one database, one set of threads, whatever number of users. A `Memory` is what
one user of it has: the everyday verbs, and namespaces for the rest.
"""

from __future__ import annotations

import builtins
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from lifelong.collect.agents import Agents
from lifelong.collect.descriptors import Descriptor, User, validate_descriptor
from lifelong.collect.messages import to_records
from lifelong.collect.recorder import PastSession, PastStored
from lifelong.collect.tombstones import Added, Tombstone, Tombstones, forgotten_users
from lifelong.errors import InputError, LifelongError, MemoryClosed, UserNotFound
from lifelong.home import Home
from lifelong.journal.service import JournalService
from lifelong.namespaces import Admin, AgentDirectory, InboxView, NotesDirectory, SessionDirectory, id_of
from lifelong.organize.documents import DocumentStore
from lifelong.organize.health import Receipt
from lifelong.organize.organizer import Organizer
from lifelong.organize.tools import document_tools
from lifelong.organize.worker import WorkDone
from lifelong.storage.base import Transaction
from lifelong.tools import Tool
from lifelong.types import Agent, Clock, Hit, ItemKind, Record, Session, Turn, utc_now
from lifelong.validation import validate_name, validate_path, validate_record_id, validate_time, validate_user
from lifelong.wiring import SharedParts, UserParts, change_database_key, open_database

if TYPE_CHECKING:
    from lifelong.forget.erasure import ForgetReport
    from lifelong.forget.export import Exported, Progress
    from lifelong.forget.import_user import Imported
    from lifelong.importers.importing import ImportReport
    from lifelong.journal.records import JournalRecord
    from lifelong.models.embedders.base import Embedder
    from lifelong.recall.experiences import Experiences
    from lifelong.recall.feedback import Verdict
    from lifelong.recall.recall_log import LogHits
    from lifelong.recall.relations import RelationFinder
    from lifelong.reviews import Reviews
    from lifelong.settings import Settings
    from lifelong.tokens import Tokens

T = TypeVar("T")

log = logging.getLogger("lifelong")

DEFAULT_USER = "default"


def _no_progress(what: str, done: int, total: int) -> None:
    """Tell nobody how far it has come."""


class Store:
    """A home that is open, for all its users.

        with Store.open("home") as store:
            store.user("mara").add("I moved to Lisbon in May.")

    Safe to share between threads. Opening starts nothing; `start` runs the background work for every user;
    `close` (or leaving the `with`) stops it and then lets the database go. Nothing of one user ever reaches
    another's search, context, journal or documents: use one user per end user.
    """

    def __init__(self, parts: SharedParts) -> None:
        self.home = parts.home
        self.settings = parts.settings
        self._parts = parts
        self._memories: dict[str, Memory] = {}
        self._lock = threading.Lock()
        self._known = {DEFAULT_USER}  # users that hold something
        self._closed = False
        self._parts_closed = False
        if any(parts.home.path.glob("users/.*.import")):
            from lifelong.forget.import_user import finish_imports

            finish_imports(parts.database, parts.home)
        parts.repair.check_on_open()
        parts.resume_erasures()

    @property
    def tokens(self) -> Tokens:
        """Who may reach the servers of this home, and what was changed with which token."""
        from lifelong.tokens import Tokens

        return Tokens(self._parts.database, self._parts.clock, self.settings.serve.retain_write_log_days)

    @classmethod
    def open(
        cls,
        home: str | Path,
        *,
        clock: Clock = utc_now,
        organizer: Organizer | None = None,
        embedder: Embedder | None = None,
        **settings: Mapping[str, object],
    ) -> Self:
        """Open a home, and make it if it is not there. Settings go by section:
        `Store.open("home", collect={"turn_threshold": 8})`. An `organizer` or `embedder` of your own takes the
        place of the one that the settings name."""
        from lifelong.settings import Settings  # pydantic takes a while, and importing lifelong need not

        validate_time(clock(), "The clock's time")
        place = Home(home)
        place.check()
        loaded = Settings.load(place.settings, **settings)
        place.ensure()
        place.hold()
        for problem in place.exposed():
            log.warning("%s", problem)
        database = open_database(place, loaded.storage)
        try:
            return cls(SharedParts(loaded, place, database, clock, organizer, embedder))
        except BaseException:
            database.close()
            raise

    @staticmethod
    def change_key(home: str | Path, old: str, new: str) -> None:
        """Encrypt the SQLite database of a home with the key `new` instead of `old`; "" stands for none. Nobody
        may have the home open. Needs `lifelong[encryption]`; docs/deploy.md says what it covers."""
        place = Home(home)
        place.check()
        change_database_key(place, old, new)

    def user(self, name: str = DEFAULT_USER) -> Memory:
        """Return the memory of a user: always the same one for the same name. A user is made by the first thing
        that is stored for it."""
        self._check_open()
        if known := self._memories.get(validate_user(name)):
            return known
        parts = self._parts.user(name)  # without the lock: nobody waits for another user's opening
        with self._lock:
            self._check_open()
            return self._memories.setdefault(name, Memory(self, parts))

    def existing_user(self, name: str = DEFAULT_USER) -> Memory:
        """Return the memory of a user that holds something, or of the default one. Raise `UserNotFound` for
        another: a typing mistake must not make a user."""
        if validate_user(name) not in self._known:
            self._known.update(self.users())
            if name not in self._known:
                raise UserNotFound(f"Unknown user {name!r}. See: lifelong users")  # other names stay private
        return self.user(name)

    def users(self) -> list[str]:
        """Return the default user, and all that hold something."""
        self._check_open()
        return sorted({DEFAULT_USER, *self._parts.users()})

    def import_user(
        self, folder: str | Path, user: str | None = None, *, progress: Progress = _no_progress
    ) -> Imported:
        """Make a user from a folder that `Memory.export` wrote, under its own name or another one. The user must
        hold nothing yet. All of it is imported or nothing. Ids stay what they are where they are free here."""
        from lifelong.forget.export_format import read_manifest
        from lifelong.forget.import_user import import_user

        self._check_open()
        place = validate_path(folder, "The export")
        name = validate_user(read_manifest(place).user if user is None else user)
        parts = self._parts
        with self._lock:
            self._memories.pop(name, None)
        parts.drop_user(name)
        done = import_user(
            *(parts.database, parts.home, place, name, parts.clock(), default_descriptor), progress=progress
        )
        remarks = [*done.remarks, *self._switched_off(done)]
        try:
            parts.user(name)  # whose files are indexed, too
            self._index(progress)
        except LifelongError as error:  # nothing is missing but what a worker makes
            log.warning("the import of user %s is not all indexed: %s", name, error)
            remarks.append("Everything is imported, but not all of it is indexed yet. A worker does the rest.")
        return done._replace(remarks=tuple(remarks))

    def _switched_off(self, done: Imported) -> builtins.list[str]:
        """Say what of an import is kept but not used here."""
        settings = self.settings.continuity
        off = {
            "journal_enabled": done.counts["journal"] and not settings.journal_enabled,
            "experience_store_enabled": done.counts["experiences"] and not settings.experience_store_enabled,
        }
        return [
            f"The export has something for which {key} is off here. It is kept; switch that on in the section "
            "[continuity] of lifelong.toml to use it."
            for key, unused in off.items()
            if unused
        ]

    def _index(self, progress: Progress) -> None:
        """Make the index of what was imported. What cannot be made now is made by a worker."""
        worker = self._parts.index_worker
        total = worker.remaining()
        while (left := worker.remaining()) and worker.run():
            progress("index", max(total - left, 0), total)
        self._parts.catch_up()

    def forget_user(self, name: str, *, dry_run: bool = False, author: str = "person") -> ForgetReport:
        """Remove a user for good: every record, document, file and vector. With `dry_run` nothing is changed: the
        report says how much would go. Raise `UserNotFound` where the user holds nothing."""
        self._check_open()
        if validate_user(name) not in self._parts.users():
            raise UserNotFound(f"Unknown user {name!r}. See: lifelong users")
        eraser = self._parts.user(name).eraser
        if dry_run:
            return eraser.preview_user()
        report = eraser.forget_user(validate_name(author, "The author"))
        with self._lock:
            self._memories.pop(name, None)
            self._known.discard(name)
        return report

    def forgotten_users(self) -> list[Tombstone]:
        """Return that users of this home were forgotten, newest first: when and on whose word, without names."""
        self._check_open()
        return self._parts.database.read(forgotten_users)

    def main_user(self) -> str:
        """Return whom to show where nobody is named: the default user, or, where that one holds nothing, the user
        who was active last."""
        self._check_open()
        holding = self._parts.users()
        if not holding or DEFAULT_USER in holding:
            return DEFAULT_USER
        return self._parts.database.read(lambda tx: Agents(tx).last_active_owner()) or holding[0]

    def start(self) -> None:
        """Run the background work of every user in threads of this process. Safe to call twice, and after
        `stop`."""
        self._check_open()
        self._parts.background.start(every_user=True)

    def stop(self) -> WorkDone:
        """Stop the background work: what runs is finished, and nothing follows until the next `start`. Return what
        it did in all."""
        return self._parts.background.stop()

    def wake(self) -> None:
        """Do the background work that is due now, in the threads of `start`, instead of at the next tick."""
        self._parts.wake()

    def on_wake(self, call: Callable[[], None]) -> None:
        """Have `call` called whenever something was marked to be organized, such as to wake a worker in another
        process. It must neither block nor raise."""
        self._parts.on_wake = call

    def set_worker_notes(self, notes: Mapping[str, Sequence[str]]) -> None:
        """Take over what a worker in another process says of its work, by user; under "", for every user. Health
        repeats it."""
        self._parts.worker_notes = notes

    def organize(self) -> WorkDone:
        """Do everything that is due now for every user, in this thread. What fails for one user is in that
        user's health, and stops nobody else's work."""
        self._check_open()
        done = self._parts.background.run_until_idle(every_user=True)
        self._parts.catch_up()
        return done

    def close(self) -> None:
        """Stop the background work, finish what was submitted, let the database go. Safe to call twice."""
        self._parts.background.close()
        with self._lock:
            self._closed = True
            memories = list(self._memories.values())
        if self._parts_closed:
            return
        try:
            for memory in memories:
                memory.notes.close()
        finally:
            self._parts.close()
        self._parts_closed = True

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise MemoryClosed


class Memory:
    """The memory of one user in one home.

        with Memory.open("home", user="mara") as memory:
            memory.add("I moved to Lisbon in May.")
            memory.search("Where do I live?")

    Safe to share between threads. Opening starts nothing; `start` runs the background work; `close` (or leaving
    the `with`) stops it and then lets the database go. Wherever an agent is asked for, an `Agent` or its id will
    do; where none is named, the user's default agent is meant.
    """

    def __init__(self, store: Store, parts: UserParts) -> None:
        self.store = store
        self.home = store.home
        self.settings: Settings = store.settings
        self.user = parts.name
        self._user_parts = parts
        self._owns_store = False
        self._clock = parts.shared.clock
        self.agents = AgentDirectory(self._open_parts)
        self.sessions = SessionDirectory(self._open_parts)
        self.inbox = InboxView(self._open_parts)
        self.notes = NotesDirectory(self._open_parts)
        self.admin = Admin(self._open_parts)

    @classmethod
    def open(
        cls,
        home: str | Path,
        user: str = DEFAULT_USER,
        *,
        clock: Clock = utc_now,
        organizer: Organizer | None = None,
        embedder: Embedder | None = None,
        **settings: Mapping[str, object],
    ) -> Memory:
        """Open the memory of one user; closing it closes the home. Settings go by section:
        `Memory.open("home", collect={"turn_threshold": 8})`. An `organizer` or `embedder` of your own takes the
        place of the one that the settings name. For several users of a home, open a `Store`."""
        validate_user(user)
        store = Store.open(home, clock=clock, organizer=organizer, embedder=embedder, **settings)
        try:
            memory = store.user(user)
        except BaseException:
            store.close()
            raise
        memory._owns_store = True
        return memory

    # Adding

    def add(
        self,
        what: object,
        *,
        agent: Agent | Descriptor | str | None = None,
        at: datetime | None = None,
        key: str | None = None,
        speaker: str = "",
    ) -> Added:
        """Store what was said and return the ids of its records ("r33"), once they are durable.

        `what` is a string (the user's word), one message or a list of messages: OpenAI chat messages and Responses
        items, Anthropic messages, LangChain messages, or records of lifelong. All of it is stored or none. `at` is
        when it was said, `speaker` who said it, where the messages do not say. With an idempotency `key`, a retry
        stores nothing and returns the first ids; the same key with other messages is an `InputError`.

        A record that was forgotten, and comes again word for word with its own time, is not stored: it has no id
        in the list, and the list's `forgotten` says when it was forgotten and by whom. Said at another time, or
        without `at`, it is a new record."""
        records = to_records(what, at=at, speaker=speaker)
        if agent is None or isinstance(agent, Descriptor):
            self._parts.shared.recorder.validate(records, key)  # before an agent is made
            agent = self.agent(agent)
        if key is None:
            numbers = self._parts.shared.recorder.append_many(self.user, id_of(agent), records)
        else:
            numbers = self._parts.shared.recorder.append_under(self.user, id_of(agent), records, key)
        gone = [-number for number in numbers if number < 0]
        return Added(
            (f"r{number}" for number in numbers if number > 0),
            self._read(lambda tx: [Tombstones(tx, self.user).of_record(one)[0] for one in gone]) if gone else (),
        )

    def append(self, agent: Agent | str, record: Record, *, key: str | None = None) -> int:
        """Store one record and return its number, once it is durable. With an idempotency `key`, a retry stores
        nothing and returns the first number; so does a record that was forgotten and comes again with its own
        time."""
        return abs(self._parts.shared.recorder.append(self.user, id_of(agent), record, key))

    def append_many(
        self, agent: Agent | str, records: Iterable[Record], *, keys: Iterable[str | None] | None = None
    ) -> builtins.list[int]:  # `list` is a method here
        """Store several records in order, all or none, and return their numbers, once they are durable; of each
        that is not stored again, the number that it had, as in `append`."""
        return [*map(abs, self._parts.shared.recorder.append_many(self.user, id_of(agent), records, keys))]

    def agent(self, descriptor: Descriptor | None = None) -> Agent:
        """Return the one agent of this descriptor, made on first use; without one, the user's default agent."""
        descriptor = default_descriptor(self.user) if descriptor is None else descriptor
        validate_descriptor(descriptor)
        known = self._read(lambda tx: Agents(tx).find(self.user, descriptor))
        if known and known.descriptor == descriptor:
            return known
        now = self._clock()
        due = self._parts.shared.lifecycle.sleep_due(now)
        return self._write(lambda tx: Agents(tx).resolve(self.user, descriptor, now, due))

    def end_turn(self, agent: Agent | str | None = None) -> Turn | None:
        """Say that the agent's turn is over. Return what was said since the last one ended, if anything."""
        agent_id = self._id_of(agent)
        return self._parts.shared.recorder.end_turn(self.user, agent_id) if agent_id else None

    def end_session(self, agent: Agent | str | None = None) -> None:
        """Say that the conversation is over: its session ends, the agent sleeps, and what is new is marked to be
        organized. What is added next opens a new session."""
        if agent_id := self._id_of(agent):
            self._parts.shared.lifecycle.end_session(self.user, agent_id, self._clock())
            self._parts.journal.end_session(agent_id)
            self._parts.shared.wake()

    def receipt(self, record: int | str) -> Receipt:
        """Return how far a record has come: stored, queued, organized, searchable, or failed and why."""
        record_id = validate_record_id(record)
        return self._read(lambda tx: self._parts.receipt(tx, record_id))

    # Organizing

    def organize(self) -> WorkDone:
        """Do everything that is due now, in this thread: deadlines, marked sessions, the inbox of the whole home.
        For scripts, notebooks and tests; `start` does the same in the background."""
        done = self._parts.shared.background.run_until_idle()
        self._parts.catch_up()
        return done

    def start(self) -> None:
        """Run the background work in threads of this process. Safe to call twice, and after `stop`."""
        self._parts.shared.background.start()

    def stop(self) -> WorkDone:
        """Stop the background work: what runs is finished, and nothing follows until the next `start`. Return what
        it did in all. Where the memory belongs to a `Store`, raise `InputError`: its other users need the work."""
        if not self._owns_store:
            raise InputError("This memory belongs to a Store, whose users share the work. Use store.stop().")
        return self.store.stop()

    # Recalling

    def search(
        self,
        query: str,
        top_k: int = 5,
        *,
        agent: Agent | str | None = None,
        kinds: Iterable[ItemKind] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        explain: bool = False,
    ) -> builtins.list[Hit]:
        """Return what the user's memory knows about a question, best first: records, facts, journal, notes,
        experiences. Narrow it to one agent's conversations, to some kinds, to what was said in [since, until), or
        to what was known `as_of` a past time. `explain` adds what each score is made of."""
        from lifelong.recall.search import validate_filter

        parts = self._parts
        filters = validate_filter(id_of(agent) if agent else "", kinds, since, until, as_of)
        log_hits = parts.recall_log.begin("search", filters.agent_id, query)
        hits = parts.recall.search(query, top_k, filters, explain=explain)
        log_hits(hits)
        return hits

    def context(
        self,
        message: str | None = None,
        *,
        agent: Agent | str | None = None,
        tokens: int | None = None,
        explain: bool = False,
        relevant_only: bool = False,
    ) -> str:
        """Return what to put before an agent's next turn, fenced as data: what is pinned; the core (allergies,
        rules, who the user is, preferences, conventions); what is relevant to the message, or to what the agent
        last talked of; the journal. Within `continuity.session_memory_cap`, or within so many tokens; empty where
        there is nothing to say. `explain` ends each line with why it is there; `relevant_only` is for a host that
        began its session with a context, and still has what was said since."""
        return self._parts.context_builder.context(
            self._id_of(agent), message, tokens, explain=explain, relevant_only=relevant_only
        )

    @property
    def relations(self) -> RelationFinder:
        """How people, projects and things are related: `relations.of(name)`, `relations.entities()`."""
        return self._parts.relations

    # What is remembered

    def list(
        self,
        kind: ItemKind | None = None,
        subject: str | None = None,
        since: datetime | None = None,
        limit: int = 100,
        before: str | None = None,
    ) -> builtins.list[Hit]:
        """Return everything that is remembered, what came last first. `subject` is a name or some words: what it
        said, what its documents say, and what holds all its words. `before` is the id of the last hit of the page
        before."""
        return self._parts.curation.list_items(kind, subject, since, limit, before)

    def correct(self, item: str, text: str) -> Hit:
        """Say what is true instead of an item. Your word is kept as a record of its own and is found from now on;
        the item ends, and ranks below it."""
        return self._parts.curation.correct(item, text)

    def pin(self, item: str) -> None:
        """Have an item in every context from now on."""
        self._parts.curation.pin(item)

    def unpin(self, item: str) -> None:
        """Take an item out of every context: its pin goes, and it is no longer part of the core. It still comes
        where it is relevant to a message."""
        self._parts.curation.unpin(item)

    def feedback(self, item: str, verdict: Verdict, recall_id: int | None = None) -> tuple[str, ...]:
        """Say that a hit was `useful`, `wrong` or `outdated`: it ranks higher or lower from now on, within bounds.
        What is outdated ends, with all that it says, unless it is a record. `useful` takes that back. Return the
        sentences that ended."""
        if recall_id is not None:
            self._parts.recall_log.get(recall_id)
        return self._parts.curation.feedback(item, verdict, recall_id)

    def forget(
        self,
        *ids: str,
        session: Session | str | None = None,
        agent: Agent | str | None = None,
        about: str = "",
        matching: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        dry_run: bool = False,
        author: str = "person",
    ) -> ForgetReport:
        """Remove something for good, with all that was made of it, and return what went. `ids` are those that
        search and list show, or paths of documents; `about` is a person or a subject, `matching` words that all
        must occur; `since` and `until` narrow what is named otherwise, or stand for every record between them.
        With `dry_run` nothing is changed: the report says what would go, and its `stays` what repeats it or names
        only the person's first name, and would stay.

        `about` a full name takes what has the first name alone, too, if nobody else who is known here has it.
        A fact goes with the part of the records that it quotes; facts that rest on forgotten records alone go, and
        summaries are made again. `memory.admin.prove_forgotten(report)` looks for what is left of it."""
        from lifelong.forget.plan import Planner, Staying, WhatToForget
        from lifelong.forget.preview import ForgetPreview

        what = WhatToForget(
            tuple(validate_name(one, "An id") for one in ids),
            (id_of(session),) if session is not None else (),
            (id_of(agent),) if agent is not None else (),
            validate_name(about, "The person or subject") if about else "",
            validate_name(matching, "The text of words") if matching else "",
            validate_time(since, "since") if since else None,
            validate_time(until, "until") if until else None,
        )
        eraser = self._parts.eraser
        if not dry_run:
            return eraser.forget(what, validate_name(author, "The author"))
        report = eraser.preview(what)

        def stays(tx: Transaction) -> tuple[Staying, ...]:
            planner = Planner(tx, self.user)
            return planner.stays(what, planner.plan(what))

        return ForgetPreview.of(report, self._read(stays))

    # What is kept, and where

    @property
    def documents(self) -> DocumentStore:
        """The user's documents: read, write, walk, compare, and go back in time."""
        return self._parts.documents

    @property
    def journal(self) -> JournalService:
        """MEMORY.md, the day files and LONGMEMORY.md: append, remember, read, compact. Most calls raise
        `ConfigError` where `continuity.journal_enabled` is off."""
        return self._parts.journal

    @property
    def experiences(self) -> Experiences:
        """The user's experiences: add, query, list. Raises `ConfigError` where
        `continuity.experience_store_enabled` is off."""
        return self._parts.experiences

    @property
    def reviews(self) -> Reviews:
        """What agents wrote that waits for a person: list, approve, edit, refuse."""
        return self._parts.reviews

    def tools(self, author: str = "agent", agent: Agent | str | None = None) -> tuple[Tool, ...]:
        """Return the tools of documents, of recall and, where they are on, of the journal and of experiences, for
        an agent. The author signs what it writes, which is the agent's word; what binds on that alone waits for a
        person: see `reviews`."""
        from lifelong.journal.tools import remember_this
        from lifelong.organize.review import waits

        def hold(record: JournalRecord) -> str:
            review = self.reviews.hold_line(author, record)
            return waits(review) if review else ""

        index = self._parts.sync_files
        journal = (remember_this(self.journal, hold=hold, index=index),) if self.journal.enabled else ()
        return (*document_tools(self.reviews.documents_of(author)), *self._recall_tools(agent), *journal)

    def _recall_tools(self, agent: Agent | str | None) -> tuple[Tool, ...]:
        from lifelong.recall.tools import MAX_JUST_ASKED, recall_tools, without_just_asked

        agent_id = id_of(agent) if agent else ""

        def recall(query: str, top_k: int) -> builtins.list[Hit]:
            log_hits = begin(query)
            found = self._parts.recall.search(query, top_k + MAX_JUST_ASKED)
            hits = without_just_asked(found, query, self._clock())[:top_k]
            log_hits(hits)
            return hits

        def begin(query: str) -> LogHits:
            return self._parts.recall_log.begin("tool", agent_id, query)

        experiences = self._parts.experience_tools(agent_id or None, begin)
        return (*recall_tools(recall, self.relations.of), *experiences)

    def export(self, folder: str | Path, *, progress: Progress = _no_progress) -> Exported:
        """Write everything of the user to a new folder, as JSON Lines, Markdown and the user's own files, while
        work goes on. `Store.import_user` reads it back to an equal memory; docs/export.md says what is where."""
        from lifelong.forget.export import export_user

        parts = self._parts
        parts.shared.flush_logs()
        return export_user(
            *(parts.shared.database, self.user, self.home.user_folder(self.user)),
            *(validate_path(folder, "The export"), self._clock(), self.settings.model_dump(mode="json")),
            progress=progress,
        )

    def import_from(
        self,
        path: str | Path,
        kind: str | None = None,
        *,
        vouch: bool = False,
        dry_run: bool = False,
        progress: Progress = _no_progress,
    ) -> ImportReport:
        """Store what people have elsewhere: an export of ChatGPT or Claude, transcripts of Claude Code or Codex,
        memories of mem0, Markdown notes, or chats as JSON Lines; `kind` names which, where it is not recognized.
        Each conversation becomes a session that has ended, with the original times. What is here already is not
        stored again. Memories of mem0 are the agent's word, since a model wrote them; with `vouch`, the user's,
        for a person who has read them. With `dry_run` nothing is stored. Call `organize` afterwards, or let a
        worker run."""
        from lifelong.importers.importing import Target, import_source

        recorder, known_agents = self._parts.shared.recorder, dict[Descriptor, str]()

        def find(agent: User) -> str:
            found = self._read(lambda tx: Agents(tx).find(self.user, agent))
            return found.id if found else ""

        def append(agent: User, sessions: Sequence[PastSession]) -> PastStored:
            agent_id = known_agents.get(agent) or known_agents.setdefault(agent, self.agent(agent).id)
            return recorder.append_past(self.user, agent_id, sessions)

        def find_known(agent: User, keys: Sequence[str]) -> set[str]:
            agent_id = known_agents.get(agent) or known_agents.setdefault(agent, find(agent))
            return recorder.find_known(agent_id, keys) if agent_id else set()

        target = Target(
            *(person_of(self.user), append, find_known, lambda record: recorder.validate([record])),
            *(self.settings.collect.max_record_chars, self._clock()),
        )
        place = validate_path(path, "The import")
        return import_source(place, kind, target, vouch=vouch, dry_run=dry_run, progress=progress)

    # Closing

    def close(self) -> None:
        """Close the home, if this memory opened it. Safe to call twice. A memory of a `Store` closes with it."""
        if self._owns_store:
            self.store.close()

    @property
    def closed(self) -> bool:
        """Whether the home is closed."""
        return self.store.closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _id_of(self, agent: Agent | str | None) -> str:
        """Return the agent's id; for none, the default agent's, or "" where nothing was stored for it yet."""
        if agent is not None:
            return id_of(agent)
        default = self._read(lambda tx: Agents(tx).find(self.user, default_descriptor(self.user)))
        return default.id if default else ""

    def _open_parts(self) -> UserParts:
        if self.store.closed:
            raise MemoryClosed
        return self._user_parts

    @property
    def _parts(self) -> UserParts:
        """What the memory is made of, as long as it is open."""
        return self._open_parts()

    def _read(self, work: Callable[[Transaction], T]) -> T:
        return self._parts.shared.database.read(work)

    def _write(self, work: Callable[[Transaction], T]) -> T:
        return self._parts.shared.database.write(work)


def default_descriptor(user: str) -> User:
    """Return who talks where no agent is named."""
    return User("lifelong", person_of(user), "main")


def person_of(user: str) -> str:
    """Return what the person behind a user is called where nobody says their name."""
    return "user" if user == DEFAULT_USER else user
