"""Forgetting: what is named goes from everywhere, what was made of it goes or is made again, the rest stays."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from lifelong import Memory, Store, ToolCall, User, UserMessage
from lifelong.errors import InputError, ItemNotFound, JournalError, UserNotFound
from lifelong.forget.plan import ErasurePlan, store_plan
from lifelong.forget.preview import ForgetPreview
from lifelong.organize.facts import parse_facts
from lifelong.storage.base import Database, Transaction
from lifelong.testing import FakeClock
from lifelong.types import Hit, Record
from tests import transcripts
from tests.conftest import OpenMemory, everything
from tests.test_rules_organizer import Session

EVERYTHING_ON = {"journal_enabled": True, "experience_store_enabled": True, "memory_compaction_enabled": True}


@pytest.fixture
def mara(open_memory: OpenMemory) -> Memory:
    return open_memory("mara", continuity=EVERYTHING_ON)


def tell(memory: Memory, *texts: str | dict[str, str]) -> list[str]:
    """Add messages, end the session, organize. Return the records' ids."""
    ids = [id_ for text in texts for id_ in memory.add(text)]
    memory.end_session()
    memory.organize()
    return ids


def fact_with(memory: Memory, word: str) -> Hit:
    return next(hit for hit in memory.list("fact") if word in hit.text)


def rows_with(database: Database, word: str) -> list[str]:
    """The tables of which a row holds a word in a text, in any case."""

    def look(tx: Transaction) -> list[str]:
        columns = (
            "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' "
            "AND c.type = 'TEXT' AND m.name NOT LIKE 'sqlite_%'"
            if database.dialect == "sqlite"
            else "SELECT table_name, column_name FROM information_schema.columns "
            "WHERE table_schema = current_schema() AND data_type = 'text'"
        )
        return [
            table
            for table, column in tx.all(columns)
            if tx.one(f"SELECT 1 FROM {table} WHERE lower({column}) LIKE ?", f"%{word.lower()}%")
        ]

    return database.read(look)


def files_with(home: Path, word: str) -> list[str]:
    """The files of the home that hold a word, as it is or in small letters."""
    wanted = (word.encode(), word.lower().encode())
    files = (path for path in home.rglob("*") if path.is_file())
    return [path.name for path in files if any(one in path.read_bytes() for one in wanted)]


def assert_gone(memory: Memory, *words: str) -> None:
    """Nothing holds the words: no row, no file, no answer. The search here is not logged."""
    database = memory._parts.shared.database
    for word in words:
        assert not rows_with(database, word)
        assert not files_with(memory.home.path, word)
        found = everything(memory._parts.recall.search(word))
        assert not [hit for hit in found if word.lower() in hit.text.lower()]


# What can be named


def test_a_record_goes_with_all_that_was_made_of_it(mara: Memory) -> None:
    """S6: text, fact, journal line, experience, words, the log of searches."""
    ids = tell(mara, "My sister Zelda works at Quuxcorp as a nurse.", "I like quiet trains.")
    mara.search("Where does Zelda work?")
    assert fact_with(mara, "Quuxcorp").path == "~/memory/people/mara"
    preview = mara.forget(ids[0], dry_run=True)
    assert preview.records == ("r1",)
    assert preview.facts == ("My sister Zelda works at Quuxcorp as a nurse.",)
    assert fact_with(mara, "Quuxcorp").until is None, "a preview changes nothing"
    report = mara.forget(ids[0])
    assert report.complete
    assert report.records == ("r1",)
    assert_gone(mara, "Zelda", "Quuxcorp", "nurse")
    assert mara.admin.prove_forgotten(report).clean
    assert mara.search("quiet trains")[0].text == "I like quiet trains."
    assert mara.admin.health().status == "green"
    assert not mara.admin.verify()


def test_a_fact_goes_with_the_part_of_the_record_that_it_quotes(mara: Memory) -> None:
    """S6: what else was said in the same message stays, and is found."""
    talk = (
        "The standup is at nine in the big room and Priya chairs it. The minutes are in the wiki. "
        "Tom brings coffee on Mondays, and the window stays open. Our printer upstairs jams every week. "
        "The caretaker comes on Thursdays and waters the plants. Somebody left an umbrella in the hall again."
    )
    tell(mara, f"{talk} I'm allergic to pistachios.")
    report = mara.forget(fact_with(mara, "pistachios").id)
    assert_gone(mara, "pistachios")
    assert report.cut == ("r1",)
    assert "Priya chairs it" in mara.search("Who chairs the standup?")[0].text


