"""What people do with a memory every day: look something up, ask, be asked nothing twice.

Every file of the folder that EVERYDAY_DATA names is a scenario: turns of several sessions, and what must be found,
put before a turn, kept, dropped, ended. They go through the public API, in a home of their own with the defaults.
Nothing may be tuned to a single question of them: other scenarios of the same form judge the result.
TEST_ONNX_MODEL names the folder of a snowflake-arctic-embed-s, to ask the same questions with a small transformer.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.answering import transformer
from bench.goals import Goal, table
from bench.progress import step
from lifelong import (
    AssistantMessage,
    Hit,
    Memory,
    Record,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
    nothing_known,
)

NEAREST = 3
TOKENS = 800
SHARED = Path(__file__).parents[2] / "shared" / "data" / "everyday"  # beside the repository, where it exists
WHERE = "Set EVERYDAY_DATA to a folder with scenarios (docs/recall-figures.md says what one looks like)."

GOALS = {
    "lookup_top1": Goal("look-ups: first", "≥", 94),
    "lookup_top3": Goal("look-ups: among three", "≥", 98),
    "question_top1": Goal("questions: first", "≥", 36),
    "question_top3": Goal("questions: among three", "≥", 60),
    "assistant_top3": Goal("questions about what the assistant or a tool said: among three", "≥", 70),
    "current_first": Goal("questions with an outdated answer: the current one stands above", "≥", 80),
    "organized_loss": Goal("right before organizing and wrong after", "≤", 0),
    "unanswerable_told": Goal("unanswerable questions: said to be unknown", "≥", 60),
    "answerable_told": Goal("answerable questions: wrongly said to be unknown", "≤", 5),
    "context_must": Goal("contexts: what must be there", "≥", 85),
    "context_must_not": Goal("contexts: what must not be there", "≤", 5),
}
WITH_TRANSFORMER = {
    "transformer_question_top1": Goal("questions with a transformer: first", "≥", 48),
    "transformer_question_top3": Goal("questions with a transformer: among three", "≥", 74),
}
ALSO = {
    "ended_right": "changes: what ended is marked",
    "true_kept": "changes: what is still true is current",
    "kept": "turns that deserve a place and have one",
    "dropped": "turns that deserve none and have none",
}

Figures = dict[str, float]
Scenario = Mapping[str, Any]


def run() -> Figures:
    """Measure every scenario, print the table, return the figures."""
    console = Console()
    scenarios = load()
    if not scenarios:
        console.print(WHERE)
        return {}
    figures, goals = measured(console, scenarios), dict(GOALS)
    if embeddings := transformer():
        found = measured(console, scenarios, embeddings=embeddings)
        named = {f"transformer_{measure}": share for measure, share in found.items()}
        figures |= {measure: named[measure] for measure in WITH_TRANSFORMER if measure in named}
        goals |= WITH_TRANSFORMER
    console.print(table("everyday, per cent", figures, goals, ALSO))
    return figures


def load() -> list[Scenario]:
    """Return every scenario of the folder."""
    folder = Path(os.environ.get("EVERYDAY_DATA") or SHARED)
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]


def measured(console: Console, scenarios: Iterable[Scenario], **settings: Any) -> Figures:
    """Return the figures over these scenarios."""
    counted: Counter[str] = Counter()
    for scenario in scenarios:
        with step(console, scenario["name"]), tempfile.TemporaryDirectory(prefix="lifelong-bench-") as home:
            counted += _Run(Path(home), scenario, settings).measure()
    return shares(counted)


def shares(counted: Mapping[str, int]) -> Figures:
    """Return the share of each measure, in per cent, of what was counted as `measure` and `measure of`."""
    measures = [*GOALS, *ALSO]
    return {one: 100 * counted[one] / counted[f"{one} of"] for one in measures if counted.get(f"{one} of")}


class Clock:
    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def store(memory: Memory, clock: Clock, turns: Sequence[Scenario]) -> dict[str, int]:
    """Store the turns of a scenario, at their times, and return their records by the turn's id."""
    session, agent = turns[0]["session"], memory.agent()
    records: dict[str, int] = {}
    for turn in turns:
        clock.now = max(clock.now, _time(turn["at"]))
        if turn["session"] != session:
            memory.sessions.reset(agent)
            session = turn["session"]
        records[turn["id"]] = memory.append(agent, record(turn))
    return records


