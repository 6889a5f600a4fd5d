"""The experiences of one user, put together: the store, how it is filled, and how they come back.

What is off opens nothing, and makes no file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from lifelong.collect.agents import Agents
from lifelong.errors import ConfigError
from lifelong.journal.service import JournalService
from lifelong.models.embedders.base import Embedder
from lifelong.recall.experience_rows import ExperienceRows
from lifelong.storage.base import Database
from lifelong.tools import Tool
from lifelong.types import Clock

if TYPE_CHECKING:
    from lifelong.recall.context import ContextBuilder, OnInjected
    from lifelong.recall.experiences import Experiences
    from lifelong.recall.indexing import Indexer
    from lifelong.recall.search import Recall
    from lifelong.recall.tools import Note
    from lifelong.settings_sections import ContinuitySettings
    from lifelong.vectors.base import Vectors


class ExperienceService:
    """Opens the parts when they are first used. The last of the embedders is the bundled one. `on_injected` is
    told what was put into whose turn."""

    def __init__(
        self,
        settings: ContinuitySettings,
        database: Database,
        owner: str,
        clock: Clock,
        continuity: JournalService,
        *,
        embedders: Callable[[], Sequence[Embedder]],
        indexer: Callable[[], Indexer],
        vectors: Callable[[], Vectors],
        recall: Callable[[], Recall],
        on_injected: OnInjected | None = None,
    ) -> None:
        self._settings = settings
        self._database = database
        self._owner = owner
        self._clock = clock
        self._continuity = continuity
        self._embedders = embedders
        self._indexer = indexer
        self._vectors = vectors
        self._recall = recall
        self._on_injected = on_injected
        self._kinds = frozenset(("user", *settings.inject_for))
        self._opening = threading.Lock()
        self._store: Experiences | None = None

    @property
    def store(self) -> Experiences:
        if not self._settings.experience_store_enabled:
            raise ConfigError(
                "The store of experiences is off. Switch it on with experience_store_enabled = true in the "
                "section [continuity] of lifelong.toml."
            )
        with self._opening:
            if not self._store:
                self._store = self._open()
            return self._store

    def _open(self) -> Experiences:
        from lifelong.recall.dedup import word_sense
        from lifelong.recall.experiences import Experiences  # who only appends needs none of it

        return Experiences(
            *(self._database, self._owner, self._clock, self._indexer, self._vectors),
            threshold=self._settings.experience_uniqueness_threshold,
            most=self._settings.experience_max_count,
            alike=word_sense(self._embedders()[-1]),
        )

    def tend(self) -> int:
        """Some of the vectors that are still to be made. How much there was to do."""
        return self.store.tend() if self._settings.experience_store_enabled else 0

    def left(self) -> int:
        """How many experiences wait for their vectors."""
        if not self._settings.experience_store_enabled:
            return 0
        return self._database.read(lambda tx: ExperienceRows(tx, self._owner).waiting())

    @property
    def error(self) -> str:
        """What a person should know of the store."""
        return self._store.error if self._store else ""

    def extract(self) -> None:
        """Heal the store; with a journal, add what of it is new."""
        from lifelong.recall.extraction import extract

        if not self._continuity.is_on:
            self.store.heal()
            return
        self._continuity.write_all(wait=False)
        given = (self._database, self._owner, self._clock, self.store)
        extract(*given, self._continuity.journal, self._continuity.ended)

    @cached_property
    def injection(self) -> ContextBuilder:
        from lifelong.recall.context import ContextBuilder  # with numpy, which takes a while

        wanted = self._settings.experience_store_enabled and self._settings.inject_experience_context
        return ContextBuilder(
            *(self._database, self._owner, self._continuity.session_context, self._recall),
            self.store if wanted else None,
            kinds=self._kinds,
            cap=self._settings.session_memory_cap,
            on_injected=self._on_injected,
        )

    def tools(self, agent_id: str | None, note: Note) -> tuple[Tool, ...]:
        """`query_experiences`, for main sessions and the kinds of agent that the settings name. Nobody named: for
        a main session. `note` is told what was asked, and what came back."""
        from lifelong.recall.tools import query_experiences

        if not self._settings.experience_store_enabled:
            return ()
        if agent_id is not None:
            agent = self._database.read(lambda tx: Agents(tx).standing(self._owner, agent_id))
            if agent.kind not in self._kinds:
                return ()
        return (query_experiences(self.store, note),)

    def flush(self) -> None:
        """Count the uses that wait to be counted."""
        if self._store:
            self._store.flush()

    def close(self) -> None:
        if self._store:
            self._store.close()
