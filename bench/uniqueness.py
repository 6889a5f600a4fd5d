"""Whether an experience that is there is known again, and no look-alike is taken for it (SPEC R5).

`uniqueness_pairs.json` holds two halves: the rules were made with the first in sight, the second is for the figure
alone, so its texts are not printed (see `DATA.md`). In each, about as many paraphrases as look-alikes, which
differ in a number, a name, a date, a negation, a direction, a tense or the thing that is spoken of. One hand wrote
both, and the rules.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict

from lifelong.models.embedders.static import StaticEmbedder
from lifelong.recall.dedup import calibrated, differs, embedder_word_match, is_same

THRESHOLD = 0.85  # as the settings have it

Texts = tuple[str, str]


class Half(TypedDict):
    same: Sequence[Texts]
    different: Mapping[str, Sequence[Texts]]


class Wrong(NamedTuple):
    kind: str
    similarity: float
    why: str
    texts: Texts


class Outcome(NamedTuple):
    """In per cent; and the pairs that came out wrong."""

    false_merges: float
    missed_merges: float
    wrong: list[Wrong]


def halves() -> dict[str, Half]:
    file = Path(__file__).parent / "uniqueness_pairs.json"
    found: dict[str, Half] = json.loads(file.read_text(encoding="utf-8"))
    return found


def outcome(half: Half, threshold: float = THRESHOLD) -> Outcome:
    embedder = StaticEmbedder()
    alike = embedder_word_match(embedder)
    told = [("missed", texts) for texts in half["same"]]
    told += [(kind, texts) for kind, some in half["different"].items() for texts in some]
    rows = embedder.embed([text for _, texts in told for text in texts])
    wrong = []
    for at, (kind, (one, other)) in enumerate(told):
        similarity = calibrated(float(rows[2 * at] @ rows[2 * at + 1]), str(embedder.identity))
        if is_same(one, other, similarity, threshold, alike) != (kind == "missed"):
            wrong.append(Wrong(kind, similarity, differs(one, other, alike), (one, other)))
    missed = sum(one.kind == "missed" for one in wrong)
    same = len(half["same"])
    return Outcome(100 * (len(wrong) - missed) / (len(told) - same), 100 * missed / same, wrong)


def run() -> dict[str, float]:
    figures: dict[str, float] = {}
    for name, half in halves().items():
        found = outcome(half)
        print(f"{name}: false merges {found.false_merges:.1f} %, missed merges {found.missed_merges:.1f} %")
        after = "_held_out" if name == "held_out" else ""
        for one in sorted(found.wrong):
            why = f"differs in: {one.why}" if one.why else "not near enough" if one.kind == "missed" else "merged"
            print(f"  {one.kind:9} {one.similarity:.2f} {why}{'' if after else ': ' + ' | '.join(one.texts)}")
        figures |= {f"false_merges{after}": found.false_merges, f"missed_merges{after}": found.missed_merges}
    return figures
