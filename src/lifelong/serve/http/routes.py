"""Every operation of the API. Each is named and works as the call of `Memory` that it makes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.concurrency import run_in_threadpool

from lifelong import types
from lifelong.collect.descriptors import Strategy
from lifelong.collect.tombstones import Tombstone
from lifelong.errors import NotAPerson
from lifelong.forget.audit import Audit
from lifelong.journal.compaction import CompactionResult
from lifelong.journal.notes import NotesCompactionResult
from lifelong.journal.records import JournalRecord
from lifelong.memory import Memory, Store
from lifelong.models.ledger import Call
from lifelong.organize.consolidation import ConsolidationResult
from lifelong.organize.draft import Edit
from lifelong.organize.facts import Fact
from lifelong.organize.health import Health, Receipt
from lifelong.organize.review import Review, ReviewState
from lifelong.organize.worker import WorkDone
from lifelong.recall import recall_log
from lifelong.recall.experience_rows import Experience
from lifelong.recall.relations import Relations
from lifelong.serve.forgetting import store_what_waits
from lifelong.serve.hidden_paths import file_name, without_paths
from lifelong.serve.http import models
from lifelong.serve.http.guard import is_from_page
from lifelong.serve.http.models import (
    ANY_USER,
    ANY_USER_PATTERN,
    AsOf,
    Day,
    Limit,
    Moment,
    RecordId,
    RecordName,
    Requested,
    ReviewId,
    UserMemory,
    Version,
)
from lifelong.serve.operation import Operation
from lifelong.tokens import LoggedWrite, NewToken, Token
from lifelong.types import Changeset, Document, Hit, InboxItem, ItemKind, ItemState, Session, Stats, Turn

T = TypeVar("T")

memory_verbs = APIRouter(tags=["memory"])
agents = APIRouter(prefix="/agents", tags=["agents"])
sessions = APIRouter(prefix="/sessions", tags=["sessions"])
documents = APIRouter(prefix="/documents", tags=["documents"])
changesets = APIRouter(prefix="/changesets", tags=["changesets"])
journal = APIRouter(prefix="/journal", tags=["journal"])
notes = APIRouter(prefix="/notes", tags=["notes"])
experiences = APIRouter(prefix="/experiences", tags=["experiences"])
relations = APIRouter(prefix="/relations", tags=["relations"])
inbox = APIRouter(prefix="/inbox", tags=["inbox"])
reviews = APIRouter(prefix="/reviews", tags=["reviews"])
users = APIRouter(prefix="/users", tags=["users"])
tokens = APIRouter(prefix="/tokens", tags=["tokens"])
admin = APIRouter(prefix="/admin", tags=["admin"])

ROUTERS = (
    *(memory_verbs, agents, sessions, documents, changesets, journal, notes, experiences, relations, inbox),
    *(reviews, users, tokens, admin),
)

After = Annotated[RecordId, Query(description="Only the records after this one.")]
ChangesetId = Annotated[RecordId, Path()]

MAX_AUDIT_SECONDS = 300

# What an operation takes where no body is sent.
DEFAULT_AGENT, ANY_MESSAGE, NAMED_BY_TIME = models.AgentRef(), models.Context(), models.BackupName()
ANYBODY = models.Decision(by="")


async def _check_person(request: Request) -> None:
    """Refuse a program: it may be the agent on whose write a person is to decide."""
    if not is_from_page(request.headers):
        raise NotAPerson(
            "Only a person may decide on what an agent wrote. Use the page at /review, or at the command line: "
            "lifelong review"
        )


PersonOnly = Depends(_check_person)


def _visible(result: T, memory: Memory, requested: Operation) -> T:
    """Return a result without what only those may see who look after the home."""
    return without_paths(result, memory.store, requested.grant)


# The everyday verbs. `add` and `search` go to a thread once and by hand: for the answer of a plain `def`, FastAPI
# would go there a second time, and these two are called most.


@memory_verbs.post("/add", status_code=201)
async def add(body: models.Add, memory: UserMemory, requested: Requested) -> models.Added:
    """Store what was said: a text, messages, or records; all or none. When this answers, it is durable. A user
    begins with the first thing that is stored."""

    def store() -> models.Added:
        agent = body.agent_or_id()
        ids = memory(new=True).add(body.what(), agent=agent, at=body.at, key=body.key, speaker=body.speaker)
        requested.targets += ids
        return models.Added(ids=ids, forgotten=list(map(models.Tombstone.model_validate, ids.forgotten)))

    return await run_in_threadpool(store)


@memory_verbs.post("/search")
async def search(body: models.Search, memory: UserMemory) -> list[Hit]:
    """Find what the user's memory knows about a question, best first, each hit with its source, date and trust.
    Nothing is known where no hit has a `confidence` above `low`: those are only the nearest. `sources` are other
    items that say the same as the hit."""

    def look() -> list[Hit]:
        user_memory = memory()
        if body.agent is not None:
            user_memory.agents.get(body.agent)  # an empty answer would hide the mistake
        return user_memory.search(**dict(body))

    return await run_in_threadpool(look)


@memory_verbs.post("/context")
def context(memory: UserMemory, body: models.Context = ANY_MESSAGE) -> models.Text:
    """Return what to put before an agent's next turn, fenced as data: what is pinned, the core, what is relevant,
    the journal."""
    return models.Text(text=memory().context(**dict(body)))


@memory_verbs.get("/list", name="list")
def list_items(
    memory: UserMemory,
    kind: ItemKind | None = None,
    subject: Annotated[str | None, Query(description="A name, or some words.")] = None,
    since: Moment | None = None,
    limit: Limit = 100,
    before: Annotated[str | None, Query(description="The id of the last hit of the page before.")] = None,
) -> list[Hit]:
    """List everything that is remembered, newest first."""
    return memory().list(kind, subject, since, limit, before)


@memory_verbs.post("/correct")
def correct(body: models.Correction, memory: UserMemory, requested: Requested) -> Hit:
    """Say what is true instead of an item. The item ends; the answer is what is found from now on."""
    requested.targets.append(body.item)
    return memory().correct(body.item, body.text)


@memory_verbs.post("/pin", status_code=204)
def pin(body: models.ItemRef, memory: UserMemory, requested: Requested) -> None:
    """Put an item into every context from now on."""
    requested.targets.append(body.item)
    memory().pin(body.item)


@memory_verbs.post("/unpin", status_code=204)
def unpin(body: models.ItemRef, memory: UserMemory, requested: Requested) -> None:
    """Take an item out of every context: its pin goes, and it is no longer part of the core."""
    requested.targets.append(body.item)
    memory().unpin(body.item)


@memory_verbs.post("/forget")
def forget(body: models.Forget, memory: UserMemory, requested: Requested) -> models.Forgotten:
    """Remove something for good, with all that was made of it, and prove that it is gone. Without `"dry_run":
    false` nothing is changed, and the answer says what would go."""
    user_memory = memory()
    requested.targets += body.ids
    if body.dry_run:
        requested.name = ""  # nothing is changed
    what = body.model_dump(exclude={"ids", "prove"})
    store_what_waits(user_memory)
    report = user_memory.forget(*body.ids, **what)
    proof = user_memory.admin.prove_forgotten(report) if report and body.prove and not body.dry_run else None
    requested.targets += report.records
    shown = models.ForgetReport.model_validate(report)
    if not requested.grant.is_admin:
        shown.backups = [file_name(path) for path in shown.backups]
    return models.Forgotten(report=shown, proof=proof)


@memory_verbs.post("/feedback")
def feedback(body: models.Feedback, memory: UserMemory, requested: Requested) -> models.Judged:
    """Say that a hit was useful, wrong or outdated. What is outdated ends, with all that it says, unless it is a
    record; `useful` takes that back, and a correction keeps a part of it. Returns the sentences that ended."""
    requested.targets.append(body.item)
    return models.Judged(ended=[*memory().feedback(body.item, body.verdict, body.recall_id)])


@memory_verbs.get("/receipt/{record}")
def receipt(record: RecordName, memory: UserMemory, requested: Requested) -> Receipt:
    """Return how far a record has come: stored, queued, organized, searchable, or failed and why."""
    user_memory = memory()
    return _visible(user_memory.receipt(record), user_memory, requested)


@memory_verbs.post("/end_turn")
def end_turn(memory: UserMemory, body: models.AgentRef = DEFAULT_AGENT) -> Turn | None:
    """Say that the agent's turn is over. Returns the turn's range of records, or null where there are none."""
    return memory().end_turn(body.agent)


@memory_verbs.post("/end_session", status_code=204)
def end_session(memory: UserMemory, body: models.AgentRef = DEFAULT_AGENT) -> None:
    """Say that the conversation is over: the agent sleeps, and what is new is marked to be organized."""
    memory().end_session(body.agent)


@memory_verbs.post("/organize")
def organize(memory: UserMemory) -> WorkDone:
    """Do the background work of the whole home that is due now, and answer when it is done."""
    return memory().organize()


# Agents and sessions


@agents.post("", response_model=models.Agent)
def get_or_make_agent(descriptor: models.Descriptor, memory: UserMemory, requested: Requested) -> types.Agent:
    """Return the one agent of this descriptor, made on first use. A user begins with its first agent."""
    described = models.to_descriptor(descriptor)
    found = memory(new=True).agent(described)
    requested.targets.append(found.id)
    return found


@agents.get("", response_model=list[models.Agent])
def list_agents(memory: UserMemory) -> list[types.Agent]:
    """List every agent of the user, the most recently active first."""
    return memory().agents.list()


@agents.get("/find", response_model=models.Agent | None)
def find_agent(memory: UserMemory, strategy: Strategy = "most-recent-foreground") -> types.Agent | None:
    """Return the most recently active agent that the strategy matches; null where there is none."""
    return memory().agents.find(strategy)


@agents.get("/{agent_id}", response_model=models.Agent)
def get_agent(agent_id: str, memory: UserMemory) -> types.Agent:
    """Return the agent as it is now."""
    return memory().agents.get(agent_id)


@agents.get("/{agent_id}/sessions")
def list_agent_sessions(agent_id: str, memory: UserMemory) -> list[Session]:
    """List every session of the agent, oldest first, the active one last."""
    return memory().sessions.list(agent_id)


@agents.post("/{agent_id}/reset")
def reset(agent_id: str, body: models.Reset, memory: UserMemory) -> Session:
    """End the agent's session, mark it to be organized, and return the new one."""
    return memory().sessions.reset(agent_id, body.message, emergency=body.emergency)


