"""The rows of `item_vectors`, `embedders` and `index_state`: which items have a vector, who made it, and how far
the next embedder has come.

An item that has its vector gets the next number of its owner's `sequence`. The owner's row in `index_state` is
locked until that is committed, so numbers become visible in order: a reader that knows all up to a number reads
what is above it, and misses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lifelong.storage.base import Row, Transaction

_TEXTS = (
    "SELECT i.id, i.kind, i.flags, i.text, h.type, h.data FROM items i "
    "LEFT JOIN session_history h ON i.kind = 'record' AND h.id = i.record_id WHERE i.owner = ?"
)
_INDEX_ROWS = (
    "SELECT i.id, i.sequence, i.kind, i.thread, i.speaker, i.agent_id, i.trust, i.at, i.since, i.gone, i.until, "
    "i.by_record, i.record_id, i.length, i.flags, i.nudge, i.stems, v.vector, i.end_known FROM items i "
    "LEFT JOIN item_vectors v ON v.embedder_id = ? AND v.item_id = i.id"
)


class IndexState(NamedTuple):
    """The state of an owner's index: its newest sequence number; how often all was made again; who made the
    vectors in use; who makes the next ones, and up to which item."""

    sequence: int = 0
    version: int = 0
    embedder_id: int | None = None
    next_embedder_id: int | None = None
    next_embedded_until: int = 0


class ItemText(NamedTuple):
    """An item that needs a vector: its text, or the record that has it."""

    item_id: int
    kind: str
    flags: int
    text: str
    type: str | None
    data: str | None


class VectorRows:
    """The vectors of all owners' items, seen through a transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def state(self, owner: str) -> IndexState:
        row = self._tx.one(
            "SELECT sequence, version, embedder_id, next_embedder_id, next_embedded_until FROM index_state "
            "WHERE owner = ?",
            owner,
        )
        return IndexState(*row) if row else IndexState()

    def lock_state(self, owner: str) -> IndexState:
        """Return the state, and keep others from changing it until the transaction ends."""
        self._tx.run(
            "INSERT INTO index_state (owner, sequence, version, next_embedded_until) VALUES (?, 0, 0, 0) "
            "ON CONFLICT (owner) DO NOTHING",
            owner,
        )
        self._tx.one(f"SELECT 1 FROM index_state WHERE owner = ?{self._tx.for_update}", owner)
        return self.state(owner)

    def set_state(self, owner: str, state: IndexState) -> None:
        self._tx.run(
            "UPDATE index_state SET sequence = ?, version = ?, embedder_id = ?, next_embedder_id = ?, "
            "next_embedded_until = ? WHERE owner = ?",
            *(*state, owner),
        )

    def embedder(self, identity: str) -> int:
        """Return the id of an embedder, made on first use."""
        self._tx.run("INSERT INTO embedders (identity) VALUES (?) ON CONFLICT (identity) DO NOTHING", identity)
        row = self._tx.one("SELECT id FROM embedders WHERE identity = ?", identity)
        assert row, "it was just made"
        return int(row[0])

    def identities(self) -> list[str]:
        """Return every embedder that ever made a vector here."""
        return [row[0] for row in self._tx.all("SELECT identity FROM embedders ORDER BY id")]

    def identity(self, embedder_id: int | None) -> str:
        row = self._tx.one("SELECT identity FROM embedders WHERE id = ?", embedder_id)
        return str(row[0]) if row else ""

    def owners(self, *, waiting: bool = False) -> list[str]:
        """Return the owners that have items, or items without a vector. Skips through the index, a step each."""
        which = "sequence IS NULL AND owner > ? ORDER BY owner, id" if waiting else "owner > ? ORDER BY owner, at"
        found = [""]
        while row := self._tx.one(f"SELECT owner FROM items WHERE {which} LIMIT 1", found[-1]):
            found.append(str(row[0]))
        return found[1:]

    # Items whose current state no index has loaded yet: new, changed or without a vector

    def pending(self, owner: str, limit: int) -> list[ItemText]:
        """Return the oldest of an owner's items whose current state no index has loaded yet: new, changed or
        without a vector."""
        rows = self._tx.all(f"{_TEXTS} AND i.sequence IS NULL ORDER BY i.id LIMIT ?", owner, limit)
        return [ItemText(*row) for row in rows]

    def pending_count(self, owner: str, limit: int) -> int:
        """Return how many `pending` would return."""
        row = self._tx.one(
            "SELECT count(*) FROM (SELECT 1 FROM items WHERE owner = ? AND sequence IS NULL LIMIT ?) AS few",
            *(owner, limit),
        )
        return int(row[0]) if row else 0

    def waiting(self) -> int:
        """Return how many items of all owners wait: those whose current state no index has loaded yet (new,
        changed or without a vector), and those without a vector of the next embedder."""
        row = self._tx.one(
            "SELECT (SELECT count(*) FROM items WHERE sequence IS NULL), (SELECT count(*) FROM index_state s "
            "CROSS JOIN items i WHERE s.next_embedder_id IS NOT NULL AND i.owner = s.owner "
            "AND i.id > s.next_embedded_until)"
        )
        return row[0] + row[1] if row else 0

    def after(self, owner: str, item_id: int, limit: int) -> list[ItemText]:
        """Return the next items in the order of their ids, with or without a vector."""
        rows = self._tx.all(f"{_TEXTS} AND i.id > ? ORDER BY i.id LIMIT ?", owner, item_id, limit)
        return [ItemText(*row) for row in rows]

    def without_vector(self, embedder_id: int, ids: Sequence[int]) -> set[int]:
        """Return those of the items, given in the order of their ids, that have none."""
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

    def number(self, ids: Sequence[int], first: int) -> None:
        """Give these items their sequence numbers, from `first` on."""
        self._tx.many(
            "UPDATE items SET sequence = ? WHERE id = ? AND sequence IS NULL",
            [(first + place, id_) for place, id_ in enumerate(ids)],
        )

    def requeue_without(self, embedder_id: int, owner: str) -> None:
        """Have items embedded that came in while the embedder changed."""
        self._tx.run(
            "UPDATE items SET sequence = NULL WHERE owner = ? AND sequence IS NOT NULL AND NOT EXISTS "
            "(SELECT 1 FROM item_vectors v WHERE v.embedder_id = ? AND v.item_id = items.id)",
            *(owner, embedder_id),
        )

    def choose(self, identity: str) -> list[str]:
        """Have this embedder make the vectors of all owners who have some. Return the owners that change to it."""
        rows = self._tx.all(
            "SELECT s.owner FROM index_state s JOIN embedders e "
            "ON e.id = COALESCE(s.next_embedder_id, s.embedder_id) WHERE e.identity <> ?",
            identity,
        )
        if rows:
            number = self.embedder(identity)
            sql = "UPDATE index_state SET next_embedder_id = ?, next_embedded_until = 0 WHERE owner = ?"
            self._tx.many(sql, [(number, owner) for (owner,) in rows])
        return [row[0] for row in rows]

    def chosen(self, owner: str) -> str:
        """Return the embedder that makes an owner's vectors, or will; empty where none has begun."""
        state = self.state(owner)
        return self.identity(state.next_embedder_id or state.embedder_id)

    def changing_to(self, identity: str) -> list[str]:
        """Return the owners whose vectors this embedder is to make next."""
        rows = self._tx.all(
            "SELECT s.owner FROM index_state s JOIN embedders e ON e.id = s.next_embedder_id WHERE e.identity = ?",
            identity,
        )
        return [row[0] for row in rows]

    def drop_others(self, embedder_id: int, owner: str, limit: int) -> int:
        """Delete vectors of embedders whose vectors this owner no longer uses. Return how many."""
        rows = self._tx.all(
            "SELECT v.embedder_id, v.item_id FROM item_vectors v JOIN items i ON i.id = v.item_id "
            "WHERE v.embedder_id <> ? AND i.owner = ? LIMIT ?",
            *(embedder_id, owner, limit),
        )
        self._tx.many("DELETE FROM item_vectors WHERE embedder_id = ? AND item_id = ?", rows)
        return len(rows)

    def drop(self, item_ids: Sequence[int]) -> None:
        """Delete the vectors of these items, which are then made again."""
        rows = [(id_,) for id_ in item_ids]
        self._tx.many("DELETE FROM item_vectors WHERE item_id = ?", rows)
        self._tx.many("UPDATE items SET sequence = NULL WHERE id = ?", rows)

    # What an index in memory reads

    def newer(self, owner: str, embedder_id: int | None, sequence: int, limit: int) -> list[Row]:
        """Return the rows above this number of the sequence, in order."""
        return self._tx.all(
            f"{_INDEX_ROWS} WHERE i.owner = ? AND i.sequence > ? ORDER BY i.sequence LIMIT ?",
            *(embedder_id, owner, sequence, limit),
        )

    def without_sequence(self, owner: str, ids: Sequence[int]) -> list[Row]:
        """Return the rows of these items, which may have no vector yet."""
        return self._tx.many(f"{_INDEX_ROWS} WHERE i.owner = ? AND i.id = ?", [(None, owner, id_) for id_ in ids])
