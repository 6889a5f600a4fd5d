"""Experiences, grouped, and how people, projects and things are related, drawn."""

from __future__ import annotations

from starlette.responses import Response

from lifelong.recall.experiences import GROUPS, grouped
from lifelong.serve.page.context import Visit
from lifelong.serve.page.graph import draw

FOUND = 20
LISTED = 200
EVERY = 1_000_000
NEIGHBOURS = 14
ENTITIES = 40


def experiences(visit: Visit) -> Response:
    memory = visit.memory
    question, by = visit.text("q"), next((one for one in GROUPS if one == visit.text("by")), GROUPS[0])
    if not memory.settings.continuity.experience_store_enabled:
        return visit.show("experiences.html", is_on=False, question=question)
    store = memory.experiences
    every = store.query(question, FOUND) if question else store.list(limit=EVERY)
    part = visit.part(every, LISTED, len(every))
    return visit.show(
        "experiences.html",
        is_on=True,
        question=question,
        by=by,
        every=GROUPS,
        groups=grouped(part.shown, by),
        part=part,
    )


def relations(visit: Visit) -> Response:
    memory = visit.memory
    entities = memory.relations.entities(ENTITIES)
    asked = visit.text("entity") or (entities[0] if entities else "")
    ended = bool(visit.text("ended"))
    found = memory.relations.of(asked, NEIGHBOURS, ended=ended) if asked else None
    drawings = [draw(found, 760, 480), draw(found, 360, 440)] if found and found.neighbours else []
    return visit.show(
        "relations.html", entities=entities, asked=asked, ended=ended, found=found, drawings=drawings
    )
