"""Pick one: the parts a memory is put together from, as its settings say. The only place that knows them all."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from recollect.collect.lifecycle import Lifecycle
from recollect.collect.turns import Turns
from recollect.errors import ConfigError, StorageUnavailable
from recollect.home import Home
from recollect.journal.continuity import Continuity
from recollect.journal.merging import Summarize
from recollect.journal.notes import Query
from recollect.organize.brain import Brain
from recollect.organize.handover import Handover
from recollect.organize.inbox import Inbox
from recollect.organize.memory_agents import MemoryAgents, Patience
from recollect.organize.rules.brain import RulesBrain
from recollect.organize.rules.conflicts import keys
from recollect.organize.tree import Tree
from recollect.organize.worker import Round, Worker
from recollect.storage.base import Database
from recollect.types import Clock

if TYPE_CHECKING:
    from recollect.config import Settings
    from recollect.sections import StorageSettings


class Parts:
    """What one memory is made of, put together."""

    def __init__(
        self, settings: Settings, home: Home, profile: str, database: Database, clock: Clock, brain: Brain | None
    ) -> None:
        self._profile = profile
        self.lifecycle = open_lifecycle(settings, database)
        summarize = open_summarize(settings, database, clock, profile)
        self.continuity = Continuity(settings.continuity, home, profile, database, clock, summarize)
        self.turns = Turns(
            database,
            profile,
            self.lifecycle,
            clock,
            turn_threshold=settings.collect.turn_threshold,
            max_record_chars=settings.collect.max_record_chars,
            on_mark=self.wake,
            on_said=self.continuity.touched,
        )
        self.brain = brain or open_brain(settings, database, clock)
        self.workers = open_workers(settings, database, self.lifecycle, self.brain, clock, self._advance)
        self.documents = Tree(database, profile, clock, keys)
        self.query = open_query(settings, database, clock, profile)

    def wake(self) -> None:
        """There is something to organize."""
        for worker in self.workers:
            worker.wake()

    def _advance(self, now: datetime) -> None:
        self.continuity.keep_up()
        self.lifecycle.advance(now, self._profile)


def open_brain(settings: Settings, database: Database, clock: Clock) -> Brain:
    """The one that is asked for; the rules where `auto` finds no model that can be used."""
    choice, models = settings.organize.brain, settings.models
    if choice == "rules" or (choice == "auto" and not models.model):
        return RulesBrain(settings.organize.density)
    from recollect.models.providers import unusable
    from recollect.organize.llm import LlmBrain

    reason = unusable(models)
    if not reason:
        return LlmBrain(models, database, clock)
    if choice == "llm":
        raise ConfigError(f"organize.brain is 'llm', but its model cannot be used: {reason}")
    return RulesBrain(settings.organize.density, instead_of=reason)


def open_summarize(settings: Settings, database: Database, clock: Clock, profile: str) -> Summarize | None:
    """The model that may summarize what is compacted; none where the rules do it alone."""
    if settings.organize.brain == "rules" or not settings.models.model:
        return None
    from recollect.journal.summarizing import by_model
    from recollect.models.providers import unusable
    from recollect.models.question import Question

    if unusable(settings.models):
        return None
    return by_model(Question(settings.models, database, clock, profile, "compaction"))


def open_query(settings: Settings, database: Database, clock: Clock, profile: str) -> Query | None:
    """Who compacts worker notes; none where nobody can."""
    choice, models = settings.continuity.notes_query, settings.models
    if choice == "claude":
        from recollect.models.claude import ClaudeQuestion, missing

        if reason := missing():
            raise ConfigError(f"continuity.notes_query is 'claude', but it cannot be used: {reason}")
        return ClaudeQuestion(models, database, clock, profile)
    if choice == "auto" and not models.model:
        return None
    from recollect.models.providers import unusable
    from recollect.models.question import Question

    if reason := unusable(models):
        if choice == "auto":
            return None
        raise ConfigError(f"continuity.notes_query is 'model', but it cannot be used: {reason}")
    return Question(models, database, clock, profile)


def open_lifecycle(settings: Settings, database: Database) -> Lifecycle:
    return Lifecycle(
        database,
        idle_after=timedelta(seconds=settings.collect.idle_after),
        dead_after=timedelta(seconds=settings.collect.dead_after),
        is_busy=lambda tx, agent_id: not Inbox(tx).is_empty(agent_id),
    )


def open_workers(
    settings: Settings,
    database: Database,
    lifecycle: Lifecycle,
    brain: Brain,
    clock: Clock,
    advance: Callable[[datetime], object],
) -> list[Worker]:
    """As many as the settings ask for, none of them started."""
    organize, worker = settings.organize, settings.worker
    handover = Handover(
        database,
        lifecycle,
        batch_records=organize.batch_records,
        batch_chars=organize.batch_chars,
        tool_result_chars=settings.collect.tool_result_chars,
    )
    patience = Patience(
        lease=timedelta(seconds=worker.lease_seconds),
        attempts=worker.max_attempts,
        first=timedelta(seconds=worker.retry_seconds),
        longest=timedelta(seconds=worker.retry_longest_seconds),
    )
    agents = MemoryAgents(database, brain, clock, patience, keys=keys, context_chars=organize.context_chars)
    round_ = Round(advance, handover, agents)
    return [Worker(round_, clock, worker.tick_seconds) for _ in range(worker.threads)]


def open_database(home: Home, storage: StorageSettings) -> Database:
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
