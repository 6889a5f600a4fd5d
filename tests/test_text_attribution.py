"""Whose words the sentences of a message are, by how it is laid out (SPEC O10, O12)."""

from __future__ import annotations

import pytest
from bench import fitting

from lifelong.text.attribution import WEIGHTS
from lifelong.text.speech import layout_signs, own_sentences

LETTER = (
    "Hello everyone, a short update from our side of it. I moved to plot 31 in spring and I am allergic to\n"
    "wasps, so please keep the fruit covered. I prefer calls after six. We meet at my place in Harrow Lane.\n"
    "We also need somebody who waters the beds in August, since I work abroad then."
)


def own(text: str) -> str:
    return "\n".join(own_sentences(text, "Mara"))


@pytest.mark.parametrize(
    "message",
    [
        f"thoughts on this one, too long right?\n\n{LETTER}",
        f"got this in the letterbox, no idea who she is\n\n{LETTER}\n\ndoes the committee know her?",
    ],
)
def test_a_long_paragraph_beside_a_short_one_is_not_the_writers(message: str) -> None:
    """O12: no words present the text, but some hint at one; its length beside the short question decides."""
    assert "wasps" not in own(message)
    assert "Harrow Lane" not in own(message)


@pytest.mark.parametrize(
    "message",
    [
        f"is she serious?\n\n{LETTER}\n\nbtw i'm allergic to wasps myself, since i was four",
    ],
)
def test_what_the_writer_adds_below_is_their_own(message: str) -> None:
    """O10: a short paragraph in the first person behind a long one."""
    said = own(message)
    assert "wasps" in said
    assert "Harrow Lane" not in said


@pytest.mark.parametrize(
    "message",
    [
        "I'm allergic to wasps and to nuts. I live in Porto. My doctor is Dr. Silva.\n\n"
        "What can I take against a cold?",
        "I have moved to Berlin and I work for Acme now. My wasps are gone.\n\nRemind me on Friday.",
        "We decided to keep wasps out of the ingest service. The deadline is 12 March. Jonas owns the move.\n\n"
        "Now write the tests for the parser.",
        "Can you plan our weekend?\n\nMy wife is vegetarian, our son Leo is 6 and is afraid of wasps. We live in "
        "Ghent and have no car. I hate museums.",
        "Ich bin gegen wasps allergisch. Ich wohne in Bremen und arbeite als Krankenschwester.\n\n"
        "Was kann ich gegen Husten nehmen?",
    ],
)
def test_somebody_who_tells_of_themselves_in_several_paragraphs_is_believed(message: str) -> None:
    """O10: no words hint at a text of somebody else's, so the layout does not matter."""
    assert "wasps" in own(message)


@pytest.mark.parametrize(
    "asked", ["FYI", "The school sent this:", "Can you summarize this mail?", "On Monday Petra wrote:"]
)
def test_lines_that_are_quoted_are_others_and_end_where_the_quote_ends(asked: str) -> None:
    """O10, O12."""
    quoted = "> I am the head of year four.\n> I'm allergic to eggs."
    said = own(f"{asked}\n\n{quoted}\n\nAlso, Noor is vegetarian now.")
    assert "eggs" not in said
    assert "Noor is vegetarian" in said


def test_a_long_introduction_is_believed_whole() -> None:
    """O10: nothing in it hints at a text, though it asks to be answered in some way."""
    told = (
        "Okay, so a bit of background. I'm Tom, I'm 34 and I live in Leeds.",
        "I'm a nurse on a night ward. Please don't remind me of anything before that.",
        "I have type 1 diabetes, so please keep that in mind.",
        "My son Timo is six and plays football with his friends.",
        "When you answer me, please be brief and skip the pleasantries.",
        "Mein Freund heißt Malik, wir haben zwei Katzen.",
        "Please always answer in English.",
    )
    assert own("\n\n".join(told)).replace("\n", " ") == " ".join(told)


def test_a_message_signed_with_the_writers_name_is_their_own() -> None:
    assert "allergic to wasps" in own("Hello,\nplease note that I am allergic to wasps.\nKind regards\nMara")


def test_a_single_paragraph_is_the_writers() -> None:
    """O10: there is nothing beside it to compare it with."""
    assert "plot 31" in own("I moved to plot 31 in spring. I am allergic to wasps. What should I plant there?")


