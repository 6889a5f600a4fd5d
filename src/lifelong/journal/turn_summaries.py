"""Turn summaries: what history says about a completed turn, in a line of the journal, exactly once.

A turn begins with what somebody says, and ends before they speak again, where `end_turn` says so, or with its
session. How far a session's turns have come is a row; each summary's id follows from the turn. So whoever was
stopped between writing a summary and moving the row is followed by one who finds it there.
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

from lifelong.collect.agents import Agents
from lifelong.collect.descriptors import is_foreground, target
from lifelong.collect.history import History, RecordPage
from lifelong.collect.transcript import without_injected
from lifelong.errors import LifelongError
from lifelong.journal.files import IDENTITY
from lifelong.journal.journal import Journal
from lifelong.journal.progress import Pending, Progress
from lifelong.journal.records import JournalRecord
from lifelong.redaction import redact
from lifelong.storage.base import Database, Transaction
from lifelong.text.sentences import sentences
from lifelong.types import Agent, AssistantMessage, Clock, Note, StoredRecord, SystemMessage, UserMessage

log = logging.getLogger("lifelong.journal")

LOOK = timedelta(seconds=30)  # between two looks at all agents
LONGEST = 200  # characters of a request, and of a reply
_ENOUGH = 25  # characters that say something; a shorter sentence ("Hi!") takes the next one along
_LEADS_IN = re.compile(
    r"[:!\uff1a\uff01][*_\s]*\Z"
)  # "Here are some tips:", "Happy to help!" take the next one along
_READ = 10_000  # characters of a text that are looked at
_RECORDS = 500  # read at once
_TURNS = 200  # written at once


@dataclass(slots=True)
class _Turn:
    """A turn as far as it was read: its first record, its last, and what was asked and answered."""

    first: StoredRecord
    last: StoredRecord
    request: UserMessage | SystemMessage | None = None
    reply: AssistantMessage | Note | None = None

    def add(self, recorded: StoredRecord) -> None:
        self.last = recorded
        match recorded.record:
            case UserMessage() as said:
                self.request = said
            case SystemMessage(summary=False) as said if self.request is None:
                self.request = said
            case AssistantMessage() as said if said.text.strip():
                self.reply = said
            case Note() as said if not isinstance(self.reply, AssistantMessage):
                self.reply = said


class Summaries:
    """Writes the summaries of an owner's turns. Turns that ended before the first `Summaries` of the owner
    was made are none of the journal's. Where several homes share a database, one of them keeps it, the first;
    the others write nothing."""

    def __init__(self, database: Database, owner: str, journal: Journal, clock: Clock) -> None:
        self._database = database
        self._owner = owner
        self._journal = journal
        self._clock = clock
        self._touched: set[str] = set()
        self._looked: datetime | None = None
        now, pages = clock(), journal.files
        home = pages.identity() if database.dialect == "postgres" else ""
        keeper, self._began = database.write(lambda tx: Progress(tx).keeper(owner, home, now))
        self.elsewhere = ""
        """Why nothing is written here, ever; empty where this home keeps the journal."""
        if keeper != home:
            self.elsewhere = (
                f"Another home keeps the journal of {owner!r}; turn summaries are not written here. To keep it "
                f"here, stop that one and put its id, {keeper}, into {pages.root / IDENTITY}."
            )
        self.error = ""
        """What went wrong when it wrote last; empty where nothing did."""

    def touched(self, agent_id: str) -> None:
        """Something was said that may complete a turn of this agent. Costs nothing."""
        self._touched.add(agent_id)

    def keep_up(self) -> int:
        """For the background: write down what the agents that were touched completed, now and then that of all."""
        now = self._clock()
        if self._looked and abs(now - self._looked) < LOOK:
            return self._write(everybody=False, wait=False)
        self._looked = now
        return self.write_all(wait=False)

    def write_all(self, *, wait: bool = True) -> int:
        """Write down the completed turns of every agent, in whichever process they were. How many there were. What
        cannot be written is logged, and tried again the next time; so is, if one may not `wait`, what somebody
        else is writing."""
        return self._write(everybody=True, wait=wait)

    def _write(self, *, everybody: bool, wait: bool) -> int:
        touched, self._touched = self._touched, set()
        agents = [None] if everybody else sorted(touched)
        if self.elsewhere or not agents:
            return 0
        try:
            sessions = self._database.read(
                lambda tx: [session for agent in agents for session in Progress(tx).pending(self._owner, agent)]
            )
        except LifelongError:
            self._touched |= touched
            raise
        written = 0
        self.error = ""
        for session in sessions:
            try:
                with self._journal.files.summarizing(wait=wait) as alone:
                    if alone:
                        written += self._write_session(session)
                    else:
                        self._touched.add(session.agent_id)
            except LifelongError as error:
                self.error = str(error)
                self._touched.add(session.agent_id)
                log.error("turns of session %s are not in the journal yet: %s", session.session_id, error)
        return written

    def _write_session(self, session: Pending) -> int:
        agent = self._database.read(lambda tx: Agents(tx).get(self._owner, session.agent_id))
        turns = self._turns(session)
        written = 0
        while some := list(islice(turns, _TURNS)):
            fresh = [turn for turn in some if turn.last.recorded_at >= self._began]
            written += self._journal.append(*(made for turn in fresh if (made := _summary(agent, turn))))
            until = some[-1].last.id
            self._database.write(partial(_advance, session_id=session.session_id, until=until))
        return written

    def _turns(self, session: Pending) -> Iterator[_Turn]:
        """The completed turns that are not in the journal yet, in order."""

        def load(tx: Transaction, after: int) -> tuple[RecordPage, list[int]]:
            history = History(tx).load(session.session_id, after, _RECORDS)
            return history, Progress(tx).ends(session.session_id, began)

        began = after = self._database.read(lambda tx: Progress(tx).until(session.session_id))
        turn: _Turn | None = None
        while True:
            stretch, ends = self._database.read(partial(load, after=after))
            for recorded in stretch.records:
                ended = turn and bisect_left(ends, turn.last.id) < bisect_left(ends, recorded.id)
                if turn and (ended or isinstance(recorded.record, UserMessage)):
                    yield turn
                    turn = None
                turn = turn or _Turn(recorded, recorded)
                turn.add(recorded)
            if stretch.until == after:
                break
            after = stretch.until
        if turn and (session.is_over or bisect_left(ends, turn.last.id) < len(ends)):
            yield turn


def _advance(tx: Transaction, session_id: str, until: int) -> None:
    Progress(tx).advance(session_id, until)


def _summary(agent: Agent, turn: _Turn) -> JournalRecord | None:
    """The turn in a line; none where nobody said anything."""
    person = is_foreground(agent.descriptor.kind)
    reply = _beginning(turn.reply.text) if turn.reply else ""
    told = isinstance(turn.request, SystemMessage) and (person or not reply)  # the host's words, not a request
    request = _beginning(turn.request.text) if turn.request and not told else ""
    if not request and not reply:
        return None
    asker = (isinstance(turn.request, UserMessage) and turn.request.speaker) or ("User" if person else "System")
    who = redact(" ".join(asker.split()))[:100] if request else "Assistant" if person else "Agent"
    place = target(agent.descriptor)
    channel = f"{place.connector}/{place.channel_id}" if place else agent.descriptor.kind
    return JournalRecord(
        id=summary_id(turn.first.session_id, turn.first.id),
        session_id=turn.first.session_id,
        category="turn-summary",
        text=redact(f"{who}: {' → '.join(filter(None, (request, reply)))}"),
        source_channel=redact(channel)[:200],
        confidence=1.0,
        timestamp=turn.last.at if turn.last.at.year > 1 else None,  # a year that every zone has
        sensitivity="private-user" if person else "operational",
    )


def summary_id(session_id: str, record_id: int) -> str:
    """Of the line that sums up the turn that begins with this record."""
    return f"turn-{session_id}-{record_id}"


def summarized_by(line_id: str) -> int | None:
    """The record with which the turn begins that a line sums up; none where it is no such line."""
    start, _, record = line_id.rpartition("-")
    is_one = start.startswith("turn-") and record.isascii() and record.isdigit() and len(record) < 19
    return int(record) if is_one else None


def _beginning(text: str) -> str:
    """The first sentence, without what recall put there and without secrets, in whole words."""
    found, text = "", without_injected(text)
    if len(text) > _READ:
        text = text[:_READ].rsplit(None, 1)[0]  # half a word may be half a secret
    for sentence in sentences(redact(text)):
        found = f"{found} {sentence}".strip()
        if len(found) >= (LONGEST if _LEADS_IN.search(sentence) else _ENOUGH):
            break
    found = redact(" ".join(found.split()))  # a line break may part a secret from its name
    if len(found) <= LONGEST:
        return found
    cut = found[: LONGEST - 1]
    return f"{cut.rpartition(' ')[0] or cut}…"
