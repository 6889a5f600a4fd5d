"""Keep the documents tidy: merge what stands twice, move what is misplaced, let long pages go on, delete what is
empty. Nothing is said in other words, and nothing is lost.

A plan is a list of steps. The rules (`rules/consolidation.py`) and, where one is configured, a model
(`consolidation_llm.py`) make it; `WorkingTree` carries it out step by step on a copy of the documents, and
refuses a step that would lose words, with the reason. A step of a model is held against the write policy, too. All
that was done is committed as one changeset, or nothing.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from lifelong.collect.history import History
from lifelong.errors import ErasedMeanwhile, InputError, LeaseLost, LifelongError, StaleWrite, StorageConflict
from lifelong.journal.rows import JournalRows
from lifelong.organize.changesets import commit
from lifelong.organize.document_rows import MEMORY_ID, MEMORY_ROOT, DocumentRows
from lifelong.organize.draft import UNCOMMITTED, Draft, validate_slug
from lifelong.organize.facts import (
    EARLIER,
    MAX_PAGE_CHARS,
    PEOPLE,
    Body,
    Fact,
    FactIndex,
    cited,
    parse_fact,
    sentence,
    speaker_of,
)
from lifelong.organize.organizer import Transcript
from lifelong.organize.write_policy import ABOUT_PEOPLE, WritePolicy
from lifelong.recall.index_writer import ref_of
from lifelong.redaction import redact
from lifelong.storage.base import Database, Transaction
from lifelong.text.words import FOLDED_WORD, count_negations, fold, word_set
from lifelong.types import Changeset, Clock, Document

if TYPE_CHECKING:
    from lifelong.organize.support import SupportCheck

log = logging.getLogger("lifelong.organize")

AUTHOR = "consolidation"

LONG_CHARS = 6_000  # a longer document goes on in pages below it, until it is no longer than a full one
MAX_CHILDREN = 7  # a document that has more is left as it is
MAX_TRIES = 5  # while others commit changes to the same documents
MAX_SHOWN_CHARS = 80
MAX_LOST_SHOWN = 10  # words
LEASE = timedelta(minutes=10)  # renewed before each question to a model
LEASE_NAME = "consolidation-lease"
CONSOLIDATED = "consolidated"
"""The name under which it is noted up to which change the documents are tidy."""

_MONTH_PAGE = re.compile(r"\d{4}-\d\d(?:-\d+)?")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"(?<=[a-z,;] )[^\W\d_a-z]\w+")
_SAYS_NOTHING = word_set("a an the just really well oh yes ok okay btw so")
_SHORT_FORMS = (("n't", " not"), ("'m", " am"), ("'re", " are"), ("'ve", " have"), ("'ll", " will"))
_BY_SUBJECT = ("people", "projects", "events")


# The plan


class Merge(NamedTuple):
    """Let the first of these facts stay, with the records of all."""

    facts: tuple[str, ...]


class Move(NamedTuple):
    """Put a fact on another page: `to` is its path, `title` what a page is called that is made for it."""

    fact: str
    to: str
    title: str = ""


class Split(NamedTuple):
    """Let a document go on with these facts, the oldest first, in a page for each month."""

    document: str
    facts: tuple[str, ...]


class Delete(NamedTuple):
    """Delete an empty document."""

    document: str


Step: TypeAlias = Merge | Move | Split | Delete


class Planner(Protocol):
    """Plans by a model. It has no effect but what it spends."""

    @property
    def model(self) -> str: ...

    @property
    def input_tokens(self) -> int: ...

    @property
    def output_tokens(self) -> int: ...

    @property
    def cost(self) -> float: ...

    def plan(self, tree: WorkingTree, asking: Callable[[], None]) -> Iterator[Step]:
        """Yield steps for what the rules left. `asking` is called before each question. Raise `LifelongError`
        where the model cannot be asked; the steps up to then count."""
        ...


@dataclass(frozen=True, slots=True)
class ConsolidationResult:
    """What a consolidation did, a sentence for each step; a dry run: what it would do. `left` says what stays as
    it is, and why. `changeset` is what to roll back; none where nothing changed. `ran` is false where it did not
    run, for this reason."""

    ran: bool
    reason: str = ""
    dry_run: bool = False
    merged: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    split: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    documents_before: int = 0
    documents_after: int = 0
    facts_before: int = 0
    facts_after: int = 0
    chars_before: int = 0
    chars_after: int = 0
    changeset: int | None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Every step, in the order in which they were done."""
        return (*self.moved, *self.merged, *self.split, *self.deleted)


