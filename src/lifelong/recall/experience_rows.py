"""The rows of `experiences`; of `extractions`: how far the journal was read for them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from lifelong.journal.records import first_record_of
from lifelong.recall.ends import HAS_ENDED, Ends
from lifelong.recall.items import Items
from lifelong.recall.recall_log import WriteBehind
from lifelong.storage.base import Database, Row, Transaction
from lifelong.types import Confidence, Item, ItemKind, Provenance, from_micros, to_micros

KIND: ItemKind = "experience"
_COLUMNS = "id, text, category, session_id, record, trust, at, entities, used, used_at"
_QUALIFIED = ", ".join(f"e.{name}" for name in _COLUMNS.split(", "))
_OF_EXPERIENCES = (
    f"{_QUALIFIED} FROM experiences e LEFT JOIN items i ON i.owner = e.owner AND i.kind = ? AND i.ref = e.id"
)


@dataclass(frozen=True, slots=True)
class Experience:
    """Something worth knowing again. `record` is the journal line it came from; `entities` are the people,
    projects and places it names; `used` is how often it came back; `score` is how well it answers a query,
    `confidence` how sure it is that it does."""

    id: str
    text: str
    category: str
    session_id: str
    record: str
    trust: Provenance
    at: datetime
    entities: tuple[str, ...]
    used: int = 0
    used_at: datetime | None = None
    score: float = 0.0
    confidence: Confidence = "fair"


class ReadUntil(NamedTuple):
    """The last journal record that was read for experiences, and its time."""

    record: str
    at: datetime


class ExperienceItem(NamedTuple):
    """The item of an experience: its id, its time in microseconds, and whether it has its vector."""

    id: int
    at: int
    is_embedded: bool


class ExperienceRows:
    """The experiences of one owner, seen through a transaction. Each is also an item that can be found."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner

    def add(self, one: Experience, now: datetime) -> bool:
        """Insert an experience. Return whether it was new. One that had ended holds again, unless it was
        corrected."""
        values = (one.session_id, one.record, to_micros(one.at), self._owner, one.id)
        added = self._tx.all(
            f"INSERT INTO experiences (owner, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0) "
            "ON CONFLICT (owner, id) DO NOTHING RETURNING id",
            *(self._owner, one.id, one.text, one.category, one.session_id, one.record, one.trust),
            *(to_micros(one.at), json.dumps(one.entities, ensure_ascii=False)),
        ) or self._tx.all(
            "UPDATE experiences SET session_id = ?, record = ?, at = ? WHERE owner = ? AND id = ? AND EXISTS ("
            "SELECT 1 FROM items i WHERE i.owner = experiences.owner AND i.kind = ? AND i.ref = experiences.id "
            f"AND {HAS_ENDED}) AND NOT EXISTS (SELECT 1 FROM corrections c WHERE c.owner = experiences.owner "
            "AND c.item = ? || experiences.id) RETURNING id",
            *(*values, KIND, f"{KIND}:"),
        )
        if added:
            Ends(self._tx, self._owner).remove(KIND, [one.id])
            Items(self._tx, self._owner).put([_item(one)], now)
        return bool(added)

    def partly_superseded(self, ids: Iterable[str]) -> dict[str, int]:
        """Return those of which a part has ended, each with the record that says so."""
        items = Items(self._tx, self._owner)
        found = items.get(items.ids_of(KIND, ids)).values()
        return {one.ref: one.by_record for one in found if one.by_record and not one.until}

    def made_of(self, record: str) -> list[str]:
        """Return the ids of what came from a journal line."""
        rows = self._tx.all("SELECT id FROM experiences WHERE owner = ? AND record = ?", self._owner, record)
        return [row[0] for row in rows]

    def item(self, id_: str) -> ExperienceItem:
        """Return the item of an experience that was added."""
        row = self._tx.one(
            "SELECT id, at, embedded FROM items WHERE owner = ? AND kind = ? AND ref = ?", self._owner, KIND, id_
        )
        assert row, "each has one"
        return ExperienceItem(row[0], row[1], row[2] is not None)

    def item_ids(self) -> list[int]:
        """Return the ids of the items of all that hold."""
        rows = self._tx.all(
            "SELECT i.id FROM experiences e JOIN items i ON i.owner = e.owner AND i.kind = ? AND i.ref = e.id "
            f"WHERE e.owner = ? AND NOT {HAS_ENDED}",
            *(KIND, self._owner),
        )
        return [row[0] for row in rows]

    def waiting(self) -> int:
        """Return how many that hold have no vector yet, nor an item."""
        row = self._tx.one(
            "SELECT count(*) FROM experiences e LEFT JOIN items i ON i.owner = e.owner AND i.kind = ? "
            f"AND i.ref = e.id WHERE e.owner = ? AND i.embedded IS NULL AND NOT {HAS_ENDED}",
            *(KIND, self._owner),
        )
        return int(row[0]) if row else 0

    def of_items(self, item_ids: Iterable[int]) -> dict[int, Experience]:
        """Return those of these items that hold."""
        rows = self._tx.many(
            f"SELECT i.id, {_QUALIFIED} FROM items i JOIN experiences e ON e.owner = i.owner AND e.id = i.ref "
            f"WHERE i.owner = ? AND i.kind = ? AND i.id = ? AND i.gone IS NULL AND NOT {HAS_ENDED}",
            [(self._owner, KIND, id_) for id_ in item_ids],
        )
        return {row[0]: _experience(row[1:]) for row in rows}

    def get(self, ids: Iterable[str]) -> dict[str, Experience]:
        rows = self._tx.many(
            f"SELECT {_COLUMNS} FROM experiences WHERE owner = ? AND id = ?", [(self._owner, id_) for id_ in ids]
        )
        return {row[0]: _experience(row) for row in rows}

    def newest(self, category: str, session_id: str, since: datetime | None, limit: int) -> list[Experience]:
        """Return those that hold, of this category and session, if named."""
        rows = self._tx.all(
            f"SELECT {_OF_EXPERIENCES} WHERE e.owner = ? AND NOT {HAS_ENDED} AND e.at >= ? AND (? = '' OR "
            "e.category = ?) AND (? = '' OR e.session_id = ?) ORDER BY e.at DESC, e.id LIMIT ?",
            *(KIND, self._owner, to_micros(since) if since else 0),
            *(category, category, session_id, session_id, limit),
        )
        return [_experience(row) for row in rows]

    def use(self, ids: Iterable[str], now: datetime) -> None:
        """Count that these came back to somebody. The beginning of an id will do, as a hit shows it."""
        self._tx.many(
            "UPDATE experiences SET used = used + 1, used_at = ? WHERE owner = ? AND id >= ? AND id < ?",
            [(to_micros(now), self._owner, id_, f"{id_}g") for id_ in sorted(ids)],
        )

    def evict(self, most: int, now: datetime, but: str = "") -> list[str]:
        """Delete those that ended, then those that were told or came back longest ago, until `most` are left;
        never pinned ones, nor `but`. Return the ids of the deleted."""
        row = self._tx.one("SELECT count(*) FROM experiences WHERE owner = ?", self._owner)
        excess = (row[0] if row else 0) - most
        if excess <= 0:
            return []
        rows = self._tx.all(
            f"SELECT {_OF_EXPERIENCES} WHERE e.owner = ? AND e.id <> ? AND NOT EXISTS (SELECT 1 FROM pins p "
            f"WHERE p.owner = e.owner AND p.item = ? || e.id) ORDER BY CASE WHEN {HAS_ENDED} THEN 0 ELSE 1 END, "
            "CASE WHEN e.used_at > e.at THEN e.used_at ELSE e.at END, e.used, e.id LIMIT ?",
            *(KIND, self._owner, but, f"{KIND}:", excess),
        )
        gone = [row[0] for row in rows]
        self._tx.many("DELETE FROM experiences WHERE owner = ? AND id = ?", [(self._owner, id_) for id_ in gone])
        Items(self._tx, self._owner).hide(KIND, gone, now)
        return gone

    def reindex(self, now: datetime) -> None:
        """Make the items again that a rebuild deleted, after it has indexed the documents and what they cite."""
        rows = self._tx.all(
            f"SELECT {_COLUMNS} FROM experiences e WHERE owner = ? AND NOT EXISTS (SELECT 1 FROM items i "
            "WHERE i.owner = e.owner AND i.kind = ? AND i.ref = e.id AND i.gone IS NULL)",
            *(self._owner, KIND),
        )
        made = [_item(_experience(row)) for row in rows]
        Items(self._tx, self._owner).put(made, now, rebuilding=True)

    # How far the journal was read

    def read_until(self) -> ReadUntil | None:
        row = self._tx.one("SELECT record, at FROM extractions WHERE owner = ?", self._owner)
        return ReadUntil(row[0], from_micros(row[1])) if row else None

    def set_read_until(self, until: ReadUntil) -> None:
        self._tx.run(
            "INSERT INTO extractions (owner, record, at) VALUES (?, ?, ?) ON CONFLICT (owner) "
            "DO UPDATE SET record = excluded.record, at = excluded.at",
            *(self._owner, until.record, to_micros(until.at)),
        )


