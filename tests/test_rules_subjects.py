"""Who speaks in a transcript, and whom and what it is about (SPEC O8, O10, O12)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lifelong import AssistantMessage, Note, SystemMessage, ToolCall, ToolResult, UserMessage
from lifelong.organize.organizer import Transcript
from lifelong.organize.rules.subjects import Utterance, find_subjects, find_utterances, leading_name
from lifelong.types import Record, StoredRecord

AT = datetime(2026, 2, 24, 10, tzinfo=UTC)


def utterances(*records: Record, foreground: bool = True, address: str = "mara") -> list[Utterance]:
    stored = tuple(StoredRecord(n, "s", AT, AT, one) for n, one in enumerate(records, 1))
    return find_utterances(Transcript("default", "a", "s", 0, len(stored), "", stored, foreground, address))


def people(*texts: str) -> dict[str, str]:
    return find_subjects(utterances(*(UserMessage(text) for text in texts))).people


def test_who_speaks() -> None:
    """O8, O12: a person is trusted about themselves; what a tool or a page says is data, whoever passes it on; an
    assistant with a name is an assistant."""
    found = utterances(
        UserMessage("a"),
        UserMessage("b", "Ben"),
        UserMessage("c", provenance="web"),
        AssistantMessage("d"),
        AssistantMessage("e", "Joana"),
        ToolCall("shell"),
        ToolResult("f"),
        Note("g", provenance="user"),
        SystemMessage("h"),
        SystemMessage("i", summary=True),
    )
    assert [(one.text, one.role, one.speaker) for one in found] == [
        ("a", "person", "Mara"),
        ("b", "person", "Ben"),
        ("c", "data", ""),
        ("d", "assistant", "Assistant"),
        ("e", "assistant", "Assistant"),
        ("f", "data", ""),
        ("g", "person", "Mara"),
        ("h", "host", "Host"),
    ]


def test_who_speaks_where_no_person_does() -> None:
    """O10: what a host tells an agent are its instructions."""
    found = utterances(UserMessage("a"), AssistantMessage("b"), Note("c"), foreground=False)
    assert [(one.role, one.speaker) for one in found] == [("host", "Host"), ("agent", "Agent"), ("agent", "Agent")]


@pytest.mark.parametrize(
    ("address", "speaker", "name"),
    [
        ("mara", "", "Mara"),
        ("U0451", "", "U0451"),
        ("default", "", "User"),
        ("user", "", "User"),
        ("mara", "Mara\tSilva", "Mara Silva"),
        ("mara", "Ann, [the] Bob", "Ann the Bob"),
        ("mara", "[]", "Mara"),
        ("mara", "sk-ant-api03-AbCdEf0123456789xyzXYZ", "Mara"),
    ],
)
def test_how_somebody_is_called(address: str, speaker: str, name: str) -> None:
    """O8, S4: as the bracket of a quote can hold it; a secret is nobody's name."""
    assert utterances(UserMessage("a", speaker), address=address)[0].speaker == name


def test_whom_an_assistant_hears() -> None:
    """O10: two people who talk to each other talk otherwise than one to an assistant."""
    among, beside = (UserMessage("a", "Ann"), UserMessage("b", "Bob")), AssistantMessage("c")
    assert not any(one.heard_by_assistant for one in utterances(*among))
    assert all(one.heard_by_assistant for one in utterances(*among, beside))
    assert utterances(UserMessage("a"))[0].heard_by_assistant


def test_the_question_before_an_answer() -> None:
    """O8: the last one of whoever spoke before."""
    asked = AssistantMessage("All booked. Aisle or window?")
    found = utterances(asked, UserMessage("Aisle."), UserMessage("And a meal."))
    assert [(one.question, one.asked_by) for one in found] == [
        ("", ""),
        ("Aisle or window?", "Assistant"),
        ("", ""),
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("My sister Mia lives in Berlin.", "Mia"),
        ("Our neighbour Hakan was born in Izmir.", "Hakan"),
        ("I married Jonas in 2019.", "Jonas"),
        ("Priya called from Rome. Priya wants tea.", "Priya"),
        ("Ana Ferreira is our accountant.", "Ana Ferreira"),
    ],
)
def test_who_is_a_person(text: str, name: str) -> None:
    """O8: one that the talk shows to be one, known by each of their names."""
    found = people(text)
    assert found[name] == name
    assert found[name.partition(" ")[0]] == name


@pytest.mark.parametrize(
    "text",
    [
        "Tejo Ferries wants live delays, and it needs them in May.",
        "New York is cold. Visual Studio has 3 windows.",
        "Project Kestrel needs a new owner.",
        "Lisbon has four hills that I like.",
        "Android needs a new build, I said so in April.",
        "Yesterday was the day I sold the van.",
        "The Frau Holle story is old.",
    ],
)
def test_who_is_not(text: str) -> None:
    """O8: a place, a product, a company, a day."""
    assert set(people(text)) <= {"Mara"}


def test_two_people_of_one_first_name_stay_two() -> None:
    """O11: the first name alone means neither of them."""
    found = people("Ana Ferreira is our accountant.", "Ana Lund is our vet.")
    assert found["Ana Ferreira"] == "Ana Ferreira"
    assert found["Ana"] == "Ana"


def test_projects_are_known_by_how_they_are_spoken_of() -> None:
    """O8."""
    found = find_subjects(utterances(UserMessage("Project Heron is late. The beta of Kestrel is out.")))
    assert found.projects == {"Heron", "Kestrel"}
    assert found.project_in("Is Heron's logo blue?") == "Heron"
    assert found.project_in("A heron is a bird.") == ""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Mia lives in Berlin.", "Mia"),
        ("Mia's flat is in Berlin.", "Mia"),
        ("Ana Ferreira: 14 days of leave.", "Ana Ferreira"),
        ("The flat is in Berlin.", ""),
        ("Monday is fine.", ""),
        ("mia lives in Berlin.", ""),
        ("Nice!", ""),
    ],
)
def test_the_name_a_sentence_begins_with(text: str, name: str) -> None:
    """O8: whom it is about."""
    assert leading_name(text) == name
