"""Whether a newer claim repeats an older one, takes its place, or stands beside it; and where to look for both."""

from __future__ import annotations

import re
from typing import Literal

from recollect.organize.rules.domains import DOMAINS
from recollect.organize.rules.judging import likelihood
from recollect.organize.rules.reading import LONGEST, Reading, read
from recollect.organize.rules.stems import stem

Verdict = Literal["same", "supersedes", "different"]

MOST_KEYS = 8
LONGEST_KEY = 100
LONGEST_STATE, LONGEST_NEWS = 16, 30  # words of a claim that can be ended, and of one that can end it
SURE = 0.6
SURE_IN_CHAT = 0.85
"""From this likelihood on an older claim is ended. To lose a true claim is worse than to keep two; and people who
chat with each other tell of feelings and doings, and seldom of a change."""

_SENTENCES = re.compile(r"[.!?;] +\w")
_TELLING = ("neg", "hypo", "end", "past")  # words that turn what a claim says


def keys(sentence: str) -> frozenset[str]:
    """What the sentence is about, as a few short lookup keys (≤ 8): a sentence that this one repeats or supersedes
    shares at least one of them, as a rule."""
    claim = read(sentence)
    if not claim.stems:
        return frozenset()
    found: dict[str, int] = {}
    for word, root in zip(claim.words, claim.stems, strict=True):
        for domain in DOMAINS.get(word) or DOMAINS.get(root, ()):
            found[domain] = found.get(domain, 0) + 1
    domains = sorted(found, key=lambda domain: (-found[domain], domain))[:3]
    who = claim.subject[0]
    words = sorted(claim.content, key=lambda word: (word in claim.names, len(word), word), reverse=True)
    chosen = dict.fromkeys((who, *(f"{who}|{domain}" for domain in domains), *words))
    return frozenset(key[:LONGEST_KEY] for key in list(chosen)[:MOST_KEYS])


def judge(old: str, new: str, speaker: str = "", sure: float = SURE) -> Verdict:
    """Whether the newer sentence says the same as the older one, replaces it, or stands beside it. `speaker`: who
    said both, by the name that they use; `sure`: how likely it must be that it is replaced."""
    if old == new:
        return "same"
    if max(len(old), len(new)) > LONGEST:
        return "different"
    before, after = read(old), read(new)
    if _repeats(before, after):
        return "same"
    if len(before.words) > LONGEST_STATE or len(after.words) > LONGEST_NEWS or _SENTENCES.search(old):
        return "different"
    if before.label and after.label and before.label != after.label:
        return "different"  # "PR 260" is not "PR 480"
    me = stem(speaker.split(" ", 1)[0].lower())
    return "supersedes" if likelihood(before, after, me, sure) >= sure else "different"


def _repeats(old: Reading, new: Reading) -> bool:
    """The newer one says nothing that the older one does not say."""
    return (
        new.content <= old.content
        and bool(new.content)
        and new.numbers.items() <= old.numbers.items()
        and new.dates <= old.dates
        and new.days <= old.days
        and all((aspect in old.aspects) == (aspect in new.aspects) for aspect in _TELLING)
        and (not new.numbers or new.subject == old.subject)
    )
