"""What commands take: the options they share, and how a home, an agent, a document and a time are named."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TypeAlias, get_args

import typer

from lifelong.serve.cli.output import print_json, under_way

if TYPE_CHECKING:
    from lifelong.collect.descriptors import Descriptor
    from lifelong.memory import Memory
    from lifelong.types import Agent

DEFAULT_HOME = Path("~/.lifelong")
DEFAULT_USER = "default"
ID = re.compile(r"d[0-9a-f]{8,23}", re.IGNORECASE)

HomeOption = Annotated[
    Path, typer.Option("--home", envvar="LIFELONG_HOME", help="The folder the memory lives in.", metavar="FOLDER")
]
UserOption = Annotated[str, typer.Option("--user", help="Whose memory.", metavar="NAME")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", help="How many at most.", min=1, max=1_000_000)]
TextArgument = Annotated[str | None, typer.Argument(help="The text. Left out, or '-': from standard input.")]

SHARED = {
    "home": (HomeOption, DEFAULT_HOME),
    "user": (UserOption, DEFAULT_USER),
    "as_json": (JsonOption, False),
}
"""What the commands of a memory take, beside what is their own."""

# As in `lifelong.types` and its like, which help need not import
Kind = Literal["record", "fact", "journal", "note", "experience"]
Sensitivity = Literal["public", "operational", "private-user", "secret"]
Verdict = Literal["useful", "wrong", "outdated"]
State = Literal["pending", "leased", "done", "dead"]
Group = Literal["category", "session", "entity"]


class Answer(NamedTuple):
    """What a command says: a value for programs, how it is shown to people, and how the command ends."""

    value: object
    show: Callable[[], None]
    code: int = 0


Work: TypeAlias = Callable[..., Answer]


def command(
    group: typer.Typer, name: str | None = None, *, new: bool = False, whole: bool = False, during: str = ""
) -> Callable[[Work], Work]:
    """A command of a memory, which it gets first; the options --home, --user and --json are added to its own.
    `new`: the user may be one that begins with it. `whole`: it is of the home, not of a user. `during`: what
    is said while it takes long. The answer is shown once the memory is closed."""

    def registered(work: Work) -> Work:
        def run(home: Path, as_json: bool, user: str = DEFAULT_USER, **given: object) -> None:
            with existing(home, user, new=new) as memory, under_way(during, quiet=as_json):
                answer = work(memory, **given)
            if as_json:
                print_json(answer.value)
            else:
                answer.show()
            if answer.code:
                raise typer.Exit(answer.code)

        del work.__annotations__["memory"]  # which is imported when it is needed
        _, *own = inspect.signature(work, eval_str=True).parameters.values()
        shared = [
            inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for option, (kind, default) in SHARED.items()
            if not (whole and option == "user")
        ]
        run.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
        run.__doc__ = work.__doc__
        group.command(name or work.__name__)(run)
        return work

    return registered


def noun(name: str, text: str) -> typer.Typer:
    """A group of commands."""
    return typer.Typer(name=name, help=text, no_args_is_help=True, add_completion=False, rich_markup_mode=None)


def a_time(text: str) -> datetime:
    """ISO 8601; without a zone it is local time."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError) as error:
        message = f"{text!r:.100} is no time. Write it like 2026-03-05 or 2026-03-05T14:30+01:00."
        raise typer.BadParameter(message) from error


def several(names: object, text: str) -> typer.models.OptionInfo:
    """An option that may be repeated: typer has none of its own for such lists."""
    known = get_args(names)

    def one(name: str) -> str:
        if name not in known:
            raise typer.BadParameter(f"{name!r:.100} is none of: {', '.join(known)}.")
        return name

    option: typer.models.OptionInfo = typer.Option(help=text, parser=one, metavar=f"[{'|'.join(known)}]")
    return option


def time_option(name: str, text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(name, help=text, parser=a_time, metavar="TIME")
    return option


SinceOption = Annotated[datetime | None, time_option("--since", "What was said from then on.")]
AsOfOption = Annotated[datetime | None, time_option("--as-of", "As it was at a past time.")]


@contextmanager
def existing(home: Path, user: str = DEFAULT_USER, *, new: bool = False) -> Iterator[Memory]:
    """The memory in a home that is there already, of a user that is known, or of a `new` one."""
    from lifelong.home import existing_home
    from lifelong.memory import Store

    with Store.open(existing_home(home).path) as store:
        yield store.user(user) if new else store.existing_user(user)


def descriptor(name: str) -> Descriptor | None:
    """What `connector/user/channel` or a cache key describes; none for an id, or where a key is not enough."""
    from urllib.parse import unquote

    from lifelong.collect.descriptors import Cron, System, Task, User

    if not name.startswith("/"):
        parts = name.split("/")
        return User(*parts) if len(parts) == 3 else None
    match [unquote(part) for part in name[1:].split("/")]:
        case ["connectors", connector, user, channel]:
            return User(connector, user, channel)
        case ["cron", job]:
            return Cron(job)
        case ["task", task]:
            return Task(task)
        case ["system", tag]:
            return System(tag)
        case _:
            return None


def the_agent(memory: Memory, name: str, *, new: bool = False) -> Agent:
    """The agent of this address, cache key or id; where a `new` one may begin, made on first use."""
    from lifelong.collect.descriptors import Cron, cache_key, validate_descriptor
    from lifelong.errors import AgentNotFound

    described = descriptor(name)
    if described:
        validate_descriptor(described)
    if described and new and not isinstance(described, Cron):  # one of those may have a name that stays
        return memory.agent(described)
    if ID.fullmatch(name):
        return memory.agents.get(name)
    wanted = cache_key(described) if described else name
    for agent in memory.agents.list():
        if agent.cache_key == wanted:
            return agent
    if described and new:
        return memory.agent(described)
    how = ", and a new one is named like cli/mara/main" if new else ""
    raise AgentNotFound(f"No agent of this user is called {name!r}{how}.")


def the_path(document: str) -> str:
    """A document's id, or its path: with `~/` before it, without, or as a shell that knows `~` hands it over."""
    home = str(Path("~").expanduser())
    if document == home or document.startswith(f"{home}/"):
        return f"~{document[len(home) :]}"
    if document.startswith("~") or ID.fullmatch(document):
        return document
    return f"~/{document.strip('/')}"


def given(text: str | None) -> str:
    """A text that stands on the line, or comes from standard input."""
    from lifelong.errors import InputError

    if text not in (None, "-"):
        return text or ""
    if sys.stdin.isatty():
        raise typer.BadParameter("There is no text. Write it on the line, or pipe it in")
    try:
        return sys.stdin.buffer.read().decode().strip("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"The input is no UTF-8: {error}. Convert it and try again.") from error
