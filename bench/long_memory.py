"""What compaction by rules writes into LONGMEMORY.md, to be read by a person, and figures about it.

It is printed for the demo, for three scenarios of `everyday` (read from the folder that EVERYDAY_DATA names, never
kept here), and for a journal of a background agent, made up, that is far too long for its target.

- **verbatim**: the share of sentences that stand in a record as they are, whole. Sentences are told apart here in
  another way than in the code that is measured.
- **twice**: the share of lines that were written before, but for case and punctuation.
- **room used**: how much of the room for a block is used where there is more than fits.
- **key facts kept**: the share of numbers, names, dates and negations of the records that the block has.

`python -m bench.long_memory` prints this part alone.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from rich.console import Console

from bench import everyday
from bench.goals import Figures, Goal, table
from lifelong import Memory
from lifelong.journal.compaction import block_room, parse_blocks
from lifelong.journal.model_text import key_facts, missing_key_facts
from lifelong.journal.records import JournalRecord, encode, parse
from lifelong.journal.summarize import DatedText, parse_summary
from lifelong.serve.demo import demo

GOALS = {
    "summary_verbatim": Goal("sentences of a summary that are whole and word for word, %", "≥", 100),
    "summary_room_used": Goal("room used where there is more than fits, %", "≥", 90),
    "summary_twice": Goal("lines that are written twice, %", "≤", 0),
}
ALSO = {
    "summary_size": "size of the summaries beside their records, %",
    "summary_key_facts": "key facts kept where everything fits, %",
    "summary_crowded_key_facts": "key facts kept where a small part fits, %",
    "summary_crowded_size": "size of that part, %",
}
KINDS = ("coding", "personal", "support")
_SERVICES = "billing search gateway mailer reports ingest auth frontend"
_PEOPLE = "Anna Bruno Chiara Dmitri Elif Farid"
_PLACES = "Falkenstein Helsinki Ashburn Singapore"

_SENTENCE = re.compile(r"(?<=[.!?…])\s+")


def run() -> Figures:
    """Print the texts and the table, return the figures."""
    console = Console()
    read = {name: _Read(text, records) for name, text, records in _long_memories()}
    for name, one in read.items():
        console.rule(f"LONGMEMORY.md: {name}")
        console.print(one.text, markup=False, highlight=False, soft_wrap=True)
    crowded = read[CROWDED]
    whole = [one for name, one in read.items() if name != CROWDED]
    lines = sum(len(one.lines) for one in read.values())
    said = sum(len(one.sentences) for one in read.values())
    figures = {
        "summary_verbatim": 100 * sum(one.verbatim() for one in read.values()) / said,
        "summary_twice": 100 * sum(one.twice() for one in read.values()) / lines,
        "summary_room_used": 100 * len(crowded.body) / block_room(LONG_MEMORY_CHARS),
        "summary_size": 100 * sum(len(one.body) for one in whole) / sum(len(one.source) for one in whole),
        "summary_key_facts": 100 * sum(one.kept() for one in whole) / len(whole),
        "summary_crowded_key_facts": 100 * crowded.kept(),
        "summary_crowded_size": 100 * len(crowded.body) / len(crowded.source),
    }
    console.print(table("what compaction by rules writes", figures, GOALS, ALSO))
    return figures


CROWDED = "a background agent, 1,000 records"
LONG_MEMORY_CHARS = 16_000


class _Read:
    """A LONGMEMORY.md and the records that were compacted."""

    def __init__(self, text: str, records: list[JournalRecord]) -> None:
        self.text = text
        self.body = "\n".join(block.text for block in parse_blocks(encode(text)))
        self.source = "\n".join(record.text for record in records)
        self.lines = parse_summary(self.body)[0]
        self.sentences = [part for line in self.lines for part in _SENTENCE.split(line.text)]
        self._records = [" ".join(record.text.split()) for record in records]

    def verbatim(self) -> int:
        """Return how many sentences stand in a record, with nothing cut off before or behind."""
        found = [re.compile(rf"(?:^|[\s→]){re.escape(sentence)}(?:$|[\s→])") for sentence in self.sentences]
        return sum(any(one.search(record) for record in self._records) for one in found)

    def twice(self) -> int:
        bare = [(line.speaker, "".join(filter(str.isalnum, line.text.lower()))) for line in self.lines]
        return len(bare) - len(set(bare))

    def kept(self) -> float:
        facts = key_facts(self.source)
        return 1 - len(missing_key_facts(self.source, self.body)) / max(1, len(facts))


def _long_memories() -> Iterator[tuple[str, str, list[JournalRecord]]]:
    with tempfile.TemporaryDirectory(prefix="lifelong-bench-") as name:
        demo(Path(name) / "demo", Console(quiet=True), pace=0)
        with Memory.open(Path(name) / "demo") as memory:
            yield "the demo", memory.journal.long_memory(), _archived(memory)
        scenarios = everyday.load()
        for kind in KINDS:
            for one in [one for one in scenarios if one["name"].startswith(kind)][:1]:
                yield one["name"], *_compacted(Path(name) / kind, [], one)
        yield CROWDED, *_compacted(Path(name) / "crowded", background(1))


def _compacted(
    home: Path, notes: list[DatedText], scenario: everyday.Scenario | None = None
) -> tuple[str, list[JournalRecord]]:
    """Return LONGMEMORY.md after everything was compacted, and what was."""
    clock = everyday.Clock(datetime(2026, 1, 1, tzinfo=UTC))
    continuity = {"journal_enabled": True, "long_memory_max_chars": LONG_MEMORY_CHARS}
    with Memory.open(home, clock=clock, continuity=continuity) as memory:
        if scenario:
            everyday.store(memory, clock, scenario["turns"])
        memory.end_session()
        for number, (text, at, _) in enumerate(notes):
            record = JournalRecord(f"n{number}", "", "note", text, "bench", 1.0, at, "operational")
            memory.journal.append(record)
        clock.now = max([clock.now, *(at for _, at, _ in notes)]) + timedelta(days=60)
        memory.journal.compact(force=True)
        return memory.journal.long_memory(), _archived(memory)


def _archived(memory: Memory) -> list[JournalRecord]:
    files = sorted(memory.journal.files.archive_folder.glob("compacted-*.md"))
    return [line.record for path in files for line in parse(path.read_bytes()) if line.record]


def background(seed: int, records: int = 1000) -> list[DatedText]:
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
