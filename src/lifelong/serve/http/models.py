"""What operations take and answer, where a dataclass of lifelong is not enough: parameters, bodies, tagged unions.

The models of records and descriptors are made from the dataclasses, so that they cannot differ from them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, fields
from datetime import date, datetime
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias, get_args, get_type_hints

from fastapi import Depends, Path, Query, Request
from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    Strict,
    create_model,
    model_validator,
)

from lifelong import types
from lifelong.collect import descriptors
from lifelong.collect.history import from_json
from lifelong.forget.proof import Proof
from lifelong.journal.records import Sensitivity
from lifelong.memory import DEFAULT_USER, Memory, Store
from lifelong.recall import recall_log
from lifelong.recall.feedback import Verdict
from lifelong.serve.operation import Operation, operation_of
from lifelong.tokens import MAX_NAME_CHARS, Scope
from lifelong.types import Document, ItemKind, Provenance, Reference

USER_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,63}$"
ANY_USER_PATTERN = r"^([a-z0-9][a-z0-9_-]{0,63})?$"  # or none
BACKUP_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$"
RECORD_PATTERN = r"^[rR]?\d{1,19}$"
REVIEW_PATTERN = r"^[vV]?\d{1,18}$"
MAX_MESSAGES = 10_000  # in one call
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(_DAY.pattern + r"[Tt ]\d", re.ASCII)


# Parameters


def _fits(pattern: str, advice: str) -> BeforeValidator:
    """Return a check that says in words what a pattern asks for."""

    def check(value: object) -> object:
        if isinstance(value, str) and not re.fullmatch(pattern, value, re.ASCII):
            raise ValueError(advice)
        return value

    return BeforeValidator(check)


_NAMES_USER = _fits(
    USER_PATTERN,
    "A user's name has 1 to 64 of the characters a-z, 0-9, _ and -, and begins with a letter or digit",
)


ANY_USER = _fits(ANY_USER_PATTERN, "Give the name of a user")


async def _memory_of(
    request: Request,
    user: Annotated[
        str, _NAMES_USER, Query(pattern=USER_PATTERN, description="Whose memory; with a token of a user, theirs.")
    ] = DEFAULT_USER,
) -> Callable[..., Memory]:
    """Return a function that gives the user's memory; with `new`, also that of a user who holds nothing yet. It is
    called in the thread that answers, because it may read from the disk. A token of a user names the user, who may
    hold nothing yet."""
    store: Store = request.app.state.store
    own = operation_of(request.scope).grant.user

    def memory(*, new: bool = False) -> Memory:
        return store.user(own or user) if new or own else store.existing_user(user)

    return memory


def _check_time(value: object) -> object:
    """Refuse numbers: nobody could say which time they mean."""
    if isinstance(value, str) and not _TIME.match(value):
        raise ValueError("Give a time in ISO 8601 with its zone, e.g. 2026-03-05T12:00:00Z")
    if isinstance(value, int | float):
        raise ValueError("Give a time as text, e.g. 2026-03-05T12:00:00Z")  # noqa: TRY004
    return value


def _check_day(value: object) -> object:
    if isinstance(value, str) and not _DAY.fullmatch(value):
        raise ValueError("Give a day in ISO 8601, e.g. 2026-03-05")
    return value


async def _operation_of(request: Request) -> Operation:
    return operation_of(request.scope)


UserMemory = Annotated[Callable[..., Memory], Depends(_memory_of)]
Requested = Annotated[Operation, Depends(_operation_of)]
Moment = Annotated[AwareDatetime, BeforeValidator(_check_time)]
Day = Annotated[date, BeforeValidator(_check_day)]
Number = Annotated[int, Strict()]  # in a body, where neither true nor a text is one
RecordId = Annotated[int, Field(ge=0, lt=2**63)]
ReviewId = Annotated[
    str,
    _fits(REVIEW_PATTERN, "Give the id of a review, such as v12"),
    Path(pattern=REVIEW_PATTERN, examples=["v12"]),
]
RecordName = Annotated[
    str,
    _fits(RECORD_PATTERN, "Give the id of a record, such as r42"),
    Path(pattern=RECORD_PATTERN, examples=["r42"]),
]
Version = Annotated[int, Field(ge=1, lt=2**31)]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]
AsOf = Annotated[Moment | None, Query(description="As it was at this time.")]


# Records and descriptors


class Body(BaseModel):
    """A body that refuses unknown fields: they are mistakes."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)


