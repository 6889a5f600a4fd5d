"""Read memories of mem0: what `get_all` returns, `{"results": [{"id", "memory", …}]}` or the list alone.

Each memory is a note, as the agent's word: a model wrote it, whoever it is about.
"""

from __future__ import annotations

from lifelong.importers.base import (
    Conversation,
    JsonEntries,
    Message,
    Skip,
    digest,
    object_of,
    text_of,
    time_of,
)
from lifelong.importers.sources import Piece, Source
from lifelong.types import Note


class Mem0(JsonEntries):
    """Read a .json file, or all of a folder."""

    label = "mem0"
    connector = "mem0"
    units = ("list", "note")
    files = r".*\.json"
    arrays = ("results", "memories")

    def recognize(self, source: Source) -> str:
        for name, one in source.samples:
            if name.endswith(".json") and isinstance(one.get("memory"), str) and "id" in one:
                return f"{name} has entries with `id` and `memory`"
        return ""

    def conversation(self, piece: Piece) -> Conversation:
        given = object_of(piece.content)
        text = text_of(given.get("memory"))
        if not text.strip():
            raise Skip("a memory without text")
        at = time_of(given.get("updated_at"), given.get("created_at"))
        whose = text_of(given.get("user_id") or given.get("agent_id"))
        key = f"{given.get('id')}/{digest(text)}"  # a memory that was updated is another one
        note = Note(text, at=at)
        return Conversation("memories", [Message(key, [note])], "memories", channel=whose)


IMPORTER = Mem0()
