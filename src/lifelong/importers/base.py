"""What a reader of a format gives: conversations with the ids and times that they have at their source.

An importer cuts a source into pieces (an entry of a JSON array, a line, a file), and makes a conversation of a
piece. It has no effect, so a source may be read twice: once to see what is in it and when it was said, and once
more in the order of time. A piece that cannot be read is skipped with a reason, and never ends an import.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from importlib import import_module
from typing import NamedTuple, Protocol, TypeAlias, cast

from lifelong.importers.sources import Broken, Piece, Place, Source, parse
from lifelong.types import Record
from lifelong.validation import validate_time

KINDS = {
    "chatgpt": "a ChatGPT export: its zip, its folder or conversations.json",
    "claude": "a Claude export: its zip, its folder or conversations.json",
    "claude-code": "transcripts of Claude Code: ~/.claude/projects, or a folder or .jsonl file in it",
    "codex": "transcripts of Codex: ~/.codex/sessions, or a folder or .jsonl file in it",
    "mem0": "memories of mem0: what get_all returns, as a .json file",
    "jsonl": "chat messages in OpenAI's shape: a .jsonl file, or a folder of them",
    "markdown": "notes: a folder of .md files, or one of them",
}
"""The formats, in the order in which a source is tried, and what each reads."""

MAX_KEY_CHARS = 100
_UUID = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)

Object: TypeAlias = Mapping[str, object]


class Skip(Exception):
    """Raised where a piece, or a message of it, cannot be imported: the message is the reason."""


class Message(NamedTuple):
    """What was said at once: the key that tells it from every other message of its source, and its records."""

    key: str
    records: Sequence[Record]


class Conversation(NamedTuple):
    """A conversation, or a part of one. `id` is its own at the source; `channel` is where it took place, if the
    source has several, such as a project's folder. `skipped` has a reason for each message that is left out."""

    id: str
    messages: Sequence[Message]
    title: str = ""
    channel: str = ""
    skipped: Sequence[str] = ()


class Importer(Protocol):
    """Read one format. `label` is its name for people, `connector` the one of the agent that its conversations
    belong to; `units` are what a conversation and a message of it are called."""

    label: str
    connector: str
    units: tuple[str, str]

    def recognize(self, source: Source) -> str:
        """Return how the format is known from the source, as the end of a sentence; empty if it is another."""

    def pieces(self, source: Source) -> Iterator[Piece | Skip]:
        """Yield the parts of the source that hold a conversation each, in its order; and why others are left
        out."""

    def load(self, source: Source, place: Place) -> object:
        """Return the content of a piece again."""

    def conversation(self, piece: Piece) -> Conversation:
        """Return what a piece holds. Raise `Skip` where that is nothing."""


def get_importer(kind: str) -> Importer:
    """Return the importer of a kind."""
    module = import_module(f"lifelong.importers.{kind.replace('-', '_')}")
    return cast("Importer", module.IMPORTER)


# What importers share


class WholeFiles:
    """Cut a source into its files: the content of a piece is the file."""

    files: str

    def pieces(self, source: Source) -> Iterator[Piece | Skip]:
        for number in source.numbers(self.files):
            yield source.whole(number)

    def load(self, source: Source, place: Place) -> object:
        return source.files[place.file]


class JsonEntries:
    """Cut a source into the entries of JSON arrays: of those with one of these names, or which are a file."""

    files: str
    arrays: tuple[str, ...]

    def pieces(self, source: Source) -> Iterator[Piece | Skip]:
        for number in source.numbers(self.files):
            for found in source.entries(number, self.arrays):
                yield Skip(found.reason) if isinstance(found, Broken) else found

    def load(self, source: Source, place: Place) -> object:
        return parse(source.read(place))


def object_of(value: object) -> Object:
    """Return a JSON object, and an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def text_of(value: object) -> str:
    """Return a text, and nothing for anything else."""
    return value if isinstance(value, str) else ""


def list_of(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def time_of(*values: object) -> datetime | None:
    """Return the first of these that is a time that can be stored, in UTC: seconds since 1970, or ISO 8601, which
    is in UTC where it has no zone."""
    for value in values:
        try:
            if isinstance(value, str) and value.strip():
                moment = datetime.fromisoformat(value.strip())
                return validate_time(moment if moment.tzinfo else moment.replace(tzinfo=UTC), "A time")
            if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
                return datetime.fromtimestamp(value if value < 1e11 else value / 1000, UTC)
        except (ValueError, OverflowError, OSError):  # an InputError is a ValueError
            continue
    return None


def digest(value: object) -> str:
    """Return a short hash of a JSON value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return blake2b(text.encode(), digest_size=12).hexdigest()


def message_key(own: str, conversation: str) -> str:
    """Return the key of a message by its own id. A UUID is the message's everywhere, also in a branch of a chat;
    any other id is its conversation's alone."""
    return own if _UUID.fullmatch(own) else f"{conversation}/{own}"


def short_key(key: str) -> str:
    """Return a key or an id that every database takes: hashed where it is long, empty or of odd characters."""
    return key if 0 < len(key) <= MAX_KEY_CHARS and key.isascii() and key.isprintable() else digest(key)
