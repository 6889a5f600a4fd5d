"""Who "I" and "you" are: a sentence told by one person about another, told again in the third person."""

from __future__ import annotations

import re

from recollect.organize.rules.words import listed

_PAST = listed(
    """went had was did made got took saw met came gave found told said thought knew felt left kept began brought
    bought built caught chose drew drove ate fell fought flew forgot grew heard held hid lost meant paid ran
    rode rose sang sat sent shot slept spoke spent stood swam taught threw understood woke won wore wrote became
    broke dealt fed hung led lit rang sold shook sank stole stuck struck swore tore won't quit done been gone
    seen taken given put set let cut hit hurt shut spread withdrew drew split cost"""
)
_FIXED = listed(
    """can could will would shall should may might must can't couldn't won't wouldn't shouldn't mustn't ought used
    didn't hadn't wasn't had and or but to in on at for of with the a an as if when while who that not both"""
)
_AUXILIARY = {
    "am": "is",
    "are": "is",
    "were": "was",
    "weren't": "wasn't",
    "aren't": "isn't",
    "have": "has",
    "haven't": "hasn't",
    "do": "does",
    "don't": "doesn't",
    "go": "goes",
    "gotta": "has to",
    "wanna": "wants to",
    "gonna": "is going to",
}
_PLURAL = {"am": "are", "was": "were", "wasn't": "weren't", "gotta": "have to", "wanna": "want to"}
_CLITIC = {"m": "is", "re": "is", "ve": "has", "ll": "will", "d": "would", "s": "is"}
_CLITICS = {"m": "'re", "re": "'re", "ve": "'ve", "ll": "'ll", "d": "'d", "s": "'s"}
_NOT_PAST = frozenset({"need", "feed", "speed", "exceed", "proceed", "succeed", "bleed", "breed", "seed", "heed"})
_ADVERB = (
    r"(?:also|always|never|no longer|often|sometimes|still|just|only|even|already|both|all|now|then|almost"
    r"|ever|once|last|first|[a-z]{2,}ly)"
)
_PRONOUN = re.compile(
    r"\b(?:(I|we|you|u)(?:'(m|ve|ll|d|re|s))?(?![\w'])"
    rf"(?:((?:\s+{_ADVERB})*)\s+(?!(?:my|me|your|our|us|I|we|you)\b)([a-z]+(?:'t)?))?"
    r"|(me|my|mine|myself|us|our|ours|ourselves|your|yours|yourself|yourselves)(?![\w']))",
    re.IGNORECASE,
)
_ME = {"me": "{}", "us": "{}", "my": "{}'s", "our": "{}'s", "mine": "{}'s", "ours": "{}'s"}
_THEM = {
    "me": "them",
    "us": "them",
    "my": "their",
    "our": "their",
    "mine": "theirs",
    "ours": "theirs",
    "myself": "themselves",
    "ourselves": "themselves",
}
_YOURS = {"your": "{}'s", "yours": "{}'s", "yourself": "themselves", "yourselves": "themselves"}
_SECOND_VERB = re.compile(
    r"\b(and|or|but) (love|like|want|need|work|live|hate|enjoy|prefer|hope|plan|feel|think|know|have|am|do|go"
    r"|try|play|make|take|use|run|write|read|teach|study|help|keep)(?= (?:to|my|the|an?|it|in|at|as|for|on|with"
    r"|that|their|alone|[a-z]+ing)\b)"
)
_NO_VERB = listed("""in on at to for with and or but as about by from of the a an if when while who that not""")
_BARE = re.compile(
    rf"((?:{_ADVERB}\s+)*)(?:([a-z]+in[g'])|(gonna|not)|(been|never been)|(need|want|love|like|hope|plan"
    r"|prefer|hate|work|live"
    r"|miss|enjoy|have|can't|might|will|would|wanna|gotta|wish|doubt|used)|([a-z]+))\b(?!')",
    re.IGNORECASE,
)
_FINITE = re.compile(
    r"\b(?:is|isn't|was|are|were|has|have|had|can|will|would|must|should|could|makes?|helps?|brings?|feels?"
    r"|gives?|sounds?|looks?|means?|takes?|gets?|keeps?|lets?|motivates?|reminds?)\b|'s\b"
)
_OBJECT = re.compile(
    r" (?:to|my|our|the|an?|some|it|that|this|with|in|for|at|on|up|out|about|into|another|two|three|\d+)\b|$"
)
_CAUSES = re.compile(
    r"\b(?:let|lets|make|makes|made|help|helps|letting|making|helping|see|seeing|watch|hear|than|and|with|for)\s$"
)


