"""The rows of a whole user: counted, and deleted table by table."""

from __future__ import annotations

from datetime import datetime

from lifelong.collect.agents import Agents
from lifelong.collect.erasures import count_erasure, forget_count
from lifelong.collect.tombstones import Tombstones
from lifelong.forget.tables import TABLES
from lifelong.recall.items import Items
from lifelong.storage.base import Transaction

ROWS_PER_WRITE = 2_000  # deleted in one transaction: other users' writers wait as long
LAST = frozenset(("erasures", "erasure_counts", "tombstones"))
"""The tables that say that the user is being forgotten."""

_SOME = {
    "items": "SELECT id FROM items WHERE owner = ? LIMIT ?",
    "session_history": (
        "SELECT h.id FROM session_history h JOIN sessions s ON s.id = h.session_id "
        "JOIN agents a ON a.id = s.agent_id WHERE a.owner = ? LIMIT ?"
    ),
}


def count_user(tx: Transaction, owner: str) -> dict[str, int]:
    """Return how many rows each table has of a user."""
    counts = {}
    for table in TABLES:
        if table.belongs != "home":
            row = tx.one(f"SELECT count(*) FROM {table.name} WHERE {table.owned}", owner)
            counts[table.name] = int(row[0]) if row else 0
    return counts


def erase_some_of_user(tx: Transaction, owner: str) -> bool:
    """Delete some rows of a user, and all but the last tables when there are few. Return whether some are left."""
    Agents(tx).lock(row[0] for row in tx.all("SELECT id FROM agents WHERE owner = ?", owner))
    count_erasure(tx, owner)
    tx.run("DELETE FROM tokens WHERE owner = ?", owner)  # first: what is added meanwhile would be lost
    for table, which in _SOME.items():
        if ids := [row[0] for row in tx.all(which, owner, ROWS_PER_WRITE)]:
            if table == "items":
                Items(tx, owner).erase(ids)
            else:
                tx.many(f"DELETE FROM {table} WHERE id = ?", [(id_,) for id_ in ids])
            return True
    for one in reversed(TABLES):
        if one.belongs != "home" and one.name not in LAST:
            tx.run(f"DELETE FROM {one.name} WHERE {one.owned}", owner)
    return False


def finish_user(tx: Transaction, owner: str, author: str, now: datetime) -> None:
    """Delete the last rows of a user, and note that somebody was forgotten, without the name."""
    forget_count(tx, owner)
    for table in sorted(LAST):
        tx.run(f"DELETE FROM {table} WHERE owner = ?", owner)
    Tombstones(tx, owner).add_user(author, now)
