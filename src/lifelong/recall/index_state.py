"""The rows of `index_state` and `embedders`: whose vectors are in use, whose will be next, and how far that has
come; and which items wait for a vector.

An owner has one state for all items, experiences included. The row is locked while it is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lifelong.storage.base import NO_LIMIT, Transaction
from lifelong.types import ItemKind
from lifelong.vectors.numbering import next_numbers

_TEXTS = (
    "SELECT i.id, i.kind, i.agent_id, i.at, i.flags, i.text, h.type, h.data FROM items i "
    "LEFT JOIN session_history h ON i.kind = 'record' AND h.id = i.record_id WHERE i.owner = ?"
)
_STATE = "version, embedder_id, next_embedder_id, next_embedded_until, size, first_item, mean, mean_of"


class IndexState(NamedTuple):
    """The state of an owner's index: `version` changes when all is made again; who made the vectors in use; who
    makes the next ones, and up to which item; how many items are embedded, without those that were made from
    records, and the oldest of them; the mean of their vectors, packed, and of how many it is. The mean is empty
    where no item has a vector, and none where it is to be computed, as after another embedder took over."""

    version: int = 0
    embedder_id: int | None = None
    next_embedder_id: int | None = None
    next_embedded_until: int = 0
    size: int = 0
    first_item: int = 0
    mean: bytes | None = None
    mean_of: int = 0


class ItemText(NamedTuple):
    """An item that needs a vector: its text, or the record that has it."""

    item_id: int
    kind: ItemKind
    agent_id: str
    at: int
    flags: int
    text: str
    type: str | None
    data: str | None


class IndexStates:
    """The states of all owners, seen through a transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def get(self, owner: str) -> IndexState:
        row = self._tx.one(f"SELECT {_STATE} FROM index_state WHERE owner = ?", owner)
        return IndexState(*row) if row else IndexState()

    def versions(self) -> dict[str, int]:
        """Return the version of each owner's index: it changes when the index is rebuilt."""
        return dict(self._tx.all("SELECT owner, version FROM index_state"))

    def lock(self, owner: str) -> IndexState:
        """Return the state, and keep others from changing it until the transaction ends."""
        next_numbers(self._tx, owner, 0)
        return self.get(owner)

    def set(self, owner: str, state: IndexState) -> None:
        columns = ", ".join(f"{name} = ?" for name in IndexState._fields)
        self._tx.run(f"UPDATE index_state SET {columns} WHERE owner = ?", *state, owner)

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
        """Return who an embedder is; empty for none."""
        if embedder_id is None:
            return ""
        row = self._tx.one("SELECT identity FROM embedders WHERE id = ?", embedder_id)
        return str(row[0]) if row else ""

    def owners(self, *, waiting: bool = False) -> list[str]:
        """Return the owners that have items, or items that wait. Skips through the index, a step each."""
        which = "embedded IS NULL AND owner > ? ORDER BY owner, id" if waiting else "owner > ? ORDER BY owner, at"
        found = [""]
        while row := self._tx.one(f"SELECT owner FROM items WHERE {which} LIMIT 1", found[-1]):
            found.append(str(row[0]))
        return found[1:]

    # Items and their vectors

    def pending(self, owner: str, limit: int, kind: ItemKind | None = None) -> list[ItemText]:
        """Return the oldest of an owner's items that wait for a vector; of one kind, if named."""
        which = "" if kind is None else f"AND i.kind = '{kind}' "
        rows = self._tx.all(f"{_TEXTS} AND i.embedded IS NULL {which}ORDER BY i.id LIMIT ?", owner, limit)
        return [ItemText(*row) for row in rows]

    def pending_count(self, owner: str, limit: int) -> int:
        """Return how many `pending` would return."""
        row = self._tx.one(
            "SELECT count(*) FROM (SELECT 1 FROM items WHERE owner = ? AND embedded IS NULL LIMIT ?) AS few",
            *(owner, limit),
        )
        return int(row[0]) if row else 0

    def waiting(self) -> int:
        """Return how many items of all owners wait: for a vector, or for one of the next embedder."""
        row = self._tx.one(
            "SELECT (SELECT count(*) FROM items WHERE embedded IS NULL), (SELECT count(*) FROM index_state s "
            "CROSS JOIN items i WHERE s.next_embedder_id IS NOT NULL AND i.owner = s.owner "
            "AND i.id > s.next_embedded_until)"
        )
        return row[0] + row[1] if row else 0

    def after(self, owner: str, item_id: int, limit: int) -> list[ItemText]:
        """Return the next items in the order of their ids, with or without a vector."""
        rows = self._tx.all(f"{_TEXTS} AND i.id > ? ORDER BY i.id LIMIT ?", owner, item_id, limit)
        return [ItemText(*row) for row in rows]

    def with_vector(self, owner: str, before: int = NO_LIMIT, limit: int = NO_LIMIT) -> list[int]:
        """Return the ids of the newest items before this one that should have a vector, newest first."""
        rows = self._tx.all(
            "SELECT id FROM items WHERE owner = ? AND embedded = 1 AND id < ? ORDER BY id DESC LIMIT ?",
            *(owner, before, limit),
        )
        return [row[0] for row in rows]

    def mark_embedded(self, ids: Iterable[int], *, has_vector: bool) -> list[int]:
        """Note that these have their vectors, or that they can have none. Return those that exist and waited."""
        rows = self._tx.many(
            "UPDATE items SET embedded = ? WHERE id = ? AND embedded IS NULL RETURNING id",
            [(int(has_vector), id_) for id_ in ids],
        )
        return [row[0] for row in rows]

    def not_derived(self, ids: Iterable[int]) -> frozenset[int]:
        """Return those of the ids that were not made from a record."""
        rows = self._tx.many(
            "SELECT id FROM items WHERE id = ? AND (kind = 'record' OR record_id IS NULL)", [(id_,) for id_ in ids]
        )
        return frozenset(row[0] for row in rows)

    def gone(self, ids: Sequence[int]) -> list[int]:
        """Return those of the ids that no item has."""
        rows = self._tx.many("SELECT id FROM items WHERE id = ?", [(id_,) for id_ in ids])
        return sorted({*ids} - {row[0] for row in rows})

    def requeue(self, ids: Sequence[int]) -> list[int]:
        """Have the vectors of these items made again. Return those that did not wait already."""
        sql = "UPDATE items SET embedded = NULL WHERE id = ? AND embedded IS NOT NULL RETURNING id"
        return [row[0] for row in self._tx.many(sql, [(id_,) for id_ in ids])]

    # Another embedder

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

    def without_mean(self) -> list[tuple[str, str]]:
        """Return the owners whose mean is to be computed, each with whose vectors are in use."""
        rows = self._tx.all(
            "SELECT s.owner, e.identity FROM index_state s JOIN embedders e ON e.id = s.embedder_id "
            "WHERE s.mean IS NULL ORDER BY s.owner"
        )
        return [(owner, identity) for owner, identity in rows]

    def chosen(self, owner: str) -> str:
        """Return the embedder that makes an owner's vectors, or will; empty where none has begun."""
        state = self.get(owner)
        return self.identity(state.next_embedder_id or state.embedder_id)

    def changing_to(self, identity: str) -> list[str]:
        """Return the owners whose vectors this embedder is to make next."""
        rows = self._tx.all(
            "SELECT s.owner FROM index_state s JOIN embedders e ON e.id = s.next_embedder_id WHERE e.identity = ?",
            identity,
        )
        return [row[0] for row in rows]