@agents.post("/{agent_id}/compact_context")
def compact_context(agent_id: str, body: models.Summary, memory: UserMemory) -> Session:
    """Do what `reset` does, with a summary of what came before as the new session's first record."""
    return memory().sessions.compact_context(agent_id, body.summary)


@sessions.get("")
def list_sessions(
    memory: UserMemory,
    limit: Limit = 100,
    before: Annotated[str | None, Query(description="The last session of the page before.")] = None,
) -> list[Session]:
    """List the sessions of the user's agents, newest first, without those of memory-agents."""
    return memory().sessions.recent(limit, before)


@sessions.get("/{session_id}")
def get_session(session_id: str, memory: UserMemory) -> Session:
    """Return the session as it is now. `invalidated_at` and `processed_until` are ids of records."""
    return memory().sessions.get(session_id)


@sessions.get("/{session_id}/history", response_model=list[models.StoredRecord])
def get_history(session_id: str, memory: UserMemory, after: After = 0) -> list[types.StoredRecord]:
    """Return the session's records, in order. An agent's id means its newest session."""
    return memory().sessions.history(session_id, after)


@sessions.get("/{session_id}/transcript")
def get_transcript(session_id: str, memory: UserMemory, after: After = 0) -> models.Text:
    """Return the session's records as Markdown. An agent's id means its newest session."""
    return models.Text(text=memory().sessions.transcript(session_id, after))


