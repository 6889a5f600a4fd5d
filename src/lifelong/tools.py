"""Functions that a model may call: a name, a description, a JSON schema, and what is done.

The schema and the check of arguments come from the function's signature, by pydantic. The text in
`Annotated[str, "…"]` describes a parameter.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin, get_type_hints

from lifelong.errors import InputError

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError


@dataclass(frozen=True, slots=True)
class Tool:
    """A function for a model. `parameters` is a JSON schema; `call` takes them as keyword arguments, returns text,
    and raises a `LifelongError` whose message the model can act on."""

    name: str
    description: str
    parameters: dict[str, Any]
    call: Callable[..., str]


def tool(name: str, description: str, call: Callable[..., str]) -> Tool:
    """Return a tool whose arguments are checked against the signature of `call`. A number may come as 3.0 or "3";
    null is the same as left out."""
    model, parameters = _arguments(call)

    def checked(**arguments: Any) -> str:
        from pydantic import ValidationError

        try:
            valid = model.model_validate({name: value for name, value in arguments.items() if value is not None})
        except ValidationError as error:
            raise InputError(_explain(error, model)) from None
        return call(**{name: getattr(valid, name) for name in valid.model_fields_set})

    return Tool(name, description, parameters, checked)


_models: dict[CodeType, tuple[type[BaseModel], dict[str, Any]]] = {}
"""By the code of the function: tools are made for each caller, of the same few functions."""


def _arguments(call: Callable[..., str]) -> tuple[type[BaseModel], dict[str, Any]]:
    """Return a model of the function's arguments, and its JSON schema without what models need not read."""
    from pydantic import ConfigDict, Field, create_model

    code = call.__code__
    if code not in _models:
        hints = get_type_hints(call, include_extras=True)
        fields: dict[str, Any] = {}
        for name, parameter in inspect.signature(call).parameters.items():
            kind, about = get_args(hints[name])
            default = ... if parameter.default is parameter.empty else None
            fields[name] = (Annotated[_without_none(kind), Field(default, description=about)], default)
        model = create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
        schema = model.model_json_schema()
        properties = {
            name: {key: value for key, value in one.items() if key not in ("title", "default")}
            for name, one in schema.get("properties", {}).items()
        }
        required = schema.get("required", [])
        parameters = {"type": "object", "properties": properties, "required": required}
        _models[code] = model, parameters | {"additionalProperties": False}
    return _models[code]


def _without_none(kind: Any) -> Any:
    """Return the type without None, which is never passed; whole numbers refuse true and false."""
    from pydantic import BeforeValidator

    if get_origin(kind) in (Union, UnionType):
        (kind,) = (one for one in get_args(kind) if one is not NoneType)
    return Annotated[int, BeforeValidator(_refuse_bool)] if kind is int else kind


def _refuse_bool(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("Input should be a valid integer")  # noqa: TRY004 - pydantic reports ValueErrors
    return value


def _explain(error: ValidationError, model: type[BaseModel]) -> str:
    """Return what is wrong with the arguments, for the model to correct."""
    first = error.errors()[0]
    name, names = first["loc"][0], ", ".join(model.model_fields)
    if first["type"] == "extra_forbidden":
        return f"Unknown argument {name!r:.200}. The arguments are: {names}."
    if first["type"] == "missing":
        return f"The argument {name!r} is missing. The arguments are: {names}."
    reason = first["msg"].removeprefix("Value error, ")
    return f"The argument {name!r} cannot be {first['input']!r:.200}: {reason}."
