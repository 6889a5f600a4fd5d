"""Read the parts of a message: text, files, tool calls and tool results of every provider.

A part is recognised by its type, a call or a result by how its type ends, so that a provider's next hosted tool is
read as well. Reasoning, encrypted state and lists of available tools were not said: they give no record.

Error texts are predicates: the caller puts "Message 1 " before them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import NoReturn, TypeAlias, cast

from lifelong.errors import InputError
from lifelong.types import Json, Record, SystemMessage, ToolCall, ToolResult, UserMessage

Fields: TypeAlias = Mapping[str, object]
Piece: TypeAlias = str | Record
MakeRecord: TypeAlias = Callable[[str, str], Record]
"""Makes a record of a text and the name of its speaker."""

CONTENTS = ("content", "tool_calls", "function_call", "invalid_tool_calls", "refusal", "audio")
TEXTS = {"text", "refusal", "text-plain", "text-content", "structured-content", "speech"}
FINDINGS = {"search_result", "web_search_result", "web_fetch_result", "file_search_result", "shell_result", "logs"}
FINDINGS |= {"code_execution_result", "bash_code_execution_result", "tool_reference"}
"""Parts of a tool's result that read as lines, one for each of the fields below."""
_FINDING_FIELDS = (
    "title",
    "filename",
    "source",
    "url",
    "stdout",
    "stderr",
    "logs",
    "tool_name",
    "text",
    "content",
)
_UNTYPED = {"file_search_call": "file_search_result", "shell_call_output": "shell_result"}  # types of their parts

MEDIA = {  # the type of a part: what its placeholder says
    **{label: label for label in ("image", "audio", "video", "document")},
    **dict.fromkeys(("file", "binary", "uploaded-file", "container_upload", "resource", "resource_link"), "file"),
    **dict.fromkeys(("code_execution_output", "bash_code_execution_output"), "file"),
    "computer_screenshot": "image",
}
_MEDIA_FIELDS = {"source", "data", "base64", "url", "image_url", "file_url", "uri", "file_id", "file_data"}
_MEDIA_FIELDS |= {"input_audio", "file", "resource"}
_MEDIA_NAMES = ("title", "filename", "name", "url", "image_url", "file_url", "uri", "file_id")

NOT_SAID = {"thinking", "redacted_thinking", "reasoning", "reasoning_content", "cache-point", "fallback"}
NOT_SAID |= {"item_reference", "additional_tools", "configuration_update", "compaction_trigger", "instruction"}
NOT_SAID |= {"mcp_list_tools", "mcp_tool_listing", "mcp_approval_request", "mcp_approval_response"}
NOT_SAID |= {"tool_search_output", "instruction-baseline", "tool_call_chunk", "server_tool_call_chunk"}
_CALL_ENDINGS = ("tool_use", "_call", "tool-call", "program")
_NAMED_ENDINGS = ("tool_use", "tool_call", "tool-call", "function_call", "mcp_call")  # the others are hosted tools
_RESULT_ENDINGS = ("tool_result", "_call_output", "tool-return", "program_output")
_ARGUMENTS = ("arguments", "args", "input", "action", "actions", "operation", "queries", "code", "revised_prompt")
_TIMES = ("created_at", "created", "timestamp", "at", "time")
_FIRST_MILLISECONDS = 100_000_000_000  # in seconds this would be the year 5138
_ATTRIBUTES = ("type", "role", "name", "tool_call_id", "status", *CONTENTS, *_TIMES)
_EXAMPLES = {
    "message": '{"type": "message", "role": "user", "content": "…"}',
    "function_call": '{"type": "function_call", "call_id": "…", "name": "…", "arguments": "{}"}',
    "function_call_output": '{"type": "function_call_output", "call_id": "…", "output": "…"}',
    "human": '{"type": "human", "content": "…"}',
    "text": '{"type": "text", "text": "…"}',
    "image_url": '{"type": "image_url", "image_url": {"url": "…"}}',
    "tool_use": '{"type": "tool_use", "id": "…", "name": "…", "input": {}}',
    "tool_result": '{"type": "tool_result", "tool_use_id": "…", "content": "…"}',
}