# Documents


@documents.get("", response_model=list[models.DocumentHead])
def list_documents(
    memory: UserMemory,
    below: Annotated[str, Query(description="A path; ~ for all.", examples=["~/memory/people"])] = "~",
    as_of: AsOf = None,
) -> list[Document]:
    """List the document at a path and all below it, parents first, without their bodies."""
    return list(memory().documents.walk(below, as_of))


@documents.get("/roots", response_model=list[models.DocumentHead])
def list_roots(memory: UserMemory, as_of: AsOf = None) -> list[Document]:
    """List the documents that have no parent, without their bodies."""
    return memory().documents.roots(as_of)


@documents.get("/at")
def read_document_at(
    memory: UserMemory, path: Annotated[str, Query(examples=["~/memory"])], as_of: AsOf = None
) -> models.DocumentWithLinks:
    """Return the document at a path, now or as it was."""
    return _with_links(memory(), path, as_of)


@documents.post("", status_code=201)
def make_document(body: models.NewDocument, memory: UserMemory, requested: Requested) -> Document:
    """Make a document, as a changeset of its own."""
    made = memory().documents.write(**body.model_dump())
    requested.targets.append(made.id)
    return made


@documents.post("/rollback")
def rollback_to_time(body: models.PastTime, memory: UserMemory) -> Changeset | None:
    """Return every document to what it was at a time, as a new changeset. Null: nothing differs."""
    return memory().documents.rollback_to(body.time, author=body.author)


