"""Writes quotes to documents: cites known facts again, ends those that are certainly over, and adds the rest.

    ~/memory/people/<name>       about a person
    ~/memory/projects/<name>     about a project or a repository: what is said in its folder, or names it
    ~/memory/preferences         what people like and want
    ~/memory/rules               standing instructions and policies of the host and of the user whose agent it is
    ~/memory/decisions           what was decided, and why
    ~/memory/lessons             what failed, what worked
    ~/memory/events/<year-month> what happened and what is planned
    ~/memory/findings            what was found out about things, with who says so

The title gives the subject, so that a quote needs no rewriting; it names its speaker unless the title does. A full
document continues in pages below it: `<document>/<year-month>`, then `<year-month>-2` and so on. So no document
grows without bound, and filing costs the same however much is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from lifelong.organize.document_rows import MEMORY_ROOT
from lifelong.organize.draft import UNCOMMITTED, Draft, slug_of
from lifelong.organize.facts import (
    COMMON_KEY_FACTS,
    MAX_FOUND,
    MAX_PAGE_CHARS,
    TITLES,
    Body,
    Fact,
    IndexedFact,
    PlacedFact,
    Source,
    cited,
    current_facts,
    fact_keys,
)
from lifelong.organize.rules.quotes import Quote, StatedText, joined, leans
from lifelong.organize.rules.subjects import Subjects, leading_name
from lifelong.organize.rules.worth import TEACHES
from lifelong.text.changes import HAPPENED, ends, repeats, topic, values
from lifelong.text.sentences import sentences
from lifelong.text.standing import BINDING, FIRST_PERSON, HEALTH, IDENTITY, PRIVATE, standing
from lifelong.text.words import fold, pattern
from lifelong.types import Document

Category = Literal["people", "projects", "preferences", "rules", "decisions", "lessons", "events", "findings"]


_DECIDES = (
    r"\b(?:decid\w+|decision|let'?s (?:go|use|keep|switch|stick|make)|go(?:ing)? with|went with|settled on|opted"
    r"|agreed(?: to| on| that|:)|scrap|ruled out|entschieden|entscheid(?:e|en|ung)|beschlossen|wir nehmen"
    r"|decidi\w+|nos quedamos con|on a decide)\b"
)
_HABITS = frozenset(("rule", "convention"))
_OF_SELF = (
    r"(?:\w+[,!.] |and |oh |so ){0,3}(?:(?:from|as of|starting|ab|a partir d[eu]|desde) [^,.;!?]{1,60}?,? )?"
    r"(?:i|i'm|i've|i'll|my|ich|mein\w*|yo|mi|je|mon|ma)\b"
    r"(?!.*\b(?:always|please|you)\b)"
)
"""How somebody begins to tell of themselves: "From 12 November I'm here" binds nobody else."""
_FIXED_TIMES = frozenset(("date", "clock"))


@dataclass(slots=True)
class DocumentPage:
    """A document while facts are written to it. A new one has the version 0."""

    document: Document
    body: Body
    changed: bool = False

    def is_full(self) -> bool:
        return len(str(self.body)) > MAX_PAGE_CHARS

    def add(self, fact: Fact) -> bool:
        """Add a fact. Return whether it was not there."""
        if str(fact) in self.body.parts:
            return False
        self.body.add_fact(fact)
        self.changed = True
        return True

    def replace(self, part: str, fact: Fact | None, ended: Fact | None = None) -> bool:
        """Put the fact, if any, in the place of a current one, and the ended one among the earlier ones. Return
        whether that changed anything."""
        if part not in self.body.current or part == str(fact):
            return False
        self.body.replace_fact(part, fact, ended)
        self.changed = True
        return True


@dataclass(slots=True)
class FiledFact:
    """A current fact and the page it is on. Its paragraph changes when it is cited again."""

    page: DocumentPage
    placed: PlacedFact

    @property
    def speaker(self) -> str:
        """Who said it: the title, where the fact does not say it."""
        return self.placed.fact.speaker or self.page.document.title


class Filing:
    """Writes the quotes of one run to a draft. `project` is what the agent works on, if that is known;
    `data_source` is where the assistant's data comes from; `foreground`: a person takes part."""

    def __init__(
        self,
        draft: Draft,
        subjects: Subjects,
        project: str = "",
        data_source: Source = "tool",
        *,
        foreground: bool = True,
    ) -> None:
        self._draft = draft
        self._subjects = subjects
        self._project = project
        self._data_source: Source = data_source
        self._foreground = foreground
        self._pages: dict[str, DocumentPage | None] = {}
        self._added: dict[str, list[FiledFact]] = {}
        self._documents: dict[str, dict[str, FiledFact]] = {}
        self._person: dict[str, str] = {}
        self._said_at: dict[int, datetime | None] = {}
        self.added = self.merged = self.ended = self.refused = self.held = 0

    def file(self, stated: Sequence[StatedText]) -> None:
        """Write the quotes of each record, and end what the record ends."""
        texts = [[one.text] * one.may_end + [quote.text for quote in one.quotes] for one in stated]
        found = iter(self._draft.find_facts([fact_keys(text) for each in texts for text in each]))
        for one in stated:
            before = self.ended
            for known in list(self._known(one.text, next(found))) if one.may_end else ():
                if self._is_ended(known, one):
                    self._end(known, one)
            for quote in one.quotes:
                self._file(quote, next(found))
            if self.ended > before and not one.quotes and one.whole:
                self._file(one.whole, ())  # or nobody could tell what holds instead

    def write(self) -> int:
        """Write every changed page to the draft. Return how many."""
        changed = [page for page in self._pages.values() if page and page.changed]
        for page in changed:
            self._write(page)
        return len(changed)

    # Facts

    def _file(self, quote: Quote, stored: Sequence[IndexedFact]) -> None:
        category, subject = self.place(quote)
        title = f"{quote.at:%B %Y}" if category == "events" else subject
        page = self._open_page(path_of(category, subject, quote.at), title, quote.at)
        if self._draft.hold(page.document, self._quoted(quote, page.document)):
            self.held += 1
            return
        fact = self._fact(quote, page.document)
        if fact is None:
            self.refused += 1
            return
        for known in self._known(quote.text, stored):
            if known.speaker == (fact.speaker or page.document.title) and repeats(
                known.placed.fact.text, quote.text
            ):
                self._cite(known, fact)
                return
        later = [known for known in self._known(quote.text, stored) if self._ends(known, quote)]
        if later:
            by = max(later, key=self._last_said)
            over, rest = _split(fact, by.placed.fact.text)
            self._add(page, over.ended(*self._last_said(by)))
            if rest:
                self._add(page, rest)
        else:
            self._add(page, fact)

    def _add(self, page: DocumentPage, fact: Fact) -> None:
        if not page.add(fact):
            return
        self.added += 1
        if fact.current:
            filed = FiledFact(page, PlacedFact(page.document.path, str(fact), fact, fact.text))
            for key in fact_keys(fact.text):
                self._added.setdefault(key, []).append(filed)

    def _fact(self, quote: Quote, document: Document) -> Fact | None:
        """Return the quote as a fact of this document; none if it may not be written there. What an agent says
        after a tool or a web page is data, too."""
        fact = self._quoted(quote, document)
        sources: tuple[Source, ...] = (quote.source,) if quote.role != "assistant" else ("", self._data_source)
        tried = (replace(fact, source=source) for source in sources)
        return next((one for one in tried if self._draft.accepts(document.path, one)), None)

    def _quoted(self, quote: Quote, document: Document) -> Fact:
        speaker = "" if quote.speaker == document.title else quote.speaker
        return Fact(quote.text, (quote.record,), source=quote.source, speaker=speaker, day=f"{quote.at:%Y-%m-%d}")

    def _known(self, text: str, stored: Sequence[IndexedFact]) -> Iterator[FiledFact]:
        """Yield the current facts that share words with a text: those of this run, then those from before it. Of
        either there are few, however many share them."""
        newest = {key: self._added.get(key, [])[-COMMON_KEY_FACTS:] for key in sorted(fact_keys(text))}
        added = {id(one): one for some in newest.values() for one in some}
        shared = Counter(id(one) for some in newest.values() for one in some)
        located = (self._located(one) for one in stored)
        for known in (*(added[one] for one, _ in shared.most_common(MAX_FOUND)), *filter(None, located)):
            if known.placed.paragraph in known.page.body.current:
                yield known

    def _located(self, indexed: IndexedFact) -> FiledFact | None:
        """Return a fact from before this run; none if its document does not hold it any more."""
        if indexed.document_id not in self._documents:
            document = self._draft.read(indexed.document_id)
            placed = current_facts(document) if document else {}
            self._documents[indexed.document_id] = {
                digest: FiledFact(self._page(one.path), one) for digest, one in placed.items()
            }
        return self._documents[indexed.document_id].get(indexed.digest)

    def _is_ended(self, known: FiledFact, by: StatedText) -> bool:
        """Return whether a record certainly ends a fact that its speaker said before."""
        fact = known.placed.fact
        if not fact.day or fact.source or known.speaker != by.speaker or by.record in fact.records:
            return False
        if self._is_of_another_project(known):
            return False
        return self._last_said(known) < (by.at, by.record) and ends(by.text, fact.text)

    def _is_of_another_project(self, known: FiledFact) -> bool:
        """Return whether a fact was said of another project than the agent's."""
        place = f"{MEMORY_ROOT}/projects/"
        path = known.page.document.path
        name = path.removeprefix(place).partition("/")[0] if path.startswith(place) else ""
        return bool(name and self._project) and name != slug_of(self._project)

    def _ends(self, known: FiledFact, quote: Quote) -> bool:
        """Return whether a fact that was said after the quote ends it: records may arrive in any order."""
        fact = known.placed.fact
        if fact.day < f"{quote.at:%Y-%m-%d}" and len(fact.records) == 1:
            return False
        if not fact.day or fact.source or quote.source or known.speaker != quote.speaker or quote.role != "person":
            return False
        return self._last_said(known) > (quote.at, quote.record) and ends(fact.text, quote.text)

    def _end(self, known: FiledFact, by: StatedText) -> None:
        over, rest = _split(known.placed.fact, by.text)
        self.ended += known.page.replace(known.placed.paragraph, rest, over.ended(by.at, by.record))
        if rest:
            known.placed = known.placed._replace(paragraph=str(rest), fact=rest, sentence=rest.text)

    def _cite(self, known: FiledFact, again: Fact) -> None:
        """Let the known fact cite the record that says it again, too, unless a person said it and data repeats
        it."""
        fact = known.placed.fact
        if again.source and not fact.source:
            return
        records = cited((*fact.records, *again.records))
        is_persons = not again.source
        merged = replace(
            fact,
            records=records,
            source="" if is_persons else fact.source,
            approved="" if is_persons else fact.approved,
        )
        self.merged += known.page.replace(known.placed.paragraph, merged)
        known.placed = known.placed._replace(paragraph=str(merged), fact=merged)

    def _last_said(self, known: FiledFact) -> tuple[datetime, int]:
        """Return when a fact was last said, and in which record."""
        times = ((self._time_of(record), record) for record in known.placed.fact.records)
        return max(((at, record) for at, record in times if at), default=(datetime.min.replace(tzinfo=UTC), 0))

    def _time_of(self, record: int) -> datetime | None:
        if record not in self._said_at:
            self._said_at[record] = self._draft.said_at(record)
        return self._said_at[record]

    # Places

    def place(self, quote: Quote) -> tuple[Category, str]:
        """Return what kind of knowledge a quote is, and whom or what it is about."""
        if quote.role == "data":
            return ("lessons" if quote.failed else "findings"), ""
        project = self._project or self._subjects.project_in(quote.text)
        kinds = {one.kind for one in standing(quote.text, by_host=quote.role == "host")}
        if quote.role != "person":
            if project:
                return "projects", project
            if quote.role != "host":
                return "findings", ""
            return ("rules" if kinds or self._is_order(quote) else "events"), ""
        folded = fold(quote.text)
        private = bool(kinds & PRIVATE) and not kinds & BINDING
        if person := self._person_in(quote):
            return "people", person
        if project and not private:
            return "projects", project
        if pattern(TEACHES).search(folded):
            return "lessons", ""
        if pattern(_DECIDES).search(folded):
            return "decisions", ""
        is_habit = bool(kinds) and kinds <= _HABITS and pattern(_OF_SELF).match(folded) is not None
        if kinds & BINDING and not is_habit:
            return ("rules" if quote.is_user else "preferences"), ""  # nobody binds others
        if is_habit or kinds & (HEALTH | IDENTITY):
            return "people", quote.speaker
        if kinds:
            return "preferences", ""
        if FIRST_PERSON.search(folded):
            return "people", quote.speaker
        return ("events" if {kind for kind, _ in values(quote.text)} & _FIXED_TIMES else "findings"), ""

    def _is_order(self, quote: Quote) -> bool:
        """Return whether the host tells an agent that works alone what to do, or how things are done: all but what
        happened, and what is of a day."""
        if self._foreground or pattern(HAPPENED).search(fold(quote.text)):
            return False
        return not any(kind == "date" for kind, _ in values(quote.text))

    def _person_in(self, quote: Quote) -> str:
        """Return the person whom a quote is about, if that is another than its speaker: the one with whose name it
        begins, or whom the speaker's last quote was about where it begins with "she"."""
        if quote.about_other:
            return self._person.get(quote.speaker, "")
        name = leading_name(quote.text)
        person = self._known_person(name) if name else ""
        if person and slug_of(person) != slug_of(quote.speaker):
            self._person[quote.speaker] = person
            return person
        self._person.pop(quote.speaker, None)
        return ""

    def _known_person(self, name: str) -> str:
        """Return the whole name of a person of whom the transcript tells, or the slug of the one of whom a
        document does; empty if none does."""
        for form in (name, name.partition(" ")[0]):
            whole = self._subjects.people.get(form)
            if whole and self._draft.accepts_title(f"{MEMORY_ROOT}/people", whole):
                return whole
            if slug := self._draft.slug_below(f"{MEMORY_ROOT}/people", slug_of(form)):
                return slug
        return ""

    # Pages

    def _open_page(self, path: str, title: str, at: datetime) -> DocumentPage:
        """Return the page for a fact: its document, or the first page below it that is not full."""
        head = self._page(path, title)
        if not head.is_full():
            return head
        month = f"{at:%Y-%m}"
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
            self._pages[path] = DocumentPage(document, Body(document.body)) if document else None
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
            body=str(page.body),
            parent_path=None if document.version else parent,
        )


