"""The rows of `tombstones`: what was forgotten, when and on whose word, without a text.

A record's tombstone has a digest of the record as it was said, with a key of the database, so that a transcript or
an export that holds it cannot bring it back.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from secrets import token_hex
from typing import NamedTuple

from lifelong.collect.history import RecordRow, without_original
from lifelong.storage.base import Transaction
from lifelong.types import from_micros, to_micros


class Tombstone(NamedTuple):
    """That something was forgotten. `kind` and `ref` say what it was: `record` and its number, `document` and its
    id, and so on."""

    kind: str
    ref: str
    at: datetime
    author: str


class Added(list[str]):
    """The ids of the records that are stored, in the order in which they came. `forgotten` are those that had been
    forgotten and came again with their own times: they are not stored, and are not among the ids."""

    def __init__(self, ids: Iterable[str] = (), forgotten: Sequence[Tombstone] = ()) -> None:
        super().__init__(ids)
        self.forgotten = forgotten


class Tombstones:
    """The tombstones of one owner, seen through a transaction."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner

    def add(self, kind: str, refs: Iterable[str], author: str, now: datetime) -> None:
        """Note that these were forgotten."""
        self._insert([(kind, ref, "") for ref in refs], author, now)

    def add_records(self, records: Sequence[tuple[int, RecordRow]], author: str, now: datetime) -> None:
        """Note that these records were forgotten, so that they do not come back."""
        key = self._key()
        self._insert([("record", str(id_), digest(key, row)) for id_, row in records], author, now)

    def add_parts(self, records: Sequence[tuple[int, RecordRow]], author: str, now: datetime) -> None:
        """Note that a part of these records was forgotten, so that they do not come back as they were."""
        key = self._key() if records else ""
        known = [(id_, digest(key, row)) for id_, row in records]
        self._insert([("part", f"{id_}.{one[:8]}", one) for id_, one in known], author, now)

    def _insert(self, rows: Iterable[tuple[str, str, str]], author: str, now: datetime) -> None:
        self._tx.many(
            "INSERT INTO tombstones (owner, kind, ref, digest, at, author) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (owner, kind, ref) DO NOTHING",
            [(self._owner, *row, to_micros(now), author) for row in rows],
        )

    def find(self, kind: str, ref: str) -> Tombstone | None:
        """Return the tombstone of a thing; none where it was not forgotten."""
        row = self._tx.one(
            "SELECT kind, ref, at, author FROM tombstones WHERE owner = ? AND kind = ? AND ref = ?",
            *(self._owner, kind, ref),
        )
        return Tombstone(row[0], row[1], from_micros(row[2]), row[3]) if row else None

    def of_record(self, number: int) -> list[Tombstone]:
        """Return the tombstones of a record and of parts of it, newest first."""
        rows = self._tx.all(
            "SELECT kind, ref, at, author FROM tombstones WHERE owner = ? AND (kind = 'record' AND ref = ? "
            "OR kind = 'part' AND ref LIKE ?) ORDER BY at DESC, ref",
            *(self._owner, str(number), f"{number}.%"),
        )
        return [Tombstone(kind, ref, from_micros(at), author) for kind, ref, at, author in rows]

    def recent(self, limit: int) -> list[Tombstone]:
        """Return the newest first; also that a user of this name was forgotten."""
        rows = self._tx.all(
            "SELECT kind, ref, at, author FROM tombstones WHERE owner IN (?, ?) "
            "ORDER BY at DESC, kind, ref LIMIT ?",
            *(self._owner, self._forgotten_name(), limit),
        )
        return [Tombstone(kind, ref, from_micros(at), author) for kind, ref, at, author in rows]

    def forgotten_records(self, records: Collection[int]) -> set[int]:
        """Return those of these records that were forgotten."""
        rows = self._tx.many(
            "SELECT ref FROM tombstones WHERE owner = ? AND kind = 'record' AND ref = ?",
            [(self._owner, str(record)) for record in records],
        )
        return {int(row[0]) for row in rows}

    def add_user(self, author: str, now: datetime) -> None:
        """Note that a whole user was forgotten, without the name."""
        self._key()
        Tombstones(self._tx, self._forgotten_name()).add("user", [""], author, now)

    def _forgotten_name(self) -> str:
        """Return what the tombstone of the user has in the place of the name; empty where nobody was forgotten."""
        row = self._tx.one("SELECT key FROM digest_keys WHERE id = 1")
        return hmac.digest(str(row[0]).encode(), self._owner.encode(), "sha256").hex() if row else ""

    def find_again(self, rows: Sequence[RecordRow], owners: Collection[str] = ()) -> dict[int, int]:
        """Return which of these rows were forgotten before, or a part of them: their places, and the numbers that
        they had. `owners`: whose tombstones count, if not the owner's alone."""
        found: dict[int, int] = {}
        for owner in owners or (self._owner,):
            if not self._tx.one("SELECT 1 FROM tombstones WHERE owner = ? AND digest <> '' LIMIT 1", owner):
                continue
            key = self._key()
            places: dict[str, list[int]] = {}
            for place, row in enumerate(rows):
                places.setdefault(digest(key, row), []).append(place)
            again = self._tx.many(
                "SELECT digest, ref FROM tombstones WHERE digest = ? AND owner = ?",
                [(one, owner) for one in places],
            )
            found |= {place: int(ref.partition(".")[0]) for one, ref in again for place in places[one]}
        return found

    def _key(self) -> str:
        self._tx.run("INSERT INTO digest_keys (id, key) VALUES (1, ?) ON CONFLICT (id) DO NOTHING", token_hex(32))
        row = self._tx.one("SELECT key FROM digest_keys WHERE id = 1")
        assert row, "it was just made"
        return str(row[0])


def forgotten_users(tx: Transaction) -> list[Tombstone]:
    """Return that whole users of the home were forgotten, newest first: when and by whom, without their names."""
    rows = tx.all("SELECT at, author FROM tombstones WHERE kind = 'user' ORDER BY at DESC, owner")
    return [Tombstone("user", "", from_micros(at), author) for at, author in rows]


def pending_erasures(tx: Transaction) -> list[str]:
    """Return the users of whom something is still being forgotten."""
    return [row[0] for row in tx.all("SELECT DISTINCT owner FROM erasures WHERE state = 'pending'")]


def oldest_erasure(tx: Transaction) -> datetime | None:
    """Return since when something of the home is being forgotten that is not gone yet; none where nothing is."""
    row = tx.one("SELECT min(at) FROM erasures WHERE state = 'pending'")
    return from_micros(row[0]) if row and row[0] is not None else None


def digest(key: str, row: RecordRow) -> str:
    """Return what tells a record from every other: who said what, and when."""
    kind, provenance, at, data = row
    said = without_original(data)
    return hmac.digest(key.encode(), f"{kind} {provenance} {at} {said}".encode(), "sha256").hex()
