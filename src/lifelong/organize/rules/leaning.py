"""Sentences that lean on one before them: whom "he" or "her" means, where that is plain."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lifelong.text.dates import MONTHS, WEEKDAYS
from lifelong.text.words import COMMON, FUNCTION, word_set

LEANS = re.compile(r"(?:he|she|they|it|his|her|their|its)\b", re.IGNORECASE)
_PERSON = re.compile(r"(?:(he|she)('s|'d|'ll)?|(his|her))(?= [a-z])", re.IGNORECASE)
_HERS = word_set(
    """sister mother mom mum wife daughter girlfriend aunt niece grandmother grandma granny fiancée mrs ms miss
    stepmother stepdaughter"""
)
_HIS = word_set(
    """brother father dad husband son boyfriend uncle nephew grandfather grandpa fiancé mr stepfather stepson"""
)
_ANYBODYS = word_set(
    """boss manager colleague coworker friend neighbor neighbour partner roommate flatmate teacher doctor dentist
    therapist cousin landlord landlady coach mentor client patient student professor supervisor dog cat puppy
    kitten"""
)
_KIN = "|".join(sorted(_HERS | _HIS | _ANYBODYS))
_NAME = r"[A-Z][\w-]+"
_MENTION = re.compile(
    rf"(?P<title>\b(?:Mr|Mrs|Ms|Dr|Miss|Prof)\b\.? )(?P<titled>{_NAME})"
    rf"|(?P<whose>\b(?:[Mm]y|[Oo]ur|[Yy]our)|\b{_NAME}'s|\b(?:[Hh]er|[Hh]is|[Tt]heir)) (?:[a-z]+ )?"
    rf"(?P<kin>{_KIN})\b(?:,? (?P<named>{_NAME}))?"
    rf"|^(?P<first>{_NAME})(?:'s\b| (?:(?P<does>said|says|told|tells|thinks|loves|hates|likes|wants|lives|works"
    r"|married)|(?:is|was|has|had|will|would|can|and|now|[a-z]+ed)\b))"
    r"|(?<![.!?:] )(?<!^)(?<!\b(?:in|at|to|on|by|of) )(?<!\b(?:the|for|via) )(?<!\b(?:from|near|into|than) )"
    rf"(?<!called )(?<!named )\b(?P<name>{_NAME})(?!'s? [A-Z])"
)
_NOBODY = {*FUNCTION, *COMMON, *MONTHS, *WEEKDAYS} | word_set("english german french spanish christmas easter")
_NAMELESS = re.compile(
    rf"\b(?:girl|boy|wom[ae]n|m[ae]n|lady|guy|kids?|child|baby|person|people|someone|somebody|{_KIN})\b"
)
_FRESH = 3  # sentences back, a name may still be whom "she" means
_HAS = re.compile(r" (?:been|got|had|become)\b")


class Heard(NamedTuple):
    """A sentence that was said before, by whom, to whom, and in which record."""

    text: str
    speaker: str
    to: str
    record: int


class _Person(NamedTuple):
    """Somebody of whom a sentence speaks from that place on; no name where it is not plain who that is. `woman`
    is whether it is one, if that is known; `sure`: it is a person."""

    name: str
    place: int
    woman: bool | None
    sure: bool


def resolved(text: str, before: Sequence[Heard], speakers: frozenset[str]) -> tuple[str, int, bool]:
    """The sentence with the person named whom its first word means, the record that speaks of them, and whether
    that is sure. As it is, with no record, where it is not plain who is meant."""
    found = _PERSON.match(text)
    if not found:
        return text, 0, True
    hers = (found[1] or found[3]).lower() in {"she", "her"}
    for ago, heard in enumerate(before):
        people = _people(heard, before, speakers)
        if _PERSON.match(heard.text) or (not people and _NAMELESS.search(heard.text)):
            break
        if people:
            meant = [one for one in people if one.woman is hers] or [one for one in people if one.woman is None]
            if not meant or not meant[0].name or (len(meant) > 1 and meant[0].place):
                break
            joined = f"{meant[0].name.split()[-1]} and "
            if any(heard.text[: one.place].endswith(joined) for one in people if one.woman is not (not hers)):
                break  # "Tom and Max": either of them
            if not meant[0].sure and ago >= _FRESH:
                break
            rest = text[found.end() :]
            is_or_has = " has" if _HAS.match(rest) else " is"
            ending = "'s" if found[3] else {"'s": is_or_has, "'d": " would", "'ll": " will"}.get(found[2], "")
            return f"{meant[0].name}{ending}{rest}", heard.record, meant[0].sure
    return text, 0, True


def _people(heard: Heard, before: Sequence[Heard], speakers: frozenset[str]) -> list[_Person]:
    """Everybody a sentence speaks of."""
    people: dict[str, _Person] = {}
    for found in _MENTION.finditer(heard.text):
        name, woman, sure = found["first"] or found["name"], None, False
        if found["titled"]:
            name, woman, sure = found["title"] + found["titled"], _gender(found["title"].strip(" .").lower()), True
        elif kin := found["kin"]:
            name, woman, sure = found["named"] or _of(found["whose"], kin, heard, people), _gender(kin), True
        elif name in speakers or name.isupper() or name.lower() in _NOBODY:
            continue
        elif found["first"] and not found["does"]:
            sure = any(one["named"] == name for said in before for one in _MENTION.finditer(said.text))  # as kin
            name = name if sure else ""  # somebody, or a thing
        people.setdefault(name, _Person(name, found.start(), woman, sure))
    return list(people.values())


def _of(whose: str, kin: str, heard: Heard, people: Mapping[str, _Person]) -> str:
    """What somebody is called who has no name; nothing where it is not plain whose they are."""
    if whose.lower() in {"my", "our"}:
        return f"{heard.speaker}'s {kin}"
    if whose.lower() == "your":
        return f"{heard.to}'s {kin}" if heard.to else ""
    if whose.lower() not in {"her", "his", "their"}:
        return f"{whose} {kin}"
    first = next(iter(people.values()), None)
    return f"{first.name}'s {kin}" if first and first.name and not first.place else ""


def _gender(word: str) -> bool | None:
    return True if word in _HERS else False if word in _HIS else None
