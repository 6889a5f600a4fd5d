"""What calls of models cost, the rows of `ledger` that keep it, and the limits they are held to.

A row is written before its call is made, with the most the call may cost: that much is reserved. When the call
ends, the row gets what the provider reported. A call that was refused or never arrived costs nothing; one that
timed out or was cut may have been charged, so it is booked at an estimate, and counts against every limit.
A worker that dies in between leaves the reservation in the ledger, so that the cap holds. Prices come with the
package `genai_prices` and are never downloaded. A model it does not know is charged at a price that is too high
rather than too low, and marked as estimated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from lifelong.errors import DailyCapExceeded, RunBudgetExceeded
from lifelong.storage.base import Database, Row, Transaction
from lifelong.types import Clock, from_micros, to_micros

if TYPE_CHECKING:
    from lifelong.settings import ModelsSettings

LOCAL_PROVIDERS = {"ollama"}
"""Providers that run on one's own machine: their calls cost nothing."""

UNKNOWN_INPUT_USD, UNKNOWN_OUTPUT_USD = 15.0, 75.0
"""USD per million tokens of a model whose price nobody knows: about the dearest there are."""

BYTES_PER_TOKEN = 3
"""Fewer than any usual text has, so that a call is not estimated too low: English has about four bytes a
token, Chinese three."""

MAX_OUTPUT_TOKENS = 8_192
MIN_OUTPUT_TOKENS = 1_000
"""How long, in tokens, an answer may be: as long as the run's budget pays for, but never cut below the least."""

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a call used. `input` includes what was read from and written to the provider's cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True, slots=True)
class Cost:
    """`estimated`: the price or the tokens were guessed."""

    usd: float
    estimated: bool = False


NO_TOKENS, FREE = Tokens(), Cost(0.0)


def cost_of(tokens: Tokens, settings: ModelsSettings) -> Cost:
    """Return what the tokens of the configured model cost."""
    given_input, given_output = settings.input_usd_per_million, settings.output_usd_per_million
    listed = _listed_price(tokens, settings.model)
    input_usd, output_usd = listed or (
        tokens.input * UNKNOWN_INPUT_USD / _MILLION,
        tokens.output * UNKNOWN_OUTPUT_USD / _MILLION,
    )
    if given_input is not None:
        input_usd = tokens.input * given_input / _MILLION
    if given_output is not None:
        output_usd = tokens.output * given_output / _MILLION
    guessed = not listed and (given_input is None or given_output is None)
    return Cost(input_usd + output_usd, guessed)


def _listed_price(tokens: Tokens, model: str) -> tuple[float, float] | None:
    """Return USD for input and for output; none where the price is unknown."""
    provider, _, name = model.partition(":")
    if provider in LOCAL_PROVIDERS:
        return 0.0, 0.0
    from genai_prices import Usage, calc_price

    usage = Usage(
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write,
    )
    try:
        found = calc_price(usage, name, provider_id=provider)
    except (LookupError, ValueError):
        return None
    return float(found.input_price), float(found.output_price)


