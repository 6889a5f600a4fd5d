"""The page: a memory to look at and look after, in any browser. Server-rendered; it works without its script, but
for what is live. Stored text is shown as text, and never runs."""

from __future__ import annotations

from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from lifelong.serve.memories import Memories
from lifelong.serve.page import changesets, documents, experiences, inbox, items, journal, overview, sessions
from lifelong.serve.page.context import lost, route

__all__ = ["lost", "routes"]


def routes(memories: Memories) -> list[BaseRoute]:
    """The page's own routes, and its static files. Each takes the query parameter `user`. Whoever mounts them
    answers for who may come in, and for the headers."""
    return [
        route(memories, "/", overview.overview),
        route(memories, "/recall", items.recall),
        route(memories, "/browse", items.browse),
        route(memories, "/items", items.judge, "POST"),
        route(memories, "/documents", documents.document),
        route(memories, "/compare", documents.compare),
        route(memories, "/changesets", changesets.changesets),
        route(memories, "/rollback", changesets.rollback, "POST"),
        route(memories, "/journal", journal.journal),
        route(memories, "/experiences", experiences.experiences),
        route(memories, "/relations", experiences.relations),
        route(memories, "/sessions", sessions.sessions),
        route(memories, "/records", sessions.record),
        route(memories, "/inbox", inbox.inbox),
        route(memories, "/retry", inbox.retry, "POST"),
        Mount("/static", StaticFiles(packages=[("lifelong.serve.page", "static")]), name="static"),
    ]
