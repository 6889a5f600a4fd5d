"""R1 to R4: what was said and learned is found, with its source, by those whose it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lifelong import (
    Agent,
    AssistantMessage,
    Memory,
    Note,
    SystemMessage,
    ToolCall,
    ToolResult,
    User,
    UserMessage,
)
from lifelong.collect.descriptors import System
from lifelong.errors import AgentNotFound, InputError
from lifelong.recall.ranking import WEIGHTS
from lifelong.storage.base import Database
from lifelong.testing import FakeClock
from tests.conftest import OpenMemory, everything

MARCH = datetime(2026, 3, 5, 12, tzinfo=UTC)


def texts(memory: Memory, question: str, **how: Any) -> list[str]:
    return [hit.text for hit in memory.search(question, **how)]


def all_texts(memory: Memory, question: str, **how: Any) -> list[str]:
    """Also those of the sources."""
    return [one.text for one in everything(memory.search(question, **how))]


@pytest.fixture(autouse=True)
def after_all_that_was_said(clock: FakeClock) -> None:
    """Nothing can be said in the future."""
    clock.now = MARCH + timedelta(days=60)


def tell(memory: Memory, agent: Agent, *said: str, at: datetime = MARCH) -> list[int]:
    return memory.append_many(agent, [UserMessage(text, at=at) for text in said])


# R1: everything, at once


def test_a_turn_is_found_as_soon_as_it_is_stored(memory: Memory, alice: Agent) -> None:
    """R1: by its words, before anything was organized or embedded."""
    record = memory.append(alice, UserMessage("I moved to Lisbon in May.", at=MARCH))
    [hit] = memory.search("Where is Lisbon in all this?")
    session = memory.sessions.list(alice)[0]
    assert (hit.id, hit.kind, hit.text) == (f"r{record}", "record", "I moved to Lisbon in May.")
    assert (hit.record_id, hit.session_id, hit.agent_id) == (record, session.id, alice.id)
    assert (hit.at, hit.trust, hit.until) == (MARCH, "user", None)


def test_what_is_found_and_what_is_not(memory: Memory, alice: Agent) -> None:
    """R1, C9, O7: no summary of a context, nothing that recall itself had put there, no call of a tool."""
    memory.append_many(
        alice,
        [
            UserMessage("The zebra file is mine.", speaker="Ann"),
            AssistantMessage("A zebra, noted."),
            Note("Buy hay for the zebra."),
            SystemMessage("The zebra is to be fed."),
            ToolResult("zebra.txt, 4 kB", name="ls", provenance="web"),
            ToolCall("find", {"what": "zebra"}),
            UserMessage("<lifelong-context id=1>an old zebra</lifelong-context>"),
        ],
    )
    memory.sessions.compact_context(alice, "They spoke of a zebra.")
    hits = memory.search("zebra", 10)
    assert {(hit.trust, hit.speaker) for hit in hits} == {
        ("user", "Ann"),
        ("agent", ""),
        ("system", ""),
        ("web", ""),
    }
    assert len(hits) == 5


def test_a_memory_agent_s_talks_are_not_found(memory: Memory, alice: Agent) -> None:
    """O13: every turn would be found twice."""
    tell(memory, alice, *(f"My heron number {n} is called Otto." for n in range(8)))
    memory.organize()
    assert memory.agents.list()
    found = {hit.agent_id for hit in everything(memory.search("heron Otto", 50)) if hit.kind == "record"}
    assert found == {alice.id}


def test_facts_are_found_where_they_stand(memory: Memory, alice: Agent) -> None:
    """R1: with path and source, as soon as they have landed, and no longer once they are gone."""
    tell(
        memory, alice, "My name is Alice.", "I work as a glassblower in Porto.", *("And so on." for _ in range(5))
    )
    memory.organize()
    found = [hit for hit in everything(memory.search("glassblower", 10)) if hit.kind == "fact"]
    assert found
    assert found[0].path.startswith("~/memory/")
    assert found[0].record_id
    for changeset in memory.documents.changesets():
        memory.documents.rollback(changeset.id)
    assert not [hit for hit in everything(memory.search("glassblower", 10)) if hit.kind == "fact"]


def test_a_person_s_own_document_is_found(memory: Memory) -> None:
    """R1: paragraph by paragraph."""
    memory.documents.write(
        slug="garden", title="Garden", description="", body="# Beds\n\nTomatoes stand by the wall.\n\nBeans climb."
    )
    hit = memory.search("tomatoes", 1)[0]
    assert (hit.text, hit.path, hit.trust) == ("Tomatoes stand by the wall.", "~/garden", "user")
    assert "# Beds" not in texts(memory, "beds")


def test_the_journal_and_notes_are_found_as_their_files_say(open_memory: OpenMemory) -> None:
    """R1, O29: each record once, also what a person wrote; what is deleted is found no longer."""
    memory = open_memory(continuity={"journal_enabled": True})
    memory.journal.remember("The boiler is serviced by Ferreira.", "learned")
    memory.journal.remember("The password of the boiler is Tr0ub4dor&3xyz.", "learned")
    page = memory.home.user_folder("default") / "MEMORY.md"
    page.write_text(page.read_text() + "\nThe attic key hangs by the boiler.\n")
    memory.notes.worker("plumber").store("pipes", "The boiler valve sticks.\n\nTurn off the boiler first.")
    memory.organize()
    found = sorted((hit.kind, hit.text) for hit in everything(memory.search("boiler", 20)))
    assert found == [
        ("journal", "The attic key hangs by the boiler."),
        ("journal", "The boiler is serviced by Ferreira."),
        ("note", "The boiler valve sticks."),
        ("note", "Turn off the boiler first."),
    ]
    assert "workers/plumber/memory/pipes.md" in {hit.path for hit in memory.search("boiler valve", 3)}
    (memory.home.user_folder("default") / "workers/plumber/memory/pipes.md").unlink()
    page.write_text(page.read_text().replace("The attic key hangs by the boiler.", ""))
    memory.organize()
    assert [hit.kind for hit in everything(memory.search("boiler", 20))] == ["journal"]


def test_journal_without_embeddings_is_found_by_words(open_memory: OpenMemory, database: Database) -> None:
    """K1: `memory_embeddings_enabled`."""
    memory = open_memory(continuity={"journal_enabled": True, "memory_embeddings_enabled": False})
    memory.journal.remember("The ferry leaves at nine.", "learned")
    memory.organize()
    assert [hit.kind for hit in memory.search("ferry")] == ["journal"]
    vectors = "SELECT v.vector FROM items i JOIN item_vectors v ON v.item_id = i.id WHERE i.kind = 'journal'"
    assert all(not any(row[0]) for row in memory._parts.shared.database.read(lambda tx: tx.all(vectors)))


# R2: the ranking


@pytest.fixture
def family(memory: Memory, alice: Agent) -> Memory:
    """Two people and what they said, over some weeks."""
    days = [MARCH + timedelta(days=n) for n in range(40)]
    said = [
        ("Ann", "I adopted a spaniel called Biscuit.", 0),
        ("Bob", "I bought a red kayak for 450 euros.", 1),
        ("Ann", "My sister is getting married in Braga.", 5),
        ("Bob", "I broke my wrist when I fell off the kayak.", 12),
        ("Ann", "Work is quiet, I read a lot.", 20),
        ("Bob", "I went to the lake.", 36),
        ("Ann", "I went to the cinema.", 37),
    ]
    memory.append_many(alice, [UserMessage(text, speaker=who, at=days[day]) for who, text, day in said])
    memory.organize()
    return memory


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What kind of dog does Ann have?", "I adopted a spaniel called Biscuit."),
        ("How much did Bob's boat cost?", "I bought a red kayak for 450 euros."),
        ("How did Bob get hurt?", "I broke my wrist when I fell off the kayak."),
        ("Who in Ann's family has a wedding?", "My sister is getting married in Braga."),
        ("Where did Bob go last week?", "I went to the lake."),
        ("Which film did Ann see last week?", "I went to the cinema."),
    ],
)
def test_the_turn_that_answers_comes_first(family: Memory, clock: FakeClock, question: str, answer: str) -> None:
    """R2: by words, meaning, who speaks, and when."""
    clock.now = MARCH + timedelta(days=39)
    assert texts(family, question, top_k=1, kinds=("record",)) == [answer]


def test_yesterday_is_that_of_the_configured_zone(open_memory: OpenMemory, clock: FakeClock) -> None:
    """R2, K1: `continuity.time_zone`."""
    memory = open_memory(continuity={"time_zone": "Pacific/Auckland"})
    alice = memory.agent(User("cli", "alice", "main"))
    clock.now = datetime(2026, 3, 5, 12, tzinfo=UTC)  # the 6th in Auckland
    noon = datetime(2026, 3, 5, 0, tzinfo=UTC)
    tell(memory, alice, "I ate figs.", at=noon)
    [hit] = memory.search("What did I eat yesterday?", explain=True)
    assert hit.parts["when"] == pytest.approx(WEIGHTS["when"])
    clock.now += timedelta(days=40)
    [hit] = memory.search("What did I eat yesterday?", explain=True)
    assert "when" not in hit.parts


def test_a_day_is_that_of_the_zone(open_memory: OpenMemory, clock: FakeClock) -> None:
    """R2: what was said on it counts more than what was said beside it."""
    memory = open_memory(continuity={"time_zone": "Asia/Tokyo"})
    ann = memory.agent(User("cli", "ann", "main"))
    clock.now = datetime(2026, 3, 10, 16, tzinfo=UTC)  # the 11th in Tokyo, an hour after midnight
    for text, hours in (("ramen", 2), ("sushi", 26), ("udon", 0)):
        tell(memory, ann, f"I ate {text}.", at=clock.now - timedelta(hours=hours))

    def best() -> str:
        hits = memory.search("What did I eat yesterday?", explain=True)
        return max(hits, key=lambda hit: hit.parts.get("when", 0.0)).text

    assert best() == "I ate ramen."
    clock.now -= timedelta(hours=3)
    assert best() == "I ate sushi."


def test_explain_tells_what_the_score_is_made_of(family: Memory) -> None:
    """R2: the parts add up to the score."""
    for hit in family.search("What kind of dog does Ann have?", explain=True):
        assert sum(hit.parts.values()) == pytest.approx(hit.score, abs=0.02)
        assert hit.parts
    assert family.search("dog", 1)[0].parts == {}


def test_what_was_superseded_stands_below_what_took_its_place(open_memory: OpenMemory, clock: FakeClock) -> None:
    """R2, O11: marked with the day it stopped being true, the fact and the turn."""
    memory = open_memory()
    ann = memory.agent(User("cli", "ann", "main"))
    tell(memory, ann, "My name is Ann.", "I live in Porto.", *("Nice weather today." for _ in range(5)))
    memory.organize()
    later = MARCH + timedelta(days=30)
    tell(memory, ann, "I moved to Lisbon.", *("Nice weather again." for _ in range(6)), at=later)
    clock.now = later
    memory.organize()
    hits = everything(memory.search("Where does Ann live?", 10))
    facts = [hit for hit in hits if hit.kind == "fact"]
    ended = [hit for hit in facts if hit.until]
    assert [hit for hit in facts if "Lisbon" in hit.text and not hit.until]
    assert all("Porto" in hit.text for hit in ended)
    assert ended
    order = [hit.text for hit in hits]
    assert order.index("I moved to Lisbon.") < order.index("I live in Porto.")
    assert all(hit.until for hit in hits if hit.text == "I live in Porto.")


def test_what_has_ended_in_part_stands_below_what_took_its_place(
    open_memory: OpenMemory, clock: FakeClock
) -> None:
    """R2, R3, R7: among turns, lines and experiences, also where these were made later and where the index was
    made anew; but not where something else is asked, nor as of a time when it held."""
    memory = open_memory(continuity={"journal_enabled": True, "experience_store_enabled": True})
    ann = memory.agent(User("cli", "ann", "main"))
    began = clock()
    aside = "The weather has been odd all the time, and nobody here talks about anything else at all. " * 3
    for text in (f"I work as a nurse at Charité. {aside}I live in Berlin.", "We moved: I live in Lisbon now."):
        memory.append_many(ann, [UserMessage(text, speaker="Ann"), AssistantMessage("Nice city!")])
        memory.end_turn(ann)
        memory.organize()
        clock.turn(days=1)
    memory.experiences.extract()
    memory.organize()
    for anew in (False, True):
        if anew:
            memory.admin.rebuild()
            memory.organize()
        for kind in ("record", "journal", "experience"):
            assert "Lisbon" in memory.search("Where do I live?", kinds=[kind])[0].text
            assert "nurse" in memory.search("What is my work as a nurse like?", kinds=[kind])[0].text
        assert "Berlin" in memory.search("Where do I live?", as_of=began + timedelta(hours=1))[0].text
        assert "Lisbon" in memory.search("Where do I live?", 1)[0].text
        assert "Lisbon" in memory.experiences.query("Where do I live?", 1)[0].text
        assert "nurse" in memory.experiences.query("Who works as a nurse?", 1)[0].text


def test_what_was_superseded_twice_stands_below_both(memory: Memory, alice: Agent) -> None:
    """R2: the newest first, however near the words of the oldest are."""
    numbers = ("My phone number is 555 1234.", "My phone number is 555 2345.", "Now it is 555 3456.")
    said = tell(memory, alice, *numbers)
    body = "\n\n".join(
        f"The phone number is {number}. [r{said[place]}, until 2026-03-05 by r{said[place + 1]}]"
        for place, number in enumerate(("555 1234", "555 2345"))
    )
    memory.documents.write(slug="phone", title="Phone", description="", body=body)
    memory.organize()
    order = [hit.record_id for hit in memory.search("What is my phone number?", 10, kinds=["record"])]
    assert order == said[::-1]


def test_what_stands_beside_is_no_answer(memory: Memory, alice: Agent) -> None:
    """R2: who goes on, and a fact below another, may speak of something else."""
    tell(memory, alice, "PR 260 was merged.", "PR 480 was merged.", "PR 770 was merged.")
    body = "PR 100 was merged.\n\nPR 300 was merged.\n\nPR 500 was merged."
    memory.documents.write(slug="pulls", title="Pulls", description="", body=body)
    memory.organize()
    for number in (260, 480, 770, 100, 300, 500):
        assert texts(memory, f"Was PR {number} merged?")[0] == f"PR {number} was merged."


@pytest.mark.parametrize("question", ["Ann", "Ann?", "What about Ann?", "Tell me about Ann."])
def test_a_question_may_be_a_name(memory: Memory, alice: Agent, question: str) -> None:
    """R2: of who speaks here: what is known of her is found."""
    memory.append(alice, UserMessage("My parrot is called Kiki.", speaker="Ann"))
    memory.documents.write(slug="ann", title="Ann", description="", body="Ann keeps a parrot.\n\nBen sails.")
    memory.organize()
    assert texts(memory, question)[0] == "Ann keeps a parrot."


def test_a_question_is_no_answer(memory: Memory, alice: Agent) -> None:
    """R2: of two that hold the same words, the one that tells stands above the one that asks."""
    tell(memory, alice, "The wifi is called Casa Azul.", "Is the wifi called Casa Azul?")
    assert texts(memory, "What is the wifi called?")[0] == "The wifi is called Casa Azul."
    asking = memory.search("What is the wifi called?", explain=True)[1]
    assert asking.parts["question"] < 0


@pytest.mark.parametrize("question", ["Who is Priya?", "Tell me about Priya."])
def test_who_somebody_is_says_what_tells_of_them(memory: Memory, alice: Agent, question: str) -> None:
    """R2: and not just anything that they said."""
    said = (("Priya", "Send the phones there."), ("Mara", "Priya builds the apps."), ("Mara", "I am late."))
    memory.append_many(alice, [UserMessage(text, speaker=who, at=MARCH) for who, text in said])
    memory.admin.index()
    assert texts(memory, question)[0] == "Priya builds the apps."


def test_a_turn_and_what_sums_it_up_take_one_place(open_memory: OpenMemory) -> None:
    """R2, R14: the turn, its line in the journal and the experience made of that are one hit."""
    memory = open_memory(continuity={"journal_enabled": True, "experience_store_enabled": True})
    ann = memory.agent(User("cli", "ann", "main"))
    [record, _] = memory.append_many(
        ann, [UserMessage("The boiler man comes on Friday.", speaker="Ann"), AssistantMessage("Good to know.")]
    )
    memory.end_turn(ann)
    memory.experiences.extract()
    memory.organize()
    for kind in ("record", "journal", "experience"):
        assert memory.search("boiler man", kinds=[kind])[0].record_id == record
    hits = memory.search("When does the boiler man come?", 5)
    [hit] = [hit for hit in hits if hit.record_id == record]
    assert {one.kind for one in everything([hit])} == {"record", "journal", "experience"}
    assert {one.record_id for one in hit.sources} == {record}


def test_the_tool_shows_of_a_long_text_what_was_asked_for(memory: Memory, alice: Agent) -> None:
    """R3: cut to a line, around the question's words, and never in the middle of one."""
    filler = "We talked about the garden and the weather for a while. "
    tell(memory, alice, f"{filler * 30}The wombat budget is 4,711 euros.{' And so on.' * 300}", "A short one.")
    [recall_memory] = [tool for tool in memory.tools() if tool.name == "recall_memory"]
    told = recall_memory.call(query="What is the wombat budget?", top_k=1)
    assert "The wombat budget is 4,711 euros." in told
    assert len(told) < 1_400
    assert "\n- …" in told
    assert told.count("…") == 2


