"""Read an export of Claude (claude.ai): conversations.json, where each conversation has its `chat_messages`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lifelong.collect.messages import to_records
from lifelong.errors import InputError
from lifelong.importers.base import (
    Conversation,
    JsonEntries,
    Message,
    Object,
    Skip,
    digest,
    list_of,
    message_key,
    object_of,
    text_of,
    time_of,
)
from lifelong.importers.sources import Piece, Source
from lifelong.types import Note, Record

ROLES = {"human": "user", "user": "user", "assistant": "assistant"}


class Claude(JsonEntries):
    """Read conversations.json. Projects and the account are left out."""

    label = "Claude"
    connector = "claude"
    units = ("conversation", "message")
    files = r"conversations(?:[-_]?\d+)?\.json"
    arrays = ("conversations",)

    def recognize(self, source: Source) -> str:
        named = (name for name, one in source.samples if isinstance(one.get("chat_messages"), list))
        return f"{name} has conversations with `chat_messages`" if (name := next(named, "")) else ""

    def conversation(self, piece: Piece) -> Conversation:
        given = object_of(piece.content)
        said = list_of(given.get("chat_messages"))
        own_id = text_of(given.get("uuid")) or digest(said[:1])
        messages, skipped = [], []
        for number, one in enumerate(map(object_of, said)):
            try:
                records = _read(one)
            except Skip as skip:
                skipped.append(str(skip))
                continue
            if records:
                at = time_of(one.get("created_at"), given.get("created_at"))
                key = message_key(text_of(one.get("uuid")) or str(number), own_id)
                messages.append(Message(key, [replace(record, at=record.at or at) for record in records]))
        return Conversation(own_id, messages, text_of(given.get("name")), skipped=skipped)


def _read(said: Object) -> list[Record]:
    """Return the records of a message: what was said, the tools that were used, and the files that came along,
    which are data."""
    role = ROLES.get(text_of(said.get("sender")))
    if role is None:
        raise Skip(f"a message of the unknown sender {said.get('sender')!r:.50}")
    blocks = [block for block in list_of(said.get("content")) if _is_readable(block)]
    given: list[object] = blocks or [{"type": "text", "text": text_of(said.get("text"))}]
    records = to_records([{"role": role, "content": given}]) if given else []
    for file in map(object_of, [*list_of(said.get("attachments")), *list_of(said.get("files"))]):
        name, text = text_of(file.get("file_name")), text_of(file.get("extracted_content"))
        if name or text:
            placeholder = f"[file: {name}]" if name else "[file]"
            records.append(Note(f"{placeholder}\n\n{text}".strip(), provenance="tool"))
    return records


def _is_readable(block: object) -> bool:
    if not isinstance(block, Mapping):
        return False
    try:
        to_records([{"role": "user", "content": [block]}])
    except InputError:
        return False
    return True


IMPORTER = Claude()
