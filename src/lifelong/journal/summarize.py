"""Summarize many records by rule: whole sentences, word for word, with who said them and on which day.

    ### 2026-03-03
    - **Mara:** I'm vegetarian, and Tom can't have gluten.
    - **Assistant:** Casa do Fado costs 84 EUR a night.

    31 more lines are in the archive: archive/compacted-*.md

What is said twice is written once. Everything is kept while there is room; where there is not, the sentences that
tell most stay, in the order of time, and the last line counts those that are in the archive only. A summary can be
summarized again, alone or with others: sentences are dropped, and never cut.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from lifelong.text.languages import FIRST
from lifelong.text.names import tag_words
from lifelong.text.sentences import sentences
from lifelong.text.words import FIRST_PERSON

Kind = Literal["turn-summary", "note", "compaction"]
Measure = Callable[[str], int]
"""Returns how much room a text takes."""

ARCHIVE = "archive/compacted-*.md"
MAX_WHOLE_CHARS = 200  # of what is not split into sentences
MIN_LINE_CHARS = 25  # a shorter sentence ("Done!") goes with its neighbour
MAX_SPEAKER_CHARS = 48
MIN_DUPLICATE_OVERLAP = 0.8  # the share of words that two lines have in common to count as one
MAX_COMPARED = 8  # lines that one is compared with
PASSES = 2
LINE_OVERHEAD_CHARS = 40  # of a line, when it is weighed: a short one is not better for being short

# What a word adds to what a line tells. Words and names that many lines have add less.
WORTH = {"number": 1.0, "date": 1.0, "name": 1.0, "negation": 0.5, "content": 0.4, "filler": 0.0}
QUESTION_FACTOR, CUT_FACTOR = 0.3, 0.5
OWN_WORD_FACTOR = 1.6  # what people say of themselves and of theirs

_SPEAKER = re.compile(rf"([^\s:*→][^:*→\n]{{0,{MAX_SPEAKER_CHARS - 1}}}): +(?=\S)")
_REPLY = re.compile(r"(?<! ) ++→ ++")
_DAY_LINE = re.compile(r"### (\d{4}-\d\d-\d\d)")
_ENTRY = re.compile(r"(?:- )?(?:\*\*([^*\n]+):\*\* )?(.*)")
_MORE = re.compile(r"([\d,]+) more lines? (?:is|are) in the archive(?:: \S*)?")
_QUESTION = re.compile(r"[?\uff1f\u061f\u037e][\"')\]\u201d\u2019»*_]*\Z")
_REPLIES = {"System": "Agent"}  # who replies to whom; to anybody else, an assistant does
_REPLIERS = frozenset({"Assistant", "Agent", "System"})
_FIRST_PERSON = FIRST | FIRST_PERSON


class DatedText(NamedTuple):
    """The text of a record, when it was written, and what it is: in a turn summary somebody speaks, and a
    compaction is an earlier summary."""

    text: str
    at: datetime
    kind: Kind = "note"


class Line(NamedTuple):
    """A sentence, or a few that belong together, as they were said. `source` is the position of the text it is
    from, `part` its own position there."""

    day: str
    speaker: str
    text: str
    source: int
    part: int


def summarize(texts: Sequence[DatedText], budget: int, archive: str = ARCHIVE) -> str:
    """Return a summary of the texts in at most `budget` characters, always the same for the same texts. Empty
    where nothing fits."""
    lines, more = read(texts)
    text = fit(lines, budget, more=more.total(), archive=archive)[0]
    return text if len(text) <= budget else ""


def fit(
    lines: Sequence[Line], budget: int, *, more: int = 0, archive: str = ARCHIVE, measure: Measure = len
) -> tuple[str, list[Line], int]:
    """Return a summary of the lines within the budget, the lines it has, and how many are in the archive only:
    `more`, and those it has not. It may exceed the budget by the sentence that counts them."""
    note = more_note(more, archive)
    if measure(whole := render(lines, note)) <= budget:
        return whole, list(lines), more
    room = budget - measure("\n\n" + more_note(more + len(lines), archive))
    chosen = _choose(lines, room, measure)
    more += len(lines) - len(chosen)
    return render(chosen, more_note(more, archive)), chosen, more


def render(lines: Iterable[Line], note: str = "") -> str:
    """Return the lines as Markdown, under their days. What follows each other in one text is one list item."""
    days: dict[str, list[str]] = {}
    last: Line | None = None
    for line in lines:
        items = days.setdefault(line.day, [])
        if last and _continues(last, line):
            items[-1] += f" {line.text}"
        else:
            items.append(f"- **{line.speaker}:** {line.text}" if line.speaker else f"- {line.text}")
        last = line
    parts = ["\n".join([f"### {day}", *items]) for day, items in days.items()]
    return "\n\n".join([*parts, *filter(None, [note])])


def more_note(more: int, archive: str = ARCHIVE) -> str:
    """Return the sentence that says how many lines are in the archive only; empty for none."""
    return f"{more:,} more line{' is' if more == 1 else 's are'} in the archive: {archive}" if more else ""


def read(texts: Sequence[DatedText]) -> tuple[list[Line], Counter[int]]:
    """Return the lines of the texts in the order of time, what is said twice once, and how many more lines each of
    the summaries among the texts says are in the archive, by its position."""
    more: Counter[int] = Counter()
    found: list[Line] = []
    for source, one in enumerate(texts):
        if one.kind == "compaction":
            lines, more[source] = parse_summary(one.text, f"{one.at:%Y-%m-%d}", source)
            found += lines
        else:
            found += _read_record(one, source)
    found.sort(key=lambda line: (line.day, texts[line.source].at, line.source, line.part))
    return _distinct(found), more


def parse_summary(text: str, day: str = "", source: int = 0) -> tuple[list[Line], int]:
    """Return the lines of a summary, and how many more it says are in the archive. Lines before its first day are
    of `day`."""
    found: list[Line] = []
    more = part = 0
    for raw in text.split("\n"):
        if of_day := _DAY_LINE.fullmatch(raw.strip()):
            day = of_day[1]
        elif left_out := _MORE.fullmatch(raw.strip()):
            more += int(left_out[1].replace(",", "") or 0)
        elif entry := _ENTRY.fullmatch(raw.strip()):
            for sentence in _sentence_groups(entry[2]):
                found.append(Line(day, entry[1] or "", sentence, source, part))
                part += 1
        part += 1  # the next item is one of its own
    return found, more


def said_line(line: Line) -> tuple[str, str]:
    """Return what identifies a line wherever it is written."""
    return line.day, line.text


def _read_record(one: DatedText, source: int) -> Iterator[Line]:
    day, part = f"{one.at:%Y-%m-%d}", 0
    for speaker, text in _spoken(one):
        for sentence in _sentence_groups(text):
            yield Line(day, speaker, sentence, source, part)
            part += 1
        part += 1


def _spoken(one: DatedText) -> list[tuple[str, str]]:
    """Return who says what in a record. In a turn summary ("Mara: … → …") that is a request, and its reply."""
    speaker = _SPEAKER.match(one.text) if one.kind == "turn-summary" else None
    if not speaker:
        return [("", one.text)]
    request, *reply = _REPLY.split(one.text[speaker.end() :], maxsplit=1)
    return [(speaker[1], request), *((_REPLIES.get(speaker[1], "Assistant"), text) for text in reply)]


def _sentence_groups(text: str) -> Iterator[str]:
    """Give the sentences of a text; one that is very short together with the next, or with the one before. A short
    text is given whole: its sentences lean on each other."""
    start = end = 0
    if len(whole := " ".join(text.split())) <= MAX_WHOLE_CHARS:
        yield from filter(None, [whole])
        return
    for sentence in sentences(text):
        start = start or text.index(sentence, end) + 1
        end = text.index(sentence, end) + len(sentence)
        if end - start >= MIN_LINE_CHARS and not 0 < len(text[end:].strip()) < MIN_LINE_CHARS:
            yield " ".join(text[start - 1 : end].split())
            start = 0
    if start:
        yield " ".join(text[start - 1 : end].split())


def _continues(last: Line, line: Line) -> bool:
    return (last.day, last.speaker, last.source, last.part + 1) == (line.day, line.speaker, line.source, line.part)


def _distinct(found: Iterable[Line]) -> list[Line]:
    """Return the lines without near duplicates. Another speaker, number, name or "not" makes another line."""
    kept: list[Line] = []
    seen: dict[tuple[object, ...], list[frozenset[str]]] = {}
    for line in found:
        words = tag_words(line.text)
        content = frozenset(word.value for word in words if word.kind == "content")
        exact = tuple(sorted(word.value for word in words if word.kind not in ("content", "filler")))
        longest = max(content, key=lambda word: (len(word), word), default="")
        key = line.speaker, exact, longest or line.text
        others = seen.setdefault(key, [])
        if any(len(content & other) >= MIN_DUPLICATE_OVERLAP * len(content | other) for other in others):
            continue
        if len(others) < MAX_COMPARED:
            others.append(content)
        kept.append(line)
    return kept


# Choosing what fits


def _choose(lines: Sequence[Line], room: int, measure: Measure) -> list[Line]:
    """Return the lines that tell most for the room they take, in their order. An answer brings along the question
    before it."""
    worth = _weigh(lines)
    ranked = sorted(
        range(len(lines)), key=lambda at: (-worth[at] / (len(lines[at].text) + LINE_OVERHEAD_CHARS), at)
    )
    chosen: set[int] = set()
    left = room
    for _ in range(PASSES):  # lines that turn out to be one item take less room than two
        days = {lines[at].day for at in chosen}
        for at in ranked:
            wanted = {at, at - 1} if at and _answers(lines[at], lines[at - 1]) else {at}
            wanted -= chosen
            cost = sum(measure(f"- **{lines[one].speaker}:** {lines[one].text}\n") for one in wanted)
            cost += 0 if lines[at].day in days else measure(f"### {lines[at].day}\n\n")
            if wanted and cost <= left:
                left -= cost
                chosen |= wanted
                days.add(lines[at].day)
        left = room - measure(render(lines[at] for at in sorted(chosen)))
    return [lines[at] for at in sorted(chosen)]


def _answers(line: Line, before: Line) -> bool:
    return line.day == before.day and line.speaker != before.speaker and bool(_QUESTION.search(before.text))


def _weigh(lines: Sequence[Line]) -> list[float]:
    """Return how much each line tells. Of lines that differ in their numbers only, older ones tell less."""
    spread = Counter(value for line in lines for value in {word.value for word in tag_words(line.text)})
    most = math.log(1 + len(lines))
    newer: Counter[int] = Counter()
    found: list[float] = []
    for line in reversed(lines):
        words = {word.value: word.kind for word in tag_words(line.text)}  # to keep them takes too much memory
        worth = sum(
            WORTH[kind] * (math.log(1 + len(lines) / spread[value]) / most if kind in ("name", "content") else 1.0)
            for value, kind in words.items()
        )
        if _QUESTION.search(line.text):
            worth *= QUESTION_FACTOR
        elif line.speaker not in _REPLIERS and not _FIRST_PERSON.isdisjoint(words):
            worth *= OWN_WORD_FACTOR
        if line.text.endswith("…"):
            worth *= CUT_FACTOR
        template = hash(frozenset(value for value, kind in words.items() if kind not in ("number", "date")))
        found.append(worth / (1 + newer[template]))
        newer[template] += 1
    return found[::-1]
