"""Puts statements where they belong: merges what is known, ends what they contradict, adds the rest.

    ~/memory/people/<name>       about a person; a fact in lower case goes on where the title ends
    ~/memory/projects/<name>     about a project or a thing, likewise
    ~/memory/preferences         what people like, want and avoid
    ~/memory/decisions           what was decided, and why
    ~/memory/lessons             what failed, what worked
    ~/memory/events/<year-month> what happened and what is planned

A document that is full goes on in pages below it: `<document>/<year-month>`, then `<year-month>-2` and so on.
So no document grows without end, and filing costs the same however much is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lifelong.organize.document_rows import MEMORY
from lifelong.organize.draft import Draft
from lifelong.organize.edits import LONGEST_SLUG, NOT_YET
from lifelong.organize.facts import EARLIER, INFERRED, Fact, Known, Lead, paragraphs
from lifelong.organize.rules.conflicts import SURE, SURE_IN_CHAT, Verdict, judge_both, keys, subject_key
from lifelong.organize.rules.leaning import LEANS
from lifelong.organize.rules.statements import Statement
from lifelong.organize.rules.subjects import capitals, leading_name
from lifelong.redaction import has_secret
from lifelong.types import Document

FULL = 4_000  # characters of a document, from which on new facts go to the next page
MOST_CITED = 3  # records that a fact cites: the first that said it, and the last

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
_STATE = re.compile(  # what somebody is or has until they say otherwise
    r"(?:[\w'\u2019.-]+ ){1,4}(?:lives|works|studies|teaches|owns|drives|leads|costs|rents"
    r"|is (?:an?|in|at|on|the|from|called|named|based|married|engaged|single|due))\b"
)
_QUOTES = ('".', '"')


@dataclass(slots=True)
class Page:
    """A document while facts are filed in it: the paragraphs that hold, and those that did earlier. One that is
    not there yet has the version 0."""

    document: Document
    current: list[str]
    earlier: list[str]
    changed: bool = False

    @classmethod
    def of(cls, document: Document) -> Page:
        parts = paragraphs(document.body)
        end = parts.index(EARLIER) if EARLIER in parts else len(parts)
        return cls(document, parts[:end], parts[end + 1 :])

    @property
    def body(self) -> str:
        return "\n\n".join([*self.current, EARLIER, *self.earlier] if self.earlier else self.current)

    def is_full(self) -> bool:
        return sum(len(part) + 2 for part in (*self.current, *self.earlier)) > FULL

    def add(self, fact: Fact) -> None:
        place, paragraph = (self.current if fact.current else self.earlier), str(fact)
        if paragraph not in place:
            place.append(paragraph)
            self.changed = True

    def replace(self, old: str, new: Fact) -> bool:
        """Put the fact in place of the paragraph, if it still stands and says something else."""
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
class AgentRow:
    """A fact as it stands on its page now: one that is cited again reads differently from then on."""

    page: Page
    known: Known


class Filing:
    """Files the statements of one run into a draft."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._pages: dict[str, Page | None] = {}
        self._fresh: dict[str, list[AgentRow]] = {}
        self._stored: dict[Lead, AgentRow] = {}
        self.added = self.merged = self.ended = self.refused = 0

    def file(self, statements: Sequence[Statement]) -> None:
        about = [keys(statement.text) for statement in statements]
        for statement, found, leads in zip(statements, about, self._draft.about(about), strict=True):
            self._file(self._placed(statement), found, leads)

    def _file(self, statement: Statement, found: frozenset[str], leads: Sequence[Lead]) -> None:
        """`found` is what the statement is about, `leads` what was known about that before this run."""
        fact = Fact(_plain(statement.told), statement.records, statement.inferred, statement.source)
        if not self._draft.accepts(_path(statement), fact):
            self.refused += 1
            return None
        contradicted = []
        for standing, verdict in self._known(found, leads, statement):
            if verdict == "different" or standing.known.paragraph not in standing.page.current:
                continue
            if verdict == "same":
                return self._cite(standing, statement)
            contradicted.append(standing)
        said = (statement.at, statement.records[-1])
        newer = max((self._said(old.known, statement) for old in contradicted), default=said)
        if newer > said:
            fact = fact.ended(*newer)
        else:
            if len(contradicted) == 1 and LEANS.match(fact.text):
                fact = _with_earlier(fact, contradicted[0].known.fact)
            for old in contradicted:
                self.ended += old.page.replace(old.known.paragraph, old.known.fact.ended(*said))
        page = self._open_page(statement)
        page.add(fact)
        self.added += 1
        if fact.current:
            standing = AgentRow(page, Known(page.document.path, str(fact), fact, statement.text))
            for key in found:
                self._fresh.setdefault(key, []).append(standing)
        return None

    def write(self) -> int:
        """Put every page that changed into the draft; how many."""
        changed = [page for page in self._pages.values() if page and page.changed]
        for page in changed:
            self._put(page)
        return len(changed)

    def _known(
        self, found: frozenset[str], leads: Sequence[Lead], statement: Statement
    ) -> Iterator[tuple[AgentRow, Verdict]]:
        """The current facts that the statement repeats or contradicts: those of this run, then those that
        were there."""
        about = found - {subject_key(statement.speaker)}
        fresh = {id(one): one for key in sorted(about) for one in self._fresh.get(key, ())}
        for one in fresh.values():
            if verdicts := _judged(one.known.sentence, statement):
                yield one, self._settled(verdicts, one.known, statement)
        for lead in leads:
            if (verdicts := _judged(lead.sentence, statement)) and (stored := self._standing(lead)):
                yield stored, self._settled(verdicts, stored.known, statement)

    def _standing(self, lead: Lead) -> AgentRow | None:
        """The fact that was there before this run; none where it is there no more."""
        if lead not in self._stored and (known := self._draft.known(lead)):
            self._stored[lead] = AgentRow(self._page(known.path), known)
        return self._stored.get(lead)

    def _settled(self, verdicts: tuple[Verdict, Verdict], known: Known, statement: Statement) -> Verdict:
        """The verdict on the one that was said first. Data contradicts nobody's word, nobody another's, and no
        record itself."""
        ahead, back = verdicts
        if ahead == "same":
            return ahead
        if not {*statement.records}.isdisjoint(known.fact.records):
            return "different"
        if bool(statement.source) != bool(known.fact.source) or self._is_anothers(known, statement):
            return "different"
        if ahead == back:
            return ahead
        return back if self._said(known, statement) > (statement.at, statement.records[-1]) else ahead

    def _is_anothers(self, known: Known, statement: Statement) -> bool:
        """Whether the fact is about another person, whom the statement does not name."""
        who = known.sentence.split(" ", 1)[0].removesuffix("'s")
        if subject_key(who) == subject_key(statement.speaker):
            return False
        if who in statement.text and re.search(rf"(?<![\w-]){re.escape(who)}(?![\w-])", statement.text):
            return False
        return self._find(f"{MEMORY}/people/{_slug(who)}") is not None

    def _cite(self, standing: AgentRow, statement: Statement) -> None:
        """The fact was made again: it cites that too, unless it is a person's word and data repeats it."""
        fact = standing.known.fact
        if statement.source and not fact.source:
            return
        records = sorted({*fact.records, *statement.records})
        if len(records) > MOST_CITED:
            records = [records[0], *records[1 - MOST_CITED :]]
        source = fact.source if statement.source else ""
        cited = Fact(fact.text, tuple(records), fact.inferred and statement.inferred, source)
        self.merged += standing.page.replace(standing.known.paragraph, cited)
        standing.known = standing.known._replace(paragraph=str(cited), fact=cited)

    def _said(self, known: Known, statement: Statement) -> tuple[datetime, int]:
        """When a fact was made last, and in which record."""
        return max((self._draft.said_at(record) or statement.at, record) for record in known.fact.records)

    # Pages

    def _placed(self, statement: Statement) -> Statement:
        """What seems to be about its speaker goes to another document where there is one by a name in it: that of
        a person with whose name it begins, or of a project."""
        if statement.category != "people" or statement.subject != statement.speaker:
            return statement
        first = leading_name(statement.text)
        if self._known_by("people", first):
            return replace(statement, subject=first)
        if statement.text.startswith(statement.speaker):
            return statement
        for name in (first, *capitals(statement.text)):
            if self._known_by("projects", name):
                return replace(statement, category="projects", subject=name)
        return statement

    def _known_by(self, kind: str, name: str) -> Page | None:
        return self._find(f"{MEMORY}/{kind}/{_slug(name)}") if name else None

    def _open_page(self, statement: Statement) -> Page:
        """The page that takes the statement: its document, or the first page below that has room."""
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

    def _is_full(self, head: Page, month: str, number: int) -> bool:
        page = self._find(_numbered(head, month, number))
        return page is not None and page.is_full()

    def _page(self, path: str, title: str = "") -> Page:
        page = self._find(path) or _new_page(path, title)
        self._pages[path] = page
        return page

    def _find(self, path: str) -> Page | None:
        if path not in self._pages:
            document = self._draft.at(path)
            self._pages[path] = Page.of(document) if document else None
        return self._pages[path]

    def _put(self, page: Page) -> None:
        document = page.document
        parent = document.path.rpartition("/")[0]
        if not document.version and parent != MEMORY and not self._draft.at(parent):
            self._put(self._page(parent))  # the category it falls under, or the head of its pages
        page.document = self._draft.write(
            document_id=document.id,
            expected_version=document.version,
            slug=document.slug,
            title=document.title,
            description=document.description,
            body=page.body,
            parent_path=None if document.version else parent,
        )


