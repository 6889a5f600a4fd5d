"""Who an agent is: a tagged union, and everything that follows from the kind.

Each function matches every kind. A new kind that one of them does not handle fails the type check.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from functools import cache, lru_cache
from hashlib import blake2b
from typing import ClassVar, Literal, TypeAlias, assert_never, get_args
from urllib.parse import quote

from lifelong.errors import InputError, PromptError, StorageCorrupt
from lifelong.redaction import redact
from lifelong.validation import validate_name, validate_text

MAX_PART_BYTES = 500  # bytes
MAX_CHANNEL_BYTES = 300  # bytes of a channel that is named after any text; a longer one is cut and hashed
MAX_CACHE_KEY_BYTES = 2_000  # bytes; an index of PostgreSQL holds no more than 2,700
MAX_PROMPT_CHARS = 1_000_000  # characters

AgentKind = Literal["user", "cron", "task", "system", "subagent", "app", "permanent", "memory-agent"]


@dataclass(frozen=True, slots=True)
class User:
    """A person, reached through a connector. `user_id` is an address there, not an owner."""

    kind: ClassVar[AgentKind] = "user"
    connector: str
    user_id: str
    channel_id: str


@dataclass(frozen=True, slots=True)
class Cron:
    """A job that runs by the clock."""

    kind: ClassVar[AgentKind] = "cron"
    id: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """A piece of work that runs once."""

    kind: ClassVar[AgentKind] = "task"
    id: str


@dataclass(frozen=True, slots=True)
class System:
    """A part of the host itself."""

    kind: ClassVar[AgentKind] = "system"
    tag: str


@dataclass(frozen=True, slots=True)
class Subagent:
    """A helper of another agent. The only kind that dies."""

    kind: ClassVar[AgentKind] = "subagent"
    id: str
    parent_agent_id: str
    name: str


@dataclass(frozen=True, slots=True)
class App:
    """An application that acts for another agent."""

    kind: ClassVar[AgentKind] = "app"
    id: str
    parent_agent_id: str
    name: str
    system_prompt: str
    app_id: str


@dataclass(frozen=True, slots=True)
class Permanent:
    """An agent that is always there, with a character of its own."""

    kind: ClassVar[AgentKind] = "permanent"
    id: str
    name: str
    description: str
    system_prompt: str


@dataclass(frozen=True, slots=True)
class MemoryAgent:
    """The agent that organizes another one's memory. `id` is the source agent's."""

    kind: ClassVar[AgentKind] = "memory-agent"
    id: str


Descriptor: TypeAlias = User | Cron | Task | System | Subagent | App | Permanent | MemoryAgent

KINDS: dict[AgentKind, type[Descriptor]] = {kind.kind: kind for kind in get_args(Descriptor)}
TEXTS = {"name", "description", "system_prompt"}  # may be empty

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
    """Return the stable key of an agent. Parts are percent-encoded, so that a '/' in one cannot collide."""
    match descriptor:
        case User(connector, user_id, channel_id):
            return _path("connectors", connector, user_id, channel_id)
        case Cron(id=part) | Task(id=part) | Subagent(id=part) | App(id=part) | Permanent(id=part):
            return _path(descriptor.kind, part)
        case System(tag=part) | MemoryAgent(id=part):
            return _path(descriptor.kind, part)
        case _:
            assert_never(descriptor)


def connector_prefix(connector: str) -> str:
    """Return how the keys of all agents on a connector begin."""
    return _path("connectors", connector, "")


def matches(kind: AgentKind, strategy: Strategy) -> bool:
    """Return whether an agent of this kind may be found by the strategy."""
    match kind:
        case "user":
            return strategy == "most-recent-foreground"
        case "cron" | "task" | "system" | "subagent" | "app" | "permanent" | "memory-agent":
            return False
        case _:
            assert_never(kind)


def is_foreground(kind: AgentKind) -> bool:
    """Return whether a person speaks in this agent's sessions."""
    return matches(kind, "most-recent-foreground")


def folder_of(descriptor: Descriptor) -> str:
    """Return the name of the folder that an agent works in; empty where its channel is not a folder."""
    channel = descriptor.channel_id if isinstance(descriptor, User) else ""
    return re.split(r"[/\\]", channel.rstrip("/\\"))[-1] if re.search(r"[/\\]", channel) else ""


