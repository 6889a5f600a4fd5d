"""Make the reference pages from the program itself. `make docs` writes them; tests compare them with the code."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, get_args, is_typeddict

import typer
from typer.core import TyperGroup

import lifelong
from lifelong import aio, errors, namespaces, types
from lifelong.collect import descriptors
from lifelong.journal.compaction import CompactionResult
from lifelong.journal.notes import Notes, NotesCompactionResult
from lifelong.journal.records import JournalRecord, Sensitivity
from lifelong.journal.service import JournalService
from lifelong.models.ledger import Call
from lifelong.organize import health, organizer
from lifelong.organize.consolidation import ConsolidationResult
from lifelong.organize.documents import DocumentContent, DocumentStore, TextEdit
from lifelong.organize.draft import Draft, Edit
from lifelong.organize.review import Review
from lifelong.organize.worker import WorkDone
from lifelong.recall.experience_rows import Experience
from lifelong.recall.experiences import Experiences
from lifelong.recall.feedback import Verdict
from lifelong.recall.recall_log import Recalled, Scored
from lifelong.recall.relations import RelatedEntity, RelationFinder, Relations
from lifelong.reviews import Reviews
from lifelong.serve.cli.app import SECTIONS, commands
from lifelong.serve.http.app import API, api
from lifelong.serve.http.scopes import SCOPE_KEY
from lifelong.tokens import Grant, LoggedWrite, NewToken, Token, Tokens

if TYPE_CHECKING:
    from typer._click import Command

WIDTH = 100

CLI_HEAD = """\
# Command line

Generated from the commands' own help by `make docs`; do not edit by hand.

A command that prints something takes `--json` and prints JSON for programs, also for an error. `--home` (or
`LIFELONG_HOME`) names the folder that the memory lives in, `--user` whose memory it is; `--debug`, anywhere on the
line, shows the traceback of an error. A command exits with 0 on success, with 1 when something failed or was found
wrong, with 2 when it was called wrongly; `lifelong hook` always with 0. `lifelong --install-completion` installs
completion in your shell.
"""


def walk() -> Iterator[tuple[str, str, Command]]:
    """Yield the section, the full name and the command itself of every command."""
    for title, section in SECTIONS.items():
        for name, _, maker in commands(section):
            made = typer.main.get_command(maker)
            if isinstance(made, TyperGroup):
                yield from ((title, f"lifelong {name} {verb}", one) for verb, one in made.commands.items())
            else:
                yield title, f"lifelong {name}", made


def help_text(name: str, command: Command) -> str:
    """Return what `--help` prints in a terminal of a fixed width."""
    settings = {"terminal_width": WIDTH, "help_option_names": ["-h", "--help"]}
    return typer.Context(command, info_name=name, **settings).get_help()  # type: ignore[arg-type]  # as typer hands them on


def cli() -> str:
    """Return docs/cli.md: every command with its help."""
    parts, last = [CLI_HEAD], ""
    for title, name, command in walk():
        if title != last:
            parts.append(f"## {title}\n")
        last = title
        text = "\n".join(line.rstrip() for line in help_text(name, command).splitlines())
        parts.append(f"### `{name}`\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


HTTP_HEAD = f"""\
# HTTP reference

