"""How a stretch of history reads: Markdown blocks, one a record, that a person and a model can follow.

Text cannot forge a block, nor swallow the next one: a line in it that looks like one of our headings, or
that opens HTML, is escaped; a code fence it leaves open is closed; our own fences are longer than any in
what they hold. Text that recall injected is left out, so that nothing is learned from its own echo.

Runs in linear time, since it sees untrusted text before any limit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import assert_never

from lifelong.types import (
    AssistantMessage,
    Json,
    Note,
    StoredRecord,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)

FOREGROUND = "The following is a conversation between a person (User) and an agent (Assistant)."
BACKGROUND = (
    "The following is the log of an agent that works on its own: no person speaks in it. "
    "System Message is what the agent was told, Agent is what it said."
)

_FENCE = re.compile(r"<lifelong-context\s{1,9}id=[^<>]{0,200}>|</lifelong-context>\n?")
_MARK = "lifelong-context"
MAX_CUT_WORD_CHARS = 300  # characters of a tool result that are left out where it is cut, at most
_MAX_PASSES = 8  # removing a fence may join the halves of another
_MARKERS = re.compile(r"[-*+> \t]+|\d{1,9}[.)]")  # of quotes and lists
_LIKE_A_BLOCK = re.compile(
    r"#{2,3}[ \t]*(?:User|Assistant|System Message|Agent|Tool Call|Tool Result)\b|Note:|<[a-z/!?]|=+[ \t]*$",
    re.IGNORECASE,
)
_WORD_END = re.compile(r"[\w+/=.~:@-]{2,}\Z")
_STAMP = re.compile(r"^((?:#{2,3} |> Note: ).*)\[r(\d{1,18})(, [^\[\]]*\])$", re.MULTILINE)  # see `_stamp`
_FENCE_LINE = re.compile(r"^(`{3,}(?=[^`\n]*$)|~{3,})[^\n]*$", re.MULTILINE)


def transcript(
    records: Iterable[StoredRecord], *, foreground: bool, tool_result_chars: int = 2_000, zone: tzinfo = UTC
) -> str:
    """Return the records as Markdown, under a sentence that says what kind of conversation it is; empty when
    nothing was said. Times are in the zone."""
    blocks = [
        block
        for recorded in records
        if (block := _block(replace(recorded, at=recorded.at.astimezone(zone)), foreground, tool_result_chars))
    ]
    return "\n\n".join([FOREGROUND if foreground else BACKGROUND, *blocks]) if blocks else ""


def renumber_blocks(text: str, number: Callable[[int], int]) -> str:
    """Return a transcript with other ids of the records in its headings."""
    return _STAMP.sub(lambda found: f"{found[1]}[r{number(int(found[2]))}{found[3]}", text)


def without_injected(text: str) -> str:
    """Return the text without everything that recall put into it. What is not fenced on both sides stays; line
    ends become "\\n"."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _MARK not in text:
        return text.strip()
    for _ in range(_MAX_PASSES):
        shorter = _without_fenced(text)
        if shorter == text:
            break
        text = shorter
    return text.strip()


def _without_fenced(text: str) -> str:
    kept: list[str] = []
    opened: list[int] = []  # where in `kept` a fence stands that is not closed yet
    last = 0
    for fence in _FENCE.finditer(text):
        kept.append(text[last : fence.start()])
        last = fence.end()
        if not fence[0].startswith("</"):
            opened.append(len(kept))
            kept.append(fence[0])
        elif opened:
            del kept[opened.pop() :]
        else:
            kept.append(fence[0])
    return "".join(kept) + text[last:]


