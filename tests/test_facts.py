"""How a fact stands in a document: what a paragraph says, and the records it came from (SPEC O9, O10, O11)."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifelong.organize.facts import (
    EARLIER,
    INFERRED,
    Body,
    Fact,
    paragraphs,
    parse_fact,
    parse_facts,
    replace_fact,
    sentence,
)
from lifelong.types import Document

RECORDS = st.integers(1, 10**18 - 1)
DAYS = st.dates(date(1000, 1, 1)).map(date.isoformat)

LINE = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=80)
TEXTS = st.one_of(LINE, st.sampled_from(["see [r9]", "[r1]", "a [b] c]", "[[~/memory/x|it]]", "x [r1, from web]"]))
MARKS = st.sampled_from(["5. Mai", "- x", "#x", "# x", "\\# x", "\\\\- x", "1986) x", "7\\. x", "-x", "1.5 l"])
NAMES = st.one_of(
    st.text(max_size=20), st.sampled_from(["Mara", "r12", "2026-01-01", "until 2026-01-01", "a, b", "[x]"])
)


@st.composite
def any_facts(draw: st.DrawFn) -> Fact:
    text = draw((TEXTS | MARKS).map(str.strip).filter(lambda text: text and not text.startswith(INFERRED.strip())))
    until = draw(st.one_of(st.just(""), DAYS))
    day = draw(st.one_of(st.just(""), DAYS))
    return Fact(
        text,
        tuple(draw(st.lists(RECORDS, min_size=1, max_size=4))),
        draw(st.booleans()),
        draw(st.sampled_from(("", "tool", "web"))),
        until,
        draw(st.one_of(st.none(), RECORDS)) if until else None,
        draw(NAMES) if day else "",
        day,
        draw(st.sampled_from(("", "", "- ", "* ", "+ ", "1. ", "12) ", "  - "))),
    )


@given(any_facts())
def test_a_fact_is_read_as_it_was_written(fact: Fact) -> None:
    """O9, O11: text, records, source, who said it and when, and when and by what it ended."""
    found = parse_fact(str(fact))
    assert found == fact
    assert found.marker == fact.marker
    assert parse_facts(str(fact)) == [fact]


@given(st.lists(any_facts(), max_size=6))
def test_the_facts_of_a_document_are_its_paragraphs_in_order(told: list[Fact]) -> None:
    """O10: one fact a paragraph; headings are none."""
    parts = ["# A title", *map(str, told), EARLIER, "A person's own text."]
    for between in ("\n\n", "\r\n\r\n", "\n \n\n"):
        assert parse_facts(between.join(parts)) == told
        assert paragraphs(between.join(parts)) == parts


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
        ("I'm vegan. [Mara, 2026-03-03, r1]", Fact("I'm vegan.", (1,), speaker="Mara", day="2026-03-03")),
        (
            "It costs 84 EUR. [2026-03-03, r1, from web]",
            Fact("It costs 84 EUR.", (1,), source="web", day="2026-03-03"),
        ),
        (
            "I moved last week [to 1 March 2026]. [Ana María, 2026-03-03, r1, r4, until 2026-05-01 by r9]",
            Fact(
                "I moved last week [to 1 March 2026].",
                (1, 4),
                until="2026-05-01",
                by=9,
                speaker="Ana María",
                day="2026-03-03",
            ),
        ),
        ("- is a nurse. [r12]", Fact("is a nurse.", (12,))),
        (
            "  2) Inferred: is a nurse.\n     She said so. [r12]",
            Fact("is a nurse.\n     She said so.", (12,), inferred=True),
        ),
        ("5\\. Mai is my birthday. [r1]", Fact("5. Mai is my birthday.", (1,))),
        ("2026. [r1]", Fact("2026.", (1,))),
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
        "Says who, but not when. [Mara, r1]",
        "The day comes first. [Mara, r1, 2026-03-03]",
        "Cites nothing. [Mara, 2026-03-03]",
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


PIECES = [
    "- a [r1]",
    "* b",
    "1. c [r2]",
    "2. d [r3]",
    "text",
    "text [r4]",
    "## Earlier",
    "  more [r5]",
    "",
    " ",
    "\r",
]


@given(st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=12).map("\n".join)))
def test_a_body_is_put_together_as_it_was(body: str) -> None:
    """O10: what nobody changed is the same to the byte."""
    made = Body(body)
    assert str(made) == body
    assert all(part.strip() for part in made.parts)
    assert paragraphs("\n\n".join(made.parts)) == made.parts or "\r" in body


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("\n".join), any_facts(), st.integers(0, 12))
def test_a_change_of_a_body_leaves_the_other_facts(body: str, fact: Fact, at: int) -> None:
    """O10: a fact that is added, replaced or removed touches no other."""
    told = parse_facts(body)
    made = Body(body)
    at = min(at, len(made.parts))
    before = len(parse_facts("\n\n".join(made.parts[:at])))
    made.insert(at, str(fact))
    assert parse_facts(str(made)) == [*told[:before], fact, *told[before:]]
    made.replace(at, "Now it is [r9].")
    assert parse_facts(str(made)) == told
    made.replace(at, str(fact))
    assert parse_facts(str(made)) == [*told[:before], fact, *told[before:]]
    made.remove(at)
    assert parse_facts(str(made)) == told
    places = [place for place, part in enumerate(made.parts) if parse_fact(part)]
    for number, place in enumerate(places):
        without = Body(str(made))
        without.remove(place)
        assert parse_facts(str(without)) == told[:number] + told[number + 1 :]


def test_list_items_are_facts() -> None:
    """O10: each list item that cites is a fact; a person's own list is their own text."""
    body = (
        "# Food\n- no nuts [r1]\n- no gluten,\n  says Tom [r2]\n\nShopping:\n- milk\n- eggs\n\n"
        "1. bread [r3]\n2. jam\n3. tea\n\nIt was in\n1986. A year. [r4]\n"
    )
    assert paragraphs(body) == [
        "# Food",
        "- no nuts [r1]",
        "- no gluten,\n  says Tom [r2]",
        "Shopping:\n- milk\n- eggs",
        "1. bread [r3]",
        "2. jam\n3. tea",
        "It was in\n1986. A year. [r4]",
    ]
    no_nuts, gluten, bread, year = parse_facts(body)
    assert (no_nuts.text, gluten.text, bread.text) == ("no nuts", "no gluten,\n  says Tom", "bread")
    assert year.text == "It was in\n1986. A year."


