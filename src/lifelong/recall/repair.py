"""Notice damage of the index and repair it, rebuild it from what it is derived from, and verify it.

A rebuild makes every item again in its place, in small transactions: what was found before is found until then
and after, writes go on, and a process that is killed goes on where it was. Its parts: records (from history), then
documents (from their versions), then all items, whose text is analyzed again, written to the full-text index, and
queued for a new vector; the old vector serves until that is made. What belongs to nothing is deleted at the end.

Only a full-text index that is damaged is emptied first, and filled again item by item. `rebuild_progress` says how
far each part has come. A database that is older than recall begins with the first part.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypeVar

from lifelong.collect.erasures import hold_erasures
from lifelong.collect.history import IndexableRecord
from lifelong.errors import IndexCorrupt, LifelongError, StorageCorrupt, StorageError
from lifelong.organize.document_rows import DocumentRows
from lifelong.recall.analyzer import ASSISTANT, PERSON, SECRET, analyze
from lifelong.recall.ends import Ends
from lifelong.recall.experience_rows import reindex_all_experiences
from lifelong.recall.feedback import FeedbackRows, apply_all
from lifelong.recall.index_state import IndexStates
from lifelong.recall.index_writer import is_searchable, reindex_document, reindex_records, text_of
from lifelong.recall.items import Items, is_derived
from lifelong.recall.vocabulary import Vocabulary
from lifelong.redaction import redact
from lifelong.storage.base import NO_LIMIT, Database, Row, Transaction
from lifelong.types import from_micros

if TYPE_CHECKING:
    from lifelong.vectors.base import VectorPartition, Vectors

log = logging.getLogger("lifelong.recall")

ROWS_PER_BATCH = 1_000
DOCUMENTS_PER_BATCH = 20  # each with all its versions; writers of documents wait as long
RECORDS, WORDS, DOCUMENTS, REFRESH = 1, 2, 3, 4  # the ids of `rebuild_progress`

T = TypeVar("T")

Fault = Literal["words", "missing"]
"""The newest item is not in the full-text index; there is no index of what was said."""


class IndexRepair:
    """Look after the index of a whole home. Damage never stops anything from being stored or asked."""

    def __init__(self, database: Database, vectors: Callable[[str], Vectors]) -> None:
        self._database = database
        self._vectors = vectors
        self._noticed = ""

    def status_notes(self) -> list[str]:
        """Return what a person should know while a part of the index is still to be made, a sentence each."""
        try:
            remaining, is_whole = self._database.read(_progress)
        except StorageError:
            return []  # other calls report that better
        if not remaining:
            self._noticed = ""
            return []
        if is_whole:
            return [
                f"The search index is rebuilt in the background; {remaining:,} rows remain. Meanwhile search "
                "finds what it found before. Let a worker run, or run: lifelong rebuild."
            ]
        return [
            f"{self._noticed or 'The search index is not complete'}, and is rebuilt in the background. "
            "Until then search finds only a part: let a worker run, or run: lifelong rebuild. "
            "Nothing that was stored is lost."
        ]

    def check_on_open(self) -> None:
        """Notice an index that is damaged or missing, and begin to repair it. Quick: it reads a few rows."""
        if self._fault() == "missing":
            self._database.write(lambda tx: IndexRebuild(tx).fill())
            self._report("The search index was missing")
        else:
            self.repair_fulltext()

    def repair_fulltext(self, error: StorageError | None = None) -> bool:
        """Empty the full-text index if it is damaged, so that it is filled again. Return whether that was done.
        The quick look may miss a damaged part of the index: an `error` that came from it proves the damage."""
        if not isinstance(error, IndexCorrupt) and self._fault() != "words":
            return False
        try:
            self._database.write(lambda tx: IndexRebuild(tx).rewrite_words())
        except StorageError:
            return False
        self._report("The full-text index was damaged")
        return True

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Return what a read of the index returns. Where its full-text part is damaged, repair it and read
        again."""
        try:
            return self._database.read(work)
        except IndexCorrupt as error:
            if not self.repair_fulltext(error):
                raise
            return self._database.read(work)

    def rebuild(self) -> None:
        """Have the index worker make all that is derived again, item by item. What is there serves until then; but
        a full-text index that is damaged is emptied first."""
        try:
            self._database.write(lambda tx: IndexRebuild(tx).start())
        except StorageError as error:
            if not self.repair_fulltext(error):
                raise
            self._database.write(lambda tx: IndexRebuild(tx).start())
        for owner, identity in self._database.read(_partitions):
            try:
                self._remove_orphans(owner, _partition(owner, identity))
            except LifelongError as error:
                log.warning("vectors of user %s that belong to nothing were not deleted: %s", owner, error)

    def _remove_orphans(self, owner: str, partition: VectorPartition) -> None:
        """Delete vectors of items that are gone, from whatever store has them. No item is made under an old id."""
        vectors = self._vectors(owner)
        stored = vectors.ids(partition)
        if gone := self._database.read(lambda tx: IndexStates(tx).gone(stored)):
            vectors.remove(partition, gone)

    def outdate_files(self) -> None:
        """Have the files that were made of vectors made again: the database is not the one it was."""
        self._database.write(lambda tx: IndexRebuild(tx).outdate_files())

    def verify(self, owner: str) -> list[str]:
        """Read the whole index of an owner, and return what is wrong with it, a sentence each. Nothing is while a
        rebuild makes again what is there. Looks twice before anything is called wrong: the vectors are read after
        the items, and something may have been forgotten in between."""
        return self._look(owner) and self._look(owner)

    def _look(self, owner: str) -> list[str]:
        remaining, is_whole = self._database.read(_progress)
        if remaining and is_whole:
            return []
        if remaining:
            return [f"The index is being made: {remaining:,} rows remain. Let a worker run, and look again."]
        faults, (identity, ids) = self._database.read(lambda tx: (_faults(tx, owner), _embedded(tx, owner)))
        return faults + (self._vectors(owner).verify(_partition(owner, identity), ids) if identity else [])

    def _fault(self) -> Fault | None:
        """Return what is wrong. A database that is busy, full or away says nothing about the index."""
        first_message = ""
        for _ in range(2):
            try:
                return self._database.read(lambda tx: IndexRebuild(tx).probe())
            except StorageCorrupt:
                return "words"
            except StorageError as error:
                if type(error) is not StorageError or first_message not in ("", str(error)):
                    return None
                first_message = str(error)
        return "words"

    def _report(self, what: str) -> None:
        self._noticed = what
        log.error("%s; search goes on with what is left of it", what)


