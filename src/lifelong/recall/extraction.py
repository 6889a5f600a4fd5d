"""Experiences out of the journal: what was written since the last look, before it is compacted.

How far it came is kept after each few records. A stop in between has them looked at again, and what was added then
is known by its record or by its text.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from functools import partial

from lifelong.errors import InputError, Outvoted
from lifelong.journal.indexing import trust_of
from lifelong.journal.records import JournalRecord
from lifelong.journal.service import JournalService
from lifelong.recall.experience_rows import Experience, ExperienceRows, Looked
from lifelong.recall.experiences import LONGEST, SHORTEST, Experiences, checked
from lifelong.redaction import has_secret
from lifelong.storage.base import Database, Transaction
from lifelong.types import Clock

log = logging.getLogger("lifelong.recall")

CATEGORIES = frozenset(("note", "learned", "turn-summary", "user-preference", "decision"))
BATCH = 50  # records after which is noted how far it came
OVERLAP = timedelta(days=1)  # a turn is written down after it was over


def extract(
    database: Database,
    owner: str,
    clock: Clock,
    experiences: Experiences,
    journal: JournalService,
    ended: Callable[[], Collection[str]],
) -> None:
    """Heal the store, and add what is new in the journal; the records that have `ended` say nothing. Where another
    process has chosen an embedder that is not at hand, that is left to whoever has it, and the journal goes on."""
    try:
        experiences.heal()
    except Outvoted as error:
        log.warning("no experiences are extracted: %s", error)
        database.write(partial(_go_by_time, owner))
        return
    new, added = _since(database.read(lambda tx: ExperienceRows(tx, owner).looked()), journal), 0
    over = ended()
    for start in range(0, len(new), BATCH):
        batch = new[start : start + BATCH]
        lasting = (record for record in batch if is_candidate(record) and record.id not in over)
        told = [one for record in lasting if (one := _told(record, clock))]
        added += sum(id_ is not None for id_ in experiences.add_all(told))
        database.write(partial(_note, owner, Looked(batch[-1].id, clock())))
    log.info("extraction: %d record(s) looked at, %d experience(s) added", len(new), added)


def _since(looked: Looked | None, journal: JournalService) -> Sequence[JournalRecord]:
    """The records behind the last one that was looked at. Where that one is gone, those of the time since: what a
    rolling window has taken out of MEMORY.md stands on the pages of the days."""
    records = journal.records()
    places = [place for place, record in enumerate(records) if looked and record.id == looked.record]
    if places:
        return records[places[-1] + 1 :]
    since = looked.at - OVERLAP if looked else None
    there = {record.id for record in records}
    days = journal.records_of_days(since.date() if since else None)
    every = [*(record for record in days if record.id not in there), *records]
    return [one for one in every if since is None or one.timestamp is None or one.timestamp > since]


def _go_by_time(owner: str, tx: Transaction) -> None:
    """So that the next look goes through the pages of the days: MEMORY.md may be compacted before it."""
    rows = ExperienceRows(tx, owner)
    if looked := rows.looked():
        rows.look(looked._replace(record=""))


def _note(owner: str, until: Looked, tx: Transaction) -> None:
    ExperienceRows(tx, owner).look(until)


def _told(record: JournalRecord, clock: Clock) -> Experience | None:
    """None for a line that a person or another program wrote as no experience can be."""
    at = record.timestamp or clock()
    given = Experience(
        "", record.text, record.category, record.session_id, record.id, trust_of(record), at, entities=()
    )
    try:
        return checked(given)
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
