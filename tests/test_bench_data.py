"""Each data set under bench/ has its card, which says what it may prove."""

from __future__ import annotations

import re
from pathlib import Path

from bench import supersede

BENCH = Path(supersede.__file__).parent


def test_every_data_set_has_a_card() -> None:
    cards = set(re.findall("`.*?`", (BENCH / "DATA.md").read_text(encoding="utf-8")))
    for file in [*BENCH.rglob("*.json"), *BENCH.rglob("*.jsonl")]:
        place = file.relative_to(BENCH)
        if place.parts[0] != "results":
            assert cards & {f"`{part.as_posix()}`" for part in (place, *place.parents)}, place
