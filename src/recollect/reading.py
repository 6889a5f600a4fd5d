"""What is there: the half of `Memory` that looks, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar, get_args

from recollect.collect.agents import Agents
from recollect.collect.descriptors import KINDS, Strategy, matches
from recollect.collect.sessions import Sessions
from recollect.collect.talks import Talks, id_of
from recollect.errors import InputError
from recollect.gate import checked_count, checked_position
from recollect.home import Home
from recollect.models.ledger import Call, Ledger, day_of
from recollect.organize.documents import Documents
from recollect.organize.health import Health, Receipt, health
from recollect.organize.inbox import Inbox
from recollect.parts import Parts
from recollect.recall.items import Items
from recollect.recall.shelves import Shelves
from recollect.storage.base import Database, Transaction
from recollect.types import (
    ITEM_KINDS,
    Agent,
    Clock,
    InboxItem,
    ItemKind,
    ItemState,
    Recorded,
    Session,
    Totals,
)

if TYPE_CHECKING:
    from recollect.config import Settings

T = TypeVar("T")

SEVERAL = 20  # so that one that cannot be read does not hide the next


class Reading:
    """Looks at the rows and files of one profile. Only `Memory` is made of it."""

    home: Home
    profile: str
    settings: Settings
    _database: Database
    _clock: Clock
    _parts: Parts

    def _check_open(self) -> None:
        raise NotImplementedError

    def agents(self) -> list[Agent]:
        """Every agent of the profile, the one heard from last first."""
        return self._read(lambda tx: Agents(tx).recent(self.profile))

    def find_agent(self, strategy: Strategy) -> Agent | None:
        """The agent heard from last of those the strategy matches; none where there is none."""
        if strategy not in get_args(Strategy):
            raise InputError(f"{strategy!r:.200} is no strategy. Use one of: {', '.join(get_args(Strategy))}.")
        kinds = [kind for kind in KINDS if matches(kind, strategy)]
        return next(iter(self._read(lambda tx: Agents(tx).recent(self.profile, kinds, SEVERAL))), None)

    def get_agent(self, agent: Agent | str) -> Agent:
        """The agent as it is now."""
        return self._read(lambda tx: Agents(tx).get(self.profile, id_of(agent)))

    def session(self, session: Session | str) -> Session:
        """The session as it is now."""
        return self._read(lambda tx: Sessions(tx).get(self.profile, id_of(session)))

    def sessions(self, agent: Agent | str) -> list[Session]:
        """Every session of the agent, oldest first, the active one last."""
        return self._read(lambda tx: Sessions(tx).of_agent(Agents(tx).standing(self.profile, id_of(agent)).id))

    def history(self, of: Agent | Session | str, after: int = 0) -> list[Recorded]:
        """The records of a session after this id, in order. For an agent: those of its newest session."""
        checked_position(after, "`after`")
        return self._read(lambda tx: Talks(tx, self.profile).history(of, after))

    def transcript(self, of: Agent | Session | str, after: int = 0) -> str:
        """A session's records after this id, as Markdown. For an agent: those of its newest session."""
        checked_position(after, "`after`")
        chars = self.settings.collect.tool_result_chars
        return self._read(lambda tx: Talks(tx, self.profile).transcript(of, after, chars))

    def context_size(self, of: Agent | Session | str) -> int:
        """How many characters a session's records hold. For an agent, also a memory-agent: its newest one's."""
        return self._read(lambda tx: Talks(tx, self.profile).size(of))

    def recent_sessions(self, limit: int = 100, before: Session | str | None = None) -> list[Session]:
        """The sessions of the profile's agents, newest first, but for memory-agents'. `before` is the last one of
        the page before."""
        checked_count(limit, "The limit")

        def look(tx: Transaction) -> list[Session]:
            last = Sessions(tx).get(self.profile, id_of(before)) if before else None
            return Sessions(tx).recent(self.profile, limit, last)

        return self._read(look)

    def inbox(self, *states: ItemState, limit: int = 100) -> list[InboxItem]:
        """The transcripts that are on their way to the profile's memory-agents, or were; newest first."""
        unknown = [state for state in states if state not in get_args(ItemState)]
        if unknown:
            raise InputError(f"{unknown[0]!r:.200} is no state. Use some of: {', '.join(get_args(ItemState))}.")
        return self._read(lambda tx: Inbox(tx).find(self.profile, states, checked_count(limit, "The limit")))

    def inbox_counts(self) -> dict[ItemState, int]:
        """How many of them are in each state, but for states without any."""
        return self._read(lambda tx: Inbox(tx).counts(self.profile))

    def receipt(self, record_id: int) -> Receipt:
        """How far a record has come: stored, queued, organized, searchable, or failed and why."""
        checked_position(record_id, "The record's id")
        return self._read(lambda tx: self._parts.receipt(tx, record_id))

    def health(self) -> Health:
        """Whether everything in the home is on its way: green, yellow or red, with the reasons."""
        overdue = timedelta(seconds=self.settings.worker.overdue_seconds)
        remarks = self.remarks()
        return self._read(lambda tx: health(tx, self.profile, self._clock(), overdue, remarks))

    def remarks(self) -> list[str]:
        """What a person should know of the work that this process does, a sentence each; health tells it, too."""
        self._check_open()
        return self._parts.remarks()

    def ledger(self, limit: int = 100) -> list[Call]:
        """The profile's calls of models and what each cost, newest first."""
        return self._read(lambda tx: Ledger(tx).recent(self.profile, checked_count(limit, "The limit")))

    def totals(self) -> Totals:
        """How much there is of everything in the profile, and what the home spent today."""

        def look(tx: Transaction) -> Totals:
            return Totals(
                agents=Agents(tx).count(self.profile),
                sessions=Sessions(tx).count(self.profile),
                documents=Documents(tx, self.profile).count(),
                items=Items(tx, self.profile).counts(),
                cost_today=Ledger(tx).spent_since(day_of(self._clock())),
            )

        return self._read(look)

    def ended(self, kind: ItemKind) -> dict[str, datetime]:
        """What of a kind stopped being true, and when, by the id that a hit of it has."""
        if kind not in ITEM_KINDS:
            raise InputError(f"{kind!r:.200} is no kind. Use one of: {', '.join(ITEM_KINDS)}.")
        found = self._read(lambda tx: Items(tx, self.profile).ended(kind))
        return {f"{kind}:{ref}": until for ref, until in found.items()}

    def workers(self) -> list[str]:
        """The names of the workers that keep notes."""
        self._check_open()
        folder = self.home.profile(self.profile) / "workers"
        return sorted(place.name for place in folder.iterdir() if place.is_dir()) if folder.is_dir() else []

    def profiles(self) -> list[str]:
        """The profiles of the home that hold something: an agent, a document, an experience, files."""
        rows = self._read(lambda tx: {*Agents(tx).owners(), *Documents(tx, "").owners(), *Shelves(tx).owners()})
        return sorted(rows | {*self.home.profiles()})

    def _read(self, work: Callable[[Transaction], T]) -> T:
        self._check_open()
        return self._database.read(work)
