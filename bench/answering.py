"""Who answers the questions of a haystack: the whole product, and what it is compared with.

The product is told every turn through `Memory.append_many`, a session of the data as a session of an agent;
worker, memory-agent and index worker run; then it is asked through `Memory.recall`, at the time of the question.
Beside it stand full text (FTS5's BM25 with its Porter stemmer over the question's words but for stop words), the
bundled embedder's vectors alone, and reciprocal rank fusion of the two as most programs do it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from bench.haystacks import Asked, Haystack, Said
from bench.processing import cpu_seconds
from lifelong import AssistantMessage, Memory, User, UserMessage
from lifelong.models.embedders.static import StaticEmbedder
from lifelong.text.words import content_words

DEPTH = 100  # turns that are asked for
POOL = 200  # turns that full text and vectors give to their fusion
RRF = 60
ROLES = ("user", "assistant")

TRANSFORMER = {"provider": "fastembed", "model": "snowflake/snowflake-arctic-embed-s"}

Answers = Callable[[Asked], Sequence[str]]
"""The ids of turns, best first."""


@dataclass(frozen=True, slots=True)
class Told:
    """A haystack in a home, in a user of its own: which record is which turn, and when the last was said."""

    haystack: Haystack
    home: Path
    turns: Mapping[int, str]
    until: datetime
    settings: Mapping[str, Any]

    @contextmanager
    def opened(self) -> Iterator[Answers]:
        now = self.until
        with Memory.open(self.home, self.haystack.name, clock=lambda: now, **self.settings) as memory:

            def answers(question: Asked) -> list[str]:
                nonlocal now
                now = question.at or self.until
                hits = memory.search(question.text, DEPTH, kinds=("record",))
                return [self.turns[hit.record_id] for hit in hits if hit.record_id is not None]

            yield answers


def told(home: Path, haystack: Haystack, *, organized: bool = True, **settings: Any) -> Told:
    """Everything said, and indexed; and what the memory-agent makes of it, unless that is not wanted."""
    now = haystack.sittings[0].at
    turns: dict[int, str] = {}
    settings = {"storage": {"synchronous": "normal"}, **settings}
    with Memory.open(home, haystack.name, clock=lambda: now, **settings) as memory:
        agent = memory.agent(User("bench", haystack.name, "chat"))
        for sitting in haystack.sittings:
            now = sitting.at
            said = [turn for turn in sitting.turns if turn.text.strip()]
            records = memory.append_many(agent, [_message(turn, now) for turn in said])
            turns |= zip(records, (turn.id for turn in said), strict=True)
            memory.sessions.reset(agent)
        if organized:
            cpu_seconds(memory)
        memory._parts.shared.index_worker.run_until_idle()
    return Told(haystack, home, turns, now, settings)


def _message(turn: Said, at: datetime) -> UserMessage | AssistantMessage:
    if turn.speaker == "assistant":
        return AssistantMessage(turn.text, at=at)
    return UserMessage(turn.text, "" if turn.speaker in ROLES else turn.speaker, at=at)


def transformer() -> dict[str, str]:
    """Return the settings of a small transformer from the folder that TEST_ONNX_MODEL names; none without it."""
    folder = os.environ.get("TEST_ONNX_MODEL", "")
    return TRANSFORMER | {"path": folder} if folder else {}


# What it is compared with


def full_text(haystack: Haystack) -> Answers:
    ids, texts = _texts(haystack)
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE turns USING fts5(text, tokenize='porter unicode61')")
    connection.executemany("INSERT INTO turns (rowid, text) VALUES (?, ?)", enumerate(texts))

    def answers(question: Asked) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in content_words(question.text))
        if not words:
            return []
        rows = connection.execute("SELECT rowid FROM turns(?) ORDER BY rank LIMIT ?", (words, POOL)).fetchall()
        return [ids[int(str(row[0]))] for row in rows]

    return answers


def vectors(haystack: Haystack) -> Answers:
    ids, texts = _texts(haystack)
    embedder = StaticEmbedder()
    rows = embedder.embed(texts)

    def answers(question: Asked) -> list[str]:
        near = np.vecdot(rows, embedder.embed_query(question.text, {}))
        return [ids[place] for place in np.argsort(-near, kind="stable")[:POOL]]

    return answers


def fused(haystack: Haystack) -> Answers:
    both = full_text(haystack), vectors(haystack)

    def answers(question: Asked) -> list[str]:
        scores: dict[str, float] = {}
        for ranked in (one(question) for one in both):
            for place, id_ in enumerate(ranked, 1):
                scores[id_] = scores.get(id_, 0.0) + 1 / (RRF + place)
        return sorted(scores, key=lambda id_: -scores[id_])

    return answers


def _texts(haystack: Haystack) -> tuple[list[str], list[str]]:
    """With the speaker before it, where that is a name: else nothing would say who speaks."""
    turns = [turn for sitting in haystack.sittings for turn in sitting.turns]
    named = (turn.text if turn.speaker in ROLES else f"{turn.speaker}: {turn.text}" for turn in turns)
    return [turn.id for turn in turns], list(named)
