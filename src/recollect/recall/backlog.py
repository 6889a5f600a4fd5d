"""The index made anew from what it was derived from: of a database that is older than recall, or after damage."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import groupby

from recollect.collect.history import Said
from recollect.organize.documents import Documents
from recollect.recall.filing import file_document, refile_turns
from recollect.storage.base import Transaction
from recollect.types import moment

BATCH = 1_000
DERIVED = ("item_vectors", "shelves", "items")


class Backlog:
    """`unfiled`: the stretch of history whose turns are not items yet. Seen through a transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def is_missing(self) -> bool:
        """Whether there is history and nothing of it can be found, and nobody is at it."""
        row = self._tx.one(
            "SELECT EXISTS (SELECT 1 FROM session_history), EXISTS (SELECT 1 FROM items), "
            "EXISTS (SELECT 1 FROM unfiled)"
        )
        return bool(row and row[0] and not row[1] and not row[2] and self._has_turns())

    def start_over(self) -> None:
        """Forget everything that is derived; all of history is to be filed again."""
        for statement in self._tx.words_anew:
            self._tx.run(statement)
        for table in DERIVED:
            self._tx.run(f"DELETE FROM {table}")
        self._tx.run("DELETE FROM unfiled")
        self._tx.run("INSERT INTO unfiled SELECT 1, 0, max(id) FROM session_history HAVING max(id) IS NOT NULL")

    def left(self) -> int:
        """How many ids are still to be looked at."""
        row = self._tx.one("SELECT until_id - after_id FROM unfiled")
        return int(row[0]) if row else 0

    def file_some(self, now: datetime) -> int:
        """File the next records, and before the first of them the documents. How many ids are left."""
        row = self._tx.one(f"SELECT after_id, until_id FROM unfiled{self._tx.for_update}")
        if not row:
            return 0
        after, until = row
        if not after:
            self._file_documents(now)
        said = list(self._said(after, until))
        for owner, those in groupby(said, key=lambda one: one[0]):
            refile_turns(self._tx, owner, [one for _, one in those], now)
        if len(said) < BATCH:
            self._tx.run("DELETE FROM unfiled")
            return 0
        self._tx.run("UPDATE unfiled SET after_id = ?", said[-1][1].record_id)
        return int(until - said[-1][1].record_id)

    def _file_documents(self, now: datetime) -> None:
        for (owner,) in self._tx.all("SELECT owner FROM trees ORDER BY owner"):
            for document in Documents(self._tx, owner).walk():
                file_document(self._tx, owner, document.id, document, now)

    def _said(self, after: int, until: int) -> Iterator[tuple[str, Said]]:
        rows = self._tx.all(
            "SELECT a.owner, h.id, h.session_id, a.id, a.kind, h.type, h.provenance, h.at, h.data, h.recorded_at "
            "FROM session_history h JOIN sessions s ON s.id = h.session_id JOIN agents a ON a.id = s.agent_id "
            "WHERE h.id > ? AND h.id <= ? ORDER BY h.id LIMIT ?",
            *(after, until, BATCH),
        )
        for owner, id_, session_id, agent_id, kind, type_, provenance, at, data, recorded_at in rows:
            written = (type_, provenance, at, data)
            yield owner, Said(id_, session_id, agent_id, kind, written, moment(recorded_at))

    def _has_turns(self) -> bool:
        row = self._tx.one(
            "SELECT 1 FROM session_history h JOIN sessions s ON s.id = h.session_id "
            "JOIN agents a ON a.id = s.agent_id WHERE a.kind <> 'memory-agent' LIMIT 1"
        )
        return row is not None