# Carrying it out


class Refused(Exception):
    """Why a step is not carried out."""


@dataclass(slots=True, eq=False)
class Page:
    """A document while it is tidied. A new one has the version 0."""

    document: Document
    body: str
    is_deleted: bool = False

    @property
    def path(self) -> str:
        return self.document.path

    @property
    def subject(self) -> str:
        """Whom or what its facts are about; empty where they say so themselves."""
        steps = self.path.removeprefix(f"{MEMORY_ROOT}/").split("/")
        return "/".join(steps[:2]) if steps[0] in _BY_SUBJECT and len(steps) > 1 else ""

    @property
    def head(self) -> str:
        """The path of the document that it continues, or its own."""
        above, _, slug = self.path.rpartition("/")
        continues = _MONTH_PAGE.fullmatch(slug) and above not in (MEMORY_ROOT, f"{MEMORY_ROOT}/events")
        return above if continues else self.path


@dataclass(slots=True, eq=False)
class PageFact:
    """A fact on its page: the name that a plan has for it, the ref that it had at first, and how it is written."""

    name: str
    ref: str
    page: Page
    part: str
    fact: Fact

    @property
    def sentence(self) -> str:
        return sentence(self.page.document, self.fact)

    @property
    def speaker(self) -> str:
        return speaker_of(self.page.document, self.fact)

    @property
    def shown(self) -> str:
        text = self.sentence
        cut = text if len(text) <= MAX_SHOWN_CHARS else f"{text[: MAX_SHOWN_CHARS - 1].rstrip()}…"
        return f"{self.name} “{cut}”"


class _Change(NamedTuple):
    """What a fact becomes, and on which page; none: it is gone."""

    entry: PageFact
    fact: Fact | None
    page: Page


