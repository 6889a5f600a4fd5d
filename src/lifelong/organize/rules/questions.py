"""A question and the short answer to it, told as one statement: neither says anything alone."""

from __future__ import annotations

import re

from lifelong.organize.rules.speakers import conjugated, third_person
from lifelong.text.words import FUNCTION

_MOST_WORDS = 10
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
_LEAD = re.compile(r"(?:so|and|but|oh|wow|hey|by the way|btw|also|well|nice|cool)[, ]+", re.IGNORECASE)
_DURATION = re.compile(
    r"(?:about |around |almost |over |nearly )?(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten) ",
    re.IGNORECASE,
)


def is_fragment(answer: str) -> bool:
    """Whether these words answer something rather than say it: no verb, nobody who does anything."""
    return 0 < len(answer.split()) <= _MOST_WORDS and not _NO_ANSWER.match(answer) and not _VERB.search(answer)


def joined(question: str, answer: str, me: str, you: str) -> str:
    """What `me` told `you`, who had asked the question; empty where the two do not fit."""
    question = question.strip(" ?!.").replace("\u2019", "'")
    while lead := _LEAD.match(question):
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
        return f"{me} has {_told(found[1], you)}{gap} {answer}"
    if found := _ASKED.fullmatch(question):
        auxiliary = "" if found[2].lower() == "do" else f" {found[2].lower()}"
        return f"{me} on {found[1].lower()} they{auxiliary} {_told(found[3], you)}: {answer}"
    if _OTHER.match(question) and " " in question and len(question) <= 80 and not _LEANS.search(question):
        return f"{me} on {question[0].lower()}{_told(question[1:], you)}: {answer}"
    return ""


def _told(asked: str, you: str) -> str:
    """The rest of a question, in which "you" was the one who answers."""
    asked = re.sub(r"\byour\b", "their", re.sub(r"\byou\b", "they", asked))
    return third_person(f"- {asked}", you, "")[2:]
