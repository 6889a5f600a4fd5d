"""Pick one: the parts a memory is put together from, as its settings say. The only place that knows them all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from lifelong.background import BackgroundWork
from lifelong.collect.agents import Agents
from lifelong.collect.history import History
from lifelong.collect.lifecycle import Lifecycle
from lifelong.collect.recorder import Recorder
from lifelong.collect.tombstones import pending_erasures
from lifelong.disk import read_own
from lifelong.errors import ConfigError, StorageUnavailable
from lifelong.home import Home
from lifelong.journal.indexing import (
    appended_journal_items,
    journal_items,
    journal_paths,
    note_items,
    note_paths,
)
from lifelong.journal.service import JournalService
from lifelong.keys import database_key
from lifelong.models.embedders.static import StaticEmbedder
from lifelong.organize.dispatch import Dispatcher, HandOver
from lifelong.organize.document_rows import DocumentRows
from lifelong.organize.documents import DocumentStore
from lifelong.organize.health import Receipt, cut_notes, receipt
from lifelong.organize.inbox import Inbox
from lifelong.organize.memory_agent import MemoryAgentRunner, RetryPolicy
from lifelong.organize.organizer import Organizer
from lifelong.recall.analyzer import MAX_ANALYZED_CHARS
from lifelong.recall.feedback import ended_lines
from lifelong.recall.index_state import IndexStates
from lifelong.recall.index_writer import FileSync
from lifelong.recall.items import Items
from lifelong.recall.repair import IndexRepair
from lifelong.storage.base import Database, Transaction
from lifelong.tools import Tool
from lifelong.types import Clock, Hit, StoredRecord

if TYPE_CHECKING:
    from lifelong.forget.erasure import Eraser
    from lifelong.forget.retention import Retention
    from lifelong.journal.model_text import AskModel
    from lifelong.journal.schedule import Schedule
    from lifelong.models.embedders.base import Embedder
    from lifelong.organize.consolidation import Consolidation, Planner
    from lifelong.organize.llm_prompt import FindHits
    from lifelong.organize.support import SupportCheck
    from lifelong.periodic import PeriodicThread
    from lifelong.recall.context import ContextBuilder
    from lifelong.recall.curation import Curation
    from lifelong.recall.experience_rows import ExperienceUses
    from lifelong.recall.experiences import Experiences
    from lifelong.recall.index_worker import IndexWorker
    from lifelong.recall.recall_log import LogHits, RecallLog, RecallLogWriter
    from lifelong.recall.relations import RelationFinder
    from lifelong.recall.search import Searcher
    from lifelong.recall.word_match import WordEmbedder
    from lifelong.reviews import Reviews
    from lifelong.settings import Settings, StorageSettings
    from lifelong.vectors.base import Vectors

T = TypeVar("T")

RETENTION_INTERVAL = timedelta(days=1)


class opened_once(Generic[T]):  # noqa: N801 - it is used as a decorator
    """Make a part on first use, once, also when many threads ask at the same time."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, parts: None, owner: type) -> Self: ...

    @overload
    def __get__(self, parts: SharedParts | UserParts, owner: type) -> T: ...

    def __get__(self, parts: SharedParts | UserParts | None, owner: type) -> Self | T:
        if parts is None:
            return self
        with parts.opening:
            if self._name not in parts.__dict__:
                parts.__dict__[self._name] = self._make(parts)
            found: T = parts.__dict__[self._name]
            return found


