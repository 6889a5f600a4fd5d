"""The journal, the notes of workers, and experiences."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from lifelong.journal.compaction import CompactionResult
from lifelong.journal.notes import NotesCompactionResult
from lifelong.journal.records import JournalRecord
from lifelong.recall.experience_rows import Experience
from lifelong.serve.http import models
from lifelong.serve.http.params import AskedMemory, Day, Limit, Moment

journal = APIRouter(prefix="/journal", tags=["journal"])
notes = APIRouter(prefix="/workers", tags=["notes"])
experiences = APIRouter(prefix="/experiences", tags=["experiences"])

Tokens = Annotated[int | None, Query(ge=0, le=1_000_000, description="How much room there is.")]


@journal.get("/records")
def list_journal(memory: AskedMemory) -> list[JournalRecord]:
    """The records of MEMORY.md, in its order."""
    return memory().journal.records()


@journal.get("/days/{day}")
def list_day(day: Annotated[Day, Path(examples=["2026-03-05"])], memory: AskedMemory) -> list[JournalRecord]:
    """The records of a day's page."""
    return memory().journal.day(day)


@journal.get("/long-memory")
def get_long_memory(memory: AskedMemory) -> models.Text:
    """LONGMEMORY.md as it stands."""
    return models.Text(text=memory().journal.long_memory())


@journal.post("/remember", status_code=201)
def remember_this(line: models.Remember, memory: AskedMemory) -> JournalRecord:
    """Write down what somebody chose to. A text with a secret in it is marked as one."""
    return memory().journal.remember(line.text, line.category, line.sensitivity, source_channel="http")


@journal.get("/session-context")
def get_session_context(memory: AskedMemory, tokens: Tokens = None) -> models.Text:
    """What of the journal opens a session. Empty where there is no journal."""
    return models.Text(text=memory().journal.context(tokens))


@journal.post("/compact")
def compact_journal(
    memory: AskedMemory, force: Annotated[bool, Query(description="Also below its limits.")] = False
) -> CompactionResult:
    """Compact MEMORY.md now if it is over its limits. The answer says what was done, or why nothing was."""
    return memory().journal.compact(force=force)


@notes.get("")
def list_workers(memory: AskedMemory) -> list[str]:
    """The names of the workers that keep notes."""
    return memory().notes.workers()


@notes.get("/{worker}/notes")
def load_notes(
    worker: str, memory: AskedMemory, cap: Annotated[int, Query(ge=0, le=1_000_000)] = 8000
) -> models.Text:
    """A worker's newest notes, whole, as many as fit into `cap` characters; secrets are taken out."""
    return models.Text(text=memory().notes.worker(worker).load(cap))


@notes.put("/{worker}/notes/{key}", status_code=204)
def store_note(worker: str, key: str, note: models.NoteOf, memory: AskedMemory) -> None:
    """Keep a note, in the place of an earlier one of that key. Too many are compacted in the background."""
    memory().notes.worker(worker).store(key, note.content)


@notes.post("/{worker}/compact")
def compact_notes(worker: str, memory: AskedMemory) -> NotesCompactionResult:
    """Compact a worker's notes now, if there are too many. The answer says what was done, or why nothing was."""
    return memory().notes.worker(worker).compact()


@experiences.get("")
def list_experiences(
    memory: AskedMemory,
    category: str = "",
    session_id: str = "",
    since: Moment | None = None,
    limit: Limit = 100,
) -> list[Experience]:
    """Experiences, the newest first: of a category, of a session, of what was told since then."""
    return memory().experiences.list(category, session_id=session_id, since=since, limit=limit)


@experiences.post("/query")
def query_experiences(question: models.ExperienceQuestion, memory: AskedMemory) -> list[Experience]:
    """Those that answer best, best first, each with its score."""
    return memory().experiences.query(question.query, question.top_k)


@experiences.post("", status_code=201)
def add_experience(told: models.AddExperience, memory: AskedMemory) -> models.Added:
    """Add an experience; the id is null where it is there already, in whichever words."""
    return models.Added(id=memory().experiences.add(**told.model_dump()))