def test_a_document_goes_with_what_is_below_it_and_with_its_sources(mara: Memory) -> None:
    """S6."""
    tell(mara, "My sister Zelda lives in Gdynia.", "Zelda works in Gdynia as a nurse.", "I like quiet trains.")
    mara.documents.write(slug="zelda-notes", title="Zelda", description="", body="She prefers mornings, I think.")
    mara.forget("~/zelda-notes")
    mara.forget("~/memory/people")
    assert_gone(mara, "Gdynia", "mornings", "nurse")


def test_a_session_and_an_agent_go_whole(mara: Memory) -> None:
    """S6: also what they are called by."""
    other = mara.agent(User("slack", "U0Quux", "general"))
    mara.add("The Vorpal release is on Friday.", agent=other)
    mara.end_session(other)
    tell(mara, "I live in Porto.")
    session = mara.sessions.list(other)[0]
    mara.forget(session=session)
    assert_gone(mara, "Vorpal")
    mara.add("The Vorpal release moved to Monday.", agent=other)
    mara.end_session(other)
    mara.organize()
    report = mara.forget(agent=other)
    assert report.agents == 2
    assert_gone(mara, "Vorpal", "U0Quux")
    assert mara.search("Where do I live?")[0].text == "I live in Porto."


def test_everything_about_a_person_goes(mara: Memory) -> None:
    """S6: what they said, what was said of them, and their page."""
    told = tell(mara, "Tom Reis lives in Gdynia.", "I had lunch with Tom Reis.", "I live in Porto.")
    told += mara.add("I collect fountain pens.", speaker="Tom Reis")
    mara.end_session()
    mara.organize()
    mara.journal.remember("Tom Reis prefers the window seat.")
    preview = mara.forget(about="Tom Reis", dry_run=True)
    assert preview.records == (told[0], told[1], told[3])
    mara.forget(about="Tom Reis")
    assert_gone(mara, "Reis", "Gdynia", "fountain", "window")
    assert mara.search("Where do I live?")[0].text == "I live in Porto."


def test_a_reply_that_says_something_else_stays(mara: Memory) -> None:
    """S6: though the journal tells it in one line with the request that goes."""
    told = mara.add(
        [
            {"role": "user", "content": "Anna Frisk lent me her drill."},
            {"role": "assistant", "content": "Your passport expires in 2031, by the way."},
        ]
    )
    mara.end_session()
    mara.organize()
    assert mara.forget(about="Anna Frisk", dry_run=True).records == (told[0],)
    assert mara.forget(matching="drill").records == (told[0],)
    assert_gone(mara, "Frisk", "drill")
    assert mara.search("When does my passport expire?")[0].text == "Your passport expires in 2031, by the way."


def test_what_matches_words_goes_and_nothing_like_it(mara: Memory) -> None:
    """S6: every word, as a word."""
    tell(mara, "The Kestrel budget is 4200 EUR.", "Kestrels nest on the roof.", "The budget of Heron is 90 EUR.")
    report = mara.forget(matching="kestrel budget")
    assert report.records == ("r1",)
    assert_gone(mara, "4200")
    assert mara.search("Kestrels nest")[0].text == "Kestrels nest on the roof."


def test_a_range_of_time_goes(mara: Memory, clock: FakeClock) -> None:
    """S6, S9."""
    tell(mara, "The Vorpal release is on Friday.")
    clock.turn(days=3)
    tell(mara, "The Heron release is on Monday.")
    mara.forget(until=clock() - timedelta(days=1))
    assert_gone(mara, "Vorpal")
    assert mara.search("Heron release")


def test_lines_notes_and_experiences_go(mara: Memory) -> None:
    """S6: and a paragraph that a person wrote."""
    mara.journal.remember("The boiler key hangs behind the Zornmirror.", "learned")
    mara.notes.worker("builder").store("pipes", "The valve is a Quuxvalve.\n\nThe pump is old.")
    mara.experiences.add("Deploys on Fridays break the Vorpalcache.", "learned")
    mara.organize()
    for word in ("Zornmirror", "Quuxvalve", "Vorpalcache"):
        hit = next(hit for hit in everything(mara.search(word)) if word in hit.text)
        mara.forget(hit.id)
    assert_gone(mara, "Zornmirror", "Quuxvalve", "Vorpalcache")
    assert "The pump is old." in mara.notes.worker("builder").load()


