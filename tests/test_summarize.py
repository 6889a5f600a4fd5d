"""O27, O28: old records are summarized by rule in whole sentences, word for word, with who and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifelong.journal.summarize import DatedText, Kind, Line, fit, parse_summary, read, render, summarize

MAY = datetime(2026, 5, 4, 12, tzinfo=UTC)
TALK = (
    "Mara: I'm allergic to nuts. I always carry an EpiPen. → Noted, no nuts in anything that I plan.",
    "Mara: When does the ferry to Cacilhas leave? → It leaves at 18:40, not at 18:10, from Cais do Sodré.",
    "Mara: Thanks, that is great! → You're welcome!",
    "System: Back up the database of Harbor. → The backup worked: 2.7 GB in 108 seconds.",
)


def told(*texts: str, kind: Kind = "turn-summary") -> list[DatedText]:
    return [DatedText(text, MAY + timedelta(days=number), kind) for number, text in enumerate(texts)]


def test_what_fits_stands_whole_under_its_day_with_who_said_it() -> None:
    """O27: an assistant replies to people, an agent to a system."""
    assert summarize(told(TALK[0], TALK[3]), 5_000) == (
        "### 2026-05-04\n"
        "- **Mara:** I'm allergic to nuts. I always carry an EpiPen.\n"
        "- **Assistant:** Noted, no nuts in anything that I plan.\n\n"
        "### 2026-05-05\n"
        "- **System:** Back up the database of Harbor.\n"
        "- **Agent:** The backup worked: 2.7 GB in 108 seconds."
    )


def test_notes_are_not_taken_apart() -> None:
    """O27: what stands before a colon is a speaker in a turn summary only, and an arrow a reply."""
    note = "Ports: 8080 for the web server, 5432 for the database. Use TLS → always, says Ada."
    assert summarize(told(note, kind="note"), 500) == f"### 2026-05-04\n- {note}"


def test_twenty_notes_under_a_large_target_stay_whole() -> None:
    """O27: all of it is kept while there is room."""
    notes = [" ".join(f"Ada{n} sold kayak {m} to Ben{n} in Oslo." for m in range(9)) for n in range(20)]
    assert sum(map(len, notes)) > 5_700
    summary = summarize(told(*notes, kind="note"), 64_000)
    assert [line.removeprefix("- ") for line in summary.split("\n") if line.startswith("- ")] == notes


def test_where_there_is_little_room_the_sentences_that_tell_most_stay() -> None:
    """O27: facts before courtesies and questions; the rest is counted, and said to be in the archive."""
    summary = summarize(told(*TALK), 400, "old/compacted-*.md")
    assert "I'm allergic to nuts." in summary
    assert "2.7 GB in 108 seconds" in summary
    assert "welcome" not in summary
    assert "Thanks" not in summary
    assert summary.endswith(" more lines are in the archive: old/compacted-*.md")


def test_an_answer_brings_along_its_question() -> None:
    """O27: "It leaves at 18:40" alone does not say what leaves."""
    summary = summarize(told(*TALK), 400)
    assert ("It leaves at 18:40" in summary) is ("When does the ferry to Cacilhas leave?" in summary) is True


@pytest.mark.parametrize(
    ("dull", "telling"),
    [
        ("¡Muchas gracias, qué bien, genial de verdad!", "Me mudé a Lisboa el 4 de mayo con Tomás."),
        ("Vielen Dank, das ist ja wirklich sehr nett!", "Ich wohne seit dem 4. Mai in Lissabon, nicht in Porto."),
        (
            "どうもありがとうございます、本当に嬉しいです、また今度お話ししましょうね。",
            "会議は5月4日の15時30分からで、参加者は12人です。",
        ),
        ("Большое спасибо, это очень мило и приятно!", "Анна переехала в Лиссабон 4 мая 2026 года."),
    ],
)
def test_all_languages_alike(dull: str, telling: str) -> None:
    """O27"""
    room = len(f"### 2026-05-04\n- **Mara:** {telling}") + 62
    assert telling in summarize(told(f"Mara: {dull}", f"Mara: {telling}"), room)
    assert dull not in summarize(told(f"Mara: {dull}", f"Mara: {telling}"), room)


@pytest.mark.parametrize(
    ("text", "again", "both"),
    [
        ("Ada: The kayak is red and new.", "Ada: the kayak is red, and new!", False),
        ("Ada: The kayak is red and new.", "Ben: The kayak is red and new.", True),
        ("Ada: Ticket 12 waits for an answer.", "Ada: Ticket 13 waits for an answer.", True),
        ("Ada: The kayak is sold to them.", "Ada: The kayak is not sold to them.", True),
        ("Ada: We are going to Oslo for work.", "Ada: We are going to Porto for work.", True),
    ],
)
def test_what_is_said_twice_is_written_once(text: str, again: str, both: bool) -> None:
    """O27: another speaker, number, name or "not" makes another sentence."""
    assert summarize(told(text, again), 500).count("- **") == 1 + both


def test_of_lines_that_differ_in_a_number_the_newest_stay() -> None:
    """O27: they tell least that was not told before."""
    nightly = [f"System: Back up Harbor. → The backup took {n * 7 + 3} seconds for {n + 2} GB." for n in range(40)]
    summary = summarize(told("Ada: I moved to Oslo with Ben in April.", *nightly), 400)
    assert "I moved to Oslo with Ben in April." in summary
    assert "276 seconds for 41 GB" in summary
    assert "3 seconds for 2 GB" not in summary


def test_a_summary_can_be_summarized_again() -> None:
    """O28: sentences go, and none is cut; the count goes on, and the days stay."""
    whole = told(*TALK)
    first = summarize(whole, 420)
    again = summarize([DatedText(first, MAY + timedelta(days=30), "compaction")], 260)
    assert set(lines_of(again)) < set(lines_of(first)) < set(lines_of(summarize(whole, 5_000)))
    left_out = [parse_summary(text)[1] for text in (first, again)]
    assert 0 < left_out[0] < left_out[1]
    assert left_out[1] + len(lines_of(again)) == len(lines_of(summarize(whole, 5_000)))
    assert summarize([DatedText(first, MAY, "compaction")], 420) == first


def lines_of(summary: str) -> list[tuple[str, str, str]]:
    return [(line.day, line.speaker, line.text) for line in parse_summary(summary)[0]]


words = st.sampled_from(
    "Ada Ben Oslo kayak 12 €84 18:40 2026-05-04 not never sold moved the of → ### - ** : ; 31 more lines "
    "are in the archive Grüße 玛拉 卖车。 <!-- end --> ## thanks".split()
)
ends = st.sampled_from([".", "!", "?", "…", "\n", "。", ""])
sentence = st.builds(lambda some, end: " ".join(some) + end, st.lists(words, min_size=1, max_size=14), ends)
text = st.one_of(st.lists(sentence, max_size=6).map(" ".join), st.text(max_size=80))
kinds = st.sampled_from(["note", "turn-summary"])
dated = st.builds(
    lambda said, speaker, days, kind: DatedText(f"{speaker}{said}", MAY + timedelta(days=days), kind),
    *(text, st.sampled_from(["", "Ada: ", "System: ", "A. B-C: "]), st.integers(0, 5), kinds),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(dated, max_size=25), st.integers(0, 2_500))
def test_every_sentence_is_verbatim_and_nothing_is_dropped_while_there_is_room(
    texts: list[DatedText], budget: int
) -> None:
    """O27, O28: whatever the records hold. A sentence that was dropped would not have fitted."""
    summary = summarize(texts, budget)
    assert len(summary) <= budget
    everything, _ = read(texts)
    squeezed = [" ".join(one.text.split()) for one in texts]
    _, chosen, left_out = fit(everything, budget)
    for line in chosen:
        assert any(" ".join(line.text.split()) in source for source in squeezed), line
        assert line in everything
    assert chosen == [line for line in everything if line in chosen], "in the order of time"
    assert left_out == len(everything) - len(chosen)
    whole = render(everything)
    if len(whole) <= budget:
        assert summary == whole
    for line in everything if len(whole) > budget else []:
        if line not in chosen:
            assert len(whole_with(chosen, line, everything)) > budget - 90, "the last line counts the rest"
    again, _ = parse_summary(whole)
    assert render(again) == whole


def whole_with(chosen: list[Line], line: Line, everything: list[Line]) -> str:
    """Return the summary with one line more, and the one before it, which it may answer."""
    at = everything.index(line)
    wanted = {everything[max(0, at - 1)], line, *chosen}
    return render(one for one in everything if one in wanted)


def test_it_is_always_the_same() -> None:
    """O27"""
    texts = told(*TALK, *TALK)
    assert len({summarize(texts, 300) for _ in range(5)}) == 1
