"""Keep the paths of the machine from who does not look after it: a token of a user sees none (SPEC S8)."""

from __future__ import annotations

import re
import sys
from dataclasses import fields, is_dataclass, replace
from pathlib import Path, PurePath
from typing import Any, TypeVar

from lifelong.errors import JournalError, LifelongError, StorageError
from lifelong.memory import Store
from lifelong.serve.error_hints import Face, with_hint
from lifelong.tokens import Grant

HIDDEN = "…"
EXPLAINING = ("reason", "reasons", "error", "left")
"""The fields of results that say why something is so, in a sentence that may quote an error."""

T = TypeVar("T")


def hide_paths(text: str, store: Store) -> str:
    """Return a text in which the folders of this machine that lifelong knows of are replaced, with all below them:
    the home, the folder of a model, the installation, the account's own folder."""
    known = (store.home.path, store.settings.embeddings.path, sys.prefix, sys.base_prefix, _account())
    paths = {PurePath(one) for one in known if one}
    roots = sorted({str(one) for one in paths if len(one.parts) > 1}, key=len, reverse=True)
    return re.sub(rf"(?:{'|'.join(map(re.escape, roots))})(?:/[^\s'\"`,;()]*)?(?<![.:])", HIDDEN, text)


def without_paths(result: T, store: Store, grant: Grant) -> T:
    """Return a result of the library as a caller may see it: why something is so, and where a file is."""
    if grant.is_admin or not is_dataclass(result):
        return result
    changes: dict[str, Any] = {}
    for field in fields(result):
        value = getattr(result, field.name)
        if isinstance(value, Path):
            changes[field.name] = Path(value.name)
        elif field.name in EXPLAINING and isinstance(value, str):
            changes[field.name] = hide_paths(value, store)
        elif field.name in EXPLAINING and isinstance(value, tuple):
            changes[field.name] = tuple(hide_paths(one, store) for one in value)
    return replace(result, **changes)  # type: ignore[type-var]  # it is a dataclass


def file_name(path: str) -> str:
    """Return the last part of a path."""
    return PurePath(path).name


def error_text(error: LifelongError, face: Face, store: Store, grant: Grant) -> str:
    """Return what an error says to a caller. Where the database or a file failed, a token of a user is told which
    kind of error it is: the rest would name places on the machine."""
    if grant.is_admin:
        return with_hint(error, face)
    if isinstance(error, StorageError | JournalError):
        return str(type(error)())
    return hide_paths(with_hint(error, face), store)


def _account() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # an account without a folder
        return None