@documents.post("/consolidate")
def consolidate_documents(
    memory: UserMemory,
    requested: Requested,
    dry_run: Annotated[bool, Query(description="Only say what would be done.")] = False,
    body: models.Consolidation | None = None,
) -> ConsolidationResult:
    """Tidy the documents: merge what stands twice, move what is misplaced, split long pages, delete empty ones. It
    is one changeset, which can be rolled back; the answer says what was done, what was left, and why."""
    user_memory, only_says = memory(), dry_run or (body is not None and body.dry_run)
    if only_says:
        requested.name = ""
    return _visible(user_memory.documents.consolidate(dry_run=only_says), user_memory, requested)


@documents.get("/{document_id}")
def read_document(document_id: str, memory: UserMemory, as_of: AsOf = None) -> models.DocumentWithLinks:
    """Return the document of this id, now or as it was."""
    return _with_links(memory(), document_id, as_of)


@documents.put("/{document_id}")
def write_document(document_id: str, body: models.DocumentReplacement, memory: UserMemory) -> Document:
    """Replace a document that was read at `expected_version`. If it changed since, this is a 409 that says how."""
    return memory().documents.write(document_id=document_id, **body.model_dump())


@documents.patch("/{document_id}")
def edit_document(document_id: str, body: models.DocumentEdit, memory: UserMemory) -> Document:
    """Change a part of a document: append a paragraph, or replace a text that occurs once."""
    return memory().documents.edit(document_id, **body.model_dump())


@documents.delete("/{document_id}", status_code=204)
def delete_document(
    document_id: str,
    memory: UserMemory,
    expected_version: Annotated[Version, Query()],
    author: str = "person",
    note: str = "",
) -> None:
    """Delete a document; its versions stay. Refused while another one has it as parent or link."""
    memory().documents.delete(document_id, expected_version, author=author, note=note)


@documents.get("/{document_id}/facts")
def list_facts(document_id: str, memory: UserMemory) -> list[Fact]:
    """List the facts of a document, in order, current or not, with the records they rest on."""
    return memory().documents.facts(document_id)


@documents.get("/{document_id}/versions")
def list_versions(document_id: str, memory: UserMemory) -> list[Document]:
    """List every version, the first one first, also of a deleted document."""
    return memory().documents.versions(document_id)


@documents.get("/{document_id}/diff")
def diff_versions(
    document_id: str,
    memory: UserMemory,
    old: Annotated[Version, Query()],
    new: Annotated[Version, Query()],
) -> models.Text:
    """Return what changed between two versions, as a unified diff."""
    return models.Text(text=memory().documents.diff(document_id, old, new))


@changesets.get("")
def list_changesets(memory: UserMemory, limit: Limit = 20) -> list[Changeset]:
    """List the changesets (edits that were made together), newest first."""
    return memory().documents.changesets(limit)


@changesets.get("/{changeset_id}")
def get_changeset(changeset_id: ChangesetId, memory: UserMemory) -> Changeset:
    """Return one changeset: who made it, why, from which records, at what cost."""
    return memory().documents.changeset(changeset_id)


@changesets.get("/{changeset_id}/changes")
def list_changes(changeset_id: ChangesetId, memory: UserMemory) -> list[Edit]:
    """List what the changeset did: each document before and after."""
    return memory().documents.changes(changeset_id)


@changesets.post("/{changeset_id}/rollback")
def rollback_changeset(changeset_id: ChangesetId, memory: UserMemory, author: str = "person") -> Changeset | None:
    """Undo one changeset, as a new one. Null: there was nothing to undo."""
    return memory().documents.rollback(changeset_id, author=author)


def _with_links(memory: Memory, document: str, as_of: datetime | None) -> models.DocumentWithLinks:
    found = memory.documents.read(document, as_of)
    return models.DocumentWithLinks(
        document=found,
        references=[] if as_of else memory.documents.references(found.id),
        children=[
            models.DocumentHead.model_validate(child) for child in memory.documents.children(found.id, as_of)
        ],
    )


