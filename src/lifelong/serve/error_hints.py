"""What an error says where it is met: the next step at the command line, over HTTP and over MCP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from lifelong.errors import LifelongError

Face: TypeAlias = Literal["cli", "http", "mcp"]

NEW_USER_HINT = "A user begins with the first thing that is stored for it."
HINTS: Mapping[str, Mapping[Face, str]] = {
    "UserNotFound": {"http": NEW_USER_HINT, "mcp": NEW_USER_HINT},
    "AgentNotFound": {"cli": "See: lifelong agents", "http": "See GET /api/v1/agents."},
    "SessionNotFound": {"cli": "See: lifelong sessions list", "http": "See GET /api/v1/sessions."},
    "DocumentNotFound": {
        "cli": "See: lifelong documents tree",
        "http": "See GET /api/v1/documents.",
        "mcp": "Read ~/memory with document_read for those there are.",
    },
    "ChangesetNotFound": {"cli": "See: lifelong documents history", "http": "See GET /api/v1/changesets."},
    "InboxItemNotFound": {"cli": "See: lifelong inbox list", "http": "See GET /api/v1/inbox."},
    "RecallNotFound": {"http": "See GET /api/v1/admin/recall_log."},
}
PYTHON_ADVICE = "Decode it with errors='replace' and try again."
GENERAL_ADVICE = "Write it in UTF-8 and try again."


def with_hint(error: LifelongError, face: Face) -> str:
    """Return what happened, and what to do about it there."""
    if hint := HINTS.get(type(error).__name__, {}).get(face):
        return f"{first_sentence(error)} {hint}"
    return str(error).replace(PYTHON_ADVICE, GENERAL_ADVICE)


def first_sentence(error: LifelongError) -> str:
    """Return what happened, without the advice for Python that follows."""
    return f"{str(error).partition('. ')[0].rstrip('.')}."
