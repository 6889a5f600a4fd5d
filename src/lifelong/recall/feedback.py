"""What people said of items: the rows of `feedback`, `pins` and `corrections`.

These are canonical. What an item carries of them follows from them, and is put there again when the index is made
anew.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from datetime import datetime
from typing import Literal, TypeAlias

from lifelong.journal.records import summarized_by
from lifelong.recall.experience_rows import ExperienceRows
from lifelong.recall.items import Items
from lifelong.recall.supersession import line_of
from lifelong.storage.base import Database, Transaction
from lifelong.types import ItemKind, from_micros, to_micros

Verdict: TypeAlias = Literal["useful", "wrong", "outdated"]

NUDGES: dict[Verdict, float] = {"useful": 0.25, "wrong": -0.5, "outdated": -0.5}
FADES = 0.5  # what a verdict counts when it is given again, of what it counted before

_OF_CLAIMS = "substr(item, 1, 5) = 'fact:'"


class FeedbackRows:
    """What was said of one owner's items, seen through a transaction. `item` is a hit's id."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner
        self._items = Items(tx, owner)

    def judge(self, item: str, verdict: Verdict, recall_id: int | None, now: datetime) -> None:
        """Take a verdict down, also on what is shown in the item's place. Whoever says that something is outdated,
        ends it, and what says the same; what was said, was said."""
        is_said = verdict == "outdated" and parts(item)[0] == "record"
        for one in [item] if is_said else self._same(item):
            if one != item and not self._items.find(*parts(one)):
                continue
            self._tx.run(
                "INSERT INTO feedback (owner, item, verdict, recall_id, at) VALUES (?, ?, ?, ?, ?)",
                *(self._owner, one, verdict, recall_id, to_micros(now)),
            )
            kind, ref = parts(one)
            self._items.mark(kind, ref, nudge=self.nudge(one))
            if verdict == "outdated" and kind != "record":
                self._end(one, now)

    def nudge(self, item: str) -> float:
        """What all verdicts on an item come to, from -1 to 1."""
        counts = self._tx.all(
            "SELECT verdict, count(*) FROM feedback WHERE owner = ? AND item = ? GROUP BY verdict",
            *(self._owner, item),
        )
        total: float = sum(NUDGES[verdict] * (1 - FADES**count) / (1 - FADES) for verdict, count in counts)
        return max(-1.0, min(1.0, total))

    def pin(self, item: str, now: datetime) -> None:
        self._tx.run(
            "INSERT INTO pins (owner, item, at) VALUES (?, ?, ?) ON CONFLICT (owner, item) DO NOTHING",
            *(self._owner, item, to_micros(now)),
        )
        self._items.mark(*parts(item), pinned=True)

    def unpin(self, item: str) -> bool:
        """Whether it was pinned."""
        self._items.mark(*parts(item), pinned=False)
        return bool(self._tx.run("DELETE FROM pins WHERE owner = ? AND item = ?", self._owner, item))

    def correct(self, item: str, record_id: int, now: datetime) -> None:
        """A record says what is so instead: the item ends, and what says the same. A fact ends in its document,
        and holds again where that says so."""
        for one in self._same(item):
            self._tx.run(
                "INSERT INTO corrections (owner, item, record_id, at) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (owner, item, record_id) DO NOTHING",
                *(self._owner, one, record_id, to_micros(now)),
            )
            if not one.startswith("fact:"):
                self._end(one, now, record_id)

    def _same(self, item: str) -> list[str]:
        """The item first; of a turn, the line of the journal that sums it up and the experiences that came from
        that line, also the others."""
        (kind, ref), experiences = parts(item), ExperienceRows(self._tx, self._owner)
        lines = [ref] if kind == "journal" else line_of(self._tx, int(ref)) if kind == "record" else []
        if kind == "experience":
            lines = [one.record for one in experiences.get([ref]).values() if one.record]
        same = [item]
        for line in lines:
            same += [f"journal:{line}", *(f"experience:{id_}" for id_ in experiences.made_of(line))]
            same += [f"record:{record}"] if (record := summarized_by(line)) else []
        return [*dict.fromkeys(same)]

    def apply(self, among: Container[str] | None = None) -> None:
        """Put on these items, or on all, what was said of them. A document says itself which of its facts have
        ended, but not that of a person's own text, which cites nothing."""
        for (item,) in self._tx.all("SELECT item FROM pins WHERE owner = ?", self._owner):
            if among is None or item in among:
                self._items.mark(*parts(item), pinned=True)
        for (item,) in self._tx.all("SELECT DISTINCT item FROM feedback WHERE owner = ?", self._owner):
            if among is None or item in among:
                self._items.mark(*parts(item), nudge=self.nudge(item))
        corrected = f"SELECT item, at, record_id FROM corrections WHERE owner = ? AND NOT {_OF_CLAIMS}"
        outdated = "SELECT item, at, NULL FROM feedback WHERE owner = ? AND verdict = 'outdated'"
        ended = self._tx.all(f"{corrected} UNION {outdated} ORDER BY 2", self._owner, self._owner)
        for item, at, record_id in ended:
            if (among is None or item in among) and (record_id or self._ends_by_word(item)):
                self._end(item, from_micros(at), record_id)

    def _ends_by_word(self, item: str) -> bool:
        """Whether it has ended because somebody called it outdated."""
        kind, ref = parts(item)
        if kind != "fact":
            return kind != "record"
        found = self._items.find(kind, ref)
        return found is not None and found.record_id is None

    def _end(self, item: str, until: datetime, record_id: int | None = None) -> None:
        kind, ref = parts(item)
        self._items.end(kind, [ref], until, until, record_id)
        if kind == "experience":
            self._tx.run(
                "UPDATE experiences SET until = ? WHERE owner = ? AND id = ? AND until IS NULL",
                *(to_micros(until), self._owner, ref),
            )


