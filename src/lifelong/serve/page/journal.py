"""The journal: what was written down, by day and category, what compaction told of it, what opens a session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from starlette.responses import Response

from lifelong.errors import InputError
from lifelong.journal.compaction import parse_blocks
from lifelong.journal.records import JournalRecord, encode, parse
from lifelong.journal.service import JournalService
from lifelong.serve.page.context import Visit

LISTED = 200
ARCHIVED = 500  # records of a month, the newest


class Day(NamedTuple):
    day: str
    records: list[JournalRecord]


class Archived(NamedTuple):
    """The records that compaction took out of MEMORY.md in a month."""

    month: str
    page: str
    of: int
    records: list[JournalRecord]


def journal(visit: Visit) -> Response:
    memory, show = visit.memory, visit.text("show") or "records"
    if not memory.settings.continuity.journal_enabled:
        return visit.show("journal.html", is_on=False, show=show)
    if show == "long":
        text = memory.journal.long_memory()
        return visit.show(
            "journal.html",
            is_on=True,
            show=show,
            blocks=parse_blocks(encode(text))[::-1],
            text=text,
            archived=_archived(memory.journal),
            ended=memory.admin.ended("journal"),
        )
    if show == "context":
        return visit.show("journal.html", is_on=True, show=show, context=memory.journal.context())
    return _records(visit, memory.journal)


def _records(visit: Visit, journal: JournalService) -> Response:
    """MEMORY.md, or the page of a day, newest first."""
    chosen, category = visit.text("day"), visit.text("category")
    found = (journal.day(_date(chosen)) if chosen else journal.records())[::-1]
    counts = Counter(one.category for one in found)
    newest = sorted((one for one in found if category in ("", one.category)), key=_time, reverse=True)
    part = visit.part(newest, LISTED, len(newest))
    return visit.show(
        "journal.html",
        is_on=True,
        show="records",
        days=_by_day(visit, part.shown),
        part=part,
        ended=visit.memory.admin.ended("journal"),
        counts=counts.most_common(),
        chosen=chosen,
        category=category,
        pages=[page.stem for page in journal.files.days()][::-1],
    )


def _by_day(visit: Visit, records: Iterable[JournalRecord]) -> list[Day]:
    def day(record: JournalRecord) -> str:
        at = record.timestamp
        return at.astimezone(visit.zone).date().isoformat() if at else ""

    return [Day(one, list(found)) for one, found in groupby(records, day)]


def _time(record: JournalRecord) -> float:
    return record.timestamp.timestamp() if record.timestamp else 0.0


def _archived(journal: JournalService) -> list[Archived]:
    folder: Path = journal.files.archive_folder
    found = []
    for page in sorted(folder.glob("compacted-????-??.md"), reverse=True):
        records = [line.record for line in parse(journal.files.read(page)) if line.record][::-1]
        month = page.stem.removeprefix("compacted-")
        found.append(Archived(month, page.name, len(records), records[:ARCHIVED]))
    return found


def _date(text: str) -> date:
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()  # noqa: DTZ007  # a day has no zone
    except ValueError:
        raise InputError(f"{text!r:.200} is no day. Write it as 2026-03-05.") from None