def is_organized(kind: AgentKind) -> bool:
    """Return whether this agent's sessions become memory. A memory-agent's never do: it would feed on itself."""
    match kind:
        case "memory-agent":
            return False
        case "user" | "cron" | "task" | "system" | "subagent" | "app" | "permanent":
            return True
        case _:
            assert_never(kind)


def is_mortal(kind: AgentKind) -> bool:
    """Return whether the agent dies after a long sleep."""
    match kind:
        case "subagent":
            return True
        case "user" | "cron" | "task" | "system" | "app" | "permanent" | "memory-agent":
            return False
        case _:
            assert_never(kind)


def target(descriptor: Descriptor) -> Target | None:
    """Return where to answer: only a user can be answered."""
    match descriptor:
        case User(connector=connector, channel_id=channel_id):
            return Target(connector, channel_id)
        case Cron() | Task() | System() | Subagent() | App() | Permanent() | MemoryAgent():
            return None
        case _:
            assert_never(descriptor)


def source_agent(descriptor: Descriptor) -> str | None:
    """Return the id of the agent whose user owns this one; none where the caller's user owns it."""
    match descriptor:
        case MemoryAgent(id):
            return id
        case User() | Cron() | Task() | System() | Subagent() | App() | Permanent():
            return None
        case _:
            assert_never(descriptor)


def prompt(descriptor: Descriptor) -> Prompt:
    """Return the agent's system prompt."""
    match descriptor:
        case App(system_prompt=text) | Permanent(system_prompt=text):
            return Prompt(text)
        case MemoryAgent():
            return Prompt(memory_agent_prompt(), True, MEMORY_AGENT_TOOLS)
        case User() | Cron() | Task() | System() | Subagent():
            return Prompt()
        case _:
            assert_never(descriptor)


MEMORY_AGENT_TOOLS = (
    *("add_fact", "supersede", "cite", "retract", "move", "search", "done"),
    *("document_read", "document_write", "document_edit"),
)


@cache
def memory_agent_prompt() -> str:
    from importlib.resources import files

    return files("lifelong").joinpath("prompts/memory_agent.md").read_text(encoding="utf-8")


def channel_name(name: str) -> str:
    """Return any text as a part of an address: one line, short enough, and different for different texts."""
    shown = "".join(sign for sign in name if sign.isprintable()).strip()
    if len(shown.encode()) <= MAX_CHANNEL_BYTES:
        return shown
    return f"{shown[:40]}-{blake2b(shown.encode(), digest_size=9).hexdigest()}"


def validate_descriptor(descriptor: Descriptor) -> None:
    """Refuse what does not describe an agent."""
    if type(descriptor) not in KINDS.values():
        names = ", ".join(kind.__name__ for kind in KINDS.values())
        raise InputError(f"{descriptor!r:.200} does not describe an agent. Use one of: {names}.")
    for part in fields(descriptor):
        value, what = getattr(descriptor, part.name), f"{type(descriptor).__name__}.{part.name}"
        if part.name in TEXTS:
            validate_text(value, what, MAX_PROMPT_CHARS)
        else:
            validate_name(value, what, MAX_PART_BYTES)
    if len(cache_key(descriptor)) > MAX_CACHE_KEY_BYTES:
        raise InputError(f"The parts of {descriptor!r:.200} are too long together. Make them shorter.")


def encode(descriptor: Descriptor) -> str:
    """Return a descriptor as the database stores it: without the secrets in its texts. Its ids stay as they are,
    for they are addresses."""
    validate_descriptor(descriptor)
    parts = {name: redact(text) if name in TEXTS else text for name, text in asdict(descriptor).items()}
    return json.dumps({"kind": descriptor.kind, **parts}, ensure_ascii=False, sort_keys=True)


@lru_cache(maxsize=1_024)
def decode(text: str) -> Descriptor:
    """Return the descriptor that `encode` wrote."""
    try:
        parts = json.loads(text)
        descriptor = KINDS[parts.pop("kind")](**parts)
        validate_descriptor(descriptor)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise StorageCorrupt(
            f"An agent's descriptor cannot be read ({error!r}): {text!r:.200}. Restore a backup, or resolve the "
            "agent again with memory.agent(descriptor)."
        ) from error
    return descriptor


def _path(*parts: str) -> str:
    return "".join("/" + quote(part, safe="") for part in parts)
