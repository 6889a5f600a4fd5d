"""The tools with which a model keeps facts, one a call: add, supersede, cite, retract, move, search, done.

A model sees a fact under a short id, `f12`. Documents are made where a fact needs them: slug, title and parent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated

from lifelong.errors import InputError
from lifelong.organize.document_rows import MEMORY_ROOT
from lifelong.organize.draft import Draft, slug_of
from lifelong.organize.facts import (
    INFERRED,
    Fact,
    PlacedFact,
    Source,
    current_facts,
    parse_facts,
    replace_fact,
    speaker_of,
)
from lifelong.organize.organizer import Transcript
from lifelong.organize.write_policy import DATA
from lifelong.redaction import redact
from lifelong.text.words import content_words, fold
from lifelong.tools import Tool, tool
from lifelong.types import Document, Hit

FindFacts = Callable[[str], Sequence[Hit]]
"""Finds current facts by meaning and by words."""

MAX_SEARCHED = 8

CATEGORIES = {
    "people": "Who is who.",
    "projects": "Projects, places and things.",
    "preferences": "What people like, want and avoid.",
    "rules": "Standing instructions and policies.",
    "decisions": "What was decided, and why.",
    "lessons": "What failed, and what worked.",
    "events": "What happened, and what is to come, by month.",
    "findings": "What agents and tools established.",
}
"""The documents below the root, and how each is described when it is made."""

_RECORD = re.compile(r"\br?(\d{1,18})\b")
_CITED = re.compile(r"(?<!\s)\s*+\[(?=[^\[\]]*\br\d)[^\[\]]*+\]\s*$")


class FactIds:
    """The short ids under which a model is shown facts: their own, `f12`; those that the run adds are `n1`, `n2` …
    until they are committed."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._ids: dict[tuple[str, str], str] = {}
        self._new = 0

    def id_of(self, document_id: str, digest: str) -> str:
        """Return the id of a fact, the same one each time."""
        if (document_id, digest) not in self._ids:
            stored = self._draft.fact_ids(document_id).get(digest)
            self._new += stored is None
            self._ids[document_id, digest] = stored or f"n{self._new}"
        return self._ids[document_id, digest]

    def find(self, fact_id: str) -> tuple[str, str] | None:
        """Return document and digest of the fact with this id."""
        wanted = fact_id.strip().strip("[]").lower()
        found = next((fact for fact, known in self._ids.items() if known == wanted), None)
        return found or (self._draft.fact_with_id(wanted) if wanted.startswith("f") else None)


