"""How what was said, and what was made of it, becomes items: in the transaction that stores it.

What recall itself put into a turn, the summaries of compacted contexts and the talks of memory-agents are left
out, so that nothing is found twice.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, NamedTuple

from lifelong.collect.history import History, RecordRow, StoredTurn
from lifelong.collect.transcript import without_injected
from lifelong.organize.facts import PEOPLE, Fact, paragraphs, parse_fact, sentence
from lifelong.recall.analyzer import AnalyzedText, analyze
from lifelong.recall.citations import Citations, Cited
from lifelong.recall.feedback import FeedbackRows
from lifelong.recall.items import Items
from lifelong.recall.supersession import settle
from lifelong.storage.base import Transaction
from lifelong.types import (
    PROVENANCES,
    AssistantMessage,
    Document,
    Item,
    Note,
    Record,
    SystemMessage,
    ToolCall,
    UserMessage,
    from_micros,
    to_micros,
)

log = logging.getLogger("lifelong.recall")

MEMORY_AGENT = "memory-agent"
FOUND_IN = frozenset(("user_message", "assistant_message", "note", "system_message", "tool_result"))
"""The records that can be found. What a tool was called with says what its result says better."""


class AnalyzedRecord(NamedTuple):
    """Of a record that can be found: who speaks, what is said, and what the index sees of it."""

    speaker: str
    text: str
    seen: AnalyzedText


def analyze_record(record: Record) -> AnalyzedRecord | None:
    """What takes its time is done before the transaction that stores a record. None: it is not found."""
    if isinstance(record, ToolCall) or (isinstance(record, SystemMessage) and record.summary):
        return None
    speaker = record.speaker if isinstance(record, UserMessage | AssistantMessage | Note) else ""
    text = without_injected(record.text)
    return AnalyzedRecord(speaker, text, analyze(text)) if text else None


def index_records(tx: Transaction, owner: str, said: Sequence[StoredTurn], now: datetime) -> None:
    """Records that were just stored, and were made ready before."""
    readied = [
        (one, one.ready)
        for one in said
        if one.agent_kind != MEMORY_AGENT and isinstance(one.ready, AnalyzedRecord)
    ]
    Items(tx, owner).add_seen([(_turn(one, it.speaker, it.text), it.seen) for one, it in readied], now)


def reindex_records(tx: Transaction, owner: str, said: Sequence[StoredTurn], now: datetime) -> None:
    """Records that may be items already."""
    found = [(one, told) for one in said if one.agent_kind != MEMORY_AGENT and (told := _told(one.written))]
    Items(tx, owner).put([_turn(one, *told) for one, told in found], now)


def _told(written: RecordRow) -> tuple[str, str] | None:
    """Who speaks and what is said; none where that is not to be found."""
    kind, provenance, _, data = written
    if kind not in FOUND_IN:
        return None
    content = _content(data)
    text = without_injected(content.get("text", ""))
    if not text or content.get("summary"):
        return None
    if provenance not in PROVENANCES:
        log.warning("a record cannot be found: its provenance is unknown: %.80r", provenance)
        return None
    return content.get("speaker", ""), text


def _turn(one: StoredTurn, speaker: str, text: str) -> Item:
    _, provenance, at, _ = one.written
    return Item(
        *("record", str(one.record_id), text, from_micros(at), one.session_id),
        agent_id=one.agent_id,
        session_id=one.session_id,
        record_id=one.record_id,
        speaker=speaker,
        trust=provenance,  # type: ignore[arg-type]  # it was looked at
        since=one.since,
    )


def is_searchable(agent_kind: str, written: RecordRow) -> bool:
    """Whether a record is one that can be found."""
    return agent_kind != MEMORY_AGENT and _told(written) is not None


def text_of(kind: str, data: str) -> str:
    """What a record says, as its item has it; nothing where it cannot be read."""
    return without_injected(_content(data).get("text", "")) if kind in FOUND_IN else ""


def _content(data: str) -> dict[str, Any]:
    """What a record holds: nothing, with a warning, where its row is damaged. Others are found all the same."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        content = None
    if isinstance(content, dict) and all(isinstance(content.get(name, ""), str) for name in ("text", "speaker")):
        return content
    log.warning("a record cannot be read, and is not found: %.80r", data)
    return {}


def index_document(
    tx: Transaction, owner: str, document_id: str, document: Document | None, now: datetime
) -> None:
    """Bring the items of a document up to what it says; none: it was deleted. What was said has ended where every
    fact made of it has, in whatever document, and holds again where one does, or where none is left."""
    items = Items(tx, owner)
    facts = [(ref, one) for ref, one, _ in stated(document)] if document else []
    facts.sort(key=lambda one: one[1].current)  # where a sentence stands twice, it is so if one of them is
    says = dict(facts)
    filed = items.ends("fact", document_id)
    items.leave("fact", filed.keys() - says.keys(), now)
    changed = {ref: one for ref, one in says.items() if ref not in filed or filed[ref] != _end(one)}
    subject = document.title if document and document.path.startswith(PEOPLE) else ""
    written = min(document.valid_from, now) if document else now  # a draft's comes with its commit
    items.put([_fact(tx, ref, one, document_id, subject, written) for ref, one in changed.items()], now)
    if uncited := {f"fact:{ref}" for ref, one in changed.items() if not one.records}:
        FeedbackRows(tx, owner).apply(uncited)
    cites = {cited for _, one in facts for cited in _cited(one)}
    citations = Citations(tx, owner)
    settle(tx, owner, citations.put(document_id, cites, now))


def reindex_document(tx: Transaction, owner: str, versions: Sequence[Document]) -> None:
    """A document that may be filed already, from its first version on: so it is found as of any time. What it
    cites may have become items only after it was filed."""
    gone: datetime | None = None
    for one in versions:
        if gone and gone != one.valid_from:
            index_document(tx, owner, one.id, None, gone)
        index_document(tx, owner, one.id, one, one.valid_from)
        gone = one.valid_to
    document_id = versions[-1].id
    if gone:
        index_document(tx, owner, document_id, None, gone)
    settle(tx, owner, {cited.record_id for cited in Citations(tx, owner).of(document_id)})


def _cited(one: Fact) -> Iterator[Cited]:
    end = _end(one)
    for record in one.records:
        yield Cited(record, to_micros(end) if end else 0, (one.by or 0) if end else 0)


def stated(document: Document) -> Iterator[tuple[str, Fact, str]]:
    """What a document says: under which ref, as a fact with its subject, and the paragraph it was read from. A
    person's own text is a fact that cites nothing."""
    for paragraph in paragraphs(document.body):
        if not paragraph.startswith("#"):
            fact = parse_fact(paragraph) or Fact(paragraph.strip(), ())
            yield ref_of(document, fact), replace(fact, text=sentence(document, fact)), paragraph


def ref_of(document: Document, fact: Fact) -> str:
    """The ref of the item that a fact becomes."""
    return f"{document.id}#{blake2b(sentence(document, fact).encode(), digest_size=9).hexdigest()}"


def _fact(tx: Transaction, ref: str, one: Fact, document_id: str, subject: str, written: datetime) -> Item:
    first = one.records[0] if one.records else None
    return Item(
        *("fact", ref, one.text, (History(tx).said_at(first) if first else None) or written, document_id),
        record_id=first,
        speaker=subject,
        trust=one.source or ("agent" if one.inferred else "user"),
        until=_end(one),
        by_record=one.by,
    )


def _end(one: Fact) -> datetime | None:
    try:
        return datetime.fromisoformat(one.until).replace(tzinfo=UTC) if one.until else None
    except ValueError:  # a person wrote a day that there is not
        return None
