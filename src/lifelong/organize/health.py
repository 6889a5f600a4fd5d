"""How far a record has come, and whether the background work is healthy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from lifelong.collect.history import History
from lifelong.collect.sessions import Sessions
from lifelong.collect.tombstones import oldest_erasure
from lifelong.errors import RecordNotFound
from lifelong.organize.dispatch import STUCK_AFTER, HandOver
from lifelong.organize.inbox import UNUSABLE, WAITING, Inbox
from lifelong.organize.write_policy import DATA
from lifelong.redaction import withheld
from lifelong.storage.base import Transaction
from lifelong.text.speech import MAX_TEXT_CHARS, split_speech
from lifelong.types import Record, ToolResult, UserMessage

MAX_COUNTED = 100  # conversations that wait for a pause

PAUSE = "It waits for a pause in the conversation, so that the model is asked once and not often."

Stage = Literal["stored", "queued", "organized", "searchable", "failed"]
Status = Literal["green", "yellow", "red"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """How far a record has come. `searchable`: organized, and its vector is made too; words find it since it was
    stored. `reason` says why it failed, or what it waits for; `inbox_id` is the inbox item that holds it, and
    `changeset_id` names the edits it led to, if any. `notes` say of which part of a long record a stage made use;
    the record itself is stored whole, but for secrets."""

    record_id: int
    session_id: str
    stage: Stage
    reason: str = ""
    inbox_id: int | None = None
    changeset_id: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Health:
    """The state of the whole home. `reasons` has a sentence for everything that is wrong."""

    status: Status
    reasons: tuple[str, ...]
    marked: int
    waiting: int
    dead: int
    oldest: datetime | None


def receipt(
    tx: Transaction, owner: str, record_id: int, now: datetime, hand_over: HandOver | None = None
) -> Receipt:
    """Return how far this record of the owner has come."""
    session_id = History(tx).session_of(record_id)
    session = session_id and Sessions(tx).find(owner, session_id)
    if not session:
        raise RecordNotFound(f"No record of this user has the id r{record_id}. Use an id that add returned.")
    if (session.processed_until or 0) < record_id:
        waits = hand_over and session.invalidated_at is not None and hand_over.waits(tx, session, now)
        return Receipt(record_id, session.id, "stored", PAUSE if waits else "")
    item = Inbox(tx).holding(session.id, record_id)
    if item is None:
        return Receipt(record_id, session.id, "organized", "There was nothing in it to learn from.")
    stage: Stage = "failed" if item.state == "dead" else "organized" if item.state == "done" else "queued"
    return Receipt(record_id, session.id, stage, item.error, item.id, item.changeset_id)


def cut_notes(
    record: Record, *, by_rules: bool, batch_chars: int, tool_result_chars: int, indexed_chars: int
) -> tuple[str, ...]:
    """Return which part of a record is stored, organized and indexed: a sentence for each stage that leaves
    something out."""
    text = getattr(record, "text", "")
    is_result = isinstance(record, ToolResult)
    if by_rules:
        most, part = MAX_TEXT_CHARS, "last" if is_result or record.provenance in DATA else "first"
    else:
        most, part = min(batch_chars, tool_result_chars) if is_result else batch_chars, "first"
    notes = []
    chars, before = withheld(text)
    if chars:
        notes.append(f"Its last {chars:,} characters are not stored: {before} came before them.")
    if len(text) > most:
        notes.append(f"Its {part} {most:,} of {len(text):,} characters are organized.")
    if by_rules and isinstance(record, UserMessage):
        own, others = (said.count("\n") + bool(said) for said in split_speech(text[:most], record.speaker))
        if others:
            notes.append(
                f"Taken for somebody else's words, or for made up: {others:,} of its {own + others:,} sentences. "
                "Nothing is learned from that."
            )
    if len(text) > indexed_chars:
        notes.append(f"Its first {indexed_chars:,} of {len(text):,} characters are indexed.")
    return tuple(notes)


def health(
    tx: Transaction,
    owner: str,
    now: datetime,
    overdue: timedelta,
    notes: Sequence[str],
    hand_over: HandOver | None = None,
    *,
    blocked: bool = False,
    tick: timedelta = timedelta(),
) -> Health:
    """Return the state of the home. Red: an inbox item failed for good, the model cannot be used as it is
    configured, something waits too long to be dispatched or organized, a worker is stuck dispatching a session, or
    items are due and nobody makes progress. Yellow: there are other `notes`, the model's provider is out,
    something that should be forgotten is not all gone, or one worker of several sends no heartbeat. All of this is
    read from the database, so that a worker that hangs is seen by the others. `blocked`: nothing can be organized
    at the moment, and a note says why; a worker looks for work every `tick`."""
    marked, since_mark = Sessions(tx).marked()
    items, since_put = Inbox(tx).open()
    dead = Inbox(tx).dead()
    error = Inbox(tx).last_error(owner)
    waiting = (since_mark, since_put, Sessions(tx).oldest_overdue_record(now - overdue))
    oldest = min((since for since in waiting if since), default=None)
    red = []
    if dead:
        red.append(
            f"{dead} inbox item(s) failed for good. {error or 'See the inbox of each user.'} "
            "Fix the cause and retry."
        )
    if unusable := Inbox(tx).count_waiting(UNUSABLE):
        why = error if error.startswith(UNUSABLE) else f"{UNUSABLE}see the log of the worker."
        red.append(f"{why} {unusable} transcript(s) wait, and none is lost. Correct the settings and restart.")
    if waiting_for_model := Inbox(tx).count_waiting(WAITING):
        why = error if error.startswith(WAITING) else f"{WAITING}its provider does not answer."
        notes = (f"{why} {waiting_for_model} transcript(s) wait, and go on by themselves.", *notes)
    if oldest and now - oldest > overdue:
        why = f"The last error: {error}" if error else "Is a worker running?"
        red.append(f"Something has been waiting to be organized since {oldest:%Y-%m-%d %H:%M:%S} UTC. {why}")
    if (erasing := oldest_erasure(tx)) and now - erasing > STUCK_AFTER:
        notes = (
            f"Something is to be forgotten since {erasing:%Y-%m-%d %H:%M:%S} UTC, and is not all gone yet. A "
            "worker goes on with it; its log says what is in the way.",
            *notes,
        )
    dispatching = Sessions(tx).longest_dispatching()
    if dispatching and now - dispatching[1] > STUCK_AFTER:
        red.append(
            f"Session {dispatching[0]} has been with a worker for {_seconds(now - dispatching[1])} and is not "
            "dispatched: that worker is stuck, or was killed. Look at its log, and start it again."
        )
    patience = max(STUCK_AFTER, tick * 1.5)
    if silent := Inbox(tx).silent(now, patience):
        words = (
            f"The worker that holds inbox item {silent[0]} has sent no heartbeat for "
            f"{_seconds(now - silent[1])}: it is stuck, or was killed. "
        )
        if Inbox(tx).is_alive(now, patience):
            notes = (f"{words}Another takes over when its lease ends.", *notes)
        else:
            red.append(f"{words}Start it again, or release the item: lifelong inbox release {silent[0]}")
    elif not (blocked or unusable or waiting_for_model) and (stalled := Inbox(tx).stalled(now, patience)):
        red.append(
            f"{stalled[0]} inbox item(s) are due since {stalled[1]:%Y-%m-%d %H:%M:%S} UTC, and no worker makes "
            "progress. Start one: lifelong worker"
        )
    status: Status = "red" if red else "yellow" if notes else "green"
    return Health(status, (*red, *notes, *_pausing(tx, now, marked, hand_over)), marked, items, dead, oldest)


def _pausing(tx: Transaction, now: datetime, marked: int, hand_over: HandOver | None) -> list[str]:
    """Return a sentence about the conversations that wait for a pause: nothing is wrong with that."""
    if not marked or not hand_over:
        return []
    waiting = [one for one in Sessions(tx).find_invalidated(MAX_COUNTED) if hand_over.waits(tx, one, now)]
    return [f"{len(waiting)} conversation(s) wait for a pause before the model gets them."] if waiting else []


def _seconds(time: timedelta) -> str:
    return f"{int(time.total_seconds()):,} seconds"