class _Run:
    """One scenario in a home of its own."""

    def __init__(self, home: Path, scenario: Scenario, settings: Mapping[str, Any]) -> None:
        self._home = home
        self._settings = settings
        self._scenario = scenario
        self._counted: Counter[str] = Counter()
        self._record_of: dict[str, int] = {}
        self._cited: dict[str, tuple[int, ...]] = {}

    def measure(self) -> Counter[str]:
        turns = self._scenario["turns"]
        self._clock = Clock(_time(turns[0]["at"]))
        with Memory.open(self._home, clock=self._clock, **self._settings) as memory:
            self._record_of = store(memory, self._clock, turns)
            while memory.admin.index():
                pass
            before = {one["id"] for one in self._asked() if self._place(self._search(memory, one), one["gold"])}
            memory.end_session()
            memory.organize()
            self._cited = _citations(memory)
            self._ask(memory, before)
            self._contexts(memory)
            self._knowledge(memory)
        return self._counted

    # Asking

    def _asked(self) -> Iterator[dict[str, Any]]:
        """The look-ups and the questions, alike."""
        for number, one in enumerate(self._scenario.get("lookups", ())):
            yield {"id": f"l{number}", "text": one["query"], "gold": one["gold"], "measure": "lookup"}
        for number, one in enumerate(self._scenario.get("questions", ())):
            yield {**one, "id": f"q{number}", "text": one["q"], "measure": "question"}

    def _search(self, memory: Memory, one: Mapping[str, Any]) -> list[Hit]:
        self._ask_at(one.get("at"))
        return memory.search(one["text"], 10)

    def _ask_at(self, at: str | None) -> None:
        last = _time(self._scenario["turns"][-1]["at"])
        self._clock.now = max(last, _time(at)) if at else last

    def _place(self, hits: Sequence[Hit], turns: Iterable[str], depth: int = NEAREST) -> int:
        """Return which of the first hits is one of these turns or rests on one, from 1; 0 where none does."""
        wanted = {self._record_of[turn] for turn in turns}
        places = (place for place, hit in enumerate(hits[:depth], 1) if wanted & self._records(hit))
        return next(places, 0)

    def _records(self, hit: Hit) -> set[int]:
        own = {hit.record_id} if hit.record_id is not None else set()
        return own.union(self._cited.get(hit.text, ()), *map(self._records, hit.sources))

    def _ask(self, memory: Memory, before: set[str]) -> None:
        for one in self._asked():
            hits = self._search(memory, one)
            place = self._place(hits, one["gold"])
            self._count(f"{one['measure']}_top1", place == 1)
            self._count(f"{one['measure']}_top3", place > 0)
            self._count("organized_loss", one["id"] in before and not place)
            if one.get("kind") == "assistant":
                self._count("assistant_top3", place > 0)
            if one["measure"] == "question":
                self._count("answerable_told", nothing_known(hits))
            if one.get("stale"):
                self._count("current_first", self._is_current_first(hits, one["gold"], one["stale"]))
        for one in self._scenario.get("unanswerable", ()):
            self._ask_at(one.get("at"))
            self._count("unanswerable_told", nothing_known(memory.search(one["q"], 10)))

    def _is_current_first(self, hits: Sequence[Hit], gold: Iterable[str], stale: Iterable[str]) -> bool:
        current = self._place(hits, gold, len(hits))
        outdated = self._place([hit for hit in hits if hit.until is None], stale, len(hits))
        standing = [hit for hit in hits if hit.until is None]
        above = self._place(standing, gold, len(standing))
        return bool(current) and (not outdated or 0 < above < outdated)

    # What comes before a turn, and what is kept

    def _contexts(self, memory: Memory) -> None:
        for one in self._scenario.get("contexts", ()):
            self._ask_at(one.get("at"))
            context = memory.context(one["message"], tokens=TOKENS).lower()
            for group in one.get("must", ()):
                self._count("context_must", any(word.lower() in context for word in group))
            for word in one.get("must_not", ()):
                self._count("context_must_not", word.lower() in context)

    def _knowledge(self, memory: Memory) -> None:
        current: set[int] = set()
        ended: set[int] = set()
        for document in memory.documents.walk("~/memory"):
            for fact in memory.documents.facts(document.id):
                (current if fact.current else ended).update(fact.records)
        for change in self._scenario.get("changes", ()):
            for turn in change["ended"]:
                self._count("ended_right", self._record_of[turn] in ended - current)
            for turn in change["true"]:
                self._count("true_kept", self._record_of[turn] not in ended)
        for turn in self._scenario.get("keep", ()):
            self._count("kept", self._record_of[turn] in current | ended)
        for turn in self._scenario.get("drop", ()):
            self._count("dropped", self._record_of[turn] not in current | ended)

    def _count(self, measure: str, is_so: bool) -> None:
        self._counted[measure] += is_so
        self._counted[f"{measure} of"] += 1


def record(turn: Scenario) -> Record:
    """Return the record of a turn, as its host would store it."""
    at, text = _time(turn["at"]), turn["text"]
    match turn["role"]:
        case "user":
            return UserMessage(text, turn.get("speaker", ""), at=at)
        case "assistant":
            return AssistantMessage(text, turn.get("speaker", ""), at=at)
        case "tool_call":
            return ToolCall(turn["tool"], _arguments(text), at=at)
        case "tool_result":
            return ToolResult(text, turn["tool"], provenance=turn.get("provenance", "tool"), at=at)
        case "system":
            return SystemMessage(text, at=at)
        case role:
            raise ValueError(f"Unknown role {role!r} in turn {turn['id']}.")


def _arguments(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = text
    return found if isinstance(found, dict) else {"arguments": found}


def _citations(memory: Memory) -> dict[str, tuple[int, ...]]:
    """Return the records that each fact rests on, by the text that a hit of it has."""
    hits = memory.list("fact", limit=10_000)
    facts = {
        fact.text: fact.records
        for document in memory.documents.walk("~/memory")
        for fact in memory.documents.facts(document.id)
    }
    return {hit.text: records for hit in hits for text, records in facts.items() if hit.text.endswith(text)}


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
