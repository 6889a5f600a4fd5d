"""What is remembered, asked for or listed, and what a person says about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from starlette.responses import Response

from lifelong.errors import InputError
from lifelong.recall.feedback import Verdict
from lifelong.serve.page.context import Visit
from lifelong.types import ITEM_KINDS, Hit, ItemKind

TOP = 10
LISTED = 30
VERDICTS: tuple[Verdict, ...] = ("useful", "wrong", "outdated")


def recall(visit: Visit) -> Response:
    question = visit.text("q")
    kinds = visit.query.getlist("kind")
    since, until = visit.time("since"), visit.time("until", days=1)
    as_of = visit.time("as_of", days=1)
    top = visit.number("top", TOP)
    hits: Sequence[Hit] = ()
    if question:
        hits = visit.memory.search(
            question, top, kinds=cast(list[ItemKind], kinds), since=since, until=until, as_of=as_of, explain=True
        )
    largest = max((abs(part) for hit in hits for part in hit.parts.values()), default=1.0)
    return visit.show(
        "recall.html", question=question, kinds=kinds, top=top, hits=hits, largest=largest, every=ITEM_KINDS
    )


def browse(visit: Visit) -> Response:
    kind, subject, since = visit.text("kind"), visit.text("subject"), visit.time("since")
    before = visit.query.get("before")
    hits = visit.memory.list(cast(ItemKind, kind) if kind else None, subject or None, since, LISTED + 1, before)
    more = hits[LISTED - 1].id if len(hits) > LISTED else ""
    return visit.show(
        "browse.html", kind=kind, subject=subject, hits=hits[:LISTED], more=more, before=before, every=ITEM_KINDS
    )


def judge(visit: Visit) -> Response:
    """Take what a person says of an item, and go back to where it stood."""
    item, verdict, memory = visit.text("item"), visit.text("do"), visit.memory
    if verdict in ("pin", "unpin"):
        (memory.pin if verdict == "pin" else memory.unpin)(item)
        return visit.return_with(f"{verdict}ned")
    if verdict == "correct":
        memory.correct(item, visit.text("text"))
        return visit.return_with("corrected")
    for known in VERDICTS:
        if verdict == known:
            memory.feedback(item, known)
            was_said = known == "outdated" and item[:1] in "rR"
            return visit.return_with("later" if was_said else known)
    raise InputError(f"{verdict!r:.200} cannot be done to an item. Use a button of the page.")
