"""Figures for Prometheus, in its text format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse

from lifelong.memory import Memory
from lifelong.serve.http.params import AskedMemory

metrics = APIRouter(tags=["home"])

STATUSES = {"green": 0, "yellow": 1, "red": 2}


class Exposition(PlainTextResponse):
    media_type = "text/plain; version=0.0.4"


@metrics.get("/metrics", response_class=Exposition)
def get_metrics(request: Request, memory: AskedMemory) -> Exposition:
    """Figures of the home and of a user, as Prometheus reads them."""
    return Exposition("".join(_lines(memory(), request.app.state.answered)))


def _lines(memory: Memory, answered: Counter[int]) -> Iterator[str]:
    health, totals = memory.admin.health(), memory.admin.stats()
    waited = (datetime.now(UTC) - health.oldest).total_seconds() if health.oldest else 0.0
    yield from _metric("health", "0 green, 1 yellow, 2 red.", {"": STATUSES[health.status]})
    yield from _metric("marked_sessions", "Sessions that wait to be handed over.", {"": health.marked})
    yield from _metric("queue_depth", "Transcripts that wait to be organized.", {"": health.waiting})
    yield from _metric("queue_oldest_seconds", "How long the oldest of them has waited.", {"": max(0.0, waited)})
    yield from _metric("queue_dead", "Transcripts that failed for good.", {"": health.dead})
    yield from _metric(
        "unindexed", "Records and items that wait for their place in the index.", {"": memory.admin.unindexed()}
    )
    yield from _metric("cost_today_usd", "What models cost today.", {"": totals.cost_today})
    items = {f'user="{memory.user}",kind="{kind}"': count for kind, count in totals.items.items()}
    yield from _metric("items", "What can be found, by kind.", items)
    requests = {f'status="{status}"': count for status, count in sorted(answered.items())}
    yield from _metric("http_requests_total", "Answers, by status.", requests, "counter")


def _metric(name: str, words: str, values: Mapping[str, float], kind: str = "gauge") -> Iterator[str]:
    yield f"# HELP lifelong_{name} {words}\n# TYPE lifelong_{name} {kind}\n"
    for labels, value in values.items():
        yield f"lifelong_{name}{{{labels}}} {value}\n" if labels else f"lifelong_{name} {value}\n"
