"""Whether secrets are found in what people, tools and programs write, and nothing else with them.

`secrets/dev.jsonl` (see `DATA.md`) holds texts with secrets, labelled letter by letter, and texts that only look
as if they had one. A secret counts as found if no stretch of five characters of it is left (all of it, where it is
shorter) but for what the text around it says as well. Whoever wants an honest figure writes texts that nobody who
works on the detector has read into `secrets/held_out.jsonl`: of these, nothing but totals is told.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bench.goals import Figures, Goal, table
from lifelong.redaction import redact

FOLDER = Path(__file__).parent / "secrets"
STRETCH = 5  # characters
MARKER = re.compile(r"\[secret: [\w ]+\]")

GOALS = {
    "secrets_found": Goal("secrets found, %", "≥", 97),
    "secrets_wrong": Goal("texts without a secret that were changed, %", "≤", 2),
    "dev_found": Goal("development texts: secrets found, %", "≥", 98),
    "dev_wrong": Goal("development texts: texts without one that were changed, %", "≤", 1),
}
ALSO = {
    "secrets_lost": "of the words around secrets, taken out with them, %",
    "dev_lost": "development texts: of the words around secrets, taken out with them, %",
}


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text, and the parts of it that must not survive."""

    text: str
    secrets: tuple[str, ...]
    kind: str
    language: str


def labelled(half: str) -> list[Labelled]:
    lines = (FOLDER / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    return [Labelled(row["text"], tuple(row["secrets"]), row["kind"], row["language"]) for row in rows]


def survives(secret: str, one: Labelled, redacted: str) -> bool:
    """Whether something of the secret is left that the text around it does not say as well."""
    around = without(one)
    left = MARKER.sub("\0", redacted)
    return any(piece in left and piece not in around for piece in _pieces(secret))


def without(one: Labelled) -> str:
    """Return the text without its secrets."""
    text = one.text
    for secret in sorted(one.secrets, key=len, reverse=True):
        text = text.replace(secret, "\0")
    return text


def _pieces(secret: str) -> Iterator[str]:
    yield from (secret[at : at + STRETCH] for at in range(max(1, len(secret) - STRETCH + 1)))


def measure(texts: Sequence[Labelled], prefix: str) -> Figures:
    """Return the shares of secrets that are gone, of texts without one that changed, and of words that went."""
    redacted = [(one, redact(one.text)) for one in texts]
    found = [not survives(secret, one, left) for one, left in redacted for secret in one.secrets]
    wrong = [left != one.text for one, left in redacted if not one.secrets]
    words = [(re.findall(r"\w{3,}", without(one)), MARKER.sub(" ", left)) for one, left in redacted if one.secrets]
    lost = [word not in left for said, left in words for word in said]
    return {
        f"{prefix}_found": _share(found),
        f"{prefix}_wrong": _share(wrong),
        f"{prefix}_lost": _share(lost),
    }


def by_kind(texts: Sequence[Labelled]) -> Figures:
    """Return the share that came out right of each kind."""
    right: dict[str, list[bool]] = defaultdict(list)
    for one in texts:
        redacted = redact(one.text)
        if one.secrets:
            right[one.kind] += [not survives(secret, one, redacted) for secret in one.secrets]
        else:
            right[one.kind].append(redacted == one.text)
    return {f"dev_kind_{kind.replace('-', '_')}": _share(results) for kind, results in sorted(right.items())}


def run() -> Figures:
    """Measure, print the table, return the figures."""
    development = labelled("dev")
    figures = measure(development, "dev")
    if (FOLDER / "held_out.jsonl").exists():
        figures |= measure(labelled("held_out"), "secrets")
    kinds = by_kind(development)
    missed = {
        key: f"development texts: {key.removeprefix('dev_kind_')}, % right" for key in kinds if kinds[key] < 100
    }
    figures |= kinds
    goals = {key: goal for key, goal in GOALS.items() if key in figures}
    also = {key: text for key, text in ALSO.items() if key in figures}
    Console().print(table("secrets in texts", figures, goals, also | missed))
    return figures


def _share(results: Sequence[bool]) -> float:
    return 100 * sum(results) / len(results) if results else 0.0
