"""Read chats as JSON Lines in OpenAI's shape: `{"messages": […]}` a line, or one message a line.

A line may name its conversation (`id`, `conversation_id`, `session_id` and the like), and a message its id and
time. A conversation without an id is known by its first exchange. Messages of a file that name none are one
conversation, which is known by the file's name, without its folder, and by the first exchange in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import PurePosixPath
from typing import NamedTuple, TypeAlias

from lifelong.collect.messages import to_records, with_tool_names
from lifelong.errors import InputError
from lifelong.importers.base import (
    Conversation,
    Message,
    Object,
    Skip,
    digest,
    list_of,
    object_of,
    text_of,
    time_of,
)
from lifelong.importers.sources import Broken, Piece, Place, Source, parse

MAX_HEAD_LINES = 50  # of a file, among which is its first exchange
GROUP_BYTES = 256 * 2**10  # of lines with a message each that are one piece
CONVERSATIONS = ("conversation", "conversation_id", "session", "session_id", "thread_id", "chat_id")
TIMES = ("created_at", "create_time", "timestamp", "created", "at", "time")


class JsonLines:
    """Read .jsonl files."""

    label = "JSON Lines"
    connector = "jsonl"
    units = ("conversation", "message")

    def recognize(self, source: Source) -> str:
        for name, one in source.samples:
            if name.endswith(".jsonl") and (
                isinstance(one.get("messages"), list) or {"role", "content"} <= one.keys()
            ):
                return f"{name} has lines with `{'messages' if 'messages' in one else 'role'}`"
        return ""

    def pieces(self, source: Source) -> Iterator[Piece | Skip]:
        for number in source.numbers(r".*\.jsonl"):
            yield from self._pieces(source, number)

    def _pieces(self, source: Source, number: int) -> Iterator[Piece | Skip]:
        """Yield each line with messages, and lines with a message each in groups of the same conversation."""
        name = _name(source, number)
        group: Piece | None = None
        for found in source.lines(number):
            if isinstance(found, Broken):
                yield Skip(found.reason)
                continue
            given = object_of(found.content)
            line = found._replace(content=_Group(name, [(found.place.start, given)]))
            if group and _goes_on(group, given):
                size = found.place.start + found.place.size - group.place.start
                _group(group).lines.append((found.place.start, given))
                group = group._replace(place=group.place._replace(size=size))
                continue
            if group:
                yield group
            group = line
        if group:
            yield group

    def load(self, source: Source, place: Place) -> object:
        start, found = place.start, list[Line]()
        for line in source.read(place).split(b"\n"):
            if given := object_of(parse(line)):
                found.append((start, given))
            start += len(line) + 1
        first = found[0][1] if found else {}
        has_own = isinstance(first.get("messages"), list) or _conversation_id(first)
        return _Group("" if has_own else _name(source, place.file), found)

    def conversation(self, piece: Piece) -> Conversation:
        name, lines = _group(piece)
        first = lines[0][1] if lines else {}
        if isinstance(first.get("messages"), list):
            return _conversation(first)
        own_id = _conversation_id(first) or name
        keyed = [(one, _key(own_id, one, str(start))) for start, one in lines]
        messages, skipped = _read(keyed)
        return Conversation(own_id, messages, skipped=skipped)


Line: TypeAlias = tuple[int, Object]


class _Group(NamedTuple):
    """Lines of one conversation, with where each begins, and the name of the conversation that names none."""

    name: str
    lines: list[Line]


def _group(piece: Piece) -> _Group:
    return piece.content if isinstance(piece.content, _Group) else _Group(piece.name, [])


def _name(source: Source, number: int) -> str:
    """Return the name of the messages of a file that name no conversation: the same wherever the file lies, and
    when it has grown; another one for another file of the same name."""
    head = (object_of(one.content) for one in source.lines(number) if isinstance(one, Piece))
    said = [one for one in islice(head, MAX_HEAD_LINES) if "messages" not in one and not _conversation_id(one)]
    return f"{PurePosixPath(source.files[number].name).name}/{_first_exchange(said)}"


def _goes_on(group: Piece, given: Object) -> bool:
    """Return whether a line belongs to the same conversation as those before it, and fits into their piece."""
    first = _group(group).lines[0][1]
    single = "messages" not in first and "messages" not in given
    return single and group.place.size < GROUP_BYTES and _conversation_id(first) == _conversation_id(given)


def _conversation_id(given: Object) -> str:
    return next((str(given[name]) for name in CONVERSATIONS if isinstance(given.get(name), str | int)), "")


def _conversation(given: Object) -> Conversation:
    said = [object_of(one) for one in list_of(given.get("messages"))]
    own_id = _conversation_id(given) or (str(given["id"]) if given.get("id") else _first_exchange(said))
    begun = next((given[name] for name in TIMES if given.get(name)), None)
    before = ""  # of two conversations that begin in the same way, each keeps what follows
    keyed = []
    for one in said:
        keyed.append(({"created_at": begun, **one} if begun else one, _key(own_id, one, before)))
        before = digest([before, one])
    messages, skipped = _read(keyed)
    return Conversation(own_id, messages, text_of(given.get("title")), skipped=skipped)


def _first_exchange(said: list[Object]) -> str:
    """Return a digest of what was said up to the first answer to the user; without one, of the first message."""
    asked = next((number for number, one in enumerate(said) if one.get("role") == "user"), len(said))
    answers = (number for number, one in enumerate(said) if number > asked and one.get("role") == "assistant")
    return digest(said[: next(answers, 0) + 1])


def _key(conversation: str, message: Object, place: str) -> str:
    """Return the key of a message: by its id; by what it says and when; or, without a time, by its place."""
    if isinstance(own := message.get("id"), str | int) and own != "":
        return f"{conversation}/{own}"
    timed = any(message.get(name) for name in TIMES)
    return f"{conversation}/{digest(message)}" + ("" if timed else f"/{place}")


def _read(keyed: list[tuple[Object, str]]) -> tuple[list[Message], list[str]]:
    """Return the messages, and why others are left out."""
    messages, skipped, names = list[Message](), list[str](), dict[str, str]()
    for given, key in keyed:
        at = time_of(*(given.get(name) for name in TIMES))
        message = {name: value for name, value in given.items() if name not in TIMES}
        try:
            records = with_tool_names(to_records([message]), names)
        except InputError as error:
            reason = str(error).removeprefix("Message 1 ").partition(". ")[0]
            skipped.append(f"a message that {reason:.80}")
            continue
        if records:
            messages.append(Message(key, [replace(record, at=at) for record in records]))
    return messages, skipped


IMPORTER = JsonLines()
