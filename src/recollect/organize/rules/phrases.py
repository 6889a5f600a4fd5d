"""The small words of a claim, and the turns of phrase that say that something ended, gave way to another thing,
was told wrong, is only thought, or holds only for a while."""

from __future__ import annotations

import re


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PREPOSITIONS = words(
    """in on at to for with by from into onto as under over near about of through after before until since because
    instead during via than like behind inside around above below between without within against towards"""
)
AUXILIARIES = words(
    """be been is are was were has have had does do did will would can could might must shall should isn't aren't
    wasn't weren't hasn't haven't hadn't doesn't don't didn't won't can't couldn't cannot wouldn't shouldn't"""
)
MODALS = words(
    """will would can could might must shall should does do did to doesn't don't didn't won't can't couldn't cannot
    not never"""
)
"""What the bare form of a verb follows."""

PERSONS = words("he she they we i")
PRONOUNS = PERSONS | words("it this that")
NEGATIONS = words("not never no cannot neither nor none nobody nothing hardly")
DETERMINERS = words("the a an this that these those his her their its our my your every each new old")
THEIRS = words("his her their its")
ADVERBS = words("not never now still also currently always usually already just often finally no longer only")
MOMENTS = words("now nowadays currently again")
BREAKS = frozenset(",;:.!?\N{EN DASH}\N{EM DASH}-")
REPORTS = words("shows showed confirms confirmed means found discovered")
"""After these, "that" begins what is so."""
JOINTS = words("and but so because while then yet")
TITLES = words("mr mrs ms dr st")

SKIPPED = (
    PREPOSITIONS | AUXILIARIES | PRONOUNS | NEGATIONS | DETERMINERS | ADVERBS | MOMENTS | BREAKS | JOINTS
) | words(
    """being am him them us me you so very or gonna going who which what there here really some any all own
    than when
    where up out off per s more anymore else too quite well as another other additional extra both instead am
    pm please"""
)
"""Words that are no content."""

DOUBTS = words(
    """if would could might maybe perhaps imagine imagines whether wonders wondering hypothetically supposedly
    allegedly rumour rumor someday should tempted considering considers thinks think believes claims says said
    suggests suggested hopes hope hoping wishes joked jokes joking doubts suspects finds asks asked according
    expects predicts told"""
)
"""Words of what is only thought, said or wished: such a clause replaces nothing."""


OPENER = re.compile(
    r"(?:((?:it )?turns out(?: that)?|correction|sorry|oops|actually|no,|my mistake|scratch that)"
    r"|update|heads up|fyi|news|as of (?:today|now|this \w+))[:,]?\s+(?!on\b)",
    re.IGNORECASE,
)
"""What says at the start that something was wrong (the group) or is new."""


class Turn:
    """A turn of phrase in lower-case text. One of its `cues` has to be there, which is cheap to know."""

    def __init__(self, cues: str, pattern: str) -> None:
        self._cues = words(cues)
        self._pattern = re.compile(pattern)

    def search(self, lows: frozenset[str], text: str) -> re.Match[str] | None:
        return None if self._cues.isdisjoint(lows) else self._pattern.search(text)


ADDED = Turn(
    "second third well too also another other additional extra additionally besides both likewise",
    r"\b(?:a|their|'s) (?:second|third)\b|\b(?:as well|too)$|\b(?:also|another|other|additional(?:ly)?|extra"
    r"|besides|both|likewise)\b",
)
CORRECTED = Turn(
    """correction actually fact turns turned wrong mistaken mistake misread misheard misspoke mixed meant
    correct typo confused said""",
    r"\b(?:correction|actually|in fact|turn(?:s|ed) out|wrong|mistaken?|misread|misheard|misspoke"
    r"|mix(?:ed)? (?:\w+ )?up|they meant|correct themselves|typo|confused|as they said)\b",
)
_COUNT = r"(?:about |only |just )?(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten)"
CHANGED = Turn(
    """now nowadays days from since as already forward starting future onwards effective turned down up""",
    r"\b(?:now(?!here)|nowadays|these days|from (?:now|then|[\w ]{1,20}) on(?:wards)?|in future|as of|effective"
    rf"|starting|(?:(?:down|up) to|turned) {_COUNT}|from here on|forward|already)\b",
)
STOPPED = Turn(
    "longer anymore more instead rather switched after round minds mind end",
    r"\b(?:no longer|any ?more|any longer|instead|rather than|switched|after all|in the end|come round"
    r"|changed (?:\w+ )?minds?)\b",
)
BRIEF = Turn(
    """this for now moment way trip today tonight temporarily until staying stays stayed visiting visits visited
    rental borrowed guest meanwhile briefly weekend holiday vacation travelled traveled travelling covering covers
    substituting filling standing once while the""",
    r"\b(?:this (?:week|weekend|month|morning|summer|winter)|for (?:the|a|one|two|three|\d+) (?:few |next )?"
    r"(?:two )?(?:days?|nights?|weeks?|weekend|months?|hours?)|for now|right now|at the moment|in the week of"
    r"|on (?:a|her|his|their) (?:way|trip)|tonight|temporarily|until (?:the|next|we|they|he|she|it)|staying"
    r"|stays|stayed|visit(?:ing|s|ed)|rental"
    r"|borrowed|meanwhile|briefly|weekend|on (?:holiday|vacation)|travell?(?:ed|ing)|covering|covers|substituting"
    r"|filling in|standing in|once|while)\b",
)

