"""Everything that can go wrong, in one tree. Each message says what happened and what to do next.

    LifelongError
    ├── InputError (ValueError)      what was given cannot be taken; nothing was changed
    │   ├── ConfigError              a setting that is unknown or does not fit
    │   └── PromptError              a replacement prompt with nothing in it
    ├── UserNotFound (LookupError) no agent of the home has that user
    ├── AgentNotFound (LookupError)   no agent of this user has that id
    ├── SessionNotFound (LookupError) no session of this user has that id
    ├── DocumentNotFound (LookupError) no document of this user has that id or path
    ├── ChangesetNotFound (LookupError) no changeset of this user has that id
    ├── InboxItemNotFound (LookupError)    no inbox item of this user has that id
    ├── RecordNotFound (LookupError)  no record of this user has that id
    ├── ItemNotFound (LookupError)     nothing that is remembered has that id
    ├── RecallNotFound (LookupError)  the log of recall has none of that id
    ├── ReviewNotFound (LookupError)  no review of this user has that id
    ├── ReviewDecided                a person approved or refused it before
    ├── NotAPerson                   an agent wants to decide on its own write
    ├── TokenNotFound (LookupError)   no token of the home has that id
    ├── AccessDenied                 the token does not allow it
    ├── StaleWrite                   the document changed since it was read
    │   └── ErasedMeanwhile          something was forgotten since it was read
    ├── DocumentInUse                other documents need the one that should go
    ├── ModelError                   a model gave no usable answer
    │   ├── ModelUnavailable         its provider is out for now: the work waits
    │   ├── ModelUnusable            it refuses the key, is unknown there, or has no credit: a person must act
    │   ├── RunBudgetExceeded            a run spent what it may
    │   └── Outvoted                 another process, which was opened later, has another embedder
    ├── DailyCapExceeded                   the home spent what it may in a day
    ├── LeaseLost                    another worker took the item over
    ├── AgentDead                    the agent takes no more messages
    ├── JournalError                 a file of the journal could not be read or written
    ├── MemoryClosed                 the call came after close()
    └── StorageError                 the database could not do it
        ├── StorageBusy              another process held the database for too long
        ├── StorageFull              no room left
        ├── StorageUnavailable       the database cannot be reached, or the home cannot be used
        ├── OutcomeUnknown           the connection broke during the commit
        ├── StorageConflict          a uniqueness or reference rule of the database refused it
        ├── StorageCorrupt           the file is damaged
        │   └── IndexCorrupt         the full-text index alone is damaged
        ├── ForeignDatabase          the database belongs to another program
        ├── WrongKey                 the database is encrypted otherwise than with this key
        └── NewerDatabase            a newer lifelong made it

The docstring of a class is its default message. Errors of `apsw` and `psycopg` never leave `storage/`:
they are translated there, once.
"""

from __future__ import annotations


