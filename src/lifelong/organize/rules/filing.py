"""Writes statements to documents: cites known facts again, ends contradicted ones, and adds the rest.

    ~/memory/people/<name>       about a person; a fact in lower case continues the title
    ~/memory/projects/<name>     about a project or a thing, likewise
    ~/memory/preferences         what people like, want and avoid
    ~/memory/decisions           what was decided, and why
    ~/memory/lessons             what failed, what worked
    ~/memory/events/<year-month> what happened and what is planned

A full document continues in pages below it: `<document>/<year-month>`, then `<year-month>-2` and so on. So no
document grows without bound, and filing costs the same however much is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lifelong.organize.document_rows import MEMORY_ROOT
from lifelong.organize.draft import MAX_SLUG_BYTES, UNCOMMITTED, Draft
from lifelong.organize.facts import EARLIER, INFERRED, Fact, IndexedFact, PlacedFact, paragraphs
from lifelong.organize.rules.conflicts import (
    MIN_LIKELIHOOD,
    MIN_LIKELIHOOD_IN_CHAT,
    Comparison,
    compare_both,
    keys,
    subject_key,
)
from lifelong.organize.rules.speakers import capitals, leading_name
from lifelong.organize.rules.statements import Statement
from lifelong.organize.rules.third_person import PRONOUN_START
from lifelong.redaction import has_secret
from lifelong.types import Document

MAX_PAGE_CHARS = 4_000
MAX_CITED = 3  # records that a fact cites: the first and the last ones

TITLES = {
    "people": ("People", "Who they are and what they do."),
    "projects": ("Projects", "What is worked on, and things."),
    "preferences": ("Preferences", "What people like, want and avoid."),
    "decisions": ("Decisions", "What was decided, and why."),
    "lessons": ("Lessons", "What failed and what worked."),
    "events": ("Events", "What happened and what is planned."),
}
_SLUG = re.compile(r"[^\w]+")
_BEFORE = " (earlier: "
_STATE = re.compile(  # holds until somebody says otherwise
    r"(?:[\w'\u2019.-]+ ){1,4}(?:lives|works|studies|teaches|owns|drives|leads|costs|rents"
    r"|is (?:an?|in|at|on|the|from|called|named|based|married|engaged|single|due))\b"
)
_QUOTES = ('".', '"')


@dataclass(slots=True)
class DocumentPage:
    """A document while facts are written to it: the current paragraphs, and those below `## Earlier`. A new one
    has the version 0."""

    document: Document
    current: list[str]
    earlier: list[str]
    changed: bool = False

    @classmethod
    def of(cls, document: Document) -> DocumentPage:
        parts = paragraphs(document.body)
        end = parts.index(EARLIER) if EARLIER in parts else len(parts)
        return cls(document, parts[:end], parts[end + 1 :])

    @property
    def body(self) -> str:
        return "\n\n".join([*self.current, EARLIER, *self.earlier] if self.earlier else self.current)

    def is_full(self) -> bool:
        return sum(len(part) + 2 for part in (*self.current, *self.earlier)) > MAX_PAGE_CHARS

    def add(self, fact: Fact) -> None:
        place, paragraph = (self.current if fact.current else self.earlier), str(fact)
        if paragraph not in place:
            place.append(paragraph)
            self.changed = True

    def replace(self, old: str, new: Fact) -> bool:
        """Put the fact in place of the paragraph. Return whether that changed anything."""
        if old not in self.current or old == str(new):
            return False
        place = self.current.index(old)
        if new.current:
            self.current[place] = str(new)
        else:
            del self.current[place]
            self.earlier.append(str(new))
        self.changed = True
        return True


@dataclass(slots=True)
class FiledFact:
    """A current fact and the page it is on. Its paragraph changes when it is cited again."""

    page: DocumentPage
    placed: PlacedFact


class Filing:
    """Writes the statements of one run to a draft."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._pages: dict[str, DocumentPage | None] = {}
        self._added: dict[str, list[FiledFact]] = {}
        self._stored: dict[IndexedFact, FiledFact] = {}
        self.added = self.merged = self.ended = self.refused = 0

    def file(self, statements: Sequence[Statement]) -> None:
        wanted = [keys(statement.text) for statement in statements]
        for statement, about, stored in zip(statements, wanted, self._draft.find_facts(wanted), strict=True):
            self._file(self._with_subject(statement), about, stored)

    def _file(self, statement: Statement, about: frozenset[str], stored: Sequence[IndexedFact]) -> None:
        """Write one statement. `about` are its keys, `stored` the facts with these keys from before this run."""
        fact = Fact(_plain(statement.text_in_document), statement.records, statement.inferred, statement.source)
        if not self._draft.accepts(_path(statement), fact):
            self.refused += 1
            return None
        contradicted = []
        for known, comparison in self._related(about, stored, statement):
            if comparison == "independent" or known.placed.paragraph not in known.page.current:
                continue
            if comparison == "same":
                return self._cite(known, statement)
            contradicted.append(known)
        at_record = (statement.at, statement.records[-1])
        newer = max((self._last_said(old.placed, statement) for old in contradicted), default=at_record)
        if newer > at_record:
            fact = fact.ended(*newer)
        else:
            if len(contradicted) == 1 and PRONOUN_START.match(fact.text):
                fact = _with_earlier(fact, contradicted[0].placed.fact)
            for old in contradicted:
                self.ended += old.page.replace(old.placed.paragraph, old.placed.fact.ended(*at_record))
        page = self._open_page(statement)
        page.add(fact)
        self.added += 1
        if fact.current:
            filed = FiledFact(page, PlacedFact(page.document.path, str(fact), fact, statement.text))
            for key in about:
                self._added.setdefault(key, []).append(filed)
        return None

    def write(self) -> int:
        """Write every changed page to the draft. Return how many."""
        changed = [page for page in self._pages.values() if page and page.changed]
        for page in changed:
            self._write(page)
        return len(changed)

    def _related(
        self, about: frozenset[str], stored: Sequence[IndexedFact], statement: Statement
    ) -> Iterator[tuple[FiledFact, Comparison]]:
        """Return the current facts that the statement repeats or contradicts: those of this run, then those from
        before it."""
        shared = about - {subject_key(statement.speaker)}
        added = {id(one): one for key in sorted(shared) for one in self._added.get(key, ())}
        for one in added.values():
            if comparisons := _compare(one.placed.sentence, statement):
                yield one, self._settle(comparisons, one.placed, statement)
        for indexed in stored:
            if (comparisons := _compare(indexed.sentence, statement)) and (known := self._located(indexed)):
                yield known, self._settle(comparisons, known.placed, statement)

    def _located(self, indexed: IndexedFact) -> FiledFact | None:
        """Return a fact from before this run; none if its document does not hold it any more."""
        if indexed not in self._stored and (placed := self._draft.locate(indexed)):
            self._stored[indexed] = FiledFact(self._page(placed.path), placed)
        return self._stored.get(indexed)

    def _settle(
        self, comparisons: tuple[Comparison, Comparison], known: PlacedFact, statement: Statement
    ) -> Comparison:
        """Return the comparison with the one that was said first. Data does not contradict what people said,
        people do not contradict each other, and a record does not contradict itself."""
        ahead, back = comparisons
        if ahead == "same":
            return ahead
        if not {*statement.records}.isdisjoint(known.fact.records):
            return "independent"
        if bool(statement.source) != bool(known.fact.source) or self._is_about_another(known, statement):
            return "independent"
        if ahead == back:
            return ahead
        return back if self._last_said(known, statement) > (statement.at, statement.records[-1]) else ahead

    def _is_about_another(self, known: PlacedFact, statement: Statement) -> bool:
        """Return whether the fact is about another person, whom the statement does not name."""
        who = known.sentence.split(" ", 1)[0].removesuffix("'s")
        if subject_key(who) == subject_key(statement.speaker):
            return False
        if who in statement.text and re.search(rf"(?<![\w-]){re.escape(who)}(?![\w-])", statement.text):
            return False
        return self._find(f"{MEMORY_ROOT}/people/{_slug(who)}") is not None

    def _cite(self, known: FiledFact, statement: Statement) -> None:
        """Let the known fact cite the statement's records, too, unless a person said it and data repeats it."""
        fact = known.placed.fact
        if statement.source and not fact.source:
            return
        records = sorted({*fact.records, *statement.records})
        if len(records) > MAX_CITED:
            records = [records[0], *records[1 - MAX_CITED :]]
        source = fact.source if statement.source else ""
        cited = Fact(fact.text, tuple(records), fact.inferred and statement.inferred, source)
        self.merged += known.page.replace(known.placed.paragraph, cited)
        known.placed = known.placed._replace(paragraph=str(cited), fact=cited)

    def _last_said(self, known: PlacedFact, statement: Statement) -> tuple[datetime, int]:
        """Return when a fact was last said, and in which record."""
        return max((self._draft.said_at(record) or statement.at, record) for record in known.fact.records)

    # Pages

    def _with_subject(self, statement: Statement) -> Statement:
        """Return the statement with another subject than its speaker, if there is a document about it: the person
        with whose name it begins, or a project that it names."""
        if statement.category != "people" or statement.subject != statement.speaker:
            return statement
        first = leading_name(statement.text)
        if self._document_of("people", first):
            return replace(statement, subject=first)
        if statement.text.startswith(statement.speaker):
            return statement
        for name in (first, *capitals(statement.text)):
            if self._document_of("projects", name):
                return replace(statement, category="projects", subject=name)
        return statement

    def _document_of(self, kind: str, name: str) -> DocumentPage | None:
        return self._find(f"{MEMORY_ROOT}/{kind}/{_slug(name)}") if name else None

    def _open_page(self, statement: Statement) -> DocumentPage:
        """Return the page for the statement: its document, or the first page below it that is not full."""
        head = self._page(_path(statement), statement.subject)
        if not head.is_full():
            return head
        month = f"{statement.at:%Y-%m}"
        first, last = 1, 1
        while self._is_full(head, month, last):
            first, last = last + 1, last * 2
        while first < last:
            middle = (first + last) // 2
            if self._is_full(head, month, middle):
                first = middle + 1
            else:
                last = middle
        return self._page(_numbered(head, month, first), head.document.title)

    def _is_full(self, head: DocumentPage, month: str, number: int) -> bool:
        page = self._find(_numbered(head, month, number))
        return page is not None and page.is_full()

    def _page(self, path: str, title: str = "") -> DocumentPage:
        page = self._find(path) or _new_page(path, title)
        self._pages[path] = page
        return page

    def _find(self, path: str) -> DocumentPage | None:
        if path not in self._pages:
            document = self._draft.at(path)
            self._pages[path] = DocumentPage.of(document) if document else None
        return self._pages[path]

    def _write(self, page: DocumentPage) -> None:
        document = page.document
        parent = document.path.rpartition("/")[0]
        if not document.version and parent != MEMORY_ROOT and not self._draft.at(parent):
            self._write(self._page(parent))  # the category, or the document that this page continues
        page.document = self._draft.write(
            document_id=document.id,
            expected_version=document.version,
            slug=document.slug,
            title=document.title,
            description=document.description,
            body=page.body,
            parent_path=None if document.version else parent,
        )


