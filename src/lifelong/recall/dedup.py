"""Decide whether two texts are the same experience: near in meaning, and different in nothing that matters.

Vectors of a text hardly move when a number, a name, a "not" or the order of two words changes. So texts that are
near are compared word by word: what stands in one alone, what changed places, what was swapped for its opposite,
and whether one is about the past and the other is not. In doubt they are two: an experience stored twice costs a
line, one that is lost cannot be had back. The words for opposites and tenses are English; numbers, names, dates
and negations are found in more languages.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from math import log

from lifelong.models.embedders.base import Embedder
from lifelong.text.names import Word, known_names, tag_words
from lifelong.text.sentences import clauses
from lifelong.text.stems import PARTICIPLE, PAST, are_opposites, are_synonyms, stem
from lifelong.text.words import UNSPACED, content_words, fold, is_stop, word_set

NEAR_OF_STATIC = 0.65
"""The cosine from which on the bundled model has paraphrases; other models have about 0.85."""

MIN_WORD_COSINE = 0.5  # the cosine of two words, by the bundled model, from which on they mean the same
WORDS_PER_MISMATCH = 8  # of this many words, one may be another
_SCALE = 0.85  # the cosine of other models that it corresponds to

_LIGHT = word_set(
    "say said tell told ask want go went come came make made need pleas use call name caus becaus sinc while get "
    "becam becom after befor everi each one instead between cannot keep put also again like what "
    "unabl abl accord realli take took"
)
"""Stems of words that paraphrases add and leave out."""
_NUMBERS = word_set("once twice half dozen double triple")
CLOSED = word_set(
    "yesterday today tonight tomorrow morning afternoon evening night noon midnight weekend spring summer autumn "
    "winter last next again second minute hour day week month quarter year mother father sister brother son "
    "daughter wife husband aunt uncle cousin niece nephew grandmother grandfather"
)
"""Words that never stand for one another: times and relatives."""
_HALF_DAY = re.compile(r"(?<=\d)\s?([ap])\.?m\b")
_NEGATIVE = re.compile(r"(?<![^\s(:=])[-\u2212](\d[\d.,]*)")
_CURRENCY = re.compile(r"([€$£¥])\s?\d")
_UNIT = re.compile(
    r"\d[\s-]?(%|[€$£¥]|°\s?[cfk]?\b|(?:[munpkcd]?[smgl]|[kmgtp]i?b(?:it)?|min|h|hrs?|km|mi|ft|in|lbs?|oz|hz|[kmg]hz|[kmg]?w"
    r"|kwh|m?v|m?a|k|px|percent|euros?|dollars?|pounds?|sec|seconds?|minutes?|hours?)\b)"
)
_UNITS = {
    **dict.fromkeys(("percent",), "%"),
    **dict.fromkeys(("euro", "euros"), "€"),
    **dict.fromkeys(("dollar", "dollars"), "$"),
    **dict.fromkeys(("sec", "second", "seconds"), "s"),
    **dict.fromkeys(("minute", "minutes"), "min"),
    **dict.fromkeys(("hr", "hrs", "hour", "hours"), "h"),
}
_OVER = re.compile(r"\b(?:call(?:s|ed)? off|(?:is|are|was|were) off|cancel\w*|anymore|unable)\b")
_TO_BE = word_set("is are am was were be been being gets got get 's 're become becomes became")
_TO_HAVE = word_set("has have having 've")
_SAME_AS_PARTICIPLE = word_set("run come become put read")  # as participles, and otherwise
_REPORTS = word_set("said told asked wanted advised called named")
_FUTURE = re.compile(r"\b(?:will|shall|won't|going to|plans? to|wants? to|intends? to|about to)\b|'ll\b")
_PASSIVE = re.compile(
    r"^(?P<patient>.*?)\b(?:is|are|was|were|be|been|being|gets?|got)\s+(?P<done>(?:\w+\s+)?\w+(?:ed|en|t|ne|wn|ld))"
    r"(?P<rest>\b.*?)\s+by\s+(?P<agent>(?:(?:the|a|an|his|her|their|our|my)\s+)?[\w'-]+)(?P<tail>.*)$",
    re.IGNORECASE,
)
_DONE = re.compile(r"\b(?:is|are|was|were|be|been|being)\s+(?:\w+\s+)?\w+ed\b")
_ORDERED = re.compile(r"\b(?:than|over|instead of|rather than)\b")
_FROM_TO = re.compile(r"\bfrom\b(.+?)\bto\b(.+)")
_PREFERS_TO = re.compile(r"\bprefers?\b(.+?)\bto\b(.+)")
_ASIDE = word_set("in at on near of with for through via into behind under during")
_LISTED = re.compile(r"\s*,\s*$")
_LIST = re.compile(r"\w+(?:, \w+)*,? (?:and|or) \w+")
_PUNCTUATION = re.compile(r"\s|[。、「」《》!?;:()\"']|(?<!\d)[.,]|[.,](?!\d)")
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")


SameMeaning = Callable[[str, str], bool]
"""Says whether two words mean the same."""


def never_same(_one: str, _other: str) -> bool:
    """Return that no two words mean the same."""
    return False


def is_same(
    one: str, other: str, similarity: float, threshold: float, same_meaning: SameMeaning = never_same
) -> bool:
    """Return whether they are as similar as the threshold asks, and differ in nothing that matters."""
    return similarity >= threshold and not differs(one, other, same_meaning)


def embedder_word_match(static: Embedder) -> SameMeaning:
    """Return what says by the bundled model whether two words mean the same: "scared" and "afraid" do, "tea" and
    "coffee" do not."""

    @lru_cache(maxsize=10_000)
    def match(one: str, other: str) -> bool:
        rows = static.embed([one, other])
        return float(rows[0] @ rows[1]) >= MIN_WORD_COSINE

    return match


def calibrated(cosine: float, embedder: str) -> float:
    """Return the cosine of an embedder on the scale of the thresholds; 0 and 1 stay."""
    if not embedder.startswith("static/") or cosine <= 0:
        return cosine
    return float(cosine ** (log(_SCALE) / log(NEAR_OF_STATIC)))


def differs(one: str, other: str, same_meaning: SameMeaning = never_same) -> str:
    """Return in what two near texts differ; empty where they say the same."""
    unspaced = UNSPACED.search(one) or UNSPACED.search(other)
    if " ".join(one.split()) == " ".join(other.split()) or (unspaced and _bare(one) == _bare(other)):
        return ""
    for kind, check in _CHECKS.items():
        if check(one, other):
            return kind
    return "thing" if unspaced or _replaced(one, other, same_meaning) else ""


def _bare(text: str) -> str:
    """Return the text without blanks and punctuation, which may differ in scripts without blanks."""
    return _PUNCTUATION.sub("", unicodedata.normalize("NFKC", text))


# Numbers, names, dates, negations


def _values(text: str, kinds: Sequence[str]) -> set[str]:
    return {_value(word.value) for word in read_words(text) if word.kind in kinds}


def _value(value: str) -> str:
    """Return a number without its commas, and a day without its plural."""
    bare = re.sub(r"(?<=\d),(?=\d{3})", "", value)
    return bare if any(map(str.isdigit, bare)) else stem(fold(bare))


@lru_cache(maxsize=64)
def read_words(text: str) -> list[Word]:
    """Return the words of a text, with their kinds. A capital within a sentence makes a name everywhere."""
    parts = [f"{part.label}: {part.text}" if part.label else part.text for part in clauses(text)]
    names = known_names(parts)
    return [word for part in parts for word in tag_words(part, names)]


def _numbers(text: str) -> tuple[set[str], set[str]]:
    """Return the numbers, and the units they have."""
    folded = fold(text)
    words = _NUMBERS & set(re.findall(r"\w+", folded))
    return _values(text, ("number",)) | words | set(_HALF_DAY.findall(folded)), _measures(text)


def _measures(text: str) -> set[str]:
    """Return the signs and units of numbers: -5 is not 5, 30 s is not 30 ms, 5 % is not 5 €."""
    folded = fold(text)
    found = {_UNITS.get(unit, unit) for unit in _UNIT.findall(folded)}
    return found | set(_CURRENCY.findall(folded)) | {f"-{number}" for number in _NEGATIVE.findall(folded)}


def _other_names(one: str, other: str) -> bool:
    """Return whether a name or a date of one is missing in the other, of whatever kind it is there."""
    kinds, every = ("name", "date"), ("name", "date", "content", "filler")
    left, right = (_closed() & {stem(word) for word in re.findall(r"\w+", fold(text))} for text in (one, other))
    return left != right or bool(
        _values(one, kinds) - _values(other, every) or _values(other, kinds) - _values(one, every)
    )


def _limited(text: str) -> set[str]:
    """Return the words that follow "only"."""
    found = (content_words(after)[:1] for after in re.split(r"\b(?:only|solely|exclusively)\b", fold(text))[1:])
    return {stem(word) for words in found for word in words}


def _negations(text: str) -> int:
    return sum(word.kind == "negation" for word in read_words(text)) + len(_OVER.findall(fold(text)))


# Opposites, direction, tense, another word in the same place


@lru_cache(maxsize=1)
def _closed() -> frozenset[str]:
    return frozenset(map(stem, CLOSED))


def _opposed(one: str, other: str) -> bool:
    left, right = ({stem(word): word for word in _WORD.findall(fold(text))} for text in (one, other))
    return any(
        are_opposites(left[x], right[y]) for x in left.keys() - right.keys() for y in right.keys() - left.keys()
    )


def _sequence(text: str) -> list[str]:
    """Return the stems of a text, in order, with a passive sentence made active."""
    return [stem(word) for word in content_words(_active(text))]


def _active(text: str) -> str:
    found = _PASSIVE.match(text)
    return "{agent} {done} {patient} {rest} {tail}".format(**found.groupdict()) if found else text


def _turned(one: str, other: str) -> bool:
    """Return whether two words changed places, or sides of a comparison or of a route."""
    return _exchanged(one, other) or _crossed(one, other) or _roles_turned(one, other)


def _exchanged(one: str, other: str) -> bool:
    """Return whether two words changed places. Neighbours may ("the invoice of Acme" is Acme's invoice), and what
    stands in a list."""
    left, right = _sequence(one), _sequence(other)
    if bool(_DONE.search(_active(one))) != bool(_DONE.search(_active(other))):
        return False  # who does it is not said in one of them
    apart = [at for at, (x, y) in enumerate(zip(left, right, strict=False)) if x != y]
    if len(left) != len(right) or len(apart) != 2 or apart[1] == apart[0] + 1:
        return False
    moved = {left[at] for at in apart}
    listed = (set(map(stem, _WORD.findall(found))) for found in _LIST.findall(fold(one)))
    return moved == {right[at] for at in apart} and not any(moved <= those for those in listed)


def _crossed(one: str, other: str) -> bool:
    for x_before, x_after in _sides(one):
        for y_before, y_after in _sides(other):
            if (x_before & y_after) - y_before and (x_after & y_before) - x_before:
                return True
    return False


def _sides(text: str) -> list[tuple[frozenset[str], frozenset[str]]]:
    """Return what stands before and after each word that ranks or orders two things."""
    folded = fold(text)
    cut = [(folded[: found.start()], folded[found.end() :]) for found in _ORDERED.finditer(folded)]
    cut += [(found[1], found[2]) for form in (_FROM_TO, _PREFERS_TO) if (found := form.search(folded))]
    return [(_stems(before, -4), _stems(after, 2)) for before, after in cut]


def _stems(text: str, most: int) -> frozenset[str]:
    found = [stem(word) for word in content_words(text)]
    return frozenset(found[:most] if most > 0 else found[most:])


def _roles_turned(one: str, other: str) -> bool:
    """Return whether the names that act or are acted upon come in another order."""
    left, right = _roles(one), _roles(other)
    shared = [name for name in left if name in right]
    return len(shared) > 1 and shared != [name for name in right if name in left]


def _roles(text: str) -> list[str]:
    """Return the names in order: of a list the first, and none that only says where, when, with what or whose."""
    active = _active(text)
    names = {word.value for word in read_words(text) if word.kind == "name"}
    found: list[str] = []
    last = 0
    for raw in _WORD.finditer(active):
        between, last = active[last : raw.start()], raw.end()
        bare = fold(raw[0])
        if (bare in names or (len(bare) == 1 and raw[0].isupper())) and not _LISTED.match(between):
            before = _WORD.findall(fold(active[: raw.start()]))[-1:]
            if _ASIDE.isdisjoint(before) and not {"and", "or"} & {*before}:
                found.append(bare)
    return list(dict.fromkeys(found))


def _is_past(text: str) -> bool | None:
    """Return whether it is about the past. None where only the verb of saying is in the past."""
    words = _WORD.findall(fold(text))
    past = [word for at, word in enumerate(words) if _past_form(word, words[max(at - 2, 0) : at])]
    if past and set(past) <= _REPORTS:
        return None
    return bool(past) and not _FUTURE.search(fold(text))


def _past_form(word: str, before: Sequence[str]) -> bool:
    if PARTICIPLE.fullmatch(word) or word in _SAME_AS_PARTICIPLE:
        return not _TO_HAVE.isdisjoint(before)
    if word in PAST or word in ("was", "were", "had", "did"):
        return not _TO_HAVE.isdisjoint(before) or _TO_BE.isdisjoint(before) or word in ("was", "were")
    if word == "used" and _TO_BE.isdisjoint(before):
        return True
    if not word.endswith("ed") or len(word) < 4 or is_stop(word):
        return False
    return bool({"was", "were"} & {*before}) or not _TO_HAVE.isdisjoint(before) or _TO_BE.isdisjoint(before)


def _replaced(one: str, other: str, same_meaning: SameMeaning) -> bool:
    """Return whether one word is replaced by another one in the same order of words, or one text says more."""
    left, right = _telling(one), _telling(other)

    def match(x: str, y: str) -> bool:
        return x == y or _are_kin(x, y) or are_synonyms(x, y) or same_meaning(left[x], right[y])

    apart = [(x, y) for x, y in zip(left, right, strict=False) if x != y]
    if len(left) == len(right):
        if len(apart) == 1:
            return not _may_stand_for(*apart[0], one, other)
        if sum(not match(x, y) for x, y in apart) == 1:
            return True
    alone = sum(not any(match(x, y) for y in right) for x in left)
    alone_too = sum(not any(match(x, y) for x in left) for y in right)
    spared = min(len(left), len(right)) // WORDS_PER_MISMATCH
    return min(alone, alone_too) > spared or max(alone, alone_too) > max(1, spared)


def _may_stand_for(x: str, y: str, one: str, other: str) -> bool:
    """Return whether one stem may replace the other, where all else is alike. That they are near in meaning
    is not enough: so are "megabytes" and "gigabytes". Nor that they are kin, as "employee" and "employer", unless
    the sentence was built in another way."""
    frames = [[word for word in _WORD.findall(fold(text)) if stem(word) not in (x, y)] for text in (one, other)]
    return are_synonyms(x, y) or (_are_kin(x, y) and frames[0] != frames[1])


def _telling(text: str) -> dict[str, str]:
    """Return the stems with a meaning, in order, each with its word; numbers are compared separately."""
    found = {stem(word): word for word in content_words(_active(text)) if not word.isdigit()}
    return {key: word for key, word in found.items() if key not in _LIGHT}


def _are_kin(one: str, other: str) -> bool:
    """Return whether two stems begin alike, like "decid" and "decis"."""
    shorter = min(len(one), len(other))
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))
    return same >= max(min(4, shorter), 3, 0.7 * shorter)


_CHECKS: Mapping[str, Callable[[str, str], bool]] = {
    "number": lambda one, other: _numbers(one) != _numbers(other),
    "name or date": _other_names,
    "negation": lambda one, other: _negations(one) != _negations(other),
    "limit": lambda one, other: _limited(one) != _limited(other),
    "opposite": _opposed,
    "direction": _turned,
    "tense": lambda one, other: {_is_past(one), _is_past(other)} == {True, False},
}
