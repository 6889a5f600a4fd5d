"""What of the journal and of workers' notes can be found: page by page, so that only what changed is read again.

A record of the journal stands in MEMORY.md and on its day's page: it is found once, by its id. What a person wrote
between the records, a long-term summary and a note are found by their paragraphs. Secrets are not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

from recollect.journal.pages import Pages
from recollect.journal.records import JournalRecord, parse
from recollect.types import Item, ItemKind, Provenance

_BLANK = re.compile(r"\n\s*\n")


def journal_pages(pages: Pages) -> list[Path]:
    """Those that exist, the pages of days first: what stands there is never rewritten."""
    return [page for page in (*pages.days(), pages.memory, pages.long_memory) if page.is_file()]


def note_pages(folder: Path) -> list[Path]:
    """The notes of every worker of a profile."""
    return sorted(folder.glob("workers/*/memory/*.md"))


def journal_items(page: Path, root: Path) -> Iterator[Item]:
    """What a page of the journal says."""
    written: list[str] = []
    for line in parse(page.read_bytes()):
        if line.record is None:
            written.append(line.raw)
        elif not line.record.is_secret and line.record.text.strip():
            yield _of_record(line.record, _modified(page), page.relative_to(root).as_posix())
    yield from _paragraphs("journal", "".join(written), page, root)


def note_items(page: Path, root: Path) -> Iterator[Item]:
    yield from _paragraphs("note", page.read_text("utf-8", "replace"), page, root)


def _of_record(record: JournalRecord, otherwise: datetime, thread: str) -> Item:
    return Item(
        *("journal", record.id, record.text, record.timestamp or otherwise, thread),
        session_id=record.session_id,
        trust=trust_of(record),
    )


def trust_of(record: JournalRecord) -> Provenance:
    """Who said what a record tells."""
    if record.source_channel == "web":  # first: a page that tells of preferences is not the user
        return "web"
    return "user" if record.category == "user-preference" else "agent"


def _paragraphs(kind: ItemKind, text: str, page: Path, root: Path) -> Iterator[Item]:
    thread = page.relative_to(root).as_posix()
    for paragraph in _BLANK.split(text):
        told = "\n".join(line for line in paragraph.splitlines() if not line.startswith("#")).strip()
        if told:
            digest = blake2b(told.encode("utf-8", "replace"), digest_size=9).hexdigest()
            yield Item(kind, f"{thread}#{digest}", told, _modified(page), thread)


def _modified(page: Path) -> datetime:
    return datetime.fromtimestamp(page.stat().st_mtime, UTC)
