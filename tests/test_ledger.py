"""The ledger: every call of a model is a row, and no run or day overspends (SPEC O14)."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from typing import NoReturn

import pytest

from lifelong.errors import DailyCapExceeded, RunBudgetExceeded
from lifelong.models.ledger import (
    UNKNOWN_INPUT_USD,
    UNKNOWN_OUTPUT_USD,
    Call,
    Cost,
    Ledger,
    Run,
    Spend,
    Tokens,
    cost_of,
    day_of,
)
from lifelong.settings import ModelsSettings
from lifelong.storage.base import Database
from lifelong.testing import FakeClock, in_threads

MODEL = "anthropic:claude-haiku-4-5"
MILLION = Tokens(1_000_000, 1_000_000)


def spend(database: Database, clock: FakeClock, cap: float = 1.0, budget: float = 1.0) -> Spend:
    return Spend(database, clock, daily_cap_usd=cap, run_budget_usd=budget)


def calls(database: Database, owner: str = "default", limit: int = 100) -> list[Call]:
    return database.read(lambda tx: Ledger(tx).recent(owner, limit))


def make(run: Run, cost: float, model: str = MODEL) -> int:
    call = run.start(model, cost)
    run.finish(call, Tokens(1_000, 100), Cost(cost))
    return call


# Rows


def test_a_call_is_in_the_book_before_it_is_made(database: Database, clock: FakeClock) -> None:
    """O14: with its purpose and model, at the most it may cost."""
    call = spend(database, clock).run("default", "organize", 7).start(MODEL, 0.25)
    expected = Call(call, clock.now, "default", "organize", MODEL, "started", 0, 0, 0.25, True, 7, "")
    assert calls(database) == [expected]


def test_a_finished_call_says_what_it_used(database: Database, clock: FakeClock) -> None:
    """O14: tokens and cost."""
    run = spend(database, clock).run("default", "organize")
    run.finish(run.start(MODEL, 0.25), Tokens(1_200, 34), Cost(0.01))
    [row] = calls(database)
    assert (row.state, row.input_tokens, row.output_tokens, row.cost, row.estimated) == (
        "done",
        1_200,
        34,
        0.01,
        False,
    )
    assert (run.input_tokens, run.output_tokens, run.cost) == (1_200, 34, 0.01)


def test_a_refused_call_releases_what_was_reserved(database: Database, clock: FakeClock) -> None:
    """O14: providers do not charge for what they refuse."""
    run = spend(database, clock).run("default", "organize")
    run.fail(run.start(MODEL, 0.25), "it " + "x" * 1_000)
    [row] = calls(database)
    assert (row.state, row.cost, row.estimated, len(row.error)) == ("failed", 0.0, False, 500)
    assert run.cost == 0.0


def test_a_call_that_may_have_been_charged_counts(database: Database, clock: FakeClock) -> None:
    """O14: an estimate, marked as one, against the budget of the run and the cap of the day."""
    book = spend(database, clock, cap=0.5, budget=0.3)
    run = book.run("default", "organize")
    run.fail(run.start(MODEL, 0.25), "it " + "x" * 1_000, Tokens(1_200), Cost(0.2, estimated=True))
    [row] = calls(database)
    assert (row.state, row.input_tokens, row.cost, row.estimated) == ("failed", 1_200, 0.2, True)
    assert row.error.endswith("its cost is estimated.")
    assert len(row.error) == 500
    assert (run.input_tokens, run.cost) == (1_200, 0.2)
    with pytest.raises(RunBudgetExceeded):
        run.start(MODEL, 0.11)
    assert book.today() == 0.2
    with pytest.raises(DailyCapExceeded):
        spend(database, clock, cap=0.5).run("other", "organize").start(MODEL, 0.31)


def test_a_call_that_was_settled_is_not_settled_again(database: Database, clock: FakeClock) -> None:
    """O14: a late failure does not undo a cost."""
    run = spend(database, clock).run("default", "organize")
    call = make(run, 0.25)
    run.fail(call, "late")
    assert [(row.state, row.cost) for row in calls(database)] == [("done", 0.25)]


def test_recent_calls_are_the_owners_newest_first(database: Database, clock: FakeClock) -> None:
    """O14: each user sees its own calls."""
    mine, other = (
        spend(database, clock).run("default", "organize"),
        spend(database, clock).run("other", "organize"),
    )
    made = [make(mine, 0.01), make(mine, 0.01)]
    make(other, 0.01)
    assert [row.id for row in calls(database)] == made[::-1]
    assert [row.id for row in calls(database, limit=1)] == made[1:]
    assert len(calls(database, "other")) == 1


# Limits


def test_a_run_does_not_overspend_its_budget(database: Database, clock: FakeClock) -> None:
    """O14: the call that could is refused before it is made, and the message says what to do."""
    run = spend(database, clock, budget=0.5).run("default", "organize")
    make(run, 0.25)
    with pytest.raises(RunBudgetExceeded, match=r"spent 0\.2500 USD.*may cost 0\.2600.*models\.run_budget_usd"):
        run.start(MODEL, 0.26)
    assert run.left == 0.25
    make(run, 0.25)
    assert len(calls(database)) == 2


def test_the_home_does_not_overspend_its_day(database: Database, clock: FakeClock) -> None:
    """O14: the cap is for all users together; a call under way counts at its most."""
    book = spend(database, clock, cap=0.5)
    make(book.run("default", "organize"), 0.25)
    book.run("other", "compact").start(MODEL, 0.125)
    with pytest.raises(
        DailyCapExceeded, match=r"spent 0\.3750 USD today.*waits until midnight UTC.*models\.daily_cap_usd"
    ):
        book.run("default", "organize").start(MODEL, 0.13)
    assert book.today() == 0.375
    make(book.run("default", "organize"), 0.125)


def test_the_cap_starts_anew_at_midnight(database: Database, clock: FakeClock) -> None:
    """O14: at midnight UTC, not 24 hours after the first call."""
    book = spend(database, clock, cap=0.5)
    clock.turn(seconds=(day_of(clock.now) + timedelta(days=1) - clock.now).total_seconds() - 1)
    make(book.run("default", "organize"), 0.5)
    with pytest.raises(DailyCapExceeded):
        book.run("default", "organize").start(MODEL, 0.01)
    clock.turn(seconds=1)
    assert book.today() == 0.0
    make(book.run("default", "organize"), 0.5)


def test_a_cap_of_nothing_lets_only_free_calls_through(database: Database, clock: FakeClock) -> None:
    """O14: a local model works at a cap of zero."""
    book = spend(database, clock, cap=0.0)
    make(book.run("default", "organize"), 0.0, "ollama:qwen3")
    with pytest.raises(DailyCapExceeded):
        book.run("default", "organize").start(MODEL, 0.001)


def test_workers_at_once_do_not_pass_the_cap_together(database: Database, clock: FakeClock) -> None:
    """O14: of 16 calls that each fit alone, as many start as fit together, on both databases."""
    book = spend(database, clock, cap=0.5)

    def start(_: int) -> bool:
        try:
            book.run("default", "organize").start(MODEL, 0.125)
        except DailyCapExceeded:
            return False
        return True

    assert sum(in_threads(16, start)) == 4
    assert book.today() == 0.5


def test_a_day_begins_at_midnight_utc() -> None:
    assert day_of(datetime(2026, 3, 5, 23, 59, 59, 999_999, tzinfo=UTC)) == datetime(2026, 3, 5, tzinfo=UTC)
    assert day_of(datetime(2026, 3, 5, tzinfo=UTC)) == datetime(2026, 3, 5, tzinfo=UTC)


# Prices


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        pytest.fail("a price was looked up over the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.usefixtures("offline")
class TestPrice:
    def test_a_known_model_has_its_listed_price(self) -> None:
        """O14: from the bundled list, without a connection."""
        assert cost_of(MILLION, ModelsSettings(model="anthropic:claude-haiku-4-5")) == Cost(6.0, False)
        assert cost_of(MILLION, ModelsSettings(model="openai:gpt-4o-mini")) == Cost(0.75, False)

    def test_what_was_cached_is_cheaper(self) -> None:
        """O14: input that the provider had cached costs a tenth."""
        cached = Tokens(1_000_000, 0, cache_read=1_000_000)
        assert cost_of(cached, ModelsSettings(model="anthropic:claude-haiku-4-5")).usd == pytest.approx(0.1)

    @pytest.mark.parametrize("model", ["openai:nobody-knows", "nobody:knows"])
    def test_an_unknown_model_is_dear_and_said_to_be_estimated(self, model: str) -> None:
        """O14: too high rather than too low."""
        assert cost_of(MILLION, ModelsSettings(model=model)) == Cost(UNKNOWN_INPUT_USD + UNKNOWN_OUTPUT_USD, True)

    def test_a_local_model_is_free(self) -> None:
        """O14: ollama runs on one's own machine."""
        assert cost_of(MILLION, ModelsSettings(model="ollama:qwen3")) == Cost(0.0, False)

    def test_a_price_that_is_set_is_the_price(self) -> None:
        """O14: for known, unknown and local models; one alone leaves the other as it is."""
        for model in ("anthropic:claude-haiku-4-5", "openai:nobody-knows", "ollama:qwen3"):
            settings = ModelsSettings(model=model, input_usd_per_million=0.5, output_usd_per_million=1.5)
            assert cost_of(MILLION, settings) == Cost(2.0, False)
        half = ModelsSettings(model="openai:nobody-knows", input_usd_per_million=0.5)
        assert cost_of(MILLION, half) == Cost(0.5 + UNKNOWN_OUTPUT_USD, True)
