"""Sentences retold in the third person: who "I" and "you" are, and whom "he" or "her" means."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lifelong.text.dates import MONTHS, WEEKDAYS
from lifelong.text.names import ACQUAINTANCES, FEMALE_RELATIVES, MALE_RELATIVES
from lifelong.text.stems import PARTICIPLE, PAST
from lifelong.text.words import COMMON, FUNCTION, PRAISE, word_set

_SAME = word_set("put set let cut hit hurt shut spread split cost")  # past and present alike
_FIRST = re.compile(r"\b(?:my|our|me|us|finally|(?:19|20)\d\d)\b", re.IGNORECASE)
_PREFIX = re.compile(r"^(?:re|mis|over|under|out|un|fore|with)(?=[a-z]{3})")
_FIXED = word_set(
    """can could will would shall should may might must can't couldn't won't wouldn't shouldn't mustn't ought used
    didn't hadn't wasn't had and or but to in on at for of with the a an as if when while who that not both bit"""
)
_AUXILIARY = {"gotta": "has to", "wanna": "wants to", "gonna": "is going to"} | dict(
    pair.split(":")
    for pair in word_set("am:is are:is were:was weren't:wasn't aren't:isn't have:has haven't:hasn't don't:doesn't")
)
_PLURAL = {"am": "are", "was": "were", "wasn't": "weren't", "gotta": "have to", "wanna": "want to"}
_CLITIC = {"m": "is", "re": "is", "ve": "has", "ll": "will", "d": "would", "s": "is"}
_CLITICS = {"m": "'re", "re": "'re", "ve": "'ve", "ll": "'ll", "d": "'d", "s": "'s"}
_NOT_PAST = frozenset({"need", "feed", "speed", "exceed", "proceed", "succeed", "bleed", "breed", "seed", "heed"})
_ADVERB = (
    r"(?:also|always|never|no longer|often|sometimes|still|just|only|even|already|both|all|now|then|almost"
    r"|ever|once|last|first|(?!(?:app|re|supp|multip|imp|comp|f|al|bul|ral)ly\b)[a-z]{2,}ly)"
)
_PRONOUN = re.compile(
    r"\b(?:(I(?![/-]\w)|we|you|u)(?:'(m|ve|ll|d|re|s))?(?![\w'])"
    rf"(?:((?:\s+{_ADVERB})*)\s+(?!(?:my|me|your|our|us|I|we|you)\b)([a-z]+(?:-[a-z]+)*(?:'t)?))?"
    r"|(?<![-/@])(me|my|mine|myself|us|our|ours|ourselves|your|yours|yourself|yourselves)(?![\w'/@]|-\w))",
    re.IGNORECASE,
)
_ONE = {"us": "me", "our": "my", "ours": "mine", "ourselves": "myself"}
_ME = {"me": "{}", "my": "{}'s", "mine": "{}'s"}
_THEM = {"me": "them", "my": "their", "mine": "theirs", "myself": "themselves"}
_YOURS = {"your": "{}'s", "yours": "{}'s", "yourself": "themselves", "yourselves": "themselves"}
_SECOND_VERB = re.compile(
    r"((?:(?!\bto (?!the\b|an?\b|my\b|their\b)[a-z]|\b(?:will|would|can|can't|could|should|might|must|did|didn't"
    r"|does|doesn't|won't|let|lets|gonna|hopes|thinks|knows|says|said|believes|wishes|help\w*|makes?|made|had|saw"
    rf"|they|we|you|who|that|which|because|whether|when|while|if|how|where)\b)[^,;])+?\b(?:and|or|but)"
    rf"(?: {_ADVERB})*) (want|enjoy|prefer|hate|have|am|do|go|take|make"
    r"|keep|teach|write|live|know|think|feel|try|run|spend|eat|sing|(?:love|like|need|work|hope|plan|play|use"
    r"|study|help|dance)(?= (?:to|my|the|an?|it|in|at|as|for|on|with|that|their|alone|[a-z]+ing)\b))\b"
)
_TOGETHER = re.compile(r"(?:(?:my|our|the) [\w'-]+(?: [A-Z]\w+)?|[A-Z][\w-]+(?<!ed)) and ", re.IGNORECASE)
_NO_VERB = word_set("""in on at to for with and or but as about by from of the a an if when while who that not""")
_BARE = re.compile(
    rf"((?:{_ADVERB}\s+)*)(?:((?:not )?[a-z]+in[g'])|(gonna|not sure)"
    r"|(been|never been)|(need|want|love|like|hope|plan|prefer|hate|work|live"
    r"|miss|enjoy|have|(?:have|had|did|could|ca)n't|might|will|would|wanna|gotta|wish|doubt|used)"
    r"(?! (?:and|or|is|was|are|can|will|has)\b)|([a-z]+))\b(?!')",
    re.IGNORECASE,
)
_DONE_TO_ME = re.compile(
    r"(?:took|made|cost|gave|helped|taught|reminded|brought|reminds|makes|helps|gives) (?:me|us)\b"
)
_NOT_ACTIVITIES = PRAISE | word_set(
    "nothing something anything everything being knowing during morning evening wedding"
)
_FIRST_CLAUSE = re.compile(r"[;:]|,? (?:because|but|while|since|if)\b|, and (?:it|I|we|they|he|she)\b")
_FINITE = re.compile(
    r"\b(?:is|\w+n't|was|are|were|has|have|had|can|will|would|must|should|could|makes?|helps?|brings?|feels?"
    r"|gives?|sounds?|looks?|means?|takes?|gets?|keeps?|lets?|motivates?|reminds?)\b|'s\b"
    r"|(?<!,)(?<!with)(?<!for)(?<!to)(?<!of)(?<!from)(?<!around)(?<!behind) (?:me|us)\b"
)
_ADJECTIVE = re.compile(
    r"\b(?:the|an?|my|our|your|his|her|their|its|of|with|very|so|getting|feeling|staying) [a-z]+\b"
)
_OBJECT = re.compile(
    r" (?:to|my|our|the|an?|some|it|that|this|with|in|for|at|on|up|out|about|into|another|two|three|\d+)\b|$"
)
_QUOTING = ('"', "\u201c", ": ", ", I")  # every quotation has one of them
_QUOTED = re.compile(
    r"[\"\u201c][^\"\u201d]*[\"\u201d]?"
    r"|\b(?:said|says|wrote|writes|texted|replied|answered|asked|told me|goes|was like)[:,] .*"
)
_CAUSES = re.compile(
    r"\b(?:let|lets|make|makes|made|help|helps|letting|making|helping|see|seeing|watch|hear|than|and|with|for)\s$"
)


