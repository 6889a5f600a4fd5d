"""What a client can read and attach by its address: documents, pages of the journal, what opens a session.

All of it is fenced, so that nothing is learned again from a talk that it was attached to.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, unquote

from mcp import types

from lifelong.errors import InputError
from lifelong.journal.session_context import shown
from lifelong.memory import Memory
from lifelong.recall.fence import fenced
from lifelong.serve.mcp.tools import Seat, found

CONTEXT = "lifelong://context"
DOCUMENTS = "lifelong://documents/"
JOURNAL = "lifelong://journal/"
MARKDOWN = "text/markdown"

PAGE = 200  # documents in an answer
LISTED = 33  # pages of the journal: a month of days; older ones can be read

TEMPLATES = [
    types.ResourceTemplate(
        name="document",
        uri_template=f"{DOCUMENTS}{{+path}}",
        description="A document by its path below ~, e.g. memory/people/mara, with its id, version and children.",
        mime_type=MARKDOWN,
    ),
    types.ResourceTemplate(
        name="journal",
        uri_template=f"{JOURNAL}{{+page}}",
        description="A page of the journal: MEMORY.md, LONGMEMORY.md, memory/2026-03-05.md.",
        mime_type=MARKDOWN,
    ),
]


def listed(seat: Seat, cursor: str | None) -> types.ListResourcesResult:
    """The documents in pages; before the first, the context and the journal."""
    if cursor and not (cursor.isdecimal() and len(cursor) < 10):
        raise InputError(f"{cursor!r:.200} is no cursor. Leave it out to begin anew.")
    start = int(cursor or 0)
    documents = list(seat.memory.documents.walk())
    part = [
        types.Resource(
            name=one.path,
            title=one.title,
            uri=DOCUMENTS + quote(one.path.removeprefix("~/")),
            description=one.description or None,
            mime_type=MARKDOWN,
        )
        for one in documents[start : start + PAGE]
    ]
    more = str(start + PAGE) if start + PAGE < len(documents) else None
    return types.ListResourcesResult(resources=part if start else [*_others(seat.memory), *part], next_cursor=more)


def read(seat: Seat, uri: str) -> str:
    """What stands there. What does not exist is an error that says where to look."""
    if uri == CONTEXT:
        return seat.context()
    if uri.startswith(DOCUMENTS):
        path = f"~/{unquote(uri.removeprefix(DOCUMENTS))}"
        seat.memory.documents.read(path)  # an error where it is not, which the tool only says
        return fenced(iter([found(seat, "document_read").call(path=path)]))
    if uri.startswith(JOURNAL):
        name = unquote(uri.removeprefix(JOURNAL))
        journal = seat.memory.journal
        if page := _pages(seat.memory).get(name):  # by name: a path never leads out
            return fenced(iter([shown(journal.files, page, journal.zone)]))
        raise InputError(f"The journal has no page {name!r:.200}. List the resources for those that it has.")
    raise InputError(f"There is nothing at {uri!r:.200}. Use {CONTEXT}, {DOCUMENTS}… or {JOURNAL}…")


def _others(memory: Memory) -> list[types.Resource]:
    context = types.Resource(
        name="context",
        title="What opens a session",
        uri=CONTEXT,
        description="Fenced as data.",
        mime_type=MARKDOWN,
    )
    if not memory.settings.continuity.journal_enabled:
        return [context]
    return [context] + [
        types.Resource(name=name, title=f"Journal: {name}", uri=JOURNAL + quote(name), mime_type=MARKDOWN)
        for name in [*_pages(memory)][:LISTED]
    ]


def _pages(memory: Memory) -> dict[str, Path]:
    """The journal's pages that there are, by their names: MEMORY.md, LONGMEMORY.md, the days, newest first."""
    pages = memory.journal.files
    found = [pages.memory, pages.long_memory, *reversed(pages.days())]
    return {page.relative_to(pages.root).as_posix(): page for page in found if page.is_file()}
