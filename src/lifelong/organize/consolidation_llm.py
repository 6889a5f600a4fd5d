"""A model's part in a consolidation: one question for some documents at a time, answered with a plan.

Import this module where a model is used, not before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from importlib.resources import files as resources
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from lifelong.errors import ModelError
from lifelong.models.ledger import Run, Spend
from lifelong.models.providers import model_for
from lifelong.models.question import run_in_own_loop
from lifelong.organize.consolidation import Merge, Move, Page, Step, WorkingTree
from lifelong.organize.document_rows import MEMORY_ROOT
from lifelong.organize.draft import slug_of
from lifelong.storage.base import Database
from lifelong.text.words import fold
from lifelong.types import Clock

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from lifelong.settings import ModelsSettings

PURPOSE = "consolidation"
MIN_FACTS = 2  # fewer are tidy
MAX_OUTLINE_CHARS = 8_000


class ProposedMerge(BaseModel):
    """Facts that say the same."""

    keep: str = Field(description="The id of the fact that stays: f12")
    also: list[str] = Field(description="The ids of the others. What they say, the first one says, too.")


class ProposedMove(BaseModel):
    """A fact in the wrong document."""

    fact: str = Field(description="Its id: f12")
    to: str = Field(description="Where it belongs: people/Tom Reed, projects/Harbor, preferences …")


class Proposal(BaseModel):
    """What to tidy."""

    merges: list[ProposedMerge] = []
    moves: list[ProposedMove] = []


class ModelPlanner:
    """Plans with a model of any provider, within the budget of one run. `since`: it looks only where something
    changed since then."""

    def __init__(
        self,
        settings: ModelsSettings,
        database: Database,
        clock: Clock,
        owner: str,
        since: datetime | None = None,
        model: Callable[[ModelsSettings], Model] = model_for,
    ) -> None:
        self._settings = settings
        spend = Spend(database, clock, settings.daily_cap_usd, settings.run_budget_usd)
        self._run: Run = spend.run(owner, PURPOSE)
        self._since = since
        self._open = model

    @property
    def model(self) -> str:
        return self._settings.model

    @property
    def input_tokens(self) -> int:
        return self._run.input_tokens

    @property
    def output_tokens(self) -> int:
        return self._run.output_tokens

    @property
    def cost(self) -> float:
        return self._run.cost

    def plan(self, tree: WorkingTree, asking: Callable[[], None]) -> Iterator[Step]:
        """Yield the steps that the model proposes: see `Planner`."""
        about = outline(tree)
        for number, shown in enumerate(shown_facts(tree, self._settings.context_chars // 2, self._since)):
            if number >= self._settings.run_requests:
                raise ModelError(f"It was asked {number} times, which is models.run_requests.")
            asking()
            prompt = f"<outline>\n{about}\n</outline>\n\n<facts>\n{shown}\n</facts>"
            proposal = run_in_own_loop(self._ask(prompt))
            yield from (Merge((one.keep, *one.also)) for one in proposal.merges)
            yield from (_move(tree, one) for one in proposal.moves)

    async def _ask(self, prompt: str) -> Proposal:
        from pydantic_ai import Agent
        from pydantic_ai.exceptions import AgentRunError

        from lifelong.models.metered import MeteredModel, as_model_error

        model = MeteredModel(self._open(self._settings), self._run, self._settings)
        agent = Agent(
            model,
            name=PURPOSE,
            output_type=Proposal,
            instructions=resources("lifelong").joinpath("prompts/consolidation.md").read_text(encoding="utf-8"),
            retries={"output": 1},
            model_settings=model.call_settings,
        )
        try:
            async with agent:
                return (await agent.run(prompt)).output
        except AgentRunError as error:
            raise as_model_error(error, self._settings) from None


def outline(tree: WorkingTree) -> str:
    """Return the documents, one per line, cut where it gets long."""
    lines = [f"{_short(page)}: {page.document.title}" for page in tree.pages.values() if not page.is_deleted]
    text = "\n".join(lines)
    return text if len(text) <= MAX_OUTLINE_CHARS else f"{text[:MAX_OUTLINE_CHARS].rpartition(chr(10))[0]}\n…"


def shown_facts(tree: WorkingTree, max_chars: int, since: datetime | None) -> Iterator[str]:
    """Yield the current facts of one subtree after the other, in parts of about so many characters; without the
    parts in which nothing changed."""
    subtrees: dict[str, list[Page]] = {}
    facts_of: dict[Page, list[str]] = {}
    for one in tree.facts.values():
        if one.fact.current:
            facts_of.setdefault(one.page, []).append(f"{one.name}: {one.part}")
    for page in facts_of:
        subtrees.setdefault(_short(page).partition("/")[0], []).append(page)
    for pages in subtrees.values():
        texts: list[str] = []
        facts, changed = 0, False
        for page in pages:
            text = "\n".join([f"# {_short(page)}", *facts_of[page]])
            if texts and sum(map(len, texts)) + len(text) > max_chars:
                if facts >= MIN_FACTS and changed:
                    yield "\n\n".join(texts)
                texts, facts, changed = [], 0, False
            texts.append(text)
            facts += len(facts_of[page])
            changed = changed or since is None or page.document.valid_from > since
        if facts >= MIN_FACTS and changed:
            yield "\n\n".join(texts)


def _move(tree: WorkingTree, proposed: ProposedMove) -> Move:
    """Return the step that is meant: by path, or by category and title."""
    steps = [step.strip() for step in proposed.to.strip().removeprefix(MEMORY_ROOT).strip("/ ").split("/")]
    path = MEMORY_ROOT
    for step in steps:
        titled = (page.path for page in tree.children(path) if fold(page.document.title) == fold(step))
        path = next(titled, f"{path}/{slug_of(step) or step}")
    return Move(proposed.fact, path, steps[-1])


def _short(page: Page) -> str:
    return page.path.removeprefix(f"{MEMORY_ROOT}/")
