"""Stems, and words that mean the same or the opposite.

`stem` is the English stemmer of the index and of everything that compares texts; `stem_in` is that of another
language.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

import Stemmer

_stemmer = Stemmer.Stemmer("english", 0)
MAX_UNSTEMMED_LETTERS = 3  # of a word of another language that stays as it is

_PASTS = """
went:go gone:go did:do done:finish had:have bought:buy ate:eat eaten:eat drank:drink drunk:drink drove:drive
driven:drive wrote:write written:write left:leave sold:sell kept:keep paid:pay met:meet taught:teach
thought:think said:say told:tell took:take taken:take gave:give given:give got:get gotten:get made:make
chose:choose chosen:choose broke:break broken:break began:begin begun:begin ran:run wore:wear worn:wear
spoke:speak spoken:speak slept:sleep led:lead held:hold lost:lose won:win sat:sit stood:stand built:build
sent:send spent:spend brought:bring grew:grow rose:rise fell:fall flew:fly flown:fly swam:swim sang:sing
knew:know known:know saw:see seen:see felt:feel found:find heard:hear read:read cut:cut became:become
came:come was:be were:be born:born died:die tied:tie quit:quit put:put slid:slide withdrew:withdraw
withdrawn:withdraw rang:ring drew:draw set:set
dyed:dye hit:hit cost:cost let:let woke:wake
"""
_OTHERS = """
goes:go does:do has:have shut:shut children:child kids:child kid:child men:man women:woman people:person
wives:wife knives:knife is:be are:be been:be being:be am:be dying:die lying:lie always:always news:news
bus:bus gas:gas going:go doing:do
"""


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split(":") for pair in text.split())


IRREGULAR = _pairs(_PASTS + _OTHERS)
"""Irregular forms, each with the word it is a form of."""

PAST = (frozenset(_pairs(_PASTS)) - {"read", "cost"}) | frozenset(
    """caught drew fought forgot hid meant rode shot threw understood dealt fed hung lit shook sank stole stuck
    struck swore tore been hurt shut spread split swept wept dug spun lent burnt learnt dreamt leapt
    froze blew fled sought crept slid stung swung shrank bled bred laid forgave sped knelt
    misread""".split()
)
"""Past forms that do not end in -ed."""
PARTICIPLE = re.compile(r"[a-z]+(?:en|wn|rn|ne|un)")  # "seen" needs an auxiliary, "saw" does not


@lru_cache(maxsize=10_000)
def stem(word: str) -> str:
    """Return the stem of a folded word. What is not ASCII stays as it is."""
    return str(_stemmer.stemWord(IRREGULAR.get(word, word))) if word.isascii() else word


@cache
def _stemmer_of(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(language, 0)


@lru_cache(maxsize=10_000)
def stem_in(language: str, word: str) -> str:
    """Return the stem of a folded word in a language by its English name; that of a short word is itself."""
    if not word.isalpha() or len(word) <= MAX_UNSTEMMED_LETTERS:
        return word
    return str(_stemmer_of(language).stemWord(word))


# Words that mean the same, and words that mean the opposite

OPPOSITES = """increase decrease; increase reduce; rise fall; raise lower; grow shrink; more less; more fewer;
most least; before after; up down; up drop; up fall; down rise; on off; enable disable; add remove; open close;
start stop; begin end; gain lose; win lose; find lose; fast slow; faster slower; quick slow; high low; higher
lower; first last; allow forbid; allow deny; accept reject; buy sell; pass fail; love hate; like hate; like
dislike; always never; left right; north south; east west; old new; older younger; old young; large small; big
small; bigger smaller; long short; longer shorter; hot cold; warm cold; early late; earlier later; light dark;
with without; better worse; good bad; import export; push pull; upload download; install uninstall; lock unlock;
maximum minimum; over under; above below; inside outside; morning evening; day night; arrive leave; borrow lend;
upgrade downgrade; success failure; true false; public private; connect disconnect; include exclude; agree
disagree; succeed fail; encrypt decrypt; attach detach; easy hard; cheap expensive; strong weak; safe unsafe;
stable unstable; full empty; asleep awake; married divorced; everyone nobody; all none; today tomorrow; today
yesterday; yesterday tomorrow; last next; tonight tomorrow; over still; ascend descend; horizontal vertical;
employee employer; vegetarian vegan"""

SYNONYMS = """like love enjoy prefer fond; short brief concise; answer response reply; buy purchase; begin start;
fix repair solve resolve; error bug failure; choose chose pick select decide opt adopt; live reside;
finish complete; depart leave; move relocate reschedule; delay postpone; crash fail; show display; allow permit;
job position; build create; hate dislike; quit leave left; cause lead led; need require must; help assist;
happen occur; meeting appointment; kid child children; ask request; about around approximately; car vehicle;
mail email; run execute; check verify; store save keep; update upgrade; get receive; give hand; talk speak;
drop remove delete; learn study lesson; trip journey travel; afraid scared fear; favorite favourite;
color colour; become turn"""

_NEGATIVE_PREFIXES = ("un", "in", "il", "im", "ir", "dis", "non", "non-", "de", "a", "up", "down")
_OPPOSITE_PREFIXES = (
    ("up", "down"),
    ("over", "under"),
    ("in", "out"),
    ("in", "ex"),
    ("im", "ex"),
    ("pre", "post"),
)
MIN_BASE_LETTERS = 4  # of a word that a prefix may negate


def are_opposites(one: str, other: str) -> bool:
    """Return whether two folded words are opposites: by the list, or by a prefix ("legal" and "illegal",
    "upstream" and "downstream")."""
    return (stem(one), stem(other)) in _opposites() or _is_negated(one, other) or _is_negated(other, one)


def are_synonyms(one: str, other: str) -> bool:
    """Return whether two stems mean the same, by the list."""
    return (one, other) in _synonyms()


def _is_negated(one: str, other: str) -> bool:
    if len(other) >= MIN_BASE_LETTERS and any(
        stem(one) == stem(f"{start}{other}") for start in _NEGATIVE_PREFIXES
    ):
        return True
    return any(
        one.startswith(x) and other.startswith(y) and stem(one.removeprefix(x)) == stem(other.removeprefix(y))
        for pair in _OPPOSITE_PREFIXES
        for x, y in (pair, pair[::-1])
    )


@cache
def _opposites() -> frozenset[tuple[str, str]]:
    pairs = [tuple(map(stem, pair.split())) for pair in OPPOSITES.split(";")]
    return frozenset(pair for one, other in pairs for pair in ((one, other), (other, one)))


@cache
def _synonyms() -> frozenset[tuple[str, str]]:
    groups = [[stem(word) for word in group.split()] for group in SYNONYMS.split(";")]
    return frozenset((x, y) for group in groups for x in group for y in group)
