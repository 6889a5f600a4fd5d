"""Who speaks in a transcript, to whom, and how far each is to be believed.

A person tells of themselves, also in a note of theirs. An assistant's advice is not knowledge, but what it did
or promised is; so is what an agent without a person did and learned. What tools and the web say is data (SPEC
O12). The host's messages and summaries are nobody's speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from lifelong.collect.history import LONGEST_SPEAKER
from lifelong.collect.transcript import without_injected
from lifelong.organize.organizer import Transcript
from lifelong.redaction import has_secret
from lifelong.text.dates import MONTHS, WEEKDAYS
from lifelong.text.words import word_set
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


# Whom and what a conversation is about


_READ = 2_000  # characters of a text that are looked at
_NAME = r"[A-Z][a-z\u00e0-\u024f]+(?:-[A-Z][a-z]+)?"
_KIN = (
    "sister|brother|wife|husband|partner|girlfriend|boyfriend|fianc\u00e9e?|mother|mom|mum|father|dad|son|daughter"
    "|cousin|uncle|aunt|niece|nephew|grandma|grandpa|grandmother|grandfather|friend|colleague|coworker|boss|manager"
    "|neighbou?r|roommate|flatmate|teacher|coach|mentor|intern|teammate|classmate"
)
_PERSON = re.compile(
    rf"\b(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|\w's) (?:\w+ )?(?:{_KIN}),? ({_NAME})\b"
    rf"|\b(?:married|invited|texted|hugged) ({_NAME})\b"
    rf"|\b({_NAME})(?: (?:lives|teaches|studies|hates|speaks|married|grew up"
    rf"|was born|comes from|turned \d+|is (?:my|our) (?:\w+ )?(?:{_KIN}))|'s (?:birthday|wedding|{_KIN}))\b"
)
_MAYBE_PERSON = re.compile(
    rf"\b({_NAME}) (said|says|asked|asks|wants|wanted|needs|needed|likes|liked|prefers|knows|agreed|promised"
    r"|suggested|called|moved|works|worked|told|joined|wrote|hopes|plans|helps|helped"
    rf"|thinks|feels|loves|loved|enjoys)\b|\b(told|met) ({_NAME})\b"
)
_CAPITAL_BEFORE, _LONGEST_WORD = re.compile(r"\b[A-Z][\w-]* \Z"), 40  # "Tejo Ferries wants" is no Ferries
_WORK = r"(?:project|repo(?:sitory)?|app|service|release|launch|roadmap|backend)"
_PROJECT = re.compile(
    rf"\b(?:[Pp]roject|[Rr]epo(?:sitory)?) ([A-Z][\w-]+)|\b([A-Z]\w+) (?={_WORK}\b)"
    rf"|\b(?:{_WORK}|API|beta|database) of ([A-Z][\w-]+)"
    r"|\b([A-Z][\w-]+),? (?:is )?(?:our|my) (?:[\w-]+ ){0,3}(?:project|app|service)\b"
)
_LEADING = re.compile(
    rf"(?:{_NAME}(?: {_NAME})?'s (?:\w+ )?(?:{_KIN}),? )?((?:{_NAME} ?){{1,3}})(?='s |(?<= )[a-z])"
)
_CAPITAL = re.compile(r"(?<=[\w,] )[A-Z][\w-]+")
_NOT_NAMES = word_set(
    """The This That These Those My Our Your His Her Their Its It He She They We You There Here When While After
    Before If Since Because Although Though But And So Also Then Now Today Yesterday Tomorrow Every Each All Some
    Many Most Both No None One Two Three Someone Everyone Nobody Who What Which Other Based Home Mr Mrs Ms Dr"""
).union(name.title() for name in (*WEEKDAYS, *MONTHS))


@dataclass(frozen=True, slots=True)
class Subjects:
    """`people`: those who talk and those who are talked of, by each name they go by. `projects` by their names."""

    people: dict[str, str]
    projects: frozenset[str]

    def of(self, text: str, me: str) -> tuple[Literal["people", "projects"], str]:
        """What kind of subject a fact has, and its name: the one who talks, where no other is shown."""
        if (name := leading_name(text)) in self.people:
            return "people", self.people[name]
        if text.startswith(me):
            return "people", me
        first = text.removeprefix("Project ").removeprefix("The ").split(" ", 1)[0].removesuffix("'s")
        words = text.split()
        named = first if first in self.projects else next((word for word in words if word in self.projects), "")
        return ("projects", named) if named else ("people", me)


def subjects(said: Sequence[Said]) -> Subjects:
    heard = "\n".join(one.text[:_READ] for one in said if one.role != "data")
    people = {name: name for name in _people(heard)}
    for one in said:
        if one.role == "person":
            people |= {one.me.split(" ", 1)[0]: one.me, one.me: one.me}
    projects = {name for groups in _PROJECT.findall(heard) for name in groups} - _NOT_NAMES - {""}
    return Subjects(people, frozenset(projects - people.keys()))


def leading_name(text: str) -> str:
    """The name with which a fact begins; empty where it begins with another word."""
    found = _LEADING.match(text)
    name = found[1].strip() if found else ""
    return "" if not name or name.split(" ", 1)[0] in _NOT_NAMES else name


def capitals(text: str) -> Iterator[str]:
    """The words within a fact that may name something."""
    yield from (word for word in _CAPITAL.findall(text) if word not in _NOT_NAMES)


def _people(text: str) -> Iterator[str]:
    """Those of whom something is said that is said of people only, or two things that mostly are."""
    maybe: dict[str, set[str]] = {}
    for found in _MAYBE_PERSON.finditer(text):
        if found[4] or not _CAPITAL_BEFORE.search(text, max(found.start() - _LONGEST_WORD, 0), found.start()):
            maybe.setdefault(found[1] or found[4], set()).add(found[2] or found[3])
    certain = {next(filter(None, found.groups())) for found in _PERSON.finditer(text)}
    yield from (certain | {name for name, does in maybe.items() if len(does) > 1}) - _NOT_NAMES
