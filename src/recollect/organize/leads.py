"""The rows of `claims` and `claim_keys`: where to find what is known about something. Both are derived from the
bodies of the documents and can be made anew from them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from recollect.organize.claims import Lead
from recollect.storage.base import Transaction
from recollect.types import micros

_UNDER_A_KEY = (
    "SELECT at, document_id, claim FROM claim_keys WHERE owner = ? AND key = ? "
    "ORDER BY at DESC, document_id DESC, claim DESC LIMIT ?"
)
_SENTENCE = "SELECT sentence FROM claims WHERE owner = ? AND document_id = ? AND claim = ?"
COMMON = 16  # claims from which on a key is common
MOST_LEADS = 6


class Leads:
    """The current claims of one owner, seen through a transaction."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner

    def about(self, keys: Iterable[str]) -> list[Lead]:
        """Current claims under these keys: those with the most of them first, then the newest. A key that
        many claims have says little: what it leads to counts only if another key leads there, too."""
        counts: dict[tuple[str, str], int] = {}
        newest: dict[tuple[str, str], int] = {}
        rare: set[tuple[str, str]] = set()
        for key in keys:
            rows = self._tx.all(_UNDER_A_KEY, self._owner, key, COMMON)
            for at, document_id, digest in rows:
                claim = (document_id, digest)
                counts[claim] = counts.get(claim, 0) + 1
                newest[claim] = at
            if len(rows) < COMMON:
                rare.update((row[1], row[2]) for row in rows)
        leads = [(count, newest[claim], *claim) for claim, count in counts.items() if count > 1 or claim in rare]
        best = [lead[2:] for lead in sorted(leads, reverse=True)[:MOST_LEADS]]
        return [Lead(*claim, row[0]) for claim in best if (row := self._tx.one(_SENTENCE, self._owner, *claim))]

    def of(self, document_id: str) -> set[str]:
        """The digests of the document's claims that are stored."""
        which = "SELECT claim FROM claims WHERE owner = ? AND document_id = ?"
        return {row[0] for row in self._tx.all(which, self._owner, document_id)}

    def drop(self, document_id: str, claims: Iterable[str]) -> None:
        gone = [(self._owner, document_id, claim) for claim in claims]
        for table in ("claim_keys", "claims"):
            self._tx.many(f"DELETE FROM {table} WHERE owner = ? AND document_id = ? AND claim = ?", gone)

    def insert(self, leads: Iterable[tuple[Lead, Iterable[str]]], at: datetime) -> None:
        """Store claims, each with its keys."""
        found = [(lead, tuple(keys)) for lead, keys in leads]
        self._tx.many(
            "INSERT INTO claims (owner, document_id, claim, sentence) VALUES (?, ?, ?, ?)",
            [(self._owner, lead.document_id, lead.digest, lead.sentence) for lead, _ in found],
        )
        self._tx.many(
            "INSERT INTO claim_keys (owner, document_id, claim, key, at) VALUES (?, ?, ?, ?, ?)",
            [
                (self._owner, lead.document_id, lead.digest, key, micros(at))
                for lead, keys in found
                for key in keys
            ],
        )
