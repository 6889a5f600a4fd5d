"""The index made anew from what it was derived from: of a database that is older than recall, or after damage.

Three stretches may be left to do, each in small transactions, while everything else goes on: turns that are no
items yet (from history), then documents (from their versions), and items whose words are to be read again and
written to the full-text index (from what they say).
"""

from __future__ import annotations

import logging
from datetime import datetime
from itertools import groupby
from typing import Literal

from lifelong.collect.history import StoredTurn
from lifelong.organize.document_rows import DocumentRows
from lifelong.recall.analyzer import analyze
from lifelong.recall.experience_rows import refile_all
from lifelong.recall.feedback import apply_all
from lifelong.recall.index_writer import is_found, reindex_document, reindex_records, text_of
from lifelong.recall.items import Items
from lifelong.storage.base import EVERY, Row, Transaction
from lifelong.types import from_micros

log = logging.getLogger("lifelong.recall")

BATCH = 1_000
DOCUMENTS_AT_ONCE = 20  # each with all its versions; who writes documents waits as long
DERIVED = ("item_vectors", "items", "citations", "unfiled")
TURNS, WORDS, DOCUMENTS = 1, 2, 3

Fault = Literal["words", "missing"]
"""The newest item is not in the full-text index; there is no index of what was said."""


class IndexRebuild:
    """`unfiled`, seen through a transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def start_over(self) -> None:
        """Forget everything that is derived; all of history is to be filed again."""
        for statement in self._tx.words_anew:
            self._tx.run(statement)
        for table in DERIVED:
            self._tx.run(f"DELETE FROM {table}")
        self._tx.run("UPDATE shelves SET era = era + 1, embedder_id = NULL, coming_id = NULL, coming_until = 0")
        self._open(TURNS, "session_history")

    def rewrite_words(self) -> None:
        """Empty the full-text index, whatever is wrong with it; the words of all items are to be written again."""
        for statement in self._tx.words_anew:
            self._tx.run(statement)
        self._tx.run("DELETE FROM unfiled WHERE id = ?", WORDS)
        self._open(WORDS, "items")

    def probe(self) -> Fault | None:
        """What is wrong with the index at first sight. Raises where it cannot be read at all."""
        Items(self._tx, "").holding(0, 1)
        if self._tx.one("SELECT 1 FROM unfiled"):
            return None
        row = self._tx.one("SELECT id, owner, stems FROM items WHERE length > 0 ORDER BY id DESC LIMIT 1")
        if row and (len(row[2]) % 4 or not row[2]):
            return "missing"  # what the words are written from is damaged
        if row:
            newest = Items(self._tx, row[1]).holding(memoryview(row[2]).cast("I")[0], 1)
            return None if newest == [row[0]] else "words"
        if self._tx.one("SELECT 1 FROM items LIMIT 1"):
            return None
        return (
            "missing" if any(is_found(said.agent_kind, said.written) for _, said in self._said(0, EVERY)) else None
        )

    def left(self) -> int:
        """How many ids are still to be looked at."""
        row = self._tx.one("SELECT sum(until_id - after_id + 1) FROM unfiled")
        return int(row[0] or 0) if row else 0

    def do_some(self, now: datetime) -> None:
        """The next of each stretch; documents come after all turns, for they say what of these has ended."""
        for which, work in ((DOCUMENTS, self._file_documents), (TURNS, self._file), (WORDS, self._write)):
            row = self._tx.one(f"SELECT after_id, until_id FROM unfiled WHERE id = ?{self._tx.for_update}", which)
            if row:
                last = work(row[0], row[1], now)
                if last is None:
                    self._tx.run("DELETE FROM unfiled WHERE id = ?", which)
                else:
                    self._tx.run("UPDATE unfiled SET after_id = ? WHERE id = ?", last, which)

    def _file(self, after: int, until: int, now: datetime) -> int | None:
        """File the next records. The last id; none: that was all."""
        said = self._said(after, until)
        for owner, those in groupby(said, key=lambda one: one[0]):
            reindex_records(self._tx, owner, [one for _, one in those], now)
        if len(said) == BATCH:
            return said[-1][1].record_id
        every = "(SELECT DISTINCT owner, id FROM documents) d"
        self._tx.run(f"INSERT INTO unfiled SELECT {DOCUMENTS}, 0, count(*) FROM {every}")
        return None

    def _file_documents(self, after: int, until: int, now: datetime) -> int | None:
        """File the next documents, counted in the order of their ids: one that comes meanwhile files itself, and
        lets others be filed twice at worst. After the last, experiences, and what people said of anything."""
        rows = self._tx.all(
            "SELECT DISTINCT owner, id FROM documents ORDER BY owner, id LIMIT ? OFFSET ?",
            DOCUMENTS_AT_ONCE,
            after,
        )
        for owner, those in groupby(rows, key=lambda row: row[0]):
            documents = DocumentRows(self._tx, owner)
            documents.lock(now)
            for _, id_ in those:
                reindex_document(self._tx, owner, documents.versions(id_))
        if len(rows) == DOCUMENTS_AT_ONCE:
            return after + len(rows)
        refile_all(self._tx, now)
        apply_all(self._tx)
        return None

    def _write(self, after: int, until: int, now: datetime) -> int | None:
        """Read the next items again, for an older version may have read words otherwise, and write their words.
        With the last, whoever has items in memory is told to read them anew."""
        rows = self._tx.all(
            "SELECT id, owner, stems FROM items WHERE id > ? AND id <= ? ORDER BY id LIMIT ?", after, until, BATCH
        )
        if len(rows) < BATCH:
            self._tx.run("UPDATE shelves SET era = era + 1")
        for id_, owner, stored in rows:
            stems, text = bytes(stored), self._text(id_)
            if text and (seen := analyze(text)).stems.tobytes() != stems:
                stems = seen.stems.tobytes()
                self._tx.run("UPDATE items SET stems = ?, length = ? WHERE id = ?", stems, seen.length, id_)
            self._tx.run("DELETE FROM item_words WHERE rowid = ?", id_)
            Items(self._tx, owner).write_words([(id_, stems)])
        return int(rows[-1][0]) if len(rows) == BATCH else None

    def _text(self, item_id: int) -> str:
        """What an item says; nothing where its row cannot be read."""
        try:
            row = self._tx.one(
                "SELECT i.text, h.type, h.data FROM items i LEFT JOIN session_history h "
                "ON i.kind = 'record' AND h.id = i.record_id WHERE i.id = ?",
                item_id,
            )
        except UnicodeDecodeError:
            return ""
        return "" if row is None else text_of(row[1], row[2]) if row[1] else str(row[0])

    def _open(self, which: int, table: str) -> None:
        self._tx.run(f"INSERT INTO unfiled SELECT {which}, 0, COALESCE(max(id), 0) FROM {table}")

    def _said(self, after: int, until: int) -> list[tuple[str, StoredTurn]]:
        """The next records, each with its owner. One whose row is no text, or has no time, says nothing."""
        which = (
            "FROM session_history h JOIN sessions s ON s.id = h.session_id JOIN agents a ON a.id = s.agent_id "
            "WHERE h.id > ? AND h.id <= ? ORDER BY h.id LIMIT ?"
        )
        try:
            return [_said(row) for row in self._tx.all(f"{_SAID} {which}", after, until, BATCH)]
        except (UnicodeDecodeError, OverflowError):
            ids = [row[0] for row in self._tx.all(f"SELECT h.id {which}", after, until, BATCH)]
            return [self._one_said(id_, f"{_SAID} {which}") for id_ in ids]

    def _one_said(self, record_id: int, sql: str) -> tuple[str, StoredTurn]:
        try:
            return _said(self._tx.all(sql, record_id - 1, record_id, 1)[0])
        except (UnicodeDecodeError, OverflowError):
            log.warning("record %d cannot be read, and is not found", record_id)
            return "", StoredTurn(record_id, "", "", "", ("", "", 0, ""))


_SAID = "SELECT a.owner, h.id, h.session_id, a.id, a.kind, h.type, h.provenance, h.at, h.data, h.recorded_at"


def _said(row: Row) -> tuple[str, StoredTurn]:
    owner, id_, session_id, agent_id, kind, type_, provenance, at, data, recorded_at = row
    from_micros(at)  # which its item will need
    return owner, StoredTurn(
        id_, session_id, agent_id, kind, (type_, provenance, at, data), from_micros(recorded_at)
    )
