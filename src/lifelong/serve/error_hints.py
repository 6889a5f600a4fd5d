"""What an error says where it is met: the advice in it is for Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from lifelong.errors import LifelongError

Face: TypeAlias = Literal["cli", "http", "mcp"]

NEXT: Mapping[str, Mapping[Face, str]] = {
    "AgentNotFound": {"cli": "See: lifelong agents", "http": "See GET /api/v1/agents."},
    "SessionNotFound": {"cli": "See: lifelong sessions list", "http": "See GET /api/v1/sessions."},
    "DocumentNotFound": {
        "cli": "See: lifelong doc tree",
        "http": "See GET /api/v1/documents.",
        "mcp": "Read ~/memory with document_read for those there are.",
    },
    "ChangesetNotFound": {"cli": "See: lifelong doc history", "http": "See GET /api/v1/changesets."},
    "InboxItemNotFound": {"cli": "See: lifelong inbox list", "http": "See GET /api/v1/inbox."},
    "RecallNotFound": {"http": "See GET /api/v1/recalls."},
}
IN_PYTHON = "Decode it with errors='replace' and try again."
ELSEWHERE = "Write it in UTF-8 and try again."


def told(error: LifelongError, face: Face) -> str:
    """What happened, and what to do about it there."""
    if advice := NEXT.get(type(error).__name__, {}).get(face):
        return f"{what_happened(error)} {advice}"
    return str(error).replace(IN_PYTHON, ELSEWHERE)


def what_happened(error: LifelongError) -> str:
    """The error's first sentence: those after it say what to do."""
    return f"{str(error).partition('. ')[0].rstrip('.')}."
