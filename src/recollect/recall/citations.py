"""The rows of `citations`: which records the documents of an owner cite, and whether that still holds."""

from __future__ import annotations

from collections.abc import Iterable, Set
from datetime import datetime
from typing import NamedTuple

from recollect.storage.base import Transaction
from recollect.types import micros, moment


class Cited(NamedTuple):
    """A record that a document cites. `until` is when the claim stopped being true, and `by_record` what says so;
    0: it holds, or nothing does."""

    record_id: int
    until: int
    by_record: int


class Ended(NamedTuple):
    """A record of which every claim has ended: when the first did, since when that is known of all, and what says
    so."""

    record_id: int
    until: datetime
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
        self._tx.many(
            "DELETE FROM citations WHERE owner = ? AND document_id = ? AND record_id = ? AND until = ? "
            "AND by_record = ?",
            [(self._owner, document_id, *cited) for cited in sorted(before - cites)],
        )
        self._tx.many(
            "INSERT INTO citations (owner, document_id, record_id, until, by_record, end_known) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [(self._owner, document_id, *cited, micros(now)) for cited in sorted(cites - before)],
        )
        return {cited.record_id for cited in before ^ cites}

    def of(self, document_id: str) -> set[Cited]:
        rows = self._tx.all(
            "SELECT record_id, until, by_record FROM citations WHERE owner = ? AND document_id = ?",
            *(self._owner, document_id),
        )
        return {Cited(*row) for row in rows}

    def ended(self, records: Iterable[int]) -> list[Ended]:
        """Those of the records of which every claim has ended."""
        known = "SELECT max(k.end_known) FROM citations k WHERE k.owner = c.owner AND k.record_id = c.record_id"
        rows = self._tx.many(
            f"SELECT record_id, until, ({known}), by_record FROM citations c WHERE owner = ? AND record_id = ? "
            "ORDER BY until, by_record LIMIT 1",
            [(self._owner, record) for record in sorted(records)],
        )
        return [
            Ended(record, moment(until), moment(known), by or None) for record, until, known, by in rows if until
        ]
