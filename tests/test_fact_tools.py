"""The fact-level tools of a model, and what it is told (SPEC O13a)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pydantic_ai.models
import pytest

from lifelong import Cron, Memory, User
from lifelong.errors import InputError
from lifelong.organize.document_rows import MEMORY_ROOT
from lifelong.organize.documents import DocumentStore
from lifelong.organize.draft import Draft, slug_of
from lifelong.organize.fact_tools import FactTools
from lifelong.organize.llm_prompt import outline, spoken_time, who_speaks
from lifelong.organize.organizer import Transcript
from lifelong.organize.write_policy import WritePolicy
from lifelong.storage.base import Database
from lifelong.testing import FakeClock
from lifelong.types import Record, StoredRecord, SystemMessage, ToolResult, UserMessage
from tests.model_servers import Call, ModelServer, Reply, say, told

AT = datetime(2026, 3, 5, 10, tzinfo=UTC)


@pytest.fixture
def storage() -> dict[str, Any]:
    """The tools have no rows of their own: one database is enough."""
    return {}


SAID: dict[int, Record] = {
    101: UserMessage("Anna Berg moved to Lisbon. She is a nurse."),
    102: ToolResult("Casa do Fado costs 84 EUR a night.", provenance="web"),
    103: UserMessage("Anna lives in Porto now."),
}


def transcript(said: dict[int, Record] = SAID, **more: Any) -> Transcript:
    records = tuple(StoredRecord(number, "s", AT, AT, record) for number, record in said.items())
    return Transcript(
        "mara", "a", "s", 100, max(said), "Anna Berg moved.", records, **{"foreground": True, **more}
    )


@pytest.fixture
def draft(database: Database, clock: FakeClock) -> Draft:
    """The draft of a run, whose records are there when they are asked for."""
    made = Draft(database, "mara", below=MEMORY_ROOT, policy=WritePolicy(transcript()))
    made.said_at = lambda record_id: AT if record_id in SAID else None  # type: ignore[method-assign]
    return made


@pytest.fixture
def tools(draft: Draft) -> FactTools:
    return FactTools(draft, transcript())


def body(draft: Draft, path: str) -> str:
    document = draft.at(f"~/memory/{path}")
    assert document, path
    return document.body


def test_a_fact_makes_the_documents_it_needs(tools: FactTools, draft: Draft) -> None:
    """O13a: slug, title and parent are computed; the next fact goes to the same document, however it is named."""
    assert tools.add_fact("people/Anna Berg", "moved to Lisbon.", "r101") == "n1 in people/anna-berg"
    tools.add_fact("~/memory/people/anna-berg", "is a nurse.", "101")
    tools.add_fact("people/ANNA BERG", "Anna is called Anna. [r101]", "[r101]")
    document = draft.at("~/memory/people/anna-berg")
    assert document
    assert document.title == "Anna Berg"
    assert document.body == "moved to Lisbon. [r101]\n\nis a nurse. [r101]\n\nAnna is called Anna. [r101]"


def test_a_fact_is_not_added_twice(tools: FactTools, draft: Draft) -> None:
    """O13a: the same text with the same records is there already; with other records it cites these too."""
    for _ in range(2):
        tools.add_fact("people/Anna Berg", "moved to Lisbon.", "r101")
    tools.add_fact("people/Anna Berg", "Moved to lisbon.", "r103")
    assert body(draft, "people/anna-berg") == "moved to Lisbon. [r101, r103]"


def test_what_only_data_says_is_marked(tools: FactTools, draft: Draft) -> None:
    """O12: without the model's doing."""
    tools.add_fact("projects/Casa do Fado", "costs 84 EUR a night.", "r102")
    assert body(draft, "projects/casa-do-fado") == "costs 84 EUR a night. [r102, from web]"


