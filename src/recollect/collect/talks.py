"""What was said, read back: of a session, or of an agent's newest one."""

from __future__ import annotations

from recollect.collect.agents import Agents, Standing
from recollect.collect.descriptors import is_foreground
from recollect.collect.history import History
from recollect.collect.sessions import Sessions, unknown_session
from recollect.collect.transcript import transcript
from recollect.errors import InputError, UnknownAgent
from recollect.gate import checked_name
from recollect.storage.base import Transaction
from recollect.types import Agent, Recorded, Session


class Talks:
    """The talks of one owner, seen through a transaction. An agent or a session goes by itself or by its id."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner

    def history(self, of: Agent | Session | str, after: int) -> list[Recorded]:
        session, _ = self._find(of)
        return History(self._tx).find_since_id(session.id, after) if session else []

    def transcript(self, of: Agent | Session | str, after: int, tool_result_chars: int) -> str:
        session, agent = self._find(of)
        return transcript(
            History(self._tx).find_since_id(session.id, after) if session else [],
            foreground=is_foreground(agent.kind),
            tool_result_chars=tool_result_chars,
        )

    def size(self, of: Agent | Session | str) -> int:
        session, _ = self._find(of)
        return History(self._tx).size(session.id) if session else 0

    def _find(self, of: Agent | Session | str) -> tuple[Session | None, Standing]:
        """A session and its agent, whichever of the two was named."""
        session = None if isinstance(of, Agent) else Sessions(self._tx).find(self._owner, id_of(of))
        if session:
            return session, Agents(self._tx).standing(self._owner, session.agent_id)
        if isinstance(of, Session):
            raise unknown_session(of.id)
        try:
            agent = Agents(self._tx).standing(self._owner, id_of(of))
        except UnknownAgent as error:
            raise UnknownAgent(str(error).replace("No agent", "No session and no agent", 1)) from error
        return Sessions(self._tx).newest(agent.id), agent


def id_of(thing: Agent | Session | str) -> str:
    if isinstance(thing, Agent | Session):
        return thing.id
    if isinstance(thing, str):
        return checked_name(thing, "An id")
    raise InputError(
        f"{thing!r:.200} is no agent, no session and no id of one. Get an agent with memory.agent(descriptor)."
    )
