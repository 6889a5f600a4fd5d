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
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from lifelong.collect.descriptors import User, channel_name
from lifelong.collect.history import MAX_SPEAKER_CHARS
from lifelong.collect.recorder import PastSession, PastStored
from lifelong.errors import InputError
from lifelong.importers.base import KINDS, Conversation, Importer, Message, Skip, get_importer, short_key
from lifelong.importers.sources import Piece, Place, Source
from lifelong.types import Json, Record
from lifelong.validation import plain_json

log = logging.getLogger("lifelong.importers")

RECORDS_PER_WRITE = 500
CHARS_PER_WRITE = 2_000_000
MAX_TITLE_CHARS = 200
DEFAULT_CHANNEL = "import"
WRITTEN_BY_MODELS = ("mem0",)  # kinds of which each text is the agent's word, unless a person vouches for it
FORGOTTEN = "forgotten here before"
_LAST = datetime.max.replace(tzinfo=UTC)

Progress = Callable[[str, int, int], object]
"""Called with what is under way, how much of it is done, and how much there is (0: not known)."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What was found, and what became of it. `how` says how the kind was recognized. `messages` have one record or
    several: `added` of these are new, `known` were here before. `skipped` counts what was left out, by the reason.
    `units` are what a conversation and a message are called there. `vouched`: what a model wrote there is the
    user's word. With `dry_run` nothing was stored: `added` is what would be."""

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
    vouched: bool = False
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
    path: Path,
    kind: str | None,
    target: Target,
    *,
    vouch: bool = False,
    dry_run: bool = False,
    progress: Progress,
) -> ImportReport:
    """Read what is at the path, and store what is new of it, unless it is a dry run."""
    if kind is not None and kind not in KINDS:
        raise InputError(f"Unknown kind {kind!r:.100}. What can be imported:\n{list_kinds()}")
    with Source(path) as source:
        kind, how = (kind, "you said so") if kind else recognize(source)
        if vouch and kind not in WRITTEN_BY_MODELS:
            raise InputError(
                f"Only what a model wrote can be vouched for: {', '.join(WRITTEN_BY_MODELS)}. This was read as "
                f"{KINDS[kind]}. Leave out --vouch."
            )
        task = _Import(kind, how, source, target, progress, vouch=vouch)
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

    def __init__(
        self, kind: str, how: str, source: Source, target: Target, progress: Progress, *, vouch: bool
    ) -> None:
        self._importer: Importer = get_importer(kind)
        self._vouch = vouch
        self._kind = kind
        self._how = how
        self._source = source
        self._target = target
        self._progress = progress
        self._ids: set[int] = set()  # hashes of the ids of conversations
        self._keys: set[int] = set()  # hashes of the keys of records, in a dry run
        self._messages = 0
        self._first: datetime | None = None
        self._last: datetime | None = None
        self._stored = PastStored(0, 0, 0)
        self._waiting: dict[User, list[PastSession]] = {}
        self._size = self._chars = 0
        self.places: list[tuple[datetime, Place]] = []
        self.skipped: Counter[str] = Counter()

    def survey(self, *, count_known: bool) -> None:
        """Read everything once: what is there, where, and what cannot be imported."""
        unit, part = self._importer.units
        for piece in self._importer.pieces(self._source):
            found = piece if isinstance(piece, Skip) else self._read(piece)
            if isinstance(found, Skip):
                self.skipped[str(found)] += 1
                continue
            self.skipped.update(found.skipped)
            if not found.messages:
                self.skipped.update([] if found.skipped else [f"a {unit} without {part}s"])
                continue
            times = [record.at for message in found.messages for record in message.records if record.at]
            self._ids.add(hash((found.id, found.channel)))
            self._messages += len(found.messages)
            self._first = min([*times, self._first] if self._first else times, default=None)
            self._last = max([*times, self._last] if self._last else times, default=None)
            self.places.append((min(times, default=_LAST), piece.place))  # type: ignore[union-attr]
            self._progress(f"{unit}s found", len(self._ids), 0)
            if count_known:
                self._count_known(found)

    def _count_known(self, found: Conversation) -> None:
        """Add to what was stored what would be stored of a conversation."""
        agent = self._agent(found)
        keys = {hash((agent, key)): key for key, _ in _keyed(found.messages)}
        new = [key for own, key in keys.items() if own not in self._keys]
        self._keys.update(keys)
        known = len(self._target.find_known(agent, new))
        self._stored = PastStored(self._stored.added + len(new) - known, self._stored.known + known, 0)

    def store(self) -> ImportReport:
        """Store everything that was found, oldest first."""
        self.places.sort(key=lambda one: one[0])
        done = 0
        for _, place in self.places:
            file = self._source.files[place.file]
            content = self._importer.load(self._source, place)
            found = self._read(Piece(place, file.name, file.modified, content))
            if isinstance(found, Skip):
                continue  # it changed since it was surveyed
            agent, note = self._agent(found), self._note(found)
            keyed = [*_keyed(found.messages)]
            for start in range(0, len(keyed), RECORDS_PER_WRITE):
                some = keyed[start : start + RECORDS_PER_WRITE]
                self._waiting.setdefault(agent, []).append(PastSession(short_key(found.id), some, note))
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
            vouched=self._vouch,
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

    def _read(self, piece: Piece) -> Conversation | Skip:
        """Return the conversation of a piece, with a time for each record, and texts that can be stored; or why
        there is none."""
        try:
            found = self._importer.conversation(piece)
        except Skip as skip:
            return skip
        except OSError as error:
            return Skip(f"a file that cannot be read: {error.strerror}")
        now = self._target.now
        latest = now + timedelta(days=1)
        times = [record.at for message in found.messages for record in message.records]
        modified = min(piece.modified, now) if piece.modified else None
        last = next((at for at in times if at and at <= latest), modified)
        messages = []
        for message in found.messages:
            records = []
            for record in message.records:
                last = record.at.astimezone(UTC) if record.at and record.at <= latest else last
                records.append(replace(_cleaned(record, self._target.max_chars), at=last))
            if records and self._vouch:  # another record than the one that was the agent's word
                said = [replace(record, provenance="user") for record in records]
                messages.append(Message(f"{message.key}/user", said))
            elif records:
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
        key = short_key(message.key)
        for number, record in enumerate(message.records):
            yield f"{key}#{number}" if number else key, record


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
    changes: dict[str, Any] = {}
    for part in fields(record):
        value = getattr(record, part.name)
        if isinstance(value, str):
            changes[part.name] = _cut(_valid(value), MAX_SPEAKER_CHARS if part.name == "speaker" else limit)
        elif isinstance(value, Mapping):
            changes[part.name] = _arguments(value, limit)
    return replace(record, **changes)


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