def make_system(text: str, _: str) -> Record:
    return SystemMessage(text)


_PROMPTS: dict[str, MakeRecord] = {  # Pydantic AI's parts that are messages of their own
    "user-prompt": UserMessage,
    **dict.fromkeys(("system-prompt", "retry-prompt", "retry-feedback"), make_system),
}


def make_records(
    make: MakeRecord, pieces: Iterable[Piece], speaker: str = "", between: str = "\n\n"
) -> list[Record]:
    """Return the records in order, texts that follow each other as one."""
    records: list[Record] = []
    for is_text, run in groupby(pieces, lambda piece: isinstance(piece, str)):
        if not is_text:
            records += cast("Iterable[Record]", run)
        elif (text := between.join(piece for piece in cast("Iterable[str]", run) if piece)).strip():
            records.append(make(text, speaker))
    return records


def read_content(content: object) -> list[Piece]:
    """Return the texts, calls and results of a message's content, in order."""
    if content is None or isinstance(content, str):
        return [content] if content else []
    if isinstance(content, bytes | bytearray) or not (has_fields(content) or isinstance(content, Iterable)):
        raise InputError(f'has a "content" that cannot be {shown(content)}. Give text or a list of parts.')
    pieces: list[Piece] = []
    for part in [content] if has_fields(content) else cast("Iterable[object]", content):
        given = fields_of(part)
        read = [part] if isinstance(part, str) else read_part(type_of(given), given)
        if read is None:
            what = f"of the unknown type {shown(type_of(given))}" if given else f"that cannot be {shown(part)}"
            raise InputError(f"has a part {what}. Did you mean {example_of(type_of(given), 'text')}?")
        pieces += read
    return pieces


def read_part(kind: str, part: Fields) -> list[Piece] | None:
    """Return what a part of a content or an item of OpenAI's Responses holds; none where the type is unknown."""
    if kind in NOT_SAID or kind.endswith(("-delta", "_delta")):
        return []
    if kind in TEXTS or (not kind and "text" in part):
        text = text_of(part, "text", "refusal", "transcript", "content") or ("[audio]" if kind == "speech" else "")
        if not text and not any(part.get(name) == "" for name in ("text", "refusal", "content")):
            raise InputError(f"has a text part without text. Did you mean {_EXAMPLES['text']}?")
        return [text]
    if kind in MEDIA:
        return [_placeholder(kind, part)]
    if kind in FINDINGS:
        return ["\n".join(line for name in _FINDING_FIELDS if (line := _result_text(part.get(name))))]
    read: list[Record]
    if kind == "compaction":
        read = [SystemMessage(text, summary=True)] if (text := text_of(part, "content")) else []
    elif kind == "retry-prompt" and part.get("tool_name"):
        read = [replace(read_result(kind, part), failed=True)]
    elif kind in _PROMPTS:
        content = part.get("content")
        pieces = read_content(content) if kind == "user-prompt" else [_result_text(content)]
        read = make_records(_PROMPTS[kind], pieces)
    elif kind.endswith(_RESULT_ENDINGS):
        read = [read_result(kind, part)]
    elif kind.endswith(_CALL_ENDINGS):
        read = [*read_call(kind, part)]
    else:
        return None
    return [*with_time(read, time_of(part))]


def read_call(kind: str, item: object) -> tuple[ToolCall, *tuple[ToolResult, ...]]:
    """Return a tool call, and its result where the call of a hosted tool carries it."""
    given = fields_of(item)
    given = {**given, **fields_of(given.get("function") or given.get("custom"))}  # OpenAI Chat nests them
    hosted = "" if kind.endswith(_NAMED_ENDINGS) else kind.removesuffix("_call")
    name = text_of(given, "name", "tool_name") or hosted
    if not name:
        raise InputError(
            f"has a tool call without a name: {shown(item)}. Did you mean {_EXAMPLES['function_call']}?"
        )
    call_id = text_of(given, "call_id", "tool_call_id", "id")
    field = next((field for field in _ARGUMENTS if given.get(field) is not None), "")
    arguments = _arguments(field, given.get(field))
    carried = next(
        (field for field in ("output", "outputs", "results", "result", "error") if given.get(field)), ""
    )
    if kind == "web_search_call" and isinstance(sources := arguments.pop("sources", None), list):
        text = "\n".join(text_of(fields_of(source), "url") for source in sources)
    elif not carried or kind.endswith("tool_call"):
        return (ToolCall(name, arguments, call_id),)
    elif kind == "image_generation_call" and carried == "result":
        text = "[image]"
    else:
        text = _result_text(given[carried], _UNTYPED.get(kind, ""))
    failed = carried == "error" or given.get("status") == "failed"
    return ToolCall(name, arguments, call_id), ToolResult(text, name, call_id, failed)


