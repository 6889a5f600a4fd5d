"""What the rules merge, move and split in a consolidation: see `organize/consolidation.py`.

Each function yields steps, and texts that say what is left as it is. A step is carried out before the next one is
asked for. To lose a fact is worse than to keep two, so only what is certain is merged: the same words in the same
order, or whole sentences that stand in another quote, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from lifelong.organize.consolidation import (
    LONG_CHARS,
    Delete,
    Merge,
    Move,
    Page,
    PageFact,
    Split,
    Step,
    WorkingTree,
    difference,
    words,
)
from lifelong.organize.document_rows import MEMORY_ROOT
from lifelong.organize.draft import Draft
from lifelong.organize.facts import HOST, MAX_PAGE_CHARS
from lifelong.organize.rules.filing import Filing, path_of
from lifelong.organize.rules.quotes import Quote
from lifelong.organize.rules.subjects import AGENT, ASSISTANT, Subjects, leading_name
from lifelong.text.sentences import sentences

MIN_WORDS = 3  # a shorter statement may mean something else in another place

_CATEGORIES = tuple(f"{MEMORY_ROOT}/{one}" for one in ("people", "projects", "events"))
_NOT_PEOPLE = frozenset(("", ASSISTANT, AGENT, HOST))


def misplaced(tree: WorkingTree, draft: Draft) -> Iterator[Step]:
    """Move people's quotes to the person or project they are about, if that has a page by now. What is on the page
    of a person or project stays, unless it begins with the name of another person."""
    projects = (page.document.title for page in tree.children(f"{MEMORY_ROOT}/projects"))
    filing = Filing(draft, Subjects({}, frozenset(title for title in projects if title[:1].isupper())))
    for one in list(tree.facts.values()):
        if one.fact.source or not one.fact.day or one.speaker in _NOT_PEOPLE:
            continue
        at = _day(one)
        category, subject = filing.place(Quote(one.fact.text, one.fact.records[0], at, one.speaker, "person"))
        path = path_of(category, subject, at)
        about_other = category == "people" and subject != one.speaker
        if about_other and one.fact.text.removeprefix(leading_name(one.fact.text)).startswith(","):
            continue  # "Tom, can you come?" is said to him
        if category not in ("people", "projects") or path not in tree.pages or path == one.page.head:
            continue
        if about_other or not one.page.subject:
            yield Move(one.name, path)


def _day(one: PageFact) -> datetime:
    try:
        return datetime.fromisoformat(one.fact.day).replace(tzinfo=UTC)
    except ValueError:  # a person wrote a day that does not exist
        return datetime.min.replace(tzinfo=UTC)


def duplicates(tree: WorkingTree) -> Iterator[Step]:
    """Merge what the same person said in the same words, and whole sentences that stand in another quote of the
    same document. Where it is about somebody stays; else what was filed first."""
    same: dict[tuple[str, ...], list[PageFact]] = {}
    for one in tree.facts.values():
        same.setdefault(tuple(words(one.sentence)), []).append(one)
    for said, entries in same.items():
        while len(said) >= MIN_WORDS and len(entries) > 1:
            kept, *others = sorted(entries, key=lambda one: (not one.page.subject, _number(one)))
            again = [one for one in others if not difference(kept, one)]
            if again:
                yield Merge((kept.name, *(one.name for one in again)))
            entries = [one for one in others if one not in again]
    documents: dict[str, list[PageFact]] = {}
    for one in tree.facts.values():
        documents.setdefault(one.page.head, []).append(one)
    for entries in documents.values():
        yield from _contained(entries)


def _number(one: PageFact) -> tuple[int, str]:
    return int(one.name[1:].partition("#")[0]), one.name


def _contained(entries: list[PageFact]) -> Iterator[Step]:
    """Merge what is said whole in a longer fact of the same document."""
    said = [(one, [tuple(words(part)) for part in sentences(one.sentence)]) for one in entries]
    said.sort(key=lambda pair: -len(pair[1]))
    by_sentence: dict[tuple[str, ...], list[int]] = {}
    for place, (_, parts) in enumerate(said):
        for part in parts:
            by_sentence.setdefault(part, []).append(place)
    for place, (one, parts) in enumerate(said):
        if not parts or sum(map(len, parts)) < MIN_WORDS:
            continue
        for longer, others in (said[n] for n in by_sentence[parts[0]] if n < place):
            runs = (others[n : n + len(parts)] for n in range(len(others) - len(parts) + 1))
            if len(others) > len(parts) and parts in runs and not difference(longer, one):
                yield Merge((longer.name, one.name))
                break


def long_pages(tree: WorkingTree) -> Iterator[Step | str]:
    """Let long documents go on in pages below them: the oldest facts go there, those that have ended with them."""
    for page in list(tree.pages.values()):
        if len(page.body) <= LONG_CHARS:
            continue
        oldest = sorted(
            (one for one in tree.on(page) if tree.month_of(one.fact)),
            key=lambda one: (one.fact.day or tree.month_of(one.fact), one.fact.records[0]),
        )
        chosen = _chosen(page, oldest)
        if page.path in _CATEGORIES or not chosen:
            yield f"Left as it is: {page.path} is {len(page.body):,} characters long, and its facts cannot go on."
        else:
            yield Split(page.path, chosen)


def _chosen(page: Page, oldest: list[PageFact]) -> tuple[str, ...]:
    """Return the facts that have to go; none where a person's own text is what makes it long."""
    size = len(page.body)
    if size - sum(len(one.part) + 2 for one in oldest) > MAX_PAGE_CHARS:
        return ()
    chosen: list[str] = []
    for one in oldest[:-1]:
        if size <= MAX_PAGE_CHARS:
            break
        chosen.append(one.name)
        size -= len(one.part) + 2
    return tuple(chosen)


def empty_pages(tree: WorkingTree) -> Iterator[Step]:
    """Delete what says nothing, and then what has nothing below it any more."""
    while found := tree.empty():
        yield from (Delete(page.path) for page in found)
