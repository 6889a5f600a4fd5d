"""What somebody wants of an assistant from now on, as they would tell it of themselves."""

from __future__ import annotations

import re

from lifelong.organize.rules.intents import Intent
from lifelong.text.words import FUNCTION, word_set

_FROM_NOW = r"from (?:now|here|today|this point) on(?:wards?)?|in (?:the )?future|going forward"
_SINCE = re.compile(rf"\b(?:{_FROM_NOW})", re.IGNORECASE)
_LEAD = re.compile(
    rf"(?:(?:also|just|please|pls|plz|kindly|ok|okay|hey|{_FROM_NOW}|for future reference"
    r"|remember to|(?:make|be) sure (?:you|to)|try to"
    r"|(?:can|could|would|will) you(?: please)?|you (?:should|must|need to|have to|are to)(?! (?:be|have)\b)"
    r"|i(?:'d| would)? (?:like|want|need|love|prefer) you to)\b[,: ]*)+",
    re.IGNORECASE,
)
_END = re.compile(
    rf",? (?:{_FROM_NOW}|please|pls|plz|thanks|thank you|ok(?:ay)?|if you don't mind)\Z", re.IGNORECASE
)
_NEVER = re.compile(
    r"(?:(?:please )?(?:don't|dont|do not|never|not)(?: ever)?|(?:stop|quit)(?= \w+ing)) ", re.IGNORECASE
)
_EVER = re.compile(r"(?:always|never|(?:don't|dont|do not) ever) ([\w-]+)", re.IGNORECASE)
_FORBIDS = re.compile(r"(?:don't|dont|do not) ([\w-]+)", re.IGNORECASE)
_ALWAYS = re.compile(r"(?:always|only|generally) ", re.IGNORECASE)
_CONDITION = re.compile(
    r"((?:when(?:ever)?|if|unless|for|in|before|after|every|each|on|at|once|with|while)\b[^,;]{2,80}), (.+)",
    re.IGNORECASE,
)
_CALL = re.compile(r"call me (?=[A-Z])", re.IGNORECASE)
_RATHER = re.compile(r"i(?:'d| would) (?:prefer|rather)\b.*\byou\b", re.IGNORECASE)
_FOR_ME = re.compile(r"\b(?:me|us|my|our)\b", re.IGNORECASE)
_SELF = re.compile(r"\b(?:i|we|my|our)\b", re.IGNORECASE)
_FOR_IT = {"your": "its", "yours": "its", "yourself": "itself"}
_YOUR = re.compile(r"\byour(?:s|self)?\b", re.IGNORECASE)
_VERBS = word_set(
    """add address answer ask assume avoid be begin book bring build call check choose cite close comment
    commit confirm convert correct create cut default delete do document double-check draft drop end explain
    export favour flag focus follow format get give go group handle help highlight hold ignore include
    keep label leave let limit link list log look lower make mark mention move mute name notify number offer
    omit open order pick ping play post prefer prioritize propose publish push put quote read recommend refer
    remember remind remove reply report respect respond restart return review round run save say schedule
    search send serve set share show sign skip sort speak spell split start state stay stick stop store suggest
    summarise summarize switch tag take talk tell test think touch translate treat try turn type update use
    verify wait wake warn work wrap write"""
)
"""What one may tell somebody to do."""


def is_lasting(text: str, doing: Intent, *, asks: bool) -> bool:
    """Whether what somebody asks an assistant for holds from now on: that is likely, or they say so, or forbid
    something and ask for nothing now. What is asked in a question, they must ask for themselves."""
    if doing == "standing" or _RATHER.match(text):
        return True
    core = _core(text)
    said = _EVER.match(core) or (doing == "other" and _FORBIDS.match(core))
    return bool(said and said[1] in _VERBS and (not asks or _FOR_ME.search(core)))


def wanted(text: str) -> str:
    """What is wanted, as the one who wants it would tell it of themselves: "I want the assistant to …". `text` is
    without the mark that ends it."""
    if _SELF.match(text) and not _LEAD.match(text):
        return text
    core, since = _core(text), " from now on" if _SINCE.search(text) else ""
    if found := _CALL.match(core):
        return f"I want to be called {core[found.end() :]}{since}"
    when = _CONDITION.fullmatch(core)
    if when and (asked := _asked(when[2])):
        core = f"{asked} {_uncapital(when[1])}"
    elif not (core := _asked(core)):
        return text if _SELF.search(text) else f'I want: "{text.replace(chr(34), chr(39))}"'
    return f"I want the assistant to {_YOUR.sub(lambda found: _FOR_IT[found[0].casefold()], core)}{since}"


def _core(text: str) -> str:
    """Without what says when, to whom and how kindly it is asked."""
    lead = _LEAD.match(text)
    core = text[lead.end() :] if lead else text
    while end := _END.search(core):
        core = core[: end.start()]
    return core


def _asked(text: str) -> str:
    """What is to be done or left, as it stands after "to"; empty where the words do not command."""
    never, always = _NEVER.match(text), _ALWAYS.match(text)
    rest = text[found.end() :] if (found := never or always) else text
    verb = rest.partition(" ")[0].strip(",").lower()
    if not (verb in _VERBS or (never and verb.isalpha() and verb not in FUNCTION)):
        return ""
    if never and never[0].lower().startswith(("stop", "quit")):
        return f"stop {rest}"
    return f"{'never ' if never else always[0].lower() if always else ''}{_uncapital(rest)}"


def _uncapital(text: str) -> str:
    """As it stands within a sentence; what is all in capitals stays so."""
    return text if text[1:2].isupper() else f"{text[0].lower()}{text[1:]}"