class LifelongError(Exception):
    """lifelong could not do what was asked."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or " ".join((type(self).__doc__ or "").split()))


class InputError(LifelongError, ValueError):
    """What was given cannot be taken. Nothing was changed."""


class ConfigError(InputError):
    """A setting is unknown or does not fit. See docs/configuration.md."""


class PromptError(InputError):
    """A prompt that replaces the whole system prompt must not be empty."""


class UserNotFound(LifelongError, LookupError):
    """Nothing is known in that user. It begins with its first agent, or with what is first written to it."""


class AgentNotFound(LifelongError, LookupError):
    """No agent of this user has that id. Get one with memory.agent(descriptor)."""


class SessionNotFound(LifelongError, LookupError):
    """No session of this user has that id. List them with memory.sessions.list(agent)."""


class DocumentNotFound(LifelongError, LookupError):
    """No document of this user has that id or path. Walk them with memory.documents.walk()."""


class ChangesetNotFound(LifelongError, LookupError):
    """No changeset of this user has that id. List them with memory.documents.changesets()."""


class InboxItemNotFound(LifelongError, LookupError):
    """No inbox item of this user has that id. List them with memory.inbox.list()."""


class RecordNotFound(LifelongError, LookupError):
    """No record of this user has that id. Use an id like r33, as add returns it."""


class ItemNotFound(LifelongError, LookupError):
    """Nothing remembered has that id. Search and list give it with every hit."""


class RecallNotFound(LifelongError, LookupError):
    """The log has no recall of that id. See memory.admin.recall_log() for those it has."""


class ReviewNotFound(LifelongError, LookupError):
    """No review of this user has that id. List those that wait with memory.reviews.list()."""


class ReviewDecided(LifelongError):
    """A person decided on that before. List those that wait with memory.reviews.list()."""


class NotAPerson(LifelongError):
    """Only a person may decide on what an agent wrote, and never the agent itself."""


class TokenNotFound(LifelongError, LookupError):
    """No token of this home has that id. List them with store.tokens.list()."""


class AccessDenied(LifelongError):
    """The token does not allow that. Use one that does."""


class StaleWrite(LifelongError):
    """The document changed since it was read. Read it again, and make the change on the new version."""


class ErasedMeanwhile(StaleWrite):
    """Something was forgotten since this was read. Read it again."""


class DocumentInUse(LifelongError):
    """Other documents have this one as their parent or link to it. Move or unlink them first."""


class ModelError(LifelongError):
    """The model gave no usable answer. The work stays in the queue."""


class ModelUnavailable(ModelError):
    """The model's provider does not answer for now. The work waits until it does."""

    def __init__(
        self, message: str | None = None, retry_after: float | None = None, *, request_may_be_cause: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """How many seconds the provider asked to wait; none if it named no time."""
        self.request_may_be_cause = request_may_be_cause
        """Whether the request arrived and the provider failed on it (5xx, no answer in time, a cut one): another
        request may be answered."""


class ModelUnusable(ModelError):
    """The model cannot be used as it is configured. Check models.model, models.base_url and models.api_key."""


class RunBudgetExceeded(ModelError):
    """The run spent what one run may. Raise models.run_budget_usd, or choose a cheaper model."""


class Outvoted(ModelError):
    """A process that was opened later has chosen another embedder. Restart this one."""


class DailyCapExceeded(LifelongError):
    """The home spent what it may in a day. The work waits; raise models.daily_cap_usd to go on now."""


class LeaseLost(LifelongError):
    """Another worker took the item over. What this one did was discarded."""


class AgentDead(LifelongError):
    """The agent is dead and takes no more messages. Make a new one under another id."""


class JournalError(LifelongError):
    """A file of the journal could not be read or written. Nothing was changed; check its permissions and
    try again."""


class MemoryClosed(LifelongError):
    """This memory is closed. Open it again with Memory.open(home)."""


class StorageError(LifelongError):
    """The database could not do it. Nothing was stored."""


class StorageBusy(StorageError):
    """Another process kept the database busy for too long. Nothing was stored; try again."""


class StorageFull(StorageError):
    """There is no room left for the database. Nothing was stored; free some space and try again."""


class StorageUnavailable(StorageError):
    """The database cannot be reached. Nothing was stored; try again when it is back."""


class OutcomeUnknown(StorageError):
    """The connection broke during the commit, so it may or may not have been stored.
    Try again; with the same idempotency key nothing is stored twice."""


TEMPORARY_ERRORS = (StorageBusy, StorageFull, StorageUnavailable, OutcomeUnknown)
"""Errors that say nothing about the work: the database can do none just now."""


class StorageConflict(StorageError):
    """The database refused it: a uniqueness or reference rule would be broken. Nothing was stored."""


class StorageCorrupt(StorageError):
    """The database file is damaged. Restore a backup, and keep the damaged file for repair."""


class IndexCorrupt(StorageCorrupt):
    """The full-text index of the database is damaged. Nothing that was stored is lost. Run: lifelong rebuild."""


class ForeignDatabase(StorageError):
    """The database belongs to another program. Nothing was changed; choose another home."""


class WrongKey(StorageError):
    """The database is encrypted with another key, or without one. Nothing was changed."""


class NewerDatabase(StorageError):
    """A newer lifelong made this database. Nothing was changed; upgrade lifelong to open it."""