def third_person(text: str, me: str, you: str) -> str:
    """The sentence with `I`, `we` and `you` resolved: the first time by name, then by `they`. Where nobody
    is named as the one who does it ("Went to Rome"), the speaker is."""
    named = False

    def resolved(found: re.Match[str]) -> str:
        nonlocal named
        pronoun = (found[1] or found[5]).lower()
        if pronoun in {"you", "u"}:
            return _subject(found, you, by_name=True) if you else found[0]
        if pronoun in _YOURS:
            return _YOURS[pronoun].format(you) if you else found[0]
        by_name, named = not named, True
        if not found[1]:
            return _ME.get(pronoun, _THEM[pronoun]).format(me) if by_name else _THEM[pronoun]
        return _subject(found, me if by_name else "they", by_name=by_name)

    told = _PRONOUN.sub(resolved, _with_subject(text))
    if told.startswith(f"{me} ") and (_present(told, me) or told.endswith(" now")):
        told = _SECOND_VERB.sub(_agreeing, told)
    return told[:1].upper() + told[1:]


def _subject(found: re.Match[str], who: str, *, by_name: bool) -> str:
    clitic, adverbs, verb = (found[2] or "").lower(), found[3] or "", found[4] or ""
    if (
        not clitic
        and verb
        and (
            verb in _NO_VERB or (found[1].lower() == "you" and _CAUSES.search(found.string[: found.start()][-12:]))
        )
    ):
        return f"{who}{adverbs} {verb}"
    if clitic:
        if clitic == "d" and verb == "better":
            return f"{who} should"
        said = f"{who} {_CLITIC[clitic]}" if by_name else f"{who}{_CLITICS[clitic]}"
        return f"{said}{adverbs} {verb}".rstrip()
    if not verb:
        return who
    return f"{who}{adverbs} {conjugated(verb) if by_name else _PLURAL.get(verb, verb)}"


def conjugated(verb: str) -> str:
    """A verb as it stood after "I", as it stands after a name."""
    low = verb.lower()
    if low in _AUXILIARY:
        return _AUXILIARY[low]
    if low in _PAST or low in _FIXED or low.removeprefix("re") in _PAST or low.endswith(("ing", "n't")):
        return verb
    if low.endswith("ed") and low not in _NOT_PAST:
        return verb
    if low.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es" if not low.endswith("s") or low.endswith("ss") else verb
    if low.endswith("y") and low[-2:-1] not in set("aeiou"):
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def _present(told: str, me: str) -> bool:
    words = told[len(me) + 1 :].split(" ", 3)
    return any(word.endswith("s") and word not in {"was", "is", "has"} for word in words[:2])


def _agreeing(found: re.Match[str]) -> str:
    return f"{found[1]} {conjugated(found[2])}"


def _with_subject(text: str) -> str:
    """The sentence with the "I" that was left out, unless it has a subject, or commands."""
    found = _BARE.match(text)
    if not found:
        return text
    rest = text[0].lower() + text[1:]
    doing, going, been, wanting, other = found.groups()[1:]
    if doing:
        return text if _FINITE.search(text.partition(";")[0]) else f"I'm {rest}"
    if going:
        return f"I'm {rest}"
    if been:
        return f"I've {rest}"
    word = (other or "").lower()
    done = word in _PAST or (word.endswith("ed") and len(word) > 4 and _OBJECT.match(text, found.end()))
    return f"I {rest}" if wanting or done else text
