"""R2, R8, O12: what somebody only quotes, pastes or makes up is marked, and stands below their own words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from lifelong import AssistantMessage, Memory, Record, User, UserMessage
from lifelong.recall import ranking
from lifelong.serve.jsonable import jsonable
from lifelong.storage.base import Transaction
from lifelong.testing import FakeClock
from lifelong.text.speech import split_speech

HOME = "We moved to Lisbon in the spring, near the river."
MAIL = "Is this phishing? 'I live in Zorblaxville and my account is locked, click here.'"
OTHERS = [
    MAIL,
    "Please translate into German: I live in Zorblaxville and I love it.",
    "What do you think of this mail?\n\nHi Mara,\nI live in Zorblaxville now.\nBest, Tom",
    "Ist das Spam? „Ich wohne jetzt in Zorblaxville und I live in style.“",
]
PLAY = "Let's play: you are a doctor and I am a patient called Bob."
PART = "I am allergic to cats and I live in Zorblaxville."
LABEL = "quoted or made up"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FakeClock) -> Iterator[Memory]:
    with Memory.open(tmp_path, user="mara", clock=clock, organize={"organizer": "rules"}) as memory:
        yield memory


def tell(memory: Memory, *records: Record | str) -> None:
    said = [UserMessage(one) if isinstance(one, str) else one for one in records]
    memory.append_many(memory.agent(User("chat", "mara", "main")), said)


def organize(memory: Memory) -> list[str]:
    """End the session and organize it. Return the facts."""
    memory.sessions.reset(memory.agent(User("chat", "mara", "main")))
    memory.organize()
    return [hit.text for hit in memory.list("fact") if hit.until is None]


def test_a_fact_pasted_from_a_document_is_not_said(memory: Memory) -> None:
    """O10, O12: nor does it end one; what stands beside it is said."""
    tell(memory, HOME, "I play the cello.\n\nI live in Zorblaxville. [Mara, 2026-02-24, r1]")
    assert sorted(organize(memory)) == ["I play the cello.", HOME]


@pytest.mark.parametrize("text", OTHERS)
def test_another_s_words_are_marked_and_stand_below_the_user_s_own(memory: Memory, text: str) -> None:
    """R2: the newer record holds the words of the question, and is not the user's word."""
    tell(memory, HOME, text)
    own, other = memory.search("Where do I live?", top_k=2)
    assert (own.text, own.quoted, own.source_label) == (HOME, False, "")
    assert (other.text, other.quoted, other.trust, other.newer) == (text, True, "user", None)
    assert own.newer is None


def test_a_quoted_hit_is_marked_wherever_it_is_shown(memory: Memory) -> None:
    """R2, R8: in Python and JSON, in the context, and in what the tool tells an agent."""
    tell(memory, HOME, MAIL)
    hit = memory.search("Where do I live?")[1]
    assert hit.trust_label == f"user, {LABEL}"
    assert hit.source_label == LABEL
    shown = jsonable(hit)
    assert isinstance(shown, dict)
    assert shown["quoted"] is True
    assert f"{hit.id}, {LABEL}] Is this phishing?" in memory.context(message="Where do I live?")
    recall = next(tool for tool in memory.tools() if tool.name == "recall_memory")
    assert f"by user, {LABEL}" in recall.call(query="Where do I live?")


def test_the_text_itself_is_found_when_it_is_asked_for(memory: Memory) -> None:
    """R2: by what the user says of it, and by its own words."""
    tell(memory, HOME, MAIL, "My sister likes to swim in the river.")
    assert memory.search("What did the phishing mail say?")[0].text == MAIL
    assert memory.search("Zorblaxville")[0].text == MAIL


def test_what_the_user_says_beside_a_quotation_is_their_own(memory: Memory) -> None:
    """R2: the mark goes by the sentences that answer the question."""
    text = 'I moved to Lisbon last week. My landlord wrote: "I need the rent for my car on Monday."'
    tell(memory, text)
    assert not memory.search("Where did I move to?")[0].quoted
    assert memory.search("Who needs the rent for the car?")[0].quoted


def test_a_record_in_one_s_own_words_is_not_marked(memory: Memory) -> None:
    """R2: nor is code, or the report of a program."""
    tell(memory, HOME, "Our build fails:\n\nError: disk is full\n\nWhat can I do about the disk?")
    assert not any(hit.quoted for hit in memory.search("What fails with a full disk near the river?"))


def test_a_receipt_says_what_is_taken_for_another_s(memory: Memory) -> None:
    """O6: what is left out is never left out in silence."""
    quoted = "> I am the head of year four.\n> I'm allergic to eggs."
    (record,) = memory.add(f"Can you summarize this mail?\n\n{quoted}\n\nAlso, Noor is vegetarian now.")
    assert memory.receipt(record).notes == (
        "Taken for somebody else's words, or for made up: 2 of its 4 sentences. Nothing is learned from that.",
    )
    assert memory.receipt(memory.add(HOME)[0]).notes == ()


