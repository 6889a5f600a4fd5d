"""Every table of the database: whose its rows are, and whether they are canonical or can be made again.

Export, import and the erasure of a whole user go by this list. Each table stands after those that it refers to, so
rows are inserted in this order and deleted in the opposite one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Belonging = Literal["owner", "agent", "session", "item", "home"]
"""How a row belongs to a user: it names the owner, an agent, a session or an item of the user; or it belongs to
the whole home."""

_OWNED: dict[Belonging, str] = {
    "owner": "owner = ?",
    "agent": "agent_id IN (SELECT id FROM agents WHERE owner = ?)",
    "session": "session_id IN (SELECT s.id FROM sessions s JOIN agents a ON a.id = s.agent_id WHERE a.owner = ?)",
    "item": "rowid IN (SELECT id FROM items WHERE owner = ?)",
}


@dataclass(frozen=True, slots=True)
class Table:
    """A table: how its rows belong to a user, whether they are canonical (if not, they can be made again from the
    others), and `numbers`: which of its columns hold the growing id of which table. `exported` is not what names a
    user but is the server's."""

    name: str
    belongs: Belonging
    canonical: bool
    numbers: Mapping[str, str] = field(default_factory=dict)
    exported: bool = True

    @property
    def owned(self) -> str:
        """Return the condition that a row belongs to the user of its one parameter. Only for tables of users."""
        return _OWNED[self.belongs]


_RECORD = "session_history"

TABLES: tuple[Table, ...] = (
    # What was said.
    Table("agents", "owner", True),
    Table("sessions", "agent", True, {"invalidated_at": _RECORD, "processed_until": _RECORD}),
    Table("session_history", "session", True, {"id": _RECORD}),
    Table("turns", "session", True, {"until_id": _RECORD}),
    Table("append_keys", "agent", True, {"record_id": _RECORD}),
    # What lasts. A fact's number is canonical, and so is the row that holds it.
    Table(
        "inbox",
        "agent",
        True,
        {"id": "inbox", "after_id": _RECORD, "until_id": _RECORD, "changeset_id": "changesets"},
    ),
    Table("trees", "owner", True),
    Table(
        "changesets",
        "owner",
        True,
        {"id": "changesets", "after_id": _RECORD, "until_id": _RECORD, "inbox_id": "inbox"},
    ),
    Table("documents", "owner", True, {"changeset_id": "changesets", "closed_by": "changesets"}),
    Table("document_references", "owner", True),
    Table("facts", "owner", True),
    Table("fact_keys", "owner", False),
    Table("ledger", "owner", True, {"id": "ledger", "inbox_id": "inbox"}),
    # What people read: the files are in the user's folder.
    Table("journal_progress", "session", True, {"until_id": _RECORD}),
    Table("journals", "owner", True),
    Table("schedules", "owner", True),
    Table("experiences", "owner", True),
    Table("extractions", "owner", True),
    # What was asked, and what people said about items.
    Table("recalls", "owner", True, {"id": "recalls"}),
    Table("feedback", "owner", True, {"id": "feedback", "recall_id": "recalls"}),
    Table("pins", "owner", True),
    Table("unpins", "owner", True),
    Table("corrections", "owner", True, {"record_id": _RECORD}),
    # What waits for a person, and what was decided.
    Table("reviews", "owner", True, {"id": "reviews"}),
    # What can be found.
    Table("embedders", "home", False),
    Table("items", "owner", False, {"id": "items", "record_id": _RECORD}),
    Table("item_words", "item", False),
    Table("item_vectors", "owner", False),
    Table("index_state", "owner", False),
    Table("citations", "owner", False, {"record_id": _RECORD}),
    Table("ends", "owner", False, {"by_record": _RECORD}),
    Table("words", "owner", False),
    Table("rebuild_progress", "home", False),
    # What was forgotten.
    Table("tombstones", "owner", True),
    Table("digest_keys", "home", True),
    Table("erasures", "owner", True, {"id": "erasures"}),
    Table("erasure_counts", "owner", False),
    Table("backups", "home", True),
    # Who may reach a memory through the server, and what they changed.
    Table("tokens", "owner", True, exported=False),
    Table("write_log", "owner", True, {"id": "write_log"}, exported=False),
    Table("lifelong_migrations", "home", True),
)
"""Every table. pgvector's tables (`vectors/pgvector.py`) are made by the vector store and derived; a user's rows
are removed from them by that store."""
