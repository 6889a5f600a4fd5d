"""How people, projects and things are related, and the evidence for it. Nothing of it is stored.

An entity is the title of a document, or a name in an experience. Two are related where a document refers to the
other one, where a fact about one names the other, and where an experience names both.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import Literal, NamedTuple, TypeAlias

from lifelong.organize.document_rows import MEMORY_ID, DocumentRows
from lifelong.organize.draft import link_targets
from lifelong.organize.facts import TITLES
from lifelong.recall.analyzer import stem_number
from lifelong.recall.items import FoundItem, Items
from lifelong.recall.repair import IndexRepair
from lifelong.recall.search import hit
from lifelong.storage.base import Transaction
from lifelong.text.words import UNSPACED, content_words, fold
from lifelong.types import Clock, Hit
from lifelong.validation import MAX_NEIGHBOURS, validate_count, validate_name

How: TypeAlias = Literal["link", "body", "fact", "experience"]

MAX_FACTS = 1_000  # of a document, and by a word, the newest
MAX_EXPERIENCES = 10_000  # that are read, the newest
MAX_EVIDENCE = 5  # hits a neighbour
MAX_SUGGESTIONS = 5
DATA_WEIGHT = 0.5  # of evidence from a tool or the web


@dataclass(frozen=True, slots=True)
class RelatedEntity:
    """A related entity. `path` is that of its document, if it has one; `how` is what relates it; `evidence` has
    the newest first."""

    name: str
    path: str
    weight: float
    how: tuple[How, ...]
    evidence: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Relations:
    """An entity and its neighbours, the closest first. Empty where nothing has that name: then `suggestions` has
    similar names."""

    entity: str
    path: str = ""
    neighbours: tuple[RelatedEntity, ...] = ()
    suggestions: tuple[str, ...] = ()


class _Names:
    """The titles of an owner's documents. Documents of one title are one entity, like the pages of a person."""

    def __init__(self, titles: Iterable[tuple[str, str, str, str]]) -> None:
        self.called: dict[str, str] = {}
        self.documents: dict[str, list[str]] = defaultdict(list)
        self.of: dict[str, str] = {}
        self.slugs: dict[str, str] = {}
        self._begin: dict[str, list[tuple[list[str], str]]] = {}
        self._unspaced: list[str] = []
        for document_id, parent_id, slug, title in titles:
            is_drawer = document_id == MEMORY_ID or (parent_id == MEMORY_ID and slug in TITLES)
            if is_drawer or not any(letter.isalpha() for letter in title):
                continue
            key = fold(title)
            if key not in self.called:
                self.called[key] = title
                if UNSPACED.search(key):
                    self._unspaced.append(key)
                elif words := content_words(title):
                    self._begin.setdefault(words[0], []).append((words, key))
            self.documents[key].append(document_id)
            self.of[document_id] = key
            self.slugs.setdefault(fold(slug), key)

    def within(self, text: str) -> Iterator[str]:
        """Return the entities that a text names. A single word must have the case of the title: a rose is not
        Rose."""
        folded, words = fold(text), content_words(text)
        yield from (key for key in self._unspaced if key in folded)
        for at, word in enumerate(words):
            for sought, key in self._begin.get(word, ()):
                if words[at : at + len(sought)] == sought and (
                    len(sought) > 1 or _is_written(self.called[key], text)
                ):
                    yield key


def _is_written(name: str, text: str) -> bool:
    """Return whether the name is in the text in its own case, if its script has cases."""
    return name.upper() == name.lower() or bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text))


class _Edge(NamedTuple):
    how: set[How]
    evidence: dict[str, FoundItem]


class RelationFinder:
    """Find how the entities of one owner are related."""

    def __init__(self, repair: IndexRepair, owner: str, clock: Clock) -> None:
        self._repair = repair
        self._owner = owner
        self._clock = clock
        self._known: tuple[int, _Names] = (-1, _Names(()))

    def of(self, entity: str, limit: int = 20, *, ended: bool = False) -> Relations:
        """Return an entity and its neighbours. It is found by title, slug, or a unique beginning, whatever the
        case."""
        asked = validate_name(entity, "An entity").strip()
        validate_count(limit, "The limit", 1, MAX_NEIGHBOURS)
        now = self._clock()
        return self._repair.read(
            lambda tx: _Query(tx, self._owner, self._names(tx), None if ended else now).around(asked, limit)
        )

    def entities(self, limit: int = 100) -> list[str]:
        """Return the known names: those that most experiences name first, then those with documents only."""
        validate_count(limit, "The limit", 1, MAX_NEIGHBOURS)

        def look(tx: Transaction) -> list[str]:
            shared = [some for _, some in _experiences(tx, self._owner)]
            named = Counter(key for some in shared for key in some)
            called = {key: name for some in shared for key, name in some.items()} | self._names(tx).called
            return [called[key] for key in sorted(called, key=lambda key: (-named[key], key))[:limit]]

        return self._repair.read(look)

    def _names(self, tx: Transaction) -> _Names:
        """Return the titles, which are read again only after a changeset."""
        rows = DocumentRows(tx, self._owner)
        last = next((one.id for one in rows.changesets(1)), 0)
        if self._known[0] != last:
            self._known = (last, _Names(rows.titles()))
        return self._known[1]


