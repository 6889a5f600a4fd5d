"""What agents write, and what of it waits for a person: the rows of `reviews`.

An instruction, a preference or a statement of who somebody is must not rest on an agent's word alone: the agent
may be mistaken, or misled by a page it read. Such a write is stored here instead, with its author and the reason,
until a person approves, changes or refuses it (`lifelong.reviews`). Before that, nothing recalls it.

`AgentDocuments` are the documents as an agent writes them: what is not supported by a person's record is marked as
the agent's word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, NamedTuple, Unpack, get_args

from lifelong.collect.agents import Agents
from lifelong.collect.history import History
from lifelong.collect.transcript import without_injected
from lifelong.errors import InputError, ReviewDecided, ReviewNotFound
from lifelong.organize.documents import DocumentContent, DocumentStore, TextEdit, commit_as
from lifelong.organize.draft import Draft, HeldFact, diff
from lifelong.organize.facts import Body, Fact, current_facts, paragraphs, parse_fact, plain_name, speaker_of
from lifelong.redaction import redact, redact_json
from lifelong.storage.base import Row, Transaction
from lifelong.text.dates import with_dates_explained
from lifelong.text.words import content_words, count_negations, fold
from lifelong.types import Document, StoredRecord, from_micros, from_optional_micros, to_micros

ReviewKind = Literal["fact", "remember", "document", "forget"]
"""The kinds of write that may wait: a fact that an organizer learned from an agent's words, a line that an agent
asks to remember, a document that it writes, and what it asks to forget."""
ReviewState = Literal["waiting", "approved", "refused"]
REVIEW_KINDS: tuple[ReviewKind, ...] = get_args(ReviewKind)

HoldDocument = Callable[[str, Mapping[str, object]], "Review"]
"""Stores for review, with the reason, the arguments of a write, its text and its change."""

MAX_DIFF_CHARS = 20_000
_CITED = re.compile(r"\br(\d{1,18})\b", re.ASCII)
_ID = re.compile(r"[vV]?(\d{1,18})", re.ASCII)

INSTRUCTION = "It is an instruction, a preference or says who somebody is, and rests on the agent's word alone."
LOSS = "It removes, ends or rewords what a person said, on the agent's word alone."
FORGET = "An agent asks to forget it."
GONE = "There is nothing left to forget."


@dataclass(frozen=True, slots=True)
class Review:
    """A write that waits for a person, or waited. `author` is the agent whose write it is, `text` what would be
    written (or the id of what would be forgotten), `where` its place, and `change` what it changes in a document,
    as a diff (or what that id says now)."""

    id: str
    at: datetime
    kind: ReviewKind
    author: str
    reason: str
    text: str
    where: str
    change: str
    state: ReviewState
    decided_at: datetime | None = None
    decided_by: str = ""


class StoredReview(NamedTuple):
    """A row of `reviews`."""

    number: int
    at: datetime
    kind: ReviewKind
    author: str
    reason: str
    payload: Mapping[str, object]
    state: ReviewState
    decided_at: datetime | None
    decided_by: str

    def shown(self) -> Review:
        """Return it as people see it, without secrets."""
        return Review(
            *(f"v{self.number}", self.at, self.kind, self.author, self.reason),
            text=redact(self.text("text")),
            where=self.text("where"),
            change=redact(self.text("change")),
            state=self.state,
            decided_at=self.decided_at,
            decided_by=self.decided_by,
        )

    def text(self, name: str) -> str:
        """Return a part of the payload as text; empty where it has none."""
        value = self.payload.get(name)
        return value if isinstance(value, str) else ""


class ReviewRows:
    """The rows of `reviews` of one owner, seen through a transaction."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner

    def hold(
        self, kind: ReviewKind, author: str, reason: str, payload: Mapping[str, object], at: datetime
    ) -> StoredReview:
        """Store a write that waits. The same one is stored once while it waits; once it was refused it stays so;
        and a fact that was decided on is not asked about again."""
        payload = {name: redact_json(value, name) for name, value in payload.items()}
        text = json.dumps(payload, ensure_ascii=False, sort_keys=True)
        known = self._tx.one(
            f"SELECT {_COLUMNS} FROM reviews WHERE owner = ? AND kind = ? AND payload = ? "
            "AND (state <> 'approved' OR kind = 'fact') ORDER BY id DESC LIMIT 1",
            *(self._owner, kind, text),
        )
        if known:
            return _review(known)
        row = self._tx.one(
            "INSERT INTO reviews (owner, at, kind, author, reason, payload, state) "
            "VALUES (?, ?, ?, ?, ?, ?, 'waiting') RETURNING id",
            *(self._owner, to_micros(at), kind, author, reason, text),
        )
        assert row, "the row was just stored"
        return StoredReview(row[0], at, kind, author, reason, payload, "waiting", None, "")

    def list(self, states: Sequence[ReviewState], limit: int) -> list[StoredReview]:
        """Return reviews in these states (none named: in any), newest first."""
        which = f" AND state IN ({', '.join('?' * len(states))})" if states else ""
        rows = self._tx.all(
            f"SELECT {_COLUMNS} FROM reviews WHERE owner = ?{which} ORDER BY id DESC LIMIT ?",
            self._owner,
            *states,
            limit,
        )
        return [_review(row) for row in rows]

    def waiting(self) -> int:
        """Return how many wait."""
        row = self._tx.one("SELECT count(*) FROM reviews WHERE owner = ? AND state = 'waiting'", self._owner)
        return int(row[0]) if row else 0

    def get(self, review_id: str) -> StoredReview:
        """Return the review of this id. Raise `ReviewNotFound` if there is none."""
        number = _ID.fullmatch(str(review_id).strip())
        row = (
            self._tx.one(f"SELECT {_COLUMNS} FROM reviews WHERE owner = ? AND id = ?", self._owner, int(number[1]))
            if number
            else None
        )
        if row is None:
            raise ReviewNotFound(
                f"No review has the id {review_id!r:.100}. See those that wait: lifelong review list"
            )
        return _review(row)

    def decide(self, number: int, state: ReviewState, by: str, at: datetime) -> None:
        """Store a decision. Raise `ReviewDecided` where there is one already."""
        rows = self._tx.all(
            "UPDATE reviews SET state = ?, decided_at = ?, decided_by = ? "
            "WHERE owner = ? AND id = ? AND state = 'waiting' RETURNING id",
            *(state, to_micros(at), by, self._owner, number),
        )
        if not rows:
            raise decided(self.get(f"v{number}"))

    def erase(self, records: Collection[int], holds_it: Callable[[str], bool]) -> None:
        """Delete what rests on these records or holds what was said in them, whether it waits or not. A request to
        forget stays as a decision, without its words."""
        rows = self._tx.all("SELECT id, kind, payload FROM reviews WHERE owner = ?", self._owner)
        held = [row for row in rows if holds_it(row[2])]
        resting = [
            row
            for row in rows
            if row[1] != "forget" and not {*map(int, _CITED.findall(row[2]))}.isdisjoint(records)
        ]
        gone = {row[0] for row in (*held, *resting) if row[1] != "forget"}
        self._tx.many("DELETE FROM reviews WHERE id = ?", [(id_,) for id_ in sorted(gone)])
        self._tx.many(
            "UPDATE reviews SET payload = '{}' WHERE id = ?", [(r[0],) for r in held if r[1] == "forget"]
        )


