"""Text split into sentences, and sentences into clauses, in every language that ends them with a mark or a
line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from lifelong.text.dates import MONTH_NAMES
from lifelong.text.words import pattern

MAX_LABEL_CHARS = 32

LABEL = re.compile(r"([^\W\d_][^\W\d]*(?: [A-Z][\w.'\u2019-]*){0,2})(?::\s+|\uff1a)(?=\S)")
PERIOD = re.compile(r"\((\d{4}(?:-\d\d){0,2})\)\s+")  # when it was, before what happened then
_PARTS = r"[;\uff1b؛]\s+|\uff1b"
# What stands before a mark is checked after the mark matched, so that the search goes from mark to mark.
_END = (
    r"[.!?…\u061f](?<!\b[A-Z]\.)(?<!\b(?:Mr|Dr|Ms|St|vs|ca|Nr)\.)(?<!\b(?:Mrs|bzw)\.)(?<!\bProf\.)(?<!\bapprox\.)"
    r"(?<!(?:e\.g|i\.e|a\.m|p\.m|z\.B)\.)(?!(?<=\bNo\.)\s\d)"
    rf"(?!(?:(?<=\b\d\.)|(?<=\b\d\d\.)) (?i:{'|'.join(sorted(MONTH_NAMES))})\b)"
    r"[.!?…\u061f]*[\"')\]\u201d\u2019»]*(?:\s+|$)|\n+|[。\uff01\uff1f]"
)
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
        if _ITEM_NUMBER.fullmatch(text, start, end.end()):
            continue
        if sentence := text[start : end.end()].strip():
            yield sentence
        start = end.end()
    if rest := text[start:].strip():
        yield rest


def clauses(text: str) -> Iterator[Clause]:
    """Yield the sentences of a text, split at each semicolon. A label holds until the next one, an arrow
    (what follows is the answer) or the next period of time."""
    label = ""
    for sentence in sentences(text):
        if period := PERIOD.match(sentence):
            label, sentence = "", sentence[period.end() :]
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