def _judged(sentence: str, statement: Statement) -> tuple[Verdict, Verdict] | None:
    """What the statement is to a known sentence, and the other way round; none where each stands by itself."""
    if sentence.endswith(_QUOTES) or statement.text.endswith(_QUOTES):
        return ("same", "same") if sentence == statement.text else None  # what is quoted is not read
    states = _STATE.match(sentence) or _STATE.match(statement.text)
    sure = SURE_IN_CHAT if statement.in_chat and not states else SURE
    _, leaned_on, earlier = sentence.rpartition(_BEFORE)
    if leaned_on:
        sentence = earlier if earlier[:1].isupper() else f"{statement.speaker} {earlier}"
    verdicts = judge_both(sentence, statement.text, statement.speaker, sure)
    if leaned_on and "same" in verdicts:
        return "supersedes", "supersedes"  # what was so earlier is so again
    return None if verdicts == ("different", "different") else verdicts


def _path(statement: Statement) -> str:
    match statement.category:
        case "people" | "projects":
            return f"{MEMORY}/{statement.category}/{_slug(statement.subject) or 'general'}"
        case "events":
            return f"{MEMORY}/events/{statement.at:%Y-%m}"
        case _:
            return f"{MEMORY}/{statement.category}"


def _numbered(head: Page, month: str, number: int) -> str:
    return f"{head.document.path}/{month}" + (f"-{number}" if number > 1 else "")


def _new_page(path: str, title: str) -> Page:
    slug = path.rpartition("/")[2]
    title, description = TITLES.get(slug, (title or slug, ""))
    return Page(Document("", 0, path, "", slug, title, description, "", (), NOT_YET, None, 0), [], [])


def _slug(name: str) -> str:
    """The name as a step of a path; nothing where it cannot be one."""
    slug = _SLUG.sub("-", name.casefold()).strip("-")[:60].encode()[:LONGEST_SLUG].decode(errors="ignore")
    return "" if has_secret(slug) else slug


def _plain(text: str) -> str:
    """Text that is one paragraph and links to nothing."""
    return " ".join(text.replace("[[", "[").replace("]]", "]").split()).removeprefix(INFERRED)


def _with_earlier(fact: Fact, old: Fact) -> Fact:
    """A fact such as "It's 75 mg now" says nothing without the one that it ends."""
    earlier = old.text.rpartition(_BEFORE)[2].rstrip(".)")
    records = tuple(sorted({old.records[0], *fact.records}))
    return replace(fact, text=f"{fact.text.rstrip('.')}{_BEFORE}{earlier}).", records=records)
