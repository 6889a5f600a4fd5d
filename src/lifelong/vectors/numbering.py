"""Numbers for an owner's vectors, in the order of which these become visible."""

from __future__ import annotations

import secrets

from lifelong.storage.base import Transaction


def next_numbers(tx: Transaction, owner: str, count: int) -> int:
    """Return the first of `count` numbers. Others who take some of this owner's wait until this transaction has
    ended. A new owner's version is one that no other database has, so that its files are never taken for ours."""
    row = tx.one(
        "INSERT INTO index_state (owner, number, version, next_embedded_until) VALUES (?, ?, ?, 0) "
        "ON CONFLICT (owner) DO UPDATE SET number = index_state.number + excluded.number RETURNING number",
        *(owner, count, secrets.randbits(48)),
    )
    assert row, "it was just written"
    return int(row[0]) - count + 1