@pytest.mark.parametrize("wrong", ["r99", "f99", "~/memory/none", "x"])
def test_what_is_not_there_is_an_error_that_changes_nothing(mara: Memory, wrong: str) -> None:
    """S6."""
    tell(mara, "I live in Porto.")
    with pytest.raises((ItemNotFound, InputError)):
        mara.forget(wrong)
    assert mara.search("Where do I live?")[0].text == "I live in Porto."


def test_nothing_named_is_an_error(mara: Memory) -> None:
    """S6: no call forgets everything by accident."""
    with pytest.raises(InputError, match="Say what to forget"):
        mara.forget()
    with pytest.raises(InputError, match="names nobody"):
        mara.forget(about="…")


# What stays


def test_a_fact_that_rests_on_more_keeps_its_other_sources(mara: Memory) -> None:
    """S6: and is worded by them."""
    first = tell(mara, "I'm allergic to pistachios.")
    again = tell(mara, "I'm allergic to pistachios.")
    mara.forget(*first)
    assert f"r{fact_with(mara, 'pistachios').record_id}" == again[0]


def test_what_a_forgotten_record_had_ended_holds_again(mara: Memory) -> None:
    """S6, O11."""
    tell(mara, "I live in Porto.")
    moved = tell(mara, "I moved to Gdynia last week.")
    assert fact_with(mara, "Porto").until
    mara.forget(*moved)
    assert_gone(mara, "Gdynia")
    assert fact_with(mara, "Porto").until is None


def test_a_forgotten_record_does_not_come_back(mara: Memory, clock: FakeClock) -> None:
    """S6: by a replayed transcript, or by its key; said anew, it is something new."""
    said = UserMessage("The Vorpal release is on Friday.", at=clock() - timedelta(days=2))
    agent = mara.agent()
    number = mara.append(agent, said, key="k1")
    mara.forget(f"r{number}")
    assert mara.append(agent, said, key="k1") == number
    assert mara.append(agent, said) == number
    again = mara.add([said, UserMessage("I live in Porto.", at=said.at)])
    assert len(again) == 1, "what is not stored has no id"
    assert [(one.kind, one.ref, one.author) for one in again.forgotten] == [("record", str(number), "person")]
    assert_gone(mara, "Vorpal")
    assert mara.append(agent, UserMessage("The Vorpal release is on Friday.")) != number
    assert mara.add(said.text, at=clock()).forgotten == ()
    with pytest.raises(ItemNotFound, match="was forgotten on"):
        mara.forget(f"r{number}")
    stone = mara.admin.forgotten()[0]
    assert (stone.kind, stone.ref, stone.author) == ("record", str(number), "person")


def test_a_transcript_that_waits_is_told_without_it(mara: Memory) -> None:
    """S6: a record that was never organized."""
    mara.add("The Vorpal release is on Friday. Please remember that.")
    mara.add("I live in Porto.")
    mara.end_session()
    mara._parts.shared.dispatcher.run(mara._clock())
    mara.forget("r1")
    mara.organize()
    assert_gone(mara, "Vorpal")
    assert fact_with(mara, "Porto").text == "I live in Porto."


def test_a_full_name_takes_the_first_name_along_where_nobody_else_has_it(mara: Memory) -> None:
    """S6: a word that is also written small counts only where it is a name; with a namesake, or for what is not
    known to be a person, the dry run names what stays."""
    tell(mara, "Rose Raman is our accountant. She said the Heron audit starts in May.")
    called, bloom = tell(mara, "Rose called about taxes."), tell(mara, "Each rose of the garden is in bloom.")
    place = tell(mara, "New York is far from the sea.", "New shoes cost a fortune.")
    shown = mara.forget(about="Rose Raman", dry_run=True)
    assert isinstance(shown, ForgetPreview)
    assert called[0] in shown.records
    assert bloom[0] not in shown.records
    assert [one.id for one in shown.stays] == bloom
    assert mara.forget(about="New York", dry_run=True).records == (place[0],)
    tell(mara, "Rose Shah said she joins on Monday.")
    shown = mara.forget(about="Rose Raman", dry_run=True)
    assert isinstance(shown, ForgetPreview)
    assert called[0] not in shown.records
    assert (called[0], "names only Rose") in {(one.id, one.why) for one in shown.stays}


