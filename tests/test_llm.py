"""The organizer that asks a model: through real provider clients over HTTP, and with pydantic-ai's own test models
(SPEC O8, O9, O14)."""

from __future__ import annotations

import asyncio
import builtins
import json
import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

import pydantic_ai.models
import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel as AnyToolModel

from lifelong import Memory, User
from lifelong.errors import ConfigError, DailyCapExceeded, InputError, ModelError, RunBudgetExceeded, StorageBusy
from lifelong.models.ledger import Call, Ledger
from lifelong.models.metered import within
from lifelong.models.providers import model_for, unusable
from lifelong.organize.draft import Draft
from lifelong.organize.llm import INSTRUCTION, NUDGE, LlmOrganizer, kept_nothing, split
from lifelong.organize.organizer import RunResult, Transcript
from lifelong.settings import ModelsSettings
from lifelong.storage.base import Database
from lifelong.testing import FakeClock
from lifelong.tools import tool
from lifelong.types import StoredRecord, UserMessage
from tests.model_servers import ModelServer, Reply, Script, call, refuse, results, say, told

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
    assert outcome.summary == "DONE"
    assert bench.bodies["anna"] == ANNA["body"]
    rows = calls(bench.database)
    assert [(row.state, row.input_tokens, row.output_tokens, row.estimated) for row in rows] == [
        ("done", 1_000, 100, False)
    ] * 4
    assert {(row.purpose, row.model, row.inbox_id) for row in rows} == {("organize", MODELS[bench.provider], 7)}
    assert (outcome.model, outcome.input_tokens, outcome.output_tokens) == (MODELS[bench.provider], 4_000, 400)
    assert outcome.cost == pytest.approx(sum(row.cost for row in rows))
    assert outcome.cost > 0


def test_the_model_is_told_what_to_do_and_offered_three_tools(bench: Bench) -> None:
    """O8: the bundled prompt whole, the batch's instruction, its own last runs, and the transcript."""
    with ModelServer(WORK) as server:
        bench.organize(server, transcript(recent=lambda: "x" * 5_000 + "the last run"))
    first = server.requests[0]
    assert "You keep the memory of another agent" in json.dumps(first)
    said = told(first)
    assert said.startswith(INSTRUCTION)
    assert "the last run" in said
    assert "x" * 2_001 not in said
    assert said.endswith("Anna works in Lisbon.\n\n</transcript>")
    names = [tool.get("name") or tool["function"]["name"] for tool in first["tools"]]
    assert names == ["document_read", "document_write", "document_edit"]
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


def test_a_model_that_never_gets_a_call_right_fails(bench: Bench) -> None:
    """O8: after a few mistakes in a row, instead of at the end of the budget."""
    server = bench.fails(lambda _: call("document_write", {"slug": "x"}), ModelError, "document_write")
    assert len(server.requests) == 4
    assert bench.draft.changes == ()


def test_our_own_error_ends_the_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """O8: a database that is busy is no business of the model."""

    def busy(*_: object) -> None:
        raise StorageBusy

    monkeypatch.setattr(Draft, "at", busy)
    server = bench.fails([*WORK], StorageBusy, "busy")
    assert len(server.requests) == 1


# What is wrong with the model ends the run


@pytest.mark.parametrize(
    ("status", "says"),
    [(401, "refused the key"), (404, "is not known there"), (429, "takes no more calls"), (500, "status 500")],
)
def test_a_refusal_is_told_in_words_and_costs_nothing(bench: Bench, status: int, says: str) -> None:
    """O14: the message names what to do, and never the key, even if the provider tells it back."""
    bench.fails(lambda _: refuse(status, f"wrong key {KEY}"), ModelError, f"{MODELS[bench.provider]}.*{says}")
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
    """O14: it may be charged for, so the most it may cost stays in the book."""
    bench.fails(lambda _: say("late", wait=30), ModelError, r"did not answer within 0\.3 s", timeout_seconds=0.3)
    [row] = calls(bench.database)
    assert row.state == "failed"
    assert row.cost > 0


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
    assert organizer.organize(transcript(), edited).summary == "DONE"
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
    """O14: and what the call may have cost stays in the book."""

    async def think(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        raise stop

    settings = ModelsSettings(model="anthropic:claude-haiku-4-5")
    organizer = LlmOrganizer(settings, database, clock, of(FunctionModel(think)))
    with pytest.raises(stop):
        organizer.organize(transcript(), draft(database))
    [row] = calls(database)
    assert row.state == "failed"
    assert row.cost > 0


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
    "dead": refuse(500),
    "slow": say("late", wait=30),
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
                "timeout_seconds": 0.5 if kind == "slow" else 10,
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
