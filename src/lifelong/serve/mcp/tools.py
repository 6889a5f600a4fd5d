"""The tools that a client's model may call: those that every agent has, and four for MCP clients."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Annotated, cast

from mcp import types

from lifelong.errors import InputError
from lifelong.journal.tools import NOTE_CONTENT, NOTE_KEY, note_tool
from lifelong.memory import Memory
from lifelong.organize.document_rows import MEMORY_ROOT
from lifelong.tools import Tool, tool
from lifelong.types import Agent, AssistantMessage, Hit, ItemKind, UserMessage

READ_ONLY = {"recall_memory", "query_experiences", "relations", "document_read", "context", "list"}
OVERWRITES = {"store_memory"}
MAX_WORKER_NAME_CHARS = 100

DESCRIPTIONS = {
    "context": "What to know as a conversation begins: pins, the user's rules, preferences and allergies, what is "
    "known about the topic. Call it first.",
    "recall_memory": "Search all that is remembered. Use it before you answer what may depend on earlier "
    "conversations, and before you say that you do not know. Hits have a date, an id and a speaker.",
    "relations": "Who and what somebody or something is related to, with what says so.",
    "query_experiences": "Find what was learned or decided before. Use it before work of a kind done before.",
    "document_read": "Read a document with its version and children, by id or path; with neither, the roots. "
    "What is known by subject is below ~/memory.",
    "document_write": "Make a document, below ~/memory unless you name a parent; or replace one that you read. "
    "[[path]] names another.",
    "document_edit": "Append to a document that you read, or replace a text that occurs once in it.",
    "remember_this": "Keep what the user wants remembered, prefers or decides: one sentence that can be "
    "understood alone.",
    "list": "List what is remembered, newest first, when the user asks what you know.",
    "add": "Store a turn, word for word, unless hooks do that.",
    "store_memory": "Keep a working note of your own. The same key overwrites.",
}
"""What a tool is for and when to use it, in few words: every conversation begins with them."""

PARAMETERS = {
    "about": "The topic, in the user's words.",
    "tokens": "At most.",
    "query": "A question or keywords; names and times count.",
    "top_k": "1 to 50; 5 if left out.",
    "expected_version": "The version you read.",
    "path": "E.g. ~/memory/people.",
    "slug": "Its name in the path.",
    "body": "All of it; each fact a paragraph that ends in its records: [r12].",
    "links": "Ids or paths.",
    "find": "Instead of append.",
    "category": "note, learned, user-preference, decision …",
    "subject": "A name or words.",
    "kind": "record, fact, journal, note or experience.",
    "assistant": "Your answer.",
    "speaker": "The user's name.",
    "key": "Letters, digits, _ and -.",
    "worker": "Whose note, if not yours.",
}
"""What a parameter is, where its name does not say it."""

NO_CONTEXT = "Nothing is remembered that would open a session. Search with recall_memory."
CONTEXT_TOO_SMALL = (
    "Nothing fits into {:,} tokens, or nothing is remembered. Ask for more, or search with recall_memory."
)
JOURNAL_OFF = (
    " The journal, which opens sessions, is off: set journal_enabled = true in [continuity] of lifelong.toml."
)


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose memory a client uses, and as which agent: none where the client only reads and never wrote."""

    memory: Memory
    agent: Agent | None
    client: str

    def context(self, about: str | None = None, tokens: int | None = None) -> str:
        """Return what opens a session, fenced; a sentence where there is nothing."""
        if found := self.memory.context(about, agent=self.agent, tokens=tokens):
            return found
        off = "" if self.memory.settings.continuity.journal_enabled else JOURNAL_OFF
        return (NO_CONTEXT if tokens is None else CONTEXT_TOO_SMALL.format(tokens)) + off


def tools(caller: Caller) -> dict[str, Tool]:
    """Return the caller's tools by name, without those that are switched off."""
    shared = map(_below_memory, caller.memory.tools(caller.client, caller.agent))
    own = (_list_memory(caller), _add_messages(caller), _store_memory(caller))
    return {one.name: one for one in (_get_context(caller), *shared, *own)}


