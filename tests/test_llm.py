"""The organizer that asks a model: through real provider clients over HTTP, and with pydantic-ai's own test models
(SPEC O8, O9, O14)."""

from __future__ import annotations

import asyncio
import builtins
import json
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

import pydantic_ai.models
import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel as AnyToolModel

from lifelong import Memory, User
from lifelong.collect.descriptors import MEMORY_AGENT_TOOLS
from lifelong.errors import (
    ConfigError,
    DailyCapExceeded,
    InputError,
    ModelError,
    ModelUnavailable,
    ModelUnusable,
    RunBudgetExceeded,
    StorageBusy,
)
from lifelong.models.ledger import Call, Ledger, Spend, Tokens, cost_of
from lifelong.models.metered import MeteredModel, within
from lifelong.models.providers import model_for, unusable
from lifelong.organize.changesets import commit
from lifelong.organize.draft import Draft
from lifelong.organize.llm import MAX_REFUSED_ROUNDS, NUDGE, OUTAGES_FORGIVEN, LlmOrganizer, kept_nothing
from lifelong.organize.llm_prompt import INSTRUCTION, split
from lifelong.organize.organizer import RunResult, Transcript
from lifelong.organize.tools import document_tools
from lifelong.organize.write_policy import WritePolicy
from lifelong.settings import ModelsSettings
from lifelong.storage.base import Database
from lifelong.testing import FakeClock
from lifelong.tools import tool
from lifelong.types import Changeset, StoredRecord, UserMessage
from tests.conftest import on_sqlite, until
from tests.model_servers import ModelServer, Reply, Script, call, is_probe, refuse, results, say, told

MODELS = {"openai": "openai:gpt-4o-mini", "anthropic": "anthropic:claude-haiku-4-5"}
KEY = "sk-very-secret-key"
AT = datetime(2026, 3, 5, 10, tzinfo=UTC)

