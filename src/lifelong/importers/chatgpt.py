"""Read an export of ChatGPT: conversations.json, where each conversation is a tree of messages.

Of the tree, the branch is read that ChatGPT shows: from `current_node` up to the root.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import cast

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
from lifelong.types import AssistantMessage, Json, Record, SystemMessage, ToolCall, ToolResult, UserMessage

NOT_SAID = {"thoughts", "reasoning_recap", "model_editable_context", "app_pairing_content"}
WEB_TOOLS = ("browser", "web", "tether")
MEDIA = {"image": "image", "audio": "audio", "video": "video", "real_time": "audio"}  # how a part's type begins
_CITATION = re.compile(r"\ue200[^\ue201]{0,500}\ue201|【\d+†[^】]{0,100}】")


class ChatGPT(JsonEntries):
    """Read conversations.json, or its parts conversations-000.json and so on."""

    label = "ChatGPT"
    connector = "chatgpt"
    units = ("conversation", "message")
    files = r"conversations(?:[-_]?\d+)?\.json"
    arrays = ("conversations",)

    def recognize(self, source: Source) -> str:
        named = (name for name, one in source.samples if isinstance(one.get("mapping"), dict))
        return f"{name} has conversations with a `mapping`" if (name := next(named, "")) else ""

    def conversation(self, piece: Piece) -> Conversation:
        given = object_of(piece.content)
        mapping = object_of(given.get("mapping"))
        own_id = text_of(given.get("conversation_id")) or text_of(given.get("id")) or digest(sorted(mapping))
        last = time_of(given.get("create_time"))
        messages, skipped = [], []
        for node_id, node in _branch(mapping, text_of(given.get("current_node"))):
            said = object_of(node.get("message"))
            if not said:
                continue  # the root, as a rule
            last = time_of(said.get("create_time")) or last
            try:
                key, records = _read(message_key(text_of(said.get("id")) or node_id, own_id), said, last)
            except Skip as skip:
                skipped.append(str(skip))
                continue
            if records:
                messages.append(Message(key, records))
        return Conversation(own_id, messages, text_of(given.get("title")), skipped=skipped)


def _branch(mapping: Object, current: str) -> list[tuple[str, Object]]:
    """Return the nodes from the root to the current one; where that is not known, to the newest message. A missing
    parent ends the branch, and so does one that was seen."""
    if current not in mapping:
        times = {one: _time(mapping[one]) for one in mapping}
        current = max((one for one in mapping if times[one]), key=lambda one: times[one], default="")
    branch: list[tuple[str, Object]] = []
    seen: set[str] = set()
    while current in mapping and current not in seen:
        seen.add(current)
        node = object_of(mapping[current])
        branch.append((current, node))
        current = text_of(node.get("parent"))
    return branch[::-1]


def _time(node: object) -> float:
    at = time_of(object_of(object_of(node).get("message")).get("create_time"))
    return at.timestamp() if at else 0.0


def _read(own_id: str, said: Object, at: datetime | None) -> tuple[str, list[Record]]:
    """Return the key and the records of a message. Custom instructions stand in every conversation: their key is
    what they say, so they are stored once."""
    author, content = object_of(said.get("author")), object_of(said.get("content"))
    metadata, kind = object_of(said.get("metadata")), text_of(content.get("content_type"))
    role, recipient = text_of(author.get("role")), text_of(said.get("recipient"))
    instructions = object_of(metadata.get("user_context_message_data"))
    if instructions:
        parts = [text_of(instructions.get(name)) for name in ("about_user_message", "about_model_message")]
        text = "\n\n".join(part.strip() for part in parts if part.strip())
        return f"instructions-{digest(text)}", [UserMessage(text, at=at)] if text else []
    if kind in NOT_SAID or kind == "user_editable_context" or metadata.get("is_visually_hidden_from_conversation"):
        return "", []
    text = _text(kind, content)
    name = text_of(author.get("name"))
    records: list[Record]
    if role == "assistant" and recipient not in ("", "all"):
        records = [ToolCall(recipient, _arguments(text), at=at)]
    elif not text.strip():
        return "", []
    elif role == "user":
        records = [UserMessage(text, at=at)]
    elif role == "assistant":
        records = [AssistantMessage(_CITATION.sub("", text), at=at)]
    elif role == "tool":
        is_web = kind.startswith("tether") or name.split(".")[0] in WEB_TOOLS
        records = [ToolResult(text, name, provenance="web" if is_web else "tool", at=at)]
    elif role == "system":
        records = [SystemMessage(text, at=at)]
    else:
        raise Skip(f"a message of the unknown role {role!r:.50}")
    return own_id, records


def _text(kind: str, content: Object) -> str:
    if kind == "tether_quote":
        return "\n".join(filter(None, (text_of(content.get(name)) for name in ("title", "url", "text"))))
    parts = [_part(part) for part in list_of(content.get("parts"))]
    found = "\n\n".join(part for part in parts if part.strip())
    return found or next(filter(None, (text_of(content.get(name)) for name in ("text", "result", "summary"))), "")


def _part(part: object) -> str:
    """Return the text of a part; of an image or a recording, a placeholder."""
    if isinstance(part, str):
        return part
    given = object_of(part)
    if text := text_of(given.get("text")):  # such as a recording's transcription
        return text
    kind = text_of(given.get("content_type"))
    return next((f"[{label}]" for start, label in MEDIA.items() if kind.startswith(start)), "")


def _arguments(text: str) -> dict[str, Json]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    return cast("dict[str, Json]", given) if isinstance(given, dict) else {"text": text} if text else {}


IMPORTER = ChatGPT()
