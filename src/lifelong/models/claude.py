"""One question over the Claude Agent SDK: no tools, one turn, no settings, no session kept, on the book.

The SDK is the extra `claude`. It runs a program of its own, which uses the key or the login that it finds, and
refuses to run as root unless IS_SANDBOX=1 says that the machine is one.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lifelong.errors import ConfigError, ModelError
from lifelong.models.ledger import MAX_OUTPUT_TOKENS, Cost, Run, Tokens, cost_of, estimated_tokens
from lifelong.models.providers import without_secrets
from lifelong.models.question import BUDGET_USD, ModelQuery, run_in_own_loop

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, ResultMessage

INSTALL = "The Claude Agent SDK is not installed. Install it: pip install 'lifelong[claude]'."
PROVIDER = "anthropic"
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
"""Where the program may find a key in the environment. What it says of one is not passed on."""
MODEL = "haiku"
PRICED_AS = "claude-haiku-4-5"
"""What is asked where `models.model` names no model of Anthropic's, and the model with its price."""


def missing() -> str:
    """Return why the SDK cannot be used, in a sentence; empty where it can."""
    return "" if importlib.util.find_spec("claude_agent_sdk") else INSTALL


@dataclass(slots=True)
class _Reply:
    """What came of a call. `began`: the program ran, so that it may have asked the model."""

    began: bool = False
    text: str = ""
    result: ResultMessage | None = None
    error: str = ""


class ClaudeQuery(ModelQuery):
    """A question like any other, in the ledger at the cost that the SDK says."""

    def __call__(self, prompt: str) -> str:
        if reason := missing():
            raise ConfigError(reason)
        run = self._spend.run(self._owner, self._purpose)
        label = f"claude-agent-sdk:{self._named() or MODEL}"
        call = run.start(label, BUDGET_USD)
        try:
            reply = run_in_own_loop(self._query(prompt))
        except BaseException:
            run.fail(call, "The call was stopped.", *self._estimate(prompt))
            raise
        return self._finish(run, call, label, reply, prompt)

    def options(self, folder: str) -> ClaudeAgentOptions:
        """Return the options of a query with text in and text out. The notes may hold anything:
        `verbatim_prompts` keeps the program from inserting the file that an `@/path` in them names."""
        from claude_agent_sdk import ClaudeAgentOptions

        environment = {
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(MAX_OUTPUT_TOKENS),
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        if self._named() and (key := self._settings.api_key.get_secret_value()):
            environment["ANTHROPIC_API_KEY"] = key
        if self._named() and self._settings.base_url:
            environment["ANTHROPIC_BASE_URL"] = self._settings.base_url
        return ClaudeAgentOptions(
            tools=[],
            max_turns=1,
            max_budget_usd=BUDGET_USD,
            setting_sources=[],
            permission_mode="bypassPermissions",
            extra_args={"allow-dangerously-skip-permissions": None, "no-session-persistence": None},
            strict_mcp_config=True,
            verbatim_prompts=True,
            model=self._named() or MODEL,
            cwd=folder,
            env=environment,
        )

    async def _query(self, prompt: str) -> _Reply:
        import anyio
        from claude_agent_sdk import AssistantMessage, ResultMessage, TextBlock, query

        reply, errors = _Reply(), list[str]()
        with tempfile.TemporaryDirectory(prefix="lifelong-") as folder:
            options = self.options(folder)
            options.stderr = errors.append
            try:
                with anyio.fail_after(self._settings.timeout_seconds):  # lets the SDK end its program
                    async for message in query(prompt=prompt, options=options):
                        reply.began = True
                        if isinstance(message, ResultMessage):
                            reply.result = message
                        elif isinstance(message, AssistantMessage):
                            reply.text += "".join(b.text for b in message.content if isinstance(b, TextBlock))
            except TimeoutError:
                reply.error = f"It did not answer within {self._settings.timeout_seconds:g} s."
            except Exception as error:  # some of the SDK's are plain ones
                reply.error = " ".join([str(error), *errors[-5:]])
        return reply

    def _named(self) -> str:
        """Return the configured model of Anthropic's; empty where there is none."""
        provider, _, name = self._settings.model.partition(":")
        return name if provider == PROVIDER else ""

    def _estimate(self, prompt: str) -> tuple[Tokens, Cost]:
        """Return what a call cost at most of which the program reported nothing: its prompt, within the budget."""
        tokens = Tokens(estimated_tokens(len(prompt.encode("utf-8", "replace"))))
        settings = self._settings.model_copy(update={"model": f"{PROVIDER}:{self._named() or PRICED_AS}"})
        return tokens, Cost(min(BUDGET_USD, cost_of(tokens, settings).usd), estimated=True)

    def _finish(self, run: Run, call: int, label: str, reply: _Reply, prompt: str) -> str:
        """Enter the cost and return the answer."""
        error_text = without_secrets(" ".join(reply.error.split()), self._settings)
        for key in filter(None, map(os.environ.get, KEYS)):
            error_text = error_text.replace(key, "[key]")
        reason = f"{label} gave no usable answer. What happened: {error_text[:300] or 'it was cut off.'}"
        result = reply.result
        if result is None:
            run.fail(call, reason, *(self._estimate(prompt) if reply.began else ()))
            raise ModelError(reason)
        # The program goes on after a cut by itself; its result is then the last piece alone.
        usable = not result.is_error and result.stop_reason != "max_tokens" and reply.text == result.result
        usd = result.total_cost_usd
        if usd or usable:
            run.finish(call, _tokens(result), Cost(BUDGET_USD if usd is None else usd, estimated=usd is None))
        else:
            run.fail(call, reason, *(self._estimate(prompt) if usd is None else ()))
        if not usable:
            raise ModelError(reason)
        return reply.text


def _tokens(result: ResultMessage) -> Tokens:
    used = list((result.model_usage or {}).values())
    read = sum(one["cacheReadInputTokens"] for one in used)
    written = sum(one["cacheCreationInputTokens"] for one in used)
    fresh = sum(one["inputTokens"] for one in used)
    return Tokens(fresh + read + written, sum(one["outputTokens"] for one in used), read, written)