PEOPLE = {
    "slug": "people",
    "title": "People",
    "description": "Who is who.",
    "body": "",
    "parent_path": "~/memory",
}
ANNA = {
    "slug": "anna",
    "title": "Anna",
    "description": "A colleague.",
    "body": "Works as a counsellor in Lisbon. [r1]",
    "parent_path": "~/memory/people",
}
WORK = (
    call("document_read", {"path": "~/memory"}),
    call("document_write", PEOPLE),
    call("document_write", ANNA),
    say("DONE"),
)


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No model may be asked, but for one on this machine."""
    for name in (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "OPENAI_BASE_URL",
        "OLLAMA_BASE_URL",
        "ANTHROPIC_BASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)
    with pydantic_ai.models.override_allow_model_requests(False):
        yield


@pytest.fixture(params=["openai", "anthropic"])
def provider(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def transcript(
    text: str = "## User [r1, 2026-03-05 10:00:00 UTC]\n\nAnna works in Lisbon.", **more: Any
) -> Transcript:
    record = StoredRecord(1, "s1", AT, AT, UserMessage("Anna works as a counsellor in Lisbon."))
    return Transcript("default", "a1", "s1", 0, 1, text, (record,), True, **more)


def draft(database: Database) -> Draft:
    return Draft(database, "default", below="~/memory")


def calls(database: Database) -> list[Call]:
    """Oldest first."""
    return database.read(lambda tx: Ledger(tx).recent("default", 100))[::-1]


class Bench:
    """An organizer that asks a scripted server on loopback, over real HTTP."""

    def __init__(self, database: Database, clock: FakeClock, provider: str) -> None:
        self.database, self.clock, self.provider = database, clock, provider
        self.draft = draft(database)

    def settings(self, base_url: str, **more: Any) -> ModelsSettings:
        given: dict[str, Any] = {"model": MODELS[self.provider], "base_url": base_url, "api_key": KEY, **more}
        return ModelsSettings(**given)

    def organize(self, server: ModelServer, given: Transcript | None = None, **more: Any) -> RunResult:
        organizer = LlmOrganizer(self.settings(server.base_url(self.provider), **more), self.database, self.clock)
        with pydantic_ai.models.override_allow_model_requests(True):
            return organizer.organize(given or transcript(), self.draft)

    def fails(self, script: Script, error: type[Exception], match: str, **more: Any) -> ModelServer:
        with ModelServer(script) as server, pytest.raises(error, match=match) as raised:
            self.organize(server, **more)
        assert KEY not in str(raised.value)
        return server

    @property
    def bodies(self) -> dict[str, str]:
        return {edit.after.slug: edit.after.body for edit in self.draft.changes if edit.after}


@pytest.fixture
def bench(database: Database, clock: FakeClock, provider: str) -> Bench:
    return Bench(database, clock, provider)


# What it does when all is well


def test_it_reads_and_writes_documents_with_the_tools(bench: Bench) -> None:
    """O8: over a real client; the edits are in the draft, and what it used is told and booked."""
    with ModelServer(WORK) as server:
        outcome = bench.organize(server, transcript(inbox_id=7))
    assert "~/memory/people/anna: added 'Works as a counsellor in Lisbon.'" in outcome.summary
    assert bench.bodies["anna"] == ANNA["body"]
    rows = calls(bench.database)
    assert [(row.state, row.input_tokens, row.output_tokens, row.estimated) for row in rows] == [
        ("done", 1_000, 100, False)
    ] * 4
    assert {(row.purpose, row.model, row.inbox_id) for row in rows} == {("organize", MODELS[bench.provider], 7)}
    assert (outcome.model, outcome.input_tokens, outcome.output_tokens) == (MODELS[bench.provider], 4_000, 400)
    assert outcome.cost == pytest.approx(sum(row.cost for row in rows))
    assert outcome.cost > 0


def test_the_model_is_told_what_to_do_and_offered_tools(bench: Bench) -> None:
    """O8, O13a: the bundled prompt whole, who speaks, the time, and the transcript; not the note of its last run,
    which may name what was refused."""
    with ModelServer(WORK) as server:
        bench.organize(server, transcript(recent=lambda: "x" * 5_000 + "\nthe last run"))
    first = server.requests[0]
    assert "You keep the memory of another agent" in json.dumps(first)
    said = told(first)
    assert said.startswith("This is the memory of default. A person takes part: `User` is default.")
    assert "the last run" not in said
    assert "Now: Tuesday, 24 February 2026, 10:00 (UTC)." in said
    assert INSTRUCTION in said
    assert "xx" not in said
    assert said.endswith("Anna works in Lisbon.\n\n</transcript>")
    names = [tool.get("name") or tool["function"]["name"] for tool in first["tools"]]
    assert names == [name for name in MEMORY_AGENT_TOOLS if name != "search"], "nothing can be found here"
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_nothing_to_keep_is_an_answer(bench: Bench) -> None:
    """O8: a transcript of greetings changes nothing."""
    with ModelServer([say("They only greeted.\n\n**NOTHING TO KEEP**")]) as server:
        bench.organize(server)
    assert len(server.requests) == 1
    assert bench.draft.changes == ()


def test_a_summary_instead_of_work_is_refused_once(bench: Bench) -> None:
    """O8: one reminder, and it works."""
    with ModelServer([say("Anna works in Lisbon."), *WORK]) as server:
        bench.organize(server)
    assert told(server.requests[1]).strip().endswith(NUDGE)
    assert "anna" in bench.bodies


def test_a_model_that_only_talks_fails(bench: Bench) -> None:
    """O8: nothing is taken for done that was not written."""
    server = bench.fails(
        [say("A summary."), say("It is done.")], ModelError, "wrote nothing.*Its answer: 'It is done.'"
    )
    assert len(server.requests) == 2


def test_a_long_transcript_comes_in_parts(bench: Bench) -> None:
    """O13: the context stays bounded, and no part of the transcript is left out."""
    blocks = [f"## User [r{n}, 2026-03-05 10:00:00 UTC]\n\n" + f"word{n} " * 400 for n in range(1, 9)]
    with ModelServer(lambda _: say("NOTHING TO KEEP")) as server:
        bench.organize(server, transcript("\n\n".join(blocks)), context_chars=12_000)
    assert len(server.requests) > 2
    shown = "".join(told(asked) for asked in server.requests)
    assert [shown.count(f"word{n} ") for n in range(1, 9)] == [400] * 8
    assert "(part 1 of " in told(server.requests[0])


def test_old_tool_results_are_cut_when_the_context_is_full(bench: Bench) -> None:
    """O13: the newest is whole."""
    bench.draft.write(slug="long", title="Long", description="", body="long " * 1_000, parent_path="~/memory")
    read = call("document_read", {"path": "~/memory/long"})
    with ModelServer([read, read, read, say("NOTHING TO KEEP")]) as server:
        bench.organize(server, context_chars=13_000)
    shown = results(server.requests[-1])
    assert ["[cut: 300 of " in result for result in shown] == [True, True, False]
    assert len(shown[2]) > 5_000


# What is wrong with a call goes back to the model


def test_a_call_that_does_not_fit_is_mended_by_the_model(bench: Bench) -> None:
    """O8: missing, unknown and mistyped arguments; null for an optional one is left out."""
    edit = {"document_id": "x", "append": "y"}
    script = [
        call("document_edit", edit),
        call("document_edit", {**edit, "expected_version": "two"}),
        call("document_edit", {**edit, "expected_version": 2, "why": "so"}),
        call("document_read", {"path": "~/memory", "document_id": None}),
        *WORK[1:],
    ]
    with ModelServer(script) as server:
        bench.organize(server)
    shown = results(server.requests[-1])
    assert "'expected_version' is missing" in shown[0]
    assert "'expected_version' cannot be 'two'" in shown[1]
    assert "Unknown argument 'why'" in shown[2]
    assert "~/memory" in shown[3]
    assert "anna" in bench.bodies


def test_a_tools_error_goes_back_to_the_model(bench: Bench) -> None:
    """O8: a document outside ~/memory, an unknown one, a stale version."""
    script = [
        call("document_write", {**PEOPLE, "parent_path": "~"}),
        call("document_edit", {"document_id": "nobody", "expected_version": 1, "append": "x"}),
        *WORK,
    ]
    with ModelServer(script) as server:
        bench.organize(server)
    shown = results(server.requests[-1])
    assert "below ~/memory" in shown[0]
    assert "nobody" in shown[1]
    assert set(bench.bodies) >= {"people", "anna"}


def test_an_unknown_tool_is_told_so(bench: Bench) -> None:
    with ModelServer([call("shell", {"command": "ls"}), *WORK]) as server:
        bench.organize(server)
    assert "shell" in results(server.requests[1])[0]
    assert "anna" in bench.bodies


@pytest.mark.parametrize("arguments", ['{"slug": "peo', '["people"]', '"people"', ""])
def test_malformed_arguments_are_mended(database: Database, clock: FakeClock, arguments: str) -> None:
    """O8: OpenAI sends them as text, which may be broken, or no object at all."""
    bench = Bench(database, clock, "openai")
    with ModelServer([call("document_write", arguments), *WORK]) as server:
        bench.organize(server)
    assert "anna" in bench.bodies


def test_arguments_that_are_no_object_are_nonsense(database: Database, clock: FakeClock) -> None:
    """O8: Anthropic sends them as an object, so anything else is a broken server."""
    bench = Bench(database, clock, "anthropic")
    bench.fails(
        [call("document_write", ["people"])], ModelError, "arguments of document_write are not a JSON object"
    )
    [row] = calls(database)
    assert (row.state, row.input_tokens, row.output_tokens, row.estimated) == ("failed", 1_000, 100, False)
    assert row.cost == cost_of(Tokens(1_000, 100), bench.settings("")).usd


def test_a_model_that_never_gets_a_call_right_fails(bench: Bench) -> None:
    """O13a: after some rounds of nothing but refusals, and the message says the last of them, not a library's."""
    server = bench.fails(
        lambda _: call("document_write", {"slug": "x"}),
        ModelError,
        r"Every edit of .* was refused.*The last refusal: The argument 'title' is missing",
    )
    assert len(server.requests) == MAX_REFUSED_ROUNDS
    assert bench.draft.changes == ()