def _progress(tx: Transaction) -> tuple[int, bool]:
    """Return how many rows remain to be looked at, and whether all can be found meanwhile."""
    return IndexRebuild(tx).remaining(), IndexRebuild(tx).is_whole()


def _faults(tx: Transaction, owner: str) -> list[str]:
    missing = tx.all(
        "SELECT a.kind, h.type, h.provenance, h.at, h.data FROM session_history h "
        "JOIN sessions s ON s.id = h.session_id JOIN agents a ON a.id = s.agent_id "
        "LEFT JOIN items i ON i.owner = a.owner AND i.kind = 'record' AND i.ref = CAST(h.id AS TEXT) "
        "WHERE a.owner = ? AND i.id IS NULL",
        owner,
    )
    without_words = (
        "SELECT count(*) FROM items i LEFT JOIN item_words w ON w.rowid = i.id "
        "WHERE i.owner = ? AND i.length > 0 AND w.rowid IS NULL"
    )
    counts = {
        "records cannot be found": sum(is_searchable(row[0], row[1:]) for row in missing),
        "items are not in the full-text index": tx.all(without_words, owner)[0][0],
    }
    return [f"{count:,} {what}. Run: lifelong rebuild." for what, count in counts.items() if count]


def _embedded(tx: Transaction, owner: str) -> tuple[str, list[int]]:
    """Return whose vectors are in use, and the ids of the items that should have one."""
    states = IndexStates(tx)
    return states.identity(states.get(owner).embedder_id), states.with_vector(owner)


def _partitions(tx: Transaction) -> list[tuple[str, str]]:
    states = IndexStates(tx)
    return [(owner, identity) for owner in states.owners() for identity in states.identities()]


def _partition(owner: str, identity: str) -> VectorPartition:
    from lifelong.vectors.base import VectorPartition  # numpy takes a while, and few processes repair

    return VectorPartition(owner, identity)


