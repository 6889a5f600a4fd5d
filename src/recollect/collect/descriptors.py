"""Who an agent is: a tagged union, and everything that follows from the kind alone.

Each function matches every kind. A new kind that one of them does not handle fails the type check.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from functools import cache, lru_cache
from importlib.resources import files
from typing import ClassVar, Literal, TypeAlias, assert_never, get_args
from urllib.parse import quote

from recollect.errors import InputError, PromptError, StorageCorrupt
from recollect.gate import checked_name, checked_text

_LONGEST_PART = 1_000
_LONGEST_PROMPT = 1_000_000


@dataclass(frozen=True, slots=True)
class User:
    """A person, reached through a connector. `user_id` is an address there, not an owner."""

    kind: ClassVar = "user"
    connector: str
    user_id: str
    channel_id: str


@dataclass(frozen=True, slots=True)
class Cron:
    """A job that runs by the clock."""

    kind: ClassVar = "cron"
    id: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """A piece of work that runs once."""

    kind: ClassVar = "task"
    id: str


@dataclass(frozen=True, slots=True)
class System:
    """A part of the host itself."""

    kind: ClassVar = "system"
    tag: str


@dataclass(frozen=True, slots=True)
class Subagent:
    """A helper of another agent. The only kind that dies."""

    kind: ClassVar = "subagent"
    id: str
    parent_agent_id: str
    name: str


@dataclass(frozen=True, slots=True)
class App:
    """An application that acts for another agent."""

    kind: ClassVar = "app"
    id: str
    parent_agent_id: str
    name: str
    system_prompt: str
    app_id: str


@dataclass(frozen=True, slots=True)
class Permanent:
    """An agent that is always there, with a character of its own."""

    kind: ClassVar = "permanent"
    id: str
    name: str
    description: str
    system_prompt: str


@dataclass(frozen=True, slots=True)
class MemoryAgent:
    """The agent that organizes another one's memory. `id` is the source agent's."""

    kind: ClassVar = "memory-agent"
    id: str


Descriptor: TypeAlias = User | Cron | Task | System | Subagent | App | Permanent | MemoryAgent

_KINDS: dict[str, type[Descriptor]] = {kind.kind: kind for kind in get_args(Descriptor)}
_MAY_BE_EMPTY = {"name", "description", "system_prompt"}

Strategy = Literal["most-recent-foreground"]
"""How to find an agent without naming it."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a message to the agent's person goes."""

    connector: str
    channel_id: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a descriptor brings to the system prompt. With `replaces` it is the whole of it."""

    text: str = ""
    replaces: bool = False
    tools: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.replaces and not self.text.strip():
            raise PromptError


def cache_key(descriptor: Descriptor) -> str:
    """The stable key of an agent. Parts are percent-encoded, so that a '/' in one cannot collide."""
    match descriptor:
        case User(connector, user_id, channel_id):
            return _path("connectors", connector, user_id, channel_id)
        case Cron(id):
            return _path("cron", id)
        case Task(id):
            return _path("task", id)
        case System(tag):
            return _path("system", tag)
        case Subagent(id):
            return _path("subagent", id)
        case App(id):
            return _path("app", id)
        case Permanent(id):
            return _path("permanent", id)
        case MemoryAgent(id):
            return _path("memory-agent", id)
        case _:
            assert_never(descriptor)


def matches(descriptor: Descriptor, strategy: Strategy) -> bool:
    """Whether an agent may be found by this strategy."""
    match descriptor:
        case User():
            return strategy == "most-recent-foreground"
        case Cron() | Task() | System() | Subagent() | App() | Permanent() | MemoryAgent():
            return False
        case _:
            assert_never(descriptor)


def is_foreground(descriptor: Descriptor) -> bool:
    """Whether a person speaks in this agent's sessions."""
    return matches(descriptor, "most-recent-foreground")


def target(descriptor: Descriptor) -> Target | None:
    """Where to answer. Only a user can be answered."""
    match descriptor:
        case User(connector=connector, channel_id=channel_id):
            return Target(connector, channel_id)
        case Cron() | Task() | System() | Subagent() | App() | Permanent() | MemoryAgent():
            return None
        case _:
            assert_never(descriptor)


def source_agent(descriptor: Descriptor) -> str | None:
    """The agent whose profile owns this one; none where it is the profile that asks."""
    match descriptor:
        case MemoryAgent(id):
            return id
        case User() | Cron() | Task() | System() | Subagent() | App() | Permanent():
            return None
        case _:
            assert_never(descriptor)


def is_organized(descriptor: Descriptor) -> bool:
    """Whether this agent's sessions become memory. A memory-agent's never do: it would feed on itself."""
    match descriptor:
        case MemoryAgent():
            return False
        case User() | Cron() | Task() | System() | Subagent() | App() | Permanent():
            return True
        case _:
            assert_never(descriptor)


def is_mortal(descriptor: Descriptor) -> bool:
    """Whether the agent dies after it has slept for long."""
    match descriptor:
        case Subagent():
            return True
        case User() | Cron() | Task() | System() | App() | Permanent() | MemoryAgent():
            return False
        case _:
            assert_never(descriptor)


def prompt(descriptor: Descriptor) -> Prompt:
    """What the agent is told to be."""
    match descriptor:
        case App(system_prompt=text) | Permanent(system_prompt=text):
            return Prompt(text)
        case MemoryAgent():
            return Prompt(memory_agent_prompt(), True, ("document_read", "document_write", "document_edit"))
        case User() | Cron() | Task() | System() | Subagent():
            return Prompt()
        case _:
            assert_never(descriptor)


@cache
def memory_agent_prompt() -> str:
    return files("recollect.organize").joinpath("prompts/memory_agent.md").read_text(encoding="utf-8")


def check_descriptor(descriptor: Descriptor) -> None:
    """Refuse what does not describe an agent."""
    if type(descriptor) not in _KINDS.values():
        raise InputError(
            f"{descriptor!r} does not describe an agent. Use one of: "
            f"{', '.join(kind.__name__ for kind in _KINDS.values())}."
        )
    for part in fields(descriptor):
        value, what = getattr(descriptor, part.name), f"{type(descriptor).__name__}.{part.name}"
        if part.name in _MAY_BE_EMPTY:
            checked_text(value, what, _LONGEST_PROMPT)
        else:
            checked_name(value, what, _LONGEST_PART)


def encode(descriptor: Descriptor) -> str:
    """A descriptor as the database holds it."""
    check_descriptor(descriptor)
    return json.dumps({"kind": descriptor.kind, **asdict(descriptor)}, ensure_ascii=False, sort_keys=True)


@lru_cache(maxsize=4096)
def decode(text: str) -> Descriptor:
    """The descriptor that `encode` wrote."""
    try:
        parts = json.loads(text)
        return _KINDS[parts.pop("kind")](**parts)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StorageCorrupt(f"An agent's descriptor cannot be read ({error!r}): {text:.200}") from error


def _path(*parts: str) -> str:
    return "".join("/" + quote(part, safe="") for part in parts)