def test_a_name_that_is_a_small_word_of_another_language_can_be_forgotten(mara: Memory) -> None:
    """S6: "ella" is Spanish for "she"."""
    told, _ = tell(mara, "My daughter Ella plays the flute.", "The piano is out of tune.")
    report = mara.forget(about="Ella")
    assert report.records == (told,)
    assert_gone(mara, "Ella", "flute")
    assert mara.admin.prove_forgotten(report).clean


def test_a_dry_run_names_the_reply_that_repeats_what_goes(mara: Memory) -> None:
    """S6: in the same turn; another reply is not named."""
    said, *_ = mara.add("My salary is 5400 a month.")
    repeats, *_ = mara.add({"role": "assistant", "content": "Noted. A salary of 5400 a month is good to know."})
    mara.add({"role": "assistant", "content": "Shall we plan the holidays now?"})
    shown = mara.forget(said, dry_run=True)
    assert isinstance(shown, ForgetPreview)
    assert [(one.id, one.why) for one in shown.stays] == [(repeats, "repeats what goes")]


def test_one_user_cannot_forget_what_another_has(open_memory: OpenMemory) -> None:
    """S6, C0."""
    mara, ben = open_memory("mara"), open_memory("ben")
    tell(mara, "I live in Porto.")
    with pytest.raises(ItemNotFound):
        ben.forget("r1")
    assert not ben.forget(matching="Porto")
    assert mara.search("Where do I live?")


def test_summaries_are_made_again_without_it(mara: Memory, clock: FakeClock) -> None:
    """S6, O27, O29: compaction records, LONGMEMORY.md, the archive."""
    for number in range(12):
        tell(mara, f"Day {number}: the Heron pump number {number} runs well and quietly in the hall.")
    ids = tell(mara, "Our supplier for the pump seals is Quuxcorp in Gdynia.")
    clock.turn(days=30)
    mara.journal.compact(force=True)
    mara.organize()
    assert files_with(mara.home.path, "Quuxcorp")
    report = mara.forget(ids[0])
    assert_gone(mara, "Quuxcorp", "Gdynia")
    assert mara.admin.prove_forgotten(report).clean
    assert "pump number 3" in mara.journal.every_file.long_memory.read_text()


def test_only_the_note_that_is_named_loses_a_paragraph(mara: Memory) -> None:
    """S6: another worker's note, and another note of the same worker, say the same."""
    text = "The valve is a Quuxvalve.\n\nThe pump is old."
    for worker, key in (("builder", "pipes"), ("builder", "copy"), ("plumber", "pipes")):
        mara.notes.worker(worker).store(key, text)
    mara.organize()
    folder = mara.journal.every_file.root / "workers"
    mara.forget(next(o.id for o in mara.list("note") if "builder/memory/pipes" in o.path and "valve" in o.text))
    assert "Quuxvalve" not in (folder / "builder/memory/pipes.md").read_text()
    assert "The pump is old." in (folder / "builder/memory/pipes.md").read_text()
    assert (folder / "builder/memory/copy.md").read_text() == text
    assert (folder / "plumber/memory/pipes.md").read_text() == text


def test_a_logged_search_goes_with_anything_that_it_found(mara: Memory) -> None:
    """S6, R10: by the id of the fact, the line, the note or the experience, whatever it was asked."""
    tell(mara, "My sister Zelda works at Quuxcorp as a nurse.")
    mara.journal.remember("The boiler key hangs behind the mirror.", "learned")
    mara.organize()
    for kind, question in (("fact", "family"), ("journal", "heating")):
        hits = mara._parts.recall.search("Zelda Quuxcorp nurse boiler key mirror", 20)
        hit = next(one for one in everything(hits) if one.kind == kind)
        mara._parts.recall_log.begin("search", "", question)([hit])
        mara._parts.recall_log.begin("search", "", "weather")([])
        mara.forget(hit.id)
        assert question not in [one.question for one in mara.admin.recall_log()]
    assert "weather" in [one.question for one in mara.admin.recall_log()]


