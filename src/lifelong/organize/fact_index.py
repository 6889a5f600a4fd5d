"""The rows of `claims` and `claim_keys`: where to find what is known about something. Both are derived from the
bodies of the documents and can be made anew from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from datetime import datetime

from lifelong.organize.facts import Lead
from lifelong.storage.base import Transaction
from lifelong.types import to_micros

_UNDER_A_KEY = (
    "SELECT key, at, document_id, claim FROM claim_keys WHERE owner = ? AND key = ? "
    "ORDER BY at DESC, document_id DESC, claim DESC LIMIT ?"
)
_SENTENCE = "SELECT document_id, claim, sentence FROM claims WHERE owner = ? AND document_id = ? AND claim = ?"
COMMON = 16  # claims from which on a key is common
MOST_LEADS = 6


class FactIndex:
    """The current claims of one owner, seen through a transaction."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner

    def about(self, asked: Sequence[Set[str]]) -> list[list[Lead]]:
        """For each of these sets of keys, the current claims under them."""
        under: dict[str, list[tuple[int, str, str]]] = {key: [] for keys in asked for key in keys}
        rows = self._tx.many(_UNDER_A_KEY, [(self._owner, key, COMMON) for key in under])
        for key, at, document_id, digest in rows:
            under[key].append((at, document_id, digest))
        found = [_best([under[key] for key in keys]) for keys in asked]
        claims = dict.fromkeys(claim for some in found for claim in some)
        rows = self._tx.many(_SENTENCE, [(self._owner, *claim) for claim in claims])
        leads = {(row[0], row[1]): Lead(*row) for row in rows}
        return [[leads[claim] for claim in some if claim in leads] for some in found]

    def of(self, documents: Iterable[str]) -> set[tuple[str, str]]:
        """The claims of these documents that are stored: document and digest."""
        which = "SELECT document_id, claim FROM claims WHERE owner = ? AND document_id = ?"
        return {(row[0], row[1]) for row in self._tx.many(which, [(self._owner, one) for one in documents])}

    def drop(self, claims: Iterable[tuple[str, str]]) -> None:
        gone = [(self._owner, *claim) for claim in claims]
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
                (self._owner, lead.document_id, lead.digest, key, to_micros(at))
                for lead, keys in found
                for key in keys
            ],
        )


def _best(under: Sequence[Sequence[tuple[int, str, str]]]) -> list[tuple[str, str]]:
    """The claims that stand under the most keys first, then the newest; `under` has for each key when its newest
    claims landed, their document and digest. A key that many claims have says little: what it leads to counts
    only if another key leads there, too."""
    counts = Counter(claim for claims in under for claim in claims)
    rare = {claim for claims in under if len(claims) < COMMON for claim in claims}
    leads = [(count, *claim) for claim, count in counts.items() if count > 1 or claim in rare]
    return [lead[2:] for lead in sorted(leads, reverse=True)[:MOST_LEADS]]
