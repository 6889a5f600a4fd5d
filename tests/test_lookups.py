"""R12: words, names, identifiers, paths, versions and error texts are found as they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from lifelong import Agent, AssistantMessage, Memory, Record, ToolResult, User, UserMessage
from lifelong.recall.ranking import WEIGHTS
from tests.conftest import OpenMemory

ROLES: dict[str, Callable[[str], Record]] = {
    "user": UserMessage,
    "assistant": AssistantMessage,
    "tool": ToolResult,
}

TALK = [
    "I had lunch with my cousin near the harbour.",
    "The build takes eleven minutes since the last merge.",
    "Could you move the meeting to Thursday?",
    "I prefer short answers, with the command first.",
    "My daughter starts school after the summer.",
    "The error log of the web server is empty today.",
    "We rate every proposal before the budget is fixed.",
    "The limit of the mailing list is two hundred people.",
    "Please rename the app before the release.",
    "The connection to the printer was lost again.",
    "Our max order is four boxes, the supplier wrote.",
    "I retry the recipe with less sugar tomorrow.",
    "The file for the tax office is nearly complete.",
    "There is a directory of dentists on the wall.",
    "The version of the story that she told was longer.",
    "The service at the restaurant was slow.",
]
"""What people say between the things that are looked up."""
ALIKE = [
    "src/app.py:7 is only a comment.",
    "src/main.py:42 is where it starts.",
    "E2210 is about blank lines.",
    "Save it as utf-8, not as utf-16.",
    "TW-219 is closed, TW-280 is not.",
    "The image before had libssl 1.1.1k.",
    "v2.4.0 went out on Monday, v2.3.1 before it.",
    "FileNotFoundError: no such file or directory: 'users.csv'",
    "min_connections is 2 everywhere.",
]
"""Near misses: another line, another number, a part of the name."""
HELD = [
    ("Kestrel", "Kestrel is what we call the new billing."),
    ("kestrel", "Kestrel is what we call the new billing."),
    ("Kestrel billing", "Kestrel is what we call the new billing."),
    ("src/app.py:42", "It stops at src/app.py:42 in the handler."),
    ("E2207", "The linter says E2207 and nothing else."),
    ("utf-8-sig", "Open the export with utf-8-sig, and the first column is right."),
    ("UTF8SIG", "Open the export with utf-8-sig, and the first column is right."),
    ("TW-218", "They follow that up in TW-218 next week."),
    ("TW218", "They follow that up in TW-218 next week."),
    ("tw 218", "They follow that up in TW-218 next week."),
    ("1.1.1w", "The image has libssl 1.1.1w now."),
    ("libssl 1.1.1w", "The image has libssl 1.1.1w now."),
    ("v2.4.1-rc1", "We tagged v2.4.1-rc1 by mistake."),
    ("RetryBudgetExceeded", "The upload ended in RetryBudgetExceeded after an hour."),
    ("retry budget exceeded", "The upload ended in RetryBudgetExceeded after an hour."),
    ("max_connections", "Set max_connections to 200 on the replica."),
    ("max connections", "Set max_connections to 200 on the replica."),
    (
        "no such file or directory: 'settings.yaml'",
        "FileNotFoundError: no such file or directory: 'settings.yaml'",
    ),
    ("settings.yaml", "FileNotFoundError: no such file or directory: 'settings.yaml'"),
    ("git rebase --onto", "Then I ran git rebase --onto trunk, which helped."),
]


def first(memory: Memory, query: str, **how: Any) -> str:
    hits = memory.search(query, 1, **how)
    return hits[0].text if hits else ""


def store(memory: Memory, agent: Agent, *texts: str, kind: Callable[[str], Record] = UserMessage) -> None:
    memory.append_many(agent, [kind(text) for text in texts])


@pytest.mark.parametrize("role", ROLES)
def test_what_is_written_is_found_first(memory: Memory, alice: Agent, role: str) -> None:
    """R12: among much talk and near misses, whoever said it, before and after there are vectors."""
    others = [make(text) for text in (*TALK, *ALIKE) for make in (UserMessage, AssistantMessage)]
    held = dict.fromkeys(text for _, text in HELD)
    memory.append_many(alice, [*others[::2], *(ROLES[role](text) for text in held), *others[1::2]])
    for indexed in (False, True):
        if indexed:
            memory.admin.index()
        wrong = [(query, found) for query, text in HELD if (found := first(memory, query)) != text]
        assert wrong == []


@pytest.mark.parametrize("query", ["src/app.py", "src/App.py", "app.py"])
def test_a_path_is_found_without_its_line(memory: Memory, alice: Agent, query: str) -> None:
    """R12: all that names the file stands above another file of the folder, whatever was said before that."""
    store(memory, alice, *TALK, "It stops at src/app.py:42 in the handler.", *ALIKE)
    assert all("src/app.py" in hit.text for hit in memory.search(query, 2))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Ahrenskjold", "Åsa Ahrenskjöld signs the lease."),
        ("ASA", "Åsa Ahrenskjöld signs the lease."),
        ("Jalapeño", "No jalapeno for me."),
        ("jalapeno", "No JALAPEÑO for me."),
        ("Straße", "The office is in the Lange Strasse."),
        ("STRASSE", "The office is in the Lange Straße."),
        ("Beyoğlu", "Rooms in Beyoglu are cheap."),
    ],
)
def test_case_and_diacritics_do_not_matter(memory: Memory, alice: Agent, query: str, text: str) -> None:
    """R12."""
    store(memory, alice, *TALK, text, *ALIKE)
    assert first(memory, query) == text


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Wohnungen", "Die Wohnung hat drei Zimmer und einen Balkon."),
        ("Häuser", "Ich habe das Haus von meiner Tante geerbt."),
        ("gekündigte Verträge", "Ich habe den Vertrag mit dem Studio gekündigt."),
        ("canciones", "Me gusta la canción que cantas por la mañana."),
        ("reservamos", "He hecho una reserva para el sábado en el restaurante."),
        ("alquilado", "El piso que queremos alquilar está en el centro."),
        ("voiture", "Les voitures de ma sœur sont au garage depuis lundi."),
        ("déménagerons", "Je vais déménager avec mon frère à la fin du mois."),
        ("abonnement résilié", "J'ai résilié les abonnements de la salle de sport."),
    ],
)
def test_word_forms_of_other_languages(memory: Memory, alice: Agent, query: str, text: str) -> None:
    """R12: German, Spanish and French words are found in their other forms, nearly as if they were the same."""
    store(memory, alice, *TALK, text, *ALIKE)
    hit = memory.search(query, 1, explain=True)[0]
    assert hit.text == text
    assert hit.parts["exact"] > WEIGHTS["exact"] / 2


# One slip


@pytest.mark.parametrize("query", ["Ketsrel", "Kestrl", "Kestreel", "Kestral", "kestrell", "ketsrel billing"])
def test_a_slip_is_forgiven(memory: Memory, alice: Agent, query: str) -> None:
    """R12: letters that changed places, one too few, too many, or another."""
    store(memory, alice, *TALK, "Kestrel is what we call the new billing.", *ALIKE)
    assert first(memory, query) == "Kestrel is what we call the new billing."


def test_a_slip_in_a_short_word_a_number_or_at_the_beginning_is_not_forgiven(memory: Memory, alice: Agent) -> None:
    """R12: such words would be near too many others."""
    store(memory, alice, *TALK, "Rex is the neighbours' dog.", "The invoice is 48213.", "Kestrel is the billing.")
    for query in ("Rox", "48214", "Jestrel"):
        hits = memory.search(query, explain=True)
        assert not any("exact" in hit.parts for hit in hits), query


def test_no_slip_is_forgiven_where_something_matches(memory: Memory, alice: Agent) -> None:
    """R12: what holds the word as it is written is found by it, and its neighbour is not."""
    store(memory, alice, *TALK, "Marlow sent the invoice.", "Barlow is on leave.", "Marlon paid it.")
    hits = memory.search("Marlow", 10, explain=True)
    assert hits[0].text == "Marlow sent the invoice."
    assert [hit.text for hit in hits if "exact" in hit.parts] == ["Marlow sent the invoice."]
    assert first(memory, "Marlom") in ("Marlow sent the invoice.", "Marlon paid it.")


def test_a_slip_stands_for_the_words_of_the_same_user(open_memory: OpenMemory) -> None:
    """R12, R3: a word that another user holds corrects nothing."""
    mine, other = open_memory("ann"), open_memory("bob")
    store(mine, mine.agent(), *TALK, "The zeppelin hangs in the hall.")
    store(other, other.agent(), *TALK, "Kestrel is the billing.")
    assert first(mine, "zepelin") == "The zeppelin hangs in the hall."
    assert not any("exact" in hit.parts for hit in other.search("zepelin", explain=True))
    assert not any("exact" in hit.parts for hit in mine.search("Ketsrel", explain=True))


def test_a_slip_is_forgiven_after_a_rebuild(memory: Memory, alice: Agent) -> None:
    """R12, R1: the words are derived like the rest of the index."""
    store(memory, alice, *TALK, "Kestrel is the billing.")
    memory.organize()
    memory.admin.rebuild()
    memory.organize()
    assert first(memory, "Ketsrel") == "Kestrel is the billing."


# What begins like a question, and is not one


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Will Hartley", "Will Hartley has the keys."),
        ("comment style", "The comment style is two slashes."),
        ("hat size", "The hat size is 58."),
    ],
)
def test_a_look_up_may_begin_like_a_question(memory: Memory, alice: Agent, query: str, text: str) -> None:
    """R12: its words count as they are written, as in any look-up."""
    store(memory, alice, *TALK, text, "Her style is calm.", "The size of it surprised me.")
    hit = memory.search(query, 1, explain=True)[0]
    assert hit.text == text
    assert "exact" in hit.parts


# Rare words decide

COMMON = "garden house river market window bread letter music summer train".split()
RARE = "zorvex quillum brandtop nyxal fendrick ozwald".split()
TEXTS = st.lists(
    st.tuples(
        st.sampled_from(tuple(ROLES)),
        st.lists(st.sampled_from(COMMON), min_size=1, max_size=6),
        st.lists(st.sampled_from(RARE), max_size=2, unique=True),
    ),
    min_size=5,
    max_size=40,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    said=TEXTS,
    asked=st.lists(st.sampled_from(RARE), min_size=1, max_size=2, unique=True),
    also=st.lists(st.sampled_from(COMMON), max_size=1),
    index=st.booleans(),
)
@example(
    said=[("assistant", ["letter"], ["nyxal"]), *[("user", ["garden", "river", "bread"], [])] * 20],
    asked=["nyxal"],
    also=["garden"],
    index=True,
)
def test_what_holds_every_rare_word_ranks_above_what_holds_none(
    tmp_path_factory: pytest.TempPathFactory,
    said: list[tuple[str, list[str], list[str]]],
    asked: list[str],
    also: list[str],
    index: bool,
) -> None:
    """R12: a property of every look-up. A word is rare that at most three items hold, or one in a hundred."""
    counts = {word: sum(word in (*common, *held) for _, common, held in said) for word in (*also, *asked)}
    rare = {word for word, count in counts.items() if 0 < count <= 3}
    assume(rare)
    with Memory.open(tmp_path_factory.mktemp("home")) as memory:
        records = [ROLES[role](" ".join([*common, *held, str(n)])) for n, (role, common, held) in enumerate(said)]
        memory.append_many(memory.agent(), records)
        if index:
            memory.admin.index()
        found = [hit.text.split() for hit in memory.search(" ".join([*also, *asked]), 100)]
    places = {kind: [n for n, words in enumerate(found) if is_it(rare, words)] for kind, is_it in KINDS.items()}
    assert max(places["every"], default=-1) < min(places["none"], default=len(found))
    assert places["every"] or not any(rare <= {*common, *held} for _, common, held in said)


KINDS: dict[str, Callable[[set[str], list[str]], bool]] = {
    "every": lambda rare, words: rare <= set(words),
    "none": lambda rare, words: rare.isdisjoint(words),
}


def test_a_rare_word_is_found_among_many_that_hold_the_others(memory: Memory, alice: Agent) -> None:
    """R12: however many items hold the common words of a look-up together, and before there are vectors."""
    store(memory, alice, *(f"Kestrel came by on visit{n}." for n in range(10)))
    store(memory, alice, *(f"Something about topic{n} and theme{n}." for n in range(910)))
    store(memory, alice, *(f"Error log of machine {n} looks ordinary." for n in range(82)))
    assert "Kestrel" in first(memory, "Kestrel error log")


# Users

NAMES = st.sampled_from("Kestrel TW-218 src/app.py:42 zeppelin utf-8-sig".split())


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=st.lists(st.tuples(st.sampled_from(("ann", "bob")), NAMES, st.integers(0, 3)), max_size=12))
def test_two_users_never_meet(open_memory: OpenMemory, said: list[tuple[str, str, int]]) -> None:
    """R12, R3, K3: neither do their words, misspelled or not, nor their sources."""
    users = {name: open_memory(name) for name in ("ann", "bob")}
    for user, name, number in said:
        users[user].append(users[user].agent(User("cli", user, "main")), UserMessage(f"{user}: {name} {number}."))
    for user, memory in users.items():
        for query in ("Kestrel", "Ketsrel", "TW218", "src/app.py:42", "zepelin", "utf8sig", "What about Kestrel?"):
            for hit in memory.search(query, 50):
                assert {one.text.partition(":")[0] for one in (hit, *hit.sources)} == {user}
