"""What search indexes of the journal and of notes, file by file, so that only changed files are read again.

A record of the journal is in MEMORY.md and in the file of its day; it is indexed once, by its id. What a person
wrote between the records, long-term summaries and notes are indexed by paragraph. Secrets are not indexed, nor
lines that may be part of a record, as their sensitivity is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

from lifelong.journal.files import BLOCK_END, JournalFiles, list_names
from lifelong.journal.records import JournalRecord, first_record_of, looks_like_record, parse
from lifelong.types import Item, ItemKind, Provenance

BY_PERSON = ("user", "cli")
"""The source of what a person wrote: a correction, or a line at the command line."""
MADE_BY_RULE = ("turn-summary", "compaction")

_NOT_STORABLE = re.compile(r"[\0\ud800-\udfff]")  # PostgreSQL refuses these
_BLANK_LINE = re.compile(r"\n\s*\n")


def journal_paths(files: JournalFiles) -> list[Path]:
    """Return the files of the journal to index; some may not exist."""
    return [*files.days(), files.memory, files.long_memory]


def note_paths(folder: Path) -> list[Path]:
    """Return the notes of every worker of a user."""
    workers = folder / "workers"
    folders = [workers / name / "memory" for name in list_names(workers)]
    return sorted(one / name for one in folders for name in list_names(one) if name.endswith(".md"))


def journal_items(data: bytes, path: Path, root: Path) -> Iterator[Item]:
    """Give the items of a journal file with this content. The item of a secret record is empty, which empties the
    same record's item from other files, too."""
    modified, container = _modified(path), _thread(path, root)
    written: list[str] = []
    for line in parse(data):
        if line.record:
            yield _record_item(line.record, modified, container)
        elif not looks_like_record(line.raw):
            written.append(line.raw)
    yield from _paragraphs("journal", "".join(written), path, root)


def appended_journal_items(data: bytes, path: Path, root: Path) -> list[Item] | None:
    """Return the items of what was appended to a journal file after a whole line; none where that is not records
    alone: other text may continue a paragraph."""
    if any(line.record is None for line in parse(data)):
        return None
    return list(journal_items(data, path, root))


def note_items(data: bytes, path: Path, root: Path) -> Iterator[Item]:
    """Give the items of a note with this content, a paragraph each."""
    yield from _paragraphs("note", data.decode("utf-8", "replace"), path, root)


def _record_item(record: JournalRecord, modified: datetime, container: str) -> Item:
    text = _text(record.text) if record.text.strip() and not record.is_secret else ""
    return Item(
        *("journal", _text(record.id), text, record.timestamp or modified, container),
        session_id=_text(record.session_id),
        record_id=first_record_of(record.id),
        trust=trust_of(record),
        approved_by=_text(record.approved_by),
    )


def trust_of(record: JournalRecord) -> Provenance:
    """Return whose word a record is: a person's only where a person wrote it, whatever its category says."""
    if record.source_channel == "web":
        return "web"
    by_person = record.source_channel in BY_PERSON and record.category not in MADE_BY_RULE
    return "user" if by_person else "agent"


def _paragraphs(kind: ItemKind, content: str, path: Path, root: Path) -> Iterator[Item]:
    container = _thread(path, root)
    for paragraph in _BLANK_LINE.split(_text(content)):
        text = "\n".join(line for line in paragraph.splitlines() if not line.startswith(("#", BLOCK_END))).strip()
        if text:
            digest = blake2b(text.encode(), digest_size=9).hexdigest()
            yield Item(kind, f"{container}#{digest}", text, _modified(path), container)


def _thread(path: Path, root: Path) -> str:
    return _text(path.relative_to(root).as_posix())


def _text(text: str) -> str:
    """Return the text with a replacement character for what cannot be stored."""
    return _NOT_STORABLE.sub("\ufffd", text)


def _modified(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)