def test_what_a_person_says_is_not_taken_for_data_that_said_it_before(database: Database) -> None:
    """O12, S5: each keeps its own trust."""
    said = {**SAID, 104: UserMessage("I asked: Casa do Fado costs 84 EUR a night.")}
    draft = Draft(database, "mara", below=MEMORY_ROOT, policy=WritePolicy(transcript(said)))
    tools = FactTools(draft, transcript(said))
    for record in ("r102", "r104"):
        tools.add_fact("projects/Casa do Fado", "costs 84 EUR a night.", record)
    found = body(draft, "projects/casa-do-fado").split("\n\n")
    assert found == ["costs 84 EUR a night. [r102, from web]", "costs 84 EUR a night. [r104]"]


def test_facts_are_superseded_cited_retracted_and_moved(tools: FactTools, draft: Draft) -> None:
    """O11, O13a: by their short ids; what ended stays below Earlier."""
    tools.add_fact("people/Anna Berg", "lives in Lisbon.", "r101")
    tools.add_fact("people/Anna Berg", "is a nurse.", "r101")
    tools.add_fact("projects/Anna", "Anna moved.", "r101")
    assert tools.supersede("n1", "lives in Porto.", "r103") == "n4 in people/anna-berg"
    assert tools.cite("n2", "r103") == "n2 in people/anna-berg"
    assert tools.move("n3", "people/Anna Berg") == "n5 in people/anna-berg"
    assert body(draft, "projects/anna") == ""
    assert body(draft, "people/anna-berg") == (
        "lives in Porto. [r103]\n\nis a nurse. [r101, r103]\n\nAnna moved. [r101]\n\n## Earlier\n\n"
        "lives in Lisbon. [r101, until 2026-03-05 by r103]"
    )
    assert tools.retract("n4", "r103") == "Ended in people/anna-berg."
    for gone in ("n1", "n4", "f99", "vegetarian"):
        with pytest.raises(InputError, match=r"No current fact has the id"):
            tools.cite(gone, "r103")


