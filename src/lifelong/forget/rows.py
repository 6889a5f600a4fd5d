"""Take records out of the database, and out of all that was made of them there. Everything happens in the caller's
transaction, so that a preview can be had by rolling it back."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from lifelong.collect.agents import Agents
from lifelong.collect.descriptors import MemoryAgent
from lifelong.collect.erasures import count_erasure
from lifelong.collect.history import History, IndexableRecord, RecordRow, cleaned_original
from lifelong.collect.sessions import Sessions
from lifelong.collect.tombstones import Tombstones
from lifelong.forget.documents import DocumentErasure, RecordTexts, changeset_of, erase_items
from lifelong.forget.plan import (
    FORGOTTEN,
    LABELS,
    ErasurePlan,
    ForgottenText,
    WordFinder,
    sentences_of,
    text_in,
    words_of,
)
from lifelong.organize.document_rows import MEMORY_ID, DocumentRows
from lifelong.organize.facts import TITLES
from lifelong.organize.inbox import Inbox
from lifelong.organize.review import ReviewRows
from lifelong.recall.analyzer import analyze
from lifelong.recall.index_writer import reindex_records, text_of
from lifelong.recall.items import FoundItem, Items
from lifelong.storage.base import Transaction
from lifelong.text.words import fold
from lifelong.types import CARRYING_AGENTS, ORIGINAL, from_micros

FIRST_HOLDERS = 4  # items with the same word that are read first
HOLDERS_FACTOR = 8  # by which more are read, where these do not tell
FOLLOWING = 3  # records after a forgotten one, whose facts may quote it as the question that they answer

MIN_KNOWN_WORDS = 3  # of a text that is known where another repeats it; a shorter one must be the same

MakeTranscript = Callable[[Transaction, str, int, int], str]
"""Returns the transcript of a session's records (after, until]; empty where nothing is left."""


class ForgottenRecord(NamedTuple):
    """A record that goes, or loses a part: its number, its session, its agent, its row, and what it said."""

    id: int
    session_id: str
    agent_id: str
    agent_kind: str
    recorded_at: int
    row: RecordRow
    text: str


@dataclass(slots=True)
class ErasedRows:
    """What went from the database: records by number, those that lost a part, documents that went and that were
    written again, by path; facts by their texts."""

    records: list[int] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)
    rewritten: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    experiences: list[str] = field(default_factory=list)
    recalls: int = 0