def test_four_refusals_in_a_row_do_not_end_the_run(bench: Bench) -> None:
    """O13a: it may go on trying, and what it then writes is kept."""
    wrong = call("document_write", {"slug": "x"})
    with ModelServer([wrong, wrong, wrong, wrong, *WORK]) as server:
        bench.organize(server)
    assert [one.startswith("Refused: ") for one in results(server.requests[-1])][:5] == [True] * 4 + [False]
    assert "anna" in bench.bodies


def test_refused_edits_are_not_passed_over_behind_done(bench: Bench) -> None:
    """O13a: the model is told once more; what stays refused is in the note, and the rest is kept."""
    outside = call("document_write", {**ANNA, "slug": "bert", "body": "lives in Ghent. [r1]", "parent_path": "~"})
    with ModelServer(
        [call("document_write", PEOPLE), outside, call("document_write", ANNA), say("DONE")] * 2
    ) as it:
        outcome = bench.organize(it)
    assert "These edits were refused" in told(it.requests[4])
    assert "below ~/memory" in told(it.requests[4])
    assert "anna" in bench.bodies
    assert "Refused: " in outcome.summary
    assert "below ~/memory" in outcome.summary


def test_a_refused_edit_that_is_made_good_is_forgotten(bench: Bench) -> None:
    """O13a: no reminder, and the note does not tell of it."""
    wrong = call("document_write", {**ANNA, "parent_path": "~/memory/nowhere"})
    with ModelServer([call("document_write", PEOPLE), wrong, call("document_write", ANNA), say("DONE")]) as server:
        outcome = bench.organize(server)
    assert len(server.requests) == 4
    assert "Refused" not in outcome.summary


def test_a_document_may_be_edited_twice_in_a_run(database: Database, clock: FakeClock) -> None:
    """O13a, O18: by the version that was read, or the one that the first edit gave."""
    run = Draft(database, "default", below="~/memory", policy=WritePolicy(transcript()))
    read, write, edit = (one.call for one in document_tools(run))
    write(**{**PEOPLE, "body": "Anna works in Lisbon. [r1]"})
    database.write(lambda tx: commit(tx, run, Changeset(0, "default", AT, "run", "a1")))
    run = Draft(database, "default", below="~/memory", policy=WritePolicy(transcript()))
    read, write, edit = (one.call for one in document_tools(run))
    people = run.at("~/memory/people")
    assert people
    for version in (1, 1, 2):
        answer = edit(
            document_id=people.id, expected_version=version, append=f"Anna is a counsellor {version}. [r1]"
        )
        assert "Nothing changed" not in answer
    again = {"document_id": people.id, "expected_version": 2, "find": "Lisbon", "replace": "Lisbon"}
    assert "Nothing changed" in edit(**again)
    assert "version: 2" in read(document_id=people.id)


def test_our_own_error_ends_the_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """O8: a database that is busy is no business of the model."""

    def busy(*_: object, **__: object) -> None:
        raise StorageBusy

    monkeypatch.setattr(Draft, "write", busy)
    server = bench.fails([*WORK], StorageBusy, "busy")
    assert len(server.requests) == 2


# What is wrong with the model ends the run


@on_sqlite
@pytest.mark.parametrize(
    ("status", "says", "kind"),
    [
        (400, "status 400", ModelError),
        (401, "refused the key", ModelUnusable),
        (403, "refused the key", ModelUnusable),
        (404, "is not known there", ModelUnusable),
        (402, "has no credit left", ModelUnusable),
        (429, "takes no more calls", ModelUnavailable),
        (500, "status 500", ModelUnavailable),
        (503, "status 503", ModelUnavailable),
        (529, "status 529", ModelUnavailable),
    ],
)
def test_a_refusal_is_told_in_words_and_costs_nothing(
    bench: Bench, status: int, says: str, kind: type[ModelError]
) -> None:
    """O13b, O14: the message names what to do, and never the key, even if the provider tells it back."""
    bench.fails(lambda _: refuse(status, f"wrong key {KEY}"), kind, f"{MODELS[bench.provider]}.*{says}")
    [row] = calls(bench.database)
    assert (row.state, row.cost) == ("failed", 0.0)
    assert says in row.error
    assert "[key]" in row.error
    assert KEY not in row.error


def test_a_passing_failure_is_tried_again_by_the_client(bench: Bench) -> None:
    """O8: once; the rest is the queue's."""
    with ModelServer([refuse(500), *WORK]) as server:
        bench.organize(server)
    assert len(server.requests) == 5
    assert "anna" in bench.bodies


def test_a_dead_port_is_told_in_words(bench: Bench) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    organizer = LlmOrganizer(bench.settings(url), bench.database, bench.clock)
    with (
        pydantic_ai.models.override_allow_model_requests(True),
        pytest.raises(ModelError, match=r"cannot be reached.*models\.base_url"),
    ):
        organizer.organize(transcript(), bench.draft)
    assert [(row.state, row.cost) for row in calls(bench.database)] == [("failed", 0.0)]


def test_a_slow_model_is_given_up(bench: Bench) -> None:
    """O13b, O14: an outage. The provider may charge for the question, so its estimated cost is booked."""
    late = say("late", wait=30)
    bench.fails(lambda _: late, ModelUnavailable, r"did not answer within 0\.3 s", timeout_seconds=0.3)
    [row] = calls(bench.database)
    assert (row.state, row.output_tokens, row.estimated) == ("failed", 0, True)
    assert row.input_tokens > 1_000
    assert row.cost == cost_of(Tokens(row.input_tokens), bench.settings("")).usd > 0
    assert "its cost is estimated" in row.error


@on_sqlite
@pytest.mark.parametrize(
    "body", [b"nonsense", b"{}", b"[]", b"null", b'{"choices": [], "content": 5}', b"\xff\xfe", b""]
)
def test_nonsense_is_told_in_words(bench: Bench, body: bytes) -> None:
    """O8: whatever comes over the wire is a ModelError."""
    bench.fails(lambda _: Reply(body=body), ModelError, "gave no usable answer")
    assert [row.state for row in calls(bench.database)] == ["failed"]