def test_every_word_of_a_long_conversation_goes(mara: Memory) -> None:
    """S6: more words than are looked for at a time; titles, logs, the vocabulary and summaries may hold any."""
    words = [f"q{''.join(chr(97 + int(digit)) for digit in f'{number:04}')}x" for number in range(1_200)]
    for start in range(0, 1_200, 100):
        mara.add(f"The list has {' '.join(words[start : start + 100])}.")
    mara.add("I live in Porto.")
    mara.end_session()
    mara.organize()
    asked = [words[number] for number in range(0, 1_200, 300)]
    for word in asked:
        mara.search(f"Is {word} in it?")
    report = mara.forget(session=mara.sessions.recent(1)[0])
    assert {*words} <= {*report.words}
    database = mara._parts.shared.database
    assert not database.read(lambda tx: tx.all("SELECT word FROM words WHERE word LIKE 'q%'"))
    assert not mara.admin.recall_log()
    assert_gone(mara, *asked)
    assert mara.admin.prove_forgotten(report).clean


# Any history


def marked(record: Record, number: int) -> Record:
    """The record with words that no other has."""
    person, place = markers(number)
    words = f"I met {person} near {place} yesterday."
    if isinstance(record, ToolCall):
        return ToolCall(record.name, {"command": words}, at=record.at)
    return replace(record, text=f"{words} {record.text}" if number % 2 else f"{record.text}\n{words}")


def markers(number: int) -> tuple[str, str]:
    name = "".join(chr(ord("a") + int(digit)) for digit in f"{number:06}")
    return f"Zq{name}vara", f"Kx{name}holm"


targets = st.sampled_from(("record", "record", "fact", "session", "agent", "about", "matching", "line"))
sessions = st.lists(transcripts.sessions, min_size=1, max_size=4)
_users = itertools.count()


def facts_of(memory: Memory) -> dict[str, tuple[int, ...]]:
    return {
        fact.text: fact.records
        for document in memory.documents.walk()
        for fact in parse_facts(document.body)
        if fact.current
    }


def texts_of(memory: Memory) -> dict[int, str]:
    return {
        one.id: str(one.record)
        for session in memory.sessions.recent(1_000)
        for one in memory.sessions.history(session)
    }


def forget_something(memory: Memory, kind: str, which: int, numbers: dict[int, int]) -> Any:
    known = sorted(numbers)
    one = known[which % len(known)]
    match kind:
        case "fact" if facts := memory.list("fact", limit=1_000):
            return memory.forget(facts[which % len(facts)].id)
        case "line" if lines := memory.list("journal", limit=1_000):
            return memory.forget(lines[which % len(lines)].id)
        case "session":
            sessions = memory.sessions.recent(100)
            return memory.forget(session=sessions[which % len(sessions)])
        case "agent":
            agents = [agent for agent in memory.agents.list() if agent.descriptor.kind != "memory-agent"]
            return memory.forget(agent=agents[which % len(agents)])
        case "about":
            return memory.forget(about=markers(numbers[one])[0])
        case "matching":
            return memory.forget(matching=markers(numbers[one])[1])
        case _:
            return memory.forget(f"r{one}")


@pytest.fixture
def home(tmp_path: Path, storage: dict[str, Any]) -> Iterator[Store]:
    clock = FakeClock(transcripts.BEGINNING + timedelta(days=40))
    with Store.open(tmp_path / "home", clock=clock, storage=storage, continuity=EVERYTHING_ON) as store:
        yield store


LONG = [pytest.param(part, 50, marks=pytest.mark.soak, id=f"50 histories, part {part}") for part in range(1, 4)]


_numbers = itertools.count()


def check_history(home: Store, told: Sequence[Session], kind: str, which: int, compacted: bool) -> None:
    """Tell a new user's memory a history, forget a part of it, and look at everything."""
    memory = home.user(f"u{next(_users)}")
    numbers: dict[int, int] = {}
    for descriptor, records in told:
        agent = memory.agent(descriptor)
        first = next(_numbers) * 10
        marked_records = [marked(one, first + place) for place, one in enumerate(records)]
        for place, id_ in enumerate(memory.append_many(agent, marked_records)):
            numbers[id_] = first + place
        memory.end_session(agent)
        memory.organize()
    if compacted:
        memory.journal.compact(force=True)
        memory.organize()
    before, facts = texts_of(memory), facts_of(memory)
    found = {id_: [hit.id for hit in memory.search(markers(n)[0], 1)] for id_, n in numbers.items()}
    report = forget_something(memory, kind, which, numbers)
    assert report.complete, report.left
    gone = {int(id_[1:]) for id_ in report.records}
    touched = gone | {int(id_[1:]) for id_ in report.cut}
    for id_ in gone & numbers.keys():
        assert_gone(memory, *markers(numbers[id_]))
    proof = memory.admin.prove_forgotten(report)
    assert proof.clean, (proof.found, report.words)
    left = texts_of(memory)
    for id_, text in before.items():
        assert id_ in touched or left.get(id_) == text
    if kind in ("record", "session", "agent"):
        kept = facts_of(memory)
        for text, cited in facts.items():
            assert text in kept or not touched.isdisjoint(cited) or "[" in text, (text, cited)
        for id_, hits in found.items():
            if id_ not in touched and hits == [f"r{id_}"]:
                best = memory.search(markers(numbers[id_])[0], 1)[0]
                assert markers(numbers[id_])[0] in best.text, (id_, best)
    assert memory.admin.health().status == "green", memory.admin.health()
    assert not memory.admin.verify()


