"""What has ended: the rows of `ends`, and of `citations`, which facts cite which records.

A fact has ended where its document says so. Anything else has a row of its own only where a person corrected it,
or called it outdated. A record is superseded when all facts that cite it have ended, partly superseded when some
have; so are the journal line and the experiences that sum it up. That is not stored: whoever reads them asks here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from lifelong.organize.facts import MAX_CITED
from lifelong.storage.base import NO_LIMIT, Row, Transaction
from lifelong.types import ItemKind, to_micros

RECORDS_STEP = 64  # records are looked up in multiples of this, so that few statements need to be prepared
MAX_RECORDS = 10_000  # in a statement; PostgreSQL takes 65,535 parameters

_CITING = (
    "SELECT c.record_id, c.cites, c.held, e.until, e.known_at, e.by_record FROM citations c "
    "LEFT JOIN ends e ON e.owner = c.owner AND e.kind = 'fact' AND e.ref = c.ref "
    "WHERE c.owner = ? AND c.record_id IN ({})"
)
_FACT_ENDED = "EXISTS (SELECT 1 FROM ends x WHERE x.owner = c.owner AND x.kind = 'fact' AND x.ref = c.ref)"
_CITES = "SELECT 1 FROM citations c WHERE c.owner = i.owner AND c.record_id = i.record_id AND c.cites = 1"
HAS_ENDED = (
    "(EXISTS (SELECT 1 FROM ends x WHERE x.owner = i.owner AND x.kind = i.kind AND x.ref = i.ref) "
    f"OR (i.kind <> 'fact' AND EXISTS ({_CITES} AND {_FACT_ENDED}) "
    f"AND NOT EXISTS ({_CITES} AND NOT {_FACT_ENDED})))"
)
"""Whether an item `i` has ended, as a condition."""


class End(NamedTuple):
    """Since when something is no longer true (0: only a part of it has ended), since when that is known, both in
    microseconds, and the record that says so."""

    until: int
    known_at: int
    by_record: int | None


class FactState(NamedTuple):
    """The records that a fact cites, and when it stopped being true, by which record; none: it holds."""

    records: frozenset[int]
    until: datetime | None
    by_record: int | None


class Ends:
    """What has ended of one owner's memory, seen through a transaction."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner

    # Writing

    def put(self, kind: ItemKind, ref: str, until: datetime, known: datetime, by: int | None) -> None:
        """End an item, as a person says. An end that became known earlier stays."""
        self._tx.run(
            "INSERT INTO ends (owner, kind, ref, until, known_at, by_record) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (owner, kind, ref) DO UPDATE SET until = excluded.until, known_at = excluded.known_at, "
            "by_record = excluded.by_record WHERE excluded.known_at < ends.known_at",
            *(self._owner, kind, ref, to_micros(until), to_micros(known), by),
        )

    def remove(self, kind: ItemKind, refs: Iterable[str]) -> None:
        """Let items hold again."""
        self._tx.many(
            "DELETE FROM ends WHERE owner = ? AND kind = ? AND ref = ?",
            [(self._owner, kind, ref) for ref in refs],
        )

    def remove_document(self, document_id: str) -> None:
        """Remove what the facts of a document cite, and which have ended, so that both are derived again."""
        self._tx.run(
            "DELETE FROM ends WHERE owner = ? AND kind = 'fact' AND substr(ref, 1, ?) = ?",
            *(self._owner, len(document_id) + 1, f"{document_id}#"),
        )
        self._tx.run("DELETE FROM citations WHERE owner = ? AND document_id = ?", self._owner, document_id)

    def put_facts(self, document_id: str, facts: Mapping[str, FactState], now: datetime) -> None:
        """Set what the facts of a document cite, and which of them have ended. What left the document keeps its
        end, and the time until which it held, so that a record's end is known since the same time wherever a fact
        moves to. A person's own text cites nothing, and ends by what people say of it."""
        at = to_micros(now)
        before = {
            (row[0], row[1]): bool(row[2])
            for row in self._tx.all(
                "SELECT ref, record_id, cites FROM citations WHERE owner = ? AND document_id = ?",
                *(self._owner, document_id),
            )
        }
        cites = {(ref, record) for ref, one in facts.items() for record in one.records}
        # A fact that was said too often to cite every record still rests on those between.
        spans = {ref: (min(one.records), max(one.records)) for ref, one in facts.items() if _is_full(one)}
        cites |= {
            (ref, record)
            for (ref, record), did in before.items()
            if did and ref in spans and spans[ref][0] < record < spans[ref][1]
        }
        known = self._of_facts({*facts, *(ref for ref, _ in before)})
        cited = {ref for ref, _ in before} | {ref for ref, _ in cites}
        ended = {ref: one for ref, one in facts.items() if one.until and ref in cited}
        self.remove("fact", [ref for ref in known if ref in facts and ref in cited and ref not in ended])
        self._tx.many(
            "INSERT INTO ends (owner, kind, ref, until, known_at, by_record) VALUES (?, 'fact', ?, ?, ?, ?) "
            "ON CONFLICT (owner, kind, ref) DO UPDATE SET until = excluded.until, by_record = excluded.by_record",
            [
                (self._owner, ref, to_micros(one.until), at, one.by_record)
                for ref, one in ended.items()
                if one.until and known.get(ref) != (to_micros(one.until), one.by_record)
            ],
        )
        self._tx.many(
            "UPDATE citations SET cites = ?, held = CASE WHEN ? = 1 THEN ? ELSE held END "
            "WHERE owner = ? AND document_id = ? AND ref = ? AND record_id = ?",
            [
                (int(does), int(stops), at, self._owner, document_id, *one)
                for one, did in before.items()
                if (does := one in cites) != did or (did and one[0] not in known and one[0] in ended)
                for stops in [did and one[0] not in known]
            ],
        )
        self._tx.many(
            "INSERT INTO citations (owner, document_id, ref, record_id, cites, held) VALUES (?, ?, ?, ?, 1, 0)",
            [(self._owner, document_id, *one) for one in sorted(cites - before.keys())],
        )

    def _of_facts(self, refs: Collection[str]) -> dict[str, tuple[int, int | None]]:
        rows = self._tx.many(
            "SELECT ref, until, by_record FROM ends WHERE owner = ? AND kind = 'fact' AND ref = ?",
            [(self._owner, ref) for ref in sorted(refs)],
        )
        return {row[0]: (row[1], row[2]) for row in rows}

    # Reading

    def of_records(self, records: Collection[int]) -> dict[int, End]:
        """Return the ends of those that are superseded, wholly or partly, by the facts that cite them."""
        citing: dict[int, list[Row]] = {}
        asked = sorted(records)
        for start in range(0, len(asked), MAX_RECORDS):
            some = asked[start : start + MAX_RECORDS]
            padded = [*some, *[0] * (-len(some) % RECORDS_STEP)]
            for row in self._tx.all(_CITING.format(", ".join("?" * len(padded))), self._owner, *padded):
                citing.setdefault(row[0], []).append(row[1:])
        return {record: end for record, rows in citing.items() if (end := _end(rows))}

    def is_superseded(self, record: int) -> bool:
        """Return whether all facts that cite a record have ended."""
        return any(end.until for end in self.of_records([record]).values())

    def superseded_records(self) -> list[int]:
        """Return the records of which every fact that cites them has ended. SQLite keeps the order of a cross
        join: there are fewer ends than citations."""
        rows = self._tx.all(
            "SELECT DISTINCT c.record_id FROM ends e CROSS JOIN citations c WHERE e.owner = ? AND e.kind = 'fact' "
            "AND c.owner = e.owner AND c.ref = e.ref AND c.cites = 1 AND NOT EXISTS (SELECT 1 FROM citations h "
            "LEFT JOIN ends x ON x.owner = h.owner AND x.kind = 'fact' AND x.ref = h.ref WHERE h.owner = c.owner "
            "AND h.record_id = c.record_id AND h.cites = 1 AND x.ref IS NULL)",
            self._owner,
        )
        return [row[0] for row in rows]

    def refs(self, kind: ItemKind) -> set[str]:
        """Return what has a row of its own, of this kind."""
        return {
            row[0] for row in self._tx.all("SELECT ref FROM ends WHERE owner = ? AND kind = ?", self._owner, kind)
        }

    def citing(self, records: Collection[int]) -> list[tuple[int, str]]:
        """Return the facts that cite these records now: record and ref."""
        rows = self._tx.many(
            "SELECT record_id, ref FROM citations WHERE owner = ? AND record_id = ? AND cites = 1",
            [(self._owner, record) for record in records],
        )
        return [(row[0], row[1]) for row in rows]


def _is_full(fact: FactState) -> bool:
    """Return whether a fact cites as many records as it may."""
    return len(fact.records) >= MAX_CITED


def _end(rows: Collection[Row]) -> End | None:
    """Return the end of a record, from what is known of the facts that cite it or once did: whether each still
    does, when it last held, and its end."""
    citing = [(until, by or 0, known) for cites, _, until, known, by in rows if cites and until is not None]
    holding = any(cites and until is None for cites, _, until, *_ in rows)
    if not citing:
        return None
    if holding:
        by, known = max((by, known) for _, by, known in citing)
        return End(0, known, by) if by else None
    until, by, _ = min(citing)
    known = min((known for *_, known, _ in rows if known is not None), default=NO_LIMIT)
    return End(until, max(known, *(held for _, held, *_ in rows)), by or None)
