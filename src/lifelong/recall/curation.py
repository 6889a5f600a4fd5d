"""What a person can do about what is remembered: list, correct, pin, and give feedback."""

from __future__ import annotations

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
from lifelong.organize.facts import INFERRED, Fact, parse_fact, reinstate_fact, replace_fact
from lifelong.organize.rules.subjects import display_name, usable_name
from lifelong.recall.analyzer import extract_terms, name_stems
from lifelong.recall.feedback import FeedbackRows, Verdict, split_key, summary_line_id
from lifelong.recall.index_writer import facts_of, ref_of, text_of
from lifelong.recall.items import FoundItem, Items
from lifelong.recall.repair import IndexRepair
from lifelong.recall.search import hit
from lifelong.redaction import redact
from lifelong.storage.base import NO_LIMIT, Database, Transaction
from lifelong.text.sentences import sentences
from lifelong.text.words import fold
from lifelong.types import ITEM_KINDS, Clock, Document, Hit, ItemKind, Note
from lifelong.validation import MAX_LISTED, validate_count, validate_name, validate_text, validate_time

CORRECTIONS = System("corrections")
"""The agent whose history holds what people corrected."""

MAX_EDIT_TRIES = 5  # where others edit the same document
MAX_CORRECTION_CHARS = 20_000
MAX_ID_CHARS = 2_000
AUTHOR = "person"

Remember = Callable[[JournalRecord], object]
"""`Journal.append`: a record that is there already is not written again."""


