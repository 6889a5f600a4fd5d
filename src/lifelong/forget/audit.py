"""Look through what one user's memory holds for what should not be there: a person decides what becomes of it.

Six kinds of findings: facts that say the same; current facts that hardly hold together; facts without the records
they rest on; plans whose day is past; secrets; pages that are too long. Each comes with a command that fixes it.
Only what words show plainly is reported: a list of false alarms is read once. Nothing is changed.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args
from zoneinfo import ZoneInfo

from lifelong.collect.tombstones import Tombstones
from lifelong.disk import is_own_file, read_own
from lifelong.journal.indexing import journal_items, journal_paths, note_items, note_paths
from lifelong.organize.consolidation import LONG_CHARS, Merge, WorkingTree
from lifelong.organize.document_rows import DocumentRows
from lifelong.organize.facts import COMMON_KEY_FACTS, MAX_PAGE_CHARS, Fact, FactIndex, fact_keys, speaker_of
from lifelong.organize.rules.consolidation import duplicates, long_pages
from lifelong.organize.rules.subjects import AGENT, ASSISTANT
from lifelong.recall.dedup import NEAR_OF_STATIC, differs, embedder_word_match
from lifelong.recall.index_writer import facts_of
from lifelong.recall.items import public_id
from lifelong.redaction import find_secrets, redact
from lifelong.storage.base import Transaction
from lifelong.text.changes import contradicts
from lifelong.text.dates import planned_day
from lifelong.text.sentences import sentences
from lifelong.text.standing import IDENTITY, standing
from lifelong.text.words import content_words, fold, pattern
from lifelong.types import Document, Item, from_micros

if TYPE_CHECKING:
    from lifelong.wiring import UserParts

FindingKind = Literal["secret", "no source", "contradiction", "duplicate", "stale plan", "long page"]
FINDING_KINDS: tuple[FindingKind, ...] = get_args(FindingKind)
"""What is looked for, in this order."""

MAX_COMPARED = 3_000  # facts of one speaker, the newest, that are compared by meaning
MAX_UNDER_KEY = 50  # facts about the same word, the newest, that are compared with one another
MIN_SHARED_KEYS = 2  # of two facts; a rare one is enough
MAX_DATE_WORDS = 2  # of a sentence that says nothing but a day
MAX_SHOWN_CHARS = 80
MAX_CITED_SHOWN = 5

_NUMBER = re.compile(r"\d+")
_RECURS = (
    r"\b(?:birthdays?|anniversar\w+|born|every|each|yearly|annual\w*|always|geburtstag\w*|jahrestag|jede[nmrs]?"
    r"|jahrlich|cumpleanos|aniversario|cada|todos los|anniversaire|chaque|tous les)\b"
)
"""What comes again, so that a day of it is not the last one."""

log = logging.getLogger("lifelong.forget")

Progress: TypeAlias = Callable[[str, int, int], object]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a person should look at. `id` is what commands and calls take: of a fact, a journal line, a
    note; of a document its path. `problem` is a sentence, without secrets. `fix` is what to type after `lifelong`:
    the call of the same name does the same in Python."""

    kind: FindingKind
    id: str
    path: str
    problem: str
    fix: str


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found in one user's memory, and how much was looked at: documents, facts, and lines of the journal
    and of notes. `counts` has the kinds of which something was found. `left_out` says what was not looked at."""

    user: str
    counts: Mapping[FindingKind, int]
    findings: tuple[Finding, ...]
    documents: int
    facts: int
    lines: int
    left_out: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


class _Known(NamedTuple):
    """A fact that a document holds: its id, its document, the fact with its subject, and who said it."""

    id: str
    document: Document
    fact: Fact
    speaker: str

    @property
    def path(self) -> str:
        return self.document.path

    @property
    def age(self) -> tuple[str, int]:
        """What orders facts by when they were said."""
        return self.fact.day, max(self.fact.records, default=0)

    @property
    def shown(self) -> str:
        return f"“{_cut(self.fact.text)}”{f' ({self.fact.day})' if self.fact.day else ''}"


class _Plan(NamedTuple):
    """The day of a plan, and the sentence that tells of it."""

    day: date
    sentence: str


class _OutOfTime(Exception):
    """Ends a part of the audit that takes too long."""


class Auditor:
    """Look through the memory of one user, for `max_seconds` at most. `progress` is told what is under way."""

    def __init__(self, parts: UserParts, progress: Progress, max_seconds: float) -> None:
        self._parts = parts
        self._owner = parts.name
        self._database = parts.shared.database
        self._progress = progress
        self._end = self._end_of_part = monotonic() + max_seconds
        self._zone = ZoneInfo(parts.shared.settings.continuity.time_zone)
        self._today = parts.shared.clock().astimezone(self._zone).date()
        self._documents: list[Document] = []
        self._facts: list[_Known] = []
        self._lines: list[Item] = []
        self._said_at: dict[int, int] = {}  # the records that are cited and exist, in microseconds
        self._same: set[frozenset[str]] = set()
        self._left_out: list[str] = []

    def run(self) -> Audit:
        """Look at everything, the quick parts first."""
        found: list[Finding] = []
        looks: dict[FindingKind, Callable[[], Iterator[Finding]]] = {
            "secret": self._secrets,
            "no source": self._without_sources,
            "stale plan": self._stale_plans,
            "long page": self._long_pages,
            "duplicate": self._duplicates,
            "contradiction": self._contradictions,
        }
        try:
            self._database.read(self._load)
            self._lines = list(self._read_lines())
        except _OutOfTime:
            self._left_out.append("There was no time to read everything: what was not read was not looked at.")
        for number, (kind, look) in enumerate(looks.items()):
            self._progress(f"looking for each {kind}", number, len(looks))
            now = monotonic()
            self._end_of_part = now + max(self._end - now, 0) / (len(looks) - number)
            try:
                self._check_time()
                for one in look():
                    found.append(one)
                    self._check_time()
            except _OutOfTime:
                self._left_out.append(f"There was no time to look for every {kind}: allow more seconds.")
        found.sort(key=lambda one: FINDING_KINDS.index(one.kind))
        numbers = Counter(one.kind for one in found)
        counts = {kind: numbers[kind] for kind in FINDING_KINDS if numbers[kind]}
        sizes = len(self._documents), len(self._facts), len(self._lines)
        return Audit(self._owner, counts, tuple(found), *sizes, tuple(dict.fromkeys(self._left_out)))

    def _check_time(self) -> None:
        """Raise where the part under way has had its share of the time: what a quick part leaves, others have."""
        if monotonic() >= self._end_of_part:
            raise _OutOfTime

    # What there is

    def _load(self, tx: Transaction) -> None:
        self._documents, self._facts = [], []
        index = FactIndex(tx, self._owner)
        documents = DocumentRows(tx, self._owner).walk()
        for number, document in enumerate(documents):
            self._check_time()
            self._progress("reading documents", number, len(documents))
            self._documents.append(document)
            ids = index.ids(document.id)
            for ref, fact in {ref: fact for ref, fact, _ in facts_of(document)}.items():
                if ref in ids:
                    self._facts.append(_Known(ids[ref], document, fact, speaker_of(document, fact)))
        cited = {record for one in self._facts for record in one.fact.records}
        rows = tx.many(
            "SELECT h.id, h.at FROM session_history h JOIN sessions s ON s.id = h.session_id "
            "JOIN agents a ON a.id = s.agent_id WHERE a.owner = ? AND h.id = ?",
            [(self._owner, record) for record in sorted(cited)],
        )
        self._said_at = dict(rows)

    def _read_lines(self) -> Iterator[Item]:
        """Yield what the journal and the notes hold: each record once, and each paragraph."""
        root = self._parts.shared.home.user_folder(self._owner)
        paths = [(path, journal_items) for path in journal_paths(self._parts.journal.every_file)]
        paths += [(path, note_items) for path in note_paths(root)]
        seen: set[str] = set()
        for path, items in paths:
            self._check_time()
            for one in self._read_file(path, root, items):
                if one.ref not in seen:
                    seen.add(one.ref)
                    yield one

    def _read_file(
        self, path: Path, root: Path, items: Callable[[bytes, Path, Path], Iterator[Item]]
    ) -> list[Item]:
        """Return what a file holds; nothing where it cannot be read, which health says, too."""
        try:
            return [*items(read_own(path, root), path, root)] if is_own_file(path, root) else []
        except OSError as error:
            log.warning("%s is left out: %s", path.name, error.strerror)
            return []

    @cached_property
    def _tree(self) -> WorkingTree:
        """The documents as a consolidation sees them."""
        return WorkingTree(self._database, self._owner)

    @cached_property
    def _current(self) -> list[_Known]:
        """The facts that hold and cite something, the newest first."""
        return sorted(
            (one for one in self._facts if one.fact.current and one.fact.records),
            key=lambda one: one.age,
            reverse=True,
        )

    # Secrets

    def _secrets(self) -> Iterator[Finding]:
        for one in self._facts:
            yield from self._secret(one.fact.text, one.id, one.path, one.id)
        for document in self._documents:
            self._check_time()
            about = f"{document.title}\n{document.description}"
            yield from self._secret(about, document.path, document.path, document.path, "Its title or description")
        for item in self._lines:
            self._check_time()
            id_ = public_id(item.kind, item.ref)
            yield from self._secret(item.text, id_, item.container, id_)

    def _secret(self, text: str, id_: str, path: str, forget: str, what: str = "It") -> Iterator[Finding]:
        if kinds := find_secrets(text).found:
            named = ", ".join(dict.fromkeys(kinds))
            yield Finding("secret", id_, path, f"{what} holds a secret: {named}.", f"forget {forget}")

    # Sources

    def _without_sources(self) -> Iterator[Finding]:
        missing = {record for one in self._facts for record in one.fact.records} - self._said_at.keys()
        forgotten = self._database.read(lambda tx: Tombstones(tx, self._owner).forgotten_records(missing))
        for one in self._facts:
            gone = [record for record in one.fact.records if record in missing]
            if not gone or not (one.fact.current or forgotten.intersection(gone)):
                continue
            names = ", ".join(f"r{record}" for record in gone[:MAX_CITED_SHOWN])
            names += " …" if gone[MAX_CITED_SHOWN:] else ""
            what = "was forgotten" if forgotten.issuperset(gone) else "does not exist"
            if len(gone) > 1:
                what = what.replace("was", "were").replace("does", "do")
            rest = "nothing else" if len(gone) == len(one.fact.records) else "other records, too"
            problem = f"{one.shown} rests on {names}, which {what}, and on {rest}."
            is_erased = forgotten.issuperset(gone) and rest == "nothing else"
            fix = f"forget {one.id}" if is_erased else f'correct {one.id} "WHAT IS TRUE"'
            yield Finding("no source", one.id, one.path, problem, fix)

    # Plans

    def _stale_plans(self) -> Iterator[Finding]:
        for one in self._current:
            self._check_time()
            plan = self._planned(one.fact)
            if plan and plan.day < self._today:
                said = f" ({one.fact.day})" if one.fact.day else ""
                problem = f"“{_cut(plan.sentence)}”{said}: {plan.day:%Y-%m-%d} is past."
                yield Finding("stale plan", one.id, one.path, problem, f'correct {one.id} "HOW IT TURNED OUT"')

    def _planned(self, fact: Fact) -> _Plan | None:
        """Return the last plan that a fact tells of. Who somebody is, as where they work from a day on, is not
        one; nor is a day that comes every year, or of which nothing is told."""
        said = self._said(fact)
        if not said or any(one.kind in IDENTITY for one in standing(fact.text)):
            return None
        told = [one for one in sentences(fact.text) if len(content_words(one)) > MAX_DATE_WORDS]
        told = [one for one in told if not pattern(_RECURS).search(fold(one))]
        return max((_Plan(day, one) for one in told if (day := planned_day(one, said))), default=None)

    def _said(self, fact: Fact) -> date | None:
        """Return the day on which a fact was said."""
        if fact.day:
            try:
                return date.fromisoformat(fact.day)
            except ValueError:  # a person wrote a day that does not exist
                return None
        at = self._said_at.get(max(fact.records))
        return from_micros(at).astimezone(self._zone).date() if at is not None else None

    # Pages

    def _long_pages(self) -> Iterator[Finding]:
        """Yield the pages that a consolidation splits, or would if it could."""
        tree = self._tree
        cannot = [step for step in long_pages(tree) if isinstance(step, str)]
        for document in self._documents:
            if len(document.body) <= LONG_CHARS or document.path not in tree.pages:
                continue
            problem = f"It is {len(document.body):,} characters long; a full page has {MAX_PAGE_CHARS:,}."
            fix = "documents consolidate"
            if any(f" {document.path} is " in step for step in cannot):
                problem += " Its own text, not its facts, makes it long: shorten that by hand."
                fix = f"documents read {document.path.removeprefix('~/')} --body"
            yield Finding("long page", document.path, document.path, problem, fix)

    # Duplicates

    def _duplicates(self) -> Iterator[Finding]:
        """Yield what a consolidation merges, and what says the same in other words."""
        tree = self._tree
        for step in duplicates(tree):
            self._check_time()
            kept, *others = step.facts if isinstance(step, Merge) else ("",)
            for name in others:
                id_ = name.partition("#")[0]
                if (pair := frozenset((kept, name))) not in self._same and tree.facts[name].fact.current:
                    self._same.add(pair)
                    shown = _cut(tree.facts[name].sentence)
                    problem = f"“{shown}” is said again in {kept.partition('#')[0]}, {tree.facts[kept].page.path}."
                    path = tree.facts[name].page.path
                    yield Finding("duplicate", id_, path, problem, "documents consolidate")
        for newer, older in self._paraphrases():
            problem = f"{older.shown} says the same as {newer.id}, {newer.shown}."
            yield Finding("duplicate", older.id, older.path, problem, f"feedback {older.id} outdated")

    def _paraphrases(self) -> Iterator[tuple[_Known, _Known]]:
        """Yield what the same speaker said twice in other words: near in meaning, and different in nothing."""
        static = self._parts.shared.word_embedder
        same_meaning = embedder_word_match(static)
        for facts in _by_speaker(one for one in self._current if not one.fact.source):
            if len(facts) > MAX_COMPARED:
                self._left_out.append(
                    f"Of each speaker, the newest {MAX_COMPARED:,} facts were compared by meaning."
                )
                facts = facts[:MAX_COMPARED]
            vectors = static.embed([one.fact.text for one in facts])
            numbers = [sorted(_NUMBER.findall(one.fact.text)) for one in facts]
            done: set[str] = set()
            for place, newer in enumerate(facts):
                near = (vectors[place + 1 :] @ vectors[place] >= NEAR_OF_STATIC).nonzero()[0] + place + 1
                for other in near.tolist():
                    older, pair = facts[other], frozenset((newer.id, facts[other].id))
                    if numbers[other] != numbers[place] or older.id in done or pair in self._same:
                        continue
                    self._check_time()
                    if not differs(newer.fact.text, older.fact.text, same_meaning):
                        done.add(older.id)
                        self._same.add(pair)
                        yield newer, older

    # Contradictions

    def _contradictions(self) -> Iterator[Finding]:
        told = [one for one in self._current if not one.fact.source and one.speaker not in (ASSISTANT, AGENT)]
        for facts in _by_speaker(told):
            for newer, older in self._contradicting(facts):
                problem = f"{older.shown}, but {newer.id} says later: {newer.shown}."
                is_one = len(list(sentences(older.fact.text))) == 1
                fix = f"feedback {older.id} outdated" if is_one else f'correct {older.id} "WHAT IS STILL TRUE"'
                yield Finding("contradiction", older.id, older.path, problem, fix)

    def _contradicting(self, facts: Sequence[_Known]) -> Iterator[tuple[_Known, _Known]]:
        """Yield older facts, each with the newest one that contradicts it. Compared are those which are about two
        things together, or about one of which few facts tell."""
        keys = [fact_keys(one.fact.text) for one in facts]
        numbers = Counter(key for some in keys for key in some)
        if max(numbers.values(), default=0) > MAX_UNDER_KEY:
            self._left_out.append(
                f"Of the facts about one thing, the newest {MAX_UNDER_KEY} were compared with others."
            )
        under: dict[str, list[int]] = {}
        for place, older in enumerate(facts):
            self._check_time()
            shared: Counter[int] = Counter()
            for key in keys[place]:
                newest = under.setdefault(key, [])
                is_rare = numbers[key] < COMMON_KEY_FACTS or key.startswith("~")
                shared.update(dict.fromkeys(newest, MIN_SHARED_KEYS if is_rare else 1))
                if len(newest) < MAX_UNDER_KEY:
                    newest.append(place)
            for other in sorted(one for one, count in shared.items() if count >= MIN_SHARED_KEYS):
                newer = facts[other]
                if frozenset((newer.id, older.id)) in self._same:
                    continue
                if contradicts(newer.fact.text, older.fact.text) and not self._was_over(older.fact, newer.fact):
                    yield newer, older
                    break

    def _was_over(self, older: Fact, newer: Fact) -> bool:
        """Return whether what the older fact plans was over when the newer one was said: these are two plans."""
        plan, later = self._planned(older), self._said(newer)
        return bool(plan and later and plan.day < later)


def _by_speaker(facts: Iterable[_Known]) -> Iterator[list[_Known]]:
    """Yield together what one speaker said, in order; of what nobody is quoted with, what is on the same page."""
    found: dict[tuple[str, str], list[_Known]] = {}
    for one in facts:
        found.setdefault((one.speaker, "" if one.fact.day else one.document.id), []).append(one)
    yield from (some for some in found.values() if len(some) > 1)


def _cut(text: str) -> str:
    text = " ".join(redact(text).split())
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[: MAX_SHOWN_CHARS - 1].rstrip()}…"
