"""Make the application: the API below /api/v1, the page at /, MCP at /mcp, and the guard in front of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from anyio.to_thread import current_default_thread_limiter
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Route

from lifelong.errors import LifelongError
from lifelong.memory import Memory, Store
from lifelong.serve.http import problems
from lifelong.serve.http.access import Access
from lifelong.serve.http.events import EventHub, events
from lifelong.serve.http.guard import Guard, login_routes
from lifelong.serve.http.models import UserMemory
from lifelong.serve.http.routes import ROUTERS
from lifelong.serve.http.scopes import authorize, describe_scopes

API = "/api/v1"
MAX_CALLS = 128  # at once, a thread each: those that wait together share one commit

DESCRIPTION = """\
Durable long-term memory for AI agents. Every call takes the query parameter `user` (whose memory; `default`
where it is left out, or the user of the token). Where a token is required, send it as
`Authorization: Bearer …`. Errors are `application/problem+json`."""

HEALTH_LEVELS = {"green": 0, "yellow": 1, "red": 2}


class HttpApp(FastAPI):
    """FastAPI, with problems and the token in its OpenAPI document."""

    def openapi(self) -> dict[str, Any]:
        if not self.openapi_schema:
            problems.describe(super().openapi())
            describe_scopes(super().openapi())
        return super().openapi()


def create_app(
    store: Store, *, token: str = "", hosts: Sequence[str] = (), token_required: bool = False
) -> FastAPI:
    """Return the application over a store, which the caller closes. With a `token`, or once the home has tokens of
    its own, everything but the login requires one; with `token_required`, always. It answers to loopback names and
    to `hosts`."""
    app = api()
    access = Access(token, store.tokens, required=token_required)
    app.state.store = store
    app.state.events = EventHub()
    app.state.answered = Counter[int]()
    app.state.access = access
    # First what is not of the API: FastAPI works out every route of it that a request is compared with, at 0.2 s.
    app.router.routes[:0] = [*login_routes(access), *_mount(app, store)]
    app.add_middleware(Guard, access=access, hosts=hosts, answered=app.state.answered, tokens=store.tokens)
    return app


def api() -> FastAPI:
    """Return the API without a store: enough for its OpenAPI document."""
    app = HttpApp(
        title="lifelong",
        version=version("lifelong"),
        description=DESCRIPTION,
        lifespan=_lifespan,
        docs_url=None,  # its pages load scripts from elsewhere; ours is of the page
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        responses=problems.ANYWHERE,
        dependencies=[Depends(authorize)],
    )
    for kind in (LifelongError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, problems.handle)
    for router in (*ROUTERS, events):
        app.include_router(router, prefix=API)
    app.get("/metrics", tags=["admin"], response_class=Exposition)(metrics)
    return app


def _mount(app: FastAPI, store: Store) -> list[BaseRoute]:
    """Return the routes of MCP and the page. They are imported here, because importing them is slow."""
    from lifelong.serve.mcp import http_app
    from lifelong.serve.page import answer_not_found, docs_route, routes

    endpoint = http_app(store)
    app.state.run_mcp = endpoint.run
    app.add_exception_handler(HTTPException, answer_not_found(store))
    return [Route("/mcp", endpoint), *routes(store), docs_route(store, app.openapi)]


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    current_default_thread_limiter().total_tokens = MAX_CALLS
    async with app.state.run_mcp():
        yield


class Exposition(PlainTextResponse):
    media_type = "text/plain; version=0.0.4"


def metrics(request: Request, memory: UserMemory) -> Exposition:
    """Return figures of the home and of a user, as Prometheus reads them."""
    state = request.app.state
    return Exposition("".join(_metric_lines(memory(), state.answered, state.access.failures.total)))


def _metric_lines(memory: Memory, answered: Counter[int], failures: int) -> Iterator[str]:
    health, stats = memory.admin.health(), memory.admin.stats()
    waited = (datetime.now(UTC) - health.oldest).total_seconds() if health.oldest else 0.0
    yield from _metric("health", "0 green, 1 yellow, 2 red.", {"": HEALTH_LEVELS[health.status]})
    yield from _metric("marked_sessions", "Sessions that wait to be organized.", {"": health.marked})
    yield from _metric("queue_depth", "Transcripts that wait to be organized.", {"": health.waiting})
    yield from _metric("queue_oldest_seconds", "How long the oldest of them has waited.", {"": max(0.0, waited)})
    yield from _metric("queue_dead", "Transcripts that failed for good.", {"": health.dead})
    yield from _metric("unindexed", "Records and items that wait for the index.", {"": memory.admin.unindexed()})
    yield from _metric("cost_today_usd", "What models cost today.", {"": stats.cost_today})
    items = {f'user="{memory.user}",kind="{kind}"': count for kind, count in stats.items.items()}
    yield from _metric("items", "What can be found, by kind.", items)
    requests = {f'status="{status}"': count for status, count in sorted(answered.items())}
    yield from _metric("http_requests_total", "Answers, by status.", requests, "counter")
    yield from _metric("auth_failures_total", "Wrong tokens that were shown.", {"": failures}, "counter")


def _metric(name: str, words: str, values: Mapping[str, float], kind: str = "gauge") -> Iterator[str]:
    yield f"# HELP lifelong_{name} {words}\n# TYPE lifelong_{name} {kind}\n"
    for labels, value in values.items():
        yield f"lifelong_{name}{{{labels}}} {value}\n" if labels else f"lifelong_{name} {value}\n"