_COLUMNS = "id, at, kind, author, reason, payload, state, decided_at, decided_by"


def decided(review: StoredReview) -> ReviewDecided:
    """Return the error to raise where a review was decided before."""
    when = f" on {review.decided_at:%Y-%m-%d %H:%M} UTC" if review.decided_at else ""
    return ReviewDecided(
        f"v{review.number} was {review.state} by {review.decided_by}{when}. Nothing was changed. See what waits: "
        "lifelong review list"
    )


def _review(row: Row) -> StoredReview:
    number, at, kind, author, reason, payload, state, decided_at, decided_by = row
    return StoredReview(
        *(number, from_micros(at), kind, author, reason, json.loads(payload), state),
        *(from_optional_micros(decided_at), decided_by),
    )


def waits(review: Review) -> str:
    """Return what an agent is told whose write waits, or was refused before."""
    if review.state == "refused":
        return f"Not written: {review.decided_by} refused the same before ({review.id}). Do not ask again."
    return (
        f"Not written yet: it waits for a person's review as {review.id}, because it rests on your word alone. "
        "Tell the user; it is remembered once they approve it."
    )


def hold_facts(tx: Transaction, owner: str, author: str, held: Iterable[HeldFact], now: datetime) -> None:
    """Store the facts of a run that wait, each with the time at which it was said."""
    for path, title, fact in held:
        payload = {"text": fact.text, "where": path, "title": title, "fact": str(replace(fact, marker=""))}
        at = History(tx).said_at(owner, fact.records[0]) or now
        ReviewRows(tx, owner).hold("fact", author, INSTRUCTION, payload, at)