@pytest.mark.parametrize(("part", "histories"), [pytest.param(0, 4, id="4 histories"), *LONG])
def test_any_part_of_any_history_can_be_forgotten(home: Store, part: int, histories: int) -> None:
    """S6: property. The words that only it held are nowhere, everything else is as it was."""

    @seed(part)
    @settings(
        max_examples=histories,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),
    )
    @given(sessions, targets, st.integers(0, 99), st.booleans())
    def check(told: Sequence[Session], kind: str, which: int, compacted: bool) -> None:
        check_history(home, told, kind, which, compacted)

    check()


def test_an_assistants_question_leaves_the_answer_that_quotes_it(mara: Memory) -> None:
    """S6, O8: the question that a quote has in brackets goes with its record."""
    tell(
        mara,
        {"role": "assistant", "content": "Which Vorpal colour do you want for the kitchen?"},
        "Light green, please.",
        "I live in Porto.",
    )
    mara.forget("r1")
    assert_gone(mara, "Vorpal")


# A whole user


def test_a_user_goes_with_everything(open_memory: OpenMemory) -> None:
    """S6: rows, files, vectors, and the name; others stay."""
    mara, ben = open_memory("mara", continuity=EVERYTHING_ON), open_memory("ben", continuity=EVERYTHING_ON)
    tell(mara, "My sister Zelda works at Quuxcorp as a nurse.")
    tell(ben, "I live in Porto.")
    preview = mara.store.forget_user("mara", dry_run=True)
    assert preview.agents == 2
    assert preview.files
    report = ben.store.forget_user("mara")
    assert report.complete
    for word in ("Zelda", "Quuxcorp", "mara"):
        assert not rows_with(ben._parts.shared.database, word)
        assert not files_with(ben.home.path, word)
    assert not (ben.home.path / "users" / "mara").exists()
    assert ben.search("Where do I live?")[0].text == "I live in Porto."
    assert "mara" not in ben.store.users()
    with pytest.raises(UserNotFound):
        ben.store.forget_user("mara")


def test_a_user_whose_erasure_was_interrupted_goes_at_the_next_start(open_memory: OpenMemory) -> None:
    """S6: and so does anything else."""
    mara = open_memory("mara", continuity=EVERYTHING_ON)
    tell(mara, "My sister Zelda works at Quuxcorp as a nurse.", "I live in Porto.")
    plan = ErasurePlan(records={1: ""})
    mara._write(lambda tx: store_plan(tx, "mara", plan, "person", mara._clock()))
    mara.close()
    again = open_memory("mara", continuity=EVERYTHING_ON)
    assert_gone(again, "Zelda", "Quuxcorp")
    again._write(lambda tx: store_plan(tx, "mara", ErasurePlan(everything=True), "person", again._clock()))
    again.close()
    assert "mara" not in open_memory("ben").store.users()


def test_an_import_does_not_bring_it_back(open_memory: OpenMemory, tmp_path: Path) -> None:
    """S6, S10: an export that was made before."""
    mara = open_memory("mara", continuity=EVERYTHING_ON)
    told = tell(mara, "My sister Zelda works at Quuxcorp as a nurse.", "I live in Porto.")
    mara.export(tmp_path / "before")
    mara.forget(told[0])
    mara.store.import_user(tmp_path / "before", "mara-again")
    again = mara.store.user("mara-again")
    again.organize()
    assert not rows_with(again._parts.shared.database, "Quuxcorp")
    assert again.search("Where do I live?")[0].text == "I live in Porto."


