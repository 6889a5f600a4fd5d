"""Which model to use, what it may cost, and what a call costs.

Prices come with the package `genai_prices` and are never downloaded. A model it does not know is charged at a
price that is too high rather than too low, and said to be estimated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lifelong.settings import ModelsSettings

LOCAL = {"ollama"}
"""Providers that run on one's own machine: their calls cost nothing."""

UNKNOWN_INPUT, UNKNOWN_OUTPUT = 15.0, 75.0
"""USD per million tokens of a model whose price nobody knows: about the dearest there are."""

BYTES_PER_TOKEN = 3
"""Fewer than any usual text has, so that a call is not estimated too low: English has about four bytes a
token, Chinese three."""

MOST_OUTPUT = 8_192
LEAST_OUTPUT = 1_000
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


def cost_of(tokens: Tokens, settings: ModelsSettings) -> Cost:
    """What the tokens of the configured model cost."""
    given_input, given_output = settings.input_usd_per_million, settings.output_usd_per_million
    listed = _listed(tokens, settings.model)
    input_usd, output_usd = listed or (
        tokens.input * UNKNOWN_INPUT / _MILLION,
        tokens.output * UNKNOWN_OUTPUT / _MILLION,
    )
    if given_input is not None:
        input_usd = tokens.input * given_input / _MILLION
    if given_output is not None:
        output_usd = tokens.output * given_output / _MILLION
    guessed = not listed and (given_input is None or given_output is None)
    return Cost(input_usd + output_usd, guessed)


def _listed(tokens: Tokens, model: str) -> tuple[float, float] | None:
    """USD for input and for output, where the price is known."""
    provider, _, name = model.partition(":")
    if provider in LOCAL:
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
    """At least as many tokens as this much text is likely to have."""
    return -(-text_bytes // BYTES_PER_TOKEN)
