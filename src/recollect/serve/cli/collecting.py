"""`recollect append`: what was said, from the line or from a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from recollect.serve.cli.options import (
    DEFAULT_HOME,
    DEFAULT_PROFILE,
    HomeOption,
    JsonOption,
    ProfileOption,
    TextArgument,
    a_time,
    existing,
    given,
    the_agent,
    time_option,
)
from recollect.serve.cli.output import done, print_json, under_way

if TYPE_CHECKING:
    from recollect.types import Record

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
    profile: ProfileOption = DEFAULT_PROFILE,
    as_json: JsonOption = False,
) -> None:
    """Store what was said. It is on disk when the command ends.

    With --jsonl each line has a role (or a type) and a text, and may have speaker, key and at; all lines are
    stored, or none.

    Example: recollect append "I live in Lisbon." --agent cli/mara/main --speaker Mara
    """
    if jsonl and text not in (None, "-"):
        raise typer.BadParameter("--jsonl reads from standard input. Leave the text out")
    said = given(text)
    if jsonl:
        records, keys = _lines(said)
    else:
        spoken = {"speaker": speaker} if speaker else {}
        records, keys = [_record({"role": role, "text": said, "at": at, **spoken})], [key]
    with existing(home, profile, new=True) as memory:
        who = the_agent(memory, agent or _self(), new=True)
        with under_way(f"Storing {len(records):,} records …", quiet=as_json or not jsonl):
            ids = memory.append_many(who, records, keys=keys)
        if end:
            memory.sleep(who)
    if as_json:
        print_json({"agent": who.cache_key, "ids": ids})
    else:
        done(f"Stored {_named(ids)} of {who.cache_key}.")


def _lines(text: str) -> tuple[list[Record], list[str | None]]:
    from recollect.errors import InputError

    records, keys = [], []
    for number, content in _objects(text):
        try:
            key = cast("str | None", content.pop("key", None))  # which append looks at
            if isinstance(at := content.get("at"), str):
                content["at"] = a_time(at)
            records.append(_record(content))
            keys.append(key)
        except (InputError, typer.BadParameter) as error:
            raise InputError(f"Line {number} cannot be taken, so none was stored. {error}") from error
    if not records:
        raise InputError("There is no record in the input. Pipe in one JSON object a line.")
    return records, keys


def _objects(text: str) -> Iterator[tuple[int, dict[str, object]]]:
    from recollect.errors import InputError

    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"Line {number} is no JSON, so none was stored: {error}.") from error
        if not isinstance(content, dict):
            raise InputError(f"Line {number} is no JSON object, so none was stored.")
        yield number, content


def _record(content: dict[str, object]) -> Record:
    from recollect.collect.history import from_json

    role = content.pop("role", None)
    return from_json({"type": TYPES.get(str(role), role), **content} if role else content)


def _self() -> str:
    from getpass import getuser

    try:
        return f"cli/{getuser()}/main"
    except (OSError, KeyError):  # a machine that has no name for us
        return "cli/me/main"


def _named(ids: list[int]) -> str:
    return f"r{ids[0]}" if len(ids) == 1 else f"{len(ids):,} records, r{ids[0]} to r{ids[-1]},"
