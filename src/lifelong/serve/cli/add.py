"""`lifelong append`: what was said, from the line or from a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from lifelong.serve.cli.options import (
    DEFAULT_HOME,
    DEFAULT_USER,
    HomeOption,
    JsonOption,
    TextArgument,
    UserOption,
    a_time,
    existing,
    given,
    the_agent,
    time_option,
)
from lifelong.serve.cli.output import done, print_json, under_way

if TYPE_CHECKING:
    from lifelong.types import Record

verbs = typer.Typer()

Role = Literal["user", "assistant", "note", "system", "tool-result"]
TYPES = {
    "user": "user_message",
    "assistant": "assistant_message",
    "note": "note",
    "system": "system_message",
    "tool-result": "tool_result",
}


@verbs.command()
def append(
    text: TextArgument = None,
    agent: Annotated[
        str,
        typer.Option(
            help="Whose talk: connector/user/channel, a cache key or an id.", show_default="cli/<you>/main"
        ),
    ] = "",
    role: Annotated[Role, typer.Option(help="Who said it.")] = "user",
    speaker: Annotated[str, typer.Option(help="The person's name, where several talk.", show_default=False)] = "",
    key: Annotated[
        str | None, typer.Option(help="With the same key again, nothing is stored twice.", show_default=False)
    ] = None,
    at: Annotated[datetime | None, time_option("--at", "When it was said, if not now.")] = None,
    end: Annotated[
        bool, typer.Option("--end", help="The talk is over: what is new in it is organized next.")
    ] = False,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Read records from standard input, one JSON a line.")
    ] = False,
    home: HomeOption = DEFAULT_HOME,
    user: UserOption = DEFAULT_USER,
    as_json: JsonOption = False,
) -> None:
    """Store what was said. It is on disk when the command ends.

    With --jsonl each line has a text, and may have role (or type), speaker, at and key; where it has none, --role,
    --speaker and --at count. All lines are stored, or none. --end without a text only ends the talk.

    Example: lifelong append "I live in Lisbon." --agent cli/mara/main --speaker Mara
    """
    if jsonl and text not in (None, "-"):
        raise typer.BadParameter("--jsonl reads from standard input. Leave the text out")
    if jsonl and key is not None:
        raise typer.BadParameter("With --jsonl each line has its own key. Leave --key out")
    over = end and not jsonl and text is None  # there may be no text
    said = "" if over and sys.stdin.isatty() else given(text)
    about = {"role": role, "speaker": speaker, "at": at}
    records, keys = _lines(said, about) if jsonl else _one(said, about, key, needed=not over)
    with existing(home, user, new=bool(records)) as memory:
        who = the_agent(memory, agent or _self(), new=bool(records))
        with under_way(f"Storing {len(records):,} records …", quiet=as_json or not jsonl):
            ids = memory.append_many(who, records, keys=keys)
        if end:
            memory.end_session(who)
    if as_json:
        print_json({"agent": who.cache_key, "ids": ids})
    elif ids:
        done(f"Stored {_named(ids)} of {who.cache_key}.")
    else:
        done(f"The talk of {who.cache_key} is over.")


def _one(
    text: str, about: Mapping[str, object], key: str | None, *, needed: bool
) -> tuple[list[Record], list[str | None]]:
    from lifelong.errors import InputError

    if text.strip():
        spoken = {"speaker": about["speaker"]} if about["speaker"] else {}  # also of whom there is none
        return [_record({"text": text, **spoken}, about)], [key]
    if needed:
        raise InputError("There is no text. Write it on the line, or pipe it in.")
    return [], []


def _lines(text: str, about: Mapping[str, object]) -> tuple[list[Record], list[str | None]]:
    from lifelong.errors import InputError

    records: list[Record] = []
    keys: list[str | None] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            content = _content(line)
            keys.append(content.pop("key", None))
            records.append(_record(content, about))
        except (InputError, typer.BadParameter) as error:
            raise InputError(f"Line {number} cannot be taken, so none was stored. {error}") from error
    if not records:
        raise InputError("There is no record in the input. Pipe in one JSON object a line.")
    return records, keys


def _content(line: str) -> dict[str, Any]:
    from lifelong.errors import InputError

    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"It is no JSON: {error}.") from error
    if not isinstance(content, dict):
        raise InputError("It is no JSON object.")
    if not isinstance(content.get("key"), str | None):
        raise InputError("Its key is no text.")
    if (at := content.get("at")) is not None:
        content["at"] = a_time(str(at))
    return content


def _record(content: dict[str, object], about: Mapping[str, object]) -> Record:
    """What the content says; where it says nothing of it, what is said about all of them."""
    from dataclasses import fields

    from lifelong.collect.history import from_json, to_row
    from lifelong.errors import InputError
    from lifelong.types import Record, ToolCall, ToolResult

    role = content.pop("role", None if "type" in content else about["role"])
    named = content.get("type") if role is None else TYPES.get(str(role))
    kind = next((kind for kind in get_args(Record) if kind.type == named), None)
    if kind is None:
        raise InputError(f"{role or named!r:.100} is no role. Use one of: {', '.join(TYPES)}.")
    known = [field.name for field in fields(kind)]
    if strange := [name for name in content if name not in (*known, "type")]:
        raise InputError(f"It has no use for {strange[0]!r:.100}. It may have: role, key, {', '.join(known)}.")
    told: dict[str, object] = {name: about[name] for name in ("speaker", "at") if about[name] and name in known}
    needed = "name" if kind is ToolCall else "text"
    if not isinstance(said := content.get(needed, ""), str):
        raise InputError(f"Its {needed} must be text.")
    if needed not in content or (kind is not ToolResult and not said.strip()):
        raise InputError(f"It has no {needed}.")
    record = from_json({**told, **content, "type": kind.type})
    to_row(record, 0, sys.maxsize)  # so that what is wrong is said here, of this line
    return record


def _self() -> str:
    from lifelong.serve.caller_identity import login

    return f"cli/{login()}/main"


def _named(ids: list[int]) -> str:
    return f"r{ids[0]}" if len(ids) == 1 else f"{len(ids):,} records, r{ids[0]} to r{ids[-1]},"
