"""Three weeks of a small team's conversations, written for this project: the people are not real.

Times and dates are relative to the day on which the samples are read, so that the last sessions are of today: a
session has its `day` and `time`, or was so many minutes `ago`; `{date+3}` and `{day-1}` in a text become
"19 November" and "Sunday". A record is [who, text], or a tool's ["call", name, arguments], ["result", name, text]
and ["failed", name, text].
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from importlib.resources import files
from typing import Any

from lifelong.collect.descriptors import Descriptor, decode
from lifelong.types import (
    AssistantMessage,
    Note,
    Record,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)

DAYS = 20
"""How many days before today the first session was."""

SECRETS = ("tk_9fK2xQ7vLw3TzB8nRc5Yh1Jd", "Gaivota-azul-2291")
"""Secrets in the samples that must not show up anywhere."""

PLANTED = ("gift card", "peanut")
"""Words of what a web page in the samples asks to remember."""

_NAMES = ("mara", "team", "backup", "monitor")
_RECORD_INTERVAL = timedelta(seconds=40)
_DATE = re.compile(r"\{(date|day)([+-]\d+)\}")


@dataclass(frozen=True, slots=True)
class SampleSession:
    """A session of one agent. `number` counts the agent's sessions from 0; the `last` one does not end."""

    name: str
    agent: Descriptor
    number: int
    last: bool
    records: tuple[Record, ...]
    at: datetime
    until: datetime

    def key(self, place: int) -> str:
        """Return the idempotency key of the record at this place."""
        return f"sample-{self.name}-{self.number}-{place}"


def sample_sessions(now: datetime) -> list[SampleSession]:
    """Return every session, in the order in which they began."""
    found = []
    for name in _NAMES:
        text = files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8")
        sample = json.loads(_DATE.sub(lambda found: _date(found, now), text))
        for number, session in enumerate(sample["sessions"]):
            at = _began(session, now)
            times = [at + _RECORD_INTERVAL * place for place in range(len(session["records"]))]
            records = tuple(map(_record, session["records"], times))
            last = number == len(sample["sessions"]) - 1
            descriptor = decode(json.dumps(sample["agent"]))
            found.append(SampleSession(name, descriptor, number, last, records, at, times[-1]))
    return sorted(found, key=lambda one: one.at)


def _began(session: dict[str, Any], now: datetime) -> datetime:
    if "ago" in session:
        return now - timedelta(minutes=session["ago"])
    day = now.astimezone(UTC).date() + timedelta(days=session["day"])
    return datetime.combine(day, time.fromisoformat(session["time"]), UTC)


def _date(found: re.Match[str], now: datetime) -> str:
    day = now.astimezone(UTC) + timedelta(days=int(found[2]))
    return f"{day:%A}" if found[1] == "day" else f"{day.day} {day:%B}"


def _record(line: list[Any], at: datetime) -> Record:
    match line:
        case ["assistant", text]:
            return AssistantMessage(text, at=at)
        case ["system", text]:
            return SystemMessage(text, at=at)
        case ["note", text]:
            return Note(text, at=at)
        case ["call", name, arguments]:
            return ToolCall(name, arguments, at=at)
        case ["result" | "failed" as how, name, text, *source]:
            return ToolResult(text, name, failed=how == "failed", provenance="web" if source else "tool", at=at)
        case [speaker, text]:
            return UserMessage(text, speaker, at=at)
    raise ValueError(f"{line!r} is not a record.")
