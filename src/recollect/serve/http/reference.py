"""The reference of the API as Markdown, made from its OpenAPI document. `make docs` writes the page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from recollect.serve.http.app import API, api

INTRODUCTION = f"""\
# HTTP reference

Made from `/openapi.json` by `make docs`. Addresses begin with `{API}`, but for `/metrics`. Every operation takes
the query parameter `profile` (whose memory; `default` where it is left out). Times are ISO 8601 with a zone.
Errors are [problems](#problem). How to use it: [http.md](http.md)."""

_FORMATS = {"date-time": "time", "date": "day"}
_WORDS = {"string": "text", "object": "object", "null": "null"}


def reference() -> str:
    """The whole page."""
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
    taken = [_parameter(one) for one in operation.get("parameters", ()) if one["name"] != "profile"]
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
    sys.stdout.write(reference())