def third_person(text: str, me: str, you: str) -> str:
    """Return the sentence with `I`, `we` and `you` resolved: first to a name, then to `they`. If it has no subject
    ("Went to Rome"), the speaker becomes it. Quotations stay as they are."""
    named = False

    text = _with_subject(text)
    quoted = _quotations(text) if any(mark in text for mark in _QUOTING) else []

    def resolve_pronoun(found: re.Match[str]) -> str:
        nonlocal named
        if quoted and any(start <= found.start() < end for start, end in quoted):
            return found[0]
        pronoun = (found[1] or found[5]).casefold()
        if pronoun != "i" and found[0][0].isupper() and found.string[: found.start()][-2:-1].isalnum():
            return found[0]  # "The Last of Us"
        if pronoun in {"you", "u"}:
            return _subject(found, you, by_name=True) if you else found[0]
        if pronoun in _YOURS:
            return _YOURS[pronoun].format(you) if you else found[0]
        by_name, named = not named, True
        pronoun = _ONE.get(pronoun, pronoun)
        if not found[1]:
            return _ME.get(pronoun, _THEM[pronoun]).format(me) if by_name else _THEM[pronoun]
        return _subject(found, me if by_name else "they", by_name=by_name)

    retold = _PRONOUN.sub(resolve_pronoun, text)
    if retold.startswith(f"{me} ") and (second := _SECOND_VERB.match(retold, len(me))):
        retold = f"{me}{second[1]} {conjugated(second[2])}{retold[second.end() :]}"
    return retold if me and retold.startswith(me) else retold[:1].upper() + retold[1:]


def _quotations(text: str) -> list[tuple[int, int]]:
    """Return the spans of quotations."""
    spans = [found.span() for found in _QUOTED.finditer(text)]
    return [span for span in spans if not text.endswith(("I ", "we "), 0, span[0])]