class IndexRebuild:
    """`rebuild_progress`, seen through a transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def start(self) -> None:
        """Have everything that is derived made again in its place. Raise where the full-text index is damaged, and
        has to be emptied."""
        Items(self._tx, "").holding([0], 1)
        for statement in self._tx.check_fulltext:
            self._tx.run(statement)
        self._tx.run("DELETE FROM rebuild_progress WHERE id <> ?", WORDS)  # words that are missing still are
        self._open(RECORDS, "session_history")
        self._open(REFRESH, "items")

    def fill(self) -> None:
        """Have everything indexed that is not."""
        self._tx.run("DELETE FROM rebuild_progress")
        self._open(RECORDS, "session_history")
        self._open(WORDS, "items")

    def is_whole(self) -> bool:
        """Return whether all can be found: nothing is to be done, or only to be done again."""
        parts = {row[0] for row in self._tx.all("SELECT id FROM rebuild_progress")}
        return not parts or (REFRESH in parts and WORDS not in parts)

    def outdate_files(self) -> None:
        """Give each owner's vectors a version that no file has."""
        self._tx.run("UPDATE index_state SET version = ?", secrets.randbits(48))

    def rewrite_words(self) -> None:
        """Empty the full-text index, whatever is wrong with it; the words of all items are to be written again."""
        for statement in self._tx.reset_fulltext:
            self._tx.run(statement)
        self._tx.run("DELETE FROM rebuild_progress WHERE id = ?", WORDS)
        self._open(WORDS, "items")

    def write_words_of(self, first: int, last: int) -> None:
        """Have the words of the items with these ids written, beside whatever is to be written already."""
        self._tx.run(
            "INSERT INTO rebuild_progress AS r (id, after_id, until_id) VALUES (?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET "
            "after_id = CASE WHEN excluded.after_id < r.after_id THEN excluded.after_id ELSE r.after_id END, "
            "until_id = CASE WHEN excluded.until_id > r.until_id THEN excluded.until_id ELSE r.until_id END",
            *(WORDS, first - 1, last),
        )

    def probe(self) -> Fault | None:
        """Return what is wrong with the index at first sight. Raise where it cannot be read at all."""
        Items(self._tx, "").holding([0], 1)
        if self._tx.one("SELECT 1 FROM rebuild_progress"):
            return None
        row = self._tx.one("SELECT id, owner, stems FROM items WHERE length > 0 ORDER BY id DESC LIMIT 1")
        if row and (len(row[2]) % 4 or not row[2]):
            return "missing"  # the source of the words is damaged
        if row:
            newest = Items(self._tx, row[1]).holding([memoryview(row[2]).cast("I")[0]], 1)
            return None if newest == [row[0]] else "words"
        if self._tx.one("SELECT 1 FROM items LIMIT 1"):
            return None
        searchable = any(is_searchable(one.agent_kind, one.written) for _, one in self._records(0, NO_LIMIT))
        return "missing" if searchable else None

    def remaining(self) -> int:
        """Return how many rows are still to be looked at."""
        row = self._tx.one("SELECT sum(until_id - after_id + 1) FROM rebuild_progress")
        return int(row[0] or 0) if row else 0

    def run_batch(self, now: datetime) -> None:
        """Do the next batch of each part. Documents follow all records, since they say which of these ended; the
        items are made again when all are there."""
        parts = ((DOCUMENTS, self._index_documents), (RECORDS, self._index_records), (WORDS, self._write_words))
        under_way = self._tx.all("SELECT id FROM rebuild_progress")
        for part, work in parts if under_way != [(REFRESH,)] else ((REFRESH, self._refresh),):
            row = self._tx.one(
                f"SELECT after_id, until_id FROM rebuild_progress WHERE id = ?{self._tx.for_update}", part
            )
            if row:
                last = work(row[0], row[1], now)
                if last is None:
                    self._tx.run("DELETE FROM rebuild_progress WHERE id = ?", part)
                else:
                    self._tx.run("UPDATE rebuild_progress SET after_id = ? WHERE id = ?", last, part)

    def _index_records(self, after: int, until: int, now: datetime) -> int | None:
        """Index the next records. Return the last id, or none where that was all."""
        records = self._unforgotten(lambda: self._records(after, until), lambda one: one[0])
        for owner, those in groupby(records, key=lambda one: one[0]):
            if owner:
                reindex_records(self._tx, owner, [one for _, one in those], now)
            else:
                self._erase_unreadable([one.record_id for _, one in those])
        for owner in {one[0] for one in records} - {""}:
            FeedbackRows(self._tx, owner).apply()
        if len(records) == ROWS_PER_BATCH:
            return records[-1][1].record_id
        every = "(SELECT DISTINCT owner, id FROM documents) d"
        self._tx.run(f"INSERT INTO rebuild_progress SELECT {DOCUMENTS}, 0, count(*) FROM {every}")
        return None

    def _erase_unreadable(self, records: Iterable[int]) -> None:
        """Delete the items of records that cannot be read any more, whosever they are."""
        for record in records:
            for owner, id_ in self._tx.all(
                "SELECT owner, id FROM items WHERE kind = 'record' AND ref = ?", str(record)
            ):
                Items(self._tx, owner).erase([id_])

    def _index_documents(self, after: int, until: int, now: datetime) -> int | None:
        """Index the next documents, counted in the order of their ids: one that is made meanwhile indexes itself,
        and at worst lets others be indexed twice. After the last, index experiences, and apply feedback."""
        rows = self._tx.all(
            "SELECT DISTINCT owner, id FROM documents ORDER BY owner, id LIMIT ? OFFSET ?",
            DOCUMENTS_PER_BATCH,
            after,
        )
        for owner, those in groupby(rows, key=lambda row: row[0]):
            documents = DocumentRows(self._tx, owner)
            documents.lock(now)
            for _, id_ in those:
                Ends(self._tx, owner).remove_document(id_)
                reindex_document(self._tx, owner, documents.versions(id_))
            FeedbackRows(self._tx, owner).apply()
        if len(rows) == DOCUMENTS_PER_BATCH:
            return after + len(rows)
        reindex_all_experiences(self._tx, now)
        apply_all(self._tx)
        return None

    def _write_words(self, after: int, until: int, now: datetime) -> int | None:
        """Analyze the next items again, since an older version may have done it otherwise, and write their
        words."""
        rows = self._unforgotten(
            lambda: self._tx.all(
                "SELECT id, owner, stems, flags, length, kind, record_id FROM items WHERE id > ? AND id <= ? "
                "ORDER BY id LIMIT ?",
                *(after, until, ROWS_PER_BATCH),
            ),
            lambda row: row[1],
        )
        for id_, owner, stored, flags, length, kind, record in rows:
            stems, text = bytes(stored), self._text(id_)
            if text:
                analyzed = analyze(text)
                flags_now = analyzed.flags | flags & (PERSON | ASSISTANT | SECRET)
                made = analyzed.stems.tobytes(), flags_now, analyzed.length
                if made != (stems, flags, length):
                    self._tx.run("UPDATE items SET stems = ?, flags = ?, length = ? WHERE id = ?", *made, id_)
                stems = made[0]
            self._tx.run("DELETE FROM item_words WHERE rowid = ?", id_)
            Items(self._tx, owner).write_words([(id_, stems, is_derived(kind, record))])
            Vocabulary(self._tx, owner).add([redact(text)])
        return int(rows[-1][0]) if len(rows) == ROWS_PER_BATCH else None

    def _refresh(self, after: int, until: int, now: datetime) -> int | None:
        """Make the next items again: their words now, their vectors when the index worker comes to them; the old
        ones serve until then. After the last, delete what belongs to nothing, and outdate the files of vectors."""
        last = self._write_words(after, until, now)
        rows = self._tx.all(
            "SELECT id, owner FROM items WHERE id > ? AND id <= ?", after, until if last is None else last
        )
        states = IndexStates(self._tx)
        for owner in sorted({row[1] for row in rows}):
            state = states.lock(owner)
            requeued = states.requeue([id_ for id_, whose in rows if whose == owner])
            # The mean of the old vectors serves until the first of the new are counted.
            of = 0 if state.first_item > after else state.mean_of
            size = max(0, state.size - len(states.not_derived(requeued)))
            states.set(owner, state._replace(size=size, mean_of=of))
        self._delete_orphans(after, NO_LIMIT if last is None else last)
        if last is None:
            self._tx.run("UPDATE index_state SET version = version + 1")
        return last

    def _delete_orphans(self, after: int, until: int) -> None:
        """Delete items whose record or document is gone, and words and vectors whose item is, with these ids."""
        sources = {
            "record": "session_history s WHERE s.id = i.record_id",
            "fact": "documents s WHERE s.owner = i.owner AND s.id = i.thread",
        }
        for kind, source in sources.items():
            rows = self._tx.all(
                "SELECT i.owner, i.id FROM items i WHERE i.id > ? AND i.id <= ? "
                f"AND i.kind = '{kind}' AND NOT EXISTS (SELECT 1 FROM {source}) ORDER BY i.owner",
                *(after, until),
            )
            for owner, those in groupby(rows, key=lambda row: row[0]):
                Items(self._tx, owner).erase([row[1] for row in those])
        self._tx.run(
            "DELETE FROM item_words WHERE rowid > ? AND rowid <= ? "
            "AND rowid NOT IN (SELECT id FROM items WHERE id > ? AND id <= ?)",
            *(after, until, after, until),
        )
        # by embedder, since the index on vectors begins with it
        self._tx.run(
            "DELETE FROM item_vectors WHERE embedder_id IN (SELECT id FROM embedders) "
            "AND item_id > ? AND item_id <= ? AND item_id NOT IN (SELECT id FROM items WHERE id > ? AND id <= ?)",
            *(after, until, after, until),
        )

    def _unforgotten(self, read: Callable[[], list[T]], owner_of: Callable[[T], str]) -> list[T]:
        """Return rows of which nothing is forgotten until the transaction ends: read, lock, and read again where
        something was forgotten in between."""
        rows = read()
        for owner in sorted({owner_of(row) for row in rows} - {""}):
            hold_erasures(self._tx, owner)
        return read() if self._tx.for_update else rows

    def _text(self, item_id: int) -> str:
        """Return the text of an item; empty where its row cannot be read."""
        try:
            row = self._tx.one(
                "SELECT i.text, h.type, h.data FROM items i LEFT JOIN session_history h "
                "ON i.kind = 'record' AND h.id = i.record_id WHERE i.id = ?",
                item_id,
            )
        except UnicodeDecodeError:
            return ""
        return "" if row is None else text_of(row[1], row[2]) if row[1] else str(row[0])

    def _open(self, part: int, table: str) -> None:
        self._tx.run(f"INSERT INTO rebuild_progress SELECT {part}, 0, COALESCE(max(id), 0) FROM {table}")

    def _records(self, after: int, until: int) -> list[tuple[str, IndexableRecord]]:
        """Return the next records, each with its owner. One that cannot be decoded, or has no time, is empty."""
        which = (
            "FROM session_history h JOIN sessions s ON s.id = h.session_id JOIN agents a ON a.id = s.agent_id "
            "WHERE h.id > ? AND h.id <= ? ORDER BY h.id LIMIT ?"
        )
        try:
            return [_record(row) for row in self._tx.all(f"{_RECORDS} {which}", after, until, ROWS_PER_BATCH)]
        except (UnicodeDecodeError, OverflowError):
            ids = [row[0] for row in self._tx.all(f"SELECT h.id {which}", after, until, ROWS_PER_BATCH)]
            return [self._one_record(id_, f"{_RECORDS} {which}") for id_ in ids]

    def _one_record(self, record_id: int, sql: str) -> tuple[str, IndexableRecord]:
        try:
            return _record(self._tx.all(sql, record_id - 1, record_id, 1)[0])
        except (UnicodeDecodeError, OverflowError):
            log.warning("record %d cannot be read, and is not found", record_id)
            return "", IndexableRecord(record_id, "", "", "", ("", "", 0, ""))


_RECORDS = "SELECT a.owner, h.id, h.session_id, a.id, a.kind, h.type, h.provenance, h.at, h.data, h.recorded_at"


def _record(row: Row) -> tuple[str, IndexableRecord]:
    owner, id_, session_id, agent_id, kind, type_, provenance, at, data, recorded_at = row
    from_micros(at)  # raises here, and not when its item is made
    return owner, IndexableRecord(
        id_, session_id, agent_id, kind, (type_, provenance, at, data), from_micros(recorded_at)
    )
