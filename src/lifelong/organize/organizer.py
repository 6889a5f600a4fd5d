"""What decides which parts of a transcript deserve to last. Two of them: `rules` (offline) and `llm`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from lifelong.storage.base import Transaction
from lifelong.types import StoredRecord

if TYPE_CHECKING:
    from lifelong.organize.draft import Draft


Corrected: TypeAlias = Callable[[Transaction, str, Iterable[int]], Mapping[int, int]]
"""Which of an owner's records a person corrected, and the record that says what is so instead: nothing is learned
from these. So it is with a correction that stands in its document."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was handed over: the records of one session after `after`, up to `until`, and the same as
    Markdown. `foreground`: a person speaks in it; `user` is what they are called where nobody says. `recent`
    tells what the memory-agent noted of its last runs. `item_id`: the inbox item it came in."""

    owner: str
    agent_id: str
    session_id: str
    after: int
    until: int
    text: str
    records: tuple[StoredRecord, ...]
    foreground: bool
    user: str = ""
    recent: Callable[[], str] = str
    item_id: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: a line for the memory-agent's own history, and what it cost. An organizer without a model
    costs nothing."""

    said: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


class Organizer(Protocol):
    """Edits the draft so that it holds what the transcript taught. It may be called again for the same
    transcript after a crash or a stale draft, so it has no effect but through the draft (and the ledger).
    It raises `ModelError` when it could not do its work; the transcript then stays in the queue."""

    @property
    def name(self) -> str: ...

    def blocked_reason(self) -> str:
        """Why nothing can be organized at the moment (the day's cap is reached …); empty when it can."""
        ...

    def status_note(self) -> str:
        """What a person should know of it though it works; empty when there is nothing."""
        ...

    def organize(self, transcript: Transcript, draft: Draft) -> Outcome: ...
