"""What condensing by rules keeps of the specifics: numbers, names, dates and negations with what they belong to.

For each of these in a sentence of the records, the **pair** of it and the nearest content word. Of the distinct
pairs the share that still stands together after condensing is printed as a curve over the size. "Together" is
taken strictly: within one sentence, and where that is a list ("Caroline: …; …; …") within one entry and what the
list is headed with. **Made up** are the numbers, dates and negations of the condensed text whose nearest content
word stood in no sentence with them.

The words are told apart here in another way than in the code that is measured, so that it cannot flatter itself.
The records are turn summaries: the first sentences of what two speakers said, from LoCoMo and LongMemEval (read
from the folder that LIFELONG_BENCH_DATA names, never kept here), and a journal of a background agent, made up.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from bench import locomo
from lifelong.journal.summarize import DatedText, summarize

SHARES = (5, 10, 20, 30, 50)
GOAL = 10
SUMMARY = 200  # characters of what one speaker said
MOST = 20  # conversations of LongMemEval

Journal = list[DatedText]
Pair = tuple[str, str]

_TALKS = ("longmemeval_s_dev.json.gz", "longmemeval_s_dev.json", "longmemeval_s.json.gz", "longmemeval_s.json")
_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")
_HEADING = re.compile(r"([^\s:;,]+(?: [^\s:;,]+){0,2}): ")
_CALENDAR = """january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday"""
_DATES = frozenset(_CALENDAR.split())
_WORD = re.compile(r"\d{4}-\d\d(?:-\d\d)?|\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_COUNTS = "two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand"
_NUMBERS = frozenset(_COUNTS.split())
_NEGATIONS = "not no never none nothing nobody nor neither without cannot"
_NOT = frozenset(_NEGATIONS.split())
_WORDS = """a about after all also am an and any are as at be because been before being but by can could did do
    does     doing done down each even ever every for from get gets getting go goes going gonna got had
    has have     having he her here hers him his how i if in into is it its just let lets like may me
    might mine more most much must my     of off on one only onto or other our ours out over own quite
    really same shall she should since so some still     such than that the their theirs them then there
    these they this those though through to too under until up us     very was we well were what when
    where which while who whom whose why will with would you your yours     aww bye congrats hello hey
    hi oh ok okay please sure thank thanks whoa woah wow yeah yep yes yup     user assistant"""
_SPECIFIC = ("number", "name", "date", "negation")
_LITTLE = frozenset(_WORDS.split())


@dataclass(frozen=True, slots=True)
class Kept:
    """`pairs` stood there, by kind, and `kept` of them still do; of `told` numbers, dates and negations `made_up`
    belong to something else now; `size` is the size that was reached, in per cent."""

    pairs: Counter[str]
    kept: Counter[str]
    told: int
    made_up: int
    size: float


def run() -> dict[str, float]:
    """The share of pairs kept, in per cent, for each size and each source. The goal is judged on LoCoMo."""
    figures: dict[str, float] = {}
    for name, journals in sources():
        for share in SHARES:
            kept = [measure(journal, share) for journal in journals]
            stood, left = (sum(counts, Counter()) for counts in ((k.pairs for k in kept), (k.kept for k in kept)))
            wrong = 100 * sum(one.made_up for one in kept) / max(1, sum(one.told for one in kept))
            figures[f"specifics_{name}_{share}"] = 100 * left.total() / stood.total()
            figures[f"specifics_{name}_{share}_made_up"] = wrong
            shares = (f"{kind} {100 * left[kind] / stood[kind]:.0f} % of {stood[kind]}" for kind in sorted(stood))
            print(
                f"{name:11} at {share:2} %: {100 * left.total() / stood.total():5.1f} % of {stood.total()}", end=""
            )
            size = max(one.size for one in kept)
            print(f" pairs ({', '.join(shares)}); made up {wrong:.1f} %; size at most {size:.1f} %")
    if f"specifics_locomo_{GOAL}" in figures:
        figures["specifics_kept_at_tenth"] = figures[f"specifics_locomo_{GOAL}"]
    return figures


def measure(journal: Journal, share: float) -> Kept:
    size = sum(len(item.text) for item in journal)
    told = summarize(journal, int(size * share / 100))
    names = _names(journal)
    before = [_sort(part, names) for item in journal for part in _BREAK.split(item.text) if part.strip()]
    kinds = {word: kind for sentence in before for word, kind in sentence if kind in _SPECIFIC}
    pairs = {pair for sentence in before for pair in _pairs(sentence)}
    entries = [_sort(entry, names) for entry in _entries(told)]
    after = _together(entries)
    kept = [pair for pair in pairs if after.get(pair[0], set()) & after.get(pair[1], set())]
    stood = _together([*before, *(_dated(item, names) for item in journal)])
    exact = {pair for entry in entries for pair in _pairs([w for w in entry if w[1] != "name"])}
    wrong = [pair for pair in exact if not stood.get(pair[0], set()) & stood.get(pair[1], set())]
    by_kind, kept_by_kind = (Counter(kinds[pair[0]] for pair in some) for some in (pairs, kept))
    return Kept(by_kind, kept_by_kind, len(exact), len(wrong), 100 * len(told) / size)


# Words

Sorted = list[tuple[str, str]]
"""Each word, and what it is: a specific (number, name, date, negation), content, or little."""


def _entries(text: str) -> Iterator[str]:
    """The entries of each sentence, each with the heading of its sentence before it."""
    for sentence in _BREAK.split(re.sub(r"\(\d{4}(?:-\d\d)*\) ", "", text)):
        heading = _HEADING.match(sentence)
        body = sentence[heading.end() :] if heading else sentence
        for entry in body.split("; "):
            yield f"{heading[1]}: {entry}" if heading else entry


def _names(journal: Journal) -> frozenset[str]:
    """What is written with a capital within a sentence, and never small; and who speaks."""
    large, small = set(), set()
    for item in journal:
        for sentence in _BREAK.split(item.text):
            heading = _HEADING.match(sentence)
            large |= {heading[1].lower()} if heading else set()
            first = True
            for word in _WORD.findall(sentence[heading.end() :] if heading else sentence):
                if word[0].isupper() and not first:
                    large.add(_bare(word))
                elif word[0].islower():
                    small.add(_bare(word))
                first = False
    return frozenset(large - small)


def _bare(word: str) -> str:
    return re.sub(r"'(?:s|re|ve|ll|d|m)$", "", word.lower().replace("\u2019", "'"))


def _sort(sentence: str, names: frozenset[str]) -> Sorted:
    return [_kind(word, names) for word in _WORD.findall(sentence)]


def _kind(word: str, names: frozenset[str]) -> tuple[str, str]:
    bare = _bare(word)
    if bare in _NOT or bare.endswith("n't"):
        return "not", "negation"
    if word[0].isdigit() or bare in _NUMBERS:
        return bare, "date" if "-" in word else "number"
    if word[0].isupper() and bare in _DATES:
        return bare, "date"
    if bare in _LITTLE or len(bare) < 3:
        return bare, "little"
    return bare, "name" if word[0].isupper() and bare in names else "content"


def _pairs(sentence: Sorted) -> Iterator[Pair]:
    content = [at for at, (_, kind) in enumerate(sentence) if kind == "content"]
    for at, (word, kind) in enumerate(sentence):
        if kind in _SPECIFIC and content:
            near = min(content, key=lambda place: (abs(place - at), place < at))
            yield word, sentence[near][0]


def _together(sentences: Iterable[Sorted]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for number, sentence in enumerate(sentences):
        for word, _ in sentence:
            found.setdefault(word, set()).add(number)
    return found


def _dated(item: DatedText, names: frozenset[str]) -> Sorted:
    """The words of a record and the days around it: "yesterday" may be told as a date."""
    days = (item.at + timedelta(days=off) for off in (-1, 0, 1))
    return _sort(item.text, names) + [word for day in days for word in _sort(f"{day.day} {day:%b}", names)]


# Journals

_SERVICES = "billing search gateway mailer reports ingest auth frontend"
_PEOPLE = "Anna Bruno Chiara Dmitri Elif Farid"
_PLACES = "Falkenstein Helsinki Ashburn Singapore"


def sources() -> Iterator[tuple[str, list[Journal]]]:
    folder = locomo.data_folder()
    if folder:
        yield "locomo", [_talk(conversation) for conversation in locomo.load(folder, captions=False)]
        if talks := next((folder / name for name in _TALKS if (folder / name).is_file()), None):
            yield "longmemeval", list(_long_talks(talks))
    yield "agent", [background(seed) for seed in range(3)]


def _summary(said: Sequence[tuple[str, str]]) -> str:
    """The first sentences of what each of them said."""
    parts = []
    for _, text in said:
        sentences = [part for part in _BREAK.split(text.strip()) if part]
        start = sentences[0][:SUMMARY] if sentences else ""
        if len(sentences) > 1 and len(start) + len(sentences[1]) < SUMMARY:
            start = f"{start} {sentences[1]}"
        parts.append(start)
    return f"{said[0][0]}: {' → '.join(parts)}"


def _talk(conversation: locomo.Conversation) -> Journal:
    return [
        DatedText(_summary([(turn.speaker, turn.text) for turn in sitting.turns[at : at + 2]]), sitting.at)
        for sitting in conversation.sittings
        for at in range(0, len(sitting.turns), 2)
    ]


def _long_talks(file: Path) -> Iterator[Journal]:
    raw = file.read_bytes()
    for sample in json.loads(gzip.decompress(raw) if file.suffix == ".gz" else raw)[:MOST]:
        journal = []
        for written, session in zip(sample["haystack_dates"], sample["haystack_sessions"], strict=True):
            at = datetime.strptime(written, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)
            said = [(turn["role"].capitalize(), turn["content"]) for turn in session]
            journal += [DatedText(_summary(said[first : first + 2]), at) for first in range(0, len(said), 2)]
        yield sorted(journal, key=lambda item: item.at)


def background(seed: int, records: int = 1000) -> Journal:
    """The journal of an agent that looks after machines and hardly talks to anybody."""
    random = Random(seed)
    at = datetime(2026, 1, 1, 6, tzinfo=UTC)
    journal = []
    for _ in range(records):
        at += timedelta(minutes=random.randint(5, 400))
        number, small = random.randint(100, 9_999), random.randint(2, 60)
        service = random.choice(_SERVICES.split())
        person = random.choice(_PEOPLE.split())
        place = random.choice(_PLACES.split())
        text = random.choice(
            (
                f"Nightly backup of {service} finished in {small} minutes, {number} files. Nothing to report.",
                f"Deployed {service} {small % 7}.{small % 11}.{number % 20} to {place}. {small} checks passed.",
                f"Deploy of {service} to {place} failed: {small} tests did not pass. {person} was told.",
                f"{person} asked not to restart {service} before Friday. Noted it in the runbook.",
                f"Disk on {service}-{small % 9} at {small + 39} %. Removed old logs, no data lost.",
                f"Reviewed PR {number} by {person}: {small} comments, never approved without tests.",
                f"Ticket {number} closed: the {service} timeout was raised from {small} to {small * 2} seconds.",
                f"Checked the {service} queue, it was empty. Waiting for the next run.",
                f"{person} reported slow {service} pages in {place}. The cache had no entry for {number} keys.",
                f"Certificate of {service} renewed until {small % 27 + 1} March 2027.",
            )
        )
        journal.append(DatedText(text, at))
    return journal


if __name__ == "__main__":
    run()