def _model(kind: type, tag: str = "", **names: Any) -> Any:
    """Return the dataclass as a model, with the tag that tells it from the others of a union. `names` are what
    some names in its annotations mean here."""
    hints = get_type_hints(kind, localns=names, include_extras=True)
    content: dict[str, Any] = {tag: (Literal[getattr(kind, tag)], ...)} if tag else {}
    for field in (one for one in fields(kind) if one.name != types.ORIGINAL):
        default = {} if field.default_factory is not MISSING else field.default
        content[field.name] = (hints[field.name], ... if default is MISSING else default)
    return create_model(kind.__name__, __base__=Body, __doc__=kind.__doc__, **content)


def _union(of: Any, tag: str) -> Any:
    sent = {"datetime": Moment, "Mapping": dict, "Json": JsonValue}
    kinds = reduce(or_, (_model(kind, tag, **sent) for kind in get_args(of)))
    return Annotated[kinds, Field(discriminator=tag)]


if TYPE_CHECKING:
    Record: TypeAlias = BaseModel
    Descriptor: TypeAlias = BaseModel
else:
    Record = _union(types.Record, "type")
    Descriptor = _union(descriptors.Descriptor, "kind")


def to_descriptor(model: Descriptor) -> descriptors.Descriptor:
    """Return the descriptor, validated before anything is made for it."""
    values = dict(model)
    descriptor = descriptors.KINDS[values.pop("kind")](**values)
    descriptors.validate_descriptor(descriptor)
    return descriptor


StoredRecord = _model(types.StoredRecord, Record=Record)
Agent = _model(types.Agent, Descriptor=Descriptor)


# The everyday verbs


class Add(Body):
    """What to store: a `text` (the user's word), `messages` as OpenAI, Anthropic or LangChain have them, or
    `records` of lifelong. Give one of the three."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"text": "I moved to Lisbon."},
                {"messages": [{"role": "user", "content": "I moved to Lisbon."}], "key": "m-1"},
            ]
        },
    )

    text: str | None = None
    messages: list[dict[str, JsonValue] | str] | None = Field(None, min_length=1, max_length=MAX_MESSAGES)
    records: list[Record] | None = Field(None, min_length=1, max_length=MAX_MESSAGES)
    agent: str | Descriptor | None = Field(
        None, description="The agent's id, or its descriptor. Left out: the user's default agent."
    )
    at: Moment | None = Field(None, description="When it was said, where the messages do not say.")
    key: str | None = Field(None, description="An idempotency key: a retry with it stores nothing new.")
    speaker: str = Field("", description="Who said it, where the messages do not say.")

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if sum(given is not None for given in (self.text, self.messages, self.records)) != 1:
            raise ValueError("Give exactly one of text, messages and records")
        if self.text is not None and not self.text.strip():
            raise ValueError("The text is empty. Give what was said")
        return self

    def what(self) -> object:
        """Return what to store, as `Memory.add` takes it."""
        if self.records is not None:
            return [from_json(dict(record)) for record in self.records]
        return self.messages if self.text is None else self.text

    def agent_or_id(self) -> descriptors.Descriptor | str | None:
        return self.agent if isinstance(self.agent, str | None) else to_descriptor(self.agent)


class Tombstone(BaseModel):
    """That something was forgotten: a record by its number, or a document, a session or an agent by its id."""

    model_config = ConfigDict(from_attributes=True)

    kind: str = Field(examples=["record"])
    ref: str = Field(examples=["42"])
    at: datetime
    author: str = Field(examples=["person"])


class Added(BaseModel):
    """The records are durable under these ids, in the order in which they were sent. `forgotten` are those that
    had been forgotten and came again with their own times: they are not stored, and are not among the ids."""

    ids: list[str] = Field(examples=[["r42", "r43"]])
    forgotten: list[Tombstone] = Field(default=[], examples=[[]])


class Search(Body):
    """What to look for, and where: see docs/concepts/recall.md."""

    query: str = Field(examples=["Where does Mara live?"])
    top_k: Number = Field(5, ge=1, le=1000)
    agent: str | None = Field(None, description="Only what was said to this agent (its id).")
    kinds: list[ItemKind] = Field(default=[], description="Only these kinds; empty: all.")
    since: Moment | None = None
    until: Moment | None = None
    as_of: Moment | None = Field(None, description="What was known at this time.")
    explain: bool = Field(False, description="Say what each score is made of.")


class AgentRef(Body):
    """An agent by its id. Left out: the user's default agent."""

    agent: str | None = None


