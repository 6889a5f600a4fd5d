"""The application: the API below /api/v1, the page at /, MCP at /mcp, and the guard before all of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Route

from lifelong.errors import LifelongError
from lifelong.memory import Store
from lifelong.serve.http import (
    agents,
    documents,
    events,
    home,
    journal,
    login,
    metrics,
    problems,
    recall,
    sessions,
)
from lifelong.serve.http.guard import Entry, Guard

API = "/api/v1"
THREADS = 128  # calls at once: those that wait together share one commit

DESCRIPTION = """\
Durable long-term memory for AI agents. Every call takes the query parameter `user` (whose memory; `default`
where it is left out). Off loopback, send the token as `Authorization: Bearer …`. Errors are
`application/problem+json`."""

ROUTERS = (
    *(agents.agents, agents.turns, sessions.sessions, sessions.receipts),
    *(recall.recall, recall.items, recall.relations, documents.documents, documents.changesets),
    *(journal.journal, journal.notes, journal.experiences, home.home, home.inbox, events.events),
)


class App(FastAPI):
    """With what FastAPI does not say of it by itself: problems, each described once, and the token."""

    def openapi(self) -> dict[str, Any]:
        if not self.openapi_schema:
            problems.describe(super().openapi())
        return super().openapi()


def create_app(store: Store, *, token: str = "", hosts: Sequence[str] = ()) -> FastAPI:
    """The application over a home's store, which stay the caller's to close. With a `token`, everything but the
    login asks for it. It answers to loopback names and to `hosts`."""
    app = api()
    entry = Entry(token)
    app.state.store = store
    app.state.watches = events.Watches()
    app.state.answered = Counter[int]()
    app.router.routes += login.routes(entry)
    _mount(app, store)
    app.add_middleware(Guard, entry=entry, hosts=hosts, answered=app.state.answered)
    return app


def api() -> FastAPI:
    """Every operation, over nothing yet."""
    app = App(
        title="lifelong",
        version=version("lifelong"),
        description=DESCRIPTION,
        lifespan=_lifespan,
        docs_url=None,  # its pages load scripts from elsewhere
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        responses=problems.ANYWHERE,
    )
    for kind in (LifelongError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, problems.handle)
    for router in ROUTERS:
        app.include_router(router, prefix=API)
    app.include_router(metrics.metrics)
    return app


def _mount(app: FastAPI, store: Store) -> None:
    """MCP and the page, imported here, because they are slow to."""
    from lifelong.serve.mcp import http_app
    from lifelong.serve.page import lost, routes

    endpoint = http_app(store)
    app.state.running = endpoint.run
    app.router.routes.append(Route("/mcp", endpoint))
    app.router.routes += routes(store)
    app.add_exception_handler(HTTPException, lost(store))


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    current_default_thread_limiter().total_tokens = THREADS
    async with app.state.running():
        yield