def _arguments(field: str, value: object) -> dict[str, Json]:
    if isinstance(value, Mapping):
        is_hosted = field in ("action", "operation")  # whose unused fields an SDK sets to None
        return {key: part for key, part in value.items() if not (is_hosted and part is None)}
    if value is None or value == "":
        return {}
    if not isinstance(value, str) or field not in ("arguments", "args", "input"):
        return {field: cast("Json", value)}
    try:
        parsed = json.loads(value, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        parsed = None
    return parsed if isinstance(parsed, dict) else {"arguments": value}


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def read_result(kind: str, given: Fields) -> ToolResult:
    """Return the result in a part of this type, or in a message of a tool (type "")."""
    name = text_of(given, "name", "tool_name")
    if not name and kind.startswith("web_"):
        name = kind.removesuffix("_tool_result")
    value = next((given[field] for field in ("content", "output", "result") if given.get(field) is not None), None)
    inner = fields_of(value)
    failed = (
        bool(given.get("is_error") or inner.get("return_code"))
        or given.get("status") in ("error", "failed")
        or given.get("outcome", "success") != "success"
        or type_of(inner).endswith("_error")
    )
    call_id = text_of(given, "tool_use_id", "tool_call_id", "call_id", *(["id"] if kind else []))
    return ToolResult(_result_text(value, _UNTYPED.get(kind, "")), name, call_id, failed)


def _result_text(value: object, kind: str = "") -> str:
    """Return the text of a tool's result: parts as they read, anything else as JSON. `kind` is the type of parts
    that have none."""
    if value is None:
        return ""
    texts = [_part_text(part, kind) for part in (value if isinstance(value, list | tuple) else [value])]
    if None not in texts:
        return "\n\n".join(text for text in texts if text)
    try:
        return json.dumps(_without_data(value), ensure_ascii=False, default=str)
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"has a tool result that JSON cannot hold: {error}. Give it as text.") from error


def _part_text(part: object, kind: str) -> str | None:
    if isinstance(part, str):
        return part
    given = fields_of(part)
    kind = type_of(given) or kind
    is_part = kind in TEXTS or kind in FINDINGS or (kind in MEDIA and not _MEDIA_FIELDS.isdisjoint(given))
    return "\n\n".join(cast("list[str]", read_part(kind, given))) if is_part else None


def _without_data(value: object) -> object:
    """Return a value for JSON, with a placeholder for each file."""
    if isinstance(value, bytes | bytearray):
        return f"[{len(value):,} bytes]"
    if isinstance(value, list | tuple):
        return [_without_data(part) for part in value]
    if not has_fields(value):
        return value
    given = fields_of(value)
    text = _part_text(given, "") if type_of(given) in MEDIA else None
    return {key: _without_data(part) for key, part in given.items()} if text is None else text


def _placeholder(kind: str, part: Fields) -> str:
    """Return "[image]" or "[image: name]" for a file, followed by its text if it is a text; never its data."""
    nested = [part, *(fields_of(value) for value in part.values())]
    names = [text_of(found, field) for field in _MEDIA_NAMES for found in nested]
    name = next((name for name in names if name and not name.startswith("data:")), "")
    if "://" in name:
        name = re.sub(r"^[^:]*://[^/]*/?|[?#].*", "", name).rstrip("/").rpartition("/")[2]
    kinds = [text_of(found, "media_type", "mime_type", "mimeType").partition("/")[0] for found in nested]
    label = next((top for top in kinds if MEDIA[kind] == "file" and top in MEDIA), MEDIA[kind])
    placeholder = f"[{label}: {' '.join(name.split())[:100]}]" if name else f"[{label}]"
    source = fields_of(part.get("source") or part.get("resource"))
    is_text = source.get("type", "text") == "text"
    text = text_of(source, "text", "data") if is_text else _result_text(source.get("content"))
    return f"{placeholder}\n\n{text}" if text else placeholder