def _block(recorded: StoredRecord, foreground: bool, tool_result_chars: int) -> str:
    record, stamp = recorded.record, _stamp(recorded)
    match record:
        case UserMessage():
            return _spoken("User" if foreground else "System Message", record.speaker, stamp, record.text)
        case AssistantMessage():
            return _spoken("Assistant" if foreground else "Agent", record.speaker, stamp, record.text)
        case SystemMessage():
            about = "summary of what came before" if record.summary else ""
            return _spoken("System Message", about, stamp, record.text)
        case Note():
            text = without_injected(record.text)
            called = f"{_line(record.speaker)}: " if record.speaker else ""
            return f"> Note: {called}{' '.join(text.split())} {stamp}" if text else ""
        case ToolCall():
            arguments = json.dumps(_stripped(dict(record.arguments)), ensure_ascii=False, indent=2)
            return f"### Tool Call: {_line(record.name)} {stamp}\n\n{_fenced(arguments, 'json')}"
        case ToolResult():
            return _result(record, stamp, tool_result_chars)
        case _:
            assert_never(record)


def _stripped(value: Json) -> Json:
    match value:
        case str():
            return without_injected(value)
        case dict():
            return {key: _stripped(part) for key, part in value.items()}
        case list():
            return [_stripped(part) for part in value]
        case _:
            return value


def _spoken(who: str, name: str, stamp: str, text: str) -> str:
    text = without_injected(text)
    if not text:
        return ""
    called = f" ({_line(name)})" if name else ""
    return f"## {who}{called} {stamp}\n\n{_closed(_escaped(text))}"


def _escaped(text: str) -> str:
    """Return the text with a backslash before what a Markdown reader would take for more than text of its
    block: our headings and notes, HTML, underlines, and fences that are not at the start of a line."""
    return "\n".join(map(_escaped_line, text.split("\n")))


def _escaped_line(line: str) -> str:
    """Escape a line. Each character is looked at a few times, whatever the line is: markers are taken one by one,
    and what may follow them is looked for where they end."""
    at = 0
    while markers := _MARKERS.match(line, at):
        at = markers.end()
    if at == len(line):
        at = len(line.rstrip(" \t")) - 1
        forged = at >= 0 and line[at] == "-"
    else:
        forged = bool(_LIKE_A_BLOCK.match(line, at)) or (at > 0 and line.startswith(("```", "~~~"), at))
    return f"{line[:at]}\\{line[at:]}" if forged else line


def _closed(text: str) -> str:
    """Return the text with its open code fence closed."""
    opened = ""
    for line in _FENCE_LINE.finditer(text):
        fence = line[1]
        if not opened:
            opened = fence
        elif fence[0] == opened[0] and len(fence) >= len(opened) and line[0].rstrip() == fence:
            opened = ""
    return f"{text}\n{opened}" if opened else text


def _result(record: ToolResult, stamp: str, most: int) -> str:
    text = without_injected(record.text)
    if len(text) > most:
        most = _before_half_a_word(text, most)
    cut = f"\n\n[cut: {most:,} of {len(text):,} characters shown]" if len(text) > most else ""
    said = [part for part in (_line(record.name), "failed" if record.failed else "") if part]
    about = f" ({', '.join(said)})" if said else ""
    return f"### Tool Result{about} {stamp}\n\n{_fenced(_escaped(text[:most]))}{cut}"


def _before_half_a_word(text: str, most: int) -> int:
    """Return where to cut so that no word is cut in two, unless it is too long: half a key is not recognized as
    a key."""
    half = _WORD_END.search(text[max(0, most - MAX_CUT_WORD_CHARS) : most + 1])
    return most - half.end() + half.start() + 1 if half and half.start() else most


def _fenced(text: str, language: str = "") -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _line(text: str) -> str:
    """Return text that stays within its heading."""
    return " ".join(text.split())


def _stamp(recorded: StoredRecord) -> str:
    """Return the record's id, its time, and its provenance where that is not the usual one."""
    usual = type(recorded.record).__dataclass_fields__["provenance"].default
    source = "" if recorded.record.provenance == usual else f", from {recorded.record.provenance}"
    return f"[r{recorded.id}, {recorded.at:%Y-%m-%d %H:%M:%S %Z}{source}]"
