"""Turn summaries: one line of the journal for each completed turn, exactly once.

A turn begins with what the user says, and ends before the user speaks again, at `end_turn`, with its session, or
when its agent falls asleep. A row says up to which record a session's turns are in the journal, and the id of a
summary follows from its turn: if a process is stopped between writing a summary and updating the row, the next one
finds the summary there.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from lifelong.collect.agents import Agents
from lifelong.collect.descriptors import User, is_foreground, target
from lifelong.collect.history import History, RecordPage
from lifelong.collect.sessions import Sessions
from lifelong.collect.transcript import without_injected
from lifelong.errors import TEMPORARY_ERRORS, JournalError, LifelongError
from lifelong.journal.files import IDENTITY_FILE
from lifelong.journal.records import JournalRecord, summary_id
from lifelong.journal.rows import JournalRows, PendingSession
from lifelong.redaction import redact
from lifelong.storage.base import Database, Transaction
from lifelong.text.sentences import sentences
from lifelong.text.words import fold
from lifelong.types import Agent, AssistantMessage, Clock, Note, StoredRecord, SystemMessage, UserMessage

if TYPE_CHECKING:
    from lifelong.journal.service import JournalService

log = logging.getLogger("lifelong.journal")

FULL_SCAN_INTERVAL = timedelta(seconds=30)  # between two looks at the agents of every process
MAX_CHARS = 200  # of a request, and of a reply, in whole sentences;
MAX_SENTENCE_CHARS = 400  # of the first one, if it is longer
_INTRODUCTION = re.compile(r"[:\uff1a][*_\s]*\Z")  # "Here are some tips:" takes the next sentence along
_MAX_READ_CHARS = 10_000  # of a text, from its start
_HALF_MARKER = re.compile(r"\[secret:[^\]]*$")
_NAMELESS = frozenset(("default", "user"))  # a memory or an address that tells nothing of a person
_RECORDS_PER_READ = 500
_TURNS_PER_WRITE = 200


@dataclass(slots=True)
class _OpenTurn:
    """A turn from one request to the next, as far as it was read: its first and last record, the request and the
    reply."""

    first: StoredRecord
    last: StoredRecord
    request: UserMessage | SystemMessage | Note | None = None
    reply: AssistantMessage | Note | None = None

    def add(self, recorded: StoredRecord) -> None:
        self.last = recorded
        if recorded.record.provenance in ("web", "tool"):
            return  # a line of the journal has no mark for it
        match recorded.record:
            case UserMessage() as message:
                self.request = message
            case Note(provenance="user") as message if not isinstance(self.request, UserMessage):
                self.request = message  # a person's correction
            case SystemMessage(summary=False) as message if self.request is None:
                self.request = message
            case AssistantMessage() as message if message.text.strip():
                self.reply = message
            case Note() as message if not isinstance(self.reply, AssistantMessage):
                self.reply = message


class TurnSummaries:
    """Write the summaries of an owner's turns. Turns that ended before the first `TurnSummaries` of the owner was
    made are left out. Where several homes share a database, only the first one writes."""

    def __init__(self, database: Database, owner: str, journal: JournalService, clock: Clock) -> None:
        self._database = database
        self._owner = owner
        self._journal = journal
        self._clock = clock
        self._touched: set[str] = set()
        self._looked: datetime | None = None
        now, files = clock(), journal.files
        self.elsewhere = ""
        """Why this home writes no summaries; empty where it does."""
        try:
            home = files.identity() if database.dialect == "postgres" else ""
        except JournalError as error:
            home, self.elsewhere = "", str(error)
        keeping = database.read(lambda tx: JournalRows(tx).find_keeper(owner))
        if not keeping and not self.elsewhere:
            keeping = database.write(lambda tx: JournalRows(tx).keeper(owner, home, now))
        keeper, self._began = keeping or (home, now)
        if keeper != home and not self.elsewhere:
            self.elsewhere = (
                f"Another home keeps the journal of {owner!r}; turn summaries are not written here. To keep it "
                f"here, stop that one and put its id, {keeper}, into {files.root / IDENTITY_FILE}."
            )
        self.error = ""
        """What went wrong when it wrote last; empty where nothing did."""

    def touched(self, agent_id: str) -> None:
        """Note that a turn of this agent may be complete. Writes nothing yet."""
        self._touched.add(agent_id)

    def keep_up(self) -> int:
        """Write the completed turns of the agents that were touched, and now and then those of all."""
        now = self._clock()
        if self._looked and abs(now - self._looked) < FULL_SCAN_INTERVAL:
            return self._write(every_agent=False, wait=False)
        self._looked = now
        return self.write_all(wait=False)

    def write_all(self, *, wait: bool = True) -> int:
        """Write the completed turns of every agent, of whichever process. Return how many there were. What cannot
        be written is logged and tried again the next time; so is, without `wait`, what another process is
        writing."""
        return self._write(every_agent=True, wait=wait)

    def _write(self, *, every_agent: bool, wait: bool) -> int:
        touched, self._touched = self._touched, set()
        agents = [None] if every_agent else sorted(touched)
        if self.elsewhere or not agents:
            return 0
        try:
            sessions = self._database.read(
                lambda tx: [session for agent in agents for session in JournalRows(tx).pending(self._owner, agent)]
            )
        except LifelongError:
            self._touched |= touched
            raise
        written = 0
        self.error = ""
        for session in sessions:
            try:
                with self._journal.files.summarizing(wait=wait) as free:
                    if free:
                        written += self._write_session(session)
                    else:
                        self._touched.add(session.agent_id)
            except LifelongError as error:
                self.error = str(error)
                self._touched.add(session.agent_id)
                if isinstance(error, TEMPORARY_ERRORS):  # then no other session can be written, either
                    self._touched |= touched
                    log.info("turns are not in the journal yet: %s", error)  # the work that follows fails, too
                    break
                log.error("turns of session %s are not in the journal yet: %s", session.session_id, error)
        return written

    def _write_session(self, session: PendingSession) -> int:
        agent = self._database.read(lambda tx: Agents(tx).get(self._owner, session.agent_id))
        turns = self._turns(session)
        written = 0
        while batch := list(islice(turns, _TURNS_PER_WRITE)):
            fresh = [turn for turn in batch if turn.last.recorded_at >= self._began]
            written += self._journal.append(*(made for turn in fresh if (made := _summary(agent, turn))))
            until = batch[-1].last.id
            self._database.write(partial(_advance, session_id=session.session_id, until=until))
        return written

    def _turns(self, session: PendingSession) -> Iterator[_OpenTurn]:
        """Give the completed turns that are not in the journal yet, in order."""

        def load(tx: Transaction, after: int) -> tuple[RecordPage, list[int]]:
            history = History(tx).load(session.session_id, after, _RECORDS_PER_READ)
            return history, JournalRows(tx).ends(session.session_id, began)

        began = after = self._database.read(lambda tx: JournalRows(tx).until(session.session_id))
        turn: _OpenTurn | None = None
        while True:
            page, ends = self._database.read(partial(load, after=after))
            for recorded in page.records:
                ended = turn and bisect_left(ends, turn.last.id) < bisect_left(ends, recorded.id)
                if turn and (ended or isinstance(recorded.record, UserMessage)):
                    yield turn
                    turn = None
                turn = turn or _OpenTurn(recorded, recorded)
                turn.add(recorded)
            if page.until == after:
                break
            after = page.until
        if turn and (session.is_over or bisect_left(ends, turn.last.id) < len(ends)):
            yield turn


def summarize_turn(database: Database, owner: str, session_id: str, first: int, last: int) -> JournalRecord | None:
    """Return the summary of what is left of a turn, given the numbers of its first and last record; none where
    nothing is."""

    def load(tx: Transaction) -> tuple[Agent, tuple[StoredRecord, ...]] | None:
        session = Sessions(tx).find(owner, session_id)
        if session is None:
            return None
        return Agents(tx).get(owner, session.agent_id), History(tx).between(session_id, first - 1, last)

    found = database.read(load)
    if not found or not found[1]:
        return None
    agent, records = found
    turn = _OpenTurn(records[0], records[0])
    for recorded in records:
        turn.add(recorded)
    return _summary(agent, turn)


def _advance(tx: Transaction, session_id: str, until: int) -> None:
    JournalRows(tx).advance(session_id, until)


def _summary(agent: Agent, turn: _OpenTurn) -> JournalRecord | None:
    """Return the turn as a record; None where nothing was said."""
    person = is_foreground(agent.descriptor.kind)
    reply = _first_sentences(turn.reply.text) if turn.reply else ""
    by_host = isinstance(turn.request, SystemMessage) and (person or not reply)  # then it is not a request
    request = _first_sentences(turn.request.text) if turn.request and not by_host else ""
    if not request and not reply:
        return None
    by_person = person or isinstance(turn.request, Note)
    named = "" if isinstance(turn.request, SystemMessage) or turn.request is None else turn.request.speaker
    asker = named or (_other_person(agent) or "User" if by_person else "System")
    who = redact(" ".join(asker.split()))[:100] if request else "Assistant" if person else "Agent"
    chat = target(agent.descriptor)
    channel = f"{chat.connector}/{chat.channel_id}" if chat else agent.descriptor.kind
    return JournalRecord(
        id=summary_id(turn.first.session_id, turn.first.id),
        session_id=turn.first.session_id,
        category="turn-summary",
        text=redact(f"{who}: {' → '.join(filter(None, (request, reply)))}"),
        source_channel=redact(channel)[:200],
        confidence=1.0,
        timestamp=turn.last.at if turn.last.at.year > 1 else None,  # valid in every zone
        sensitivity="private-user" if by_person else "operational",
    )


def _other_person(agent: Agent) -> str:
    """Return the name by which the host knows whom an agent talks to, if it is another than the memory's."""
    user = agent.descriptor.user_id if isinstance(agent.descriptor, User) else ""
    is_owners = fold(user).startswith(fold(agent.owner)) or {user, agent.owner} & _NAMELESS
    return "" if is_owners or not user.isalpha() else user.title()


def _first_sentences(text: str) -> str:
    """Return the first sentences, whole, without injected context and secrets. One that is very long is cut
    between words."""
    found, text = "", without_injected(text)
    if len(text) > _MAX_READ_CHARS:
        text = _cut(text, _MAX_READ_CHARS)
    for sentence in sentences(redact(text)):
        if found and len(found) + len(sentence) >= MAX_CHARS and not _INTRODUCTION.search(found):
            break
        found = f"{found} {' '.join(sentence.split())}".strip()
        if len(found) >= MAX_CHARS:
            break
    found = redact(found)  # a line break may separate a secret from its name
    if len(found) <= MAX_SENTENCE_CHARS:
        return found
    return f"{_cut(found, MAX_SENTENCE_CHARS - 1)}…"


def _cut(text: str, limit: int) -> str:
    """Return the start of the text in whole words: half a word may be half a secret, half a marker is noise."""
    words = text[:limit].rsplit(None, 1)
    return _HALF_MARKER.sub("", words[0] if words else "").rstrip()
