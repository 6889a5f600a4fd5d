"""Who somebody is: the host knows people by their address (`user_id` on a connector), and everybody chooses the
name that they speak under. So on one connector, a name that another address has is not theirs, too: a second
"Mara" is written with the address, "Mara (eve)". The same name on another connector is taken for the same person,
who may have an address on each; but not by an address that is a name itself, and not the owner's.

Whose a memory is, only its name says. Where it is one person's, addresses of other names are guests' ("eve" in
Mara's memory). It is one person's where some address has its name, or the first one begins with it ("marakoch");
else, a memory with a name may be a team's, and everybody with a name speaks for it. A number or key tells nothing,
and a longer form of the owner's name little, since a stranger may have one: the first of these on a connector is
taken for the owner's, if no other address there is."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import cached_property

from lifelong.collect.agents import Agents
from lifelong.collect.descriptors import User
from lifelong.organize.document_rows import MEMORY_ROOT, DocumentRows
from lifelong.organize.draft import slug_of
from lifelong.organize.facts import parse_facts
from lifelong.organize.rules.subjects import NAMELESS, display_name
from lifelong.storage.base import Transaction
from lifelong.text.words import fold
from lifelong.types import StoredRecord, UserMessage


class Identities:
    """Tells who speaks to the agents of one owner, seen through a transaction."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner
        self._addresses: dict[str, tuple[str, str] | None] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._known: dict[str, dict[str, datetime]] = {}

    def name(self, speaker: str, agent_id: str) -> str:
        """Return the name, with the address where the name is somebody else's on the same connector."""
        address = self._address(agent_id) if speaker.strip() else None
        if address is None or self._is_owners(address[1]) or fold(speaker) == fold(address[1]):
            return speaker
        key = fold(speaker), agent_id
        if key not in self._names:
            self._names[key] = f"{speaker} ({address[1]})" if self._is_held(speaker, address) else speaker
        return self._names[key]

    def address(self, agent_id: str) -> str:
        """Return the address of the person whom an agent talks to, as a name; empty where it talks to nobody, or
        the address tells nothing."""
        found = self._address(agent_id)
        return display_name(found[1]) if found and found[1] not in NAMELESS else ""

    def speaker(self, name: str, agent_id: str) -> str:
        """Return who speaks: the name, or a guest's address; empty for the owner, or whoever else gives none."""
        return self.name(name, agent_id) or (self.address(agent_id) if self.is_guest(agent_id) else "")

    def is_guest(self, agent_id: str) -> bool:
        """Return whether an agent talks to somebody else than the owner, or than the team whose memory it is."""
        found = self._address(agent_id)
        if found is None or self._is_owners(found[1]):
            return False
        connector, address = found
        known = self._users(connector)
        if self._is_another(address) or any(map(self._is_owners, known)):
            return True
        if _is_name(address) and self._may_be_a_team and not self._is_like_owners(address):
            return False
        return known[address] > min(at for one, at in known.items() if not self._is_another(one))

    def is_owner(self, agent_id: str) -> bool:
        """Return whether an agent talks to the owner of a memory that is one person's."""
        found = self._address(agent_id)
        is_persons = not self._may_be_a_team or (found is not None and not _is_name(found[1]))
        return is_persons and not self.is_guest(agent_id)

    def named(self, recorded: StoredRecord, agent_id: str) -> StoredRecord:
        """Return the record with the name of who speaks in it."""
        record = recorded.record
        if not isinstance(record, UserMessage):
            return recorded
        name = self.name(record.speaker, agent_id)
        return recorded if name == record.speaker else replace(recorded, record=replace(record, speaker=name))

    def _is_owners(self, address: str) -> bool:
        return address in NAMELESS or fold(address) == fold(self._owner)

    def _is_like_owners(self, address: str) -> bool:
        """Return whether an address may be the owner's name with more or less of it: "marakoch" and "mara"."""
        one, other = fold(address), fold(self._owner)
        return self._owner not in NAMELESS and (one.startswith(other) or other.startswith(one))

    def _is_another(self, address: str) -> bool:
        """Return whether an address is another name than the owner's, who is a person."""
        is_named = self._owner not in NAMELESS and not self._may_be_a_team
        return _is_name(address) and is_named and not self._is_like_owners(address)

    @cached_property
    def _may_be_a_team(self) -> bool:
        """Return whether the memory has a name, and no address has it, nor does the first one begin with it."""
        agents = Agents(self._tx)
        return (
            self._owner not in NAMELESS
            and not agents.has_user(self._owner, self._owner)
            and not fold(agents.first_user(self._owner)).startswith(fold(self._owner))
        )

    def _is_held(self, speaker: str, address: tuple[str, str]) -> bool:
        """Return whether somebody else on the connector had the name before: as their address, as the owner of
        the memory, or because they used it first."""
        connector, user = address
        known = self._users(connector)
        others = {other for other, at in known.items() if other != user and at <= known.get(user, at)}
        if any(fold(display_name(other)) == fold(speaker) for other in others):
            return True
        if fold(speaker) == fold(display_name(self._owner)) and (
            not NAMELESS.isdisjoint(others) or self._is_another(user)
        ):
            return True
        page = DocumentRows(self._tx, self._owner).at(f"{MEMORY_ROOT}/people/{slug_of(speaker)}")
        first = (
            min((record for fact in parse_facts(page.body) for record in fact.records), default=0) if page else 0
        )
        holder = self._address(Agents(self._tx).of_record(self._owner, first)) if first else None
        return holder is not None and holder[0] == connector and holder[1] != user

    def _users(self, connector: str) -> dict[str, datetime]:
        """Return the addresses on a connector, and since when each is known."""
        if connector not in self._known:
            self._known[connector] = Agents(self._tx).users_of(self._owner, connector)
        return self._known[connector]

    def _address(self, agent_id: str) -> tuple[str, str] | None:
        if agent_id not in self._addresses:
            known = Agents(self._tx).find_row(agent_id) if agent_id else None
            found = Agents(self._tx).get(known.owner, known.id).descriptor if known else None
            self._addresses[agent_id] = (found.connector, found.user_id) if isinstance(found, User) else None
        return self._addresses[agent_id]


def _is_name(address: str) -> bool:
    """Return whether an address is a name, like "eve"; a number or key tells nothing."""
    return address.isalpha() and address not in NAMELESS