def estimated_tokens(text_bytes: int) -> int:
    """Return at least as many tokens as this much text is likely to have."""
    return -(-text_bytes // BYTES_PER_TOKEN)


CallState = Literal["started", "done", "failed"]

MAX_ERROR_CHARS = 500
ESTIMATED_COST = " It may have been charged: its cost is estimated."

_COLUMNS = "id, at, owner, purpose, model, state, input_tokens, output_tokens, cost, estimated, inbox_id, error"
_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a model. Its `cost` is the most it may cost until it is done."""

    id: int
    at: datetime
    owner: str
    purpose: str
    model: str
    state: CallState
    input_tokens: int
    output_tokens: int
    cost: float
    estimated: bool
    inbox_id: int | None
    error: str


class Ledger:
    """`ledger`, seen through a transaction."""

    __slots__ = ("_tx",)

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def take(self) -> None:
        """Keep others from starting a call until the transaction ends. The row of the step that made the
        ledger stands for all of it."""
        self._tx.one(f"SELECT number FROM lifelong_migrations WHERE number = 5{self._tx.for_update}")

    def start(
        self, at: datetime, owner: str, purpose: str, model: str, most: float, inbox_id: int | None = None
    ) -> int:
        """Enter a call that is about to be made and costs no more than this. Return its id."""
        rows = self._tx.many(
            "INSERT INTO ledger (at, owner, purpose, model, state, input_tokens, output_tokens, cost, estimated, "
            "inbox_id, error) VALUES (?, ?, ?, ?, 'started', 0, 0, ?, 1, ?, '') RETURNING id",
            [(to_micros(at), owner, purpose, model, most, inbox_id)],
        )
        call_id: int = rows[0][0]
        return call_id

    def finish(self, call_id: int, tokens: Tokens, cost: Cost) -> None:
        self._tx.run(
            "UPDATE ledger SET state = 'done', input_tokens = ?, output_tokens = ?, cost = ?, estimated = ? "
            "WHERE id = ? AND state = 'started'",
            *(tokens.input, tokens.output, cost.usd, int(cost.estimated), call_id),
        )

    def fail(self, call_id: int, error: str, tokens: Tokens = NO_TOKENS, cost: Cost = FREE) -> None:
        """Enter that a call gave no usable answer, at this cost instead of what was reserved for it. Where the
        cost is estimated, the row says so."""
        note = ESTIMATED_COST if cost.estimated else ""
        self._tx.run(
            "UPDATE ledger SET state = 'failed', input_tokens = ?, output_tokens = ?, cost = ?, estimated = ?, "
            "error = ? WHERE id = ? AND state = 'started'",
            *(tokens.input, tokens.output, cost.usd, int(cost.estimated)),
            *(f"{error[: MAX_ERROR_CHARS - len(note)]}{note}", call_id),
        )

    def failures(self, inbox_id: int, since: datetime) -> list[int]:
        """Return the ids of the calls for an inbox item that failed since then, newest first."""
        rows = self._tx.all(
            "SELECT id FROM ledger WHERE at >= ? AND inbox_id = ? AND state = 'failed' ORDER BY id DESC",
            *(to_micros(since), inbox_id),
        )
        return [row[0] for row in rows]

    def answered_after(self, call_id: int, model: str) -> bool:
        """Return whether this model answered a call that began after this one, whatever it was asked."""
        return bool(
            self._tx.one(
                "SELECT 1 FROM ledger WHERE id > ? AND model = ? AND state = 'done' LIMIT 1", call_id, model
            )
        )

    def spent_since(self, at: datetime) -> float:
        """Return the USD spent by the whole home, calls under way at their most."""
        row = self._tx.one("SELECT COALESCE(SUM(cost), 0) FROM ledger WHERE at >= ?", to_micros(at))
        return float(row[0]) if row else 0.0

    def recent(self, owner: str, limit: int) -> list[Call]:
        """Return the owner's last calls, newest first."""
        rows = self._tx.all(
            f"SELECT {_COLUMNS} FROM ledger WHERE owner = ? ORDER BY id DESC LIMIT ?", owner, limit
        )
        return [from_row(row) for row in rows]


class Spend:
    """What the home may spend in a day, and a run in all. The database is asked before every call, so the
    cap holds for every worker of the home together."""

    def __init__(self, database: Database, clock: Clock, daily_cap_usd: float, run_budget_usd: float) -> None:
        self.database = database
        self.clock = clock
        self.daily_cap_usd = daily_cap_usd
        self.run_budget_usd = run_budget_usd

    def today(self) -> float:
        """Return the USD spent since the day began (UTC)."""
        return self.database.read(lambda tx: Ledger(tx).spent_since(day_of(self.clock())))

    def over_cap(self, spent: float, most: float) -> str:
        """Return why a call that may cost this much cannot be made after so much was spent today; empty where
        it can."""
        if not most or spent + most <= self.daily_cap_usd:
            return ""
        return (
            f"The home spent {spent:.4f} USD today, and the next call may cost {most:.4f}: more than the "
            f"{self.daily_cap_usd:g} it may spend in a day. The work waits until midnight UTC; raise "
            "models.daily_cap_usd to go on now."
        )

    def run(self, owner: str, purpose: str, inbox_id: int | None = None) -> Run:
        """Return a new run that has spent nothing yet."""
        return Run(self, owner, purpose, inbox_id)


class Run:
    """The calls of one run, in order: `start` before each, then `finish` or `fail`."""

    def __init__(self, spend: Spend, owner: str, purpose: str, inbox_id: int | None) -> None:
        self._spend = spend
        self._owner = owner
        self.purpose = purpose
        self._inbox_id = inbox_id
        self.input_tokens = 0
        self.output_tokens = 0
        self.cost = 0.0

    @property
    def left(self) -> float:
        """USD that the run may still spend."""
        return self._spend.run_budget_usd - self.cost

    def start(self, model: str, most: float) -> int:
        """Enter a call in the book. Refuse it with `RunBudgetExceeded` where the run could overspend by it, and
        with `DailyCapExceeded` where the home could overspend its day."""
        if most > self.left:
            raise RunBudgetExceeded(
                f"The run spent {self.cost:.4f} USD, and the next call of {model} may cost {most:.4f}: more than "
                f"the {self._spend.run_budget_usd:g} a run may spend. Raise models.run_budget_usd, or choose a "
                "cheaper model."
            )

        def enter(tx: Transaction) -> int:
            now, ledger = self._spend.clock(), Ledger(tx)
            ledger.take()
            if wrong := self._spend.over_cap(ledger.spent_since(day_of(now)), most):
                raise DailyCapExceeded(wrong)
            return ledger.start(now, self._owner, self.purpose, model, most, self._inbox_id)

        return self._spend.database.write(enter)

    def finish(self, call_id: int, tokens: Tokens, cost: Cost) -> None:
        self._count(tokens, cost)
        self._note(lambda ledger: ledger.finish(call_id, tokens, cost))

    def fail(self, call_id: int, error: str, tokens: Tokens = NO_TOKENS, cost: Cost = FREE) -> None:
        self._count(tokens, cost)
        self._note(lambda ledger: ledger.fail(call_id, error, tokens, cost))

    def _count(self, tokens: Tokens, cost: Cost) -> None:
        self.input_tokens += tokens.input
        self.output_tokens += tokens.output
        self.cost += cost.usd

    def _note(self, step: Callable[[Ledger], None]) -> None:
        self._spend.database.write(lambda tx: step(Ledger(tx)))


def day_of(now: datetime) -> datetime:
    """Return when the UTC day of this time began."""
    return now - timedelta(microseconds=to_micros(now) % _DAY)


def from_row(row: Row) -> Call:
    call = Call(row[0], from_micros(row[1]), *row[2:])
    return replace(call, estimated=bool(call.estimated))  # a database may hold a whole number