def test_near_copies_are_folded(memory: Memory, alice: Agent) -> None:
    """R2, R14: the same said ten times takes one place, that of the newest, with some of the others as sources."""
    tell(memory, alice, *("The wifi is called Casa Azul." for _ in range(10)), "The wifi is slow in the attic.")
    newest = tell(memory, alice, "The wifi is called Casa Azul!", at=MARCH + timedelta(days=3))[0]
    hits = memory.search("wifi", 10)
    assert len(hits) == 2
    [called] = [hit for hit in hits if "called" in hit.text]
    assert called.record_id == newest
    assert {one.text for one in called.sources} == {"The wifi is called Casa Azul."}


def test_what_is_another_is_not_folded(memory: Memory, alice: Agent) -> None:
    """R2: another speaker, another number, or that it is denied."""
    memory.append_many(
        alice,
        [
            UserMessage("I live in Paris.", speaker="Ann"),
            UserMessage("I live in Paris.", speaker="Bob"),
            UserMessage("I don't live in Paris.", speaker="Ann"),
            UserMessage("Build 260 of the web shop in Paris went to production without a hitch on the first try."),
            UserMessage("Build 480 of the web shop in Paris went to production without a hitch on the first try."),
        ],
    )
    assert len(memory.search("Paris", 10)) == 5


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Where will the concert take place?", "The concert is in the park."),
        ("What did Will say of the concert?", "I liked the music."),
    ],
)
def test_a_name_that_is_a_word(memory: Memory, alice: Agent, question: str, answer: str) -> None:
    """R2: is a name only where it is written as one."""
    memory.append_many(
        alice,
        [
            UserMessage("Everybody was there, also the mayor.", speaker="Ann"),
            UserMessage("The concert is in the park.", speaker="Ann"),
            UserMessage("I liked the music.", speaker="Will"),
        ],
    )
    assert texts(memory, question, top_k=1) == [answer]


