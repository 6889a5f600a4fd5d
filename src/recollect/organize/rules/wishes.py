"""What somebody asks an assistant for once and for all, told apart from what they ask for now.

"Dates as YYYY-MM-DD, please" holds from now on, "use the blue one here" does not, and hardly a word in them says
so. The judgement is learned: a sum over the words of a sentence, alone and in twos, with weights that are fitted
to sentences written for it (`make judge`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from recollect.organize.rules.sentences import with_apostrophes
from recollect.organize.rules.words import FUNCTION, listed

FILE = "wishes.json"
SCALE = 32  # a weight of one, as it is stored
SURE = 0.65  # what is more likely than this is a wish
LONGEST = 40  # words

_QUOTED = re.compile(r"[\"\u201c][^\"\u201d]*[\"\u201d]?|`[^`]*`|(?<!\w)'[^']{2,}'(?!\w)")
_NOT = re.compile(r"\b(do|does|did|should|must|could|would|is|are|need)(?: not|nt)\b", re.IGNORECASE)
_PART = re.compile(r"[^\s,;:?]+|[,;:?](?=\s|$)")
_CODE = re.compile(r"\w[./_\\]\w|^[@/#.~]\w|\w\(\)")
_DAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|i(?:'\w+)?")

_LEAD = re.compile(
    r"(?:(?:also|just|please|pls|plz|kindly|ok|okay|hey|from (?:now|here|today|this point) on(?:wards?)?"
    r"|in (?:the )?future|going forward|for future reference|remember to|(?:make|be) sure (?:you|to)|try to"
    r"|(?:can|could|would|will) you(?: please)?|you (?:should|must|need to|have to|are to)(?! (?:be|have)\b)"
    r"|i(?:'d| would)? (?:like|want|need|love|prefer) you to)\b[,: ]*)+",
    re.IGNORECASE,
)
_SINCE = re.compile(r"\b(?:from (?:now|here|today|this point) on|in (?:the )?future|going forward)", re.IGNORECASE)
_END = re.compile(
    r",? (?:from (?:now|here|today) on(?:wards?)?|in (?:the )?future|going forward|please|pls|plz|thanks|thank you"
    r"|ok(?:ay)?|if you don't mind)\Z",
    re.IGNORECASE,
)
_NEVER = re.compile(
    r"(?:(?:please )?(?:don't|dont|do not|never|not)(?: ever)?|(?:stop|quit)(?= \w+ing)) ", re.IGNORECASE
)
_EVER = re.compile(r"(?:always|never|(?:don't|dont|do not) ever) ([\w-]+)", re.IGNORECASE)
_ALWAYS = re.compile(r"(?:always|only|generally) ", re.IGNORECASE)
_CONDITION = re.compile(
    r"((?:when(?:ever)?|if|unless|for|in|before|after|every|each|on|at|once|with|while)\b[^,;]{2,80}), (.+)",
    re.IGNORECASE,
)
_CALL = re.compile(r"call me (?=[A-Z])", re.IGNORECASE)
_SELF = re.compile(r"(?:i|we|my|our)\b", re.IGNORECASE)
_FOR_IT = {"your": "its", "yours": "its", "yourself": "itself"}
_YOUR = re.compile(r"\byour(?:s|self)?\b", re.IGNORECASE)
_VERBS = listed(
    """add address answer ask assume avoid be begin book bring build call check choose cite close comment
    commit confirm convert correct create cut default delete do document double-check draft drop end explain
    export favour flag focus follow format get give go group handle have help highlight hold ignore include
    keep label leave let limit link list log look lower make mark mention move mute name notify number offer
    omit open order pick ping play post prefer prioritize propose publish push put quote read recommend refer
    remember remind remove reply report respect respond restart return review round run save say schedule
    search send serve set share show sign skip sort speak spell split start state stay stick stop store suggest
    summarise summarize switch tag take talk tell test think touch translate treat try turn type update use
    verify wait wake warn work wrap write"""
)
"""What one may tell somebody to do."""


def lasts(sentence: str, cut: str) -> bool:
    """Whether somebody who says this to an assistant wants something from now on: they say so, or it is likely.
    `cut` is the sentence without what opens and what ends it."""
    said = _EVER.match(_core(cut))
    return bool(said and said[1].lower() in _VERBS) or _likelihood(sentence) > SURE


def features(sentence: str) -> Iterator[str]:
    """What is seen of a sentence."""
    parts = list(_parts(sentence))
    words = [part for part in parts if part not in ",;:"]
    yield from parts
    yield from (f"{one} {two}" for one, two in zip(["^", *parts], [*parts, "$"], strict=True))
    yield from (f"{one} .. {two}" for one, two in zip(["^", *words], words[1:], strict=False))
    yield from (f"^ .. {word}" for word in words[:3])
    yield f"{min(len(words), 20) // 3} words"


def _parts(sentence: str) -> Iterator[str]:
    """Its words and marks; what is quoted, names, code and numbers each as one and the same."""
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


def _likelihood(sentence: str) -> float:
    if sentence.count(" ") >= LONGEST:
        return 0.0
    seen, weights = set(features(sentence)), learned()
    told = sum(weights.get(feature, 0) for feature in seen) / SCALE / math.sqrt(len(seen))
    return 1 / (1 + math.exp(-told - weights[""] / SCALE))


@cache
def learned() -> dict[str, int]:
    """The weights as they are shipped; that of nothing is what the sum starts from."""
    weights: dict[str, int] = json.loads((files("recollect.organize.rules") / FILE).read_text(encoding="utf-8"))
    return weights


def told(text: str) -> str:
    """What is wanted, as the one who wants it would tell it of themselves: "I want the assistant to …". `text` is
    without the mark that ends it."""
    if _SELF.match(text) and not _LEAD.match(text):
        return text
    core, since = _core(text), " from now on" if _SINCE.search(text) else ""
    if found := _CALL.match(core):
        return f"I want to be called {core[found.end() :]}{since}"
    when = _CONDITION.fullmatch(core)
    if when and (asked := _asked(when[2])):
        core = f"{asked} {when[1][0].lower()}{when[1][1:]}"
    elif not (core := _asked(core)):
        return f'I want: "{text.replace(chr(34), chr(39))}"'
    return f"I want the assistant to {_YOUR.sub(lambda found: _FOR_IT[found[0].lower()], core)}{since}"


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
    return f"{'never ' if never else always[0].lower() if always else ''}{rest[0].lower()}{rest[1:]}"
