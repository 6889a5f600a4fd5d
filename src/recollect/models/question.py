"""One question to the configured model: no tools, one answer, within a budget, on the book."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from recollect.errors import BudgetReached, ModelError
from recollect.models.base import ModelSettings
from recollect.models.ledger import Run, Spend
from recollect.models.providers import model_for
from recollect.storage.base import Database
from recollect.types import Clock

if TYPE_CHECKING:
    from pydantic_ai.models import Model

T = TypeVar("T")

BUDGET_USD = 0.05


class Question:
    """Call it with a prompt: the answer, or a `ModelError` (or `CapReached`) that says what to do. Each call is a
    row of the ledger. Safe to share between threads."""

    def __init__(
        self,
        settings: ModelSettings,
        database: Database,
        clock: Clock,
        owner: str,
        purpose: str = "notes",
        *,
        budget_usd: float = BUDGET_USD,
        model: Callable[[ModelSettings], Model] = model_for,
    ) -> None:
        self._settings = settings
        self._spend = Spend(database, clock, settings.daily_cap_usd, budget_usd)
        self._owner = owner
        self._purpose = purpose
        self._model = model

    def __call__(self, prompt: str) -> str:
        return in_a_loop_of_its_own(self._ask(prompt, self._spend.run(self._owner, self._purpose)))

    async def _ask(self, prompt: str, run: Run) -> str:
        from pydantic_ai.direct import model_request
        from pydantic_ai.messages import ModelRequest
        from pydantic_ai.settings import ModelSettings as CallSettings

        from recollect.models.metered import Metered

        model = Metered(self._model(self._settings), run, self._settings)
        told = CallSettings(request_timeout=self._settings.timeout_seconds)
        if "max_retries" not in model.wrapped.unsupported_settings:
            told["max_retries"] = 1
        try:
            async with model:
                answer = await model_request(model, [ModelRequest.user_text_prompt(prompt)], model_settings=told)
        except BudgetReached:
            raise BudgetReached(
                f"One question of this length to {self._settings.model} may cost more than the "
                f"{self._spend.run_budget_usd:g} USD that it may. Choose a cheaper model."
            ) from None
        if answer.finish_reason not in (None, "stop"):
            why = "was cut off in the middle of its answer" if answer.finish_reason == "length" else "declined"
            raise ModelError(f"{self._settings.model} {why}.")
        return answer.text or ""


def in_a_loop_of_its_own(work: Coroutine[Any, Any, T]) -> T:
    """Run it to its end, also where the caller's thread has a loop already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="recollect-model") as other:
        return other.submit(asyncio.run, work).result()