@pytest.mark.parametrize(
    ("said", "question"),
    [
        (["我的猫叫小白, 今年三岁。", "下周我要去北京出差。", "我昨天买了一辆红色的自行车。"], "我的猫几岁了?"),
        (["Meine Katze heißt Mimi.", "Ich fahre nach Köln.", "Das Fahrrad ist rot."], "Wie heisst meine Katze?"),
        (["قطتي اسمها ميمي", "سأسافر إلى دبي", "اشتريت دراجة حمراء"], "ما اسم قطتي؟"),
    ],
)
def test_other_languages(memory: Memory, alice: Agent, said: list[str], question: str) -> None:
    """R2: Chinese, German and Arabic, each by its own words."""
    tell(memory, alice, *reversed(said))
    assert texts(memory, question, top_k=1) == said[:1]


def test_secrets_are_never_shown(memory: Memory, alice: Agent) -> None:
    """S4: nor can they be asked for."""
    tell(memory, alice, "The router password is Tr0ub4dor&3xyz.")
    assert "Tr0ub4dor" not in texts(memory, "router password")[0]
    assert all("words" not in hit.parts for hit in memory.search("Tr0ub4dor&3xyz", explain=True))


# R3: scopes


def test_scopes(memory: Memory, alice: Agent) -> None:
    """R3: agent, kind, time range, as of."""
    bob = memory.agent(User("cli", "bob", "main"))
    tell(memory, alice, "The tulips are red.", at=MARCH)
    tell(memory, bob, "The tulips are white.", at=MARCH + timedelta(days=2))
    assert all_texts(memory, "tulips", agent=bob) == ["The tulips are white."]
    with pytest.raises(AgentNotFound, match="No agent of this user has the id 'bob'"):
        memory.search("tulips", agent="bob")
    assert len(memory.search("tulips")) == 2
    assert not memory.search("tulips", kinds=("note",))
    assert all_texts(memory, "tulips", until=MARCH + timedelta(days=1)) == ["The tulips are red."]
    assert all_texts(memory, "tulips", since=MARCH + timedelta(days=1)) == ["The tulips are white."]


