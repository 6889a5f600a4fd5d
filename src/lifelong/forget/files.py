"""Take what must go out of a user's files: the journal, its archive, LONGMEMORY.md, and worker notes.

A turn's summary is made again from what is left of the turn. Summaries of many turns lose the sentences that were
forgotten. What a person wrote goes only where it is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from functools import partial
from hashlib import blake2b
from pathlib import Path

from lifelong.disk import is_own_file, sync
from lifelong.errors import StorageBusy
from lifelong.forget.plan import ErasurePlan, ForgottenText
from lifelong.journal.compaction import BLOCK, COMPACTION
from lifelong.journal.files import BLOCK_END, JournalFiles, failed, list_files
from lifelong.journal.notes import AFTER_FILE, DISK, archive_folder
from lifelong.journal.records import (
    FileLine,
    JournalRecord,
    encode,
    first_record_of,
    join,
    parse,
    parse_line,
    render,
)
from lifelong.storage.base import NO_LIMIT
from lifelong.text.words import content_words
from lifelong.types import from_micros

_BLOCK_START = re.compile(r"## \d{4}-\d\d-\d\d .*<!-- compaction-[0-9a-f]+ -->")
_EMPTY_BLOCK = re.compile(
    r"^## \d{4}-\d\d-\d\d [^\n]*<!-- compaction-[0-9a-f]+ -->\r?\n(?:#{3,}[^\n]*\r?\n|[ \t]*\r?\n)*"
    r"<!-- end -->\r?\n?(?:\r?\n)?",
    re.MULTILINE,
)
_BLANK_LINE = re.compile(r"(\n\s*\n)")
_DAY_PART = re.compile(r"^### (\d{4}-\d\d-\d\d)$", re.MULTILINE)
_LAST_DAY = re.compile(r" to (\d{4}-\d\d-\d\d)")

Summarize = Callable[[str, int, int], JournalRecord | None]
"""Returns the summary of a session's turn from one record up to another; none where nothing is left of it."""


@dataclass(slots=True)
class ErasedFromFiles:
    """What became of the files: lines that went, lines that were made again, by their old ids, lines that went by
    their age, and the files that were written or deleted."""

    gone: list[str] = field(default_factory=list)
    remade: dict[str, JournalRecord] = field(default_factory=dict)
    aged: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


