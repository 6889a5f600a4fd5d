"""The tools of recall: what an agent of any framework asks its memory with.

What they answer is fenced, as all that recall puts into a talk, so that nothing is learned from its own echo.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from recollect.errors import InputError
from recollect.tooling import Tool, number, schema, text, tool
from recollect.types import Hit, new_id

if TYPE_CHECKING:
    from recollect.recall.relations import Relations

MOST = 50  # hits that a model reads
TOP_K = 5

RECALL = (
    "Search everything that is remembered: what was said, documents, journal, notes, experiences. Each hit comes "
    "with its date, its id and who said it."
)
RELATIONS = "Whom and what somebody or something is related to, the closest first, with what says so."
RECALL_PARAMETERS = schema(
    "query",
    query=text("A question or keywords. Names and times ('last week', 'in March') count."),
    top_k=number(f"How many hits, 1 to {MOST}; {TOP_K} if left out."),
)
RELATIONS_PARAMETERS = schema("entity", entity=text("A person, project, place or thing, by its name."))


def recall_tools(recall: Callable[[str, int], list[Hit]], relate: Callable[[str], Relations]) -> tuple[Tool, ...]:
    """`recall_memory{query, top_k=5}` and `relations{entity}` (SPEC R3, R9)."""

    def recall_memory(query: str, top_k: int = TOP_K) -> str:
        if not query.strip():
            raise InputError("The query is empty. Ask a question, or name what you look for.")
        if not 1 <= top_k <= MOST:
            raise InputError(f"top_k cannot be {top_k}. Ask for 1 to {MOST} hits.")
        hits = recall(query, top_k)
        return fenced(_lines(hits)) if hits else "Nothing was found. Ask in other words, or leave words out."

    def relations(entity: str) -> str:
        return _related(relate(entity))

    return (
        tool("recall_memory", RECALL, RECALL_PARAMETERS, recall_memory),
        tool("relations", RELATIONS, RELATIONS_PARAMETERS, relations),
    )


def fenced(lines: Iterator[str]) -> str:
    """Text that is never learned from (see `transcript.without_injected`). Nothing in it can end the fence."""
    told = "\n".join(lines).replace("recollect-context", "recollect context")
    return f"<recollect-context id={new_id()}>\n{told}\n</recollect-context>"


def _lines(hits: Sequence[Hit], indent: str = "") -> Iterator[str]:
    for hit in hits:
        said = " ".join(hit.text.split())
        about = [f"{hit.at:%Y-%m-%d}", hit.id, *filter(None, (hit.speaker, hit.path)), f"by {hit.trust}"]
        if hit.until:
            about.append(f"not so since {hit.until:%Y-%m-%d}")
        yield f"{indent}- {said} ({', '.join(about)})"


def _related(found: Relations) -> str:
    if not found.entity:
        nearest = ", ".join(found.suggestions)
        return "Nothing is known by that name. " + (
            f"The nearest are: {nearest}." if nearest else "Search for it with recall_memory."
        )
    if not found.neighbours:
        return f"{found.entity} is known, but nothing relates it to anything. Search with recall_memory."
    return fenced(_neighbours(found))


def _neighbours(found: Relations) -> Iterator[str]:
    yield f"{found.entity}{f' ({found.path})' if found.path else ''} is related to:"
    for one in found.neighbours:
        where = f"{one.path}, " if one.path else ""
        yield f"- {one.name} ({where}weight {one.weight:g}, by {', '.join(one.how)})"
        yield from _lines(one.evidence, "  ")