def test_as_of_a_past_time(memory: Memory, clock: FakeClock) -> None:
    """R3, O21: what was known then, also what was hidden since."""
    clock.now = MARCH
    made = memory.documents.write(slug="bike", title="Bike", description="", body="The bike is green.")
    clock.now = MARCH + timedelta(days=10)
    memory.documents.edit(made.id, made.version, find="green", replace="black")
    assert all_texts(memory, "bike") == ["The bike is black."]
    assert all_texts(memory, "bike", as_of=MARCH + timedelta(days=1)) == ["The bike is green."]
    assert not memory.search("bike", as_of=MARCH - timedelta(days=1))


@pytest.mark.parametrize(
    ("question", "how", "complaint"),
    [
        ("x", {"top_k": 0}, "Ask for 1 to"),
        ("x", {"top_k": 1_001}, "Ask for 1 to"),
        ("x", {"kinds": ("dream",)}, "Unknown kind"),
        ("x", {"kinds": "record"}, "Give a list"),
        ("x", {"kinds": 5}, "Give a list"),
        ("x", {"since": datetime(2026, 1, 1)}, "since"),  # noqa: DTZ001
        ("x", {"since": MARCH, "until": MARCH}, "range of time is empty"),
        ("a\0b", {}, "question"),
    ],
)
def test_bad_questions(memory: Memory, question: str, how: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        memory.search(question, **how)


@pytest.mark.parametrize("question", ["", "   ", "???", "the of and", "😀", "'\"*:() AND OR NOT", "x" * 50_000])
def test_odd_questions_are_answered(family: Memory, question: str) -> None:
    """R3: whatever is asked, nothing breaks."""
    family.search(question)


def test_an_empty_memory_knows_nothing(memory: Memory) -> None:
    assert memory.search("Where do I live?") == []


WORDS = st.sampled_from("apple pear plum fig kiwi lime".split())


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=st.lists(st.tuples(st.sampled_from("ab"), st.lists(WORDS, min_size=1, max_size=4)), max_size=12))
def test_no_user_sees_another_s(
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
    said: list[tuple[str, list[str]]],
) -> None:
    """R3, K3: nor does what it holds change what another finds."""
    home = tmp_path_factory.mktemp("home")
    with Memory.open(home, "a") as a, Memory.open(home, "b") as b, Memory.open(home / "alone", "a") as alone:
        for user, words in said:
            for memory in (a, alone) if user == "a" else (b,):
                tell(memory, memory.agent(User("cli", user, "main")), " ".join(words))
        a.organize()
        alone.organize()
        mine = {" ".join(words) for user, words in said if user == "a"}
        for question in ("apple pear plum", "kiwi", "what about fig and lime"):
            found = all_texts(a, question, top_k=50, kinds=("record",))
            assert set(found) <= mine
            assert found == all_texts(alone, question, top_k=50, kinds=("record",))


