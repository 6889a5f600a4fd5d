"""What goes in and comes out where a frozen dataclass of ours is not enough: tagged unions, and bodies.

Those of records and descriptors, and of what holds some, are made from the dataclasses, so that they cannot differ
from them.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, JsonValue, create_model

from lifelong import types
from lifelong.collect import descriptors
from lifelong.collect.history import from_json
from lifelong.journal.records import Sensitivity
from lifelong.recall import recall_log
from lifelong.recall.feedback import Verdict
from lifelong.serve.http.params import Moment, RecordId
from lifelong.types import ItemKind, Provenance


class Body(BaseModel):
    """What is sent: a field that nobody knows is a mistake, not a wish."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)


def _model(kind: type, tag: str = "", **names: Any) -> Any:
    """The dataclass as a model, with the tag that tells it from the others of a union. `names` are what some names
    in its annotations mean here."""
    hints = get_type_hints(kind, localns=names, include_extras=True)
    content: dict[str, Any] = {tag: (Literal[getattr(kind, tag)], ...)} if tag else {}
    for field in fields(kind):
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


def record_of(model: Record) -> types.Record:
    return from_json(dict(model))


def descriptor_of(model: Descriptor) -> descriptors.Descriptor:
    """The descriptor, checked before anything is opened or made for it."""
    parts = dict(model)
    descriptor = descriptors.KINDS[parts.pop("kind")](**parts)
    descriptors.validate_descriptor(descriptor)
    return descriptor


StoredRecord = _model(types.StoredRecord, Record=Record)
Agent = _model(types.Agent, Descriptor=Descriptor)


class Append(Body):
    """A record to store. With a `key`, sending it again stores nothing and gives the first id."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"record": {"type": "user_message", "text": "I moved to Lisbon."}, "key": "m-1"}]
        },
    )

    record: Record
    key: str | None = None


class AppendMany(Body):
    """Records to store in order, all or none."""

    turns: list[Append] = Field(min_length=1, max_length=10_000)


class Stored(BaseModel):
    """The record is durable under this id."""

    id: int = Field(examples=[42])


class StoredMany(BaseModel):
    """The records are durable under these ids, in the order in which they were sent."""

    ids: list[int] = Field(examples=[[42, 43]])


class Reset(Body):
    """Why the session ends; `emergency`: the context overflowed."""

    message: str | None = None
    emergency: bool = False


class Summary(Body):
    """What the new session opens with."""

    summary: str = Field(examples=["They planned a trip to Lisbon."])


class Question(Body):
    """What to look for, and where: see docs/concepts/recall.md."""

    query: str = Field(examples=["Where does Mara live?"])
    top_k: int = Field(5, ge=1, le=1000)
    agent: str | None = Field(None, description="Only what was said to this agent (its id).")
    kinds: list[ItemKind] = Field(default=[], description="Only these kinds; empty: all.")
    since: Moment | None = None
    until: Moment | None = None
    as_of: Moment | None = Field(None, description="What was known at this time.")
    explain: bool = Field(False, description="Say what each score is made of.")


class ContextOf(Body):
    """Whose next turn, what it is about, and how much room there is."""

    agent: str = Field(description="The agent's id.")
    message: str | None = Field(None, examples=["What did we decide about the launch?"])
    tokens: int | None = Field(None, ge=0, le=1_000_000)


class Text(BaseModel):
    """A text; empty where there is nothing to say."""

    text: str


class ItemOf(Body):
    """Names an item by the id of a hit."""

    item: str = Field(examples=["r42"])


class Correction(ItemOf):
    """What is so instead of an item."""

    text: str = Field(examples=["Mara moved to Porto in May."])


class Feedback(ItemOf):
    """What a hit was worth."""

    verdict: Verdict
    recall_id: RecordId | None = None


class Scored(BaseModel):
    """A hit as the log has it."""

    id: str
    score: float
    rank: int


Recalled = _model(recall_log.Recalled, Scored=Scored)


class Remember(Body):
    """A line for the journal."""

    text: str = Field(examples=["Mara prefers trains."])
    category: str = Field("note", examples=["user-preference"])
    sensitivity: Sensitivity = "operational"


class NoteOf(Body):
    """What a note says."""

    content: str = Field(examples=["The staging server restarts at 04:00 UTC."])


class AddExperience(Body):
    """An experience, told in a whole sentence."""

    text: str = Field(examples=["Deploys on Fridays went wrong twice in March."])
    category: str = "note"
    session_id: str = ""
    trust: Provenance = "agent"
    at: Moment | None = None
    entities: list[str] | None = Field(None, description="Left out: the names in it.")


class ExperienceQuestion(Body):
    """What to look for among the experiences."""

    query: str = Field(examples=["deploys"])
    top_k: int = Field(5, ge=1, le=1000)


class Added(BaseModel):
    """The new experience's id; none where it is there already."""

    id: str | None


class Retried(BaseModel):
    """How many items were tried again."""

    retried: int