_THING = r" ?((?:[\w.'-]+ ?){0,5})"
_ENDINGS = """
cancel cancelled canceled cancels cancelling quit quits quitting stopped stops ceased declined refused aborted axed
terminated left drop dropped drops ended scrap scrapped abandoned resigned unsubscribed discontinued withdrew
withdrawn deleted removed ditched ditch retired sold dumped uninstalled dissolved disbanded revoked returned lost
shelved binned killed lifted scratched nixed dethroned vetoed reversed died
"""

ENDED = Turn(
    _ENDINGS
    + """longer gave given giving gives called calls calling got over off gone more laid backed pulled shut closed
    fell stepped sent back there won't not moved done decided turned passed dead rid parted out finished""",
    r"(?<!not )(?<!n't )(?<!never )(?:\bno longer|\b(?:gave|given|giving|gives|give) up(?: on)?|"
    r"\bcall(?:ed|s|ing) off|\bg[eo]t rid of|"
    r"\b(?:is|are|'s) (?:over|off|gone|no more|dead|out|finished for good)$|"
    r"\b(?:laid|backed|pulled|gone|went|sworn) off|\b(?:shut|closed) down|\bparted (?:ways )?with|"
    r"\bfell through|\bstepped down(?: as)?|\b(?:gave|sent) back|\b(?:took|taken|came|come) (?:\w+ )?off|"
    r"\bthere (?:is|are|will be) (?:no|not)\b|\bthere won't be|\b(?:won't|will not) (?:happen|run)\b|"
    r"\b(?:backed|pulled|moved) out(?: of)?|\bdone with|\bgave away|\bnot happening|\bdecided against|\bno more|"
    r"\bturned down|\bpassed on|(?<!her )(?<!his )(?<!the )(?<!their )(?<!who )\b(?:"
    + "|".join(_ENDINGS.split())
    + r")\b(?! to| home| from home| up| off| behind| over| from work))"
    + _THING,
)
"""That something is over, and the words after it."""

ANY_MORE = Turn(
    "more anymore longer away back",
    r"(?:\bnot|n't|\bnever|\bno) ((?:[\w.'-]+ ){1,8})any ?(?:more|longer)\b"
    r"|\b(?:gave|given|threw|thrown|sent) ((?:[\w'-]+ ){1,4})(?:away|back)\b",
)
RENEWED = Turn(
    "new", r"\b(?:has|have|got|gets|bought|found|started) (?:a|an|their|his|her) new ((?:[\w-]+ ?){1,2})"
)
"""That something is there in place of the one before it."""

REPLACED = Turn(
    """instead rather place used formerly previously replaces replaced replacing from better prefers prefer
    chose chosen
    not swapped traded over than as""",
    r"(?:\binstead of|\brather than|\bin place of|\bused to be|\bformerly|\bpreviously|\breplac(?:es|ed|ing)|"
    r"\b(?:switch|mov|migrat|chang|taken|took|away)(?:ed|es|ing)?(?: away| over| up| down)?(?: [\w-]+){0,4} from|"
    r"\b(?:better|rather (?:[\w-]+ ){1,5})than|\bprefers? (?!to )(?:[\w-]+ ){1,4}(?:over|to)|"
    r"\bchosen? (?:[\w-]+ ){1,4}over|\b(?:and|but) not|^not|\bswapped|\btraded)" + _THING,
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
    "broke up": "separated",
    "split up": "separated",
    "splits up": "separated",
    "takes place": "is",
    "take place": "happen",
    "dropped off": "delivered",
    "based in": "living in",
    "would rather": "prefers to",
    "would like": "wants",
    "would prefer": "prefers",
    "can't wait": "waits",
    "have got": "have",
    "has got": "has",
    "is responsible for": "handles",
    "is in charge of": "handles",
    "takes care of": "handles",
    "passed away": "died",
    "had a baby": "gave birth",
    "taken over": "led",
    "took over": "led",
}
_SET_PHRASE = re.compile("|".join(map(re.escape, _SET)))
_INTENDS = re.compile(r"\bgoing to (?=[a-z])(?!the |an? |their |his |her |our )")
_ASIDE = re.compile(r"\([^)]*\)?")


def plain(sentence: str) -> str:
    """The sentence with set phrases put into one word, no asides, and one kind of apostrophe."""
    sentence = sentence.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    sentence = _SET_PHRASE.sub(lambda found: _SET[found[0]], _ASIDE.sub("", sentence))
    return _INTENDS.sub("gonna ", sentence)