class WorkingTree:
    """The documents below `~/memory` while steps are carried out. `max_loss` is the share of all words that the
    steps of a model may lose; `support` tells whether records support what such a step writes."""

    def __init__(
        self, database: Database, owner: str, max_loss: float = 0.0, support: SupportCheck | None = None
    ) -> None:
        self._database = database
        self._owner = owner
        self._support = support
        self.stored: list[Document] = []
        self.pages: dict[str, Page] = {}
        self.facts: dict[str, PageFact] = {}
        database.read(self._load)
        self._new: dict[str, Page] = {}
        self._gone: dict[str, PageFact] = {}  # what was merged, by its first ref, and into which
        self._max_lost = int(max_loss * sum(len(words(one.sentence)) for one in self.facts.values()))
        self._lost = 0
        self.before = self.size()

    def _load(self, tx: Transaction) -> None:
        rows, facts = DocumentRows(tx, self._owner), FactIndex(tx, self._owner)
        root = rows.at(MEMORY_ROOT)
        found = [one for one in rows.walk(root) if one.id != MEMORY_ID] if root else []
        self.stored = found
        self.pages = {one.path: Page(one, one.body) for one in found}
        self.facts = {}
        for page in self.pages.values():
            ids = facts.ids(page.document.id)
            names: Counter[str] = Counter()
            for part in Body(page.body).parts:
                fact = parse_fact(part)
                ref = ref_of(page.document, fact) if fact else ""
                if fact and ref in ids:
                    names[ids[ref]] += 1  # what stands twice in a document has one id
                    number = names[ids[ref]]
                    name = f"{ids[ref]}#{number}" if number > 1 else ids[ref]
                    self.facts[name] = PageFact(name, ref, page, part, fact)

    # Reading

    def on(self, page: Page) -> list[PageFact]:
        """Return the facts of a page, in the order in which they were filed."""
        return [one for one in self.facts.values() if one.page is page]

    def month_of(self, fact: Fact) -> str:
        """Return when a fact was said, as year and month; empty where nobody knows."""
        if fact.day:
            return fact.day[:7]
        said = self._database.read(lambda tx: History(tx).said_at(self._owner, fact.records[0]))
        return f"{said:%Y-%m}" if said else ""

    def children(self, path: str) -> list[Page]:
        """Return the pages below this one, without those further down."""
        return [one for one in self.pages.values() if one.path.rpartition("/")[0] == path and not one.is_deleted]

    def size(self) -> tuple[int, int, int]:
        """Return how many documents, facts and characters there are."""
        pages = [page for page in self.pages.values() if not page.is_deleted]
        return len(pages), len(self.facts), sum(len(page.body) for page in pages)

    def empty(self) -> list[Page]:
        """Return the pages that say nothing, have nothing below them and may go, by path."""
        there = [page for page in self.pages.values() if not page.is_deleted]
        parents = {page.path.rpartition("/")[0] for page in there}
        found = [page for page in there if not page.body.strip() and page.path not in parents]
        return [page for page in sorted(found, key=lambda one: one.path) if self._may_go(page)]

    def _may_go(self, page: Page) -> bool:
        """Return whether no person edited a document, and none links to it."""

        def look(tx: Transaction) -> bool:
            rows, document_id = DocumentRows(tx, self._owner), page.document.id
            return not rows.was_edited(document_id) and not rows.referrers(document_id)

        return self._database.read(look)

    # Steps

    def apply(self, step: Step, *, by_model: bool = False) -> str:
        """Carry out a step and return it as a sentence. Raise `Refused` with the reason if it cannot be done.
        `by_model`: it may lose words, within the share that is set, and must pass the write policy."""
        match step:
            case Merge():
                return self._merge(step, by_model=by_model)
            case Move():
                return self._move(step, by_model=by_model)
            case Split():
                return self._split(step)
            case Delete():
                return self._delete(step)

    def _merge(self, step: Merge, *, by_model: bool) -> str:
        entries = [self._entry(name) for name in dict.fromkeys(step.facts)]
        if len(entries) < 2:
            raise Refused("it takes two facts to merge")
        kept, *others = entries
        for other in others:
            if reason := difference(kept, other):
                raise Refused(f"{kept.shown} and {other.shown}: {reason}")
        lost = sum(len(lost_words(kept, other)) for other in others)
        if lost and (not by_model or self._lost + lost > self._max_lost):
            raise Refused(f"{others[0].shown} has words that {kept.shown} does not have")
        merged = merged_fact([one.fact for one in entries])
        if by_model:
            self._check_policy(entries, merged, kept.page)
        pages = list(dict.fromkeys(one.page.path for one in entries))
        said = f"Merge {kept.shown} with {', '.join(one.name for one in others)}"
        self._carry_out([_Change(kept, merged, kept.page), *(_Change(one, None, one.page) for one in others)])
        self._lost += lost
        for other in others:
            self._gone[other.ref] = kept
            del self.facts[other.name]
        where = (
            f"of {', '.join(pages)}: it stays in {kept.page.path}, and" if len(pages) > 1 else f"in {pages[0]}: it"
        )
        return f"{said} {where} cites {', '.join(f'r{one}' for one in merged.records)}."

    def _move(self, step: Move, *, by_model: bool) -> str:
        entry = self._entry(step.fact)
        head = self._target(entry, step)
        if head.path == entry.page.head:
            raise Refused(f"{entry.shown} is in {head.path} already")
        if entry.fact.source in ("tool", "web") and f"{head.path}/".startswith(
            tuple(f"{one}/" for one in ABOUT_PEOPLE)
        ):
            raise Refused(f"{entry.shown} is what a {entry.fact.source} says, which is no word about people")
        if by_model:
            self._check_policy([entry], entry.fact, head)
        page = head if len(head.body) <= MAX_PAGE_CHARS else self._continuation(head, self.month_of(entry.fact))
        moved = moved_fact(entry, page.document)
        if (speaker := speaker_of(page.document, moved)) != entry.speaker:
            raise Refused(f"{entry.shown} names no speaker, and would be the word of {speaker} in {head.path}")
        said, was = entry.shown, entry.page.path
        self._carry_out([_Change(entry, moved, page)])
        return f"Move {said} from {was} to {page.path}."

    def _split(self, step: Split) -> str:
        page = self._page(step.document)
        head = self._page(page.head)
        entries = [self._entry(name) for name in step.facts]
        if any(entry.page is not page for entry in entries) or not entries:
            raise Refused(f"{page.path} does not hold these facts")
        if len(self.children(head.path)) > MAX_CHILDREN:
            raise Refused(f"{head.path} has more than {MAX_CHILDREN} documents below it")
        size, made = len(page.body), dict[str, Page]()
        changes = []
        taken: Counter[str] = Counter()
        for entry in entries:
            to = self._continuation(head, self.month_of(entry.fact), taken, besides=page)
            taken[to.path] += len(entry.part) + 2
            made[to.path] = to
            changes.append(_Change(entry, moved_fact(entry, to.document), to))
        self._carry_out(changes)
        return (
            f"Let {page.path}, which is {size:,} characters long, go on with its {len(entries)} oldest facts in "
            f"{', '.join(sorted(made))}."
        )

    def _delete(self, step: Delete) -> str:
        page = self._page(step.document)
        if page.body.strip() or self.children(page.path) or not self._may_go(page):
            raise Refused(f"{page.path} is not empty, a person wrote it, or another document needs it")
        page.is_deleted = True
        return f"Delete {page.path}, which is empty."

    def _check_policy(self, entries: Sequence[PageFact], fact: Fact, page: Page) -> None:
        """Refuse what a run might not write: this fact on this page, in place of these; and a new page's title."""
        known = [replace(one.fact, text=one.sentence) for one in entries]
        records = self._database.read(lambda tx: History(tx).with_ids(fact.records))
        transcript = Transcript(self._owner, "", "", 0, 0, "", tuple(records), foreground=True)
        policy = WritePolicy(transcript)
        policy.support = self._support
        try:
            policy.check_placed(page.path, replace(fact, text=entries[0].sentence), known)
            if not page.document.version:
                validate_slug(page.document.slug)
        except InputError as error:
            raise Refused(f"{entries[0].shown}: {str(error).rstrip('.')}") from None
        if not page.document.version and not policy.accepts_title(page.path, page.document.title):
            raise Refused(f"{page.document.title!r:.80} repeats a tool or a web page, and cannot be a title")

    def _carry_out(self, changes: Sequence[_Change]) -> None:
        """Change the pages, unless anything would read otherwise than it should."""
        pages = list(dict.fromkeys(page for change in changes for page in (change.entry.page, change.page)))
        bodies = {page: Body(page.body) for page in pages}
        wanted = Counter(contents((page.document, page.body) for page in pages))
        for entry, fact, page in changes:
            wanted[content(entry.page.document, entry.fact)] -= 1
            parts = bodies[entry.page].parts
            if fact and page is entry.page:
                bodies[page].replace(parts.index(entry.part), str(replace(fact, marker=entry.fact.marker)))
            else:
                bodies[entry.page].remove(parts.index(entry.part))
            if fact:
                wanted[content(page.document, fact)] += 1
                if page is not entry.page:
                    bodies[page].add_fact(fact)
        for body in bodies.values():
            if body.parts and body.parts[-1] == EARLIER:
                body.remove(len(body.parts) - 1)
        texts = {page: str(body) for page, body in bodies.items()}
        found = Counter(contents((page.document, text) for page, text in texts.items()))
        if found != +wanted or any(redact(text) != text for text in texts.values()):
            raise Refused(f"{changes[0].entry.shown} cannot be taken out of what stands around it")
        for page, text in texts.items():
            page.body = text
            self.pages.setdefault(page.path, page)
        for entry, fact, page in changes:
            if fact:
                marker = entry.fact.marker if page is entry.page else ""
                entry.page, entry.fact = page, replace(fact, marker=marker)
                entry.part = str(entry.fact)

    # Facts and pages by name

    def _entry(self, name: str) -> PageFact:
        if found := self.facts.get(name.strip().strip("[]")):
            return found
        raise Refused(f"there is no fact {name!r:.50}")

    def _page(self, path: str) -> Page:
        found = self.pages.get(path)
        if found and not found.is_deleted:
            return found
        raise Refused(f"there is no document {path!r:.200}")

    def _target(self, entry: PageFact, step: Move) -> Page:
        """Return the page to which a fact is to go: one that exists, or a new one of a person or project whom the
        fact names."""
        if found := self.pages.get(step.to):
            if found.is_deleted:
                raise Refused(f"{step.to} is deleted")
            return self._page(found.head)
        above, _, slug = step.to.rpartition("/")
        if above not in self.pages or above not in (f"{MEMORY_ROOT}/people", f"{MEMORY_ROOT}/projects"):
            raise Refused(f"there is no document {step.to!r:.200}")
        named = {*words(step.title)}
        if not named or not named <= {*words(entry.sentence), *words(entry.speaker)}:
            raise Refused(f"{entry.shown} does not name {step.title or slug!r:.80}")
        return self._planned(step.to, " ".join(step.title.split()))

    def _planned(self, path: str, title: str) -> Page:
        """Return a page that is made when a fact is put on it."""
        empty = Document("", 0, path, "", path.rpartition("/")[2], title, "", "", (), UNCOMMITTED, None, 0)
        return self._new.setdefault(path, Page(empty, ""))

    def _continuation(
        self, head: Page, month: str, taken: Mapping[str, int] = MappingProxyType({}), besides: Page | None = None
    ) -> Page:
        """Return the first page of this month below a document that is not full; `taken` is what else goes to
        which."""
        if not month:
            raise Refused(f"nobody knows when a fact of {head.path} was said")
        number = 1
        while True:
            path = f"{head.path}/{month}" + (f"-{number}" if number > 1 else "")
            page = self.pages.get(path) or self._planned(path, head.document.title)
            fits = page.document.title == head.document.title and not page.is_deleted and page is not besides
            if fits and len(page.body) + taken.get(path, 0) <= MAX_PAGE_CHARS:
                return page
            number += 1

    # Writing

    def write(self, draft: Draft) -> None:
        """Write what changed to a draft: new pages, changed ones, deletions. Raise `StaleWrite` where somebody
        edited one of them meanwhile."""
        for page in sorted(self.pages.values(), key=lambda one: (bool(one.document.version), one.path)):
            old = page.document
            if page.is_deleted or (old.version and page.body == old.body):
                continue
            page.document = draft.write(
                document_id=old.id or None,
                expected_version=old.version or None,
                slug=old.slug,
                title=old.title,
                description=old.description,
                body=page.body,
                parent_path=None if old.version else old.path.rpartition("/")[0],
            )
            if page.document.body != page.body:
                raise InputError(f"{old.path} would not say what it should. Nothing was changed.")
        for page in sorted(self.pages.values(), key=lambda one: one.path, reverse=True):
            if page.is_deleted and page.document.version:
                draft.delete(page.document.id, page.document.version)
        refs = {one.ref: ref_of(one.page.document, one.fact) for one in self.facts.values()}
        draft.moved = {old: new for old, new in refs.items() if old != new}
        merged = {old: ref_of(one.page.document, one.fact) for old, one in self._survivors()}
        draft.merged = {old: new for old, new in merged.items() if old != new and old not in draft.moved}

    def _survivors(self) -> Iterator[tuple[str, PageFact]]:
        """Yield the first refs of what was merged, each with the fact that stayed in the end."""
        by_ref = {one.ref: one for one in self.facts.values()}
        for ref, into in self._gone.items():
            while into.name not in self.facts:
                into = self._gone[into.ref]
            if ref not in by_ref:
                yield ref, into


