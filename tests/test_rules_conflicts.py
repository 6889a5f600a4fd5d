"""Which facts repeat, replace or stand beside each other (SPEC O10, O11).

The pairs of the first two tables were written after the weights had been fitted, and `test_bench_data.py` checks
that no fitted file holds one of their sentences.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from lifelong.organize.rules.conflicts import (
    MAX_KEY_CHARS,
    MAX_KEYS,
    MIN_LIKELIHOOD,
    MIN_LIKELIHOOD_IN_CHAT,
    compare,
    keys,
    supersession_likelihood,
)
from lifelong.organize.rules.features import analyze_fact

SUPERSEDES = """
Ottilie lives in Tartu above a bakery. | Ottilie moved to Pärnu last week.
The tool shed is behind the chapel. | The tool shed is beside the mill now.
Bashir works as a welder at the shipyard. | Bashir works as an instructor at the trade school.
Bashir works for the harbour authority. | Bashir left the harbour authority.
Wilhelmina is an assistant librarian. | Wilhelmina was promoted to head librarian.
The newsletter is called Driftwood. | The newsletter was renamed to Tidemark.
Ottilie plans a hike on Ben Nevis in June. | The hike on Ben Nevis is cancelled.
The rehearsal is on 12 April 2026. | The rehearsal was moved to 19 April 2026.
The grant application is due on 8 August. | Correction: the grant application is due on 18 August.
The leak is in the boiler. | The leak is in the radiator, not in the boiler.
Tadeusz smokes a pipe after dinner. | Tadeusz no longer smokes a pipe.
Tadeusz owns a canoe. | Tadeusz doesn't own a canoe anymore.
Wilhelmina is allergic to shellfish. | Wilhelmina is not allergic to shellfish.
Ottilie likes liquorice. | Ottilie can't stand liquorice.
Bashir's salary is 3,100 euros. | Bashir's salary went up to 3,400 euros.
The orchestra has forty players. | The orchestra has fifty-two players.
Yusra prefers rye bread. | Yusra prefers sourdough.
Yusra's favourite season is autumn. | Yusra's favourite season is spring.
Tadeusz is engaged to Roksana. | Tadeusz and Roksana split up.
Yusra's landlord is Mr Abernathy. | Yusra's new landlord is Mrs Okoye.
Ludovic coaches the under-12 side. | Henrike coaches the under-12 side.
The ferry is out of service. | The ferry is running again.
The bakery decided to use oat flour. | The bakery switched from oat flour to spelt flour.
Ottilie is going to sell the caravan. | Ottilie decided not to sell the caravan.
The greenhouse opens at eight. | The greenhouse opens at nine.
Bashir drives a grey Volvo. | Bashir sold the Volvo and drives a Dacia now.
Yusra takes the tram to work. | Yusra cycles to work now.
The choir meets on Tuesdays. | The choir meets on Wednesdays from now on.
Tadeusz weighs 91 kilos. | Tadeusz weighs 84 kilos now.
Ludovic is studying geology. | Ludovic dropped out of geology.
The report is a draft. | The report was published.
Wilhelmina's phone number ends in 4471. | Wilhelmina's phone number ends in 9082 now.
"""

DIFFERENT = """
Ottilie lives in Tartu. | Ottilie's cousin lives in Pärnu.
Bashir works at the shipyard. | Bashir volunteers at the animal shelter.
Yusra likes rye bread. | Yusra likes liquorice, too.
Tadeusz owns a canoe. | Tadeusz owns a tent.
The choir meets on Tuesdays. | The chess club meets on Wednesdays.
The rehearsal is on 12 April 2026. | The concert is on 19 April 2026.
Wilhelmina is allergic to shellfish. | Wilhelmina is allergic to walnuts.
Ottilie plans a hike on Ben Nevis. | Ottilie plans to paint the porch.
Bashir's salary is 3,100 euros. | Bashir's rent is 800 euros.
The greenhouse opens at eight. | The greenhouse has two hundred orchids.
Ludovic is studying geology. | Ludovic is learning Basque.
Yusra's landlord is Mr Abernathy. | Yusra's dentist is Mrs Okoye.
Tadeusz is engaged to Roksana. | Tadeusz had lunch with Henrike.
Ottilie lives in Tartu. | Ottilie spent a weekend in Riga.
Bashir drives a grey Volvo. | Bashir's wife drives a Dacia.
The leak is in the boiler. | The plumber comes on Monday.
Yusra takes the tram to work. | Yusra is thinking of buying a bicycle.
The orchestra has forty players. | The orchestra played in Ghent.
Wilhelmina is head librarian. | Wilhelmina reads a novel a week.
The newsletter is called Driftwood. | The newsletter has 900 readers.
Ludovic coaches the under-12 side. | Henrike coaches the under-16 side.
Tadeusz weighs 91 kilos. | Tadeusz's dog weighs 12 kilos.
The ferry leaves at noon. | The ferry costs nine euros.
Ottilie was born in Narva. | Ottilie works in Tallinn.
The report is a draft. | The budget was published.
Yusra drinks mint tea. | Yusra baked a plum cake.
Bashir speaks Pashto. | Bashir speaks Portuguese.
Wilhelmina has a sister. | Wilhelmina has a nephew.
The bakery uses spelt flour. | The bakery hired an apprentice.
Ludovic hurt his knee on Friday. | Ludovic saw a play on Saturday.
"""

SAME = """
Mara lives in Porto. | Mara lives in Porto.
Mara lives in Porto. | Mara is living in Porto.
Mara has two brothers. | Mara has 2 brothers.
Mara lives in Porto with her dog. | Mara lives in Porto.
The release ships on 20 May. | On 20 May the release ships.
Mara doesn't eat meat. | Mara does not eat meat.
"""


def pairs(table: str) -> list[tuple[str, str]]:
    return [
        (old.strip(), new.strip()) for old, _, new in (line.partition("|") for line in table.strip().splitlines())
    ]


def verdicts(text: str) -> dict[str, str]:
    """Each pair, as the one whom the older sentence begins with says it."""
    return {f"{old} | {new}": compare(old, new, old.split()[0].removesuffix("'s")) for old, new in pairs(text)}


def test_a_newer_fact_takes_the_place_of_the_one_it_contradicts() -> None:
    """O11: another value, an end, a denial or a correction supersedes. 30 of these 32 did at first sight."""
    wrong = [pair for pair, verdict in verdicts(SUPERSEDES).items() if verdict != "supersedes"]
    assert len(wrong) <= 2, wrong


def test_what_can_be_true_at_once_stands_side_by_side() -> None:
    """O11: a fact is not ended by one about another thing, another time or a mere thought. At first
    sight none of these 30 was."""
    wrong = [pair for pair, verdict in verdicts(DIFFERENT).items() if verdict != "independent"]
    assert wrong == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("PR 260 is merged.", "PR 480 is merged."),
        ("Room 12 has 30 seats.", "Room 14 has 18 seats."),
        ("The crawl of 11 February fetched 1,204 pages.", "The crawl of 12 February fetched 1,377 pages."),
        ("Mara lives in Porto. She has two cats there.", "Mara moved to Lisbon."),
        ("Mara lives in Porto.", f"Mara moved to Lisbon{', and then on' * 20}."),
    ],
)
def test_what_is_told_apart_or_too_long_is_never_ended(old: str, new: str) -> None:
    """O11: another number is another thing; a fact that says more than one thing is not over with one of them."""
    assert compare(old, new, "Mara") == "independent"


def test_how_sure_it_must_be_depends_on_who_talks() -> None:
    """O11: people who chat with each other must be clearer."""
    before, after = analyze_fact("Mara lives in Porto."), analyze_fact("Mara moved to Lisbon.")
    sure = supersession_likelihood(before, after, "mara")
    assert compare("Mara lives in Porto.", "Mara moved to Lisbon.", "Mara", sure - 0.01) == "supersedes"
    assert compare("Mara lives in Porto.", "Mara moved to Lisbon.", "Mara", sure + 0.01) == "independent"
    assert MIN_LIKELIHOOD < MIN_LIKELIHOOD_IN_CHAT


@pytest.mark.parametrize(("old", "new"), pairs(SAME))
def test_what_was_said_before_is_the_same(old: str, new: str) -> None:
    """O11: a repetition is merged."""
    assert compare(old, new) == "same"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Mara's sister lives in Porto.", "Mara lives in Porto."),
        ("Ingrid reports to Mara.", "Mara reports to Ingrid."),
        ("The build server is up.", "The build server is down."),
        ("Mara moved from Porto to Lisbon.", "Mara moved from Lisbon to Porto."),
        ("Mara eats fish but not meat.", "Mara does not eat fish."),
        ("The rent is $900.", "The rent is €900."),
        ("Mara lives in Porto.", "Mara will live in Porto."),
    ],
)
def test_what_says_something_else_is_never_the_same(old: str, new: str) -> None:
    """O11: whose it is, which way it goes and what is denied tell facts apart."""
    assert compare(old, new, "Mara") != "same"
    assert compare(new, old, "Mara") != "same"


@pytest.mark.parametrize(
    "news",
    [
        "Mara switched to an electric toothbrush.",
        "Mara retired.",
        "Mara changed dentists.",
        "Mara moved to Braga.",
    ],
)
@pytest.mark.parametrize("fact", ["Mara is married to Paul.", "Mara speaks French.", "Mara's cat is called Tom."])
def test_news_of_something_else_ends_nothing(fact: str, news: str) -> None:
    """O11, S7: two facts that share neither a word nor a domain stand side by side."""
    assert compare(fact, news, "Mara") == "independent"


@pytest.mark.parametrize(("old", "new"), pairs(SUPERSEDES) + pairs(SAME))
def test_facts_that_meet_share_a_key(old: str, new: str) -> None:
    """O11: the older fact is found by a key of the newer one, without reading all."""
    assert keys(old) & keys(new)


def test_keys_are_few_and_tell_things_apart() -> None:
    """O11: a lookup stays small."""
    for old, new in pairs(SUPERSEDES) + pairs(DIFFERENT):
        assert 0 < len(keys(old)) <= MAX_KEYS
        assert all(0 < len(key) <= MAX_KEY_CHARS for key in keys(new))
    assert not keys("Mara lives in Porto.") & keys("Tom prefers tea.")
    assert keys("Mara lives in Porto.") & keys("Mara prefers tea.") == {"mara"}


@pytest.mark.parametrize("word", ["a", "a-", "not ", "prefers a ", "left ", "1,", "' ", "é ", "no longer ", "\n"])
def test_hostile_text_is_read_as_far_as_it_goes(word: str) -> None:
    """O11: a sentence of 100,000 characters takes no longer than it has to, and is never taken apart wrongly."""
    hostile = (word * 100_000)[:100_000]
    assert compare(hostile, hostile + "b") == "independent"
    assert compare(hostile, hostile) == "same"
    assert len(keys(hostile)) <= MAX_KEYS
    assert all(len(key) <= MAX_KEY_CHARS for key in keys(hostile))
    compare("Mara lives in Porto.", hostile[:600])


@pytest.mark.parametrize("text", ["", "?", "Rex", "42", "—", "Mara", "is", "There is", "Correction:", "'s", "not"])
def test_what_is_no_sentence_does_no_harm(text: str) -> None:
    """O11: anything can be asked about, and replaces nothing."""
    assert compare("Mara lives in Porto.", text) != "supersedes"
    assert compare(text, "Mara lives in Porto.") == "independent"
    assert compare(text, text) == "same"
    keys(text)


def test_keys_do_not_depend_on_the_process() -> None:
    """O11: keys are stored, so every process finds the same ones."""
    sentence = "Mara's employer is Kestrel Freight in Leeds, and her job is driver of lorry 14 since May 2021."
    code = f"from lifelong.organize.rules.conflicts import keys; print(sorted(keys({sentence!r})))"
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True, text=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert runs == {f"{sorted(keys(sentence))}\n"}


def test_a_figure_within_a_name_is_no_number() -> None:
    """O11: "ID.3" is a car, and no news of a weight."""
    assert compare("Mo is down to 78 kg.", "Mo sold the Golf and bought an ID.3.", "Mo") == "independent"


@pytest.mark.parametrize("name", ["u1", "cust_881", "Priya Nair", "Ann-Marie"])
def test_a_name_of_several_parts_leads_from_nothing_to_nothing(name: str) -> None:
    """O11: what two facts have in common is not the name of the one who made both."""
    booked, moved = (
        "{} would rather order catering from Mezze.",
        "{} doesn't live in Cologne anymore, they moved to Bonn.",
    )
    assert compare(booked.format(name), moved.format(name), name) == compare(
        booked.format("Eva"), moved.format("Eva"), "Eva"
    )
    assert compare(f"{name} lives in Porto.", f"{name} lives in Lisbon now.", name) == "supersedes"
