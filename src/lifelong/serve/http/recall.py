"""Recall: what a memory is asked, what was asked, and what a person can do about what came back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.concurrency import run_in_threadpool

from lifelong.recall import recall_log
from lifelong.recall.relations import Relations
from lifelong.serve.http import models
from lifelong.serve.http.params import AskedMemory, Limit, Moment, RecordId
from lifelong.types import Hit, ItemKind

recall = APIRouter(tags=["recall"])
items = APIRouter(prefix="/items", tags=["items"])
relations = APIRouter(tags=["relations"])


@recall.post("/recall")
async def recall_memory(question: models.Question, memory: AskedMemory) -> list[Hit]:
    """What the user knows about a question, best first, each hit with its source, its date and its trust."""

    def ask() -> list[Hit]:
        asked = memory()
        if question.agent is not None:
            asked.agents.get(question.agent)  # nothing found would hide the mistake
        return asked.search(**dict(question))

    return await run_in_threadpool(ask)


@recall.post("/context")
def get_context(of: models.ContextOf, memory: AskedMemory) -> models.Text:
    """What to put before an agent's next turn, fenced as data."""
    return models.Text(text=memory().context(of.message, agent=of.agent, tokens=of.tokens))


@recall.get("/recalls", response_model=list[models.Recalled])
def list_recalls(memory: AskedMemory, limit: Limit = 20) -> list[recall_log.Recalled]:
    """The log of recall, newest first: what was asked, and what came back."""
    return memory().admin.recall_log(limit)


@recall.get("/recalls/{recall_id}", response_model=models.Recalled)
def get_recall(recall_id: Annotated[RecordId, Path()], memory: AskedMemory) -> recall_log.Recalled:
    """One recall of the log."""
    return memory().admin.recall_log(recall_id=recall_id)[0]


@items.get("")
def list_items(
    memory: AskedMemory,
    kind: ItemKind | None = None,
    subject: Annotated[str | None, Query(description="A name, or some words.")] = None,
    since: Moment | None = None,
    limit: Limit = 100,
    before: Annotated[str | None, Query(description="The id of the last hit of the page before.")] = None,
) -> list[Hit]:
    """Everything that is remembered, what came last first."""
    return memory().list(kind, subject, since, limit, before)


@items.post("/correct")
def correct_item(correction: models.Correction, memory: AskedMemory) -> Hit:
    """Say what is so instead of an item. The item ends; the answer is what is found from now on."""
    return memory().correct(correction.item, correction.text)


@items.post("/pin", status_code=204)
def pin_item(item: models.ItemOf, memory: AskedMemory) -> None:
    """Have an item in every context from now on."""
    memory().pin(item.item)


@items.post("/unpin", status_code=204)
def unpin_item(item: models.ItemOf, memory: AskedMemory) -> None:
    """Take the pin off again."""
    memory().unpin(item.item)


@items.post("/feedback", status_code=204)
def give_feedback(feedback: models.Feedback, memory: AskedMemory) -> None:
    """Say that a hit was useful, wrong or outdated."""
    memory().feedback(feedback.item, feedback.verdict, feedback.recall_id)


@relations.get("/relations")
def get_relations(
    memory: AskedMemory,
    entity: Annotated[str, Query(description="A name.")],
    limit: Limit = 20,
    ended: Annotated[bool, Query(description="Also what has stopped being true.")] = False,
) -> Relations:
    """Whom and what somebody or something is related to, the closest first, and what says so."""
    return memory().relations.of(entity, limit, ended=ended)


@relations.get("/entities")
def list_entities(memory: AskedMemory, limit: Limit = 100) -> list[str]:
    """Who and what is known by name, what is named most often first."""
    return memory().relations.entities(limit)
