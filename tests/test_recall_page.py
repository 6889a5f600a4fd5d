"""The page about searching: its commands and examples run in order, and print what it says."""

from __future__ import annotations

import re
from pathlib import Path

from tests.test_getting_started import ROOT, run_page


def test_the_page_about_searching_runs_as_it_is(tmp_path: Path) -> None:
    """R13, R14: a fact is one hit, with the record beneath it; it is said when nothing is known."""
    page = "docs/concepts/recall.md"
    printed = run_page(page, tmp_path)
    [shown] = re.findall(r"^\$ lifelong search .*\n((?:(?!\$|```).*\n)+)", (ROOT / page).read_text(), re.MULTILINE)
    assert without_digits(shown) in without_digits(printed)
    assert "I don't know." in printed


def without_digits(text: str) -> str:
    """Return a text with the same digits in all ids of facts, which differ from home to home."""
    return re.sub(r"\bf[0-9a-f]{8}\b", "f", text)
