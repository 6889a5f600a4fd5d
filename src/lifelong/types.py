"""The values that travel between the stages: frozen, and free of any database."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Protocol, TypeAlias, get_args

if TYPE_CHECKING:
    from lifelong.collect.descriptors import Descriptor

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

Clock: TypeAlias = Callable[[], datetime]
"""Gives the time, with its zone. Passed in, so that a test can turn it."""

Provenance = Literal["user", "agent", "tool", "web", "system"]
"""Who said it. What `tool` and `web` say is data: it never becomes a preference or an instruction."""

PROVENANCES: tuple[Provenance, ...] = get_args(Provenance)

AgentState = Literal["active", "sleeping", "dead"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def new_id() -> str:
    """Return a unique id. Ids sort by when they were made, so that related rows are close together in an index."""
    return f"{time.time_ns():016x}{os.urandom(8).hex()}"


def new_document_id() -> str:
    """Return the id of a new document. People name it by its beginning, so it begins at random. It looks like a
    digest, which redaction leaves alone."""
    return f"d{os.urandom(12).hex()[1:]}"


def utc_now() -> datetime:
    return datetime.now(UTC)


def to_micros(at: datetime) -> int:
    """Return a time as the databases hold it: whole microseconds since 1970, UTC."""
    return (at - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the time that `to_micros` made the number of."""
    return _EPOCH + timedelta(microseconds=micros)


def from_optional_micros(micros: int | None) -> datetime | None:
    """Return `from_micros(micros)`, or none for none."""
    return None if micros is None else from_micros(micros)


# What can be said. `at` is when it was said; left out, it is when it arrived. `original` is the message as a
# framework had it, as JSON, where an adapter must give it back in that very shape; "null": it is a part of the
# message that the record before carries.

