"""Text cut into sentences, and sentences into clauses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

LONGEST_LABEL = 32  # characters

_END = re.compile(r"(?<=[.!?…؟])[\"')\]\u201d\u2019»]*\s+|(?<=[。\uff01\uff1f])|\n+")
_NO_END = re.compile(
    r"(?:\b\d{1,2}|\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|vs|ca|approx|e\.g|i\.e|z\.B|bzw|Nr)|\b[A-Z])\.[^\S\n]+\Z"
)
LABEL = re.compile(r"([^\W\d_][^\W\d]*(?: [A-Z][\w.'\u2019-]*){0,2})(?::\s+|\uff1a)(?=\S)")
PERIOD = re.compile(r"\((\d{4}(?:-\d\d){0,2})\)\s+")  # when it was, before what is told of that time
_PARTS = re.compile(r"[;\uff1b؛]\s+|\uff1b")
# What stands before the mark is looked at behind it, so that the search goes from mark to mark.
_MARKED_END = re.compile(
    r"[.!?…](?<!\b[A-Z].)(?<!\b(?:Mr|Dr|Ms|St|vs).)(?<!\bMrs.)(?<!(?:e\.g|i\.e|a\.m|p\.m).)[.!?…]*[\"')\]]*(?:\s+|$)"
    r"|\n+|[。\uff01\uff1f]"
)


class Clause(NamedTuple):
    """A part of a text that stands for itself. `label` is who says it or what it is about ("Caroline: …");
    `under` says that the label stands in the same sentence, not in one before it."""

    label: str
    under: bool
    text: str


def marked_sentences(text: str) -> Iterator[str]:
    """Each sentence with the mark that ends it."""
    start = 0
    for end in _MARKED_END.finditer(text):
        sentence = text[start : end.end()].strip()
        start = end.end()
        if sentence:
            yield sentence
    if rest := text[start:].strip():
        yield rest


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
