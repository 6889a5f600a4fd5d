"""Whether two clauses are about the same."""

from __future__ import annotations

from collections.abc import Mapping

from recollect.organize.rules import topics
from recollect.organize.rules.clauses import Clause

_STEADY = topics.STATIVE | topics.CHANGES | {"bring"}


def differ(a: Mapping[str, str], b: Mapping[str, str]) -> bool:
    return any(b.get(what, value) != value for what, value in a.items())


def is_one(a: frozenset[str], b: frozenset[str]) -> bool:
    """Two names of one thing: the one may say more, but not each what the other does not."""
    return bool(a and b) and (a <= b or b <= a)


def of_others(a: Clause, b: Clause) -> bool:
    """Each is about a person, and neither about the other's."""
    whose, other = a.core if a.person else frozenset((a.owner,)), b.core if b.person else frozenset((b.owner,))
    return (
        "" not in whose
        and "" not in other
        and not (whose & other or whose & b.words or other & a.words)
        and bool(whose and other)
    )


def of_theirs(a: Clause, b: Clause) -> bool:
    """The newer one is about somebody or something of the person, and the older one does not speak of it."""
    return a.person and b.owner in a.core and b.core.isdisjoint(a.words)


def same_thing(a: Clause, b: Clause) -> bool:
    heads = (not a.head or a.head in b.core or not a.head.isalpha()) and (
        not b.head or b.head in a.core or not b.head.isalpha()
    )
    return heads and is_one(a.core, b.core) and not (a.owner and b.owner and a.owner != b.owner)


def telling(words: frozenset[str], *clauses: Clause) -> frozenset[str]:
    """The words that tell what is meant: no common ones, and not who it is about."""
    for clause in clauses:
        words = words - clause.core if clause.person else words
    return words - topics.GENERIC


def is_steady(a: Clause, b: Clause) -> bool:
    """The verbs say the same of a date or a number; a beginning is not an end."""
    both = {a.verb, b.verb}
    return len(both) == 1 or (both <= _STEADY and not (both & topics.FIRST and both & topics.LAST))


def is_about(a: Clause, b: Clause) -> bool:
    """The newer one speaks of the older one's subject, or of a thing in it."""
    return bool(a.core and a.core <= b.context) or bool(b.core and not b.person and b.core <= a.words)
