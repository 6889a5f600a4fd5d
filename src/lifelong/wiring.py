"""Pick one: the parts a memory is put together from, as its settings say. The only place that knows them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from lifelong.collect.lifecycle import Lifecycle
from lifelong.collect.recorder import Recorder
from lifelong.errors import ConfigError, StorageUnavailable
from lifelong.home import Home
from lifelong.journal.compaction_plan import Summarize, by_model
from lifelong.journal.indexing import journal_items, journal_pages, note_items, note_pages
from lifelong.journal.notes import Query
from lifelong.journal.service import JournalService
from lifelong.models.providers import unusable
from lifelong.organize.dispatch import Dispatcher
from lifelong.organize.documents import DocumentStore
from lifelong.organize.health import Receipt, receipt
from lifelong.organize.inbox import Inbox
from lifelong.organize.memory_agent import MemoryAgentRunner, RetryPolicy
from lifelong.organize.organizer import Organizer
from lifelong.organize.rules.conflicts import keys
from lifelong.organize.rules.organizer import RulesOrganizer
from lifelong.organize.worker import WorkDone, Worker
from lifelong.recall.experience_service import ExperienceService
from lifelong.recall.feedback import corrected, ended_lines
from lifelong.recall.file_sync import FileSync
from lifelong.recall.index_writer import file_document, file_turns, ready
from lifelong.recall.items import Items
from lifelong.recall.repair import IndexRepair
from lifelong.redaction import redact
from lifelong.storage.base import Database, Transaction
from lifelong.types import Clock

if TYPE_CHECKING:
    from lifelong.models.embedders.base import Embedder
    from lifelong.recall.curation import Curation
    from lifelong.recall.indexing import Indexer
    from lifelong.recall.recall_log import RecallLog
    from lifelong.recall.relations import RelationFinder
    from lifelong.recall.search import Recall
    from lifelong.settings import Settings
    from lifelong.settings_sections import StorageSettings
    from lifelong.vectors.base import Vectors


class Wiring:
    """What one memory is made of, put together."""

    def __init__(
        self,
        settings: Settings,
        home: Home,
        user: str,
        database: Database,
        clock: Clock,
        organizer: Organizer | None,
    ) -> None:
        self.user = user
        self._settings = settings
        self._home = home
        self._database = database
        self._clock = clock
        self.embedders = open_embedders(settings)
        self.lifecycle = open_lifecycle(settings, database)
        self.mending = IndexRepair(database)
        extract = (lambda: self.experiencing.extract()) if settings.continuity.experience_store_enabled else None
        self.continuity = JournalService(
            *(settings.continuity, home, user, database, clock),
            summarize=open_summarize(settings, database, clock, user),
            extract=extract,
            ended=partial(ended_lines, database, user),
            resync=lambda: self.indexer.look(),
        )
        self.experiencing: ExperienceService = ExperienceService(
            *(settings.continuity, database, user, clock, self.continuity),
            embedders=lambda: self.embedders,
            indexer=lambda: self.indexer,
            vectors=lambda: open_vectors(settings, home, user, database),
            recall=lambda: self.recall,
            on_injected=lambda agent_id, focus, hits: self.recall_log.note("injection", agent_id, focus, hits),
        )
        self.turns = Recorder(
            database,
            user,
            self.lifecycle,
            clock,
            turn_threshold=settings.collect.turn_threshold,
            max_record_chars=settings.collect.max_record_chars,
            make_ready=ready,
            file=file_turns,
            mend=self.mending.mend,
            on_mark=self.wake,
            on_said=self._said,
        )
        self.organizer = organizer or open_organizer(settings, database, clock)
        self._handover = open_handover(settings, database, self.lifecycle, clock)
        self._memory_agents = open_memory_agents(settings, database, self.organizer, clock)
        tick = settings.worker.tick_seconds
        self.workers = [Worker(self._round, clock, tick) for _ in range(settings.worker.threads)]
        self.documents = DocumentStore(database, user, clock, keys, file_document)
        self.query = open_query(settings, database, clock, user)

    @cached_property
    def indexer(self) -> Indexer:
        from lifelong.recall.indexing import Indexer

        by_words = () if self._settings.continuity.memory_embeddings_enabled else ("journal",)
        given = (self._database, self.embedders, self._clock)
        return Indexer(*given, by_words=by_words, files=self._files(), tend=self.experiencing.tend)

    def _files(self) -> list[FileSync]:
        """What lies in the user's folder."""
        root, pages = self._home.user(self.user), self.continuity.pages
        alone = not self._settings.storage.url.get_secret_value()
        files = partial(FileSync, self._database, self.user, self._clock, alone=alone)
        return [
            files(
                "journal",
                lambda: journal_pages(pages) if self.continuity.is_on else [],
                partial(journal_items, root=root),
            ),
            files("note", lambda: note_pages(root), partial(note_items, root=root)),
        ]

    @cached_property
    def recall(self) -> Recall:
        from lifelong.recall.search import Recall  # numpy takes a while, and who only appends needs none

        zone = ZoneInfo(self._settings.continuity.time_zone)
        return Recall(self._database, self.user, self._clock, self.indexer, self.mending, zone)

    @cached_property
    def recall_log(self) -> RecallLog:
        from lifelong.recall.recall_log import RecallLog

        return RecallLog(self._database, self.user, self._clock)

    @cached_property
    def relating(self) -> RelationFinder:
        from lifelong.recall.relations import RelationFinder

        return RelationFinder(self._database, self.user, self._clock)

    @cached_property
    def upkeep(self) -> Curation:
        from lifelong.recall.curation import Curation

        return Curation(
            *(self._database, self.user, self._clock, self.documents, self.turns, self.lifecycle.sleep_due),
            journal=lambda: self.continuity.journal.append,
        )

    def catch_up(self) -> None:
        """Write down what is not in the journal, the index and the recall log yet, in the calling thread."""
        self.continuity.write_all()
        self.indexer.run_until_idle()
        self.experiencing.flush()
        if "recall_log" in self.__dict__:
            self.recall_log.flush()

    def close(self) -> None:
        """Finish what was submitted, and let go of what is open."""
        self.turns.close()
        self.experiencing.close()
        if "recall_log" in self.__dict__:
            self.recall_log.close()

    def stop_indexing(self) -> None:
        if "indexer" in self.__dict__:
            self.indexer.background.stop()

    def _said(self, agent_id: str) -> None:
        self.continuity.touched(agent_id)
        if "indexer" in self.__dict__:
            self.indexer.background.wake()

    def receipt(self, tx: Transaction, record_id: int) -> Receipt:
        """Where a record is now."""
        found = receipt(tx, self.user, record_id)
        if found.stage == "organized" and Items(tx, self.user).is_indexed(record_id):
            return replace(found, stage="searchable")
        return found

    def remarks(self) -> list[str]:
        """What a person should know of the work that this process does, a sentence each."""
        said = [self.organizer.waits(), self.organizer.remark(), self._handover.error, *self.continuity.remarks()]
        said += [self.mending.remark, self.experiencing.error, *(one.error for one in self.workers)]
        said += self.indexer.remarks(self.user) if "indexer" in self.__dict__ else []
        said += [self.recall.error] if "recall" in self.__dict__ else []
        return list(dict.fromkeys(redact(remark) for remark in said if remark))

    def wake(self) -> None:
        """There is something to organize."""
        for worker in self.workers:
            worker.wake()

    def _round(self, now: datetime, stopping: Callable[[], bool]) -> WorkDone:
        self.continuity.keep_up()
        self.lifecycle.advance(now, self.user)
        return WorkDone(self._handover.run(now, stopping), *self._memory_agents.work(stopping))