def _subject(found: re.Match[str], who: str, *, by_name: bool) -> str:
    clitic, adverbs, verb = (found[2] or "").lower(), found[3] or "", found[4] or ""
    causes = found[1].lower() == "you" and _CAUSES.search(found.string[: found.start()][-12:])
    if verb and not clitic and (verb in _NO_VERB or causes):
        return f"{who}{adverbs} {verb}"
    if clitic:
        if clitic == "d" and verb == "better":
            return f"{who} should"
        had = clitic == "d" and is_past(verb) and verb not in _SAME
        subject = f"{who} {'had' if had else _CLITIC[clitic]}" if by_name else f"{who}{_CLITICS[clitic]}"
        return f"{subject}{adverbs} {verb}".rstrip()
    if not verb:
        return who
    by_name = by_name and not _TOGETHER.fullmatch(found.string, 0, found.start())
    return f"{who}{adverbs} {conjugated(verb) if by_name else _PLURAL.get(verb, verb)}"


def conjugated(verb: str) -> str:
    """Return a verb that followed "I" in the form that follows a name."""
    low = verb.lower()
    if low in _AUXILIARY:
        return _AUXILIARY[low]
    if low in _FIXED or low in _SAME or is_past(low) or low.endswith(("ing", "n't")):
        return verb
    if low.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es" if not low.endswith("s") or low.endswith("ss") else verb
    if low.endswith("y") and low[-2:-1] not in set("aeiou"):
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def is_past(verb: str) -> bool:
    """Return whether a verb, in lower case, is a past form."""
    verb = verb.rpartition("-")[2]
    return _PREFIX.sub("", verb) in PAST or verb in PAST or (verb.endswith("ed") and verb not in _NOT_PAST)


def _with_subject(text: str) -> str:
    """Return the sentence with the "I" that was left out, unless it has a subject or is a command."""
    found = _BARE.match(text)
    if not found:
        return text
    rest = text[0].lower() + text[1:]
    if text[found.end() : found.end() + 1] == ":" or (found[1] and text[found.end(1)].isupper()):
        return text  # "Pricing: ...", "Never Let Me Go is ..."
    if _DONE_TO_ME.match(rest):
        return f"It {rest}"
    doing, going, been, wanting, other = found.groups()[1:]
    if doing:
        return text if doing.lower() in _NOT_ACTIVITIES or _has_verb(rest) else f"I'm {rest}"
    if going:
        return f"I'm {rest}"
    if been:
        return f"I've {rest}"
    word = (other or "").lower()
    if word in _SAME and word not in {"hit", "cut", "hurt"} and not _FIRST.search(rest):
        return text  # "Put it there" is more likely a request
    if word.endswith("ed"):
        wanting = wanting or (len(word) > 4 and _OBJECT.match(text, found.end()))
    elif is_past(word) and not PARTICIPLE.fullmatch(word):
        wanting = word
    return f"I {rest}" if wanting else text


def _has_verb(text: str) -> bool:
    """Return whether the first clause has a verb besides its "-ing" subject ("Living alone changed me")."""
    clause = _FIRST_CLAUSE.split(text, maxsplit=1)[0]
    verbs = _ADJECTIVE.sub("", clause).split(" ")[1:]
    return bool(_FINITE.search(clause)) or any(is_past(verb) and not PARTICIPLE.fullmatch(verb) for verb in verbs)


# Whom "he" or "her" means


PRONOUN_START = re.compile(r"(?:he|she|they|it|his|her|their|its)\b", re.IGNORECASE)
_PERSON = re.compile(r"(?:(he|she)('s|'d|'ll)?|(his|her))(?= [a-z])", re.IGNORECASE)
_FEMALE = FEMALE_RELATIVES | word_set("granny mrs ms miss stepmother stepdaughter")
_MALE = MALE_RELATIVES | word_set("mr stepfather stepson")
_ANY_GENDER = ACQUAINTANCES | word_set(
    """doctor dentist therapist landlord landlady client patient student professor supervisor dog cat puppy
    kitten"""
)
_KIN = "|".join(sorted(_FEMALE | _MALE | _ANY_GENDER))
_NAME = r"[A-Z][\w-]+"
_MENTION = re.compile(
    rf"(?P<title>\b(?:Mr|Mrs|Ms|Dr|Miss|Prof)\b\.? )(?P<titled>{_NAME})"
    rf"|(?P<whose>\b(?:[Mm]y|[Oo]ur|[Yy]our)|\b{_NAME}'s|\b(?:[Hh]er|[Hh]is|[Tt]heir)) (?:[a-z]+ )?"
    rf"(?P<kin>{_KIN})\b(?:,? (?P<named>{_NAME}))?"
    rf"|^(?P<first>{_NAME})(?:'s\b| (?:(?P<does>said|says|told|tells|thinks|loves|hates|likes|wants|lives|works"
    r"|married)|(?:is|was|has|had|will|would|can|and|now|[a-z]+ed)\b))"
    r"|(?<![.!?:] )(?<!^)(?<!\b(?:in|at|to|on|by|of) )(?<!\b(?:the|for|via) )(?<!\b(?:from|near|into|than) )"
    rf"(?<!called )(?<!named )\b(?P<name>{_NAME})(?!'s? [A-Z])"
)
_NOBODY = {*FUNCTION, *COMMON, *MONTHS, *WEEKDAYS} | word_set("english german french spanish christmas easter")
_UNNAMED_PERSON = re.compile(
    rf"\b(?:girl|boy|wom[ae]n|m[ae]n|lady|guy|kids?|child|baby|person|people|someone|somebody|{_KIN})\b"
)
_MAX_SENTENCES_BACK = 3  # in which a name may still be whom "she" means
_HAS = re.compile(r" (?:been|got|had|become)\b")