# What facts say


def words(text: str) -> list[str]:
    """Return the words of a text, folded, in order, with short forms written out; without those that say
    nothing."""
    folded = fold(text)
    for short, long in _SHORT_FORMS:
        folded = folded.replace(short, long)
    return [word for word in FOLDED_WORD.findall(folded) if word not in _SAYS_NOTHING]


def difference(kept: PageFact, other: PageFact) -> str:
    """Return why a fact is not another one said again; empty where it may be. Different people, subjects and
    sources are never merged, nor what holds with what has ended."""
    one, two = kept.fact, other.fact
    if bool(one.day) != bool(two.day):
        return "one is a quote, the other is not"
    if kept.speaker != other.speaker:
        return "different people said them"
    if (one.source, one.inferred) != (two.source, two.inferred):
        return "they rest on different sources"
    if (one.until, one.by) != (two.until, two.by):
        return "they did not end at the same time"
    about = {kept.page.subject, other.page.subject}
    if len(about - {""}) > 1:
        return "they are about different subjects"
    if len(about) > 1 and any(one.startswith("projects/") for one in about):
        return "one holds in a project only"
    specific = {*_NUMBER.findall(other.sentence), *map(fold, _NAME.findall(other.sentence))}
    if not specific <= {*_NUMBER.findall(kept.sentence), *words(kept.sentence)}:
        return "one has a number or a name that the other has not"
    if bool(count_negations(one.text)) != bool(count_negations(two.text)):
        return "one denies what the other says"
    return ""


