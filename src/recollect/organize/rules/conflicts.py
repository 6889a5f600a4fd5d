"""Whether a newer claim repeats an older one, takes its place, or stands beside it; and where to look for both.

A claim is read once, clause by clause. A newer clause takes the place of an older one when both are about the
same thing and it says that this is over, denies it, names it as what gave way, or gives another value where only
one can hold. Whatever is left stands beside the older claim: to lose a true claim is worse than to keep two.
"""

from __future__ import annotations

from typing import Literal

from recollect.organize.rules import topics
from recollect.organize.rules.clauses import Clause
from recollect.organize.rules.readings import Claim, read
from recollect.organize.rules.sameness import (
    differ,
    is_about,
    is_one,
    is_steady,
    of_others,
    of_theirs,
    same_thing,
    telling,
)

Verdict = Literal["same", "supersedes", "different"]

LONGEST = 600  # characters of a sentence that are read; a longer one is only ever equal or different
MOST_KEYS = 8
LONGEST_KEY = 100

_BROADER = {"employer": "job", "work": "job", "place": "home"}
_WITHIN = frozenset(("in", "at", "on", "to", "into", "under", "inside", "behind"))
_MANY = frozenset(("household",))  # others may be there too, unless something changed


def keys(sentence: str) -> frozenset[str]:
    """What the sentence is about, as a few short lookup keys (≤ 8): a sentence that this one repeats or supersedes
    shares at least one of them."""
    claim = read(sentence[:LONGEST])
    found: dict[str, None] = {}
    for clause in claim.clauses:
        for slot, (holder, _) in sorted(clause.slots.items()):
            found |= dict.fromkeys(f"{holds}|{_BROADER.get(slot, slot)}" for holds in sorted(holder))
        if "job" in clause.ended | clause.predicate:
            found |= dict.fromkeys(f"{holds}|job" for holds in sorted(clause.core))
        counted = [*sorted(clause.amounts), *(["when"] if clause.dates else [])]
        found |= dict.fromkeys(f"{clause.head}|{what}" for what in (*counted, *sorted(clause.kinds)))
    people = {clause.owner for clause in claim.clauses}.union(
        *(clause.core for clause in claim.clauses[:1] if clause.person)
    )
    people -= frozenset[str]().union(*(clause.ended for clause in claim.clauses))
    people -= {word for clause in claim.clauses for _, value in clause.slots.values() for word in value}
    words = sorted(claim.words - people, key=_rarity, reverse=True) or sorted(claim.words)
    main = claim.clauses[0].core - people if claim.clauses else ()
    chosen = [*list(found)[:4], *sorted(main, key=_rarity, reverse=True)[:2], *words]
    return frozenset(key[:LONGEST_KEY] for key in list(dict.fromkeys(chosen))[:MOST_KEYS])


def _rarity(word: str) -> tuple[bool, int, str]:
    """Long words are rare ones."""
    return word not in topics.GENERIC, len(word), word


def judge(old: str, new: str) -> Verdict:
    """Whether the newer sentence says the same as the older one, replaces it, or stands beside it."""
    if old == new:
        return "same"
    if max(len(old), len(new)) > LONGEST:
        return "different"
    before, after = read(old), read(new)
    if len(before.clauses) == len(after.clauses) == 1 and _repeats(before.clauses[0], after.clauses[0]):
        return "same"
    if any(_contradicts(a, b) for a in before.clauses for b in after.clauses):
        return "supersedes"
    if after.clauses and any(_moves_on(a, after) for a in before.clauses):
        return "supersedes"
    return "different"


def _repeats(a: Clause, b: Clause) -> bool:
    """The newer one says nothing that the older one does not say."""
    return (
        b.words <= a.words
        and b.core <= a.core
        and all(a.dates.get(what) == value for what, value in b.dates.items())
        and all(a.amounts.get(what) == value for what, value in b.amounts.items())
        and bool(a.denied) == bool(b.denied)
        and bool(a.ended) == bool(b.ended)
        and ("doubt" in a.marks) == ("doubt" in b.marks)
        and a.gone == b.gone
        and not _fulfils(a, b)
        and all(a.slots.get(slot, value) == value for slot, value in b.slots.items() if slot in topics.GROUPS)
    )


