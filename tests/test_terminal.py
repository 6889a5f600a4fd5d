"""What a log shows on a terminal."""

from __future__ import annotations

import io
import logging
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from rich.console import Console

from lifelong import Hit
from lifelong.serve.terminal import columns, cut, excerpt, hit_lines, print_table, show_log


def test_a_line_of_the_log_commands_no_terminal() -> None:
    """S4: stored text that an error quotes is shown without escapes, and is no markup."""
    shown = io.StringIO()
    show_log(Console(file=shown, width=120), logging.WARNING, "lifelong.hostile")
    logging.getLogger("lifelong.hostile").warning("cannot file %s", "\x1b]0;mine\x07[bold]it\x9b2J\ttwice")
    assert "cannot file ]0;mine[bold]it2J twice" in shown.getvalue()
    assert not {"\x1b", "\x07", "\x9b"} & set(shown.getvalue())


@pytest.mark.parametrize("limit", [1, 5, 20])
@pytest.mark.parametrize(
    "text", ["", "tea", "a cup of green tea in Lisbon", "リスボンで緑茶を飲みます", "Graça é bonita, não é?"]
)
def test_a_cut_text_fits_its_columns(text: str, limit: int) -> None:
    """R2: also where a character takes two columns."""
    short = cut(text, limit)
    assert columns(short) <= limit
    assert short == text or short.endswith("…")
    assert text.startswith(short.removesuffix("…"))


def test_an_excerpt_shows_the_words_of_the_query() -> None:
    """R2: of a long text, the part around the first of them; else the beginning."""
    text = f"{'We talked of this and that. ' * 20}The boat is called Gaivota. {'And so on. ' * 20}"
    shown = excerpt(text, "Which boats are there?", 60)
    assert "boat" in shown
    assert columns(shown) <= 60
    assert excerpt(text, "zebra", 60).startswith("We talked")
    assert excerpt("short", "boat", 60) == "short"


def test_a_table_fits_the_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """R2: the widest column gives way; one line a row."""
    monkeypatch.setenv("COLUMNS", "60")
    print_table(("id", "text"), [(1, "tea\n" * 100), (22, "short\x1b[2J")], "nothing")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(columns(line) <= 60 for line in lines)
    assert lines[2] == "22  short[2J"
    print_table(("id",), [], "There is none yet.")
    assert capsys.readouterr().out == "There is none yet.\n"


def test_a_hit_is_shown_without_the_marks_of_markdown() -> None:
    """R11: of documents and files; what somebody said is shown as it was said."""
    at = datetime(2026, 3, 5, tzinfo=UTC)
    text = "### 2026-03-01\n- **Mara:** The demo is *on* Friday.\n<!-- a comment -->\n- Use __init__.py"
    journal, record = Hit("j1", "journal", text, at, "user", 0.0), Hit("r1", "record", text, at, "user", 0.0)
    assert [*hit_lines([journal], limit=200)] == [
        "j1  2026-03-05  journal  2026-03-01 Mara: The demo is *on* Friday. Use __init__.py"
    ]
    assert "**Mara:**" in next(hit_lines([record], limit=200))


def test_a_narrow_terminal_shows_the_whole_answer_below() -> None:
    """R2, R14: what says the same is named by its id."""
    at = datetime(2026, 3, 5, tzinfo=UTC)
    text = "Then the date has to move. The release of Harbor 2.0 is now on 28 November, not on 21 November."
    same = Hit("r139", "record", text, at, "user", 0.0, speaker="Jonas")
    other = Hit("r140", "record", "Agreed.", at.replace(day=6), "user", 0.0, speaker="Mara")
    hit = Hit("f54", "fact", text, at, "user", 0.0, path="~/memory/projects/harbor", sources=(same, other))
    assert [*hit_lines([hit], limit=80)] == [
        "f54  2026-03-05  ~/memory/projects/harbor",
        "     Then the date has to move. The release of Harbor 2.0 is now on 28 November,",
        "     not on 21 November.",
        "     also r140 2026-03-06 Mara  Agreed.",
        "     also r139 Jonas",
    ]
    wide = replace(hit, text="緑茶を飲みます。" * 40)
    assert all(columns(line) <= 80 for line in hit_lines([wide], limit=80))