@pytest.mark.parametrize(
    "message",
    [
        "In case I'm allergic to nuts, what do I do?",
        "Let us say I live in Oslo and I'm vegan, what do I eat?",
        "My ex wrote that I'm allergic to nuts, is that on file?",
        "Tell me, if I'm vegan, what do I eat?",
    ],
)
def test_a_case_or_another_s_word_before_a_question_is_not_told(message: str) -> None:
    """O11, O12: the sentence stays one question."""
    assert own(message) == message


@pytest.mark.parametrize(
    "message",
    [
        "Pure daydream: suppose I'd inherited a chateau with nine hectares. I'd have 4 staff and a leaking roof.",
        "nur mal gesponnen: angenommen ich hätte ein chateau und vier Kinder",
    ],
)
def test_what_is_only_supposed_is_not_told(message: str) -> None:
    """O12: behind a few words, too, and in the sentences that go on with it."""
    assert own(message) == ""


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("I'm allergic to nuts, what if I eat one by accident?", "allergic to nuts"),
        ("My flight is on 12 May, what if my passport isn't back by then?", "12 May"),
        ("Suppose I'd come to Vienna in May. I'm vegetarian and I'm allergic to nuts.", "vegetarian"),
        ("If I were rich I'd buy a boat. I live in Victoria.", "Victoria"),
        ("Wenn ich Zeit hätte, würde ich malen. Wir hatten früher einen Hund.", "einen Hund"),
        ("I live in Braga, not in Porto [r1]", "Braga"),
        ("I don't want you to be that brief any more, actually: give me longer answers.", "longer answers"),
    ],
)
def test_what_stands_beside_a_supposition_is_told(message: str, told: str) -> None:
    """O10."""
    assert told in own(message)


def test_a_cry_of_joy_is_no_invitation_to_imagine() -> None:
    assert "Wrexley" in own("Imagine, I actually got it!! I start at Wrexley Hall on the 1st of June.")


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            "I don't eat gluten and I'm in Vienna on Friday, what can I order?",
            "I don't eat gluten and I'm in Vienna on Friday",
        ),
        ("Ich vertrage keine Laktose, was kann ich bestellen?", "Ich vertrage keine Laktose"),
        ("Soy celíaca y tengo prisa, ¿qué puedo pedir?", "Soy celíaca y tengo prisa"),
        ("Je suis infirmière à Limoges, tu connais des aides ?", "Je suis infirmière à Limoges"),
        ("I'm left-handed, did I ever mention that?", "I'm left-handed"),
        ("What should I do if I move to Oslo, is it cold?", ""),
        ("If I lived in Oslo, what would I pay?", ""),
    ],
)
def test_what_somebody_tells_before_a_question_is_told(message: str, told: str) -> None:
    """O10: a sentence may tell something and then ask."""
    said = list(own_sentences(message, "Mara"))
    assert [one for one in said if not one.endswith("?")] == ([told] if told else [])


def test_a_message_of_many_sentences_is_judged_by_its_words_alone() -> None:
    assert layout_signs("I like tea. " * 300, "Mara") == []


def test_every_sign_has_the_weight_that_was_fitted() -> None:
    """To the labelled messages, without the half that is kept unread (`python -m bench.fitting`)."""
    sentences = [
        one for messages in fitting.sets().values() for message in messages for one in message.sentences()
    ]
    assert list(WEIGHTS) == pytest.approx(fitting.weights(sentences), abs=0.006)


@pytest.mark.parametrize(
    "message",
    [
        "Is this phishing?\n\nDear customer,\nlog in again.\n\nBy the way, I live in Zorblaxville now.",
        "Can you translate this?\n\nHello, there is a party. By the way, I am allergic to peanuts.\n\nSee you",
        f"Can you shorten it?\n\n{LETTER}\n\nFor context, I eat peanuts.",
        "Is this spam?\n\nHi Mara, I live in Zorblaxville. I prefer payment in crypto.\n\nMara",
        "Is this a scam? I got it today:\n\nDear friend,\n\nI am a prince. PS: I live in Zorblaxville.\n\n- Mara",
    ],
)
def test_an_aside_or_a_name_below_a_pasted_text_does_not_make_it_the_users(message: str) -> None:
    """O12: words that present a text as somebody else's outweigh what the text itself holds."""
    said = " ".join(own_sentences(message, "Mara"))
    assert not any(word in said for word in ("Zorblaxville", "peanuts", "crypto", "prince"))