# Journal, notes, experiences, relations


@journal.get("/records")
def list_journal(memory: UserMemory) -> list[JournalRecord]:
    """List the records of MEMORY.md, in their order."""
    return memory().journal.records()


@journal.get("/days/{day}")
def list_day(day: Annotated[Day, Path(examples=["2026-03-05"])], memory: UserMemory) -> list[JournalRecord]:
    """List the records of one day's file."""
    return memory().journal.day(day)


@journal.get("/long_memory")
def get_long_memory(memory: UserMemory) -> models.Text:
    """Return the text of LONGMEMORY.md."""
    return models.Text(text=memory().journal.long_memory())


@journal.post("/remember", status_code=201)
def remember(body: models.NewJournalRecord, memory: UserMemory, requested: Requested) -> JournalRecord:
    """Write a line into the journal. A text with a secret in it is marked as secret."""
    made = memory().journal.remember(body.text, body.category, body.sensitivity, source_channel="http")
    requested.targets.append(made.id)
    return made


@journal.get("/context")
def get_journal_context(
    memory: UserMemory,
    tokens: Annotated[int | None, Query(ge=0, le=1_000_000, description="How many tokens it may take.")] = None,
) -> models.Text:
    """Return what of the journal opens a session. Empty where there is no journal."""
    return models.Text(text=memory().journal.context(tokens))


@journal.post("/compact")
def compact_journal(
    memory: UserMemory,
    requested: Requested,
    force: Annotated[bool, Query(description="Also below its limits.")] = False,
) -> CompactionResult:
    """Compact MEMORY.md now if it is over its limits. The answer says what was done, or why nothing was."""
    user_memory = memory()
    return _visible(user_memory.journal.compact(force=force), user_memory, requested)


@notes.get("")
def list_workers(memory: UserMemory) -> list[str]:
    """List the names of the workers that keep notes."""
    return memory().notes.workers()


@notes.get("/{worker}")
def load_notes(
    worker: str, memory: UserMemory, cap: Annotated[int | None, Query(ge=0, le=1_000_000)] = None
) -> models.Text:
    """Return a worker's newest notes, as many as fit into `cap` characters, without secrets. Without a cap,
    `continuity.notes_load_cap` counts."""
    return models.Text(text=memory().notes.worker(worker).load(cap))


@notes.put("/{worker}/{key}", status_code=204)
def store_note(worker: str, key: str, body: models.NoteContent, memory: UserMemory) -> None:
    """Keep a note, in the place of an earlier one of that key. Too many are compacted in the background."""
    memory().notes.worker(worker).store(key, body.content)


@notes.post("/{worker}/compact")
def compact_notes(
    worker: str,
    memory: UserMemory,
    requested: Requested,
    force: Annotated[bool, Query(description="Even if there are not too many")] = False,
) -> NotesCompactionResult:
    """Compact a worker's notes now, if there are too many. The answer says what was done, or why nothing was."""
    user_memory = memory()
    return _visible(user_memory.notes.worker(worker).compact(force=force), user_memory, requested)


@notes.post("/{worker}/restore")
def restore_notes(worker: str, memory: UserMemory) -> models.RestoredNotes:
    """Undo the last compaction of a worker's notes; called again, the one before. Notes that were written since
    stay as they are. `restored` names the notes that are back; it is empty where there is nothing to undo."""
    return models.RestoredNotes(restored=list(memory().notes.worker(worker).restore()))


@experiences.get("")
def list_experiences(
    memory: UserMemory,
    category: str = "",
    session_id: str = "",
    since: Moment | None = None,
    limit: Limit = 100,
) -> list[Experience]:
    """List experiences, newest first: of a category, of a session, since a time."""
    return memory().experiences.list(category, session_id=session_id, since=since, limit=limit)


@experiences.post("/query")
def query_experiences(body: models.ExperienceQuery, memory: UserMemory) -> list[Experience]:
    """Find the experiences that answer a question best, best first, each with its score and its `confidence`."""
    return memory().experiences.query(body.query, body.top_k)


@experiences.post("", status_code=201)
def add_experience(body: models.NewExperience, memory: UserMemory, requested: Requested) -> models.AddedExperience:
    """Add an experience. The id is null where the same one is known already, in whichever words."""
    made = memory().experiences.add(**body.model_dump())
    requested.targets += [made] if made else []
    return models.AddedExperience(id=made)


