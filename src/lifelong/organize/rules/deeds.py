"""What agents did, found and promised, what failed, and what tools and the web gave as plain data."""

from __future__ import annotations

import re

_DONE = (
    r"added|adjusted|applied|arranged|asked|backed up|booked|built|bought|called|cancell?ed|changed|checked"
    r"|chose|cleaned|closed|compared|configured|confirmed|converted|copied|created|decided|deleted|deployed"
    r"|disabled|discovered|downloaded|emailed|enabled|exported|filed|finished|fixed|found|generated|implemented"
    r"|imported|increased|installed|learned|learnt|loaded|measured|merged|migrated|moved|noted|opened|ordered"
    r"|paid|patched|posted|published|pushed|ran|rebooked|reduced|refactored|released|removed|renamed|replaced"
    r"|reproduced|reserved|restarted|restored|retried|reverted|rewrote|rolled back|saved|scheduled|sent|set"
    r"|shipped|solved|started|stopped|submitted|switched|tested|tried|turned|updated|upgraded|uploaded|verified"
    r"|written|wrote"
)
_DEED = re.compile(
    rf"(?:(?:I|we)(?:'ve| have)?\s+)?(?:just |also |now |already |successfully )?(?:{_DONE})\b", re.IGNORECASE
)
_PROMISE = re.compile(
    r"I(?:'ll| will) (?:remind|check back|send|book|follow up|schedule|call|email|order|report|notify|update"
    r"|monitor|watch)\b",
    re.IGNORECASE,
)
_LEARNED = re.compile(
    r"\b(?:fail(?:s|ed|ure|ing)?|broke|broken|crash\w*|error|exception|timed? ?out|root cause|turn(?:s|ed) out"
    r"|because|cannot|can't|lesson|learned|blocks|works|work (?:only|when|if|now|after|with)|doesn't work"
    r"|does not work|didn't work|needs?|requires?|must|fix(?:ed)? by|workaround|decided|decision|passed"
    r"|regression)\b",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"(?:let me|let's|i(?:'ll| will)|i(?:'m| am) going to|now|next|first|then|looking|checking|here)\b",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"error|fail|exception|denied|not found|no such|refused|timed? ?out|cannot|invalid|unable|missing"
    r"|forbidden|exceeded|rejected|unauthori[sz]ed",
    re.IGNORECASE,
)
_CONCRETE = re.compile(
    r"(?:[$€£¥]\s?\d|\b\d[\d.,]*\s?(?:%|EUR|USD|GBP|CHF|euros?|dollars?|pounds?|km|kg|GB|MB|ms|hours?|minutes?"
    r"|nights?|°C)(?:\b|$))"
)
_COMMAND = re.compile(
    r"\b(?:you|your|user|users?'s?|i|i'm|my|we|our|remember|forget|ignore|instructions?|system|assistant|agent"
    r"|prompt|prefers?|always|never|must|should|please|important|memory|note that|from now on|owner|admin"
    r"|password|call(?:ed)? me|likes?|wants?|decided)\b|\[\[|https?:",
    re.IGNORECASE,
)
_LONGEST = 160


def is_deed(sentence: str) -> bool:
    """Whether an assistant tells what it did itself, or promises it."""
    return bool((sentence[:1] in "IW" and _DEED.match(sentence)) or _PROMISE.match(sentence))


def is_work(sentence: str) -> bool:
    """Whether an agent that works alone tells what it did, what failed, or what it learned."""
    return bool(_DEED.match(sentence) or _PROMISE.match(sentence)) or (
        not _TALK.match(sentence) and bool(_LEARNED.search(sentence))
    )


def failure(text: str) -> str:
    """The line of a failed tool's output that says why; empty where none does."""
    lines = [line.strip() for line in text[-4_000:].splitlines() if _FAILED.search(line[:400])]
    why = " ".join(lines[-1].split())[:_LONGEST] if lines else ""
    return "" if _COMMAND.search(why) else why


def is_datum(sentence: str) -> bool:
    """Whether what a tool or the web said is a plain figure about a thing: nothing that tells anybody what
    to do, and nothing about a person."""
    return (
        len(sentence) <= _LONGEST
        and sentence[:1].isupper()
        and bool(_CONCRETE.search(sentence))
        and not _COMMAND.search(sentence)
    )
