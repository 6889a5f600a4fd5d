"""The rows of `facts` and `fact_keys`: where to find what is known about something. Both are derived from the
bodies of the documents and can be made anew from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from datetime import datetime

from lifelong.organize.facts import Lead
from lifelong.storage.base import Transaction
from lifelong.types import to_micros

_UNDER_A_KEY = (
    "SELECT key, at, document_id, fact FROM fact_keys WHERE owner = ? AND key = ? "
    "ORDER BY at DESC, document_id DESC, fact DESC LIMIT ?"
)
_SENTENCE = "SELECT document_id, fact, sentence FROM facts WHERE owner = ? AND document_id = ? AND fact = ?"
COMMON = 16  # facts from which on a key is common
MOST_LEADS = 6


class FactIndex:
    """The current facts of one owner, seen through a transaction."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner

    def about(self, asked: Sequence[Set[str]]) -> list[list[Lead]]:
        """For each of these sets of keys, the current facts under them."""
        under: dict[str, list[tuple[int, str, str]]] = {key: [] for keys in asked for key in keys}
        rows = self._tx.many(_UNDER_A_KEY, [(self._owner, key, COMMON) for key in under])
        for key, at, document_id, digest in rows:
            under[key].append((at, document_id, digest))
        found = [_best([under[key] for key in keys]) for keys in asked]
        facts = dict.fromkeys(fact for some in found for fact in some)
        rows = self._tx.many(_SENTENCE, [(self._owner, *fact) for fact in facts])
        leads = {(row[0], row[1]): Lead(*row) for row in rows}
        return [[leads[fact] for fact in some if fact in leads] for some in found]

    def of(self, documents: Iterable[str]) -> set[tuple[str, str]]:
        """The facts of these documents that are stored: document and digest."""
        which = "SELECT document_id, fact FROM facts WHERE owner = ? AND document_id = ?"
        return {(row[0], row[1]) for row in self._tx.many(which, [(self._owner, one) for one in documents])}

    def drop(self, facts: Iterable[tuple[str, str]]) -> None:
        gone = [(self._owner, *fact) for fact in facts]
        for table in ("fact_keys", "facts"):
            self._tx.many(f"DELETE FROM {table} WHERE owner = ? AND document_id = ? AND fact = ?", gone)

    def insert(self, leads: Iterable[tuple[Lead, Iterable[str]]], at: datetime) -> None:
        """Store facts, each with its keys."""
        found = [(lead, tuple(keys)) for lead, keys in leads]
        self._tx.many(
            "INSERT INTO facts (owner, document_id, fact, sentence) VALUES (?, ?, ?, ?)",
            [(self._owner, lead.document_id, lead.digest, lead.sentence) for lead, _ in found],
        )
        self._tx.many(
            "INSERT INTO fact_keys (owner, document_id, fact, key, at) VALUES (?, ?, ?, ?, ?)",
            [
                (self._owner, lead.document_id, lead.digest, key, to_micros(at))
                for lead, keys in found
                for key in keys
            ],
        )


def _best(under: Sequence[Sequence[tuple[int, str, str]]]) -> list[tuple[str, str]]:
    """The facts that stand under the most keys first, then the newest; `under` has for each key when its newest
    facts landed, their document and digest. A key that many facts have says little: what it leads to counts
    only if another key leads there, too."""
    counts = Counter(fact for facts in under for fact in facts)
    rare = {fact for facts in under if len(facts) < COMMON for fact in facts}
    leads = [(count, *fact) for fact, count in counts.items() if count > 1 or fact in rare]
    return [lead[2:] for lead in sorted(leads, reverse=True)[:MOST_LEADS]]