def lost_words(kept: PageFact, other: PageFact) -> set[str]:
    """Return the words of a fact that another one does not have."""
    return {*words(other.sentence)} - {*words(kept.sentence)}


def merged_fact(facts: Sequence[Fact]) -> Fact:
    """Return the first of these facts, citing what all of them cite, from the first day on."""
    records = cited(record for fact in facts for record in fact.records)
    return replace(facts[0], records=records, day=min(fact.day for fact in facts))


def moved_fact(entry: PageFact, to: Document) -> Fact:
    """Return the fact as it is written in another document: with its subject and its speaker, unless the title of
    that document gives them."""
    fact, speaker = entry.fact, entry.speaker
    text = fact.text if sentence(to, fact) == entry.sentence else entry.sentence
    given = to.path.startswith(PEOPLE) and to.title == speaker
    return replace(fact, text=text, speaker="" if given else speaker, marker="")


def said_words(documents: Iterable[Document]) -> set[tuple[str, str]]:
    """Return who said which words, in the facts of documents."""
    return {
        (speaker_of(document, fact), word)
        for document in documents
        for part in Body(document.body).parts
        if (fact := parse_fact(part))
        for word in words(sentence(document, fact))
    }


def content(document: Document, fact: Fact) -> tuple[object, ...]:
    """Return what a fact says, whichever document it is in."""
    return replace(fact, text=sentence(document, fact), speaker=""), speaker_of(document, fact)