class SharedParts:
    """Hold what all users of a home share: the database, the models, what stores records, the background work."""

    def __init__(
        self,
        settings: Settings,
        home: Home,
        database: Database,
        clock: Clock,
        organizer: Organizer | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self.settings = settings
        self.home = home
        self.database = database
        self.clock = clock
        self.word_embedder = StaticEmbedder()
        self.embedders = open_embedders(settings, embedder, self.word_embedder)
        if settings.continuity.notes_query != "auto":
            open_query(settings, database, clock, "")  # what is asked for by name must be usable
        self.lifecycle = open_lifecycle(settings, database)
        self.repair = IndexRepair(database, self.vectors)
        self.recorder = Recorder(
            *(database, self.lifecycle, self.repair, clock),
            turn_threshold=settings.collect.turn_threshold,
            max_record_chars=settings.collect.max_record_chars,
            on_mark=self.wake,
            on_append=self._appended,
        )
        if organizer or settings.organize.organizer == "llm":  # whose model is checked before anything is stored
            self.organizer = organizer or open_organizer(
                settings, database, clock, self.find_facts, self.word_embedder
            )
        self.dispatcher = open_dispatcher(settings, database, self.lifecycle, clock, self.hand_over)
        self.background = BackgroundWork(self)
        self.worker_notes: Mapping[str, Sequence[str]] = {}
        self.on_wake: Callable[[], None] = lambda: None
        self._users: dict[str, UserParts] = {}
        self.opening = threading.RLock()
        self._vectors: dict[str, Vectors] = {}
        if settings.telemetry.enabled:
            from lifelong.telemetry import instrument

            self._watched = instrument(settings.telemetry, database, clock)

    def user(self, name: str) -> UserParts:
        """Return the parts of a user, put together on first use."""
        known = self._users.get(name)
        return known or self._users.setdefault(name, UserParts(self, name))  # nobody waits for another's opening

    def drop_user(self, name: str) -> None:
        """Let go of the parts of a user, whose rows and files were replaced or forgotten."""
        if parts := self._users.pop(name, None):
            parts.close()

    def open_users(self) -> list[UserParts]:
        """Return the users that were asked for in this process."""
        return list(self._users.values())

    def users(self) -> list[str]:
        """Return the users of the home that hold something: an agent, a document, an experience, files."""
        rows = self.database.read(
            lambda tx: {*Agents(tx).owners(), *DocumentRows(tx, "").owners(), *IndexStates(tx).owners()}
        )
        return sorted(rows | {*self.home.users()})

    @opened_once
    def organizer(self) -> Organizer:
        return open_organizer(self.settings, self.database, self.clock, self.find_facts, self.word_embedder)

    @opened_once
    def memory_agent(self) -> MemoryAgentRunner:
        return open_memory_agent(
            self.settings, self.database, self.organizer, self.clock, self.dispatcher.make_text
        )

    @opened_once
    def index_worker(self) -> IndexWorker:
        from lifelong.recall.index_worker import IndexWorker

        words_only = () if self.settings.continuity.memory_embeddings_enabled else ("journal",)
        return IndexWorker(
            *(self.database, self.embedders, self.vectors, self.clock),
            words_only=words_only,
            files=lambda: [one for user in self.open_users() for one in user.files],
        )

    @opened_once
    def recall_log_writer(self) -> RecallLogWriter:
        from lifelong.recall.recall_log import RecallLogWriter

        return RecallLogWriter(self.database)

    @opened_once
    def experience_uses(self) -> ExperienceUses:
        from lifelong.recall.experience_rows import ExperienceUses

        return ExperienceUses(self.database)

    def hand_over(self) -> HandOver | None:
        """Return when conversations are given to a model; none where they are organized as soon as they are
        marked."""
        if self.settings.organize.organizer == "rules" or not self.settings.models.model:
            return None  # without loading an organizer
        return open_hand_over(self.settings) if self.organizer.name == "llm" else None

    def find_facts(self, owner: str, query: str, limit: int) -> list[Hit]:
        """Return the current facts of a user that match a text best."""
        from lifelong.recall.candidates import SearchFilter

        return self.user(owner).recall.search(query, limit, SearchFilter(kinds=("fact",)))

    def vectors(self, owner: str) -> Vectors:
        """Return the store of a user's vectors; all users share one, unless each has a folder of Chroma."""
        own_folder = self.settings.vectors.store == "chroma" and not self.settings.vectors.chroma_url
        with self.opening:
            key = owner if own_folder else ""
            if key not in self._vectors:
                self._vectors[key] = open_vectors(self.settings, self.home, owner, self.database)
            return self._vectors[key]

    def catch_up(self) -> None:
        """Index everything that is new, and write the recall log and the uses, in the calling thread."""
        self.index_worker.run_until_idle()
        self.flush_logs()

    def flush_logs(self) -> None:
        """Write what waits to be written of searches and uses."""
        for name in ("recall_log_writer", "experience_uses"):
            if part := self.__dict__.get(name):
                part.flush()

    def resume_erasures(self) -> int:
        """Finish what was interrupted while it was forgotten. Return how many erasures that were."""
        owners = self.database.read(pending_erasures)
        if not owners:
            return 0
        from lifelong.forget.erasure import resume_all

        return resume_all(owners, lambda owner: self.user(owner).eraser)

    def wake(self) -> None:
        """Do the background work that is due now, here and wherever else `on_wake` reaches."""
        self.background.wake()
        self.on_wake()

    def wake_indexer(self) -> None:
        if "index_worker" in self.__dict__:
            self.index_worker.background.wake()

    def indexing_thread(self) -> PeriodicThread | None:
        """Return the thread that indexes; none where nothing was indexed yet."""
        return self.index_worker.background if "index_worker" in self.__dict__ else None

    def close(self) -> None:
        """Finish what was submitted, write what waits, and let the database go."""
        with ExitStack() as closing:  # what fails keeps nothing else open
            closing.callback(self.database.close)
            for name in ("experience_uses", "recall_log_writer"):
                if part := self.__dict__.get(name):
                    closing.callback(part.close)
            for store in self._vectors.values():
                closing.callback(store.close)
            closing.callback(self.recorder.close)
            for user in self.open_users():
                closing.callback(user.close)

    def status_notes(self) -> list[str]:
        """Return what a person should know of the work that this process does for every user; some are empty."""
        notes = [self.organizer.blocked_reason(), *self.organizer.status_notes(), self.dispatcher.error]
        notes += [self.lifecycle.error, self.home.full(), self.home.moved()]
        return [*notes, *self.repair.status_notes(), *self.background.status_notes()]

    def _appended(self, owner: str, agent_id: str) -> None:
        self.user(owner).journal.touched(agent_id)
        self.wake_indexer()


class UserParts:
    """Hold what belongs to one user: documents, journal, index, experiences. Each is opened on first use."""

    def __init__(self, shared: SharedParts, name: str) -> None:
        self.shared = shared
        self.name = name
        self.opening = threading.RLock()
        self.errors: dict[str, str] = {}
        """What went wrong in the background, by the kind of work."""
        self._settings = shared.settings.continuity
        self._database = shared.database
        self._clock = shared.clock
        self.experience_kinds = frozenset(("user", *self._settings.inject_for))
        self.journal = JournalService(
            *(self._settings, shared.home.user_folder(name), shared.clock),
            owner=name,
            database=shared.database,
            summarizer=partial(open_summarize, shared.settings, shared.database, shared.clock, name),
            extract=self._extract if self._settings.experience_store_enabled else None,
            ended=partial(ended_lines, shared.database, name),
            check_in_place=shared.home.check_in_place,
            resync=lambda: shared.index_worker.sync_now(),
        )
        self.documents = DocumentStore(
            *(shared.database, name, shared.clock), consolidation=lambda: self.consolidation
        )
        self.schedules = [*self.journal.schedules, *self._open_schedules()]

    @opened_once
    def consolidation(self) -> Consolidation:
        from lifelong.organize.consolidation import Consolidation

        settings = self.shared.settings
        return Consolidation(
            *(self._database, self.name, self._clock),
            planner=partial(open_planner, settings, self._database, self._clock, self.name),
            max_loss=settings.organize.consolidation_max_loss,
            support=support_check(self.shared.word_embedder),
        )

    def _open_schedules(self) -> list[Schedule]:
        """Return the schedules of consolidation and of retention. A wrong cron expression is an error also where
        nothing runs by it."""
        organize, continuity = self.shared.settings.organize, self._settings
        interval = timedelta(milliseconds=organize.consolidation_interval_ms)
        consolidation = self._open_schedule(
            "consolidation",
            lambda: self.consolidation.run(if_changed=True),
            organize.consolidation_schedule_cron,
            interval,
            on=organize.consolidation_enabled,
        )
        retention = self._open_schedule(
            "retention",
            lambda: self.retention.run(),
            continuity.retention_schedule_cron,
            RETENTION_INTERVAL,
            on=continuity.retains_for_a_time,
        )
        return [*consolidation, *retention]

    def _open_schedule(
        self, name: str, job: Callable[[], object], cron: str, interval: timedelta, *, on: bool
    ) -> list[Schedule]:
        """Return the schedule of a job; none where it is off."""
        if not (on or cron):
            return []
        from lifelong.journal.rows import JournalRows
        from lifelong.journal.schedule import Schedule, Timetable

        seed = str(self.shared.home.user_folder(self.name))
        database, user = self._database, self.name
        schedule = Schedule(
            *(name, job, Timetable(self.journal.zone, cron, interval, seed=seed), self._clock),
            lambda: database.read(lambda tx: JournalRows(tx).last_run(user, name)),
            lambda at: database.write(lambda tx: JournalRows(tx).store_run(user, name, at)),
        )
        return [schedule] if on else []

    @opened_once
    def query(self) -> AskModel | None:
        return open_query(self.shared.settings, self._database, self._clock, self.name)

    @opened_once
    def files(self) -> list[FileSync]:
        """What lies in the user's folder and can be found."""
        root, journal = self.shared.home.user_folder(self.name), self.journal
        alone = not self.shared.settings.storage.url.get_secret_value()
        read = partial(read_own, root=root)
        files = partial(FileSync, self._database, self.name, self._clock, read, alone=alone)
        return [
            files(
                "journal",
                lambda: journal_paths(journal.files) if journal.enabled else [],
                partial(journal_items, root=root),
                appended=partial(appended_journal_items, root=root),
            ),
            files("note", lambda: note_paths(root), partial(note_items, root=root)),
        ]

    def sync_files(self) -> None:
        """Bring the index of this user's files up to date now."""
        versions = self._database.read(lambda tx: IndexStates(tx).versions())
        for one in self.files:
            one.sync(versions)

    def flush_logs(self) -> None:
        """Write what waits to be written of searches and uses."""
        self.shared.flush_logs()

    @opened_once
    def eraser(self) -> Eraser:
        from lifelong.forget.erasure import Eraser

        return Eraser(self)

    @opened_once
    def retention(self) -> Retention:
        from lifelong.forget.retention import Retention, RetentionLimits

        settings = self._settings
        limits = RetentionLimits(
            settings.retain_history_days,
            settings.retain_journal_days,
            settings.retain_experience_days,
            settings.retain_recall_log_days,
        )
        return Retention(self.eraser, limits, self._clock)

    @opened_once
    def recall(self) -> Searcher:
        from zoneinfo import ZoneInfo

        from lifelong.recall.search import Searcher  # numpy takes a while, and `add` needs none of it

        zone = ZoneInfo(self._settings.time_zone)
        return Searcher(
            *(self._database, self.name, self._clock, self.shared.index_worker, self.shared.repair),
            self.shared.word_embedder,
            zone,
        )

    @opened_once
    def recall_log(self) -> RecallLog:
        from lifelong.recall.recall_log import RecallLog

        return RecallLog(self._database, self.name, self._clock, self.shared.recall_log_writer)

    @opened_once
    def relations(self) -> RelationFinder:
        from lifelong.recall.relations import RelationFinder

        return RelationFinder(self.shared.repair, self.name, self._clock)

    @opened_once
    def curation(self) -> Curation:
        from lifelong.recall.curation import Curation

        shared = self.shared
        return Curation(
            *(self._database, self.name, self._clock, self.documents, shared.recorder, shared.lifecycle.sleep_due),
            journal=self.journal,
            repair=shared.repair,
        )

    @opened_once
    def reviews(self) -> Reviews:
        from lifelong.reviews import Reviews

        return Reviews(
            *(self._database, self.name, self._clock),
            documents=self.documents,
            journal=self.journal,
            forget=self._forget,
            kinds=self.shared.settings.review.wait_for,
            person="user" if self.name == "default" else self.name,
        )

    def _forget(self, target: str, by: str) -> None:
        from lifelong.forget.plan import WhatToForget

        self.eraser.forget(WhatToForget((target,)), by)

    @opened_once
    def _experiences(self) -> Experiences:
        from lifelong.recall.dedup import embedder_word_match
        from lifelong.recall.experiences import Experiences

        shared = self.shared
        return Experiences(
            *(self._database, self.name, self._clock),
            lambda: shared.index_worker,
            threshold=self._settings.experience_uniqueness_threshold,
            most=self._settings.experience_max_count,
            same_meaning=embedder_word_match(shared.word_embedder),
            journal=self.journal,
            uses=shared.experience_uses,
        )

    @property
    def experiences(self) -> Experiences:
        if not self._settings.experience_store_enabled:
            raise ConfigError(
                "The store of experiences is off. Switch it on with experience_store_enabled = true in the "
                "section [continuity] of lifelong.toml."
            )
        return self._experiences

    def _extract(self) -> None:
        self.experiences.extract()

    @opened_once
    def context_builder(self) -> ContextBuilder:
        from lifelong.recall.context import ContextBuilder

        wanted = self._settings.experience_store_enabled and self._settings.inject_experience_context
        return ContextBuilder(
            *(self._database, self.name, self.journal, self.recall, self.recall_log),
            self.experiences if wanted else None,
            kinds=self.experience_kinds,
            cap=self._settings.session_memory_cap,
            core_cap=self._settings.core_memory_cap,
        )

    def experience_tools(self, agent_id: str | None, begin_log: Callable[[str], LogHits]) -> tuple[Tool, ...]:
        """Return `query_experiences`, for main sessions and the kinds of agent that the settings name. Nobody
        named: for a main session. `begin_log` is called with what is asked, and returns what logs the hits."""
        from lifelong.recall.tools import query_experiences

        if not self._settings.experience_store_enabled:
            return ()
        if agent_id is not None:
            agent = self._database.read(lambda tx: Agents(tx).get_row(self.name, agent_id))
            if agent.kind not in self.experience_kinds:
                return ()
        return (query_experiences(self.experiences, begin_log),)

    def catch_up(self) -> None:
        """Write down what is not in the journal, the index and the recall log yet, in the calling thread."""
        self.journal.write_all()
        self.shared.catch_up()
        if "_experiences" in self.__dict__:
            self._experiences.flush()

    def close(self) -> None:
        """Write down what is left, and let go of what is open."""
        self.journal.close()

    def receipt(self, tx: Transaction, record_id: int) -> Receipt:
        """Return where a record is now."""
        found = receipt(tx, self.name, record_id, self._clock(), self.shared.hand_over())
        settings = self.shared.settings
        for stored in History(tx).with_ids([record_id]):
            notes = cut_notes(
                stored.record,
                by_rules=self._is_by_rules(tx, found),
                batch_chars=settings.organize.batch_chars,
                tool_result_chars=settings.collect.tool_result_chars,
                indexed_chars=MAX_ANALYZED_CHARS,
            )
            found = replace(found, notes=notes)
        if found.stage == "organized" and Items(tx, self.name).is_embedded(record_id):
            return replace(found, stage="searchable")
        return found

    def _is_by_rules(self, tx: Transaction, found: Receipt) -> bool:
        """Return whether the rules organized a record, or would."""
        if found.changeset_id is None:
            return self.shared.organizer.name == "rules"
        return DocumentRows(tx, self.name).changeset(found.changeset_id).organizer == "rules"

    def status_notes(self) -> list[str]:
        """Return what a person should know of the work that this process does, a sentence each."""
        from lifelong.redaction import redact

        notes = [*self.shared.status_notes(), *self.journal.status_notes()]
        notes += [*self.errors.values(), *(schedule.error for schedule in self.schedules)]
        notes += [self._experiences.error] if "_experiences" in self.__dict__ else []
        notes += self.shared.index_worker.status_notes(self.name) if "index_worker" in self.shared.__dict__ else []
        notes += [self.recall.error] if "recall" in self.__dict__ else []
        for whose in ("", self.name):
            notes += self.shared.worker_notes.get(whose, ())
        return list(dict.fromkeys(redact(note) for note in notes if note))


def open_organizer(
    settings: Settings, database: Database, clock: Clock, find: FindHits, words: WordEmbedder
) -> Organizer:
    """Return the configured organizer; with `auto`, the rules where no model can be used."""
    from lifelong.models.providers import unusable
    from lifelong.organize.rules.organizer import RulesOrganizer  # takes a while, and few processes organize

    choice, models = settings.organize.organizer, settings.models
    if choice == "rules":
        return RulesOrganizer()
    if reason := unusable(models):
        if choice == "llm":
            raise ConfigError(f"organize.organizer is 'llm', but its model cannot be used: {reason}")
        return RulesOrganizer(instead_of=reason if models.model else "")
    from zoneinfo import ZoneInfo

    from lifelong.organize.llm import LlmOrganizer

    return LlmOrganizer(
        *(models, database, clock),
        find=find,
        zone=ZoneInfo(settings.continuity.time_zone),
        support=support_check(words),
    )


def support_check(words: WordEmbedder) -> SupportCheck:
    """Return what tells whether records support a fact."""
    from lifelong.organize.support import SupportCheck
    from lifelong.recall.word_match import match_words

    return SupportCheck(lambda asked, text: match_words(words, asked, [text])[0].tolist())


def open_summarize(settings: Settings, database: Database, clock: Clock, user: str) -> AskModel | None:
    """Return the model that may summarize what is compacted; none where only the rules do it."""
    from lifelong.models.providers import unusable

    if settings.organize.organizer == "rules" or unusable(settings.models):
        return None
    from lifelong.models.question import ModelQuery

    return ModelQuery(settings.models, database, clock, user, "compaction")


def open_planner(
    settings: Settings, database: Database, clock: Clock, user: str, since: datetime | None
) -> Planner | None:
    """Return the model that plans consolidations, too; none where only the rules do it."""
    from lifelong.models.providers import unusable

    if settings.organize.organizer == "rules" or unusable(settings.models):
        return None
    from lifelong.organize.consolidation_llm import ModelPlanner

    return ModelPlanner(settings.models, database, clock, user, since)


def open_query(settings: Settings, database: Database, clock: Clock, user: str) -> AskModel | None:
    """Return what compacts worker notes; none where nothing can."""
    from lifelong.models.providers import unusable

    choice, models = settings.continuity.notes_query, settings.models
    if choice == "claude":
        from lifelong.models.claude import ClaudeQuery, missing

        if reason := missing():
            raise ConfigError(f"continuity.notes_query is 'claude', but it cannot be used: {reason}")
        return ClaudeQuery(models, database, clock, user)
    if reason := unusable(models):
        if choice == "model":
            raise ConfigError(f"continuity.notes_query is 'model', but it cannot be used: {reason}")
        return None
    from lifelong.models.question import ModelQuery

    return ModelQuery(models, database, clock, user)


def open_embedders(settings: Settings, given: Embedder | None, bundled: StaticEmbedder) -> Sequence[Embedder]:
    """Return the one that was given or is configured, and the bundled one, whose vectors may still be there."""
    if not given and settings.embeddings.provider == "static":
        return (bundled,)
    return (given or open_embedder(settings), bundled)


def open_lifecycle(settings: Settings, database: Database) -> Lifecycle:
    return Lifecycle(
        database,
        idle_after=timedelta(seconds=settings.collect.idle_after),
        dead_after=timedelta(seconds=settings.collect.dead_after),
        is_busy=lambda tx, agent_id: not Inbox(tx).is_empty(agent_id),
    )


def open_hand_over(settings: Settings) -> HandOver | None:
    """Return when a conversation that goes on is given to a model; none: at once."""
    models = settings.models
    if not models.organize_after_pause_s:
        return None
    return HandOver(
        pause=timedelta(seconds=models.organize_after_pause_s),
        min_chars=models.organize_min_chars,
        longest=timedelta(seconds=models.organize_longest_wait_s),
    )


def open_dispatcher(
    settings: Settings,
    database: Database,
    lifecycle: Lifecycle,
    clock: Clock,
    hand_over: Callable[[], HandOver | None],
) -> Dispatcher:
    from zoneinfo import ZoneInfo

    return Dispatcher(
        *(database, lifecycle, clock),
        batch_records=settings.organize.batch_records,
        batch_chars=settings.organize.batch_chars,
        tool_result_chars=settings.collect.tool_result_chars,
        max_attempts=settings.worker.max_attempts,
        zone=ZoneInfo(settings.continuity.time_zone),
        hand_over=hand_over,
    )


def open_memory_agent(
    settings: Settings,
    database: Database,
    organizer: Organizer,
    clock: Clock,
    make_text: Callable[[Sequence[StoredRecord], bool], str],
) -> MemoryAgentRunner:
    retry = RetryPolicy(
        lease=timedelta(seconds=settings.worker.lease_seconds),
        max_attempts=settings.worker.max_attempts,
        first_delay=timedelta(seconds=settings.worker.retry_seconds),
        max_delay=timedelta(seconds=settings.worker.retry_longest_seconds),
    )
    substitute = None
    if settings.organize.organizer == "auto" and settings.organize.rules_during_outage and organizer.name == "llm":
        from lifelong.organize.rules.organizer import RulesOrganizer

        substitute = RulesOrganizer()
    return MemoryAgentRunner(
        *(database, organizer, clock, retry),
        context_chars=settings.organize.context_chars,
        make_text=make_text,
        substitute=substitute,
        reviews="fact" in settings.review.wait_for,
    )


def open_database(home: Home, storage: StorageSettings) -> Database:
    url = storage.url.get_secret_value()
    if not url:
        from lifelong.storage.sqlite import SQLite

        return SQLite(
            home.database,
            synchronous=storage.synchronous,
            busy_timeout=storage.busy_timeout,
            key=database_key(home, storage),
        )
    if storage.key.get_secret_value() or storage.keyring:
        raise ConfigError(
            "storage.key encrypts SQLite, but storage.url names a PostgreSQL. Encrypt its disk, and take away "
            "storage.key and storage.keyring."
        )
    try:
        from lifelong.storage.postgres import Postgres
    except ImportError as error:
        raise StorageUnavailable(
            "storage.url names a PostgreSQL, but its driver is not installed: pip install 'lifelong[postgres]'."
        ) from error
    return Postgres(
        url,
        schema=storage.schema_name,
        synchronous=storage.synchronous,
        busy_timeout=storage.busy_timeout,
        pool_size=storage.pool_size,
        timeout=storage.connect_timeout,
    )


def change_database_key(home: Home, old: str, new: str) -> None:
    """Encrypt the SQLite database of a home with another key; empty: without one."""
    from lifelong.storage.sqlite import change_key

    change_key(home.database, old, new)


def open_embedder(settings: Settings) -> Embedder:
    """Return the configured embedder that is not the bundled one. Nothing is loaded or requested before its first
    use."""
    chosen = settings.embeddings
    if chosen.provider == "fastembed":
        from lifelong.models.embedders.fastembed import FastEmbedder

        path = Path(chosen.path).expanduser() if chosen.path else None
        return FastEmbedder(chosen.model, path, chosen.pooling, chosen.query_prefix, chosen.document_prefix)
    from lifelong.models.embedders.openai import OpenAIEmbedder

    same = {"dimensions", "query_prefix", "document_prefix", "batch", "window_bytes", "timeout_seconds"}
    key = chosen.api_key.get_secret_value()
    return OpenAIEmbedder(chosen.model, chosen.base_url, api_key=key, **chosen.model_dump(include=same))


def open_vectors(settings: Settings, home: Home, user: str, database: Database) -> Vectors:
    """Return the store of a user's vectors."""
    store = settings.vectors.store
    if store == "chroma":
        from lifelong.vectors.chroma import ChromaVectors

        folder = home.user_folder(user) / settings.continuity.experience_store_path
        return ChromaVectors(settings.vectors.chroma_url or folder)
    if store == "pgvector":
        from lifelong.vectors.pgvector import PgVectors

        return PgVectors(database)
    from lifelong.vectors.local import LocalVectors

    return LocalVectors(database, lambda owner: home.user_folder(owner) / "index")
