"""What of the journal and of workers' notes can be found: page by page, so that only what changed is read again.

A record of the journal stands in MEMORY.md and on its day's page: it is found once, by its id. What a person wrote
between the records, a long-term summary and a note are found by their paragraphs. Secrets are not found, nor lines
that may be part of a record, of which nobody knows how secret it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

from lifelong.journal.files import JournalFiles
from lifelong.journal.records import JournalRecord, looks_like_one, parse
from lifelong.journal.turn_summaries import summarized_by
from lifelong.types import Item, ItemKind, Provenance

_NO_TEXT = re.compile(r"[\0\ud800-\udfff]")  # what no database takes
_BLANK = re.compile(r"\n\s*\n")


def journal_pages(pages: JournalFiles) -> list[Path]:
    """Those that there may be."""
    return [*pages.days(), pages.memory, pages.long_memory]


def note_pages(folder: Path) -> list[Path]:
    """The notes of every worker of a user."""
    return sorted(folder.glob("workers/*/memory/*.md"))


def journal_items(page: Path, root: Path) -> Iterator[Item]:
    """What a page of the journal says. The item of a secret says nothing: so does then every other page of it."""
    written: list[str] = []
    for line in parse(page.read_bytes()):
        if line.record:
            yield _of_record(line.record, _modified(page), _thread(page, root))
        elif not looks_like_one(line.raw):
            written.append(line.raw)
    yield from _paragraphs("journal", "".join(written), page, root)


def note_items(page: Path, root: Path) -> Iterator[Item]:
    yield from _paragraphs("note", page.read_text("utf-8", "replace"), page, root)


def _of_record(record: JournalRecord, otherwise: datetime, thread: str) -> Item:
    told = _text(record.text) if record.text.strip() and not record.is_secret else ""
    return Item(
        *("journal", _text(record.id), told, record.timestamp or otherwise, thread),
        session_id=_text(record.session_id),
        record_id=summarized_by(record.id),
        trust=trust_of(record),
    )


def trust_of(record: JournalRecord) -> Provenance:
    """Who said what a record tells."""
    if record.source_channel == "web":  # first: a page that tells of preferences is not the user
        return "web"
    return "user" if record.category == "user-preference" else "agent"


def _paragraphs(kind: ItemKind, text: str, page: Path, root: Path) -> Iterator[Item]:
    thread = _thread(page, root)
    for paragraph in _BLANK.split(_text(text)):
        told = "\n".join(line for line in paragraph.splitlines() if not line.startswith("#")).strip()
        if told:
            digest = blake2b(told.encode(), digest_size=9).hexdigest()
            yield Item(kind, f"{thread}#{digest}", told, _modified(page), thread)


def _thread(page: Path, root: Path) -> str:
    return _text(page.relative_to(root).as_posix())


def _text(text: str) -> str:
    """What is no character is marked as such."""
    return _NO_TEXT.sub("\ufffd", text)


def _modified(page: Path) -> datetime:
    return datetime.fromtimestamp(page.stat().st_mtime, UTC)
