"""The small words of a claim, and the turns of phrase that say that something ended, gave way to another thing,
is only thought, or holds only for a while."""

from __future__ import annotations

import re


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP = words(
    """a an the this that these those its it his her their our my your he she they we i you him them us as so very
    of to in on at for with by from into onto and or but be is are was were been being am has have had do
    does did will shall gonna who which what there here just also still already again about around quite
    really some any all each own one's s about than then because since when while where every up out over off per
    via"""
)

PREPOSITIONS = words(
    """in on at to for with by from into onto as under over near about of through after before until since because
    instead during via than like"""
)

AUXILIARIES = words(
    """be been is are was were has have had does do did will would can could might must shall should isn't aren't
    wasn't weren't hasn't haven't hadn't doesn't don't didn't won't can't couldn't cannot"""
)

DOUBTS = words(
    """if would could might maybe perhaps imagine imagines imagined wonder wonders wondered whether ask asks asked
    think thinks thought say says said claim claims claimed find finds guess guesses consider considers
    considering considered dream dreams dreamt dreamed hope hopes hoped wish wishes wished should suggest
    suggests suggested propose proposes proposed joke jokes joked joking doubt doubts fear fears suspect
    suspects tempted pretend pretends feel feels tell tells told recommend recommends recommended expects
    predicts supposedly allegedly rumour rumor hypothetically fantasises fantasizes someday"""
)
"""Words of what is only thought, said or wished: such a claim replaces nothing."""

ADDITIONS = words("another other additional additionally besides extra both likewise also")

BRIEFLY = words(
    """today tonight temporarily until staying stays stayed visiting visits visited rental rented borrowed borrows
    guest meanwhile briefly weekend holiday vacation trip travelled traveled travelling traveling covers
    covering substitutes substituting filling standing"""
)
"""Words of what holds only for a while, and so leaves the lasting state as it is."""

MOMENTS = words("now nowadays currently finally anymore longer again still recently meanwhile")

POSSESSIVES = words("his her their its")

NEGATIONS = words("not never no cannot without neither nor none nobody nothing hardly against")

HYPOTHETICAL = words("if would could might maybe perhaps whether wonders imagines hypothetically")

TURNS = words("since for after before as when while to in from with at by")
"""Words after which a phrase that has named a thing speaks of another one."""

CLAUSES = words("and or but because so , ;")
"""Where a "not" or a phrase ends."""

MODALS = words(
    """will would can could might must shall should does do did to doesn't don't didn't won't can't couldn't cannot
    not never"""
)
"""What the bare form of a verb follows."""


class Turn:
    """A turn of phrase in lower-case text. One of its `cues` has to be there, which is cheap to know."""

    def __init__(self, cues: str, *pattern: str) -> None:
        self._cues = words(cues)
        self._pattern = re.compile("|".join(pattern))

    def search(self, lows: frozenset[str], text: str) -> re.Match[str] | None:
        return None if self._cues.isdisjoint(lows) else self._pattern.search(text)


ADDED = Turn("second third well too", r"\ba (?:second|third)\b|\b(?:as well|too)\b(?! \w)")
CORRECTED = Turn(
    "correction actually fact out instead after mistaken meant",
    r"\b(?:correction|actually|in fact|turns out|turned out|instead|after all|mistaken|meant)\b",
)
CONTRAST = Turn("not", r", (?:and |but )?not |\bnot \w+(?: \w+)?,? but\b")
BRIEF = Turn(
    "this for now moment way trip",
    r"\b(?:this (?:week|weekend|month|morning|summer|winter)|for (?:the|a|one|two|three|\d+) (?:few )?"
    r"(?:days?|nights?|weeks?|weekend|months?)|for now|right now|at the moment|"
    r"on (?:a|her|his|their) (?:way|trip))\b",
)

_THING = r" ?((?:[\w.'-]+ ?){0,4})"
_ENDINGS = """
cancelled canceled cancels quit quits stopped stops ceased declined refused aborted axed terminated left dropped
drops ended scrapped abandoned resigned unsubscribed discontinued withdrew withdrawn deleted removed ditched
retired sold dumped uninstalled dissolved disbanded fired revoked healed returned
"""

ENDED = Turn(
    _ENDINGS
    + """longer gave given giving gives called calls calling got broke split over off gone more laid backed pulled
    shut closed fell stepped sent back there won't not moved done decided turned passed""",
    r"(?:\bno longer|\b(?:gave|given|giving|gives) up(?: on)?|\bcall(?:ed|s|ing) off|\bgot rid of|\bbroke up|"
    r"\bsplit up|\b(?:is|are) (?:over|off|gone|no more)|\b(?:laid|backed|pulled) off|\b(?:shut|closed) down|"
    r"\bfell through|\bstepped down(?: as)?|\b(?:gave|sent) back|\bback from|"
    r"\bthere (?:is|are|will be) (?:no|not)\b|\bwon't (?:be|happen|run)\b|\bwill not (?:run|happen|be)\b|"
    r"\b(?:backed|pulled|moved) out(?: of)?|\bdone with|\bgave away|\bnot happening|\bdecided against|"
    r"\bturned down|\bpassed on|(?<!her )(?<!his )(?<!the )(?<!their )\b(?:"
    + "|".join(_ENDINGS.split())
    + r")\b(?! to| home| from home))"
    + _THING,
)
"""That something is over, and the words after it."""

ANY_MORE = Turn("more anymore longer", r"(?:\bnot|n't|\bnever|\bno) ((?:[\w.'-]+ ){1,8})any ?(?:more|longer)\b")
REPLACED = Turn(
    """instead rather place used formerly previously replaces replaced replacing from better prefers prefer chose
    not swapped traded""",
    r"(?:\binstead of|\brather than|\bin place of|\bused to be|\bformerly|\bpreviously|\breplac(?:es|ed|ing)|"
    r"\b(?:switch|mov|migrat|chang|went|up|down|away)(?:ed|es|ing)?(?: away| over| up| down)? from|\bbetter than|"
    r"\bprefers? (?!to )(?:[\w-]+ ){1,4}(?:over|to)|\bchose (?:[\w-]+ ){1,4}over|, (?:and |but )?not|\band not|"
    r"\bswapped|\btraded)" + _THING,
)
"""That something gave way to another thing, and the words that name it."""

_SET = {
    "can't stand": "hates",
    "cannot stand": "hates",
    "out of order": "broken",
    "on hold": "paused",
    "part time": "part-time",
    "full time": "full-time",
    "broke up with": "left",
    "gave up on": "quit",
    "takes place": "is",
    "take place": "happen",
    "took place": "was",
    "is based in": "lives in",
    "is back at work": "is recovered",
    "is back to work": "is recovered",
}
_SET_PHRASE = re.compile("|".join(map(re.escape, _SET)))


def plain(sentence: str) -> str:
    """The sentence with set phrases put into one word, and one kind of apostrophe."""
    return _SET_PHRASE.sub(lambda found: _SET[found[0]], sentence.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))


BREAKS = frozenset((",", ";", ":"))
SKIPPED = STOP | NEGATIONS | ADDITIONS | AUXILIARIES | MOMENTS | BREAKS | {"new"}
"""Words that are no content."""