def _contradicts(a: Clause, b: Clause) -> bool:
    if (
        "doubt" in b.marks
        or ("added" in b.marks and "added" not in a.marks)
        or ("event" in a.marks and "corrected" not in b.marks)
    ):
        return False
    if _takes_over(a, b):
        return True
    if of_others(a, b):
        return b.verb in topics.CANCELS and _ends(a, b)
    return (
        _ends(a, b)
        or _fulfils(a, b)
        or _denies(a, b)
        or _replaces(a, b)
        or ("brief" not in b.marks and (_revalues(a, b) or _counts_otherwise(a, b) or _reframes(a, b)))
    )


# What makes the newer one take the older one's place


def _ends(a: Clause, b: Clause) -> bool:
    """The newer one says that what the older one says is over."""
    if a.ended or a.denied or not b.ended:
        return False
    if "job" in b.ended and same_thing(a, b):
        worked = a.verb == "work" and telling(a.predicate & b.predicate, a, b)
        return bool(worked) or not a.slots.keys().isdisjoint(("job", "employer"))
    if any(holder == b.core and value <= b.ended for holder, value in a.slots.values()):
        return True  # "Hans is Pia's boyfriend" and "Pia left Hans"
    if of_theirs(a, b):
        return False
    if b.verb == "die" and a.verb not in topics.STATIVE:
        return False
    things = telling(b.ended, a)
    things = things - topics.VERBS or things
    known = things & (a.words | {a.verb})
    return bool(known) and 2 * len(known) >= len(things)


def _fulfils(a: Clause, b: Clause) -> bool:
    """What the older one seeks or is at, the newer one has found or finished."""
    if not a.person or a.core != b.core or a.denied or b.denied:
        return False
    works = not b.slots.keys().isdisjoint(("job", "employer"))
    found = b.chunks.get("", frozenset()) | ({"job"} if works else frozenset())
    if "work" in a.slots and a.slots["work"][1] == {"unemployed"}:
        return "job" in found and (works or b.verb in topics.FINDS)
    if a.verb in topics.SEEKS and (works or b.verb in topics.FINDS):
        return not found.isdisjoint(a.chunks.get("for", ()))
    if b.verb == "graduat":
        return a.verb == "study"
    return a.verb in topics.PURSUITS and b.verb == "finish" and bool(telling(a.predicate & b.predicate, a, b))


def _denies(a: Clause, b: Clause) -> bool:
    """The same with and without a "not"."""
    if bool(a.denied or a.ended) == bool(b.denied or b.ended) or not (
        same_thing(a, b) or (not a.person and not b.person and is_about(a, b))
    ):
        return False
    if a.verb != b.verb and a.verb not in b.denied and not (topics.STATIVE & {a.verb, b.verb} - {"lik"}):
        return False
    said = telling(a.denied or a.ended or b.denied, a, b)
    other = b if a.denied or a.ended else a
    return bool(said) and said <= other.words | {other.verb}


def _replaces(a: Clause, b: Clause) -> bool:
    """The newer one names what the older one said as the thing that it replaces."""
    values = frozenset((*a.dates.values(), *a.amounts.values()))
    return not telling(b.gone, b).isdisjoint(a.words | values) and a.gone != b.gone


def _takes_over(a: Clause, b: Clause) -> bool:
    """Another one leads or owns what only one can lead or own."""
    if "brief" in b.marks or a.core & b.core:
        return False
    if a.verb == b.verb == "be" and a.person and b.person and a.predicate == b.predicate:
        return not a.predicate.isdisjoint(topics.ATTRIBUTES)
    if a.verb not in topics.ROLES:
        return False
    if b.verb in topics.CHANGES:
        return bool(b.core) and b.core <= a.predicate
    return b.verb in topics.ROLES and is_one(telling(a.predicate), telling(b.predicate - a.core))


