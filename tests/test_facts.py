"""How a fact stands in a document: what a paragraph says, and the records it came from (SPEC O9, O10, O11)."""

from __future__ import annotations

import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifelong.organize.facts import EARLIER, INFERRED, Fact, paragraphs, parse_fact, parse_facts

RECORDS = st.integers(1, 10**18 - 1)
DAYS = st.dates(date(1000, 1, 1)).map(date.isoformat)

LINE = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=80)
TEXTS = st.one_of(LINE, st.sampled_from(["see [r9]", "[r1]", "a [b] c]", "[[~/memory/x|it]]", "x [r1, from web]"]))


@st.composite
def any_facts(draw: st.DrawFn) -> Fact:
    text = draw(TEXTS.map(str.strip).filter(lambda text: text and not text.startswith(INFERRED.strip())))
    until = draw(st.one_of(st.just(""), DAYS))
    return Fact(
        text,
        tuple(draw(st.lists(RECORDS, min_size=1, max_size=4))),
        draw(st.booleans()),
        draw(st.sampled_from(("", "tool", "web"))),
        until,
        draw(st.one_of(st.none(), RECORDS)) if until else None,
    )


@given(any_facts())
def test_a_fact_is_read_as_it_was_written(fact: Fact) -> None:
    """O9, O11: text, records, source, and when and by what it ended."""
    assert parse_fact(str(fact)) == fact


@given(st.lists(any_facts(), max_size=6))
def test_the_facts_of_a_document_are_its_paragraphs_in_order(told: list[Fact]) -> None:
    """O10: one fact a paragraph; headings are none."""
    body = "\n\n".join(["# A title", *map(str, told), EARLIER, "A person's own text."])
    assert parse_facts(body) == told
    assert paragraphs(body) == ["# A title", *map(str, told), EARLIER, "A person's own text."]


@given(st.text(max_size=200))
def test_any_text_is_a_fact_or_none(text: str) -> None:
    """O10: what is read as a fact is written so that it is read as the same fact."""
    found = parse_fact(text)
    assert found is None or parse_fact(str(found)) == found


@pytest.mark.parametrize(
    ("paragraph", "fact"),
    [
        ("works as a nurse. [r12, r40]", Fact("works as a nurse.", (12, 40))),
        ("Inferred: has two children. [r77]", Fact("has two children.", (77,), inferred=True)),
        ("It costs 84 EUR. [r15, from web]", Fact("It costs 84 EUR.", (15,), source="web")),
        (
            "lives in Porto. [r3, until 2026-03-05 by r45]",
            Fact("lives in Porto.", (3,), until="2026-03-05", by=45),
        ),
        ("lives in Porto. [r3, until 2026-03-05]", Fact("lives in Porto.", (3,), until="2026-03-05")),
        ("likes [brackets] and [r7]. [r1]", Fact("likes [brackets] and [r7].", (1,))),
        ("quotes [r2, r3] [r1]", Fact("quotes [r2, r3]", (1,))),
        ("is in\ntwo lines. [r1] \n", Fact("is in\ntwo lines.", (1,))),
        ("no space before it.[r1]", Fact("no space before it.", (1,))),
    ],
)
def test_what_a_paragraph_states(paragraph: str, fact: Fact) -> None:
    """O10, O11: only the last bracket cites, whatever stands in the text."""
    assert parse_fact(paragraph) == fact
    assert fact.current is not bool(fact.until)


@pytest.mark.parametrize(
    "paragraph",
    [
        "",
        "A person's own text.",
        "Cites nothing. []",
        "Cites no record. [12]",
        "Cites no record. [r]",
        "Cites no record. [from web]",
        "In other brackets. (r1)",
        "Says something else. [r1, probably]",
        "Says something else. [r1, from the web]",
        "Has no such day. [r1, until yesterday]",
        "The bracket [r1] stands in the middle.",
        "The bracket is not closed. [r1",
        "[r1]",
        "  [r1]",
        "A link. [[r1]]",
        EARLIER,
    ],
)
def test_what_is_no_fact(paragraph: str) -> None:
    """O10: any other paragraph is a person's own text."""
    assert parse_fact(paragraph) is None


def test_paragraphs_stand_as_they_are() -> None:
    """O10: blank lines part them; what is within one is not touched."""
    body = "\n\n  indented\n\ttabbed  \n \t \nnext\n\n\n\n- a\n- b\n"
    assert paragraphs(body) == ["  indented\n\ttabbed  ", "next", "- a\n- b"]
    assert paragraphs(" \n\n ") == []


@pytest.mark.parametrize("piece", [" ", "\n", " \n", "[r1", "[r1, ", ", r1", "]"])
def test_hostile_text_is_read_in_linear_time(piece: str) -> None:
    """S2: a body may hold 200,000 characters of anything."""
    text = f"x [r1, {piece * (20_000 // len(piece))}x"
    started = time.process_time()
    parse_fact(text)
    parse_facts(text)
    assert time.process_time() - started < 0.4
