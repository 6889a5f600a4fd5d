"""Sessions, their records, and where each record is on its way."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from lifelong import types
from lifelong.organize.health import Receipt
from lifelong.serve.http import models
from lifelong.serve.http.params import AskedMemory, Limit, RecordId
from lifelong.types import Session

sessions = APIRouter(prefix="/sessions", tags=["sessions"])
receipts = APIRouter(prefix="/receipts", tags=["receipts"])

After = Annotated[RecordId, Query(description="Only the records after this one.")]


@sessions.get("")
def list_sessions(
    memory: AskedMemory,
    limit: Limit = 100,
    before: Annotated[str | None, Query(description="The last session of the page before.")] = None,
) -> list[Session]:
    """The sessions of the user's agents, newest first, but for memory-agents'."""
    return memory().sessions.recent(limit, before)


@sessions.get("/{session_id}")
def get_session(session_id: str, memory: AskedMemory) -> Session:
    """The session as it is now. `invalidated_at` and `processed_until` are records' ids."""
    return memory().sessions.get(session_id)


@sessions.get("/{session_id}/history", response_model=list[models.StoredRecord])
def get_history(session_id: str, memory: AskedMemory, after: After = 0) -> list[types.StoredRecord]:
    """The session's records, in order. An agent's id stands for its newest session."""
    return memory().sessions.history(session_id, after)


@sessions.get("/{session_id}/transcript")
def get_transcript(session_id: str, memory: AskedMemory, after: After = 0) -> models.Text:
    """The session's records as Markdown. An agent's id stands for its newest session."""
    return models.Text(text=memory().sessions.transcript(session_id, after))


@receipts.get("/{record_id}")
def get_receipt(record_id: Annotated[RecordId, Path()], memory: AskedMemory) -> Receipt:
    """How far a record has come: stored, queued, organized, searchable, or failed and why."""
    return memory().receipt(record_id)