class _Query:
    """One query for the relations of an entity, in a transaction. Evidence that had ended `by` then does not
    count."""

    def __init__(self, tx: Transaction, owner: str, names: _Names, by: datetime | None) -> None:
        self._tx = tx
        self._owner = owner
        self._names = names
        self._by = by
        self._documents = DocumentRows(tx, owner)
        self._items = Items(tx, owner)
        self._shared = list(_experiences(tx, owner))
        self._edges: dict[str, _Edge] = {}

    def around(self, asked: str, limit: int) -> Relations:
        called = {key: name for _, named in reversed(self._shared) for key, name in named.items()}
        called |= self._names.called
        key, nearest = self._resolve(fold(asked), called)
        if key is None:
            return Relations("", suggestions=tuple(called[one] for one in nearest))
        self._follow_references(key)
        for fact in self._facts(key, called[key]):
            for other in self._named(fact):
                self._relate(key, other, "fact", fact)
        for experience_id, named in self._shared:
            if key in named and len(named) > 1 and (found := self._items.find("experience", experience_id)):
                for other in named:
                    self._relate(key, other, "experience", found)
        closest = sorted(self._edges, key=lambda other: (-self._weight(other), other))[:limit]
        return Relations(called[key], self._path(key), tuple(self._neighbour(o, called[o]) for o in closest))

    def _resolve(self, asked: str, called: dict[str, str]) -> tuple[str | None, list[str]]:
        """Return the key of what is asked for, or similar ones."""
        for key in (asked, self._names.slugs.get(asked)):
            if key in called:
                return key, []
        beginning = sorted(key for key in called if key.startswith(asked))
        if len(beginning) == 1:
            return beginning[0], []
        return None, beginning[:MAX_SUGGESTIONS] or get_close_matches(asked, called, MAX_SUGGESTIONS)

    # Edges

    def _follow_references(self, key: str) -> None:
        for document_id in self._names.documents.get(key, ()):
            document = self._documents.row(document_id)
            for one in self._documents.references(document_id, document.version) if document else ():
                if one.kind != "parent" and (other := self._names.of.get(one.target_id)):
                    self._relate(key, other, one.kind)
            for source_id, one in self._documents.referrers(document_id):
                if one.kind != "parent" and (other := self._names.of.get(source_id)):
                    self._relate(key, other, one.kind)

    def _facts(self, key: str, name: str) -> Iterator[FoundItem]:
        """Return the facts of its documents, and those elsewhere that name it or refer to it."""
        containers = {*self._names.documents.get(key, ())}
        for document_id in self._names.documents.get(key, ()):
            containers |= {source for source, one in self._documents.referrers(document_id) if one.kind == "body"}
        found = {
            one.id: one for container in sorted(containers) for one in self._items.facts_in(container, MAX_FACTS)
        }
        found |= self._items.get([id_ for id_ in self._holding(name) if id_ not in found])
        for fact in found.values():
            if fact.kind == "fact" and not fact.hidden_at and key in self._named(fact):
                yield fact

    def _holding(self, name: str) -> list[int]:
        """Return the items, records aside, that hold the rarest of the name's words."""
        stems = map(stem_number, content_words(name))
        return min((self._items.holding([stem], MAX_FACTS, records=False) for stem in stems), key=len, default=[])

    def _named(self, fact: FoundItem) -> set[str]:
        """Return the entities that a fact is about: its document's, and those it names or refers to."""
        ids = [fact.container, *(self._documents.resolve(target) for target in link_targets(fact.text))]
        referred = {key for id_ in ids if id_ and (key := self._names.of.get(id_))}
        return referred | set(self._names.within(fact.text))

    def _relate(self, key: str, other: str, how: How, found: FoundItem | None = None) -> None:
        has_ended = found and (found.hidden_at or (self._by and found.until and found.until <= self._by))
        if other == key or has_ended:
            return
        edge = self._edges.setdefault(other, _Edge(set(), {}))
        edge.how.add(how)
        if found:
            edge.evidence[found.key] = found

    def _weight(self, other: str) -> float:
        """Return the weight: one for each way a document refers to it, and one for each fact and experience."""
        edge = self._edges[other]
        evidence = sum(DATA_WEIGHT if one.trust in ("tool", "web") else 1.0 for one in edge.evidence.values())
        return evidence + len(edge.how & {"link", "body"})

    # What is shown

    def _neighbour(self, other: str, name: str) -> RelatedEntity:
        edge = self._edges[other]
        newest = sorted(edge.evidence.values(), key=lambda one: (one.until is None, one.at, one.id), reverse=True)
        evidence = tuple(hit(self._tx, self._owner, one) for one in newest[:MAX_EVIDENCE])
        return RelatedEntity(name, self._path(other), self._weight(other), tuple(sorted(edge.how)), evidence)

    def _path(self, key: str) -> str:
        """Return the path of the document highest in the tree: the others are its pages."""
        paths = [found.path for one in self._names.documents.get(key, ()) if (found := self._documents.find(one))]
        return min(paths, key=lambda path: (path.count("/"), path), default="")


def _experiences(tx: Transaction, owner: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Return the experiences that name anything, with the names."""
    rows = tx.all(
        "SELECT id, entities FROM experiences WHERE owner = ? AND entities <> '[]' ORDER BY at DESC LIMIT ?",
        *(owner, MAX_EXPERIENCES),
    )
    for id_, entities in rows:
        if named := {fold(name): name for name in json.loads(entities)}:
            yield id_, named
