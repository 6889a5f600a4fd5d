"""Whether a newer claim repeats an older one, takes its place, or stands beside it; and where to look for both.

A claim is read once into a `Reading`: its subject, its verb, and its values by slot ("lives in" gives `home`),
date, amount and state. `judge` then asks, in this order: do both say the same; is the newer one no more than a
thought or an addition; does it end, deny or replace what the older one says; does it give another value where
only one can hold. Whatever is left stands beside the older claim: to lose a true claim is worse than to keep two.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Literal

from recollect.organize.rules import topics
from recollect.organize.rules.readings import Reading, read

Verdict = Literal["same", "supersedes", "different"]

LONGEST = 600  # characters of a sentence that are read; a longer one is only ever equal or different
MOST_KEYS = 8
LONGEST_KEY = 100

_PLACES = frozenset(("home", "place", "employer"))
_BROADER = {"employer": "job", "place": "home"}
_STEADY = topics.TRANSPARENT | topics.COPULAS | topics.CHANGES


def keys(sentence: str) -> frozenset[str]:
    """What the sentence is about, as a few short lookup keys (≤ 8): a sentence that this one repeats or supersedes
    shares at least one of them."""
    it = read(sentence[:LONGEST])
    words = [word for word in it.words if ":" not in word and not (it.named and word == it.anchor)]
    rarest = sorted(sorted(words, key=_rarity, reverse=True), key=lambda word: word not in it.names)
    attributes = sorted({_BROADER.get(slot, slot) for slot in (*it.slots, *it.states, *it.amounts)})[:3]
    about = [*attributes, "when"] if it.dates else attributes
    found = [
        blake2b(" ".join(sorted(it.words)).encode(), digest_size=8).hexdigest(),
        "|".join(sorted(rarest[:2])),
        max((it.predicate - it.names) or it.subject.intersection(words), key=_rarity, default=""),
        *(f"{it.anchor}|{topic}" for topic in about),
    ]
    if not it.person:
        found.append("|".join(sorted(it.subject)))
    found += [f"{it.anchor}|{word}" for word in rarest if word != it.anchor]
    return frozenset(key[:LONGEST_KEY] for key in found[:MOST_KEYS] if key)


def _rarity(word: str) -> tuple[int, str]:
    """Long words are rare ones."""
    return len(word), word


def judge(old: str, new: str) -> Verdict:
    """Whether the newer sentence says the same as the older one, replaces it, or stands beside it."""
    if old == new:
        return "same"
    if max(len(old), len(new)) > LONGEST:
        return "different"
    before, after = read(old), read(new)
    if _repeats(before, after):
        return "same"
    if "doubt" in after.marks or "addition" in after.marks:
        return "different"
    if _ends(before, after) or _denies(before, after) or _replaces(before, after) or _takes_over(before, after):
        return "supersedes"
    if _related(before, after) and _revalues(before, after):
        return "supersedes"
    return "different"


# How two claims stand to each other


def _repeats(before: Reading, after: Reading) -> bool:
    """The newer one says nothing that the older one does not say."""
    return (
        after.words <= before.words
        and after.subject <= before.subject
        and bool(before.denied) == bool(after.denied)
        and ("doubt" in before.marks) == ("doubt" in after.marks)
        and before.replaced == after.replaced
        and not _differ(before.states, after.states)
        and bool(before.ended) == bool(after.ended)
    )


def _differ(before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    return any(after.get(what, value) != value for what, value in before.items())


def _related(before: Reading, after: Reading) -> bool:
    """Both are about the same: what one subject has beyond the other is an attribute, or mentioned there too."""
    a, b = before.subject, after.subject
    return a == b or (
        bool(a & after.words or b & before.words)
        and all(word in after.words or topics.ATTRIBUTES.get(word) in after.slots for word in a - b)
        and all(word in before.words or topics.ATTRIBUTES.get(word) in before.slots for word in b - a)
    )


def _shares_owner(before: Reading, after: Reading) -> bool:
    return bool(before.subject & after.subject or after.subject <= before.words or before.subject <= after.words)


def _ends(before: Reading, after: Reading) -> bool:
    """The newer one says that what the older one says is over."""
    things = after.ended - topics.VERBS or after.ended
    known = {word for word in things if word in before.words or _fills(word, before)}
    return (
        bool(known)
        and not before.ended
        and 2 * len(known) >= len(things)
        and _shares_owner(before, after)
        and all(word in before.words for word in after.subject - after.ended)
    )


def _fills(noun: str, reading: Reading) -> bool:
    """The noun names an attribute that the claim gives: "her job" is where and as what she works."""
    attribute = topics.FILLS.get(noun)
    return attribute in reading.slots or (attribute == "job" and "employer" in reading.slots)


def _denies(before: Reading, after: Reading) -> bool:
    """The same with and without a "not"."""
    if bool(before.denied) == bool(after.denied) or not _related(before, after):
        return False
    a, b = before.words - before.subject - topics.LIGHT, after.words - after.subject - topics.LIGHT
    if (a & b).isdisjoint(before.denied or after.denied):
        return False
    return a <= b or b <= a or 2 * len(a & b) > len(a | b)


def _replaces(before: Reading, after: Reading) -> bool:
    """The newer one names what the older one said as the thing that it replaces."""
    said = (before.words - before.subject).union(before.dates.values(), before.amounts.values())
    return (
        not said.isdisjoint(after.replaced) and before.replaced != after.replaced and _shares_owner(before, after)
    )


def _takes_over(before: Reading, after: Reading) -> bool:
    """Another one leads, owns or is what only one can lead, own or be."""
    if before.verb in topics.ROLES and after.verb in topics.CHANGES and after.subject <= before.predicate:
        return True
    if before.verb != after.verb or before.subject & after.subject or not (before.person and after.person):
        return False
    definite = "definite" in before.marks and "definite" in after.marks
    if not (before.verb in topics.ROLES or (definite and before.verb == "be")):
        return False
    return bool(before.predicate) and before.predicate == after.predicate


def _revalues(before: Reading, after: Reading) -> bool:
    """The newer one gives another value where only one can hold. Both are about the same."""
    if _differ(before.states, after.states) and not (before.denied or after.denied or "past" in before.marks):
        return True
    corrected = "corrected" in after.marks
    if not corrected and "event" in before.marks | after.marks:
        return _reports_otherwise(before, after)
    if _same_matter(before, after) and (
        _differ(before.dates, after.dates)
        or _differ(before.amounts, after.amounts)
        or (
            after.verb in topics.CHANGES
            and before.dates
            and after.dates
            and not before.dates.keys() & after.dates.keys()
        )
    ):
        return True
    if "brief" in after.marks:
        return False
    return (
        any(_excludes(before, after, slot) for slot in before.slots.keys() & after.slots.keys())
        or _chooses_otherwise(before, after)
        or _reframes(before, after, corrected)
    )


def _same_matter(before: Reading, after: Reading) -> bool:
    """Verb and objects agree so far that a date or amount of the one is a date or amount of the other."""
    if before.verb != after.verb and not (
        (before.verb in _STEADY or before.verb in after.words)
        and (after.verb in _STEADY or after.verb in before.words)
    ):
        return False
    a, b = before.predicate - after.subject, after.predicate - before.subject
    if before.verb in topics.PLURAL:
        return a <= b or b <= a
    return a <= b or b <= a or bool(a & b) or after.verb in topics.CHANGES


def _excludes(before: Reading, after: Reading, slot: str) -> bool:
    """The two values of the slot cannot both hold: neither contains the other, and both are as exact."""
    a, b = before.slots[slot], after.slots[slot]
    if a <= b or b <= a:
        return False
    names, others = a & before.names, b & after.names
    if names and others:
        return not (names <= others or others <= names)
    if (not names and not others) or after.verb in topics.CHANGES or after.marks & {"corrected", "now"}:
        return True
    return bool(names) and slot in _PLACES and "vague" not in after.marks


def _chooses_otherwise(before: Reading, after: Reading) -> bool:
    """Another choice among things of one kind, or for the same purpose."""
    a, b = before.predicate, after.predicate
    objects = before.chunks.get("", a) & after.chunks.get("", b)
    if objects and a - b and b - a and "possessed" in before.marks & after.marks:
        return True
    if not (before.verb in topics.CHOICES and (after.verb in topics.CHOICES or after.verb in topics.CHANGES)):
        return False
    purpose, other = before.chunks.get("for"), after.chunks.get("for")
    if purpose and other and not purpose & other:
        return False
    if _differ(before.kinds, after.kinds) and (a & b or "vehicle" not in before.kinds):
        return True
    shared = a & b if before.verb == after.verb and before.verb not in topics.WIDE else objects
    return bool(shared and a - b and b - a)


def _reframes(before: Reading, after: Reading, corrected: bool) -> bool:
    """The same sentence but for one value."""
    if before.verb != after.verb and after.verb not in topics.CHANGES:
        return False
    if before.verb in topics.PLURAL and not corrected and "passive" not in before.marks & after.marks:
        return False
    a, b = before.predicate - after.predicate, after.predicate - before.predicate
    if not a or not b or len(a) > 3 or len(b) > 3:
        return False
    named = a <= before.names and b <= after.names
    if before.predicate & after.predicate:
        return named or not (
            (before.person and before.verb in topics.COPULAS) or a & before.names or b & after.names
        )
    if before.person or before.subject != after.subject or before.chunks.keys() != after.chunks.keys():
        return False
    if before.verb in topics.COPULAS:
        return named or _differ(before.kinds, after.kinds)
    return len(before.chunks) == 1 and len(a) < 3 and len(b) < 3


def _reports_otherwise(before: Reading, after: Reading) -> bool:
    """Two reports of one undated event that name different things: "was sent to Bonn", "was sent to Cologne"."""
    a, b = before.predicate - after.predicate, after.predicate - before.predicate
    return (
        before.subject == after.subject
        and before.verb == after.verb
        and "passive" in before.marks & after.marks
        and not (before.person or before.dates or after.dates)
        and before.chunks.keys() == after.chunks.keys()
        and bool(a and b)
        and a <= before.names
        and b <= after.names
    )