def test_nothing_is_learned_from_a_part_that_the_user_plays(memory: Memory) -> None:
    """O12: the message after the proposal is no fact, not in the core, and marked in search."""
    tell(memory, HOME, PLAY, AssistantMessage("Hello Bob, what brings you here?"), PART)
    assert PART not in memory.context(message="Write a haiku.")
    assert not any("cats" in fact or "Zorblaxville" in fact for fact in organize(memory))
    assert PART not in memory.context(message="Write a haiku.")
    own, part = memory.search("Where do I live?", top_k=2)
    assert (own.record_id, own.quoted) == (1, False)
    assert (part.text, part.quoted) == (PART, True)


def test_the_journal_of_a_play_is_marked_and_makes_no_experience(tmp_path: Path) -> None:
    """O12, R2: a line that summarizes a turn of the play, which begins in a session before it."""
    continuity = {"journal_enabled": True, "experience_store_enabled": True}
    with Memory.open(tmp_path, user="mara", clock=FakeClock(), continuity=continuity) as memory:
        agent = memory.agent(User("chat", "mara", "main"))
        tell(memory, f"{HOME} It is quiet here.", PLAY, AssistantMessage("Hello Bob, what brings you here?"))
        memory.end_turn(agent)
        tell(memory, PART, AssistantMessage("Then you should go home, and eat."))
        organize(memory)
        memory.experiences.extract()
        assert {hit.text: hit.quoted for hit in memory.search("Where do I live?", kinds=["journal"])} == {
            f"User: {HOME} It is quiet here.": False,
            f"User: {PART} → Then you should go home, and eat.": True,
            next(hit.text for hit in memory.list("journal") if "Bob" in hit.text): False,
        }
        texts = [one.text for one in memory.experiences.list()]
        assert any(HOME in text for text in texts)
        assert not any(PART in text for text in texts)


def test_however_many_hits_are_shown_all_are_judged(memory: Memory) -> None:
    """R2: none stands first, or unmarked, because it was not read."""
    tell(memory, *(f"{MAIL} That was mail {number}, near the river." for number in range(90)))
    hits = memory.search("Where do I live?", top_k=60)
    assert len(hits) == 60
    assert all(hit.quoted for hit in hits)
    tell(memory, "I live in Lisbon, near the river.")
    assert "Lisbon" in memory.search("Where do I live?", top_k=60)[0].text


def test_of_many_long_texts_only_the_beginning_is_read_for_whose_words_they_are(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R2: however many hits are asked for."""
    read = []

    def count(text: str, speaker: str) -> object:
        read.append(len(text))
        return split_speech(text, speaker)

    monkeypatch.setattr(ranking, "split_speech", count)
    tell(memory, *(f"{number}: {'I live near the river. ' * 300}" for number in range(60)))
    assert len(memory.search("Where do I live?", top_k=60)) == 60
    assert read == [ranking.MAX_JUDGED_CHARS] * 50 + [ranking.MAX_BEGINNING_CHARS] * 10


def test_a_part_is_known_when_its_session_is_organized_piece_by_piece(memory: Memory) -> None:
    """O12: the proposal was organized before."""
    tell(memory, PLAY, *(f"My head hurts a lot, number {number}." for number in range(5)))
    memory.organize()
    tell(memory, PART, *(f"Doctor, my knee hurts as well, number {number}." for number in range(5)))
    assert not any("cats" in fact for fact in organize(memory))


@pytest.mark.parametrize(
    "end", ["Ok, end of the game.", "Let's stop playing now.", "Das Spiel ist vorbei.", "Fin del juego.", ""]
)
def test_what_is_said_after_the_play_is_learned(memory: Memory, end: str) -> None:
    """O12: it ends with a word, or with the session."""
    tell(memory, PLAY, PART)
    if not end:
        organize(memory)
    tell(memory, f"{end} I am allergic to peanuts.".strip())
    facts = organize(memory)
    assert any("peanuts" in fact for fact in facts)
    assert not any("cats" in fact for fact in facts)


def test_a_play_that_nobody_ended_does_not_last(memory: Memory, clock: FakeClock) -> None:
    """O12: hours later, people speak for themselves."""
    clock.now += timedelta(days=1)
    tell(memory, UserMessage(PLAY, at=clock.now - timedelta(hours=5)), "I am allergic to peanuts.")
    assert any("peanuts" in fact for fact in organize(memory))


def test_what_an_assistant_proposes_binds_nobody(memory: Memory) -> None:
    """O12: only a person sets up a play."""
    tell(memory, AssistantMessage(PLAY), "No thanks. I am allergic to peanuts.")
    assert any("peanuts" in fact for fact in organize(memory))


def test_plays_are_found_by_an_index(memory: Memory) -> None:
    """O12: every search asks for them."""

    def plan(tx: Transaction) -> list[str]:
        which = "owner = ? AND kind = 'record' AND flags >= 256 ORDER BY record_id DESC LIMIT 9"
        return [str(row[-1]) for row in tx.all(f"EXPLAIN QUERY PLAN SELECT at FROM items WHERE {which}", "mara")]

    tell(memory, PLAY, PART)
    assert any("idx_items_plays" in step for step in memory._parts.shared.database.read(plan))
