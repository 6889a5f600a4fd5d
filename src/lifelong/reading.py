"""What is there, and what a memory can be asked: the half of `Memory` that changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar, get_args

from lifelong.collect.agents import AgentRow, Agents
from lifelong.collect.descriptors import KINDS, Strategy, is_foreground, matches
from lifelong.collect.history import History
from lifelong.collect.sessions import Sessions, session_not_found
from lifelong.collect.transcript import transcript
from lifelong.errors import AgentNotFound, InputError, MemoryClosed
from lifelong.home import Home
from lifelong.models.ledger import Call, Ledger, day_of
from lifelong.organize.document_rows import DocumentRows
from lifelong.organize.health import Health, Receipt, health
from lifelong.organize.inbox import Inbox
from lifelong.recall.items import Items
from lifelong.recall.vector_rows import VectorRows
from lifelong.storage.base import Database, Transaction
from lifelong.tools import Tool
from lifelong.types import (
    ITEM_KINDS,
    Agent,
    Clock,
    Hit,
    InboxItem,
    ItemKind,
    ItemState,
    Session,
    Stats,
    StoredRecord,
)
from lifelong.validation import validate_count, validate_name, validate_position
from lifelong.wiring import Wiring

if TYPE_CHECKING:
    from lifelong.recall.experiences import Experiences
    from lifelong.recall.recall_log import Recalled, Scorable
    from lifelong.recall.relations import Relations
    from lifelong.settings import Settings

T = TypeVar("T")

SEVERAL = 20  # so that one that cannot be read does not hide the next


class Reading:
    """Looks at the rows and files of one user, and asks its index. Only `Memory` is made of it."""

    home: Home
    user: str
    settings: Settings
    _database: Database
    _clock: Clock
    _whole: Wiring
    _closed: bool

    # Who there is, and what was said

    def agents(self) -> list[Agent]:
        """Every agent of the user, the one heard from last first."""
        return self._read(lambda tx: Agents(tx).recent(self.user))

    def find_agent(self, strategy: Strategy) -> Agent | None:
        """The agent heard from last of those the strategy matches; none where there is none."""
        if strategy not in get_args(Strategy):
            raise InputError(f"{strategy!r:.200} is no strategy. Use one of: {', '.join(get_args(Strategy))}.")
        kinds = [kind for kind in KINDS if matches(kind, strategy)]
        return next(iter(self._read(lambda tx: Agents(tx).recent(self.user, kinds, SEVERAL))), None)

    def get_agent(self, agent: Agent | str) -> Agent:
        """The agent as it is now."""
        return self._read(lambda tx: Agents(tx).get(self.user, id_of(agent)))

    def session(self, session: Session | str) -> Session:
        """The session as it is now."""
        return self._read(lambda tx: Sessions(tx).get(self.user, id_of(session)))

    def sessions(self, agent: Agent | str) -> list[Session]:
        """Every session of the agent, oldest first, the active one last."""
        return self._read(lambda tx: Sessions(tx).of_agent(Agents(tx).standing(self.user, id_of(agent)).id))

    def history(self, of: Agent | Session | str, after: int = 0) -> list[StoredRecord]:
        """The records of a session after this id, in order. For an agent: those of its newest session."""
        return self._talk(of, after)[0]

    def transcript(self, of: Agent | Session | str, after: int = 0) -> str:
        """A session's records after this id, as Markdown. For an agent: those of its newest session."""
        records, agent = self._talk(of, after)
        most = self.settings.collect.tool_result_chars
        return transcript(records, foreground=is_foreground(agent.kind), tool_result_chars=most)

    def context_size(self, of: Agent | Session | str) -> int:
        """How many characters a session's records hold. For an agent, also a memory-agent: its newest one's."""

        def look(tx: Transaction) -> int:
            session, _ = self._session_of(tx, of)
            return History(tx).size(session.id) if session else 0

        return self._read(look)

    def recent_sessions(self, limit: int = 100, before: Session | str | None = None) -> list[Session]:
        """The sessions of the user's agents, newest first, but for memory-agents'. `before` is the last one of
        the page before."""
        validate_count(limit, "The limit")

        def look(tx: Transaction) -> list[Session]:
            last = Sessions(tx).get(self.user, id_of(before)) if before else None
            return Sessions(tx).recent(self.user, limit, last)

        return self._read(look)

    # How far it has come, and how much there is

    def inbox(self, *states: ItemState, limit: int = 100) -> list[InboxItem]:
        """The transcripts that are on their way to the user's memory-agents, or were; newest first."""
        unknown = [state for state in states if state not in get_args(ItemState)]
        if unknown:
            raise InputError(f"{unknown[0]!r:.200} is no state. Use some of: {', '.join(get_args(ItemState))}.")
        return self._read(lambda tx: Inbox(tx).find(self.user, states, validate_count(limit, "The limit")))

    def inbox_counts(self) -> dict[ItemState, int]:
        """How many of them are in each state, but for states without any."""
        return self._read(lambda tx: Inbox(tx).counts(self.user))

    def receipt(self, record_id: int) -> Receipt:
        """How far a record has come: stored, queued, organized, searchable, or failed and why."""
        validate_position(record_id, "The record's id")
        return self._read(lambda tx: self._parts.receipt(tx, record_id))

    def health(self) -> Health:
        """Whether everything in the home is on its way: green, yellow or red, with the reasons."""
        overdue = timedelta(seconds=self.settings.worker.overdue_seconds)
        remarks = self.remarks()
        return self._read(lambda tx: health(tx, self.user, self._clock(), overdue, remarks))

    def remarks(self) -> list[str]:
        """What a person should know of the work that this process does, a sentence each; health tells it, too."""
        return self._parts.remarks()

    def ledger(self, limit: int = 100) -> list[Call]:
        """The user's calls of models and what each cost, newest first."""
        return self._read(lambda tx: Ledger(tx).recent(self.user, validate_count(limit, "The limit")))

    def totals(self) -> Stats:
        """How much there is of everything in the user, and what the home spent today."""

        def look(tx: Transaction) -> Stats:
            return Stats(
                agents=Agents(tx).count(self.user),
                sessions=Sessions(tx).count(self.user),
                documents=DocumentRows(tx, self.user).count(),
                items=Items(tx, self.user).counts(),
                cost_today=Ledger(tx).spent_since(day_of(self._clock())),
            )

        return self._read(look)

    def ended(self, kind: ItemKind) -> dict[str, datetime]:
        """What of a kind stopped being true, and when, by the id that a hit of it has."""
        if kind not in ITEM_KINDS:
            raise InputError(f"{kind!r:.200} is no kind. Use one of: {', '.join(ITEM_KINDS)}.")
        found = self._read(lambda tx: Items(tx, self.user).ended(kind))
        return {f"{kind}:{ref}": until for ref, until in found.items()}

    def workers(self) -> list[str]:
        """The names of the workers that keep notes."""
        self._check_open()
        folder = self.home.user(self.user) / "workers"
        return sorted(place.name for place in folder.iterdir() if place.is_dir()) if folder.is_dir() else []

    def users(self) -> list[str]:
        """The users of the home that hold something: an agent, a document, an experience, files."""
        rows = self._read(
            lambda tx: {*Agents(tx).owners(), *DocumentRows(tx, "").owners(), *VectorRows(tx).owners()}
        )
        return sorted(rows | {*self.home.users()})

    # Recall

    def recall(
        self,
        query: str,
        top_k: int = 5,
        *,
        agent: Agent | str | None = None,
        kinds: Iterable[ItemKind] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        explain: bool = False,
    ) -> list[Hit]:
        """What the user knows about a question, best first: turns, documents, journal, notes, experiences.
        It can be narrowed to one agent's talks, to some kinds, to what was said in [since, until), and to what was
        known `as_of` a past time. `explain` tells what each score is made of."""
        from lifelong.recall.search import validate_scope

        parts = self._parts
        scope = validate_scope(id_of(agent) if agent else "", kinds, since, until, as_of)
        hits = parts.recall.search(query, top_k, scope, explain=explain)
        parts.recall_log.note("search", scope.agent_id, query, hits)
        return hits

    def recalls(self, limit: int = 20, *, recall_id: int | None = None) -> list[Recalled]:
        """What was asked, newest first: by whom, what for, and what came back. Or the one recall of this id."""
        if recall_id is not None:
            return [self._parts.recall_log.get(recall_id)]
        return self._parts.recall_log.recent(limit)

    def relations(self, entity: str, limit: int = 20, *, ended: bool = False) -> Relations:
        """Whom and what somebody or something is related to, the closest first, and what says so. `ended`: also
        what has stopped being true."""
        return self._parts.relating.of(entity, limit, ended=ended)

    def entities(self, limit: int = 100) -> list[str]:
        """Who and what is known by name, what is named most often first."""
        return self._parts.relating.entities(limit)

    @property
    def experiences(self) -> Experiences:
        """The user's experiences: add, query, list. An error where `continuity.experience_store_enabled` is
        off."""
        return self._parts.experiencing.store

    def context(self, agent: Agent | str, message: str | None = None, tokens: int | None = None) -> str:
        """What to put before an agent's next turn, fenced as data: the session's memory, what is pinned, and past
        experiences about the message, or about what the agent last talked of. Within
        `continuity.session_memory_cap`, or within so many tokens; empty where there is nothing to say."""
        return self._parts.experiencing.injection.context(id_of(agent), message, tokens)

    def verify(self) -> list[str]:
        """Read the user's whole index and say what is wrong with it, a sentence each. Nothing wrong: empty."""
        return self._parts.mending.verify(self._parts.user)

    def unindexed(self) -> int:
        """How many records and items of the home, and experiences of the user, wait for their place in the
        index, or for the vectors of another embedder."""
        return self._parts.indexer.left() + self._parts.experiencing.left()

    def _recall_tools(self, agent: Agent | str | None) -> tuple[Tool, ...]:
        from lifelong.recall.tools import recall_tools

        agent_id = id_of(agent) if agent else ""

        def recall(query: str, top_k: int) -> list[Hit]:
            hits = self._parts.recall.search(query, top_k)
            note(query, hits)
            return hits

        def note(query: str, found: Sequence[Scorable]) -> None:
            self._whole.recall_log.note("tool", agent_id, query, found)

        experiences = self._parts.experiencing.tools(agent_id or None, note)
        return (*recall_tools(recall, self.relations), *experiences)

    def _talk(self, of: Agent | Session | str, after: int) -> tuple[list[StoredRecord], AgentRow]:
        validate_position(after, "`after`")

        def look(tx: Transaction) -> tuple[list[StoredRecord], AgentRow]:
            session, agent = self._session_of(tx, of)
            return History(tx).find_since_id(session.id, after) if session else [], agent

        return self._read(look)

    def _session_of(self, tx: Transaction, of: Agent | Session | str) -> tuple[Session | None, AgentRow]:
        """A session and its agent, whichever of the two was named; of an agent, its newest one."""
        session = None if isinstance(of, Agent) else Sessions(tx).find(self.user, id_of(of))
        if session:
            return session, Agents(tx).standing(self.user, session.agent_id)
        if isinstance(of, Session):
            raise session_not_found(of.id)
        try:
            agent = Agents(tx).standing(self.user, id_of(of))
        except AgentNotFound as error:
            raise AgentNotFound(str(error).replace("No agent", "No session and no agent", 1)) from error
        return Sessions(tx).newest(agent.id), agent

    def _read(self, work: Callable[[Transaction], T]) -> T:
        self._check_open()
        return self._database.read(work)

    @property
    def _parts(self) -> Wiring:
        """What the memory is made of, as long as it is open."""
        self._check_open()
        return self._whole

    def _check_open(self) -> None:
        if self._closed:
            raise MemoryClosed


def id_of(thing: Agent | Session | str) -> str:
    if isinstance(thing, Agent | Session):
        return thing.id
    if isinstance(thing, str):
        return validate_name(thing, "An id")
    raise InputError(
        f"{thing!r:.200} is no agent, no session and no id of one. Get an agent with memory.agent(descriptor)."
    )