# What a person's records support


def _no_likeness(words: Sequence[str], evidence: Sequence[str]) -> Sequence[float]:
    """Without word vectors: another word for the same is not proof enough that a person said it."""
    return [0.0] * len(words)


def supported(tx: Transaction, owner: str, fact: Fact, document: Document) -> bool:
    """Return whether what a person said, in the owner's records that a fact of a document cites, says what the
    fact says; the person whom the fact names, or the owner where it names nobody."""
    from lifelong.organize.support import SupportCheck  # its tables take a while, and few processes need them

    cited = History(tx).of_owner(owner, fact.records).values()
    said = [
        one for one in cited if one.record.provenance == "user" and _is_speakers(tx, owner, one, fact, document)
    ]
    read = [(without_injected(getattr(one.record, "text", "")), one.at) for one in said]
    texts = [part for text, at in read for part in (text, with_dates_explained(text, at))]
    whole = " ".join(texts)
    if not texts or (count_negations(fact.text) > 0) != (count_negations(whole) > 0):
        return False
    shares = {word[:4] for word in content_words(fact.text)} & {word[:4] for word in content_words(whole)}
    return bool(shares) and not SupportCheck(_no_likeness).missing(fact.text, texts, (document.title,))


def _is_speakers(tx: Transaction, owner: str, said: StoredRecord, fact: Fact, document: Document) -> bool:
    """Return whether the person who said a record may have stated a fact that cites it. Of a quote, that is whom
    it names. Else it is the owner, whom the document is about, or with whose name the fact begins."""
    from lifelong.organize.identity import Identities  # as above
    from lifelong.organize.rules.subjects import display_name

    identities, agent_id = Identities(tx, owner), Agents(tx).of_record(owner, said.id)
    name = fold(plain_name(identities.speaker(getattr(said.record, "speaker", ""), agent_id)))
    own = {"", fold(display_name(owner))}
    if not identities.is_guest(agent_id):
        own.add(fold(identities.address(agent_id)))
    if name in own or identities.is_owner(agent_id):
        own.add(name)
        name = ""
    if fact.day and (named := fold(speaker_of(document, fact))):
        return named in own if not name else named == name
    return not name or fold(document.title) == name or f"{fold(fact.text)} ".startswith(f"{name} ")


def marked(
    tx: Transaction,
    owner: str,
    before: Document | None,
    after: Document,
    *,
    approved: str = "",
) -> str:
    """Return the later body with what is new in it and not supported by its records marked as the agent's word."""
    known = {*paragraphs(before.body)} if before else set()
    said = _current(before)
    made = Body(after.body)
    for at, part in enumerate(made.parts):
        fact = parse_fact(part)
        if fact and fact.text in said and part not in known:
            made.replace(at, str(replace(fact, source=said[fact.text].source, approved=said[fact.text].approved)))
        elif fact and part not in known:
            is_persons = not fact.inferred and fact.source in ("", "agent") and supported(tx, owner, fact, after)
            source = fact.source if fact.source in ("tool", "web") else "" if is_persons else "agent"
            whole = replace(fact, source=source, approved=approved if source == "agent" else "")
            if whole != fact:
                made.replace(at, str(whole))
    return str(made)


def _current(document: Document | None) -> dict[str, Fact]:
    """Return the current facts of a document by what they say."""
    facts = map(parse_fact, paragraphs(document.body)) if document else ()
    return {fact.text: fact for fact in facts if fact and fact.current}


# What an agent writes


