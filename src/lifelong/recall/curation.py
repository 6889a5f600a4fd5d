"""What a person can do about what is remembered: list it, correct it, pin it, and say what was of use."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from hashlib import blake2b
from typing import get_args

from lifelong.collect.agents import Agents
from lifelong.collect.descriptors import System, User
from lifelong.collect.history import History
from lifelong.collect.recorder import Recorder
from lifelong.collect.sessions import Sessions
from lifelong.errors import InputError, ItemNotFound, StaleWrite
from lifelong.journal.records import JournalRecord
from lifelong.journal.service import JournalService
from lifelong.organize.document_rows import DocumentRows
from lifelong.organize.documents import DocumentStore
from lifelong.organize.draft import redacted
from lifelong.organize.facts import INFERRED, PEOPLE, SUBJECTS, Fact, parse_fact, replace_fact
from lifelong.organize.rules.speakers import display_name, usable_name
from lifelong.organize.rules.third_person import third_person
from lifelong.recall.analyzer import read
from lifelong.recall.feedback import FeedbackRows, Verdict, split_key, summary_line
from lifelong.recall.index_writer import facts_of, ref_of, text_of
from lifelong.recall.items import FoundItem, Items
from lifelong.recall.search import hit
from lifelong.redaction import redact
from lifelong.storage.base import NO_LIMIT, Database, Transaction
from lifelong.text.sentences import sentences
from lifelong.text.words import fold
from lifelong.types import ITEM_KINDS, Clock, Document, Hit, ItemKind, Note
from lifelong.validation import validate_count, validate_name, validate_text, validate_time

CORRECTIONS = System("corrections")
"""The agent whose history holds what people corrected."""

MOST = 10_000  # hits a page of a list
TRIES = 5  # of an edit that others get in the way of
LONGEST = 20_000  # characters of a correction
LONGEST_ID = 2_000
AUTHOR = "person"

_FIRST_PERSON = re.compile(r"(?:I|My|We|Our)[\s'\u2019]")  # and not "I/O", "I-95" or "I. Newton"

Remember = Callable[[JournalRecord], object]
"""`Journal.append`: what stands there already is not written again."""


class Curation:
    """Looks after the items of one owner. `journal` gives what writes to it, and raises where there is none."""

    def __init__(
        self,
        database: Database,
        owner: str,
        clock: Clock,
        documents: DocumentStore,
        turns: Recorder,
        sleep_due: Callable[[datetime], datetime],
        journal: JournalService,
    ) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._documents = documents
        self._turns = turns
        self._sleep_due = sleep_due
        self._journal = journal

    # Listing

    def listed(
        self,
        kind: ItemKind | None = None,
        subject: str | None = None,
        since: datetime | None = None,
        limit: int = 100,
        before: str | None = None,
    ) -> list[Hit]:
        """The newest first. `before` is the id of the last hit of the page before this one, also if it has left
        since."""
        if kind is not None and kind not in ITEM_KINDS:
            raise InputError(f"{kind!r:.200} is no kind. Use one of: {', '.join(ITEM_KINDS)}.")
        validate_count(limit, "The limit", 1, MOST)
        if since is not None:
            validate_time(since, "since")
        kinds = (kind,) if kind else ITEM_KINDS
        about = validate_name(subject, "The subject") if subject is not None else ""

        def work(tx: Transaction) -> list[Hit]:
            items = Items(tx, self._owner)
            start = self._find(tx, before, gone=True) if before is not None else None
            if not about:
                found = items.newest(kinds, since, start, limit)
            else:
                found = items.newest_of(self._about(tx, about), kinds, since, start, limit)
            return [hit(tx, self._owner, one) for one in found]

        return self._database.read(work)

    def _about(self, tx: Transaction, subject: str) -> set[int]:
        """The ids of what the subject said, of what its documents say, and of what holds all its words."""
        items, name = Items(tx, self._owner), fold(subject)
        found = set(items.said_by(subject, NO_LIMIT))
        for document_id, _, slug, title in DocumentRows(tx, self._owner).titles():
            if name in (fold(title), fold(slug)):
                found.update(one.id for one in items.facts_in(document_id))
        holding = [set(items.holding(stem, NO_LIMIT)) for stem in read(subject).stems]
        return found | set.intersection(*holding) if holding else found

    # Judging

    def feedback(self, item: str, verdict: Verdict, recall_id: int | None = None) -> None:
        """Say what an item was worth. The recall it came from is one of the log, if it is named."""
        if verdict not in get_args(Verdict):
            raise InputError(f"{verdict!r:.200} is no verdict. Use one of: {', '.join(get_args(Verdict))}.")
        found = self._get(item)
        now = self._clock()
        if verdict == "outdated" and found.kind == "fact" and not found.until:
            self._restate(found, None, None, now)
        self._database.write(lambda tx: FeedbackRows(tx, self._owner).judge(found.key, verdict, recall_id, now))

    def pin(self, item: str) -> None:
        """Have it in every context from now on."""
        key, now = self._get(item).key, self._clock()
        self._database.write(lambda tx: FeedbackRows(tx, self._owner).pin(key, now))

    def unpin(self, item: str) -> None:
        def work(tx: Transaction) -> None:
            found = self._find(tx, item, gone=True)
            if not FeedbackRows(tx, self._owner).unpin(found.key) and found.gone:
                raise has_left(found)

        self._database.write(work)

    # Correcting

    def correct(self, item: str, text: str) -> Hit:
        """Say what is so instead. The person's word becomes a record first, then the item ends by it: whoever is
        killed in between has lost nothing, and says it again to have the rest done."""
        told = validate_text(text, "The correction", LONGEST).strip()
        found = self._get(item)
        remember = self._check_correctable(found, told)
        now = self._clock()
        digest = blake2b(f"{found.key} {told}".encode(), digest_size=12).hexdigest()
        key = f"{found.key} {digest}"
        speaker = self._database.read(lambda tx: self._speaker(tx, found))
        record_id = self._turns.append(self._owner, self._agent(now), Note(told, speaker, provenance="user"), key)
        new = f"record:{record_id}"
        if found.kind == "fact":
            new = self._restate(found, told, record_id, now, speaker)
        if remember:
            at, [line] = self._database.read(
                lambda tx: (History(tx).said_at(record_id), summary_line(tx, record_id))
            )
            remember(JournalRecord(line, "", "learned", told, "user", 1.0, at, "private-user"))
        self._database.write(lambda tx: self._end(tx, found.key, record_id, now))
        self._end_facts_of(found, record_id, now)
        if found.pinned:
            self._database.write(lambda tx: self._repin(tx, found.key, new, now))
        return self._database.read(lambda tx: hit(tx, self._owner, self._at(tx, new)))

    def _end(self, tx: Transaction, item: str, by: int, now: datetime) -> None:
        """End an item. A run of a memory-agent that learned from it lands before, or sees this."""
        DocumentRows(tx, self._owner).lock(now)
        FeedbackRows(tx, self._owner).correct(item, by, now)

    def _end_facts_of(self, corrected: FoundItem, by: int, now: datetime) -> None:
        """End the facts that rest on a corrected turn alone. Where it was a line that sums the turn up, or the
        experience of it: those that it tells."""
        record = corrected.record_id
        if corrected.kind == "fact" or not record:
            return
        for found in self._database.read(lambda tx: Items(tx, self._owner).facts_of(record)):
            document = self._documents.find(found.thread)
            fact = parse_fact((document and _paragraph(document, found.ref)) or "")
            meant = corrected.kind == "record" or (fact and _tells(corrected.text, fact.text))
            if fact and fact.records == (record,) and meant:
                self._restate(found, None, by, now)

    def _check_correctable(self, found: FoundItem, told: str) -> Remember | None:
        """What writes to the journal, where the item is a line of it."""
        if not told:
            raise InputError("The correction is empty. Say what is so instead.")
        if found.kind == "note":
            raise InputError(f"A note is corrected in its file: edit {found.thread} in the user's folder.")
        if found.until and not self._is_said_in(found.by_record, told):
            raise InputError(
                f"{found.short_id} ended on {found.until:%Y-%m-%d} already. Correct what holds instead."
            )
        shown = self._database.read(lambda tx: hit(tx, self._owner, found)).text
        if redact(told) == shown:
            raise InputError(f"{found.short_id} says that already. Say what is so instead.")
        if found.kind != "journal":
            return None
        self._journal.check_enabled()
        return self._journal.append

    def _is_said_in(self, record_id: int | None, told: str) -> bool:
        """Whether this record is the correction: it was begun before."""
        said = self._database.read(lambda tx: Items(tx, self._owner).find("record", str(record_id)))
        return said is not None and text_of(said.type, said.data) == told

    def _agent(self, now: datetime) -> str:
        due = self._sleep_due(now)
        return self._database.write(lambda tx: Agents(tx).resolve(self._owner, CORRECTIONS, now, due)).id

    def _repin(self, tx: Transaction, old: str, new: str, now: datetime) -> None:
        FeedbackRows(tx, self._owner).unpin(old)
        FeedbackRows(tx, self._owner).pin(new, now)

    def _speaker(self, tx: Transaction, found: FoundItem) -> str:
        """Whose word is corrected: who said it, whom it is about, or whom the agent it was said to talks to; empty
        where nobody can tell."""
        said = Items(tx, self._owner).find("record", str(found.record_id)) or found
        session = Sessions(tx).find_any(said.session_id)
        agent = Agents(tx).find_row(session.agent_id) if session else None
        talks = agent and agent.owner == self._owner and Agents(tx).get(agent.owner, agent.id).descriptor
        name = said.speaker or found.speaker or (display_name(talks.user_id) if isinstance(talks, User) else "")
        return usable_name(name)

    def _restate(
        self, found: FoundItem, told: str | None, record_id: int | None, now: datetime, speaker: str = ""
    ) -> str:
        """End a fact where it stands, and put what is so in its place, if it was told. The id of that."""
        for tries in range(TRIES, 0, -1):
            document = self._documents.find(found.thread)
            paragraph = document and _paragraph(document, found.ref)
            if not (document and paragraph):
                raise InputError(f"{found.short_id} has left its document meanwhile. List what there is now.")
            fact = parse_fact(paragraph)
            new = _stated(document, told, record_id, speaker) if told and record_id else None
            if new and fact and fact.by == record_id:
                return f"fact:{ref_of(document, new)}"  # it was begun before, and came this far
            if not fact and not new:
                return found.key  # a person's own text: it cites nothing that could have ended
            ended = fact.ended(now, record_id) if fact else None
            try:
                written = self._documents.write(
                    document_id=document.id,
                    expected_version=document.version,
                    slug=document.slug,
                    title=document.title,
                    description=document.description,
                    body=replace_fact(document.body, paragraph, new, ended),
                    author=AUTHOR,
                    note=f"Corrects {found.short_id}." if record_id else f"{found.short_id} is outdated.",
                )
            except StaleWrite:
                if tries == 1:
                    raise
            else:
                return f"fact:{ref_of(written, new)}" if new else found.key
        raise AssertionError("the last try returns or raises")

    def _get(self, item: str) -> FoundItem:
        return self._database.read(lambda tx: self._find(tx, item))

    def _at(self, tx: Transaction, key: str) -> FoundItem:
        if found := Items(tx, self._owner).find(*split_key(key)):
            return found
        raise ItemNotFound("What was said instead has left meanwhile. Search or list to see what there is.")

    def _find(self, tx: Transaction, item: str, *, gone: bool = False) -> FoundItem:
        found = Items(tx, self._owner).look_up(validate_name(item, "The item's id", LONGEST_ID))
        if found.gone and not gone:
            raise has_left(found)
        return found


def has_left(found: FoundItem) -> ItemNotFound:
    return ItemNotFound(f"{found.short_id} has left what it stood in. Search or list to see what there is.")


def _tells(line: str, fact: str) -> bool:
    """Whether a line has most words of a sentence of the fact."""
    told = set(read(line).stems)
    said = [set(read(one).stems) for one in sentences(fact)]
    return any(2 * len(stems & told) > len(stems) for stems in said)


# A fact in its document


def _paragraph(document: Document, ref: str) -> str | None:
    """The paragraph that an item was made of."""
    return next((paragraph for found, _, paragraph in facts_of(document) if found == ref), None)


def _stated(document: Document, told: str, record_id: int, speaker: str) -> Fact:
    """What a person said, as a fact: one paragraph, that names who says "I", and goes on where the title ends if
    that is its subject."""
    text = redacted(" ".join(told.split()), "The correction", LONGEST).removeprefix(INFERRED).lstrip("# ")
    me = document.title if document.path.startswith(PEOPLE) else speaker
    if me and _FIRST_PERSON.match(text):
        text = third_person(text.replace("\u2019", "'"), me, "")
    after = text.removeprefix(f"{document.title} ")
    dropped = document.path.startswith(SUBJECTS) and after[:1].islower()
    return Fact(after if dropped else text, (record_id,))
