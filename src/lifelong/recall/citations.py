"""The rows of `citations`: which records the documents of an owner cite, and whether that still holds.

What a document cites no longer stays, under no document: of a fact that held, when it last did (`end_known`);
of one that had ended, since when that was known. So an end is known since then wherever its fact is moved to, in
whatever order documents are filed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Set
from datetime import datetime
from typing import NamedTuple

from lifelong.storage.base import Transaction
from lifelong.types import from_micros, to_micros


class Cited(NamedTuple):
    """A record that a document cites. `until` is when the fact stopped being true, and `by_record` what says so;
    0: it holds, or nothing does."""

    record_id: int
    until: int
    by_record: int


class End(NamedTuple):
    """Of a record of which every fact has ended: when the first did, since when that is known and none held, and
    what says so. Of one of which only some have, there is no `until`: a part of it has ended."""

    record_id: int
    until: datetime | None
    known: datetime
    by_record: int | None


class Citations:
    """What the documents of an owner cite now, seen through a transaction."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner

    def put(self, document_id: str, cites: Set[Cited], now: datetime) -> set[int]:
        """Say what a document cites by now. The records for which that is another answer than before."""
        before = self.of(document_id)
        left = [(self._owner, document_id, *cited) for cited in sorted(before - cites)]
        which = (
            "FROM citations WHERE owner = ? AND document_id = ? AND record_id = ? AND until = ? AND by_record = ?"
        )
        self._tx.many(
            "INSERT INTO citations (owner, document_id, record_id, until, by_record, end_known) SELECT owner, '', "
            f"record_id, until, by_record, CASE until WHEN 0 THEN ? ELSE end_known END {which} "
            "ON CONFLICT (owner, document_id, record_id, until, by_record) DO UPDATE SET "
            "end_known = excluded.end_known "
            "WHERE (excluded.until = 0) = (excluded.end_known > citations.end_known)",
            [(to_micros(now), *row) for row in left],
        )
        self._tx.many(f"DELETE {which}", left)
        self._tx.many(
            "INSERT INTO citations (owner, document_id, record_id, until, by_record, end_known) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [(self._owner, document_id, *cited, to_micros(now)) for cited in sorted(cites - before)],
        )
        return {cited.record_id for cited in before ^ cites}

    def of(self, document_id: str) -> set[Cited]:
        rows = self._tx.all(
            "SELECT record_id, until, by_record FROM citations WHERE owner = ? AND document_id = ?",
            *(self._owner, document_id),
        )
        return {Cited(*row) for row in rows}

    def ends(self, records: Collection[int]) -> list[End]:
        """Of those of the records that have ended, or a part of them."""
        return self.surpassed(records) + self.ended(records)

    def ended(self, records: Iterable[int]) -> list[End]:
        """Those of the records of which every fact has ended."""
        seen = "FROM citations k WHERE k.owner = c.owner AND k.record_id = c.record_id"
        known = f"SELECT min(k.end_known) {seen} AND k.until > 0"
        held = f"SELECT COALESCE(max(k.end_known), 0) {seen} AND k.until = 0"
        rows = self._tx.many(
            f"SELECT record_id, until, by_record, ({known}), ({held}) FROM citations c "
            "WHERE owner = ? AND record_id = ? AND document_id <> '' ORDER BY until, by_record LIMIT 1",
            [(self._owner, record) for record in sorted(records)],
        )
        return [
            End(record, from_micros(until), from_micros(max(known, held)), by or None)
            for record, until, by, known, held in rows
            if until
        ]

    def surpassed(self, records: Iterable[int]) -> list[End]:
        """Those of the records of which some fact has ended, by the last that says so, and not every one. SQLite
        takes the index of records for a range of times, and the whole owner for one time."""
        rows = self._tx.many(
            "SELECT record_id, by_record, end_known FROM citations c WHERE owner = ? AND record_id = ? "
            "AND document_id <> '' AND until > 0 AND by_record > 0 AND EXISTS (SELECT 1 FROM citations h "
            "WHERE h.owner = c.owner AND h.record_id = c.record_id AND h.document_id <> '' AND h.until < 1) "
            "ORDER BY by_record DESC LIMIT 1",
            [(self._owner, record) for record in sorted(records)],
        )
        return [End(record, None, from_micros(known), by) for record, by, known in rows]
