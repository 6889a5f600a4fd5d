"""The words of a text that must not be told otherwise: numbers, names, dates and negations, and what each of them
belongs to.

No grammar and no dictionary, only good guesses from how a word is written and what stands beside it. Languages
that write no capitals have no names here, only numbers, dates and negations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


Kind = Literal["number", "name", "date", "negation", "content", "filler"]

LONGEST_LABEL = 32  # characters
FARTHEST = 20  # words between a specific and what it belongs to

_HAN = "々\u3040-\u30ff\u3400-\u9fff"  # written without spaces: a run of them is one word
_TOKEN = re.compile(rf"[{_HAN}]+|[^\s—\u2013…{_HAN}]+")
_EDGES = (
    ".,;:!?\"'()[]{}<>*_~`|-=،؛؟«»\u201c\u201d\u2018\u2019„。\uff0c、\uff01\uff1f\uff1a\uff1b\uff08\uff09《》「」"
)
_END = re.compile(r"(?<=[.!?…؟])[\"')\]\u201d\u2019»]*\s+|(?<=[。\uff01\uff1f])|\n+")
_NO_END = re.compile(
    r"(?:\b\d{1,2}|\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|vs|ca|approx|e\.g|i\.e|z\.B|bzw|Nr)|\b[A-Z])\.[^\S\n]+\Z"
)
LABEL = re.compile(r"([^\W\d_][^\W\d]*(?: [A-Z][\w.'\u2019-]*){0,2})(?::\s+|\uff1a)(?=\S)")
PERIOD = re.compile(r"\((\d{4}(?:-\d\d){0,2})\)\s+")  # when it was, before what is told of that time
_PARTS = re.compile(r"[;\uff1b؛]\s+|\uff1b")
_ISO = re.compile(r"\d{4}-\d\d(?:-\d\d)?(?:T[\d:.+Z-]+)?")
_HAN_NOT = re.compile("[不没沒無无未别別]|ない")

_NEGATIONS = word_set(
    "not no never none nothing nobody nowhere neither nor without cannot nicht kein keine keinen keiner "
    "keinem nie niemals ohne nichts ne pas jamais sans rien nunca sin ninguno ninguna não nem sem не нет без "
    "ни никогда non senza لا لم لن ليس ليست بدون غير"
)
_DATES = word_set(
    "january february march april may june july august september october november december jan feb mar apr "
    "jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday januar februar "
    "märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag freitag samstag sonntag janvier "
    "février avril juin juillet août septembre octobre novembre décembre enero febrero marzo abril mayo junio "
    "julio agosto septiembre octubre noviembre diciembre"
)
_TWO_TO_TWENTY = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
_NUMBERS = {word: str(number) for number, word in enumerate(_TWO_TO_TWENTY.split(), start=2)} | {
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "hundred": "100",
    "thousand": "1000",
    "million": "1000000",
}
_FILLERS = word_set(
    "a an the and or but if so of to in on at for from by with about into onto over after before up down out "
    "off as than then that this these those it its i me my mine we us our ours you your yours he him his she "
    "her hers they them their is are was were be been being am do does did done doing have has had having "
    "will would can could should shall might must just really very too also there here what when where who "
    "whom which how why all any some more most much many such own same other another again still even ever "
    "only quite rather pretty yeah yes yep yup oh ooh aww wow woah whoa hey hi hello thanks thank bye well "
    "okay ok sure please congrats let lets get gets got getting gotta gonna wanna go goes going gone like one "
    "ones myself yourself himself herself itself ourselves themselves im ive dont doesnt didnt cant wont "
    "because while though although until since through der das den dem des ein eine einen einem einer und "
    "oder aber ist sind waren bin haben ich du er sie es wir ihr mich mir sich zu auf mit von für bei nach "
    "aus als auch noch nur wie wer dass le la les un une et est sont el los las una y son que en في من على "
    "إلى عن أن هذا هذه كان كانت و"
)
_VERBS = word_set("is was are were has had have will would can could said says asked asks wants wanted")
_CLITICS = ("'s", "'re", "'ve", "'ll", "'d", "'m")


class Word(NamedTuple):
    """A word of a sentence. `value` is what it says, whatever the spelling: small letters, numbers in digits,
    every negation "not". It stands at `start` to `end`, without the punctuation around it."""

    value: str
    kind: Kind
    start: int
    end: int


class Specific(NamedTuple):
    """A negation's value names what it denies: "not wait"."""

    kind: Literal["number", "name", "date", "negation"]
    value: str


class Clause(NamedTuple):
    """A part of a text that stands for itself. `label` is who says it or what it is about ("Caroline: …");
    `under` says that the label stands in the same sentence, not in one before it."""

    label: str
    under: bool
    text: str


