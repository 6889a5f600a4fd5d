"""What came in, what was organized, and whether all is well."""

from __future__ import annotations

from starlette.responses import Response

from lifelong.serve.page.changesets import told
from lifelong.serve.page.context import Visit

TURNS = 8
CHANGESETS = 6


def overview(visit: Visit) -> Response:
    memory = visit.memory
    return visit.show(
        "overview.html",
        totals=memory.admin.stats(),
        health=memory.admin.health(),
        unindexed=memory.admin.unindexed(),
        turns=memory.list("record", limit=TURNS),
        changes=[told(memory, one) for one in memory.documents.changesets(CHANGESETS)],
    )
