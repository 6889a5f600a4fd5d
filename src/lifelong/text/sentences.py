"""Text split into sentences, and sentences into clauses, in every language that ends them with a mark or a
line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from lifelong.text.dates import MONTH_NAMES
from lifelong.text.words import pattern

MAX_LABEL_CHARS = 32
MAX_DATE_CHARS = 12

LABEL = re.compile(r"([^\W\d_][^\W\d]*(?: [A-Z][\w.'\u2019-]*){0,2})(?::\s+|\uff1a)(?=\S)")
_PARTS = r"[;\uff1b؛]\s+|\uff1b"
# What stands before a mark is checked after the mark matched, so that the search goes from mark to mark.
_END = (
    r"(?<![.!?…\u061f。\uff01\uff1f])[.!?…\u061f](?<!\b[A-Z]\.)(?<!\b(?:Mr|Dr|Ms|St|vs|ca|Nr|ul|al|pl"
    r"|Av)\.)(?<!\b(?:Mrs|bzw)\.)"
    r"(?<!\bProf\.)(?<!\bapprox\.)(?<!(?:e\.g|i\.e|a\.m|p\.m|z\.B)\.)(?!(?<=\bNo\.)\s\d)"
    rf"(?!(?:(?<=\b\d\.)|(?<=\b\d\d\.)) (?:(?i:{'|'.join(sorted(MONTH_NAMES))})"
    r"|bis|und|oder|OG|Stock|Etage|Klasse|Mal|Platz|Runde|Geburtstag|Jahrhundert)\b)"
    r"[.!?…\u061f]*+[\"')\]\u201d\u2019»]*+(?:\s+|$)|\n+|[。\uff01\uff1f][.!?…\u061f]*+"
)
_DAY_AND_MONTH = re.compile(
    r"(?P<on>(?i:am|ab|vom|zum|bis|den|dem|der|seit) )?\b\d{1,2}\.(?:0?[1-9]"
    r"|1[0-2])\.\s+(?(on)[^\W\d_]*[a-z]|(?:um|ab|gegen|bis) )"
)
"""A day as German writes it, in the middle of a sentence: "am 12.2. um 9 Uhr"."""
_ITEM_NUMBER = re.compile(r"[\W_]*\d{1,2}\.[^\S\n]*")


class Clause(NamedTuple):
    """A part of a text that stands for itself. `label` is who says it or what it is about ("Caroline: …");
    `under` says that the label stands in the same sentence, not in one before it."""

    label: str
    under: bool
    text: str


def sentences(text: str) -> Iterator[str]:
    """Yield each sentence with the mark that ends it. A line break ends one, too; an abbreviation, an initial, the
    number of a list's item and a day ("3. Mai") do not."""
    start = 0
    for end in pattern(_END).finditer(text):
        if _ITEM_NUMBER.fullmatch(text, start, end.end()) or _is_in_date(text, start, end):
            continue
        if sentence := text[start : end.end()].strip():
            yield sentence
        start = end.end()
    if rest := text[start:].strip():
        yield rest


def _is_in_date(text: str, start: int, end: re.Match[str]) -> bool:
    """Return whether the mark belongs to a day after which the sentence goes on."""
    at = end.start()
    if not text[max(at - 1, 0)].isdigit() or not text[end.end() : end.end() + 1].islower():
        return False
    found = _DAY_AND_MONTH.search(text, max(start, at - MAX_DATE_CHARS), end.end() + MAX_DATE_CHARS)
    return found is not None and found.start() < at < found.end()


def clauses(text: str) -> Iterator[Clause]:
    """Yield the sentences of a text, split at each semicolon. A label holds until the next one or an arrow (what
    follows is the answer)."""
    label = ""
    for sentence in sentences(text):
        found = LABEL.match(sentence)
        under = found is not None and len(found[1]) <= MAX_LABEL_CHARS
        if found and under:
            label, sentence = found[1], sentence[found.end() :]
        for number, said in enumerate(sentence.split("→")):
            if number:
                label, under = "", False
            for part in pattern(_PARTS).split(said):
                if part := part.strip():
                    yield Clause(label, under, part)
