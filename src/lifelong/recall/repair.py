"""The index looked after: damage is noticed, said, and mended, and never in the way of what is stored or asked."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from lifelong.errors import StorageCorrupt, StorageError
from lifelong.recall.index_writer import is_found
from lifelong.recall.rebuild import Fault, IndexRebuild
from lifelong.recall.vector_rows import VectorRows
from lifelong.storage.base import Database, Transaction

log = logging.getLogger("lifelong.recall")


class IndexRepair:
    """Of a whole home."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._noticed = ""

    @property
    def remark(self) -> str:
        """For a person, as long as a part of the index is still to be made; empty where all is well."""
        try:
            left = self._database.read(lambda tx: IndexRebuild(tx).left())
        except StorageError:
            return ""  # whoever reads the database says so better
        if not left:
            self._noticed = ""
            return ""
        return (
            f"{self._noticed or 'The index of recall is not complete'}, and is made anew in the background. "
            "Until then recall finds a part only: let a worker run, or run: lifelong rebuild. "
            "Nothing that was stored is lost."
        )

    def look(self) -> None:
        """Notice an index that is damaged or missing, and begin to mend it. Quick: it reads a few rows."""
        if self._fault() == "missing":
            self.rebuild()
            self._say("The index of recall was missing")
        else:
            self.mend()

    def mend(self) -> bool:
        """Whether the full-text index is damaged; then it is empty now, and will be filled."""
        if self._fault() != "words":
            return False
        try:
            self._database.write(lambda tx: IndexRebuild(tx).rewrite_words())
        except StorageError:
            return False
        self._say("The full-text index was damaged")
        return True

    def drop_vectors(self, item_ids: Sequence[int]) -> None:
        """Of these items, which are damaged; the indexer makes them anew, and words find the items until then."""
        log.error("%d vectors were damaged, and are made anew", len(item_ids))
        try:
            self._database.write(lambda tx: VectorRows(tx).drop(item_ids))
        except StorageError as error:
            log.warning("damaged vectors are made anew later: %s", error)

    def rebuild(self) -> None:
        """Forget all that is derived; the indexer makes it anew."""
        self._database.write(lambda tx: IndexRebuild(tx).start_over())

    def verify(self, owner: str) -> list[str]:
        """Read the whole index of an owner, and say what is wrong with it, a sentence each."""
        if left := self._database.read(lambda tx: IndexRebuild(tx).left()):
            return [f"The index is being made: {left:,} ids are left. Let a worker run, and look again."]
        return self._database.read(lambda tx: _faults(tx, owner))

    def _fault(self) -> Fault | None:
        """What is wrong. A database that is busy, full or away says nothing of the index."""
        said = ""
        for _ in range(2):
            try:
                return self._database.read(lambda tx: IndexRebuild(tx).probe())
            except StorageCorrupt:
                return "words"
            except StorageError as error:
                if type(error) is not StorageError or said not in ("", str(error)):
                    return None
                said = str(error)
        return "words"

    def _say(self, what: str) -> None:
        self._noticed = what
        log.error("%s; recall goes on with what is left of it", what)


def _faults(tx: Transaction, owner: str) -> list[str]:
    unfiled = tx.all(
        "SELECT a.kind, h.type, h.provenance, h.at, h.data FROM session_history h "
        "JOIN sessions s ON s.id = h.session_id JOIN agents a ON a.id = s.agent_id "
        "LEFT JOIN items i ON i.owner = a.owner AND i.kind = 'record' AND i.ref = CAST(h.id AS TEXT) "
        "WHERE a.owner = ? AND i.id IS NULL",
        owner,
    )
    wordless = (
        "SELECT count(*) FROM items i LEFT JOIN item_words w ON w.rowid = i.id "
        "WHERE i.owner = ? AND i.length > 0 AND w.rowid IS NULL"
    )
    vectorless = (
        "SELECT count(*) FROM items i JOIN shelves s ON s.owner = i.owner LEFT JOIN item_vectors v "
        "ON v.embedder_id = s.embedder_id AND v.item_id = i.id "
        "WHERE i.owner = ? AND i.stamp IS NOT NULL AND s.embedder_id IS NOT NULL AND v.item_id IS NULL"
    )
    orphans = "SELECT count(*) FROM item_vectors v LEFT JOIN items i ON i.id = v.item_id WHERE i.id IS NULL"
    counts = {
        "records cannot be found": sum(is_found(row[0], row[1:]) for row in unfiled),
        "items are not in the full-text index": tx.all(wordless, owner)[0][0],
        "items have no vector": tx.all(vectorless, owner)[0][0],
        "vectors belong to nothing": tx.all(orphans)[0][0],
    }
    return [f"{count:,} {what}. Run: lifelong rebuild." for what, count in counts.items() if count]
