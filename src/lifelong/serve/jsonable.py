"""Turn values of lifelong into JSON values, for `--json`."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass

from pydantic_core import to_jsonable_python

from lifelong.types import ORIGINAL, Json


def jsonable(value: object) -> Json:
    """Return dataclasses as objects (a record with its `type`, a descriptor with its `kind`, which pydantic leaves
    out because they belong to the class; a record without its `original`), sets sorted, and the rest as pydantic
    does."""
    if is_dataclass(value) and not isinstance(value, type):
        tags = {name: tag for name in ("type", "kind") if isinstance(tag := getattr(value, name, None), str)}
        names = [field.name for field in fields(value) if field.name != ORIGINAL]
        return {**tags, **{name: jsonable(getattr(value, name)) for name in names}}
    if isinstance(value, Mapping):
        return {str(key): jsonable(one) for key, one in value.items()}
    if isinstance(value, Set):
        return sorted((jsonable(one) for one in value), key=str)
    if isinstance(value, tuple | list):
        return [jsonable(one) for one in value]
    converted: Json = to_jsonable_python(value)
    return converted
