"""Any value of lifelong as JSON has it: for `--json`, for HTTP and for MCP alike."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from pathlib import PurePath

from lifelong.types import Json


def plain(value: object) -> Json:
    """Dataclasses as objects (a record or descriptor with its `type` or `kind`), times as ISO 8601."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, PurePath):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        tag = {
            name: getattr(value, name) for name in ("type", "kind") if isinstance(getattr(value, name, None), str)
        }
        return {**tag, **{field.name: plain(getattr(value, field.name)) for field in fields(value)}}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, Set):
        return sorted((plain(one) for one in value), key=str)
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    raise TypeError(f"There is no plain form of {type(value).__name__}.")
