"""The organizer that uses a model: in a loop, it reads and writes documents with the tools until it is done.

A refused call goes back to the model, which corrects it. What stays refused is named in the note of the run. An
error of the model itself ends the run: what it finished before is kept, and the transcript stays in the inbox.

An outage is not a failed attempt, unless the model fails on one transcript while it answers other requests: after
`OUTAGES_FORGIVEN` failures, the ledger tells whether anything was answered since the failure before. Where nothing
else was asked, a short question comes first. So an outage costs little however long it lasts, and a transcript on
which the provider always fails is given up in the end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, timedelta, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from lifelong.collect.descriptors import memory_agent_prompt
from lifelong.errors import (
    DailyCapExceeded,
    DocumentInUse,
    DocumentNotFound,
    InputError,
    LifelongError,
    ModelError,
    ModelUnavailable,
    ModelUnusable,
    RunBudgetExceeded,
    StaleWrite,
)
from lifelong.models.ledger import MAX_OUTPUT_TOKENS, Ledger, Run, Spend, Tokens, cost_of, estimated_tokens
from lifelong.models.providers import model_for
from lifelong.models.question import ModelQuery, run_in_own_loop
from lifelong.organize.fact_tools import MAX_SEARCHED, FactTools
from lifelong.organize.facts import parse_facts
from lifelong.organize.llm_prompt import FindHits, prompts, what_is_known
from lifelong.organize.organizer import RunResult, Transcript
from lifelong.organize.tools import document_tools
from lifelong.organize.write_policy import content_words
from lifelong.storage.base import Database
from lifelong.tools import Tool
from lifelong.types import Clock, Hit

if TYPE_CHECKING:
    import pydantic_ai
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model
    from pydantic_ai.usage import RunUsage, UsageLimits

    from lifelong.models.metered import MeteredModel
    from lifelong.organize.draft import Draft
    from lifelong.organize.support import SupportCheck
    from lifelong.settings import ModelsSettings

log = logging.getLogger("lifelong.organize")

PURPOSE = "organize"
PROBE_PURPOSE = "probe"
PROBE = "Answer with the one word OK."

OUTAGES_FORGIVEN = 3  # of one transcript, before it may be the cause
OUTAGES_SINCE = timedelta(days=1)  # failures before that are forgotten

NOTHING = "NOTHING TO KEEP"

MAX_REFUSED_ROUNDS = 6  # in a row, in which every call was refused
MAX_DONES = 4  # after which `done` ends the run, whatever was refused beside it
MAX_SUMMARY_CHARS = 800

REFUSED = """\
These edits were refused and are not kept:
{shown}
Make them again as the reasons say, or leave out what cannot be kept; then call done."""

STILL_REFUSED = (
    "Some calls were refused. Make them again as the reasons say, or call done again to leave them out."
)

NUDGE = """\
You kept nothing: an answer in words is lost. Keep what deserves to last with add_fact now. If nothing does, answer
with the one line NOTHING TO KEEP."""

_FOR_THE_MODEL = (InputError, StaleWrite, DocumentNotFound, DocumentInUse)
"""Errors of a tool that the model can correct. Any other ends the run."""

READING = ("document_read", "search", "done")
"""The tools that change nothing."""

MADE_GOOD_SHARE = 0.5  # of a refused call's words that a later call says again


class LlmOrganizer:
    """Organizes with a model of any provider. Each run has its own event loop and client, so an organizer may be
    used from many threads."""

    name = "llm"

    def __init__(
        self,
        settings: ModelsSettings,
        database: Database,
        clock: Clock,
        model: Callable[[ModelsSettings], Model] = model_for,
        *,
        find: FindHits | None = None,
        zone: tzinfo = UTC,
        support: SupportCheck | None = None,
    ) -> None:
        """`find` finds related facts; `zone` is the zone of the time that the model is told; `support` tells
        whether records support what it writes."""
        self._settings = settings
        self._database = database
        self._clock = clock
        self._find = find
        self._zone = zone
        self._support = support
        self._spend = Spend(database, clock, settings.daily_cap_usd, settings.run_budget_usd)
        self._model = model

    def blocked_reason(self) -> str:
        """Return why nothing can be organized at the moment; empty if it can."""
        asked = estimated_tokens(len(memory_agent_prompt()))
        call = cost_of(Tokens(asked, MAX_OUTPUT_TOKENS), self._settings).usd
        return self._spend.over_cap(self._spend.today(), min(call, self._settings.run_budget_usd))

    def status_notes(self) -> list[str]:
        return []

    def organize(self, transcript: Transcript, draft: Draft) -> RunResult:
        self._probe(transcript)
        run = self._spend.run(transcript.owner, PURPOSE, transcript.inbox_id)
        if self._support:
            draft.require_support(self._support)
        facts = FactTools(draft, transcript, self._find and partial(self._find_facts, transcript.owner))
        tools, unfinished = _CountedTools(draft, facts), None
        asked = self._prompts(transcript, draft, facts)
        try:
            run_in_own_loop(self._run(asked, tools, run))
        except (ModelError, DailyCapExceeded) as error:
            failure = self._attributed(error, transcript)
            if not draft.changes:
                raise failure from None
            unfinished = ModelError(str(failure)) if isinstance(failure, RunBudgetExceeded) else failure
        used = (run.input_tokens, run.output_tokens, run.cost)
        return RunResult(_note(draft, tools, unfinished), self._settings.model, *used, unfinished)

    def _probe(self, transcript: Transcript) -> None:
        """Ask a short question first, where the model failed on this transcript again and again and answered
        nothing since. Raise if it does not answer that either: it is out."""
        failures = self._failures(transcript)
        if len(failures) < OUTAGES_FORGIVEN or self._answered_after(failures[0]):
            return
        ask = ModelQuery(
            *(self._settings, self._database, self._clock, transcript.owner, PROBE_PURPOSE), model=self._model
        )
        try:
            ask(PROBE)
        except ModelUnavailable as error:
            raise ModelUnavailable(str(error), error.retry_after) from None
        except ModelUnusable:
            raise
        except ModelError as error:
            log.info("the model gave no usable answer to a short question; the transcript is tried: %s", error)

    def _attributed(
        self, error: ModelError | DailyCapExceeded, transcript: Transcript
    ) -> ModelError | DailyCapExceeded:
        """Return the error; an outage as a failure of this transcript if the model answers other requests."""
        if not isinstance(error, ModelUnavailable) or not error.request_may_be_cause:
            return error
        failures = self._failures(transcript)
        if len(failures) <= OUTAGES_FORGIVEN or not self._answered_after(failures[1]):
            return error
        return ModelError(
            f"{error} It failed {len(failures)} times on this transcript and answered other requests in between, "
            "so this is a failed attempt. Retry the transcript when the cause is found, or leave it."
        )

    def _failures(self, transcript: Transcript) -> list[int]:
        """Return the calls for this transcript that failed, newest first."""
        inbox_id, since = transcript.inbox_id, self._clock() - OUTAGES_SINCE
        return self._database.read(lambda tx: Ledger(tx).failures(inbox_id, since)) if inbox_id else []

    def _answered_after(self, call_id: int) -> bool:
        return self._database.read(lambda tx: Ledger(tx).answered_after(call_id, self._settings.model))

    def _find_facts(self, owner: str, query: str) -> Sequence[Hit]:
        return self._find(owner, query, MAX_SEARCHED) if self._find else ()

    def _prompts(self, transcript: Transcript, draft: Draft, facts: FactTools) -> Iterator[str]:
        now = self._clock().astimezone(self._zone)

        def known(part: str) -> str:
            return what_is_known(transcript, part, draft, facts, self._find)

        return prompts(transcript, known, now, self._settings.context_chars // 2)

    async def _run(self, asked: Iterator[str], tools: _CountedTools, run: Run) -> None:
        from pydantic_ai.exceptions import AgentRunError, UsageLimitExceeded

        from lifelong.models.metered import MeteredModel, as_model_error

        agent = self._agent(MeteredModel(self._model(self._settings), run, self._settings), tools)
        try:
            async with agent:
                await self._converse(agent, tools, asked)
        except UsageLimitExceeded as error:
            raise RunBudgetExceeded(
                f"The run of {self._settings.model} did not end within {self._settings.run_requests} calls and "
                f"{self._settings.run_tokens:,} tokens. Raise models.run_requests or models.run_tokens, or choose "
                f"a model that uses tools better. What happened: {error}"
            ) from None
        except AgentRunError as error:
            raise as_model_error(error, self._settings) from None

    def _agent(self, model: MeteredModel, tools: _CountedTools) -> pydantic_ai.Agent[object, str]:
        from pydantic_ai import Agent

        return Agent(
            model,
            name="memory-agent",
            instructions=memory_agent_prompt(),
            tools=tools.tools,
            retries={"tools": self._settings.run_requests, "output": 1},
            model_settings=model.call_settings,
        )

    async def _converse(
        self, agent: pydantic_ai.Agent[object, str], tools: _CountedTools, asked: Iterator[str]
    ) -> None:
        """Give the model the transcript, in as many parts as its context needs. Remind it once of what it has not
        done: of writing at all, or of edits that were refused."""
        from pydantic_ai.usage import RunUsage, UsageLimits

        limits = UsageLimits(
            request_limit=self._settings.run_requests, total_tokens_limit=self._settings.run_tokens
        )
        usage = RunUsage()
        for prompt in asked:
            tools.begin()
            answer, history = await _talk(agent, tools, prompt, None, usage, limits)
            if reminder := tools.reminder(answer):
                answer, _ = await _talk(agent, tools, reminder, history, usage, limits)
            if tools.written or kept_nothing(answer):
                continue
            if tools.refused:
                raise ModelError(
                    f"Every edit of {self._settings.model} was refused, also when it was told why. Choose a model "
                    f"that uses tools better. The last refusal: {tools.refused[-1].reason}"
                )
            if not tools.facts.finished:
                raise ModelError(
                    f"{self._settings.model} answered in words and wrote nothing, also when asked to. Choose a "
                    f"model that uses tools. Its answer: {answer[:200]!r}"
                )


async def _talk(
    agent: pydantic_ai.Agent[object, str],
    tools: _CountedTools,
    prompt: str,
    history: list[ModelMessage] | None,
    usage: RunUsage,
    limits: UsageLimits,
) -> tuple[str, list[ModelMessage]]:
    """Run the model until it answers in words, calls `done` with nothing refused, or is stuck: its calls are
    refused round after round. Return its answer and the conversation."""
    from pydantic_ai import Agent

    async with agent.iter(prompt, message_history=history, usage=usage, usage_limits=limits) as run:
        async for node in run:
            if Agent.is_model_request_node(node) and tools.end_round():
                break
        return (run.result.output if run.result else ""), run.all_messages()


class Refusal(NamedTuple):
    """A call that changed nothing: its tool, the fact or document it was for, what it said, and why."""

    tool: str
    target: str
    about: str
    reason: str


class _CountedTools:
    """The tools over one draft, the number of calls that changed something, and the calls that were refused and
    not made good since: in this part of the transcript, and in those before."""

    def __init__(self, draft: Draft, facts: FactTools) -> None:
        self._draft = draft
        self.facts = facts
        self.tools = [self._tool(tool) for tool in (*facts.tools(), *document_tools(draft))]
        self.refused: list[Refusal] = []
        self.refused_before: list[Refusal] = []
        self.begin()

    def begin(self) -> None:
        """Begin with the next part of the transcript."""
        self.refused_before += self.refused
        self.refused = []
        self._told: tuple[Refusal, ...] = ()
        self.facts.finished = False
        self._ended = 0
        self.written = 0
        self._refused_rounds = 0
        self._called = self._accepted = 0

    def end_round(self) -> bool:
        """End a round of calls. Return whether the run is over: the model is done, or stuck."""
        stuck = self._called and not self._accepted
        self._refused_rounds = self._refused_rounds + 1 if stuck else 0
        self._ended += self.facts.finished
        done = self.facts.finished and (not self._untold() or self._ended >= MAX_DONES)
        self.facts.finished = done
        self._called = self._accepted = 0
        self._told = tuple(self.refused)
        return done or self._refused_rounds >= MAX_REFUSED_ROUNDS

    def _untold(self) -> bool:
        """Return whether calls of this round were refused, for which the model may have another try."""
        return any(one not in self._told for one in self.refused)

    def reminder(self, answer: str) -> str:
        """Return what to say to a model that ended too early; empty if it did not."""
        if self._refused_rounds >= MAX_REFUSED_ROUNDS or self.facts.finished or kept_nothing(answer):
            return ""
        if self.refused:
            shown = "\n".join(f"- {one.tool} {one.about[:100]!r}: {one.reason}" for one in self.refused)
            return REFUSED.format(shown=shown)
        return "" if self.written else NUDGE

    def _tool(self, tool: Tool) -> pydantic_ai.Tool[object]:
        from pydantic_ai import Tool as ModelTool
        from pydantic_core import SchemaValidator, core_schema

        kinds = {name: one.get("type") for name, one in tool.parameters["properties"].items()}

        async def call(**arguments: Any) -> str:
            given = {
                name: _as_text(value, kinds.get(name))
                for name, value in arguments.items()
                if value is not None and kinds  # models like to say something with `done`
            }
            before = dict(self._draft.edits)
            self._called += 1
            try:
                answer = tool.call(**given)
            except _FOR_THE_MODEL as error:
                self._draft.edits = before
                if tool.name not in READING:
                    self._made_good(tool.name, given)
                    self.refused.append(Refusal(tool.name, _target(given), _about(given), str(error)))
                return f"Refused: {error}"
            self._accepted += 1
            if tool.name not in READING:
                self.written += 1
                self._made_good(tool.name, given)
            return STILL_REFUSED if tool.name == "done" and self._untold() else answer

        made: ModelTool[object] = ModelTool.from_schema(
            call, tool.name, tool.description, tool.parameters, sequential=True
        )
        made.function_schema.validator = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))
        return made

    def _made_good(self, tool: str, given: Mapping[str, Any]) -> None:
        """Forget the refusals of calls that said much the same, or, where they had no words, were for the same."""
        words, target = content_words(_about(given)), (tool, _target(given))

        def is_same(one: Refusal) -> bool:
            said = content_words(one.about)
            if not said:
                return (one.tool, one.target) == target
            return len(words & said) >= MADE_GOOD_SHARE * len(said)

        self.refused = [one for one in self.refused if not is_same(one)]


def _as_text(value: Any, kind: str | None) -> Any:
    """Return a list where a text is wanted as one: models write `["r12", "r14"]` as often as "r12, r14"."""
    if kind == "string" and isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value) if kind == "string" and isinstance(value, int) and not isinstance(value, bool) else value


def _target(given: Mapping[str, Any]) -> str:
    """Return the fact or the document that a call is for."""
    return next((str(given[name]) for name in ("fact", "document_id", "to", "slug") if given.get(name)), "")


def _about(given: Mapping[str, Any]) -> str:
    """Return what a call says: its text, else its target."""
    said = [str(given[name]) for name in ("text", "body", "append", "replace", "find") if given.get(name)]
    return " ".join(said) or " ".join(str(value) for value in given.values())


def _note(draft: Draft, tools: _CountedTools, unfinished: LifelongError | None) -> str:
    """Return what the run changed, what was refused and whether it broke off, in plain words."""
    changed = "; ".join(changes_in_words(draft)) or NOTHING
    left_out = (*tools.refused_before, *tools.refused)
    refused = [f"Refused: {one.about[:80]!r}, because: {one.reason[:200]}" for one in left_out]
    broken = [f"Broke off, to be organized again: {str(unfinished)[:200]}"] if unfinished else []
    left = MAX_SUMMARY_CHARS - sum(len(one) + 1 for one in (*refused[:2], *broken))
    changed = changed if len(changed) <= left else f"{changed[: left - 1]}…"
    return "\n".join((changed, *refused[:2], *broken))[:MAX_SUMMARY_CHARS]


def changes_in_words(draft: Draft) -> Iterator[str]:
    """Yield for each document what a draft adds to it and ends in it."""
    for edit in draft.changes:
        old = {fact.text: fact for fact in parse_facts(edit.before.body)} if edit.before else {}
        new = {fact.text: fact for fact in parse_facts(edit.after.body)} if edit.after else {}
        path = edit.after.path if edit.after else edit.before.path if edit.before else ""
        added = [text for text, fact in new.items() if text not in old and fact.current]
        ended = [text for text, fact in new.items() if not fact.current and text in old and old[text].current]
        said = [f"added {text!r}" for text in added] + [f"ended {text!r}" for text in ended]
        if said:
            yield f"{path}: {', '.join(said)}"
        elif edit.before and edit.after:
            yield f"{path}: reworded or cited again"


def kept_nothing(answer: str) -> bool:
    """Return whether the last line says that there was nothing to keep."""
    last = answer.strip().rpartition("\n")[2]
    return last.strip(" *_`.\"'#-").upper() == NOTHING
