"""`/docs`: every operation and value of the API, from its OpenAPI document. Nothing is loaded from elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC
from typing import Any, NamedTuple

from markupsafe import Markup, escape
from starlette.responses import Response
from starlette.routing import Route

from lifelong.memory import Store
from lifelong.serve.http.scopes import SCOPE_KEY
from lifelong.serve.page.context import TEMPLATES, PageContext, route

Json = Mapping[str, Any]

_NAMES = {"date-time": "time", "date": "day", "string": "text", "null": "null"}


class Field(NamedTuple):
    """A parameter of an operation, or a field of a value."""

    name: str
    place: str
    type: Markup
    is_required: bool
    default: str
    description: str


class Described(NamedTuple):
    """An operation: how it is called, what it takes and answers, and a call of it at the command line."""

    name: str
    method: str
    path: str
    scope: str
    description: str
    fields: list[Field]
    body: Markup | None
    status: str
    answer: Markup
    example: str


_CODE = re.compile(r"`([^`]+)`")


def docs_route(store: Store, openapi: Callable[[], Json]) -> Route:
    """Return the route of the page. Whoever may read may see it: it shows nothing of a memory."""

    def show(page: PageContext) -> Response:
        document = openapi()
        schemas = document["components"]["schemas"]
        tags: dict[str, list[Described]] = {}
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                tags.setdefault(operation["tags"][0], []).append(_operation(method, path, operation, schemas))
        values = {name: (one.get("description", ""), list(_fields(one))) for name, one in sorted(schemas.items())}
        return page.render("docs.html", 200, zone=UTC, users=(), tags=tags, values=values, about=document["info"])

    return route(store, "/docs", show)


def _with_code(text: str) -> Markup:
    """Return text as HTML, with what stands between backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))


def _operation(method: str, path: str, operation: Json, schemas: Json) -> Described:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    status, answer = next(one for one in operation["responses"].items() if one[0].startswith("2"))
    kinds = [
        _type(of["schema"]) if kind == "application/json" and "schema" in of else escape(kind)
        for kind, of in answer.get("content", {}).items()
    ]
    fields = [
        _field(one["name"], one["schema"], one["in"], one.get("required", False), one.get("description", ""))
        for one in operation.get("parameters", ())
    ]
    return Described(
        name=operation["operationId"],
        method=method.upper(),
        path=path,
        scope=operation[SCOPE_KEY],
        description=operation["description"],
        fields=fields,
        body=_type(body) if body else None,
        status=status,
        answer=kinds[0] if kinds else Markup("nothing"),
        example=_example(method, path, body, schemas),
    )


def _example(method: str, path: str, body: Json | None, schemas: Json) -> str:
    """Return a call with curl, with a body where the document has an example of one."""
    is_usual = method == "get" or (method == "post" and body)
    words = ["curl", *([] if is_usual else [f"-X {method.upper()}"]), f'"$SERVER{path}"']
    words.append('-H "Authorization: Bearer $TOKEN"')
    if body:
        schema = schemas[body["$ref"].rpartition("/")[2]] if "$ref" in body else body
        given = next(iter(schema.get("examples", ())), None) or {
            name: field["examples"][0]
            for name, field in schema.get("properties", {}).items()
            if "examples" in field and (name in schema.get("required", ()) or not schema.get("required"))
        }
        shown = json.dumps(given, ensure_ascii=False).replace("'", "'\\''")
        words.append(f"--json '{shown}'")
    return " \\\n  ".join(words)


def _fields(schema: Json) -> Iterator[Field]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        yield _field(name, field, "", name in required, field.get("description", ""))


def _field(name: str, schema: Json, place: str, is_required: bool, description: str) -> Field:
    default = schema.get("default")
    shown = "" if is_required or default in (None, "", [], {}) else json.dumps(default, ensure_ascii=False)
    return Field(name, place, _type(schema), is_required, shown, description)


def _type(schema: Json) -> Markup:
    """Return what a value is, with a link where it is described below."""
    match schema:
        case {"$ref": str(target)}:
            name = target.rpartition("/")[2]
            return Markup('<a href="#{0}">{0}</a>').format(name)
        case {"anyOf": [*several]} | {"oneOf": [*several]}:
            return Markup(" or ").join(map(_type, several))
        case {"const": one}:
            return Markup("<code>{}</code>").format(json.dumps(one))
        case {"enum": [*several]}:
            return Markup(", ").join(Markup("<code>{}</code>").format(json.dumps(one)) for one in several)
        case {"type": "array", "items": items}:
            return Markup("list of {}").format(_type(items))
        case {"format": str(name)} if name in _NAMES:
            return escape(_NAMES[name])
        case {"type": str(name)}:
            return escape(_NAMES.get(name, name))
        case _:
            return Markup("anything")


TEMPLATES.filters["with_code"] = _with_code
