"""Who speaks in a transcript, to whom, and how far each is to be believed.

A person tells of themselves, also in a note of theirs. An assistant's advice is not knowledge, but what it did
or promised is; so is what an agent without a person did and learned. What tools and the web say is data (SPEC
O12). The host's messages and summaries are nobody's speech.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from lifelong.collect.history import LONGEST_SPEAKER
from lifelong.collect.transcript import without_injected
from lifelong.organize.organizer import Transcript
from lifelong.redaction import has_secret
from lifelong.types import AssistantMessage, Note, StoredRecord, ToolResult, UserMessage

USER = "User"
ASSISTANT = "Assistant"
AGENT = "Agent"

Role = Literal["person", "assistant", "agent", "data"]


@dataclass(frozen=True, slots=True)
class Said:
    """A record in which something was said. `question` is what the one who spoke before had asked last, in
    the record `asked_in`; `before` is the whole of what they said."""

    recorded: StoredRecord
    role: Role
    me: str
    you: str
    text: str
    question: str = ""
    asked_in: int = 0
    before: str = ""

    @property
    def to_assistant(self) -> bool:
        return self.you == ASSISTANT

    @property
    def to_no_person(self) -> bool:
        """Whether a person says it to an assistant, or where nobody else is heard: then one listens."""
        return self.role == "person" and self.you in {"", ASSISTANT}


def voices(transcript: Transcript) -> list[Said]:
    """What was said, in order."""
    user = sayable(called(transcript.user)) or USER
    heard = [
        (r, role, _name(r, role, user)) for r in transcript.records if (role := _role(r, transcript.foreground))
    ]
    speakers = list(dict.fromkeys(name for _, role, name in heard if role in {"person", "assistant"}))
    said: list[Said] = []
    last: Said | None = None
    for recorded, role, me in heard:
        text = without_injected(getattr(recorded.record, "text", ""))
        if role not in {"person", "assistant"} or (isinstance(recorded.record, Note) and recorded.record.speaker):
            said.append(Said(recorded, role, me, "", text))
            continue
        other = last if last and last.me != me else None
        you = other.me if other else next((name for name in speakers if name != me), "")
        last = Said(recorded, role, me, you, text)
        if other:
            last = Said(recorded, role, me, you, text, _last_question(other.text), other.recorded.id, other.text)
        said.append(last)
    return said


def called(user: str) -> str:
    """The name of somebody of whom only the address is known."""
    return user.title() if user.isalpha() else user


def sayable(name: str) -> str:
    """The name; nothing where it is a secret, or longer than any."""
    return "" if len(name) > LONGEST_SPEAKER or has_secret(name) else name


def names(said: Iterable[Said]) -> frozenset[str]:
    """The names that speakers may call each other by."""
    return frozenset(name for one in said if one.role == "person" for name in (one.me, *one.me.split())) - {USER}


def _role(recorded: StoredRecord, foreground: bool) -> Role | None:
    record = recorded.record
    if isinstance(record, ToolResult) or record.provenance in {"tool", "web"}:
        return "data"
    if record.provenance == "system":
        return None
    match record:
        case UserMessage():
            return "person" if foreground else None
        case Note(provenance="user"):
            return "person"
        case AssistantMessage() if foreground:
            return "person" if sayable(record.speaker.strip()) else "assistant"
        case AssistantMessage() | Note():
            return "agent"
        case _:
            return None


def _name(recorded: StoredRecord, role: Role, user: str) -> str:
    record = recorded.record
    if role == "person":
        return sayable(" ".join(getattr(record, "speaker", "").split())) or user
    return ASSISTANT if role == "assistant" else AGENT


def _last_question(text: str) -> str:
    end = text.rfind("?")
    start = max(text.rfind(mark, 0, max(end, 0)) for mark in ".!?\n")
    return text[start + 1 : end + 1].strip() if 3 < end - start <= 200 else ""
