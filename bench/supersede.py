"""Whether a newer statement ends what it contradicts, and nothing else.

`updates_plain.json` and `updates_idiomatic.json` hold pairs that somebody says weeks apart, in plain words and in
idioms. Half of them are updates of many kinds; half only look like one. Each pair goes through the whole product,
in a user of its own. Nothing is fitted to them (see `DATA.md`), so what is printed names a pair and not what
it says.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from bench.processing import cpu_seconds
from lifelong import Memory, User, UserMessage
from lifelong.organize.facts import Fact, parse_facts

STYLES = ("plain", "idiomatic")
FIRST = datetime(2025, 3, 3, 9, 30, tzinfo=UTC)
LATER = FIRST + timedelta(weeks=5)


@dataclass(frozen=True, slots=True)
class Pair:
    id: str
    kind: str
    speaker: str
    old: str
    new: str
    old_fact: str
    new_fact: str
    expect: Literal["supersedes", "different"]


@dataclass(frozen=True, slots=True)
class Result:
    """How a pair came out; `wrong` says what is wrong with it, and is empty when nothing is."""

    pair: Pair
    wrong: str


def pairs(style: str) -> list[Pair]:
    file = Path(__file__).parent / f"updates_{style}.json"
    return [Pair(**pair) for pair in json.loads(file.read_text(encoding="utf-8"))]


def results(home: Path, style: str) -> list[Result]:
    return [Result(pair, _tried(home, pair)) for pair in pairs(style)]


def share_right(results: Sequence[Result], expect: str) -> float:
    """In per cent."""
    some = [not result.wrong for result in results if result.pair.expect == expect]
    return 100 * sum(some) / len(some)


NOT_KEPT = "nothing was kept of the older"


def wrong(pair: Pair, old: int, new: int, before: Sequence[Fact], after: Sequence[Fact]) -> str:
    """What is wrong, given the facts after the older statement and after both; `old` and `new` are the ids of
    their records."""
    if not any(old in fact.records for fact in before):
        return NOT_KEPT
    return (_not_superseded if pair.expect == "supersedes" else _not_beside)(pair, old, new, after)


def _not_superseded(pair: Pair, old: int, new: int, after: Sequence[Fact]) -> str:
    current = [fact.records for fact in after if fact.current]
    if not any(new in records for records in current):
        return "nothing was kept of the newer"
    return "the older is still current" if any(old in cited and new not in cited for cited in current) else ""


def _not_beside(pair: Pair, old: int, new: int, after: Sequence[Fact]) -> str:
    if any(old in fact.records and not fact.current for fact in after):
        return "the older was ended"
    if not any(old in fact.records for fact in after):
        return "the older is gone"
    if pair.kind == "restated" and not any(new in fact.records for fact in after):
        return "said again, and not noted"
    return ""


def _tried(home: Path, pair: Pair) -> str:
    with Memory.open(home, user=pair.id, organize={"organizer": "rules"}) as memory:
        agent = memory.agent(User("bench", pair.speaker, "chat"))

        def say(text: str, at: datetime) -> tuple[int, list[Fact]]:
            record = memory.append(agent, UserMessage(text, pair.speaker, at=at))
            memory.sessions.reset(agent)
            cpu_seconds(memory)
            return record, known(memory)

        old, before = say(pair.old, FIRST)
        new, after = say(pair.new, LATER)
    return wrong(pair, old, new, before, after)


def known(memory: Memory) -> list[Fact]:
    """Every fact of the user."""
    return [fact for document in memory.documents.walk("~/memory") for fact in parse_facts(document.body)]
