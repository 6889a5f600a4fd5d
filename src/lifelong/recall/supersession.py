"""What ends with what was said: a record has ended where every fact made of it has, in whatever document, and is
surpassed where some have. With it end, or are surpassed, the line of the journal that sums its turn up, and the
experience made of that line."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from lifelong.collect.history import History
from lifelong.journal.records import summarized_by, summary_id
from lifelong.organize.document_rows import DocumentRows
from lifelong.recall.citations import Citations
from lifelong.recall.experience_rows import ExperienceRows
from lifelong.recall.items import Items
from lifelong.storage.base import Transaction


def settle(tx: Transaction, owner: str, records: Iterable[int]) -> None:
    """Say of these records, and of what was made of them, whether they hold, as all facts made of them say it.
    What a person corrected or called outdated stays as it is."""
    items, experiences, looked_at = Items(tx, owner), ExperienceRows(tx, owner), set(records)
    for ref in items.revive("record", [str(record) for record in sorted(looked_at)]):
        for line in line_of(tx, int(ref)):
            items.revive("journal", [line])
            experiences.revive(line)
    for end in Citations(tx, owner).ends(looked_at):
        items.end("record", [str(end.record_id)], *end[1:])
        for line in line_of(tx, end.record_id):
            items.end("journal", [line], *end[1:])
            experiences.end(line, *end[1:])


def settle_lines(tx: Transaction, owner: str, lines: Iterable[str], now: datetime) -> None:
    """The same for lines of the journal that were just filed. No changeset of the owner can land meanwhile, and so
    none can end what it does not see yet."""
    if records := {record for line in lines if (record := summarized_by(line))}:
        DocumentRows(tx, owner).lock(now)
        settle(tx, owner, records)


def has_ended(tx: Transaction, owner: str, line: str, now: datetime) -> bool:
    """Whether a line of the journal sums up what has ended. If not, that stays so until the transaction ends."""
    record = summarized_by(line)
    if record is None:
        return False
    DocumentRows(tx, owner).lock(now)
    return bool(Citations(tx, owner).ended([record]))


def line_of(tx: Transaction, record: int) -> list[str]:
    """The line of the journal that sums up the turn that begins with a record; none where there is no such one."""
    session = History(tx).session_of(record)
    return [summary_id(session, record)] if session else []
