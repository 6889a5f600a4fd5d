"""Read the transcripts of Codex: ~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl, one session a file.

A line is `{timestamp, type, payload}`; in older files it is the payload alone. Files only grow, so a message is
known by the number of its line. Where the file says in which turn, what was asked and the last reply have the keys
of `lifelong hook`, and so is the agent: what a hook stored is not imported again.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from lifelong.collect.claude_code import channel_of, clean_text, turn_key, without_host_text
from lifelong.collect.messages import to_records, with_tool_names
from lifelong.errors import InputError
from lifelong.importers.base import Conversation, Message, Object, Skip, WholeFiles, object_of, text_of, time_of
from lifelong.importers.sources import Piece, Source, SourceFile, parse, read_lines
from lifelong.types import AssistantMessage, Record, SystemMessage, ToolResult, UserMessage

ITEMS = ("_call", "_call_output")  # how the types of tool calls and their results end
_HOST_TAG = re.compile(
    r"<(environment_context|user_instructions|INSTRUCTIONS|permissions instructions|turn_aborted"
    r"|user_shell_command|recommended_plugins|collaboration_mode|skills?|subagent_notification)[\s>]"
)
_AGENTS_FILE = "# AGENTS.md instructions for "


class Codex(WholeFiles):
    """Read a session's file, or all of a folder."""

    label = "Codex"
    connector = "codex"
    units = ("session", "message")
    files = r".*\.jsonl"

    def recognize(self, source: Source) -> str:
        for name, one in source.samples:
            if not name.endswith(".jsonl"):
                continue
            if one.get("type") in ("session_meta", "response_item", "turn_context") and "payload" in one:
                return f"{name} has lines with `type` and `payload`"
            if {"id", "timestamp", "instructions"} <= one.keys() and "role" not in one:
                return f"{name} begins with the `id` and `instructions` of a session"
        return ""

    def conversation(self, piece: Piece) -> Conversation:
        assert isinstance(piece.content, SourceFile)
        own_id = piece.name.rpartition("/")[2].removesuffix(".jsonl")
        folder, begun, names, turn = "", None, dict[str, str](), ""
        messages, skipped, turns = list[Message](), list[str](), list[str]()
        for number, (_, line) in enumerate(read_lines(piece.content)):
            if isinstance(line, str) or not line.strip():
                skipped += [line] if isinstance(line, str) else []
                continue
            entry = object_of(parse(line))
            if not entry:
                skipped.append("a line that is not a JSON object")
                continue
            kind, payload = text_of(entry.get("type")), object_of(entry.get("payload")) or entry
            if kind == "session_meta" or (not kind and "instructions" in entry):
                if "subagent" in str(payload.get("source")) or payload.get("thread_source") == "subagent":
                    raise Skip("a session of a subagent")
                if not begun:
                    own_id = text_of(payload.get("id")) or own_id
                    begun = time_of(payload.get("timestamp"), entry.get("timestamp"))
                folder = folder or text_of(payload.get("cwd"))
                continue
            if kind in ("turn_context", "event_msg"):
                turn = text_of(payload.get("turn_id")) or turn
            try:
                records = _read(kind, payload, names)
            except InputError as error:
                skipped.append(f"a message that cannot be read: {str(error).partition('.')[0]:.80}")
                continue
            if records:
                at = time_of(entry.get("timestamp")) or begun
                messages.append(Message(f"{own_id}/{number}", [replace(record, at=at) for record in records]))
                turns.append(turn)
        messages = _with_hook_keys(own_id, messages, turns)
        return Conversation(own_id, messages, channel=channel_of(own_id, folder), skipped=skipped)


def _with_hook_keys(session: str, messages: list[Message], turns: list[str]) -> list[Message]:
    """Return the messages; what was asked in a turn and its last reply with the keys that a hook gives them."""
    replies = {
        turn: at
        for at, (message, turn) in enumerate(zip(messages, turns, strict=True))
        if isinstance(message.records[0], AssistantMessage)
    }
    known, found = set[str](), list[Message]()
    for at, (message, turn) in enumerate(zip(messages, turns, strict=True)):
        first = message.records[0]
        is_last = isinstance(first, AssistantMessage) and replies[turn] == at
        if turn and len(message.records) == 1 and (is_last or isinstance(first, UserMessage)):
            text = without_host_text(clean_text(getattr(first, "text", "")))
            key = turn_key(session, turn, first.type, text)
            message = message if key in known else message._replace(key=key)  # the same words again are kept
            known.add(key)
        found.append(message)
    return found


def _read(kind: str, payload: Object, names: dict[str, str]) -> list[Record]:
    """Return what a line says. What the host told the model, and events, which repeat messages, are left out."""
    if kind == "compacted":
        text = text_of(payload.get("message"))
        return [SystemMessage(text, summary=True)] if text.strip() else []
    item = text_of(payload.get("type"))
    if kind in ("event_msg", "turn_context") or not (item == "message" or item.endswith(ITEMS)):
        return []
    if item == "message" and payload.get("role") not in ("user", "assistant"):
        return []
    said: list[Record] = []
    for record in with_tool_names(to_records([payload]), names):
        if isinstance(record, UserMessage):
            parts = (without_host_text(part, _HOST_TAG) for part in record.text.split("\n\n"))
            whole = "\n\n".join(parts)
            text = "" if record.text.startswith(_AGENTS_FILE) else without_host_text(whole, _HOST_TAG)
            said += [replace(record, text=text)] if text else []
        elif isinstance(record, ToolResult):
            said.append(_unwrapped(record))
        else:
            said.append(record)
    return said


def _unwrapped(result: ToolResult) -> ToolResult:
    """Return a result that stands in JSON with its exit code as its text alone."""
    try:
        given = object_of(json.loads(result.text)) if result.text.startswith("{") else {}
    except (ValueError, RecursionError):
        given = {}
    if not isinstance(given.get("output"), str):
        return result
    failed = object_of(given.get("metadata")).get("exit_code") not in (0, None)
    return replace(result, text=text_of(given.get("output")), failed=result.failed or failed)


IMPORTER = Codex()
