"""Fit the weights of `lifelong.text.attribution` to labelled messages: `python -m bench.fitting`.

It prints, for each set of messages in turn, how many sentences are told right with weights that were fitted to all
the others, and then the weights that fit all of them. Last, how many messages of each set lose something of the
writer's that is worth keeping, by all the rules as they are: words, layout and weights.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.trust import FILE, cases
from lifelong.text.attribution import WEIGHTS, Signs
from lifelong.text.sentences import sentences
from lifelong.text.speech import layout_signs, split_speech
from lifelong.text.standing import is_question

MESSAGES = Path(__file__).parent / "labelled_messages.json"
WRITER = "mara"
OWN = ("own", "ask")
RIDGE = 10.0
ROUNDS = 30
REQUEST_WEIGHT = 0.3  # a request is the writer's, but nothing depends on it
LEAN = 0.7  # towards the writer's own: most messages hold nothing else
Row = NDArray[np.float64]


class Sentence(NamedTuple):
    """The signs of a sentence, whether it is its writer's own, and what it weighs."""

    signs: Signs
    own: bool
    weight: float


@dataclass(frozen=True, slots=True)
class Message:
    """A message in parts: whose words each is, and its text. `kept` are the texts of the writer's that are worth
    keeping."""

    parts: Sequence[tuple[str, str]]
    kept: Sequence[str] = ()

    @property
    def text(self) -> str:
        return "".join(said for _, said in self.parts)

    def loses(self) -> bool:
        """Return whether a sentence that is worth keeping is not taken for the writer's own."""
        own = split_speech(self.text, WRITER).own
        told = (one for text in self.kept for one in sentences(text) if not is_question(one))
        return any(one not in own for one in told)

    def sentences(self) -> Iterator[Sentence]:
        """Yield the sentences with the label of the part that most of each is in. Those of a long message weigh
        less, so that none outweighs the others."""
        spans, end = list[tuple[int, int, str]](), 0
        for whose, said in self.parts:
            spans.append((end, end + len(said), whose))
            end += len(said)
        found = layout_signs(self.text, WRITER)
        for start, stop, signs in found:
            whose = max(spans, key=lambda one: min(stop, one[1]) - max(start, one[0]))[2]
            if whose:
                share = REQUEST_WEIGHT if whose == "ask" else 1.0
                yield Sentence(signs, whose in OWN, share / len(found) ** 0.5)


def run() -> None:
    known = {name: [one for message in some for one in message.sentences()] for name, some in sets().items()}
    for name, some in known.items():
        others = weights(one for other, rest in known.items() if other != name for one in rest)
        judged = [(one.own, np.dot(one.signs, others) > 0) for one in some]
        believed = [is_own for own, is_own in judged if not own]
        missed = [not is_own for own, is_own in judged if own]
        print(
            f"{name:20} others' sentences taken for the writer's: {sum(believed):3} of {len(believed):3};"
            f" the writer's that were not: {sum(missed):3} of {len(missed):3}"
        )
    every = weights(one for some in known.values() for one in some)
    for sign, weight, now in zip(Signs._fields, every, WEIGHTS, strict=True):
        print(f"    {sign}={weight:.2f},  # {now}")
    for name, messages in sets().items():
        some_kept = [one for one in messages if one.kept]
        if some_kept:
            lost = sum(one.loses() for one in some_kept)
            print(f"{name:20} messages that lose something worth keeping: {lost:3} of {len(some_kept):3}")


def weights(sentences: Iterable[Sentence]) -> Row:
    """Return the weights that fit these sentences, leaning towards the writer's own."""
    found = _fit(sentences)
    found[0] += LEAN
    return found


def _fit(sentences: Iterable[Sentence]) -> Row:
    """Return the weights of a logistic regression with ridge, by Newton's method. Both labels weigh the same."""
    some = list(sentences)
    rows = np.array([one.signs for one in some], np.float64)
    own = np.array([one.own for one in some], np.float64)
    weight = np.array([one.weight for one in some], np.float64)
    for label in (0, 1):
        weight[own == label] *= len(some) / 2 / weight[own == label].sum()
    scale = rows.std(axis=0)
    scale[scale == 0] = 1
    scaled = rows / scale
    ridge = np.full(rows.shape[1], RIDGE)
    ridge[0] = 0
    found = np.zeros(rows.shape[1])
    for _ in range(ROUNDS):
        chance = 1 / (1 + np.exp(-scaled @ found))
        slope = scaled.T @ (weight * (own - chance)) - ridge * found
        curve = (scaled.T * (weight * chance * (1 - chance))) @ scaled + np.diag(ridge + 1e-9)
        found += np.linalg.solve(curve, slope)
    return np.asarray(found / scale)


def sets() -> dict[str, list[Message]]:
    found: dict[str, list[Message]] = {}
    for one in json.loads(MESSAGES.read_text(encoding="utf-8")):
        parts = [(whose, text) for whose, _, text in one["parts"]]
        kept = [text for whose, is_kept, text in one["parts"] if whose == "own" and is_kept]
        found.setdefault(one["set"], []).append(Message(parts, kept))
    for name in (FILE.name, "trust_unseen.json", "trust_unseen_second.json", "trust_unseen_third.json"):
        file = FILE.with_name(name)
        found[file.stem] = list(_of_cases(file))
    return found


def _of_cases(file: Path) -> Iterator[Message]:
    """Yield the writer's messages of a file of cases: of a line of which it is known, whose words it holds.
    The half that is kept unread stays so."""
    for case in cases(file):
        if case.half == "held_out":
            continue
        for turn in case.turns:
            if turn["role"] == "user" and "user" not in turn and turn.get("speaker", WRITER).lower() == WRITER:
                lines = turn["text"].splitlines(keepends=True)
                yield Message([(_whose(line, case.never, case.current), line) for line in lines])


def _whose(line: str, never: Sequence[str], current: Sequence[str]) -> str:
    said = line.casefold()
    if any(text.casefold() in said for text in never):
        return "other" if not any(text.casefold() in said for text in current) else ""
    return "own" if any(text.casefold() in said for text in current) else ""


if __name__ == "__main__":
    run()
