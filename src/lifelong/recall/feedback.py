"""Which items have ended, and what people said about them: the rows of `feedback`, `pins`, `unpins` and
`corrections`.

These rows are canonical. What an item carries of them follows from them, and is set again after a rebuild.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from datetime import datetime
from typing import Literal, TypeAlias

from lifelong.collect.history import History
from lifelong.journal.records import first_record_of, summary_id
from lifelong.organize.document_rows import DocumentRows
from lifelong.recall.ends import Ends
from lifelong.recall.experience_rows import ExperienceRows
from lifelong.recall.items import Items
from lifelong.storage.base import Database, Transaction
from lifelong.types import ItemKind, from_micros, to_micros

Verdict: TypeAlias = Literal["useful", "wrong", "outdated"]

VERDICT_SCORES: dict[Verdict, float] = {"useful": 0.25, "wrong": -0.5, "outdated": -0.5}
REPEAT_WEIGHT = 0.5  # of a verdict that is given again, of what it counted before

_OF_FACTS = "substr(item, 1, 5) = 'fact:'"


class FeedbackRows:
    """What people said about one owner's items, seen through a transaction. `item` is `FoundItem.key`."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner
        self._items = Items(tx, owner)

    def add_verdict(self, item: str, verdict: Verdict, recall_id: int | None, now: datetime) -> None:
        """Store a verdict, also for the items that say the same. What is outdated ends, and what says the same;
        only a record stays: it was said."""
        records_stay = verdict == "outdated" and split_key(item)[0] == "record"
        for one in [item] if records_stay else self._same(item):
            if one != item and not self._items.find(*split_key(one)):
                continue
            self._tx.run(
                "INSERT INTO feedback (owner, item, verdict, recall_id, at) VALUES (?, ?, ?, ?, ?)",
                *(self._owner, one, verdict, recall_id, to_micros(now)),
            )
            kind, ref = split_key(one)
            self._items.set_feedback(kind, ref, score=self.feedback_score(one))
            if verdict == "outdated" and kind != "record":
                self._end(one, now)

    def is_outdated(self, item: str) -> bool:
        """Return whether a person said that the item is outdated, and has not taken that back."""
        said = "SELECT 1 FROM feedback WHERE owner = ? AND item = ? AND verdict = 'outdated' LIMIT 1"
        return bool(self._tx.all(said, self._owner, item))

    def take_back_outdated(self, item: str) -> None:
        """Remove the verdicts "outdated" on an item and on what says the same. They hold again, unless they were
        corrected; a fact does where its document says so."""
        same = self._same(item)
        for one in same:
            self._tx.run(
                "DELETE FROM feedback WHERE owner = ? AND item = ? AND verdict = 'outdated'", self._owner, one
            )
            kind, ref = split_key(one)
            self._items.set_feedback(kind, ref, score=self.feedback_score(one))
            if self._ends_by_verdict(one):
                Ends(self._tx, self._owner).remove(kind, [ref])
        self.apply(set(same))

    def feedback_score(self, item: str) -> float:
        """Return what all verdicts on an item add up to, from -1 to 1."""
        counts = self._tx.all(
            "SELECT verdict, count(*) FROM feedback WHERE owner = ? AND item = ? GROUP BY verdict",
            *(self._owner, item),
        )
        total: float = sum(
            VERDICT_SCORES[verdict] * (1 - REPEAT_WEIGHT**count) / (1 - REPEAT_WEIGHT) for verdict, count in counts
        )
        return max(-1.0, min(1.0, total))

    def pin(self, item: str, now: datetime) -> None:
        self._tx.run("DELETE FROM unpins WHERE owner = ? AND item = ?", self._owner, item)
        self._tx.run(
            "INSERT INTO pins (owner, item, at) VALUES (?, ?, ?) ON CONFLICT (owner, item) DO NOTHING",
            *(self._owner, item, to_micros(now)),
        )
        self._items.set_feedback(*split_key(item), pinned=True)

    def unpin(self, item: str, now: datetime) -> bool:
        """Remove a pin, and keep the item out of the core from now on. Return whether there was a pin."""
        self._tx.run(
            "INSERT INTO unpins (owner, item, at) VALUES (?, ?, ?) ON CONFLICT (owner, item) DO NOTHING",
            *(self._owner, item, to_micros(now)),
        )
        return self.remove_pin(item)

    def remove_pin(self, item: str) -> bool:
        """Remove a pin. Return whether there was one."""
        self._items.set_feedback(*split_key(item), pinned=False)
        return bool(self._tx.run("DELETE FROM pins WHERE owner = ? AND item = ?", self._owner, item))

    def taken_out(self) -> set[str]:
        """Return the items that a person took out of the core."""
        return {row[0] for row in self._tx.all("SELECT item FROM unpins WHERE owner = ?", self._owner)}

    def correct(self, item: str, record_id: int, now: datetime) -> None:
        """End an item, and what says the same, since a record says what is true instead. A fact ends in its
        document, and holds again where that says so."""
        for one in self._same(item):
            self._tx.run(
                "INSERT INTO corrections (owner, item, record_id, at) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (owner, item, record_id) DO NOTHING",
                *(self._owner, one, record_id, to_micros(now)),
            )
            if not one.startswith("fact:"):
                self._end(one, now, record_id)

    def _same(self, item: str) -> list[str]:
        """Return the item first, then the others of a record, its journal line and that line's experiences."""
        (kind, ref), experiences = split_key(item), ExperienceRows(self._tx, self._owner)
        if kind == "experience":
            lines = [one.record for one in experiences.get([ref]).values() if one.record]
        else:
            line_id = (
                summary_line_id(self._tx, int(ref)) if kind == "record" else ref if kind == "journal" else None
            )
            lines = [line_id] if line_id else []
        same = [item]
        for line in lines:
            same += [f"journal:{line}", *(f"experience:{id_}" for id_ in experiences.made_of(line))]
            same += [f"record:{record}"] if (record := first_record_of(line)) else []
        return [*dict.fromkeys(same)]

    def move(self, facts: Mapping[str, str]) -> None:
        """Let what people said about facts follow them from one ref to another."""
        for old, new in facts.items():
            for table in ("pins", "unpins", "corrections", "feedback"):
                self._tx.run(
                    f"UPDATE {table} SET item = ? WHERE owner = ? AND item = ? AND NOT EXISTS ("
                    f"SELECT 1 FROM {table} x WHERE x.owner = {table}.owner AND x.item = ?)",
                    *(f"fact:{new}", self._owner, f"fact:{old}", f"fact:{new}"),
                )
            self._items.set_feedback("fact", old, score=0.0, pinned=False)
        if facts:
            self.apply({f"fact:{ref}" for ref in facts.values()})

    def copy(self, facts: Mapping[str, str]) -> None:
        """Let what people said about facts count for those, too, into which they were merged; the refs are old and
        new. The old rows stay, for the merge may be undone."""
        columns = {
            "pins": ("at",),
            "unpins": ("at",),
            "corrections": ("record_id", "at"),
            "feedback": ("verdict", "recall_id", "at"),
        }
        for table, (first, *more) in columns.items():
            values = ", ".join((first, *more))
            known = f"x.{first} = {table}.{first} AND x.at = {table}.at" if more else "1 = 1"
            self._tx.many(
                f"INSERT INTO {table} (owner, item, {values}) SELECT owner, ?, {values} FROM {table} "
                f"WHERE owner = ? AND item = ? AND NOT EXISTS (SELECT 1 FROM {table} x "
                f"WHERE x.owner = {table}.owner AND x.item = ? AND {known})",
                [(f"fact:{new}", self._owner, f"fact:{old}", f"fact:{new}") for old, new in facts.items()],
            )
        self._tx.many(
            "DELETE FROM unpins WHERE owner = ? AND item = ? AND EXISTS ("
            "SELECT 1 FROM pins p WHERE p.owner = unpins.owner AND p.item = unpins.item)",
            [(self._owner, f"fact:{new}") for new in facts.values()],
        )
        if facts:
            self.apply({f"fact:{ref}" for ref in facts.values()})

    def apply(self, among: Container[str] | None = None) -> None:
        """Set on these items, or on all, what people said about them. A document itself says which of its facts
        have ended, except for a person's own text, which cites nothing."""
        for (item,) in self._tx.all("SELECT item FROM pins WHERE owner = ?", self._owner):
            if among is None or item in among:
                self._items.set_feedback(*split_key(item), pinned=True)
        for (item,) in self._tx.all("SELECT DISTINCT item FROM feedback WHERE owner = ?", self._owner):
            if among is None or item in among:
                self._items.set_feedback(*split_key(item), score=self.feedback_score(item))
        corrected = f"SELECT item, at, record_id FROM corrections WHERE owner = ? AND NOT {_OF_FACTS}"
        outdated = "SELECT item, at, NULL FROM feedback WHERE owner = ? AND verdict = 'outdated'"
        ended = self._tx.all(f"{corrected} UNION {outdated} ORDER BY 2", self._owner, self._owner)
        for item, at, record_id in ended:
            if (among is None or item in among) and (record_id or self._ends_by_verdict(item)):
                self._end(item, from_micros(at), record_id)

    def _ends_by_verdict(self, item: str) -> bool:
        """Return whether the verdict "outdated" ends it."""
        kind, ref = split_key(item)
        if kind != "fact":
            return kind != "record"
        found = self._items.find(kind, ref)
        return found is not None and found.record_id is None

    def _end(self, item: str, until: datetime, record_id: int | None = None) -> None:
        Ends(self._tx, self._owner).put(*split_key(item), until, until, record_id)


