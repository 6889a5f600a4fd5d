"""One question to the configured model: no tools, one answer, within a budget, on the book."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from lifelong.errors import ModelError, RunBudgetExceeded
from lifelong.models.ledger import Run, Spend
from lifelong.models.providers import model_for
from lifelong.storage.base import Database
from lifelong.types import Clock

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from lifelong.settings import ModelsSettings

T = TypeVar("T")

BUDGET_USD = 0.05


class ModelQuery:
    """Call it with a prompt: the answer, or a `ModelError` (or `DailyCapExceeded`) that says what to do. Each
    call is a row of the ledger. Safe to share between threads."""

    def __init__(
        self,
        settings: ModelsSettings,
        database: Database,
        clock: Clock,
        owner: str,
        purpose: str = "notes",
        model: Callable[[ModelsSettings], Model] = model_for,
    ) -> None:
        self._settings = settings
        self._spend = Spend(database, clock, settings.daily_cap_usd, BUDGET_USD)
        self._owner = owner
        self._purpose = purpose
        self._model = model

    def __call__(self, prompt: str) -> str:
        return run_in_own_loop(self._ask(prompt, self._spend.run(self._owner, self._purpose)))

    async def _ask(self, prompt: str, run: Run) -> str:
        from pydantic_ai.direct import model_request
        from pydantic_ai.exceptions import AgentRunError
        from pydantic_ai.messages import ModelRequest

        from lifelong.models.metered import MeteredModel, as_model_error

        model = MeteredModel(self._model(self._settings), run, self._settings)
        try:
            async with model:
                asked = [ModelRequest.user_text_prompt(prompt)]
                answer = await model_request(model, asked, model_settings=model.call_settings)
        except RunBudgetExceeded:
            raise RunBudgetExceeded(
                f"One question of this length to {self._settings.model} may cost more than the "
                f"{BUDGET_USD:g} USD that it may. Choose a cheaper model."
            ) from None
        except AgentRunError as error:  # its time is up
            raise as_model_error(error, self._settings) from None
        if answer.finish_reason not in (None, "stop"):
            why = "was cut off in the middle of its answer" if answer.finish_reason == "length" else "declined"
            raise ModelError(f"{self._settings.model} {why}.")
        return answer.text or ""


def run_in_own_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run it to its end, also where the caller's thread has a loop already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="lifelong-model") as other:
        return other.submit(asyncio.run, work).result()
