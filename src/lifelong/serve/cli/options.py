"""What commands take: the options they share, and how a home, an agent, a document and a time are named."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TypeAlias, get_args

import typer

from lifelong.serve.terminal import in_progress, print_json

if TYPE_CHECKING:
    from lifelong.collect.descriptors import Descriptor
    from lifelong.memory import Memory, Store
    from lifelong.types import Agent

DEFAULT_HOME = Path("~/.lifelong")
DEFAULT_USER = "default"
AGENT_ID = re.compile(r"[0-9a-f]{32}")
DOCUMENT_ID = re.compile(r"d[0-9a-f]{8,23}", re.IGNORECASE)


def parse_path(text: str | Path) -> Path:
    """Return a path. An empty one, as of a variable that is not set, would be the current folder."""
    if not str(text).strip():
        raise typer.BadParameter("The path is empty. Name a file or a folder")
    return Path(text)


HomeOption = Annotated[
    Path,
    typer.Option(
        "--home",
        envvar="LIFELONG_HOME",
        help="The folder the memory lives in.",
        parser=parse_path,
        metavar="FOLDER",
    ),
]
UserOption = Annotated[str, typer.Option("--user", help="Whose memory.", metavar="NAME")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", help="How many at most.", min=1, max=1_000_000)]
NeighbourLimit = Annotated[int, typer.Option("--limit", "-n", help="How many at most.", min=1, max=1_000)]
TextArgument = Annotated[str | None, typer.Argument(help="The text. Left out, or '-': from standard input.")]

SHARED = {
    "home": (HomeOption, DEFAULT_HOME),
    "user": (UserOption, DEFAULT_USER),
    "as_json": (JsonOption, False),
}
"""What every command of a memory takes beside its own options."""

# The same as in `lifelong.types` and others, which take longer to import than help should
KindOption = Literal["record", "fact", "journal", "note", "experience"]
Sensitivity = Literal["public", "operational", "private-user", "secret"]
Verdict = Literal["useful", "wrong", "outdated"]
State = Literal["pending", "leased", "done", "dead"]
Group = Literal["category", "session", "entity"]


class Answer(NamedTuple):
    """The result of a command: a value for programs, what prints it for people, and the exit code."""

    value: object
    show: Callable[[], None]
    code: int = 0


Work: TypeAlias = Callable[..., Answer]


def command(
    group: typer.Typer, name: str | None = None, *, new: bool = False, for_home: bool = False, during: str = ""
) -> Callable[[Work], Work]:
    """Register a command of a memory. It gets the memory first; --home, --user and --json are added to its own
    options. `new`: it may make a user. `for_home`: it is about the home, not about a user. `during`: what is shown
    while it runs. The answer is printed once the memory is closed."""

    def registered(work: Work) -> Work:
        def run(home: Path, as_json: bool, **given: object) -> None:
            user = DEFAULT_USER if for_home else str(given.pop("user"))  # else, --user is an option of its own
            with open_memory(home, user, new=new) as memory, in_progress(during, quiet=as_json):
                answer = work(memory, **given)
            if as_json:
                print_json(answer.value)
            else:
                answer.show()
            if answer.code:
                raise typer.Exit(answer.code)

        del work.__annotations__["memory"]  # its type is imported only when the command runs
        _, *own = inspect.signature(work, eval_str=True).parameters.values()
        shared = [
            inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for option, (kind, default) in SHARED.items()
            if not (for_home and option == "user")
        ]
        run.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
        run.__doc__ = work.__doc__
        group.command(name or work.__name__)(run)
        return work

    return registered


def noun(name: str, text: str) -> typer.Typer:
    """Return a group of commands."""
    return typer.Typer(name=name, help=text, no_args_is_help=True, add_completion=False, rich_markup_mode=None)


def parse_time(text: str) -> datetime:
    """Return a time in ISO 8601; without a zone it is local time."""
    try:
        time = datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        message = f"{text!r:.100} is not a time. Write it like 2026-03-05 or 2026-03-05T14:30+01:00."
        raise typer.BadParameter(message) from error
    try:
        return time.astimezone()
    except (ValueError, OverflowError) as error:
        message = f"The year {time.year} is out of range. Write a time like 2026-03-05."
        raise typer.BadParameter(message) from error


def several(names: object, text: str) -> typer.models.OptionInfo:
    """Return an option that may be repeated, each time with one of these names."""
    known = get_args(names)

    def one(name: str) -> str:
        if name not in known:
            raise typer.BadParameter(f"Unknown value {name!r:.100}. Use one of: {', '.join(known)}.")
        return name

    option: typer.models.OptionInfo = typer.Option(help=text, parser=one, metavar=f"[{'|'.join(known)}]")
    return option


def time_option(name: str, text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(name, help=text, parser=parse_time, metavar="TIME")
    return option


SinceOption = Annotated[datetime | None, time_option("--since", "Only what was said from then on.")]
AsOfOption = Annotated[datetime | None, time_option("--as-of", "As it was stored at a past time.")]


@contextmanager
def open_memory(home: Path, user: str = DEFAULT_USER, *, new: bool = False) -> Iterator[Memory]:
    """Open the memory of a user that is known, or of a `new` one, in a home that exists."""
    from lifelong.home import existing_home
    from lifelong.memory import Store

    with Store.open(existing_home(home).path) as store:
        yield store.user(user) if new else _existing_user(store, user)


def _existing_user(store: Store, name: str) -> Memory:
    from difflib import get_close_matches

    from lifelong.errors import UserNotFound

    try:
        return store.existing_user(name)
    except UserNotFound as error:
        near = get_close_matches(name, store.users(), n=2, cutoff=0.8)
        question = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise UserNotFound(f"Unknown user {name!r}.{question} See: {hint('users', store.home.path)}") from error


def hint(words: str, home: Path, user: str = DEFAULT_USER) -> str:
    """Return a command for a person to run next, for the same home and user as this one."""
    usual = Path(os.environ.get("LIFELONG_HOME") or DEFAULT_HOME).expanduser().absolute()
    same_home = "" if home == usual else f" --home {shlex.quote(str(home))}"
    return f"lifelong {words}{same_home}{'' if user == DEFAULT_USER else f' --user {user}'}"


def parse_descriptor(name: str) -> Descriptor | None:
    """Return what `connector/user/channel` or a cache key describes; none for an id, or where a key is not
    enough."""
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


def find_agent(memory: Memory, name: str) -> Agent:
    """Return the agent of this address, cache key or id, or the user's default agent where no name is given."""
    from lifelong.types import Agent

    found = known_or_new(memory, name, new=False)
    return found if isinstance(found, Agent) else memory.agent(found)