def _revalues(a: Clause, b: Clause) -> bool:
    """Another value of an attribute or a state that has one at a time."""
    if "event" in b.marks and "changed" not in b.marks:
        return False
    if "name" in a.slots and "name" in b.slots and is_one(a.slots["name"][1], b.core - topics.GENERIC):
        return True
    return any(
        is_one(a.slots[slot][0], b.slots[slot][0])
        and not (slot in topics.GROUPS and (a.denied or b.denied))
        and _excludes(a, b, slot)
        for slot in a.slots.keys() & b.slots.keys()
    )


def _excludes(a: Clause, b: Clause, slot: str) -> bool:
    """The two values cannot both hold: neither contains the other, and both are as exact."""
    value, other = a.slots[slot][1], b.slots[slot][1]
    if is_one(value, other) or not value or not other or (value <= b.context and "changed" not in b.marks):
        return False
    changed = "changed" in b.marks or "new" in other
    names = value & (a.names | a.core if a.person else a.names)
    others = other & (b.names | b.core if b.person else b.names)
    if changed or (names and others):
        return not is_one(names, others) and (slot not in _MANY or changed)
    return slot not in _MANY and not (names or others)


def _counts_otherwise(a: Clause, b: Clause) -> bool:
    """Another date or number of the same."""
    if "event" in b.marks and "changed" not in b.marks:
        return False
    moved = "changed" in b.marks and a.dates and b.dates and not a.dates.keys() & b.dates.keys()
    amounts = b.amounts
    if b.verb in topics.CHANGES and "" in amounts:  # "reduced the hours to 30"
        amounts = dict.fromkeys(a.amounts.keys() & b.words, amounts[""]) or amounts
    if not (moved or differ(a.dates, b.dates) or differ(a.amounts, amounts)):
        return False
    alike = is_steady(a, b)
    if same_thing(a, b) and not (a.person and b.person):
        return alike and ("changed" in b.marks or not a.core < b.core)
    if "changed" in b.marks and not a.person and is_about(a, b):
        return True
    units = (a.amounts.keys() & amounts.keys()) - {""}
    if "changed" in b.marks and units & b.words and a.core == b.core:
        return True
    other = a.core & b.context and a.core - b.context and not a.person  # the one has what tells it from the other
    if "changed" in b.marks and units and not other and telling(a.words & b.context - units, a, b):
        return True
    shared = telling(a.predicate & b.predicate, a, b) | units
    rest = telling(a.predicate, a, b), telling(b.predicate, a, b)
    told = shared or (a.verb == b.verb and "now" in b.marks and a.predicate == b.predicate)
    return alike and bool(told) and same_thing(a, b) and (rest[0] <= rest[1] or rest[1] <= rest[0])


def _reframes(a: Clause, b: Clause) -> bool:
    """Another choice, or the same sentence but for one value."""
    shared = telling(a.predicate & b.predicate, a, b)
    changed = "changed" in b.marks
    if b.verb in ("paint", "dye") and b.person:
        shared, changed = telling(a.words & b.words - {b.verb}, a, b), True
    framed = a.verb == b.verb and a.core == b.core and not _beside_kinds(a, b)
    if changed and (shared - topics.KINDS.keys() or framed) and differ(a.kinds, b.kinds):
        return True
    if a.verb != b.verb or not same_thing(a, b) or "event" in b.marks or a.denied or b.denied:
        return False
    if a.verb in topics.CHOICES:
        return _chooses_otherwise(a, b)
    if a.person and "now" in b.marks and shared and a.chunks.keys() == b.chunks.keys():
        return any(a.chunks[by] - shared and b.chunks[by] - shared for by in a.chunks)
    if a.person or a.core != b.core or max(len(a.predicate), len(b.predicate)) > 4:
        return False
    if a.verb in topics.COPULAS:
        value, other = a.chunks.get("", frozenset()), b.chunks.get("", frozenset())
        kinds = "kind" in a.marks & b.marks and ("will" in b.marks or "changed" in b.marks)
        exact = kinds or (value & a.names and other & b.names)
        return bool(value and other and exact) and not value & other
    values, others = _by_sort(a), _by_sort(b)
    return any(not values[sort] & others[sort] for sort in values.keys() & others.keys() if sort)


