"""What becomes of the cost as a memory grows: of organizing a turn, and of updating a document.

The turns are made up from templates, the same ones from the first to the last, by a handful of people who never
stop talking; names, things, places, amounts and days vary so much that hardly a sentence comes twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count, cycle, islice
from pathlib import Path
from random import Random
from statistics import median

from bench.goals import Figures
from bench.measure import WARM_UP, medians
from bench.processing import cpu_seconds
from lifelong import Agent, Memory, User, UserMessage
from lifelong.types import Document

MANY = 100_000  # turns
FEW = 1_000
SESSION = 20
ROUNDS = 3
SPEAKERS = ("Ada", "Bruno", "Chloe", "Dmitri", "Elena", "Farid", "Greta", "Hiro")
BEGIN = datetime(2015, 1, 5, 8, 0, tzinfo=UTC)

MANY_DOCUMENTS, FEW_DOCUMENTS = 10_000, 100
FOLDERS = 10

_FIRST = "Ava Ben Cleo Dan Eva Finn Gus Hana Ivo June Kai Lena Milo Nora Otto Pia Quinn Rosa Sven Tara Uma Vito"
_LAST = "Abel Brandt Costa Diaz Ekman Ferro Grant Hale Ibsen Jansen Kovacs Lund Meyer Novak Olsen Petit Roth"
_PLACES = (
    "Lisbon Porto Ghent Turin Oslo Kyoto Quito Perth Split Riga Cork Bergen Malaga Lyon Graz Leeds Tartu Izmir"
)
_KINDS = (
    "red old quiet wooden second tiny local Danish digital heavy spare blue coastal early modern vintage striped"
)
_THINGS = (
    "kayak violin bakery workshop camera garden bicycle marathon telescope choir podcast canoe sofa scooter loom"
)
_DEEDS = "painted repaired sold borrowed photographed visited designed donated catalogued polished sketched packed"
_REASONS = "rent noise weather traffic knees deadline budget neighbours exam flight allergy insurance"
_MONTHS = "January February March April May June July August September October November December"

_TEMPLATES = (
    "I {deed} a {kind} {thing} with {friend} in {place} yesterday.",
    "My cousin {friend} works at the {kind} {thing} company in {place} and earns {number} euros a week.",
    "I decided to keep the {kind} {thing} because of the {reason}, even if it costs {number} euros.",
    "{friend} and I are planning a {kind} {thing} trip to {place} on {day} {month}.",
    "I love the {kind} {thing} that {friend} {deed} near {place}.",
    "We finished {number} pages of the {thing} report for {friend}, and the {reason} was the worst part of it.",
    "I can't stand {kind} {thing} talk at dinner, {friend} knows that.",
    "I learned that a {kind} {thing} needs {number} screws, not fewer. It took me all of {month} to see it.",
    "My friend {friend} moved from {place} to a {kind} house, number {number}, last week.",
    "The {thing} club in {place} meets every {day} days and {friend} runs it. I joined in {month}!",
    "Wow, that's great! How did {friend} like the {thing}?",
    "Hey! Good to see you. What's new with the {kind} {thing}?",
    "Thanks, that means a lot! Have a great evening.",
)


def turns(seed: int) -> Iterator[str]:
    """Sentences without end, the same for the same seed."""
    random = Random(seed)
    pick = {
        name: partial(random.choice, words.split())
        for name, words in {
            "first": _FIRST,
            "last": _LAST,
            "place": _PLACES,
            "kind": _KINDS,
            "thing": _THINGS,
            "deed": _DEEDS,
            "reason": _REASONS,
            "month": _MONTHS,
        }.items()
    }
    while True:
        words = {name: choose() for name, choose in pick.items()}
        yield random.choice(_TEMPLATES).format(
            friend=f"{words['first']} {words['last']}",
            number=random.randint(2, 9_999),
            day=random.randint(2, 28),
            **words,
        )


# Turns


def organizing(folder: Path) -> Figures:
    """CPU time a turn, at the end of many against the first few, when there is nothing yet, and against the next
    few. The blocks take turns."""
    homes = (folder / f"few{number}" for number in count())
    _organized(next(homes), Talk(seed=0), FEW)  # warms up
    large, talk = folder / "many", Talk(seed=1)
    _organized(large, talk, MANY - ROUNDS * FEW, "normal")
    late, early, second = [], [], []
    for seed in range(2, 2 + ROUNDS):
        late.append(_organized(large, talk, FEW))
        small, other = next(homes), Talk(seed)
        early.append(_organized(small, other, FEW))
        second.append(_organized(small, other, FEW))
    return {
        "per_turn_100k_over_1k": median(late) / median(early),
        "per_turn_100k_over_second_1k": median(late) / median(second),
        "per_turn_1k_us": median(early) / FEW * 1e6,
        "per_turn_100k_us": median(late) / FEW * 1e6,
    }


class Talk:
    """Sessions without end: who talks, when, and what they say."""

    def __init__(self, seed: int) -> None:
        self._said = turns(seed)
        self._speakers = cycle(SPEAKERS)
        self._at = BEGIN

    def next(self) -> tuple[str, list[UserMessage]]:
        self._at += timedelta(hours=18)
        speaker = next(self._speakers)
        people = cycle((speaker, SPEAKERS[SPEAKERS.index(speaker) - 1]))
        said = zip(islice(self._said, SESSION), people, strict=False)
        return speaker, [UserMessage(text, person, at=self._at) for text, person in said]


def _organized(home: Path, talk: Talk, number: int, synchronous: str = "full") -> float:
    """CPU seconds of organizing so many more turns."""
    spent = 0.0
    storage = {"synchronous": synchronous}
    with Memory.open(home, organize={"organizer": "rules"}, storage=storage) as memory:
        agents: dict[str, Agent] = {who: memory.agent(User("bench", who, "chat")) for who in SPEAKERS}
        for _ in range(number // SESSION):
            speaker, said = talk.next()
            memory.append_many(agents[speaker], said)
            memory.sessions.reset(agents[speaker])
            spent += cpu_seconds(memory)
    return spent


# Documents


def updating(folder: Path) -> Figures:
    """The time of adding a line to a document and reading it again, with many in the tree against with few."""
    for name, number in (("few", FEW_DOCUMENTS), ("many", MANY_DOCUMENTS)):
        with Memory.open(folder / name, storage={"synchronous": "normal"}) as memory:
            _plant(memory, number)
    with ExitStack() as opened:
        trees = [opened.enter_context(Memory.open(folder / name)) for name in ("few", "many")]
        updates = [_Updates(memory) for memory in trees]
        few, many = medians([update.once for update in updates], blocks=20, size=25)
        cpu_few, cpu_many = (median(update.cpu[WARM_UP:]) for update in updates)
    return {
        "update_10k_docs_over_100": many / few,
        "update_10k_docs_over_100_cpu": cpu_many / cpu_few,
        "update_100_docs_us": few,
        "update_10k_docs_us": many,
    }


class _Updates:
    """Updates of one document after the other."""

    def __init__(self, memory: Memory) -> None:
        self._tree = memory.documents
        leaves = [document for document in self._tree.walk("~/memory") if document.slug.startswith("leaf")]
        self._documents: Iterator[Document] = cycle(Random(7).sample(leaves, min(len(leaves), FEW_DOCUMENTS)))
        self._number = count(1)
        self.cpu: list[float] = []

    def once(self) -> Document:
        started = time.process_time()
        document = self._tree.read(next(self._documents).id)
        number = next(self._number)
        written = self._tree.edit(document.id, document.version, append=f"Stood at {number} that day. [r{number}]")
        read = self._tree.read(written.id)
        self.cpu.append(time.process_time() - started)
        return read


def _plant(memory: Memory, number: int) -> None:
    tree = memory.documents
    folders = [
        tree.write(
            slug=f"folder-{place}", title=f"Folder {place}", description="", body="", parent_path="~/memory"
        )
        for place in range(FOLDERS)
    ]
    for place, text in zip(range(number), turns(9), strict=False):
        tree.write(
            slug=f"leaf-{place}",
            title=f"Leaf {place}",
            description=f"What is known of {place}.",
            body=f"{text} [r{place + 1}]",
            parent_id=folders[place % FOLDERS].id,
        )