# What must not happen


def test_a_fact_is_not_quoted_again_from_another_users_record(open_memory: OpenMemory) -> None:
    """S6, C0: a person may write any number into a citation."""
    mara, ben = open_memory("mara"), open_memory("ben")
    theirs = tell(mara, "My bank card is stored at the Quuxcorp safe.")[0]
    own = tell(ben, "The bank card is blue.")[0]
    body = f"the bank card is stored somewhere blue. [2026-02-24, {own}, {theirs}]"
    ben.documents.write(slug="cards", title="Cards", description="", body=body)
    ben.forget(own)
    assert not any("Quuxcorp" in document.body for document in ben.documents.walk())


def test_a_word_that_is_a_part_of_another_takes_nothing_along(mara: Memory, clock: FakeClock) -> None:
    """S6: "rain" is in "training"."""
    for number in range(4):
        tell(mara, f"The training for the Heron pump number {number} starts on Monday in the big hall.")
    rain = tell(mara, "I really enjoy rain at the seaside in November.")
    clock.turn(days=30)
    mara.journal.compact(force=True)
    mara.forget(*rain)
    assert "The training for the Heron pump number 2" in mara.journal.every_file.long_memory.read_text()


def test_what_lost_a_part_does_not_come_back_whole(mara: Memory, clock: FakeClock) -> None:
    """S6: a replayed transcript, in which it is twice."""
    talk = "The standup is at nine in the big room. Priya chairs it on most days. " * 4
    said = UserMessage(f"{talk}I'm allergic to pistachios.", at=clock() - timedelta(days=1))
    number = mara.append(mara.agent(), said)
    mara.end_session()
    mara.organize()
    report = mara.forget(fact_with(mara, "pistachios").id)
    assert report.cut == (f"r{number}",)
    assert mara.append_many(mara.agent(), [said, said]) == [number, number]
    assert_gone(mara, "pistachios")


def test_a_session_that_goes_on_keeps_what_was_said_since(mara: Memory) -> None:
    """S6: an erasure that was interrupted takes what was there when it was asked for."""
    mara.add("The Vorpal release is on Friday.")
    session = mara.sessions.list(mara.agent())[0]
    plan = ErasurePlan(records={1: ""}, sessions=[session.id], agents=[session.agent_id])
    mara._write(lambda tx: store_plan(tx, "mara", plan, "person", mara._clock()))
    mara.add("I live in Porto.")
    assert mara._parts.eraser.resume() == 1
    assert mara.search("Where do I live?")[0].text == "I live in Porto."
    assert_gone(mara, "Vorpal")


def test_two_conditions_narrow_each_other_and_a_name_is_read_in_order(mara: Memory) -> None:
    """S6."""
    tell(mara, "Ana Lima likes frost.", "In Lima we saw Ana Costa.", "Ana Lima likes the sea.")
    assert mara.forget(about="Ana Lima", matching="frost", dry_run=True).records == ("r1",)
    assert mara.forget(about="Ana Lima", dry_run=True).records == ("r1", "r3")
    with pytest.raises(ItemNotFound):
        mara.forget("r99999999999999999999999999")


def test_the_settings_of_a_home_are_no_trace(open_memory: OpenMemory) -> None:
    """S6: their comments are made of everyday words."""
    mara = open_memory("mara")
    tell(mara, "Tom was late for work at first.")
    (mara.home.path / "lifelong.toml").write_text("# What does the work first.\n")
    assert mara.admin.prove_forgotten(mara.forget("r1")).clean


def test_words_of_ours_are_no_trace(open_memory: OpenMemory) -> None:
    """S6: the keys of facts, the kinds of agents, and what a category holds, also where somebody is called so."""
    mara = open_memory("mara")
    tell(mara, {"role": "user", "content": "I found the Vorpal memory at home.", "name": "Findings"})
    tell(mara, "My home is in Porto.", {"role": "user", "content": "I live in Gdynia.", "name": "Findings"})
    report = mara.forget("r1")
    proof = mara.admin.prove_forgotten(report)
    assert proof.clean, (proof.found, report.words)


# What many say


