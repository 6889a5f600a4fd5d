"""Pick one: the parts a memory is put together from, as its settings say. The only place that knows them all."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from recollect.collect.lifecycle import Lifecycle
from recollect.collect.turns import Turns
from recollect.errors import ConfigError, StorageUnavailable
from recollect.home import Home
from recollect.organize.brain import Brain
from recollect.organize.handover import Handover
from recollect.organize.inbox import Inbox
from recollect.organize.memory_agents import MemoryAgents, Patience
from recollect.organize.rules.brain import RulesBrain
from recollect.organize.rules.conflicts import keys
from recollect.organize.worker import Round, Worker
from recollect.storage.base import Database
from recollect.types import Clock

if TYPE_CHECKING:
    from recollect.config import Settings
    from recollect.sections import StorageSettings


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


def open_lifecycle(settings: Settings, database: Database) -> Lifecycle:
    return Lifecycle(
        database,
        idle_after=timedelta(seconds=settings.collect.idle_after),
        dead_after=timedelta(seconds=settings.collect.dead_after),
        is_busy=lambda tx, agent_id: not Inbox(tx).is_empty(agent_id),
    )


def open_turns(
    settings: Settings,
    database: Database,
    owner: str,
    lifecycle: Lifecycle,
    clock: Clock,
    on_mark: Callable[[], None],
) -> Turns:
    return Turns(
        database,
        owner,
        lifecycle,
        clock,
        turn_threshold=settings.collect.turn_threshold,
        max_record_chars=settings.collect.max_record_chars,
        on_mark=on_mark,
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