def _split(fact: Fact, by: str) -> tuple[Fact, Fact | None]:
    """Return what of a quote a newer statement ends, and what else in it stands: an allergy that was told in one
    breath with an address, or a date or number of something of which the newer one does not speak."""
    said, about = list(sentences(fact.text)), topic(by)
    stays: list[bool] = []
    for one in said:
        leans_on_it = bool(stays) and stays[-1] and leans(one)
        of_other = bool(values(one)) and not leans(one) and about.isdisjoint(topic(one))
        stays.append((leans_on_it or of_other or bool(standing(one))) and not ends(by, one))
    if all(stays) or not any(stays):
        return fact, None
    over, rest = ([n for n, stay in enumerate(stays) if stay == kept] for kept in (False, True))
    return replace(fact, text=joined(said, over, fact.text)), replace(fact, text=joined(said, rest, fact.text))


def path_of(category: Category, subject: str, at: datetime) -> str:
    """Return the document for knowledge of a kind about somebody or something, that was said at this time."""
    match category:
        case "people" | "projects":
            return f"{MEMORY_ROOT}/{category}/{slug_of(subject) or 'general'}"
        case "events":
            return f"{MEMORY_ROOT}/events/{at:%Y-%m}"
        case _:
            return f"{MEMORY_ROOT}/{category}"


def _numbered(head: DocumentPage, month: str, number: int) -> str:
    return f"{head.document.path}/{month}" + (f"-{number}" if number > 1 else "")


def _new_page(path: str, title: str) -> DocumentPage:
    slug = path.rpartition("/")[2]
    title, description = TITLES.get(slug, (title or slug, ""))
    return DocumentPage(
        Document("", 0, path, "", slug, title, description, "", (), UNCOMMITTED, None, 0), Body("")
    )
