"""What the parameters of every call mean: the user, and values that several operations take."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Annotated

from fastapi import Depends, Query, Request
from pydantic import AwareDatetime, BeforeValidator, Field

from lifelong.memory import Memory, Store

USER_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,63}$"
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(_DAY.pattern + r"[Tt ]\d", re.ASCII)


async def _asked(
    request: Request,
    user: Annotated[str, Query(pattern=USER_PATTERN, description="Whose memory.")] = "default",
) -> Callable[..., Memory]:
    """Return a function that gives the user's memory; with `new`, also that of a user who holds nothing yet. It is
    called in the thread that answers, because it may read from the disk."""
    store: Store = request.app.state.store

    def memory(*, new: bool = False) -> Memory:
        return store.user(user) if new else store.existing_user(user)

    return memory


def _written(value: object) -> object:
    """A number is no time: nobody could say which one it is."""
    if isinstance(value, str) and not _TIME.match(value):
        raise ValueError("Give a time as ISO 8601 has it, with its zone, e.g. 2026-03-05T12:00:00Z")
    if isinstance(value, int | float):
        raise ValueError("Give a time as text, e.g. 2026-03-05T12:00:00Z")  # noqa: TRY004
    return value


def _written_day(value: object) -> object:
    if isinstance(value, str) and not _DAY.fullmatch(value):
        raise ValueError("Give a day as ISO 8601 has it, e.g. 2026-03-05")
    return value


AskedMemory = Annotated[Callable[..., Memory], Depends(_asked)]
Moment = Annotated[AwareDatetime, BeforeValidator(_written)]
Day = Annotated[date, BeforeValidator(_written_day)]
RecordId = Annotated[int, Field(ge=0, lt=2**63)]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]
AsOf = Annotated[Moment | None, Query(description="As it was at this time.")]
