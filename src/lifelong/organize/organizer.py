"""What an organizer is given, what it returns, and what it must do. There are two: `rules` (offline) and `llm`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lifelong.errors import LifelongError
from lifelong.types import StoredRecord

if TYPE_CHECKING:
    from lifelong.organize.draft import Draft


@dataclass(frozen=True, slots=True)
class Transcript:
    """The records of one session after `after`, up to `until`, and the same as Markdown. `foreground`: a person
    takes part; `user_address` is used as a name where no record has a speaker; `project` is the folder that the
    agent works in, if that is known; `agent` is its address, like `/cron/backup`. `recent` returns the notes of
    the memory-agent's last runs. `inbox_id` is the inbox item. `is_guest`: another person than the owner speaks.
    `data_before` are the last outputs of tools and web pages before these records, in the same session."""

    owner: str
    agent_id: str
    session_id: str
    after: int
    until: int
    text: str
    records: tuple[StoredRecord, ...]
    foreground: bool
    user_address: str = ""
    project: str = ""
    recent: Callable[[], str] = str
    inbox_id: int | None = None
    agent: str = ""
    is_guest: bool = False
    data_before: tuple[StoredRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended: a line for the memory-agent's own history, and what it cost. An organizer without a model
    costs nothing. `unfinished`: the error that ended the run in the middle; what it edited before is committed,
    and the transcript stays in the inbox."""

    summary: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    unfinished: LifelongError | None = None


class Organizer(Protocol):
    """Decides what of a transcript deserves to last, and edits the draft so that it holds that. It may be called
    again for the same transcript after a crash or a conflict, so its only effects are on the draft (and the model
    ledger). It raises `ModelError` if it could not do its work; the transcript then stays in the inbox.
    `ModelUnavailable` is no failed attempt: the transcript waits until the model answers again."""

    @property
    def name(self) -> str:
        """What changesets call it, e.g. `rules`."""
        ...

    def blocked_reason(self) -> str:
        """Return why nothing can be organized at the moment (the daily cap is reached …); empty if it can."""
        ...

    def status_notes(self) -> list[str]:
        """Return what a person should know about it although it works, a sentence each."""
        ...

    def organize(self, transcript: Transcript, draft: Draft) -> RunResult:
        """Edit the draft. The edits are committed when this returns, all or none."""
        ...
