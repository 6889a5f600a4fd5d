"""R5: what is the same experience, and what only looks like it."""

from __future__ import annotations

import pytest
from bench.uniqueness import Half, halves, outcome

from lifelong.models.embedders.static import StaticEmbedder
from lifelong.recall.dedup import calibrated, differs, embedder_word_match, is_same

SAME_MEANING = embedder_word_match(StaticEmbedder())


SAME = """
The kayak rental closes at dusk. | At dusk the kayak rental closes.
Ottilie is afraid of thunder. | Ottilie is scared of thunder.
The invoice bounced because the VAT number was missing. | Because the VAT number was missing, the invoice bounced.
Bashir has been vegan since 2019. | Since 2019 Bashir has been a vegan.
The chapel roof was repaired by Ludovic. | Ludovic repaired the chapel roof.
Yusra prefers trains to planes. | Yusra would rather take a train than a plane.
We decided to postpone the regatta. | The decision was to postpone the regatta.
The cache has to be cleared after each deploy. | After every deploy the cache must be cleared.
Henrike gave Tadeusz the key. | Tadeusz was given the key by Henrike.
The cellar floods when it rains heavily. | When there is heavy rain, the cellar floods.
Roksana plays the cello in a quartet. | Roksana is a cellist in a quartet.
The bridge is closed for repairs until May. | Until May the bridge is shut for repairs.
Wilhelmina bought a second-hand piano. | Wilhelmina purchased a used piano.
The nightly job crashed because of a full disk. | The nightly job failed, as the disk was full.
Ottilie's flight leaves at 6:40. | The flight that Ottilie takes leaves at 6:40.
Restarting the router fixed the connection. | The connection was fixed by restarting the router.
The museum is free on Sundays. | On Sundays the museum costs nothing.
Bashir speaks Pashto and Dari. | Bashir speaks Dari and Pashto.
Ludovic cannot eat gluten. | Ludovic can't eat gluten.
The greenhouse needs a new pane of glass. | A new pane of glass is needed in the greenhouse.
"""

LOOK_ALIKES = """
The kayak rental closes at dusk. | The kayak rental closes at dawn.
Ottilie is afraid of thunder. | Ottilie is not afraid of thunder.
Bashir has been vegan since 2019. | Bashir has been vegan since 2021.
Ludovic repaired the chapel roof. | Ludovic repaired the chapel door.
Yusra prefers trains to planes. | Yusra prefers planes to trains.
We decided to postpone the regatta. | We decided to cancel the regatta.
The cache has to be cleared after each deploy. | The cache has to be cleared before each deploy.
Henrike gave Tadeusz the key. | Tadeusz gave Henrike the key.
The cellar floods when it rains heavily. | The attic floods when it rains heavily.
Roksana plays the cello in a quartet. | Roksana plays the viola in a quartet.
The bridge is closed until May. | The bridge is closed until March.
Wilhelmina bought a piano. | Wilhelmina sold a piano.
The nightly job crashed because of a full disk. | The weekly job crashed because of a full disk.
Ottilie's flight leaves at 6:40. | Ottilie's flight lands at 6:40.
The museum is free on Sundays. | The museum is free on Mondays.
Bashir speaks Pashto and Dari. | Bashir speaks Pashto and Urdu.
Ludovic cannot eat gluten. | Ludovic can eat gluten.
The greenhouse needs a new pane. | The greenhouse needed a new pane.
The ferry holds 40 cars. | The ferry holds 14 cars.
Tadeusz moved from Graz to Linz. | Tadeusz moved from Linz to Graz.
The upper field is rented out. | The lower field is rented out.
The pump runs on diesel. | The pump runs on petrol.
Henrike is Ludovic's aunt. | Henrike is Ludovic's niece.
All of the hens were sold. | None of the hens were sold.
The loan is repaid monthly. | The loan is repaid yearly.
"""


def pairs(table: str) -> list[tuple[str, str]]:
    return [(one, other) for one, _, other in (line.partition(" | ") for line in table.strip().splitlines())]


FRESH: Half = {"same": pairs(SAME), "different": {"look-alike": pairs(LOOK_ALIKES)}}
"""Written when the rules were finished, and not used to change them."""


@pytest.mark.parametrize("half", [FRESH, halves()["held_out"]], ids=["fresh", "held_out"])
def test_few_are_merged_wrongly_and_few_are_missed(half: Half) -> None:
    """R5: false merges under 2 %, missed merges under 20 %, for pairs that the rules were not made with. A failure
    does not print their texts, so that nobody writes a rule for them."""
    found = outcome(half)
    wrong = [(one.kind, one.why) for one in found.wrong]
    assert found.false_merges < 2, wrong
    assert found.missed_merges < 20, wrong


def test_a_higher_threshold_merges_less() -> None:
    """R5: the setting keeps its meaning."""
    half = halves()["development"]
    missed = [outcome(half, threshold).missed_merges for threshold in (0.0, 0.5, 0.85, 0.95, 1.0)]
    assert missed == sorted(missed)
    assert missed[0] < missed[-1]