def test_an_empty_answer_is_no_answer(bench: Bench) -> None:
    bench.fails(lambda _: say(""), ModelError, "gave no usable answer")


# Limits


def test_a_model_that_loops_is_stopped_by_the_number_of_calls(bench: Bench) -> None:
    """O14: the run ends, nothing is committed, and the message says which limit."""
    loop = call("document_read", {"path": "~/memory"})
    server = bench.fails(
        lambda _: loop, RunBudgetExceeded, r"within 6 calls.*models\.run_requests", run_requests=6
    )
    assert len(server.requests) == 6


def test_a_model_that_loops_is_stopped_by_its_tokens(bench: Bench) -> None:
    loop = call("document_read", {"path": "~/memory"})
    server = bench.fails(lambda _: loop, RunBudgetExceeded, r"3,500 tokens.*models\.run_tokens", run_tokens=3_500)
    assert len(server.requests) == 4


def test_a_server_that_counts_no_tokens_is_held_to_them_too(database: Database, clock: FakeClock) -> None:
    """O14: they are estimated, and said to be."""
    bench = Bench(database, clock, "openai")
    loop = call("document_read", {"path": "~/memory"}, input_tokens=None)
    bench.fails(lambda _: loop, RunBudgetExceeded, r"10,000 tokens", run_tokens=10_000)
    rows = calls(database)
    assert all(row.estimated and row.input_tokens > 1_000 for row in rows)


def test_a_run_stops_before_it_overspends_its_budget(bench: Bench) -> None:
    """O14: what the run cost stays below its budget; answers are kept short enough to pay for."""
    price = {"input_usd_per_million": 1.0, "output_usd_per_million": 5.0}
    loop = call("document_read", {"path": "~/memory"}, input_tokens=4_000, output_tokens=500)
    server = bench.fails(
        lambda _: loop, RunBudgetExceeded, r"models\.run_budget_usd", run_budget_usd=0.03, **price
    )
    spent = sum(row.cost for row in calls(bench.database))
    assert 0.015 < spent <= 0.03
    longest = [asked.get("max_tokens") or asked["max_completion_tokens"] for asked in server.requests]
    assert longest == sorted(longest, reverse=True)
    assert longest[-1] < 8_192


def test_at_the_daily_cap_work_waits(bench: Bench) -> None:
    """O14: the call is not made, the organizer says why it waits, and goes on the next day."""
    with ModelServer([*WORK]) as server:
        settings = bench.settings(server.base_url(bench.provider), daily_cap_usd=0.06)
        organizer = LlmOrganizer(settings, bench.database, bench.clock)
        assert organizer.blocked_reason() == ""
        bench.database.write(lambda tx: Ledger(tx).start(bench.clock.now, "other", "organize", "m", 0.0599))
        assert "models.daily_cap_usd" in organizer.blocked_reason()
        with pytest.raises(DailyCapExceeded):
            organizer.organize(transcript(), bench.draft)
        assert server.requests == []
        bench.clock.turn(days=1)
        assert organizer.blocked_reason() == ""
        with pydantic_ai.models.override_allow_model_requests(True):
            organizer.organize(transcript(), bench.draft)
    assert "anna" in bench.bodies


def test_a_free_model_never_waits(database: Database, clock: FakeClock) -> None:
    """O14: the cap is about money."""
    organizer = LlmOrganizer(ModelsSettings(model="ollama:qwen3", daily_cap_usd=0), database, clock)
    database.write(lambda tx: Ledger(tx).start(clock.now, "other", "organize", "m", 5.0))
    assert organizer.blocked_reason() == ""


# pydantic-ai's own models


def of(model: Model) -> Callable[[ModelsSettings], Model]:
    return lambda _: model


