"""The rows of `citations`: which records the documents of an owner cite, and whether the citing facts still hold.

When a document stops citing a record, the row stays with an empty document id: for a fact that held, with the time
it last did (`end_known`); for one that had ended, with the time since when that was known. So the time of an end
is kept when its fact moves to another document, in whatever order documents are indexed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Set
from datetime import datetime
from typing import NamedTuple

from lifelong.storage.base import Transaction
from lifelong.types import from_micros, to_micros


class Cited(NamedTuple):
    """A record that a document cites. `until` is when the fact stopped being true, and `by_record` the record that
    says so; 0: it holds, or no record says so."""

    record_id: int
    until: int
    by_record: int


class End(NamedTuple):
    """The end of a record: when the first of its facts ended, since when it is known that none holds, and the
    record that says so. A partly superseded record has no `until`."""

    record_id: int
    until: datetime | None
    known: datetime
    by_record: int | None


class Citations:
    """What the documents of an owner cite, seen through a transaction."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner

    def put(self, document_id: str, cites: Set[Cited], now: datetime) -> set[int]:
        """Set what a document cites. Return the records for which that changed."""
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
        """Return the ends of those that are superseded, wholly or partly."""
        return self.partly_superseded(records) + self.superseded(records)

    def superseded(self, records: Iterable[int]) -> list[End]:
        """Return the ends of the records of which every fact has ended."""
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

    def partly_superseded(self, records: Iterable[int]) -> list[End]:
        """Return the ends of the records of which some facts have ended, by the last that says so. The ranges of
        times make SQLite use the index of records; with equalities it would read the whole owner."""
        rows = self._tx.many(
            "SELECT record_id, by_record, end_known FROM citations c WHERE owner = ? AND record_id = ? "
            "AND document_id <> '' AND until > 0 AND by_record > 0 AND EXISTS (SELECT 1 FROM citations h "
            "WHERE h.owner = c.owner AND h.record_id = c.record_id AND h.document_id <> '' AND h.until < 1) "
            "ORDER BY by_record DESC LIMIT 1",
            [(self._owner, record) for record in sorted(records)],
        )
        return [End(record, None, from_micros(known), by) for record, by, known in rows]