def open_organizer(settings: Settings, database: Database, clock: Clock) -> Organizer:
    """The one that is asked for; the rules where `auto` finds no model that can be used."""
    choice, models, density = settings.organize.organizer, settings.models, settings.organize.density
    if choice == "rules":
        return RulesOrganizer(density)
    if reason := unusable(models):
        if choice == "llm":
            raise ConfigError(f"organize.organizer is 'llm', but its model cannot be used: {reason}")
        return RulesOrganizer(density, instead_of=reason if models.model else "")
    from lifelong.organize.llm import LlmOrganizer

    return LlmOrganizer(models, database, clock)


def open_summarize(settings: Settings, database: Database, clock: Clock, user: str) -> Summarize | None:
    """The model that may summarize what is compacted; none where the rules do it alone."""
    if settings.organize.organizer == "rules" or unusable(settings.models):
        return None
    from lifelong.models.question import Question

    return by_model(Question(settings.models, database, clock, user, "compaction"))


def open_query(settings: Settings, database: Database, clock: Clock, user: str) -> Query | None:
    """Who compacts worker notes; none where nobody can."""
    choice, models = settings.continuity.notes_query, settings.models
    if choice == "claude":
        from lifelong.models.claude import ClaudeQuestion, missing

        if reason := missing():
            raise ConfigError(f"continuity.notes_query is 'claude', but it cannot be used: {reason}")
        return ClaudeQuestion(models, database, clock, user)
    if reason := unusable(models):
        if choice == "model":
            raise ConfigError(f"continuity.notes_query is 'model', but it cannot be used: {reason}")
        return None
    from lifelong.models.question import Question

    return Question(models, database, clock, user)


