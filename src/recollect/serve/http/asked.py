"""What the parameters of every call mean: the profile, and values that several operations take."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Protocol

from fastapi import Depends, Query, Request
from pydantic import AwareDatetime, BeforeValidator, Field

from recollect.memory import Memory

PROFILE = r"^[a-z0-9][a-z0-9_-]{0,63}$"


class Opened(Protocol):
    """Gives the memory that is asked; `new`: also one of a profile that has no agent yet. Called in the thread of
    the call, because opening one reads from the disk."""

    def __call__(self, *, new: bool = False) -> Memory: ...


async def _asked(
    request: Request,
    profile: Annotated[str, Query(pattern=PROFILE, description="Whose memory.")] = "default",
) -> Opened:
    def opened(*, new: bool = False) -> Memory:
        found: Memory = request.app.state.memories.get(profile, new=new)
        return found

    return opened


def _only_text(value: object) -> object:
    """A number is no time: nobody could say which one it is."""
    if isinstance(value, str) and value[:4].isdecimal() and not value.isdecimal():
        return value
    if value is None or isinstance(value, datetime):
        return value
    raise ValueError("Give a time as ISO 8601 has it, with its zone, e.g. 2026-03-05T12:00:00Z")


AskedMemory = Annotated[Opened, Depends(_asked)]
Moment = Annotated[AwareDatetime, BeforeValidator(_only_text)]
RecordId = Annotated[int, Field(ge=0, lt=2**63)]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]
AsOf = Annotated[Moment | None, Query(description="As it was at this time.")]
