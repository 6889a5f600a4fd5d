"""The rows of `erasure_counts`: how often something of an owner was forgotten. They keep text that somebody has in
hand from coming back.

A part that reads text and writes later what was made of it takes the `erasure_count` with the text (before
it, where the text is in a file), and calls `check_erasures` in the transaction that writes. Every transaction that
forgets calls `count_erasure`. So either the text is written first, and is found and erased, or it is read again.
"""

from __future__ import annotations

from lifelong.errors import ErasedMeanwhile
from lifelong.storage.base import Transaction

_HOME = ""
"""Whose row counts the erasures of users who are gone, without their names."""


def erasure_count(tx: Transaction, owner: str) -> int:
    """Return a number that grows whenever something of the owner is forgotten."""
    row = tx.one("SELECT sum(count) FROM erasure_counts WHERE owner IN (?, ?)", owner, _HOME)
    return int(row[0] or 0) if row else 0


def check_erasures(tx: Transaction, owner: str, count: int) -> None:
    """Raise `ErasedMeanwhile` where something of the owner was forgotten since this count was read."""
    if not is_unchanged(tx, owner, count):
        raise ErasedMeanwhile


def is_unchanged(tx: Transaction, owner: str, count: int) -> bool:
    """Return whether nothing of the owner was forgotten since this count was read. If so, nothing is until the
    transaction ends. Lock agents, sessions and the owner's documents before, and everything else after."""
    lock = f"SELECT 1 FROM erasure_counts WHERE owner = ?{tx.for_update}"
    if not tx.one(lock, owner):
        if erasure_count(tx, owner) != count:
            return False  # without a new row: the owner may be gone
        _make_row(tx, owner)
        tx.one(lock, owner)
    return erasure_count(tx, owner) == count


def hold_erasures(tx: Transaction, owner: str) -> None:
    """Let nothing of the owner be forgotten until the transaction ends. The order of locks is the same."""
    is_unchanged(tx, owner, erasure_count(tx, owner))


def count_erasure(tx: Transaction, owner: str) -> None:
    """Count that something of the owner is forgotten in this transaction. The order of locks is the same."""
    _make_row(tx, owner)
    tx.run("UPDATE erasure_counts SET count = count + 1 WHERE owner = ?", owner)


def forget_count(tx: Transaction, owner: str) -> None:
    """Delete the row of an owner who is gone. The count that others see has grown all the same."""
    count_erasure(tx, owner)
    _make_row(tx, _HOME)
    tx.run(
        "UPDATE erasure_counts SET count = count + (SELECT count FROM erasure_counts WHERE owner = ?) "
        "WHERE owner = ?",
        *(owner, _HOME),
    )
    tx.run("DELETE FROM erasure_counts WHERE owner = ?", owner)


def _make_row(tx: Transaction, owner: str) -> None:
    tx.run("INSERT INTO erasure_counts (owner, count) VALUES (?, 0) ON CONFLICT (owner) DO NOTHING", owner)