@pytest.mark.parametrize(
    ("to", "records", "message"),
    [
        ("", "r101", "names no document"),
        ("a/b/c/d", "r101", "names no document"),
        ("Anna", "r101", "in no category. Begin with one of people, projects"),
        ("people/Anna", "all", "no record"),
    ],
)
def test_a_refusal_says_what_to_give(tools: FactTools, to: str, records: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        tools.add_fact(to, "is a nurse.", records)


def test_slugs_are_plain() -> None:
    assert [slug_of(title) for title in ("Anna Berg", "Graça (Lisbon)", "lifelong.toml", "2026-03", "東京")] == [
        "anna-berg",
        "graca-lisbon",
        "lifelong-toml",
        "2026-03",
        "東京",
    ]


# What a model is told


def test_it_is_told_who_speaks_and_what_time_it_is() -> None:
    """O13a: a person or not, names where there are any, the weekday and the zone."""
    people: dict[int, Record] = {1: UserMessage("Hi", speaker="Mara"), 2: UserMessage("Hello")}
    alone = transcript(people, user_address="42", agent="/connectors/telegram/42/home")
    assert who_speaks(alone) == (
        "This is the memory of mara. The agent is /connectors/telegram/42/home. A person takes part: `User` is "
        "Mara; without a name, 42."
    )
    assert "No person takes part" in who_speaks(transcript(foreground=False, agent="/cron/backup"))
    assert spoken_time(AT.astimezone(ZoneInfo("Asia/Tokyo"))) == "Thursday, 5 March 2026, 19:00 (Asia/Tokyo)"


def test_the_outline_is_bounded(database: Database, clock: FakeClock) -> None:
    """O13a: a line a category; a title where the slug does not tell it."""
    store = DocumentStore(database, "mara", clock)
    store.write(slug="people", title="People", body="", parent_path=MEMORY_ROOT)
    store.write(slug="ab", title="Anna Berg", body="", parent_path="~/memory/people")
    store.write(slug="tom", title="Tom", body="", parent_path="~/memory/people")
    assert outline(store.draft()) == "people: ab (Anna Berg), tom"
    for number in range(200):
        store.write(
            slug=f"person-{number:04}", title=f"Person {number:04}", body="", parent_path="~/memory/people"
        )
    assert len(outline(store.draft())) < 1_300
    assert outline(store.draft()).endswith(", …")


def test_a_run_takes_one_batch(open_memory: Callable[..., Memory], clock: FakeClock) -> None:
    """O13a: over HTTP: the related facts are in the prompt with ids, `done` ends the run without another request,
    and lists are taken where texts are wanted."""
    seen: list[str] = []

    def think(asked: dict[str, Any]) -> Reply:
        seen.append(told(asked))
        if len(seen) == 1:
            facts = [("people/Mara", "is vegetarian."), ("people/Mara", "lives in Porto.")]
            calls = [Call("add_fact", {"to": to, "text": text, "records": ["r1"]}) for to, text in facts]
        else:
            known = next(
                line.split()[0] for line in seen[-1].splitlines() if line.endswith("lives in Porto. [r1]")
            )
            calls = [Call("supersede", {"fact": known, "text": "lives in Lisbon.", "records": 4})]
        return Reply(calls=(*calls, Call("done")))

    with ModelServer(think) as server, pydantic_ai.models.override_allow_model_requests(True):
        models = {"model": "openai:gpt-4o-mini", "base_url": server.base_url("openai"), "api_key": "k"}
        memory = open_memory("mara", models=models, continuity={"time_zone": "Asia/Tokyo"})
        agent = memory.agent(User("cli", "mara", "main"))
        for said in ("I live in Porto, and I am vegetarian.", "I live in Lisbon now."):
            memory.append(agent, UserMessage(said))
            memory.end_session(agent)
            memory.organize()
        assert len(server.requests) == 2
        assert "(Asia/Tokyo)" in seen[0]
        assert "JST]" in seen[0]
        assert memory.documents.read("~/memory/people/mara").body == (
            "is vegetarian. [r1]\n\nlives in Lisbon. [r4]\n\n## Earlier\n\n"
            "lives in Porto. [r1, until 2026-02-24 by r4]"
        )
        note = memory.documents.changesets()[0].note
        assert note == "~/memory/people/mara: added 'lives in Lisbon.', ended 'lives in Porto.'"


def test_done_with_a_refused_call_gets_one_chance_to_mend(open_memory: Callable[..., Memory]) -> None:
    """O13a: an unknown fact, called twice in vain, is in the note; the rest is kept."""
    wrong = Call("cite", {"fact": "f99", "records": "r1"})
    right = Call("add_fact", {"to": "rules", "text": "Back up every night.", "records": "r1"})
    script = [Reply(calls=(wrong, right, Call("done"))), Reply(calls=(wrong, Call("done"))), say("never")]
    with ModelServer(script) as server, pydantic_ai.models.override_allow_model_requests(True):
        models = {"model": "openai:gpt-4o-mini", "base_url": server.base_url("openai"), "api_key": "k"}
        memory = open_memory(models=models)
        agent = memory.agent(Cron("backup"))
        memory.append(agent, UserMessage("Back up every night."))
        memory.end_session(agent)
        assert memory.organize().finished == 1
        assert len(server.requests) == 2
        assert "No person takes part" in told(server.requests[0])
        assert memory.documents.read("~/memory/rules").body == "Back up every night. [r1]"
        assert "Refused: 'f99 r1'" in memory.documents.changesets()[0].note


def test_every_refusal_gets_a_chance_to_mend(open_memory: Callable[..., Memory]) -> None:
    """O13a: also one beside the second `done`, if it is another."""
    wrong = Call("add_fact", {"to": "rules", "text": "Back up every night.", "records": "r99"})
    other = Call("add_fact", {"to": "Backups", "text": "Back up every night.", "records": "r1"})
    right = Call("add_fact", {"to": "rules", "text": "Back up every night.", "records": "r1"})
    script = [Reply(calls=(one, Call("done"))) for one in (wrong, other, right)]
    with ModelServer(script) as server, pydantic_ai.models.override_allow_model_requests(True):
        models = {"model": "openai:gpt-4o-mini", "base_url": server.base_url("openai"), "api_key": "k"}
        memory = open_memory(models=models)
        agent = memory.agent(Cron("backup"))
        memory.append(agent, UserMessage("Back up every night."))
        memory.end_session(agent)
        assert memory.organize().finished == 1
        assert memory.documents.read("~/memory/rules").body == "Back up every night. [r1]"
        assert "Refused" not in memory.documents.changesets()[0].note


def test_a_refused_call_without_words_is_made_good_by_its_target(open_memory: Callable[..., Memory]) -> None:
    """O13a: the note tells of no refusal that was mended; and whatever is said with `done` does not matter."""
    add = Call("add_fact", {"to": "rules", "text": "Back up every night.", "records": "r1"})
    wrong, right = (Call("retract", {"fact": "n1", "records": record}) for record in ("r99", "r2"))
    script = [
        Reply(calls=(add, wrong, Call("done"))),
        Reply(calls=(right, Call("done", {"note": "All is well."}))),
    ]
    with ModelServer(script) as server, pydantic_ai.models.override_allow_model_requests(True):
        models = {"model": "openai:gpt-4o-mini", "base_url": server.base_url("openai"), "api_key": "k"}
        memory = open_memory(models=models)
        memory.add(["Back up every night.", "No longer back up every night."])
        memory.end_session()
        assert memory.organize().finished == 1
        assert len(server.requests) == 2
        assert "Refused" not in memory.documents.changesets()[0].note


def test_a_refusal_in_one_part_does_not_fail_the_next(open_memory: Callable[..., Memory]) -> None:
    """O13a: a part of which nothing is kept is done; the note names what an earlier part left out. Each part is
    shown the facts that are related to it."""
    known = [
        Call("add_fact", {"to": "people/Beatriz", "text": "plays the cello in Coimbra.", "records": "r1"}),
        Call("add_fact", {"to": "people/Henrik", "text": "repairs wooden boats in Bergen.", "records": "r2"}),
        Call("done"),
    ]
    keep = Call("add_fact", {"to": "people/Beatriz", "text": "plays the cello on Fridays.", "records": "r5"})
    wrong = Call("add_fact", {"to": "people/Beatriz", "text": "is a millionaire.", "records": "r5"})
    done = Call("done")
    script = [
        Reply(calls=tuple(known)),
        Reply(calls=(keep, wrong, done)),
        Reply(calls=(done,)),
        *[Reply(calls=(done,))] * 3,
    ]
    with ModelServer(script) as server, pydantic_ai.models.override_allow_model_requests(True):
        models = {"model": "openai:gpt-4o-mini", "base_url": server.base_url("openai"), "api_key": "k"}
        memory = open_memory(models={**models, "context_chars": 1_400})
        memory.add(["Beatriz plays the cello in Coimbra.", "Henrik repairs wooden boats in Bergen."])
        memory.end_session()
        memory.organize()
        memory.add(
            ["Beatriz plays the cello on Fridays.", "We talked. " * 45, "Did Henrik repair the wooden boat?"]
        )
        memory.end_session()
        assert memory.organize().finished == 1
        assert "is a millionaire" in memory.documents.changesets()[0].note
    first, last = told(server.requests[1]), told(server.requests[-1])
    assert ("cello in Coimbra" in first, "boats in Bergen" in first) == (True, False)
    assert "boats in Bergen" in last


def test_known_facts_are_shown_with_links_and_of_all_who_are_named(open_memory: Callable[..., Memory]) -> None:
    """O13a: a fact with a link; one of a person named in the genitive; a policy that the host repeats. An id of a
    document that was read may be used."""
    script = [
        Reply(
            calls=(
                Call("add_fact", {"to": "people/Beatriz", "text": "writes the [[Bus]] adapter.", "records": "r1"}),
                Call("add_fact", {"to": "projects/Bus", "text": "moves messages.", "records": "r1"}),
                Call("add_fact", {"to": "rules", "text": "Host: the warranty is 24 months.", "records": "r2"}),
                Call("done"),
            )
        ),
        Reply(calls=(Call("document_read", {"path": "~/memory/projects/bus"}),)),
        Reply(calls=(Call("cite", {"fact": "f2", "records": "r5"}), Call("done"))),
    ]
    with ModelServer(script) as server, pydantic_ai.models.override_allow_model_requests(True):
        models = {"model": "openai:gpt-4o-mini", "base_url": server.base_url("openai"), "api_key": "k"}
        memory = open_memory(models=models)
        agent = memory.agent(User("cli", "mara", "/home/mara/src/harbor"))
        memory.append(agent, UserMessage("Beatriz writes the adapter of the bus, which moves messages."))
        memory.append(agent, SystemMessage("The warranty is 24 months."))
        memory.end_session(agent)
        memory.organize()
        memory.append(agent, UserMessage("Is Beatriz's adapter for the bus there?"))
        memory.append(agent, SystemMessage("The warranty is 36 months."))
        memory.end_session(agent)
        memory.organize()
    asked = told(server.requests[1])
    assert "at work on projects/harbor" in asked
    assert "people/beatriz: writes the [[Bus]] adapter. [r1]" in asked
    assert "rules: Host: the warranty is 24 months. [r2]" in asked


def test_the_next_part_shows_what_the_run_has_added(open_memory: Callable[..., Memory]) -> None:
    """O13a: so that it may be superseded; and a heading stays with its text."""
    script = [
        Reply(
            calls=(
                Call("add_fact", {"to": "events/2026-08", "text": "The feast is on 22 August.", "records": "r1"}),
                Call("done"),
            )
        ),
        Reply(
            calls=(
                Call("supersede", {"fact": "n1", "text": "The feast is on 29 August.", "records": "r3"}),
                Call("done"),
            )
        ),
    ]
    with ModelServer(script) as server, pydantic_ai.models.override_allow_model_requests(True):
        models = {"model": "openai:gpt-4o-mini", "base_url": server.base_url("openai"), "api_key": "k"}
        memory = open_memory(models={**models, "context_chars": 1_400})
        agent = memory.agent(User("cli", "mara", "main"))
        for said in ("The feast is on 22 August.", "We talked. " * 45, "The feast is on 29 August now."):
            memory.append(agent, UserMessage(said))
        memory.end_session(agent)
        memory.organize()
        assert "n1 events/2026-08: The feast is on 22 August. [r1]" in told(server.requests[1])
        document = memory.documents.read("~/memory/events/2026-08")
        assert document.title == "2026-08"
        assert document.body.startswith("The feast is on 29 August. [r3]\n\n## Earlier")
    assert not told(server.requests[0]).removesuffix("\n\n</transcript>").endswith("]")


def test_data_beside_a_persons_word_is_marked_and_ends_nothing(tools: FactTools, draft: Draft) -> None:
    """O12: a fact of both is marked as data; the person's record is what ends a fact."""
    tools.add_fact("projects/Casa do Fado", "Casa do Fado costs 84 EUR a night.", "r103, r102")
    assert body(draft, "projects/casa-do-fado") == "Casa do Fado costs 84 EUR a night. [r103, r102, from web]"
    tools.add_fact("people/Anna Berg", "lives in Lisbon.", "r101")
    tools.supersede("n2", "lives in Porto.", "r103, r102")
    assert "lives in Lisbon. [r101, until 2026-03-05 by r103]" in body(draft, "people/anna-berg")
