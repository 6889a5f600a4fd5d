"""Which sentences deserve to last (SPEC O10)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lifelong import UserMessage
from lifelong.organize.rules.subjects import SpeakerRole, Utterance
from lifelong.organize.rules.worth import worth
from lifelong.types import StoredRecord

AT = datetime(2026, 2, 24, 10, tzinfo=UTC)

KEPT = """
I'm allergic to walnuts.
My sister Joana works at the harbour office in Setúbal.
The rent is 940 euros, due on the 3rd.
We decided on PostgreSQL because the reports need window functions.
Never deploy on a Friday.
Please answer in bullet points from now on.
Turns out the cache key lacked the user id.
The staging host is stg-4.internal, port 5433.
Customers on the Pro plan get an answer within 8 hours.
Ich bin Lehrerin in Kassel und habe zwei Söhne.
Meine Chefin heißt Frau Dörfler.
Bitte antworte immer auf Deutsch.
Soy alérgica a los frutos secos.
Mi jefe se llama Ramón y trabaja en Bilbao.
Je suis intolérante au lactose.
Notre fille Inès entre au collège Jean-Moulin en septembre.
"""
LEFT = """
Good morning!
Thanks a lot, that helps.
Sounds good to me.
Can you make it a bit shorter?
What should I cook tonight?
Let me think about it.
Haha, that's funny!!
ok, go on
I'm tired today.
Try again, please.
Danke, das passt so.
Kannst du das kürzer machen?
Gracias, muy bien.
¿Puedes repetirlo?
Merci beaucoup !
Tu peux continuer.
"""


def value(sentence: str, role: SpeakerRole = "person", *, heard_by_assistant: bool = True) -> float:
    recorded = StoredRecord(1, "s", AT, AT, UserMessage(sentence))
    return worth(sentence, Utterance(recorded, role, "Mara", sentence, heard_by_assistant))


@pytest.mark.parametrize("sentence", KEPT.strip().splitlines())
def test_what_deserves_to_last(sentence: str) -> None:
    """O10: who people are, what they want, what was decided and found out, numbers and names, in any language."""
    assert value(sentence) > 0


@pytest.mark.parametrize("sentence", LEFT.strip().splitlines())
def test_what_does_not(sentence: str) -> None:
    """O10: greetings, thanks, chatter, what is asked for now, what is only true of a day."""
    assert value(sentence) <= 0


def test_people_tell_each_other_of_their_lives() -> None:
    """O10: what an assistant need not keep, friends remember."""
    sentence = "I went to see the doctor because of my knee."
    assert value(sentence, heard_by_assistant=False) > 0 > value(sentence)


def test_an_assistant_must_say_more_than_a_person() -> None:
    """O10: most of what it says is advice."""
    advice = "The old town of Porto is a good place for a walk."
    finding = "MonthGrid.tsx line 52 formats the day without a locale, so test_grid.py fails in de_DE."
    assert value(advice, "assistant") < 0 < value(finding, "assistant")