class FileErasure:
    """Erase from the files of one user. `progress` returns up to which record a session's turns are in the
    journal; days are those of the zone."""

    def __init__(
        self, files: JournalFiles, summarize: Summarize, progress: Callable[[str], int], zone: tzinfo
    ) -> None:
        self._files = files
        self._summarize = summarize
        self._progress = progress
        self._zone = zone

    def look(self, plan: ErasurePlan) -> ErasedFromFiles:
        """Return what would change. Nothing is written."""
        return self._changes(plan)[0]

    def erase(
        self,
        plan: ErasurePlan,
        owner: str,
        now: datetime,
        wait: Callable[[], bool],
        note: Callable[[ErasedFromFiles], None],
    ) -> ErasedFromFiles:
        """Rewrite every file that holds what must go. Nobody else writes summaries or compacts meanwhile; `wait`
        is asked while a compaction runs, and returns whether to wait on. `note` is told what will change, before
        anything does."""
        if not self._files.root.is_dir():
            return ErasedFromFiles()
        with ExitStack() as held:
            held.enter_context(self._files.summarizing(wait=True))
            compactions: list[Callable[[], AbstractContextManager[bool]]] = [
                partial(self._files.compacting, owner, now),
                *(partial(DISK.lock, folder) for folder in _note_folders(plan, self._files.root)),
            ]
            for take in compactions:
                while not held.enter_context(take()):
                    if not wait():
                        raise StorageBusy("A compaction runs. What is to be forgotten goes when it ends.")
            with self._files.writing():
                done, contents = self._changes(plan)
                if contents:
                    note(done)
                try:
                    self._write(contents, plan)
                except OSError as error:
                    raise failed("changed", Path(error.filename or self._files.root), error) from error
        return done

    def _write(self, contents: dict[Path, bytes | None], plan: ErasurePlan) -> None:
        for path, data in contents.items():
            if data is None:
                self._delete(path)
            elif self._is_note(path):
                self._rewrite_note(path, plan)
            else:
                self._replace(path, data)
        self._delete_leftovers()

    def _changes(self, plan: ErasurePlan) -> tuple[ErasedFromFiles, dict[Path, bytes | None]]:
        """Return what changes, and the new content of each file that does; none for a file that goes."""
        done, contents = ErasedFromFiles(), dict[Path, bytes | None]()
        forgotten, limit = ForgottenText.of(plan), AgeLimit.of(plan, self._zone)
        journal = [path for path in self._journal_files() if self._is_own(path)]
        done.remade, dropped = self._turns(plan, journal)
        done.gone = sorted({*plan.lines, *dropped})
        for path in journal:
            before = self._files.read(path)
            if limit and self._is_old_day(path, limit):
                done.aged += [line.record.id for line in parse(before) if line.record]
                contents[path] = None
                continue
            after = self._without(before, done, forgotten, plan)
            if limit:
                after, aged = limit.without_old(after)
                done.aged += aged
            if after != before:
                contents[path] = after if after.strip() or path.parent != self._files.archive_folder else None
        for path in self._notes(plan):
            before = self._files.read(path)
            if (after := self._note_without(path, before, plan)) != before:
                contents[path] = after
        done.files = [path.relative_to(self._files.root).as_posix() for path in contents]
        return done, contents

    def _notes(self, plan: ErasurePlan) -> list[Path]:
        """Return the files of the workers whose notes a plan names, and their archives."""
        folders = _note_folders(plan, self._files.root)
        return sorted(
            path
            for folder in folders
            for one in (folder, archive_folder(folder))
            for path in list_files(one)
            if path.suffix in (".md", Path(AFTER_FILE).suffix) and self._is_own(path)
        )

    def _is_own(self, path: Path) -> bool:
        """Return whether there is a file of the user's. Raise `JournalError` where that cannot be seen."""
        try:
            return is_own_file(path, self._files.root)
        except OSError as error:
            raise failed("read", path, error) from error

    def _is_note(self, path: Path) -> bool:
        return path.is_relative_to(self._files.root / "workers")

    def _note_without(self, path: Path, data: bytes, plan: ErasurePlan) -> bytes:
        """Return a note, or a copy of it in the archive, without the paragraphs that a plan names in it."""
        worker = path.relative_to(self._files.root / "workers").parts[0]
        name = f"workers/{worker}/memory/{path.stem}.md"
        digests = {ref.rpartition("#")[2] for ref in plan.paragraphs if ref.rpartition("#")[0] == name}
        if not digests:
            return data
        return encode(_without_paragraphs(data.decode("utf-8", "surrogateescape"), digests))

    def _rewrite_note(self, path: Path, plan: ErasurePlan) -> None:
        """Rewrite a note. What a worker stores meanwhile stays."""
        while (before := DISK.read(path)) is not None:
            after = self._note_without(path, before, plan)
            if after == before or DISK.swap(path, before, after):
                return

    def _journal_files(self) -> Iterator[Path]:
        yield from (self._files.memory, *self._files.days(), self._files.long_memory)
        yield from (path for path in list_files(self._files.archive_folder) if path.suffix == ".md")

    def _is_old_day(self, path: Path, limit: AgeLimit) -> bool:
        return path.parent == self._files.day(limit.until.date()).parent and path.stem < limit.day

    def _turns(self, plan: ErasurePlan, files: Iterable[Path]) -> tuple[dict[str, JournalRecord], list[str]]:
        """Return the summaries that are made again, by the ids of the old ones, and the ids of those that go."""
        starts = self._starts(plan.turns, files)
        remade: dict[str, JournalRecord] = {}
        dropped: list[str] = []
        for session_id, records in plan.turns.items():
            firsts = sorted(starts.get(session_id, {}))
            for place, first in enumerate(firsts):
                until = self._progress(session_id)
                open_end = until if until >= first else NO_LIMIT  # a crash came before the progress was stored
                last = firsts[place + 1] - 1 if place + 1 < len(firsts) else open_end
                if not any(first <= record <= last for record in records):
                    continue
                made = self._summarize(session_id, first, last)
                for line_id in starts[session_id][first]:
                    if made:
                        remade[line_id] = made
                    else:
                        dropped.append(line_id)
        return remade, dropped

    def _starts(self, sessions: Collection[str], files: Iterable[Path]) -> dict[str, dict[int, set[str]]]:
        """Return the turns of the sessions that are in the journal: their first records, and the lines' ids."""
        found: dict[str, dict[int, set[str]]] = {}
        names = [encode(one) for one in sessions]
        for path in files:
            data = self._files.read(path)
            if not any(name in data for name in names):
                continue
            for line in parse(data):
                one = line.record
                first = first_record_of(one.id) if one else None
                if one and first is not None and one.session_id in sessions:
                    found.setdefault(one.session_id, {}).setdefault(first, set()).add(one.id)
        return found

    def _without(self, data: bytes, done: ErasedFromFiles, forgotten: ForgottenText, plan: ErasurePlan) -> bytes:
        """Return a file of the journal without what must go."""
        named = any(encode(id_) in data for id_ in (*done.gone, *done.remade)) or plan.paragraphs
        if not named and not forgotten.is_in(data.decode("utf-8", "replace")):
            return data
        lines: list[FileLine] = []
        in_block = False
        for line in parse(data):
            if line.record is None:
                text = line.raw.strip()
                in_block = bool(_BLOCK_START.match(text)) or (in_block and text != BLOCK_END)
                if in_block and not text.startswith("#"):
                    cleaned = forgotten.without(line.raw)
                    if cleaned.strip() or not text:
                        lines.append(FileLine(cleaned, None))
                else:
                    lines.append(line)
            elif (kept := self._line(line.record, done, forgotten)) is not None:
                lines.append(line if kept is line.record else FileLine(render(kept), kept))
        text = join(lines).decode("utf-8", "surrogateescape")
        text = _EMPTY_BLOCK.sub("", text)
        if digests := {ref.rpartition("#")[2] for ref in plan.paragraphs if not ref.startswith("workers/")}:
            text = _without_paragraphs(text, digests)
        return encode(text)

    def _line(
        self, record: JournalRecord, done: ErasedFromFiles, forgotten: ForgottenText
    ) -> JournalRecord | None:
        if record.id in done.gone:
            return None
        if record.id in done.remade:
            made = done.remade[record.id]
            return replace(made, source_channel=record.source_channel, timestamp=record.timestamp)
        if record.category != COMPACTION:
            return record
        text = "".join(forgotten.without(part) for part in record.text.splitlines(keepends=True)).strip()
        if text == record.text.strip():
            return record
        return replace(record, text=text) if content_words(text) else None

    def _replace(self, path: Path, data: bytes) -> None:
        """Write a file anew, and keep no earlier version of it."""
        self._files.replace(path, data)
        self._files.previous_version(path).unlink(missing_ok=True)

    def _delete(self, path: Path) -> None:
        """Delete a file, and what it is a link to."""
        for one in (self._files.previous_version(path), path.resolve(), path):
            one.unlink(missing_ok=True)
        sync(path.parent)

    def _delete_leftovers(self) -> None:
        """Delete earlier versions of the files, and what a crash left of a rewrite: nobody else writes now."""
        places = {path.parent: ".*.new" for path in (self._files.memory, *self._journal_files())}
        for folder, names in (*places.items(), (self._files.root / "tmp", "*.before")):
            for path in folder.glob(names):
                path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class AgeLimit:
    """What is too old for the journal: what was written before `until`, and what a summary has of earlier days."""

    until: datetime
    day: str

    @classmethod
    def of(cls, plan: ErasurePlan, zone: tzinfo) -> AgeLimit | None:
        """Return the limit that a plan sets; none where it sets none."""
        if not plan.journal_until:
            return None
        until = from_micros(plan.journal_until)
        return cls(until, f"{until.astimezone(zone):%Y-%m-%d}")

    def without_old(self, data: bytes) -> tuple[bytes, list[str]]:
        """Return a file's content without what is too old, and the ids of the lines that went."""
        lines: list[FileLine] = []
        gone: list[str] = []
        for line in parse(data):
            record = line.record
            left = self._left(record) if record else ""
            if record and left is None:
                gone.append(record.id)
            elif record and left != record.text:
                changed = replace(record, text=left or "")
                lines.append(FileLine(render(changed), changed))
            else:
                lines.append(line)
        return encode(BLOCK.sub(self._block, join(lines).decode("utf-8", "surrogateescape"))), gone

    def _left(self, record: JournalRecord) -> str | None:
        """Return what stays of a record's text; none where all of it is too old."""
        if record.timestamp and record.timestamp < self.until:
            return None
        return self._without_days(record.text) if record.category == COMPACTION else record.text

    def _block(self, found: re.Match[str]) -> str:
        last = _LAST_DAY.search(found["of"])
        left = self._without_days(found["text"]) if not last or last[1] >= self.day else None
        if left is None:
            return ""
        return found[0] if left == found["text"] else found[0].replace(found["text"], f"\n{left}\n\n")

    def _without_days(self, text: str) -> str | None:
        """Return a summary without the days that are too old; none where nothing else is in it."""
        parts = _DAY_PART.split(text)
        days = [*zip(parts[1::2], parts[2::2], strict=True)]
        kept = [(day, said) for day, said in days if day >= self.day]
        if len(kept) == len(days):
            return text
        left = "".join([parts[0], *(f"### {day}{said}" for day, said in kept)]).strip()
        return left if content_words(left) else None


def _note_folders(plan: ErasurePlan, root: Path) -> list[Path]:
    """Return the folders of the notes in which a plan names paragraphs."""
    return sorted({(root / ref).parent for ref in plan.paragraphs if ref.startswith("workers/")})


def _without_paragraphs(text: str, digests: Collection[str]) -> str:
    """Return a text without the paragraphs of these digests, as the index makes them."""
    kept: list[str] = []
    for part in _BLANK_LINE.split(text):
        written = "\n".join(
            line for line in part.splitlines() if not line.startswith("#") and parse_line(line) is None
        ).strip()
        if written and blake2b(written.encode("utf-8", "replace"), digest_size=9).hexdigest() in digests:
            part = "\n".join(line for line in part.splitlines() if line.startswith("#") or parse_line(line))
        kept.append(part)
    return "".join(kept)
