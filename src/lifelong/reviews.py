"""The review queue, as `memory.reviews`: what agents wrote that waits for a person, and what the person decides.

What waits stands in `reviews` alone: neither search nor a context, a document or the journal has it. On approval
it is written as the agent's word that a person approved, with the time at which the agent said it. A decision is
made once, and never by the agent whose write it is.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast, get_args

from lifelong.collect.history import History
from lifelong.errors import DocumentNotFound, InputError, ItemNotFound, NotAPerson, StaleWrite
from lifelong.journal.records import JournalRecord, Sensitivity
from lifelong.organize.binding import binds, person_named
from lifelong.organize.changesets import revert
from lifelong.organize.document_rows import MEMORY_ROOT, DocumentRows
from lifelong.organize.documents import DocumentStore, commit_as
from lifelong.organize.draft import Draft
from lifelong.organize.facts import TITLES, Fact, parse_fact
from lifelong.organize.review import (
    FORGET,
    GONE,
    INSTRUCTION,
    AgentDocuments,
    Review,
    ReviewKind,
    ReviewRows,
    ReviewState,
    StoredReview,
    decided,
    marked,
)
from lifelong.recall.feedback import corrected
from lifelong.recall.items import Items
from lifelong.storage.base import Database, Transaction
from lifelong.text.words import fold
from lifelong.types import Clock, Document, Hit, to_micros
from lifelong.validation import validate_count, validate_name, validate_text

if TYPE_CHECKING:
    from lifelong.journal.service import JournalService

T = TypeVar("T")

Forget = Callable[[str, str], object]
"""Forgets a target (an id, a path …) on the word of this person."""

MAX_TEXT_CHARS = 200_000
MAX_TARGET_CHARS = 1_000
MAX_NAME_CHARS = 200
PREFERENCE = "user-preference"


class Reviews:
    """The review queue of one user. `kinds` are the kinds of write that wait; `person` is who decides where nobody
    is named; `forget` carries out what an agent asked to forget, once it is approved."""

    def __init__(
        self,
        database: Database,
        owner: str,
        clock: Clock,
        *,
        documents: DocumentStore,
        journal: JournalService,
        forget: Forget,
        kinds: Collection[ReviewKind],
        person: str,
    ) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._documents = documents
        self._journal = journal
        self._forget = forget
        self._kinds = frozenset(kinds)
        self._person = person

    # Looking

    def list(self, *states: ReviewState, limit: int = 100) -> builtins.list[Review]:
        """Return what waits, newest first; or what is in these states."""
        unknown = [state for state in states if state not in get_args(ReviewState)]
        if unknown:
            raise InputError(
                f"Unknown state {unknown[0]!r:.200}. Use some of: {', '.join(get_args(ReviewState))}."
            )
        most = validate_count(limit, "The limit")
        found = self._read(lambda rows: rows.list(states or ("waiting",), most))
        return [self._shown(one) for one in found]

    def get(self, review_id: str) -> Review:
        """Return the review of this id ("v12")."""
        return self._shown(self._read(lambda rows: rows.get(review_id)))

    def _shown(self, review: StoredReview) -> Review:
        """Return a review as people see it: a request to forget with what it is about, which is not kept here."""
        shown = review.shown()
        if review.kind != "forget" or review.state != "waiting":
            return shown
        try:
            found = self._database.read(lambda tx: _hit(tx, self._owner, shown.text))
        except ItemNotFound:
            return shown
        return replace(shown, change=found.text, where=found.path)

    def count(self) -> int:
        """Return how many wait."""
        return self._read(lambda rows: rows.waiting())

    # Deciding

    def approve(self, review_id: str, *, by: str = "") -> Review:
        """Write what waits, or forget what was asked for, as the agent's word that this person approved. `by` is
        the person's name; left out, the user's. Where what should be forgotten is gone already, `change` says so.
        Raise `ReviewDecided` where it was decided before, and
        `NotAPerson` where the agent itself would approve."""
        return self._approve(review_id, None, by)

    def edit(self, review_id: str, text: str, *, by: str = "") -> Review:
        """Approve with other words: of a fact, a line or a document's new text."""
        words = validate_text(text, "The text", MAX_TEXT_CHARS).strip()
        if not words:
            raise InputError("The text is empty. Say what is true instead, or refuse it.")
        return self._approve(review_id, words, by)

    def refuse(self, review_id: str, *, by: str = "") -> Review:
        """Drop what waits. The decision is kept, and the same write is not asked about again."""
        review, person = self._open(review_id, by)
        self._decide(review, "refused", person)
        return self.get(review_id)

    def _open(self, review_id: str, by: str) -> tuple[StoredReview, str]:
        """Return a review that waits, and who decides. Raise where this one may not, or it was decided before."""
        review = self._read(lambda rows: rows.get(review_id))
        person = validate_name(by or self._person, "The person's name", MAX_NAME_CHARS).strip()
        if not person or any(sign in person for sign in "[],\n\r"):
            raise InputError(
                f"{person!r:.100} cannot be a person's name. Use one without brackets, commas and breaks."
            )
        if fold(person) == fold(review.author.strip()):
            raise NotAPerson(
                f"v{review.number} was written by {review.author}, which cannot decide on it. A person does, "
                "under another name."
            )
        if review.state != "waiting":
            raise decided(review)
        return review, person

    def _approve(self, review_id: str, text: str | None, by: str) -> Review:
        review, person = self._open(review_id, by)
        match review.kind:
            case "fact":
                self._write_fact(review, text, person)
            case "remember":
                self._write_line(review, text, person)
            case "document":
                self._write_document(review, text, person)
            case "forget":
                if text is not None:
                    raise InputError(f"v{review.number} asks to forget something: approve it or refuse it.")
                already = self._forget_target(review, person)
                self._decide(review, "approved", person)
                return replace(self.get(review_id), change=already)
        return self.get(review_id)

    def _forget_target(self, review: StoredReview, by: str) -> str:
        """Forget what a review asks for. Return why nothing was to be done; empty where it was."""
        target = review.text("target")
        if not target:  # it held words of something that was forgotten
            return GONE
        try:
            self._forget(target, by)
        except ItemNotFound as error:
            return f"{GONE} {error}"
        return ""

    def _decide(self, review: StoredReview, state: ReviewState, by: str) -> None:
        now = self._clock()
        self._database.write(lambda tx: ReviewRows(tx, self._owner).decide(review.number, state, by, now))

    def _approving(self, review: StoredReview, by: str) -> Callable[[Transaction], object]:
        now = self._clock()
        return lambda tx: ReviewRows(tx, self._owner).decide(review.number, "approved", by, now)

    # What an agent writes

    def documents_of(self, author: str) -> AgentDocuments:
        """Return the documents as an agent of this name reads and writes them."""

        def hold(reason: str, payload: Mapping[str, object]) -> Review:
            return self._hold("document", author, reason, payload)

        return AgentDocuments(self._documents, author, hold if "document" in self._kinds else None)

    def hold_line(self, author: str, record: JournalRecord) -> Review | None:
        """Store a line that an agent wants to remember for review, where it binds; none where it does not."""
        is_binding = record.category == PREFERENCE or binds(record.text, person_named(self._owner))
        if "remember" not in self._kinds or not is_binding:
            return None
        payload = {
            "text": record.text,
            "where": f"journal, {record.category}",
            "category": record.category,
            "sensitivity": record.sensitivity,
            "session_id": record.session_id,
        }
        return self._hold("remember", author, INSTRUCTION, payload)

    def hold_forget(self, target: str, author: str) -> Review | None:
        """Store what an agent asks to forget for review. Where such requests do not wait, forget it and return
        none."""
        wanted = validate_name(target, "What to forget", MAX_TARGET_CHARS)
        if "forget" not in self._kinds:
            self._forget(wanted, author)
            return None
        return self._hold("forget", author, FORGET, {"target": wanted, "text": wanted})

    def _hold(self, kind: ReviewKind, author: str, reason: str, payload: Mapping[str, object]) -> Review:
        validate_name(author, "An author", MAX_NAME_CHARS)
        at = self._clock()
        stored = self._database.write(
            lambda tx: ReviewRows(tx, self._owner).hold(kind, author, reason, payload, at)
        )
        return stored.shown()

    # What approval writes

    def _write_line(self, review: StoredReview, text: str | None, by: str) -> None:
        """Write the line. Its id comes from the review, so that it is written once, whatever happens meanwhile."""
        record = JournalRecord(
            id=f"review-{to_micros(review.at)}-{review.number}",
            session_id=review.text("session_id"),
            category=review.text("category"),
            text=text or review.text("text"),
            source_channel="tool",
            confidence=1.0,
            timestamp=review.at,
            sensitivity=cast(Sensitivity, review.text("sensitivity")),
            approved_by=by,
        )
        self._journal.check_enabled()
        approve = self._approving(review, by)

        def work(tx: Transaction) -> None:
            approve(tx)  # first: who comes second writes nothing
            self._journal.append(record)

        self._database.write(work)

    def _write_fact(self, review: StoredReview, text: str | None, by: str) -> None:
        fact = parse_fact(review.text("fact"))
        assert fact, "a fact that waits can be read"
        self._check_records(review, fact)
        if text is not None:  # no longer a quote
            fact = replace(fact, text=" ".join(text.split()), speaker="", day="")
        fact = replace(fact, source="agent", approved=by)
        draft = self._documents.draft()
        document = _ensure(draft, review.text("where"), review.text("title"))
        draft.edit(document.id, document.version, append=str(fact))
        self._commit(draft, document.id, review, by)

    def _check_records(self, review: StoredReview, fact: Fact) -> None:
        """Raise where what a fact rests on was corrected or forgotten since."""

        def look(tx: Transaction) -> tuple[dict[int, int], set[int]]:
            known = History(tx).of_owner(self._owner, fact.records)
            return dict(corrected(tx, self._owner, [*known])), {*fact.records} - known.keys()

        wrong, gone = self._database.read(look)
        if wrong or gone:
            record = next(iter(wrong or gone))
            what = f"corrected by r{wrong[record]}" if wrong else "forgotten"
            raise StaleWrite(
                f"r{record}, on which v{review.number} rests, was {what} since. Refuse v{review.number}."
            )

    def _write_document(self, review: StoredReview, text: str | None, by: str) -> None:
        draft = self._documents.draft()
        arguments = dict(cast("Mapping[str, object]", review.payload["arguments"]))
        before = draft.read(str(arguments["document_id"])) if arguments.get("document_id") else None
        if arguments.get("document_id") and not before:
            raise StaleWrite(f"{review.text('where')} was deleted since. Refuse v{review.number}.")
        after = _carry_out(self._documents, draft, before, arguments, text)
        body = self._database.read(lambda tx: marked(tx, self._owner, before, after, approved=by))
        if body != after.body:
            draft.write(
                document_id=after.id,
                expected_version=after.version,
                slug=after.slug,
                title=after.title,
                body=body,
            )
        self._commit(draft, after.id, review, by)

    def _commit(self, draft: Draft, document_id: str, review: StoredReview, by: str) -> None:
        commit_as(
            *(self._documents, draft, document_id),
            author=review.author,
            note=f"v{review.number}, approved by {by}.",
            trust="agent",
            approved_by=by,
            said_at=review.at,
            also=self._approving(review, by),
        )

    def _read(self, work: Callable[[ReviewRows], T]) -> T:
        return self._database.read(lambda tx: work(ReviewRows(tx, self._owner)))