def contents(pages: Iterable[tuple[Document, str]]) -> Iterator[object]:
    """Yield all that stands on pages, in whichever order: facts, and the lines of other text."""
    for document, body in pages:
        for part in Body(body).parts:
            if fact := parse_fact(part):
                yield content(document, fact)
            elif part != EARLIER:
                yield from (line.strip() for line in part.splitlines() if line.strip())


# A run


class _Report:
    """The sentences of a run, by the kind of step, and what was left."""

    def __init__(self) -> None:
        self.done: dict[type[Step], list[str]] = {Merge: [], Move: [], Split: [], Delete: []}
        self.left: dict[str, None] = {}

    def carry_out(self, tree: WorkingTree, steps: Iterable[Step | str], *, by_model: bool = False) -> None:
        """Carry out steps, and note those that were refused; a text says what a planner left by itself."""
        for step in steps:
            if isinstance(step, str):
                self.left[step] = None
                continue
            try:
                self.done[type(step)].append(tree.apply(step, by_model=by_model))
            except Refused as reason:
                self.left[f"Left as it is: {reason}."] = None

    def __str__(self) -> str:
        counts = {Merge: "merged", Move: "moved", Split: "long page(s) split", Delete: "empty document(s) deleted"}
        parts = [f"{len(self.done[kind])} {what}" for kind, what in counts.items() if self.done[kind]]
        return f"Consolidation: {', '.join(parts)}." if parts else "Nothing to tidy."