def open_embedders(settings: Settings) -> Sequence[Embedder]:
    """The one that is configured, and the bundled one, whose vectors may still be there."""
    chosen = open_embedder(settings)
    if settings.embeddings.provider == "static":
        return (chosen,)
    from lifelong.models.embedders.static import StaticEmbedder

    return (chosen, StaticEmbedder())


def open_lifecycle(settings: Settings, database: Database) -> Lifecycle:
    return Lifecycle(
        database,
        idle_after=timedelta(seconds=settings.collect.idle_after),
        dead_after=timedelta(seconds=settings.collect.dead_after),
        is_busy=lambda tx, agent_id: not Inbox(tx).is_empty(agent_id),
    )


def open_handover(settings: Settings, database: Database, lifecycle: Lifecycle, clock: Clock) -> Dispatcher:
    return Dispatcher(
        *(database, lifecycle, corrected, clock),
        batch_records=settings.organize.batch_records,
        batch_chars=settings.organize.batch_chars,
        tool_result_chars=settings.collect.tool_result_chars,
    )


def open_memory_agents(
    settings: Settings, database: Database, organizer: Organizer, clock: Clock
) -> MemoryAgentRunner:
    patience = RetryPolicy(
        lease=timedelta(seconds=settings.worker.lease_seconds),
        attempts=settings.worker.max_attempts,
        first=timedelta(seconds=settings.worker.retry_seconds),
        longest=timedelta(seconds=settings.worker.retry_longest_seconds),
    )
    given = (database, organizer, clock, patience, corrected)
    return MemoryAgentRunner(*given, keys=keys, context_chars=settings.organize.context_chars, file=file_document)


def open_database(home: Home, storage: StorageSettings) -> Database:
    url = storage.url.get_secret_value()
    if not url:
        from lifelong.storage.sqlite import SQLite

        return SQLite(home.database, synchronous=storage.synchronous, busy_timeout=storage.busy_timeout)
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


def open_embedder(settings: Settings) -> Embedder:
    """The one that is asked for. Nothing is loaded or asked before its first use."""
    chosen = settings.embeddings
    if chosen.provider == "static":
        from lifelong.models.embedders.static import StaticEmbedder

        return StaticEmbedder()
    if chosen.provider == "onnx":
        from lifelong.models.embedders.onnx import OnnxEmbedder

        if not chosen.path:
            raise ConfigError(
                "embeddings.provider is 'onnx', but embeddings.path names no model's folder. Set it."
            )
        path = Path(chosen.path).expanduser()
        return OnnxEmbedder(path, chosen.pooling, chosen.query_prefix, chosen.document_prefix)
    from lifelong.models.embedders.openai import OpenAIEmbedder

    same = {"dimensions", "query_prefix", "document_prefix", "batch", "window_bytes", "timeout_seconds"}
    key = chosen.api_key.get_secret_value()
    return OpenAIEmbedder(chosen.model, chosen.base_url, api_key=key, **chosen.model_dump(include=same))


def open_vectors(settings: Settings, home: Home, user: str, database: Database) -> Vectors:
    """Where the vectors of experiences live."""
    store = settings.vectors.store
    if store == "chroma":
        from lifelong.vectors.chroma import ChromaVectors

        folder = home.user(user) / settings.continuity.experience_store_path
        return ChromaVectors(settings.vectors.chroma_url or folder)
    if store == "pgvector":
        from lifelong.vectors.pgvector import PgVectors

        return PgVectors(database)
    from lifelong.vectors.local import LocalVectors

    return LocalVectors(database)
