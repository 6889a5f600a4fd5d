"""`import`: conversations from elsewhere become sessions of this memory, oldest first, each record once.

A source is read twice. The first time tells what is in it, and when each conversation took place; the second
time stores it in that order, so that what was said later replaces what was said before, whatever the order of
the export. What is stored is found again by the source's own ids: an import that was stopped goes on where it
was, and a newer export adds what is new.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from lifelong.collect.descriptors import User, channel_name
from lifelong.collect.history import MAX_SPEAKER_CHARS
from lifelong.collect.recorder import PastSession, PastStored
from lifelong.errors import InputError
from lifelong.importers.base import KINDS, Conversation, Importer, Message, Skip, get_importer
from lifelong.importers.sources import Piece, Place, Source
from lifelong.types import AssistantMessage, Json, Note, Record, ToolCall, UserMessage
from lifelong.validation import plain_json

log = logging.getLogger("lifelong.importers")

RECORDS_PER_WRITE = 500
CHARS_PER_WRITE = 2_000_000
MAX_TITLE_CHARS = 200
DEFAULT_CHANNEL = "import"
FORGOTTEN = "forgotten here before"
_LAST = datetime.max.replace(tzinfo=UTC)

Progress = Callable[[str, int, int], object]
"""Called with what is under way, how much of it is done, and how much there is (0: not known)."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What was found, and what became of it. `how` says how the kind was recognized. `messages` have one record or
    several: `added` of these are new, `known` were here before. `skipped` counts what was left out, by the reason.
    `units` are what a conversation and a message are called there. With `dry_run` nothing was stored: `added` is
    what would be."""

    kind: str
    label: str
    how: str
    conversations: int = 0
    messages: int = 0
    first: datetime | None = None
    last: datetime | None = None
    added: int = 0
    known: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    units: tuple[str, str] = ("conversation", "message")
    dry_run: bool = False


class Target(NamedTuple):
    """The memory that an import goes to: who the person is, what stores records, tells which keys are known, and
    raises `InputError` for a record that cannot be stored; the longest text; and the time."""

    person: str
    append: Callable[[User, Sequence[PastSession]], PastStored]
    find_known: Callable[[User, Sequence[str]], set[str]]
    validate: Callable[[Record], None]
    max_chars: int
    now: datetime


def recognize(source: Source) -> tuple[str, str]:
    """Return the kind of a source, and how it is known. Raise `InputError` where it is of none."""
    for kind in KINDS:
        if how := get_importer(kind).recognize(source):
            return kind, how
    raise InputError(
        f"{source.path} is of no kind that can be imported{_contents(source)}. The kinds:\n"
        f"{list_kinds()}\nIf it is one of these, say which with --as KIND."
    )


def list_kinds() -> str:
    """Return the kinds for people, one a line."""
    kinds = {**KINDS, "lifelong": "an export of lifelong"}
    return "\n".join(f"  {kind:12} {text}" for kind, text in kinds.items())


def import_source(
    path: Path, kind: str | None, target: Target, *, dry_run: bool = False, progress: Progress
) -> ImportReport:
    """Read what is at the path, and store what is new of it, unless it is a dry run."""
    if kind is not None and kind not in KINDS:
        raise InputError(f"Unknown kind {kind!r:.100}. What can be imported:\n{list_kinds()}")
    with Source(path) as source:
        kind, how = (kind, "you said so") if kind else recognize(source)
        task = _Import(kind, how, source, target, progress)
        try:
            task.survey(count_known=dry_run)
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}. Check its permissions.") from error
        if not task.places:
            reasons = "".join(f"; left out: {count} x {reason}" for reason, count in task.skipped.items())
            raise InputError(
                f"Nothing in {path} can be imported{_contents(source)}{reasons}. It was read as {KINDS[kind]}."
            )
        return task.report(dry_run=True) if dry_run else task.store()


class _Import:
    """One import: what was found so far, and where."""

    def __init__(self, kind: str, how: str, source: Source, target: Target, progress: Progress) -> None:
        self._importer: Importer = get_importer(kind)
        self._kind = kind
        self._how = how
        self._source = source
        self._target = target
        self._progress = progress
        self._ids: set[int] = set()  # hashes of the ids of conversations
        self._messages = 0
        self._records = 0
        self._first: datetime | None = None
        self._last: datetime | None = None
        self._stored = PastStored(0, 0, 0)
        self._waiting: dict[User, list[PastSession]] = {}
        self._size = self._chars = 0
        self.places: list[tuple[datetime, Place]] = []
        self.skipped: Counter[str] = Counter()

    def survey(self, *, count_known: bool) -> None:
        """Read everything once: what is there, where, and what cannot be imported."""
        for piece in self._importer.pieces(self._source):
            try:
                if isinstance(piece, Skip):
                    raise piece
                found = self._read(piece)
            except Skip as skip:
                self.skipped[str(skip)] += 1
                continue
            except OSError as error:
                self.skipped[f"a file that cannot be read: {error.strerror}"] += 1
                continue
            self.skipped.update(found.skipped)
            times = [record.at for message in found.messages for record in message.records if record.at]
            if not found.messages:
                unit, part = self._importer.units
                self.skipped.update([] if found.skipped else [f"a {unit} without {part}s"])
                continue
            self._ids.add(hash((found.id, found.channel)))
            self._messages += len(found.messages)
            self._records += sum(len(message.records) for message in found.messages)
            self._first = min([*times, self._first] if self._first else times, default=None)
            self._last = max([*times, self._last] if self._last else times, default=None)
            self.places.append((min(times, default=_LAST), piece.place))
            self._progress(f"{self._importer.units[0]}s found", len(self._ids), 0)
            if count_known:
                keys = [key for key, _ in _keyed(found.messages)]
                known = len(self._target.find_known(self._agent(found), keys))
                self._stored = PastStored(self._stored.added + len(keys) - known, self._stored.known + known, 0)

    def store(self) -> ImportReport:
        """Store everything that was found, oldest first."""
        self.places.sort(key=lambda one: one[0])
        done = 0
        for _, place in self.places:
            file = self._source.files[place.file]
            try:
                content = self._importer.load(self._source, place)
                found = self._read(Piece(place, file.name, file.modified, content))
            except (Skip, OSError):
                continue  # counted before
            agent, note = self._agent(found), self._note(found)
            keyed = [*_keyed(found.messages)]
            for start in range(0, len(keyed), RECORDS_PER_WRITE):
                some = keyed[start : start + RECORDS_PER_WRITE]
                self._waiting.setdefault(agent, []).append(PastSession(found.id, some, note))
                self._size += len(some)
                self._chars += sum(len(getattr(record, "text", "")) for _, record in some)
                if self._size >= RECORDS_PER_WRITE or self._chars >= CHARS_PER_WRITE:
                    self._flush()
            done += len(found.messages)
            self._progress(f"{self._importer.units[1]}s", done, self._messages)
        self._flush()
        return self.report(dry_run=False)

    def report(self, *, dry_run: bool) -> ImportReport:
        if self._stored.forgotten:
            self.skipped[FORGOTTEN] += self._stored.forgotten
        return ImportReport(
            *(self._kind, self._importer.label, self._how, len(self._ids), self._messages),
            *(self._first, self._last, self._stored.added, self._stored.known),
            skipped=dict(self.skipped.most_common()),
            units=self._importer.units,
            dry_run=dry_run,
        )

    def _flush(self) -> None:
        for agent, sessions in self._waiting.items():
            try:
                stored = self._target.append(agent, sessions)
            except InputError:
                stored = self._target.append(agent, [self._storable(one) for one in sessions])
            self._stored = PastStored(*(a + b for a, b in zip(self._stored, stored, strict=True)))
        self._waiting, self._size, self._chars = {}, 0, 0

    def _storable(self, session: PastSession) -> PastSession:
        """Return a session without the records that cannot be stored."""
        kept = []
        for key, record in session.records:
            try:
                self._target.validate(record)
                kept.append((key, record))
            except InputError as error:
                self.skipped["a record that cannot be stored"] += 1
                log.warning("%s of %s is left out: %s", key, session.id, error)
        return session._replace(records=kept)

    def _read(self, piece: Piece) -> Conversation:
        """Return the conversation of a piece, with a time for each record, and texts that can be stored."""
        found = self._importer.conversation(piece)
        latest = self._target.now + timedelta(days=1)
        times = [record.at for message in found.messages for record in message.records]
        last = next((at for at in times if at and at <= latest), piece.modified)
        messages = []
        for message in found.messages:
            records = []
            for record in message.records:
                last = record.at.astimezone(UTC) if record.at and record.at <= latest else last
                records.append(replace(_cleaned(record, self._target.max_chars), at=last))
            if records:
                messages.append(Message(message.key, records))
        return found._replace(messages=messages)

    def _agent(self, found: Conversation) -> User:
        channel = channel_name(found.channel) or DEFAULT_CHANNEL
        return User(self._importer.connector, self._target.person, channel)

    def _note(self, found: Conversation) -> str:
        title = " ".join(_valid(found.title).split())[:MAX_TITLE_CHARS]
        return f"Imported from {self._importer.label}" + (f": {title}" if title else "")


def _keyed(messages: Sequence[Message]) -> Iterator[tuple[str, Record]]:
    """Yield the records of messages with a key each."""
    for message in messages:
        for number, record in enumerate(message.records):
            yield f"{message.key}#{number}" if number else message.key, record


def _contents(source: Source) -> str:
    """Say what is there instead, as a part of a sentence."""
    if not source.files:
        return ": it holds no .json, .jsonl or .md file"
    with source.files[0].open() as stream:
        if stream.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            return f": {source.files[0].name} is in UTF-16; convert it to UTF-8"
    if source.path.is_file() and len(source.files) == 1 and source.files[0].name == source.path.name:
        return ""
    names = ", ".join(file.name for file in source.files[:5])
    return f": it holds {names}{' …' if len(source.files) > 5 else ''}"


# Texts that every database takes


def _cleaned(record: Record, limit: int) -> Record:
    """Return a record with texts that can be stored: valid Unicode, no longer than the limit."""
    if isinstance(record, ToolCall):
        return replace(record, name=_valid(record.name)[:limit], arguments=_arguments(record.arguments, limit))
    clean = replace(record, text=_cut(_valid(record.text), limit))
    if isinstance(clean, UserMessage | AssistantMessage | Note) and clean.speaker:
        return replace(clean, speaker=_valid(clean.speaker)[:MAX_SPEAKER_CHARS])
    return clean


def _arguments(arguments: Mapping[str, Json], limit: int) -> Mapping[str, Json]:
    try:
        text = json.dumps(arguments, ensure_ascii=False, allow_nan=False)
        plain_json(arguments, "", limit)
    except (ValueError, TypeError, RecursionError):  # an InputError is a ValueError
        text = _valid(json.dumps(arguments, ensure_ascii=False, default=str, skipkeys=True))
        return {"arguments": _cut(text, limit // 2)}
    return arguments if len(text) <= limit // 2 else {"arguments": _cut(text, limit // 2)}


def _valid(text: str) -> str:
    if "\0" in text:
        text = text.replace("\0", "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _cut(text: str, limit: int) -> str:
    mark = " [… cut]"
    return text if len(text) <= limit else text[: limit - len(mark)] + mark