def test_a_rewritten_list_item_stays_one() -> None:
    """O10, O11: it keeps its marker and its line, also where it has ended."""
    body = "Diet:\n- no nuts [r1]\n- no gluten [r2]\n- vegan [r3]\n"
    gluten = parse_facts(body)[1]
    ended = Fact(gluten.text, gluten.records, until="2026-03-05", by=9, marker=gluten.marker)
    assert (
        replace_fact(body, "- no gluten [r2]", Fact("gluten is fine", (9,)), ended)
        == "Diet:\n- no nuts [r1]\n- gluten is fine [r9]\n- vegan [r3]\n\n## Earlier\n\n"
        "- no gluten [r2, until 2026-03-05 by r9]\n"
    )
    assert replace_fact(body, "- no gluten [r2]", None, None) == "Diet:\n- no nuts [r1]\n- vegan [r3]\n"


def test_a_quote_never_continues_the_title() -> None:
    """O8: a person's sentence is theirs, even where it begins in lower case."""
    mara = Document("d", 1, "~/memory/people/mara", "", "mara", "Mara", "", "", (), datetime.now(UTC), None, 0)
    assert sentence(mara, Fact("works at Aldo's.", (1,))) == "Mara works at Aldo's."
    assert sentence(mara, Fact("works for me!", (1,), speaker="Tom", day="2026-03-03")) == "works for me!"


@pytest.mark.parametrize(
    "piece", [" ", "\n", " \n", "[r1", "[r1, ", ", r1", "]", "- ", "\n- ", "- x]\n", "# ", "1. [r1]\n", "\\\\"]
)
def test_hostile_text_is_read_in_linear_time(piece: str) -> None:
    """S2: a body may hold 200,000 characters of anything."""
    text = f"x [r1, {piece * (20_000 // len(piece))}x"
    started = time.process_time()
    parse_fact(text)
    parse_facts(text)
    assert time.process_time() - started < 0.4
