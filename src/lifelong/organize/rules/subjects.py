"""Whom and what a talk is about besides those who talk: people it shows to be people, and projects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from lifelong.organize.rules.voices import Said
from lifelong.text.dates import MONTHS, WEEKDAYS
from lifelong.text.words import word_set

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
