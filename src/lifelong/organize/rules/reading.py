"""What a judge sees of a fact: its words by their stems, its names, numbers and dates, whom it is about, and
which of its words speak of a change, an end, a doubt and the like."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

from lifelong.organize.rules.domains import DOMAINS, table
from lifelong.text.dates import MONTH_WORDS, WEEKDAYS
from lifelong.text.stems import canonical
from lifelong.text.words import NUMBER_WORDS, word_set

LONGEST = 600  # characters of a fact that are read

_WORD = re.compile(
    r"(?<![^\W\d_]\.)[$€£]?\d+(?:[.,:/]\d+)*(?:st|nd|rd|th|am|pm|k|%|km|kg|mg|h|m)?\b|[^\W\d_]+(?:['\u2019-][^\W\d_]+)*"
)
_YEAR = re.compile(r"(?:19|20)\d\d")

SMALL = word_set(
    """a an the of to in on at by for with from into onto as and or but so is are was were be been being am has
    have had do does did will would can could it its this that these those there here he she they them his her
    their him who which what when where we us our i me my you your s t than then very just about because while
    after before up out off over down through all some any every each one own if not no never also too"""
)
AUXILIARIES = word_set(
    """is are was were be been being am has have had do does did will would can could should may might must isn't
    aren't wasn't weren't hasn't haven't hadn't don't doesn't didn't won't can't"""
)
_OF_LATE = word_set("now currently today nowadays lately recently new newly finally")
_BEFORE_VERB = AUXILIARIES | word_set("not now also still just really finally")
_ARTICLES = word_set("the a an our my his her their")
_DAYS = frozenset(WEEKDAYS)
_NUMBERS = {word: str(number) for word, number in NUMBER_WORDS.items() if number <= 12 and number != 1}
_ASPECTS = """
end: quit stop leave end finish cease resign retire drop ditch dump abandon scrap cancel axe shelve kill
 terminate close shut sell lose die passed break split divorce separate expire lapse cut remove delete uninstall
 return gave gone over done bin toss donate evict fire sack laid fold dissolve disband wind kick chuck bail nix
 pull withdraw reject called off farewell goodbye last final behind former ex wrapped crash smash wreck stolen
 rehome sworn
change: move switch change migrate replace upgrade downgrade update convert swap trade transfer shift rename
 relocate reassign promote demote renegotiate revise adjust amend rework redo transition become turn went
 exchange renew rebrand
reschedule: postpone delay push bump reschedule rebook slip defer brought forward earlier later moved extend
 shorten shift advance
amount: raise increase rise lower drop reduce decrease cut grow fall double halve shrink expand climb jump hike
 add gain shed
start: start begin join adopt buy get take sign hire open land pick enrol enroll launch found appoint elect
 marry
now: now nowadays currently today these days lately since from onward onwards anymore longer new newly recently
 finally already
correct: actually correction wrong mistake mistaken mixed misremembered misspoke sorry oops turns fact really
 rather meant scratch typo mix-up confused
instead: instead rather than place replacing over
neg: not no never none nobody nothing neither nor longer without cannot can't don't doesn't didn't won't isn't
 aren't wasn't weren't hasn't haven't hadn't couldn't wouldn't shouldn't zero nowhere hardly barely
back: back again return resume restart rejoin reopen revert restored rehired
add: also another second too additional additionally extra besides both addition plus well third more other else
 further alongside
still: still remain stay stick continue unchanged keep same always confirm reconfirm holds standing
hypo: if would could might maybe perhaps imagine whether wonder hypothetically someday should tempted consider
 think suggest hope wish dream toying debating mull contemplate idea plan eventually possibly probably almost
 nearly ask say told rumour rumor joke recommend wants threaten offer
temp: week weekend visit trip holiday vacation temporarily temporary while until meanwhile during tonight
 tomorrow yesterday covering subbing filling borrow lent rental loaner guest short-term stint fortnight
past: used once was were had ago before earlier previously formerly years childhood younger grew teenager
 originally
feel: love hate enjoy happy sad proud excited nervous glad thrilled tired miss grateful annoying worry scared
 afraid lucky amazing great lovely tough hard stressful fun bored relieved
seek: look search seek hunt need wait apply trying
plan: plan will going intend aim hoping scheduled booked want
"""