class AgentDocuments:
    """The documents of a user as an agent reads and writes them. What binds and rests on the agent's word alone is
    not written, but given to `hold`, which stores it for review; without it, nothing waits."""

    def __init__(self, documents: DocumentStore, author: str, hold: HoldDocument | None = None) -> None:
        self._documents = documents
        self._author = author
        self._hold = hold

    def draft(self) -> Draft:
        """Return an empty draft, to read from."""
        return self._documents.draft()

    def write(self, **content: Unpack[DocumentContent]) -> Document | Review:
        """Make a document, or change one, as `Draft.write` does; or store that for review."""
        given = dict(content)
        if given.get("links") is not None:
            given["links"] = list(content["links"] or ())
        return self._put(lambda draft: draft.write(**content), content.get("document_id"), given)

    def edit(self, document_id: str, expected_version: int, **how: Unpack[TextEdit]) -> Document | Review:
        """Append a paragraph, or replace a text that occurs once, as `Draft.edit` does; or store that for
        review."""
        given = {"document_id": document_id, "expected_version": expected_version, **how}
        return self._put(lambda draft: draft.edit(document_id, expected_version, **how), document_id, given)

    def _put(
        self, change: Callable[[Draft], Document], document_id: str | None, given: Mapping[str, object]
    ) -> Document | Review:
        documents = self._documents
        draft = documents.draft()
        before = draft.read(document_id) if document_id else None
        after = change(draft)
        body = documents.database.read(lambda tx: marked(tx, documents.owner, before, after))
        reason = self._why_it_waits(before, replace(after, body=body)) if self._hold else ""
        if self._hold and reason:
            safe = {name: redact(one) if isinstance(one, str) else one for name, one in given.items()}
            payload = {
                "arguments": {name: one for name, one in safe.items() if one is not None},
                "text": next((safe[name] for name in ("body", "append", "replace") if safe.get(name)), ""),
                "where": after.path,
                "change": diff(before, after)[:MAX_DIFF_CHARS],
            }
            return self._hold(reason, payload)
        if body != after.body:
            draft.write(
                document_id=after.id, expected_version=after.version, slug=after.slug, title=after.title, body=body
            )
        return commit_as(documents, draft, after.id, author=self._author, trust="agent")

    def delete(self, document_id: str, expected_version: int) -> None:
        """Delete a document with those below it. Raise `InputError` where that would remove what a person said."""
        documents = self._documents
        for one in documents.walk(document_id) if self._hold else ():
            if documents.database.read(lambda tx, one=one: _says_less(tx, documents.owner, one, None)):  # type: ignore[misc]
                raise InputError(
                    f"{one.path} holds what a person said, and only a person removes that. Nothing was deleted. "
                    "Ask the user: lifelong forget"
                )
        documents.delete(document_id, expected_version, author=self._author, with_children=True)

    def _why_it_waits(self, before: Document | None, after: Document) -> str:
        """Return why a change must wait for a person; empty where it need not."""
        owner = self._documents.owner
        if before and self._documents.database.read(lambda tx: _says_less(tx, owner, before, after)):
            return LOSS
        return INSTRUCTION if new_binding(owner, before, after) else ""


def _says_less(tx: Transaction, owner: str, before: Document, after: Document | None) -> bool:
    """Return whether a fact that is a person's word is no longer current, or no longer theirs, after a change."""
    kept = {key for key, one in current_facts(after).items() if not one.fact.source} if after else set()
    gone = [one.fact for key, one in current_facts(before).items() if key not in kept]
    cites = {record for fact in gone if not (fact.source or fact.inferred) for record in fact.records}
    said = History(tx).of_owner(owner, sorted(cites)).values()
    return any(one.record.provenance in ("user", "system") for one in said)


def new_binding(owner: str, before: Document | None, after: Document) -> bool:
    """Return whether a change of a document puts a line in it that binds, and that no person's record supports:
    also as a title, a description or a heading."""
    from lifelong.organize.binding import binding_place, binds, person_named  # as above

    known = {*paragraphs(before.body)} if before else set()
    said = _current(before)
    person, place = person_named(owner), binding_place(after.path, owner)
    for part in paragraphs(after.body):
        fact = parse_fact(part)
        is_agents = fact is None or fact.source == "agent"
        if part in known or not is_agents or (fact and (not fact.current or fact.text in said)):
            continue
        text = fact.text if fact else part
        if (place and not part.startswith("#")) or binds(text, person):
            return True
    heads = [
        (after.title, before.title if before else ""),
        (after.description, before.description if before else ""),
    ]
    return any(new != old and binds(new, person) for new, old in heads)
