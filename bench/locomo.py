"""LoCoMo: long talks between two people, with questions and the turns that answer them.

It is the authors' (Maharana and others, 2024; CC BY-NC 4.0) and only ever used to evaluate: none of it stands
in this repository. It is read from the folder that LIFELONG_BENCH_DATA names.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FILES = ("locomo_dev.json.gz", "locomo_dev.json", "locomo10.json.gz", "locomo10.json")
WHERE = (
    "Set LIFELONG_BENCH_DATA to a folder with locomo10.json from https://github.com/snap-research/locomo"
    " (data/locomo10.json; CC BY-NC 4.0, for evaluation only)."
)
WITHOUT_ANSWER = 5  # the category of questions that cannot be answered

_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D:?\s*(\d+):(\d+)")  # the authors also write "D:11:26" and "D8:6; D9:17"


@dataclass(frozen=True, slots=True)
class Turn:
    id: str
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Sitting:
    """What was said in one go."""

    at: datetime
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """`evidence`: the ids of the turns that answer it."""

    text: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    """`questions` are those that have an answer in it."""

    name: str
    sittings: tuple[Sitting, ...]
    questions: tuple[Question, ...]

    @property
    def evidence(self) -> frozenset[str]:
        return frozenset(id_ for question in self.questions for id_ in question.evidence)

    @property
    def turns(self) -> Iterator[Turn]:
        return (turn for sitting in self.sittings for turn in sitting.turns)


def data_folder() -> Path | None:
    """The folder that holds the conversations; none where there is none."""
    folder = Path(os.environ.get("LIFELONG_BENCH_DATA") or "/nowhere")
    return folder if _file(folder) else None


def load(folder: Path, *, captions: bool = True) -> list[Conversation]:
    """Every conversation in the folder's file. `captions`: a shared image is told in words."""
    file = _file(folder)
    if file is None:
        raise FileNotFoundError(f"There is no LoCoMo in {folder}. {WHERE}")
    raw = file.read_bytes()
    samples = json.loads(gzip.decompress(raw) if file.suffix == ".gz" else raw)
    return [conversation(sample, captions=captions) for sample in samples]


def conversation(sample: Mapping[str, Any], *, captions: bool = True) -> Conversation:
    talk = sample["conversation"]
    numbers = sorted(int(found[1]) for key in talk if (found := _SESSION.fullmatch(key)))
    sittings = tuple(_sitting(talk, number, captions) for number in numbers)
    known = {turn.id for sitting in sittings for turn in sitting.turns}
    return Conversation(sample["sample_id"], sittings, tuple(_questions(sample["qa"], known)))


def _file(folder: Path) -> Path | None:
    return next((folder / name for name in FILES if (folder / name).is_file()), None)


def _sitting(talk: Mapping[str, Any], number: int, captions: bool) -> Sitting:
    at = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    turns = (Turn(turn["dia_id"], turn["speaker"], _text(turn, captions)) for turn in talk[f"session_{number}"])
    return Sitting(at, tuple(turn for turn in turns if turn.text))


def _text(turn: Mapping[str, Any], captions: bool) -> str:
    caption = turn.get("blip_caption") if captions else None
    return f"{turn.get('text', '')}{f' [shared image: {caption}]' if caption else ''}".strip()


def _questions(asked: Sequence[Mapping[str, Any]], known: Set[str]) -> Iterator[Question]:
    for question in asked:
        written = " ".join(map(str, question.get("evidence") or ()))
        evidence = {f"D{int(session)}:{int(turn)}" for session, turn in _TURN.findall(written)} & known
        if evidence and question["category"] != WITHOUT_ANSWER:
            yield Question(question.get("question", ""), frozenset(evidence))