class Consolidation:
    """Consolidate the documents of one user. `planner` opens the model that plans, too, if there is one; with a
    time, it looks at what changed since then. `max_loss` is the share of the words that its plan may lose;
    `support` tells whether records support what the plan makes facts cite."""

    def __init__(
        self,
        database: Database,
        owner: str,
        clock: Clock,
        *,
        planner: Callable[[datetime | None], Planner | None] = lambda _: None,
        max_loss: float = 0.0,
        support: SupportCheck | None = None,
    ) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._planner = planner
        self._max_loss = max_loss
        self._support = support

    def run(self, *, dry_run: bool = False, if_changed: bool = False) -> ConsolidationResult:
        """Consolidate now. `dry_run`: only say what would be done. `if_changed`: only if a document changed since
        the last time, and a model looks only at what did. One run of a user at a time: another one is skipped."""
        last = self._database.read(lambda tx: JournalRows(tx).last_run(self._owner, CONSOLIDATED))
        reason = self._database.read(lambda tx: self._skipped(tx, last)) if if_changed else ""
        if reason:
            return ConsolidationResult(False, reason, dry_run)
        since = last if if_changed else None
        if dry_run:
            return self._run(since, lambda: None, dry_run=True)
        lease = _Lease(self._database, self._owner, self._clock)
        if not lease.take():
            return ConsolidationResult(False, "Another consolidation of this user is under way.")
        try:
            return self._run(since, lease.renew, dry_run=False)
        finally:
            lease.release()

    def _skipped(self, tx: Transaction, last: datetime | None) -> str:
        """Return why a scheduled run is skipped; empty where it is not."""
        rows = DocumentRows(tx, self._owner)
        if rows.last_change() in (None, last):
            return "Nothing changed since the last consolidation."
        if undone := rows.undone(AUTHOR):
            return f"A person undid the last consolidation, changeset {undone}. Run one by hand to allow it again."
        return ""

    def _run(self, since: datetime | None, asking: Callable[[], None], *, dry_run: bool) -> ConsolidationResult:
        from lifelong.organize.rules.consolidation import duplicates, empty_pages, long_pages, misplaced

        planner = self._planner(since)
        planned: list[Step | str] | None = None if planner else []
        for left in reversed(range(MAX_TRIES)):
            draft = Draft(self._database, self._owner, below=MEMORY_ROOT)
            tree = WorkingTree(self._database, self._owner, self._max_loss, self._support)
            report = _Report()
            report.carry_out(tree, misplaced(tree, draft))
            report.carry_out(tree, duplicates(tree))
            if planner and planned is None:
                planned = list(_asked(planner, tree, asking))
            report.carry_out(tree, planned or (), by_model=True)
            report.carry_out(tree, long_pages(tree))
            report.carry_out(tree, empty_pages(tree))
            try:
                tree.write(draft)
                self._check_kept(tree)
                made = None if dry_run else self._commit(draft, report, planner)
            except (StaleWrite, StorageConflict) as error:
                if not left:
                    raise
                if planner and isinstance(error, ErasedMeanwhile):
                    planned = None  # the model has read what was forgotten
                log.info("user %s: documents changed during a consolidation; it is planned again", self._owner)
            else:
                return _result(tree, report, made, dry_run=dry_run)
        raise AssertionError("the last try returns or raises")

    def _check_kept(self, tree: WorkingTree) -> None:
        """Raise if the written documents lose more words of anybody than they may (SPEC S7)."""
        before = said_words(tree.stored)
        after = said_words(page.document for page in tree.pages.values() if not page.is_deleted)
        lost = before - after
        if len(lost) > self._max_loss * len(before):
            shown = ", ".join(sorted(word for _, word in lost)[:MAX_LOST_SHOWN])
            raise InputError(
                f"The consolidation would lose {len(lost)} of {len(before)} words ({shown}); at most a share of "
                f"{self._max_loss:g} may go. Nothing was changed."
            )

    def _commit(self, draft: Draft, report: _Report, planner: Planner | None) -> Changeset | None:
        """Commit the changeset, and note up to when the documents are tidy."""

        def work(tx: Transaction) -> Changeset | None:
            changeset = Changeset(
                *(0, self._owner, self._clock(), "run", AUTHOR, str(report)),
                organizer="llm" if planner else "rules",
                model=planner.model if planner else "",
                input_tokens=planner.input_tokens if planner else 0,
                output_tokens=planner.output_tokens if planner else 0,
                cost=planner.cost if planner else 0.0,
            )
            made = commit(tx, draft, changeset)
            if tidy_until := DocumentRows(tx, self._owner).last_change():
                JournalRows(tx).store_run(self._owner, CONSOLIDATED, tidy_until)
            return made

        made = self._database.write(work)
        log.info("user %s: %s", self._owner, report)
        return made