def _hit(tx: Transaction, owner: str, item_id: str) -> Hit:
    from lifelong.recall.search import hit  # numpy takes a while

    return hit(tx, owner, Items(tx, owner).look_up(item_id))


def _ensure(draft: Draft, path: str, title: str) -> Document:
    """Return the document at a path below `~/memory`, made with those above it if it is missing."""
    if found := draft.at(path):
        return found
    parent, _, slug = path.rpartition("/")
    above = draft.at(parent) if parent == MEMORY_ROOT else _ensure(draft, parent, "")
    name, description = TITLES.get(slug, (title or slug, "")) if parent == MEMORY_ROOT else (title or slug, "")
    assert above, f"{MEMORY_ROOT} exists"
    return draft.write(slug=slug, title=name, description=description, body="", parent_id=above.id)


def _carry_out(
    documents: DocumentStore, draft: Draft, before: Document | None, arguments: dict[str, object], text: str | None
) -> Document:
    """Make the change in the draft. Where the document was changed since, make it on top of that, if the two touch
    different paragraphs."""
    if "body" not in arguments:  # an edit of a part
        assert before, "an edit names its document"
        part = "append" if "append" in arguments else "replace"
        if text is not None:
            arguments[part] = text
        how = {name: str(arguments[name]) for name in ("append", "find", "replace") if name in arguments}
        try:
            return draft.edit(before.id, before.version, **how)
        except InputError as error:
            raise StaleWrite(f"{before.path} changed since: {error}") from error
    if text is not None:
        arguments["body"] = text
    read = arguments.pop("expected_version", None)
    if before and read != before.version:
        arguments["body"] = _merged(documents, before, int(str(read)), str(arguments["body"]))
    if before:
        arguments["expected_version"] = before.version
    try:
        return draft.write(**arguments)  # type: ignore[arg-type]  # as they were checked when it was held
    except DocumentNotFound as error:
        raise StaleWrite(f"What it belongs to was deleted since: {error}") from error


def _merged(documents: DocumentStore, now: Document, read: int, wanted: str) -> str:
    """Return the body that was wanted in the place of an earlier version, applied to the one that is there now."""
    base = documents.database.read(lambda tx: DocumentRows(tx, documents.owner).version(now.id, read))
    merged, stuck = revert(replace(base, body=wanted), base, now) if base else (now, ["all of it"])
    if stuck:
        raise StaleWrite(
            f"{now.path} changed since the agent read it, in the same paragraphs. Refuse it, and change the "
            "document yourself."
        )
    return merged.body