def _compare(sentence: str, statement: Statement) -> tuple[Comparison, Comparison] | None:
    """Return what the statement is to a known sentence, and the reverse; none if they are independent."""
    if sentence.endswith(_QUOTES) or statement.text.endswith(_QUOTES):
        return ("same", "same") if sentence == statement.text else None  # quotations are not analyzed
    states = _STATE.match(sentence) or _STATE.match(statement.text)
    threshold = MIN_LIKELIHOOD_IN_CHAT if statement.in_chat and not states else MIN_LIKELIHOOD
    _, replaced, earlier = sentence.rpartition(_BEFORE)
    if replaced:
        sentence = earlier if earlier[:1].isupper() else f"{statement.speaker} {earlier}"
    comparisons = compare_both(sentence, statement.text, statement.speaker, threshold)
    if replaced and "same" in comparisons:
        return "supersedes", "supersedes"  # what was so earlier is so again
    return None if comparisons == ("independent", "independent") else comparisons


def _path(statement: Statement) -> str:
    match statement.category:
        case "people" | "projects":
            return f"{MEMORY_ROOT}/{statement.category}/{_slug(statement.subject) or 'general'}"
        case "events":
            return f"{MEMORY_ROOT}/events/{statement.at:%Y-%m}"
        case _:
            return f"{MEMORY_ROOT}/{statement.category}"


