"""The home: its users, its queue, its health and its costs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from lifelong.memory import Store
from lifelong.models.ledger import Call
from lifelong.organize.health import Health
from lifelong.serve.http import models
from lifelong.serve.http.params import AskedMemory, Limit, RecordId
from lifelong.types import InboxItem, ItemState, Stats

home = APIRouter(tags=["home"])
inbox = APIRouter(prefix="/inbox", tags=["inbox"])


@home.get("/users")
def list_users(request: Request) -> list[str]:
    """The default user, and all that hold something."""
    store: Store = request.app.state.store
    return store.users()


@home.get("/health")
def get_health(memory: AskedMemory) -> Health:
    """Whether everything in the home is on its way: green, yellow or red, with the reasons."""
    return memory().admin.health()


@home.get("/totals")
def get_totals(memory: AskedMemory) -> Stats:
    """How much there is of everything in the user, and what the home spent today."""
    return memory().admin.stats()


@home.get("/ledger")
def list_calls(memory: AskedMemory, limit: Limit = 100) -> list[Call]:
    """The user's calls of models and what each cost, newest first."""
    return memory().admin.ledger(limit)


@inbox.get("")
def list_inbox(
    memory: AskedMemory,
    state: Annotated[list[ItemState], Query(description="Only in these states; may be repeated.")] = [],  # noqa: B006
    limit: Limit = 100,
) -> list[InboxItem]:
    """The transcripts that are on their way to the memory-agents, or were; newest first."""
    return memory().inbox.list(*state, limit=limit)


@inbox.post("/retry")
def retry_inbox(memory: AskedMemory) -> models.Retried:
    """Try every item again that failed for good."""
    return models.Retried(retried=memory().inbox.retry())


@inbox.post("/{item_id}/retry")
def retry_item(item_id: Annotated[RecordId, Path()], memory: AskedMemory) -> models.Retried:
    """Try one item again now."""
    return models.Retried(retried=memory().inbox.retry(item_id))