def has_ended(tx: Transaction, owner: str, line: str, now: datetime) -> bool:
    """Return whether a journal line sums up what has ended. If not, that stays so until the transaction ends."""
    record = first_record_of(line)
    if record is None:
        return False
    DocumentRows(tx, owner).lock(now)
    return Ends(tx, owner).is_superseded(record)


def summary_line_id(tx: Transaction, record: int) -> str | None:
    """Return the id of the journal line that sums up the turn that begins with a record; none for an unknown
    record."""
    session = History(tx).session_of(record)
    return summary_id(session, record) if session else None


def ended_lines(database: Database, owner: str) -> set[str]:
    """Return the ids of journal records that have ended: a person said so, or what they sum up has ended."""

    def look(tx: Transaction) -> set[str]:
        ends = Ends(tx, owner)
        lines = {summary_line_id(tx, record) for record in ends.superseded_records()}
        return ends.refs("journal") | {line for line in lines if line}

    return database.read(look)


def corrected(tx: Transaction, owner: str, record_ids: Iterable[int]) -> dict[int, int]:
    """Return the records that a person corrected, each with the last correction; and corrections that took the
    place of a fact, with themselves: they are in a document already."""
    asked = [*record_ids]
    rows = tx.many(
        "SELECT item, record_id FROM corrections WHERE owner = ? AND item = ? ORDER BY record_id",
        [(owner, f"record:{id_}") for id_ in asked],
    )
    facts = f"SELECT record_id FROM corrections WHERE owner = ? AND {_OF_FACTS}"
    stated = {row[0] for row in tx.all(facts, owner)}
    return {id_: id_ for id_ in asked if id_ in stated} | {int(split_key(item)[1]): by for item, by in rows}


def apply_all(tx: Transaction) -> None:
    """Set on all items of every owner what people said about them."""
    tables = ("pins", "feedback", "corrections")
    for (owner,) in tx.all(" UNION ".join(f"SELECT owner FROM {table}" for table in tables)):
        FeedbackRows(tx, owner).apply()


def split_key(item: str) -> tuple[ItemKind, str]:
    """Return kind and ref of a key."""
    kind, _, ref = item.partition(":")
    return kind, ref  # type: ignore[return-value]  # only keys of items come here
