"""Store what a framework's agent and its user say to each other: what the adapters of conversations share."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from threading import Lock

from lifelong.collect.descriptors import User
from lifelong.collect.transcript import without_injected
from lifelong.errors import InputError
from lifelong.memory import Memory, person_of
from lifelong.types import Agent

log = logging.getLogger("lifelong.adapters")

MAX_STORED_KEYS = 10_000  # that are remembered, so that stored messages are not sent to the database again


def agent_of(memory: Memory, framework: str, conversation: str) -> Agent:
    """Return the agent of one conversation: a thread or session of the framework, whose user is the memory's."""
    return memory.agent(User(framework, person_of(memory.user), conversation or "main"))


class TurnWriter:
    """Store messages, each once: its key names it, in this process and in the next."""

    def __init__(self) -> None:
        self._stored: dict[tuple[str, str], None] = {}
        self._lock = Lock()

    def store(self, memory: Memory, agent: Agent, messages: Iterable[tuple[str, object]]) -> None:
        """Store messages under their keys, in any shape that `Memory.add` takes. One that it refuses is logged and
        left out, because the framework's agent must go on; an error of the database is raised."""
        for key, message in messages:
            known = (agent.id, key)
            if known in self._stored:
                continue
            try:
                memory.add(message, agent=agent, key=key)
            except InputError as error:
                log.warning("a message of %s was not stored: %s", agent.cache_key, error)
            with self._lock:
                self._stored[known] = None
                if len(self._stored) > MAX_STORED_KEYS:
                    del self._stored[next(iter(self._stored))]


def context_for(memory: Memory, agent: Agent | str, message: str, tokens: int | None) -> str:
    """Return the context for a message; empty where nothing was said, or for a message that cannot be read."""
    text = without_injected(message)
    try:
        return memory.context(text, agent=agent, tokens=tokens) if text else ""
    except InputError as error:
        log.warning("a turn of %s goes without a context: %s", memory.user, error)
        return ""