class Curation:
    """List, correct, pin and judge the items of one owner."""

    def __init__(
        self,
        database: Database,
        owner: str,
        clock: Clock,
        documents: DocumentStore,
        recorder: Recorder,
        sleep_due: Callable[[datetime], datetime],
        journal: JournalService,
        repair: IndexRepair,
    ) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._documents = documents
        self._recorder = recorder
        self._sleep_due = sleep_due
        self._journal = journal
        self._repair = repair

    # Listing

    def list_items(
        self,
        kind: ItemKind | None = None,
        subject: str | None = None,
        since: datetime | None = None,
        limit: int = 100,
        before: str | None = None,
    ) -> list[Hit]:
        """Return the newest first. `before` is the id of the last hit of the previous page, even if that item was
        hidden since."""
        if kind is not None and kind not in ITEM_KINDS:
            raise InputError(f"Unknown kind {kind!r:.200}. Use one of: {', '.join(ITEM_KINDS)}.")
        validate_count(limit, "The limit", 1, MAX_LISTED)
        if since is not None:
            validate_time(since, "since")
        kinds = (kind,) if kind else ITEM_KINDS
        about = validate_name(subject, "The subject") if subject is not None else ""

        def work(tx: Transaction) -> list[Hit]:
            items = Items(tx, self._owner)
            start = self._find(tx, before, hidden=True) if before is not None else None
            if not about:
                found = items.newest(kinds, since, start, limit)
            else:
                found = items.newest_of(self._about(tx, about), kinds, since, start, limit)
            return [hit(tx, self._owner, one) for one in found]

        return self._repair.read(work)

    def _about(self, tx: Transaction, subject: str) -> set[int]:
        """Return the ids of what the subject said, of its documents' facts, and of what holds all its words."""
        items, name = Items(tx, self._owner), fold(subject)
        found = set(items.said_by(subject, NO_LIMIT))
        for document_id, _, slug, title in DocumentRows(tx, self._owner).titles():
            if name in (fold(title), fold(slug)):
                found.update(one.id for one in items.facts_in(document_id))
        holding = [set(items.holding([stem], NO_LIMIT)) for stem in name_stems(subject)]
        return found | set.intersection(*holding) if holding else found

    # Judging

    def feedback(self, item: str, verdict: Verdict, recall_id: int | None = None) -> tuple[str, ...]:
        """Store a verdict on an item. `recall_id` is the search in the log that it came from. What is useful holds
        again, if a person's "outdated" ended it. Return the sentences that ended."""
        if verdict not in get_args(Verdict):
            raise InputError(f"Unknown verdict {verdict!r:.200}. Use one of: {', '.join(get_args(Verdict))}.")
        found = self._get(item)
        now = self._clock()
        if verdict == "useful" and self._is_ended_by_verdict(found):
            self._take_back(found)
        ends = verdict == "outdated" and found.kind != "record" and not found.until
        if ends and found.kind == "fact":
            self._restate(found, None, None, now)
        self._database.write(
            lambda tx: FeedbackRows(tx, self._owner).add_verdict(found.key, verdict, recall_id, now)
        )
        shown = self._database.read(lambda tx: hit(tx, self._owner, found)).text if ends else ""
        return tuple(" ".join(one.split()) for one in sentences(shown))

    def _is_ended_by_verdict(self, found: FoundItem) -> bool:
        if not found.until or found.by_record:
            return False
        return self._database.read(lambda tx: FeedbackRows(tx, self._owner).is_outdated(found.key))

    def _take_back(self, found: FoundItem) -> None:
        """Let an item hold again that a person's verdict ended."""

        def reinstate(document: Document, paragraph: str) -> str | None:
            fact = parse_fact(paragraph)
            return reinstate_fact(document.body, paragraph) if fact and not fact.current else None

        if found.kind == "fact":
            self._edit(found, f"{found.short_id} is not outdated.", reinstate)
        self._database.write(lambda tx: FeedbackRows(tx, self._owner).take_back_outdated(found.key))

    def pin(self, item: str) -> None:
        """Put an item into every context from now on."""
        key, now = self._get(item).key, self._clock()
        self._database.write(lambda tx: FeedbackRows(tx, self._owner).pin(key, now))

    def unpin(self, item: str) -> None:
        """Take an item out of every context: its pin goes, and it is not part of the core."""
        now = self._clock()

        def work(tx: Transaction) -> None:
            found = self._find(tx, item, hidden=True)
            if not FeedbackRows(tx, self._owner).unpin(found.key, now) and found.hidden_at:
                raise item_hidden_error(found)

        self._database.write(work)

    # Correcting

    def correct(self, item: str, text: str) -> Hit:
        """Store what is true instead, and end the item. The correction becomes a record first: if the process is
        killed after that, nothing is lost, and the same call again does the rest."""
        correction = validate_text(text, "The correction", MAX_CORRECTION_CHARS).strip()
        found = self._get(item)
        remember = self._check_correctable(found, correction)
        if self._is_ended_by_verdict(found):
            self._take_back(found)  # so that the correction ends it
        now = self._clock()
        digest = blake2b(f"{found.key} {correction}".encode(), digest_size=12).hexdigest()
        key = f"{found.key} {digest}"
        speaker = self._database.read(lambda tx: self._speaker(tx, found))
        record_id = self._recorder.append(
            self._owner, self._agent(now), Note(correction, speaker, provenance="user"), key
        )
        new = f"record:{record_id}"
        if found.kind == "fact":
            new = self._restate(found, correction, record_id, now, speaker)
        if remember:
            at, line = self._database.read(
                lambda tx: (History(tx).said_at(self._owner, record_id), summary_line_id(tx, record_id))
            )
            assert line is not None  # the record was just stored, in a session
            remember(JournalRecord(line, "", "learned", correction, "user", 1.0, at, "private-user"))
        self._database.write(lambda tx: self._end(tx, found.key, record_id, now))
        self._end_facts_of(found, record_id, now)
        if found.pinned:
            self._database.write(lambda tx: self._repin(tx, found.key, new, now))
        return self._database.read(lambda tx: hit(tx, self._owner, self._at(tx, new)))

    def _end(self, tx: Transaction, item: str, by: int, now: datetime) -> None:
        """End an item. The lock has a memory-agent's run that learned from it commit before, or see this."""
        DocumentRows(tx, self._owner).lock(now)
        FeedbackRows(tx, self._owner).correct(item, by, now)

    def _end_facts_of(self, corrected: FoundItem, by: int, now: datetime) -> None:
        """End the facts that cite only a corrected record. Where its journal line or experience was corrected, end
        those that say what the line says."""
        record = corrected.record_id
        if corrected.kind == "fact" or not record:
            return
        for found in self._database.read(lambda tx: Items(tx, self._owner).facts_of(record)):
            document = self._documents.find(found.container)
            fact = parse_fact((document and _paragraph(document, found.ref)) or "")
            meant = corrected.kind == "record" or (fact and _says_same(corrected.text, fact.text))
            if fact and fact.records == (record,) and meant:
                self._restate(found, None, by, now)

    def _check_correctable(self, found: FoundItem, correction: str) -> Remember | None:
        """Raise where the item cannot be corrected. Return what writes to the journal, if the item is a line of
        it."""
        if not correction:
            raise InputError("The correction is empty. Say what is true instead.")
        if found.kind == "note":
            raise InputError(f"A note is corrected in its file: edit {found.container} in the user's folder.")
        if (
            found.until
            and not self._is_text_of(found.by_record, correction)
            and not self._is_ended_by_verdict(found)
        ):
            ended = f"{found.short_id} ended on {found.until:%Y-%m-%d}"
            raise InputError(
                f"{ended}, replaced by r{found.by_record}. Correct r{found.by_record} instead."
                if found.by_record
                else f'{ended}. Say what is true now: lifelong add "…"'
            )
        shown = self._database.read(lambda tx: hit(tx, self._owner, found)).text
        if redact(correction) == shown:
            raise InputError(f"{found.short_id} says that already. Say what is true instead.")
        if found.kind != "journal":
            return None
        self._journal.check_enabled()
        return self._journal.append

    def _is_text_of(self, record_id: int | None, correction: str) -> bool:
        """Return whether this record is the same correction, begun before."""
        record = self._database.read(lambda tx: Items(tx, self._owner).find("record", str(record_id)))
        return record is not None and text_of(record.type, record.data) == correction

    def _agent(self, now: datetime) -> str:
        due = self._sleep_due(now)
        return self._database.write(lambda tx: Agents(tx).resolve(self._owner, CORRECTIONS, now, due)).id

    def _repin(self, tx: Transaction, old: str, new: str, now: datetime) -> None:
        FeedbackRows(tx, self._owner).remove_pin(old)
        FeedbackRows(tx, self._owner).pin(new, now)

    def _speaker(self, tx: Transaction, found: FoundItem) -> str:
        """Return whose statement is corrected: its speaker, its subject, or the user of the agent it was said to;
        empty where that is unknown."""
        source = Items(tx, self._owner).find("record", str(found.record_id)) or found
        session = Sessions(tx).find_any(source.session_id)
        agent = Agents(tx).find_row(session.agent_id) if session else None
        talks = agent and agent.owner == self._owner and Agents(tx).get(agent.owner, agent.id).descriptor
        name = source.speaker or found.speaker or (display_name(talks.user_id) if isinstance(talks, User) else "")
        return usable_name(name)

    def _restate(
        self, found: FoundItem, correction: str | None, record_id: int | None, now: datetime, speaker: str = ""
    ) -> str:
        """End a fact in its document, and put the correction in its place, if there is one. Return its key."""
        key = found.key

        def restate(document: Document, paragraph: str) -> str | None:
            nonlocal key
            fact = parse_fact(paragraph)
            new = _as_fact(document, correction, record_id, speaker, now) if correction and record_id else None
            if new:
                key = f"fact:{ref_of(document, new)}"
            if new and fact and fact.by == record_id:
                return None  # begun before, and done up to here
            if not fact and not new:
                return None  # a person's own text cites nothing that could end
            return replace_fact(document.body, paragraph, new, fact.ended(now, record_id) if fact else None)

        self._edit(
            found, f"Corrects {found.short_id}." if record_id else f"{found.short_id} is outdated.", restate
        )
        return key

    def _edit(self, found: FoundItem, note: str, change: Callable[[Document, str], str | None]) -> None:
        """Write the document of a fact with the body that `change` makes of it and of the fact's paragraph; none
        where nothing is to be done."""
        for tries in range(MAX_EDIT_TRIES, 0, -1):
            document = self._documents.find(found.container)
            paragraph = document and _paragraph(document, found.ref)
            if not (document and paragraph):
                raise InputError(f"{found.short_id} is no longer in its document. List the facts again.")
            body = change(document, paragraph)
            if body is None:
                return
            try:
                self._documents.write(
                    document_id=document.id,
                    expected_version=document.version,
                    slug=document.slug,
                    title=document.title,
                    description=document.description,
                    body=body,
                    author=AUTHOR,
                    note=note,
                )
            except StaleWrite:
                if tries == 1:
                    raise
            else:
                return

    def _get(self, item: str) -> FoundItem:
        return self._database.read(lambda tx: self._find(tx, item))

    def _at(self, tx: Transaction, key: str) -> FoundItem:
        if found := Items(tx, self._owner).find(*split_key(key)):
            return found
        raise ItemNotFound("The correction was removed meanwhile. Search or list to see what is there.")

    def _find(self, tx: Transaction, item: str, *, hidden: bool = False) -> FoundItem:
        found = Items(tx, self._owner).look_up(validate_name(item, "The item's id", MAX_ID_CHARS))
        if found.hidden_at and not hidden:
            raise item_hidden_error(found)
        return found


def item_hidden_error(found: FoundItem) -> ItemNotFound:
    """Return the error to raise for an item that was hidden."""
    return ItemNotFound(f"{found.short_id} is no longer there. Search or list to see what is.")


def _says_same(line: str, fact: str) -> bool:
    """Return whether a line has most words of a sentence of the fact."""
    line_stems = set(extract_terms(line).stems)
    sentence_stems = [set(extract_terms(one).stems) for one in sentences(fact)]
    return any(2 * len(stems & line_stems) > len(stems) for stems in sentence_stems)


# A fact in its document


def _paragraph(document: Document, ref: str) -> str | None:
    """Return the paragraph that an item was made of."""
    return next((paragraph for found, _, paragraph in facts_of(document) if found == ref), None)


def _as_fact(document: Document, correction: str, record_id: int, speaker: str, at: datetime) -> Fact:
    """Return a correction as a fact: a quote of one paragraph."""
    text = redacted(" ".join(correction.split()), "The correction", MAX_CORRECTION_CHARS).removeprefix(INFERRED)
    named = "" if speaker == document.title else speaker
    return Fact(text, (record_id,), speaker=named, day=f"{at:%Y-%m-%d}")
