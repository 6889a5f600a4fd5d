"""What somebody asks for: from now on (a standing request), now, or as a question with a short answer.

"Dates as YYYY-MM-DD, please" holds from now on, "use the blue one here" does not, and hardly a word in them says
so. So that is learned: a sum over the words of a sentence, alone and in pairs, with weights fitted to sentences
that were written for it (`make fit-rules`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Literal

from lifelong.organize.rules.sentences import with_apostrophes
from lifelong.organize.rules.third_person import conjugated, third_person
from lifelong.text.words import FUNCTION, word_set

Intent = Literal["standing", "once", "other"]

WEIGHTS_FILE = "intents.json"
SCALE = 32  # a weight of one, as it is stored
MIN_LIKELIHOOD = {"standing": 0.7, "once": 0.45}
MAX_INTENT_WORDS = 40

_QUOTED = re.compile(r"[\"\u201c][^\"\u201d]*[\"\u201d]?|`[^`]*`|(?<!\w)'[^']{2,}'(?!\w)")
_NOT = re.compile(r"\b(do|does|did|should|must|could|would|is|are|need)(?: not|nt)\b", re.IGNORECASE)
_PART = re.compile(r"[^\s,;:?]+|[,;:?](?=\s|$)")
_CODE = re.compile(r"\w[./_\\]\w|^[@/#.~]\w|\w\(\)")
_DAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|i(?:'\w+)?")


def intent(sentence: str) -> Intent:
    """Return what the speaker does with a sentence, given with its closing mark."""
    if sentence.count(" ") >= MAX_INTENT_WORDS:
        return "other"
    seen, weights = set(features(sentence)), load_weights()
    found = [weights[feature] for feature in seen if feature in weights]
    root = SCALE * math.sqrt(len(seen))
    if likelihood(sum(one for one, _ in found) / root + weights[""][0] / SCALE) > MIN_LIKELIHOOD["standing"]:
        return "standing"
    once = likelihood(sum(other for _, other in found) / root + weights[""][1] / SCALE) > MIN_LIKELIHOOD["once"]
    return "once" if once else "other"


def likelihood(total: float) -> float:
    return 1 / (1 + math.exp(-total))


def features(sentence: str) -> Iterator[str]:
    """Return the features of a sentence."""
    parts = list(_parts(sentence))
    words = [part for part in parts if part not in ",;:"]
    yield from parts
    yield from (f"{one} {two}" for one, two in zip(["^", *parts], [*parts, "$"], strict=True))
    yield from (f"{one} .. {two}" for one, two in zip(["^", *words], words[1:], strict=False))
    yield from (f"^ .. {word}" for word in words[:3])
    yield from (f"^ ..{word[-2:]}" for word in words[:1])
    yield f"{min(len(words), 20) // 3} words"


def _parts(sentence: str) -> Iterator[str]:
    """Return its words and marks; quotations, names, code and numbers each become one placeholder."""
    plain = with_apostrophes(_QUOTED.sub(" QUOTE ", sentence.replace("\u2019", "'")))
    for place, part in enumerate(_PART.findall(_NOT.sub(r"\1n't", plain))):
        word = part.strip("().!*[]-\u2013\u2014")
        if part in ",;:?" or word == "QUOTE":
            yield part
        elif not word:
            continue
        elif any(letter.isdigit() for letter in word):
            yield "#"
        elif _CODE.search(word):
            yield "CODE"
        elif place and word[0].isupper() and not _DAY.fullmatch(word.lower()):
            yield "NAME"
        else:
            yield word.lower()


@cache
def load_weights() -> dict[str, list[int]]:
    """Return the shipped weights of each feature for both intents; under "" are the biases."""
    weights: dict[str, list[int]] = json.loads(
        (files("lifelong.organize.rules") / WEIGHTS_FILE).read_text(encoding="utf-8")
    )
    return weights


# Standing requests


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
"""What one may ask somebody to do."""


def is_standing_request(text: str, doing: Intent, *, asks: bool) -> bool:
    """Return whether a request to an assistant holds from now on: that is likely, or it says so, or it forbids
    something and asks for nothing now. A request in a question must be for the speaker."""
    if doing == "standing" or _RATHER.match(text):
        return True
    core = _without_politeness(text)
    found = _EVER.match(core) or (doing == "other" and _FORBIDS.match(core))
    return bool(found and found[1] in _VERBS and (not asks or _FOR_ME.search(core)))


def as_standing_request(text: str) -> str:
    """Return the request as a statement of the speaker: "I want the assistant to …". `text` has no closing
    mark."""
    if _SELF.match(text) and not _LEAD.match(text):
        return text
    core, since = _without_politeness(text), " from now on" if _SINCE.search(text) else ""
    if found := _CALL.match(core):
        return f"I want to be called {core[found.end() :]}{since}"
    when = _CONDITION.fullmatch(core)
    if when and (asked := _command(when[2])):
        core = f"{asked} {_lower_first(when[1])}"
    elif not (core := _command(core)):
        return text if _SELF.search(text) else f'I want: "{text.replace(chr(34), chr(39))}"'
    return f"I want the assistant to {_YOUR.sub(lambda found: _FOR_IT[found[0].casefold()], core)}{since}"


def _without_politeness(text: str) -> str:
    """Return the request without when, to whom and how politely it is made."""
    lead = _LEAD.match(text)
    core = text[lead.end() :] if lead else text
    while end := _END.search(core):
        core = core[: end.start()]
    return core


def _command(text: str) -> str:
    """Return what is to be done or left, as it follows "to"; empty if the words are not a command."""
    never, always = _NEVER.match(text), _ALWAYS.match(text)
    rest = text[found.end() :] if (found := never or always) else text
    verb = rest.partition(" ")[0].strip(",").lower()
    if not (verb in _VERBS or (never and verb.isalpha() and verb not in FUNCTION)):
        return ""
    if never and never[0].lower().startswith(("stop", "quit")):
        return f"stop {rest}"
    return f"{'never ' if never else always[0].lower() if always else ''}{_lower_first(rest)}"


def _lower_first(text: str) -> str:
    """Return the text with a lower first letter, unless it is all in capitals."""
    return text if text[1:2].isupper() else f"{text[0].lower()}{text[1:]}"


# Questions and short answers


_MAX_ANSWER_WORDS = 10
_VERB = re.compile(
    r"\b(?:is|isn't|was|wasn't|are|aren't|were|am|be|have|has|had|can|can't|will|won't|would|could|should|do"
    r"|don't|does|did|didn't|i|we|my|me|myself|it|you|your|let's|thanks?|sounds?|went|got|made|took|\w\w\w+ed)\b"
    r"|'(?:s|re|m|ve|ll|d)\b",
    re.IGNORECASE,
)
_YOURS = re.compile(r"what(?:'s| is| are| was| were|'re) your ([\w' -]{2,60})", re.IGNORECASE)
_PLACE = re.compile(r"where (are|were) you (from|based|born|located|living|staying)(?: \w+)?", re.IGNORECASE)
_HOW_LONG = re.compile(
    r"(?:for )?how long have you (been [\w' -]{3,60}|[a-z]+(?:ed|n|t|d)\b[\w' -]{0,60})", re.IGNORECASE
)
_ASKED = re.compile(
    r"((?:what|which|who|whom|where|when|why|how)\b[\w' -]{0,40}?) (do|did|are|were|have|will|would|can"
    r"|should)(?: you|'ya) ([\w' ,-]{2,80})",
    re.IGNORECASE,
)
_OTHER = re.compile(r"(?:what|which|who|where|when|how (?:many|much|old|long|often|far))\b", re.IGNORECASE)
_SMALL_TALK = re.compile(
    r"how (?:have|are|were|did|do) you (?:been|doing|feel|like)|what(?:'s| is| has) been|.*\byou think\b",
    re.IGNORECASE,
)
_NO_ANSWER = re.compile(
    r"(?:for|to|on|of|about|me|not|oops|all|so|keep|good|great|nice|of course|dunno|no (?:idea|clue))\b",
    re.IGNORECASE,
)
_LEANS = re.compile(r" (?:you|he|she|it|they|him|her|his|them)", re.IGNORECASE)
_NOW = re.compile(r",? (?:lately|recently|these days|so far|right now)\b", re.IGNORECASE)
_OPENING = re.compile(r"(?:so|and|but|oh|wow|hey|by the way|btw|also|well|nice|cool)[, ]+", re.IGNORECASE)
_DURATION = re.compile(
    r"(?:about |around |almost |over |nearly )?(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten) ",
    re.IGNORECASE,
)


def is_short_answer(answer: str) -> bool:
    """Return whether these words only answer a question: they have no verb and no subject."""
    return (
        0 < len(answer.split()) <= _MAX_ANSWER_WORDS and not _NO_ANSWER.match(answer) and not _VERB.search(answer)
    )


def answered(question: str, answer: str, me: str, you: str) -> str:
    """Return question and answer as one statement of `me`, whom `you` asked; empty if they do not fit."""
    question = question.strip(" ?!.").replace("\u2019", "'")
    while lead := _OPENING.match(question):
        question = question[lead.end() :]
    question = _NOW.sub("", question)
    if _SMALL_TALK.match(question):
        return ""
    answer = answer[0].lower() + answer[1:] if answer.split()[0].lower() in FUNCTION else answer
    if found := _YOURS.fullmatch(question):
        return f"{me}'s {found[1]} is {answer}"
    if found := _PLACE.fullmatch(question):
        return f"{me} {conjugated(found[1].lower())} {found[2]} {'' if found[2] == 'from' else 'in '}{answer}"
    if found := _HOW_LONG.fullmatch(question):
        gap = " for" if _DURATION.match(answer) else ":"
        return f"{me} has {_retold(found[1], you)}{gap} {answer}"
    if found := _ASKED.fullmatch(question):
        auxiliary = "" if found[2].lower() == "do" else f" {found[2].lower()}"
        return f"{me} on {found[1].lower()} they{auxiliary} {_retold(found[3], you)}: {answer}"
    if _OTHER.match(question) and " " in question and len(question) <= 80 and not _LEANS.search(question):
        return f"{me} on {question[0].lower()}{_retold(question[1:], you)}: {answer}"
    return ""


def _retold(asked: str, you: str) -> str:
    """Return the rest of a question, in which "you" is the one who answers."""
    asked = re.sub(r"\byour\b", "their", re.sub(r"\byou\b", "they", asked))
    return third_person(f"- {asked}", you, "")[2:]
