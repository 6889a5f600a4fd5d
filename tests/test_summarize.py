"""Condensing by rules, and what must not be told otherwise."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from bench.specifics import background, measure
from hypothesis import given
from hypothesis import strategies as st

from lifelong.journal import summarize as module
from lifelong.journal.summarize import DatedText, KeyFact, key_facts, missing_key_facts, summarize
from lifelong.text.sentences import PERIOD, clauses

DAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
TALK = (
    "Caroline: I went to a LGBTQ support group yesterday and it was so powerful. Melanie: So cool, Caroline!",
    "Caroline: I've known these friends for 4 years, since I moved from my home country, Sweden. Melanie: Great!",
    "Melanie: We never saw so many stars as on 12 July, and the kids didn't sleep. Caroline: Sounds lovely, Mel!",
    "Caroline: I am looking at adoption agencies in Boston. Melanie: I signed up for a pottery class, 3 evenings.",
)


def journal(*texts: str, every: timedelta = timedelta(days=40)) -> list[DatedText]:
    return [DatedText(text, DAY + number * every) for number, text in enumerate(texts)]


def entries(told: str) -> list[str]:
    return [f"{part.label}: {part.text}" for part in clauses(told)]


def test_what_fits_stands_whole() -> None:
    """O27: nothing is shortened without need; "yesterday" gets its date."""
    told = summarize(journal(*TALK), 2000)
    assert "I went to a LGBTQ support group 7 May and it was so powerful" in told
    assert "for 4 years, since I moved from my home country, Sweden" in told
    assert missing_key_facts(" ".join(TALK), told) == frozenset()


def test_numbers_names_and_negations_stay_with_what_they_belong_to() -> None:
    """O27: what is short of room loses words, not what the key facts belong to."""
    told = summarize(journal(*TALK), 300)
    assert len(told) <= 300
    kept = entries(told)
    for label, *words in (
        ("Caroline", "LGBTQ support"),
        ("Caroline", "4 years"),
        ("Caroline", "Sweden"),
        ("Melanie", "never saw"),
        ("Melanie", "12 July"),
        ("Melanie", "didn't sleep"),
        ("Melanie", "3 evenings"),
    ):
        assert any(entry.startswith(label) and all(word in entry for word in words) for entry in kept), words


def test_with_some_room_it_is_told_in_sentences() -> None:
    """O27: a third of the text holds the sentences that say most, whole, and none that says nothing."""
    chat = (
        "Jonas: Morning! Argh, the map is dead again. Priya: Found it. The tile server answers with 401.",
        "Mara: A table, please. → Booked: Casa Verde at 20:00 for four, reference CV-4471.",
        "System: How quick is it? → The API answered in 84 ms.",
        "Priya: I like it a lot. Jonas: So do I, the colours came out well and everybody says so.",
        "Mara: The move is on 10 November, not on 8 November. Jonas: Hooray! Then we all come and carry things.",
    )
    told = summarize(journal(*chat, every=timedelta(days=1)), sum(map(len, chat)) // 2)
    assert "Mara: The move is on 10 November, not on 8 November." in told
    assert "The tile server answers with 401" in told
    assert not {"Argh", "Hooray", "Found", "dead"} & set(told.replace(";", " ").replace(".", " ").split())
    labels = {entry.split(":")[0] for entry in entries(told) if "API" in entry}
    assert labels == {""}, "what was booked is no label of what follows"


def test_courtesies_and_what_an_assistant_says_of_itself_make_room() -> None:
    """O27: a name in a courtesy is no reason to tell it."""
    chat = (
        "Ada: Sounds great, Ben. → As an AI language model, I don't have personal preferences or opinions.",
        "Ben: That's so sweet, Ada. → There are 3 lens shops in Porto, the largest is Foto Lima:",
        "Ada: I love Porto. → Love it, Ada. You could look at the reviews of the shops there for a while, too.",
    )
    told = summarize(journal(*chat), 170)
    assert "There are 3 lens shops in Porto, the largest is Foto Lima." in told
    assert "I love Porto" in told
    assert not [courtesy for courtesy in ("great", "language model", "sweet", "Love it") if courtesy in told]


def test_a_person_who_works_with_an_ai_is_told() -> None:
    """O27: only what an assistant says of itself makes room."""
    facts = (
        "Ada: I'm an AI engineer at Norsk Hydro and earn well. → Nice.",
        "Ben: We hired Mara Lund as an AI model for 400 euros until 12 July. → Noted.",
    )
    dull = (
        "Ada: I looked at some lovely lamps and chairs with seeds and nuts that my neighbours like a lot. → Fine."
    )
    told = summarize(journal(*facts, dull, dull.replace("lamps", "wooden fences and gates")), 200)
    assert all(fact in told for fact in ("AI engineer at Norsk Hydro", "Mara Lund", "400 euros", "12 July"))


def test_what_is_short_is_told_where_there_is_room() -> None:
    """O27: a few words can say a lot."""
    said = ("Quit my job.", "Anna left.", "We divorced.", "Never again.", "Paula is pregnant.", "Dad died.", "Hm!")
    told = summarize(journal(*said, every=timedelta(hours=1)), 2 * len(" ".join(said)))
    assert all(text.rstrip(".!").split()[-1] in told for text in said)


def test_it_is_told_in_the_order_of_time() -> None:
    """O27: with dates as exact as there is room for, and whom it is about named once for each."""
    for budget, periods in ((900, ["2023-05-08", "2023-06-17", "2023-07-27", "2023-09-05"]), (420, ["2023"])):
        told = summarize(list(reversed(journal(*TALK))), budget)
        assert PERIOD.findall(told) == periods
        assert told.count("Melanie: ") == len(periods)
        places = [told.index(word) for word in ("support group", "4 years", "adoption agencies")]
        assert places == sorted(places)


@pytest.mark.parametrize(
    ("text", "again", "both"),
    [
        ("The nightly backup of the mailer is complete.", "Nightly backup of the mailer is complete!", False),
        ("Reviewed PR 260 for the mailer team.", "Reviewed PR 480 for the mailer team.", True),
        ("Anna likes the blue office chairs.", "Bruno likes the blue office chairs.", True),
        ("The deploy to staging was approved.", "The deploy to staging was not approved.", True),
    ],
)
def test_only_what_says_the_same_is_merged(text: str, again: str, both: bool) -> None:
    """O27: near-duplicates become one, unless a number, a name or a "not" differs."""
    told = summarize(journal(text, again), 1000)
    assert (len(entries(told)) == 2) is both
    assert missing_key_facts(f"{text} {again}", told) == frozenset()


def test_what_differs_in_a_number_only_is_told_as_one() -> None:
    """O27: the words are told once, each number stays."""
    texts = [f"Ran the whole suite again today, {number} checks passed in a row." for number in range(20, 30)]
    told = summarize(journal(*texts, every=timedelta(hours=1)), 120)
    assert "20, 21, 22, 23, 24, 25, 26, 27, 28, 29 checks" in told


def test_a_kernel_does_not_turn_its_meaning_around() -> None:
    """O27: a negation goes where its word goes."""
    filler = "The long meeting about the quarterly planning went on and on without any end in sight for anybody."
    told = summarize(
        journal(f"Bob: I couldn't agree more with Tina. {filler}", "Bob: The 5 of 7 tests do not pass."), 90
    )
    assert "agree more" in told or "agree" not in told
    assert "not pass" in told or "pass" not in told


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Mara is not allergic to nuts, she is allergic to shellfish.", "not allergic to nuts"),
        ("Ada paid 30 euros for the kayak, not 40, and went home.", "not 40"),
        ("The old server has moved and is no longer in Dublin.", "no longer in Dublin"),
        ("Please don't call Ben, he is asleep by then.", "don't call Ben"),
        ("Our team does not depend on Redis, it seems to me.", "not depend on Redis"),
    ],
)
def test_a_negation_goes_with_what_it_denies(text: str, kept: str) -> None:
    """O27: not only with its verb: "not allergic to" says nothing."""
    told = summarize(
        [*journal(text), *(DatedText(f"Text about Oslo in 2024, number {n}.", DAY) for n in range(20))], 170
    )
    assert kept in told


def test_a_summary_can_be_summarized_again() -> None:
    """O28: a summary of summaries puts nothing beside what it did not belong to."""
    records = background(5, 300)
    first, second = (summarize(half, 4000) for half in (records[:150], records[150:]))
    both = [DatedText(first, records[149].at), DatedText(second, records[-1].at)]
    again = summarize(both, 3000)
    assert len(again) <= 3000
    assert measured_against(both, again) == []
    assert summarize([DatedText(first, DAY)], len(first) + 200).count("(20") == first.count("(20")
    assert missing_key_facts(first, summarize([DatedText(first, DAY)], len(first) + 200)) == frozenset()


def measured_against(before: list[DatedText], told: str) -> list[str]:
    """The numbers that stand in no clause of the source with the words that they stand with now."""
    stood = [set(re.sub("[,.:]", " ", text).split()) for item in before for text in entries(item.text)]
    wrong = []
    for entry in entries(told):
        words = set(re.sub("[,.:]", " ", entry).split())
        numbers = {word for word in words if word.isdigit() and len(word) > 2}
        wrong += [entry for number in numbers if not any(number in one and len(one & words) > 1 for one in stood)]
    return wrong


def test_pairs_survive_on_a_made_up_journal() -> None:
    """O27: at a fifth of the size most pairs stand, and no number belongs to another thing."""
    kept = measure(background(0, 300), 20)
    assert kept.kept.total() >= 0.8 * kept.pairs.total()
    assert kept.made_up == 0


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "我昨天在北京买了3本书\uff0c没有买咖啡。我的妹妹住在上海\uff0c她不喜欢猫。会议在下午5点。" * 2,
            "没有买咖啡",
        ),
        ("Ich habe in Berlin 3 Bücher gekauft. Die Miete kostet 940 Euro im Monat und nicht mehr.", "940 Euro"),
        ("ذهبت أمس إلى القاهرة واشتريت 3 كتب جديدة. أنا لا أحب القهوة في الصباح.", "3 كتب"),
        ("昨日、東京で友達に会いました。会議は15時からです。コーヒーは飲まない。", "15時"),
    ],
)
def test_other_languages_keep_what_they_can(text: str, kept: str) -> None:
    """O27"""
    assert kept in summarize(journal(text), 70)
    assert kept in summarize(journal(text), 1000)


def test_more_than_can_be_weighed_at_once_is_summarized_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """O28: the size holds, however many there are, and every part of the time is told of."""
    monkeypatch.setattr(module, "MAX_BATCH_CHARS", 5_000)
    records = background(3, 600)
    told = summarize(records, 4_000)
    assert len(told) <= 4_000
    assert all(f"({records[at].at:%Y-%m}" in told or f"({records[at].at:%Y})" in told for at in (0, 300, -1))
    huge = [DatedText("Anna paid 300 euros. " + "word " * 3000, DAY), DatedText("Bob has 2 cats. " * 900, DAY)]
    assert len(summarize(huge, 7_000)) <= 7_000


@given(
    st.lists(st.text(st.sampled_from("abc AN.;:!?()\n0159-'\u2019没不ل\u00e4\x00"), max_size=80), max_size=12),
    st.integers(0, 400),
)
def test_any_text_keeps_the_budget(texts: list[str], budget: int) -> None:
    """O28: whatever it is given, and given again."""
    items = journal(*texts)
    told = summarize(items, budget)
    assert len(told) <= budget
    assert told == summarize(items, budget)
    assert len(summarize([DatedText(told, DAY)], budget)) <= budget


def test_order_of_the_same_moment_and_chance_change_nothing() -> None:
    records = background(4, 200)
    shuffled = Random(1).sample(records, len(records))
    assert summarize(shuffled, 3000) == summarize(records, 3000)
    assert summarize([], 100) == summarize(records, 0) == ""


# Key facts


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Caroline: moved four years ago.", {("name", "caroline"), ("number", "4")}),
        ("We met Anna on 7 May 2023.", {("name", "anna"), ("number", "7"), ("date", "may"), ("number", "2023")}),
        ("It may rain on 2026-03-05.", {("date", "2026-03-05")}),
        ("He can't swim, and never dives.", {("negation", "not swim"), ("negation", "not dives")}),
        ("Paid $1,200.50 for v2.3.1.", {("number", "$1,200.50"), ("number", "v2.3.1")}),
        ("Dr. Smith has 2 cats.", {("name", "smith"), ("number", "2")}),
        ("Nothing new today", {("negation", "not new")}),
        ("They like old trains.", set()),
        ("她不喜欢猫。", {("negation", "not 她不喜欢猫")}),
    ],
)
def test_key_facts(text: str, found: set[tuple[str, str]]) -> None:
    """O27: numbers, names, dates and negations."""
    assert {tuple(fact) for fact in key_facts(text)} >= found
    assert len(key_facts(text)) <= len(found) + 1


def test_missing_names_what_was_lost() -> None:
    """O27: the loss guard sees a lost number, name and negation, not another order or spelling."""
    text = "Caroline: I don't eat meat. We moved to Sweden four years ago."
    assert missing_key_facts(text, "Sweden: moved 4 years ago. Caroline: doesn't eat meat.") == frozenset()
    assert missing_key_facts(text, "Caroline: eats meat; moved years ago.") == {
        KeyFact("negation", "not eat"),
        KeyFact("name", "sweden"),
        KeyFact("number", "4"),
    }
