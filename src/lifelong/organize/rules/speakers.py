"""Who speaks in a transcript, to whom and about whom, and what each is trusted for.

A person is trusted about themselves, also in their notes. An assistant's advice is not knowledge, but what it did
or promised is; so is what an agent that works alone did and learned. What tools and the web say is data (SPEC
O12). The host's messages and summaries are not speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from lifelong.collect.history import MAX_SPEAKER_CHARS
from lifelong.collect.transcript import without_injected
from lifelong.organize.organizer import Transcript
from lifelong.redaction import has_secret
from lifelong.text.dates import MONTHS, WEEKDAYS
from lifelong.text.names import ACQUAINTANCES, FEMALE_RELATIVES, MALE_RELATIVES
from lifelong.text.words import word_set
from lifelong.types import AssistantMessage, Note, StoredRecord, ToolResult, UserMessage

USER = "User"
ASSISTANT = "Assistant"
AGENT = "Agent"

SpeakerRole = Literal["person", "assistant", "agent", "data"]


@dataclass(frozen=True, slots=True)
class Utterance:
    """A record in which something was said. `question` is the last question of the previous speaker, from the
    record `asked_in`; `previous_text` is all of what they said."""

    recorded: StoredRecord
    role: SpeakerRole
    speaker: str
    listener: str
    text: str
    question: str = ""
    asked_in: int = 0
    previous_text: str = ""

    @property
    def to_assistant(self) -> bool:
        return self.listener == ASSISTANT

    @property
    def heard_by_assistant(self) -> bool:
        """A person speaks, and no other person listens."""
        return self.role == "person" and self.listener in {"", ASSISTANT}


def find_utterances(transcript: Transcript) -> list[Utterance]:
    """Return what was said, in order."""
    user = usable_name(display_name(transcript.user_address)) or USER
    spoken = [
        (r, role, _name(r, role, user)) for r in transcript.records if (role := _role(r, transcript.foreground))
    ]
    speakers = list(dict.fromkeys(name for _, role, name in spoken if role in {"person", "assistant"}))
    utterances: list[Utterance] = []
    last: Utterance | None = None
    for recorded, role, speaker in spoken:
        text = without_injected(getattr(recorded.record, "text", ""))
        if role not in {"person", "assistant"} or (isinstance(recorded.record, Note) and recorded.record.speaker):
            utterances.append(Utterance(recorded, role, speaker, "", text))
            continue
        other = last if last and last.speaker != speaker else None
        listener = other.speaker if other else next((name for name in speakers if name != speaker), "")
        last = Utterance(recorded, role, speaker, listener, text)
        if other:
            last = Utterance(
                recorded, role, speaker, listener, text, _last_question(other.text), other.recorded.id, other.text
            )
        utterances.append(last)
    return utterances


def display_name(user: str) -> str:
    """Return a name for somebody of whom only the address is known."""
    return user.title() if user.isalpha() else user


def usable_name(name: str) -> str:
    """Return the name; empty if it is a secret or too long."""
    return "" if len(name) > MAX_SPEAKER_CHARS or has_secret(name) else name


def speaker_names(utterances: Iterable[Utterance]) -> frozenset[str]:
    """Return the names that speakers may use for each other."""
    return frozenset(
        name for one in utterances if one.role == "person" for name in (one.speaker, *one.speaker.split())
    ) - {USER}


def _role(recorded: StoredRecord, foreground: bool) -> SpeakerRole | None:
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
            return "person" if usable_name(record.speaker.strip()) else "assistant"
        case AssistantMessage() | Note():
            return "agent"
        case _:
            return None


def _name(recorded: StoredRecord, role: SpeakerRole, user: str) -> str:
    record = recorded.record
    if role == "person":
        return usable_name(" ".join(getattr(record, "speaker", "").split())) or user
    return ASSISTANT if role == "assistant" else AGENT


def _last_question(text: str) -> str:
    end = text.rfind("?")
    start = max(text.rfind(mark, 0, max(end, 0)) for mark in ".!?\n")
    return text[start + 1 : end + 1].strip() if 3 < end - start <= 200 else ""


# Whom and what a conversation is about


_MAX_CHARS_READ = 2_000
_NAME = r"[A-Z][a-z\u00e0-\u024f]+(?:-[A-Z][a-z]+)?"
_KIN = "|".join(sorted(FEMALE_RELATIVES | MALE_RELATIVES | ACQUAINTANCES | word_set("intern teammate classmate")))
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
_CAPITAL_BEFORE, _MAX_WORD_CHARS = (
    re.compile(r"\b[A-Z][\w-]* \Z"),
    40,
)  # in "Tejo Ferries wants", Ferries is not a person
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
    """The speakers and the people they mention, by each of their names, and the names of projects."""

    people: dict[str, str]
    projects: frozenset[str]

    def of(self, text: str, speaker: str) -> tuple[Literal["people", "projects"], str]:
        """Return the kind and the name of a fact's subject: the speaker, if it names no other."""
        if (name := leading_name(text)) in self.people:
            return "people", self.people[name]
        if text.startswith(speaker):
            return "people", speaker
        first = text.removeprefix("Project ").removeprefix("The ").split(" ", 1)[0].removesuffix("'s")
        words = text.split()
        named = first if first in self.projects else next((word for word in words if word in self.projects), "")
        return ("projects", named) if named else ("people", speaker)


def find_subjects(utterances: Sequence[Utterance]) -> Subjects:
    spoken = "\n".join(one.text[:_MAX_CHARS_READ] for one in utterances if one.role != "data")
    people = {name: name for name in _people(spoken)}
    for one in utterances:
        if one.role == "person":
            people |= {one.speaker.split(" ", 1)[0]: one.speaker, one.speaker: one.speaker}
    projects = {name for groups in _PROJECT.findall(spoken) for name in groups} - _NOT_NAMES - {""}
    return Subjects(people, frozenset(projects - people.keys()))


def leading_name(text: str) -> str:
    """Return the name with which a fact begins; empty if it begins with another word."""
    found = _LEADING.match(text)
    name = found[1].strip() if found else ""
    return "" if not name or name.split(" ", 1)[0] in _NOT_NAMES else name


def capitals(text: str) -> Iterator[str]:
    """Return the words within a fact that may name something."""
    yield from (word for word in _CAPITAL.findall(text) if word not in _NOT_NAMES)


def _people(text: str) -> Iterator[str]:
    """Return the names with a verb that only people have, or with two that mostly people have."""
    maybe: dict[str, set[str]] = {}
    for found in _MAYBE_PERSON.finditer(text):
        if found[4] or not _CAPITAL_BEFORE.search(text, max(found.start() - _MAX_WORD_CHARS, 0), found.start()):
            maybe.setdefault(found[1] or found[4], set()).add(found[2] or found[3])
    certain = {next(filter(None, found.groups())) for found in _PERSON.finditer(text)}
    yield from (certain | {name for name, does in maybe.items() if len(does) > 1}) - _NOT_NAMES