class ExperienceUses:
    """Count the uses of experiences, of all owners in one thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._behind: WriteBehind[tuple[str, frozenset[str], datetime]] = WriteBehind(
            "experience-uses", "uses of experiences are not counted", self._write
        )

    def count(self, owner: str, ids: frozenset[str], at: datetime) -> None:
        """Count that these came back. Waits for no disk, and never fails."""
        self._behind.put((owner, ids, at))

    def flush(self) -> None:
        """Count what waits, now."""
        self._behind.flush()

    def close(self) -> None:
        """Count what waits, and end the thread."""
        self._behind.close()

    def _write(self, uses: Sequence[tuple[str, frozenset[str], datetime]]) -> None:
        def work(tx: Transaction) -> None:
            for owner, ids, at in uses:
                ExperienceRows(tx, owner).use(ids, at)

        self._database.write(work)


def reindex_all_experiences(tx: Transaction, now: datetime) -> None:
    """Make the items of every owner's experiences again (see `ExperienceRows.reindex`)."""
    for (owner,) in tx.all("SELECT DISTINCT owner FROM experiences"):
        ExperienceRows(tx, owner).reindex(now)


def _item(one: Experience) -> Item:
    return Item(
        *(KIND, one.id, one.text, one.at, one.session_id or "experiences"),
        session_id=one.session_id,
        record_id=first_record_of(one.record),
        trust=one.trust,
    )


def _experience(row: Row) -> Experience:
    id_, text, category, session_id, record, trust, at, entities, used, used_at = row
    return Experience(
        *(id_, text, category, session_id, record, trust, from_micros(at), tuple(json.loads(entities)), used),
        from_micros(used_at) if used_at else None,
    )
