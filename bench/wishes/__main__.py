"""Fit the weights, say how good they are on writers they have not seen, and write `wishes.json`."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from bench.judge.__main__ import PAIRS
from recollect.organize.rules.wishes import FILE, SCALE, SURE, features

HERE = Path(__file__).parent
TARGET = HERE.parents[1] / "src" / "recollect" / "organize" / "rules" / FILE
UNSEEN = ("unseen-idiomatic", "unseen-plain")
STANDING = "standing"
TOLD = 4_000  # statements of the judge's pairs
SEEN = 2  # sentences in which a feature stands, at least
EPOCHS, RATE, DECAY = 300, 0.3, 0.03
SMALLEST = 32  # weights below this, as they are stored, are left out


class Sentence(NamedTuple):
    writer: str
    kind: str
    seen: frozenset[str]


Weights = dict[str, float]


def sentences() -> Iterator[Sentence]:
    for file in sorted(HERE.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            said = json.loads(line)
            yield Sentence(file.stem, said["kind"], frozenset(features(said["text"])))


def told() -> list[Sentence]:
    """What people tell of themselves; what they like may be a wish, and is left out."""
    lines = (
        line for file in sorted(PAIRS.glob("*.jsonl")) for line in file.read_text(encoding="utf-8").splitlines()
    )
    pairs = [
        pair for pair in map(json.loads, lines) if "prefer" not in pair["kind"] and "like" not in pair["kind"]
    ]
    texts = sorted({pair[which] for pair in pairs for which in ("old", "new")})
    return [Sentence("", "telling", frozenset(features(text))) for text in Random(0).sample(texts, TOLD)]


def fit(sentences: Sequence[Sentence]) -> Weights:
    """A weight for each feature, by Adam on the likelihood; that of nothing is what the sum starts from."""
    counts = Counter(feature for sentence in sentences for feature in sentence.seen)
    known = {feature: n for n, feature in enumerate(sorted(f for f, count in counts.items() if count >= SEEN))}
    labels = np.array([sentence.kind == STANDING for sentence in sentences], float)
    cells = [(n, known[f]) for n, sentence in enumerate(sentences) for f in sorted(sentence.seen) if f in known]
    rows, columns = np.array(cells).T
    values = np.array([1 / math.sqrt(len(sentence.seen)) for sentence in sentences])[rows]
    weights, mean, square = (np.zeros(len(known) + 1) for _ in range(3))
    for step in range(1, EPOCHS + 1):
        sums = np.bincount(rows, weights[columns] * values, len(labels)) + weights[-1]
        error = 1 / (1 + np.exp(-sums)) - labels
        gradient = np.append(np.bincount(columns, error[rows] * values, len(known)), error.sum())
        gradient[:-1] += DECAY * weights[:-1]
        mean += 0.1 * (gradient - mean)
        square += 0.01 * (gradient**2 - square)
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return dict(zip([*known, ""], weights.tolist(), strict=True))


def taken(weights: Weights, sentences: Sequence[Sentence]) -> dict[str, float]:
    """How many of each kind would be taken for a wish that lasts, in per cent."""
    of_kind: dict[str, list[bool]] = {}
    for _, kind, seen in sentences:
        told = sum(weights.get(feature, 0) for feature in seen) / math.sqrt(len(seen)) + weights[""]
        of_kind.setdefault(kind, []).append(1 / (1 + math.exp(-told)) > SURE)
    return {kind: 100 * sum(some) / len(some) for kind, some in of_kind.items()}


def main() -> None:
    written, also = list(sentences()), told()
    writers = sorted({sentence.writer for sentence in written})
    kinds = (STANDING, "once", "telling", "chatter")
    print(f"{len(written):,} sentences\n\n{'writer':18}" + "".join(f"{kind:>10}" for kind in kinds))
    for writer in writers:
        others = [sentence for sentence in written if sentence.writer not in {writer, *UNSEEN}]
        shares = taken(fit(others + also), [sentence for sentence in written if sentence.writer == writer])
        print(
            f"{writer:18}" + "".join(f"{shares[kind]:9.1f}%" if kind in shares else f"{'':10}" for kind in kinds)
        )
    fitted = fit([sentence for sentence in written if sentence.writer not in UNSEEN] + also)
    stored = {feature: round(weight * SCALE) for feature, weight in fitted.items()}
    kept = {feature: weight for feature, weight in stored.items() if abs(weight) >= SMALLEST or not feature}
    TARGET.write_text(json.dumps(kept, indent=0, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    print(f"\n{TARGET.name}: {len(kept):,} features, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
