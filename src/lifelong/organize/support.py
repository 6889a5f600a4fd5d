"""Whether the records that a fact cites support it, without a model to ask: its numbers and names must be in them,
and most of its other words must be in them or be near to one of them in meaning. So a fact may be put in other
words, and may not be invented."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from lifelong.text.dates import MONTH_WORDS, WEEKDAYS
from lifelong.text.languages import FOREIGN_WORDS, guess_language
from lifelong.text.words import NUMBER_WORDS, WORD, content_words, fold

Likeness = Callable[[Sequence[str], Sequence[str]], Sequence[float]]

MIN_LIKENESS = 0.45  # of a word that counts as supported
MIN_FOREIGN_LIKENESS = 0.6  # the same in languages for which the vectors say little
MIN_SHARE = 0.5  # of the words of a fact that must be supported
MIN_FOREIGN_SHARE = 0.3  # the same in those languages
MIN_STEM_CHARS = 4
LONG_NAME_CHARS = 8  # of a name whose last two letters may differ
MAX_CONFIRMATION_CHARS = 60

FREE_WORDS = frozenset(
    """ about after agent also another answer anyone ask asks assistant became because been become becomes before
    begin begins belong belongs call called calls can come comes consider considers currently decide decided
    decides did do does earlier everyone everything expect expects first following get gets give given gives go
    goes going got had happened has have having how into is keep keeps know known knows later let likes likely
    longer made make makes may mention mentioned mentions more most must need needed needs never new no nobody not
    now often old once one only other others people person plan planned plans prefer preferred prefers said same
    say says see should since so some somebody someone start started starts still sure take takes talk tell tells
    than that their them then there thing things think thinks this told took tries try use used user uses using
    usually want wanted wants was were when where which while who whose why will with without year years
    """.split()
)
"""Words that a fact may add: they say how it was said, or that something is so."""

FOREIGN_FREE_WORDS = FOREIGN_WORDS | frozenset(
    """ bekommt beginnt bevorzugt bittet braucht darf denkt findet geht gehort gern gerne gibt heisst immer kommt
    konnen lauft macht mag mochte mochten muss mussen nie niemand plant sagt sagte sollen sollte steht tut weiss
    wegen will wollen wollte wunscht ahora antes busca cree debe decide decidio desde despues dice dijo empieza
    estan hace hasta llama necesita nunca pide pidio piensa planea porque prefiere puede quiere siempre sigue
    tambien tiene usa va zwei drei vier funf sechs sieben acht neun zehn dos tres cuatro cinco seis siete ocho
    nueve diez deux trois quatre cinq sept huit neuf veut aime avoir doit elle etre faire peut prefere souhaite
    toujours
    """.split()
)
"""The same in other languages, folded."""

_CLAUSE = re.compile(
    r"(?:[;.,]|\band|\bbut) (?=(?:and |but |who |which )?(?:is|was|are|were|has|had|the [^\W_]+ has)\b)"
)
"""Where a fact begins to state something else."""

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NUMBERED = re.compile(r"([A-Z][\w-]{0,60}+) (\d+(?:\.\d+)*)\b")  # "Kestrel 2.0": the number is part of a name
_FIRST = re.compile(r"^[A-Z][^\W_]+")
_SHORT_YEAR = re.compile(r"(?<=\b(?:19|20)\d\d)/\d\d\b")  # the winter of 2025/26
_NAME = re.compile(r"(?<=[^.!?:\s] )[A-Z][^\W_]*(?:['-][^\W_]+)*|(?<=[^.!?:\s] )[^\W\d_]*[a-z][A-Z][^\W_]*")


class SupportCheck:
    """Tells what of a fact its records do not support. `likeness` returns for each word of the first list how near
    the nearest word of the second is in meaning, from 0 to 1."""

    def __init__(self, likeness: Likeness) -> None:
        self._likeness = likeness

    def missing(
        self, fact: str, records: Sequence[str], known: Iterable[str] = (), *, inferred: bool = False
    ) -> str:
        """Return why the fact does not follow from the texts of its records; empty if it may. `known` is text from
        which names may be taken though the records do not say them: subjects, speakers, the rest of the
        transcript. An inferred fact may count."""
        said = " ".join(records)
        evidence = [word for word in content_words(said) if not word.isdigit()]
        language = guess_language(WORD.findall(fold(f"{said} {fact}")))
        foreign = bool(language)
        numbers = _numbers(fact)
        spoken = fold(" ".join((said, *known)))
        numbers -= {number for name, number in _NUMBERED.findall(fact) if fold(f"{name} {number}") in spoken}
        wrong = sorted(one for one in numbers - _numbers(said, parts=True) if not (foreign and len(one) < 3))
        if wrong and not inferred:
            return f"{', '.join(wrong)} is not in them"
        names = {name for name in _NAME.findall(fact) if not _is_date_word(name)}
        absent = [name for name in sorted(names) if not _occurs(fold(name), spoken)]
        if absent and language != "german":  # which writes every noun like a name: absent ones count as words
            return f"{', '.join(absent)} is not in them"
        names -= {*absent}
        borne = len(numbers) + len(names)
        subject = {word for word in content_words("".join(_FIRST.findall(fact))) if _occurs(word, spoken)}
        return self._unsupported(fact, {fold(name) for name in names} | subject, borne, evidence, foreign)

    def _unsupported(self, fact: str, names: set[str], borne: int, evidence: Sequence[str], foreign: bool) -> str:
        """Return which words have no support, if these are too many. `borne`: numbers and names that have it."""
        free = names | FOREIGN_FREE_WORDS if foreign else names
        least = MIN_FOREIGN_LIKENESS if foreign else MIN_LIKENESS
        words = list(dict.fromkeys(word for word in content_words(fact) if _counts(word) and word not in free))
        if not words:
            return ""
        stems = {word[:MIN_STEM_CHARS] for word in evidence if len(word) >= MIN_STEM_CHARS}
        unsupported = [
            word
            for word, alike in zip(words, self._likeness(words, evidence), strict=True)
            if alike < least and word not in evidence and word[:MIN_STEM_CHARS] not in stems
        ]
        share = MIN_FOREIGN_SHARE if foreign else MIN_SHARE
        if len(words) - len(unsupported) + borne < share * (len(words) + borne):
            return f"they say nothing of {', '.join(unsupported)}"
        for clause in _CLAUSE.split(fold(fact))[1:]:
            told = [word for word in content_words(clause) if word in words]
            if told and set(told) <= {*unsupported} and not names & {*WORD.findall(clause)}:
                return f"they say nothing of {', '.join(told)}"
        return ""

    def touches(self, fact: str, record: Sequence[str]) -> bool:
        """Return whether a record has anything to do with the fact. A short one may just confirm it."""
        said = " ".join(record)
        if len(record[0]) <= MAX_CONFIRMATION_CHARS or _numbers(fact) & _numbers(said):
            return True
        words = [word for word in content_words(fact) if _counts(word)]
        evidence = content_words(said)
        stems = {word[:MIN_STEM_CHARS] for word in evidence}
        if not words or any(word[:MIN_STEM_CHARS] in stems for word in words):
            return True
        return max(self._likeness(words, evidence)) >= MIN_LIKENESS


def _counts(word: str) -> bool:
    return (
        word not in FREE_WORDS and not word[0].isdigit() and not _is_date_word(word) and word not in NUMBER_WORDS
    )


def _is_date_word(word: str) -> bool:
    return word.lower() in MONTH_WORDS or word.lower() in WEEKDAYS


def _numbers(text: str, *, parts: bool = False) -> set[str]:
    """Return the numbers of a text without separators of thousands and leading zeros, those in words too; times in
    their parts, and with `parts` also dates and versions. A fact may say "one" without counting."""
    text = _SHORT_YEAR.sub("", text)
    found: set[str] = set()
    for number in _NUMBER.findall(text):
        whole = re.sub(r"[.,](?=\d{3}\b)", "", number)
        found |= {part.lstrip("0") or "0" for part in whole.split(":")}
        found |= {part.lstrip("0") or "0" for part in re.findall(r"\d+", number)} if parts else set()
    in_words = {word for word in WORD.findall(text.lower()) if word in NUMBER_WORDS and (parts or word != "one")}
    return found | {str(NUMBER_WORDS[word]) for word in in_words}


def _occurs(name: str, said: str) -> bool:
    """Return whether a name, or the beginning that its forms share, is in the folded text."""
    name = name.removesuffix("'s")
    ending = 2 if len(name) >= LONG_NAME_CHARS else 1
    stem = name[: max(MIN_STEM_CHARS, len(name) - ending)]
    return re.search(rf"(?<![^\W_]){re.escape(stem)}", said) is not None
