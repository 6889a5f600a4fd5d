"""Experiences out of the journal: what was written since the last look, before it is compacted.

How far it came is kept after each few records. A stop in between has them looked at again, and what was added then
is known by its record or by its text.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from recollect.errors import InputError, Outvoted
from recollect.journal.findable import trust_of
from recollect.journal.records import JournalRecord
from recollect.recall.experience_rows import Experience, ExperienceRows, Looked
from recollect.recall.experiences import LONGEST, SHORTEST, Experiences
from recollect.secrecy import has_secret
from recollect.storage.base import Database, Transaction
from recollect.types import Clock

log = logging.getLogger("recollect.recall")

CATEGORIES = frozenset(("note", "learned", "turn-summary", "user-preference", "decision"))
BATCH = 50  # records after which is noted how far it came
OVERLAP = timedelta(days=1)  # a turn is written down after it was over


class Extracted(NamedTuple):
    """How many records were looked at, and how many experiences that gave."""

    looked: int
    added: int


class Extraction:
    """Looks through the journal of one profile. `records` reads MEMORY.md as it is, in its order; `earlier` reads
    the pages of the days from one on, or all: what a rolling window has taken out of MEMORY.md stands there."""

    def __init__(
        self,
        database: Database,
        owner: str,
        clock: Clock,
        experiences: Experiences,
        records: Callable[[], Sequence[JournalRecord]],
        earlier: Callable[[date | None], Iterable[JournalRecord]] = lambda since: (),
    ) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._experiences = experiences
        self._records = records
        self._earlier = earlier

    def run(self) -> Extracted:
        """Heal the store, and add what is new. Where another process has chosen an embedder that is not at hand,
        that is left to whoever has it, and the journal goes on."""
        try:
            self._experiences.heal()
        except Outvoted as error:
            log.warning("no experiences are extracted: %s", error)
            self._database.write(self._go_by_time)
            return Extracted(0, 0)
        looked = self._database.read(lambda tx: ExperienceRows(tx, self._owner).looked())
        new, added = self._since(looked), 0
        for start in range(0, len(new), BATCH):
            batch = new[start : start + BATCH]
            told = [one for record in batch if is_candidate(record) and (one := self._told(record))]
            added += sum(id_ is not None for id_ in self._experiences.add_all(told))
            self._note(Looked(batch[-1].id, self._clock()))
        log.info("extraction: %d record(s) looked at, %d experience(s) added", len(new), added)
        return Extracted(len(new), added)

    def _since(self, looked: Looked | None) -> Sequence[JournalRecord]:
        """The records behind the last one that was looked at; where that one is gone, those of the time since."""
        records = self._records()
        places = [place for place, record in enumerate(records) if looked and record.id == looked.record]
        if places:
            return records[places[-1] + 1 :]
        since = looked.at - OVERLAP if looked else None
        there = {record.id for record in records}
        gone = [record for record in self._earlier(since.date() if since else None) if record.id not in there]
        every = [*gone, *records]
        return [one for one in every if since is None or one.timestamp is None or one.timestamp > since]

    def _go_by_time(self, tx: Transaction) -> None:
        """So that the next look goes through the pages of the days: MEMORY.md may be compacted before it."""
        rows = ExperienceRows(tx, self._owner)
        if looked := rows.looked():
            rows.look(looked._replace(record=""))

    def _note(self, until: Looked) -> None:
        self._database.write(lambda tx: ExperienceRows(tx, self._owner).look(until))

    def _told(self, record: JournalRecord) -> Experience | None:
        """None for a line that a person or another program wrote as no experience can be."""
        try:
            return self._experiences.checked(
                record.text,
                record.category,
                session_id=record.session_id,
                record=record.id,
                trust=trust_of(record),
                at=record.timestamp,
            )
        except InputError as error:
            log.warning("record %.100r of the journal cannot become an experience: %s", record.id, error)
            return None


def is_candidate(record: JournalRecord) -> bool:
    """Whether a record may become an experience: it is long enough, of a kind that lasts, and holds no secret."""
    told = " ".join(record.text.split())
    return (
        record.category in CATEGORIES
        and SHORTEST <= len(told) <= LONGEST
        and not (record.is_secret or has_secret(record.text) or has_secret(told))
    )