@relations.get("")
def get_relations(
    memory: UserMemory,
    entity: Annotated[str, Query(description="A name.")],
    limit: Limit = 20,
    ended: Annotated[bool, Query(description="Also what has stopped being true.")] = False,
) -> Relations:
    """Return whom and what a person, project or thing is related to, closest first, with the evidence."""
    return memory().relations.of(entity, limit, ended=ended)


@relations.get("/entities")
def list_entities(memory: UserMemory, limit: Limit = 100) -> list[str]:
    """List the known names, the most often named first."""
    return memory().relations.entities(limit)


# The home


@inbox.get("")
def list_inbox(
    memory: UserMemory,
    requested: Requested,
    state: Annotated[list[ItemState], Query(description="Only in these states; may be repeated.")] = [],  # noqa: B006
    limit: Limit = 100,
) -> list[InboxItem]:
    """List the transcripts on their way to the memory-agents, and those that arrived; newest first."""
    user_memory = memory()
    return [_visible(one, user_memory, requested) for one in user_memory.inbox.list(*state, limit=limit)]


@inbox.post("/retry")
def retry_inbox(memory: UserMemory) -> models.Retried:
    """Try every item again that failed for good."""
    return models.Retried(retried=memory().inbox.retry())


@inbox.post("/release")
def release_inbox(memory: UserMemory) -> models.Released:
    """Take every item from the worker that holds it, so that another organizes it."""
    return models.Released(released=memory().inbox.release())


@inbox.post("/{item_id}/release")
def release_item(item_id: Annotated[RecordId, Path()], memory: UserMemory) -> models.Released:
    """Take one item from the worker that holds it, so that another organizes it."""
    return models.Released(released=memory().inbox.release(item_id))


@inbox.post("/{item_id}/retry")
def retry_item(item_id: Annotated[RecordId, Path()], memory: UserMemory) -> models.Retried:
    """Try one item again now."""
    return models.Retried(retried=memory().inbox.retry(item_id))


@reviews.get("")
def list_reviews(
    memory: UserMemory,
    state: Annotated[list[ReviewState], Query(description="In these states; may be repeated.")] = ["waiting"],  # noqa: B006
    limit: Limit = 100,
) -> list[Review]:
    """List what agents wrote that waits for a person, newest first: what, why, from whom."""
    return memory().reviews.list(*state, limit=limit)


@reviews.get("/{review}")
def get_review(review: ReviewId, memory: UserMemory) -> Review:
    """Return one review."""
    return memory().reviews.get(review)


@reviews.post("/{review}/approve", dependencies=[PersonOnly])
def approve_review(review: ReviewId, memory: UserMemory, body: models.Decision = ANYBODY) -> Review:
    """Write what waits, or forget what was asked for. Only from the server's own page: a program is refused, since
    it may be the agent whose write it is."""
    return memory().reviews.approve(review, by=body.by)


@reviews.post("/{review}/edit", dependencies=[PersonOnly])
def edit_review(review: ReviewId, body: models.OtherWords, memory: UserMemory) -> Review:
    """Approve with other words. Only from the server's own page."""
    return memory().reviews.edit(review, body.text, by=body.by)


@reviews.post("/{review}/refuse", dependencies=[PersonOnly])
def refuse_review(review: ReviewId, memory: UserMemory, body: models.Decision = ANYBODY) -> Review:
    """Drop what waits, and keep the decision. Only from the server's own page."""
    return memory().reviews.refuse(review, by=body.by)


@users.get("")
def list_users(request: Request, requested: Requested) -> list[str]:
    """List the default user, and all users that hold something; with a token of a user, that one."""
    store: Store = request.app.state.store
    return [requested.grant.user] if requested.grant.user else store.users()


@tokens.get("")
def list_tokens(
    request: Request,
    user: Annotated[str, ANY_USER, Query(pattern=ANY_USER_PATTERN, description="Only of this user.")] = "",
) -> list[Token]:
    """List the tokens of the home, newest first, without their secrets. `used_at` is known to about an hour."""
    store: Store = request.app.state.store
    return store.tokens.list(user or None)


