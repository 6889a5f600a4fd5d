"""Who speaks in a transcript, to whom and about whom.

A person is trusted about themselves, also in their notes. What the host tells an agent are its instructions. What
an assistant says, whatever its name, and what an agent that works alone, a tool or a web page says is kept with
that trust (SPEC O10, O12). A summary that opens a compacted context is nobody's word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from lifelong.collect.history import MAX_SPEAKER_CHARS
from lifelong.collect.transcript import without_injected
from lifelong.organize.facts import HOST, plain_name
from lifelong.organize.organizer import Transcript
from lifelong.redaction import mentions_secret
from lifelong.text.dates import MONTHS, WEEKDAYS
from lifelong.text.names import ACQUAINTANCES, FEMALE_RELATIVES, MALE_RELATIVES
from lifelong.text.speech import own_sentences
from lifelong.text.words import word_set
from lifelong.types import AssistantMessage, Note, StoredRecord, SystemMessage, ToolResult, UserMessage

USER = "User"
ASSISTANT = "Assistant"
AGENT = "Agent"
NAMELESS = frozenset(("default", "user"))  # addresses that tell nothing of a person
_ROLES = frozenset((HOST, ASSISTANT, AGENT))  # a person with such a name is written in lower case

SpeakerRole = Literal["person", "assistant", "agent", "data", "host"]

MAX_QUESTION_CHARS = 200

_BOOT = re.compile(r"\W*(?:you are|you're|you act as|your name is|du bist|eres|tu es)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Utterance:
    """A record in which something was said. `question` is the last question of the one who spoke before,
    `asked_by` their name; `answers` is their last sentence, if it is no question; `replies_to` is what a person
    said last before an assistant speaks. `heard_by_assistant`: an assistant listens, and not only other people.
    `is_user`: the user whose agent it is says it, and not another of several people."""

    recorded: StoredRecord
    role: SpeakerRole
    speaker: str
    text: str
    heard_by_assistant: bool = False
    question: str = ""
    asked_by: str = ""
    is_user: bool = False
    answers: str = ""
    replies_to: str = ""


def find_utterances(transcript: Transcript) -> list[Utterance]:
    """Return what was said, in order."""
    user = usable_name(plain_name(display_name(transcript.user_address))) or USER
    spoken = [
        (r, role, _name(r, role, user)) for r in transcript.records if (role := _role(r, transcript.foreground))
    ]
    people = {speaker for _, role, speaker in spoken if role == "person"}
    heard = len(people) < 2 or any(role == "assistant" for _, role, _ in spoken)
    utterances: list[Utterance] = []
    last: Utterance | None = None
    told = ""
    for recorded, role, speaker in spoken:
        text = without_injected(getattr(recorded.record, "text", ""))
        before = last if last and last.speaker != speaker and role == "person" else None
        question = _last_question(before.text) if before else ""
        asked_by = before.speaker if before else ""
        is_user = role == "person" and speaker == user and not transcript.is_guest
        answers = _last_sentence(before.text) if before and not question else ""
        replies_to = told if role == "assistant" else ""
        told = text if role == "person" else told
        one = Utterance(recorded, role, speaker, text, heard, question, asked_by, is_user, answers, replies_to)
        utterances.append(one)
        if role in {"person", "assistant"}:
            last = one
    return utterances


def display_name(user: str) -> str:
    """Return a name for somebody of whom only the address is known."""
    if user in NAMELESS:
        return USER
    return user.title() if user.isalpha() else user


def usable_name(name: str) -> str:
    """Return the name; empty if it is a secret or too long."""
    return "" if len(name) > MAX_SPEAKER_CHARS or mentions_secret(name) else name


def _role(recorded: StoredRecord, foreground: bool) -> SpeakerRole | None:
    record = recorded.record
    if isinstance(record, ToolResult) or record.provenance in {"tool", "web"}:
        return "data"
    match record:
        case SystemMessage() | UserMessage(provenance="system"):
            is_summary = isinstance(record, SystemMessage) and record.summary
            return None if is_summary or _BOOT.match(record.text) else "host"
        case UserMessage(provenance="user"):
            return "person" if foreground else "host"
        case Note(provenance="user"):
            return "person"
        case UserMessage() | AssistantMessage() if foreground:
            return "assistant"
        case AssistantMessage() | Note():
            return "agent"
        case _:
            return None


def _name(recorded: StoredRecord, role: SpeakerRole, user: str) -> str:
    record = recorded.record
    match role:
        case "person":
            name = usable_name(plain_name(usable_name(getattr(record, "speaker", "")))) or user
            return name.lower() if name in _ROLES else name
        case "assistant":
            return ASSISTANT
        case "agent":
            return AGENT
        case "host":
            return HOST
        case "data":
            return ""


def _last_question(text: str) -> str:
    """Return the question with which a text ends; empty if it ends otherwise."""
    text = text.rstrip()
    if not text.endswith("?"):
        return ""
    start = max(text.rfind(mark, 0, len(text) - 1) for mark in (". ", "! ", "? ", "\n"))
    question = text[start + 1 :].strip()
    return question if len(question) <= MAX_QUESTION_CHARS else ""


def _last_sentence(text: str) -> str:
    """Return the sentence with which a text ends; empty if it is long, or a secret."""
    *_, last = ("", *own_sentences(text))
    return "" if len(last) > MAX_QUESTION_CHARS or mentions_secret(last) else last


# Whom and what a conversation is about


_MAX_CHARS_READ = 2_000
_NAME = r"[A-Z][a-z\u00e0-\u024f]+(?:-[A-Z][a-z]+)?"
_KIN = "|".join(sorted(FEMALE_RELATIVES | MALE_RELATIVES | ACQUAINTANCES | word_set("intern teammate classmate")))
_PERSON = re.compile(
    rf"\b(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|\w's) (?:\w+ )?(?:{_KIN}),? ({_NAME})\b"
    rf"|\b(?:married|invited|texted|hugged) ({_NAME})\b"
    rf"|\b({_NAME})(?: (?:lives|teaches|studies|hates|speaks|married|grew up"
    rf"|was born|comes from|turned \d+|is (?:my|our) (?:\w+ )?(?:{_KIN}))|'s (?:birthday|wedding|{_KIN}))\b"
    rf"|(?:^|(?<=[.!?] ))({_NAME} (?:[A-Z]['\u2019])?{_NAME})(?=[.,:] | [a-z]+s |'s | (?:is|was|has|had) )",
    re.MULTILINE,
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
    rf"((?:{_NAME}|[A-Z]['\u2019]{_NAME})(?: (?:[A-Z]['\u2019])?{_NAME}){{0,2}})(?='s |[,:] | [a-z])"
)
_NOT_NAMES = word_set(
    """The This That These Those My Our Your His Her Their Its It He She They We You There Here When While After
    Before If Since Because Although Though But And So Also Then Now Today Yesterday Tomorrow Every Each All Some
    Many Most Both No Not
    None One Two Three Someone Everyone Nobody Who What Which Other Based Home Mr Mrs Ms Dr"""
).union(name.title() for name in (*WEEKDAYS, *MONTHS))

_NOT_PEOPLE = _NOT_NAMES | word_set(
    """Project Team Version Plan Phase Sprint Release Room Ticket Invoice Hotel Casa Café Restaurant Bank Lake
    Mount North South East West New San Santa São Los Las El La Le Les Rio Saint Great Google Microsoft
    Amazon Apple Visual Claude Open Ferries Hotels Maps Code Studio Street Road Avenue City Airport
    Station Park Group Inc GmbH Ltd School University Hospital App Airlines Railway Museum Church Bridge
    Square Market Office Service Services Systems Labs"""
)


@dataclass(frozen=True, slots=True)
class Subjects:
    """The speakers and the people they mention, by each of their names, and the names of projects."""

    people: dict[str, str]
    projects: frozenset[str]

    def project_in(self, text: str) -> str:
        """Return the name of a project that a text has; empty if it has none."""
        words = (word.strip(".,;:!?()'\"").removesuffix("'s") for word in text.split())
        return next((word for word in words if word in self.projects), "")


def find_subjects(utterances: Sequence[Utterance]) -> Subjects:
    spoken = "\n".join(one.text[:_MAX_CHARS_READ] for one in utterances if one.role != "data")
    people = dict[str, str]()
    speakers = [one.speaker for one in utterances if one.role == "person"]
    for name in (*_people(spoken), *speakers):
        for form in (name, name.partition(" ")[0]):
            people[form] = name if people.get(form, name) in (name, form) else form  # two have this name
    projects = {name for groups in _PROJECT.findall(spoken) for name in groups} - _NOT_NAMES - {""}
    return Subjects(people, frozenset(projects - people.keys()))


def leading_name(text: str) -> str:
    """Return the name with which a sentence begins; empty if it begins with another word."""
    found = _LEADING.match(text)
    name = found[1].strip().removesuffix("'s") if found else ""
    return "" if not name or name.split(" ", 1)[0] in _NOT_NAMES else name


def _people(text: str) -> Iterator[str]:
    """Return the names with a verb that only people have, or with two that mostly people have."""
    maybe: dict[str, set[str]] = {}
    for found in _MAYBE_PERSON.finditer(text):
        if found[4] or not _CAPITAL_BEFORE.search(text, max(found.start() - _MAX_WORD_CHARS, 0), found.start()):
            maybe.setdefault(found[1] or found[4], set()).add(found[2] or found[3])
    certain = {next(filter(None, found.groups())) for found in _PERSON.finditer(text)}
    names = certain | {name for name, does in maybe.items() if len(does) > 1}
    yield from sorted(name for name in names if _NOT_PEOPLE.isdisjoint(name.split(" ")))