class Context(AgentRef):
    """Whose next turn it is, what it is about, and how many tokens it may take."""

    message: str | None = Field(default=None, examples=["What did we decide about the launch?"])
    tokens: Number | None = Field(default=None, ge=0, le=1_000_000)
    explain: bool = Field(default=False, description="End each line with why it is there.")
    relevant_only: bool = Field(default=False, description="Without what a session began with.")


class Text(BaseModel):
    """A text; empty where there is nothing to say."""

    text: str


class ItemRef(Body):
    """An item by the id of a hit."""

    item: str = Field(examples=["r42"])


class Correction(ItemRef):
    """What is true instead of an item."""

    text: str = Field(examples=["Mara moved to Porto in May."])


class Feedback(ItemRef):
    """Whether a hit was useful."""

    verdict: Verdict
    recall_id: Number | None = Field(default=None, ge=0, lt=2**63)


class Judged(BaseModel):
    """The sentences that ended because the item that says them is outdated."""

    ended: list[str]


class Forget(Body):
    """What to forget: ids of hits or paths of documents, a session, an agent, a person or subject, words that all
    must occur, a range of time (alone: every record in it). Nothing goes unless `dry_run` is false."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"ids": ["r42"]}, {"about": "Priya", "dry_run": False, "author": "mara"}]},
    )

    ids: list[str] = Field(default=[], max_length=1000, examples=[["r42", "~/memory/people/priya"]])
    session: str | None = Field(None, description="A session's id.")
    agent: str | None = Field(None, description="An agent's id: all its sessions, and the agent.")
    about: str = Field("", examples=["Priya"])
    matching: str = Field("", description="Words that all must occur.")
    since: Moment | None = None
    until: Moment | None = None
    dry_run: bool = Field(True, description="Only say what would go. This is the default; false forgets it.")
    prove: bool = Field(True, description="Then look for what is left of it, in tables, files and searches.")
    author: str = Field("person", description="On whose word: the tombstones keep it.", examples=["mara"])


class Staying(BaseModel):
    """A record that would stay although it repeats what goes, or has only the first name of the person."""

    model_config = ConfigDict(from_attributes=True)

    id: str = Field(examples=["r43"])
    text: str
    why: str = Field(examples=["repeats what goes"])


class ForgetReport(BaseModel):
    """What went, or would go (`preview`). Records by id, those that lost a part (`cut`); documents and files by
    path; `facts` and `texts` in a preview only. `backups` were made before and still hold it. `complete` is false
    where something is left to do, which the next start does; `left` says what."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    preview: bool
    records: list[str] = Field(examples=[["r42"]])
    cut: list[str]
    documents: list[str] = Field(description="With every version.")
    rewritten: list[str] = Field(description="Documents that are written again without it.")
    facts: list[str]
    texts: list[str] = Field(description="The beginning of each record, after its id.")
    fact_count: int
    lines: int = Field(description="Lines of the journal that go.")
    remade: int = Field(description="Lines of the journal that are made again without it.")
    paragraphs: int
    experiences: int
    sessions: int
    agents: int
    searches: int = Field(description="Logged searches.")
    files: list[str] = Field(description="Files that are written again without it.")
    backups: list[str]
    complete: bool
    left: str
    stays: list[Staying] = Field(
        default=[], description="In a preview: what repeats it or has only the first name, and would stay."
    )


class Forgotten(BaseModel):
    """What went, and the proof: none for a preview, or where none was asked for."""

    report: ForgetReport
    proof: Proof | None


class Reset(Body):
    """Why the session ends; `emergency`: the context overflowed."""

    message: str | None = None
    emergency: bool = False


class Summary(Body):
    """What the new session opens with."""

    summary: str = Field(examples=["They planned a trip to Lisbon."])


