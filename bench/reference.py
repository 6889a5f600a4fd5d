"""The pages that are made from the program itself: `make docs` writes them, and tests see that they are true."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from lifelong.serve.cli.app import SECTIONS, commands
from lifelong.serve.http.app import API, api

if TYPE_CHECKING:
    from typer._click import Command

WIDTH = 100

HEAD = """\
# Command line

Generated from the commands' own help by `make docs`; do not edit by hand.

A command that prints something takes `--json` and prints JSON for programs, also of an error. `--home` (or
`LIFELONG_HOME`) names the folder the memory lives in, `--user` whose memory it is; `--debug`, anywhere on the
line, says where an error came from. A command ends with 0 when all is well, with 1 when something failed or was
found wrong, with 2 when it was called wrongly; `lifelong hook` always with 0. `lifelong --install-completion`
completes commands in your shell.
"""


def walk() -> Iterator[tuple[str, str, Command]]:
    """Section, full name and command, of each command that does something."""
    for title, apps in SECTIONS.items():
        for name, _, maker in commands(apps):
            made = typer.main.get_command(maker)
            if isinstance(made, TyperGroup):
                yield from ((title, f"lifelong {name} {verb}", one) for verb, one in made.commands.items())
            else:
                yield title, f"lifelong {name}", made


def helped(name: str, command: Command) -> str:
    """What `--help` prints, in a terminal of a fixed width."""
    settings = {"terminal_width": WIDTH, "help_option_names": ["-h", "--help"]}
    return typer.Context(command, info_name=name, **settings).get_help()  # type: ignore[arg-type]  # as typer hands them on


def cli() -> str:
    """docs/cli.md: every command, as its help says it."""
    parts, last = [HEAD], ""
    for title, name, command in walk():
        if title != last:
            parts.append(f"## {title}\n")
        last = title
        text = "\n".join(line.rstrip() for line in helped(name, command).splitlines())
        parts.append(f"### `{name}`\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


INTRODUCTION = f"""\
# HTTP reference

Made from `/openapi.json` by `make docs`. Addresses begin with `{API}`, but for `/metrics`. Every operation takes
the query parameter `user` (whose memory; `default` where it is left out). Times are ISO 8601 with a zone.
Errors are [problems](#problem). How to use it: [http.md](http.md)."""

_FORMATS = {"date-time": "time", "date": "day"}
_WORDS = {"string": "text", "object": "object", "null": "null"}


def http() -> str:
    """docs/http-reference.md: every operation and value, as the OpenAPI document says it."""
    document = api().openapi()
    tags: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tags.setdefault(operation["tags"][0], []).extend(_operation(method, path, operation))
    lines = [INTRODUCTION]
    for tag, told in tags.items():
        lines += [f"## {tag.capitalize()}", *told]
    lines += ["## Values"]
    for name, schema in sorted(document["components"]["schemas"].items()):
        lines += [f"### {name}", _paragraph(schema.get("description", "")), "\n".join(_fields(schema))]
    return "\n\n".join(line for line in lines if line) + "\n"


def _operation(method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"### {operation['operationId']}"
    yield f"`{method.upper()} {path.removeprefix(API)}`"
    yield _paragraph(operation["description"])
    taken = [_parameter(one) for one in operation.get("parameters", ()) if one["name"] != "user"]
    if body := operation.get("requestBody"):
        taken.append(f"- the body: {_type(body['content']['application/json']['schema'])}")
    yield "\n".join(taken)
    status, answer = next((code, said) for code, said in operation["responses"].items() if code.startswith("2"))
    content = answer.get("content", {})
    kinds = [_type(of["schema"]) if kind == "application/json" else f"`{kind}`" for kind, of in content.items()]
    yield f"Answers {status}: {kinds[0] if kinds else 'nothing'}."


def _parameter(parameter: dict[str, Any]) -> str:
    return _field(parameter["name"], parameter["schema"], parameter["required"], parameter.get("description", ""))


def _fields(schema: dict[str, Any]) -> Iterator[str]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        yield _field(name, field, name in required or "default" not in field, field.get("description", ""))


def _field(name: str, schema: dict[str, Any], required: bool, words: str) -> str:
    default = schema.get("default")
    empty = required or default in (None, "", [], {})
    told = f". {words.rstrip('.')}" if words else ""
    return f"- `{name}`: {_type(schema)}{'' if empty else f' (`{str(default).lower()}`)'}{told}"


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
            return _FORMATS.get(kind, "text")
        case {"type": str(kind)}:
            return _WORDS.get(kind, kind)
    return "anything"


def _paragraph(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    sys.stdout.write({"cli": cli, "http": http}[sys.argv[1]]())