class EarlierSentence(NamedTuple):
    """A sentence that was said before, its speaker and listener, and its record."""

    text: str
    speaker: str
    to: str
    record: int


class _Mentioned(NamedTuple):
    """A person that a sentence mentions at `place`; the name is empty if it is ambiguous. `woman` is none if
    unknown; `sure`: it is certainly a person."""

    name: str
    place: int
    woman: bool | None
    sure: bool


def resolve_pronoun(
    text: str, before: Sequence[EarlierSentence], speakers: frozenset[str]
) -> tuple[str, int, bool]:
    """Return the sentence with its first pronoun replaced by the person it means, the record that mentions
    them, and whether that is sure. If it is ambiguous, return the sentence as it is, without a record."""
    found = _PERSON.match(text)
    if not found:
        return text, 0, True
    hers = (found[1] or found[3]).lower() in {"she", "her"}
    for ago, earlier in enumerate(before):
        people = _people(earlier, before, speakers)
        if _PERSON.match(earlier.text) or (not people and _UNNAMED_PERSON.search(earlier.text)):
            break
        if people:
            meant = [one for one in people if one.woman is hers] or [one for one in people if one.woman is None]
            if not meant or not meant[0].name or (len(meant) > 1 and meant[0].place):
                break
            joined = f"{meant[0].name.split()[-1]} and "
            if any(earlier.text[: one.place].endswith(joined) for one in people if one.woman is not (not hers)):
                break  # "Tom and Max": either of them
            if not meant[0].sure and ago >= _MAX_SENTENCES_BACK:
                break
            rest = text[found.end() :]
            is_or_has = " has" if _HAS.match(rest) else " is"
            ending = "'s" if found[3] else {"'s": is_or_has, "'d": " would", "'ll": " will"}.get(found[2], "")
            return f"{meant[0].name}{ending}{rest}", earlier.record, meant[0].sure
    return text, 0, True


def _people(
    earlier: EarlierSentence, before: Sequence[EarlierSentence], speakers: frozenset[str]
) -> list[_Mentioned]:
    """Return everybody a sentence mentions."""
    people: dict[str, _Mentioned] = {}
    for found in _MENTION.finditer(earlier.text):
        name, woman, sure = found["first"] or found["name"], None, False
        if found["titled"]:
            name, woman, sure = found["title"] + found["titled"], _gender(found["title"].strip(" .").lower()), True
        elif kin := found["kin"]:
            name, woman, sure = found["named"] or _of(found["whose"], kin, earlier, people), _gender(kin), True
        elif name in speakers or name.isupper() or name.lower() in _NOBODY:
            continue
        elif found["first"] and not found["does"]:
            sure = any(one["named"] == name for other in before for one in _MENTION.finditer(other.text))  # as kin
            name = name if sure else ""  # somebody, or a thing
        people.setdefault(name, _Mentioned(name, found.start(), woman, sure))
    return list(people.values())


def _of(whose: str, kin: str, earlier: EarlierSentence, people: Mapping[str, _Mentioned]) -> str:
    """Return a description of a person without a name; empty if it is unclear whose relative they are."""
    if whose.lower() in {"my", "our"}:
        return f"{earlier.speaker}'s {kin}"
    if whose.lower() == "your":
        return f"{earlier.to}'s {kin}" if earlier.to else ""
    if whose.lower() not in {"her", "his", "their"}:
        return f"{whose} {kin}"
    first = next(iter(people.values()), None)
    return f"{first.name}'s {kin}" if first and first.name and not first.place else ""


def _gender(word: str) -> bool | None:
    return True if word in _FEMALE else False if word in _MALE else None