class RowErasure:
    """Erase from the rows of one owner."""

    def __init__(
        self, tx: Transaction, owner: str, author: str, now: datetime, make_transcript: MakeTranscript
    ) -> None:
        self._tx = tx
        self._owner = owner
        self._author = author
        self._now = now
        self._make_transcript = make_transcript
        self._items = Items(tx, owner)
        self._documents = DocumentErasure(tx, owner)

    def erase(self, plan: ErasurePlan, records: Mapping[int, str]) -> ErasedRows:
        """Erase these of the plan's records, and the documents and facts that it names. What is left to do, in
        files and vectors, is added to the plan."""
        found = self._load(records)
        named = [] if plan.turns else [*plan.sentences]  # by the plan itself: looked for with the first records
        self._lock(found)
        changed = {one.id: records[one.id] for one in found}
        erased = ErasedRows(
            sorted(id_ for id_, left in changed.items() if not left),
            sorted(id_ for id_, left in changed.items() if left),
        )
        texts, new = (
            self._texts(found, changed),
            sentences_of((one.text, changed[one.id]) for one in _spoken(found)),
        )
        plan.sentences = [*dict.fromkeys([*plan.sentences, *new])]
        at = DocumentRows(self._tx, self._owner).lock(self._now)
        count_erasure(self._tx, self._owner)
        concerned = self._documents.concerned([*changed, *self._following(found)])
        concerned |= {ref.partition("#")[0] for ref in plan.facts}
        paths = self._paths(concerned | {*plan.documents})
        facts = self._facts_in(concerned | {*plan.documents})
        done = self._documents.erase(concerned, plan.documents, plan.facts, texts)
        self._erase_records(found, changed)
        left = {fold(word) for word in words_of(changed.values())}
        words, refs, experiences = self._only_here(
            (word for word in words_of([*(one.text for one in _spoken(found)), *named]) if fold(word) not in left),
            plan,
        )
        plan.experiences = sorted({*plan.experiences, *experiences})
        self._clean_originals(found, changed, words, [*named, *new])
        again = self._documents.erase({ref.partition("#")[0] for ref in refs}, (), refs, texts)
        gone, rewritten = {*done.gone, *again.gone}, {*done.rewritten, *again.rewritten}
        self._documents.rename(self._named_by(words, rewritten))
        ids = {*done.items, *again.items}
        keys = {*done.keys, *again.keys, *(f"record:{one.id}" for one in found)}
        ids |= {*self._items.ids_of("record", [str(one.id) for one in found])}
        shown = self.ids_shown(ids) | {f"r{record}" for record in changed}
        erase_items(self._tx, self._owner, ids, keys)
        self._index_again(found, changed)
        self._documents.commit(rewritten - gone, changeset_of(self._owner, self._author, at))
        self._rewrite_transcripts(found)
        self._clean_notes(found, words)
        erased.recalls = self.clean_log(shown, words)
        sentences = [*named, *new, *(text for ref, text in facts.items() if f"fact:{ref}" in keys)]
        telling = ForgottenText(sentences, words)
        ReviewRows(self._tx, self._owner).erase(erased.records, telling.is_in)
        Tombstones(self._tx, self._owner).add("document", gone, self._author, self._now)
        erased.documents = sorted(paths.get(id_, id_) for id_ in gone)
        erased.rewritten = sorted(paths.get(id_, id_) for id_ in rewritten - gone)
        erased.facts = sorted({text for ref, text in facts.items() if f"fact:{ref}" in keys})
        plan.items = sorted({*plan.items, *ids})
        plan.words = sorted({*plan.words, *words})
        for one in found:
            plan.turns.setdefault(one.session_id, []).append(one.id)
        return erased

    def erase_places(self, sessions: Collection[str], agents: Collection[str]) -> None:
        """Delete sessions and agents whose records are gone, with all that belongs to them. One in which something
        was said since stays."""
        keepers = "SELECT s.id FROM sessions s JOIN agents a ON a.id = s.agent_id WHERE a.kind = 'memory-agent' "
        for session_id in sessions:
            is_keepers = self._tx.one(f"{keepers} AND s.id = ?", session_id)
            if not is_keepers and self._tx.one("SELECT 1 FROM session_history WHERE session_id = ?", session_id):
                continue
            for table in ("session_history", "turns", "journal_progress", "inbox"):
                self._tx.run(f"DELETE FROM {table} WHERE session_id = ?", session_id)
            self._tx.run("DELETE FROM sessions WHERE id = ?", session_id)
        for agent_id in agents:
            if self._tx.one("SELECT 1 FROM sessions WHERE agent_id = ?", agent_id):
                continue
            for table in ("inbox", "append_keys"):
                self._tx.run(f"DELETE FROM {table} WHERE agent_id = ?", agent_id)
            self._tx.run("DELETE FROM agents WHERE id = ? AND owner = ?", agent_id, self._owner)
        Tombstones(self._tx, self._owner).add("session", sessions, self._author, self._now)
        Tombstones(self._tx, self._owner).add("agent", agents, self._author, self._now)

    def erase_recalls(self, until: int) -> int:
        """Delete the searches from the log that are older. Return how many."""
        return self._tx.run("DELETE FROM recalls WHERE owner = ? AND at < ?", self._owner, until)

    def erase_experiences(self, ids: Collection[str]) -> None:
        """Delete experiences, with their items."""
        items = self._items.ids_of("experience", ids)
        erase_items(self._tx, self._owner, items, [f"experience:{id_}" for id_ in ids])
        self._tx.many(
            "DELETE FROM experiences WHERE owner = ? AND id = ?", [(self._owner, id_) for id_ in sorted(ids)]
        )
        self._end_nothing("experience", ids)

    def _end_nothing(self, kind: str, refs: Iterable[str]) -> None:
        self._tx.many(
            "DELETE FROM ends WHERE owner = ? AND kind = ? AND ref = ?", [(self._owner, kind, ref) for ref in refs]
        )

    # Records

    def _load(self, records: Iterable[int]) -> list[ForgottenRecord]:
        rows = self._tx.many(
            "SELECT h.id, h.session_id, s.agent_id, a.kind, h.recorded_at, h.type, h.provenance, h.at, h.data "
            "FROM session_history h JOIN sessions s ON s.id = h.session_id JOIN agents a ON a.id = s.agent_id "
            "WHERE a.owner = ? AND h.id = ?",
            [(self._owner, record) for record in records],
        )
        return [
            ForgottenRecord(id_, session_id, agent, kind, stored, (type_, by, at, data), text_in(type_, data))
            for id_, session_id, agent, kind, stored, type_, by, at, data in rows
        ]

    def _lock(self, found: Sequence[ForgottenRecord]) -> None:
        """Lock the agents, and those that organize what they said: none of them commits meanwhile."""
        agents = {one.agent_id for one in found}
        keepers = (Agents(self._tx).find(self._owner, MemoryAgent(one)) for one in agents)
        Agents(self._tx).lock({*agents, *(one.id for one in keepers if one)})
        for session_id in sorted({one.session_id for one in found}):
            Sessions(self._tx).find_for_update(session_id)

    def _texts(self, found: Sequence[ForgottenRecord], changed: Mapping[int, str]) -> RecordTexts:
        """Return what the records say that facts of the concerned documents may cite."""
        before = {one.id: one.text for one in found}
        cited = self._documents.cited_by(self._documents.concerned(changed)) - changed.keys()
        others = {one.id: text_of(one.row[0], one.row[3]) for one in self._load(cited)}
        return RecordTexts(changed, before, others)

    def _following(self, found: Sequence[ForgottenRecord]) -> set[int]:
        rows = self._tx.many(
            "SELECT id FROM session_history WHERE session_id = ? AND id > ? ORDER BY id LIMIT ?",
            [(one.session_id, one.id, FOLLOWING) for one in found],
        )
        return {row[0] for row in rows}

    def _erase_records(self, found: Sequence[ForgottenRecord], changed: Mapping[int, str]) -> None:
        gone = [one for one in found if not changed[one.id]]
        tombstones, cut = Tombstones(self._tx, self._owner), [one for one in found if changed[one.id]]
        tombstones.add_records([(one.id, one.row) for one in gone], self._author, self._now)
        tombstones.add_parts([(one.id, one.row) for one in cut], self._author, self._now)
        self._tx.many("DELETE FROM session_history WHERE id = ?", [(one.id,) for one in gone])
        self._tx.many(
            "UPDATE session_history SET data = ? WHERE id = ?",
            [(_with_text(one.row[3], left), one.id) for one in found if (left := changed[one.id])],
        )
        for session_id in {one.session_id for one in found}:
            Sessions(self._tx).forget_failures(session_id)
        every = [(one.id,) for one in found]
        self._tx.many("UPDATE append_keys SET digest = '' WHERE record_id = ?", every)
        self._tx.many(
            "DELETE FROM citations WHERE owner = ? AND record_id = ?", [(self._owner, o.id) for o in gone]
        )
        self._tx.many(
            "DELETE FROM ends WHERE owner = ? AND kind <> 'fact' AND by_record = ?",
            [(self._owner, one.id) for one in gone],
        )
        self._tx.many(
            "DELETE FROM corrections WHERE owner = ? AND record_id = ?", [(self._owner, one.id) for one in gone]
        )
        self._end_nothing("record", [str(one.id) for one in gone])

    def _clean_originals(
        self,
        found: Sequence[ForgottenRecord],
        changed: Mapping[int, str],
        words: Collection[str],
        sentences: Iterable[str],
    ) -> None:
        """Clean the messages that records carry for frameworks: one may hold what several records said, or repeat
        what others said. What a record that stays says itself, stays in its message."""
        left = {one.text: changed[one.id] for one in found if changed[one.id]}
        texts = {" ".join(text.split()) for text in (*(one.text for one in found), *sentences)} - {""}
        long = [text for text in texts if len(text.split()) >= MIN_KNOWN_WORDS]
        telling, sessions = WordFinder(words), {one.session_id for one in found}
        carrying = Sessions(self._tx).of_agents(self._owner, CARRYING_AGENTS)
        rows = self._tx.many(
            "SELECT id, session_id, type, data FROM session_history WHERE session_id = ? AND data LIKE ?",
            [(one, f'%"{ORIGINAL}":%') for one in sorted({*sessions, *carrying})],
        )
        for id_, session_id, type_, data in rows:
            own = "" if id_ in changed else " ".join(text_in(type_, data).split())

            def clean(text: str, said: str = own, here: bool = session_id in sessions) -> str:
                flat = " ".join(text.split())
                if (whole := left.get(text.strip())) is not None:
                    return whole
                if said and flat in said:
                    return text
                known = [one for one in long if one in flat and one not in said]
                repeats = (here and not said and flat in texts) or known or telling.is_in(text)
                return FORGOTTEN if repeats else text

            if (cleaned := cleaned_original(data, clean)) != data:
                self._tx.run("UPDATE session_history SET data = ? WHERE id = ?", cleaned, id_)

    def _index_again(self, found: Sequence[ForgottenRecord], changed: Mapping[int, str]) -> None:
        left = [
            IndexableRecord(
                *(one.id, one.session_id, one.agent_id, one.agent_kind),
                (*one.row[:3], _with_text(one.row[3], changed[one.id])),
                from_micros(one.recorded_at),
            )
            for one in found
            if changed[one.id]
        ]
        if left:
            reindex_records(self._tx, self._owner, left, self._now)

    # What only they held

    def _only_here(self, words: Iterable[str], plan: ErasurePlan) -> tuple[list[str], set[str], set[str]]:
        """Return the words that nothing else holds which was not made from records, and what holds them that was:
        the refs of facts and of experiences."""
        going = {("record", str(record)) for record, left in plan.records.items() if not left}
        for kind, refs in (("fact", plan.facts), ("experience", plan.experiences)):
            going |= {(kind, ref) for ref in refs}
        for kind in ("journal", "note"):
            going |= {(kind, ref) for ref in (*plan.lines, *plan.paragraphs)}
        names = self._names()
        found: list[str] = []
        made: set[tuple[str, str]] = set()
        for word in words:
            if fold(word) in names or not len(analyze(word).stems):  # a common word is in no index
                continue
            holders: list[FoundItem] = []
            for one in self._holding(word):
                if not _is_made(one) and (one.kind, one.ref) not in going:
                    break
                holders.append(one)
            else:
                found.append(word)
                made |= {(one.kind, one.ref.partition("@")[0]) for one in holders if one.record_id}
        facts, experiences = ({ref for kind, ref in made if kind == wanted} for wanted in ("fact", "experience"))
        return found, facts, experiences

    def _names(self) -> set[str]:
        """Return the words of what speakers, agents and the categories of documents are called. A category may be
        anywhere, where somebody is called like it."""
        rows = self._tx.all("SELECT descriptor || ' ' || kind FROM agents WHERE owner = ?", self._owner)
        rows += self._tx.all(
            "SELECT title || ' ' || description FROM documents WHERE owner = ? AND parent_id IN ('', ?)",
            *(self._owner, MEMORY_ID),
        )
        speakers = self._items.speakers()
        names = [
            *LABELS,
            *speakers,
            *(one[:100] for one in speakers),
            *(row[0] for row in rows),
            *(text for texts in TITLES.values() for text in texts),
        ]  # cut in the journal
        return {form for word in words_of(names) for form in (fold(word), *fold(word).split("-"))}

    def _holding(self, word: str) -> Iterator[FoundItem]:
        """Give the items that hold a word, as it is written but for its case: first records, then what was made of
        them, the newest first. Few are read first, since one is often enough, and all if it must be: a word counts
        as forgotten only where nothing that stays holds it."""
        stems, folded = [int(stem) for stem in analyze(word).stems], fold(word)
        for derived in (False, True) if stems else ():
            known, most = 0, FIRST_HOLDERS
            while True:
                ids = self._items.newest_holding(stems, most, derived=derived)
                some = ids[known:]
                for one in self._items.get(some).values() if some else ():
                    if folded in fold(one.text or text_of(one.type, one.data)):
                        yield one
                if len(ids) < most:
                    break
                known, most = len(ids), most * HOLDERS_FACTOR

    def _named_by(self, words: Collection[str], documents: Iterable[str]) -> list[str]:
        """Return those of the documents whose title, description or slug holds such a word."""
        rows = self._tx.many(
            "SELECT id, title, description, slug FROM documents WHERE owner = ? AND id = ?",
            [(self._owner, id_) for id_ in documents],
        )
        named = WordFinder(words)
        return sorted({id_ for id_, *names in rows if named.is_in(" ".join(names))})

    def clean_words(self, words: Iterable[str]) -> None:
        """Delete those of the words from the vocabulary that nothing holds any more."""
        gone = [word for word in words if not any(True for _ in self._holding(word))]
        self._tx.many("DELETE FROM words WHERE owner = ? AND word = ?", [(self._owner, word) for word in gone])

    # What was written about them

    def _rewrite_transcripts(self, found: Sequence[ForgottenRecord]) -> None:
        """Write transcripts that wait without what was forgotten. A run that has one loses its lease."""
        items = {
            row
            for one in found
            for row in self._tx.all(
                "SELECT id, agent_id, session_id, after_id, until_id FROM inbox WHERE session_id = ? "
                "AND after_id < ? AND until_id >= ? AND state <> 'done'",
                *(one.session_id, one.id, one.id),
            )
        }
        for item_id, agent_id, session_id, after, until in sorted(items):
            text = self._make_transcript(self._tx, session_id, after, until)
            Inbox(self._tx).rewrite(item_id, agent_id, text, self._now)

    def _clean_notes(self, found: Sequence[ForgottenRecord], words: Collection[str]) -> None:
        """Clean what runs noted: in changesets, in the sessions of memory-agents, and in errors."""
        if not words:
            return
        telling = WordFinder(words)
        notes = self._tx.all("SELECT id, note FROM changesets WHERE owner = ? AND note <> ''", self._owner)
        self._tx.many(
            "UPDATE changesets SET note = ? WHERE id = ?",
            [("Something was forgotten.", id_) for id_, note in notes if telling.is_in(note)],
        )
        for agent_id in {one.agent_id for one in found}:
            keeper = Agents(self._tx).find(self._owner, MemoryAgent(agent_id))
            for session in Sessions(self._tx).of_agent(keeper.id) if keeper else ():
                for recorded in History(self._tx).find_since_id(session.id, 0):
                    if telling.is_in(getattr(recorded.record, "text", "")):
                        self._tx.run(
                            "UPDATE session_history SET data = ? WHERE id = ?",
                            *(json.dumps({"text": FORGOTTEN}), recorded.id),
                        )
        rows = self._tx.all("SELECT id, error FROM ledger WHERE owner = ? AND error <> ''", self._owner)
        self._tx.many(
            "UPDATE ledger SET error = ? WHERE id = ?",
            [(FORGOTTEN, id_) for id_, error in rows if telling.is_in(error)],
        )

    def ids_shown(self, ids: Iterable[int]) -> set[str]:
        """Return the ids of items as people see them, and as the log of searches has them."""
        return {self._items.shown_id(one) for one in self._items.get(sorted(ids)).values()}

    def clean_log(self, ids: Collection[str], words: Collection[str]) -> int:
        """Delete the searches from the log that asked for such words, or found one of these. Return how many."""
        telling = WordFinder(words)
        rows = self._tx.all("SELECT id, question, hits FROM recalls WHERE owner = ?", self._owner)
        gone = [
            (id_,)
            for id_, question, hits in rows
            if telling.is_in(question) or any(hit[0] in ids for hit in json.loads(hits))
        ]
        self._tx.many("DELETE FROM recalls WHERE id = ?", gone)
        return len(gone)

    # What is shown

    def _paths(self, documents: Iterable[str]) -> dict[str, str]:
        found = (DocumentRows(self._tx, self._owner).find(one) for one in documents)
        return {one.id: one.path for one in found if one}

    def _facts_in(self, documents: Iterable[str]) -> dict[str, str]:
        rows = self._tx.many(
            "SELECT document_id, fact, sentence FROM facts WHERE owner = ? AND document_id = ?",
            [(self._owner, one) for one in documents],
        )
        return {f"{row[0]}#{row[1]}": row[2] for row in rows}


def _is_made(one: FoundItem) -> bool:
    """Return whether an item was made from records: it is no source of its own."""
    match one.kind:
        case "record" | "note":
            return False
        case "fact" | "experience":
            return one.record_id is not None
        case _:
            return one.ref.startswith(("turn-", "compaction-", "LONGMEMORY.md#"))


def _spoken(found: Iterable[ForgottenRecord]) -> list[ForgottenRecord]:
    """Return those in which something was said; a memory-agent's notes of its work are in words of ours."""
    return [one for one in found if one.agent_kind != "memory-agent"]


def _with_text(data: str, text: str) -> str:
    return json.dumps(json.loads(data) | {"text": text}, ensure_ascii=False, separators=(",", ":"))