def with_time(records: list[Record], at: datetime | None) -> list[Record]:
    """Return the records with this time where they have none."""
    return [replace(record, at=at) if at is not None and record.at is None else record for record in records]


def time_of(given: Fields) -> datetime | None:
    """Return the time that a message or a part carries."""
    field = next((field for field in _TIMES if given.get(field) is not None), None)
    if field is None:
        return None
    value = moment = given[field]
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
        elif isinstance(value, int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value / 1000 if abs(value) >= _FIRST_MILLISECONDS else value, UTC)
    except (ValueError, OverflowError, OSError):
        moment = None
    if not isinstance(moment, datetime):
        advice = 'Give seconds or milliseconds since 1970, or text such as "2026-03-01T09:30:00Z".'
        raise InputError(f'has a "{field}" that is not a time: {shown(value)}. {advice}')
    if moment.utcoffset() is None:
        raise InputError(
            f'has a "{field}" without a time zone: {shown(value)}. Add "Z" or an offset like "+02:00".'
        )
    return moment


def has_fields(thing: object) -> bool:
    """Tell whether this is a dict, a pydantic model, a dataclass or an object that looks like a message."""
    if thing is None or isinstance(thing, Mapping | str | type | Record):
        return isinstance(thing, Mapping)
    is_message = hasattr(thing, "content") and (hasattr(thing, "type") or hasattr(thing, "role"))
    return callable(getattr(thing, "model_dump", None)) or is_dataclass(thing) or is_message


def fields_of(thing: object) -> Fields:
    """Return the fields of what has fields, and none of anything else."""
    if isinstance(thing, Mapping) or not has_fields(thing):
        return thing if isinstance(thing, Mapping) else {}
    if callable(dump := getattr(thing, "model_dump", None)):
        try:
            return cast("Fields", dump(warnings=False))  # an SDK's own parsed models would warn
        except TypeError:  # not pydantic's
            return cast("Fields", dump())
    names = [field.name for field in fields(thing)] if is_dataclass(thing) else _ATTRIBUTES
    return {name: getattr(thing, name) for name in names if hasattr(thing, name)}


def list_of(given: Fields, name: str) -> list[object]:
    """Return the list in this field."""
    value = given.get(name)
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable | None):
        raise InputError(f'has a "{name}" that is not a list: {shown(value)}. Give a list.')
    return list(value or ())


def text_of(given: Fields, *names: str) -> str:
    """Return the first of these fields that holds text."""
    return next((value for name in names if isinstance(value := given.get(name), str) and value), "")


def type_of(given: Fields) -> str:
    """Return the type of a part or an item; "text" for OpenAI's "input_text", "image" for "image_url" …"""
    kind = text_of(given, "type", "part_kind", "kind")
    bare = kind.removeprefix("input_").removeprefix("output_").removesuffix("_url").removesuffix("-url")
    return bare if bare in TEXTS or bare in MEDIA else kind


def shown(value: object) -> str:
    """Return how a value reads in a message, cut short."""
    try:
        return f"{value!r:.100}"
    except ValueError:  # a whole number of more digits than Python writes
        return f"a very long {type(value).__name__}"


def nearest(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return the known word that is most like this one."""
    from difflib import get_close_matches  # takes a while, and messages are known as a rule

    return next(iter(get_close_matches(word[:100].lower(), known, 1, 0.5)), otherwise)


def example_of(kind: str, otherwise: str) -> str:
    """Return the known shape whose type is most like this one."""
    return _EXAMPLES[nearest(kind, _EXAMPLES, otherwise)]
