"""Records told by a model instead of the rules: one question for each text. `merging` checks every answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files

from recollect.journal.condense import Item, condense
from recollect.journal.merging import Summarize

MOST = 32_000  # characters of records in one question; of more, the model gets what the rules tell


def by_model(query: Callable[[str], str]) -> Summarize:
    """Summaries by one question each: no tools, one answer. See `models/question.py`."""

    def summarize(items: Sequence[Item], budget: int) -> str:
        if sum(len(item.text) for item in items) > MOST:
            items = [Item(condense(items, MOST), max(item.at for item in items))]
        records = (json.dumps({"day": f"{at:%Y-%m-%d}", "text": text}, ensure_ascii=False) for text, at in items)
        return query(_prompt().format(limit=budget, records="\n".join(records)))

    return summarize


@cache
def _prompt() -> str:
    return files("recollect").joinpath("prompts/compaction.md").read_text(encoding="utf-8")
