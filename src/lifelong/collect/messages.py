"""Turn the messages of OpenAI, Anthropic, LangChain and Pydantic AI, as dicts or objects, into records (SPEC C11).

No SDK is imported: a shape is recognised by its fields.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from lifelong.collect.message_parts import (
    CONTENTS,
    FINDINGS,
    MEDIA,
    NOT_SAID,
    TEXTS,
    Fields,
    MakeRecord,
    example_of,
    fields_of,
    has_fields,
    list_of,
    make_records,
    make_system,
    nearest,
    read_call,
    read_content,
    read_part,
    read_result,
    shown,
    text_of,
    time_of,
    type_of,
    with_time,
)
from lifelong.errors import InputError
from lifelong.types import AssistantMessage, Record, ToolCall, ToolResult, UserMessage

_ROLES: dict[str, MakeRecord] = {
    **dict.fromkeys(("user", "human"), UserMessage),
    **dict.fromkeys(("assistant", "ai"), AssistantMessage),
    **dict.fromkeys(("system", "developer"), make_system),
    **dict.fromkeys(("tool", "function"), ToolResult),
}
_WEB_TOOLS = ("web_search", "web_fetch", "WebSearch", "WebFetch")
_EXAMPLE = '{{"role": "{}", "content": "…"}}'
_TAKEN = f"Give text, a message such as {_EXAMPLE.format('user')}, one of lifelong's records, or a list of these."


def to_records(what: object, *, at: datetime | None = None, speaker: str = "") -> list[Record]:
    """Return the records that text, a message or a list of messages holds. `at` is the time of what carries none
    itself, `speaker` the name of a user who has none. Raise InputError if one message cannot be read."""
    is_pair = isinstance(what, tuple) and len(what) == 2 and isinstance(what[0], str) and what[0] in _ROLES
    messages: Iterable[object] = [what]
    if not (is_pair or isinstance(what, str | Record) or has_fields(what)):
        if isinstance(what, bytes | bytearray | type) or not isinstance(what, Iterable):
            raise InputError(f"A message cannot be {shown(what)}. {_TAKEN}")
        messages = what
    tool_names: dict[str, str] = {}
    records: list[Record] = []
    for number, message in enumerate(messages, 1):
        try:
            read = [message] if isinstance(message, Record) else with_tool_names(_read(message), tool_names)
        except InputError as error:
            raise InputError(f"Message {number} {error}") from error
        records += with_time(read, at)
    return [
        replace(record, speaker=speaker) if isinstance(record, UserMessage) and not record.speaker else record
        for record in records
    ]


def _read(message: object) -> list[Record]:
    """Return the records of one message. Error texts are predicates: the caller puts "Message 1 " before them."""
    if isinstance(message, str):
        return make_records(UserMessage, [message])
    if isinstance(message, list | tuple):
        if len(message) != 2 or not isinstance(message[0], str):
            raise InputError(f"is a {type(message).__name__}. Give one flat list of messages.")
        message = {"role": message[0], "content": message[1]}  # LangChain's ("human", "text")
    if not has_fields(message):
        raise InputError(f"cannot be {shown(message)}. {_TAKEN}")
    given = fields_of(message)
    if "role" in given or "content" in given:
        read = _read_message(given)
    elif "choices" in given:  # OpenAI's ChatCompletion
        choice = fields_of(next(iter(list_of(given, "choices")), None))
        if not has_fields(choice.get("message")):
            raise InputError('has no "message" in its "choices". Give a whole ChatCompletion, not a chunk.')
        read = _read(choice["message"])
    elif given.get("object") == "response":  # OpenAI's Response
        read = [record for item in list_of(given, "output") for record in _read(item)]
    elif "parts" in given:  # Pydantic AI's ModelRequest and ModelResponse
        make = UserMessage if given.get("kind") == "request" else AssistantMessage
        read = make_records(make, read_content(list_of(given, "parts")))
    elif data := fields_of(given.get("data") or given.get("kwargs")):  # LangChain's message_to_dict and dumpd
        read = _read({"type": given.get("type"), **data})
    else:
        read = _read_message(given)
    return with_time(read, time_of(given))


def _read_message(given: Fields) -> list[Record]:
    """Read a message with a role, or an item of OpenAI's Responses, which has a type instead."""
    role, kind = given.get("role"), type_of(given)
    if text_of(given, "type") in NOT_SAID:
        return []
    if role is None:
        pieces = read_part(kind, given)
        if pieces is not None and not any(isinstance(piece, str) for piece in pieces):
            return make_records(UserMessage, pieces)
        role = kind.removesuffix("MessageChunk").lower() if kind.endswith("MessageChunk") else kind  # LangChain
    make = _ROLES.get(role) if isinstance(role, str) else None
    if make is None:
        raise InputError(_unknown_role(given, kind))
    if not any(name in given for name in CONTENTS):
        raise InputError(f'has no "content". Did you mean {_EXAMPLE.format(role)}?')
    if make is ToolResult:
        return [read_result("", given)]
    content = given.get("content")
    pieces = read_content(content) + read_content(given.get("refusal"))
    if audio := fields_of(given.get("audio")):
        pieces.append(text_of(audio, "transcript") or "[audio]")
    known = {piece.call_id for piece in pieces if isinstance(piece, ToolCall)} - {""}
    function_call = [given["function_call"]] if given.get("function_call") else []
    for item in [*list_of(given, "tool_calls"), *list_of(given, "invalid_tool_calls"), *function_call]:
        call, *_ = read_call("tool_call", item)
        if call.call_id not in known:  # LangChain's tool_calls repeat the calls in an Anthropic content
            pieces.append(call)
    # Anthropic cuts a text where a citation begins and ends.
    is_cited = isinstance(content, list | tuple) and any(fields_of(part).get("citations") for part in content)
    return make_records(make, pieces, text_of(given, "name"), "" if is_cited else "\n\n")


def with_tool_names(records: list[Record], names: dict[str, str]) -> list[Record]:
    """Name each result after the call it answers, and say which results came from the web."""
    named: list[Record] = []
    for record in records:
        if isinstance(record, ToolCall) and record.call_id:
            names[record.call_id] = record.name
        if isinstance(record, ToolResult):
            name = record.name or names.get(record.call_id, "")
            named.append(replace(record, name=name, provenance="web" if name in _WEB_TOOLS else "tool"))
        else:
            named.append(record)
    return named


def _unknown_role(given: Fields, kind: str) -> str:
    """Say what is wrong with the message, and which known one it is nearest to."""
    role = given.get("role")
    if role is not None:
        near = nearest(text_of(given, "role"), _ROLES, "")
        advice = f'Did you mean "{near}"?' if near else f"Use one of: {', '.join(_ROLES)}."
        return f"has the unknown role {shown(role)}. {advice}"
    if kind in TEXTS or kind in MEDIA or kind in FINDINGS:
        return f'is only a part. Did you mean {{"role": "user", "content": [{{"type": "{kind}", …}}]}}?'
    if kind and kind != "message":
        return f"has the unknown type {shown(kind)}. Did you mean {example_of(kind, 'message')}?"
    meant = given.get(nearest("role", map(str, given), ""))
    return f'has no "role". Did you mean {_EXAMPLE.format(meant if meant in tuple(_ROLES) else "user")}?'