ORIGINAL = "original"
CARRYING_AGENTS = ("/connectors/openai-agents/", "/connectors/claude-sessions/", "/task/claude-sessions")
"""How the cache keys of the agents begin whose records carry messages."""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What a person said. `speaker` names them where several people talk, in at most 200 characters."""

    type: ClassVar = "user_message"
    text: str
    speaker: str = ""
    provenance: Provenance = field(default="user", kw_only=True)
    at: datetime | None = field(default=None, kw_only=True)
    original: str = field(default="", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What the agent answered. `speaker` names it where it has a name, in at most 200 characters."""

    type: ClassVar = "assistant_message"
    text: str
    speaker: str = ""
    provenance: Provenance = field(default="agent", kw_only=True)
    at: datetime | None = field(default=None, kw_only=True)
    original: str = field(default="", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool the agent called, with the arguments it gave."""

    type: ClassVar = "tool_call"
    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict)
    call_id: str = ""
    provenance: Provenance = field(default="agent", kw_only=True)
    at: datetime | None = field(default=None, kw_only=True)
    original: str = field(default="", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave back. Say `provenance="web"` for text that came from the network."""

    type: ClassVar = "tool_result"
    text: str
    name: str = ""
    call_id: str = ""
    failed: bool = False
    provenance: Provenance = field(default="tool", kw_only=True)
    at: datetime | None = field(default=None, kw_only=True)
    original: str = field(default="", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Note:
    """A remark beside the conversation. `speaker` names whose it is, where that is known, in at most 200
    characters."""

    type: ClassVar = "note"
    text: str
    speaker: str = ""
    provenance: Provenance = field(default="agent", kw_only=True)
    at: datetime | None = field(default=None, kw_only=True)
    original: str = field(default="", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """What the host told the agent. `summary` marks the summary that opens a compacted context."""

    type: ClassVar = "system_message"
    text: str
    summary: bool = False
    provenance: Provenance = field(default="system", kw_only=True)
    at: datetime | None = field(default=None, kw_only=True)
    original: str = field(default="", kw_only=True, repr=False)


Record: TypeAlias = UserMessage | AssistantMessage | ToolCall | ToolResult | Note | SystemMessage


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record as history holds it. Ids grow across all sessions; `at` is when it was said,
    `recorded_at` when it arrived."""

    id: int
    session_id: str
    at: datetime
    recorded_at: datetime
    record: Record


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent of one user. `sleep_due` is the earliest time at which it may fall asleep: a later
    message moves the real time on without writing it here."""

    id: str
    owner: str
    cache_key: str
    descriptor: Descriptor
    state: AgentState
    created_at: datetime
    active_at: datetime
    sleep_due: datetime | None
    death_due: datetime | None


@dataclass(frozen=True, slots=True)
class Session:
    """A stretch of one agent's history. `invalidated_at` (the mark) and `processed_until` hold record
    ids, not times. A mark always stands above `processed_until`."""

    id: str
    agent_id: str
    created_at: datetime
    ended_at: datetime | None
    reset_message: str | None
    invalidated_at: int | None
    processed_until: int | None


@dataclass(frozen=True, slots=True)
class SessionOutline:
    """What a session is about: the first sentence of its first request, how many messages it has (tool calls and
    results do not count), and when the first and the last were said."""

    session_id: str
    title: str
    messages: int
    first: datetime | None
    last: datetime | None


@dataclass(frozen=True, slots=True)
class Turn:
    """A completed turn, from one `end_turn` to the next: the records of a session after `after` (0 for the first
    turn), up to `until`."""

    session_id: str
    after: int
    until: int


@dataclass(frozen=True, slots=True)
class LifecycleResult:
    """What `advance` did: the ids of the agents that fell asleep, and of those that died."""

    slept: tuple[str, ...] = ()
    died: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stats:
    """How much there is in a user. `items` counts what can be found, by kind; `cost_today` is USD of the whole
    home."""

    agents: int
    sessions: int
    documents: int
    items: Mapping[ItemKind, int]
    cost_today: float


# What organizing makes of it


ReferenceKind = Literal["parent", "link", "body"]


@dataclass(frozen=True, slots=True)
class Reference:
    """From one version of a document to another document."""

    target_id: str
    kind: ReferenceKind


@dataclass(frozen=True, slots=True)
class Document:
    """One version of one document. It held from `valid_from` until `valid_to` (none: it is the current
    one). `parent_id` is empty for a root; `path` is `~/slug/slug`, computed."""

    id: str
    version: int
    path: str
    parent_id: str
    slug: str
    title: str
    description: str
    body: str
    links: tuple[str, ...]
    valid_from: datetime
    valid_to: datetime | None
    changeset_id: int

    @property
    def short_id(self) -> str:
        """As much of the id as is shown; every call that takes an id takes its beginning."""
        return self.id[:9]


Cause = Literal["run", "edit", "rollback"]


@dataclass(frozen=True, slots=True)
class Changeset:
    """Edits that landed together. `cause`: a memory-agent's run, somebody's edit, or a rollback. A run
    names the session and the records (after, until] it learned from, and what it cost. `trust` is whose word a
    text is that cites nothing; `approved_by` is the person who let an agent's text in, which was written at
    `said_at`."""

    id: int
    owner: str
    at: datetime
    cause: Cause
    author: str
    note: str = ""
    session_id: str = ""
    after: int = 0
    until: int = 0
    inbox_id: int | None = None
    organizer: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    trust: Provenance = "user"
    approved_by: str = ""
    said_at: datetime | None = None


ItemState = Literal["pending", "leased", "done", "dead"]


@dataclass(frozen=True, slots=True)
class InboxItem:
    """A transcript on its way to a memory-agent: the records (after, until] of a session. `attempts` failed
    or are under way, `losses` ended with their worker. `due_at` is none while the item stands behind another
    of its agent; `text` is empty once the work is done: history has it."""

    id: int
    agent_id: str
    type: str
    text: str
    session_id: str
    after: int
    until: int
    state: ItemState
    attempts: int
    losses: int
    due_at: datetime | None
    error: str
    created_at: datetime
    done_at: datetime | None
    changeset_id: int | None


# What comes back


ItemKind = Literal["record", "fact", "journal", "note", "experience"]
"""What can be found: a record of what was said, a fact of a document, a line of the journal, a worker's note, an
experience."""

ITEM_KINDS: tuple[ItemKind, ...] = get_args(ItemKind)


class Item(NamedTuple):
    """Something that can be found, as its source hands it over. `ref` names it within its kind, and for one `ref`
    the text never changes. `container` is the session, document or file that holds it. Its times: `at` said,
    `since` known from (none: now). `public_id` is the id that people see of a fact. `approved_by` is the person
    who approved what an agent wrote."""

    kind: ItemKind
    ref: str
    text: str
    at: datetime
    container: str = ""
    agent_id: str = ""
    session_id: str = ""
    record_id: int | None = None
    speaker: str = ""
    trust: Provenance = "agent"
    since: datetime | None = None
    public_id: str = ""
    approved_by: str = ""


Confidence = Literal["low", "fair", "high"]
CONFIDENCES: tuple[Confidence, ...] = get_args(Confidence)
"""How sure it is that a hit answers the question. `low`: it is only the nearest that there is."""


SOURCE_LABELS: Mapping[str, str] = {"tool": "from a tool", "web": "from the web"}
"""How the source of an item is marked that is only data."""
QUOTED_LABEL = "quoted or made up"


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that was found. `id` is what every verb takes: "r33", or a letter for its kind and
    digits; `path` is where a person finds it, if it has a place; `trust` is who said it, and `approved_by` the
    person who approved it, where an agent wrote it and it waited for one; `until` is when it stopped being true
    (none: it holds); `confidence` is how sure it is that the hit answers the question; `sources` are other items
    that say the same: the records behind a fact, a record's journal line or experience; `newer` is what was
    said later that seems to replace it, where that is not certain; `parts` is what makes the score; `quoted`: what
    of it is about the question is not the word of who said it: they quote or paste it, or make it up."""

    id: str
    kind: ItemKind
    text: str
    at: datetime
    trust: Provenance
    score: float
    speaker: str = ""
    agent_id: str = ""
    session_id: str = ""
    record_id: int | None = None
    path: str = ""
    until: datetime | None = None
    pinned: bool = False
    confidence: Confidence = "fair"
    sources: tuple[Hit, ...] = ()
    newer: Hit | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    approved_by: str = ""
    quoted: bool = False

    @property
    def trust_label(self) -> str:
        """Whose word it is, for people and models: "agent", or "agent, approved by mara", or "user, quoted or made
        up"."""
        if self.quoted:
            return f"{self.trust}, {QUOTED_LABEL}"
        return f"{self.trust}, approved by {self.approved_by}" if self.approved_by else self.trust

    @property
    def source_label(self) -> str:
        """How it is marked where it is not the word of a person or an agent: "from the web"; else empty."""
        return QUOTED_LABEL if self.quoted else SOURCE_LABELS.get(self.trust, "")


class Found(Protocol):
    """What a question finds: a hit, an experience."""

    @property
    def confidence(self) -> Confidence: ...


NOTHING_KNOWN = "Nothing is known about this."
ONLY_NEAREST = f"{NOTHING_KNOWN} The nearest, for what they are worth:"
"""What people and agents are told before hits of which none is fair."""


def nothing_known(found: Iterable[Found]) -> bool:
    """Return whether a search knows nothing: it found nothing, or only what has a low confidence."""
    return all(one.confidence == "low" for one in found)
