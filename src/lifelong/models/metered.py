"""A model whose every call is counted, bounded and put into plain words when it fails.

Imports pydantic-ai: import this module where a model is used, not before.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestTimeout,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings as CallSettings
from pydantic_ai.settings import merge_model_settings
from pydantic_ai.usage import RequestUsage

from lifelong.errors import ModelError, ModelUnavailable, ModelUnusable
from lifelong.models.ledger import (
    MAX_OUTPUT_TOKENS,
    MIN_OUTPUT_TOKENS,
    Cost,
    Run,
    Tokens,
    cost_of,
    estimated_tokens,
)
from lifelong.models.providers import without_secrets

if TYPE_CHECKING:
    from lifelong.settings import ModelsSettings

PASSING_STATUS = (408, 409, 425, 429)
"""The statuses below 500 that say nothing about the request: it may be made again later."""

PAUSE_SECONDS = 0.5  # before a server that failed is asked once more

OLD_RESULT_CHARS = 300
"""What an earlier tool result keeps, in characters, when the context is full."""


class MeteredModel(WrapperModel):
    """Asks the wrapped model on the account of `run`, with the settings in `call_settings`. Errors of
    the model are a `ModelError`; errors of the ledger are raised unchanged."""

    def __init__(self, wrapped: Model, run: Run, settings: ModelsSettings) -> None:
        super().__init__(wrapped)
        self._run = run
        self._ours = settings
        self.call_settings = CallSettings(request_timeout=settings.timeout_seconds)
        self.call_settings["cache"] = True  # what comes first is the same in every run; others ignore it
        if settings.model.startswith("openai") and not settings.base_url:  # other servers may not know it
            key = {"openai_prompt_cache_key": f"lifelong-{run.purpose}"}
            self.call_settings = (
                merge_model_settings(self.call_settings, cast("CallSettings", key)) or CallSettings()
            )
        if "max_retries" not in wrapped.unsupported_settings:
            self.call_settings["max_retries"] = 0  # a client would sleep as long as the provider says

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: CallSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        tools = [json.dumps(tool.parameters_json_schema) for tool in model_request_parameters.function_tools]
        messages = within(messages, self._ours.context_chars)
        asked = estimated_tokens(sum(map(_bytes, [*tools, *sent(messages)])))
        output = self._affordable(asked)
        call = self._run.start(self._ours.model, cost_of(Tokens(asked, output), self._ours).usd)
        call_settings = merge_model_settings(model_settings, CallSettings(max_tokens=output))
        try:
            response = await self._ask(messages, call_settings, model_request_parameters)
        except Exception as error:
            failure = as_model_error(error, self._ours)
            if _is_free(error):
                self._run.fail(call, str(failure))
            else:
                self._fail_charged(call, str(failure), asked)
            # What the provider said may hold a key, so it is not carried along.
            raise failure from (None if isinstance(error, AgentRunError) else error)
        except BaseException:
            self._fail_charged(call, "The call took too long, or was stopped.", asked)
            raise
        usage, tokens, cost = self._used(response, asked)
        try:
            _check_calls(response)
        except UnexpectedModelBehavior as error:
            failure = as_model_error(error, self._ours)
            self._run.fail(call, str(failure), tokens, cost)
            raise failure from None
        self._run.finish(call, tokens, cost)
        return replace(response, usage=usage)

    def _fail_charged(self, call: int, error: str, asked: int) -> None:
        """Enter a call that gave no answer, but that the provider may have charged: the question, as estimated."""
        usd = cost_of(Tokens(asked), self._ours).usd
        self._run.fail(call, error, Tokens(asked), Cost(usd, estimated=usd > 0))

    async def _ask(
        self, messages: list[ModelMessage], settings: CallSettings | None, parameters: ModelRequestParameters
    ) -> ModelResponse:
        """Ask; once more after a failure of the server that may be a passing one. The rest is the queue's."""
        try:
            return await self.wrapped.request(messages, settings, parameters)
        except ModelHTTPError as error:
            if error.status_code < 500 or error.retry_after:
                raise
        await asyncio.sleep(PAUSE_SECONDS)
        return await self.wrapped.request(messages, settings, parameters)

    def _affordable(self, asked: int) -> int:
        """Return how many tokens of output the run can pay for after the question."""
        question = cost_of(Tokens(asked), self._ours).usd
        full = cost_of(Tokens(asked, MAX_OUTPUT_TOKENS), self._ours).usd - question
        paid = int(MAX_OUTPUT_TOKENS * (self._run.left - question) / full) if full else MAX_OUTPUT_TOKENS
        return max(MIN_OUTPUT_TOKENS, min(MAX_OUTPUT_TOKENS, paid))

    def _used(self, response: ModelResponse, asked: int) -> tuple[RequestUsage, Tokens, Cost]:
        """Return what a response used and cost. Where the server counts no tokens, they are estimated, so that the
        limits hold."""
        usage, guessed = response.usage, False
        if not usage.has_values():
            answered = estimated_tokens(sum(map(_bytes, sent([response]))))
            usage, guessed = RequestUsage(input_tokens=asked, output_tokens=answered), True
        tokens = Tokens(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
        cost = cost_of(tokens, self._ours)
        return usage, tokens, Cost(cost.usd, cost.estimated or guessed)


def sent(messages: Sequence[ModelMessage]) -> Iterator[str]:
    """Yield every text that is sent with these messages. The instructions are sent once."""
    yield next((m.instructions or "" for m in reversed(messages) if isinstance(m, ModelRequest)), "")
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                yield part.args_as_json_str()
            elif isinstance(part, ToolReturnPart):
                yield part.model_response_str()
            elif isinstance(content := getattr(part, "content", None), str):
                yield content


def within(messages: Sequence[ModelMessage], chars: int) -> list[ModelMessage]:
    """Return the messages with tool results cut until they fit: the oldest first and almost wholly, the newest
    only where that is not enough."""
    over = sum(map(len, sent(messages))) - chars
    fitting = list(messages)
    for index, message in enumerate(messages):
        if over <= 0:
            break
        if not isinstance(message, ModelRequest):
            continue
        newest = index == len(messages) - 1
        parts = list(message.parts)
        for place, part in enumerate(parts):
            if over > 0 and isinstance(part, ToolReturnPart):
                text = part.model_response_str()
                kept = max(OLD_RESULT_CHARS, len(text) - over) if newest else OLD_RESULT_CHARS
                parts[place] = _cut(part, text, kept)
                over -= max(0, len(text) - kept)
        fitting[index] = replace(message, parts=parts)
    return fitting


def _cut(result: ToolReturnPart, text: str, kept: int) -> ToolReturnPart:
    if len(text) <= kept:
        return result
    shown = (
        f"{text[:kept]}\n[cut: {kept:,} of {len(text):,} characters shown. Change this document with "
        "document_edit only: a whole new body would lose what is not shown.]"
    )
    return replace(result, content=shown)


def as_model_error(error: Exception, settings: ModelsSettings) -> ModelError:
    """Return the error in sentences that say what to do next, without secrets: one that passes by itself, one
    that a person must mend, or another."""
    said = _in_words(error, settings)
    if isinstance(error, ModelAuthenticationError | ModelNotFoundError | ModelQuotaExceededError):
        return ModelUnusable(said)
    if _is_outage(error):
        return ModelUnavailable(
            said, getattr(error, "retry_after", None), request_may_be_cause=_may_be_request(error)
        )
    return ModelError(said)


def _is_outage(error: Exception) -> bool:
    if isinstance(error, ModelHTTPError) and (error.status_code in PASSING_STATUS or error.status_code >= 500):
        return True
    return isinstance(
        error,
        ModelConnectionError
        | ModelRequestTimeout
        | ModelRateLimitError
        | ModelUnavailableError
        | ModelServerError,
    )


def _may_be_request(error: Exception) -> bool:
    """Return whether an outage may be the fault of the request: it arrived, and the provider does not say that it
    is overloaded or takes no more calls."""
    if isinstance(error, ModelRateLimitError | ModelOverloadedError):
        return False
    if isinstance(error, ModelHTTPError):
        return error.status_code >= 500
    return not _is_free(error)


def _in_words(error: Exception, settings: ModelsSettings) -> str:
    model, reason = settings.model, without_secrets(" ".join(str(error).split()), settings)[:300]
    match error:
        case ModelTimeoutError() | ModelRequestTimeout():
            return (
                f"{model} did not answer within {settings.timeout_seconds:g} s. Raise models.timeout_seconds if "
                "it needs longer."
            )
        case ModelAuthenticationError():
            return f"{model} refused the key. Set models.api_key to one that may use it. It said: {reason}"
        case ModelNotFoundError():
            return f"{model} is not known there. Check models.model and models.base_url. It said: {reason}"
        case ModelQuotaExceededError():
            return (
                f"The account of {model} has no credit left. Top it up, or choose another model. It said: {reason}"
            )
        case ModelRateLimitError():
            return f"{model} takes no more calls for now. It said: {reason}"
        case ModelHTTPError():
            return f"{model} failed with status {error.status_code}. It said: {reason}"
        case ModelConnectionError():
            return f"{model} cannot be reached. Check models.base_url and the network. What happened: {reason}"
        case _:
            return f"{model} gave no usable answer. What happened: {type(error).__name__}: {reason}"


def _check_calls(response: ModelResponse) -> None:
    """Refuse what could be neither run nor sent back. Invalid JSON goes back to the model."""
    for part in response.parts:
        if isinstance(part, ToolCallPart) and not isinstance(part.args, str | dict | None):
            raise UnexpectedModelBehavior(f"The arguments of {part.tool_name} are not a JSON object.")


def _is_free(error: Exception) -> bool:
    """Return whether the call certainly cost nothing: it was refused, or never arrived."""
    if isinstance(error, ModelConnectionError):
        return error.phase in ("pool", "connect")
    return isinstance(error, ModelHTTPError)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