def find_tool(caller: Caller, name: str) -> Tool:
    """Return the tool of this name. Raise `ConfigError` for one that is off: it says how to switch it on."""
    known = tools(caller)
    if name == "remember_this" and name not in known:
        caller.memory.journal.check_enabled()
    if name == "query_experiences" and name not in known:
        _ = caller.memory.experiences
    if name not in known:
        raise InputError(f"There is no tool {name!r:.200}. The tools are: {', '.join(known)}.")
    return known[name]


def listed_tool(one: Tool) -> types.Tool:
    """Return the tool as a client lists it."""
    properties = {
        name: {key: value for key, value in schema.items() if key != "description"}
        | ({"description": PARAMETERS[name]} if name in PARAMETERS else {})
        for name, schema in one.parameters["properties"].items()
    }
    required = {"required": one.parameters["required"]} if one.parameters["required"] else {}
    hints = {"readOnlyHint": one.name in READ_ONLY, "destructiveHint": one.name in OVERWRITES}
    return types.Tool.model_validate(
        {
            "name": one.name,
            "description": DESCRIPTIONS[one.name],
            "inputSchema": {"type": "object", "properties": properties, **required},
            "annotations": {**hints, "openWorldHint": False},
        }
    )


def _below_memory(one: Tool) -> Tool:
    """Have a new document go below ~/memory where no parent is named: there it is organized and found."""
    if one.name != "document_write":
        return one

    def write(**arguments: object) -> str:
        has_parent = any(arguments.get(name) for name in ("document_id", "parent_id", "parent_path"))
        return one.call(**arguments if has_parent else arguments | {"parent_path": MEMORY_ROOT})

    return replace(one, call=write)


def _store_memory(caller: Caller) -> Tool:
    def store(
        key: Annotated[str, NOTE_KEY],
        content: Annotated[str, NOTE_CONTENT],
        worker: Annotated[str, PARAMETERS["worker"]] = "",
    ) -> str:
        notes = caller.memory.notes.worker(worker or _worker_name(caller.client))
        return note_tool(notes).call(key=key, content=content)

    return tool("store_memory", DESCRIPTIONS["store_memory"], store)


def _add_messages(caller: Caller) -> Tool:
    """The records are the agent's word, also of what the user said: a model is not the user, and may be misled
    (SPEC S5)."""

    def add(
        user: Annotated[str, "What the user said."],
        assistant: Annotated[str, PARAMETERS["assistant"]] = "",
        speaker: Annotated[str, PARAMETERS["speaker"]] = "",
    ) -> str:
        if not user.strip():
            raise InputError("There is no text from the user. Give the user's words.")
        answer = [AssistantMessage(assistant)] if assistant.strip() else []
        ids = caller.memory.add([UserMessage(user, speaker, provenance="agent"), *answer], agent=caller.agent)
        caller.memory.end_turn(caller.agent)
        return f"Stored as {', '.join(ids)}."

    return tool("add", DESCRIPTIONS["add"], add)


def _get_context(caller: Caller) -> Tool:
    def context(
        about: Annotated[str | None, PARAMETERS["about"]] = None,
        tokens: Annotated[int | None, PARAMETERS["tokens"]] = None,
    ) -> str:
        return caller.context(about, tokens)

    return tool("context", DESCRIPTIONS["context"], context)


def _list_memory(caller: Caller) -> Tool:
    def show(
        subject: Annotated[str, PARAMETERS["subject"]] = "",
        kind: Annotated[str, PARAMETERS["kind"]] = "",
        limit: Annotated[int, "20 if left out."] = 20,
    ) -> str:
        from lifelong.recall.context import fenced

        hits = caller.memory.list(cast(ItemKind, kind) if kind else None, subject or None, limit=limit)
        return fenced(map(_line, hits)) if hits else "Nothing is remembered. Leave out the subject or the kind."

    return tool("list", DESCRIPTIONS["list"], show)


def _line(hit: Hit) -> str:
    from lifelong.recall.context import shortened

    ended = f", ended {hit.until:%Y-%m-%d}" if hit.until else ""
    return f"- {shortened(hit.text)} ({hit.at:%Y-%m-%d}, {hit.id}, by {hit.trust_label}{ended})"


def _worker_name(client: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", client)[:MAX_WORKER_NAME_CHARS].strip("-") or "client"