def ended_lines(database: Database, owner: str) -> set[str]:
    """The ids of the journal's records that hold no longer: a person said so, or what they sum up has ended."""

    def look(tx: Transaction) -> set[str]:
        rows = tx.all(
            "SELECT item FROM corrections WHERE owner = ? UNION "
            "SELECT item FROM feedback WHERE owner = ? AND verdict = 'outdated'",
            *(owner, owner),
        )
        said = {ref for kind, ref in (parts(item) for (item,) in rows) if kind == "journal"}
        return said | Items(tx, owner).ended("journal").keys()

    return database.read(look)


def corrected(tx: Transaction, owner: str, record_ids: Iterable[int]) -> dict[int, int]:
    """Those of the records that a person corrected, each with the last that says what is so instead; and those
    that do say so, where they stand in the place of the fact they corrected: they have been learned."""
    asked = [*record_ids]
    rows = tx.many(
        "SELECT item, record_id FROM corrections WHERE owner = ? AND item = ? ORDER BY record_id",
        [(owner, f"record:{id_}") for id_ in asked],
    )
    facts = f"SELECT record_id FROM corrections WHERE owner = ? AND {_OF_CLAIMS}"
    stated = {row[0] for row in tx.all(facts, owner)}
    return {id_: id_ for id_ in asked if id_ in stated} | {int(parts(item)[1]): by for item, by in rows}


def apply_all(tx: Transaction) -> None:
    """The same for every owner."""
    tables = ("pins", "feedback", "corrections")
    for (owner,) in tx.all(" UNION ".join(f"SELECT owner FROM {table}" for table in tables)):
        FeedbackRows(tx, owner).apply()


def parts(item: str) -> tuple[ItemKind, str]:
    """Kind and ref of a hit's id."""
    kind, _, ref = item.partition(":")
    return kind, ref  # type: ignore[return-value]  # only ids of items come here