def specifics(text: str) -> frozenset[Specific]:
    """The numbers, names, dates and negations of a text."""
    parts = list(clauses(text))
    names = proper(part.text for part in parts)
    found = {Specific("name", part.label.lower()) for part in parts if part.label[:1].isupper()}
    for part in parts:
        sentence = words(part.text, names)
        for at, word in enumerate(sentence):
            if word.kind == "negation":
                belongs = nearest(sentence, at)
                found.add(Specific("negation", f"not {sentence[belongs].value}" if belongs is not None else "not"))
            elif word.kind == "number" or word.kind == "name" or word.kind == "date":
                found.add(Specific(word.kind, word.value))
            elif _HAN_NOT.search(word.value):
                found.add(Specific("negation", f"not {word.value}"))
    return frozenset(found)


def missing(text: str, told: str) -> frozenset[Specific]:
    """The specifics of a text that another one does not tell, wherever in it they could stand."""
    heard: set[str] = set()
    for label, _, part in clauses(told):
        values = {word.value for word in words(part)} | set(label.lower().split()) | {label.lower()}
        denies = "not" in values or _HAN_NOT.search(part)
        heard |= values | ({f"not {value}" for value in values} if denies else set())
    return frozenset(specific for specific in specifics(text) if specific.value not in heard)


def sentences(text: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(text):
        if not _NO_END.search(text, max(start, end.start() - 8), end.end()):
            if part := text[start : end.start()].strip():
                yield part
            start = end.end()
    if part := text[start:].strip():
        yield part


def clauses(text: str) -> Iterator[Clause]:
    """The sentences of a text, split at each semicolon. A label holds until the next one, an arrow (what
    follows is the answer) or the end of the time that is told of."""
    label = ""
    for sentence in sentences(text):
        if period := PERIOD.match(sentence):
            label, sentence = "", sentence[period.end() :]
        found = LABEL.match(sentence)
        under = found is not None and len(found[1]) <= LONGEST_LABEL
        if found and under:
            label, sentence = found[1], sentence[found.end() :]
        for number, said in enumerate(sentence.split("→")):
            if number:
                label, under = "", False
            for part in _PARTS.split(said):
                if part := part.strip():
                    yield Clause(label, under, part)


def words(text: str, names: frozenset[str] = frozenset()) -> list[Word]:
    """The words of a clause. `names`: capitalised words that are names even where a clause begins."""
    found: list[Word] = []
    opening = True
    for token in _TOKEN.finditer(text):
        raw = token[0]
        bare = raw.strip(_EDGES)
        if bare:
            start = token.start() + raw.index(bare)
            value, kind = _read(bare, opening, names)
            found.append(Word(value, kind, start, start + len(bare)))
        opening = raw.endswith((":", '"', "\u201d")) or (opening and not bare)
    if found and found[0].kind == "content" and text[0].isupper() and _acts(found):
        found[0] = found[0]._replace(kind="name")
    return found


def nearest(sentence: Sequence[Word], at: int) -> int | None:
    """Where the content word stands that is nearest to another word; of two the later one."""
    for distance in range(1, min(FARTHEST, len(sentence)) + 1):
        for near in (at + distance, at - distance):
            if 0 <= near < len(sentence) and sentence[near].kind == "content":
                return near
    return None


def proper(texts: Iterable[str]) -> frozenset[str]:
    """The words that these clauses write with a capital where no clause begins, and hardly ever without."""
    capital: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for text in texts:
        for at, word in enumerate(words(text)):
            if word.kind == "name" and at:
                capital[word.value] += 1
            elif word.kind == "content" and text[word.start].islower():
                small[word.value] += 1
    return frozenset(word for word, times in capital.items() if times > small[word])


def _acts(found: Sequence[Word]) -> bool:
    """Whether a clause begins like "Caroline has" or "Caroline said"."""
    return len(found) > 1 and found[1].value in _VERBS


def _read(bare: str, opening: bool, names: frozenset[str]) -> tuple[str, Kind]:
    low = bare.lower().replace("\u2019", "'")
    stem = low
    for clitic in _CLITICS:
        stem = stem.removesuffix(clitic)
    capital = bare[0].isupper()
    if low in _NEGATIONS or low.endswith("n't"):
        return "not", "negation"
    if any(map(str.isdigit, bare)):
        return low, "date" if _ISO.fullmatch(bare) else "number"
    if low in _NUMBERS:
        return _NUMBERS[low], "number"
    if capital and stem in _DATES:
        return stem, "date"
    if stem in _FILLERS or stem == "may" or not any(map(str.isalnum, bare)):
        return stem, "filler"
    if capital and (
        not opening or stem in names or (len(stem) > 1 and not bare[1:].islower() and "'" not in bare)
    ):
        return stem, "name"
    return stem, "content"
