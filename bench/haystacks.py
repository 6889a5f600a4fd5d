"""Talks with questions whose answers are known to stand in some of their turns: LoCoMo's (see `locomo`) and
LongMemEval-S's, both read from the folder that LIFELONG_BENCH_DATA names.

LongMemEval (Wu and others, 2024; MIT) asks one question of one long history of a person's chats with an assistant;
those without an answer are left out. None of it stands in this repository.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import locomo

LONGMEMEVAL = (
    "longmemeval_s_dev.json.gz",
    "longmemeval_s_dev.json",
    "longmemeval_s_cleaned.json",
    "longmemeval_s.json",
)
WHERE = (
    "Set LIFELONG_BENCH_DATA to a folder with longmemeval_s_cleaned.json from "
    "https://huggingface.co/datasets/xiaowu0162/longmemeval-cleaned (MIT)."
)
WITHOUT_ANSWER = "_abs"  # how the ids of questions end that cannot be answered


@dataclass(frozen=True, slots=True)
class Said:
    """A turn: `speaker` is a name, or "user" or "assistant"."""

    id: str
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Sitting:
    """What was said in one go. The same session may sit twice."""

    session: str
    at: datetime
    turns: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the ids of the turns and sessions that answer it; `at`: when it is asked, if known."""

    text: str
    turns: frozenset[str]
    sessions: frozenset[str]
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Haystack:
    """Sittings in the order of their times, and what is asked of them."""

    name: str
    sittings: tuple[Sitting, ...]
    questions: tuple[Asked, ...]

    @property
    def session_of(self) -> dict[str, str]:
        return {turn.id: sitting.session for sitting in self.sittings for turn in sitting.turns}


def from_locomo(folder: Path) -> Iterator[Haystack]:
    for talk in locomo.load(folder):
        sittings = tuple(
            Sitting(
                str(number), sitting.at, tuple(Said(turn.id, turn.speaker, turn.text) for turn in sitting.turns)
            )
            for number, sitting in enumerate(talk.sittings)
        )
        session = {turn.id: sitting.session for sitting in sittings for turn in sitting.turns}
        asked = (
            Asked(question.text, question.evidence, frozenset(session[id_] for id_ in question.evidence))
            for question in talk.questions
        )
        yield Haystack(talk.name, sittings, tuple(asked))


def from_longmemeval(folder: Path) -> Iterator[Haystack]:
    file = next((folder / name for name in LONGMEMEVAL if (folder / name).is_file()), None)
    if file is None:
        raise FileNotFoundError(f"There is no LongMemEval-S in {folder}. {WHERE}")
    raw = file.read_bytes()
    for item in json.loads(gzip.decompress(raw) if file.suffix == ".gz" else raw):
        if not item["question_id"].endswith(WITHOUT_ANSWER):
            yield _chats(item)


def _chats(item: Mapping[str, Any]) -> Haystack:
    sat = zip(item["haystack_dates"], item["haystack_session_ids"], item["haystack_sessions"], strict=True)
    answers = frozenset(item["answer_session_ids"])
    sittings, evidence = [], set()
    for place, (date, session, turns) in enumerate(sorted(sat, key=lambda one: one[0])):
        said = [Said(f"{place}:{number}", turn["role"], turn["content"]) for number, turn in enumerate(turns)]
        sittings.append(Sitting(session, _time(date), tuple(said)))
        if session in answers:
            evidence |= {one.id for one, turn in zip(said, turns, strict=True) if turn.get("has_answer")}
    known = {sitting.session for sitting in sittings}
    asked = Asked(item["question"], frozenset(evidence), answers & known, _time(item["question_date"]))
    return Haystack(item["question_id"], tuple(sittings), (asked,))


def _time(written: str) -> datetime:
    """Of "2023/05/20 (Sat) 02:21"."""
    return datetime.strptime(written, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)