Generated from `/openapi.json` by `make docs`; do not edit by hand. Addresses begin with `{API}`, except
`/metrics`. Every operation takes the query parameter `user` (whose memory; `default`, or the user of the token, if
it is left out). Times are ISO 8601 with a zone. Errors are [problems](#problem). How to use it:
[http.md](http.md)."""

_FORMAT_NAMES = {"date-time": "time", "date": "day"}
_TYPE_NAMES = {"string": "text", "object": "object", "null": "null"}


def http() -> str:
    """Return docs/http-reference.md: every operation and value of the OpenAPI document."""
    document = api().openapi()
    tags: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tags.setdefault(operation["tags"][0], []).extend(_operation(method, path, operation))
    lines = [HTTP_HEAD]
    for tag, operations in tags.items():
        lines += [f"## {tag.capitalize()}", *operations]
    lines += ["## Values"]
    for name, schema in sorted(document["components"]["schemas"].items()):
        lines += [f"### {name}", _paragraph(schema.get("description", "")), "\n".join(_fields(schema))]
    return "\n\n".join(line for line in lines if line) + "\n"


def _operation(method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"### {method.upper()} {path.removeprefix(API)}"
    yield f"{_paragraph(operation['description'])} Needs a token with the scope `{operation[SCOPE_KEY]}`."
    parameters = [_parameter(one) for one in operation.get("parameters", ()) if one["name"] != "user"]
    if body := operation.get("requestBody"):
        parameters.append(f"- the body: {_type(body['content']['application/json']['schema'])}")
    yield "\n".join(parameters)
    status, answer = next((code, one) for code, one in operation["responses"].items() if code.startswith("2"))
    content = answer.get("content", {})
    kinds = [_type(of["schema"]) if kind == "application/json" else f"`{kind}`" for kind, of in content.items()]
    yield f"Answers {status}: {kinds[0] if kinds else 'nothing'}."


def _parameter(parameter: dict[str, Any]) -> str:
    return _field(parameter["name"], parameter["schema"], parameter["required"], parameter.get("description", ""))


def _fields(schema: dict[str, Any]) -> Iterator[str]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        yield _field(name, field, name in required or "default" not in field, field.get("description", ""))


def _field(name: str, schema: dict[str, Any], required: bool, description: str) -> str:
    default = schema.get("default")
    empty = required or default in (None, "", [], {})
    text = f". {description.rstrip('.')}" if description else ""
    return f"- `{name}`: {_type(schema)}{'' if empty else f' (`{str(default).lower()}`)'}{text}"


def _type(schema: dict[str, Any]) -> str:
    match schema:
        case {"$ref": str(target)}:
            name = target.rpartition("/")[2]
            return f"[{name}](#{name.lower()})"
        case {"anyOf": [*several]} | {"oneOf": [*several]}:
            return " or ".join(_type(one) for one in several)
        case {"const": one}:
            return f"`{one}`"
        case {"enum": [*several]}:
            return " or ".join(f"`{one}`" for one in several)
        case {"type": "array", "items": dict(items)}:
            return f"list of {_type(items)}"
        case {"type": "string", "format": str(kind)}:
            return _FORMAT_NAMES.get(kind, "text")
        case {"type": str(kind)}:
            return _TYPE_NAMES.get(kind, kind)
    return "anything"


def _paragraph(text: str) -> str:
    return " ".join(text.split())


PYTHON_HEAD = """\
# Python reference

Generated from the docstrings by `make docs`; do not edit by hand. A tour of the same calls:
[getting started](getting-started.md). Every name that is imported from `lifelong` itself is public, and so are the
methods below.
"""

NAMESPACES: dict[str, tuple[type, type]] = {
    "agents": (namespaces.AgentDirectory, aio.AsyncAgents),
    "sessions": (namespaces.SessionDirectory, aio.AsyncSessions),
    "documents": (DocumentStore, aio.AsyncDocuments),
    "journal": (JournalService, aio.AsyncJournal),
    "experiences": (Experiences, aio.AsyncExperiences),
    "relations": (RelationFinder, aio.AsyncRelations),
    "inbox": (namespaces.InboxView, aio.AsyncInbox),
    "reviews": (Reviews, aio.AsyncReviews),
    "notes": (namespaces.NotesDirectory, aio.AsyncNotesDirectory),
    "admin": (namespaces.Admin, aio.AsyncAdmin),
}
"""The attributes of a memory: the class of each, and the asynchronous class that names its public calls."""

RETURNED: tuple[type, ...] = (
    *(
        types.StoredRecord,
        types.Agent,
        types.Session,
        types.SessionOutline,
        types.Turn,
        types.Hit,
        types.Document,
        types.Reference,
    ),
    *(types.Changeset, Edit, types.InboxItem, types.LifecycleResult, types.Stats, lifelong.Fact, lifelong.Receipt),
    *(
        lifelong.Health,
        WorkDone,
        ConsolidationResult,
        JournalRecord,
        CompactionResult,
        NotesCompactionResult,
        Experience,
        Relations,
        Review,
    ),
    *(ConsolidationResult, RelatedEntity, Recalled, Scored, Call, Token, NewToken, Grant, LoggedWrite),
)
LITERALS: dict[str, object] = {
    "ItemKind": types.ItemKind,
    "Provenance": types.Provenance,
    "Confidence": types.Confidence,
    "AgentState": types.AgentState,
    "ItemState": types.ItemState,
    "Stage": health.Stage,
    "Sensitivity": Sensitivity,
    "Verdict": Verdict,
    "Strategy": descriptors.Strategy,
}
"""Words that calls take and values hold, by the name of their type."""
DRAFT_CALLS = ("read", "at", "children", "write", "edit", "delete")  # what an organizer of one's own needs
RECORDS = ("UserMessage", "AssistantMessage", "ToolCall", "ToolResult", "Note", "SystemMessage")
DESCRIPTORS = ("User", "Cron", "Task", "System", "Subagent", "App", "Permanent", "MemoryAgent")


def python() -> str:
    """Return docs/python-reference.md: every public class and method with its docstring."""
    parts = [PYTHON_HEAD, "## Opening a home\n"]
    parts += [
        *_class(lifelong.Store),
        *_class(Tokens, "store.tokens"),
        *_class(lifelong.Memory, attributes=NAMESPACES),
        *_class(aio.AsyncMemory, methods=("open",)),
    ]
    parts.append("## Namespaces of a memory\n")
    for name, (kind, awaited) in NAMESPACES.items():
        public = _methods(kind) if kind.__module__ == namespaces.__name__ else _methods(awaited)
        parts += _class(kind, f"memory.{name}", public)
        if kind is namespaces.NotesDirectory:
            parts += _class(Notes, "memory.notes.worker(name)", _methods(aio.AsyncNotes))
        if kind is DocumentStore:
            parts += [*_class(DocumentContent), *_class(TextEdit)]
    parts.append("## Records\n\n`Record` is any of these.\n")
    parts += [part for name in RECORDS for part in _class(getattr(types, name))]
    parts.append("## Descriptors of agents\n\n`Descriptor` is any of these.\n")
    parts += [part for name in DESCRIPTORS for part in _class(getattr(descriptors, name))]
    parts.append("## What calls return\n")
    parts += [part for kind in RETURNED for part in _class(kind)]
    parts.append(f"### nothing_known\n\n#### `nothing_known{_signature(types.nothing_known)}`\n")
    parts.append(f"{_prose(inspect.getdoc(types.nothing_known) or '')}\n")
    parts.append("### Words\n\nTypes whose values are a few words:\n")
    parts += [f"- `{name}`: {', '.join(f'`{word}`' for word in get_args(one))}" for name, one in LITERALS.items()]
    parts.append("\n## Parts of your own\n")
    parts += [*_class(organizer.Organizer), *_class(organizer.Transcript), *_class(organizer.RunResult)]
    parts += [*_class(Draft, methods=DRAFT_CALLS), *_class(lifelong.Embedder), *_class(lifelong.Tool)]
    parts.append("## Errors\n\nAll are in `lifelong.errors`, and are a `LifelongError`.\n")
    parts.append("\n".join(_error(kind, depth) for kind, depth in _tree(errors.LifelongError)) + "\n")
    return "\n".join(parts)


def _class(
    kind: type, title: str = "", methods: Sequence[str] | None = None, attributes: Iterable[str] = ()
) -> Iterator[str]:
    yield f"### {title or kind.__name__}\n"
    if title:
        yield f"The class `{kind.__name__}`.\n"
    yield f"{_prose(inspect.cleandoc(kind.__doc__ or ''))}\n"
    if attributes:
        linked = ", ".join(f"[`{name}`](#memory{name})" for name in attributes)
        yield _wrapped(f"Its namespaces are attributes, described below: {linked}.") + "\n"
    if dataclasses.is_dataclass(kind):
        yield "\n".join(_dataclass_field(field) for field in dataclasses.fields(kind)) + "\n"
    elif is_typeddict(kind):
        yield (
            "\n".join(f"- `{name}: {_Text(one.__forward_arg__)}`" for name, one in kind.__annotations__.items())
            + "\n"
        )
    for name in _methods(kind) if methods is None else methods:
        member = inspect.getattr_static(kind, name)
        signature = "" if isinstance(member, property) else _signature(getattr(kind, name))
        text = inspect.getdoc(member.fget if isinstance(member, property) else getattr(kind, name)) or ""
        yield f"#### `{name}{signature}`\n\n{_prose(text)}\n"


def _methods(kind: type) -> list[str]:
    """Return the public methods and properties of a class, in the order of the code, inherited ones last."""
    found = {
        name: None
        for one in kind.__mro__
        if one.__module__.startswith("lifelong")
        for name, member in vars(one).items()
        if not name.startswith("_")
        and isinstance(member, property | classmethod | staticmethod | aio.awaited) | inspect.isfunction(member)
    }
    return list(found)


def _signature(call: Any) -> str:
    """Return the signature as its author wrote it, without `self`."""
    given = inspect.signature(call)
    plain = [
        one.replace(
            annotation=_Text(one.annotation),
            default=_Text(one.default) if inspect.isfunction(one.default) else one.default,
        )
        for one in given.parameters.values()
        if one.name != "self"
    ]
    returned = "" if given.return_annotation is given.empty else f" -> {_Text(given.return_annotation)!r}"
    return f"{given.replace(parameters=plain, return_annotation=given.empty)}{returned}"


class _Text(str):
    """An annotation that shows itself without quotation marks."""

    def __new__(cls, annotation: object) -> _Text:
        name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
        return super().__new__(cls, re.sub(r"\bbuiltins\.", "", name.strip("'\"")))

    def __repr__(self) -> str:
        return str(self)


def _dataclass_field(field: dataclasses.Field[Any]) -> str:
    default = "" if field.default is dataclasses.MISSING else f" = {field.default!r}"
    return f"- `{field.name}: {_Text(field.type)}{default}`"


def _prose(text: str) -> str:
    """Return a docstring as Markdown: what is indented is code."""
    blocks = re.split(r"\n\n+", text)
    return "\n\n".join(
        f"```py\n{textwrap.dedent(block)}\n```"
        if block.startswith("    ")
        else textwrap.fill(_paragraph(block), 115)
        for block in blocks
    )


def _wrapped(text: str, indent: str = "", further: str = "") -> str:
    return textwrap.fill(
        text, 115, initial_indent=indent, subsequent_indent=further, break_long_words=False, break_on_hyphens=False
    )


def _tree(kind: type, depth: int = 0) -> Iterator[tuple[type, int]]:
    yield kind, depth
    for one in vars(errors).values():
        if inspect.isclass(one) and one.__bases__[0] is kind:
            yield from _tree(one, depth + 1)


def _error(kind: type, depth: int) -> str:
    text = f"- `{kind.__name__}`: {_paragraph(kind.__doc__ or '')}"
    indent = "  " * depth
    return _wrapped(text, indent, f"{indent}  ")


if __name__ == "__main__":
    sys.stdout.write({"cli": cli, "http": http, "python": python}[sys.argv[1]]())