@tokens.post("", status_code=201)
def create_token(request: Request, body: models.CreateToken, requested: Requested) -> NewToken:
    """Make a token: `read` and `write` for the memory of one user, `admin` for the whole home. Its `secret` is
    answered once, here; only a digest of it is stored."""
    store: Store = request.app.state.store
    made = store.tokens.create(body.user, body.scope, body.name)
    requested.targets.append(made.id)
    return made


@tokens.delete("/{token_id}")
def revoke_token(request: Request, token_id: str) -> Token:
    """Have a token no longer accepted, at once, by every server of the home."""
    store: Store = request.app.state.store
    return store.tokens.revoke(token_id)


@admin.get("/write_log")
def list_writes(
    request: Request,
    limit: Limit = 100,
    user: Annotated[
        str, ANY_USER, Query(pattern=ANY_USER_PATTERN, description="Only in this user's memory.")
    ] = "",
    token: Annotated[str, Query(description="Only with the token of this id.")] = "",
    before: Annotated[RecordId, Query(description="Only the entries before this one.")] = 0,
) -> list[LoggedWrite]:
    """List what was changed through the server with tokens, newest first: which token, which operation, which ids.
    No text is kept."""
    store: Store = request.app.state.store
    return store.tokens.write_log(limit, user=user, token=token, before=before)


@admin.get("/health")
def health(memory: UserMemory, requested: Requested) -> Health:
    """Return whether everything in the home is on its way: green, yellow or red, with the reasons."""
    user_memory = memory()
    return _visible(user_memory.admin.health(), user_memory, requested)


@admin.get("/stats")
def stats(memory: UserMemory) -> Stats:
    """Return how much there is of everything the user has, and what the home spent today."""
    return memory().admin.stats()


@admin.get("/check")
def check(memory: UserMemory) -> list[str]:
    """Read the whole database and list what is wrong with it. Takes a while in a large home."""
    return memory().admin.check()


@admin.get("/verify")
def verify(memory: UserMemory) -> list[str]:
    """Read the user's whole index and list what is wrong with it. Takes a while in a large home."""
    return memory().admin.verify()


@admin.get("/audit")
def audit(
    memory: UserMemory,
    max_seconds: Annotated[float, Query(ge=0, le=MAX_AUDIT_SECONDS, description="After these, it stops.")] = 20.0,
) -> Audit:
    """List secrets, facts without their records, contradictions, duplicates, plans whose day is past and pages
    that are too long, each with the command that fixes it. Nothing is changed. Takes a while in a large memory."""
    return memory().admin.audit(max_seconds=max_seconds)


@admin.post("/rebuild", status_code=202)
def rebuild(memory: UserMemory) -> None:
    """Rebuild the index of the home in the background. Search goes on meanwhile."""
    memory().admin.rebuild()


@admin.post("/backup", status_code=201)
def backup(memory: UserMemory, body: models.BackupName = NAMED_BY_TIME) -> models.Backup:
    """Write a whole copy of the home, its database and the files of its users, into the home's folder `backups`,
    while work goes on."""
    user_memory = memory()
    folder = user_memory.home.path / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{body.name or datetime.now(UTC).strftime('%Y-%m-%dT%H%M%SZ')}.db"
    user_memory.admin.backup(path)
    return models.Backup(path=str(path), bytes=path.stat().st_size)


@admin.get("/ledger")
def ledger(memory: UserMemory, requested: Requested, limit: Limit = 100) -> list[Call]:
    """List the user's calls of models and what each cost, newest first."""
    user_memory = memory()
    return [_visible(one, user_memory, requested) for one in user_memory.admin.ledger(limit)]


@admin.get("/forgotten", response_model=list[models.Tombstone])
def list_forgotten(memory: UserMemory, limit: Limit = 100) -> list[Tombstone]:
    """List what was forgotten, newest first: its kind and id, when, and on whose word. No text is kept."""
    return memory().admin.forgotten(limit)


@admin.get("/recall_log", response_model=list[models.Recalled])
def list_recalls(memory: UserMemory, limit: Limit = 20) -> list[recall_log.Recalled]:
    """List what was asked and what came back, newest first."""
    return memory().admin.recall_log(limit)


@admin.get("/recall_log/{recall_id}", response_model=models.Recalled)
def get_recall(recall_id: Annotated[RecordId, Path()], memory: UserMemory) -> recall_log.Recalled:
    """Return one entry of the recall log."""
    return memory().admin.recall_log(recall_id=recall_id)[0]