def known_or_new(memory: Memory, name: str, *, new: bool = True) -> Agent | Descriptor | None:
    """Return the agent of this address, cache key or id; where it may be `new` and is not known, what describes
    it: it is made with the first record. None stands for the user's default agent."""
    from lifelong.collect.descriptors import Cron, cache_key, validate_descriptor
    from lifelong.errors import AgentNotFound

    if not name:
        return None
    described = parse_descriptor(name)
    if described:
        validate_descriptor(described)
    if described and new and not isinstance(described, Cron):  # a cron job may be known under a name that stays
        return described
    if AGENT_ID.fullmatch(name):
        return memory.agents.get(name)
    wanted = cache_key(described) if described else name
    for agent in memory.agents.list():
        if agent.cache_key == wanted:
            return agent
    if described and new:
        return described
    how = ", and a new one is named like cli/mara/main" if new else ""
    raise AgentNotFound(f"No agent of this user is called {name!r}{how}.")


def address(cache_key: str) -> str:
    """Return an agent's name as a person writes it after --agent: cli/mara/main."""
    short = cache_key.removeprefix("/connectors/")
    return cache_key if "%" in short else short


def document_path(document: str) -> str:
    """Return a document's id or path: with `~/` before it, without, or as a shell that expands `~` gives it."""
    home = str(Path("~").expanduser())
    if document == home or document.startswith(f"{home}/"):
        return f"~{document[len(home) :]}"
    if document.startswith("~") or DOCUMENT_ID.fullmatch(document):
        return document
    return f"~/{document.strip('/')}"


def read_text(text: str | None) -> str:
    """Return the text that stands on the line, or comes from standard input."""
    from lifelong.errors import InputError

    if text not in (None, "-"):
        return text or ""
    if sys.stdin.isatty():
        raise typer.BadParameter("There is no text. Write it on the line, or pipe it in")
    try:
        return sys.stdin.buffer.read().decode().strip("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"The input is not UTF-8: {error}. Convert it and try again.") from error
