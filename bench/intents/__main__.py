"""Fit the weights, print how good they are on each writer when fitted to the others, and write `intents.json`."""

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
from lifelong.organize.rules.requests import MIN_LIKELIHOOD, SCALE, WEIGHTS_FILE, features, likelihood

HERE = Path(__file__).parent
TARGET = HERE.parents[1] / "src" / "lifelong" / "organize" / "rules" / WEIGHTS_FILE
HELD_OUT = ("development-idiomatic", "development-plain")
KINDS = ("standing", "once", "telling", "chatter")
TOLD = 16000  # statements of the judge's pairs
SEEN = 2  # sentences in which a feature stands, at least
EPOCHS, RATE, DECAY = 300, 0.3, 0.03
SMALLEST = 32  # weights below this, as they are stored, are left out
WIDTH = 115  # characters of a line of the file


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
    """What people tell of themselves in the judge's pairs; what they like may be a wish, and is left out."""
    files = sorted(PAIRS.glob("*.jsonl"))
    lines = (line for file in files for line in file.read_text(encoding="utf-8").splitlines())
    pairs = [
        pair for pair in map(json.loads, lines) if "prefer" not in pair["kind"] and "like" not in pair["kind"]
    ]
    texts = sorted({pair[which] for pair in pairs for which in ("old", "new")})
    return [Sentence("", "telling", frozenset(features(text))) for text in Random(0).sample(texts, TOLD)]


def fit(sentences: Sequence[Sentence], kind: str) -> Weights:
    """What each feature says for this kind, by Adam on the likelihood; that of nothing is where the sum starts."""
    counts = Counter(feature for sentence in sentences for feature in sentence.seen)
    known = {feature: n for n, feature in enumerate(sorted(f for f, count in counts.items() if count >= SEEN))}
    labels = np.array([sentence.kind == kind for sentence in sentences], float)
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
    stored = np.rint(weights * SCALE)
    stored[:-1][np.abs(stored[:-1]) < SMALLEST] = 0
    return dict(zip([*known, ""], (stored / SCALE).tolist(), strict=True))


def taken(weights: dict[str, Weights], sentences: Sequence[Sentence]) -> dict[tuple[str, str], float]:
    """How many of each kind would be taken for a wish that lasts, or for a request, in per cent."""
    counts: Counter[tuple[str, str]] = Counter()
    for _, kind, seen in sentences:
        for one, known in weights.items():
            sum_ = sum(known.get(feature, 0) for feature in seen) / math.sqrt(len(seen)) + known[""]
            if likelihood(sum_) > MIN_LIKELIHOOD[one]:
                counts[one, kind] += 1
                break
    kinds = Counter(sentence.kind for sentence in sentences)
    return {(one, kind): 100 * counts[one, kind] / kinds[kind] for one in weights for kind in kinds}


def weights() -> dict[str, list[int]]:
    """Fit to every writer that is not held out, and return the weights that are stored."""
    seen = [sentence for sentence in sentences() if sentence.writer not in HELD_OUT] + told()
    fitted = [fit(seen, one) for one in MIN_LIKELIHOOD]
    stored = {feature: [round(known[feature] * SCALE) for known in fitted] for feature in fitted[0]}
    return {feature: both for feature, both in stored.items() if any(both)}


def lines(weights: dict[str, list[int]]) -> str:
    """Return the weights as JSON, in lines of at most WIDTH characters."""
    made = ["{"]
    for feature, both in sorted(weights.items()):
        entry = f"{json.dumps(feature, ensure_ascii=False)}: [{both[0]}, {both[1]}],"
        if len(made) == 1 or len(made[-1]) + len(entry) >= WIDTH:
            made.append(entry)
        else:
            made[-1] += f" {entry}"
    return "\n".join([*made[:-1], made[-1].removesuffix(","), "}\n"])


def main() -> None:
    written, also = list(sentences()), told()
    print(f"{len(written):,} sentences\n\n{'':18}{'taken for standing':>40}{'taken for once':>40}")
    print(f"{'writer':18}" + 2 * "".join(f"{kind:>10}" for kind in KINDS))
    for writer in sorted({sentence.writer for sentence in written}):
        others = [sentence for sentence in written if sentence.writer not in {writer, *HELD_OUT}] + also
        theirs = [sentence for sentence in written if sentence.writer == writer]
        shares = taken({one: fit(others, one) for one in MIN_LIKELIHOOD}, theirs)
        cells = [shares.get((one, kind)) for one in MIN_LIKELIHOOD for kind in KINDS]
        print(f"{writer:18}" + "".join(f"{'' if cell is None else f'{cell:.1f}%':>10}" for cell in cells))
    kept = weights()
    TARGET.write_text(lines(kept), encoding="utf-8")
    print(f"\n{TARGET.name}: {len(kept):,} features, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