def test_the_order_of_two_texts_says_nothing() -> None:
    """R5."""
    for half in halves().values():
        every = [*half["same"], *(texts for some in half["different"].values() for texts in some)]
        for one, other in every:
            assert bool(differs(one, other, SAME_MEANING)) == bool(differs(other, one, SAME_MEANING)), (one, other)
            assert differs(one, one) == ""


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("Leo takes 50 mg every morning.", "Every morning Leo takes 100 mg.", "number"),
        ("The rent is eighty euros.", "The rent is ninety euros.", "number"),
        ("Tom moved to Lisbon.", "Tom moved to Porto.", "name or date"),
        ("We meet on Monday at the office.", "At the office we meet on Friday.", "name or date"),
        ("The certificate expires on 2026-09-01.", "The certificate expires on 2026-10-01.", "name or date"),
        ("The tests passed on Windows.", "The tests did not pass on Windows.", "negation"),
        ("The trip to the lake takes place.", "The trip to the lake was called off.", "negation"),
        ("Sales increased in the shop.", "Sales in the shop decreased.", "opposite"),
        ("Rosa told Ben about it.", "Ben told Rosa about it.", "direction"),
        ("Sven hired Karl.", "Sven was hired by Karl.", "direction"),
        ("From the server copy it to the laptop.", "Copy it from the laptop to the server.", "direction"),
        ("Diego lives in the house.", "Diego lived in the house.", "tense"),
        ("The kitchen window is broken.", "The kitchen door is broken.", "thing"),
        ("Maeve has a job in a shop.", "Maeve has a job in a shop that sells shoes to sailors.", "thing"),
        ("The trip takes 3 days.", "The trip takes 3 weeks.", "name or date"),
        ("His sister lives in the house.", "His brother lives in the house.", "name or date"),
        ("The window in the kitchen of the house is broken.", "The kitchen door of the house is broken.", "thing"),
        ("Ich esse Fleisch.", "Ich esse kein Fleisch.", "negation"),
        ("我有3只猫", "我有5只猫", "number"),
        ("我喜欢喝绿茶", "我不喜欢喝绿茶", "thing"),
        ("我们周一开会", "我们周五开会", "thing"),
        ("It stops after 30 s.", "It stops after 30 ms.", "number"),
        ("It is at -5 degrees.", "It is at 5 degrees.", "number"),
        ("The fee is 5 %.", "The fee is 5 €.", "number"),
        ("The price is $5.", "The price is €5.", "number"),
        ("Only admins can delete projects.", "Admins can delete only projects.", "limit"),
        ("The disks are encrypted.", "The disks are unencrypted.", "opposite"),
        ("Smoking rooms are upstairs.", "Non-smoking rooms are upstairs.", "opposite"),
        ("It was fixed upstream of the release.", "It was fixed downstream of the release.", "opposite"),
        ("The employee pays for it.", "The employer pays for it.", "opposite"),
        ("Sizes are given in megabytes.", "Sizes are given in gigabytes.", "thing"),
        ("The organ is in the museum.", "The organist is in the museum.", "thing"),
    ],
)
def test_what_differs_is_said(one: str, other: str, kind: str) -> None:
    """R5: a number, a name, a date, a negation, a direction."""
    assert differs(one, other, SAME_MEANING) == kind
    assert not is_same(one, other, 1.0, 0.0), "however near they are"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Rosa told Ben that it was cancelled.", "Ben was told by Rosa that it was cancelled."),
        ("Amira speaks Arabic, French and English.", "Amira speaks English, French and Arabic."),
        ("The fee is 1,200 euros.", "The fee is 1200 euros."),
        ("  The tests\nare flaky.", "The tests are flaky."),
        ("Maria lives in Rome with her kids.", "Maria resides in Rome with her children."),
        ("John is scared of spiders.", "John is afraid of spiders."),
        ("The fee is 5 euros.", "The fee is 5 €."),
        ("We decided to use the train.", "The decision was to use the train."),
        ("我喜欢喝绿茶。", "我喜欢 喝绿茶"),
        ("The build takes long to finish.", "It takes long for the build to complete."),
    ],
)
def test_the_same_in_other_words(one: str, other: str) -> None:
    """R5."""
    assert differs(one, other, SAME_MEANING) == ""


def test_cosines_of_the_bundled_model_are_brought_to_scale() -> None:
    """R5: 0 and 1 stay, order stays, and other embedders' cosines are taken as they are."""
    brought = [calibrated(cosine / 20, "static/x/256") for cosine in range(-20, 21)]
    assert brought == sorted(brought)
    assert calibrated(0.0, "static/x/256") == 0
    assert calibrated(1.0, "static/x/256") == 1
    assert calibrated(0.65, "static/x/256") == pytest.approx(0.85)
    assert calibrated(0.7, "bge/x/384") == 0.7
