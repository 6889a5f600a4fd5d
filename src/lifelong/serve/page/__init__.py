"""The page: a memory to look at and look after, in any browser. Server-rendered; it works without its script, but
for what is live. Stored text is shown as text, and never runs."""

from __future__ import annotations

from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from lifelong.memory import Store
from lifelong.serve.page import changesets, documents, experiences, inbox, items, journal, overview, sessions
from lifelong.serve.page.context import lost, route

__all__ = ["lost", "routes"]


def routes(store: Store) -> list[BaseRoute]:
    """The page's own routes, and its static files. Each takes the query parameter `user`. Whoever mounts them
    answers for who may come in, and for the headers."""
    return [
        route(store, "/", overview.overview),
        route(store, "/recall", items.recall),
        route(store, "/browse", items.browse),
        route(store, "/items", items.judge, "POST"),
        route(store, "/documents", documents.document),
        route(store, "/compare", documents.compare),
        route(store, "/changesets", changesets.changesets),
        route(store, "/rollback", changesets.rollback, "POST"),
        route(store, "/journal", journal.journal),
        route(store, "/experiences", experiences.experiences),
        route(store, "/relations", experiences.relations),
        route(store, "/sessions", sessions.sessions),
        route(store, "/records", sessions.record),
        route(store, "/inbox", inbox.inbox),
        route(store, "/retry", inbox.retry, "POST"),
        Mount("/static", StaticFiles(packages=[("lifelong.serve.page", "static")]), name="static"),
    ]
