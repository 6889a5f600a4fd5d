"""The model path under the failures of a provider, and what a run costs, as `make bench PART=llm` measures it
(SPEC O9, O13a, O13b, O14)."""

from __future__ import annotations

from collections.abc import Iterator

import pydantic_ai.models
import pytest
from bench import llm


@pytest.fixture(autouse=True)
def loopback_may_be_asked() -> Iterator[None]:
    with pydantic_ai.models.override_allow_model_requests(True):
        yield


@pytest.mark.parametrize("failure", sorted(llm.FAILURES))
def test_nothing_is_lost_and_nothing_is_there_twice(failure: str) -> None:
    """O13a, O13b, O14: whatever happens to the provider, the model or the worker."""
    assert llm.FAILURES[failure]() == {"lost": 0, "twice": 0, "dead": 0}


@pytest.mark.parametrize("with_done", [False, True])
def test_a_run_is_cheap(with_done: bool) -> None:
    """O13a: two requests, or one; at most three fifths of the input that a run had with document tools alone; and
    what is superseded or cited is in the prompt."""
    figures = llm._measure(with_done=with_done)
    assert figures["requests_a_run"] == (1 if with_done else 2)
    assert figures["tokens_share_percent"] <= 60
    assert figures["cached_percent"] >= (40 if with_done else 70)
    assert figures["facts_kept_percent"] == figures["related_found_percent"] == 100