def _numbered(head: DocumentPage, month: str, number: int) -> str:
    return f"{head.document.path}/{month}" + (f"-{number}" if number > 1 else "")


def _new_page(path: str, title: str) -> DocumentPage:
    slug = path.rpartition("/")[2]
    title, description = TITLES.get(slug, (title or slug, ""))
    return DocumentPage(Document("", 0, path, "", slug, title, description, "", (), UNCOMMITTED, None, 0), [], [])


def _slug(name: str) -> str:
    """Return the name as a slug; empty if it cannot be one."""
    slug = _SLUG.sub("-", name.casefold()).strip("-")[:60].encode()[:MAX_SLUG_BYTES].decode(errors="ignore")
    return "" if has_secret(slug) else slug


def _plain(text: str) -> str:
    """Return the text as one paragraph without links."""
    return " ".join(text.replace("[[", "[").replace("]]", "]").split()).removeprefix(INFERRED)


def _with_earlier(fact: Fact, old: Fact) -> Fact:
    """Add the ended fact to one that says nothing without it, such as "It's 75 mg now"."""
    earlier = old.text.rpartition(_BEFORE)[2].rstrip(".)")
    records = tuple(sorted({old.records[0], *fact.records}))
    return replace(fact, text=f"{fact.text.rstrip('.')}{_BEFORE}{earlier}).", records=records)
