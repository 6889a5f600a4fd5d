"""The rows behind a shelf: which items have a vector, who made it, and how far the next embedder has come.

Whoever stamps items holds the owner's row in `shelves` until it commits, so stamps become visible in order: who
has read up to a stamp reads what is newer, and misses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lifelong.storage.base import Row, Transaction

_NOT_SHELVED = (
    "SELECT i.id, i.kind, i.flags, i.text, h.type, h.data FROM items i "
    "LEFT JOIN session_history h ON i.kind = 'record' AND h.id = i.record_id WHERE i.owner = ?"
)
_SHELVED = (
    "SELECT i.id, i.stamp, i.kind, i.thread, i.speaker, i.agent_id, i.trust, i.at, i.since, i.gone, i.until, "
    "i.by_record, i.record_id, i.length, i.flags, i.nudge, i.stems, v.vector, i.end_known FROM items i "
    "LEFT JOIN item_vectors v ON v.embedder_id = ? AND v.item_id = i.id"
)


class State(NamedTuple):
    """Of an owner's shelf: its newest stamp; how often all was made anew; who made the vectors that serve; who
    makes the next, and how far that has come."""

    stamp: int = 0
    era: int = 0
    embedder_id: int | None = None
    coming_id: int | None = None
    coming_until: int = 0


class Text(NamedTuple):
    """An item that needs a vector: its text, or the record that has it."""

    item_id: int
    kind: str
    flags: int
    text: str
    type: str | None
    data: str | None


class VectorRows:
    """Seen through a transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def state(self, owner: str) -> State:
        row = self._tx.one(
            "SELECT stamp, era, embedder_id, coming_id, coming_until FROM shelves WHERE owner = ?", owner
        )
        return State(*row) if row else State()

    def take(self, owner: str) -> State:
        """The same, and nobody else changes it until we have committed."""
        self._tx.run(
            "INSERT INTO shelves (owner, stamp, era, coming_until) VALUES (?, 0, 0, 0) "
            "ON CONFLICT (owner) DO NOTHING",
            owner,
        )
        self._tx.one(f"SELECT 1 FROM shelves WHERE owner = ?{self._tx.for_update}", owner)
        return self.state(owner)

    def keep(self, owner: str, state: State) -> None:
        self._tx.run(
            "UPDATE shelves SET stamp = ?, era = ?, embedder_id = ?, coming_id = ?, coming_until = ? "
            "WHERE owner = ?",
            *(*state, owner),
        )

    def embedder(self, identity: str) -> int:
        """The number of an embedder, made on first use."""
        self._tx.run("INSERT INTO embedders (identity) VALUES (?) ON CONFLICT (identity) DO NOTHING", identity)
        row = self._tx.one("SELECT id FROM embedders WHERE identity = ?", identity)
        assert row, "it was just made"
        return int(row[0])

    def identities(self) -> list[str]:
        """Of every embedder that ever made a vector here."""
        return [row[0] for row in self._tx.all("SELECT identity FROM embedders ORDER BY id")]

    def identity(self, embedder_id: int | None) -> str:
        row = self._tx.one("SELECT identity FROM embedders WHERE id = ?", embedder_id)
        return str(row[0]) if row else ""

    def owners(self, *, waiting: bool = False) -> list[str]:
        """Everybody who has an item, or one without a stamp; a step of the index each."""
        which = "stamp IS NULL AND owner > ? ORDER BY owner, id" if waiting else "owner > ? ORDER BY owner, at"
        found = [""]
        while row := self._tx.one(f"SELECT owner FROM items WHERE {which} LIMIT 1", found[-1]):
            found.append(str(row[0]))
        return found[1:]

    # What has no stamp, or no vector of the embedder to come

    def pending(self, owner: str, limit: int) -> list[Text]:
        rows = self._tx.all(f"{_NOT_SHELVED} AND i.stamp IS NULL ORDER BY i.id LIMIT ?", owner, limit)
        return [Text(*row) for row in rows]

    def pending_count(self, owner: str, limit: int) -> int:
        row = self._tx.one(
            "SELECT count(*) FROM (SELECT 1 FROM items WHERE owner = ? AND stamp IS NULL LIMIT ?) AS few",
            *(owner, limit),
        )
        return int(row[0]) if row else 0

    def waiting(self) -> int:
        """How many items have no stamp, or no vector of the embedder to come, whoever's they are."""
        row = self._tx.one(
            "SELECT (SELECT count(*) FROM items WHERE stamp IS NULL), (SELECT count(*) FROM shelves s CROSS JOIN "
            "items i WHERE s.coming_id IS NOT NULL AND i.owner = s.owner AND i.id > s.coming_until)"
        )
        return row[0] + row[1] if row else 0

    def behind(self, owner: str, after: int, limit: int) -> list[Text]:
        """Items in the order of their ids, stamped or not."""
        rows = self._tx.all(f"{_NOT_SHELVED} AND i.id > ? ORDER BY i.id LIMIT ?", owner, after, limit)
        return [Text(*row) for row in rows]

    def without_vector(self, embedder_id: int, ids: Sequence[int]) -> set[int]:
        """Of items in the order of their ids, those that have none."""
        if not ids:
            return set()
        rows = self._tx.all(
            "SELECT item_id FROM item_vectors WHERE embedder_id = ? AND item_id >= ? AND item_id <= ?",
            *(embedder_id, ids[0], ids[-1]),
        )
        return {*ids} - {row[0] for row in rows}

    def put_vectors(self, embedder_id: int, vectors: Iterable[tuple[int, bytes]]) -> None:
        self._tx.many(
            "INSERT INTO item_vectors (embedder_id, item_id, vector) VALUES (?, ?, ?) "
            "ON CONFLICT (embedder_id, item_id) DO UPDATE SET vector = excluded.vector",
            [(embedder_id, id_, vector) for id_, vector in vectors],
        )

    def stamp(self, ids: Sequence[int], first: int) -> None:
        self._tx.many(
            "UPDATE items SET stamp = ? WHERE id = ? AND stamp IS NULL",
            [(first + place, id_) for place, id_ in enumerate(ids)],
        )

    def unstamp_without(self, embedder_id: int, owner: str) -> None:
        """Whatever came in while the embedder was changed is to be embedded by the new one."""
        self._tx.run(
            "UPDATE items SET stamp = NULL WHERE owner = ? AND stamp IS NOT NULL AND NOT EXISTS "
            "(SELECT 1 FROM item_vectors v WHERE v.embedder_id = ? AND v.item_id = items.id)",
            *(owner, embedder_id),
        )

    def choose(self, identity: str) -> list[str]:
        """Have this embedder make the vectors of all owners who have some. Those to whom that is another one."""
        rows = self._tx.all(
            "SELECT s.owner FROM shelves s JOIN embedders e ON e.id = COALESCE(s.coming_id, s.embedder_id) "
            "WHERE e.identity <> ?",
            identity,
        )
        if rows:
            number = self.embedder(identity)
            sql = "UPDATE shelves SET coming_id = ?, coming_until = 0 WHERE owner = ?"
            self._tx.many(sql, [(number, owner) for (owner,) in rows])
        return [row[0] for row in rows]

    def chosen(self, owner: str) -> str:
        """The embedder that makes an owner's vectors, or is to make them next; empty where nobody has begun."""
        state = self.state(owner)
        return self.identity(state.coming_id or state.embedder_id)

    def changing_to(self, identity: str) -> list[str]:
        """The owners whose vectors this embedder is to make next."""
        rows = self._tx.all(
            "SELECT s.owner FROM shelves s JOIN embedders e ON e.id = s.coming_id WHERE e.identity = ?", identity
        )
        return [row[0] for row in rows]

    def drop_others(self, embedder_id: int, owner: str, limit: int) -> int:
        """Vectors of embedders that serve this owner no longer; how many went."""
        rows = self._tx.all(
            "SELECT v.embedder_id, v.item_id FROM item_vectors v JOIN items i ON i.id = v.item_id "
            "WHERE v.embedder_id <> ? AND i.owner = ? LIMIT ?",
            *(embedder_id, owner, limit),
        )
        self._tx.many("DELETE FROM item_vectors WHERE embedder_id = ? AND item_id = ?", rows)
        return len(rows)

    def drop(self, item_ids: Sequence[int]) -> None:
        """The vectors of these items, which are then to be made."""
        rows = [(id_,) for id_ in item_ids]
        self._tx.many("DELETE FROM item_vectors WHERE item_id = ?", rows)
        self._tx.many("UPDATE items SET stamp = NULL WHERE id = ?", rows)

    # What a shelf reads

    def newer(self, owner: str, embedder_id: int | None, stamp: int, limit: int) -> list[Row]:
        """What was stamped after this one, in order."""
        return self._tx.all(
            f"{_SHELVED} WHERE i.owner = ? AND i.stamp > ? ORDER BY i.stamp LIMIT ?",
            *(embedder_id, owner, stamp, limit),
        )

    def loose(self, owner: str, ids: Sequence[int]) -> list[Row]:
        """Items by id, stamped or not."""
        return self._tx.many(f"{_SHELVED} WHERE i.owner = ? AND i.id = ?", [(None, owner, id_) for id_ in ids])