class FactTools:
    """The tools over one draft. `finished`: the model called `done`."""

    def __init__(self, draft: Draft, transcript: Transcript, find: FindFacts | None = None) -> None:
        self._draft = draft
        self._records = {recorded.id: recorded for recorded in transcript.records}
        self._find = find
        self._ids = FactIds(draft)
        self.finished = False

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools; `search` only where something can be found."""
        found = (tool("search", SEARCH, self.search),) if self._find else ()
        return (
            tool("add_fact", ADD, self.add_fact),
            tool("supersede", SUPERSEDE, self.supersede),
            tool("cite", CITE, self.cite),
            tool("retract", RETRACT, self.retract),
            tool("move", MOVE, self.move),
            *found,
            tool("done", DONE, self.done),
        )

    # What a model calls

    def add_fact(
        self,
        to: Annotated[str, "Its document: people/Anna Berg, projects/Harbor, preferences, events/2026-03 …"],
        text: Annotated[str, "The fact, without its records."],
        records: Annotated[str, "What says it: r12, r14"],
    ) -> str:
        document = self._document(to)
        fact = self._fact(text, records)
        fact = replace(fact, source=fact.source or self._draft.source_of(document.path, fact))
        for known in parse_facts(document.body):
            is_same = fold(known.text) == fold(fact.text) and known.source in ("", fact.source)
            if is_same and (not known.until or set(fact.records) <= set(known.records)):
                if set(fact.records) <= set(known.records):
                    return "Known already, with these records."
                return self._replace(document, self._placed(document, known), _cited_too(known, fact.records))
        if self._draft.hold(document, fact):
            return WAITS
        written = self._draft.edit(document.id, document.version, append=str(fact))
        return self._shown_id(written, fact)

    def supersede(
        self,
        fact: Annotated[str, "The id of the fact that is no longer true."],
        text: Annotated[str, "What is true instead."],
        records: Annotated[str, "What says so: r12"],
    ) -> str:
        document, old = self._located(fact)
        new = self._fact(text, records)
        if self._draft.hold(document, new):
            return f"{WAITS} The old fact stands until then."
        return self._replace(document, old, new, self._ended(old.fact, new.records))

    def cite(
        self,
        fact: Annotated[str, "The id of a known fact."],
        records: Annotated[str, "What says it again: r12"],
    ) -> str:
        document, old = self._located(fact)
        return self._replace(document, old, _cited_too(old.fact, _parse_records(records)))

    def retract(
        self,
        fact: Annotated[str, "The id of the fact that is no longer true."],
        records: Annotated[str, "What says so: r12"],
    ) -> str:
        document, old = self._located(fact)
        return self._replace(document, old, None, self._ended(old.fact, _parse_records(records)))

    def move(
        self,
        fact: Annotated[str, "The id of a fact."],
        to: Annotated[str, "The document where it belongs, as in add_fact."],
    ) -> str:
        document, old = self._located(fact)
        target = self._document(to)
        if target.id == document.id:
            return "It is there already."
        moved = replace(old.fact, marker="", text=old.sentence)
        if moved.day:  # a quote stays its speaker's
            speaker = speaker_of(document, old.fact)
            moved = replace(
                moved, speaker="" if speaker == speaker_of(target, replace(moved, speaker="")) else speaker
            )
        written = self._draft.edit(target.id, target.version, append=str(moved))
        self._rewrite(document, replace_fact(document.body, old.paragraph, None, None))
        return self._shown_id(written, moved)

    def search(self, query: Annotated[str, "A few words."]) -> str:
        assert self._find, "offered only where something can be found"
        found = dict.fromkeys((*self.added(query), *self.shown(self._find(query))))
        return "\n".join([*found][:MAX_SEARCHED]) or "Nothing is known about it."

    def done(self) -> str:
        self.finished = True
        return "Done."

    # What a model is shown

    def shown(self, hits: Sequence[Hit]) -> list[str]:
        """Return a line for each fact that still stands: its id, its document, and what it says."""
        lines = []
        for hit in hits:
            document = self._draft.at(hit.path) if hit.path.startswith("~") else None
            lines += self.of(document, hit.id) if document else []
        return list(dict.fromkeys(lines))

    def of(self, document: Document, fact_id: str = "") -> list[str]:
        """Return a line for each current fact of a document, or for the one with this id."""
        self._draft.read(document.id)  # so that what it cites may be cited
        found = [(self._ids.id_of(document.id, digest), one) for digest, one in current_facts(document).items()]
        return [f"{id_} {_short(document)}: {one.fact}" for id_, one in found if fact_id in ("", id_)]

    def added(self, text: str) -> list[str]:
        """Return a line for each fact that this run has added and that shares words with the text, those that
        share most first."""
        words = set(content_words(text))
        found = [
            (len(words & set(content_words(one.sentence))), self.of(document, id_))
            for edit in self._draft.changes
            if edit.after and (document := self._draft.read(edit.id))
            for digest, one in current_facts(document).items()
            if (id_ := self._ids.id_of(document.id, digest)).startswith("n")
        ]
        return [line for shared, lines in sorted(found, key=lambda one: -one[0]) if shared for line in lines]

    # Documents and facts

    def _document(self, to: str) -> Document:
        """Return the document that is meant, made if it is missing: by path, or by category and title."""
        steps = [step.strip() for step in to.strip().removeprefix(MEMORY_ROOT).strip("/ ").split("/")]
        if not steps[0] or len(steps) > 3:
            raise InputError(f"{to!r:.100} names no document. Give one like people/Anna Berg, or preferences.")
        parent, path = None, MEMORY_ROOT
        if slug_of(steps[0]) not in CATEGORIES and not self._draft.at(f"{path}/{slug_of(steps[0])}"):
            raise InputError(
                f"{to!r:.100} is in no category. Begin with one of {', '.join(CATEGORIES)}: people/Anna Berg."
            )
        for step in steps:
            slug = slug_of(step) or step
            found = self._draft.at(f"{path}/{slug}") or self._titled(parent, path, step)
            parent = found or self._draft.write(
                slug=slug,
                title=slug.replace("-", " ").title() if step == slug and slug[0].isalpha() else step,
                description=CATEGORIES.get(slug, "") if path == MEMORY_ROOT else "",
                body="",
                parent_path=path,
            )
            path = parent.path
        assert parent, "at least one step"
        return parent

    def _titled(self, parent: Document | None, path: str, title: str) -> Document | None:
        above = parent or self._draft.at(path)
        children = self._draft.children(above.id) if above else []
        found = next((one for one in children if fold(one.title) == fold(title)), None)
        return self._draft.read(found.id) if found else None

    def _fact(self, text: str, records: str) -> Fact:
        cited = _parse_records(records)
        said = _CITED.sub("", " ".join(text.split()))
        kinds = {self._records[one].record.provenance if one in self._records else "" for one in cited}
        source: Source = "web" if kinds <= {*DATA} and "web" in kinds else "tool" if kinds == {"tool"} else ""
        return Fact(said.removeprefix(INFERRED), cited, said.startswith(INFERRED), source)

    def _located(self, fact_id: str) -> tuple[Document, PlacedFact]:
        known = self._ids.find(fact_id)
        document = self._draft.read(known[0]) if known else None
        placed = current_facts(document).get(known[1]) if known and document else None
        if not document or not placed:
            raise InputError(
                f"No current fact has the id {fact_id!r:.50}. Use an id of the message, of search, or of an "
                "answer above; a fact that was superseded has a new one."
            )
        return document, placed

    def _placed(self, document: Document, fact: Fact) -> PlacedFact:
        return next(one for one in current_facts(document).values() if one.fact == fact)

    def _replace(self, document: Document, old: PlacedFact, new: Fact | None, ended: Fact | None = None) -> str:
        written = self._rewrite(document, replace_fact(document.body, old.paragraph, new, ended))
        return self._shown_id(written, new) if new else f"Ended in {_short(written)}."

    def _rewrite(self, document: Document, body: str) -> Document:
        return self._draft.write(
            document_id=document.id,
            expected_version=document.version,
            slug=document.slug,
            title=document.title,
            body=body,
        )

    def _shown_id(self, document: Document, fact: Fact) -> str:
        """Return where a fact is now, and its id: `n2 in people/anna-berg`."""
        found = current_facts(document).items()
        written = redact(fact.text)
        digest = next((digest for digest, placed in found if placed.fact.text in (fact.text, written)), "")
        return (
            f"{self._ids.id_of(document.id, digest)} in {_short(document)}"
            if digest
            else f"In {_short(document)}."
        )

    def _ended(self, fact: Fact, records: Sequence[int]) -> Fact:
        """Return the fact with its end: by the last of these records that a person said, else by the last."""
        spoken = [
            one for one in records if one in self._records and self._records[one].record.provenance == "user"
        ]
        by = (spoken or records)[-1]
        if (at := self._draft.said_at(by)) is None:
            raise InputError(f"There is no record r{by}. Use the r numbers in the headings.")
        return fact.ended(at, by)


def _parse_records(records: str) -> tuple[int, ...]:
    found = tuple(dict.fromkeys(int(one) for one in _RECORD.findall(records)))
    if not found:
        raise InputError(f"{records!r:.50} names no record. Give the r numbers in the headings, as in: r12, r14")
    return found


def _short(document: Document) -> str:
    return document.path.removeprefix(f"{MEMORY_ROOT}/")


def _cited_too(fact: Fact, records: Sequence[int]) -> Fact:
    return replace(fact, records=tuple(dict.fromkeys((*fact.records, *records))))


WAITS = "Waits for a person's review: it rests on the agent's word alone."
ADD = "Keep a new fact."
SUPERSEDE = "Put a newer fact in the place of one that it contradicts."
CITE = "Note that a known fact was said again."
RETRACT = "End a fact that nothing replaces."
MOVE = "Move a fact to the document where it belongs."
SEARCH = "Find more known facts, with their ids."
DONE = "End the run: the last call of your batch."
