"""Read the transcripts of Claude Code: ~/.claude/projects/<folder>/<session>.jsonl, one session a file.

The keys of prompts and replies are those of `lifelong hook`, and so is the agent: what a hook stored is not
imported again. Subagents, and what the host wrote itself, are left out.
"""

from __future__ import annotations

from dataclasses import replace

from lifelong.collect.claude_code import INTERRUPTED, TextKeys, channel_of, text_of_message, without_host_text
from lifelong.collect.messages import to_records, with_tool_names
from lifelong.errors import InputError
from lifelong.importers.base import (
    Conversation,
    Message,
    Object,
    WholeFiles,
    digest,
    object_of,
    text_of,
    time_of,
)
from lifelong.importers.sources import Piece, Source, SourceFile, parse, read_lines
from lifelong.types import AssistantMessage, Record, SystemMessage, UserMessage

SPOKEN = ("user", "assistant")
HOST = ("isMeta", "isSidechain")


class ClaudeCode(WholeFiles):
    """Read a session's file, or all of a folder."""

    label = "Claude Code"
    connector = "claude-code"
    units = ("session", "message")
    files = r".*\.jsonl"

    def recognize(self, source: Source) -> str:
        for name, one in source.samples:
            if name.endswith(".jsonl") and "sessionId" in one and ("message" in one or "uuid" in one):
                return f"{name} has lines with `sessionId` and `uuid`"
        return ""

    def conversation(self, piece: Piece) -> Conversation:
        assert isinstance(piece.content, SourceFile)
        return _Reading(piece.name).read(piece.content)


class _Reading:
    """The messages of one file, as they are read. Which reply is the last of its turn is known when the turn is
    over: only that one has a key that a hook may know."""

    def __init__(self, name: str) -> None:
        self._id = name.rpartition("/")[2].removesuffix(".jsonl")
        self._keys: dict[str, TextKeys] = {}
        self._messages: list[Message] = []
        self._skipped: list[str] = []
        self._session = self._prompt = self._reply = self._title = self._folder = ""
        self._reply_at = -1  # where in `messages` the last reply stands
        self._interrupted = False
        self._tool_names: dict[str, str] = {}  # by the ids of calls

    def read(self, file: SourceFile) -> Conversation:
        for _, line in read_lines(file):
            if isinstance(line, str):
                self._skipped.append(line)
                continue
            if not line.strip():
                continue
            entry = object_of(parse(line))
            if not entry:
                self._skipped.append("a line that is not a JSON object")
                continue
            self._folder = self._folder or text_of(entry.get("cwd"))
            if entry.get("type") == "summary":
                self._title = text_of(entry.get("summary"))
            if entry.get("type") in SPOKEN:
                self._add(entry)
        self._end_turn()
        channel = channel_of(self._id, self._folder)
        return Conversation(self._id, self._messages, self._title, channel, self._skipped)

    def _add(self, entry: Object) -> None:
        if any(entry.get(mark) for mark in HOST):
            if entry.get("isSidechain"):
                self._skipped.append("a message of a subagent")
            return
        message = object_of(entry.get("message"))
        text = text_of_message(message.get("content"))
        is_prompt = entry.get("type") == "user" and bool(text)
        text = without_host_text(text) if is_prompt else text
        if text.startswith(INTERRUPTED):
            self._interrupted = True
            return
        try:
            records = self._records(entry, message)
        except InputError as error:
            self._skipped.append(f"a message that cannot be read: {str(error).partition('.')[0]:.80}")
            return
        if not records:
            return
        key = text_of(entry.get("uuid")) or digest([self._id, entry])
        if entry.get("isCompactSummary"):
            self._messages.append(Message(key, records))
            return
        if is_prompt and text:
            self._end_turn()
            self._session, self._prompt = text_of(entry.get("sessionId")) or self._id, text
            key = self._text_keys().key(UserMessage, text)
        elif text and self._prompt and entry.get("type") == "assistant":
            self._reply, self._reply_at = text, len(self._messages)
        self._messages.append(Message(key, records))

    def _records(self, entry: Object, message: Object) -> list[Record]:
        at = time_of(entry.get("timestamp"))
        given = {"role": entry.get("type"), "content": message.get("content")}
        said: list[Record] = []
        for record in with_tool_names(to_records([given]), self._tool_names):
            if isinstance(record, UserMessage):
                text = without_host_text(record.text)
                is_summary = bool(entry.get("isCompactSummary"))
                made: Record = SystemMessage(text, summary=True) if is_summary else UserMessage(text)
                said += [made] if text else []
            else:
                said.append(record)
        return [replace(record, at=at) for record in said]

    def _end_turn(self) -> None:
        if not self._prompt:
            return
        keys = self._text_keys()
        if self._reply_at >= 0:
            message = self._messages[self._reply_at]
            if isinstance(message.records[0], AssistantMessage):
                self._messages[self._reply_at] = message._replace(key=keys.key(AssistantMessage, self._reply))
        if self._reply or self._interrupted:
            keys.end_turn(self._prompt, self._reply)
        self._prompt, self._reply, self._reply_at, self._interrupted = "", "", -1, False

    def _text_keys(self) -> TextKeys:
        return self._keys.setdefault(self._session, TextKeys(self._session))


IMPORTER = ClaudeCode()
