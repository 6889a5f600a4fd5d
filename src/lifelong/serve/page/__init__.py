"""The page: look at a memory and look after it, in any browser.

It is rendered by the server and works without its script, except for live updates. Stored text is shown as text
and never runs.
"""

from __future__ import annotations

from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from lifelong.memory import Store
from lifelong.serve.page import documents, forgetting, views
from lifelong.serve.page.api_docs import docs_route
from lifelong.serve.page.context import answer_not_found, route

__all__ = ["answer_not_found", "docs_route", "routes"]


def routes(store: Store) -> list[BaseRoute]:
    """Return the page's routes and its static files. Each takes the query parameter `user`. The application that
    mounts them checks who may see them, and sets the headers."""
    return [
        route(store, "/", views.overview),
        route(store, "/audit", views.audit),
        route(store, "/search", views.search),
        route(store, "/browse", views.browse),
        route(store, "/items", views.judge_item, "POST"),
        route(store, "/forget", forgetting.forget, scope="write"),
        route(store, "/forget", forgetting.forget_now, "POST"),
        route(store, "/forgotten", forgetting.forgotten),
        route(store, "/documents", documents.document),
        route(store, "/edit", documents.edit),
        route(store, "/edit", documents.save, "POST"),
        route(store, "/compare", documents.compare),
        route(store, "/changesets", documents.changesets),
        route(store, "/rollback", documents.rollback, "POST"),
        route(store, "/journal", views.journal),
        route(store, "/experiences", views.experiences),
        route(store, "/relations", views.relations),
        route(store, "/about", views.about),
        route(store, "/sessions", views.sessions),
        route(store, "/records", views.record),
        route(store, "/inbox", views.inbox),
        route(store, "/retry", views.retry, "POST"),
        route(store, "/release", views.release, "POST"),
        route(store, "/review", views.review),
        route(store, "/decide", views.decide, "POST"),
        Mount("/static", StaticFiles(packages=[("lifelong.serve.page", "static")]), name="static"),
    ]
