"""Fit the judge, print how good it is on each writer when fitted to the others, and write `judge.bin`."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from zlib import compress

import numpy as np
from numpy.typing import NDArray

from lifelong import UserMessage
from lifelong.organize.organizer import Transcript
from lifelong.organize.rules.conflicts import MIN_LIKELIHOOD, SCALE, WEIGHTS_FILE, keys
from lifelong.organize.rules.features import FactPair, analyze_fact, newer_features
from lifelong.organize.rules.statements import find_statements
from lifelong.text.stems import canonical
from lifelong.types import StoredRecord

PAIRS = Path(__file__).parent / "pairs"
STREAMS = Path(__file__).parent / "streams"
SCENES = Path(__file__).parent / "scenes"
TARGET = Path(__file__).parents[2] / "src" / "lifelong" / "organize" / "rules" / WEIGHTS_FILE
FIRST = datetime(2025, 3, 3, 9, 30, tzinfo=UTC)
LATER = FIRST + timedelta(weeks=5)
CLOSE, DISTANT = 120, 60  # pairs of a stream that stand beside each other
EACH = 3  # older statements of a scene that a newer one is told beside
COUNTS = dict.fromkeys(("plain-1", "plain-2", "plain-3", "private", "offices", "facts"), 2.0) | {"basics": 5.0}
"""How much a pair of these writers counts: they wrote as people mostly speak."""
OF_SCENES = 0.4  # how much a pair of a scene counts, where each statement stands in several
FOLDS = 5
SEEN = 4  # pairs in which a feature stands, at least
EPOCHS, BATCH, RATE, DECAY = 10, 128, 0.02, 3e-5
SMALLEST = 2  # weights below this, as they are stored, are left out

Numbers = NDArray[np.int32]
Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Told:
    """A pair as the finder tells it: the features that say whether both are about the same, and all."""

    writer: str
    topic: list[int]
    change: list[int]
    supersedes: bool


@dataclass(frozen=True, slots=True)
class Fit:
    """A weight for each feature, for being about the same and for a change; what both start from."""

    weights: Reals
    biases: Reals

    def likelihoods(self, topic: Numbers, change: Numbers) -> Reals:
        about, changed = _sums(self.weights, self.biases, topic, change)
        return about * changed


def told() -> list[Told]:
    """Every pair of statements that are both found, and what is compared in the streams and scenes."""
    found = []
    for file in sorted(PAIRS.glob("*.jsonl")):
        for pair in _lines(file):
            old, new = _fact(pair["old"], pair["speaker"], FIRST), _fact(pair["new"], pair["speaker"], LATER)
            if old and new:
                found.append(_told(file.stem, pair["speaker"], old, new, pair["supersedes"]))
    for file in sorted(STREAMS.glob("*.jsonl")):
        for stream in _lines(file):
            found += _compared(file.stem, stream)
    for file in sorted(SCENES.glob("*.jsonl")):
        for number, scene in enumerate(_lines(file)):
            found += _staged(f"scene {file.stem}", scene, Random(number))
    return found


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, file.read_text(encoding="utf-8").splitlines())


def _told(writer: str, speaker: str, old: str, new: str, supersedes: bool) -> Told:
    me = canonical(speaker.lower())
    pair = FactPair(analyze_fact(old), analyze_fact(new), me)
    topic = [feature for make, given in pair.topic() for feature in make(*given)]
    change = [feature for make, given in pair.change() for feature in make(*given)]
    return Told(writer, topic, [*topic, *change, *newer_features(pair.new, me), *pair.rest()], supersedes)


def _compared(writer: str, stream: dict[str, Any]) -> Iterator[Told]:
    """What a stream replaces, and some of what it does not, of the statements that share a key: as a judge meets
    them, and mostly those that share two."""
    speaker, replaced = stream["speaker"], {(old, new) for old, new in stream["replaced"]}
    facts = [_fact(text, speaker, FIRST) for text in stream["said"]]
    found = [keys(fact) for fact in facts]
    beside: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    for new, fact in enumerate(facts):
        for old in range(new):
            if not facts[old] or not fact or facts[old] == fact:
                continue
            if (old, new) in replaced:
                yield _told(writer, speaker, facts[old], fact, True)
            elif shared := found[old] & found[new]:
                beside[len(shared) > 1].append((old, new))
    order = Random(0)
    for close, most in ((True, CLOSE), (False, DISTANT)):
        for old, new in order.sample(beside[close], min(most, len(beside[close]))):
            yield _told(writer, speaker, facts[old], facts[new], False)


def _staged(writer: str, scene: dict[str, Any], order: Random) -> Iterator[Told]:
    """A scene says one thing in several ways, and then what ends it and what does not. Each newer statement stands
    beside a few of the older ones."""
    speaker = scene["speaker"]
    olds = [fact for text in scene["old"] if (fact := _fact(text, speaker, FIRST))]
    for kind, supersedes in (("updates", True), ("beside", False)):
        for text in scene[kind]:
            if new := _fact(text, speaker, LATER):
                some = order.sample(olds, min(EACH, len(olds)))
                yield from (_told(writer, speaker, old, new, supersedes) for old in some if old != new)


def _fact(text: str, speaker: str, at: datetime) -> str:
    said = StoredRecord(1, "s", at, at, UserMessage(text, speaker=speaker))
    statements = find_statements(Transcript("o", "a", "s", 0, 9, "", (said,), True))
    return statements[0].text if statements else ""


def table(pairs: Sequence[Told]) -> dict[int, int]:
    """The features that stand in more than one pair, numbered."""
    counts = Counter(feature for pair in pairs for feature in set(pair.change))
    return {feature: n for n, feature in enumerate(sorted(f for f, count in counts.items() if count >= SEEN))}


def _padded(rows: Sequence[Sequence[int]], known: dict[int, int]) -> Numbers:
    """A row of numbers for each pair, all of one length; the last number of all stands for nothing."""
    kept = [[known[feature] for feature in row if feature in known] for row in rows]
    out = np.full((len(kept), max(map(len, kept))), len(known), np.int32)
    for row, numbers in zip(out, kept, strict=True):
        row[: len(numbers)] = numbers
    return out


def _sums(weights: Reals, biases: Reals, topic: Numbers, change: Numbers) -> tuple[Reals, Reals]:
    about = weights[0][topic].sum(1) + biases[0]
    changed = weights[1][change].sum(1) + biases[1]
    return 1 / (1 + np.exp(-about)), 1 / (1 + np.exp(-changed))


def fit(topic: Numbers, change: Numbers, labels: Reals, weights: Reals, size: int) -> Fit:
    """Adam on the likelihood of the product of both."""
    counts = weights / weights.mean()
    parameters = np.zeros(2 * (size + 1) + 2)
    parameters[-2:] = 1.0
    mean, square = np.zeros_like(parameters), np.zeros_like(parameters)
    order, total, step = np.random.default_rng(0), EPOCHS * (len(labels) // BATCH), 0
    for _ in range(EPOCHS):
        places = order.permutation(len(labels))
        for start in range(0, len(labels) - BATCH + 1, BATCH):
            some, step = places[start : start + BATCH], step + 1
            about, changed = _sums(parameters[:-2].reshape(2, -1), parameters[-2:], topic[some], change[some])
            likely = about * changed
            error = counts[some] * (likely - labels[some]) / np.maximum(1 - likely, 1e-4) / BATCH
            slopes = error * (1 - about), error * (1 - changed)
            gradient = np.concatenate(
                [
                    *(
                        np.bincount(rows.ravel(), np.repeat(slope, rows.shape[1]), size + 1)
                        for rows, slope in zip((topic[some], change[some]), slopes, strict=True)
                    ),
                    [slope.sum() for slope in slopes],
                ]
            )
            gradient[:-2] += 2 * DECAY * parameters[:-2]
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            pace = RATE * 0.5 * (1 + np.cos(np.pi * step / total))
            corrected = np.sqrt(square / (1 - 0.999**step)) + 1e-8
            parameters -= pace * (mean / (1 - 0.9**step)) / corrected
            parameters[[size, 2 * size + 1]] = 0.0
    return Fit(parameters[:-2].reshape(2, -1), parameters[-2:].copy())


def stored(result: Fit, known: dict[int, int]) -> bytes:
    """As `judging.learned` reads it."""
    rounded = np.clip(np.rint(result.weights[:, :-1] * SCALE), -127, 127).astype(np.int8)
    kept = np.flatnonzero(np.abs(rounded).max(0) > SMALLEST)
    numbers = array("I", np.array(list(known), np.uint32)[kept].tolist())
    biases = array("f", result.biases.tolist())
    return compress(biases.tobytes() + numbers.tobytes() + rounded[:, kept].tobytes(), 9)


def main() -> None:
    pairs = told()
    known = table(pairs)
    topic = _padded([pair.topic for pair in pairs], known)
    change = _padded([pair.change for pair in pairs], known)
    labels = np.array([pair.supersedes for pair in pairs], float)
    writers = np.array([pair.writer for pair in pairs])
    counts = np.array([_count(pair.writer) for pair in pairs])
    print(f"{len(pairs):,} pairs, {len(known):,} features\n\n{'writer':16} {'updates':>8} {'look-alikes':>12}")
    names, shares = sorted(set(writers.tolist())), {}
    for fold in range(FOLDS):
        own = np.isin(writers, names[fold::FOLDS])
        others = ~own
        found = fit(topic[others], change[others], labels[others], counts[others], len(known))
        for writer in names[fold::FOLDS]:
            theirs = writers == writer
            ended, updates = (
                found.likelihoods(topic[theirs], change[theirs]) >= MIN_LIKELIHOOD,
                labels[theirs] == 1,
            )
            shares[writer] = 100 * np.mean(ended[updates]), 100 * np.mean(~ended[~updates])
    for writer in names:
        print(f"{writer:16} {shares[writer][0]:7.1f}% {shares[writer][1]:11.1f}%")
    mean = np.mean(list(shares.values()), axis=0)
    print(f"{'mean':16} {mean[0]:7.1f}% {mean[1]:11.1f}%")
    TARGET.write_bytes(stored(fit(topic, change, labels, counts, len(known)), known))
    print(f"\n{TARGET.name}: {TARGET.stat().st_size:,} bytes")


def _count(writer: str) -> float:
    return OF_SCENES if writer.startswith("scene ") else COUNTS.get(writer, 1.0)


if __name__ == "__main__":
    main()