def test_no_user_sees_another_s_on_either_database(open_memory: OpenMemory) -> None:
    """R3: words, vectors, documents, journal, notes."""
    work, home = open_memory("work"), open_memory("home")
    tell(work, work.agent(User("cli", "a", "b")), "The merger with Acme closes in June.")
    work.notes.worker("clerk").store("merger", "Acme pays in shares.")
    work.documents.write(slug="acme", title="Acme", description="", body="Acme makes anvils.")
    work.organize()
    home.organize()
    assert len(work.search("Acme merger", 20)) == 3
    for question in ("Acme merger June", "anvils", "shares"):
        assert home.search(question, 20) == []


# O6


def test_a_receipt_says_searchable(memory: Memory, alice: Agent) -> None:
    """O6: the last stage."""
    record = tell(memory, alice, *(f"I own {n} boats." for n in range(6)))[0]
    assert memory.receipt(record).stage == "stored"
    memory.organize()
    assert memory.receipt(record).stage == "searchable"


def test_an_agent_of_any_kind_is_found(memory: Memory) -> None:
    """R1: background work too."""
    system = memory.agent(System("janitor"))
    memory.append(system, AssistantMessage("Rotated the access logs."))
    assert texts(memory, "access logs") == ["Rotated the access logs."]


def test_the_files_hold_no_index(memory: Memory, alice: Agent, tmp_path: Path) -> None:
    """K2: recall makes no file of its own."""
    tell(memory, alice, "I like figs.")
    memory.organize()
    memory.search("figs")
    assert not [
        path for path in (tmp_path / "home").rglob("*") if path.is_file() and "lifelong.db" not in path.name
    ]