def _asked(planner: Planner, tree: WorkingTree, asking: Callable[[], None]) -> Iterator[Step | str]:
    """Yield the steps of a model, and at last why it could not be asked further."""
    try:
        yield from planner.plan(tree, asking)
    except LeaseLost:
        raise
    except LifelongError as error:
        log.warning("a consolidation goes on without the model: %s", error)
        yield f"The model was not asked further: {error}"


def _result(tree: WorkingTree, report: _Report, made: Changeset | None, *, dry_run: bool) -> ConsolidationResult:
    (documents, facts, chars), after = tree.before, tree.size()
    return ConsolidationResult(
        ran=True,
        dry_run=dry_run,
        merged=tuple(report.done[Merge]),
        moved=tuple(report.done[Move]),
        split=tuple(report.done[Split]),
        deleted=tuple(report.done[Delete]),
        left=tuple(report.left),
        documents_before=documents,
        documents_after=after[0],
        facts_before=facts,
        facts_after=after[1],
        chars_before=chars,
        chars_after=after[2],
        changeset=made.id if made else None,
    )


class _Lease:
    """Lets one consolidation of a user run, in whichever process. A killed one loses it when it expires."""

    def __init__(self, database: Database, owner: str, clock: Clock) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._until: datetime | None = None

    def take(self) -> bool:
        """Take it, and return whether nobody else has it."""
        now, held = self._clock(), self._until
        until = now + LEASE
        rows = (self._owner, LEASE_NAME, now, until, held)
        taken = self._database.write(lambda tx: JournalRows(tx).take_lease(*rows))
        self._until = until if taken else None
        return taken

    def renew(self) -> None:
        """Keep it for longer. Raise `LeaseLost` if it expired and somebody else took it."""
        if not self.take():
            raise LeaseLost("Another consolidation of this user took over; this one was discarded.")

    def release(self) -> None:
        """Let others run, if it is still ours."""
        if until := self._until:
            self._database.write(lambda tx: JournalRows(tx).release_lease(self._owner, LEASE_NAME, until))
            self._until = None