def test_words_that_many_hold_take_nothing_along(mara: Memory, clock: FakeClock) -> None:
    """S6: the newest items with a word may all be made of records; older records hold it, too."""
    names = [
        f"{first}{second}"
        for first in ("An", "Bo", "Cy", "Di", "Ed", "Flo", "Gus")
        for second in ("ka", "ro", "mi")
    ]
    ids: list[str] = []
    for number, name in enumerate(names * 3):
        ids += mara.add(f"My friend {name} lives in house {number} and collects project number P{number:05d}.")
        clock.turn(hours=1)
    mara.end_session()
    mara.organize()
    mara.journal.compact(force=True)
    before = {one.text for one in mara.experiences.list(limit=1_000)}
    assert len(before) > 55
    report = mara.forget(ids[4])
    after = {one.text for one in mara.experiences.list(limit=1_000)}
    assert all("P00004" in text for text in before - after)
    assert report.words == ("P00004",)
    assert mara.admin.prove_forgotten(report).clean


# What is in the way


def test_a_file_that_cannot_be_mapped_is_said(mara: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """S6: the error of a mapping names no file."""
    report = mara.forget(tell(mara, "My sister Zelda works at Quuxcorp.")[0])

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))

    monkeypatch.setattr("lifelong.forget.proof.mmap.mmap", fail)
    proof = mara.admin.prove_forgotten(report)
    assert any(one.endswith("MEMORY.md (perhaps: it cannot be read)") for one in proof.found)


def test_a_file_that_cannot_be_written_again_is_said_and_goes_later(
    open_memory: OpenMemory, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    """S6: the plan stands, so the report says what is left to do, and health does until it is done."""
    mara = open_memory("mara", continuity=EVERYTHING_ON)
    first, _ = tell(mara, "My sister Zelda works at Quuxcorp.", "I live in Porto.")
    obstacle = mara.home.path / "users" / "mara" / ".MEMORY.md.new"
    obstacle.mkdir()
    report = mara.forget(first)
    assert report
    assert not report.complete
    assert report.records == (first,)
    assert "MEMORY.md could not be written" in report.left
    assert "Nothing was changed" not in report.left + caplog.text
    assert "Check the file's permissions" in report.left
    assert mara.admin.health().status == "yellow"
    assert report.left in mara.admin.health().reasons
    clock.turn(minutes=2)
    other = open_memory("mara", continuity=EVERYTHING_ON).admin.health()
    assert other.status == "yellow"
    assert any("not all gone yet" in reason for reason in other.reasons)

    obstacle.rmdir()
    mara.organize()
    assert mara.admin.health().reasons == ()
    assert_gone(mara, "Quuxcorp")


def test_a_user_whose_files_cannot_be_removed_goes_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(tmp_path) as store:
        store.user("mara").add("My sister Zelda works at Quuxcorp.")
        store.user("mara").notes.worker("w").store("k", "Quuxcorp")
        monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)
        report = store.forget_user("mara")
        assert not report.complete
        assert "could not be removed" in report.left
        assert store.user().admin.health().status == "green"  # somebody else's, and not for long so far
        monkeypatch.undo()
        store.organize()
        assert store.users() == ["default"]
        assert not files_with(tmp_path, "Quuxcorp")


def test_an_archive_that_cannot_be_looked_at_is_not_taken_for_an_empty_one(mara: Memory) -> None:
    """S6: it may hold what is to be forgotten."""
    [first] = tell(mara, "My sister Zelda works at Quuxcorp.")
    archive = mara.home.path / "users" / "mara" / "archive"
    archive.symlink_to("archive")  # which nobody can open, not even root
    report = mara.forget(first)
    assert not report.complete
    assert "archive could not be read" in report.left
    archive.unlink()
    mara.organize()
    assert mara.admin.health().status == "green"
    assert_gone(mara, "Quuxcorp")


def test_a_user_whose_folder_cannot_be_looked_at_is_said(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store:
        store.user("mara").add("My sister Zelda works at Quuxcorp.")
        store.user("mara").notes.worker("w").store("k", "Quuxcorp")
        eraser = store.user("mara")._parts.eraser
        assert eraser.preview_user().files
        is_root = os.geteuid() == 0
        (tmp_path / "users").chmod(0o000)
        if is_root:
            os.seteuid(65534)
        try:
            with pytest.raises(JournalError, match=r"users/mara could not be read: Permission denied\. Check"):
                eraser.preview_user()
        finally:
            if is_root:
                os.seteuid(0)
            (tmp_path / "users").chmod(0o700)