def test_a_function_can_be_the_model(database: Database, clock: FakeClock) -> None:
    """O8: any pydantic-ai model drives the same loop."""

    def think(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        steps = [("document_write", PEOPLE), ("document_write", ANNA)]
        done = sum(isinstance(message, ModelResponse) for message in messages)
        if done < len(steps):
            name, arguments = steps[done]
            return ModelResponse(parts=[ToolCallPart(name, arguments)])
        return ModelResponse(parts=[TextPart("DONE")])

    edited = draft(database)
    organizer = LlmOrganizer(ModelsSettings(model="ollama:any"), database, clock, of(FunctionModel(think)))
    assert "Works as a counsellor" in organizer.organize(transcript(), edited).summary
    assert len([edit for edit in edited.changes if edit.after and edit.after.slug == "anna"]) == 1


def test_the_test_model_calls_every_tool(database: Database, clock: FakeClock) -> None:
    """O8: its made-up arguments are refused, and the run ends with an error instead of a wrong document."""
    edited = draft(database)
    organizer = LlmOrganizer(ModelsSettings(model="ollama:any"), database, clock, of(AnyToolModel()))
    with pytest.raises(ModelError):
        organizer.organize(transcript(), edited)
    assert edited.changes == ()


def test_it_works_where_a_loop_is_running(database: Database, clock: FakeClock) -> None:
    """O8: as in a notebook."""
    model = FunctionModel(lambda _, __: ModelResponse(parts=[TextPart("NOTHING TO KEEP")]))
    organizer = LlmOrganizer(ModelsSettings(model="ollama:any"), database, clock, of(model))

    async def cell() -> RunResult:
        return organizer.organize(transcript(), draft(database))

    assert asyncio.run(cell()).summary == "NOTHING TO KEEP"


@pytest.mark.parametrize("stop", [KeyboardInterrupt, asyncio.CancelledError])
def test_being_stopped_is_not_swallowed(database: Database, clock: FakeClock, stop: type[BaseException]) -> None:
    """O14: the call is in the book, at what its question may have cost."""

    async def think(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        raise stop

    settings = ModelsSettings(model="anthropic:claude-haiku-4-5")
    organizer = LlmOrganizer(settings, database, clock, of(FunctionModel(think)))
    with pytest.raises(stop):
        organizer.organize(transcript(), draft(database))
    [row] = calls(database)
    assert (row.state, row.estimated) == ("failed", True)
    assert row.cost == cost_of(Tokens(row.input_tokens), settings).usd > 0


def test_no_model_is_asked_while_that_is_forbidden(bench: Bench) -> None:
    """The tests' own safety: a call that nobody allowed does not leave the process."""
    with ModelServer(WORK) as server:
        organizer = LlmOrganizer(bench.settings(server.base_url(bench.provider)), bench.database, bench.clock)
        with pytest.raises(ModelError, match="not allowed"):
            organizer.organize(transcript(), bench.draft)
    assert server.requests == []


# Which model


def test_settings_say_whether_a_model_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """O8: with no model or no key, the rules organizer serves; the reason is a sentence."""
    assert "models.model" in unusable(ModelsSettings())
    assert "models.api_key, or OPENAI_API_KEY" in unusable(ModelsSettings(model="openai:gpt-5-mini"))
    assert "models.api_key, or ANTHROPIC_API_KEY" in unusable(ModelsSettings(model="anthropic:claude-haiku-4-5"))
    assert "provider:name" in unusable(ModelsSettings(model="gpt-5-mini"))
    assert "nobody:x" in unusable(ModelsSettings(model="nobody:x"))
    assert unusable(ModelsSettings(model="ollama:qwen3")) == ""
    assert unusable(ModelsSettings(model="openai:local", base_url="http://localhost:1/v1")) == ""
    assert unusable(ModelsSettings(model="anthropic:claude-haiku-4-5", api_key=KEY)) == ""  # type: ignore[arg-type]
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert unusable(ModelsSettings(model="anthropic:claude-haiku-4-5")) == ""


def test_without_the_extra_the_reason_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """O8: lifelong works without pydantic-ai."""
    real = builtins.__import__

    def absent(name: str, *more: Any) -> Any:
        if name.startswith("pydantic_ai"):
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ConfigError, match=r"pip install 'lifelong\[llm\]'"):
        model_for(ModelsSettings(model="ollama:qwen3"))


@pytest.mark.parametrize(
    ("model", "base_url", "expected"),
    [
        ("ollama:qwen3", "", "http://localhost:11434/v1/"),
        ("ollama:qwen3", "http://host:1/v1", "http://host:1/v1/"),
        ("openai:m", "http://host:1/v1", "http://host:1/v1/"),
        ("anthropic:m", "http://host:1", "http://host:1"),
    ],
)
def test_a_base_url_is_where_the_model_is_asked(model: str, base_url: str, expected: str) -> None:
    """O8: OpenAI-compatible, Anthropic-compatible and Ollama servers."""
    assert str(model_for(ModelsSettings(model=model, base_url=base_url)).base_url) == expected


def test_the_providers_own_key_is_not_sent_to_another_server(
    database: Database, clock: FakeClock, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S4: a key in the environment belongs to the provider."""
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", KEY)
    with ModelServer([say("NOTHING TO KEEP")]) as server:
        Bench(database, clock, provider).organize(server, api_key="")
    assert KEY not in json.dumps(server.headers)


# Small parts


def test_parts_lose_nothing_and_name_the_record_they_go_on_with() -> None:
    """O13: a block that is cut tells in each piece which record it is."""
    heading = "## User [r12, 2026-03-05 10:00:00 UTC]"
    text = f"{heading}\n\n{'a' * 250}\n\n### Tool Call: x [r13, 2026-03-05 10:00:01 UTC]\n\nb"
    parts = list(split(text, 100))
    assert "".join(parts).count("a") == text.count("a")
    assert all("[r12" in part for part in parts[:3])
    assert parts[-1].startswith("### Tool Call: x [r13")
    assert list(split("short", 100)) == ["short"]


@pytest.mark.parametrize(
    "said", ["NOTHING TO KEEP", "x\n nothing to keep. ", "**NOTHING TO KEEP**", "`NOTHING TO KEEP`"]
)
def test_the_last_line_says_that_nothing_was_kept(said: str) -> None:
    assert kept_nothing(said)


@pytest.mark.parametrize("said", ["", "DONE", "NOTHING TO KEEP\nDONE", "There is NOTHING TO KEEP here"])
def test_any_other_last_line_does_not(said: str) -> None:
    assert not kept_nothing(said)


def _versions(
    expected_version: Annotated[int, "The version."], links: Annotated[list[str] | None, "Links."] = None
) -> str:
    return f"{expected_version!r} {links!r}"


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"expected_version": 3}, "3 None"),
        ({"expected_version": 3.0, "links": None}, "3 None"),
        ({"expected_version": "3", "links": ["a"]}, "3 ['a']"),
    ],
)
def test_a_tool_takes_numbers_as_models_write_them(arguments: dict[str, Any], answer: str) -> None:
    """O13a: whatever a client makes of a whole number; null is the same as left out."""
    assert tool("t", "", _versions).call(**arguments) == answer


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"expected_version": True}, "'expected_version' cannot be True: Input should be a valid integer."),
        ({"expected_version": 1.5}, "'expected_version' cannot be 1.5: Input should be a valid integer"),
        ({"expected_version": "one"}, "'expected_version' cannot be 'one': Input should be a valid integer"),
        ({"expected_version": 1, "links": "a"}, "'links' cannot be 'a': Input should be a valid list."),
        ({}, "'expected_version' is missing. The arguments are: expected_version, links."),
        ({"version": 1}, "The arguments are: expected_version, links."),
    ],
)
def test_a_tool_says_what_to_change(arguments: dict[str, Any], message: str) -> None:
    """O13a, O20: JSON's true must not pass for version 1."""
    with pytest.raises(InputError) as raised:
        tool("t", "", _versions).call(**arguments)
    assert message in str(raised.value)


def test_the_schema_of_a_tool_is_what_its_function_takes() -> None:
    """F2: short, and closed."""
    assert tool("t", "", _versions).parameters == {
        "type": "object",
        "properties": {
            "expected_version": {"type": "integer", "description": "The version."},
            "links": {"type": "array", "items": {"type": "string"}, "description": "Links."},
        },
        "required": ["expected_version"],
        "additionalProperties": False,
    }


def test_a_newest_result_that_is_too_long_alone_is_cut_to_what_fits() -> None:
    """O13: and says how to change what is not shown."""
    messages: list[ModelMessage] = [ModelRequest(parts=[ToolReturnPart("document_read", "x" * 10_000, "1")])]
    [fitting] = within(messages, 2_000)
    [part] = fitting.parts
    assert isinstance(part, ToolReturnPart)
    assert part.model_response_str().startswith("x" * 2_000 + "\n[cut: 2,000 of 10,000")
    assert "document_edit only" in part.model_response_str()
    assert within(messages, 10_000) == messages


# From a turn to a document, through the queue


BROKEN = {
    "nonsense": Reply(body=b"nonsense"),
    "talking": say("A summary."),
    "looping": call("document_read", {"path": "~/memory"}),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_whatever_is_wrong_with_the_model_nothing_is_lost(
    open_memory: Callable[..., Memory], provider: str, kind: str
) -> None:
    """O5, O6, O14: the queue says why, health is red, and a retry after mending finishes the work."""
    steps: list[Reply] = []  # what it does when it is mended

    def answer(_: dict[str, Any]) -> Reply:
        return steps.pop(0) if steps else BROKEN[kind]

    with ModelServer(answer) as server, pydantic_ai.models.override_allow_model_requests(True):
        memory = open_memory(
            models={
                "model": MODELS[provider],
                "base_url": server.base_url(provider),
                "api_key": KEY,
                "run_requests": 3,
            },
            worker={"max_attempts": 1},
        )
        alice = memory.agent(User("cli", "alice", "main"))
        record = memory.append(alice, UserMessage("Anna works as a counsellor in Lisbon."))
        memory.end_session(alice)
        memory.organize()
        assert memory.receipt(record).stage == "failed"
        assert MODELS[provider] in memory.receipt(record).reason
        assert memory.admin.health().status == "red"
        assert memory.documents.find("~/memory/people/anna") is None
        known = {**ANNA, "body": f"Works as a counsellor in Lisbon. [r{record}]"}
        steps += [call("document_write", PEOPLE), call("document_write", known), say("DONE")]
        assert memory.inbox.retry() == 1
        memory.organize()
        assert memory.receipt(record).stage != "failed"
        assert memory.admin.health().status == "green"
        [changeset] = memory.documents.changesets()
        assert (changeset.organizer, changeset.model, changeset.until) == ("llm", MODELS[provider], record)
        assert changeset.cost > 0
        assert (
            f"Works as a counsellor in Lisbon. [r{record}]" in memory.documents.read("~/memory/people/anna").body
        )


# Outages, and what a person must mend


def outage(kind: str) -> Reply:
    """What an outage looks like on the wire."""
    return {
        "503": refuse(503),
        "429": refuse(429, headers={"retry-after": "1800"}),
        "time-out": say("late", wait=30),
        "cut": Reply(body=b'{"id": "chatcmpl-1", "cho', headers={"content-length": "5000"}),
    }[kind]


@pytest.mark.parametrize("kind", ["503", "429", "time-out", "cut"])
def test_an_outage_of_any_length_loses_nothing(
    open_memory: Callable[..., Memory], clock: FakeClock, provider: str, kind: str
) -> None:
    """O13b: no attempt counts, health is yellow and says so, nothing is dead, and the work goes on by itself. O14:
    what may have been charged is booked, and a long outage costs little."""
    steps: list[Reply] = []

    def answer(asked: dict[str, Any]) -> Reply:
        if steps:
            return say("OK") if is_probe(asked) else steps.pop(0)
        return outage(kind)

    with ModelServer(answer) as server, pydantic_ai.models.override_allow_model_requests(True):
        models = {"model": MODELS[provider], "base_url": server.base_url(provider), "api_key": KEY}
        memory = open_memory(models={**models, "timeout_seconds": 0.5 if kind == "time-out" else 10})
        alice = memory.agent(User("cli", "alice", "main"))
        record = memory.append(alice, UserMessage("Anna works as a counsellor in Lisbon."))
        memory.end_session(alice)
        asked = []
        for _ in range(29):
            memory.organize()
            clock.turn(minutes=2)
            asked.append(len(server.requests))
        assert memory.receipt(record).stage == "queued"
        assert memory.receipt(record).reason.startswith("Waiting for the model: ")
        (item,) = memory.inbox.list()
        assert (item.state, item.attempts) == ("pending", 0)
        health = memory.admin.health()
        assert (health.status, health.dead) == ("yellow", 0)
        assert "go on by themselves" in health.reasons[0]
        whole = [row for row in memory.admin.ledger() if row.purpose == "organize"]
        probes = [row for row in memory.admin.ledger() if row.purpose == "probe"]
        assert len(whole) == (2 if kind == "429" else OUTAGES_FORGIVEN)
        assert (sum(row.cost for row in whole) > 0) == (kind in ("time-out", "cut"))
        assert sum(row.cost for row in probes) < 0.1 * sum(row.cost for row in whole) or kind in ("503", "429")
        assert kind == "429" or len(probes) > 3
        assert asked[-1] < 2 * 12, "it is asked less and less often"
        if kind == "429":
            assert asked[0] == asked[14], "the provider asked for half an hour"
        known = {**ANNA, "body": f"Works as a counsellor in Lisbon. [r{record}]"}
        steps += [call("document_write", PEOPLE), call("document_write", known), say("DONE")]
        clock.turn(minutes=40)
        memory.organize()
        assert memory.receipt(record).stage == "searchable"
        assert memory.admin.health().status == "green"


@pytest.mark.parametrize(("status", "fix"), [(401, "models.api_key"), (404, "models.model"), (402, "Top it up")])
def test_what_a_person_must_mend_is_red_at_once(
    open_memory: Callable[..., Memory], clock: FakeClock, provider: str, status: int, fix: str
) -> None:
    """O13b: with the fix in the sentence. The items wait until it is mended."""
    steps: list[Reply] = []

    def answer(asked: dict[str, Any]) -> Reply:
        if steps:
            return say("OK") if is_probe(asked) else steps.pop(0)
        return refuse(status)

    with ModelServer(answer) as server, pydantic_ai.models.override_allow_model_requests(True):
        models = {"model": MODELS[provider], "base_url": server.base_url(provider), "api_key": KEY}
        memory = open_memory(models=models)
        alice = memory.agent(User("cli", "alice", "main"))
        record = memory.append(alice, UserMessage("Anna works as a counsellor in Lisbon."))
        memory.end_session(alice)
        memory.organize()
        health = memory.admin.health()
        assert (health.status, health.dead, health.waiting) == ("red", 0, 1)
        assert fix in health.reasons[0]
        for _ in range(20):
            clock.turn(hours=1)
            memory.organize()
        assert memory.inbox.list()[0].attempts == 0
        known = {**ANNA, "body": f"Works as a counsellor in Lisbon. [r{record}]"}
        steps += [call("document_write", PEOPLE), call("document_write", known), say("DONE")]
        assert open_memory(models=models).organize().finished == 1, "at once after a restart"
        assert memory.admin.health().status == "green"


POISON = "The word that no server can stand."


@pytest.mark.parametrize("kind", ["500", "time-out", "cut"])
def test_a_transcript_on_which_the_model_always_fails_does_not_stop_others(
    open_memory: Callable[..., Memory], clock: FakeClock, kind: str
) -> None:
    """O5, O13b: others are organized at once; it is given up in the end, visible and retryable. O14: what its
    time-outs cost is booked."""
    mended = False

    def answer(asked: dict[str, Any]) -> Reply:
        if POISON in told(asked) and not mended:
            return refuse(500) if kind == "500" else outage(kind)
        return say("NOTHING TO KEEP")

    with ModelServer(answer) as server, pydantic_ai.models.override_allow_model_requests(True):
        models = {"model": MODELS["openai"], "base_url": server.base_url("openai"), "api_key": KEY}
        memory = open_memory(models={**models, "timeout_seconds": 0.3 if kind == "time-out" else 10})
        poison, other = (memory.agent(User("cli", name, "main")) for name in ("poison", "other"))
        bad = memory.append(poison, UserMessage(POISON))
        memory.end_session(poison)
        for number in range(60):
            good = memory.append(other, UserMessage(f"Anna works in Lisbon {number}."))
            memory.end_session(other)
            memory.organize()
            assert memory.receipt(good).stage == "searchable", "in the same call"
            if memory.receipt(bad).stage == "failed":
                break
            clock.turn(minutes=1)
        receipt = memory.receipt(bad)
        assert receipt.stage == "failed"
        assert "answered other requests in between" in receipt.reason
        assert memory.admin.health().status == "red"
        rows = [row for row in memory.admin.ledger(1_000) if row.inbox_id == receipt.inbox_id]
        assert len(rows) == OUTAGES_FORGIVEN + 5
        assert all(row.estimated and row.cost > 0 for row in rows) == (kind != "500")
        mended = True
        assert memory.inbox.retry() == 1
        memory.organize()
        assert memory.receipt(bad).stage == "searchable"


@pytest.mark.parametrize("kind", ["500", "time-out"])
def test_a_transcript_on_which_the_model_always_fails_is_given_up_though_nothing_else_is_asked(
    open_memory: Callable[..., Memory], clock: FakeClock, kind: str
) -> None:
    """O13b, O14: a short question tells that the provider answers; what waits behind it goes on."""

    def answer(asked: dict[str, Any]) -> Reply:
        if POISON in told(asked):
            return refuse(500) if kind == "500" else outage(kind)
        return say("OK" if is_probe(asked) else "NOTHING TO KEEP")

    with ModelServer(answer) as server, pydantic_ai.models.override_allow_model_requests(True):
        models = {"model": MODELS["openai"], "base_url": server.base_url("openai"), "api_key": KEY}
        memory = open_memory(models={**models, "timeout_seconds": 0.3 if kind == "time-out" else 10})
        records: list[str] = []
        for text in (POISON, "Anna works in Lisbon."):
            records += memory.add(text)
            memory.end_session()
            memory.organize()
        for _ in range(20):
            memory.organize()
            clock.turn(minutes=15)
        assert [memory.receipt(record).stage for record in records] == ["failed", "searchable"]
        purposes = Counter(row.purpose for row in memory.admin.ledger(1_000))
        assert purposes == {"organize": OUTAGES_FORGIVEN + 5 + 1, "probe": 5}


def test_an_overloaded_provider_is_never_the_fault_of_a_transcript(
    open_memory: Callable[..., Memory], clock: FakeClock
) -> None:
    """O13b: it says so itself (429, 529), however often and whatever it answers in between."""
    turns = iter(range(1_000))

    def answer(asked: dict[str, Any]) -> Reply:
        if POISON in told(asked):
            return refuse(429 if next(turns) % 2 else 529)
        return say("OK")

    with ModelServer(answer) as server, pydantic_ai.models.override_allow_model_requests(True):
        models = {"model": MODELS["anthropic"], "base_url": server.base_url("anthropic"), "api_key": KEY}
        memory = open_memory(models=models)
        memory.add(POISON)
        memory.end_session()
        for _ in range(20):
            memory.organize()
            clock.turn(minutes=15)
        (item,) = memory.inbox.list()
        assert (item.state, item.attempts) == ("pending", 0)


def test_rules_may_serve_during_an_outage(open_memory: Callable[..., Memory], clock: FakeClock) -> None:
    """O13b: if a setting says so, with `auto`; the changeset says who organized, and the model goes on later."""
    steps: list[Reply] = []

    def answer(_: dict[str, Any]) -> Reply:
        return steps.pop(0) if steps else refuse(503)

    with ModelServer(answer) as server, pydantic_ai.models.override_allow_model_requests(True):
        models = {"model": MODELS["openai"], "base_url": server.base_url("openai"), "api_key": KEY}
        memory = open_memory(models=models, organize={"rules_during_outage": True})
        for _ in range(3):
            memory.add("I live in Porto. I decided to sell the car because it is old.")
            memory.end_session()
            memory.organize()
        assert len(server.requests) == 4, "two calls, each tried twice by its client, for all three"
        assert {one.organizer for one in memory.documents.changesets()} == {"rules"}
        clock.turn(minutes=11)
        steps += [say("NOTHING TO KEEP")]
        memory.add("Hello!")
        memory.end_session()
        assert memory.organize().finished == 1
        assert len(server.requests) == 5


@pytest.mark.parametrize("how", ["503", "cut", "budget", "cap", "calls"])
def test_what_a_run_finished_survives_its_failure(
    open_memory: Callable[..., Memory], clock: FakeClock, provider: str, how: str
) -> None:
    """O9, O13a: the edits before a failure are committed; the transcript is organized again and is done then."""
    write = [call("document_write", PEOPLE, input_tokens=10), call("document_write", ANNA, input_tokens=10)]
    price = {"input_usd_per_million": 1.0, "output_usd_per_million": 1.0}
    after: dict[str, tuple[Reply, dict[str, Any]]] = {
        "503": (refuse(503), {}),
        "cut": (outage("cut"), {}),
        "budget": (say("too late"), {"run_budget_usd": 0.02, **price}),
        "cap": (say("too late"), {"daily_cap_usd": 0.02, **price}),
        "calls": (call("document_read", {"path": "~/memory"}), {"run_requests": 4}),
    }
    failure, more = after[how]
    if how in ("budget", "cap"):
        write[1] = call("document_write", ANNA, input_tokens=18_000)
    steps = list(write)

    def answer(_: dict[str, Any]) -> Reply:
        return steps.pop(0) if steps else failure

    with ModelServer(answer) as server, pydantic_ai.models.override_allow_model_requests(True):
        models = {"model": MODELS[provider], "base_url": server.base_url(provider), "api_key": KEY, **more}
        memory = open_memory(models=models)
        alice = memory.agent(User("cli", "alice", "main"))
        memory.append(alice, UserMessage("Anna works as a counsellor in Lisbon."))
        memory.end_session(alice)
        memory.organize()
        assert memory.documents.read("~/memory/people/anna").body == ANNA["body"]
        (changeset,) = memory.documents.changesets()
        assert "Broke off, to be organized again" in changeset.note
        (item,) = memory.inbox.list()
        assert item.state == "pending"
        assert item.attempts == (1 if how in ("budget", "calls") else 0)
        steps += [say("NOTHING TO KEEP")]
        clock.turn(days=1)
        memory.organize()
        assert memory.inbox.list()[0].state == "done"
        assert memory.documents.read("~/memory/people/anna").body == ANNA["body"]


# A model is asked after a pause


@pytest.mark.parametrize("how", ["pause", "chars", "longest", "end", "organize", "rules"])
def test_a_model_gets_a_conversation_after_a_pause(
    open_memory: Callable[..., Memory], clock: FakeClock, how: str
) -> None:
    """O13a: or with much to read, after the longest wait, at the end of the session, or when asked; rules never
    wait. Meanwhile the receipt and health say so."""
    with (
        ModelServer(lambda _: say("NOTHING TO KEEP")) as server,
        pydantic_ai.models.override_allow_model_requests(True),
    ):
        models = {"model": MODELS["openai"], "base_url": server.base_url("openai"), "api_key": KEY}
        organizer = {"organizer": "rules" if how == "rules" else "llm"}
        memory = open_memory(models=models, worker={"tick_seconds": 0.02}, organize=organizer)
        alice = memory.agent(User("cli", "alice", "main"))
        record = [memory.append(alice, UserMessage(f"Anna works in Lisbon {number}.")) for number in range(6)][-1]
        if how != "organize":
            memory.start()
        if how == "rules":
            until(lambda: memory.receipt(record).stage == "searchable")
            return
        time.sleep(0.2)
        assert server.requests == []
        assert "a pause in the conversation" in memory.receipt(record).reason
        health = memory.admin.health()
        assert (health.status, health.marked) == ("green", 1)
        assert "wait for a pause" in health.reasons[0]
        match how:
            case "pause":
                clock.turn(seconds=59)
                time.sleep(0.1)
                assert server.requests == []
                clock.turn(seconds=2)
            case "chars":
                memory.append(alice, UserMessage("Anna works in Lisbon. " * 600))
            case "longest":
                for _ in range(40):
                    clock.turn(seconds=50)
                    memory.append(alice, UserMessage("And then?"))
            case "end":
                memory.end_session(alice)
            case _:
                memory.organize()
        until(lambda: memory.receipt(record).stage == "searchable")


# Caching


def test_the_stable_prefix_is_cached(bench: Bench) -> None:
    """O13a: nothing that varies comes before it; Anthropic is told where it ends, and what it read from its cache
    is cheaper in the book."""
    cached = [replace(one, cached=900) for one in WORK]
    with ModelServer(cached) as server:
        outcome = bench.organize(server, transcript(recent=lambda: "one"))
    first, second = server.requests[0], server.requests[1]
    assert first["tools"] == second["tools"]
    if bench.provider == "anthropic":
        assert first["system"] == second["system"]
        assert first["system"][-1]["cache_control"]["type"] == "ephemeral"
        assert first["tools"][-1]["cache_control"]["type"] == "ephemeral"
    else:
        assert first["messages"][0] == second["messages"][0]
    full = sum(cost_of(Tokens(1_000, 100), bench.settings("")).usd for _ in WORK)
    assert outcome.cost < 0.8 * full


def test_openai_is_told_which_prompts_are_alike(database: Database, clock: FakeClock) -> None:
    """O13a: other servers that speak its protocol may not know the field."""
    run = Spend(database, clock, 1, 1).run("default", "organize")
    for base_url, key in (("", "lifelong-organize"), ("http://localhost:1/v1", None)):
        settings = ModelsSettings(model="openai:gpt-5-mini", base_url=base_url, api_key=KEY)  # type: ignore[arg-type]
        model = MeteredModel(model_for(settings), run, settings)
        assert model.call_settings.get("openai_prompt_cache_key") == key
        assert model.call_settings["cache"] is True