def _beside_kinds(a: Clause, b: Clause) -> frozenset[str]:
    """What the two say differently, but for things that take each other's place."""
    return (a.predicate ^ b.predicate) - topics.KINDS.keys()


def _by_sort(clause: Clause) -> dict[str, frozenset[str]]:
    """The predicate by the preposition before it; those of place are one."""
    return {"in" if by in _WITHIN else by: words for by, words in clause.chunks.items()}


def _chooses_otherwise(a: Clause, b: Clause) -> bool:
    """Another choice among things of one kind, or for the same purpose."""
    if differ(a.kinds, b.kinds):
        alike = "changed" in b.marks or not _beside_kinds(a, b) or telling(a.predicate & b.predicate, a, b)
        return bool(alike) and (not (a.amounts and b.amounts) or not a.amounts.keys().isdisjoint(b.amounts))
    things, others = a.chunks.get("", frozenset()), b.chunks.get("", frozenset())
    shared = telling(a.predicate & b.predicate, a, b)
    if a.verb in ("prefer", "want"):
        return bool(shared and a.predicate - b.predicate and b.predicate - a.predicate)
    if things or others:
        return bool(shared - things - others) and bool(things and others) and not things & others
    return any(
        a.chunks[by] <= a.names and b.chunks[by] <= b.names and not a.chunks[by] & b.chunks[by]
        for by in a.chunks.keys() & b.chunks.keys()
    )


def _moves_on(a: Clause, new: Claim) -> bool:
    """The newer claim tells of a change, and speaks of what the older one is about."""
    return (
        not (a.denied or a.ended)
        and 0 < len(a.core) < 5
        and any(_changes(a, b, new) for b in new.clauses if not b.marks & {"doubt", "added", "brief"})
    )


def _changes(a: Clause, b: Clause, new: Claim) -> bool:
    if "changed" not in b.marks or of_others(a, b) or ("event" in a.marks and "corrected" not in b.marks):
        return False
    if of_theirs(a, b):
        return False
    if a.verb in topics.CHOICES and b.verb in topics.CHANGES and same_thing(a, b):
        return bool(telling(a.predicate & b.predicate, a, b)) or differ(a.kinds, b.kinds)
    if b.verb in topics.CHANGES and b.core and not b.person and b.core <= a.predicate & a.names:
        return True
    theme = telling(a.chunks.get("") or a.predicate if a.person else a.core, a, b)
    known = theme & (b.context if "strong" in b.marks else b.words) - b.names
    if not known or not b.words - a.words or not (known == theme or same_thing(a, b) or len(known) > 1):
        return False
    if a.person and known != theme and len(known) < 2:
        return False
    if a.person and b.person and not same_thing(a, b):
        return False
    if b.verb in topics.CHANGES and known & (b.chunks.get("") or b.core):
        return True
    return _is_comparable(a, b) and ("strong" in b.marks or ("now" in b.marks and _is_alike(a, b)))


def _is_comparable(a: Clause, b: Clause) -> bool:
    """Both give a value of some one sort: a place, a name, a date, an amount of the same unit."""
    sorts = [{*_by_sort(clause), *clause.amounts, *(("when",) if clause.dates else ())} for clause in (a, b)]
    return not sorts[0].isdisjoint(sorts[1])


def _is_alike(a: Clause, b: Clause) -> bool:
    if not a.person:
        return is_steady(a, b)
    return a.verb not in topics.MANY if a.verb == b.verb else {a.verb, b.verb} <= topics.CHOICES