ASPECTS = table(_ASPECTS)
NEGATION = "neg"


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A fact, read. `kinds` has a letter a word: n number, d date, N name, f small word, w any other; `told` is
    each word but "now" and the like, by its id and kind; `label` has the numbers and dates that tell its subject
    from others, as in "room 12"."""

    words: tuple[str, ...]
    stems: tuple[str, ...]
    ids: tuple[int, ...]
    kinds: str
    told: tuple[tuple[int, str], ...]
    content: frozenset[str]
    names: frozenset[str]
    numbers: dict[str, str]
    dates: frozenset[str]
    days: frozenset[str]
    aspects: dict[str, frozenset[str]]
    domains: dict[str, int]
    subject: tuple[str, ...]
    label: frozenset[str]
    head: str
    verb: str
    auxiliary: str


@lru_cache(maxsize=4_096)
def read(fact: str) -> Reading:
    tokens = _WORD.findall(fact[:LONGEST])
    words = tuple(token.lower().replace("\u2019", "'") for token in tokens)
    bases = [word.removesuffix("'s") for word in words]
    stems = tuple(map(canonical, bases))
    kinds = "".join(
        _kind(n, token, base, words) for n, (token, base) in enumerate(zip(tokens, bases, strict=True))
    )
    aspects: dict[str, set[str]] = {}
    for base, root, kind in zip(bases, stems, kinds, strict=True):
        if kind not in "nd":
            for group in sorted({*ASPECTS.get(base, ()), *ASPECTS.get(root, ())}):
                aspects.setdefault(group, set()).add(root)
    end = _subject_end(words, stems, kinds)
    subject = tuple(root for root, kind in zip(stems[:end], kinds, strict=False) if kind in "wN") or stems[:1]
    ids = tuple(crc32(root.encode()) for root in stems)
    verb = next((n for n in range(end, len(words)) if words[n] not in _BEFORE_VERB), None)
    return Reading(
        words=words,
        stems=stems,
        ids=ids,
        kinds=kinds,
        told=tuple(
            one for one, word in zip(zip(ids, kinds, strict=True), words, strict=True) if word not in _OF_LATE
        ),
        content=frozenset(root for root, kind in zip(stems, kinds, strict=True) if kind in "wN"),
        names=frozenset(root for root, kind in zip(stems, kinds, strict=True) if kind == "N"),
        numbers=_numbers(words, stems, kinds),
        dates=frozenset(
            base[:3] if base[0].isalpha() else base
            for base, kind in zip(bases, kinds, strict=True)
            if kind == "d" and base not in _DAYS
        ),
        days=frozenset(base for base, kind in zip(bases, kinds, strict=True) if kind == "d" and base in _DAYS),
        aspects={group: frozenset(found) for group, found in aspects.items()},
        domains=_domains(words, stems),
        subject=subject,
        label=frozenset(base for base, kind in zip(bases[:end], kinds, strict=False) if kind in "nd"),
        head=subject[-1] if subject else "",
        verb=stems[verb] if verb is not None else "",
        auxiliary=words[end] if end < len(words) else "",
    )


def _domains(words: tuple[str, ...], stems: tuple[str, ...]) -> dict[str, int]:
    """What the fact may be about, and how many of its words say so."""
    found: dict[str, int] = {}
    for word, root in zip(words, stems, strict=True):
        for domain in DOMAINS.get(word) or DOMAINS.get(root, ()):
            found[domain] = found.get(domain, 0) + 1
    return found


def _kind(at: int, token: str, base: str, words: tuple[str, ...]) -> str:
    if not token[0].isalpha():
        beside = words[max(at - 1, 0) : at + 2]
        return "d" if _YEAR.fullmatch(base) or not MONTH_WORDS.isdisjoint(beside) else "n"
    is_name = token[0].isupper()
    if is_name and (base in MONTH_WORDS or base in _DAYS):
        return "d"
    if base in _NUMBERS:
        return "n"
    if base in SMALL:
        return "f"
    return "N" if is_name and at else "w"


def _numbers(words: tuple[str, ...], stems: tuple[str, ...], kinds: str) -> dict[str, str]:
    """Each number, and what it is a number of."""
    found = {}
    for n, kind in enumerate(kinds):
        if kind == "n":
            word = _NUMBERS.get(words[n], words[n])
            after = (stems[m] for m in range(n + 1, min(n + 3, len(words))) if kinds[m] in "wN")
            found[word.strip("$€£").replace(",", "")] = word[0] if word[0] in "$€£" else next(after, "")
    return found


def _subject_end(words: tuple[str, ...], stems: tuple[str, ...], kinds: str) -> int:
    """Where the fact stops saying what it is about, and begins to say something of it."""
    for n in range(min(len(words), 6)):
        word = words[n]
        bent = word.endswith("ed") or (word.endswith("s") and stems[n] != word)
        if word in AUXILIARIES or (
            n and kinds[n] == "w" and bent and not word.endswith("'s") and words[n - 1] not in _ARTICLES
        ):
            return n
    return min(len(words), 6)


def bucket(part: int, whole: int) -> int:
    """How large a part is, in six steps."""
    return 0 if not part else 5 if part >= whole else 1 + 4 * part // whole


def overlap(one: Iterable[str], other: Iterable[str]) -> int:
    """0 neither has any, 1 only the first, 2 only the second, 3 they share some, 4 they share none."""
    first, second = set(one), set(other)
    if not first or not second:
        return 2 * bool(second) + bool(first)
    return 3 if first & second else 4
