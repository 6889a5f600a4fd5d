"""Functions that a model may call: a name, a description, a JSON schema, and what is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lifelong.errors import InputError

_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "array": (list, tuple),
    "boolean": (bool,),
}


@dataclass(frozen=True, slots=True)
class Tool:
    """A function for a model. `parameters` is a JSON schema; `call` takes them as keyword arguments, gives
    text, and raises a `LifelongError` whose message the model can act on."""

    name: str
    description: str
    parameters: dict[str, Any]
    call: Callable[..., str]


def tool(name: str, description: str, parameters: dict[str, Any], call: Callable[..., str]) -> Tool:
    """A tool whose arguments are held to its schema before it is called."""

    def checked(**arguments: Any) -> str:
        given = {name: value for name, value in arguments.items() if value is not None}
        if wrong := misfit(given, parameters):
            raise InputError(wrong)
        return call(**given)

    return Tool(name, description, parameters, checked)


def misfit(arguments: dict[str, Any], parameters: dict[str, Any]) -> str:
    """What is wrong with the arguments of a call, for the model to mend; empty where they fit."""
    known: dict[str, dict[str, Any]] = parameters.get("properties", {})
    names = ", ".join(known)
    for name, value in arguments.items():
        if name not in known:
            return f"There is no argument {name!r}. The arguments are: {names}."
        kind = known[name].get("type", "")
        if kind in _KINDS and type(value) not in _KINDS[kind]:
            return f"The argument {name!r} must be of type {kind}."
    for name in parameters.get("required", ()):
        if name not in arguments:
            return f"The argument {name!r} is missing. The arguments are: {names}."
    return ""


def text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def number(description: str) -> dict[str, Any]:
    return {"type": "integer", "description": description}


def schema(*required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