# Documents


class DocumentHead(Body):
    """A document without its body."""

    id: str
    version: int
    path: str
    parent_id: str
    slug: str
    title: str
    description: str
    valid_from: datetime
    changeset_id: int


class DocumentWithLinks(BaseModel):
    """A document, what it refers to, and its children."""

    document: Document
    references: list[Reference]
    children: list[DocumentHead]


class Signed(Body):
    """Who makes a change, and why."""

    author: str = Field("person", examples=["mara"])
    note: str = ""


class NewDocument(Signed):
    """The whole of a document. The parent goes by its id or its path; left out, a changed document stays where it
    is, and a new one is a root."""

    slug: str = Field(examples=["trains"])
    title: str = Field(examples=["Trains"])
    description: str = Field("", examples=["What is known about trains."])
    body: str = Field("", examples=["Mara prefers trains."])
    parent_id: str | None = None
    parent_path: str | None = Field(None, examples=["~/memory"])
    links: list[str] | None = Field(None, description="Ids or paths. Left out: as they are.")


class DocumentReplacement(NewDocument):
    """The whole of a document that was read at this version."""

    expected_version: Number = Field(ge=1, lt=2**31)


class DocumentEdit(Signed):
    """Append a paragraph, or replace a text that occurs exactly once."""

    expected_version: Number = Field(ge=1, lt=2**31)
    append: str | None = Field(None, examples=["She takes the night train."])
    find: str | None = None
    replace: str | None = None


class PastTime(Body):
    """A time to return to."""

    time: Moment
    author: str = "person"


class Consolidation(Body):
    """How documents are tidied."""

    dry_run: bool = False


# Journal, notes, experiences


class NewJournalRecord(Body):
    """A line for the journal."""

    text: str = Field(examples=["Mara prefers trains."])
    category: str = Field("note", examples=["user-preference"])
    sensitivity: Sensitivity = "operational"


class RestoredNotes(BaseModel):
    """The keys of the notes that are back."""

    restored: list[str]


class NoteContent(Body):
    """The text of a note."""

    content: str = Field(examples=["The staging server restarts at 04:00 UTC."])


class NewExperience(Body):
    """An experience, in a whole sentence."""

    text: str = Field(examples=["Deploys on Fridays went wrong twice in March."])
    category: str = "note"
    session_id: str = ""
    trust: Provenance = "agent"
    at: Moment | None = None
    entities: list[str] | None = Field(None, description="Left out: the names in the text.")


class ExperienceQuery(Body):
    """What to look for among the experiences."""

    query: str = Field(examples=["deploys"])
    top_k: Number = Field(5, ge=1, le=1000)


class AddedExperience(BaseModel):
    """The new experience's id; null where the same one is known already."""

    id: str | None


# Reviews


class Decision(Body):
    """Who decides. Left out: the user."""

    by: str = Field("", max_length=200, examples=["mara"])


class OtherWords(Decision):
    """What to write instead of what waits."""

    text: str = Field(examples=["Mara prefers trains to planes."])


# The home


class Released(BaseModel):
    """How many items were taken from their workers."""

    released: int


class Retried(BaseModel):
    """How many items are tried again."""

    retried: int


class CreateToken(Body):
    """A token to make. `read` and `write` need the user whose memory they reach; `admin` is for the whole home."""

    user: Annotated[str, ANY_USER] = Field("", pattern=ANY_USER_PATTERN, examples=["mara"])
    scope: Scope = "write"
    name: str = Field("", max_length=MAX_NAME_CHARS, description="What it is for.", examples=["laptop"])


class BackupName(Body):
    """The name of the backup in the home's folder `backups`. Left out: the time."""

    name: Annotated[str | None, _fits(BACKUP_PATTERN, "A backup's name has 1 to 100 letters, digits, _ and -")] = (
        Field(default=None, pattern=BACKUP_PATTERN, examples=["before-the-move"])
    )


class Backup(BaseModel):
    """A whole copy of the home."""

    path: str
    bytes: int


class ScoredHit(BaseModel):
    """A hit as the recall log holds it."""

    id: str
    score: float
    rank: int


Recalled = _model(recall_log.Recalled, Scored=ScoredHit)
